"""From scores of many labels to labels: thresholds, calibration, and whether probabilities are right.

Everything here takes labels dense or sparse, works on the scores that are stored (`predict_sparse`), and makes nothing
of size n_samples × n_labels.

`TunedThresholds`
    A classifier that names the labels whose scores pass thresholds which are tuned for an objective.
`CalibratedLabels`
    A classifier whose probabilities are calibrated label by label.
`LabelReliabilityDisplay`
    A picture of how right probabilities are.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import f1_score, precision_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from spinney import _best, _calibration, _label_scores
from spinney._calibration import METHODS, Maps, Sigmoids
from spinney._labels_around import LabelsAround, has, is_array, known_labels, n_positive_rows, without
from spinney._reliability_display import LabelReliabilityDisplay
from spinney._thresholds import Objective, tuned
from spinney._topk import topk
from spinney._validation import Float, LabelFormat, Target

__all__ = ["CalibratedLabels", "LabelFormat", "LabelReliabilityDisplay", "TunedThresholds"]


class TunedThresholds(LabelsAround):
    """A classifier of labels that names those whose scores pass thresholds tuned for an objective.

    Scores of rows come from models that have not seen them; from these scores, of which those of at least `min_score`
    are kept, a threshold is chosen for each label, rare labels being drawn to what is best for all together. As
    `sklearn.model_selection.TunedThresholdClassifierCV`, for label matrices.

    Parameters
    ----------
    estimator : classifier or Pipeline
        Of labels, with `predict_proba` or else `decision_function`, whose scores s are then 1 / (1 + exp(-s)). With
        `sklearn.frozen.FrozenEstimator` it is left as it is, and the rows given to `fit` are rows that it has not seen.
    objective : str, default="f1"
        "f1", the F1 of each label; "macro_f1", the same, but that the common threshold is the one whose mean of F1 over
        labels is best; "micro_f1", the F1 of all cells together;
        "precision>=.9", or with another share, the most true labels such that of those that are named the share is
        right, label by label: one for which no threshold has it is never named; "label_count", one threshold for all,
        as low as can be with no more labels named than there are in y, or with "label_count=2.5" that many for each
        row.
    shrinkage : float, default=50
        As how many further positive cells all labels together count with each label: rare labels do as is best for all,
        frequent ones as is best for themselves. 0 leaves each label to itself. Without meaning for "label_count". The
        default was chosen over seven data sets, `benches/defaults`.
    toward : {"share", "threshold"}, default="share"
        What it is that rare labels do as all: "share", name as many cells for each true one; "threshold", have the same
        threshold, which `shrinkage=numpy.inf` gives to all labels. Scores of rare labels are smaller in most models.
    cv : "oob", int, cross-validation generator or None, default=None
        Where scores come from. "oob": the trees of a forest with `bootstrap=True` that have not drawn the row, at no
        further fit; the forest may be the last step of a pipeline, whose other steps have seen the row. An integer: so
        many folds, drawn by `random_state`. None: "oob" for forests with bootstrap, else 5 folds. Without meaning for a
        frozen estimator.
    min_score : float, default=0.01
        Scores below are not kept, and labels never named by them. With 0 all that are not zero: of estimators other
        than trees and forests that is every cell.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    estimator_ : the fitted estimator, on all rows
    threshold_ : ndarray of shape (n_labels,)
        A label is named where its score is at least this; infinity is never.
    common_threshold_ : float
        The one threshold that is best for all labels.
    tuned_score_ : float
        The objective on the scores that thresholds were chosen by, so better than on others: mean F1 of labels, F1 of
        all cells, precision of all cells, or labels of a row.
    n_labels_named_ : float
        Mean number of labels of a row that the thresholds name there.
    classes_ : ndarray
        The numbers of the labels, as of `spinney.RandomForestClassifier`.
    n_outputs_, n_features_in_ : int

    See Also
    --------
    CalibratedLabels : Probabilities that are calibrated label by label.

    Notes
    -----
    O(stored scores · log) beside the fits, vectorised; memory is some hundred bytes a stored score.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.multilabel import TunedThresholds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> Y = sparse.csr_array(X @ rng.normal(size=(20, 30)) > 6)
    >>> forest = spinney.RandomForestClassifier(50, random_state=0)
    >>> tuned = TunedThresholds(forest, objective="micro_f1").fit(X[:200], Y[:200])
    >>> tuned.score(X[200:], Y[200:]) > TunedThresholds(forest, objective="label_count=.1").fit(X, Y).n_labels_named_
    True
    """

    _fitted = ("threshold_", "common_threshold_", "tuned_score_", "n_labels_named_")

    threshold_: Float
    common_threshold_: float
    tuned_score_: float
    n_labels_named_: float

    def __init__(
        self,
        estimator: Any,
        *,
        objective: str = "f1",
        shrinkage: float = 50.0,
        toward: str = "share",
        cv: Any = None,
        min_score: float = 0.01,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.shrinkage = shrinkage
        self.toward = toward
        self.cv = cv
        self.min_score = min_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, y_mask: Any = None) -> TunedThresholds:
        """Fit the estimator, and tune thresholds on scores of rows that it has not seen.

        Parameters
        ----------
        X : rows as the estimator takes them
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            0 and 1. `predict` returns labels of this form and dtype.
        sample_weight : array-like of shape (n_samples,), default=None
            Of the fit and of the objective. A row of weight zero is no row.
        y_mask : {array-like, sparse matrix} of the shape of y, default=None
            Cells of y that are not known, beside those that are NaN: True or 1 there. The estimator is told of them in
            its `fit`, and thresholds are tuned on the others alone; `n_labels_named_`, and the budget of "label_count",
            are as of rows of as many known cells as there are labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad parameters or input, named in the message; the estimator is left as it was.
        """
        self._validate_params()
        objective, shrinkage = Objective.parsed(self.objective), _checked_shrinkage(self.shrinkage)
        new = TunedThresholds(**self.get_params(deep=False))
        target, weights, cv = new._checked(X, y, sample_weight, y_mask)
        scores, weights = new._unseen(X, target, weights, cv)
        floor = float(self.min_score)
        found = tuned(scores, target.original, weights, objective, shrinkage, self.toward, floor, target.mask)
        new.threshold_, new.common_threshold_ = found.of_labels, found.common
        new.tuned_score_, new.n_labels_named_ = found.score, found.n_named
        self.__dict__.update(new.__dict__)
        return self

    def _validate_params(self) -> None:
        Objective.parsed(self.objective)
        _checked_shrinkage(self.shrinkage)
        if not isinstance(self.toward, str) or self.toward not in ("share", "threshold"):
            raise ValueError(f"toward is {self.toward!r}, accepted: 'share' and 'threshold'")
        super()._validate_params()

    def _prove(self, need: Callable[[Any, str, str], None]) -> None:
        found = self.threshold_
        is_list = is_array(found, np.float64, (self.n_outputs_,)) and not np.isnan(found).any()
        need(is_list, "threshold_", "has not a number for each label")
        for name in self._fitted[1:]:
            value = getattr(self, name)
            need(isinstance(value, float), name, "is no number")

    def predict(self, X: Any) -> Any:
        """Predict labels: those whose score is at least their threshold.

        Parameters
        ----------
        X : rows as the estimator takes them

        Returns
        -------
        CSR or ndarray of shape (n_samples, n_labels)
            Of the dtype of y, and sparse when y was.
        """
        return self._built(self._named(X))

    def _named(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self)
        # Where no label is ever named, scores of one are as few as can be asked for.
        least = min(1.0, float(self.threshold_.min()))
        scores = _label_scores.scores_at_least(self.estimator_, X, least, self.n_outputs_)
        named = scores.data >= self.threshold_[scores.indices]
        found = sparse.csr_array((named, scores.indices, scores.indptr), shape=scores.shape)
        found.eliminate_zeros()
        return found

    @available_if(has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the estimator."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Scores of the estimator, which thresholds of probabilities are not for."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    def predict_sparse(self, X: Any, min_score: float = 0.0) -> Any:
        """Scores of the estimator of at least `min_score`, as CSR: see `RandomForestClassifier.predict_sparse`."""
        check_is_fitted(self)
        floor = _best.checked_min_score(min_score)
        return _label_scores.scores_at_least(self.estimator_, X, floor, self.n_outputs_)

    @available_if(has("predict_topk"))  # type: ignore[untyped-decorator]
    def predict_topk(
        self, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None
    ) -> tuple[NDArray[np.int64], Float]:
        """The best labels by the scores of the estimator: see `spinney.topk`. Thresholds have no part in it."""
        check_is_fitted(self)
        return topk(self.estimator_, X, k, min_score=min_score, exclude=exclude)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, y_mask: Any = None) -> float:
        """What thresholds were tuned for, of the predictions for X.

        Parameters
        ----------
        X : rows as the estimator takes them
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        sample_weight : array-like of shape (n_samples,), default=None
        y_mask : {array-like, sparse matrix} of the shape of y, default=None
            Cells of y that are left out, beside those that are NaN: True or 1 there.

        Returns
        -------
        float
            The mean of F1 over labels for "f1" and "macro_f1", where a label without any has 0; the precision of all
            cells that are named for "precision>=…"; else the F1 of all cells.
        """
        named = self._named(X)
        truth, mask = known_labels(y, y_mask)
        named, truth = without(named, mask), without(truth, mask)
        rules: dict[str, Any] = {"sample_weight": sample_weight, "zero_division": 0.0}
        kind = Objective.parsed(self.objective).kind
        if kind == "precision":
            return float(precision_score(truth, named, average="micro", **rules))
        return float(f1_score(truth, named, average="macro" if kind in ("f1", "macro_f1") else "micro", **rules))


def _checked_shrinkage(shrinkage: Any) -> float:
    is_number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool | np.bool_)
    if not is_number or not shrinkage >= 0:
        raise ValueError(f"shrinkage is {shrinkage!r}, accepted: a number of at least 0, or infinity")
    # The largest whole numbers are no floats.
    return float(shrinkage) if shrinkage <= np.finfo(np.float64).max else np.inf


class CalibratedLabels(LabelsAround):
    """A classifier of labels whose probabilities are calibrated label by label, on rows that models have not seen.

    As `sklearn.calibration.CalibratedClassifierCV` with `ensemble=False`, for label matrices. Probabilities below
    `min_score` before calibration are zero after it: what is sparse stays so.

    Parameters
    ----------
    estimator : classifier or Pipeline
        As of `TunedThresholds`.
    method : {"isotonic", "sigmoid"}, default="sigmoid"
        "isotonic": a rising function, linear between the scores of the rows. "sigmoid": 1 / (1 + exp(-(a s + b))) of
        a score s, by the targets of Platt (1999); of two numbers for each label, so for rare labels, too.
    cv : "oob", int, cross-validation generator or None, default=None
        As of `TunedThresholds`.
    min_positives : int, default=5
        Labels with fewer rows that have them are not calibrated.
    too_few : {"raise", "keep"}, default="raise"
        What becomes of these: an error that names them, or they keep their scores as they are.
    min_score : float, default=0.01
        Scores below are not kept: they count as zero, and stay zero.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    estimator_ : the fitted estimator, on all rows
    is_calibrated_ : bool ndarray of shape (n_labels,)
        Which labels are calibrated.
    classes_ : ndarray
        The numbers of the labels, as of `spinney.RandomForestClassifier`.
    n_outputs_, n_features_in_ : int

    Notes
    -----
    Cells that are not stored count in the fit of each label, as one: O(stored scores · log) for all.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> from spinney.multilabel import CalibratedLabels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> Y = (X @ rng.normal(size=(20, 5)) > 3).astype(int)
    >>> forest = spinney.RandomForestClassifier(50, random_state=0)
    >>> calibrated = CalibratedLabels(forest).fit(X[:200], Y[:200])
    >>> after = ((calibrated.predict_proba(X[200:]) - Y[200:]) ** 2).mean()
    >>> before = ((calibrated.estimator_.predict_proba(X[200:]) - Y[200:]) ** 2).mean()
    >>> bool(after < before)
    True
    """

    _fitted = ("is_calibrated_", "_knots")

    is_calibrated_: NDArray[np.bool_]
    _maps: Maps | Sigmoids

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "sigmoid",
        cv: Any = None,
        min_positives: int = 5,
        too_few: str = "raise",
        min_score: float = 0.01,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.min_positives = min_positives
        self.too_few = too_few
        self.min_score = min_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, y_mask: Any = None) -> CalibratedLabels:
        """Fit the estimator, and calibrate scores of rows that it has not seen.

        Parameters
        ----------
        X : rows as the estimator takes them
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            0 and 1. `predict` returns labels of this form and dtype.
        sample_weight : array-like of shape (n_samples,), default=None
            Of the fit and of the calibration. A row of weight zero is no row.
        y_mask : {array-like, sparse matrix} of the shape of y, default=None
            Cells of y that are not known, beside those that are NaN: True or 1 there. The estimator is told of them in
            its `fit`, and each label is calibrated on its known cells alone.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad parameters or input, and labels with too few rows, named in the message; the estimator is left as it
            was.
        """
        self._validate_params()
        new = CalibratedLabels(**self.get_params(deep=False))
        target, weights, cv = new._checked(X, y, sample_weight, y_mask)
        if self.too_few == "raise":
            self._check_positives(target, weights)
        scores, weights = new._unseen(X, target, weights, cv)
        kept = n_positive_rows(target.original, weights) < int(self.min_positives)
        new.is_calibrated_ = ~kept
        new._maps = _calibration.calibrated(scores, target.original, weights, self.method, kept, target.mask)
        self.__dict__.update(new.__dict__)
        return self

    def _validate_params(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}, accepted: 'isotonic' and 'sigmoid'")
        if not isinstance(self.too_few, str) or self.too_few not in ("raise", "keep"):
            raise ValueError(f"too_few is {self.too_few!r}, accepted: 'raise' and 'keep'")
        least = self.min_positives
        if isinstance(least, bool) or not isinstance(least, Integral) or least < 1:
            raise ValueError(f"min_positives is {least!r}, accepted: an integer of at least 1")
        super()._validate_params()

    @property
    def _knots(self) -> dict[str, NDArray[Any]]:
        """The functions of the labels as arrays."""
        return dict(vars(self._maps))

    def _prove(self, need: Callable[[Any, str, str], None]) -> None:
        is_calibrated = self.is_calibrated_
        need(is_array(is_calibrated, np.bool_, (self.n_outputs_,)), "is_calibrated_", "does not say it of each label")
        try:
            self._maps = _calibration.proven(self.__dict__.pop("_knots"), is_calibrated)
        except ValueError as error:
            need(False, "the functions of labels", str(error))

    def _check_positives(self, target: Target, weights: Float | None) -> None:
        n_positive = n_positive_rows(target.original, np.ones(target.original.shape[0]) if weights is None else weights)
        few = np.flatnonzero(n_positive < self.min_positives)
        if len(few):
            names = few[:5].tolist() if target.names is None else target.names[few[:5]].tolist()
            more = ", …" if len(few) > 5 else ""
            raise ValueError(
                f"y has {len(few)} label(s) with fewer than min_positives={self.min_positives} rows that have them: "
                f"{', '.join(map(str, names))}{more}; accepted: more rows, a smaller min_positives, or too_few='keep', "
                "which leaves their scores as they are"
            )

    def predict_sparse(self, X: Any, min_score: float = 0.0) -> Any:
        """Calibrated probabilities that are at least `min_score`, as CSR of shape (n_samples, n_labels).

        Parameters
        ----------
        X : rows as the estimator takes them
        min_score : float, default=0
            From 0 to 1. Labels whose score before calibration is below `self.min_score` are not stored in any case.

        Returns
        -------
        csr_array of shape (n_samples, n_labels), float64
        """
        check_is_fitted(self)
        floor = _best.checked_min_score(min_score)
        found = self._maps(_label_scores.scores_at_least(self.estimator_, X, float(self.min_score), self.n_outputs_))
        if floor > 0:
            found.data[found.data < floor] = 0.0
            found.eliminate_zeros()
        return found

    def predict_proba(self, X: Any) -> Float:
        """Calibrated probabilities, a dense array of shape (n_samples, n_labels)."""
        found: Float = self.predict_sparse(X).toarray()
        return found

    def predict(self, X: Any) -> Any:
        """Predict labels: those whose calibrated probability is above one half.

        Parameters
        ----------
        X : rows as the estimator takes them

        Returns
        -------
        CSR or ndarray of shape (n_samples, n_labels)
            Of the dtype of y, and sparse when y was.
        """
        found = self.predict_sparse(X, min_score=0.5)
        return self._built(sparse.csr_array(found > 0.5))

    def predict_topk(
        self, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None
    ) -> tuple[NDArray[np.int64], Float]:
        """The best labels by calibrated probabilities.

        Parameters
        ----------
        X : rows as the estimator takes them
        k : int
            From 1 to the number of labels.
        min_score : float, default=0
            Name none whose probability is below; from 0 to 1.
        exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
            Labels not to be named: those that are not zero in the row, or a list for all rows.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            The largest probability first, the lower index where equal; -1 where there are fewer than `k` labels of
            probabilities above zero.
        scores : float64 ndarray of shape (n_samples, k)
            Their probabilities; 0 where the index is -1.
        """
        check_is_fitted(self)
        k = _best.checked_k(k, self.n_outputs_)
        found = self.predict_sparse(X, min_score=min_score)
        return _best.best_of_sparse(found, k, _best.pattern(exclude, *found.shape))
