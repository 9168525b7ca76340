"""The parameter `label_weight`: weights of labels in the search for splits and in losses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from weald import _weald
from weald._input.checks import Float, floats
from weald._input.masks import KnownCells
from weald._input.sklearn_private import StrOptions
from weald._input.targets import Target
from weald._parameters import propensity

if TYPE_CHECKING:
    from weald._fit.base import BaseModel, TreeParameters

# The constraint for scikit-learn's validation of parameters.
CONSTRAINTS: dict[str, list[Any]] = {"label_weight": [StrOptions({"balanced", "propensity"}), "array-like", None]}

# Known entries are counted in blocks of labels with about so many entries.
_CELLS = 1 << 22


def is_given(model: BaseModel) -> bool:
    """Whether labels are weighted. False for models without this parameter."""
    return getattr(model, "label_weight", None) is not None


def to_engine(model: TreeParameters, target: Target, weights: Float | None) -> dict[str, list[float]]:
    """The weights of labels as the engine's weights of outputs; an empty dict if there are none."""
    found = of_labels(model, target, weights)
    if found is None:
        return {}
    if model.monotonic_cst is not None:
        raise ValueError("label_weight does not support monotonic_cst: one of them must be None")
    if model.criterion not in ("gini", "squared_error"):
        raise ValueError(f"criterion must be 'gini' with label_weight, got {model.criterion!r}")
    return {"output_weights": found.tolist()}


def of_labels(model: BaseModel, target: Target, weights: Float | None) -> Float | None:
    """The weight of each label; None if labels are not weighted. `weights` are sample weights."""
    given = getattr(model, "label_weight", None)
    if given is None:
        return None
    if target.kind != "labels":
        other = "class_weight" if hasattr(model, "class_weight") else "class_weight of the estimator, or sample_weight"
        raise ValueError(f"label_weight is only supported for y of labels, got y of {target.kind}; see {other}")
    if isinstance(given, str):
        return balanced(target, weights) if given == "balanced" else inverse_propensities(target, weights)
    return _checked(given, target.n_outputs)


def that_count(model: BaseModel, target: Target) -> Target:
    """The y of folds: its engine's form and what is known without the labels of weight zero, which choose nothing."""
    given = getattr(model, "label_weight", None)
    if given is None or isinstance(given, str) or target.kind != "labels":
        return target
    kept = np.flatnonzero(_checked(given, target.n_outputs))
    if len(kept) == target.n_outputs:
        return target
    labels = sparse.csr_array(target.original[:, kept])
    known = None if target.known is None else target.known.columns(kept)
    return replace(target, engine=(labels.indptr, labels.indices, len(kept)), known=known)


def _checked(given: object, n_labels: int) -> Float:
    array = floats(given, "label_weight", "a list of numbers")
    if array.shape != (n_labels,):
        raise ValueError(f"label_weight must have shape ({n_labels},), one value for each label, got {array.shape}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise ValueError(f"label_weight must be finite and not negative, got {array[wrong][0]}")
    if not array.any():
        raise ValueError("label_weight must be positive for at least one label, got zero for every label")
    return array


def _frequencies(target: Target, weights: Float | None) -> tuple[Float, Float | float]:
    """The weight of the samples that have each label, and the weight of all samples, or of those in which each label is
    known if some are not. Sums are exact until the end.
    """
    ptr, labels, n_labels = target.engine
    weights = np.ones(len(ptr) - 1) if weights is None else weights
    of_entries = np.repeat(weights, np.diff(ptr))
    positive = _weald.exact_sums(np.asarray(labels, dtype=np.int64), of_entries, n_labels)
    if target.known is not None:
        return positive, _of_known(target.known, weights)
    return positive, float(_weald.exact_sums(np.zeros(len(weights), dtype=np.int64), weights, 1)[0])


def _of_known(known: KnownCells, weights: Float) -> Float:
    """The weight of the samples in which each label is known."""
    if known.weights is not None:
        of_cells = np.repeat(weights, np.diff(known.weights.indptr))
        return _weald.exact_sums(known.weights.indices.astype(np.int64), of_cells, known.shape[1])
    columns, n_labels = sparse.csc_array(known.mask), known.shape[1]
    found, size = np.empty(n_labels), max(1, _CELLS // max(1, len(weights)))
    for start in range(0, n_labels, size):
        there = ~columns[:, start : start + size].toarray().T
        labels, rows = np.nonzero(there)
        found[start : start + size] = _weald.exact_sums(labels.astype(np.int64), weights[rows], len(there))
    return found


def balanced(target: Target, weights: Float | None) -> Float:
    """1 / (p (1 - p)), with which all labels have the same variance in the root; 0 for labels that do not vary."""
    positive, total = _frequencies(target, weights)
    share = positive / total
    variance = share * (1 - share)
    found = np.zeros(len(variance))
    np.divide(1.0, variance, out=found, where=variance > 0)
    # If no label varies, the weights do not matter, but one must be positive.
    return found if found.any() else np.ones(len(found))


def inverse_propensities(target: Target, weights: Float | None) -> Float:
    """The inverse propensity of each label: see `weald.metrics.propensities`."""
    return propensity.inverse(*_frequencies(target, weights))


def check_grown_with(grown: str) -> None:
    """Raise if trees of weighted labels would be added to trees that were grown without weights."""
    if grown != "squared_error":
        raise ValueError("label_weight must be None with warm_start=True, as in the previous fit, got weights")
