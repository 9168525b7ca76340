"""Meta-estimators and displays that turn scores of many labels into decisions and calibrated probabilities.

`TunedThresholds` and `CalibratedLabels` work on the scores that `predict_sparse` stores, and create no array of size
n_samples × n_labels unless dense labels or dense predictions are asked for. `LabelHierarchy` and `HierarchicalLabels`
respect a hierarchy of labels, and `LabelReliabilityDisplay` draws calibration curves.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import f1_score, precision_score

from weald._around import unseen
from weald._around.base import Checked, Claims, Fit, is_array, need, number
from weald._around.hierarchical import HierarchicalLabels
from weald._around.labels import LabelsOnUnseen, WithScores, n_positive_rows
from weald._fit.base import keep
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, masks, messages
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import StrOptions
from weald._input.targets import LabelFormat as LabelFormat
from weald._input.targets import Target
from weald._inspect.displays import LabelReliabilityDisplay
from weald._labels import calibration
from weald._labels.calibration import METHODS, Maps, Sigmoids
from weald._labels.hierarchy import LabelHierarchy
from weald._labels.thresholds import Objective, tuned
from weald._parameters.types import MatrixLike, Prediction, RandomState
from weald._ranking import ranks
from weald._ranking.outputs import apart

__all__ = [
    "CalibratedLabels",
    "HierarchicalLabels",
    "LabelHierarchy",
    "LabelReliabilityDisplay",
    "TunedThresholds",
]


def _check_shrinkage(shrinkage: object) -> None:
    checks.number("shrinkage", shrinkage, lambda found: found >= 0, "a number of at least 0, or infinity")


def _are_thresholds(around: Any, found: Any) -> None:
    is_list = is_array(found, np.float64, (around.n_outputs_,)) and not np.isnan(found).any()
    need(is_list, f"a float64 array of length {around.n_outputs_} without NaN, one threshold for each label", found)


def _are_flags(around: Any, found: Any) -> None:
    is_mask = is_array(found, np.bool_, (around.n_outputs_,))
    need(is_mask, f"a bool array of length {around.n_outputs_}, one value for each label", found)


def _are_maps(around: Any, found: Any) -> None:
    calibration.prove(found, around.is_calibrated_)


class TunedThresholds(WithScores):
    """Multi-label classifier with one decision threshold per label, tuned for an objective.

    Use it where a fixed threshold of 0.5 predicts too few or too many labels. Thresholds are chosen on scores of
    samples that the estimator was not fitted on; that of a rare label is shrunk toward what is best for all labels
    together. Those of `HierarchicalLabels` respect its hierarchy. Tuning takes O(m log m) time, and some hundred bytes
    for each of m stored scores. It is scikit-learn's `TunedThresholdClassifierCV` for label matrices: see
    `docs/tagging.md#how-many-tags-a-text-gets`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> weald.multilabel.TunedThresholds(weald.RandomForestClassifier(50)).fit(X, X > 0.9).predict([[0.99, 0.1]])
    array([[ True, False]])

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba`, or else with `decision_function`, whose scores s are converted by
        1 / (1 + exp(-s)). A `sklearn.frozen.FrozenEstimator` is not refitted: `fit` needs samples that it was not
        fitted on.
    objective : str, default="f1"
        What is maximized: "f1", of each label; "macro_f1", the same with a `common_threshold_` for the mean;
        "micro_f1", of all entries; "precision>=.9" (or another fraction), true positives of each label with that
        precision; "label_count", a threshold for as many labels as in y, "label_count=2.5" (or another number) for that
        many per sample.
    shrinkage : float, default=50
        Number of additional positive entries, distributed as in all labels together, that are added to each label. With
        0 each label is tuned on its own. It has no effect with "label_count". It was chosen on seven data sets, see
        `benches/defaults`.
    toward : {"share", "threshold"}, default="share"
        The quantity that rare labels are shrunk toward: the number of predicted entries for each positive entry, which
        suits models that give smaller scores to rare labels; or the threshold itself.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores for tuning are computed: "oob", by the trees of a forest that were not grown on the sample, or
        the folds of a `LinearClassifier`; by fits to other folds, of which a number holds out rows; None, "oob" where
        it is possible and leaves enough samples out, and otherwise 5. See
        `docs/intervals.md#where-the-calibration-samples-come-from`.
    min_score : float or "auto", default="auto"
        Scores below this value are not stored, and no label is predicted by them. "auto" is 0 if y is dense or the
        estimator is a `LinearClassifier` with trees, and 0.01 otherwise. `fit` warns if a smaller value would predict more
        labels that are asked for.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffling of the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_, classes_, n_outputs_, n_features_in_ : estimator, ndarray, int and int
        The estimator, fitted on all samples or frozen, the indices of the labels, and the numbers of labels and features.
    threshold_ : ndarray of shape (n_labels,)
        The threshold of each label, from which on it is predicted; infinite for labels that are never predicted.
    common_threshold_ : float
        The best single threshold for all labels.
    tuned_score_, n_labels_named_ : float
        The value of the objective on the scores that thresholds were chosen on, which is optimistic for other samples,
        and the mean number of labels per sample that they predict there.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WithScores._parameter_constraints,
        "objective": [Checked(Objective.parsed)],
        "shrinkage": [Checked(_check_shrinkage)],
        "toward": [StrOptions({"share", "threshold"})],
    }
    FITTED: ClassVar[Claims] = {
        **WithScores.FITTED,
        "threshold_": _are_thresholds,
        "common_threshold_": number,
        "tuned_score_": number,
        "n_labels_named_": number,
    }

    objective: str
    shrinkage: float
    toward: Literal["share", "threshold"]

    threshold_: Float
    common_threshold_: float
    tuned_score_: float
    n_labels_named_: float

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        objective: str = "f1",
        shrinkage: float = 50.0,
        toward: Literal["share", "threshold"] = "share",
        cv: object = None,
        min_score: float | Literal["auto"] = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and tune the thresholds on scores of samples that it was not fitted on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for what follows, where a sample of weight 2 counts as two. Samples of weight
            zero do not count, but they are assigned to folds as well.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown entries of y, besides those that are NaN, for the fit of the estimator, too.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.

        Returns
        -------
        self : TunedThresholds
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names))

    def _fit(self, given: Fit) -> None:
        given = self._seen(self._checked(given))
        scores, weights = self._unseen(given)
        objective, shrinkage, floor = Objective.parsed(self.objective), float(self.shrinkage), self._floor()
        # Thresholds of consistent scores respect the same hierarchy.
        hierarchy = getattr(apart(self.estimator_)[0], "_label_hierarchy", None)
        ordered = None if hierarchy is None else hierarchy._ordered
        labels, mask = given.target.original, given.target.mask
        found = tuned(scores, labels, weights, objective, shrinkage, self.toward, floor, mask, ordered)
        self.threshold_, self.common_threshold_ = found.of_labels, found.common
        self.tuned_score_, self.n_labels_named_ = found.score, found.n_named
        if found.at_floor:
            lower = f"a min_score below {floor:g} may predict more" if floor else "it has no further ones"
            messages.warn(
                f"objective={self.objective!r} takes all stored scores of the estimator, {found.n_named:.3g} label(s) per "
                f"sample, and not all that it asks for: {lower}."
            )

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the labels whose score is at least their threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_labels)
            The labels, 0 or 1, with the dtype of the y passed to `fit`; sparse if that y was sparse.
        """
        return self._built(self._named(X))

    def _named(self, X: MatrixLike) -> sparse.csr_array:
        check_fitted(self)
        # If all thresholds are infinite, a floor of 1 asks for the fewest scores.
        least = min(1.0, float(self.threshold_.min()))
        scores = unseen.scores_at_least(self.estimator_, X, least, self.n_outputs_)
        named = scores.data >= self.threshold_[scores.indices]
        found = sparse.csr_array((named, scores.indices, scores.indptr), shape=scores.shape)
        found.eliminate_zeros()
        return found

    @of_one_fit
    def score(
        self, X: Matrix, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_weight: MatrixLike | None = None
    ) -> float:
        """Score the predicted labels by the metric of the objective.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values, of which those that are unknown are left out.

        Returns
        -------
        float
            The mean F1 score over labels for "f1" and "macro_f1", 0 for a label that is neither true nor predicted; the
            precision of all predicted entries for "precision>=…"; and the F1 score of all entries for "micro_f1" and
            "label_count".
        """
        named, truth, _, weights = self._compared(X, y, sample_weight, y_weight)
        rules: dict[str, Any] = {"sample_weight": weights, "zero_division": 0.0}
        kind = Objective.parsed(self.objective).kind
        if kind == "precision":
            return float(precision_score(truth, named, average="micro", **rules))
        return float(f1_score(truth, named, average="macro" if kind in ("f1", "macro_f1") else "micro", **rules))


class CalibratedLabels(LabelsOnUnseen):
    """Multi-label classifier whose probabilities are calibrated separately for each label.

    Use it where probabilities are used as numbers. The calibration is fitted on scores of samples that the estimator
    was not fitted on, in O(m log m) time for m stored scores. It is scikit-learn's `CalibratedClassifierCV` with
    `ensemble=False` for label matrices. Labels without a score have the probability that is calibrated for the score 0.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> weald.multilabel.CalibratedLabels(weald.RandomForestClassifier(50)).fit(X, X > 0.5).predict([[0.9, 0.1]])
    array([[ True, False]])

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba`, or else with `decision_function`, whose scores s are converted by
        1 / (1 + exp(-s)). A `sklearn.frozen.FrozenEstimator` is not refitted: `fit` needs samples that it was not
        fitted on.
    method : {"isotonic", "sigmoid"}, default="sigmoid"
        The calibration function of each label: a non-decreasing function, linear between the scores seen in `fit`; or 1
        / (1 + exp(-(a s + b))) of a score s, fitted to the targets of Platt (1999), which also suits rare labels.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores for calibration are computed, as in `TunedThresholds`.
    min_positives : int, default=5
        Minimum number of samples that must have a label for it to be calibrated.
    too_few : {"raise", "keep"}, default="raise"
        What happens if labels have fewer than `min_positives` samples: "raise" raises an error with their names, "keep"
        leaves their scores uncalibrated.
    min_score : float or "auto", default="auto"
        Scores below this value count as zero, which is calibrated as any other score. "auto" is 0 if y is dense or the
        estimator fits trees of labels, and 0.01 otherwise.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffling of the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_, classes_, n_outputs_, n_features_in_ : estimator, ndarray, int and int
        The estimator, fitted on all samples or frozen, the indices of the labels, and the numbers of labels and features.
    is_calibrated_ : bool ndarray of shape (n_labels,)
        Whether each label is calibrated.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelsOnUnseen._parameter_constraints,
        "method": [StrOptions(set(METHODS))],
        "min_positives": [Checked(lambda found: checks.integer("min_positives", found, 1))],
        "too_few": [StrOptions({"raise", "keep"})],
    }
    FITTED: ClassVar[Claims] = {
        **LabelsOnUnseen.FITTED,
        "is_calibrated_": _are_flags,
        "_maps": lambda around, found: calibration.prove(found, around.is_calibrated_),
    }

    method: Literal["isotonic", "sigmoid"]
    min_positives: int
    too_few: Literal["raise", "keep"]

    is_calibrated_: NDArray[np.bool_]
    _maps: Maps | Sigmoids

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        method: Literal["isotonic", "sigmoid"] = "sigmoid",
        cv: object = None,
        min_positives: int = 5,
        too_few: Literal["raise", "keep"] = "raise",
        min_score: float | Literal["auto"] = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and calibrate its scores on samples that it was not fitted on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight, y_weight, label_names : as in `TunedThresholds.fit`
            Weights, unknown entries and names of the labels, for the fit and the calibration.

        Returns
        -------
        self : CalibratedLabels
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names))

    def _fit(self, given: Fit) -> None:
        given = self._seen(self._checked(given))
        labels = given.target.original
        if self.too_few == "raise":
            self._check_positives(given.target, given.sample_weight)
        scores, weights = self._unseen(given)
        kept = n_positive_rows(labels, weights) < int(self.min_positives)
        self.is_calibrated_ = ~kept
        if self.method == "sigmoid":
            messages.of_tiny_weights(weights, {"the prior of method='sigmoid'": calibration.LEAST_WEIGHT})
        self._maps = calibration.calibrated(scores, labels, weights, self.method, kept, given.target.mask)

    def _check_positives(self, target: Target, weights: Float | None) -> None:
        n_positive = n_positive_rows(target.original, np.ones(target.original.shape[0]) if weights is None else weights)
        few = np.flatnonzero(n_positive < self.min_positives)
        if len(few):
            names = few[:5].tolist() if target.names is None else target.names[few[:5]].tolist()
            more = ", …" if len(few) > 5 else ""
            raise ValueError(
                f"y must have at least min_positives={self.min_positives} samples for each label, but {len(few)} "
                f"label(s) have fewer: {', '.join(map(str, names))}{more}; use more samples, a smaller "
                "min_positives, or too_few='keep', which leaves their scores uncalibrated"
            )

    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict calibrated probabilities of at least `min_score` as a CSR array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        min_score : float, default=0
            Probabilities below this value, between 0 and 1, are not stored. If y was sparse, labels with a score below
            the parameter `min_score` before calibration are only stored with a probability of at least 0.01.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            Calibrated probabilities, float64.
        """
        check_fitted(self)
        floor = ranks.checked_min_score(min_score)
        # Where y is sparse, most labels are far below this, and stay apart.
        least = 0.0 if self._label_format.container is None else max(self._floor(), self._floor_of_sparse)
        found = self._probabilities(X, max(least, floor))
        if floor > 0:
            found.data[found.data < floor] = 0.0
            found.eliminate_zeros()
        return found

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Float:
        """Predict calibrated probabilities as a dense array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probabilities of all labels.
        """
        check_fitted(self)
        found: Float = self._probabilities(X, 0.0).toarray()
        return found

    def _probabilities(self, X: MatrixLike, least: float) -> sparse.csr_array:
        """Probabilities by stored scores, and those of labels without a stored score that are at least this."""
        scores, rest = self._stored(X), self._maps.at_zero()
        return calibration.with_rest(self._maps(scores), scores, rest, np.flatnonzero(rest >= least))

    def _stored(self, X: MatrixLike) -> sparse.csr_array:
        return unseen.scores_at_least(self.estimator_, X, self._floor(), self.n_outputs_)

    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Compute scores of the labels, which are positive for predicted labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The calibrated probabilities minus one half.
        """
        found: Float = self.predict_proba(X) - 0.5
        return found

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the labels whose calibrated probability is greater than 0.5.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_labels)
            The labels, 0 or 1, with the dtype of the y passed to `fit`; sparse if that y was sparse.
        """
        return self._built(self._named(X))

    def _named(self, X: MatrixLike) -> sparse.csr_array:
        return sparse.csr_array(self.predict_sparse(X, min_score=0.5) > 0.5)

    @of_one_fit
    def score(
        self, X: Matrix, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_weight: MatrixLike | None = None
    ) -> float:
        """Return the fraction of samples for which all labels are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values. If some are unknown, they are left out, and the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction of samples all of whose known labels are right.
        """
        named, truth, mask, weights = self._compared(X, y, sample_weight, y_weight)
        return masks.accuracy(truth != named, mask, weights)

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        if as_margins:
            return ranks.k_best(self.decision_function(X), k, marked)
        scores, rest = self._stored(X), self._maps.at_zero()
        stored = self._maps(scores)
        indices, found = ranks.k_best(stored, k, marked)
        # The samples with fewer labels of a probability above those of labels without a stored score.
        few = np.flatnonzero(found[:, -1] <= rest.max())
        if len(few) and rest.any():
            some = marked if marked is None or marked.shape[0] < len(found) else marked[few]
            n_more = k + np.diff(scores[few].indptr).max() + (0 if some is None else np.diff(some.indptr).max())
            often = np.sort(np.argsort(-rest, kind="stable")[:n_more])
            of_few = calibration.with_rest(stored[few], scores[few], rest, often)
            indices[few], found[few] = ranks.k_best(of_few, k, some)
        return indices, found
