"""Directed acyclic graphs of labels as sparse matrices: their proof, levels and closure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from weald._input.checks import Float

Index = NDArray[np.int64]

# Labels of a circle that a message names.
_MOST_NAMED = 8


def matrix_of(rows: ArrayLike, columns: ArrayLike, n: int) -> sparse.csr_array:
    """The pattern (n, n) with these entries, each once, in canonical form."""
    rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    found = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=(n, n))
    found.sum_duplicates()
    found.sort_indices()
    return found


def levels(parents: sparse.csr_array, name: Callable[[int], str]) -> Index:
    """The number of edges on the longest path from a root to each label.

    Raises a ValueError that names the labels of a circle, if there is one.
    """
    n = parents.shape[0]
    children = sparse.csr_array(parents.T)
    missing = np.diff(parents.indptr).astype(np.int64)
    depth = np.zeros(n, dtype=np.int64)
    found, now, level = 0, np.flatnonzero(missing == 0), 0
    while len(now):
        depth[now], found, level = level, found + len(now), level + 1
        reached, counts = np.unique(rows_joined(children, now), return_counts=True)
        missing[reached] -= counts
        now = reached[missing[reached] == 0]
    if found < n:
        _raise_for_circle(parents, missing, name)
    return depth


def rows_joined(matrix: sparse.csr_array, rows: Index) -> Index:
    """The column indices of these rows, one after the other."""
    lengths = np.diff(matrix.indptr)[rows]
    starts = np.repeat(matrix.indptr[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    found: Index = matrix.indices[starts + np.arange(len(starts))].astype(np.int64)
    return found


def _raise_for_circle(parents: sparse.csr_array, missing: Index, name: Callable[[int], str]) -> None:
    # Each label that is left has a parent that is left, so that a walk from parent to parent comes back.
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = int(np.flatnonzero(missing)[0])
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        above = parents.indices[parents.indptr[at] : parents.indptr[at + 1]]
        at = int(above[missing[above] > 0][0])
    circle = walk[seen[at] :]
    if len(circle) == 1:
        raise ValueError(f"edges must have no circle, got the label {name(circle[0])} as a parent of itself")
    shown = [name(label) for label in circle[:_MOST_NAMED]]
    more = [] if len(circle) <= _MOST_NAMED else [f"{len(circle) - _MOST_NAMED} more labels"]
    path = ", whose parent is ".join([*shown, *more, name(circle[0])])
    raise ValueError(f"edges must have no circle of labels, got one: {path}")


def closed_relation(parents: sparse.csr_array) -> sparse.csr_array:
    """All ancestors of each label, from its parents. The memory is that of the result."""
    found = parents
    while True:
        # Paths of up to twice the length.
        more = sparse.csr_array(found + found @ found).astype(np.bool_)
        if more.nnz == found.nnz:
            more.sort_indices()
            return more
        found = more


def reduced_relation(relation: sparse.csr_array) -> sparse.csr_array:
    """The direct parents in a transitive relation without circles: ancestors that are no ancestors of ancestors."""
    indirect = sparse.csr_array(relation @ relation).astype(np.bool_)
    found = sparse.csr_array(relation > indirect)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def implied(labels: sparse.csr_array, weights: Float, least: float) -> sparse.csr_array:
    """The relation "each sample that has the row's label has the column's label", without circles.

    Rows are the labels that samples of a total weight of at least `least` have. Of two labels of the same samples, the
    first one is above the other one.
    """
    present = weights > 0
    labels, weights = labels[present], weights[present]
    n, d = labels.shape
    by_label = sparse.csr_array((np.ones(labels.nnz), labels.indices, labels.indptr), shape=(n, d)).T.tocsr()
    pattern = sparse.csr_array((np.ones(labels.nnz), labels.indices, labels.indptr), shape=(n, d))
    n_samples = np.diff(by_label.indptr)
    total = np.bincount(labels.indices, np.repeat(weights, np.diff(labels.indptr)), minlength=d)
    asked = np.flatnonzero((total >= least) & (n_samples > 0))
    rows, columns = [], []
    # Rows of the matrix of joint counts, about 2**22 values at a time.
    size = max(1, (1 << 22) // max(1, d))
    for start in range(0, len(asked), size):
        some = asked[start : start + size]
        joint = sparse.coo_array(by_label[some] @ pattern)
        child, parent = some[joint.row], joint.col
        always = joint.data == n_samples[child]
        above = (n_samples[parent] > n_samples[child]) | ((n_samples[parent] == n_samples[child]) & (parent < child))
        rows.append(child[always & above])
        columns.append(parent[always & above])
    if not rows:
        return matrix_of([], [], d)
    return matrix_of(np.concatenate(rows), np.concatenate(columns), d)


def keys_of(matrix: sparse.csr_array) -> Index:
    """The positions of stored entries in row-major order, which are ascending in canonical form."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found: Index = rows.astype(np.int64) * matrix.shape[1] + matrix.indices
    return found


def are_among(asked: Index, keys: Index) -> tuple[Index, NDArray[np.bool_]]:
    """The places of keys among ascending ones, and whether they exist."""
    if not len(keys):
        return np.zeros(asked.shape, dtype=np.int64), np.zeros(asked.shape, dtype=np.bool_)
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return at, keys[at] == asked


def still_unknown(
    positive: sparse.csr_array, mask: sparse.csr_array, parents: sparse.csr_array, depth: Index
) -> sparse.csr_array:
    """The unknown entries that have no ancestor that is known to be 0, where `positive` are the entries that are 1.

    Entries of `mask` that are in `positive` are known. All matrices are in canonical form.
    """
    d = mask.shape[1]
    keys, ones = keys_of(mask), keys_of(positive)
    unknown = ~are_among(keys, ones)[1]
    row, label = np.divmod(keys, d)
    level = depth[label]
    for at_level in np.unique(level):
        cells = np.flatnonzero(unknown & (level == at_level))
        n_parents = np.diff(parents.indptr)[label[cells]]
        above = np.repeat(row[cells], n_parents) * d + rows_joined(parents, label[cells])
        place, is_masked = are_among(above, keys)
        is_unknown = is_masked.copy()
        if len(keys):
            is_unknown &= unknown[place]
        is_zero = ~is_unknown & ~are_among(above, ones)[1]
        of_cell = np.repeat(np.arange(len(cells)), n_parents)
        unknown[cells[np.unique(of_cell[is_zero])]] = False
    rows = row[unknown]
    found = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, label[unknown])), shape=mask.shape)
    found.sort_indices()
    return found
