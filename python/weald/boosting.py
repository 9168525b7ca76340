"""Gradient boosting for one or several numerical outputs, classes and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from weald import _weald
from weald import loss as losses
from weald._fit import updates
from weald._fit.base import has_labels, keep
from weald._fit.boosting import BaseBoosting, columns_of
from weald._fit.predictions import BaseClassifier, BaseRegressor, known_target, label_probabilities
from weald._fitted.at_once import of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import check_fitted
from weald._input import checks
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import HasMethods, StrOptions
from weald._input.sparse import has_nan
from weald._input.targets import Target
from weald._parameters import growing as _growing
from weald._parameters import weighting as _weighting
from weald._parameters.growing import derived_seed
from weald._parameters.types import (
    CategoricalFeatures,
    ClassWeight,
    InteractionCst,
    LabelWeight,
    MatrixLike,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    OutputScaling,
    Prediction,
    RandomState,
    available_if,
)
from weald._ranking import outputs, ranks
from weald._rounds import linear_start
from weald._rounds.held_out import EarlyStopping
from weald.linear import LinearClassifier
from weald.projection import Projected
from weald.tree import DecisionTreeRegressor

if TYPE_CHECKING:
    from weald._fit.base import Samples

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]


def _loss_of(estimator: BaseBoosting) -> losses.Loss:
    try:
        return estimator._loss if hasattr(estimator, "_shared") else losses.get(estimator.loss)
    except (TypeError, ValueError) as error:
        raise AttributeError(str(error)) from error


def _has_probabilities(estimator: BaseBoosting) -> bool:
    loss = _loss_of(estimator)
    if loss.link != "half_logit":
        known = " or ".join(repr(name) for name in losses.names("labels") if losses.get(name).link == "half_logit")
        raise AttributeError(f"loss={loss.name!r} has no probabilities: loss must be {known}")
    return True


def _has_levels(estimator: BaseBoosting) -> bool:
    loss = _loss_of(estimator)
    if not loss._levels:
        raise AttributeError(f"loss={loss.name!r} has no quantiles: loss must be weald.loss.Quantile(...)")
    return True


class GradientBoostingRegressor(BaseBoosting, BaseRegressor):
    """Gradient boosting for regression: the first choice for dense or mixed tables with one or many outputs.

    Friedman's gradient boosting (2001): each stage fits a tree to the negative gradients r and adds `learning_rate`
    times the values of its leaves, Newton steps Σ w r / (Σ w h + λ) with second derivatives h, to the scores; or, with
    line searches, a step ρ for each column that minimizes the loss. For many outputs a stage has one tree of random
    combinations (Joly 2016, chapter 6). With `learning_rate<=1`, `subsample=1` and a convex loss, the training loss
    never increases. See `docs/boosting.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> weald.GradientBoostingRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1]).score(X, X[:, 0] * X[:, 1]) > 0.9
    True

    Parameters
    ----------
    loss : str or object, default="squared_error"
        The loss to minimize, summed over the columns of scores: "squared_error", "absolute_error", "quantile", "huber",
        "poisson", "gamma" or "tweedie"; an object of `weald.loss`, which has all losses with formulas and parameters;
        or one of your own, with `loss(y, scores)` and `gradient_hessian(y, scores)`, of which files have no code.
        Predictions are exp(score) for the last three.
    learning_rate : float or "auto", default="auto"
        Factor by which the contribution of each stage is multiplied; the initial constant is not. "auto": 0.07 if
        held-out samples find the number of stages, and 0.05 otherwise. See `docs/boosting.md#how-many-stages`.
    n_estimators : int or "auto", default="auto"
        Number of stages, of one tree each, or of one for each column of scores ("single_target"). "auto", or with early
        stopping: what held-out samples find, up to 1000. Else "auto" is 300, or 100 for 11 to 100 outputs with a tree
        each. See `docs/boosting.md#how-many-stages`.
    output_strategy : {"auto", "projected", "joint", "single_target"} or Projected, default="auto"
        What each stage fits: a tree to a few random combinations of the gradients of all outputs ("projected", or a
        `weald.projection.Projected`), a tree to all ("joint"), or a tree to each ("single_target"). "auto" is the last
        for up to ten columns of scores, and for up to 100 outputs if 30 to 5000 samples differ in X, and otherwise
        "projected". See `docs/boosting.md#output-strategies`.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which the gradients of each output are divided where outputs share trees: "variance", their weighted
        standard deviation before the first stage, or 1 if they are constant; positive numbers; None, none, so that
        outputs with large values decide. The loss is unscaled, importances and `min_impurity_decrease` are scaled. Not
        with `estimator`.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits where outputs share trees, after `output_scaling`: numbers that
        are not negative, one of them positive; only their ratios matter. Losses and leaf values are unweighted. Not
        with `estimator`.
    estimator : regressor of scikit-learn or None, default=None
        Weak model to use instead of trees, which is cloned for each stage, and has its own parameters. It must support
        several outputs with `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output.
    init : estimator or None, default=None
        Model whose predictions are the initial scores, and part of all predictions. It is cloned and fitted to the same
        data, or used as it is in a `sklearn.frozen.FrozenEstimator`. X is float32 for it, dense or sparse.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        How the values of leaves are computed: "newton", by a Newton step for each leaf and column of scores, which is
        halved as long as it increases the loss; "line_search", by mean negative gradients and one step of each column
        for all leaves. With `Projected(relabel_leaves=False)` it is one step of each column; with `estimator`, steps
        are by line search.
    l2_regularization : float or "auto", default="auto"
        The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of
        small weight take shorter steps; "auto": 1, or 8 where trees are for many numbers of which at most half are
        known. It has no effect for "absolute_error", "quantile" and "huber". It is in units of y for "poisson".
    subsample : float or "auto", default="auto"
        Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most
        64 on average are counts, of which some may be drawn. Other weights do not matter to the draw. "auto": 0.7, or 1
        where `l2_regularization="auto"` is 8.
    max_bins : int or None, default=255
        Maximum number of bins for each feature, from 2 to 255. Features with no more distinct values, and categories,
        are split exactly; None: all are.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: no limit.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another
        parameter forbids the split. "auto": 31, and other numbers for some kinds of y and numbers of samples, see
        `docs/boosting.md#how-many-stages`; `max_leaf_nodes_` is the choice.
    max_features : int, float, {"sqrt", "log2", "half", "auto"} or None, default="auto"
        Number of features that each node draws at random from those of the tree: a number, a fraction, their square
        root, their binary logarithm, or "half" of them, rounded up and at least four. None: all. "auto":
        `docs/boosting.md#how-many-stages` has the rule: "half" for numbers and few classes, unless folds say that all
        are better, and otherwise all.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_leaf : float, default=2.0
        Minimum weight on either side of a split, in units of `sample_weight`, which are absolute: `fit` warns if
        weights are so small that this decides the model. In trees of one column with Newton steps, samples count by
        their second derivatives, and a leaf with less than a 2000th of it adds nothing. See
        `docs/determinism.md#sample-weights-are-counts`, and of quantiles `docs/intervals.md#quantiles-by-boosting`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    early_stopping : bool, "auto" or EarlyStopping, default="auto"
        Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best
        one. "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits
        it to all samples.
    scoring : str, callable or None, default=None
        What early stopping monitors: the loss (None), a scorer of scikit-learn by name, or scorer(estimator, X, y),
        where larger is better. A scorer needs samples: `X_val` in `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Fraction of the training samples, whatever their weights, to set aside for early stopping without `X_val` and
        folds.
    n_iter_no_change : int or None, default=None
        Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10
        with early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number so
        far.
    tol : float, default=1e-07
        Minimum improvement that counts for early stopping: of the loss, as a fraction of its absolute value before the
        first stage; with `scoring`, in the unit of the score.
    callbacks : object, list of objects or None, default=None
        Objects whose method on_round(round, train_loss, validation_loss) is called after each round; the last is None
        without validation samples. A true result ends the fit, with the rounds so far. They watch the search for the
        number of stages, and those of scikit-learn (`set_callbacks`) the last fit. See `docs/boosting.md#recipes`.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        For each feature, or by name, 1 or -1 if predictions never decrease or increase as the feature increases, and 0
        without constraint, for all outputs or for each. Of two classes, it is on the probability of the second. Not for
        more classes, categories, unknown values of y, "projected" or what `init` adds.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    warm_start : bool, default=False
        If True, `fit` keeps the stages of the previous fit and what "auto" stood for, and grows only the additional
        stages: on the same data, the model of a single fit with these values.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    n_estimators_, learning_rate_, max_leaf_nodes_, max_features_ : int, float, int or None, and int
        What the parameters stood for: the stages that were kept, their factor, the leaves of each tree, and the
        features that each node draws.
    plan_ : dict
        What the fit was planned to be where nothing was given: the parameters above, `n_estimators` as the largest
        number where held-out samples find it, and `cv` and `n_iter_no_change` of that search, or None.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [StrOptions(set(losses.names("numbers"))), HasMethods(["loss", "gradient_hessian"])],
        **_growing.OUTPUT_FACTORS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    def __init__(
        self,
        *,
        loss: object = "squared_error",
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        output_strategy: Literal["auto", "projected", "joint", "single_target"] | Projected = "auto",
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        estimator: BaseEstimator | None = None,
        init: BaseEstimator | None = None,
        leaf_estimation: Literal["newton", "line_search"] = "newton",
        l2_regularization: float | Literal["auto"] = "auto",
        subsample: float | Literal["auto"] = "auto",
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_features: MaxFeatures | Literal["auto"] = "auto",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | Literal["auto"] | EarlyStopping = "auto",
        scoring: str | Callable[..., float] | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        callbacks: object = None,
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
    def predict(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict numerical outputs: the scores, or their exponentials for losses with the link "log".

        Of several quantiles they are the median, or the one whose level is nearest to 0.5, of two the lower.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets.
        """
        return self._numbers(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    def staged_predict(self, X: MatrixLike) -> Iterator[Float]:
        """Iterate over the predictions after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Yields
        ------
        ndarray
            A new array, in the form of `predict`.
        """
        yield from map(self._numbers, self._staged(X))

    @available_if(_has_levels)
    @of_one_fit
    def predict_quantiles(
        self,
        X: MatrixLike,
        q: ArrayLike | None = None,
        *,
        n_stages: int | None = None,
        base_margin: ArrayLike | None = None,
    ) -> Float:
        """Predict the quantiles of `loss=weald.loss.Quantile(...)`, which do not cross.

        They are the scores of a sample for all levels of an output in increasing order, which never increases the sum
        of their losses (Chernozhukov, Fernández-Val and Galichon, Econometrica 2010). See
        `docs/intervals.md#quantiles-by-boosting`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        q : float, array-like of shape (n_quantiles,) or None, default=None
            Levels among those of the loss, from which they may differ by 1e-9. None: all of them, in increasing order.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            The quantiles in the order of `q`, without the axis of a single output or of a `q` that is a number.
        """
        check_fitted(self)
        fitted = np.array(self._loss._levels)
        levels = fitted if q is None else updates.check_quantiles(q)
        distances = np.abs(np.atleast_1d(levels)[:, np.newaxis] - fitted)
        if len(missing := np.atleast_1d(levels)[distances.min(axis=1) > losses.SAME_LEVEL]):
            raise ValueError(f"q must be among the fitted quantiles {fitted.tolist()}, got {missing[0]:g}")
        found = self._by_level(self._scores(X, n_stages=n_stages, base_margin=base_margin))
        found = found[:, :, distances.argmin(axis=1)]
        found = found[:, :, 0] if levels.ndim == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found

    def _by_level(self, scores: Float) -> Float:
        """The quantiles of scores, of shape (n_samples, n_outputs, n_levels)."""
        return np.sort(scores.reshape(len(scores), self.n_outputs_, -1), axis=2)

    def _lacks(self, levels: list[float]) -> bool:
        """Whether the parameter `loss` lacks one of these levels."""
        own = np.array(losses.get(self.loss)._levels)
        return bool((np.abs(np.array(levels)[:, np.newaxis] - own).min(axis=1) > losses.SAME_LEVEL).any())

    def _numbers(self, scores: Float) -> Float:
        numbers = self._of_scores(scores)
        return numbers[:, 0] if self.n_outputs_ == 1 else numbers

    def _of_scores(self, scores: Float) -> Float:
        if len(levels := self._loss._levels) > 1:
            # The level nearest to that of the median; of two, the lower.
            return self._by_level(scores)[:, :, np.abs(np.array(levels) - 0.5).round(9).argmin()]
        return self._model.to_predictions(scores) if self._model.has_log_link else scores

    def _in_columns(self, target: Target) -> Target:
        levels = losses.get(self.loss)._levels
        return target.with_levels(len(levels)) if len(levels) > 1 else target

    def _known_target(self) -> Target:
        return known_target(self).with_levels(len(self._loss._levels) or 1)


class GradientBoostingClassifier(BaseBoosting, BaseClassifier):
    """Gradient boosting for classification: the first choice for dense or mixed tables with classes or labels.

    It works as `GradientBoostingRegressor`, with a column of scores for each label, one for two classes, and one for
    each of more classes. With `init="linear"` it suits text, too. See `docs/boosting.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> weald.GradientBoostingClassifier(random_state=0).fit(X, X[:, 0] > 0.5).predict([[0.9, 0.5, 0.5]])
    array([ True])

    Parameters
    ----------
    loss : str or object, default="log_loss"
        The loss to minimize, summed over the columns of scores: "log_loss", "exponential", "hinge" or "squared_error";
        an object of `weald.loss`, which has all losses with formulas and parameters; or one of your own, with `loss(y,
        scores)` and `gradient_hessian(y, scores)`, of which files have no code. Classes that share trees have the
        softmax, and others are fitted each against the rest.
    learning_rate : float or "auto", default="auto"
        Factor by which the contribution of each stage is multiplied; the initial constant is not. "auto": 0.05 or 0.07.
        See `docs/boosting.md#how-many-stages`.
    n_estimators : int or "auto", default="auto"
        Number of stages, of one tree each, or of one for each column of scores ("single_target"). "auto", or with early
        stopping: what held-out samples find, up to 1000. Else "auto" is 200. See `docs/boosting.md#how-many-stages`.
    output_strategy : {"auto", "projected", "joint", "single_target"} or Projected, default="auto"
        What each stage fits: a tree to a few random combinations of the gradients of all outputs ("projected", or a
        `weald.projection.Projected`), a tree to all ("joint"), or a tree to each ("single_target"). "auto" is the last
        for up to ten columns of scores, and otherwise "projected". See `docs/boosting.md#output-strategies`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits and in the losses: "balanced", 1 / (p (1 - p)) for a label with a
        fraction p of the known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not
        negative, of which only ratios matter; None, all the same. Only for labels. Leaf values and probabilities are
        unweighted. Not with `estimator`. See `docs/tagging.md#weights-for-rare-tags`.
    estimator : regressor of scikit-learn or None, default=None
        Weak model to use instead of trees, which is cloned for each stage, and has its own parameters. It must support
        several outputs with `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output.
    init : estimator, "linear", "auto" or None, default=None
        Model whose predictions (log-odds, or of `predict_proba`) are the initial scores, and part of all predictions:
        an estimator, cloned and fitted to the same data unless it is a `sklearn.frozen.FrozenEstimator`; "linear", a
        `LinearClassifier`, which helps on sparse text; "auto", "linear" if that helps held-out samples, in about 2.5
        times the time of the stages.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        How the values of leaves are computed: "newton", by a Newton step for each leaf and column of scores, which is
        halved as long as it increases the loss; "line_search", by mean negative gradients and one step of each column
        for all leaves. With `Projected(relabel_leaves=False)` it is one step of each column; with `estimator`, steps
        are by line search.
    l2_regularization : float or "auto", default="auto"
        The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of
        small weight take shorter steps; "auto": 1. For "log_loss" of labels and two classes, 4 corresponds to 1 in
        XGBoost and LightGBM. It has no effect for "hinge".
    subsample : float or "auto", default="auto"
        Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most
        64 on average are counts, of which some may be drawn. Other weights do not matter to the draw. "auto": 0.7 for
        one output of up to ten classes if held-out samples find the number of stages, and otherwise 1.
    max_bins : int or None, default=255
        Maximum number of bins for each feature, from 2 to 255. Features with no more distinct values, and categories,
        are split exactly; None: all are.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: no limit.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another
        parameter forbids the split. "auto": 31, and other numbers for some kinds of y and numbers of samples, see
        `docs/boosting.md#how-many-stages`; `max_leaf_nodes_` is the choice.
    max_features : int, float, {"sqrt", "log2", "half", "auto"} or None, default="auto"
        Number of features that each node draws at random from those of the tree: a number, a fraction, their square
        root, their binary logarithm, or "half" of them, rounded up and at least four. None: all. "auto":
        `docs/boosting.md#how-many-stages` has the rule: "half" for numbers and few classes, unless folds say that all
        are better, and otherwise all.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split; a float is a fraction of the samples, rounded up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split; a float is a fraction of the training samples, rounded up.
    min_weight_leaf : float, default=2.0
        Minimum weight on either side of a split, in units of `sample_weight`, which are absolute: `fit` warns if
        weights are so small that this decides the model. In trees of one column with Newton steps, samples count by
        their second derivatives, and a leaf with less than a 2000th of it adds nothing. See
        `docs/determinism.md#sample-weights-are-counts`, and of quantiles `docs/intervals.md#quantiles-by-boosting`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity by a split, weighted by the node's fraction of the total sample weight.
    early_stopping : bool, "auto" or EarlyStopping, default="auto"
        Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best
        one. "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits
        it to all samples.
    scoring : str, callable or None, default=None
        What early stopping monitors: the loss (None), a scorer of scikit-learn by name, or scorer(estimator, X, y),
        where larger is better. A scorer needs samples: `X_val` in `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Fraction of the training samples, whatever their weights, to set aside for early stopping without `X_val` and
        folds.
    n_iter_no_change : int or None, default=None
        Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10
        with early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number so
        far.
    tol : float, default=1e-07
        Minimum improvement that counts for early stopping: of the loss, as a fraction of its absolute value before the
        first stage; with `scoring`, in the unit of the score.
    callbacks : object, list of objects or None, default=None
        Objects whose method on_round(round, train_loss, validation_loss) is called after each round; the last is None
        without validation samples. A true result ends the fit, with the rounds so far. They watch the search for the
        number of stages, and those of scikit-learn (`set_callbacks`) the last fit. See `docs/boosting.md#recipes`.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories: a mask, indices or names; "from_dtype", the categorical and text
        columns of frames; None, none. Numbers are codes from 0, and negative ones are missing. A split sends a set of
        at most 65,535 categories to the left: see `docs/categories.md`.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        For each feature, or by name, 1 or -1 if predictions never decrease or increase as the feature increases, and 0
        without constraint, for all outputs or for each. Of two classes, it is on the probability of the second. Not for
        more classes, categories, unknown values of y, "projected" or what `init` adds.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may be on one path: those of a group of indices or names (groups may overlap, and the features in
        none are one more), pairs, or each alone. Nodes draw from those that are allowed. None: all.
    warm_start : bool, default=False
        If True, `fit` keeps the stages of the previous fit and what "auto" stood for, and grows only the additional
        stages: on the same data, the model of a single fit with these values.
    class_weight : "balanced", dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        Products that are not multiples of 1/64 are rounded, as `sample_weight` of `fit` is.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    n_estimators_, learning_rate_, max_leaf_nodes_, max_features_ : int, float, int or None, and int
        What the parameters stood for: the stages that were kept, their factor, the leaves of each tree, and the
        features that each node draws.
    plan_ : dict
        What the fit was planned to be where nothing was given: the parameters above, `n_estimators` as the largest
        number where held-out samples find it, and `cv` and `n_iter_no_change` of that search, or None.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    """

    class_weight: ClassWeight
    label_weight: LabelWeight

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [StrOptions(set(losses.names("labels"))), HasMethods(["loss", "gradient_hessian"])],
        "init": [StrOptions({"linear", "auto"}), HasMethods(["fit", "predict"]), None],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **_weighting.LABEL_WEIGHT,
        **BaseClassifier._parameter_constraints,
    }

    def __init__(
        self,
        *,
        loss: object = "log_loss",
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        output_strategy: Literal["auto", "projected", "joint", "single_target"] | Projected = "auto",
        label_weight: LabelWeight = None,
        estimator: BaseEstimator | None = None,
        init: BaseEstimator | Literal["linear", "auto"] | None = None,
        leaf_estimation: Literal["newton", "line_search"] = "newton",
        l2_regularization: float | Literal["auto"] = "auto",
        subsample: float | Literal["auto"] = "auto",
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_features: MaxFeatures | Literal["auto"] = "auto",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_leaf: float = 2.0,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        early_stopping: bool | Literal["auto"] | EarlyStopping = "auto",
        scoring: str | Callable[..., float] | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        callbacks: object = None,
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
    def predict(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict classes or labels: those with a positive `decision_function`, or the class with the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predicted classes, or labels as 0 and 1, of the dtype of y and sparse if y was.
        """
        if self._is_sparse_labels() and n_stages is None and base_margin is None and not self._has_scores():
            return self._predict_in_blocks(X, self._build_labels)
        return self._decided(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)
    @of_one_fit
    def predict_proba(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict probabilities, for losses with the link "half_logit", such as "log_loss" and "exponential".

        With the score f of `decision_function`, they are 1 / (1 + exp(-f)) for "log_loss", 1 / (1 + exp(-2f)) for
        others, divided by their sum over classes, or the softmax.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several
            outputs of classes, an array for each.
        """
        return self._probabilities(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)
    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray or list of ndarray
            In the form of `predict_proba`.
        """
        return super().predict_log_proba(X)

    @of_one_fit
    def decision_function(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Compute the scores. A label, or the second of two classes, is predicted if its score is positive.

        With "log_loss", they are log-odds or the inputs of the softmax; with "squared_error", estimates of 0 and 1 less
        one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            A column for two classes, one for each of more in the order of `classes_`, and one for each label. For
            several outputs of classes, an array for each.
        """
        return self._decisions(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @of_one_fit
    def staged_predict(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the predictions after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Yields
        ------
        ndarray or CSR
            A new array or matrix, in the form of `predict`.
        """
        yield from map(self._decided, self._staged(X))

    @available_if(_has_probabilities)
    @of_one_fit
    def staged_predict_proba(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the predicted probabilities after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Yields
        ------
        ndarray or list of ndarray
            New arrays, in the form of `predict_proba`.
        """
        yield from map(self._probabilities, self._staged(X))

    @of_one_fit
    def staged_decision_function(self, X: MatrixLike) -> Iterator[Any]:
        """Iterate over the scores after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Yields
        ------
        ndarray or list of ndarray
            New arrays, in the form of `decision_function`.
        """
        yield from map(self._decisions, self._staged(X))

    @available_if(lambda estimator: _has_probabilities(estimator) and has_labels(estimator))
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array | sparse.csr_matrix:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix, in blocks of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        min_score : float, default=0
            Minimum probability to store, from 0 to 1. With 0, all probabilities that are not zero are stored.

        Returns
        -------
        CSR of shape (n_samples, n_labels), float64
            A sparse matrix if y was a sparse matrix of scipy, else a sparse array. Column indices are sorted.
        """
        return super().predict_sparse(X, min_score)

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        def of_block(rows: Matrix) -> sparse.csr_array:
            return ranks.at_least(self._probabilities(self._scores_of(rows)), floor)

        return ranks.stacked(X, self.n_outputs_, of_block)

    def _counted(self, target: Target) -> Target:
        return _weighting.that_count(self, target)

    def _of_labels(self, target: Target, weights: Float | None) -> Float | None:
        return _weighting.of_labels(self, target, weights)

    def _has_probabilities(self) -> bool:
        return self._loss.link == "half_logit"

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads, width = self._n_threads(X), self.n_classes_
        if self._label_format is None:
            of_scores = self._decisions if as_margins else self._probabilities
            parts = (ranks.by_class(of_scores(self._scores_of(rows)), width) for rows in ranks.blocks_of(X, width))
            return ranks.ranked_parts(parts, k, marked, n_threads)
        if self._has_scores():
            indices, scores = ranks.k_best(self._scores(X), k, marked, n_threads=n_threads)
        elif self._weak is None and self._init is None:
            indices, scores = self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        else:
            indices, scores = ranks.ranked_parts(map(self._scores_of, ranks.blocks_of(X, width)), k, marked, n_threads)
        return indices, self._of_ranked(scores, as_margins=as_margins)

    def _of_ranked(self, scores: Float, *, as_margins: bool) -> Float:
        """The margins or probabilities of scores of any labels."""
        return (scores - self._threshold) * self._unit() if as_margins else label_probabilities(scores)

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        # Scores with the identity as their link estimate 0 and 1.
        return 0.5 if self._loss.link == "identity" else 0.0

    def _is_softmax(self) -> bool:
        """Whether the loss is that of the softmax over the classes of an output."""
        has_classes = self._label_format is None and (self.n_outputs_ > 1 or self.n_classes_ > 2)
        together = self._shared["output_strategy"] != "single_target"
        return bool(has_classes and together and self._has_softmax())

    def _unit(self) -> float:
        # The scores of the logistic loss are half the log-odds.
        return 2.0 if self._has_softmax() and not self._is_softmax() else 1.0

    def _has_softmax(self) -> bool:
        """Whether the loss is the logistic loss, which is that of the softmax for several classes."""
        return self._loss.name in losses.supporting("softmax")

    def _has_scores(self) -> bool:
        return "_scores_at_stage" in self.__dict__

    def _margins_of(self, estimator: BaseEstimator, X: Matrix) -> Float:
        if isinstance(self.init, str) and isinstance(estimator, LinearClassifier):
            return self._scores_of_linear(estimator, estimator._scores(X))
        has_log_odds = self._loss.link == "half_logit"
        has_proba = has_log_odds and hasattr(estimator, "predict_proba")
        if not has_proba:
            if not hasattr(estimator, "decision_function"):
                methods = f"{'predict_proba or ' if has_log_odds else ''}decision_function"
                raise TypeError(
                    f"init must have the method {methods} after a fit to this y with loss={self._loss.name!r}, got "
                    f"{type(estimator).__name__}"
                )
            found = self._in_order_of_classes(estimator, columns_of(estimator, "decision_function", X))
            return found / self._unit()
        if self._label_format is not None:
            several = self.n_outputs_ > 1
            of = outputs.of_labels if several else columns_of
            return self._scores_of_proba(of(estimator, "predict_proba", X))
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        parts = outputs.probabilities(estimator, X, X.shape[0])
        if len(parts) != len(classes):
            raise ValueError(f"init must predict {len(classes)} output(s) of classes, got {len(parts)}")
        pairs = zip(parts, classes, strict=True)
        wide = np.hstack([outputs.in_columns(part, known, wanted, "init") for (part, known), wanted in pairs])
        is_binary = self.n_outputs_ == 1 and self.n_classes_ == 2
        return self._scores_of_proba(wide[:, 1:] if is_binary else wide)

    def _in_order_of_classes(self, estimator: BaseEstimator, margins: Float) -> Float:
        """Margins of one output of classes, of a classifier whose classes may be in another order."""
        known = getattr(estimator, "classes_", None)
        is_one = self._label_format is None and self.n_outputs_ == 1
        if not is_one or not isinstance(known, np.ndarray) or known.shape != self.classes_.shape:
            return margins
        order = outputs.places_of(self.classes_, known, "y", "init")
        if margins.shape[1] == 1:
            return -margins if len(order) == 2 and order[0] == 1 else margins
        return margins[:, order] if margins.shape[1] == len(order) else margins

    def _scores_of_proba(self, proba: Float) -> Float:
        """Scores in the unit of the stages: logarithms for the softmax, else half the log-odds, for both losses."""
        return linear_start.scores_of_proba(proba, "log" if self._is_softmax() else "half_logit")

    # --- linear starts -----------------------------------------------------------------------------------------------

    def _model_of_start(self) -> BaseEstimator | None:
        return self._linear_model() if isinstance(self.init, str) else super()._model_of_start()

    def _linear_model(self, seed: int = 0) -> LinearClassifier:
        same = {name: getattr(self, name) for name in ("class_weight", "multi_label", "n_jobs")}
        return LinearClassifier(strategy="one_vs_rest", loss="squared_hinge", random_state=seed, **same)

    def _linear_init(
        self, samples: Samples, given: Fit, base_margin: object
    ) -> tuple[LinearClassifier | None, linear_start.HeldOut | None]:
        """The linear model that stages start from, None if "auto" finds that there cannot be one, and held-out scores."""
        has_log_odds, has_categories = self._loss.link == "half_logit", self.is_categorical_ is not None
        fits = has_log_odds and not has_categories and base_margin is None and not has_nan(samples.X)
        if self.init == "auto" and not fits:
            return None, None
        if not has_log_odds:
            raise ValueError(f"init='linear' requires a loss with probabilities, got loss={self._loss.name!r}")
        if has_categories:
            raise ValueError("init='linear' does not support categorical features: encode them, or pass init=None")
        linear = self._linear_model(derived_seed(self._seed, (1,)))
        with checks.named("init"):
            own, folds = linear._fit_with_folds(replace(given, X=samples.X))
            return linear, linear_start.held_out(own.X, folds)

    def _linear_start(
        self,
        samples: Samples,
        weights: Float | None,
        of_labels: Float | None,
        grown: _weald.Boosted | None,
        found: linear_start.HeldOut | None,
    ) -> tuple[Float | None, int]:
        """The scores of the training samples, and the number of stages that are of use.

        `found` are the scores of the linear model by folds, if they are known.
        """
        n_rounds, n_threads = self._most_stages(), self._n_threads()
        linear, n_folds = self._init, linear_start.N_FOLDS
        assert isinstance(linear, LinearClassifier)
        if found is None:
            folds = linear_start.fold_models(linear, samples, n_folds, n_threads)
            found = linear_start.held_out(samples.X, folds)
        start = self._scores_of_linear(linear, found.scores)
        if self.init == "linear":
            return start, n_rounds
        judged = linear_start.Judged.by_fold(samples, weights, found.fold)
        if judged is None:
            return start, n_rounds
        config = self._boost_config(samples.n_positive, samples.target, of_labels)
        config["n_iter_no_change"] = None
        apart = self._scores_of_linear(linear, judged.start(linear, found.scores, n_folds, n_threads))
        useful = linear_start.worth(judged, config, apart, n_threads)
        if grown is not None:
            return start, max(useful.n_stages, grown.n_stages)
        if not useful.start:
            del self._init
            return None, n_rounds
        return start, max(useful.n_stages, 1)

    def _scores_of_linear(self, linear: LinearClassifier, scores: Float) -> Float:
        """Scores of the linear model in the unit of the stages."""
        return linear_start.in_unit_of_stages(linear._model, scores, self._added_of(linear))

    def _added_of(self, linear: LinearClassifier) -> linear_start.Added:
        """What stages that start from this linear model add their values to."""
        if isinstance(self.init, str) and (self._label_format is not None or linear._model.link != "softmax"):
            return "scores"  # half the log-odds, for both
        return "log" if self._is_softmax() else "half_logit"

    def _linear_part(self) -> tuple[_weald.LinearModel, linear_start.Added] | None:
        """The linear model of the same classes or labels that stages start from, by its scores or probabilities."""
        init: Any = self._init.estimator if isinstance(self._init, FrozenEstimator) else self._init
        linear, model = getattr(init, "_model", None), self._model
        if not isinstance(linear, _weald.LinearModel) or not self._has_probabilities():
            return None
        are_alike = (linear.kind, linear.n_outputs, linear.width) == (model.kind, model.n_outputs, model.width)
        return (linear, self._added_of(init)) if are_alike and (linear.n_classes == model.n_classes).all() else None

    def _probabilities(self, scores: Float) -> Prediction:
        return self._by_output(self._model.to_predictions(scores))
