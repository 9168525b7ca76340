"""What happens after each round of boosting: losses are stored and printed, and scorers and callbacks are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import check_scoring

from weald import _weald
from weald._input.checks import Float, is_float, named, shown
from weald._ranking.known_scorers import scoring_of_known
from weald._rounds.callbacks import Tasks
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting


@dataclass
class Rounds:
    """The rounds of one fit. The engine calls it after each round with the losses and, on demand, the scores.

    If it returns True, the fit ends. `score` is the scorer as a function of a model, which converts scores to
    predictions, and of the scores of the validation samples, and `scoring` is its name in lines. The engine decides by the
    validation loss when to stop, `patience` and `tol` by the score.
    """

    n_rounds: int
    first: int = 0
    score: Callable[[_weald.Boosted, Float], float] | None = None
    patience: int | None = None
    tol: float = 0.0
    callbacks: Sequence[Any] = ()
    lines: Progress | None = None
    scoring: str = "score"
    tasks: Tasks | None = None
    fitted: Callable[[_weald.Boosted], dict[str, Any]] | None = None
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    out_of_bag: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def __call__(
        self,
        stage: int,
        train: float,
        validation: float | None,
        out_of_bag: tuple[float, float] | None,
        model: _weald.Boosted | None,
        held_scores: Float | None,
    ) -> bool:
        score = None
        if self.score is not None:
            assert model is not None
            assert held_scores is not None
            score = self.score(model, held_scores)
        return self.after(stage, train, validation, out_of_bag, score, model)

    def after(
        self,
        stage: int,
        train: float,
        validation: float | None,
        out_of_bag: tuple[float, float] | None,
        score: float | None,
        model: _weald.Boosted | None = None,
    ) -> bool:
        """The same for a round whose score is known."""
        self.train.append(train)
        if validation is not None:
            self.validation.append(validation)
        improvement = None
        if out_of_bag is not None:
            loss, improvement = out_of_bag
            self.out_of_bag.append(loss)
        if score is not None:
            self.scores.append(score)
        if self.lines is not None:
            parts = [f"loss {train:.5g}"]
            if improvement is not None:
                parts.append(f"OOB improvement {improvement:.5g}")
            if validation is not None:
                parts.append(f"validation loss {validation:.5g}")
            if self.scores:
                parts.append(f"{self.scoring} {self.scores[-1]:.5g}")
            self.lines(stage + 1, *parts)
        ends: list[bool] = []
        if self.callbacks:
            told = [callback.on_round(stage, train, validation) for callback in self.callbacks]
            with named("callbacks"):
                ends += map(bool, told)
        if self.tasks is not None:
            ends.append(self._end_task(model))
        is_over = any(ends) or self._is_over()
        if self.tasks is not None and not is_over and stage + 1 < self.n_rounds:
            self.tasks.begin_part()
        return is_over

    def begin(self, tasks: Tasks, fitted: Callable[[_weald.Boosted], dict[str, Any]]) -> None:
        """Report that the first round begins; `fitted` returns the attributes of a model of the stages so far."""
        self.tasks, self.fitted = tasks, fitted
        tasks.begin_part()

    def _end_task(self, model: _weald.Boosted | None) -> bool:
        tasks, fitted = self.tasks, self.fitted
        assert tasks is not None
        assert fitted is not None
        assert model is not None
        return tasks.end_part(lambda: fitted(model))

    def _is_over(self) -> bool:
        if self.patience is None or len(self.scores) <= self.patience:
            return False
        return max(self.scores[-self.patience :]) <= max(self.scores[: -self.patience]) + self.tol

    @property
    def n_best(self) -> int:
        """The number of stages up to the largest score, the first one if several are equal."""
        return self.first + int(np.argmax(self.scores)) + 1


def scorer_of(
    estimator: BaseBoosting, scoring: object, *, has_gaps: bool
) -> tuple[Callable[[Any, Any, Any], Any], str]:
    """The scorer and its name. With `has_gaps`, it scores the known values of y."""
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return check_scoring(estimator, scoring_of_known(scoring, estimator) if has_gaps else scoring), name


def checked_score(score: object, name: str) -> float:
    if not isinstance(score, Real) or not is_float(score) or not np.isfinite(float(score)):
        raise ValueError(f"scoring must return finite numbers, but {name} returned {shown(score)} after a stage")
    return float(score)


def check_callbacks(callbacks: object) -> tuple[Any, ...]:
    if callbacks is None:
        return ()
    found: tuple[Any, ...] = tuple(callbacks) if isinstance(callbacks, (list, tuple)) else (callbacks,)
    for callback in found:
        if not callable(getattr(callback, "on_round", None)):
            raise TypeError(
                "callbacks must be objects with a method on_round(round, train_loss, validation_loss) that "
                f"returns whether to stop the fit, got {callback!r}"
            )
    return found
