"""Fitted boosting models: initial scores, scores after stages, and attributes that describe the stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import isclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from weald import _weald
from weald import loss as losses
from weald._fit import memory
from weald._fit.base import BaseEnsemble, BaseModel, Members, unfitted
from weald._fit.tree import BaseTree
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import BoostedProof, check_fitted
from weald._input import checks, elementary
from weald._input.checks import Float, Matrix
from weald._input.schema import Schema
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike, available_if
from weald.loss import Loss


def grows_trees(estimator: BoostedModel) -> bool:
    if getattr(estimator, "_weak", estimator.estimator) is not None:
        raise AttributeError(
            f"{type(estimator).__name__} with estimator= has no trees, but models of another estimator"
        )
    return True


class BoostedModel(BaseEnsemble):
    """What fitted boosting models for all kinds of y share."""

    _proof = BoostedProof
    _memory_of_fit = staticmethod(memory.of_boosting)

    n_estimators: int | Literal["auto"]
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
        return None if self.estimator is not None else super()._asked_categories()

    def _to_matrix(self, X: MatrixLike, *, reset: bool, fitting: bool) -> Matrix:
        weak = self.estimator if reset or fitting else self._weak
        if weak is None:
            return super()._to_matrix(X, reset=reset, fitting=fitting)
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
        if "_model" in state:
            # Fits clone both, unless `init` is frozen.
            state |= {name: unfitted(state[name]) for name in ("estimator", "init")}
        return state

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
            return self.init
        X, y, weights = checks.without_absent(X, y, weights)
        with checks.named("init"):
            estimator = clone(self.init)
            if weights is not None and not has_fit_parameter(estimator, "sample_weight"):
                name = type(estimator).__name__
                raise ValueError(f"init must support sample_weight in fit, since samples have weights, got {name}")
            estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
        return estimator

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
        found = columns_of(estimator.predict(X), X.shape[0])
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
        for estimator, step in zip(self._weak, self._shared["learning_rate"] * self._model.step_sizes(), strict=True):
            direction = np.asarray(estimator.predict(X), dtype=np.float64).reshape(X.shape[0], -1)
            scores = scores + step * direction
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
        fitted.__dict__.pop("_curves", None)
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


def columns_of(values: Any, n_samples: int) -> Float:
    found: Float = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
    return found.reshape(n_samples, -1)
