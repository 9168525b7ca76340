"""Shapley values of the same trees, against shap's C. Goals: 5 times as fast for one output, 20 times for many labels.

shap gets the trees of weald's model as arrays, so that both explain the same model. It needs `pip install shap`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _data import continuous, delicious
from _harness import PLAIN_BOOSTING, Case, Data, Side, main, n_trees

ROWS = {"shallow": 2000, "deep": 100, "boosting": 2000, "dense": 200, "labels": 32, "background": 50}
BACKGROUND = 100


def as_dict(tree: Any, divisor: float) -> dict[str, Any]:
    """A fitted tree in the form in which shap takes trees of other libraries."""
    value = tree.value[:, :, -1] / divisor
    return {
        "children_left": tree.children_left,
        "children_right": tree.children_right,
        "children_default": tree.children_right,
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": value,
        "node_sample_weight": tree.weighted_n_node_samples.copy(),  # shap modifies it
    }


class Ours:
    """weald's explanation in the form of an estimator."""

    def __init__(self, model: Any, with_background: bool = False) -> None:
        self.model = model
        self.with_background = with_background

    def fit(self, X: Any, y: Any) -> Ours:
        self.model.fit(X, y)
        self.background = X[:BACKGROUND] if self.with_background else None
        return self

    def predict(self, X: Any) -> Any:
        return weald.inspection.shap_values(self.model, X, background=self.background).values


class Theirs(Ours):
    """shap's explanation of the same model."""

    def predict(self, X: Any) -> Any:
        import shap

        if not hasattr(self, "explainer"):
            members = list(self.model.estimators_)
            is_boosting = isinstance(self.model, weald.GradientBoostingRegressor)
            trees = [as_dict(member.tree_, 1.0 if is_boosting else len(members)) for member in members]
            game = "interventional" if self.with_background else "tree_path_dependent"
            self.explainer = shap.TreeExplainer({"trees": trees}, self.background, feature_perturbation=game)
        return self.explainer.shap_values(np.asarray(X, dtype=np.float64), check_additivity=False)


def some(data: Data, kind: str) -> Data:
    return replace(data, X_test=data.X_test[: ROWS[kind]])


def dense(data: Data) -> Data:
    X, X_test = (np.ascontiguousarray(a.toarray() if sp.issparse(a) else a, np.float32) for a in (data.X, data.X_test))
    return replace(data, X=X, X_test=X_test)


def cases(args: argparse.Namespace) -> list[Case]:
    def sides(make: Callable[[], Any], with_background: bool = False) -> dict[str, Side]:
        return {
            "weald": Side(lambda: Ours(make(), with_background)),
            "shap": Side(lambda: Theirs(make(), with_background), needs="shap"),
        }

    def forest(m: int, **params: Any) -> Callable[[], Any]:
        params = {"n_estimators": m, "max_features": "sqrt", "random_state": 0, "n_jobs": 1} | params
        return lambda: weald.RandomForestRegressor(**params)

    many, few = n_trees(args, usual=50, quick=5), n_trees(args, usual=10, quick=2)
    boosting = {"n_estimators": n_trees(args, usual=200, quick=20), "max_depth": 6, "random_state": 0, "n_jobs": 1}
    labels = {"n_estimators": few, "max_features": "sqrt", "random_state": 0, "n_jobs": 1}
    return [
        Case(
            name="forest, depth 10",
            data=lambda: some(continuous(), "shallow"),
            sides=sides(forest(many, max_depth=10)),
            aims={"seconds": 5},
            work="predict",
            notes=f"{many} trees, {ROWS['shallow']} rows, one output",
        ),
        Case(
            name="forest, grown out",
            data=lambda: some(continuous(), "deep"),
            sides=sides(forest(few)),
            aims={"seconds": 5},
            work="predict",
            notes=f"{few} trees, {ROWS['deep']} rows, one output",
        ),
        Case(
            name="boosting, depth 6",
            data=lambda: some(continuous(), "boosting"),
            sides=sides(lambda: weald.GradientBoostingRegressor(**PLAIN_BOOSTING, **boosting)),
            aims={"seconds": 5},
            work="predict",
            notes=f"{boosting['n_estimators']} trees, {ROWS['boosting']} rows, one output",
        ),
        Case(
            name="50 numbers, depth 10",
            data=lambda: some(continuous(n_outputs=50), "dense"),
            sides=sides(forest(few, max_depth=10)),
            aims={"seconds": None},
            work="predict",
            notes=f"{few} trees, {ROWS['dense']} rows, all outputs",
        ),
        Case(
            name="delicious, grown out",
            data=lambda: some(dense(delicious()), "labels"),
            sides=sides(lambda: weald.RandomForestClassifier(**labels)),
            aims={"seconds": 20},
            work="predict",
            notes=f"{few} trees, {ROWS['labels']} rows, all 983 labels",
        ),
        Case(
            name="forest, depth 10, against a background",
            data=lambda: some(continuous(), "background"),
            sides=sides(forest(few, max_depth=10), with_background=True),
            aims={"seconds": 5},
            work="predict",
            notes=f"{few} trees, {ROWS['background']} rows, {BACKGROUND} rows of background, one output",
        ),
    ]


if __name__ == "__main__":
    main(__doc__ or "", cases)
