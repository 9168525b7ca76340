"""Sparse matrices of scipy and frames of sparse columns: type checks, conversions, and R² for sparse y."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from weald._input import messages

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


def with_numbers(X: Raw, *dtypes: DTypeLike) -> Any:
    """A frame of sparse columns, converted to the first of these types unless all columns have one of them.

    The fill value, which is not stored, becomes zero. Without this conversion, scikit-learn does not convert frames of
    boolean columns, and pandas cannot convert frames to matrices if columns have several types, float16, or a fill
    value other than zero.
    """
    if not has_sparse_columns(X):
        return _without_sparse_columns(X)
    Sparse = type(X.dtypes.iloc[0])
    if any((X.dtypes == Sparse(dtype, 0)).all() for dtype in dtypes):
        return X
    return with_zeros(X, dtypes[0])


def _without_sparse_columns(X: Raw) -> Raw:
    """A pandas frame of which some columns are sparse, with dense ones in their place; any other X unchanged."""
    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "dtypes") or not hasattr(X, "iloc"):
        return X
    found = [j for j, dtype in enumerate(X.dtypes) if type(dtype).__name__ == "SparseDtype"]
    if not found:
        return X
    messages.warn("pandas.DataFrame with sparse columns found. It will be converted to a dense numpy array.")
    X = X.copy(deep=False)
    for j in found:
        X.isetitem(j, X.iloc[:, j].sparse.to_dense())
    return X


def has_sparse_columns(frame: object) -> bool:
    """Whether it is a pandas frame whose columns are all sparse."""
    if getattr(frame, "ndim", 0) != 2 or not hasattr(frame, "dtypes") or not hasattr(frame, "sparse"):
        return False
    return len(frame.dtypes) > 0


def of_sparse_columns(y: Raw) -> Raw:
    """A frame of sparse columns, which scikit-learn does not support as y, as CSR; any other y unchanged."""
    if not has_sparse_columns(y):
        return y
    dtype = np.result_type(*(column.subtype for column in y.dtypes))
    dtype = np.dtype(np.float32) if dtype == np.float16 else dtype  # scipy does not support float16
    return with_numbers(y, np.float64).sparse.to_coo().tocsr().astype(dtype)


def apart_from_gaps(y: sparse.csr_matrix, n_samples: int, weights: NDArray[np.float64] | None) -> tuple[Any, Any]:
    """The matrix without its NaN entries, and the pattern of those in samples with positive weight, None if empty."""
    missing = np.isnan(y.data)
    if y.shape[0] != n_samples or not missing.any():
        return y, None
    entries = y.tocoo()
    kept = sparse.csr_matrix((y.data[~missing], (entries.row[~missing], entries.col[~missing])), shape=y.shape)
    if weights is not None:
        missing &= weights[entries.row] > 0
    places = (entries.row[missing], entries.col[missing])
    mask = sparse.csr_array((np.ones(len(places[0]), dtype=np.bool_), places), shape=y.shape)
    return kept, mask if mask.nnz else None
