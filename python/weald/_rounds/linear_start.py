"""Boosting that starts from a linear model: the scores of its training samples, and what they are worth.

A linear model fits its training samples more closely than others, so that stages on top of its own scores would learn
from too small errors. Each training sample has the score of a linear model that was fitted without its fold instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._input import elementary
from weald._input.checks import Float, Matrix
from weald._input.sparse import has_nan, is_sparse
from weald._rounds.held_out import set_aside

if TYPE_CHECKING:
    from weald._fit.base import Samples
    from weald.linear import LinearClassifier

# The folds of the scores that stages start from.
N_FOLDS = 3

# What stages add their values to: the scores of the linear model, or a function of its probabilities, which are at least
# `LEAST_PROBABILITY` from 0 and 1: "log", their logarithms, or "half_logit", half their log-odds.
Added: TypeAlias = Literal["scores", "log", "half_logit"]
LEAST_PROBABILITY = _weald.LEAST_PROBABILITY


def scores_of_proba(proba: Float, added: Added) -> Float:
    """Scores in the unit of the stages, of probabilities."""
    p: Float = np.clip(proba, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    logarithms = elementary.log(p)
    return logarithms if added == "log" else 0.5 * (logarithms - elementary.log1p(-p))


def in_unit_of_stages(engine: _weald.LinearModel, scores: Float, added: Added) -> Float:
    """Scores of a linear model in the unit of the stages: a column for each of their scores."""
    if added == "scores":
        return scores
    return scores_of_proba(engine.to_predictions(scores)[:, -scores.shape[1] :], added)


def counted(samples: Samples) -> Samples:
    """The same samples for a linear model, which accepts no NaN: that of samples of weight zero becomes zero."""
    X, weights = samples.X, samples.row_weights[0]
    if weights is None or weights.all() or not has_nan(X):
        return samples
    X = X.copy()
    values = X.data if is_sparse(X) else X
    cells = X.tocoo().row if is_sparse(X) else np.arange(samples.n)[:, np.newaxis]
    values[np.isnan(values) & (weights == 0)[cells]] = 0
    return replace(samples, X=X)


@dataclass(frozen=True)
class HeldOut:
    """The scores of training samples by linear models of the other folds."""

    # (n_samples, n_columns), half the log-odds.
    scores: Float
    # (n_samples,)
    fold: NDArray[np.uint32]


def of_folds(X: Matrix, folds: _weald._FoldModels) -> Iterator[tuple[_weald.LinearModel, NDArray[np.intp], Matrix]]:
    """The model of each fold, and the samples of the fold, which it was not fitted to: their indices and their X."""
    fold, models = folds
    X = X.tocsr() if is_sparse(X) else X
    for number, model in enumerate(models):
        rows = np.flatnonzero(fold == number)
        yield model, rows, X[rows]


def held_out(X: Matrix, folds: _weald._FoldModels) -> HeldOut:
    """The scores of the training samples X by the models of the other folds."""
    fold, models = folds
    scores = np.empty((len(fold), models[0].width))
    for model, rows, of_fold in of_folds(X, folds):
        scores[rows] = model.predict_scores(of_fold)
    return HeldOut(scores, fold)


def fold_models(linear: LinearClassifier, samples: Samples, n_folds: int, n_threads: int) -> _weald._FoldModels:
    """Models of `samples`, with the features, strength and calibration of a fitted model."""
    config: _weald._LinearConfig = {**linear._config(linear._seed), "c": linear.C_, "features": linear._model.features}
    return _weald.fold_models_of_linear(linear._model, samples.in_engine, config, n_folds, n_threads)


@dataclass(frozen=True)
class Worth:
    """What helps, by the loss of the samples of a fold."""

    start: bool
    # The number of stages on top of the start with the least loss; 0 if none is better than the start alone.
    n_stages: int


@dataclass(frozen=True)
class Judged:
    """Training samples of which those of the first fold judge models that do not know them."""

    samples: Samples
    held: NDArray[np.intp]
    # The weights of the other samples, with zeros for those of the fold.
    kept: Float
    # X, y and weights of the samples of the fold, and what is known.
    X: Matrix
    y: _weald._Targets
    weights: Float
    known: Any

    @classmethod
    def by_fold(cls, samples: Samples, weights: Float | None, fold: NDArray[np.uint32]) -> Judged | None:
        """None if no samples are left on one of the sides, or none that knows one of the outputs."""
        there = np.ones(samples.X.shape[0]) if weights is None else weights
        held = np.flatnonzero((fold == 0) & (there > 0))
        kept, X, y, known = set_aside(samples.X, samples.target, weights, held)
        others = np.flatnonzero(kept)
        if len(held) == 0 or len(others) == 0:
            return None
        whole = samples.target.known
        sides = [] if known is None or whole is None else [known, whole.rows(others)]
        if any((side.n_known(0) == 0).any() for side in sides):
            return None
        return cls(samples, held, kept, X, y, there[held], samples.target.in_engine(known))

    def start(self, linear: LinearClassifier, scores: Float, n_folds: int, n_threads: int) -> Float:
        """Scores of a linear model for samples to learn from, by models that do not know the held samples either.

        `scores` are those of `held_out`: stages on top of them would learn to undo what they know of the held samples.
        """
        found = scores.copy()
        others = replace(self.samples, row_weights=(self.kept, None))
        there = self.kept > 0
        folds = fold_models(linear, others, n_folds, n_threads)
        found[there] = held_out(others.X, folds).scores[there]
        return found

    def losses(self, config: _weald._BoostConfig, start: Float | None, n_threads: int) -> list[float]:
        """The loss of the held samples after each stage."""
        found = list[float]()

        def observer(*told: Any) -> None:
            found.append(told[2])

        _weald.fit_boosting(
            replace(self.samples, row_weights=(self.kept, None)).in_engine,
            config,
            ((self.X, self.y, (self.weights, None), self.known), None if start is None else start[self.held]),
            None,
            n_threads,
            base_margin=start,
            observer=observer,
        )
        return found

    def loss(self, config: _weald._BoostConfig, start: Float, n_threads: int) -> float:
        """The loss of the held samples by the start alone."""
        found = _weald.mean_loss(self.y, self.weights, config, start[self.held], n_threads, y_weight=self.known)
        assert found is not None
        return found


def worth(judged: Judged, config: _weald._BoostConfig, start: Float, n_threads: int) -> Worth:
    """Whether to start from the scores `start`, and how many stages help on top of them."""
    alone = min(judged.losses(config, None, n_threads))
    both = judged.losses(config, start, n_threads)
    linear = judged.loss(config, start, n_threads)
    n_stages = int(np.argmin(both)) + 1 if min(both) < linear else 0
    return Worth(start=min(linear, *both) <= alone, n_stages=n_stages)
