"""What a fitted model says: about its features, and in rules."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from spinney import _spinney
from spinney._base import BaseModel
from spinney._path_display import CompressionPathDisplay
from spinney._validation import Float
from spinney.boosting import BaseBoosting

__all__ = ["CompressionPathDisplay", "export_rules", "feature_importances"]


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


def export_rules(
    model: Any,
    *,
    tree: int = 0,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = 3,
    max_depth: int | None = None,
    top_k: int = 5,
) -> str:
    """The leaves of a tree as text, one rule a line, from left to right.

    A rule has one condition for each feature that is tested on the way to the leaf, in order of first appearance: the
    thresholds of a feature are merged into one interval. Then come what the leaf predicts and its number of training
    rows.

    Parameters
    ----------
    model : a fitted tree or forest of spinney
    tree : int, default=0
        Which tree of a forest; counted from its end when negative.
    feature_names : sequence of str, default=None
        One for each feature. By default `model.feature_names_in_` where there is one, or "feature_0" and so on.
    class_names : sequence of str, default=None
        Names of what is predicted: of the classes, in the order of `classes_` (a sequence for each output, where there
        are several); of the labels; of the numbers. By default `classes_`, or "y0" and so on for labels and several
        numbers.
    decimals : int, default=3
        Digits after the point, of thresholds and of values; None for as many as tell numbers apart.
    max_depth : int, default=None
        Write the splits at this depth as if they were leaves.
    top_k : int, default=5
        Most classes, labels or numbers of a leaf: those of largest frequency first, numbers in their order; of several
        outputs of classes the most frequent class of each.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For a number of names that does not fit, a parameter or a tree out of range.
    TypeError
        For another model. The trees of boosting, `estimators_`, can be read one by one.

    Notes
    -----
    O(node_count) and the text. On data with many features a rule may have as many conditions as the leaf is deep.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> iris = load_iris(as_frame=True)
    >>> model = spinney.DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> model = model.fit(iris.data[["petal width (cm)"]], iris.target)
    >>> print(spinney.inspection.export_rules(model, class_names=iris.target_names))
    if petal width (cm) <= 0.800: setosa 1.000 (50 samples)
    if 0.800 < petal width (cm) <= 1.350: versicolor 1.000 (28 samples)
    if 1.350 < petal width (cm) <= 1.750: versicolor 0.808, virginica 0.192 (26 samples)
    if petal width (cm) > 1.750: virginica 0.978, versicolor 0.022 (46 samples)
    <BLANKLINE>
    """
    check_is_fitted(model)
    if isinstance(model, BaseBoosting) or not isinstance(model, BaseModel):
        raise TypeError(f"model is a {type(model).__name__}, accepted: a tree or forest of spinney")
    forest = model._forest
    trees = range(forest.n_trees)
    if not isinstance(tree, Integral) or not -len(trees) <= tree < len(trees):
        raise ValueError(f"tree is {tree!r}, accepted: an integer from {-len(trees)} to {len(trees) - 1}")
    sizes = {"decimals": (decimals, 0, 30), "max_depth": (max_depth, 0, 2**31), "top_k": (top_k, 1, 2**31)}
    for name, (size, least, most) in sizes.items():
        if size is None and name != "top_k":
            continue
        if not isinstance(size, Integral) or not least <= size <= most:
            raise ValueError(f"{name} is {size!r}, accepted: an integer from {least} to {most}")
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    features = _names("feature_names", feature_names, forest.n_features, "one for each feature")
    columns = _column_names(model, forest, class_names)
    rules: str = forest.tree(trees[tree]).rules(features, columns, decimals, max_depth, int(top_k))
    return rules


def _names(what: str, names: Sequence[Any] | None, expected: int, meaning: str) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != expected:
        got = repr(names) if isinstance(names, str) else f"{len(names)} names"
        raise ValueError(f"{what} is {got}, expected {expected}: {meaning}")
    return [str(name) for name in names]


def _column_names(model: Any, forest: _spinney.Forest, names: Sequence[Any] | None) -> list[str] | None:
    """A name for each column of predictions."""
    has_classes = hasattr(model, "classes_") and model._label_format is None
    if not has_classes:
        return _names("class_names", names, forest.width, "one for each column of y")
    if forest.n_outputs == 1:
        return _names("class_names", model.classes_ if names is None else names, forest.width, "one for each class")
    if names is None:
        names = model.classes_
    if len(names) != forest.n_outputs:
        raise ValueError(f"class_names has {len(names)} parts, expected {forest.n_outputs}: one for each column of y")
    columns: list[str] = []
    for j, (part, classes) in enumerate(zip(names, model.classes_, strict=True)):
        found = _names(f"class_names[{j}]", part, len(classes), "one for each class")
        columns += [f"y{j}={name}" for name in found or []]
    return columns
