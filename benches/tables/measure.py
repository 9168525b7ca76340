"""Measures libraries at their defaults, and settings of weald, on the tables of `_tables`.

    python benches/tables/measure.py results.jsonl                                   # everything that is missing
    python benches/tables/measure.py results.jsonl --tables mulan                    # ten sets of the data folder, ten folds
    python benches/tables/measure.py settings.jsonl --tables choosing --methods '^weald boosting' --weald '{"subsample": 0.7}'
    python benches/tables/report.py results.jsonl

One line of JSON for each table, split and method: scores on the held-out samples, processor seconds of the fit and of the
prediction, and the peak memory of the fit. What is in the file already is not measured again, and the file takes
measurements of one machine and of one build only (`_records`).

The splits are the same for each method, and classes have the same shares on both sides of each. At most 500 rows: five
folds, three times. At most 5 000: five folds once. At most 20 000: three draws of a fifth as test part. More: two draws.
The sets of Mulan: ten folds.

Scores: of numbers, the root of the squared errors ÷ those of the mean of the training samples (relative RMSE), and its
mean over the outputs (aRRMSE); only known outputs count. Of classes, log loss with probabilities of at least 10⁻⁶,
accuracy, and for two classes the area under the ROC curve.

Each table and method is run in a process of its own with one thread, tables with the least values first.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

# Before numpy is imported, as libraries read these numbers when they are loaded.
os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

import _records
import numpy as np
from _harness import AbsentDataError, peak, reset_peak, resident
from _methods import METHODS, MODULES, unfitted
from _more_numbers import MORE_NUMBERS
from _tables import CHOOSING, JUDGING, KEEL, MULAN, TABLES, AbsentPackageError, Table
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

LEAST_PROBABILITY = 1e-6
GROUPS = {
    "all": [*TABLES],
    "choosing": CHOOSING,
    "judging": JUDGING,
    "mulan": [*MULAN],
    "keel": [*KEEL],
    "numbers": [*MORE_NUMBERS],
}


def splits(table: Table, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The samples of the fits, and those that are held out."""
    n, classes = len(y), table.classes
    if table.name in MULAN:
        chooser: Any = KFold(10, shuffle=True, random_state=0)
    elif n <= 500:
        chooser = (RepeatedStratifiedKFold if classes else RepeatedKFold)(n_splits=5, n_repeats=3, random_state=0)
    elif n <= 5_000:
        chooser = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    else:
        draws = 3 if n <= 20_000 else 2
        chooser = (StratifiedShuffleSplit if classes else ShuffleSplit)(draws, test_size=0.2, random_state=0)
    yield from chooser.split(np.zeros(n), y if classes else None)


def scores_of_numbers(predicted: np.ndarray, y: np.ndarray, y_fitted: np.ndarray) -> dict[str, Any]:
    predicted, y, y_fitted = (np.asarray(a, dtype=np.float64).reshape(len(a), -1) for a in (predicted, y, y_fitted))
    errors = np.nansum((y - predicted) ** 2, axis=0)
    of_mean = np.nansum((y - np.nanmean(y_fitted, axis=0)) ** 2, axis=0)
    # An output without spread in the test part has no relative error.
    each = np.sqrt(errors[of_mean > 0] / of_mean[of_mean > 0])
    return {"aRRMSE": float(each.mean()), "RRMSE": each.tolist()}


def scores_of_classes(found: np.ndarray, classes: np.ndarray, y: np.ndarray, n_classes: int) -> dict[str, Any]:
    p = np.zeros((len(y), n_classes))
    p[:, np.asarray(classes, dtype=int)] = found
    accuracy = float(accuracy_score(y, p.argmax(axis=1)))
    area = {"AUC": float(roc_auc_score(y, p[:, 1]))} if n_classes == 2 else {}
    p = np.clip(p, LEAST_PROBABILITY, None)
    p /= p.sum(axis=1, keepdims=True)
    return {"log loss": float(log_loss(y, p, labels=np.arange(n_classes))), "accuracy": accuracy, **area}


def measured(
    table: Table, method: str, parameters: dict[str, Any], X: Any, y: np.ndarray, split: Any, number: int
) -> Any:
    """Fit and score one split."""
    fitted, held = split
    X_fitted, X_held, y_fitted = X.iloc[fitted], X.iloc[held], y[fitted]
    model = unfitted(method, table.classes, number, y, parameters)
    honest = reset_peak()
    before, start = resident(), time.process_time()
    model.fit(X_fitted, y_fitted)
    seconds = time.process_time() - start
    memory = peak() - before if honest else None
    start = time.process_time()
    predicted = np.asarray(model.predict_proba(X_held) if table.classes else model.predict(X_held))
    predicting = time.process_time() - start
    if table.classes:
        scores = scores_of_classes(predicted, model.classes_, y[held], int(y.max()) + 1)
    else:
        scores = scores_of_numbers(predicted, y[held], y_fitted)
    return {"seconds": seconds, "seconds_predict": predicting, "peak_bytes": memory, "scores": scores}


def name_of(method: str, parameters: dict[str, Any]) -> str:
    return f"{method} {json.dumps(parameters, sort_keys=True)}" if parameters else method


def run(
    path: Path,
    table: Table,
    method: str,
    parameters: dict[str, Any],
    X: Any,
    y: np.ndarray,
    missing: dict[int, tuple[np.ndarray, np.ndarray]],
) -> None:
    """The missing splits of one method on one table; the process of `in_turn`."""
    warnings.simplefilter("ignore")
    name = name_of(method, parameters)
    for number, split in missing.items():
        row = {"table": table.name, "kind": table.kind, "rows": table.rows, "split": number, "method": name}
        try:
            row |= measured(table, method, parameters, X, y, split, number)
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"[:300]
            traceback.print_exc()
        _records.append(path, row)


def in_turn(
    args: argparse.Namespace, table: Table, contenders: list[tuple[str, dict[str, Any]]], done: set[Any]
) -> None:
    try:
        X, y = table.load()
    except AbsentPackageError as error:
        print(f"{table.name} left out: {error}", flush=True)
        return
    except AbsentDataError as error:
        print(f"{table.name} left out: {error.caught()}", flush=True)
        return
    y = y.to_numpy()
    wanted = dict(enumerate(islice(splits(table, y), args.splits)))
    # A process of its own for each method, so that memory is its own and an end without an exception ends one method.
    fork = multiprocessing.get_context("fork")
    for method, parameters in contenders:
        name = name_of(method, parameters)
        missing = {number: split for number, split in wanted.items() if (table.name, number, name) not in done}
        if not missing:
            continue
        start = time.perf_counter()
        worker = fork.Process(target=run, args=(args.path, table, method, parameters, X, y, missing))
        worker.start()
        worker.join()
        end = "" if worker.exitcode == 0 else f", ended with {worker.exitcode}"
        print(f"{table.name:16s} {name:40s} {time.perf_counter() - start:7.1f} s{end}", flush=True)


def tables(names: list[str]) -> list[Table]:
    """Named tables and groups, those with the least values first."""
    known = TABLES | MULAN | KEEL | MORE_NUMBERS
    wanted: set[str] = set()
    for name in names:
        if name not in GROUPS and name not in known:
            raise SystemExit(f"there is no table and no group {name!r}; groups are {', '.join(GROUPS)}")
        wanted |= set(GROUPS.get(name, [name]))
    return sorted((known[name] for name in wanted), key=lambda table: (table.rows * len(table.outputs), table.name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="file of results, one line of JSON each; it is continued")
    parser.add_argument("--tables", nargs="*", default=["all"], help=f"names of tables, or {', '.join(GROUPS)}")
    parser.add_argument("--methods", default="", help="methods whose name this regular expression finds")
    parser.add_argument(
        "--weald", action="append", default=[], type=json.loads, metavar="JSON",
        help="parameters of weald's boosting, measured beside the defaults; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--catboost", action="append", default=[], type=json.loads, metavar="JSON",
        help='the same for CatBoost; {"loss_function": "MultiRMSE"} is one model of all outputs',
    )  # fmt: skip
    parser.add_argument("--splits", type=int, help="only the first splits of each table, this many")
    args = parser.parse_args()
    absent = {name for name, module in MODULES.items() if find_spec(module) is None}
    contenders = [(name, {}) for name in METHODS if re.search(args.methods, name) and name not in absent]
    contenders += [("weald boosting", parameters) for parameters in args.weald]
    contenders += [("CatBoost", parameters) for parameters in args.catboost]
    if absent:
        print(f"not installed: {', '.join(sorted(absent))}")
    print(_records.heading(_records.environment()), flush=True)
    done = {(row["table"], row["split"], row["method"]) for row in _records.read(args.path)}
    for table in tables(args.tables):
        in_turn(args, table, contenders, done)


if __name__ == "__main__":
    main()
