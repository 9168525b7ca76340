"""The parts of pipelines and frozen estimators."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def apart(estimator: Any) -> tuple[Any, Any]:
    """The last step of a pipeline and the steps before it, or the estimator and None, without `FrozenEstimator`."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, Pipeline):
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return estimator.steps[-1][1], before
    return estimator, None
