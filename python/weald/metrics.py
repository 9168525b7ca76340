"""Multi-label classification and ranking metrics for dense and sparse label matrices.

`y_true` is a matrix of 0 and 1 of shape (n_samples, n_labels), dense or in any sparse format. `y_score` is one of

* a dense array of scores of that shape;
* a sparse matrix of scores of that shape, whose entries that are not stored have score zero;
* an integer array of shape (n_samples, k) with the indices of the highest-scoring labels of each sample, best first,
  padded with -1 for samples with fewer than k labels;
* the tuple that `predict_topk` returns: such indices and their scores, by which they are ranked.

Labels with equal scores are ranked by index, the lower index first. With sparse input, time and memory are proportional
to the number of stored entries: no array of size n_samples × n_labels is created unless it is passed.

Entries of `y_true` are unknown if they are NaN in a dense array, or 0 in `y_weight`, a dense or sparse matrix of
the same shape. Unknown entries are left out: the ranking of a sample contains only labels whose entries are known, and
samples without a known entry are ignored.

`roc_auc`, `average_precision`, `log_loss` and `brier` are measures of each label on the samples for which it is known, and
need the scores of all labels.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from weald import _weald
from weald._input import checks, targets
from weald._input.checks import Float, boolean, check_real, integer, named, number, shown
from weald._input.messages import described
from weald._input.sparse import is_sparse
from weald._labels.hierarchy import LabelHierarchy
from weald._parameters import weighting
from weald._parameters.types import MatrixLike, SampleWeight, YWeight
from weald._ranking import label_measures, ranks, scorers
from weald._ranking.label_measures import Ranking, mean_ratio, ratio

__all__ = [
    "auprc",
    "average_precision",
    "brier",
    "coverage_error",
    "fmax",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "label_coverage_at_k",
    "log_loss",
    "macro_f1",
    "make_label_scorer",
    "make_topk_scorer",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "roc_auc",
]

# Scores or labels of samples, or the tuple of labels and scores that `predict_topk` returns.
Ranked: TypeAlias = MatrixLike | tuple[ArrayLike, ArrayLike]
Average: TypeAlias = Literal["macro", "micro", "weighted", "samples"] | None


def hierarchical_precision(
    y_true: MatrixLike,
    y_pred: Ranked,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: YWeight = None,
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
    right, _, predicted = _closed_counts(y_true, y_pred, hierarchy, y_weight)
    return _hierarchical_mean(right, predicted, average, zero_division)


def hierarchical_recall(
    y_true: MatrixLike,
    y_pred: Ranked,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: YWeight = None,
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
    right, true, _ = _closed_counts(y_true, y_pred, hierarchy, y_weight)
    return _hierarchical_mean(right, true, average, zero_division)


def hierarchical_f1(
    y_true: MatrixLike,
    y_pred: Ranked,
    hierarchy: LabelHierarchy,
    *,
    average: Literal["micro", "samples"] = "micro",
    y_weight: YWeight = None,
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
    right, true, predicted = _closed_counts(y_true, y_pred, hierarchy, y_weight)
    return _hierarchical_mean(2 * right, true + predicted, average, zero_division)


def _closed_counts(
    y_true: MatrixLike, y_pred: Any, hierarchy: LabelHierarchy, y_weight: YWeight
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of labels that are right, true and predicted, for each sample with a known entry."""
    target = _checked_hierarchy(hierarchy)._labels(y_true, y_weight, "y_true")
    labels, mask = hierarchy._closed(target.original, target.mask)
    predicted, _ = hierarchy._closed(label_measures.predicted_labels(y_pred, labels.shape))
    known = ranks.n_known_of(labels.shape, mask) > 0
    if mask is not None:
        predicted = ranks.without(predicted, mask)
    right = ranks.rows_of(predicted)[ranks.are_entries_in(predicted, labels)]
    n_right = np.bincount(right, minlength=labels.shape[0])
    return n_right[known], np.diff(labels.indptr)[known], np.diff(predicted.indptr)[known]


def _checked_hierarchy(hierarchy: object) -> LabelHierarchy:
    if not isinstance(hierarchy, LabelHierarchy):
        raise TypeError(f"hierarchy must be a LabelHierarchy, got {described(hierarchy)}")
    return hierarchy


def _hierarchical_mean(
    parts: NDArray[np.intp], wholes: NDArray[np.intp], average: object, zero_division: object
) -> float:
    zero = label_measures.check_zero_division(zero_division)
    checks.choice("average", average, "micro", "samples")
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
    y_weight: YWeight = None,
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
        target = _checked_hierarchy(hierarchy)._labels(y_true, y_weight, "y_true")
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
    y_weight: YWeight = None,
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
    checks.choice("average", average, "micro", "macro", "weighted")
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
    found, n_true = label_measures.precision_recall_areas(
        labels, ranks.all_scores(y_score, labels.shape), mask, average == "micro"
    )
    some = n_true > 0
    if not some.any():
        return float("nan")
    return float(np.average(found[some], weights=n_true[some] if average == "weighted" else None))


def one_error(y_true: MatrixLike, y_score: Ranked, *, y_weight: YWeight = None) -> float:
    """Fraction of samples whose highest-scoring label is not a true label, from 0, the best value, to 1.

    >>> from weald.metrics import one_error
    >>> one_error([[0, 1], [1, 0]], [[0.2, 0.7], [0.1, 0.3]])
    0.5

    Parameters
    ----------
    y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_score (n_samples, k) or a tuple
        True labels, 0 or 1, and scores, or ranked labels in any of the forms that are described in `weald.metrics`.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The one-error. Samples without labels count as errors. NaN if no entry of `y_true` is known.
    """
    return 1.0 - precision_at_k(y_true, y_score, k=1, y_weight=y_weight)


def precision_at_k(y_true: MatrixLike, y_score: Ranked, k: int, *, y_weight: YWeight = None) -> float:
    """Precision at k: the fraction of true labels among the `k` highest-scoring labels, averaged over samples.

    >>> from weald.metrics import precision_at_k
    >>> precision_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    0.75

    Parameters
    ----------
    y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_score (n_samples, k) or a tuple
        True labels, 0 or 1, and scores, or ranked labels in any of the forms that are described in `weald.metrics`.
    k : int
        The number of highest-scoring labels, from 1 to the number of labels, or of columns of a `y_score` of ranked
        labels.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The precision, among the known entries of a sample if these are fewer than `k`. NaN if none is known.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    if ranking.mask is None:
        return float(ranking.hits.mean())
    n_known = ranks.n_known_of(ranking.labels.shape, ranking.mask)
    n_right = np.count_nonzero(ranking.hits, axis=1)
    return mean_ratio(n_right, np.minimum(n_known, ranking.hits.shape[1]))


def recall_at_k(y_true: MatrixLike, y_score: Ranked, k: int, *, y_weight: YWeight = None) -> float:
    """Recall at k: the fraction of a sample's labels that are among the `k` highest-scoring, averaged over samples.

    Samples without labels are left out. The recall of a sample with more than `k` labels is always below 1.

    >>> from weald.metrics import recall_at_k
    >>> recall_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=1)
    0.75

    Parameters
    ----------
    y_true, y_score, k, y_weight : as in `precision_at_k`
        True labels and scores.

    Returns
    -------
    float
        The score. NaN if no sample has a known label.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    return mean_ratio(np.count_nonzero(ranking.hits, axis=1), np.diff(ranking.labels.indptr))


def ndcg_at_k(y_true: MatrixLike, y_score: Ranked, k: int, *, y_weight: YWeight = None) -> float:
    """Normalized discounted cumulative gain (nDCG) of the `k` highest-scoring labels, averaged over samples.

    A true label at rank r has a gain of 1 / log2(r + 1), and a sample the sum of its gains divided by the largest
    possible one. Samples without labels are left out.

    >>> from weald.metrics import ndcg_at_k
    >>> ndcg_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    1.0

    Parameters
    ----------
    y_true, y_score, k, y_weight : as in `precision_at_k`
        True labels and scores.

    Returns
    -------
    float
        The score. NaN if no sample has a known label.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    return mean_ratio(ranking.hits @ ranking.discounts, ranking.ideal)


def propensities(Y: MatrixLike, a: float = 0.55, b: float = 1.5) -> Float:
    """Propensities of labels: the probability that a true label was recorded, estimated from the label's frequency.

    A label that N_l of N samples have has the propensity 1 / (1 + C exp(-a log(N_l + b))), where C = (log N - 1)(b +
    1)^a, and at least 0 (Jain, Prabhu and Varma, *Extreme multi-label loss functions for recommendation, tagging,
    ranking and other missing label applications*, KDD 2016).

    >>> from weald.metrics import propensities
    >>> propensities([[1, 0], [1, 0], [1, 0], [1, 1]]).round(2)
    array([0.8 , 0.72])

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Labels of the training samples, or of all samples.
    a : float, default=0.55
        Non-negative parameter of the model: 0.5 for Wikipedia data sets and 0.6 for Amazon data sets in the paper.
    b : float, default=1.5
        Positive parameter of the model: 0.4 for Wikipedia data sets and 2.6 for Amazon data sets in the paper.

    Returns
    -------
    ndarray of shape (n_labels,)
        The propensity of each label, greater than 0 and at most 1. Frequent labels have larger propensities.
    """
    a = number("a", a, lambda found: 0 <= found < np.inf, "a finite number of at least 0")
    b = number("b", b, lambda found: 0 < found < np.inf, "a finite number above 0")
    labels = targets.labels(Y, what="Y", masks=False).original
    n, d = labels.shape
    frequencies = np.bincount(labels.indices, minlength=d)
    found: Float = 1.0 / weighting.inverse_of_frequencies(frequencies, n, a, b)
    if not found.all():
        raise ValueError(f"a and b must not be so extreme that propensities are zero, got a={a!r} and b={b!r}")
    return found


def psp_at_k(
    y_true: MatrixLike, y_score: Ranked, k: int, *, propensities: ArrayLike, y_weight: YWeight = None
) -> float:
    """Propensity-scored precision at k, in which rare labels count more than frequent ones.

    It is the sum over the samples of 1 / p_l over the true labels l among their `k` highest-scoring ones, with the
    propensities p_l, divided by the largest possible sum: the definition of the Extreme Classification Repository
    (Jain, Prabhu and Varma, KDD 2016). The best value is 1.

    >>> from weald.metrics import psp_at_k
    >>> psp_at_k([[1, 1], [1, 0]], [[1], [1]], k=1, propensities=[0.5, 0.25])
    0.6666666666666666

    Parameters
    ----------
    y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_score (n_samples, k) or a tuple
        True labels, 0 or 1, and scores, or ranked labels in any of the forms that are described in `weald.metrics`.
    k : int
        The number of highest-scoring labels, from 1 to the number of labels, or of columns of a `y_score` of ranked
        labels.
    propensities : array-like of shape (n_labels,)
        The propensity of each label, greater than 0 and at most 1: see `weald.metrics.propensities`.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The score. NaN if no sample has a known label.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    gains, best = ranking.gains(propensities)
    return ratio(gains.sum(), best.sum())


def psndcg_at_k(
    y_true: MatrixLike, y_score: Ranked, k: int, *, propensities: ArrayLike, y_weight: YWeight = None
) -> float:
    """Propensity-scored nDCG at k, in which rare labels and the first ranks count more.

    It is as `psp_at_k`, with a gain of 1 / (p_l log2(r + 1)) at rank r, and the gains of a sample divided by the sum of
    1 / log2(r + 1) over as many ranks as it has labels, at most `k`. The best value is 1.

    >>> from weald.metrics import psndcg_at_k
    >>> psndcg_at_k([[1, 1], [1, 0]], [[1, 0], [0, 1]], k=2, propensities=[0.5, 0.25])
    1.0

    Parameters
    ----------
    y_true, y_score, k, propensities, y_weight : as in `psp_at_k`
        True labels and scores.

    Returns
    -------
    float
        The score. NaN if no sample has a known label.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    gains, best = ranking.gains(propensities)
    ideal = np.where(ranking.ideal > 0, ranking.ideal, 1.0)
    discounts = ranking.discounts
    return ratio(((gains @ discounts) / ideal).sum(), ((best @ discounts) / ideal).sum())


def label_coverage_at_k(y_true: MatrixLike, y_score: Ranked, k: int, *, y_weight: YWeight = None) -> float:
    """Label coverage at k: the fraction of labels that are among the `k` highest-scoring of a sample that has them.

    Labels that no sample of `y_true` has are left out.

    >>> from weald.metrics import label_coverage_at_k
    >>> label_coverage_at_k([[0, 1, 1], [1, 0, 0]], [[1], [2]], k=1)
    0.3333333333333333

    Parameters
    ----------
    y_true, y_score, k, y_weight : as in `precision_at_k`
        True labels and scores.

    Returns
    -------
    float
        The score. NaN if no sample has a known label.
    """
    ranking = Ranking(y_true, y_score, k, y_weight)
    named = np.unique(ranking.ranked[ranking.hits])
    return ratio(len(named), len(np.unique(ranking.labels.indices)))


def coverage_error(y_true: MatrixLike, y_score: Ranked, *, y_weight: YWeight = None) -> float:
    """Coverage error: how far down the ranking one has to go to find all true labels, averaged over samples.

    This is `sklearn.metrics.coverage_error`, extended to sparse matrices and unknown entries. Among labels with equal
    scores true labels are ranked last. The error of a sample without labels is 0.

    >>> from weald.metrics import coverage_error
    >>> coverage_error([[0, 1, 1], [1, 0, 0]], [[0.2, 0.7, 0.1], [0.1, 0.0, 0.0]])
    2.0

    Parameters
    ----------
    y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
        True labels, 0 or 1, and scores of all labels, which those of `predict_topk` are not.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.

    Returns
    -------
    float
        The coverage error. NaN if no entry of `y_true` is known.
    """
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
    scores = ranks.all_scores(y_score, labels.shape)
    errors = _weald.coverage(ranks.scores_of(scores), ranks.cells_of(labels), ranks.cells_of(mask))
    return ratio(errors.sum(), np.count_nonzero(ranks.n_known_of(labels.shape, mask)))


def micro_f1(y_true: MatrixLike, y_pred: Ranked, *, y_weight: YWeight = None, zero_division: float = 0.0) -> float:
    """Micro-averaged F1 score: the F1 score of all entries of the label matrix together.

    This is `sklearn.metrics.f1_score` with `average="micro"`, extended to unknown entries.

    >>> from weald.metrics import micro_f1
    >>> micro_f1([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.8

    Parameters
    ----------
    y_true, y_pred : {array-like, sparse matrix} of shape (n_samples, n_labels), or of y_pred a tuple of arrays
        True and predicted labels, 0 or 1; or the tuple that `predict_topk` returns, all of whose labels are
        predicted.
    y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
        0 marks unknown entries of `y_true`, besides those that are NaN.
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value to return if `y_true` has no labels and none are predicted.

    Returns
    -------
    float
        The micro-averaged F1 score.
    """
    return label_measures.f1_score(y_true, y_pred, y_weight, "micro", zero_division)


def macro_f1(y_true: MatrixLike, y_pred: Ranked, *, y_weight: YWeight = None, zero_division: float = 0.0) -> float:
    """Macro-averaged F1 score: the unweighted mean of the F1 scores of all labels.

    This is `sklearn.metrics.f1_score` with `average="macro"`, extended to unknown entries.

    >>> from weald.metrics import macro_f1
    >>> macro_f1([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.6666666666666666

    Parameters
    ----------
    y_true, y_pred, y_weight : as in `micro_f1`
        True and predicted labels.
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The score of a label that no sample has and that is never predicted. NaN leaves such labels out of the mean.

    Returns
    -------
    float
        The macro-averaged F1 score. NaN if all labels are left out.
    """
    return label_measures.f1_score(y_true, y_pred, y_weight, "macro", zero_division)


class _LabelMetric(Protocol):
    """A measure of each label on the samples for which it is known."""

    __name__: str

    def __call__(
        self,
        y_true: MatrixLike,
        y_score: MatrixLike,
        *,
        average: Average = "macro",
        sample_weight: SampleWeight = None,
        y_weight: YWeight = None,
        return_counts: bool = False,
    ) -> Any:
        """Return the measure of each label or its mean, and what was counted if that is asked for."""


def _label_metric(described: Callable[[], None]) -> _LabelMetric:
    """The measure of this name in the table of measures, with this docstring and that of the arguments."""
    measure = label_measures.MEASURES[described.__name__]

    def metric(
        y_true: MatrixLike,
        y_score: MatrixLike,
        *,
        average: Average = "macro",
        sample_weight: SampleWeight = None,
        y_weight: YWeight = None,
        return_counts: bool = False,
    ) -> Any:
        """Measure each label.

        Parameters
        ----------
        y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
            True labels, 0 or 1. NaN in a dense array marks an unknown entry.
        y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Scores of all labels, such as probabilities or margins; for `log_loss` and `brier` the probabilities that labels
            are 1. Entries of a sparse matrix that are not stored are zero.
        average : {"macro", "micro", "weighted", "samples"} or None, default="macro"
            "macro" is the mean over labels, "weighted" the mean over labels weighted by their number of known positives,
            "samples" the mean over samples of the measure of their labels, and "micro" the measure of all known entries
            together. Labels and samples for which the measure is not defined are left out. None returns it for each label.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
            The weight of each entry, times that of its sample. 0 marks unknown entries of `y_true`, in addition to those that
            are NaN.
        return_counts : bool, default=False
            Whether to return also how many labels ("macro", "weighted"), samples ("samples") or entries ("micro") were
            counted, or without an average the number of known entries of each label.

        Returns
        -------
        score : float or ndarray of shape (n_labels,)
            The mean, or NaN if nothing is counted; or for `average=None` one value for each label, which is NaN where it is
            not defined.
        counts : int or ndarray of shape (n_labels,)
            What was counted. Only with `return_counts=True`.

        Raises
        ------
        ValueError
            If the shapes do not match, values are not finite, or not between 0 and 1 where they are probabilities, a weight
            is negative, all weights are zero, `average` is unknown, or `y_score` is the output of `predict_topk`, which does
            not contain the scores of all labels.
        TypeError
            If `return_counts` is not a bool.
        """
        with_counts = boolean("return_counts", return_counts)
        found, counts = label_measures.score(measure, y_true, y_score, average, sample_weight, y_weight)
        return (found, counts) if with_counts else found

    about, _, example = cleandoc(described.__doc__ or "").partition("\n\nExamples\n")
    arguments = cleandoc((metric.__doc__ or "").partition("\n\n")[2])
    metric.__doc__ = f"{about}\n\n{arguments}\n\nExamples\n{example}\n"
    metric.__name__ = metric.__qualname__ = described.__name__
    return metric


@_label_metric
def roc_auc() -> None:
    """Area under the ROC curve of each label, and its mean over labels, whose unknown entries are left out.

    This is `sklearn.metrics.roc_auc_score` of each label on the samples for which it is known, extended to sparse matrices.
    Pairs of equal scores count one half. The area of a label is defined if both 0 and 1 are among its known entries of
    positive weight. The best value is 1, and scores at random have 1/2. The cost is O(m log m) for m stored entries of both
    matrices; of dense scores, blocks of labels are copied, and with "micro" and "samples" all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.metrics import roc_auc
    >>> y = np.array([[0, 1, 1], [1, 0, np.nan], [1, np.nan, np.nan]])
    >>> scores = np.array([[0.2, 0.7, 0.4], [0.6, 0.1, 0.1], [0.1, 0.3, 0.8]])
    >>> roc_auc(y, scores, average=None)
    array([0.5, 1. , nan])
    >>> roc_auc(y, scores, return_counts=True)
    (0.75, 2)
    """


@_label_metric
def average_precision() -> None:
    """Average precision of each label, and its mean over labels, whose unknown entries are left out.

    This is `sklearn.metrics.average_precision_score` of each label on the samples for which it is known, extended to sparse
    matrices. It summarises the curve of precision against recall: it is the mean, over the positives of a label, of the
    precision among all samples with at least the same score. It is defined if both 0 and 1 are among the known entries of
    positive weight. The best value is 1, and scores at random have about the share of positives. The cost is that of
    `roc_auc`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.metrics import average_precision
    >>> y = np.array([[0, 1], [1, 0], [1, np.nan]])
    >>> scores = np.array([[0.2, 0.7], [0.6, 0.1], [0.1, 0.3]])
    >>> average_precision(y, scores, average=None).round(3)
    array([0.833, 1.   ])
    """


@_label_metric
def log_loss() -> None:
    """Log loss of each label, and its mean over labels, whose unknown entries are left out.

    This is `sklearn.metrics.log_loss` of each label on the samples for which it is known, extended to sparse matrices: the
    mean of -log(p) over entries that are 1 and of -log(1 - p) over those that are 0. Probabilities are clipped to
    [eps, 1 - eps], where eps is the resolution of their dtype. It is defined for every label with a known entry of positive
    weight. The best value is 0. The cost is proportional to the number of stored entries of both matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.metrics import log_loss
    >>> y = np.array([[0, 1], [1, 0], [1, np.nan]])
    >>> proba = np.array([[0.5, 0.8], [0.5, 0.2], [0.5, 0.3]])
    >>> log_loss(y, proba, average=None).round(3)
    array([0.693, 0.223])
    """


@_label_metric
def brier() -> None:
    """Brier score of each label, and its mean over labels, whose unknown entries are left out.

    This is `sklearn.metrics.brier_score_loss` of each label on the samples for which it is known, extended to sparse
    matrices: the mean squared difference between labels and their probabilities. It is defined for every label with a known
    entry of positive weight. The best value is 0. The cost is proportional to the number of stored entries of both matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.metrics import brier
    >>> y = np.array([[0, 1], [1, 0], [1, np.nan]])
    >>> proba = np.array([[0.5, 0.8], [0.5, 0.2], [0.5, 0.3]])
    >>> brier(y, proba, average=None).round(3)
    array([0.25, 0.04])
    """


def make_topk_scorer(
    metric: str | Callable[..., float], k: int, *, greater_is_better: bool | None = None, **options: object
) -> Callable[[Any, Any, Any], float]:
    """Make a scorer from a ranking metric of the `k` highest-scoring labels, for searches and cross-validation.

    The scorer calls `predict_topk` of the estimator, so the scores of all labels are never in memory at once. For a
    `Pipeline` it transforms X by the first steps and calls `predict_topk` of the last one; for a fitted search it uses
    `best_estimator_`. An estimator without `predict_topk` must have a `predict_proba` or `decision_function` that
    returns one array of shape (n_samples, n_labels).

    >>> from scipy import sparse
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> import weald
    >>> from weald.metrics import make_topk_scorer
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> search = GridSearchCV(
    ...     weald.DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": [1, 3]},
    ...     scoring=make_topk_scorer("precision_at_k", k=1),
    ...     cv=KFold(2),
    ... ).fit(X, Y)
    >>> search.best_params_
    {'max_depth': 3}

    Parameters
    ----------
    metric : str or callable
        A metric of this module or its name, except `coverage_error`, which needs the scores of all labels. Or a
        callable `metric(y_true, y_score, **options)`, where `y_score` is the tuple of labels and scores that
        `predict_topk` returns. `k` is passed to the callable if it has a parameter of that name.
    k : int
        The number of highest-scoring labels, from 1 to the number of labels.
    greater_is_better : bool or None, default=None
        Whether a larger value of the metric is better. If False, the scorer returns the negative of the metric. If
        None, it is False for `one_error` and True for all other metrics.
    **options
        Further keyword arguments of `metric`, such as `propensities`.

    Returns
    -------
    callable
        A scorer with the signature `scorer(estimator, X, y)`, which can be passed to scikit-learn as `scoring`. It can
        be pickled if `metric` can be pickled.
    """
    metric = _found(metric, _TOPK_METRICS)
    if metric is coverage_error:
        raise ValueError(
            "metric must be a metric of the first k labels, got coverage_error, which needs scores of all labels"
        )
    k = integer("k", k, 1)
    return scorers.TopkScorer(metric, k, _sign(greater_is_better, metric is not one_error), options)


def make_label_scorer(
    metric: str | Callable[..., float], *, greater_is_better: bool | None = None, **options: object
) -> Callable[..., float]:
    """Make a scorer from a metric of the scores of all labels, for searches, cross-validation and early stopping.

    Entries of y that are unknown are left out, while scikit-learn's scorers of the same names raise an error for NaN in
    y. The scorer calls `predict_proba`, or for `roc_auc` and `average_precision` the `decision_function` of an estimator
    without it. If y is sparse, the probabilities of trees and forests of weald are sparse too. Pipelines, searches and
    frozen estimators are supported.

    Parameters
    ----------
    metric : str or callable
        `roc_auc`, `average_precision`, `log_loss` or `brier`, or the name of one of them. Or a callable
        `metric(y_true, y_score, **options)`, where `y_score` are probabilities, or margins if there are none. Sample
        weights are passed to it as `sample_weight`, if the scorer gets any.
    greater_is_better : bool or None, default=None
        Whether a larger value of the metric is better. If False, the scorer returns the negative of the metric. If
        None, it is False for `log_loss` and `brier`, and True for all other metrics.
    **options
        Further keyword arguments of `metric`, such as `average`.

    Returns
    -------
    callable
        A scorer with the signature `scorer(estimator, X, y, sample_weight=None)`, which can be passed to scikit-learn
        and to boosting as `scoring`. It can be pickled if `metric` can be pickled.

    Raises
    ------
    ValueError
        If the metric is unknown.
    TypeError
        If `metric` is neither a name nor a callable, or `return_counts` is among the options.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> from weald.metrics import make_label_scorer
    >>> from weald.model_selection import cross_validate
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = np.array([[x[0] == j for j in range(4)] for x in X], dtype=float)
    >>> Y[::7, 1] = np.nan  # unknown
    >>> scoring = make_label_scorer("roc_auc")
    >>> cross_validate(weald.DecisionTreeClassifier(), X, Y, cv=2, scoring=scoring)["test_score"]
    array([1., 1.])
    """
    metric = _found(metric, _LABEL_METRICS)
    if options.get("return_counts"):
        raise TypeError("return_counts must be False in a scorer, which returns one number, got True")
    is_loss = metric in (log_loss, brier)
    return scorers.LabelScorer(metric, _sign(greater_is_better, not is_loss), options, of_probabilities=is_loss)


def _found(metric: str | Callable[..., Any], named: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """A metric, which may be given by its name in a table."""
    if isinstance(metric, str) and metric in named:
        return named[metric]
    if callable(metric):
        return metric
    kind = ValueError if isinstance(metric, str) else TypeError
    raise kind(f"metric must be a callable or one of {sorted(named)}, got {metric!r}")


def _sign(greater_is_better: object, default: bool) -> int:
    """The factor from a metric to a score."""
    if greater_is_better is not None and not isinstance(greater_is_better, bool | np.bool_):
        raise TypeError(f"greater_is_better must be True, False or None, got {shown(greater_is_better)}")
    return 1 if (default if greater_is_better is None else greater_is_better) else -1


_LABEL_METRICS: dict[str, Callable[..., Any]] = {
    metric.__name__: metric for metric in (average_precision, brier, log_loss, roc_auc)
}

_TOPK_METRICS: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (
        label_coverage_at_k,
        macro_f1,
        micro_f1,
        ndcg_at_k,
        one_error,
        precision_at_k,
        psndcg_at_k,
        psp_at_k,
        recall_at_k,
    )
}
