"""Frames of sparse columns of pandas, as X and as y."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from weald._input import warned
from weald._input.sparse import Raw, with_zeros


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
    warned.warn("pandas.DataFrame with sparse columns found. It will be converted to a dense numpy array.")
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
