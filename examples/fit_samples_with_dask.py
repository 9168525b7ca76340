"""
Boosting with samples on the workers of a Dask cluster
======================================================

The samples stay on the workers that loaded them (``pip install distributed``): here each block of a ``dask.array`` is
made by the worker that keeps it, which would otherwise read it from a file. The cluster is on this machine; with
``Client("tcp://scheduler:8786")`` it is any other. The model is byte for byte the one that a single process fits to all
samples, before and after stages are added.
"""

# sphinx_gallery_thumbnail_path = "_static/samples_on_workers.svg"

from __future__ import annotations

import logging
import sys
import time

import numpy as np
import scipy.sparse as sp
import weald

try:
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, wait
except ImportError:
    print("Boosting on a Dask cluster. Left out: it needs pip install distributed")
    sys.exit(0)


def load(block: int) -> tuple[sp.csr_array, sp.csr_array]:
    """X and y of a block of samples."""
    rng = np.random.default_rng(block)
    X = sp.random_array(
        (1000, 200), density=0.05, random_state=rng, format="csr", dtype=np.float32
    )
    topics = sp.random_array(
        (200, 40), density=0.1, random_state=np.random.default_rng(0)
    )
    return X, sp.csr_array(sp.csr_array(X @ topics) > 0.3).astype(np.int8)


def main() -> None:
    print(
        "Boosting with samples on the workers of a Dask cluster: each of two "
        "processes keeps half\n"
        "of the samples; the model is compared with that of one process which has "
        "all of them."
    )
    parameters = {"n_estimators": 5, "output_strategy": "projected", "random_state": 0}
    model = weald.GradientBoostingClassifier(**parameters)
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        # Workers that close while the machine is busy would log that their last
        # heartbeat was lost. What goes wrong in a fit is raised here all the same.
        "silence_logs": logging.CRITICAL,
    }
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        pairs = [delayed(load)(block) for block in range(4)]
        arrays = [
            da.concatenate(
                [
                    da.from_delayed(pair[i], (np.nan, n), meta=sp.csr_array((0, n)))
                    for pair in pairs
                ]
            )
            for i, n in ((0, 200), (1, 40))
        ]
        X, Y = client.persist(arrays)
        wait([X, Y])
        begin = time.perf_counter()
        weald.distribute.fit(model, X, Y, client, timeout=120)
        seconds = time.perf_counter() - begin
        first = weald.dumps(model)
        model.set_params(n_estimators=8, warm_start=True)
        weald.distribute.fit(model, X, Y, client, timeout=120)

    found = [load(block) for block in range(4)]
    X, Y = (sp.vstack([pair[i] for pair in found], format="csr") for i in range(2))
    begin = time.perf_counter()
    alone = weald.GradientBoostingClassifier(**parameters).fit(X, Y)
    seconds_alone = time.perf_counter() - begin
    first_alone = weald.dumps(alone)
    alone.set_params(n_estimators=8, warm_start=True).fit(X, Y)
    last, last_alone = weald.dumps(model), weald.dumps(alone)

    print(f"\n{X.shape[0]} samples of {X.shape[1]} features, {Y.shape[1]} labels")
    print(f"{'':20s}{'two processes':>15s}{'one process':>15s}")
    for n_stages, ours, theirs in ((5, first, first_alone), (8, last, last_alone)):
        name = f"model of {n_stages} stages"
        print(f"{name:20s}{len(ours) / 1000:12.1f} kB{len(theirs) / 1000:12.1f} kB")

    print(f"{'fit of 5 stages':20s}{seconds:13.1f} s{seconds_alone:13.1f} s")

    assert (first, last) == (first_alone, last_alone)
    print(
        "\nConclusion: after 5 stages and after 8 all bytes of the two models are "
        "the same,"
        f" {len(first)} and {len(last)}."
    )


if __name__ == "__main__":
    main()
