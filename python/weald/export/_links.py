"""Links, the functions from the scores of a sample to its predictions: what each format needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from weald import _weald

# Scores less than `BENT` from the ends of [0, 1] are mapped into it; predictions are at most exp(`LARGEST_LOG`).
BENT, LARGEST_LOG = _weald.BENT, _weald.LARGEST_LOG


class Operations(Protocol):
    """How to add operations and constants to an ONNX graph. All values are names in the graph."""

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str: ...

    def _constant(self, values: object, dtype: object = np.float64) -> str: ...

    def _cast(self, name: str, dtype: object, output: str | None = None) -> str: ...

    def _columns(self, scores: str, block: slice) -> str: ...

    def _joined(self, parts: list[str]) -> str: ...


def _log(graph: Operations, scores: str) -> str:
    return graph._op("Exp", graph._op("Min", scores, graph._constant(LARGEST_LOG)))


def _logistic(graph: Operations, scores: str) -> str:
    """1 / (1 + exp(-2f)), without overflow, and accurate for small probabilities."""
    e = graph._op("Exp", graph._op("Mul", graph._op("Abs", scores), graph._constant(-2.0)))
    is_up = graph._op("GreaterOrEqual", scores, graph._constant(0.0))
    numerator = graph._op("Where", is_up, graph._constant(1.0), e)
    return graph._op("Div", numerator, graph._op("Add", e, graph._constant(1.0)))


def _share(graph: Operations, scores: str) -> str:
    square, bent, end = graph._constant(BENT * BENT), graph._constant(BENT), graph._constant(1.0 - BENT)

    def tail(beyond: str) -> str:
        beyond = graph._op("Max", beyond, graph._constant(0.0))
        return graph._op("Div", square, graph._op("Add", beyond, bent))

    below = tail(graph._op("Sub", bent, scores))
    above = graph._op("Sub", graph._constant(1.0), tail(graph._op("Sub", scores, end)))
    upper = graph._op("Where", graph._op("Greater", scores, end), above, scores)
    return graph._op("Where", graph._op("Less", scores, bent), below, upper)


@dataclass(frozen=True)
class Link:
    """A link in each format."""

    # The function of a single score as ONNX operations; None if predictions are scores, or if the scores of an output are
    # read together.
    in_onnx: Callable[[Operations, str], str] | None = None
    # The name in treelite and the factor that it applies to scores; None if treelite does not have the link.
    in_treelite: tuple[str, float] | None = None


LINKS = {
    "identity": Link(in_treelite=("identity", 1.0)),
    "log": Link(in_onnx=_log, in_treelite=("exponential", 1.0)),
    "margin": Link(in_treelite=("identity", 1.0)),
    "share": Link(in_onnx=_share),
    "logistic": Link(in_onnx=_logistic, in_treelite=("sigmoid", 2.0)),
    "one_against_rest": Link(in_onnx=_logistic),
    "softmax": Link(in_treelite=("softmax", 1.0)),
}
