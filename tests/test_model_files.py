"""`weald.save`, `load` and `inspect_model`: everything that is saved comes back, and invalid files raise errors."""

from __future__ import annotations

import collections
import copy
import json
import os
import pickle

import joblib
import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, FORESTS, LABEL_TREES, LINEAR, make, make_data, model_bytes
from model_files import again, assert_same, fitted, loads, put_together, taken_apart
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weald import _weald, loss, projection
from weald._files import model_file
from weald.projection import Projected

EVERY = ALL + BOOSTING + CENTROIDS + LINEAR + LABEL_TREES + COMPRESSED
OUTPUTS = [(name, "single") for name in EVERY] + [(name, "several") for name in EVERY]
OUTPUTS += [(name, "labels") for name in EVERY if name.endswith("Classifier")]


# --- what is saved comes back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_every_estimator_comes_back_and_saves_to_the_same_bytes(name, outputs, tmp_path):
    model, X = fitted(name, outputs)
    path = tmp_path / "model.safetensors"
    loaded = again(model, path)
    assert_same(loaded, model, X)
    first = path.read_bytes()
    weald.save(model, path)
    assert path.read_bytes() == first
    weald.save(loaded, str(path))
    assert path.read_bytes() == first
    assert_same(weald.load(os.fspath(path), mmap_mode="r"), model, X)
    about = weald.inspect_model(path)
    assert about["n_bytes"] == len(first)
    assert json.loads(about["estimator"])["class"] == type(model).__name__
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
    "many": np.arange(300),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_of_any_type_come_back(kind, tmp_path):
    X, _ = make_data("RandomForestClassifier", n=600)
    classes = CLASSES[kind]
    y = classes[np.arange(600) % len(classes)]
    model = make("RandomForestClassifier").fit(X, y)
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
            if hasattr(model, key):  # NaN count as equal
                np.testing.assert_array_equal(getattr(loaded, key), getattr(model, key))
        # The out-of-bag scores and the random draws are part of the fit that a warm start continues.
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
    (
        "GradientBoostingRegressor",
        "several",
        {"output_strategy": Projected(relabel_leaves=np.False_), "learning_rate": np.float32(0.1)},
    ),
    ("GradientBoostingRegressor", "several", {"loss": loss.Quantile(np.float32(0.25))}),
    ("GradientBoostingRegressor", "several", {"loss": loss.Quantile([0.25, 0.5, 0.75])}),
    ("GradientBoostingRegressor", "several", {"loss": loss.Huber(np.array([0.25, 0.5, 0.75]))}),
    ("GradientBoostingRegressor", "several", {"loss": loss.Huber()}),
    ("GradientBoostingClassifier", "single", {"loss": "exponential"}),
    ("GradientBoostingClassifier", "labels", {"loss": "hinge"}),
    ("CompressedForestClassifier", "labels", {"loss": "log_loss"}),
    (
        "CompressedForestRegressor",
        "single",
        {"cv": [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]},
    ),
    ("CompressedForestRegressor", "several", {"estimator": weald.DecisionTreeRegressor(max_depth=3)}),
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
        elif not isinstance(value, weald.DecisionTreeRegressor):
            np.testing.assert_equal(found, getattr(model, key))
    first = (tmp_path / "model").read_bytes()
    if "random_state" not in params:
        weald.save(loaded, tmp_path / "model")
        assert (tmp_path / "model").read_bytes() == first


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_as_parameters_come_back(form, kind, tmp_path):
    phi = getattr(sparse, f"{form}_{kind}")(np.array([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]]))
    model, X = fitted("RandomForestRegressor", "several", output_projection=phi)
    loaded = again(model, tmp_path / "model")
    # All formats but CSC come back as CSR.
    assert type(loaded.output_projection) is getattr(sparse, f"{'csc' if form == 'csc' else 'csr'}_{kind}")
    np.testing.assert_array_equal(loaded.output_projection.toarray(), phi.toarray())
    assert_same(loaded, model.set_params(output_projection=loaded.output_projection), X)


def test_a_fitted_forest_that_was_a_parameter_comes_back_unfitted(tmp_path):
    forest, X = fitted("ExtraTreesRegressor")
    _, y = make_data("ExtraTreesRegressor")
    model = make("CompressedForestRegressor", estimator=forest).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert_same(loaded, model, X)
    assert not hasattr(loaded.estimator, "n_features_in_")
    assert loaded.estimator.get_params() == forest.get_params()
    # A frozen forest comes back as an estimator that is not fitted.
    model = make("CompressedForestRegressor", estimator=FrozenEstimator(forest), l1_norm=None).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert not hasattr(loaded.estimator, "n_features_in_")
    assert repr(loaded.estimator) == repr(forest)
    assert_same(loaded, model.set_params(estimator=loaded.estimator), X)


@pytest.mark.parametrize("name", BOOSTING)
def test_what_boosting_starts_from_is_stored_once(name, tmp_path):
    X, y = make_data(name, n=200)
    trees = name.replace("GradientBoosting", "ExtraTrees")
    fresh = make(trees, n_estimators=20)
    start = make(trees, n_estimators=20).fit(X, y)
    plain, model = (make(name, init=init).fit(X, y) for init in (fresh, start))
    # The parameter is cloned by fits, so that it makes no difference whether it was fitted.
    assert weald.dumps(model) == weald.dumps(plain)
    assert model.init is start
    for loaded in (again(model, tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_same(loaded, plain, X)
        assert not hasattr(loaded.init, "n_features_in_")
        assert model_bytes(loaded.fit(X, y)) == model_bytes(model)
    # A frozen one is used as it is: the parameter and what the model starts from are one object.
    frozen = make(name, init=FrozenEstimator(start)).fit(X, y)
    size = len(weald.dumps(frozen))
    assert size < 1.3 * len(weald.dumps(plain))  # the format of objects of scikit-learn is somewhat larger
    for loaded in (again(frozen, tmp_path / "model"), pickle.loads(pickle.dumps(frozen))):
        assert type(loaded.init) is FrozenEstimator
        assert loaded.init is loaded._init
        np.testing.assert_array_equal(loaded.predict(X), frozen.predict(X))
        assert weald.dumps(loaded) == weald.dumps(frozen)
        assert model_bytes(loaded.fit(X, y)) == model_bytes(frozen)
    assert again(frozen.set_params(init=None), tmp_path / "model").init is None


def test_weak_models_of_boosting_are_parameters_without_a_fit(tmp_path):
    X, y = make_data("GradientBoostingRegressor")
    fitted_before = Ridge().fit(X, y)
    plain, model = (make("GradientBoostingRegressor", estimator=weak).fit(X, y) for weak in (Ridge(), fitted_before))
    assert weald.dumps(model) == weald.dumps(plain)
    assert not hasattr(again(model, tmp_path / "model").estimator, "coef_")


def test_arrays_that_are_mapped_from_a_file_are_saved(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    model = make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y)
    joblib.dump(model, tmp_path / "joblib")
    mapped = joblib.load(tmp_path / "joblib", mmap_mode="r")
    assert isinstance(mapped.oob_prediction_, np.memmap)
    assert_same(mapped, pickle.loads(pickle.dumps(mapped)), X)
    weald.save(model, tmp_path / "one")
    weald.save(mapped, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_compact_leaves_come_back(tmp_path):
    forest, X = fitted("RandomForestRegressor", "several")
    y = make_data("RandomForestRegressor", outputs="several")[1]
    for options in ({"dtype": "float16"}, {"dtype": "float32"}, {"training_data": (X, y)}):
        compact, _ = weald.compression.compact_leaves(forest, **options)
        assert_same(again(compact, tmp_path / "model"), compact, X)


def test_bytes_do_not_depend_on_the_order_of_dicts(tmp_path):
    X, y = make_data("RandomForestClassifier")
    weights = {"a": 1.0, "b": 2.0, "c": 3.0}
    models = [make("RandomForestClassifier", class_weight=w) for w in (weights, dict(reversed(weights.items())))]
    for i, model in enumerate(models):
        model.fit(X, y)
        model.__dict__ = dict(sorted(model.__dict__.items(), reverse=bool(i)))
        weald.save(model, tmp_path / str(i))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_large_arrays_are_tensors_and_small_things_are_text(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    model = make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y)
    weald.save(model, tmp_path / "model")
    about = weald.inspect_model(tmp_path / "model")
    tensors = {tensor["name"]: tensor for tensor in about["tensors"]}
    assert tensors["estimator.oob_prediction_.0"]["shape"] == (300,)
    assert tensors["estimator.oob_prediction_.0"]["dtype"] == "F64"
    assert (about["kind"], about["outputs"]) == ("forest", "numbers")
    assert sum(tensor["n_bytes"] for tensor in about["tensors"]) + about["n_header_bytes"] == about["n_bytes"]
    assert _weald.Forest.from_bytes((tmp_path / "model").read_bytes()) == model._forest


def test_many_outputs_of_many_classes(tmp_path):
    X, _ = make_data("DecisionTreeClassifier", n=140)
    y = np.random.default_rng(0).permuted(np.tile(np.arange(140)[:, None], (1, 3100)), axis=0) % 70
    model = weald.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    loaded = again(model, tmp_path / "model")
    assert len(weald.inspect_model(tmp_path / "model")["tensors"]) < 3100
    np.testing.assert_equal(loaded.classes_, model.classes_)


# --- what cannot be saved ---------------------------------------------------------------------------------------------


def custom_score(y, predicted):
    return 0.5


class Own(weald.RandomForestRegressor):
    pass


class OwnRidge(Ridge):
    pass


def refused_models():
    X, y = make_data("RandomForestRegressor", outputs="several")
    one = y[:, 0]
    draw = projection.GaussianProjection().draw
    yield "oob_score", make("RandomForestRegressor", oob_score=custom_score, n_estimators=30).fit(X, one)
    yield "output_projection", make("RandomForestRegressor", output_projection=draw).fit(X, y)
    boosting = make("GradientBoostingRegressor", estimator=OwnRidge(), output_strategy="joint").fit(X, y)
    yield "estimator is not supported in model files, got a OwnRidge", boosting
    folds = make("CompressedForestRegressor", cv=KFold(3).split(X))
    yield "cv is not supported in model files, got a generator", folds.fit(X, y)
    own = make("RandomForestRegressor").fit(X, y)
    own.note = "mine"
    yield "the attribute note is not supported", own
    own = Own(n_estimators=2).fit(X, y)
    yield "estimator must be .*got a Own", own
    deep = make("RandomForestClassifier").fit(X, np.arange(60) % 2)
    loop: list = []
    loop.append(loop)
    deep.class_weight = loop
    yield "class_weight must be nested at most 100 levels deep", deep
    generator = make("RandomForestRegressor").fit(X, y)
    generator.random_state = np.random.mtrand
    yield "random_state", generator


def test_what_is_no_plain_value_is_named_and_nothing_is_written(tmp_path):
    for what, model in refused_models():
        path = tmp_path / "model"
        path.write_bytes(b"old")
        with pytest.raises((TypeError, ValueError), match=what) as refused:
            weald.save(model, path)
        # Formats that run code are not the only advice.
        assert "ickle" not in str(refused.value) or "skops.io.load" in str(refused.value)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("other", [None, 3, "model", Ridge(), weald.RandomForestClassifier, [1]])
def test_other_objects_are_refused(other, tmp_path):
    with pytest.raises(TypeError, match="must be a fitted estimator of weald"):
        weald.save(other, tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", EVERY)
def test_estimators_that_are_not_fitted_are_refused(name, tmp_path):
    with pytest.raises(NotFittedError):
        weald.save(make(name), tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_parameters_that_no_fit_would_accept_are_refused(tmp_path):
    model, _ = fitted("RandomForestRegressor")
    model.set_params(n_estimators=-1)
    with pytest.raises(ValueError, match="n_estimators"):
        weald.save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


# --- files ------------------------------------------------------------------------------------------------------------


def test_errors_of_the_system_are_those_of_python(tmp_path):
    model, _ = fitted("DecisionTreeRegressor")
    missing = tmp_path / "no" / "model"
    for call in (lambda: weald.save(model, missing), *loads(missing)):
        with pytest.raises(FileNotFoundError) as error:
            call()
        assert error.value.errno == 2
        assert str(missing) in str(error.value)
    for call in (lambda: weald.save(model, tmp_path), *loads(tmp_path)):
        with pytest.raises(IsADirectoryError):
            call()
    assert not os.listdir(tmp_path)
    for call in (lambda: weald.save(model, 7), lambda: weald.load(7), lambda: weald.inspect_model(None)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match=r"mmap_mode must be .*got 'w'"):
        weald.load(missing, mmap_mode="w")


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "model"
    model, _ = fitted("RandomForestRegressor")
    header = b'{"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}     '
    other = len(header).to_bytes(8, "little") + header + bytes(8)
    files = [b"", b"x", b"not a model at all", pickle.dumps(model), other, bytes(100)]
    for content in files:
        path.write_bytes(content)
        for call in loads(path):
            with pytest.raises(ValueError, match="not a valid weald model") as error:
                call()
            assert str(path) in str(error.value)
    path.write_bytes(model_bytes(model))
    for call in loads(path)[:2]:
        with pytest.raises(ValueError, match="must contain an estimator"):
            call()
    assert weald.inspect_model(path)["estimator"] is None


def at(value, *keys):
    for key in keys:
        value = value[key]
    return value


BIG = {"array": {"dtype": "<f8", "shape": [2**40], "values": []}}
DEEP = json.loads("[" * 500 + "]" * 500)
# The class, the path of a value, its replacement, and the expected message.
FAULTS = [
    (
        "RandomForestClassifier",
        ("class",),
        "GradientBoostingClassifier",
        "does not support the parameter|must have the parameter",
    ),
    ("RandomForestClassifier", ("class",), "ExtraTreesRegressor", ""),
    ("RandomForestClassifier", ("class",), "os.system", "must be the name of an estimator of weald, got 'os.system'"),
    (
        "RandomForestClassifier",
        ("class",),
        ["RandomForestClassifier"],
        "must be the name of an estimator of weald, got a list",
    ),
    ("RandomForestClassifier", ("class",), "DecisionTreeClassifier", ""),
    ("RandomForestClassifier", ("params",), [], "params and fitted must be objects"),
    ("RandomForestClassifier", ("params", "more"), 1, "does not support the parameter 'more'"),
    ("RandomForestClassifier", ("more",), 1, "an object with the keys .*got a dict with the keys .*more"),
    ("RandomForestClassifier", ("fitted", "more_"), 1, "does not support the attribute 'more_'"),
    ("RandomForestClassifier", ("fitted", "_forest"), 1, "does not support the attribute '_forest'"),
    ("RandomForestClassifier", ("fitted", "__class__"), 1, "does not support the attribute '__class__'"),
    ("RandomForestClassifier", ("fitted", "predict"), 1, "does not support the attribute 'predict'"),
    ("RandomForestClassifier", ("params", "n_estimators"), -3, "n_estimators"),
    ("RandomForestClassifier", ("params", "n_estimators"), "many", "n_estimators"),
    ("RandomForestClassifier", ("params", "criterion"), "unknown", "criterion"),
    ("RandomForestClassifier", ("params", "bootstrap"), DEEP, "must be nested at most 100 levels deep"),
    ("RandomForestClassifier", ("params", "max_features"), {"float": "1.0"}, "a float must be a number, .*got '1.0'"),
    ("RandomForestClassifier", ("params", "max_features"), {"int": "12"}, "must be a hexadecimal string, got '12'"),
    (
        "RandomForestClassifier",
        ("params", "max_features"),
        {"call": ["os.system", "ls"]},
        "the tag of a value must be one of .*, got 'call'",
    ),
    ("RandomForestClassifier", ("params", "max_features"), {}, "must have a single key, its tag"),
    (
        "RandomForestClassifier",
        ("params", "max_features"),
        {"int": "0x1", "float": "nan"},
        "must have a single key, its tag",
    ),
    ("RandomForestClassifier", ("params", "max_features"), {"scalar": ["|O", 1]}, "a dtype must be a string such as"),
    ("RandomForestClassifier", ("params", "max_features"), {"scalar": ["|u1", 256]}, "within the range|representable"),
    (
        "RandomForestClassifier",
        ("params", "max_features"),
        {"scalar": ["<f4", 0.1]},
        "must be representable by its type float32",
    ),
    (
        "RandomForestClassifier",
        ("params", "class_weight"),
        {"dict": [[[], 1]]},
        "keys of a dict must be hashable, got a list",
    ),
    (
        "RandomForestClassifier",
        ("params", "class_weight"),
        {"dict": [[1, 1], [1, 2]]},
        "must have distinct keys, got 1 twice",
    ),
    (
        "RandomForestClassifier",
        ("params", "class_weight"),
        {"dict": [[1]]},
        "must be a list of length 2, got a list of length 1",
    ),
    ("RandomForestClassifier", ("params", "class_weight"), BIG, "must have 1099511627776 values, got 0"),
    (
        "RandomForestClassifier",
        ("params", "class_weight"),
        {"array": {"dtype": "<U99999999", "shape": [1], "values": ["a"]}},
        "arrays in the text must have at most 16777216 bytes",
    ),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {"value": ["Projection", {"dict": []}]},
        "a value must be one of",
    ),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {"value": ["RademacherProjection", {"dict": [["sparsity", 0.5]]}]},
        r'sparsity must be a finite number of at least 1, "achlioptas" \(3\) or "sqrt" \(√d\), got 0\.5',
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
        "must be one of .*, got 'lil_array'",
    ),
    (
        "RandomForestClassifier",
        ("params", "output_projection"),
        {"sparse": ["eval", [], []]},
        "must be one of .*, got 'eval'",
    ),
    (
        "RandomForestClassifier",
        ("params", "random_state"),
        {"random_state": [{"array": {"dtype": "<u4", "shape": [1], "values": [9]}}, 0, 0, 0.0]},
        "Mersenne",
    ),
    ("RandomForestClassifier", ("fitted", "n_features_in_"), 5, "n_features_in_ must be 12, as in the model"),
    ("RandomForestClassifier", ("fitted", "n_features_in_"), 12.0, "n_features_in_ must be 12, as in the model"),
    ("RandomForestClassifier", ("fitted", "n_outputs_"), 2, "n_outputs_ must be 1, as in the model, got 2"),
    ("RandomForestClassifier", ("fitted", "n_classes_"), 4, "n_classes_ must be 3, as in the model"),
    ("RandomForestClassifier", ("fitted", "n_classes_"), [3], "n_classes_ must be 3, as in the model"),
    (
        "RandomForestClassifier",
        ("fitted", "classes_", "array", "values"),
        ["a", "c", "b"],
        "must be in strictly ascending order",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "classes_", "array", "values"),
        ["a", "a", "b"],
        "must be in strictly ascending order",
    ),
    ("RandomForestClassifier", ("fitted", "classes_", "array", "values"), ["a", "b"], "must have 3 values, got 2"),
    ("RandomForestClassifier", ("fitted", "classes_"), ["a", "b", "c"], "must be an array of 3 classes, got a list"),
    ("RandomForestClassifier", ("fitted", "_seed"), -1, "_seed must be an integer from 0 to .*, got -1"),
    ("RandomForestClassifier", ("fitted", "_draws"), [True, None], "_draws must be a pair"),
    ("RandomForestClassifier", ("fitted", "_draws", "tuple"), [True, -1], "positive number of samples, got -1"),
    (
        "RandomForestClassifier",
        ("fitted", "_label_format"),
        {"label_format": ["<i8", None]},
        "_label_format must be None",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "_label_format"),
        {"label_format": ["<i8", "eval"]},
        "must be csr_array, csr_matrix or None, got 'eval'",
    ),
    ("RandomForestClassifier", ("fitted", "oob_score_"), "good", "oob_score_ must be a number, got 'good'"),
    (
        "RandomForestClassifier",
        ("fitted", "oob_decision_function_"),
        {"array": {"dtype": "<f8", "shape": [1, 1], "values": [1.0]}},
        r"must have shape \(n_samples, 3\), got \(1, 1\)",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "feature_names_in_"),
        {"array": {"dtype": "|O", "shape": [1], "values": ["a"]}},
        "one name for each feature, got a ndarray",
    ),
    (
        "RandomForestClassifier",
        ("fitted", "feature_names_in_"),
        {"array": {"dtype": "|O", "shape": [12], "values": [1] * 12}},
        "must have strings as names, got 1",
    ),
    ("DecisionTreeRegressor", ("fitted", "max_features_"), 0, "max_features_"),
    ("DecisionTreeRegressor", ("fitted", "max_features_"), 13, "max_features_"),
    ("GradientBoostingRegressor", ("fitted", "n_estimators_"), 4, "n_estimators_ must be 5, as in the model, got 4"),
    ("GradientBoostingRegressor", ("fitted", "train_score_"), 1.0, "does not support the attribute 'train_score_'"),
    ("GradientBoostingRegressor", ("fitted", "_weak"), [], "_weak must be None for a model with trees, got a list"),
    ("GradientBoostingRegressor", ("fitted", "_shared"), {"dict": []}, "_shared must be a dict with the keys"),
    ("GradientBoostingRegressor", ("fitted", "_shared"), 3, "_shared must be a dict with the keys"),
    ("CompressedForestRegressor", ("fitted", "l1_norm_"), 0.25, "l1_norm_ must be .*, got 0.25"),
    ("CompressedForestRegressor", ("fitted", "n_test_nodes_"), -1, "n_test_nodes_ must be .*, got -1"),
    ("CompressedForestRegressor", ("fitted", "compression_ratio_"), 0, "must be a positive number, got 0"),
    ("CompressedForestRegressor", ("fitted", "path_"), {"dict": []}, "path_"),
    ("CompressedForestRegressor", ("fitted", "path_"), None, "path_"),
    ("CompressedForestRegressor", ("fitted", "step_"), 10**9, "step_ must be an integer"),
    ("CompressedForestRegressor", ("fitted", "_loss"), "log_loss", "_loss"),
    (
        "CompressedForestRegressor",
        ("params", "estimator", "estimator", "class"),
        "Own",
        "must be the name of an estimator of weald, got 'Own'",
    ),
    (
        "CompressedForestRegressor",
        ("params", "estimator", "estimator", "model"),
        [1],
        "must be an array of bytes, got a list",
    ),
    (
        "CompressedForestRegressor",
        ("params", "estimator", "estimator", "fitted"),
        {"n_outputs_": 1},
        "_forest is missing, but n_outputs_ is given",
    ),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in ("RandomForestClassifier", "DecisionTreeRegressor", *BOOSTING, *COMPRESSED):
        params = {"keep_path": True} if name in COMPRESSED else {}
        weald.save(fitted(name, **params)[0], folder / name)
    return folder


@pytest.mark.parametrize(("name", "keys", "value", "message"), FAULTS)
def test_faults_of_the_estimator_are_told(name, keys, value, message, saved, tmp_path):
    header, estimator, data = taken_apart(saved / name)
    at(estimator, *keys[:-1])[keys[-1]] = value
    path = tmp_path / "model"
    put_together(path, header, estimator, data)
    with pytest.raises(ValueError, match=message or None) as error:
        weald.load(path)
    assert str(path) in str(error.value)
    # The header is valid, so that `inspect_model` still works.
    assert weald.inspect_model(path)["estimator"] is not None


@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingClassifier", "CompressedForestRegressor"])
def test_attributes_that_are_missing_are_told(name, saved, tmp_path):
    header, estimator, data = taken_apart(saved / name)
    n_refused = 0
    for part in ("params", "fitted"):
        for key in estimator[part]:
            broken = copy.deepcopy(estimator)
            del broken[part][key]
            put_together(tmp_path / "model", header, broken, data)
            if key == "full_loss_":  # which fits without a path do not have
                weald.load(tmp_path / "model")
                continue
            with pytest.raises(ValueError, match=key):
                weald.load(tmp_path / "model")
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
        weald.load(tmp_path / "model")


def test_arrays_that_do_not_belong_are_told(tmp_path):
    X, y = make_data("RandomForestRegressor", n=300)
    path = tmp_path / "model"
    weald.save(make("RandomForestRegressor", oob_score=True, n_estimators=30).fit(X, y), path)
    header, estimator, data = taken_apart(path)
    for change, message in [
        (lambda array: array.update(tensor="no"), "must be an array of the file that is not used elsewhere, got 'no'"),
        (lambda array: array.update(shape=[3, 100]), r"must have dtype <f8 and shape \[3, 100\], .*got"),
        (lambda array: array.update(dtype="<i8"), "must have dtype <i8"),
        (lambda array: array.update(dtype="<U2"), "must be 2400 bytes"),
        (lambda array: array.update(shape=[2**61] * 9), "must have dtype"),
        (lambda array: array.update(shape=[-1]), "must be a list of at most 32 sizes"),
    ]:
        broken = copy.deepcopy(estimator)
        change(broken["fitted"]["oob_prediction_"]["array"])
        put_together(path, header, broken, data)
        with pytest.raises(ValueError, match=message):
            weald.load(path)
    broken = copy.deepcopy(estimator)
    del broken["fitted"]["oob_prediction_"]
    put_together(path, header, broken, data)
    with pytest.raises(ValueError, match="must be part of an attribute"):
        weald.load(path)


def test_the_model_of_another_estimator_is_told(saved, tmp_path):
    for name in os.listdir(saved):
        for other in set(os.listdir(saved)) - {name}:
            _, estimator, _ = taken_apart(saved / name)
            header, theirs, data = taken_apart(saved / other)
            # The trees are those of `other`, but the fitted attributes, of whichever class, are not.
            for mixed in ({**theirs, "fitted": estimator["fitted"]}, estimator):
                put_together(tmp_path / "model", header, mixed, data)
                with pytest.raises(ValueError, match="model: "):
                    weald.load(tmp_path / "model")


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
    model, _ = fitted(name, **({"keep_path": True} if name in COMPRESSED else {}))
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
    engine = "tree_" if "tree_" in state else "_model" if "_model" in state else "_forest"
    for attribute in ("n_outputs_", "n_features_in_"):
        broken = {key: value for key, value in state.items() if key != attribute}
        with pytest.raises(ValueError, match=f"{attribute} is missing, but {engine} is given"):
            type(model)().__setstate__(broken)
    with pytest.raises(ValueError, match=f"{engine} is missing, but .* is given"):
        type(model)().__setstate__({key: value for key, value in state.items() if key != engine})
    # Attributes that users add to an estimator are kept.
    model.note = "mine"
    assert pickle.loads(pickle.dumps(model)).note == "mine"


def test_boosting_with_other_weak_models_still_pickles():
    X, y = make_data("GradientBoostingRegressor")
    model = make("GradientBoostingRegressor", estimator=Ridge(), output_strategy="joint").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("outputs", ["single", "labels"])
@pytest.mark.parametrize("name", EVERY)
def test_skops_asks_for_public_names_of_weald_alone(name, outputs):
    skops = pytest.importorskip("skops.io")
    model, X = fitted(name, outputs=outputs if name.endswith("Classifier") else "single")
    data = skops.dumps(model)
    names = skops.get_untrusted_types(data=data)
    module = type(model).__module__
    assert f"{module}.{type(model).__name__}" in names
    # All names are public, so that users may write them.
    assert all(n == "numpy.dtype" or (n.startswith("weald.") and "._" not in n) for n in names), names
    loaded = skops.loads(data, trusted=names)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_two_features_of_one_name_are_neither_written_nor_read(tmp_path):
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    path = tmp_path / "model"
    names = [f"f{i}" for i in range(X.shape[1])]
    model.feature_names_in_ = np.array(names, dtype=object)
    weald.save(model, path)
    assert list(weald.load(path).feature_names_in_) == names
    header, estimator, data = taken_apart(path)
    values = estimator["fitted"]["feature_names_in_"]["array"]["values"]
    assert values == names
    for changed, message in [
        ([*names[:-1], names[0]], "feature_names_in_ must have distinct names in model files, got 'f0' twice"),
        (names[:-1], "feature_names_in_|an array of shape"),
        ([*names, "more"], "feature_names_in_|an array of shape"),
        ([*names[:-1], 1], "must have strings as names, got 1"),
        ([*names[:-1], None], "must have strings as names, got None"),
    ]:
        values[:] = changed
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match=message):
            weald.load(path)
        content = estimator["fitted"]["feature_names_in_"]["array"]
        content["shape"] = [len(changed)]
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match=message):
            weald.load(path)
        content["shape"] = [len(names)]
    model.feature_names_in_ = np.array([*names[:-1], names[0]], dtype=object)
    path.unlink()
    with pytest.raises(ValueError, match="feature_names_in_ must have distinct names in model files, got 'f0' twice"):
        weald.save(model, path)
    assert os.listdir(tmp_path) == []
    assert list(copy.deepcopy(model).feature_names_in_) == list(model.feature_names_in_)


@pytest.mark.parametrize("kind", ["model", "around", "with an archive", "pipeline"])
def test_a_file_is_opened_and_parsed_once(kind, tmp_path, monkeypatch):
    """The engine opens a file once: it shows the header, and goes on if no check of the header raises."""
    skops_schemas = pytest.importorskip("skops.io._persist")
    X, Y = make_data("RandomForestClassifier", outputs="labels")
    forest = weald.RandomForestClassifier(2, random_state=0)
    model = {
        "model": lambda: forest.fit(X, Y),
        "around": lambda: weald.multilabel.TunedThresholds(forest, cv=2).fit(X, Y),
        "with an archive": lambda: weald.GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(X, Y),
        "pipeline": lambda: make_pipeline(StandardScaler(), forest).fit(X, Y),
    }[kind]()
    path = tmp_path / "model"
    weald.save(model, path)
    calls = collections.Counter()

    def counted(module, name):
        original = getattr(module, name)

        def count(*args, **kwargs):
            calls[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, count)

    counted(model_file, "from_text")
    counted(skops_schemas, "read_schema")
    for load in (
        lambda: weald.load(path),
        lambda: weald.load(path, mmap_mode="r"),
        lambda: weald.loads(path.read_bytes()),
    ):
        calls.clear()
        load()
        assert calls["from_text"] == (kind != "pipeline")
        # The parameter `init` and the fitted `init_` are archives of their own.
        assert calls["read_schema"] == {"pipeline": 1, "with an archive": 2}.get(kind, 0)


@pytest.mark.parametrize("mode", [None, "r"])
def test_a_header_is_checked_before_arrays_are_read(mode, tmp_path, monkeypatch):
    path = tmp_path / "model"
    weald.save(make("DecisionTreeClassifier").fit(*make_data("DecisionTreeClassifier")), path)

    class RefusedError(Exception):
        pass

    def refuse(summary):
        assert summary == weald.inspect_model(path)
        raise RefusedError

    monkeypatch.setattr(model_file, "_proven", refuse)
    with pytest.raises(RefusedError):
        weald.load(path, mmap_mode=mode)
