"""The parameters of boosting: their types, their checks, and their form in the engine."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor

from weald import loss as losses
from weald._fit import boosting_checks
from weald._fit.base import BINS_CONSTRAINTS, BaseModel, as_size
from weald._fit.boosted import BoostedModel
from weald._input.checks import MOST, Float, Number
from weald._input.sklearn_private import HasMethods, Interval, StrOptions
from weald._input.targets import Target
from weald._parameters import constraints, label_weight, projections
from weald._parameters.max_features import n_drawn_features
from weald._parameters.projections import Growth
from weald._parameters.types import (
    CategoricalFeatures,
    InteractionCst,
    MaxFeatures,
    MonotonicCst,
    NProjections,
    OutputProjection,
    RandomState,
)
from weald._rounds import folds
from weald.loss import CustomLoss

if TYPE_CHECKING:
    from weald._fit.samples import Samples
    from weald._weald import _BoostConfig, _OutputProjection, _TreeConfig

# With at most this number of columns of scores, "auto" grows one tree for each: see `benches/defaults`.
FEW_COLUMNS = 10
# Rounds without improvement after which early stopping ends a fit if `n_iter_no_change` is None: as in scikit-learn, and those
# of folds, whose mean loss may rest for longer where there is no noise (see `benches/defaults`).
_PATIENCE, _PATIENCE_OF_FOLDS = 10, 30
# Trees that at most so many columns share get more leaves for more samples (see `benches/defaults`): in all leaves, more
# columns would take much memory.
_MOST_IN_LARGE_TREES = 100
# With more different samples than that, their number makes no difference there.
MOST_COUNTED = 5000
# The usual number of leaves, where the parameters do not tell it.
_LEAVES = 31
# What `n_estimators="auto"` stands for at most, with early stopping.
_MOST_STAGES = 1000
# The folds that find the number of stages, those of few samples, and how many samples there may be (see `benches/tables` and
# `benches/defaults`): fewer were not measured, and with more the folds take long.
_N_FOLDS, _N_FOLDS_OF_FEW, _FEW_SAMPLES = 3, 5, 200
FOR_FOLDS = range(30, 20_001)
# Regressors with more than `FEW_COLUMNS` outputs grow one tree for each, too, up to this number of outputs and if the number of
# different samples is in this range (see `benches/defaults`): beyond, fits would take many times as long. `n_estimators="auto"`
# is `_OWN_STAGES` there, or the number that one fold finds, at most `_MOST_OWN_STAGES`.
_MOST_WITH_OWN_TREES = 100
_FOR_OWN_TREES = range(30, MOST_COUNTED + 1)
_OWN_STAGES, _MOST_OWN_STAGES = 100, 200
# `max_leaf_nodes="auto"` where folds find the number of stages and rows repeat, so that folds judge what leaves of few
# different rows say (see `benches/defaults`); the second one where each of many numbers has a tree of its own.
_LEAVES_WHERE_ROWS_REPEAT, _LEAVES_OF_OWN_WHERE_ROWS_REPEAT = 31, 127


class Auto(NamedTuple):
    """What "auto" stands for, chosen over many data sets (docs/defaults.md)."""

    # With a given number of stages, for few numbers or classes.
    fixed: Any
    # With a number of stages that folds find; a function gets the number of samples.
    found: Any
    # For many numbers or classes, and for several outputs of classes, such as labels.
    many: Any
    # The same where up to `_MOST_IN_LARGE_TREES` columns of scores share each tree, if it differs; a function gets the number of
    # different samples.
    shared: Any = None
    # For many numbers that have a tree each; a function as above.
    own: Any = None


def leaves_by_samples(n_samples: int) -> int:
    """`max_leaf_nodes="auto"` where folds find the number of stages (see `benches/tables`)."""
    return 8 if n_samples <= 1000 else 15 if n_samples <= 5000 else 31


def leaves_of_shared_trees(n_different: int) -> int:
    """`max_leaf_nodes="auto"` where many columns of scores share each tree (see `benches/defaults`)."""
    return 31 if n_different <= 2000 else 63 if n_different <= MOST_COUNTED else 127


def leaves_of_own_trees(n_different: int) -> int:
    """`max_leaf_nodes="auto"` where each of many numbers has a tree of its own (see `benches/defaults`)."""
    return 8 if n_different <= 1000 else 15 if n_different <= 2000 else 31


class BoostingParameters(BoostedModel):
    """The parameters that both boosting estimators share, which their constructors set by `keep`."""

    _masks_y = True

    # A name, a loss, or an object with the methods of a loss.
    loss: object
    learning_rate: float | Literal["auto"]
    n_estimators: int | Literal["auto"]
    output_strategy: Literal["auto", "projected", "joint", "single_target"]
    output_projection: OutputProjection
    n_projections: NProjections
    relabel_leaves: bool
    estimator: BaseEstimator | None
    init: BaseEstimator | None
    init_cv: int | None
    leaf_estimation: Literal["newton", "line_search"]
    l2_regularization: float
    min_sum_hessian_in_leaf: float
    line_search: Literal["newton", "brent"]
    step_dtype: Literal["float64", "float8"]
    subsample: float
    max_bins: int | None
    max_depth: int | None
    max_leaf_nodes: int | Literal["auto"] | None
    max_features: MaxFeatures | Literal["auto"]
    max_features_by_tree: MaxFeatures
    min_samples_split: float
    min_samples_leaf: float
    min_weight_leaf: float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    early_stopping: bool | Literal["auto"]
    scoring: str | Callable[..., float] | None
    validation_fraction: float
    cv: Any
    refit: bool
    n_iter_no_change: int | None
    tol: float
    callbacks: object
    categorical_features: CategoricalFeatures
    monotonic_cst: MonotonicCst
    interaction_cst: InteractionCst
    warm_start: bool
    n_jobs: int | None
    random_state: RandomState
    verbose: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "learning_rate": [Number(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "n_estimators": [Interval(Integral, 1, MOST, closed="both"), StrOptions({"auto"})],
        "output_strategy": [StrOptions({"auto", "projected", "joint", "single_target"})],
        "output_projection": [part for part in projections.CONSTRAINTS["output_projection"] if part is not None],
        "relabel_leaves": ["boolean"],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "init": [HasMethods(["fit", "predict"]), None],
        "init_cv": [Interval(Integral, 2, None, closed="left"), None],
        "leaf_estimation": [StrOptions({"newton", "line_search"})],
        "l2_regularization": [Number(Real, 0.0, None, closed="left")],
        "min_sum_hessian_in_leaf": [Number(Real, 0.0, None, closed="left")],
        "line_search": [StrOptions({"newton", "brent"})],
        "step_dtype": [StrOptions({"float64", "float8"})],
        "max_features_by_tree": BaseModel._parameter_constraints["max_features"],
        "subsample": [Number(Real, 0.0, 1.0, closed="right")],
        **BINS_CONSTRAINTS,
        "max_leaf_nodes": [*BaseModel._parameter_constraints["max_leaf_nodes"], StrOptions({"auto"})],
        "min_weight_leaf": [Number(Real, 0.0, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "scoring": [str, callable, None],
        "validation_fraction": [Number(Real, 0.0, 1.0, closed="neither")],
        "cv": ["cv_object"],
        "refit": ["boolean"],
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
        has_steps = self.output_strategy in ("auto", "projected") and not self.relabel_leaves
        if self.step_dtype != "float64" and not has_steps:
            raise ValueError(
                "step_dtype must be 'float64' unless output_strategy is 'projected' and relabel_leaves is False, since "
                f"other models have no step sizes, got {self.step_dtype!r}"
            )
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(
                f"estimator= ({name}) does not support callbacks: call set_callbacks without arguments, which removes them"
            )
        for parameter in ("init", "scoring", "callbacks", "label_weight"):
            # Regressors have no labels.
            if getattr(self, parameter, None) is not None:
                raise ValueError(f"estimator= ({name}) does not support {parameter}: it must be None")
        if isclass(self.estimator):
            name = self.estimator.__name__
            raise ValueError(f"estimator must be an instance, {name}(), got the class {name}")
        if not is_regressor(self.estimator):
            raise ValueError(f"estimator must be a regressor of scikit-learn, got {name}")
        if self.output_strategy == "single_target":
            raise ValueError(
                "output_strategy must be 'auto', 'joint' or 'projected' with estimator, got 'single_target'"
            )
        if self.output_strategy == "projected" and self.relabel_leaves:
            raise ValueError(
                f"relabel_leaves must be False with output_strategy='projected' and estimator= ({name}), whose models "
                "have no leaves, got True"
            )

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        if self.estimator is not None:
            return {}
        leaves = self.max_leaf_nodes
        leaves = _LEAVES if leaves is None or isinstance(leaves, str) else int(leaves)
        leaves = min(leaves, n_samples, 2 ** min(_LEAVES, self.max_depth or _LEAVES))
        names = ("l2_regularization", "min_sum_hessian_in_leaf", "min_weight_leaf")
        found = {f"{name}={getattr(self, name):g}": leaves * float(getattr(self, name)) for name in names}
        return found | super()._least_weights(n_samples)

    def _strategy(self, n_columns: int) -> str:
        """The strategy of a fit, with "auto" resolved."""
        if self.output_strategy != "auto":
            return str(self.output_strategy)
        if self._goes_on():
            return str(self._shared["output_strategy"])
        if self.estimator is not None and self.relabel_leaves:
            return "joint"
        if self._asks_for_projections():
            return "projected"
        if n_columns <= FEW_COLUMNS or self._has_own_trees:
            return "single_target"
        # A projection combines outputs with different signs, which does not preserve directions.
        has_directions = self.monotonic_cst is not None and constraints.has_directions(self)
        return "joint" if has_directions else "projected"

    def _asks_for_projections(self) -> bool:
        """Whether a parameter of projections has another value than its default."""
        is_default = isinstance(self.output_projection, str) and self.output_projection == "gaussian"
        return not (self.relabel_leaves and is_default and self.n_projections == 1)

    # The stages of `n_estimators="auto"` without early stopping, and what "auto" stands for in the other parameters.
    _N_STAGES: ClassVar[int]
    _AUTO: ClassVar[dict[str, Auto]]
    # Whether folds find the number of stages of the current fit, and whether "auto" gives many numbers a tree each in it.
    _finds_stages = False
    _has_own_trees = False
    # The number of these folds, and whether each different row of X stands at least twice there, on average.
    _n_folds = _N_FOLDS
    _rows_repeat = False

    def _is_of_few(self, n_outputs: int, n_columns: int) -> bool:
        """Whether y has up to `FEW_COLUMNS` outputs of numbers, or one output of up to so many classes."""
        return n_columns <= FEW_COLUMNS and (n_outputs == 1 or not isinstance(self, ClassifierMixin))

    def _may_have_own_trees(self, n_columns: int) -> bool:
        """Whether each of many numbers has a tree of its own in each stage if the number of samples suits."""
        is_middle = FEW_COLUMNS < n_columns <= _MOST_WITH_OWN_TREES
        is_auto = self.output_strategy == "auto" and self.estimator is None and not self._asks_for_projections()
        return is_middle and is_auto and not isinstance(self, ClassifierMixin)

    def _goes_on(self) -> bool:
        """Whether the fit continues a fitted model, in which case "auto" stands for what it stood for there."""
        return self.warm_start and hasattr(self, "_model")

    def _settle_trees(self, n_columns: int, n_different: int) -> None:
        """Decide whether many numbers have a tree each in a model that does not exist yet."""
        is_own = n_different in _FOR_OWN_TREES and self._may_have_own_trees(n_columns)
        self._has_own_trees = is_own and not self._goes_on()

    def _has_large_trees(self, n_columns: int) -> bool:
        """Whether large trees pay: many columns of scores share each, but not so many that they would take much memory."""
        is_middle = FEW_COLUMNS < n_columns <= _MOST_IN_LARGE_TREES
        return is_middle and self.init is None and self._strategy(n_columns) != "single_target"

    def _asked(self, name: str, n_outputs: int, n_columns: int, n_samples: int = 0) -> Any:
        """The value of a parameter for y with so many outputs and columns of scores, and so many samples."""
        value = getattr(self, name)
        if name not in self._AUTO or not isinstance(value, str) or value != "auto":
            return value
        if self._goes_on() and name in (kept := {**self._shared, "max_leaf_nodes": self.max_leaf_nodes_}):
            return kept[name]
        auto = self._AUTO[name]
        if auto.own is not None and self._has_own_trees:
            found = auto.own
        elif auto.shared is not None and self._has_large_trees(n_columns):
            found = auto.shared
        elif not self._is_of_few(n_outputs, n_columns):
            found = auto.many
        else:
            found = auto.found if self._finds_stages else auto.fixed
        if name == "max_leaf_nodes" and self._finds_stages and self._rows_repeat:
            found = _LEAVES_OF_OWN_WHERE_ROWS_REPEAT if self._has_own_trees else _LEAVES_WHERE_ROWS_REPEAT
        return found(n_samples) if callable(found) else found

    def _most_leaves(self) -> int | None:
        # What "auto" stands for depends on y: it is put in place where y is known.
        return None if isinstance(self.max_leaf_nodes, str) else as_size(self.max_leaf_nodes)

    def _leaves_for(self, n_outputs: int, n_columns: int, n_samples: int) -> int | None:
        return as_size(self._asked("max_leaf_nodes", n_outputs, n_columns, n_samples))

    def _lets_folds_decide(self) -> bool:
        """Whether the number of stages is "auto", and no other parameter says when to stop."""
        is_alone = self.n_estimators == "auto" and self.early_stopping == "auto" and not self.warm_start
        others = (self.n_iter_no_change, self.cv, self.scoring, self.estimator, self.init)
        return is_alone and all(other is None for other in others)

    def _asks_for_folds(self, target: Target) -> bool:
        """Whether "auto" asks for folds: where each score has a tree of its own, if nothing else says when to stop."""
        if not self._lets_folds_decide() or target.kind == "labels":
            return False
        can_differ = target.kind == "numbers" or len(target.classes[0]) > 1
        n_columns = self._n_columns(target)
        return can_differ and (self._is_of_few(target.n_outputs, n_columns) or self._may_have_own_trees(n_columns))

    def _suits_folds(self, n_samples: int, n_columns: int) -> bool:
        """Whether there are as many samples as folds need that find the number of stages."""
        return n_samples in FOR_FOLDS and (n_columns <= FEW_COLUMNS or self._has_own_trees)

    def _likely_folds(self, n_samples: int, n_columns: int) -> Any:
        """What folds a fit to so many samples and columns of scores has."""
        if self._patience() is not None:
            return self._folds()
        if not self._lets_folds_decide() or not self._suits_folds(n_samples, n_columns):
            return None
        return 1 if self._has_own_trees else self._n_folds_for(n_samples)

    def _counts_different(self, n_columns: int) -> bool:
        """Whether "auto" depends on how many samples differ: where trees are chosen with a given number of stages, too.

        There a sample of weight two is the same as two samples.
        """
        has_large = isinstance(self.max_leaf_nodes, str) and self._has_large_trees(n_columns)
        return has_large or self._may_have_own_trees(n_columns)

    def _settle(self, samples: Samples, *, may_find_stages: bool) -> int:
        """Decide whether many numbers have a tree each and whether folds find the number of stages.

        Return the number of samples on which the number of leaves depends.
        """
        X, target, weights = samples.X, samples.target, samples.weights
        n_columns, n = self._n_columns(target), samples.n_positive
        if self._counts_different(n_columns) and not self._goes_on():
            n = len(folds.different(X, weights))
        self._settle_trees(n_columns, n)
        if may_find_stages and self._asks_for_folds(target) and self._suits_folds(samples.n_positive, n_columns):
            counted = label_weight.that_count(self, target)
            n_rows, n_different = folds.sizes(X, counted, weights, self._seed)
            self._rows_repeat = 2 * n_different <= n_rows
            self._n_folds = self._n_folds_for(n_rows)
            knows_all = folds.each_knows_all(self._n_folds, X, counted, weights, self._seed)
            self._finds_stages = knows_all and self._suits_folds(n_rows, n_columns)
            n = n if self._has_own_trees else n_rows
        return n

    def _forget_choices(self) -> None:
        """Delete what "auto" stands for in the fit that ends."""
        for name in ("_finds_stages", "_has_own_trees", "_n_folds", "_rows_repeat"):
            self.__dict__.pop(name, None)

    def _most_stages(self) -> int:
        """The number of stages, or the largest one with early stopping."""
        if self.n_estimators == "auto":
            if self._goes_on() and self._patience() is None:
                # A search has found the number, if its losses are not those of the samples that the model is fitted to.
                if "validation" in self.__dict__.get("_curves", {}) and not len(self._model.validation_score()):
                    return self._model.n_stages
                if self._may_have_own_trees(self._model.width) and self._shared["output_strategy"] == "single_target":
                    return _OWN_STAGES
                return self._N_STAGES
            if self._has_own_trees and self._finds_stages:
                return _MOST_OWN_STAGES
            if self._has_own_trees and self._patience() is None:
                return _OWN_STAGES
            return self._N_STAGES if self._patience() is None else _MOST_STAGES
        return int(self.n_estimators)

    def _most_rounds(self) -> int:
        """The largest number of rounds of a fit whose y is not known yet."""
        may_find = self.n_estimators == "auto" and self.early_stopping is not False and not self.warm_start
        return _MOST_STAGES if may_find else self._most_stages()

    def _folds(self) -> Any:
        """What folds early stopping has: `cv`, or those of "auto"."""
        return self._n_folds if self._finds_stages else self.cv

    def _n_folds_for(self, n_samples: int) -> int:
        return _N_FOLDS_OF_FEW if n_samples <= _FEW_SAMPLES and not self._has_own_trees else _N_FOLDS

    def _n_folds_grown(self) -> int | None:
        """How many of the folds are grown, or None for all: the mean loss of many numbers hardly differs between folds."""
        return 1 if self._finds_stages and self._has_own_trees else None

    def _patience(self) -> int | None:
        """The number of rounds without improvement that stops the fit; None without early stopping."""
        if self._finds_stages:
            return _PATIENCE_OF_FOLDS
        is_asked = self.n_iter_no_change is not None or self.cv is not None
        if self.early_stopping is False or (self.early_stopping == "auto" and not is_asked):
            return None
        if self.n_iter_no_change is None:
            return _PATIENCE if self.cv is None else _PATIENCE_OF_FOLDS
        return as_size(self.n_iter_no_change)

    def _n_features_of_tree(self) -> int:
        return n_drawn_features(self.max_features_by_tree, self.n_features_in_)

    def _boost_config(
        self, n_samples: int, target: Target, of_labels: Float | None = None, *, draws: bool = True
    ) -> _BoostConfig:
        """The parameters in the engine's form. A fit that does not draw projections gets any valid projection."""
        projection = None
        if isinstance(self.n_projections, bool):
            raise ValueError(
                f"n_projections must be an integer of at least 1, a fraction, or 'log', got {self.n_projections}"
            )
        strategy = self._shared["output_strategy"]
        if strategy == "projected" and not draws:
            projection = projections.of_stages("gaussian", 1, self._n_columns(target), Growth(self._seed))
        elif strategy == "projected":
            growth = Growth(self._seed, range(self._most_stages()))
            width = self._n_columns(target)
            projection = projections.of_stages(self.output_projection, self.n_projections, width, growth)
            if projection["n_projections"] > 1 and not self.relabel_leaves:
                raise ValueError(
                    "n_projections must be 1 with relabel_leaves=False, since leaves that are not relabeled store a "
                    f"single value, got {projection['n_projections']}"
                )
        tree = self._growth_config(n_samples, "squared_error", self._seed, target.n_outputs)
        tree["max_features"], tree["max_leaf_nodes"] = self.max_features_, self.max_leaf_nodes_
        if of_labels is not None:
            tree["output_weights"] = of_labels.tolist()
        config = self._plain_boost_config(tree, strategy, projection, self._n_features_of_tree())
        loss = boosting_checks.loss_of(self)
        config["learning_rate"] = self._shared["learning_rate"]
        config["loss"] = loss if isinstance(loss, CustomLoss) else loss.name
        config["loss_parameter"] = getattr(loss, "_parameter", None)
        return config

    def _plain_boost_config(
        self, tree: _TreeConfig, strategy: str, projection: _OutputProjection | None, max_features_by_tree: int
    ) -> _BoostConfig:
        """The same with the squared error as loss and a learning rate of 1."""
        return {
            "tree": tree,
            "n_estimators": self._most_stages(),
            "learning_rate": 1.0,
            "loss": "squared_error",
            "loss_parameter": None,
            "strategy": strategy,
            "output_projection": projection,
            "relabel": bool(self.relabel_leaves),
            "max_features_by_tree": max_features_by_tree,
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
