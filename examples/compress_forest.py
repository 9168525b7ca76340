"""Compresses forests that recognise handwritten digits and predict the progress of diabetes: as good, far smaller.

    python examples/compress_forest.py     a table, and a plot of error and size along the path

A hundred extra-trees are grown; then a sparse linear model over all their nodes is fitted, and what it does not use is
cut off. How far to go is found by cross-validation, or a budget says it: so many splits, so many bytes, so much loss.

Environment: JOBS (-1).
"""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

import spinney
from sklearn.datasets import load_diabetes, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from spinney.inspection import CompressionPathDisplay

OUT = Path(__file__).resolve().parent / "out"
JOBS = int(os.environ.get("JOBS", "-1"))
PROBLEMS = {
    "diabetes": ("progress of diabetes, R² of the test part", load_diabetes),
    "digits": ("handwritten digits, share of the test part that is right", load_digits),
}
# What is asked for beside the best model.
BUDGETS: dict[str, dict[str, Any]] = {
    "cross-validated": {},
    "at most 100 splits": {"max_test_nodes": 100},
    "at most 5 % more loss": {"max_loss_increase": 0.05},
}


def compressed(problem: str) -> tuple[list[tuple[str, float, int, int, float]], Any]:
    """Rows of the table, and the cross-validated model."""
    X, y = PROBLEMS[problem][1](return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    kind = "Classifier" if problem == "digits" else "Regressor"
    forest = getattr(spinney, f"ExtraTrees{kind}")(random_state=0, n_jobs=JOBS)
    start = time.perf_counter()
    forest.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    n_splits = sum(tree.tree_.node_count // 2 for tree in forest)
    n_bytes = len(pickle.dumps(forest, protocol=5))
    rows = [("100 extra-trees", forest.score(X_test, y_test), n_splits, n_bytes, seconds)]
    best = None
    for name, budget in BUDGETS.items():
        model = getattr(spinney, f"CompressedForest{kind}")(
            FrozenEstimator(forest), cv=5, random_state=0, n_jobs=JOBS, **budget
        )
        start = time.perf_counter()
        try:
            model.fit(X_train, y_train)
        except ValueError as error:
            print(f"  {name}: {error}")
            continue
        seconds = time.perf_counter() - start
        n_bytes = len(pickle.dumps(model, protocol=5))
        rows.append((name, model.score(X_test, y_test), model.n_test_nodes_, n_bytes, seconds))
        best = best or model
    return rows, best


def plot(models: dict[str, Any]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(models), figsize=(10, 3.6))
    for axis, (problem, model) in zip(axes, models.items(), strict=True):
        CompressionPathDisplay.from_estimator(model, ax=axis)
        axis.set_title(problem, fontsize=9)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / "compress_forest.png"
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    models = {}
    for problem, (title, _) in PROBLEMS.items():
        print(title)
        rows, models[problem] = compressed(problem)
        print(f"  {'model':22s} {'score':>6s} {'splits':>8s} {'bytes':>10s} {'seconds':>8s}")
        for name, score, n_splits, n_bytes, seconds in rows:
            print(f"  {name:22s} {score:6.3f} {n_splits:8d} {n_bytes:10d} {seconds:8.2f}")
        print(f"  {models[problem].compression_ratio_:.0f} times fewer splits\n")
    print(f"error and size along the path: {plot(models)}")


if __name__ == "__main__":
    main()
