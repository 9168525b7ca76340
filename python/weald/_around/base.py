"""What every meta-estimator is: parameters in a table, one way of a fit, and a state that is proven by a table.

`Fit` has the arguments of `fit`, and `Around` carries it out: on a copy, whose attributes become those of the estimator at the
end. `FITTED` says what these attributes must be, in pickles and model files, too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Set
from typing import Any, ClassVar, Self, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags

from weald._fit.base import BaseModel, check_parameters
from weald._fitted.at_once import FittedAsOne, fitted_at_once, of_one_fit
from weald._fitted.fits import Fit as Fit
from weald._fitted.proof import check_fitted
from weald._input import checks, registry
from weald._input.checks import Float
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.messages import described
from weald._input.sklearn_private import HasMethods
from weald._input.targets import Target, compare
from weald._parameters.types import RandomState
from weald._ranking.outputs import apart

# Raises unless a value of an estimator is what it must be: the error is a sentence about it.
Claim = Callable[[Any, Any], None]
Claims = dict[str, Claim]


class Checked(HasMethods):  # type: ignore[misc]
    """A constraint on a parameter by a function that raises for other values."""

    def __init__(self, check: Callable[[Any], object]) -> None:
        self._check = check

    def is_satisfied_by(self, val: object) -> bool:
        """Whether the value is accepted. Raises otherwise."""
        self._check(val)
        return True


def need(holds: object, accepted: str, found: object) -> None:
    if not holds:
        raise ValueError(f"must be {accepted}, got {described(found)}")


def positive(_: Any, value: object) -> None:
    need(type(value) is int and value > 0, "a positive integer", value)


def number(_: Any, value: object) -> None:
    need(type(value) is float, "a float", value)


def _is_there(_: Any, inner: object) -> None:
    need(hasattr(inner, "fit"), "a fitted estimator", inner)


def _outputs_of_inside(around: Any, value: Any) -> None:
    """The number of outputs, which the fitted estimator may have too."""
    positive(around, value)
    final = apart(around.estimator_)[0]
    need(not is_own(final) or value == final.n_outputs_, "the number of outputs of estimator_", value)


def _names(around: Any, value: Any) -> None:
    n = around.n_outputs_
    is_list = is_array(value, object, (n,)) and all(isinstance(name, str) for name in value)
    need(is_list and len(set(value)) == n, f"{n} distinct strings, one name for each output", value)


def _container(_: Any, value: object) -> None:
    need(type(value) is str and value in CONTAINERS, f"one of {', '.join(CONTAINERS)}", value)


# Attributes that a fitted estimator may have.
_OPTIONAL: Claims = {"target_names_in_": _names, OUTPUT: _container}


class Around(MetaEstimatorMixin, FittedAsOne):
    """Base class of meta-estimators: parameters, fits, fitted state and files."""

    # The constraints on parameters, and what fitted attributes must be, which a fit sets and files have.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"verbose": ["verbose"]}
    FITTED: ClassVar[Claims] = {"n_outputs_": positive}
    # The attribute that has the fitted estimator, or a list of them.
    _held: ClassVar[str] = "estimator_"
    # Whether the workers of an executor can carry out the fits.
    _fits_apart: ClassVar[bool] = True

    verbose: int
    n_outputs_: int
    target_names_in_: NDArray[np.object_]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    def _validate_params(self) -> None:
        check_parameters(self)

    # --- fit ---------------------------------------------------------------------------------------------------------

    def _run(self, given: Fit) -> Self:
        """Check the parameters, and fit a copy whose attributes become those of this estimator."""
        self._validate_params()
        compare(given.X, given.y)
        with fitted_at_once(self, anew=True) as new:
            new._fit(given)
        return self

    @abstractmethod
    def _fit(self, given: Fit) -> None:
        """Set the attributes of `FITTED`."""

    def _set_outputs(self, target: Target) -> None:
        """Set the attributes that all outputs have."""
        self.n_outputs_ = target.n_outputs
        if target.names is not None:
            self.target_names_in_ = target.names

    # --- fitted state ------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the fitted estimator, the first one of several."""
        return int(self._first("n_features_in_").n_features_in_)

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the fitted estimator, the first one of several, if it has them."""
        names: NDArray[np.object_] = self._first("feature_names_in_").feature_names_in_
        return names

    def _first(self, attribute: str) -> Any:
        """The first fitted estimator. Raises, as there is no such attribute, if there is none."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._members()[0]

    def _members(self) -> list[Any]:
        """The fitted estimators."""
        held = self.__dict__[self._held]
        return held if isinstance(held, list) else [held]

    def __sklearn_is_fitted__(self) -> bool:
        return self._held in self.__dict__

    def _fitted_names(self) -> Set[str]:
        return {*self.FITTED, "target_names_in_"}

    def _prove(self) -> None:
        """Raise for fitted attributes that are not what they must be."""
        name, state = type(self).__name__, self.__dict__
        if missing := sorted(self.FITTED.keys() - state.keys()):
            raise ValueError(f"{name}: attributes must be {sorted(self.FITTED)}, got none of the name {missing[0]}")
        for attribute, claim in (self.FITTED | _OPTIONAL).items():
            if attribute in state:
                try:
                    claim(self, state[attribute])
                except (TypeError, ValueError) as error:
                    raise ValueError(f"{name}: {attribute} {error}") from error

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if self._held in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            proven._prove()
        super().__setstate__(state)

    # --- files -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _each(params: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
        """The parameters with other estimators."""
        return params | {"estimator": change(params["estimator"])}

    @of_one_fit
    def _parts(self) -> tuple[list[tuple[Any, bool]], dict[str, Any], dict[str, Any]]:
        """The fitted estimators, and whether each was frozen; the parameters, and the other fitted attributes.

        In place of a parameter that is one of the frozen estimators there is its place among them.
        """
        members = [(thawed(model), isinstance(model, FrozenEstimator)) for model in self._members()]
        places = {id(inner): place for place, (inner, is_frozen) in enumerate(members) if is_frozen}

        def stored(given: Any) -> Any:
            if isinstance(given, FrozenEstimator) and id(thawed(given)) in places:
                return places[id(thawed(given))]
            return clone(given) if hasattr(given, "fit") else given

        names = (self.FITTED.keys() | (_OPTIONAL.keys() & self.__dict__.keys())) - {self._held}
        return members, self._each(self.get_params(deep=False), stored), {n: self.__dict__[n] for n in names}

    @classmethod
    def _of_parts(cls, members: list[tuple[Any, bool]], params: dict[str, Any], fitted: Mapping[str, Any]) -> Self:
        """The estimator from parts that a file contains, after validation; without members one that is not fitted."""
        models = [FrozenEstimator(inner) if is_frozen else inner for inner, is_frozen in members]

        def given(stored: Any) -> Any:
            if type(stored) is not int:
                return stored
            if not 0 <= stored < len(models):
                raise ValueError(
                    f"{cls.__name__} must have {cls._held} for each frozen parameter, got none for {stored}"
                )
            return models[stored]

        found = cls(**cls._each(params, given))
        found._validate_params()
        if not members:
            return found
        several, names = cls._held == "estimators_", cls.FITTED.keys() - {cls._held}
        if not several and len(models) > 1:
            raise ValueError(f"{cls.__name__} must have one fitted estimator inside, got {len(models)}")
        if names ^ (fitted.keys() - _OPTIONAL.keys()):
            raise ValueError(f"{cls.__name__}: attributes must be {sorted(names)}, got {sorted(fitted)}")
        found.__dict__ |= {cls._held: models if several else models[0], **fitted}
        found._prove()
        return found


class AroundOne(Around):
    """Base class of meta-estimators around one estimator."""

    _masks_y = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [Checked(checks.check_has_fit)],
        "random_state": ["random_state"],
        **Around._parameter_constraints,
    }
    FITTED: ClassVar[Claims] = {"estimator_": _is_there, "n_outputs_": _outputs_of_inside}

    estimator: BaseEstimator | None
    cv: Any
    random_state: RandomState

    estimator_: BaseEstimator

    def _given(self) -> BaseEstimator:
        """The parameter `estimator`, or what stands in its place if it is None."""
        return self.estimator  # type: ignore[return-value]  # classes that accept None have one of their own

    @property
    @of_one_fit
    def feature_importances_(self) -> Float:
        """Importance of each feature for the fitted estimator, or for the last step if that is a pipeline."""
        final: Any = apart(self._first("feature_importances_"))[0]
        return cast(Float, final.feature_importances_)

    def _inside(self) -> BaseEstimator:
        """The estimator whose scores are used."""
        check_fitted(self)
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = checks.tags_of(self._given())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = inner.input_tags.string
        return tags


def thawed(estimator: Any) -> Any:
    """The estimator in `FrozenEstimator`."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def is_own(final: object) -> TypeGuard[BaseModel | Around]:
    """Whether this is an estimator of weald, which knows labels, sparse y and weights of zero."""
    return isinstance(final, BaseModel | Around)


def is_array(value: object, dtype: object, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape
