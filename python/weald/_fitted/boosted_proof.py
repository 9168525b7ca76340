"""Validation of the fitted attributes of boosting."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from weald import _weald
from weald._fitted.proof import Proof
from weald._input.checks import MOST
from weald._input.described import cut, described
from weald.loss import LOSSES, CustomLoss, EngineLoss, Loss, names

_CURVES = {"train", "validation", "out_of_bag", "score"}
_SHARED = {"output_strategy", "loss", "learning_rate", "relabel_leaves", "estimator"}
_STRATEGIES = {"projected", "joint", "single_target"}


class BoostedProof(Proof):
    """Those of boosted models."""

    attribute = "_model"
    engine = _weald.Boosted
    own: ClassVar[dict[str, bool]] = {
        "_seed": True,
        "_shared": True,
        "_weak": True,
        "max_features_": True,
        "n_estimators_": True,
        "_curves": False,
        "_eval_curves": False,
        "_init": False,
        "max_leaf_nodes_": True,
    }
    of_training = frozenset({"_curves", "_eval_curves", "_init", "_weak"})

    def of_kind(self) -> None:
        self.seed()
        self.drawn_features()
        if self.state["max_leaf_nodes_"] is not None:
            self.integer("max_leaf_nodes_", 2, MOST)
        model = self.model
        self.equal("n_estimators_", self.state["n_estimators_"], model.n_stages)
        shared, weak = self.state["_shared"], self.state["_weak"]
        has_keys = type(shared) is dict and shared.keys() == _SHARED
        self.need(has_keys, "_shared", f"must be a dict with the keys {sorted(_SHARED)}, got {described(shared)}")
        rate, name = shared["learning_rate"], shared["estimator"]
        same_rate = isinstance(rate, Real) and rate == model.learning_rate
        self.need(same_rate, "_shared", f"must have the learning rate {model.learning_rate}, got {described(rate)}")
        self.loss(shared["loss"])
        strategy = shared["output_strategy"]
        has_strategy = isinstance(strategy, str) and strategy in _STRATEGIES
        self.need(
            has_strategy,
            "_shared",
            f"must have an output strategy of {sorted(_STRATEGIES)}, got {described(strategy)}",
        )
        relabel = shared["relabel_leaves"]
        is_bool = isinstance(relabel, bool | np.bool_)
        self.need(is_bool, "_shared", f"must have True or False as relabel_leaves, got {described(relabel)}")
        is_name = name is None or isinstance(name, str)
        self.need(is_name, "_shared", f"must have None or a name as estimator, got {described(name)}")
        if weak is None:
            self.need(model.forest is not None, "_weak", "must be a list of models, got None for a model without trees")
        else:
            self.need(model.forest is None, "_weak", f"must be None for a model with trees, got {described(weak)}")
            is_list = type(weak) is list and len(weak) == model.n_stages
            self.need(is_list, "_weak", f"must be a list of length {model.n_stages}, got {described(weak)}")
            for part in weak:
                fits = (
                    hasattr(part, "predict") and getattr(part, "n_features_in_", model.n_features) == model.n_features
                )
                self.need(fits, "_weak", f"must have models of {model.n_features} features, got {described(part)}")
        init = self.state.get("_init")
        self.need(init is None or hasattr(init, "predict"), "_init", f"must be a model or None, got {described(init)}")
        fits = (name is None) == (weak is None)
        self.need(fits, "_weak", f"must be None if and only if estimator is, got {described(weak)} with {name!r:.80}")
        curves = self.state.get("_curves", {})
        has_keys = type(curves) is dict and curves.keys() <= _CURVES
        self.need(has_keys, "_curves", f"must be a dict with keys of {sorted(_CURVES)}, got {described(curves)}")
        for curve in curves.values():
            is_list = isinstance(curve, np.ndarray) and curve.dtype == np.float64 and curve.ndim == 1
            self.need(
                is_list and len(curve) >= model.n_stages,
                "_curves",
                f"must have float64 arrays of length {model.n_stages} or longer, got {described(curve)}",
            )
        if "_eval_curves" in self.state:
            self.eval_curves()

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
        fits = not isinstance(values, tuple) or len(values) == self.model.n_outputs
        self.need(fits, "_shared", f"must have a loss for each of {self.model.n_outputs} outputs, got {loss!r:.80}")

    def eval_curves(self) -> None:
        curves = self.state["_eval_curves"]
        is_known = type(curves) is tuple and all(type(curve) is tuple and len(curve) == 3 for curve in curves)
        self.need(is_known, "_eval_curves", f"must be a tuple of (name, losses, scores), got {described(curves)}")
        names = [name for name, _, _ in curves]
        is_named = all(type(name) is str for name in names) and len(set(names)) == len(names)
        self.need(is_named, "_eval_curves", f"must have distinct strings as names, got {cut(str(names))}")
        for _, loss, score in curves:
            for values in (loss,) if score is None else (loss, score):
                n_stages = self.model.n_stages
                is_list = isinstance(values, np.ndarray) and values.dtype == np.float64
                is_list = is_list and values.shape == (n_stages,)
                self.need(
                    is_list,
                    "_eval_curves",
                    f"must have float64 arrays of length {n_stages}, one value for each stage, got {described(values)}",
                )
