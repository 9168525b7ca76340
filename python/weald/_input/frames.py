"""Frames and tables: what X may be, its columns, names of outputs, and predictions as frames of pandas and polars."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cached_property
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator

from weald._input.messages import cut, described
from weald._input.sparse import MatrixLike, Raw, is_sparse, with_zeros

if TYPE_CHECKING:
    from weald._fit.base import NamedOutputs
    from weald._parameters.types import Prediction


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
    """Raise for a query of polars, of which nothing is looked at, and for masked arrays, whose mask conversions drop."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(
            f"{what} must not be a masked array, since masks are not read: pass {what}.filled(value), with a value for "
            "what is masked"
        )
    if nw.dependencies.is_polars_lazyframe(data):
        raise TypeError(
            f"{what} must be in memory, got a LazyFrame of polars, which is a query: pass the frame that its method "
            "collect() returns"
        )


def check_holds_samples(data: Any, what: str) -> None:
    """Raise for data that is no container of samples, whatever a sample is."""
    check_collected(data, what)
    if (how := _how_to_pass(data)) is not None:
        raise TypeError(f"{what} must be {_ACCEPTED}, got {described(data)}{how}")


def _how_to_pass(X: Raw) -> str | None:
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
        f"{cut(repr(str(text)))}: CountVectorizer of sklearn.feature_extraction.text, or TfidfVectorizer for trees, makes sparse "
        "features of texts, also in a pipeline"
    )


def _of_one_axis(what: str, got: str) -> ValueError:
    return ValueError(
        f"{what} must have shape (n_samples, n_features), got {got}. Reshape your data with "
        "numpy.reshape(X, (-1, 1)) if it is one feature, or numpy.reshape(X, (1, -1)) if it is one sample"
    )


Kind: TypeAlias = Literal["numbers", "categories", "text", "objects", "other"]

_DATES = "M", "m"
_NUMBERS = tuple("biuf")
_OF_DATES = (
    "convert it to numbers first, such as the year, the day of the week or the days since a date, or drop the column"
)
_OF_OTHERS = (
    "convert it to numbers first, pass categories as a column with a text or categorical dtype, or drop the column"
)


def as_frame(table: Any, what: str = "X") -> nw.DataFrame[Any] | None:
    """The table as a frame of narwhals, or None if it is no frame with its data in memory.

    `what` is the name of the argument in errors: for duplicate names, and for a query that is no frame yet.
    """
    if isinstance(table, np.ndarray | list | tuple | StoredFrame):
        return None
    check_collected(table, what)
    try:
        found = nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        check_distinct(getattr(table, "column_names", None) or list(table.columns), what)
        raise
    return found if isinstance(found, nw.DataFrame) else None


def check_distinct(labels: Sequence[Any], what: str = "X") -> None:
    """Raise if two columns have the same label."""
    if len(set(labels)) < len(labels):
        twice = next(label for label, times in Counter(labels).items() if times > 1)
        raise ValueError(
            f"{what} must have distinct column names, got {twice!r} for two columns; rename one, or pass an array"
        )


class Columns:
    """The columns of an array of objects, and what the columns of all tables have in common."""

    # Whether each column has a dtype of its own.
    have_types = False

    def __init__(self, X: Raw, labels: list[Any] | None = None, what: str = "X") -> None:
        self.table = X
        self._labels = labels
        # The name of the argument in error messages.
        self._what = what

    @staticmethod
    def of(X: Raw, what: str = "X") -> Columns | None:
        """The columns of X if they may contain values other than numbers, and None otherwise."""
        if isinstance(X, np.ndarray):
            return Columns(X, what=what) if X.ndim == 2 and X.dtype.kind in "OUS" else None
        if isinstance(X, StoredFrame):
            return StoredColumns(X, X.columns, what)
        frame = as_frame(X, what)
        return None if frame is None else FrameColumns(frame, what)

    @property
    def count(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    def labels(self) -> list[Any] | None:
        """The labels of the columns, or None if they have none."""
        return self._labels

    def label(self, j: int) -> Any:
        """The description of the column in error messages."""
        labels = self.labels()
        return j if labels is None else labels[j]

    def kind(self, j: int) -> Kind:
        """What the column contains.

        "numbers", which need no conversion; "categories" or "text" by a dtype; "objects", which can be anything; or
        "other" for dates and all other dtypes.
        """
        return "objects"

    def dtype(self, j: int) -> str:
        """The dtype of the column in error messages."""
        return str(self.table.dtype)

    def has_values(self, j: int) -> tuple[bool, bool]:
        """Whether the column has any value that is not missing, and whether any is text."""
        distinct = self.factors(j)[0]
        return bool(distinct), any(isinstance(value, str) for value in distinct)

    def narrow(self, j: int) -> np.dtype[Any] | None:
        """The type of the numbers of the column if it is a float type with fewer digits than float64."""
        return None

    def values(self, j: int) -> Sequence[Any]:
        """The values of the column."""
        return list(self.table[:, j].tolist())

    def categories(self, j: int) -> Sequence[Any]:
        """The categories of the column: those of its dtype, or else its sorted distinct values."""
        return sorted(self.factors(j)[0], key=str)

    def declares(self, j: int) -> bool:
        """Whether the dtype of the column has categories, which do not depend on the samples."""
        return False

    def factors(self, j: int) -> tuple[list[Any], NDArray[np.intp]]:
        """The distinct values of the column, and the position of each value among them, or -1 if it is missing."""
        values = self.values(j)
        try:
            found = dict.fromkeys(values)
        except TypeError:  # a list, for example
            raise self.refused(j, next(itertools.filterfalse(is_hashable, values))) from None
        distinct: list[Any] = []
        codes: dict[Any, int] = {}
        for value in found:
            codes[value] = -1 if is_missing(value) else len(distinct)
            if codes[value] >= 0:
                distinct.append(plain(value))
        return distinct, np.fromiter(map(codes.__getitem__, values), dtype=np.intp, count=len(values))

    def codes(self, j: int, categories: list[Any]) -> NDArray[np.float32] | None:
        """The codes of the column, if it has those of these categories already."""
        return None

    def numbers(self, j: int) -> NDArray[np.float64]:
        """The values of the column as numbers, with NaN for missing ones. Text is read as scikit-learn does it."""
        if self.kind(j) == "other":
            raise self.refused(j)
        distinct, codes = self.factors(j)
        found = np.full(len(distinct) + 1, np.nan)
        for place, value in enumerate(distinct):
            found[place] = number = number_of(value)
            if number is None:
                raise self.refused(j, value)
        return found[codes]

    def refused(self, j: int, *values: object) -> ValueError:
        """The error for a column that is not made of numbers, with the value that is none."""
        dtype = f"a column of dtype {self.dtype(j)}" if self.have_types else None
        return no_number(self._what, self.label(j), *values, dtype=dtype, is_date=self.is_date(j))

    def is_date(self, j: int) -> bool:
        """Whether the column has a dtype of dates or times."""
        return False

    def replaced(self, columns: dict[int, Any]) -> Raw:
        """A copy in which these columns are replaced. An array of objects becomes an array of numbers."""
        X = np.empty(self.table.shape, dtype=np.float64)
        for j in range(self.count):
            X[:, j] = columns[j] if j in columns else self.numbers(j)
        return X


class FrameColumns(Columns):
    """The columns of a frame of any library that narwhals reads."""

    have_types = True

    def __init__(self, frame: nw.DataFrame[Any], what: str = "X") -> None:
        native: Any = frame.to_native()
        super().__init__(native, list(frame.columns), what)
        self._frame, self._names = frame, frame.columns
        self._native_types = list(native.dtypes) if hasattr(native, "dtypes") else native.schema.types

    @property
    def count(self) -> int:
        return len(self._native_types)

    @cached_property
    def _types(self) -> list[Any]:
        return list(self._frame.schema.values())

    def kind(self, j: int) -> Kind:
        found, dtype = self._native_types[j], self._types[j]
        # narwhals calls a column of objects text if all its values are.
        if found == "object" or isinstance(dtype, nw.Decimal | nw.Object):
            return "objects"
        if dtype.is_numeric() or isinstance(dtype, nw.Boolean) or getattr(found, "kind", "") in _NUMBERS:
            return "numbers"
        if isinstance(dtype, nw.Categorical | nw.Enum):
            return "categories"
        if isinstance(dtype, nw.String):
            return "text"
        return "objects" if str(found).lower().startswith("null") else "other"

    def dtype(self, j: int) -> str:
        return str(self._native_types[j])

    def is_date(self, j: int) -> bool:
        return self._types[j].is_temporal() or self.dtype(j).startswith(("period", "month"))

    def narrow(self, j: int) -> np.dtype[Any] | None:
        name = str(self._types[j])
        return np.dtype(name.lower()) if name in ("Float32", "Float16") else None

    def values(self, j: int) -> Sequence[Any]:
        return self._frame[:, j].to_list()

    def _codes(self, j: int) -> Any:
        """The categories of a pandas column and the codes of its values, which narwhals does not have; or None."""
        column: NDArray[Any] = self._frame[:, j].to_native()
        return column.cat if hasattr(column, "cat") and hasattr(column.cat, "codes") else None

    def categories(self, j: int) -> Sequence[Any]:
        dtype, stored = self._types[j], self._codes(j)
        if stored is not None:
            return [plain(value) for value in stored.categories]
        return list(dtype.categories) if isinstance(dtype, nw.Enum) else super().categories(j)

    def declares(self, j: int) -> bool:
        return self._codes(j) is not None or isinstance(self._types[j], nw.Enum)

    def factors(self, j: int) -> tuple[list[Any], NDArray[np.intp]]:
        if (stored := self._codes(j)) is not None:
            return _those_there([plain(value) for value in stored.categories], stored.codes.to_numpy())
        return super().factors(j)

    def replaced(self, columns: dict[int, Any]) -> Raw:
        backend = self._frame.implementation
        new = (nw.new_series(self._names[j], column, backend=backend) for j, column in columns.items())
        return self._frame.with_columns(*new).to_native()


class StoredFrame:
    """A matrix on disk with names of columns, some of which have codes of categories. Samples are taken as of an array."""

    ndim = 2

    def __init__(
        self, values: NDArray[Any], columns: list[str], categories: list[list[Any] | None], declared: list[bool]
    ):
        self.values, self.columns, self.categories, self.declared = values, columns, categories, declared
        self.shape, self.dtype = values.shape, values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        rows = index[0] if isinstance(index, tuple) and index[1:] == (...,) else index
        found = self.values[rows]
        return found if found.ndim < 2 or isinstance(rows, tuple) else self.like(found)

    def like(self, values: NDArray[Any]) -> StoredFrame:
        """A frame of other samples."""
        return StoredFrame(values, self.columns, self.categories, self.declared)


class StoredColumns(Columns):
    """The columns of a frame on disk."""

    have_types = True

    def kind(self, j: int) -> Kind:
        return "numbers" if self.table.categories[j] is None else "categories" if self.declares(j) else "text"

    def dtype(self, j: int) -> str:
        return "float32" if self.table.categories[j] is None else "category"

    def narrow(self, j: int) -> np.dtype[Any] | None:
        return np.dtype(np.float32) if self.table.categories[j] is None else None

    def values(self, j: int) -> Sequence[Any]:
        values: list[Any] = self.table.values[:, j].tolist()
        known = self.table.categories[j]
        return values if known is None else [None if value != value else known[int(value)] for value in values]

    def categories(self, j: int) -> Sequence[Any]:
        known: list[Any] | None = self.table.categories[j] if self.declares(j) else None
        return super().categories(j) if known is None else known

    def declares(self, j: int) -> bool:
        return bool(self.table.declared[j])

    def factors(self, j: int) -> tuple[list[Any], NDArray[np.intp]]:
        known = self.table.categories[j]
        if known is None:
            return super().factors(j)
        return _those_there(known, np.nan_to_num(self.table.values[:, j], nan=-1).astype(np.intp))

    def codes(self, j: int, categories: list[Any]) -> NDArray[np.float32] | None:
        return self.table.values[:, j] if self.table.categories[j] == categories else None

    def replaced(self, columns: dict[int, Any]) -> Raw:
        """The same values, unless some of the columns are not those of `codes`."""
        values = self.table.values
        changed = [j for j in columns if not np.may_share_memory(columns[j], values)]
        values = np.array(values, order="K") if changed else values
        for j in changed:
            values[:, j] = columns[j]
        return self.table.like(values)


# What NumPy would convert to numbers: days or seconds since an epoch, spans of time, and real parts.
_UNREAL = np.datetime64, np.timedelta64, date, timedelta, complex, np.complexfloating


def unreal(values: Any) -> str | None:
    """The type of values of an array or sparse matrix that are dates, spans of time or complex numbers, or None."""
    kinds = {values.dtype.type} if values.dtype != object else set(map(type, values.ravel().tolist()))
    return next((kind.__name__ for kind in kinds if issubclass(kind, _UNREAL)), None)


def is_listed(values: object) -> TypeGuard[Iterable[Any]]:
    """Whether these are several values: a list, an array with an axis, or another iterable, and no text or dict."""
    is_scalar = isinstance(values, str | bytes | Mapping) or (isinstance(values, np.ndarray) and values.ndim == 0)
    return isinstance(values, Iterable) and not is_scalar


def is_hashable(value: object) -> bool:
    """Whether the value, and what it contains, can be looked up."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plain(value: object) -> Any:
    """A scalar of numpy as one of Python."""
    return value.item() if isinstance(value, np.bool_ | np.number | np.str_) else value


def number_of(value: Any) -> float | None:
    """The value as a number, or None if it is none. A text is the number that it writes, as in scikit-learn."""
    if isinstance(value, np.datetime64 | np.timedelta64 | np.ndarray | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def no_number(what: str, label: object, *values: object, dtype: str | None = None, is_date: bool = False) -> ValueError:
    """The error for a feature of the argument `what` that is not made of numbers, with the value that is none."""
    got = [f"{cut(repr(value))} of type {type(value).__name__}" for value in values] + ([dtype] if dtype else [])
    is_date = is_date or any(hasattr(value, "isoformat") for value in values)
    return ValueError(
        f"{what} must have numbers in feature {label!r}, got {' in '.join(got)}: {_OF_DATES if is_date else _OF_OTHERS}"
    )


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT, which differ from themselves or cannot be compared."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def with_nan(X: Raw) -> Raw:
    """Lists and arrays of objects with NaN in place of pandas' NA, which NumPy does not convert; others unchanged."""
    if isinstance(X, list | tuple):
        return [with_nan(item) if isinstance(item, list | tuple) else np.nan if _is_na(item) else item for item in X]
    if type(X) is not np.ndarray or X.dtype != object:
        return X
    is_na = np.asarray(np.frompyfunc(_is_na, 1, 1)(X), dtype=np.bool_)
    return np.where(is_na, np.nan, X) if is_na.any() else X


def _is_na(value: object) -> bool:
    return type(value).__name__ == "NAType"


def check_no_dates(X: Raw) -> None:
    """Raise for arrays of dates and times, and lists of them, which NumPy would convert to numbers of nanoseconds."""
    row = X[0] if isinstance(X, list | tuple) and len(X) else None
    first = row[0] if isinstance(row, list | tuple | np.ndarray) and len(row) else None
    dtype = X.dtype if isinstance(X, np.ndarray) else getattr(first, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _DATES:
        raise ValueError(f"X must have numbers, got values of dtype {dtype}: {_OF_DATES}")


@contextmanager
def naming_columns(X: Raw) -> Iterator[None]:
    """Errors in the conversion of lists and arrays of objects to numbers name the column and the value."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not isinstance(X, np.ndarray | list | tuple) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS"):
            raise
        found = _not_a_number(X)
        if found is None:
            raise
        j, value, why = found
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"X must have numbers in feature {j}, got {cut(repr(value))} of type {type(value).__name__}: {why}"
        ) from error


def _not_a_number(X: Raw) -> tuple[int, Any, Exception] | None:
    """The first value that is not a number, with its column and the error of its conversion."""
    try:
        table = np.array(X, dtype=object)
    except ValueError:  # rows of several lengths
        return None
    if table.ndim != 2:
        return None
    for j in range(table.shape[1]):
        for value in table[:, j].tolist():
            try:
                np.asarray(value, dtype=object).astype(np.float32)
                if isinstance(value, list | tuple | np.ndarray):
                    raise ValueError("a cell must be one number")
            except (TypeError, ValueError) as error:
                return j, value, error
    return None


def _those_there(distinct: list[Any], codes: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The values that occur, and their positions among those."""
    is_there = np.zeros(len(distinct) + 1, dtype=np.bool_)
    is_there[codes] = True  # -1 is the last
    places = np.cumsum(is_there[:-1]) - 1
    found = [value for value, there in zip(distinct, is_there[:-1].tolist(), strict=True) if there]
    return found, np.append(places, -1).astype(np.intp)[codes]


# The attribute that `set_output` sets. It is not a parameter, so that clones do not have it: the searches and the
# cross-validation of scikit-learn index predictions as arrays.
OUTPUT = "_predict_output"
# That in which scikit-learn's `set_output` stores its argument, which clones of scikit-learn keep.
TRANSFORM = "_sklearn_output_config"
SETTINGS = frozenset({OUTPUT, TRANSFORM})
CONTAINERS = ("pandas", "polars")
# Methods whose results are converted to frames.
FRAMED = frozenset({"predict", "predict_proba", "predict_log_proba", "decision_function"})


def names_of(y: MatrixLike, what: str = "y") -> NDArray[np.object_] | None:
    """The column names of a frame if all are strings, or the name of a Series if it is a non-empty string, or None.

    `what` is the name of the argument in the error that is raised for duplicate names.
    """
    frame = as_frame(y, what)
    if frame is not None:
        names: list[Any] = list(frame.columns)
    else:
        column = nw.from_native(y, series_only=True, pass_through=True)
        names = [column.name or None] if isinstance(column, nw.Series) else []  # "" is no name
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array([str(name) for name in names], dtype=object)


def label_names(names: Any, n_labels: int) -> NDArray[np.object_]:
    """Validate the argument `label_names`: one string for each label, without duplicates."""
    accepted = "a list or an array of strings, one for each label"
    if isinstance(names, str | bytes | Mapping | Set):
        raise TypeError(f"label_names must be {accepted}, got a {type(names).__name__}")
    try:
        found = list(names)
    except TypeError as error:
        raise TypeError(f"label_names must be {accepted}, got {names!r}") from error
    for j, name in enumerate(found):
        if not isinstance(name, str):
            raise TypeError(f"label_names must be {accepted}, got {name!r} at position {j}")
    if len(found) != n_labels:
        raise ValueError(f"label_names must have length {n_labels}, one name for each label, got length {len(found)}")
    first: dict[str, int] = {}
    for j, name in enumerate(found):
        if (before := first.setdefault(name, j)) < j:
            raise ValueError(f"label_names must be distinct, got {str(name)!r} at positions {before} and {j}")
    return np.array([str(name) for name in found], dtype=object)


def output_names(estimator: NamedOutputs) -> list[str]:
    """The name of each output of a fitted estimator, or "y0" and so on if y had no names."""
    names = getattr(estimator, "target_names_in_", None)
    return [f"y{j}" for j in range(estimator.n_outputs_)] if names is None else names.tolist()


def different(found: NDArray[np.object_] | None, known: NDArray[np.object_] | None) -> str | None:
    """How the names of several outputs differ from known ones; None if they do not differ or are missing on one side.

    A single output may have any name, since it cannot be confused with another.
    """
    if found is None or known is None or len(found) != len(known) or len(known) < 2:
        return None
    for j, (name, expected) in enumerate(zip(found, known, strict=True)):
        if name != expected:
            return f"the name {expected!r} at position {j}, got {name!r}"
    return None


def check_same_names(found: NDArray[np.object_] | None, known: NDArray[np.object_] | None, what: str, why: str) -> None:
    """Raise for the argument `what` whose columns are `different`; `why` says in the message what they must be."""
    if (where := different(found, known)) is not None:
        raise ValueError(f"{what} must have {where}: {why}")


def transform_container(estimator: BaseEstimator) -> str:
    """The container that `transform` is asked for, by `set_output` or by the configuration of scikit-learn."""
    chosen = estimator.__dict__.get(TRANSFORM, {})
    return str(chosen.get("transform", get_config()["transform_output"]))


def check_name(container: object, argument: str) -> str:
    """Check that a container is one of those that `set_output` accepts, and return it."""
    if not isinstance(container, str) or container not in ("default", *CONTAINERS):
        raise ValueError(f'{argument} must be "default", "pandas", "polars" or None, got {container!r}')
    return str(container)


def check_predict(predict: object) -> None:
    """Check that predictions can be converted to frames of this library."""
    name = check_name(predict, "predict")
    if name == "default":
        return
    try:
        import_module(name)
    except ImportError as error:
        raise ImportError(f"predict={predict!r} requires the package {predict}, which is not installed") from error


def built(container: str, found: Prediction, estimator: NamedOutputs, method: str, X: Raw) -> Prediction:
    """The result of `method` of a fitted estimator for X as a frame, or as a Series for one column without classes."""
    if isinstance(found, list):
        pairs = zip(found, estimator.classes_, strict=True)
        return [_frame(container, part, classes.tolist(), X) for part, classes in pairs]
    of_classes = method != "predict" and estimator._label_format is None
    if found.ndim == 1:
        names = getattr(estimator, "target_names_in_", None)
        name = estimator.classes_.tolist()[1] if of_classes else None if names is None else names[0]
        return _series(container, found, name, X)
    return _frame(container, found, estimator.classes_.tolist() if of_classes else output_names(estimator), X)


def _index_of(X: MatrixLike) -> object:
    """The index of a pandas frame."""
    return X.index if isinstance(X, import_module("pandas").DataFrame) else None


def _series(container: str, values: NDArray[Any], name: object, X: MatrixLike) -> object:
    if container == "pandas":
        return import_module(container).Series(_native(values), index=_index_of(X), name=name)
    return _as_series(str(name) if name is not None else "", values)


def _frame(container: str, found: Prediction, names: Sequence[Any], X: Raw) -> Any:
    frames = import_module(container)
    if container == "pandas":
        if is_sparse(found):
            # Some pandas releases warn for sparse bools (2.3), or return NaN for floats that are not stored (3.0.6).
            numbers = found.astype(np.int8) if found.dtype == np.bool_ else found
            frame: Any = frames.DataFrame.sparse.from_spmatrix(numbers, index=_index_of(X), columns=names)
            is_right = numbers is found and all(dtype.fill_value == 0 for dtype in frame.dtypes)
            return frame if is_right else with_zeros(frame, found.dtype, unstored=0)
        return frames.DataFrame(_native(found), index=_index_of(X), columns=names)
    if is_sparse(found):
        raise ValueError(
            'predict="polars" does not support sparse predictions, which this model returns since y was '
            'sparse: use set_output(predict="pandas"), which supports sparse columns, or "default"'
        )
    return frames.DataFrame([_as_series(str(name), found[:, j]) for j, name in enumerate(names)])


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """The values in native byte order, and as float64 if only numpy supports the dtype."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (2, 4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _as_series(name: str, values: NDArray[Any]) -> Prediction:
    """A polars Series."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    plain = values.tolist() if values.dtype.kind == "O" else np.ascontiguousarray(_native(values))
    return import_module("polars").Series(name, plain)
