"""Bytes and scores of compact and of compressed forests: delicious and bibtex (labels), scm20d, rf1.

Each forest, fully grown and with fewer leaves, is stored unchanged and in every compact form. Ratios and losses are
relative to the fully grown forest, stored unchanged. Goal: 20 times fewer bytes with a loss of at most 1 % of the score
on the test part, which is the label ranking average precision, or the mean r² over outputs.

Labels with `--path`: extra-trees compressed by steps on few labels, with float16 leaves, against unchanged extra-trees.
Steps and the norm at which the path is cut are chosen on a fifth of the training samples, by forests fitted to the
others: the fewest bytes with a loss of at most `--loss` there. The test part is used once, for the model of that norm.
"""

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import weald
from _data import delicious, named, rf1, scm20d
from _harness import Data
from _scores import macro_r2, ranking_precision
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from weald.compression import compact_leaves

SETS = {"delicious": delicious, "bibtex": lambda: named("bibtex"), "scm20d": scm20d, "rf1": rf1}
LEAVES = [None, 2000, 1000, 700, 600, 500, 250, 120, 60]
TOP_K = [3, 10, 30]
COLUMNS = ["data", "max_leaf_nodes", "form", "bytes", "ratio", "score", "loss", "max_change", "predict_s", "compact_s"]


def forms(has_labels: bool, data: Data) -> dict[str, dict[str, Any]]:
    """Names and parameters of compact forms."""
    rows = (data.X, data.y)
    every: dict[str, dict[str, Any]] = {
        "as it is": {},
        "float32": {"dtype": "float32"},
        "float16": {"dtype": "float16"},
        "rows": {"training_data": rows},
        "rows, float16": {"training_data": rows, "dtype": "float16"},
    }
    if has_labels:
        for k in TOP_K:
            every[f"top {k}"] = {"top_k": k}
            every[f"top {k}, float16"] = {"top_k": k, "dtype": "float16"}
    return every


def measure(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """All forests of one data set in all forms."""
    data = SETS[name]()
    has_labels = name in ("delicious", "bibtex")
    kind = weald.RandomForestClassifier if has_labels else weald.RandomForestRegressor
    found: list[dict[str, Any]] = []
    for leaves in [None, *(args.leaves or LEAVES[1 : 2 if args.quick else None])]:
        model = kind(
            n_estimators=args.trees, max_features="sqrt", max_leaf_nodes=leaves, random_state=0, n_jobs=args.jobs
        ).fit(data.X, data.y)
        for form, params in forms(has_labels, data).items():
            start = time.perf_counter()
            compact, report = compact_leaves(model, **params)
            middle = time.perf_counter()
            predicted = compact.predict_proba(data.X_test) if has_labels else compact.predict(data.X_test)
            end = time.perf_counter()
            score = (ranking_precision if has_labels else macro_r2)(predicted, data.y_test)
            whole = found[0] if found else {"bytes": report["n_bytes_before"], "score": score}
            row = {
                "data": name,
                "max_leaf_nodes": leaves or "",
                "form": form,
                "bytes": report["n_bytes_after"],
                "ratio": round(whole["bytes"] / report["n_bytes_after"], 2),
                "score": round(float(score), 5),
                "loss": round(1 - float(score) / whole["score"], 5),
                "max_change": float(np.format_float_scientific(report["max_change"], 3)),
                "predict_s": round(end - middle, 4),
                "compact_s": round(middle - start, 3),
            }
            found.append(row)
            print(*(row[column] for column in COLUMNS), sep="\t", flush=True)
    return found


def cut(model: Any, step: int) -> Any:
    """The model after a number of steps of a path, with float16 leaves."""
    return compact_leaves(model.at(model.path_["l1_norm"][step]), dtype="float16")[0]


def path_of_few_labels(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """One row of the table: chosen on held-out samples, fitted on all samples, scored once on the test part."""
    data = SETS[name]()
    forest = weald.ExtraTreesClassifier(args.trees, random_state=0, n_jobs=args.jobs)

    def compressed(X: Any, y: Any, outputs: int, size: float) -> Any:
        grown = clone(forest).fit(X, y)
        model = weald.CompressedForestClassifier(
            FrozenEstimator(grown), l1_norm=None, step_size=size, step_outputs=outputs, n_jobs=args.jobs
        )
        return model.fit(X, y)

    order = np.random.default_rng(0).permutation(data.X.shape[0])
    train, held = (np.sort(part) for part in np.split(order, [len(order) * 4 // 5]))
    X, y, X_held, y_held = data.X[train], data.y[train], data.X[held], data.y[held]
    whole = clone(forest).fit(X, y)
    aim = (1 - args.loss) * ranking_precision(whole.predict_proba(X_held), y_held)
    best: tuple[float, int, float, float] = (np.inf, 0, 0.0, 0.0)
    for outputs in args.outputs:
        for size in args.sizes:
            model = compressed(X, y, outputs, size)
            steps = np.unique(np.geomspace(10, len(model.path_["l1_norm"]) - 1, 40).astype(int))
            scores = [ranking_precision(cut(model, s).decision_function(X_held), y_held) for s in steps[-12:]]
            print(f"# {outputs} labels, steps of {size}: at most {max(scores):.4f}, wanted {aim:.4f}", flush=True)
            for step, score in zip(steps[-12:], scores, strict=True):
                n_bytes = len(cut(model, step)._model.to_bytes())
                if score >= aim:
                    best = min(best, (n_bytes, outputs, size, float(model.path_["l1_norm"][step])))
    if not best[1]:
        raise SystemExit(f"{name}: no path keeps the score on the held-out rows")
    _, outputs, size, norm = best
    whole = clone(forest).fit(data.X, data.y)
    score = ranking_precision(whole.predict_proba(data.X_test), data.y_test)
    start = time.perf_counter()
    model = compressed(data.X, data.y, outputs, size)
    small, report = compact_leaves(model.at(norm), dtype="float16")
    middle = time.perf_counter()
    found = ranking_precision(small.decision_function(data.X_test), data.y_test)
    row = {
        "data": name,
        "max_leaf_nodes": "",
        "form": f"path to {norm:.4g}: {outputs} labels, steps of {size}, float16",
        "bytes": report["n_bytes_after"],
        "ratio": round(len(whole._forest.to_bytes()) / report["n_bytes_after"], 2),
        "score": round(float(found), 5),
        "loss": round(1 - float(found) / float(score), 5),
        "max_change": float(np.format_float_scientific(report["max_change"], 3)),
        "predict_s": round(time.perf_counter() - middle, 4),
        "compact_s": round(middle - start, 3),
    }
    print(*(row[column] for column in COLUMNS), sep="\t", flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="two sizes of trees only")
    parser.add_argument("--leaves", type=int, nargs="*", help="sizes of trees, besides the full one")
    parser.add_argument("--path", action="store_true", help="compressed extra-trees of data with labels alone")
    parser.add_argument("--outputs", type=int, nargs="*", default=[3, 5, 10], help="with --path: labels of a step")
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.003], help="with --path: lengths of steps")
    parser.add_argument("--loss", type=float, default=0.005, help="with --path: loss allowed on the held-out rows")
    parser.add_argument("--csv", type=Path, help="also write the table here")
    args = parser.parse_args()
    print(*COLUMNS, sep="\t")
    if args.path:
        table = [path_of_few_labels(name, args) for name in args.data if name in ("delicious", "bibtex")]
    else:
        table = [row for name in args.data for row in measure(name, args)]
    for name in () if args.path else args.data:
        small = [row for row in table if row["data"] == name and row["loss"] <= 0.01]
        best = max(small, key=lambda row: row["ratio"])
        leaves = best["max_leaf_nodes"] or "all"
        print(f"{name}: {best['ratio']} times at a loss of {best['loss']:.2%}: {leaves} leaves, {best['form']}")
    if args.csv:
        with args.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    sys.exit(main())
