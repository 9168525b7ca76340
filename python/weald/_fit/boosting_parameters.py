"""The parameters of boosting: their types, their checks, and their form in the engine."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, is_regressor

from weald import _weald
from weald import loss as losses
from weald._fit import boosting_checks
from weald._fit.base import BINS_CONSTRAINTS, BaseModel, as_size
from weald._fit.boosted import BoostedModel
from weald._fitted.boosted_proof import PLANNED
from weald._input.checks import MOST, Float, Number
from weald._input.sklearn_private import HasMethods, Interval, StrOptions
from weald._input.targets import Target
from weald._parameters import constraints, label_weight, projections
from weald._parameters.projections import Growth
from weald._parameters.types import (
    CategoricalFeatures,
    InteractionCst,
    MatrixLike,
    RandomState,
)
from weald._rounds import folds, progress
from weald._rounds.early_stopping import EarlyStopping
from weald.loss import CustomLoss
from weald.projection import Projected, RademacherProjection

if TYPE_CHECKING:
    from weald._fit.samples import Samples
    from weald._weald import _Asked, _BoostConfig, _Plan

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
    categorical_features: CategoricalFeatures
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

    def _l2(self) -> float:
        if self.l2_regularization != "auto":
            return float(self.l2_regularization)
        planned = self.__dict__.get("plan_", {}) if self._plan is None else self._plan
        return float(planned.get("l2_regularization", 1.0))

    def _reads_sparse_y(self, y_weight: MatrixLike | None) -> bool:
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
    _plan: _Plan | None = None

    def _goes_on(self) -> bool:
        """Whether the fit continues a fitted model, in which case "auto" stands for what it stood for there."""
        return self.warm_start and hasattr(self, "_model")

    def _given(self, name: str) -> Any:
        """The value of a parameter, of a model that goes on that of the model; None for "auto"."""
        value = getattr(self, name)
        if not isinstance(value, str) or value != "auto":
            return value
        return self._shared.get(name) if self._goes_on() else None

    def _asks(self, kind: str, n_outputs: int, n_columns: int, *, may_search: bool) -> _Asked:
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
            "has_directions": self.monotonic_cst is not None and constraints.has_directions(self),
            "has_weak_models": self.estimator is not None,
            "has_init": self.init is not None,
            "is_linear_init": isinstance(self.init, str),
            "learning_rate": None if rate is None else float(rate),
            "n_estimators": None if n_stages is None else int(n_stages),
            "max_leaf_nodes": None if is_auto else as_size(leaves) or 0,
            "is_free": may_search and self._lets_folds_decide(),
            "patience": self._asked_patience(),
        }

    def _asks_for(self, target: Target, *, may_search: bool) -> _Asked:
        can_differ = target.kind != "classes" or target.n_outputs > 1 or len(target.classes[0]) > 1
        n_outputs, n_columns = target.n_outputs * target.n_levels, self._n_columns(target)
        return self._asks(target.kind, n_outputs, n_columns, may_search=may_search and can_differ)

    def _lets_folds_decide(self) -> bool:
        """Whether the number of stages is "auto", and no other parameter says when to stop."""
        is_alone = self.n_estimators == "auto" and self.early_stopping == "auto" and not self.warm_start
        others = (self.n_iter_no_change, self.scoring, self.estimator, self.init)
        return is_alone and all(other is None for other in others)

    def _settle(self, samples: Samples, *, may_search: bool) -> None:
        """Decide what "auto" stands for in the fit to these samples."""
        asked = self._asks_for(samples.target, may_search=may_search)
        if self.estimator is None:
            counted = label_weight.that_count(self, samples.target)
            data = samples.X, counted.engine, (samples.weights, None), counted.known_in_engine
            counts = _weald.counts_of_plan(asked, data, self._seed)
        else:  # nothing about them depends on the samples
            counts = samples.n_positive, samples.n_positive, samples.n_positive, True, False
        plan = self.__dict__["_plan"] = _weald.plan_of_boosting(asked, counts)
        if (levels := losses.get(self.loss)._levels) and self.estimator is None:
            plan["min_weight_leaf"] = self._least_of_quantiles(min(levels[0], 1 - levels[-1]), samples)

    def _least_of_quantiles(self, rarer: float, samples: Samples) -> float:
        """The minimum weight of a leaf of quantiles, of which the outermost have the share `rarer` on one side.

        Where rows repeat, so that the mean weight of equal rows is the minimum, leaves may be groups of equal rows.
        """
        least, weights = float(self.min_weight_leaf), samples.weights
        total = samples.n if weights is None else _weald.exact_sums(np.zeros(samples.n, dtype=np.int64), weights, 1)[0]
        if total >= least * len(folds.different(samples.X, weights)):
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
        progress.say(f"{type(self).__name__}: {told}")

    def _most_leaves(self) -> int | None:
        # What "auto" stands for depends on y: it is put in place where y is known.
        return None if isinstance(self.max_leaf_nodes, str) else as_size(self.max_leaf_nodes)

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

    def _n_folds_grown(self) -> int | None:
        """How many of the folds are grown, or None for all."""
        return None if self._plan is None else self._plan["n_grown"]

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
    ) -> _BoostConfig:
        """The parameters in the engine's form. A fit that does not draw projections calls no function for them."""
        projection = None
        strategy = self._shared["output_strategy"]
        if strategy == "projected":
            projected, growth = self._projected(), Growth(self._seed, range(self._most_stages()))
            if not draws and callable(projected.projection):
                projected = Projected(n_projections=projected.n_projections)
            projection = projections.of_stages(projected, self._n_columns(target), growth)
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
        loss, planned = boosting_checks.loss_of(self), self.plan_ if self._plan is None else self._plan
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
            "min_sum_hessian_in_leaf": boosting_checks.HESSIAN_PER_WEIGHT * float(self.min_weight_leaf),
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
