"""Precision at 1, 3 and 5 on delicious and bibtex against the best published of trees; seconds and bytes of the model.

Settings are chosen on a quarter of the training samples (`--choose` prints the scores of each candidate there, fitted
to the other three quarters). The chosen model is then fitted to all training samples, its leaves are rounded to eight
bits (`compact_leaves`), and the test part is scored once. Seconds are processor seconds on one thread, of `fit` on X
as CSC, as stored; bytes are those of the model file. With a "start", boosting starts from margins of logistic
regressions of that strength that were fitted without the sample (`_linear_start.py`), whose seconds and bytes count.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _data import named
from _harness import PLAIN_BOOSTING
from _linear_start import Linear, Words, halves
from _records import append, environment, heading
from _scores import ranking_precision
from threadpoolctl import threadpool_limits
from weald.compression import compact_leaves
from weald.metrics import precision_at_k

# Precision at 1, 3, 5; seconds; megabytes.
AIMS = {
    "delicious": (0.705, 0.640, 0.592, 60.0, 50.0),
    "bibtex": (0.660, 0.405, 0.295, 15.0, np.inf),
}
Settings = dict[str, Any]
CANDIDATES: dict[str, list[Settings]] = {
    "delicious": [
        {"n_estimators": 300, "max_leaf_nodes": 64, "l2_regularization": 10.0},
        {"n_estimators": 200, "max_leaf_nodes": 256, "l2_regularization": 10.0},
        {"n_estimators": 360, "max_leaf_nodes": 128, "l2_regularization": 20.0, "n_projections": 7},
        {"n_estimators": 190, "max_leaf_nodes": 256, "l2_regularization": 20.0, "n_projections": 3},
        {"n_estimators": 190, "max_leaf_nodes": 256, "l2_regularization": 10.0, "n_projections": 25}
        | {"max_features": "sqrt", "min_samples_leaf": 3},
        {"n_estimators": 190, "max_leaf_nodes": 256, "loss": "squared_error", "n_projections": 25}
        | {"max_features": "sqrt"},
    ],
    "bibtex": [
        *(
            {"start": C, "n_estimators": rounds} | shape
            for C in (3.0, 10.0)
            for rounds in (100, 200)
            for shape in (
                {"max_leaf_nodes": 31, "l2_regularization": 5.0, "min_samples_leaf": 1},
                {"max_leaf_nodes": 128, "l2_regularization": 20.0, "n_projections": 3},
            )
        ),
        {"n_estimators": 300, "max_leaf_nodes": 64},
        {"n_estimators": 300, "max_leaf_nodes": 64, "l2_regularization": 5.0},
        {"n_estimators": 900, "max_leaf_nodes": 64, "l2_regularization": 10.0, "learning_rate": 0.05},
        {"n_estimators": 600, "max_leaf_nodes": 128, "l2_regularization": 20.0},
        {"n_estimators": 500, "max_leaf_nodes": 128, "l2_regularization": 10.0, "n_projections": 3}
        | {"min_samples_leaf": 3},
    ],
}
# The best settings by `--choose` within the seconds and bytes.
CHOSEN = {"delicious": 2, "bibtex": 5}


def model(settings: Settings) -> Any:
    said = PLAIN_BOOSTING | {"output_strategy": "projected", "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}
    return weald.GradientBoostingClassifier(**(said | {k: v for k, v in settings.items() if k != "start"}))


def measure(settings: Settings, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    X, X_test = sp.csc_matrix(X), sp.csr_matrix(X_test)
    margins, margins_test, linear_bytes = None, None, 0
    start = time.process_time()
    if C := settings.get("start"):
        words = Words().fit(sp.csr_array(X))
        A = words.transform(sp.csr_array(X))
        labels = sp.csr_array(y)
        margins, linear = halves(A, labels, C), Linear(C).fit(A, labels)
    fitted = model(settings).fit(X, y, base_margin=margins)
    seconds = time.process_time() - start
    if C:
        margins_test = linear.decision_function(words.transform(sp.csr_array(X_test)))
        linear_bytes = linear.coef_.nbytes
    small, report = compact_leaves(fitted, dtype="int8")
    scores = small.decision_function(X_test, base_margin=margins_test)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        weald.save(small, path)
        n_bytes = path.stat().st_size + linear_bytes
    found = {f"p{k}": float(precision_at_k(y_test, scores, k=k)) for k in (1, 3, 5)}
    return found | {
        "seconds": seconds,
        "megabytes": n_bytes / 1e6,
        "megabytes_before": report["n_bytes_before"] / 1e6,
        "lrap": ranking_precision(scores, y_test),
    }


def line(found: dict[str, float]) -> str:
    return (
        f"p@1/3/5 {found['p1']:.4f} / {found['p3']:.4f} / {found['p5']:.4f}   LRAP {found['lrap']:.4f}   "
        f"{found['seconds']:.1f} s   {found['megabytes']:.1f} MB (leaves not rounded {found['megabytes_before']:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, help="fits that the seconds are the median of (3, with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rounds: indicative only")
    parser.add_argument("--only", default="", help="sets whose name contains this")
    parser.add_argument("--choose", action="store_true", help="candidates on a quarter of the training rows, no test")
    parser.add_argument("--json", type=Path)
    args, _ = parser.parse_known_args()
    threadpool_limits(1)
    repeat = args.repeat or (1 if args.quick else 3)
    print(f"{__doc__.splitlines()[0]}\n{heading(environment())}\n", flush=True)
    for name, aims in AIMS.items():
        if args.only not in name:
            continue
        data = named(name)
        X, y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
        if args.choose:
            rows = np.random.default_rng(0).permutation(X.shape[0])
            held, kept = np.sort(rows[: len(rows) // 4]), np.sort(rows[len(rows) // 4 :])
            for i, settings in enumerate(CANDIDATES[name]):
                found = measure(settings, X[kept], y[kept], X[held], y[held])
                print(f"{name} {i}{' chosen' if i == CHOSEN[name] else ''}: {line(found)}   {settings}", flush=True)
            continue
        settings = dict(CANDIDATES[name][CHOSEN[name]])
        if args.quick:
            settings["n_estimators"] //= 20
        runs = [measure(settings, X, y, data.X_test, data.y_test) for _ in range(repeat)]
        found = runs[0] | {"seconds": statistics.median(run["seconds"] for run in runs)}
        reached = [found[key] for key in ("p1", "p3", "p5")]
        met = [value >= aim for value, aim in zip(reached, aims, strict=False)]
        met += [found["seconds"] <= aims[3], found["megabytes"] <= aims[4]]
        verdict = ", ".join(
            f"{what} {aim:g}: {'met' if ok else 'MISSED'}"
            for what, aim, ok in zip(("p@1", "p@3", "p@5", "seconds", "MB"), aims, met, strict=True)
            if aim < np.inf
        )
        print(f"{name}: {line(found)}\n  {settings}\n  {verdict}", flush=True)
        if args.json:
            append(args.json, {"set": name, "settings": settings, "runs": runs})


if __name__ == "__main__":
    main()
