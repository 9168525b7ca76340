"""The scores of calibration samples in ascending order, and their conformal quantiles.

A sample of weight w counts as w samples. The quantile of n samples at the level alpha is the score at position
⌈(n + 1)(1 − alpha)⌉, the smallest one up to which the weights reach (n + 1)(1 − alpha): a further sample that is
exchangeable with them has a score of at most this with probability 1 − alpha or more.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input import registry
from weald._input.checks import Float, number
from weald._input.messages import described

# Products such as (n + 1)(1 − alpha) that are a whole number may be computed as slightly more.
_SLACK = 1e-12
# Up to this number of samples, messages have all its digits.
_MOST_TOLD = 1e15


def check_alpha(alpha: object) -> float:
    """Check a level: the fraction of samples that may be missed."""
    return number("alpha", alpha, lambda found: 0 < found < 1, "a number above 0 and below 1")


def too_few(alpha: float, n: float, what: str, so: str) -> ValueError:
    """The error for n calibration samples that are too few; `what` tells of which, and `so` what would follow."""
    least = min(1 / alpha - 1, sys.float_info.max) * (1 - _SLACK)
    told = f"{math.ceil(least)}" if least < _MOST_TOLD else f"{least:.3g}"
    return ValueError(
        f"alpha={alpha:g} needs at least {told} calibration samples, got {n:g} sample(s){what}: {so}. A weight of 2 counts "
        f"as two samples. With {n:g} alpha must be at least {1 / (n + 1):.4g}"
    )


def check_enough(alpha: float, n: float, what: str, so: str) -> None:
    """Raise if n calibration samples are too few for a finite quantile at this level."""
    if n < (n + 1) * (1 - alpha) * (1 - _SLACK):
        raise too_few(alpha, n, what, so)


@registry.stored(registry.PARTS, "weald.conformal")
@dataclass(frozen=True)
class Ranked:
    """Ascending scores of several columns, with sums of weights. Column j has the places from `ptr[j]` to `ptr[j + 1]`."""

    ptr: NDArray[np.int64]
    score: Float
    total: Float

    @property
    def n_columns(self) -> int:
        return len(self.ptr) - 1

    def n_samples(self, column: int) -> float:
        """The sum of the weights of a column."""
        end = self.ptr[column + 1]
        return float(self.total[end - 1]) if end > self.ptr[column] else 0.0

    def quantile(self, column: int, alpha: float, what: str, so: str) -> float:
        """The conformal quantile of a column. Raises if there are too few samples, as `too_few` does."""
        n = self.n_samples(column)
        check_enough(alpha, n, what, so)
        own = slice(self.ptr[column], self.ptr[column + 1])
        at = np.searchsorted(self.total[own], (n + 1) * (1 - alpha) * (1 - _SLACK))
        return float(self.score[own][at])


def ranked(columns: list[tuple[Float, Float]]) -> Ranked:
    """The scores and weights of each column, in order. NaN are unknown; equal scores become one."""
    parts = [_one(np.asarray(scores, dtype=np.float64), np.asarray(weights)) for scores, weights in columns]
    ptr = np.cumsum([0, *(len(scores) for scores, _ in parts)]).astype(np.int64)
    empty = np.zeros(0)
    return Ranked(ptr, *(np.concatenate([empty, *side]) for side in zip(*parts, strict=True)))


def _one(scores: Float, weights: Float) -> tuple[Float, Float]:
    known = ~np.isnan(scores) & (weights > 0)
    # Equal scores are added up in the order of their weights, which is that of no sample.
    order = np.lexsort((weights[known], scores[known]))
    scores, weights = scores[known][order], weights[known][order]
    total = np.cumsum(weights, dtype=np.float64)
    last = np.append(scores[1:] != scores[:-1], True)[: len(scores)]
    return scores[last], total[last]


def prove(found: Any, n_columns: int) -> None:
    """Raise unless scores of an untrusted source are what `ranked` makes; the message is the predicate of a sentence."""
    arrays = list(vars(found).values()) if isinstance(found, Ranked) else []
    kinds = zip(arrays, (np.int64, np.float64, np.float64), strict=False)
    if not arrays or not all(isinstance(a, np.ndarray) and a.dtype == kind and a.ndim == 1 for a, kind in kinds):
        raise ValueError(f"must be Ranked with an int64 array and two float64 arrays, got {described(found)}")
    ptr, score, total = arrays
    n = len(score)
    if len(ptr) != n_columns + 1 or len(total) != n or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError("must have a score and a weight for each place, and columns in order, got others")
    for j in range(n_columns):
        own = slice(ptr[j], ptr[j + 1])
        rises = (np.diff(score[own]) > 0).all() and (np.diff(total[own]) >= 0).all()
        if not (rises and np.isfinite(score[own]).all() and np.isfinite(total[own]).all() and (total[own] > 0).all()):
            raise ValueError("must have finite scores and positive sums of weights in ascending order, got others")
