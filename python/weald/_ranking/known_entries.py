"""The known entries of a label matrix and their scores, label by label, in memory proportional to the stored ones.

Entries that are listed are those that are true or have a score other than zero. All others are known zeros with the
score zero, of which only the weight for each label is kept. Sums of weights are exact, so that nothing depends on the
order of the samples, or on whether matrices are dense or sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._ranking import ranks
from weald._ranking.best import BLOCK_SCORES

Index = NDArray[np.int64]

# Bits of the lower part of a weight. The upper one has as many, so that sums of 2**27 parts are exact in float64.
_LOW_BITS = 26


class Weights:
    """Sample weights as whole numbers of a unit of 2**-52 of the largest one.

    Each weight is `high` * 2**26 + `low`, and sums are those of the parts, which are exact for up to 2**27 entries. Weights
    below the unit count as one unit.
    """

    def __init__(self, weights: Float | None, n: int, largest: float | None = None) -> None:
        self.n = n
        self.parts: list[Float] | None = None
        if weights is not None:
            largest = weights.max(initial=0.0) if largest is None else largest
            units = np.maximum(np.rint(np.ldexp(weights, 2 * _LOW_BITS - np.frexp(largest)[1])), 1.0)
            high = np.floor(np.ldexp(units, -_LOW_BITS))
            self.parts = [high, units - np.ldexp(high, _LOW_BITS)]

    def sums(self, groups: Index, rows: Index, n_groups: int) -> Float:
        """The parts of the sums over entries: `groups` and `rows` have the group and the sample of each entry."""
        of_parts = [None] if self.parts is None else [part[rows] for part in self.parts]
        # The counts of no entries are integers, with weights too.
        return np.stack([np.bincount(groups, part, minlength=n_groups).astype(np.float64) for part in of_parts])

    def all(self) -> Float:
        """The parts of the sum of all weights, as a column."""
        whole = [self.n] if self.parts is None else [part.sum() for part in self.parts]
        return np.array(whole, dtype=np.float64)[:, None]

    @staticmethod
    def values(sums: Float) -> Float:
        """The values of sums, rounded once."""
        if len(sums) == 1:
            return np.asarray(sums[0])
        high, low = sums
        carried = np.floor(np.ldexp(low, -_LOW_BITS))
        return np.asarray(np.ldexp(high + carried, _LOW_BITS) + (low - np.ldexp(carried, _LOW_BITS)))


@dataclass(frozen=True)
class Known:
    """The known entries of some labels, by group: a label, or all labels together."""

    n_groups: int
    weights: Weights
    # The group, the sample, the score and the truth of each entry that is listed.
    group: Index
    row: Index
    score: Float
    is_true: NDArray[np.bool_]
    # The parts of the weights of each group: of all known entries, and of those that are not listed.
    whole: Float
    rest: Float

    def of_true(self) -> Float:
        """The weight of the true entries of each group."""
        true = self.is_true
        return self.weights.values(self.weights.sums(self.group[true], self.row[true], self.n_groups))

    def of_all(self) -> Float:
        """The weight of the known entries of each group."""
        return self.weights.values(self.whole)


def known(
    scores: sparse.csr_array,
    labels: sparse.csr_array,
    mask: sparse.csr_array | None,
    weights: Weights,
    *,
    together: bool,
) -> Known:
    """The known entries of matrices of the same shape in canonical form, by label or with all labels `together`."""
    d = labels.shape[1]
    whole = np.repeat(weights.all(), d, axis=1)
    if mask is not None:
        scores = ranks.without(scores, mask)
        whole = whole - weights.sums(mask.indices.astype(np.int64), ranks.rows_of(mask), d)
    rows, columns = ranks.rows_of(scores), scores.indices.astype(np.int64)
    is_true = ranks.places_in(labels, rows, columns)[1]
    there = is_true | (scores.data != 0)
    of_true, label_of_true = ranks.rows_of(labels), labels.indices.astype(np.int64)
    more = ~ranks.places_in(scores, of_true, label_of_true)[1]
    rows = np.concatenate([rows[there], of_true[more]])
    columns = np.concatenate([columns[there], label_of_true[more]])
    # Zeros have one sign.
    score = np.concatenate([scores.data[there].astype(np.float64) + 0.0, np.zeros(np.count_nonzero(more))])
    is_true = np.concatenate([is_true[there], np.ones(np.count_nonzero(more), dtype=np.bool_)])
    n_groups = 1 if together else d
    if together:
        columns, whole = np.zeros_like(columns), whole.sum(axis=1, keepdims=True)
    rest = whole - weights.sums(columns, rows, n_groups)
    return Known(n_groups, weights, columns, rows, score, is_true, whole, rest)


def graded(scores: Any, labels: sparse.csr_array, weights: Float, *, together: bool) -> Iterator[Known]:
    """The known entries of each label, or of all together, where each entry has a weight of its own, (samples, labels)."""
    scores, truth = scores.toarray() if is_sparse(scores) else scores, labels.toarray()
    if together:
        scores, truth, weights = (cells.reshape(-1, 1) for cells in (scores, truth, weights))
    # Sums of all labels have one unit.
    largest = weights.max(initial=0.0)
    for j in range(truth.shape[1]):
        there = np.flatnonzero(weights[:, j] > 0)
        own = Weights(weights[there, j], len(there), largest)
        yield known(_csr(scores[there, j : j + 1]), _csr(truth[there, j : j + 1]), None, own, together=False)


def blocks(
    scores: Any, labels: sparse.csr_array, mask: sparse.csr_array | None, *, together: bool
) -> Iterator[tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array | None]]:
    """Scores, labels and the mask of blocks of labels as CSR, so that of dense scores only one block is copied."""
    n, d = labels.shape
    width = max(1, BLOCK_SCORES // max(1, n))
    if is_sparse(scores) or together or d <= width:
        yield _csr(scores), labels, mask
        return
    by_label, hidden = labels.tocsc(), None if mask is None else mask.tocsc()
    for start in range(0, d, width):
        there = slice(start, start + width)
        some = None if hidden is None else _csr(hidden[:, there])
        yield _csr(scores[:, there]), _csr(by_label[:, there]), some


def _csr(matrix: Any) -> sparse.csr_array:
    found = sparse.csr_array(matrix)
    found.sort_indices()
    return found
