"""How likely it is that a label that is right was written down, by how frequent the label is."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney._validation import Float

# Of Jain, Prabhu and Varma (KDD 2016), for data sets that they did not fit.
A, B = 0.55, 1.5


def inverse(frequencies: Any, n_samples: float, a: float = A, b: float = B) -> Float:
    """1 / p of labels that so many of the samples have: see `spinney.metrics.propensities`."""
    with np.errstate(over="ignore"):
        found: Float = 1.0 + max(0.0, np.log(n_samples) - 1.0) * ((b + 1.0) / (frequencies + b)) ** a
    return found
