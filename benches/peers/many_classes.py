"""Softmax of 100 and 300 classes: seconds for a round against LightGBM, at the defaults of both (31 leaves).

20 000 samples with 50 features, 30 of them informative, and one cluster for each class. LightGBM grows a tree for each
class. The seconds for a round are the difference between two fits with different numbers of rounds: processor seconds,
one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import weald
from _harness import PLAIN_BOOSTING
from _records import environment, heading
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits


def a_round(make: Callable[[int], Any], X: np.ndarray, y: np.ndarray, few: int, more: int) -> float:
    took = []
    for rounds in (few, more):
        start = time.process_time()
        make(rounds).fit(X, y)
        took.append(time.process_time() - start)
    return (took[1] - took[0]) / (more - few)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, help="measurements of each side (3, with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="100 classes alone, once")
    args, _ = parser.parse_known_args()
    threadpool_limits(1)
    repeat = args.repeat or (1 if args.quick else 3)
    if not find_spec("lightgbm"):
        print("left out: lightgbm is not installed")
        return
    import lightgbm

    print(f"{__doc__.splitlines()[0]}\n{heading(environment())}\n", flush=True)
    for n_classes in (100,) if args.quick else (100, 300):
        X, y = make_classification(
            20_000, 50, n_informative=30, n_classes=n_classes, n_clusters_per_class=1, random_state=0
        )
        X = np.asfortranarray(X, dtype=np.float32)
        ours, theirs = [], []
        for _ in range(repeat):
            ours.append(
                a_round(
                    lambda m: weald.GradientBoostingClassifier(
                        **PLAIN_BOOSTING, n_estimators=m, n_jobs=1, random_state=0
                    ),
                    X,
                    y,
                    2,
                    12,
                )
            )
            theirs.append(a_round(lambda m: lightgbm.LGBMClassifier(n_estimators=m, n_jobs=1, verbose=-1), X, y, 1, 2))
        mine, peer = statistics.median(ours), statistics.median(theirs)
        low, high = min(theirs) / max(ours), max(theirs) / min(ours)
        print(
            f"{n_classes} classes: weald {mine:.3g} s a round, LightGBM {peer:.3g} s: {peer / mine:.1f} "
            f"[{low:.1f} .. {high:.1f}], aim 1: {'met' if peer >= mine else 'MISSED'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
