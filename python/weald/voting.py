"""Estimators that average what others predict.

`VotingClassifier`
    Averages probabilities of classes or labels.
`VotingRegressor`
    Averages numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_regressor

from weald._around.base import Fit
from weald._around.voting import BaseVoting, BaseVotingClassifier
from weald._fit.base import has_labels, keep
from weald._fit.predictions import accuracy_of, logarithms_of, r2_of
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, targets
from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike, Prediction, available_if
from weald._ranking import outputs, ranks

__all__ = ["VotingClassifier", "VotingRegressor"]


class VotingClassifier(ClassifierMixin, BaseVotingClassifier):
    """Averages the probabilities of classes or labels of several classifiers.

    The mean of models that err differently, such as a forest, a boosted model and a linear one, often errs less than each of
    them. This is `sklearn.ensemble.VotingClassifier` with `voting="soft"`, also for labels, for several outputs, for sparse y
    and for y with unknown values.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 9, [0, 0, 1, 1] * 9
    >>> members = [("forest", weald.RandomForestClassifier(20)), ("linear", weald.LinearClassifier())]
    >>> weald.VotingClassifier(members, weights=[2, 1]).fit(X, y).predict([[3.0]])
    array([1])

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names: classifiers with `predict_proba`, of weald, of scikit-learn, or pipelines. `fit` fits
        clones of them, except for one in `sklearn.frozen.FrozenEstimator`. "drop" in place of an estimator leaves it out.
        `set_params` and `get_params` know them by their names.
    voting : "soft", default="soft"
        Probabilities are averaged. It is there for scikit-learn, and has no other value.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.
    verbose : int, default=0
        Whether the fits of estimators are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators, without those that were dropped.
    named_estimators_ : Bunch
        The fitted estimators by name, and "drop" for those that were left out.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    classes_ : ndarray or list of ndarray
        The classes, or the indices of the labels, as in `weald.RandomForestClassifier`.
    n_classes_ : int or list of int
        The number of classes of each output, or the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit`.

    See Also
    --------
    VotingRegressor : The same for numbers.
    weald.multilabel.TunedThresholds : Decision thresholds of labels, also around a `VotingClassifier`.
    weald.multilabel.CalibratedLabels : Calibrates probabilities separately for each label.

    Notes
    -----
    Whether y has classes or labels is decided as in `weald.RandomForestClassifier`. Estimators with a parameter `multi_label`
    must have the same value of it. Classes that an estimator does not know have the probability 0 in it.

    Estimators that are not of weald are fitted without the samples of weight zero.

    Predicted labels, `predict_topk` and `predict_sparse` are computed in blocks of samples with about eight million dense
    scores, whatever the estimators.

    Weights should not be chosen by scores of training samples. With estimators that are frozen, a fit costs next to nothing,
    so that samples that were held out can choose among weights.
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        voting: Literal["soft"] = "soft",
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes or labels by the mean of the estimators.

        The predicted class is the one with the largest mean probability, the first in `classes_` if several have it. The
        predicted labels are those with a mean probability above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predictions, as of `weald.RandomForestClassifier`. Labels have the dtype of y, and are sparse if y was.
        """
        check_fitted(self)
        if self._label_format is not None:
            if self._label_format.container is None:
                return self._label_format.build(self._mean(X) > 0.5)
            parts = [sparse.csr_array(self._mean(rows) > 0.5) for rows in self._blocks(X)]
            return self._label_format.build(sparse.csr_array(sparse.vstack(parts, format="csr")))
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(mean.argmax(axis=1))
        pairs = zip(self.classes_, mean, strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in pairs], axis=1)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: the weighted mean of those of the estimators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several
            outputs of classes, an array for each.
        """
        return self._mean(X)

    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

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
        floor = ranks.checked_min_score(min_score)
        parts = [ranks.at_least(self._mean(rows), floor) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _to_rank(self, X: MatrixLike) -> tuple[Any, int]:
        return X, self._n_samples(X)

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        means = (self._mean(rows) for rows in self._blocks(X))
        return ranks.ranked_parts((mean - 0.5 if as_margins else mean for mean in means), k, marked)

    @of_one_fit
    def score(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
    ) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true classes or labels. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction of samples that are predicted right. For labels, all labels of a sample must be right.
        """
        return accuracy_of(self, self.predict(X), y, sample_weight, y_weight)


class VotingRegressor(RegressorMixin, BaseVoting):
    """Averages the numbers that several regressors predict.

    The mean of models that err differently often errs less than each of them. This is `sklearn.ensemble.VotingRegressor`, also
    for several outputs, for sparse y and for y with unknown values.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 9, [0.0, 0.0, 2.0, 2.0] * 9
    >>> members = [("forest", weald.RandomForestRegressor(20)), ("tree", weald.DecisionTreeRegressor())]
    >>> bool(weald.VotingRegressor(members).fit(X, y).predict([[3.0]])[0] > 1.5)
    True

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names: regressors, of weald, of scikit-learn, or pipelines. `fit` fits clones of
        them, except for one in `sklearn.frozen.FrozenEstimator`. "drop" in place of an estimator leaves it out. `set_params`
        and `get_params` know them by their names.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.
    verbose : int, default=0
        Whether the fits of estimators are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators, without those that were dropped.
    named_estimators_ : Bunch
        The fitted estimators by name, and "drop" for those that were left out.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, or if y is a Series
        with a name.

    See Also
    --------
    VotingClassifier : The same for classes and labels, with more notes.
    """

    _is_kind = staticmethod(is_regressor)
    _kinds = "regressors", "VotingClassifier is for classifiers"

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numbers by the mean of the estimators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The predictions, as of `weald.RandomForestRegressor`. They are sparse if those of all estimators with a positive
            weight are.
        """
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 and not is_sparse(mean) else mean

    @of_one_fit
    def score(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
    ) -> float:
        """Return R², averaged over the outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The score, as of `weald.RandomForestRegressor`.
        """
        return r2_of(self, self._mean(X), y, sample_weight, y_weight)

    def _target(self, given: Fit) -> Target:
        rules: dict[str, Any] = {"weights": given.sample_weight, "y_weight": given.y_weight, "masks": True}
        n = checks.count_samples(given.X)
        return targets.numbers(given.y, n, type(self).__name__, warn_column=False, keeps_sparse=True, **rules)

    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        found = model.predict(X)
        if is_sparse(found):
            outputs.check_values(found.data, outputs.called(model, "predict"), is_proba=False)
            return self._checked_width(found, name)
        found = outputs.checked(model, "predict", found, self._n_samples(X))
        return self._checked_width(found.reshape(len(found), -1), name)
