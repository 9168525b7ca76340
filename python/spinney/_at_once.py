"""Fits that other threads see as one change, and methods that see the attributes of one fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from spinney import _frames

_Method = TypeVar("_Method", bound=Callable[..., Any])


@contextmanager
def fitted_at_once(estimator: Any) -> Iterator[Any]:
    """Yields a twin of `estimator` to fit, whose attributes but parameters are then given to `estimator`, all at once.

    Other threads see the attributes of one fit and never some of two: `estimator` is as it was until the end, and stays
    so when anything is raised, Ctrl-C included.
    """
    twin = estimator._twin()
    # What a fit asks of its estimator are arrays.
    twin.__dict__.pop(_frames.OUTPUT, None)
    yield twin
    # Parameters may have been set in the meantime, and another fit may have ended.
    parameters = {name: getattr(estimator, name) for name in estimator._get_param_names()}
    output = {name: value for name, value in estimator.__dict__.items() if name == _frames.OUTPUT}
    estimator.__dict__ = {**twin.__dict__, **parameters, **output}


def of_one_fit(method: _Method) -> _Method:
    """Runs `method` on attributes that do not change, though another thread fits the estimator meanwhile.

    Predictions, which methods are known for by their names, become frames here if `set_output` says so: within the
    methods, and in `score`, they are arrays.
    """
    name = getattr(method, "__name__", "")
    is_framed = name in _frames.FRAMED

    @wraps(method)
    def on_twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = self._twin()
        container = twin.__dict__.pop(_frames.OUTPUT, None) if is_framed or name == "score" else None
        found = method(twin, *args, **kwargs)
        if container is None or not is_framed:
            return found
        return _frames.built(container, found, twin, name, args[0] if args else kwargs["X"])

    return cast(_Method, on_twin)
