"""Centroid forests in JSON, and prediction by the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import e, ldexp, log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald._files.centroid_tables import Rules, Table, leaves_and_parents
from weald._input.checks import Float, Matrix
from weald._input.prepared import prepared
from weald._input.sparse import has_nan
from weald.export._c_centroids import LN_2, ROUND, exp_coefficients
from weald.export._centroids import Centroids, CentroidTree
from weald.export._ensemble import Head


def rules_to_json(model: Centroids) -> dict[str, Any]:
    rules = model.rules
    return {
        "normalize": rules.normalize,
        "sharpness": rules.sharpness,
        "least": rules.least,
        "idf": None if rules.idf is None else rules.idf.tolist(),
    }


def tree_to_json(tree: CentroidTree) -> dict[str, Any]:
    found = {
        "children": tree.starts.tolist(),
        "centroid_ptr": tree.ptr.tolist(),
        "centroid_features": tree.features.tolist(),
        "centroid_weights": tree.weights.tolist(),
    }
    found |= _table_to_json("leaf", tree.leaves)
    if tree.parents is None:
        return found | {"own": None}
    found |= {"own": tree.own.tolist(), "parent_of": tree.parent_of.tolist()}
    return found | _table_to_json("parent", tree.parents)


def _table_to_json(what: str, table: Table) -> dict[str, Any]:
    named = {"ptr": table.ptr, "columns": table.columns, "values": table.values}
    return {f"{what}_{name}": values.tolist() for name, values in named.items()}


class Reading(NamedTuple):
    """What reads and checks numbers of an object of the text."""

    need: Callable[[object, str], None]
    integers: Callable[[dict[str, Any], str, str], NDArray[np.int64]]
    floats: Callable[[dict[str, Any], str], Float]
    singles: Callable[[dict[str, Any], str], NDArray[np.float32]]


def read(content: Any, trees: list[Any], head: Head, reading: Reading) -> CentroidPredictor:
    """The forest of a text, checked."""
    need = reading.need
    need(isinstance(content, dict), '"centroids" must be an object')
    is_plain = head.link == "identity" and len(head.start) == 0 and head.divisor == head.n_trees > 0
    need(is_plain, '"link" must be "identity", "start" empty and "divisor" the number of trees with "centroids"')
    need(type(content.get("normalize")) is bool, '"normalize" must be true or false')
    sharpness, least = (float(reading.singles({name: [content.get(name)]}, name)[0]) for name in ("sharpness", "least"))
    need(sharpness >= 0 and 0 <= least <= 0.5, '"sharpness" must be at least 0, and "least" from 0 to 0.5')
    idf = None if content.get("idf") is None else reading.singles(content, "idf")
    need(idf is None or len(idf) == head.n_features, f'"idf" must have length {head.n_features}')
    found = [_read_tree(tree, f"tree {t}", head, reading) for t, tree in enumerate(trees)]
    shrinks = any(tree.parents is not None for tree in found)
    return CentroidPredictor(head, Rules(content["normalize"], sharpness, least, float(shrinks), idf), found)


def _read_tree(content: Any, where: str, head: Head, reading: Reading) -> CentroidTree:
    need = reading.need
    need(isinstance(content, dict), f"{where} must be an object")
    starts = reading.integers(content, "children", where)
    n = len(starts) - 1
    # The children of a node come after it, level by level, and each node but the root is one of them.
    is_tree = n > 0 and starts[0] == 1 and starts[-1] == n and (starts[:-1] > np.arange(n)).all()
    is_tree = is_tree and not (np.diff(starts) < 0).any() and not (np.diff(starts) == 1).any()
    need(is_tree, f'"children" of {where} are not the nodes of one tree, level by level')
    ptr = reading.integers(content, "centroid_ptr", where)
    features = reading.integers(content, "centroid_features", where)
    weights = reading.singles(content, "centroid_weights")
    _check_lists(need, f'"centroid_features" of {where}', ptr, features, n, head.n_features)
    need(ptr[1] == 0, f"the root of {where} must have no centroid")
    need(len(weights) == len(features), f"{where} must have as many weights as features of centroids")
    nodes, with_leaves = leaves_and_parents(starts)
    leaves = _read_table("leaf", content, where, len(nodes), head, reading)
    own, parents, parent_of = np.ones(0), None, np.zeros(0, dtype=np.int64)
    if content.get("own") is not None:
        own = reading.floats(content, "own")
        parent_of = reading.integers(content, "parent_of", where)
        parents = _read_table("parent", content, where, len(with_leaves), head, reading)
        is_share = len(own) == len(nodes) and (own >= 0).all() and (own <= 1).all()
        need(is_share, f'"own" of {where} must have a number from 0 to 1 for each leaf')
        are_rows = len(parent_of) == len(nodes) and (parent_of >= 0).all() and (parent_of < len(with_leaves)).all()
        need(are_rows, f'"parent_of" of {where} must have a row of the parents for each leaf')
    return CentroidTree(
        starts=starts,
        ptr=ptr,
        features=features,
        weights=weights,
        leaves=leaves,
        parents=parents,
        parent_of=parent_of,
        own=own,
    )


def _read_table(what: str, content: Any, where: str, n_rows: int, head: Head, reading: Reading) -> Table:
    ptr, columns = (reading.integers(content, f"{what}_{name}", where) for name in ("ptr", "columns"))
    values = reading.floats(content, f"{what}_values")
    _check_lists(reading.need, f'"{what}_columns" of {where}', ptr, columns, n_rows, head.n_scores)
    reading.need(len(values) == len(columns), f"{where} must have as many {what} values as columns")
    are_shares = head.kind == "numbers" or ((values >= 0).all() and (values <= 1).all())
    reading.need(are_shares, f'"{what}_values" of {where} must be from 0 to 1')
    return Table(ptr, columns, values)


def _check_lists(need: Any, what: str, ptr: Any, numbers: Any, n: int, below: int) -> None:
    adds_up = len(ptr) == n + 1 and ptr[0] == 0 and ptr[-1] == len(numbers) and not (np.diff(ptr) < 0).any()
    need(adds_up, f"{what} do not add up")
    rows = np.repeat(np.arange(n), np.diff(ptr))
    rise = ((np.diff(numbers) > 0) | (np.diff(rows) > 0)).all()
    need(
        rise and (numbers >= 0).all() and (numbers < below).all(),
        f"{what} are out of range or not in increasing order",
    )


@dataclass
class _Walked:
    """A tree, and the centroids of the children of each node that was reached, laid out by feature."""

    tree: CentroidTree
    # The first child and the end of the children of each node, and the number of each leaf.
    starts: list[int]
    leaf_of: list[int]
    laid_out: dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]] = field(default_factory=dict)

    @staticmethod
    def of(tree: CentroidTree) -> _Walked:
        is_leaf = tree.starts[1:] == tree.starts[:-1]
        return _Walked(tree, tree.starts.tolist(), (np.cumsum(is_leaf) - 1).tolist())

    def products(self, node: int, features: NDArray[Any], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The products of a sample and the centroids of the children of a node."""
        first, end = self.starts[node], self.starts[node + 1]
        found = self.laid_out.get(node)
        if found is None:
            tree = self.tree
            cells = slice(tree.ptr[first], tree.ptr[end])
            listed, at = np.unique(tree.features[cells], return_inverse=True)
            weights = np.zeros((len(listed), end - first), dtype=np.float32)
            weights[at, np.repeat(np.arange(end - first), np.diff(tree.ptr[first : end + 1]))] = tree.weights[cells]
            found = self.laid_out[node] = listed, weights
        listed, weights = found
        if len(listed) == 0 or len(features) == 0:
            return np.zeros(end - first, dtype=np.float32)
        at = np.minimum(np.searchsorted(listed, features), len(listed) - 1)
        is_there = listed[at] == features
        terms = values[is_there, np.newaxis] * weights[at[is_there]]
        # In the order of the features: `accumulate` adds one after another.
        return np.add.accumulate(terms, axis=0)[-1] if len(terms) else np.zeros(end - first, dtype=np.float32)


class CentroidPredictor:
    """Prediction by the description of a centroid forest, sample by sample."""

    def __init__(self, head: Head, rules: Rules, trees: list[CentroidTree]) -> None:
        self._head, self._rules = head, rules
        self._trees = [_Walked.of(tree) for tree in trees]

    def predict_scores(self, X: Matrix) -> Float:
        """(n_samples, n_scores): the means over the trees."""
        if has_nan(X):
            raise ValueError("X must be finite, since the nearest centroid of a sample with missing values is unknown")
        # Products of large values may overflow, as in the engine.
        with np.errstate(over="ignore", invalid="ignore"):
            X = prepared(X, self._rules.idf, normalize=self._rules.normalize)
            sums = np.zeros((X.shape[0], self._head.n_scores))
            for row, scores in enumerate(sums):
                cells = slice(X.indptr[row], X.indptr[row + 1])
                is_there = X.data[cells] != 0
                sample = X.indices[cells][is_there], X.data[cells][is_there]
                for tree in self._trees:
                    self._add(tree, sample, scores)
            sums /= self._head.divisor
        return sums if self._head.kind == "numbers" else np.minimum(sums, 1.0)

    predict = predict_proba = predict_scores

    def _add(self, walked: _Walked, sample: tuple[Any, Any], scores: Float) -> None:
        level = [(0, np.float32(1))]
        tree = walked.tree
        while level:
            below = []
            for node, share in level:
                first = walked.starts[node]
                if first < walked.starts[node + 1]:
                    shares = self._shares(walked.products(node, *sample).tolist(), share)
                    below += [(first + child, part) for child, part in shares]
                    continue
                leaf = walked.leaf_of[node]
                of_leaf, factor = float(share), float(share)
                if tree.parents is not None:
                    of_leaf = factor * float(tree.own[leaf])
                _add_row(tree.leaves, leaf, of_leaf, scores)
                if tree.parents is not None:
                    of_parent = factor * (1.0 - float(tree.own[leaf]))
                    _add_row(tree.parents, int(tree.parent_of[leaf]), of_parent, scores)
            level = below

    def _shares(self, products: list[float], share: np.float32) -> list[tuple[int, np.float32]]:
        """The children that a sample is sent to, in their order, and its share of each."""
        first, best = 0, -np.inf
        for child, product in enumerate(products):
            if product > best:
                first, best = child, product
        if self._rules.sharpness == 0:
            return [(first, share)]
        second, next_best = first, -np.inf
        for child, product in enumerate(products):
            if product > next_best and child != first:
                second, next_best = child, product
        apart = self._rules.sharpness * float(np.float32(products[first]) - np.float32(next_best))
        if not apart > 0:
            return [(first, share)]
        odds = _exp(-apart)
        part = share * np.float32(odds / (1.0 + odds))
        if part < np.float32(self._rules.least) or part == 0:
            return [(first, share)]
        return sorted([(first, share - part), (second, part)])


def _add_row(table: Table, row: int, factor: float, scores: Float) -> None:
    cells = slice(table.ptr[row], table.ptr[row + 1])
    scores[table.columns[cells]] += factor * table.values[cells]


_C = exp_coefficients()


def _exp(x: float) -> float:
    """exp(x) for x up to 0, with the bits of the engine."""
    c = _C
    x = max(x, -700.0)
    shifted = x * log2(e) + ROUND
    n = shifted - ROUND
    r = (x - n * LN_2[0]) - n * LN_2[1]
    r2 = r * r
    r4 = r2 * r2
    low = (c[2] + c[3] * r) + (c[4] + c[5] * r) * r2
    high = ((c[6] + c[7] * r) + (c[8] + c[9] * r) * r2) + ((c[10] + c[11] * r) + c[12] * r2) * r4
    return ldexp(1.0 + (r + r2 * (low + high * r4)), int(n))
