"""Scorers of labels for estimators that may be nested, and scikit-learn's scorers for y with unknown values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from weald._input import masks, targets
from weald._input.checks import Float, check_is_instance, count_samples, score_weights, shown
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike, SampleWeight
from weald._ranking import label_measures, ranks
from weald._ranking.outputs import apart, check_names_of_outputs, checked, of_labels


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


@dataclass(eq=False, repr=False)
class LabelScorer:
    """A scorer for scikit-learn by a metric of the scores of all labels, whose unknown entries are left out."""

    metric: Callable[..., float]
    sign: int
    options: dict[str, Any]
    _: KW_ONLY
    of_probabilities: bool

    def __call__(
        self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None
    ) -> float:
        """The score of `estimator` on samples `X` with labels `y`."""
        check_names_of_outputs(estimator, y)
        scores = scores_of_labels(estimator, X, as_sparse=is_sparse(y), as_probabilities=self.of_probabilities)
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.sign * self.metric(y, scores, **self.options, **more)

    def __repr__(self) -> str:
        name = getattr(self.metric, "__name__", repr(self.metric))
        sign = ", greater_is_better=False" if self.sign < 0 else ""
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"make_label_scorer({name}{sign}{options})"


@dataclass(eq=False, repr=False)
class TopkScorer:
    """A scorer for scikit-learn by a metric of the k highest-scoring labels that an estimator predicts."""

    metric: Callable[..., float]
    k: int
    sign: int
    options: dict[str, Any]

    def __call__(self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike) -> float:
        """The score of `estimator` on samples `X` with labels `y`."""
        check_names_of_outputs(estimator, y)
        takes_k = "k" in inspect.signature(self.metric).parameters
        options = {**self.options, "k": self.k} if takes_k else self.options
        return self.sign * self.metric(y, predict_topk(estimator, X, self.k), **options)

    def __repr__(self) -> str:
        name = getattr(self.metric, "__name__", repr(self.metric))
        sign = ", greater_is_better=False" if self.sign < 0 else ""
        options = "".join(f", {key}=..." for key in self.options)
        return f"make_topk_scorer({name}, k={self.k}{sign}{options})"


def has_gaps(y: Any) -> bool:
    """Whether y has unknown values in several columns, or in sparse labels."""
    if isinstance(y, targets.WithGaps):
        return bool(np.isnan(y.data).any())
    if y is None or is_sparse(y) or np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return False
    return masks.of_missing(targets.columns_of(y)) is not None


def scoring_of_known(scoring: Any, estimator: BaseEstimator) -> Any:
    """The argument `scoring` with scorers of known values in place of names; callables and None stay as they are."""
    if isinstance(scoring, str):
        return KnownScorer(_checked_scorer(scoring, estimator))
    if isinstance(scoring, list | tuple | set):
        return {name: scoring_of_known(name, estimator) for name in scoring}
    if isinstance(scoring, dict):
        return {name: scoring_of_known(scorer, estimator) for name, scorer in scoring.items()}
    return scoring


def _checked_scorer(name: str, estimator: BaseEstimator) -> str:
    accepted = _OF_LABELS if is_classifier(estimator) else _OF_NUMBERS
    if name not in accepted:
        raise ValueError(
            f"scoring must be one of {sorted(accepted)}, a scorer that supports NaN in y, such as those of "
            f"weald.metrics.make_label_scorer and make_topk_scorer, or None, for y with unknown values, got {shown(name)}"
        )
    return name


@dataclass(eq=False, repr=False)
class KnownScorer:
    """The scorer of scikit-learn called `name`, of the known values of y alone."""

    name: str

    def __call__(
        self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None
    ) -> float:
        """The score of `estimator` on samples `X` with targets `y`."""
        score = _OF_NUMBERS[self.name] if self.name in _OF_NUMBERS else _OF_LABELS[self.name]
        return float(score(estimator, X, y, sample_weight))

    def __repr__(self) -> str:
        return f"{self.name} of known values"


def _mean_of_labels(name: str) -> Callable[..., float]:
    def score(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
        scores = scores_of_labels(estimator, X, as_sparse=is_sparse(y), as_probabilities=False)
        found, _ = label_measures.score(label_measures.MEASURES[name], y, scores, "macro", sample_weight, None)
        return float(found)

    return score


def _accuracy(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
    labels, mask = ranks.known_labels(y, None, "y")
    weights = score_weights(sample_weight, labels.shape[0])
    wrong: Any = labels != ranks.pattern(estimator.predict(X), "y_pred")
    return masks.accuracy(sparse.csr_array(wrong), mask, weights)


def _f1(average: str) -> Callable[..., float]:
    def score(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
        return label_measures.f1_score(y, estimator.predict(X), None, average, sample_weight=sample_weight)

    return score


def _error(of_residuals: Callable[[Float], Float], *, root: bool = False) -> Callable[..., float]:
    """The negative mean over outputs of the mean error of known values."""

    def score(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
        truth = np.asarray(targets.columns_of(y), dtype=np.float64)
        errors = of_residuals(np.asarray(estimator.predict(X)).reshape(truth.shape) - truth)
        given = score_weights(sample_weight, len(truth))
        weights = np.where(np.isnan(truth), 0.0, 1.0 if given is None else given[:, None])
        sums = weights.sum(axis=0)
        found = (np.where(weights > 0, errors, 0.0) * weights).sum(axis=0)[sums > 0] / sums[sums > 0]
        return -float(np.mean(np.sqrt(found) if root else found)) if len(found) else float("nan")

    return score


def _r2(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
    truth = np.asarray(targets.columns_of(y), dtype=np.float64)
    mask = np.isnan(truth)
    predicted = np.asarray(estimator.predict(X)).reshape(truth.shape)
    return masks.r2(
        np.where(mask, 0.0, truth), predicted, masks.KnownCells(mask), score_weights(sample_weight, len(truth))
    )


_OF_LABELS: dict[str, Callable[..., float]] = {
    "accuracy": _accuracy,
    "average_precision": _mean_of_labels("average_precision"),
    "f1_macro": _f1("macro"),
    "f1_micro": _f1("micro"),
    "roc_auc": _mean_of_labels("roc_auc"),
}
_OF_NUMBERS: dict[str, Callable[..., float]] = {
    "neg_mean_absolute_error": _error(np.abs),
    "neg_mean_squared_error": _error(np.square),
    "neg_root_mean_squared_error": _error(np.square, root=True),
    "r2": _r2,
}
