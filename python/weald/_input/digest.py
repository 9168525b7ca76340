"""A digest of training data that does not depend on its layout, in the engine's form."""

from __future__ import annotations

import numpy as np

from weald import _weald
from weald._input.checks import Float, Matrix
from weald._input.sparse import is_sparse
from weald._input.targets import Target


def of_data(X: Matrix, target: Target, weights: Float | None) -> str:
    """128 bits, as hexadecimal digits, of validated X, y, mask and weights; see `weald::data::data_digest`."""
    classes = [np.sort(found.astype(str)).tolist() for found in target.classes]
    return _weald.data_digest(X, _cells(target.original), target.known_in_engine, weights, classes)


def _cells(y: Matrix) -> Matrix:
    """The cells of y: numbers, a pattern and its values, or texts with their places."""
    if is_sparse(y):
        y = y.tocsr()
        return (y.indptr, y.indices, y.shape[1]), y.data.astype(np.float64)
    table = np.asarray(y).reshape(len(y), -1)
    if table.dtype.kind in "biuf":
        return table.astype(np.float64, copy=False)
    places = np.nonzero(table if table.dtype != object else np.ones(table.shape, bool))
    rows, columns = map(np.ascontiguousarray, places)
    return rows, columns, list(map(str, table[rows, columns].tolist())), table.shape
