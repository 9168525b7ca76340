"""What weights of labels do for rankings: precision of all labels alike, and precision that counts rare ones more.

    python benches/defaults/label_weight.py [--trees 50] [--only bibtex]

Random forests at their defaults but for `label_weight`, on the training part of each set, judged on the test part:
precision at 1 and 5, propensity-scored precision at 1 and 5, and the share of labels that are ever right among the
first five. One seed, one thread, seconds of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import scipy.sparse as sp
import spinney
from spinney.metrics import label_coverage_at_k, precision_at_k, propensities, psp_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data

SETS = ["bibtex", "delicious", "rcv1sub1", "reuters21578_r90", "goemotions", "yahoo_arts", "medical", "corel5k"]
WEIGHTS = [None, "balanced", "propensity"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--only", choices=SETS)
    arguments = parser.parse_args()
    print(f"spinney {spinney.__version__}")
    print("| set | label_weight | precision at 1 / 5 | propensity-scored at 1 / 5 | labels found | seconds |")
    print("|---|---|--:|--:|--:|--:|")
    for name in SETS if arguments.only is None else [arguments.only]:
        data = _data.named(name)
        X, X_test, y, y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
        p = propensities(y)
        for weight in WEIGHTS:
            start = time.process_time()
            forest = spinney.RandomForestClassifier(arguments.trees, label_weight=weight, random_state=0).fit(X, y)
            seconds = time.process_time() - start
            found = forest.predict_topk(X_test, 5)
            plain = [precision_at_k(y_test, found, k) for k in (1, 5)]
            scored = [psp_at_k(y_test, found, k, propensities=p) for k in (1, 5)]
            cells = [f"{a:.3f} / {b:.3f}" for a, b in (plain, scored)]
            coverage = label_coverage_at_k(y_test, found, 5)
            print(f"| {name} | {weight} | {cells[0]} | {cells[1]} | {coverage:.3f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
