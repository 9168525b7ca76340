"""Folds of samples that depend on what samples are, not on where they stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Matrix
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.projections import derived_seed

# The largest number of values of X that are hashed at the same time.
_BLOCK = 1 << 20


def by_content(X: Matrix, target: Target, rows: NDArray[np.intp], n_folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of each of `rows`, stratified by class or by rarest label; -1 for those in no fold.

    Samples with equal X are in the same fold, so that none is held out while it is fitted, and so that a weight of two
    gives the folds of two samples. Groups of equal samples are dealt to the folds in the order of their rarest class or
    label, and of a hash of X and the seed. The only group with a class is in no fold, so that the other folds know the
    class. Raises a `ValueError` if a fold is empty.
    """
    hashes = _hashes(X, rows)
    distinct, group = np.unique(hashes, return_inverse=True)
    kind = _rarest(target, rows, group.ravel(), len(distinct))
    drawn = _mixed(distinct ^ _mixed(np.array([derived_seed(seed, (2,))], dtype=np.uint64)))
    order = np.lexsort((drawn, kind))
    if target.kind == "classes" and target.n_outputs == 1:
        order = order[np.bincount(kind)[kind[order]] > 1]
    if len(order) < n_folds:
        differ = f"{len(order)} sample differs" if len(order) == 1 else f"{len(order)} samples differ"
        raise ValueError(f"{differ} in X" + " and have a class of other samples" * (len(order) < len(distinct)))
    fold = np.full(len(distinct), -1)
    fold[order] = np.arange(len(order)) % n_folds
    return np.asarray(fold[group.ravel()], dtype=np.intp)


def _rarest(target: Target, rows: NDArray[np.intp], group: NDArray[np.intp], n_groups: int) -> NDArray[np.intp]:
    """For each group, the class or label of its samples that the fewest groups have; a number above them if none."""
    if target.kind == "labels":
        labels = target.original[rows].tocsr()
        groups, kinds, n_kinds = np.repeat(group, np.diff(labels.indptr)), labels.indices, labels.shape[1]
    elif target.kind == "classes" and target.n_outputs == 1:
        kinds = np.asarray(target.engine[0][rows, 0], dtype=np.intp)
        groups, n_kinds = group, int(kinds.max()) + 1
    else:
        return np.zeros(n_groups, dtype=np.intp)
    pairs = np.unique(groups.astype(np.int64) * n_kinds + kinds)
    groups, kinds = pairs // n_kinds, pairs % n_kinds
    n_groups_of = np.bincount(kinds, minlength=n_kinds)
    by_frequency = np.lexsort((-kinds, -n_groups_of[kinds]))
    found = np.full(n_groups, n_kinds, dtype=np.intp)
    found[groups[by_frequency]] = kinds[by_frequency]  # the rarest one is written last
    return found


def _hashes(X: Matrix, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
    """A hash of each sample, which depends on its values that are not zero and on their features."""
    keys = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))
    found = np.zeros(len(rows), dtype=np.uint64)
    X = X.tocsr() if is_sparse(X) else X
    n_block = max(1, _BLOCK // max(1, X.shape[1]))
    for first in range(0, len(rows), n_block):
        block = X[rows[first : first + n_block]]
        if is_sparse(block):
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_of_values(block.data, keys[block.indices]))])
            of_block = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
        else:
            of_block = _of_values(block, keys).sum(axis=1, dtype=np.uint64)
        found[first : first + n_block] = of_block
    return found


def _of_values(values: NDArray[np.floating], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    doubles = values.astype(np.float64, order="C")
    doubles[np.isnan(doubles)] = np.nan  # one pattern of bits for all of them
    return np.where(doubles != 0, _mixed(doubles.view(np.uint64) ^ keys), np.uint64(0))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection that spreads each bit over all others: two rounds of multiplications and shifts."""
    for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
