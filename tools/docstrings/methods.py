"""Texts on the arguments and results of methods and metrics, by name."""

from __future__ import annotations

from docstrings.texts import texts

METHODS = texts("""
# X_of_fit
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The training samples; NaN marks a missing value, and what sparse X does not store is zero. Dense float32 X in Fortran
    order and float32 CSR or CSC are used without a copy, other X is converted to float32 once. Infinite values raise a
    ValueError, and a `DataConversionWarning` names features whose values float32 cannot distinguish.

# X_of_numbers
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The training samples: finite numbers such as counts of words. Float32 X that is dense or CSR is used without a copy,
    other X is converted once. Categories raise an error: see `sklearn.preprocessing.OneHotEncoder`.

# X
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.

# X_as_in_predict
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples, as in `predict`.

# X_of_estimator
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, in any form that the estimator accepts.

# X_of_estimators
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, in any form that all estimators accept.

y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
    Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix of them,
    which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which numerical y stay
    sparse is in `docs/scikit-learn.md#labels-and-outputs`.

sample_weight : array-like of shape (n_samples,) or None, default=None
    Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero nothing is
    read, and one with weight 2 counts as two: exactly for multiples of 1/64, and otherwise up to the rounding and with the
    exceptions in `docs/determinism.md#sample-weights-are-counts`.

y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    Weights of the values of y, by which they multiply the weight of their sample: 0 for unknown values, which are not
    read, as NaN is. "stored": the stored entries of sparse y are what is known. A sample without a known value is left
    out, an output without any raises a ValueError. See `docs/missing-labels.md`.

trees : range or None, default=None
    Grow only these trees of `range(n_estimators)`, in the same way, without out-of-bag scores. Such parts can be fitted on
    several machines and put together by `weald.merge`. `random_state` must then be an integer, and `warm_start` False.

# parts_of_linear
labels : range or None, default=None
    Fit only these columns of y, which must be labels, with the strategy "one_vs_rest"; the others have no weights. Such
    parts, each fitted to all of X and y, can be fitted on several machines and put together by `weald.merge`.
    `random_state` must then be an integer. See `docs/many-machines.md#linear-models`.
trees : range or None, default=None
    Fit only these trees of `range(n_estimators)`, with the strategy "tree": a part of the model in the same way.

label_names : array-like of shape (n_labels,) of str or None, default=None
    Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its columns.

check_input : bool, default=True
    It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

# fitted_self
self : object
    The fitted estimator.

# errors_of_fit
A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a MemoryError before
the fit starts. The estimator then stays as it was, as after Ctrl-C.

# y_weight_of_boosting
y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    Weights of the values of y, by which they multiply the weight of their sample: 0 for unknown values, which are not
    read, as NaN is, also in `y_val` and `eval_sets`. "stored": the stored entries of sparse y are what is known. A sample
    without a known value is left out, an output without any raises a ValueError. See `docs/missing-labels.md`.

# y_weight_of_compression
y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    Weights of the values of y: 0 for unknown ones, which are not read, as NaN is.
    Only for solver="stagewise". A sample without any known value is left out, an output without any raises a ValueError.

# y_weight_of_score
y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
    attribute `n_cells`, the number of values that were used.

# scored
X, y, sample_weight, y_weight : as in `fit`
    Samples and their true values. If some are unknown, they are left out, and the returned score has an attribute
    `n_cells`, the number of values that were used.

# scored_where_known
X, y, sample_weight, y_weight : as in `fit`
    Samples and their true values, of which those that are unknown are left out.

# y_weight_left_out
y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    0 marks values of y to leave out, besides those that are NaN.

# y_weight_of_calibration
y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
    0 marks unknown entries of y, besides those that are NaN, for the fit of the estimator, too.

# sample_weight_of_calibration
sample_weight : array-like of shape (n_samples,) or None, default=None
    Sample weights for the fit and for what follows, where a sample of weight 2 counts as two. Samples of weight zero do not
    count, but they are assigned to folds as well.

groups : array-like of shape (n_samples,) or None, default=None
    The groups of samples, for a `cv` that keeps them together, such as `sklearn.model_selection.GroupKFold`. With any
    other `cv` they raise an error.

# alpha_of_method
alpha : float or None, default=None
    The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the parameter.

# of_the_type_of_y
ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
    The predicted classes, or labels as 0 and 1, of the dtype of y and sparse if y was.

# probabilities
ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
    For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several outputs of
    classes, an array for each.

# decisions
ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
    A column for two classes, one for each of more in the order of `classes_`, and one for each label. For several outputs
    of classes, an array for each.

# how_to_rank
names : bool, default=False
    Whether names are returned in place of indices: those in `target_names_in_`, or classes of one output.
scores : {"auto", "probability", "margin"}, default="auto"
    The scores that are returned: those of `predict_proba` or of `decision_function`, which for the first of two classes
    is the negative one of the second. "auto" are probabilities if there are any.
min_score : float or None, default=None
    Labels with a lower score, in the unit of the scores, are not returned. None returns all.
exclude : {array-like, sparse matrix} of shape (n_samples, n_labels), list of int or None, default=None
    Labels that are not returned, such as those that a sample has already: True or 1 in a matrix, or entries of a sparse
    one that are not zero; or a list of labels for all samples. Classes of one output are given by positions.

# ranked_labels
indices : ndarray of shape (n_samples, k), int64 or with `names=True` of objects
    Indices of labels, positions in `classes_`, or their names, in decreasing order of the score; of equal ones, the lower
    index comes first. If `min_score` and `exclude` leave fewer than `k`, the last places are -1, or None for names.
scores : float64 ndarray of shape (n_samples, k)
    Their scores. Where there is no label, the probability 0, or minus infinity as the margin or the number.

# least_stored
min_score : float, default=0
    Minimum probability to store, from 0 to 1. With 0, all probabilities that are not zero are stored.

# sparse_probabilities
CSR of shape (n_samples, n_labels), float64
    A sparse matrix if y was a sparse matrix of scipy, else a sparse array. Column indices are sorted.

# node_indicator
indicator : CSR matrix of shape (n_samples, n_nodes)
    1 where a sample passes through a node.
n_nodes_ptr : ndarray of shape (n_estimators + 1,)
    The columns from `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]` belong to tree i.

# n_stages_and_margin
n_stages : int or None, default=None
    Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
    Initial scores of these samples, which are added to the scores of the stages; see `fit`.

# y_true_and_score
y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_score (n_samples, k) or a tuple
    True labels, 0 or 1, and scores, or ranked labels in any of the forms that are described in `weald.metrics`.

# ranking
{y_true_and_score}
k : int
    The number of highest-scoring labels, from 1 to the number of labels, or of columns of a `y_score` of ranked labels.

# y_true_and_pred
y_true, y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_pred a tuple of arrays
    True and predicted labels, 0 or 1; or the tuple that `predict_topk` returns, all of whose labels are predicted.

# closed_labels
y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    True labels, 0 or 1, which are closed upwards first, as predicted ones are.
y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or tuple of arrays
    Predicted labels, 0 or 1; or the tuple that `predict_topk` returns, all of whose labels are predicted.
hierarchy : LabelHierarchy
    The hierarchy of the labels.

# y_weight_of_metrics
y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
    0 marks unknown entries of `y_true`, besides those that are NaN.

# propensities
propensities : array-like of shape (n_labels,)
    The propensity of each label, greater than 0 and at most 1: see `weald.metrics.propensities`.

# unless_known
float
    The score. NaN if no sample has a known label.

""")
