"""What y is: numbers, classes or labels. Its checks, and its conversion to the engine's form.

Every function and method with an argument y, of whatever name, asks this module. Errors name the argument and what is
accepted. The caller's arrays are never modified.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import _safe_indexing, check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from weald import _masks
from weald._frames import different, label_names, names_of
from weald._sparse import is_sparse
from weald._sparse_frames import apart_from_gaps, has_sparse_columns, of_sparse_columns
from weald._validation import Float, canonical, over_same_memory, rows_there

# The attribute of regressors that were fitted to sparse y; see `Target.container`.
CONTAINER = "_container"


@dataclass(frozen=True)
class LabelFormat:
    """The type of multi-label `y`, so that `predict` can return the same."""

    dtype: np.dtype[Any]
    # Class of sparse results; None for dense results.
    container: type[Any] | None

    def build(self, labels: NDArray[np.bool_]) -> Any:
        """Return labels in this format.

        Parameters
        ----------
        labels : bool ndarray of shape (n_samples, n_labels)
            Whether each sample has each label.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_labels)
            The labels in the container and dtype of the y of `fit`.
        """
        if self.container is None:
            return labels.astype(self.dtype)
        return self.container(labels).astype(self.dtype)


# Pickles contain the name of this class, and users of skops must list it as trusted: it has a public name.
LabelFormat.__module__ = "weald.multilabel"


@dataclass(frozen=True)
class Target:
    """y in the engine's form, and the meaning of its columns."""

    kind: Literal["numbers", "classes", "labels"]
    # y in the form that the engine takes.
    engine: Any
    n_outputs: int
    # Classes of each output; empty for numerical outputs and labels.
    classes: list[NDArray[Any]]
    # Checked y: an array of shape (n_samples, n_outputs), CSR labels, or sparse numerical outputs as CSR.
    original: Any
    # Only for labels.
    label_format: LabelFormat | None = None
    # Names of the outputs, if y has names.
    names: NDArray[np.object_] | None = None
    # The mask of unknown values, see `weald._masks`; `original` has placeholders there.
    mask: Any = None
    # For sparse numerical outputs, whether y is a sparse "array" or "matrix"; predictions have the same type.
    container: str | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class of each output of classes."""
        return sum(map(len, self.classes)) if self.kind == "classes" else self.n_outputs

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """These samples in the engine's form."""
        if self.kind == "numbers":
            return self.engine[rows] if self.container is None else _engine_of_numbers(self.original[rows])
        if self.kind == "classes":
            return self.engine[0][rows], self.engine[1]
        labels = self.original[rows]
        return labels.indptr, labels.indices, self.n_outputs

    def like(self, y: Any, n_samples: int, name: str, *, what: str = "y_val") -> Any:
        """The y of other samples in the engine's form, with the same outputs and no other classes.

        `what` is its name in error messages.
        """
        return self._like(y, n_samples, name, what, masks=False)[0]

    def like_with_gaps(self, y: Any, n_samples: int, name: str, *, what: str = "y_val") -> tuple[Any, Any]:
        """The same for y with unknown values, which are NaN in several columns of numbers or labels, and their mask."""
        found, mask = self._like(y, n_samples, name, what, masks=self.kind != "classes")
        if mask is not None and mask.sum() == n_samples * self.n_outputs:
            raise ValueError(f"{what} must have a known value in a sample of positive weight, got NaN for all of them")
        return found, mask

    def _like(self, y: Any, n_samples: int, name: str, what: str, *, masks: bool) -> tuple[Any, Any]:
        if (where := different(names_of(y, what), self.names)) is not None:
            raise ValueError(f"{what} must have {where}: outputs must be those of the fit, in the same order")
        if self.kind == "numbers":
            other = numbers(y, n_samples, name, warn_column=False, masks=masks, each_output=False)
            return self._as_wide(other.engine, what), other.mask
        if self.kind == "labels":
            has_columns, mask = has_sparse_columns(y), None
            y = of_sparse_columns(y)
            if has_columns and masks:
                y, mask = apart_from_gaps(y, n_samples, None)
                if mask is not None and y.shape[1] == 1:
                    raise ValueError(_OF_ONE_OUTPUT)
            elif not is_sparse(y):
                y = _dense(y, None, n_samples, name, warn_column=False, masks=masks)
                mask = _mask_of_dense(y, None, None, None, each_output=False) if masks else None
                y = sparse.csr_array(y if mask is None else np.where(mask, 0, y))
            labels = _labels(self._as_wide(sparse_labels(y, n_samples), what), LabelFormat(y.dtype, None))
            return labels.engine, None if mask is None else sparse.csr_array(mask)
        if is_sparse(y):
            raise TypeError(f"{what} must be dense, since y contains classes, got a sparse matrix: pass toarray()")
        y = self._as_wide(_dense(y, None, n_samples, name, warn_column=False), what)
        codes = np.zeros(y.shape, dtype=np.uint32)
        for j, found in enumerate(self.classes):
            if not (known := np.isin(y[:, j], found)).all():
                raise ValueError(f"{what} must have classes of the training data, got {y[~known, j][:1].tolist()[0]!r}")
            codes[:, j] = np.searchsorted(found, y[:, j])
        return (codes, self.engine[1]), None

    def _as_wide(self, y: Any, what: str) -> Any:
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"{what} must have {self.n_outputs} outputs, as y, got {y.shape[1]}")
        return y


def numbers(
    y: Any,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    weights: Float | None = None,
    masks: bool = False,
    y_mask: Any = None,
    each_output: bool = True,
    keeps_sparse: bool = False,
) -> Target:
    """Targets of a regressor. The y of samples with weight zero is not read.

    With `masks`, values that are NaN or marked by `y_mask` are unknown; with `each_output`, each output must have known
    values. Sparse y stays sparse with `keeps_sparse`; otherwise it is converted to a dense array.
    """
    if is_sparse(y):
        entries = _sparse_numbers(y, n_samples, weights)
        if y_mask is not None:
            raise ValueError("y_mask does not support sparse regression targets: pass y.toarray()")
        if keeps_sparse:
            container = "array" if isinstance(y, sparse.sparray) else "matrix"
            engine = _engine_of_numbers(entries)
            return Target("numbers", engine, entries.shape[1], [], entries, container=container)
        y, warn_column = entries.toarray(), False
    names = names_of(y)
    if has_sparse_columns(y):
        y = of_sparse_columns(y).toarray()
    y = _dense(y, np.float64, n_samples, name, warn_column=warn_column, weights=weights, masks=masks)
    mask = _mask_of_dense(y, y_mask, weights, names, each_output=each_output) if masks else None
    return Target("numbers", y, y.shape[1], [], y, names=names, mask=mask)


_OF_ONE_OUTPUT = "Input y contains NaN and has one output: samples with unknown y must be left out, or masked by y_mask"


def _mask_of_dense(y: NDArray[Any], y_mask: Any, weights: Float | None, names: Any, *, each_output: bool = True) -> Any:
    """Mask of the values of y that are NaN or marked by `y_mask`.

    With `each_output`, raises for outputs without known values.
    """
    told = None if y_mask is None else _masks.dense(_masks.check(y_mask, y.shape))
    missing = _masks.of_missing(y)
    if missing is not None and y.shape[1] == 1 and (told is None or (missing & ~told).any()):
        raise ValueError(_OF_ONE_OUTPUT)
    mask = _masks.join(missing, told)
    if each_output:
        _masks.weights_of_known(mask, weights, names)
    return mask


def label_classes(n_labels: int) -> NDArray[np.int64]:
    """`classes_` of labels: their indices, or for one and two labels 0 and 1 for each label.

    scikit-learn's scorers interpret the columns of probabilities by `classes_`, and would take two indices for two
    classes of one output; its `check_classifier_multioutput` expects indices for three labels.
    """
    return np.arange(n_labels) if n_labels > 2 else np.tile(np.arange(2), (n_labels, 1))


def classes(
    y: Any,
    weights: Float | None,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    multi_label: str | bool = "auto",
    masks: bool = False,
    y_mask: Any = None,
) -> Target:
    """Targets of a classifier: classes, or labels. With "auto", y is labels if it is sparse or has columns of 0 and 1.

    The y of samples with weight zero is not read, and their classes are not among `classes_`. With `masks`, NaN in
    dense y of floats and values marked by `y_mask` are unknown.
    """
    names = names_of(y)
    has_columns = has_sparse_columns(y)
    y = of_sparse_columns(y)
    if is_sparse(y):
        if multi_label is False:
            raise ValueError("multi_label=False does not support sparse y, which contains labels: pass y.toarray()")
        container = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
        y, missing = apart_from_gaps(y, n_samples, weights) if has_columns and masks else (y, None)
        labels = sparse_labels(y, n_samples, weights)
        told = _masks.check(y_mask, labels.shape) if masks and y_mask is not None else None
        if missing is not None and labels.shape[1] == 1 and (told is None or (missing > sparse.csr_array(told)).nnz):
            raise ValueError(_OF_ONE_OUTPUT)
        mask = _masks.join(missing, told)
        if mask is not None:
            mask = sparse.csr_array(mask)
            _masks.weights_of_known(mask, weights, names)
            labels = sparse.csr_array(labels > labels.multiply(mask))
        return _labels(labels, LabelFormat(y.dtype, container), names, mask)
    if multi_label is True and np.ndim(y) != 2:
        raise ValueError(
            f"y must have shape (n_samples, n_labels) with multi_label=True, got an array with {np.ndim(y)} "
            "dimension(s)"
        )
    warn_column = warn_column and multi_label is not True
    y = _dense(y, None, n_samples, name, warn_column=warn_column, weights=weights, masks=masks)
    mask = _mask_of_dense(y, y_mask, weights, names) if masks else None
    if mask is not None:
        weights = _masks.weights_of_known(mask, weights, names)
        y = _masks.fill(y, mask, weights)
    if multi_label is True and not is_binary(y):
        raise ValueError("y must have the values 0 and 1 with multi_label=True, got other values")
    if multi_label is True or (multi_label == "auto" and y.shape[1] > 1 and is_binary(y)):
        labels = sparse.csr_array(y != 0 if mask is None else (y != 0) & ~mask)
        return _labels(labels, LabelFormat(y.dtype, None), names, None if mask is None else sparse.csr_array(mask))
    check_classification_targets(y)
    kept = slice(None) if weights is None else weights > 0
    codes = np.zeros(y.shape, dtype=np.uint32)
    found = []
    for j in range(y.shape[1]):
        values, codes[kept, j] = np.unique(y[kept, j], return_inverse=True)
        found.append(values)
    engine = (codes, [len(values) for values in found])
    return Target("classes", engine, y.shape[1], found, y, names=names, mask=mask)


def _dense(
    y: Any,
    dtype: Any,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    weights: Float | None = None,
    masks: bool = False,
) -> NDArray[Any]:
    """Columns of y. Samples with weight zero get the y of another sample. With `masks`, floats may be NaN."""
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    there = rows_there(weights)
    if there is not None:
        check_consistent_length(np.broadcast_to(np.False_, n_samples), y)
        y = _safe_indexing(y, there)
    rules = {"ensure_2d": False, "dtype": dtype, "input_name": "y", "estimator": name}
    y = np.atleast_1d(check_array(y, ensure_all_finite="allow-nan" if masks else True, **rules))
    if masks and y.dtype.kind == "O":
        y = check_array(y, **rules)
    if there is not None:
        present, y = y, np.empty((n_samples, *y.shape[1:]), dtype=y.dtype)
        y[:] = present[0]
        y[there] = present
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


def is_binary(y: NDArray[Any]) -> bool:
    """Whether y holds the numbers 0 and 1 only."""
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())


def _check_sparse_y(y: Any, n_samples: int, columns: str, values: str) -> None:
    """Raise unless sparse y has `n_samples` rows and a numerical type. `columns` and `values` are for messages."""
    if y.ndim != 2:
        raise ValueError(f"y must have shape (n_samples, {columns}), got a sparse array with {y.ndim} dimension(s)")
    if y.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, y has {y.shape[0]}"
        )
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y must be {values} (bool, int or float), got a sparse matrix of dtype {y.dtype}")


def _sparse_numbers(y: Any, n_samples: int, weights: Float | None) -> sparse.csr_array:
    """A copy of the nonzero entries of y as float64. Samples with weight zero have none."""
    _check_sparse_y(y, n_samples, "n_outputs", "numbers")
    if y.shape[1] == 0:
        raise ValueError("y must have at least one output, got a sparse matrix with 0 columns")
    entries = canonical(y, "y").tocoo()
    values = entries.data.astype(np.float64)
    there = values != 0
    if weights is not None:
        there &= weights[entries.row] > 0
    values = values[there]
    if not np.isfinite(values).all():
        raise ValueError(
            "y must be finite if it is sparse, got NaN or infinity; pass y.toarray(), in which NaN among "
            "several outputs is an unknown entry"
        )
    return sparse.csr_array((values, (entries.row[there], entries.col[there])), shape=y.shape)


def _engine_of_numbers(entries: sparse.csr_array) -> Any:
    return entries.indptr, entries.indices, entries.data, entries.shape[1]


def sparse_labels(y: Any, n_samples: int, weights: Float | None = None) -> sparse.csr_array:
    """A copy of the pattern of the ones of y. Samples with weight zero have none."""
    _check_sparse_y(y, n_samples, "n_labels", "0/1 labels")
    entries = over_same_memory(y, "y", every_entry=True).tocoo()
    if weights is not None and not weights.all():
        # A new matrix, which checks the indices before they are used.
        entries = sparse.coo_array((entries.data, (entries.row, entries.col)), shape=y.shape)
        there = weights[entries.row] > 0
        entries = sparse.coo_array((entries.data[there], (entries.row[there], entries.col[there])), shape=y.shape)
    wrong = ~np.isin(entries.data, (0, 1))
    if wrong.any():
        value = float(entries.data[wrong][0])
        raise ValueError(
            f"y must have the values 0 and 1 for labels, got {value:g}; sparse y always contains labels, and classes "
            "must be passed as a dense array"
        )
    # As booleans, duplicate entries of a label count once.
    labels = sparse.csr_array((entries.data.astype(np.bool_), (entries.row, entries.col)), shape=y.shape)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    return labels


def with_label_names(target: Target, names: Any) -> Target:
    """The target with the argument `label_names`, if it is given, as the names of its labels."""
    if names is None:
        return target
    if target.kind != "labels":
        raise ValueError(f"label_names is only supported for y of labels, got y of {target.kind}")
    found = label_names(names, target.n_outputs)
    if (where := different(target.names, found)) is not None:
        raise ValueError(f"y must have {where}: label_names must be the names of the columns of y, or None")
    return replace(target, names=found)


def _labels(
    labels: Any, label_format: LabelFormat, names: NDArray[np.object_] | None = None, mask: Any = None
) -> Target:
    n_labels = labels.shape[1]
    engine = (labels.indptr, labels.indices, n_labels)
    return Target("labels", engine, n_labels, [], labels, label_format, names, mask)
