"""Sparse matrices of scipy: type checks, conversion from the engine's form, and R² for sparse y."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

Float: TypeAlias = NDArray[np.float64]
# A two-dimensional float32 array, or a float32 CSR or CSC matrix in canonical form.
Matrix: TypeAlias = Any
# X, y and masks of y: arrays, sequences, frames of pandas and polars, and scipy's sparse matrices and arrays.
MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
# X and y as they are passed: an array, a frame, a list or a sparse matrix of any library. Their attributes are looked up.
Raw: TypeAlias = Any

# About this number of dense values is held at once, which is 32 MiB.
_CELLS = 1 << 22


def is_sparse(matrix: object) -> bool:
    """Whether it is a sparse matrix or array of scipy.

    It is `issparse` without type narrowing, after which a type checker knows only that the value is sparse.
    """
    return bool(sparse.issparse(matrix))


def has_nan(X: Matrix) -> bool:
    """Whether a value is NaN. All others must be finite: float64 holds any sum of them."""
    return bool(np.isnan(np.sum(X.data if is_sparse(X) else X, dtype=np.float64)))


def csr_of(arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], shape: tuple[int, int]) -> sparse.csr_array:
    """The engine's offsets, columns and values as a matrix in canonical form."""
    ptr, columns, values = arrays
    narrow = len(values) < 2**31 and shape[1] < 2**31
    kind: Any = np.int32 if narrow else np.int64
    # Column indices below 2**31 have the same bits in both types.
    columns = columns.view(np.int32) if narrow else columns.astype(kind)
    found = sparse.csr_array((values, columns, ptr.astype(kind)), shape=shape)
    found.has_canonical_format = True
    return found


def r2(y: Raw, predict: Callable[[slice], NDArray[Any]], n_samples: int, sample_weight: object = None) -> float:
    """R² of dense predictions for sparse or dense y, averaged over the outputs, as scikit-learn's `r2_score`.

    `predict` returns the predictions of a slice of the samples. Only the y of such slices becomes dense.
    """
    y = sparse.csr_array(y if is_sparse(y) else np.asarray(y, dtype=np.float64).reshape(len(y), -1))
    check_consistent_length(y, np.empty(n_samples))
    w = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), one weight for each sample, got {w.shape}")
    n_outputs, of_rows = y.shape[1], np.repeat(w, np.diff(y.indptr))
    total = w.sum()
    mean = np.bincount(y.indices, weights=of_rows * y.data, minlength=n_outputs) / total
    deviations = of_rows * (y.data - mean[y.indices]) ** 2
    stored = np.bincount(y.indices, weights=of_rows, minlength=n_outputs)
    around = np.bincount(y.indices, weights=deviations, minlength=n_outputs) + (total - stored) * mean**2
    errors = np.zeros(n_outputs)
    n_rows = max(1, _CELLS // n_outputs)
    for start in range(0, n_samples, n_rows):
        rows = slice(start, start + n_rows)
        predicted = predict(rows)
        if predicted.shape[1] != n_outputs:
            raise ValueError(f"y must have {predicted.shape[1]} outputs, as in the fit, got {n_outputs}")
        errors += w[rows] @ (y[rows].toarray() - predicted) ** 2
    # The score of a constant output is 1 if it is predicted exactly, else 0.
    scores, varies = np.where(errors == 0, 1.0, 0.0), around > 0
    scores[varies] = 1 - errors[varies] / around[varies]
    return float(scores.mean())


def with_zeros(frame: Any, dtype: Any, *, unstored: float | None = None) -> Any:
    """A pandas frame of sparse columns converted to this type, with the fill value zero.

    `astype` of pandas returns wrong values in some releases (2.3.3, for columns with the fill value 1). `unstored` is
    the actual fill value if the columns state a wrong one.
    """
    columns = {j: _with_zeros(frame.iloc[:, j].array, np.dtype(dtype), unstored) for j in range(len(frame.dtypes))}
    found = type(frame)(columns, index=frame.index, copy=False)
    found.columns = frame.columns
    return found


def _with_zeros(column: Any, dtype: np.dtype[Any], unstored: float | None) -> Matrix:
    kind, zero = type(column), dtype.type(0)
    options = {"fill_value": zero, "dtype": type(column.dtype)(dtype, zero)}
    if (column.fill_value if unstored is None else unstored) != 0:
        return kind(np.asarray(column.to_dense()).astype(dtype), **options)
    values, places = column.sp_values.astype(dtype), column.sp_index
    if hasattr(kind, "from_indices"):  # pandas 3.1
        return kind.from_indices(values, places.indices, len(column), fill_value=zero)
    return kind(values, sparse_index=places, **options)
