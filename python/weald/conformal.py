"""How sure predictions are: intervals, regions and sets that hold the true value with a probability that is promised.

A model predicts calibration samples that it was not fitted to, and the errors that it makes there tell how wide an
interval, or how large a set, must be. Forests have such predictions for each training sample, by the trees that have not
drawn it, so that no second fit and no held-out samples are needed. All other regressors and classifiers are calibrated by
folds, or on samples that are held out.

`ConformalRegressor`
    Intervals of numerical outputs, and regions that hold all outputs of a sample together.
`ConformalClassifier`
    Sets of classes.
`ConformalLabels`
    Sets of labels with a controlled recall or precision.
`coverage`, `size`
    How often intervals and sets hold the true value, and how large they are; `make_coverage_scorer` and
    `make_size_scorer` make scorers of them.
`CoverageDisplay`
    Coverage against the level that was asked for, with sizes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from weald._around import class_scores, label_risk, measures, ranked, unseen
from weald._around.base import Checked, Claims, Fit, need
from weald._around.conformal import BaseConformalClassifier, BaseConformalRegressor, Region, Scores
from weald._around.labels import WithScores
from weald._around.measures import Scorer
from weald._around.ranked import Ranked as Ranked
from weald._fit.base import keep
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, warned
from weald._input.checks import Float
from weald._input.sklearn_private import StrOptions
from weald._input.targets import Target
from weald._inspect.coverage_display import CoverageDisplay
from weald._parameters.types import MatrixLike, Prediction, RandomState
from weald._ranking import outputs
from weald.forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "ConformalClassifier",
    "ConformalLabels",
    "ConformalRegressor",
    "CoverageDisplay",
    "coverage",
    "make_coverage_scorer",
    "make_size_scorer",
    "size",
]


class ConformalRegressor(RegressorMixin, BaseConformalRegressor):  # type: ignore[misc]
    """Regressor with prediction intervals for each output, and regions for all outputs of a sample together.

    The estimator is fitted, and the residuals of samples that it was not fitted to tell how wide intervals must be: the
    interval of an output is the prediction plus and minus the residual at position ⌈(n + 1)(1 − alpha)⌉ of the n
    calibration samples in ascending order.

    Parameters
    ----------
    estimator : regressor, Pipeline or None, default=None
        Any regressor of weald or scikit-learn, or a pipeline that ends with one. None is a `weald.RandomForestRegressor` at its
        defaults. An estimator in `sklearn.frozen.FrozenEstimator` is not refitted; `fit` must then be called with samples
        that it was not fitted to.
    alpha : float, default=0.1
        The fraction of samples that intervals and regions may miss, above 0 and below 1. Methods take other values, so that
        one fit serves all of them.
    conformity_score : {"absolute", "normalized", "quantile"}, default="absolute"
        What is compared with the calibration samples:

        - "absolute": the absolute residual. All intervals of an output have the same width;
        - "normalized": the absolute residual divided by the spread of the trees, which is the standard deviation of their
          predictions plus 0.3 times its mean over the calibration samples. Intervals are narrow where trees agree. Only for random
          forests and extra-trees forests of weald;
        - "quantile": how far the value is outside of the quantiles alpha / 2 and 1 − alpha / 2 that `predict_quantiles` of a
          forest or of a `weald.QuantileBoostingRegressor` predicts (conformalized quantile regression). The forest must have
          `keep_rows=True`, the quantiles of boosting must contain both levels and 0.5, and `cv` must not be "oob". The
          quantiles are those of the parameter `alpha`, whatever a method is asked for.
    cv : "oob", int, cross-validation generator or None, default=None
        How calibration samples are predicted by models that were not fitted to them:

        - "oob": by the trees of a forest with `bootstrap=True` that have not drawn the sample. Of equal samples, each is also
          predicted by trees that have drawn another: pass one, with their weight. It needs no additional fits. If the forest
          is the last step of a pipeline, the other steps were fitted to the sample nevertheless;
        - an integer: by fits to the other folds, which hold out rows (see `docs/determinism.md`);
        - a cross-validation generator is used as it is;
        - None: "oob" for forests with `bootstrap=True`, but with whole weights that leave a sample out of less than a tenth of
          the bootstraps, from 2.4 on average on; and 5 folds otherwise.

        It has no effect if the estimator is frozen: then all samples of `fit` are calibration samples.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None, and the forest if `estimator` is None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted on all samples, or the frozen estimator.
    scale_ : ndarray of shape (n_outputs,)
        The root mean square of the scores of each output, by which boxes are scaled.
    covariance_ : ndarray of shape (n_outputs, n_outputs) or None
        The mean square of the residuals (those divided by the spread if normalized) of samples with all outputs known, shrunk
        towards its diagonal, which counts as one sample for each output. It is the matrix of ellipsoids. None for more than
        1000 outputs.
    n_calibration_ : ndarray of shape (n_outputs,)
        The number of calibration samples of each output, or the sum of their weights.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the fitted estimator.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y has names.

    See Also
    --------
    ConformalClassifier : Sets of classes.
    weald.RandomForestRegressor.predict_quantiles : Quantiles without a promise.

    Notes
    -----
    What holds if all samples are exchangeable, as independent samples of one distribution are:

    * a frozen estimator: the interval of a further sample holds its value with probability 1 − alpha or more, and at most 1 −
      alpha + 1 / (n + 1) if scores have no ties (Vovk, Gammerman and Shafer 2005). With "normalized", the mean spread of the
      calibration samples is part of the score, and in regions the scales and the covariance are: these depend on all
      calibration samples together, by a share of 1 / n each, which the proof does not cover;
    * out of bag and by folds: about 1 − alpha, as measured (see the page "Intervals and sets"). The bound 1 − 2 alpha is proven
      for a rule that also predicts each further sample without each calibration sample (jackknife+-after-bootstrap, Kim,
      Xu and Barber 2020; CV+, Barber et al. 2021). The rule here is that of Johansson et al. (2014), which takes the
      prediction of the whole model: it gives the same intervals where leaving out a sample hardly changes a prediction.

    The probability is over calibration samples and further samples together: it is no statement about each value of X.

    A sample of weight w counts as w samples, so that weights must be counts: with weights that sum to less than 1 / alpha − 1
    no interval is finite. Where they are tiny, such as 1 / n, `fit` warns and takes them as relative, 1 on average.
    In addition to the fits, time is O(n log n) for each output, and the scores of all calibration samples are stored: n times
    the number of outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> import weald
    >>> from weald.conformal import ConformalRegressor, coverage
    >>> X, X_new, y, y_new = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    >>> model = ConformalRegressor(weald.RandomForestRegressor(random_state=0), alpha=0.2).fit(X, y)
    >>> model.predict_interval(X_new).shape
    (111, 2)
    >>> bool(0.7 < coverage(y_new, model.predict_interval(X_new)) < 0.9)
    True
    """

    _default = RandomForestRegressor
    _too_few = "intervals would be infinite"

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        alpha: float = 0.1,
        conformity_score: Scores = "absolute",
        cv: object = None,
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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and rank the scores of samples that it was not fitted to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers. Those of samples of weight zero are not read. A dense copy of sparse y is made.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for the calibration: a sample of weight 2 counts as two samples. Samples of weight
            zero do not count, but they are assigned to folds as well.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN if y has several columns. The mask is passed
            to the `fit` of the estimator. Each output is calibrated on its known values, and regions on the samples
            in which all outputs are known.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of samples, for a `cv` that keeps them together, such as `sklearn.model_selection.GroupKFold`. With any
            other `cv` they raise an error.

        Returns
        -------
        self : ConformalRegressor
            The fitted regressor.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or if there are fewer than 1 / alpha − 1 calibration samples for an
            output: its intervals would be infinite. The regressor is left unchanged.
        TypeError
            If `estimator` is a class, is not a regressor, or does not support the `conformity_score`. The regressor is left
            unchanged.
        """
        return self._run(Fit(X, y, sample_weight, y_mask, label_names, groups))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        # `score` is at most 0, and not R².
        tags.regressor_tags.poor_score = True
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the numerical outputs, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The result of `predict` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict(X)

    @of_one_fit
    def predict_interval(self, X: MatrixLike, alpha: float | None = None) -> Float:
        """Predict an interval for each output, which holds its value with probability 1 − alpha.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that the intervals of an output may miss. None is the parameter `alpha`.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and upper bounds, which belong to the intervals; without the axis of outputs if there is one output.

        Raises
        ------
        ValueError
            If `alpha` is out of range, or so small that intervals would be infinite: smaller than 1 / (n + 1) for n calibration
            samples of an output.
        """
        check_fitted(self)
        at = np.array(self._quantiles(alpha))
        return self._bounds(self._parts_of(X), at)

    @of_one_fit
    def predict_region(self, X: MatrixLike, alpha: float | None = None) -> Float:
        """Predict a box for each sample, which holds all outputs together with probability 1 − alpha.

        The score of a sample is the largest of the scores of its outputs, each divided by `scale_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be outside of their box, in any output. None is the parameter `alpha`.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and upper bounds of each output, in the form of `predict_interval`.

        Raises
        ------
        ValueError
            If `alpha` is out of range, or too small for the calibration samples in which all outputs are known.
        """
        check_fitted(self)
        return self._bounds(self._parts_of(X), self._radius(alpha, "box") * self.scale_)

    @of_one_fit
    def contains(
        self,
        X: MatrixLike,
        y: MatrixLike,
        alpha: float | None = None,
        *,
        y_mask: MatrixLike | None = None,
        region: Region = "box",
    ) -> NDArray[np.bool_]:
        """Whether the region of each sample holds its outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Values of the outputs.
        alpha : float or None, default=None
            The fraction of samples that may be outside of their region. None is the parameter `alpha`.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown values of y, in addition to those that are NaN. Then the result is whether the region holds
            the known values together with any values of the others.
        region : {"box", "ellipsoid"}, default="box"
            "box": the region of `predict_region`. "ellipsoid": the values y whose residual r, divided by the spread if
            normalized, has a Mahalanobis length √(rᵀ C⁻¹ r) of at most `ellipsoid_radius`, where C is `covariance_`.

        Returns
        -------
        bool ndarray of shape (n_samples,)
            Whether the values are in the region.

        Raises
        ------
        ValueError
            If `alpha` is out of range or too small, `region` has another value, or y does not have a valid shape.
        """
        check_fitted(self)
        radius, parts = self._radius(alpha, region), self._parts_of(X)
        truth, mask = self._truth(y, y_mask, parts.shape[1])
        if region == "box":
            inside = measures.inside_intervals(truth, self._bounds(parts, radius * self.scale_))
            return np.array((inside if mask is None else inside | mask).all(axis=1))
        residuals = (truth - parts[0]) / self._around(parts)[2]
        found = np.ones(len(truth), dtype=np.bool_)
        patterns, at = np.unique(
            np.zeros(truth.shape, dtype=np.bool_) if mask is None else mask, axis=0, return_inverse=True
        )
        for index, hidden in enumerate(patterns):
            rows = np.flatnonzero(at.ravel() == index)
            # The shadow of an ellipsoid on some of its axes is the ellipsoid of their part of the matrix.
            found[rows] = self._ellipsoid(~hidden).holds(residuals[np.ix_(rows, ~hidden)], radius)
        return found

    @of_one_fit
    def log_volume(self, X: MatrixLike, alpha: float | None = None, *, region: Region = "box") -> Float:
        """Compute the natural logarithm of the volume of the region of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be outside of their region. None is the parameter `alpha`.
        region : {"box", "ellipsoid"}, default="box"
            The region, as in `contains`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The logarithms, in the units of the product of the outputs. Minus infinity for a region without a volume, which is
            flat in an output whose calibration samples are all predicted exactly.

        Raises
        ------
        ValueError
            If `alpha` is out of range or too small, or `region` has another value.
        """
        check_fitted(self)
        radius, parts = self._radius(alpha, region), self._parts_of(X)
        if region == "box":
            bounds = self._bounds(parts, radius * self.scale_).reshape(parts.shape[1], -1, 2)
            with np.errstate(divide="ignore"):
                volume: Float = np.log(bounds[:, :, 1] - bounds[:, :, 0]).sum(axis=1)
            return volume
        unit = np.log(self._around(parts)[2]).sum(axis=1)
        every = np.ones(self.n_outputs_, dtype=np.bool_)
        whole: Float = np.broadcast_to(unit + self._ellipsoid(every).log_volume(radius), parts.shape[1]).copy()
        return whole

    @of_one_fit
    def ellipsoid_radius(self, alpha: float | None = None) -> float:
        """Return the Mahalanobis length up to which residuals are inside the ellipsoid, see `contains`.

        Parameters
        ----------
        alpha : float or None, default=None
            The fraction of samples that may be outside of their ellipsoid. None is the parameter `alpha`.

        Returns
        -------
        float
            The length.

        Raises
        ------
        ValueError
            If `alpha` is out of range, or too small for the calibration samples in which all outputs are known.
        """
        check_fitted(self)
        return self._radius(alpha, "ellipsoid")

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Return minus the mean interval score of the intervals, averaged over the outputs: larger is better.

        The interval score of a value is the width of its interval, and 2 / alpha times the distance by which the value is
        outside (Winkler 1972), in the unit of y. Searches can choose by it, except for `alpha` itself: intervals of another
        level answer another question. Outputs of different units should be scaled before.
        `coverage` measures how often intervals hold the value, and `sklearn.metrics.r2_score` of `predict` the predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks values of y to leave out by True or 1, in addition to those that are NaN.

        Returns
        -------
        float
            Minus the mean interval score, at most 0; NaN if no value is known.
        """
        found = self.predict_interval(X)
        truth, mask = self._truth(y, y_mask, len(found))
        weights = checks.score_weights(sample_weight, len(found))
        scores = measures.interval_scores(truth, found, self._level(None))
        return -float(measures.averaged(measures.by_output(scores, mask, weights), "uniform_average"))


class ConformalClassifier(ClassifierMixin, BaseConformalClassifier):  # type: ignore[misc]
    """Classifier with sets of classes that hold the true class with a probability that is promised.

    A class is in the set of a sample if its score is at most the score at position ⌈(n + 1)(1 − alpha)⌉ of the true classes of
    the n calibration samples in ascending order.

    Parameters
    ----------
    estimator : classifier, Pipeline or None, default=None
        Any classifier of weald or scikit-learn with `predict_proba`, or a pipeline that ends with one. None is a
        `weald.RandomForestClassifier` at its defaults. An estimator in `sklearn.frozen.FrozenEstimator` is not refitted;
        `fit` must then be called with samples that it was not fitted to.
    alpha : float, default=0.1
        The fraction of samples whose set may miss the true class, above 0 and below 1. `predict_sets` takes other values.
    method : {"lac", "aps"}, default="lac"
        The score of a class:

        - "lac": 1 minus its probability (least ambiguous sets, Sadinle, Lei and Wasserman 2019). Sets are smallest on
          average, may be empty, and miss difficult samples more often than easy ones;
        - "aps": the sum of the probabilities of all classes that are at least as probable (adaptive prediction sets, Romano,
          Sesia and Candès 2020). Sets are larger, and miss difficult and easy samples about equally often.
    randomized : bool, default=True
        Whether "aps" counts a random share of the probability of the class itself, so that sets are smaller and their coverage
        is near 1 − alpha in place of above it. The share depends on the probabilities of a sample and on `random_state`, and
        not on other samples. Without it, a model that is sure of most samples has sets of many classes. It has no effect with
        "lac".
    cv : "oob", int, cross-validation generator or None, default=None
        How calibration samples are predicted by models that were not fitted to them, as in `ConformalRegressor`. Classes that
        are missing in the samples of a fit have probability 0 in its fold.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None, the shares if `randomized`, and the forest if `estimator` is None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted on all samples, or the frozen estimator.
    classes_ : ndarray or list of ndarray
        The classes of the fitted estimator, in its order; for several outputs, a list of one array for each output.
    n_calibration_ : ndarray of shape (n_outputs,)
        The number of calibration samples of each output, or the sum of their weights.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the fitted estimator.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y has names.

    See Also
    --------
    ConformalLabels : Sets of labels.
    ConformalRegressor : Intervals and regions of numerical outputs.

    Notes
    -----
    What holds is as in `ConformalRegressor`: with a frozen estimator and exchangeable samples, a set holds the true class with
    probability 1 − alpha or more; out of bag and by folds with about 1 − alpha. Without `randomized`, coverage with "aps" is
    above 1 − alpha, by about half the probability of a class. Sets of several outputs hold for each output by itself.

    A sample of weight w counts as w samples, in the calibration as in the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> import weald
    >>> from weald.conformal import ConformalClassifier, coverage
    >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = ConformalClassifier(weald.RandomForestClassifier(random_state=0), alpha=0.05).fit(X, y)
    >>> model.predict_sets(X_new).shape
    (450, 10)
    >>> bool(coverage(y_new, model.predict_sets(X_new), classes=model.classes_) > 0.93)
    True
    """

    _default = RandomForestClassifier
    _too_few = "sets would hold every class"
    # Probabilities are those of classes.
    _label_format = None

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        alpha: float = 0.1,
        method: Literal["lac", "aps"] = "lac",
        randomized: bool = True,
        cv: object = None,
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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and rank the scores of the true classes of samples that it was not fitted to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes. Those of samples of weight zero are not read.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for the calibration: a sample of weight 2 counts as two samples. Samples of weight
            zero do not count, but they are assigned to folds as well.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN if y has several columns. The mask is passed
            to the `fit` of the estimator, and each output is calibrated on its known values.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of samples, for a `cv` that keeps them together, such as `sklearn.model_selection.GroupKFold`. With any
            other `cv` they raise an error.

        Returns
        -------
        self : ConformalClassifier
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, if y are labels, or if there are fewer than 1 / alpha − 1 calibration
            samples for an output: its sets would hold all classes. The classifier is left unchanged.
        TypeError
            If `estimator` is a class, is not a classifier, or has no `predict_proba`. The classifier is left unchanged.
        """
        return self._run(Fit(X, y, sample_weight, y_mask, label_names, groups))

    @property
    @of_one_fit
    def classes_(self) -> Any:
        """The classes of the fitted estimator."""
        return self._first("classes_").classes_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        # scikit-learn's checks take labels for several outputs, which `ConformalLabels` is for.
        tags.target_tags.multi_output = False
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The result of `predict` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict the probabilities of classes, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of them
            The result of `predict_proba` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict_proba(X)

    @of_one_fit
    def predict_sets(self, X: MatrixLike, alpha: float | None = None) -> Prediction:
        """Predict the set of classes of each sample, which holds the true class with probability 1 − alpha.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples whose set may miss the true class. None is the parameter `alpha`.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
            Whether each class is in the set, in the order of `classes_`. A set may be empty, unless the method is "aps" without
            `randomized`.
        list of bool ndarray of shape (n_samples, n_classes)
            For several outputs, one array for each output.

        Raises
        ------
        ValueError
            If `alpha` is out of range, or so small that sets would hold all classes: smaller than 1 / (n + 1) for n calibration
            samples of an output.
        """
        check_fitted(self)
        at = self._quantiles(alpha)
        parts = self._by_output(self._predicted(X))
        sets = [class_scores.inside(self._scored(part), most) for part, most in zip(parts, at, strict=True)]
        return sets[0] if self.n_outputs_ == 1 else sets

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Return minus the mean size of the sets at the promised coverage, averaged over the outputs: larger is better.

        Sets that miss more true classes than the fraction alpha count as larger, by one class for each fraction alpha that is
        missed in addition: a class that is added where it has the probability alpha costs as much. Searches can choose by it,
        except for `alpha` itself. `coverage` measures how often sets hold the true class, and
        `sklearn.metrics.accuracy_score` of `predict` the predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The true classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks values of y to leave out by True or 1, in addition to those that are NaN.

        Returns
        -------
        float
            Minus the mean number of classes in a set, and minus max(0, missed − alpha) / alpha for the fraction of true classes
            that is missed. A class that the estimator does not know is in no set. NaN if no class is known.
        """
        sets = self.predict_sets(X)
        sets = sets if isinstance(sets, list) else [sets]
        classes = outputs.classes_of(self.estimator_)
        names = getattr(self, "target_names_in_", None)
        sizes = [len(found) for found in classes]
        known = Target("classes", (None, sizes), self.n_outputs_, classes, None, names=names)
        truth, mask = known.read(y, len(sets[0]), type(self).__name__, y_mask=y_mask)
        weights = checks.score_weights(sample_weight, len(sets[0]))
        missed = 1 - measures.by_output(measures.inside_sets(truth, sets, classes, mask), mask, weights)
        n_in_sets = measures.by_output(np.stack([part.sum(axis=1) for part in sets], axis=1), mask, weights)
        return -float(measures.averaged(n_in_sets + measures.beyond(missed, self._level(None)), "uniform_average"))


def _check_delta(delta: object) -> None:
    checks.number("delta", delta, lambda found: 0 < found < 1, "a number above 0 and below 1")


def _is_count(_: Any, found: Any) -> None:
    need(type(found) is float and found >= 0, "a float of at least 0", found)


def _are_labels(around: Any, found: Any) -> None:
    d = around.n_outputs_
    is_list = isinstance(found, np.ndarray) and found.dtype == np.int64 and found.ndim == 1
    is_list = is_list and bool((np.diff(found) > 0).all() and ((found >= 0) & (found < d)).all())
    need(is_list, f"an ascending int64 array of indices of {d} labels", found)


class ConformalLabels(WithScores):
    """Multi-label classifier with sets of labels whose recall or precision is controlled.

    One threshold for all labels is chosen on scores of samples that the scoring model was not fitted to, so that a further
    sample is promised a fraction of its true labels, or a fraction of true labels among those that are predicted.

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba` or `decision_function`. Scores s of `decision_function` are only
        used if there is no `predict_proba`, and are converted by 1 / (1 + exp(-s)). An estimator in
        `sklearn.frozen.FrozenEstimator` is not refitted; `fit` must then be called with samples that it was not fitted
        on.
    control : {"recall", "precision"}, default="recall"
        What is controlled:

        - "recall": the expected fraction of the true labels of a sample that are missed is at most `alpha`, over samples that
          have a label (conformal risk control, Angelopoulos et al. 2022). The threshold is the largest with which it is;
        - "precision": with probability 1 − `delta` over calibration samples, the expected fraction of wrong labels among those
          that are predicted is at most `alpha`, where a sample without predictions has the fraction 0 (learn then test,
          Angelopoulos et al. 2021). 200 thresholds from 1 down to `min_score` are tested in this order, and the last before the
          first that fails is taken.
    alpha : float, default=0.1
        The fraction of labels that may be missed or wrong, above 0 and below 1.
    delta : float, default=0.1
        The probability that calibration samples are misleading, above 0 and below 1. It has no effect on recall.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores of calibration samples are computed, as in `TunedThresholds`.
    min_score : float or "auto", default="auto"
        Scores below this value are not stored. "auto" is 0 if y is dense or the estimator is a `LabelTreeClassifier`, and
        0.001 otherwise. If recall cannot be reached by all stored scores together, labels without a
        stored score are predicted by their frequency, the most frequent ones first: see `frequent_`.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted on all samples, or the frozen estimator.
    threshold_ : float
        Labels whose score is at least this are predicted. 0 are all with a score of at least `min_score`. Infinite if no
        threshold is sure to have the precision, so that no label is predicted; `fit` then warns.
    frequent_ : ndarray of int64
        The labels that are predicted for every sample, because the stored scores do not reach the recall. Mostly empty.
    n_calibration_ : float
        The number of calibration samples, or the sum of their weights; for recall, of those that have a label.
    classes_ : ndarray
        The indices of the labels, as in `weald.RandomForestClassifier`.
    n_outputs_ : int
        The number of labels.
    n_features_in_ : int
        The number of features of the fitted estimator.

    See Also
    --------
    ConformalClassifier : Sets of classes.
    weald.multilabel.TunedThresholds : Thresholds for F1, precision or a number of labels, without a promise.

    Notes
    -----
    The statements about recall and precision hold for a frozen estimator and exchangeable samples; for precision these must
    be independent of each other. `frequent_` is chosen by frequencies in the calibration samples, which the proof does not cover.
    Out of bag and by folds, they hold about, as measured (see the page "Intervals and sets").

    A sample of weight w counts as w samples. Unknown entries of y are left out of both fractions. In addition to the fits,
    recall takes O(m log m) time for m stored scores, and precision 200 operations for each sample; no array of size n_samples ×
    n_labels is created.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.conformal import ConformalLabels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 20))
    >>> Y = sparse.csr_array(X @ rng.normal(size=(20, 30)) > 4)
    >>> forest = weald.RandomForestClassifier(50, random_state=0)
    >>> model = ConformalLabels(forest, control="recall", alpha=0.2).fit(X[:400], Y[:400])
    >>> from sklearn.metrics import recall_score
    >>> recall = recall_score(Y[400:], model.predict(X[400:]), average="samples", zero_division=np.nan)
    >>> bool(0.7 < recall < 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WithScores._parameter_constraints,
        "control": [StrOptions({"recall", "precision"})],
        "alpha": [Checked(ranked.check_alpha)],
        "delta": [Checked(_check_delta)],
    }
    FITTED: ClassVar[Claims] = {
        **WithScores.FITTED,
        "threshold_": _is_count,
        "n_calibration_": _is_count,
        "frequent_": _are_labels,
    }
    _floor_of_sparse = 0.001

    threshold_: float
    frequent_: NDArray[np.int64]
    n_calibration_: float

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        control: Literal["recall", "precision"] = "recall",
        alpha: float = 0.1,
        delta: float = 0.1,
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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and choose the threshold on scores of samples that it was not fitted to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for the calibration: a sample of weight 2 counts as two samples. Samples of weight
            zero do not count, but they are assigned to folds as well.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. The mask is passed to the `fit` of
            the estimator, and the threshold is chosen on the known entries.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of samples, for a `cv` that keeps them together, such as `sklearn.model_selection.GroupKFold`. With any
            other `cv` they raise an error.

        Returns
        -------
        self : ConformalLabels
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or, for recall, if fewer than 1 / alpha − 1 calibration samples have a label.
            The classifier is left unchanged.
        TypeError
            If `estimator` is a class or predicts no scores. The classifier is left unchanged.
        """
        return self._run(Fit(X, y, sample_weight, y_mask, label_names, groups))

    def _fit(self, given: Fit) -> None:
        given = self._seen(self._checked(given))
        scores, weights = self._unseen(given)
        self._calibrate(scores, given.target, weights)

    def _calibrate(self, scores: sparse.csr_array, target: Target, weights: Float) -> None:
        truth, alpha = target.original, float(self.alpha)
        self.frequent_ = np.zeros(0, dtype=np.int64)
        if self.control == "precision":
            self.n_calibration_ = float(weights.sum())
            rules = (alpha, float(self.delta), self._floor())
            self.threshold_ = label_risk.precision_threshold(scores, truth, weights, *rules)
            if np.isinf(self.threshold_):
                warned.warn(
                    f"No threshold is sure to have a precision of {1 - alpha:g}, with {self.n_calibration_:g} calibration "
                    "samples: no label is predicted. A larger alpha or delta, or more samples, may change this."
                )
            return
        self.n_calibration_ = float(weights[np.diff(truth.indptr) > 0].sum())
        frequency = label_risk.frequencies(truth, target.mask, weights)
        self.threshold_, least = label_risk.recall_thresholds(scores, truth, weights, frequency, alpha)
        if np.isfinite(least):
            self.frequent_ = np.flatnonzero(frequency >= least).astype(np.int64)

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the set of labels of each sample.

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
        least = min(1.0, max(label_risk.reached(self.threshold_), self._floor()))
        scores = unseen.scores_at_least(self.estimator_, X, least, self.n_outputs_)
        return label_risk.named_by(scores, self.threshold_, self.frequent_)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Score the predicted sets by what is not promised, so that larger is better and searches can choose by it.

        With the recall promised, the fewer labels are predicted the better; with the precision promised, the more true labels
        are found the better. Sets that miss the promise lose the fraction by which they do, divided by `alpha`. The promise
        itself is measured by `sklearn.metrics.recall_score` or `precision_score` of `predict` with `average="samples"`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            True labels, 0 or 1.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks values of y to leave out by True or 1, in addition to those that are NaN.

        Returns
        -------
        float
            For `control="recall"`, minus the mean number of predicted labels, and minus max(0, missed − alpha) / alpha for each
            true label of a sample, where the mean fraction of true labels of a sample is missed. For "precision", the mean
            fraction of true labels that are predicted, minus max(0, wrong − alpha) / alpha, where the mean fraction of the
            predicted labels of a sample is wrong. NaN if no sample has a label.
        """
        named, truth, mask, weights = self._compared(X, y, sample_weight, y_mask)
        weights = np.ones(named.shape[0]) if weights is None else weights
        if mask is not None:  # samples of which nothing is known do not count
            weights = np.where(np.diff(mask.indptr) == mask.shape[1], 0.0, weights)
        recall = label_risk.mean_fraction(named, truth, weights, "recall")
        if np.isnan(recall):
            return recall
        if self.control == "precision":
            wrong = 1 - label_risk.mean_fraction(named, truth, weights, "precision")
            return float(recall - measures.beyond(wrong, float(self.alpha)))
        n_named, n_true = (float(np.average(np.diff(cells.indptr), weights=weights)) for cells in (named, truth))
        return float(-n_named - n_true * measures.beyond(1 - recall, float(self.alpha)))


def coverage(
    y_true: MatrixLike,
    predicted: Any,
    sample_weight: ArrayLike | None = None,
    *,
    y_mask: MatrixLike | None = None,
    classes: Any = None,
    joint: bool = False,
    multioutput: Literal["uniform_average", "raw_values"] = "uniform_average",
) -> Any:
    """Fraction of true values that are inside predicted intervals, or of true classes that are in predicted sets.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true values or classes. NaN in several columns are unknown.
    predicted : ndarray or list of ndarray
        Intervals of shape (n_samples, 2) or (n_samples, n_outputs, 2), as of `ConformalRegressor.predict_interval` and
        `predict_region`; or sets, bool of shape (n_samples, n_classes) or a list of them, as of
        `ConformalClassifier.predict_sets`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
        Marks values of y to leave out by True or 1, in addition to those that are NaN.
    classes : array-like of shape (n_classes,), list of them or None, default=None
        The classes of sets, the attribute `classes_` of the classifier. None are the numbers from 0.
    joint : bool, default=False
        Whether a sample counts if all of its known values are inside, as of `predict_region`, in place of each output by
        itself.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The mean over the outputs that have known values, or an array of the values of all outputs, NaN without known values.
        It has no effect if `joint`.

    Returns
    -------
    float or ndarray of shape (n_outputs,)
        The coverage, from 0 to 1. It should be near the level that was asked for: larger is not better.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from weald.conformal import coverage
    >>> coverage([1.0, 2.0, 3.0, 4.0], [[0, 2], [0, 2], [0, 2], [3, 5]])
    0.75
    >>> coverage(["a", "b"], [[True, False], [True, False]], classes=["a", "b"])
    0.5
    """
    found = measures.Predicted.of(predicted, classes)
    inside, mask = found.inside(y_true, y_mask)
    weights = checks.score_weights(sample_weight, len(inside))
    if joint:
        return measures.together(inside, mask, weights)
    return measures.averaged(measures.by_output(inside, mask, weights), multioutput)


def size(
    predicted: Any,
    sample_weight: ArrayLike | None = None,
    *,
    joint: bool = False,
    multioutput: Literal["uniform_average", "raw_values"] = "uniform_average",
) -> Any:
    """Mean width of predicted intervals, or mean number of classes in predicted sets.

    Parameters
    ----------
    predicted : ndarray or list of ndarray
        Intervals or sets, as in `coverage`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    joint : bool, default=False
        Whether the result is the mean natural logarithm of the volume of boxes, or of the number of combinations of classes,
        in place of the mean over outputs. It does not depend on the units of the outputs, except for a constant.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The mean over the outputs, or an array of the values of all outputs. It has no effect if `joint`.

    Returns
    -------
    float or ndarray of shape (n_outputs,)
        The size. Of two predictions with the same coverage, the smaller one says more.

    Examples
    --------
    >>> from weald.conformal import size
    >>> size([[[0, 2], [0, 1]], [[0, 4], [0, 1]]], multioutput="raw_values")
    array([3., 1.])
    >>> size([[True, True, False], [True, False, False]])
    1.5
    """
    widths = measures.Predicted.of(predicted, None).sizes()
    weights = checks.score_weights(sample_weight, len(widths))
    if joint:
        with np.errstate(divide="ignore"):
            return float(np.average(np.log(widths).sum(axis=1), weights=weights))
    return measures.averaged(np.average(widths, axis=0, weights=weights), multioutput)


def make_coverage_scorer(alpha: float | None = None, *, joint: bool = False) -> Scorer:
    """Make a scorer of `coverage`, for `cross_validate` and the other functions of `model_selection`.

    Parameters
    ----------
    alpha : float or None, default=None
        The level that intervals and sets are asked for. None is that of the estimator.
    joint : bool, default=False
        Whether the scorer takes regions (`predict_region`), and sets of all outputs together.

    Returns
    -------
    callable
        A function of an estimator, X, y and optionally `sample_weight`, which returns the coverage.

    Raises
    ------
    ValueError
        If `alpha` is out of range.

    See Also
    --------
    make_size_scorer : The size at the same level.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald.conformal import ConformalRegressor, make_coverage_scorer, make_size_scorer
    >>> from weald.model_selection import cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> scoring = {"coverage": make_coverage_scorer(), "size": make_size_scorer()}
    >>> found = cross_validate(ConformalRegressor(), X, y, cv=3, scoring=scoring)
    >>> bool(0.8 < found["test_coverage"].mean() < 0.97)
    True
    """
    return Scorer("coverage", coverage, None if alpha is None else ranked.check_alpha(alpha), joint)


def make_size_scorer(alpha: float | None = None, *, joint: bool = False) -> Scorer:
    """Make a scorer of `size`: the negative size, so that a larger score is better.

    Parameters
    ----------
    alpha : float or None, default=None
        The level that intervals and sets are asked for. None is that of the estimator.
    joint : bool, default=False
        Whether the scorer takes regions (`predict_region`), and sets of all outputs together.

    Returns
    -------
    callable
        A function of an estimator, X, y and optionally `sample_weight`, which returns the negative size.

    Raises
    ------
    ValueError
        If `alpha` is out of range.

    See Also
    --------
    make_coverage_scorer : The coverage at the same level, with an example.
    """
    return Scorer("size", size, None if alpha is None else ranked.check_alpha(alpha), joint)
