"""Single decision trees and extremely randomized trees, for classes, labels and numerical outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sklearn.tree
from numpy.typing import ArrayLike

from weald._fit.base import keep
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.tree import BaseTree
from weald._input.sklearn_private import StrOptions
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling as _output_scaling
from weald._parameters.projections import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA
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
    """A decision tree classifier for classes and labels.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits decrease, averaged over the outputs:

        - "gini": the Gini index;
        - "entropy" and "log_loss": the entropy in bits;
        - "squared_error": only with `output_projection`, where it means the same as "gini". The entropy is not supported
          there.
    splitter : {"best", "random"}, default="best"
        How the threshold of a split is chosen. "best": the best threshold of each feature that the node draws. "random":
        one threshold for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=None
        Number of features that each node draws at random, as in scikit-learn: a number, a fraction of the features, their
        square root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features
        that are constant in the node do not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted:

        - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
        - False: each column is an output of classes.
        - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
          or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
          values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, which is applied to each tree after it is grown: see
        `DecisionTreeClassifier.cost_complexity_pruning_path`. 0: no pruning.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs instead of the outputs themselves. Leaves still
        hold predictions of all outputs. Accepted are the names "gaussian", "rademacher", "achlioptas", "sparse",
        "subsample", "hadamard" and "pca", and what `weald.projection` describes. None: no projection.
        Projections are not supported for a single output of classes.
    n_projections : int, float or "log", default="log"
        Number q of combinations of the outputs: a number, a fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for
        d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits. The impurity is then the weighted mean over the labels, so that
        frequent labels do not decide alone:

        - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight. All labels then count
          the same in the root;
        - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
        - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter;
        - None: all labels have the same weight.

        Leaves and predictions are unweighted frequencies. To rank rare labels higher, multiply the predicted scores, see
        `docs/tagging.md`. Only for labels and with `criterion="gini"`: the trees are grown with the criterion
        "squared_error", and their impurities are variances of the labels times the square roots of their weights. Not
        supported with `monotonic_cst`. The search for splits takes several times as long as without weights. If some values
        of y are unknown, p is the fraction of the samples of which the label is known, and propensities count these.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it. The upper nodes of the tree are grown by one thread, and the subtrees below them in parallel;
        with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`, one thread grows the whole tree. Predictions of several
        samples are computed in parallel.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255. Thresholds are then between bins, which have about equal
        weights, are made of all training samples, and are the same for all trees; equal values are in the same bin.
        Features with at most this number of distinct values are split exactly, as are categorical features. Bins need
        not save time. None: all features are split exactly. Not supported with random thresholds: `splitter="random"` and
        extra-trees forests.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    max_features_ : int
        The number of features that each node draws.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for `sklearn.tree.export_text`, `plot_tree` and
        similar functions.

    Notes
    -----
    X is compared in float32: values that are equal in float32 are equal for the tree. The tree does not depend on the
    layout of X. It depends on the order of the samples only in the choice between splits that are equally good.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = weald.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> float(tree.score(X, y))
    0.96

    For labels, y is a dense or sparse matrix of 0 and 1:

    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> weald.DecisionTreeClassifier(random_state=0).fit(X, Y).predict(X).toarray()
    array([[1, 0, 0],
           [1, 0, 1],
           [0, 1, 1],
           [0, 1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_label_weight.CONSTRAINTS,
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
            It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For one output of classes. Columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output, as in scikit-learn.
        """
        return super().predict_proba(X)


class DecisionTreeRegressor(BaseTree, BaseRegressor):
    """A decision tree regressor for one or several numerical outputs.

    Parameters
    ----------
    criterion : {"squared_error", "poisson", "absolute_error"}, default="squared_error"
        Impurity that splits decrease, averaged over the outputs:

        - "squared_error": the variance. Leaves predict means.
        - "poisson": half the mean Poisson deviance, for y that is not negative and has a positive sum. Leaves predict
          means. A split never leaves a side on which the sum of an output is zero, unless its sum is zero in the whole
          node.
        - "absolute_error": the mean absolute deviation from the weighted median, which leaves predict. If half of the
          weight lies on either side, the median is the mean of the two middle values.

        "absolute_error" takes several times log(n_samples) as much time as "squared_error", and about 44 bytes of memory
        for each value of y and each tree that is being grown. It considers sets of categories in the order of their means,
        which may miss the best set. It does not support unknown values of y, `output_projection`, `monotonic_cst`, or
        pruning other than by `ccp_alpha`.
    splitter : {"best", "random"}, default="best"
        How the threshold of a split is chosen. "best": the best threshold of each feature that the node draws. "random":
        one threshold for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=None
        Number of features that each node draws at random, as in scikit-learn: a number, a fraction of the features, their
        square root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features
        that are constant in the node do not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, which is applied to each tree after it is grown: see
        `DecisionTreeClassifier.cost_complexity_pruning_path`. 0: no pruning.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs instead of the outputs themselves. Leaves still
        hold predictions of all outputs. Accepted are the names "gaussian", "rademacher", "achlioptas", "sparse",
        "subsample", "hadamard" and "pca", and what `weald.projection` describes. None: no projection.
    n_projections : int, float or "log", default="log"
        Number q of combinations of the outputs: a number, a fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for
        d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which each output is divided in the search for splits:

        - "variance": the standard deviation of the output over the training samples, weighted by `sample_weight` and
          computed from the known values; 1 for a constant output;
        - an array: the scales, finite and positive;
        - None: no scaling. The impurity is then in the squared units of the outputs, so that outputs with large values
          dominate the choice of splits.

        Leaves and predictions are in the units of y. Impurities, importances, `min_impurity_decrease` and `ccp_alpha` refer
        to the scaled outputs. Outputs are scaled before they are projected. Not supported with `criterion="poisson"` and
        "absolute_error". Scaling by "variance" takes two passes over y.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits: the impurity is the weighted mean of the variances of the outputs,
        after `output_scaling`. The weights must be finite, none of them negative, and at least one positive; only their
        ratios matter. An output with weight zero does not influence the splits, and is predicted like the others. Not
        supported with `criterion="poisson"` and "absolute_error".
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it. The upper nodes of the tree are grown by one thread, and the subtrees below them in parallel;
        with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`, one thread grows the whole tree. Predictions of several
        samples are computed in parallel.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255. Thresholds are then between bins, which have about equal
        weights, are made of all training samples, and are the same for all trees; equal values are in the same bin.
        Features with at most this number of distinct values are split exactly, as are categorical features. Bins need
        not save time. None: all features are split exactly. Not supported with random thresholds: `splitter="random"` and
        extra-trees forests.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    max_features_ : int
        The number of features that each node draws.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for `sklearn.tree.export_text`, `plot_tree` and
        similar functions.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.arange(6).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] < 3, X[:, 0] ** 2])
    >>> weald.DecisionTreeRegressor(max_depth=1).fit(X, Y).predict([[0], [5]])
    array([[ 0.75,  3.5 ],
           [ 0.  , 20.5 ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_output_scaling.CONSTRAINTS,
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
    """An extremely randomized tree classifier for classes and labels.

    It is a `DecisionTreeClassifier` with other defaults: each node draws features at random, and one random threshold
    for each of them. It is meant for ensembles: see `ExtraTreesClassifier`.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits decrease, averaged over the outputs:

        - "gini": the Gini index;
        - "entropy" and "log_loss": the entropy in bits;
        - "squared_error": only with `output_projection`, where it means the same as "gini". The entropy is not supported
          there.
    splitter : {"best", "random"}, default="random"
        How the threshold of a split is chosen. "best": the best threshold of each feature that the node draws. "random":
        one threshold for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default="sqrt"
        Number of features that each node draws at random, as in scikit-learn: a number, a fraction of the features, their
        square root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features
        that are constant in the node do not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted:

        - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
        - False: each column is an output of classes.
        - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
          or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
          values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, which is applied to each tree after it is grown: see
        `DecisionTreeClassifier.cost_complexity_pruning_path`. 0: no pruning.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs instead of the outputs themselves. Leaves still
        hold predictions of all outputs. Accepted are the names "gaussian", "rademacher", "achlioptas", "sparse",
        "subsample", "hadamard" and "pca", and what `weald.projection` describes. None: no projection.
        Projections are not supported for a single output of classes.
    n_projections : int, float or "log", default="log"
        Number q of combinations of the outputs: a number, a fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for
        d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits. The impurity is then the weighted mean over the labels, so that
        frequent labels do not decide alone:

        - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight. All labels then count
          the same in the root;
        - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
        - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter;
        - None: all labels have the same weight.

        Leaves and predictions are unweighted frequencies. To rank rare labels higher, multiply the predicted scores, see
        `docs/tagging.md`. Only for labels and with `criterion="gini"`: the trees are grown with the criterion
        "squared_error", and their impurities are variances of the labels times the square roots of their weights. Not
        supported with `monotonic_cst`. The search for splits takes several times as long as without weights. If some values
        of y are unknown, p is the fraction of the samples of which the label is known, and propensities count these.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it. The upper nodes of the tree are grown by one thread, and the subtrees below them in parallel;
        with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`, one thread grows the whole tree. Predictions of several
        samples are computed in parallel.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255. Thresholds are then between bins, which have about equal
        weights, are made of all training samples, and are the same for all trees; equal values are in the same bin.
        Features with at most this number of distinct values are split exactly, as are categorical features. Bins need
        not save time. None: all features are split exactly. Not supported with random thresholds: `splitter="random"` and
        extra-trees forests.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    max_features_ : int
        The number of features that each node draws.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for `sklearn.tree.export_text`, `plot_tree` and
        similar functions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> float(weald.ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y))
    1.0
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
    """An extremely randomized tree regressor for one or several numerical outputs.

    It is a `DecisionTreeRegressor` with other defaults: each node draws features at random, and one random threshold
    for each of them. It is meant for ensembles: see `ExtraTreesRegressor`.

    Parameters
    ----------
    criterion : {"squared_error", "poisson", "absolute_error"}, default="squared_error"
        Impurity that splits decrease, averaged over the outputs:

        - "squared_error": the variance. Leaves predict means.
        - "poisson": half the mean Poisson deviance, for y that is not negative and has a positive sum. Leaves predict
          means. A split never leaves a side on which the sum of an output is zero, unless its sum is zero in the whole
          node.
        - "absolute_error": the mean absolute deviation from the weighted median, which leaves predict. If half of the
          weight lies on either side, the median is the mean of the two middle values.

        "absolute_error" takes several times log(n_samples) as much time as "squared_error", and about 44 bytes of memory
        for each value of y and each tree that is being grown. It considers sets of categories in the order of their means,
        which may miss the best set. It does not support unknown values of y, `output_projection`, `monotonic_cst`, or
        pruning other than by `ccp_alpha`.
    splitter : {"best", "random"}, default="random"
        How the threshold of a split is chosen. "best": the best threshold of each feature that the node draws. "random":
        one threshold for each of these features, drawn uniformly between the smallest and the largest value in the node.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default=1.0
        Number of features that each node draws at random, as in scikit-learn: a number, a fraction of the features, their
        square root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features
        that are constant in the node do not count.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, which is applied to each tree after it is grown: see
        `DecisionTreeClassifier.cost_complexity_pruning_path`. 0: no pruning.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        Search splits by the variance of a few combinations of the outputs instead of the outputs themselves. Leaves still
        hold predictions of all outputs. Accepted are the names "gaussian", "rademacher", "achlioptas", "sparse",
        "subsample", "hadamard" and "pca", and what `weald.projection` describes. None: no projection.
    n_projections : int, float or "log", default="log"
        Number q of combinations of the outputs: a number, a fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for
        d outputs.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which each output is divided in the search for splits:

        - "variance": the standard deviation of the output over the training samples, weighted by `sample_weight` and
          computed from the known values; 1 for a constant output;
        - an array: the scales, finite and positive;
        - None: no scaling. The impurity is then in the squared units of the outputs, so that outputs with large values
          dominate the choice of splits.

        Leaves and predictions are in the units of y. Impurities, importances, `min_impurity_decrease` and `ccp_alpha` refer
        to the scaled outputs. Outputs are scaled before they are projected. Not supported with `criterion="poisson"` and
        "absolute_error". Scaling by "variance" takes two passes over y.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits: the impurity is the weighted mean of the variances of the outputs,
        after `output_scaling`. The weights must be finite, none of them negative, and at least one positive; only their
        ratios matter. An output with weight zero does not influence the splits, and is predicted like the others. Not
        supported with `criterion="poisson"` and "absolute_error".
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it. The upper nodes of the tree are grown by one thread, and the subtrees below them in parallel;
        with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`, one thread grows the whole tree. Predictions of several
        samples are computed in parallel.
    max_bins : int or None, default=None
        Maximum number of bins for each feature, from 2 to 255. Thresholds are then between bins, which have about equal
        weights, are made of all training samples, and are the same for all trees; equal values are in the same bin.
        Features with at most this number of distinct values are split exactly, as are categorical features. Bins need
        not save time. None: all features are split exactly. Not supported with random thresholds: `splitter="random"` and
        extra-trees forests.

    Attributes
    ----------
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    max_features_ : int
        The number of features that each node draws.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    tree_ : Tree
        The fitted tree as arrays with the names that scikit-learn uses, for `sklearn.tree.export_text`, `plot_tree` and
        similar functions.

    Examples
    --------
    >>> import weald
    >>> tree = weald.ExtraTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> tree.predict([[2.0]])
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
