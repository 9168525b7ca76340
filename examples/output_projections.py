"""Grows forests on random projections of the outputs: the lower half of a digit, 32 pixels, from its upper half.

    python examples/output_projections.py      a table, and a plot of error and time against the number of projections

Every tree is grown on q random combinations of the pixels and predicts the pixels themselves. With q far below 32 the
search of a split is cheaper, and the trees differ more from one another.

Environment: TREES (100), JOBS (1), REPEAT (3).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import spinney
from sklearn.datasets import load_digits
from sklearn.metrics import mean_squared_error

OUT = Path(__file__).resolve().parent / "out"
TREES = int(os.environ.get("TREES", "100"))
JOBS = int(os.environ.get("JOBS", "1"))
REPEAT = int(os.environ.get("REPEAT", "3"))
FAMILIES = {"gaussian": "Gaussian", "subsample": "subsampled pixels", "sparse": "sparse, s = √d"}
COUNTS = (1, 2, 4, 8, 16)


def progress(text: str) -> None:
    """One line, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measured(name: str, data: tuple[Any, Any, Any, Any], **parameters: Any) -> tuple[float, float]:
    """Squared error on the test part and seconds to fit: means over seeds, medians of times."""
    X, y, X_test, y_test = data
    errors, times = [], []
    for seed in range(REPEAT):
        progress(f"{name}: {seed + 1} of {REPEAT}")
        forest = spinney.ExtraTreesRegressor(
            n_estimators=TREES, max_features="sqrt", random_state=seed, n_jobs=JOBS, **parameters
        )
        start = time.perf_counter()
        forest.fit(X, y)
        times.append(time.perf_counter() - start)
        errors.append(mean_squared_error(y_test, forest.predict(X_test)))
    progress("")
    return statistics.fmean(errors), statistics.median(times)


def plot(results: dict[tuple[str, int], tuple[float, float]]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for axis, i, label in ((axes[0], 0, "squared error"), (axes[1], 1, "seconds to fit")):
        for family, name in FAMILIES.items():
            axis.plot(COUNTS, [results[family, q][i] for q in COUNTS], marker="o", markersize=4, label=name)
        axis.axhline(results["none", 0][i], color="black", linestyle="--", linewidth=1, label="no projection")
        axis.set_xscale("log", base=2)
        axis.set_xticks(COUNTS, [str(q) for q in COUNTS])
        axis.set_xlabel("number q of projections")
        axis.set_ylabel(label)
    axes[1].set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize=8)
    OUT.mkdir(exist_ok=True)
    path = OUT / "output_projections.png"
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    images = load_digits().data
    images = (images[np.random.default_rng(0).permutation(len(images))] / 16).astype(np.float32)
    X, y = images[:, :32], images[:, 32:].astype(float)
    data = X[:1200], y[:1200], X[1200:], y[1200:]
    results = {("none", 0): measured("no projection", data)}
    for family, name in FAMILIES.items():
        for q in COUNTS:
            parameters = {"output_projection": family, "n_projections": q}
            results[family, q] = measured(f"{name}, q = {q}", data, **parameters)
    print("Lower half of a digit, 32 pixels, from its upper half: 1200 digits to learn from, 597 to complete,")
    print(f"extra-trees, {TREES} trees, n_jobs={JOBS}, mean of {REPEAT} seeds, median time\n")
    print(f"{'grown on':20s} {'q':>3s} {'squared error':>14s} {'fit':>9s}")
    for (family, q), (error, seconds) in results.items():
        name = FAMILIES.get(family, "the pixels themselves")
        print(f"{name:20s} {q or '':>3} {error:14.5f} {seconds:7.3f} s")
    print(f"\nerror and time against q: {plot(results)}")


if __name__ == "__main__":
    main()
