"""Gradient boosting for one output or many: numbers, classes and labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from inspect import isclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from spinney import _memory, _projection, _spinney, _validation
from spinney._arrays import Tree
from spinney._base import (
    BaseClassifier,
    BaseEnsemble,
    BaseModel,
    BaseRegressor,
    Members,
    n_drawn_features,
    n_positive,
    progress_bar,
    unchanged_on_failure,
)
from spinney._projection import Growth, derived_seed
from spinney._validation import Float, Matrix, Target, draw_seed
from spinney.tree import DecisionTreeRegressor

if TYPE_CHECKING:
    from spinney._spinney import _BoostConfig, _Targets

# Parameters that all stages of a model share.
_SHARED = ("output_strategy", "loss", "learning_rate", "relabel_leaves")
_WITH_PROBABILITIES = {"log_loss", "exponential"}


def _grows_trees(estimator: Any) -> bool:
    if getattr(estimator, "_weak", estimator.estimator) is not None:
        raise AttributeError(f"{type(estimator).__name__} with estimator= has weak models that are no trees of its own")
    return True


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator._shared["loss"] if hasattr(estimator, "_shared") else estimator.loss
    if loss not in _WITH_PROBABILITIES:
        raise AttributeError(f"loss={loss!r} has no probabilities; those that have: 'exponential', 'log_loss'")
    return True


def _has_labels(estimator: Any) -> bool:
    check_is_fitted(estimator)
    return estimator._label_format is not None


class BaseBoosting(BaseEnsemble):
    """What boosting has, whatever y is."""

    _kind = "boosting"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "output_strategy": [StrOptions({"projected", "joint", "single_target"})],
        "output_projection": [part for part in _projection.CONSTRAINTS["output_projection"] if part is not None],
        "relabel_leaves": ["boolean"],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "line_search": [StrOptions({"newton", "brent"})],
        "step_dtype": [StrOptions({"float64", "float8"})],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
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

    @property
    def _forest(self) -> _spinney.Forest:  # type: ignore[override]
        forest = self._model.forest
        assert forest is not None
        return forest

    def _check_X(self, X: Any, *, reset: bool, fitting: bool = False) -> Matrix:
        weak = self.estimator if reset or fitting else self._weak
        return (_validation.check_X if weak is None else _validation.check_wide_X)(self, X, reset=reset)

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
            Not negative, not all zero. A row of weight zero is no row; a row of weight 2 is two rows, except in what
            `subsample` draws.
        X_val, y_val : as X and y, default=None
            Rows to measure the loss on after every stage, in `validation_score_`. With `n_iter_no_change` they decide
            when to stop, in place of a share of the training rows. The classes of `y_val` must be among those of `y`.
        sample_weight_val : array-like of shape (n_samples_val,), default=None
            Weights of these rows. `class_weight` does not apply to them.

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
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, given: tuple[Any, Any, Any]) -> None:
        self._check_parameters()
        grown = self._model if self.warm_start and hasattr(self, "_model") else None
        before = dict(self.__dict__)
        X, target, weights = self._check_fit(X, y, sample_weight)
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._set_outputs(target)
        self.max_features_ = n_drawn_features(self.max_features, self.n_features_in_)
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["estimator"] = None if self.estimator is None else type(self.estimator).__name__
        n_grown = 0
        if grown is not None:
            n_grown = grown.n_stages
            self._check_warm_start(before, shared, n_grown)
        self._shared = shared
        if n_grown == self.n_estimators:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new stages.", stacklevel=4)
            return
        weights = _spinney.weights_by_row(target.engine, self._row_weights(target, weights))
        weights, validation = self._validation_set(X, target, weights, given)
        config = self._boost_config(n_positive(weights, X.shape[0]), target)
        _memory.reserve(self, _memory.of_checked(X, target, weights is not None))
        with progress_bar(int(self.n_estimators) - n_grown, self.verbose, type(self).__name__) as progress:
            if self.estimator is None:
                threads = self._n_threads()
                model = _spinney.fit_boosting(X, target.engine, weights, config, validation, grown, threads, progress)
                self._weak = None
            else:
                model = self._fit_weak(X, target, weights, config, validation, progress, n_grown)
        self._model = model
        self.n_estimators_ = model.n_stages

    def _check_parameters(self) -> None:
        """What no table can say: parameters that contradict each other."""
        if self.step_dtype != "float64" and (self.output_strategy != "projected" or self.relabel_leaves):
            raise ValueError(
                f"step_dtype is {self.step_dtype!r}, but leaves hold what they add, and no steps; accepted: 'float64', "
                "or output_strategy='projected' with relabel_leaves=False"
            )
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
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

    def _n_columns(self, target: Target) -> int:
        """Columns of scores: one for two classes."""
        single = target.kind == "classes" and target.n_outputs == 1
        return 1 if single and len(target.classes[0]) <= 2 else target.n_columns

    def _boost_config(self, n_samples: int, target: Target) -> _BoostConfig:
        projection = None
        if isinstance(self.n_projections, bool):
            raise ValueError(f"n_projections is {self.n_projections}, accepted: an integer from 1, a share, or 'log'")
        if self.output_strategy == "projected":
            growth = Growth(self._seed, range(int(self.n_estimators)))
            width = self._n_columns(target)
            projection = _projection.of_stages(self.output_projection, self.n_projections, width, growth)
            if projection["n_projections"] > 1 and not self.relabel_leaves:
                raise ValueError(
                    f"n_projections is {projection['n_projections']}, but leaves that are not relabelled hold a single "
                    "number: with relabel_leaves=False, accepted: 1"
                )
        return {
            "tree": self._growth_config(n_samples, "squared_error", self._seed),
            "n_estimators": int(self.n_estimators),
            "learning_rate": float(self.learning_rate),
            "loss": self.loss,
            "strategy": self.output_strategy,
            "output_projection": projection,
            "relabel": bool(self.relabel_leaves),
            "subsample": float(self.subsample),
            "line_search": self.line_search,
            "step_dtype": self.step_dtype,
            "max_bins": None if self.max_bins is None else int(self.max_bins),
            "n_iter_no_change": None if self.n_iter_no_change is None else int(self.n_iter_no_change),
            "tol": float(self.tol),
        }

    def _validation_set(
        self, X: Matrix, target: Target, weights: Float | None, given: tuple[Any, Any, Any]
    ) -> tuple[Float | None, tuple[Matrix, _Targets, Float | None] | None]:
        """Weights of training rows, and the rows held out. Training rows that are held out get a weight of zero."""
        X_val, y_val, w_val = given
        if (X_val is None) != (y_val is None):
            missing, there = ("X_val", "y_val") if X_val is None else ("y_val", "X_val")
            raise ValueError(f"{missing} is None, but {there} is given: pass both or none")
        if X_val is not None:
            try:
                X_val = self._check_X(X_val, reset=False, fitting=True)
                w_val = _validation.check_weights(w_val, X_val.shape[0])
                return weights, (X_val, target.like(y_val, X_val.shape[0], type(self).__name__), w_val)
            except (TypeError, ValueError) as error:
                raise type(error)(f"X_val, y_val, sample_weight_val: {error}") from error
        if w_val is not None:
            raise ValueError("sample_weight_val is given, but X_val and y_val are not: pass all three or none")
        if self.n_iter_no_change is None:
            return weights, None
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        classes = target.engine[0][rows, 0] if target.kind == "classes" and target.n_outputs == 1 else None
        try:
            split = {"test_size": float(self.validation_fraction), "stratify": classes}
            _, held = train_test_split(rows, random_state=derived_seed(self._seed, ()), **split)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction is {self.validation_fraction}, but the rows cannot be split so: {error}"
            ) from error
        held.sort()
        kept = np.ones(X.shape[0]) if weights is None else weights.copy()
        kept[held] = 0
        X_held = X.tocsr()[held] if _validation.is_sparse(X) else X[held]
        return kept, (X_held, target.rows(held), None if weights is None else weights[held])

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
        if self.output_strategy == "joint" and n_columns > 1 and not get_tags(self.estimator).target_tags.multi_output:
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

    def _scores(self, X: Any) -> Float:
        X = self._check_predict(X)
        return self._scores_of(X)

    def _scores_of(self, X: Matrix) -> Float:
        """Raw scores, (n_samples, width), of X that was checked."""
        if self._weak is None:
            return self._model.predict_scores(X, self._n_threads())
        scores = self._model.start()[np.newaxis].repeat(X.shape[0], axis=0)
        for scores in self._staged_weak(X):  # noqa: B007
            pass
        return scores

    def _staged(self, X: Any) -> Iterator[Float]:
        """Raw scores after each stage, each time an array of its own."""
        X = self._check_predict(X)
        if self._weak is not None:
            yield from self._staged_weak(X)
            return
        X = X.tocsr() if _validation.is_sparse(X) else X
        yield from self._model.staged_scores(X, self._n_threads())

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
        """Loss on the training rows after each stage, (n_estimators_,): a copy."""
        return self._fitted("train_score_").train_score()

    @property
    def validation_score_(self) -> Float:
        """Loss on the rows held out or given after each stage, (n_estimators_,): a copy. Not there without them."""
        losses = self._fitted("validation_score_").validation_score()
        if not len(losses):
            raise AttributeError(f"{type(self).__name__} was fitted without rows to validate on: no validation_score_")
        return losses

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

    @property
    def estimators_(self) -> Sequence[Any]:
        """The weak models in the order of stages; with "single_target", a tree for each column of scores in each stage.

        Trees are made as estimators when asked for, and share the model's memory. Those of "joint", "single_target" and
        with `relabel_leaves` predict what the stage adds to the scores. Without, they predict one number, the stage's
        direction, which adds to each column of scores as much as `learning_rate * step_sizes_[stage]` times it.
        """
        check_is_fitted(self)
        return Members(self) if self._weak is None else list(self._weak)

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
    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the leaf that each row reaches in each tree, (n_samples, n_trees); not there with `estimator`."""
        return super().apply(X)


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
    loss : {"squared_error", "absolute_error"}, default="squared_error"
        What is minimised, summed over outputs: half the squared error, or the absolute error.
    learning_rate : float, default=0.1
        What each stage's step is multiplied by; the constant that stages start from is not.
    n_estimators : int, default=100
        Number of stages; with "single_target" each has a tree for every column of scores.
    output_strategy : {"projected", "joint", "single_target"}, default="projected"
        What a stage fits. "projected": one tree, to a few random combinations of the gradients of all outputs. "joint":
        one tree, to the gradients of all outputs. "single_target": a tree for each output, which share nothing.
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
    line_search : {"newton", "brent"}, default="newton"
        How steps are found where the loss has no closed form: Newton's method kept within a bracket, or Brent's.
    step_dtype : {"float64", "float8"}, default="float64"
        Type in which the model keeps steps that leaves do not hold, with `relabel_leaves=False`, and which stages are
        grown with. In "float8" (OCP E4M3, scaled by a power of two for each stage) a step takes one byte in place of
        eight, in memory as in files. Steps are cut towards zero, by an eighth at most, so that losses still do not
        rise; later stages make up for it. Not for classes whose steps depend on each other (log loss of three or more).
    subsample : float, default=1.0
        Share of the rows, drawn without replacement, that each stage is fitted to.
    max_bins : int, default=255
        Trees on dense X look at so many groups of values of each feature, 2 to 255; at every value of a feature that
        has no more of them, or with None. Sparse X is always looked at value by value.
    max_depth : int, default=3
        Largest depth; with None, nodes are split while they are impure.
    max_leaf_nodes : int, default=None
        Grow best-first to so many leaves.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    validation_fraction : float, default=0.1
        Share of the rows held out with `n_iter_no_change`, when `fit` gets no validation set.
    n_iter_no_change : int, default=None
        Stop when so many stages have not lowered the loss on the rows held out by `tol`, and keep the stages up to the
        best.
    tol : float, default=1e-4
        Least decrease of the loss that counts.
    warm_start : bool, default=False
        Keep the stages of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the model is the one that would have been grown at once.
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.

    Attributes
    ----------
    n_estimators_ : int
        Number of stages: `n_estimators`, or fewer after an early stop.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models; trees are made when asked for, and share the model's memory.
    step_sizes_ : ndarray of shape (n_estimators_, n_columns)
        What each stage's weak model was multiplied by for each column of scores, before `learning_rate`.
    start_ : ndarray of shape (n_columns,)
        The constant scores that stages start from.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss on the training rows after each stage.
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss on the rows held out or given, when there are any.
    feature_importances_ : ndarray of shape (n_features_in_,)
    max_features_, n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.

    Notes
    -----
    Friedman's gradient boosting: from the constants that minimise the loss, each stage fits a weak model g to the
    negative gradients, finds for each column j of scores the step ρ_j that minimises the loss along g, and adds
    `learning_rate` · ρ_j g. With a learning rate of 1 and all rows the training loss never rises.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 6; J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
    Statistics 2001.

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
        "loss": [StrOptions({"squared_error", "absolute_error"})],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: str = "projected",
        output_projection: Any = "gaussian",
        n_projections: Any = 1,
        relabel_leaves: bool = True,
        estimator: Any = None,
        line_search: str = "newton",
        step_dtype: str = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        max_features: Any = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
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
        self.line_search = line_search
        self.step_dtype = step_dtype
        self.subsample = subsample
        self.max_bins = max_bins
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> Float:
        """Predict numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._numbers(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Float]:
        """Predictions after each stage: a generator of what `predict` returns, each array new."""
        yield from map(self._numbers, self._staged(X))

    def _numbers(self, scores: Float) -> Float:
        return scores[:, 0] if self.n_outputs_ == 1 else scores


class GradientBoostingClassifier(BaseBoosting, BaseClassifier):
    """Gradient boosting for classes and labels.

    Parameters
    ----------
    loss : {"log_loss", "exponential", "hinge", "squared_error"}, default="log_loss"
        What is minimised, summed over the columns of scores. With y of -1 and +1, "log_loss" is log(1 + exp(-2yf)) of a
        score f, half the log-odds; "exponential" is exp(-yf); "hinge" is max(0, 1 - yf); "squared_error" is half the
        squared error of f as 0 or 1. For outputs of three or more classes, or several outputs of classes, "log_loss"
        is that of the softmax over the output's columns, except with "single_target", which like the other losses sets
        each class against the rest.
    learning_rate : float, default=0.1
        What each stage's step is multiplied by; the constant that stages start from is not.
    n_estimators : int, default=100
        Number of stages; with "single_target" each has a tree for every column of scores.
    output_strategy : {"projected", "joint", "single_target"}, default="projected"
        What a stage fits. "projected": one tree, to a few random combinations of the gradients of all outputs. "joint":
        one tree, to the gradients of all outputs. "single_target": a tree for each output, which share nothing.
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
    line_search : {"newton", "brent"}, default="newton"
        How steps are found where the loss has no closed form: Newton's method kept within a bracket, or Brent's.
    step_dtype : {"float64", "float8"}, default="float64"
        Type in which the model keeps steps that leaves do not hold, with `relabel_leaves=False`, and which stages are
        grown with. In "float8" (OCP E4M3, scaled by a power of two for each stage) a step takes one byte in place of
        eight, in memory as in files. Steps are cut towards zero, by an eighth at most, so that losses still do not
        rise; later stages make up for it. Not for classes whose steps depend on each other (log loss of three or more).
    subsample : float, default=1.0
        Share of the rows, drawn without replacement, that each stage is fitted to.
    max_bins : int, default=255
        Trees on dense X look at so many groups of values of each feature, 2 to 255; at every value of a feature that
        has no more of them, or with None. Sparse X is always looked at value by value.
    max_depth : int, default=3
        Largest depth; with None, nodes are split while they are impure.
    max_leaf_nodes : int, default=None
        Grow best-first to so many leaves.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    validation_fraction : float, default=0.1
        Share of the rows held out with `n_iter_no_change`, when `fit` gets no validation set; stratified by class for
        one output of classes.
    n_iter_no_change : int, default=None
        Stop when so many stages have not lowered the loss on the rows held out by `tol`, and keep the stages up to the
        best.
    tol : float, default=1e-4
        Least decrease of the loss that counts.
    warm_start : bool, default=False
        Keep the stages of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the model is the one that would have been grown at once.
    class_weight : "balanced", dict or list of dict, default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output.
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.

    Attributes
    ----------
    n_estimators_ : int
        Number of stages: `n_estimators`, or fewer after an early stop.
    estimators_ : sequence of DecisionTreeRegressor, or list
        The weak models; trees are made when asked for, and share the model's memory.
    step_sizes_ : ndarray of shape (n_estimators_, n_columns)
        What each stage's weak model was multiplied by for each column of scores, before `learning_rate`.
    start_ : ndarray of shape (n_columns,)
        The constant scores that stages start from.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss on the training rows after each stage.
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss on the rows held out or given, when there are any.
    classes_ : ndarray, or list of ndarray
        Classes in rising order; for several outputs one array for each. For labels, their numbers.
    n_classes_ : int, or list of int
    feature_importances_ : ndarray of shape (n_features_in_,)
    max_features_, n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.

    Notes
    -----
    Friedman's gradient boosting: from the constants that minimise the loss, each stage fits a weak model g to the
    negative gradients, finds for each column j of scores the step ρ_j that minimises the loss along g, and adds
    `learning_rate` · ρ_j g. With a learning rate of 1 and all rows the training loss never rises.

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
        "loss": [StrOptions({"log_loss", "exponential", "hinge", "squared_error"})],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        loss: str = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        output_strategy: str = "projected",
        output_projection: Any = "gaussian",
        n_projections: Any = 1,
        relabel_leaves: bool = True,
        estimator: Any = None,
        line_search: str = "newton",
        step_dtype: str = "float64",
        subsample: float = 1.0,
        max_bins: int | None = 255,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        max_features: Any = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        class_weight: Any = None,
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
        self.line_search = line_search
        self.step_dtype = step_dtype
        self.subsample = subsample
        self.max_bins = max_bins
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> Any:
        """Predict classes or labels: those of `decision_function` above zero, or the class whose score is largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            Of the type of y: for labels of its dtype, and sparse when y was. A sparse result is built by blocks of
            rows, so that memory is that of the result.
        """
        if self._is_sparse_labels():
            return self._predict_sparse(X)
        return self._decided(self._scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        1 / (1 + exp(-2f)) of a score f, for several classes divided by their sum; the softmax of scores where the loss
        is that of it. Only with the losses "log_loss" and "exponential".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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
        return self._probabilities(self._scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of what `predict_proba` returns; of zero it is minus infinity."""
        return super().predict_log_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Scores.

        Those of "squared_error", which estimate 0 and 1, less one half: a label, or the second of two classes, is
        predicted where its score is above zero, whatever the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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
        return self._decisions(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predictions after each stage: a generator of what `predict` returns, each array new."""
        yield from map(self._decided, self._staged(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Probabilities after each stage: a generator of what `predict_proba` returns, each array new."""
        yield from map(self._probabilities, self._staged(X))

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Scores after each stage: a generator of what `decision_function` returns, each array new."""
        yield from map(self._decisions, self._staged(X))

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
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
        if self._weak is None:
            indices, scores = self._model.predict_topk(X, int(k), self._n_threads())
        else:
            every = self._scores_of(X)
            indices = np.argsort(-every, axis=1, kind="stable")[:, :k]
            scores = np.take_along_axis(every, indices, axis=1)
        return indices.astype(np.int64), scores - self._threshold

    @property
    def _threshold(self) -> float:
        """Raw score above which a label, or the second of two classes, is predicted."""
        return 0.5 if self._shared["loss"] == "squared_error" else 0.0

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
        scores = scores - self._threshold
        if self._label_format is not None:
            return scores
        if self.n_outputs_ == 1:
            return scores if self.n_classes_ > 2 else scores[:, 0]
        return self._split_outputs(scores)

    def _probabilities(self, scores: Float) -> Any:
        proba = self._model.to_probabilities(scores)
        return proba if self.n_outputs_ == 1 or self._label_format is not None else self._split_outputs(proba)
