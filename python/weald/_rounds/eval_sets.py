"""The argument `eval_sets` of boosting: checks of the sets, and the curves of a fitted model on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weald import _weald
from weald._input import checks
from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._rounds.held_out import Held

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._weald import _BoostConfig

_ACCEPTED = "a list of (X, y) or (X, y, sample_weight), or a dict of such tuples by name"


@dataclass(frozen=True)
class EvalSet:
    """A checked set."""

    name: str
    # Its name in error messages.
    what: str
    samples: Held
    # The mean loss as a function of raw scores, which is NaN if no value of y is known.
    loss: Callable[[Float], float]

    def curve(self, staged: Iterator[Float], score: Callable[[Float], float] | None) -> tuple[str, Float, Float | None]:
        """The name, the losses and the scores of the stages, from their raw scores."""
        losses, scores = [], []
        for raw in staged:
            losses.append(self.loss(raw))
            if score is not None:
                try:
                    scores.append(score(raw))
                except ValueError as error:
                    raise ValueError(f"{self.what}: {error}") from error
        return self.name, np.array(losses), None if score is None else np.array(scores)


def named(eval_sets: object) -> list[tuple[str, str, Any]]:
    """For each set: its name, its name in error messages, and its value."""
    if eval_sets is None:
        return []
    if isinstance(eval_sets, dict):
        for name in eval_sets:
            if not isinstance(name, str):
                raise TypeError(f"eval_sets must have strings as names, got {name!r}")
        # A plain string, since strings of numpy have another type in model files.
        sets = [(str(name), f"eval_sets[{str(name)!r}]", given) for name, given in eval_sets.items()]
    elif isinstance(eval_sets, list):
        sets = [(f"eval_{i}", f"eval_sets[{i}]", given) for i, given in enumerate(eval_sets)]
    else:
        hint = ": put it into a list" if isinstance(eval_sets, tuple) else ""
        raise TypeError(f"eval_sets must be {_ACCEPTED}, got a {type(eval_sets).__name__}{hint}")
    for _, what, given in sets:
        if not isinstance(given, tuple | list):
            raise TypeError(f"{what} must be (X, y) or (X, y, sample_weight), got a {type(given).__name__}")
        if len(given) not in (2, 3):
            raise ValueError(f"{what} must be (X, y) or (X, y, sample_weight), got a tuple of length {len(given)}")
    return sets


def checked(estimator: BaseBoosting, eval_sets: object, target: Target, config: _BoostConfig) -> list[EvalSet]:
    """The checked sets for a model of `target`, whose loss is that of `config`. Errors name the set."""
    found = []
    for name, what, given in named(eval_sets):
        try:
            found.append(_checked(estimator, (name, what), given, target, config))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: {error}") from error
    return found


def _checked(
    estimator: BaseBoosting, names: tuple[str, str], given: Sequence[Any], target: Target, config: _BoostConfig
) -> EvalSet:
    X = estimator._check_X(given[0], reset=False, fitting=True)
    weights = checks.check_weights(given[2] if len(given) == 3 else None, X.shape[0])
    X, y, weights = checks.without_absent(X, given[1], weights)
    engine, known = target.like_with_gaps(y, X.shape[0], type(estimator).__name__, what="its y")
    y_weight, n_threads = target.in_engine(known), estimator._n_threads()
    with checks.renamed(y="its y"):
        _weald.mean_loss(engine, weights, config, y_weight=y_weight)

    def loss(scores: Float) -> float:
        found = _weald.mean_loss(engine, weights, config, scores, n_threads, y_weight)
        return np.nan if found is None else found

    X = X.tocsr() if is_sparse(X) and estimator.estimator is None else X
    return EvalSet(*names, Held(X, engine, weights, None, y_weight, y), loss)
