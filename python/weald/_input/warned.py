"""Warnings, which point at the line of the user, however deep in this package and in scikit-learn they arise."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

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
