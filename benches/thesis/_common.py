"""What the scripts of this folder share: options, data and splits, cells that survive an interruption, tables.

A script is a list of cells. A cell is one model fitted and scored; its key says which. Finished cells are appended to
a CSV as they finish, so that a run that was interrupted goes on where it stopped. Tables, claims and pictures
(`_pictures.py`) are made from the cells alone. `runs.csv` in the folder of results says when, where and with which
versions cells were measured.
"""

from __future__ import annotations

import argparse
import csv
import functools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import label_ranking_average_precision_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
from _data import named, real_data
from _harness import Data, say
from _records import environment, heading

HERE = Path(__file__).resolve().parent
Key = tuple[Any, ...]


def options(description: str, repeat: int, trees: int = 100, extra: Callable[[Any], None] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few trees and repeats, results apart: indicative only")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--repeat", "--splits", type=int, dest="repeat", help=f"splits or seeds ({repeat})")
    parser.add_argument("--trees", type=int, help=f"trees of each forest ({trees})")
    parser.add_argument("--n-jobs", "--jobs", type=int, default=os.cpu_count() or 1, help="cells at a time (all cores)")
    parser.add_argument("--draw", action="store_true", help="tables and pictures from the cells at hand alone")
    parser.add_argument("--fresh", action="store_true", help="forget the cells of earlier runs")
    parser.add_argument("--out", type=Path, help="folder of results")
    if extra:
        extra(parser)
    args = parser.parse_args()
    # Results of quick runs and of other numbers of trees are kept apart from the others.
    usual = not args.quick and args.trees in (None, trees)
    args.trees = args.trees or (5 if args.quick else trees)
    args.repeat_given = args.repeat is not None
    args.repeat = args.repeat or (2 if args.quick else repeat)
    apart = "thesis_quick" if args.quick else f"thesis_{args.trees}_trees"
    args.out = args.out or (HERE / "results" if usual else HERE.parent / "out" / apart)
    args.out.mkdir(parents=True, exist_ok=True)
    Cells.measures = not args.draw
    return args


# ---- data and scores


def at_hand(name: str) -> bool:
    return real_data.missing(name) is None


@functools.cache
def original(name: str) -> Data:
    """The data set as published, with samples as rows."""
    return named(name)


@functools.cache
def pool(name: str) -> tuple[Any, sp.csr_array]:
    """All samples of a data set, the training part first."""
    data = original(name)
    stack = sp.vstack if sp.issparse(data.X) else np.concatenate
    X = stack([data.X, data.X_test])
    return (X.tocsr() if sp.issparse(X) else X), sp.csr_array(sp.vstack([data.y, data.y_test]))


def split(name: str, n_train: int, n_test: int, seed: int) -> Data:
    """A random selection of `n_train` training samples and `n_test` test samples."""
    X, Y = pool(name)
    if n_train + n_test > X.shape[0]:
        raise SystemExit(f"{name} has {X.shape[0]} rows, not {n_train} + {n_test}")
    order = np.random.default_rng(seed).permutation(X.shape[0])
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return Data(X[train], Y[train], X[test], Y[test])


def log_of(d: int) -> int:
    """⌊½ + ln d⌋, at least 1."""
    return max(1, int(0.5 + np.log(d)))


def lrap(model: Any, data: Data) -> float:
    """Label ranking average precision on the test part; 1 for samples without labels, as in scikit-learn."""
    predict = getattr(model, "predict_proba", model.predict)
    truth = data.y_test.toarray() if sp.issparse(data.y_test) else data.y_test
    return float(label_ranking_average_precision_score(truth, predict(data.X_test)))


def fit_and_score(model: Any, data: Data) -> dict[str, float]:
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    return {"score": lrap(model, data), "seconds": seconds}


def dense(data: Data) -> Data:
    """Everything as dense arrays."""
    return Data(*(a.toarray() if sp.issparse(a) else a for a in (data.X, data.y, data.X_test, data.y_test)))


# ---- cells


class Cells:
    """The finished cells of one CSV file: `keys` identify a cell, `values` are the results."""

    measures = True
    """Whether `run` does cells that are missing; not with `--draw`."""

    def __init__(self, path: Path, keys: Sequence[str], values: Sequence[str], fresh: bool = False) -> None:
        self.path, self.keys, self.values = path, list(keys), list(values)
        self.done: dict[tuple[str, ...], dict[str, float]] = {}
        if fresh:
            path.unlink(missing_ok=True)
        if path.exists():
            with path.open(newline="") as file:
                reader = csv.DictReader(file)
                if reader.fieldnames != self.keys + self.values:
                    raise SystemExit(f"{path} has columns {reader.fieldnames}: of another version? (--fresh)")
                for row in reader:
                    # A line that was cut short by an interruption is measured again.
                    if all(row[v] for v in self.values):
                        self.done[tuple(row[k] for k in self.keys)] = {v: float(row[v]) for v in self.values}
        if self.measures:
            self._write()

    def _write(self) -> None:
        with self.path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.keys + self.values)
            for key in sorted(self.done, key=_order):
                writer.writerow([*key, *(repr_short(self.done[key][v]) for v in self.values)])

    def run(
        self,
        wanted: Iterable[Key],
        work: Callable[..., dict[str, float]],
        n_jobs: int,
        given: Callable[[Key], tuple[Any, ...]] = lambda _: (),
    ) -> None:
        """Measures the wanted cells that are not finished yet, `n_jobs` at a time, each in its own process.

        `work` is called with the key of its cell and the arguments `given` for it.
        """
        todo = [key for key in wanted if _text(key) not in self.done]
        if not todo or not self.measures:
            return
        results = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            joblib.delayed(_one)(work, key, given(key)) for key in todo
        )
        self.add(results, len(todo))

    def add(self, results: Iterable[tuple[Key, dict[str, float]]], total: int) -> None:
        """Stores the results of `total` cells, each as soon as it is there."""
        start = time.perf_counter()
        with self.path.open("a", newline="") as file:
            writer, n = csv.writer(file), 0
            try:
                for n, (key, found) in enumerate(results, 1):
                    # As a later run reads them, so that tables do not depend on which run measured a cell.
                    self.done[_text(key)] = {v: float(repr_short(found[v])) for v in self.values}
                    writer.writerow([*_text(key), *(repr_short(found[v]) for v in self.values)])
                    file.flush()
                    took = time.perf_counter() - start
                    say(f"{n} of {total} cells, {took:.0f} s; last {' '.join(_text(key))}")
            finally:
                log_run(self.path, n, time.perf_counter() - start)
        say("")
        self._write()

    def of(self, value: str, **where: Any) -> list[float]:
        """`value` of the cells whose keys are those of `where`, in the order of their keys."""
        places = [(self.keys.index(k), str(v)) for k, v in where.items()]
        found = [key for key in self.done if all(key[i] == v for i, v in places)]
        return [self.done[key][value] for key in sorted(found, key=_order)]


def _one(work: Callable[..., dict[str, float]], key: Key, given: tuple[Any, ...]) -> tuple[Key, dict[str, float]]:
    return key, work(*key, *given)


def _text(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key))


def _order(key: tuple[str, ...]) -> list[tuple[bool, float, str]]:
    """A sort key that orders numbers by size, before words."""
    return [(False, float(k), "") if _is_number(k) else (True, 0.0, k) for k in key]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def repr_short(value: float) -> str:
    return f"{value:.6g}"


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n − 1), which is 0 for a single value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


# ---- what is written


RUN = ("cells_of", "cells", "seconds", "date", "commit", "engine", "machine", "cpu", "python", "weald", "packages")


def log_run(path: Path, cells: int, seconds: float) -> None:
    """One line of `runs.csv` beside the cells: how many were measured, when, where, and with which versions."""
    about = environment()
    packages = "; ".join(f"{name} {about['packages'][name]}" for name in ("scikit-learn", "numpy", "scipy"))
    known = {"cells_of": path.stem, "cells": cells, "seconds": f"{seconds:.0f}", "packages": packages}
    log = path.parent / "runs.csv"
    begins = not log.exists()
    with log.open("a", newline="") as file:
        writer = csv.writer(file)
        if begins:
            writer.writerow(RUN)
        writer.writerow([known.get(column, about.get(column)) for column in RUN])


def published(name: str) -> list[dict[str, str]]:
    """The rows of a table of published values."""
    with (HERE / "published" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    header = list(rows[0])
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for line in [header, *cells]:
        print("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip())
    print()


def greet(description: str) -> None:
    print(f"{description}\n{heading(environment())}\n", flush=True)
