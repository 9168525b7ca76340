"""A slow, obvious, exact twin of the splitter, and checks that a fitted tree follows the rules.

It enumerates every feature and every cut of a node. Sums are Python integers (weights and targets are first scaled by a
power of two) and impurities are fractions, so that Gini, variance and absolute deviation have no rounding at all;
entropy uses float64, the Poisson deviance sixty digits. Vocabulary: a *cut* lies between two neighbouring distinct
values of the node, where missing values (NaN) are less or greater than all others; the *decrease* of a cut is the total
impurity (weight × impurity) of the node minus that of its two sides.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

REAL_CRITERIA = ("squared_error", "poisson", "absolute_error")
Number = Fraction | float


@dataclass(frozen=True)
class Limits:
    """Stopping rules with the names and defaults of scikit-learn."""

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None


@dataclass(frozen=True)
class Cut:
    """A candidate split: samples whose value is at most `below` go left, and the others have at least `above`.

    `above` is NaN if all samples with a value go left, and those without one go right.
    """

    feature: int
    below: np.float32
    above: np.float32
    decrease: Number
    # The side of samples without a value; None if the node has none.
    missing_left: bool | None = None

    @property
    def threshold(self) -> np.float32:
        """The largest float32 that is not above the midpoint, which sends every float32 to the same side."""
        if np.isnan(self.above):
            return np.finfo(np.float32).max
        middle = float(self.below) / 2 + float(self.above) / 2
        nearest = np.float32(middle)
        return np.nextafter(nearest, np.float32(-np.inf)) if float(nearest) > middle else nearest


def as_integers(values: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """`values` as exact Python integers, and the unit in which they are counted."""
    fractions = [Fraction(float(v)) for v in np.ravel(values)]
    denominator = math.lcm(*(f.denominator for f in fractions)) if fractions else 1
    out = np.empty(len(fractions), dtype=object)
    out[:] = [int(f * denominator) for f in fractions]
    return out.reshape(np.shape(values)), Fraction(1, denominator)


def x_log_ratio(x: Fraction, ratio: Fraction) -> Fraction:
    """x log(ratio) to sixty digits; zero for x = 0."""
    if x == 0:
        return Fraction(0)
    with localcontext() as context:
        context.prec = 60
        return x * Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


def dense32(X: Any) -> np.ndarray:
    """X as the engine uses it: float32, with stored zeros as zeros."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)


class Oracle:
    """Exact statistics of any set of samples of a supervised problem. Samples of weight zero are ignored."""

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, criterion: str = "gini") -> None:
        X, y = dense32(X), np.asarray(y.toarray() if sp.issparse(y) else y)
        y = y.reshape(len(X), -1)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        keep = weight > 0
        self.X, self.y, self.weight, self.criterion = X[keep], y[keep], weight[keep], criterion
        self.n_outputs = y.shape[1]
        self.w, self.w_unit = as_integers(self.weight)
        if criterion in REAL_CRITERIA:
            values, self.y_unit = as_integers(self.y.astype(float))
            self.values = values
            self.squares = self.w * (values**2).sum(axis=1)
            if criterion == "poisson":
                self.squares = np.array([self._y_log_y(w, y) for w, y in zip(self.w, values, strict=True)])
        else:
            columns = [self.y[:, j] == c for j in range(self.n_outputs) for c in np.unique(self.y[:, j])]
            values, self.y_unit = np.array(columns).T.astype(int).astype(object), Fraction(1)
            self.squares = self.w * self.n_outputs
        self.sums = self.w[:, None] * values

    def _y_log_y(self, w: int, y: np.ndarray) -> Fraction:
        """Weight × sum of y log(y) over the outputs of a sample."""
        return sum((x_log_ratio(w * v * self.w_unit * self.y_unit, v * self.y_unit) for v in y), Fraction(0))

    @property
    def all_rows(self) -> np.ndarray:
        return np.arange(len(self.X))

    def total_weight(self, rows: np.ndarray) -> Fraction:
        return self.w[rows].sum() * self.w_unit

    def is_pure(self, rows: np.ndarray) -> bool:
        """Whether all samples have equal values of y, which is not the same as a small impurity."""
        return bool((self.y[rows] == self.y[rows[0]]).all())

    def _total_impurity(self, w: int, sums: np.ndarray, squares: int) -> Number:
        """Weight × mean impurity over the outputs, from the sums over a set of samples."""
        if self.criterion in ("entropy", "log_loss"):
            counts = [float(s * self.w_unit) for s in sums]
            whole = float(w * self.w_unit)
            return math.fsum(-c * math.log2(c / whole) for c in counts if c > 0) / self.n_outputs
        if self.criterion == "poisson":
            totals = [int(s) * self.w_unit * self.y_unit for s in sums]
            whole = int(w) * self.w_unit
            return (squares - sum(x_log_ratio(s, s / whole) for s in totals)) / self.n_outputs
        # The formula for Gini is the same: the squares of one-hot targets sum to the weight of each output.
        return Fraction(int(squares * w - (sums**2).sum()), int(w) * self.n_outputs) * self.w_unit * self.y_unit**2

    def _medians(self, rows: np.ndarray, output: int) -> tuple[int, int]:
        """The smallest and the largest median of the values of an output, as integers."""
        y, w = self.values[rows, output], self.w[rows]
        return (
            min(c for c in y if 2 * w[y > c].sum() <= w.sum()),
            max(c for c in y if 2 * w[y < c].sum() <= w.sum()),
        )

    def total_impurity(self, rows: np.ndarray) -> Number:
        if self.criterion == "absolute_error":
            medians = [self._medians(rows, j)[0] for j in range(self.n_outputs)]
            deviations = (self.w[rows, None] * np.abs(self.values[rows] - np.array(medians, dtype=object))).sum()
            return Fraction(int(deviations), self.n_outputs) * self.w_unit * self.y_unit
        return self._total_impurity(self.w[rows].sum(), self.sums[rows].sum(axis=0), self.squares[rows].sum())

    def impurity(self, rows: np.ndarray) -> float:
        return float(self.total_impurity(rows) / self.total_weight(rows))

    def center(self, rows: np.ndarray) -> np.ndarray:
        """The prediction of a leaf with these samples for numerical outputs, exact up to the last rounding."""
        if self.criterion == "absolute_error":
            middle = [sum(self._medians(rows, j)) for j in range(self.n_outputs)]
            return np.array([float(Fraction(int(twice), 2) * self.y_unit) for twice in middle])
        weight = self.w[rows].sum()
        return np.array([float(Fraction(int(s), int(weight)) * self.y_unit) for s in self.sums[rows].sum(axis=0)])

    def frequency(self, rows: np.ndarray, output: int, value: Any) -> float:
        hit = self.w[rows][self.y[rows, output] == value].sum()
        return float(Fraction(int(hit), int(self.w[rows].sum())))

    def decrease(self, rows: np.ndarray, left: np.ndarray) -> Number:
        """The decrease of the split that sends `rows[left]` to the left."""
        sides = self.total_impurity(rows[left]) + self.total_impurity(rows[~left])
        return self.total_impurity(rows) - sides

    def cuts(self, rows: np.ndarray, limits: Limits = Limits()) -> list[Cut]:
        """All cuts of the node that satisfy the limits on the sides."""
        found = []
        least_weight = Fraction(limits.min_weight_fraction_leaf) * self.total_weight(self.all_rows)
        parent = self.total_impurity(rows)
        for feature, missing_left in itertools.product(range(self.X.shape[1]), (None, True, False)):
            # Samples without a value come before all others, or after them.
            missing = np.isnan(self.X[rows, feature])
            if missing.any() == (missing_left is None):
                continue
            order = rows[np.lexsort((self.X[rows, feature], ~missing if missing_left else missing))]
            x = self.X[order, feature]
            w, sums, squares = (np.cumsum(a[order], axis=0) for a in (self.w, self.sums, self.squares))
            between = x[1:] > x[:-1]
            if missing_left is False:
                between |= np.isnan(x[1:]) & ~np.isnan(x[:-1])
            for i in np.flatnonzero(between):
                if min(i + 1, len(order) - i - 1) < limits.min_samples_leaf:
                    continue
                if min(w[i], w[-1] - w[i]) * self.w_unit < least_weight:
                    continue
                if self.criterion == "poisson" and any(
                    sums[-1].astype(bool) & ((sums[i] == 0) | (sums[i] == sums[-1]))
                ):
                    continue  # an output that is not all zero in the node would be all zero on a side
                if self.criterion == "absolute_error":
                    left, right = self.total_impurity(order[: i + 1]), self.total_impurity(order[i + 1 :])
                else:
                    left = self._total_impurity(w[i], sums[i], squares[i])
                    right = self._total_impurity(w[-1] - w[i], sums[-1] - sums[i], squares[-1] - squares[i])
                found.append(Cut(feature, x[i], x[i + 1], parent - left - right, missing_left))
        return found


class MaskedOracle(Oracle):
    """The same with unknown values of y, which are True in `mask`.

    Each output has the weight of its known values in addition to the sums. Impurities are divided by the mean number of
    known values of a training sample, so that at the root they are those of a known value.
    """

    def __init__(self, X: Any, y: Any, mask: Any, sample_weight: Any = None, criterion: str = "gini") -> None:
        mask = np.asarray(mask, dtype=bool).reshape(len(mask), -1)
        weight = np.ones(len(mask)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weight = np.where(mask.all(axis=1), 0.0, weight)
        y = np.array(y.toarray() if sp.issparse(y) else y).reshape(mask.shape)
        for j in range(mask.shape[1]):
            y[mask[:, j], j] = y[(weight > 0) & ~mask[:, j], j][0]
        super().__init__(X, y, weight, criterion)
        self.known = ~mask[weight > 0]
        widths = [1 if criterion in REAL_CRITERIA else len(np.unique(self.y[:, j])) for j in range(self.n_outputs)]
        self.output_of = np.repeat(np.arange(self.n_outputs), widths)
        if criterion in REAL_CRITERIA:
            values, self.y_unit = as_integers(self.y.astype(float))
            self.squares = self.w * (np.where(self.known, values, 0) ** 2).sum(axis=1)
        else:
            self.squares = self.w * self.known.sum(axis=1)
        of_outputs = self.w[:, None] * self.known.astype(int).astype(object)
        self.n_slots = len(self.output_of)
        self.sums = np.column_stack([np.where(self.known[:, self.output_of], self.sums, 0), of_outputs])
        self.cells_of_a_sample = Fraction(int(of_outputs.sum()), int(self.w.sum()))

    def is_pure(self, rows: np.ndarray) -> bool:
        return all(len(np.unique(self.y[rows[self.known[rows, j]], j])) <= 1 for j in range(self.n_outputs))

    def _total_impurity(self, w: int, sums: np.ndarray, squares: int) -> Number:
        slots, weights = sums[: self.n_slots], sums[self.n_slots :]
        of_slots = [(int(s), int(weights[o])) for s, o in zip(slots, self.output_of, strict=True) if weights[o] > 0]
        if self.criterion == "entropy":
            parts = (-float(s * self.w_unit) * math.log2(s / v) for s, v in of_slots if s > 0)
            return math.fsum(parts) / float(self.cells_of_a_sample)
        left = int(squares) - sum((Fraction(s * s, v) for s, v in of_slots), Fraction(0))
        return left * self.w_unit * self.y_unit**2 / self.cells_of_a_sample

    def value(self, rows: np.ndarray, output: int) -> dict[Any, float] | float | None:
        """The mean of the known values, or the frequency of each class among them; None if there are none."""
        known = rows[self.known[rows, output]]
        if len(known) == 0:
            return None
        if self.criterion in REAL_CRITERIA:
            total = sum(Fraction(float(self.y[i, output])) * int(self.w[i]) for i in known)
            return float(total / int(self.w[known].sum()))
        return {c: self.frequency(known, output, c) for c in np.unique(self.y[:, output])}


@dataclass
class Arrays:
    """The arrays of a fitted tree, as in scikit-learn."""

    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    missing_go_to_left: np.ndarray

    @classmethod
    def of(cls, estimator: Any) -> Arrays:
        return cls(**{name: np.asarray(getattr(estimator.tree_, name)) for name in cls.__annotations__})

    def is_leaf(self, node: int) -> bool:
        return self.children_left[node] == -1

    def goes_left(self, node: int, X: np.ndarray) -> np.ndarray:
        """A mask of the samples that a split sends to the left."""
        x = X[:, self.feature[node]]
        return np.where(np.isnan(x), self.missing_go_to_left[node] == 1, x <= self.threshold[node])

    def rows_of_nodes(self, X: np.ndarray) -> list[np.ndarray]:
        """The samples of float32 X that pass through each node, computed from the thresholds alone."""
        rows = [np.empty(0, dtype=int) for _ in self.feature]
        rows[0] = np.arange(len(X))
        for node in range(len(rows)):  # a parent comes before its children
            if not self.is_leaf(node):
                left = self.goes_left(node, X[rows[node]])
                rows[self.children_left[node]] = rows[node][left]
                rows[self.children_right[node]] = rows[node][~left]
        return rows

    def depths(self) -> np.ndarray:
        depth = np.zeros(len(self.feature), dtype=int)
        for node in range(len(depth)):
            if not self.is_leaf(node):
                depth[[self.children_left[node], self.children_right[node]]] = depth[node] + 1
        return depth


# The relative tolerance of a chosen decrease compared with the best one, and the fraction of the impurity of the node
# that the rounding of float64 sums may change if the best decrease itself is close to zero.
RELATIVE, ROUNDING = 1e-9, 1e-13


def close(chosen: Number, best: Number, scale: Number) -> bool:
    return float(best - chosen) <= RELATIVE * abs(float(best)) + ROUNDING * abs(float(scale))


def check_tree(estimator: Any, oracle: Oracle, limits: Limits = Limits(), splitter: str = "best") -> Arrays:
    """Checks every node of a tree grown with `max_features=None`: statistics, splits, and the reasons for leaves."""
    tree = Arrays.of(estimator)
    rows, depths = tree.rows_of_nodes(oracle.X), tree.depths()
    n_leaves = int((tree.children_left == -1).sum())
    for node, here in enumerate(rows):
        where = f"node {node} of {len(rows)}"
        assert len(here) > 0, f"{where}: no sample reaches it"
        assert tree.n_node_samples[node] == len(here), where
        # The total is exact here, and in the engine a sum of rounded weights.
        assert math.isclose(tree.weighted_n_node_samples[node], oracle.total_weight(here), rel_tol=1e-12), where
        expected = oracle.impurity(here)
        # Impurities are float64. Sums of squares cancel, at worst down to the rounding of the impurity of the root.
        assert math.isclose(tree.impurity[node], expected, rel_tol=1e-9, abs_tol=1e-13 * oracle.impurity(rows[0])), (
            f"{where}: impurity {tree.impurity[node]!r}, exact {expected!r}"
        )
        if tree.is_leaf(node):
            check_leaf(oracle, here, depths[node], n_leaves, limits, splitter, where)
        else:
            check_split(oracle, tree, node, here, depths[node], limits, splitter, where)
    if limits.max_leaf_nodes is not None:
        assert n_leaves <= limits.max_leaf_nodes
        check_best_first(oracle, tree, rows, limits)
    return tree


def share_of_total(oracle: Oracle, decrease: Number) -> float:
    """A decrease as `min_impurity_decrease` measures it: divided by the weight of the whole training set."""
    return float(decrease / oracle.total_weight(oracle.all_rows))


def check_leaf(
    oracle: Oracle, here: np.ndarray, depth: int, n_leaves: int, limits: Limits, splitter: str, where: str
) -> None:
    """Check that a leaf has a reason not to be split."""
    if oracle.is_pure(here) or depth == limits.max_depth or len(here) < limits.min_samples_split:
        return
    if limits.max_leaf_nodes is not None and n_leaves == limits.max_leaf_nodes:
        return
    cuts = oracle.cuts(here, limits)
    limits_sides = limits.min_samples_leaf > 1 or limits.min_weight_fraction_leaf > 0 or oracle.criterion == "poisson"
    if splitter == "random" and limits_sides:
        return  # the single threshold that was drawn for each feature may not have satisfied the limits
    if not cuts or (limits.min_impurity_decrease > 0 and splitter == "random"):
        return
    best = max(c.decrease for c in cuts)
    # A ratio of exact numbers compared with one of float64 sums, which may differ in the last bits of 1, and in those of
    # the impurity of the node.
    rounding = 1e-12 + ROUNDING * share_of_total(oracle, oracle.total_impurity(here))
    too_little = 0 < limits.min_impurity_decrease > share_of_total(oracle, best) - rounding
    assert too_little, f"{where}: an impure leaf of {len(here)} samples, {len(cuts)} cuts are admissible"


def check_split(
    oracle: Oracle,
    tree: Arrays,
    node: int,
    here: np.ndarray,
    depth: int,
    limits: Limits,
    splitter: str,
    where: str,
) -> None:
    """Check that a split is allowed, that its threshold is right, and that it is the best one if it must be."""
    assert not oracle.is_pure(here), f"{where}: a pure node was split"
    assert limits.max_depth is None or depth < limits.max_depth, where
    assert len(here) >= limits.min_samples_split, where
    feature, threshold = int(tree.feature[node]), tree.threshold[node]
    x = oracle.X[here, feature]
    left = tree.goes_left(node, oracle.X[here])
    for side in (left, ~left):
        assert side.sum() >= limits.min_samples_leaf, where
        least = Fraction(limits.min_weight_fraction_leaf) * oracle.total_weight(oracle.all_rows)
        assert oracle.total_weight(here[side]) >= least, where
    chosen = oracle.decrease(here, left)
    # As in `check_leaf`: the rounding of a ratio of float64 sums.
    assert share_of_total(oracle, chosen) >= limits.min_impurity_decrease - 1e-12, where
    missing = np.isnan(x)
    if not missing.any():
        sides = oracle.total_weight(here[left]), oracle.total_weight(here[~left])
        # Weights that are not multiples of 1/64 are rounded in the engine, so that sides of nearly equal weight may
        # differ.
        if sides[0] == sides[1] or abs(sides[0] - sides[1]) > Fraction(1e-12) * sum(sides):
            expected_left = sides[0] >= sides[1]
            assert tree.missing_go_to_left[node] == expected_left, f"{where}: missing values go to the lighter child"
    present = x[~missing]
    if threshold == np.finfo(np.float32).max:
        assert missing.any(), where
        assert tree.missing_go_to_left[node] == 0, where
    elif splitter == "random":
        assert present.min() <= threshold < present.max(), f"{where}: {threshold!r} outside {present!r}"
    if splitter == "random":
        return
    above = present[present > threshold].min(initial=np.inf)
    above = np.float32(np.nan) if np.isinf(above) else above
    expected = Cut(feature, present[present <= threshold].max(), above, chosen).threshold
    assert threshold == expected, f"{where}: threshold {threshold!r}, half way is {expected!r}"
    best = max(oracle.cuts(here, limits), key=lambda c: c.decrease)
    assert close(chosen, best.decrease, oracle.total_impurity(here)), (
        f"{where}: feature {feature} at {threshold!r} lowers the impurity by {float(chosen)!r}, "
        f"feature {best.feature} at {best.threshold!r} by {float(best.decrease)!r}"
    )


def check_best_first(oracle: Oracle, tree: Arrays, rows: list[np.ndarray], limits: Limits) -> None:
    """Replays best-first growth: no node that was split had a better rival among the final leaves."""
    depths = tree.depths()

    def potential(node: int) -> Number:
        """The decrease of the split of a node, or of the best split that a leaf could have."""
        here = rows[node]
        if not tree.is_leaf(node):
            return oracle.decrease(here, tree.goes_left(node, oracle.X[here]))
        stops = oracle.is_pure(here) or depths[node] == limits.max_depth or len(here) < limits.min_samples_split
        return -1.0 if stops else max((c.decrease for c in oracle.cuts(here, limits)), default=-1.0)

    def replay(frontier: dict[int, Number]) -> bool:
        """Whether some order of equal nodes explains which nodes were split."""
        internal = [n for n in frontier if not tree.is_leaf(n)]
        if not internal:
            return True
        most = max(frontier.values())
        for node in internal:
            if close(frontier[node], most, oracle.total_impurity(rows[node])):
                rest = {n: d for n, d in frontier.items() if n != node}
                sides = (int(tree.children_left[node]), int(tree.children_right[node]))
                if replay(rest | {n: potential(n) for n in sides}):
                    return True
        return False

    assert replay({0: potential(0)}), "a node was split before a leaf that promised a larger decrease"


def one_hot(y: Any, sample_weight: Any = None) -> np.ndarray:
    """Columns of classes as columns of 0 and 1, one for each class that a sample of positive weight has."""
    y = np.asarray(y).reshape(len(y), -1)
    kept = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    return np.column_stack([y[:, j] == c for j in range(y.shape[1]) for c in np.unique(y[kept, j])]).astype(float)


def project(y: Any, phi: np.ndarray) -> np.ndarray:
    """Y Φᵀ, one output after the other."""
    z = np.zeros((len(y), len(phi)))
    for j in range(phi.shape[1]):
        z += np.asarray(y)[:, [j]] * phi[:, j]
    return z
