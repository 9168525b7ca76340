"""Texts on constructors' parameters and on fitted attributes: those of trees and forests, and those that all share.

`{default}` in a text stands for the default of the constructor that it describes, see `weald._docs.compose`.
"""

from __future__ import annotations

# What several families of estimators share.
SHARED = {
    "min_samples_split": """
min_samples_split : int or float, default={default}
    Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
    up.
""",
    "min_samples_leaf": """
min_samples_leaf : int or float, default={default}
    Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
""",
    "min_weight_fraction_leaf": """
min_weight_fraction_leaf : float, default={default}
    Minimum fraction of the total sample weight on either side of a split.
""",
    "min_impurity_decrease": """
min_impurity_decrease : float, default={default}
    Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
""",
    "random_state": """
random_state : int, RandomState instance or None, default={default}
    Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
""",
    "n_jobs": """
n_jobs : int or None, default={default}
    Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
    do not depend on it.
""",
    "verbose": """
verbose : int, default={default}
    How the progress of `fit` is reported:

    - 0: not at all.
    - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
      Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
      or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
      seconds or a tenth of the time so far without a line.
    - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
      most twenty in a second.

    A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
    `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
    such as that of a broken pipe, ends the report and not the fit.
""",
    "multi_label": """
multi_label : {"auto", True, False}, default={default}
    How y with several columns is interpreted:

    - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
    - False: each column is an output of classes.
    - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
      or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
      values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
""",
    "categorical_features": """
categorical_features : "from_dtype", array-like or None, default={default}
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
""",
    "monotonic_cst": """
monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default={default}
    Monotonic constraint of each feature, for all outputs or for each output:

    - 1: the prediction never decreases as the feature increases;
    - -1: the prediction never increases as the feature increases;
    - 0: no constraint.

    A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
    probability of the second class. Constraints are not supported with more than two classes, on categorical features,
    with output projections, or with unknown values of y.
""",
    "interaction_cst": """
interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default={default}
    Which features may interact, that is, appear on the same path from the root to a leaf:

    - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
      the same group. A feature may be in several groups. Features that are in no group form one more group;
    - "pairwise": all pairs of features; "no_interactions": each feature alone;
    - None: all features may interact.

    If a node draws features at random, it draws from those that are allowed there.
""",
    "categories_": """
categories_ : list of length n_features
    The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
    samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
    `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
    dtype; all others are unknown.
""",
    "classes_": """
classes_ : ndarray or list of ndarray
    The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
    their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
""",
    "n_classes_": """
n_classes_ : int or list of int
    The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
""",
    "sizes": """
n_outputs_ : int
    The number of outputs.
n_features_in_ : int
    The number of features of X.
""",
    "max_features_": """
max_features_ : int
    The number of features that each node draws.
""",
    "feature_names_in_": """
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
    later, this requires scikit-learn 1.9 or later.
""",
    "target_names_in_": """
target_names_in_ : ndarray of shape (`n_outputs_`,)
    The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
    name, or if `label_names` was passed to `fit` of a classifier.
""",
    "names_in_": """
{feature_names_in_}
{target_names_in_}
""",
    "feature_importances_": """
feature_importances_ : ndarray of shape (`n_features_in_`,)
    The importance of each feature: its fraction of the total decrease of impurity.
""",
}

# Single trees, and what forests have like them.
TREES = SHARED | {
    "splitter": """
splitter : {"best", "random"}, default={default}
    How the threshold of a split is chosen. "best": the best threshold of each feature that the node draws. "random":
    one threshold for each of these features, drawn uniformly between the smallest and the largest value in the node.
""",
    "max_depth": """
max_depth : int or None, default={default}
    Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.
""",
    "max_features": """
max_features : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each node draws at random, as in scikit-learn: a number, a fraction of the features, their
    square root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features
    that are constant in the node do not count.
""",
    "max_leaf_nodes": """
max_leaf_nodes : int or None, default={default}
    Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.
""",
    "ccp_alpha": """
ccp_alpha : float, default={default}
    Complexity parameter of minimal cost-complexity pruning, which is applied to each tree after it is grown: see
    `DecisionTreeClassifier.cost_complexity_pruning_path`. 0: no pruning.
""",
    "class_weight": """
class_weight : dict, list of dict, "balanced" or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" raises a ValueError for more than 10 labels: see `label_weight`.
""",
    "n_projections": """
n_projections : int, float or "log", default={default}
    Number q of combinations of the outputs: a number, a fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for
    d outputs.
""",
    "output_projection": """
output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default={default}
    Search splits by the variance of a few combinations of the outputs instead of the outputs themselves. Leaves still
    hold predictions of all outputs. Accepted are the names "gaussian", "rademacher", "achlioptas", "sparse",
    "subsample", "hadamard" and "pca", and what `weald.projection` describes. None: no projection.
""",
    "n_jobs": """
n_jobs : int or None, default={default}
    Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
    do not depend on it. The upper nodes of the tree are grown by one thread, and the subtrees below them in parallel;
    with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`, one thread grows the whole tree. Predictions of several
    samples are computed in parallel.
""",
    "max_bins": """
max_bins : int or None, default={default}
    Maximum number of bins for each feature, from 2 to 255. Thresholds are then between bins, which have about equal
    weights, are made of all training samples, and are the same for all trees; equal values are in the same bin.
    Features with at most this number of distinct values are split exactly, as are categorical features. Bins need
    not save time. None: all features are split exactly. Not supported with random thresholds: `splitter="random"` and
    extra-trees forests.
""",
    "tree_": """
tree_ : Tree
    The fitted tree as arrays with the names that scikit-learn uses, for `sklearn.tree.export_text`, `plot_tree` and
    similar functions.
""",
}

# In which classifiers differ.
CLASSIFIERS = {
    "criterion": """
criterion : {"gini", "entropy", "log_loss", "squared_error"}, default={default}
    Impurity that splits decrease, averaged over the outputs:

    - "gini": the Gini index;
    - "entropy" and "log_loss": the entropy in bits;
    - "squared_error": only with `output_projection`, where it means the same as "gini". The entropy is not supported
      there.
""",
    "output_projection": TREES["output_projection"]
    + """\
    Projections are not supported for a single output of classes.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
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
""",
}

# In which regressors differ.
REGRESSORS = {
    "criterion": """
criterion : {"squared_error", "poisson", "absolute_error"}, default={default}
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
""",
    "output_scaling": """
output_scaling : "variance", array-like of shape (n_outputs,) or None, default={default}
    Scale by which each output is divided in the search for splits:

    - "variance": the standard deviation of the output over the training samples, weighted by `sample_weight` and
      computed from the known values; 1 for a constant output;
    - an array: the scales, finite and positive;
    - None: no scaling. The impurity is then in the squared units of the outputs, so that outputs with large values
      dominate the choice of splits.

    Leaves and predictions are in the units of y. Impurities, importances, `min_impurity_decrease` and `ccp_alpha` refer
    to the scaled outputs. Outputs are scaled before they are projected. Not supported with `criterion="poisson"` and
    "absolute_error". Scaling by "variance" takes two passes over y.
""",
    "output_weights": """
output_weights : array-like of shape (n_outputs,) or None, default={default}
    Weight of each output in the search for splits: the impurity is the weighted mean of the variances of the outputs,
    after `output_scaling`. The weights must be finite, none of them negative, and at least one positive; only their
    ratios matter. An output with weight zero does not influence the splits, and is predicted like the others. Not
    supported with `criterion="poisson"` and "absolute_error".
""",
}

# In which forests differ from single trees.
FORESTS = {
    "n_estimators": """
n_estimators : int, default={default}
    Number of trees; with `output_strategy="single_target"`, of each output.
""",
    "bootstrap": """
bootstrap : bool, default={default}
    If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples. Samples with weight
    zero are never drawn. If all weights are whole numbers with a mean of at most 64, they are counts: a sample with
    weight 2 is drawn as two samples. Otherwise all samples are drawn with the same probability and keep their weights.
""",
    "n_jobs": SHARED["n_jobs"],
    "warm_start": """
warm_start : bool, default={default}
    If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On the
    same data, the result is the forest that a single fit would have grown.
""",
    "max_samples": """
max_samples : int, float or None, default={default}
    Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples. None:
    as many as there are training samples. Both may ask for more draws than that, as in scikit-learn 1.9, and the time of
    a fit grows with the number of draws.
""",
    "projection_scope": """
projection_scope : {"tree", "forest"}, default={default}
    Whether each tree has its own output projection ("tree") or all trees share one ("forest").
""",
    "keep_rows": """
keep_rows : bool, default={default}
    If True, keep for each training sample its leaf in each tree and its weight, and for regressors its targets. The
    leaves take four bytes for each sample and tree. `weald.inspection.similar_rows` and the methods
    `predict_quantiles` and `sample_y` of regressors need them. Model files contain them.
""",
    "output_strategy": """
output_strategy : {"joint", "single_target"}, default={default}
    Which outputs the trees have:

    - "joint": each tree has all outputs, and its splits are chosen for all of them together. It is faster and smaller,
      and better for outputs that have something in common;
    - "single_target": each of several labels or numerical outputs has `n_estimators` trees of its own, which are grown on
      the samples for which it is known (see `y_mask` of `fit`). It is for outputs that have nothing in common, above all
      if most of their values are unknown.

    With "single_target", tree t of output j is tree t of the forest that is fitted to column j alone, without the
    samples for which it is unknown, with the same integer `random_state` and the same `categories_`: predictions are
    the same, bit for bit (for labels, those of a column with `multi_label=True`). Of d outputs, it is tree t · d + j of
    `estimators_`, a tree of one output. Outputs that are known for the same samples share the sorted columns or bins of
    X; for others, X of their samples is copied, for one group of outputs on each thread at a time. The out-of-bag
    prediction of an unknown value is that of all trees, and `oob_score_` is that of the samples of which each output
    has a prediction. Importances are averaged over the trees of all outputs. `max_samples` and
    `min_weight_fraction_leaf` refer to the samples of an output; `min_samples_split` and `min_samples_leaf` must be
    integers if values of y are unknown. Unknown values are supported with every criterion, `ccp_alpha` and
    `monotonic_cst`.

    "single_target" has no effect for one output. It raises a ValueError for several outputs of classes, and with
    `output_projection`, `keep_rows`, `class_weight`, `label_weight`, `output_scaling` or `output_weights`. Compression
    and `weald.export.to_sklearn` do not support it, nor do the arguments `top_k` and `training_data` of
    `compact_leaves` and `conformity_score="normalized"` of `ConformalRegressor`.
""",
    "oob_score_": """
oob_score_ : float
    The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
""",
}

FOREST_CLASSIFIERS = {
    "oob_score": """
oob_score : bool or callable, default={default}
    If not False, score the forest on its out-of-bag samples, that is, score for each sample the predictions of the
    trees that were grown without it. A callable is called with (y_true, y_pred), which are sparse if y was. True stands
    for:

    - the accuracy for classes and for at most ten labels, where all labels of a sample must be right;
    - label ranking average precision (`sklearn.metrics.label_ranking_average_precision_score`) for more labels.
""",
    "class_weight": """
class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" and "balanced_subsample" raise a ValueError for more than 10 labels: see `label_weight`.
""",
    "oob_decision_function_": """
oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
    The out-of-bag scores of the training samples. Samples that all trees have drawn have NaN. If y is sparse, this is a
    CSR matrix of the nonzero scores, in which such samples have no entries. A sample of weight 2 is scored by the trees
    that have drawn it zero times; of two equal samples, each is also scored by trees that have drawn the other. It
    exists only with `oob_score`.
""",
    "attributes": """
{categories_}
{estimators_}
{classes_}
{n_classes_}
{sizes}
{names_in_}
{feature_importances_}
{oob_score_}
{oob_decision_function_}
""",
}

FOREST_REGRESSORS = {
    "oob_score": """
oob_score : bool or callable, default={default}
    If not False, score the forest on its out-of-bag samples, that is, score for each sample the predictions of the
    trees that were grown without it. True stands for R². A callable is called with (y_true, y_pred).
""",
    "oob_prediction_": """
oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    The out-of-bag predictions of the training samples. Samples that all trees have drawn have NaN. A sample of weight 2
    is predicted by the trees that have drawn it zero times; of two equal samples, each is also predicted by trees that
    have drawn the other. It exists only with `oob_score`.
""",
    "attributes": """
{categories_}
{estimators_}
{sizes}
{names_in_}
{feature_importances_}
{oob_score_}
{oob_prediction_}
""",
}

TREE_CLASSIFIERS = {
    "attributes": """
{categories_}
{classes_}
{n_classes_}
{sizes}
{max_features_}
{names_in_}
{feature_importances_}
{tree_}
""",
}

TREE_REGRESSORS = {
    "attributes": """
{categories_}
{sizes}
{max_features_}
{names_in_}
{feature_importances_}
{tree_}
""",
}


def members(name: str) -> dict[str, str]:
    """The text on `estimators_` of forests whose trees are of the class `name`."""
    return {
        "estimators_": f"""
estimators_ : sequence of {name}
    The trees. They are created when they are accessed, and share the memory of the forest.
"""
    }


def share_of_words(sets: str, times: str) -> dict[str, str]:
    """The text on `max_features` of forests that were measured on labels of text."""
    return {
        "max_features": TREES["max_features"]
        + f"""
    For labels of sparse text with thousands of words, a fraction of 0.05 ranked labels better than "sqrt" on {sets}
    data sets (`benches/defaults`), and took {times} times as long.
"""
    }
