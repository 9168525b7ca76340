"""
Boosting with sixteen outputs
=============================

There are three ways to boost several outputs: a tree for each output in every stage (``"single_target"``), one tree
for all outputs (``"joint"``), or one tree on a random combination of their gradients (``"projected"``), whose leaves
are then fitted to every output.
"""

# %%
# Two problems
# ------------
# Both have 300 training samples and 16 outputs: noisy measurements of one function, and sixteen different functions.

import time

import matplotlib.pyplot as plt
import numpy as np
import weald
from weald.datasets import make_friedman1_group, make_friedman1_ind

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Boosting with sixteen outputs: one tree for each output, one for all, or one "
    "on a random\n"
    "combination of their gradients. Which is best depends on what the outputs have "
    "in common."
)
problems = {
    "16 noisy measurements of one function": make_friedman1_group,
    "16 functions with nothing in common": make_friedman1_ind,
}

# %%
# One model for each strategy and problem
# ---------------------------------------
# A stage of ``"single_target"`` grows 16 trees and one of the others grows one, so the others get five times as many
# stages.

n_stages = {"single_target": 200, "joint": 1000, "projected": 1000}
curves, least = {}, {}
for problem, make in problems.items():
    X, y = make(2300, n_outputs=16, random_state=0)
    print(f"\n{problem:40s}{'squared error':>14s}{'stages':>9s}{'fit':>9s}")
    for strategy, n_estimators in n_stages.items():
        model = weald.GradientBoostingRegressor(
            n_estimators=n_estimators,
            learning_rate=0.2,
            max_depth=3,
            output_strategy=strategy,
            random_state=0,
            n_jobs=1,
        )
        start = time.perf_counter()
        model.fit(X[:300], y[:300])
        seconds = time.perf_counter() - start
        errors = np.array(
            [
                ((staged - y[300:]) ** 2).mean()
                for staged in model.staged_predict(X[300:])
            ]
        )
        curves[problem, strategy] = (
            np.linspace(0, seconds, n_estimators + 1)[1:],
            errors,
        )
        least[problem, strategy] = errors.min()
        print(
            f"   {strategy:37s}{errors.min():14.2f}"
            f"{errors.argmin() + 1:9d}{seconds:7.2f} s"
        )

# %%
# How long each strategy takes to come within a tenth of the least error of all, which some never do.

near = {problem: {} for problem in problems}
for (problem, strategy), (seconds, errors) in curves.items():
    limit = 1.1 * min(least[problem, one] for one in n_stages)
    if errors.min() <= limit:
        near[problem][strategy] = 1000 * seconds[np.argmax(errors <= limit)]
print(f"\n{'time to within 10% of the least error':40s}")
for problem, times in near.items():
    found = ", ".join(f"{name} {times[name]:.0f} ms" for name in times)
    print(f"   {problem}: {found}")

# %%
# Error against time
# ------------------

colors = {"single_target": "#0072B2", "joint": "#D55E00", "projected": "#009E73"}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
for ax, problem in zip(axes, problems, strict=True):
    for strategy, color in colors.items():
        seconds, errors = curves[problem, strategy]
        ax.plot(1000 * seconds, errors, color=color)
        ax.plot(
            1000 * seconds[errors.argmin()],
            errors.min(),
            "o",
            color=color,
            label=f"{strategy}: {errors.min():.1f} at best",
        )
    ax.set(xscale="log", xlabel="milliseconds of fitting (log scale)")
    first = min(near[problem], key=near[problem].get)
    ax.set_title(f"{problem}:\n{first} is first near the least error", fontsize=10)
    ax.set_ylim(0, 36)
    ax.legend(loc="upper right", frameon=False, fontsize=9, labelcolor="linecolor")
axes[0].set_ylabel("squared error, 2000 test samples")
plt.show()

one, nothing = problems
print(
    f"\nConclusion: on one function all come near an error of "
    f"{min(least[one, strategy] for strategy in n_stages):.1f}, joint in "
    f"{near[one]['joint']:.0f} ms and single_target in "
    f"{near[one]['single_target']:.0f}; on functions with nothing in common "
    f"single_target has {least[nothing, 'single_target']:.1f}, and projected "
    f"{least[nothing, 'projected']:.1f}."
)
