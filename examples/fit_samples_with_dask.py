"""
Boosting with samples on the workers of a Dask cluster
======================================================

The samples stay on the workers that loaded them (``pip install distributed``): each block is made by the worker that
keeps it; files would be read there. The cluster is on this machine; with ``Client("tcp://scheduler:8786")`` it is any
other. The model is byte for byte the one that a single process fits to all samples, before and after stages are
added.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp
import weald

try:
    from distributed import Client, LocalCluster
except ImportError:
    sys.exit("this example needs Dask: pip install distributed")


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
    parameters = {"n_estimators": 5, "output_strategy": "projected", "random_state": 0}
    model = weald.GradientBoostingClassifier(**parameters)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        blocks = [client.submit(load, block) for block in range(4)]
        # If a worker is lost, keep_stages leaves the stages that were done, from which
        # warm_start goes on as below.
        weald.distribute.fit_samples(
            model, blocks, client, timeout=120, keep_stages=True
        )
        first = weald.dumps(model)
        model.set_params(n_estimators=8, warm_start=True)
        weald.distribute.fit_samples(
            model, blocks, client, timeout=120, keep_stages=True
        )

    found = [load(block) for block in range(4)]
    X, Y = (sp.vstack([pair[i] for pair in found], format="csr") for i in range(2))
    alone = weald.GradientBoostingClassifier(**parameters).fit(X, Y)
    assert weald.dumps(alone) == first
    alone.set_params(n_estimators=8, warm_start=True).fit(X, Y)
    assert weald.dumps(alone) == weald.dumps(model)
    print(
        f"{model.n_estimators_} stages on the samples of two processes: "
        "the bytes of one machine"
    )


if __name__ == "__main__":
    main()
