"""What y is: numbers, classes or labels. Its checks, and its conversion to the engine's form.

Every function and method with an argument y, of whatever name, asks this module. Errors name the argument and what is
accepted. The caller's arrays are never modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from weald._input import masks as _masks
from weald._input import registry, warned
from weald._input.checks import Float, canonical, is_float, is_floats, named, over_same_memory, rows_there
from weald._input.columns import Columns, as_frame, is_missing, with_nan
from weald._input.described import cut, described
from weald._input.frames import different, label_names, names_of
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import is_sparse
from weald._input.sparse_frames import apart_from_gaps, has_sparse_columns, of_sparse_columns

# The attribute of regressors that were fitted to sparse y; see `Target.container`.
CONTAINER = "_container"


@registry.stored(registry.PARTS, "weald.multilabel")
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

    def like_with_gaps(
        self, y: Any, n_samples: int, name: str, *, what: str = "y_val", y_mask: Any = None, of_classes: bool = False
    ) -> tuple[Any, Any]:
        """The same for y with unknown values, and their mask: those of `y_mask`, and NaN in several columns.

        Without `of_classes` and a mask, NaN in classes is an error.
        """
        masks = of_classes or self.kind != "classes" or y_mask is not None
        found, mask = self._like(y, n_samples, name, what, masks=masks, y_mask=y_mask)
        if mask is not None and mask.sum() == n_samples * self.n_outputs:
            unknown = "NaN" if y_mask is None else "NaN or masked entries"
            raise ValueError(
                f"{what} must have a known value in a sample of positive weight, got {unknown} for all of them"
            )
        return found, mask

    def _like(
        self, y: Any, n_samples: int, name: str, what: str, *, masks: bool, y_mask: Any = None
    ) -> tuple[Any, Any]:
        y, mask = self.read(y, n_samples, name, what=what, masks=masks, y_mask=y_mask)
        if self.kind == "numbers":
            return y, mask
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
        self, y: Any, n_samples: int, name: str, *, what: str = "y", masks: bool = True, y_mask: Any = None
    ) -> tuple[Any, Any]:
        """The y of other samples, of the same kind and with the same outputs, and the mask of its unknown values.

        The result is a dense array of numbers or of classes, which may differ from those of the fit, or CSR labels.
        """
        check_array_of_y(y, what)
        if (where := different(names_of(y, what), self.names)) is not None:
            raise ValueError(f"{what} must have {where}: outputs must be those of the fit, in the same order")
        rules: dict[str, Any] = {"what": what, "masks": masks, "y_mask": y_mask}
        if self.kind == "labels":
            if not is_sparse(y) and not has_sparse_columns(y) and np.ndim(y) == 1 and self.n_outputs == 1:
                y = _dense(y, None, n_samples, name, what=what, warn_column=False, masks=masks)
            target = labels(y, n_samples, **rules)
        elif self.kind == "numbers":
            rules |= {"warn_column": False, "each_output": False}
            target = numbers(y, n_samples, name, **rules)
        else:
            if is_sparse(y) or has_sparse_columns(y):
                raise TypeError(f"{what} must be dense, since y contains classes, got a sparse matrix: pass toarray()")
            found = _dense(y, None, n_samples, name, what=what, warn_column=False, masks=masks)
            mask = _mask_of_dense(found, y_mask, None, None, what=what, each_output=False) if masks else None
            return self._as_wide(found, what), mask
        return self._as_wide(target.original, what), target.mask

    def _as_wide(self, y: Any, what: str) -> Any:
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"{what} must have {self.n_outputs} outputs, as in the fit, got {y.shape[1]}")
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
    what: str = "y",
) -> Target:
    """Targets of a regressor. The y of samples with weight zero is not read.

    With `masks`, values that are NaN or marked by `y_mask` are unknown; with `each_output`, each output must have known
    values. Sparse y stays sparse with `keeps_sparse`; otherwise it is converted to a dense array.
    """
    of_floats = is_floats(y)
    if not of_floats:
        check_array_of_y(y, what)
    if not of_floats and is_sparse(y):
        entries = _sparse_numbers(y, n_samples, weights, what)
        if y_mask is not None:
            raise ValueError(f"y_mask does not support sparse regression targets: pass {what}.toarray()")
        if keeps_sparse:
            container = "array" if isinstance(y, sparse.sparray) else "matrix"
            engine = _engine_of_numbers(entries)
            return Target("numbers", engine, entries.shape[1], [], entries, container=container)
        y, warn_column, of_floats = entries.toarray(), False, True
    names = None
    if not of_floats:
        names = names_of(y, what)
        if has_sparse_columns(y):
            y = of_sparse_columns(y).toarray()
        _check_no_dates(y, what)
    try:
        found = _dense(y, np.float64, n_samples, name, what=what, warn_column=warn_column, weights=weights, masks=masks)
    except ValueError as error:
        if (text := _first_text(y)) is None:
            raise
        other = f": {name.removesuffix('Regressor')}Classifier is for classes" if name.endswith("Regressor") else ""
        raise ValueError(f"{what} must have numbers, got {cut(repr(text))}{other}") from error
    y = found
    mask = _mask_of_dense(y, y_mask, weights, names, what=what, each_output=each_output) if masks else None
    return Target("numbers", y, y.shape[1], [], y, names=names, mask=mask)


def _check_no_dates(y: Any, what: str) -> None:
    """Raise for dates and times, which NumPy would convert to numbers of nanoseconds or another unit."""
    columns = Columns.of(y, what)
    if columns is not None and columns.have_types:
        found = [columns.dtype(j) for j in range(columns.count) if columns.is_date(j)]
    else:
        dtype = getattr(y, "dtype", getattr(y, "type", None))
        is_date = getattr(dtype, "kind", "O") in "mM" or str(dtype).lower().startswith(_OF_TIME)
        found = [str(dtype)] if is_date else []
    if found:
        raise ValueError(
            f"{what} must have numbers, got dates or times of dtype {found[0]}: convert them first, for example to "
            "the days since a date"
        )


_OF_TIME = ("date", "time", "duration", "period")


def _first_text(y: Any) -> str | None:
    """The first value of y that is a text and no number."""
    for value in np.asarray(y, dtype=object).ravel().tolist():
        if isinstance(value, str) and not is_float(value):
            return value
    return None


_OF_ONE_OUTPUT = (
    "Input {what} contains NaN and has one output: samples with unknown {what} must be left out, or masked by y_mask"
)


def _mask_of_dense(
    y: NDArray[Any], y_mask: Any, weights: Float | None, names: Any, *, what: str = "y", each_output: bool = True
) -> Any:
    """Mask of the values of y that are NaN or marked by `y_mask`.

    With `each_output`, raises for outputs without known values.
    """
    told = None if y_mask is None else _masks.dense(_masks.check(y_mask, y.shape))
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
    y = _dense(y, None, n_samples, name, warn_column=warn_column, weights=weights, masks=masks)
    mask = _mask_of_dense(y, y_mask, weights, names) if masks else None
    if mask is not None:
        weights = _masks.weights_of_known(mask, weights, names)
        y = _masks.fill(y, mask, weights)
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
    y: Any,
    n_samples: int | None = None,
    weights: Float | None = None,
    *,
    what: str = "y",
    masks: bool = True,
    y_mask: Any = None,
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
        y, missing = apart_from_gaps(y, n_samples, weights) if marks and masks else (y, None)
        found, form = sparse_labels(y, n_samples, weights, what), LabelFormat(y.dtype, container)
        told = None if y_mask is None or not masks else _masks.check(y_mask, found.shape)
        if each_output and missing is not None and found.shape[1] == 1:
            _check_told(missing, told, what)
        mask = _masks.join(missing, told)
        if mask is not None:
            mask = sparse.csr_array(mask)
            found = sparse.csr_array(found > found.multiply(mask))
    else:
        y = _dense(y, None, n_samples, "", what=what, warn_column=False, weights=weights, masks=masks)
        told = None if y_mask is None or not masks else _masks.dense(_masks.check(y_mask, y.shape))
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


def with_gaps(y: Any, y_mask: Any) -> Any:
    """Numbers or labels with NaN in place of the entries that `y_mask` marks."""
    if y_mask is None or y is None:
        return y
    if is_sparse(y) or has_sparse_columns(y):
        target = labels(y, y_mask=y_mask)
        if target.mask is None:
            return y
        gaps = sparse.csr_array((np.full(target.mask.nnz, np.nan), target.mask.indices, target.mask.indptr), y.shape)
        return WithGaps(target.original.astype(np.float64) + gaps)
    names, found = names_of(y), columns_of(y)
    mask = _masks.check(y_mask, found.shape)
    if mask is None:
        return y
    if found.shape[1] == 1 or found.dtype.kind not in "biuf":
        raise ValueError(
            "y_mask is only supported for several columns of numbers here: samples with unknown y must be left out, "
            "and names of classes must be replaced by numbers"
        )
    found = np.where(_masks.dense(mask), np.nan, found)
    frame = as_frame(y)
    if names is None or frame is None:
        return found
    return nw.from_dict(dict(zip(names, found.T, strict=True)), backend=frame.implementation).to_native()


def columns_of(y: Any) -> NDArray[Any]:
    """Dense y of any container as columns of an array, with NaN where it is unknown."""
    with named("y"):
        n_samples = num_samples(y)
    return _dense(y, None, n_samples, "", warn_column=False, masks=True)


def filled(y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Y of several columns with known values in place of NaN, and the mask of these; y itself and None without NaN."""
    if np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return y, None
    found = columns_of(y)
    mask = _masks.of_missing(found)
    if mask is None:
        return y, None
    _masks.weights_of_known(mask, None, names_of(y))
    return _masks.fill(found, mask, None), mask


def are_labels(y: Any) -> bool:
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


def check_array_of_y(y: Any, what: str) -> None:
    """Raise for y that is no array, frame or sparse matrix, or whose elements are lists or sets of tags.

    Lists of lists must be rows of numbers of equal length: rows of strings in plain lists are tags. Rows of classes of
    several outputs are accepted in arrays and frames.
    """
    if y is None or is_sparse(y) or (type(y) is np.ndarray and y.dtype.kind != "O"):
        return
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError(f"{what} must not be a masked array: pass {what}.data, and {what}.mask as y_mask")
    if isinstance(y, str | bytes | Mapping | Set | Iterator) or not (hasattr(y, "__len__") or hasattr(y, "__array__")):
        raise TypeError(f"{what} must be {_ACCEPTED}, got {described(y)}; {_OF_TAGS}")
    if isinstance(y, list | tuple):
        holds = _holds_tags(y)
    elif (columns := Columns.of(y, what)) is not None and columns.have_types:
        of_objects = (j for j in range(columns.count) if columns.kind(j) in ("objects", "other"))
        holds = any(_are_tags(columns.values(j)) for j in of_objects)
    elif getattr(getattr(y, "dtype", None), "kind", "O") == "O":
        cells = np.asarray(y)
        holds = cells.dtype.kind == "O" and _are_tags(cells.ravel().tolist())
    else:
        holds = False
    if holds:
        raise ValueError(f"{what} must be {_ACCEPTED}, got lists or sets of tags; {_OF_TAGS}")


_ACCEPTED = "an array, a frame or a sparse matrix of numbers, classes or 0/1 labels"
_OF_TAGS = (
    "sklearn.preprocessing.MultiLabelBinarizer converts the tags of samples to labels, and classes of several outputs "
    "must be an array or a frame"
)


def _are_tags(cells: Iterable[Any]) -> bool:
    return any(issubclass(kind, _COLLECTIONS) for kind in set(map(type, cells)))


_COLLECTIONS = (list, tuple, Set, Mapping, np.ndarray, Iterator)


def _holds_tags(rows: Any) -> bool:
    """Whether rows of plain lists are no matrix of numbers."""
    kinds = set(map(type, rows))
    if any(issubclass(kind, Set | Mapping | Iterator) for kind in kinds):
        return True
    if not any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        return False
    if len(set(map(np.size if np.ndarray in kinds else len, rows))) > 1 if _all_rows(kinds) else True:
        return True
    return any(issubclass(kind, str | bytes) for row in rows for kind in set(map(type, np.ravel(row).tolist())))


def _all_rows(kinds: set[type]) -> bool:
    return all(issubclass(kind, list | tuple | np.ndarray) for kind in kinds)


def _dense(
    y: Any,
    dtype: Any,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    weights: Float | None = None,
    masks: bool = False,
    what: str = "y",
) -> NDArray[Any]:
    """Columns of y. Samples with weight zero get the y of another sample. With `masks`, floats may be NaN."""
    if y is None:
        raise ValueError(f"This {name} estimator requires {what} to be passed, but the target {what} is None.")
    there = None if weights is None else rows_there(weights)
    if there is not None:
        _check_length(y, n_samples, what)
        y = safe_indexing(y, there)
    if not (type(y) is np.ndarray and y.dtype.kind in "fiub"):
        y = _with_nan(y)
    rules: dict[str, Any] = {"ensure_2d": False, "input_name": what.removeprefix("its "), "estimator": name or None}
    rules["ensure_all_finite"] = "allow-nan" if masks else True
    with named(rules["input_name"]):
        y = np.atleast_1d(check_array(y, dtype=dtype, **rules))
        if y.dtype.kind == "O":
            y = check_array(_of_objects(y, what), dtype=None, **rules)
    if there is not None:
        present, y = y, np.empty((n_samples, *y.shape[1:]), dtype=y.dtype)
        y[:] = present[0]
        y[there] = present
    _check_length(y, n_samples, what)
    if y.ndim == 2 and y.shape[1] == 1 and warn_column:
        message = (
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel()."
        )
        warned.warn(message, DataConversionWarning)
    columns: NDArray[Any] = y.reshape(len(y), -1)
    return columns


def _with_nan(y: Any) -> Any:
    """Y with NaN in place of pandas' NA, which neither NumPy nor scikit-learn reads."""
    if hasattr(y, "iloc"):
        dtypes = y.dtypes if y.ndim == 2 else (y.dtype,)
        return with_nan(np.asarray(y)) if any(str(dtype).startswith(("object", "str")) for dtype in dtypes) else y
    found = with_nan(y)
    if isinstance(y, list | tuple) and np.asarray(found).dtype.kind in "US":
        cells = np.array(found, dtype=object)
        # NumPy would make the text "nan" of it.
        return cells if any(map(is_missing, cells.ravel().tolist())) else found
    return found


def _check_length(y: Any, n_samples: int, what: str) -> None:
    if (n := num_samples(y)) != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, {what} has {n}"
        )


def _of_objects(y: NDArray[Any], what: str) -> NDArray[Any]:
    """An array of objects as bools, integers, or floats with NaN for None, if it holds such numbers only.

    Arrays of other objects, such as strings, must have no missing values.
    """
    cells = y.ravel().tolist()
    kinds = set(map(type, cells))
    missing = {kind for kind in kinds if kind is type(None) or kind.__name__ in ("NAType", "NaTType")}
    if kinds == missing or not all(issubclass(kind, _NUMBERS) for kind in kinds - missing):
        if missing or any(isinstance(cell, float) and cell != cell for cell in cells):
            raise ValueError(
                f"Input {what.removeprefix('its ')} contains NaN or None among other values than numbers: "
                "give the unknown class a name of its own, or leave out these samples"
            )
        return y
    if missing:
        cells = [np.nan if type(cell) in missing else cell for cell in cells]
    for kind, dtype in (((bool, np.bool_), np.bool_), ((bool, np.bool_, int, np.integer), np.int64)):
        if not missing and all(issubclass(found, kind) for found in kinds):
            return np.array(cells, dtype=dtype).reshape(y.shape)
    return np.array(cells, dtype=np.float64).reshape(y.shape)


_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)


def is_binary(y: NDArray[Any]) -> bool:
    """Whether y holds the numbers 0 and 1 only."""
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())


def _check_sparse_y(y: Any, n_samples: int, columns: str, values: str, what: str) -> None:
    """Raise unless sparse y has `n_samples` rows and a numerical type. `columns` and `values` are for messages."""
    if y.ndim != 2:
        raise ValueError(
            f"{what} must have shape (n_samples, {columns}), got a sparse array with {y.ndim} dimension(s)"
        )
    _check_length(y, n_samples, what)
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be {values} (bool, int or float), got a sparse matrix of dtype {y.dtype}")


def _sparse_numbers(y: Any, n_samples: int, weights: Float | None, what: str) -> sparse.csr_array:
    """A copy of the nonzero entries of y as float64. Samples with weight zero have none."""
    _check_sparse_y(y, n_samples, "n_outputs", "numbers", what)
    if y.shape[1] == 0:
        raise ValueError(f"{what} must have at least one output, got a sparse matrix with 0 columns")
    entries = canonical(y, what).tocoo()
    values = entries.data.astype(np.float64)
    there = values != 0
    if weights is not None:
        there &= weights[entries.row] > 0
    values = values[there]
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} must be finite if it is sparse, got NaN or infinity; pass {what}.toarray(), in which NaN among "
            "several outputs is an unknown entry"
        )
    return sparse.csr_array((values, (entries.row[there], entries.col[there])), shape=y.shape)


def _engine_of_numbers(entries: sparse.csr_array) -> Any:
    return entries.indptr, entries.indices, entries.data, entries.shape[1]


def sparse_labels(y: Any, n_samples: int, weights: Float | None = None, what: str = "y") -> sparse.csr_array:
    """A copy of the pattern of the ones of y. Samples with weight zero have none."""
    _check_sparse_y(y, n_samples, "n_labels", "0/1 labels", what)
    entries = over_same_memory(y, what, every_entry=True).tocoo()
    if weights is not None and not weights.all():
        # A new matrix, which checks the indices before they are used.
        entries = sparse.coo_array((entries.data, (entries.row, entries.col)), shape=y.shape)
        there = weights[entries.row] > 0
        entries = sparse.coo_array((entries.data[there], (entries.row[there], entries.col[there])), shape=y.shape)
    wrong = ~np.isin(entries.data, (0, 1))
    if wrong.any():
        value = float(entries.data[wrong][0])
        raise ValueError(
            f"{what} must have the values 0 and 1 for labels, got {value:g}; sparse {what} always contains labels, and "
            "classes must be passed as a dense array"
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
    labels: Any, label_format: LabelFormat, mask: Any = None, names: NDArray[np.object_] | None = None
) -> Target:
    n_labels = labels.shape[1]
    engine = (labels.indptr, labels.indices, n_labels)
    return Target("labels", engine, n_labels, [], labels, label_format, names, mask)
