"""The parameter `max_features`."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np

from weald._parameters.types import MaxFeatures


def n_drawn_features(max_features: MaxFeatures | Literal["auto"], n_features: int) -> int:
    """The number of features that each node draws; all for "auto", in whose place boosting puts its choice."""
    if max_features is None or max_features == "auto":
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "half":
        return min(max(4, -(-n_features // 2)), n_features)
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))
