"""What happens after each round of boosting: losses are stored and printed, and scorers and callbacks are called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from weald import _weald
from weald._base import progress_bar
from weald._callbacks import Tasks
from weald._validation import Float

# After this number of seconds without a line, the next round prints one; in long fits, after this fraction of the time
# so far, to limit the number of lines.
_LONGEST_SILENCE = 10.0
_SHARE_OF_SILENCE = 0.1


@dataclass
class Rounds:
    """The rounds of one fit. The engine calls it after each round with the losses and, on demand, the scores.

    If it returns True, the fit ends. `score` is the scorer as a function of a model, which converts scores to
    predictions, and of the scores of the validation samples.
    """

    n_rounds: int
    first: int = 0
    score: Callable[[_weald.Boosted, Float], float] | None = None
    patience: int | None = None
    tol: float = 0.0
    callbacks: Sequence[Any] = ()
    lines: Lines | None = None
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
        self.train.append(train)
        if validation is not None:
            self.validation.append(validation)
        improvement = None
        if out_of_bag is not None:
            loss, improvement = out_of_bag
            self.out_of_bag.append(loss)
        if self.score is not None:
            assert model is not None
            assert held_scores is not None
            self.scores.append(self.score(model, held_scores))
        if self.lines is not None:
            self.lines.after(stage + 1, train, validation, improvement, self.scores[-1] if self.scores else None)
        ends = [bool(callback.on_round(stage, train, validation)) for callback in self.callbacks]
        if self.tasks is not None:
            ends.append(self._end_task(model))
        is_over = any(ends) or self._is_over()
        if self.tasks is not None and not is_over and stage + 1 < self.n_rounds:
            self.tasks.begin_round()
        return is_over

    def begin(self, tasks: Tasks, fitted: Callable[[_weald.Boosted], dict[str, Any]]) -> None:
        """Report that the first round begins; `fitted` returns the attributes of a model of the stages so far."""
        self.tasks, self.fitted = tasks, fitted
        tasks.begin_round()

    def _end_task(self, model: _weald.Boosted | None) -> bool:
        tasks, fitted = self.tasks, self.fitted
        assert tasks is not None
        assert fitted is not None
        assert model is not None
        return tasks.end_round(lambda: fitted(model))

    def _is_over(self) -> bool:
        if self.patience is None or self.score is None or len(self.scores) <= self.patience:
            return False
        return max(self.scores[-self.patience :]) <= max(self.scores[: -self.patience]) + self.tol

    @property
    def n_best(self) -> int:
        """The number of stages up to the largest score, the first one if several are equal."""
        return self.first + int(np.argmax(self.scores)) + 1


class Lines:
    """Prints lines on rounds. Each line names its fit, because a log may contain several fits at the same time.

    With `verbose` above 1, every round has a line. Otherwise, as in scikit-learn's gradient boosting, there are lines
    for the first ten rounds of a fit, then for every tenth, from the hundredth for every hundredth, and so on. There
    are also lines for the last round, and after a long time without a line.
    """

    def __init__(self, name: str, n_rounds: int, first: int, scoring: str, verbose: int) -> None:
        self._name, self._n_rounds, self._first, self._scoring = name, n_rounds, first, scoring
        self._of_every_round = verbose > 1
        self._begin = self._last = time.monotonic()

    def after(
        self, n_done: int, train: float, validation: float | None, improvement: float | None, score: float | None
    ) -> None:
        now = time.monotonic()
        if not self._is_due(n_done, now):
            return
        self._last = now
        seconds = now - self._begin
        left = seconds / (n_done - self._first) * (self._n_rounds - n_done)
        parts = [f"{self._name}: round {n_done} of {self._n_rounds}", f"loss {train:.5g}"]
        if improvement is not None:
            parts.append(f"OOB improvement {improvement:.5g}")
        if validation is not None:
            parts.append(f"validation loss {validation:.5g}")
        if score is not None:
            parts.append(f"{self._scoring} {score:.5g}")
        parts += [f"{seconds:.1f} s", f"{left:.1f} s left"]
        print(", ".join(parts), flush=True)

    def _is_due(self, n_done: int, now: float) -> bool:
        if self._of_every_round or n_done == self._n_rounds:
            return True
        if now - self._last >= max(_LONGEST_SILENCE, _SHARE_OF_SILENCE * (now - self._begin)):
            return True
        # Every 10th round up to 100 rounds, every 100th up to 1000; each of the first ten rounds.
        of_fit = n_done - self._first
        between: int = 10 ** (len(str(of_fit)) - 1)
        return of_fit % between == 0


@contextmanager
def bar_or_lines(
    name: str, n_rounds: int, first: int, verbose: int, scoring: str
) -> Iterator[tuple[Callable[[int], object] | None, Lines | None]]:
    """A tqdm bar if `verbose` is 1, tqdm is installed and standard error is a terminal; else lines, or none for 0."""
    with progress_bar(n_rounds - first, verbose == 1, name, unit="round") as progress:
        yield progress, Lines(name, n_rounds, first, scoring, verbose) if verbose and progress is None else None


def scorer_of(estimator: Any, scoring: Any) -> tuple[Callable[[Any, Any, Any], Any], str]:
    """The scorer and its name."""
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return check_scoring(estimator, scoring), name


def checked_score(score: Any, name: str) -> float:
    if not isinstance(score, Real) or not np.isfinite(float(score)):
        raise ValueError(f"scoring must return finite numbers, but {name} returned {score!r} after a stage")
    return float(score)


def check_callbacks(callbacks: Any) -> tuple[Any, ...]:
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
