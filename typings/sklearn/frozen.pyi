from typing import Any

from sklearn.base import BaseEstimator

class FrozenEstimator(BaseEstimator):
    estimator: Any
    def __init__(self, estimator: Any) -> None: ...
