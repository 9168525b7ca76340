"""What y is: numbers, classes or labels. Its checks, and its conversion to the engine's form.

Every function and method with an argument y, of whatever name, asks this module. Errors name the argument and what is
accepted. The caller's arrays are never modified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from weald._input import masks as _masks
from weald._input import registry
from weald._input.checks import Float, is_floats, named, rows_there
from weald._input.columns import as_frame
from weald._input.described import cut
from weald._input.frames import different, label_names, names_of
from weald._input.sklearn_private import num_samples
from weald._input.sparse import Mask, Matrix, MatrixLike, Raw, is_sparse
from weald._input.sparse_frames import apart_from_gaps, has_sparse_columns, of_sparse_columns
from weald._input.y_columns import (
    check_array_of_y,
    check_length,
    check_no_dates,
    check_same_kind,
    dense,
    engine_of_numbers,
    first_text,
    is_binary,
    sparse_labels,
    sparse_numbers,
    without_hidden,
)

if TYPE_CHECKING:
    from weald._parameters.types import Prediction

# The attribute of regressors that were fitted to sparse y; see `Target.container`.
CONTAINER = "_container"


@registry.stored(registry.PARTS, "weald.multilabel")
@dataclass(frozen=True)
class LabelFormat:
    """The type of multi-label `y`, so that `predict` can return the same."""

    dtype: np.dtype[Any]
    # Class of sparse results; None for dense results.
    container: type[Any] | None

    def build(self, labels: NDArray[np.bool_] | sparse.csr_array) -> Prediction:
        """Return labels in this format.

        Parameters
        ----------
        labels : bool ndarray or CSR of shape (n_samples, n_labels)
            Whether each sample has each label.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_labels)
            The labels in the container and dtype of the y of `fit`.
        """
        if self.container is None:
            return labels.astype(self.dtype)
        return self.container(labels).astype(self.dtype)


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
    # The mask of unknown values, see `weald._input.masks`; `original` has placeholders there.
    mask: Any = None
    # For sparse numerical outputs, whether y is a sparse "array" or "matrix"; predictions have the same type.
    container: str | None = None
    # The number of quantiles that are fitted to each numerical output: `engine` and `mask` have a column for each of them.
    n_levels: int = 1

    @property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class of each output of classes, and for each quantile."""
        return sum(map(len, self.classes)) if self.kind == "classes" else self.n_outputs * self.n_levels

    def with_levels(self, n_levels: int) -> Target:
        """The same for this number of quantiles of each output."""
        if n_levels == 1:
            return self
        engine, mask = (
            None if part is None else np.repeat(part, n_levels, axis=1) for part in (self.engine, self.mask)
        )
        return replace(self, engine=engine, mask=mask, n_levels=n_levels)

    def weights_of_known(self, mask: Mask, weights: Float | None) -> Float | None:
        """Weights that are zero for samples without a known value by this mask; raises for an output without any."""
        narrow = mask if mask is None or self.n_levels == 1 else mask[:, :: self.n_levels]
        return _masks.weights_of_known(narrow, weights, self.names)

    def rows(self, rows: NDArray[np.integer]) -> Any:
        """These samples in the engine's form."""
        if self.kind == "numbers":
            return self.engine[rows] if self.container is None else engine_of_numbers(self.original[rows])
        if self.kind == "classes":
            return self.engine[0][rows], self.engine[1]
        labels = self.original[rows]
        return labels.indptr, labels.indices, self.n_outputs

    def like(self, y: MatrixLike, n_samples: int, name: str, *, what: str = "y_val") -> Any:
        """The y of other samples in the engine's form, with the same outputs and no other classes.

        `what` is its name in error messages.
        """
        return self._like(y, n_samples, name, what, masks=False)[0]

    def like_with_gaps(
        self,
        y: MatrixLike | None,
        n_samples: int,
        name: str,
        *,
        what: str = "y_val",
        y_mask: MatrixLike | None = None,
        of_classes: bool = False,
    ) -> tuple[Any, Any]:
        """The same for y with unknown values, and their mask: those of `y_mask`, and NaN in several columns.

        Without `of_classes` and a mask, NaN in classes is an error.
        """
        masks = of_classes or self.kind != "classes" or y_mask is not None
        found, mask = self._like(y, n_samples, name, what, masks=masks, y_mask=y_mask)
        if mask is not None and mask.sum() == n_samples * self.n_outputs * self.n_levels:
            unknown = "NaN" if y_mask is None else "NaN or masked entries"
            raise ValueError(
                f"{what} must have a known value in a sample of positive weight, got {unknown} for all of them"
            )
        return found, mask

    def _like(
        self, y: Raw, n_samples: int, name: str, what: str, *, masks: bool, y_mask: MatrixLike | None = None
    ) -> tuple[Any, Any]:
        y, mask = self.read(y, n_samples, name, what=what, masks=masks, y_mask=y_mask)
        if self.kind == "numbers":
            wide = replace(self, engine=y, mask=mask, n_levels=1).with_levels(self.n_levels)
            return wide.engine, wide.mask
        if self.kind == "labels":
            return _labels(y, LabelFormat(np.dtype(np.bool_), None)).engine, mask
        codes = np.zeros(y.shape, dtype=np.uint32)
        for j, found in enumerate(self.classes):
            there = np.arange(len(y)) if mask is None else np.flatnonzero(~mask[:, j])
            column = y[there, j]
            if not (known := np.isin(column, found)).all():
                raise ValueError(
                    f"{what} must have classes of the training data, got {column[~known][:1].tolist()[0]!r}"
                )
            codes[there, j] = np.searchsorted(found, column)
        return (codes, self.engine[1]), mask

    def read(
        self,
        y: Any,
        n_samples: int,
        name: str,
        *,
        what: str = "y",
        masks: bool = True,
        y_mask: MatrixLike | None = None,
    ) -> tuple[Any, Any]:
        """The y of other samples, of the same kind and with the same outputs, and the mask of its unknown values.

        The result is a dense array of numbers or of classes, which may differ from those of the fit, or CSR labels.
        """
        check_array_of_y(y, what)
        names = names_of(y, what)
        if (where := different(names, self.names)) is not None:
            raise ValueError(f"{what} must have {where}: outputs must be those of the fit, in the same order")
        names = self.names if names is None else names
        if not is_sparse(y) and not has_sparse_columns(y):
            y, y_mask = _without_hidden(y, y_mask, n_samples, None, names, what)
        told: Any = y_mask
        rules: dict[str, Any] = {"what": what, "masks": masks, "y_mask": y_mask}
        if self.kind == "labels":
            if not is_sparse(y) and not has_sparse_columns(y) and np.ndim(y) == 1 and self.n_outputs == 1:
                y = dense(y, None, n_samples, name, what=what, warn_column=False, masks=masks)
            target = labels(y, n_samples, **rules)
        elif self.kind == "numbers":
            rules |= {"warn_column": False, "each_output": False}
            target = numbers(y, n_samples, name, **rules)
        else:
            if is_sparse(y) or has_sparse_columns(y):
                raise TypeError(f"{what} must be dense, since y contains classes, got a sparse matrix: pass toarray()")
            found = dense(y, None, n_samples, name, what=what, warn_column=False, masks=masks)
            mask: Any = _mask_of_dense(found, told, None, None, what=what, each_output=False) if masks else None
            for j, (column, classes) in enumerate(zip(self._as_wide(found, what).T, self.classes, strict=True)):
                known = column if mask is None else column[~mask[:, j]]
                check_same_kind(known, classes, what)
            return found, mask
        return self._as_wide(target.original, what), target.mask

    def _as_wide(self, y: Raw, what: str) -> Matrix:
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"{what} must have {self.n_outputs} outputs, as in the fit, got {y.shape[1]}")
        return y


def numbers(
    y: Raw,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    weights: Float | None = None,
    masks: bool = False,
    y_mask: MatrixLike | None = None,
    each_output: bool = True,
    keeps_sparse: bool = False,
    what: str = "y",
) -> Target:
    """Targets of a regressor. The y of samples with weight zero is not read.

    With `masks`, values that are NaN or marked by `y_mask` are unknown; with `each_output`, each output must have known
    values. Sparse y stays sparse with `keeps_sparse` if all its values are known; otherwise it is converted to a dense array.
    """
    of_floats = is_floats(y)
    if not of_floats:
        check_array_of_y(y, what)
    if not of_floats and is_sparse(y):
        entries = sparse_numbers(y, n_samples, weights, what)
        if keeps_sparse and (y_mask is None or _masks.check(y_mask, entries.shape) is None):
            container = "array" if isinstance(y, sparse.sparray) else "matrix"
            engine = engine_of_numbers(entries)
            return Target("numbers", engine, entries.shape[1], [], entries, container=container)
        y, warn_column, of_floats = entries.toarray(), False, True
    names = None
    if not of_floats:
        names = names_of(y, what)
        if has_sparse_columns(y):
            y = of_sparse_columns(y).toarray()
    y, told = _without_hidden(y, y_mask, n_samples, weights, names, what) if masks else (y, None)
    if not of_floats:
        check_no_dates(y, what)
    try:
        found = dense(y, np.float64, n_samples, name, what=what, warn_column=warn_column, weights=weights, masks=masks)
    except ValueError as error:
        if (text := first_text(y)) is None:
            raise
        other = f": {name.removesuffix('Regressor')}Classifier is for classes" if name.endswith("Regressor") else ""
        raise ValueError(f"{what} must have numbers, got {cut(repr(text))}{other}") from error
    y = found
    mask = _mask_of_dense(y, told, weights, names, what=what, each_output=each_output) if masks else None
    return Target("numbers", y, y.shape[1], [], y, names=names, mask=mask)


_OF_ONE_OUTPUT = (
    "Input {what} contains NaN and has one output: samples with unknown {what} must be left out, or masked by y_mask"
)


def _without_hidden(
    y: Raw, y_mask: Any, n_samples: int, weights: Float | None, names: NDArray[np.object_] | None, what: str
) -> tuple[Any, Any]:
    """Dense y with known values in place of those that `y_mask` marks, which are not read, and the checked mask.

    Samples of weight zero, which get the y of another sample, get its mask as well.
    """
    if y_mask is None:
        return y, None
    check_length(y, n_samples, what)
    shape = np.shape(y)
    told = _masks.dense(_masks.check(y_mask, (shape[0], shape[1] if len(shape) == 2 else 1), names))
    if told is None or len(shape) > 2:
        return y, None
    y = without_hidden(y, told, weights)
    there = rows_there(weights)
    if there is not None:
        told = told.copy()
        told[weights == 0] = told[there[0]]
    return y, told if told.any() else None


def _mask_of_dense(
    y: NDArray[Any],
    told: NDArray[np.bool_] | None,
    weights: Float | None,
    names: NDArray[np.object_] | None,
    *,
    what: str = "y",
    each_output: bool = True,
) -> Mask:
    """Mask of the values of y that are NaN or marked by a checked mask, that of `_without_hidden`.

    With `each_output`, raises for outputs without known values.
    """
    missing = _masks.of_missing(y)
    if missing is not None and y.shape[1] == 1 and (told is None or (missing & ~told).any()):
        raise ValueError(_OF_ONE_OUTPUT.format(what=what.removeprefix("its ")))
    mask = missing if told is None else _masks.join(missing, told)
    if each_output and mask is not None:
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
    check_array_of_y(y, "y")
    rules: dict[str, Any] = {"masks": masks, "y_mask": y_mask}
    if is_sparse(y) or has_sparse_columns(y):
        if multi_label is False:
            raise ValueError("multi_label=False does not support sparse y, which contains labels: pass y.toarray()")
        return labels(y, n_samples, weights, each_output=True, **rules)
    if multi_label is True:
        if np.ndim(y) != 2:
            raise ValueError(
                "y must have shape (n_samples, n_labels) with multi_label=True, got an array with "
                f"{np.ndim(y)} dimension(s)"
            )
        return labels(y, n_samples, weights, each_output=True, **rules)
    names = names_of(y)
    y, told = _without_hidden(y, y_mask, n_samples, weights, names, "y") if masks else (y, None)
    y = dense(y, None, n_samples, name, warn_column=warn_column, weights=weights, masks=masks)
    mask = _mask_of_dense(y, told, weights, names) if masks else None
    if mask is not None:
        weights = _masks.weights_of_known(mask, weights, names)
        y = _masks.fill(y, _masks.dense(mask), weights)
    if multi_label == "auto" and y.shape[1] > 1 and is_binary(y):
        return _labels(*_apart(y, mask), names)
    if y.dtype.kind in "mM":
        raise ValueError(f"y must be classes, or labels of 0 and 1, got dates or times of dtype {y.dtype}")
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"y must be classes, or labels of 0 and 1. {error}") from error
    kept = slice(None) if weights is None else weights > 0
    codes = np.zeros(y.shape, dtype=np.uint32)
    found = []
    for j in range(y.shape[1]):
        with named("y"):
            values, codes[kept, j] = np.unique(y[kept, j], return_inverse=True)
        found.append(values)
    engine = (codes, [len(values) for values in found])
    return Target("classes", engine, y.shape[1], found, y, names=names, mask=mask)


def labels(
    y: Raw,
    n_samples: int | None = None,
    weights: Float | None = None,
    *,
    what: str = "y",
    masks: bool = True,
    y_mask: MatrixLike | None = None,
    each_output: bool = False,
) -> Target:
    """Labels: a matrix of 0 and 1 of any container, which is called `what` in messages.

    This function alone decides what labels are. Other values raise an error, since two values such as -1 and 1 are
    classes for `fit`. With `masks`, NaN in dense arrays and frames, and entries marked by `y_mask`, are unknown. With
    `each_output`, as in a fit, each label must have known values. The y of samples with weight zero is not read.
    """
    check_array_of_y(y, what)
    if len(shape := np.shape(y)) != 2:
        kind = "a sparse array" if is_sparse(y) else "an array"
        raise ValueError(f"{what} must have shape (n_samples, n_labels), got {kind} with {len(shape)} dimension(s)")
    n_samples = shape[0] if n_samples is None else n_samples
    names = names_of(y, what)
    marks = has_sparse_columns(y) or isinstance(y, WithGaps)
    y = of_sparse_columns(y)
    if is_sparse(y):
        container = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
        if isinstance(y, WithGaps) and not masks and np.isnan(y.data).any():
            raise ValueError(f"{what} must have no unknown entries, which are not supported here, got some")
        y, missing = apart_from_gaps(y, n_samples, weights) if marks and masks else (y, None)
        told = None if y_mask is None or not masks else _masks.check(y_mask, y.shape, names)
        found, form = sparse_labels(y, n_samples, weights, what, told), LabelFormat(y.dtype, container)
        if each_output and missing is not None and found.shape[1] == 1:
            _check_told(missing, told, what)
        mask = _masks.join(missing, told)
        if mask is not None:
            mask = sparse.csr_array(mask)
            found = sparse.csr_array(found > found.multiply(mask))
    else:
        y, told = _without_hidden(y, y_mask, n_samples, weights, names, what) if masks else (y, None)
        y = dense(y, None, n_samples, "", what=what, warn_column=False, weights=weights, masks=masks)
        missing = _masks.of_missing(y) if masks else None
        if each_output and missing is not None and y.shape[1] == 1:
            _check_told(missing, told, what)
        gaps = _masks.join(missing, told)
        if y.dtype.kind not in "biuf" or not is_binary(y if gaps is None else np.where(gaps, 0, y)):
            raise ValueError(_not_binary(y if gaps is None else y[~gaps], what))
        found, form, mask = _apart(y, gaps)
    if mask is not None:
        mask.sort_indices()
        if each_output:
            _masks.weights_of_known(mask, weights, names)
    return _labels(found, form, mask, names)


class WithGaps(sparse.csr_array):
    """Sparse labels whose entries that are NaN are unknown, for functions of scikit-learn that select rows of y."""


def with_gaps(y: Raw, y_mask: MatrixLike | None) -> Any:
    """Numbers or labels with NaN in place of the entries that `y_mask` marks."""
    if y_mask is None or y is None:
        return y
    if is_sparse(y) and not np.isin(y.data, (0, 1)).all():
        y = y.toarray()
    if is_sparse(y) or has_sparse_columns(y):
        target = labels(y, y_mask=y_mask)
        if target.mask is None:
            return y
        gaps = sparse.csr_array((np.full(target.mask.nnz, np.nan), target.mask.indices, target.mask.indptr), y.shape)
        return WithGaps(target.original.astype(np.float64) + gaps)
    names = names_of(y)
    found, mask = known_columns(y, y_mask)
    if mask is None:
        return y
    if found.shape[1] == 1 or found.dtype.kind not in "biuf":
        raise ValueError(
            "y_mask is only supported for several columns of numbers here: samples with unknown y must be left out, "
            "and names of classes must be replaced by numbers"
        )
    found = np.where(mask, np.nan, found)
    frame = as_frame(y)
    if names is None or frame is None:
        return found
    return nw.from_dict(dict(zip(names, found.T, strict=True)), backend=frame.implementation).to_native()


def columns_of(y: MatrixLike) -> NDArray[Any]:
    """Dense y of any container as columns of an array, with NaN where it is unknown."""
    return known_columns(y, None)[0]


def known_columns(y: MatrixLike, y_mask: MatrixLike | None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The same with known values in place of those that `y_mask` marks, and the checked mask."""
    with named("y"):
        n_samples = num_samples(y)
    known, hidden = _without_hidden(y, y_mask, n_samples, None, names_of(y), "y")
    return dense(known, None, n_samples, "", warn_column=False, masks=True), hidden


def filled(y: Raw) -> tuple[Any, NDArray[np.bool_] | None]:
    """Y of several columns with known values in place of NaN, and the mask of these; y itself and None without NaN."""
    if np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return y, None
    found = columns_of(y)
    mask = _masks.of_missing(found)
    if mask is None:
        return y, None
    _masks.weights_of_known(mask, None, names_of(y))
    return _masks.fill(found, mask, None), mask


def are_labels(y: Raw) -> bool:
    """Whether `fit` takes y for labels with multi_label="auto"."""
    if y is None or is_sparse(y) or has_sparse_columns(y):
        return y is not None
    if np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return False
    found = columns_of(y)
    mask = _masks.of_missing(found)
    return is_binary(found if mask is None else np.where(mask, 0, found))


def _check_told(missing: Any, told: Any, what: str) -> None:
    """Raise for the unknown values of a single label that no mask marks."""
    if told is None or (sparse.csr_array(missing) > sparse.csr_array(told)).nnz:
        raise ValueError(_OF_ONE_OUTPUT.format(what=what.removeprefix("its ")))


def _apart(y: NDArray[Any], mask: Any) -> tuple[sparse.csr_array, LabelFormat, sparse.csr_array | None]:
    """The labels that are 1 and known, their format, and the pattern of the unknown ones."""
    ones = sparse.csr_array(y != 0 if mask is None else (y != 0) & ~mask)
    return ones, LabelFormat(y.dtype, None), None if mask is None else sparse.csr_array(mask)


def _not_binary(values: NDArray[Any], what: str) -> str:
    flat = values.ravel()
    wrong = flat if flat.dtype.kind not in "biuf" else flat[(flat != 0) & (flat != 1)]
    shown = f"{float(wrong[0]):g}" if wrong.dtype.kind in "biuf" else repr(wrong[:1].tolist()[0])
    return f"{what} must have the values 0 and 1 for labels, got {shown}"


def with_label_names(target: Target, names: object, y_mask: Raw = None) -> Target:
    """The target with the argument `label_names`, if it is given, as the names of its labels, and of the columns of a mask."""
    if names is None:
        return target
    if target.kind != "labels":
        raise ValueError(f"label_names is only supported for y of labels, got y of {target.kind}")
    found = label_names(names, target.n_outputs)
    if (where := different(target.names, found)) is not None:
        raise ValueError(f"y must have {where}: label_names must be the names of the columns of y, or None")
    if target.names is None and (where := different(names_of(y_mask, "y_mask"), found)) is not None:
        raise ValueError(f"y_mask must have {where}: its columns must be those of label_names, in the same order")
    return replace(target, names=found)


def _labels(
    labels: Any, label_format: LabelFormat, mask: object = None, names: NDArray[np.object_] | None = None
) -> Target:
    n_labels = labels.shape[1]
    engine = (labels.indptr, labels.indices, n_labels)
    return Target("labels", engine, n_labels, [], labels, label_format, names, mask)
