"""Counts of true, predicted and correctly predicted labels, for F1 scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input import targets
from weald._input.checks import Matrix, number, score_weights
from weald._parameters.types import MatrixLike
from weald._ranking import ranks


def counts(
    y_true: MatrixLike | None, y_pred: Matrix, y_weight: MatrixLike | None, sample_weight: object = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each label: the weight of true positives, and that of positives plus that of predicted positives."""
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_pred, of_score="y_pred")
    predicted = predicted_labels(y_pred, labels.shape)
    if mask is not None:
        predicted = ranks.without(predicted, mask)
    rows, (n, d) = ranks.rows_of(predicted), labels.shape
    _, right = ranks.places_in(labels, rows, predicted.indices)
    weights = score_weights(sample_weight, n)

    def count(found: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(found, None if weights is None else weights[rows], minlength=d)

    of_predicted = count(predicted.indices, rows)
    return count(predicted.indices[right], rows[right]), count(labels.indices, ranks.rows_of(labels)) + of_predicted


def f1_score(
    y_true: MatrixLike,
    y_pred: Any,
    y_weight: MatrixLike | None,
    average: str,
    zero_division: object = 0.0,
    sample_weight: object = None,
) -> float:
    """The F1 score of all entries together ("micro"), or the mean of those of labels ("macro").

    Labels without true or predicted entries have the score `zero_division`, and are left out if that is NaN.
    """
    n_right, n_cells = counts(y_true, y_pred, y_weight, sample_weight)
    zero = check_zero_division(zero_division)
    if average == "micro":
        return 2.0 * n_right.sum().item() / n_cells.sum().item() if n_cells.any() else zero
    some = n_cells > 0
    found = np.full(len(n_cells), zero)
    found[some] = 2.0 * n_right[some] / n_cells[some]
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else float("nan")


def predicted_labels(y_pred: Matrix, shape: tuple[int, int]) -> sparse.csr_array:
    if ranks.is_pair(y_pred):
        listed, scores = y_pred
        ranked = ranks.listed(listed, scores, shape)
        rows, places = np.nonzero(ranked >= 0)
        return ranks.pattern(
            sparse.csr_array((np.ones(len(rows)), (rows, ranked[rows, places])), shape=shape), "y_pred"
        )
    predicted: sparse.csr_array = targets.labels(y_pred, what="y_pred", masks=False).original
    if predicted.shape != shape:
        raise ValueError(f"y_pred must have shape {shape}, that of y_true, got {predicted.shape}")
    return predicted


def check_zero_division(value: object) -> float:
    return number("zero_division", value, lambda found: found in (0, 1) or np.isnan(found), "0.0, 1.0 or np.nan")
