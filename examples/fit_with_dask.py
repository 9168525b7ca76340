"""
Grow a forest on a Dask cluster
===============================

Three worker processes grow the trees of one forest (``pip install distributed``). The cluster is on this machine;
with ``Client("tcp://scheduler:8786")`` it is any other. The forest is byte for byte the one that a single process
grows, out-of-bag score included.
"""

# sphinx_gallery_thumbnail_path = "_static/forest_on_workers.svg"

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp
import weald

try:
    from distributed import Client, LocalCluster
except ImportError:
    print("Grow a forest on a Dask cluster. Left out: it needs pip install distributed")
    sys.exit(0)


def main() -> None:
    print(
        "Grow a forest on a Dask cluster: three processes grow the trees of one "
        "forest, which is\n"
        "compared with the forest that one process grows."
    )
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

    print(f"\n{'60 trees':20s}{'out-of-bag score':>18s}{'model':>12s}")
    for name, model in (("three processes", forest), ("one process", alone)):
        kilobytes = len(weald.dumps(model)) / 1000
        print(f"{name:20s}{model.oob_score_:18.3f}{kilobytes:9.0f} kB")

    assert weald.dumps(alone) == weald.dumps(forest)
    assert np.array_equal(labels, alone.predict_topk(X, 3)[0])
    print(
        f"\nConclusion: all {len(weald.dumps(forest))} bytes of the two models are "
        "the same, and so"
        f" are the best labels of all {len(labels)} samples."
    )


if __name__ == "__main__":
    main()
