"""What the columns of X are: numbers, or categories with their values. `learn` decides it in `fit`, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input.checks import as_float32, is_integer
from weald._input.frames import (
    Columns,
    StoredFrame,
    check_distinct,
    is_hashable,
    is_listed,
    is_missing,
    no_number,
    number_of,
    plain,
)
from weald._input.messages import cut, described
from weald._input.sklearn_private import check_feature_names
from weald._input.sparse import Matrix, MatrixLike, Raw, is_sparse

if TYPE_CHECKING:
    from weald._fit.base import BaseModel


# The maximum number of categories of the engine.
MOST_CATEGORIES = 65_535

_ACCEPTED = '"from_dtype", None, a mask of shape (n_features,), or indices or column names of features'
# The categories of a feature without any value in `fit`; the engine needs one.
_NONE = [""]


@dataclass(frozen=True)
class Category:
    """A categorical feature: its values, whose codes are their positions."""

    name: str
    values: NDArray[Any]

    @property
    def is_text(self) -> bool:
        """Whether the categories are texts rather than numbers."""
        return bool(self.values.dtype.kind == "O")

    @property
    def are_codes(self) -> bool:
        """Whether the values are their own codes."""
        return bool(self.values.dtype.kind == "i" and np.array_equal(self.values, np.arange(len(self.values))))

    @property
    def had_values(self) -> bool:
        """Whether `fit` saw any value. If not, no split uses the feature, and every value is unknown."""
        return bool(self.values.tolist() != _NONE)

    def codes(
        self, distinct: Sequence[Any], narrow: np.dtype[Any] | None = None, what: str = "X"
    ) -> NDArray[np.float32]:
        """The codes of values that are not missing: NaN for unknown categories. Codes are only checked for their type.

        `narrow` is the type of numbers that were rounded to it: the categories are then rounded, too. `what` is the
        name of the argument in error messages.
        """
        places = {} if self.are_codes else self._places(narrow)
        found = np.full(len(distinct), np.nan, dtype=np.float32)
        for row, value in enumerate(distinct):
            if self.had_values and isinstance(value, bool | int | float) == self.is_text:
                raise self.refused(f"{'the number' if self.is_text else 'the value'} {cut(repr(value))}", what)
            place = value if self.are_codes else places.get(str(value) if self.is_text else value)
            if place is not None:
                found[row] = place
        return found

    def refused(self, got: str, what: str = "X") -> ValueError:
        """The error for a column with values of the other type."""
        kind = "texts" if self.is_text else "numbers"
        return ValueError(
            f"{what} must have values like {self.values.tolist()[:1]} in feature {self.name}, which is in "
            f"categorical_features, got {got}; its categories are {kind}, as in fit"
        )

    def checked_codes(self, values: NDArray[Any], what: str = "X") -> NDArray[Any]:
        """The codes, in a copy with NaN if some are negative, which are missing as those of pandas and scikit-learn are.

        Raises for values that are not whole numbers. Codes that did not occur in training are unknown categories.
        """
        wrong = (values != np.floor(values)) & ~np.isnan(values)
        if wrong.any():
            raise ValueError(
                f"{what} must have whole numbers or NaN in feature {self.name}, which is in categorical_features, "
                f"got {values[wrong][0]:g}"
            )
        is_missing = values < 0
        return np.where(is_missing, np.float32(np.nan), values) if is_missing.any() else values

    def _places(self, narrow: np.dtype[Any] | None) -> dict[Any, int]:
        keys = self.values.tolist()
        if narrow is not None and not self.is_text:
            keys = self.values.astype(narrow).astype(np.float64).tolist()
            if len(set(keys)) < len(keys):
                raise ValueError(
                    f"X must be float64 in feature {self.name}, which is in categorical_features, since {narrow} does "
                    "not distinguish its categories"
                )
        return {key: place for place, key in enumerate(keys)}


def is_from_dtype(asked: object) -> bool:
    return isinstance(asked, str) and asked == "from_dtype"


def places_asked(asked: Any, n_features: int, X: Raw) -> set[int]:
    """The indices of the features that are given by a mask, indices or names."""
    items = list(asked) if is_listed(asked) else None
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
        columns = None if is_sparse(X) else Columns.of(X)
        labels = [str(label) for label in (columns.labels() if columns is not None else None) or ()]
        for item in items:
            if item not in labels:
                raise ValueError(f"categorical_features must have names of columns of X, got {item!r}")
        return {labels.index(item) for item in items}
    for item in items:
        if not is_integer(item):
            raise ValueError(f"categorical_features must be {_ACCEPTED}, got the item {item!r}")
        if not 0 <= int(item) < n_features:
            raise ValueError(f"categorical_features must have indices from 0 to {n_features - 1}, got {item}")
    return {int(item) for item in items}


def as_categories(categories: Sequence[Any], name: object) -> NDArray[Any]:
    """Categories as an array of a single kind: bools, integers, floats, or strings otherwise."""
    if len(categories) > MOST_CATEGORIES:
        raise ValueError(f"X must have at most {MOST_CATEGORIES} categories in feature {name!r}, got {len(categories)}")
    numbers = [value for value in categories if isinstance(value, bool | int | float)]
    others = [value for value in categories if not isinstance(value, bool | int | float)]
    if numbers and others:
        raise ValueError(
            f"X must have either texts or numbers as categories in feature {name!r}, got {cut(repr(others[0]))} and "
            f"{cut(repr(numbers[0]))}: convert the column, for example with astype(str)"
        )
    if not numbers:
        found = np.array([str(value) for value in others] or _NONE, dtype=object)
    else:
        kind = next(kind for kind in (bool, int, float, object) if all(isinstance(value, kind) for value in numbers))
        found = np.array(numbers, dtype=np.float64 if kind is object else None)
    if found.dtype.kind not in "bifO" or len(set(found.tolist())) < max(1, len(categories)):
        raise ValueError(
            f"X must have categories in feature {name!r} that differ as texts, or as integers of 64 bits or float64, "
            "got others"
        )
    return found


def width_of(X: Raw) -> int:
    """The number of features."""
    return int(X.shape[1] if len(getattr(X, "shape", ())) == 2 else np.asarray(X).shape[-1])


# The categories of each categorical feature, and None for the others.
Known: TypeAlias = list[NDArray[Any] | None]
# The attributes that `fit` sets.
NAMES, CATEGORIES = "feature_names_in_", "categories_"
# The labels of columns, as text, unless they are strings or the numbers 0, 1 and so on.
LABELS = "_column_labels"


@dataclass(frozen=True)
class Schema:
    """What the columns of X were in `fit`."""

    # The class of the model, for error messages.
    owner: str
    n_features: int
    # The names of the features if all are strings.
    names: NDArray[np.object_] | None
    known: Known | None
    # The labels of the columns as text if there are no names.
    labels: list[str]

    @classmethod
    def of(cls, model: BaseEstimator) -> Schema:
        """The schema of a fitted model."""
        names, known, labels = (getattr(model, attribute, None) for attribute in (NAMES, CATEGORIES, LABELS))
        return cls(type(model).__name__, model.n_features_in_, names, known, _listed(labels))

    def category(self, j: int) -> Category | None:
        """The categorical feature j, or None if it is numerical."""
        values = None if self.known is None else self.known[j]
        return None if values is None else Category(self.name(j), values)

    def categories(self) -> dict[int, Category]:
        """The categorical features by index."""
        found = {j: self.category(j) for j in range(len(self.known or ()))}
        return {j: category for j, category in found.items() if category is not None}

    def name(self, j: int) -> str:
        """The description of a feature in error messages."""
        return str(j) if self.names is None else repr(self.names[j])

    def difference(self, other: Schema) -> str | None:
        """What differs from the schema of another model, or None if nothing does."""
        if self.n_features != other.n_features:
            return f"{self.n_features} and {other.n_features} features"
        if not np.array_equal(_listed(self.names), _listed(other.names)):
            return "the names of features"
        if self.labels != other.labels:
            return "the labels of columns"
        for j in range(self.n_features):
            a, b = self.category(j), other.category(j)
            values = ([] if c is None else [(type(value), value) for value in c.values.tolist()] for c in (a, b))
            if (a is None) != (b is None) or next(values) != next(values):
                return f"the categories of feature {self.name(j)}"
        return None

    # --- samples -----------------------------------------------------------------------------------------------------

    def read(self, X: MatrixLike) -> Any:
        """X with numbers in all columns: the codes of categories, and NaN for missing and unknown ones.

        The shape and the values of numerical features are validated later.
        """
        by_value = {j: category for j, category in self.categories().items() if not category.are_codes}
        if by_value and not is_sparse(X) and not hasattr(X, "shape"):
            X = _array(X)
        columns = None if is_sparse(X) else Columns.of(X)
        if columns is None:
            return self._read_numbers(X, by_value) if by_value else X
        self.check_names(columns)
        if columns.count != self.n_features:
            raise ValueError(
                f"X has {columns.count} features, but {self.owner} is expecting {self.n_features} features as input"
            )
        if not columns.have_types and not by_value:
            return X
        codes = {}
        for j, category in self.categories().items():
            if not category.are_codes or columns.kind(j) != "numbers":
                codes[j] = _coded(columns, j, category)
        return numbers_of(columns, X, codes)

    def read_again(self, X: MatrixLike) -> Matrix:
        """X of a fit that goes on, in which no numerical feature may have become categorical."""
        columns = None if is_sparse(X) else Columns.of(X)
        if columns is not None and columns.have_types and columns.count == self.n_features:
            self.check_names(columns)
            for j in range(columns.count):
                if self.category(j) is None and columns.kind(j) in ("categories", "text"):
                    raise ValueError(
                        f"X must have numbers in feature {self.name(j)}, as in the previous fit, got a column of dtype "
                        f"{columns.dtype(j)}"
                    )
        return self.read(X)

    def check_asked(self, asked: object, X: MatrixLike) -> None:
        """Raise if the parameter `categorical_features` asks for other features than the fit before."""
        if is_from_dtype(asked) or width_of(X) != self.n_features:
            return
        places = set() if asked is None else places_asked(asked, self.n_features, X)
        if places != self.categories().keys():
            raise ValueError(
                f"categorical_features must be the features of the previous fit, {sorted(self.categories())}, got "
                f"{sorted(places)}"
            )

    def check_names(self, columns: Columns) -> None:
        """Raise scikit-learn's error for columns with other names or in another order."""
        labels = columns.labels()
        if labels is None:
            return
        check_distinct(labels)
        if self.names is not None and all(isinstance(label, str) for label in labels):
            if labels != self.names.tolist():
                if not isinstance(columns.table, StoredFrame):  # which scikit-learn does not know
                    check_feature_names(SimpleNamespace(feature_names_in_=self.names), columns.table, reset=False)
                raise ValueError(
                    f"X must have the columns of fit, {cut(', '.join(self.names))}, got {cut(', '.join(labels))}"
                )
        elif self.names is None:
            found, expected = _as_text(labels), self.labels or list(map(str, range(self.n_features)))
            if found != expected and sorted(found) == sorted(expected):
                raise ValueError(
                    f"X must have its columns in the same order as in fit, {cut(', '.join(expected))}, got "
                    f"{cut(', '.join(found))}"
                )

    def _read_numbers(self, X: Matrix, by_value: dict[int, Category]) -> Matrix:
        """X without dtypes of columns, where categories are known by value."""
        if len(getattr(X, "shape", ())) != 2 or X.shape[1] != self.n_features:
            return X  # an error for its shape is raised later
        columns = {j: _dense_column(X, j) for j in by_value}
        if is_sparse(X):
            if any(not np.isnan(column).all() for column in columns.values()):
                first = next(j for j, column in columns.items() if not np.isnan(column).all())
                raise self._no_frame(by_value[first])
            return X
        found = np.array(X, dtype=np.float64)
        for j, category in by_value.items():
            column = columns[j]
            distinct, places = np.unique(column, return_inverse=True)
            is_there = distinct == distinct
            if is_there.any() and category.is_text and category.had_values:
                raise self._no_frame(category)
            codes = np.full(len(distinct), np.nan, dtype=np.float32)
            narrow = column.dtype if column.dtype.kind == "f" and column.dtype.itemsize < 8 else None
            codes[is_there] = category.codes(distinct[is_there].tolist(), narrow)
            found[:, j] = codes[places.reshape(-1)]
        return found

    @staticmethod
    def _no_frame(category: Category) -> ValueError:
        return ValueError(
            f"X must be a frame or an object array with values like {category.values.tolist()[:1]} in feature "
            f"{category.name}, which is in categorical_features, got numbers"
        )

    def with_codes(self, X: Matrix) -> Matrix:
        """Validated X with NaN in place of negative codes, copied if there are any. Raises for values that are no codes."""
        found: dict[int, NDArray[Any]] = {}
        for j, category in self.categories().items():
            if category.are_codes:
                values = _codes_of(X, j)
                codes = category.checked_codes(values)
                if codes is not values:
                    found[j] = codes
        return _with_columns(X, found) if found else X

    def keep_in(self, model: BaseEstimator, X: Matrix) -> Matrix:
        """X with validated codes; sets the attributes of a model whose fit went on with these features."""
        if model.n_features_in_ != self.n_features:
            return X  # an error is raised later
        X = self.with_codes(X)
        if self.names is not None:
            setattr(model, NAMES, self.names)
        if self.labels:
            setattr(model, LABELS, np.array(self.labels, dtype=object))
        if self.known is None:
            model.__dict__.pop(CATEGORIES, None)
        else:
            setattr(model, CATEGORIES, self.known)
        return X

    def row(self, values: Sequence[Any]) -> list[float]:
        """The values of one sample in the order of the features as numbers."""
        found = []
        for j, value in enumerate(values):
            category = self.category(j)
            narrow = value.dtype if isinstance(value, np.float32 | np.float16) else None
            if is_missing(value):
                found.append(np.nan)
            elif category is None:
                if (number := number_of(value)) is None:
                    raise no_number("sample", self._labels()[j], value)
                found.append(number)
            elif not is_hashable(value):
                raise category.refused(f"a {type(value).__name__}", "sample")
            else:
                codes = category.codes([plain(value)], narrow, "sample")
                if category.are_codes:
                    codes = category.checked_codes(codes, "sample")
                found.append(float(codes[0]))
        return found

    def _labels(self) -> list[Any]:
        return list(range(self.n_features)) if self.names is None else self.names.tolist()

    def points(self, features: Sequence[int], grid: object, *, of_samples: bool = False) -> NDArray[np.float32]:
        """A grid of values of some features, one row for each point, as numbers.

        `of_samples` says that the values of categorical features occur in samples: others may lie between categories.
        """
        grid = np.asarray(grid)
        if not any(self.category(j) for j in features) and grid.dtype.kind in "biuf":
            return np.ascontiguousarray(as_float32(grid))
        labels = self._labels()
        table = Columns(grid.astype(object), [labels[j] for j in features], "the grid")
        found = np.empty(grid.shape, dtype=np.float32)
        for k, j in enumerate(features):
            category = self.category(j)
            if category is None:
                with np.errstate(over="ignore"):
                    found[:, k] = table.numbers(k)
                continue
            distinct, places = table.factors(k)
            if grid.dtype.kind == "U" and not category.is_text:
                # The values of features are joined in one array, where numbers become text beside text.
                values = {str(value): value for value in category.values.tolist()}
                distinct = [values[text] if text in values else _number(text) for text in distinct]
            codes = category.codes(distinct, what="the grid")
            if category.are_codes:
                codes = category.checked_codes(codes, "the grid")
            elif not (of_samples or category.is_text) and np.isnan(codes).any():
                unknown = distinct[int(np.isnan(codes).argmax())]
                raise ValueError(
                    f"the grid must have categories of feature {category.name}, got {unknown!r}: pass the feature in "
                    "categorical_features"
                )
            # A value that is unknown or missing goes with the categories that a split has not seen.
            codes[np.isnan(codes)] = len(category.values)
            found[:, k] = np.append(codes, np.float32(len(category.values)))[places]
        return found


# --- fit -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learned:
    """What `fit` learns of the columns before X is validated."""

    # None if no feature is categorical; empty for features that contain codes already, which `declare` finds.
    known: Known | None
    # None if the columns have no labels, or their names are the labels.
    labels: list[str] | None


def learn(asked: object, X: MatrixLike) -> tuple[Any, Learned]:
    """X with categories encoded, and what its columns are.

    `asked` is the parameter `categorical_features`.
    """
    if not (asked is None or is_from_dtype(asked) or is_sparse(X) or hasattr(X, "shape")):
        X = _array(X)
    columns = None if is_sparse(X) else Columns.of(X)
    found = None if columns is None else columns.labels()
    check_distinct(found or ())
    named = _named(asked, X, columns)
    known: Known = [None] * (width_of(X) if named else 0)
    codes = {}
    for j in sorted(named):
        known[j] = np.arange(0)
        if columns is not None and is_by_value(columns, j):
            category = Category(repr(columns.label(j)), as_categories(columns.categories(j), columns.label(j)))
            known[j] = category.values
            codes[j] = _coded(columns, j, category)
    labels = None if found is None or all(isinstance(label, str) for label in found) else _as_text(found)
    learned = Learned(known if named else None, labels)
    if columns is None or not (columns.have_types or named):
        return X, learned
    return numbers_of(columns, X, codes), learned


def declare(estimator: BaseModel, X: Matrix, learned: Learned) -> Matrix:
    """Set `categories_` and the labels of columns on the estimator, from encoded X, which is returned with codes or NaN."""
    known, labels = learned.known, learned.labels
    for attribute in (CATEGORIES, LABELS):
        estimator.__dict__.pop(attribute, None)
    if labels is not None and labels != list(map(str, range(len(labels)))):
        setattr(estimator, LABELS, np.array(labels, dtype=object))
    if known is None:
        return X
    schema = Schema.of(estimator)
    negative: dict[int, NDArray[Any]] = {}
    for j, categories in enumerate(known):
        if categories is not None and len(categories) == 0:
            values = _codes_of(X, j)
            category = Category(schema.name(j), np.arange(1))
            codes = category.checked_codes(values)
            if codes is not values:
                negative[j] = codes
            most = int(np.nanmax(codes, initial=0.0)) + 1
            if most > MOST_CATEGORIES:
                raise ValueError(
                    f"X must have at most {MOST_CATEGORIES} categories, with smaller codes, in feature "
                    f"{category.name}, which is in categorical_features, got the code {most - 1}"
                )
            known[j] = np.arange(most)
    estimator.categories_ = known
    return _with_columns(X, negative) if negative else X


def of_samples(estimator: BaseModel, given: Raw, X: Matrix, is_there: NDArray[np.bool_], *, learned: bool) -> Matrix:
    """Validated X with NaN, as for unknown categories, in place of categories that only absent samples have.

    If this fit has `learned` its categories, they are removed from `categories_`, too, unless a dtype of `given`, X
    before validation, declares them.
    """
    schema = Schema.of(estimator)
    columns = None if is_sparse(given) or not learned else Columns.of(given)
    changed: dict[int, NDArray[Any]] = {}
    for j, category in schema.categories().items():
        n_before, values, of_there = len(category.values), _codes_of(X, j), is_there[_rows_of(X, j)]
        is_known = values < n_before
        kept = np.arange(n_before)
        if learned and not (columns is not None and columns.declares(j)):
            kept = np.unique(values[of_there & is_known]).astype(np.intp)
            if not category.is_text and (columns is None or columns.kind(j) != "categories"):
                # All codes up to the largest one are categories.
                kept = np.arange(kept.max(initial=0) + 1)
        if len(kept) < n_before:
            estimator.categories_[j] = as_categories(category.values[kept].tolist(), category.name)
        places = np.full(n_before, np.nan, dtype=np.float32)
        places[kept] = np.arange(len(kept))
        codes = np.where(of_there, values, np.float32(np.nan))
        codes[is_known] = places[values[is_known].astype(np.intp)]
        if not np.array_equal(codes, values, equal_nan=True):
            changed[j] = codes
    return _with_columns(X, changed) if changed else X


def is_by_value(columns: Columns, j: int) -> bool:
    """Whether the column contains categories by value: its dtype is text or categorical, or it has texts or nothing."""
    kind = columns.kind(j)
    if kind == "objects":
        has_values, has_text = columns.has_values(j)
        return has_text or not has_values
    return kind in ("categories", "text")


def by_value(X: MatrixLike) -> list[Any]:
    """Names of the columns of a frame that contain categories by value: of a text or categorical dtype."""
    columns = None if is_sparse(X) else Columns.of(X)
    if columns is None or not columns.have_types:
        return []
    return [columns.label(j) for j in range(columns.count) if is_by_value(columns, j)]


def counts(estimator: BaseEstimator, X: Raw) -> list[int]:
    """Estimated number of categories of each feature of X before validation, 0 if it would not be categorical."""
    if not hasattr(estimator, "categorical_features"):
        return []
    X, learned = learn(estimator.categorical_features, X)
    X = X.tocsc() if is_sparse(X) and learned.known else X
    found = []
    for j, categories in enumerate(learned.known or ()):
        if categories is not None and len(categories):
            found.append(len(categories))
        elif categories is not None:
            columns = None if is_sparse(X) else Columns.of(X)
            values = np.asarray(_codes_of(X, j) if columns is None else columns.numbers(j), dtype=np.float64)
            most = np.nanmax(values, initial=0.0)
            found.append(int(np.clip(most + 1, 1, MOST_CATEGORIES)))
    return found


def are_by_value(X: MatrixLike) -> bool:
    """Whether columns of X before validation may contain categories by value."""
    return not is_sparse(X) and Columns.of(X) is not None


# --- what others need of `categories_` -------------------------------------------------------------------------------


def to_engine(estimator: BaseEstimator) -> list[int] | None:
    """Number of categories of each feature, 0 for features that are not categorical."""
    known = getattr(estimator, CATEGORIES, None)
    return None if known is None else [0 if categories is None else len(categories) for categories in known]


def mask_of(estimator: BaseEstimator) -> list[bool] | None:
    """A mask of the categorical features, or None if there are none."""
    known = getattr(estimator, CATEGORIES, None)
    return None if known is None else [categories is not None for categories in known]


def names_of(estimator: BaseEstimator) -> list[list[str]] | None:
    """The names of the categories of each feature in exported rules."""
    known = getattr(estimator, CATEGORIES, None)
    return None if known is None else [[] if categories is None else list(map(str, categories)) for categories in known]


def prove(name: str, state: dict[str, Any]) -> None:
    """Validate the attribute `categories_` of a state from an untrusted source."""
    if CATEGORIES not in state:
        return
    known = state[CATEGORIES]
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


# --- columns ---------------------------------------------------------------------------------------------------------


def _coded(columns: Columns, j: int, category: Category) -> NDArray[np.float32]:
    """The codes of a column by value."""
    if (found := columns.codes(j, category.values.tolist())) is not None:
        return found
    distinct, places = columns.factors(j)
    coded: NDArray[np.float32] = np.append(category.codes(distinct, columns.narrow(j)), np.float32(np.nan))[places]
    return coded


def numbers_of(columns: Columns, X: MatrixLike, codes: dict[int, NDArray[Any]]) -> Matrix:
    """A table with these codes, and with all other columns as numbers."""
    if columns.have_types:
        others = [j for j in range(columns.count) if j not in codes and columns.kind(j) != "numbers"]
        codes = codes | {j: columns.numbers(j) for j in others}
    return columns.replaced(codes) if codes or not columns.have_types else X


def _named(asked: object, X: MatrixLike, columns: Columns | None) -> set[int]:
    """The indices of the categorical features."""
    if asked is None:
        return set()
    if is_from_dtype(asked):
        if columns is None or not columns.have_types:
            return set()
        return {j for j in range(columns.count) if is_by_value(columns, j)}
    return places_asked(asked, width_of(X), X)


def _number(text: str) -> object:
    """The number that a text writes, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


def _array(X: MatrixLike) -> Any:
    """A list of samples as an array of objects if it has two dimensions."""
    try:
        found = np.array(X, dtype=object)
    except ValueError:  # lists of several lengths
        return X
    return found if found.ndim == 2 else X


def _as_text(labels: Sequence[Any]) -> list[str]:
    """Labels of columns as text, such as "3" or "('a', 3)"."""
    return [repr(tuple(map(plain, label)) if isinstance(label, tuple) else plain(label)) for label in labels]


def _dense_column(X: Matrix, j: int) -> NDArray[Any]:
    column: NDArray[Any] = X.tocsc()[:, [j]].toarray()[:, 0] if is_sparse(X) else np.asarray(X)[:, j]
    return column if column.dtype.kind == "f" else column.astype(np.float64)


def _place_of(X: Matrix, j: int) -> Any:
    """Where the values of a column of validated X are: in X itself, or in its stored values if it is sparse."""
    if not is_sparse(X):
        return np.s_[:, j]
    return slice(X.indptr[j], X.indptr[j + 1]) if X.format == "csc" else X.indices == j


def _codes_of(X: Matrix, j: int) -> NDArray[Any]:
    """The values of a column of validated X, or its stored values if X is sparse."""
    values: NDArray[Any] = (X.data if is_sparse(X) else X)[_place_of(X, j)]
    return values


def _rows_of(X: Matrix, j: int) -> NDArray[Any]:
    """The samples of the values of a column of validated X, or of its stored values if X is sparse."""
    rows: NDArray[Any] = np.arange(X.shape[0])
    if not is_sparse(X):
        return rows
    rows = X.indices if X.format == "csc" else np.repeat(rows, np.diff(X.indptr))
    found: NDArray[Any] = rows[_place_of(X, j)]
    return found


def _with_columns(X: Matrix, columns: dict[int, NDArray[Any]]) -> Matrix:
    """A copy of validated X, in its layout, with other values in these columns, or other stored ones if it is sparse."""
    values = np.array(X.data if is_sparse(X) else X, order="K")
    for j, column in columns.items():
        values[_place_of(X, j)] = column
    return type(X)((values, X.indices, X.indptr), shape=X.shape) if is_sparse(X) else values


def _listed(names: NDArray[np.object_] | None) -> list[Any]:
    return [] if names is None else names.tolist()
