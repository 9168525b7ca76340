"""Boosting of other libraries with one interface: `fit`, `predict` (raw scores), `staged` scores, `model_bytes`.

What a library does to the inputs before the first round (binning, its own matrix) is part of `fit`. One thread each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone


class XGBoost(BaseEstimator):
    """XGBoost's histograms: trees with a vector in each leaf, a tree for each output, or splits on a reduced gradient.

    With `n_projections`, splits are searched on the gradient times a Gaussian matrix (d, n_projections), drawn anew
    each round, with ones as second derivatives; leaves store the Newton step of every output
    (`TreeObjective.split_grad`).
    """

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        objective: str = "binary:logistic",
        strategy: str = "multi_output_tree",
        n_projections: int = 0,
        max_depth: int = 6,
        max_leaves: int = 0,
        min_child_weight: float = 1.0,
        reg_lambda: float = 1.0,
        max_features: float = 1.0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.objective = objective
        self.strategy = strategy
        self.n_projections = n_projections
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.max_features = max_features

    def parameters(self) -> dict[str, Any]:
        return {
            "tree_method": "hist",
            "objective": self.objective,
            "multi_strategy": self.strategy,
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "max_leaves": self.max_leaves,
            "grow_policy": "lossguide" if self.max_leaves else "depthwise",
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.reg_lambda,
            "colsample_bynode": self.max_features,
            "nthread": 1,
        }

    def fit(self, X: Any, y: Any) -> XGBoost:
        import xgboost

        y = np.ascontiguousarray(y, dtype=np.float32)
        matrix = xgboost.QuantileDMatrix(X, label=y, nthread=1)
        reduced = reduced_gradient(y, self.n_projections, "logistic" in self.objective) if self.n_projections else None
        self.booster_ = xgboost.train(self.parameters(), matrix, self.n_estimators, obj=reduced)
        return self

    def staged(self, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
        import xgboost

        matrix = xgboost.DMatrix(X, nthread=1)
        for m in at:
            yield self.booster_.predict(matrix, output_margin=True, iteration_range=(0, m))

    def predict(self, X: Any) -> np.ndarray:
        return next(self.staged(X, [self.booster_.num_boosted_rounds()]))

    def model_bytes(self) -> int:
        return len(self.booster_.save_raw("ubj"))


def reduced_gradient(y: np.ndarray, n_projections: int, logistic: bool) -> Any:
    """The objective of XGBoost that finds splits on the projected gradient."""
    from xgboost.objective import TreeObjective

    class Reduced(TreeObjective):
        rng = np.random.default_rng(0)

        def __call__(self, iteration: int, y_pred: Any, dtrain: Any) -> tuple[Any, Any]:
            if not logistic:
                return y_pred - y, np.ones_like(y)
            p = expit(y_pred)
            return p - y, np.maximum(p * (1 - p), np.float32(1e-16))

        def split_grad(self, iteration: int, grad: Any, hess: Any) -> tuple[Any, Any]:
            phi = self.rng.standard_normal((grad.shape[1], n_projections), dtype=np.float32)
            projected = np.ascontiguousarray(grad @ phi / np.float32(np.sqrt(n_projections)))
            return projected, np.ones_like(projected)

    return Reduced()


class CatBoost(BaseEstimator):
    """CatBoost's symmetric trees with a vector in each leaf."""

    def __init__(
        self, n_estimators: int = 100, learning_rate: float = 0.1, loss: str = "MultiLogloss", max_depth: int = 6
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any) -> CatBoost:
        import catboost

        parameters = {
            "loss_function": self.loss,
            "iterations": self.n_estimators,
            "learning_rate": self.learning_rate,
            "depth": self.max_depth,
            "thread_count": 1,
            "random_seed": 0,
            "verbose": 0,
            "allow_writing_files": False,
        }
        self.model_ = catboost.CatBoost(parameters).fit(catboost.Pool(X, y))
        return self

    def staged(self, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
        for m in at:
            yield self.model_.predict(X, prediction_type="RawFormulaVal", ntree_end=m, thread_count=1)

    def predict(self, X: Any) -> np.ndarray:
        return next(self.staged(X, [self.model_.tree_count_]))

    def model_bytes(self) -> int:
        return len(self.model_._serialize_model())


class LightGBM(BaseEstimator):
    """LightGBM, one model for each output."""

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        objective: str = "regression",
        max_leaves: int = 31,
        min_samples_leaf: int = 20,
        max_features: float = 1.0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.objective = objective
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features

    def fit(self, X: Any, y: Any) -> LightGBM:
        import lightgbm

        parameters = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaves,
            "min_data_in_leaf": self.min_samples_leaf,
            "feature_fraction_bynode": self.max_features,
            "num_threads": 1,
            "verbose": -1,
            "seed": 0,
        }
        y = np.asarray(y, dtype=np.float32)
        self.single_ = y.ndim == 1
        self.boosters_ = []
        first = None
        for column in np.atleast_2d(y.T):
            # The bins of the first output are used for the others.
            data = lightgbm.Dataset(X, column, params=parameters, free_raw_data=False, reference=first)
            first = first or data
            self.boosters_.append(lightgbm.train(parameters, data, self.n_estimators))
        return self

    def staged(self, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
        for m in at:
            scores = [b.predict(X, raw_score=True, num_iteration=m, num_threads=1) for b in self.boosters_]
            yield scores[0] if self.single_ else np.column_stack(scores)

    def predict(self, X: Any) -> np.ndarray:
        return next(self.staged(X, [self.n_estimators]))

    def model_bytes(self) -> int:
        return sum(len(b.model_to_string()) for b in self.boosters_)


class Softmax(LightGBM):
    """LightGBM at its defaults, for classes."""

    def fit(self, X: Any, y: Any) -> Any:
        import lightgbm

        return lightgbm.LGBMClassifier(n_estimators=self.n_estimators, n_jobs=1, verbose=-1).fit(X, y)


class Hessboost(XGBoost):
    """hessboost, whose parameters are those of XGBoost."""

    def fit(self, X: Any, y: Any) -> Hessboost:
        import hessboost

        y = np.ascontiguousarray(y, dtype=np.float32)
        self.booster_ = hessboost.train(self.parameters(), hessboost.DMatrix(X, label=y), self.n_estimators)
        return self

    def staged(self, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
        import hessboost

        matrix = hessboost.DMatrix(X)
        for m in at:
            yield self.booster_.predict(matrix, output_margin=True, iteration_range=(0, m))

    def predict(self, X: Any) -> np.ndarray:
        return next(self.staged(X, [self.n_estimators]))


class PerOutput(BaseEstimator):
    """One model of scikit-learn for each output."""

    def __init__(self, model: Any, n_estimators: int = 100) -> None:
        self.model = model
        self.n_estimators = n_estimators

    def fit(self, X: Any, y: Any) -> PerOutput:
        name = "max_iter" if "max_iter" in self.model.get_params() else "n_estimators"
        self.models_ = [clone(self.model).set_params(**{name: self.n_estimators}).fit(X, column) for column in y.T]
        return self

    def staged(self, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
        wanted = set(at)
        for m, columns in enumerate(zip(*(model.staged_predict(X) for model in self.models_), strict=True), 1):
            if m in wanted:
                yield np.column_stack(columns)

    def predict(self, X: Any) -> np.ndarray:
        return np.column_stack([model.predict(X) for model in self.models_])


def staged(model: Any, X: Any, at: Sequence[int]) -> Iterator[np.ndarray]:
    """Scores after the given ascending numbers of rounds, or of trees of a forest."""
    if hasattr(model, "staged"):
        yield from model.staged(X, at)
        return
    wanted = set(at)
    for method in ("staged_decision_function", "staged_predict"):
        if hasattr(model, method):
            stages = enumerate(getattr(model, method)(X), 1)
            yield from (values for m, values in stages if m in wanted)
            return
    total = 0.0
    for m, tree in enumerate(model.estimators_, 1):
        total = total + np.asarray(getattr(tree, "predict_proba", tree.predict)(X))
        if m in wanted:
            yield total / m


def scores(model: Any, X: Any) -> np.ndarray:
    """The scores that rank labels: raw scores of boosting, probabilities of forests, and predictions of regressors."""
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    return np.asarray(model.predict(X))
