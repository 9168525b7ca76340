"""What the scripts of chapter 7 share: the two problems, the ways of reading the text, one run.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 7: 300 rows to learn from, 2000 to test on, X and numbers brought to mean 0 and deviation 1; extra-trees of
K = p features; t by cross-validation of ten folds, each with a forest of its own; steps of 0.01. The complexity of a
model is its number of test nodes. Errors are mean squares of whitened numbers (1 is a constant), or shares of rows.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import spinney
from _common import Data
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LassoCV
from spinney.datasets import make_twonorm

N_TRAIN, N_TEST = 300, 2000
PROBLEMS = ("friedman1", "twonorm")

READINGS: dict[str, dict[str, Any]] = {
    "unit variance": {"standardize": True},
    "raw": {"standardize": False},
    "lasso": {"standardize": False, "solver": "lasso"},
}
"""How indicators are scaled along the stagewise path; and the exact path."""

CLASS_READINGS: dict[str, dict[str, Any]] = {
    **{f"{name}, classes": reading for name, reading in READINGS.items()},
    "raw, logistic": {"standardize": False, "loss": "log_loss"},
    "lasso, logistic": {"standardize": False, "solver": "lasso", "loss": "log_loss"},
}
"""Of Two-norm, by classification trees; without the word: by regression trees on 0 and 1, cut at one half."""


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


def readings(name: str) -> list[str]:
    return [*READINGS, *(CLASS_READINGS if name == "twonorm" else ())]


def forest(reading: str, seed: int, trees: int, n_min: int) -> Any:
    kind = (
        spinney.ExtraTreesClassifier if "classes" in reading or "logistic" in reading else spinney.ExtraTreesRegressor
    )
    return kind(trees, max_features=None, min_samples_split=n_min, random_state=seed, n_jobs=1)


def compressed(reading: str, seed: int, trees: int = 100, n_min: int = 2) -> Any:
    """The estimator of a reading: grows its forest, chooses t by ten folds."""
    grown = forest(reading, seed, trees, n_min)
    if isinstance(grown, spinney.ExtraTreesClassifier):
        return spinney.CompressedForestClassifier(grown, random_state=seed, **CLASS_READINGS[reading])
    return spinney.CompressedForestRegressor(grown, random_state=seed, **READINGS[reading])


def error(name: str, model: Any, data: Data) -> float:
    """Mean square; or the share of rows whose class is not the predicted one (numbers are cut at one half)."""
    predicted = model.predict(data.X_test)
    if name == "friedman1":
        return float(np.mean((predicted - data.y_test) ** 2))
    return float(np.mean((predicted > 0.5) != (data.y_test > 0.5)))


def test_nodes(model: Any) -> int:
    return sum(int((tree.tree_.children_left >= 0).sum()) for tree in model.estimators_)


def run(name: str, reading: str, seed: int, trees: int = 100, n_min: int = 2) -> dict[str, float]:
    """Error and test nodes of a forest and of what it is compressed to."""
    data = problem(name, seed)
    full = forest(reading, seed, trees, n_min).fit(data.X, data.y)
    small = compressed(reading, seed, trees, n_min).fit(data.X, data.y)
    return {
        "et_error": error(name, full, data),
        "et_nodes": test_nodes(full),
        "ret_error": error(name, small, data),
        "ret_nodes": small.n_test_nodes_,
        "t": small.l1_norm_,
    }


def linear(name: str, seed: int) -> dict[str, float]:
    """The lasso on the features themselves, its penalty by ten folds; its complexity is the number of features."""
    data = problem(name, seed)
    model = LassoCV(cv=10, random_state=seed).fit(data.X, data.y)
    return {"error": error(name, model, data), "features": int((model.coef_ != 0).sum())}
