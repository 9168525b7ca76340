"""Globally induced forests: forests that are grown node by node, under a budget, within a forest of candidates."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from weald import _weald
from weald._fit.base import as_size
from weald._fit.compression import BaseCompressed
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input.checks import Number, integer
from weald._input.sklearn_private import Interval, StrOptions


class BaseInducedForest(BaseCompressed):
    """What induced forests for all kinds of y share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "learning_rate": [Number(Real, 0.0, 1.0, closed="right")],
        "candidate_window": [Interval(Integral, 1, None, closed="left"), None],
        "n_nodes": [StrOptions({"cv"}), Interval(Integral, 0, None, closed="left"), None],
        "max_nodes": [Interval(Integral, 1, None, closed="left"), None],
    }
    _end = "n_nodes"

    learning_rate: float
    candidate_window: int | None
    n_nodes: Literal["cv"] | int | None
    max_nodes: int | None

    n_nodes_: int

    def _steps(self) -> dict[str, Any]:
        return {
            "method": "grow",
            "learning_rate": float(self.learning_rate),
            "candidate_window": as_size(self.candidate_window),
        }

    def _max_steps(self) -> int | None:
        limits = [int(n) for n in (self.n_nodes, self.max_nodes) if n is not None and not isinstance(n, str)]
        return max(1, as_size(min(limits)) or 0) if limits else None

    def _refuses_masks(self) -> str | None:
        return type(self).__name__

    def _at(self, end: float) -> _weald.Compressed:
        # Each step gives a weight to one node.
        step = int(np.searchsorted(self._path.n_nonzero(), end, side="right")) - 1
        return self._path.at_step(max(step, 0))

    def _set_model(self, model: _weald.Compressed) -> None:
        super()._set_model(model)
        self.n_nodes_ = int(self._path.n_nonzero()[self.step_])

    @of_one_fit
    def at(self, n_nodes: int) -> Self:
        """Return the model that the same growth had with fewer nodes.

        Parameters
        ----------
        n_nodes : int
            Number of nodes with a weight, not negative. Beyond the end of the growth, the model at the end is returned.

        Returns
        -------
        InducedForestRegressor or InducedForestClassifier
            A new fitted estimator with this parameter `n_nodes`, which shares the candidates. This estimator does not
            change.

        Notes
        -----
        Nothing is grown: it takes O(nodes of the full forest · width). Limits of size do not apply.
        """
        check_fitted(self)
        return self._ending_at(integer("n_nodes", n_nodes, 0))
