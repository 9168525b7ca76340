"""Meta-estimators and displays that turn scores of many labels into decisions and calibrated probabilities.

`TunedThresholds` and `CalibratedLabels` work on the scores that `predict_sparse` stores, and create no array of size
n_samples × n_labels unless dense labels or dense predictions are asked for. `LabelHierarchy` and `HierarchicalLabels`
respect a hierarchy of labels, and `LabelReliabilityDisplay` draws calibration curves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, precision_score

from weald._around import unseen
from weald._around.base import Checked, Claims, Fit, is_array, need, number
from weald._around.labels import LabelsAround, LabelsOnUnseen, WithScores, has, n_positive_rows
from weald._fit.base import keep
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, masks, messages, registry, targets
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import StrOptions
from weald._input.targets import LabelFormat as LabelFormat
from weald._input.targets import Target
from weald._inspect.displays import LabelReliabilityDisplay
from weald._labels import calibration
from weald._labels.calibration import METHODS, Maps, Sigmoids
from weald._labels.hierarchy import WEIGHTS, LabelHierarchy
from weald._labels.label_graph import CONSISTENT
from weald._labels.thresholds import Objective, tuned
from weald._parameters.types import LabelNames, MatrixLike, Prediction, RandomState, SampleWeight, YWeight, available_if
from weald._ranking import ranks
from weald._ranking.outputs import apart, of_labels
from weald._rounds.rounds import Progress

__all__ = [
    "CalibratedLabels",
    "HierarchicalLabels",
    "LabelHierarchy",
    "LabelReliabilityDisplay",
    "TunedThresholds",
]


# The least number of samples of an implication that `fit` infers, as in `LabelHierarchy.from_labels`.
_LEAST = 5.0


def _is_hierarchy(around: Any, found: Any) -> None:
    is_one = isinstance(found, LabelHierarchy) and found.n_labels == around.n_outputs_
    need(is_one, f"a LabelHierarchy of {around.n_outputs_} labels", found)


@registry.stored(registry.META_ESTIMATORS, "weald.multilabel")
class HierarchicalLabels(LabelsAround):
    """Multi-label classifier whose scores never rise from a label to those below it, and whose label sets are closed.

    Use it where labels form a hierarchy. It closes the label sets of the training samples, fits an estimator to them,
    and makes the scores that this predicts consistent. A forest predicts consistent probabilities by itself, except for
    labels with unknown entries; boosting and linear models do not. Put it inside `TunedThresholds`, whose thresholds
    then respect the hierarchy. See `docs/hierarchies.md`.

    >>> import weald, numpy as np
    >>> hierarchy, X = weald.multilabel.LabelHierarchy([(1, 0)]), np.random.default_rng(0).random((99, 2))
    >>> weald.multilabel.HierarchicalLabels(weald.LinearClassifier(), hierarchy).fit(X, X > 0.5).predict_proba(X).shape
    (99, 2)

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba` or `decision_function`. A `sklearn.frozen.FrozenEstimator` is not
        refitted: `fit` only checks that it predicts these labels. If it is `TunedThresholds`, its labels are made
        consistent.
    hierarchy : LabelHierarchy or None, default=None
        The hierarchy, with a label for each column of y. None: inferred by `LabelHierarchy.from_labels` with its
        defaults.
    method : {"max", "min", "isotonic"}, default="max"
        How scores are made consistent: "max" raises the score of a label to the largest one below it, "min" lowers it
        to the smallest one above it, and "isotonic" changes scores as little as possible, in the sum of squares.
    not_closed : {"close", "raise"}, default="close"
        What happens in `fit` and `score` if a sample has a label without one above it: "close" adds what is missing,
        and "raise" raises an error that names the sample and the labels.
    label_weight : {"depth", "information_content", "information_accretion"} or None, default=None
        Weights of labels that are passed to the estimator, or to the last step of a pipeline, as its parameter
        `label_weight`: see `LabelHierarchy.label_weight`. None leaves the parameter as it is.
    verbose : int, default=0
        Whether the fit is reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its own.

    Attributes
    ----------
    estimator_, hierarchy_, classes_, n_outputs_, n_features_in_ : estimator, LabelHierarchy, ndarray, int and int
        The estimator, fitted on closed label sets or frozen, the hierarchy, the indices of the labels, and the numbers
        of labels and features.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelsAround._parameter_constraints,
        "hierarchy": [LabelHierarchy, None],
        "method": [StrOptions(set(CONSISTENT))],
        "not_closed": [StrOptions({"close", "raise"})],
        "label_weight": [StrOptions(set(WEIGHTS)), None],
    }
    FITTED: ClassVar[Claims] = {**LabelsAround.FITTED, "hierarchy_": _is_hierarchy}

    hierarchy_: LabelHierarchy

    hierarchy: LabelHierarchy | None
    method: Literal["max", "min", "isotonic"]
    not_closed: Literal["close", "raise"]
    label_weight: Literal["depth", "information_content", "information_accretion"] | None

    def __init__(
        self,
        estimator: BaseEstimator,
        hierarchy: LabelHierarchy | None = None,
        *,
        method: Literal["max", "min", "isotonic"] = "max",
        not_closed: Literal["close", "raise"] = "close",
        label_weight: Literal["depth", "information_content", "information_accretion"] | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
    ) -> Self:
        """Close the label sets, and fit the estimator to them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight, y_weight, label_names : as in the `fit` of the estimator
            Weights, unknown entries and names of the labels. What the hierarchy says about unknown entries becomes
            known.

        Returns
        -------
        self : HierarchicalLabels
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names))

    def _fit(self, given: Fit) -> None:
        given, estimator = self._prepared(given)
        if isinstance(estimator, FrozenEstimator):
            # It raises for samples that it does not accept, and if it predicts another number of labels.
            unseen.scores_at_least(estimator, given.X, 1.0, self.n_outputs_)
        else:
            with Progress(type(self).__name__, "fit", 1, self.verbose) as progress:
                estimator = given.fits.start(estimator, given, lambda: progress(1))()
        self.estimator_ = estimator

    def _without_out_of_bag(self, n_labels: int) -> str | None:
        """What the estimator lacks to have out-of-bag scores."""
        return unseen.without_out_of_bag(self.estimator, n_labels)

    def _fit_out_of_bag(self, given: Fit, min_score: float) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
        """Fit around a forest; return consistent out-of-bag scores of at least `min_score`, and which samples have some."""
        with fitted_at_once(self, anew=True) as new:
            given, estimator = new._prepared(Fit(*given.data, fits=given.fits))
            with Progress(type(self).__name__, "fit", 1, self.verbose) as progress:
                new.estimator_, scores, known = unseen.out_of_bag(estimator, given, new._floor(min_score))
                progress(1)
        return self._at_least(scores, min_score), known

    def _prepared(self, given: Fit) -> tuple[Fit, BaseEstimator]:
        """The fit to closed label sets, and the estimator to fit. Sets the attributes for y."""
        given = self._checked(given)
        given = self._with_target(given, self._with_hierarchy(given.target, given.sample_weight))
        if not isinstance(self.estimator, FrozenEstimator):
            unseen.check_takes_masks(self.estimator, given)
        return given, self._weighted(given.target, given.sample_weight)

    def _with_hierarchy(self, target: targets.Target, weights: Float | None) -> targets.Target:
        """The target with closed label sets. Sets the hierarchy."""
        hierarchy = self.hierarchy
        if hierarchy is None:
            hierarchy = LabelHierarchy._inferred(target, weights, _LEAST, "dag")
        else:
            hierarchy._check_columns(target.n_outputs, target.names, "y")
            if target.names is None and hierarchy.label_names is not None:
                target = replace(target, names=hierarchy.label_names.copy())
        self.hierarchy_ = hierarchy
        labels, mask = self._closed(target)
        return replace(target, original=labels, known=None if mask is None else masks.KnownCells(mask))

    def _closed(self, target: targets.Target, what: str = "y") -> tuple[sparse.csr_array, sparse.csr_array | None]:
        if self.not_closed == "raise":
            self.hierarchy_._check(target.original, target.mask, what)
        return self.hierarchy_._closed(target.original, target.mask)

    def _weighted(self, target: targets.Target, weights: Float | None) -> BaseEstimator:
        """The estimator with the weights of labels, if they are asked for."""
        if self.label_weight is None or isinstance(self.estimator, FrozenEstimator):
            return self.estimator
        estimator = clone(self.estimator)
        final, _ = apart(estimator)
        if "label_weight" not in final.get_params(deep=False):
            raise ValueError(
                f"label_weight must be None for {type(final).__name__}, which has no parameter label_weight, got "
                f"{self.label_weight!r}"
            )
        if self.label_weight == "depth":
            found = self.hierarchy_.label_weight("depth")
        else:
            found = self.hierarchy_._information(target.original, weights, self.label_weight)
        # If all labels are alike, their weights do not matter, but one must be positive.
        final.set_params(label_weight=found if found.any() else np.ones(len(found)))
        return estimator

    # --- predictions -------------------------------------------------------------------------------------------------

    @available_if(has("predict_proba"))
    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Float:
        """Predict consistent probabilities as a dense array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probability that each label is 1, which is never larger than that of a label above it.
        """
        return self._dense(X, "predict_proba")

    @available_if(has("decision_function"))
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Predict consistent scores as a dense array: those of `decision_function` of the estimator, made consistent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The scores, none of which is larger than that of a label above it.
        """
        return self._dense(X, "decision_function")

    def _dense(self, X: MatrixLike, method: str) -> Float:
        check_fitted(self)
        scores = of_labels(self.estimator_, method, X)
        if scores.shape[1] != self.n_outputs_:
            raise ValueError(f"estimator must predict scores of {self.n_outputs_} labels, got {scores.shape[1]}")
        found: Float = self.hierarchy_._consistent(scores, self.method)
        return found

    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict the consistent positive scores of at least `min_score` as a CSR array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        min_score : float, default=0
            Scores below this value, between 0 and 1, are not stored.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            The scores, float64: probabilities, or 1 / (1 + exp(-s)) for scores s of `decision_function` if there are no
            probabilities.
        """
        check_fitted(self)
        return self._scores(X, ranks.checked_min_score(min_score))

    def _scores(self, X: MatrixLike, floor: float) -> sparse.csr_array:
        """Consistent scores of at least `floor`."""
        scores = unseen.scores_at_least(self.estimator_, X, self._floor(floor), self.n_outputs_)
        return self._at_least(scores, floor)

    def _floor(self, floor: float) -> float:
        """The floor of scores that decide about consistent scores of at least `floor`."""
        # With "max" and "min", no score below the floor decides about one above it.
        return 0.0 if self.method == "isotonic" else floor

    def _at_least(self, scores: sparse.csr_array, floor: float) -> sparse.csr_array:
        """Scores of at least `_floor(floor)`, made consistent, without those below the floor."""
        found: sparse.csr_array = self.hierarchy_._consistent(scores.astype(np.float64, copy=False), self.method)
        if (found.data < floor).any():
            found.data[found.data < floor] = 0.0
            found.eliminate_zeros()
        return found

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict closed label sets: the labels whose consistent score is greater than 0.5.

        If the estimator is `TunedThresholds`, the labels that it predicts are made consistent in place of its scores.

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
        final, before = apart(self.estimator_)
        if isinstance(final, LabelsAround) and hasattr(final, "threshold_"):
            labels = final._named(X if before is None else before.transform(X)).astype(np.float64)
            found = self.hierarchy_._consistent(labels, self.method)
        else:
            found = self._scores(X, 0.5)
        named = sparse.csr_array(found > 0.5)
        named.sort_indices()
        return named

    @property
    def _label_hierarchy(self) -> LabelHierarchy:
        """The hierarchy that the scores respect, which thresholds of `TunedThresholds` respect, too."""
        return self.hierarchy_

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        scores: Any = self.decision_function(X) if as_margins else self.predict_sparse(X)
        return self.hierarchy_._k_best(scores, k, marked)

    @of_one_fit
    def score(self, X: Matrix, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None) -> float:
        """Return the fraction of samples for which all labels are predicted correctly, after y is closed.

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
        named, truth, mask, weights = self._judged(X, y, sample_weight, y_weight)
        told = None if mask is None else masks.KnownCells(mask)
        truth, mask = self._closed(targets.Target("labels", None, self.n_outputs_, [], truth, known=told))
        wrong: Matrix = truth != named
        return masks.accuracy(wrong, mask, weights)


def _check_shrinkage(shrinkage: object) -> None:
    checks.number("shrinkage", shrinkage, lambda found: found >= 0, "a number of at least 0, or infinity")


def _are_thresholds(around: Any, found: Any) -> None:
    is_list = is_array(found, np.float64, (around.n_outputs_,)) and not np.isnan(found).any()
    need(is_list, f"a float64 array of length {around.n_outputs_} without NaN, one threshold for each label", found)


def _are_flags(around: Any, found: Any) -> None:
    is_mask = is_array(found, np.bool_, (around.n_outputs_,))
    need(is_mask, f"a bool array of length {around.n_outputs_}, one value for each label", found)


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
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
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
    def score(self, X: Matrix, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None) -> float:
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
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
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
        if self.is_calibrated_.all():
            return unseen.scores_at_least(self.estimator_, X, self._floor(), self.n_outputs_)
        found = unseen.scores_at_least(self.estimator_, X, 0.0, self.n_outputs_)
        found.data[(found.data < self._floor()) & self.is_calibrated_[found.indices]] = 0.0
        found.eliminate_zeros()
        return found

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
    def score(self, X: Matrix, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None) -> float:
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
