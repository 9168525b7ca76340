"""A digest of training data that does not depend on its layout: equal values have it as dense, CSR and CSC data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float, Matrix
from weald._input.sparse import is_sparse
from weald._input.targets import Target

# Number of values that are hashed at once.
_BLOCK = 1 << 20
_Words = NDArray[np.uint64]


def of_data(X: Matrix, target: Target, weights: Float | None) -> str:
    """128 bits, as hexadecimal digits, of validated X, y, mask and weights.

    It is a sum of the hashes of all nonzero values with their rows and columns, and so does not depend on their order
    or the layout. Only blocks of a million values are copied. The digest detects mistakes, but it is not a
    cryptographic hash: it does not detect data that was constructed to have the same digest.
    """
    total = np.zeros(2, np.uint64)
    for part, cells in enumerate((X, target.original, target.mask, weights)):
        total += _mixed(_of_cells(cells, part))
    names = [np.sort(classes.astype(str)) for classes in target.classes]
    for place, classes in enumerate(names):
        for number, name in enumerate(classes):
            total += _mixed(np.array([place, number, *name.encode()], np.uint64))
    return "".join(f"{int(word):016x}" for word in total)


def _of_cells(cells: Any, part: int) -> _Words:
    """A few words that depend on the shape and the values of a matrix."""
    found = np.array([part, 0, 0, 0, 0], np.uint64)
    if cells is None:
        return found
    shape = (*cells.shape, 1)[:2]
    found[1:3] = shape
    for rows, columns, values in _entries(cells):
        hashes = _hash_of(_bits(values), _hash_of(rows.astype(np.uint64), columns.astype(np.uint64)))
        found[3] += hashes.sum(dtype=np.uint64)
        found[4] += _hash_of(hashes, np.uint64(1)).sum(dtype=np.uint64)
    return found


def _entries(cells: Any) -> Any:
    """The rows, columns and values of the nonzero entries, in blocks."""
    if is_sparse(cells):
        is_csr = cells.format == "csr"
        for start in range(0, cells.nnz, _BLOCK):
            end = min(start + _BLOCK, cells.nnz)
            major = np.searchsorted(cells.indptr, np.arange(start, end), side="right") - 1
            minor, values = cells.indices[start:end], cells.data[start:end]
            kept = values != 0
            pair = (major[kept], minor[kept]) if is_csr else (minor[kept], major[kept])
            yield *pair, values[kept]
        return
    table = np.asarray(cells).reshape(len(cells), -1)
    n_rows = max(1, _BLOCK // max(1, table.shape[1]))
    for start in range(0, len(table), n_rows):
        block = table[start : start + n_rows]
        rows, columns = np.nonzero(block) if block.dtype != object else np.nonzero(np.ones(block.shape, bool))
        yield rows + start, columns, block[rows, columns]


def _bits(values: Any) -> _Words:
    """One word for each value: the bits of numbers as float64, whatever their type, and a hash of text."""
    if values.dtype.kind in "biuf":
        wide: NDArray[np.float64] = np.ascontiguousarray(values, dtype=np.float64)
        # All NaN have the same bits.
        return np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
    words = {text: _of_text(text) for text in dict.fromkeys(map(str, values.tolist()))}
    return np.array([words[text] for text in map(str, values.tolist())], np.uint64)


def _of_text(text: str) -> int:
    return int(_mixed(np.frombuffer(text.encode(), np.uint8).astype(np.uint64))[0])


def _hash_of(words: Any, salt: Any) -> _Words:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        z = words + np.uint64(0x9E3779B97F4A7C15) * (salt + np.uint64(1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: _Words = z ^ (z >> np.uint64(31))
    return found


def _mixed(words: _Words) -> _Words:
    """A hash of two words of a sequence of words, which depends on their order."""
    found = np.array([len(words), len(words) + 1], np.uint64)
    for word in words:
        found = _hash_of(found ^ word, np.array([2, 3], np.uint64))
    return found
