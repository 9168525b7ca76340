"""What boosting with samples on several workers sends in a stage, and beside XGBoost on the same Dask cluster.

    python benches/peers/samples_apart.py [--only counted]     the last part needs distributed, xgboost, dask[dataframe]

`counted`: the bytes of the buffers of `all_reduce`. One worker with all samples sends what each of many workers sends: the
buffers do not grow with the number of samples. The stages after the first are counted, and separately the bins before it.
`bins`: the bytes for each bin of histograms of one target, which depend on the bits of weights and targets.

`cluster`: megabytes and seconds of a stage on a Dask cluster of this machine. The traffic between the workers is read from
the counters of the loopback device (Linux), so nothing else may use it meanwhile. Bytes and seconds of a stage are the
difference between two fits with different numbers of stages: what is sent once, such as data and the model, is excluded.

The data have the shape of delicious: sparse words, as many labels.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weald
from _harness import PLAIN_BOOSTING, Table, is_absent, options, parser, spread, timed
from scipy import sparse
from weald.projection import Projected

STAGES = (2, 6)


def made(n: int, n_features: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.random((n, n_features)) < 0.036).astype(np.float32)
    factors = X @ rng.normal(size=(n_features, 20)) @ rng.normal(size=(20, n_labels))
    return X, (factors > np.quantile(factors, 0.98)).astype(np.int8)


class Counter:
    """Counts what one worker sends."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, buffer: Any, op: str) -> None:
        self.sizes.append(buffer.nbytes)


def sizes(kind: Any, X: Any, y: Any, n_stages: int, **parameters: Any) -> list[int]:
    """The bytes of each buffer of a fit."""
    counter = Counter()
    model = kind(**PLAIN_BOOSTING, n_estimators=n_stages, random_state=0, **parameters)
    weald.distribute.fit_part(model, X, y, counter, n_samples=X.shape[0])
    return counter.sizes


def counted(args: argparse.Namespace) -> None:
    # Binary words, as in delicious; and the same with 255 bins each.
    n = 500 if args.quick else 4000
    words, Y = made(n, args.features, args.labels)
    numbers = np.random.default_rng(1).normal(size=words.shape).astype(np.float32)
    table = Table("case | side | MB a stage | calls a stage | MB before", texts=2)
    for name, X in [("0 and 1, sparse", sparse.csr_array(words)), ("255 bins", numbers)]:
        for strategy, parameters in [
            ("projected, relabelled", {"output_strategy": "projected"}),
            ("projected", {"output_strategy": Projected(relabel_leaves=False), "loss": "squared_error"}),
            ("joint", {"output_strategy": "joint"}),
        ]:
            if strategy == "joint" and name == "255 bins":
                continue  # a histogram of 1 GB for each node
            kind, labels = weald.GradientBoostingClassifier, sparse.csr_matrix(Y)
            one, three = (sizes(kind, X, labels, n, **parameters) for n in (1, 3))
            stage = (sum(three) - sum(one)) / 2
            before = max(sum(one) - stage, 0)
            calls = (len(three) - len(one)) / 2
            table.row(name, strategy, f"{stage / 1e6:.1f}", f"{calls:.0f}", f"{before / 1e6:.1f}")


def bytes_of_a_bin(kind: Any, X: Any, y: Any) -> float:
    """The mean over the histograms of two stages: the buffers that have as many values as there are bins."""
    one, three = (sizes(kind, X, y, n, max_leaf_nodes=31) for n in (1, 3))
    n_bins = 255 * X.shape[1]
    # A number that is the same for all workers is sent with each buffer.
    return float(np.mean([size - 8 for size in three[len(one) :] if size > 8 * n_bins]) / n_bins)


def bins(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    table = Table("case | side | bytes a bin", texts=2)
    for n in [4000] if args.quick else [4_000, 100_000, 1_000_000]:
        X = rng.normal(size=(n, 10)).astype(np.float32)
        numbers = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + rng.normal(size=n)
        for side, kind, y in (
            ("numbers", weald.GradientBoostingRegressor, numbers),
            ("two classes", weald.GradientBoostingClassifier, numbers > 1),
        ):
            table.row(f"{n} samples", side, f"{bytes_of_a_bin(kind, X, y):.1f}")


def sent() -> int:
    """Bytes sent over the loopback device so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    raise SystemExit("this needs the counters of /proc/net/dev")


def of_a_stage(fit: Callable[[int], object], repeat: int) -> tuple[str, str]:
    """Megabytes and seconds of a stage."""
    fit(1)
    megabytes, seconds = [], []
    for _ in range(repeat):
        found = []
        for n_stages in STAGES:
            before = sent()
            took, _ = timed(lambda n_stages=n_stages: fit(n_stages), time.perf_counter)
            found.append(((sent() - before) / 1e6, took))
        n = STAGES[1] - STAGES[0]
        for many, few, more in zip((megabytes, seconds), *found, strict=True):
            many.append((more - few) / n)
    return spread(megabytes), spread(seconds)


def cluster(args: argparse.Namespace) -> None:
    if absent := [name for name in ("distributed", "dask", "xgboost") if is_absent(name)]:
        print(f"the cluster is left out: {', '.join(absent)} not installed")
        return
    warnings.filterwarnings("ignore")
    import dask.array as da
    from distributed import Client, LocalCluster

    n, n_labels = (1000, 100) if args.quick else (args.samples, args.labels)
    X, Y = made(n, args.features, n_labels)
    shape = f"{n} samples, {n_labels} labels, {args.workers} workers"
    table = Table("case | side | MB a stage | seconds a stage", texts=2)
    local = LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None)
    with local, Client(local) as client:
        # Blocks are on the workers before anything is measured.
        cuts = np.linspace(0, len(X), args.workers + 1).astype(int)
        addresses = sorted(client.nthreads())
        blocks = [
            da.concatenate(
                [
                    da.from_delayed(
                        client.scatter(kind(part[a:b]), workers=[address], hash=False), shape, meta=kind(part[:0])
                    )
                    for a, b, address in zip(cuts, cuts[1:], addresses, strict=False)
                ]
            )
            for kind, part in ((sparse.csr_array, X), (sparse.csr_matrix, Y))
            for shape in [(np.nan, part.shape[1])]
        ]
        for name, parameters in [
            ("weald, projected, leaves relabelled", {"output_strategy": "projected"}),
            ("weald, joint (one tree, vector leaves)", {"output_strategy": "joint"}),
        ]:

            def fit(n_stages: int, parameters: dict[str, str] = parameters) -> object:
                model = weald.GradientBoostingClassifier(
                    **PLAIN_BOOSTING,
                    n_estimators=n_stages,
                    max_leaf_nodes=None,
                    max_depth=6,
                    random_state=0,
                    **parameters,
                )
                return weald.distribute.fit(model, *blocks, client)

            table.row(shape, name, *of_a_stage(fit, args.repeat))
        from xgboost import dask as dxgb

        rows = (tuple(np.diff(cuts)), (args.features,))
        DX = client.persist(da.from_array(X, chunks=rows))
        DY = client.persist(da.from_array(Y, chunks=(rows[0], (n_labels,))))
        matrix = dxgb.DaskDMatrix(client, DX, DY)
        common = {"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "nthread": 1, "max_bin": 255}
        for name, strategy in [
            ("XGBoost, a tree for each label", "one_output_per_tree"),
            ("XGBoost, one tree, vector leaves", "multi_output_tree"),
        ]:

            def fit_peer(n_stages: int, strategy: str = strategy) -> object:
                return dxgb.train(client, {**common, "multi_strategy": strategy}, matrix, num_boost_round=n_stages)

            try:
                table.row(shape, name, *of_a_stage(fit_peer, args.repeat))
            except Exception as error:
                table.row(shape, name, f"refused: {str(error).splitlines()[0][:80]}")


PARTS = {"counted": counted, "bins": bins, "cluster": cluster}


def main() -> None:
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("--workers", type=int, default=2)
    common.add_argument("--samples", type=int, default=8000)
    common.add_argument("--features", type=int, default=500)
    common.add_argument("--labels", type=int, default=983)
    args = options(common)
    for part in (part for part in PARTS if args.only in part):
        PARTS[part](args)
        print()


if __name__ == "__main__":
    main()
