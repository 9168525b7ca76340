"""The description of a linear model for exporters: what is done with X, weights, and what scores mean.

```text
score(x)      = unit · (slope · (intercept + sum over features j of x_j · weight_j) + offset)
prediction(x) = link(score(x))
```

x is float32, after it was prepared as `features` says: see docs/export.md. Sums are float64 in the order of the features,
so that adding in this order gives exactly the scores of the engine. The unit is 1 for the softmax, and one half for the
logistic function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.base import BaseModel
from weald.export._ensemble import Ensemble, Head, ensemble_of, head_of

Single = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Linear(Head):
    """A linear model."""

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


def description_of(model: BaseEstimator, exporter: str) -> Ensemble | Linear:
    """The description of a fitted estimator of weald, with trees or linear. Messages contain the name `exporter`."""
    if not isinstance(model, BaseModel) or not issubclass(model._proof.engine, _weald.LinearModel):
        return ensemble_of(model, exporter)
    check_is_fitted(model)
    fitted = model._twin()
    engine: Any = fitted._engine
    ptr, columns, values, intercepts, slopes, offsets = engine.arrays()
    # Weights of standardised features are those of X as it is given.
    features = "given" if engine.features == "standardized" else engine.features
    return Linear(
        **head_of(fitted),
        n_scores=engine.width,
        start=np.zeros(engine.width),
        divisor=1.0,
        link=engine.link,
        n_trees=0,
        features=features,
        idf=engine.idf(),
        ptr=ptr.astype(np.int64),
        columns=columns.astype(np.int64),
        values=values,
        intercepts=intercepts,
        slopes=slopes,
        offsets=offsets,
    )
