"""Scores for rankings of many labels.

`y_true` is a 0/1 matrix of shape (n_samples, n_labels), dense or sparse. `y_score` is one of

* dense scores of that shape;
* sparse scores of that shape: entries that are not stored score zero;
* the labels of largest score, an integer array of shape (n_samples, k), best first, as of `predict_topk`.

Equal scores rank by label, the lower first. Nothing of size n_samples × n_labels is made unless it is passed.

Cells of `y_true` that are not known, NaN in a dense array or True or 1 in `y_mask` (of its shape, dense or sparse), are
left out of the ranking: the first labels of a row are the first of those that are known, and a row without any is none.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney import _masks
from spinney._sparse import is_sparse

__all__ = ["ndcg_at_k", "one_error", "precision_at_k"]


def one_error(y_true: Any, y_score: Any, *, y_mask: Any = None) -> float:
    """Share of the rows whose first label is wrong: 0 is best.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module
    y_mask : {array-like, sparse matrix} of the shape of y_true, default=None
        True or 1 in cells that are not known.

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


def precision_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Mean over rows of the share of right labels among the first `k`.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module
    k : int
        From 1 to the number of labels, or of columns of `y_score` where it holds labels.
    y_mask : {array-like, sparse matrix} of the shape of y_true, default=None
        True or 1 in cells that are not known.

    Returns
    -------
    float
        A row of fewer than `k` known labels has the share among these. NaN when no cell is known.

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
    y_true, mask = _labels(y_true, y_mask)
    hits = _hits(y_true, y_score, k, mask)
    if mask is None:
        return float(hits.mean())
    n_known = y_true.shape[1] - np.diff(mask.indptr)
    rows = n_known > 0
    shares = hits[rows].sum(axis=1) / np.minimum(n_known[rows], hits.shape[1])
    return float(shares.mean()) if rows.any() else float("nan")


def ndcg_at_k(y_true: Any, y_score: Any, k: int, *, y_mask: Any = None) -> float:
    """Mean over rows of the discounted gain of the first `k` labels over the largest possible.

    A right label at rank r gains 1 / log2(r + 1). Rows without labels are left out.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
    y_score : scores, or labels in their order; see the module
    k : int
        From 1 to the number of labels, or of columns of `y_score` where it holds labels.
    y_mask : {array-like, sparse matrix} of the shape of y_true, default=None
        True or 1 in cells that are not known.

    Returns
    -------
    float
        NaN when no row has a known label.

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
    y_true, mask = _labels(y_true, y_mask)
    hits = _hits(y_true, y_score, k, mask)
    n_right = np.diff(y_true.indptr)
    discounts = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_right, hits.shape[1])]
    rows = n_right > 0
    return float(((hits @ discounts)[rows] / ideal[rows]).mean()) if rows.any() else float("nan")


def _labels(y_true: Any, y_mask: Any) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """The known labels, and the cells that are not known, in canonical form; None where all are."""
    y_true = check_array(y_true, accept_sparse=True, input_name="y_true", ensure_all_finite="allow-nan")
    if is_sparse(y_true):
        y_true = check_array(y_true, accept_sparse=True, input_name="y_true")
    missing = None if is_sparse(y_true) else _masks.of_missing(y_true)
    mask = _masks.join(missing, None if y_mask is None else _masks.check(y_mask, y_true.shape))
    labels = sparse.csr_array(y_true != 0)
    labels.sum_duplicates()
    if mask is None:
        return labels, None
    mask = sparse.csr_array(mask)
    mask.sort_indices()
    labels = sparse.csr_array(labels > labels.multiply(mask))
    labels.sort_indices()
    return labels, mask


def _hits(y_true: sparse.csr_array, y_score: Any, k: int, mask: sparse.csr_array | None) -> NDArray[np.bool_]:
    """Whether the known label at each of the first k ranks is right, (n_samples, k)."""
    more = 0 if mask is None else int(np.diff(mask.indptr).max(initial=0))
    ranked = _ranked(y_true, y_score, k, more)
    right = _are_stored(y_true, ranked)
    if mask is None:
        return right
    known = ~_are_stored(mask, ranked)
    rank = np.cumsum(known, axis=1) - 1
    rows, places = np.nonzero(known & (rank < k))
    hits = np.zeros((len(ranked), int(k)), dtype=np.bool_)
    hits[rows, rank[rows, places]] = right[rows, places]
    return hits


def _are_stored(pattern: sparse.csr_array, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a pattern of canonical form has each of some columns of each row."""
    n, d = pattern.shape
    stored = np.repeat(np.arange(n), np.diff(pattern.indptr)) * d + pattern.indices
    asked = np.arange(n)[:, None] * d + columns
    if not len(stored):
        return np.zeros(asked.shape, dtype=np.bool_)
    stored = np.sort(stored)
    at = np.minimum(np.searchsorted(stored, asked), len(stored) - 1)
    found: NDArray[np.bool_] = stored[at] == asked
    return found


def _ranked(y_true: sparse.csr_array, y_score: Any, k: int, more: int) -> NDArray[np.intp]:
    """The first k labels of each row, and as many more as there are up to `more`."""
    n, d = y_true.shape
    y_score = check_array(y_score, accept_sparse="csr", dtype=None, input_name="y_score")
    if y_score.shape[0] != n:
        raise ValueError(f"y_score has {y_score.shape[0]} rows, expected {n}: those of y_true")
    is_labels = not is_sparse(y_score) and y_score.dtype.kind in "iu"
    if not is_labels and y_score.shape[1] != d:
        raise ValueError(f"y_score has {y_score.shape[1]} columns, expected {d}: those of y_true")
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= y_score.shape[1]:
        raise ValueError(f"k is {k!r}, accepted: an integer from 1 to {y_score.shape[1]}")
    k = min(int(k) + more, y_score.shape[1])
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
