"""Validation samples of boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weald._input import checks, masks, targets
from weald._input.checks import Float, Matrix
from weald._input.masks import KnownCells
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._input.targets import Target
from weald._parameters import label_weight
from weald._rounds import folds

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.samples import Samples
    from weald._weald import _Targets


@dataclass(frozen=True)
class Given:
    """The arguments of `fit` on validation samples."""

    X: Any
    y: Any
    weights: Any
    margins: Any


@dataclass(frozen=True)
class Held:
    """Samples that stages are judged by, in the engine's form."""

    X: Matrix
    y: _Targets
    weights: Float | None
    # The initial scores.
    margins: Float | None
    # What is known of y, in the engine's form; None if all is known.
    known: Any
    # y as it was passed, which scorers take.
    given: Any = None

    @property
    def in_engine(self) -> Any:
        """The samples as an argument of the engine."""
        return (self.X, self.y, (self.weights, None), self.known), self.margins


def validation_set(
    boosting: BaseBoosting, samples: Samples, y: Raw, given: Given, start: Float | None
) -> tuple[Float | None, Held | None]:
    """Weights of the training samples, and the validation samples.

    Training samples that are set aside for validation get the weight zero.
    """
    X, target, weights = samples.X, samples.target, samples.row_weights[0]
    X_val, y_val, w_val = given.X, given.y, given.weights
    if (X_val is None) != (y_val is None):
        missing, there = ("X_val", "y_val") if X_val is None else ("y_val", "X_val")
        raise ValueError(f"{missing} must be given if {there} is, got None: pass both or none")
    if X_val is not None:
        names = {name: f"{name}_val" for name in ("X", "y", "sample_weight")}
        with checks.renamed(**names, base_margin_val="base_margin_val"):
            X_val = boosting._check_X(X_val, reset=False, fitting=True)
            w_val = checks.check_weights(w_val, X_val.shape[0])
            start_val = boosting._start_margins(X_val, given.margins, "base_margin_val", target)
            if start_val is not None and (rows := checks.rows_there(w_val)) is not None:
                start_val = start_val[rows]
            X_val, y_val, w_val = checks.without_absent(X_val, y_val, w_val)
            held, known = target.like_with_gaps(y_val, X_val.shape[0], type(boosting).__name__)
        if start is not None and start_val is None:
            raise ValueError("base_margin_val must be given if base_margin and X_val are, got None: pass both")
        if start is None and start_val is not None:
            raise ValueError("base_margin must be given if base_margin_val is, got None: pass both")
        return weights, Held(X_val, held, w_val, start_val, target.in_engine(known), y_val)
    for name, value in (("sample_weight_val", w_val), ("base_margin_val", given.margins)):
        if value is not None:
            raise ValueError(f"X_val and y_val must be given if {name} is, got None: pass all or none")
    if boosting._patience() is None or boosting._folds() is not None:
        return weights, None
    try:
        counted = label_weight.that_count(boosting, target)
        held_rows = folds.held_out(X, counted, weights, float(boosting.validation_fraction), boosting._seed)
    except ValueError as error:
        raise ValueError(
            f"validation_fraction must allow a split of the samples, got {boosting.validation_fraction}: {error}"
        ) from error
    check_domain(boosting, target, held_rows)  # the engine would name y_val in its error
    return apart(boosting, X, y, target, weights, start, held_rows)


def apart(
    boosting: BaseBoosting,
    X: Matrix,
    y: Raw,
    target: Target,
    weights: Float | None,
    start: Float | None,
    rows: NDArray[np.integer],
) -> tuple[Float, Held]:
    """The result of `validation_set` for these training samples, in place of others that are drawn."""
    kept, X_held, held, known = set_aside(X, target, weights, rows)
    y_held = None if boosting.scoring is None else y_of(target, y, rows)
    # An output may have known values in the validation samples only.
    masks.weights_of_known(target.known, kept, target.names)
    in_engine = None if known is None or known.hides_nothing else target.in_engine(known)
    w_held, start_held = (None if values is None else values[rows] for values in (weights, start))
    return kept, Held(X_held, held, w_held, start_held, in_engine, y_held)


def y_of(target: Target, y: Raw, rows: NDArray[np.integer]) -> Any:
    """Y of samples as it was passed, with NaN for what is unknown."""
    y_held = safe_indexing(y.tocsr() if is_sparse(y) else y, rows)
    known = None if target.known is None else target.known.rows(rows)
    return y_held if known is None or known.hides_nothing else targets.with_gaps(y_held, KnownCells(known.mask))


def check_domain(boosting: BaseBoosting, target: Target, rows: NDArray[np.integer]) -> None:
    """Raise for known numbers of these samples for which the loss is not defined."""
    if target.kind != "numbers":
        return
    loss, y = boosting._loss, target.original[rows]
    known = y.data if is_sparse(y) else y if target.mask is None else y[~target.mask[rows]]
    if (refused := loss._refused(known)) is not None:
        raise ValueError(f'y must be {refused[1]}, got {refused[0]:g} with loss="{loss.name}"')


def set_aside(
    X: Matrix, target: Target, weights: Float | None, rows: NDArray[np.integer]
) -> tuple[Float, Matrix, Any, KnownCells | None]:
    """The weights of all samples, with zeros for those of `rows`, and X, y in the engine's form, and what is known of it."""
    kept = np.ones(X.shape[0]) if weights is None else weights.copy()
    kept[rows] = 0
    X_held = X.tocsr()[rows] if is_sparse(X) else X[rows]
    return kept, X_held, target.rows(rows), None if target.known is None else target.known.rows(rows)
