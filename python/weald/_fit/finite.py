"""What models without tests of single features share: X is finite and has no categories, and some attributes are absent."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils import Tags

from weald._fit.base import BaseModel
from weald._input import schema
from weald._input.checks import Matrix
from weald._input.sparse import Raw, has_nan


class Absent:
    """An attribute of other estimators that these do not have. Its error says what to use instead."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        name = type(instance).__name__ if owner is None else owner.__name__
        raise AttributeError(f"{name} has no {self._name}: {self._instead}")


class OfFiniteX(BaseModel):
    """Estimators for X without missing values and without categories."""

    _tests_features = False
    # The function of `weald.inspection` that shows their content, if there is one.
    _inspected_by: ClassVar[str | None]
    # Why missing values are not supported.
    _why_finite: ClassVar[str]
    # Why formats for tests of single features do not represent them, and the exporters that take them all the same.
    _why_no_tests: ClassVar[str]
    _exported_by: ClassVar[str] = ""

    def _check_X(self, X: Raw, *, reset: bool, **options: Any) -> Matrix:
        if reset and (columns := schema.by_value(X)):
            raise ValueError(
                f"{type(self).__name__} does not support text or categories, got feature {columns[0]!r} of X; "
                "use for example sklearn.preprocessing.OneHotEncoder for categories and "
                "sklearn.feature_extraction.text.CountVectorizer for texts"
            )
        return super()._check_X(X, reset=reset, **options)

    def _to_matrix(self, X: Raw, *, reset: bool, fitting: bool) -> Matrix:
        X = super()._to_matrix(X, reset=reset, fitting=fitting)
        if has_nan(X):
            raise ValueError(
                f"X contains NaN, which {type(self).__name__} does not support, since {self._why_finite}: X must be "
                "finite. Impute missing values, or use a random forest, which splits on missing values"
            )
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
