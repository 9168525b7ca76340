"""Boosted models with fewer leaves, which are fitted anew: the choice of how many are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import weald
from weald import _weald
from weald._input import checks
from weald._input.checks import Float, Matrix
from weald._input.targets import Target
from weald._rounds import held_out

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting

# A step keeps this share of the splits; the search ends after some steps whose loss is above the limit.
_KEPT, _MOST_ABOVE = 0.8, 2
# The folds that measure the loss.
_N_FOLDS = 3
# The limit of the loss if no limit is given.
_LOSS_INCREASE = 0.01


@dataclass(frozen=True)
class Limits:
    """What a pruned model may have; None stands for no limit."""

    loss_increase: float | None
    test_nodes: int | None
    n_bytes: int | None


def limits_of(max_loss_increase: object, max_test_nodes: object, max_bytes: object) -> Limits:
    """The limits of valid arguments."""
    if max_loss_increase is None and max_test_nodes is None and max_bytes is None:
        return Limits(_LOSS_INCREASE, None, None)
    if max_loss_increase is not None:
        accepted = "None or a finite number of at least 0"
        max_loss_increase = checks.number("max_loss_increase", max_loss_increase, lambda v: 0 <= v < np.inf, accepted)
    if max_test_nodes is not None:
        max_test_nodes = checks.integer("max_test_nodes", max_test_nodes, 1, also=", or None")
    if max_bytes is not None:
        max_bytes = checks.integer("max_bytes", max_bytes, 1, also=", or None")
    return Limits(max_loss_increase, max_test_nodes, max_bytes)


@dataclass(frozen=True)
class Refit:
    """Samples to which the leaves of models like `boosting` are fitted."""

    boosting: BaseBoosting
    X: Matrix
    target: Target
    weights: Float | None
    margins: Float | None
    config: _weald._BoostConfig
    n_rounds: int

    def __call__(
        self, model: _weald.Boosted, weights: Float | None = None, n_test_nodes: int | None = None
    ) -> _weald.Boosted:
        """The model with at most so many splits, or with all, fitted to these samples, or with other weights of them."""
        if n_test_nodes is None and self.n_rounds > model.n_stages:
            n_test_nodes = max(1, model.n_test_nodes)
        rows = self.boosting._row_weights(self.target, self.weights if weights is None else weights)
        data = self.X, self.target.engine, rows, self.target.known_in_engine
        return _weald.refit_leaves(model, data, self.config, self.boosting._n_threads(), self.margins, n_test_nodes)

    def grown(self, weights: Float) -> _weald.Boosted:
        """A model of the same parameters, of samples with other weights."""
        boosting, target = self.boosting, self.target
        config = boosting._boost_config(int((weights > 0).sum()), target, boosting._of_labels(target, weights))
        config |= {"n_estimators": self.n_rounds, "n_iter_no_change": None}
        rows = boosting._row_weights(target, weights)
        data = self.X, target.engine, rows, target.known_in_engine
        return _weald.fit_boosting(data, config, n_threads=boosting._n_threads(), base_margin=self.margins)

    def fold(self, split: tuple[Any, Any]) -> tuple[Float, Callable[[_weald.Boosted], float]]:
        """The weights of the training samples of a fold, and the loss of a model of them on the others."""
        kept, X, y, known = held_out.set_aside(self.X, self.target, self.weights, split[1])
        weights, margins = (None if values is None else values[split[1]] for values in (self.weights, self.margins))
        n_threads, of_known = self.boosting._n_threads(), self.target.in_engine(known)

        def loss(model: _weald.Boosted) -> float:
            scores = model.predict_scores(X, n_threads)
            scores = scores if margins is None else scores + margins
            found = _weald.mean_loss(y, weights, self.config, scores, n_threads, of_known)
            return np.nan if found is None else found

        return kept, loss


def pruned(boosting: BaseBoosting, refit: Refit, limits: Limits) -> Any:
    """A copy of `boosting` with the smallest model within the limit of the loss, or else the first within the others."""
    whole = boosting._model

    def as_estimator(model: _weald.Boosted) -> BaseBoosting:
        return boosting._with_stages(model, _turns=refit.n_rounds)

    def exceeds(model: _weald.Boosted) -> str | None:
        """What is above a limit of size, with the size."""
        if limits.test_nodes is not None and model.n_test_nodes > limits.test_nodes:
            return f"max_test_nodes must be at least {model.n_test_nodes}, the number of splits"
        if limits.n_bytes is None or (n_bytes := len(weald.dumps(as_estimator(model)))) <= limits.n_bytes:
            return None
        return f"max_bytes must be at least {n_bytes}, the size"

    found = whole
    if limits.loss_increase is None:
        while (problem := exceeds(found)) is not None and found.n_test_nodes > 1:
            found = refit(found, None, _fewer(found, limits))
    else:
        # Held-out samples must be new to the splits, too: each fold has a model of its own.
        folds = held_out.folds_of(_N_FOLDS, refit.X, refit.target, refit.weights, boosting._seed)
        of_folds = [refit.fold(split) for split in folds]
        models = [refit.grown(kept) for kept, _ in of_folds]

        def mean_loss() -> float:
            return float(np.mean([loss(model) for (_, loss), model in zip(of_folds, models, strict=True)]))

        limit, n_steps, n_above = mean_loss(), 0, 0
        limit += limits.loss_increase * abs(limit)
        while n_above < _MOST_ABOVE and any(model.n_test_nodes > 1 for model in models):
            models = [
                refit(model, kept, _fewer(model, limits)) for (kept, _), model in zip(of_folds, models, strict=True)
            ]
            n_steps, n_above = (n_steps + n_above + 1, 0) if mean_loss() <= limit else (n_steps, n_above + 1)
        for _ in range(n_steps):
            found = refit(found, None, _fewer(found, limits))
        problem = exceeds(found)
    if problem is not None:
        given = limits.n_bytes if problem.startswith("max_bytes") else limits.test_nodes
        of_loss = "" if limits.loss_increase is None else f" with max_loss_increase={limits.loss_increase:g}"
        raise ValueError(f"{problem} of the smallest model{of_loss}, got {given}")
    return as_estimator(found)


def _fewer(model: _weald.Boosted, limits: Limits) -> int:
    """The number of splits after the next step."""
    return max(1, int(_KEPT * model.n_test_nodes), min(limits.test_nodes or 1, model.n_test_nodes - 1))
