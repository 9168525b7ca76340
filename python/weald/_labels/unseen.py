"""The base class of the multi-label meta-estimators that learn from scores of unseen samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._fitted.at_once import of_one_fit
from weald._fitted.fits import Fits
from weald._fitted.proof import check_fitted
from weald._input import checks
from weald._input.checks import Float
from weald._input.targets import Target
from weald._labels import label_scores
from weald._labels.around import LabelsAround, has, without
from weald._parameters.types import MatrixLike, Scores, available_if
from weald._ranking import best, ranks
from weald._ranking.pipelines import apart, transformed
from weald._ranking.scorers import dense_scores

# Weights of more bits are divided by a power of two.
_MOST_BITS = 400


class LabelsOnUnseen(LabelsAround):
    """Base class of `TunedThresholds`, `CalibratedLabels` and `ConformalLabels`."""

    cv: Any
    min_score: float
    random_state: Any

    def _validate_params(self) -> None:
        super()._validate_params()
        best.checked_min_score(self.min_score)
        checks.generator(self.random_state)  # which is checked also where nothing is drawn

    def _checked(
        self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_mask: MatrixLike | None, label_names: object
    ) -> tuple[Target, Float | None, Any]:
        """Validated y, sample weights, and the source of scores."""
        target, weights = self._checked_labels(X, y, sample_weight, y_mask, label_names)
        cv = label_scores.check_cv_of(self.cv, self.estimator, self.random_state, target.original.shape[0])
        label_scores.check_takes_masks(self.estimator, target.mask, cv)
        return target, weights, cv

    def _unseen(
        self, fits: Fits, X: MatrixLike, target: Target, weights: Float | None, cv: object, groups: object = None
    ) -> tuple[sparse.csr_array, Float]:
        """Scores of samples by models that were not fitted on them, and sample weights. Sets the attributes for y."""
        floor, name = float(self.min_score), type(self).__name__
        self.estimator_, scores, known = label_scores.unseen_scores(
            fits, self.estimator, X, self._as_given(target), weights, cv, floor, target, name, self.verbose, groups
        )
        self._set_labels(target)
        scores = without(scores, target.mask)
        own = np.where(known, np.ones(len(known)) if weights is None else weights, 0.0)
        # Products of sums of larger weights could overflow. All other constants are tiny beside weights of that size.
        excess = int(np.frexp(own.max(initial=0.0))[1]) - _MOST_BITS
        return scores, np.ldexp(own, -excess) if excess > 0 else own


class WithScores(LabelsOnUnseen):
    """Those that predict the scores of the estimator as they are."""

    @available_if(has("predict_proba"))
    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Float:
        """Predict the probabilities of the fitted estimator, unchanged.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probability that each label is 1.
        """
        check_fitted(self)
        return dense_scores(self.estimator_, X, "predict_proba")

    @available_if(has("decision_function"))
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Predict the scores of the fitted estimator. Thresholds refer to probabilities, not to these scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The result of `decision_function` of `estimator_`.
        """
        check_fitted(self)
        return dense_scores(self.estimator_, X, "decision_function")

    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict the positive scores of at least `min_score` as a CSR array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        min_score : float, default=0
            Scores below this value, between 0 and 1, are not stored.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            The scores, as of `RandomForestClassifier.predict_sparse`.
        """
        check_fitted(self)
        floor = best.checked_min_score(min_score)
        return label_scores.scores_at_least(self.estimator_, X, floor, self.n_outputs_)

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        final, before = apart(self.estimator_)
        if hasattr(final, "predict_topk"):
            # A list of labels has been made a single row.
            is_list = marked is not None and marked.shape[0] < checks.count_samples(X)
            exclude = marked.indices if is_list else marked
            asked: Scores = "margin" if as_margins else "probability"
            X = transformed([] if before is None else [before], X)
            indices, found = final.predict_topk(X, k, scores=asked, exclude=exclude)
            return np.where(indices < 0, ranks.NONE, indices).astype(np.uint32), found
        scores: Any = self.decision_function(X) if as_margins else self.predict_sparse(X)
        return ranks.k_best(scores, k, marked)
