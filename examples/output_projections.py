"""
Forests on random projections of the outputs
============================================

The lower half of a digit, 32 pixels, is predicted from its upper half. Every tree is grown on *q* random combinations
of the pixels and still predicts the pixels themselves. With *q* far below 32 the search for splits is cheaper, and
the trees differ more from one another.
"""

# %%
# Data and measure
# ----------------

import time

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.datasets import load_digits
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

images = load_digits().data / 16
X_train, X_test, y_train, y_test = train_test_split(
    images[:, :32].astype(np.float32), images[:, 32:], train_size=1200, random_state=0
)


def error_and_seconds(**parameters):
    """Mean error and median time over three seeds."""
    errors, seconds = [], []
    for seed in range(3):
        forest = weald.ExtraTreesRegressor(
            max_features="sqrt", random_state=seed, n_jobs=1, **parameters
        )
        start = time.perf_counter()
        forest.fit(X_train, y_train)
        seconds.append(time.perf_counter() - start)
        errors.append(mean_squared_error(y_test, forest.predict(X_test)))
    return np.mean(errors), np.median(seconds)


# %%
# Three families, five numbers of projections
# -------------------------------------------

families = {"gaussian": "#0072B2", "subsample": "#D55E00", "sparse": "#009E73"}
counts = [1, 2, 4, 8, 16]
without = error_and_seconds()
found = {
    family: [
        error_and_seconds(output_projection=family, n_projections=q) for q in counts
    ]
    for family in families
}

print(f"{'projection':14s}{'q':>3s}{'squared error':>16s}{'fit':>9s}")
print(f"{'none':14s}{'':3s}{without[0]:16.5f}{without[1]:7.2f} s")
for family, results in found.items():
    for q, (error, seconds) in zip(counts, results, strict=True):
        print(f"{family:14s}{q:3d}{error:16.5f}{seconds:7.2f} s")

# %%
# Error and time
# --------------

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
for i, (ax, what) in enumerate(
    zip(axes, ("squared error", "seconds to fit 100 trees"), strict=True)
):
    ax.axhline(without[i], color="0.35", linestyle="--", linewidth=1)
    ax.annotate(
        "no projection",
        (counts[-1], without[i]),
        (0, 4),
        textcoords="offset points",
        ha="right",
        color="0.35",
    )
    for (family, color), marker in zip(families.items(), "os^", strict=True):
        ax.plot(
            counts,
            [result[i] for result in found[family]],
            marker=marker,
            color=color,
            label=family,
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(counts, [str(q) for q in counts])
    ax.set(xlabel="q (log scale)", ylabel=what)
axes[1].set_ylim(bottom=0)
axes[0].legend(frameon=False, title="output_projection")
plt.show()
