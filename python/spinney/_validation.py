"""What enters the engine: X, y, sample weights and seeds, checked and brought into its forms.

Errors name the argument and say what is accepted. The caller's arrays are never written to.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

Float: TypeAlias = NDArray[np.float64]
# A float32 array of two dimensions, or a float32 CSR or CSC matrix in canonical form.
Matrix: TypeAlias = Any
# Sample weights; class weights by row, or their rule.
RowWeights: TypeAlias = tuple[Float | None, Float | str | None]


def draw_seed(random_state: Any) -> int:
    """The engine's seed: one draw from scikit-learn's generator."""
    return int(check_random_state(random_state).randint(0, 2**64, dtype=np.uint64))


def is_sparse(matrix: Any) -> bool:
    """Whether it is a sparse matrix or array of scipy."""
    return bool(sparse.issparse(matrix))


def check_X(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """X as float32 array of any strides, CSR or CSC.

    float64 is converted once, other sparse formats become CSR. Entries out of order or duplicated are repaired on a
    copy. With `reset`, sets `n_features_in_` and `feature_names_in_` on the estimator; else compares with them.
    """
    X = over_same_memory(X, "X")
    with np.errstate(over="ignore"):  # what overflows float32 is found below, with a message of its own
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=np.float32,
            ensure_all_finite=False,
        )
    return check_values(X)


def check_values(X: Any) -> Matrix:
    """A float32 matrix in canonical form and without NaN or infinity."""
    if is_sparse(X):
        X = canonical(X, "X")
        values = X.data
    else:
        X = values = np.require(X, requirements="A")
    # float64 has room for any sum of float32: the sum is finite if and only if all values are.
    if values.size and not np.isfinite(np.sum(values, dtype=np.float64)):
        if np.isnan(values).any():
            raise ValueError("Input X contains NaN. Missing values are not supported yet: impute or drop them first.")
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    return X


def check_wide_X(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """X for weak models of scikit-learn: float64 or float32 as it comes, dense or canonical CSR or CSC, finite."""
    X = over_same_memory(X, "X")
    X = validate_data(estimator, X, reset=reset, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    return canonical(X, "X") if is_sparse(X) else X


def over_same_memory(matrix: Any, name: str, *, every_entry: bool = False) -> Any:
    """A CSR or CSC matrix that is proven to be one, over the memory of the one given; whatever else it is, itself.

    Arrays that contradict each other would lead scipy's conversions out of bounds: ends and lengths are looked at, with
    `every_entry` all offsets and indices too.
    """
    if not is_sparse(matrix) or matrix.format not in ("csr", "csc"):
        return matrix
    try:
        same = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False)
        same.check_format(full_check=every_entry)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}") from error
    return same


def canonical(matrix: Any, name: str) -> Any:
    """A CSR or CSC matrix with sorted indices and no duplicates: over the same memory if it is so already."""
    same = over_same_memory(matrix, name, every_entry=True)
    if same.has_canonical_format:
        return same
    same = same.copy()
    same.sum_duplicates()
    return same


def check_weights(sample_weight: Any, n_samples: int) -> Float | None:
    """One weight for each row, none negative, not all zero; a number stands for equal weights."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, sample_weight, dtype=np.float64)
    w = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {w.shape}, expected ({n_samples},): one weight for each row of X")
    if (w < 0).any():
        raise ValueError(f"sample_weight has a negative value ({w.min()}), accepted: zero and above")
    if not w.any():
        raise ValueError("sample_weight is zero for every row, accepted: at least one positive sample weight")
    return np.ascontiguousarray(w)


@dataclass(frozen=True)
class LabelFormat:
    """What multi-label `y` was, so that `predict` can return the same."""

    dtype: np.dtype[Any]
    # Class of sparse results; None for dense.
    container: type[Any] | None

    def build(self, labels: NDArray[np.bool_]) -> Any:
        """`labels` in this format."""
        if self.container is None:
            return labels.astype(self.dtype)
        return self.container(labels).astype(self.dtype)


@dataclass(frozen=True)
class Target:
    """y in the engine's form, and what its columns meant."""

    kind: Literal["numbers", "classes", "labels"]
    # What `_spinney` takes.
    engine: Any
    n_outputs: int
    # Classes of each output; the numbers of the labels; empty for numbers.
    classes: list[NDArray[Any]]
    # y as it came, checked: an array of (n_samples, n_outputs), or CSR labels.
    original: Any
    label_format: LabelFormat | None = None

    @property
    def n_columns(self) -> int:
        """Columns of y as numbers: one for each class of each output of classes."""
        return sum(map(len, self.classes)) if self.kind == "classes" else self.n_outputs

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """These rows in the engine's form."""
        if self.kind == "numbers":
            return self.engine[rows]
        if self.kind == "classes":
            return self.engine[0][rows], self.engine[1]
        labels = self.original[rows]
        return labels.indptr, labels.indices, self.n_outputs

    def like(self, y: Any, n_samples: int, name: str) -> Any:
        """Other rows of y in the engine's form: the same columns, and no classes but these."""
        if self.kind == "numbers":
            return self._as_wide(numbers(y, n_samples, name, warn_column=False).engine)
        if self.kind == "labels":
            y = y if is_sparse(y) else sparse.csr_array(_dense(y, None, n_samples, name, warn_column=False))
            return _labels(self._as_wide(_sparse_labels(y, n_samples)), LabelFormat(y.dtype, None)).engine
        if is_sparse(y):
            raise TypeError("y_val is sparse, but y holds classes: pass y_val.toarray()")
        y = self._as_wide(_dense(y, None, n_samples, name, warn_column=False))
        codes = np.zeros(y.shape, dtype=np.uint32)
        for j, found in enumerate(self.classes):
            if not (known := np.isin(y[:, j], found)).all():
                raise ValueError(f"y_val has the class {y[~known, j][:1].tolist()[0]!r}, which y has not")
            codes[:, j] = np.searchsorted(found, y[:, j])
        return codes, self.engine[1]

    def _as_wide(self, y: Any) -> Any:
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"y_val has {y.shape[1]} columns, expected {self.n_outputs}: those of y")
        return y


def numbers(y: Any, n_samples: int, name: str, *, warn_column: bool) -> Target:
    """Targets of a regressor."""
    if is_sparse(y):
        raise TypeError(f"y is sparse; {name} needs dense y: convert with y.toarray()")
    y = _dense(y, np.float64, n_samples, name, warn_column=warn_column)
    return Target("numbers", y, y.shape[1], [], y)


def classes(y: Any, weights: Float | None, n_samples: int, name: str, *, warn_column: bool) -> Target:
    """Targets of a classifier: 0/1 labels where y has several columns of them or is sparse, else classes.

    Rows of weight zero do not exist: their classes are not among `classes_`.
    """
    if is_sparse(y):
        container = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
        return _labels(_sparse_labels(y, n_samples), LabelFormat(y.dtype, container))
    y = _dense(y, None, n_samples, name, warn_column=warn_column)
    if y.shape[1] > 1 and _is_binary(y):
        return _labels(sparse.csr_array(y != 0), LabelFormat(y.dtype, None))
    check_classification_targets(y)
    kept = slice(None) if weights is None else weights > 0
    codes = np.zeros(y.shape, dtype=np.uint32)
    found = []
    for j in range(y.shape[1]):
        values, codes[kept, j] = np.unique(y[kept, j], return_inverse=True)
        found.append(values)
    return Target("classes", (codes, [len(values) for values in found]), y.shape[1], found, y)


def row_weights(class_weight: Any, target: Target, weights: Float | None) -> RowWeights:
    """Sample weights and class weights in the engine's form. Rows of classes of weight zero do not exist."""
    if class_weight is None or isinstance(class_weight, str):
        return weights, class_weight
    kept = slice(None) if weights is None else np.flatnonzero(weights)
    y = target.original[kept]
    by_class = np.ones(target.original.shape[0])
    by_class[kept] = compute_sample_weight(class_weight, y.astype(np.int8).tocsc() if is_sparse(y) else y)
    if (by_class == 0).any():
        weights = np.where(by_class == 0, 0.0, 1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError("class_weight is zero for every row, accepted: at least one positive weight")
    return weights, by_class


def _dense(y: Any, dtype: Any, n_samples: int, name: str, *, warn_column: bool) -> NDArray[Any]:
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    y = np.atleast_1d(check_array(y, ensure_2d=False, dtype=dtype, input_name="y", estimator=name))
    if len(y) != n_samples:
        check_consistent_length(np.broadcast_to(np.False_, n_samples), y)
    if y.ndim == 2 and y.shape[1] == 1 and warn_column:
        message = (
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel()."
        )
        warnings.warn(message, DataConversionWarning, stacklevel=5)
    columns: NDArray[Any] = y.reshape(len(y), -1)
    return columns


def _is_binary(y: NDArray[Any]) -> bool:
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())


def _sparse_labels(y: Any, n_samples: int) -> sparse.csr_array:
    """The pattern of the ones of y, on a copy."""
    if y.ndim != 2:
        raise ValueError(f"y is sparse with {y.ndim} dimension(s), accepted: 2 (n_samples, n_labels)")
    if y.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, y has {y.shape[0]}"
        )
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y is sparse of dtype {y.dtype}, accepted: 0/1 labels (bool, int or float)")
    entries = over_same_memory(y, "y", every_entry=True).tocoo()
    if not np.isin(entries.data, (0, 1)).all():
        raise ValueError("y is sparse and holds values other than 0 and 1; sparse y means labels, pass classes dense")
    # As booleans a label named twice is a label named once.
    labels = sparse.csr_array((entries.data.astype(np.bool_), (entries.row, entries.col)), shape=y.shape)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    return labels


def _labels(labels: Any, label_format: LabelFormat) -> Target:
    n_labels = labels.shape[1]
    engine = (labels.indptr, labels.indices, n_labels)
    return Target("labels", engine, n_labels, [np.arange(n_labels)], labels, label_format)
