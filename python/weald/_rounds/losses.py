"""The losses of boosting in numpy, for `eval_sets`. Their values are those of the engine.

Each loss is an entry of the table `LOSSES`. Scores are the engine's raw scores: those of "log_loss" are half the
log-odds, except with the softmax, and those of losses with a logarithmic link are logarithms of predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float

# Exponential functions are continued by their tangents beyond these exponents, as in the engine: for "exponential", and
# for losses with a logarithmic link.
_LARGEST_MARGIN, _LARGEST_EXPONENT = 80.0, 345.4
# Up to this distance from the minimum, deviances are computed with e^d - 1, which is precise for small differences.
_NEAR = 30.0
# The largest absolute value of y, as in the engine.
_LARGEST_Y = 1e150


@dataclass(frozen=True)
class ScoreLoss:
    """A loss as a function of y and one score."""

    # The loss of y, scores and the parameter of the loss (None if it has none), which are broadcast.
    value: Callable[[Any, Float, Any], Float]
    # The value of y for a label or class that a sample does not have; it is 1 for one that it has.
    off: float = 0.0
    # The lower bound of y, and whether y may be equal to it.
    least: float = -np.inf
    is_least_in: bool = True

    def refused(self, y: Float) -> tuple[float, str] | None:
        """A value of y for which the loss is not defined, and what is accepted; None if there is none."""
        if (large := np.abs(y) > _LARGEST_Y).any():
            return float(y[large][0]), "at most 1e150 in magnitude"
        outside = y < self.least if self.is_least_in else y <= self.least
        if outside.any():
            return float(y[outside][0]), "at least 0" if self.is_least_in else "above 0"
        return None


def _squared_error(y: Any, scores: Float, _: Any) -> Float:
    return np.asarray(0.5 * (y - scores) ** 2)


def _absolute_error(y: Any, scores: Float, _: Any) -> Float:
    return np.asarray(np.abs(y - scores))


def _quantile(y: Any, scores: Float, quantile: Any) -> Float:
    r = y - scores
    return np.asarray(np.where(r >= 0, quantile * r, (np.asarray(quantile) - 1) * r))


def _huber(y: Any, scores: Float, delta: float) -> Float:
    r = np.abs(y - scores)
    return np.asarray(np.where(r <= delta, 0.5 * r * r, delta * (r - 0.5 * delta)))


def _log_loss(y: Any, scores: Float, _: Any) -> Float:
    return np.asarray(np.logaddexp(0, -2 * y * scores))


def _exponential(y: Any, scores: Float, _: Any) -> Float:
    return _exp(-y * scores, _LARGEST_MARGIN)


def _hinge(y: Any, scores: Float, _: Any) -> Float:
    return np.asarray(np.maximum(0, 1 - y * scores))


def _exp(x: Any, largest: float = _LARGEST_EXPONENT) -> Float:
    """e^x, continued by its tangent for large x."""
    clipped = np.minimum(x, largest)
    return np.asarray(np.exp(clipped) * (1 + (x - clipped)))


def _log(y: Float) -> Float:
    """Logarithms, with 0 for the logarithm of 0, where the caller uses another formula."""
    return np.log(np.where(y > 0, y, 1.0))


def _poisson(y: Float, scores: Float, _: Any) -> Float:
    d = scores - _log(y)
    near = y * (np.expm1(np.minimum(d, _NEAR)) - d)
    far = _exp(scores) - y * (1 + d)
    return np.where(y == 0, _exp(scores), np.where((d <= _NEAR) & (scores <= _LARGEST_EXPONENT), near, far))


def _gamma(y: Float, scores: Float, _: Any) -> Float:
    t = np.log(y) - scores
    return np.where(t <= _LARGEST_EXPONENT, np.expm1(np.minimum(t, _LARGEST_EXPONENT)) - t, _exp(t) - (1 + t))


def _tweedie(y: Float, scores: Float, power: float) -> Float:
    a, b = power - 1, 2 - power
    ln_y = _log(y)
    d, falling, rising = scores - ln_y, ln_y - a * scores, b * scores
    of_y = np.exp(b * ln_y)
    clipped = np.clip(d, -_NEAR, _NEAR)
    near = np.maximum(of_y * (np.expm1(-a * clipped) / a + np.expm1(b * clipped) / b), 0)
    far = _exp(falling) / a + _exp(rising) / b - of_y / (a * b)
    is_near = (np.abs(d) <= _NEAR) & (falling <= _LARGEST_EXPONENT) & (rising <= _LARGEST_EXPONENT)
    return np.where(y == 0, _exp(rising) / b, np.where(is_near, near, far))


LOSSES: dict[str, ScoreLoss] = {
    "squared_error": ScoreLoss(_squared_error),
    "absolute_error": ScoreLoss(_absolute_error),
    "quantile": ScoreLoss(_quantile),
    "huber": ScoreLoss(_huber),
    "poisson": ScoreLoss(_poisson, least=0.0),
    "gamma": ScoreLoss(_gamma, least=0.0, is_least_in=False),
    "tweedie": ScoreLoss(_tweedie, least=0.0),
    "log_loss": ScoreLoss(_log_loss, off=-1.0),
    "exponential": ScoreLoss(_exponential, off=-1.0),
    "hinge": ScoreLoss(_hinge, off=-1.0),
}


def of_object(own: Any) -> ScoreLoss:
    """A loss of the user, whose method `loss` takes vectors of y and scores."""

    def value(y: Any, scores: Float, _: Any) -> Float:
        vectors = np.broadcast_to(y, scores.shape).astype(np.float64).ravel(), scores.ravel()
        return np.array(own.loss(*vectors), dtype=np.float64).reshape(scores.shape)

    least, is_least_in = {"not_negative": (0.0, True), "positive": (0.0, False)}.get(own.domain, (-np.inf, True))
    return ScoreLoss(value, own._off, least, is_least_in)


# The rows and columns of scores for labels and classes that samples have.
Cells = tuple[NDArray[np.intp], NDArray[np.intp]]


def of_numbers(loss: ScoreLoss, y: Float, scores: Float, parameter: Any) -> Float:
    """The loss of each score, of shape (n_samples, n_columns)."""
    with np.errstate(over="ignore"):
        return np.asarray(loss.value(y, scores, parameter))


def of_cells(loss: ScoreLoss, on: Cells, scores: Float, parameter: Any) -> Float:
    """The same for labels and classes, without an array of y, in which nearly all entries may be `off`."""
    with np.errstate(over="ignore"):
        values = np.asarray(loss.value(loss.off, scores, parameter))
        values[on] = loss.value(1.0, scores[on], parameter)
        return values


def of_softmax(n_classes: list[int], on: Cells, scores: Float) -> Float:
    """The loss of each sample by the softmax over the classes of each output, summed over the outputs.

    `on` has the class of each output, in the order of the samples.
    """
    losses = np.zeros(len(scores))
    own = scores[on].reshape(len(scores), len(n_classes))
    for j, part in enumerate(np.split(scores, np.cumsum(n_classes)[:-1], axis=1)):
        losses += np.logaddexp.reduce(part, axis=1) - own[:, j]
    return losses


def weighted_mean(losses: Float, weights: Float | None, n_columns: int) -> float:
    """The weighted mean over samples, divided by the number of columns of scores."""
    return float(np.average(losses, weights=None if weights is None else _scaled(weights))) / n_columns


def mean_of_known(losses: Float, mask: NDArray[np.bool_], weights: Float | None) -> float:
    """The mean over columns of the weighted means of their known values. Columns without any do not count."""
    weights = np.ones(len(losses)) if weights is None else _scaled(weights)
    known = weights @ ~mask
    there = known > 0
    sums = weights @ np.where(mask, 0.0, losses)
    return float((sums[there] / known[there]).mean()) if there.any() else float("nan")


def _scaled(weights: Float) -> Float:
    """Weights divided by the largest: sums of weights near the largest float would be infinite."""
    return np.asarray(weights / weights.max())
