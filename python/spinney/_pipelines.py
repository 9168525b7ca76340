"""What is inside pipelines and frozen estimators."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def apart(estimator: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and those before, or the estimator and None; frozen ones are looked through."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, Pipeline):
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return estimator.steps[-1][1], before
    return estimator, None
