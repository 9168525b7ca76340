"""The choice of a point of a compression path: the best of a cross-validated curve, or one that meets limits; folds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from weald._input import messages
from weald._input.checks import Float, Matrix
from weald._input.targets import Target
from weald._rounds import held_out as _held_out


@dataclass(frozen=True)
class Budget:
    """Limits of a compressed model; None stands for no limit."""

    max_test_nodes: int | None = None
    max_bytes: int | None = None
    max_loss_increase: float | None = None


@dataclass(frozen=True)
class Curve:
    """Size and loss of each point of a path."""

    n_test_nodes: NDArray[np.int64]
    # Mean test loss over the folds; None without cross-validation.
    test_loss: Float | None
    # Mean test loss of the uncompressed forests of the folds.
    full_loss: float
    # Size in bytes of the model of a point.
    n_bytes: Callable[[int], int]

    def n_bytes_within(self, rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
        """The points of `rows`, in their order, whose models have at most `limit` bytes.

        They are found by bisection over the number of test nodes, with which the size increases except for a few bytes,
        so that the size of few models is computed.
        """
        sizes, first = np.unique(self.n_test_nodes[rows], return_index=True)
        n_within = bisect_right(first, limit, key=lambda at: self.n_bytes(int(rows[at])))
        return rows[self.n_test_nodes[rows] <= sizes[n_within - 1]] if n_within else rows[:0]


def choose(curve: Curve, budget: Budget) -> int:
    """The point to choose.

    With a limit of the loss, it is the smallest model within the limit. Otherwise, of the models within the limits of
    size, it is the first with the smallest test loss, or the last if there is no test loss.
    """
    rows = np.arange(len(curve.n_test_nodes))
    limited = budget.max_loss_increase is not None
    if limited:
        rows = _within_loss(curve, budget)
    if budget.max_test_nodes is not None:
        found = rows[curve.n_test_nodes[rows] <= budget.max_test_nodes]
        if not len(found):
            least = int(curve.n_test_nodes[rows].min())
            raise ValueError(
                f"max_test_nodes must be at least {least}, the number of test nodes of the smallest model"
                f"{_of_loss(budget)}, got {budget.max_test_nodes}"
            )
        rows = found
    # The order of preference, which the following steps preserve.
    if limited:
        rows = rows[np.argsort(curve.n_test_nodes[rows], kind="stable")]
    elif curve.test_loss is not None:
        rows = rows[np.argsort(curve.test_loss[rows], kind="stable")]
    else:
        rows = rows[::-1]
    if budget.max_bytes is None or curve.n_bytes(int(rows[0])) <= budget.max_bytes:
        return int(rows[0])
    for row in curve.n_bytes_within(rows, budget.max_bytes):
        if curve.n_bytes(int(row)) <= budget.max_bytes:
            return int(row)
    smallest = int(rows[np.argmin(curve.n_test_nodes[rows])])
    raise ValueError(
        f"max_bytes must be at least {curve.n_bytes(smallest)}, the size of the smallest model{_of_loss(budget)}, got "
        f"{budget.max_bytes}"
    )


def check_size(what: str, n_test_nodes: int, n_bytes: Callable[[], int], budget: Budget) -> None:
    """Raise if the model of the requested norm exceeds a limit of size."""
    if budget.max_test_nodes is not None and n_test_nodes > budget.max_test_nodes:
        raise ValueError(
            f"max_test_nodes must be at least {n_test_nodes}, the number of test nodes of the model of {what}, got "
            f"{budget.max_test_nodes}; a smaller norm has fewer test nodes"
        )
    if budget.max_bytes is not None and (found := n_bytes()) > budget.max_bytes:
        raise ValueError(
            f"max_bytes must be at least {found}, the size of the model of {what}, got {budget.max_bytes}; a smaller "
            "norm takes fewer bytes"
        )


def folds_of(cv: object, X: Matrix, target: Target, weights: Float | None, seed: int) -> list[_held_out.Split]:
    """The training and the test samples of each fold, all with positive weight: of fewer folds if there are few samples."""
    if cv is None or isinstance(cv, Integral):
        cv = 5 if cv is None else int(cv)
        classes = target.kind == "classes" and target.n_outputs == 1
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        most = int(np.unique(target.original[rows, 0], return_counts=True)[1].max()) if classes else len(rows)
        if cv > most:
            of_what = "samples of the largest class" if classes else "samples"
            if most < 2:
                raise ValueError(
                    f"cv requires at least 2 {of_what} with positive weight, got {most}, n_samples={len(rows)}"
                )
            messages.warn(f"cv is {cv}, but there are only {most} {of_what} with positive weight: using {most} folds")
            cv = most
    return _held_out.folds_of(cv, X, target, weights, seed)


def _within_loss(curve: Curve, budget: Budget) -> NDArray[np.intp]:
    assert budget.max_loss_increase is not None
    assert curve.test_loss is not None
    rows = np.flatnonzero(curve.test_loss <= (1 + budget.max_loss_increase) * curve.full_loss)
    if not len(rows):
        least, full = float(np.min(curve.test_loss)), curve.full_loss
        needed = f" must be at least {least / full - 1:.3g}" if full > 0 else " is too small"
        raise ValueError(
            f"max_loss_increase{needed}, got {budget.max_loss_increase}: the least cross-validated loss of the path is "
            f"{least:.6g}, and that of the forest is {full:.6g}"
        )
    return rows


def _of_loss(budget: Budget) -> str:
    return "" if budget.max_loss_increase is None else f" within max_loss_increase={budget.max_loss_increase}"
