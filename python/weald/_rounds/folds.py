"""Folds of samples: those of scikit-learn's splitters, and those that the engine deals, which hold out rows.

Dealt folds depend on what samples are and on the seed, not on where samples stand. Equal samples are dealt one by one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from weald import _weald
from weald._input import warned
from weald._input.checks import Float, Matrix, renamed
from weald._input.sparse import Raw, is_sparse
from weald._input.sparse_frames import has_sparse_columns, of_sparse_columns
from weald._input.targets import Target

# The training and the test samples of a fold.
Split: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]


def of(
    cv: object, X: Matrix, target: Target, weights: Float | None, seed: int, margins: Float | None = None
) -> list[Split]:
    """The training and the test samples of each fold, all with positive weight. An integer asks for dealt folds.

    The only sample of a class, and samples without a known y, are training samples of each fold.
    """
    exists = np.ones(X.shape[0], dtype=np.bool_) if weights is None else weights > 0
    if not isinstance(cv, Integral):
        y = target.original
        y = y[:, 0] if target.kind == "classes" and target.n_outputs == 1 else y
        return given(check_cv(cv), np.arange(X.shape[0]), y, exists, cv)
    with renamed(n_folds="cv"):
        return _weald.folds_of_samples(_in_engine(X, target, weights), int(cv), seed, margins)


def held_out(X: Matrix, target: Target, weights: Float | None, share: float, seed: int) -> NDArray[np.uint32]:
    """The sorted indices of the samples to hold out: as large a share of each class or rare label. No class is lost."""
    return _weald.held_out_samples(_in_engine(X, target, weights), share, seed)


def _in_engine(X: Matrix, target: Target, weights: Float | None) -> Any:
    return _of_engine(X), target.engine, (weights, None), target.known_in_engine


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


@dataclass(frozen=True)
class Dealt:
    """`cv` of estimators around another one whose X may be anything that the other one accepts, such as texts."""

    n_splits: int
    seed: int

    def of(self, X: Raw, target: Target, weights: Float | None) -> list[Split]:
        """The folds of these samples, as of the function `of`."""
        return of(self.n_splits, told_apart(X, target.original.shape[0]), target, weights, self.seed)


def told_apart(X: Raw, n_samples: int) -> Matrix:
    """X as numbers, of which samples that differ have others: texts and other objects by a hash."""
    X = of_sparse_columns(X) if has_sparse_columns(X) else X
    with np.errstate(over="ignore"):
        if is_sparse(X):
            return X.tocsr().astype(np.float32)
        try:
            cells = np.asarray(X)
        except ValueError:  # samples of several lengths
            cells = np.array([str(row) for row in X])
        cells = cells.reshape(n_samples, -1)
        if cells.dtype.kind in "biuf":
            return np.ascontiguousarray(cells, dtype=np.float32)
    return np.array([[_number(cell) for cell in row] for row in cells], dtype=np.float32)


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, float | int) else float(zlib.crc32(str(cell).encode()) >> 8)


def different(X: Matrix, weights: Float | None) -> NDArray[np.uint64]:
    """The hashes of the samples of positive weight that differ in X, in order."""
    hashes = _weald.hashes_of_samples(_of_engine(X))
    return np.unique(hashes if weights is None else hashes[weights > 0])


def _of_engine(X: Matrix) -> Matrix:
    """X as the engine takes it, although that of models of other libraries has other types."""
    return X if X.dtype == np.float32 else told_apart(X, X.shape[0])
