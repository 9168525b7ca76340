"""The libraries that are compared, each at its defaults, with one thread: `fit(X, y)`, and `predict` or `predict_proba`.

X is a data frame with categories and missing values, as `_tables` loads it. Each library gets it in the form that its
manual recommends for frames with categories. y is an array: one number, several numbers (n, d) of which some may be NaN,
or classes 0, 1, …

weald and scikit-learn's forest fit all outputs in one model. Each other library gets a model of its own for each output,
fitted to the samples whose output is known, as their defaults are those of one output (CatBoost's, unless
its loss is one of several numbers); so does scikit-learn's forest where an output is unknown for some samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# scikit-learn's histograms take at most this many levels; columns with more become numbers.
MOST_LEVELS = 255


class PerOutput:
    """A model of its own for each output, fitted to the samples for which it is known."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> PerOutput:
        known = ~np.isnan(y)
        self.models = [self.make().fit(X[known[:, j]], y[known[:, j], j]) for j in range(y.shape[1])]
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.column_stack([model.predict(X) for model in self.models])


class Arranged:
    """A model that gets X in another form."""

    def __init__(self, model: Any, arrange: Callable[[pd.DataFrame], Any]) -> None:
        self.model = model
        self.arrange = arrange

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Arranged:
        self.model.fit(self.arrange(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self.arrange(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.arrange(X))

    @property
    def classes_(self) -> Any:
        return self.model.classes_


class CatBoost(Arranged):
    """CatBoost takes categories as texts, without missing ones: those are a level."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, self.texts)

    @staticmethod
    def texts(X: pd.DataFrame) -> pd.DataFrame:
        names = [c for c in X if X[c].dtype == "category"]
        return X.assign(**{c: X[c].astype(object).where(X[c].notna(), "missing") for c in names})

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> CatBoost:
        self.model.fit(self.texts(X), y, cat_features=[c for c in X if X[c].dtype == "category"])
        return self


class Hessboost:
    """hessboost's function `train`, as its package has no estimators; 100 rounds, as XGBoost's estimators have."""

    def __init__(self, classes: bool, seed: int) -> None:
        self.classes = classes
        self.seed = seed

    @staticmethod
    def form(X: pd.DataFrame) -> dict[str, Any]:
        kinds = ["c" if X[c].dtype == "category" else "float" for c in X]
        return {"data": codes(X).to_numpy(np.float32), "feature_types": kinds}

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Hessboost:
        import hessboost

        parameters: dict[str, Any] = {"nthread": 1, "seed": self.seed, "verbosity": 0}
        if self.classes:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
            two = len(self.classes_) == 2
            parameters |= {"objective": "binary:logistic"} if two else {
                "objective": "multi:softprob", "num_class": len(self.classes_)
            }  # fmt: skip
        matrix = hessboost.DMatrix(**self.form(X), label=np.asarray(y, dtype=np.float32))
        self.booster = hessboost.train(parameters, matrix, 100, verbose_eval=False)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        import hessboost

        return np.asarray(self.booster.predict(hessboost.DMatrix(**self.form(X))))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        found = self.predict(X)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found


def codes(X: pd.DataFrame, more_levels_than: int = 0) -> pd.DataFrame:
    """Categories with more levels than this as their codes, NaN where they are missing."""
    wide = [c for c in X if X[c].dtype == "category" and len(X[c].cat.categories) > more_levels_than]
    return X.assign(**{c: X[c].cat.codes.astype(np.float64).where(X[c].notna()) for c in wide})


def numbers(X: pd.DataFrame) -> np.ndarray:
    return codes(X).to_numpy(np.float64)


def few_levels(X: pd.DataFrame) -> pd.DataFrame:
    return codes(X, MOST_LEVELS)


def weald(kind: str) -> Callable[..., Any]:
    def make(classes: bool, seed: int, **parameters: Any) -> Any:
        import weald

        made = getattr(weald, kind + ("Classifier" if classes else "Regressor"))
        return made(random_state=seed, n_jobs=1, **parameters)

    return make


def lightgbm(classes: bool, seed: int) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    # Names of columns may not have the signs of JSON.
    return Arranged(kind(random_state=seed, n_jobs=1, verbose=-1), lambda X: X.set_axis(range(X.shape[1]), axis=1))


def xgboost(classes: bool, seed: int) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
    model = kind(random_state=seed, n_jobs=1, enable_categorical=True)
    return Arranged(model, lambda X: X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1))


def catboost(classes: bool, seed: int, **parameters: Any) -> Any:
    import catboost

    kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    quiet = {"logging_level": "Silent", "allow_writing_files": False}
    return CatBoost(kind(random_seed=seed, thread_count=1, **quiet, **parameters))


def histograms(classes: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return Arranged(kind(random_state=seed), few_levels)


def forest(classes: bool, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return Arranged(kind(random_state=seed, n_jobs=1), numbers)


@dataclass(frozen=True)
class Method:
    make: Callable[..., Any]
    """`make(classes, seed, **parameters)`: an unfitted model."""
    several: str = "apart"
    """Models of several outputs: `together`, `together` only if all are `known`, or always one `apart` for each."""


METHODS = {
    "weald boosting": Method(weald("GradientBoosting"), "together"),
    "weald extra-trees": Method(weald("ExtraTrees"), "together"),
    "weald random forest": Method(weald("RandomForest"), "together"),
    "LightGBM": Method(lightgbm),
    "XGBoost": Method(xgboost),
    "CatBoost": Method(catboost),
    "HistGradientBoosting": Method(histograms),
    "scikit-learn random forest": Method(forest, "known"),
    "hessboost": Method(Hessboost),
}
# The modules of the methods that are left out where they are not installed.
MODULES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost", "hessboost": "hessboost"}


def unfitted(name: str, classes: bool, seed: int, y: np.ndarray, parameters: dict[str, Any]) -> Any:
    """The model of a method for this y."""
    method = METHODS[name]
    together = method.several == "together" or (method.several == "known" and not np.isnan(y).any())
    # CatBoost's loss of several numbers, which its trees share.
    together |= parameters.get("loss_function") == "MultiRMSE"
    if y.ndim > 1 and not together:
        return PerOutput(lambda: method.make(classes, seed, **parameters))
    return method.make(classes, seed, **parameters)
