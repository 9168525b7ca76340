"""Sixteen threads at once, and processes started in every way after a fit in the parent: same bits, and no hang."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import children
import numpy as np
import pytest
from conftest import ALL, BOOSTING, COMPRESSED, make, make_data, model_bytes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from weald.projection import Projected

ENSEMBLES = [*ALL, *BOOSTING, *COMPRESSED]


@pytest.mark.parametrize("name", ENSEMBLES)
def test_sixteen_threads_fit_and_predict_what_one_does(name):
    X, y = make_data(name, n=60)
    # Compression is by far the slowest, so that it follows a single path.
    params = {"l1_norm": 0.5} if name in COMPRESSED else {"n_jobs": 2} if name in ENSEMBLES[4:] else {}
    model = make(name, **params).fit(X, y)
    more = np.tile(X, (5, 1))

    def results(i):
        if i % 2:
            return children.digest(model.predict(more))
        return children.digest(model_bytes(make(name, **params).fit(X, y)))

    expected = [results(0), results(1)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(results, range(200))) == expected * 100


def test_weak_models_from_threads():
    X, y = make_data("GradientBoostingRegressor", n=300)
    params = {"estimator": LinearRegression(), "output_strategy": Projected(relabel_leaves=False), "n_jobs": 2}
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: make("GradientBoostingRegressor", **params).fit(X, y), range(16)))
    assert len({model_bytes(model) for model in models}) == 1


def test_stages_from_sixteen_threads():
    X, y = make_data("GradientBoostingRegressor", n=300)
    model = make("GradientBoostingRegressor", n_jobs=2).fit(X, y)
    expected = children.digest(*model.staged_predict(X))
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: children.digest(*model.staged_predict(X)), range(100))) == {expected}


def test_staged_scores_can_be_taken_from_several_threads():
    X, y = make_data("GradientBoostingRegressor", n=300)
    model = make("GradientBoostingRegressor", n_estimators=50).fit(X, y)
    stages = model._model.staged_scores(X.astype(np.float32), 1)

    def take(_):
        try:
            return next(stages, None)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        taken = [part for part in pool.map(take, range(200)) if part is not None]
    assert all("another thread" in part for part in taken if isinstance(part, str))
    assert sum(not isinstance(part, str) for part in taken) <= 50


NAMES = [
    "DecisionTreeClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    *BOOSTING,
    "CompressedForestRegressor",
]


@pytest.mark.slow("crates/weald/src/pool.rs", "crates/weald-py/src", "python/weald/_fit")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn", "loky"])
def test_processes_after_a_fit_in_the_parent(method):
    # A fork could hang because the parent has other threads; Python 3.12 warns of that, and the warning is ignored.
    code = """
    import multiprocessing, sys, warnings
    from children import fit_and_predict

    if __name__ == "__main__":
        method, *names = sys.argv[1:]
        expected = [fit_and_predict(name) for name in names]
        warnings.simplefilter("ignore", DeprecationWarning)
        if method == "loky":
            from joblib import Parallel, delayed
            found = Parallel(2, backend="loky")(delayed(fit_and_predict)(name) for name in names)
        else:
            with multiprocessing.get_context(method).Pool(2) as pool:
                found = pool.map(fit_and_predict, names, chunksize=1)
        assert found == expected, (found, expected)
        assert [fit_and_predict(name) for name in names] == expected
        print("fine")
    """
    done = children.run(code, method, *NAMES, timeout=60)
    assert done.stdout == "fine\n", done.stderr[-2000:]


def test_other_threads_go_on_while_models_become_bytes_and_importances_and_values():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 5), dtype=np.float32)
    Y = rng.random((20_000, 20))
    forest = make("ExtraTreesRegressor").fit(X, Y)
    tree = make("ExtraTreeRegressor").fit(X, Y)
    boosted = make("GradientBoostingRegressor", n_estimators=100, max_depth=12, max_leaf_nodes=None).fit(X, Y[:, 0])
    path = make("CompressedForestRegressor", estimator=FrozenEstimator(forest), l1_norm=None, max_steps=50, cv=2)
    compressed = path.fit(X[:2_000], Y[:2_000])
    models = {"forest": forest._forest, "boosted": boosted._model, "compressed": compressed._model}
    assert all(hasattr(model, "to_bytes") for model in models.values())
    saved = {kind: model.to_bytes() for kind, model in models.items()}
    work = {f"to_bytes of {kind}": model.to_bytes for kind, model in models.items()}
    work |= {f"from_bytes of {kind}": lambda kind=kind: type(models[kind]).from_bytes(saved[kind]) for kind in models}
    work["importances of all outputs"] = lambda: models["forest"].feature_importances(list(range(20)))
    work["values"] = tree.tree_._tree.value
    before = sys.getswitchinterval()
    try:
        # With this interval, a thread keeps the interpreter for an hour, unless it releases it by itself.
        sys.setswitchinterval(3600)
        assert {name for name, call in work.items() if not _others_go_on(call)} == set()
    finally:
        sys.setswitchinterval(before)


def _others_go_on(call):
    """Whether another thread, which waits for its turn, runs between the beginning and the end of some calls.

    Only the calls themselves release the interpreter here. On a busy machine the other thread may take some time.
    """
    there, turn, state, found = threading.Event(), threading.Event(), ["under way"], []

    def other():
        there.set()
        turn.wait()
        found.extend(state)

    thread = threading.Thread(target=other)
    thread.start()
    there.wait()
    turn.set()
    last = time.monotonic() + 20
    while not found and time.monotonic() < last:
        call()
    state[0] = "ended"
    thread.join()
    return found == ["under way"]


@pytest.mark.slow("crates/weald/src/pool.rs", "crates/weald-py/src", "python/weald/_fit")
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted as Linux shows them")
def test_no_more_threads_are_started_than_there_is_work_for():
    code = """
    import os, numpy as np, weald

    X = np.random.default_rng(0).random((300, 5), dtype=np.float32)
    before = len(os.listdir("/proc/self/task"))
    weald.RandomForestRegressor(2, n_jobs=3000).fit(X, X[:, 0])
    after_two = len(os.listdir("/proc/self/task"))
    weald.RandomForestRegressor(3000, n_jobs=3000).fit(X, X[:, 0])
    after_many = len(os.listdir("/proc/self/task"))
    print(after_two - before, after_many - after_two <= max(64, os.cpu_count()))
    """
    done = children.run(code, timeout=60)
    # The calling thread is one of the two.
    assert done.stdout == "1 True\n", (done.stdout, done.stderr[-2000:])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_has_the_models_of_its_parent():
    code = """
    import os, signal, numpy as np, weald, warnings
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 20)), rng.integers(0, 3, 3000)
    model = weald.RandomForestClassifier(n_estimators=30, n_jobs=4, random_state=0).fit(X, y)
    expected = model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        same = (model.predict(X) == expected).all()
        again = weald.RandomForestClassifier(n_estimators=30, n_jobs=4, random_state=0).fit(X, y)
        same &= again._forest.to_bytes() == model._forest.to_bytes()
        # A fork of a fork, with a pool of its parent's that has no threads here.
        grandchild = os.fork()
        if grandchild == 0:
            signal.alarm(30)
            os._exit(0 if (model.predict(X) == expected).all() else 1)
        same &= os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (model.predict(X) == expected).all()
    print("fine")
    """
    done = children.run(code, timeout=90)
    assert done.stdout == "fine\n", done.stderr[-2000:]
