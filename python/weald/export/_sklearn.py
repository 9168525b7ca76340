"""Conversion of models to estimators of scikit-learn."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as sklearn_ensemble
from sklearn import tree as sklearn_tree
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from weald import _weald
from weald._fit.arrays import Tree
from weald._fit.base import BaseModel
from weald._input.sklearn_private import NODE_DTYPE
from weald._input.sklearn_private import Tree as SklearnTree
from weald.export._ensemble import Ensemble, EnsembleTree, trees_of


def to_sklearn(estimator: BaseEstimator) -> BaseEstimator:
    """Convert a fitted model to an estimator of scikit-learn with equal predictions.

    Sums of regressors and `predict_proba` are equal to the last bit with `n_jobs=None`, and otherwise up to n * 2**-53
    for n trees. Trees of scikit-learn take O(nodes * n_outputs * max(`n_classes_`)) memory. Other models, and
    categories, raise a ValueError that names an alternative. See `docs/export.md#what-each-format-supports`.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    >>> type(weald.export.to_sklearn(weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y))).__module__
    'sklearn.ensemble._forest'

    Parameters
    ----------
    estimator : estimator
        A fitted tree, random forest, extra-trees, `CompressedForestRegressor` or `InducedForestRegressor` of weald
        without splits on categorical features.

    Returns
    -------
    estimator
        A fitted estimator of scikit-learn of the same class name, or a `RandomForestRegressor` for compressed and
        induced ones, with the parameters that exist there, independent of weald. Labels become several outputs of two
        classes: `predict_proba` returns a list with the probabilities of 0 and 1 for each, and `predict` a dense array.
    """
    ensemble = trees_of(estimator, "to_sklearn")
    task = "Regressor" if ensemble.kind == "numbers" else "Classifier"
    assert isinstance(estimator, BaseModel)
    is_compressed = isinstance(estimator._engine, _weald.Compressed)
    if isinstance(estimator._engine, _weald.Boosted) or (is_compressed and task == "Classifier"):
        raise ValueError(
            f"to_sklearn does not support {ensemble.estimator}: scikit-learn has no estimator with its scores; use "
            "to_onnx, to_treelite, to_json or to_c"
        )
    if getattr(estimator._engine, "by_output", False):
        raise ValueError(
            f"to_sklearn does not support {ensemble.estimator} with output_strategy='single_target': scikit-learn's "
            "forests have trees of all outputs; use to_onnx, to_treelite, to_json or to_c"
        )
    if any(tree.categories for tree in ensemble.trees()):
        raise ValueError(
            f"to_sklearn does not support {ensemble.estimator} with splits on categories: scikit-learn's trees and "
            "forests test thresholds alone; use to_onnx, to_treelite, to_json or to_c, or fit on one-hot columns"
        )
    # A forest that scikit-learn does not have predicts as a random forest does.
    if hasattr(estimator, "tree_"):
        kind = getattr(sklearn_tree, ensemble.estimator, getattr(sklearn_tree, f"DecisionTree{task}"))
        return _member(ensemble, estimator, 0, _with_params(kind, estimator), is_member=False)
    kind = getattr(sklearn_ensemble, ensemble.estimator, getattr(sklearn_ensemble, f"RandomForest{task}"))
    forest = _with_params(kind, estimator)
    forest.n_estimators = ensemble.n_trees
    forest.estimator_ = type(forest.estimator)()
    alike = _with_params(type(forest.estimator), estimator)
    forest.estimators_ = [_member(ensemble, estimator, t, clone(alike)) for t in range(ensemble.n_trees)]
    _set_shape(forest, ensemble, estimator, is_member=False)
    return cast(BaseEstimator, forest)


def _with_params(kind: type[Any], model: BaseModel) -> Any:
    """An estimator of this class with those parameters of `model` that it has and accepts."""
    params = model.get_params(deep=False)
    estimator = kind()
    for name in sorted(params.keys() & estimator.get_params(deep=False).keys()):
        if name in ("monotonic_cst", "class_weight", "oob_score", "estimator"):
            continue  # these only affect fits, and have other forms
        if params[name] == "friedman_mse":
            continue  # a former name of the default, which scikit-learn 1.9 deprecates and replaces when it is cloned
        try:
            kind(**{name: params[name]})._validate_params()
        except ValueError:
            continue
        setattr(estimator, name, params[name])
    if not get_tags(estimator).input_tags.allow_nan:
        # In weald NaN is a missing value with every criterion. The criterion only matters for fits.
        estimator.criterion = kind().criterion
    return estimator


def _set_shape(estimator: Any, ensemble: Ensemble, model: BaseModel, *, is_member: bool) -> None:
    estimator.n_features_in_ = ensemble.n_features
    estimator.n_outputs_ = ensemble.n_outputs
    if ensemble.feature_names is not None and not is_member:
        estimator.feature_names_in_ = np.array(ensemble.feature_names, dtype=object)
    if ensemble.kind == "numbers":
        return
    labels = model._label_format
    classes = ensemble.classes if labels is None else [np.array([0, 1], dtype=labels.dtype)] * ensemble.n_outputs
    # In scikit-learn, the trees of a forest are fitted to encoded classes.
    classes = [np.arange(len(found), dtype=float) for found in classes] if is_member else classes
    sizes = [len(found) for found in classes]
    single = ensemble.n_outputs == 1
    estimator.classes_ = classes[0] if single else classes
    estimator.n_classes_ = sizes[0] if single else sizes


def _member(
    ensemble: Ensemble, model: BaseModel, index: int, estimator: Any, *, is_member: bool = True
) -> BaseEstimator:
    engine = model._forest
    tree = ensemble.tree(index)
    estimator.tree_ = _tree(ensemble, tree, Tree(engine.only(index)))
    estimator.max_features_ = int(getattr(model, "max_features_", ensemble.n_features))
    _set_shape(estimator, ensemble, model, is_member=is_member)
    return cast(BaseEstimator, estimator)


def _tree(ensemble: Ensemble, tree: EnsembleTree, arrays: Tree) -> object:
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
    """Values of leaves, and zeros elsewhere. `tree_.value` of means is rounded once more than in predictions."""
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
