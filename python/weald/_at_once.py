"""Fits that other threads see as a single change, and methods that use the attributes of a single fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from weald import _frames

_Method = TypeVar("_Method", bound=Callable[..., Any])


@contextmanager
def fitted_at_once(estimator: Any) -> Iterator[Any]:
    """Yield a copy of `estimator` to fit; at the end, assign the attributes of the copy to `estimator` all at once.

    Other threads therefore always see the attributes of a single fit. `estimator` does not change before the end, and
    not at all if the fit raises or is interrupted by Ctrl-C. Its parameters are not replaced.
    """
    twin = estimator._twin()
    # During a fit, predictions are arrays.
    twin.__dict__.pop(_frames.OUTPUT, None)
    yield twin
    # Parameters may have been changed during the fit, and another fit may have ended.
    parameters = {name: getattr(estimator, name) for name in estimator._get_param_names()}
    output = {name: value for name, value in estimator.__dict__.items() if name == _frames.OUTPUT}
    estimator.__dict__ = {**twin.__dict__, **parameters, **output}


def of_one_fit(method: _Method) -> _Method:
    """Run `method` on a shallow copy, whose attributes do not change if another thread fits the estimator.

    The predictions of methods in `_frames.FRAMED` are converted to frames here if `set_output` asks for it. Within the
    methods, and in `score`, predictions are arrays.
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
