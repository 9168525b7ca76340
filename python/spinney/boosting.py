"""Gradient boosting for one output or many: numbers, classes and labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import isclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from spinney import _callbacks, _eval_sets, _memory, _projection, _rounds, _spinney, _validation
from spinney._arrays import Tree
from spinney._at_once import fitted_at_once, of_one_fit
from spinney._base import (
    BaseClassifier,
    BaseEnsemble,
    BaseModel,
    BaseRegressor,
    Members,
    as_size,
    n_drawn_features,
    n_positive,
)
from spinney._eval_sets import EvalSet
from spinney._losses import LOSSES
from spinney._projection import Growth, derived_seed
from spinney._proof import CUSTOM, LOSS_PARAMETERS, WITH_LOG_LINK
from spinney._validation import MOST, Float, Matrix, Number, Target, draw_seed
from spinney.tree import DecisionTreeRegressor

if TYPE_CHECKING:
    from spinney._spinney import _BoostConfig, _Targets

# Parameters that all stages of a model share.
_SHARED = ("output_strategy", "loss", "learning_rate", "relabel_leaves")
_WITH_PROBABILITIES = {"log_loss", "exponential"}
# Up to so many columns of scores "auto" grows a tree for each: see `benches/defaults`.
_FEW_COLUMNS = 10
# Rounds without improvement after which early stopping ends a fit that says nothing of them, as scikit-learn's.
_PATIENCE = 10
# Probabilities that margins are made of are not nearer to 0 and 1.
_LEAST_PROBABILITY = 1e-6


def _grows_trees(estimator: Any) -> bool:
    if getattr(estimator, "_weak", estimator.estimator) is not None:
        raise AttributeError(f"{type(estimator).__name__} with estimator= has weak models that are no trees of its own")
    return True


def _name_of(loss: Any) -> str:
    """The name of a loss of the engine; `CUSTOM` for an object."""
    return loss if isinstance(loss, str) else CUSTOM


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator._shared["loss"] if hasattr(estimator, "_shared") else _name_of(estimator.loss)
    if loss not in _WITH_PROBABILITIES:
        raise AttributeError(f"loss={loss!r} has no probabilities; those that have: 'exponential', 'log_loss'")
    return True


def _has_labels(estimator: Any) -> bool:
    check_is_fitted(estimator)
    return estimator._label_format is not None


class BaseBoosting(_callbacks.CallbackSupportMixin, BaseEnsemble):  # type: ignore[misc]
    """What boosting has, whatever y is."""

    _kind = "boosting"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "learning_rate": [Number(Real, 0.0, None, closed="neither")],
        "n_estimators": [Interval(Integral, 1, MOST, closed="both")],
        "output_strategy": [StrOptions({"auto", "projected", "joint", "single_target"})],
        "output_projection": [part for part in _projection.CONSTRAINTS["output_projection"] if part is not None],
        "relabel_leaves": ["boolean"],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "init": [HasMethods(["fit", "predict"]), None],
        "leaf_estimation": [StrOptions({"newton", "line_search"})],
        "l2_regularization": [Number(Real, 0.0, None, closed="left")],
        "min_sum_hessian_in_leaf": [Number(Real, 0.0, None, closed="left")],
        "line_search": [StrOptions({"newton", "brent"})],
        "step_dtype": [StrOptions({"float64", "float8"})],
        "max_features_by_tree": BaseModel._parameter_constraints["max_features"],
        "subsample": [Number(Real, 0.0, 1.0, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "min_weight_leaf": [Number(Real, 0.0, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "scoring": [str, callable, None],
        "validation_fraction": [Number(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Number(Real, 0.0, None, closed="left")],
        "callbacks": [list, tuple, HasMethods("on_round"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    n_estimators_: int
    max_features_: int
    _model: _spinney.Boosted
    _seed: int
    # Weak models that are no trees of the engine, one for each stage.
    _weak: list[Any] | None
    # What the stages so far were grown with.
    _shared: dict[str, Any]
    # Losses after each round, also of those that were not kept, and what `scoring` says of them.
    _curves: dict[str, Float]
    # Of each set that was watched its name, and losses and scores after each stage that was kept.
    _eval_curves: tuple[tuple[str, Float, Float | None], ...]
    # The fitted model that stages start from.
    _init: Any = None

    @property
    def _forest(self) -> _spinney.Forest:  # type: ignore[override]
        forest = self._model.forest
        assert forest is not None
        return forest

    def _check_X(self, X: Any, *, reset: bool, fitting: bool = False) -> Matrix:
        weak = self.estimator if reset or fitting else self._weak
        return (_validation.check_X if weak is None else _validation.check_wide_X)(self, X, reset=reset)

    @_callbacks.with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        base_margin: Any = None,
        base_margin_val: Any = None,
        eval_sets: Any = None,
    ) -> Any:
        """Grow the stages.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Dense or sparse, finite. Used where it lies when Fortran-ordered float32 or CSR or CSC of float32; otherwise
            converted on one copy, shared by all stages. Every layout gives the same model. With `estimator`, it gets X
            in float64 or, when it came so, float32.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
            Numbers for a regressor. For a classifier classes, or labels: several columns of 0 and 1, or any sparse
            matrix of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Finite, not negative, not all zero. A row of weight zero is no row, whatever y is there (X must be finite
            all the same). A row of weight 2 is two rows, with three exceptions: `subsample` draws rows, whatever they
            weigh; so does `n_iter_no_change`, for the rows that it holds out; and sums of weights that are no multiples
            of 1/64, as those of `class_weight="balanced"`, are rounded, so that the last digits of scores may depend on
            the order of rows and on whether a row stands there twice; `min_weight_leaf` counts in mean weights then.
            Weights that are no multiples of 1/64, or whose total passes 2**31, are rounded to multiples of at most
            n_samples * max(sample_weight) / 2**50, and to one such multiple at least: the ratio of rows lighter than
            that is lost.
        X_val, y_val : as X and y, default=None
            Rows to measure the loss on after every stage, in `validation_score_`. With `n_iter_no_change` they decide
            when to stop, in place of a share of the training rows. The classes of `y_val` must be among those of `y`.
        sample_weight_val : array-like of shape (n_samples_val,), default=None
            Weights of these rows. `class_weight` does not apply to them.
        base_margin : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            Scores that the stages start from in place of a constant, in the unit of `decision_function`; of a regressor
            in that of `predict`, or with "poisson", "gamma" and "tweedie" of its logarithm. They are no part of the
            model: predictions want those of their rows.
        base_margin_val : as base_margin, default=None
            The same of the rows of `X_val`; needed with them.
        eval_sets : list or dict of (X, y) or (X, y, sample_weight), default=None
            Other rows to watch, as many sets as wanted: after every stage the loss on each is in `eval_results_`, and
            with `scoring` the score. They never stop the fit and have no part in the model. Sets of a list are called
            "eval_0", "eval_1" and so on, those of a dict by its names, which are strings. X, y and weights are as
            `X_val`, `y_val` and `sample_weight_val`. Not with `base_margin`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad input or parameters, named in the message.
        MemoryError
            Before anything is grown where the parts of `spinney.estimate_fit_memory` that are certain to be needed
            cannot be had; later for others that the engine cannot allocate.

        After any failure, Ctrl-C included, the estimator is as it was before.

        Notes
        -----
        The model is a function of the data, the parameters and the seed: the same for any `n_jobs`, and whether it was
        grown at once or with `warm_start`.

        A stage costs the growth of its trees, O(n_features · n_samples) for each level with `max_bins`, on as many
        columns as the strategy has; and a sweep over the scores, O(n_samples · n_outputs). Memory: a few tables of
        (n_samples, n_outputs) float32 (float64 for numbers).

        Each of `eval_sets` costs what `staged_decision_function` does: once all stages are grown its rows walk down all
        trees, and after each stage the loss is a pass over the scores, O(n_rows · n_columns). Memory: of all sets X,
        copied where the X of a fit would be; of one at a time a few tables of (n_rows, n_columns) float64.
        """
        tasks = _callbacks.tasks_of(self, int(self.n_estimators), X, y, sample_weight)
        with fitted_at_once(self) as new:
            margins = (base_margin, base_margin_val)
            new._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val), margins, eval_sets, tasks)
        if tasks is not None:
            tasks.end()
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        given: tuple[Any, Any, Any],
        margins: tuple[Any, Any],
        eval_sets: Any,
        tasks: _callbacks.Tasks | None,
    ) -> None:
        self._check_parameters()
        callbacks = _rounds.check_callbacks(self.callbacks)
        y_given = y
        grown = self._model if self.warm_start and hasattr(self, "_model") else None
        before = dict(self.__dict__)
        X, target, weights = self._check_fit(X, y, sample_weight)
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._set_outputs(target)
        self.max_features_ = n_drawn_features(self.max_features, self._n_features_of_tree())
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["output_strategy"] = self._strategy(self._n_columns(target))
        shared["loss"] = _name_of(self.loss)
        shared |= self._loss_parameter()
        if shared["loss"] == CUSTOM:
            shared["loss_class"] = type(self.loss).__qualname__
        shared["estimator"] = None if self.estimator is None else type(self.estimator).__name__
        n_grown = 0
        if grown is not None:
            n_grown = grown.n_stages
            self._check_warm_start(before, shared, n_grown)
        self._shared = shared
        watched = _eval_sets.checked(self, eval_sets, target)
        if watched and margins[0] is not None:
            raise ValueError(
                "base_margin is given, and eval_sets is too: the scores that rows of eval_sets start from are not "
                "known; accepted: one of them, or init= in place of base_margin"
            )
        if n_grown == self.n_estimators:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new stages.", stacklevel=4)
            self._watch(watched)
            return
        self.__dict__.pop("_init", None)
        init = before.get("_init") if grown is not None else self._fitted_init(X, y_given, weights)
        if init is not None:
            self._init = init
        weights = _spinney.weights_by_row(target.engine, self._row_weights(target, weights))
        start = self._start_margins(X, margins[0], "base_margin", target)
        weights, validation, y_held = self._validation_set(X, y_given, target, weights, given, (start, margins[1]))
        config = self._boost_config(n_positive(weights, X.shape[0]), target)
        _memory.reserve(self, _memory.of_checked(X, target, weights is not None))
        scorer, scoring = (None, "loss") if self.scoring is None else _rounds.scorer_of(self, self.scoring)
        if scorer is not None and validation is None:
            if not watched:
                raise ValueError(
                    f"scoring is {self.scoring!r}, but there are no rows to score: pass X_val and y_val, or "
                    "early_stopping=True, which holds out validation_fraction of the rows, or eval_sets"
                )
            scorer = None  # of those that are watched alone
        if scorer is not None:
            config["n_iter_no_change"] = None
        name, n_rounds = type(self).__name__, int(self.n_estimators)
        with _rounds.bar_or_lines(name, n_rounds, n_grown, self.verbose, scoring) as (progress, lines):
            rounds = _rounds.Rounds(n_rounds, n_grown, callbacks=callbacks, lines=lines)
            if scorer is not None:
                assert validation is not None
                rounds.score = self._score_of_stage(scorer, scoring, validation[0], validation[2], y_held)
                rounds.patience, rounds.tol = self._patience(), float(self.tol)
            if self.estimator is None:
                is_told = tasks is not None and tasks.has_callbacks
                if tasks is not None and is_told:
                    rounds.begin(tasks, self._fitted_after)
                is_watched = bool(callbacks or lines or scorer or is_told or self._patience())
                model = _spinney.fit_boosting(
                    X,
                    target.engine,
                    weights,
                    config,
                    validation,
                    grown,
                    self._n_threads(),
                    progress,
                    base_margin=start,
                    observer=rounds if is_watched else None,
                    wants_scores=scorer is not None,
                    wants_models=is_told,
                )
                self._weak = None
            else:
                is_watched = False
                held_out = None if validation is None else validation[:3]
                model = self._fit_weak(X, target, weights, config, held_out, progress, n_grown)
        self.__dict__.pop("_curves", None)
        if is_watched:
            self._curves = self._whole_curves(rounds, grown)
            if rounds.patience is not None:
                model = model.truncated(rounds.n_best)
        self._model = model
        self.n_estimators_ = model.n_stages
        self._watch(watched)

    def _watch(self, watched: list[EvalSet]) -> None:
        """Measures the stages on the sets; what was measured at a fit before is gone."""
        self.__dict__.pop("_eval_curves", None)
        if not watched:
            return
        scorer, name = (None, "") if self.scoring is None else _rounds.scorer_of(self, self.scoring)
        without_stages = self._model.truncated(0)
        curves = []
        for rows in watched:
            score = None
            if scorer is not None:
                score = partial(self._score_of_stage(scorer, name, rows.X, rows.weights, rows.y), without_stages)
            curves.append(rows.curve(self._staged_of(rows.X), score))
        self._eval_curves = tuple(curves)

    def _strategy(self, n_columns: int) -> str:
        """What "auto" stands for."""
        if self.output_strategy != "auto":
            return str(self.output_strategy)
        if self.estimator is not None and self.relabel_leaves:
            return "joint"
        is_default = isinstance(self.output_projection, str) and self.output_projection == "gaussian"
        asked = not (self.relabel_leaves and is_default and self.n_projections == 1)
        return "single_target" if n_columns <= _FEW_COLUMNS and not asked else "projected"

    def _patience(self) -> int | None:
        """Rounds without improvement that end the fit; None where nothing does."""
        if self.early_stopping is False or (self.early_stopping == "auto" and self.n_iter_no_change is None):
            return None
        return _PATIENCE if self.n_iter_no_change is None else as_size(self.n_iter_no_change)

    def _fitted_after(self, model: _spinney.Boosted) -> dict[str, Any]:
        """The fitted attributes of a model that ends here, while more stages may be grown."""
        left_out = {"_curves", "_eval_curves", *_callbacks.OF_A_FIT, *self._get_param_names()}
        fitted = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return fitted | {"_model": model, "_weak": None, "n_estimators_": model.n_stages}

    @staticmethod
    def _whole_curves(rounds: _rounds.Rounds, grown: _spinney.Boosted | None) -> dict[str, Float]:
        """Of all rounds, with those of the stages that were there before."""
        before = {} if grown is None else {"train": grown.train_score(), "validation": grown.validation_score()}
        found = {"train": rounds.train, "validation": rounds.validation, "score": rounds.scores}
        curves = {name: np.array(values) for name, values in found.items() if values}
        n_before = 0 if grown is None else grown.n_stages
        return {
            name: np.concatenate([before[name], values]) if n_before and len(before.get(name, ())) else values
            for name, values in curves.items()
        }

    def _score_of_stage(
        self, scorer: Any, name: str, X: Matrix, weights: Float | None, y: Any
    ) -> Callable[[_spinney.Boosted, Float], float]:
        """What a scorer says of the scores of the rows held out: it gets a model that has no others to predict."""
        held: Any = self._twin()

        def score(model: _spinney.Boosted, scores: Float) -> float:
            held.__dict__.update(_model=model, _weak=None, n_estimators_=0, _scores_at_stage=scores)
            extra = {} if weights is None else {"sample_weight": weights}
            return _rounds.checked_score(scorer(held, X, y, **extra), name)

        return score

    # --- what stages start from --------------------------------------------------------------------------------------

    def _fitted_init(self, X: Matrix, y: Any, weights: Float | None) -> Any:
        """The model that stages start from, fitted if it is not frozen."""
        if self.init is None:
            return None
        if isclass(self.init):
            raise ValueError(f"init is the class {self.init.__name__}, accepted: an object of it")
        if isinstance(self.init, FrozenEstimator):
            return self.init
        estimator = clone(self.init)
        X, y, weights = _validation.without_absent(X, y, weights)
        if weights is None:
            return estimator.fit(X, y)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(f"rows have weights, but init {type(estimator).__name__} takes no sample_weight in fit")
        return estimator.fit(X, y, sample_weight=weights)

    def _start_margins(self, X: Matrix, margins: Any, name: str, target: Target | None = None) -> Float | None:
        """Scores of rows that are there before the first stage, (n_samples, n_columns), in the engine's unit."""
        width = self._n_columns(target) if target is not None else self._model.width
        if margins is not None:
            if self._init is not None:
                raise ValueError(f"{name} is given, and init is too: stages start from one of them")
            margins = np.asarray(margins, dtype=np.float64)
            margins = margins[:, np.newaxis] if margins.ndim == 1 else margins
            if margins.shape != (X.shape[0], width):
                raise ValueError(f"{name} has the shape {margins.shape}, expected {(X.shape[0], width)}")
            if not np.isfinite(margins).all():
                raise ValueError(f"{name} contains NaN or infinity, accepted: finite numbers")
            found = margins / self._unit()
        elif self._init is None:
            return None
        else:
            found = self._margins_of(self._init, X)
            if found.shape != (X.shape[0], width) or not np.isfinite(found).all():
                raise ValueError(
                    f"init {type(self._init).__name__} predicts an array of shape {found.shape}, expected finite "
                    f"numbers of shape {(X.shape[0], width)}"
                )
        return np.ascontiguousarray(found, dtype=np.float64)

    def _margins_of(self, estimator: Any, X: Matrix) -> Float:
        """Scores of another model in the engine's unit."""
        found = _columns(estimator.predict(X), X.shape[0])
        if self._shared["loss"] not in WITH_LOG_LINK:
            return found
        if not (found > 0).all():
            raise ValueError(
                f"init {type(estimator).__name__} predicts numbers that are not positive, but loss="
                f"{self._shared['loss']!r} has the logarithms of predictions as scores; accepted: positive predictions"
            )
        return np.log(found)

    def _unit(self) -> float:
        """How much a score of the engine is in `decision_function`."""
        return 1.0

    def _check_parameters(self) -> None:
        """What no table can say: parameters that contradict each other."""
        if isclass(self.loss):
            raise ValueError(f"loss is the class {self.loss.__name__}, accepted: a name, or an object of a class")
        if self.step_dtype != "float64" and (self.output_strategy not in ("auto", "projected") or self.relabel_leaves):
            raise ValueError(
                f"step_dtype is {self.step_dtype!r}, but leaves hold what they add, and no steps; accepted: 'float64', "
                "or output_strategy='projected' with relabel_leaves=False"
            )
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(f"callbacks were set by set_callbacks, which estimator= ({name}) does not support")
        for parameter in ("init", "scoring", "callbacks"):
            if getattr(self, parameter) is not None:
                raise ValueError(f"{parameter} is given, which estimator= ({name}) does not support; accepted: None")
        if isclass(self.estimator):
            name = self.estimator.__name__
            raise ValueError(f"estimator is the class {name}, accepted: an object of it, {name}()")
        if not is_regressor(self.estimator):
            raise ValueError(f"estimator is {name}, which is not a regressor; accepted: regressors of scikit-learn")
        if self.output_strategy == "single_target":
            raise ValueError(
                "output_strategy is 'single_target', which grows trees alone; with estimator=, accepted: 'joint' and "
                "'projected'"
            )
        if self.output_strategy == "projected" and self.relabel_leaves:
            raise ValueError(
                f"relabel_leaves is True, but {name} has no leaves to relabel: with estimator=, pass "
                "relabel_leaves=False, or output_strategy='joint'"
            )

    def _loss_parameter(self) -> dict[str, float | list[float]]:
        """The parameter that the loss has, if it has one: of all outputs, or of each."""
        name = LOSS_PARAMETERS.get(_name_of(self.loss))
        if name is None:
            return {}
        value = getattr(self, name)
        return {name: float(value) if isinstance(value, Real) else _of_each(name, value, self.n_outputs_)}

    def _check_warm_start(self, before: dict[str, Any], shared: dict[str, Any], n_grown: int) -> None:
        if self.n_estimators < n_grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_grown} stages of the fitted model; with "
                "warm_start=True it must be larger or equal"
            )
        for name in ("n_features_in_", "n_outputs_"):
            if before[name] != getattr(self, name):
                what = "X has {} features" if name == "n_features_in_" else "y has {} outputs"
                raise ValueError(
                    f"{what.format(getattr(self, name))}, but the stages grown before have {before[name]}; with "
                    "warm_start=True it must be the same"
                )
        for name, value in shared.items():
            # A parameter of the loss is there when the loss, which comes first, is the same.
            if (old := before["_shared"][name]) != value:
                raise ValueError(
                    f"{name} is {value!r}, but the stages grown before have {old!r}; with warm_start=True it must be "
                    "the same"
                )
        # Steps of one score are kept in float64.
        kept = before["_model"].step_dtype
        if kept != self.step_dtype and before["_model"].width > 1:
            raise ValueError(
                f"step_dtype is {self.step_dtype!r}, but the stages grown before have {kept!r}; with warm_start=True "
                "it must be the same"
            )
        found = before.get("classes_"), getattr(self, "classes_", None)
        old, new = (part if isinstance(part, list) else [part] for part in found)
        if not all(map(np.array_equal, old, new)):
            raise ValueError("y has other classes than the stages grown before; warm_start=True needs the same")

    def _n_features_of_tree(self) -> int:
        return n_drawn_features(self.max_features_by_tree, self.n_features_in_)

    def _n_columns(self, target: Target) -> int:
        """Columns of scores: one for two classes."""
        single = target.kind == "classes" and target.n_outputs == 1
        return 1 if single and len(target.classes[0]) <= 2 else target.n_columns

    def _boost_config(self, n_samples: int, target: Target, *, draws: bool = True) -> _BoostConfig:
        """The parameters in the engine's form; a fit that `draws` no projections has any."""
        projection = None
        if isinstance(self.n_projections, bool):
            raise ValueError(f"n_projections is {self.n_projections}, accepted: an integer from 1, a share, or 'log'")
        strategy = self._shared["output_strategy"]
        if strategy == "projected" and not draws:
            projection = _projection.of_stages("gaussian", 1, self._n_columns(target), Growth(self._seed))
        elif strategy == "projected":
            growth = Growth(self._seed, range(int(self.n_estimators)))
            width = self._n_columns(target)
            projection = _projection.of_stages(self.output_projection, self.n_projections, width, growth)
            if projection["n_projections"] > 1 and not self.relabel_leaves:
                raise ValueError(
                    f"n_projections is {projection['n_projections']}, but leaves that are not relabelled hold a single "
                    "number: with relabel_leaves=False, accepted: 1"
                )
        return {
            "tree": self._growth_config(n_samples, "squared_error", self._seed) | {"max_features": self.max_features_},
            "n_estimators": int(self.n_estimators),
            "learning_rate": float(self.learning_rate),
            "loss": self.loss,
            "loss_parameter": next(iter(self._loss_parameter().values()), None),
            "strategy": strategy,
            "output_projection": projection,
            "relabel": bool(self.relabel_leaves),
            "max_features_by_tree": self._n_features_of_tree(),
            "subsample": float(self.subsample),
            "leaf_estimation": self.leaf_estimation,
            "l2_regularization": float(self.l2_regularization),
            "min_sum_hessian_in_leaf": float(self.min_sum_hessian_in_leaf),
            "line_search": self.line_search,
            "step_dtype": self.step_dtype,
            "max_bins": None if self.max_bins is None else int(self.max_bins),
            "n_iter_no_change": self._patience(),
            "tol": float(self.tol),
        }

    def _validation_set(
        self,
        X: Matrix,
        y: Any,
        target: Target,
        weights: Float | None,
        given: tuple[Any, Any, Any],
        margins: tuple[Float | None, Any],
    ) -> tuple[Float | None, tuple[Matrix, _Targets, Float | None, Float | None] | None, Any]:
        """Weights of training rows, and the rows held out, with their y as it was given.

        Training rows that are held out get a weight of zero.
        """
        X_val, y_val, w_val = given
        start, margins_val = margins
        if (X_val is None) != (y_val is None):
            missing, there = ("X_val", "y_val") if X_val is None else ("y_val", "X_val")
            raise ValueError(f"{missing} is None, but {there} is given: pass both or none")
        if X_val is not None:
            try:
                X_val = self._check_X(X_val, reset=False, fitting=True)
                w_val = _validation.check_weights(w_val, X_val.shape[0])
                start_val = self._start_margins(X_val, margins_val, "base_margin_val", target)
                if start_val is not None and (rows := _validation.rows_there(w_val)) is not None:
                    start_val = start_val[rows]
                X_val, y_val, w_val = _validation.without_absent(X_val, y_val, w_val)
                held = target.like(y_val, X_val.shape[0], type(self).__name__)
            except (TypeError, ValueError) as error:
                raise type(error)(f"X_val, y_val, sample_weight_val: {error}") from error
            if start is not None and start_val is None:
                raise ValueError("base_margin is given, but base_margin_val, of the rows of X_val, is not: pass both")
            if start is None and start_val is not None:
                raise ValueError("base_margin_val is given, but base_margin is not: pass both")
            return weights, (X_val, held, w_val, start_val), y_val
        for name, value in (("sample_weight_val", w_val), ("base_margin_val", margins_val)):
            if value is not None:
                raise ValueError(f"{name} is given, but X_val and y_val are not: pass all or none")
        if self._patience() is None:
            return weights, None, None
        there_are = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        try:
            held_rows = self._held_out(there_are, target)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction is {self.validation_fraction}, but the rows cannot be split so: {error}"
            ) from error
        held = target.rows(held_rows)
        loss = LOSSES.get(self._shared["loss"])
        if target.kind == "numbers" and loss is not None and (refused := loss.refused(held)) is not None:
            # The engine would call these rows y_val.
            raise ValueError(f'y is {refused[0]:g} with loss="{self._shared["loss"]}", accepted: {refused[1]}')
        kept = np.ones(X.shape[0]) if weights is None else weights.copy()
        kept[held_rows] = 0
        X_held = X.tocsr()[held_rows] if _validation.is_sparse(X) else X[held_rows]
        w_held = None if weights is None else weights[held_rows]
        y_held = y.tocsr() if _validation.is_sparse(y) else y
        y_held = _safe_indexing(y_held, held_rows) if self.scoring is not None else None
        start_held = None if start is None else start[held_rows]
        return kept, (X_held, held, w_held, start_held), y_held

    def _held_out(self, rows: NDArray[np.intp], target: Target) -> NDArray[np.intp]:
        """The rows that are held out, rising: of classes in the shares of all, of labels by their rarest."""
        seed = derived_seed(self._seed, ())
        if target.kind != "labels":
            classes = target.engine[0][rows, 0] if target.kind == "classes" and target.n_outputs == 1 else None
            split = {"test_size": float(self.validation_fraction), "stratify": classes}
            _, held = train_test_split(rows, random_state=seed, **split)
            return np.sort(held)
        # Rows in the order of their rarest label, those of one in a drawn order; every k-th of them is held out.
        shuffled = np.random.default_rng(seed).permutation(rows)
        labels = target.original[shuffled].tocsr()
        counts = np.bincount(labels.indices, minlength=labels.shape[1])
        rarest = np.full(len(shuffled), labels.shape[1])
        row_of = np.repeat(np.arange(len(shuffled)), np.diff(labels.indptr))
        by_count = np.lexsort((-counts[labels.indices],))  # the rarest is written last
        rarest[row_of[by_count]] = labels.indices[by_count]
        n_held = int(np.ceil(float(self.validation_fraction) * len(rows)))
        if n_held >= len(rows):
            raise ValueError(f"{n_held} of {len(rows)} rows would be held out, and none fitted")
        places = ((np.arange(n_held) + 0.5) * (len(rows) / n_held)).astype(np.intp)
        return np.sort(shuffled[np.argsort(rarest, kind="stable")[places]])

    # --- weak models that are no trees -----------------------------------------------------------------------------

    def _fit_weak(
        self,
        X: Matrix,
        target: Target,
        weights: Float | None,
        config: _BoostConfig,
        validation: tuple[Matrix, _Targets, Float | None] | None,
        progress: Callable[[int], object] | None,
        n_grown: int,
    ) -> _spinney.Boosted:
        name = type(self.estimator).__name__
        n_columns = self._n_columns(target)
        if (
            self._shared["output_strategy"] == "joint"
            and n_columns > 1
            and not get_tags(self.estimator).target_tags.multi_output
        ):
            raise ValueError(
                f"estimator is {name}, which predicts one output, but output_strategy='joint' fits it to {n_columns}: "
                "pass a regressor for several outputs, or output_strategy='projected'"
            )
        n_samples = X.shape[0]
        # Grown at once or in parts, stages are the same: those that exist are asked again and not fitted again.
        weak: list[Any] = [] if n_grown == 0 else list(self._weak or [])

        def predict(estimator: Any, X: Matrix, n_targets: int) -> Float:
            found = np.asarray(estimator.predict(X), dtype=np.float64).reshape(X.shape[0], -1)
            if found.shape[1] != n_targets:
                raise ValueError(f"estimator {name} predicts {found.shape[1]} columns, expected {n_targets}")
            if not np.isfinite(found).all():
                raise ValueError(f"estimator {name} predicts NaN or infinity, accepted: finite numbers")
            return found

        def fit_predict(stage: int, rows: NDArray[np.uint32], targets: Float, w: Float) -> tuple[Float, Float | None]:
            if stage == len(weak):
                estimator = _seeded(clone(self.estimator), self._seed, stage)
                extra = {}
                if (w != 1).any():
                    if not has_fit_parameter(estimator, "sample_weight"):
                        raise ValueError(f"rows have weights, but estimator {name} takes no sample_weight in fit")
                    extra = {"sample_weight": w}
                all_rows = len(rows) == n_samples
                y = targets[:, 0] if targets.shape[1] == 1 else targets
                weak.append(estimator.fit(X if all_rows else _rows_of(X, rows), y, **extra))
            held = None if validation is None else predict(weak[stage], validation[0], targets.shape[1])
            return predict(weak[stage], X, targets.shape[1]), held

        held_out = None if validation is None else validation[1:]
        model = _spinney.fit_boosting_with(fit_predict, X.shape, target.engine, weights, config, held_out, progress)
        self._weak = weak[: model.n_stages]
        return model

    # --- the fitted model ------------------------------------------------------------------------------------------

    def _scores(self, X: Any, *, n_stages: Any = None, base_margin: Any = None) -> Float:
        if (scores := self.__dict__.get("_scores_at_stage")) is not None:
            return np.asarray(scores)
        X = self._check_predict(X)
        return self._scores_of(X, n_stages=n_stages, base_margin=base_margin)

    def _scores_of(self, X: Matrix, *, n_stages: Any = None, base_margin: Any = None) -> Float:
        """Raw scores, (n_samples, width), of X that was checked."""
        margins = self._start_margins(X, base_margin, "base_margin")
        if self._weak is None:
            model = self._model if n_stages is None else self._model.truncated(self._check_stages(n_stages))
            scores = model.predict_scores(X, self._n_threads())
        else:
            n_stages = self.n_estimators_ if n_stages is None else self._check_stages(n_stages)
            scores = self._model.start()[np.newaxis].repeat(X.shape[0], axis=0)
            for _, scores in zip(range(n_stages), self._staged_weak(X), strict=False):  # noqa: B007
                pass
        return scores if margins is None else scores + margins

    def _check_stages(self, n_stages: Any, *, least: int = 0) -> int:
        is_integer = isinstance(n_stages, Integral) and not isinstance(n_stages, bool)
        if not is_integer or not least <= n_stages <= self.n_estimators_:
            raise ValueError(f"n_stages is {n_stages!r}, accepted: an integer from {least} to {self.n_estimators_}")
        return int(n_stages)

    def _staged(self, X: Any) -> Iterator[Float]:
        """Raw scores after each stage, each time an array of its own."""
        return self._staged_of(self._check_predict(X))

    def _staged_of(self, X: Matrix) -> Iterator[Float]:
        """The same, of X that was checked."""
        X = X.tocsr() if _validation.is_sparse(X) and self._weak is None else X
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

    @property
    def start_(self) -> Float:
        """The constant scores that stages start from, (n_columns,): a copy."""
        return self._fitted("start_").start()

    @property
    def step_sizes_(self) -> Float:
        """What each stage's weak model was multiplied by for each column of scores, before `learning_rate`.

        (n_estimators_, n_columns): a copy, in float64 whatever `step_dtype`.
        """
        return self._fitted("step_sizes_").step_sizes()

    @property
    def train_score_(self) -> Float:
        """Loss on the training rows after each round, (n_rounds,): a copy.

        After an early stop there are more rounds than the `n_estimators_` that were kept.
        """
        losses = self._fitted("train_score_").train_score()
        return self._curve("train", losses)

    @property
    def validation_score_(self) -> Float:
        """Loss on the rows held out or given after each round, (n_rounds,): a copy. Not there without them."""
        losses = self._curve("validation", self._fitted("validation_score_").validation_score())
        if not len(losses):
            raise AttributeError(f"{type(self).__name__} was fitted without rows to validate on: no validation_score_")
        return losses

    @property
    def validation_metric_(self) -> Float:
        """What `scoring` says of the same rows after each round, (n_rounds,): a copy. Not there without it."""
        self._fitted("validation_metric_")
        if "score" not in self.__dict__.get("_curves", {}):
            raise AttributeError(f"{type(self).__name__} was fitted without scoring: no validation_metric_")
        return self._curves["score"].copy()

    @property
    def eval_results_(self) -> dict[str, dict[str, Float]]:
        """What was measured on each of `eval_sets` after each round that was kept. Not there without them.

        A dict, in the order of the sets, of the name of a set and a dict of two arrays of (n_estimators_,) float64,
        copies. "loss": the loss that the fit minimises, the weighted mean over the rows of the set divided by the
        number of columns of scores, as in `validation_score_`. "score": what `scoring` says, where it is given.

        After an early stop the rounds that were not kept are not there. After `warm_start` there are the rounds of all
        fits, on the sets of the last one. A `truncated` model has its own rounds, and what `refit_leaves` returns has
        no results.
        """
        self._fitted("eval_results_")
        if "_eval_curves" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} was fitted without eval_sets: no eval_results_")
        return {
            name: {"loss": loss.copy()} | ({} if score is None else {"score": score.copy()})
            for name, loss, score in self._eval_curves
        }

    def _curve(self, name: str, kept: Float) -> Float:
        """The losses of all rounds, of which those that were kept are the first."""
        whole: Float | None = self.__dict__.get("_curves", {}).get(name)
        return kept if whole is None else whole.copy()

    def truncated(self, n_stages: int) -> Any:
        """The model of the first stages, as an estimator of its own; trees are shared.

        Parameters
        ----------
        n_stages : int
            From 1 to `n_estimators_`.

        Returns
        -------
        estimator of the same class, with the same parameters but `n_estimators`
        """
        check_is_fitted(self)
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
        return fitted

    @available_if(_grows_trees)  # type: ignore[untyped-decorator]
    def refit_leaves(self, X: Any, y: Any, sample_weight: Any = None, *, base_margin: Any = None) -> Any:
        """Fit the leaves of the trees as they stand to other data.

        Each stage in its turn gets the leaves that it would have had its tree been grown as it is: useful for data that
        drift, and for leaves that are not biased by the rows that chose the splits. Leaves that no row reaches keep
        what they hold. With `relabel_leaves=False` the steps are fitted, and leaves stay. `subsample` does not apply.

        Parameters
        ----------
        X, y, sample_weight, base_margin
            As in `fit`: the same features, outputs and classes.

        Returns
        -------
        estimator of the same class
            A new one; this one stays as it is. `init` stays as it was fitted.

        Cost: of each stage a walk of all rows and one pass over their scores.
        """
        check_is_fitted(self)
        fitted = self._twin()
        X = fitted._check_predict(X)
        weights = _validation.check_weights(sample_weight, X.shape[0])
        there = _validation.rows_there(weights)
        margins = fitted._start_margins(X, base_margin, "base_margin")
        margins = margins if margins is None or there is None else margins[there]
        X, y, weights = _validation.without_absent(X, y, weights)
        engine = fitted._known_target().like(y, X.shape[0], type(self).__name__)
        config = fitted._refit_config()
        fitted._model = _spinney.refit_leaves(fitted._model, X, engine, weights, config, fitted._n_threads(), margins)
        fitted.__dict__.pop("_curves", None)
        fitted.__dict__.pop("_eval_curves", None)
        return fitted

    def _refit_config(self) -> _BoostConfig:
        """The parameters of a fit of the stages that there are."""
        target = self._known_target()
        return self._boost_config(1, target, draws=False) | {
            "n_estimators": self.n_estimators_,
            "learning_rate": float(self._shared["learning_rate"]),
            "n_iter_no_change": None,
        }

    def _fitted(self, attribute: str) -> _spinney.Boosted:
        """The engine's model; without one, `attribute` is not there, as that of any estimator that is not fitted."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._model

    @property
    def feature_importances_(self) -> Float:
        """Share of the decrease of impurity that is due to each feature, over all trees.

        Sums to 1, or is all zero when no tree has a split. The impurity is that of what the trees were fitted to, which
        shrinks from stage to stage: early stages count more. Not there with `estimator`. O(nodes).
        """
        check_is_fitted(self)
        _grows_trees(self)
        return self._model.feature_importances()

    def _means_at(self, features: list[int], points: NDArray[np.float32]) -> Float:
        return self._model.partial_dependence(features, points, self._n_threads())

    @property
    def estimators_(self) -> Sequence[Any]:
        """The weak models in the order of stages; with "single_target", a tree for each column of scores in each stage.

        Trees are made as estimators when asked for, and share the model's memory. Those of "joint", "single_target" and
        with `relabel_leaves` predict what the stage adds to the scores. Without, they predict one number, the stage's
        direction, which adds to each column of scores as much as `learning_rate * step_sizes_[stage]` times it.
        """
        check_is_fitted(self)
        fitted = self._twin()
        return Members(fitted) if fitted._weak is None else list(fitted._weak)

    def _member(self, index: int) -> DecisionTreeRegressor:
        shared = set(DecisionTreeRegressor._get_param_names()) & set(self.get_params(deep=False))
        shared -= {"random_state", "output_projection", "n_projections"}
        member = DecisionTreeRegressor(**{name: getattr(self, name) for name in sorted(shared)})
        member.tree_ = Tree(self._forest.only(index))
        member.n_features_in_ = self.n_features_in_
        member.max_features_ = self.max_features_
        member.n_outputs_ = member.tree_.n_outputs
        return member

    @available_if(_grows_trees)  # type: ignore[untyped-decorator]
    @of_one_fit
    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the leaf that each row reaches in each tree, (n_samples, n_trees); not there with `estimator`."""
        return super().apply(X)


def _columns(values: Any, n_samples: int) -> Float:
    found: Float = np.asarray(values.toarray() if _validation.is_sparse(values) else values, dtype=np.float64)
    return found.reshape(n_samples, -1)


def _of_each(name: str, values: Any, n_outputs: int) -> list[float]:
    """Shares, one for each output."""
    accepted = f"a float in the range (0.0, 1.0), or {n_outputs} of them, one for each output"
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is {values!r}, accepted: {accepted}") from error
    if found.shape != (n_outputs,) or not ((found > 0) & (found < 1)).all():
        raise ValueError(f"{name} is {values!r}, accepted: {accepted}")
    return [float(value) for value in found]


def _rows_of(X: Matrix, rows: NDArray[np.uint32]) -> Matrix:
    return X.tocsr()[rows] if _validation.is_sparse(X) else X[rows]


def _seeded(estimator: Any, seed: int, stage: int) -> Any:
    """`estimator` with every `random_state` in it, its parts included, set for the stage."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**{name: derived_seed(seed, (stage, i)) for i, name in enumerate(sorted(names))})


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
    learning_rate : float, default=0.1
        What each stage's step is multiplied by; the constant that stages start from is not.
    n_estimators : int, default=100
        Number of stages; with "single_target" each has a tree for every column of scores.
    output_strategy : {"auto", "projected", "joint", "single_target"}, default="auto"
        What a stage fits. "projected": one tree, to a few random combinations of the gradients of all outputs. "joint":
        one tree, to the gradients of all outputs. "single_target": a tree for each output, which share nothing. "auto":
        "single_target" up to ten columns of scores, "projected" beyond, or where a parameter of projections is given.
    output_projection : str, Projection, callable or matrix of shape (q, n_columns), default="gaussian"
        With "projected", the combinations: "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard",
        "pca", or as described in `spinney.projection`, one for each stage. Columns are those of scores: an output that
        is a number, a label, or two classes has one, other outputs of classes have one for each class.
    n_projections : int, float or "log", default=1
        With "projected", the number of combinations q: a number, a share of the columns, or ⌊½ + ln d⌋ of d.
    relabel_leaves : bool, default=True
        With "projected": leaves hold the mean gradient of every output. If not, they hold one number, which each output
        multiplies by a step of its own: a stage takes memory of n_leaves + n_columns in place of their product.
    estimator : regressor of scikit-learn, default=None
        Weak model in place of trees, cloned for each stage: of several outputs with "joint"; of one with "projected"
        and `relabel_leaves=False`, which must be said. Limits of trees do not apply to it.
    init : estimator, default=None
        A model that stages start from, fitted to the same data, or as it is when wrapped in `FrozenEstimator`; every
        prediction has its part. Of a classifier its `predict_proba` is used, else its `decision_function`, taken for
        log-odds. X comes to it in float32, dense or sparse. For sparse text a linear model ranks well, and trees on top
        of it better.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        What leaves add to the scores. "newton": each leaf and column of scores takes its own Newton step, the sum of
        the leaf's negative gradients over the sum of their second derivatives plus `l2_regularization`, halved while
        the loss of the leaf's rows rises. "line_search": leaves hold mean negative gradients, and each column takes
        one step along those of all leaves, which minimises the loss over all rows; a single step for leaves that want
        different ones fits rows that are told apart easily too closely. With `relabel_leaves=False` "newton" is the
        one Newton step of each column along the leaves' numbers. With `estimator`, steps are searched.
    l2_regularization : float, default=1.0
        Of Newton steps, λ, which is added to the sums of second derivatives of each leaf: leaves of little weight take
        shorter steps. With `relabel_leaves=False`, times the squares of the leaves' numbers, so that their unit has no
        part. It has no part in "absolute_error" and "quantile", whose leaves are the median or quantile of their
        residuals, nor in "huber", whose leaves minimise the loss of their rows. The second derivatives of "poisson" are
        predictions, in units of y: where these are far below 1, a smaller number suits.
    min_sum_hessian_in_leaf : float, default=1e-3
        Of Newton steps, the least sum of second derivatives: a leaf of less adds nothing to that column of scores. It
        has no part in the same losses.
    line_search : {"newton", "brent"}, default="newton"
        How steps are found where the loss has no closed form: Newton's method kept within a bracket, or Brent's.
    step_dtype : {"float64", "float8"}, default="float64"
        Type in which the model keeps steps that leaves do not hold, with `relabel_leaves=False`, and which stages are
        grown with. In "float8" (OCP E4M3, scaled by a power of two for each stage) a step takes one byte in place of
        eight, in memory as in files. Steps are cut towards zero, by an eighth at most, so that losses still do not
        rise; later stages make up for it. Not for classes whose steps depend on each other (log loss of three or more).
    subsample : float, default=1.0
        Share of the rows, whatever they weigh, drawn without replacement, that each stage is fitted to.
    max_bins : int, default=255
        Trees on dense X look at so many groups of values of each feature, 2 to 255; at every value of a feature that
        has no more of them, or with None. Sparse X is always looked at value by value.
    max_depth : int, default=None
        Largest depth; with None there is no bound.
    max_leaf_nodes : int, default=31
        Grow best-first to so many leaves; with None, nodes are split while they are impure.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node: a number, a share, a rule, or all, of those of the tree. Constant features do not
        count.
    max_features_by_tree : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn for each tree, of which its nodes draw theirs: a number, a share, a rule, or all, whether they
        are constant or not. What a tree costs goes with them, the rows' scores apart.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_leaf : float, default=2.0
        Least weight on either side of a split, in samples: one of weight 2 counts as two, which `min_samples_leaf`
        counts as one. What counts as one is the largest power of two of which all weights are multiples, 1 for whole
        numbers of which one is odd; or the mean weight where that is below 1/64.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    early_stopping : bool or "auto", default="auto"
        Whether rounds without improvement on rows held out end the fit, and the stages up to the best are kept. "auto":
        where `n_iter_no_change` is given.
    scoring : str, callable or None, default=None
        What improvement is of: None is the loss; else the name of a scorer of scikit-learn, or scorer(estimator, X, y)
        that returns a number, larger where better. It needs rows to score: `X_val` at `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Share of the rows, whatever they weigh, held out for early stopping when `fit` gets no validation set: a row of
        weight 2 is held out as one row. Classes are held out in their shares, samples of labels by their rarest label.
    n_iter_no_change : int, default=None
        Rounds without an improvement by `tol` that end the fit; with early_stopping=True, None is 10.
    tol : float, default=1e-4
        Least decrease of the loss on the rows held out that counts, as a share of what it is before the first stage:
        the number and the scale of the outputs have no part in it. With `scoring`, in the unit of the score.
    callbacks : object or list of objects, default=None
        Each has a method on_round(round, train_loss, validation_loss), called after every round with its number, from
        0, and the losses (None without rows held out): a true value ends the fit, and the model has the rounds so far.
        What it raises ends the fit too, and leaves the estimator as it was. Callbacks of scikit-learn (1.9 and later)
        are set by `set_callbacks`: each round is a task named "round", after which they get a fitted estimator of the
        rounds so far, and may end the fit.
    warm_start : bool, default=False
        Keep the stages of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the model is the one that would have been grown at once.
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal; else a line every now and then,
        with the losses and the time so far and left.

    Attributes
    ----------
    n_estimators_ : int
        Number of stages: `n_estimators`, or fewer after an early stop.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models; trees are made when asked for, and share the model's memory.
    step_sizes_ : ndarray of shape (n_estimators_, n_columns)
        What each stage's weak model was multiplied by for each column of scores, before `learning_rate`: 1 where leaves
        hold what they add, 0 where they add nothing to a column.
    start_ : ndarray of shape (n_columns,)
        The constant scores that stages start from.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss on the training rows after each stage.
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss on the rows held out or given, when there are any.
    eval_results_ : dict of str and dict
        Of each of the `eval_sets` of `fit`, when there are any, the "loss" and with `scoring` the "score" after each
        stage that was kept, each of shape (n_estimators_,).
    feature_importances_ : ndarray of shape (n_features_in_,)
    max_features_, n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.

    Notes
    -----
    Friedman's gradient boosting: from the constants that minimise the loss, each stage fits a tree to the negative
    gradients and adds to the scores `learning_rate` times what its leaves hold: for a leaf and column of scores the
    Newton step Σ w r / (Σ w h + λ), of the negative gradients r and second derivatives h of the leaf's rows. With
    line searches, and with other weak models g, each column j has a step ρ_j that minimises the loss along g, and
    takes `learning_rate` · ρ_j g. With a learning rate of 1 and all rows the training loss never rises.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [
            StrOptions({"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"}),
            HasMethods(["loss", "gradient_hessian"]),
        ],
        "quantile": [Number(Real, 0.0, 1.0, closed="neither"), "array-like"],
        "huber_delta": [Number(Real, 0.0, None, closed="neither")],
        "tweedie_power": [Number(Real, 1.0, 2.0, closed="neither")],
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
        estimator: Any = None,
        init: Any = None,
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
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.tweedie_power = tweedie_power
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.output_strategy = output_strategy
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.relabel_leaves = relabel_leaves
        self.estimator = estimator
        self.init = init
        self.leaf_estimation = leaf_estimation
        self.l2_regularization = l2_regularization
        self.min_sum_hessian_in_leaf = min_sum_hessian_in_leaf
        self.line_search = line_search
        self.step_dtype = step_dtype
        self.subsample = subsample
        self.max_bins = max_bins
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.max_features_by_tree = max_features_by_tree
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
    learning_rate : float, default=0.1
        What each stage's step is multiplied by; the constant that stages start from is not.
    n_estimators : int, default=100
        Number of stages; with "single_target" each has a tree for every column of scores.
    output_strategy : {"auto", "projected", "joint", "single_target"}, default="auto"
        What a stage fits. "projected": one tree, to a few random combinations of the gradients of all outputs. "joint":
        one tree, to the gradients of all outputs. "single_target": a tree for each output, which share nothing. "auto":
        "single_target" up to ten columns of scores, "projected" beyond, or where a parameter of projections is given.
    output_projection : str, Projection, callable or matrix of shape (q, n_columns), default="gaussian"
        With "projected", the combinations: "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard",
        "pca", or as described in `spinney.projection`, one for each stage. Columns are those of scores: an output that
        is a number, a label, or two classes has one, other outputs of classes have one for each class.
    n_projections : int, float or "log", default=1
        With "projected", the number of combinations q: a number, a share of the columns, or ⌊½ + ln d⌋ of d.
    relabel_leaves : bool, default=True
        With "projected": leaves hold the mean gradient of every output. If not, they hold one number, which each output
        multiplies by a step of its own: a stage takes memory of n_leaves + n_columns in place of their product.
    estimator : regressor of scikit-learn, default=None
        Weak model in place of trees, cloned for each stage: of several outputs with "joint"; of one with "projected"
        and `relabel_leaves=False`, which must be said. Limits of trees do not apply to it.
    init : estimator, default=None
        A model that stages start from, fitted to the same data, or as it is when wrapped in `FrozenEstimator`; every
        prediction has its part. Of a classifier its `predict_proba` is used, else its `decision_function`, taken for
        log-odds. X comes to it in float32, dense or sparse. For sparse text a linear model ranks well, and trees on top
        of it better.
    leaf_estimation : {"newton", "line_search"}, default="newton"
        What leaves add to the scores. "newton": each leaf and column of scores takes its own Newton step, the sum of
        the leaf's negative gradients over the sum of their second derivatives plus `l2_regularization`, halved while
        the loss of the leaf's rows rises. "line_search": leaves hold mean negative gradients, and each column takes
        one step along those of all leaves, which minimises the loss over all rows; a single step for leaves that want
        different ones fits rows that are told apart easily too closely. With `relabel_leaves=False` "newton" is the
        one Newton step of each column along the leaves' numbers. With `estimator`, steps are searched.
    l2_regularization : float, default=1.0
        Of Newton steps, λ, which is added to the sums of second derivatives of each leaf: leaves of little weight take
        shorter steps. With `relabel_leaves=False`, times the squares of the leaves' numbers, so that their unit has no
        part.
        It has no part in "hinge", which has none: there a leaf takes the best step of its rows.
    min_sum_hessian_in_leaf : float, default=1e-3
        Of Newton steps, the least sum of second derivatives: a leaf of less adds nothing to that column of scores. It
        has no part in the same loss.
    line_search : {"newton", "brent"}, default="newton"
        How steps are found where the loss has no closed form: Newton's method kept within a bracket, or Brent's.
    step_dtype : {"float64", "float8"}, default="float64"
        Type in which the model keeps steps that leaves do not hold, with `relabel_leaves=False`, and which stages are
        grown with. In "float8" (OCP E4M3, scaled by a power of two for each stage) a step takes one byte in place of
        eight, in memory as in files. Steps are cut towards zero, by an eighth at most, so that losses still do not
        rise; later stages make up for it. Not for classes whose steps depend on each other (log loss of three or more).
    subsample : float, default=1.0
        Share of the rows, whatever they weigh, drawn without replacement, that each stage is fitted to.
    max_bins : int, default=255
        Trees on dense X look at so many groups of values of each feature, 2 to 255; at every value of a feature that
        has no more of them, or with None. Sparse X is always looked at value by value.
    max_depth : int, default=None
        Largest depth; with None there is no bound.
    max_leaf_nodes : int, default=31
        Grow best-first to so many leaves; with None, nodes are split while they are impure.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node: a number, a share, a rule, or all, of those of the tree. Constant features do not
        count.
    max_features_by_tree : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn for each tree, of which its nodes draw theirs: a number, a share, a rule, or all, whether they
        are constant or not. What a tree costs goes with them, the rows' scores apart.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_leaf : float, default=2.0
        Least weight on either side of a split, in samples: one of weight 2 counts as two, which `min_samples_leaf`
        counts as one. What counts as one is the largest power of two of which all weights are multiples, 1 for whole
        numbers of which one is odd; or the mean weight where that is below 1/64.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    early_stopping : bool or "auto", default="auto"
        Whether rounds without improvement on rows held out end the fit, and the stages up to the best are kept. "auto":
        where `n_iter_no_change` is given.
    scoring : str, callable or None, default=None
        What improvement is of: None is the loss; else the name of a scorer of scikit-learn, or scorer(estimator, X, y)
        that returns a number, larger where better. It needs rows to score: `X_val` at `fit`, or `early_stopping`.
    validation_fraction : float, default=0.1
        Share of the rows, whatever they weigh, held out for early stopping when `fit` gets no validation set: a row of
        weight 2 is held out as one row. Classes are held out in their shares, samples of labels by their rarest label.
    n_iter_no_change : int, default=None
        Rounds without an improvement by `tol` that end the fit; with early_stopping=True, None is 10.
    tol : float, default=1e-4
        Least decrease of the loss on the rows held out that counts, as a share of what it is before the first stage:
        the number and the scale of the outputs have no part in it. With `scoring`, in the unit of the score.
    callbacks : object or list of objects, default=None
        Each has a method on_round(round, train_loss, validation_loss), called after every round with its number, from
        0, and the losses (None without rows held out): a true value ends the fit, and the model has the rounds so far.
        What it raises ends the fit too, and leaves the estimator as it was. Callbacks of scikit-learn (1.9 and later)
        are set by `set_callbacks`: each round is a task named "round", after which they get a fitted estimator of the
        rounds so far, and may end the fit.
    warm_start : bool, default=False
        Keep the stages of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the model is the one that would have been grown at once.
    class_weight : "balanced", dict or list of dict, default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output. Sums of weights that
        are no multiples of 1/64 are rounded: see `sample_weight` of `fit`.
    multi_label : {"auto", True, False}, default="auto"
        Whether y of several columns holds labels, each 0 or 1, or an output of classes in each column. "auto" is True
        for sparse y, and for several columns of dtype bool, integer or float whose values are all 0 or 1: what
        `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", but of 0 and 1 alone. So the rows
        decide: say which where a fold may lack a class. With True a single column, (n_samples, 1), is one label.
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal; else a line every now and then,
        with the losses and the time so far and left.

    Attributes
    ----------
    n_estimators_ : int
        Number of stages: `n_estimators`, or fewer after an early stop.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models; trees are made when asked for, and share the model's memory.
    step_sizes_ : ndarray of shape (n_estimators_, n_columns)
        What each stage's weak model was multiplied by for each column of scores, before `learning_rate`: 1 where leaves
        hold what they add, 0 where they add nothing to a column.
    start_ : ndarray of shape (n_columns,)
        The constant scores that stages start from.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss on the training rows after each stage.
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss on the rows held out or given, when there are any.
    eval_results_ : dict of str and dict
        Of each of the `eval_sets` of `fit`, when there are any, the "loss" and with `scoring` the "score" after each
        stage that was kept, each of shape (n_estimators_,).
    classes_ : ndarray, or list of ndarray
        Classes in rising order; for several outputs one array for each. For labels, their
        numbers; one or two labels have 0 and 1 in each row, (n_labels, 2).
    n_classes_ : int, or list of int
    feature_importances_ : ndarray of shape (n_features_in_,)
    max_features_, n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.

    Notes
    -----
    Friedman's gradient boosting: from the constants that minimise the loss, each stage fits a tree to the negative
    gradients and adds to the scores `learning_rate` times what its leaves hold: for a leaf and column of scores the
    Newton step Σ w r / (Σ w h + λ), of the negative gradients r and second derivatives h of the leaf's rows. With
    line searches, and with other weak models g, each column j has a step ρ_j that minimises the loss along g, and
    takes `learning_rate` · ρ_j g. With a learning rate of 1 and all rows the training loss never rises.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseBoosting._parameter_constraints,
        "loss": [
            StrOptions({"log_loss", "exponential", "hinge", "squared_error"}),
            HasMethods(["loss", "gradient_hessian"]),
        ],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
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
        estimator: Any = None,
        init: Any = None,
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
        warm_start: bool = False,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.output_strategy = output_strategy
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.relabel_leaves = relabel_leaves
        self.estimator = estimator
        self.init = init
        self.leaf_estimation = leaf_estimation
        self.l2_regularization = l2_regularization
        self.min_sum_hessian_in_leaf = min_sum_hessian_in_leaf
        self.line_search = line_search
        self.step_dtype = step_dtype
        self.subsample = subsample
        self.max_bins = max_bins
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.max_features_by_tree = max_features_by_tree
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.multi_label = multi_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
            return self._predict_sparse(X)
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
    def predict_topk(self, X: Any, k: int) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` labels of largest score, without holding all scores. Only after fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        k : int
            From 1 to the number of labels.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            The largest score first, the lower index where equal.
        scores : float64 ndarray of shape (n_samples, k)
            As of `decision_function`.

        Raises
        ------
        ValueError
            When `k` is out of range.
        """
        X = self._check_predict(X)
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= self._model.width:
            raise ValueError(f"k is {k!r}, accepted: an integer from 1 to {self._model.width}")
        if self._weak is None and self._init is None:
            indices, scores = self._model.predict_topk(X, int(k), self._n_threads())
        else:
            every = self._scores_of(X)
            indices = np.argsort(-every, axis=1, kind="stable")[:, :k]
            scores = np.take_along_axis(every, indices, axis=1)
        return indices.astype(np.int64), (scores - self._threshold) * self._unit()

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
            return _columns(estimator.decision_function(X), X.shape[0])
        if not hasattr(estimator, "predict_proba"):
            return _columns(estimator.decision_function(X), X.shape[0]) / self._unit()
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            # Several outputs: labels have the probabilities of 0 and 1.
            is_labels = self._label_format is not None
            proba = np.column_stack([part[:, 1] if is_labels else part for part in proba])
        elif self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ == 2:
            proba = np.asarray(proba)[:, 1:]
        p: Float = np.clip(_columns(proba, X.shape[0]), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
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
