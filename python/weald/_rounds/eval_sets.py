"""The argument `eval_sets` of boosting: checks of the sets, and the curves of a fitted model on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weald._input import checks, masks
from weald._input.checks import Float, Matrix
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._rounds import losses as _losses
from weald._rounds.losses import Cells
from weald.loss import get

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting

_ACCEPTED = "a list of (X, y) or (X, y, sample_weight), or a dict of such tuples by name"


@dataclass(frozen=True)
class EvalSet:
    """A checked set: its samples with positive weight."""

    name: str
    # Its name in error messages.
    what: str
    X: Matrix
    # y as it was passed.
    y: Any
    weights: Float | None
    # The mean loss as a function of raw scores.
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


def named(eval_sets: Any) -> list[tuple[str, str, Any]]:
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


def checked(estimator: BaseBoosting, eval_sets: Any, target: Target, shares: Float | None = None) -> list[EvalSet]:
    """The checked sets for a model of `target`. `shares` are the weights of labels in losses. Errors name the set."""
    found = []
    for name, what, given in named(eval_sets):
        try:
            found.append(_checked(estimator, name, what, *given, target=target, shares=shares))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: {error}") from error
    return found


def _checked(
    estimator: BaseBoosting,
    name: str,
    what: str,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    target: Target,
    shares: Float | None,
) -> EvalSet:
    X = estimator._check_X(X, reset=False, fitting=True)
    weights = checks.check_weights(sample_weight, X.shape[0])
    X, y, weights = checks.without_absent(X, y, weights)
    engine, mask = target.like_with_gaps(y, X.shape[0], type(estimator).__name__, what="its y")
    if mask is not None and estimator.scoring is not None:
        raise ValueError("scoring does not support eval_sets with NaN in y: it must be None")
    X = X.tocsr() if is_sparse(X) and estimator.estimator is None else X
    if mask is not None and shares is not None:
        raise ValueError("label_weight does not support eval_sets with NaN in y: it must be None")
    loss = _mean_loss(estimator, target, engine, masks.dense(mask), weights, shares)
    return EvalSet(name, what, X, y, weights, loss)


def _mean_loss(
    estimator: BaseBoosting,
    target: Target,
    engine: Any,
    mask: NDArray[np.bool_] | None,
    weights: Float | None,
    shares: Float | None,
) -> Callable[[Float], float]:
    """The mean loss as a function of raw scores, for y in the engine's form and the mask of its unknown values."""
    if target.kind == "classes" and estimator._is_softmax():
        n_classes = list(map(len, target.classes))
        on = _cells_on(target, engine, estimator._n_columns(target))
        return lambda scores: _losses.weighted_mean(_losses.of_softmax(n_classes, on, scores), weights, scores.shape[1])
    of_cells = _cell_losses(estimator, target, engine, mask)
    if mask is None:
        return lambda scores: _losses.weighted_mean(_of_rows(of_cells(scores), shares), weights, scores.shape[1])
    return lambda scores: _losses.mean_of_known(of_cells(scores), mask, weights)


def _of_rows(cells: Float, shares: Float | None) -> Float:
    """The loss of each sample, from those of its outputs."""
    found: Float = cells.sum(axis=1) if shares is None else cells @ shares
    return found


def _cell_losses(
    estimator: BaseBoosting, target: Target, engine: Any, mask: NDArray[np.bool_] | None
) -> Callable[[Float], Float]:
    """The loss of each raw score, with any value where y is unknown."""
    loss = get(estimator.loss)
    if target.kind == "numbers":
        if mask is not None:
            engine = np.where(mask, engine[~mask][0], engine)
        if (refused := loss._refused(engine)) is not None:
            raise ValueError(f"its y must be {refused[1]} with loss={loss.name!r}, got {refused[0]:g}")
        return lambda scores: loss.loss(engine, scores)
    on = _cells_on(target, engine, estimator._n_columns(target))
    return lambda scores: _losses.of_cells(loss, on, scores)


def _cells_on(target: Target, engine: Any, n_columns: int) -> Cells:
    """Rows and columns of the scores whose label or class is 1, row by row."""
    if target.kind == "labels":
        ptr, labels, _ = engine
        return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), np.asarray(labels, dtype=np.intp)
    codes, n_classes = engine
    if n_columns < sum(n_classes) or n_columns == 1:
        # One column, for the last of two classes or for the only class.
        rows = np.flatnonzero(codes[:, 0] == n_classes[0] - 1)
        return rows, np.zeros(len(rows), dtype=np.intp)
    first = np.concatenate([[0], np.cumsum(n_classes)[:-1]])
    rows = np.repeat(np.arange(len(codes)), codes.shape[1])
    return rows, (codes + first).ravel().astype(np.intp)
