"""Saving and loading of fitted estimators, as files and bytes."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._files import archives
from weald._files.state import Decoder, Encoder, arrays_of, from_text, prove_arrays, prove_size, to_text
from weald._input import registry
from weald._input.messages import described, kind_and_module
from weald._rounds.rounds import CALLBACKS
from weald.loss import get

if TYPE_CHECKING:
    from weald._around.base import Around
    from weald._fit.base import BaseModel

__all__ = ["dumps", "inspect_model", "load", "loads", "save"]


_KEYS = {"class", "params", "fitted"}
# For fitted meta-estimators also the fitted estimators inside, and whether each was frozen.
_KEYS_AROUND = _KEYS | {"members"}


def is_of_weald(model: object) -> bool:
    return (registry.ESTIMATORS | registry.META_ESTIMATORS).get(type(model).__name__) is type(model)


def parts_of(encoder: Encoder, model: Any, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The result of `_taken_apart`, also for meta-estimators: the model of the first one inside is that of the file."""
    name = type(model).__name__
    if name not in registry.META_ESTIMATORS:
        return _taken_apart(encoder, model._twin(), prefix)
    members, params, fitted = model._parts()
    encoded = _encoded(encoder, name, prefix, params, fitted)
    found, first = [], None
    for i, (inner, is_frozen) in enumerate(members):
        where = f"{prefix}{model._held}" + f"[{i}]" * (model._held == "estimators_")
        _check_own(inner, f"{name}: {where}")
        engine, content = parts_of(encoder, inner, f"{where}.")
        if i == 0:
            first = engine
        elif engine is not None:
            content["model"] = encoder.named("model", f"{name}: {where}", np.frombuffer(engine.to_bytes(), np.uint8))
        found.append({"inner": content, "frozen": is_frozen})
    return first, {"class": name, **encoded, "members": found}


def _check_own(inner: object, what: str) -> None:
    if not is_of_weald(inner):
        raise TypeError(
            f"{what} must be an estimator of weald or scikit-learn, got {kind_and_module(inner)}; "
            f"{archives.ELSEWHERE}; nothing was written"
        )


def _encoded(
    encoder: Encoder, name: str, prefix: str, params: dict[str, Any], fitted: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The parameters and the fitted attributes of a meta-estimator, for JSON."""
    return {
        part: {n: encoder.named(n, f"{name}: the {what} {prefix}{n}", values[n]) for n in sorted(values)}
        for part, what, values in (("params", "parameter", params), ("fitted", "attribute", fitted))
    }


def _taken_apart(encoder: Encoder, model: BaseModel, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The model of the engine, or None if not fitted, and the rest for JSON. `prefix` is the path in messages."""
    name = type(model).__name__
    state = model._state()
    proof = model._proof
    engine = proof.model_of(state.pop(proof.attribute, None))
    _prove_names(f"{name}: {prefix}", state)
    names = model._get_param_names()
    known = proof.rows(isinstance(model, ClassifierMixin))
    values = {n: state.pop(n) for n in sorted(names)}
    # A frozen model that stages start from is both a parameter and an attribute, which is stored once.
    if isinstance(state.get("_init"), FrozenEstimator) and values["init"] is state["_init"]:
        del values["init"]
    if not isinstance(values.get("loss", ""), str):
        # Losses of users have methods, which no file contains.
        values["loss"] = get(values["loss"])
    params = {n: encoder.named(n, f"{name}: the parameter {prefix}{n}", value) for n, value in values.items()}
    for attribute in sorted(state):
        if attribute == CALLBACKS:
            raise TypeError(
                f"{name}: callbacks are not supported in model files, which contain no code: call "
                f"{prefix}set_callbacks() first, which removes them, or pickle the estimator; nothing was written"
            )
        if attribute not in known:
            raise TypeError(
                f"{name}: the attribute {prefix}{attribute} is not supported in model files, which contain those of "
                f"weald alone: delete it; {archives.ELSEWHERE}; nothing was written"
            )
    fitted = {n: encoder.named(n, f"{name}: the attribute {prefix}{n}", state[n]) for n in sorted(state)}
    return engine, {"class": name, "params": params, "fitted": fitted}


def _prove_names(prefix: str, state: dict[str, Any]) -> None:
    """Check that the names of features are distinct."""
    names = state.get("feature_names_in_")
    if not isinstance(names, np.ndarray):
        return  # validated with the other attributes
    seen: set[str] = set()
    for name in names.ravel().tolist():
        if isinstance(name, str) and name in seen:
            raise ValueError(
                f"{prefix}feature_names_in_ must have distinct names in model files, got {name[:80]!r} twice: rename "
                "one of the columns of X"
            )
        if isinstance(name, str):
            seen.add(name)


def trusted_types() -> list[str]:
    """The types of weald that an archive may contain."""
    return archives.trusted_types()


def nested_object(encoder: Encoder, value: Any) -> dict[str, Any]:
    """An object that is a parameter or a part of an estimator, for JSON."""
    if isinstance(value, list) or archives.is_of_others(value):
        data = archives.dumps(value, encoder.what, trusted_types())
        return {"archive": encoder.encode(np.frombuffer(data, dtype=np.uint8))}
    if registry.META_ESTIMATORS.get(type(value).__name__) is type(value) and not value.__sklearn_is_fitted__():
        params = value.get_params(deep=False)
        named = {n: encoder.named(n, f"{encoder.what}: the parameter {n}", params[n]) for n in sorted(params)}
        return {"estimator": {"class": type(value).__name__, "params": named, "fitted": {}}}
    if registry.ESTIMATORS.get(type(value).__name__) is not type(value):
        raise encoder.refused(value)
    engine, content = _taken_apart(encoder, value, f"{encoder.attribute}.")
    if engine is not None:
        content["model"] = encoder.encode(np.frombuffer(engine.to_bytes(), dtype=np.uint8))
    return {"estimator": content}


def _class_named(name: object) -> Any:
    """The class of an estimator, by its name in a file."""
    cls = registry.ESTIMATORS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"class must be the name of an estimator of weald, got {described(name)}")
    return cls


def put_together(decoder: Decoder, content: object, engine: _weald._Model | None) -> BaseEstimator:
    """The estimator from the result of `_taken_apart`, after validation of all parts."""
    if (
        isinstance(content, dict)
        and isinstance(content.get("class"), str)
        and content["class"] in registry.META_ESTIMATORS
    ):
        return _put_around(decoder, content, engine)
    if not isinstance(content, dict) or content.keys() != _KEYS:
        raise ValueError(f"an estimator must be an object with the keys {sorted(_KEYS)}, got {described(content)}")
    cls = _class_named(content["class"])
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    proof, name, names = cls._proof, content["class"], set(cls._get_param_names())
    shared = {"init"} if "_init" in content["fitted"] else set()
    missing, unknown = names - shared - content["params"].keys(), content["params"].keys() - names
    if missing:
        raise ValueError(f"{name} must have the parameter {min(missing)!r}, which is missing in the file")
    if unknown:
        raise ValueError(f"{name} does not support the parameter {min(unknown)[:80]!r}")
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    estimator: BaseModel = cls(**params)
    if strange := sorted(content["fitted"].keys() - proof.rows(isinstance(estimator, ClassifierMixin)).keys()):
        raise ValueError(f"{name} does not support the attribute {strange[0][:80]!r}")
    estimator._validate_params()
    state = dict(estimator.__dict__)
    state.update((n, decoder.decode(value)) for n, value in sorted(content["fitted"].items()))
    _prove_names(f"{name}: ", state)
    if engine is not None:
        state[proof.attribute] = proof.holding(engine)
    if "init" not in content["params"] and isinstance(state.get("_init"), FrozenEstimator):
        state["init"] = state["_init"]
    estimator.__setstate__(state)
    return estimator


def _put_around(decoder: Decoder, content: dict[str, Any], engine: _weald._Model | None) -> BaseEstimator:
    """The same for a meta-estimator, which is not fitted if there are no estimators inside."""
    cls = registry.META_ESTIMATORS[content["class"]]
    name = cls.__name__
    is_fitted = content.keys() == _KEYS_AROUND
    if not is_fitted and (content.keys() != _KEYS or content["fitted"] != {}):
        raise ValueError(f"{name} must be an object with the keys {sorted(_KEYS_AROUND)}, got {described(content)}")
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    params, fitted = (
        {n: decoder.decode(value) for n, value in sorted(content[part].items())} for part in ("params", "fitted")
    )
    if params.keys() != (expected := set(cls._get_param_names())):
        raise ValueError(f"{name} must have the parameters {sorted(expected)}, got {sorted(params)}")
    members: list[tuple[Any, bool]] = []
    of_file = content["members"] if is_fitted else []
    if not isinstance(of_file, list) or is_fitted > len(of_file):
        raise ValueError(f"{name}: members must be a list of estimators, got {described(of_file)}")
    for i, member in enumerate(of_file):
        if not isinstance(member, dict) or member.keys() != {"inner", "frozen"} or type(member["frozen"]) is not bool:
            raise ValueError(f"{name} must have members with an estimator, and true or false as frozen")
        inner = member["inner"]
        model = put_together(decoder, inner, engine) if i == 0 else _estimator_again(decoder, inner)
        members.append((model, member["frozen"]))
    around: Around = cls._of_parts(members, params, fitted)
    return around


def _estimator_again(decoder: Decoder, content: object) -> BaseEstimator:
    if not isinstance(content, dict):
        raise ValueError(f"an estimator must be an object, got {described(content)}")
    rest = dict(content)
    engine = None
    if "model" in rest:
        data = _bytes_of(decoder, rest.pop("model"))
        engine = _class_named(_innermost(rest).get("class"))._proof.read(data)
    return put_together(decoder, rest, engine)


def _innermost(content: dict[str, Any]) -> dict[str, Any]:
    """The content of the estimator whose model is that of a meta-estimator: the first one inside."""
    while True:
        members = content.get("members")
        first = members[0] if isinstance(members, list) and members else None
        inside = first.get("inner") if isinstance(first, dict) else None
        if not isinstance(inside, dict):
            return content
        content = inside


def _bytes_of(decoder: Decoder, content: object) -> bytes:
    data = decoder.decode(content)
    if type(data) is not np.ndarray or data.dtype != np.uint8 or data.ndim != 1:
        raise ValueError(f"the model of an estimator must be an array of bytes, got {described(data)}")
    return data.tobytes()


def _archive_again(decoder: Decoder, content: object) -> object:
    value = archives.loads(_bytes_of(decoder, content), "archive of scikit-learn's objects", trusted_types())
    if not all(map(archives.is_of_others, value if type(value) is list else [value])):
        raise ValueError(f"an archive must have objects of scikit-learn, got {described(value)}")
    return value


# The decoders of what `nested` encodes, by tag.
NESTED: dict[str, Callable[[Decoder, Any], Any]] = {"estimator": _estimator_again, "archive": _archive_again}


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
                return archives.load_model(buffer, trusted_types())
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
    return archives.dumps(model, "estimator", trusted_types())


def _checked_parts(model: BaseEstimator) -> tuple[Any, str, dict[str, NDArray[Any]]]:
    """The model of the engine, and the JSON text and the arrays of the estimator."""
    name = type(model).__name__
    if not is_of_weald(model):
        raise TypeError(f"estimator must be a fitted estimator of weald or a pipeline, got {kind_and_module(model)}")
    check_is_fitted(model)
    model._validate_params()
    encoder = Encoder(nested_object)
    engine, content = parts_of(encoder, model, "")
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
                    return archives.load_model(start + file.read(), trusted_types())
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
    if not isinstance(path, str | bytes | PathLike):
        raise TypeError(f"path must be a str or an os.PathLike, got {described(path)}")
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
