"""Boosting with samples on the workers of a Dask cluster: the same bytes as on one machine, and errors."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import weald
from scipy import sparse
from sklearn.base import clone
from weald._distribute import dask_samples
from weald.distribute import fit

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
db = pytest.importorskip("dask.bag", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
# Each test starts a cluster, or waits for one.
pytestmark = pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.4] = 0
LABELS = (X @ RNG.normal(size=(5, 12)) > 0.5).astype(int)
NUMBERS = X @ RNG.normal(size=5)
WEIGHTS = np.arange(120) % 3 + 1.0
ENDS = [0, 30, 30, 77, 120]
SMALL = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0}
MODEL = weald.GradientBoostingClassifier(**SMALL)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(**options, local_directory=folder) as cluster, distributed.Client(cluster) as client:
        yield client


def as_array(client, *parts, on=(0, 1, 0, 2)):
    """Each array as one of Dask, whose blocks of 30, 0, 47 and 43 samples are on these workers, and of unknown sizes."""
    addresses = sorted(client.nthreads())
    found = []
    for part in parts:
        blocks = [part[start:stop] for start, stop in pairwise(ENDS)]
        futures = [
            client.scatter(block, workers=[addresses[i]], hash=False) for block, i in zip(blocks, on, strict=True)
        ]
        shape, meta = (np.nan, *part.shape[1:]), part[:0]
        found.append(da.concatenate([da.from_delayed(future, shape, meta=meta) for future in futures]))
    return found


def fitted(client, model, *given, **options):
    return fit(clone(model), *given[:2], client, sample_weight=(*given, None)[2], timeout=60, **options)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MODEL, LABELS),
        (weald.GradientBoostingRegressor(**SMALL), NUMBERS),
        (weald.GradientBoostingClassifier(**SMALL), np.where(NUMBERS > 0, "oak", "elm")),
    ],
    ids=["labels", "numbers", "classes"],
)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_bytes_are_those_of_one_machine(client, model, y, layout):
    samples = layout(X)
    expected = weald.dumps(clone(model).fit(samples, y))
    found = clone(model)
    assert fit(found, *as_array(client, samples, y), client, timeout=60) is found
    assert weald.dumps(found) == expected
    # Arrays in the calling process are sent, and an executor of Dask is its client.
    assert weald.dumps(fit(found, samples, y, client.get_executor(), timeout=60)) == expected


def test_samples_stay_on_their_workers_and_are_counted(client):
    given = as_array(client, X, LABELS, WEIGHTS)
    client.run(lambda dask_worker: dask_worker.transfer_incoming_log.clear())
    found = fitted(client, MODEL, *given)
    assert weald.dumps(found) == weald.dumps(clone(MODEL).fit(X, LABELS, WEIGHTS))
    assert [row["n_samples"] for row in sorted(found.workers_, key=lambda row: row["n_samples"])] == [0, 43, 77]
    moved = client.run(lambda dask_worker: [key for log in dask_worker.transfer_incoming_log for key in log["keys"]])
    assert not any(moved.values())


@pytest.mark.parametrize("chunks", [(50, 2), (120, 5), (7, 3)])
def test_chunks_of_columns_are_put_together(client, chunks):
    rows = chunks[0]
    given = da.from_array(X, chunks), da.from_array(LABELS, (rows, 5)), da.from_array(WEIGHTS, rows)
    assert weald.dumps(fitted(client, MODEL, *given)) == weald.dumps(clone(MODEL).fit(X, LABELS, WEIGHTS))
    # Chunks of rows whose sizes are not known.
    there, kept = given[0][:, 0] > 0, X[:, 0] > 0
    unknown = [part[there] for part in given[:2]]
    assert np.isnan(unknown[0].chunks[0]).all()
    assert weald.dumps(fitted(client, MODEL, *unknown)) == weald.dumps(clone(MODEL).fit(X[kept], LABELS[kept]))


def test_names_of_frames_are_those_of_one_machine(client):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=NUMBERS, w=WEIGHTS)
    model = weald.GradientBoostingRegressor(**SMALL)
    parts = dd.from_pandas(frame, npartitions=4)
    found = fitted(client, model, parts[list("abcde")], parts["y"], parts["w"])
    assert found.feature_names_in_.tolist() == list("abcde")
    assert weald.dumps(found) == weald.dumps(clone(model).fit(frame[list("abcde")], frame["y"], frame["w"]))
    # A filter leaves partitions of unknown sizes.
    there = parts[parts.a > 0]
    whole = frame[frame.a > 0]
    found = fitted(client, model, there[list("abcde")], there["y"].to_dask_array())
    assert weald.dumps(found) == weald.dumps(clone(model).fit(whole[list("abcde")], whole["y"].to_numpy()))


def test_failures_are_those_of_the_worker_and_change_nothing(client):
    model = clone(MODEL).fit(X, LABELS)
    before = dict(model.__dict__)
    samples, labels = as_array(client, X, LABELS)
    # As many samples on each worker, and others in each partition.
    other = da.concatenate([labels.blocks[i] for i in (1, 0, 2, 3)])
    spoiled = X.copy()
    spoiled[100, 2] = np.inf
    for given, error in [
        ((samples, other), r"must have the same samples in each partition, got partitions of \[(30, 0|0, 30)\]"),
        ((samples, labels.blocks[:2]), r"X and y must have the same number of partitions, got 4 of X, 2 of y"),
        ((as_array(client, spoiled)[0], labels), "Input X contains infinity"),
        ((samples.blocks[1], labels.blocks[1]), "X must have at least one sample, got none"),
        ((samples, labels.map_blocks(fails, dtype=int)), "no such file"),
    ]:
        with pytest.raises(ValueError, match=error):
            fit(model, *given, client, timeout=60)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is value for name, value in before.items())
    assert weald.dumps(fit(model, samples, labels, client, timeout=60)) == weald.dumps(clone(MODEL).fit(X, LABELS))


def fails(block):
    raise ValueError("no such file")


def test_bad_arguments_are_refused(client):
    samples, labels = as_array(client, X, LABELS)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(TypeError, match=r"executor must be a distributed\.Client for b"),
    ):
        fit(clone(MODEL), X, LABELS, executor)
    for timeout in (0, -1.0, "soon", True):
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds, or None, got"):
            fit(clone(MODEL), samples, labels, client, timeout=timeout)
    for wrong, kind in ((LABELS, "ndarray"), (None, "NoneType"), (db.from_sequence([1]), "Bag")):
        with pytest.raises(
            TypeError, match=rf"y must be a dask.array or dask.dataframe as the others are, got a.* {kind}"
        ):
            fit(clone(MODEL), samples, wrong, client)
    for options, name in (({"n_parts": 3}, "n_parts"), ({"label_names": ["a"]}, "label_names")):
        with pytest.raises(TypeError, match=f"fit of boosting accepts X, y, .*, every, got {name}"):
            fit(clone(MODEL), samples, labels, client, **options)
    with pytest.raises(TypeError, match=r"checkpoint must be a path, a URL of fsspec or None, got"):
        fit(clone(MODEL), samples, labels, client, checkpoint=3)


def kill_one(client, after):
    """A timer that kills the second of the workers, and its address."""
    client.wait_for_workers(3, timeout=60)
    processes = client.run(os.getpid)
    address = sorted(processes)[1]
    timer = threading.Timer(after, os.kill, (processes[address], signal.SIGKILL))
    timer.start()
    return timer, address


def test_a_lost_worker_is_named_and_others_go_on_from_the_checkpoint(client, tmp_path):
    given = [da.from_array(part, (40, -1)) for part in (X, LABELS)]
    long = weald.GradientBoostingClassifier(**SMALL | {"n_estimators": 10_000})
    path = tmp_path / "stages.safetensors"
    timer, address = kill_one(client, 4.0)
    try:
        with pytest.raises((RuntimeError, TimeoutError), match=address):
            fit(long, *given, client, timeout=20, checkpoint=path, every=5)
    finally:
        timer.join()
    assert not hasattr(long, "n_estimators_")
    n_done = weald.load(path).n_estimators_
    assert 5 <= n_done < 10_000
    # The others compute the lost partitions again, and the checkpoint may still be written by a worker that was left.
    long.set_params(n_estimators=n_done + 20)
    found = fit(long, *given, client, timeout=60, checkpoint=path, every=1_000)
    expected = weald.GradientBoostingClassifier(**SMALL | {"n_estimators": n_done + 20}).fit(X, LABELS)
    assert weald.dumps(found) == weald.dumps(expected)
    client.wait_for_workers(3, timeout=60)


def test_a_worker_that_is_slow_comes_to_the_deadline(client):
    addresses = sorted(client.nthreads())
    given = as_array(client, X, LABELS, on=(0, 0, 0, 0))
    # The only thread of the worker that has the samples is busy, so that no task begins there.
    busy = client.submit(time.sleep, 5.0, workers=[addresses[0]], pure=False)
    with pytest.raises(TimeoutError, match=r"^\d of 4 (lengths of )?partitions did not finish within 1\.0 s"):
        fit(clone(MODEL), *given, client, timeout=1.0)
    busy.result(timeout=30)


def test_a_timeout_names_the_worker_that_sent_nothing(client):
    # The first of two workers calls `all_reduce`, the other never does.
    addresses = sorted(client.nthreads())[:2]
    client.run(dask_samples._open_box, "alone", workers=addresses)
    task = client.submit(alone, addresses, workers=[addresses[0]], pure=False)
    with pytest.raises(TimeoutError, match=f"the worker {addresses[1]} sent nothing within 1.0 s"):
        task.result(timeout=30)
    client.run(dask_samples._close_box, "alone", workers=addresses)


def alone(addresses):
    dask_samples._TreeReduce(distributed.get_worker(), addresses, 0, "alone", 1.0)(np.ones(3), "sum")
