"""Fits that end or fail while something else happens: without threads, at every place where it could happen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import weald
from scipy import sparse

_PACKAGE = str(Path(weald.__file__).parent)


def as_text(value: Any) -> str:
    """A value as text, with all digits: equal texts mean equal values."""
    if sparse.issparse(value):
        return f"{type(value).__name__} {as_text(value.toarray())}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()!r}"
    if isinstance(value, dict):
        return repr({key: as_text(value[key]) for key in value})
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return repr([as_text(part) for part in value])
    if hasattr(value, "predict") and hasattr(value, "n_outputs_"):
        return repr(value) + as_text(value.predict(np.zeros((1, value.n_features_in_)))) + str(value.n_outputs_)
    return repr(value)


def outcome(call: Callable[[], Any]) -> str:
    """The result of a call as text, or the error that it raises."""
    try:
        return as_text(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def during_refits(model: Any, other: Any, call: Callable[[Any], Any]) -> Iterator[str]:
    """The outcomes of a call on `model` that another thread replaces by the state of `other` while the call runs.

    The first outcome is that of a replacement before the first access to an attribute, the next one of a replacement
    before the second access, and so on until the call ends before it.
    """
    cls, before = type(model), dict(model.__dict__)
    n_left = -1

    def access(self: Any, name: str) -> Any:
        nonlocal n_left
        is_state = name == "__dict__" or name in object.__getattribute__(self, "__dict__")
        if self is model and is_state:
            n_left -= 1
            if n_left == -1:
                object.__setattr__(self, "__dict__", dict(other.__dict__))
        return object.__getattribute__(self, name)

    n_before = 0
    while n_left < 0:
        object.__setattr__(model, "__dict__", dict(before))
        n_left = n_before
        cls.__getattribute__ = access
        try:
            found = outcome(lambda: call(model))
        finally:
            del cls.__getattribute__
        yield found
        n_before += 1
    object.__setattr__(model, "__dict__", before)


@contextmanager
def interrupted(after: int, error: type[BaseException]) -> Iterator[list[int]]:
    """Raise an error at the call of the package's own functions with this number; yields the number of calls so far.

    Questions for attributes that are not there do not count: scikit-learn asks one when all is done.
    """
    calls = [0]
    before = sys.gettrace()

    def trace(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_code.co_name != "__getattr__":
            calls[0] += 1
            if calls[0] == after:
                raise error
        return

    sys.settrace(trace)
    try:
        yield calls
    finally:
        sys.settrace(before)
