"""The base class of meta-estimators: attributes of the model that they are around, and model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence, Set
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags

from weald._fitted.at_once import FittedAsOne, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, registry
from weald._input.checks import Float
from weald._input.described import described
from weald._input.frames import CONTAINERS, OUTPUT
from weald._ranking.pipelines import apart

# Checks a condition, an attribute and a message.
Need = Callable[[Any, str, str], None]

# Attributes that a fitted estimator may have.
_OPTIONAL = {"target_names_in_", OUTPUT}


class Around(MetaEstimatorMixin, FittedAsOne, BaseEstimator):  # type: ignore[misc]
    """Base class of meta-estimators: what they know of the estimator that they are around, and model files."""

    _masks_y = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    estimator: BaseEstimator | None
    estimator_: BaseEstimator
    n_outputs_: int

    def _given(self) -> BaseEstimator:
        """The parameter `estimator`, or what stands in its place if it is None."""
        return self.estimator

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the fitted estimator."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted")
        n_features: int = self.estimator_.n_features_in_
        return n_features

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the fitted estimator, if it has them."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no feature_names_in_ before it is fitted")
        names: NDArray[np.object_] = self.estimator_.feature_names_in_
        return names

    @property
    @of_one_fit
    def feature_importances_(self) -> Float:
        """Importance of each feature for the fitted estimator, or for the last step if that is a pipeline."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no feature_importances_ before it is fitted")
        importances: Float = apart(self.estimator_)[0].feature_importances_
        return importances

    def _inside(self) -> BaseEstimator:
        """The estimator whose scores are used."""
        check_fitted(self)
        return self.estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = checks.tags_of(self._given())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = inner.input_tags.string
        return tags

    # --- files -------------------------------------------------------------------------------------------------------

    # Fitted attributes that are saved in files: of all such classes, and of the class itself.
    _of_all: ClassVar[tuple[str, ...]] = ("n_outputs_",)
    _fitted: ClassVar[tuple[str, ...]]

    def _fitted_names(self) -> Set[str]:
        return {"estimator_", "target_names_in_", *self._of_all, *self._fitted}

    @abstractmethod
    def _prove_inner(self, need: Need, inner: BaseEstimator, final: Any, fitted: dict[str, Any]) -> None:
        """Validate the fitted estimator, whose last step is `final`, and the attributes of all such classes."""

    @abstractmethod
    def _prove(self, need: Need) -> None:
        """Validate the fitted attributes of the class; `need` takes a condition, an attribute and a message."""

    @of_one_fit
    def _parts(self) -> tuple[Any, bool, dict[str, Any], dict[str, Any]]:
        """The fitted inner estimator, whether it was frozen, the parameters, and the fitted attributes."""
        inner, params = self.estimator_, self.get_params(deep=False)
        is_frozen = isinstance(inner, FrozenEstimator)
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        estimator = params.pop("estimator")
        if not is_frozen:
            params["estimator"] = None if estimator is None else clone(estimator)
        fitted = {name: getattr(self, name) for name in (*self._of_all, *self._fitted)}
        fitted |= {name: self.__dict__[name] for name in _OPTIONAL if name in self.__dict__}
        return inner, is_frozen, params, fitted

    def _put_together(self, inner: BaseEstimator, is_frozen: bool, fitted: dict[str, Any]) -> None:
        """Set the attributes from the result of `_parts` that a file contains, after validation."""

        def need(holds: object, attribute: str, why: str) -> None:
            if not holds:
                raise ValueError(f"{type(self).__name__}: {attribute} {why}")

        names = {*self._of_all, *self._fitted}
        wrong = sorted(names ^ (fitted.keys() - _OPTIONAL))
        need(not wrong, "attributes", f"must be {sorted(names)}, got {sorted(fitted)}")
        n_outputs = fitted["n_outputs_"]
        final, _ = apart(inner)
        self._prove_inner(need, inner, final, fitted)
        need(
            type(n_outputs) is int and n_outputs > 0,
            "n_outputs_",
            f"must be a positive integer, got {described(n_outputs)}",
        )
        if "target_names_in_" in fitted:
            prove_names(need, "target_names_in_", fitted["target_names_in_"], n_outputs)
        if OUTPUT in fitted:
            container = fitted[OUTPUT]
            is_known = type(container) is str and container in CONTAINERS
            need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(container)}")
        self.estimator_ = FrozenEstimator(inner) if is_frozen else inner
        self.__dict__.update(fitted)
        self._prove(need)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if "estimator_" in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            inner, is_frozen, _, fitted = proven._parts()
            proven._put_together(inner, is_frozen, fitted)
        super().__setstate__(state)


def is_meta_estimator(estimator: object) -> bool:
    """Whether this is a meta-estimator of weald."""
    return registry.META_ESTIMATORS.get(type(estimator).__name__) is type(estimator)


def prove_names(need: Need, attribute: str, names: Sequence[str], expected: int) -> None:
    """Check that the names of labels are distinct strings, one for each label."""
    is_list = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (expected,)
    are_strings = is_list and all(isinstance(name, str) for name in names)
    need(are_strings, attribute, f"must have {expected} strings, one name for each label, got {described(names)}")
    need(len(set(names)) == len(names), attribute, "must have distinct names, got a name twice")


def is_array(value: object, dtype: object, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape
