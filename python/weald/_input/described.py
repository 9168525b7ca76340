"""Short descriptions of values in error messages, whatever a file or a caller contains."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

# The maximum length of a value in a message.
_MOST_CHARACTERS = 80


def described(value: object) -> str:
    """A plain value itself, the dtype and shape of an array, or the type of any other object."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return cut(repr(value) if type(value) is not int or abs(value) < 2**64 else hex(value))
    if isinstance(value, np.ndarray | sparse.sparray | sparse.spmatrix):
        array: Any = value
        return f"{_with_article(type(value).__name__)} of dtype {array.dtype} and shape {array.shape}"
    if isinstance(value, list | tuple):
        return f"{_with_article(type(value).__name__)} of length {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {cut(str(sorted(map(str, value))))}"
    name = getattr(value, "__qualname__", None)
    return _with_article(type(value).__name__) + (f" ({cut(name)})" if isinstance(name, str) else "")


def kind_of(value: object) -> str:
    """What an argument is that should be an estimator: "the class X", or "a X" for an instance."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def kind_and_module(value: object) -> str:
    """The same with the module of the type of an instance, which tells types of the same name apart."""
    return kind_of(value) if isinstance(value, type) else f"{kind_of(value)} of {type(value).__module__}"


def cut(text: str) -> str:
    """The text, which ends with an ellipsis if it is long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
