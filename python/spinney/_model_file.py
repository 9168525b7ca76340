"""Fitted estimators as files and bytes: `save`, `load`, `dumps`, `loads`, `inspect_model`."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from spinney import _pipeline_files, _spinney
from spinney._callbacks import CALLBACKS
from spinney._proof import ENGINE, Kind, attribute_of, engine_from, engine_of, fitted_names, most_values
from spinney._state import Decoder, Encoder, arrays_of, from_text, prove_arrays, prove_size, to_text

if TYPE_CHECKING:
    from spinney._spinney import _ModelSummary

__all__ = ["dumps", "inspect_model", "load", "loads", "save"]

Path: TypeAlias = str | PathLike[str]

# Arrays of the estimator in a file, and the types of tensors that these have.
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

_KEYS = {"class", "params", "fitted"}
# Of classifiers of labels around another: the fitted one inside, and whether it was frozen.
_KEYS_AROUND = _KEYS | {"inner", "frozen"}

# Parameters that estimators have and files of the format need not have: they stand there unless they have these values,
# with which the estimator is what it was before it had them.
_ADDED: dict[str, Any] = {
    "multi_label": "auto",
    "leaf_estimation": "line_search",
    "l2_regularization": 0.0,
    "min_sum_hessian_in_leaf": 0.0,
    "early_stopping": "auto",
    "scoring": None,
    "callbacks": None,
    "init": None,
    "init_cv": None,
    "max_features_by_tree": None,
    "min_weight_leaf": 0.0,
    "quantile": 0.5,
    "categorical_features": "from_dtype",
    "monotonic_cst": None,
    "interaction_cst": None,
    "keep_rows": False,
    "huber_delta": 1.0,
    "tweedie_power": 1.5,
    "output_scaling": None,
    "output_weights": None,
    "label_weight": None,
}
# The same of parameters that files of other estimators have always had.
_ADDED_TO_TREES = {"n_jobs": None}
# Parameters that files may have and estimators have no longer: models predict the same without them.
_REMOVED = {"prefit"}


def _classes() -> dict[str, Any]:
    """The estimators that a file may name."""
    import spinney

    trees = ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees", "CentroidForest")
    names = (*trees, "GradientBoosting", "CompressedForest")
    both = [f"{name}{kind}" for name in names for kind in ("Classifier", "Regressor")]
    return {name: getattr(spinney, name) for name in both}


def _classes_around() -> dict[str, Any]:
    """The classifiers of labels around another that a file may name."""
    from spinney import multilabel

    return {name: getattr(multilabel, name) for name in ("CalibratedLabels", "TunedThresholds")}


def _is_of_spinney(model: Any) -> bool:
    return (_classes() | _classes_around()).get(type(model).__name__) is type(model)


def _trusted() -> list[str]:
    """The types of spinney that a pipeline may name."""
    return _pipeline_files.trusted_types([*_classes().values(), *_classes_around().values()])


def _pipeline_of(data: Any) -> Any:
    """The pipeline of an archive."""
    pipeline = _pipeline_files.loads(data, _trusted())
    for i, (name, step) in enumerate(pipeline.steps):
        # Other estimators of spinney prove their state when they are made; these leave it to the file.
        if _classes_around().get(type(step).__name__) is type(step):
            pipeline.steps[i] = (name, loads(dumps(step)))
    return pipeline


def save(model: Any, path: Any) -> None:
    """Write a fitted estimator to a file that runs no code when it is loaded.

    The file is safetensors: trees are arrays that any reader of that format shows, and Rust programs load them with the
    `spinney` crate; parameters and fitted attributes are JSON. The same model gives the same bytes.

    Parameters
    ----------
    model : fitted estimator of spinney, or Pipeline of scikit-learn
        A tree, forest, centroid forest, boosted or compressed model. What a pickle leaves out is left out here: of
        compressed models the path and the forest before compression. `TunedThresholds` and `CalibratedLabels` around
        one of them are saved with it, their thresholds and functions as arrays. A fitted pipeline is written in the
        format of skops; see the notes.
    path : str, os.PathLike or binary file object
        The file, or an object whose method `write` takes the bytes of all of it at once. A file of that name is
        written beside the old one, if there is one, and takes its name when it is whole: after a
        failure, or when the process is killed, the old file is as it was. A process that is killed may leave a file
        `.spinney-*.tmp` in the folder. Of a symbolic link the file that it leads to is written, and the link stays.
        The new file has the mode of the old one (where there is none, that of the umask) and, where the system allows
        it, its owner; other names of the old file (hard links) keep the old model. What is no regular file, such as a
        device, a named pipe or a socket, is refused.

    Raises
    ------
    TypeError
        For anything but an estimator of spinney or a pipeline; for a parameter or an attribute that is no plain value,
        such as a function or an estimator of another library (`estimator` of boosting, what `TunedThresholds` or
        `CalibratedLabels` hold, pipelines among them). The message names it. Pickle such models. For a pipeline with
        types of other libraries than scikit-learn, NumPy, SciPy and spinney, functions such as lambdas among them.
    ImportError
        For a pipeline, where skops is not installed.
    ValueError
        When a parameter has been set to what `fit` would not accept; when two features have the same name; when
        parameters and attributes make more than 4 million lists or a million objects of JSON (the entries of a dict
        are lists).
    sklearn.exceptions.NotFittedError
        When `model` is not fitted.
    OSError
        What the system says: `FileNotFoundError` for a folder that is not there, `PermissionError` and so on; that
        `path` is a device, a named pipe or a socket.
    MemoryError
        Nothing was written in any of these cases.

    See Also
    --------
    load, dumps, inspect_model

    Notes
    -----
    O(size of the model); memory is that of the file.

    A pipeline holds transformers of scikit-learn, which spinney's own format does not know. skops (the extra
    `spinney[skops]`) writes it to a zip archive, whose loading runs no code that the file chooses either: types that
    neither skops nor spinney trusts are refused by `save` as by `load`. What is inside is bound to the version of
    scikit-learn, as pickles are. The bytes of the same pipeline may differ from one time to the next.

    `pickle`, `copy` and `joblib` hold the same bytes of the trees, which are proven in the same way, and the fitted
    attributes are proven too; but loading a pickle runs code that the file chooses, before any proof. skops does not,
    and proves as much: `skops.io.load(file, trusted=[...])` with the name of the estimator's class, such as
    "spinney.forest.RandomForestClassifier", and of classifiers of labels "spinney.multilabel.LabelFormat" and
    "numpy.dtype".

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     spinney.save(forest, path)
    ...     same = spinney.load(path)
    ...     n_trees = spinney.inspect_model(path)["n_trees"]
    >>> bool((same.predict_proba(X) == forest.predict_proba(X)).all()), n_trees
    (True, 10)
    """
    write = None if isinstance(path, str | PathLike) else _method_of(path, "write")
    if isinstance(model, Pipeline):
        data = _pipeline_files.dumps(model, _trusted())
        if write is None:
            _spinney.write_file(os.fsdecode(path), data)
        else:
            write(data)
        return
    parts = _checked_parts(model)
    if write is None:
        _spinney.save_model(os.fsdecode(path), *parts)
    else:
        write(_spinney.write_model(*parts))


def dumps(model: Any) -> bytes:
    """The bytes of the file that `save` writes, for a database, a cache or a message.

    Parameters
    ----------
    model : fitted estimator of spinney, or Pipeline of scikit-learn
        As `save` takes it.

    Returns
    -------
    bytes
        The same bytes whenever the model is the same, but for pipelines.

    Raises
    ------
    TypeError, ValueError, ImportError, sklearn.exceptions.NotFittedError, MemoryError
        As `save`.

    See Also
    --------
    loads, save

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = spinney.DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> bool((spinney.loads(spinney.dumps(tree)).predict(X) == tree.predict(X)).all())
    True
    """
    if isinstance(model, Pipeline):
        return _pipeline_files.dumps(model, _trusted())
    return _spinney.write_model(*_checked_parts(model))


def loads(data: Any) -> Any:
    """Read a fitted estimator of the bytes that `dumps` gave, or of those of a file of `save`.

    Parameters
    ----------
    data : bytes, bytearray, memoryview, or any contiguous buffer of bytes
        Not copied; proven as `load` proves a file.

    Returns
    -------
    estimator
        As `load`.

    Raises
    ------
    TypeError
        For anything but bytes.
    ValueError
        For bytes that are no model, or not a valid one, or of a newer version: with the proof that failed.
    ImportError
        For the bytes of a pipeline, where skops is not installed.
    MemoryError

    See Also
    --------
    dumps, load
    """
    try:
        buffer = np.frombuffer(data, dtype=np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(data, bytes | bytearray | memoryview) and len(data) == 0:
            raise ValueError("data is empty, accepted: the bytes of a model") from error
        raise TypeError(f"data is {_article(data)}, accepted: bytes, such as spinney.dumps gives") from error
    with _faults_of("data"):
        _refuse_pickle(buffer[:2].tobytes())
        if _pipeline_files.is_start_of(buffer[:4].tobytes()):
            return _pipeline_of(buffer)
        return _estimator_of(_spinney.inspect_bytes(buffer), lambda: _spinney.read_model(buffer))


def _method_of(file: Any, name: str) -> Any:
    """The method of a file object."""
    if isinstance(file, bytes | bytearray | memoryview):
        instead = "spinney.loads(data) for the bytes of a model" if name == "read" else "a path or a binary file"
        raise TypeError(f"path is {_article(file)}, accepted: a str, an os.PathLike, or a binary file; {instead}")
    found = getattr(file, name, None)
    if not callable(found):
        raise TypeError(f"path is {_article(file)}, accepted: a str, an os.PathLike, or a binary file with {name}()")
    return found


@contextmanager
def _faults_of(source: str) -> Iterator[None]:
    """Errors of what is no model become ValueErrors that name where it came from."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        # Errors of the system are no ValueError. TypeError is what constructors and checks of parameters raise.
        raise ValueError(f"{source}: {error}") from error


def _refuse_pickle(start: bytes) -> None:
    """Pickles of protocol 2 and later start with these bytes; the length of a header is never as large."""
    if len(start) == 2 and start[0] == 0x80 and start[1] <= 5:
        raise ValueError(
            "not a valid spinney model: it is a pickle, which runs code of its own when it is loaded: if you trust "
            "it, load it with pickle or joblib, and write it anew with spinney.save"
        )


def _checked_parts(model: Any) -> tuple[Any, str, dict[str, NDArray[Any]]]:
    """The engine's model, and the text and arrays of the estimator."""
    name = type(model).__name__
    if not _is_of_spinney(model):
        raise TypeError(f"model is {_article(model)}, accepted: fitted estimators of spinney and pipelines")
    check_is_fitted(model)
    model._validate_params()
    encoder = Encoder(_nested)
    engine, content = _apart(encoder, model, "")
    text = to_text(content)
    try:
        prove_size(text)
    except ValueError as error:
        message = f"{name}: its parameters and attributes are too many: {error}. Pickle it; nothing was written"
        raise ValueError(message) from error
    return engine, text, encoder.arrays


def load(path: Any, *, mmap_mode: Literal["r"] | None = None) -> Any:
    """Read a fitted estimator, or a pipeline, that `save` wrote.

    No code of the file is run, and no class is looked up but those of spinney's estimators. Everything is proven before
    use: each tree, as the engine does it; the parameters, as `fit` would; and that the fitted attributes agree with the
    trees. On any file it ends with an estimator that predicts, or with one of the errors below. In a pipeline this
    holds for the steps of spinney: classes of scikit-learn, NumPy and SciPy that skops trusts are made as the file
    says.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        The file, or an object whose method `read` gives the bytes of all of it.
    mmap_mode : {"r"}, default=None
        Map the file of that name into memory in place of reading it piece by piece. The model is built in memory either
        way. While a file is mapped nothing may shorten it: the system would end the process.

    Returns
    -------
    estimator
        Of the class that was saved, with its parameters. A `RandomState` among them continues where it was.

    Raises
    ------
    ValueError
        For a file that is no model, or not a valid one, or of a newer version: with the file and the proof that failed.
        For a pipeline with types that neither skops nor spinney trusts, with their names.
    TypeError
        For a path that is none, such as the bytes of a model, which `loads` takes.
    ImportError
        For a pipeline, where skops is not installed.
    OSError
        What the system says: `FileNotFoundError` and so on.
    MemoryError

    See Also
    --------
    save, loads

    Notes
    -----
    O(size of the file), which is read in pieces: beside the model, less than a megabyte of it is in memory. The model
    takes at most 8 bytes for each byte of the file, and about a kilobyte for each tree; most take 1 to 2. Whether there
    is as much is asked before the arrays are read. Parameters and attributes, which are JSON, have bounds of their own:
    SECURITY.md has them.

    Examples
    --------
    See `save`.
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f'mmap_mode is {mmap_mode!r}, accepted: None and "r"')
    if not isinstance(path, str | PathLike):
        read = _method_of(path, "read")
        if mmap_mode is not None:
            raise ValueError('mmap_mode is "r", accepted with a file object: None')
        data = read()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"path.read() gave {_article(data)}, accepted: bytes, of a file opened with mode 'rb'")
        return loads(data)
    name = os.fsdecode(path)
    with _faults_of(name):
        try:
            summary = _spinney.inspect_model(name)
        except ValueError:
            # A regular file: what is none is refused before.
            with open(name, "rb") as file:
                start = file.read(len(_pipeline_files.START))
                _refuse_pickle(start[:2])
                if _pipeline_files.is_start_of(start):
                    return _pipeline_of(start + file.read())
            raise
        read_parts = _mapped if mmap_mode == "r" else _spinney.load_model
        return _estimator_of(summary, lambda: read_parts(name))


def _estimator_of(summary: _ModelSummary, read: Any) -> Any:
    """The estimator that a model file holds, every part of it proven."""
    _prove_sizes(summary)
    engine, text, arrays = read()
    decoder = Decoder(arrays, _nested_again)
    estimator = _put_together(decoder, from_text(text or ""), engine)
    decoder.finish()
    return estimator


def inspect_model(path: Path) -> _ModelSummary:
    """Tell what a model file holds, from its header alone.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    dict
        - `format_version` : int
        - `kind` : {"forest", "centroid", "boosted", "compressed"}; a tree is a forest of one
        - `outputs` : {"numbers", "classes", "labels"}
        - `n_outputs`, `n_features`, `n_trees`, `n_nodes` : int
        - `width` : int, columns of predictions: one for each numerical output and label, and one for each class
        - `criterion` : {"gini", "entropy", "squared_error", "poisson", "absolute_error"}, impurity that the trees were
          grown with
        - `n_bytes`, `n_header_bytes` : int, bytes of the file, and before its arrays
        - `tensors` : list of dict, with `name`, `dtype`, `shape`, `n_bytes` and `share` (of the file's bytes) of each
          array
        - `estimator` : str or None, JSON of the estimator's class, parameters and fitted attributes; not looked into

    Raises
    ------
    ValueError
        For a file that is no model or of a newer version, with the file and the fault.
    OSError
        What the system says.

    Notes
    -----
    O(header): reads nothing of the arrays, and proves what the header alone can prove. `load` proves everything.

    Examples
    --------
    See `save`.
    """
    name = os.fsdecode(path)
    try:
        return _spinney.inspect_model(name)
    except ValueError as error:
        with open(name, "rb") as file:
            if _pipeline_files.is_start_of(file.read(len(_pipeline_files.START))):
                raise ValueError(
                    f"{name}: it is a zip archive, as pipelines are saved, accepted: files of a single estimator; "
                    "spinney.load reads pipelines, skops.io.visualize shows what is inside"
                ) from error
        raise ValueError(f"{name}: {error}") from error


def _prove_sizes(summary: _ModelSummary) -> None:
    """Prove, from the header alone, that each array of the estimator has a place in it and is no larger than that."""
    if summary["estimator"] is None:
        raise ValueError("it holds a model of the engine alone, and no estimator")
    content = from_text(summary["estimator"])
    arrays = {
        tensor["name"].removeprefix(_PREFIX): (_DTYPES[tensor["dtype"]], tensor["shape"])
        for tensor in summary["tensors"]
        if tensor["name"].startswith(_PREFIX)
    }
    prove_arrays(content, arrays)
    while isinstance(content, dict):
        fitted = content.get("fitted")
        for attribute, value in (fitted if isinstance(fitted, dict) else {}).items():
            n_values = sum(math.prod(shape) for _, _, shape in arrays_of(value))
            if n_values > most_values(attribute, summary):
                raise ValueError(f"{attribute[:80]} has {n_values} values, which does not fit the model")
        content = content.get("inner")


def _mapped(name: str) -> tuple[Any, str | None, dict[str, NDArray[Any]]]:
    with open(name, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError("not a valid spinney model: the file is cut short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            buffer = np.frombuffer(mapped, dtype=np.uint8)
            try:
                return _spinney.read_model(buffer)
            finally:
                del buffer  # else the map could not be closed


def _article(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {type(value).__name__} of {type(value).__module__}"


def _apart(encoder: Encoder, model: Any, prefix: str) -> tuple[Any, dict[str, Any]]:
    """As `_taken_apart`, of classifiers around another, too."""
    if type(model).__name__ not in _classes_around():
        return _taken_apart(encoder, model._twin(), prefix)
    name = type(model).__name__
    inner, is_frozen, params, fitted = model._parts()
    if not _is_of_spinney(inner):
        raise TypeError(
            f"{name}: {prefix}estimator_ is {_article(inner)}, and model files hold estimators of spinney alone: "
            f"pickle the {name}, or save the last step of a pipeline; nothing was written"
        )
    encoded = {
        part: {n: encoder.named(n, f"{name}: the {what} {prefix}{n}", values[n]) for n in sorted(values)}
        for part, what, values in (("params", "parameter", params), ("fitted", "attribute", fitted))
    }
    engine, content = _apart(encoder, inner, f"{prefix}estimator_.")
    return engine, {"class": name, **encoded, "inner": content, "frozen": is_frozen}


def _added(kind: Kind) -> dict[str, Any]:
    return {**_ADDED, **_ADDED_TO_TREES} if kind == "tree" else _ADDED


def _taken_apart(encoder: Encoder, model: Any, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The engine's model, None when not fitted, and the rest for JSON. `prefix` is the path to `model` in messages."""
    name = type(model).__name__
    state = model._state()
    kind: Kind = model._kind
    engine = engine_of(state.pop(ENGINE[kind], None))
    _prove_names(f"{name}: {prefix}", state)
    names, added = model._get_param_names(), _added(kind)
    known = fitted_names(kind, isinstance(model, ClassifierMixin))
    values = {n: state.pop(n) for n in sorted(names)}
    params = {
        n: encoder.named(n, f"{name}: the parameter {prefix}{n}", value)
        for n, value in values.items()
        if n not in added or type(value) is not type(added[n]) or value != added[n]
    }
    for attribute in sorted(state):
        if attribute == CALLBACKS:
            raise TypeError(
                f"{name}: {prefix}set_callbacks has set callbacks, and model files hold no code: call set_callbacks() "
                "first, which takes them away, or pickle the estimator; nothing was written"
            )
        if attribute not in known:
            raise TypeError(
                f"{name}: {prefix}{attribute} is no attribute of spinney, and model files hold no others: delete it, "
                "or pickle the estimator; nothing was written"
            )
    fitted = {n: encoder.named(n, f"{name}: the attribute {prefix}{n}", state[n]) for n in sorted(state)}
    return engine, {"class": name, "params": params, "fitted": fitted}


def _prove_names(prefix: str, state: dict[str, Any]) -> None:
    """Prove that no two features have the same name."""
    names = state.get("feature_names_in_")
    if not isinstance(names, np.ndarray):
        return  # proven with the other attributes
    seen: set[str] = set()
    for name in names.ravel().tolist():
        if isinstance(name, str) and name in seen:
            raise ValueError(
                f"{prefix}feature_names_in_ has the name {name[:80]!r} twice, and model files hold none twice: name "
                "the columns of X apart, or pickle the estimator"
            )
        if isinstance(name, str):
            seen.add(name)


def _nested(encoder: Encoder, value: Any) -> dict[str, Any]:
    """An estimator of spinney that is a parameter of another."""
    if _classes_around().get(type(value).__name__) is type(value) and not hasattr(value, "estimator_"):
        params = value.get_params(deep=False)
        named = {n: encoder.named(n, f"{encoder.what}: the parameter {n}", params[n]) for n in sorted(params)}
        return {"class": type(value).__name__, "params": named, "fitted": {}}
    if _classes().get(type(value).__name__) is not type(value):
        raise encoder.refused(value)
    engine, content = _taken_apart(encoder, value, f"{encoder.attribute}.")
    if engine is not None:
        content["model"] = encoder.encode(np.frombuffer(engine.to_bytes(), dtype=np.uint8))
    return content


def _class_named(name: Any) -> Any:
    """The class of an estimator that a file names."""
    cls = _classes().get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"{str(name)[:80]!r} is no estimator of spinney")
    return cls


def _put_together(decoder: Decoder, content: Any, engine: Any) -> Any:
    """An estimator of what `_taken_apart` made, every part of it proven."""
    if isinstance(content, dict) and isinstance(content.get("class"), str) and content["class"] in _classes_around():
        return _put_around(decoder, content, engine)
    if not isinstance(content, dict) or content.keys() != _KEYS:
        raise ValueError("the estimator has other parts than its class, parameters and fitted attributes")
    name = content["class"]
    cls = _class_named(name)
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("the parameters, or the fitted attributes, are no object")
    kind: Kind = cls._kind
    names, added = set(cls._get_param_names()), _added(kind)
    removed = _REMOVED if kind == "compressed" else set()
    missing, unknown = names - added.keys() - content["params"].keys(), content["params"].keys() - names - removed
    if wrong := sorted(missing | unknown):
        raise ValueError(f"{name} has no parameter {wrong[0][:80]!r}, or the file has not")
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    absent = {n: value for n, value in added.items() if n in names}
    estimator = cls(**absent | {n: value for n, value in params.items() if n in names})
    if strange := sorted(content["fitted"].keys() - fitted_names(kind, isinstance(estimator, ClassifierMixin)).keys()):
        raise ValueError(f"{name} has no attribute {strange[0][:80]!r}")
    estimator._validate_params()
    state = dict(estimator.__dict__)
    state.update((n, decoder.decode(value)) for n, value in sorted(content["fitted"].items()))
    _prove_names(f"{name}: ", state)
    if engine is not None:
        state[ENGINE[kind]] = attribute_of(kind, engine)
    estimator.__setstate__(state)
    return estimator


def _put_around(decoder: Decoder, content: dict[str, Any], engine: Any) -> Any:
    """The same of a classifier around another; without one inside it is not fitted."""
    cls = _classes_around()[content["class"]]
    is_fitted = content.keys() == _KEYS_AROUND
    if not is_fitted and (content.keys() != _KEYS or content["fitted"] != {}):
        raise ValueError(f"{cls.__name__} has other parts than its parameters, attributes, and the estimator inside")
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("the parameters, or the fitted attributes, are no object")
    is_frozen = content.get("frozen", False)
    names = set(cls._get_param_names()) - ({"estimator"} if is_frozen else set())
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    if type(is_frozen) is not bool or params.keys() != names:
        raise ValueError(f"{cls.__name__} has other parameters than the file")
    inner = _put_together(decoder, content["inner"], engine) if is_fitted else None
    estimator = cls(**params | ({"estimator": FrozenEstimator(inner)} if is_frozen else {}))
    estimator._validate_params()
    if is_fitted:
        fitted = {n: decoder.decode(value) for n, value in sorted(content["fitted"].items())}
        estimator._put_together(inner, is_frozen, fitted)
    return estimator


def _nested_again(decoder: Decoder, content: Any) -> Any:
    if not isinstance(content, dict):
        raise ValueError("an estimator is no object")
    rest = dict(content)
    engine = None
    if "model" in rest:
        data = decoder.decode(rest.pop("model"))
        if type(data) is not np.ndarray or data.dtype != np.uint8 or data.ndim != 1:
            raise ValueError("the model of an estimator is no array of bytes")
        engine = engine_of(engine_from(_class_named(rest.get("class"))._kind, data.tobytes()))
    return _put_together(decoder, rest, engine)
