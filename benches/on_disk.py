"""Boosting of samples that are written to disk in blocks, against the same samples in memory: time, memory and bytes.

    python benches/on_disk.py [--samples 10000000] [--stages 20] [--cases dense sparse] [--ways memory 1 2 7] [--folder F]

Dense: 100 features, normal. Sparse: 100 000 features, of which each sample has 20, mostly the first ones. Each way runs in a
process of its own: X in memory, or written in so many blocks, of which one is in memory at a time. Processor seconds of
writing, with the drawing of the samples, which happens once in memory and twice on disk, and of the fit, and the largest
memory of the process that no file is behind (`RssAnon`, Linux only), which the system cannot take back, while X is made and
during the fit. The digest is that of the model's file.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import weald
from scipy import sparse

# Samples are drawn in pieces of this size, so that they do not depend on the blocks.
PIECE = 50_000
N_STORED = 20


def piece(kind: str, number: int, n: int) -> Any:
    """Samples `number * PIECE` and those after it."""
    rng = np.random.default_rng([number, kind == "sparse"])
    if kind == "dense":
        return rng.standard_normal((PIECE, 100), dtype=np.float32)[:n]
    columns = (100_000 * rng.random((PIECE, N_STORED)) ** 4).astype(np.int32)
    values = rng.integers(1, 20, columns.size).astype(np.float32)
    ptr = np.arange(0, columns.size + 1, N_STORED)
    found = sparse.csr_array((values, np.sort(columns, axis=1).ravel(), ptr), shape=(PIECE, 100_000))[:n]
    found.sum_duplicates()
    return found


def rows(kind: str, start: int, end: int) -> Any:
    """Samples from `start` to `end`."""
    found = []
    for number in range(start // PIECE, -(-end // PIECE)):
        first = number * PIECE
        found.append(piece(kind, number, end - first)[max(start - first, 0) :])
    return np.concatenate(found) if kind == "dense" else sparse.vstack(found, format="csr")


class Blocks:
    """Blocks that are drawn anew each time."""

    def __init__(self, kind: str, n_samples: int, n_blocks: int) -> None:
        self.kind = kind
        self.ends = np.linspace(0, n_samples, n_blocks + 1).astype(int).tolist()

    def __iter__(self) -> Iterator[Any]:
        for start, end in zip(self.ends, self.ends[1:], strict=False):
            yield rows(self.kind, start, end)


def targets(kind: str, n_samples: int) -> Any:
    """One number for each sample, of a few features."""
    found = np.empty(n_samples)
    for number, start in enumerate(range(0, n_samples, PIECE)):
        end = min(start + PIECE, n_samples)
        block = piece(kind, number, end - start)
        x = block[:, :8] if kind == "dense" else block[:, [0, 1, 2, 3, 5, 10, 50, 100]].toarray() / 10
        noise = np.random.default_rng([number, 2]).standard_normal(len(x))
        found[start:end] = x[:, 0] + x[:, 1] * x[:, 2] + np.maximum(x[:, 3], 0) - x[:, 4:].mean(axis=1) + noise
    return found


class Peak:
    """The largest anonymous memory of this process in gigabytes, looked at twenty times in a second."""

    def __enter__(self) -> Peak:
        self.gigabytes, self.is_done = 0.0, False
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        self.start = time.process_time()
        return self

    def watch(self) -> None:
        while not self.is_done:
            lines = Path("/proc/self/status").read_text().splitlines()
            found = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.gigabytes = max(self.gigabytes, found / 1e6)
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.start
        self.is_done = True
        self.thread.join()


def run(kind: str, way: str, args: argparse.Namespace) -> None:
    """Prints the line of one way."""
    y = targets(kind, args.samples)
    model = weald.GradientBoostingRegressor(n_estimators=args.stages, random_state=0, n_jobs=args.jobs)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        with Peak() as made:
            if way == "memory":
                X = rows(kind, 0, args.samples)
            else:
                X = weald.datasets.dump_blocks(Blocks(kind, args.samples, int(way)), Path(folder) / "X")
        with Peak() as fitted:
            model.fit(X, y)
        del X
    digest = hashlib.sha256(weald.dumps(model)).hexdigest()[:12]
    print(
        f"| {kind} | {way} | {made.seconds:.0f} | {fitted.seconds:.0f} | {made.gigabytes:.1f} | {fitted.gigabytes:.1f} "
        f"| {digest} |",
        flush=True,
    )


def main() -> None:
    """Runs each way in a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--stages", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--cases", nargs="+", default=["dense", "sparse"])
    parser.add_argument("--ways", nargs="+", default=["memory", "1", "2", "7"])
    parser.add_argument("--folder", help="where X is written, 4 to 5 GB for ten million samples")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run(*args.one, args)
        return
    print(f"{args.samples} samples, {args.stages} stages")
    print("| X | blocks | make or write, processor s | fit, processor s | making, GB | fit, GB | digest |")
    print("|---|---|--:|--:|--:|--:|---|", flush=True)
    for kind in args.cases:
        for way in args.ways:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", kind, way], check=True)


if __name__ == "__main__":
    main()
