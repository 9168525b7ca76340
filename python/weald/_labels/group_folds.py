"""Folds of groups of samples, in which each label is about as frequent as in all samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import GroupKFold

from weald._input.checks import Float

# Passes over the groups in which a group changes its fold where that is better. Few groups still do after the first.
_MOST_PASSES = 10


class _Shares:
    """The share that each group has of each count, and the shares that the folds have so far.

    The loss is the sum over counts and folds of the squared difference between the share of the fold and that of a fold
    of equal ones.
    """

    def __init__(self, counts: sparse.csr_array, n_splits: int) -> None:
        totals = counts.sum(axis=0)
        self.ptr, self.columns = counts.indptr, counts.indices.astype(np.intp)
        self.of_groups = counts.data / totals[counts.indices]
        self.of_folds = np.zeros((n_splits, counts.shape[1]))
        self.n_groups = np.zeros(n_splits, dtype=np.int64)

    def of(self, group: int) -> tuple[NDArray[np.intp], Float]:
        """The counts that a group has a share of, and these shares."""
        there = slice(self.ptr[group], self.ptr[group + 1])
        return self.columns[there], self.of_groups[there]

    def norms(self) -> Float:
        """The sum of the squared shares of each group."""
        return np.asarray(np.add.reduceat(self.of_groups**2, self.ptr[:-1]))

    def put(self, group: int, fold: int, sign: int = 1) -> None:
        """Put a group into a fold, or with the sign -1 take it out."""
        columns, shares = self.of(group)
        self.of_folds[fold, columns] += sign * shares
        self.n_groups[fold] += sign

    def best(self, group: int) -> int:
        """The fold that the group, which is in none, makes the loss smallest in; the first of several."""
        columns, shares = self.of(group)
        # The loss grows by 2 Σ share (share of the fold) and a term that is the same for all folds.
        return int(np.argmin((self.of_folds[:, columns] * shares).sum(axis=1)))


def loss(counts: sparse.csr_array, fold: NDArray[np.int64], n_splits: int) -> float:
    """The loss of folds of groups: see `_Shares`."""
    member = sparse.csr_array((np.ones(len(fold)), (fold, np.arange(len(fold)))), shape=(n_splits, len(fold)))
    shares = (member @ counts).toarray() / counts.sum(axis=0)
    return float(((shares - 1 / n_splits) ** 2).sum())


def folds(
    labels: sparse.csr_array, group: NDArray[np.intp], n_groups: int, n_splits: int, priority: NDArray[np.intp]
) -> NDArray[np.int64]:
    """The fold of each group, of which there are at least as many as folds.

    Groups are put into folds in the order of the largest shares, each into the fold where the loss is smallest then;
    `priority` is their order where shares are equal. Then groups are moved while that makes the loss smaller. If folds
    of equal numbers of samples have a smaller loss still, these are returned.
    """
    n = labels.shape[0]
    member = sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(n_groups, n))
    of_labels = sparse.csr_array(member @ labels.astype(np.float64))
    some = np.flatnonzero(of_labels.sum(axis=0))
    # The last count is that of samples, of which every group has some.
    sizes = np.bincount(group, minlength=n_groups).astype(np.float64)
    counts = sparse.csr_array(sparse.hstack([of_labels[:, some], sparse.csr_array(sizes[:, None])], format="csr"))
    counts.sort_indices()
    shares = _Shares(counts, n_splits)
    order = np.lexsort((priority, -shares.norms()))
    fold = np.empty(n_groups, dtype=np.int64)
    for one in order:
        # A fold without groups has no shares, so that it comes before all others.
        fold[one] = shares.best(one)
        shares.put(one, fold[one])
    for _ in range(_MOST_PASSES):
        if not _moved(shares, fold, order):
            break
    equal = np.empty(n_groups, dtype=np.int64)
    for j, (_, test) in enumerate(GroupKFold(n_splits).split(np.zeros(n), groups=group)):
        equal[group[test]] = j
    return equal if loss(counts, equal, n_splits) < loss(counts, fold, n_splits) else fold


def _moved(shares: _Shares, fold: NDArray[np.int64], order: NDArray[np.intp]) -> bool:
    """Move each group to the fold where the loss is smallest, if that is not its own, and tell whether any was moved."""
    n_moved = 0
    for group in order:
        own = fold[group]
        if shares.n_groups[own] == 1:
            continue
        columns, of_group = shares.of(group)
        shares.put(group, own, -1)
        costs = (shares.of_folds[:, columns] * of_group).sum(axis=1)
        best = int(np.argmin(costs))
        # Sums in another order may differ by rounding, by which a group would move back and forth.
        if costs[best] < costs[own] - 1e-12:
            fold[group] = best
            n_moved += 1
        shares.put(group, fold[group])
    return n_moved > 0
