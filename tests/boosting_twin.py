"""A slow, obvious twin of gradient boosting, with NumPy, scikit-learn's trees and scipy's minimizer.

Scores f have shape (n, width). y is a numerical output, or -1 and +1 for a label or class; losses that need 0 and 1
convert it. The softmax takes one-hot columns of 0 and 1. Weights are those of samples. Projections are passed, one for
each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import weald
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax, xlogy
from sklearn.tree import DecisionTreeRegressor

LARGEST_STEP = 1e3
# Each stage of the twin sees all samples and all features.
WHOLE = {"subsample": 1.0, "max_features": None}
Array = np.ndarray


class TiedError(Exception):
    """Two splits of a node are equally good, so that the tree depends on which of them is found first."""


def minimise(total: Callable[[float], float]) -> float:
    """The minimum point of a convex function in [-1000, 1000]; 0 if no other point is better."""
    powers = np.append(2.0 ** np.arange(-30, 10), LARGEST_STEP)
    grid = np.concatenate([-powers[::-1], [0.0], powers])
    with np.errstate(over="ignore"):
        best = int(np.argmin([total(rho) for rho in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        # The search stops at this width of its bracket: the step is exact to about the root of the rounding of the
        # loss.
        found = minimize_scalar(total, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
        return min([0.0, grid[best], found], key=total)


def lower_median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= weights.sum() / 2
    return float(values[order][np.argmax(reached)])


def lower_quantile(values: Array, weights: Array, q: float) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= q * weights.sum()
    return float(values[order][np.argmax(reached)])


def half_log_odds(y: Array, w: Array) -> float:
    return 0.5 * np.log(max(w[y > 0].sum(), 0.5) / max(w[y < 0].sum(), 0.5))


def halved(step: Any, total: Callable[[Any], float]) -> Any:
    """`step`, halved as long as it is worse than no step."""
    while total(step) > total(0 * step):
        step = step / 2
    return step


@dataclass(frozen=True)
class Newton:
    """The parameters of Newton leaves: λ, and the minimum sum of second derivatives."""

    l2: float = 1.0
    least: float = 1e-3

    def along(self, g: Array) -> Newton:
        """The parameters for a step along the values of leaves: λ is multiplied by the squares of these values."""
        squares = float((np.unique(g) ** 2).sum())
        return Newton(self.l2 * squares, self.least * squares)

    def step(self, gradient: Array, curvature: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(curvature < self.least, 0.0, gradient / (curvature + self.l2))


@dataclass(frozen=True)
class Loss:
    """A loss of one column: value, negative gradient and second derivative by sample, best constant, step along g."""

    value: Callable[[Array, Array], Array]
    negative_gradient: Callable[[Array, Array], Array]
    start: Callable[[Array, Array], float]
    curvature: Callable[[Array, Array], Array] | None = None

    def response(self, y: Array, f: Array) -> Array:
        """What trees are grown on."""
        return self.negative_gradient(y, f)

    def step(self, y: Array, f: Array, g: Array, w: Array) -> float:
        return minimise(lambda rho: float(w @ self.value(y, f + rho * g)))

    def newton_step(self, y: Array, f: Array, g: Array, w: Array, newton: Newton) -> float:
        """The Newton step along g, halved while the loss increases; without second derivatives, the best step."""
        if self.curvature is None:
            return self.step(y, f, g, w)
        whole = newton.step(w @ (g * self.negative_gradient(y, f)), w @ (g**2 * self.curvature(y, f)))
        return halved(float(whole), lambda rho: float(w @ self.value(y, f + rho * g)))

    def leaf(self, y: Array, f: Array, w: Array, newton: Newton) -> float:
        """The value that a leaf adds to the scores of its samples."""
        return self.newton_step(y, f, np.ones_like(f), w, newton)


class Distance(Loss):
    """A loss whose gradient only tells the side of a target: trees are grown on it × the root of its distance."""

    def response(self, y: Array, f: Array) -> Array:
        return self.negative_gradient(y, f) * np.sqrt(np.abs(y - f))


class AbsoluteError(Distance):
    def leaf(self, y: Array, f: Array, w: Array, newton: Newton) -> float:
        return lower_median((y - f)[w > 0], w[w > 0])

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
        # Totals of the same loss differ by the rounding of a sum of some hundred terms.
        best = places[totals <= totals.min() + 1e-12 * totals.max()]
        return float(min(best, key=abs))  # all values between two best ones are best


@dataclass(frozen=True)
class Quantile(Distance):
    q: float = 0.5

    def leaf(self, y: Array, f: Array, w: Array, newton: Newton) -> float:
        return lower_quantile((y - f)[w > 0], w[w > 0], self.q)

    def step(self, y: Array, f: Array, g: Array, w: Array) -> float:
        moved = (g != 0) & (w > 0)
        if not moved.any():
            return 0.0
        places = np.sort(np.clip((y - f)[moved] / g[moved], -LARGEST_STEP, LARGEST_STEP))
        totals = np.array([w @ self.value(y, f + rho * g) for rho in places])
        # The smallest of all that are best, up to the rounding of a sum of some hundred terms.
        best = float(places[totals <= totals.min() * (1 + 1e-12)][0])
        return best if w @ self.value(y, f + best * g) <= w @ self.value(y, f) else 0.0


def quantile(q: float) -> Loss:
    return Quantile(
        lambda y, f: np.maximum(q * (y - f), (q - 1) * (y - f)),
        lambda y, f: np.where(y > f, q, q - 1) * (y != f),
        lambda y, w: lower_quantile(y[w > 0], w[w > 0], q),
        q=q,
    )


def huber(delta: float) -> Loss:
    """Huber's loss without second derivatives, which would count the samples within δ: leaves are the exact minimum."""

    def value(y: Array, f: Array) -> Array:
        r = np.abs(y - f)
        return np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))

    def start(y: Array, w: Array) -> float:
        # The search stops at this width of its bracket.
        ends, options = (y.min(), y.max()), {"xatol": 1e-12}
        return float(
            minimize_scalar(lambda c: float(w @ value(y, c)), bounds=ends, method="bounded", options=options).x
        )

    return Loss(value, lambda y, f: np.clip(y - f, -delta, delta), start)


def log_of_mean(y: Array, w: Array) -> float:
    return float(np.log(w @ y / w.sum()))


def tweedie(p: float) -> Loss:
    a, b = p - 1, 2 - p
    return Loss(
        # For extreme scores, which only the search evaluates, the product of zero and infinity would be NaN.
        lambda y, f: y * np.exp(np.minimum(-a * f, 700)) / a + np.exp(b * f) / b - y**b / (a * b),
        lambda y, f: y * np.exp(-a * f) - np.exp(b * f),
        log_of_mean,
        lambda y, f: a * y * np.exp(-a * f) + b * np.exp(b * f),
    )


# The losses below that have a parameter.
OBJECTS = {"quantile": weald.loss.Quantile(0.625), "huber": weald.loss.Huber(0.4), "tweedie": weald.loss.Tweedie(1.3)}


def loss_object(name: str) -> Any:
    """The loss of this name as the parameter of estimators, with the parameter of the twin."""
    return OBJECTS.get(name, name)


LOSSES = {
    "quantile": quantile(0.625),
    "huber": huber(0.4),
    "poisson": Loss(
        lambda y, f: np.exp(f) - y * f - y + xlogy(y, y),
        lambda y, f: y - np.exp(f),
        log_of_mean,
        lambda y, f: np.exp(f),
    ),
    "gamma": Loss(
        lambda y, f: y * np.exp(-f) + f - np.log(y) - 1,
        lambda y, f: y * np.exp(-f) - 1,
        log_of_mean,
        lambda y, f: y * np.exp(-f),
    ),
    "tweedie": tweedie(1.3),
    "squared_error": Loss(
        lambda y, f: (y - f) ** 2 / 2,
        lambda y, f: y - f,
        lambda y, w: float(w @ y / w.sum()),
        lambda y, f: np.ones_like(f),
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
        lambda y, f: 4 * expit(2 * f) * expit(-2 * f),
    ),
    "exponential": Loss(
        lambda y, f: np.exp(-y * f),
        lambda y, f: y * np.exp(-y * f),
        half_log_odds,
        lambda y, f: np.exp(-y * f),
    ),
    "hinge": Hinge(
        lambda y, f: np.maximum(0, 1 - y * f),
        lambda y, f: y * (y * f < 1),
        lambda y, w: float(np.sign(w @ y)),
    ),
}


# Losses whose second derivatives differ between samples.
CURVED = {"log_loss", "exponential", "poisson", "gamma", "tweedie"}


def in_domain(loss: str, y: Array) -> Array:
    """Values of y in the domain of the loss, with zeros among them if these are allowed."""
    return {"poisson": np.maximum(y + 0.5, 0), "tweedie": np.maximum(y + 0.5, 0), "gamma": np.exp(y)}.get(loss, y)


def grow(X: Array, R: Array, w: Array, limits: dict[str, Any]) -> DecisionTreeRegressor:
    trees = [DecisionTreeRegressor(random_state=seed, **limits).fit(X, R, sample_weight=w) for seed in range(4)]
    first, *others = [tree.apply(X) for tree in trees]
    for other in others:
        if not len(set(first)) == len(set(other)) == len(set(zip(first, other, strict=True))):
            raise TiedError
    return trees[0]


@dataclass(frozen=True)
class Twin:
    """A boosting problem. `targets` are the columns of the loss, `groups` the columns of each softmax."""

    X: Array
    targets: Array
    loss: str
    weights: Array | None = None
    groups: tuple[slice, ...] | None = None
    # The weight of each column in the loss.
    shares: Array | None = None
    # Whether the target of each sample and column is known. Losses are then means over the known ones of each column or
    # softmax. Targets of unknown classes must be 0.
    known: Array | None = None

    @property
    def w(self) -> Array:
        return np.ones(len(self.X)) if self.weights is None else self.weights

    def start(self) -> Array:
        if self.groups:
            return np.log(np.maximum(self.w @ self.targets, 0.5))
        rows = (self.rows_of(j) for j in range(self.targets.shape[1]))
        return np.array([LOSSES[self.loss].start(y[k], self.w[k]) for y, k in zip(self.targets.T, rows, strict=True)])

    def rows_of(self, j: int) -> Array:
        """The samples whose target of column j is known."""
        return np.arange(len(self.X)) if self.known is None else np.flatnonzero(self.known[:, j])

    def total(self, j: int) -> float:
        """What the loss of column j is divided by."""
        return 1.0 if self.known is None else float(self.w[self.rows_of(j)].sum())

    def value(self, f: Array) -> float:
        """The loss, summed over samples and columns."""
        if self.groups:
            losses = [
                -self.w @ (self.targets[:, s] * log_softmax(f[:, s], axis=1)).sum(1) / self.total(s.start)
                for s in self.groups
            ]
            return float(sum(losses))
        shares = np.ones(f.shape[1]) if self.shares is None else self.shares
        total = 0.0
        for j, share in enumerate(shares):
            k = self.rows_of(j)
            total += share * (self.w[k] @ LOSSES[self.loss].value(self.targets[k, j], f[k, j])) / self.total(j)
        return float(total)

    def size(self, f: Array) -> float:
        """The sum of the absolute losses of all samples and columns, without weights."""
        if self.groups:
            return -sum(float((self.targets[:, s] * log_softmax(f[:, s], axis=1)).sum()) for s in self.groups)
        return float(np.abs(LOSSES[self.loss].value(self.targets, f)).sum())

    def responses(self, f: Array, *, shared: bool) -> Array:
        """What trees are grown on that scores share, or that are of one score each."""
        if self.groups:
            found = self.targets - np.concatenate([softmax(f[:, s], axis=1) for s in self.groups], axis=1)
        else:
            loss = LOSSES[self.loss]
            found = (loss.negative_gradient if shared else loss.response)(self.targets, f)
        return found if self.known is None else np.where(self.known, found, 0.0)

    def steps(self, f: Array, g: Array) -> Array:
        """The step of each column; g has all columns, or one that they share."""
        g = np.broadcast_to(g, f.shape)
        if not self.groups:
            rows = [self.rows_of(j) for j in range(f.shape[1])]
            return np.array(
                [LOSSES[self.loss].step(self.targets[k, j], f[k, j], g[k, j], self.w[k]) for j, k in enumerate(rows)]
            )
        return np.concatenate([self.step_of_classes(f, g, s) for s in self.groups])

    def step_of_classes(self, f: Array, g: Array, s: slice) -> Array:
        """The steps of the classes of an output, which are computed together."""
        k = self.rows_of(s.start)
        f, g, targets, w = f[k, s], g[k, s], self.targets[k, s], self.w[k]

        def total(rho: Array) -> tuple[float, Array]:
            scores = f + rho * g
            slopes = w @ (g * (softmax(scores, axis=1) - targets))
            return float(-w @ (targets * log_softmax(scores, axis=1)).sum(axis=1)), slopes

        # As exact as float64 allows: the loss no longer decreases by more than its last bits, or gradients are tiny.
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
        newton: Newton | None = None,
        **limits: Any,
    ) -> Iterator[tuple[Callable[[Array], Array], Array, Array]]:
        """After each stage: the values that it adds to scores of given samples, its steps, and the training scores."""
        f = np.tile(self.start(), (len(self.X), 1))
        for stage in range(n_stages):
            R = self.responses(f, shared=f.shape[1] > 1 and strategy != "single_target")
            phi = None if phis is None else phis[stage]
            if newton is None:
                predict = self.direction(strategy, R, phi, relabel, limits)
                rho = self.steps(f, predict(self.X))
            elif strategy == "projected" and not relabel and f.shape[1] > 1:
                predict = self.direction(strategy, R, phi, relabel, limits)
                g = np.broadcast_to(predict(self.X), f.shape)
                rho = self.newton_steps(f, g, newton.along(g), np.arange(len(f)), alike=False)
            else:
                predict = self.newton_leaves(strategy, f, R, phi, limits, newton)
                rho = np.any(predict(self.X) != 0, axis=0).astype(float)
            f = f + learning_rate * rho * predict(self.X)
            yield (lambda X, rho=rho, predict=predict: learning_rate * rho * predict(X)), rho, f

    def newton_steps(self, f: Array, g: Array, newton: Newton, rows: Array, alike: bool) -> Array:
        """Newton steps along g over samples, one for each column. `alike`: g is 1, and all samples are in one leaf."""
        if not self.groups:
            loss, steps = LOSSES[self.loss], np.zeros(f.shape[1])
            for j in range(f.shape[1]):
                at = np.intersect1d(rows, self.rows_of(j))
                column = self.targets[at, j], f[at, j]
                if alike and len(at):
                    steps[j] = loss.leaf(*column, self.w[at], newton)
                elif len(at):
                    steps[j] = loss.newton_step(*column, g[at, j], self.w[at], newton)
            return steps
        found = []
        of_all = self.targets, f, g, self.w
        for s in self.groups:
            at = np.intersect1d(rows, self.rows_of(s.start))
            y, f, g, w = (values[at] for values in of_all)
            p, k = softmax(f[:, s], axis=1), s.stop - s.start

            def total(step: Array, y: Array = y[:, s], f: Array = f[:, s], g: Array = g[:, s], w: Array = w) -> float:
                return float(-w @ (y * log_softmax(f + step * g, axis=1)).sum(axis=1))

            whole = newton.step(w @ (g[:, s] * (y[:, s] - p)), w @ (g[:, s] ** 2 * p * (1 - p)))
            found.append(halved((k - 1) / k * whole, total))
        return np.concatenate(found)

    def newton_leaves(
        self, strategy: str, f: Array, R: Array, phi: Any, limits: dict[str, Any], newton: Newton
    ) -> Callable[[Array], Array]:
        """The values that leaves add, as a function from samples to (n, width)."""
        ones = np.ones_like(f)

        def leaves(tree: DecisionTreeRegressor) -> Callable[[Array], Array]:
            of_rows = tree.apply(self.X)
            rows = {leaf: np.flatnonzero(of_rows == leaf) for leaf in set(of_rows)}
            steps = {leaf: self.newton_steps(f, ones, newton, rows[leaf], alike=True) for leaf in rows}
            return lambda X: np.array([steps[leaf] for leaf in tree.apply(X)])

        if strategy == "single_target":
            of_columns = [leaves(self.grow_one(j, r, f, limits)) for j, r in enumerate(R.T)]
            return lambda X: np.column_stack([predict(X)[:, j] for j, predict in enumerate(of_columns)])
        if f.shape[1] == 1:
            return leaves(self.grow_one(0, R[:, 0], f, limits))
        return leaves(grow(self.X, R if strategy == "joint" else R @ np.asarray(phi).T, self.w, limits))

    def grow_one(self, j: int, r: Array, f: Array, limits: dict[str, Any]) -> DecisionTreeRegressor:
        """A tree for one column. Second derivatives that differ are weights, in 4096 parts of the largest."""
        k = self.rows_of(j)
        if self.loss not in CURVED:
            return grow(self.X[k], r[k], self.w[k], limits)
        h = LOSSES[self.loss].curvature(self.targets[k, j], f[k, j])
        h = np.where(self.w[k] > 0, h, 0.0)
        parts = np.maximum(np.floor(h / h.max() * 4096), 1)
        return grow(self.X[k], r[k] / (parts * (h.max() / 4096)), self.w[k] * parts, limits)

    def direction(
        self, strategy: str, R: Array, phi: Any, relabel: bool, limits: dict[str, Any]
    ) -> Callable[[Array], Array]:
        """The weak model g: from samples to (n, width), or (n, 1) for a projection without relabeled leaves."""
        if strategy == "single_target":
            rows = [self.rows_of(j) for j in range(R.shape[1])]
            trees = [grow(self.X[k], r[k], self.w[k], limits) for k, r in zip(rows, R.T, strict=True)]
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
