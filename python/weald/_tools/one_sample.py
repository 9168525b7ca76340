"""Scores of one sample, computed by the parts of a model, without the checks that many samples need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._fit.base import BaseModel
from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._rounds.linear_start import in_unit_of_stages


class Row(NamedTuple):
    """A sample as the only row of a CSR matrix, for the engine alone: it has the attributes that the engine reads."""

    data: NDArray[np.float32]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]
    format: str = "csr"


def as_row(sample: Any) -> Any:
    """A sparse array of one dimension, such as a row of a CSR array, as a matrix with one row; others unchanged."""
    if type(sample) is np.ndarray or getattr(sample, "ndim", 0) != 1 or not is_sparse(sample):
        return sample
    return sample.reshape(1, -1).tocsr()


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


class Parts(NamedTuple):
    """What the engine computes of a sample by weights of features, and by trees on top of them.

    Functions return None for samples in forms that the engine does not read, and for those that the model has to look at.
    """

    # (1, n_scores)
    scores: Callable[[Any], Float | None]
    # The best labels of a sample and their probabilities or margins: of a sample, their number, and whether margins are meant.
    topk: Callable[[Any, int, bool], tuple[NDArray[np.int64], Float] | None] | None

    @classmethod
    def of(cls, model: BaseModel, names: dict[str, int] | None) -> Parts | None:
        """None if the model has no weights of features. With `names`, samples can be dictionaries with some of them."""
        found = model._linear_part()
        if found is None:
            return None
        linear, added = found
        one = _weald.OneLinear(linear, names)
        if not model._has_trees:
            return cls(one.scores, None if model._label_format is None else one.topk)
        trees = _weald.OneSample(model._engine).scores

        def both(sample: Any) -> Float | None:
            if (of_trees := trees(sample)) is None or (start := one.scores(sample)) is None:
                return None
            return of_trees + in_unit_of_stages(linear, start, added)

        return cls(both, None)
