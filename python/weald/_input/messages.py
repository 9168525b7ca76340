"""Values in messages, and warnings that point at the line of the user."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
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


# Packages whose frames are not those of the user.
_OURS = {"weald", "sklearn", "joblib", "contextlib", "_weald"}
_lock = threading.Lock()


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the first frame outside this package, scikit-learn and joblib.

    In a thread that joblib or `concurrent.futures` has started, there may be no such frame: then at the outermost one.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _OURS and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


@contextmanager
def at_user() -> Iterator[None]:
    """Let the warnings of the calls inside, of scikit-learn, point at the user as well.

    It is for fits alone, and for calls that take no time: warnings are caught for all threads, one at a time here.
    """
    with _lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for found in caught:
        warn(found.message)


# Only weights of a smaller mean are tiny: an oversight, and not the choice of a strong regularization.
_TINY = 0.1


def of_tiny_weights(weights: NDArray[np.float64], least: dict[str, float]) -> bool:
    """Warn if all weights together are so small that what is in their unit decides the model; return whether they are.

    `least` has the weight of all samples below which each of these decides it.
    """
    with np.errstate(over="ignore"):
        total, n = float(weights.sum()), int(np.count_nonzero(weights))
    names = [name for name, needed in least.items() if needed > total]
    if total > _TINY * n or not names:
        return False
    factor = n / total
    shown = (
        np.format_float_positional(factor, precision=6, fractional=False, trim="-") if factor < 1e9 else f"{factor:.6g}"
    )
    warn(
        f"sample_weight sums to {total:.3g} over {n} samples, so that {' and '.join(names)} decide{'' if names[1:] else 's'} "
        f"the model: multiply sample_weight by {shown}, and weights are 1 on average",
        UserWarning,
    )
    return True
