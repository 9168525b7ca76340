"""Compares the methods of a file of `measure.py` over its tables.

    python benches/tables/report.py results.jsonl                           # tables for judging
    python benches/tables/report.py results.jsonl --part mulan
    python benches/tables/report.py settings.jsonl --part choosing --against "weald boosting"

The score of a method on a table is its mean over the splits. A method's rank among all methods is averaged over the
tables; equal scores share their mean rank. "Behind the best" is the geometric mean of score ÷ best score on the table,
for errors (aRRMSE, log loss, 1 − accuracy, 1 − AUC; at least 10⁻³, so that a table that is solved does not decide).
Standard errors are those of 2 000 samples of the tables, drawn with replacement. Seconds are of one fit, a geometric mean
over the tables.

With `--against`, each method is compared with one method, pair by pair: the geometric mean of the ratios of their errors
(below 1 the method is better), its standard error over tables, and on how many tables it is better and worse.

Tables that a method has not finished are left out for all of them, and counted.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from _more_numbers import MORE_NUMBERS
from _tables import CHOOSING, JUDGING, KEEL, KINDS, MULAN, TABLES
from scipy.stats import rankdata

PARTS = {
    "judging": JUDGING,
    "choosing": CHOOSING,
    "all": [*TABLES],
    "mulan": [*MULAN],
    "keel": [*KEEL],
    "numbers": [*MORE_NUMBERS],
}
LEAST_ERROR = 1e-3
RESAMPLES = 2000


def error(scores: dict[str, Any], of_classes: str) -> float:
    if "aRRMSE" in scores:
        return scores["aRRMSE"]
    # Only two classes have an area under a curve; more have their log loss in its place.
    if of_classes == "AUC" and "AUC" not in scores:
        of_classes = "log loss"
    return scores[of_classes] if of_classes == "log loss" else 1 - scores[of_classes]


def standard_error(values: np.ndarray) -> np.ndarray:
    """Of the mean over the first axis, the tables."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    return values[drawn].mean(axis=1).std(axis=0)


class Results:
    """Errors and seconds of the finished methods on the finished tables."""

    def __init__(self, rows: list[dict[str, Any]], names: list[str], of_classes: str, methods: list[str]) -> None:
        failed = {(row["table"], row["method"]) for row in rows if "failed" in row}
        rows = [row for row in rows if row["table"] in names and row["method"] in methods and "failed" not in row]
        found: dict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
        for row in rows:
            found[row["table"], row["method"]][row["split"]] = row
        present = {table for table, _ in found}
        most = {table: max(len(found[table, m]) for m in methods if (table, m) in found) for table in present}
        self.tables = sorted(t for t in present if all(len(found.get((t, m), ())) == most[t] for m in methods))
        self.absent = len(names) - len(self.tables)
        self.failed = sorted(f"{method} on {table}" for table, method in failed if table in names and method in methods)
        self.methods = methods
        self.kinds = {row["table"]: row["kind"] for row in rows}

        def mean(value: Any) -> np.ndarray:
            cells = [
                [np.mean([value(row) for row in found[table, method].values()]) for method in methods]
                for table in self.tables
            ]
            return np.array(cells).reshape(len(self.tables), len(methods))

        self.errors = np.maximum(mean(lambda row: error(row["scores"], of_classes)), LEAST_ERROR)
        self.seconds = mean(lambda row: row["seconds"])

    def of_kind(self, kinds: tuple[str, ...]) -> np.ndarray:
        return np.array([self.kinds[table] in kinds for table in self.tables], dtype=bool)


def ranking(results: Results, rows: np.ndarray) -> str:
    errors = results.errors[rows]
    ranks = rankdata(errors, axis=1)
    behind = np.log(errors / errors.min(axis=1, keepdims=True))
    spread, spread_behind = standard_error(ranks), standard_error(behind)
    seconds = np.exp(np.log(results.seconds[rows]).mean(axis=0))
    lines = ["| method | mean rank | behind the best | best on | seconds |", "|---|--:|--:|--:|--:|"]
    for j in np.argsort(ranks.mean(axis=0), kind="stable"):
        far = np.exp(behind[:, j].mean())
        lines.append(
            f"| {results.methods[j]} | {ranks[:, j].mean():.2f} ± {spread[j]:.2f} | {far:.3f} ± {far * spread_behind[j]:.3f} "
            f"| {int((ranks[:, j] == ranks.min(axis=1)).sum())} | {seconds[j]:.2f} |"
        )
    return "\n".join(lines)


def pairs(results: Results, rows: np.ndarray, reference: str) -> str:
    """One line of JSON for each method."""
    base = results.methods.index(reference)
    lines = []
    for j, method in enumerate(results.methods):
        if j == base:
            continue
        ratio = np.log(results.errors[rows, j] / results.errors[rows, base])
        line = {
            "method": method, "against": reference, "tables": len(ratio), "ratio": round(float(np.exp(ratio.mean())), 4),
            "standard error": round(float(standard_error(ratio)), 4), "better": int((ratio < 0).sum()),
            "worse": int((ratio > 0).sum()),
            "seconds": round(float(np.exp(np.log(results.seconds[rows, j] / results.seconds[rows, base]).mean())), 3),
        }  # fmt: skip
        lines.append(json.dumps(line))
    return "\n".join(lines)


def each(results: Results) -> str:
    lines = ["| table | " + " | ".join(results.methods) + " |", "|---|" + "--:|" * len(results.methods)]
    for table, row in zip(results.tables, results.errors, strict=True):
        lines.append(f"| {table} | " + " | ".join(f"{value:.4f}" for value in row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--part", choices=PARTS, default="judging")
    parser.add_argument("--metric", choices=["log loss", "accuracy", "AUC"], default="log loss", help="of classes")
    parser.add_argument("--methods", nargs="*", help="names of methods; default: all of the file")
    parser.add_argument("--without", nargs="*", default=[], help="names of methods that are left out")
    parser.add_argument("--against", help="name of the method that the others are compared with")
    parser.add_argument("--each", action="store_true", help="the errors on each table, too")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.path.read_text().splitlines()]
    methods = args.methods or list(dict.fromkeys(row["method"] for row in rows))
    results = Results(rows, PARTS[args.part], args.metric, [name for name in methods if name not in args.without])
    print(f"{len(results.tables)} tables, {args.part}; {results.absent} are not finished")
    for failure in results.failed:
        print(f"failed: {failure}")
    groups = {"all kinds": KINDS, "numbers": KINDS[:2], "classes": KINDS[2:], **{kind: (kind,) for kind in KINDS}}
    shown: list[tuple[bool, ...]] = []
    for title, kinds in groups.items():
        chosen = results.of_kind(kinds)
        if not chosen.any() or tuple(chosen) in shown:
            continue
        shown.append(tuple(chosen))
        print(f"\n{title}: {int(chosen.sum())} tables\n")
        print(pairs(results, chosen, args.against) if args.against else ranking(results, chosen))
    if args.each:
        print(f"\n{each(results)}")


if __name__ == "__main__":
    main()
