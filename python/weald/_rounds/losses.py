"""Losses of samples from their raw scores, for `eval_sets`. Losses of single scores are computed by the engine.

Scores are the engine's raw scores: those of "log_loss" are half the log-odds, except with the softmax, and those of
losses with a logarithmic link are logarithms of predictions.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float
from weald.loss import Loss

# The rows and columns of scores for labels and classes that samples have.
Cells: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def of_cells(loss: Loss, on: Cells, scores: Float) -> Float:
    """The loss of each score of labels or classes, of shape (n_samples, n_columns)."""
    values = loss.loss(loss._off, scores)
    values[on] = loss.loss(1.0, scores[on])
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
