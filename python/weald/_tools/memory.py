"""An estimate of the memory of a fit."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from weald._fit import memory
from weald._fit.base import BaseModel
from weald._parameters.types import MatrixLike
from weald._rounds import eval_sets as _eval_sets


def estimate_fit_memory(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    *,
    eval_sets: list[Any] | dict[str, Any] | None = None,
    y_mask: MatrixLike | None = None,
) -> int:
    """Estimate the peak memory of `estimator.fit(X, y)`, in addition to X and y.

    Nothing is fitted. The estimate uses shapes, types, the number of stored entries, the parameters, the number of
    classes and of unknown values of y, and the number of categories of X. It counts copies of X and y, the tables of
    the trees that grow at the same time, and trees of the maximum size that the number of samples, `max_depth` and
    `max_leaf_nodes` allow. If trees stop growing earlier, the fit uses less. The estimate is meant to be within a
    factor of three if trees grow to this size, from a few megabytes on.

    Parameters
    ----------
    estimator : tree, forest, centroid forest, linear model, boosting or compressed forest of weald
        It need not be fitted, and does not change.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The training samples, as in `fit`.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        The target values, as in `fit`.
    eval_sets : list or dict of (X, y) or (X, y, sample_weight), or None, default=None
        As in `fit` of boosting.
    y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
        As in `fit`. NaN in y counts without it.

    Returns
    -------
    int
        The estimate in bytes.

    Raises
    ------
    TypeError
        If `estimator` is not an estimator of weald, or if `eval_sets` or `y_mask` is given and its `fit` does not
        have this parameter.
    ValueError
        If `y_mask` or `categorical_features` is not valid for y and X.

    Notes
    -----
    The engine makes the same estimate in each fit. If not even the parts that it needs for certain are available, it raises a
    `MemoryError` before it grows anything; of compression, before the path of a forest that is grown.

    The estimate takes O(1) time, in addition to a search for NaN in y, sorting y to find its classes, and a pass over
    the categorical columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> forest = weald.RandomForestRegressor()
    >>> X, y = np.zeros((10_000, 50)), np.zeros(10_000)
    >>> 10_000_000 < weald.estimate_fit_memory(forest, X, y) < 1_000_000_000
    True
    """
    if not isinstance(estimator, BaseModel):
        raise TypeError(f"estimator must be an estimator of weald, got a {type(estimator).__name__}")
    estimator._validate_params()
    estimator._check_parameters()
    if eval_sets is not None and "eval_sets" not in signature(estimator.fit).parameters:
        raise TypeError(f"{type(estimator).__name__} does not support eval_sets: it must be None")
    if y_mask is not None and not estimator._masks_y:
        raise TypeError(f"{type(estimator).__name__} does not support y_mask: it must be None")
    conversions, shapes = memory.of_raw(estimator, X, y, y_mask)
    of_fit: int = estimator._memory_of_fit(estimator, shapes)
    return conversions + of_fit + memory.watched(estimator, _eval_sets.named(eval_sets))
