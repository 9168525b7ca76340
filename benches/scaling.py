"""Seconds of fits on 1, 2, 4, … threads, weald only: `python benches/scaling.py --threads 1 2 4 8 16`.

Medians, with the seconds on one thread divided by them, and whether all fits predict the same bits. Two threads are meant
to be 1.8 times as fast as one. Data sets that are absent are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import continuous, named, smooth
from _harness import PLAIN_BOOSTING, AbsentDataError, Table, options, parser, ratios, spread, timed, told

ROUNDS = {**PLAIN_BOOSTING, "random_state": 0, "early_stopping": False}
LEAVES = {**ROUNDS, "n_estimators": 100, "max_leaf_nodes": 31}


def many_samples():
    """A million samples, ten for each of `smooth`, moved a little."""
    data = smooth()
    X = np.tile(data.X, (10, 1))
    return X + 0.1 * np.random.default_rng(1).normal(size=X.shape).astype(np.float32), np.tile(data.y, 10)


def many_outputs():
    """A hundred numbers for each sample of `smooth`."""
    data = smooth()
    return data.X, np.stack([data.y * np.cos(k) + data.X[:, k % 50] for k in range(100)], axis=1)


def fields(data):
    return data.X, data.y


def stored(name: str) -> Callable[[], Any]:
    return lambda: fields(named(name))


def forest(kind: str = "RandomForestClassifier", **parameters: Any) -> Any:
    return getattr(weald, kind)(**({"n_estimators": 64, "max_features": "sqrt", "random_state": 0} | parameters))


def boosting(kind: str = "Regressor", **parameters: Any) -> Any:
    said = {**PLAIN_BOOSTING, "random_state": 0, "early_stopping": False, "n_estimators": 100}
    return getattr(weald, f"GradientBoosting{kind}")(**(said | parameters))


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "boosting, 100 000 x 50, numbers": (lambda: fields(smooth()), boosting()),
    "boosting, 100 000 x 50, two classes": (lambda: fields(smooth(2)), boosting("Classifier")),
    "boosting, 1 000 000 x 50, numbers": (many_samples, boosting(n_estimators=20)),
    "boosting, 100 000 x 50, 100 outputs": (many_outputs, boosting(n_estimators=10, max_depth=6)),
    "boosting, bibtex": (stored("bibtex"), boosting("Classifier", n_estimators=20)),
    "boosting, delicious": (stored("delicious"), boosting("Classifier", n_estimators=20)),
    "random forest, 20newsgroup": (stored("20newsgroup"), forest()),
    "random forest, bibtex": (stored("bibtex"), forest()),
    "random forest, delicious": (stored("delicious"), forest()),
    "random forest, 50 000 x 30": (lambda: fields(continuous()), forest("RandomForestRegressor", max_features=10)),
    "extra-trees, 50 000 x 30": (lambda: fields(continuous()), forest("ExtraTreesRegressor")),
    "tree, 20newsgroup": (stored("20newsgroup"), weald.DecisionTreeClassifier(random_state=0)),
    "tree, delicious": (stored("delicious"), weald.DecisionTreeClassifier(random_state=0)),
    "tree, 50 000 x 30": (lambda: fields(continuous()), weald.DecisionTreeRegressor(random_state=0)),
}


def bits(model, X):
    predicted = model.predict(X[:200])
    return (predicted.toarray() if sp.issparse(predicted) else np.asarray(predicted)).tobytes()


def main() -> None:
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = options(common)
    table = Table("case | side | seconds | ratio | bits", texts=2)
    for name, (make, model) in CASES.items():
        if args.only not in name:
            continue
        try:
            X, y = make()
        except AbsentDataError as error:
            table.row(name, f"left out: {error.caught()}")
            continue
        seconds: dict[int, list[float]] = {n: [] for n in args.threads}
        predictions = {}
        for _ in range(args.repeat):
            for n in args.threads:
                model.set_params(n_jobs=n)
                seconds[n].append(timed(lambda model=model, X=X, y=y: model.fit(X, y), time.perf_counter)[0])
                predictions[n] = bits(model, X)
        first = args.threads[0]
        for n, found in seconds.items():
            ratio = "" if n == first else told(ratios(seconds[first], found))
            same = "same" if predictions[n] == predictions[first] else "DIFFERENT PREDICTIONS"
            table.row(name, f"{n} threads", spread(found), ratio, same)


if __name__ == "__main__":
    main()
