"""Checks for parameters of boosting that contradict each other, or that contradict the existing stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.frozen import FrozenEstimator

from weald.loss import Loss, get

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting


def check_masked(boosting: BaseBoosting) -> None:
    """Check for parameters that do not support unknown values."""
    for parameter in ("estimator", "init"):
        value = getattr(boosting, parameter, None)
        if value is not None and not (parameter == "init" and isinstance(value, str)):
            raise ValueError(f"{parameter} does not support y with masked entries: it must be None")


def loss_of(boosting: BaseBoosting) -> Loss:
    """The loss of a fit, after a check that its parameters are those of all outputs or of each."""
    loss = get(boosting.loss)
    values = getattr(loss, "_parameter", None)
    if isinstance(values, tuple) and len(values) != boosting.n_outputs_:
        raise ValueError(
            f"loss must have one value for all outputs, or {boosting.n_outputs_} of them, one for each output, got "
            f"{len(values)} in {loss!r}"
        )
    return loss


def check_init_cv(boosting: BaseBoosting) -> None:
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


def check_last_fit(boosting: BaseBoosting, *, has_validation: bool, goes_on: bool) -> None:
    """Check for what contradicts a last fit to all samples after early stopping."""
    if boosting._patience() is None:
        return
    if boosting.cv is not None and has_validation:
        raise ValueError(
            f"cv must be None if X_val and y_val are given, which decide when to stop, got {boosting.cv!r}"
        )
    if goes_on and (boosting.refit or boosting.cv is not None):
        name, value = ("cv", boosting.cv) if boosting.cv is not None else ("refit", boosting.refit)
        raise ValueError(
            f"{name} does not support further stages with warm_start=True, since the samples that say when to stop must "
            f"be new to the stages, got {name}={value!r}"
        )


def check_warm_start(boosting: BaseBoosting, before: dict[str, Any], shared: dict[str, Any], n_grown: int) -> None:
    if boosting._most_stages() < n_grown:
        raise ValueError(
            f"n_estimators must be at least {n_grown} with warm_start=True, the number of stages of the fitted model, "
            f"got {boosting.n_estimators}"
        )
    boosting._check_goes_on(before)
    for name, value in shared.items():
        if (old := before["_shared"][name]) != value:
            raise ValueError(f"{name} must be {old!r} with warm_start=True, as in the previous fit, got {value!r}")
    # The steps of a single column of scores are always float64.
    kept = before["_model"].step_dtype
    if kept != boosting.step_dtype and before["_model"].width > 1:
        raise ValueError(
            f"step_dtype must be {kept!r} with warm_start=True, as in the previous fit, got {boosting.step_dtype!r}"
        )
