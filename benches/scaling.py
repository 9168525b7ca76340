"""Seconds of fits on 1, 2, 4, … threads, weald only: `python benches/scaling.py --threads 1 2 4 8 16`.

Prints medians, with the seconds on one thread divided by them, and whether all fits predict the same bits. Data sets that
are absent are left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import continuous, named, smooth
from _harness import PLAIN_BOOSTING, AbsentDataError

ROUNDS = {**PLAIN_BOOSTING, "random_state": 0, "early_stopping": False}
LEAVES = {**ROUNDS, "n_estimators": 100, "max_leaf_nodes": 31}


def many_samples():
    """A million samples, ten for each of `smooth`, moved a little."""
    data = smooth()
    X = np.tile(data.X, (10, 1))
    return X + 0.1 * np.random.default_rng(1).normal(size=X.shape).astype(np.float32), np.tile(data.y, 10)


def many_outputs():
    """A hundred numbers for each sample of `smooth`."""
    data = smooth()
    return data.X, np.stack([data.y * np.cos(k) + data.X[:, k % 50] for k in range(100)], axis=1)


def fields(data):
    return data.X, data.y


CASES = {
    "boosting, 100 000 x 50, numbers": (lambda: fields(smooth()), weald.GradientBoostingRegressor(**LEAVES)),
    "boosting, 100 000 x 50, two classes": (lambda: fields(smooth(2)), weald.GradientBoostingClassifier(**LEAVES)),
    "boosting, 1 000 000 x 50, numbers": (
        many_samples,
        weald.GradientBoostingRegressor(**{**LEAVES, "n_estimators": 20}),
    ),
    "boosting, 100 000 x 50, 100 outputs": (
        many_outputs,
        weald.GradientBoostingRegressor(**ROUNDS, n_estimators=10, max_depth=6),
    ),
    "boosting, bibtex": (lambda: fields(named("bibtex")), weald.GradientBoostingClassifier(**ROUNDS, n_estimators=20)),
    "boosting, delicious": (
        lambda: fields(named("delicious")),
        weald.GradientBoostingClassifier(**ROUNDS, n_estimators=20),
    ),
    "random forest, bibtex": (lambda: fields(named("bibtex")), weald.RandomForestClassifier(64, random_state=0)),
    "random forest, delicious": (lambda: fields(named("delicious")), weald.RandomForestClassifier(64, random_state=0)),
    "random forest, 50 000 x 30": (
        lambda: fields(continuous()),
        weald.RandomForestRegressor(64, max_features=10, random_state=0),
    ),
    "tree, 50 000 x 30": (lambda: fields(continuous()), weald.DecisionTreeRegressor(random_state=0)),
}


def bits(model, X):
    predicted = model.predict(X[:200])
    return (predicted.toarray() if sp.issparse(predicted) else np.asarray(predicted)).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    args = parser.parse_args()
    print(
        f"weald {weald.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores"
    )
    for name, (make, model) in CASES.items():
        if args.only not in name:
            continue
        try:
            X, y = make()
        except AbsentDataError as absent:
            print(f"{name:36} left out: {absent}")
            continue
        seconds: dict[int, list[float]] = {n: [] for n in args.threads}
        predictions = set()
        for _ in range(args.repeat):
            for n in args.threads:
                model.set_params(n_jobs=n)
                start = time.perf_counter()
                model.fit(X, y)
                seconds[n].append(time.perf_counter() - start)
                predictions.add(bits(model, X))
        medians = {n: statistics.median(of) for n, of in seconds.items()}
        first = medians[args.threads[0]]
        times = "  ".join(f"{n}: {m:.3f} s ({first / m:.2f})" for n, m in medians.items())
        print(f"{name:36} {times}  {'same bits' if len(predictions) == 1 else 'DIFFERENT PREDICTIONS'}", flush=True)


if __name__ == "__main__":
    main()
