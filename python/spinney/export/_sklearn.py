"""Models as scikit-learn's own estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as sklearn_ensemble
from sklearn import tree as sklearn_tree
from sklearn.base import clone
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as SklearnTree
from sklearn.utils import get_tags

from spinney._arrays import Tree
from spinney.export._ensemble import Ensemble, EnsembleTree, ensemble_of

_TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
_MEMBERS = {"RandomForest": "DecisionTree", "ExtraTrees": "ExtraTree"}


def to_sklearn(model: Any) -> Any:
    """Make the estimator of scikit-learn that predicts the same.

    Parameters
    ----------
    model : fitted tree or forest of spinney, or a CompressedForestRegressor
        Whose splits test no categories.

    Returns
    -------
    fitted estimator of scikit-learn
        Of the same name, a RandomForestRegressor for a CompressedForestRegressor, with those parameters that both have
        and that scikit-learn accepts. It needs scikit-learn alone. Its arrays are copies.

        Labels are several outputs of two classes there: `predict_proba` is a list with the probabilities of 0 and 1 of
        each label, and `predict` a dense array, which for one label has one dimension. Of y that was sparse too.

    Raises
    ------
    TypeError
        For anything but a model of spinney.
    ValueError
        For models that scikit-learn has no form for: splits on categories, boosting, CompressedForestClassifier,
        centroid forests. The message says what to do instead.
    sklearn.exceptions.NotFittedError

    Notes
    -----
    Parity: thresholds are float32 in both, and `predict` of numbers and `predict_proba` have the same bits where
    scikit-learn adds the trees in their order, which it does with `n_jobs=None`; else sums of n trees differ by
    n * 2**-53 of their size. A label whose probability is one half to within such a difference may be predicted
    otherwise. scikit-learn refuses NaN in sparse X.

    scikit-learn's trees have a value for each node, output and class: O(nodes * n_outputs * max(`n_classes_`)) memory,
    however few are stored here.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> theirs = spinney.export.to_sklearn(forest)
    >>> type(theirs).__module__
    'sklearn.ensemble._forest'
    >>> bool((theirs.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    ensemble = ensemble_of(model, "to_sklearn")
    name = ensemble.estimator
    if name.startswith("GradientBoosting") or name == "CompressedForestClassifier":
        raise ValueError(
            f"to_sklearn does not support {name}: scikit-learn has no estimator with its scores; use to_onnx, "
            "to_treelite, to_json or to_c"
        )
    name = {"CompressedForestRegressor": "RandomForestRegressor"}.get(name, name)
    if any(tree.categories for tree in ensemble.trees()):
        raise ValueError(
            f"to_sklearn does not support {ensemble.estimator} with splits on categories: scikit-learn's trees and "
            "forests test thresholds alone; use to_onnx, to_treelite, to_json or to_c, or fit on one-hot columns"
        )
    if name in _TREES:
        return _member(ensemble, name, model, 0, _with_params(getattr(sklearn_tree, name), model))
    member = getattr(sklearn_tree, next(m + name.removeprefix(f) for f, m in _MEMBERS.items() if name.startswith(f)))
    forest = _with_params(getattr(sklearn_ensemble, name), model)
    forest.n_estimators = ensemble.n_trees
    forest.estimator_ = member()
    alike = _with_params(member, model)
    forest.estimators_ = [_member(ensemble, member.__name__, model, t, clone(alike)) for t in range(ensemble.n_trees)]
    _set_shape(forest, ensemble, model, is_member=False)
    return forest


def _with_params(kind: Any, model: Any) -> Any:
    """An estimator with the parameters of `model` that it has and accepts."""
    params = model.get_params(deep=False)
    estimator = kind()
    for name in sorted(params.keys() & estimator.get_params(deep=False).keys()):
        if name in ("monotonic_cst", "class_weight", "oob_score", "estimator"):
            continue  # of fits alone, and of other forms
        try:
            kind(**{name: params[name]})._validate_params()
        except ValueError:
            continue
        setattr(estimator, name, params[name])
    if not get_tags(estimator).input_tags.allow_nan:
        # NaN is a missing value here whatever the criterion, which is of fits alone.
        estimator.criterion = kind().criterion
    return estimator


def _set_shape(estimator: Any, ensemble: Ensemble, model: Any, *, is_member: bool) -> None:
    estimator.n_features_in_ = ensemble.n_features
    estimator.n_outputs_ = ensemble.n_outputs
    if ensemble.feature_names is not None and not is_member:
        estimator.feature_names_in_ = np.array(ensemble.feature_names, dtype=object)
    if ensemble.kind == "numbers":
        return
    labels = model._label_format
    classes = ensemble.classes if labels is None else [np.array([0, 1], dtype=labels.dtype)] * ensemble.n_outputs
    # The members of a forest there are fitted to codes.
    classes = [np.arange(len(found), dtype=float) for found in classes] if is_member else classes
    sizes = [len(found) for found in classes]
    single = ensemble.n_outputs == 1
    estimator.classes_ = classes[0] if single else classes
    estimator.n_classes_ = sizes[0] if single else sizes


def _member(ensemble: Ensemble, name: str, model: Any, index: int, estimator: Any) -> Any:
    engine = model._forest
    tree = ensemble.tree(index)
    estimator.tree_ = _tree(ensemble, tree, Tree(engine.only(index)))
    estimator.max_features_ = int(getattr(model, "max_features_", ensemble.n_features))
    _set_shape(estimator, ensemble, model, is_member=name != ensemble.estimator)
    return estimator


def _tree(ensemble: Ensemble, tree: EnsembleTree, arrays: Tree) -> Any:
    nodes = np.zeros(arrays.node_count, dtype=NODE_DTYPE)
    is_leaf = tree.feature < 0
    nodes["left_child"], nodes["right_child"] = arrays.children_left, arrays.children_right
    nodes["feature"], nodes["threshold"] = arrays.feature, arrays.threshold
    nodes["impurity"], nodes["n_node_samples"] = arrays.impurity, arrays.n_node_samples
    nodes["weighted_n_node_samples"] = arrays.weighted_n_node_samples
    nodes["missing_go_to_left"] = arrays.missing_go_to_left
    made = SklearnTree(ensemble.n_features, arrays.n_classes.astype(np.intp), ensemble.n_outputs)
    values = _values(ensemble, tree, arrays)
    values[~is_leaf] = arrays.value[~is_leaf]
    made.__setstate__({"max_depth": arrays.max_depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return made


def _values(ensemble: Ensemble, tree: EnsembleTree, arrays: Tree) -> NDArray[np.float64]:
    """Values of leaves, zeros elsewhere: `value` of means is rounded once more than what prediction adds."""
    sizes = arrays.n_classes
    values = np.zeros((arrays.node_count, ensemble.n_outputs, arrays.max_n_classes))
    rows = np.repeat(np.arange(arrays.node_count), np.diff(tree.ptr))
    if ensemble.kind == "labels":
        values[rows, tree.columns, 1] = tree.values
        values[:, :, 0] = 1.0 - values[:, :, 1]
        return values
    outputs = np.repeat(np.arange(ensemble.n_outputs), sizes)
    first = np.cumsum(sizes) - sizes
    values[rows, outputs[tree.columns], tree.columns - first[outputs[tree.columns]]] = tree.values
    return values
