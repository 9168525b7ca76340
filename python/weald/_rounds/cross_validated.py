"""The number of rounds of boosting by cross-validation: the one with the least mean loss of the samples of each fold."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from weald import _weald
from weald._input.checks import Float
from weald._input.masks import weights_of_known
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters import label_weight
from weald._rounds import folds, held_out, weak_models
from weald._rounds.progress import Progress
from weald._rounds.rounds import Rounds

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.samples import Samples
    from weald._weald import _BoostConfig

# The scorer of a stage, for X, weights and y of the samples that it scores.
_ScoreOf = Callable[[Any, Float | None, Any], Callable[[_weald.Boosted, Float], float]]


def n_folds(cv: Any) -> int:
    """The number of folds of an integer or a list, or what a splitter tells."""
    if isinstance(cv, Integral):
        return int(cv)
    return len(cv) if hasattr(cv, "__len__") else int(getattr(cv, "n_splits", 1))


def n_copies(cv: object, n_bytes: int) -> int:
    """How many copies of X the folds have together: one of held-out samples, and those of training samples if X is small."""
    return n_folds(cv) if n_folds(cv) * n_bytes <= _weald.MOST_COPIED else 1


def search(
    boosting: BaseBoosting,
    samples: Samples,
    y: Raw,
    start: Float | None,
    config: _BoostConfig,
    callbacks: tuple[Any, ...],
    scoring: tuple[str, _ScoreOf] | None,
) -> tuple[int, dict[str, Float], bool]:
    """The number of stages, the mean losses and scores of the folds after each stage up to the end of the search, and
    whether callbacks have ended it.
    """
    name, score_of = ("score", None) if scoring is None else scoring
    splits, starts, scorers = _folds_of(boosting, samples, y, start, score_of)
    share = 0.0 if boosting.n_iter_no_change is not None else float(boosting._stops().patience_share)
    n_rounds, n_parts = config["n_estimators"], len(splits)
    is_ended = False
    title = f"{type(boosting).__name__}, {n_parts} fold{'s' * (n_parts > 1)}"
    with Progress(title, "round", n_rounds, boosting.verbose) as progress:
        lines = progress if progress.has_lines else None
        bar = progress if progress.has_bar else None
        rounds = Rounds(n_rounds, callbacks=callbacks, lines=lines, scoring=name)

        def observer(stage: int, train: float, held: float, score: float | None) -> bool:
            nonlocal is_ended
            is_ended = rounds.after(stage, train, held, None, score)
            return is_ended

        told = observer if callbacks or lines else None
        told_bar = bar and (lambda n_done: bar(n_done // n_parts))
        if boosting.estimator is not None:
            folds_of_weak = [weak_models.fold_of(boosting, samples, split) for split in splits]
            found = _weald.search_stages_with(
                samples.X.shape, samples.target.engine, config, folds_of_weak, share, told_bar, told
            )
        else:
            found = _weald.search_stages(
                samples.in_engine,
                config,
                splits,
                share,
                boosting._n_threads(),
                told_bar,
                start,
                starts,
                told,
                scorers,
            )
    train, validation, scores, n_stages = found
    curves = {"train": train, "validation": validation, "score": scores}
    return n_stages, {curve: values for curve, values in curves.items() if len(values)}, is_ended


def _folds_of(
    boosting: BaseBoosting, samples: Samples, y: Raw, start: Float | None, score_of: _ScoreOf | None
) -> tuple[list[folds.Split], list[Float], list[Any]]:
    """The samples of each fold, the initial scores if they differ between folds, and the scorers."""
    target, weights, cv = samples.target, samples.row_weights[0], boosting._folds()
    X = samples.X
    if score_of is not None:  # which takes rows
        X, y = (part.tocsr() if is_sparse(part) else part for part in (X, y))
    held_out.check_domain(boosting, target, np.arange(samples.n) if weights is None else np.flatnonzero(weights))
    counted = label_weight.that_count(boosting, target)
    splits = folds.of(cv, X, counted, weights, boosting._seed, start)[: boosting._n_folds_grown()]
    starts, scorers = [], []
    for train, test in splits:
        try:
            of_fold = _start_without(boosting, samples, y, train)
            if target.known is not None:
                weights_of_known(target.known.rows(train), None, target.names)
        except ValueError as error:
            raise ValueError(f"cv must allow a fit without each fold, got {cv!r}: {error}") from error
        if of_fold is not None:
            starts.append(of_fold)
        if score_of is not None:
            y_held = held_out.y_of(target, y, test)
            scorers.append(score_of(X[test], None if weights is None else weights[test], y_held))
    return splits, starts, scorers


def _start_without(boosting: BaseBoosting, samples: Samples, y: Raw, train: NDArray[np.uint32]) -> Float | None:
    """The initial scores of all samples by a model that does not know the samples of a fold, where `init` is one."""
    if boosting._init is None or isinstance(boosting.init, str | FrozenEstimator):
        return None
    X, weights = samples.X, samples.weights
    X = X.tocsr() if is_sparse(X) else X
    w = None if weights is None else weights[train]
    init = boosting._fitted_init(X[train], safe_indexing(y, train), w)
    assert init is not None
    return np.ascontiguousarray(boosting._margins_of_init(init, X, boosting._n_columns(samples.target)))
