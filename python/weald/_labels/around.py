"""The base class of multi-label meta-estimators such as `TunedThresholds` and `HierarchicalLabels`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils import Tags

from weald._fit.named_outputs import NamedLabels, NamedOutputs
from weald._fit.predictions import BaseClassifier
from weald._fitted.around import Around, Need, is_meta_estimator
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, elementary, masks, targets
from weald._input.checks import Float
from weald._input.described import described
from weald._input.targets import LabelFormat, Target, label_classes
from weald._labels import label_scores
from weald._parameters.types import MatrixLike, Scores, available_if
from weald._ranking import best, ranks
from weald._ranking.pipelines import apart
from weald._rounds.progress import check_verbose


def has(method: str) -> Any:
    def check(estimator: BaseEstimator) -> bool:
        inner = getattr(estimator, "estimator_", estimator.estimator)
        final, _ = apart(inner)
        getattr(final, method)
        return True

    return check


def has_probabilities(estimator: BaseEstimator) -> bool:
    return hasattr(estimator, "predict_proba")


class LabelsAround(NamedLabels, NamedOutputs, ClassifierMixin, Around):  # type: ignore[misc]
    """Base class of multi-label meta-estimators: validation of y, and model files."""

    verbose: int

    classes_: NDArray[np.int64]
    _label_format: LabelFormat

    def _validate_params(self) -> None:
        label_scores.check_scores(self.estimator)
        checks.check_has_fit(self.estimator)
        check_verbose(self.verbose)

    def _checked_labels(
        self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_mask: MatrixLike | None, label_names: object
    ) -> tuple[Target, Float | None]:
        """Validated y and sample weights."""
        checks.check_is_given(y, type(self).__name__)
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        target = targets.labels(y, n, weights, y_mask=y_mask, each_output=True)
        target = targets.with_label_names(target, label_names, y_mask)
        label_scores.check_names(self.estimator, target.names)
        weights = masks.weights_of_known(target.mask, weights, target.names)
        if not target.original.nnz:
            raise ValueError("y must have at least one label in a sample of positive weight, got none")
        return target, weights

    def _as_given(self, target: Target) -> Any:
        """The labels for the fit of the estimator."""
        form = target.label_format
        assert form is not None
        # Other estimators than those of weald may not support sparse y, and get y as it was passed.
        is_sparse = isinstance(apart(self.estimator)[0], BaseClassifier) or form.container
        return (target.original if is_sparse else target.original.toarray()).astype(form.dtype)

    def _set_labels(self, target: Target) -> None:
        """Set the attributes for y."""
        assert target.label_format is not None
        self._label_format = target.label_format
        self.n_outputs_ = target.n_outputs
        self.classes_ = label_classes(target.n_outputs)
        if target.names is not None:
            self.target_names_in_ = target.names

    def _read(self, y: MatrixLike | None, y_mask: MatrixLike | None, n_samples: int) -> tuple[sparse.csr_array, Any]:
        """The known labels of other samples, and the pattern of unknown ones."""
        names = getattr(self, "target_names_in_", None)
        target = Target("labels", None, self.n_outputs_, [], None, self._label_format, names)
        return target.read(y, n_samples, type(self).__name__, y_mask=y_mask)

    # --- predictions of all of them ----------------------------------------------------------------------------------

    @available_if(has_probabilities)
    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Float:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The logarithms of the result of `predict_proba`.
        """
        return elementary.log(self.predict_proba(X))

    @of_one_fit
    def predict_topk(
        self,
        X: MatrixLike,
        k: int,
        *,
        scores: Scores = "auto",
        min_score: float | None = None,
        exclude: MatrixLike | None = None,
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` highest-scoring labels of each sample. Thresholds are not used.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        k : int
            The number of labels per sample, from 1 to the number of labels.
        scores : {"auto", "probability", "margin"}, default="auto"
            The scores that are returned: those of `predict_proba` or of `decision_function`, which for the first of two
            classes is the negative one of the second. "auto" are probabilities if there are any.
        min_score : float or None, default=None
            Labels with a lower score, in the unit of the scores, are not returned. None returns all.
        exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
            Labels that are not returned: the non-zero entries of a sparse matrix, or a list of labels for all samples.
            For one output of classes, positions in `classes_`.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            Indices of labels, or positions in `classes_`, in decreasing order of the score; of equal ones, the lower
            index comes first. If `min_score` and `exclude` leave fewer than `k` for a sample, the last places are -1.
        scores : float64 ndarray of shape (n_samples, k)
            Their scores. Where the index is -1, the probability 0 or the margin minus infinity.
        """
        check_fitted(self)
        own = (hasattr(self, "predict_proba"), hasattr(self, "decision_function"))
        as_margins = best.are_margins(scores, *own, type(self).__name__)
        k, floor = best.checked_k(k, self.n_outputs_), best.checked_floor(min_score, as_margins)
        marked = best.pattern(exclude, checks.count_samples(X), self.n_outputs_)
        indices, found = self._k_best(X, k, marked, as_margins=as_margins)
        return best.ranked(indices, found, floor, are_margins=as_margins)

    @abstractmethod
    def _k_best(self, X: MatrixLike, k: int, marked: object, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        """The `k` best labels of samples, without the marked ones, and their scores."""

    def _built(self, named: sparse.csr_array) -> BaseEstimator:
        """Labels in the form of y: sparse or dense, and of its dtype."""
        form = self._label_format
        labels: Any = named if form.container is not None else named.toarray()
        return form.build(labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    # --- files -------------------------------------------------------------------------------------------------------

    _of_all = ("n_outputs_", "_label_format")

    def _fitted_names(self) -> Set[str]:
        return super()._fitted_names() | {"classes_"}

    def _prove_inner(self, need: Need, inner: BaseEstimator, final: Any, fitted: dict[str, Any]) -> None:
        is_own = isinstance(final, BaseClassifier) or is_meta_estimator(final)
        is_fitted = is_classifier(inner) and (not is_own or hasattr(final, "n_outputs_"))
        need(is_fitted, "estimator_", f"must be a fitted classifier, got {described(inner)}")
        n_labels, form = fitted["n_outputs_"], fitted["_label_format"]
        is_number = type(n_labels) is int and n_labels > 0
        need(is_number, "n_outputs_", f"must be a positive integer, got {described(n_labels)}")
        fits = not is_own or n_labels == final.n_outputs_
        need(fits, "n_outputs_", f"must be the number of labels of estimator_, got {described(n_labels)}")
        need(is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}")
        self.classes_ = label_classes(n_labels)


def without(cells: sparse.csr_array, mask: sparse.csr_array | None) -> sparse.csr_array:
    """The stored entries that are not in the pattern `mask`, if there is one."""
    return cells if mask is None else ranks.without(cells, mask)


def n_positive_rows(truth: sparse.csr_array, weights: Float) -> NDArray[np.int64]:
    """For each label, the number of samples of positive weight that have it."""
    rows = np.repeat(weights > 0, np.diff(truth.indptr))
    return np.bincount(truth.indices, rows, minlength=truth.shape[1]).astype(np.int64)
