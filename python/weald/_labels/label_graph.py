"""Directed acyclic graphs of labels, and scores that respect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from weald._input import checks
from weald._input.checks import Float, Matrix
from weald._input.messages import cut
from weald._input.sparse import is_sparse
from weald._ranking import ranks
from weald._ranking.ranks import BLOCK_SCORES

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


def still_unknown(
    positive: sparse.csr_array, mask: sparse.csr_array, parents: sparse.csr_array, depth: Index
) -> sparse.csr_array:
    """The unknown entries that have no ancestor that is known to be 0, where `positive` are the entries that are 1.

    Entries of `mask` that are in `positive` are known. All matrices are in canonical form.
    """
    row, label = ranks.rows_of(mask), mask.indices.astype(np.int64)
    unknown = ~ranks.are_entries_in(mask, positive)
    level = depth[label]
    for at_level in np.unique(level):
        cells = np.flatnonzero(unknown & (level == at_level))
        n_parents = np.diff(parents.indptr)[label[cells]]
        above = np.repeat(row[cells], n_parents), rows_joined(parents, label[cells])
        place, is_masked = ranks.places_in(mask, *above)
        is_zero = ~(is_masked & unknown[place]) & ~ranks.places_in(positive, *above)[1]
        of_cell = np.repeat(np.arange(len(cells)), n_parents)
        unknown[cells[np.unique(of_cell[is_zero])]] = False
    rows = row[unknown]
    found = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, label[unknown])), shape=mask.shape)
    found.sort_indices()
    return found


# Indices of sparse matrices have 32 bits.
MOST_LABELS = 2**31 - 1
_EDGES = (
    "a sparse matrix (n_labels, n_labels) with an entry for each child and parent, a list of pairs (child, parent), or a "
    "dict from children to parents"
)


def edges_of(edges: Any, n_labels: int | None, names: NDArray[np.object_] | None) -> tuple[Index, Index, int]:
    """Children, parents, and the number of labels."""
    if is_sparse(edges):
        return _of_matrix(edges, n_labels)
    pairs = list(_pairs_of(edges))
    ends = [end for pair in pairs for end in pair]
    # The keys of a dict are labels, also those without parents.
    given = [*ends, *edges] if isinstance(edges, Mapping) else ends
    if given and all(isinstance(end, str) for end in given):
        if names is None:
            raise TypeError("label_names must be the names of the columns of the labels if edges have names, got None")
        place = {name: j for j, name in enumerate(names.tolist())}
        if unknown := sorted({str(end) for end in given} - place.keys()):
            more = ", …" if len(unknown) > 5 else ""
            shown = ", ".join(cut(repr(name)) for name in unknown[:5])
            raise ValueError(f"edges must have labels of label_names, got {len(unknown)} others: {shown}{more}")
        found = np.array([place[end] for end in ends], dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1], len(names)
    for end in given:
        if not checks.is_integer(end):
            raise TypeError(f"edges must have indices of labels, or names of all labels, got {checks.shown(end)}")
    indices = [int(end) for end in given]
    if n_labels is None:
        if not indices:
            raise ValueError("n_labels or label_names must be given if there are no edges, got None")
        n_labels = min(max(indices) + 1, MOST_LABELS)
    for label in indices:
        if not 0 <= label < n_labels:
            accepted = f"edges must have labels from 0 to {n_labels - 1}, as there are n_labels={n_labels}"
            raise ValueError(f"{accepted}, got {checks.shown(label)}")
    found = np.array(indices[: len(ends)], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1], n_labels


def _of_matrix(edges: Matrix, n_labels: int | None) -> tuple[Index, Index, int]:
    if edges.ndim != 2 or edges.shape[0] != edges.shape[1] or not edges.shape[0]:
        raise ValueError(f"edges must be {_EDGES}, got a sparse matrix of shape {edges.shape}")
    if n_labels not in (None, edges.shape[0]):
        raise ValueError(f"edges must have {n_labels} rows, the number of labels, got {edges.shape[0]}")
    stored = checks.canonical(edges, "edges").tocoo()
    if stored.data.dtype.kind not in "biuf" or (stored.data.dtype.kind == "f" and np.isnan(stored.data).any()):
        raise ValueError("edges must have bools or numbers as entries, got others")
    there = stored.data != 0
    return stored.row[there].astype(np.int64), stored.col[there].astype(np.int64), edges.shape[0]


def _pairs_of(edges: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(edges, Mapping):
        for child, parents in edges.items():
            if parents is None:
                continue
            is_list = isinstance(parents, list | tuple | set | frozenset | np.ndarray)
            for parent in parents if is_list else (parents,):
                yield child, parent
        return
    if isinstance(edges, np.ndarray):
        edges = edges.tolist()
    if isinstance(edges, str | bytes) or not hasattr(edges, "__iter__"):
        _raise_for_form(edges)
    for pair in edges:
        is_pair = isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2
        if not is_pair:
            _raise_for_form(pair, " with an item ")
        yield pair[0], pair[1]


def _raise_for_form(got: object, where: str = " ") -> NoReturn:
    raise TypeError(f"edges must be {_EDGES}, got something else{where if where != ' ' else ': '}{checks.shown(got)}")


# Integer weights of a set add up to less than this power of two.
_BITS = 28
_MOST = 2**30
# Rounds of flow: the second begins where rounding of the first one ends.
_N_ROUNDS = 3
# A part whose sum is above that of its mean by a smaller fraction of the sum of all absolute values is due to rounding.
_TINY = 1e-14


def isotonic(
    scores: NDArray[Any],
    largest: NDArray[Any],
    smallest: NDArray[Any],
    parents: sparse.csr_array,
    raised: Callable[[NDArray[Any]], NDArray[Any]],
) -> NDArray[Any]:
    """The nearest consistent scores, for scores of shape (n_labels, n_samples).

    `largest` are the largest scores of descendants, and `smallest` the smallest ones of ancestors, including those of
    the label itself. The result lies between them, so that labels for which they are equal keep their score, and need
    not be compared with others. `raised` removes rises that rounding leaves.
    """
    free = largest > smallest
    if not free.any():
        return scores
    n_free = np.cumsum(free.T.ravel()).reshape(free.T.shape).T - 1
    children, above = parents.nonzero()
    bound = free[children] & free[above] & (largest[children] > smallest[above])
    edge, sample = np.nonzero(bound)
    child, parent = n_free[children[edge], sample], n_free[above[edge], sample]
    order = np.lexsort((parent, child))
    values = scores.T[free.T].astype(np.float64)
    found = scores.astype(np.float64)
    found.T[free.T] = _pooled(values, child[order], parent[order])
    return raised(found).astype(scores.dtype, copy=False)


def _pooled(values: Float, child: Index, parent: Index) -> Float:
    """The regression for nodes with values, where the value of no child may be above that of its parent."""
    n = len(values)
    found = values.copy()
    _, block = connected_components(_links(child, parent, n), directed=False)
    active = np.arange(n)
    while True:
        means, sizes = _means(values[active], block)
        found[active] = means[block]
        excess = values[active] - means[block]
        noise = _TINY * np.bincount(block, np.abs(values[active]), minlength=len(sizes))
        is_above = _best_parts(excess, noise, block, sizes, child, parent)
        n_above = np.bincount(block, is_above, minlength=len(sizes))
        divided = (n_above > 0) & (n_above < sizes)
        kept = divided[block]
        if not kept.any():
            return found
        # What is divided goes on: without edges between two parts, and each connected part by itself.
        place = np.cumsum(kept) - 1
        same = kept[child] & (is_above[child] == is_above[parent])
        child, parent = place[child[same]], place[parent[same]]
        active = active[kept]
        _, block = connected_components(_links(child, parent, len(active)), directed=False)


def _links(child: Index, parent: Index, n: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(child), dtype=np.int8), (child, parent)), shape=(n, n))


def _means(values: Float, block: NDArray[Any]) -> tuple[Float, Index]:
    sizes = np.bincount(block)
    return np.bincount(block, values) / sizes, sizes


def _best_parts(
    excess: Float, noise: NDArray[Any], block: NDArray[Any], sizes: Index, child: Index, parent: Index
) -> NDArray[np.bool_]:
    """Whether each node is in the closure of largest sum of its set; of no node, if no sum is above the `noise`."""
    n = len(excess)
    source, sink = n, n + 1
    total = np.bincount(block, np.abs(excess), minlength=len(sizes))
    # Sets of one node, and of equal values, cannot be divided.
    excess = np.where((total > noise)[block], excess, 0.0)
    gains, losses = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    if not len(gains):
        return np.zeros(n, dtype=np.bool_)
    # A flow from a child to its parent has no limit: a closure with the child holds the parent.
    tails = np.concatenate([np.full(len(gains), source), losses, child])
    heads = np.concatenate([gains, np.full(len(losses), sink), parent])
    limits = np.concatenate([excess[gains], -excess[losses], np.full(len(child), np.inf)])
    graph, capacity, of_block = _both_ways(tails, heads, limits, block, n + 2)
    # The power of two of each set: at first its sum has `_BITS` bits, then what n nodes have left has as many.
    power = _BITS - np.frexp(np.maximum(total, np.finfo(np.float64).tiny))[1]
    step = np.maximum(1, _BITS - np.frexp(sizes.astype(np.float64))[1])
    for _ in range(_N_ROUNDS):
        scaled = np.ldexp(capacity, power[of_block])
        graph.data = np.minimum(scaled, _MOST).astype(np.int32)
        flow = maximum_flow(graph, source, sink).flow
        sent = np.ldexp(flow.data.astype(np.float64), -power[of_block])
        capacity = np.maximum(capacity - sent, 0.0)
        left = graph.data.astype(np.int64) - flow.data
        power = power + step
    residual = sparse.csr_array(((left > 0).astype(np.int8), graph.indices, graph.indptr), shape=graph.shape)
    residual.eliminate_zeros()
    reached = np.zeros(n + 2, dtype=np.bool_)
    reached[breadth_first_order(residual, source, return_predecessors=False)] = True
    part = reached[:n]
    gained = np.bincount(block, np.where(part, excess, 0.0), minlength=len(sizes))
    found: NDArray[np.bool_] = part & (gained > noise)[block]
    return found


def _both_ways(
    tails: Index, heads: Index, limits: Float, block: NDArray[Any], n: int
) -> tuple[sparse.csr_array, Float, Index]:
    """The graph with each edge and its reverse, their capacities, and the set of each."""
    rows, columns = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    capacity = np.concatenate([limits, np.zeros(len(limits))])
    order = np.lexsort((columns, rows))
    rows, columns, capacity = rows[order], columns[order], capacity[order]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int32)
    graph = sparse.csr_array((np.zeros(len(rows), dtype=np.int32), columns.astype(np.int32), ptr), shape=(n, n))
    # The source and the sink are in all sets: the set is that of the other end.
    inner = np.where(rows < len(block), rows, columns)
    return graph, capacity, block[inner]


CONSISTENT = ("max", "min", "isotonic")


def largest_below(scores: NDArray[Any], parents: sparse.csr_array, order: Index) -> NDArray[Any]:
    """The largest score of each label and its descendants, for scores of shape (n_labels, n_samples)."""
    found = scores.copy()
    for child in order[::-1]:
        for parent in parents.indices[parents.indptr[child] : parents.indptr[child + 1]]:
            np.maximum(found[parent], found[child], out=found[parent])
    return found


def smallest_above(scores: NDArray[Any], parents: sparse.csr_array, order: Index) -> NDArray[Any]:
    """The smallest score of each label and its ancestors, for scores of shape (n_labels, n_samples)."""
    found = scores.copy()
    for child in order:
        for parent in parents.indices[parents.indptr[child] : parents.indptr[child + 1]]:
            np.minimum(found[child], found[parent], out=found[child])
    return found


_OF_METHODS: dict[str, Callable[[NDArray[Any], sparse.csr_array, Index], NDArray[Any]]] = {
    "max": largest_below,
    "min": smallest_above,
    "isotonic": lambda scores, parents, order: isotonic(
        scores,
        largest_below(scores, parents, order),
        smallest_above(scores, parents, order),
        parents,
        lambda found: largest_below(found, parents, order),
    ),
}


def consistent(
    scores: Matrix, parents: sparse.csr_array, ancestors: sparse.csr_array, depth: Index, method: str
) -> Matrix:
    """Finite or infinite scores, dense or CSR in canonical form, made consistent. The result has the dtype of the scores."""
    make = _OF_METHODS[method]
    order = by_depth(depth)
    n, d = scores.shape
    # The graph of isotonic regression has several edges for each score.
    size = max(1, BLOCK_SCORES // max(1, d) // (8 if method == "isotonic" else 1))
    if not is_sparse(scores):
        found = np.empty((n, d), dtype=scores.dtype)
        for start in range(0, n, size):
            rows = slice(start, start + size)
            found[rows] = make(np.ascontiguousarray(scores[rows].T), parents, order).T
        return found
    parts = [_of_stored(scores[start : start + size], parents, ancestors, depth, make) for start in range(0, n, size)]
    if len(parts) == 1:
        return parts[0]
    stacked = sparse.vstack(parts, format="csr") if parts else scores
    return sparse.csr_array(stacked)


def by_depth(depth: Index) -> Index:
    """The labels with parents before children: by depth, and at the same depth by index."""
    found: Index = np.argsort(depth, kind="stable")
    return found


def _of_stored(
    scores: sparse.csr_array, parents: sparse.csr_array, ancestors: sparse.csr_array, depth: Index, make: Any
) -> sparse.csr_array:
    """The same for a block of CSR, of which only labels with stored scores and their ancestors become dense.

    All other labels have score 0 in all samples. If no score is negative, they keep it, and do not change any other.
    """
    n, d = scores.shape
    labels = np.arange(d)
    if not (scores.data < 0).any():
        stored = np.unique(scores.indices)
        labels = np.union1d(stored, ancestors[stored].indices).astype(np.int64)
    place = np.zeros(d, dtype=np.int64)
    place[labels] = np.arange(len(labels))
    of_labels = sparse.coo_array(parents[labels])
    # Ancestors of these labels are among them.
    own = matrix_of(of_labels.row, place[of_labels.col], len(labels))
    dense: Float = np.zeros((len(labels), n), dtype=scores.dtype)
    dense[place[scores.indices], np.repeat(np.arange(n), np.diff(scores.indptr))] = scores.data
    found = sparse.csr_array(make(dense, own, by_depth(depth[labels])).T)
    return sparse.csr_array((found.data, labels[found.indices], found.indptr), shape=(n, d))


def count_rises(scores: Matrix, parents: sparse.csr_array) -> int:
    """The number of samples and edges at which the score of the child is larger than that of the parent."""
    edges = sparse.coo_array(parents)
    n, d = scores.shape
    size, found = max(1, BLOCK_SCORES // max(1, d + len(edges.row))), 0
    for start in range(0, n, size):
        some = scores[start : start + size]
        if is_sparse(some):
            some = some.toarray()
        found += int(np.count_nonzero(some[:, edges.row] > some[:, edges.col]))
    return found
