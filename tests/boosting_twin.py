"""A slow, obvious twin of gradient boosting: NumPy, scikit-learn's trees, scipy's minimiser.

Scores f are (n, width). y is a number, or -1 and +1 of a label or class; losses that see 0 and 1 get those. Softmax
takes one-hot columns as 0 and 1. Weights are those of rows. Projections are given, one for each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.tree import DecisionTreeRegressor

LARGEST_STEP = 1e3
Array = np.ndarray


class TiedError(Exception):
    """Two splits of a node are equally good: what the tree is depends on which of them is looked at first."""


def minimise(total: Callable[[float], float]) -> float:
    """Argument of the minimum of a convex function in [-1000, 1000]; 0 where no other is better."""
    powers = np.append(2.0 ** np.arange(-30, 10), LARGEST_STEP)
    grid = np.concatenate([-powers[::-1], [0.0], powers])
    with np.errstate(over="ignore"):
        best = int(np.argmin([total(rho) for rho in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        found = minimize_scalar(total, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
        return min([0.0, grid[best], found], key=total)


def lower_median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= weights.sum() / 2
    return float(values[order][np.argmax(reached)])


def half_log_odds(y: Array, w: Array) -> float:
    return 0.5 * np.log(max(w[y > 0].sum(), 0.5) / max(w[y < 0].sum(), 0.5))


@dataclass(frozen=True)
class Loss:
    """Of one column: value and negative gradient by row, the best constant, the best step along g."""

    value: Callable[[Array, Array], Array]
    negative_gradient: Callable[[Array, Array], Array]
    start: Callable[[Array, Array], float]

    def step(self, y: Array, f: Array, g: Array, w: Array) -> float:
        return minimise(lambda rho: float(w @ self.value(y, f + rho * g)))


class AbsoluteError(Loss):
    def step(self, y: Array, f: Array, g: Array, w: Array) -> float:
        moved = (g != 0) & (w > 0)
        if not moved.any():
            return 0.0
        step = lower_median((y - f)[moved] / g[moved], (w * np.abs(g))[moved])
        return float(np.clip(step, -LARGEST_STEP, LARGEST_STEP))


class Hinge(Loss):
    def step(self, y: Array, f: Array, g: Array, w: Array) -> float:
        moved = (g != 0) & (w > 0)
        corners = np.clip((y - f)[moved] / g[moved], -LARGEST_STEP, LARGEST_STEP)
        places = np.sort([0.0, *corners])
        totals = np.array([w @ self.value(y, f + rho * g) for rho in places])
        best = places[totals <= totals.min() + 1e-12 * totals.max()]
        return float(min(best, key=abs))  # all between two that are best are best


LOSSES = {
    "squared_error": Loss(
        lambda y, f: (y - f) ** 2 / 2,
        lambda y, f: y - f,
        lambda y, w: float(w @ y / w.sum()),
    ),
    "absolute_error": AbsoluteError(
        lambda y, f: np.abs(y - f),
        lambda y, f: np.sign(y - f),
        lambda y, w: lower_median(y[w > 0], w[w > 0]),
    ),
    "log_loss": Loss(
        lambda y, f: np.logaddexp(0, -2 * y * f),
        lambda y, f: 2 * y * expit(-2 * y * f),
        half_log_odds,
    ),
    "exponential": Loss(
        lambda y, f: np.exp(-y * f),
        lambda y, f: y * np.exp(-y * f),
        half_log_odds,
    ),
    "hinge": Hinge(
        lambda y, f: np.maximum(0, 1 - y * f),
        lambda y, f: y * (y * f < 1),
        lambda y, w: float(np.sign(w @ y)),
    ),
}


def grow(X: Array, R: Array, w: Array, limits: dict[str, Any]) -> DecisionTreeRegressor:
    trees = [DecisionTreeRegressor(random_state=seed, **limits).fit(X, R, sample_weight=w) for seed in range(4)]
    first, *others = [tree.apply(X) for tree in trees]
    for other in others:
        if not len(set(first)) == len(set(other)) == len(set(zip(first, other, strict=True))):
            raise TiedError
    return trees[0]


def float8(steps: Array) -> Array:
    """Cut towards zero to numbers of four bits of exponent and three of significand, times a power of two."""
    small = [s / 512 for s in range(8)]
    values = np.array(small + [(1 + s / 8) * 2.0**e for e in range(-6, 8) for s in range(8)])
    largest = np.abs(steps).max()
    if largest == 0:
        return steps
    unit = 2.0 ** (np.floor(np.log2(largest)) - 7)
    return np.array([np.sign(s) * unit * values[values * unit <= abs(s)].max() for s in steps])


@dataclass(frozen=True)
class Twin:
    """One boosting problem. `targets` are the columns that the loss sees, `groups` the columns of each softmax."""

    X: Array
    targets: Array
    loss: str
    weights: Array | None = None
    groups: tuple[slice, ...] | None = None

    @property
    def w(self) -> Array:
        return np.ones(len(self.X)) if self.weights is None else self.weights

    def start(self) -> Array:
        if self.groups:
            return np.log(np.maximum(self.w @ self.targets, 0.5))
        return np.array([LOSSES[self.loss].start(y, self.w) for y in self.targets.T])

    def value(self, f: Array) -> float:
        """The loss, summed over rows and columns."""
        if self.groups:
            return float(sum(-self.w @ (self.targets[:, s] * log_softmax(f[:, s], axis=1)).sum(1) for s in self.groups))
        return float(sum(self.w @ LOSSES[self.loss].value(y, g) for y, g in zip(self.targets.T, f.T, strict=True)))

    def negative_gradient(self, f: Array) -> Array:
        if self.groups:
            return self.targets - np.concatenate([softmax(f[:, s], axis=1) for s in self.groups], axis=1)
        return LOSSES[self.loss].negative_gradient(self.targets, f)

    def steps(self, f: Array, g: Array) -> Array:
        """One for each column; g has all of them or one that they share."""
        g = np.broadcast_to(g, f.shape)
        if not self.groups:
            return np.array(
                [LOSSES[self.loss].step(*column, self.w) for column in zip(self.targets.T, f.T, g.T, strict=True)]
            )
        return np.concatenate([self.step_of_classes(f[:, s], g[:, s], self.targets[:, s]) for s in self.groups])

    def step_of_classes(self, f: Array, g: Array, targets: Array) -> Array:
        """One for each class of an output, found together."""

        def total(rho: Array) -> tuple[float, Array]:
            scores = f + rho * g
            slopes = self.w @ (g * (softmax(scores, axis=1) - targets))
            return float(-self.w @ (targets * log_softmax(scores, axis=1)).sum(axis=1)), slopes

        options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
        bounds = [(-LARGEST_STEP, LARGEST_STEP)] * f.shape[1]
        return minimize(total, np.zeros(f.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x

    def stages(
        self,
        strategy: str,
        n_stages: int,
        learning_rate: float = 0.1,
        phis: Any = None,
        relabel: bool = True,
        step_dtype: str = "float64",
        **limits: Any,
    ) -> Iterator[tuple[Callable[[Array], Array], Array, Array]]:
        """After each stage: what it adds to the scores of given rows, its steps, the training scores."""
        f = np.tile(self.start(), (len(self.X), 1))
        for stage in range(n_stages):
            R = self.negative_gradient(f)
            predict = self.direction(strategy, R, None if phis is None else phis[stage], relabel, limits)
            rho = self.steps(f, predict(self.X))
            rho = float8(rho) if step_dtype == "float8" else rho
            f = f + learning_rate * rho * predict(self.X)
            yield (lambda X, rho=rho, predict=predict: learning_rate * rho * predict(X)), rho, f

    def direction(
        self, strategy: str, R: Array, phi: Any, relabel: bool, limits: dict[str, Any]
    ) -> Callable[[Array], Array]:
        """The weak model g: rows to (n, width), or to (n, 1) for a projection whose leaves are not relabelled."""
        if strategy == "single_target":
            trees = [grow(self.X, r, self.w, limits) for r in R.T]
            return lambda X: np.column_stack([tree.predict(X) for tree in trees])
        if strategy == "joint":
            tree = grow(self.X, R, self.w, limits)
            return lambda X: tree.predict(X).reshape(len(X), -1)
        tree = grow(self.X, R @ np.asarray(phi).T, self.w, limits)
        if not relabel:
            return lambda X: tree.predict(X).reshape(len(X), 1)
        leaves = tree.apply(self.X)
        means = {leaf: np.average(R[leaves == leaf], axis=0, weights=self.w[leaves == leaf]) for leaf in set(leaves)}
        return lambda X: np.array([means[leaf] for leaf in tree.apply(X)])


def staged_scores(twin: Twin, X: Array, *args: Any, **kwargs: Any) -> list[Array]:
    """Scores of the rows of X after each stage."""
    f, found = np.tile(twin.start(), (len(X), 1)), []
    for add, _, _ in twin.stages(*args, **kwargs):
        f = f + add(X)
        found.append(f)
    return found
