"""The highest-scoring labels of each sample, from scores in any form, in time proportional to the stored entries.

A ranking is an int64 array of shape (n_samples, k) with the indices of labels, best first, and the lower index first
among equal scores. It is padded with -1. Masked entries are in no ranking.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald._input import checks, masks, targets
from weald._input.checks import named
from weald._input.sparse import is_sparse

Index = NDArray[np.int64]

# Number of entries of a block, which fits into the cache of the processor: 2 MiB of float64.
_BLOCK = 1 << 18


def known_labels(y_true: Any, y_mask: Any, name: str = "y_true") -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """The known labels, and the pattern of unknown entries (None if all are known), in canonical form."""
    target = targets.labels(y_true, what=name, y_mask=y_mask)
    return target.original, target.mask


def pattern(cells: Any, name: str) -> sparse.csr_array:
    """The pattern of non-zero entries, in canonical form. The argument, called `name` in messages, is not modified."""
    stored = _stored(cells, name) if is_sparse(cells) else sparse.csr_array(cells != 0)
    return _pattern_of(stored)


def _pattern_of(matrix: sparse.csr_array) -> sparse.csr_array:
    """The pattern of non-zero entries of a matrix that is in canonical form already."""
    is_there = matrix.data != 0
    return _only(sparse.csr_array((is_there, matrix.indices, matrix.indptr), shape=matrix.shape), is_there)


def _stored(matrix: Any, name: str) -> sparse.csr_array:
    """A sparse matrix as canonical CSR, which shares memory with the argument if that is canonical CSR."""
    matrix = checks.canonical(matrix, name).tocsr()
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


def without(cells: sparse.csr_array, mask: sparse.csr_array) -> sparse.csr_array:
    """The entries of a matrix that are not in a pattern; both in canonical form."""
    return _only(cells, ~_has(mask, rows_of(cells), cells.indices))


def rows_of(matrix: sparse.csr_array) -> Index:
    """The row index of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def are_in(cells: sparse.csr_array, ranked: Index) -> NDArray[np.bool_]:
    """Whether each label of a ranking is in a pattern in canonical form; False for padding."""
    return (ranked >= 0) & _has(cells, np.arange(len(ranked))[:, None], ranked)


def places_in(cells: sparse.csr_array, rows: Any, columns: Any) -> tuple[Index, NDArray[np.bool_]]:
    """The positions of (row, column) pairs among the stored entries of a canonical matrix, and whether they exist."""
    d = cells.shape[1]
    asked = rows * d + columns
    if not cells.nnz:
        return np.zeros(asked.shape, dtype=np.int64), np.zeros(asked.shape, dtype=np.bool_)
    stored = rows_of(cells) * d + cells.indices
    at = np.minimum(np.searchsorted(stored, asked), len(stored) - 1)
    return at, stored[at] == asked


def are_entries_in(matrix: sparse.csr_array, cells: Any) -> NDArray[np.bool_]:
    """Whether each stored entry of a matrix is also stored in another one of equal shape; both in canonical form."""
    return _has(cells, rows_of(matrix), matrix.indices)


def _has(cells: sparse.csr_array, rows: Any, columns: Any) -> NDArray[np.bool_]:
    return places_in(cells, rows, columns)[1]


def _only(matrix: sparse.csr_array, keep: NDArray[np.bool_]) -> sparse.csr_array:
    """The matrix with only some of its stored entries."""
    if keep.all():
        return matrix
    ends = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], ends), shape=matrix.shape)


def check_k(k: Any, most: int) -> int:
    return checks.integer("k", k, 1, most)


def first(y_score: Any, k: Any, shape: tuple[int, int], mask: sparse.csr_array | None) -> Index:
    """The ranking of the `k` highest-scoring known labels."""
    if is_pair(y_score):
        labels, its_scores = y_score
        ranked = listed(labels, its_scores, shape, mask)
        return ranked[:, : check_k(k, ranked.shape[1])]
    with named("y_score"):
        y_score = check_array(y_score, accept_sparse=True, dtype=None, input_name="y_score")
    if not is_sparse(y_score) and y_score.dtype.kind in "iu":
        k = check_k(k, y_score.shape[1])
        if mask is None and (y_score[:, :k] >= 0).all():
            # Labels after the first k are not validated.
            y_score = y_score[:, :k]
        return listed(y_score, None, shape, mask)[:, :k]
    scores = of_all_labels(y_score, shape)
    k = check_k(k, shape[1])
    return _of_sparse(scores, k, mask) if is_sparse(scores) else _of_dense(scores, k, mask)


def is_pair(y_score: Any) -> bool:
    """Whether `y_score` is a result of `predict_topk`: a tuple of two two-dimensional arrays."""
    return isinstance(y_score, tuple) and len(y_score) == 2 and all(np.ndim(part) == 2 for part in y_score)


def of_all_labels(y_score: Any, shape: tuple[int, int]) -> Any:
    """Validated scores of all labels as float32 or float64, dense or as canonical CSR."""
    _check_rows(y_score.shape[0], shape[0])
    if y_score.shape[1] != shape[1]:
        raise ValueError(f"y_score must have {shape[1]} columns, as y_true, got {y_score.shape[1]}")
    if is_sparse(y_score):
        y_score = _stored(y_score, "y_score")
    with named("y_score"):
        return y_score if y_score.dtype in (np.float32, np.float64) else y_score.astype(np.float64)


def _check_rows(n_rows: int, expected: int) -> None:
    if n_rows != expected:
        raise ValueError(f"y_score must have {expected} rows, as y_true, got {n_rows}")


def listed(labels: Any, scores: Any, shape: tuple[int, int], mask: sparse.csr_array | None = None) -> Index:
    """The ranking of listed labels, by their scores if these are given, and otherwise in the order of the list."""
    with named("y_score"):
        labels = check_array(labels, dtype=None, input_name="y_score")
    n, d = shape
    _check_rows(len(labels), n)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"y_score must have labels of an integer dtype, with -1 for no label, got dtype {labels.dtype}"
        )
    if labels.min() < -1 or labels.max() >= d:
        raise ValueError(f"y_score must have labels from 0 to {d - 1}, or -1 for no label, got others")
    ranked: Index = labels.astype(np.int64)
    _check_once(ranked)
    if scores is not None:
        ranked = _by_score(ranked, scores)
    if mask is not None:
        ranked[are_in(mask, ranked)] = -1
    absent = ranked < 0
    if absent.any():
        ranked = np.take_along_axis(ranked, np.argsort(absent, axis=1, kind="stable"), axis=1)
    return ranked


def _check_once(labels: Index) -> None:
    in_order = np.sort(labels, axis=1)
    rows, places = np.nonzero((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0))
    if len(rows):
        twice = in_order[rows[0], places[0]]
        raise ValueError(f"y_score must have each label once in a row, got the label {twice} twice in row {rows[0]}")


def _by_score(labels: Index, scores: Any) -> Index:
    scores = np.asarray(scores)
    if scores.shape != labels.shape:
        raise ValueError(f"y_score must have scores of shape {labels.shape}, that of its labels, got {scores.shape}")
    # The scores of padding are ignored.
    with named("y_score"):
        scores = check_array(np.where(labels < 0, 0, scores), dtype=np.float64, input_name="y_score")
    order = np.lexsort((labels, -scores), axis=1)
    return np.take_along_axis(labels, order, axis=1)


def _of_dense(scores: NDArray[Any], k: int, mask: sparse.csr_array | None) -> Index:
    n, d = scores.shape
    ranked = np.empty((n, k), dtype=np.int64)
    n_rows = max(1, _BLOCK // d)
    for start in range(0, n, n_rows):
        block = scores[start : start + n_rows]
        if mask is None:
            ranked[start : start + n_rows] = _best(block, k)
            continue
        block = block.copy()
        hidden = mask[start : start + n_rows]
        block[rows_of(hidden), hidden.indices] = -np.inf
        columns = _best(block, k)
        # Scores are finite, so that minus infinity means masked.
        ranked[start : start + n_rows] = np.where(np.take_along_axis(block, columns, axis=1) > -np.inf, columns, -1)
    return ranked


def _of_sparse(scores: sparse.csr_array, k: int, mask: sparse.csr_array | None) -> Index:
    """The ranking by sparse scores: positive scores, then zeros, stored or not, and then negative scores."""
    d = scores.shape[1]
    if mask is not None:
        scores = without(scores, mask)
    positive = _only(scores, scores.data > 0)
    ranked = best_stored(positive, k)
    n_ranked = np.diff(positive.indptr)
    if len(rows := np.flatnonzero(n_ranked < k)):
        occupied = _pattern_of(scores[rows])
        if mask is not None:
            occupied = pattern(occupied + mask[rows], "y_mask")
        ranked[rows] = _followed(ranked[rows], n_ranked[rows], _first_absent(occupied, k))
        n_ranked[rows] += (d - np.diff(occupied.indptr)).astype(n_ranked.dtype)
    if len(rows := np.flatnonzero(n_ranked < k)):
        last = scores[rows]
        ranked[rows] = _followed(ranked[rows], n_ranked[rows], best_stored(_only(last, last.data < 0), k))
    return ranked


def _followed(ranked: Index, n_ranked: Any, more: Index) -> Index:
    """The rankings `more`, appended to the first `n_ranked` places of each ranking."""
    place = np.arange(ranked.shape[1]) - n_ranked[:, None]
    return np.where(place < 0, ranked, np.take_along_axis(more, np.maximum(place, 0), axis=1))


def _first_absent(occupied: sparse.csr_array, k: int) -> Index:
    """The first k columns of each row that have no stored entry."""
    n, d = occupied.shape
    rows = rows_of(occupied)
    # For each stored column, the number of columns before it that are not stored. It shifts all of those from that
    # number on.
    before = occupied.indices - (np.arange(occupied.nnz) - occupied.indptr[rows])
    near = before < k
    moved = np.bincount(rows[near] * k + before[near], minlength=n * k).reshape(n, k)
    columns = np.arange(k) + np.cumsum(moved, axis=1)
    return np.where(columns < d, columns, -1)


def best_stored(matrix: sparse.csr_array, k: int) -> Index:
    """The columns of the k largest stored entries of each row of a matrix in canonical form."""
    n = matrix.shape[0]
    lengths = np.diff(matrix.indptr)
    ranked = np.full((n, k), -1, dtype=np.int64)
    # Rows with 2^(c-1) < length <= 2^c entries are processed together, as arrays of at most twice the size.
    size_class = np.frexp(np.maximum(lengths - 1, 0).astype(np.float64))[1]
    for c in np.unique(size_class[lengths > 0]):
        rows = np.flatnonzero((size_class == c) & (lengths > 0))
        n_rows = max(1, _BLOCK >> int(c))
        for start in range(0, len(rows), n_rows):
            some = rows[start : start + n_rows]
            values, there = _rectangle(matrix, some, lengths[some])
            places = _best(values, min(k, values.shape[1]))
            columns = matrix.indices[np.minimum(matrix.indptr[some][:, None] + places, matrix.nnz - 1)]
            is_entry = np.take_along_axis(there, places, axis=1)
            ranked[some, : places.shape[1]] = np.where(is_entry, columns, -1)
    return ranked


def _rectangle(matrix: sparse.csr_array, rows: Index, lengths: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The stored entries of some rows as a dense array, padded by minus infinity, and a mask of the entries."""
    width = int(lengths.max())
    there = np.arange(width) < lengths[:, None]
    at = matrix.indptr[rows][:, None] + np.arange(width)
    if there.all():
        return matrix.data[at], there
    return np.where(there, matrix.data[np.minimum(at, matrix.nnz - 1)], matrix.data.dtype.type(-np.inf)), there


def _best(values: NDArray[Any], k: int) -> Index:
    """The positions of the k largest values of each row in descending order, the first ones among equal values."""
    n, width = values.shape
    if k == width:
        return np.argsort(-values, axis=1, kind="stable")
    least = np.partition(values, width - k, axis=1)[:, width - k, None]
    chosen = values >= least
    tied = np.flatnonzero(np.count_nonzero(chosen, axis=1) > k)
    if len(tied):
        above = values[tied] > least[tied]
        equal = values[tied] == least[tied]
        room = k - np.count_nonzero(above, axis=1)
        chosen[tied] = above | (equal & (np.cumsum(equal, axis=1) <= room[:, None]))
    # Invariant: k positions of each row are chosen, in the order of columns.
    places = np.nonzero(chosen)[1].reshape(n, k)
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def ranking_precision(scores: Any, truth: Any, mask: Any = None) -> float:
    """Label ranking average precision of CSR scores in canonical form. Entries that are not stored have score zero.

    This is `sklearn.metrics.label_ranking_average_precision_score`: for each label of a sample, the fraction of true
    labels among all labels with at least the same score, averaged over the labels of the sample and over samples. A
    sample with no labels or all labels has 1. Masked entries are ignored. The result is NaN without samples. The time
    is O(m log m) for m stored scores.
    """
    n, d = scores.shape
    if mask is not None:
        mask = sparse.csr_array(mask)
        mask.sort_indices()
        cells = are_entries_in(scores, mask)
        scores = sparse.csr_array((np.where(cells, 0.0, scores.data), scores.indices, scores.indptr), shape=(n, d))
        scores.eliminate_zeros()
    n_known = np.full(n, d) if mask is None else d - np.diff(mask.indptr)
    truth = sparse.csr_array(truth)
    truth.sort_indices()
    rows = rows_of(scores)
    order = np.lexsort((-scores.data, rows))
    values = scores.data[order]
    # The last entry of each run of equal scores in a row, up to which all entries of the row have at least this score.
    ends = np.ones(len(order), dtype=np.bool_)
    ends[:-1] = (values[1:] != values[:-1]) | (rows[1:] != rows[:-1])
    last = np.flatnonzero(ends)[np.searchsorted(np.flatnonzero(ends), np.arange(len(order)))]
    is_label = are_entries_in(scores, truth)[order]
    before = np.concatenate([[0], np.cumsum(is_label)])
    start = scores.indptr[rows]
    precision = (before[last + 1] - before[start]) / (last + 1 - start)
    by_row = np.bincount(rows, np.where(is_label, precision, 0.0), minlength=n)
    # Labels with score zero rank last, together with all entries of the row.
    n_labels = np.diff(truth.indptr)
    n_ranked = np.bincount(rows, is_label, minlength=n)
    counted = (n_labels > 0) & (n_labels < n_known)
    at_zero = (n_labels - n_ranked) * n_labels / np.maximum(n_known, 1)
    found = np.where(counted, (by_row + at_zero) / np.maximum(n_labels, 1), 1.0)
    if mask is not None:
        found = found[n_known > 0]
    score = float(found.mean()) if len(found) else float("nan")
    return score if mask is None else masks.Score(score, n_known.sum())
