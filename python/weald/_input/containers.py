"""What X may be: an array, a sparse matrix, a frame or a list of samples. Anything else is refused with what to do.

scikit-learn and NumPy would answer with the error of a conversion, such as of a text to a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np

from weald._input.described import cut, described
from weald._input.sparse import Raw, is_sparse

_ACCEPTED = "an array, a sparse matrix, a frame or a list of samples"


def check_container(X: Raw, what: str = "X") -> None:
    """Raise for X that is no matrix of any kind; its columns and values are not looked at.

    The caller's name for the argument is `what`. Costs nothing for arrays of numbers, sparse matrices and frames, and
    a pass over the samples of a list.
    """
    if is_sparse(X):
        return
    check_collected(X, what)
    if hasattr(X, "columns"):
        return
    check_holds_samples(X, what)
    if isinstance(X, list | tuple):
        _check_samples(X, what)
        return
    dtype, shape = getattr(X, "dtype", None), getattr(X, "shape", None)
    if shape is not None and len(shape) == 1 and _is_text(X, dtype):
        raise _of_texts(what, next(iter(X)))
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"{what} must have real numbers, got dtype {dtype}: Complex data not supported")
    if isinstance(X, np.ndarray) and X.ndim < 2:
        raise _of_one_axis(what, described(X))


def check_collected(data: Any, what: str) -> None:
    """Raise for a query of polars, which has no rows yet. Its columns are not looked at, which would plan the query."""
    if nw.dependencies.is_polars_lazyframe(data):
        raise TypeError(
            f"{what} must be in memory, got a LazyFrame of polars, which is a query: pass the frame that its method "
            "collect() returns"
        )


def check_holds_samples(data: Any, what: str) -> None:
    """Raise for data that is no container of samples, whatever a sample is."""
    check_collected(data, what)
    if (how := _refused(data)) is not None:
        raise TypeError(f"{what} must be {_ACCEPTED}, got {described(data)}{how}")


def _refused(X: Raw) -> str | None:
    """What to do with X if it is no container of samples, and None if it is one."""
    if isinstance(X, str | bytes | PathLike):
        return ": read a file into an array or a frame first, for example with pandas.read_csv"
    if isinstance(X, Mapping):
        return ": pandas.DataFrame(X) has the values of a dict of columns as its columns"
    if isinstance(X, memoryview):
        return ": numpy.asarray(X) is an array of its values"
    if isinstance(X, Set):
        return ", which has no order of samples: pass a list"
    if isinstance(X, Iterator):
        return ": list(X) has all samples"
    is_container = hasattr(X, "__array__") or hasattr(X, "__len__") or hasattr(X, "shape")
    return None if is_container else ""


def _check_samples(X: Raw, what: str) -> None:
    """Raise for a list of texts, of dicts, of numbers, or of samples with several numbers of features."""
    if not X:
        return
    kinds = set(map(type, X))
    if all(issubclass(kind, str) for kind in kinds):
        raise _of_texts(what, X[0])
    if all(issubclass(kind, Mapping) for kind in kinds):
        raise TypeError(
            f"{what} must be {_ACCEPTED}, got a list of dicts: pandas.DataFrame(X) makes a frame of them, and "
            "sklearn.feature_extraction.DictVectorizer a sparse matrix"
        )
    if all(issubclass(kind, bool | int | float | np.generic) for kind in kinds):
        raise _of_one_axis(what, f"{described(X)} with numbers")
    if not all(issubclass(kind, list | tuple) for kind in kinds):
        return
    lengths = list(map(len, X))
    if (other := next((row for row, n in enumerate(lengths) if n != lengths[0]), None)) is not None:
        raise ValueError(
            f"{what} must have the same number of features in all samples, got {lengths[0]} in the first sample and "
            f"{lengths[other]} in sample {other}"
        )


def _is_text(X: Raw, dtype: object) -> bool:
    """Whether the one column of an array or a series has texts."""
    if len(X) == 0:
        return False
    kind = getattr(dtype, "kind", "O")
    return kind in "US" or (kind == "O" and isinstance(next(iter(X)), str | bytes))


def _of_texts(what: str, text: object) -> ValueError:
    return ValueError(
        f"{what} must have shape (n_samples, n_features) and numbers or categories, got texts, the first of them "
        f"{cut(repr(str(text)))}: sklearn.feature_extraction.text.TfidfVectorizer makes sparse features of texts, also "
        "in a pipeline"
    )


def _of_one_axis(what: str, got: str) -> ValueError:
    return ValueError(
        f"{what} must have shape (n_samples, n_features), got {got}. Reshape your data with "
        "numpy.reshape(X, (-1, 1)) if it is one feature, or numpy.reshape(X, (1, -1)) if it is one sample"
    )
