"""The parameter `class_weight`: weights of the samples of each class."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight

from weald._input.checks import Float, RowWeights, is_float
from weald._input.sparse import is_sparse
from weald._input.targets import Target

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
        by_class[kept] = _of_known(class_weight, target, kept)
    if (by_class == 0).any():
        weights = np.where(by_class == 0, 0.0, 1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError("class_weight must be positive for at least one sample, got zero for every sample")
    return weights, by_class


def _of_known(class_weight: Any, target: Target, rows: NDArray[np.intp]) -> Float:
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
