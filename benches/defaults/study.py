"""Which defaults of boosting are best over many data sets: fits each setting to a part of the training samples.

    python benches/defaults/study.py run results.jsonl          # appends the missing results
    python benches/defaults/study.py report results.jsonl

Settings are fitted to three quarters of the training part and scored on the other quarter; the test parts are never
used. Labels are scored by label ranking average precision, numerical outputs by their mean r², classes by minus the log
loss. Each setting is the base setting with some parameters changed. Stages are scored during the fit, so that fewer
rounds need no further fits. The report has mean ranks and differences to the best setting of each data set, and repeats
the choice with each data set left out in turn. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
import _records
from _scores import macro_r2, ranking_precision
from sklearn.metrics import log_loss
from weald.projection import Projected

LABELS = [
    "emotions", "scene", "CAL500", "medical", "mediamill_sample", "corel5k", "bibtex", "yahoo_arts",
    "reuters21578_r90", "rcv1sub1", "diatoms",
]  # fmt: skip
NUMBERS = ["atp1d", "edm", "enb", "jura", "oes10", "oes97", "osales", "wq", "rf1", "scm20d"]
CLASSES = ["mushrooms", "a9a", "20newsgroup", "mnist"]
MOST_ROWS = 4000

BASE: dict[str, Any] = {
    "output_strategy": "projected",
    "min_weight_leaf": 0.0,
    "leaf_estimation": "newton",
    "l2_regularization": 1.0,
    "max_depth": None,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 5,
    "learning_rate": 0.1,
    "n_estimators": 300,
    "subsample": 1.0,
    "max_features": None,
}
# The leaves and strategies of the defaults.
DEFAULTS: dict[str, Any] = {"output_strategy": "auto", "min_weight_leaf": 2.0, "min_samples_leaf": 1}
ROUNDS = (100, 200, 300)
SETTINGS: dict[str, dict[str, Any]] = {
    "line search, depth 3": {
        "leaf_estimation": "line_search",
        "max_depth": 3,
        "max_leaf_nodes": None,
        "min_samples_leaf": 1,
    },
    "depth 3": {"max_depth": 3, "max_leaf_nodes": None},
    "base": {},
    "λ 0.2": {"l2_regularization": 0.2},
    "λ 5": {"l2_regularization": 5.0},
    "≥ 1 a leaf": {"min_samples_leaf": 1},
    "≥ 2 a leaf": {"min_samples_leaf": 2},
    "≥ 3 a leaf": {"min_samples_leaf": 3},
    "≥ 10 a leaf": {"min_samples_leaf": 10},
    "≥ 20 a leaf": {"min_samples_leaf": 20},
    "16 leaves": {"max_leaf_nodes": 16},
    "16 leaves, ≥ 1": {"max_leaf_nodes": 16, "min_samples_leaf": 1},
    "64 leaves": {"max_leaf_nodes": 64},
    "q log": {"output_strategy": Projected(n_projections="log")},
    "joint": {"output_strategy": "joint"},
    "√p features": {"max_features": "sqrt"},
    "0.3 p features": {"max_features": 0.3},
    "half the rows": {"subsample": 0.5},
    "line search": {"leaf_estimation": "line_search"},
    **{f"defaults, rate {rate}": {**DEFAULTS, "learning_rate": rate} for rate in (0.05, 0.07, 0.1, 0.2, 0.3)},
    **{
        f"defaults, rate {rate}, half the features, {share} of the samples": {
            **DEFAULTS,
            "learning_rate": rate,
            "max_features": "half",
            "subsample": share,
        }
        for rate, share in ((0.05, 1.0), (0.05, 0.7), (0.07, 1.0), (0.1, 1.0), (0.1, 0.7))
    },
}


def kind(name: str) -> str:
    return "labels" if name in LABELS else "numbers" if name in NUMBERS else "classes"


def parts(name: str) -> tuple[Any, Any, Any, Any]:
    """X and y for the fit and for the score, both from the training part of a data set."""
    data = _data.filled(_data.named(name)) if name in NUMBERS else _data.named(name)
    rows = np.random.default_rng(0).permutation(data.X.shape[0])[:MOST_ROWS]
    fitted, scored = np.sort(rows[len(rows) // 4 :]), np.sort(rows[: len(rows) // 4])
    X, y = (part.tocsr() if hasattr(part, "tocsr") else part for part in (data.X, data.y))
    return X[fitted], y[fitted], X[scored], y[scored]


def scores(model: Any, X: Any, y: Any, what: str) -> Iterator[tuple[int, float]]:
    """The score after some numbers of rounds."""
    staged = model.staged_predict(X) if what == "numbers" else model.staged_predict_proba(X)
    for i, predicted in enumerate(staged, start=1):
        if i not in ROUNDS:
            continue
        if what == "labels":
            yield i, ranking_precision(predicted, y)
        elif what == "numbers":
            yield i, macro_r2(predicted, y)
        else:
            yield i, -log_loss(y, predicted, labels=model.classes_)


def run(path: Path, names: list[str], settings: list[str]) -> None:
    import weald

    done = {(row["set"], row["setting"]) for row in _records.read(path)}
    for name in names:
        X, y, X_scored, y_scored = parts(name)
        for setting in settings:
            if (name, setting) in done:
                continue
            estimator = weald.GradientBoostingRegressor if name in NUMBERS else weald.GradientBoostingClassifier
            begin = time.process_time()
            model = estimator(random_state=0, **BASE | SETTINGS[setting]).fit(X, y)
            seconds = time.process_time() - begin
            found = dict(scores(model, X_scored, y_scored, kind(name)))
            row = {"set": name, "setting": setting, "seconds": seconds, "scores": found}
            row["bytes"] = len(model._model.to_bytes())
            _records.append(path, row)
            print(name, setting, f"{seconds:.2f} s", {k: round(v, 4) for k, v in found.items()}, flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def report(path: Path) -> None:
    rows = read(path)
    for what in ("labels", "numbers", "classes"):
        of_kind = [row for row in rows if kind(row["set"]) == what]
        names = sorted({row["set"] for row in of_kind})
        found = {
            (row["setting"], rounds): {} for row in of_kind for rounds in row["scores"]
        }  # setting, rounds -> set -> score
        cost: dict[str, list[float]] = {}
        for row in of_kind:
            cost.setdefault(row["setting"], []).append(row["seconds"])
            for rounds, score in row["scores"].items():
                found[row["setting"], rounds][row["set"]] = score
        keys = [key for key, by_set in found.items() if len(by_set) == len(names)]
        table = np.array([[found[key][name] for name in names] for key in keys])
        if not len(table):
            continue
        ranks = (-table).argsort(axis=0).argsort(axis=0) + 1.0
        behind = table.max(axis=0) - table
        print(f"\n{what}: {len(names)} sets, {len(keys)} settings\n")
        print("| setting | rounds | mean rank | mean behind the best | most behind | seconds, all sets |")
        print("|---|---|---|---|---|---|")
        for i in np.argsort(behind.mean(axis=1)):
            setting, rounds = keys[i]
            seconds = sum(cost[setting])
            print(
                f"| {setting} | {rounds} | {ranks[i].mean():.1f} | {behind[i].mean():.4f} | {behind[i].max():.4f} "
                f"({names[int(behind[i].argmax())]}) | {seconds:.1f} |"
            )
        left_out = [int(np.delete(behind, j, axis=1).mean(axis=1).argmin()) for j in range(len(names))]
        lost = np.array([behind[i, j] for j, i in enumerate(left_out)])
        chosen = sorted({" ".join(keys[i]) for i in left_out})
        print(f"\nleaving each set out: {chosen}; behind the best {lost.mean():.4f}, at most {lost.max():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--sets", nargs="*", default=[*LABELS, *NUMBERS, *CLASSES])
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    args = parser.parse_args()
    if args.what == "run":
        run(args.path, args.sets, args.settings)
    else:
        report(args.path)


if __name__ == "__main__":
    main()
