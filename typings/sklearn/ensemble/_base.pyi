from typing import Any

from sklearn.base import BaseEstimator, MetaEstimatorMixin

class _BaseHeterogeneousEnsemble(MetaEstimatorMixin, BaseEstimator):
    estimators: Any
    @property
    def named_estimators(self) -> Any: ...
    def _validate_estimators(self) -> tuple[Any, Any]: ...
    def _validate_names(self, names: list[str]) -> None: ...
