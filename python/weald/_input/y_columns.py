"""Dense y as columns of an array, and sparse y as its entries: the containers of y, whatever it means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array

from weald._input import warned
from weald._input.checks import Float, canonical, is_float, named, over_same_memory, rows_there
from weald._input.columns import Columns, is_missing, unreal, with_nan
from weald._input.containers import check_collected
from weald._input.described import cut, described
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import Raw, is_sparse

if TYPE_CHECKING:
    from weald._weald import _Targets


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
    check_collected(y, what)
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError(f"{what} must not be a masked array: pass {what}.data, and ~{what}.mask as y_weight")
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
        warned.warn(message, DataConversionWarning)
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


def kind_of_classes(classes: NDArray[Any]) -> str:
    """What classes are, numbers or text, which are never equal, whatever the types of their arrays; "" for none."""
    if classes.dtype.kind != "O":
        return "numbers" if classes.dtype.kind in "biuf" else "text" if classes.dtype.kind in "US" else "others"
    kinds = set(map(type, classes.ravel().tolist()))
    if not kinds:
        return ""
    for kind, types in (("numbers", (bool, int, float, np.number, np.bool_)), ("text", (str, bytes))):
        if all(issubclass(found, types) for found in kinds):
            return kind
    return "others"


def check_one_kind(parts: list[NDArray[Any]], where: str) -> None:
    """Raise for parts of the classes of y of which some are texts and some are numbers."""
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


def engine_of_numbers(entries: sparse.csr_array) -> _Targets:
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
