"""Isotonic regression on a directed acyclic graph of labels, for many samples at once.

For each sample, the scores x that are nearest to given scores s, in the sum of squares, among those that never rise from
a parent to a child. A set of labels is pooled: its labels have their mean. The set is right if no part of it that holds
the parents (within the set) of all its labels has a larger mean. The part of largest sum of s minus the mean is a closure
of maximum weight, which is a minimum cut (Picard 1976); the set is divided into this part and the rest, until no
set can be divided (Maxwell and Muckstadt 1985; Spouge, Wan and Wilbur 2003).

Minimum cuts of all sets of all samples are found together, by one maximum flow through a graph with one source and one
sink. scipy's maximum flow takes integers of 32 bits: weights are multiplied by a power of two, and what rounding has left
in the residual graph is sent in further rounds at a larger power, down to the rounding of float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from weald._input.checks import Float
from weald._labels.label_graph import Index

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
