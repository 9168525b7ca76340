"""
Forests on random projections of the outputs
============================================

An instrument measures 256 channels, all of which depend on the same four functions of five features each. Every tree
is grown on *q* random combinations of the channels and still predicts the channels themselves. With *q* far below 256
the search for splits is cheaper, and the trees differ more from one another.
"""

# %%
# Data and measure
# ----------------

import time

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.metrics import mean_squared_error
from weald.datasets import make_friedman1_ind

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Forests on random projections of the outputs: 256 channels are predicted by "
    "forests whose\n"
    "trees are grown on q random combinations of them, and by one that is grown on all."
)

rng = np.random.default_rng(0)
X, functions = make_friedman1_ind(2000, n_outputs=4, random_state=0)
y = functions @ rng.normal(size=(4, 256)) / 10 + rng.normal(size=(2000, 256)) / 2
X_train, X_test, y_train, y_test = X[:1000], X[1000:], y[:1000], y[1000:]


def error_and_seconds(**parameters):
    """Mean error and median time over three seeds."""
    errors, seconds = [], []
    for seed in range(3):
        forest = weald.RandomForestRegressor(
            30, min_samples_leaf=5, random_state=seed, n_jobs=1, **parameters
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

print(f"\n{'projection':14s}{'q':>3s}{'squared error':>16s}{'fit':>9s}")
print(f"{'none':14s}{'':3s}{without[0]:16.3f}{without[1]:7.2f} s")
for family, results in found.items():
    for q, (error, seconds) in zip(counts, results, strict=True):
        print(f"{family:14s}{q:3d}{error:16.3f}{seconds:7.2f} s")

# %%
# Error and time
# --------------

error, seconds = found["gaussian"][counts.index(8)]
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.9), layout="constrained")
figure.suptitle(
    f"Grown on 8 combinations of 256 outputs: {seconds / without[1]:.0%} of the time,"
    f" {error / without[0]:.0%} of the error"
)
for i, (ax, what) in enumerate(
    zip(
        axes,
        ("squared error, 1000 test samples", "seconds to fit 30 trees"),
        strict=True,
    )
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
    ax.set(xlabel="number of combinations q (log scale)", ylabel=what)
axes[1].set_ylim(0, 1.15 * without[1])
axes[0].legend(frameon=False, title="output_projection")
plt.show()

print(
    "\nConclusion: grown on 8 Gaussian combinations the forest fits "
    f"{without[1] / seconds:.1f} times as fast,"
    f" with a squared error of {error:.3f} beside {without[0]:.3f} without projections."
)
