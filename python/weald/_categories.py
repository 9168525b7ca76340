"""Categorical features: their detection, and the encoding of their values by the codes that trees split on.

A column of a frame with a categorical or text dtype contains categories by value, whose codes are their positions in
`categories_`. A numerical column that is declared as categorical contains codes already, which are integers from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._described import described
from weald._sparse import is_sparse

# The maximum number of categories of the engine.
MOST_CATEGORIES = 65_535

# The categories of each categorical feature, and None for the others.
Known = list[NDArray[Any] | None]

_ACCEPTED = '"from_dtype", None, a mask of shape (n_features,), or indices or column names of features'


def learn(estimator: Any, X: Any) -> tuple[Any, Known | None]:
    """X with categories encoded, and the categories, which are None if no feature is categorical.

    For features that contain codes already, the categories are unknown before X is converted. They are empty, and
    `declare` finds them.
    """
    asked = estimator.categorical_features
    columns = _Columns.of(X)
    if asked is None or (isinstance(asked, str) and asked == "from_dtype" and columns is None):
        return X, None
    n_features = X.shape[1] if len(getattr(X, "shape", ())) == 2 else np.asarray(X).shape[-1]
    by_value = {j for j in range(n_features) if columns is not None and columns.is_by_value(j)}
    if isinstance(asked, str):
        named = by_value if columns is not None and columns.have_types else set()
    else:
        named = _places(asked, n_features, X)
    if not named:
        return X, None
    known: Known = [None] * n_features
    codes = {}
    for j in sorted(named):
        known[j] = np.arange(0)
        if columns is not None and j in by_value:
            known[j] = categories = _checked(columns.categories(j), columns.name(j))
            codes[j] = columns.codes(j, categories)
    return (X if columns is None else columns.replaced(codes)), known


def declare(estimator: Any, X: Any, known: Known | None) -> None:
    """Set `categories_` on the estimator, from encoded X."""
    estimator.__dict__.pop("categories_", None)
    if known is None:
        return
    for j, categories in enumerate(known):
        if categories is not None and len(categories) == 0:
            values = _codes_of(X, j)
            _check_codes(estimator, j, values)
            most = int(np.nanmax(values, initial=0.0)) + 1
            if most > MOST_CATEGORIES:
                raise ValueError(
                    f"X must have at most {MOST_CATEGORIES} categories, with smaller codes, in feature "
                    f"{_called(estimator, j)}, which is in categorical_features, got the code {most - 1}"
                )
            known[j] = np.arange(most)
    estimator.categories_ = known


def encode(estimator: Any, X: Any) -> Any:
    """X with categories encoded by `categories_`, and NaN for missing and unknown categories."""
    known = getattr(estimator, "categories_", None)
    if known is None:
        return X
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] != len(known):
        return X  # an error for its number of features is raised later
    columns = _Columns.of(X)
    if columns is None:
        for j, categories in enumerate(known):
            if categories is not None and not _are_codes(categories):
                raise ValueError(
                    f"X must be a frame or an object array with values like {categories.tolist()[:1]} in feature "
                    f"{_called(estimator, j)}, which is in categorical_features, got numbers"
                )
        return X
    codes = {}
    for j, categories in enumerate(known):
        if categories is None or (_are_codes(categories) and not columns.is_by_value(j)):
            continue
        if categories.dtype.kind == "O" and not columns.is_by_value(j):
            raise ValueError(
                f"X must have values like {categories.tolist()[:1]} in feature {_called(estimator, j)}, which is "
                "in categorical_features, got numbers"
            )
        codes[j] = columns.codes(j, categories)
    return columns.replaced(codes)


def check_codes(estimator: Any, X: Any) -> None:
    """Raise an error for values that are not codes. Codes that did not occur in training are unknown categories."""
    for j, categories in enumerate(getattr(estimator, "categories_", ())):
        if categories is not None and _are_codes(categories):
            _check_codes(estimator, j, _codes_of(X, j))


def to_engine(estimator: Any) -> list[int] | None:
    """Number of categories of each feature, 0 for features that are not categorical."""
    known = getattr(estimator, "categories_", None)
    return None if known is None else [0 if categories is None else len(categories) for categories in known]


def counts(estimator: Any, X: Any) -> list[int]:
    """Estimated number of categories of each feature of X before validation, 0 if it would not be categorical."""
    if not hasattr(estimator, "categorical_features"):
        return []
    X, known = learn(estimator, X)
    found = []
    for j, categories in enumerate(known or ()):
        if categories is not None and len(categories):
            found.append(len(categories))
        elif categories is not None:
            columns = None if is_sparse(X) else _Columns.of(X)
            values = np.asarray(_codes_of(X, j) if columns is None else columns._values(j), dtype=np.float64)
            most = np.nanmax(values, initial=0.0)
            found.append(int(np.clip(most + 1, 1, MOST_CATEGORIES)))
    return found


def by_value(X: Any) -> list[Any]:
    """Names of the columns of a frame that contain categories by value: of a text or categorical dtype."""
    columns = None if is_sparse(X) else _Columns.of(X)
    if columns is None or not columns.have_types:
        return []
    return [columns.name(j) for j in range(X.shape[1]) if columns.is_by_value(j)]


def are_by_value(X: Any) -> bool:
    """Whether columns of X before validation may contain categories by value."""
    return not is_sparse(X) and _Columns.of(X) is not None


def mask_of(estimator: Any) -> list[bool] | None:
    """A mask of the categorical features, or None if there are none."""
    known = getattr(estimator, "categories_", None)
    return None if known is None else [categories is not None for categories in known]


def names_of(estimator: Any) -> list[list[str]] | None:
    """The names of the categories of each feature in exported rules."""
    known = getattr(estimator, "categories_", None)
    return None if known is None else [[] if categories is None else list(map(str, categories)) for categories in known]


def prove(name: str, state: dict[str, Any]) -> None:
    """Validate the attribute `categories_` of a state from an untrusted source."""
    if "categories_" not in state:
        return
    known = state["categories_"]
    if not isinstance(known, list) or len(known) != state.get("n_features_in_"):
        raise ValueError(f"{name}: categories_ must be a list with one item for each feature, got {described(known)}")
    for categories in known:
        if categories is None:
            continue
        is_list = isinstance(categories, np.ndarray) and categories.ndim == 1 and categories.dtype.kind in "biufO"
        if not is_list or not 1 <= len(categories) <= MOST_CATEGORIES:
            raise ValueError(
                f"{name}: categories_ must have None or arrays of 1 to {MOST_CATEGORIES} categories as items, "
                f"got {described(categories)}"
            )
        others = [value for value in categories.tolist() if not isinstance(value, str)]
        if categories.dtype.kind == "O" and others:
            raise ValueError(f"{name}: categories_ must have numbers or strings, got {described(others[0])}")


def _places(asked: Any, n_features: int, X: Any) -> set[int]:
    """The indices of the features that are given by a mask, indices or names."""
    is_list = isinstance(asked, Iterable) and not isinstance(asked, (str, bytes, Mapping))
    items = list(asked) if is_list else None
    if items is None:
        raise ValueError(f"categorical_features must be {_ACCEPTED}, got {asked!r}")
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != n_features:
            raise ValueError(
                f"categorical_features must be a mask of length {n_features}, the number of features, got length "
                f"{len(items)}"
            )
        return {j for j, is_category in enumerate(items) if is_category}
    if all(isinstance(item, str) for item in items):
        columns = [str(column) for column in getattr(X, "columns", ())]
        for item in items:
            if item not in columns:
                raise ValueError(f"categorical_features must have names of columns of X, got {item!r}")
        return {columns.index(item) for item in items}
    for item in items:
        if not isinstance(item, Integral) or isinstance(item, (bool, np.bool_)):
            raise ValueError(f"categorical_features must be {_ACCEPTED}, got the item {item!r}")
        if not 0 <= int(item) < n_features:
            raise ValueError(f"categorical_features must have indices from 0 to {n_features - 1}, got {item}")
    return {int(item) for item in items}


def _checked(categories: Sequence[Any], name: Any) -> NDArray[Any]:
    """Categories as an array of a single kind: bools, integers, floats, or strings otherwise."""
    if len(categories) > MOST_CATEGORIES:
        raise ValueError(f"X must have at most {MOST_CATEGORIES} categories in feature {name!r}, got {len(categories)}")
    for kind in (bool, int, float):
        if categories and all(type(value) is kind for value in categories):
            return np.array(categories)
    return np.array([str(value) for value in categories] or [""], dtype=object)


def _are_codes(categories: NDArray[Any]) -> bool:
    """Whether the values of the feature are codes already."""
    return categories.dtype.kind == "i" and np.array_equal(categories, np.arange(len(categories)))


def _codes_of(X: Any, j: int) -> NDArray[Any]:
    """The values of a column of validated X, or its stored values if X is sparse."""
    values: NDArray[Any]
    if not is_sparse(X):
        values = X[:, j]
    elif X.format == "csc":
        values = X.data[X.indptr[j] : X.indptr[j + 1]]
    else:
        values = X.data[X.indices == j]
    return values


def _check_codes(estimator: Any, j: int, values: NDArray[Any]) -> None:
    wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
    if wrong.any():
        raise ValueError(
            f"X must have integers from 0 or NaN in feature {_called(estimator, j)}, which is in categorical_features, "
            f"got {values[wrong][0]:g}"
        )


def _called(estimator: Any, j: int) -> Any:
    """The description of a feature in error messages."""
    names = getattr(estimator, "feature_names_in_", None)
    return j if names is None else repr(names[j])


class _Columns:
    """The columns of a pandas or polars frame, or of an object array."""

    # Whether each column has its own dtype, which determines whether it is categorical.
    have_types = False

    def __init__(self, X: Any) -> None:
        self._X = X

    @staticmethod
    def of(X: Any) -> _Columns | None:
        """The columns of X if they may contain values other than numbers, and None otherwise."""
        if len(getattr(X, "shape", ())) != 2:
            return None
        if hasattr(X, "iloc"):
            return _PandasColumns(X)
        if hasattr(X, "get_columns"):
            return _PolarsColumns(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            return _Columns(X)
        return None

    def name(self, j: int) -> Any:
        """The description of the column in error messages."""
        return j

    def is_by_value(self, j: int) -> bool:
        """Whether the column has a text or categorical dtype."""
        return any(isinstance(value, str) for value in self._X[:, j])

    def _values(self, j: int) -> Sequence[Any]:
        return list(self._X[:, j].tolist())

    def categories(self, j: int) -> Sequence[Any]:
        """The categories of the column: those of its dtype, or else its sorted distinct values."""
        present = {value for value in self._values(j) if not _is_missing(value)}
        return sorted(map(_plain, present), key=str)

    def codes(self, j: int, categories: NDArray[Any]) -> NDArray[np.float32]:
        """The position of each value among the categories, or NaN if it is not one of them."""
        return _found(self._values(j), categories)

    def replaced(self, codes: dict[int, NDArray[np.float32]]) -> Any:
        """A copy in which these columns are replaced."""
        X = self._X.astype(object)
        for j, column in codes.items():
            X[:, j] = column
        return X.astype(np.float64)


class _PandasColumns(_Columns):
    have_types = True

    def name(self, j: int) -> Any:
        return self._X.columns[j]

    def is_by_value(self, j: int) -> bool:
        dtype = self._X.dtypes.iloc[j]
        if hasattr(dtype, "categories"):
            return True
        is_text = getattr(dtype, "kind", "") == "O" or "string" in str(dtype)
        return is_text and any(isinstance(value, str) for value in self._X.iloc[:, j])

    def _values(self, j: int) -> Sequence[Any]:
        return list(self._X.iloc[:, j])

    def categories(self, j: int) -> Sequence[Any]:
        dtype = self._X.dtypes.iloc[j]
        return list(map(_plain, dtype.categories)) if hasattr(dtype, "categories") else super().categories(j)

    def codes(self, j: int, categories: NDArray[Any]) -> NDArray[np.float32]:
        column = self._X.iloc[:, j]
        if not hasattr(column.dtype, "categories"):
            return super().codes(j, categories)
        # Looked up once for each category instead of for each sample.
        of_codes = np.append(_found(list(column.cat.categories), categories), np.float32(np.nan))
        codes: NDArray[np.float32] = of_codes[column.cat.codes.to_numpy()]
        return codes

    def replaced(self, codes: dict[int, NDArray[np.float32]]) -> Any:
        X = self._X.copy(deep=False)
        for j, column in codes.items():
            X.isetitem(j, column)
        return X


class _PolarsColumns(_Columns):
    have_types = True

    def name(self, j: int) -> Any:
        return self._X.columns[j]

    def _column(self, j: int) -> Any:
        return self._X.get_columns()[j]

    def is_by_value(self, j: int) -> bool:
        return str(self._column(j).dtype).startswith(("String", "Utf8", "Categorical", "Enum"))

    def _values(self, j: int) -> Sequence[Any]:
        return list(self._column(j).to_list())

    def categories(self, j: int) -> Sequence[Any]:
        dtype = self._column(j).dtype
        return list(dtype.categories) if str(dtype).startswith("Enum") else super().categories(j)

    def replaced(self, codes: dict[int, NDArray[np.float32]]) -> Any:
        columns = self._X.get_columns()
        for j, column in codes.items():
            columns[j] = type(columns[j])(columns[j].name, column)
        return type(self._X)(columns)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT, which differ from themselves or cannot be compared."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except TypeError:
        return True


def _found(values: Sequence[Any], categories: NDArray[Any]) -> NDArray[np.float32]:
    """The position of each value among the categories, or NaN if it is not one of them."""
    are_text = categories.dtype.kind == "O"
    places = {category: place for place, category in enumerate(categories.tolist())}
    codes = np.full(len(values), np.nan, dtype=np.float32)
    for row, value in enumerate(values):
        if not _is_missing(value):
            place = places.get(str(value) if are_text else _plain(value))
            if place is not None:
                codes[row] = place
    return codes
