"""Validation of the fitted attributes of boosting."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from weald import _weald
from weald._fitted.proof import OF_DRAWN, OF_SEED, Proof, Row, equal, integer, must
from weald._input.checks import MOST
from weald._input.described import cut, described
from weald.loss import LOSSES, CustomLoss, EngineLoss, Loss, names

_CURVES = {"train", "validation", "out_of_bag", "score"}
_SHARED = {"output_strategy", "loss", "learning_rate", "relabel_leaves", "estimator"}
# What a plan decides, as `plan_` has it.
PLANNED = (
    "output_strategy",
    "learning_rate",
    "max_leaf_nodes",
    "max_features",
    "subsample",
    "l2_regularization",
    "n_estimators",
    "n_iter_no_change",
    "cv",
)
_STRATEGIES = {"projected", "joint", "single_target"}


def _fault_of_curves(curves: Any, model: Any) -> str | None:
    if type(curves) is not dict or not curves.keys() <= _CURVES:
        return f"must be a dict with keys of {sorted(_CURVES)}, got {described(curves)}"
    for curve in curves.values():
        is_list = isinstance(curve, np.ndarray) and curve.dtype == np.float64 and curve.ndim == 1
        if not is_list or len(curve) < model.n_stages:
            return f"must have float64 arrays of length {model.n_stages} or longer, got {described(curve)}"
    return None


def _fault_of_eval_curves(curves: Any, model: Any) -> str | None:
    if type(curves) is not tuple or not all(type(curve) is tuple and len(curve) == 3 for curve in curves):
        return f"must be a tuple of (name, losses, scores), got {described(curves)}"
    names = [name for name, _, _ in curves]
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        return f"must have distinct strings as names, got {cut(str(names))}"
    n_stages = model.n_stages
    for values in (values for _, loss, score in curves for values in (loss, score)[: 1 + (score is not None)]):
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != (n_stages,):
            one = f"{n_stages}, one value for each stage"
            return f"must have float64 arrays of length {one}, got {described(values)}"
    return None


def _fault_of_weak(weak: Any, model: Any) -> str | None:
    if weak is None:
        return None if model.forest is not None else "must be a list of models, got None for a model without trees"
    if model.forest is not None:
        return f"must be None for a model with trees, got {described(weak)}"
    if type(weak) is not list or len(weak) != model.n_stages:
        return f"must be a list of length {model.n_stages}, got {described(weak)}"
    for part in weak:
        if not hasattr(part, "predict") or getattr(part, "n_features_in_", model.n_features) != model.n_features:
            return f"must have models of {model.n_features} features, got {described(part)}"
    return None


def _fault_of_shared(shared: Any, model: Any) -> str | None:
    if type(shared) is not dict or shared.keys() != _SHARED:
        return f"must be a dict with the keys {sorted(_SHARED)}, got {described(shared)}"
    rate, strategy = shared["learning_rate"], shared["output_strategy"]
    relabel, name = shared["relabel_leaves"], shared["estimator"]
    if not isinstance(rate, Real) or rate != model.learning_rate:
        return f"must have the learning rate {model.learning_rate}, got {described(rate)}"
    if not isinstance(strategy, str) or strategy not in _STRATEGIES:
        return f"must have an output strategy of {sorted(_STRATEGIES)}, got {described(strategy)}"
    if not isinstance(relabel, bool | np.bool_):
        return f"must have True or False as relabel_leaves, got {described(relabel)}"
    return (
        None
        if name is None or isinstance(name, str)
        else f"must have None or a name as estimator, got {described(name)}"
    )


def _is_plan(plan: object, _: object) -> bool:
    # Plans of the first files lack what was always given then.
    return type(plan) is dict and plan.keys() | {"subsample", "l2_regularization"} == set(PLANNED)


def _has_predict(init: object, _: object) -> bool:
    return init is None or hasattr(init, "predict")


class BoostedProof(Proof):
    """Those of boosted models."""

    attribute = "_model"
    engine = _weald.Boosted
    own: ClassVar[dict[str, Row]] = {
        **OF_SEED,
        **OF_DRAWN,
        "max_leaf_nodes_": (True, lambda n, model: None if n is None else integer(2, MOST)(n, model)),
        "n_estimators_": (True, equal("n_stages")),
        "_shared": (True, _fault_of_shared),
        "plan_": (True, must(f"be a dict of {', '.join(PLANNED)}", _is_plan)),
        "_weak": (True, _fault_of_weak),
        "_init": (False, must("be a model or None", _has_predict)),
        "_curves": (False, _fault_of_curves),
        "_eval_curves": (False, _fault_of_eval_curves),
    }
    of_training = frozenset({"_curves", "_eval_curves", "_init", "_weak"})

    def n_levels(self) -> int:
        shared = self.state["_shared"]
        loss = shared.get("loss") if type(shared) is dict else None
        return len(loss._levels) or 1 if isinstance(loss, EngineLoss) else 1

    def of_kind(self) -> None:
        shared, weak = self.state["_shared"], self.state["_weak"]
        self.loss(shared["loss"])
        fits = (shared["estimator"] is None) == (weak is None)
        got = f"{described(weak)} with {shared['estimator']!r:.80}"
        self.need(fits, "_weak", f"must be None if and only if estimator is, got {got}")

    def loss(self, kept: object) -> None:
        """Check that the loss is one of y, with the link of the model."""
        kind = "labels" if self.classifier else "numbers"
        loss: Loss | None = kept if isinstance(kept, EngineLoss) else None
        if isinstance(kept, str) and kept in LOSSES:
            loss = LOSSES[kept]()
        elif type(kept) is CustomLoss and kept.functions is None:
            loss = kept
        is_known = loss is not None and kind in loss.targets
        accepted = f"a loss of {names(kind)}, or a custom loss of {kind} without methods"
        self.need(is_known, "_shared", f"must have {accepted}, got {described(kept)}")
        assert loss is not None
        same = self.model.has_probabilities == (loss.link == "half_logit")
        same = same and self.model.has_log_link == (loss.link == "log")
        self.need(same, "_shared", f"must have the loss of the model, got {loss.name!r}")
        values = getattr(loss, "_parameter", None)
        fits = not isinstance(values, tuple) or loss._levels or len(values) == self.model.n_outputs
        self.need(fits, "_shared", f"must have a loss for each of {self.model.n_outputs} outputs, got {loss!r:.80}")
