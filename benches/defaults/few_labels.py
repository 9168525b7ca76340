"""Boosting of labels of few samples: fixed stages, the stages of folds with small trees, and a forest.

    Rscript benches/defaults/few_labels.R FOLDER
    python benches/defaults/few_labels.py FOLDER

The tables are plots and the species that live there, shipped by the R packages ade4 and vegan, which the first command writes as
files. Species of at least five plots, and absent from five, are labels. Five folds by rows: the mean AUC of the labels, and the
mean log loss of a cell in nats, of held-out rows, with probabilities from .001 to .999.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import weald
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

RAREST = 5
FIXED = {"n_estimators": 200, "learning_rate": 0.07, "max_leaf_nodes": 31}
FOLDS = {"n_estimators": 400, "cv": 3, "max_leaf_nodes": 8}
METHODS: dict[str, Callable[[], Any]] = {
    "forest": lambda: weald.RandomForestClassifier(random_state=0),
    "200 stages": lambda: weald.GradientBoostingClassifier(random_state=0, **FIXED),
    "folds, .07": lambda: weald.GradientBoostingClassifier(random_state=0, learning_rate=0.07, **FOLDS),
    "folds, .05": lambda: weald.GradientBoostingClassifier(random_state=0, learning_rate=0.05, **FOLDS),
    "default": lambda: weald.GradientBoostingClassifier(random_state=0),
}


def load(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    X = pd.read_csv(path)
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    Y = pd.read_csv(path.with_name(path.name.replace("_x", "_y"))).fillna(0).to_numpy().astype(np.int8)
    there = Y.sum(axis=0)
    return X.astype(dict.fromkeys(texts, "category")), Y[:, (there >= RAREST) & (there <= len(Y) - RAREST)]


def scores(make: Callable[[], Any], X: pd.DataFrame, Y: np.ndarray) -> tuple[float, float]:
    proba = np.zeros(Y.shape)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        proba[test] = make().fit(X.iloc[train], Y[train]).predict_proba(X.iloc[test])
    auc = np.mean([roc_auc_score(Y[:, j], proba[:, j]) for j in range(Y.shape[1])])
    right = np.where(Y == 1, proba, 1 - proba)
    return float(auc), float(-np.log(np.clip(right, 1e-3, 1 - 1e-3)).mean())


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'table':22s} rows  labels  {'  '.join(f'{name:>12s}' for name in METHODS)}")
    found = []
    for path in sorted(Path(sys.argv[1]).glob("*_x.csv")):
        X, Y = load(path)
        found.append([scores(make, X, Y) for make in METHODS.values()])
        line = "  ".join(f"{auc:.3f} / {loss:.3f}"[:13] for auc, loss in found[-1])
        print(f"{path.name[:-6]:22s} {len(Y):4d}  {Y.shape[1]:6d}  {line}", flush=True)
    auc, loss = np.moveaxis(np.array(found), 2, 0)
    print(
        "mean AUC",
        auc.mean(axis=0).round(3).tolist(),
        "log loss / forest",
        (loss / loss[:, :1]).mean(axis=0).round(3).tolist(),
    )


if __name__ == "__main__":
    main()
