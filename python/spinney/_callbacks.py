"""scikit-learn's callbacks, from its version 1.9 on: the task of a fit, and one for each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Tasks", "tasks_of", "with_callbacks"]

# Where scikit-learn keeps the callbacks of an estimator,
CALLBACKS = "_skl_callbacks"
# and what else it keeps in estimators while they are fitted.
OF_A_FIT = frozenset({CALLBACKS, "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx"})


class Tasks:
    """What callbacks are told of one fit.

    A round begins when the one before has ended. One that is begun and never grown, as after an early stop, ends
    without data.
    """

    def __init__(self, estimator: Any, n_rounds: int, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._fit = estimator._init_callback_context(max_subtasks=n_rounds)
        self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._round: Any = None
        self.has_callbacks = bool(getattr(estimator, CALLBACKS, ()))

    def begin_round(self) -> None:
        """The next round begins."""
        self._round = self._fit.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_round(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """The round has ended: whether a callback ends the fit. `attributes` are those of a model fitted so far."""
        task, self._round = self._round, None
        options = self._data | {"reconstruction_attributes": attributes}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **options))

    def end(self) -> None:
        """The fit has ended."""
        if self._round is not None:
            self._round.call_on_fit_task_end(estimator=self._estimator)
        options = self._data | {"reconstruction_attributes": {}}
        self._fit.call_on_fit_task_end(estimator=self._estimator, **options)


def tasks_of(estimator: Any, n_rounds: int, X: Any, y: Any, sample_weight: Any) -> Tasks | None:
    """The tasks of a fit that begins now; None where nobody is to be told."""
    if not hasattr(estimator, CALLBACKS) and not hasattr(estimator, "_parent_callback_ctx"):
        return None
    return Tasks(estimator, n_rounds, X, y, sample_weight)
