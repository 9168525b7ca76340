"""Arguments and results of methods that return the highest-scoring labels of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float, Matrix, integer, named, number, shown
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import ranks

# Padding in place of a label.
NONE = -1
# Approximate number of scores in a block of dense scores: 64 MiB.
BLOCK_SCORES = 1 << 23


def checked_k(k: object, width: int) -> int:
    return integer("k", k, 1, width)


def checked_min_score(min_score: object) -> float:
    return number("min_score", min_score, lambda found: 0 <= found <= 1, "a number from 0 to 1")


def are_margins(scores: object, has_probabilities: bool, has_margins: bool, name: str) -> bool:
    """Whether the argument `scores` of a classifier called `name` asks for margins, and not for probabilities."""
    if not isinstance(scores, str) or scores not in ("auto", "probability", "margin"):
        raise ValueError(f"scores must be 'auto', 'probability' or 'margin', got {shown(scores)}")
    if scores == "auto":
        return not has_probabilities
    if not (has_margins if scores == "margin" else has_probabilities):
        method, other = ("decision_function", "probability") if scores == "margin" else ("predict_proba", "margin")
        raise ValueError(
            f"scores must be 'auto' or {other!r} for {name}, which has no {method} after this fit, got {scores!r}"
        )
    return scores == "margin"


def checked_floor(min_score: object, are_margins: bool) -> float:
    """The least score to return, in the unit of the scores; None is no limit."""
    if not are_margins:
        return 0.0 if min_score is None else checked_min_score(min_score)
    if min_score is None:
        return -np.inf
    return number("min_score", min_score, lambda found: not np.isnan(found), "a number that is not NaN, or None")


def pattern(exclude: Raw, n_rows: int, width: int) -> sparse.csr_array | None:
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
        return ranks.pattern(exclude, "exclude")
    with named("exclude"):
        given = np.asarray(exclude)
    if given.ndim == 2:
        if given.shape != (n_rows, width):
            raise ValueError(f"exclude must be {accepted}, got shape {given.shape}")
        if given.dtype.kind not in "biuf":
            raise TypeError(f"exclude must be {accepted}, got dtype {given.dtype}")
        if not ((given == 0) | (given == 1)).all():
            raise ValueError(f"exclude must be {accepted}, got other values than 0 and 1")
        return ranks.pattern(given, "exclude")
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        what = f"of dtype {given.dtype} and shape {given.shape}"
        raise TypeError(f"exclude must be {accepted}, got a {type(exclude).__name__} {what}")
    wrong = given[(given < 0) | (given >= width)]
    if len(wrong):
        raise ValueError(f"exclude must be {accepted}, got the label {wrong[0]}")
    columns = np.unique(given).astype(np.int64)
    return sparse.csr_array((np.ones(len(columns), dtype=np.bool_), columns, [0, len(columns)]), shape=(1, width))


def ranked(
    indices: NDArray[np.uint32], scores: Float, floor: float, *, are_margins: bool = False
) -> tuple[NDArray[np.int64], Float]:
    """The result of the engine, padded by `NONE` where no label has a sufficient score.

    The score is there 0 for probabilities, and minus infinity for margins.
    """
    labels = indices.astype(np.int64)
    is_absent = indices == ranks.NONE
    if floor > 0 or are_margins:
        is_absent |= ~(scores >= floor)
    labels[is_absent] = NONE
    return labels, np.where(is_absent, -np.inf if are_margins else 0.0, scores) if is_absent.any() else scores


def named_labels(labels: NDArray[np.int64], names: NDArray[Any]) -> NDArray[np.object_]:
    """The names of ranked labels, None in place of the padding."""
    found: NDArray[np.object_] = names.astype(object)[labels]
    found[labels == NONE] = None
    return found


def by_class(decisions: Float, n_classes: int) -> Float:
    """Decision scores with a column for each class: those of two classes are a single column for the second one."""
    return decisions if decisions.ndim == 2 else np.column_stack([-decisions, decisions])[:, -n_classes:]


def ranked_blocks(
    X: MatrixLike | None,
    k: int,
    width: int,
    marked: sparse.csr_array | None,
    n_threads: int,
    of_block: Callable[[Any], Float],
) -> tuple[NDArray[np.uint32], Float]:
    """The `k` largest scores of each sample as the engine returns them, from the dense scores of blocks of samples."""
    return ranked_parts((of_block(rows) for rows in row_blocks(X, width)), k, marked, n_threads)


def ranked_parts(
    parts: Iterable[Float], k: int, marked: sparse.csr_array | None, n_threads: int = 1
) -> tuple[NDArray[np.uint32], Float]:
    """The `k` largest scores of each sample as the engine returns them, from the scores of some samples after others."""
    found, start = [], 0
    for scores in parts:
        end = start + len(scores)
        some = marked if marked is None or marked.shape[0] == 1 else marked[start:end]
        found.append(ranks.k_best(scores, k, some, n_threads=n_threads))
        start = end
    indices, best_scores = zip(*found, strict=True)
    return np.concatenate(indices), np.concatenate(best_scores)


def row_blocks(X: Matrix, width: int) -> Iterator[Any]:
    """Blocks of samples with about `BLOCK_SCORES` scores. There is at least one block, which may be empty."""
    n_rows = max(1, BLOCK_SCORES // max(1, width))
    if X.shape[0] > n_rows and is_sparse(X):
        X = X.tocsr()
    for start in range(0, max(1, X.shape[0]), n_rows):
        yield X[start : start + n_rows]


def at_least(scores: Float, floor: float) -> sparse.csr_array:
    """Dense scores as CSR, without those that are not positive or are below the floor."""
    return sparse.csr_array(np.where(scores >= floor, np.maximum(scores, 0.0), 0.0))


def stacked(X: Matrix, width: int, of_block: Callable[[Any], Any]) -> Matrix:
    """The results of `of_block` for blocks of samples, stacked as CSR."""
    blocks = [of_block(block) for block in row_blocks(X, width)]
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
