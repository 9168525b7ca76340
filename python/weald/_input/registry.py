"""The classes of weald that model files may name, each of which registers itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)

# Estimators, meta-estimators, folds, and other parts of models, by name.
ESTIMATORS: dict[str, Any] = {}
META_ESTIMATORS: dict[str, Any] = {}
FOLDS: dict[str, Any] = {}
PARTS: dict[str, Any] = {}


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
