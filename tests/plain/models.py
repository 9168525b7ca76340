"""The models of weald at their defaults, by the kind of y and their own kind."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import weald
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from weald.conformal import ConformalClassifier, ConformalRegressor
from weald.multilabel import CalibratedLabels, TunedThresholds

from plain import scores
from plain.scores import Predicted
from plain.tables import Table


@dataclass(frozen=True)
class Kind:
    """A kind of model, and what it is judged by."""

    make: Callable[[], Any]
    scores: Callable[[Table, Predicted], dict[str, float]]
    says: str = "values"
    """Which methods speak: of classes also their chances, of labels their chances or margins, and so on."""
    encoded: bool = False
    """Whether it needs categories as columns of zeros and ones, and no missing values."""
    suits: Callable[[Table], bool] = lambda table: True
    """The tables that it is for."""


def of(name: str, **parameters: Any) -> Callable[[], Any]:
    return lambda: getattr(weald, name)(random_state=0, **parameters)


def quantiles() -> Any:
    return weald.GradientBoostingRegressor(loss=weald.loss.Quantile(scores.LEVELS), random_state=0)


def around(kind: Any, name: str | None) -> Callable[[], Any]:
    return lambda: kind(None if name is None else of(name)(), random_state=0)


def outputs(table: Table) -> int:
    return 1 if np.ndim(table.y) < 2 and not sparse.issparse(table.y) else table.y.shape[1]


def one_number(table: Table) -> bool:
    return outputs(table) == 1


def one_number_of_few(table: Table) -> bool:
    """Three fits of boosting to thousands of samples take too long for a test."""
    return one_number(table) and len(table.y) <= 2000


def mostly_zeros(table: Table) -> bool:
    """Whether X is what centroid forests are for: words, or categories as columns; not a dense or mixed table, see their page."""
    if isinstance(table.X, pd.DataFrame):
        return not any(map(pd.api.types.is_numeric_dtype, table.X.dtypes))
    X = table.X
    return (X.nnz if sparse.issparse(X) else np.count_nonzero(X)) <= 0.6 * np.prod(X.shape)


def enough_of_each(table: Table) -> bool:
    """Whether there are five samples of each class, or of each label, as calibration by folds demands."""
    if outputs(table) == 1:
        counts = np.unique(table.y, return_counts=True)[1]
        return len(counts) > 1 and counts.min() >= 5
    return bool(scores.dense(table.y).sum(axis=0).min() >= 5)


FOREST, LINEAR = "RandomForestClassifier", "LinearClassifier"
TREES = scores.of_classes(1e-3)
SURE = scores.of_classes(1e-9)
KINDS: dict[str, dict[str, Kind]] = {
    "numbers": {
        "boosting": Kind(of("GradientBoostingRegressor"), scores.of_numbers),
        "forest": Kind(of("RandomForestRegressor"), scores.of_numbers),
        "extra-trees": Kind(of("ExtraTreesRegressor"), scores.of_numbers),
        "centroid": Kind(of("CentroidForestRegressor"), scores.of_numbers, encoded=True, suits=mostly_zeros),
        "quantiles": Kind(quantiles, scores.of_quantiles, "quantiles", suits=one_number_of_few),
        "conformal": Kind(around(ConformalRegressor, None), scores.of_intervals, "intervals", suits=one_number),
    },
    "classes": {
        "boosting": Kind(of("GradientBoostingClassifier"), SURE, "chances"),
        "forest": Kind(of(FOREST), TREES, "chances"),
        "extra-trees": Kind(of("ExtraTreesClassifier"), TREES, "chances"),
        "linear": Kind(of(LINEAR), SURE, "chances", encoded=True),
        "centroid": Kind(of("CentroidForestClassifier"), TREES, "chances", encoded=True, suits=mostly_zeros),
        "conformal": Kind(around(ConformalClassifier, None), scores.of_sets, "sets"),
        "calibrated": Kind(lambda: CalibratedClassifierCV(of(FOREST)()), SURE, "chances", suits=enough_of_each),
    },
    "labels": {
        "boosting": Kind(of("GradientBoostingClassifier"), scores.of_labels, "margins"),
        "forest": Kind(of(FOREST), scores.of_labels, "margins"),
        "extra-trees": Kind(of("ExtraTreesClassifier"), scores.of_labels, "margins"),
        "linear": Kind(of(LINEAR), scores.of_labels, "margins", encoded=True),
        "centroid": Kind(of("CentroidForestClassifier"), scores.of_labels, "margins", encoded=True, suits=mostly_zeros),
        "calibrated": Kind(around(CalibratedLabels, FOREST), scores.of_chances, "margins", suits=enough_of_each),
        "calibrated linear": Kind(around(CalibratedLabels, LINEAR), scores.of_chances, "margins", True, enough_of_each),
        "thresholds": Kind(around(TunedThresholds, FOREST), scores.of_thresholds),
        "linear thresholds": Kind(around(TunedThresholds, LINEAR), scores.of_thresholds, encoded=True),
    },
}


def kinds(of_y: str, table: Table) -> list[str]:
    """Which kinds of models the table is for."""
    return [name for name, kind in KINDS[of_y].items() if kind.suits(table)]


def predicted(kind: Kind, table: Table, factor: float = 1.0) -> Predicted:
    """What the model says of test samples after a fit to the others, whose weights are multiplied by the factor."""
    table = table.encoded() if kind.encoded else table
    model = kind.make()
    weight = {} if table.weight is None else {"sample_weight": table.weight * factor}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table.X, table.y, **weight)
    said = SAYS[kind.says](model, table.X_test)
    said.warned = [str(warning.message) for warning in caught]
    return said


def margins(model: Any, X: Any) -> Predicted:
    chances = model.predict_proba(X)
    if isinstance(chances, list):
        chances = np.column_stack([c[:, -1] for c in chances])
    return Predicted(model.predict(X), chances)


def intervals(model: Any, X: Any) -> Predicted:
    low, high = np.moveaxis(np.asarray(model.predict_interval(X)), -1, 0)
    return Predicted(low=low, high=high)


def sets(model: Any, X: Any) -> Predicted:
    found = model.predict_sets(X)
    return Predicted(sets=scores.dense(found), classes=model.classes_.tolist())


SAYS: dict[str, Callable[[Any, Any], Predicted]] = {
    "values": lambda model, X: Predicted(model.predict(X)),
    "chances": lambda model, X: Predicted(model.predict(X), model.predict_proba(X), model.classes_.tolist()),
    "margins": margins,
    "quantiles": lambda model, X: Predicted(quantiles=model.predict_quantiles(X)),
    "intervals": intervals,
    "sets": sets,
}


def factor_named(warned: list[str]) -> float | None:
    """The factor that a warning about weights names."""
    for text in warned:
        found = re.search(r"multiply .*? by ([-+.\deE]*\d)", text, re.DOTALL | re.IGNORECASE)
        if found:
            return float(found[1].replace(",", ""))
    return None
