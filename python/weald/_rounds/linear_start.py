"""Boosting that starts from a linear model: the scores of its training samples, and what they are worth.

A linear model fits its training samples more closely than others, so that stages on top of its own scores would learn
from too small errors. Each training sample has the score of a linear model that was fitted without its fold instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._input import masks
from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._input.targets import Target

if TYPE_CHECKING:
    from weald._fit.samples import Samples
    from weald.linear import LinearClassifier

# The folds of the scores that stages start from, unless `init_cv` is another number.
N_FOLDS = 3

# What stages add their values to: the scores of the linear model, or a function of its probabilities, which are at least
# `LEAST_PROBABILITY` from 0 and 1: "log", their logarithms, or "half_logit", half their log-odds.
Added: TypeAlias = Literal["scores", "log", "half_logit"]
LEAST_PROBABILITY = 1e-6


def scores_of_proba(proba: Float, added: Added) -> Float:
    """Scores in the unit of the stages, of probabilities."""
    p: Float = np.clip(proba, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    logarithms: Float = np.log(p)
    return logarithms if added == "log" else 0.5 * (logarithms - np.log1p(-p))


def in_unit_of_stages(engine: _weald.LinearModel, scores: Float, added: Added) -> Float:
    """Scores of a linear model in the unit of the stages: a column for each of their scores."""
    if added == "scores":
        return scores
    return scores_of_proba(engine.to_predictions(scores)[:, -scores.shape[1] :], added)


@dataclass(frozen=True)
class HeldOut:
    """The scores of training samples by linear models of the other folds."""

    # (n_samples, n_columns), half the log-odds.
    scores: Float
    # (n_samples,)
    fold: NDArray[np.uint32]


def held_out(linear: LinearClassifier, samples: Samples, n_folds: int, n_threads: int) -> HeldOut:
    """The scores of `samples`, with the features, strength and calibration of a fitted model."""
    config = linear._config_of_fit()
    data = samples.X, samples.target.engine, samples.row_weights
    return HeldOut(*_weald.held_out_linear(linear._model, *data, config, n_folds, n_threads, samples.mask))


@dataclass(frozen=True)
class Worth:
    """What helps, by the log loss of the samples of a fold."""

    start: bool
    stages: bool


def worth(
    fit: Callable[[Float, Float | None], _weald.Boosted],
    samples: Samples,
    weights: Float | None,
    start: Float,
    fold: NDArray[np.uint32],
) -> Worth:
    """Whether to start from the scores `start`, and whether stages help on top of them.

    `fit(weights, start)` fits the stages to samples with these weights. Samples of the first fold judge them.
    """
    X, target = samples.X, samples.target
    kept = np.ones(X.shape[0]) if weights is None else weights.copy()
    held = np.flatnonzero((fold == 0) & (kept > 0))
    of_held = kept[held]
    kept[held] = 0
    if len(held) == 0 or not kept.any():
        return Worth(start=True, stages=True)
    X_held = X.tocsr()[held] if is_sparse(X) else X[held]
    model, on_top = fit(kept, None), fit(kept, start)

    def loss(scores: Float) -> float:
        return log_loss(model.to_predictions(scores), target, held, of_held)

    alone = loss(model.predict_scores(X_held, 1))
    linear = loss(start[held])
    both = loss(start[held] + on_top.predict_scores(X_held, 1))
    if alone < min(linear, both):
        return Worth(start=False, stages=True)
    return Worth(start=True, stages=both < linear)


def log_loss(proba: Float, target: Target, rows: NDArray[np.intp], weights: Float) -> float:
    """The weighted mean over `rows` of the log loss, summed over the outputs; unknown values count nothing."""
    p: Float = np.clip(proba, 1e-12, 1 - 1e-12)
    if target.kind == "classes":
        codes, _ = target.rows(rows)
        ends = np.cumsum([len(classes) for classes in target.classes])
        starts = ends - [len(classes) for classes in target.classes]
        if p.shape[1] == 1:
            p = np.hstack([1 - p, p])
        found = -sum(np.log(p[np.arange(len(rows)), start + codes[:, j]]) for j, start in enumerate(starts))
        return float(weights @ found / weights.sum())
    positive = target.original[rows].tocoo()
    cells = -np.log1p(-p)
    cells[positive.row, positive.col] = -np.log(p[positive.row, positive.col])
    if target.mask is not None:
        cells[masks.dense(target.mask[rows])] = 0.0
    return float(weights @ cells.sum(axis=1) / weights.sum())
