"""An estimate of the memory of a fit."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from weald._fit import memory
from weald._fit.base import BaseModel
from weald._parameters.types import MatrixLike
from weald._rounds import held_out as _held_out


def estimate_fit_memory(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    *,
    eval_sets: list[Any] | dict[str, Any] | None = None,
    y_weight: MatrixLike | None = None,
) -> int:
    """Estimate the peak memory of `estimator.fit(X, y)`, in addition to X and y, without a fit.

    It counts copies of X and y, the tables of trees that grow at the same time, and trees of the maximum size that the
    number of samples, `max_depth` and `max_leaf_nodes` allow, and is meant to be within a factor of three if trees grow
    to this size, from a few megabytes on. See `docs/memory.md`.

    >>> import numpy as np
    >>> import weald
    >>> X, y = np.zeros((10_000, 50)), np.zeros(10_000)
    >>> 10_000_000 < weald.estimate_fit_memory(weald.RandomForestRegressor(), X, y) < 1_000_000_000
    True

    Parameters
    ----------
    estimator : tree, forest, centroid forest, linear model, boosting or compressed forest of weald
        It need not be fitted, and does not change.
    X, y, eval_sets, y_weight : as in `fit`
        The training samples.

    Returns
    -------
    int
        The estimate in bytes.
    """
    if not isinstance(estimator, BaseModel):
        raise TypeError(f"estimator must be an estimator of weald, got a {type(estimator).__name__}")
    estimator._validate_params()
    estimator._check_parameters()
    if eval_sets is not None and "eval_sets" not in signature(estimator.fit).parameters:
        raise TypeError(f"{type(estimator).__name__} does not support eval_sets: it must be None")
    if y_weight is not None and not estimator._masks_y:
        raise TypeError(f"{type(estimator).__name__} does not support y_weight: it must be None")
    conversions, shapes = memory.of_raw(estimator, X, y, y_weight)
    of_fit: int = estimator._memory_of_fit(estimator, shapes)
    return conversions + of_fit + memory.watched(estimator, _held_out.named_sets(eval_sets))
