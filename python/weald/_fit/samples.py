"""The samples of a fit: checked once, and in the form of the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weald._input import checks, masks, schema, targets, warned
from weald._input.checks import Float, Matrix, RowWeights
from weald._input.targets import Target
from weald._parameters.types import MatrixLike

if TYPE_CHECKING:
    from weald._fit.base import BaseModel


@dataclass(frozen=True)
class Samples:
    """What a fit is made of: X, y and the weights, after their checks."""

    X: Matrix
    target: Target
    # Sample weights, which are zero for samples without a known value of y; None if all are one.
    weights: Float | None
    # The same with the rule of class weights, or weights by class: see `weights_by_row` of the engine.
    row_weights: RowWeights
    # What is known of y in the engine's form; None if all is known.
    known: Any

    @property
    def n(self) -> int:
        """The number of samples."""
        n: int = self.X.shape[0]
        return n

    @property
    def in_engine(self) -> tuple[Matrix, Any, RowWeights, Any]:
        """The samples as an argument of the engine."""
        return self.X, self.target.engine, self.row_weights, self.known

    @property
    def n_positive(self) -> int:
        """The number of samples with positive weight."""
        weights = self.row_weights[0]
        return self.n if weights is None else int(np.count_nonzero(weights))

    def of(self, estimator: BaseModel, target: Target | None = None) -> Samples:
        """The same samples for an estimator with other class weights, or with another form of y."""
        target = self.target if target is None else target
        row_weights = estimator._row_weights(target, self.weights)
        return replace(self, target=target, row_weights=row_weights, known=target.known_in_engine)


def prepare(
    estimator: BaseModel,
    X: Any,
    y: MatrixLike | None,
    sample_weight: Any = None,
    y_weight: MatrixLike | None = None,
    label_names: Any = None,
    *,
    goes_on: bool = False,
) -> Samples:
    """Check the arguments of a fit, and set the attributes of `estimator` that describe X.

    Samples without a known value of y get the weight zero. Categories are those of the samples with positive weight. A
    fit that goes on, as it does with `warm_start`, keeps the features of the fit before.
    """
    name = type(estimator).__name__
    checks.check_is_given(y, name)
    given, kept = X, estimator._kept_schema(X, goes_on)
    X = estimator._check_X(X, reset=True, kept=kept)
    n = X.shape[0]
    weights = None if sample_weight is None else checks.check_weights(sample_weight, n)
    target = estimator._check_y(y, weights, n, y_weight)
    if label_names is not None:
        target = targets.with_label_names(target, label_names, y_weight)
    if y_weight is not None and not estimator._masks_y:
        masks.check_nothing(y_weight, target.original.shape, name, y)
    weights = masks.weights_of_known(target.known, weights, target.names)
    if target.known is not None and target.n_outputs == 1:
        # The weights of one output are those of samples.
        if target.known.is_graded:
            own = masks.dense(target.known.weights, np.float64)[:, 0]
            weights = own if weights is None else own * weights
        target = replace(target, known=masks.KnownCells(target.mask) if target.kind == "numbers" else None)
    if weights is not None and not weights.all() and (kept is None or kept.n_features == X.shape[1]):
        X = schema.of_samples(estimator, given, X, weights > 0, learned=kept is None)
    if weights is not None and not goes_on:
        warned.of_tiny_weights(weights, estimator._least_weights(int(np.count_nonzero(weights))))
    return Samples(X, target, weights, estimator._row_weights(target, weights), target.known_in_engine)
