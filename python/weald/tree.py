"""Single decision trees and extremely randomized trees, for classes, labels and numerical outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sklearn.tree
from numpy.typing import ArrayLike

from weald._fit.base import keep
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.tree import BaseTree
from weald._input.sklearn_private import StrOptions
from weald._parameters import growing as _growing
from weald._parameters import weighting as _weighting
from weald._parameters.growing import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA
from weald._parameters.types import (
    CategoricalFeatures,
    ClassifierCriterion,
    ClassWeight,
    InteractionCst,
    LabelWeight,
    MatrixLike,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    NProjections,
    OutputProjection,
    OutputScaling,
    Prediction,
    RandomState,
    RegressorCriterion,
)

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"]


class DecisionTreeClassifier(BaseTree, BaseClassifier):
    """A decision tree classifier for classes and labels: for rules that can be read.

    Forests predict better. The tree depends on the order of the samples only in the choice between equally good splits.

    >>> import weald
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]]
    >>> weald.DecisionTreeClassifier(random_state=0).fit(X, Y).predict([[2.0]])
    array([[0, 1, 1]])

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits decrease, averaged over the outputs: the Gini index, or the entropy in bits ("entropy",
        "log_loss"), which projections do not support; with them "squared_error" means "gini".
    splitter : {"best", "random"}, default="best"
        How the threshold of a split is chosen: "best", the best one of each feature that the node draws; "random", one
        for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=None
        Number of features that each node draws at random: a number, a fraction, their square root, their binary
        logarithm, or "half" of them, rounded up and at least four. None: all. Features that are constant in the node do
        not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning of each tree: see `cost_complexity_pruning_path`. 0:
        none.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        For each feature, or by name, 1 or -1 if predictions never decrease or increase as the feature increases, and 0
        without constraint, for all outputs or for each. Of two classes, it is on the probability of the second. Not for
        more classes, categories, projections or unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs; leaves still predict all outputs. Accepted
        are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what
        `weald.projection` describes. None: none, as for one output of classes. See `docs/projections.md`.
    n_projections : int, float or "log", default="log"
        Number q of combinations: a number, a fraction of the outputs, or for "log" ⌊½ + ln d⌋ of d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits: "balanced", 1 / (p (1 - p)) for a label with a fraction p of the
        known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not negative, of which
        only ratios matter; None, all the same. Predictions are unweighted. Only for labels and "gini", not with
        `monotonic_cst`. See `docs/tagging.md#weights-for-rare-tags`.
    n_jobs : int or None, default=None
        Number of threads, for subtrees and predictions: None is 1, or that of a joblib context, -1 all processors.
        Results do not depend on it. One thread grows a tree with `max_leaf_nodes`, `monotonic_cst` or
        `interaction_cst`.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255, of about equal weights and the same for all trees.
        Features with no more distinct values, and categories, are split exactly; None: all are. Not supported with
        random thresholds.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    max_features_ : int
        The number of features that each node draws.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for its `export_text`, `plot_tree` and the
        like.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_weighting.LABEL_WEIGHT,
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **BaseClassifier._parameter_constraints,
    }

    class_weight: ClassWeight
    label_weight: LabelWeight

    def __init__(
        self,
        *,
        criterion: ClassifierCriterion = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
    ) -> None:
        keep(self, locals())

    def predict_proba(self, X: MatrixLike, *, check_input: bool = True) -> Prediction:
        """Predict probabilities: the weighted frequencies of the classes or labels in the leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        check_input : bool, default=True
            It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several
            outputs of classes, an array for each.
        """
        return super().predict_proba(X)


class DecisionTreeRegressor(BaseTree, BaseRegressor):
    """A decision tree regressor for one or several numerical outputs: for rules that can be read.

    Forests and boosting predict better.

    >>> import weald
    >>> X, Y = [[0], [1], [2], [3]], [[1, 0], [1, 1], [0, 2], [0, 3]]
    >>> weald.DecisionTreeRegressor(max_depth=1).fit(X, Y).predict([[0]])
    array([[1. , 0.5]])

    Parameters
    ----------
    criterion : {"squared_error", "poisson", "absolute_error"}, default="squared_error"
        Impurity that splits decrease, averaged over the outputs: the variance; half the mean Poisson deviance, for y ≥
        0 with a positive sum; or the mean absolute deviation from the weighted median, which leaves then predict. The
        last takes several times log(n_samples) as much time, and about 44 bytes for each value of y and tree that
        grows; it may miss the best set of categories. See `docs/scikit-learn.md#trees-and-forests`.
    splitter : {"best", "random"}, default="best"
        How the threshold of a split is chosen: "best", the best one of each feature that the node draws; "random", one
        for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=None
        Number of features that each node draws at random: a number, a fraction, their square root, their binary
        logarithm, or "half" of them, rounded up and at least four. None: all. Features that are constant in the node do
        not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning of each tree: see `cost_complexity_pruning_path`. 0:
        none.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        For each feature, or by name, 1 or -1 if predictions never decrease or increase as the feature increases, and 0
        without constraint, for all outputs or for each. Of two classes, it is on the probability of the second. Not for
        more classes, categories, projections or unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs; leaves still predict all outputs. Accepted
        are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what
        `weald.projection` describes. None: no projection. See `docs/projections.md`.
    n_projections : int, float or "log", default="log"
        Number q of combinations: a number, a fraction of the outputs, or for "log" ⌊½ + ln d⌋ of d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which each output is divided in the search for splits: "variance", its weighted standard deviation, or
        1 if it is constant; positive numbers; None, none, so that outputs with large values decide. Predictions are in
        the units of y; impurities, importances, `min_impurity_decrease` and `ccp_alpha` are scaled. Only for
        "squared_error".
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits, after `output_scaling`: numbers that are not negative, one of
        them positive; only their ratios matter. An output with weight zero is predicted like the others. Only for
        `criterion="squared_error"`.
    n_jobs : int or None, default=None
        Number of threads, for subtrees and predictions: None is 1, or that of a joblib context, -1 all processors.
        Results do not depend on it. One thread grows a tree with `max_leaf_nodes`, `monotonic_cst` or
        `interaction_cst`.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255, of about equal weights and the same for all trees.
        Features with no more distinct values, and categories, are split exactly; None: all are. Not supported with
        random thresholds.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    max_features_ : int
        The number of features that each node draws.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for its `export_text`, `plot_tree` and the
        like.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_growing.OUTPUT_FACTORS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    def __init__(
        self,
        *,
        criterion: RegressorCriterion = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
    ) -> None:
        keep(self, locals())


class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomized tree classifier for classes and labels, a part of `ExtraTreesClassifier`.

    Each node draws features at random, and one random threshold for each of them. The parameters and attributes are
    those of `DecisionTreeClassifier`, with `splitter="random"` and `max_features="sqrt"` as defaults.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    >>> weald.ExtraTreeClassifier(random_state=0).fit(X, y).predict([[2.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(
        self,
        *,
        criterion: ClassifierCriterion = "gini",
        splitter: Literal["best", "random"] = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
    ) -> None:
        keep(self, locals())


class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomized tree regressor for one or several numerical outputs, a part of `ExtraTreesRegressor`.

    Each node draws one random threshold for each feature. The parameters and attributes are those of
    `DecisionTreeRegressor`, with `splitter="random"` and `max_features=1.0` as defaults.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]
    >>> weald.ExtraTreeRegressor(random_state=0).fit(X, y).predict([[2.0]])
    array([4.])
    """

    def __init__(
        self,
        *,
        criterion: RegressorCriterion = "squared_error",
        splitter: Literal["best", "random"] = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
    ) -> None:
        keep(self, locals())


# `export_text`, `plot_tree` and similar functions of scikit-learn accept only instances of these two classes, and then
# read only `tree_`. These are abstract base classes, so our classes can be registered with them: `isinstance` is then
# true, and nothing is inherited. `partial_dependence`, which also checks the class, calls
# `_compute_partial_dependence_recursion`.
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
