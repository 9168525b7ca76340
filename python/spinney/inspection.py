"""What a fitted model says: about its features, and in rules."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, overload

import numpy as np
import sklearn.inspection
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from spinney import _categories, _frames, _kept_rows, _spinney
from spinney._bagging import BaseBagging
from spinney._base import BaseModel
from spinney._boosting_fit import BaseBoosting
from spinney._curve_display import BoostingCurveDisplay
from spinney._path_display import CompressionPathDisplay
from spinney._permutation import permutation_importance
from spinney._readable import check_tests_features, check_trees, fitted
from spinney._shap import Explanation, shap_interaction_values, shap_values
from spinney._sparse import is_sparse
from spinney._validation import Float
from spinney.centroid import BaseCentroidForest
from spinney.tree import DecisionTreeRegressor

__all__ = [
    "BoostingCurveDisplay",
    "CompressionPathDisplay",
    "Explanation",
    "export_centroids",
    "export_rules",
    "feature_importances",
    "partial_dependence",
    "permutation_importance",
    "shap_interaction_values",
    "shap_values",
    "similar_rows",
]


@overload
def feature_importances(
    model: Any, outputs: Sequence[int | str] | Literal["all"] | None = None, *, kind: Literal["gain"] = "gain"
) -> Float: ...


@overload
def feature_importances(model: Any, outputs: None = None, *, kind: Literal["count"]) -> NDArray[np.int64]: ...


def feature_importances(
    model: Any,
    outputs: Sequence[int | str] | Literal["all"] | None = None,
    *,
    kind: Literal["gain", "count"] = "gain",
) -> Float | NDArray[np.int64]:
    """Mean decrease of impurity, for all outputs or for some; or the number of splits on each feature.

    Parameters
    ----------
    model : a fitted estimator of spinney
    outputs : sequence of int or str, or "all", default=None
        Columns of y, by number or by their names in `target_names_in_`, whose impurity is measured at the splits that
        a tree or forest has. By default the impurities are
        those that chose the splits, and the result is `model.feature_importances_`: with `output_projection`,
        impurities of the projected outputs. "all" measures every column of y itself. The trees of boosting are grown on
        gradients, and those of compressed forests hold scores: of these models there is the default alone.
    kind : {"gain", "count"}, default="gain"
        "gain" is the decrease of impurity. "count" is how many splits of all trees are on each feature, whatever they
        gain, XGBoost's "weight": of features that are equally useful those with many distinct values have more.

    Returns
    -------
    float64 ndarray of shape (n_features,)
        "gain": the mean over trees (of boosting the sum of what all trees decrease), sums to 1 unless all zero.
    int64 ndarray of shape (n_features,)
        "count": sums to the number of splits of all trees.

    A new array either way.

    Raises
    ------
    ValueError
        When an output is not a column of y, or `outputs` is given for boosting or a compressed forest, or with "count",
        which does not depend on it; for some of several outputs of trees grown with `criterion="absolute_error"`, whose
        medians do not tell the impurity of one; for another `kind`; for boosting with `estimator`, whose weak models
        are no trees.
    TypeError
        For any other model.

    Notes
    -----
    O(nodes · outputs) for some outputs or "all", O(nodes) by default and with "count", which also takes memory of 8
    bytes for each split.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = spinney.DecisionTreeRegressor(random_state=0).fit(X, X.astype(float))  # output j is feature j
    >>> spinney.inspection.feature_importances(tree, outputs=[1]).round(2)
    array([0., 1.])
    >>> spinney.inspection.feature_importances(tree, kind="count")
    array([2, 1])
    """
    model = fitted(model)
    check_trees(model)
    if not isinstance(kind, str) or kind not in ("gain", "count"):
        raise ValueError(f"kind is {kind!r}, accepted: 'gain' and 'count'")
    if kind == "count":
        if outputs is not None:
            raise ValueError(
                f"outputs is {outputs!r}, but kind='count' counts splits whatever the output; accepted: None"
            )
        return _n_splits(model._forest)
    if outputs is None:
        importances: Float = model.feature_importances_
        return importances
    if model._kind not in ("tree", "forest"):
        raise ValueError(
            f"outputs is {outputs!r}, but {type(model).__name__} has trees of other outputs than y; accepted: None"
        )
    forest: _spinney.Forest = model._forest
    if isinstance(outputs, str):
        if outputs != "all":
            raise ValueError(f'outputs is {outputs!r}, accepted: columns of y, "all" or None')
        return forest.feature_importances(range(forest.n_outputs))
    return forest.feature_importances(_columns_of_y(outputs, model))


def _n_splits(forest: _spinney.Forest) -> NDArray[np.int64]:
    """How many splits of all trees are on each feature."""
    features = [forest.tree(i).feature() for i in range(forest.n_trees)]
    splits = np.concatenate([of_tree[of_tree >= 0] for of_tree in features])
    return np.bincount(splits, minlength=forest.n_features).astype(np.int64)


def _columns_of_y(outputs: Any, model: Any) -> list[int]:
    n_outputs = model.n_outputs_
    names = {name: j for j, name in enumerate(getattr(model, "target_names_in_", ()))}
    by_name = " or a name in target_names_in_" if names else ""
    accepted = f'columns of y, each an integer from 0 to {n_outputs - 1}{by_name}, "all" or None'
    try:
        columns = list(outputs)
    except TypeError as error:
        raise TypeError(f"outputs is {outputs!r}, accepted: {accepted}") from error
    found = []
    for j in columns:
        if isinstance(j, str):
            if j not in names:
                why = "" if names else "; y had no names"
                raise ValueError(f"outputs has {str(j)!r}, accepted: {accepted}{why}")
            found.append(names[j])
            continue
        if isinstance(j, bool) or not isinstance(j, Integral) or not 0 <= int(j) < n_outputs:
            raise ValueError(f"outputs has {j!r}, accepted: {accepted}")
        found.append(int(j))
    return found


def partial_dependence(model: Any, X: Any, features: Any, **options: Any) -> Bunch:
    """Mean prediction when some features have given values, by one walk over the trees.

    The recursion of `sklearn.inspection.partial_dependence`, for every model of trees and any number of outputs: a
    split on a feature of `features` sends a point to one side, any other split to both sides, in the proportion of
    their training weight. No prediction is made for the rows of X, which only give the range of values.

    Parameters
    ----------
    model : a fitted estimator of spinney
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows between whose percentiles the values lie; missing ones (NaN) are passed over.
    features : int, str, or list of them
        The features whose values are given, one or several at once.
    **options
        `grid_resolution`, `percentiles`, `custom_values` and `feature_names` of
        `sklearn.inspection.partial_dependence`, with the same meaning and defaults.

    Returns
    -------
    Bunch
        grid_values : list of ndarray
            The values of each feature.
        average : ndarray of shape (n_columns, len(grid_values[0]), len(grid_values[1]), ...)
            A row for each number; of classifiers that are trees or forests for each column of probabilities, of labels
            those of 1; of classifiers that are boosted or compressed for each column of scores, of two classes one. Of
            boosting with the losses "poisson", "gamma" and "tweedie" means of scores, which are logarithms.

    Raises
    ------
    ValueError
        For features that X has not or of which it has no value, another number of features than the model's, an option
        that the recursion has not, and boosting with `estimator`, whose weak models are no trees.
    TypeError
        For any other model.

    Notes
    -----
    O(nodes + stored leaf values) for each tree, and n_columns numbers for each value and each part of the tree between
    two splits on `features`. With features that depend on each other the result differs from that of brute force, which
    asks what the model predicts for the rows of X with the values in place of theirs; scikit-learn's user guide says
    more.

    `sklearn.inspection.partial_dependence` itself takes the same recursion for trees and forests for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> Y = np.column_stack([X[:, 0], -X[:, 0]])
    >>> boosting = spinney.GradientBoostingRegressor(random_state=0).fit(X, Y)
    >>> found = spinney.inspection.partial_dependence(boosting, X, [0], grid_resolution=3, percentiles=(0, 1))
    >>> found["average"].round(1) + 0.0
    array([[ 0. ,  0.5,  1. ],
           [ 0. , -0.5, -1. ]])
    """
    model = fitted(model)
    check_trees(model)
    if unknown := sorted(options.keys() - {"grid_resolution", "percentiles", "custom_values", "feature_names"}):
        raise ValueError(
            f"{unknown[0]} is given, accepted: grid_resolution, percentiles, custom_values and feature_names"
        )
    if isinstance(features, str | Integral):
        features = [features]
    n_features = X.shape[1] if hasattr(X, "shape") else np.shape(X)[-1]
    if n_features != model.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(model).__name__} is expecting {model.n_features_in_} features as "
            "input"
        )
    columns = None
    if is_sparse(X):
        # Its columns alone become dense, which are then the only ones.
        columns = np.asarray(features)
        if columns.dtype.kind not in "iu" or (columns < 0).any() or (columns >= n_features).any():
            raise ValueError(f"features is {features!r}, accepted with sparse X: integers from 0 to {n_features - 1}")
        if custom := options.get("custom_values"):
            options["custom_values"] = {i: custom[j] for i, j in enumerate(columns.tolist()) if j in custom}
        X, features = X.tocsc()[:, columns].toarray(), list(range(len(columns)))
    X = _without_gaps(X)
    return sklearn.inspection.partial_dependence(_Recursion(model, columns), X, features, method="recursion", **options)


def _without_gaps(X: Any) -> Any:
    """X with columns that have no missing values, and the percentiles of the values that they have.

    Columns of nothing but missing values stay as they are.
    """
    is_frame = hasattr(X, "iloc")
    if not is_frame and (not isinstance(X, np.ndarray) or X.dtype.kind != "f"):
        return X
    gaps = np.asarray(X.isna()) if is_frame else np.isnan(X)
    partly = np.flatnonzero(gaps.any(axis=0) & ~gaps.all(axis=0))
    if not len(partly):
        return X
    X = X.copy()
    for j in partly.tolist():
        column = X[X.columns[j]].to_numpy() if is_frame else X[:, j]
        present = np.sort(column[~gaps[:, j]])
        # Each value as often as there are rows for it.
        filled = present[((np.arange(len(X)) + 0.5) * (len(present) / len(X))).astype(np.intp)]
        if is_frame:
            X[X.columns[j]] = filled
        else:
            X[:, j] = filled
    return X


class _Recursion(DecisionTreeRegressor):
    """A model in the form for which scikit-learn's function has the recursion: as if it were a tree for numbers."""

    def __init__(self, model: Any, columns: NDArray[np.intp] | None) -> None:
        self.model = model
        # Features of the model that the features asked for are.
        self.columns = columns

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Float:
        features = target_features if self.columns is None else self.columns[target_features]
        means: Float = self.model._compute_partial_dependence_recursion(grid, features)
        return means


def similar_rows(model: Any, X: Any, k: int | None = 10) -> sparse.csr_array:
    """Training rows behind the predictions of a forest, with their weights.

    Parameters
    ----------
    model : fitted forest
        A random forest, extra-trees or a centroid forest of spinney that was fitted with `keep_rows=True`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain.
    k : int, default=10
        The training rows of largest weight are returned, the first ones of equals; None returns all.

    Returns
    -------
    weights : CSR array of shape (n_samples, n_training_rows), float64
        The weight of each training row in the prediction: the mean over the trees of its share of the weight of the
        leaf, if it is in the leaf that the row reaches. All weights of a row sum to 1. Indices rise in each row.

    Raises
    ------
    TypeError
        When `model` is no forest of spinney.
    ValueError
        When it keeps no rows, and for other values of `k`.

    Notes
    -----
    These are the weights of quantile regression forests (Meinshausen 2006), of all training rows, also those that a
    tree has not drawn. Cost: the training rows of the leaves reached, and a pass over the leaves of all training rows.
    Of centroid forests the leaf is the one that `apply` tells; predictions also weigh a second path, and nodes above.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(min_samples_leaf=5, keep_rows=True, random_state=0).fit(X, y)
    >>> weights = spinney.inspection.similar_rows(forest, X[100:101], k=5)
    >>> y[weights.indices]
    array([2, 2, 2, 2, 2])
    """
    if not isinstance(model, BaseBagging):
        accepted = "a random forest, extra-trees or a centroid forest of spinney"
        raise TypeError(f"model is a {type(model).__name__}, accepted: {accepted}")
    check_is_fitted(model)
    most = _kept_rows.check_k(k)
    model = model._twin()
    _kept_rows.check_kept(model)
    parts = list(_kept_rows.weights_of(model, model.apply(X)))
    if most is not None:
        parts = [_kept_rows.largest(part, most) for part in parts]
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


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
        are several); of the labels; of the numbers. By default `classes_`; for labels and numbers
        `model.target_names_in_` where there is one, or "y0" and so on if there are several.
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
        For a number of names that does not fit, a parameter or a tree out of range, and for `max_depth` of trees grown
        with `criterion="absolute_error"`, whose nodes above the leaves have no values.
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
    check_tests_features(model)
    model = model._twin()
    forest = model._forest
    number = _checked_tree(tree, forest.n_trees)
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
    categories = _categories.names_of(model)
    rules: str = forest.tree(number).rules(features, columns, decimals, max_depth, int(top_k), categories)
    return rules


def _checked_tree(tree: Any, n_trees: int) -> int:
    """The number of a tree that may be counted from the end."""
    if not isinstance(tree, Integral) or not -n_trees <= int(tree) < n_trees:
        raise ValueError(f"tree is {tree!r}, accepted: an integer from {-n_trees} to {n_trees - 1}")
    return range(n_trees)[int(tree)]


def export_centroids(
    model: Any,
    *,
    tree: int = 0,
    node: int = 0,
    feature_names: Sequence[str] | None = None,
    n_features: int = 10,
    decimals: int = 2,
) -> str:
    """The children of a node of a centroid forest as text: the heaviest features of each, one child a line.

    A row goes to the child of the largest sum of its values times these weights. The first line is the node, the others
    are its children in order, the one of most weight first, with their numbers as `node` takes them.

    Parameters
    ----------
    model : a fitted centroid forest of spinney
    tree : int, default=0
        Which tree; counted from the end when negative.
    node : int, default=0
        Which node of the tree; 0 is the root.
    feature_names : sequence of str, default=None
        One for each feature. By default `model.feature_names_in_` where there is one, or "feature_0" and so on; those
        of a vectorizer are its `get_feature_names_out()`.
    n_features : int, default=10
        Most features of a child, those of largest weight.
    decimals : int, default=2
        Digits after the point of weights.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        For another model.
    ValueError
        For a number of names that does not fit, and a parameter, a tree or a node out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.repeat(np.eye(3)[[0, 0, 1]], 10, axis=0)
    >>> model = spinney.CentroidForestClassifier(random_state=0).fit(X, X[:, 0])
    >>> print(spinney.inspection.export_centroids(model, feature_names=["cat", "dog", "snow"]))
    node 0: 30 samples, 2 children
    node 1 (20 samples): cat 5.30
    node 2 (10 samples): dog 5.17
    <BLANKLINE>
    """
    check_is_fitted(model)
    if not isinstance(model, BaseCentroidForest):
        raise TypeError(f"model is a {type(model).__name__}, accepted: a centroid forest of spinney; see export_rules")
    model = model._twin()
    of_tree = model._forest.tree(_checked_tree(tree, model._forest.n_trees))
    sizes = {
        "node": (node, 0, of_tree.node_count - 1),
        "n_features": (n_features, 1, 2**31),
        "decimals": (decimals, 0, 30),
    }
    for name, (size, least, most) in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool) or not least <= size <= most:
            raise ValueError(f"{name} is {size!r}, accepted: an integer from {least} to {most}")
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    names = _names("feature_names", feature_names, model.n_features_in_, "one for each feature")
    start, n_samples = of_tree.children_start(), of_tree.n_node_samples()
    children = range(start[node], start[node + 1])
    what = f"{len(children)} children" if children else "a leaf"
    lines = [f"node {node}: {n_samples[node]} samples, {what}"]
    for child, heaviest in zip(children, of_tree.heaviest_features(int(node), int(n_features)), strict=True):
        words = [f"{names[j] if names else f'feature_{j}'} {weight:.{int(decimals)}f}" for j, weight in heaviest]
        lines.append(f"node {child} ({n_samples[child]} samples): {', '.join(words)}")
    return "\n".join(lines) + "\n"


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
    given = getattr(model, "target_names_in_", None)
    if not has_classes:
        names = given if names is None else names
        return _names("class_names", names, forest.width, "one for each column of y")
    if forest.n_outputs == 1:
        return _names("class_names", model.classes_ if names is None else names, forest.width, "one for each class")
    if names is None:
        names = model.classes_
    if len(names) != forest.n_outputs:
        raise ValueError(f"class_names has {len(names)} parts, expected {forest.n_outputs}: one for each column of y")
    columns: list[str] = []
    outputs = _frames.output_names(model)
    for j, (part, classes) in enumerate(zip(names, model.classes_, strict=True)):
        found = _names(f"class_names[{j}]", part, len(classes), "one for each class")
        columns += [f"{outputs[j]}={name}" for name in found or []]
    return columns
