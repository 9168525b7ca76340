"""The base class of the multi-label meta-estimators that learn from scores of unseen samples."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._fit.linear import BaseLinear
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
from weald._ranking.outputs import of_labels
from weald._ranking.pipelines import apart, transformed

# Binary digits of whole numbers that float64 holds, with one to spare, and its least power of two.
_DIGITS = 52
_LEAST_POWER = -1074
# Weights of more bits are divided by a power of two.
_MOST_BITS = 400


class LabelsOnUnseen(LabelsAround):
    """Base class of `TunedThresholds`, `CalibratedLabels` and `ConformalLabels`."""

    cv: Any
    min_score: float | Literal["auto"]
    random_state: Any

    # The floor of scores with min_score="auto", where y is sparse and the estimator scores all labels.
    _floor_of_sparse: ClassVar[float] = 0.01

    def _validate_params(self) -> None:
        super()._validate_params()
        if not isinstance(self.min_score, str):
            best.checked_min_score(self.min_score)
        elif self.min_score != "auto":
            raise ValueError(f"min_score must be 'auto' or a number from 0 to 1, got {self.min_score!r}")
        checks.generator(self.random_state)  # which is checked also where nothing is drawn

    def _checked(
        self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_mask: MatrixLike | None, label_names: object
    ) -> tuple[Target, Float | None, Any]:
        """Validated y, sample weights, and the source of scores."""
        target, weights = self._checked_labels(X, y, sample_weight, y_mask, label_names)
        n, n_labels = target.original.shape
        cv = label_scores.check_cv_of(self.cv, self.estimator, self.random_state, n, weights, n_labels)
        label_scores.check_takes_masks(self.estimator, target.mask, cv)
        return target, weights, cv

    def _floor(self) -> float:
        """Scores below this are not stored. It depends on y, which must have been seen."""
        if not isinstance(self.min_score, str):
            return float(self.min_score)
        # Trees of labels have scores of the labels alone that the search reaches.
        finds_all = self._label_format.container is not None and not _searches(self.estimator_, self.n_outputs_)
        return self._floor_of_sparse if finds_all else 0.0

    def _unseen(
        self, fits: Fits, X: MatrixLike, target: Target, weights: Float | None, cv: object, groups: object = None
    ) -> tuple[sparse.csr_array, Float]:
        """Scores of samples by models that were not fitted on them, and sample weights. Sets the attributes for y."""
        self._set_labels(target)
        self.estimator_ = self.estimator  # not fitted yet
        floor, name = self._floor(), type(self).__name__
        self.estimator_, scores, known = label_scores.unseen_scores(
            fits, self.estimator, X, self._as_given(target), weights, cv, floor, target, name, self.verbose, groups
        )
        scores = without(scores, target.mask)
        own = np.where(known, np.ones(len(known)) if weights is None else weights, 0.0)
        # Products of sums of larger weights could overflow. All other constants are tiny beside weights of that size.
        excess = int(np.frexp(own.max(initial=0.0))[1]) - _MOST_BITS
        own = np.ldexp(own, -excess) if excess > 0 else own
        return scores, own if weights is None else _whole(own, scores, target.original, target.mask)


def _searches(estimator: Any, n_labels: int) -> bool:
    """Whether scores are those of a tree of labels, fitted or not."""
    while True:
        final = apart(estimator)[0]
        if not hasattr(final, "_inside"):
            return isinstance(final, BaseLinear) and final._strategy_for(n_labels) == "tree"
        estimator = getattr(final, "estimator_", final.estimator)


def _whole(weights: Float, *cells: sparse.csr_array | None) -> Float:
    """Weights as multiples of one power of two, such that their sums over some cells are exact in any order.

    Each sample counts once for each of its cells, and once by itself. Positive weights stay positive.
    """
    times = 1 + sum(np.diff(part.indptr).astype(np.float64) for part in cells if part is not None)
    total = math.fsum(weights * times)
    unit = max(int(np.frexp(total)[1]) - _DIGITS, _LEAST_POWER)
    found = np.ldexp(np.rint(np.ldexp(weights, -unit)), unit)
    return np.where(weights > 0, np.maximum(found, np.ldexp(1.0, unit)), 0.0)


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
        return of_labels(self.estimator_, "predict_proba", X)

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
        return of_labels(self.estimator_, "decision_function", X)

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
