"""scikit-learn's callbacks, from its version 1.9 on: the task of a fit, and a task for each round or block of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from weald._parameters.types import MatrixLike

if TYPE_CHECKING:
    from weald._fit.bagging import BaseBagging
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

    `n_parts` parts of the fit are tasks with the name `part`. One begins when the previous one has ended. One that
    begins and is never grown, as after an early stop, ends without data.
    """

    def __init__(
        self,
        estimator: BaseBoosting | BaseBagging,
        n_parts: int,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: object,
        part: str = "round",
    ) -> None:
        self._estimator, self._name, self.n_parts = estimator, part, n_parts
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
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


def tasks_of(
    estimator: BaseBoosting | BaseBagging,
    n_parts: int,
    X: MatrixLike,
    y: MatrixLike,
    sample_weight: object,
    part: str = "round",
) -> Tasks | None:
    """The tasks of a fit that begins now; None without callbacks."""
    if not hasattr(estimator, CALLBACKS) and not hasattr(estimator, "_parent_callback_ctx"):
        return None
    return Tasks(estimator, n_parts, X, y, sample_weight, part)
