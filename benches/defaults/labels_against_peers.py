"""Labels: all libraries at their defaults, and boosting that starts from a linear model.

    python benches/defaults/labels_against_peers.py results.jsonl [--sets medical scene] [--only weald xgboost]

One thread. Every method is fitted to the training part as it is stored, and ranks the labels of the test part;
nothing is tuned. A line of `results.jsonl` is one fit: data set, method, label ranking average precision, precision
at 1, log loss (mean over values), processor seconds of `fit`, versions, commit. `--report` prints tables of the
results, with mean ranks over the data sets for which every method has a result.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
import _data as data
import _records
from _scores import ranking_precision

SETS = (
    "emotions", "scene", "medical", "mediamill_sample", "corel5k", "yahoo_arts", "reuters21578_r90", "rcv1sub1",
    "bibtex", "goemotions",
)  # fmt: skip
# Wider X is too large for libraries that need it dense.
MOST_DENSE_FEATURES = 3000

Scores = np.ndarray
Method = Callable[[Any, Any, Any], tuple[float, Scores]]


def timed(model: Any, X: Any, y: Any) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def boosting(**params: Any) -> Method:
    def run(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
        model = weald.GradientBoostingClassifier(random_state=0, **params)
        return timed(model, X, y), model.decision_function(X_test)

    return run


def forest(make: Callable[[], Any]) -> Method:
    """Frequencies as scores: their log-odds, clipped to be finite."""

    def run(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
        model = make()
        seconds = timed(model, X, y if type(model).__module__.startswith("weald") else _dense(y))
        proba = model.predict_proba(X_test)
        if isinstance(proba, list):
            # A label that never occurs has a single class.
            proba = np.column_stack([p[:, 1] if p.shape[1] == 2 else np.zeros(len(p)) for p in proba])
        p = np.clip(proba, 1e-3, 1 - 1e-3)
        return seconds, np.log(p) - np.log1p(-p)

    return run


def linear() -> Any:
    return OneVsRestClassifier(LogisticRegression(solver="liblinear"))


def one_vs_rest(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
    model = linear()
    seconds = timed(model, X, sp.csr_array(y))
    # Not `decision_function`, which is 0 for labels that never occur.
    p = np.clip(model.predict_proba(X_test), 1e-6, 1 - 1e-6)
    return seconds, np.log(p) - np.log1p(-p)


def xgboost(strategy: str) -> Method:
    def run(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
        from xgboost import XGBClassifier

        model = XGBClassifier(multi_strategy=strategy, n_jobs=1)
        seconds = timed(model, X, _dense(y))
        return seconds, model.predict(X_test, output_margin=True)

    return run


def each_label(make: Callable[[], Any], *, dense: bool) -> Method:
    def run(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
        if dense and X.shape[1] > MOST_DENSE_FEATURES:
            raise ValueError("X is too wide to be dense")
        X, X_test = (part.toarray() if dense and sp.issparse(part) else part for part in (X, X_test))
        y = _dense(y)
        varies = np.flatnonzero(y.any(axis=0) & ~y.all(axis=0))
        model = MultiOutputClassifier(make())
        seconds = timed(model, X, y[:, varies])
        scores = np.full((X_test.shape[0], y.shape[1]), -10.0)
        p = np.column_stack([p[:, 1] for p in model.predict_proba(X_test)])
        p = np.clip(p, 1e-6, 1 - 1e-6)
        scores[:, varies] = np.log(p) - np.log1p(-p)
        return seconds, scores

    return run


def boomer(X: Any, y: Any, X_test: Any) -> tuple[float, Scores]:
    from mlrl.boosting import BoomerClassifier

    model = BoomerClassifier()
    seconds = timed(model, X, _dense(y))
    p = np.clip(np.asarray(model.predict_proba(X_test)), 1e-6, 1 - 1e-6)
    return seconds, np.log(p) - np.log1p(-p)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


METHODS: dict[str, Method] = {
    "weald boosting": boosting(),
    "weald boosting, 300 rounds": boosting(n_estimators=300),
    "weald from a linear start": boosting(init=linear()),
    "weald forest": forest(lambda: weald.RandomForestClassifier(random_state=0)),
    "weald extra-trees": forest(lambda: weald.ExtraTreesClassifier(random_state=0)),
    "logistic regression": one_vs_rest,
    "scikit-learn forest": forest(lambda: RandomForestClassifier(random_state=0)),
    "scikit-learn extra-trees": forest(lambda: ExtraTreesClassifier(random_state=0)),
    "XGBoost, a tree a label": xgboost("one_output_per_tree"),
    "XGBoost, vector leaf": xgboost("multi_output_tree"),
    "LightGBM, one a label": each_label(_lightgbm, dense=False),
    "HistGradientBoosting, one a label": each_label(lambda: HistGradientBoostingClassifier(), dense=True),
    "BOOMER": boomer,
}


def _dense(y: Any) -> np.ndarray:
    return np.asarray(y.toarray() if sp.issparse(y) else y).astype(np.int8)


def measure(name: str, method: str) -> dict[str, Any]:
    d = data.named(name)
    X, X_test = (sp.csr_matrix(part) if sp.issparse(part) else part for part in (d.X, d.X_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, scores = METHODS[method](X, d.y, X_test)
    y = _dense(d.y_test)
    scores = np.asarray(scores, dtype=np.float64)
    p = np.clip(expit(scores), 1e-6, 1 - 1e-6)
    first = scores.argmax(axis=1)
    return {
        "lrap": ranking_precision(scores, y),
        "p1": float(y[np.arange(len(y)), first].mean()),
        "log_loss": float(-np.where(y, np.log(p), np.log1p(-p)).mean()),
        "seconds": seconds,
    }


def report(lines: list[dict[str, Any]]) -> None:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for line in lines:
        found[line["set"]][line["method"]] = line
    methods = [method for method in METHODS if any(method in of_set for of_set in found.values())]
    for score, sign in (("lrap", 1), ("p1", 1), ("log_loss", -1), ("seconds", -1)):
        print(f"\n{score} | " + " | ".join(methods))
        for name, of_set in found.items():
            values = [of_set[m][score] if m in of_set and score in of_set[m] else None for m in methods]
            print(f"{name} | " + " | ".join("" if v is None else f"{v:.4g}" for v in values))
        whole = [of_set for of_set in found.values() if all(m in of_set and score in of_set[m] for m in methods)]
        if whole:
            values = sign * np.array([[of_set[m][score] for m in methods] for of_set in whole])
            ranks = 1 + (values[:, np.newaxis, :] > values[:, :, np.newaxis]).sum(axis=2)
            means = " | ".join(f"{rank:.1f}" for rank in ranks.mean(axis=0))
            print(f"mean rank, {len(whole)} sets | {means}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--only", nargs="+", default=[], help="methods whose names contain one of these")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.report:
        return report([json.loads(line) for line in args.results.read_text().splitlines()])
    done = {(line["set"], line["method"]) for line in _records.read(args.results)}
    for name in args.sets:
        for method in METHODS:
            if (name, method) in done or (args.only and not any(part in method for part in args.only)):
                continue
            try:
                found = measure(name, method)
            except (ImportError, ValueError) as error:
                found = {"error": str(error)[:200]}
            _records.append(args.results, {"set": name, "method": method, **found})
            print(name, method, json.dumps(found), flush=True)
    return None


if __name__ == "__main__":
    main()
