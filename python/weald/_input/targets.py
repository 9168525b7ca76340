"""What y is: numbers, classes or labels. Its checks, and its conversion to the engine's form.

Every function and method with an argument y, of whatever name, asks this module. Errors name the argument and what is
accepted. The caller's arrays are never modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from weald import _weald
from weald._input import masks as _masks
from weald._input import messages, registry
from weald._input.checks import Float, canonical, is_float, is_floats, named, over_same_memory, rows_there
from weald._input.frames import (
    Columns,
    as_frame,
    check_collected,
    check_same_names,
    is_missing,
    label_names,
    names_of,
    unreal,
    with_nan,
)
from weald._input.masks import KnownCells
from weald._input.messages import cut, described
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import (
    Matrix,
    MatrixLike,
    Raw,
    apart_from_gaps,
    has_sparse_columns,
    is_sparse,
    of_sparse_columns,
)

if TYPE_CHECKING:
    from weald._parameters.types import Prediction


def check_no_dates(y: Raw, what: str) -> None:
    """Raise for dates, times and complex objects, which NumPy would convert to nanoseconds or another unit, or cut."""
    columns = Columns.of(y, what)
    if columns is not None and columns.have_types:
        found = [columns.dtype(j) for j in range(columns.count) if columns.is_date(j)]
    else:
        dtype = getattr(y, "dtype", getattr(y, "type", None))
        is_date = getattr(dtype, "kind", "O") in "mM" or str(dtype).lower().startswith(_OF_TIME)
        found = [str(dtype)] if is_date else []
        if isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object):
            with named(what):
                kind = unreal(np.asarray(y))
            found += [kind] if kind else []
    if found:
        raise ValueError(
            f"{what} must have numbers, got dates, times or complex numbers of type {found[0]}: convert them first, for "
            "example to the days since a date"
        )


_OF_TIME = ("date", "time", "duration", "period")


def first_text(y: Raw) -> str | None:
    """The first value of y that is a text and no number."""
    for value in np.asarray(y, dtype=object).ravel().tolist():
        if isinstance(value, str) and not is_float(value):
            return value
    return None


def check_array_of_y(y: Raw, what: str) -> None:
    """Raise for y that is no array, frame or sparse matrix, or whose elements are lists or sets of tags.

    Lists of lists must be rows of numbers of equal length: rows of strings in plain lists are tags. Rows of classes of
    several outputs are accepted in arrays and frames.
    """
    if y is None or is_sparse(y) or (type(y) is np.ndarray and y.dtype.kind != "O"):
        return
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError(f"{what} must not be a masked array: pass {what}.data, and ~{what}.mask as y_weight")
    check_collected(y, what)
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
    are_rows = all(issubclass(kind, list | tuple | np.ndarray) for kind in kinds)
    if not are_rows or len(set(map(np.size if np.ndarray in kinds else len, rows))) > 1:
        return True
    return any(issubclass(kind, str | bytes) for row in rows for kind in set(map(type, np.ravel(row).tolist())))


def dense(
    y: Raw,
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
        check_length(y, n_samples, what)
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
    check_length(y, n_samples, what)
    if y.ndim == 2 and y.shape[1] == 1 and warn_column:
        message = (
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel()."
        )
        messages.warn(message, DataConversionWarning)
    columns: NDArray[Any] = y.reshape(len(y), -1)
    return columns


def without_hidden(y: Raw, hidden: NDArray[np.bool_], weights: Float | None) -> NDArray[Any]:
    """A dense copy of y with the first known value of a column, of positive weight, in place of those that are hidden.

    The hidden values are not read: they may be of any type.
    """
    found = np.array(with_nan(y))
    if isinstance(y, list | tuple) and found.dtype.kind in "US":
        found = np.array(y, dtype=object)  # NumPy has made texts of numbers beside texts
    found = np.asarray(with_nan(found))
    columns = found.reshape(hidden.shape)
    exists = np.ones(len(hidden), dtype=np.bool_) if weights is None else weights > 0
    known = ~hidden & exists[:, None]
    # In place of a column without known values, which nobody reads either.
    other = columns[known][:1].tolist() if known.any() else [0]
    for j in np.flatnonzero(hidden.any(axis=0)):
        rows = np.flatnonzero(known[:, j])
        columns[hidden[:, j], j] = columns[rows[0], j] if len(rows) else other[0]
    if found.dtype.kind != "O" or isinstance(y, list | tuple) or not (cells := columns[known].tolist()):
        return found
    # The numbers of a column of objects that held others beside them.
    kinds = set(map(type, cells))
    return found if not all(issubclass(kind, _NUMBERS) for kind in kinds) else _of_objects(found, "y")


def _with_nan(y: Raw) -> Raw:
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


def check_length(y: Raw, n_samples: int, what: str) -> None:
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


_KINDS = dict.fromkeys("biuf", "numbers") | {"U": "text", "S": "bytes"}


def kind_of_classes(classes: NDArray[Any]) -> str:
    """What classes are, numbers, text or bytes, which are never equal, whatever the types of their arrays; "" for none."""
    if classes.dtype.kind != "O":
        return _KINDS.get(classes.dtype.kind, "others")
    kinds = set(map(type, classes.ravel().tolist()))
    if not kinds:
        return ""
    for kind, types in (("numbers", (bool, int, float, np.number, np.bool_)), ("text", str), ("bytes", bytes)):
        if all(issubclass(found, types) for found in kinds):
            return kind
    return "others"


def check_one_kind(parts: list[NDArray[Any]], where: str) -> None:
    """Raise for parts of the classes of y that are of several kinds, such as texts and numbers."""
    kinds = {kind_of_classes(classes): classes.dtype for classes in parts}
    if len(kinds) > 1:
        types = " and ".join(f"{kind} of type {dtype}" for kind, dtype in kinds.items())
        raise ValueError(f"y must have classes of one type {where}, got {types}")


def check_same_kind(classes: NDArray[Any], known: NDArray[Any], what: str) -> None:
    """Raise for texts where the classes of a fit are numbers, and the reverse, of which none would be equal to any."""
    if not len(classes) or not len(known):
        return
    one, other = kind_of_classes(classes), kind_of_classes(known)
    if {one, other} == {"numbers", "text"}:
        raise ValueError(
            f"{what} must have classes that are {other}, as {cut(repr(known[:1].tolist()[0]))} in the fit, got {one}, as "
            f"{cut(repr(classes[:1].tolist()[0]))}"
        )


def is_binary(y: NDArray[Any]) -> bool:
    """Whether y holds the numbers 0 and 1 only."""
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())


def _check_sparse_y(y: Raw, n_samples: int, columns: str, values: str, what: str) -> None:
    """Raise unless sparse y has `n_samples` rows and a numerical type. `columns` and `values` are for messages."""
    if y.ndim != 2:
        raise ValueError(
            f"{what} must have shape (n_samples, {columns}), got a sparse array with {y.ndim} dimension(s)"
        )
    check_length(y, n_samples, what)
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be {values} (bool, int or float), got a sparse matrix of dtype {y.dtype}")


def sparse_numbers(y: Raw, n_samples: int, weights: Float | None, what: str) -> sparse.csr_array:
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


def engine_of_numbers(entries: sparse.csr_array) -> _weald._Targets:
    return entries.indptr, entries.indices, entries.data, entries.shape[1]


def sparse_labels(
    y: Raw, n_samples: int, weights: Float | None = None, what: str = "y", hidden: Any = None
) -> sparse.csr_array:
    """A copy of the pattern of the ones of y. Samples with weight zero have none. Values that are hidden may be others."""
    _check_sparse_y(y, n_samples, "n_labels", "0/1 labels", what)
    entries = over_same_memory(y, what, every_entry=True).tocoo()
    if weights is not None and not weights.all():
        # A new matrix, which checks the indices before they are used.
        entries = sparse.coo_array((entries.data, (entries.row, entries.col)), shape=y.shape)
        there = weights[entries.row] > 0
        entries = sparse.coo_array((entries.data[there], (entries.row[there], entries.col[there])), shape=y.shape)
    wrong = ~np.isin(entries.data, (0, 1))
    if wrong.any() and hidden is not None:
        at = np.flatnonzero(wrong)
        weights_there = sparse.csr_matrix(hidden.mask if hidden.weights is None else hidden.weights)
        told = np.asarray(weights_there[entries.row[at], entries.col[at]]).ravel().astype(np.bool_)
        there = np.ones(len(wrong), dtype=np.bool_)
        there[at[told if hidden.weights is None else ~told]] = False
        wrong = wrong[there]
        entries = sparse.coo_array((entries.data[there], (entries.row[there], entries.col[there])), shape=y.shape)
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
    # What is known, and its weights; `original` has placeholders elsewhere. None if all is known and weighs one.
    known: KnownCells | None = None
    # For sparse numerical outputs, whether y is a sparse "array" or "matrix"; predictions have the same type.
    container: str | None = None
    # The number of quantiles that are fitted to each numerical output: `engine` has a column for each of them.
    n_levels: int = 1

    @cached_property
    def mask(self) -> Any:
        """The mask of unknown values, see `weald._input.masks`; None if all are known."""
        return None if self.known is None else self.known.mask

    @cached_property
    def known_in_engine(self) -> Any:
        """What is known, in the engine's form."""
        return self.in_engine(self.known)

    @cached_property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class of each output of classes, and for each quantile."""
        return sum(map(len, self.classes)) if self.kind == "classes" else self.n_outputs * self.n_levels

    def with_levels(self, n_levels: int) -> Target:
        """The same for this number of quantiles of each output."""
        return self if n_levels == 1 else replace(self, engine=_repeated(self.engine, n_levels), n_levels=n_levels)

    def in_engine(self, known: KnownCells | None) -> Any:
        """What is known of y of this kind, in the engine's form."""
        if known is None or self.n_levels == 1:
            return None if known is None else known.in_engine
        return known.columns(np.repeat(np.arange(self.n_outputs), self.n_levels)).in_engine

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
        y_weight: MatrixLike | None = None,
        of_classes: bool = False,
    ) -> tuple[Any, KnownCells | None]:
        """The same for y with unknown values, and what is known: by `y_weight`, and no NaN in several columns.

        Without `of_classes` and a mask, NaN in classes is an error.
        """
        masks = of_classes or self.kind != "classes" or y_weight is not None
        found, known = self._like(y, n_samples, name, what, masks=masks, y_weight=y_weight)
        if known is not None and not known.n_known():
            unknown = "NaN" if y_weight is None else "NaN or weights of zero"
            raise ValueError(
                f"{what} must have a known value in a sample of positive weight, got {unknown} for all of them"
            )
        return found, known

    def _like(
        self, y: Raw, n_samples: int, name: str, what: str, *, masks: bool, y_weight: MatrixLike | None = None
    ) -> tuple[Any, KnownCells | None]:
        y, known = self.read(y, n_samples, name, what=what, masks=masks, y_weight=y_weight)
        if self.kind == "numbers":
            return _repeated(y, self.n_levels), known
        if self.kind == "labels":
            return _labels(y, LabelFormat(np.dtype(np.bool_), None)).engine, known
        codes = np.zeros(y.shape, dtype=np.uint32)
        for j, found in enumerate(self.classes):
            there = np.arange(len(y)) if known is None else np.flatnonzero(~known.mask[:, j])
            column = y[there, j]
            if not (seen := np.isin(column, found)).all():
                raise ValueError(
                    f"{what} must have classes of the training data, got {column[~seen][:1].tolist()[0]!r}"
                )
            codes[there, j] = np.searchsorted(found, column)
        return (codes, self.engine[1]), known

    def read(
        self,
        y: Any,
        n_samples: int,
        name: str,
        *,
        what: str = "y",
        masks: bool = True,
        y_weight: Any = None,
    ) -> tuple[Any, KnownCells | None]:
        """The y of other samples, of the same kind and with the same outputs, and what is known of it.

        The result is a dense array of numbers or of classes, which may differ from those of the fit, or CSR labels.
        """
        check_array_of_y(y, what)
        names = names_of(y, what)
        check_same_names(names, self.names, what, "outputs must be those of the fit, in the same order")
        names = self.names if names is None else names
        if not is_sparse(y) and not has_sparse_columns(y):
            y, y_weight = _without_hidden(y, y_weight, n_samples, None, names, what)
        told: Any = y_weight
        rules: dict[str, Any] = {"what": what, "masks": masks, "y_weight": y_weight}
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
            known = _known_of_dense(found, told, None, None, what=what, each_output=False) if masks else None
            for j, (column, classes) in enumerate(zip(self._as_wide(found, what).T, self.classes, strict=True)):
                check_same_kind(column if known is None else column[~known.mask[:, j]], classes, what)
            return found, known
        return self._as_wide(target.original, what), target.known

    def read_plain(
        self, y: Any, n_samples: int, name: str, score: str, y_weight: Any, what: str = "y"
    ) -> tuple[Any, Any]:
        """The y of other samples and the mask of its unknown values, for a score that counts values and does not weigh them."""
        found, known = self.read(y, n_samples, name, what=what, y_weight=y_weight)
        _masks.check_ungraded(known, score)
        return found, None if known is None else known.mask

    def _as_wide(self, y: Raw, what: str) -> Matrix:
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"{what} must have {self.n_outputs} outputs, as in the fit, got {y.shape[1]}")
        return y


def _repeated(columns: Any, n_levels: int) -> Any:
    return columns if columns is None or n_levels == 1 else np.repeat(columns, n_levels, axis=1)


def numbers(
    y: Raw,
    n_samples: int,
    name: str,
    *,
    warn_column: bool,
    weights: Float | None = None,
    masks: bool = False,
    y_weight: Any = None,
    each_output: bool = True,
    keeps_sparse: bool = False,
    what: str = "y",
) -> Target:
    """Targets of a regressor. The y of samples with weight zero is not read.

    With `masks`, values that are NaN or of weight zero are unknown; with `each_output`, each output must have known
    values. Sparse y stays sparse with `keeps_sparse` if all its values are known; otherwise it is converted to a dense array.
    """
    of_floats = is_floats(y)
    if not of_floats:
        check_array_of_y(y, what)
    if not of_floats and is_sparse(y):
        entries = sparse_numbers(y, n_samples, weights, what)
        said = None if y_weight is None else _masks.check(y_weight, entries.shape, y=y)
        if keeps_sparse and (said is None or (masks and is_sparse(said.weights))):
            container = "array" if isinstance(y, sparse.sparray) else "matrix"
            if said is not None:
                _masks.weights_of_known(said if each_output else None, weights, None)
                entries = known_entries(entries, said)
            engine = engine_of_numbers(entries)
            return Target("numbers", engine, entries.shape[1], [], entries, known=said, container=container)
        y, y_weight, warn_column, of_floats = entries.toarray(), said, False, True
    names = None
    if not of_floats:
        names = names_of(y, what)
        if has_sparse_columns(y):
            y = of_sparse_columns(y).toarray()
    y, told = _without_hidden(y, y_weight, n_samples, weights, names, what) if masks else (y, None)
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
    known = _known_of_dense(y, told, weights, names, what=what, each_output=each_output) if masks else None
    return Target("numbers", y, y.shape[1], [], y, names=names, known=known)


_OF_ONE_OUTPUT = (
    "Input {what} contains NaN and has one output: samples with unknown {what} must be left out, or have the y_weight 0"
)


def _without_hidden(
    y: Raw, y_weight: Any, n_samples: int, weights: Float | None, names: NDArray[np.object_] | None, what: str
) -> tuple[Any, KnownCells | None]:
    """Dense y with known values in place of those of weight zero, which are not read, and the checked weights.

    Samples of weight zero, which get the y of another sample, get its weights as well.
    """
    if y_weight is None:
        return y, None
    check_length(y, n_samples, what)
    shape = np.shape(y)
    told = _masks.check(y_weight, (shape[0], shape[1] if len(shape) == 2 else 1), names)
    if told is None or len(shape) > 2:
        return y, None
    told = told.as_array()
    y = without_hidden(y, told.mask, weights)
    there = rows_there(weights)
    if there is not None:
        same = np.arange(shape[0])
        same[weights == 0] = there[0]
        told = told.rows(same)
    return y, None if told.hides_nothing else told


def _known_of_dense(
    y: NDArray[Any],
    told: KnownCells | None,
    weights: Float | None,
    names: NDArray[np.object_] | None,
    *,
    what: str = "y",
    each_output: bool = True,
) -> KnownCells | None:
    """What is known of y: what is not NaN, with checked weights, those of `_without_hidden`.

    With `each_output`, raises for outputs without known values.
    """
    missing = _masks.of_missing(y)
    if missing is not None and y.shape[1] == 1 and (told is None or (missing & ~told.mask).any()):
        raise ValueError(_OF_ONE_OUTPUT.format(what=what.removeprefix("its ")))
    known = None if missing is None else KnownCells(missing)
    if told is not None:
        known = told.among(missing)
    if each_output:
        _masks.weights_of_known(known, weights, names)
    return known


# The least number of samples that look like one-hot classes not by chance alone.
_FEW_SAMPLES = 10


def warn_of_form(target: Target, weights: Float | None) -> None:
    """Warn about y of a classifier that has a form which is rarely meant."""
    told, kinds = None, target.classes
    if target.kind == "labels":
        counts = np.diff(target.original.indptr)
        counts = counts if weights is None else counts[weights > 0]
        enough = len(counts) >= max(_FEW_SAMPLES, 2 * target.n_outputs)
        if target.n_outputs > 1 and enough and target.known is None and (counts == 1).all():
            told = (
                "y has one label in each sample, as classes in one-hot form, and is fitted as labels, of which predictions "
                "may have none or several: pass y.argmax(axis=1) for one class of each sample, or set multi_label=True"
            )
    elif len(kinds) > 1 and all(values.tolist() == [-1, 1] for values in kinds):
        told = "y has columns of -1 and 1, which are fitted as outputs of classes: labels are 0 and 1, as in y > 0"
    elif len(kinds) == 1 and len(kinds[0]) == 1:
        told = (
            f"y has one class, {cut(repr(kinds[0].tolist()[0]))}, which is what all predictions are, and predict_proba has "
            "one column: pass samples of several classes"
        )
    elif len(kinds) == 1 and (text := _first_of_tags(kinds[0])) is not None:
        told = (
            f"y has classes such as {cut(repr(text))}, which looks like several tags in one text, and each text is one class: "
            "split them, and sklearn.preprocessing.MultiLabelBinarizer makes labels of lists of tags"
        )
    if told is not None:
        messages.warn(told, UserWarning)


def _first_of_tags(classes: NDArray[Any]) -> str | None:
    """The first class that is a list in a text of which a part is another class."""
    known = set(classes.tolist()) if kind_of_classes(classes) == "text" else set()
    parts = ((text, text.split(sign)) for text in known for sign in ",;|" if sign in text)
    return min((text for text, found in parts if any(part.strip() in known for part in found)), default=None)


def compare(X: object, y: object) -> None:
    """Raise if X and y look exchanged, and warn if they have the same index in another order, for which nothing asks."""
    if getattr(X, "ndim", 0) == 1 and getattr(y, "ndim", 0) == 2:
        raise ValueError(
            f"X must have shape (n_samples, n_features), got {described(X)}, and y has two dimensions: are X and y "
            "exchanged? One feature is numpy.reshape(X, (-1, 1))"
        )
    one, other = (cast(Any, getattr(data, "index", None)) for data in (X, y))
    if not (hasattr(one, "equals") and hasattr(other, "equals")) or len(one) != len(other) or one.equals(other):
        return
    if one.is_unique and other.is_unique and one.isin(other).all():
        told = "X and y have the same index in another order, and are matched by position: pass y.loc[X.index]"
        messages.warn(told, UserWarning)


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
    y_weight: Any = None,
) -> Target:
    """Targets of a classifier: classes, or labels. With "auto", y is labels if it is sparse or has columns of 0 and 1.

    The y of samples with weight zero is not read, and their classes are not among `classes_`. With `masks`, NaN in
    dense y of floats and values marked by `y_weight` are unknown.
    """
    check_array_of_y(y, "y")
    rules: dict[str, Any] = {"masks": masks, "y_weight": y_weight}
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
    y, told = _without_hidden(y, y_weight, n_samples, weights, names, "y") if masks else (y, None)
    y = dense(y, None, n_samples, name, warn_column=warn_column, weights=weights, masks=masks)
    known = _known_of_dense(y, told, weights, names) if masks else None
    if known is not None:
        weights = _masks.weights_of_known(known, weights, names)
        y = _masks.fill(y, known.mask, weights)
    if multi_label == "auto" and y.shape[1] > 1 and is_binary(y):
        return _labels(*_apart(y, known), names)
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
    return Target("classes", engine, y.shape[1], found, y, names=names, known=known)


def labels(
    y: Raw,
    n_samples: int | None = None,
    weights: Float | None = None,
    *,
    what: str = "y",
    masks: bool = True,
    y_weight: MatrixLike | None = None,
    each_output: bool = False,
) -> Target:
    """Labels: a matrix of 0 and 1 of any container, which is called `what` in messages.

    This function alone decides what labels are. Other values raise an error, since two values such as -1 and 1 are
    classes for `fit`. With `masks`, NaN in dense arrays and frames, and entries of weight zero, are unknown. With
    `each_output`, as in a fit, each label must have known values. The y of samples with weight zero is not read.
    """
    check_array_of_y(y, what)
    if len(shape := np.shape(y)) != 2:
        kind = "a sparse array" if is_sparse(y) else "an array"
        accepted = f"{what} must have shape (n_samples, n_labels), got {kind} with {len(shape)} dimension(s)"
        of_one = "; for one output, sklearn has TunedThresholdClassifierCV and CalibratedClassifierCV"
        raise ValueError(accepted + of_one * each_output)
    n_samples = shape[0] if n_samples is None else n_samples
    names = names_of(y, what)
    marks = has_sparse_columns(y) or isinstance(y, WithGaps)
    y = of_sparse_columns(y)
    if is_sparse(y):
        container = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
        if isinstance(y, WithGaps) and not masks and np.isnan(y.data).any():
            raise ValueError(f"{what} must have no unknown entries, which are not supported here, got some")
        y, missing = apart_from_gaps(y, n_samples, weights) if marks and masks else (y, None)
        told = None if y_weight is None or not masks else _masks.check(y_weight, y.shape, names, y)
        told = None if told is None else told.as_csr()
        found, form = sparse_labels(y, n_samples, weights, what, told), LabelFormat(y.dtype, container)
        if each_output and missing is not None and found.shape[1] == 1:
            _check_told(missing, told, what)
        known = told.among(missing) if told is not None else None if missing is None else KnownCells(missing)
        if known is not None:
            known = known.as_csr()
            found = known_entries(found, known)
    else:
        y, told = _without_hidden(y, y_weight, n_samples, weights, names, what) if masks else (y, None)
        y = dense(y, None, n_samples, "", what=what, warn_column=False, weights=weights, masks=masks)
        missing = _masks.of_missing(y) if masks else None
        if each_output and missing is not None and y.shape[1] == 1:
            _check_told(missing, told, what)
        known = told.among(missing) if told is not None else None if missing is None else KnownCells(missing)
        gaps = None if known is None else known.mask
        if y.dtype.kind not in "biuf" or not is_binary(y if gaps is None else np.where(gaps, 0, y)):
            raise ValueError(_not_binary(y if gaps is None else y[~gaps], what))
        found, form, known = _apart(y, known)
    if each_output:
        _masks.weights_of_known(known, weights, names)
    return _labels(found, form, known, names)


def known_entries(entries: sparse.csr_array, known: KnownCells) -> sparse.csr_array:
    """The labels or numbers that are known."""
    if known.weights is not None:
        return sparse.csr_array(entries.multiply(known.weights.astype(np.bool_)).astype(entries.dtype))
    return sparse.csr_array(entries > entries.multiply(known.mask))


class WithGaps(sparse.csr_array):
    """Sparse labels whose entries that are NaN are unknown, for functions of scikit-learn that select rows of y."""


def known_of(y: Raw, y_weight: Any) -> KnownCells | None:
    """The checked weights of the values of y, as arrays for y that is not sparse."""
    if y_weight is None or y is None:
        return None
    found = _masks.check(y_weight, np.shape(y) if np.ndim(y) == 2 else (num_samples(y), 1), names_of(y), y)
    return found if found is None or is_sparse(y) else found.as_array()


def with_gaps(y: Raw, y_weight: Any) -> Any:
    """Numbers or labels with NaN in place of the entries of weight zero."""
    if y_weight is None or y is None:
        return y
    if is_sparse(y) and not np.isin(y.data, (0, 1)).all():
        y = y.toarray()
    if is_sparse(y) or has_sparse_columns(y):
        target = labels(y, y_weight=y_weight)
        _masks.check_ungraded(target.known, "y that is split into folds")
        if target.mask is None:
            return y
        gaps = sparse.csr_array((np.full(target.mask.nnz, np.nan), target.mask.indices, target.mask.indptr), y.shape)
        return WithGaps(target.original.astype(np.float64) + gaps)
    names = names_of(y)
    found, known = known_columns(y, y_weight)
    if known is None:
        return y
    _masks.check_ungraded(known, "y that is split into folds")
    mask = known.mask
    if found.shape[1] == 1 or found.dtype.kind not in "biuf":
        raise ValueError(
            "y_weight is only supported for several columns of numbers here: samples with unknown y must be left out, "
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


def known_columns(y: MatrixLike, y_weight: MatrixLike | None) -> tuple[NDArray[Any], KnownCells | None]:
    """The same with known values in place of those of weight zero, and the checked weights."""
    with named("y"):
        n_samples = num_samples(y)
    known, hidden = _without_hidden(y, y_weight, n_samples, None, names_of(y), "y")
    return dense(known, None, n_samples, "", warn_column=False, masks=True), hidden


def filled(y: Raw) -> tuple[Any, NDArray[np.bool_] | None]:
    """Y of several columns with known values in place of NaN, and the mask of these; y itself and None without NaN."""
    if np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return y, None
    found = columns_of(y)
    mask = _masks.of_missing(found)
    if mask is None:
        return y, None
    _masks.weights_of_known(KnownCells(mask), None, names_of(y))
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


def _check_told(missing: Any, told: KnownCells | None, what: str) -> None:
    """Raise for the unknown values of a single label that have a weight."""
    if told is None or (sparse.csr_array(missing) > sparse.csr_array(told.mask)).nnz:
        raise ValueError(_OF_ONE_OUTPUT.format(what=what.removeprefix("its ")))


def _apart(y: NDArray[Any], known: KnownCells | None) -> tuple[sparse.csr_array, LabelFormat, KnownCells | None]:
    """The labels that are 1 and known, their format, and what is known."""
    ones = sparse.csr_array(y != 0 if known is None else (y != 0) & ~known.mask)
    return ones, LabelFormat(y.dtype, None), None if known is None else known.as_csr()


def _not_binary(values: NDArray[Any], what: str) -> str:
    flat = values.ravel()
    wrong = flat if flat.dtype.kind not in "biuf" else flat[(flat != 0) & (flat != 1)]
    shown = f"{float(wrong[0]):g}" if wrong.dtype.kind in "biuf" else repr(wrong[:1].tolist()[0])
    return f"{what} must have the values 0 and 1 for labels, got {shown}"


def with_label_names(target: Target, names: object, y_weight: Raw = None) -> Target:
    """The target with the argument `label_names`, if it is given, as the names of its labels and of the columns of weights."""
    if names is None:
        return target
    if target.kind != "labels":
        raise ValueError(f"label_names is only supported for y of labels, got y of {target.kind}")
    found = label_names(names, target.n_outputs)
    check_same_names(target.names, found, "y", "label_names must be the names of the columns of y, or None")
    of_weights = None if isinstance(y_weight, KnownCells) else names_of(y_weight, "y_weight")
    if target.names is None:
        why = "its columns must be those of label_names, in the same order"
        check_same_names(of_weights, found, "y_weight", why)
    return replace(target, names=found)


def _labels(
    labels: Any, label_format: LabelFormat, known: KnownCells | None = None, names: NDArray[np.object_] | None = None
) -> Target:
    n_labels = labels.shape[1]
    engine = (labels.indptr, labels.indices, n_labels)
    return Target("labels", engine, n_labels, [], labels, label_format, names, known)
