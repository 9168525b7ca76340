"""The parts of pipelines, frozen estimators and meta-estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weald._input.checks import Matrix
from weald._parameters.types import MatrixLike


def apart(estimator: BaseEstimator) -> tuple[BaseEstimator, Any]:
    """The last step of a pipeline and the steps before it, or the estimator and None, without `FrozenEstimator`."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, Pipeline):
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return estimator.steps[-1][1], before
    return estimator, None


def innermost(estimator: BaseEstimator) -> tuple[Any, list[Any]]:
    """The model inside meta-estimators of weald, pipelines and frozen estimators, and the pipelines of the steps before.

    Meta-estimators say by a method `_inside` what they are around.
    """
    before: list[Any] = []
    while True:
        estimator, steps = apart(estimator)
        if steps is not None:
            before.append(steps)
        if isinstance(estimator, type) or not hasattr(estimator, "_inside"):
            return estimator, before
        estimator = estimator._inside()


def transformed(before: list[Any], X: MatrixLike) -> Matrix:
    """X after the steps before a model."""
    for steps in before:
        X = steps.transform(X)
    return X


def names_of_features(model: BaseEstimator, before: list[Any]) -> list[str] | None:
    """The names of the features of a model: those of its X, or those that the step before it gives them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and before and hasattr(before[-1], "get_feature_names_out"):
        try:
            names = before[-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step has no names
            return None
    return None if names is None else [str(name) for name in names]
