"""Boosting with the samples on several workers: the same model as on one machine, byte for byte, and errors."""

import importlib.util
import os
import pickle
import signal
import threading
import warnings
from contextlib import contextmanager

import children
import numpy as np
import pytest
import weald
from scipy import sparse
from sklearn.base import clone
from weald import GradientBoostingClassifier, GradientBoostingRegressor, _weald
from weald._distribute.checkpoints import Checkpoint
from weald.distribute import fit_part
from weald.projection import Projected

N, P, D = 47, 6, 4


class Meeting:
    """Workers in threads that exchange buffers at a barrier, which times out if a worker ends too early."""

    def __init__(self, n_workers):
        self.barrier = threading.Barrier(n_workers, timeout=20)
        self.buffers = [None] * n_workers
        self.n_bytes = self.n_calls = 0

    def all_reduce_of(self, worker):
        def all_reduce(buffer, op):
            assert buffer.ndim == 1
            assert buffer.flags.c_contiguous
            assert buffer.flags.writeable
            assert buffer.dtype in (np.float64, np.int64)
            self.buffers[worker] = (op, buffer.dtype, len(buffer), buffer.copy())
            self.barrier.wait()
            calls = {call[:3] for call in self.buffers}
            found = {"sum": np.sum, "max": np.max}[op]([call[3] for call in self.buffers], axis=0)
            self.barrier.wait()
            assert len(calls) == 1, calls
            buffer[:] = found
            if worker == 0:
                self.n_bytes, self.n_calls = self.n_bytes + buffer.nbytes, self.n_calls + 1

        return all_reduce


def on_workers(n_workers, work):
    """What `work(worker, all_reduce)` returns or raises on each worker, and the meeting."""
    meeting = Meeting(n_workers)
    found = [None] * n_workers

    def run(worker):
        try:
            found[worker] = work(worker, meeting.all_reduce_of(worker))
        except Exception as error:
            found[worker] = error

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, meeting


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 5, (N, P)).astype(np.float32)
    X[X < 0] = 0
    X[:, 1] = rng.normal(size=N)
    X[rng.random((N, P)) < 0.05] = np.nan
    numbers = np.nan_to_num(X[:, :D]) + rng.normal(size=(N, D)).round(1)
    return X, numbers, rng.integers(0, 4, N) / 2


def cut(n_workers, is_empty, seed=0):
    """The indices of the samples of each worker; with `is_empty`, the last workers have none."""
    rng = np.random.default_rng(seed)
    n_full = max(1, n_workers - 2) if is_empty else n_workers
    places = rng.integers(0, n_full, N)
    return [np.flatnonzero(places == worker) for worker in range(n_workers)]


def rows(values, which):
    return None if values is None else values[which]


def fitted_apart(model, X, y, weights, parts):
    def work(worker, all_reduce):
        own = parts[worker]
        return fit_part(
            clone(model), X[own], y[own], all_reduce, n_samples=X.shape[0], sample_weight=rows(weights, own)
        )

    found, meeting = on_workers(len(parts), work)
    for outcome in found:
        if isinstance(outcome, Exception) and not isinstance(outcome, threading.BrokenBarrierError):
            raise outcome
    return found, meeting


def assert_same(model, X, y, weights, parts):
    whole = weald.dumps(clone(model).fit(X, y, weights))
    found, _ = fitted_apart(model, X, y, weights, parts)
    assert [weald.dumps(part) == whole for part in found] == [True] * len(parts)


SMALL = {"n_estimators": 3, "max_leaf_nodes": 5, "random_state": 7, "learning_rate": 0.5}


def of_numbers(numbers):
    return numbers


def of_labels(numbers):
    return (numbers > 1).astype(int)


def of_sparse_labels(numbers):
    return sparse.csr_matrix(of_labels(numbers))


def of_classes(numbers):
    return np.array(["low", "middle", "much higher"])[np.digitize(numbers[:, 0], [0.5, 2.0])]


def of_two(numbers):
    return numbers[:, 0] > 1


Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier

CASES = [
    (Regressor(**SMALL), of_numbers),
    (Regressor(**SMALL, output_strategy="joint", subsample=0.6), of_numbers),
    (Regressor(**SMALL, output_strategy="projected", max_features=2), of_numbers),
    (Regressor(**SMALL, output_strategy=Projected(relabel_leaves=False), subsample=0.5), of_numbers),
    (Classifier(**SMALL, output_strategy=Projected("pca")), of_labels),
    (
        Classifier(**SMALL, output_strategy=Projected("rademacher", 2)),
        of_sparse_labels,
    ),
    (Classifier(**SMALL, output_strategy=Projected("subsample"), subsample=0.7), of_sparse_labels),
    (Classifier(**SMALL, loss="squared_error", output_strategy=Projected(relabel_leaves=False)), of_sparse_labels),
    (Classifier(**SMALL, output_strategy="joint", leaf_estimation="line_search"), of_labels),
    (Classifier(**SMALL, output_strategy="single_target", min_samples_leaf=0.1), of_labels),
    (Classifier(**SMALL, output_strategy="joint", max_bins=4, min_samples_leaf=3), of_classes),
    (Classifier(**SMALL, class_weight={False: 1, True: 2}), of_two),
]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_models_of_workers_are_those_of_one_machine(case, is_sparse):
    model, target_of = CASES[case]
    X, numbers, weights = data(case)
    y = target_of(numbers)
    X = sparse.csr_array(np.nan_to_num(X)) if is_sparse else X
    n_workers = [1, 2, 3, 7][(case + is_sparse) % 4]
    weights = weights if (case + is_sparse) % 3 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(model, X, y, weights, cut(n_workers, case % 2 == 1, case))


@pytest.mark.parametrize("n_workers", [1, 2, 3, 7])
@pytest.mark.parametrize("is_empty", [False, True], ids=["full", "some empty"])
def test_any_cut_gives_one_model(n_workers, is_empty):
    X, numbers, weights = data()
    for seed in range(3):
        parts = cut(n_workers, is_empty, seed)
        assert_same(Regressor(**SMALL, subsample=0.7), X, numbers[:, 0], weights, parts)


def test_classes_that_one_worker_alone_has_are_known_to_all():
    X, numbers, _ = data()
    y = of_classes(numbers)
    parts = [np.flatnonzero(y == name) for name in np.unique(y)]
    model = Classifier(**SMALL)
    assert_same(model, X, y, None, parts)
    found, _ = fitted_apart(model, X, y, None, parts)
    assert [list(part.classes_) for part in found] == [list(np.unique(y))] * 3


def test_a_worker_whose_weights_are_all_zero_has_no_samples():
    X, numbers, _ = data()
    weights = np.ones(N)
    weights[: N // 2] = 0
    assert_same(Regressor(**SMALL), X, numbers, weights, [np.arange(N // 2), np.arange(N // 2, N)])


def test_names_of_frames_are_kept():
    pandas = pytest.importorskip("pandas")
    X, numbers, _ = data()
    frame = pandas.DataFrame(X, columns=[f"feature {j}" for j in range(P)])
    parts = [np.arange(20), np.arange(20, N), np.arange(0)]
    model = Regressor(**SMALL)
    whole = weald.dumps(clone(model).fit(frame, numbers))
    work = lambda worker, all_reduce: fit_part(  # noqa: E731
        clone(model), frame.iloc[parts[worker]], numbers[parts[worker]], all_reduce, n_samples=N
    )
    found, _ = on_workers(3, work)
    assert [weald.dumps(part) == whole for part in found] == [True] * 3


def errors(n_workers, work):
    found, _ = on_workers(n_workers, work)
    return found


def two_parts(change=lambda worker, given: given, n_samples=N, model=None):
    """The errors of two workers, each of which fits the arguments that `change` returns."""
    X, numbers, _ = data()
    X, y = np.nan_to_num(X), numbers[:, 0]
    parts = [np.arange(20), np.arange(20, N)]

    def work(worker, all_reduce):
        own = clone(Regressor(**SMALL) if model is None else model)
        given = {"model": own, "X": X[parts[worker]], "y": y[parts[worker]]}
        given = change(worker, given)
        return fit_part(given["model"], given["X"], given["y"], all_reduce, n_samples=n_samples)

    return errors(2, work)


def test_samples_that_are_missing_are_noticed():
    for found in two_parts(n_samples=N + 1):
        with pytest.raises(
            ValueError, match=f"n_samples must be {N}, the number of samples of all workers, got {N + 1}"
        ):
            raise found


def test_an_all_reduce_that_does_nothing_is_noticed_by_the_number_of_samples():
    X, numbers, _ = data()
    with pytest.raises(ValueError, match="n_samples must be 47, the number of samples of all workers, got 100"):
        fit_part(Regressor(**SMALL), X, numbers, lambda buffer, op: None, n_samples=100)


def test_workers_that_differ_are_refused_on_all():
    def deeper(worker, given):
        given["model"].set_params(max_depth=2 + worker)
        return given

    for found in two_parts(deeper):
        with pytest.raises(
            ValueError, match=r"max_depth must be the same on all workers, got . on worker 0 and . on worker 1"
        ):
            raise found

    def wider(worker, given):
        return given | {"X": given["X"][:, : P - worker]}

    for found in two_parts(wider):
        with pytest.raises(
            ValueError, match=r"the number of features must be the same on all workers, got . on worker 0"
        ):
            raise found


def test_a_worker_that_refuses_its_data_is_named_by_the_others():
    def spoiled(worker, given):
        if worker == 1:
            given["X"] = given["X"].copy()
            given["X"][0, 0] = np.inf
        return given

    other, own = two_parts(spoiled)
    with pytest.raises(ValueError, match=r"^Input X contains infinity|infinity"):
        raise own
    with pytest.raises(ValueError, match=r"worker \d of 2 .* has raised an error for its data: ValueError: .*infinity"):
        raise other
    assert "has raised an error for its data" not in str(own)


def test_what_all_reduce_raises_comes_through_and_the_model_stays():
    X, numbers, _ = data()

    class LostError(Exception):
        pass

    meeting = Meeting(1)
    first = meeting.all_reduce_of(0)
    whole = fit_part(Regressor(**SMALL), X, numbers, first, n_samples=N)
    for fails_at in np.linspace(0, meeting.n_calls - 1, 25).astype(int):
        n_left = [fails_at]

        def all_reduce(buffer, op, n_left=n_left):
            if n_left[0] == 0:
                raise LostError("worker 3 does not answer")
            n_left[0] -= 1

        model = Regressor(**SMALL)
        with pytest.raises(LostError, match="worker 3 does not answer"):
            fit_part(model, X, numbers, all_reduce, n_samples=N)
        assert not hasattr(model, "n_features_in_")
    assert whole.n_estimators_ == 3


REFUSED = [
    (Regressor(**SMALL | {"random_state": None}), "random_state"),
    (Regressor(**SMALL, loss="absolute_error"), "loss"),
    (Regressor(**SMALL, loss="poisson"), "loss"),
    (Regressor(**SMALL, max_bins=None), "max_bins"),
    (Regressor(**SMALL, early_stopping=True), "early_stopping"),
    (Regressor(**SMALL, n_iter_no_change=3), "n_iter_no_change"),
    (Regressor(**SMALL, monotonic_cst=[1] + [0] * (P - 1)), "monotonic_cst"),
    (Regressor(**SMALL, categorical_features=[0]), "categorical_features"),
    (Regressor(**SMALL, init=GradientBoostingRegressor()), "init"),
    (Regressor(**SMALL, callbacks=[lambda *told: None]), "callbacks"),
]


@pytest.mark.parametrize(("model", "name"), REFUSED, ids=[name for _, name in REFUSED])
def test_parameters_that_are_not_supported_are_named_on_all_workers(model, name):
    for found in two_parts(model=model):
        with pytest.raises((ValueError, TypeError), match=name):
            raise found


def test_classifiers_refuse_weights_of_words_and_searches_of_several_classes():
    X, numbers, _ = data()
    for model, y, name in [
        (Classifier(**SMALL, class_weight="balanced"), of_two(numbers), "class_weight"),
        (Classifier(**SMALL, label_weight="balanced"), of_labels(numbers), "label_weight"),
        (Classifier(**SMALL, leaf_estimation="line_search", output_strategy="joint"), of_classes(numbers), "leaf_est"),
    ]:
        with pytest.raises(ValueError, match=name):
            fit_part(model, X, y, lambda buffer, op: None, n_samples=N)


@pytest.mark.parametrize(
    ("model", "of_y"), [(Regressor, of_numbers), (Classifier, of_labels), (Classifier, of_classes)]
)
def test_weights_of_any_size_are_rounded_as_on_one_worker(model, of_y):
    X, numbers, _ = data()
    rng = np.random.default_rng(5)
    for weights in (rng.random(N), rng.random(N) * 10.0 ** rng.integers(-15, 15, N)):
        assert_same(model(**SMALL), X, of_y(numbers), weights, cut(3, is_empty=False))


def test_other_arguments_are_checked():
    X, numbers, _ = data()
    with pytest.raises(TypeError, match=r"estimator must be .*got a RandomForestRegressor"):
        fit_part(weald.RandomForestRegressor(), X, numbers, lambda *_: None, n_samples=N)
    with pytest.raises(TypeError, match=r"all_reduce must be a callable.*got a int"):
        fit_part(Regressor(**SMALL), X, numbers, 3, n_samples=N)
    for n_samples in (0, 1.5, True):
        with pytest.raises(ValueError, match="n_samples"):
            fit_part(Regressor(**SMALL), X, numbers, lambda *_: None, n_samples=n_samples)
    # Each worker draws a positive number, which must be the largest in some round: here the largest is always 0.
    with pytest.raises(RuntimeError, match="must return the same values on all workers"):
        fit_part(Regressor(**SMALL), X, numbers, lambda buffer, op: buffer.fill(0), n_samples=N)


class LostError(RuntimeError):
    """Raised by the tests in place of the error of a lost connection."""


def fit_that_fails(model, X, y, parts, fails_at, **options):
    """Models, errors and number of calls of workers whose all-reduce raises after `fails_at` calls."""
    models = [clone(model) for _ in parts]

    def work(worker, all_reduce):
        n_calls = 0

        def failing(buffer, op):
            nonlocal n_calls
            n_calls += 1
            if n_calls > fails_at:
                raise LostError("the other machine is away")
            all_reduce(buffer, op)

        own = parts[worker]
        return fit_part(models[worker], X[own], y[own], failing, n_samples=X.shape[0], **options)

    found, meeting = on_workers(len(parts), work)
    return models, found, meeting.n_calls


@pytest.mark.parametrize(("model", "kind"), CASES, ids=range(len(CASES)))
def test_after_a_failure_other_workers_go_on_from_the_checkpoint(model, kind, tmp_path):
    X, numbers, _ = data(3)
    y = kind(numbers)
    model = clone(model).set_params(n_estimators=6)
    whole = weald.dumps(clone(model).fit(X, y))
    saved = {"checkpoint": tmp_path / "stages", "every": 2}
    parts = cut(3, False)
    *_, n_calls = fit_that_fails(model, X, y, parts, 10**9, **saved)
    saved["checkpoint"].unlink()
    models, errors, _ = fit_that_fails(model, X, y, parts, int(0.8 * n_calls), **saved)
    for part, error in zip(models, errors, strict=True):
        assert isinstance(error, LostError)
        assert part.__dict__ == clone(model).__dict__
    # The checkpoint is a model like any other, from which `fit` goes on, too.
    done = weald.load(saved["checkpoint"])
    assert 2 <= done.n_estimators_ < 6
    assert done.predict(X).shape == numbers.shape[:1] + y.shape[1:]
    alone = done.set_params(warm_start=True).fit(X, y).set_params(warm_start=False)
    assert weald.dumps(alone) == whole
    for n_workers, seed in ((2, 1), (5, 2)):
        order = np.random.default_rng(seed).permutation(N)
        parts = [order[rows] for rows in cut(n_workers, True, seed)]
        _, found, _ = fit_that_fails(model, X, y, parts, 10**9, **saved)
        assert [weald.dumps(part) == whole for part in found] == [True] * n_workers


KILLED = """
import os, signal, sys, threading
from test_samples_apart import *

X, numbers, weights = data(3)
n_left = [int(sys.argv[2])]


def work(worker, all_reduce):
    def dying(buffer, op):
        n_left[0] -= 1
        if n_left[0] < 0 and os.path.exists(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        all_reduce(buffer, op)

    own = cut(3, False)[worker]
    model = Regressor(**SMALL | {"n_estimators": 9}, subsample=0.6)
    fit_part(model, X[own], numbers[own], dying, n_samples=N, sample_weight=weights[own], checkpoint=sys.argv[1], every=2)


print(on_workers(3, work))
"""


@pytest.mark.slow("python/weald/_distribute")
def test_workers_that_were_all_killed_leave_what_two_others_go_on_from(tmp_path):
    X, numbers, weights = data(3)
    model = Regressor(**SMALL | {"n_estimators": 9}, subsample=0.6)
    whole = weald.dumps(clone(model).fit(X, numbers, weights))
    n_stages = []
    for n_calls in ("0", "3000"):
        path = tmp_path / n_calls
        killed = children.run(KILLED, str(path), n_calls)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith(n_calls)] == [n_calls]
        n_stages.append(weald.load(path).n_estimators_)
        sent = {"checkpoint": path, "every": 3, "n_samples": N}
        two = cut(2, False, seed=1)
        found, _ = on_workers(
            2,
            lambda worker, all_reduce, own=two, sent=sent: fit_part(
                clone(model),
                X[own[worker]],
                numbers[own[worker]],
                all_reduce,
                sample_weight=weights[own[worker]],
                **sent,
            ),
        )
        assert [weald.dumps(part) == whole for part in found] == [True, True]
    assert n_stages[0] == 2 < n_stages[1] < 9
    assert n_stages[1] % 2 == 0


def fit_on(n_workers, X, y, weights=None, model=None, **options):
    """Models or errors of workers."""
    model, parts = Regressor(**SMALL | {"n_estimators": 6}) if model is None else model, cut(n_workers, False)

    def work(worker, all_reduce):
        own = parts[worker]
        sent = options | {"sample_weight": rows(weights, own), "n_samples": len(X)}
        return fit_part(clone(model), X[own], y[own], all_reduce, **sent)

    return on_workers(n_workers, work)[0]


def test_the_first_worker_writes_each_time_and_files_have_no_trace_of_it(tmp_path, monkeypatch):
    X, numbers, _ = data(3)
    written = []
    write = Checkpoint.write
    monkeypatch.setattr(Checkpoint, "write", lambda file, data: (written.append(data), write(file, data)))
    path = "memory://stages/of/this" if importlib.util.find_spec("fsspec") else tmp_path / "stages"
    models = fit_on(3, X, numbers, checkpoint=path, every=2)
    assert [weald.loads(data).n_estimators_ for data in written] == [2, 4]
    # A fit that has all stages, one with more of them, and one from a file that only some workers can read.
    for n_stages, expected in ((4, []), (9, [6, 8])):
        written.clear()
        model = Regressor(**SMALL | {"n_estimators": n_stages})
        found = fit_on(2, X, numbers, model=model, checkpoint=path, every=2)
        assert {weald.dumps(part) for part in found} == {weald.dumps(model.fit(X, numbers))}
        assert [weald.loads(data).n_estimators_ for data in written] == expected
    read, readers = Checkpoint.read, []
    monkeypatch.setattr(Checkpoint, "read", lambda file: None if readers.append(1) or len(readers) != 2 else read(file))
    written.clear()
    found = fit_on(3, X, numbers, model=model, checkpoint=path, every=20)
    assert {weald.dumps(part) for part in found} == {weald.dumps(model)}
    assert found[0].workers_[0]["n_calls"] < models[0].workers_[0]["n_calls"]
    assert written == []
    for part in found:
        assert not hasattr(part, "_checkpoint")
        assert not hasattr(pickle.loads(pickle.dumps(part)), "workers_")
        assert not hasattr(part.set_params(warm_start=True, n_estimators=12).fit(X, numbers), "workers_")


def test_checkpoints_of_other_fits_are_refused_on_all_workers(tmp_path, monkeypatch):
    X, numbers, weights = data(3)
    path = tmp_path / "stages"
    saved = {"checkpoint": path, "every": 2, "weights": weights}
    fit_on(2, X, numbers, **saved)
    before = path.read_bytes()
    other_X, other_y, other_weights = X.copy(), numbers.copy(), weights.copy()
    # Of a sample of weight zero nothing is read.
    there, absent = np.flatnonzero(weights)[5], np.flatnonzero(weights == 0)[0]
    other_X[there] = np.nan_to_num(X[there] + 1)
    X[absent] = np.inf
    other_y[there, 1] += 1e-12
    other_weights[there] += 0.5
    deeper = Regressor(**SMALL | {"n_estimators": 6}, max_depth=2)
    data_of = (
        "checkpoint must be of a fit like this one, got the file .*stages' of a fit with other samples, targets or w"
    )
    for given, options, error in [
        ((other_X, numbers), {}, data_of),
        ((X, other_y), {}, data_of),
        ((X, numbers), {"weights": other_weights}, data_of),
        (
            (X, numbers),
            {"model": deeper},
            r"of a fit with max_depth None in place of 2: delete it, or use another path$",
        ),
        ((X, numbers), {"model": Regressor(**SMALL)}, "of a fit with 4 stages, more than n_estimators=3"),
        ((X, of_labels(numbers)), {"model": Classifier(**SMALL)}, "of a fit with .*"),
    ]:
        for found in fit_on(2, *given, **saved | options):
            with pytest.raises(ValueError, match=error):
                raise found
    monkeypatch.setattr(_weald, "__version__", "99.0")
    for found in fit_on(2, X, numbers, **saved):
        with pytest.raises(ValueError, match=r"of a fit with the version of weald .* in place of 99\.0"):
            raise found
    monkeypatch.undo()
    assert path.read_bytes() == before
    for content, error in (
        (b"nothing", "data: .* valid|valid"),
        (weald.dumps(Regressor(**SMALL).fit(other_X, numbers)), "checkpoint must be a file that fit_part has written"),
    ):
        path.write_bytes(content)
        for found in fit_on(2, X, numbers, **saved):
            with pytest.raises(ValueError, match=error):
                raise found
    for wrong, error in ((3, "checkpoint must be a path"), ({"every": 0}, "every must be")):
        options = wrong if isinstance(wrong, dict) else {"checkpoint": wrong}
        with pytest.raises((TypeError, ValueError), match=error):
            fit_part(Regressor(**SMALL), X, numbers, lambda buffer, op: None, n_samples=N, **options)


def test_a_checkpoint_that_cannot_be_written_ends_the_fit_on_all_workers(tmp_path):
    X, numbers, _ = data(3)
    path = tmp_path / "absent" / "stages"
    found = fit_on(3, X, numbers, checkpoint=path, every=2)
    kinds = {type(error) for error in found}
    assert kinds == {FileNotFoundError, ValueError}
    assert all("absent" in str(error) for error in found)


def test_workers_say_how_long_they_have_waited(monkeypatch):
    X, numbers, _ = data(3)
    parts = cut(3, True)
    found, meeting = fitted_apart(Regressor(**SMALL), X, numbers, None, parts)
    [table] = {str(part.workers_): part.workers_ for part in found}.values()
    assert sorted(row["n_samples"] for row in table) == sorted(map(len, parts))
    for row in table:
        # All but the last calls, by which the workers get the table.
        assert 0 < row["n_calls"] < meeting.n_calls
        assert 8 * row["n_calls"] < row["n_bytes"] < meeting.n_bytes
        assert row["seconds_at_work"] > 0
        assert row["seconds_waiting"] > 0
        assert row["worker"].endswith(f"process {os.getpid()}")
    assert "workers_" not in found[0].__getstate__()


def test_warm_start_wants_the_same_stages_on_every_worker():
    X, numbers, _ = data(3)
    parts = cut(2, False)
    small = Regressor(**SMALL, warm_start=True)

    def outcomes(models):
        def work(worker, all_reduce):
            own = parts[worker]
            return fit_part(models[worker], X[own], numbers[own], all_reduce, n_samples=N)

        return on_workers(2, work)[0]

    fitted = clone(small).fit(X, numbers).set_params(n_estimators=5)
    # A clone of the fitted model has no stages.
    for error in outcomes([fitted, clone(fitted)]):
        assert isinstance(error, ValueError)
        assert "the model has 3 stages on worker" in str(error)
        assert "none on worker" in str(error)
    other = clone(small).fit(X, numbers + 1).set_params(n_estimators=5)
    for error in outcomes([fitted, other]):
        assert isinstance(error, ValueError)
        assert "digest of the stages before" in str(error)
    for error in outcomes([clone(small).fit(X, numbers).set_params(n_estimators=2) for _ in range(2)]):
        assert isinstance(error, ValueError)
        assert "n_estimators must be at least 3 with warm_start=True" in str(error)


class WrongReduce:
    """An all-reduce that returns other values than the workers sent, from some call on."""

    def __init__(self, name, after, seed, right=None):
        self.name, self.left, self.right, self.rng = name, after, right, np.random.default_rng(seed)

    def __call__(self, buffer, op):
        own = buffer.copy()
        if self.right is not None:
            self.right(buffer, op)
        if self.left > 0:
            self.left -= 1
        elif self.name == "shuffled":
            self.rng.shuffle(buffer)
        elif self.name == "own":
            buffer[:] = own
        else:
            wrong = {
                "zeros": 0,
                "ones": 1,
                "doubled": buffer * 2,
                "negative": -buffer,
                "largest": 2**62,
                "less": buffer - 1,
            }
            wrong |= (
                {"NaN": np.nan, "infinite": np.inf} if buffer.dtype == np.float64 else {"NaN": -1, "infinite": 7**9}
            )
            buffer[:] = wrong[self.name]


@contextmanager
def deadline(seconds):
    """Raise TimeoutError in the main thread at its next call of Python code after this time."""

    def ended(*_):
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


WRONG = ["zeros", "ones", "doubled", "negative", "largest", "less", "NaN", "infinite", "shuffled"]


@pytest.mark.parametrize("name", WRONG)
def test_an_all_reduce_that_returns_what_nobody_sent_ends_the_fit(name):
    with deadline(60):
        ended = 0
        for kind, after in enumerate([0, 1, 2, 3, 4, 6, 7, 9, 12, 15, 20, 30, 45, 60, 90]):
            X, numbers, _ = data(after)
            is_labels = kind % 2 == 1
            model = (Classifier if is_labels else Regressor)(**{**SMALL, "subsample": 0.7 if kind % 3 else 1.0})
            y = (numbers > 0.5).astype(int) if is_labels else numbers
            before = dict(model.__dict__)
            try:
                fit_part(model, X, y, WrongReduce(name, after, kind), n_samples=N)
            except (RuntimeError, ValueError) as error:
                ended += isinstance(error, RuntimeError)
                assert model.__dict__ == before
        assert ended >= 8


def test_a_worker_that_gets_only_its_own_values_is_noticed():
    X, numbers, _ = data()
    parts = [np.arange(20), np.arange(20, N)]
    for after in (0, 5, 9, 14, 25):
        meeting, found = Meeting(2), [None, None]

        def run(worker, after=after, meeting=meeting, found=found):
            right = meeting.all_reduce_of(worker)
            wrong = WrongReduce("own", after, 0, right) if worker else right
            try:
                fit_part(Regressor(**SMALL), X[parts[worker]], numbers[parts[worker]], wrong, n_samples=N)
            except (RuntimeError, ValueError, AssertionError) as error:  # the meeting notices different calls itself
                found[worker] = error
                meeting.barrier.abort()

        threads = [threading.Thread(target=run, args=(worker,)) for worker in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[1] is not None


def test_an_all_reduce_that_returns_its_sums_is_refused():
    X, numbers, _ = data(3)
    for returned, name in ((np.ones(1), "ndarray"), ("handle", "str")):
        with pytest.raises(TypeError, match=rf"all_reduce must return None .*, got {name}$"):
            fit_part(Regressor(**SMALL), X, numbers, lambda buffer, op, found=returned: found, n_samples=N)
    fit_part(Regressor(**SMALL), X, numbers, lambda buffer, op: buffer, n_samples=N)


def test_text_in_any_array_is_one_model_and_text_beside_numbers_is_refused():
    X, numbers, _ = data()
    text = np.array(["a", "bb", "ccc"])[np.digitize(numbers[:, 0], [0.5, 2.0])]
    model = GradientBoostingClassifier(**SMALL)
    half = N // 2

    def apart(*targets):
        def work(worker, all_reduce):
            own = slice(worker * half, None if worker else half)
            return fit_part(clone(model), X[own], targets[worker], all_reduce, n_samples=N)

        return on_workers(2, work)[0]

    # Texts of other lengths have other types.
    forms = [text, text.astype("U9"), text.astype(object), text.tolist()]
    for one in forms:
        for other in forms:
            found = apart(one[:half], other[half:])
            # That of all samples together.
            whole = weald.dumps(clone(model).fit(X, np.concatenate([one[:half], other[half:]])))
            assert [weald.dumps(part) == whole for part in found] == [True, True]
    codes = np.digitize(numbers[:, 0], [0.5, 2.0])
    for one, other in ((codes, text), (text.astype(object), codes.astype(float)), (codes > 0, text)):
        for error in apart(one[:half], other[half:]):
            assert isinstance(error, ValueError)
            assert "y must have classes of one type on all workers, got" in str(error)
            assert {"numbers", "text"} <= set(str(error).split())
    for error in apart(text[:half], text[half:].astype(bytes)):
        assert {"bytes", "text"} <= set(str(error).split())
    # Numbers of any type are numbers, as objects, too.
    as_objects = apart(codes[:half].astype(object), codes[half:])
    assert [part.classes_.tolist() for part in as_objects] == [[0, 1, 2]] * 2
    found = apart(codes[:half], codes[half:].astype(float))
    assert found[0].classes_.tolist() == [0, 1, 2]
    assert weald.dumps(found[0]) == weald.dumps(found[1])
