"""The base classes of multi-label meta-estimators such as `TunedThresholds` and `HierarchicalLabels`."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils import Tags

from weald._around import unseen
from weald._around.base import AroundOne, Checked, Claims, Fit, is_own, need
from weald._fit.base import BestLabels, NamedOutputs
from weald._fit.predictions import BaseClassifier, known_target
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, elementary, masks, targets
from weald._input.checks import Float
from weald._input.sklearn_private import StrOptions
from weald._input.targets import LabelFormat, Target, label_classes
from weald._parameters.types import MatrixLike, Prediction, Scores, YWeight, available_if
from weald._ranking import ranks
from weald._ranking.outputs import apart, of_labels, transformed
from weald.linear import BaseLinear

# Binary digits of whole numbers that float64 holds, with one to spare, and its least power of two.
_DIGITS = 52
_LEAST_POWER = -1074
# Weights of more bits are divided by a power of two.
_MOST_BITS = 400


def has(method: str) -> Any:
    def check(estimator: LabelsAround) -> bool:
        inner = getattr(estimator, "estimator_", estimator.estimator)
        final, _ = apart(inner)
        getattr(final, method)
        return True

    return check


def has_probabilities(estimator: BaseEstimator) -> bool:
    return hasattr(estimator, "predict_proba")


def _check_classifier(estimator: BaseEstimator) -> None:
    unseen.check_scores(estimator)
    checks.check_has_fit(estimator)


def _is_classifier(_: Any, inner: Any) -> None:
    final = apart(inner)[0]
    need(is_classifier(inner) and (not is_own(final) or hasattr(final, "n_outputs_")), "a fitted classifier", inner)


def _is_format(_: Any, form: Any) -> None:
    need(is_label_format(form), "a format of labels", form)


class LabelsAround(BestLabels, NamedOutputs, ClassifierMixin, AroundOne):
    """Base class of multi-label meta-estimators: validation of y, and model files."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AroundOne._parameter_constraints,
        "estimator": [Checked(_check_classifier)],
    }
    FITTED: ClassVar[Claims] = {**AroundOne.FITTED, "estimator_": _is_classifier, "_label_format": _is_format}

    estimator: BaseEstimator

    _label_format: LabelFormat

    @property
    @of_one_fit
    def classes_(self) -> NDArray[np.int64]:
        """The indices of the labels."""
        self._first("classes_")
        return label_classes(self.n_outputs_)

    def _checked(self, given: Fit) -> Fit:
        """The arguments of a fit after their checks. Sets the attributes for y."""
        checks.check_is_given(given.y, type(self).__name__)
        n = checks.count_samples(given.X)
        weights = checks.check_weights(given.sample_weight, n)
        target = targets.labels(given.y, n, weights, y_weight=given.y_weight, each_output=True)
        target = targets.with_label_names(target, given.label_names, given.y_weight)
        unseen.check_names(self.estimator, target.names)
        weights = masks.weights_of_known(target.known, weights, target.names)
        if not target.original.nnz:
            raise ValueError("y must have at least one label in a sample of positive weight, got none")
        return self._with_target(replace(given, sample_weight=weights), target)

    def _with_target(self, given: Fit, target: Target) -> Fit:
        """The arguments of a fit to this y. Sets its attributes."""
        form = target.label_format
        assert form is not None
        self._label_format = form
        self._set_outputs(target)
        # Other estimators than those of weald may not support sparse y, and get y as it was passed.
        is_sparse = isinstance(apart(self.estimator)[0], BaseClassifier) or form.container
        y = (target.original if is_sparse else target.original.toarray()).astype(form.dtype)
        return replace(given, y=y, y_weight=target.known, target=target)

    @abstractmethod
    def _named(self, X: MatrixLike) -> sparse.csr_array:
        """The labels that are predicted, as CSR."""

    def _compared(self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_weight: YWeight) -> Any:
        """What `_judged` returns, with the known labels among those that are predicted."""
        named, truth, mask, weights = self._judged(X, y, sample_weight, y_weight)
        return without(named, mask), truth, mask, weights

    def _judged(self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_weight: YWeight) -> Any:
        """The labels that are predicted, those that are true, the pattern of unknown ones, and sample weights."""
        named = self._named(X)
        weights, y, y_weight, named = masks.scored(sample_weight, named.shape[0], y=y, y_weight=y_weight, named=named)
        name = type(self).__name__
        truth, mask = known_target(self).read_plain(y, named.shape[0], name, "scores of labels", y_weight)
        return named, truth, mask, weights

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

    def _built(self, named: sparse.csr_array) -> Prediction:
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


def _check_floor(floor: object) -> None:
    checks.number("min_score", floor, lambda found: 0 <= found <= 1, "'auto' or a number from 0 to 1")


class LabelsOnUnseen(LabelsAround):
    """Base class of `TunedThresholds`, `CalibratedLabels` and `ConformalLabels`, which learn from scores of unseen samples."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelsAround._parameter_constraints,
        "min_score": [StrOptions({"auto"}), Checked(_check_floor)],
    }

    min_score: float | Literal["auto"]

    # The floor of scores with min_score="auto", where y is sparse and the estimator scores all labels.
    _floor_of_sparse: ClassVar[float] = 0.01

    def _seen(self, given: Fit) -> Fit:
        """The same with the source of scores, after a check that the estimator fits to such y."""
        n, n_labels = given.y.shape
        refused = unseen.without_out_of_bag(self.estimator, n_labels)
        given = replace(given, cv=unseen.check_cv_of(self, n, given.sample_weight, refused))
        unseen.check_takes_masks(self.estimator, given)
        return given

    def _floor(self) -> float:
        """Scores below this are not stored. It depends on y, which must have been seen."""
        if not isinstance(self.min_score, str):
            return float(self.min_score)
        # Trees of labels have scores of the labels alone that the search reaches.
        estimator = getattr(self, "estimator_", self.estimator)
        finds_all = self._label_format.container is not None and not _searches(estimator, self.n_outputs_)
        return self._floor_of_sparse if finds_all else 0.0

    def _unseen(self, given: Fit) -> tuple[sparse.csr_array, Float]:
        """Fit the estimator. Returns scores of samples by models that were not fitted on them, and sample weights."""
        target, weights, floor = given.target, given.sample_weight, self._floor()
        read = partial(unseen.scores_at_least, floor=floor, n_labels=target.n_outputs)
        oob = partial(unseen.fit_out_of_bag, floor=floor)
        self.estimator_, scores, known = unseen.unseen(self, given, read, unseen.stacked, oob)
        scores = without(scores, target.mask)
        own = np.where(known, np.ones(len(known)) if weights is None else weights, 0.0)
        # Products of sums of larger weights could overflow. All other constants are tiny beside weights of that size.
        excess = int(np.frexp(own.max(initial=0.0))[1]) - _MOST_BITS
        own = np.ldexp(own, -excess) if excess > 0 else own
        return scores, own if weights is None else _whole(own, scores, target.original, target.mask)


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
        floor = ranks.checked_min_score(min_score)
        return unseen.scores_at_least(self.estimator_, X, floor, self.n_outputs_)

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


def _searches(estimator: Any, n_labels: int) -> bool:
    """Whether scores are those of a tree of labels, fitted or not."""
    while True:
        final: Any = apart(estimator)[0]
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


def without(cells: sparse.csr_array, mask: sparse.csr_array | None) -> sparse.csr_array:
    """The stored entries that are not in the pattern `mask`, if there is one."""
    return cells if mask is None else ranks.without(cells, mask)


def n_positive_rows(truth: sparse.csr_array, weights: Float) -> NDArray[np.int64]:
    """For each label, the number of samples of positive weight that have it."""
    rows = np.repeat(weights > 0, np.diff(truth.indptr))
    return np.bincount(truth.indices, rows, minlength=truth.shape[1]).astype(np.int64)
