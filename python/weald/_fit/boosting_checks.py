"""Checks for parameters of boosting that contradict each other, or that contradict the existing stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from weald._input import masks, messages
from weald._input.checks import Float, shown
from weald._input.targets import Target
from weald.loss import Loss, get

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.boosting_parameters import BoostingParameters


# A leaf adds nothing to a column of scores if its second derivatives sum to less than this share of `min_weight_leaf`: .001
# with the default, as in scikit-learn.
HESSIAN_PER_WEIGHT = 5e-4


@dataclass(frozen=True)
class NoEffect:
    """Parameters, those of objects with a dot, that have no effect in some fits."""

    parameters: tuple[str, ...]
    where: str
    # Of the model, the number of columns of scores, and whether there are validation samples.
    holds: Callable[[BaseBoosting, int, bool], bool]


NO_EFFECT = (
    NoEffect(
        ("output_scaling", "output_weights"),
        'where each output has trees of its own: `output_strategy="single_target"`, or what "auto" stands for',
        lambda model, *_: model._shared["output_strategy"] == "single_target",
    ),
    NoEffect(
        (
            "output_weights",
            "label_weight",
            "Projected.projection",
            "Projected.n_projections",
            "Projected.relabel_leaves",
        ),
        "where there is one column of scores, except with `estimator`",
        lambda model, n_columns, _: n_columns == 1 and model.estimator is None,
    ),
    NoEffect(
        ("output_scaling", "output_weights", "label_weight", "leaf_estimation", "min_weight_leaf"),
        "with `estimator`",
        lambda model, *_: model.estimator is not None,
    ),
    NoEffect(
        ("EarlyStopping.patience_share",),
        "without `cv`, and with `n_iter_no_change`",
        lambda model, *_: model._stops().cv is None or model.n_iter_no_change is not None,
    ),
    NoEffect(("EarlyStopping.refit",), "with `X_val`", lambda *given: given[2]),
)


def check_effects(model: BaseBoosting, n_columns: int, *, has_validation: bool) -> None:
    """Raise for a parameter of the table that is given and has no effect. A default is never refused."""
    objects = {"Projected": model._projected(), "EarlyStopping": model._stops()}
    for row in NO_EFFECT:
        if not row.holds(model, n_columns, has_validation):
            continue
        for name in row.parameters:
            owner, _, field = name.rpartition(".")
            holder = objects.get(owner, model)
            if not hasattr(holder, field):
                continue
            value, default = getattr(holder, field), signature(type(holder)).parameters[field].default
            if value is not default and not np.array_equal(value, default):
                raise ValueError(f"{name} has no effect {row.where}: it must be {default!r}, got {shown(value)}")


def check_masked(boosting: BaseBoosting) -> None:
    """Check for parameters that do not support unknown values."""
    for parameter in ("estimator", "init"):
        value = getattr(boosting, parameter, None)
        if value is not None and not (parameter == "init" and isinstance(value, str)):
            raise ValueError(f"{parameter} does not support y with masked entries: it must be None")


def loss_of(boosting: BoostingParameters) -> Loss:
    """The loss of a fit, after a check that its parameters are those of all outputs or of each."""
    loss = get(boosting.loss)
    values = getattr(loss, "_parameter", None)
    if isinstance(values, tuple) and not loss._levels and len(values) != boosting.n_outputs_:
        raise ValueError(
            f"loss must have one value for all outputs, or {boosting.n_outputs_} of them, one for each output, got "
            f"{len(values)} in {loss!r}"
        )
    return loss


def check_last_fit(boosting: BaseBoosting, *, has_validation: bool, goes_on: bool) -> None:
    """Check for what contradicts a last fit to all samples after early stopping."""
    if boosting._patience() is None:
        return
    stops = boosting._stops()
    if stops.cv is not None and has_validation:
        raise ValueError(f"cv must be None if X_val and y_val are given, which decide when to stop, got {stops.cv!r}")
    if goes_on and (stops.refit or stops.cv is not None):
        name, value = ("cv", stops.cv) if stops.cv is not None else ("refit", stops.refit)
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


# Positive numbers of a larger mean may be counts or rates. Where most are zero, second derivatives are rightly small.
_TINY_MEAN = 0.1


def warn_of_tiny_numbers(boosting: BaseBoosting, target: Target, weights: Float | None) -> None:
    """Warn if y is in so small a unit that regularization decides the model: that of second derivatives, which are in it."""
    loss = get(boosting.loss)
    if boosting.estimator is not None or loss.name not in ("poisson", "tweedie") or target.kind != "numbers":
        return
    least = boosting._least_weights(target.original.shape[0])
    least = {name: amount * (HESSIAN_PER_WEIGHT if name.startswith("min_w") else 1.0) for name, amount in least.items()}
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
            messages.warn(
                f"y has a mean of {mean:.3g}{f' in output {j}' if target.n_outputs > 1 else ''}, and the second derivatives of "
                f"loss={loss.name!r} are in its unit, so that {' and '.join(names)} decide{'' if names[1:] else 's'} the "
                "model: multiply y by a factor, so that its mean is about 1, or set these parameters to 0",
                UserWarning,
            )
            return
