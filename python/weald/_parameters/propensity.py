"""Propensities: the probability that a true label was recorded, as a function of its frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float

# The defaults of Jain, Prabhu and Varma (KDD 2016), for data sets to which they did not fit the parameters.
A, B = 0.55, 1.5


def inverse(frequencies: NDArray[Any], n_samples: Float | float, a: float = A, b: float = B) -> Float:
    """The inverse propensities of labels with these frequencies: see `weald.metrics.propensities`.

    `n_samples` is one number, or one for each label.
    """
    with np.errstate(over="ignore"):
        found: Float = 1.0 + np.maximum(0.0, np.log(n_samples) - 1.0) * ((b + 1.0) / (frequencies + b)) ** a
    return found
