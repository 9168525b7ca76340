"""The highest-scoring labels of each sample, from scores in any form, in time proportional to the stored entries.

A ranking is an int64 array of shape (n_samples, k) with the indices of labels, best first, and the lower index first
among equal scores. It is padded with -1. Masked entries are in no ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald import _weald
from weald._input import checks, frames, masks, targets
from weald._input.checks import Float, Matrix, check_real, integer, named, number
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike, YWeight

Index = NDArray[np.int64]

# The padding in indices of the engine.
NONE = np.iinfo(np.uint32).max


def known_labels(
    y_true: MatrixLike | None, y_weight: YWeight, name: str = "y_true", y_score: Any = None, of_score: str = "y_score"
) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """The known labels, and the pattern of unknown entries (None if all are known), in canonical form.

    `y_score`, called `of_score`, must have the same names in the same order, if both have some.
    """
    labels, mask, cells = weighed_labels(y_true, y_weight, name, y_score, of_score)
    masks.check_ungraded(cells, "scores of rankings and of predicted labels")
    return labels, mask


def weighed_labels(
    y_true: MatrixLike | None, y_weight: YWeight, name: str = "y_true", y_score: Any = None, of_score: str = "y_score"
) -> tuple[sparse.csr_array, sparse.csr_array | None, masks.KnownCells | None]:
    """What `known_labels` returns, and what is known, whose weights may differ from one."""
    target = targets.labels(y_true, what=name, y_weight=y_weight)
    why = f"its columns must be those of {name}, in the same order"
    frames.check_same_names(frames.names_of(y_score, of_score), target.names, of_score, why)
    return target.original, target.mask, target.known


def pattern(cells: Matrix, name: str) -> sparse.csr_array:
    """The pattern of non-zero entries, in canonical form. The argument, called `name` in messages, is not modified."""
    stored = _stored(cells, name) if is_sparse(cells) else sparse.csr_array(cells != 0)
    is_there = stored.data != 0
    return _only(sparse.csr_array((is_there, stored.indices, stored.indptr), shape=stored.shape), is_there)


def _stored(matrix: sparse.csr_array, name: str) -> sparse.csr_array:
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


def are_entries_in(matrix: sparse.csr_array, cells: sparse.csr_array) -> NDArray[np.bool_]:
    """Whether each stored entry of a matrix is also stored in another one of equal shape; both in canonical form."""
    return _has(cells, rows_of(matrix), matrix.indices)


def _has(cells: sparse.csr_array, rows: object, columns: object) -> NDArray[np.bool_]:
    return places_in(cells, rows, columns)[1]


def _only(matrix: sparse.csr_array, keep: NDArray[np.bool_]) -> sparse.csr_array:
    """The matrix with only some of its stored entries."""
    if keep.all():
        return matrix
    ends = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], ends), shape=matrix.shape)


def first(y_score: Any, k: Any, shape: tuple[int, int], mask: sparse.csr_array | None) -> Index:
    """The ranking of the `k` highest-scoring known labels."""
    if is_pair(y_score):
        labels, its_scores = y_score
        ranked = listed(labels, its_scores, shape, mask)
        return ranked[:, : checked_k(k, ranked.shape[1])]
    check_real(y_score, "y_score")
    with named("y_score"):
        if (
            not is_sparse(y_score)
            and np.asarray(y_score).dtype.kind in "USO"
            and (name := targets.first_text(y_score)) is not None
        ):
            accepted = "scores, or indices as predict_topk returns them without names=True"
            raise ValueError(f"y_score must have {accepted}, got {checks.shown(name)}")
        y_score = check_array(y_score, accept_sparse=True, dtype=None, input_name="y_score")
    if not is_sparse(y_score) and y_score.dtype.kind in "iu":
        k = checked_k(k, y_score.shape[1])
        if mask is None and (y_score[:, :k] >= 0).all():
            # Labels after the first k are not validated.
            y_score = y_score[:, :k]
        return listed(y_score, None, shape, mask)[:, :k]
    scores = of_all_labels(y_score, shape)
    return padded(k_best(scores, checked_k(k, shape[1]), mask)[0])


def k_best(
    scores: object, k: int, mask: sparse.csr_array | None = None, *, zeros: bool = True, n_threads: int = 1
) -> tuple[NDArray[np.uint32], Float]:
    """The `k` labels with the largest scores, and these scores, padded by `NONE` and minus infinity.

    The rows of `mask` are those of the scores, or a single one for all. `zeros` tells whether entries of CSR that are
    not stored are ranked as zeros.
    """
    return _weald.rank_rows(scores_of(scores, zeros=zeros), k, cells_of(mask), n_threads)


def padded(indices: NDArray[np.uint32]) -> Index:
    """The engine's indices as a ranking."""
    ranked = indices.astype(np.int64)
    ranked[indices == NONE] = -1
    return ranked


def scores_of(scores: Any, *, zeros: bool = True) -> Any:
    """Scores in the engine's form."""
    if not is_sparse(scores):
        return scores
    return scores.indptr, scores.indices, scores.data.astype(np.float64, copy=False), scores.shape[1], zeros


def cells_of(cells: sparse.csr_array | None) -> Any:
    """A pattern in canonical form in the engine's form."""
    return None if cells is None else (cells.indptr, cells.indices, cells.shape[1])


def is_pair(y_score: object) -> bool:
    """Whether `y_score` is a result of `predict_topk`: a tuple of two two-dimensional arrays."""
    return isinstance(y_score, tuple) and len(y_score) == 2 and all(np.ndim(part) == 2 for part in y_score)


def all_scores(y_score: Any, shape: tuple[int, int]) -> Any:
    """Checked scores of all labels, which the result of `predict_topk` does not have, as of `of_all_labels`."""
    if is_pair(y_score):
        raise ValueError("y_score must be scores of all labels, got labels and their scores")
    check_real(y_score, "y_score")
    with named("y_score"):
        y_score = check_array(y_score, accept_sparse=True, input_name="y_score")
    return of_all_labels(y_score, shape)


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


def listed(
    labels: NDArray[np.intp] | None, scores: object, shape: tuple[int, int], mask: sparse.csr_array | None = None
) -> Index:
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
    n_listed = ranked.shape[1]
    values = np.broadcast_to(-np.arange(float(n_listed)), ranked.shape) if scores is None else _checked(scores, ranked)
    there = ranked >= 0
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))])
    return padded(k_best((ends, ranked[there], values[there], d, False), n_listed, mask)[0])


def _check_once(labels: Index) -> None:
    in_order = np.sort(labels, axis=1)
    rows, places = np.nonzero((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0))
    if len(rows):
        twice = in_order[rows[0], places[0]]
        raise ValueError(f"y_score must have each label once in a row, got the label {twice} twice in row {rows[0]}")


def _checked(scores: Any, labels: Index) -> Float:
    """The scores of listed labels. Those of padding are ignored."""
    scores = check_real(scores, "y_score")
    if scores.shape != labels.shape:
        raise ValueError(f"y_score must have scores of shape {labels.shape}, that of its labels, got {scores.shape}")
    with named("y_score"):
        return np.asarray(check_array(np.where(labels < 0, 0, scores), dtype=np.float64, input_name="y_score"))


def ranking_precision(scores: Any, truth: Any, mask: Any = None, n_threads: int = 1) -> float:
    """Label ranking average precision of scores. Entries of CSR that are not stored have score zero.

    This is `sklearn.metrics.label_ranking_average_precision_score`: for each label of a sample, the fraction of true
    labels among all labels with at least the same score, averaged over the labels of the sample and over samples. A
    sample with no labels or all labels has 1. Masked entries are ignored. The result is NaN without samples.
    """
    if mask is not None:
        mask = sparse.csr_array(mask)
        mask.sort_indices()
    truth = sparse.csr_array(truth)
    truth.sort_indices()
    scores = sparse.csr_array(scores) if is_sparse(scores) else scores
    found = _weald.label_precision(scores_of(scores), cells_of(truth), cells_of(mask), n_threads)
    n_known = n_known_of(truth.shape, mask)
    if mask is not None:
        found = found[n_known > 0]
    score = float(found.mean()) if len(found) else float("nan")
    return score if mask is None else masks.Score(score, n_known.sum())


def n_known_of(shape: tuple[int, int], mask: sparse.csr_array | None) -> Index:
    """The number of known labels of each sample."""
    return np.full(shape[0], shape[1]) - (0 if mask is None else np.diff(mask.indptr))


# Padding in place of a label.
NO_LABEL = -1
# Approximate number of scores in a block of dense scores: 64 MiB.
BLOCK_SCORES = 1 << 23


def checked_k(k: object, width: int) -> int:
    return integer("k", k, 1, width)


def checked_min_score(min_score: object) -> float:
    return number("min_score", min_score, lambda found: 0 <= found <= 1, "a number from 0 to 1")


def are_margins(scores: object, has_probabilities: bool, has_margins: bool, name: str) -> bool:
    """Whether the argument `scores` of a model called `name` asks for margins, and not for probabilities."""
    checks.choice("scores", scores, "auto", "probability", "margin")
    if scores == "auto":
        return not has_probabilities
    if not (has_margins if scores == "margin" else has_probabilities):
        method, other = ("decision_function", "probability") if scores == "margin" else ("predict_proba", "margin")
        accepted = f"'auto' or {other!r}" if has_probabilities or has_margins else "'auto'"
        raise ValueError(f"scores must be {accepted} for {name}, which has no {method} after this fit, got {scores!r}")
    return scores == "margin"


def checked_floor(min_score: object, are_margins: bool) -> float:
    """The least score to return, in the unit of the scores; None is no limit."""
    if not are_margins:
        return 0.0 if min_score is None else checked_min_score(min_score)
    if min_score is None:
        return -np.inf
    return number("min_score", min_score, lambda found: not np.isnan(found), "a number that is not NaN, or None")


def excluded(exclude: Raw, n_rows: int, width: int) -> sparse.csr_array | None:
    """Excluded columns in canonical form: one row for each sample, or a single row for all samples."""
    accepted = (
        f"a matrix of shape ({n_rows}, {width}) with True or 1 for labels to exclude, "
        f"or a list of labels from 0 to {width - 1}"
    )
    if exclude is None:
        return None
    if is_sparse(exclude):
        if exclude.ndim != 2 or exclude.shape != (n_rows, width):
            raise ValueError(f"exclude must be {accepted}, got a sparse matrix of shape {exclude.shape}")
        # A matrix with one row would apply to all samples, which is equivalent, since there is only one.
        return pattern(exclude, "exclude")
    with named("exclude"):
        given = np.asarray(exclude)
    if given.ndim == 2:
        if given.shape != (n_rows, width):
            raise ValueError(f"exclude must be {accepted}, got shape {given.shape}")
        if given.dtype.kind not in "biuf":
            raise TypeError(f"exclude must be {accepted}, got dtype {given.dtype}")
        if not ((given == 0) | (given == 1)).all():
            raise ValueError(f"exclude must be {accepted}, got other values than 0 and 1")
        return pattern(given, "exclude")
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        what = f"of dtype {given.dtype} and shape {given.shape}"
        raise TypeError(f"exclude must be {accepted}, got a {type(exclude).__name__} {what}")
    wrong = given[(given < 0) | (given >= width)]
    if len(wrong):
        raise ValueError(f"exclude must be {accepted}, got the label {wrong[0]}")
    columns = np.unique(given).astype(np.int64)
    return sparse.csr_array((np.ones(len(columns), dtype=np.bool_), columns, [0, len(columns)]), shape=(1, width))


def padded_by_floor(
    indices: NDArray[np.uint32], scores: Float, floor: float, *, are_margins: bool = False
) -> tuple[NDArray[np.int64], Float]:
    """The result of the engine, padded by `NONE` where no label has a sufficient score.

    The score is there 0 for probabilities, and minus infinity for margins.
    """
    labels = indices.astype(np.int64)
    is_absent = indices == NONE
    if floor > 0 or are_margins:
        is_absent |= ~(scores >= floor)
    labels[is_absent] = NO_LABEL
    return labels, np.where(is_absent, -np.inf if are_margins else 0.0, scores) if is_absent.any() else scores


def named_labels(labels: NDArray[np.int64], names: NDArray[Any]) -> NDArray[np.object_]:
    """The names of ranked labels, None in place of the padding."""
    found: NDArray[np.object_] = names.astype(object)[labels]
    found[labels == NO_LABEL] = None
    return found


def by_class(decisions: Float, n_classes: int) -> Float:
    """Decision scores with a column for each class: those of two classes are a single column for the second one."""
    return decisions if decisions.ndim == 2 else np.column_stack([-decisions, decisions])[:, -n_classes:]


def ranked_parts(
    parts: Iterable[Float], k: int, marked: sparse.csr_array | None, n_threads: int = 1
) -> tuple[NDArray[np.uint32], Float]:
    """The `k` largest scores of each sample as the engine returns them, from the scores of some samples after others."""
    found, start = [], 0
    for scores in parts:
        end = start + len(scores)
        some = marked if marked is None or marked.shape[0] == 1 else marked[start:end]
        found.append(k_best(scores, k, some, n_threads=n_threads))
        start = end
    indices, best_scores = zip(*found, strict=True)
    return np.concatenate(indices), np.concatenate(best_scores)


def blocks_of(X: Raw, width: int) -> Iterator[Any]:
    """Blocks of samples with about `BLOCK_SCORES` scores. There is at least one block, which may be empty."""
    n_rows, n = max(1, BLOCK_SCORES // max(1, width)), checks.count_samples(X)
    if n <= n_rows:
        yield X
        return
    X = X.tocsr() if is_sparse(X) else X
    for start in range(0, n, n_rows):
        yield safe_indexing(X, slice(start, min(start + n_rows, n)))


def at_least(scores: Float, floor: float) -> sparse.csr_array:
    """Dense scores as CSR, without those that are not positive or are below the floor."""
    return sparse.csr_array(np.where(scores >= floor, np.maximum(scores, 0.0), 0.0))


def stacked(X: Matrix, width: int, of_block: Callable[[Any], Any]) -> Matrix:
    """The results of `of_block` for blocks of samples, stacked as CSR."""
    blocks = [of_block(block) for block in blocks_of(X, width)]
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
