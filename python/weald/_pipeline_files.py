"""Pipelines that contain estimators of weald, as bytes in the format of skops."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from weald._calibration import Maps, Sigmoids
from weald._targets import LabelFormat

# The first bytes of files of skops, which are zip archives.
START = b"PK\x03\x04"

_EXTRA = "pip install skops"


def is_start_of(start: bytes) -> bool:
    """Whether bytes that start like this are a pipeline: as the length of a header, they would be too large."""
    return start == START


def trusted_types(estimators: list[type]) -> list[str]:
    """The types of a file of skops with estimators of weald, in addition to those that skops trusts itself."""
    parts = [Maps, Sigmoids, LabelFormat, np.dtype]
    formats = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]
    return [name for cls in (*estimators, *parts, *formats) for name in _names(cls)]


def _names(cls: type) -> set[str]:
    """The name that skops writes for a type, and its public name."""
    return {f"{cls.__module__}.{cls.__name__}", f"{cls.__module__.split('._')[0]}.{cls.__name__}"}


def dumps(pipeline: Pipeline, trusted: list[str]) -> bytes:
    """The bytes of a fitted pipeline, which `loads` accepts with the same `trusted` types."""
    io = _skops("writes")
    check_is_fitted(pipeline)
    try:
        data: bytes = io.dumps(pipeline)
    except Exception as error:
        # skops does not convert errors of the objects that it writes, such as a TypeError for a lambda.
        message = f"model must be a Pipeline that skops can write: {error}; pickle it, or save its last step, model[-1]"
        raise TypeError(message) from error
    if refused := _unknown(io, data, trusted):
        raise TypeError(
            "model must be a Pipeline with types of scikit-learn, NumPy, SciPy and weald only, got "
            f"{', '.join(refused)}; skops.io.dump and skops.io.load(file, trusted=[...]) write and read "
            "pipelines with types that you trust"
        )
    return data


def loads(data: Any, trusted: list[str]) -> Any:
    """The pipeline with these bytes. Raises a ValueError for anything else."""
    io = _skops("reads")
    data = bytes(data)
    try:
        refused = _unknown(io, data, trusted)
    except Exception as error:
        # For archives that are truncated or modified, zipfile, json and skops raise errors of many types.
        raise ValueError(f"not a valid pipeline: {type(error).__name__}: {error}") from error
    if refused:
        raise ValueError(
            "it must have types of scikit-learn, NumPy, SciPy and weald only, got a skops file with "
            f"{', '.join(refused)}; if you trust these types, skops.io.load(file, trusted=[...]) reads it"
        )
    try:
        pipeline = io.loads(data, trusted=trusted)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"not a valid pipeline: {type(error).__name__}: {error}") from error
    if not isinstance(pipeline, Pipeline):
        raise ValueError(f"it must be a pipeline, got a skops file with a {type(pipeline).__name__}")
    return pipeline


def _unknown(io: ModuleType, data: bytes, trusted: list[str]) -> list[str]:
    return sorted(set(io.get_untrusted_types(data=data)) - set(trusted))


def _skops(does: str) -> ModuleType:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(f"skops {does} pipelines: {_EXTRA}; weald's own files hold its estimators") from error
    module: ModuleType = skops.io
    return module
