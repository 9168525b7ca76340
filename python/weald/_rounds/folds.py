"""Folds of samples: those of scikit-learn's splitters, and those that depend on what samples are, not on where they stand."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from weald._input import warned
from weald._input.checks import Float, Matrix
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.projections import derived_seed

# The training and the test samples of a fold.
Split: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]

# The largest number of values of X that are hashed at the same time.
_BLOCK = 1 << 20


def of(cv: object, X: Matrix, target: Target, weights: Float | None, seed: int) -> list[Split]:
    """The training and the test samples of each fold, all with positive weight. An integer asks for `by_content`."""
    exists = np.ones(X.shape[0], dtype=np.bool_) if weights is None else weights > 0
    if not isinstance(cv, Integral):
        y = target.original
        y = y[:, 0] if target.kind == "classes" and target.n_outputs == 1 else y
        return given(check_cv(cv), np.arange(X.shape[0]), y, exists, cv)
    there, n_folds = np.flatnonzero(exists), int(cv)
    try:
        fold = by_content(X, target, there, n_folds, seed)
    except ValueError as error:
        raise ValueError(f"cv must be at most the number of different samples, got {n_folds}: {error}") from error
    there = there.astype(np.uint32)
    return [(there[fold != k], there[fold == k]) for k in range(n_folds)]


def each_knows_all(cv: int, X: Matrix, target: Target, weights: Float | None, seed: int) -> bool:
    """Whether each output of numbers has a known value outside each fold."""
    if target.mask is None or target.n_outputs == 1:
        return True
    return all((~target.mask[train]).any(axis=0).all() for train, _ in of(cv, X, target, weights, seed))


def given(checked: Any, rows: NDArray[np.intp], y: Any, exists: NDArray[np.bool_], cv: object) -> list[Split]:
    """The folds of `rows`, whose targets are y, by `checked`, the splitter of `cv`."""
    try:
        with warned.at_user():
            splits = [(rows[train], rows[test]) for train, test in checked.split(np.zeros((len(rows), 1)), y)]
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"cv must split the samples into folds, got {cv!r}: {error}") from error
    if len(splits) < 2:
        raise ValueError(f"cv must have at least 2 folds, got {cv!r} with {len(splits)} folds")
    return [_fold_rows(split, number, exists) for number, split in enumerate(splits)]


def _fold_rows(fold: tuple[NDArray[np.intp], NDArray[np.intp]], number: int, exists: NDArray[np.bool_]) -> Split:
    """Training and test samples of a fold: those with positive weight, each once, and none in both."""
    train, test = (np.unique(rows[exists[rows]]).astype(np.uint32) for rows in fold)
    for rows, side in ((train, "training"), (test, "test")):
        if not len(rows):
            raise ValueError(f"cv must have {side} samples of positive weight in each fold, got none in fold {number}")
    if len(shared := np.intersect1d(train, test)):
        raise ValueError(
            f"cv must have disjoint training and test samples, got sample {shared[0]} in both of fold {number}"
        )
    return train, test


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


def different(X: Matrix, weights: Float | None, most: int) -> NDArray[np.uint64]:
    """The hashes of the different samples of positive weight, in order; if there are more than `most`, some more than that."""
    there = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    if is_sparse(X) and X.format == "csc":
        return np.unique(_hashes_of_columns(X)[there])
    found = np.empty(0, dtype=np.uint64)
    # In most data the first block, of one sample more than `most`, ends the count.
    for first in range(0, len(there), most + 1):
        found = np.union1d(found, _hashes(X, there[first : first + most + 1]))
        if len(found) > most:
            break
    return found


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


def _hashes_of_columns(X: Matrix) -> NDArray[np.uint64]:
    """`_hashes` of all samples of a CSC matrix, of which no copy is made."""
    keys = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))
    found = np.zeros(X.shape[0], dtype=np.uint64)
    for first in range(0, X.nnz, _BLOCK):
        stored = slice(first, min(first + _BLOCK, X.nnz))
        columns = np.searchsorted(X.indptr, np.arange(stored.start, stored.stop), side="right") - 1
        np.add.at(found, X.indices[stored], _of_values(X.data[stored], keys[columns]))
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
