"""The spread of the trees of a forest: the standard deviation of their predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._fit.forest import BaseForestRegressor
from weald._fit.samples import Samples
from weald._input.checks import Float
from weald._input.described import kind_of
from weald._parameters import output_strategy
from weald._parameters.types import MatrixLike
from weald.tree import DecisionTreeRegressor


def check_has_spread(final: BaseEstimator) -> None:
    """Raise for estimators whose trees have no spread."""
    if not isinstance(final, BaseForestRegressor):
        raise TypeError(
            "conformity_score='normalized' requires a random forest or an extra-trees forest of weald, got "
            f"{kind_of(final)}; 'absolute' takes any regressor"
        )
    if output_strategy.is_asked(final):
        raise ValueError(
            f"conformity_score='normalized' does not support a forest with {output_strategy.ASKED}, whose trees have one "
            "output each; 'absolute' does"
        )


def spread(forest: Any, X: MatrixLike, center: Float) -> Float:
    """The standard deviation over the trees, of shape (n_samples, n_outputs), around the mean of the trees."""
    checked = forest._check_predict(X)
    model, total = forest._forest, np.zeros(center.shape)
    n_threads = forest._n_threads(checked)
    for index in range(model.n_trees):
        total += (model.only(index).predict(checked, n_threads) - center) ** 2
    found: Float = np.sqrt(total / max(1, model.n_trees - 1))
    return found


def out_of_bag(forest: Any, samples: Samples, config: Any) -> tuple[Float, NDArray[np.uint32], Float]:
    """Out-of-bag predictions, the number of trees that each is the mean of, and their spread over these trees."""
    center, n_trees = forest._oob_predict(config, samples)
    unseen = unseen_by_trees(forest, samples, config)
    model, total = forest._forest, np.zeros(center.shape)
    n_threads = forest._n_threads()
    for index in range(model.n_trees):
        rows = unseen[:, index]
        total[rows] += ((model.only(index).predict(samples.X, n_threads) - center) ** 2)[rows]
    found: Float = np.sqrt(total / np.maximum(1, n_trees.astype(np.int64) - 1)[:, None])
    return center, n_trees, found


def unseen_by_trees(forest: Any, samples: Samples, config: Any) -> NDArray[np.bool_]:
    """Whether each tree has not drawn each sample, of shape (n_samples, n_trees).

    The engine repeats the draws and adds up the predictions of these trees. Here each tree is replaced by one leaf that
    predicts its own number, as a row of the unit matrix.
    """
    n_trees = forest._forest.n_trees
    row, marks = np.zeros((1, forest.n_features_in_), dtype=np.float32), np.eye(n_trees)
    trees = [DecisionTreeRegressor().fit(row, marks[[index]])._forest for index in range(n_trees)]
    args = samples.X, samples.target.engine, samples.row_weights[0], forest._n_threads(), samples.mask
    found, _ = type(forest._forest).merge(trees).oob_predict(config, *args)
    unseen: NDArray[np.bool_] = np.nan_to_num(found) > 0
    return unseen
