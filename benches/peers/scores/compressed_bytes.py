"""Bytes and scores of compact and of compressed forests: delicious and bibtex (labels), scm20d, rf1.

Each forest, fully grown and with fewer leaves, is stored unchanged and in every compact form. Ratios and losses are
relative to the fully grown forest, stored unchanged. Goal: 20 times fewer bytes with a loss of at most 1 % of the score
on the test part, which is the label ranking average precision, or the mean r² over outputs.

Labels with `--path`: extra-trees compressed by steps on few labels, with float16 leaves, against unchanged extra-trees.
Steps and the norm at which the path is cut are chosen on a fifth of the training samples, by forests fitted to the
others: the fewest bytes with a loss of at most `--loss` there. The test part is used once, for the model of that norm.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weald
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from weald.compression import compact_leaves

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import delicious, named, rf1, scm20d
from _harness import Data, Table, n_trees, options, parser, say, timed
from _scores import macro_r2, ranking_precision

clock = time.perf_counter
SETS = {"delicious": delicious, "bibtex": lambda: named("bibtex"), "scm20d": scm20d, "rf1": rf1}
LEAVES = [None, 2000, 1000, 700, 600, 500, 250, 120, 60]
TOP_K = [3, 10, 30]
COLUMNS = "case | side | compact, s | predict, s | model, MB | ratio | score | loss | greatest change"


class Rows:
    """The table of one data set: ratios and losses against its first model."""

    def __init__(self, name: str, table: Table) -> None:
        self.name, self.table, self.best = name, table, (0.0, "")
        self.whole: tuple[int, float] | None = None

    def add(self, form: str, compact: float, predict: float, report: dict[str, Any], score: float) -> None:
        n_bytes = report["n_bytes_after"]
        self.whole = whole = self.whole or (n_bytes, score)
        ratio, loss = whole[0] / n_bytes, 1 - score / whole[1]
        if loss <= 0.01:
            self.best = max(self.best, (ratio, form))
        change = f"{report['max_change']:.3g}"
        cells = [f"{compact:.3f}", f"{predict:.4f}", f"{n_bytes / 1e6:.3g}", f"{ratio:.2f}", f"{score:.5f}"]
        self.table.row(self.name, form, *cells, f"{loss:.5f}", change)


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


def measure(name: str, args: argparse.Namespace, rows: Rows) -> None:
    """All forests of one data set in all forms."""
    data = SETS[name]()
    has_labels = name in ("delicious", "bibtex")
    kind = weald.RandomForestClassifier if has_labels else weald.RandomForestRegressor
    for leaves in [None, *(args.leaves or LEAVES[1 : 2 if args.quick else None])]:
        model = kind(args.n_trees, max_features="sqrt", max_leaf_nodes=leaves, random_state=0, n_jobs=args.jobs).fit(
            data.X, data.y
        )
        for form, params in forms(has_labels, data).items():
            compacting, (compact, report) = timed(
                lambda model=model, params=params: compact_leaves(model, **params), clock
            )
            predict = compact.predict_proba if has_labels else compact.predict
            predicting, predicted = timed(lambda predict=predict: predict(data.X_test), clock)
            score = float((ranking_precision if has_labels else macro_r2)(predicted, data.y_test))
            rows.add(f"{leaves or 'all'} leaves, {form}", compacting, predicting, report, score)


def cut(model: Any, step: int) -> Any:
    """The model after a number of steps of a path, with float16 leaves."""
    return compact_leaves(model.at(model.path_["l1_norm"][step]), dtype="float16")[0]


def path_of_few_labels(name: str, args: argparse.Namespace, rows: Rows) -> None:
    """Two rows of the table: chosen on held-out samples, fitted on all samples, scored once on the test part."""
    data = SETS[name]()
    forest = weald.ExtraTreesClassifier(args.n_trees, random_state=0, n_jobs=args.jobs)

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
            say(f"{outputs} labels, steps of {size}: at most {max(scores):.4f}, wanted {aim:.4f}")
            for step, score in zip(steps[-12:], scores, strict=True):
                n_bytes = len(cut(model, step)._model.to_bytes())
                if score >= aim:
                    best = min(best, (n_bytes, outputs, size, float(model.path_["l1_norm"][step])))
    if not best[1]:
        raise SystemExit(f"{name}: no path keeps the score on the held-out rows")
    _, outputs, size, norm = best
    whole = clone(forest).fit(data.X, data.y)
    rows.add("extra-trees", 0.0, *scored(whole.predict_proba, data, {"max_change": 0.0}, len(whole._forest.to_bytes())))

    def small() -> Any:
        return compact_leaves(compressed(data.X, data.y, outputs, size).at(norm), dtype="float16")

    seconds, (model, report) = timed(small, clock)
    form = f"path to {norm:.4g}: {outputs} labels, steps of {size}, float16"
    rows.add(form, seconds, *scored(model.decision_function, data, report, report["n_bytes_after"]))


def scored(
    predict: Callable[[Any], Any], data: Data, report: dict[str, Any], n_bytes: int
) -> tuple[float, dict[str, Any], float]:
    seconds, scores = timed(lambda: predict(data.X_test), clock)
    return seconds, report | {"n_bytes_after": n_bytes}, float(ranking_precision(scores, data.y_test))


def main() -> None:
    common = parser(__doc__ or "")
    common.add_argument("--jobs", type=int, default=1)
    common.add_argument("--leaves", type=int, nargs="*", help="sizes of trees, besides the full one")
    common.add_argument("--path", action="store_true", help="compressed extra-trees of data with labels alone")
    common.add_argument("--outputs", type=int, nargs="*", default=[3, 5, 10], help="with --path: labels of a step")
    common.add_argument("--sizes", type=float, nargs="*", default=[0.003], help="with --path: lengths of steps")
    common.add_argument("--loss", type=float, default=0.005, help="with --path: loss allowed on the held-out rows")
    args = options(common)
    args.n_trees = n_trees(args, usual=100, quick=10)
    table = Table(COLUMNS, texts=2)
    for name in ("delicious", "bibtex") if args.path else SETS:
        if args.only in name:
            rows = Rows(name, table)
            (path_of_few_labels if args.path else measure)(name, args, rows)
            ratio, form = rows.best
            table.row(name, f"best at a loss of at most 1 %: {form}", "", "", "", f"{ratio:.2f}")


if __name__ == "__main__":
    main()
