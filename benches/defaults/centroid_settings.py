"""Settings of centroid forests, scored on three tenths of the training samples of each data set, fitted to the others.

`python benches/defaults/centroid_settings.py --seeds 2 n_children=10 n_children=13 n_children=16` prints for each data
set and setting the precision at 1, 3 and 5, the processor seconds of fit and prediction, and megabytes, as means over
the seeds. A setting is a comma-separated list of parameters. goemotions is cut to 12 000 and 6 000 samples.
"""

from __future__ import annotations

import argparse
import ast
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

SETS = ["delicious", "bibtex", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "goemotions", "medical"]


def parts(name: str) -> tuple[Any, ...]:
    """X and Y of the samples that models are fitted to, and of the held-out samples."""
    data = _data.named(name)
    X, Y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
    order = np.random.default_rng(1).permutation(X.shape[0])
    end = int(0.7 * len(order))
    if name == "goemotions":
        end = min(end, 12_000)
        order = order[: end + 6_000]
    kept, held = np.split(order, [end])
    X, X_held = X[kept], X[held]
    if (X.data % 1 == 0).all():
        weights = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_held = (weights.transform(rows).astype(np.float32) for rows in (X, X_held))
    return X, Y[kept], X_held, Y[held]


def measured(params: dict[str, Any], seed: int, X: Any, Y: Any, X_held: Any, Y_held: Any) -> list[float]:
    """Precision in percent, seconds and megabytes of one fit."""
    defaults = {"n_estimators": 50, "idf": False, "random_state": seed, "n_jobs": 1}
    start = time.process_time()
    model = weald.CentroidForestClassifier(**{**defaults, **params}).fit(X, Y)
    fitted = time.process_time()
    best, _ = model.predict_topk(X_held, k=5)
    end = time.process_time()
    scores = np.zeros(Y_held.shape)
    np.put_along_axis(scores, best, np.arange(5, 0, -1)[np.newaxis], axis=1)
    precision = [100 * precision_at_k(Y_held, scores, k) for k in (1, 3, 5)]
    return [*precision, fitted - start, end - fitted, len(weald.dumps(model)) / 1e6]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", default=[""])
    parser.add_argument("--only", action="append", choices=SETS)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    print("| set | setting | precision at 1 / 3 / 5 | fit / predict, s | MB |\n|---|---|--:|--:|--:|")
    for name in options.only or SETS:
        data = parts(name)
        for setting in options.settings:
            pairs = (pair.split("=") for pair in setting.split(",") if pair)
            params = {key: ast.literal_eval(value) for key, value in pairs}
            found = np.mean([measured(params, seed, *data) for seed in range(options.seeds)], axis=0)
            first, third, fifth, fit, predict, size = found
            at = f"{first:.2f} / {third:.2f} / {fifth:.2f}"
            print(f"| {name} | {setting or 'defaults'} | {at} | {fit:.3g} / {predict:.2g} | {size:.3g} |", flush=True)


if __name__ == "__main__":
    main()
