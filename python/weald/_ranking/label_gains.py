"""Gains of the highest-scoring labels, for the ranking metrics of `weald.metrics`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald._input.checks import Float, check_real, named
from weald._parameters.types import MatrixLike
from weald._ranking import ranks


class Ranking:
    """The known labels, the k highest-scoring labels of each sample, and which of these are true."""

    labels: sparse.csr_array
    mask: sparse.csr_array | None
    # Of shape (n_samples, k).
    ranked: NDArray[np.int64]
    hits: NDArray[np.bool_]

    def __init__(self, y_true: MatrixLike | None, y_score: object, k: Any, y_weight: MatrixLike | None) -> None:
        self.labels, self.mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
        self.ranked = ranks.first(y_score, k, self.labels.shape, self.mask)
        self.hits = ranks.are_in(self.labels, self.ranked)

    @property
    def discounts(self) -> Float:
        """The gain of a true label at each rank."""
        return np.asarray(1.0 / np.log2(np.arange(2, self.hits.shape[1] + 2)))

    @property
    def ideal(self) -> Float:
        """The largest possible gain of each sample if all of its labels have the same weight."""
        sums = np.concatenate([[0.0], np.cumsum(self.discounts)])
        return np.asarray(sums[np.minimum(np.diff(self.labels.indptr), self.hits.shape[1])])

    def gains(self, propensities: object) -> tuple[Float, Float]:
        """The propensity-weighted gain at each rank, and at each rank of the best possible ranking."""
        weights = 1.0 / _check_propensities(propensities, self.labels.shape[1])
        by_weight = sparse.csr_array(
            (weights[self.labels.indices], self.labels.indices, self.labels.indptr), shape=self.labels.shape
        )
        best = ranks.padded(ranks.k_best(by_weight, self.hits.shape[1], zeros=False)[0])
        return np.where(self.hits, weights[self.ranked], 0.0), np.where(best >= 0, weights[best], 0.0)


def _check_propensities(values: Any, n_labels: int) -> Float:
    check_real(values, "propensities")
    with named("propensities"):
        values = check_array(values, ensure_2d=False, dtype=np.float64, input_name="propensities")
    if values.shape != (n_labels,):
        raise ValueError(f"propensities must have shape ({n_labels},), one value for each label, got {values.shape}")
    if values.min() <= 0 or values.max() > 1:
        raise ValueError(
            f"propensities must be greater than 0 and at most 1, got values from {values.min():g} to "
            f"{values.max():g}; for inverse propensities w pass 1 / w"
        )
    return np.asarray(values)


def mean_ratio(parts: Float, wholes: Float) -> float:
    """The mean of parts / wholes over samples with a positive whole, or NaN if there are none."""
    rows = wholes > 0
    return float((parts[rows] / wholes[rows]).mean()) if rows.any() else float("nan")


def ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else float("nan")
