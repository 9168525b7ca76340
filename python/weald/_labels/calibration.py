"""Calibration functions from scores to probabilities, one for each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.isotonic import isotonic_regression

from weald._input import registry
from weald._input.checks import Float
from weald._input.elementary import expit, log, log1pexp
from weald._input.messages import described
from weald._ranking import ranks

METHODS = ("isotonic", "sigmoid")
# Maximum number of Newton steps for a sigmoid, which usually converges after about ten.
_MOST_STEPS = 100
# Maximum number of halvings of a step that does not decrease the loss.
_MOST_HALVINGS = 30
# Added to the Hessian matrix, which is singular for a label if all of its scores are equal.
_RIDGE = 1e-12


@registry.stored(registry.PARTS, "weald.multilabel")
@dataclass(frozen=True)
class Maps:
    """A non-decreasing piecewise linear function for each label. Label j has the knots from `ptr[j]` to `ptr[j + 1]`.

    The scores of a label without knots are not changed.
    """

    ptr: NDArray[np.int64]
    x: Float
    y: Float

    def __call__(self, scores: sparse.csr_array) -> sparse.csr_array:
        """Apply the function of each label to its stored scores."""
        by_label = sparse.csc_array(scores)
        data = by_label.data.copy()
        for j in np.flatnonzero((np.diff(self.ptr) > 0) & (np.diff(by_label.indptr) > 0)):
            knots = slice(self.ptr[j], self.ptr[j + 1])
            own = slice(by_label.indptr[j], by_label.indptr[j + 1])
            # Between two knots, interpolation may be above the upper one in the last bit.
            data[own] = np.clip(np.interp(data[own], self.x[knots], self.y[knots]), 0.0, 1.0)
        found = sparse.csr_array(sparse.csc_array((data, by_label.indices, by_label.indptr), shape=scores.shape))
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def at_zero(self) -> Float:
        """What each label's function makes of the score 0, which is not stored."""
        found = np.zeros(len(self.ptr) - 1)
        # No score is negative, so that the first knot of a label is at 0, or above it.
        has_knots = np.diff(self.ptr) > 0
        found[has_knots] = self.y[self.ptr[:-1][has_knots]]
        return found


@registry.stored(registry.PARTS, "weald.multilabel")
@dataclass(frozen=True)
class Sigmoids:
    """1 / (1 + exp(-(a · score + b))) for each label, or the score itself if a is NaN."""

    a: Float
    b: Float

    def __call__(self, scores: sparse.csr_array) -> sparse.csr_array:
        a, b = self.a[scores.indices], self.b[scores.indices]
        data = np.where(np.isnan(a), scores.data, expit(a * scores.data + b))
        found = sparse.csr_array((data, scores.indices.copy(), scores.indptr.copy()), shape=scores.shape)
        found.eliminate_zeros()
        return found

    def at_zero(self) -> Float:
        """What each label's function makes of the score 0, which is not stored."""
        found: Float = np.where(np.isnan(self.a), 0.0, expit(self.b))
        return found


def with_rest(
    found: sparse.csr_array, scores: sparse.csr_array, rest: Float, often: NDArray[np.intp]
) -> sparse.csr_array:
    """Calibrated scores, and the probabilities `rest` of those of the labels `often` that have no stored score."""
    often = often[rest[often] > 0]
    if not len(often):
        return found
    n = scores.shape[0]
    ptr = np.arange(n + 1, dtype=np.int64) * len(often)
    every = sparse.csr_array((np.tile(rest[often], n), np.tile(often, n), ptr), shape=scores.shape)
    return sparse.csr_array(found + ranks.without(every, scores))


def prove(maps: Any, is_calibrated: NDArray[np.bool_]) -> None:
    """Raise unless functions of an untrusted source exist for exactly the calibrated labels, and rise from 0 to 1 at most.

    Raises
    ------
    ValueError
        The message is the predicate of a sentence about the functions.
    """
    d = len(is_calibrated)
    if not isinstance(maps, Maps | Sigmoids) or not all(isinstance(part, np.ndarray) for part in vars(maps).values()):
        raise ValueError(f"must be Maps or Sigmoids of arrays, got {described(maps)}")
    if isinstance(maps, Sigmoids):
        a, b = maps.a, maps.b
        if any(array.dtype != np.float64 or array.shape != (d,) for array in (a, b)):
            raise ValueError(f"must have float64 arrays of length {d}, one value for each label, got other arrays")
        if any((np.isfinite(array) != is_calibrated).any() for array in (a, b)):
            raise ValueError("must be finite for exactly the calibrated labels, got others")
        if (a[is_calibrated] < 0).any():
            raise ValueError(f"must be non-decreasing, got the slope {a[is_calibrated].min()}")
        return
    ptr, x, y = maps.ptr, maps.x, maps.y
    if ptr.dtype.kind != "i" or ptr.shape != (d + 1,) or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise ValueError(f"must have {d + 1} ascending integers from 0 as ptr, got {described(ptr)}")
    if any(array.dtype != np.float64 or array.shape != (ptr[-1],) for array in (x, y)):
        raise ValueError(f"must have float64 arrays of length {ptr[-1]} as x and y, got other arrays")
    if ((np.diff(ptr) > 0) != is_calibrated).any():
        raise ValueError("must have knots for exactly the calibrated labels, got others")
    inside = np.ones(max(0, len(x) - 1), dtype=np.bool_)
    firsts = ptr[1:-1]
    inside[firsts[(firsts > 0) & (firsts < len(x))] - 1] = False
    rises = (np.diff(x)[inside] > 0).all() and (np.diff(y)[inside] >= 0).all()
    if not (np.isfinite(x).all() and ((y >= 0) & (y <= 1)).all() and rises):
        raise ValueError("must be non-decreasing with values from 0 to 1, got others")


# With less weight in all samples, sigmoids are nearer to the prior than to the samples.
LEAST_WEIGHT = 30.0


def calibrated(
    scores: Float | sparse.csr_array,
    truth: sparse.csr_array,
    weights: Float,
    method: str,
    kept: NDArray[np.bool_],
    mask: sparse.csr_array | None = None,
) -> Maps | Sigmoids:
    """Functions for the labels that are not `kept` uncalibrated, fitted to CSR scores of samples.

    Entries that are not stored have score zero, and are included together in O(1). Neither scores nor labels have
    stored entries in the pattern `mask` of unknown entries, which are ignored.
    """
    n, d = scores.shape
    by_label = sparse.csc_array(scores)
    true = sparse.csc_array(truth)
    total = np.full(d, float(weights.sum()))
    if mask is not None:
        total -= np.bincount(mask.indices, np.repeat(weights, np.diff(mask.indptr)), minlength=d)
    a, b = np.full(d, np.nan), np.full(d, np.nan)
    knots: list[tuple[Float, Float]] = []
    is_true = np.zeros(n, dtype=np.bool_)
    for j in range(d):
        if kept[j]:
            knots.append((np.zeros(0), np.zeros(0)))
            continue
        own, named = (m.indices[m.indptr[j] : m.indptr[j + 1]] for m in (by_label, true))
        is_true[named] = True
        x = np.append(by_label.data[by_label.indptr[j] : by_label.indptr[j + 1]], 0.0)
        w = np.append(weights[own], max(0.0, float(total[j]) - weights[own].sum()))
        hit = np.append(weights[own] * is_true[own], weights[named].sum() - (weights[own] * is_true[own]).sum())
        is_true[named] = False
        x, w, hit = _joined(x, w, hit)
        if method == "isotonic":
            y = np.clip(isotonic_regression(hit / w, sample_weight=w), 0.0, 1.0)
            knots.append(_corners(x, y))
        else:
            a[j], b[j] = _sigmoid(x, w, hit)
    if method == "sigmoid":
        return Sigmoids(a, b)
    ptr = np.cumsum([0, *(len(x) for x, _ in knots)])
    x, y = (np.concatenate([pair[i] for pair in knots]) for i in (0, 1))
    return Maps(ptr, x, y)


def _joined(x: Float, w: Float, hit: Float) -> tuple[Float, Float, Float]:
    """The distinct scores in ascending order, with the total weight of all entries and of positive entries."""
    found, at = np.unique(x, return_inverse=True)
    total, right = np.bincount(at, w), np.bincount(at, hit)
    there = total > 0
    return found[there], total[there].astype(np.float64), np.clip(right[there], 0.0, total[there])


def _corners(x: Float, y: Float) -> tuple[Float, Float]:
    """Only those knots that are the first or the last one of a run of equal values."""
    kept = np.ones(len(x), dtype=np.bool_)
    kept[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return x[kept], y[kept]


def _sigmoid(x: Float, w: Float, hit: Float) -> tuple[float, float]:
    """Slope and intercept of minimum log loss, with smoothed targets.

    The targets are those of Platt (1999), Probabilistic outputs for support vector machines: (p + 1) / (p + 2) and
    1 / (q + 2) for p positives and q negatives. The algorithm is Newton's method, with steps that are halved until the
    loss decreases, as in Lin, Lin and Weng (2007).
    """
    p, q = hit.sum(), (w - hit).sum()
    target = (hit * (p + 1) / (p + 2) + (w - hit) / (q + 2)) / w

    def loss(a: float, b: float) -> float:
        z = a * x + b
        return float((w * (log1pexp(z) - target * z)).sum())

    a, b = 0.0, float(log((p + 1) / (q + 1)))
    before = loss(a, b)
    for _ in range(_MOST_STEPS):
        found = expit(a * x + b)
        gradient, curvature = w * (found - target), w * found * (1 - found)
        g = np.array([(gradient * x).sum(), gradient.sum()])
        if np.abs(g).max() <= 1e-9 * w.sum():
            break
        cross = (curvature * x).sum()
        first, second = (curvature * x * x).sum() + _RIDGE, curvature.sum() + _RIDGE
        determinant = first * second - cross * cross
        if determinant > 0:
            step = np.array([cross * g[1] - second * g[0], cross * g[0] - first * g[1]]) / determinant
        else:
            # The solution of least norm, as rounding leaves nothing that tells one direction from the other.
            step = -np.array([first * g[0] + cross * g[1], cross * g[0] + second * g[1]]) / (first + second) ** 2
        for _ in range(_MOST_HALVINGS):
            after = loss(a + step[0], b + step[1])
            if after < before:
                break
            step = step / 2
        else:
            break
        a, b, before = a + float(step[0]), b + float(step[1]), after
    # If the slope is negative, a constant is used.
    return (a, b) if a >= 0 else (0.0, float(log((p + 1) / (q + 1))))
