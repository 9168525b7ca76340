"""Boosting for all kinds of y: the fitted model, the parameters and their checks, and the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import isclass, signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from weald import _weald
from weald import loss as losses
from weald._fit import memory, pruning
from weald._fit.base import (
    BINS_CONSTRAINTS,
    BaseEnsemble,
    BaseModel,
    Members,
    Samples,
    as_size,
    n_drawn_features,
    prepare,
    unfitted,
)
from weald._fit.tree import BaseTree
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import PLANNED, BoostedProof, check_fitted
from weald._input import checks, elementary, frames, masks, messages
from weald._input.checks import MOST, Float, Matrix, Number, draw_seed, shown
from weald._input.schema import Schema
from weald._input.sklearn_private import HasMethods, Interval, StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters import growing
from weald._parameters.growing import Growth
from weald._parameters.types import (
    CategoricalFeatures,
    InteractionCst,
    LabelNames,
    MatrixLike,
    RandomState,
    SampleWeight,
    YWeight,
    available_if,
    fit_context,
)
from weald._ranking import outputs
from weald._ranking.scorers import has_gaps
from weald._rounds import held_out, linear_start, rounds
from weald._rounds import held_out as _held_out
from weald._rounds import rounds as _rounds
from weald._rounds.held_out import EarlyStopping, EvalSet, Held
from weald._rounds.rounds import Progress
from weald.loss import CustomLoss, Loss, get
from weald.projection import Projected, RademacherProjection

if TYPE_CHECKING:
    from weald.linear import LinearClassifier


# The attribute of fits to samples on several workers that has a row for each of them.
WORKERS = "workers_"


def grows_trees(estimator: BoostedModel) -> bool:
    if getattr(estimator, "_weak", estimator.estimator) is not None:
        raise AttributeError(
            f"{type(estimator).__name__} with estimator= has no trees, but models of another estimator"
        )
    return True


class BoostedModel(BaseEnsemble):
    """What fitted boosting models for all kinds of y share."""

    _proof = BoostedProof
    _unsaved = (WORKERS,)
    _memory_of_fit = staticmethod(memory.of_boosting)

    n_estimators: int | Literal["auto"]
    categorical_features: CategoricalFeatures
    estimator: BaseEstimator | None
    init: BaseEstimator | Literal["auto", "linear"] | None

    n_estimators_: int
    max_features_: int
    max_leaf_nodes_: int | None
    _model: _weald.Boosted
    # Weak models that are not trees of the engine, one for each stage.
    _weak: list[Any] | None
    # Parameters of the stages so far.
    _shared: dict[str, Any]
    # Losses and scores after each round, including rounds that were not kept.
    _curves: dict[str, Float]
    # For each of the `eval_sets`: its name, and losses and scores after each stage that was kept.
    _eval_curves: tuple[tuple[str, Float, Float | None], ...]
    # The fitted model that stages start from.
    _init: BaseEstimator | None = None
    # Of fits to samples on several workers: a row for each of them; and in checkpoints the release and a digest of the data.
    workers_: list[dict[str, Any]]
    _checkpoint: tuple[str, str]

    @property
    def _has_trees(self) -> bool:  # type: ignore[override]
        return self._weak is None

    @property
    def _scored_by_engine(self) -> bool:  # type: ignore[override]
        return self._weak is None and self._init is None

    @property
    def _forest(self) -> _weald.Forest:  # type: ignore[override]
        forest = self._model.forest
        if forest is None:
            raise AttributeError(f"{type(self).__name__} has no trees with estimator={self.estimator!r}")
        return forest

    def _asked_categories(self) -> object:
        # Weak models of scikit-learn have no categories.
        return None if self.estimator is not None else self.categorical_features

    def _to_matrix(self, X: MatrixLike, *, reset: bool, fitting: bool) -> Matrix:
        weak = self.estimator if reset or fitting else self._weak
        if weak is None:
            return checks.check_X(self, X, reset=reset)
        model = weak[0] if isinstance(weak, list) and weak else self.estimator
        return checks.check_wide_X(self, X, reset=reset, allow_nan=get_tags(model).input_tags.allow_nan)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.allow_nan = checks.tags_of(self.estimator).input_tags.allow_nan
        if getattr(self, "_weak", self.estimator) is not None:
            tags.transformer_tags = None
        return tags

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        state.pop(WORKERS, None)
        if "_model" in state:
            # Fits clone both, unless `init` is frozen.
            state |= {name: unfitted(state[name]) for name in ("estimator", "init")}
        return state

    def _forget(self) -> None:
        """Delete what stages of another number, or with other leaves, do not have."""
        for name in ("_curves", "_checkpoint", WORKERS):
            self.__dict__.pop(name, None)

    def _n_columns(self, target: Target) -> int:
        """The number of columns of scores, which is one for two classes."""
        single = target.kind == "classes" and target.n_outputs == 1
        return 1 if single and len(target.classes[0]) <= 2 else target.n_columns

    # --- initial scores ----------------------------------------------------------------------------------------------

    def _model_of_start(self) -> BaseEstimator | None:
        """The model that stages start from, unfitted; None if it needs no fit."""
        return None if isinstance(self.init, FrozenEstimator | str) else self.init

    def _fitted_init(self, X: Matrix, y: MatrixLike, weights: Float | None) -> BaseEstimator | None:
        """The model that stages start from, which is fitted unless it is frozen."""
        if self.init is None or isinstance(self.init, str):
            return None
        if isclass(self.init):
            raise ValueError(f"init must be an instance, got the class {self.init.__name__}")
        if isinstance(self.init, FrozenEstimator):
            check_takes_codes(self.init)
            self._check_names_of(self.init)
            return self.init
        X, y, weights = checks.without_absent(X, y, weights)
        with checks.named("init"):
            estimator = clone(self.init)
            if weights is not None and not has_fit_parameter(estimator, "sample_weight"):
                name = type(estimator).__name__
                raise ValueError(f"init must support sample_weight in fit, since samples have weights, got {name}")
            estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
        return estimator

    def _check_names_of(self, init: FrozenEstimator) -> None:
        """Raise if the fitted `init` knows features or outputs by other names, or in another order."""
        for what, name in (("X", "feature_names_in_"), ("y", "target_names_in_")):
            names, own = (getattr(model, name, None) for model in (self, init))
            frames.check_same_names(names, own, what, "init was fitted with other names")

    def _start_margins(self, X: Matrix, margins: object, name: str, target: Target | None = None) -> Float | None:
        """Initial scores of samples, of shape (n_samples, n_columns), in the engine's unit."""
        width = self._n_columns(target) if target is not None else self._model.width
        if margins is not None:
            if self._init is not None:
                raise ValueError(f"{name} is not supported with init: one of them must be None")
            margins = checks.floats(margins, name)
            margins = margins[:, np.newaxis] if margins.ndim == 1 else margins
            if margins.shape != (X.shape[0], width):
                raise ValueError(f"{name} must have shape {(X.shape[0], width)}, got an array of shape {margins.shape}")
            if not np.isfinite(margins).all():
                raise ValueError(f"{name} must be finite, got NaN or infinity")
            found = margins / self._unit()
        elif self._init is None:
            return None
        else:
            found = self._margins_of_init(self._init, X, width)
        return np.ascontiguousarray(found, dtype=np.float64)

    def _margins_of_init(self, init: BaseEstimator, X: Matrix, width: int) -> Float:
        with checks.named("init"):
            found = np.repeat(self._margins_of(init, X), len(self._loss._levels) or 1, axis=1)
        if found.shape != (X.shape[0], width) or not np.isfinite(found).all():
            raise ValueError(
                f"init must predict finite numbers of shape {(X.shape[0], width)}, got an array of shape "
                f"{found.shape} from {type(init).__name__}"
            )
        return found

    def _margins_of(self, estimator: BaseEstimator, X: Matrix) -> Float:
        """Scores of another model, in the engine's unit."""
        found = columns_of(estimator, "predict", X)
        if self._loss.link != "log":
            return found
        if not (found > 0).all():
            raise ValueError(
                f"init must predict positive numbers, since the scores of loss={self._loss.name!r} are "
                f"logarithms of predictions, got other numbers from {type(estimator).__name__}"
            )
        return elementary.log(found)

    @property
    def _loss(self) -> Loss:
        """The loss of the stages, without the methods of a loss of the user."""
        return losses.get(self._shared["loss"])

    # --- scores ------------------------------------------------------------------------------------------------------

    def _scores(self, X: MatrixLike, *, n_stages: object = None, base_margin: object = None) -> Float:
        if (scores := self.__dict__.get("_scores_at_stage")) is not None:
            return np.asarray(scores)
        X = self._check_predict(X)
        return self._scores_of(X, n_stages=n_stages, base_margin=base_margin)

    def _scores_of(self, X: Matrix, *, n_stages: object = None, base_margin: object = None) -> Float:
        """Raw scores of checked X, of shape (n_samples, width)."""
        margins = self._start_margins(X, base_margin, "base_margin")
        if self._weak is None:
            model = self._model if n_stages is None else self._model.truncated(self._check_stages(n_stages))
            scores = model.predict_scores(X, self._n_threads(X))
        else:
            n_stages = self.n_estimators_ if n_stages is None else self._check_stages(n_stages)
            scores = self._model.start()[np.newaxis].repeat(X.shape[0], axis=0)
            for _, scores in zip(range(n_stages), self._staged_weak(X), strict=False):  # noqa: B007
                pass
        return scores if margins is None else scores + margins

    def _check_stages(self, n_stages: object, *, least: int = 0) -> int:
        return checks.integer("n_stages", n_stages, least, self.n_estimators_)

    def _staged(self, X: MatrixLike) -> Iterator[Float]:
        """Raw scores after each stage, each a new array."""
        return self._staged_of(self._check_predict(X))

    def _staged_of(self, X: Matrix) -> Iterator[Float]:
        """The same for checked X."""
        X = X.tocsr() if is_sparse(X) and self._weak is None else X
        margins = self._start_margins(X, None, "base_margin")
        staged = self._staged_weak(X) if self._weak is not None else self._model.staged_scores(X, self._n_threads())
        for scores in staged:
            yield scores if margins is None else scores + margins

    def _staged_weak(self, X: Matrix) -> Iterator[Float]:
        scores = self._model.start()[np.newaxis].repeat(X.shape[0], axis=0)
        assert self._weak is not None
        n_targets = self._model.width if self._shared["output_strategy"] == "joint" else 1
        for estimator, step in zip(self._weak, self._shared["learning_rate"] * self._model.step_sizes(), strict=True):
            scores = scores + step * _held_out.of_weak(estimator, X, n_targets)
            yield scores

    # --- attributes of the stages ------------------------------------------------------------------------------------

    def _fitted(self, attribute: str) -> _weald.Boosted:
        """The engine's model. Before a fit, `attribute` does not exist, as for any estimator of scikit-learn."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._model

    @property
    def start_(self) -> Float:
        """The constant initial scores: a copy, of shape (n_columns,)."""
        return self._fitted("start_").start()

    @property
    def learning_rate_(self) -> float:
        """The factor of the contribution of every stage: `learning_rate`, or what "auto" stands for."""
        self._fitted("learning_rate_")
        return float(self._shared["learning_rate"])

    @property
    def step_sizes_(self) -> Float:
        """The factor of each stage for each column of scores, before `learning_rate_`: a copy, (`n_estimators_`, n_columns).

        It is 1 if the leaves hold the values that they add, and 0 if a stage adds nothing to a column.
        """
        return self._fitted("step_sizes_").step_sizes()

    @property
    @of_one_fit
    def train_score_(self) -> Float:
        """The loss on the training samples after each round: a copy, of shape (n_rounds,).

        After an early stop there are more rounds than stages that were kept. See
        `docs/boosting.md#losses-of-several-outputs`.
        """
        losses = self._fitted("train_score_").train_score()
        return self._curve("train", losses)

    @property
    @of_one_fit
    def validation_score_(self) -> Float:
        """The loss on the validation samples after each round, with folds their mean: a copy, of shape (n_rounds,)."""
        losses = self._curve("validation", self._fitted("validation_score_").validation_score())
        if not len(losses):
            raise AttributeError(
                f"{type(self).__name__} has no validation_score_, since it was fitted without validation samples"
            )
        return losses

    @property
    @of_one_fit
    def oob_scores_(self) -> Float:
        """The loss after each round on the samples that the round did not draw: a copy, of shape (n_rounds,).

        It exists only if every round left out samples with known y: with `subsample` below 1, and not after
        `refit_leaves`.
        """
        losses = self._curve("out_of_bag", self._fitted("oob_scores_").oob_score())
        if not len(losses):
            raise AttributeError(
                f"{type(self).__name__} has no oob_scores_, oob_score_ and oob_improvement_, since some rounds left "
                "out no samples; set subsample below 1"
            )
        return losses

    @property
    @of_one_fit
    def oob_score_(self) -> float:
        """The last of `oob_scores_`."""
        return float(self.oob_scores_[-1])

    @property
    @of_one_fit
    def oob_improvement_(self) -> Float:
        """By how much each round improves the loss on its out-of-bag samples: a copy, of shape (n_rounds,)."""
        losses = self.oob_scores_
        first = self._model.oob_improvement()[:1]
        return np.concatenate([first, losses[:-1] - losses[1:]])

    @property
    @of_one_fit
    def validation_metric_(self) -> Float:
        """The score of the validation samples after each round, with `scoring`: a copy, of shape (n_rounds,)."""
        self._fitted("validation_metric_")
        if "score" not in self.__dict__.get("_curves", {}):
            raise AttributeError(
                f"{type(self).__name__} has no validation_metric_, since it was fitted without scoring"
            )
        return self._curves["score"].copy()

    @property
    @of_one_fit
    def eval_results_(self) -> dict[str, dict[str, Float]]:
        """The loss and the score on each of the `eval_sets` after each stage that was kept.

        A dict from the name of each set to a dict of copies of shape (`n_estimators_`,): "loss", a mean like that of
        `validation_score_`, and with `scoring` the "score". After `warm_start`, it has all stages, on the sets of the
        last fit.
        """
        self._fitted("eval_results_")
        if "_eval_curves" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no eval_results_, since it was fitted without eval_sets")
        return {
            name: {"loss": loss.copy()} | ({} if score is None else {"score": score.copy()})
            for name, loss, score in self._eval_curves
        }

    def _curve(self, name: str, kept: Float) -> Float:
        """The losses of all rounds, which begin with those of the stages that were kept."""
        whole: Float | None = self.__dict__.get("_curves", {}).get(name)
        return kept if whole is None else whole.copy()

    def truncated(self, n_stages: int) -> Self:
        """Return the model of the first stages as a new estimator, which shares the trees.

        Parameters
        ----------
        n_stages : int
            Number of stages to keep, from 1 to `n_estimators_`.

        Returns
        -------
        estimator of the same class
            It has the same parameters except `n_estimators`.
        """
        check_fitted(self)
        fitted = self._twin()
        n_stages = fitted._check_stages(n_stages, least=1)
        fitted._forget()
        if "_eval_curves" in fitted.__dict__:
            fitted._eval_curves = tuple(
                (name, loss[:n_stages].copy(), None if score is None else score[:n_stages].copy())
                for name, loss, score in fitted._eval_curves
            )
        fitted._model = fitted._model.truncated(n_stages)
        fitted._weak = None if fitted._weak is None else fitted._weak[:n_stages]
        fitted.n_estimators_ = n_stages
        fitted.n_estimators = n_stages
        shorter: Self = fitted
        return shorter

    @property
    @of_one_fit
    def feature_importances_(self) -> Float:
        """Importance of each feature: its fraction of the total decrease of impurity over all trees, computed at each access.

        The impurity is that of the gradients, which shrink, so that early stages count more. Not available with
        `estimator`.
        """
        check_fitted(self)
        grows_trees(self)
        return self._model.feature_importances()

    def _means_at(self, features: list[int], points: NDArray[np.float32]) -> Float:
        return self._model.partial_dependence(features, points, self._n_threads())

    @property
    @of_one_fit
    def estimators_(self) -> Sequence[Any]:
        """The weak models in the order of the stages, one tree after the other for each column with "single_target".

        Trees are created when they are accessed, share the memory of the model, and predict what the stage adds to the
        scores; with `relabel_leaves=False`, a number that is multiplied by `learning_rate_ * step_sizes_[stage]`.
        """
        check_fitted(self)
        fitted = self._twin()
        return Members(fitted) if fitted._weak is None else list(fitted._weak)

    def _member(self, index: int) -> BaseTree:
        shared = set(self._member_class._get_param_names()) & set(self.get_params(deep=False))
        shared -= {"random_state"}
        params = {name: getattr(self, name) for name in shared}
        params["max_leaf_nodes"] = self.max_leaf_nodes_
        if params["max_features"] == "auto":
            params["max_features"] = None if self.max_features_ == self.n_features_in_ else "half"
        return self._as_member(index, params, self.max_features_)

    def _grows_trees(self) -> bool:
        return grows_trees(self)

    @available_if(grows_trees)
    @of_one_fit
    def apply(self, X: MatrixLike) -> NDArray[np.int64]:
        """Return the index of the leaf that each sample reaches in each tree. Not available with `estimator`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Indices of nodes, with a column for each tree, in the order of the stages.
        """
        return super().apply(X)


def check_takes_codes(init: FrozenEstimator) -> None:
    """Raise for a fitted `init` that knows categories by value, since it receives codes."""
    inner: BaseEstimator = init
    while isinstance(inner, FrozenEstimator | Pipeline):
        inner = inner.estimator if isinstance(inner, FrozenEstimator) else inner[-1]
    if not isinstance(inner, BaseModel):
        return
    for category in Schema.of(inner).categories().values():
        if not category.are_codes:
            raise ValueError(
                f"init must not have categories by value if it is frozen, since it receives their codes, got "
                f"{type(inner).__name__} with categories like {category.values.tolist()[:1]} in feature {category.name}"
            )


def columns_of(estimator: BaseEstimator, method: str, X: Matrix) -> Float:
    """The checked result of a method of another model, with a column for each output."""
    is_proba = method == "predict_proba"
    found = outputs.checked(estimator, method, getattr(estimator, method)(X), X.shape[0], is_proba=is_proba)
    return found.reshape(len(found), -1)


# A leaf adds nothing to a column of scores if its second derivatives sum to less than this share of `min_weight_leaf`: .001
# with the default, as in scikit-learn.
HESSIAN_PER_WEIGHT = 5e-4


@dataclass(frozen=True)
class NoEffect:
    """Parameters, those of objects with a dot, that have no effect in some fits."""

    parameters: tuple[str, ...]
    where: str
    # Of the model, the number of columns of scores, and whether there are validation samples.
    holds: Callable[[BaseBoosting, int, bool], bool]


NO_EFFECT = (
    NoEffect(
        ("output_scaling", "output_weights"),
        'where each output has trees of its own: `output_strategy="single_target"`, or what "auto" stands for',
        lambda model, *_: model._shared["output_strategy"] == "single_target",
    ),
    NoEffect(
        (
            "output_weights",
            "label_weight",
            "Projected.projection",
            "Projected.n_projections",
            "Projected.relabel_leaves",
        ),
        "where there is one column of scores, except with `estimator`",
        lambda model, n_columns, _: n_columns == 1 and model.estimator is None,
    ),
    NoEffect(
        ("output_scaling", "output_weights", "label_weight", "leaf_estimation", "min_weight_leaf"),
        "with `estimator`",
        lambda model, *_: model.estimator is not None,
    ),
    NoEffect(
        ("EarlyStopping.patience_share",),
        "without `cv`, and with `n_iter_no_change`",
        lambda model, *_: model._stops().cv is None or model.n_iter_no_change is not None,
    ),
    NoEffect(("EarlyStopping.refit",), "with `X_val`", lambda *given: given[2]),
)


def check_effects(model: BaseBoosting, n_columns: int, *, has_validation: bool) -> None:
    """Raise for a parameter of the table that is given and has no effect. A default is never refused."""
    objects = {"Projected": model._projected(), "EarlyStopping": model._stops()}
    for row in NO_EFFECT:
        if not row.holds(model, n_columns, has_validation):
            continue
        for name in row.parameters:
            owner, _, field = name.rpartition(".")
            holder = objects.get(owner, model)
            if not hasattr(holder, field):
                continue
            value, default = getattr(holder, field), signature(type(holder)).parameters[field].default
            if value is not default and not np.array_equal(value, default):
                raise ValueError(f"{name} has no effect {row.where}: it must be {default!r}, got {shown(value)}")


def check_masked(boosting: BaseBoosting) -> None:
    """Check for parameters that do not support unknown values."""
    for parameter in ("estimator", "init"):
        value = getattr(boosting, parameter, None)
        if value is not None and not (parameter == "init" and isinstance(value, str)):
            raise ValueError(f"{parameter} does not support y with masked entries: it must be None")


def loss_of(boosting: BoostingParameters) -> Loss:
    """The loss of a fit, after a check that its parameters are those of all outputs or of each."""
    loss = get(boosting.loss)
    values = getattr(loss, "_parameter", None)
    if isinstance(values, tuple) and not loss._levels and len(values) != boosting.n_outputs_:
        raise ValueError(
            f"loss must have one value for all outputs, or {boosting.n_outputs_} of them, one for each output, got "
            f"{len(values)} in {loss!r}"
        )
    return loss


def check_last_fit(boosting: BaseBoosting, *, has_validation: bool, goes_on: bool) -> None:
    """Check for what contradicts a last fit to all samples after early stopping."""
    if boosting._patience() is None:
        return
    stops = boosting._stops()
    if stops.cv is not None and has_validation:
        raise ValueError(f"cv must be None if X_val and y_val are given, which decide when to stop, got {stops.cv!r}")
    if goes_on and (stops.refit or stops.cv is not None):
        name, value = ("cv", stops.cv) if stops.cv is not None else ("refit", stops.refit)
        raise ValueError(
            f"{name} does not support further stages with warm_start=True, since the samples that say when to stop must "
            f"be new to the stages, got {name}={value!r}"
        )


def check_warm_start(boosting: BaseBoosting, before: dict[str, Any], shared: dict[str, Any], n_grown: int) -> None:
    if boosting._most_stages() < n_grown:
        raise ValueError(
            f"n_estimators must be at least {n_grown} with warm_start=True, the number of stages of the fitted model, "
            f"got {boosting.n_estimators}"
        )
    boosting._check_goes_on(before)
    old, init = (None if found is None else type(found).__name__ for found in (before.get("_init"), boosting.init))
    if isinstance(boosting.init, str):  # "auto" may have found that there is none
        init = None if boosting.init == "auto" and old is None else "LinearClassifier"
    known = {**before["_shared"], "init": old}
    for name, value in {**shared, "init": init}.items():
        if known[name] != value:
            raise ValueError(
                f"{name} must be {known[name]!r} with warm_start=True, as in the previous fit, got {value!r}"
            )


# Positive numbers of a larger mean may be counts or rates. Where most are zero, second derivatives are rightly small.
_TINY_MEAN = 0.1


def warn_of_tiny_numbers(boosting: BaseBoosting, target: Target, weights: Float | None) -> None:
    """Warn if y is in so small a unit that regularization decides the model: that of second derivatives, which are in it."""
    loss = get(boosting.loss)
    if boosting.estimator is not None or loss.name not in ("poisson", "tweedie") or target.kind != "numbers":
        return
    least = boosting._least_weights(target.original.shape[0])
    least = {name: amount * (HESSIAN_PER_WEIGHT if name.startswith("min_w") else 1.0) for name, amount in least.items()}
    there = np.ones(target.original.shape[0]) if weights is None else weights
    for j, y in enumerate(np.asarray(target.original, dtype=np.float64).T):
        known = (there > 0) & ~np.isnan(y)
        if target.mask is not None:
            known &= ~masks.dense(target.mask[:, [j]])[:, 0]
        y = y[known]
        mean, of_positive = (float(part.mean()) if len(part) else 0.0 for part in (y, y[y > 0]))
        powers = np.ravel(getattr(loss, "power", 1.0))
        power = float(powers[min(j, len(powers) - 1)])
        if mean <= 0 or of_positive >= _TINY_MEAN:  # y outside the domain is refused later
            continue
        names = [name for name, amount in least.items() if mean ** (2 - power) * len(y) < amount]
        if names:
            messages.warn(
                f"y has a mean of {mean:.3g}{f' in output {j}' if target.n_outputs > 1 else ''}, and the second derivatives of "
                f"loss={loss.name!r} are in its unit, so that {' and '.join(names)} decide{'' if names[1:] else 's'} the "
                "model: multiply y by a factor, so that its mean is about 1, or set these parameters to 0",
                UserWarning,
            )
            return


# Rounds without improvement after which early stopping ends a fit if `n_iter_no_change` is None: as in scikit-learn, and those
# of folds, whose mean loss may rest for longer where there is no noise (see `benches/defaults`).
_PATIENCE, _PATIENCE_OF_FOLDS = 10, 30
# The usual number of leaves, where the parameters do not tell it.
_LEAVES = 31
# What names stand for: where few cells are known, a stage combines one output in twenty.
_PROJECTED, _PROJECTED_FEW, _STOPS = Projected(), Projected(RademacherProjection(20.0)), EarlyStopping()
# The minimum weight of leaves with quantiles is at most this share of the weight of all samples.
_MOST_OF_LEAF = 0.05
# What `n_estimators="auto"` stands for at most.
_MOST_STAGES = 1000


class BoostingParameters(BoostedModel):
    """The parameters that both boosting estimators share, which their constructors set by `keep`."""

    _masks_y = True

    plan_: dict[str, Any]

    # A name, a loss, or an object with the methods of a loss.
    loss: object
    learning_rate: float | Literal["auto"]
    output_strategy: Literal["auto", "projected", "joint", "single_target"] | Projected
    leaf_estimation: Literal["newton", "line_search"]
    l2_regularization: float | Literal["auto"]
    subsample: float | Literal["auto"]
    max_bins: int | None
    min_weight_leaf: float
    early_stopping: bool | Literal["auto"] | EarlyStopping
    scoring: str | Callable[..., float] | None
    validation_fraction: float
    n_iter_no_change: int | None
    tol: float
    callbacks: object
    interaction_cst: InteractionCst
    warm_start: bool
    n_jobs: int | None
    random_state: RandomState
    verbose: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "learning_rate": [Number(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "n_estimators": [Interval(Integral, 1, MOST, closed="both"), StrOptions({"auto"})],
        "output_strategy": [StrOptions({"auto", "projected", "joint", "single_target"}), Projected],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "init": [HasMethods(["fit", "predict"]), None],
        "leaf_estimation": [StrOptions({"newton", "line_search"})],
        "l2_regularization": [Number(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "subsample": [Number(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
        **BINS_CONSTRAINTS,
        "max_leaf_nodes": [*BaseModel._parameter_constraints["max_leaf_nodes"], StrOptions({"auto"})],
        "max_features": [*BaseModel._parameter_constraints["max_features"], StrOptions({"auto"})],
        "min_weight_leaf": [Number(Real, 0.0, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"}), EarlyStopping],
        "scoring": [str, callable, None],
        "validation_fraction": [Number(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Number(Real, 0.0, None, closed="left")],
        "callbacks": [list, tuple, HasMethods("on_round"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _check_parameters(self) -> None:
        loss = losses.get(self.loss)
        kind = "labels" if isinstance(self, ClassifierMixin) else "numbers"
        if kind not in loss.targets:
            of_what = "labels and classes" if isinstance(self, ClassifierMixin) else "numbers"
            raise ValueError(f"loss must be a loss of {of_what}, such as {', '.join(losses.names(kind))}, got {loss!r}")
        if isinstance(loss, CustomLoss) and loss.functions is None:
            raise ValueError(loss._without_methods())
        if not isinstance(self.learning_rate, str) and self.learning_rate > 2:
            told = "stages overshoot further and further: set it to 0.3 or less"
            messages.warn(f"learning_rate is {self.learning_rate}, and above 2 {told}", UserWarning)
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(
                f"estimator= ({name}) does not support callbacks: call set_callbacks without arguments, which removes them"
            )
        for parameter in ("init", "scoring", "callbacks"):
            if getattr(self, parameter) is not None:
                raise ValueError(f"estimator= ({name}) does not support {parameter}: it must be None")
        if isclass(self.estimator):
            name = self.estimator.__name__
            raise ValueError(f"estimator must be an instance, {name}(), got the class {name}")
        if not is_regressor(self.estimator):
            raise ValueError(f"estimator must be a regressor of scikit-learn, got {name}")
        if self._given_strategy() == "single_target" or (self._given_strategy() == "projected" and self._relabels()):
            raise ValueError(
                "output_strategy must be 'auto', 'joint' or Projected(relabel_leaves=False) with estimator, whose models have "
                f"no leaves, got {self.output_strategy!r}"
            )

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        if self.estimator is not None:
            return {}
        leaves = self.max_leaf_nodes
        leaves = _LEAVES if leaves is None or isinstance(leaves, str) else int(leaves)
        leaves = min(leaves, n_samples, 2 ** min(_LEAVES, self.max_depth or _LEAVES))
        values = {"l2_regularization": self._l2(), "min_weight_leaf": float(self.min_weight_leaf)}
        found = {f"{name}={value:g}": leaves * value for name, value in values.items()}
        return found | super()._least_weights(n_samples)

    def _counted(self, target: Target) -> Target:
        """The y that folds and plans count."""
        return target

    def _of_labels(self, target: Target, weights: Float | None) -> Float | None:
        """The weight of each label in the loss, if labels are weighted."""
        return None

    def _l2(self) -> float:
        if self.l2_regularization != "auto":
            return float(self.l2_regularization)
        planned = self.__dict__.get("plan_", {}) if self._plan is None else self._plan
        return float(planned.get("l2_regularization", 1.0))

    def _reads_sparse_y(self, y_weight: YWeight) -> bool:
        """Whether it is y of known values, of which scores alone are computed, and nothing else reads it."""
        if y_weight is None or self.estimator is not None or self.init is not None:
            return False
        loss = losses.get(self.loss)
        return not isinstance(loss, CustomLoss) and not loss._levels and loss._refused(np.array([-1.0, 0.0])) is None

    def _given_strategy(self) -> str:
        return "projected" if isinstance(self.output_strategy, Projected) else self.output_strategy

    def _projected(self) -> Projected:
        """How stages project gradients, if they do."""
        few = self._plan is not None and self._plan["has_few_cells"]
        named = _PROJECTED_FEW if few else _PROJECTED
        return self.output_strategy if isinstance(self.output_strategy, Projected) else named

    def _relabels(self) -> bool:
        """Whether leaves hold a value for every output."""
        return bool(self._projected().relabel_leaves)

    def _stops(self) -> EarlyStopping:
        """How the fit stops early, if it does."""
        return self.early_stopping if isinstance(self.early_stopping, EarlyStopping) else _STOPS

    # What the engine has decided for the current fit where nothing is given.
    _plan: _weald._Plan | None = None

    def _goes_on(self) -> bool:
        """Whether the fit continues a fitted model, in which case "auto" stands for what it stood for there."""
        return self.warm_start and hasattr(self, "_model")

    def _given(self, name: str) -> Any:
        """The value of a parameter, of a model that goes on that of the model; None for "auto"."""
        value = getattr(self, name)
        if not isinstance(value, str) or value != "auto":
            return value
        return self._shared.get(name) if self._goes_on() else None

    def _asks(self, kind: str, n_outputs: int, n_columns: int, *, may_search: bool) -> _weald._Asked:
        """What a plan for y of this kind has to know of the parameters."""
        goes_on, rate, n_stages = self._goes_on(), self._given("learning_rate"), self._given("n_estimators")
        leaves = self.max_leaf_nodes_ if goes_on and self.max_leaf_nodes == "auto" else self._given("max_leaf_nodes")
        is_auto = isinstance(self.max_leaf_nodes, str) and not goes_on
        # A search has found the number, if its losses are not those of the samples that the model is fitted to.
        found = goes_on and "validation" in self.__dict__.get("_curves", {}) and not len(self._model.validation_score())
        if n_stages is None and found and self._asked_patience() is None:
            n_stages = self._model.n_stages
        return {
            "kind": kind,
            "n_outputs": n_outputs,
            "n_columns": n_columns,
            "n_features": self.n_features_in_,
            "output_strategy": None if self._given_strategy() == "auto" else self._given_strategy(),
            "kept": str(self._shared["output_strategy"]) if goes_on else None,
            "has_directions": self.monotonic_cst is not None and growing.has_directions(self),
            "has_weak_models": self.estimator is not None,
            "has_init": self.init is not None,
            "is_linear_init": isinstance(self.init, str),
            "learning_rate": None if rate is None else float(rate),
            "n_estimators": None if n_stages is None else int(n_stages),
            "max_leaf_nodes": None if is_auto else as_size(leaves) or 0,
            "is_free": may_search and self._lets_folds_decide(),
            "patience": self._asked_patience(),
        }

    def _asks_for(self, target: Target, *, may_search: bool) -> _weald._Asked:
        can_differ = target.kind != "classes" or target.n_outputs > 1 or len(target.classes[0]) > 1
        may_search = may_search and can_differ
        return self._asks(target.kind, target.n_outputs, self._n_columns(target), may_search=may_search)

    def _lets_folds_decide(self) -> bool:
        """Whether the number of stages is "auto", and no other parameter says when to stop."""
        is_alone = self.n_estimators == "auto" and self.early_stopping == "auto" and not self.warm_start
        others = (self.n_iter_no_change, self.scoring, self.estimator, self.init)
        return is_alone and all(other is None for other in others)

    def _settle(self, samples: Samples, *, may_search: bool) -> None:
        """Decide what "auto" stands for in the fit to these samples."""
        asked = self._asks_for(samples.target, may_search=may_search)
        if self.estimator is None:
            counted = self._counted(samples.target)
            data = samples.X, counted.engine, (samples.weights, None), counted.known_in_engine
            counts = _weald.counts_of_plan(asked, data, self._seed)
        else:  # nothing about them depends on the samples
            counts = samples.n_positive, samples.n_positive, samples.n_positive, True, False
        plan = self.__dict__["_plan"] = _weald.plan_of_boosting(asked, counts)
        if not isinstance(self.loss, str) and (levels := losses.get(self.loss)._levels) and self.estimator is None:
            plan["min_weight_leaf"] = self._least_of_quantiles(min(levels[0], 1 - levels[-1]), samples)

    def _least_of_quantiles(self, rarer: float, samples: Samples) -> float:
        """The minimum weight of a leaf of quantiles, of which the outermost have the share `rarer` on one side.

        Where rows repeat, so that the mean weight of equal rows is the minimum, leaves may be groups of equal rows.
        """
        least, weights = float(self.min_weight_leaf), samples.weights
        total = samples.n if weights is None else _weald.exact_sums(np.zeros(samples.n, dtype=np.int64), weights, 1)[0]
        if total >= least * len(held_out.different_samples(samples.X, weights)):
            return least
        return max(least, min(least * round((1 - rarer) / rarer, 6), _MOST_OF_LEAF * float(total)))

    def _keep_plan(self) -> None:
        """Keep what "auto" stands for in the fit that ends as `plan_`; the next fit decides anew."""
        plan: Any = self.__dict__.pop("_plan")
        self.plan_ = {name: plan[name] for name in PLANNED}
        if plan["n_iter_no_change"] is None:  # callbacks may have ended the fit
            self.plan_["n_estimators"] = self.n_estimators_

    def _say_plan(self) -> None:
        """Print what "auto" stands for."""
        assert self._plan is not None
        told = ", ".join(f"{name}={self._plan[name]!r}" for name in PLANNED)  # type: ignore[literal-required]
        rounds.say(f"{type(self).__name__}: {told}")

    def _most_stages(self) -> int:
        """The number of stages, or the largest one with early stopping, of a fit whose y is not known yet too."""
        if self._plan is not None:
            return self._plan["n_estimators"]
        return _MOST_STAGES if self.n_estimators == "auto" else int(self.n_estimators)

    def _plans_features(self) -> bool:
        """Whether the plan says how many features a node draws."""
        return isinstance(self.max_features, str) and self.max_features == "auto"

    def _folds(self) -> Any:
        """What folds early stopping has: those of its `cv`, or of "auto"."""
        return self._stops().cv if self._plan is None or self._plan["cv"] is None else self._plan["cv"]

    def _patience(self) -> int | None:
        """The number of rounds without improvement that stops the fit; None without early stopping."""
        return self._asked_patience() if self._plan is None else self._plan["n_iter_no_change"]

    def _asked_patience(self) -> int | None:
        if not self.early_stopping or (self.early_stopping == "auto" and self.n_iter_no_change is None):
            return None
        if self.n_iter_no_change is None:
            return _PATIENCE if self._stops().cv is None else _PATIENCE_OF_FOLDS
        return as_size(self.n_iter_no_change)

    def _boost_config(
        self, n_samples: int, target: Target, of_labels: Float | None = None, *, draws: bool = True
    ) -> _weald._BoostConfig:
        """The parameters in the engine's form. A fit that does not draw projections calls no function for them."""
        projection = None
        strategy = self._shared["output_strategy"]
        if strategy == "projected":
            projected, growth = self._projected(), Growth(self._seed, range(self._most_stages()))
            if not draws and callable(projected.projection):
                projected = Projected(n_projections=projected.n_projections)
            projection = growing.of_stages(projected, self._n_columns(target), growth)
            if projection["n_projections"] > 1 and not self._relabels():
                raise ValueError(
                    "n_projections must be 1 with relabel_leaves=False, since leaves that are not relabeled store a "
                    f"single value, got {projection['n_projections']}"
                )
        tree = self._growth_config(n_samples, "squared_error", self._seed, target.n_outputs)
        tree["max_features"], tree["max_leaf_nodes"] = self.max_features_, self.max_leaf_nodes_
        if self._plan is not None:
            tree["min_weight_leaf"] = self._plan.get("min_weight_leaf", tree["min_weight_leaf"])
        if of_labels is not None:
            tree["output_weights"] = of_labels.tolist()
        if target.n_levels > 1:
            self._repeat(tree, target)
        loss, planned = loss_of(self), self.plan_ if self._plan is None else self._plan
        return {
            "tree": tree,
            "n_estimators": self._most_stages(),
            "learning_rate": self._shared["learning_rate"],
            "loss": loss if isinstance(loss, CustomLoss) else loss.name,
            "loss_parameter": loss._of_columns((0, target.n_columns)),
            "strategy": strategy,
            "output_projection": projection,
            "relabel": self._relabels(),
            "subsample": planned["subsample"] if self.subsample == "auto" else float(self.subsample),
            "leaf_estimation": self.leaf_estimation,
            "features_of_tree": planned.get("features_of_tree", 1.0) if self._plans_features() else 1.0,
            "l2_regularization": self._l2(),
            "min_sum_hessian_in_leaf": HESSIAN_PER_WEIGHT * float(self.min_weight_leaf),
            "max_bins": None if self.max_bins is None else int(self.max_bins),
            "n_iter_no_change": self._patience(),
            "tol": float(self.tol),
        }

    @staticmethod
    def _repeat(tree: Any, target: Target) -> None:
        """Repeat what is given for each output, for each of its levels."""
        for name in ("output_scaling", "output_weights"):
            if isinstance(values := tree[name], list):
                if len(values) != target.n_outputs:
                    of_each = f"{target.n_outputs} value(s), one for each output"
                    raise ValueError(f"{name} must have {of_each}, got {len(values)}")
                tree[name] = np.repeat(values, target.n_levels).tolist()
        if (signs := tree["monotonic_cst"]) is not None and len(signs[0]) > 1:
            tree["monotonic_cst"] = np.repeat(signs, target.n_levels, axis=1).tolist()


@dataclass(frozen=True)
class _Given:
    """The arguments of `fit`, and the tasks of callbacks."""

    fit: Fit
    validation: _held_out.GivenValidation
    base_margin: object
    eval_sets: object
    tasks: _rounds.Tasks | None


@dataclass(frozen=True)
class _Stages:
    """What stages are grown from."""

    samples: Samples
    # The weights of labels.
    of_labels: Float | None
    n_rounds: int
    watched: list[EvalSet]
    callbacks: tuple[Any, ...]
    # The initial scores of the samples.
    start: Float | None = None
    validation: Held | None = None
    # The score of a stage on these samples, and its name.
    score: Callable[[_weald.Boosted, Float], float] | None = None
    scoring: str = "loss"


class BaseBoosting(_rounds.CallbackSupportMixin, BoostingParameters):
    """What boosting for all kinds of y shares."""

    # Of classifiers.
    _linear_init: Callable[..., tuple[LinearClassifier | None, linear_start.HeldOut | None]]
    _linear_start: Callable[..., tuple[Float | None, int]]

    @_rounds.with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        X_val: MatrixLike | None = None,
        y_val: MatrixLike | None = None,
        sample_weight_val: SampleWeight = None,
        base_margin: ArrayLike | None = None,
        base_margin_val: ArrayLike | None = None,
        eval_sets: list[Any] | dict[str, Any] | None = None,
    ) -> Self:
        """Fit the stages to training samples.

        The model depends on the data, the parameters and the seed alone. A stage takes the time of growing its trees,
        O(n_features · n_samples) for each level and column with `max_bins`, and O(n_samples · n_outputs) for the
        scores, of which the fit holds a few tables.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples; NaN marks a missing value, and what sparse X does not store is zero. Dense float32 X
            in Fortran order and float32 CSR or CSC are used without a copy, other X is converted to float32 once.
            Infinite values raise a ValueError, and a `DataConversionWarning` names features whose values float32 cannot
            distinguish.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read, and one with weight 2 counts as two: exactly for multiples of 1/64, and otherwise up to the
            rounding and with the exceptions in `docs/determinism.md#sample-weights-are-counts`.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            Weights of the values of y, by which they multiply the weight of their sample: 0 for unknown values, which
            are not read, as NaN is, also in `y_val` and `eval_sets`. "stored": the stored entries of sparse y are what
            is known. A sample without a known value is left out, an output without any raises a ValueError. See
            `docs/missing-labels.md`.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        X_val, y_val : as X and y, or None, default=None
            Validation samples, whose loss after every stage is in `validation_score_`. With `n_iter_no_change`, they
            decide when to stop, and no training samples are set aside. The classes of `y_val` must be among those of y.
        sample_weight_val : array-like of shape (n_samples_val,) or None, default=None
            Weights of the validation samples. `class_weight` does not apply to them.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns) or None, default=None
            Initial scores of the samples, instead of a constant: in the unit of `decision_function`, or of `predict`,
            or its logarithm for "poisson", "gamma" and "tweedie". They are not part of the model: pass those of other
            samples to the methods of prediction.
        base_margin_val : as base_margin or None, default=None
            Initial scores of the validation samples, required if there are both `base_margin` and validation samples.
        eval_sets : list or dict of (X, y) or (X, y, sample_weight), or None, default=None
            More sets of samples, by names or as "eval_0", "eval_1" and so on, whose losses after every stage, and
            scores with `scoring`, are in `eval_results_`. They never influence the model, and cost as much as
            `staged_decision_function`. Not supported with `base_margin`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        told = Fit(X, y, sample_weight, y_weight, label_names)
        held_out = _held_out.GivenValidation(X_val, y_val, sample_weight_val, base_margin_val)
        tasks = _rounds.tasks_of(self, self._most_stages(), told)
        with fitted_at_once(self, anew=not self.warm_start) as new:
            new._fit(_Given(told, held_out, base_margin, eval_sets, tasks))
            new._keep_plan()
        if tasks is not None:
            tasks.end()
        return self

    def _fit(self, given: _Given) -> None:
        grown = self._model if self._goes_on() else None
        stages = self._prepare(given, grown)
        if grown is not None and grown.n_stages == self._most_stages():
            messages.warn("Warm-start fitting without increasing n_estimators does not fit new stages.")
        else:
            self._model, curves = self._search(given, self._start(given, stages, grown), grown)
            self.n_estimators_ = self._model.n_stages
            self._forget()
            if curves is not None:
                self._curves = curves
        self._watch(stages.watched)

    def _prepare(self, given: _Given, grown: _weald.Boosted | None) -> _Stages:
        """Check arguments and parameters, and decide what "auto" stands for."""
        self._check_parameters()
        callbacks = _rounds.check_callbacks(self.callbacks)
        before, has_validation = dict(self.__dict__), given.validation.X is not None
        samples = prepare(self, given.fit)
        target = samples.target
        if target.known is not None:
            check_masked(self)
        warn_of_tiny_numbers(self, target, samples.weights)
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._settle(samples, may_search=not has_validation)
        if self.verbose:
            self._say_plan()
        shared = self._describe(target)
        if grown is not None:
            check_warm_start(self, before, shared, grown.n_stages)
        self._shared = shared
        check_effects(self, self._n_columns(target), has_validation=has_validation)
        of_labels = self._of_labels(target, samples.row_weights[0])
        watched = []
        if given.eval_sets is not None:
            config = self._boost_config(samples.n_positive, target, of_labels, draws=False)
            watched = _held_out.checked_sets(self, given.eval_sets, target, config)
        if watched and given.base_margin is not None:
            raise ValueError(
                "base_margin does not support eval_sets, whose base margins are unknown: use only one of them, "
                "or init= instead of base_margin"
            )
        check_last_fit(self, has_validation=has_validation, goes_on=grown is not None)
        return _Stages(samples, of_labels, self._most_stages(), watched, callbacks)

    def _start(self, given: _Given, stages: _Stages, grown: _weald.Boosted | None) -> _Stages:
        """The stages with the initial scores of the samples, and with the weights of rows."""
        init, held_out_scores = self.__dict__.pop("_init", None), None
        samples, starts_linear = stages.samples, isinstance(self.init, str)
        counted = linear_start.counted(samples) if starts_linear else samples
        if grown is None and starts_linear:
            init, held_out_scores = self._linear_init(counted, given.fit, given.base_margin)
        elif grown is None:
            init = self._fitted_init(samples.X, given.fit.y, samples.weights)
        if init is not None:
            self._init = init
        weights = _weald.weights_by_row(samples.target.engine, samples.row_weights, samples.known)
        stages = replace(stages, samples=replace(samples, row_weights=(weights, None)))
        if given.base_margin is None and starts_linear and init is not None:
            start, n_rounds = self._linear_start(counted, weights, stages.of_labels, grown, held_out_scores)
            return replace(stages, start=start, n_rounds=n_rounds)
        return replace(stages, start=self._start_margins(samples.X, given.base_margin, "base_margin", samples.target))

    def _search(
        self, given: _Given, whole: _Stages, grown: _weald.Boosted | None
    ) -> tuple[_weald.Boosted, dict[str, Float] | None]:
        """The model with the number of stages that early stopping finds, and curves that it does not have."""
        callbacks, samples = whole.callbacks, whole.samples
        weights, held = _held_out.validation_set(self, samples, given.fit.y, given.validation, whole.start)
        if held is not None and held.known is not None:
            check_masked(self)
        by_folds, name = self._folds() is not None and self._patience() is not None, type(self).__name__
        score, scoring = self._scorer(held, whole, by_folds=by_folds)
        if by_folds:
            known = None if score is None else (scoring, score)
            config = self._boost_config(samples.n_positive, samples.target, whole.of_labels)
            config["n_estimators"] = whole.n_rounds
            assert self._plan is not None
            gain = self._plan["all_gain"] if self._plans_features() else None
            data = self, samples, given.fit.y, whole.start
            n_rounds, search, takes_all = _held_out.search(*data, config, callbacks, known, gain)
            if takes_all:
                self.max_features_, self._plan["max_features"] = self.n_features_in_, None
        else:
            config = None
            stages = replace(whole, samples=replace(samples, row_weights=(weights, None)), validation=held)
            if score is not None:
                assert held is not None
                stages = replace(stages, score=score(held.X, held.weights, held.given), scoring=scoring)
            if not self._stops().refit:
                return self._grow(stages, grown, callbacks, given.tasks, name)
            model, curves = self._grow(stages, grown, callbacks, None, f"{name}, held-out samples")
            n_rounds = model.n_stages
            search = {"validation": model.validation_score()} if curves is None else curves
        model, curves = self._grow(replace(whole, n_rounds=n_rounds), None, (), given.tasks, name, config)
        return model, {**(curves or {}), **{key: search[key] for key in ("validation", "score") if key in search}}

    def _scorer(self, held: Held | None, whole: _Stages, *, by_folds: bool) -> tuple[Callable[..., Any] | None, str]:
        """The score of stages as a function of the samples to score, if there are any, and its name."""
        if self.scoring is None:
            return None, "loss"
        gaps = (held is not None and held.known is not None) or (by_folds and whole.samples.target.known is not None)
        scorer, scoring = _rounds.scorer_of(self, self.scoring, has_gaps=gaps)
        if held is not None or by_folds:
            return partial(self._score_of_stage, scorer, scoring), scoring
        if not whole.watched:
            raise ValueError(
                f"scoring requires validation samples, got scoring={self.scoring!r} without any: pass X_val and "
                "y_val, or eval_sets, or set early_stopping=True, which holds out some of the samples"
            )
        return None, scoring  # only the evaluation sets are scored

    def _grow(
        self,
        stages: _Stages,
        grown: _weald.Boosted | None,
        callbacks: tuple[Any, ...],
        tasks: _rounds.Tasks | None,
        name: str,
        config: _weald._BoostConfig | None = None,
    ) -> tuple[_weald.Boosted, dict[str, Float] | None]:
        """The model with the stages that are kept, and the curves over all rounds if the model does not have them."""
        samples, validation, n_rounds = stages.samples, stages.validation, stages.n_rounds
        if config is None:
            config = self._boost_config(samples.n_positive, samples.target, stages.of_labels)
        config["n_estimators"] = n_rounds
        if validation is None or stages.score is not None:
            config["n_iter_no_change"] = None
        n_grown, n_threads = 0 if grown is None else grown.n_stages, self._n_threads()
        with Progress(name, "round", n_rounds, self.verbose, n_grown) as progress:
            # Lines have the losses of the rounds; a bar has none, and rounds need not be watched for it.
            lines = progress if progress.has_lines else None
            bar = progress if progress.has_bar else None
            rounds = _rounds.Rounds(n_rounds, n_grown, callbacks=callbacks, lines=lines, scoring=stages.scoring)
            if stages.score is not None:
                rounds.score = stages.score
                rounds.patience, rounds.tol = self._patience(), float(self.tol)
                if grown is not None:
                    assert validation is not None
                    scores = grown.predict_scores(validation.X, n_threads)
                    before = scores if validation.margins is None else scores + validation.margins
                    rounds.before = stages.score(grown, before)
            if self.estimator is not None:
                held_out = None if validation is None else (validation.X, validation.y, validation.weights)
                told = rounds if lines else None
                X, target, weights = samples.X, samples.target, samples.row_weights[0]
                model, self._weak = _held_out.fitted_weak_models(
                    self, X, target, weights, config, held_out, bar, n_grown, observer=told, grown=grown
                )
                return model, None
            is_told = tasks is not None and tasks.has_callbacks
            if tasks is not None and is_told:
                rounds.begin(tasks, self._fitted_after)
            may_stop = validation is not None and self._patience() is not None
            is_watched = bool(callbacks or lines or stages.score or is_told or may_stop)
            model = _weald.fit_boosting(
                samples.in_engine,
                config,
                None if validation is None else validation.in_engine,
                grown,
                n_threads,
                bar and (lambda n_more: bar(n_grown + n_more)),
                base_margin=stages.start,
                observer=rounds if is_watched else None,
                wants_scores=stages.score is not None,
                wants_models=is_told,
            )
            self._weak = None
        curves = self._whole_curves(rounds, grown) if is_watched else None
        return model if rounds.patience is None else model.truncated(rounds.n_best), curves

    def _describe(self, target: Target) -> dict[str, Any]:
        """Set the attributes of outputs, features and leaves; return the parameters that all stages share."""
        assert self._plan is not None
        self._set_outputs(target)
        if self._goes_on():  # with what folds have found, and what was decided for the stages before
            self._plan["max_features"] = self.plan_["max_features"]
            self._plan["subsample"] = self.plan_.get("subsample", 1.0)
            self._plan["l2_regularization"] = self.plan_.get("l2_regularization", 1.0)
        max_features = self._plan["max_features"] if self._plans_features() else self.max_features
        self.max_features_ = n_drawn_features(max_features, self.n_features_in_)
        self.max_leaf_nodes_ = self._plan["max_leaf_nodes"]
        return {
            "output_strategy": self._plan["output_strategy"],
            "loss": losses.kept(loss_of(self)),
            "learning_rate": self._plan["learning_rate"],
            "relabel_leaves": self._relabels(),
            "estimator": None if self.estimator is None else type(self.estimator).__name__,
        }

    def _watch(self, watched: list[EvalSet]) -> None:
        """Evaluate the stages on the sets; results of a previous fit are deleted."""
        self.__dict__.pop("_eval_curves", None)
        if not watched:
            return
        without_stages = self._model.truncated(0)
        curves = []
        for rows in watched:
            held, score = rows.samples, None
            if self.scoring is not None:
                scorer, name = _rounds.scorer_of(self, self.scoring, has_gaps=has_gaps(held.given))
                score = partial(self._score_of_stage(scorer, name, held.X, held.weights, held.given), without_stages)
            curves.append(rows.curve(self._staged_of(held.X), score))
        self._eval_curves = tuple(curves)

    def _score_of_stage(
        self, scorer: Callable[..., float], name: str, X: Matrix, weights: Float | None, y: MatrixLike | None
    ) -> Callable[[_weald.Boosted, Float], float]:
        """The scorer as a function of the validation scores, which a model without stages predicts."""
        held: BaseEstimator = self._twin()

        def score(model: _weald.Boosted, scores: Float) -> float:
            held.__dict__.update(_model=model, _weak=None, n_estimators_=0, _scores_at_stage=scores)
            extra = {} if weights is None else {"sample_weight": weights}
            with checks.named("scoring"):
                return _rounds.checked_score(scorer(held, X, y, **extra), name)

        return score

    def _fitted_after(self, model: _weald.Boosted) -> dict[str, Any]:
        """The fitted attributes of an estimator with the stages so far."""
        left_out = {"_curves", "_eval_curves", *_rounds.OF_A_FIT, *self._get_param_names()}
        fitted = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return fitted | {"_model": model, "_weak": None, "n_estimators_": model.n_stages}

    def _whole_curves(self, rounds: _rounds.Rounds, grown: _weald.Boosted | None) -> dict[str, Float]:
        """The curves over all rounds, including those of the previous fit: NaN for stages that had none."""
        before: dict[str, Any] = {}
        if grown is not None:
            before = {
                "train": grown.train_score(),
                "validation": grown.validation_score(),
                "out_of_bag": grown.oob_score(),
            }
            before |= self.__dict__.get("_curves") or {}
        found = {"train": rounds.train, "validation": rounds.validation, "score": rounds.scores}
        if len(rounds.out_of_bag) == len(rounds.train):
            found["out_of_bag"] = rounds.out_of_bag
        curves = {name: np.array(values) for name, values in found.items() if values}
        n_before = 0 if grown is None else grown.n_stages
        for name, values in curves.items():
            known = np.asarray(before.get(name, ()))[:n_before]
            curves[name] = np.concatenate([np.full(n_before - len(known), np.nan), known, values])
        return curves

    # --- leaves of other data ----------------------------------------------------------------------------------------

    @available_if(grows_trees)
    def refit_leaves(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        base_margin: ArrayLike | None = None,
    ) -> Self:
        """Fit the leaves of the trees to other data, without changing the splits.

        Each leaf gets the value that it would have if its tree had been grown on these data, which is useful for data
        that drift, and for values that are not biased by the samples that chose the splits. Leaves that no sample
        reaches keep their values. With `relabel_leaves=False`, the step sizes are fitted. `subsample` does not apply.

        Parameters
        ----------
        X, y, sample_weight, y_weight, base_margin : as in `fit`
            The other samples, with the features, outputs and classes of `fit`, and a known value of each output.

        Returns
        -------
        estimator of the same class
            A new fitted estimator, with the same `init`. This estimator does not change.
        """
        check_fitted(self)
        fitted = self._twin()
        return fitted._with_stages(fitted._refit_of(X, y, sample_weight, y_weight, base_margin)(fitted._model))

    @available_if(grows_trees)
    def prune(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        base_margin: ArrayLike | None = None,
        max_loss_increase: float | None = None,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
    ) -> Self:
        """Make the model smaller: its weakest splits become leaves, and its trees are boosted again in turn.

        The model that is returned is a boosted model like any other, with about a tenth of the leaves at nearly the same
        score. Each step removes a fifth of the leaves and takes the time of `refit_leaves`. Monotonic constraints raise
        a ValueError. See `docs/compression.md#a-boosted-model-that-is-pruned`.

        Parameters
        ----------
        X, y, sample_weight, y_weight, base_margin : as in `fit`
            The samples of the fit, or others with its features, outputs and classes.
        max_loss_increase : float or None, default=None
            Choose the smallest model whose loss is at most (1 + `max_loss_increase`) times that of all trees, at least
            0, by three folds, each with a fit and steps of its own. None: no limit, or 0.01 if no other is set.
        max_test_nodes : int or None, default=None
            Maximum number of splits, at least 1. None: no limit.
        max_bytes : int or None, default=None
            Maximum size in bytes of the file that `weald.save` writes. None: no limit. A limit that no model meets
            raises a ValueError with the least that can be met.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator, with the same `init`. This estimator does not change.
        """
        check_fitted(self)
        limits, fitted = pruning.limits_of(max_loss_increase, max_test_nodes, max_bytes), self._twin()
        smaller: Self = pruning.pruned(fitted, fitted._refit_of(X, y, sample_weight, y_weight, base_margin), limits)
        return smaller

    def _with_stages(self, model: _weald.Boosted, **fitted: object) -> Self:
        """A copy with other stages, of which there are no curves."""
        other = self._with_engine(model)
        other._forget()
        other.__dict__.pop("_eval_curves", None)
        other.__dict__.update(fitted, n_estimators_=model.n_stages)
        return other

    def _refit_of(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight,
        y_weight: YWeight,
        base_margin: ArrayLike | None,
    ) -> pruning.Refit:
        """What fits the leaves of models like this one to other data."""
        checked = self._check_predict(X)
        weights = checks.check_weights(sample_weight, checked.shape[0])
        there = checks.rows_there(weights)
        margins = self._start_margins(checked, base_margin, "base_margin")
        margins = margins if margins is None or there is None else margins[there]
        y_weight = masks.rows_of(y_weight, checked.shape[0], there)
        checked, known_y, weights = checks.without_absent(checked, y, weights)
        target, name = self._known_target(), type(self).__name__
        engine, known = target.like_with_gaps(known_y, checked.shape[0], name, what="y", y_weight=y_weight)
        if known is not None:
            check_masked(self)
        weights = masks.weights_of_known(known, weights, target.names)
        target = replace(target, engine=engine, known=known)
        config = self._refit_config(target, weights)
        return pruning.Refit(self, checked, target, weights, margins, config, self._n_rounds)

    @property
    def _n_rounds(self) -> int:
        """The number of stages of the fit, which the trees of a pruned model take in turn."""
        return int(self.__dict__.get("_turns", self.n_estimators_))

    def _refit_config(self, target: Target, weights: Float | None) -> _weald._BoostConfig:
        """The parameters of a fit of the existing stages to the y of `target`."""
        of_labels = self._of_labels(target, weights)
        return self._boost_config(1, target, of_labels, draws=False) | {
            "n_estimators": self._n_rounds,
            "n_iter_no_change": None,
        }
