"""Random forests and extra-trees, for classes, labels and numerical outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sklearn.ensemble
from numpy.typing import ArrayLike

from weald._fit.base import BINS_CONSTRAINTS, keep
from weald._fit.forest import BaseForestClassifier, BaseForestRegressor
from weald._parameters.types import (
    CategoricalFeatures,
    ClassifierCriterion,
    ForestClassWeight,
    InteractionCst,
    LabelWeight,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    NProjections,
    OobScore,
    OutputProjection,
    OutputScaling,
    OutputStrategy,
    RandomState,
    RegressorCriterion,
)
from weald.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(BaseForestClassifier):
    """A random forest classifier for classes and labels: the first choice where nothing shall be tuned.

    Each tree is grown on a bootstrap sample, and each node draws features at random. For text see `LinearClassifier`,
    and for tables with a few classes `GradientBoostingClassifier`. Labels and X may be sparse.

    >>> import weald
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> weald.RandomForestClassifier(n_estimators=20, random_state=0).fit(X, Y).predict([[0.5], [2.5]])
    array([[1, 0],
           [0, 1]])

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; with `output_strategy="single_target"`, of each output.
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits decrease, averaged over the outputs: the Gini index, or the entropy in bits ("entropy",
        "log_loss"), which projections do not support; with them "squared_error" means "gini".
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default="sqrt"
        Number of features that each node draws at random: a number, a fraction, their square root, their binary
        logarithm, or "half" of them, rounded up and at least four. None: all. Constant features do not count. For
        sparse text with thousands of words 0.05 ranked labels better than "sqrt", in up to 3.3 times the time
        (`benches/defaults`).
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    bootstrap : bool, default=True
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples. Samples with
        weight zero are never drawn. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two
        samples. Otherwise all samples are drawn with the same probability and keep their weights.
    oob_score : bool or callable, default=False
        Whether to score for each sample the predictions of the trees that were grown without it. True: the accuracy for
        classes and up to ten labels, all of which must be right, and label ranking average precision for more labels. A
        callable gets (y_true, y_pred), which are sparse if y was.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On
        the same data, the result is the forest that a single fit would have grown.
    class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" and "balanced_subsample" raise a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples,
        either of which may exceed them. None: as many as there are.
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
    projection_scope : {"tree", "forest"}, default="tree"
        Whether each tree has its own output projection ("tree") or all trees share one ("forest").
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree (four bytes) and its weight, and for regressors its
        targets, in model files too. `weald.inspection.similar_rows`, `predict_quantiles` and `sample_y` need them.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits: "balanced", 1 / (p (1 - p)) for a label with a fraction p of the
        known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not negative, of which
        only ratios matter; None, all the same. Predictions are unweighted. Only for labels and "gini", not with
        `monotonic_cst`. See `docs/tagging.md#weights-for-rare-tags`.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255, of about equal weights and the same for all trees.
        Features with no more distinct values, and categories, are split exactly; None: all are. Not supported with
        random thresholds.
    output_strategy : {"joint", "single_target"}, default="joint"
        Which outputs a tree has: "joint", all of them; "single_target", one of several labels or numbers, on the
        samples for which it is known. The second suits outputs that have nothing in common, most of all if most values
        are unknown: it has `n_estimators` trees for each of d outputs, of which tree t of output j is `estimators_[t *
        d + j]`. See `docs/missing-labels.md#one-forest-or-one-for-each-label`.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
        The out-of-bag scores of the training samples: NaN, or if y is sparse no entry, for samples that all trees have
        drawn. It exists only with `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.
    """

    _member_class = DecisionTreeClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForestClassifier._parameter_constraints,
        **BINS_CONSTRAINTS,
    }

    max_bins: int | None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassifierCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
        multi_label: MultiLabel = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        label_weight: LabelWeight = None,
        max_bins: int | None = None,
        output_strategy: OutputStrategy = "joint",
    ) -> None:
        keep(self, locals())


class RandomForestRegressor(BaseForestRegressor):
    """A random forest regressor for one or several numerical outputs: for noisy outputs, intervals and quantiles.

    Each tree is grown on a bootstrap sample; by default, each node considers all features. `ExtraTreesRegressor` and
    `GradientBoostingRegressor` are often more exact.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0]
    >>> weald.RandomForestRegressor(oob_score=True, random_state=0).fit(X, y).predict([[0.0]]) < 1
    array([ True])

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; with `output_strategy="single_target"`, of each output.
    criterion : {"squared_error", "poisson", "absolute_error"}, default="squared_error"
        Impurity that splits decrease, averaged over the outputs: the variance; half the mean Poisson deviance, for y ≥
        0 with a positive sum; or the mean absolute deviation from the weighted median, which leaves then predict. The
        last takes several times log(n_samples) as much time, and about 44 bytes for each value of y and tree that
        grows; it may miss the best set of categories. See `docs/scikit-learn.md#trees-and-forests`.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=1.0
        Number of features that each node draws at random: a number, a fraction, their square root, their binary
        logarithm, or "half" of them, rounded up and at least four. None: all. Features that are constant in the node do
        not count.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    bootstrap : bool, default=True
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples. Samples with
        weight zero are never drawn. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two
        samples. Otherwise all samples are drawn with the same probability and keep their weights.
    oob_score : bool or callable, default=False
        Whether to score for each sample the predictions of the trees that were grown without it: True by R², a callable
        by its value for (y_true, y_pred).
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On
        the same data, the result is the forest that a single fit would have grown.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples,
        either of which may exceed them. None: as many as there are.
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
    projection_scope : {"tree", "forest"}, default="tree"
        Whether each tree has its own output projection ("tree") or all trees share one ("forest").
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree (four bytes) and its weight, and for regressors its
        targets, in model files too. `weald.inspection.similar_rows`, `predict_quantiles` and `sample_y` need them.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which each output is divided in the search for splits: "variance", its weighted standard deviation, or
        1 if it is constant; positive numbers; None, none, so that outputs with large values decide. Predictions are in
        the units of y; impurities, importances, `min_impurity_decrease` and `ccp_alpha` are scaled. Only for
        "squared_error".
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits, after `output_scaling`: numbers that are not negative, one of
        them positive; only their ratios matter. An output with weight zero is predicted like the others. Only for
        `criterion="squared_error"`.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255, of about equal weights and the same for all trees.
        Features with no more distinct values, and categories, are split exactly; None: all are. Not supported with
        random thresholds.
    output_strategy : {"joint", "single_target"}, default="joint"
        Which outputs a tree has: "joint", all of them; "single_target", one of several labels or numbers, on the
        samples for which it is known. The second suits outputs that have nothing in common, most of all if most values
        are unknown: it has `n_estimators` trees for each of d outputs, of which tree t of output j is `estimators_[t *
        d + j]`. See `docs/missing-labels.md#one-forest-or-one-for-each-label`.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The out-of-bag predictions of the training samples: NaN for samples that all trees have drawn. It exists only
        with `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.
    """

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForestRegressor._parameter_constraints,
        **BINS_CONSTRAINTS,
    }

    max_bins: int | None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressorCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        max_bins: int | None = None,
        output_strategy: OutputStrategy = "joint",
    ) -> None:
        keep(self, locals())


class ExtraTreesClassifier(BaseForestClassifier):
    """An extra-trees classifier for classes and labels: a forest of extremely randomized trees.

    Use it as a `RandomForestClassifier`, and compare both: each node draws features at random, and one random threshold
    for each of them, where random forests search the best one. The parameters and attributes are those of
    `RandomForestClassifier`, with `bootstrap=False` as default and without `max_bins`.

    >>> import weald
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> weald.ExtraTreesClassifier(random_state=0).fit(X, Y).predict_proba([[0.0]])
    array([[1., 0.]])
    """

    _member_class = ExtraTreeClassifier
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassifierCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
        multi_label: MultiLabel = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        label_weight: LabelWeight = None,
        output_strategy: OutputStrategy = "joint",
    ) -> None:
        keep(self, locals())


class ExtraTreesRegressor(BaseForestRegressor):
    """An extra-trees regressor for one or several numerical outputs: a first choice for numbers without tuning.

    Each node draws one random threshold for each feature that it considers, by default for all features, so that
    predictions are smoother than those of `RandomForestRegressor`. The parameters and attributes are those of
    `RandomForestRegressor`, with `bootstrap=False` as default and without `max_bins`.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> weald.ExtraTreesRegressor(random_state=0).fit(X, y).predict([[2.0]])
    array([2.])
    """

    _member_class = ExtraTreeRegressor
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressorCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        output_strategy: OutputStrategy = "joint",
    ) -> None:
        keep(self, locals())


# `sklearn.inspection.partial_dependence` uses the method "recursion" for instances of this class, and then calls
# `_compute_partial_dependence_recursion`. It is the only place of scikit-learn that checks for the class, which is an
# abstract base class, so ours can be registered: nothing is inherited. The recursion is valid for every forest that
# averages regression trees.
sklearn.ensemble.RandomForestRegressor.register(BaseForestRegressor)
