"""scikit-learn's callbacks, from its version 1.9 on: the task of a fit, and a task for each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from weald._parameters.types import MatrixLike

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting

_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty class: this version of scikit-learn has no callbacks."""

    def _with_callbacks(method: object) -> Any:
        return method


def with_callbacks(method: _Method) -> _Method:
    """scikit-learn's `with_callbacks`, with which methods keep their types; without callbacks, the method itself."""
    return cast(_Method, _with_callbacks(method))


__all__ = ["CallbackSupportMixin", "Tasks", "tasks_of", "with_callbacks"]

# The attribute in which scikit-learn stores the callbacks of an estimator,
CALLBACKS = "_skl_callbacks"
# and all attributes that it stores in estimators during a fit.
OF_A_FIT = frozenset({CALLBACKS, "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx"})


class Tasks:
    """The calls of the callbacks during one fit.

    A round begins when the previous round has ended. A round that begins and is never grown, as after an early stop,
    ends without data.
    """

    def __init__(
        self, estimator: BaseBoosting, n_rounds: int, X: MatrixLike, y: MatrixLike, sample_weight: object
    ) -> None:
        self._estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._fit = estimator._init_callback_context(max_subtasks=n_rounds)
        self._fit.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._round: Any = None
        self.has_callbacks = bool(getattr(estimator, CALLBACKS, ()))

    def begin_round(self) -> None:
        """Report that the next round begins."""
        self._round = self._fit.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_round(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report that the round has ended, with the attributes of the model so far. True if a callback ends the fit."""
        task, self._round = self._round, None
        options = self._data | {"reconstruction_attributes": attributes}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **options))

    def end(self) -> None:
        """Report that the fit has ended."""
        if self._round is not None:
            self._round.call_on_fit_task_end(estimator=self._estimator)
        options = self._data | {"reconstruction_attributes": {}}
        self._fit.call_on_fit_task_end(estimator=self._estimator, **options)


def tasks_of(
    estimator: BaseBoosting, n_rounds: int, X: MatrixLike, y: MatrixLike, sample_weight: object
) -> Tasks | None:
    """The tasks of a fit that begins now; None without callbacks."""
    if not hasattr(estimator, CALLBACKS) and not hasattr(estimator, "_parent_callback_ctx"):
        return None
    return Tasks(estimator, n_rounds, X, y, sample_weight)
