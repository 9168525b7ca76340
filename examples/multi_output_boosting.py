"""Boosts sixteen outputs at once: noisy measurements of one function, and functions with nothing in common.

    python examples/multi_output_boosting.py     a table, and a plot of error against rounds

Three ways to boost 16 outputs: a tree for each of them in every round (single target), one tree for all (joint), or one
tree on a random combination of what is left to explain (projected), of which every output takes what it can use. The
second way is good where outputs are related, the first where they are not; the third adapts.

A round of single target grows 16 trees, a round of the others one: they are given five times as many rounds.

Environment: ROUNDS (200), JOBS (1).
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import spinney
from spinney.datasets import make_friedman1_group, make_friedman1_ind

OUT = Path(__file__).resolve().parent / "out"
ROUNDS = int(os.environ.get("ROUNDS", "200"))
JOBS = int(os.environ.get("JOBS", "1"))
PROBLEMS = {
    "related": ("sixteen noisy measurements of one function", make_friedman1_group),
    "unrelated": ("sixteen functions with nothing in common", make_friedman1_ind),
}
STRATEGIES: dict[str, dict[str, Any]] = {
    "single target": {"output_strategy": "single_target"},
    "joint": {"output_strategy": "joint"},
    "projected, subsampled": {"output_projection": "subsample"},
    "projected, Gaussian": {"output_projection": "gaussian"},
    "projected, one number a leaf": {"output_projection": "subsample", "relabel_leaves": False},
}


def progress(text: str) -> None:
    """One line, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def boosted(make: Any, strategy: dict[str, Any]) -> tuple[np.ndarray, float, int]:
    """Squared error on the test part after each round, seconds to fit, bytes of the model."""
    X, y = make(2300, n_outputs=16, random_state=0)
    rounds = ROUNDS if strategy.get("output_strategy") == "single_target" else 5 * ROUNDS
    model = spinney.GradientBoostingRegressor(
        n_estimators=rounds, learning_rate=0.2, max_depth=3, random_state=0, n_jobs=JOBS, **strategy
    )
    start = time.perf_counter()
    model.fit(X[:300], y[:300])
    seconds = time.perf_counter() - start
    errors = [((predicted - y[300:]) ** 2).mean() for predicted in model.staged_predict(X[300:])]
    return np.array(errors), seconds, len(pickle.dumps(model, protocol=5))


def plot(results: dict[tuple[str, str], tuple[np.ndarray, float, int]]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for axis, (problem, (title, _)) in zip(axes, PROBLEMS.items(), strict=True):
        for strategy in STRATEGIES:
            errors, seconds, _ = results[problem, strategy]
            at = np.linspace(0, seconds, len(errors) + 1)[1:]
            axis.plot(1000 * at, errors, linewidth=1.2, label=strategy)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("milliseconds of fitting")
        axis.set_title(title, fontsize=9)
    axes[0].set_ylabel("squared error on the test part")
    axes[0].legend(frameon=False, fontsize=8)
    OUT.mkdir(exist_ok=True)
    path = OUT / "multi_output_boosting.png"
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    results = {}
    for problem, (_, make) in PROBLEMS.items():
        for name, strategy in STRATEGIES.items():
            progress(f"{problem}: {name}")
            results[problem, name] = boosted(make, strategy)
    progress("")
    print("300 rows to learn from, 16 outputs, trees of depth 3, learning rate 0.2,")
    print(f"{ROUNDS} rounds of single target, {5 * ROUNDS} of the others, n_jobs={JOBS}\n")
    for problem, (title, _) in PROBLEMS.items():
        print(title)
        print(f"  {'strategy':30s} {'best error':>10s} {'at round':>9s} {'fit':>9s} {'model':>10s}")
        for name in STRATEGIES:
            errors, seconds, size = results[problem, name]
            print(f"  {name:30s} {errors.min():10.3f} {errors.argmin() + 1:9d} {seconds:7.3f} s {size / 1000:7.0f} kB")
        print()
    print(f"error against time: {plot(results)}")


if __name__ == "__main__":
    main()
