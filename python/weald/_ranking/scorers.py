"""Scorers for the highest-scoring labels, for estimators that may be nested in meta-estimators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from weald._input.checks import check_is_instance, count_samples
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import ranks
from weald._ranking.outputs import checked, of_labels
from weald._ranking.pipelines import apart


def predict_topk(estimator: BaseEstimator, X: MatrixLike, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The highest-scoring labels and their scores, of shape (n_samples, k) and best first.

    Pipelines, searches and frozen estimators are supported. For estimators without `predict_topk`, all scores are
    computed.
    """
    check_is_instance(estimator)
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
                return checked(estimator, method, scores, count_samples(X), is_proba=method == "predict_proba")
    raise TypeError(
        f"estimator must have scores of labels: {type(estimator).__name__} has no predict_topk, and neither a "
        "predict_proba nor a decision_function that returns one array (n_samples, n_labels)"
    )


def scores_of_labels(estimator: BaseEstimator, X: MatrixLike, *, as_sparse: bool, as_probabilities: bool) -> Any:
    """Scores of all labels: probabilities, or without `as_probabilities` margins of classifiers that have no others.

    With `as_sparse`, the probabilities of trees and forests are CSR, with the same values.
    """
    check_is_instance(estimator)
    final, before = apart(estimator)
    if before is not None:
        X = before.transform(X)
        return scores_of_labels(final, X, as_sparse=as_sparse, as_probabilities=as_probabilities)
    if hasattr(final, "best_estimator_"):
        best_one = final.best_estimator_
        return scores_of_labels(best_one, X, as_sparse=as_sparse, as_probabilities=as_probabilities)
    if hasattr(final, "predict_proba"):
        # Models with margins have scores of all labels, and meta-estimators leave small ones out of sparse ones.
        is_sparser = as_sparse and not hasattr(final, "decision_function") and not hasattr(final, "_inside")
        if is_sparser and hasattr(final, "predict_sparse"):
            return final.predict_sparse(X)
        return of_labels(final, "predict_proba", X)
    if hasattr(final, "decision_function") and not as_probabilities:
        return of_labels(final, "decision_function", X)
    methods = "predict_proba" if as_probabilities else "predict_proba or decision_function"
    raise TypeError(f"scoring requires {methods}, which {type(final).__name__} does not have")


class LabelScorer:
    """A scorer for scikit-learn by a metric of the scores of all labels, whose unknown entries are left out."""

    def __init__(
        self, metric: Callable[..., float], sign: int, options: dict[str, Any], *, of_probabilities: bool
    ) -> None:
        self.metric = metric
        self.sign = sign
        self.options = options
        self.of_probabilities = of_probabilities

    def __call__(
        self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The score of `estimator` on samples `X` with labels `y`."""
        scores = scores_of_labels(estimator, X, as_sparse=is_sparse(y), as_probabilities=self.of_probabilities)
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.sign * self.metric(y, scores, **self.options, **more)

    def __repr__(self) -> str:
        name = getattr(self.metric, "__name__", repr(self.metric))
        sign = ", greater_is_better=False" if self.sign < 0 else ""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"make_label_scorer({name}{sign}{options})"


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
