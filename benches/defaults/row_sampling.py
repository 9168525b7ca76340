"""Does drawing rows by the size of their gradients buy time at equal score?

    python benches/defaults/row_sampling.py

Prints for each set the processor's seconds of a fit on one thread and the score on the test part: without drawing rows,
with `subsample`, and where the engine has the prototype (see README.md) with rows drawn by their targets. Labels are
scored by label ranking average precision, numbers by the mean r² of the outputs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
from _scores import macro_r2, ranking_precision

SETS = ("bibtex", "scm20d", "made", "delicious")
SHARES = (0.5, 0.2, 0.1)


def of(name: str) -> Any:
    if name == "made":
        return _data.smooth()
    return _data.filled(_data.named(name)) if name == "scm20d" else _data.named(name)


def main() -> None:
    import spinney

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--prototype", action="store_true", help="the engine reads SPINNEY_MVS")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    ways: list[tuple[str, float]] = [("all rows", 1.0), *(("subsample", share) for share in SHARES)]
    ways += [("by gradients", share) for share in SHARES] if args.prototype else []
    for name in args.sets:
        data = of(name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
        labels = hasattr(y, "tocsr")
        kind = spinney.GradientBoostingClassifier if labels else spinney.GradientBoostingRegressor
        for way, share in ways:
            found = []
            for seed in range(args.seeds):
                os.environ.pop("SPINNEY_MVS", None)
                if way == "by gradients":
                    os.environ["SPINNEY_MVS"] = str(share)
                subsample = share if way == "subsample" else 1.0
                model = kind(n_estimators=100, subsample=subsample, random_state=seed, n_jobs=1)
                begin = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - begin
                os.environ.pop("SPINNEY_MVS", None)
                if labels:
                    score = ranking_precision(model.decision_function(X_test), y_test)
                else:
                    score = macro_r2(model.predict(X_test).reshape(len(y_test), -1), y_test.reshape(len(y_test), -1))
                found.append((seconds, score))
            seconds, score = np.mean(found, axis=0)
            print(f"| {name} | {way} | {share} | {seconds:.2f} | {score:.4f} |", flush=True)


if __name__ == "__main__":
    main()
