"""The parameters `class_weight` and `label_weight`, and propensities of labels."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import compute_sample_weight

from weald import _weald
from weald._input.checks import Float, RowWeights, floats, is_float
from weald._input.elementary import exp, log
from weald._input.masks import KnownCells
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target

if TYPE_CHECKING:
    from weald._fit.base import BaseModel, TreeParameters


# The defaults of Jain, Prabhu and Varma (KDD 2016), for data sets to which they did not fit the parameters.
A, B = 0.55, 1.5


def inverse_of_frequencies(frequencies: NDArray[Any], n_samples: Float | float, a: float = A, b: float = B) -> Float:
    """The inverse propensities of labels with these frequencies: see `weald.metrics.propensities`.

    `n_samples` is one number, or one for each label.
    """
    with np.errstate(over="ignore"):
        power = exp(a * log((b + 1.0) / (frequencies + b)))
        found: Float = 1.0 + np.maximum(0.0, log(n_samples) - 1.0) * power
    return found


# For more labels, products of balanced weights are useless: for the 159 labels of bibtex, they leave a single one of
# 4,880 samples with any weight.
_FEW_LABELS = 10


def row_weights(class_weight: object, target: Target, weights: Float | None) -> RowWeights:
    """Sample weights and class weights in the engine's form. Samples of classes with weight zero get weight zero."""
    if isinstance(class_weight, str) and target.kind == "labels" and target.n_outputs > _FEW_LABELS:
        raise ValueError(
            f"class_weight={class_weight!r} supports at most {_FEW_LABELS} labels, got y with "
            f"{target.n_outputs} labels: scikit-learn's rule multiplies the weights of all labels of a "
            "sample, so that few samples have a considerable weight; use class_weight=None, and "
            "label_weight='balanced'"
        )
    if class_weight is None or isinstance(class_weight, str):
        return weights, class_weight
    class_weight = _checked_class_weight(class_weight, target.n_outputs)
    kept = np.arange(target.original.shape[0]) if weights is None else np.flatnonzero(weights)
    by_class = np.ones(target.original.shape[0])
    if target.mask is None:
        y = target.original[kept]
        by_class[kept] = compute_sample_weight(class_weight, y.astype(np.int8).tocsc() if is_sparse(y) else y)
    else:
        by_class[kept] = _product_of_known(class_weight, target, kept)
    if (by_class == 0).any():
        weights = np.where(by_class == 0, 0.0, 1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError("class_weight must be positive for at least one sample, got zero for every sample")
    return weights, by_class


def _product_of_known(class_weight: Any, target: Target, rows: NDArray[np.intp]) -> Float:
    """The products over the outputs of which a sample is known."""
    if not isinstance(class_weight, list):
        raise ValueError(
            f"class_weight must be a list of dicts for several outputs, or 'balanced', got {class_weight!r}"
        )
    y, mask = target.original[rows], target.mask[rows]
    y, mask = (found.tocsc() if is_sparse(found) else found for found in (y, mask))
    product = np.ones(len(rows))
    for j, of_output in enumerate(class_weight):
        column, hidden = (found[:, [j]].toarray().ravel() if is_sparse(found) else found[:, j] for found in (y, mask))
        column = column.astype(np.int8) if target.kind == "labels" else column
        product[~hidden] *= compute_sample_weight(of_output, column[~hidden])
    return product


def _checked_class_weight(class_weight: object, n_outputs: int) -> Any:
    """A dict of weights, or for several outputs a list of one dict for each."""
    parts = class_weight if isinstance(class_weight, list) else [class_weight]
    if isinstance(class_weight, list) and len(parts) != n_outputs:
        raise ValueError(
            f"class_weight must have length {n_outputs}, one dict for each output, got a list of length {len(parts)}"
        )
    for part in parts:
        if not isinstance(part, dict):
            raise TypeError(f"class_weight must have a dict of weights by class for each output, got {part!r}")
        for weight in part.values():
            known = isinstance(weight, Real) and is_float(weight) and 0 <= float(weight) < np.inf
            if not known:
                raise ValueError(f"class_weight must have finite weights of at least 0, got {weight!r}")
    return parts[0] if n_outputs == 1 else class_weight


# The constraint for scikit-learn's validation of parameters.
LABEL_WEIGHT: dict[str, list[Any]] = {"label_weight": [StrOptions({"balanced", "propensity"}), "array-like", None]}

# Known entries are counted in blocks of labels with about so many entries.
_CELLS = 1 << 22


def weighs_labels(model: BaseModel) -> bool:
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
        return (
            balanced(target, weights) if given == "balanced" else inverse_of_frequencies(*_frequencies(target, weights))
        )
    return _checked_label_weight(given, target.n_outputs)


def that_count(model: BaseModel, target: Target) -> Target:
    """The y of folds: its engine's form and what is known without the labels of weight zero, which choose nothing."""
    given = getattr(model, "label_weight", None)
    if given is None or isinstance(given, str) or target.kind != "labels":
        return target
    kept = np.flatnonzero(_checked_label_weight(given, target.n_outputs))
    if len(kept) == target.n_outputs:
        return target
    labels = sparse.csr_array(target.original[:, kept])
    known = None if target.known is None else target.known.columns(kept)
    return replace(target, engine=(labels.indptr, labels.indices, len(kept)), known=known)


def _checked_label_weight(given: object, n_labels: int) -> Float:
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
