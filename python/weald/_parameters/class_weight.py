"""The parameter `class_weight`: weights of the samples of each class."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
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
    kept = slice(None) if weights is None else np.flatnonzero(weights)
    y = target.original[kept]
    by_class = np.ones(target.original.shape[0])
    by_class[kept] = compute_sample_weight(class_weight, y.astype(np.int8).tocsc() if is_sparse(y) else y)
    if (by_class == 0).any():
        weights = np.where(by_class == 0, 0.0, 1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError("class_weight must be positive for at least one sample, got zero for every sample")
    return weights, by_class


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
