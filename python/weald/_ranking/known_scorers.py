"""scikit-learn's scorers by name, for y with unknown values, which their own functions raise an error for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from weald._input import masks, targets
from weald._input.checks import Float, score_weights, shown
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import label_counts, label_means, ranks
from weald._ranking.scorers import scores_of_labels


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
        return KnownScorer(_checked(scoring, estimator))
    if isinstance(scoring, list | tuple | set):
        return {name: scoring_of_known(name, estimator) for name in scoring}
    if isinstance(scoring, dict):
        return {name: scoring_of_known(scorer, estimator) for name, scorer in scoring.items()}
    return scoring


def _checked(name: str, estimator: BaseEstimator) -> str:
    accepted = _OF_LABELS if is_classifier(estimator) else _OF_NUMBERS
    if name not in accepted:
        raise ValueError(
            f"scoring must be one of {sorted(accepted)}, a scorer that supports NaN in y, such as those of "
            f"weald.metrics.make_label_scorer and make_topk_scorer, or None, for y with unknown values, got {shown(name)}"
        )
    return name


class KnownScorer:
    """The scorer of scikit-learn called `name`, of the known values of y alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self, estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The score of `estimator` on samples `X` with targets `y`."""
        score = _OF_NUMBERS[self.name] if self.name in _OF_NUMBERS else _OF_LABELS[self.name]
        return float(score(estimator, X, y, sample_weight))

    def __repr__(self) -> str:
        return f"{self.name} of known values"


def _of_labels(name: str) -> Callable[..., float]:
    def score(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
        scores = scores_of_labels(estimator, X, as_sparse=is_sparse(y), as_probabilities=False)
        found, _ = label_means.score(label_means.MEASURES[name], y, scores, "macro", sample_weight, None)
        return float(found)

    return score


def _accuracy(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
    labels, mask = ranks.known_labels(y, None, "y")
    weights = score_weights(sample_weight, labels.shape[0])
    wrong: Any = labels != ranks.pattern(estimator.predict(X), "y_pred")
    return masks.accuracy(sparse.csr_array(wrong), mask, weights)


def _f1(average: str) -> Callable[..., float]:
    def score(estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, sample_weight: object) -> float:
        return label_counts.f1_score(y, estimator.predict(X), None, average, sample_weight=sample_weight)

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
    "average_precision": _of_labels("average_precision"),
    "f1_macro": _f1("macro"),
    "f1_micro": _f1("micro"),
    "roc_auc": _of_labels("roc_auc"),
}
_OF_NUMBERS: dict[str, Callable[..., float]] = {
    "neg_mean_absolute_error": _error(np.abs),
    "neg_mean_squared_error": _error(np.square),
    "neg_root_mean_squared_error": _error(np.square, root=True),
    "r2": _r2,
}
