"""Load of a server: predictions in small batches from many threads, with latencies and memory.

    python benches/load.py [--predictions 1000000] [--threads 8]

Prints for each batch size the predictions per second and the percentiles of the latency; the resident memory before,
after and at its peak; and the latency of one sample, compared with scikit-learn's forest with as many trees: the aim is a
fifth of its median.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.ensemble
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _harness import Table, met, n_trees, options, parser, peak, resident, timed

BATCHES = (1, 10, 1000)
PERCENTILES = (50, 90, 99, 99.9)


def latencies(predict, X: np.ndarray, batch: int, n_calls: int) -> np.ndarray:
    """Seconds of each of `n_calls` calls with `batch` samples."""
    seconds = np.empty(n_calls)
    starts = np.random.default_rng(batch).integers(0, len(X) - batch + 1, n_calls)
    for i, start in enumerate(starts):
        seconds[i], _ = timed(lambda start=start: predict(X[start : start + batch]), time.perf_counter)
    return seconds


def show(table: Table, side: str, seconds: np.ndarray, *rest: Any) -> None:
    percentiles = (f"{1e6 * np.percentile(seconds, p):.3g}" for p in PERCENTILES)
    table.row("forest of 100 trees, 20 features", side, *percentiles, *rest)


def main() -> None:
    common = parser(__doc__ or "")
    common.add_argument("--predictions", type=int, help="rows predicted for each batch size (1000000, --quick 20000)")
    common.add_argument("--threads", type=int, default=8)
    args = options(common)
    n_predictions = args.predictions or (20_000 if args.quick else 1_000_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 20)).astype(np.float32)
    y = (X[:, :4].sum(axis=1) > 0).astype(int) + (X[:, 4] > 1)
    m = n_trees(args, usual=100, quick=100)
    ours = weald.RandomForestClassifier(m, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.RandomForestClassifier(m, random_state=0).fit(X, y)

    ours.predict(X)
    units = " | ".join(f"p{p:g}, µs" for p in PERCENTILES)
    table = Table(f"case | side | {units} | predictions a second | resident, MB | aim", texts=2)
    table.row("before", "weald", *[""] * (len(PERCENTILES) + 1), f"{resident() / 1e6:.0f}")
    for batch in BATCHES:
        n_calls = max(1, n_predictions // batch // args.threads)
        found: list[np.ndarray] = []
        threads = [
            threading.Thread(target=lambda b=batch, n=n_calls, to=found: to.append(latencies(ours.predict, X, b, n)))
            for _ in range(args.threads)
        ]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = f"{n_calls * args.threads * batch / (time.perf_counter() - begun):.0f}"
        side = f"weald, {args.threads} threads, {batch} rows"
        show(table, side, np.concatenate(found), rate, f"{resident() / 1e6:.0f}")
    table.row("at most", "weald", *[""] * (len(PERCENTILES) + 1), f"{peak() / 1e6:.0f}")

    few = 10 if args.quick else 1
    one, other = latencies(ours.predict, X, 1, 2_000 // few), latencies(theirs.predict, X, 1, 100 // few)
    engine = latencies(lambda rows: ours._forest.predict(rows, 1), X, 1, 2_000 // few)
    ratio = np.median(other) / np.median(one)
    show(table, "weald, one row", one, "", "", f"5: {met(bool(ratio >= 5))}, {ratio:.3g}")
    show(table, "weald's engine, one row", engine)
    show(table, "scikit-learn, one row", other)


if __name__ == "__main__":
    main()
