"""Does drawing samples save time at equal scores?

    python benches/defaults/row_sampling.py

Prints for each data set the processor seconds of a fit on one thread and the score on the test part, with all samples
and with `subsample`. Labels are scored by label ranking average precision, numerical outputs by their mean r².
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
from _scores import macro_r2, ranking_precision

SETS = ("bibtex", "scm20d", "made", "delicious")
SHARES = (1.0, 0.5, 0.2, 0.1)


def of(name: str) -> Any:
    if name == "made":
        return _data.smooth()
    return _data.filled(_data.named(name)) if name == "scm20d" else _data.named(name)


def main() -> None:
    import weald

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    for name in args.sets:
        data = of(name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
        labels = hasattr(y, "tocsr")
        kind = weald.GradientBoostingClassifier if labels else weald.GradientBoostingRegressor
        for share in SHARES:
            found = []
            for seed in range(args.seeds):
                model = kind(n_estimators=100, subsample=share, random_state=seed, n_jobs=1)
                begin = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - begin
                if labels:
                    score = ranking_precision(model.decision_function(X_test), y_test)
                else:
                    score = macro_r2(model.predict(X_test).reshape(len(y_test), -1), y_test.reshape(len(y_test), -1))
                found.append((seconds, score))
            seconds, score = np.mean(found, axis=0)
            print(f"| {name} | {share} | {seconds:.2f} | {score:.4f} |", flush=True)


if __name__ == "__main__":
    main()
