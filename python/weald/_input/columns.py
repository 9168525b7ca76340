"""The columns of tables: frames of pandas, polars and pyarrow, and arrays of objects.

The kind of a column depends on its dtype and, for objects, on its values. Values are equal if Python's `==` says so: 1,
1.0 and True are one value, and "1" is another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald._input.described import cut

Kind: TypeAlias = Literal["numbers", "categories", "text", "objects", "other"]

_DATES = "M", "m"
_OF_DATES = (
    "convert it to numbers first, such as the year, the day of the week or the days since a date, or drop the column"
)
_OF_OTHERS = (
    "convert it to numbers first, pass categories as a column with a text or categorical dtype, or drop the column"
)


class Columns:
    """The columns of an array of objects, and what the columns of all tables have in common."""

    # Whether each column has a dtype of its own.
    have_types = False

    def __init__(self, X: Any, labels: list[Any] | None = None, what: str = "X") -> None:
        self.table = X
        self._labels = labels
        # The name of the argument in error messages.
        self._what = what

    @staticmethod
    def of(X: Any) -> Columns | None:
        """The columns of X if they may contain values other than numbers, and None otherwise."""
        if len(getattr(X, "shape", ())) != 2:
            return None
        if hasattr(X, "iloc"):
            return _PandasColumns(X)
        if hasattr(X, "get_columns"):
            return _PolarsColumns(X)
        if hasattr(X, "itercolumns"):
            return _ArrowColumns(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            return Columns(X)
        return None

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

    def _values(self, j: int) -> Sequence[Any]:
        return list(self.table[:, j].tolist())

    def categories(self, j: int) -> Sequence[Any]:
        """The categories of the column: those of its dtype, or else its sorted distinct values."""
        return sorted(self.factors(j)[0], key=str)

    def factors(self, j: int) -> tuple[list[Any], NDArray[np.intp]]:
        """The distinct values of the column, and the position of each value among them, or -1 if it is missing."""
        seen: dict[Any, int] = {}
        distinct: list[Any] = []
        values = self._values(j)
        codes = np.empty(len(values), dtype=np.intp)
        for row, value in enumerate(values):
            try:
                code = seen.get(value)
            except TypeError:  # a list, for example
                raise self.refused(j, value) from None
            if code is None:
                code = -1
                if not is_missing(value):
                    code = len(distinct)
                    distinct.append(plain(value))
                seen[value] = code
            codes[row] = code
        return distinct, codes

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

    def refused(self, j: int, *values: Any) -> ValueError:
        """The error for a column that is not made of numbers, with the value that is none."""
        dtype = f"a column of dtype {self.dtype(j)}" if self.have_types else None
        return no_number(self._what, self.label(j), *values, dtype=dtype, is_date=self._is_date(j))

    def _is_date(self, j: int) -> bool:
        return False

    def replaced(self, columns: dict[int, Any]) -> Any:
        """A copy in which these columns are replaced. An array of objects becomes an array of numbers."""
        X = np.empty(self.table.shape, dtype=np.float64)
        for j in range(self.count):
            X[:, j] = columns[j] if j in columns else self.numbers(j)
        return X


class _PandasColumns(Columns):
    have_types = True

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._dtypes = list(X.dtypes)

    def labels(self) -> list[Any]:
        return list(self.table.columns)

    def kind(self, j: int) -> Kind:
        dtype = self._dtypes[j]
        if hasattr(dtype, "categories"):
            return "categories"
        kind, name = getattr(dtype, "kind", ""), str(dtype)
        if name.startswith("dictionary"):
            return "text" if "values=string" in name or "values=large_string" in name else "objects"
        if name == "str" or name.startswith(("string", "large_string")):
            return "text"
        if kind in "biuf":
            return "numbers"
        return "objects" if name == "object" or name.startswith(("null", "decimal")) else "other"

    def dtype(self, j: int) -> str:
        return str(self._dtypes[j])

    def _is_date(self, j: int) -> bool:
        dtype = self._dtypes[j]
        return getattr(dtype, "kind", "") in _DATES or str(dtype).startswith(("period", "date", "time", "duration"))

    def narrow(self, j: int) -> np.dtype[Any] | None:
        dtype = getattr(self._dtypes[j], "numpy_dtype", self._dtypes[j])
        return dtype if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8 else None

    def _values(self, j: int) -> Sequence[Any]:
        return list(self.table.iloc[:, j])

    def categories(self, j: int) -> Sequence[Any]:
        if self.kind(j) == "categories":
            return [plain(value) for value in self._dtypes[j].categories]
        return super().categories(j)

    def factors(self, j: int) -> tuple[list[Any], NDArray[np.intp]]:
        column = self.table.iloc[:, j]
        if self.kind(j) == "categories":
            return _those_there([plain(value) for value in column.cat.categories], column.cat.codes.to_numpy())
        if self.kind(j) == "text":
            codes, distinct = column.factorize()
            return list(distinct), np.asarray(codes, dtype=np.intp)
        return super().factors(j)

    def replaced(self, columns: dict[int, Any]) -> Any:
        X = self.table.copy(deep=False)
        for j, column in columns.items():
            X.isetitem(j, column)
        return X


class _PolarsColumns(Columns):
    have_types = True

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._columns = X.get_columns()

    def labels(self) -> list[Any]:
        return list(self.table.columns)

    def kind(self, j: int) -> Kind:
        dtype = self._columns[j].dtype
        name = str(dtype)
        if dtype.is_numeric() or name == "Boolean":
            return "numbers"
        if name.startswith(("Categorical", "Enum")):
            return "categories"
        return "text" if name in ("String", "Utf8") else "objects" if name in ("Object", "Null") else "other"

    def dtype(self, j: int) -> str:
        return str(self._columns[j].dtype)

    def _is_date(self, j: int) -> bool:
        return self.dtype(j).startswith(("Date", "Time", "Duration"))

    def narrow(self, j: int) -> np.dtype[Any] | None:
        name = self.dtype(j)
        return np.dtype(name.lower()) if name in ("Float32", "Float16") else None

    def _values(self, j: int) -> Sequence[Any]:
        return list(self._columns[j].to_list())

    def categories(self, j: int) -> Sequence[Any]:
        dtype = self._columns[j].dtype
        return list(dtype.categories) if self.dtype(j).startswith("Enum") else super().categories(j)

    def replaced(self, columns: dict[int, Any]) -> Any:
        parts = list(self._columns)
        for j, column in columns.items():
            parts[j] = type(parts[j])(parts[j].name, column)
        return type(self.table)(parts)


class _ArrowColumns(Columns):
    """The columns of a table of pyarrow."""

    have_types = True

    def labels(self) -> list[Any]:
        return list(self.table.column_names)

    def kind(self, j: int) -> Kind:
        name = self.dtype(j)
        if name.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
            return "numbers"
        if name.startswith("dictionary"):
            return "categories"
        if name.startswith(("string", "large_string")):
            return "text"
        return "objects" if name.startswith(("null", "decimal")) else "other"

    def dtype(self, j: int) -> str:
        return str(self.table.column(j).type)

    def _is_date(self, j: int) -> bool:
        return self.dtype(j).startswith(("date", "time", "duration", "month"))

    def narrow(self, j: int) -> np.dtype[Any] | None:
        name = self.dtype(j)
        return np.dtype(np.float32 if name == "float" else np.float16) if name in ("float", "halffloat") else None

    def _values(self, j: int) -> Sequence[Any]:
        return list(self.table.column(j).to_pylist())

    def replaced(self, columns: dict[int, Any]) -> Any:
        X = self.table
        for j, column in columns.items():
            X = X.set_column(j, X.column_names[j], [column])
        return X


def plain(value: Any) -> Any:
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


def no_number(what: str, label: Any, *values: Any, dtype: str | None = None, is_date: bool = False) -> ValueError:
    """The error for a feature of the argument `what` that is not made of numbers, with the value that is none."""
    got = [f"{cut(repr(value))} of type {type(value).__name__}" for value in values] + ([dtype] if dtype else [])
    is_date = is_date or any(hasattr(value, "isoformat") for value in values)
    return ValueError(
        f"{what} must have numbers in feature {label!r}, got {' in '.join(got)}: {_OF_DATES if is_date else _OF_OTHERS}"
    )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT, which differ from themselves or cannot be compared."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def with_nan(X: Any) -> Any:
    """Lists and arrays of objects with NaN in place of pandas' NA, which NumPy does not convert; others unchanged."""
    if isinstance(X, list | tuple):
        return [[np.nan if _is_na(v) else v for v in row] if isinstance(row, list | tuple) else row for row in X]
    if type(X) is not np.ndarray or X.dtype != object:
        return X
    is_na = np.frompyfunc(_is_na, 1, 1)(X).astype(np.bool_)
    return np.where(is_na, np.nan, X) if is_na.any() else X


def _is_na(value: Any) -> bool:
    return type(value).__name__ == "NAType"


def check_no_dates(X: Any) -> None:
    """Raise for arrays of dates and times, and lists of them, which NumPy would convert to numbers of nanoseconds."""
    row = X[0] if isinstance(X, list | tuple) and len(X) else None
    first = row[0] if isinstance(row, list | tuple | np.ndarray) and len(row) else None
    dtype = X.dtype if isinstance(X, np.ndarray) else getattr(first, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _DATES:
        raise ValueError(f"X must have numbers, got values of dtype {dtype}: {_OF_DATES}")


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
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


def _not_a_number(X: Any) -> tuple[int, Any, Exception] | None:
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
