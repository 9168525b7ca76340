"""What a fitted model says about its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from spinney import _spinney
from spinney._validation import Float

__all__ = ["feature_importances"]


def feature_importances(model: Any, outputs: Sequence[int] | None = None) -> Float:
    """Mean decrease of impurity, for all outputs or for some.

    Parameters
    ----------
    model : a fitted tree or forest of spinney
    outputs : sequence of int, default=None
        Columns of y whose impurity is measured at the splits that the model has; all by default, when the result is
        `model.feature_importances_`.

    Returns
    -------
    ndarray of shape (n_features,)
        The mean over trees, sums to 1 unless all zero.

    Raises
    ------
    ValueError
        When an output is not a column of y.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = spinney.DecisionTreeRegressor(random_state=0).fit(X, X.astype(float))  # output j is feature j
    >>> spinney.inspection.feature_importances(tree, outputs=[1]).round(2)
    array([0., 1.])
    """
    check_is_fitted(model)
    forest: _spinney.Forest = model._forest
    return forest.feature_importances(None if outputs is None else [int(j) for j in outputs])
