"""Compression of forests: time against a dense matrix of indicators, memory on delicious, bytes at equal scores.

Time of the whole procedure on Friedman1 (300 samples, 100 extra-trees, ten folds, steps of 0.01): the goal is 50 times
as fast as the NumPy twin of the tests, which stores all indicators. Time of the exact path: 5 times as fast as
scikit-learn's `lasso_path` on the sparse matrix of indicators, both from the same forest. A forest of 100 trees on
delicious (983 labels): in minutes, with a peak of at most three times model and data. `compressed_bytes.py` compares
bytes at equal scores.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _data import by_column, delicious
from _harness import Case, Data, Side, main, n_trees
from _scores import ranking_precision
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import lasso_path
from sklearn.model_selection import KFold

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from compression_twin import nodes_of, stagewise


def friedman1() -> Data:
    X, y = make_friedman1(2300, n_features=10, noise=1.0, random_state=0)
    y = (y - y[:300].mean()) / y[:300].std()
    return Data(X[:300], y[:300], X[300:], y[300:])


def extra_trees(m: int) -> Any:
    return weald.ExtraTreesRegressor(m, max_features=None, random_state=0, n_jobs=1)


class Twin(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The whole procedure with stored indicators: k folds, the best t, and the path of all samples up to it."""

    def __init__(self, n_estimators: int = 100, standardize: bool = False, max_steps: int = 3000, cv: int = 10) -> None:
        self.n_estimators, self.standardize, self.max_steps, self.cv = n_estimators, standardize, max_steps, cv

    def fit(self, X: Any, y: Any) -> Twin:
        curves = []
        for train, _ in KFold(self.cv).split(X):
            w = np.zeros(len(y))
            w[train] = 1
            forest = extra_trees(self.n_estimators).fit(X[train], y[train])
            path = stagewise(nodes_of(forest, X), y[:, None], w, 0.01, self.standardize, self.max_steps, 1 - w)
            curves.append([step.held_out for step in path])
        # A path that has ended keeps its last value.
        longest = max(map(len, curves))
        best = int(np.mean([np.pad(c, (0, longest - len(c)), mode="edge") for c in curves], axis=0).argmin())
        forest = extra_trees(self.n_estimators).fit(X, y)
        w = np.ones(len(y))
        for step in stagewise(nodes_of(forest, X), y[:, None], w, 0.01, self.standardize, best, 0 * w):
            self.n_test_nodes_, self.l1_norm_ = step.n_test_nodes, step.t
        return self


def ours(m: int, **parameters: Any) -> Any:
    return weald.CompressedForestRegressor(extra_trees(m), random_state=0, n_jobs=1, **parameters)


def stagewise_times(args: argparse.Namespace) -> Iterator[Case]:
    m = n_trees(args, usual=100, quick=10)
    for scaling in (True, False):
        yield Case(
            f"ten folds on Friedman1, {'unit variance' if scaling else 'raw'}",
            friedman1,
            {
                "weald": Side(lambda s=scaling: ours(m, standardize=s), warm_up=False),
                "NumPy": Side(lambda s=scaling: Twin(m, s), warm_up=False),
            },
            {"seconds": 50},
            score=lambda model, _: model.n_test_nodes_,
            notes=f"{m} trees; score: test nodes",
        )


class LassoPath(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's path on the sparse indicators of the same forest, with penalties by the same rule."""

    def __init__(self, n_estimators: int = 100, eps: float = 1e-3) -> None:
        self.n_estimators, self.eps = n_estimators, eps

    def fit(self, X: Any, y: Any) -> LassoPath:
        path, offsets = extra_trees(self.n_estimators).fit(X, y).decision_path(X)
        keep = np.setdiff1d(np.arange(path.shape[1]), offsets[:-1])
        Z = sp.csc_matrix(path.tocsc()[:, keep], dtype=np.float64)
        largest = np.abs(Z.T @ (y - y.mean())).max() / len(y)
        alphas = np.geomspace(largest, self.eps * largest, 100)
        _, coefs, _ = lasso_path(Z, y - y.mean(), alphas=alphas, max_iter=100_000)
        self.n_nonzero_ = int((coefs[:, -1] != 0).sum())
        return self


def lasso_times(args: argparse.Namespace) -> Iterator[Case]:
    """The growth of the forest is part of both sides."""
    m = n_trees(args, usual=100, quick=10)
    yield Case(
        "exact path on Friedman1",
        friedman1,
        {
            "weald": Side(lambda: ours(m, solver="lasso", l1_norm=None), warm_up=False),
            "scikit-learn": Side(lambda: LassoPath(m), warm_up=False),
        },
        {"seconds": 5},
        score=lambda model, _: model.path_["n_nonzero"][-1] if hasattr(model, "path_") else model.n_nonzero_,
        notes=f"{m} trees, 100 penalties, the last a thousandth of the first; score: nodes with a weight at the end",
    )


class Grown(BaseEstimator):  # type: ignore[misc]
    """A forest on delicious; its second fit compresses it, so that its growth is not part of the measurement."""

    forest: Any = None

    def __init__(self, n_estimators: int = 100, step_size: float = 0.1) -> None:
        self.n_estimators, self.step_size = n_estimators, step_size

    def fit(self, X: Any, y: Any) -> Any:
        if Grown.forest is None:
            Grown.forest = weald.ExtraTreesClassifier(self.n_estimators, random_state=0, n_jobs=1).fit(X, y)
        small = weald.CompressedForestClassifier(
            FrozenEstimator(Grown.forest), l1_norm=None, step_size=self.step_size, n_jobs=1
        )
        return small.fit(X, y)


def memory(args: argparse.Namespace) -> Iterator[Case]:
    m = n_trees(args, usual=100, quick=5)

    def limit(data: Data) -> float:
        stored = sum(a.data.nbytes + a.indices.nbytes for a in (data.X, data.y))
        return 3 * (len(pickle.dumps(Grown.forest, protocol=5)) + stored)

    def grown() -> Any:
        """Grows the forest before the clock starts."""
        if Grown.forest is None:
            data = by_column(delicious())
            Grown.forest = weald.ExtraTreesClassifier(m, random_state=0, n_jobs=1).fit(data.X, data.y)
        return Grown(m)

    yield Case(
        "delicious",
        delicious,
        {"weald": Side(grown, by_column, warm_up=False)},
        {},
        score=lambda model, data: ranking_precision(model.predict_proba(data.X_test), data.y_test),
        peak_limit=limit,
        notes=f"{m} trees, steps of 0.1 to the end of the path",
    )


def cases(args: argparse.Namespace) -> Iterator[Case]:
    for part in (stagewise_times, lasso_times, memory):
        yield from part(args)


if __name__ == "__main__":
    main(__doc__ or "", cases)
