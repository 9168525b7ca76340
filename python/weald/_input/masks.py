"""Which values of y are known, what they weigh, and scores of the known values.

`y_weight` has the weight of each value; zero is unknown, and so is NaN in y. A *mask* is True where a value is unknown:
an array of booleans of the shape of y, or for labels a CSR pattern. Samples without a known value get the weight zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import r2_score

from weald._input.checks import Float, canonical, named, over_same_memory, rows_there, score_weights
from weald._input.frames import as_frame, check_collected, names_of
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import Raw, is_sparse

# The `y_weight` that says that the stored entries of sparse y are what is known.
STORED = "stored"


class KnownCells:
    """What is known of y: a mask of the unknown values, or the weights of all values, 0 where they are unknown.

    Weights are an array of float64, or CSR whose entries are positive and in canonical form. A fit passes it as the
    `y_weight` of the fits inside.
    """

    def __init__(self, mask: Any = None, weights: Any = None) -> None:
        self._mask = mask
        self.weights = weights
        self.shape: tuple[int, int] = (mask if weights is None else weights).shape

    @cached_property
    def mask(self) -> Any:
        """The unknown values: of an array of weights an array of booleans, and of CSR a CSR pattern."""
        if self.weights is None:
            return self._mask
        if not is_sparse(self.weights):
            return self.weights == 0
        whole = sparse.csr_array(np.ones(self.shape, dtype=np.bool_))
        return sparse.csr_array(whole > self.weights.astype(np.bool_))

    @property
    def is_graded(self) -> bool:
        """Whether known values have weights other than one."""
        values = () if self.weights is None else self.weights.data if is_sparse(self.weights) else self.weights
        return bool(np.any((np.asarray(values) != 0) & (np.asarray(values) != 1)))

    @property
    def of_cells(self) -> Float | None:
        """The weights as an array, None if those of known values are one."""
        return None if not self.is_graded else dense(self.weights, np.float64)

    def among(self, is_missing: Any) -> KnownCells:
        """What is known where another mask marks nothing either."""
        if is_missing is None:
            return self
        if self.weights is None:
            return KnownCells(join(self._mask, is_missing))
        if not is_sparse(self.weights):
            return KnownCells(weights=np.where(dense(is_missing), 0.0, self.weights))
        kept = sparse.csr_array(self.weights - self.weights.multiply(sparse.csr_array(is_missing)))
        kept.eliminate_zeros()
        return KnownCells(weights=kept)

    def rows(self, rows: NDArray[Any]) -> KnownCells:
        """What is known of these samples."""
        if self.weights is None:
            return KnownCells(self._mask[rows])
        return KnownCells(weights=self.weights[rows])

    def columns(self, columns: NDArray[Any]) -> KnownCells:
        """What is known of these outputs."""
        if self.weights is None:
            found = self._mask[:, columns]
            return KnownCells(sparse.csr_array(found) if is_sparse(found) else found)
        found = self.weights[:, columns]
        return KnownCells(weights=sparse.csr_array(found) if is_sparse(found) else found)

    def as_array(self) -> KnownCells:
        """The same as arrays."""
        return KnownCells(dense(self._mask), None if self.weights is None else dense(self.weights, np.float64))

    def as_csr(self) -> KnownCells:
        """The same as CSR."""
        if self.weights is not None:
            return self if is_sparse(self.weights) else KnownCells(weights=sparse.csr_array(self.weights))
        mask = sparse.csr_array(self._mask)
        mask.sort_indices()
        return KnownCells(mask)

    @property
    def hides_nothing(self) -> bool:
        """Whether all values are known and weigh one."""
        if self.weights is None:
            return not self._mask.sum()
        n_known = self.weights.nnz if is_sparse(self.weights) else np.count_nonzero(self.weights)
        return bool(n_known == self.shape[0] * self.shape[1] and not self.is_graded)

    def n_known(self, axis: int | None = None, exists: NDArray[np.bool_] | None = None) -> Any:
        """The number of known values of each output (axis 0) or sample (axis 1), of the samples that exist."""
        there = slice(None) if exists is None else exists
        if self.weights is None:
            part = self._mask[there]
            hidden = np.asarray(part.sum(axis=axis)).ravel()
            whole = part.shape[0] * part.shape[1] if axis is None else part.shape[axis]
            return whole - (hidden[0] if axis is None else hidden)
        part = self.weights[there]
        if is_sparse(part):
            if axis is None:
                return part.nnz
            return np.diff(part.indptr) if axis == 1 else np.bincount(part.indices, minlength=self.shape[1])
        return np.count_nonzero(part, axis=axis)

    @property
    def in_engine(self) -> Any:
        """The engine's form."""
        if self.weights is None:
            return to_engine(self._mask)
        if not is_sparse(self.weights):
            return np.ascontiguousarray(self.weights)
        return self.weights.indptr, self.weights.indices, self.weights.data, self.shape[1]


class Score(float):
    """A score of the known values, with their number."""

    n_cells: int

    def __new__(cls, value: float, n_cells: int) -> Score:
        score = super().__new__(cls, value)
        score.n_cells = int(n_cells)
        return score

    def __getnewargs__(self) -> tuple[float, int]:  # type: ignore[override]
        return float(self), self.n_cells


def check(
    y_weight: Any, shape: tuple[int, int], names: NDArray[np.object_] | None = None, y: Raw = None
) -> KnownCells | None:
    """What the checked `y_weight` says to be known; None if it is all of y, with weight one.

    `names` are those of the columns of y: a frame with the same names in another order is brought into theirs. `y` is
    sparse y, of which `y_weight="stored"` tells that its entries are what is known.
    """
    if isinstance(y_weight, KnownCells):
        return y_weight
    if isinstance(y_weight, str):
        if y_weight != STORED or not is_sparse(y):
            other = "" if y_weight != STORED else ", which is for sparse y"
            raise ValueError(f'y_weight must be weights, or "{STORED}" for sparse y, got {y_weight!r}{other}')
        y_weight = y.tocsr().copy()
        y_weight.data = np.where(np.isnan(y.tocsr().data), 0.0, 1.0)
        y_weight.sum_duplicates()
        y_weight.data = np.minimum(y_weight.data, 1.0)
    if is_sparse(y_weight):
        if y_weight.shape != shape:
            raise ValueError(_of_shape(y_weight.shape, shape))
        y_weight = over_same_memory(y_weight, "y_weight", every_entry=True)
        _check_values(_floats(y_weight.tocoo().data))
        # Entries of the same value are summed, those of booleans are one.
        entries = canonical(y_weight if y_weight.dtype == np.bool_ else y_weight.astype(np.float64), "y_weight").tocsr()
        weights = sparse.csr_array((_floats(entries.data), entries.indices, entries.indptr), shape=shape)
        weights.eliminate_zeros()
        weights.sort_indices()
        found = KnownCells(weights=weights)
        return None if found.hides_nothing else found
    check_collected(y_weight, "y_weight")
    y_weight = _in_order_of(names, y_weight)
    with named("y_weight"):
        array = np.asarray(y_weight)
    if array.shape not in (shape, *([(shape[0],)] if shape[1] == 1 else [])):
        raise ValueError(_of_shape(array.shape, shape))
    if array.dtype == np.bool_:
        found = KnownCells(~array.reshape(shape))
        return None if found.hides_nothing else found
    found = KnownCells(weights=_floats(array).reshape(shape))
    _check_values(found.weights)
    if not found.is_graded:
        found = KnownCells(found.weights == 0)
    return None if found.hides_nothing else found


def _in_order_of(names: NDArray[np.object_] | None, y_weight: Raw) -> Raw:
    """Weights that are a frame with their columns in the order of those of y, if both have names."""
    own = names_of(y_weight, "y_weight")
    if own is None or names is None or len(own) != len(names) or len(own) < 2 or np.array_equal(own, names):
        return y_weight
    if strange := sorted(set(own) - set(names)):
        raise ValueError(f"y_weight must have the names of the columns of y, got the column {strange[0]!r}")
    frame = as_frame(y_weight, "y_weight")
    assert frame is not None
    return frame.select(names.tolist()).to_native()


def rows_of(values: Any, n_samples: int, rows: NDArray[np.intp] | None, what: str = "y_weight") -> Any:
    """The values of these samples, of `y_weight` or of another argument `what`; None are all samples."""
    if values is None or rows is None or isinstance(values, str):
        return values
    if isinstance(values, KnownCells):
        return values.rows(rows)
    with named(what):
        if (found := num_samples(values)) != n_samples:
            raise ValueError(f"{what} must have {n_samples} rows, as {'y' if what == 'y_weight' else 'X'}, got {found}")
        return safe_indexing(values.tocsr() if is_sparse(values) else values, rows)


def scored(sample_weight: object, n_samples: int, **arguments: Any) -> list[Any]:
    """The weights of a score, and arguments with a row for each sample: without samples of weight zero, which are not read."""
    weights = score_weights(sample_weight, n_samples)
    there = rows_there(weights)
    found = [rows_of(values, n_samples, there, name) for name, values in arguments.items()]
    return [weights if weights is None or there is None else weights[there], *found]


def check_nothing(y_weight: Any, shape: tuple[int, int], name: str, y: Raw = None) -> None:
    """Raise for weights of values, for estimators that do not support any; weights of one are as none."""
    if check(y_weight, shape, y=y) is not None:
        raise ValueError(
            f"y_weight must be None, or 1 everywhere: {name} does not support y with masked entries or weights"
        )


def check_ungraded(known: KnownCells | None, name: str) -> None:
    """Raise for weights other than 0 and 1, where a value is known or not."""
    if known is not None and known.is_graded:
        raise ValueError(f"y_weight must be 0 or 1 for {name}, got other weights")


def _of_shape(got: tuple[int, ...], expected: tuple[int, int]) -> str:
    return f"y_weight must have shape {expected}, that of y, with 0 for unknown values, got {got}"


def _floats(values: NDArray[Any]) -> Float:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"y_weight must be numbers, or True where y is known, got dtype {values.dtype}")
    return values.astype(np.float64)


def _check_values(values: Float) -> None:
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if wrong.size:
        raise ValueError(f"y_weight must be finite and not negative, got {wrong.ravel()[0]}")


def of_missing(y: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Where a two-dimensional array is NaN; None if it has no NaN."""
    if y.dtype.kind != "f":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum with NaN is NaN. Most arrays have none, so that no second pass is needed.
        if not np.isnan(np.sum(y)):
            return None
    missing = np.isnan(y)
    return missing if missing.any() else None


def join(one: Any, other: Any) -> Any:
    """The values that either mask marks, as a CSR pattern if one of the masks is."""
    if one is None or other is None:
        return other if one is None else one
    if is_sparse(one) or is_sparse(other):
        return (sparse.csr_array(one) + sparse.csr_array(other)).astype(np.bool_)
    return one | other


def dense(mask: Any, dtype: Any = np.bool_) -> Any:
    """The mask, or weights, as a dense array."""
    if mask is None:
        return None
    return np.asarray(mask.toarray() if is_sparse(mask) else mask, dtype=dtype)


def to_engine(mask: Any) -> Any:
    """The mask in the engine's form."""
    if mask is None or not is_sparse(mask):
        return mask
    return mask.indptr, mask.indices, mask.shape[1]


def weights_of_known(
    known: KnownCells | None, weights: Float | None, names: NDArray[np.object_] | None
) -> Float | None:
    """Sample weights, which are zero for samples without a known value.

    Raises if outputs have no known value among the samples with positive weight; the message names up to five.
    """
    if known is None:
        return weights
    exists = np.ones(known.shape[0], dtype=np.bool_) if weights is None else weights > 0
    hidden = np.flatnonzero(known.n_known(0, exists) == 0)
    if len(hidden):
        some = ", ".join(map(repr, (hidden if names is None else names[hidden])[:5].tolist()))
        what = ("column" if names is None else "output") + "s" * (len(hidden) > 1)
        more = f" and {len(hidden) - 5} others" if len(hidden) > 5 else ""
        raise ValueError(
            f"y must have a known value in {what} {some}{more} for a sample of positive weight, got NaN or weights of zero "
            "for all of them: leave them out"
        )
    without = known.n_known(1) == 0
    if not (without & exists).any():
        return weights
    return np.where(without, 0.0, 1.0 if weights is None else weights)


def fill(y: NDArray[Any], mask: NDArray[np.bool_], weights: Float | None) -> NDArray[Any]:
    """A copy of y with unknown values replaced by the first known value of their column that has positive weight."""
    filled = y.copy()
    exists = np.ones(len(y), dtype=np.bool_) if weights is None else weights > 0
    for j in np.flatnonzero(mask.any(axis=0)):
        known = np.flatnonzero(exists & ~mask[:, j])
        filled[mask[:, j], j] = y[known[0], j]
    return filled


def r2(y: NDArray[Any], predicted: NDArray[Any], known: KnownCells, weights: object = None) -> Score:
    """R² of the known values of each output, averaged over the outputs that have two or more, if any has."""
    scores, mask, of_cells = [], dense(known.mask), known.of_cells
    n_known = np.count_nonzero(~mask, axis=0)
    for j in np.flatnonzero(n_known >= min(2, n_known.max(initial=1))):
        there = ~mask[:, j]
        w = None if weights is None else np.asarray(weights)[there]
        if of_cells is not None:
            w = of_cells[there, j] * (1.0 if w is None else w)
        scores.append(r2_score(y[there, j], predicted[there, j], sample_weight=w))
    return Score(float(np.mean(scores)) if scores else np.nan, int(np.count_nonzero(~mask)))


def accuracy(wrong: sparse.csr_array, mask: Any, weights: Float | None = None) -> float:
    """The fraction of samples whose known values are all predicted correctly, among the samples that have some.

    `wrong` is the pattern of wrong predictions, known or not.
    """
    if mask is None:
        return float(np.average(np.diff(wrong.indptr) == 0, weights=weights))
    mask = sparse.csr_array(mask)
    n_wrong = (wrong > wrong.multiply(mask)).sum(axis=1)
    n_hidden = mask.sum(axis=1)
    rows = n_hidden < mask.shape[1]
    correct = n_wrong[rows] == 0
    w = None if weights is None else np.asarray(weights)[rows]
    n_cells = mask.shape[0] * mask.shape[1] - n_hidden.sum()
    if not len(correct) or (w is not None and not w.any()):
        return Score(np.nan, int(n_cells))
    return Score(float(np.average(correct, weights=w)), int(n_cells))
