"""Validation of the fitted attributes of compressed forests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from weald import _weald
from weald._fitted.proof import Proof
from weald._input.described import described
from weald.loss import LOSSES, names, supporting

_PATH = {"l1_norm": "f", "train_loss": "f", "n_test_nodes": "i", "n_nonzero": "i"}
_TESTED = {"test_loss_mean": "f", "test_loss_std": "f"}


class CompressedProof(Proof):
    """Those of compressed forests."""

    attribute = "_model"
    engine = _weald.Compressed
    own: ClassVar[dict[str, bool]] = {
        "_loss": True,
        "compression_ratio_": True,
        "full_loss_": False,
        "l1_norm_": True,
        "n_nodes_": False,
        "n_test_nodes_": True,
        "path_": False,
        "step_": False,
    }
    of_training = frozenset({"path_"})

    def of_kind(self) -> None:
        model, state = self.model, self.state
        loss = state["_loss"]
        losses = compressing(self.classifier)
        is_known = isinstance(loss, str) and loss in losses
        self.need(is_known, "_loss", f"must be one of {sorted(losses)}, got {described(loss)}")
        same_loss = (LOSSES[loss].link == "half_logit") == model.has_log_odds
        self.need(same_loss, "_loss", f"must be the loss of the model, got {described(loss)}")
        for attribute in ("l1_norm", "n_test_nodes"):
            self.equal(f"{attribute}_", state[f"{attribute}_"], getattr(model, attribute))
        ratio = state["compression_ratio_"]
        is_positive = type(ratio) in (int, float) and ratio > 0
        self.need(is_positive, "compression_ratio_", f"must be a positive number, got {described(ratio)}")
        if "full_loss_" in state:
            full = state["full_loss_"]
            self.need(type(full) is float, "full_loss_", f"must be a float, got {described(full)}")
        if "n_nodes_" in state:
            self.integer("n_nodes_", 0, 2**63 - 1)
        self.need(("path_" in state) == ("step_" in state), "path_", "must be given if and only if step_ is")
        if "path_" in state:
            self.path(state["path_"])

    def path(self, path: Any) -> None:
        keys = path.keys() if type(path) is dict else set()
        has_keys = keys == _PATH.keys() or keys == _PATH.keys() | _TESTED.keys()
        self.need(has_keys, "path_", f"must be a dict with the keys {sorted(_PATH)}, got {described(path)}")
        n_points = len(path["l1_norm"]) if isinstance(path["l1_norm"], np.ndarray) and path["l1_norm"].ndim else 0
        for key, values in path.items():
            kind = (_PATH | _TESTED)[key]
            fits = isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == (n_points,)
            self.need(
                fits and n_points > 0,
                "path_",
                f"must have arrays of one positive length, got {described(values)} as {key}",
            )
        self.integer("step_", 0, n_points - 1)


def compressing(classifier: bool) -> list[str]:
    """The names of the losses that compression supports."""
    of_y = names("labels" if classifier else "numbers")
    return [name for name in supporting("compresses") if name in of_y]
