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
curves = {}
for problem, make in problems.items():
    X, y = make(2300, n_outputs=16, random_state=0)
    print(problem)
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
        print(
            f"   {strategy:14s} least error {errors.min():6.3f}"
            f" after {errors.argmin() + 1} stages, {seconds:.2f} s"
        )

# %%
# Error against time
# ------------------

colors = {"single_target": "#0072B2", "joint": "#D55E00", "projected": "#009E73"}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
for ax, problem in zip(axes, problems, strict=True):
    for strategy, color in colors.items():
        seconds, errors = curves[problem, strategy]
        best = errors.argmin()
        ax.plot(1000 * seconds, errors, color=color)
        ax.plot(
            1000 * seconds[best],
            errors[best],
            "o",
            color=color,
            label=f"{strategy}: {errors[best]:.1f} at best",
        )
    ax.set(xscale="log", xlabel="milliseconds of fitting (log scale)")
    ax.set_title(problem, fontsize=10)
    ax.legend(frameon=False, fontsize=9, labelcolor="linecolor")
axes[0].set_ylabel("squared error, 2000 test samples")
plt.show()
