"""The classes of weald that model files may name, each of which registers itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from weald._input.sklearn_private import validate_parameter_constraints
from weald._input.sparse import is_sparse

_Class = TypeVar("_Class", bound=type)

# Estimators, meta-estimators, folds, and other parts of models, by name.
ESTIMATORS: dict[str, Any] = {}
META_ESTIMATORS: dict[str, Any] = {}
FOLDS: dict[str, Any] = {}
PARTS: dict[str, Any] = {}


class Value:
    """Base class of dataclasses that parameters take, whose fields are their state."""

    def __post_init__(self) -> None:
        """Check the fields."""

    def __setstate__(self, state: object) -> None:
        # States from pickles and skops come from an untrusted source.
        names = {known.name for known in fields(self)}  # type: ignore[arg-type]
        if type(state) is not dict or state.keys() != names:
            raise ValueError(f"the state of {type(self).__name__} must be a dict with the keys {sorted(names)}")
        self.__dict__.update(state)
        self.__post_init__()


class Settings(Value):
    """Values with several fields, which `set_params` of an estimator reaches as `parameter__field`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def __post_init__(self) -> None:
        validate_parameter_constraints(self._parameter_constraints, self.get_params(), type(self).__name__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the fields.

        Parameters
        ----------
        deep : bool, default=True
            No effect, as fields have none of their own.

        Returns
        -------
        dict
            The value of each field.
        """
        return {known.name: getattr(self, known.name) for known in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Set fields of this object, as searches do with that of a clone.

        Parameters
        ----------
        **params : object
            Values by field.

        Returns
        -------
        self : object
            The object, after a check of its fields.
        """
        self.__dict__.update(vars(replace(self, **params)))  # type: ignore[type-var]
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings) or type(other) is not type(self):
            return NotImplemented
        pairs = zip(self.get_params().values(), other.get_params().values(), strict=True)
        return all(one is two or np.array_equal(_comparable(one), _comparable(two)) for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]


def _comparable(value: Any) -> Any:
    return value.toarray() if is_sparse(value) else value


def add(table: dict[str, Any], cls: type) -> None:
    """Register a class, unless it is private, a base class, or a user's own."""
    first, *others = cls.__module__.split(".")
    if (
        first == "weald"
        and not cls.__name__.startswith(("Base", "_"))
        and not any(name.startswith("_") for name in others)
    ):
        table[cls.__name__] = cls


def stored(table: dict[str, Any], module: str | None = None) -> Callable[[_Class], _Class]:
    """Register a class, as a decorator; `module` is the public module by which files and pickles name it."""

    def decorate(cls: _Class) -> _Class:
        table[cls.__name__] = cls
        cls.__module__ = module or cls.__module__
        return cls

    return decorate
