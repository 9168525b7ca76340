"""Exponentials and logarithms of the engine, which have the same bits on every machine; those of NumPy and SciPy do not.

What fits compute from y, X or scores goes through these functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weald import _weald
from weald._input.checks import Float


def _of_each(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: ArrayLike) -> Float:
    x = np.asarray(x, dtype=np.float64)
    return function(np.ascontiguousarray(x).ravel()).reshape(x.shape)


def exp(x: ArrayLike) -> Float:
    """The exponential of each value."""
    return _of_each(_weald.exp, x)


def log(x: ArrayLike) -> Float:
    """The logarithm of each value: minus infinity for zero, NaN for negative numbers, without a warning."""
    return _of_each(_weald.log, x)


def log2(x: ArrayLike) -> Float:
    """The logarithm to base 2 of each positive value, exact for powers of two."""
    significand, exponent = np.frexp(x)
    return exponent - 1 + log(2 * significand) / log(2.0)


def log1p(x: ArrayLike) -> Float:
    """log(1 + x) of each value, which keeps the digits of small ones."""
    return _of_each(_weald.log1p, x)


def expit(x: ArrayLike) -> Float:
    """1 / (1 + exp(−x)) of each value, which keeps the digits of small results."""
    x = np.asarray(x, dtype=np.float64)
    small = exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def log1pexp(x: ArrayLike) -> Float:
    """log(1 + exp(x)) of each value."""
    x = np.asarray(x, dtype=np.float64)
    found: Float = np.maximum(x, 0.0) + log1p(exp(-np.abs(x)))
    return found
