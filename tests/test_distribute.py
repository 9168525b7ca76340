"""Work that executors carry out: the same bytes as on one machine, lost tasks, deadlines."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
import weald
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from weald import distribute
from weald._distribute import executors

RNG = np.random.default_rng(11)
X = sp.csr_matrix(RNG.integers(0, 3, size=(60, 8)) * (RNG.random((60, 8)) < 0.5), dtype=np.float32)
LABELS = sp.csr_matrix((X @ RNG.normal(size=(8, 5)) > 0.7).astype(np.int8))
NUMBERS = X @ RNG.normal(size=(8, 2))
MODELS = {
    "forest": (weald.RandomForestClassifier(9, random_state=0), LABELS),
    "numbers": (weald.ExtraTreesRegressor(9, random_state=1, bootstrap=True, oob_score=True), NUMBERS),
    "centroids": (weald.CentroidForestClassifier(9, random_state=2), LABELS),
}
SPAWN = multiprocessing.get_context("spawn")


class InTurn(Executor):
    """An executor that runs tasks at once; the first `n_lost` tasks end with an error of the worker."""

    def __init__(self, n_lost=0, result=None):
        self.n_lost, self.result, self.n_tasks = n_lost, result, 0

    def submit(self, function, *arguments):
        future = Future()
        self.n_tasks += 1
        try:
            if self.n_tasks <= self.n_lost:
                raise ConnectionError("the worker is gone")
            future.set_result(self.result(function(*arguments)) if self.result else function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future


class Never(Executor):
    """An executor that never starts a task."""

    def __init__(self):
        self.futures = []

    def submit(self, function, *arguments):
        self.futures.append(Future())
        return self.futures[-1]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_parts", [1, 2, 4, 50])
@pytest.mark.parametrize("name", MODELS)
def test_fits_are_byte_for_byte_those_of_one_machine(name, n_parts):
    model, y = MODELS[name]
    expected = weald.dumps(clone(model).fit(X, y))
    with ThreadPoolExecutor(3) as threads:
        for executor in (threads, InTurn(), InTurn(n_lost=2)):
            found = clone(model)
            assert distribute.fit(found, X, y, executor, n_parts=n_parts) is found
            assert weald.dumps(found) == expected


@pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")
def test_processes_give_the_same_bytes():
    model, y = MODELS["forest"]
    weights = np.arange(60) % 4
    names = np.array(list("abcde"))
    expected = clone(model).fit(X, y, weights, label_names=names)
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        found = distribute.fit(clone(model), X, y, executor, sample_weight=weights, label_names=names, timeout=120)
        assert weald.dumps(found) == weald.dumps(expected)
        indices, scores = distribute.predict(found, X, executor, method="predict_topk", k=2)
    assert np.array_equal(indices, expected.predict_topk(X, 2)[0])
    assert np.array_equal(scores, expected.predict_topk(X, 2)[1])


@pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")
def test_dask_gives_the_same_bytes_when_a_worker_is_killed(tmp_path):
    dask = pytest.importorskip("distributed", reason="Dask is not installed")
    slow = weald.RandomForestClassifier(300, random_state=0)
    expected = weald.dumps(clone(slow).fit(X, LABELS))
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.LocalCluster(**options, local_directory=str(tmp_path)) as cluster,
        dask.Client(cluster) as client,
    ):
        marker = tmp_path / "killed"
        model = KillsAWorker(marker=str(marker), **slow.get_params())
        found = distribute.fit(model, X, LABELS, client, n_parts=12, timeout=120)
        assert marker.exists()
    forest = clone(slow)
    forest.__dict__ = {name: value for name, value in vars(found).items() if name != "marker"}
    assert weald.dumps(forest) == expected


class KillsAWorker(weald.RandomForestClassifier):
    """A forest whose first part ends the process that grows it; the file `marker` records that this has happened."""

    def __init__(self, *, marker="", n_estimators=100, random_state=None, **others):
        super().__init__(n_estimators, random_state=random_state, **others)
        self.marker = marker

    @classmethod
    def _get_param_names(cls):
        return sorted([*weald.RandomForestClassifier._get_param_names(), "marker"])

    def fit(self, *args, **kwargs):
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().fit(*args, **kwargs)
        return os.kill(os.getpid(), signal.SIGKILL)


def test_topk_of_pipelines_and_of_blocks():
    forest = weald.RandomForestClassifier(5, random_state=0)
    pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), forest).fit(X, LABELS)
    expected = weald.topk(pipeline, X, 3)
    for rows in (X, X.tocsc(), X.toarray()):
        for n_parts in (1, 7, 100):
            found = distribute.predict(pipeline, rows, InTurn(), method="predict_topk", k=3, n_parts=n_parts)
            assert np.array_equal(found[0], expected[0])
            assert np.array_equal(found[1], expected[1])
    expected = weald.topk(pipeline, X, 3, exclude=LABELS)
    for exclude in (LABELS, LABELS.tocoo(), LABELS.toarray()):
        for n_parts in (1, 7, 100):
            options = {"method": "predict_topk", "k": 3, "exclude": exclude, "n_parts": n_parts}
            found = distribute.predict(pipeline, X, InTurn(), **options)
            assert np.array_equal(found[0], expected[0])
            assert np.array_equal(found[1], expected[1])
        with pytest.raises(ValueError, match=rf"^exclude must have {X.shape[0]} rows, one for each sample of X, got 2"):
            distribute.predict(pipeline, X, InTurn(), method="predict_topk", k=3, exclude=LABELS[:2])
    with pytest.raises(ValueError, match="k"):
        distribute.predict(pipeline, X, InTurn(), method="predict_topk", k=6)


@pytest.mark.parametrize(
    "model",
    [
        weald.GradientBoostingRegressor(n_estimators=5, random_state=0),
        weald.CompressedForestRegressor(weald.ExtraTreesRegressor(3, random_state=0), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_settings_are_scored_as_by_cross_validate(model):
    y = NUMBERS[:, 0]
    key = "learning_rate" if hasattr(model, "learning_rate") else "max_test_nodes"
    settings = [{key: value} for value in ((0.1, 0.5) if key == "learning_rate" else (3, 9))]
    cv = KFold(3, shuffle=True, random_state=0)
    found = distribute.cross_validate(model, X, y, InTurn(n_lost=1), settings=settings, cv=cv)
    for i, setting in enumerate(settings):
        expected = weald.model_selection.cross_validate(clone(model).set_params(**setting), X, y, cv=cv)
        assert np.array_equal(found["test_score"][i], expected["test_score"])
    assert found["best_index"] == int(found["mean_test_score"].argmax())
    assert found["settings"] == settings


def test_folds_of_sparse_labels():
    model = weald.RandomForestClassifier(3, random_state=0)
    found = distribute.cross_validate(model, X, LABELS, InTurn(), cv=2, scoring="f1_micro")
    expected = weald.model_selection.cross_validate(model, X, LABELS, cv=2, scoring="f1_micro")
    assert np.array_equal(found["test_score"][0], expected["test_score"])


def test_lost_tasks_run_again_and_not_for_ever():
    model, y = MODELS["forest"]
    executor = InTurn(n_lost=3)
    distribute.fit(clone(model), X, y, executor, n_parts=2, max_retries=2)
    assert executor.n_tasks == 5
    unfitted = clone(model)
    with pytest.raises(RuntimeError, match=r"trees 0 to 8 failed 2 times: ConnectionError\('the worker is gone'\)"):
        distribute.fit(unfitted, X, y, InTurn(n_lost=9), n_parts=1, max_retries=1)
    assert not hasattr(unfitted, "n_features_in_")


def test_a_deadline_names_what_is_not_there_and_cancels_it():
    model, y = MODELS["forest"]
    executor = Never()
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"trees 0 to 0, trees 1 to 1, trees 2 to 2 and 6 more"):
        distribute.fit(clone(model), X, y, executor, n_parts=9, timeout=0.05)
    assert time.monotonic() - start < 30
    assert all(future.cancelled() for future in executor.futures)


def test_an_interrupt_cancels_what_has_not_started(monkeypatch):
    model, y = MODELS["forest"]
    executor = Never()

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(executors, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        distribute.fit(clone(model), X, y, executor, n_parts=3)
    assert len(executor.futures) == 3
    assert all(future.cancelled() for future in executor.futures)


class NoFutures:
    def submit(self, function, *arguments):
        return function(*arguments)


@pytest.mark.parametrize(
    ("executor", "options", "error", "message"),
    [
        (3, {}, TypeError, "executor must be an object with a method submit, got a int"),
        (NoFutures(), {}, TypeError, "must return a concurrent.futures.Future"),
        (InTurn(result=lambda _: None), {}, RuntimeError, "returned nothing for trees"),
        (InTurn(), {"n_parts": 0}, ValueError, "n_parts must be a positive integer or None, got 0"),
        (InTurn(), {"n_parts": 1.5}, TypeError, r"n_parts must be a positive integer or None, got 1\.5"),
        (InTurn(), {"timeout": 0}, ValueError, "timeout must be a positive number of seconds, or None, got 0"),
        (InTurn(), {"max_retries": -1}, ValueError, "max_retries must be an integer of at least 0, got -1"),
        (InTurn(), {"sample_weight": [1.0]}, ValueError, "sample_weight"),
    ],
)
def test_bad_executors_and_options_are_named(executor, options, error, message):
    model, y = MODELS["forest"]
    model = clone(model)
    with pytest.raises(error, match=message):
        distribute.fit(model, X, y, executor, **options)
    assert not hasattr(model, "n_features_in_")


def test_an_executor_that_was_shut_down_and_wrong_estimators():
    model, y = MODELS["forest"]
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="the executor does not run trees 0 to 8: "):
        distribute.fit(clone(model), X, y, executor)
    with pytest.raises(TypeError, match=r"executor must be a distributed.Client for boosting, got a InTurn"):
        distribute.fit(weald.GradientBoostingRegressor(), X, NUMBERS, InTurn())
    with pytest.raises(
        ValueError, match="random_state must be an integer with trees, since all parts use the same seed, got None"
    ):
        distribute.fit(weald.RandomForestClassifier(), X, y, InTurn())
    with pytest.raises(ValueError, match="settings must have at least one dict of parameters, got none"):
        distribute.cross_validate(model, X, y, InTurn(), settings=[])
    with pytest.raises(TypeError, match=r"scoring must be .*got a dict"):
        distribute.cross_validate(model, X, y, InTurn(), scoring={"a": "f1"})


class Others:
    """A model whose methods return all kinds of things."""

    def fit(self, X, y):
        return self

    def pair(self, X):
        return X[:, 0], X[:, 1:]

    def constant(self, X):
        return np.arange(10)

    def pair_with_a_constant(self, X):
        return X[:, 0], np.arange(10)

    def transposed(self, X):
        return X.T

    def number(self, X):
        return float(X.sum())

    def zero_dimensions(self, X):
        return np.asarray(X.sum())

    def generator(self, X):
        return (row for row in X)

    def of_samples(self, X):
        return [str(row) for row in X]

    def dictionary(self, X):
        return {"a": X[:, 0]}

    def named(self, X):
        return Pair(X[:, 0], X[:, 1])


class Pair(NamedTuple):
    one: np.ndarray
    other: np.ndarray


@pytest.mark.parametrize("n_parts", [1, 2, 3, 4, 10])
def test_results_are_joined_only_if_they_have_a_row_for_each_sample(n_parts):
    X = np.random.default_rng(0).normal(size=(40, 4))  # ten samples in each of four blocks
    model = Others()
    with ThreadPoolExecutor(2) as executor:

        def apart(method, model=model):
            return distribute.predict(model, X, executor, method=method, n_parts=n_parts)

        for found, expected in ((apart("pair"), model.pair(X)), (apart("named"), model.named(X))):
            assert type(found) is type(expected)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
        for method in (
            "constant",
            "pair_with_a_constant",
            "transposed",
            "number",
            "zero_dimensions",
            "generator",
            "of_samples",
            "dictionary",
        ):
            with pytest.raises(TypeError, match=f"method must return arrays with a row for each sample, but {method}"):
                apart(method)
        forest = weald.RandomForestClassifier(9, random_state=0).fit(X, X[:, 0] > 0)
        with pytest.raises(TypeError, match="but decision_path returned an array of shape"):
            apart("decision_path", forest)
        np.testing.assert_array_equal(apart("apply", forest), forest.apply(X))
        tree = weald.DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] > 0)
        np.testing.assert_array_equal(apart("decision_path", tree).toarray(), tree.decision_path(X).toarray())
