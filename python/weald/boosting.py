"""Gradient boosting for one or several numerical outputs, classes and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import HasMethods, StrOptions

from weald._docs.boosting import BOOSTING, BOOSTING_CLASSIFIERS, BOOSTING_REGRESSORS
from weald._docs.compose import documented, documented_by
from weald._docs.estimators import SHARED
from weald._fit.at_once import of_one_fit
from weald._fit.base import keep
from weald._fit.boosted import columns_of
from weald._fit.boosting import BaseBoosting
from weald._fit.boosting_checks import name_of
from weald._fit.label_scores import of_one_label
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.proof import check_fitted
from weald._input.checks import Float, Matrix, Number
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling as _output_scaling
from weald._parameters.types import (
    CategoricalFeatures,
    ClassWeight,
    InteractionCst,
    LabelWeight,
    MatrixLike,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    NProjections,
    OutputProjection,
    OutputScaling,
    Prediction,
    RandomState,
    available_if,
)
from weald._ranking import best, ranks
from weald.tree import DecisionTreeRegressor

_WITH_PROBABILITIES = {"log_loss", "exponential"}
# Probabilities of `init` are clipped to this distance from 0 and 1 before they become scores.
_LEAST_PROBABILITY = 1e-6


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator._shared["loss"] if hasattr(estimator, "_shared") else name_of(estimator.loss)
    if loss not in _WITH_PROBABILITIES:
        raise AttributeError(f"loss={loss!r} has no probabilities: loss must be 'exponential' or 'log_loss'")
    return True


def _has_labels(estimator: Any) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


def _has_probabilities_of_labels(estimator: Any) -> bool:
    return _has_probabilities(estimator) and _has_labels(estimator)


@documented_by(SHARED, BOOSTING, BOOSTING_REGRESSORS)
class GradientBoostingRegressor(BaseBoosting, BaseRegressor):
    """Gradient boosting for regression with one or several numerical outputs.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {algorithm}

    With "poisson", "gamma" and "tweedie", `start_` and the values of leaves are logarithms. Exponential functions are
    continued by their tangents for exponents above 345, so that gradients do not overflow, and predictions never exceed
    the largest float64.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 6; J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
    Statistics 2001; R. Koenker and G. Bassett, *Regression quantiles*, Econometrica 1978; P. Huber, *Robust estimation
    of a location parameter*, Annals of Mathematical Statistics 1964; B. Jørgensen, *The theory of dispersion models*,
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 5))
    >>> Y = np.sin(3 * X[:, [0]] + np.arange(50) / 10)  # 50 outputs
    >>> boosting = weald.GradientBoostingRegressor(learning_rate=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> boosting.predict(X[200:]).shape
    (100, 50)
    >>> boosting.score(X[200:], Y[200:]) > 0.9
    True
    """

    quantile: float | ArrayLike
    huber_delta: float
    tweedie_power: float

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [
            StrOptions({"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"}),
            HasMethods(["loss", "gradient_hessian"]),
        ],
        "quantile": [Number(Real, 0.0, 1.0, closed="neither"), "array-like"],
        "huber_delta": [Number(Real, 0.0, None, closed="neither")],
        "tweedie_power": [Number(Real, 1.0, 2.0, closed="neither")],
        **_output_scaling.CONSTRAINTS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: float | ArrayLike = 0.5,
        huber_delta: float = 1.0,
        tweedie_power: float = 1.5,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: Literal["auto", "projected", "joint", "single_target"] = "auto",
        output_projection: OutputProjection = "gaussian",
        n_projections: NProjections = 1,
        relabel_leaves: bool = True,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        estimator: Any = None,
        init: Any = None,
        init_cv: int | None = None,
        leaf_estimation: Literal["newton", "line_search"] = "newton",
        l2_regularization: float = 1.0,
        min_sum_hessian_in_leaf: float = 1e-3,
        line_search: Literal["newton", "brent"] = "newton",
        step_dtype: Literal["float64", "float8"] = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        max_features: MaxFeatures = None,
        max_features_by_tree: MaxFeatures = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: str | Callable[..., float] | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        callbacks: Any = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    @documented
    def predict(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict numerical outputs: the scores, or their exponentials for "poisson", "gamma" and "tweedie".

        Parameters
        ----------
        {X}
        {n_stages_and_margin}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets.
        """
        return self._numbers(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    @documented
    def staged_predict(self, X: MatrixLike) -> Iterator[Float]:
        """Iterate over the predictions after each stage.

        Parameters
        ----------
        {X_as_in_predict}

        Yields
        ------
        ndarray
            A new array, in the form of `predict`.
        """
        yield from map(self._numbers, self._staged(X))

    def _numbers(self, scores: Float) -> Float:
        if self._model.has_log_link:
            scores = self._model.to_predictions(scores)
        return scores[:, 0] if self.n_outputs_ == 1 else scores


@documented_by(SHARED, BOOSTING, BOOSTING_CLASSIFIERS)
class GradientBoostingClassifier(BaseBoosting, BaseClassifier):
    """Gradient boosting for classification with classes or labels.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {algorithm}

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 6; J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
    Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> boosting = weald.GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, y)
    >>> boosting.score(X, y) > 0.9
    True

    Labels with sparse X and sparse y; the two best labels of each sample:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 1000), density=0.05, random_state=np.random.default_rng(0), format="csr")
    >>> Y = (X[:, :50] != 0).astype(int)
    >>> boosting = weald.GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> indices, scores = boosting.predict_topk(X[:3], k=2)
    >>> indices.shape
    (3, 2)
    """

    class_weight: ClassWeight
    label_weight: LabelWeight

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [
            StrOptions({"log_loss", "exponential", "hinge", "squared_error"}),
            HasMethods(["loss", "gradient_hessian"]),
        ],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **_label_weight.CONSTRAINTS,
        **BaseClassifier._parameter_constraints,
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: Literal["auto", "projected", "joint", "single_target"] = "auto",
        output_projection: OutputProjection = "gaussian",
        n_projections: NProjections = 1,
        relabel_leaves: bool = True,
        label_weight: LabelWeight = None,
        estimator: Any = None,
        init: Any = None,
        init_cv: int | None = None,
        leaf_estimation: Literal["newton", "line_search"] = "newton",
        l2_regularization: float = 1.0,
        min_sum_hessian_in_leaf: float = 1e-3,
        line_search: Literal["newton", "brent"] = "newton",
        step_dtype: Literal["float64", "float8"] = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        max_features: MaxFeatures = None,
        max_features_by_tree: MaxFeatures = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | Literal["auto"] = "auto",
        scoring: str | Callable[..., float] | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        callbacks: Any = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: bool = False,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    @documented
    def predict(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict classes or labels: those with a positive `decision_function`, or the class with the largest score.

        Parameters
        ----------
        {X}
        {n_stages_and_margin}

        Returns
        -------
        {of_the_type_of_y}
        """
        if self._is_sparse_labels() and n_stages is None and base_margin is None and not self._has_scores():
            return self._predict_in_blocks(X, self._build_labels)
        return self._decided(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)
    @of_one_fit
    @documented
    def predict_proba(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict probabilities. Only with the losses "log_loss" and "exponential".

        With the score f of `decision_function`, the probability is 1 / (1 + exp(-f)) for "log_loss" and
        1 / (1 + exp(-2f)) for "exponential"; the probabilities of several classes are divided by their sum. If the loss
        is that of the softmax, the probabilities are the softmax of the scores.

        Parameters
        ----------
        {X_as_in_predict}
        {n_stages_and_margin}

        Returns
        -------
        {probabilities}
        """
        return self._probabilities(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)
    @of_one_fit
    @documented
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        {X_as_in_predict}

        Returns
        -------
        ndarray or list of ndarray
            In the form of `predict_proba`.
        """
        return super().predict_log_proba(X)

    @of_one_fit
    @documented
    def decision_function(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Compute the scores. A label, or the second of two classes, is predicted if its score is positive.

        With "log_loss", scores are log-odds, or the inputs of the softmax for outputs with such a loss. With
        "squared_error", scores are the estimates of 0 and 1 minus one half.

        Parameters
        ----------
        {X_as_in_predict}
        {n_stages_and_margin}

        Returns
        -------
        {decisions}
        """
        return self._decisions(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    @documented
    def staged_predict(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the predictions after each stage.

        Parameters
        ----------
        {X_as_in_predict}

        Yields
        ------
        ndarray or CSR
            A new array or matrix, in the form of `predict`.
        """
        yield from map(self._decided, self._staged(X))

    @available_if(_has_probabilities)
    @of_one_fit
    @documented
    def staged_predict_proba(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the predicted probabilities after each stage.

        Parameters
        ----------
        {X_as_in_predict}

        Yields
        ------
        ndarray or list of ndarray
            New arrays, in the form of `predict_proba`.
        """
        yield from map(self._probabilities, self._staged(X))

    @of_one_fit
    @documented
    def staged_decision_function(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the scores after each stage.

        Parameters
        ----------
        {X_as_in_predict}

        Yields
        ------
        ndarray or list of ndarray
            New arrays, in the form of `decision_function`.
        """
        yield from map(self._decisions, self._staged(X))

    @available_if(_has_labels)
    @of_one_fit
    @documented
    def predict_topk(
        self, X: MatrixLike, k: int, *, min_score: float = 0.0, exclude: MatrixLike | None = None
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` labels with the largest scores, without holding all scores. Only after a fit on labels.

        Parameters
        ----------
        {X_as_in_predict}
        k : int
            Number of labels to return, from 1 to the number of labels.
        min_score : float, default=0
            Minimum probability of the labels to return, from 0 to 1. It must be 0 for losses without probabilities.
        {excluded_labels}

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            Indices of labels in decreasing order of the score; of equal ones, the lower index comes first. If
            `min_score` and `exclude` leave fewer than `k` for a sample, the last places are -1.
        scores : float64 ndarray of shape (n_samples, k)
            Their scores, as in `decision_function`; minus infinity where the index is -1.

        Raises
        ------
        {errors_of_topk}
        """
        checked = self._check_predict(X)
        width = self._model.width
        k, floor = best.checked_k(k, width), best.checked_min_score(min_score)
        if floor > 0:
            try:
                _has_probabilities(self)
            except AttributeError as error:
                raise ValueError(f"min_score must be 0 with this loss, got {min_score!r}: {error}") from None
        marked, n_threads = best.pattern(exclude, checked.shape[0], width), self._n_threads(checked)
        if self._weak is None and self._init is None:
            indices, scores = self._model.predict_topk(checked, k, n_threads, ranks.cells_of(marked))
        else:
            indices, scores = ranks.k_best(self._scores_of(checked), k, marked, n_threads=n_threads)
        probabilities = self._label_probabilities(scores) if floor > 0 else None
        decisions = (scores - self._threshold) * self._unit()
        return best.ranked(indices, decisions, floor, probabilities=probabilities, absent=-np.inf)

    @available_if(_has_probabilities_of_labels)
    @documented
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array | sparse.csr_matrix:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix.

        Only after a fit on labels, with the losses "log_loss" and "exponential". All labels have probabilities, which
        are computed in blocks of samples: it takes the time of `predict_proba` and the memory of the result.

        Parameters
        ----------
        {X_as_in_predict}
        {least_stored}

        Returns
        -------
        {sparse_probabilities}

        Raises
        ------
        ValueError
            If `min_score` is out of range.
        """
        return super().predict_sparse(X, min_score)

    def _at_least(self, X: Matrix, floor: float) -> Any:
        def of_block(rows: Matrix) -> Any:
            return best.at_least(self._probabilities(self._scores_of(rows)), floor)

        return best.stacked(X, self.n_outputs_, of_block)

    def _label_probabilities(self, scores: Float) -> Float:
        """Probabilities of scores of any labels: each probability depends only on its score."""
        width = self._model.width
        padded = np.zeros(-(-scores.size // width) * width)
        # Places without a label have the score minus infinity.
        padded[: scores.size] = np.nan_to_num(scores.ravel(), neginf=0.0)
        found: Float = self._model.to_predictions(padded.reshape(-1, width)).ravel()[: scores.size]
        return found.reshape(scores.shape)

    @property
    def _threshold(self) -> float:
        """The raw score above which a label, or the second of two classes, is predicted."""
        return 0.5 if self._shared["loss"] == "squared_error" else 0.0

    def _is_softmax(self) -> bool:
        """Whether the loss is that of the softmax over the classes of an output."""
        has_classes = self._label_format is None and (self.n_outputs_ > 1 or self.n_classes_ > 2)
        together = self._shared["output_strategy"] != "single_target"
        return bool(has_classes and together and self._shared["loss"] == "log_loss")

    def _unit(self) -> float:
        # The scores of the engine's logistic loss are half the log-odds.
        return 2.0 if self._shared["loss"] == "log_loss" and not self._is_softmax() else 1.0

    def _has_scores(self) -> bool:
        return "_scores_at_stage" in self.__dict__

    def _margins_of(self, estimator: Any, X: Matrix) -> Float:
        loss = self._shared["loss"]
        has_proba = loss in _WITH_PROBABILITIES and hasattr(estimator, "predict_proba")
        if not has_proba:
            if not hasattr(estimator, "decision_function"):
                methods = f"{'predict_proba or ' if loss in _WITH_PROBABILITIES else ''}decision_function"
                raise TypeError(
                    f"init must have the method {methods} after a fit to this y with loss={loss!r}, got "
                    f"{type(estimator).__name__}"
                )
            found = columns_of(estimator.decision_function(X), X.shape[0])
            return found / self._unit() if loss in _WITH_PROBABILITIES else found
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            # Several outputs: for labels, the arrays hold the probabilities of their classes.
            if self._label_format is not None:
                proba = [of_one_label(*pair) for pair in zip(proba, estimator.classes_, strict=True)]
            proba = np.column_stack(proba)
        elif self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ == 2:
            proba = columns_of(proba, X.shape[0])[:, 1:]
        p: Float = np.clip(columns_of(proba, X.shape[0]), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        logarithms: Float = np.log(p)
        # Half the log-odds, for both losses.
        return logarithms if self._is_softmax() else 0.5 * (logarithms - np.log1p(-p))

    def _positive(self, X: Matrix) -> NDArray[np.bool_]:
        return self._scores_of(X) > self._threshold

    def _decided(self, scores: Float) -> Any:
        if self._label_format is not None:
            return self._label_format.build(scores > self._threshold)
        if self.n_outputs_ == 1:
            two = self.n_classes_ == 2
            return self.classes_.take(scores[:, 0] > self._threshold if two else scores.argmax(axis=1))
        parts = zip(self.classes_, self._split_outputs(scores), strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in parts], axis=1)

    def _decisions(self, scores: Float) -> Any:
        scores = (scores - self._threshold) * self._unit()
        if self._label_format is not None:
            return scores
        if self.n_outputs_ == 1:
            return scores if self.n_classes_ > 2 else scores[:, 0]
        return self._split_outputs(scores)

    def _probabilities(self, scores: Float) -> Any:
        proba = self._model.to_predictions(scores)
        return proba if self.n_outputs_ == 1 or self._label_format is not None else self._split_outputs(proba)
