"""Fits of boosting, for all kinds of y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weald import _weald
from weald import loss as losses
from weald._fit import boosting_checks
from weald._fit.boosted import grows_trees
from weald._fit.boosting_parameters import BoostingParameters
from weald._fit.samples import Samples, prepare
from weald._fitted.at_once import fitted_at_once
from weald._fitted.proof import check_fitted
from weald._input import checks, masks, warned
from weald._input.checks import Float, Matrix, draw_seed
from weald._input.targets import Target
from weald._parameters import label_weight
from weald._parameters.max_features import n_drawn_features
from weald._parameters.other_names import telling_names
from weald._parameters.types import (
    MatrixLike,
    available_if,
    fit_context,
)
from weald._ranking.known_scorers import has_gaps
from weald._rounds import callbacks as _callbacks
from weald._rounds import cross_validated as _cross_validated
from weald._rounds import eval_sets as _eval_sets
from weald._rounds import held_out as _held_out
from weald._rounds import linear_start, weak_models
from weald._rounds import rounds as _rounds
from weald._rounds.eval_sets import EvalSet
from weald._rounds.held_out import Held
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _BoostConfig
    from weald.linear import LinearClassifier


@dataclass(frozen=True)
class _Given:
    """The arguments of `fit`."""

    X: MatrixLike
    y: MatrixLike
    sample_weight: object
    y_weight: MatrixLike | None
    label_names: object
    validation: _held_out.Given
    base_margin: object
    eval_sets: object
    tasks: _callbacks.Tasks | None


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


class BaseBoosting(_callbacks.CallbackSupportMixin, BoostingParameters):
    """What boosting for all kinds of y shares."""

    # Of classifiers.
    _linear_init: Callable[..., tuple[LinearClassifier | None, linear_start.HeldOut | None]]
    _linear_start: Callable[..., tuple[Float | None, int]]

    @telling_names
    @_callbacks.with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        X_val: MatrixLike | None = None,
        y_val: MatrixLike | None = None,
        sample_weight_val: ArrayLike | None = None,
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
        tasks = _callbacks.tasks_of(self, self._most_stages(), X, y, sample_weight)
        with fitted_at_once(self, anew=not self.warm_start) as new:
            held_out = _held_out.Given(X_val, y_val, sample_weight_val, base_margin_val)
            new._fit(_Given(X, y, sample_weight, y_weight, label_names, held_out, base_margin, eval_sets, tasks))
            new._keep_plan()
        if tasks is not None:
            tasks.end()
        return self

    def _fit(self, given: _Given) -> None:
        grown = self._model if self._goes_on() else None
        stages = self._prepare(given, grown)
        if grown is not None and grown.n_stages == self._most_stages():
            warned.warn("Warm-start fitting without increasing n_estimators does not fit new stages.")
        else:
            self._model, curves = self._search(given, self._start(given, stages, grown), grown)
            self.n_estimators_ = self._model.n_stages
            self.__dict__.pop("_curves", None)
            if curves is not None:
                self._curves = curves
        self._watch(stages.watched)

    def _prepare(self, given: _Given, grown: _weald.Boosted | None) -> _Stages:
        """Check arguments and parameters, and decide what "auto" stands for."""
        self._check_parameters()
        callbacks = _rounds.check_callbacks(self.callbacks)
        before, has_validation = dict(self.__dict__), given.validation.X is not None
        samples = prepare(self, given.X, given.y, given.sample_weight, given.y_weight, given.label_names)
        target = samples.target
        if target.known is not None:
            boosting_checks.check_masked(self)
        boosting_checks.warn_of_tiny_numbers(self, target, samples.weights)
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._settle(samples, may_search=not has_validation)
        if self.verbose:
            self._say_plan()
        shared = self._describe(target)
        if grown is not None:
            boosting_checks.check_warm_start(self, before, shared, grown.n_stages)
        self._shared = shared
        boosting_checks.check_effects(self, self._n_columns(target), has_validation=has_validation)
        of_labels = label_weight.of_labels(self, target, samples.row_weights[0])
        watched = []
        if given.eval_sets is not None:
            config = self._boost_config(samples.n_positive, target, of_labels, draws=False)
            watched = _eval_sets.checked(self, given.eval_sets, target, config)
        if watched and given.base_margin is not None:
            raise ValueError(
                "base_margin does not support eval_sets, whose base margins are unknown: use only one of them, "
                "or init= instead of base_margin"
            )
        boosting_checks.check_last_fit(self, has_validation=has_validation, goes_on=grown is not None)
        return _Stages(samples, of_labels, self._most_stages(), watched, callbacks)

    def _start(self, given: _Given, stages: _Stages, grown: _weald.Boosted | None) -> _Stages:
        """The stages with the initial scores of the samples, and with the weights of rows."""
        init, held_out_scores = self.__dict__.pop("_init", None), None
        samples, starts_linear = stages.samples, isinstance(self.init, str)
        counted = linear_start.counted(samples) if starts_linear else samples
        if grown is None and starts_linear:
            told = given.y, given.sample_weight, given.y_weight
            init, held_out_scores = self._linear_init(counted, *told, base_margin=given.base_margin)
        elif grown is None:
            init = self._fitted_init(samples.X, given.y, samples.weights)
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
        weights, held = _held_out.validation_set(self, samples, given.y, given.validation, whole.start)
        if held is not None and held.known is not None:
            boosting_checks.check_masked(self)
        by_folds, name = self._folds() is not None and self._patience() is not None, type(self).__name__
        score, scoring = self._scorer(held, whole, by_folds=by_folds)
        if by_folds:
            config = self._config_of_rounds(whole)
            known = None if score is None else (scoring, score)
            data = self, samples, given.y, whole.start
            n_rounds, search, is_ended = _cross_validated.search(*data, config, callbacks, known)
            assert self._plan is not None
            gain = self._plan["all_gain"] if self._plans_features() and not is_ended else None
            if gain is not None:
                config["tree"]["max_features"] = self.n_features_in_
                n_all, with_all, _ = _cross_validated.search(*data, config, (), known)
                least = search["validation"].min()
                if with_all["validation"].min() < least - gain * abs(least):
                    n_rounds, search = n_all, with_all
                    self.max_features_, self._plan["max_features"] = self.n_features_in_, None
        else:
            stages = replace(whole, samples=replace(samples, row_weights=(weights, None)), validation=held)
            if score is not None:
                assert held is not None
                stages = replace(stages, score=score(held.X, held.weights, held.given), scoring=scoring)
            if not self._stops().refit:
                return self._grow(stages, grown, callbacks, given.tasks, name)
            model, curves = self._grow(stages, grown, callbacks, None, f"{name}, held-out samples")
            n_rounds = model.n_stages
            search = {"validation": model.validation_score()} if curves is None else curves
        model, curves = self._grow(replace(whole, n_rounds=n_rounds), None, (), given.tasks, name)
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
        tasks: _callbacks.Tasks | None,
        name: str,
    ) -> tuple[_weald.Boosted, dict[str, Float] | None]:
        """The model with the stages that are kept, and the curves over all rounds if the model does not have them."""
        samples, validation, n_rounds = stages.samples, stages.validation, stages.n_rounds
        config = self._config_of_rounds(stages)
        if validation is None or stages.score is not None:
            config["n_iter_no_change"] = None
        n_grown = 0 if grown is None else grown.n_stages
        with Progress(name, "round", n_rounds, self.verbose, n_grown) as progress:
            # Lines have the losses of the rounds; a bar has none, and rounds need not be watched for it.
            lines = progress if progress.has_lines else None
            bar = progress if progress.has_bar else None
            rounds = _rounds.Rounds(n_rounds, n_grown, callbacks=callbacks, lines=lines, scoring=stages.scoring)
            if stages.score is not None:
                rounds.score = stages.score
                rounds.patience, rounds.tol = self._patience(), float(self.tol)
            if self.estimator is not None:
                held_out = None if validation is None else (validation.X, validation.y, validation.weights)
                told = rounds if lines else None
                X, target, weights = samples.X, samples.target, samples.row_weights[0]
                model, self._weak = weak_models.fitted(
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
                self._n_threads(),
                bar and (lambda n_more: bar(n_grown + n_more)),
                base_margin=stages.start,
                observer=rounds if is_watched else None,
                wants_scores=stages.score is not None,
                wants_models=is_told,
            )
            self._weak = None
        curves = self._whole_curves(rounds, grown) if is_watched else None
        return model if rounds.patience is None else model.truncated(rounds.n_best), curves

    def _config_of_rounds(self, stages: _Stages) -> _BoostConfig:
        samples = stages.samples
        config = self._boost_config(samples.n_positive, samples.target, stages.of_labels)
        config["n_estimators"] = stages.n_rounds
        return config

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
            "loss": losses.kept(boosting_checks.loss_of(self)),
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
        left_out = {"_curves", "_eval_curves", *_callbacks.OF_A_FIT, *self._get_param_names()}
        fitted = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return fitted | {"_model": model, "_weak": None, "n_estimators_": model.n_stages}

    @staticmethod
    def _whole_curves(rounds: _rounds.Rounds, grown: _weald.Boosted | None) -> dict[str, Float]:
        """The curves over all rounds, including those of the previous fit."""
        before = {}
        if grown is not None:
            before = {
                "train": grown.train_score(),
                "validation": grown.validation_score(),
                "out_of_bag": grown.oob_score(),
            }
        found = {"train": rounds.train, "validation": rounds.validation, "score": rounds.scores}
        if len(rounds.out_of_bag) == len(rounds.train):
            found["out_of_bag"] = rounds.out_of_bag
        curves = {name: np.array(values) for name, values in found.items() if values}
        n_before = 0 if grown is None else grown.n_stages
        return {
            name: np.concatenate([before[name], values]) if n_before and len(before.get(name, ())) else values
            for name, values in curves.items()
        }

    # --- leaves of other data ----------------------------------------------------------------------------------------

    @available_if(grows_trees)
    def refit_leaves(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
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
        checked = fitted._check_predict(X)
        weights = checks.check_weights(sample_weight, checked.shape[0])
        there = checks.rows_there(weights)
        margins = fitted._start_margins(checked, base_margin, "base_margin")
        margins = margins if margins is None or there is None else margins[there]
        y_weight = masks.rows_of(y_weight, checked.shape[0], there)
        checked, known_y, weights = checks.without_absent(checked, y, weights)
        target, name = fitted._known_target(), type(self).__name__
        engine, known = target.like_with_gaps(known_y, checked.shape[0], name, what="y", y_weight=y_weight)
        if known is not None:
            boosting_checks.check_masked(fitted)
        weights = masks.weights_of_known(known, weights, target.names)
        config = fitted._refit_config(engine, weights, known)
        data = checked, engine, (weights, None), target.in_engine(known)
        fitted._model = _weald.refit_leaves(fitted._model, data, config, fitted._n_threads(), margins)
        fitted.__dict__.pop("_curves", None)
        fitted.__dict__.pop("_eval_curves", None)
        refitted: Self = fitted
        return refitted

    def _refit_config(self, engine: object, weights: Float | None, known: masks.KnownCells | None) -> _BoostConfig:
        """The parameters of a fit of the existing stages to y in the engine's form, of which this is known."""
        target = replace(self._known_target(), engine=engine, known=known)
        of_labels = label_weight.of_labels(self, target, weights)
        return self._boost_config(1, target, of_labels, draws=False) | {
            "n_estimators": self.n_estimators_,
            "n_iter_no_change": None,
        }
