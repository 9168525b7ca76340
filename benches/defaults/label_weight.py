"""The effect of label weights on rankings: precision of all labels alike, and precision that counts rare labels more.

    python benches/defaults/label_weight.py [--model forest] [--trees 50] [--only bibtex ...]

Random forests, or boosting with trees that labels share, with default parameters except `label_weight`, are fitted to
the training part of each data set and scored on the test part: precision and propensity-scored precision at 1, 3 and
5, macro F1 with tuned thresholds, and the share of labels that are correct among the first five at least once.
Thresholds of forests are tuned on out-of-bag scores; boosting is fitted to four fifths of the training part, and its
thresholds are tuned on the last fifth. One seed, one thread, processor seconds of the fit.
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
from sklearn.frozen import FrozenEstimator
from weald.metrics import label_coverage_at_k, macro_f1, precision_at_k, propensities, psp_at_k
from weald.multilabel import TunedThresholds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
from weald.projection import Projected

SETS = ["bibtex", "delicious", "rcv1sub1", "reuters21578_r90", "goemotions", "yahoo_arts", "medical", "corel5k"]
WEIGHTS = [None, "balanced", "propensity"]
RANKS = (1, 3, 5)
BOOSTING = {
    "projected": {},
    "joint": {"output_strategy": "joint"},
    "one number": {"output_strategy": Projected(relabel_leaves=False)},
    "four projections": {"output_strategy": Projected(n_projections=4)},
}


def forest(X: Any, y: Any, weight: Any, trees: int) -> tuple[Any, Any, float]:
    """The model, the same model with tuned thresholds, and the seconds of its fit."""
    start = time.process_time()
    tuned = TunedThresholds(
        weald.RandomForestClassifier(trees, label_weight=weight, random_state=0), objective="macro_f1"
    ).fit(X, y)
    return tuned.estimator_, tuned, time.process_time() - start


def boosting(X: Any, y: Any, weight: Any, trees: int, **params: Any) -> tuple[Any, Any, float]:
    """The same for boosting."""
    held = np.random.default_rng(0).permutation(len(y.indptr) - 1)
    rest, fifth = held[len(held) // 5 :], held[: len(held) // 5]
    params = {"n_estimators": trees, "label_weight": weight, "random_state": 0, "output_strategy": "projected"} | params
    start = time.process_time()
    model = weald.GradientBoostingClassifier(**params).fit(X[rest], y[rest])
    seconds = time.process_time() - start
    tuned = TunedThresholds(FrozenEstimator(model), objective="macro_f1").fit(X[fifth], y[fifth])
    return model, tuned, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["forest", *BOOSTING], default="forest")
    parser.add_argument("--trees", type=int, default=50, help="trees, or stages of boosting")
    parser.add_argument("--only", choices=SETS, nargs="+", default=SETS)
    arguments = parser.parse_args()
    print(f"weald {weald.__version__}, {arguments.model}")
    print("| set | label_weight | precision at 1 / 3 / 5 | propensity-scored | macro F1 | labels found | seconds |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name in arguments.only:
        data = _data.named(name)
        X, X_test, y, y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
        p = propensities(y)
        for weight in WEIGHTS:
            fit, params = (forest, {}) if arguments.model == "forest" else (boosting, BOOSTING[arguments.model])
            model, tuned, seconds = fit(X, y, weight, arguments.trees, **params)
            found = model.predict_topk(X_test, max(RANKS))
            plain = [precision_at_k(y_test, found, k) for k in RANKS]
            scored = [psp_at_k(y_test, found, k, propensities=p) for k in RANKS]
            cells = [" / ".join(f"{value:.3f}" for value in values) for values in (plain, scored)]
            cells += [f"{macro_f1(y_test, tuned.predict(X_test)):.3f}"]
            cells += [f"{label_coverage_at_k(y_test, found, max(RANKS)):.3f}", f"{seconds:.1f}"]
            print(f"| {name} | {weight} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
