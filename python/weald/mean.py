"""Estimators whose predictions are averaged.

`Mean`
    A classifier or regressor that averages the predictions of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import Bunch, Tags, get_tags

from weald._fit.named_outputs import has_labels
from weald._fit.predictions import accuracy_of, logarithms_of, r2_of
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import fitted
from weald._fitted.proof import check_fitted
from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._mean.base import BaseMean
from weald._parameters.types import MatrixLike, Prediction, available_if
from weald._ranking import best

__all__ = ["Mean"]


def _is_of_classes(estimator: Mean) -> bool:
    return bool(is_classifier(estimator))


class Mean(BaseMean):
    """Averages the predictions of several estimators: probabilities of classes or labels, or numbers.

    The mean of models that err differently, such as a forest, a boosted model and a linear one, often errs less than each of
    them. This is `sklearn.ensemble.VotingClassifier` with `voting="soft"`, and `VotingRegressor`, also for labels, for several
    outputs, for sparse y and for y with unknown values. It is a classifier if its estimators are classifiers, and a regressor
    if they are regressors.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names, which are classifiers with `predict_proba` or regressors: of weald, of scikit-learn,
        or pipelines. `fit` fits clones of them. An estimator in `sklearn.frozen.FrozenEstimator` is not fitted again. "drop" in
        place of an estimator leaves it out, as in scikit-learn. `set_params` and `get_params` know them by their names.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators.
    named_estimators_ : Bunch
        The fitted estimators by name.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    classes_ : ndarray or list of ndarray
        Only for classifiers: the classes, or the indices of the labels, as in `weald.RandomForestClassifier`.
    n_classes_ : int or list of int
        Only for classifiers: the number of classes of each output, or the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.

    See Also
    --------
    weald.multilabel.TunedThresholds : Decision thresholds of labels, also around a `Mean`.
    weald.multilabel.CalibratedLabels : Calibrates probabilities separately for each label.

    Notes
    -----
    Whether y has classes or labels is decided as in `weald.RandomForestClassifier`. Estimators with a parameter `multi_label`
    must have the same value of it.

    Estimators that are not of weald are fitted without the samples of weight zero.

    Predicted labels, `predict_topk` and `predict_sparse` are computed in blocks of samples with about eight million dense
    scores, whatever the estimators.

    Weights should not be chosen by scores of training samples. With estimators that are frozen, a fit costs next to nothing,
    so that samples that were held out can choose among weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> mean = weald.Mean(
    ...     [
    ...         ("forest", weald.RandomForestClassifier(20, random_state=0)),
    ...         ("boosting", weald.GradientBoostingClassifier(n_estimators=20, random_state=0)),
    ...     ],
    ...     weights=[2, 1],
    ... )
    >>> mean.fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs

    # --- parameters --------------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with `deep` also the estimators by name and their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of the estimators are included, with names such as "forest__max_depth".

        Returns
        -------
        dict
            Values by name.
        """
        found: dict[str, Any] = self._get_params("estimators", deep=deep)
        return found

    def set_params(self, **params: object) -> Self:
        """Set parameters, estimators by name, and their parameters.

        Parameters
        ----------
        **params
            Values by name: `weights`, `forest` for the estimator of that name, or `forest__max_depth` for its parameter.

        Returns
        -------
        self : Mean
            This estimator.
        """
        self._set_params("estimators", **params)
        return self

    # --- fit ---------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimators, one after another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The target values, as in `weald.RandomForestClassifier` and `weald.RandomForestRegressor`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights. Samples of weight zero are treated as if they were absent.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. All estimators that are fitted must support
            them.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.

        Returns
        -------
        self : Mean
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or if estimators do not fit together. The estimator is left unchanged. An
            error in the fit of one of the estimators has a note with its name.
        TypeError
            If one of the estimators is a class, has no `predict_proba`, or does not support `sample_weight`. The estimator is
            left unchanged.
        """
        self._validate_params()
        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, label_names, fitted)
        return self

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def named_estimators_(self) -> Any:
        """The fitted estimators by name."""
        check_is_there(self, "named_estimators_")
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the first estimator."""
        check_is_there(self, "n_features_in_")
        n_features: int = self.estimators_[0].n_features_in_
        return n_features

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the first estimator, if it has them."""
        check_is_there(self, "feature_names_in_")
        names: NDArray[np.object_] = self.estimators_[0].feature_names_in_
        return names

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            of_all = [get_tags(estimator) for _, estimator in self._kept()]
        except (TypeError, ValueError):  # `fit` says what is wrong
            return tags
        first = of_all[0]
        tags.estimator_type = first.estimator_type
        tags.classifier_tags, tags.regressor_tags = first.classifier_tags, first.regressor_tags
        # Lists, not generators: one that is interrupted cannot pass the interruption on.
        tags.non_deterministic = True in [found.non_deterministic for found in of_all]
        tags.target_tags = first.target_tags
        tags.target_tags.required = True
        for name in ("multi_output", "single_output"):
            setattr(tags.target_tags, name, False not in [getattr(found.target_tags, name) for found in of_all])
        for name in ("sparse", "allow_nan", "string", "categorical", "two_d_array", "one_d_array", "three_d_array"):
            setattr(tags.input_tags, name, False not in [getattr(found.input_tags, name) for found in of_all])
        tags.input_tags.positive_only = True in [found.input_tags.positive_only for found in of_all]
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numbers, classes or labels by the mean of the estimators.

        The predicted class is the one with the largest mean probability, the first in `classes_` if several have it. The
        predicted labels are those with a mean probability above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The predictions, as of `weald.RandomForestClassifier` and `weald.RandomForestRegressor`. Labels have the dtype of y,
            and are sparse if y was. Numbers are sparse if those of all estimators with a positive weight are.
        """
        check_fitted(self)
        if not hasattr(self, "classes_"):
            mean = self._mean(X)
            return mean[:, 0] if self.n_outputs_ == 1 and not is_sparse(mean) else mean
        if self._label_format is not None:
            if self._label_format.container is None:
                return self._label_format.build(self._mean(X) > 0.5)
            parts = [sparse.csr_array(self._mean(rows) > 0.5) for rows in self._blocks(X)]
            return self._label_format.build(sparse.csr_array(sparse.vstack(parts, format="csr")))
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(mean.argmax(axis=1))
        outputs = zip(self.classes_, mean, strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in outputs], axis=1)

    @available_if(_is_of_classes)
    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: the weighted mean of those of the estimators. Only for classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For one output of classes. Columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output, as in scikit-learn.
        """
        return self._mean(X)

    @available_if(_is_of_classes)
    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity. Only for classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray or list of ndarray
            In the form of `predict_proba`.
        """
        return logarithms_of(self._mean(X))

    @available_if(has_labels)
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Compute scores of the labels, which are positive for predicted labels. Only after a fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The mean probabilities minus one half, as those of forests.
        """
        found: Float = self._mean(X) - 0.5
        return found

    @available_if(has_labels)
    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict the positive mean probabilities of at least `min_score` as a CSR array. Only after a fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        min_score : float, default=0
            Probabilities below this value, between 0 and 1, are not stored.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            The probabilities, as of `RandomForestClassifier.predict_sparse`.
        """
        check_fitted(self)
        floor = best.checked_min_score(min_score)
        parts = [best.at_least(self._mean(rows), floor) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _to_rank(self, X: MatrixLike) -> tuple[Any, int]:
        return X, self._n_samples(X)

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        means = (self._mean(rows) for rows in self._blocks(X))
        return best.ranked_parts((mean - 0.5 if as_margins else mean for mean in means), k, marked)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Return R² of regressors, averaged over the outputs, or the accuracy of classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values, classes or labels. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks values of y to leave out, besides those that are NaN. If any are left out, the returned
            score has an attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The score, as of `weald.RandomForestRegressor` and `weald.RandomForestClassifier`. For labels, all labels of a
            sample must be right.
        """
        check_fitted(self)
        if hasattr(self, "classes_"):
            return accuracy_of(self, self.predict(X), y, sample_weight, y_mask)
        return r2_of(self, self._mean(X), y, sample_weight, y_mask)

    # --- files -------------------------------------------------------------------------------------------------------


def check_is_there(estimator: Mean, attribute: str) -> None:
    """Raise AttributeError for an attribute of an estimator that is not fitted."""
    if "estimators_" not in estimator.__dict__:
        raise AttributeError(f"{type(estimator).__name__} has no {attribute} before it is fitted")
