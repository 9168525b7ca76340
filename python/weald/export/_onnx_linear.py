"""The scores of a linear model as operations of ONNX."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from weald._rounds.linear_start import LEAST_PROBABILITY
from weald.export._linear import Linear
from weald.export._links import LINKS, Operations

# The limit of the format, less what is not weights.
_MOST_BYTES = 2_000_000_000


def check_size(model: Linear) -> None:
    """Raise if the graph would be larger than the format allows."""
    if (n_bytes := 4 * model.n_features * model.n_scores) > _MOST_BYTES:
        raise ValueError(
            f"to_onnx does not support linear models with weights of more than {_MOST_BYTES} bytes as a dense matrix, got "
            f"{model.n_features} features and {model.n_scores} columns, {n_bytes} bytes; use to_c or to_json"
        )


def scores(graph: Operations, model: Linear, blocks: list[slice]) -> str:
    """What is added to the sums over trees, float64 of shape (n_samples, n_scores); `blocks` are those of outputs."""
    found = _scores(graph, model)
    if model.added == "scores":
        return found
    if model.link == "softmax":
        parts = [graph._op("Softmax", graph._columns(found, block), axis=1) for block in blocks]
        proba = graph._joined(parts)
    else:
        logistic = LINKS["logistic"].in_onnx
        assert logistic is not None
        proba = logistic(graph, found)
    one, least = graph._constant(1.0), graph._constant(LEAST_PROBABILITY)
    proba = graph._op("Min", graph._op("Max", proba, least), graph._constant(1 - LEAST_PROBABILITY))
    logarithms = graph._op("Log", proba)
    if model.added == "log":
        return logarithms
    odds = graph._op("Sub", logarithms, graph._op("Log", graph._op("Sub", one, proba)))
    return graph._op("Mul", odds, graph._constant(0.5))


def _scores(graph: Operations, model: Linear) -> str:
    """The scores, float64 of shape (n_samples, n_scores)."""
    x = graph._cast("X", np.float64)
    if model.idf is not None:
        logarithms = graph._op("Log", graph._op("Add", graph._op("Abs", x), graph._constant(1.0)))
        x = graph._op("Mul", graph._op("Mul", graph._op("Sign", x), logarithms), graph._constant(model.idf))
    if model.features != "given":
        squares = graph._op("ReduceSum", graph._op("Mul", x, x), graph._constant([1], np.int64), keepdims=1)
        is_there = graph._op("Greater", squares, graph._constant(0.0))
        x = graph._op("Div", x, graph._op("Where", is_there, graph._op("Sqrt", squares), graph._constant(1.0)))
    shape = (model.n_features, model.n_scores)
    weights = sparse.csr_array((model.values, model.columns, model.ptr), shape=shape).toarray()
    weights_in_double = graph._cast(graph._constant(weights, np.float32), np.float64)
    margins = graph._op("Add", graph._op("MatMul", x, weights_in_double), graph._constant(model.intercepts))
    scores = graph._op("Mul", margins, graph._constant(model.unit * model.slopes.astype(np.float64)))
    return graph._op("Add", scores, graph._constant(model.unit * model.offsets.astype(np.float64)))
