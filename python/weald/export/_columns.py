"""Conversion of trees with many values per leaf to trees with one value per leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.export._ensemble import EnsembleTree


def by_column(tree: EnsembleTree) -> Iterator[EnsembleTree]:
    """One tree for each column with a value in some leaf, with only the branches that lead to such leaves.

    Other branches end in leaves of value zero. Trees with one column and trees with factors are returned unchanged. The
    total time and number of nodes are O(stored values · depth), and if every leaf has a value in every column at most
    twice the number of stored values.
    """
    if tree.column is not None or tree.factors is not None:
        yield tree
        return
    if len(tree.values) == 0:
        return
    n = len(tree.feature)
    parent = np.full(n, -1)
    splits = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[splits]] = splits
    parent[tree.right[splits]] = splits
    node_of_cell = np.repeat(np.arange(n), np.diff(tree.ptr))
    order = np.argsort(tree.columns, kind="stable")
    columns, firsts = np.unique(tree.columns[order], return_index=True)
    is_kept = np.zeros(n, dtype=bool)
    place = np.full(n, -1)
    for column, cells in zip(columns.tolist(), np.split(order, firsts[1:]), strict=True):
        leaves = node_of_cell[cells]
        kept = _with_ancestors(leaves, parent, is_kept)
        place[kept] = np.arange(len(kept))
        yield _pruned(tree, kept, place, column, dict(zip(place[leaves].tolist(), tree.values[cells], strict=True)))
        is_kept[kept] = False
        place[kept] = -1


def _with_ancestors(leaves: NDArray[np.intp], parent: NDArray[np.intp], is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The nodes on the paths to leaves, in ascending order. They are also marked."""
    levels = []
    level = leaves
    while len(level):
        is_kept[level] = True
        levels.append(level)
        level = np.unique(parent[level])
        level = level[level >= 0]
        level = level[~is_kept[level]]
    return np.sort(np.concatenate(levels))


def _pruned(
    tree: EnsembleTree, kept: NDArray[np.intp], place: NDArray[np.intp], column: int, values: dict[int, float]
) -> EnsembleTree:
    """The tree of these nodes, in which leaves of value zero replace the other children."""
    feature = tree.feature[kept]
    left, right = tree.left[kept].copy(), tree.right[kept].copy()
    n = len(kept)
    for children in (left, right):
        splits = np.flatnonzero(feature >= 0)
        found = place[children[splits]]
        absent = np.flatnonzero(found < 0)
        found[absent] = n + np.arange(len(absent))
        children[splits] = found
        n += len(absent)
    more = n - len(kept)
    nodes = sorted(values)
    counts = np.zeros(n, dtype=np.int64)
    counts[nodes] = 1
    return replace(
        tree,
        feature=np.append(feature, np.full(more, -1, dtype=np.int32)),
        threshold=np.append(tree.threshold[kept], np.zeros(more, dtype=np.float32)),
        left=np.append(left, np.full(more, -1, dtype=np.int32)),
        right=np.append(right, np.full(more, -1, dtype=np.int32)),
        missing_left=np.append(tree.missing_left[kept], np.zeros(more, dtype=bool)),
        categories={int(place[node]): codes for node, codes in tree.categories.items() if place[node] >= 0},
        ptr=np.append(0, np.cumsum(counts)),
        columns=np.zeros(len(nodes), dtype=np.int64),
        values=np.array([values[node] for node in nodes]),
        column=column,
    )
