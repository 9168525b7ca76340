"""Compression by the ℓ1 path of a linear model over the nodes of a forest that was grown before."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from weald import _weald
from weald._fit.base import as_size
from weald._fit.compression import BaseCompressed
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input.checks import Number, number
from weald._input.sklearn_private import Interval, StrOptions

# For the lasso: penalties from the largest with a nonzero solution to its thousandth, as in scikit-learn's
# `lasso_path`.
_N_ALPHAS, _LEAST_ALPHA = 100, 1e-3
# For the lasso: it stops when the optimality conditions hold to a ten-thousandth of the penalty, or after this number
# of sweeps.
_TOL = 1e-4
_MAX_ITER = 1000


class BaseCompressedForest(BaseCompressed):
    """What compressed forests for all kinds of y share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "solver": [StrOptions({"stagewise", "lasso"})],
        "step_size": [Number(Real, 0.0, None, closed="neither")],
        "step_outputs": [Interval(Integral, 1, None, closed="left"), None],
        "l1_norm": [StrOptions({"cv"}), Number(Real, 0.0, None, closed="left"), None],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "standardize": ["boolean"],
    }
    _end = "l1_norm"

    solver: Literal["stagewise", "lasso"]
    step_size: float
    step_outputs: int | None
    l1_norm: Literal["cv"] | float | None
    max_steps: int | None
    standardize: bool

    def _steps(self) -> dict[str, Any]:
        return {
            "method": self.solver,
            "standardize": bool(self.standardize),
            "step_size": float(self.step_size),
            "step_outputs": as_size(self.step_outputs),
            "n_alphas": _N_ALPHAS,
            "eps": _LEAST_ALPHA,
            "tol": _TOL,
            "max_iter": _MAX_ITER,
        }

    def _max_steps(self) -> int | None:
        return as_size(self.max_steps)

    def _refuses_masks(self) -> str | None:
        return 'solver="lasso"' if self.solver == "lasso" else None

    def _at(self, end: float) -> _weald.Compressed:
        return self._path.at(float(end))

    @of_one_fit
    def at(self, l1_norm: float) -> Self:
        """Return the model at another ℓ1 norm of the same path.

        Parameters
        ----------
        l1_norm : float
            Sum of the lengths of the coefficients, not negative. Beyond the end of the path, the model at the end is
            returned.

        Returns
        -------
        CompressedForestRegressor or CompressedForestClassifier
            A new fitted estimator with this parameter `l1_norm`, which shares the path. This estimator does not change.

        Notes
        -----
        Nothing is grown: it takes O(nodes of the full forest · width). Limits of size do not apply. With
        solver="lasso", the penalty with this norm is searched for.
        """
        check_fitted(self)
        accepted = "a finite number of at least 0"
        return self._ending_at(number("l1_norm", l1_norm, lambda norm: 0 <= norm < np.inf, accepted))
