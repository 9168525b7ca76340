"""Names of outputs from frames, and predictions as frames of pandas and polars.

Neither library is imported unless its frames are requested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator

from weald._input.columns import as_frame
from weald._input.sparse import MatrixLike, Raw, is_sparse, with_zeros

if TYPE_CHECKING:
    from weald._fit.base import NamedOutputs
    from weald._parameters.types import Prediction

__all__ = [
    "CONTAINERS",
    "FRAMED",
    "OUTPUT",
    "SETTINGS",
    "TRANSFORM",
    "built",
    "check_container",
    "check_name",
    "different",
    "label_names",
    "names_of",
    "output_names",
    "transform_container",
]

# The attribute that `set_output` sets. It is not a parameter, so that clones do not have it: the searches and the
# cross-validation of scikit-learn index predictions as arrays.
OUTPUT = "_predict_output"
# That in which scikit-learn's `set_output` stores its argument, which clones of scikit-learn keep.
TRANSFORM = "_sklearn_output_config"
SETTINGS = frozenset({OUTPUT, TRANSFORM})
CONTAINERS = ("pandas", "polars")
# Methods whose results are converted to frames.
FRAMED = frozenset({"predict", "predict_proba", "predict_log_proba", "decision_function"})


def names_of(y: MatrixLike, what: str = "y") -> NDArray[np.object_] | None:
    """The column names of a frame if all are strings, or the name of a Series if it is a non-empty string, or None.

    `what` is the name of the argument in the error that is raised for duplicate names.
    """
    frame = as_frame(y, what)
    if frame is not None:
        names: list[Any] = list(frame.columns)
    else:
        column = nw.from_native(y, series_only=True, pass_through=True)
        names = [column.name or None] if isinstance(column, nw.Series) else []  # "" is no name
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array([str(name) for name in names], dtype=object)


def label_names(names: Any, n_labels: int) -> NDArray[np.object_]:
    """Validate the argument `label_names`: one string for each label, without duplicates."""
    accepted = "a list or an array of strings, one for each label"
    if isinstance(names, str | bytes | Mapping | Set):
        raise TypeError(f"label_names must be {accepted}, got a {type(names).__name__}")
    try:
        found = list(names)
    except TypeError as error:
        raise TypeError(f"label_names must be {accepted}, got {names!r}") from error
    for j, name in enumerate(found):
        if not isinstance(name, str):
            raise TypeError(f"label_names must be {accepted}, got {name!r} at position {j}")
    if len(found) != n_labels:
        raise ValueError(f"label_names must have length {n_labels}, one name for each label, got length {len(found)}")
    first: dict[str, int] = {}
    for j, name in enumerate(found):
        if (before := first.setdefault(name, j)) < j:
            raise ValueError(f"label_names must be distinct, got {str(name)!r} at positions {before} and {j}")
    return np.array([str(name) for name in found], dtype=object)


def output_names(estimator: NamedOutputs) -> list[str]:
    """The name of each output of a fitted estimator, or "y0" and so on if y had no names."""
    names = getattr(estimator, "target_names_in_", None)
    return [f"y{j}" for j in range(estimator.n_outputs_)] if names is None else names.tolist()


def different(found: NDArray[np.object_] | None, known: NDArray[np.object_] | None) -> str | None:
    """How the names of several outputs differ from known ones; None if they do not differ or are missing on one side.

    A single output may have any name, since it cannot be confused with another.
    """
    if found is None or known is None or len(found) != len(known) or len(known) < 2:
        return None
    for j, (name, expected) in enumerate(zip(found, known, strict=True)):
        if name != expected:
            return f"the name {expected!r} at position {j}, got {name!r}"
    return None


def transform_container(estimator: BaseEstimator) -> str:
    """The container that `transform` is asked for, by `set_output` or by the configuration of scikit-learn."""
    chosen = estimator.__dict__.get(TRANSFORM, {})
    return str(chosen.get("transform", get_config()["transform_output"]))


def check_name(container: object, argument: str) -> str:
    """Check that a container is one of those that `set_output` accepts, and return it."""
    if not isinstance(container, str) or container not in ("default", *CONTAINERS):
        raise ValueError(f'{argument} must be "default", "pandas", "polars" or None, got {container!r}')
    return str(container)


def check_container(predict: object) -> None:
    """Check that predictions can be converted to frames of this library."""
    name = check_name(predict, "predict")
    if name == "default":
        return
    try:
        import_module(name)
    except ImportError as error:
        raise ImportError(f"predict={predict!r} requires the package {predict}, which is not installed") from error


def built(container: str, found: Prediction, estimator: NamedOutputs, method: str, X: Raw) -> Prediction:
    """The result of `method` of a fitted estimator for X as a frame, or as a Series for one column without classes."""
    if isinstance(found, list):
        pairs = zip(found, estimator.classes_, strict=True)
        return [_frame(container, part, classes.tolist(), X) for part, classes in pairs]
    of_classes = method != "predict" and estimator._label_format is None
    if found.ndim == 1:
        names = getattr(estimator, "target_names_in_", None)
        name = estimator.classes_.tolist()[1] if of_classes else None if names is None else names[0]
        return _series(container, found, name, X)
    return _frame(container, found, estimator.classes_.tolist() if of_classes else output_names(estimator), X)


def _index(X: MatrixLike) -> object:
    """The index of a pandas frame."""
    return X.index if isinstance(X, import_module("pandas").DataFrame) else None


def _series(container: str, values: NDArray[Any], name: object, X: MatrixLike) -> object:
    if container == "pandas":
        return import_module(container).Series(_native(values), index=_index(X), name=name)
    return _column(str(name) if name is not None else "", values)


def _frame(container: str, found: Prediction, names: Sequence[Any], X: Raw) -> Any:
    frames = import_module(container)
    if container == "pandas":
        if is_sparse(found):
            # Some pandas releases warn for sparse bools (2.3), or return NaN for floats that are not stored (3.0.6).
            numbers = found.astype(np.int8) if found.dtype == np.bool_ else found
            frame: Any = frames.DataFrame.sparse.from_spmatrix(numbers, index=_index(X), columns=names)
            is_right = numbers is found and all(dtype.fill_value == 0 for dtype in frame.dtypes)
            return frame if is_right else with_zeros(frame, found.dtype, unstored=0)
        return frames.DataFrame(_native(found), index=_index(X), columns=names)
    if is_sparse(found):
        raise ValueError(
            'predict="polars" does not support sparse predictions, which this model returns since y was '
            'sparse: use set_output(predict="pandas"), which supports sparse columns, or "default"'
        )
    return frames.DataFrame([_column(str(name), found[:, j]) for j, name in enumerate(names)])


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """The values in native byte order, and as float64 if only numpy supports the dtype."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (2, 4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _column(name: str, values: NDArray[Any]) -> Prediction:
    """A polars Series."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    plain = values.tolist() if values.dtype.kind == "O" else np.ascontiguousarray(_native(values))
    return import_module("polars").Series(name, plain)
