"""What a fitted model says about its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from spinney import _spinney
from spinney._validation import Float

__all__ = ["feature_importances"]


def feature_importances(model: Any, outputs: Sequence[int] | Literal["all"] | None = None) -> Float:
    """Mean decrease of impurity, for all outputs or for some.

    Parameters
    ----------
    model : a fitted tree or forest of spinney
    outputs : sequence of int or "all", default=None
        Columns of y whose impurity is measured at the splits that the model has. By default the impurities are those
        that chose the splits, and the result is `model.feature_importances_`: with `output_projection`, impurities of
        the projected outputs. "all" measures every column of y itself.

    Returns
    -------
    ndarray of shape (n_features,)
        The mean over trees, sums to 1 unless all zero.

    Raises
    ------
    ValueError
        When an output is not a column of y.

    Notes
    -----
    O(nodes · outputs) for some outputs or "all", O(nodes) by default.

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
    if isinstance(outputs, str):
        if outputs != "all":
            raise ValueError(f'outputs is {outputs!r}, accepted: columns of y, "all" or None')
        outputs = range(forest.n_outputs)
    return forest.feature_importances(None if outputs is None else [int(j) for j in outputs])
