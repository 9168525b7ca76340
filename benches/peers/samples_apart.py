"""Boosting with samples on the workers of a Dask cluster, against XGBoost on the same cluster: bytes sent and seconds.

    python benches/peers/samples_apart.py          needs distributed, xgboost, dask[dataframe]

The data have the shape of delicious: sparse words, as many labels. The traffic between the workers is read from the
counters of the loopback device (Linux), so nothing else may use it meanwhile. Bytes and seconds of a stage are the
difference between two fits with different numbers of stages: what is sent once, such as data and the model, is
excluded.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import _records
import numpy as np
import weald
from scipy import sparse

STAGES = (2, 6)


def made(n: int, n_features: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.random((n, n_features)) < 0.036).astype(np.float32)
    factors = X @ rng.normal(size=(n_features, 20)) @ rng.normal(size=(20, n_labels))
    return X, (factors > np.quantile(factors, 0.98)).astype(np.int8)


def sent() -> int:
    """Bytes sent over the loopback device so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    raise SystemExit("this needs the counters of /proc/net/dev")


def of_a_stage(fit: Callable[[int], object], repeat: int) -> tuple[float, float]:
    """Megabytes and seconds of a stage: medians."""
    fit(1)
    megabytes, seconds = [], []
    for _ in range(repeat):
        found = []
        for n_stages in STAGES:
            before, start = sent(), time.perf_counter()
            fit(n_stages)
            found.append((sent() - before, time.perf_counter() - start))
        (fewer_bytes, fewer_seconds), (more_bytes, more_seconds) = found
        n = STAGES[1] - STAGES[0]
        megabytes.append((more_bytes - fewer_bytes) / n / 1e6)
        seconds.append((more_seconds - fewer_seconds) / n)
    return statistics.median(megabytes), statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--samples", type=int, default=8000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--labels", type=int, default=983)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    from distributed import Client, LocalCluster

    X, Y = made(options.samples, options.features, options.labels)
    print(f"{_records.heading(_records.environment())}\n")
    print(
        f"{options.samples} samples, {options.features} features, {options.labels} labels, {options.workers} workers\n"
    )
    print("| | MB a stage | seconds a stage |\n|---|--:|--:|")
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        # Blocks are on the workers before anything is measured.
        cuts = np.linspace(0, len(X), options.workers + 1).astype(int)
        addresses = sorted(client.nthreads())
        blocks = [
            client.scatter([(sparse.csr_array(X[a:b]), sparse.csr_matrix(Y[a:b]))], workers=[address], hash=False)[0]
            for a, b, address in zip(cuts, cuts[1:], addresses, strict=False)
        ]
        for name, parameters in [
            ("weald, projected, leaves relabelled", {"output_strategy": "projected"}),
            ("weald, joint (one tree, vector leaves)", {"output_strategy": "joint"}),
        ]:

            def fit(n_stages: int, parameters: dict[str, str] = parameters) -> object:
                model = weald.GradientBoostingClassifier(
                    n_estimators=n_stages,
                    max_features=None,
                    max_leaf_nodes=None,
                    max_depth=6,
                    random_state=0,
                    **parameters,
                )
                return weald.distribute.fit_samples(model, blocks, client)

            print("| {} | {:.1f} | {:.2f} |".format(name, *of_a_stage(fit, options.repeat)), flush=True)
        import dask.array as da
        from xgboost import dask as dxgb

        rows = (tuple(np.diff(cuts)), (options.features,))
        DX = client.persist(da.from_array(X, chunks=rows))
        DY = client.persist(da.from_array(Y, chunks=(rows[0], (options.labels,))))
        matrix = dxgb.DaskDMatrix(client, DX, DY)
        common = {"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "nthread": 1, "max_bin": 255}
        for name, strategy in [
            ("XGBoost, a tree for each label", "one_output_per_tree"),
            ("XGBoost, one tree, vector leaves", "multi_output_tree"),
        ]:

            def fit_peer(n_stages: int, strategy: str = strategy) -> object:
                return dxgb.train(client, {**common, "multi_strategy": strategy}, matrix, num_boost_round=n_stages)

            try:
                print("| {} | {:.1f} | {:.2f} |".format(name, *of_a_stage(fit_peer, options.repeat)), flush=True)
            except Exception as error:
                print(f"| {name} | refused: {str(error).splitlines()[0][:80]} | |", flush=True)


if __name__ == "__main__":
    main()
