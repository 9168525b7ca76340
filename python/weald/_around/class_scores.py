"""Scores of classes by predicted probabilities: classes with a score up to a quantile are in the set of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float

METHODS = ("aps", "lac")

# Probabilities of the same sample that other libraries compute with other samples differ by less than this fraction.
_SLACK = 1e-12
# The score of classes of probability 0 with APS.
_OF_NONE = 2.0

# Constants of the mixing function of splitmix64 (Steele, Lea and Flood 2014).
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    found: NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return found


def uniform(proba: Float, seed: int) -> Float:
    """A number from 0 to 1 for each sample, which depends on its probabilities and on the seed alone.

    It has the same value in any order of samples and in any block of them.
    """
    bits = np.ascontiguousarray(proba + 0.0).view(np.uint64)  # no negative zeros
    found = np.full(len(proba), np.uint64(seed), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            found = _mixed((found ^ column) + _STEP)
    return (found >> np.uint64(11)).astype(np.float64) * 2.0**-53


def scores(proba: Float, method: str, seed: int | None) -> Float:
    """The score of each class, of the shape of `proba`. With a seed, APS takes a random share of the class itself.

    A class of probability 0 has a score of its own with APS, above that of the last class with another probability, which
    may be the only one: both would have the sum of all probabilities.
    """
    if method == "lac":
        return 1.0 - proba
    order = np.argsort(-proba, axis=1, kind="stable")
    ranked = np.take_along_axis(proba, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    # Of equal probabilities none is before another.
    place = np.broadcast_to(np.arange(proba.shape[1]), proba.shape)
    is_first = np.ones(proba.shape, dtype=np.bool_)
    is_first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    before = np.take_along_axis(before, first, axis=1)
    share = 1.0 if seed is None else uniform(proba, seed)[:, None]
    found = np.empty(proba.shape)
    np.put_along_axis(found, order, np.where(ranked > 0, before + share * ranked, _OF_NONE), axis=1)
    return found


def inside(found: Float, most: float) -> NDArray[np.bool_]:
    """Which classes have a score up to `most`, whose last bits may be others in another block of samples."""
    return found <= most * (1 + _SLACK)
