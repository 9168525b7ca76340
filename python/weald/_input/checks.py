"""Checks of X, sample weights and seeds, and their conversion to the engine's forms.

Errors name the argument and what is accepted. The caller's arrays are never modified.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import get_scorer_names
from sklearn.utils import Tags, check_array, check_random_state, get_tags
from sklearn.utils.validation import validate_data

from weald._input import messages
from weald._input.frames import (
    StoredFrame,
    as_frame,
    check_collected,
    check_container,
    check_holds_samples,
    check_no_dates,
    is_listed,
    naming_columns,
    unreal,
    with_nan,
)
from weald._input.messages import cut, described, did_you_mean, kind_of
from weald._input.sklearn_private import Interval, check_n_features, get_feature_names, num_samples, safe_indexing
from weald._input.sparse import Float as Float
from weald._input.sparse import Matrix as Matrix
from weald._input.sparse import MatrixLike, Raw, is_sparse, with_numbers

# float32 represents every whole number up to `_LEAST`, and float64 up to `_WHOLE`.
_LEAST_WHOLE, _WHOLE = 2.0**24, 2.0**53
# Features with fractions may lose this share of their values, as ordinary measurements do by chance.
_SHARE = 0.1
# The smallest number of float32 that has all digits, and how many samples say first that a feature has such.
_LEAST_NORMAL, _FEW_ROWS = 2.0**-126, 64
# The maximum number of features that are named, and that are checked.
_MOST_NAMES, _MOST_COLUMNS = 5, 1000


def warn_of_collapsed(estimator: BaseEstimator, source: object, X: Raw) -> None:
    """Warn about features of `source` that have distinct values which are equal in X, in float32.

    A feature is checked if all its absolute values are below 2**-126, where float32 loses digits down to zero, or if one
    reaches 2**24, above which float32 does not represent every whole number: identifiers, or times in seconds. Whole
    numbers that float64 distinguishes must all stay distinct; of other values, up to a tenth may be lost, because in a
    million measurements some are close by chance. This takes one pass over X if its type is more precise than float32,
    and sorts at most a thousand features with such values.
    """
    if not _has_more_digits(source):
        return
    found = []
    columns = np.unique(np.concatenate([_large_columns(X), _small_columns(X)]))
    for j, values in _columns_of(source, columns[:_MOST_COLUMNS]):
        if (lost := _lost(values)) is not None:
            found.append((j, *lost))
        if len(found) == _MOST_NAMES:
            break
    if not found:
        return
    names = getattr(estimator, "feature_names_in_", None)
    which = ", ".join(f"{j if names is None else repr(names[j])} ({n} values become {m})" for j, n, m in found)
    message = (
        f"X has features with values that float32, in which trees compare them, cannot distinguish: {which}. If they "
        "must be distinguished, number the values of such a feature 0, 1, 2 and so on "
        "(sklearn.preprocessing.OrdinalEncoder), subtract the smallest value, split the feature in two, or multiply it if "
        "its values are tiny"
    )
    messages.warn(message, DataConversionWarning)


def _has_more_digits(source: Any) -> bool:
    """Whether the type is more precise than float32; assumed for lists and frames."""
    dtype = source.dtype if isinstance(source, np.ndarray) or is_sparse(source) else None
    return dtype is None or not np.can_cast(dtype, np.float32)


def _large_columns(X: Raw) -> NDArray[np.intp]:
    """The first columns of a float32 matrix with an absolute value of at least 2**24."""
    values = X if isinstance(X, np.ndarray) else X.data
    none = np.empty(0, dtype=np.intp)
    if not values.size:
        return none
    with np.errstate(invalid="ignore"):  # signalling NaN
        most, least = values.max(), values.min()
        if np.isnan(most):
            is_large = bool((values >= _LEAST_WHOLE).any() or (values <= -_LEAST_WHOLE).any())
        else:
            is_large = most >= _LEAST_WHOLE or least <= -_LEAST_WHOLE
        if not is_large:
            return none
        if not is_sparse(X):
            large = (np.fmax.reduce(X, axis=0) >= _LEAST_WHOLE) | (np.fmin.reduce(X, axis=0) <= -_LEAST_WHOLE)
            return np.flatnonzero(large)[:_MOST_COLUMNS]
        entries = np.flatnonzero(np.abs(values) >= _LEAST_WHOLE)
    columns = X.indices[entries] if X.format == "csr" else np.searchsorted(X.indptr, entries, side="right") - 1
    return np.unique(columns)[:_MOST_COLUMNS]


def _small_columns(X: Raw) -> NDArray[np.intp]:
    """The first columns of a float32 matrix without an absolute value of at least 2**-126, as far as they are stored."""
    if is_sparse(X):
        is_normal = np.abs(X.data) >= _LEAST_NORMAL
        at = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        few = np.setdiff1d(at[~is_normal], at[is_normal])
    else:
        few = np.arange(X.shape[1])
        # Of most columns few values say that they are not small.
        for rows in (slice(_FEW_ROWS), slice(None)):
            few = few[~(np.abs(X[rows, few]) >= _LEAST_NORMAL).any(axis=0)] if len(few) else few
    return few[:_MOST_COLUMNS]


def _columns_of(source: Any, columns: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Index and values of each of these columns; for sparse columns the stored values."""
    if not len(columns):
        return
    if is_sparse(source):
        source = source[:, columns].tocsc()
        for i, j in enumerate(columns.tolist()):
            yield j, source.data[source.indptr[i] : source.indptr[i + 1]]
        return
    frame = as_frame(source)
    table: Any = np.asarray(source) if frame is None else frame
    for j in columns.tolist():
        yield j, table[:, j] if frame is None else frame[:, j].drop_nulls().to_numpy()


def _lost(values: NDArray[Any]) -> tuple[int, int] | None:
    """The numbers of distinct values in their own type and in float32, if too many are lost; else None."""
    if values.dtype.kind not in "iuf":
        values = values.astype(np.float64)
    is_integer = values.dtype.kind in "iu"
    if not is_integer:
        values = values[np.isfinite(values)]
    if not values.any():
        return None
    values = np.sort(values)
    singles = values.astype(np.float32)  # in order, too
    n, n_singles = (1 + int(np.count_nonzero(v[1:] != v[:-1])) for v in (values, singles))
    is_whole = is_integer or (max(-values[0], values[-1]) <= _WHOLE and bool((values == np.floor(values)).all()))
    return (n, n_singles) if n - n_singles > (0 if is_whole else _SHARE * n) else None


# Sample weights, and class weights by sample or the name of their rule.
RowWeights: TypeAlias = tuple[Float | None, Float | str | None]


# The maximum number of trees, stages and drawn samples of the engine.
MOST = 2**32 - 1


# joblib takes no more workers.
_MOST_JOBS = 10**6

# What Python or NumPy calls a number, and is none as an argument.
_NO_SCALARS = bool, np.bool_, np.timedelta64
# What a positive weight is at least, relative to the largest: products with other numbers do not vanish.
_LEAST_RELATIVE = 2.0**-600


# For at most this number of values, checking each value is faster than checking their sum.
_FEW_VALUES = 4096


def is_float(value: Any) -> bool:
    """Whether the number can be converted to float64, for which an integer may be too large."""
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


@contextmanager
def representable(what: str) -> Iterator[None]:
    """Raise ValueError, which names the argument `what`, for integers that are too large for float64."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{what} must have numbers that float64 can represent, got a larger one") from error


# The libraries whose errors in a conversion do not name the argument: narwhals reads frames for scikit-learn.
_OF_CONVERSIONS = ("builtins", "numpy", "narwhals")


@contextmanager
def named(what: str) -> Iterator[None]:
    """Make errors of conversions and of the caller's objects name the argument `what`.

    Numbers too large for a type raise ValueError. Errors of classes of other libraries pass unchanged.
    """
    try:
        with representable(what):
            yield
    except (TypeError, ValueError, IndexError) as error:
        is_named = re.search(rf"(?<!\w){re.escape(what)}(?!\w)", str(error))
        if is_named or type(error).__module__.partition(".")[0] not in _OF_CONVERSIONS:
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{what}: {error}") from error


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Make errors about X, y or another argument name the argument of the caller, as in `renamed(X="X_val")`.

    Errors that name none of them get the first name. `NotFittedError` stays as it is.
    """
    try:
        yield
    except NotFittedError:
        raise
    except (TypeError, ValueError) as error:
        told = str(error)
        for usual, name in names.items():
            told = re.sub(rf"(?<![\w.(='\"`]){usual}(?![\w='\"`])", name, told)
        if not any(re.search(rf"(?<!\w){name}(?!\w)", told) for name in names.values()):
            told = f"{next(iter(names.values()))}: {told}"
        raise (TypeError if isinstance(error, TypeError) else ValueError)(told) from error


class Number(Interval):  # type: ignore[misc]
    """An interval of integers and floats that can be converted to float64."""

    def is_satisfied_by(self, val: object) -> bool:
        """Whether `val` is a number in the interval."""
        # Fractions are real numbers that NumPy does not compare and that no file holds. A number of a wider type may be
        # finite where float64 is not.
        if not isinstance(val, float | Integral | np.floating):
            return False
        return isinstance(val, self.type) and is_float(val) and float(val) in self


def is_scalar(value: object) -> bool:
    """Whether this is an array without an axis or a span of time, which are no lists and no numbers here."""
    return isinstance(value, np.timedelta64) or (isinstance(value, np.ndarray) and value.ndim == 0)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether this is an integer of Python or NumPy: bools and spans of time are none."""
    return isinstance(value, Integral) and not isinstance(value, _NO_SCALARS)


def integer(name: str, value: Any, least: int, most: int | None = None, *, also: str = "") -> int:
    """The argument `name`, which must be an integer in this range; `also` names other accepted values."""
    if is_integer(value) and least <= int(value) and (most is None or int(value) <= most):
        return int(value)
    if most is not None and most != sys.maxsize:
        accepted = f"an integer from {least} to {most}"
    else:
        accepted = "a positive integer" if least == 1 else f"an integer of at least {least}"
    raise ValueError(f"{name} must be {accepted}{also}, got {shown(value)}")


def boolean(name: str, value: object) -> bool:
    """The argument called `name`, which must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def choice(name: str, value: object, *options: str) -> str:
    """The argument called `name`, which must be one of these strings."""
    if isinstance(value, str) and value in options:
        return value
    *others, last = map(repr, options)
    raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {shown(value)}")


def check_jobs(n_jobs: object) -> None:
    """Raise for `n_jobs` of a function if it is neither None nor a number of joblib's workers."""
    if n_jobs is not None:
        integer("n_jobs", n_jobs, -_MOST_JOBS, _MOST_JOBS, also=" or None")


def number(name: str, value: Any, accepts: Callable[[float], bool], accepted: str) -> float:
    """The argument `name` as a float, which must be a number that float64 can represent and that `accepts` accepts."""
    is_number = isinstance(value, Real) and not isinstance(value, _NO_SCALARS)
    if is_number and is_float(value) and accepts(float(value)):
        return float(value)
    raise ValueError(f"{name} must be {accepted}, got {shown(value)}")


def shown(value: object) -> str:
    """A value in an error message: integers of any size are cut."""
    return described(value) if isinstance(value, int) else cut(repr(value))


def draw_seed(random_state: object) -> int:
    """The seed for the engine: one draw from scikit-learn's generator."""
    return int(generator(random_state).randint(0, 2**64, dtype=np.uint64))


def generator(random_state: object) -> np.random.RandomState:
    """scikit-learn's generator."""
    with named("random_state"):
        found: np.random.RandomState = check_random_state(random_state)
    return found


def folds_of(cv: object, n_samples: int | None, accepted: str) -> object:
    """`cv`, after a check of numbers and of iterables, which become lists. `accepted` is for messages."""
    if cv is None or (hasattr(cv, "split") and not isinstance(cv, str | bytes)):
        return cv
    if is_integer(cv):
        if int(cv) >= 2 and (n_samples is None or int(cv) <= n_samples):
            return int(cv)
        most = "" if n_samples is None else f" and at most the number of samples, n_samples={n_samples}"
        raise ValueError(f"cv must be {accepted}; integers must be at least 2{most}, got {shown(cv)}")
    pairs = list(cv) if is_listed(cv) and not isinstance(cv, Set) else []
    if not pairs or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"cv must be {accepted}, got {shown(cv)}")
    return pairs


def is_floats(data: object) -> bool:
    """Whether these are floats in an array of NumPy: columns without names, texts, dates or categories."""
    return type(data) is np.ndarray and data.dtype.kind == "f"


def check_X(estimator: BaseEstimator, X: Raw, *, reset: bool) -> Matrix:
    """X as a float32 array with any strides, or as float32 CSR or CSC.

    float64 is converted once, and other sparse formats become CSR. Unsorted and duplicate entries are sorted and summed
    in a copy before the conversion to float32, so that duplicates are summed in their own type, as `toarray` sums them.
    With `reset`, sets `n_features_in_` and `feature_names_in_` of the estimator and warns about features whose values
    float32 cannot distinguish; otherwise compares X with these attributes.
    """
    of_floats = is_floats(X) and X.ndim == 2
    is_canonical = not of_floats and is_sparse(X) and X.ndim == 2
    if is_canonical:
        X = canonical(X, "X")
    if not reset and _is_plain(estimator, X):
        if X.dtype != np.float32:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32)
        if not is_canonical and X.size <= _FEW_VALUES and np.isfinite(X).all() and X.flags.aligned:
            return X
        return check_values(X, is_canonical=is_canonical)
    source = X
    rules: dict[str, Any] = {
        "reset": reset,
        "accept_sparse": ("csr", "csc"),
        "dtype": np.float32,
        "ensure_all_finite": False,
    }
    if not of_floats:
        check_container(X)
        check_no_dates(X)
    # Values that are too large for float32 are found below, with their own error message.
    with np.errstate(over="ignore"), named("X"):
        if of_floats:
            X = _validated(estimator, X, **rules)
        else:
            X = with_numbers(with_nan(X), np.float32)
            with naming_columns(X):
                X = _validated(estimator, X, **rules)
    X = check_values(X, is_canonical=is_canonical)
    if reset and not (of_floats and source.dtype.itemsize <= 4):
        warn_of_collapsed(estimator, source, X)
    return X


def _validated(estimator: Any, X: Any, *, reset: bool, **rules: object) -> Matrix:
    """`validate_data` of scikit-learn, whose warnings about names of features point at the line of the user here."""
    known, is_stored = getattr(estimator, "feature_names_in_", None), isinstance(X, StoredFrame)
    given = X.columns if is_stored else None if reset else get_feature_names(X)
    if reset and is_stored:  # which scikit-learn does not know
        found = validate_data(estimator, np.asarray(X), reset=True, **rules)
        estimator.feature_names_in_ = np.array(given, dtype=object)
        return found
    if not is_stored and (reset or (known is None) == (given is None)):
        return validate_data(estimator, X, reset=reset, **rules)
    name = type(estimator).__name__
    if known is None:
        messages.warn(f"X has feature names, but {name} was fitted without feature names")
    elif given is None:
        messages.warn(f"X does not have valid feature names, but {name} was fitted with feature names")
    X = check_array(np.asarray(X) if is_stored else X, estimator=estimator, input_name="X", **rules)
    check_n_features(estimator, X, reset=False)
    return X


def _is_plain(estimator: BaseEstimator, X: Raw) -> bool:
    """Whether X is an array of floats, or such a CSR or CSC matrix, with the shape that the estimator expects.

    scikit-learn's checks, which are slow for a single sample, would then pass: for floats they only check the shape.
    `check_values` checks the values.
    """
    return (
        (type(X) is np.ndarray or (is_sparse(X) and X.ndim == 2))
        and (X.dtype == np.float32 or X.dtype == np.float64)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", 0) > 0
        and not hasattr(estimator, "feature_names_in_")
    )


def as_float32(values: object) -> NDArray[np.float32]:
    """Values as the engine compares them with thresholds. Values that are too large for float32 become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32)


def check_values(X: Matrix, *, is_canonical: bool = False) -> Matrix:
    """A float32 matrix in canonical form, after a check for infinite values. NaN marks a missing value."""
    if type(X) is not np.ndarray and is_sparse(X):
        X = X if is_canonical else canonical(X, "X")
        values = X.data
    else:
        X = values = np.require(X, requirements="A")
    # float64 holds any sum of float32 values: the sum is finite if and only if all values are.
    with np.errstate(invalid="ignore"):  # signalling NaN
        is_finite = values.size == 0 or np.isfinite(np.sum(values, dtype=np.float64))
    if not is_finite and np.isinf(values).any():
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32'): values must be finite, or "
            "NaN for missing values"
        )
    return X


def check_wide_X(estimator: BaseEstimator, X: Raw, *, reset: bool, allow_nan: bool) -> Matrix:
    """X for weak models of scikit-learn: float64 or float32, dense or canonical CSR or CSC, with NaN if `allow_nan`."""
    is_canonical = is_sparse(X) and X.ndim == 2
    if is_canonical:
        X = canonical(X, "X")
    check_container(X)
    check_no_dates(X)
    with named("X"), naming_columns(X):
        X = with_numbers(with_nan(X), np.float64, np.float32)
        X = _validated(
            estimator,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan" if allow_nan else True,
        )
    return canonical(X, "X") if is_sparse(X) and not is_canonical else X


def check_is_instance(estimator: BaseEstimator) -> None:
    """Raise for a class in the place of an estimator."""
    if isinstance(estimator, type):
        raise TypeError(f"estimator must be an instance, {estimator.__name__}(), got the class {estimator.__name__}")


def check_has_fit(estimator: BaseEstimator) -> None:
    """Raise for anything but an instance with a method `fit`."""
    check_is_instance(estimator)
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance with a method fit, got {kind_of(estimator)}")


def check_is_given(y: object, name: str) -> None:
    """Raise if y is None in a fit of the estimator `name`, in scikit-learn's words."""
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")


def check_names_of_scorers(scoring: object) -> None:
    """Raise for several scorers that are no names, and for none of them."""
    if isinstance(scoring, list | tuple | set):
        are_names = all(isinstance(name, str) for name in scoring) and len(set(scoring)) == len(scoring)
    else:
        are_names = True
    for name in [scoring] if isinstance(scoring, str) else scoring if isinstance(scoring, list | tuple | set) else []:
        if are_names and name not in (known := get_scorer_names()):
            told = f"a name of sklearn.metrics.get_scorer_names(), got {cut(repr(name))}{did_you_mean(name, known)}"
            raise ValueError(f"scoring must be a scorer or {told}")
    if not are_names or (isinstance(scoring, list | tuple | set | dict) and not scoring):
        raise ValueError(f"scoring must have different names of scorers, and at least one, got {described(scoring)}")


def tags_of(estimator: BaseEstimator) -> Tags:
    """scikit-learn's tags of the parameter `estimator`, after a check that it is one."""
    check_has_fit(estimator)
    return get_tags(estimator)


def count_samples(data: object, what: str = "X") -> int:
    """The number of samples of data that is not checked yet; errors name the argument `what`."""
    if not is_sparse(data):
        check_holds_samples(data, what)
    with named(what):
        return int(num_samples(data))


def check_rows(X: MatrixLike) -> Matrix:
    """X as `check_X` returns it, without an estimator to compare the features with."""
    check_container(X)
    with np.errstate(over="ignore"), named("X"):
        check_no_dates(X)
        X = with_numbers(with_nan(X), np.float32)
        with naming_columns(X):
            X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float32, ensure_all_finite=False)
    return check_values(X)


def over_same_memory(matrix: Matrix, name: str, *, every_entry: bool = False) -> Matrix:
    """A CSR or CSC matrix after a check of its arrays, in the same memory; anything else unchanged.

    scipy's conversions would access memory out of bounds if the arrays contradicted each other. Ends and lengths are
    checked, and with `every_entry` also all offsets and indices.
    """
    if not is_sparse(matrix) or matrix.format not in ("csr", "csc"):
        return matrix
    try:
        same = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False)
        same.check_format(full_check=every_entry)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}") from error
    return same


def canonical(matrix: Matrix, name: str) -> Matrix:
    """A CSR or CSC matrix with sorted indices and without duplicates, in the same memory if it is in this form.

    Duplicates are summed in the type of the matrix and in the order in which they are stored, as `toarray` sums them.
    Other formats become CSR.
    """
    if matrix.format in ("csr", "csc"):
        same = over_same_memory(matrix, name, every_entry=True)
        if same.has_canonical_format:
            return same
        ordered = same.copy()
        ordered.sum_duplicates()
    elif matrix.format == "coo":
        same, ordered = matrix, matrix.tocsr()
    else:
        return canonical(matrix.tocsr(), name)
    return ordered if ordered.nnz == same.nnz else _summed(same)


def _summed(matrix: Matrix) -> Matrix:
    """The matrix in canonical CSR, or CSC if it is CSC. A stable sort keeps the order of duplicates."""
    entries = matrix.tocoo()
    by_column = matrix.format == "csc"
    major, minor = (entries.col, entries.row) if by_column else (entries.row, entries.col)
    order = np.lexsort((minor, major))
    major, minor = major[order], minor[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    sums = np.zeros(np.count_nonzero(first), dtype=entries.dtype)
    np.add.at(sums, np.cumsum(first) - 1, entries.data[order])
    n_major = matrix.shape[1] if by_column else matrix.shape[0]
    ptr = np.searchsorted(major[first], np.arange(n_major + 1))
    return (sparse.csc_array if by_column else sparse.csr_array)((sums, minor[first], ptr), shape=matrix.shape)


@contextmanager
def _converted(what: str, accepted: str) -> Iterator[None]:
    """Raise ValueError, which says what the argument `what` must be, for errors of NumPy's conversions."""
    with representable(what):
        try:
            yield
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} must be {accepted}: {error}") from error


def check_real(values: Any, what: str, accepted: str = "numbers") -> Any:
    """The argument `what`, sparse or as an array, after a check for dates, spans of time and complex numbers.

    NumPy would convert these to numbers. It refuses texts and other objects by itself. `accepted` is for messages.
    """
    check_collected(values, what)
    with _converted(what, accepted):
        found = values if is_sparse(values) else with_nan(np.asarray(values))
    if (kind := unreal(found)) is not None:
        raise ValueError(f"{what} must be {accepted}, got values of type {kind}")
    return found


def floats(values: Any, what: str, accepted: str = "numbers") -> Float:
    """The argument `what` as a float64 array of any shape."""
    found = check_real(values, what, accepted)
    with _converted(what, accepted):
        return np.asarray(found, dtype=np.float64)


def check_weights(sample_weight: object, n_samples: int) -> Float | None:
    """One weight for each sample, none negative and not all zero; a number stands for equal weights."""
    if sample_weight is None:
        return None
    found = check_real(sample_weight, "sample_weight")
    if isinstance(sample_weight, Real):
        found = np.broadcast_to(found, n_samples)
    with named("sample_weight"):
        w = check_array(found, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), one weight for each sample, got {w.shape}")
    if (w < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {w.min()}")
    if not w.any():
        raise ValueError("sample_weight must be positive for at least one sample, got zero for every sample")
    return np.ascontiguousarray(w)


def relative(weights: Float) -> Float:
    """Weights times the power of two that brings the largest below one.

    Weighted means are the same, to the last bit, and their sums stay within float64 for weights of any finite size.
    Positive weights stay positive.
    """
    _, exponent = np.frexp(weights.max(initial=0.0))
    return np.where(weights > 0, np.maximum(np.ldexp(weights, -exponent), _LEAST_RELATIVE), 0.0)


def score_weights(sample_weight: object, n_samples: int) -> Float | None:
    """Weights of means over samples, after `check_weights`, in a unit that does not matter to means."""
    weights = check_weights(sample_weight, n_samples)
    return None if weights is None else relative(weights)


def count_weights(weights: Float) -> Float:
    """Weights that count samples, times a power of two if float64 does not hold their total. Positive ones stay positive.

    One sample more or less makes no difference to such totals.
    """
    with np.errstate(over="ignore"):
        if np.isfinite(weights.sum()):
            return weights
    found: Float = np.ldexp(weights, -len(weights).bit_length())
    return np.where(weights > 0, np.maximum(found, np.nextafter(0.0, 1.0)), 0.0)


def rows_there(weights: Float | None) -> NDArray[np.intp] | None:
    """The samples with positive weight; None if these are all samples."""
    return None if weights is None or weights.all() else np.flatnonzero(weights)


def without_absent(X: Matrix, y: MatrixLike, weights: Float | None) -> tuple[Matrix, Any, Float | None]:
    """Checked X, y and weights without the samples of weight zero, whose y may be anything."""
    there = rows_there(weights)
    if weights is None or there is None:
        return X, y, weights
    if (n := count_samples(y, "y")) != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, y has {n}"
        )
    if is_sparse(y):
        y = over_same_memory(y, "y", every_entry=True).tocsr()
    return X[there], safe_indexing(y, there), weights[there]
