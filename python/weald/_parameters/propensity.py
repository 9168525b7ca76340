"""Propensities: the probability that a true label was recorded, as a function of its frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float
from weald._input.elementary import exp, log

# The defaults of Jain, Prabhu and Varma (KDD 2016), for data sets to which they did not fit the parameters.
A, B = 0.55, 1.5


def inverse(frequencies: NDArray[Any], n_samples: Float | float, a: float = A, b: float = B) -> Float:
    """The inverse propensities of labels with these frequencies: see `weald.metrics.propensities`.

    `n_samples` is one number, or one for each label.
    """
    with np.errstate(over="ignore"):
        power = exp(a * log((b + 1.0) / (frequencies + b)))
        found: Float = 1.0 + np.maximum(0.0, log(n_samples) - 1.0) * power
    return found
