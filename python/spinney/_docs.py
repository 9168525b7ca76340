"""Texts on parameters and attributes that classes and methods share, each written once."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Described = TypeVar("_Described", bound=Callable[..., Any])


def documented(described: _Described) -> _Described:
    """The method or class with its docstring composed: a line `{name}` of it stands for the text of that name."""
    return composed(described, TEXTS)


def composed(described: _Described, texts: Mapping[str, str]) -> _Described:
    """The same with other texts."""
    if described.__doc__ is not None:  # Python may run without docstrings

        def indented(found: re.Match[str]) -> str:
            return textwrap.indent(texts[found[2]].strip("\n"), found[1])

        described.__doc__ = re.sub(r"^( *){(\w+)}$", indented, described.__doc__, flags=re.MULTILINE)
    return described


TEXTS = {
    "y": """
y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
    Numbers for a regressor; of a sparse matrix of numbers those that are not stored are zero. For a classifier classes,
    or labels: several columns of 0 and 1, or any sparse matrix of them, which is never made dense. NaN among several
    columns of floats is a cell that is not known, see `y_mask`; in frames of sparse columns too, whether it is stored
    or not. Sparse numbers are made dense by boosting and compression, and by trees and forests with fewer than 16
    outputs, where more than one number in eight is not zero, and with a criterion other than squared_error; otherwise
    splits and leaves cost the numbers that are stored.
""",
    "y_mask": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are not known, beside those that are NaN: True or 1 there. What y holds there is not looked at. The
    impurity of a node is that of the known cells; a leaf has the mean of its known cells of each output, without any
    that of the nearest node above that has some. A row without a known cell is a row of weight zero, and an output
    without one is refused. Projections and out-of-bag scores, see there, go by the known cells as well. Not with
    `criterion="poisson"` and "absolute_error", `class_weight`, `ccp_alpha`, nor for `output_projection="pca"` of
    classes and labels. Costs the number of outputs for each sample that a search moves, where labels without a mask
    cost those that a sample has.
""",
    "trees": """
trees : range, default=None
    Grow these trees of `range(n_estimators)` alone: a part of the forest, which predicts as a forest of its trees.
    Parts that were fitted apart, on one machine or many, become the forest by `spinney.merge`. `random_state` must be
    an integer, and `warm_start` False; a part has no out-of-bag scores.
""",
    "label_names": """
label_names : array-like of shape (n_labels,) of str, default=None
    Names of the labels, no two of them equal: `target_names_in_`, which `topk_names` predicts, `export_rules` and
    frames write, and model files keep. Where y is a frame, the names of its columns. For labels alone.
""",
    "y_mask_of_boosting": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are not known, beside those that are NaN: True or 1 there. What y holds there is not looked at.
    Their gradient and curvature are zero; constants that stages start from, steps, leaves and losses are those of the
    known cells, in rows that are held out as well. A row without a known cell is a row of weight zero, with
    "single_target" for its output alone; an output without a known cell is refused. Not with `estimator`, `init`,
    `scoring`, `class_weight`, several outputs of classes, nor `output_projection="pca"`. In `y_val` and in the y of
    `eval_sets` NaN tells such cells. Leaves are found one by one, so that a fit takes some times as long as without,
    and y is held as (n_samples, n_outputs) float64.
""",
    "y_mask_of_compression": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are not known, beside those that are NaN: True or 1 there; of several outputs of numbers, and with
    stagewise steps alone. What y holds there is not looked at. Their residuals are zero: forests, gradients, steps,
    units of outputs, constants and losses, those of `cv` as well, are of the known cells. A row without a known cell is
    a row of weight zero; an output without one, in all rows or in those that a fold trains on, is refused.
""",
    "y_mask_of_score": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are left out, beside those that are NaN: True or 1 there. Where any are, the attribute `n_cells` of
    the score is the number of the cells that it is of.
""",
    "output_scaling": """
output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
    What the search of splits divides each output by. Without, the impurity is in the outputs' units squared, and an
    output of large numbers decides alone where trees split. "variance" are the standard deviations over the samples of
    the fit, by weight, of the known cells alone; 1 for an output that is constant. An array are the scales themselves,
    finite and positive. Outputs are divided before they are projected. Leaves and predictions are in the units of y;
    impurities, importances, `min_impurity_decrease` and `ccp_alpha` in those of the divided outputs. Not with
    `criterion="poisson"`. Costs two passes over y.
output_weights : array-like of shape (n_outputs,), default=None
    How much each output counts where splits are searched: the impurity is the mean of the (divided) outputs' variances
    by these weights. Finite, none negative, one positive; their ratios alone count. An output of weight zero has no
    part in the choice of splits, and leaves like the others. Not with `criterion="poisson"`.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
    How much each label counts where splits are searched: the impurity is the mean of the labels' by these weights, so
    that the sum over the many rows of frequent labels does not decide alone. "balanced" are 1 / (p (1 - p)) for a label
    of a share p of the rows, by weight: all labels count the same in the root. "propensity" are the inverse
    propensities of Jain, Prabhu and Varma (KDD 2016), see `spinney.metrics.propensities`. An array are finite numbers,
    none negative, one positive; their ratios alone count. Leaves and predictions are frequencies, which are not
    weighted: to rank rare labels higher, multiply scores when they are ranked, see `docs/tagging.md`. With labels
    alone, with `criterion="gini"`; the trees' own criterion is "squared_error", and impurities are variances of the
    labels times the roots of their weights. Not with masked cells nor `monotonic_cst`. A split costs some times more
    than without.
""",
    "categorical_features": """
categorical_features : "from_dtype", array-like or None, default="from_dtype"
    Which features are unordered categories, whose splits send a set of them left: a mask (n_features,), indices, or
    names of columns. "from_dtype" are the categorical and the text columns of frames of pandas and polars; None are
    none. Text and categories of a type are known by value, see `categories_`; columns of numbers hold codes, whole
    numbers from 0, which in sparse X are 0 where nothing is stored. At most 65,535 categories. Missing categories,
    and at prediction unknown ones, go where a split sends those that it has not seen. Of one output or two classes
    the best set is found (Fisher 1958), of several outputs the best along the direction in which their means differ
    most, or of all sets of up to 8 categories.
""",
    "monotonic_cst": """
monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
    Directions in which predictions may go with each feature: 1 where they never fall as the feature rises, -1 where
    they never rise, 0 for no constraint; for all outputs, or for each. A dict has those of named features. Of two
    classes the probability of the second is meant. Not for more than two classes, features that are categories,
    projections, nor cells of y that are not known.
""",
    "interaction_cst": """
interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
    Which features may be on one path from the root to a leaf: those of a group, each a list, tuple or set of indices
    or names. A feature may be in several groups; features that are in none are one more group. Features that a node
    draws are drawn of those that it may be split on.
""",
    "categories_": """
categories_ : list of length n_features
    The categories of each feature that is one, in the order of their codes, and None for the others; there only
    where some feature is a category. `is_categorical_` is a mask of them.
""",
    "keep_rows": """
keep_rows : bool, default=False
    Keep the leaf of each training row in each tree, its weight and, for numbers, its targets: four bytes for each
    row and tree. `spinney.inspection.similar_rows` and the conditional quantiles and draws of regressors ask for
    them. Model files have them too.
""",
    "criterion_of_classifiers": """
criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
    Impurity that splits reduce, the mean over outputs. "log_loss" is "entropy", in bits. "squared_error" is for
    `output_projection`, with which "gini" means the same and entropy does not exist.
""",
    "max_depth": """
max_depth : int, default=None
    Largest depth; without, nodes are split while they are impure.
""",
    "min_samples_split": """
min_samples_split : int or float, default=2
    Least number of rows to split a node; a float is a share of the rows, rounded up.
""",
    "min_samples_leaf": """
min_samples_leaf : int or float, default=1
    Least number of rows on either side of a split; a float is a share of the rows, rounded up.
""",
    "min_weight_fraction_leaf": """
min_weight_fraction_leaf : float, default=0.0
    Least share of the total weight on either side of a split.
""",
    "drawn_features": """
    Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
""",
    "random_state": """
random_state : int, RandomState instance or None, default=None
    Source of the one seed that each fit draws.
""",
    "min_impurity_decrease": """
min_impurity_decrease : float, default=0.0
    Least decrease of impurity by a split, weighted by the node's share of the total weight.
""",
    "multi_label": """
multi_label : {"auto", True, False}, default="auto"
    Whether y of several columns holds labels, each 0 or 1, or an output of classes in each column. "auto" is True
    for sparse y, and for several columns of dtype bool, integer or float whose values are all 0 or 1: what
    `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", but of 0 and 1 alone. So the rows
    decide: say which where a fold may lack a class. With True a single column, (n_samples, 1), is one label.
""",
    "output_projection_of_classifiers": """
output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
    Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
    hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
    `spinney.projection`. A single output of classes has no projection.
""",
    "n_projections": """
n_projections : int, float or "log", default="log"
    Number of combinations q: a number, a share of the outputs, or ⌊½ + ln d⌋ for d outputs.
""",
    "classes_": """
classes_ : ndarray, or list of ndarray
    Classes in rising order; for several outputs one array for each. For labels, their
    numbers; one or two labels have 0 and 1 in each row, (n_labels, 2).
""",
    "n_classes_": """
n_classes_ : int, or list of int
""",
    "sizes_of_trees": """
n_outputs_, n_features_in_, max_features_ : int
""",
    "feature_names_in_": """
feature_names_in_ : ndarray
    When X had names that are all strings.
""",
    "target_names_in_": """
target_names_in_ : ndarray
    When y was a frame with columns that are all strings, or a Series with a name; of classifiers also `label_names`
    of `fit`.
""",
    "feature_importances_": """
feature_importances_ : ndarray of shape (`n_features_in_`,)
""",
    "criterion_of_regressors": """
criterion : {"squared_error", "poisson", "absolute_error"}, default="squared_error"
    Impurity that splits reduce, the mean over outputs. "squared_error" is the variance. "poisson" is half the mean
    Poisson deviance, for y that is not negative and has a positive sum; no split leaves a side where an output sums
    to zero, unless the output does so in the whole node. Leaves are means with both. "absolute_error" is the mean
    absolute deviation from the weighted median, which leaves hold: of an even split of the weight, the mean of the
    two numbers in the middle. It costs some times log(n_samples) as much, and memory of some 44 bytes for each
    number of y and tree under way. Sets of categories are tried in the order of their means, of which the best need
    not be one. Not with unknown cells of y, `output_projection`, `monotonic_cst`, nor pruning but by `ccp_alpha`.
""",
    "n_estimators": """
n_estimators : int, default=100
    Number of trees.
""",
    "max_leaf_nodes": """
max_leaf_nodes : int, default=None
    Maximum number of leaves; the tree is grown best-first. None is no limit.
""",
    "bootstrap": """
    Grow each tree on rows drawn with replacement, else on all. Rows of weight zero are not drawn. Whole weights are
    counts: a row of weight 2 is drawn as two rows. Draws of a row of another weight weigh as much.
""",
    "oob_score_of_classifiers": """
oob_score : bool or callable, default=False
    Score the forest on the rows that trees have not drawn: the share that is right, in all labels where there are some;
    of more than ten labels label ranking average precision
    (`sklearn.metrics.label_ranking_average_precision_score`); or a function of (y_true, y_pred), sparse where y is.
""",
    "n_jobs": """
n_jobs : int, default=None
    Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
""",
    "n_jobs_of_trees": """
n_jobs : int, default=None
    Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it. The upper
    nodes of a tree are grown on one thread, and the subtrees below them side by side; all on one with `max_leaf_nodes`,
    `monotonic_cst` or `interaction_cst`. Rows to be predicted are shared out.
""",
    "verbose": """
verbose : int, default=0
    Above 0, a progress bar if tqdm is installed and standard error is a terminal.
""",
    "warm_start": """
warm_start : bool, default=False
    Keep the trees of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
    data the forest is the one that would have been grown at once.
""",
    "class_weight": """
class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
    Weights of classes, which multiply `sample_weight`; a list has one dict for each output. The rules are refused with
    more than 10 labels: see `label_weight`.
""",
    "max_samples": """
max_samples : int or float, default=None
    Draws for each tree with bootstrap: a number, or a share of the rows. None draws as many as there are.
""",
    "ccp_alpha": """
ccp_alpha : float, default=0.0
    Prune each tree when it is grown: complexity at which a split must pay for its leaves, see
    `DecisionTreeClassifier.cost_complexity_pruning_path`.
""",
    "projection_scope": """
projection_scope : {"tree", "forest"}, default="tree"
    Whether every tree has a projection of its own, or all the same.
""",
    "sizes_of_forests": """
n_outputs_, n_features_in_ : int
""",
    "oob_score_": """
oob_score_ : float
    With `oob_score`.
""",
    "oob_decision_function_": """
oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
    With `oob_score`; NaN for rows that every tree has drawn. CSR of the scores that are not zero where y is sparse:
    rows that every tree has drawn have none.
""",
    "oob_score_of_regressors": """
oob_score : bool or callable, default=False
    Score the forest on the rows that trees have not drawn: R², or a function of (y_true, y_pred).
""",
    "output_projection_of_regressors": """
output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
    Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
    hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
    `spinney.projection`.
""",
    "oob_prediction_": """
oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    With `oob_score`; NaN for rows that every tree has drawn.
""",
    "y_true_and_score": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
y_score : scores, or labels in their order; see the module
""",
    "ranking": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
y_score : scores, or labels in their order; see the module
k : int
    From 1 to the number of labels, or of columns of `y_score` where it holds labels.
""",
    "y_true_and_pred": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or tuple of arrays
    Predicted labels, 0 or 1; or labels and their scores as of `predict_topk`, all of which are predicted.
""",
    "y_mask_of_metrics": """
y_mask : {array-like, sparse matrix} of the shape of y_true, default=None
    True or 1 in cells that are not known.
""",
    "propensities": """
propensities : array-like of shape (n_labels,)
    Above 0, at most 1: as of `propensities`, of the training rows.
""",
    "unless_known": """
float
    NaN when no row has a known label.
""",
    "faults_of_rankings": """
ValueError
    When shapes do not fit, values are not finite, `k` is out of range, or a row of labels has one twice.
""",
    "faults_of_gains": """
ValueError
    When shapes do not fit, values are not finite, `k` or a propensity is out of range, or a row of labels has one
    twice.
""",
    "faults_of_predictions": """
ValueError
    When shapes do not fit, or predictions are other values than 0 and 1.
""",
}
