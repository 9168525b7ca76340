"""Texts on constructors' parameters and on fitted attributes: those of trees and forests, and those that all share.

`{default}` in a text stands for the default of the constructor that it describes. `attributes` lists names of texts.
"""

from __future__ import annotations

from docstrings.texts import texts

# What several families of estimators share.
SHARED = texts("""
min_samples_split : int or float, default={default}
    Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.

min_samples_leaf : int or float, default={default}
    Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.

min_weight_fraction_leaf : float, default={default}
    Minimum fraction of the total sample weight on either side of a split.

min_impurity_decrease : float, default={default}
    Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.

random_state : int, RandomState instance or None, default={default}
    Controls all randomness of the estimator. Each call of `fit` draws one seed from it.

n_jobs : int or None, default={default}
    Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.

verbose : int, default={default}
    Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

multi_label : {"auto", True, False}, default={default}
    What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or has
    0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.

categorical_features : "from_dtype", array-like or None, default={default}
    Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text columns
    of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of at most 65,535
    categories to the left: see `docs/categories.md`.

monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default={default}
    For each feature, or by name, 1 or -1 if predictions never decrease or increase as the feature increases, and 0 without
    constraint, for all outputs or for each. Of two classes, it is on the probability of the second. Not for more classes,
    categories, projections or unknown values of y.

interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default={default}
    Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in none
    are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.

categories_ : list of length n_features
    The categories of each categorical feature, in the order of their codes, and None for other features. It exists only
    if there are such features, of which `is_categorical_` is the mask.

# classes_
classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
    The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.

max_features_ : int
    The number of features that each node draws.

# names_in_
n_outputs_, n_features_in_ : int
    The numbers of outputs and of features.
feature_names_in_, target_names_in_ : ndarray of str
    The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.

""")

# With words for `where` and `more`.
LABEL_WEIGHT = """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
    Weight of each label in the {where}: "balanced", 1 / (p (1 - p)) for a label with a fraction p of the known weight;
    "propensity", the inverse of `weald.metrics.propensities`; numbers that are not negative, of which only ratios matter;
    None, all the same. {more} See `docs/tagging.md#weights-for-rare-tags`.
"""

# Single trees, and what forests have like them.
TREES = SHARED | texts("""
splitter : {"best", "random"}, default={default}
    How the threshold of a split is chosen: "best", the best one of each feature that the node draws; "random", one
    for each of these features, drawn uniformly between the smallest and the largest value in the node.

max_depth : int or None, default={default}
    Maximum depth of a tree. None: nodes are split until they are pure or another parameter forbids the split.

max_features : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each node draws at random: a number, a fraction, their square root, their binary logarithm,
    or "half" of them, rounded up and at least four. None: all. Features that are constant in the node do not count.

max_leaf_nodes : int or None, default={default}
    Maximum number of leaves; with a maximum, the tree is grown best-first. None: no limit.

ccp_alpha : float, default={default}
    Complexity parameter of minimal cost-complexity pruning of each tree: see `cost_complexity_pruning_path`. 0: none.

class_weight : dict, list of dict, "balanced" or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" raises a ValueError for more than 10 labels: see `label_weight`.

n_projections : int, float or "log", default={default}
    Number q of combinations: a number, a fraction of the outputs, or for "log" ⌊½ + ln d⌋ of d outputs.

output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default={default}
    Search splits by the variance of a few combinations of the outputs; leaves still predict all outputs. Accepted are
    "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what `weald.projection`
    describes. None: no projection. See `docs/projections.md`.

n_jobs : int or None, default={default}
    Number of threads, for subtrees and predictions: None is 1, or that of a joblib context, -1 all processors. Results do
    not depend on it. One thread grows a tree with `max_leaf_nodes`, `monotonic_cst` or `interaction_cst`.

max_bins : int or None, default={default}
    Maximum number of bins for each feature, from 2 to 255, of about equal weights and the same for all trees. Features with
    no more distinct values, and categories, are split exactly; None: all are. Not supported with random thresholds.

tree_ : Tree
    The fitted tree as arrays with the names that scikit-learn uses, for its `export_text`, `plot_tree` and the like.
""")

# In which classifiers differ.
CLASSIFIERS = (
    texts("""
criterion : {"gini", "entropy", "log_loss", "squared_error"}, default={default}
    Impurity that splits decrease, averaged over the outputs: the Gini index, or the entropy in bits ("entropy",
    "log_loss"), which projections do not support; with them "squared_error" means "gini".
""")
    | {"output_projection": TREES["output_projection"].replace("no projection.", "none, as for one output of classes.")}
    | texts(
        LABEL_WEIGHT,
        where="search for splits",
        more='Predictions are unweighted. Only for labels and "gini", not with `monotonic_cst`.',
    )
)

# In which regressors differ.
REGRESSORS = texts("""
criterion : {"squared_error", "poisson", "absolute_error"}, default={default}
    Impurity that splits decrease, averaged over the outputs: the variance; half the mean Poisson deviance, for y ≥ 0 with
    a positive sum; or the mean absolute deviation from the weighted median, which leaves then predict. The last takes
    several times log(n_samples) as much time, and about 44 bytes for each value of y and tree that grows; it may miss
    the best set of categories. See `docs/scikit-learn.md#trees-and-forests`.

output_scaling : "variance", array-like of shape (n_outputs,) or None, default={default}
    Scale by which each output is divided in the search for splits: "variance", its weighted standard deviation, or 1 if
    it is constant; positive numbers; None, none, so that outputs with large values decide. Predictions are in the
    units of y; impurities, importances, `min_impurity_decrease` and `ccp_alpha` are scaled. Only for "squared_error".

output_weights : array-like of shape (n_outputs,) or None, default={default}
    Weight of each output in the search for splits, after `output_scaling`: numbers that are not negative, one of them
    positive; only their ratios matter. An output with weight zero is predicted like the others. Only for
    `criterion="squared_error"`.
""")

# In which forests differ from single trees.
FORESTS = texts("""
n_estimators : int, default={default}
    Number of trees; with `output_strategy="single_target"`, of each output.

bootstrap : bool, default={default}
    If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples. Samples with weight
    zero are never drawn. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two samples. Otherwise
    all samples are drawn with the same probability and keep their weights.

n_jobs : int or None, default={default}
    Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.

warm_start : bool, default={default}
    If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On the
    same data, the result is the forest that a single fit would have grown.

max_samples : int, float or None, default={default}
    Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples, either
    of which may exceed them. None: as many as there are.

projection_scope : {"tree", "forest"}, default={default}
    Whether each tree has its own output projection ("tree") or all trees share one ("forest").

keep_rows : bool, default={default}
    If True, keep for each training sample its leaf in each tree (four bytes) and its weight, and for regressors its
    targets, in model files too. `weald.inspection.similar_rows`, `predict_quantiles` and `sample_y` need them.

output_strategy : {"joint", "single_target"}, default={default}
    Which outputs a tree has: "joint", all of them; "single_target", one of several labels or numbers, on the samples for
    which it is known. The second suits outputs that have nothing in common, most of all if most values are unknown: it has
    `n_estimators` trees for each of d outputs, of which tree t of output j is `estimators_[t * d + j]`. See
    `docs/missing-labels.md#one-forest-or-one-for-each-label`.

oob_score_ : float
    The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
""")

FOREST_CLASSIFIERS = texts("""
max_features : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each node draws at random: a number, a fraction, their square root, their binary logarithm,
    or "half" of them, rounded up and at least four. None: all. Constant features do not count. For sparse text with
    thousands of words 0.05 ranked labels better than "sqrt", in up to 3.3 times the time (`benches/defaults`).

oob_score : bool or callable, default={default}
    Whether to score for each sample the predictions of the trees that were grown without it. True: the accuracy for
    classes and up to ten labels, all of which must be right, and label ranking average precision for more labels. A
    callable gets (y_true, y_pred), which are sparse if y was.

class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" and "balanced_subsample" raise a ValueError for more than 10 labels: see `label_weight`.

oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
    The out-of-bag scores of the training samples: NaN, or if y is sparse no entry, for samples that all trees have drawn.
    It exists only with `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.

# attributes
categories_ classes_ names_in_ oob_score_ oob_decision_function_
""")

FOREST_REGRESSORS = texts("""
oob_score : bool or callable, default={default}
    Whether to score for each sample the predictions of the trees that were grown without it: True by R², a callable
    by its value for (y_true, y_pred).

oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    The out-of-bag predictions of the training samples: NaN for samples that all trees have drawn. It exists only with
    `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.

# attributes
categories_ names_in_ oob_score_ oob_prediction_
""")

TREE_CLASSIFIERS = {"attributes": "categories_ classes_ max_features_ names_in_ tree_"}
TREE_REGRESSORS = {"attributes": "categories_ max_features_ names_in_ tree_"}
