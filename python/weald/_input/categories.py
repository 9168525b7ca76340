"""Categorical features: which ones a parameter asks for, and the codes of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import is_integer
from weald._input.columns import Columns, is_listed
from weald._input.described import cut
from weald._input.sparse import Raw, is_sparse

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
