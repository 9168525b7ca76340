"""Metrics of label sets and scores in hierarchies of labels, which `weald.metrics` exports."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from weald._input.checks import Float, check_real, named, shown
from weald._input.messages import described
from weald._input.sparse import is_sparse
from weald._labels.hierarchy import LabelHierarchy
from weald._parameters.types import MatrixLike
from weald._ranking import label_measures, ranks

# Predicted labels, or the tuple of labels and scores that `predict_topk` returns.
_Predicted = MatrixLike | tuple[ArrayLike, ArrayLike]


def hierarchical_precision(
    y_true: MatrixLike,
    y_pred: _Predicted,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: MatrixLike | None = None,
    zero_division: float = 0.0,
) -> float:
    """Hierarchical precision: the fraction of predicted labels that are true, after both label sets are closed.

    A wrong label still counts as partly right by the labels above it that are true (Kiritchenko, Matwin and Famili,
    *Functional annotation of genes using hierarchical text categorization*, 2005, without their common root).

    >>> from weald.metrics import hierarchical_precision
    >>> from weald.multilabel import LabelHierarchy
    >>> hierarchical_precision([[1, 1, 0]], [[0, 0, 1]], LabelHierarchy([(1, 0), (2, 0)]))
    0.5

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
        True labels, 0 or 1, which are closed upwards first, as predicted ones are.
    y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or tuple of arrays
        Predicted labels, 0 or 1; or the tuple that `predict_topk` returns, all of whose labels are predicted.
    hierarchy : LabelHierarchy
        The hierarchy of the labels.
    average : {"micro", "samples"}, default="micro"
        "micro" counts the labels of all samples together, and "samples" is the mean over samples.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value without predicted labels, of all samples or of one, which NaN leaves out of the mean.

    Returns
    -------
    float
        The precision. NaN if no entry of `y_true` is known.
    """
    right, _, predicted = _counts(y_true, y_pred, hierarchy, y_weight)
    return _averaged(right, predicted, average, zero_division)


def hierarchical_recall(
    y_true: MatrixLike,
    y_pred: _Predicted,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: MatrixLike | None = None,
    zero_division: float = 0.0,
) -> float:
    """Hierarchical recall: the fraction of true labels that are predicted, after both label sets are closed.

    See `hierarchical_precision` for the definition.

    Parameters
    ----------
    y_true, y_pred, hierarchy, average, y_weight, zero_division : as in `hierarchical_precision`
        True and predicted labels. `zero_division` is the value without true labels.

    Returns
    -------
    float
        The recall. NaN if no entry of `y_true` is known.
    """
    right, true, _ = _counts(y_true, y_pred, hierarchy, y_weight)
    return _averaged(right, true, average, zero_division)


def hierarchical_f1(
    y_true: MatrixLike,
    y_pred: _Predicted,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: MatrixLike | None = None,
    zero_division: float = 0.0,
) -> float:
    """Hierarchical F1 score: the harmonic mean of hierarchical precision and recall.

    See `hierarchical_precision` for the definition.

    Parameters
    ----------
    y_true, y_pred, hierarchy, average, y_weight, zero_division : as in `hierarchical_precision`
        True and predicted labels. `zero_division` is the value without true and predicted labels.

    Returns
    -------
    float
        The F1 score. NaN if no entry of `y_true` is known.
    """
    right, true, predicted = _counts(y_true, y_pred, hierarchy, y_weight)
    return _averaged(2 * right, true + predicted, average, zero_division)


def _counts(
    y_true: MatrixLike, y_pred: Any, hierarchy: LabelHierarchy, y_weight: MatrixLike | None
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of labels that are right, true and predicted, for each sample with a known entry."""
    target = _checked(hierarchy)._labels(y_true, y_weight, "y_true")
    labels, mask = hierarchy._closed(target.original, target.mask)
    predicted, _ = hierarchy._closed(label_measures.predicted_labels(y_pred, labels.shape))
    known = ranks.n_known_of(labels.shape, mask) > 0
    if mask is not None:
        predicted = ranks.without(predicted, mask)
    right = ranks.rows_of(predicted)[ranks.are_entries_in(predicted, labels)]
    n_right = np.bincount(right, minlength=labels.shape[0])
    return n_right[known], np.diff(labels.indptr)[known], np.diff(predicted.indptr)[known]


def _checked(hierarchy: object) -> LabelHierarchy:
    if not isinstance(hierarchy, LabelHierarchy):
        raise TypeError(f"hierarchy must be a LabelHierarchy, got {described(hierarchy)}")
    return hierarchy


def _averaged(parts: NDArray[np.intp], wholes: NDArray[np.intp], average: object, zero_division: object) -> float:
    zero = label_measures.check_zero_division(zero_division)
    if not isinstance(average, str) or average not in ("micro", "samples"):
        raise ValueError(f"average must be 'micro' or 'samples', got {shown(average)}")
    if not len(wholes):
        return float("nan")
    if average == "micro":
        total = int(wholes.sum())
        return int(parts.sum()) / total if total else zero
    found = np.divide(parts, wholes, out=np.full(len(wholes), zero), where=wholes > 0)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else float("nan")


def fmax(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    hierarchy: LabelHierarchy | None = None,
    thresholds: ArrayLike | None = None,
    y_weight: MatrixLike | None = None,
) -> float:
    """Fmax: the largest F of sample-averaged precision and recall over all thresholds of the scores.

    Precision is averaged over the samples for which any label reaches the threshold, recall over all samples, and F is
    their harmonic mean: the protein-centric measure of CAFA (Radivojac et al., Nature Methods 10, 2013), with its
    thresholds 0.01, 0.02, ..., 1. It takes O(m log m) time for m positive scores.

    >>> from weald.metrics import fmax
    >>> round(fmax([[1, 1, 0], [1, 0, 0]], [[0.9, 0.4, 0.3], [0.6, 0.5, 0.0]]), 3)
    0.857

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
        True labels, 0 or 1. NaN in a dense array marks an unknown entry. Samples without labels are left out.
    y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Scores, such as probabilities, which must not be negative. Entries that a sparse matrix does not store have
        score 0.
    hierarchy : LabelHierarchy or None, default=None
        If given, true labels are closed, and scores are raised to the largest one of the descendants, as in CAFA.
    thresholds : array-like of shape (n_thresholds,) or None, default=None
        Positive thresholds to try. None tries all positive scores, between which nothing changes.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The largest F, between 0 and 1. NaN if no sample has a known label.
    """
    if hierarchy is None:
        labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
        scores = ranks.all_scores(y_score, labels.shape)
    else:
        target = _checked(hierarchy)._labels(y_true, y_weight, "y_true")
        labels, mask = hierarchy._closed(target.original, target.mask)
        scores = hierarchy._consistent(ranks.all_scores(y_score, labels.shape), "max")
    if ((scores.data if is_sparse(scores) else scores) < 0).any():
        raise ValueError("y_score must not have negative scores: pass probabilities, such as 1 / (1 + exp(-margin))")
    tried: Float | None = None
    if thresholds is not None:
        check_real(thresholds, "thresholds")
        with named("thresholds"):
            tried = check_array(thresholds, ensure_2d=False, dtype=np.float64, input_name="thresholds")
        if tried.ndim != 1 or tried.min() <= 0:
            raise ValueError("thresholds must be a list of positive numbers, got others")
    return label_measures.largest_f(labels, scores, mask, tried)


def auprc(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    average: Literal["micro", "macro", "weighted"] = "micro",
    y_weight: MatrixLike | None = None,
) -> float:
    """Area under the precision-recall curve, averaged over labels as in CLUS-HMC.

    Between two points of a curve, numbers of true and false positives are interpolated linearly (Davis and Goadrich,
    ICML 2006), as `sklearn.metrics.average_precision_score` does not. The averages are those of Vens et al., *Decision
    trees for hierarchical multi-label classification*, Machine Learning 73, 2008. It takes O(m log m) time for m scores
    that are not zero, and some hundred bytes for each.

    >>> from weald.metrics import auprc
    >>> Y, scores = [[1, 0], [0, 1], [1, 0]], [[0.9, 0.3], [0.8, 0.7], [0.4, 0.1]]
    >>> round(auprc(Y, scores, average="macro"), 3)
    0.899

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
        True labels, 0 or 1. In a hierarchy, close them first by `LabelHierarchy.closure`.
    y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Scores. Entries that a sparse matrix does not store have score 0.
    average : {"micro", "macro", "weighted"}, default="micro"
        The area under the curve of all entries together, AU(PRC) with a bar over PRC in CLUS-HMC; the mean of the areas
        of all labels, AUPRC with a bar; or their mean weighted by the number of samples, with an index w.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The area, between 0 and 1. Labels without true entries are left out of means. NaN if there is no true entry.
    """
    if not isinstance(average, str) or average not in ("micro", "macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro' or 'weighted', got {shown(average)}")
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
    found, n_true = label_measures.precision_recall_areas(
        labels, ranks.all_scores(y_score, labels.shape), mask, average == "micro"
    )
    some = n_true > 0
    if not some.any():
        return float("nan")
    return float(np.average(found[some], weights=n_true[some] if average == "weighted" else None))
