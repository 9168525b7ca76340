"""Boosting with samples on the workers of a Dask cluster: the same bytes as on one machine, and errors."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
import weald
from scipy import sparse
from sklearn.base import clone
from weald._distribute import dask_samples
from weald.distribute import fit_samples

dask = pytest.importorskip("distributed", reason="Dask is not installed")
# Each test starts a cluster, or waits for one.
pytestmark = pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.4] = 0
LABELS = (X @ RNG.normal(size=(5, 12)) > 0.5).astype(int)
NUMBERS = X @ RNG.normal(size=5)
SMALL = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0}
MODEL = weald.GradientBoostingClassifier(**SMALL)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    folder = str(tmp_path_factory.mktemp("dask"))
    with dask.LocalCluster(**options, local_directory=folder) as cluster, dask.Client(cluster) as client:
        yield client


def cut(*parts):
    """Blocks of the samples of each array, with 30, 0, 47 and 43 samples."""
    ends = [0, 30, 30, 77, 120]
    return [tuple(part[start:stop] for part in parts) for start, stop in pairwise(ends)]


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
    assert fit_samples(found, cut(samples, y), client, timeout=60) is found
    assert weald.dumps(found) == expected


def test_blocks_stay_on_their_workers_and_may_have_weights(client):
    w = np.arange(120) % 3 + 1.0
    addresses = sorted(client.nthreads())
    blocks = [
        client.submit(tuple, block, workers=[addresses[i % 2]], pure=False) for i, block in enumerate(cut(X, LABELS, w))
    ]
    found = fit_samples(clone(MODEL), blocks, client, timeout=60)
    assert weald.dumps(found) == weald.dumps(clone(MODEL).fit(X, LABELS, w))
    # Without weights, samples have a weight of 1.
    w[:77] = 1
    first, second, third, last = cut(X, LABELS, w)
    found = fit_samples(clone(MODEL), [first[:2], second, third[:2], last], client, timeout=60)
    assert weald.dumps(found) == weald.dumps(clone(MODEL).fit(X, LABELS, w))


def test_failures_are_those_of_the_worker_and_change_nothing(client):
    blocks = cut(X, LABELS)
    model = clone(MODEL).fit(X, LABELS)
    before = dict(model.__dict__)
    wrong = {
        "number of features must be the same on all workers": (blocks[2][0][:, :4], blocks[2][1]),
        "and y the same number of samples": (blocks[2][0], blocks[2][1][:-1]),
    }
    for message, block in wrong.items():
        with pytest.raises(ValueError, match=message):
            fit_samples(model, [*blocks[:2], block, blocks[3]], client, timeout=60)
    with pytest.raises(ValueError, match="blocks must have at least one sample, got none"):
        fit_samples(model, [(X[:0], LABELS[:0])], client, timeout=60)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is value for name, value in before.items())
    assert weald.dumps(fit_samples(model, blocks, client, timeout=60)) == weald.dumps(clone(MODEL).fit(X, LABELS))


def test_bad_arguments_are_refused(client):
    blocks = cut(X, LABELS)
    with pytest.raises(TypeError, match=r"estimator must be GradientBoosting.*, got a RandomForestClassifier"):
        fit_samples(weald.RandomForestClassifier(), blocks, client)
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client, got a int"):
        fit_samples(clone(MODEL), blocks, 3)
    for timeout in (0, -1.0, "soon", float("inf"), True):
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds, got"):
            fit_samples(clone(MODEL), blocks, client, timeout=timeout)
    for wrong in ([], X, None):
        with pytest.raises(TypeError, match="blocks must be a list of"):
            fit_samples(clone(MODEL), wrong, client)
    with pytest.raises(TypeError, match=r"blocks\[0\] must be \(X, y\) .*, got a ndarray"):
        fit_samples(clone(MODEL), [X], client)
    with pytest.raises(RuntimeError, match="a block is not available"):
        fit_samples(clone(MODEL), [client.submit(int, "no number", pure=False)], client)


def test_a_lost_worker_is_named_and_the_cluster_goes_on(client):
    processes = client.run(os.getpid)
    addresses = sorted(processes)
    long = weald.GradientBoostingClassifier(**SMALL | {"n_estimators": 10_000})
    blocks = [
        client.submit(tuple, (X[i::3], LABELS[i::3]), workers=[address], pure=False)
        for i, address in enumerate(addresses)
    ]
    dask.wait(blocks, timeout=60)
    timer = threading.Timer(1.0, os.kill, (processes[addresses[1]], signal.SIGKILL))
    timer.start()
    try:
        with pytest.raises((RuntimeError, TimeoutError), match=addresses[1]):
            fit_samples(long, blocks, client, timeout=20)
    finally:
        timer.join()
    client.wait_for_workers(3, timeout=60)
    found = fit_samples(clone(MODEL), cut(X, LABELS), client, timeout=60)
    assert weald.dumps(found) == weald.dumps(clone(MODEL).fit(X, LABELS))


def test_a_worker_that_is_slow_comes_to_the_deadline(client):
    blocks = cut(X, LABELS)
    addresses = sorted(client.nthreads())
    futures = client.scatter(blocks[:1], workers=[addresses[1]]) + client.scatter(blocks[2:3], workers=[addresses[0]])
    # The only thread of this worker is busy, so that no task of the fit begins there.
    busy = client.submit(time.sleep, 3.0, workers=[addresses[0]], pure=False)
    with pytest.raises(
        TimeoutError, match=rf"^1 of 2 lengths .* did not finish within 1\.0 s: workers {addresses[0]}$"
    ):
        fit_samples(clone(MODEL), futures, client, timeout=1.0)
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
    dask_samples._TreeReduce(dask.get_worker(), addresses, 0, "alone", 1.0)(np.ones(3), "sum")


@pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")
def test_stages_that_were_done_go_on_without_the_lost_worker(client):
    client.wait_for_workers(3, timeout=60)
    processes = client.run(os.getpid)
    addresses = sorted(processes)
    long = weald.GradientBoostingClassifier(**SMALL | {"n_estimators": 10_000})
    blocks = [
        client.submit(tuple, (X[i::3], LABELS[i::3]), workers=[address], pure=False)
        for i, address in enumerate(addresses)
    ]
    timer = threading.Timer(3.0, os.kill, (processes[addresses[1]], signal.SIGKILL))
    timer.start()
    try:
        with pytest.raises((RuntimeError, TimeoutError), match=addresses[1]) as raised:
            fit_samples(long, blocks, client, timeout=20, keep_stages=True)
    finally:
        timer.join()
    n_done = long.n_estimators_
    assert f"the {n_done} stages that were done" in raised.value.__notes__[0]
    assert 0 < n_done < 10_000
    order = [i for part in range(3) for i in range(part, 120, 3)]
    whole = weald.GradientBoostingClassifier(**SMALL | {"n_estimators": n_done + 2}).fit(X[order], LABELS[order])
    long.set_params(n_estimators=n_done + 2, warm_start=True)
    client.wait_for_workers(3, timeout=60)
    fit_samples(long, cut(X[order], LABELS[order]), client, timeout=60)
    assert weald.dumps(long.set_params(warm_start=False)) == weald.dumps(whole)
