"""Forests on random projections of the outputs: delicious (983 labels), and a generated problem of mediamill's size.

Delicious, random forest, √p features at a node, q = 25 Gaussian projections, one thread. Goals: 100 times as fast as
scikit-learn's regressor on the labels without projections, as a dense array; 8 times as fast as the simplest way to use
projections with scikit-learn today, which is to fit its forest to the projected labels and to compute the means of the
labels in each leaf afterwards. `benches/rust/projection.rs` measures the share of drawing and applying Φ.

The generated problem has the shape of mediamill (30 993 training samples, 120 dense features, 101 labels, 4.4 for each
sample), but none of its data; see `wide_video`. weald is compared with itself, with projections (q = ⌊½ + ln d⌋ = 5)
and without, from dense numerical outputs and from sparse labels. Projections must not be slower on dense outputs; on
sparse labels both times are reported.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_x, dense_y, fortran, wide_video
from _harness import Case, Side, main, n_trees
from forests import lrap
from sklearn.base import BaseEstimator

Q = 25


class RelabelledForest(BaseEstimator):
    """scikit-learn's forest grown on Y @ Φᵀ, whose leaves store the means of Y over the samples of each bootstrap
    sample."""

    def __init__(self, n_estimators: int = 100, n_projections: int = Q, random_state: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_projections = n_projections
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> "RelabelledForest":
        n, d = Y.shape
        rng = np.random.default_rng(self.random_state)
        phi = rng.normal(scale=self.n_projections**-0.5, size=(self.n_projections, d))
        self.forest_ = sklearn.ensemble.RandomForestRegressor(
            self.n_estimators, max_features="sqrt", random_state=self.random_state, n_jobs=1
        ).fit(X, Y @ phi.T)
        Y = sp.csr_matrix(Y)
        leaves = self.forest_.apply(X)
        self.means_ = []
        for tree, bag, leaf in zip(self.forest_.estimators_, self.forest_.estimators_samples_, leaves.T, strict=True):
            times = np.bincount(bag, minlength=n).astype(float)
            size = np.bincount(leaf, times, minlength=tree.tree_.node_count)
            rows = np.flatnonzero(times)
            shares = sp.csr_matrix(
                (times[rows] / size[leaf[rows]], (leaf[rows], rows)), shape=(tree.tree_.node_count, n)
            )
            self.means_.append(shares @ Y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        leaves = self.forest_.apply(X).T
        total = sum(means[leaf] for means, leaf in zip(self.means_, leaves, strict=True))
        return total.toarray() / len(self.means_)


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=10, quick=2)
    forest: dict[str, Any] = {"n_estimators": m, "max_features": "sqrt", "random_state": 0, "n_jobs": 1}
    gaussian: dict[str, Any] = {"output_projection": "gaussian", "n_projections": Q}

    def labels(**parameters: Any) -> Callable[[], Any]:
        return lambda: weald.RandomForestClassifier(**(forest | parameters))

    def numbers(**parameters: Any) -> Callable[[], Any]:
        return lambda: weald.RandomForestRegressor(**(forest | parameters))

    def peer() -> Any:
        return sklearn.ensemble.RandomForestRegressor(**forest)

    def relabelled() -> Any:
        return RelabelledForest(m)

    ours = Side(labels(**gaussian), by_column)
    few = {"output_projection": "gaussian", "n_projections": "log"}
    return [
        Case(
            name="projected forest, delicious, unprojected peer",
            data=delicious,
            sides={
                "weald, q = 25": ours,
                "scikit-learn, CSC": Side(peer, lambda data: dense_y(by_column(data))),
                "scikit-learn, dense X": Side(peer, lambda data: dense_y(dense_x(data))),
            },
            aims={"seconds": 100},
            score=lrap,
            notes=f"{m} trees",
        ),
        Case(
            name="projected forest, delicious, relabelled peer",
            data=delicious,
            sides={
                "weald, q = 25": ours,
                "scikit-learn, CSC": Side(relabelled, by_column),
                "scikit-learn, dense X": Side(relabelled, dense_x),
            },
            aims={"seconds": 8},
            score=lrap,
            notes=f"{m} trees",
        ),
        Case(
            name="projected forest, made 30 993 x 120, dense numbers",
            data=wide_video,
            sides={
                "projected": Side(numbers(**few), lambda data: dense_y(fortran(data))),
                "not projected": Side(numbers(), lambda data: dense_y(fortran(data))),
            },
            aims={"seconds": 1},
            score=lrap,
            notes=f"{m} trees, 101 outputs, q = 5",
        ),
        Case(
            name="projected forest, made 30 993 x 120, sparse labels",
            data=wide_video,
            sides={"projected": Side(labels(**few), fortran), "not projected": Side(labels(), fortran)},
            aims={"seconds": None},
            score=lrap,
            notes=f"{m} trees, 101 labels, q = 5",
        ),
    ]


if __name__ == "__main__":
    main(__doc__ or "", cases)
