"""Iterative stratification of labels: folds in which each label is about as frequent as in all samples.

The algorithm is that of Sechidis, Tsoumakas and Vlahavas, On the stratification of multi-label data, ECML PKDD 2011,
with folds of equal size. The label that the fewest remaining samples have is distributed first. Each of its samples is
assigned to the fold with the fewest samples that have the label, and among equal ones to the fold with the fewest
samples.

The fold of a sample does not depend on its other labels. All samples of a label are therefore assigned together, and
their other labels are counted afterwards: the result is the same as if samples were assigned one after the other.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Index = NDArray[np.int64]


def folds(labels: sparse.csr_array, n_splits: int, priority: Index) -> Index:
    """The fold of each sample.

    Among labels with the same number of remaining samples, the one with the smallest `priority` is first. Among equal
    folds, the first one is chosen. `labels` is in canonical form. The time is O(entries log entries), and about a tenth
    of a millisecond for each label.
    """
    n, n_labels = labels.shape
    fold = np.full(n, -1, dtype=np.int64)
    # Invariant: the numbers of samples in each fold, of samples with each label in each fold, and of samples with each
    # label that have no fold yet.
    n_rows = np.zeros(n_splits, dtype=np.int64)
    n_with = np.zeros((n_labels, n_splits), dtype=np.int64)
    remaining = np.bincount(labels.indices, minlength=n_labels)
    by_label = labels.tocsc()

    # A label may have several entries. Only the one with its current number is valid, and those with larger numbers
    # are outdated.
    queue = _entries(np.flatnonzero(remaining), remaining, priority)
    heapq.heapify(queue)
    while queue:
        count, _, label = heapq.heappop(queue)
        if count != remaining[label]:
            continue
        rows = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        rows = rows[fold[rows] < 0]
        chosen = _dealt(len(rows), n_with[label], n_rows)
        fold[rows] = chosen
        n_rows += np.bincount(chosen, minlength=n_splits)
        columns, n_columns = _columns_of(labels, rows)
        np.add.at(n_with, (columns, np.repeat(chosen, n_columns)), 1)
        np.subtract.at(remaining, columns, 1)
        changed = np.unique(columns)
        for entry in _entries(changed[remaining[changed] > 0], remaining, priority):
            heapq.heappush(queue, entry)

    unlabelled = fold < 0
    fold[unlabelled] = _dealt(int(np.count_nonzero(unlabelled)), n_rows, n_rows)
    return fold


def _entries(labels: Any, remaining: Any, priority: Index) -> list[tuple[int, int, int]]:
    return list(zip(remaining[labels].tolist(), priority[labels].tolist(), labels.tolist(), strict=True))


def _columns_of(labels: sparse.csr_array, rows: Any) -> tuple[Any, Any]:
    """The columns of the entries of some rows, row by row, and the number of entries of each row."""
    starts = labels.indptr[rows]
    lengths = labels.indptr[rows + 1] - starts
    before = np.cumsum(lengths) - lengths
    return labels.indices[np.repeat(starts - before, lengths) + np.arange(lengths.sum())], lengths


def _dealt(n: int, n_with: Index, n_rows: Index) -> Index:
    """The folds of `n` samples that have a label, in the order of the samples.

    Each turn assigns a sample to the fold with the smallest key, which is the pair of its numbers of samples with the
    label and of all samples. Both increase by one with each sample, so that the keys of a fold are ascending. The n
    turns are therefore those with the n smallest keys among all possible turns, in ascending order.
    """
    # No fold gets more samples with the label than this level, below which there are at least n turns.
    level = (n + n_with.sum()) // len(n_with) + 2
    n_turns = np.clip(level - n_with, 0, n)
    folds = np.repeat(np.arange(len(n_with)), n_turns)
    turn = np.arange(len(folds)) - np.repeat(np.cumsum(n_turns) - n_turns, n_turns)
    order = np.lexsort((folds, n_rows[folds] + turn, n_with[folds] + turn))
    return folds[order[:n]]
