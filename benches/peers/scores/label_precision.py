"""Precision at 1, 3 and 5 on delicious and bibtex against the best published of trees; seconds and bytes of the model.

Settings are chosen on a quarter of the training samples (`--choose` prints the scores of each candidate there, fitted
to the other three quarters). The chosen model is then fitted to all training samples, its leaves are rounded to eight
bits (`compact_leaves`), and the test part is scored once. Seconds are processor seconds on one thread, of `fit` on X
as CSC, as stored; bytes are those of the model file. With a "start", boosting starts from margins of logistic
regressions of that strength that were fitted without the sample (`_linear_start.py`), whose seconds and bytes count.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from threadpoolctl import threadpool_limits
from weald.compression import compact_leaves
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import PLAIN_BOOSTING, Table, met, options, parser, spread, timed
from _linear_start import Linear, Words, halves
from _records import append
from _scores import ranking_precision
from text_recipe import parts
from weald.projection import Projected

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
        {
            "n_estimators": 360,
            "max_leaf_nodes": 128,
            "l2_regularization": 20.0,
            "output_strategy": Projected(n_projections=7),
        },
        {
            "n_estimators": 190,
            "max_leaf_nodes": 256,
            "l2_regularization": 20.0,
            "output_strategy": Projected(n_projections=3),
        },
        {
            "n_estimators": 190,
            "max_leaf_nodes": 256,
            "l2_regularization": 10.0,
            "output_strategy": Projected(n_projections=25),
        }
        | {"max_features": "sqrt", "min_samples_leaf": 3},
        {
            "n_estimators": 190,
            "max_leaf_nodes": 256,
            "loss": "squared_error",
            "output_strategy": Projected(n_projections=25),
        }
        | {"max_features": "sqrt"},
    ],
    "bibtex": [
        *(
            {"start": C, "n_estimators": rounds} | shape
            for C in (3.0, 10.0)
            for rounds in (100, 200)
            for shape in (
                {"max_leaf_nodes": 31, "l2_regularization": 5.0, "min_samples_leaf": 1},
                {"max_leaf_nodes": 128, "l2_regularization": 20.0, "output_strategy": Projected(n_projections=3)},
            )
        ),
        {"n_estimators": 300, "max_leaf_nodes": 64},
        {"n_estimators": 300, "max_leaf_nodes": 64, "l2_regularization": 5.0},
        {"n_estimators": 900, "max_leaf_nodes": 64, "l2_regularization": 10.0, "learning_rate": 0.05},
        {"n_estimators": 600, "max_leaf_nodes": 128, "l2_regularization": 20.0},
        {
            "n_estimators": 500,
            "max_leaf_nodes": 128,
            "l2_regularization": 10.0,
            "output_strategy": Projected(n_projections=3),
        }
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
    C, margins_test, linear_bytes = settings.get("start"), None, 0

    def fit() -> Any:
        if not C:
            return None, None, model(settings).fit(X, y)
        words = Words().fit(sp.csr_array(X))
        A, labels = words.transform(sp.csr_array(X)), sp.csr_array(y)
        margins, linear = halves(A, labels, C), Linear(C).fit(A, labels)
        return words, linear, model(settings).fit(X, y, base_margin=margins)

    seconds, (words, linear, fitted) = timed(fit)
    if C:
        margins_test = linear.decision_function(words.transform(sp.csr_array(X_test)))
        linear_bytes = linear.coef_.nbytes
    small, report = compact_leaves(fitted, dtype="int8")
    scores = small.decision_function(X_test, base_margin=margins_test)
    n_bytes = len(weald.dumps(small)) + linear_bytes
    found = {f"p{k}": float(precision_at_k(y_test, scores, k=k)) for k in (1, 3, 5)}
    return found | {
        "seconds": seconds,
        "megabytes": n_bytes / 1e6,
        "megabytes_before": report["n_bytes_before"] / 1e6,
        "lrap": ranking_precision(scores, y_test),
    }


def row(table: Table, name: str, settings: Settings, runs: list[dict[str, float]], aims: str = "") -> None:
    precisions = " / ".join(f"{runs[0][key]:.4f}"[1:] for key in ("p1", "p3", "p5"))
    size = f"{runs[0]['megabytes']:.1f} (leaves not rounded {runs[0]['megabytes_before']:.1f})"
    seconds = spread([run["seconds"] for run in runs])
    table.row(name, settings, seconds, size, precisions, f"{runs[0]['lrap']:.4f}"[1:], aims)


def main() -> None:
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("--choose", action="store_true", help="candidates on a quarter of the training rows, no test")
    args = options(common)
    threadpool_limits(1)
    table = Table("case | side | seconds | model, MB | precision at 1 / 3 / 5 | LRAP | aim", texts=2)
    for name, aims in AIMS.items():
        if args.only not in name:
            continue
        data = named(name)
        X, y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
        if args.choose:
            kept, held = parts(X.shape[0])
            for i, settings in enumerate(CANDIDATES[name]):
                found = measure(settings, X[kept], y[kept], X[held], y[held])
                row(table, f"{name} {i}, held out{', chosen' if i == CHOSEN[name] else ''}", settings, [found])
            continue
        settings = dict(CANDIDATES[name][CHOSEN[name]])
        if args.quick:
            settings["n_estimators"] //= 20
        runs = [measure(settings, X, y, data.X_test, data.y_test) for _ in range(args.repeat)]
        reached = [runs[0][key] >= aim for key, aim in zip(("p1", "p3", "p5"), aims, strict=False)]
        reached += [float(np.median([run["seconds"] for run in runs])) <= aims[3], runs[0]["megabytes"] <= aims[4]]
        verdict = "; ".join(
            f"{what} {aim:g}: {met(ok)}"
            for what, aim, ok in zip(("p@1", "p@3", "p@5", "s", "MB"), aims, reached, strict=True)
            if aim < np.inf
        )
        row(table, name, settings, runs, verdict)
        if args.json:
            append(args.json, {"set": name, "settings": settings, "runs": runs})


if __name__ == "__main__":
    main()
