"""Meta-estimators and displays that turn scores of many labels into decisions and calibrated probabilities.

Labels may be dense or sparse. Everything here works on the scores that `predict_sparse` stores, and creates no array of
size n_samples × n_labels unless dense labels or dense predictions are asked for.

`TunedThresholds`
    A classifier that predicts the labels whose scores reach a threshold, with thresholds tuned for an objective.
`CalibratedLabels`
    A classifier whose probabilities are calibrated separately for each label.
`LabelHierarchy`
    A directed acyclic graph of labels: closed label sets, consistent scores, weights of labels.
`HierarchicalLabels`
    A classifier whose scores and label sets respect a hierarchy.
`LabelReliabilityDisplay`
    Calibration curves of multi-label probabilities.
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
from weald._input import checks, masks, warned
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import StrOptions
from weald._input.targets import LabelFormat, Target
from weald._inspect.reliability_display import LabelReliabilityDisplay
from weald._labels import calibration
from weald._labels.calibration import METHODS, Maps, Sigmoids
from weald._labels.hierarchy import LabelHierarchy
from weald._labels.thresholds import Objective, tuned
from weald._parameters.types import MatrixLike, Prediction, RandomState
from weald._ranking import best, ranks
from weald._ranking.pipelines import apart

__all__ = [
    "CalibratedLabels",
    "HierarchicalLabels",
    "LabelFormat",
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

    The thresholds are chosen on scores of samples that the scoring model was not fitted on: out-of-bag scores,
    cross-validated scores, or scores of held-out samples if the estimator is frozen. The threshold of a frequent label
    is mostly determined by its own scores; that of a rare label is shrunk toward what is best for all labels together.
    This is `sklearn.model_selection.TunedThresholdClassifierCV` for label matrices.

    If the estimator is `HierarchicalLabels`, or a pipeline that ends in it, the thresholds respect its hierarchy, so that
    the predicted label sets are closed: each threshold is raised to those of the labels above, or each is lowered to those
    of the labels below, whichever has the larger `tuned_score_`. For "precision>=.9" they are always raised.

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba` or `decision_function`. Scores s of `decision_function` are only
        used if there is no `predict_proba`, and are converted by 1 / (1 + exp(-s)). An estimator in
        `sklearn.frozen.FrozenEstimator` is not refitted; `fit` must then be called with samples that it was not fitted
        on.
    objective : str, default="f1"
        The objective that thresholds are tuned for:

        - "f1" maximizes the F1 score of each label;
        - "macro_f1" does the same, except that `common_threshold_` maximizes the mean F1 score over labels;
        - "micro_f1" maximizes the F1 score of all entries together;
        - "precision>=.9" (or another fraction) maximizes the number of true positives of each label, subject to a
          precision of at least that value. A label for which no threshold reaches it is never predicted;
        - "label_count" uses one threshold for all labels, the lowest with which no more labels are predicted than there
          are in y. "label_count=2.5" (or another number) allows that many labels per sample.
    shrinkage : float, default=50
        Strength of the shrinkage of thresholds of rare labels: the number of additional positive entries, distributed
        as in all labels together, that are added to each label. With 0 each label is tuned on its own. It has no effect
        with "label_count". The default was chosen on seven data sets, see `benches/defaults`.
    toward : {"share", "threshold"}, default="share"
        The quantity that rare labels are shrunk toward. "share" is the number of predicted entries for each positive
        entry. "threshold" is the threshold itself, and with `shrinkage=numpy.inf` all labels have the same. "share"
        suits most models, since they give smaller scores to rare labels.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores for tuning are computed:

        - "oob" uses out-of-bag scores: the trees of a forest with `bootstrap=True` that were not grown on the sample.
          Of equal samples, each is also scored by trees that were grown on another: pass one, with their weight. It needs no
          additional fits. A `LinearClassifier` has fitted models to two of three folds to choose `C` and to calibrate itself,
          and these score the third; with more than some 20,000 samples or 2,048 labels up to three fits are added. If the
          estimator is the last step of a pipeline, the other steps were fitted on the sample nevertheless;
        - an integer is the number of folds, which hold out rows (see `docs/determinism.md`);
        - a cross-validation generator is used as it is;
        - None uses "oob" for `LinearClassifier` and for forests with `bootstrap=True`, but with whole weights that leave a sample
          out of less than a tenth of the bootstraps, from 2.4 on average on; and 5 folds otherwise.

        It has no effect if the estimator is frozen. `C` and `features` of a `LinearClassifier` are chosen once, by the fit to
        all samples, and the fits to folds take them.
    min_score : float or "auto", default="auto"
        Scores below this value are not stored, and no label is predicted by them. With 0 all scores that are not zero
        are stored, which for estimators other than trees and forests usually is every entry of a dense matrix. "auto" is 0 if
        y is dense or the estimator is a `LabelTreeClassifier`, and 0.01 otherwise. `fit` warns if a smaller value would
        predict more of the labels that the objective asks for.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffling of the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted on all samples, or the frozen estimator.
    threshold_ : ndarray of shape (n_labels,)
        The threshold of each label. A label is predicted if its score is at least its threshold. It is infinite for
        labels that are never predicted.
    common_threshold_ : float
        The best single threshold for all labels, among all thresholds: for "f1" and "micro_f1" the one with the largest
        F1 score of all entries together, for "macro_f1" the largest mean F1 score over labels, for "precision>=.9" the
        most true positives with that precision of all predicted entries, and for "label_count" the only one.
    tuned_score_ : float
        The value of the objective on the scores that the thresholds were chosen on, which is optimistic for other
        samples: the mean F1 score over labels, the F1 score of all entries, the precision of all predicted entries, or
        the number of predicted labels per sample.
    n_labels_named_ : float
        The mean number of labels per sample that the thresholds predict on these scores.
    classes_ : ndarray
        The indices of the labels, as in `weald.RandomForestClassifier`.
    n_outputs_ : int
        The number of labels.
    n_features_in_ : int
        The number of features of the fitted estimator.

    See Also
    --------
    CalibratedLabels : Calibrates probabilities separately for each label.

    Notes
    -----
    In addition to the fits, tuning takes O(m log m) time for m stored scores. It is vectorized, and needs a few hundred
    bytes of memory per stored score.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.multilabel import TunedThresholds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> Y = sparse.csr_array(X @ rng.normal(size=(20, 30)) > 6)
    >>> forest = weald.RandomForestClassifier(50, random_state=0)
    >>> tuned = TunedThresholds(forest, objective="micro_f1").fit(X[:200], Y[:200])
    >>> tuned.score(X[200:], Y[200:]) > TunedThresholds(forest, objective="label_count=.1").fit(X, Y).n_labels_named_
    True
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
        y_mask: MatrixLike | None = None,
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
            Sample weights for the fit and for the objective. Samples of weight zero do not count, but they are assigned
            to folds as well.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. The mask is passed to the `fit` of
            the estimator, and thresholds are tuned on the known entries. Rates per sample (`n_labels_named_` and the
            limit of "label_count") then count as one sample as many known entries as there are labels.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.

        Returns
        -------
        self : TunedThresholds
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid. The classifier is left unchanged.
        TypeError
            If `estimator` is a class or predicts no scores. The classifier is left unchanged.
        """
        return self._run(Fit(X, y, sample_weight, y_mask, label_names))

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
            warned.warn(
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
        self, X: Matrix, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Score the predicted labels by the metric of the objective.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            True labels, 0 or 1.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. They are left out.

        Returns
        -------
        float
            The mean F1 score over labels for "f1" and "macro_f1", in which a label that is neither true nor predicted
            for any sample has 0; the precision of all predicted entries for "precision>=…"; and the F1 score of all
            entries for "micro_f1" and "label_count".
        """
        named, truth, _, weights = self._compared(X, y, sample_weight, y_mask)
        rules: dict[str, Any] = {"sample_weight": weights, "zero_division": 0.0}
        kind = Objective.parsed(self.objective).kind
        if kind == "precision":
            return float(precision_score(truth, named, average="micro", **rules))
        return float(f1_score(truth, named, average="macro" if kind in ("f1", "macro_f1") else "micro", **rules))


class CalibratedLabels(LabelsOnUnseen):
    """Multi-label classifier whose probabilities are calibrated separately for each label.

    The calibration is fitted on scores of samples that the scoring model was not fitted on. This is
    `sklearn.calibration.CalibratedClassifierCV` with `ensemble=False` for label matrices. Labels that the estimator has no
    score for have the probability that is calibrated for the score 0, and not 0: those of labels that a search does not reach,
    for example.

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba` or `decision_function`. Scores s of `decision_function` are only
        used if there is no `predict_proba`, and are converted by 1 / (1 + exp(-s)). An estimator in
        `sklearn.frozen.FrozenEstimator` is not refitted; `fit` must then be called with samples that it was not fitted
        on.
    method : {"isotonic", "sigmoid"}, default="sigmoid"
        The calibration function of each label:

        - "isotonic" is a non-decreasing function of the score, with linear interpolation between the scores seen
          in `fit`;
        - "sigmoid" is 1 / (1 + exp(-(a s + b))) of a score s, fitted to the targets of Platt (1999). It has only two
          parameters per label, which also suits rare labels.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores for calibration are computed, as in `TunedThresholds`.
    min_positives : int, default=5
        Minimum number of samples that must have a label for it to be calibrated.
    too_few : {"raise", "keep"}, default="raise"
        What happens if labels have fewer than `min_positives` samples: "raise" raises an error with their names, "keep"
        leaves their scores uncalibrated.
    min_score : float or "auto", default="auto"
        Scores below this value count as zero, which is calibrated as any other score. "auto" is 0 if y is dense or the
        estimator is a `LabelTreeClassifier`, and 0.01 otherwise.
    random_state : int, RandomState instance or None, default=None
        Controls the shuffling of the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted on all samples, or the frozen estimator.
    is_calibrated_ : bool ndarray of shape (n_labels,)
        Whether each label is calibrated.
    classes_ : ndarray
        The indices of the labels, as in `weald.RandomForestClassifier`.
    n_outputs_ : int
        The number of labels.
    n_features_in_ : int
        The number of features of the fitted estimator.

    See Also
    --------
    TunedThresholds : Tunes one decision threshold per label.

    Notes
    -----
    Entries that are not stored enter the calibration of each label with score zero, together and in constant time. In
    addition to the fits, calibration takes O(m log m) time for m stored scores.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> from weald.multilabel import CalibratedLabels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> Y = (X @ rng.normal(size=(20, 5)) > 3).astype(int)
    >>> forest = weald.RandomForestClassifier(50, random_state=0)
    >>> calibrated = CalibratedLabels(forest).fit(X[:200], Y[:200])
    >>> after = ((calibrated.predict_proba(X[200:]) - Y[200:]) ** 2).mean()
    >>> before = ((calibrated.estimator_.predict_proba(X[200:]) - Y[200:]) ** 2).mean()
    >>> bool(after < before)
    True
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
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and calibrate its scores on samples that it was not fitted on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for the calibration. Samples of weight zero do not count, but they are
            assigned to folds as well.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. The mask is passed to the `fit` of
            the estimator, and each label is calibrated on its known entries.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.

        Returns
        -------
        self : CalibratedLabels
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or if labels have fewer than `min_positives` samples and `too_few`
            is "raise". The classifier is left unchanged.
        TypeError
            If `estimator` is a class or predicts no scores. The classifier is left unchanged.
        """
        return self._run(Fit(X, y, sample_weight, y_mask, label_names))

    def _fit(self, given: Fit) -> None:
        given = self._seen(self._checked(given))
        labels = given.target.original
        if self.too_few == "raise":
            self._check_positives(given.target, given.sample_weight)
        scores, weights = self._unseen(given)
        kept = n_positive_rows(labels, weights) < int(self.min_positives)
        self.is_calibrated_ = ~kept
        if self.method == "sigmoid":
            warned.of_tiny_weights(weights, {"the prior of method='sigmoid'": calibration.LEAST_WEIGHT})
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
            Probabilities below this value, between 0 and 1, are not stored. If y was sparse, the labels of a sample whose score
            before calibration is below the parameter `min_score` of the classifier are only stored with a probability of at
            least 0.01, or of `min_score` if that is larger.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            Calibrated probabilities, float64.
        """
        check_fitted(self)
        floor = best.checked_min_score(min_score)
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
        self, X: Matrix, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Return the fraction of samples for which all labels are predicted correctly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            True labels, 0 or 1.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks values of y to leave out by True or 1, in addition to those that are NaN. If any are left out, the returned
            score has an attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction. If some labels are left out, it is the fraction of the samples with other labels for which
            all of these are right.
        """
        named, truth, mask, weights = self._compared(X, y, sample_weight, y_mask)
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
