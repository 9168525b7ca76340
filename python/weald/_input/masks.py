"""Masks of unknown values of y, and scores of the known values.

A mask is True where a value is unknown. It is an array of booleans of the shape of y, or for labels a CSR pattern; it
is None if all values are known. Samples without a known value get the weight zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import r2_score

from weald._input.checks import Float, named, over_same_memory
from weald._input.columns import as_frame
from weald._input.containers import check_collected
from weald._input.frames import names_of
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import Mask, MatrixLike, Raw, is_sparse


class Score(float):
    """A score of the known values, with their number."""

    n_cells: int

    def __new__(cls, value: float, n_cells: int) -> Score:
        score = super().__new__(cls, value)
        score.n_cells = int(n_cells)
        return score

    def __getnewargs__(self) -> tuple[float, int]:  # type: ignore[override]
        return float(self), self.n_cells


def check(y_mask: MatrixLike | None, shape: tuple[int, int], names: NDArray[np.object_] | None = None) -> Any:
    """The checked mask of y, as an array of booleans or a CSR pattern; None if it masks nothing.

    `names` are those of the columns of y: a mask with the same names in another order is brought into theirs.
    """
    if is_sparse(y_mask):
        entries = over_same_memory(y_mask, "y_mask", every_entry=True).tocoo()
        if entries.shape != shape:
            raise ValueError(_of_shape(entries.shape, shape))
        _check_values(entries.data)
        mask = sparse.csr_array((entries.data.astype(np.bool_), (entries.row, entries.col)), shape=shape)
        mask.sum_duplicates()
        mask.eliminate_zeros()
        return mask if mask.nnz else None
    check_collected(y_mask, "y_mask")
    y_mask = _in_order_of(names, y_mask)
    with named("y_mask"):
        dense = np.asarray(y_mask)
    if dense.shape not in (shape, *([(shape[0],)] if shape[1] == 1 else [])):
        raise ValueError(_of_shape(dense.shape, shape))
    _check_values(dense)
    cells = dense.astype(np.bool_).reshape(shape)
    return cells if cells.any() else None


def _in_order_of(names: NDArray[np.object_] | None, y_mask: Raw) -> Raw:
    """A mask that is a frame with its columns in the order of those of y, if both have names."""
    own = names_of(y_mask, "y_mask")
    if own is None or names is None or len(own) != len(names) or len(own) < 2 or np.array_equal(own, names):
        return y_mask
    if strange := sorted(set(own) - set(names)):
        raise ValueError(f"y_mask must have the names of the columns of y, got the column {strange[0]!r}")
    frame = as_frame(y_mask, "y_mask")
    assert frame is not None
    return frame.select(names.tolist()).to_native()


def rows_of(y_mask: Raw, n_samples: int, rows: NDArray[np.intp] | None) -> Raw:
    """The mask of these samples; None are all samples."""
    if y_mask is None or rows is None:
        return y_mask
    with named("y_mask"):
        if (found := num_samples(y_mask)) != n_samples:
            raise ValueError(f"y_mask must have {n_samples} rows, as y, got {found}")
        return safe_indexing(y_mask.tocsr() if is_sparse(y_mask) else y_mask, rows)


def check_nothing(y_mask: MatrixLike | None, shape: tuple[int, int], name: str) -> None:
    """Raise for a mask of unknown values, for estimators that do not support any; a mask of nothing is as none."""
    if check(y_mask, shape) is not None:
        raise ValueError(f"y_mask must be None, or mark nothing: {name} does not support y with masked entries")


def _of_shape(got: tuple[int, ...], expected: tuple[int, int]) -> str:
    return f"y_mask must have shape {expected}, that of y, with True or 1 for unknown entries, got {got}"


def _check_values(values: NDArray[Any]) -> None:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"y_mask must be bool, or the numbers 0 and 1, got dtype {values.dtype}")
    if values.dtype.kind != "b" and not ((values == 0) | (values == 1)).all():
        raise ValueError("y_mask must be True or 1 for unknown entries of y and False or 0 otherwise, got other values")


def of_missing(y: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Where a two-dimensional array is NaN; None if it has no NaN."""
    if y.dtype.kind != "f":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum with NaN is NaN. Most arrays have none, so that no second pass is needed.
        if not np.isnan(np.sum(y)):
            return None
    missing = np.isnan(y)
    return missing if missing.any() else None


def join(one: Any, other: Any) -> Any:
    """The values that either mask marks, as a CSR pattern if one of the masks is."""
    if one is None or other is None:
        return other if one is None else one
    if is_sparse(one) or is_sparse(other):
        return (sparse.csr_array(one) + sparse.csr_array(other)).astype(np.bool_)
    return one | other


def dense(mask: Any) -> Any:
    """The mask as a dense array."""
    if mask is None:
        return None
    return np.asarray(mask.toarray() if is_sparse(mask) else mask, dtype=np.bool_)


def to_engine(mask: Any) -> Any:
    """The mask in the engine's form."""
    if mask is None or not is_sparse(mask):
        return mask
    return mask.indptr, mask.indices, mask.shape[1]


def weights_of_known(mask: Mask, weights: Float | None, names: NDArray[np.object_] | None) -> Float | None:
    """Sample weights, which are zero for samples without a known value.

    Raises if an output has no known value among the samples with positive weight; the message names the output.
    """
    if mask is None:
        return weights
    n, n_outputs = mask.shape
    exists = np.ones(n, dtype=np.bool_) if weights is None else weights > 0
    n_masked = np.asarray(mask[exists].sum(axis=0)).ravel()
    hidden = np.flatnonzero(n_masked == np.count_nonzero(exists))
    if len(hidden):
        output = f"column {hidden[0]}" if names is None else f"output {names[hidden[0]]!r}"
        raise ValueError(
            f"y must have a known value in {output} for a sample of positive weight, got NaN or masked entries for all "
            "of them"
        )
    without = np.asarray(mask.sum(axis=1)).ravel() == n_outputs
    if not (without & exists).any():
        return weights
    return np.where(without, 0.0, 1.0 if weights is None else weights)


def fill(y: NDArray[Any], mask: NDArray[np.bool_], weights: Float | None) -> NDArray[Any]:
    """A copy of y with unknown values replaced by the first known value of their column that has positive weight."""
    filled = y.copy()
    exists = np.ones(len(y), dtype=np.bool_) if weights is None else weights > 0
    for j in np.flatnonzero(mask.any(axis=0)):
        known = np.flatnonzero(exists & ~mask[:, j])
        filled[mask[:, j], j] = y[known[0], j]
    return filled


def r2(y: NDArray[Any], predicted: NDArray[Any], mask: NDArray[np.bool_], weights: object = None) -> Score:
    """R² of the known values of each output, averaged over the outputs that have some."""
    scores = []
    for j in range(mask.shape[1]):
        known = ~mask[:, j]
        if known.any():
            w = None if weights is None else np.asarray(weights)[known]
            scores.append(r2_score(y[known, j], predicted[known, j], sample_weight=w))
    return Score(float(np.mean(scores)) if scores else np.nan, int(np.count_nonzero(~mask)))


def accuracy(wrong: sparse.csr_array, mask: Mask, weights: Float | None = None) -> float:
    """The fraction of samples whose known values are all predicted correctly, among the samples that have some.

    `wrong` is the pattern of wrong predictions, known or not.
    """
    if mask is None:
        return float(np.average(np.diff(wrong.indptr) == 0, weights=weights))
    mask = sparse.csr_array(mask)
    n_wrong = (wrong > wrong.multiply(mask)).sum(axis=1)
    n_hidden = mask.sum(axis=1)
    rows = n_hidden < mask.shape[1]
    correct = n_wrong[rows] == 0
    w = None if weights is None else np.asarray(weights)[rows]
    n_cells = mask.shape[0] * mask.shape[1] - n_hidden.sum()
    if not len(correct) or (w is not None and not w.any()):
        return Score(np.nan, int(n_cells))
    return Score(float(np.average(correct, weights=w)), int(n_cells))
