"""What the scripts of chapter 7 share: the two problems, the ways of reading the text, one run.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 7: 300 rows to learn from, 2000 to test on, X and numbers brought to mean 0 and deviation 1; extra-trees of
K = p features; t by cross-validation of ten folds, each with a forest of its own; steps of 0.01. The complexity of a
model is its number of test nodes. Errors are mean squares of whitened numbers (1 is a constant), or shares of rows.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import weald
from _common import Data
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LassoCV
from weald.datasets import make_twonorm

N_TRAIN, N_TEST = 300, 2000
PROBLEMS = ("friedman1", "twonorm")


class Reading(NamedTuple):
    """How a forest is grown and compressed."""

    parameters: dict[str, Any]
    """Of the compression."""
    classes: bool = False
    """Classification trees; else regression trees, for Two-norm on 0 and 1, cut at one half."""
    growth: Mapping[str, Any] = MappingProxyType({})
    """Parameters of the forest other than those of the text."""


UNIT = {"standardize": True}
RAW: dict[str, Any] = {"standardize": False}
LASSO = RAW | {"solver": "lasso"}
# A hundredth and a ninth of the test nodes of the forest of the text: the last point of the path within this size.
HUNDREDTH = RAW | {"l1_norm": None, "max_test_nodes": 299}
NINTH = RAW | {"l1_norm": None, "max_test_nodes": 520}

# Variants: the scaling of indicators on the stagewise path, and the exact path.
_COMMON = {"unit variance": Reading(UNIT), "raw": Reading(RAW), "lasso": Reading(LASSO)}

READINGS: dict[str, dict[str, Reading]] = {
    "friedman1": {**_COMMON, "raw, 299 nodes": Reading(HUNDREDTH)},
    "twonorm": {
        **_COMMON,
        "unit variance, classes": Reading(UNIT, classes=True),
        "raw, classes": Reading(RAW, classes=True),
        "lasso, classes": Reading(LASSO, classes=True),
        "raw, logistic": Reading(RAW | {"loss": "log_loss"}, classes=True),
        "lasso, logistic": Reading(LASSO | {"loss": "log_loss"}, classes=True),
        "raw, 520 nodes": Reading(NINTH),
        "raw, 520 nodes of 1000 trees, K = 1": Reading(NINTH, growth={"n_estimators": 1000, "max_features": 1}),
    },
}


@functools.cache
def problem(name: str, seed: int) -> Data:
    if name == "friedman1":
        X, y = make_friedman1(N_TRAIN + N_TEST, n_features=10, noise=1.0, random_state=seed)
    else:
        X, y = make_twonorm(N_TRAIN + N_TEST, random_state=seed)
    X = (X - X[:N_TRAIN].mean(axis=0)) / X[:N_TRAIN].std(axis=0)
    if name == "friedman1":
        y = (y - y[:N_TRAIN].mean()) / y[:N_TRAIN].std()
    return Data(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])


def forest(name: str, reading: str, seed: int, trees: int, n_min: int) -> Any:
    how = READINGS[name][reading]
    kind = weald.ExtraTreesClassifier if how.classes else weald.ExtraTreesRegressor
    parameters = {"n_estimators": trees, "max_features": None, "min_samples_split": n_min} | dict(how.growth)
    return kind(**parameters, random_state=seed, n_jobs=1)


def compressed(name: str, reading: str, seed: int, trees: int = 100, n_min: int = 2) -> Any:
    """The estimator of a variant, which grows its forest and chooses t by ten folds, except for variants with a number
    of nodes."""
    how = READINGS[name][reading]
    kind = weald.CompressedForestClassifier if how.classes else weald.CompressedForestRegressor
    return kind(forest(name, reading, seed, trees, n_min), random_state=seed, **how.parameters)


def error(name: str, model: Any, data: Data) -> float:
    """The mean square error, or the fraction of samples with a wrong class (predicted numbers are cut at one half)."""
    predicted = model.predict(data.X_test)
    if name == "friedman1":
        return float(np.mean((predicted - data.y_test) ** 2))
    return float(np.mean((predicted > 0.5) != (data.y_test > 0.5)))


def test_nodes(model: Any) -> int:
    return sum(int((tree.tree_.children_left >= 0).sum()) for tree in model.estimators_)


def run(name: str, reading: str, seed: int, trees: int = 100, n_min: int = 2) -> dict[str, float]:
    """Error and test nodes of a forest and of its compressed form."""
    data = problem(name, seed)
    full = forest(name, reading, seed, trees, n_min).fit(data.X, data.y)
    small = compressed(name, reading, seed, trees, n_min).fit(data.X, data.y)
    return {
        "et_error": error(name, full, data),
        "et_nodes": test_nodes(full),
        "ret_error": error(name, small, data),
        "ret_nodes": small.n_test_nodes_,
        "t": small.l1_norm_,
    }


def linear(name: str, seed: int) -> dict[str, float]:
    """The lasso on the original features, with its penalty chosen by ten folds; its complexity is the number of
    features."""
    data = problem(name, seed)
    model = LassoCV(cv=10, random_state=seed).fit(data.X, data.y)
    return {"error": error(name, model, data), "features": int((model.coef_ != 0).sum())}
