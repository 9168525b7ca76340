"""The number of rounds of boosting by cross-validation: the one with the least mean loss of the samples of each fold."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from weald import _weald
from weald._input import masks
from weald._input.checks import Float, Matrix, relative
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters import label_weight
from weald._rounds import folds, held_out, weak_models
from weald._rounds.held_out import Held
from weald._rounds.progress import Progress
from weald._rounds.rounds import Rounds

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.samples import Samples
    from weald._weald import _BoostConfig

# The rounds of the first block, and the factor of those after the next block. All folds grow the rounds of a block before
# any of them goes on, so that the mean over the folds decides when to stop.
_FIRST, _FACTOR = 32, 1.5
# Up to this number of bytes of X, each fold has its training samples alone, which are faster than others of weight zero.
_MOST_COPIED = 1 << 26

# The scorer of a stage, for X, weights and y of the samples that it scores.
_ScoreOf = Callable[[Any, Float | None, Any], Callable[[_weald.Boosted, Float], float]]


@dataclass
class _Fold:
    """The stages of all samples but those of a fold, and the losses of these."""

    # X, y in the engine's form, the weights, the unknown values and the initial scores of the other samples; or of all
    # samples, with the weight zero for those of the fold.
    training: tuple[Matrix, Any, Float, Any, Float | None]
    held: Held
    score: Callable[[_weald.Boosted, Float], float] | None
    # The numbers of known values of y, times the weights of their samples in a unit that all folds share.
    weight_train: float
    weight_held: float
    model: _weald.Boosted | None = None
    so_far: _weald.ScoresSoFar = field(default_factory=_weald.ScoresSoFar)
    weak: list[Any] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def grow(self, boosting: BaseBoosting, samples: Samples, config: _BoostConfig, n_threads: int, told: Any) -> None:
        """Grow the stages up to those of `config`."""
        X, y, weights, y_mask, start = self.training
        if boosting.estimator is not None:
            twin = boosting._twin()
            twin._weak = self.weak
            data = X, samples.target, weights, config, self.held.in_engine[:3]
            self.model, self.weak = weak_models.fitted(twin, *data, told, len(self.weak))
            return

        def after(*found: Any) -> None:
            assert self.score is not None
            self.scores.append(self.score(*found[-2:]))

        self.model = _weald.fit_boosting(
            X,
            y,
            weights,
            config,
            self.held.in_engine,
            self.model,
            n_threads,
            told,
            base_margin=start,
            observer=None if self.score is None else after,
            wants_scores=self.score is not None,
            y_mask=y_mask,
            y_mask_val=self.held.mask,
            so_far=self.so_far,
        )

    def at_start(self, config: _BoostConfig, n_threads: int) -> float:
        """The loss of the samples of the fold before the first stage."""
        assert self.model is not None
        held = self.held
        scores = self.model.start()[np.newaxis].repeat(held.X.shape[0], axis=0)
        scores = scores if held.margins is None else scores + held.margins
        return cast(float, _weald.mean_loss(held.y, held.weights, config, scores, n_threads, held.mask))


def n_folds(cv: Any) -> int:
    """The number of folds of an integer or a list, or what a splitter tells."""
    if isinstance(cv, Integral):
        return int(cv)
    return len(cv) if hasattr(cv, "__len__") else int(getattr(cv, "n_splits", 1))


def n_copies(cv: object, n_bytes: int) -> int:
    """How many copies of X the folds have together: one of held-out samples, and those of training samples if X is small."""
    return int(cv) if isinstance(cv, Integral) and n_bytes <= _MOST_COPIED else 1


def search(
    boosting: BaseBoosting,
    samples: Samples,
    y: Raw,
    start: Float | None,
    config: _BoostConfig,
    callbacks: tuple[Any, ...],
    scoring: tuple[str, _ScoreOf] | None,
) -> Rounds:
    """The mean losses and scores of the folds after each round, up to the round that ends the search."""
    n_rounds, n_threads = config["n_estimators"], boosting._n_threads()
    config = cast("_BoostConfig", {**config, "n_iter_no_change": None})
    parts = _parts(boosting, samples, y, start, scoring)
    name = f"{type(boosting).__name__}, {len(parts)} fold{'s' * (len(parts) > 1)}"
    shown = Progress(name, "round", n_rounds, boosting.verbose) if boosting.verbose else nullcontext()
    with shown as progress:
        lines = progress if progress is not None and progress.has_lines else None
        bar = progress if progress is not None and progress.has_bar else None
        mean = Rounds(n_rounds, callbacks=callbacks, lines=lines, scoring="score" if scoring is None else scoring[0])
        mean.patience, mean.tol = boosting._patience(), float(boosting.tol)
        mean.patience_share = 0.0 if boosting.n_iter_no_change is not None else float(boosting._stops().patience_share)
        n_before, n = 0, min(n_rounds, _FIRST)
        while True:
            for k, part in enumerate(parts):

                def told(n_more: int, first: int = n_before, n: int = n, k: int = k) -> None:
                    if bar is not None:
                        bar(first + (k * (n - first) + n_more) // len(parts))

                up_to = cast("_BoostConfig", {**config, "n_estimators": n})
                part.grow(boosting, samples, up_to, n_threads, bar and told)
            if n_before == 0:
                [mean.at_start] = _curve([(np.array([p.at_start(config, n_threads)]), p.weight_held) for p in parts])
            train, held, scores = _means(parts)
            for stage in range(n_before, n):
                score = float(scores[stage]) if scoring is not None else None
                if mean.after(stage, float(train[stage]), float(held[stage]), None, score):
                    return mean
            if n == n_rounds:
                return mean
            n_before, n = n, min(n_rounds, int(_FACTOR * n))


def _parts(
    boosting: BaseBoosting, samples: Samples, y: Raw, start: Float | None, scoring: tuple[str, _ScoreOf] | None
) -> list[_Fold]:
    """The folds, without stages."""
    X, target, weights = samples.X, samples.target, samples.row_weights[0]
    X = X.tocsr() if is_sparse(X) else X
    y = y.tocsr() if is_sparse(y) else y
    n_known = np.full(X.shape[0], float(target.n_outputs))
    if target.mask is not None:
        n_known -= np.asarray(target.mask.sum(axis=1)).ravel()
    n_known *= 1.0 if weights is None else relative(weights)
    held_out.check_domain(boosting, target, np.flatnonzero(n_known))
    n_bytes = 8 * X.nnz if is_sparse(X) else 4 * X.size
    are_apart = boosting.estimator is None and n_copies(boosting._folds(), n_bytes) > 1
    found = []
    counted = label_weight.that_count(boosting, target)
    splits = folds.of(boosting._folds(), X, counted, weights, boosting._seed, start)
    for train, test in splits[: boosting._n_folds_grown()]:
        of_fold = weights
        if len(train) + len(test) < X.shape[0]:
            of_fold = np.zeros(X.shape[0])
            both = np.concatenate([train, test])
            of_fold[both] = 1.0 if weights is None else weights[both]
        try:
            starts = _start_without(boosting, samples, y, train, start)
            kept, held = held_out.apart(boosting, X, y, target, of_fold, starts, test)
        except ValueError as error:
            raise ValueError(f"cv must allow a fit without each fold, got {boosting._folds()!r}: {error}") from error
        score = None if scoring is None else scoring[1](held.X, held.weights, held.given)
        training = X, target.engine, kept, samples.mask, starts
        if are_apart:
            of_train = None if target.mask is None else masks.to_engine(target.mask[train])
            training = X[train], target.rows(train), kept[train], of_train, None if starts is None else starts[train]
        weight_train, weight_held = math.fsum(n_known[train]), math.fsum(n_known[test])
        found.append(_Fold(training, held, score, weight_train, weight_held))
    # In a unit in which products with losses are finite.
    for part, *of_part in zip(
        found,
        relative(np.array([part.weight_train for part in found])).tolist(),
        relative(np.array([part.weight_held for part in found])).tolist(),
        strict=True,
    ):
        part.weight_train, part.weight_held = of_part
    return found


def _start_without(
    boosting: BaseBoosting, samples: Samples, y: Raw, train: NDArray[np.uint32], start: Float | None
) -> Float | None:
    """The initial scores of all samples by a model that does not know the samples of a fold, where `init` is one."""
    if boosting._init is None or isinstance(boosting.init, str | FrozenEstimator):
        return start
    X, weights = samples.X, samples.weights
    X = X.tocsr() if is_sparse(X) else X
    w = None if weights is None else weights[train]
    init = boosting._fitted_init(X[train], safe_indexing(y, train), w)
    return np.ascontiguousarray(boosting._margins_of_init(init, X, boosting._n_columns(samples.target)))


def _means(parts: list[_Fold]) -> tuple[list[float], list[float], list[float]]:
    """The mean training losses, losses and scores of the folds after each stage so far."""
    models = [(cast(_weald.Boosted, part.model), part) for part in parts]
    train = _curve([(model.train_score(), part.weight_train) for model, part in models])
    held = _curve([(model.validation_score(), part.weight_held) for model, part in models])
    return train, held, _curve([(np.array(part.scores), part.weight_held) for part in parts])


def _curve(curves: list[tuple[Float, float]]) -> list[float]:
    """The weighted means of the values at each place."""
    weights = np.array([weight for _, weight in curves])
    total = math.fsum(weights)
    return [math.fsum(np.array(values) * weights) / total for values in zip(*(c for c, _ in curves), strict=True)]
