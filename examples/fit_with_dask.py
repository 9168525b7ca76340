"""
Grow a forest on a Dask cluster
===============================

Three worker processes grow the trees of one forest (``pip install distributed``). The cluster is on this machine;
with ``Client("tcp://scheduler:8786")`` it is any other. The forest is byte for byte the one that a single process
grows, out-of-bag score included.
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


def main() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array(
        (3000, 400), density=0.03, random_state=rng, format="csr", dtype=np.float32
    )
    Y = sp.csr_array(
        (X @ sp.random_array((400, 30), density=0.1, random_state=rng)) > 0.25
    ).astype(np.int8)
    forest = weald.RandomForestClassifier(
        n_estimators=60, oob_score=True, random_state=0, n_jobs=1
    )

    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        weald.distribute.fit(
            forest, X, Y, client.get_executor(), n_parts=6, timeout=300
        )
        labels, _ = weald.distribute.predict_topk(
            forest, X, 3, client.get_executor(), n_parts=3
        )

    alone = weald.RandomForestClassifier(
        n_estimators=60, oob_score=True, random_state=0, n_jobs=1
    ).fit(X, Y)
    assert weald.dumps(alone) == weald.dumps(forest)
    assert np.array_equal(labels, alone.predict_topk(X, 3)[0])
    print(
        f"60 trees from 3 processes, out-of-bag score {forest.oob_score_:.3f}: "
        "the bytes of one machine"
    )


if __name__ == "__main__":
    main()
