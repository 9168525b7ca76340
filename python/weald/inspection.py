"""Inspection of fitted models: importances, partial dependence, explanations, rules and displays.

Functions with an argument `estimator` take fitted estimators of weald, `TunedThresholds` and `CalibratedLabels` around them,
and pipelines that end in one of these. They then read the model inside, whose features are those after the first steps of
the pipeline; X is passed as to the pipeline.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Self, overload

import numpy as np
import sklearn.inspection
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance as of_dense
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit import updates
from weald._fit.base import BaseModel
from weald._fit.forest import BaseBagging
from weald._input import checks, frames
from weald._input import schema as _schema
from weald._input.checks import (
    Float,
    Matrix,
    canonical,
    check_has_fit,
    check_jobs,
    check_names_of_scorers,
    check_real,
    generator,
    integer,
    is_integer,
    named,
    shown,
)
from weald._input.frames import Columns
from weald._input.messages import cut, described, kind_of
from weald._input.schema import Schema
from weald._input.sparse import Raw, is_sparse
from weald._input.targets import check_array_of_y, with_gaps
from weald._inspect.displays import BoostingCurveDisplay, CompressionPathDisplay, bars, checked_names, pyplot, style
from weald._inspect.shap import Explanation as Explanation
from weald._inspect.shap import (
    check_tests_features,
    check_trees,
    fitted,
    named_twin,
    shap_interaction_values,
    shap_values,
)
from weald._parameters.types import Estimator, MatrixLike, RandomState, SampleWeight, YWeight
from weald._ranking.outputs import apart, innermost, names_of_features, transformed
from weald.centroid import BaseCentroidForest
from weald.linear import LinearClassifier
from weald.tree import DecisionTreeRegressor

__all__ = ["permutation_importance"]


def permutation_importance(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    *,
    scoring: str | Callable[..., float] | Collection[str] | Mapping[str, Callable[..., float]] | None = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    sample_weight: SampleWeight = None,
    y_weight: YWeight = None,
) -> Bunch | dict[str, Bunch]:
    """Compute permutation importances of features, without making sparse X dense.

    The importance of a feature is the decrease of the score when its values are randomly permuted among samples
    (Fisher, Rudin and Dominici, JMLR 2019, after Breiman 2001). This is `sklearn.inspection.permutation_importance`,
    extended to sparse X, with the same result; features without stored entries are not scored. The cost is that of
    `n_repeats` scores, and a copy of the stored entries, for each other feature.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((200, 6))
    >>> forest = weald.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, X[:, 2])
    >>> int(weald.inspection.permutation_importance(forest, X, X[:, 2], random_state=0).importances_mean.argmax())
    2

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of weald, or any other estimator that supports X.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples. Anything that is not a sparse matrix is passed to the function of scikit-learn.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets, in any form that the scorer supports.
    scoring : str, callable, list, tuple, set, dict or None, default=None
        One or several scorers, as in `sklearn.metrics.check_scoring`. If None, `estimator.score` is used.
    n_repeats : int, default=5
        Number of times that each feature is permuted.
    n_jobs : int or None, default=None
        Number of threads, each of which scores one feature at a time. Each thread needs memory for a copy of X.
    random_state : int, RandomState instance or None, default=None
        Controls the permutations.
    sample_weight, y_weight : as in the scorer, or None, default=None
        Sample weights, and unknown values of several columns of y, for which the scorer gets NaN.

    Returns
    -------
    Bunch or dict of Bunch
        `importances`, a float64 ndarray of shape (n_features, n_repeats), and its `importances_mean` and
        `importances_std` of shape (n_features,). With several scorers, a dict of them.
    """
    n_repeats = integer("n_repeats", n_repeats, 1, sys.maxsize)
    if n_jobs is not None:
        # More jobs than processors would be idle.
        most = os.cpu_count() or 1
        n_jobs = max(-most, min(integer("n_jobs", n_jobs, -sys.maxsize, also=" or None"), most))
    check_has_fit(estimator)
    check_jobs(n_jobs)
    check_names_of_scorers(scoring)
    if sample_weight is not None:
        check_real(sample_weight, "sample_weight")
    check_array_of_y(y, "y")
    y = with_gaps(y, y_weight)
    if isinstance(scoring, Mapping) and not (scoring and all(map(callable, scoring.values()))):
        raise ValueError(f"scoring must have callables as values, got {described(scoring)}")
    if not is_sparse(X):
        if not hasattr(X, "iloc"):
            with named("X"):
                X = check_array(X, ensure_all_finite="allow-nan", dtype=None)
        # The decorator of scikit-learn's function refuses sparse y.
        function = inspect.unwrap(of_dense) if is_sparse(y) else of_dense
        options: dict[str, Any] = {"scoring": scoring, "n_repeats": n_repeats, "n_jobs": n_jobs}
        found: Bunch = function(estimator, X, y, random_state=random_state, sample_weight=sample_weight, **options)
        return found
    matrix: Matrix = X
    if matrix.shape[0] == 0:
        raise ValueError("X must have at least one sample, got none")
    columns = sparse.csc_array(canonical(X, "X"))
    columns.sum_duplicates()
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with named("scoring"):
        scorer = check_scoring(estimator, scoring=scoring)
    # As in scikit-learn, there is one seed for all features.
    seed = generator(random_state).randint(np.iinfo(np.int32).max + 1)
    baseline = scorer(estimator, X, y, **weights)

    def shuffled(j: int) -> list[Any]:
        return [scorer(estimator, of_repeat, y, **weights) for of_repeat in _shuffled(columns, j, seed, n_repeats)]

    with_entries = np.flatnonzero(np.diff(columns.indptr)).tolist()
    scores = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(shuffled)(j) for j in with_entries)
    if isinstance(baseline, dict):
        names = list(baseline)
        parts = {name: [[score[name] for score in of_feature] for of_feature in scores] for name in names}
        return {name: _bunch(columns, with_entries, baseline[name], parts[name], n_repeats) for name in names}
    return _bunch(columns, with_entries, baseline, scores, n_repeats)


def _shuffled(columns: sparse.csc_array, j: int, seed: int, n_repeats: int) -> Matrix:
    """The matrix with the entries of column j permuted, for each repeat.

    Each repeat permutes the result of the one before, as in scikit-learn.
    """
    rng = check_random_state(seed)
    own = slice(columns.indptr[j], columns.indptr[j + 1])
    rows, values = columns.indices[own], columns.data[own]
    taken = np.arange(columns.shape[0])
    place = np.empty_like(taken)
    for _ in range(n_repeats):
        rng.shuffle(taken)
        # Sample i gets the value of sample taken[i].
        place[taken] = np.arange(len(taken))
        rows = place[rows].astype(rows.dtype)
        order = np.argsort(rows)
        rows, values = rows[order], values[order]
        indices, data = columns.indices.copy(), columns.data.copy()
        indices[own], data[own] = rows, values
        yield sparse.csc_array((data, indices, columns.indptr), shape=columns.shape)


def _bunch(
    columns: sparse.csc_array, with_entries: list[int], baseline: float, scores: list[Any], n_repeats: int
) -> Bunch:
    importances: NDArray[np.float64] = np.zeros((columns.shape[1], n_repeats))
    if with_entries:
        importances[with_entries] = baseline - np.array(scores, dtype=np.float64)
    return Bunch(
        importances_mean=importances.mean(axis=1), importances_std=importances.std(axis=1), importances=importances
    )


__all__ = [
    "BoostingCurveDisplay",
    "CompressionPathDisplay",
    "FeatureImportanceDisplay",
    "ThresholdDisplay",
    "TreeDisplay",
    "export_centroids",
    "export_rules",
    "feature_importances",
    "partial_dependence",
    "permutation_importance",
    "shap_interaction_values",
    "shap_values",
    "similar_rows",
    "top_features",
]


def weights_of(model: Estimator, label: object) -> tuple[NDArray[np.int64], Float]:
    """The features with a weight for a label or class of a fitted model, in ascending order, and these weights."""
    column, factor = _column_of_label(model, label)
    row = model.coef_[[column]]
    return row.indices.astype(np.int64), row.data * factor


def _column_of_label(model: Estimator, label: object) -> tuple[int, float]:
    """The column of `coef_` of a label or class, and the factor of its weights."""
    names = getattr(model, "target_names_in_", None)
    if model._label_format is not None:
        return _position("label", label, model.n_outputs_, names), 1.0
    if model.n_outputs_ == 1:
        at = _class_at("label", label, model.classes_)
        return (0, 1.0 if at else -1.0) if model.n_classes_ == 2 else (at, 1.0)
    if not isinstance(label, tuple) or len(label) != 2:
        raise ValueError(f"label must be a tuple of an output and a class, got {shown(label)}")
    output = _position("the output in label", label[0], model.n_outputs_, names)
    return sum(model.n_classes_[:output]) + _class_at("the class in label", label[1], model.classes_[output]), 1.0


def _position(what: str, given: object, n: int, names: NDArray[np.object_] | None) -> int:
    known = [] if names is None else names.tolist()
    if isinstance(given, str) and given in known:
        return known.index(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= int(given) < n:
        return int(given)
    named = " or a name in target_names_in_" if known else ""
    raise ValueError(f"{what} must be an integer from 0 to {n - 1}{named}, got {shown(given)}")


def _class_at(what: str, given: Any, classes: NDArray[Any]) -> int:
    for at, known in enumerate(classes.tolist()):
        # True is no class 1, nor is "1".
        if isinstance(given, bool | np.bool_) == isinstance(known, bool) and np.ndim(given) == 0 and known == given:
            return at
    raise ValueError(f"{what} must be one of the classes {cut(str(classes.tolist()))}, got {shown(given)}")


@overload
def feature_importances(
    estimator: BaseEstimator,
    outputs: Sequence[int | str] | Literal["all"] | None = None,
    *,
    kind: Literal["gain"] = "gain",
) -> Float: ...


@overload
def feature_importances(
    estimator: BaseEstimator, outputs: None = None, *, kind: Literal["count"]
) -> NDArray[np.int64]: ...


def feature_importances(
    estimator: BaseEstimator,
    outputs: Sequence[int | str] | Literal["all"] | None = None,
    *,
    kind: Literal["gain", "count"] = "gain",
) -> Float | NDArray[np.int64]:
    """Compute feature importances: the mean decrease of impurity, or the number of splits on each feature.

    The cost is O(nodes), times the outputs with `outputs`. Boosting whose weak models are not trees, and some but not
    all outputs of trees grown with "absolute_error", raise a ValueError.

    >>> import weald
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> tree = weald.DecisionTreeRegressor(random_state=0).fit(X, X)  # output j is feature j
    >>> weald.inspection.feature_importances(tree, outputs=[1]).round(2)
    array([0., 1.])

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of weald.
    outputs : sequence of int or str, "all" or None, default=None
        The outputs whose impurity is measured at the splits of a tree or forest: None, that by which splits were
        chosen, as in `feature_importances_`; "all", that of all outputs, without projection; or that of some, by index
        or name. Boosting and compressed forests only support None.
    kind : {"gain", "count"}, default="gain"
        "gain" is the decrease of impurity. "count" is the number of splits on each feature, which XGBoost calls
        "weight", and which is larger for features with many distinct values.

    Returns
    -------
    ndarray of shape (n_features,)
        A new array: the float64 mean over trees, or sum over stages, which sums to 1 unless all values are zero; or
        int64 counts, whose sum is the number of splits.
    """
    model, _ = fitted(estimator)
    check_trees(model)
    checks.choice("kind", kind, "gain", "count")
    if kind == "count":
        if outputs is not None:
            raise ValueError(
                f"outputs must be None with kind='count', which counts splits independently of outputs, got {outputs!r}"
            )
        return _n_splits(model._forest)
    if outputs is None:
        importances: Float = model.feature_importances_
        return importances
    if not isinstance(model._engine, _weald.Forest):
        raise ValueError(
            f"outputs must be None, since the trees of {type(model).__name__} have other outputs than y, got "
            f"{outputs!r}"
        )
    forest: _weald.Forest = model._forest
    if isinstance(outputs, str):
        if outputs != "all":
            raise ValueError(f'outputs must be a sequence of outputs, "all" or None, got {outputs!r}')
        return forest.feature_importances(range(forest.n_outputs))
    return forest.feature_importances(_columns_of_y(outputs, model))


def _n_splits(forest: _weald.Forest) -> NDArray[np.int64]:
    """The number of splits of all trees on each feature."""
    features = [forest.tree(i).feature() for i in range(forest.n_trees)]
    splits = np.concatenate([of_tree[of_tree >= 0] for of_tree in features])
    return np.bincount(splits, minlength=forest.n_features).astype(np.int64)


def _columns_of_y(outputs: Any, model: BaseModel) -> list[int]:
    n_outputs = model.n_outputs_
    names = {name: j for j, name in enumerate(getattr(model, "target_names_in_", ()))}
    by_name = " or a name in target_names_in_" if names else ""
    accepted = f'columns of y, each an integer from 0 to {n_outputs - 1}{by_name}, "all" or None'
    try:
        columns = list(outputs)
    except TypeError as error:
        raise TypeError(f"outputs must be {accepted}, got {outputs!r}") from error
    found = []
    for j in columns:
        if isinstance(j, str):
            if j not in names:
                why = "" if names else "; y had no names"
                raise ValueError(f"outputs must be {accepted}, got {str(j)!r}{why}")
            found.append(names[j])
            continue
        if not is_integer(j) or not 0 <= int(j) < n_outputs:
            raise ValueError(f"outputs must be {accepted}, got {j!r}")
        found.append(int(j))
    return found


def partial_dependence(
    estimator: BaseEstimator, X: Raw, features: int | str | Sequence[int | str], **options: Any
) -> Bunch:
    """Compute the partial dependence of predictions on features, by a single traversal of the trees.

    This is the method "recursion" of `sklearn.inspection.partial_dependence`, for all tree-based models of weald and
    any number of outputs: where a split tests other features, a grid point follows both branches, by their training
    weight. The cost is O(nodes + stored leaf values) for each tree, plus n_columns operations for each grid value and
    part of a tree. See `docs/explanations.md#partial-dependence`.

    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> boosting = weald.GradientBoostingRegressor(random_state=0).fit(X, X[:, 0])
    >>> found = weald.inspection.partial_dependence(boosting, X, [0], grid_resolution=3, percentiles=(0, 1))
    >>> found["average"].round(1) + 0.0
    array([[0. , 0.5, 1. ]])

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of weald.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples whose percentiles determine the grid, or for categorical features their distinct values. NaN is ignored.
    features : int, str, or list of int or str
        The features of the grid, which contains all combinations of their values. With sparse X those are integers,
        or names in `feature_names`.
    **options
        `grid_resolution`, `percentiles`, `custom_values` (scikit-learn 1.7 or later) and `feature_names` of
        `sklearn.inspection.partial_dependence`, with the same meaning and defaults.

    Returns
    -------
    Bunch
        `grid_values`, a list of the grid values of each feature, and `average`, an ndarray of shape (n_columns,
        len(grid_values[0]), ...): mean predictions of each number, class or label, or for boosted and compressed
        classifiers each column of scores; of losses with the link "log", means of logarithms.
    """
    model, before = fitted(estimator)
    check_trees(model)
    if unknown := sorted(options.keys() - {"grid_resolution", "percentiles", "custom_values", "feature_names"}):
        raise ValueError(
            f"options must be grid_resolution, percentiles, custom_values or feature_names, got {unknown[0]}"
        )
    if isinstance(features, str | Integral):
        features = [features]
    X = transformed(before, X)
    with named("X"):
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, samples and features, got shape {tuple(shape)}")
    n_features = shape[1]
    if n_features != model.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    columns = None
    schema = Schema.of(model)
    categories = schema.categories().keys()
    if is_sparse(X):
        # Only the columns of the requested features become dense, and the others are dropped.
        names = checked_names("feature_names", options.pop("feature_names", None), n_features, "one for each feature")
        columns = np.asarray(
            [names.index(j) if j in names else j for j in np.atleast_1d(features).tolist()] if names else features
        )
        if columns.dtype.kind not in "iu" or (columns < 0).any() or (columns >= n_features).any():
            raise ValueError(f"features must be integers from 0 to {n_features - 1} with sparse X, got {features!r}")
        if custom := options.get("custom_values"):
            options["custom_values"] = {i: custom[j] for i, j in enumerate(columns.tolist()) if j in custom}
        X, features = X.tocsc()[:, columns].toarray(), list(range(len(columns)))
    elif (table := Columns.of(X)) is not None:
        schema.check_names(table)
    are_categories = [j in categories for j in (range(n_features) if columns is None else columns.tolist())]
    if any(are_categories):
        options["categorical_features"] = are_categories
    X = _as_floats(X, categories)
    with named("features"):
        return sklearn.inspection.partial_dependence(
            _Recursion(model, columns), X, features, method="recursion", **options
        )


def _as_floats(X: Raw, categories: Collection[int]) -> Matrix:
    """X with missing values filled in so that the percentiles of each column are those of its known values.

    Columns without a known value are not changed. Integers become floats, other than those that are categories.
    """
    table = Columns.of(X)
    if table is None:
        if isinstance(X, np.ndarray) and X.dtype.kind in "iu" and not categories:
            return X.astype(np.float64)
        if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or not np.isnan(X).any():
            return X
        X = X.copy()
        for j in np.flatnonzero(np.isnan(X).any(axis=0)).tolist():
            X[:, j] = _filled(X[:, j], np.isnan(X[:, j]))
        return X
    filled = {}
    for j in range(table.count):
        distinct, places = table.factors(j)
        is_integers = table.have_types and j not in categories and "int" in str(table.dtype(j)).lower()
        if len(distinct) and (is_integers or (places < 0).any()):
            values = np.array(distinct, dtype=np.float64 if is_integers else None)
            filled[j] = _filled(values[places], places < 0)
    if not filled:
        return X
    if table.have_types:
        return table.replaced(filled)
    X = X.astype(object)
    for j, column in filled.items():
        X[:, j] = column
    return X


def _filled(column: NDArray[Any], gaps: NDArray[np.bool_]) -> NDArray[Any]:
    """The known values in ascending order, repeated equally often to fill the column."""
    present = np.sort(column[~gaps])
    if not len(present):
        return column
    return present[((np.arange(len(column)) + 0.5) * (len(present) / len(column))).astype(np.intp)]


class _Recursion(DecisionTreeRegressor):
    """A model in the form for which scikit-learn's function supports recursion: as if it were a regression tree."""

    def __init__(self, model: BaseModel, columns: NDArray[np.intp] | None) -> None:
        self.model = model
        # For each column of X as it is passed to scikit-learn, the feature of the model. None: they are the same.
        self.columns = columns

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _compute_partial_dependence_recursion(self, grid: object, target_features: Any) -> Float:
        features = target_features if self.columns is None else self.columns[target_features]
        return self.model._means_of_grid(grid, features, of_samples=True)


def similar_rows(estimator: BaseEstimator, X: MatrixLike, k: int | None = 10) -> sparse.csr_array:
    """Find the training samples that are most similar to given samples by the leaves of a forest.

    These are the weights of quantile regression forests (Meinshausen 2006), also of samples that a tree has not drawn,
    and of centroid forests by the leaves of `apply`. The cost is that of the training samples in the leaves that are
    reached, plus one pass over the leaves of all. See `docs/explanations.md`.

    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(min_samples_leaf=5, keep_rows=True, random_state=0).fit(X, y)
    >>> y[weald.inspection.similar_rows(forest, X[100:101], k=5).indices]
    array([2, 2, 2, 2, 2])

    Parameters
    ----------
    estimator : estimator
        A random forest, extra-trees or centroid forest of weald that was fitted with `keep_rows=True`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples to explain.
    k : int or None, default=10
        The number of training samples to return for each sample: those with the largest weights, and among equal
        weights those with the lowest index. None returns all with a positive weight.

    Returns
    -------
    csr_array of shape (n_samples, n_training_samples)
        The float64 weight of each training sample, which is the mean over trees of its share of the sample weight in
        the leaf. With `k=None` the weights of each sample sum to 1.
    """
    model, before = innermost(estimator)
    if not isinstance(model, BaseBagging):
        accepted = "a random forest, extra-trees or a centroid forest of weald"
        raise TypeError(f"estimator must be {accepted}, got a {type(model).__name__}")
    check_is_fitted(model)
    most = updates.checked_k(k)
    model = model._twin()
    updates.check_kept(model)
    return updates.weights_of_rows(model, model.apply(transformed(before, X)), most)


def export_rules(
    estimator: BaseEstimator,
    *,
    tree: int = 0,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = 3,
    max_depth: int | None = None,
    top_k: int = 5,
) -> str:
    r"""Export a tree as text with one rule per leaf, from left to right, in O(node_count) and the length of the text.

    A rule has one condition for each feature that is tested on the path to the leaf, in the order in which they are
    tested first, then the prediction of the leaf and its number of training samples.

    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> iris = load_iris(as_frame=True)
    >>> model = weald.DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    >>> model = model.fit(iris.data[["petal width (cm)"]], iris.target)
    >>> print(weald.inspection.export_rules(model, class_names=iris.target_names).split("\n")[0])
    if petal width (cm) <= 0.800: setosa 1.000 (50 samples)

    Parameters
    ----------
    estimator : estimator
        A fitted tree or forest of weald, or one of the `estimators_` of boosting.
    tree : int, default=0
        The index of the tree in a forest. Negative indices count from the end.
    feature_names : sequence of str or None, default=None
        The name of each feature. None: `feature_names_in_` if it exists, and "feature_0" and so on otherwise.
    class_names : sequence of str or None, default=None
        The names of what is predicted: the classes in the order of `classes_` (one sequence per output if there are
        several), the labels, or the regression targets. None: `classes_`, or `target_names_in_`, or "y0" and so on.
    decimals : int or None, default=3
        Number of decimal places of thresholds and values. None uses as many as are needed to distinguish different
        numbers.
    max_depth : int or None, default=None
        If given, splits at this depth are exported as if they were leaves, except of trees of "absolute_error".
    top_k : int, default=5
        Maximum number of classes, labels or targets of a leaf: the most frequent, or the first targets. With several
        outputs of classes, the most frequent class of each is exported.

    Returns
    -------
    str
        The rules, one per line.
    """
    model, before = innermost(estimator)
    if not isinstance(model, BaseModel) or model._proof.engine is _weald.Boosted:
        raise TypeError(f"estimator must be a tree or forest of weald, or one of estimators_, got {kind_of(model)}")
    check_tests_features(model)
    model = named_twin(model, estimator)
    forest = model._forest
    number = _checked_tree(tree, forest.n_trees)
    sizes = {"decimals": (decimals, 0, 30), "max_depth": (max_depth, 0, 2**31), "top_k": (top_k, 1, 2**31)}
    for name, (size, least, most) in sizes.items():
        if size is None and name != "top_k":
            continue
        integer(name, size, least, most)
    if feature_names is None:
        feature_names = names_of_features(model, before)
    features = checked_names("feature_names", feature_names, forest.n_features, "one for each feature")
    columns = _column_names(model, forest, class_names)
    if forest.by_output:
        columns = [(columns or frames.output_names(model))[number % forest.n_outputs]]
    categories = _schema.names_of(model)
    rules: str = forest.tree(number).rules(features, columns, decimals, max_depth, int(top_k), categories)
    return rules


class _OfBars:
    """A display with a bar for each name, the largest on top."""

    def _bars(self) -> tuple[Float, Float | None, list[str] | None, str]:
        """The lengths of bars, of whiskers, the names, and what they show."""
        raise NotImplementedError

    def plot(self, ax: Any = None, *, max_bars: int = 20, bar_kw: dict[str, Any] | None = None) -> Self:
        """Plot the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to plot on. None creates a figure.
        max_bars : int, default=20
            The maximum number of bars.
        bar_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes.barh`.

        Returns
        -------
        FeatureImportanceDisplay or ThresholdDisplay
            This object, with the attributes set.
        """
        values, spread, names, told = self._bars()
        self.bars_ = bars(f"{type(self).__name__}.plot", values, names, ("max_bars", max_bars), ax, bar_kw, spread)
        self.ax_ = self.bars_[0].axes
        self.ax_.set_xlabel(told)
        self.figure_ = self.ax_.figure
        return self


@dataclass(eq=False, repr=False)
class FeatureImportanceDisplay(_OfBars):
    """Bars of the importances of the most important features.

    Use `from_estimator` to create it, or the constructor with importances of any kind; plotting needs matplotlib.

    >>> import weald, matplotlib
    >>> matplotlib.use("Agg")
    >>> tree = weald.DecisionTreeRegressor().fit([[0.0, 0.0], [0.0, 1.0]], [0.0, 1.0])
    >>> shown = weald.inspection.FeatureImportanceDisplay.from_estimator(tree, max_bars=1)
    >>> [label.get_text() for label in shown.ax_.get_yticklabels()]
    ['feature_1']

    Parameters
    ----------
    importances : ndarray of shape (n_features,) or (n_features, n_repeats)
        The importance of each feature. Of repeats, as of `permutation_importance`, the mean and the standard deviation
        are drawn.
    feature_names : sequence of str or None, default=None
        The name of each feature. None: "feature_0" and so on.

    Attributes
    ----------
    ax_, figure_, bars_ : matplotlib Axes, Figure and container of bars
        What was plotted.
    """

    importances: Float
    feature_names: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        kind: Literal["gain", "count"] = "gain",
        feature_names: Sequence[str] | None = None,
        **options: Any,
    ) -> FeatureImportanceDisplay:
        """Plot the importances of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of weald with trees, or a pipeline that ends in one.
        kind : {"gain", "count"}, default="gain"
            As in `feature_importances`.
        feature_names : sequence of str or None, default=None
            The name of each feature. None: those that the model or the step before it knows.
        **options
            Arguments of `plot`.

        Returns
        -------
        FeatureImportanceDisplay
        """
        names = names_of_features(*innermost(estimator)) if feature_names is None else feature_names
        found: Any = feature_importances(estimator, kind=kind)
        return cls(found, names).plot(**options)

    def _bars(self) -> tuple[Float, Float | None, list[str] | None, str]:
        found = checks.floats(self.importances, "importances")
        mean, spread = (found.mean(axis=1), found.std(axis=1)) if found.ndim == 2 else (found, None)
        names = checked_names("feature_names", self.feature_names, len(mean), "one for each feature")
        return mean, spread, names, "importance"


@dataclass(eq=False, repr=False)
class ThresholdDisplay(_OfBars):
    """Bars of the thresholds of labels.

    Use `from_estimator` to create it; plotting needs matplotlib.

    >>> import weald, matplotlib
    >>> matplotlib.use("Agg")
    >>> weald.inspection.ThresholdDisplay([0.1, 0.3], ["rare", "frequent"]).plot().ax_.get_xlabel()
    'threshold'

    Parameters
    ----------
    thresholds : ndarray of shape (n_labels,)
        The threshold of each label.
    label_names : sequence of str or None, default=None
        The name of each label. None: "y0" and so on.

    Attributes
    ----------
    ax_, figure_, bars_ : matplotlib Axes, Figure and container of bars
        What was plotted.
    """

    thresholds: Float
    label_names: Sequence[str] | None = None

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, **options: Any) -> ThresholdDisplay:
        """Plot the thresholds of a fitted `weald.multilabel.TunedThresholds`, or of a pipeline that ends in one.

        Parameters
        ----------
        estimator : estimator
            The fitted estimator.
        **options
            Arguments of `plot`.

        Returns
        -------
        ThresholdDisplay
        """
        final: Any = apart(estimator)[0]
        if not hasattr(final, "tuned_score_"):
            raise TypeError(f"estimator must be a fitted TunedThresholds of weald, got {kind_of(final)}")
        return cls(final.threshold_, getattr(final, "target_names_in_", None)).plot(**options)

    def _bars(self) -> tuple[Float, Float | None, list[str] | None, str]:
        found = checks.floats(self.thresholds, "thresholds")
        names = checked_names("label_names", self.label_names, len(found), "one for each label")
        return found, None, names or [f"y{j}" for j in range(len(found))], "threshold"


@dataclass(eq=False, repr=False)
class TreeDisplay:
    r"""A tree as boxes and lines, with the names of features and categories.

    Use `from_estimator` to create it; plotting needs matplotlib. Samples for which the test of a box is true go left.

    >>> import weald, matplotlib
    >>> matplotlib.use("Agg")
    >>> tree = weald.DecisionTreeRegressor().fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    >>> weald.inspection.TreeDisplay.from_estimator(tree).texts
    ['feature_0 <= 0.500', '0.000\n9 samples', '1.000\n9 samples']

    Parameters
    ----------
    texts : list of str
        The text of each box: of a test, or of a leaf; in pre-order.
    parents : list of int
        The index of the box above, which is -1 for the first one.

    Attributes
    ----------
    ax_, figure_, boxes_ : matplotlib Axes, Figure and list of artists
        What was plotted.
    """

    texts: list[str]
    parents: list[int]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        tree: int = 0,
        max_depth: int = 3,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
        decimals: int = 3,
        top_k: int = 1,
        ax: Any = None,
        text_kw: dict[str, Any] | None = None,
    ) -> TreeDisplay:
        """Plot a tree of a fitted model.

        Parameters
        ----------
        estimator, tree, max_depth, feature_names, class_names, decimals, top_k : as in `export_rules`
            The model, the index of the tree, and the content of the boxes. At `max_depth`, 3 by
            default, splits are drawn as leaves.
        ax, text_kw : matplotlib Axes and dict, or None, default=None
            As in `plot`.

        Returns
        -------
        TreeDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        integer("max_depth", max_depth, 0)
        options: dict[str, Any] = {"feature_names": feature_names, "class_names": class_names, "top_k": top_k}
        rules = export_rules(estimator, tree=tree, decimals=decimals, max_depth=max_depth, **options).splitlines()
        leaves = iter(line.rpartition(": ")[2].replace(" (", "\n").removesuffix(")") for line in rules)
        model, before = innermost(estimator)
        model = named_twin(model, estimator)
        names = names_of_features(model, before) if feature_names is None else list(feature_names)
        categories, of_tree = _schema.names_of(model), model._forest.tree(_checked_tree(tree, model._forest.n_trees))
        children, features = (of_tree.children_left(), of_tree.children_right()), of_tree.feature()
        thresholds = of_tree.threshold()
        texts: list[str] = []
        parents: list[int] = []
        stack = [(0, -1, 0)]
        while stack:
            node, parent, depth = stack.pop()
            parents.append(parent)
            j = int(features[node])
            if j < 0 or depth == max_depth:
                texts.append(next(leaves))
                continue
            stack += [(int(side[node]), len(texts), depth + 1) for side in children[::-1]]
            name = f"feature_{j}" if names is None else names[j]
            if np.isnan(thresholds[node]):
                kinds = categories[j] if categories else []
                found = [kinds[code] if kinds else str(code) for code in of_tree.categories_left(node).tolist()]
                texts.append(f"{name} in {{{cut(', '.join(found))}}}")
            elif thresholds[node] == np.finfo(np.float32).max:
                texts.append(f"{name} is known")
            else:
                texts.append(f"{name} <= {thresholds[node]:.{decimals}f}")
        return cls(texts, parents).plot(ax, text_kw=text_kw)

    def plot(self, ax: Any = None, *, text_kw: dict[str, Any] | None = None) -> TreeDisplay:
        """Plot the tree.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to plot on. None creates a figure.
        text_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes.annotate` for the boxes.

        Returns
        -------
        TreeDisplay
            This object, with the attributes set.
        """
        plt = pyplot(f"{type(self).__name__}.plot")
        from matplotlib.text import Text

        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.5"}
        drawn = style("text_kw", text_kw, Text, ha="center", va="center", fontsize="small", bbox=box)
        n, is_leaf = len(self.texts), set(range(len(self.texts))) - set(self.parents)
        depth, across, order = [0] * n, [0.0] * n, iter(range(n))
        for at in range(1, n):
            depth[at] = depth[self.parents[at]] + 1
        for at in range(n):
            if at in is_leaf:
                across[at] = next(order)
        for at in reversed(range(n)):
            if at not in is_leaf:
                below = [across[child] for child in range(at + 1, n) if self.parents[child] == at]
                across[at] = sum(below) / len(below)
        size = (max(4.0, 1.8 * len(is_leaf)), 1.2 * (max(depth) + 1))
        axes = plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
        for at, parent in enumerate(self.parents[1:], 1):
            axes.plot([across[parent], across[at]], [-depth[parent], -depth[at]], color="0.6", linewidth=1, zorder=0)
        self.boxes_ = [axes.annotate(text, (across[at], -depth[at]), **drawn) for at, text in enumerate(self.texts)]
        axes.set(xlim=(-0.6, len(is_leaf) - 0.4), ylim=(-max(depth) - 0.5, 0.5))
        axes.set_axis_off()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _checked_tree(tree: object, n_trees: int) -> int:
    """The non-negative index of a tree, given an index that may count from the end."""
    return range(n_trees)[integer("tree", tree, -n_trees, n_trees - 1)]


def export_centroids(
    estimator: BaseEstimator,
    *,
    tree: int = 0,
    node: int = 0,
    feature_names: Sequence[str] | None = None,
    n_features: int = 10,
    decimals: int = 2,
) -> str:
    r"""Export the children of a node of a centroid forest as text, with the features of largest weight of each child.

    A sample goes to the child with the largest dot product of its features and these weights. The first line describes
    the node, each further line a child, in descending order of their training weight, with the index for `node`.

    >>> import numpy as np
    >>> import weald
    >>> X = np.repeat(np.eye(3)[[0, 0, 1]], 10, axis=0)
    >>> model = weald.CentroidForestClassifier(random_state=0).fit(X, X[:, 0])
    >>> print(weald.inspection.export_centroids(model, feature_names=["cat", "dog", "snow"]).split("\n")[1])
    node 1 (20 samples): cat 5.30

    Parameters
    ----------
    estimator : estimator
        A fitted centroid forest of weald.
    tree : int, default=0
        The index of the tree. Negative indices count from the end.
    node : int, default=0
        The index of the node in the tree. The root has index 0.
    feature_names : sequence of str or None, default=None
        The name of each feature, as in `export_rules`.
    n_features : int, default=10
        Maximum number of features of each child. Those with the largest weights are exported.
    decimals : int, default=2
        Number of decimal places of weights.

    Returns
    -------
    str
        The text, with one line for the node and one for each child.
    """
    model, before = innermost(estimator)
    if not isinstance(model, BaseCentroidForest):
        raise TypeError(f"estimator must be a centroid forest of weald, got {kind_of(model)}; see export_rules")
    check_is_fitted(model)
    model = model._twin()
    of_tree = model._forest.tree(_checked_tree(tree, model._forest.n_trees))
    sizes = {
        "node": (node, 0, of_tree.node_count - 1),
        "n_features": (n_features, 1, 2**31),
        "decimals": (decimals, 0, 30),
    }
    for name, (size, least, most) in sizes.items():
        integer(name, size, least, most)
    if feature_names is None:
        feature_names = names_of_features(model, before)
    names = checked_names("feature_names", feature_names, model.n_features_in_, "one for each feature")
    start, n_samples = of_tree.children_start(), of_tree.n_node_samples()
    children = range(start[node], start[node + 1])
    what = f"{len(children)} children" if children else "a leaf"
    lines = [f"node {node}: {n_samples[node]} samples, {what}"]
    for child, heaviest in zip(children, of_tree.heaviest_features(int(node), int(n_features)), strict=True):
        words = [f"{names[j] if names else f'feature_{j}'} {weight:.{int(decimals)}f}" for j, weight in heaviest]
        lines.append(f"node {child} ({n_samples[child]} samples): {', '.join(words)}")
    return "\n".join(lines) + "\n"


def top_features(
    estimator: BaseEstimator,
    label: object,
    n: int = 20,
    *,
    sign: Literal["positive", "negative", "both"] = "positive",
    feature_names: Sequence[str] | None = None,
) -> list[tuple[str, float]]:
    """Return the features with the largest weights for a label or class of a linear model.

    >>> import weald
    >>> model = weald.LinearClassifier(random_state=0).fit([[2, 0], [1, 0], [0, 1], [0, 3]] * 5, ["cat", "cat", "dog", "dog"] * 5)
    >>> [word for word, _ in weald.inspection.top_features(model, "dog", 1, feature_names=["cat", "dog"])]
    ['dog']

    Parameters
    ----------
    estimator : estimator
        A fitted `weald.LinearClassifier`.
    label : int or str
        A label, by its index or by its name in `target_names_in_`; or one of `classes_` of one output of classes. For
        several outputs of classes, a tuple of the index or name of the output and the class.
    n : int, default=20
        Maximum number of features to return.
    sign : {"positive", "negative", "both"}, default="positive"
        Which weights are returned: those that speak for the label, those that speak against it, or both.
    feature_names : sequence of str or None, default=None
        The name of each feature. None: those that the model or the step before it in a pipeline knows, or "feature_0"
        and so on.

    Returns
    -------
    list of (str, float)
        Names and weights of the features that `features_` prepares, in decreasing order of magnitude; of equal ones,
        the feature with the lower index comes first. Those of the first of two classes are the negatives of `coef_`.
    """
    model, before = innermost(estimator)
    if not isinstance(model, LinearClassifier) or model._is_tree:
        got = kind_of(model) + " with trees" * isinstance(model, LinearClassifier)
        raise TypeError(f"estimator must be a linear model of weald, got {got}; see shap_values")
    model = named_twin(model, estimator)
    integer("n", n, 1)
    checks.choice("sign", sign, "positive", "negative", "both")
    if feature_names is None:
        feature_names = names_of_features(model, before)
    names = checked_names("feature_names", feature_names, model.n_features_in_, "one for each feature")
    features, weights = weights_of(model, label)
    is_asked = {"positive": weights > 0, "negative": weights < 0, "both": weights != 0}[sign]
    features, weights = features[is_asked], weights[is_asked]
    order = np.lexsort((features, -np.abs(weights)))[: int(n)]
    of_feature = (lambda j: names[j]) if names else (lambda j: f"feature_{j}")
    return [
        (of_feature(j), weight) for j, weight in zip(features[order].tolist(), weights[order].tolist(), strict=True)
    ]


def _column_names(model: BaseModel, forest: _weald.Forest, names: Sequence[Any] | None) -> list[str] | None:
    """The name of each column of the predictions."""
    has_classes = hasattr(model, "classes_") and model._label_format is None
    given = getattr(model, "target_names_in_", None)
    if not has_classes:
        names = given if names is None else names
        return checked_names("class_names", names, forest.width, "one for each column of y")
    if forest.n_outputs == 1:
        return checked_names(
            "class_names", model.classes_ if names is None else names, forest.width, "one for each class"
        )
    if names is None:
        names = model.classes_
    if len(names) != forest.n_outputs:
        raise ValueError(
            f"class_names must have length {forest.n_outputs}, one sequence for each output, got length {len(names)}"
        )
    columns: list[str] = []
    outputs = frames.output_names(model)
    for j, (part, classes) in enumerate(zip(names, model.classes_, strict=True)):
        found = checked_names(f"class_names[{j}]", part, len(classes), "one for each class")
        columns += [f"{outputs[j]}={name}" for name in found or []]
    return columns
