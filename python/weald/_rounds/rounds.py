"""What fits tell while they go on: callbacks, progress, and in boosting each round."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar, cast

import numpy as np
from sklearn.metrics import check_scoring

from weald import _weald
from weald._input.checks import Float, check_names_of_scorers, integer, is_float, named, shown
from weald._ranking.scorers import scoring_of_known

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.forest import BaseBagging
    from weald._fitted.fits import Fit


_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty class: this version of scikit-learn has no callbacks."""

    def _with_callbacks(method: object) -> Any:
        return method


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's `with_callbacks`, with which methods keep their types; without callbacks, the method itself."""
    return cast(_Method, _with_callbacks(method))


# The attribute in which scikit-learn stores the callbacks of an estimator,
CALLBACKS = "_skl_callbacks"
# and all attributes that it stores in estimators during a fit.
OF_A_FIT = frozenset({CALLBACKS, "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx"})


class Tasks:
    """The calls of the callbacks during one fit.

    `n_parts` parts of the fit are tasks with the name `part`. One begins when the previous one has ended. One that
    begins and is never grown, as after an early stop, ends without data.
    """

    def __init__(self, estimator: BaseBoosting | BaseBagging, n_parts: int, given: Fit, part: str) -> None:
        self._estimator, self._name, self.n_parts = estimator, part, n_parts
        metadata = None if given.sample_weight is None else {"sample_weight": given.sample_weight}
        self._data = {"X": given.X, "y": given.y, "metadata": metadata}
        self._fit = estimator._init_callback_context(max_subtasks=n_parts)
        self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._part: Any = None
        self.has_callbacks = bool(getattr(estimator, CALLBACKS, ()))

    def begin_part(self) -> None:
        """Report that the next part begins."""
        self._part = self._fit.subcontext(task_name=self._name)
        self._part.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_part(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report that the part has ended, with the attributes of the model so far. True if a callback ends the fit."""
        task, self._part = self._part, None
        options = self._data | {"reconstruction_attributes": attributes}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **options))

    def end(self) -> None:
        """Report that the fit has ended."""
        if self._part is not None:
            self._part.call_on_fit_task_end(estimator=self._estimator)
        options = self._data | {"reconstruction_attributes": {}}
        self._fit.call_on_fit_task_end(estimator=self._estimator, **options)


def tasks_of(estimator: BaseBoosting | BaseBagging, n_parts: int, given: Fit, part: str = "round") -> Tasks | None:
    """The tasks of a fit that begins now; None without callbacks."""
    has_some = hasattr(estimator, CALLBACKS) or hasattr(estimator, "_parent_callback_ctx")
    return Tasks(estimator, n_parts, given, part) if has_some else None


# After this number of seconds without a line, the next report prints one; in long work, after this fraction of the time
# so far, to limit the number of lines.
_LONGEST_SILENCE = 10.0
_SHARE_OF_SILENCE = 0.1
# Seconds between two drawings of a bar, which are too fast to read if they follow sooner.
_BETWEEN_BARS = 0.1
_BAR_WIDTH = 20


class Progress:
    """Reports how much of some work is done. Used as a context, and called with the number of units done.

    `verbose` is 0 for no report, 1 for a bar on standard error if that is a terminal and for some lines on standard
    output if not, and above 1 for a line at every call. With 1, as in scikit-learn's gradient boosting, there are lines
    for the first ten units, then for every tenth, from the hundredth for every hundredth, and so on, for the last unit,
    and after a long time without a line. Each line names its work, because a log may contain several at the same time.

    `total` is None if the number of units is not known. Units up to `first` were done before. A report never ends the
    work: after an error of the stream, nothing more is written.
    """

    def __init__(self, name: str, unit: str, total: int | None, verbose: int, first: int = 0) -> None:
        self._name, self._unit, self._total, self._first = name, unit, total, first
        self._is_estimate = self._is_over = False
        self._of_every_call = verbose > 1
        self.has_bar = verbose == 1 and _is_terminal(sys.stderr)
        self.has_lines = verbose > 0 and not self.has_bar
        self._begin = self._last = time.monotonic()
        self._reported, self.n_done = first, first
        self._more: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._is_estimate:
            self._total, self._is_estimate = self.n_done, False
        is_new = kind is None and self.n_done > self._reported
        self._is_over = True
        if self.has_lines and is_new:
            self._print_line(time.monotonic())
        if self.has_bar:
            if kind is None:
                self._draw_bar(time.monotonic())
            self._write(sys.stderr, "\n")

    def expect(self, total: int) -> None:
        """Set the number of units, now that about how many there will be is known."""
        self._total, self._is_estimate = total, True

    def __call__(self, n_done: int, *more: str) -> None:
        """Report that `n_done` units are done; `more` are further parts of the line, such as losses."""
        self.n_done, self._more = n_done, more
        now = time.monotonic()
        if self.has_bar and now - self._last >= _BETWEEN_BARS:
            self._draw_bar(now)
        elif self.has_lines and n_done > self._reported and self._is_due(now):
            self._print_line(now)

    def _is_due(self, now: float) -> bool:
        if self._of_every_call or self.n_done == self._total:
            return True
        if now - self._last >= max(_LONGEST_SILENCE, _SHARE_OF_SILENCE * (now - self._begin)):
            return True
        # Every 10th unit up to 100 units, every 100th up to 1000; each of the first ten. Several may be done at once.
        done = self.n_done - self._first
        between: int = 10 ** (len(str(done)) - 1)
        return done // between * between > self._reported - self._first

    def _text(self, now: float) -> str:
        seconds, done = now - self._begin, self.n_done - self._first
        total = "" if self._total is None else f" of {'about ' * self._is_estimate}{self._total}"
        parts = [f"{self._name}: {self._unit} {self.n_done}{total}", *self._more, f"{seconds:.1f} s"]
        # Work that ended early, by early stopping for example, has no time left.
        if self._total is not None and done and not (self._is_over and self.n_done < self._total):
            left = max(0.0, seconds / done * (self._total - self.n_done))
            parts.append(f"{left:.1f} s left")
        return ", ".join(parts)

    def _print_line(self, now: float) -> None:
        self._last, self._reported = now, self.n_done
        self._write(sys.stdout, self._text(now) + "\n")

    def _draw_bar(self, now: float) -> None:
        self._last = now
        text, width = self._text(now), _columns(sys.stderr) - 1
        if len(text) > width:
            text = text.removeprefix(f"{self._name}: ")
        elif self._total and len(text) + _BAR_WIDTH + 3 <= width:
            n_full = min(_BAR_WIDTH, _BAR_WIDTH * self.n_done // self._total)
            text = f"[{'#' * n_full:.<{_BAR_WIDTH}}] {text}"
        # The whole line, so that nothing is left of what another fit or a longer text has drawn there.
        self._write(sys.stderr, f"\r{text[:width]:<{width}}")

    def _write(self, stream: TextIO, text: str) -> None:
        if stream is None:
            return
        try:
            stream.write(text)
            stream.flush()
        except Exception:  # closed, a broken pipe, a full disk, an encoding, or what a stream of one's own raises
            self.has_bar = self.has_lines = False


def say(text: str) -> None:
    """Print a line, if that is possible."""
    Progress(text, "", None, 1)._write(sys.stdout, f"{text}\n")


def check_verbose(verbose: object) -> int:
    """`verbose` of a function or meta-estimator as an integer."""
    if isinstance(verbose, bool | np.bool_):
        return int(verbose)
    return integer("verbose", verbose, 0)


def _is_terminal(stream: TextIO) -> bool:
    """Whether lines of the stream can be drawn again, which a stream that is closed or None does not say."""
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except Exception:
        return False


def _columns(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except Exception:
        columns = 0
    return columns or shutil.get_terminal_size().columns


@dataclass
class Rounds:
    """The rounds of one fit. The engine calls it after each round with the losses and, on demand, the scores.

    If it returns True, the fit ends. `score` is the scorer as a function of a model, which converts scores to
    predictions, and of the scores of the validation samples, and `scoring` is its name in lines. The engine decides by the
    validation loss when to stop, `patience` and `tol` by the score; `before` is that of the stages of the previous fit.
    """

    n_rounds: int
    first: int = 0
    score: Callable[[_weald.Boosted, Float], float] | None = None
    patience: int | None = None
    tol: float = 0.0
    before: float = -np.inf
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
        if self.patience is None or len(self.scores) < self.patience:
            return False
        scores = [self.before, *self.scores]
        return max(scores[-self.patience :]) <= max(scores[: -self.patience]) + self.tol

    @property
    def n_best(self) -> int:
        """The number of stages up to the largest score, the first one if several are equal."""
        return self.first + int(np.argmax([self.before, *self.scores]))


def scorer_of(
    estimator: BaseBoosting, scoring: object, *, has_gaps: bool
) -> tuple[Callable[[Any, Any, Any], Any], str]:
    """The scorer and its name. With `has_gaps`, it scores the known values of y."""
    if not has_gaps:  # else there are fewer names
        check_names_of_scorers(scoring)
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
