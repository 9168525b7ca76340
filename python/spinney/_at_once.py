"""Fits that other threads see as one change, and methods that see the attributes of one fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])


@contextmanager
def fitted_at_once(estimator: Any) -> Iterator[Any]:
    """Yields a twin of `estimator` to fit, whose attributes but parameters are then given to `estimator`, all at once.

    Other threads see the attributes of one fit and never some of two: `estimator` is as it was until the end, and stays
    so when anything is raised, Ctrl-C included.
    """
    twin = estimator._twin()
    yield twin
    # Parameters may have been set in the meantime, and another fit may have ended.
    parameters = {name: getattr(estimator, name) for name in estimator._get_param_names()}
    estimator.__dict__ = {**twin.__dict__, **parameters}


def of_one_fit(method: _Method) -> _Method:
    """Runs `method` on attributes that do not change, though another thread fits the estimator meanwhile."""

    @wraps(method)
    def on_twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self._twin(), *args, **kwargs)

    return cast(_Method, on_twin)
