"""A warning about features with values that float32, in which trees compare them, cannot distinguish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from weald._input import warned
from weald._input.columns import as_frame
from weald._input.sparse import Raw, is_sparse

# float32 represents every whole number up to `_LEAST`, and float64 up to `_WHOLE`.
_LEAST, _WHOLE = 2.0**24, 2.0**53
# Features with fractions may lose this share of their values, as ordinary measurements do by chance.
_SHARE = 0.1
# The maximum number of features that are named, and that are checked.
_MOST_NAMES, _MOST_COLUMNS = 5, 1000


def warn_of_collapsed(estimator: BaseEstimator, source: object, X: Raw) -> None:
    """Warn about features of `source` that have distinct values which are equal in X, in float32.

    A feature is checked if an absolute value reaches 2**24, above which float32 does not represent every whole number:
    identifiers, or times in seconds. Whole numbers that float64 distinguishes must all stay distinct; of other values,
    up to a tenth may be lost, because in a million measurements some are close by chance. This takes one pass over X if
    its type is more precise than float32, and sorts at most a thousand features with such values.
    """
    if not _has_more_digits(source):
        return
    found = []
    for j, values in _columns(source, _large_columns(X)):
        if (lost := _lost(values)) is not None:
            found.append((j, *lost))
        if len(found) == _MOST_NAMES:
            break
    if not found:
        return
    names = getattr(estimator, "feature_names_in_", None)
    which = ", ".join(f"{j if names is None else repr(names[j])} ({n} values become {m})" for j, n, m in found)
    message = (
        f"X has features with values that float32, in which trees compare them, cannot distinguish: {which}. If they "
        "must be distinguished, number the values of such a feature 0, 1, 2 and so on "
        "(sklearn.preprocessing.OrdinalEncoder), subtract the smallest value, or split the feature in two"
    )
    warned.warn(message, DataConversionWarning)


def _has_more_digits(source: Any) -> bool:
    """Whether the type is more precise than float32; assumed for lists and frames."""
    dtype = source.dtype if isinstance(source, np.ndarray) or is_sparse(source) else None
    return dtype is None or not np.can_cast(dtype, np.float32)


def _large_columns(X: Raw) -> NDArray[np.intp]:
    """The first columns of a float32 matrix with an absolute value of at least 2**24."""
    values = X.data if is_sparse(X) else X
    none = np.empty(0, dtype=np.intp)
    if not values.size:
        return none
    with np.errstate(invalid="ignore"):  # signalling NaN
        most, least = values.max(), values.min()
        if np.isnan(most):
            is_large = bool((values >= _LEAST).any() or (values <= -_LEAST).any())
        else:
            is_large = most >= _LEAST or least <= -_LEAST
        if not is_large:
            return none
        if not is_sparse(X):
            large = (np.fmax.reduce(X, axis=0) >= _LEAST) | (np.fmin.reduce(X, axis=0) <= -_LEAST)
            return np.flatnonzero(large)[:_MOST_COLUMNS]
        entries = np.flatnonzero(np.abs(values) >= _LEAST)
    columns = X.indices[entries] if X.format == "csr" else np.searchsorted(X.indptr, entries, side="right") - 1
    return np.unique(columns)[:_MOST_COLUMNS]


def _columns(source: Any, columns: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Index and values of each of these columns; for sparse columns the stored values."""
    if not len(columns):
        return
    if is_sparse(source):
        source = source[:, columns].tocsc()
        for i, j in enumerate(columns.tolist()):
            yield j, source.data[source.indptr[i] : source.indptr[i + 1]]
        return
    frame = as_frame(source)
    table: Any = np.asarray(source) if frame is None else frame
    for j in columns.tolist():
        yield j, table[:, j] if frame is None else frame[:, j].drop_nulls().to_numpy()


def _lost(values: NDArray[Any]) -> tuple[int, int] | None:
    """The numbers of distinct values in their own type and in float32, if too many are lost; else None."""
    if values.dtype.kind not in "iuf":
        values = values.astype(np.float64)
    is_integer = values.dtype.kind in "iu"
    if not is_integer:
        values = values[np.isfinite(values)]
    values = np.sort(values)
    if not len(values):
        return None
    singles = values.astype(np.float32)  # in order, too
    n, n_singles = (1 + int(np.count_nonzero(v[1:] != v[:-1])) for v in (values, singles))
    is_whole = is_integer or (max(-values[0], values[-1]) <= _WHOLE and bool((values == np.floor(values)).all()))
    return (n, n_singles) if n - n_singles > (0 if is_whole else _SHARE * n) else None
