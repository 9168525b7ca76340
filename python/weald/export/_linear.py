"""The linear part of a model for exporters: what is done with X, weights, and what is added to the sums over trees.

```text
linear(x) = unit · (slope · (intercept + sum over features j of x_j · weight_j) + offset)
```

x is float32, after it was prepared as `features` says: see docs/export.md. Sums are float64 in the order of the features,
so that adding in this order gives exactly the scores of the engine. The unit is 1 for the softmax, and one half for the
logistic function. A linear model consists of this part alone. Boosting adds it to the sums over its trees, or a function of
the probabilities that it means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._rounds.linear_start import Added

Single = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Weights of features."""

    n_features: int
    n_scores: int
    # "logistic" or "softmax": what its scores mean.
    link: str
    # What is added to the sums over trees: its scores, or the logarithms or half the log-odds of its probabilities.
    added: Added
    # "given", "normalized" or "tfidf".
    features: str
    idf: Single | None
    # Feature j has the weights values[ptr[j]:ptr[j + 1]] for these columns of scores, which are in ascending order.
    ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Single
    intercepts: Single
    # 1 and 0 if the model is not calibrated.
    slopes: Single
    offsets: Single

    @property
    def unit(self) -> float:
        """The factor of scores."""
        return 1.0 if self.link == "softmax" else 0.5

    @property
    def is_calibrated(self) -> bool:
        """Whether there are slopes and offsets."""
        return bool((self.slopes != 1).any() or self.offsets.any())


def linear_of(engine: _weald.LinearModel, added: Added = "scores") -> Linear:
    """The description of a model of the engine."""
    ptr, columns, values, intercepts, slopes, offsets = engine.arrays()
    return Linear(
        n_features=engine.n_features,
        n_scores=engine.width,
        link=engine.link,
        added=added,
        # Weights of standardised features are those of X as it is given.
        features="given" if engine.features == "standardized" else engine.features,
        idf=engine.idf(),
        ptr=ptr.astype(np.int64),
        columns=columns.astype(np.int64),
        values=values,
        intercepts=intercepts,
        slopes=slopes,
        offsets=offsets,
    )
