"""Scorers for the highest-scoring labels, for estimators that may be nested in meta-estimators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import ranks
from weald._ranking.pipelines import apart


def predict_topk(estimator: BaseEstimator, X: MatrixLike, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The highest-scoring labels and their scores, of shape (n_samples, k) and best first.

    Pipelines, searches and frozen estimators are supported. For estimators without `predict_topk`, all scores are
    computed.
    """
    estimator, before = apart(estimator)
    if before is not None:
        return predict_topk(estimator, before.transform(X), k)
    if hasattr(estimator, "predict_topk"):
        indices, scores = estimator.predict_topk(X, k)
        return indices, scores
    if hasattr(estimator, "best_estimator_"):
        return predict_topk(estimator.best_estimator_, X, k)
    scores = _all_scores(estimator, X)
    ranked = ranks.first(scores, k, scores.shape, None)
    return ranked, np.take_along_axis(scores, ranked, axis=1)


def _all_scores(estimator: BaseEstimator, X: MatrixLike) -> NDArray[np.float64]:
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores = getattr(estimator, method)(X)
            if is_sparse(scores):
                scores = scores.toarray()
            if not isinstance(scores, list) and np.ndim(scores) == 2:
                return np.asarray(scores, dtype=np.float64)
    raise TypeError(
        f"{type(estimator).__name__} has no predict_topk, and neither a predict_proba nor a decision_function that "
        "returns one array (n_samples, n_labels)"
    )


class TopkScorer:
    """A scorer for scikit-learn by a metric of the k highest-scoring labels that an estimator predicts."""

    def __init__(self, metric: Callable[..., float], k: int, sign: int, options: dict[str, Any]) -> None:
        self.metric = metric
        self.k = k
        self.sign = sign
        self.options = options

    def __call__(self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike) -> float:
        """The score of `estimator` on samples `X` with labels `y`."""
        takes_k = "k" in inspect.signature(self.metric).parameters
        options = {**self.options, "k": self.k} if takes_k else self.options
        return self.sign * self.metric(y, predict_topk(estimator, X, self.k), **options)

    def __repr__(self) -> str:
        name = getattr(self.metric, "__name__", repr(self.metric))
        sign = ", greater_is_better=False" if self.sign < 0 else ""
        options = "".join(f", {key}=..." for key in self.options)
        return f"make_topk_scorer({name}, k={self.k}{sign}{options})"
