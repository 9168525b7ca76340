"""Functions that all displays share: the import of matplotlib, and the keyword arguments of users."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def pyplot(caller: str) -> ModuleType:
    """`matplotlib.pyplot`, or an ImportError that names the caller."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} requires matplotlib: install it with `pip install matplotlib`") from error
    return plt


def style(name: str, given: dict[str, Any] | None, artist: type, /, **defaults: object) -> dict[str, Any]:
    """The default keyword arguments of matplotlib, replaced by those that are given as the parameter `name`.

    `artist` is the class that defines the aliases of keywords, such as `ls` for `linestyle`.
    """
    if given is None:
        return defaults
    if not isinstance(given, dict):
        raise TypeError(
            f"{name} must be a dict of keyword arguments of matplotlib, or None, got a {type(given).__name__}"
        )
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(given, artist)
