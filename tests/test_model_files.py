"""`spinney.save`, `load` and `inspect_model`: everything comes back, and nothing that is not right does."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
import spinney
from conftest import ALL, BOOSTING, COMPRESSED, FORESTS, make, make_data, model_bytes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from spinney import _spinney, projection

EVERY = ALL + BOOSTING + COMPRESSED
OUTPUTS = [(name, "single") for name in EVERY] + [(name, "several") for name in EVERY]
OUTPUTS += [(name, "labels") for name in EVERY if name.endswith("Classifier")]


def fitted(name, outputs="single", **params):
    X, y = make_data(name, outputs=outputs)
    return make(name, **params).fit(X, y), X


def again(model, path, **options):
    spinney.save(model, path)
    return spinney.load(path, **options)


def assert_same(one, other, X):
    """The same estimator: parameters, fitted attributes, predictions."""
    assert type(one) is type(other)
    assert model_bytes(one) == model_bytes(other)
    assert re.sub(" at 0x[0-9A-F]+", "", repr(one)) == re.sub(" at 0x[0-9A-F]+", "", repr(other))
    found, expected = (model.predict(X) for model in (one, other))
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_array_equal(found, expected)
    states = [model.__getstate__() for model in (one, other)]
    assert states[0].keys() == states[1].keys()
    for key in states[0]:
        assert type(states[0][key]) is type(states[1][key]), key
    for key in ("classes_", "n_classes_", "feature_names_in_", "path_", "oob_score_", "train_score_"):
        if key in states[0]:
            np.testing.assert_equal(states[0][key], states[1][key])


# --- what is saved comes back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_every_estimator_comes_back_and_saves_to_the_same_bytes(name, outputs, tmp_path):
    model, X = fitted(name, outputs)
    path = tmp_path / "model.safetensors"
    loaded = again(model, path)
    assert_same(loaded, model, X)
    first = path.read_bytes()
    spinney.save(model, path)
    assert path.read_bytes() == first
    spinney.save(loaded, str(path))
    assert path.read_bytes() == first
    assert_same(spinney.load(os.fspath(path), mmap_mode="r"), model, X)
    about = spinney.inspect_model(path)
    assert about["n_bytes"] == len(first)
    assert json.loads(about["estimator"])["class"] == name
    assert about["n_features"] == X.shape[1]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingClassifier", "CompressedForestClassifier"])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_labels_come_back_as_they_were(name, container, labels, tmp_path):
    X, Y = labels
    model = make(name).fit(X, container(Y).astype(np.float32))
    loaded = again(model, tmp_path / "model")
    assert_same(loaded, model, X)
    assert type(loaded.predict(X)) is type(model.predict(X))


CLASSES = {
    "strings": np.array(["b", "a", "cc"]),
    "objects": np.array(["b", "a", "\u00fc\ud800"], dtype=object),
    "integers": np.array([-5, 3, 2**40]),
    "bytes": np.array([0, 200, 7], dtype=np.uint8),
    "floats": np.array([-0.5, 1.0, 7.0]).round(),
    "bools": np.array([False, True, True]),
    "big-endian": np.array([1, 5, 3], dtype=">i4"),
    "numbers as objects": np.array([3, 1, 2], dtype=object),
    "many": np.arange(300),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_of_any_type_come_back(kind, tmp_path):
    X, _ = make_data("RandomForestClassifier", n=600)
    classes = CLASSES[kind]
    y = classes[np.arange(600) % len(classes)]
    try:
        model = make("RandomForestClassifier").fit(X, y)
    except ValueError:
        pytest.skip("scikit-learn does not take these as classes")
    loaded = again(model, tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_names_of_features_and_out_of_bag_arrays_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    for name in FORESTS:
        X, y = make_data(name, n=200)
        X = pd.DataFrame(X, columns=[f"f{i} \u00e9" for i in range(X.shape[1])])
        model = make(name, bootstrap=True, oob_score=True, n_estimators=3).fit(X, y)
        loaded = again(model, tmp_path / "model")
        assert_same(loaded, model, X)
        for key in ("oob_decision_function_", "oob_prediction_"):
            if hasattr(model, key):  # NaN included
                np.testing.assert_array_equal(getattr(loaded, key), getattr(model, key))
        # Out-of-bag scores and draws are part of the fit that goes on.
        for part in (model, loaded):
            part.set_params(warm_start=True, n_estimators=6).fit(X, y)
        assert_same(loaded, model, X)


PARAMS = [
    ("RandomForestClassifier", "labels", {"class_weight": "balanced"}),
    ("RandomForestClassifier", "single", {"class_weight": {"c": 2.0, "a": 1, "b": np.float32(0.1)}}),
    ("RandomForestClassifier", "several", {"class_weight": [{0: 1, 1: 2, 2: 1}] * 3}),
    ("RandomForestRegressor", "single", {"max_features": np.int64(3), "max_samples": np.float64(0.5)}),
    ("RandomForestRegressor", "single", {"random_state": np.random.RandomState(3), "min_samples_leaf": 0.1}),
    ("RandomForestRegressor", "single", {"random_state": 2**32 - 1, "max_leaf_nodes": 2**70, "n_jobs": 2}),
    ("RandomForestRegressor", "several", {"output_projection": "gaussian", "n_projections": 0.9}),
    ("RandomForestRegressor", "several", {"output_projection": np.array([[1.0, 0.0, -1.0]])}),
    ("RandomForestRegressor", "several", {"output_projection": [[1, 0, -1], [0.5, 0, 0]]}),
    ("RandomForestRegressor", "several", {"output_projection": projection.RademacherProjection("sqrt")}),
    ("RandomForestRegressor", "several", {"output_projection": projection.RademacherProjection(2.5)}),
    ("RandomForestRegressor", "several", {"output_projection": projection.SubsampleProjection(replacement=True)}),
    ("RandomForestRegressor", "several", {"output_projection": projection.GaussianProjection()}),
    ("ExtraTreesRegressor", "several", {"output_projection": projection.HadamardProjection(), "n_projections": 2}),
    ("ExtraTreesRegressor", "several", {"output_projection": projection.PCAProjection(), "n_projections": 1}),
    ("GradientBoostingRegressor", "several", {"loss": "absolute_error", "n_iter_no_change": 2}),
    ("GradientBoostingRegressor", "several", {"output_strategy": "single_target", "subsample": 0.5}),
    ("GradientBoostingRegressor", "several", {"relabel_leaves": np.False_, "learning_rate": np.float32(0.1)}),
    ("GradientBoostingClassifier", "single", {"loss": "exponential"}),
    ("GradientBoostingClassifier", "labels", {"loss": "hinge"}),
    ("CompressedForestClassifier", "labels", {"loss": "log_loss"}),
    (
        "CompressedForestRegressor",
        "single",
        {"cv": [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]},
    ),
    ("CompressedForestRegressor", "several", {"estimator": spinney.DecisionTreeRegressor(max_depth=3)}),
    ("CompressedForestRegressor", "single", {"l1_norm": 0.5, "estimator": None}),
]


@pytest.mark.parametrize(("name", "outputs", "params"), PARAMS, ids=lambda part: "" if isinstance(part, dict) else None)
def test_parameters_of_any_kind_come_back(name, outputs, params, tmp_path):
    model, X = fitted(name, outputs, **params)
    loaded = again(model, tmp_path / "model")
    assert_same(loaded, model, X)
    for key, value in params.items():
        found = getattr(loaded, key)
        assert type(found) is type(getattr(model, key))
        if isinstance(value, np.random.RandomState):
            assert found.randint(1 << 30) == value.randint(1 << 30)
        elif not isinstance(value, spinney.DecisionTreeRegressor):
            np.testing.assert_equal(found, getattr(model, key))
    first = (tmp_path / "model").read_bytes()
    if "random_state" not in params:
        spinney.save(loaded, tmp_path / "model")
        assert (tmp_path / "model").read_bytes() == first


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_as_parameters_come_back(form, kind, tmp_path):
    phi = getattr(sparse, f"{form}_{kind}")(np.array([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]]))
    model, X = fitted("RandomForestRegressor", "several", output_projection=phi)
    loaded = again(model, tmp_path / "model")
    assert type(loaded.output_projection) is type(phi)
    np.testing.assert_array_equal(loaded.output_projection.toarray(), phi.toarray())
    assert_same(loaded, model, X)


def test_a_fitted_forest_inside_an_estimator_comes_back(tmp_path):
    forest, X = fitted("ExtraTreesRegressor")
    _, y = make_data("ExtraTreesRegressor")
    model = make("CompressedForestRegressor", estimator=forest).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert_same(loaded, model, X)
    assert_same(loaded.estimator, forest, X)
    # With `prefit` a pickle has none either.
    model = make("CompressedForestRegressor", estimator=forest, prefit=True, l1_norm=None).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert not hasattr(loaded.estimator, "n_features_in_")
    assert_same(loaded, model, X)


def test_arrays_that_are_mapped_from_a_file_are_saved(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    model = make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y)
    joblib.dump(model, tmp_path / "joblib")
    mapped = joblib.load(tmp_path / "joblib", mmap_mode="r")
    assert isinstance(mapped.oob_prediction_, np.memmap)
    assert_same(mapped, pickle.loads(pickle.dumps(mapped)), X)
    spinney.save(model, tmp_path / "one")
    spinney.save(mapped, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_compact_leaves_come_back(tmp_path):
    forest, X = fitted("RandomForestRegressor", "several")
    y = make_data("RandomForestRegressor", outputs="several")[1]
    for options in ({"dtype": "float16"}, {"dtype": "float32"}, {"training_data": (X, y)}):
        compact, _ = spinney.compression.compact_leaves(forest, **options)
        assert_same(again(compact, tmp_path / "model"), compact, X)


def test_bytes_do_not_depend_on_the_order_of_dicts(tmp_path):
    X, y = make_data("RandomForestClassifier")
    weights = {"a": 1.0, "b": 2.0, "c": 3.0}
    models = [make("RandomForestClassifier", class_weight=w) for w in (weights, dict(reversed(weights.items())))]
    for i, model in enumerate(models):
        model.fit(X, y)
        model.__dict__ = dict(sorted(model.__dict__.items(), reverse=bool(i)))
        spinney.save(model, tmp_path / str(i))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_large_arrays_are_tensors_and_small_things_are_text(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    model = make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y)
    spinney.save(model, tmp_path / "model")
    about = spinney.inspect_model(tmp_path / "model")
    tensors = {tensor["name"]: tensor for tensor in about["tensors"]}
    assert tensors["estimator.oob_prediction_.0"]["shape"] == (300,)
    assert tensors["estimator.oob_prediction_.0"]["dtype"] == "F64"
    assert (about["kind"], about["outputs"]) == ("forest", "numbers")
    assert sum(tensor["n_bytes"] for tensor in about["tensors"]) + about["n_header_bytes"] == about["n_bytes"]
    assert _spinney.Forest.from_bytes((tmp_path / "model").read_bytes()) == model._forest


def test_many_outputs_of_many_classes(tmp_path):
    X, _ = make_data("DecisionTreeClassifier", n=140)
    y = np.random.default_rng(0).permuted(np.tile(np.arange(140)[:, None], (1, 3100)), axis=0) % 70
    model = spinney.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert len(spinney.inspect_model(tmp_path / "model")["tensors"]) < 3100
    np.testing.assert_equal(loaded.classes_, model.classes_)


# --- what cannot be saved ---------------------------------------------------------------------------------------------


def custom_score(y, predicted):
    return 0.5


class Own(spinney.RandomForestRegressor):
    pass


def refused_models():
    X, y = make_data("RandomForestRegressor", outputs="several")
    one = y[:, 0]
    draw = projection.GaussianProjection().draw
    yield "oob_score", make("RandomForestRegressor", oob_score=custom_score, n_estimators=30).fit(X, one)
    yield "output_projection", make("RandomForestRegressor", output_projection=draw).fit(X, y)
    boosting = make("GradientBoostingRegressor", estimator=Ridge(), output_strategy="joint").fit(X, y)
    yield "estimator is a Ridge", boosting
    cv = make("CompressedForestRegressor", cv=KFold(3))
    yield "cv is a KFold", cv.fit(X, y)
    own = make("RandomForestRegressor").fit(X, y)
    own.note = "mine"
    yield "note is no attribute", own
    nested = make("CompressedForestRegressor").fit(X, y)
    nested.estimator = copy.deepcopy(own)
    yield r"estimator\.note is no attribute", nested
    own = Own(n_estimators=2).fit(X, y)
    yield "model is a Own", own
    deep = make("RandomForestClassifier").fit(X, np.arange(60) % 2)
    loop: list = []
    loop.append(loop)
    deep.class_weight = loop
    yield "nested too deeply", deep
    generator = make("RandomForestRegressor").fit(X, y)
    generator.random_state = np.random.mtrand
    yield "random_state", generator


def test_what_is_no_plain_value_is_named_and_nothing_is_written(tmp_path):
    for what, model in refused_models():
        path = tmp_path / "model"
        path.write_bytes(b"old")
        with pytest.raises((TypeError, ValueError), match=what):
            spinney.save(model, path)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("other", [None, 3, "model", Ridge(), spinney.RandomForestClassifier, [1]])
def test_other_objects_are_refused(other, tmp_path):
    with pytest.raises(TypeError, match="accepted: fitted estimators of spinney"):
        spinney.save(other, tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", EVERY)
def test_estimators_that_are_not_fitted_are_refused(name, tmp_path):
    with pytest.raises(NotFittedError):
        spinney.save(make(name), tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_parameters_that_no_fit_would_accept_are_refused(tmp_path):
    model, _ = fitted("RandomForestRegressor")
    model.set_params(n_estimators=-1)
    with pytest.raises(ValueError, match="n_estimators"):
        spinney.save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


# --- files ------------------------------------------------------------------------------------------------------------


def test_errors_of_the_system_are_those_of_python(tmp_path):
    model, _ = fitted("DecisionTreeRegressor")
    missing = tmp_path / "no" / "model"
    for call in (lambda: spinney.save(model, missing), *loads(missing)):
        with pytest.raises(FileNotFoundError) as error:
            call()
        assert error.value.errno == 2
        assert str(missing) in str(error.value)
    for call in (lambda: spinney.save(model, tmp_path), *loads(tmp_path)):
        with pytest.raises(IsADirectoryError):
            call()
    assert not os.listdir(tmp_path)
    for call in (lambda: spinney.save(model, 7), lambda: spinney.load(7), lambda: spinney.inspect_model(None)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="mmap_mode is 'w'"):
        spinney.load(missing, mmap_mode="w")


def loads(path):
    return (
        lambda: spinney.load(path),
        lambda: spinney.load(path, mmap_mode="r"),
        lambda: spinney.inspect_model(path),
    )


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root writes everywhere")
def test_a_folder_that_must_not_be_written(tmp_path):
    model, _ = fitted("DecisionTreeRegressor")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        spinney.save(model, tmp_path / "model")


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "model"
    model, _ = fitted("RandomForestRegressor")
    header = b'{"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}     '
    other = len(header).to_bytes(8, "little") + header + bytes(8)
    files = [b"", b"x", b"not a model at all", pickle.dumps(model), other, bytes(100)]
    for content in files:
        path.write_bytes(content)
        for call in loads(path):
            with pytest.raises(ValueError, match="not a valid spinney model") as error:
                call()
            assert str(path) in str(error.value)
    path.write_bytes(model_bytes(model))
    for call in loads(path)[:2]:
        with pytest.raises(ValueError, match="and no estimator"):
            call()
    assert spinney.inspect_model(path)["estimator"] is None


LIMITED = """
import os, resource, signal, sys
import numpy as np, spinney

X = np.random.default_rng(0).normal(size=(3000, 5))
path = sys.argv[1]
small = spinney.RandomForestRegressor(n_estimators=1, random_state=0).fit(X[:20], X[:20, 0])
spinney.save(small, path)
before = open(path, "rb").read()
large = spinney.RandomForestRegressor(n_estimators=20, random_state=0).fit(X, X[:, 0])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    spinney.save(large, path)
except OSError as error:
    print(type(error).__name__, error.errno == 27)
assert open(path, "rb").read() == before
assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
assert (spinney.load(path).predict(X) == small.predict(X)).all()
print("old file is whole")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["OSError True", "old file is whole"]


def test_a_map_can_be_closed_and_the_file_removed(tmp_path):
    model, X = fitted("RandomForestClassifier")
    path = tmp_path / "model"
    loaded = again(model, path, mmap_mode="r")
    path.write_bytes(bytes(path.stat().st_size))  # would break a model that still looked at the file
    path.unlink()
    assert_same(loaded, model, X)


def test_links_stay_and_the_file_that_they_lead_to_is_written(tmp_path):
    model, X = fitted("RandomForestClassifier")
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    file = tmp_path / "far" / "below" / "model"
    first, second = tmp_path / "near" / "first", tmp_path / "near" / "second"
    try:
        first.symlink_to("second")
        second.symlink_to(os.path.join("..", "far", "below", "model"))
    except (OSError, NotImplementedError) as error:
        pytest.skip(f"no symbolic links here: {error}")
    for old in (None, b"old"):  # a link to a file that is not there yet, too
        if old is not None:
            file.write_bytes(old)
        spinney.save(model, first)
        assert first.is_symlink()
        assert second.is_symlink()
        assert not file.is_symlink()
        assert_same(spinney.load(file), model, X)
        assert_same(spinney.load(first), model, X)
        # The file that was not whole yet lay beside the one that it became.
        assert os.listdir(file.parent) == ["model"]
        assert sorted(os.listdir(first.parent)) == ["first", "second"]
    # A link by name alone, from the folder that it is in.
    here = os.getcwd()
    try:
        os.chdir(first.parent)
        file.unlink()
        spinney.save(model, "second")
    finally:
        os.chdir(here)
    assert second.is_symlink()
    assert_same(spinney.load(file), model, X)


def test_links_that_lead_nowhere_are_told(tmp_path):
    model, _ = fitted("RandomForestClassifier")
    one, other, lost = (tmp_path / name for name in ("one", "other", "lost"))
    try:
        one.symlink_to("other")
        other.symlink_to("one")
        lost.symlink_to(os.path.join("missing", "model"))
    except (OSError, NotImplementedError) as error:
        pytest.skip(f"no symbolic links here: {error}")
    with pytest.raises(OSError, match=re.escape(str(one))):
        spinney.save(model, one)
    with pytest.raises(FileNotFoundError):
        spinney.save(model, lost)
    assert sorted(os.listdir(tmp_path)) == ["lost", "one", "other"]
    assert all(path.is_symlink() for path in (one, other, lost))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed the POSIX way")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file_or_the_new_one(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)).astype(np.float32)
    models = [
        spinney.ExtraTreesRegressor(n_estimators=40, random_state=seed).fit(X, rng.normal(size=2000)) for seed in (0, 1)
    ]
    path, temporary = tmp_path / "model", re.compile(r"\.spinney-\d+-\d+\.tmp")
    whole = set()
    for model in models:
        spinney.save(model, path)
        whole.add(path.read_bytes())
    assert len(whole) == 2
    found, n_left, n_rounds, end = set(), 0, 0, time.monotonic() + 6.0
    # Until both models and a file that was not finished were found: ten times or more, for about six seconds at most.
    while n_rounds < 10 or ((n_left == 0 or len(found) < 2) and time.monotonic() < end):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, b"x")
                while True:
                    for model in models:
                        spinney.save(model, path)
            finally:
                os._exit(1)
        try:
            os.close(writer)
            assert os.read(reader, 1) == b"x"
            time.sleep(rng.uniform(0.0, 0.08))
        finally:
            os.close(reader)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        content = path.read_bytes()
        assert content in whole
        found.add(content)
        others = [name for name in os.listdir(tmp_path) if name != "model"]
        assert all(temporary.fullmatch(name) for name in others), others
        n_left += len(others)
        for name in others:
            (tmp_path / name).unlink()
        n_rounds += 1
    kept = spinney.load(path).predict(X[:5])
    assert any((kept == model.predict(X[:5])).all() for model in models)


def with_array(path, name, n_bytes, *, first):
    """Put an array of `n_bytes` zeros into a model file, before or after the others, as a hole of the file."""
    header, estimator, data = taken_apart(path)
    for info in header.values():
        if "data_offsets" in info and first:
            info["data_offsets"] = [place + n_bytes for place in info["data_offsets"]]
    start = 0 if first else len(data)
    header[name] = {"dtype": "U8", "shape": [n_bytes], "data_offsets": [start, start + n_bytes]}
    put_together(path, header, estimator, b"")
    n_header = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(n_header + n_bytes + len(data))
        file.seek(n_header + (n_bytes if first else 0))
        file.write(data)
    if not hasattr(os.stat_result, "st_blocks") or path.stat().st_blocks * 512 > n_bytes // 2:
        path.unlink()
        pytest.skip("this file system has no files with holes")


SMALL = """
import resource, sys
import spinney

spinney.inspect_model(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    spinney.load(sys.argv[1])
except MemoryError as error:
    print("MemoryError")
"""


@pytest.mark.parametrize("first", [True, False])
def test_files_of_more_than_four_gigabytes_open(first, tmp_path):
    path, n_bytes = tmp_path / "model", 5_000_000_000
    model, _ = fitted("RandomForestClassifier")
    spinney.save(model, path)
    before = spinney.inspect_model(path)
    with_array(path, "estimator.more", n_bytes, first=first)
    found = spinney.inspect_model(path)
    assert found["n_bytes"] == path.stat().st_size > n_bytes
    arrays = {tensor["name"]: tensor for tensor in found["tensors"]}
    assert arrays["estimator.more"]["shape"] == (n_bytes,)
    assert arrays["estimator.more"]["n_bytes"] == n_bytes
    assert found["n_nodes"] == before["n_nodes"]
    # Of less memory than the array takes, all that is wrong is said, and the process goes on.
    if sys.platform == "linux":
        command = [sys.executable, "-c", SMALL, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "MemoryError"), done.stderr


def test_arrays_beyond_four_gigabytes_that_no_tree_can_have_are_refused_unread(tmp_path):
    path = tmp_path / "model"
    spinney.save(fitted("RandomForestClassifier")[0], path)
    with_array(path, "leaf_amounts_", 5_000_000_000, first=True)
    for call in loads(path):
        with pytest.raises(ValueError, match="`leaf_amounts_`, which is not known"):
            call()


# --- faults -----------------------------------------------------------------------------------------------------------


def taken_apart(path):
    data = Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return header, json.loads(header["__metadata__"]["estimator"]), data[end:]


def put_together(path, header, estimator, data):
    text = estimator if isinstance(estimator, str) else json.dumps(estimator)
    header["__metadata__"]["estimator"] = text
    encoded = json.dumps(header).encode()
    Path(path).write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)


def at(value, *keys):
    for key in keys:
        value = value[key]
    return value


BIG = {"array": {"dtype": "<f8", "shape": [2**40], "values": []}}
DEEP = json.loads("[" * 500 + "]" * 500)
# Class, where, what stands there instead, and what the message says.
FAULTS = [
    ("RandomForestClassifier", ("class",), "GradientBoostingClassifier", "has no parameter|no parameter"),
    ("RandomForestClassifier", ("class",), "ExtraTreesRegressor", ""),
    ("RandomForestClassifier", ("class",), "os.system", "no estimator of spinney"),
    ("RandomForestClassifier", ("class",), ["RandomForestClassifier"], "no estimator of spinney"),
    ("RandomForestClassifier", ("class",), "DecisionTreeClassifier", ""),
    ("RandomForestClassifier", ("params",), [], "no object"),
    ("RandomForestClassifier", ("params", "more"), 1, "no parameter 'more'"),
    ("RandomForestClassifier", ("more",), 1, "other parts"),
    ("RandomForestClassifier", ("fitted", "more_"), 1, "no attribute 'more_'"),
    ("RandomForestClassifier", ("fitted", "_forest"), 1, "no attribute '_forest'"),
    ("RandomForestClassifier", ("fitted", "__class__"), 1, "no attribute '__class__'"),
    ("RandomForestClassifier", ("fitted", "predict"), 1, "no attribute 'predict'"),
    ("RandomForestClassifier", ("params", "n_estimators"), -3, "n_estimators"),
    ("RandomForestClassifier", ("params", "n_estimators"), "many", "n_estimators"),
    ("RandomForestClassifier", ("params", "criterion"), "unknown", "criterion"),
    ("RandomForestClassifier", ("params", "bootstrap"), DEEP, "nested too deeply"),
    ("RandomForestClassifier", ("params", "max_features"), {"float": "1.0"}, "a float is neither"),
    ("RandomForestClassifier", ("params", "max_features"), {"int": "12"}, "hexadecimal"),
    (
        "RandomForestClassifier",
        ("params", "max_features"),
        {"call": ["os.system", "ls"]},
        "the tag 'call' is not known",
    ),
    ("RandomForestClassifier", ("params", "max_features"), {}, "one tag"),
    ("RandomForestClassifier", ("params", "max_features"), {"int": "0x1", "float": "nan"}, "one tag"),
    ("RandomForestClassifier", ("params", "max_features"), {"scalar": ["|O", 1]}, "not known"),
    ("RandomForestClassifier", ("params", "max_features"), {"scalar": ["|u1", 256]}, "out of range|more bits"),
    ("RandomForestClassifier", ("params", "max_features"), {"scalar": ["<f4", 0.1]}, "more bits"),
    ("RandomForestClassifier", ("params", "class_weight"), {"dict": [[[], 1]]}, "no plain value"),
    ("RandomForestClassifier", ("params", "class_weight"), {"dict": [[1, 1], [1, 2]]}, "occurs twice"),
    ("RandomForestClassifier", ("params", "class_weight"), {"dict": [[1]]}, "no list of the length"),
    ("RandomForestClassifier", ("params", "class_weight"), BIG, "has 0 values"),
    (
        "RandomForestClassifier",
        ("params", "class_weight"),
        {"array": {"dtype": "<U99999999", "shape": [1], "values": ["a"]}},
        "is not in the arrays",
    ),
    ("RandomForestClassifier", ("params", "output_projection"), {"projection": ["Projection", {"dict": []}]}, "family"),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {"projection": ["RademacherProjection", {"dict": [["sparsity", 0.5]]}]},
        "sparsity is 0.5",
    ),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {"sparse": ["csr_array", [2, 2], [{"array": {"dtype": "<i4", "shape": [1], "values": [9]}}] * 3]},
        "",
    ),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {
            "sparse": [
                "lil_array",
                [2**60, 3],
                [{"array": {"dtype": t, "shape": [1], "values": [0]}} for t in ("<i4",) * 3],
            ]
        },
        "too large for its format",
    ),
    ("RandomForestClassifier", ("params", "output_projection"), {"sparse": ["eval", [], []]}, "kind that is not known"),
    (
        "RandomForestClassifier",
        ("params", "random_state"),
        {"random_state": [{"array": {"dtype": "<u4", "shape": [1], "values": [9]}}, 0, 0, 0.0]},
        "Mersenne",
    ),
    ("RandomForestClassifier", ("fitted", "n_features_in_"), 5, "n_features_in_ is not 12"),
    ("RandomForestClassifier", ("fitted", "n_features_in_"), 12.0, "n_features_in_ is not 12"),
    ("RandomForestClassifier", ("fitted", "n_outputs_"), 2, "n_outputs_ is not 1"),
    ("RandomForestClassifier", ("fitted", "n_classes_"), 4, "n_classes_ is not 3"),
    ("RandomForestClassifier", ("fitted", "n_classes_"), [3], "n_classes_ is not 3"),
    ("RandomForestClassifier", ("fitted", "classes_", "array", "values"), ["a", "c", "b"], "does not rise"),
    ("RandomForestClassifier", ("fitted", "classes_", "array", "values"), ["a", "a", "b"], "does not rise"),
    ("RandomForestClassifier", ("fitted", "classes_", "array", "values"), ["a", "b"], "has 2 values"),
    ("RandomForestClassifier", ("fitted", "classes_"), ["a", "b", "c"], "no array of 3 classes"),
    ("RandomForestClassifier", ("fitted", "_seed"), -1, "_seed is no integer"),
    ("RandomForestClassifier", ("fitted", "_draws"), [True, None], "_draws is no pair"),
    ("RandomForestClassifier", ("fitted", "_draws", "tuple"), [True, -1], "not positive"),
    ("RandomForestClassifier", ("fitted", "_label_format"), {"label_format": ["<i8", None]}, "does not fit"),
    ("RandomForestClassifier", ("fitted", "_label_format"), {"label_format": ["<i8", "eval"]}, "is not known"),
    ("RandomForestClassifier", ("fitted", "oob_score_"), "good", "oob_score_ is no number"),
    (
        "RandomForestClassifier",
        ("fitted", "oob_decision_function_"),
        {"array": {"dtype": "<f8", "shape": [1, 1], "values": [1.0]}},
        "does not fit the model",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "feature_names_in_"),
        {"array": {"dtype": "|O", "shape": [1], "values": ["a"]}},
        "has not a name for each feature",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "feature_names_in_"),
        {"array": {"dtype": "|O", "shape": [12], "values": [1] * 12}},
        "no strings",
    ),
    ("DecisionTreeRegressor", ("fitted", "max_features_"), 0, "max_features_"),
    ("DecisionTreeRegressor", ("fitted", "max_features_"), 13, "max_features_"),
    ("GradientBoostingRegressor", ("fitted", "n_estimators_"), 4, "n_estimators_ is not 5"),
    ("GradientBoostingRegressor", ("fitted", "train_score_", "array", "values"), [1.0] * 5, "other values"),
    ("GradientBoostingRegressor", ("fitted", "train_score_", "array", "values"), [1.0] * 4, "has 4 values"),
    ("GradientBoostingRegressor", ("fitted", "step_sizes_", "array", "shape"), [1, 5], "does not fit"),
    ("GradientBoostingRegressor", ("fitted", "start_"), 1.0, "no array of float64"),
    ("GradientBoostingRegressor", ("fitted", "_weak"), [], "has not a model for each stage"),
    ("GradientBoostingRegressor", ("fitted", "_shared"), {"dict": []}, "other keys"),
    ("GradientBoostingRegressor", ("fitted", "_shared"), 3, "other keys"),
    ("CompressedForestRegressor", ("fitted", "l1_norm_"), 0.25, "l1_norm_ is not"),
    ("CompressedForestRegressor", ("fitted", "n_test_nodes_"), -1, "n_test_nodes_ is not"),
    ("CompressedForestRegressor", ("fitted", "compression_ratio_"), 0, "not positive"),
    ("CompressedForestRegressor", ("fitted", "path_"), {"dict": []}, "path_ has other keys"),
    ("CompressedForestRegressor", ("fitted", "path_"), None, "path_ has other keys"),
    ("CompressedForestRegressor", ("fitted", "step_"), 10**9, "step_ is no integer"),
    ("CompressedForestRegressor", ("fitted", "_loss"), "log_loss", "_loss"),
    ("CompressedForestRegressor", ("params", "estimator", "estimator", "class"), "Own", "no estimator of spinney"),
    ("CompressedForestRegressor", ("params", "estimator", "estimator", "model"), [1], "no array of bytes"),
    ("CompressedForestRegressor", ("params", "estimator", "estimator", "fitted"), {"n_outputs_": 1}, "but no model"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in ("RandomForestClassifier", "DecisionTreeRegressor", *BOOSTING, *COMPRESSED):
        spinney.save(fitted(name)[0], folder / name)
    return folder


@pytest.mark.parametrize(("name", "keys", "value", "message"), FAULTS)
def test_faults_of_the_estimator_are_told(name, keys, value, message, saved, tmp_path):
    header, estimator, data = taken_apart(saved / name)
    at(estimator, *keys[:-1])[keys[-1]] = value
    path = tmp_path / "model"
    put_together(path, header, estimator, data)
    with pytest.raises(ValueError, match=message or None) as error:
        spinney.load(path)
    assert str(path) in str(error.value)
    # The header alone is right, and a model of the engine is there.
    assert spinney.inspect_model(path)["estimator"] is not None


@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingClassifier", "CompressedForestRegressor"])
def test_attributes_that_are_missing_are_told(name, saved, tmp_path):
    header, estimator, data = taken_apart(saved / name)
    n_refused = 0
    for part in ("params", "fitted"):
        for key in estimator[part]:
            broken = copy.deepcopy(estimator)
            del broken[part][key]
            put_together(tmp_path / "model", header, broken, data)
            if key == "full_loss_":
                spinney.load(tmp_path / "model")
                continue
            with pytest.raises(ValueError, match=key):
                spinney.load(tmp_path / "model")
            n_refused += 1
    assert n_refused > 10


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "NaN",
        '{"class":1,"class":2}',
        "[" * 100_000,
        '{"a":Infinity}',
        "9" * 5000,
        '"\\ud800"',
        "{}",
    ],
)
def test_text_that_is_not_that_of_an_estimator(text, saved, tmp_path):
    header, _, data = taken_apart(saved / "RandomForestClassifier")
    put_together(tmp_path / "model", header, text, data)
    with pytest.raises(ValueError, match=str(tmp_path)):
        spinney.load(tmp_path / "model")


def test_arrays_that_do_not_belong_are_told(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    path = tmp_path / "model"
    spinney.save(make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y), path)
    header, estimator, data = taken_apart(path)
    for change, message in [
        (lambda array: array.update(tensor="no"), "there is no array"),
        (lambda array: array.update(shape=[3, 100]), "type and shape"),
        (lambda array: array.update(dtype="<i8"), "type and shape"),
        (lambda array: array.update(dtype="<U2"), "has not the bytes"),
        (lambda array: array.update(shape=[2**61] * 9), "type and shape"),
        (lambda array: array.update(shape=[-1]), "no list of at most 32"),
    ]:
        broken = copy.deepcopy(estimator)
        change(broken["fitted"]["oob_prediction_"]["array"])
        put_together(path, header, broken, data)
        with pytest.raises(ValueError, match=message):
            spinney.load(path)
    broken = copy.deepcopy(estimator)
    del broken["fitted"]["oob_prediction_"]
    put_together(path, header, broken, data)
    with pytest.raises(ValueError, match="belongs to nothing"):
        spinney.load(path)


def test_the_model_of_another_estimator_is_told(saved, tmp_path):
    for name in os.listdir(saved):
        for other in set(os.listdir(saved)) - {name}:
            _, estimator, _ = taken_apart(saved / name)
            header, theirs, data = taken_apart(saved / other)
            # The trees are those of `other`: these attributes, of whichever class, are not.
            for mixed in ({**theirs, "fitted": estimator["fitted"]}, estimator):
                put_together(tmp_path / "model", header, mixed, data)
                with pytest.raises(ValueError, match="model: "):
                    spinney.load(tmp_path / "model")


# --- pickles ----------------------------------------------------------------------------------------------------------

TAMPERED = [
    ("RandomForestClassifier", "classes_", np.array(["a", "b"])),
    ("RandomForestClassifier", "classes_", np.array(["c", "b", "a"])),
    ("RandomForestClassifier", "n_classes_", 7),
    ("RandomForestClassifier", "n_features_in_", 3),
    ("RandomForestClassifier", "n_outputs_", 3),
    ("RandomForestClassifier", "_forest", None),
    ("RandomForestClassifier", "_label_format", 3),
    ("DecisionTreeRegressor", "tree_", 3),
    ("GradientBoostingClassifier", "_shared", {}),
    ("GradientBoostingClassifier", "n_estimators_", 3),
    ("CompressedForestRegressor", "path_", {}),
    ("CompressedForestRegressor", "l1_norm_", 1e9),
]


@pytest.mark.parametrize(("name", "attribute", "value"), TAMPERED)
def test_pickles_and_copies_prove_what_was_fitted(name, attribute, value):
    model, _ = fitted(name)
    for whole in (pickle.dumps(model), pickle.dumps(make(name))):
        pickle.loads(whole)
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=attribute):
        pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=attribute):
        copy.copy(model)


@pytest.mark.parametrize("name", EVERY)
def test_pickles_without_a_model_or_without_what_goes_with_it(name):
    model, _ = fitted(name)
    state = model.__getstate__()
    for attribute in ("n_outputs_", "n_features_in_"):
        broken = {key: value for key, value in state.items() if key != attribute}
        with pytest.raises(ValueError, match=f"but no {attribute}"):
            type(model)().__setstate__(broken)
    engine = "tree_" if "tree_" in state else "_model" if "_model" in state else "_forest"
    with pytest.raises(ValueError, match="but no model"):
        type(model)().__setstate__({key: value for key, value in state.items() if key != engine})
    # What others have put on an estimator is theirs.
    model.note = "mine"
    assert pickle.loads(pickle.dumps(model)).note == "mine"


def test_boosting_with_other_weak_models_still_pickles():
    X, y = make_data("GradientBoostingRegressor")
    model = make("GradientBoostingRegressor", estimator=Ridge(), output_strategy="joint").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("name", EVERY)
def test_skops_asks_for_the_names_of_spinney_alone(name):
    skops = pytest.importorskip("skops.io")
    model, X = fitted(name)
    data = skops.dumps(model)
    names = skops.get_untrusted_types(data=data)
    module = type(model).__module__
    assert f"{module}.{name}" in names
    assert all(n.startswith("spinney.") for n in names), names
    loaded = skops.loads(data, trusted=names)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_two_features_of_one_name_are_neither_written_nor_read(tmp_path):
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    path = tmp_path / "model"
    names = [f"f{i}" for i in range(X.shape[1])]
    model.feature_names_in_ = np.array(names, dtype=object)
    spinney.save(model, path)
    assert list(spinney.load(path).feature_names_in_) == names
    header, estimator, data = taken_apart(path)
    values = estimator["fitted"]["feature_names_in_"]["array"]["values"]
    assert values == names
    for changed, message in [
        ([*names[:-1], names[0]], "feature_names_in_ has the name 'f0' twice"),
        (names[:-1], "feature_names_in_|an array of shape"),
        ([*names, "more"], "feature_names_in_|an array of shape"),
        ([*names[:-1], 1], "names that are no strings"),
        ([*names[:-1], None], "names that are no strings"),
    ]:
        values[:] = changed
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match=message):
            spinney.load(path)
        content = estimator["fitted"]["feature_names_in_"]["array"]
        content["shape"] = [len(changed)]
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match=message):
            spinney.load(path)
        content["shape"] = [len(names)]
    model.feature_names_in_ = np.array([*names[:-1], names[0]], dtype=object)
    path.unlink()
    with pytest.raises(ValueError, match="feature_names_in_ has the name 'f0' twice"):
        spinney.save(model, path)
    assert os.listdir(tmp_path) == []
    assert list(copy.deepcopy(model).feature_names_in_) == list(model.feature_names_in_)


GROWTH = """
import resource, sys
import spinney

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

spinney.load(sys.argv[2])
before = peak()
model = spinney.load(sys.argv[1])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the largest memory of a process is told in other units elsewhere")
@pytest.mark.parametrize("kind", ["bytes", "floats", "classes"])
def test_memory_of_loading_is_a_small_multiple_of_the_file(kind, tmp_path):
    # Whole numbers of one byte, which a model holds as eight: no array grows more.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4)).astype(np.float32)
    if kind == "classes":
        model = spinney.ExtraTreesClassifier(n_estimators=60, random_state=0).fit(X, rng.integers(2, size=4000))
    else:
        y = rng.integers(1, 200, size=(4000, 100)) if kind == "bytes" else rng.normal(size=(4000, 100))
        model = spinney.ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y.astype(float))
    small = spinney.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])
    spinney.save(model, tmp_path / "model")
    spinney.save(small, tmp_path / "small")
    size = (tmp_path / "model").stat().st_size
    dtypes = {tensor["name"]: tensor["dtype"] for tensor in spinney.inspect_model(tmp_path / "model")["tensors"]}
    assert dtypes["leaf_amounts"] == ("F64" if kind == "floats" else "U8")
    command = [sys.executable, "-c", GROWTH, str(tmp_path / "model"), str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    times = {"bytes": 8.0, "floats": 1.5, "classes": 8.0}[kind]
    assert int(done.stdout) <= times * size + 4e6, (int(done.stdout), size)
