"""Checks for parameters of boosting that contradict each other, or that contradict the existing stages."""

from __future__ import annotations

from inspect import isclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator

from weald._fit.proof import LOSS_PARAMETERS
from weald._input.targets import Target
from weald._rounds.losses import CUSTOM


def name_of(loss: Any) -> str:
    """The name of a loss of the engine; `CUSTOM` for a loss of the user."""
    return loss if isinstance(loss, str) else CUSTOM


def check_parameters(boosting: Any) -> None:
    """Check for parameters that contradict each other, which the table of constraints cannot express."""
    if isclass(boosting.loss):
        raise ValueError(f"loss must be a name or an instance, got the class {boosting.loss.__name__}")
    has_steps = boosting.output_strategy in ("auto", "projected") and not boosting.relabel_leaves
    if boosting.step_dtype != "float64" and not has_steps:
        raise ValueError(
            "step_dtype must be 'float64' unless output_strategy is 'projected' and relabel_leaves is False, since "
            f"other models have no step sizes, got {boosting.step_dtype!r}"
        )
    if boosting.estimator is None:
        return
    name = type(boosting.estimator).__name__
    if getattr(boosting, "_skl_callbacks", None):
        raise ValueError(
            f"estimator= ({name}) does not support callbacks: call set_callbacks without arguments, which removes them"
        )
    for parameter in ("init", "scoring", "callbacks", "label_weight"):
        # Regressors have no labels.
        if getattr(boosting, parameter, None) is not None:
            raise ValueError(f"estimator= ({name}) does not support {parameter}: it must be None")
    if isclass(boosting.estimator):
        name = boosting.estimator.__name__
        raise ValueError(f"estimator must be an instance, {name}(), got the class {name}")
    if not is_regressor(boosting.estimator):
        raise ValueError(f"estimator must be a regressor of scikit-learn, got {name}")
    if boosting.output_strategy == "single_target":
        raise ValueError("output_strategy must be 'auto', 'joint' or 'projected' with estimator, got 'single_target'")
    if boosting.output_strategy == "projected" and boosting.relabel_leaves:
        raise ValueError(
            f"relabel_leaves must be False with output_strategy='projected' and estimator= ({name}), whose models "
            "have no leaves, got True"
        )


def check_masked(boosting: Any, target: Target) -> None:
    """Check for parameters and kinds of y that do not support unknown values."""
    for parameter in ("estimator", "init", "scoring", "label_weight"):
        # Regressors have no labels.
        if getattr(boosting, parameter, None) is not None:
            raise ValueError(f"{parameter} does not support y with masked entries: it must be None")
    if target.kind == "classes" and target.n_outputs > 1:
        raise ValueError(
            "y does not support masked entries with several outputs of classes: y must be regression targets or labels"
        )


def loss_parameter(boosting: Any) -> dict[str, float | list[float]]:
    """The parameter of the loss, if it has one: a number for all outputs, or a list with one for each."""
    name = LOSS_PARAMETERS.get(name_of(boosting.loss))
    if name is None:
        return {}
    value = getattr(boosting, name)
    return {name: float(value) if isinstance(value, Real) else _of_each(name, value, boosting.n_outputs_)}


def _of_each(name: str, values: Any, n_outputs: int) -> list[float]:
    """Fractions, one for each output."""
    accepted = f"a float in the range (0.0, 1.0), or {n_outputs} of them, one for each output"
    try:
        found = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {accepted}, got {values!r}") from error
    if found.shape != (n_outputs,) or not ((found > 0) & (found < 1)).all():
        raise ValueError(f"{name} must be {accepted}, got {values!r}")
    return [float(value) for value in found]


def check_init_cv(boosting: Any) -> None:
    if boosting.init_cv is None:
        return
    if boosting.init is None:
        raise ValueError(
            f"init_cv={boosting.init_cv} is not supported without init: init must be an estimator, or init_cv None"
        )
    if isinstance(boosting.init, FrozenEstimator):
        raise ValueError(
            f"init_cv={boosting.init_cv} does not support a frozen init, which cannot be fitted on other "
            "folds: init must not be frozen, or init_cv must be None"
        )


def check_warm_start(boosting: Any, before: dict[str, Any], shared: dict[str, Any], n_grown: int) -> None:
    if boosting.n_estimators < n_grown:
        raise ValueError(
            f"n_estimators must be at least {n_grown} with warm_start=True, the number of stages of the fitted model, "
            f"got {boosting.n_estimators}"
        )
    for name in ("n_features_in_", "n_outputs_"):
        if before[name] != getattr(boosting, name):
            what, where = ("features", "X") if name == "n_features_in_" else ("outputs", "y")
            raise ValueError(
                f"{where} must have {before[name]} {what} with warm_start=True, as in the previous fit, got "
                f"{getattr(boosting, name)}"
            )
    for name, value in shared.items():
        # The loss comes first: if it is the same, so is the set of its parameters.
        if (old := before["_shared"][name]) != value:
            raise ValueError(f"{name} must be {old!r} with warm_start=True, as in the previous fit, got {value!r}")
    # The steps of a single column of scores are always float64.
    kept = before["_model"].step_dtype
    if kept != boosting.step_dtype and before["_model"].width > 1:
        raise ValueError(
            f"step_dtype must be {kept!r} with warm_start=True, as in the previous fit, got {boosting.step_dtype!r}"
        )
    found = before.get("classes_"), getattr(boosting, "classes_", None)
    old, new = (part if isinstance(part, list) else [part] for part in found)
    if not all(map(np.array_equal, old, new)):
        raise ValueError("y must have the classes of the previous fit with warm_start=True, got other classes")
