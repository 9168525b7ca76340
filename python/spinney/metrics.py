"""Scores for predictions and rankings of many labels, in a time that goes with the entries stored.

`y_true` is a 0/1 matrix of shape (n_samples, n_labels), dense or sparse of any format. `y_score` is one of

* dense scores of that shape;
* sparse scores of that shape: entries that are not stored score zero;
* the labels of largest score, an integer array of shape (n_samples, k), best first, -1 where there is none;
* what `predict_topk` returns: a tuple of such labels and their scores, by which they are ranked.

Equal scores rank by label, the lower first. Nothing of size n_samples × n_labels is made unless it is passed.

Cells of `y_true` that are not known, NaN in a dense array or True or 1 in `y_mask` (of its shape, dense or sparse), are
left out of the ranking: the first labels of a row are the first of those that are known, and a row without any is none.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from spinney import _propensity, _ranks
from spinney._docs import documented
from spinney._label_counts import check_zero_division, counts
from spinney._label_gains import Ranking, mean_ratio, ratio
from spinney._scorers import TopkScorer
from spinney._sparse import is_sparse

__all__ = [
    "coverage_error",
    "label_coverage_at_k",
    "macro_f1",
    "make_topk_scorer",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
]

Float = NDArray[np.float64]


@documented
def one_error(y_true: Any, y_score: Any, *, y_mask: Any = None) -> float:
    """Share of the rows whose first label is wrong: 0 is best.

    Parameters
    ----------
    {y_true_and_score}
    {y_mask_of_metrics}

    Returns
    -------
    float
        A row without labels counts as an error. NaN when no cell is known.

    Raises
    ------
    ValueError
        When shapes do not fit or values are not finite.

    Examples
    --------
    >>> from spinney.metrics import one_error
    >>> one_error([[0, 1], [1, 0]], [[0.2, 0.7], [0.1, 0.3]])
    0.5
    """
    return 1.0 - precision_at_k(y_true, y_score, k=1, y_mask=y_mask)


@documented
def precision_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Mean over rows of the share of right labels among the first `k`.

    Parameters
    ----------
    {ranking}
    {y_mask_of_metrics}

    Returns
    -------
    float
        A row of fewer than `k` known labels has the share among these. NaN when no cell is known.

    Raises
    ------
    {faults_of_rankings}

    Examples
    --------
    >>> from spinney.metrics import precision_at_k
    >>> precision_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    0.75
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    if ranking.mask is None:
        return float(ranking.hits.mean())
    n_known = ranking.labels.shape[1] - np.diff(ranking.mask.indptr)
    n_right = np.count_nonzero(ranking.hits, axis=1)
    return mean_ratio(n_right, np.minimum(n_known, ranking.hits.shape[1]))


@documented
def recall_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Mean over rows of the share of the row's labels that are among the first `k`.

    Rows without labels are left out. A row of more than `k` labels cannot reach 1.

    Parameters
    ----------
    {ranking}
    {y_mask_of_metrics}

    Returns
    -------
    {unless_known}

    Raises
    ------
    {faults_of_rankings}

    Examples
    --------
    >>> from spinney.metrics import recall_at_k
    >>> recall_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=1)
    0.75
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    return mean_ratio(np.count_nonzero(ranking.hits, axis=1), np.diff(ranking.labels.indptr))


@documented
def ndcg_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Mean over rows of the discounted gain of the first `k` labels over the largest possible.

    A right label at rank r gains 1 / log2(r + 1). Rows without labels are left out.

    Parameters
    ----------
    {ranking}
    {y_mask_of_metrics}

    Returns
    -------
    {unless_known}

    Raises
    ------
    {faults_of_rankings}

    Examples
    --------
    >>> from spinney.metrics import ndcg_at_k
    >>> ndcg_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    1.0
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    return mean_ratio(ranking.hits @ ranking.discounts, ranking.ideal)


def propensities(Y: Any, a: float = 0.55, b: float = 1.5) -> Float:
    """How likely it is that a label that is right was written down, estimated from how frequent each label is.

    A label of N_l of N rows has the propensity p_l = 1 / (1 + C exp(-a log(N_l + b))), where C = (log N - 1)(b + 1)^a,
    and 0 in place of a negative C (fewer than three rows). Of Jain, Prabhu and Varma, Extreme multi-label loss
    functions for recommendation, tagging, ranking and other missing label applications, KDD 2016.

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        The labels of the training rows, or of all rows.
    a, b : float, default=0.55 and 1.5
        Not negative, and positive. There: 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (n_labels,)
        Above 0, at most 1; frequent labels have more.

    Raises
    ------
    ValueError
        When values of `Y` are not finite, or `a` or `b` is out of range.

    Examples
    --------
    >>> from spinney.metrics import propensities
    >>> propensities([[1, 0], [1, 0], [1, 0], [1, 1]]).round(2)
    array([0.8 , 0.72])
    """
    for name, value, least in (("a", a, "0"), ("b", b, "above 0")):
        in_range = isinstance(value, Real) and not isinstance(value, bool) and 0 <= value < np.inf
        if not in_range or (value == 0 and least != "0"):
            raise ValueError(f"{name} is {value!r}, accepted: a finite number from {least}")
    labels, _ = _ranks.known_labels(Y, None, "Y")
    n, d = labels.shape
    frequencies = np.bincount(labels.indices, minlength=d)
    found: Float = 1.0 / _propensity.inverse(frequencies, n, a, b)
    if not found.all():
        raise ValueError(f"a is {a!r} and b is {b!r}, which makes propensities zero, accepted: less extreme values")
    return found


@documented
def psp_at_k(y_true: Any, y_score: Any, k: int, *, propensities: Any, y_mask: Any = None) -> float:
    """Propensity-scored precision: rare labels that are right count more, and the best ranking possible has 1.

    The gain of a row is the sum of 1 / p_l over the right labels l among its first `k`, where p_l is the propensity;
    the score is the sum of the gains of all rows over the sum of their largest possible gains, those of each row's `k`
    labels of smallest propensity. So it is reported for the data sets of the Extreme Classification Repository; of
    Jain, Prabhu and Varma (KDD 2016).

    Parameters
    ----------
    {ranking}
    {propensities}
    {y_mask_of_metrics}

    Returns
    -------
    {unless_known}

    Raises
    ------
    {faults_of_gains}

    Examples
    --------
    >>> from spinney.metrics import psp_at_k
    >>> psp_at_k([[1, 1], [1, 0]], [[1], [1]], k=1, propensities=[0.5, 0.25])
    0.6666666666666666
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    gains, best = ranking.gains(propensities)
    return ratio(gains.sum(), best.sum())


@documented
def psndcg_at_k(y_true: Any, y_score: Any, k: int, *, propensities: Any, y_mask: Any = None) -> float:
    """Propensity-scored nDCG: rare labels that are right count more, earlier ranks too, and the best possible has 1.

    A right label l at rank r gains 1 / (p_l log2(r + 1)), where p_l is the propensity. The gain of a row is the sum
    over its first `k` ranks, divided by the sum of 1 / log2(r + 1) over as many ranks as the row has labels, at most
    `k`. The score is the sum of the gains of all rows over the sum of their largest possible gains, where the labels
    of smallest propensity come first. So it is reported for the data sets of the Extreme Classification Repository; of
    Jain, Prabhu and Varma (KDD 2016).

    Parameters
    ----------
    {ranking}
    {propensities}
    {y_mask_of_metrics}

    Returns
    -------
    {unless_known}

    Raises
    ------
    {faults_of_gains}

    Examples
    --------
    >>> from spinney.metrics import psndcg_at_k
    >>> psndcg_at_k([[1, 1], [1, 0]], [[1, 0], [0, 1]], k=2, propensities=[0.5, 0.25])
    1.0
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    gains, best = ranking.gains(propensities)
    ideal = np.where(ranking.ideal > 0, ranking.ideal, 1.0)
    discounts = ranking.discounts
    return ratio(((gains @ discounts) / ideal).sum(), ((best @ discounts) / ideal).sum())


@documented
def label_coverage_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Share of the labels that are among the first `k` of a row that has them at least once.

    Of the labels that `y_true` has: one that no row has cannot be named rightly.

    Parameters
    ----------
    {ranking}
    {y_mask_of_metrics}

    Returns
    -------
    {unless_known}

    Raises
    ------
    {faults_of_rankings}

    Examples
    --------
    >>> from spinney.metrics import label_coverage_at_k
    >>> label_coverage_at_k([[0, 1, 1], [1, 0, 0]], [[1], [2]], k=1)
    0.3333333333333333
    """
    ranking = Ranking(y_true, y_score, k, y_mask)
    named = np.unique(ranking.ranked[ranking.hits])
    return ratio(len(named), len(np.unique(ranking.labels.indices)))


def coverage_error(y_true: Any, y_score: Any, *, y_mask: Any = None) -> float:
    """Mean over rows of how many labels have to be looked at, by falling score, to see all labels of the row.

    As `sklearn.metrics.coverage_error`, for sparse matrices too: among equal scores right labels come last, and a row
    without labels has 0.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Scores of all labels. Entries of sparse scores that are not stored score zero.
    y_mask : {array-like, sparse matrix} of the shape of y_true, default=None
        True or 1 in cells that are not known: these are not looked at.

    Returns
    -------
    float
        NaN when no cell is known.

    Raises
    ------
    ValueError
        When shapes do not fit, values are not finite, or `y_score` is the first labels alone.

    Examples
    --------
    >>> from spinney.metrics import coverage_error
    >>> coverage_error([[0, 1, 1], [1, 0, 0]], [[0.2, 0.7, 0.1], [0.1, 0.0, 0.0]])
    2.0
    """
    if _ranks.is_pair(y_score):
        raise ValueError("y_score is labels and their scores, accepted: scores of all labels")
    labels, mask = _ranks.known_labels(y_true, y_mask)
    y_score = check_array(y_score, accept_sparse=True, input_name="y_score")
    scores = _ranks.of_all_labels(y_score, labels.shape)
    rows, n_right = _ranks.rows_of(labels), np.diff(labels.indptr)
    n_known = np.full(labels.shape[0], labels.shape[1]) - (0 if mask is None else np.diff(mask.indptr))
    some = n_right > 0
    least = np.full(labels.shape[0], np.inf)
    if is_sparse(scores):
        if mask is not None:
            scores = _ranks.without(scores, mask)
        at, there = _ranks.places_in(scores, rows, labels.indices)
        of_labels = np.where(there, scores.data[at], 0.0) if scores.nnz else np.zeros(len(rows))
        least[some] = np.minimum.reduceat(of_labels, labels.indptr[:-1][some]) if some.any() else least[some]
        stored_rows = _ranks.rows_of(scores)
        n_above = np.bincount(stored_rows[scores.data >= least[stored_rows]], minlength=len(least))
        n_above += np.where(least <= 0, n_known - np.diff(scores.indptr), 0)
    else:
        of_labels = scores[rows, labels.indices]
        least[some] = np.minimum.reduceat(of_labels, labels.indptr[:-1][some]) if some.any() else least[some]
        is_above = scores >= least[:, None]
        if mask is not None:
            is_above[_ranks.rows_of(mask), mask.indices] = False
        n_above = np.count_nonzero(is_above, axis=1)
    return ratio(n_above.sum(), np.count_nonzero(n_known))


@documented
def micro_f1(y_true: Any, y_pred: Any, *, y_mask: Any = None, zero_division: float = 0.0) -> float:
    """F1 of all cells together: twice the right labels over the labels there are and those predicted.

    `sklearn.metrics.f1_score` with `average="micro"`.

    Parameters
    ----------
    {y_true_and_pred}
    {y_mask_of_metrics}
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value when there is no label and none is predicted.

    Returns
    -------
    float

    Raises
    ------
    {faults_of_predictions}

    Examples
    --------
    >>> from spinney.metrics import micro_f1
    >>> micro_f1([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.8
    """
    n_right, n_cells = counts(y_true, y_pred, y_mask)
    zero = check_zero_division(zero_division)
    return 2.0 * int(n_right.sum()) / int(n_cells.sum()) if n_cells.any() else zero


@documented
def macro_f1(y_true: Any, y_pred: Any, *, y_mask: Any = None, zero_division: float = 0.0) -> float:
    """Mean over labels of the F1 of each.

    `sklearn.metrics.f1_score` with `average="macro"`.

    Parameters
    ----------
    {y_true_and_pred}
    {y_mask_of_metrics}
    zero_division : {0.0, 1.0, np.nan}, default=0.0
        The value of a label that no row has and that is never predicted; NaN leaves it out.

    Returns
    -------
    float
        NaN when all labels are left out.

    Raises
    ------
    {faults_of_predictions}

    Examples
    --------
    >>> from spinney.metrics import macro_f1
    >>> macro_f1([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.6666666666666666
    """
    n_right, n_cells = counts(y_true, y_pred, y_mask)
    zero = check_zero_division(zero_division)
    some = n_cells > 0
    f1 = np.full(len(n_cells), zero)
    f1[some] = 2.0 * n_right[some] / n_cells[some]
    f1 = f1[~np.isnan(f1)]
    return float(f1.mean()) if len(f1) else float("nan")


def make_topk_scorer(
    metric: str | Callable[..., float], k: int, *, greater_is_better: bool | None = None, **options: Any
) -> Callable[[Any, Any, Any], float]:
    """A scorer of the first `k` labels that an estimator predicts, for searches and cross-validation.

    It calls `predict_topk` of the estimator, so that scores of all labels are never held: of the last step of a
    `Pipeline`, after the steps before, and of the best estimator of a search. Other estimators need a `predict_proba`
    or `decision_function` that returns one array (n_samples, n_labels).

    Parameters
    ----------
    metric : str or callable
        A function of this module or its name, other than `coverage_error`, which needs all scores; or a function of
        `y_true`, a tuple of labels and scores as of `predict_topk`, and `options`; `k` is passed if it has that
        parameter.
    k : int
        From 1 to the number of labels.
    greater_is_better : bool, default=None
        Whether scores are the metric, or its negative. None: its negative for `one_error` alone.
    **options
        Passed to `metric`, such as `propensities`.

    Returns
    -------
    callable
        Of an estimator, X and y. It can be pickled when `metric` can, and is accepted as `scoring` by scikit-learn.

    Raises
    ------
    ValueError
        When there is no such metric, or `k` is not a positive integer.
    TypeError
        When `metric` is neither a name nor a function.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> import spinney
    >>> from spinney.metrics import make_topk_scorer
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> search = GridSearchCV(
    ...     spinney.DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": [1, 3]},
    ...     scoring=make_topk_scorer("precision_at_k", k=1),
    ...     cv=KFold(2),
    ... ).fit(X, Y)
    >>> search.best_params_
    {'max_depth': 3}
    """
    if isinstance(metric, str):
        if metric not in _TOPK_METRICS:
            raise ValueError(f"metric is {metric!r}, accepted: a function, or one of {sorted(_TOPK_METRICS)}")
        metric = _TOPK_METRICS[metric]
    if not callable(metric):
        raise TypeError(f"metric is {metric!r}, accepted: a function, or one of {sorted(_TOPK_METRICS)}")
    if metric is coverage_error:
        raise ValueError("metric is coverage_error, which needs scores of all labels, accepted: metrics of the first k")
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k is {k!r}, accepted: a positive integer")
    if greater_is_better is None:
        greater_is_better = metric is not one_error
    return TopkScorer(metric, int(k), 1 if greater_is_better else -1, options)


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
