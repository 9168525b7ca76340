"""
Grow a forest on a Dask cluster
===============================

Three worker processes grow the trees of one forest (``pip install distributed``). The cluster is on this machine;
with ``Client("tcp://scheduler:8786")`` it is any other. The forest is byte for byte the one that a single process
grows, out-of-bag score included.
"""

# sphinx_gallery_thumbnail_path = "_static/forest_on_workers.svg"

# %%
# What the workers did in one run: each part of the forest is a bar, and so is each block of samples. "This process" is
# the one that called the workers, and "alone" is a fit in one process. The three workers shared two cores with much
# other work, and were slower than one process: workers gain time only on cores that one process leaves idle.
#
# .. image:: /_static/dask_run.png
#    :class: only-light
#    :width: 640px
#    :alt: When three workers grew trees and found the best labels, beside one process alone
#
# .. image:: /_static/dask_run-dark.png
#    :class: only-dark
#    :width: 640px
#    :alt: When three workers grew trees and found the best labels, beside one process alone

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

try:
    import matplotlib.pyplot as plt
    from distributed import Client, LocalCluster, get_task_stream
except ImportError:
    print(
        "Grow a forest on a Dask cluster. "
        "Left out: it needs pip install distributed matplotlib"
    )
    sys.exit(0)

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

N_TREES, N_PARTS = 120, 9
# The name of a worker, what it did, and the seconds from the begin of the fit.
Bar = tuple[str, str, float, float]


def data() -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(0)
    X = sp.random_array(
        (4000, 400), density=0.03, random_state=rng, format="csr", dtype=np.float32
    )
    topics = sp.random_array((400, 30), density=0.1, random_state=rng)
    return X, sp.csr_array((X @ topics) > 0.25).astype(np.int8)


def forest_to_grow() -> weald.RandomForestClassifier:
    return weald.RandomForestClassifier(
        N_TREES, oob_score=True, random_state=0, n_jobs=1
    )


def grow_on_cluster(X: Any, Y: Any) -> tuple[Any, Any, list[Bar], float]:
    """The forest, the best labels of all samples, what workers did, and the seconds of the fit."""
    options = {
        "n_workers": 3,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        # Workers that close while the machine is busy would log that their last heartbeat
        # was lost. What goes wrong in a task is raised here all the same.
        "silence_logs": logging.CRITICAL,
    }
    forest = forest_to_grow()
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        executor = client.get_executor()
        begin = time.time()
        with get_task_stream(client) as of_trees:
            weald.distribute.fit(forest, X, Y, executor, n_parts=N_PARTS, timeout=300)
        seconds = time.time() - begin
        with get_task_stream(client) as of_labels:
            labels, _ = weald.distribute.predict(
                forest, X, executor, method="predict_topk", k=3, n_parts=3
            )
    bars = [
        (task["worker"], what, step["start"] - begin, step["stop"] - begin)
        for what, tasks in (("trees", of_trees), ("best labels", of_labels))
        for task in tasks.data
        for step in task["startstops"]
        if step["action"] == "compute"
    ]
    return forest, labels, bars, seconds


def draw(bars: list[Bar], seconds: float, seconds_alone: float) -> Any:
    """What each worker did when, and the time of a single process."""
    workers = sorted({worker for worker, *_ in bars})
    names = {worker: f"worker {number}" for number, worker in enumerate(workers, 1)}
    last_trees = max(stop for _, what, _, stop in bars if what == "trees")
    rows = {
        "trees": [(names[who], *when) for who, what, *when in bars if what == "trees"],
        "merge, out-of-bag score": [("this process", last_trees, seconds)],
        "best labels": [
            (names[who], *when) for who, what, *when in bars if what != "trees"
        ],
    }
    rows["trees"].append(("alone", 0.0, seconds_alone))
    order = ["alone", "this process", *reversed(names.values())]
    figure, axis = plt.subplots(figsize=(5.2, 3.5), layout="constrained")
    for colour, (what, found) in zip(("C0", "C2", "C1"), rows.items(), strict=True):
        who, starts, stops = zip(*found, strict=True)
        axis.barh(
            [order.index(name) for name in who],
            np.subtract(stops, starts),
            left=starts,
            height=0.6,
            color=colour,
            edgecolor=axis.get_facecolor(),
            label=what,
        )
    axis.set_yticks(range(len(order)), order)
    axis.tick_params(labelsize=11)
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("seconds", fontsize=11)
    axis.set_title(
        f"{N_TREES} trees in {seconds:.1f} s, alone in {seconds_alone:.1f} s",
        fontsize=12,
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=11)
    return figure


def main() -> None:
    print(
        "Grow a forest on a Dask cluster: three processes grow the trees of one "
        "forest, which is\n"
        "compared with the forest that one process grows."
    )
    X, Y = data()
    forest, labels, bars, seconds = grow_on_cluster(X, Y)
    begin = time.time()
    alone = forest_to_grow().fit(X, Y)
    seconds_alone = time.time() - begin

    print(
        f"\n{f'{N_TREES} trees':20s}{'seconds':>9s}{'out-of-bag score':>18s}{'model':>12s}"
    )
    for name, model, took in (
        ("three processes", forest, seconds),
        ("one process", alone, seconds_alone),
    ):
        kilobytes = len(weald.dumps(model)) / 1000
        print(f"{name:20s}{took:9.1f}{model.oob_score_:18.3f}{kilobytes:9.0f} kB")

    print(f"\n{'worker':20s}{'seconds of trees':>18s}{'of best labels':>16s}")
    for number, worker in enumerate(sorted({worker for worker, *_ in bars}), 1):
        found = [
            sum(
                stop - start
                for who, did, start, stop in bars
                if (who, did) == (worker, what)
            )
            for what in ("trees", "best labels")
        ]
        print(f"{number:<20d}{found[0]:18.2f}{found[1]:16.2f}")

    draw(bars, seconds, seconds_alone)
    plt.show()

    assert weald.dumps(alone) == weald.dumps(forest)
    assert np.array_equal(labels, alone.predict_topk(X, 3)[0])
    print(
        f"\nConclusion: all {len(weald.dumps(forest))} bytes of the two models are "
        "the same, and so"
        f" are the best labels of all {len(labels)} samples."
    )


if __name__ == "__main__":
    main()
