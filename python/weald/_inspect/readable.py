"""Checks that a model is a fitted estimator of weald whose trees test single features."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._fit.base import BaseModel
from weald._input.messages import kind_of
from weald._ranking.outputs import apart, innermost

__all__ = ["check_tests_features", "check_trees", "fitted", "named_twin"]

_Model = TypeVar("_Model", bound=BaseModel)


def fitted(estimator: BaseEstimator) -> tuple[BaseModel, list[Any]]:
    """A copy of the fitted model, which does not change if it is fitted again, and the steps before it.

    The model is that inside meta-estimators of weald and at the end of pipelines.
    """
    model, before = innermost(estimator)
    if not isinstance(model, BaseModel):
        inside = "" if model is estimator else f", around {kind_of(model)}"
        raise TypeError(f"estimator must be a fitted estimator of weald, got {kind_of(estimator)}{inside}")
    return named_twin(model, estimator), before


def named_twin(model: _Model, estimator: BaseEstimator) -> _Model:
    """A copy of the fitted model inside `estimator`, with the names of outputs that the latter knows."""
    check_is_fitted(model)
    twin = model._twin()
    names = getattr(apart(estimator)[0], "target_names_in_", None)
    if names is not None:
        twin.target_names_in_ = names
    return twin


def check_trees(model: BaseModel) -> None:
    check_tests_features(model)
    if not model._has_trees:
        name = type(model).__name__
        raise ValueError(f"estimator must have trees, got a {name} with estimator=, which has none")


def check_tests_features(model: BaseModel) -> None:
    if not model._tests_features:
        own = f"weald.inspection.{model._inspected_by}, and " if model._inspected_by else ""
        raise TypeError(
            f"estimator must have nodes that test single features, got a {type(model).__name__}; see "
            f"{own}weald.inspection.permutation_importance, or for dense X partial_dependence(method='brute') of "
            "sklearn.inspection"
        )
