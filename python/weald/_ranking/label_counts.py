"""Counts of true, predicted and correctly predicted labels, for F1 scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input import targets
from weald._input.checks import Matrix, number
from weald._parameters.types import MatrixLike
from weald._ranking import ranks


def counts(
    y_true: MatrixLike | None, y_pred: Matrix, y_weight: MatrixLike | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each label: the number of true positives, and the number of positives plus predicted positives."""
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_pred, of_score="y_pred")
    predicted = predicted_labels(y_pred, labels.shape)
    if mask is not None:
        predicted = ranks.without(predicted, mask)
    _, right = ranks.places_in(labels, ranks.rows_of(predicted), predicted.indices)
    d = labels.shape[1]
    n_right = np.bincount(predicted.indices[right], minlength=d)
    return n_right, np.bincount(labels.indices, minlength=d) + np.bincount(predicted.indices, minlength=d)


def f1_score(
    y_true: MatrixLike, y_pred: Any, y_weight: MatrixLike | None, average: str, zero_division: object = 0.0
) -> float:
    """The F1 score of all entries together ("micro"), or the mean of those of labels ("macro").

    Labels without true or predicted entries have the score `zero_division`, and are left out if that is NaN.
    """
    n_right, n_cells = counts(y_true, y_pred, y_weight)
    zero = check_zero_division(zero_division)
    if average == "micro":
        return 2.0 * int(n_right.sum()) / int(n_cells.sum()) if n_cells.any() else zero
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
