"""Scores of labels that never rise from a parent to a child, in blocks of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float, Matrix
from weald._input.sparse import is_sparse
from weald._labels.isotonic import isotonic
from weald._labels.label_graph import Index, matrix_of
from weald._ranking.ranks import BLOCK_SCORES

METHODS = ("max", "min", "isotonic")


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
