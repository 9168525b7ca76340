"""Scores of one sample, computed by the parts of a model, without the checks that many samples need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._fit.base import BaseModel
from weald._input.checks import Float, Matrix
from weald._rounds.linear_start import in_unit_of_stages


class Row(NamedTuple):
    """A sample as the only row of a CSR matrix, for the engine alone: it has the attributes that the engine reads."""

    data: NDArray[np.float32]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]
    format: str = "csr"


def row_of(sample: Any, n_features: int) -> Row | None:
    """The row of a CSR matrix of one sample; None for other matrices. The engine checks indices and values."""
    if getattr(sample, "format", None) != "csr" or sample.shape != (1, n_features):
        return None
    values = sample.data
    if values.dtype != np.float32:
        if values.dtype.kind not in "fiub":
            return None
        with np.errstate(over="ignore"):  # the engine refuses infinity
            values = values.astype(np.float32)
    return Row(values, sample.indices, sample.indptr, sample.shape)


def row_of_entries(places: list[int], values: list[Any], n_features: int) -> Row | None:
    """The row with these values of these features, each once, in any order; None for what are no numbers."""
    listed = np.array(values)
    if listed.ndim != 1 or (listed.dtype.kind not in "fiub" and len(listed)):
        return None
    order = np.argsort(places)
    with np.errstate(over="ignore"):
        data = listed[order].astype(np.float32)
    width = np.int32 if n_features < 2**31 else np.int64
    return Row(data, np.array(places, dtype=width)[order], np.array([0, len(data)], dtype=width), (1, n_features))


def scores_of_parts(model: BaseModel) -> Callable[[Row | Matrix], Float | None] | None:
    """What computes the scores of a sample by weights of features, and by trees on top of them.

    None if the model has no such weights. The function returns None, or raises a ValueError, for samples that the model has to
    look at itself.
    """
    found = model._linear_part()
    if found is None:
        return None
    linear, added = found
    if not model._has_trees:
        return linear.predict_scores
    trees = _weald.OneSample(model._engine).scores

    def both(X: Row | Matrix) -> Float | None:
        of_trees = trees(X)
        return None if of_trees is None else of_trees + in_unit_of_stages(linear, linear.predict_scores(X), added)

    return both
