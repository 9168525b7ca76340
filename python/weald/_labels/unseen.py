"""The base class of the multi-label meta-estimators that learn from scores of unseen samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from weald._input.checks import Float
from weald._input.targets import Target
from weald._labels import label_scores
from weald._labels.around import LabelsAround, without
from weald._parameters.types import MatrixLike
from weald._ranking import best

# Weights of more bits are divided by a power of two.
_MOST_BITS = 400


class LabelsOnUnseen(LabelsAround):
    """Base class of `TunedThresholds` and `CalibratedLabels`."""

    cv: Any
    min_score: float
    random_state: Any

    def _validate_params(self) -> None:
        super()._validate_params()
        best.checked_min_score(self.min_score)

    def _checked(
        self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_mask: MatrixLike | None, label_names: object
    ) -> tuple[Target, Float | None, Any]:
        """Validated y, sample weights, and the source of scores."""
        target, weights = self._checked_labels(X, y, sample_weight, y_mask, label_names)
        cv = label_scores.check_cv_of(self.cv, self.estimator, self.random_state)
        if cv != "given":
            self._check_masks(target)
        return target, weights, cv

    def _unseen(
        self, X: MatrixLike, target: Target, weights: Float | None, cv: object
    ) -> tuple[sparse.csr_array, Float]:
        """Scores of samples by models that were not fitted on them, and sample weights. Sets the attributes for y."""
        floor, name = float(self.min_score), type(self).__name__
        self.estimator_, scores, known = label_scores.unseen_scores(
            self.estimator, X, self._as_given(target), weights, cv, floor, target.mask, name, self.verbose
        )
        self._set_labels(target)
        scores = without(scores, target.mask)
        own = np.where(known, np.ones(len(known)) if weights is None else weights, 0.0)
        # Products of sums of larger weights could overflow. All other constants are tiny beside weights of that size.
        excess = int(np.frexp(own.max(initial=0.0))[1]) - _MOST_BITS
        return scores, np.ldexp(own, -excess) if excess > 0 else own
