"""Gradient boosting for one or several numerical outputs, classes and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from weald import _weald
from weald import loss as losses
from weald._fit.base import keep
from weald._fit.boosted import columns_of
from weald._fit.boosting import BaseBoosting
from weald._fit.named_outputs import has_labels
from weald._fit.predictions import BaseClassifier, BaseRegressor, label_probabilities
from weald._fitted.at_once import of_one_fit
from weald._input import checks
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import HasMethods, StrOptions
from weald._input.sparse import has_nan
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling as _output_scaling
from weald._parameters.projections import derived_seed
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
from weald._ranking import best, outputs, ranks
from weald._rounds import linear_start
from weald._rounds.early_stopping import EarlyStopping
from weald.linear import LinearClassifier
from weald.projection import Projected
from weald.tree import DecisionTreeRegressor

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._fit.samples import Samples

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]


def _has_probabilities(estimator: BaseModel) -> bool:
    try:
        loss = estimator._loss if hasattr(estimator, "_shared") else losses.get(estimator.loss)
    except (TypeError, ValueError) as error:
        raise AttributeError(str(error)) from error
    if loss.link != "half_logit":
        known = " or ".join(repr(name) for name in losses.names("labels") if losses.get(name).link == "half_logit")
        raise AttributeError(f"loss={loss.name!r} has no probabilities: loss must be {known}")
    return True


def _has_probabilities_of_labels(estimator: BaseModel) -> bool:
    return _has_probabilities(estimator) and has_labels(estimator)


class GradientBoostingRegressor(BaseBoosting, BaseRegressor):
    """Gradient boosting for regression with one or several numerical outputs.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        The loss to minimize, summed over the outputs: "squared_error", "absolute_error", "quantile", "huber", "poisson",
        "gamma" or "tweedie" (half the deviances), or another loss of `weald.loss` for numbers.

        Scores are logarithms, and predictions are exp(f), for losses with the link "log", such as the last three. If all
        values of an output are 0, its initial score is computed as if there were half a sample with y = 1 (or a 64th of
        all samples, if that is less).

        A loss with another parameter is an object of `weald.loss`, such as `weald.loss.Huber(delta=0.5)`; all losses and their
        formulas are there. A loss of your own is an object with the methods `loss(y, scores)` and
        `gradient_hessian(y, scores)`, or a `weald.loss.CustomLoss`, which gives it a name, a domain of y and a link. A pickle
        contains the object. A model file contains its name, domain and link and no code: the model that is loaded predicts the
        same, and needs a loss again for another fit.
    learning_rate : float or "auto", default="auto"
        Factor by which the contribution of each stage is multiplied. The initial constant is not multiplied. "auto": 0.07 if
        folds find the number of stages, see `n_estimators`, or `output_strategy="auto"` gives 11 to 100 outputs a tree each,
        and 0.05 otherwise.
    n_estimators : int or "auto", default="auto"
        Number of stages. With `output_strategy="single_target"`, each stage has one tree for every column of scores.

        "auto": for up to ten outputs, the number with the least mean loss in three folds, or in five of up to
        200 samples, and up to 1000. This takes about three quarters of the time of 300 stages with up to some thousand samples,
        and up to twelve times as long with more samples and without noise. If `output_strategy="auto"` gives 11 to 100 outputs
        a tree each, one of the folds finds it, up to 200. It is 300 for more outputs, with fewer than 30 or more than 20 000
        samples, if one fold has all known values of an output, and with `X_val`, `warm_start`, `estimator`, `init`, `scoring`
        or `early_stopping=False`; for 11 to 100 outputs with a tree each, 100 in these cases.
        With `n_iter_no_change` or `early_stopping`, it is what they find, up to 1000.
    output_strategy : {"auto", "projected", "joint", "single_target"} or Projected, default="auto"
        What each stage fits:

        - "projected" or a `weald.projection.Projected`: one tree, to a few random combinations of the gradients of all outputs;
        - "joint": one tree, to the gradients of all outputs;
        - "single_target": one tree for each output, independently of the other outputs;
        - "auto": "single_target" for up to ten outputs, and for up to 100 outputs if 30 to 5000 samples differ in X, and
          otherwise "projected"; "joint" in its place with `monotonic_cst`, and always with `estimator`.
    output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
        Scale by which the gradients of each output are divided when a tree is grown for several outputs or for combinations
        of them:

        - "variance": the standard deviation of the gradients before the first stage, weighted by `sample_weight` and
          computed from the known values (for "squared_error" this is the standard deviation of y); 1 for a constant output;
        - an array: the scales, finite and positive;
        - None: no scaling. Outputs with large values then dominate the choice of splits.

        Leaf values and steps minimize the unscaled loss. Importances and `min_impurity_decrease` refer to the scaled
        gradients. It takes memory for one table of gradients before the first stage.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Weight of each output in the search for splits: the impurity is the weighted mean of the variances of the gradients,
        after `output_scaling`. The weights must be finite, none of them negative, and at least one positive; only their
        ratios matter. The loss, leaf values and steps are not weighted.
    estimator : regressor of scikit-learn or None, default=None
        Weak model to use instead of trees, which is cloned for each stage. It must support several outputs with
        `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output. Parameters of trees do not apply to
        it.
    init : estimator or None, default=None
        Model whose predictions are the initial scores. It is cloned and fitted to the same data, or used as it is if it is
        wrapped in `sklearn.frozen.FrozenEstimator`. All predictions include it. For a classifier, its `predict_proba` is
        used, or else its `decision_function`, which must return log-odds. It receives X as float32, dense or sparse. For
        sparse text, a linear model ranks labels well, and trees on top of it rank better.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        How the values of leaves are computed:

        - "newton": each leaf and column of scores takes its own Newton step, that is, the sum of the negative gradients of
          the leaf divided by the sum of their second derivatives plus `l2_regularization`. The step is halved as long as
          the loss of the leaf's samples increases.
        - "line_search": leaves hold mean negative gradients, and each column takes one step for all leaves, which minimizes
          the loss over all samples. If leaves need different steps, a single step can overfit samples that are easy to
          separate.

        With `Projected(relabel_leaves=False)`, "newton" is one Newton step of each column along the values of the leaves. With
        `estimator`, steps are always found by line search.
    l2_regularization : float, default=1.0
        The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
        weight take shorter steps. With `Projected(relabel_leaves=False)`, λ is multiplied by the squares of the leaves' values, so
        that their unit does not matter. It has no effect for "absolute_error" and "quantile", whose leaves are medians or
        quantiles of residuals, or for "huber", whose leaves minimize the loss. The second derivatives of "poisson" are
        predictions, in units of y: if these are far below 1, a smaller λ is appropriate.
    subsample : float, default=0.7
        Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most 64 on
        average are counts: a sample of weight 3 is three samples, of which some may be drawn. Other weights do not matter to
        the draw.
    max_bins : int or None, default=255
        Maximum number of bins for each feature, from 2 to 255. Features with at most this number of distinct values are
        split exactly, as are categorical features. None: all features are split exactly.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: no limit.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another
        parameter forbids the split. "auto": 31, except for some numbers of samples. Where folds find the number of stages, see
        `n_estimators`: 8 for up to 1000 samples, and 15 for up to 5000, unless at most half of the samples differ in X. Where 11
        to 100 columns of scores share each tree, without `init`: 63 for more than 2000 samples that differ in X, and 127 for
        more than 5000.
        Where `output_strategy="auto"` gives 11 to 100 outputs a tree each: 8 for up to 1000 samples, and 15 for up to 2000.
    max_features : int, float, {"sqrt", "log2", "half"} or None, default="half"
        Number of features that each node draws at random from the features of the tree: a number, a fraction, their square
        root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features that are
        constant in the node do not count.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_leaf : float, default=2.0
        Minimum weight on either side of a split, in units of `sample_weight`. A sample with weight 2 counts as two here;
        for `min_samples_leaf`, which counts samples, it counts as one.

        A leaf whose second derivatives sum to less than a 2000th of it adds nothing to a column of scores. Weights are absolute,
        here and in `l2_regularization`: with weights that sum to one, these parameters leave no splits, or next to no steps. `fit`
        then warns and names the factor by which to multiply the weights.
        In trees of one column of scores with Newton steps, a sample counts as its second derivative divided by the largest one in
        the stage: with "log_loss", 11 samples with a probability of 0.05 count about as much as 2 samples with a probability of
        1/2.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    early_stopping : bool, "auto" or EarlyStopping, default="auto"
        Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best one.
        "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits it to all
        samples.
    scoring : str, callable or None, default=None
        What early stopping monitors. None: the loss. Otherwise the name of a scorer of scikit-learn, or a callable
        scorer(estimator, X, y) that returns a number, of which larger values are better. A scorer needs samples: `X_val` in
        `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Fraction of the training samples to set aside for early stopping if `fit` gets no validation set. Samples count
        regardless of their weights. They are chosen as those of a fold of `EarlyStopping(cv=...)`, with which this has no effect.
    n_iter_no_change : int or None, default=None
        Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10 with
        early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number of rounds so far.
    tol : float, default=1e-07
        Minimum improvement that counts for early stopping. For the loss, it is a fraction of the absolute value of the
        validation loss before the first stage, and therefore does not depend on the number or the scale of the outputs. With
        `scoring`, it is in the unit of the score.
    callbacks : object, list of objects or None, default=None
        Objects with a method on_round(round, train_loss, validation_loss), which is called after each round with its index,
        from 0, and the losses; `validation_loss` is None without validation samples. If the method returns a true value,
        the fit ends, and the model consists of the rounds so far. If it raises an exception, the fit ends too, and the
        estimator stays as it was.

        With `refit` and `cv` of an `EarlyStopping`, they watch the search for the number of stages, whose losses with `cv` are
        the means over the folds, of some rounds at a time. If one of them ends the search, the best number of stages so far is
        fitted to all samples.

        Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`: each round is a task named "round", after
        which they receive a fitted estimator of the rounds so far, and they can end the fit. With `refit` and `cv`, they watch
        the last fit.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.

        Categorical features are not binned, however many categories they have. `init` and `estimator` receive their codes.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.

        Not supported with `output_strategy="projected"`; "auto" then chooses "single_target" or "joint". What `init` or
        `base_margin` add to the scores is not constrained.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    warm_start : bool, default=False
        If True, `fit` keeps the stages of the previous fit, their constants, and what "auto" stood for, and grows only the
        additional stages, with the same seed. On the same data, the result is the model that a single fit with these values would
        have grown.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    n_estimators_ : int
        The number of stages: `n_estimators`, or fewer if the fit stopped early.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models. Trees are created when they are accessed, and share the memory of the model.
    learning_rate_ : float
        The factor of the contribution of every stage: `learning_rate`, or what "auto" stands for.
    step_sizes_ : ndarray of shape (`n_estimators_`, n_columns)
        The factor of each stage for each column of scores, before `learning_rate_`: 1 if the leaves hold the values that
        they add, 0 if a stage adds nothing to a column.
    start_ : ndarray of shape (n_columns,)
        The constant initial scores.
    train_score_ : ndarray of shape (n_rounds,)
        The loss on the training samples after each round: the mean over the columns of scores of the weighted mean over
        the samples with a known value. Columns without a known value do not count. After an early stop, there are more
        rounds than the `n_estimators_` stages that were kept, unless these were fitted again (see `weald.EarlyStopping`).
    oob_improvement_ : ndarray of shape (n_rounds,)
        The improvement of the loss on the out-of-bag samples by each round: the differences of consecutive `oob_scores_`,
        and for the first round the difference to the loss of its samples before it. It exists only if `subsample` is below
        1.
    oob_scores_ : ndarray of shape (n_rounds,)
        The loss after each round on the samples that the round did not draw, as in `train_score_`. It exists only if
        `subsample` is below 1.
    oob_score_ : float
        The last of `oob_scores_`.
    validation_score_ : ndarray of shape (n_rounds,)
        The loss on the validation samples after each round, a mean like that of `train_score_`. It exists only if there are
        validation samples. With `refit` and `cv` of an `EarlyStopping`, it is that of the search for the number of stages; with
        `cv`, the mean over the folds.
    eval_results_ : dict of str and dict
        For each of the `eval_sets` of `fit`, the "loss", and with `scoring` the "score", after each stage that was kept:
        arrays of shape (`n_estimators_`,). It exists only with `eval_sets`.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    max_features_ : int
        The number of features that each node draws.
    max_leaf_nodes_ : int or None
        The maximum number of leaves of each tree.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.

    Notes
    -----
    This is Friedman's gradient boosting. It starts from the constants that minimize the loss. Each stage fits a tree to the
    negative gradients and adds `learning_rate` times the values of its leaves to the scores. For a leaf and a column of
    scores, the value is the Newton step Σ w r / (Σ w h + λ), with the sample weights w, the negative gradients r and the
    second derivatives h of the samples in the leaf. With line searches, and with other weak models g, each column j has a
    step ρ_j that minimizes the loss along g, and `learning_rate` · ρ_j g is added. With `learning_rate<=1`,
    `subsample=1` and a convex loss, as all named losses are, the training loss never increases, except by rounding.

    With losses whose link is "log", `start_` and the values of leaves are logarithms. Exponential functions are
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

    _member_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [StrOptions(set(losses.names("numbers"))), HasMethods(["loss", "gradient_hessian"])],
        **_output_scaling.CONSTRAINTS,
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
        l2_regularization: float = 1.0,
        subsample: float = 0.7,
        max_bins: int | None = 255,
        max_depth: int | None = None,
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_features: MaxFeatures = "half",
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

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.
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

    def _numbers(self, scores: Float) -> Float:
        numbers = self._of_scores(scores)
        return numbers[:, 0] if self.n_outputs_ == 1 else numbers

    def _of_scores(self, scores: Float) -> Float:
        return self._model.to_predictions(scores) if self._model.has_log_link else scores


class GradientBoostingClassifier(BaseBoosting, BaseClassifier):
    """Gradient boosting for classification with classes or labels.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        The loss to minimize, summed over the columns of scores: "log_loss", "exponential", "hinge" or "squared_error", or
        another loss of `weald.loss` for labels.

        For outputs of three or more classes, and for several outputs of classes, "log_loss" is the log loss of the softmax
        over the columns of the output, except with `output_strategy="single_target"`. With the default
        `output_strategy="auto"`, this is the case for up to ten columns of scores: each class is then fitted against all
        other classes, and probabilities are divided by their sum. Set `output_strategy="joint"` for the softmax. Except
        with the softmax, each class of several is one column against all other classes.

        A loss with another parameter is an object of `weald.loss`, such as `weald.loss.Huber(delta=0.5)`; all losses and their
        formulas are there. A loss of your own is an object with the methods `loss(y, scores)` and
        `gradient_hessian(y, scores)`, or a `weald.loss.CustomLoss`, which gives it a name, a domain of y and a link. A pickle
        contains the object. A model file contains its name, domain and link and no code: the model that is loaded predicts the
        same, and needs a loss again for another fit.
    learning_rate : float or "auto", default="auto"
        Factor by which the contribution of each stage is multiplied. The initial constant is not multiplied. "auto": 0.07
        for more than ten classes, and for several outputs, such as labels, but 0.05 where folds find the number of stages of
        labels, see `n_estimators`; for one output of up to ten classes 0.1 if folds find that number, and 0.05 otherwise; 0.05
        with `init="linear"` and `init="auto"`, which leave less to learn.
    n_estimators : int or "auto", default="auto"
        Number of stages. With `output_strategy="single_target"`, each stage has one tree for every column of scores.

        "auto": for one output of up to ten classes, the number with the least mean loss in three folds, or in
        five of up to 200 samples, and up to 1000. This takes about half as long again as 200 stages, up to fifteen times as
        long where classes can be told apart without error. For labels of 30 to 500 samples
        with fewer features, these folds find it, up to 400. It is 200 for any other y, with fewer than 30 or more than 20 000
        samples, and with `X_val`, `warm_start`, `estimator`, `init`, `scoring` or `early_stopping=False`.
        With `n_iter_no_change` or `early_stopping`, it is what they find, up to 1000.
    output_strategy : {"auto", "projected", "joint", "single_target"} or Projected, default="auto"
        What each stage fits:

        - "projected" or a `weald.projection.Projected`: one tree, to a few random combinations of the gradients of all outputs;
        - "joint": one tree, to the gradients of all outputs;
        - "single_target": one tree for each output, independently of the other outputs;
        - "auto": "single_target" for up to ten columns of scores, and "projected" for more; "joint" in its place with
          `monotonic_cst`, and always with `estimator`. Each of three to ten classes is therefore fitted against all other
          classes, see `loss`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the search for splits and in the losses. Only for labels.

        - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight;
        - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
        - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter. A label with
          weight zero influences neither splits nor losses;
        - None: all labels have the same weight.

        Trees that labels share ("joint" and "projected") are grown on gradients times the square roots of the weights, so
        that the impurity is the weighted mean over the labels and frequent labels do not decide alone. The losses of
        `train_score_`, `validation_score_`, `oob_scores_` and `eval_results_` are weighted means, and early stopping uses
        them. Leaf values and steps are computed for each label separately, where the weight cancels: predicted
        probabilities are not distorted. With `output_strategy="single_target"`, only the losses change. If some values of y
        are unknown, p is the fraction of the samples of which the label is known, and propensities count these.
    estimator : regressor of scikit-learn or None, default=None
        Weak model to use instead of trees, which is cloned for each stage. It must support several outputs with
        `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output. Parameters of trees do not apply to
        it.
    init : estimator, "linear", "auto" or None, default=None
        The model whose predictions are the initial scores.

        - "linear": a `LinearClassifier` with its defaults. The initial scores of training samples are those of linear models of
          the other samples. For sparse text, trees on top of a linear model usually rank labels better than both alone.
          Requires finite X without categories, and a loss with probabilities.
        - "auto": "linear" if it helps, else None. Boosting without and with a linear start is fitted to two thirds of the
          samples. The one whose smallest loss on the other samples is lower is fitted to all samples; with a linear start, by as
          many stages as had the smallest loss, or by one stage if none helps. If linear models do not support X or the loss,
          there is no linear start. Without the linear models, a fit takes about 2.5 times as long.
        - an estimator: it is cloned and fitted to the same data, or used as it is if it is wrapped in
          `sklearn.frozen.FrozenEstimator`. Its `predict_proba` is used, or else its `decision_function`, which must return
          log-odds. It receives X as float32, dense or sparse.

        All predictions include it.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        How the values of leaves are computed:

        - "newton": each leaf and column of scores takes its own Newton step, that is, the sum of the negative gradients of
          the leaf divided by the sum of their second derivatives plus `l2_regularization`. The step is halved as long as
          the loss of the leaf's samples increases.
        - "line_search": leaves hold mean negative gradients, and each column takes one step for all leaves, which minimizes
          the loss over all samples. If leaves need different steps, a single step can overfit samples that are easy to
          separate.

        With `Projected(relabel_leaves=False)`, "newton" is one Newton step of each column along the values of the leaves. With
        `estimator`, steps are always found by line search.
    l2_regularization : float, default=1.0
        The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
        weight take shorter steps. With `Projected(relabel_leaves=False)`, λ is multiplied by the squares of the leaves' values, so
        that their unit does not matter. The second derivatives of "log_loss" for labels and two classes are with respect to
        half the log-odds, 4 p (1 - p): the value 4 corresponds to 1 in XGBoost and LightGBM. It has no effect for "hinge",
        which has no second derivatives: there a leaf takes the step that is best for its samples.
    subsample : float, default=1.0
        Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most 64 on
        average are counts: a sample of weight 3 is three samples, of which some may be drawn. Other weights do not matter to
        the draw.
    max_bins : int or None, default=255
        Maximum number of bins for each feature, from 2 to 255. Features with at most this number of distinct values are
        split exactly, as are categorical features. None: all features are split exactly.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: no limit.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another
        parameter forbids the split. "auto": 31, except for some numbers of samples. Where folds find the number of stages, see
        `n_estimators`: 8 for up to 1000 samples, and 15 for up to 5000, unless at most half of the samples differ in X. Where 11
        to 100 columns of scores share each tree, without `init`: 63 for more than 2000 samples that differ in X, and 127 for
        more than 5000.
    max_features : int, float, {"sqrt", "log2", "half", "auto"} or None, default="auto"
        Number of features that each node draws at random from the features of the tree: a number, a fraction, their square
        root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features that are
        constant in the node do not count.
        "auto": "half" if y has one output of up to ten classes, and all features otherwise.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node must have to be split. A float is a fraction of the training samples, rounded
        up.
    min_samples_leaf : int or float, default=1
        Minimum number of samples on either side of a split. A float is a fraction of the training samples, rounded up.
    min_weight_leaf : float, default=2.0
        Minimum weight on either side of a split, in units of `sample_weight`. A sample with weight 2 counts as two here;
        for `min_samples_leaf`, which counts samples, it counts as one.

        A leaf whose second derivatives sum to less than a 2000th of it adds nothing to a column of scores. Weights are absolute,
        here and in `l2_regularization`: with weights that sum to one, these parameters leave no splits, or next to no steps. `fit`
        then warns and names the factor by which to multiply the weights.
        In trees of one column of scores with Newton steps, a sample counts as its second derivative divided by the largest one in
        the stage: with "log_loss", 11 samples with a probability of 0.05 count about as much as 2 samples with a probability of
        1/2.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total sample weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of impurity that a split must achieve, weighted by the node's fraction of the total sample weight.
    early_stopping : bool, "auto" or EarlyStopping, default="auto"
        Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best one.
        "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits it to all
        samples.
    scoring : str, callable or None, default=None
        What early stopping monitors. None: the loss. Otherwise the name of a scorer of scikit-learn, or a callable
        scorer(estimator, X, y) that returns a number, of which larger values are better. A scorer needs samples: `X_val` in
        `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Fraction of the training samples to set aside for early stopping if `fit` gets no validation set. Samples count
        regardless of their weights. They are chosen as those of a fold of `EarlyStopping(cv=...)`, with which this has no effect.
    n_iter_no_change : int or None, default=None
        Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10 with
        early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number of rounds so far.
    tol : float, default=1e-07
        Minimum improvement that counts for early stopping. For the loss, it is a fraction of the absolute value of the
        validation loss before the first stage, and therefore does not depend on the number or the scale of the outputs. With
        `scoring`, it is in the unit of the score.
    callbacks : object, list of objects or None, default=None
        Objects with a method on_round(round, train_loss, validation_loss), which is called after each round with its index,
        from 0, and the losses; `validation_loss` is None without validation samples. If the method returns a true value,
        the fit ends, and the model consists of the rounds so far. If it raises an exception, the fit ends too, and the
        estimator stays as it was.

        With `refit` and `cv` of an `EarlyStopping`, they watch the search for the number of stages, whose losses with `cv` are
        the means over the folds, of some rounds at a time. If one of them ends the search, the best number of stages so far is
        fitted to all samples.

        Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`: each round is a task named "round", after
        which they receive a fitted estimator of the rounds so far, and they can end the fit. With `refit` and `cv`, they watch
        the last fit.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to treat as unordered categories:

        - a boolean mask of length n_features, a list of indices, or a list of feature names;
        - "from_dtype": the categorical and string columns of pandas, polars and pyarrow frames;
        - None: no feature is treated as categorical.

        A split on such a feature sends a set of categories to the left. Strings and values of a categorical dtype are
        recognized by value: see `categories_`. A feature has either strings or numbers as categories. Numerical columns
        must hold codes, which are whole numbers from 0; negative ones, such as the code -1 of pandas, are missing. In
        sparse X an entry that is not stored is category 0. A feature may have at most 65,535 categories. Missing
        categories, and categories that are unknown at prediction, go to the side to which the split sends categories that
        it has not seen.

        For one numerical output or two classes, the best set is found (Fisher 1958). It is at the beginning or at the end
        of the categories in the order of their means. If this set leaves a side too small (`min_samples_leaf`,
        `min_weight_leaf`, `min_weight_fraction_leaf`), or has a sum of zero with `criterion="poisson"`, all sets are tried
        if a node has at most 8 categories, so that the best permitted set is found; with up to 64 categories, all sets are
        tried that differ by one category from a beginning of the order, and with more, its beginnings alone, so that a
        better permitted set can be missed. For several outputs, it is the best set along the direction in which the means
        of the categories differ most, or the best of all sets if a node has at most 8 categories. An exception is
        `criterion="absolute_error"`, where the best set can be missed.

        To compare features, the decrease of impurity by a set is reduced by what the best of K categories gains by chance: by
        2/π (K - 2) times the impurity ÷ the weight of the node, times the share of the variation between the means that is along
        the direction, for several outputs. A feature with many categories that tell nothing is thus not better than others. The
        best set of a feature stays the best, and if a node has no other split, it is made.

        Categorical features are not binned, however many categories they have. `init` and `estimator` receive their codes.
    monotonic_cst : array-like of shape (n_features,) or (n_features, n_outputs), dict or None, default=None
        Monotonic constraint of each feature, for all outputs or for each output:

        - 1: the prediction never decreases as the feature increases;
        - -1: the prediction never increases as the feature increases;
        - 0: no constraint.

        A dict maps feature names to constraints; the other features have none. With two classes, the constraint is on the
        probability of the second class. Constraints are not supported with more than two classes, on categorical features,
        with output projections, or with unknown values of y.

        Not supported with `output_strategy="projected"`; "auto" then chooses "single_target" or "joint". What `init` or
        `base_margin` add to the scores is not constrained.
    interaction_cst : {"pairwise", "no_interactions"}, sequence of groups of features or None, default=None
        Which features may interact, that is, appear on the same path from the root to a leaf:

        - a sequence of groups, each a list, tuple or set of feature indices or names: the features on a path must belong to
          the same group. A feature may be in several groups. Features that are in no group form one more group;
        - "pairwise": all pairs of features; "no_interactions": each feature alone;
        - None: all features may interact.

        If a node draws features at random, it draws from those that are allowed there.
    warm_start : bool, default=False
        If True, `fit` keeps the stages of the previous fit, their constants, and what "auto" stood for, and grows only the
        additional stages, with the same seed. On the same data, the result is the model that a single fit with these values would
        have grown.
    class_weight : "balanced", dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        Products that are not multiples of 1/64 are rounded: see `sample_weight` of `fit`.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted:

        - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
        - False: each column is an output of classes.
        - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
          or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
          values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    n_estimators_ : int
        The number of stages: `n_estimators`, or fewer if the fit stopped early.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models. Trees are created when they are accessed, and share the memory of the model.
    learning_rate_ : float
        The factor of the contribution of every stage: `learning_rate`, or what "auto" stands for.
    step_sizes_ : ndarray of shape (`n_estimators_`, n_columns)
        The factor of each stage for each column of scores, before `learning_rate_`: 1 if the leaves hold the values that
        they add, 0 if a stage adds nothing to a column.
    start_ : ndarray of shape (n_columns,)
        The constant initial scores.
    train_score_ : ndarray of shape (n_rounds,)
        The loss on the training samples after each round: the mean over the columns of scores of the weighted mean over
        the samples with a known value. Columns without a known value do not count. After an early stop, there are more
        rounds than the `n_estimators_` stages that were kept, unless these were fitted again (see `weald.EarlyStopping`).
    oob_improvement_ : ndarray of shape (n_rounds,)
        The improvement of the loss on the out-of-bag samples by each round: the differences of consecutive `oob_scores_`,
        and for the first round the difference to the loss of its samples before it. It exists only if `subsample` is below
        1.
    oob_scores_ : ndarray of shape (n_rounds,)
        The loss after each round on the samples that the round did not draw, as in `train_score_`. It exists only if
        `subsample` is below 1.
    oob_score_ : float
        The last of `oob_scores_`.
    validation_score_ : ndarray of shape (n_rounds,)
        The loss on the validation samples after each round, a mean like that of `train_score_`. It exists only if there are
        validation samples. With `refit` and `cv` of an `EarlyStopping`, it is that of the search for the number of stages; with
        `cv`, the mean over the folds.
    eval_results_ : dict of str and dict
        For each of the `eval_sets` of `fit`, the "loss", and with `scoring` the "score", after each stage that was kept:
        arrays of shape (`n_estimators_`,). It exists only with `eval_sets`.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.
    max_features_ : int
        The number of features that each node draws.
    max_leaf_nodes_ : int or None
        The maximum number of leaves of each tree.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.

    Notes
    -----
    This is Friedman's gradient boosting. It starts from the constants that minimize the loss. Each stage fits a tree to the
    negative gradients and adds `learning_rate` times the values of its leaves to the scores. For a leaf and a column of
    scores, the value is the Newton step Σ w r / (Σ w h + λ), with the sample weights w, the negative gradients r and the
    second derivatives h of the samples in the leaf. With line searches, and with other weak models g, each column j has a
    step ρ_j that minimizes the loss along g, and `learning_rate` · ρ_j g is added. With `learning_rate<=1`,
    `subsample=1` and a convex loss, as all named losses are, the training loss never increases, except by rounding.

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
        "loss": [StrOptions(set(losses.names("labels"))), HasMethods(["loss", "gradient_hessian"])],
        "init": [StrOptions({"linear", "auto"}), HasMethods(["fit", "predict"]), None],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **_label_weight.CONSTRAINTS,
        **BaseClassifier._parameter_constraints,
        "max_features": [*BaseBoosting._parameter_constraints["max_features"], StrOptions({"auto"})],
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
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
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
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.
        n_stages : int or None, default=None
            Use only the first `n_stages` stages, from 0 to `n_estimators_`. None: use all stages.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of these samples, which are added to the scores of the stages; see `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predicted classes, or the predicted labels as 0 and 1. Labels have the dtype of y, and are sparse if y was. A
            sparse result is computed in blocks of samples, so that no dense array of all samples is held.
        """
        if self._is_sparse_labels() and n_stages is None and base_margin is None and not self._has_scores():
            return self._predict_in_blocks(X, self._build_labels)
        return self._decided(self._scores(X, n_stages=n_stages, base_margin=base_margin))

    @available_if(_has_probabilities)
    @of_one_fit
    def predict_proba(
        self, X: MatrixLike, *, n_stages: int | None = None, base_margin: ArrayLike | None = None
    ) -> Prediction:
        """Predict probabilities. Only with losses whose link is "half_logit", such as "log_loss" and "exponential".

        With the score f of `decision_function`, the probability is 1 / (1 + exp(-f)) for "log_loss" and
        1 / (1 + exp(-2f)) for the others; the probabilities of several classes are divided by their sum. If the loss
        is that of the softmax, the probabilities are the softmax of the scores.

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
        ndarray of shape (n_samples, n_classes)
            For one output of classes. Columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output, as in scikit-learn.
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

        With "log_loss", scores are log-odds, or the inputs of the softmax for outputs with such a loss. With
        "squared_error", scores are the estimates of 0 and 1 minus one half.

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
        ndarray of shape (n_samples,)
            For two classes.
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            For one output of more classes, in the order of `classes_`; for labels.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output.
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

    @available_if(_has_probabilities_of_labels)
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array | sparse.csr_matrix:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix.

        Only after a fit on labels, with losses that have `predict_proba`. All labels have probabilities, which
        are computed in blocks of samples: it takes the time of `predict_proba` and the memory of the result.

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

        Raises
        ------
        ValueError
            If `min_score` is out of range.
        """
        return super().predict_sparse(X, min_score)

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        def of_block(rows: Matrix) -> sparse.csr_array:
            return best.at_least(self._probabilities(self._scores_of(rows)), floor)

        return best.stacked(X, self.n_outputs_, of_block)

    def _has_probabilities(self) -> bool:
        return self._loss.link == "half_logit"

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads, width = self._n_threads(X), self.n_classes_
        if self._label_format is None:
            of_scores = self._decisions if as_margins else self._probabilities
            of_block = lambda rows: best.by_class(of_scores(self._scores_of(rows)), width)  # noqa: E731
            return best.ranked_blocks(X, k, width, marked, n_threads, of_block)
        if self._has_scores():
            indices, scores = ranks.k_best(self._scores(X), k, marked, n_threads=n_threads)
        elif self._weak is None and self._init is None:
            indices, scores = self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        else:
            indices, scores = best.ranked_blocks(X, k, width, marked, n_threads, self._scores_of)
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
            found = self._in_order_of_classes(estimator, columns_of(estimator.decision_function(X), X.shape[0]))
            return found / self._unit()
        if self._label_format is not None:
            several = self.n_outputs_ > 1
            proba = outputs.of_labels(estimator, "predict_proba", X) if several else estimator.predict_proba(X)
            return self._scores_of_proba(columns_of(proba, X.shape[0]))
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
        return LinearClassifier(
            class_weight=self.class_weight, multi_label=self.multi_label, n_jobs=self.n_jobs, random_state=seed
        )

    def _linear_init(
        self, samples: Samples, y: Any, sample_weight: Any, y_mask: Any, *, base_margin: object
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
            own, folds = linear._fit_with_folds(samples.X, y, sample_weight, y_mask)
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
        if self.init == "linear" or grown is not None:
            return start, n_rounds
        judged = linear_start.Judged.by_fold(samples, weights, found.fold)
        if judged is None:
            return start, n_rounds
        config = self._boost_config(samples.n_positive, samples.target, of_labels)
        config["n_iter_no_change"] = None
        apart = self._scores_of_linear(linear, judged.start(linear, found.scores, n_folds, n_threads))
        useful = linear_start.worth(judged, config, apart, n_threads)
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
        init = self._init.estimator if isinstance(self._init, FrozenEstimator) else self._init
        if not isinstance(init, LinearClassifier) or not self._has_probabilities():
            return None
        linear, model = init._model, self._model
        are_alike = (linear.kind, linear.n_outputs, linear.width) == (model.kind, model.n_outputs, model.width)
        return (linear, self._added_of(init)) if are_alike and (linear.n_classes == model.n_classes).all() else None

    def _decisions(self, scores: Float) -> Prediction:
        scores = self._by_output((scores - self._threshold) * self._unit())
        is_single = self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ <= 2
        return scores[:, 0] if is_single else scores

    def _probabilities(self, scores: Float) -> Prediction:
        return self._by_output(self._model.to_predictions(scores))
