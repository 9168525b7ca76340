"""Load of a server: predictions in small batches from many threads, with latencies and memory.

    python benches/load.py [--predictions 1000000] [--threads 8]

Prints for each batch size the predictions per second and the percentiles of the latency; the resident memory before,
after and at its peak; and the latency of one sample, compared with scikit-learn's forest with as many trees.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time

import numpy as np
import sklearn.ensemble
import weald

BATCHES = (1, 10, 1000)
PERCENTILES = (50, 90, 99, 99.9)


def resident() -> float:
    """Resident memory in MB."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() / 1e6


def latencies(predict, X: np.ndarray, batch: int, n_calls: int) -> np.ndarray:
    """Seconds of each of `n_calls` calls with `batch` samples."""
    seconds = np.empty(n_calls)
    starts = np.random.default_rng(batch).integers(0, len(X) - batch + 1, n_calls)
    for i, start in enumerate(starts):
        begun = time.perf_counter()
        predict(X[start : start + batch])
        seconds[i] = time.perf_counter() - begun
    return seconds


def show(what: str, seconds: np.ndarray) -> None:
    parts = (f"p{p:g} {1e6 * np.percentile(seconds, p):9.1f}" for p in PERCENTILES)
    print(f"{what:28s} {'  '.join(parts)}  µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=int, default=1_000_000, help="rows predicted for each batch size")
    parser.add_argument("--threads", type=int, default=8)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 20)).astype(np.float32)
    y = (X[:, :4].sum(axis=1) > 0).astype(int) + (X[:, 4] > 1)
    ours = weald.RandomForestClassifier(100, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.RandomForestClassifier(100, random_state=0).fit(X, y)

    ours.predict(X)
    before = resident()
    for batch in BATCHES:
        n_calls = max(1, args.predictions // batch // args.threads)
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
        rate = n_calls * args.threads * batch / (time.perf_counter() - begun)
        show(f"{args.threads} threads, {batch} rows", np.concatenate(found))
        print(f"{'':28s} {rate:,.0f} predictions/s, resident {resident():.0f} MB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"resident memory: {before:.0f} MB before, {resident():.0f} MB after, {peak:.0f} MB at most")

    one, other = latencies(ours.predict, X, 1, 2_000), latencies(theirs.predict, X, 1, 100)
    engine = latencies(lambda rows: ours._forest.predict(rows, 1), X, 1, 2_000)
    show("one row, weald", one)
    show("one row, weald's engine", engine)
    show("one row, scikit-learn", other)
    print(f"ratio of medians: {np.median(one) / np.median(other):.3f} (aim: 0.2)")


if __name__ == "__main__":
    main()
