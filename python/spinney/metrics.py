"""Scores for rankings of many labels.

`y_true` is a 0/1 matrix of shape (n_samples, n_labels), dense or sparse. `y_score` is one of

* dense scores of that shape;
* sparse scores of that shape: entries that are not stored score zero;
* the labels of largest score, an integer array of shape (n_samples, k), best first, as of `predict_topk`.

Equal scores rank by label, the lower first. Nothing of size n_samples × n_labels is made unless it is passed.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney._validation import is_sparse

__all__ = ["ndcg_at_k", "one_error", "precision_at_k"]


def one_error(y_true: Any, y_score: Any) -> float:
    """Share of the rows whose first label is wrong: 0 is best.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module

    Returns
    -------
    float
        A row without labels counts as an error.

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
    return 1.0 - precision_at_k(y_true, y_score, k=1)


def precision_at_k(y_true: Any, y_score: Any, k: int) -> float:
    """Mean over rows of the share of right labels among the first `k`.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module
    k : int
        From 1 to the number of labels, or of columns of `y_score` where it holds labels.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When shapes do not fit, values are not finite, `k` is out of range, or a row of labels has one twice.

    Examples
    --------
    >>> from spinney.metrics import precision_at_k
    >>> precision_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    0.75
    """
    return float(_hits(_labels(y_true), y_score, k).mean())


def ndcg_at_k(y_true: Any, y_score: Any, k: int) -> float:
    """Mean over rows of the discounted gain of the first `k` labels over the largest possible.

    A right label at rank r gains 1 / log2(r + 1). Rows without labels are left out.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module
    k : int
        From 1 to the number of labels, or of columns of `y_score` where it holds labels.

    Returns
    -------
    float
        NaN when no row has a label.

    Raises
    ------
    ValueError
        When shapes do not fit, values are not finite, `k` is out of range, or a row of labels has one twice.

    Examples
    --------
    >>> from spinney.metrics import ndcg_at_k
    >>> ndcg_at_k([[0, 1, 1], [1, 0, 0]], [[1, 2], [0, 2]], k=2)
    1.0
    """
    y_true = _labels(y_true)
    hits = _hits(y_true, y_score, k)
    n_right = np.diff(y_true.indptr)
    discounts = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_right, hits.shape[1])]
    rows = n_right > 0
    return float(((hits @ discounts)[rows] / ideal[rows]).mean()) if rows.any() else float("nan")


def _labels(y_true: Any) -> sparse.csr_array:
    y_true = check_array(y_true, accept_sparse=True, input_name="y_true")
    labels = sparse.csr_array(y_true != 0)
    labels.sum_duplicates()
    return labels


def _hits(y_true: sparse.csr_array, y_score: Any, k: int) -> NDArray[np.bool_]:
    """Whether the label at each of the first k ranks is right, (n_samples, k)."""
    ranked = _ranked(y_true, y_score, k)
    n, d = y_true.shape
    right = np.sort(np.repeat(np.arange(n), np.diff(y_true.indptr)) * d + y_true.indices)
    asked = np.arange(n)[:, None] * d + ranked
    if not len(right):
        return np.zeros(asked.shape, dtype=np.bool_)
    at = np.minimum(np.searchsorted(right, asked), len(right) - 1)
    found: NDArray[np.bool_] = right[at] == asked
    return found


def _ranked(y_true: sparse.csr_array, y_score: Any, k: int) -> NDArray[np.intp]:
    """The first k labels of each row."""
    n, d = y_true.shape
    y_score = check_array(y_score, accept_sparse="csr", dtype=None, input_name="y_score")
    if y_score.shape[0] != n:
        raise ValueError(f"y_score has {y_score.shape[0]} rows, expected {n}: those of y_true")
    is_labels = not is_sparse(y_score) and y_score.dtype.kind in "iu"
    if not is_labels and y_score.shape[1] != d:
        raise ValueError(f"y_score has {y_score.shape[1]} columns, expected {d}: those of y_true")
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= y_score.shape[1]:
        raise ValueError(f"k is {k!r}, accepted: an integer from 1 to {y_score.shape[1]}")
    k = int(k)
    if is_labels:
        ranked: NDArray[np.intp] = y_score[:, :k].astype(np.intp)
        if ranked.size and (ranked.min() < 0 or ranked.max() >= d):
            raise ValueError(f"y_score holds labels outside 0..{d - 1}")
        in_order = np.sort(ranked, axis=1)
        rows, places = np.nonzero(in_order[:, 1:] == in_order[:, :-1])
        if len(rows):
            twice = in_order[rows[0], places[0]]
            raise ValueError(f"y_score has the label {twice} twice in row {rows[0]}, accepted: each label once")
        return ranked
    if is_sparse(y_score):
        return np.stack([_best_of_row(y_score[[i]], k) for i in range(n)])
    # A stable sort of the negated scores: equal scores stay in the order of labels.
    order: NDArray[np.intp] = np.argsort(-y_score.astype(np.float64), axis=1, kind="stable")
    return order[:, :k]


def _best_of_row(row: Any, k: int) -> NDArray[np.intp]:
    """The first k labels of one sparse row: positive scores, then labels that score zero, then negative ones."""
    row = row.tocsr()
    row.sum_duplicates()
    stored, scores = row.indices, row.data
    order = np.lexsort((stored, -scores.astype(np.float64)))
    above, below = order[scores[order] > 0], order[scores[order] < 0]
    ranked = stored[above][:k]
    if len(ranked) < k:
        # Among the first k labels plus all stored ones there are k unless there are too few labels that score zero.
        nonzero = stored[scores != 0]
        zeros = np.setdiff1d(np.arange(min(row.shape[1], k + len(nonzero))), nonzero)
        ranked = np.concatenate([ranked, zeros[: k - len(ranked)]])
    if len(ranked) < k:
        ranked = np.concatenate([ranked, stored[below][: k - len(ranked)]])
    return np.asarray(ranked, dtype=np.intp)
