"""Checks that a model is a fitted estimator of weald whose trees test single features."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from weald._fit.base import BaseModel
from weald._fit.boosting import BaseBoosting
from weald._input.described import kind_of
from weald.centroid import BaseCentroidForest

__all__ = ["check_tests_features", "check_trees", "fitted"]


def fitted(model: Any) -> Any:
    """A copy of the fitted model, which does not change if the model is fitted again."""
    if not isinstance(model, BaseModel):
        raise TypeError(f"estimator must be a fitted estimator of weald, got {kind_of(model)}")
    check_is_fitted(model)
    return model._twin()


def check_trees(model: BaseModel) -> None:
    check_tests_features(model)
    if isinstance(model, BaseBoosting) and model._weak is not None:
        name = type(model).__name__
        raise ValueError(f"estimator must have trees, got a {name} with estimator=, which has none")


def check_tests_features(model: Any) -> None:
    if isinstance(model, BaseCentroidForest):
        raise TypeError(
            f"estimator must have nodes that test single features, got a {type(model).__name__}; see "
            "weald.inspection.export_centroids, and permutation_importance and "
            "partial_dependence(method='brute') of sklearn.inspection"
        )
