"""The leaves of centroid forests, read from the tensors of their files, which the documentation of the crate lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald import _weald
from weald._input.checks import Float

_DTYPES = {"U8": "<u1", "U16": "<u2", "U32": "<u4", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
# Bits of `leaf_layout`.
_SPARSE, _COUNTS, _ROWS = 1, 2, 4
_OF_WIDTH = 8 | 16 | 64  # float32, float16, and classes that were left out


@dataclass(frozen=True)
class Table:
    """The values of some nodes: row i has the values of `columns[ptr[i]:ptr[i + 1]]`, which are in ascending order."""

    ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Float


@dataclass(frozen=True)
class Rules:
    """How a centroid forest treats samples and leaves."""

    normalize: bool
    # How fast the share of the nearest child grows with the difference of products, and the smallest share of a second
    # child; zeros if only the nearest child counts.
    sharpness: float
    least: float
    # The number of samples like those of its parent that are added to each leaf.
    leaf_shrinkage: float
    idf: NDArray[np.float32] | None


class CentroidTables:
    """The tensors of a forest, read tree by tree in their order."""

    def __init__(self, forest: _weald.CentroidForest) -> None:
        data = forest.to_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        self._forest = forest
        self._tensors: dict[str, NDArray[Any]] = {}
        for name, about in json.loads(data[8:start]).items():
            if name != "__metadata__":
                first, end = (start + at for at in about["data_offsets"])
                self._tensors[name] = np.frombuffer(data[first:end], dtype=_DTYPES[about["dtype"]])
        self._at: dict[str, int] = {}
        self._sets = self._read_sets()
        # The samples of leaves have units, of which the last one is marked.
        if "row_ends" in self._tensors:
            ends = np.flatnonzero(np.unpackbits(self._tensors["row_ends"], bitorder="little"))
            self._tensors["row_units"] = np.diff(ends, prepend=-1)
        normalize, sharpness, least, leaf_shrinkage = self._tensors["centroid_rules"].tolist()
        self.rules = Rules(bool(normalize), sharpness, least, leaf_shrinkage, self._tensors.get("idf"))

    def trees(self) -> Iterator[tuple[_weald.CentroidTree, Table, Table | None]]:
        """Each tree, the table of its leaves, and that of the parents of leaves if leaves are shrunk towards them."""
        for index in range(self._forest.n_trees):
            tree = self._forest.tree(index)
            weights, n_samples = tree.weighted_n_node_samples(), tree.n_node_samples()
            leaves, parents = leaves_and_parents(tree.children_start())
            of_leaves = self._table(weights[leaves], n_samples[leaves])
            has_parents = self.rules.leaf_shrinkage > 0 and tree.node_count > 1
            yield tree, of_leaves, self._table(weights[parents], n_samples[parents]) if has_parents else None

    def _next(self, name: str, n: int) -> NDArray[Any]:
        at = self._at.get(name, 0)
        self._at[name] = at + n
        found = self._tensors[name][at : at + n]
        assert len(found) == n
        return found

    def _next_packed(self, name: str, n: int, below: int) -> NDArray[np.int64]:
        """The next numbers of the few bits that those below `below` need."""
        width = max(1, (below - 1).bit_length())
        at = self._at.get(name, 0)
        self._at[name] = end = at + n * width
        bits = np.unpackbits(self._tensors[name][at // 8 : -(-end // 8)], bitorder="little")
        numbers = bits[at % 8 : at % 8 + n * width].reshape(n, width)
        found: NDArray[np.int64] = numbers @ (1 << np.arange(width, dtype=np.int64))
        return found

    def _read_sets(self) -> list[sparse.csr_array]:
        """The columns of each stored sample of each set."""
        sets = []
        for n in self._tensors.get("set_rows", np.zeros(0)).tolist():
            ptr = _offsets(self._next("set_sizes", n))
            columns = self._next_packed("set_slots", int(ptr[-1]), self._forest.width)
            sets.append(sparse.csr_array((np.ones(len(columns)), columns, ptr), shape=(n, self._forest.width)))
        return sets

    def _table(self, weights: Float, n_samples: NDArray[Any]) -> Table:
        layout, width = int(self._next("leaf_layout", 1)[0]), self._forest.width
        if layout & _SPARSE and layout & _ROWS:
            return self._of_records(len(weights))
        if layout & _ROWS:
            return self._of_rows(n_samples)
        # Centroid forests have no leaves with scales.
        assert layout & ~(_SPARSE | _COUNTS | _OF_WIDTH) == 0
        totals: Any = np.ones(len(weights))
        if layout & _COUNTS:
            totals = self._next("leaf_totals", len(weights)) if "leaf_totals" in self._tensors else weights
        if layout & _SPARSE:
            ptr = _offsets(self._next("leaf_sizes", len(weights)))
            columns = self._next("leaf_columns", int(ptr[-1])).astype(np.int64)
        else:
            ptr = np.arange(len(weights) + 1) * width
            columns = np.tile(np.arange(width), len(weights))
        amounts = self._next("leaf_amounts", int(ptr[-1])).astype(np.float64)
        values = amounts / np.repeat(totals, np.diff(ptr))
        is_there = values != 0
        ptr = np.append(0, np.cumsum(is_there))[ptr]
        return Table(ptr, columns[is_there], values[is_there])

    def _of_records(self, n_leaves: int) -> Table:
        """Leaves that share values: each record has those that differ from the ones of the next record above."""
        n_records = n_leaves + int(self._next("leaf_records", 1)[0])
        above = self._next("leaf_above", n_records).astype(np.int64)
        ptr = _offsets(self._next("leaf_sizes", n_records))
        columns = self._next("leaf_columns", int(ptr[-1])).astype(np.int64)
        amounts = self._next("leaf_amounts", int(ptr[-1])).astype(np.float64)
        of_leaves = []
        for leaf in range(n_leaves):
            record, cells = leaf, [np.arange(ptr[leaf], ptr[leaf + 1])]
            while above[record]:
                record = n_leaves + int(above[record]) - 1
                cells.append(np.arange(ptr[record], ptr[record + 1]))
            listed = np.concatenate(cells)
            # The first of equal columns is that of the nearest record.
            listed = listed[np.unique(columns[listed], return_index=True)[1]]
            of_leaves.append(listed[amounts[listed] != 0])
        listed = np.concatenate(of_leaves)
        return Table(_offsets(np.array([len(own) for own in of_leaves])), columns[listed], amounts[listed])

    def _of_rows(self, n_samples: NDArray[Any]) -> Table:
        """Leaves that refer to stored samples: the share of the samples with each label."""
        ptr = _offsets(n_samples)
        stored = self._sets[int(self._next("row_set", 1)[0]) if "row_set" in self._tensors else 0]
        n_rows = max(rows.shape[0] for rows in self._sets)
        ids = self._next_packed("row_ids", int(ptr[-1]), n_rows)
        units = self._next("row_units", len(ids)) if "row_units" in self._tensors else np.ones(len(ids))
        of_leaves = sparse.csr_array((units.astype(np.float64), ids, ptr), shape=(len(n_samples), stored.shape[0]))
        # Sums of whole numbers, which are exact.
        sums = sparse.csr_array(of_leaves @ stored)
        sums.sort_indices()
        values = sums.data / np.repeat(of_leaves.sum(axis=1), np.diff(sums.indptr))
        return Table(sums.indptr.astype(np.int64), sums.indices.astype(np.int64), values)


def leaves_and_parents(starts: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The nodes that are leaves, and those with a leaf among their children; children of node i are from starts[i] on."""
    is_leaf = starts[1:] == starts[:-1]
    n_leaves = np.append(0, np.cumsum(is_leaf))
    # The children of the last nodes end with the nodes.
    has_leaf = n_leaves[starts[1:]] > n_leaves[starts[:-1]]
    return np.flatnonzero(is_leaf), np.flatnonzero(has_leaf)


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(sizes, dtype=np.int64))
