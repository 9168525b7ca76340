"""Saving and loading of fitted estimators, as files and bytes."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._files import archives
from weald._files.model_parts import NESTED, apart, is_of_weald, nested, put_together, trusted
from weald._files.state import Decoder, Encoder, arrays_of, from_text, prove_arrays, prove_size, to_text
from weald._input import registry
from weald._input.messages import described, kind_and_module

__all__ = ["dumps", "inspect_model", "load", "loads", "save"]

Path: TypeAlias = str | PathLike[str]
# What refuses a file by its header, and the model of the engine with the arrays of the estimator.
_Accept: TypeAlias = "Callable[[_weald._ModelSummary], None]"
_Parts: TypeAlias = "tuple[_weald._Model, dict[str, NDArray[Any]]]"

# Prefix of the names of arrays of the estimator in a file, and the types of tensors that they may have.
_PREFIX = "estimator."
_DTYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I32": "<i4",
    "I64": "<i8",
    "U32": "<u4",
    "U64": "<u8",
    "F32": "<f4",
    "F64": "<f8",
}


def save(estimator: BaseEstimator, path: str | PathLike[str]) -> None:
    """Save a fitted estimator to a file from which it can be loaded without running code of the file.

    The file is in the safetensors format, with arrays that any reader can show, and parameters and attributes as JSON.
    Equal models give equal bytes. Objects of scikit-learn, and pipelines, are written by skops, and depend on its
    version. Time and memory are proportional to the size of the file. See `docs/model-files.md`.

    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     weald.save(forest, path)
    ...     same, n_trees = weald.load(path), weald.inspect_model(path)["n_trees"]
    >>> bool((same.predict_proba(X) == forest.predict_proba(X)).all()), n_trees
    (True, 10)

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted estimator of weald, or a pipeline that ends in one. Compressed forests are saved without the forest
        before compression, a loss of your own as its name, domain and link, and a fitted model that is a parameter
        unfitted.
    path : str, os.PathLike or binary file object
        The path of a regular file, or an object whose method `write` is called once with all bytes. A file is written
        under a temporary name (`.weald-*.tmp`) in the same folder and then renamed, so that an existing one is never
        half replaced; it keeps its mode, and its owner if the operating system permits.

    Raises
    ------
    TypeError, ValueError
        If a parameter or attribute is no plain value, such as a function; the message names it.
    ImportError
        If skops is needed and not installed.
    OSError, MemoryError
        If the operating system reports an error, or memory does not suffice. Then no file was written.
    """
    write = None if isinstance(path, str | PathLike) else _method_of(path, "write")
    if _is_archived(estimator):
        data = _archive_of(estimator)
        if write is None:
            _weald.write_file(os.fsdecode(path), data)
        else:
            write(data)
        return
    parts = _checked_parts(estimator)
    if write is None:
        _weald.save_model(os.fsdecode(path), *parts)
    else:
        write(_weald.write_model(*parts))


def dumps(estimator: BaseEstimator) -> bytes:
    """Save a fitted estimator to bytes, for example for a database, a cache or a message. Errors are those of `save`.

    >>> import weald
    >>> tree = weald.DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> weald.loads(weald.dumps(tree)).predict([[1.0]])
    array(['b'], dtype='<U1')

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted model that `save` supports.

    Returns
    -------
    bytes
        The content of the file that `save` writes. Equal models give equal bytes, except that some attributes of
        scikit-learn in pipelines hold addresses in memory.
    """
    if _is_archived(estimator):
        return _archive_of(estimator)
    return _weald.write_model(*_checked_parts(estimator))


def loads(data: Any) -> Any:
    """Load a fitted estimator from bytes that `dumps` returned, or from the content of a file that `save` wrote.

    Parameters
    ----------
    data : bytes, bytearray, memoryview, or other contiguous buffer of bytes
        The bytes of the model. They are not copied, and are validated in the same way, with the same errors, as by
        `load`.

    Returns
    -------
    estimator
        The fitted estimator or pipeline.
    """
    try:
        buffer = np.frombuffer(data, dtype=np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(data, bytes | bytearray | memoryview) and len(data) == 0:
            raise ValueError("data must be the bytes of a model, got no bytes") from error
        raise TypeError(f"data must be bytes, such as weald.dumps returns, got {kind_and_module(data)}") from error
    with _faults_of("data"):
        try:
            return _estimator_of(lambda accept: _weald.read_model(buffer, accept))
        except ValueError:
            if _is_archive(buffer[:_N_START].tobytes()):
                return archives.load_model(buffer, trusted())
            raise


def _method_of(file: object, name: str) -> Any:
    """The method of a file object, or None if `path` is a path."""
    if isinstance(file, bytes | bytearray | memoryview):
        instead = "weald.loads(data) for the bytes of a model" if name == "read" else "a path or a binary file"
        raise TypeError(f"path must be a str, an os.PathLike or a binary file, got {kind_and_module(file)}; {instead}")
    found = getattr(file, name, None)
    if not callable(found):
        raise TypeError(
            f"path must be a str, an os.PathLike or a binary file with {name}(), got {kind_and_module(file)}"
        )
    return found


@contextmanager
def _faults_of(source: str) -> Iterator[None]:
    """Convert errors that are caused by the content to ValueErrors that contain its source."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        # Errors of the operating system are not converted. Constructors and parameter checks raise TypeError.
        raise _fault_of(source, error) from error


def _fault_of(source: str, error: Exception) -> ValueError:
    """The error with its source: in front, or behind the words that say what is wrong with the whole file."""
    what, is_none, why = str(error).partition(_NOT_VALID)
    return ValueError(f"{_NOT_VALID}{source}: {why}" if is_none and not what else f"{source}: {error}")


# The number of bytes that tell what a file is that is not a model: the length of the header, and its first character.
_N_START = 9
# The engine refuses longer headers.
_MOST_HEADER_BYTES = 100_000_000
# The first words about a file that is no model, as the engine says them.
_NOT_VALID = "not a valid weald model: "


def _is_archive(start: bytes) -> bool:
    """Whether something that is not a valid model, and starts with these bytes, is an archive. Refuses pickles.

    Any bytes may be the length of a header, and therefore this is asked only about what is not a model. A model that is
    damaged still has a header.
    """
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= _MOST_HEADER_BYTES:
        return False
    if len(start) >= 2 and start[0] == 0x80 and 2 <= start[1] <= 5:  # protocols of pickle
        raise ValueError(
            f"{_NOT_VALID}the file must be one that weald.save wrote, got a pickle, which runs code "
            "when it is loaded; if you trust it, load it with pickle or joblib, and save it again with weald.save"
        )
    return archives.is_start_of(start)


def _is_archived(model: BaseEstimator) -> bool:
    """Whether a model is saved as an archive: a pipeline, or a meta-estimator around a model of scikit-learn."""
    if registry.META_ESTIMATORS.get(type(model).__name__) is not type(model):
        return isinstance(model, Pipeline)
    inside = getattr(model, "estimators_", None) or [getattr(model, "estimator_", None)]
    for inner in inside:
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        if archives.is_of_others(inner) or _is_archived(inner):
            return True
    return False


def _archive_of(model: BaseEstimator) -> bytes:
    check_is_fitted(model)
    return archives.dumps(model, "estimator", trusted())


def _checked_parts(model: BaseEstimator) -> tuple[Any, str, dict[str, NDArray[Any]]]:
    """The model of the engine, and the JSON text and the arrays of the estimator."""
    name = type(model).__name__
    if not is_of_weald(model):
        raise TypeError(f"estimator must be a fitted estimator of weald or a pipeline, got {kind_and_module(model)}")
    check_is_fitted(model)
    model._validate_params()
    encoder = Encoder(nested)
    engine, content = apart(encoder, model, "")
    text = to_text(content)
    try:
        prove_size(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}; {archives.ELSEWHERE}; nothing was written") from error
    return engine, text, encoder.arrays


def load(path: object, *, mmap_mode: Literal["r"] | None = None) -> Any:
    """Load a fitted estimator or pipeline from a file that `save` wrote.

    No code of the file is run, and everything is validated before use: trees, parameters as in `fit`, and fitted
    attributes. Whatever the file contains, the result is an estimator that can predict or an error; of pipelines this
    holds for the steps of weald. The time is proportional to the size of the file, and the model needs at most 8 bytes
    of memory for each of its bytes, mostly 1 to 2. See `docs/model-files.md`.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        The path of the file, or an object with a method `read` that returns all bytes of the file.
    mmap_mode : {"r"} or None, default=None
        If "r", the file is mapped into memory instead of being read in pieces, and must not be truncated meanwhile.

    Returns
    -------
    estimator
        The fitted estimator, of the class that was saved and with its parameters. A `RandomState` among the parameters
        has the state that it had when the model was saved.

    Raises
    ------
    ValueError
        If the file is no valid model, or one of a newer format, with the path and the check that failed.
    ImportError
        If the file contains a pipeline or an object of scikit-learn, and skops is not installed.
    OSError, MemoryError
        If the operating system reports an error, or memory does not suffice.
    """
    if mmap_mode is not None and not (isinstance(mmap_mode, str) and mmap_mode == "r"):
        raise ValueError(f'mmap_mode must be None or "r", got {described(mmap_mode)}')
    if not isinstance(path, str | PathLike):
        read = _method_of(path, "read")
        if mmap_mode is not None:
            raise ValueError('mmap_mode must be None with a file object, got "r"')
        data = read()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                "path must be a file opened with mode 'rb', but path.read() returned "
                f"{kind_and_module(data)} instead of bytes"
            )
        return loads(data)
    name = os.fsdecode(path)
    with _faults_of(name):
        read_parts = _mapped if mmap_mode == "r" else _weald.load_model
        try:
            return _estimator_of(lambda accept: read_parts(name, accept))
        except ValueError:
            # A regular file, as has been checked before.
            with open(name, "rb") as file:
                start = file.read(_N_START)
                if _is_archive(start):
                    return archives.load_model(start + file.read(), trusted())
            raise


def _estimator_of(read: Callable[[_Accept], _Parts]) -> BaseEstimator:
    """The estimator of a model file, after validation of all parts.

    `read` opens the file, shows its header to a function, and then reads the model and the arrays.
    """
    content = None

    def accept(summary: _weald._ModelSummary) -> None:
        nonlocal content
        content = _proven(summary)

    engine, arrays = read(accept)
    return put_together(Decoder(arrays, NESTED), content, engine)


def inspect_model(path: Path) -> _weald._ModelSummary:
    """Summarize the content of a model file by its header, which alone is read and validated.

    Parameters
    ----------
    path : str or os.PathLike
        The path of the file.

    Returns
    -------
    dict
        `format_version` and `release` (None up to 0.1); `kind` ("forest", "centroid", "linear", "label_tree", "boosted"
        or "compressed"); `outputs` ("numbers", "classes" or "labels"); the sizes `n_outputs`, `n_features`, `n_trees`,
        `n_nodes` and `width`, the columns of predictions; `criterion`; `n_bytes`, `n_header_bytes`; `tensors`, with the
        `share` of each array; and `estimator`, JSON that is not validated.
    """
    name = os.fsdecode(path)
    try:
        return _weald.inspect_model(name)
    except ValueError as error:
        with open(name, "rb") as file:
            if archives.is_start_of(file.read(_N_START)):
                raise ValueError(
                    f"{name}: the file must contain a single estimator, got a zip archive, as which pipelines are "
                    "saved; weald.load reads pipelines, and skops.io.visualize shows their content"
                ) from error
        raise _fault_of(name, error) from error


def _proven(summary: _weald._ModelSummary) -> Any:
    """The content of the text of the estimator, all of whose arrays are in the file, as stated, and within limits."""
    if summary["estimator"] is None:
        raise ValueError("the file must contain an estimator, got a model of the engine alone")
    content = from_text(summary["estimator"])
    arrays = {
        tensor["name"].removeprefix(_PREFIX): (_DTYPES[tensor["dtype"]], tensor["shape"])
        for tensor in summary["tensors"]
        if tensor["name"].startswith(_PREFIX)
    }
    prove_arrays(content, arrays)
    part = content
    while isinstance(part, dict):
        members = part.get("members")
        inside = members if isinstance(members, list) else []
        if len(inside) > 1:
            break  # of several models, the file alone limits the attributes
        fitted = part.get("fitted")
        for attribute, value in (fitted if isinstance(fitted, dict) else {}).items():
            n_values = sum(math.prod(shape) for _, _, shape in arrays_of(value))
            if n_values > (most := _most_values(attribute, summary)):
                raise ValueError(f"{attribute[:80]} must have at most {most} values in arrays, got {n_values}")
        part = inside[0].get("inner") if inside and isinstance(inside[0], dict) else None
    return content


# Attributes with a value for each label or class.
_OF_LABELS = {"classes_", "_classes", "weights_", "threshold_", "is_calibrated_", "scale_", "_offset", "frequent_"}
# Those of all calibration samples, of all pairs of outputs, or of edges.
_OF_SAMPLES = {"_maps", "_ranks", "covariance_", "hierarchy_"}


def _most_values(attribute: str, summary: _weald._ModelSummary) -> float:
    """The maximum number of values in arrays of a fitted attribute, by the header of its model.

    Arrays that depend on the number of training samples, rounds, steps of a path or edges are only limited by the file.
    """
    if attribute in _OF_SAMPLES or any(attribute in cls._proof.of_training for cls in registry.ESTIMATORS.values()):
        return math.inf
    # The arrays of other attributes are written as JSON, since they contain names or few values.
    return summary["width"] if attribute in _OF_LABELS else 0


def _mapped(name: str, accept: _Accept) -> _Parts:
    with open(name, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError(f"{_NOT_VALID}the file must not be empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            buffer = np.frombuffer(mapped, dtype=np.uint8)
            try:
                return _weald.read_model(buffer, accept)
            finally:
                del buffer  # otherwise the map could not be closed
