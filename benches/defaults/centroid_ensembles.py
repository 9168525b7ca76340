"""Centroid trees as stages of boosting, and means of a centroid forest with other models: do they improve the ranking?

`python benches/defaults/centroid_ensembles.py` prints precision at 1, 3 and 5 on a third of the training samples of
each data set, for models that are fitted to the other samples. A stage of boosting is one centroid tree (means of
residuals, nearest child) fitted to the gradients of the log losses of all labels, times a step; weald's boosting at
its defaults is listed for comparison. Means are means of probabilities, and of the ranks within each sample.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.feature_extraction.text import TfidfTransformer
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
import _data

SETS = ["delicious", "bibtex", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "medical"]


def parts(name: str) -> tuple[Any, ...]:
    """X and Y of the fitted part and of the held-out third."""
    data = _data.named(name)
    X, Y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
    order = np.random.default_rng(1).permutation(X.shape[0])
    kept, held = np.split(order, [2 * len(order) // 3])
    if (X.data % 1 == 0).all():
        X = TfidfTransformer(sublinear_tf=True).fit(X[kept]).transform(X)
    X = X.astype(np.float32)
    return X[kept], Y[kept], X[held], Y[held]


def probabilities(model: Any, X: Any) -> Any:
    found = model.predict_proba(X)
    return found if isinstance(found, np.ndarray) else np.stack([p[:, -1] for p in found], axis=1)


def boosted(X: Any, Y: Any, X_test: Any, n_stages: int, step: float) -> Any:
    """Scores of boosted centroid trees: log-odds of the labels first, then means of residuals divided by their
    variance."""
    dense = Y.toarray().astype(np.float64)
    start = np.log((dense.mean(axis=0) + 1e-6) / (1 - dense.mean(axis=0) + 1e-6))
    scores, test = np.tile(start, (len(dense), 1)), np.tile(start, (X_test.shape[0], 1))
    for stage in range(n_stages):
        p = 1 / (1 + np.exp(-scores))
        tree = weald.CentroidForestRegressor(1, idf=False, max_leaf_samples=20, random_state=stage, n_jobs=1)
        tree.fit(X, dense - p)
        gain = 1.0 / np.maximum((p * (1 - p)).mean(axis=0), 1e-3)
        scores += step * np.clip(tree.predict(X) * gain, -4, 4)
        test += step * np.clip(tree.predict(X_test) * gain, -4, 4)
    return test


def ranks(scores: Any) -> Any:
    return scores.argsort(axis=1).argsort(axis=1) / scores.shape[1]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=SETS)
    parser.add_argument("--stages", type=int, default=50)
    options = parser.parse_args()
    print("| set | way | precision at 1 / 3 / 5 | s |\n|---|---|--:|--:|")
    for name in options.only or SETS:
        X, Y, X_test, Y_test = parts(name)
        found: dict[str, Any] = {}

        def show(way: str, scores: Any, took: float, name: str = name, Y_test: Any = Y_test) -> None:
            at = " / ".join(f"{precision_at_k(Y_test, scores, k):.3f}"[1:] for k in (1, 3, 5))
            print(f"| {name} | {way} | {at} | {took:.3g} |", flush=True)

        for way, model in {
            "centroid forest": weald.CentroidForestClassifier(idf=False, random_state=0, n_jobs=1),
            "random forest": weald.RandomForestClassifier(random_state=0, n_jobs=1),
            "boosting": weald.GradientBoostingClassifier(random_state=0, n_jobs=1),
        }.items():
            start = time.process_time()
            found[way] = probabilities(model.fit(X, Y), X_test)
            show(way, found[way], time.process_time() - start)
        for other in ("random forest", "boosting"):
            show(f"mean with {other}", found["centroid forest"] + found[other], 0)
            show(f"mean of ranks with {other}", ranks(found["centroid forest"]) + ranks(found[other]), 0)
        for step in (0.1, 0.3):
            start = time.process_time()
            scores = boosted(X, Y, X_test, options.stages, step)
            show(f"{options.stages} stages of centroid trees, step {step}", scores, time.process_time() - start)


if __name__ == "__main__":
    main()
