"""Leaves of trees where rows repeat and folds find the number of stages: plain tables of codes, settings and answers.

    python benches/defaults/repeated_rows.py

Prints a line for each table of `tests/plain` of numbers or classes whose rows stand at least twice on average: r2 or minus the
log loss of new samples, by the number of leaves.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import weald
from scipy import sparse
from sklearn.metrics import log_loss, r2_score

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from plain.tables import everything, load, numbers

LEAVES = (8, 15, 31, 63, 127)


def share_of_different_rows(X: object) -> float:
    table = X.toarray() if sparse.issparse(X) else np.asarray(numbers(X), dtype=np.float64)
    return len(np.unique(np.nan_to_num(table, nan=-1e300), axis=0)) / len(table)


def score(kind: str, name: str, n_leaves: int) -> float:
    table = load(name)
    of_classes = kind == "classes"
    make = weald.GradientBoostingClassifier if of_classes else weald.GradientBoostingRegressor
    rate = 0.1 if of_classes else 0.07
    folds = {"n_estimators": 1000, "early_stopping": weald.EarlyStopping(cv=3)}
    model = make(**folds, learning_rate=rate, max_leaf_nodes=n_leaves, random_state=0, n_jobs=1)
    model.fit(table.X, table.y, sample_weight=table.weight)
    if of_classes:
        return -float(log_loss(table.y_test, model.predict_proba(table.X_test), labels=model.classes_))
    return float(r2_score(table.y_test, model.predict(table.X_test)))


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'table':45s} rows  {'  '.join(f'{n:>6d}' for n in LEAVES)}")
    for name, (kind, _) in everything().items():
        if kind == "labels" or "weights of" in name or "constant" in name:
            continue
        share = share_of_different_rows(load(name).X)
        if share <= 0.5:
            scores = [score(kind, name, n) for n in LEAVES]
            print(f"{name:45s} {share:4.2f}  {'  '.join(f'{s:6.3f}' for s in scores)}", flush=True)


if __name__ == "__main__":
    main()
