"""Gradient boosting for one output or many: numbers, classes and labels."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if

from spinney import _best, _label_weight, _output_scaling
from spinney._at_once import of_one_fit
from spinney._base import BaseClassifier, BaseRegressor
from spinney._boosted import columns_of
from spinney._boosting_checks import name_of
from spinney._boosting_docs import documented
from spinney._boosting_fit import BaseBoosting, keep
from spinney._proof import check_fitted
from spinney._validation import Float, Matrix, Number

_WITH_PROBABILITIES = {"log_loss", "exponential"}
# Probabilities that margins are made of are not nearer to 0 and 1.
_LEAST_PROBABILITY = 1e-6


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator._shared["loss"] if hasattr(estimator, "_shared") else name_of(estimator.loss)
    if loss not in _WITH_PROBABILITIES:
        raise AttributeError(f"loss={loss!r} has no probabilities; those that have: 'exponential', 'log_loss'")
    return True


def _has_labels(estimator: Any) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


def _has_probabilities_of_labels(estimator: Any) -> bool:
    return _has_probabilities(estimator) and _has_labels(estimator)


@documented
class GradientBoostingRegressor(BaseBoosting, BaseRegressor):
    """Gradient boosting for numbers, one or many at once.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        What is minimised, summed over outputs, of y and a score f:

        - "squared_error": (y - f)² / 2;
        - "absolute_error": abs(y - f);
        - "quantile": `quantile` · (y - f) where y is above f, (1 - `quantile`) · (f - y) below;
        - "huber": (y - f)² / 2 up to a residual of `huber_delta`, and `huber_delta` times what is beyond;
        - "poisson": half the Poisson deviance, exp(f) - y f + y log y - y, of y from 0 up;
        - "gamma": half the gamma deviance, y exp(-f) + f - log y - 1, of y above 0;
        - "tweedie": half the Tweedie deviance of `tweedie_power`, of y from 0 up.

        The scores of the last three are logarithms, and predictions exp(f). An output whose y are all 0 starts as if
        half a row of y = 1 were there (or a 64th of all rows, where that is less).

        An object of your own, or one of scikit-learn's, has the methods `loss(y, scores)`, which returns the loss of
        each pair, and `gradient_hessian(y, scores)`, which returns its first and its second derivatives by the score.
        Both get two float64 arrays of shape (n,) and return float64 arrays of shape (n,); n is any number, and the
        pairs are of any rows and outputs, so that each must be computed for itself. They must be finite at the scores
        that samples have; searches also look further, and turn back where they are not. The methods are called on the
        threads of the fit, one at a time, with numpy's warnings of floating point off. Predictions are scores. Stages
        start from the constant that minimises the loss, searched from 0. A model with such a loss can be pickled if the
        object can, and not saved by `spinney.save`.
    quantile : float or array-like of shape (n_outputs,), default=0.5
        The quantile that "quantile" predicts, above 0 and below 1: of all outputs, or one for each. For several
        quantiles of one y, pass as many copies of it as outputs; they may cross.
    huber_delta : float, default=1.0
        Residual at which "huber" goes from squares to absolute values, above 0: a size in units of y, and no share of
        the residuals.
    tweedie_power : float, default=1.5
        Power of the mean that the variance is with "tweedie", above 1 and below 2: near 1 as of "poisson", near 2 as
        of "gamma".
    {learning_rate}
    {n_estimators}
    {output_strategy}
    {output_projection}
    {n_projections}
    {relabel_leaves}
    {output_scaling}
    {output_weights}
    {estimator}
    {init}
    {init_cv}
    {leaf_estimation}
    l2_regularization : float, default=1.0
        Of Newton steps, λ, which is added to the sums of second derivatives of each leaf: leaves of little weight take
        shorter steps. With `relabel_leaves=False`, times the squares of the leaves' numbers, so that their unit has no
        part. It has no part in "absolute_error" and "quantile", whose leaves are the median or quantile of their
        residuals, nor in "huber", whose leaves minimise the loss of their rows. The second derivatives of "poisson" are
        predictions, in units of y: where these are far below 1, a smaller number suits.
    min_sum_hessian_in_leaf : float, default=1e-3
        Of Newton steps, the least sum of second derivatives: a leaf of less adds nothing to that column of scores. It
        has no part in the same losses.
    {line_search}
    {step_dtype}
    {subsample}
    {max_bins}
    {max_depth}
    {max_leaf_nodes}
    {max_features}
    {max_features_by_tree}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_leaf}
    {min_weight_fraction_leaf}
    {min_impurity_decrease}
    {early_stopping}
    {scoring}
    {validation_fraction}
    {n_iter_no_change}
    {tol}
    {callbacks}
    {categorical_features}
    {monotonic_cst}
    {interaction_cst}
    {warm_start}
    {n_jobs}
    {random_state}
    {verbose}

    Attributes
    ----------
    {n_estimators_}
    {estimators_}
    {step_sizes_}
    {start_}
    {train_score_}
    {oob_improvement_}
    {oob_scores_}
    {oob_score_}
    {validation_score_}
    {eval_results_}
    {feature_importances_}
    {max_features_}
    {feature_names_in_}
    {target_names_in_}

    Notes
    -----
    {algorithm}

    With "poisson", "gamma" and "tweedie" `start_` and what trees add are logarithms. Exponentials go on as tangents
    where exponents are beyond 345, so that no gradient overflows, and no prediction is above the largest float64.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 6; J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
    Statistics 2001; R. Koenker and G. Bassett, *Regression quantiles*, Econometrica 1978; P. Huber, *Robust estimation
    of a location parameter*, Annals of Mathematical Statistics 1964; B. Jørgensen, *The theory of dispersion models*,
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 5))
    >>> Y = np.sin(3 * X[:, [0]] + np.arange(50) / 10)  # 50 outputs
    >>> boosting = spinney.GradientBoostingRegressor(learning_rate=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> boosting.predict(X[200:]).shape
    (100, 50)
    >>> boosting.score(X[200:], Y[200:]) > 0.9
    True
    """

    quantile: Any
    huber_delta: float
    tweedie_power: float

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

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        quantile: Any = 0.5,
        huber_delta: float = 1.0,
        tweedie_power: float = 1.5,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: str = "auto",
        output_projection: Any = "gaussian",
        n_projections: Any = 1,
        relabel_leaves: bool = True,
        output_scaling: Any = None,
        output_weights: Any = None,
        estimator: Any = None,
        init: Any = None,
        init_cv: int | None = None,
        leaf_estimation: str = "newton",
        l2_regularization: float = 1.0,
        min_sum_hessian_in_leaf: float = 1e-3,
        line_search: str = "newton",
        step_dtype: str = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        max_features: Any = None,
        max_features_by_tree: Any = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | str = "auto",
        scoring: Any = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        callbacks: Any = None,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: Any, *, n_stages: int | None = None, base_margin: Any = None) -> Float:
        """Predict numbers: scores, or with "poisson", "gamma" and "tweedie" their exponentials.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.
        n_stages : int, default=None
            Of the first stages alone, 0 to `n_estimators_`; None is all.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            What is added to the scores of these rows, as at `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._numbers(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    def staged_predict(self, X: Any) -> Iterator[Float]:
        """Predictions after each stage: a generator of what `predict` returns, each array new."""
        yield from map(self._numbers, self._staged(X))

    def _numbers(self, scores: Float) -> Float:
        if self._model.has_log_link:
            scores = self._model.to_predictions(scores)
        return scores[:, 0] if self.n_outputs_ == 1 else scores


@documented
class GradientBoostingClassifier(BaseBoosting, BaseClassifier):
    """Gradient boosting for classes and labels.

    Parameters
    ----------
    loss : {"log_loss", "exponential", "hinge", "squared_error"} or object, default="log_loss"
        What is minimised, summed over the columns of scores. With y of -1 and +1, "log_loss" is log(1 + exp(-2yf)) of a
        score f, half the log-odds; "exponential" is exp(-yf); "hinge" is max(0, 1 - yf); "squared_error" is half the
        squared error of f as 0 or 1. For outputs of three or more classes, or several outputs of classes, "log_loss"
        is that of the softmax over the output's columns, except with "single_target", which like the other losses sets
        each class against the rest.

        An object of your own has the methods `loss(y, scores)`, which returns the loss of each pair, and
        `gradient_hessian(y, scores)`, which returns its first and its second derivatives by the score; y is 0 or 1, for
        a label or class that is off or on; see `GradientBoostingRegressor`. A label, or the second of
        two classes, is predicted where its score is above 0, and there are no probabilities. A model with such a loss
        can be pickled if the object can, and not saved by `spinney.save`.
    {learning_rate}
    {n_estimators}
    {output_strategy}
    {output_projection}
    {n_projections}
    {relabel_leaves}
    {label_weight}
    {estimator}
    {init}
    {init_cv}
    {leaf_estimation}
    l2_regularization : float, default=1.0
        Of Newton steps, λ, which is added to the sums of second derivatives of each leaf: leaves of little weight take
        shorter steps. With `relabel_leaves=False`, times the squares of the leaves' numbers, so that their unit has no
        part. Second derivatives of "log_loss" of labels and two classes are by half of the log-odds, 4 p (1 - p): a
        number of 4 is what 1 is in XGBoost and LightGBM.
        It has no part in "hinge", which has none: there a leaf takes the best step of its rows.
    min_sum_hessian_in_leaf : float, default=1e-3
        Of Newton steps, the least sum of second derivatives: a leaf of less adds nothing to that column of scores. It
        has no part in the same loss.
    {line_search}
    {step_dtype}
    {subsample}
    {max_bins}
    {max_depth}
    {max_leaf_nodes}
    {max_features}
    {max_features_by_tree}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_leaf}
    {min_weight_fraction_leaf}
    {min_impurity_decrease}
    {early_stopping}
    {scoring}
    {validation_fraction}
    {n_iter_no_change}
    {tol}
    {callbacks}
    {categorical_features}
    {monotonic_cst}
    {interaction_cst}
    {warm_start}
    class_weight : "balanced", dict or list of dict, default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output. Sums of weights that
        are no multiples of 1/64 are rounded: see `sample_weight` of `fit`.
    {multi_label}
    {n_jobs}
    {random_state}
    {verbose}

    Attributes
    ----------
    {n_estimators_}
    {estimators_}
    {step_sizes_}
    {start_}
    {train_score_}
    {oob_improvement_}
    {oob_scores_}
    {oob_score_}
    {validation_score_}
    {eval_results_}
    {classes_}
    {n_classes_}
    {feature_importances_}
    {max_features_}
    {feature_names_in_}
    {target_names_in_}

    Notes
    -----
    {algorithm}

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 6; J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
    Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> boosting = spinney.GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, y)
    >>> boosting.score(X, y) > 0.9
    True

    Labels, sparse on both sides; the two best of each row:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 1000), density=0.05, rng=0, format="csr")
    >>> Y = (X[:, :50] != 0).astype(int)
    >>> boosting = spinney.GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> indices, scores = boosting.predict_topk(X[:3], k=2)
    >>> indices.shape
    (3, 2)
    """

    class_weight: Any
    label_weight: Any
    multi_label: str | bool

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
        loss: str = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: str = "auto",
        output_projection: Any = "gaussian",
        n_projections: Any = 1,
        relabel_leaves: bool = True,
        label_weight: Any = None,
        estimator: Any = None,
        init: Any = None,
        init_cv: int | None = None,
        leaf_estimation: str = "newton",
        l2_regularization: float = 1.0,
        min_sum_hessian_in_leaf: float = 1e-3,
        line_search: str = "newton",
        step_dtype: str = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = 31,
        max_features: Any = None,
        max_features_by_tree: Any = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | str = "auto",
        scoring: Any = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        callbacks: Any = None,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: Any, *, n_stages: int | None = None, base_margin: Any = None) -> Any:
        """Predict classes or labels: those of `decision_function` above zero, or the class whose score is largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.
        n_stages : int, default=None
            Of the first stages alone, 0 to `n_estimators_`; None is all.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            What is added to the scores of these rows, in the unit of `decision_function`, as at `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            Of the type of y: for labels of its dtype, and sparse when y was. A sparse result is built by blocks of
            rows, so that memory is that of the result.
        """
        if self._is_sparse_labels() and n_stages is None and base_margin is None and not self._has_scores():
            return self._predict_in_blocks(X, self._build_labels)
        return self._decided(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_proba(self, X: Any, *, n_stages: int | None = None, base_margin: Any = None) -> Any:
        """Predict probabilities.

        1 / (1 + exp(-f)) of a score f of `decision_function` (with "exponential" of 2f), for several classes divided by
        their sum; the softmax of scores where the loss is that of it. Only with the losses "log_loss" and
        "exponential".

        Parameters
        ----------
        X, n_stages, base_margin
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One output: columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            Labels: the probability that each is 1.
        list of ndarray of shape (n_samples, n_classes)
            Several outputs of classes: one array for each, as in scikit-learn.
        """
        return self._probabilities(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of what `predict_proba` returns; of zero it is minus infinity."""
        return super().predict_log_proba(X)

    @of_one_fit
    def decision_function(self, X: Any, *, n_stages: int | None = None, base_margin: Any = None) -> Any:
        """Scores.

        Of "log_loss" the log-odds of labels and classes, or where several classes are judged together their scores
        before the softmax. Those of "squared_error", which estimate 0 and 1, less one half: a label, or the second of
        two classes, is predicted where its score is above zero, whatever the loss.

        Parameters
        ----------
        X, n_stages, base_margin
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Two classes.
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            One output of more classes, in the order of `classes_`; labels.
        list of ndarray of shape (n_samples, n_classes)
            Several outputs of classes: one array for each.
        """
        return self._decisions(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predictions after each stage: a generator of what `predict` returns, each array new."""
        yield from map(self._decided, self._staged(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @of_one_fit
    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Probabilities after each stage: a generator of what `predict_proba` returns, each array new."""
        yield from map(self._probabilities, self._staged(X))

    @of_one_fit
    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Scores after each stage: a generator of what `decision_function` returns, each array new."""
        yield from map(self._decisions, self._staged(X))

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_topk(
        self, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` labels of largest score, without holding all scores. Only after fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        k : int
            From 1 to the number of labels.
        min_score : float, default=0
            Name none whose probability is below; from 0 to 1. Only 0 with losses that have no probabilities.
        exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
            Labels not to be named: those that are not zero in the row, or a list for all rows.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            The largest score first, the lower index where equal. Where `min_score` and `exclude` leave fewer than `k`,
            -1 in the last places of the row.
        scores : float64 ndarray of shape (n_samples, k)
            As of `decision_function`; minus infinity where the index is -1.

        Raises
        ------
        ValueError, TypeError
            When `k` or `min_score` is out of range, or `exclude` does not fit.
        """
        X = self._check_predict(X)
        width = self._model.width
        k, floor = _best.checked_k(k, width), _best.checked_min_score(min_score)
        if floor > 0:
            try:
                _has_probabilities(self)
            except AttributeError as error:
                raise ValueError(f"min_score is {min_score!r}, but {error}; accepted: 0 with these losses") from None
        marked = _best.pattern(exclude, X.shape[0], width)
        if self._weak is None and self._init is None:
            for_engine = None if marked is None else (marked.indptr, marked.indices, width)
            indices, scores = self._model.predict_topk(X, k, self._n_threads(X), for_engine)
        else:
            indices, scores = _best.best_of_dense(self._scores_of(X), k, marked)
        probabilities = self._label_probabilities(scores) if floor > 0 else None
        decisions = (scores - self._threshold) * self._unit()
        return _best.ranked(indices, decisions, floor, probabilities=probabilities, absent=-np.inf)

    @available_if(_has_probabilities_of_labels)  # type: ignore[untyped-decorator]
    def predict_sparse(self, X: Any, min_score: float = 0.0) -> Any:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix.

        Only after fit on labels, with the losses "log_loss" and "exponential". All labels have probabilities, of which
        those of a block of rows are held at once: cost is that of `predict_proba`, memory that of the result.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        min_score : float, default=0
            Least probability that is stored, from 0 to 1. With 0 all that are not zero.

        Returns
        -------
        CSR of shape (n_samples, n_labels), float64
            A matrix when y was one of scipy's sparse matrices, else an array; indices rise within a row.

        Raises
        ------
        ValueError
            When `min_score` is out of range.
        """
        return super().predict_sparse(X, min_score)

    def _at_least(self, X: Matrix, floor: float) -> Any:
        def of_block(rows: Matrix) -> Any:
            return _best.at_least(self._probabilities(self._scores_of(rows)), floor)

        return _best.stacked(X, self.n_outputs_, of_block)

    def _label_probabilities(self, scores: Float) -> Float:
        """Probabilities of scores of any labels: each is a function of its score alone."""
        width = self._model.width
        padded = np.zeros(-(-scores.size // width) * width)
        # Places without a label.
        padded[: scores.size] = np.nan_to_num(scores.ravel(), neginf=0.0)
        found: Float = self._model.to_predictions(padded.reshape(-1, width)).ravel()[: scores.size]
        return found.reshape(scores.shape)

    @property
    def _threshold(self) -> float:
        """Raw score above which a label, or the second of two classes, is predicted."""
        return 0.5 if self._shared["loss"] == "squared_error" else 0.0

    def _is_softmax(self) -> bool:
        """Whether the classes of an output are judged together."""
        has_classes = self._label_format is None and (self.n_outputs_ > 1 or self.n_classes_ > 2)
        together = self._shared["output_strategy"] != "single_target"
        return bool(has_classes and together and self._shared["loss"] == "log_loss")

    def _unit(self) -> float:
        # The engine's logistic loss is of half the log-odds.
        return 2.0 if self._shared["loss"] == "log_loss" and not self._is_softmax() else 1.0

    def _has_scores(self) -> bool:
        return "_scores_at_stage" in self.__dict__

    def _margins_of(self, estimator: Any, X: Matrix) -> Float:
        if self._shared["loss"] not in _WITH_PROBABILITIES:
            return columns_of(estimator.decision_function(X), X.shape[0])
        if not hasattr(estimator, "predict_proba"):
            return columns_of(estimator.decision_function(X), X.shape[0]) / self._unit()
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            # Several outputs: labels have the probabilities of 0 and 1.
            is_labels = self._label_format is not None
            proba = np.column_stack([part[:, 1] if is_labels else part for part in proba])
        elif self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ == 2:
            proba = np.asarray(proba)[:, 1:]
        p: Float = np.clip(columns_of(proba, X.shape[0]), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        logarithms: Float = np.log(p)
        # Half the log-odds, whatever the loss.
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
