"""Should boosting start from a linear model by default? Without `init`, and with `init="auto"`.

    python benches/defaults/linear_start.py [--sets bibtex scene]

Both are fitted to three quarters of the training part of each data set of labels, text and dense tables (at most 4000
samples), and scored on the other quarter: label ranking average precision, precision at 1, log loss summed over the labels
(probabilities at least 1e-12 from 0 and 1), and processor seconds of the fit. The test parts are never used. One thread,
100 rounds. The last column says what `init="auto"` chose.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from _scores import ranking_precision
from study import parts

SETS = (
    *("medical", "yahoo_arts", "rcv1sub1", "bibtex", "reuters21578_r90", "goemotions", "corel5k"),
    *("emotions", "scene", "mediamill_sample", "CAL500", "delicious"),
)


def log_loss(proba: Any, y: Any) -> float:
    p = np.clip(proba, 1e-12, 1 - 1e-12)
    return float(-np.where(y, np.log(p), np.log1p(-p)).sum(axis=1).mean())


def chosen(model: Any) -> str:
    """What `init="auto"` chose: it keeps a single stage if trees do not help on top of the linear model."""
    if getattr(model, "_init", None) is None:
        return "no start"
    return "start and trees" if model.n_estimators_ > 1 else "start alone"


def main() -> None:
    import weald
    from weald.metrics import precision_at_k

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    args = parser.parse_args()
    print('| set | labels | no start: LRAP / precision at 1 / log loss, s | `init="auto"` | chosen |')
    print("|---|--:|--:|--:|---|")
    for name in args.sets:
        X, y, X_scored, y_scored = parts(name)
        truth = np.asarray(y_scored.toarray() if hasattr(y_scored, "toarray") else y_scored) > 0
        cells = []
        for init in (None, "auto"):
            model = weald.GradientBoostingClassifier(init=init, multi_label=True, random_state=0, n_jobs=1)
            begin = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - begin
            proba = model.predict_proba(X_scored)
            found = ranking_precision(proba, y_scored), precision_at_k(y_scored, proba, 1), log_loss(proba, truth)
            cells.append(f"{found[0]:.3f} / {found[1]:.3f} / {found[2]:.3f}, {seconds:.2g} s")
        print(f"| {name} | {truth.shape[1]} | {' | '.join(cells)} | {chosen(model)} |", flush=True)


if __name__ == "__main__":
    main()
