"""Texts on the arguments and results of methods and metrics, by name."""

from __future__ import annotations

METHODS = {
    "X_of_fit": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The training samples, dense or sparse. NaN marks a missing value. In sparse X a NaN must be stored to mark one:
    entries that are not stored are zeros. Infinite values raise a ValueError.

    Dense X is used without a copy if it is float32 in Fortran order, and sparse X if it is CSR or CSC of float32. Other
    X is converted once, and all trees share the copy.

    Values are compared in float32. If float32 cannot distinguish some values of a feature, such as identifiers above
    2**24, a `DataConversionWarning` names the feature.
""",
    "X": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
    converted once, and CSC is transposed.
""",
    "X_as_in_predict": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples, as in `predict`.
""",
    "X_of_estimator": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, in any form that the estimator accepts.
""",
    "X_of_estimators": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, in any form that all estimators accept.
""",
    "y": """
y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
    The target values.

    - Regressors: numbers. In a sparse matrix, entries that are not stored are zeros.
    - Classifiers: classes, or labels. Labels are several columns of 0 and 1, or any sparse matrix of 0 and 1, which is
      never made dense; see also the parameter `multi_label`.

    If y has several columns of floats, a NaN marks an unknown value: see `y_mask`. In a frame of sparse columns NaN
    does so whether it is stored or not.

    Trees and forests keep sparse numerical y sparse, and their splits and leaves cost time in proportion to the
    stored entries. They convert it to a dense array if it has fewer than 16 outputs, if more than one entry in eight
    is not zero, if `criterion` is not "squared_error", or if `y_mask` marks some of it. Boosting and compression always
    convert it.
""",
    "weight_zero": """
A sample with weight zero is treated as if it were absent: its y is not read, and its features have no effect, but must
not be infinite.
""",
    "rounded_weights": """
Weights that are not multiples of 1/64, or whose sum exceeds 2**31, are rounded to multiples of some unit of at most
n_samples * max(sample_weight) / 2**50. No positive weight becomes zero: samples lighter than the unit get the weight of
one unit.
""",
    "sample_weight_of_trees": """
sample_weight : array-like of shape (n_samples,) or None, default=None
    Sample weights: finite, not negative, and at least one of them positive. None: all samples have weight 1.

    {weight_zero}

    A sample with weight 2 counts exactly as two samples with weight 1. In forests with `bootstrap=True` this holds if
    all weights are whole numbers with a mean of at most 64, but not for out-of-bag scores.

    {rounded_weights}

    If the sum of the weights would exceed the largest float64, the attribute `weighted_n_node_samples` of the fitted
    trees holds weights divided by a power of two.
""",
    "y_mask": """
y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
    Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are not
    read.

    The impurity of a node is computed from the known values. A leaf predicts for each output the mean of its known
    values; if it has none, it predicts the mean in its nearest ancestor that has some. A sample without any known value
    is treated as if it were absent, and an output without any known value raises a ValueError. Output projections and
    out-of-bag scores also use the known values only.

    Class weights and label weights count the samples of which an output is known; in the product of class weights of a
    sample, unknown outputs have the factor 1. Unknown values are not supported with the criteria "poisson" and
    "absolute_error", with `ccp_alpha`, or with `output_projection="pca"` for classes and labels. With a mask, the search
    for splits costs time in proportion to the number of outputs; without one, labels cost time in proportion to the
    labels that a sample has. With a mask, weighted labels are held as a float64 array for the search.
    Forests with `output_strategy="single_target"` leave the sample of an unknown value out for this output alone, with
    every criterion and with `ccp_alpha`.
""",
    "trees": """
trees : range or None, default=None
    Grow only these trees of `range(n_estimators)`. The result is a part of the forest, and predicts as the forest of
    these trees does. Parts can be fitted in several processes or on several machines and put together by
    `weald.merge`. `random_state` must then be an integer and `warm_start` must be False. A part has no out-of-bag
    scores.
""",
    "trees_of_labels": """
trees : range or None, default=None
    Fit only these trees of `range(n_estimators)`. The result is a part of the model, and predicts as the model of these
    trees does. Parts can be fitted in several processes or on several machines and put together by `weald.merge`.
    `random_state` must then be an integer.
""",
    "labels_of_part": """
labels : range or None, default=None
    Fit only these columns of y, which must be labels. The result is a part of the model, in which the other labels have
    no weights. Parts can be fitted in several processes or on several machines, each to all samples and all columns of
    y, and put together by `weald.merge`. `random_state` must then be an integer. Each part chooses `C` and `features` by
    up to 256 labels of y or a sixteenth of them, and calibrates by up to 2,048, whichever it fits; with given `C` and
    `features` and `calibrate=False` nothing is done twice.
""",
    "label_names": """
label_names : array-like of shape (n_labels,) of str or None, default=None
    Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
    which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
""",
    "check_input": """
check_input : bool, default=True
    It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.
""",
    "fitted_self": """
self : object
    The fitted estimator.
""",
    "errors_of_fit": """
ValueError, TypeError
    If an argument or a parameter is invalid. The message names it.
MemoryError
    Before the fit starts, if the memory that it needs for certain (see `weald.estimate_fit_memory`) is not
    available; later, if the engine cannot allocate more.
""",
    "after_errors": """
If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.
""",
    "determinism_of_forests": """
Tree i is a function of the data, the parameters, the seed and i. It does not depend on the layout of X, on `n_jobs`, or
on whether the forest was grown by one fit or by several with `warm_start`.
""",
    "callbacks_of_forests": """
Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`. Trees are then grown in ten blocks, or one by one
if there are fewer than ten; each block is a task named "trees", after which a callback gets the forest so far and can
end the fit by returning True. The forest has fewer trees than `n_estimators` then, and is that of the same trees in
any other fit. Every block prepares X again, which costs time where trees are small. Only `fit` itself calls callbacks:
parts of `weald.distribute.fit`, and fits that meta-estimators calibrate out of bag, do not.
""",
    "y_mask_of_boosting": """
y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
    Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are not
    read. In `y_val` and in the y of `eval_sets`, NaN marks unknown values.

    The gradients and second derivatives of unknown values are zero. Initial scores, steps, leaf values and losses use
    the known values only, in validation sets as well. A sample without any known value is treated as if it were absent;
    with `output_strategy="single_target"` this is decided for each output. An output without any known value raises a
    ValueError.

    Class weights and label weights count the samples of which an output is known; in the product of class weights of a
    sample, unknown outputs have the factor 1. Unknown values are not supported with `estimator`, with an estimator as
    `init`, or with `Projected("pca")`. With `scoring`, names of
    scikit-learn's scorers are scored on the known values: "roc_auc", "average_precision", "accuracy", "f1_macro" and
    "f1_micro" of labels, "r2", "neg_mean_squared_error", "neg_root_mean_squared_error" and "neg_mean_absolute_error" of
    numbers; other scorers get y with NaN.

    A fit with unknown values takes several times as long as one without, because leaves are searched one by one, and it
    holds y as a float64 array with a column for each score.
""",
    "y_mask_of_compression": """
y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
    Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are not
    read. Only for compressed forests with solver="stagewise".

    Unknown values have no loss and no gradient. The forest, the gradients and steps, the scaling of outputs, the constants
    and the losses, including those of `cv`, use the known values only. A sample without any known value is treated as
    if it were absent. An output without any known value in all samples, or in the training samples of a fold, raises
    a ValueError.
""",
    "y_mask_of_score": """
y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
    Marks values of y to leave out by True or 1, in addition to those that are NaN. If any are left out, the returned
    score has an attribute `n_cells`, the number of values that were used.
""",
    "of_the_type_of_y": """
ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
    The predicted classes, or the predicted labels as 0 and 1. Labels have the dtype of y, and are sparse if y was. A
    sparse result is computed in blocks of samples, so that no dense array of all samples is held.
""",
    "probabilities": """
ndarray of shape (n_samples, n_classes)
    For one output of classes. Columns are in the order of `classes_`.
ndarray of shape (n_samples, n_labels)
    For labels: the probability that each label is 1.
list of ndarray of shape (n_samples, n_classes)
    For several outputs of classes: one array for each output, as in scikit-learn.
""",
    "decisions": """
ndarray of shape (n_samples,)
    For two classes.
ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
    For one output of more classes, in the order of `classes_`; for labels.
list of ndarray of shape (n_samples, n_classes)
    For several outputs of classes: one array for each output.
""",
    "k_and_scores": """
k : int
    Number of labels to return, from 1 to the number of labels or classes.
{scores_of_labels}
""",
    "scores_of_labels": """
scores : {"auto", "probability", "margin"}, default="auto"
    The scores that are returned: "probability" are those of `predict_proba`, and "margin" those of
    `decision_function`, where for two classes that of the first class is the negative one of the second. "auto" are
    probabilities if there are any, and margins otherwise.
min_score : float or None, default=None
    Labels with a lower score are not returned. It is in the unit of the scores: from 0 to 1 for probabilities, and any
    number for margins. None returns all.
""",
    "labels_to_return": """
k : int
    The number of labels per sample, from 1 to the number of labels.
{scores_of_labels}
exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
    Labels that are not returned: the non-zero entries of a sparse matrix, or a list of labels to exclude for all
    samples.
""",
    "ranked_labels": """
indices : int64 ndarray of shape (n_samples, k)
    Indices of labels, or positions in `classes_`, in decreasing order of the score; of equal ones, the lower index
    comes first. If `min_score` and `exclude` leave fewer than `k` for a sample, the last places are -1.
scores : float64 ndarray of shape (n_samples, k)
    Their scores. Where the index is -1, the probability 0 or the margin minus infinity.
""",
    "excluded_labels": """
exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
    Labels that must not be returned: a sparse matrix whose nonzero entries mark the labels to exclude for each sample,
    or a list of labels to exclude for all samples. For one output of classes, positions in `classes_` in their place.
""",
    "errors_of_topk": """
ValueError, TypeError
    If `k` or `min_score` is out of range, if there are no such `scores`, or if `exclude` does not have a valid shape
    or type.
""",
    "least_stored": """
min_score : float, default=0
    Minimum probability to store, from 0 to 1. With 0, all probabilities that are not zero are stored.
""",
    "sparse_probabilities": """
CSR of shape (n_samples, n_labels), float64
    A sparse matrix if y was a sparse matrix of scipy, else a sparse array. Column indices are sorted.
""",
    "node_indicator": """
indicator : CSR matrix of shape (n_samples, n_nodes)
    1 where a sample passes through a node.
n_nodes_ptr : ndarray of shape (n_estimators + 1,)
    The columns from `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]` belong to tree i.
""",
    "n_stages_and_margin": """
n_stages : int or None, default=None
    Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
    Initial scores of these samples, which are added to the scores of the stages; see `fit`.
""",
    "y_true_and_score": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1. NaN in a dense array marks an unknown entry.
y_score : {array-like, sparse matrix} of shape (n_samples, n_labels) or (n_samples, k), or tuple of arrays
    Scores, or ranked labels in any of the forms that are described in `weald.metrics`.
""",
    "ranking": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1. NaN in a dense array marks an unknown entry.
y_score : {array-like, sparse matrix} of shape (n_samples, n_labels) or (n_samples, k), or tuple of arrays
    Scores, or ranked labels in any of the forms that are described in `weald.metrics`.
k : int
    The number of highest-scoring labels, from 1 to the number of labels, or to the number of columns of `y_score` if it
    contains ranked labels.
""",
    "y_true_and_pred": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1. NaN in a dense array marks an unknown entry.
y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or tuple of arrays
    Predicted labels, 0 or 1; or the tuple that `predict_topk` returns, all of whose labels are predicted.
""",
    "y_mask_of_metrics": """
y_mask : {array-like, sparse matrix} of the shape of y_true or None, default=None
    True or 1 marks unknown entries of `y_true`, in addition to those that are NaN.
""",
    "labels_and_all_scores": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1. NaN in a dense array marks an unknown entry.
y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
    Scores of all labels, such as probabilities or margins. Entries of a sparse matrix that are not stored have score
    zero.
""",
    "labels_and_probabilities": """
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1. NaN in a dense array marks an unknown entry.
y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
    The probabilities that labels are 1. Entries of a sparse matrix that are not stored are zero.
""",
    "means_of_labels": """
average : {"macro", "micro", "weighted", "samples"} or None, default="macro"
    "macro" is the mean over labels, "weighted" the mean over labels weighted by their number of known positives,
    "samples" the mean over samples of the measure of their labels, and "micro" the measure of all known entries
    together. Labels and samples for which the measure is not defined are left out. None returns it for each label.
sample_weight : array-like of shape (n_samples,) or None, default=None
    Sample weights.
y_mask : {array-like, sparse matrix} of the shape of y_true or None, default=None
    True or 1 marks unknown entries of `y_true`, in addition to those that are NaN.
return_counts : bool, default=False
    Whether to return also how many labels ("macro", "weighted"), samples ("samples") or entries ("micro") were counted,
    or without an average the number of known entries of each label.
""",
    "mean_and_counts": """
score : float or ndarray of shape (n_labels,)
    The mean, or NaN if nothing is counted; or for `average=None` one value for each label, which is NaN where it is not
    defined.
counts : int or ndarray of shape (n_labels,)
    What was counted. Only with `return_counts=True`.
""",
    "faults_of_scores": """
ValueError
    If the shapes do not match, values are not finite, a weight is negative, all weights are zero, `average` is unknown,
    or `y_score` is the output of `predict_topk`, which does not contain the scores of all labels.
TypeError
    If `return_counts` is not a bool.
""",
    "faults_of_probabilities": """
ValueError
    If the shapes do not match, scores are not between 0 and 1, a weight is negative, all weights are zero, `average` is
    unknown, or `y_score` is the output of `predict_topk`, which does not contain the scores of all labels.
TypeError
    If `return_counts` is not a bool.
""",
    "propensities": """
propensities : array-like of shape (n_labels,)
    The propensity of each label, greater than 0 and at most 1. `weald.metrics.propensities` estimates them from the
    labels of the training samples.
""",
    "unless_known": """
float
    The score. NaN if no sample has a known label.
""",
    "faults_of_rankings": """
ValueError
    If the shapes do not match, values are not finite, `k` is out of range, or a label occurs twice in a ranking.
""",
    "faults_of_gains": """
ValueError
    If the shapes do not match, values are not finite, `k` or a propensity is out of range, or a label occurs twice in a
    ranking.
""",
    "faults_of_predictions": """
ValueError
    If the shapes do not match, or predictions are neither 0 nor 1.
""",
}

METHODS["X_of_boosting"] = (
    METHODS["X_of_fit"]
    + """
    If `estimator` is given, it receives X as float64, or as float32 if X is float32, and there is no such
    warning.
"""
)
METHODS["determinism_of_centroid_forests"] = (
    METHODS["determinism_of_forests"]
    + """\
With `idf`, `warm_start` requires the data of the previous fit.
"""
)
