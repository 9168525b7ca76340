"""Validation of the fitted attributes of compressed forests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from weald import _weald
from weald._fitted.proof import Proof, Row, equal, integer, must
from weald._input.described import described
from weald.loss import LOSSES, names, supporting

_PATH = {"l1_norm": "f", "train_loss": "f", "n_test_nodes": "i", "n_nonzero": "i"}
_TESTED = {"test_loss_mean": "f", "test_loss_std": "f"}


def _fault_of_path(path: Any, _: object) -> str | None:
    keys = path.keys() if type(path) is dict else set()
    if keys != _PATH.keys() and keys != _PATH.keys() | _TESTED.keys():
        return f"must be a dict with the keys {sorted(_PATH)}, got {described(path)}"
    n_points = len(path["l1_norm"]) if isinstance(path["l1_norm"], np.ndarray) and path["l1_norm"].ndim else 0
    for key, values in path.items():
        kind = (_PATH | _TESTED)[key]
        fits = isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == (n_points,)
        if not fits or n_points == 0:
            return f"must have arrays of one positive length, got {described(values)} as {key}"
    return None


class CompressedProof(Proof):
    """Those of compressed forests."""

    attribute = "_model"
    engine = _weald.Compressed
    own: ClassVar[dict[str, Row]] = {
        "_loss": (True,),
        "l1_norm_": (True, equal("l1_norm")),
        "n_test_nodes_": (True, equal("n_test_nodes")),
        "compression_ratio_": (True, must("be a positive number", lambda n, _: type(n) in (int, float) and n > 0)),
        "full_loss_": (False, must("be a float", lambda loss, _: type(loss) is float)),
        "n_nodes_": (False, integer(0, 2**63 - 1)),
        "path_": (False, _fault_of_path),
        "step_": (False,),
    }
    of_training = frozenset({"path_"})

    def of_kind(self) -> None:
        loss, losses = self.state["_loss"], compressing(self.classifier)
        is_known = isinstance(loss, str) and loss in losses
        self.need(is_known, "_loss", f"must be one of {sorted(losses)}, got {described(loss)}")
        same_loss = (LOSSES[loss].link == "half_logit") == self.model.has_log_odds
        self.need(same_loss, "_loss", f"must be the loss of the model, got {described(loss)}")
        self.need(("path_" in self.state) == ("step_" in self.state), "path_", "must be given if and only if step_ is")
        if "path_" in self.state:
            fault = integer(0, len(self.state["path_"]["l1_norm"]) - 1)(self.state["step_"], self.model)
            self.need(fault is None, "step_", fault)


def compressing(classifier: bool) -> list[str]:
    """The names of the losses that compression supports."""
    of_y = names("labels" if classifier else "numbers")
    return [name for name in supporting("compresses") if name in of_y]
