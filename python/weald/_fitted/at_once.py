"""Fitted states that are replaced as a whole.

Every method that changes an estimator does so by `fitted_at_once`, and every method and property that uses several of
its attributes runs by `of_one_fit`. Other threads then see the attributes of one fit or of the other, and a fit that
fails changes nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from sklearn.base import BaseEstimator

from weald._input import frames
from weald._input.messages import tell_advice, telling_names

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Fitted = TypeVar("_Fitted", bound="FittedAsOne")


class FittedAsOne(BaseEstimator):
    """Base class of estimators whose fitted attributes are replaced all at once."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name in {"__init__", "fit", "predict"} & vars(cls).keys():
            setattr(cls, name, telling_names(vars(cls)[name]))

    if not TYPE_CHECKING:  # mypy would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            # Only called for names that are not found: the error of the second search is that of the first.
            try:
                return object.__getattribute__(self, name)
            except AttributeError as error:
                if not name.startswith("_"):
                    tell_advice(error, self, name)
                raise

    @abstractmethod
    def _fitted_names(self) -> Set[str]:
        """The names of all attributes that a fit may set."""

    def _twin(self) -> Self:
        """A shallow copy, whose attributes belong to one fit because `fitted_at_once` assigns all of them at once."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def _become(self, fitted: object) -> None:
        """Take the fitted attributes of another estimator in the place of those of this one."""
        names = self._fitted_names()
        others = {name: value for name, value in self.__dict__.items() if name not in names}
        self.__dict__ = others | {name: value for name, value in fitted.__dict__.items() if name in names}


@contextmanager
def fitted_at_once(estimator: _Fitted, *, anew: bool = False) -> Iterator[_Fitted]:
    """Yield a copy of `estimator` to fit; at the end, assign the attributes of the copy to `estimator` all at once.

    With `anew`, the copy has no attribute of an earlier fit. Other threads always see the attributes of a single fit.
    `estimator` does not change before the end, and not at all if the fit raises or is interrupted by Ctrl-C. Its
    parameters, the setting of `set_output` and other attributes that are not fitted stay as they are at the end.
    """
    twin, fitted = estimator._twin(), estimator._fitted_names()
    # During a fit, predictions are arrays.
    for name in (frames.OUTPUT, *(fitted if anew else ())):
        twin.__dict__.pop(name, None)
    before = dict(twin.__dict__)
    yield twin
    kept_from_fit = {*estimator._get_param_names(), *frames.SETTINGS}
    found = {
        name: value
        for name, value in twin.__dict__.items()
        # Other attributes than the fitted ones are those that a subclass has set during the fit.
        if name in fitted or (name not in kept_from_fit and before.get(name, twin) is not value)
    }
    # Parameters may have been changed during the fit, and another fit may have ended.
    others = {name: value for name, value in dict(estimator.__dict__).items() if name not in fitted}
    estimator.__dict__ = {**others, **found}


def of_one_fit(method: _Method) -> _Method:
    """Run `method` on a shallow copy, whose attributes do not change if another thread fits the estimator.

    The predictions of methods in `frames.FRAMED` are converted to frames here if `set_output` asks for it. Within the
    methods, and in `score`, predictions are arrays.
    """
    name = getattr(method, "__name__", "")
    is_framed = name in frames.FRAMED

    @wraps(method)
    def on_twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = self._twin()
        container = twin.__dict__.pop(frames.OUTPUT, None) if is_framed or name == "score" else None
        found = method(twin, *args, **kwargs)
        if container is None or not is_framed:
            return found
        return frames.built(container, found, twin, name, args[0] if args else kwargs["X"])

    return cast(_Method, on_twin)
