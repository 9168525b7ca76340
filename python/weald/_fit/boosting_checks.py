"""Checks for parameters of boosting that contradict each other, or that contradict the existing stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from weald._input import masks, warned
from weald._input.checks import Float
from weald._input.targets import Target
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


# Positive numbers of a larger mean may be counts or rates. Where most are zero, second derivatives are rightly small.
_TINY_MEAN = 0.1


def warn_of_tiny_numbers(boosting: BaseBoosting, target: Target, weights: Float | None) -> None:
    """Warn if y is in so small a unit that regularization decides the model: that of second derivatives, which are in it."""
    loss = get(boosting.loss)
    if boosting.estimator is not None or loss.name not in ("poisson", "tweedie") or target.kind != "numbers":
        return
    least = boosting._least_weights(target.original.shape[0])
    least = {name: amount for name, amount in least.items() if not name.startswith("min_weight")}
    there = np.ones(target.original.shape[0]) if weights is None else weights
    for j, y in enumerate(np.asarray(target.original, dtype=np.float64).T):
        known = (there > 0) & ~np.isnan(y)
        if target.mask is not None:
            known &= ~masks.dense(target.mask[:, [j]])[:, 0]
        y = y[known]
        mean, of_positive = (float(part.mean()) if len(part) else 0.0 for part in (y, y[y > 0]))
        powers = np.ravel(getattr(loss, "power", 1.0))
        power = float(powers[min(j, len(powers) - 1)])
        if mean <= 0 or of_positive >= _TINY_MEAN:  # y outside the domain is refused later
            continue
        names = [name for name, amount in least.items() if mean ** (2 - power) * len(y) < amount]
        if names:
            warned.warn(
                f"y has a mean of {mean:.3g}{f' in output {j}' if target.n_outputs > 1 else ''}, and the second derivatives of "
                f"loss={loss.name!r} are in its unit, so that {' and '.join(names)} decide{'' if names[1:] else 's'} the "
                "model: multiply y by a factor, so that its mean is about 1, or set these parameters to 0",
                UserWarning,
            )
            return
