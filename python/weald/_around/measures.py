"""Coverage and size of intervals and sets, and scorers of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input import checks, masks, targets
from weald._input.checks import Float
from weald._input.messages import described
from weald._input.targets import Target
from weald._parameters.types import Estimator, MatrixLike

_OUTPUTS = ("uniform_average", "raw_values")


@dataclass(frozen=True)
class Predicted:
    """Intervals of shape (n_samples, n_outputs, 2), or sets of each output with their classes."""

    intervals: Float | None
    sets: list[NDArray[np.bool_]]
    classes: list[NDArray[Any]]

    @classmethod
    def of(cls, predicted: Any, classes: Any) -> Predicted:
        """Checked predictions, of one or several outputs."""
        accepted = (
            "predicted must be intervals of shape (n_samples, 2) or (n_samples, n_outputs, 2), or sets of bool of shape "
            "(n_samples, n_classes) or a list of them"
        )
        parts = list(predicted) if isinstance(predicted, list | tuple) else [predicted]
        with checks.named("predicted"):
            if isinstance(predicted, list | tuple) and (not parts or np.ndim(parts[0]) < 2 or not _are_bool(parts[0])):
                parts = [np.asarray(predicted)]
            arrays = [np.asarray(part) for part in parts]
        if all(_are_bool(part) and part.ndim == 2 for part in arrays) and len({len(part) for part in arrays}) == 1:
            if classes is None:
                named = [np.arange(part.shape[1]) for part in arrays]
            else:
                with checks.named("classes"):
                    several = isinstance(classes, list) and classes and np.ndim(classes[0]) == 1
                    named = [np.atleast_1d(part) for part in (classes if several else [classes])]
            if [len(part) for part in named] != [part.shape[1] for part in arrays]:
                raise ValueError(
                    f"classes must have one name for each column of predicted, {[part.shape[1] for part in arrays]}, got "
                    f"{[len(part) for part in named]}"
                )
            return cls(None, arrays, named)
        found = arrays[0]
        is_table = len(arrays) == 1 and found.dtype.kind in "iuf" and found.ndim in (2, 3) and found.shape[-1] == 2
        if not is_table:
            raise ValueError(f"{accepted}, got {described(predicted)}")
        return cls(found.reshape(len(found), -1, 2).astype(np.float64), [], [])

    def inside(self, y_true: Any, y_weight: MatrixLike | None) -> tuple[NDArray[np.bool_], Any]:
        """Whether each value is inside, of shape (n_samples, n_outputs), and the mask of unknown ones."""
        if self.intervals is None:
            n, sizes = len(self.sets[0]), [len(found) for found in self.classes]
            known = Target("classes", (None, sizes), len(sizes), self.classes, None)
            truth, mask = known.read_plain(y_true, n, "coverage", "coverage", y_weight, "y_true")
            return inside_sets(truth, self.sets, self.classes, mask), mask
        n, n_outputs, _ = self.intervals.shape
        target = targets.numbers(
            y_true, n, "coverage", warn_column=False, masks=True, y_weight=y_weight, each_output=False, what="y_true"
        )
        masks.check_ungraded(target.known, "coverage")
        if target.n_outputs != n_outputs:
            raise ValueError(f"y_true must have {n_outputs} outputs, as predicted has, got {target.n_outputs}")
        return inside_intervals(target.original, self.intervals), target.mask

    def sizes(self) -> Float:
        """Widths, or numbers of classes, of shape (n_samples, n_outputs)."""
        if self.intervals is None:
            return np.stack([part.sum(axis=1) for part in self.sets], axis=1).astype(np.float64)
        widths: Float = self.intervals[:, :, 1] - self.intervals[:, :, 0]
        return widths


def _are_bool(values: Any) -> bool:
    return np.asarray(values).dtype == np.bool_


def inside_intervals(truth: Float, intervals: Float) -> NDArray[np.bool_]:
    """Whether each value is inside its interval; the bounds are."""
    bounds = intervals.reshape(*truth.shape, 2)
    with np.errstate(invalid="ignore"):
        inside: NDArray[np.bool_] = (bounds[:, :, 0] <= truth) & (truth <= bounds[:, :, 1])
    return inside


def inside_sets(truth: Any, sets: list[Any], classes: list[NDArray[Any]], mask: Any) -> NDArray[np.bool_]:
    """Whether each true class is in its set; one that is not among the classes is in none."""
    inside = np.zeros(truth.shape, dtype=np.bool_)
    for j, (part, names) in enumerate(zip(sets, classes, strict=True)):
        known = np.arange(len(truth)) if mask is None else np.flatnonzero(~mask[:, j])
        column = truth[known, j]
        for at, name in enumerate(names):
            rows = known[column == name]
            inside[rows, j] = part[rows, at]
    return inside


def by_output(values: NDArray[Any], mask: Any, weights: Float | None) -> Float:
    """The mean of what is known of each output, of shape (n_samples, n_outputs): of whether values are inside, for example.

    It is NaN without known values of positive weight.
    """
    weight = np.ones(values.shape) if weights is None else np.repeat(weights[:, None], values.shape[1], axis=1)
    if mask is not None:
        weight, values = np.where(mask, 0.0, weight), np.where(mask, 0, values)
    total = weight.sum(axis=0)
    found = np.full(values.shape[1], np.nan)
    np.divide((weight * values).sum(axis=0), total, out=found, where=total > 0)
    return found


def interval_scores(truth: Float, intervals: Float, alpha: float) -> Float:
    """The interval score of each value: the width, and 2 / alpha times the distance of a value that is outside.

    Its mean is smallest for the quantiles alpha / 2 and 1 - alpha / 2 (Winkler 1972; Gneiting and Raftery 2007).
    """
    low, high = np.moveaxis(intervals.reshape(*truth.shape, 2), 2, 0)
    found: Float = (high - low) + 2 / alpha * np.maximum(np.maximum(low - truth, truth - high), 0.0)
    return found


def beyond(missed: Any, alpha: float) -> Any:
    """How much more is missed than the fraction alpha that was asked for, in units of alpha; 0 if it is less."""
    return np.maximum(missed - alpha, 0.0) / alpha


def together(inside: NDArray[np.bool_], mask: Any, weights: Float | None) -> float:
    """The fraction of samples with known values whose known values are all inside."""
    weight = np.ones(len(inside)) if weights is None else weights
    if mask is not None:
        inside, weight = inside | mask, np.where(mask.all(axis=1), 0.0, weight)
    return float(np.average(inside.all(axis=1), weights=weight)) if weight.any() else np.nan


def averaged(values: Float, multioutput: object) -> Any:
    """The mean over the outputs that have a value, or all values."""
    if not isinstance(multioutput, str) or multioutput not in _OUTPUTS:
        raise ValueError(f"multioutput must be 'uniform_average' or 'raw_values', got {multioutput!r}")
    if multioutput == "raw_values":
        return values
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def found_by(estimator: Estimator, X: MatrixLike, alpha: float | None, *, joint: bool) -> tuple[Any, Any]:
    """The intervals, regions or sets of an estimator, and the classes of sets."""
    if hasattr(estimator, "best_estimator_"):
        return found_by(estimator.best_estimator_, X, alpha, joint=joint)
    if hasattr(estimator, "steps"):
        rows = X if len(estimator.steps) == 1 else estimator[:-1].transform(X)
        return found_by(estimator.steps[-1][1], rows, alpha, joint=joint)
    if hasattr(estimator, "predict_sets"):
        return estimator.predict_sets(X, alpha), estimator.classes_
    if hasattr(estimator, "predict_interval"):
        return (estimator.predict_region if joint else estimator.predict_interval)(X, alpha), None
    raise TypeError(
        "estimator must be a ConformalRegressor or a ConformalClassifier, or a pipeline or search around one, got "
        f"{type(estimator).__name__}"
    )


class Scorer:
    """A scorer for scikit-learn of the coverage, or the negative size, of the intervals or sets of an estimator."""

    def __init__(self, name: str, measure: Callable[..., Any], alpha: float | None, joint: bool) -> None:
        self.name = name
        self.measure = measure
        self.alpha = alpha
        self.joint = joint

    def __call__(self, estimator: BaseEstimator, X: MatrixLike, y: Any, sample_weight: object = None) -> float:
        """The score of `estimator` on samples `X` with true values `y`."""
        predicted, classes = found_by(estimator, X, self.alpha, joint=self.joint)
        if self.name == "size":
            return -float(self.measure(predicted, sample_weight, joint=self.joint))
        return float(self.measure(y, predicted, sample_weight, classes=classes, joint=self.joint))

    def __repr__(self) -> str:
        return f"make_{self.name}_scorer(alpha={self.alpha}, joint={self.joint})"
