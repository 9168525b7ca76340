"""Missing values: their cost against the same data filled in, and forests and boosting against other libraries.

A tenth of the values of 50 000 × 30 continuous features is missing, or of the stored entries of 20newsgroup. Goals: at
most 1.3 times the time of the data with missing values replaced by the means of the features (ratio 0.77); random
forests 5 times as fast as scikit-learn's. The scores show the benefit of learning the sides of missing values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
import weald
from _boosters import LightGBM
from _data import by_column, continuous, filled, fortran, plain, text
from _harness import PLAIN_BOOSTING, Case, Data, Side, main, n_trees

SHARE = 0.1


def with_gaps(data: Data) -> Data:
    """The same with a tenth of the values of X missing, drawn with a fixed seed."""
    rng = np.random.default_rng(0)

    def gaps(X: Any) -> Any:
        X = X.astype(np.float32, copy=True)
        values = X.data if sp.issparse(X) else X
        values[rng.random(values.shape) < SHARE] = np.nan
        return X

    return replace(data, X=gaps(data.X), X_test=gaps(data.X_test))


def without_gaps(data: Data) -> Data:
    """Missing values are replaced: by the means of columns, or for sparse X by one, the most frequent count."""
    if not sp.issparse(data.X):
        return filled(data)

    def one(X: Any) -> Any:
        X = X.copy()
        X.data[np.isnan(X.data)] = 1
        return X

    return replace(data, X=one(data.X), X_test=one(data.X_test))


def score(model: Any, data: Data) -> float:
    if hasattr(model, "score"):
        return float(model.score(data.X_test, data.y_test))
    return float(1 - np.mean((model.predict(data.X_test) - data.y_test) ** 2) / np.var(data.y_test))


def cases(args: argparse.Namespace) -> Iterator[Case]:
    m = n_trees(args, usual=5, quick=2)
    rounds = n_trees(args, usual=50, quick=5)

    def gappy(load: Callable[[], Data]) -> Callable[[], Data]:
        return lambda: with_gaps(load())

    def pair(make: Callable[[], Any], layout: Callable[[Data], Data], method: str = "predict") -> dict[str, Side]:
        return {
            "weald, NaN": Side(make, layout, method),
            "weald, filled": Side(make, lambda data: layout(without_gaps(data)), method),
        }

    def forest(library: Any, kind: str) -> Callable[[], Any]:
        return lambda: getattr(library, kind)(n_estimators=m, random_state=0, n_jobs=1)

    dense = {"Regressor": continuous, "Classifier": partial(continuous, classes=2)}
    for task, load in dense.items():
        for kind in ("RandomForest", "ExtraTrees"):
            make = forest(weald, kind + task)
            name = f"{kind}{task}, 50 000 x 30, a tenth missing"
            yield Case(f"{name}, against filled", gappy(load), pair(make, fortran), {"seconds": 1 / 1.3}, score=score)
            peers = {"scikit-learn": Side(forest(sklearn.ensemble, kind + task), fortran)}
            ours = {"weald": Side(make, fortran)}
            yield Case(name, gappy(load), ours | peers, {"seconds": 5 if kind == "RandomForest" else None}, score=score)
    for kind in ("RandomForestClassifier", "ExtraTreesClassifier"):
        sides = pair(forest(weald, kind), by_column)
        name = f"{kind}, 20newsgroup, a tenth of the entries missing, against filled"
        yield Case(name, gappy(text), sides, {"seconds": 1 / 1.3}, score=score)

    def boosting() -> Any:
        return weald.GradientBoostingRegressor(**PLAIN_BOOSTING, n_estimators=rounds, random_state=0, n_jobs=1)

    name = "boosting, 50 000 x 30, a tenth missing"
    yield Case(f"{name}, against filled", gappy(continuous), pair(boosting, fortran), {"seconds": 1 / 1.3}, score=score)
    peers = {
        "HistGradientBoosting": Side(
            lambda: sklearn.ensemble.HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False), plain
        ),
        "LightGBM": Side(partial(LightGBM, rounds), plain, needs="lightgbm"),
    }
    yield Case(name, gappy(continuous), {"weald": Side(boosting, fortran)} | peers, {"seconds": None}, score=score)
    make = forest(weald, "RandomForestRegressor")
    name = "prediction, RandomForestRegressor, 10 000 x 30, a tenth missing, against filled"
    yield Case(name, gappy(continuous), pair(make, plain), {"seconds": 1 / 1.3}, work="predict", score=score)


if __name__ == "__main__":
    main(__doc__ or "", cases)
