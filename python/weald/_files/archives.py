"""Objects of scikit-learn in the format of skops: whole pipelines, and estimators inside models of weald."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics, model_selection
from sklearn.pipeline import Pipeline

from weald._input import registry

# The first bytes of archives, which are zip files.
START = b"PK\x03\x04"
# Where a model with other types can be stored, for error messages.
ELSEWHERE = (
    "skops.io.dump(model, file) and skops.io.load(file, trusted=[...]) write and read types that you trust, as do "
    "pickle and joblib, which run code that the file chooses"
)
_EXTRA = "pip install skops"
_CONTAINERS = [
    getattr(sparse, f"{form}_{kind}")
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
]
# Values that cannot be changed: whether two of them are one object does not matter.
_VALUES = {"JsonNode", "TypeNode"}
_DATE = (1980, 1, 1, 0, 0, 0)


def is_start_of(start: bytes) -> bool:
    """Whether a file that starts with these bytes is an archive."""
    return start.startswith(START)


def is_of_others(value: object) -> bool:
    """Whether a value is stored as an archive: an object of scikit-learn, such as an estimator, a scorer or folds."""
    defined = value if isinstance(value, FunctionType) else type(value)
    return str(defined.__module__).partition(".")[0] == "sklearn" or registry.FOLDS.get(type(value).__name__) is type(
        value
    )


def trusted_types() -> list[str]:
    """The types of an archive with estimators of weald, in addition to those that skops trusts itself."""
    tables = (registry.ESTIMATORS, registry.META_ESTIMATORS, registry.FOLDS, registry.PARTS)
    own = [cls for table in tables for cls in table.values()]
    return sorted(name for cls in (*own, np.dtype, *_CONTAINERS, *_of_validation()) for name in _names(cls))


def _of_validation() -> list[Any]:
    """The classes of folds and scorers of scikit-learn, and its scores."""
    public = [vars(model_selection).get(name) for name in model_selection.__all__]
    folds = [cls for cls in public if isinstance(cls, type) and hasattr(cls, "get_n_splits")]
    scorers = [metrics.get_scorer(name) for name in metrics.get_scorer_names()]
    scores = [getattr(metrics, name) for name in metrics.__all__ if name.endswith(("_score", "_loss", "_error"))]
    return [*folds, *{type(scorer) for scorer in scorers}, *scores]


def _names(cls: Any) -> set[str]:
    """The name that skops writes for a type or a function, and its public name."""
    return {f"{cls.__module__}.{cls.__name__}", f"{cls.__module__.split('._')[0]}.{cls.__name__}"}


def dumps(value: object, what: str, trusted: list[str]) -> bytes:
    """The bytes of an object, which `loads` accepts with the same `trusted` types. `what` is its name in messages.

    Equal objects have equal bytes.
    """
    skops = _skops("writes")
    try:
        data: bytes = skops.dumps(value)
    except Exception as error:
        # skops does not convert errors of the objects that it writes, such as a TypeError for a lambda.
        raise TypeError(f"{what} must be of types that skops can write: {error}; nothing was written") from error
    if refused := _unknown(skops, data, trusted):
        raise TypeError(
            f"{what} must have types of scikit-learn, NumPy, SciPy and weald only, got {', '.join(refused)}; "
            f"{ELSEWHERE}; nothing was written"
        )
    return _normalized(data)


def loads(data: Any, what: str, trusted: list[str]) -> Any:
    """The object with these bytes. Raises a ValueError for anything else."""
    skops = _skops("reads")
    data = bytes(data)
    try:
        return skops.loads(data, trusted=trusted)
    except MemoryError:
        raise
    except skops.exceptions.UntrustedTypesFoundException as error:
        raise ValueError(
            "it must have types of scikit-learn, NumPy, SciPy and weald only, got a skops file with "
            f"{', '.join(_unknown(skops, data, trusted))}; if you trust these types, "
            "skops.io.load(file, trusted=[...]) reads it"
        ) from error
    except Exception as error:
        # For archives that are truncated or modified, zipfile, json and skops raise errors of many types.
        raise ValueError(f"not a valid {what}: {type(error).__name__}: {error}") from error


def load_model(data: object, trusted: list[str]) -> Any:
    """The pipeline or the meta-estimator with these bytes."""
    model = loads(data, "pipeline", trusted)
    if not isinstance(model, (Pipeline, *registry.META_ESTIMATORS.values())):
        raise ValueError(f"it must be a pipeline, got a skops file with a {type(model).__name__}")
    return model


def _unknown(skops: ModuleType, data: bytes, trusted: list[str]) -> list[str]:
    return sorted(set(skops.get_untrusted_types(data=data)) - set(trusted))


def _skops(does: str) -> ModuleType:
    try:
        import skops.io
        import skops.io.exceptions
    except ImportError as error:
        raise ImportError(
            f"skops {does} pipelines and other objects of scikit-learn: {_EXTRA}; weald's own files hold its estimators"
        ) from error
    module: ModuleType = skops.io
    return module


def _normalized(data: bytes) -> bytes:
    """The archive without dates and addresses in memory: objects and files are numbered in the order of the schema."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read("schema.json"))
        numbers: dict[int, int] = {}
        names: dict[str, str] = {}
        for node in _nodes(schema):
            if (key := node.pop("__id__", None)) is not None and node.get("__loader__") not in _VALUES:
                node["__id__"] = numbers.setdefault(key, len(numbers) + 1)
            if isinstance(name := node.get("file"), str) and name in archive.NameToInfo:
                node["file"] = names.setdefault(name, f"{len(names)}.{name.rpartition('.')[2]}")
        files = {new: archive.read(old) for old, new in names.items()}
    return _zipped({**files, "schema.json": json.dumps(schema).encode()})


def _nodes(part: object) -> Iterator[dict[str, Any]]:
    """All objects of a schema, each before those inside it."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from _nodes(value)
    elif isinstance(part, list):
        for value in part:
            yield from _nodes(value)


def _zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            # Sparse matrices are archives themselves.
            inner = _unzipped(content) if name.endswith(".npz") else None
            about = zipfile.ZipInfo(name, _DATE)
            about.create_system = 3
            archive.writestr(about, content if inner is None else _zipped(inner))
    return target.getvalue()


def _unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
