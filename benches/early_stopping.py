"""How many rounds of boosting: a fixed number, one held-out part, a last fit to all samples, or several folds.

    python benches/early_stopping.py [--only diabetes] [--ways fixed stopped]

Training parts of ten sets of several numerical outputs (those in the data folder, see benches/data.py), and seven small
sets of scikit-learn. Each set is split into three folds, twice if it has at most 1 000 samples, and two large ones into
two. Prints the relative root mean squared error of the left-out folds, the mean over the outputs (1 is the error of the
mean of y), with the median number of stages, the geometric mean of its ratios to 300 rounds, and the seconds of one
thread. Test parts are not read.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weald
from sklearn import datasets
from sklearn.model_selection import KFold

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import filled, named
from _harness import AbsentDataError, Table, options, parser
from weald import EarlyStopping

SETTINGS: dict[str, Any] = {"learning_rate": 0.05, "subsample": 0.7, "max_features": 0.5, "max_leaf_nodes": 31}
STOPPED = {**SETTINGS, "n_estimators": 2000, "early_stopping": True}
REFIT = {**STOPPED, "early_stopping": EarlyStopping(refit=True)}
FOLDS = {**STOPPED, "early_stopping": EarlyStopping(cv=3)}
WAYS: dict[str, dict[str, Any]] = {
    "fixed": {**SETTINGS, "n_estimators": 300},
    "defaults": {},
    "stopped": STOPPED,
    "refit": REFIT,
    "cv=3": FOLDS,
    "patient refit": {**REFIT, "n_iter_no_change": 30},
    "patient cv=3": {**FOLDS, "n_iter_no_change": 30},
}
LARGE = ["rf1", "scm20d"]
STORED = ["edm", "enb", "jura", "wq", "osales", "oes97", "oes10", *LARGE, "atp1d"]


def _column(load: Callable[..., Any], column: int) -> Any:
    """A table of scikit-learn whose target is one of its features."""
    table = load().data
    return np.delete(table, column, axis=1), table[:, column]


MADE: dict[str, Callable[[], Any]] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda: datasets.make_friedman1(300, noise=1.0, random_state=0),
    "friedman2": lambda: datasets.make_friedman2(300, noise=50, random_state=0),
    "friedman1, 5000": lambda: datasets.make_friedman1(5000, noise=1.0, random_state=0),
    "wine": lambda: _column(datasets.load_wine, 0),
    "cancer": lambda: _column(datasets.load_breast_cancer, 4),
    "digits": lambda: datasets.load_digits(return_X_y=True),
}


def load(name: str) -> tuple[Any, Any]:
    """X without missing values and y of shape (n_samples, n_outputs)."""
    if name in MADE:
        X, y = MADE[name]()
    else:
        data = filled(named(name))
        X, y = data.X, data.y
    return np.asarray(X, np.float32), np.asarray(y, float).reshape(len(X), -1)


def score(way: str, X: Any, y: Any, n_folds: int) -> tuple[float, float, list[int]]:
    """The error, the seconds, and the numbers of stages."""
    errors, stages, begin = [], [], time.process_time()
    for seed in range(1 if len(X) > 1000 else 2):
        for train, test in KFold(n_folds, shuffle=True, random_state=seed).split(X):
            model = weald.GradientBoostingRegressor(**WAYS[way], random_state=seed)
            predicted = model.fit(X[train], y[train]).predict(X[test]).reshape(len(test), -1)
            of_mean = ((y[test] - y[train].mean(axis=0)) ** 2).sum(axis=0)
            errors.append(np.sqrt(((y[test] - predicted) ** 2).sum(axis=0) / of_mean).mean())
            stages.append(model.n_estimators_)
    return float(np.mean(errors)), time.process_time() - begin, stages


def main() -> None:
    common = parser(__doc__ or "", repeat=1)
    common.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    args = options(common)
    warnings.simplefilter("ignore")
    table = Table(f"case | {' | '.join(args.ways)}")
    found, seconds = [], np.zeros(len(args.ways))
    for name in [name for name in (*MADE, *STORED) if args.only in name][: 1 if args.quick else None]:
        try:
            data = load(name)
        except AbsentDataError as error:
            table.row(name, f"left out: {error.caught()}")
            continue
        results = [score(way, *data, 2 if name in LARGE else 3) for way in args.ways]
        found.append([error for error, _, _ in results])
        seconds += [taken for _, taken, _ in results]
        table.row(name, *(f"{error:.4f} ({np.median(stages):.0f})" for error, _, stages in results))
    if found:
        ratios = np.exp(np.log(np.array(found) / np.array(found)[:, :1]).mean(axis=0))
        table.row(f"geometric mean to {args.ways[0]}", *(f"{ratio:.4f}" for ratio in ratios))
    table.row("seconds", *(f"{taken:.0f}" for taken in seconds))


if __name__ == "__main__":
    main()
