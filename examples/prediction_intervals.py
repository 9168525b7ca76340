"""
Prediction intervals
====================

A forest predicts a number. How far may the truth be from it? The errors of out-of-bag predictions of the training
samples tell. They make intervals that hold about nine of ten new values, without a second fit and without samples that
are held out.
"""

# %%
# Data whose noise is not the same everywhere
# -------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import weald
from weald.conformal import ConformalRegressor, coverage, size

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Prediction intervals: nine of ten new values should be inside their interval.\n"
    "The noise grows to the right. Which intervals know it?"
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00"])

rng = np.random.default_rng(0)


def draw(n):
    """A curve with noise that grows with x, and a second output whose noise does not."""
    x = rng.uniform(0, 10, size=n)
    noise = rng.normal(size=(n, 2)) * np.column_stack([0.1 + x / 8, np.full(n, 0.3)])
    return x[:, None], np.column_stack([2 * np.sin(x), np.cos(x)]) + noise


X, Y = draw(1000)
X_new, Y_new = draw(1000)

# %%
# The same width everywhere, or by the spread of the trees
# --------------------------------------------------------

forest = weald.RandomForestRegressor(200, min_samples_leaf=5, random_state=0, n_jobs=-1)
models = {
    kind: ConformalRegressor(forest, alpha=0.1, conformity_score=kind).fit(X, Y)
    for kind in ("absolute", "normalized")
}

# %%
# Both keep the promise on average. Only the normalized intervals also keep it in the third with the most noise.

print(
    f"\n{'intervals':12s}{'coverage':>10s}{'in the noisiest third':>23s}"
    f"{'mean width':>12s}"
)
found = {}
for kind, model in models.items():
    bounds = model.predict_interval(X_new)[:, 0]
    y_new = Y_new[:, 0]
    noisy = X_new[:, 0] > 6.7
    found[kind] = (
        coverage(y_new, bounds),
        coverage(y_new[noisy], bounds[noisy]),
        size(bounds),
    )
    print(
        f"{kind:12s}{found[kind][0]:10.3f}{found[kind][1]:23.3f}{found[kind][2]:12.2f}"
    )

figure, axes = plt.subplots(1, 2, figsize=(7.2, 4), sharey=True, layout="constrained")
grid = np.linspace(0, 10, 300)[:, None]
for ax, (kind, model) in zip(axes, models.items(), strict=True):
    low, high = model.predict_interval(grid)[:, 0].T
    ax.plot(
        X_new[:, 0], Y_new[:, 0], ".", markersize=2, color="0.45", label="new values"
    )
    ax.plot(grid[:, 0], model.predict(grid)[:, 0], color="C0", label="prediction")
    ax.fill_between(grid[:, 0], low, high, alpha=0.3, color="C0", label="interval")
    ax.set_title(f"{kind}: {100 * found[kind][0]:.0f} % inside", fontsize=10)
    ax.set_xlabel("x")
axes[0].set_ylabel("first output")
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=3,
    frameon=False,
    markerscale=3,
)
plt.show()

# %%
# Both outputs at once
# --------------------
#
# An interval of nine tenths for each output is not a box of nine tenths for both.

model = models["normalized"]
each = coverage(Y_new, model.predict_interval(X_new), joint=True)
both = coverage(Y_new, model.predict_region(X_new), joint=True)
print(
    f"\nBoth outputs are inside: {each:.3f} of their intervals, {both:.3f} of their"
    f" boxes, {model.contains(X_new, Y_new, region='ellipsoid').mean():.3f} of their"
    " ellipsoids"
)

print(
    f"\nConclusion: both kinds cover {found['absolute'][0]:.2f} and "
    f"{found['normalized'][0]:.2f}; where the noise is largest"
    f" {found['absolute'][1]:.2f} and {found['normalized'][1]:.2f}."
)
