"""Frames of pandas and polars: names of outputs, and predictions as frames."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import (
    ALL,
    BOOSTING,
    CENTROIDS,
    COMPRESSED,
    LABEL_TREES,
    LINEAR,
    check_refused,
    make,
    make_data,
    model_bytes,
)
from model_files import put_together, taken_apart
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

EVERY = [*ALL, *BOOSTING, *CENTROIDS, *LINEAR, *LABEL_TREES, *COMPRESSED]
NAMES = ["gene0", "gene1", "gene2"]
FRAMES = {"pandas": pd.DataFrame, "polars": lambda Y, columns: pl.DataFrame(Y, schema=columns)}
OUTPUTS = ["single", "several", "labels"]


@pytest.fixture(params=EVERY)
def name(request):
    return request.param


@pytest.fixture(params=sorted(FRAMES))
def library(request):
    return request.param


def small(name, **params):
    """An estimator that is fitted in milliseconds."""
    return make(name, **({"l1_norm": 0.5} if name in COMPRESSED else {}), **params)


def several(name):
    """X, and y with three columns: numerical outputs or labels."""
    return make_data(name, outputs="labels")


# Names of outputs


def test_columns_of_y_name_the_outputs_until_a_fit_without_names(name, library):
    X, Y = several(name)
    model = small(name).fit(X, FRAMES[library](Y, columns=NAMES))
    plain = small(name).fit(X, Y)
    assert model.target_names_in_.tolist() == NAMES
    assert model.target_names_in_.dtype == object
    assert all(type(n) is str for n in model.target_names_in_)
    assert model_bytes(model) == model_bytes(plain)
    assert not hasattr(plain, "target_names_in_")
    assert not hasattr(clone(model), "target_names_in_")
    check_refused(model, ValueError, "NaN", X, np.full(len(X), np.nan))
    assert not hasattr(model.fit(X, Y), "target_names_in_")


def test_a_series_names_one_output(name):
    X, y = make_data(name)
    frames = [pd.Series(y, name="price"), pl.Series("price", y), pd.DataFrame({"price": y})]
    for frame in frames:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A column-vector y was passed")
            assert small(name).fit(X, frame).target_names_in_.tolist() == ["price"]
    for frame in (pd.Series(y), pd.Series(y, name=3), pl.Series(y), y.tolist(), y):
        assert not hasattr(small(name).fit(X, frame), "target_names_in_")


@pytest.mark.parametrize("columns", [[0, 1, 2], ["a", "b", 2], pd.MultiIndex.from_tuples([("a", i) for i in range(3)])])
def test_columns_that_are_not_all_strings_are_no_names(name, columns):
    X, Y = several(name)
    model = small(name).fit(X, pd.DataFrame(Y, columns=columns))
    assert not hasattr(model, "target_names_in_")
    assert model_bytes(model) == model_bytes(small(name).fit(X, Y))


def test_two_columns_of_one_name_are_refused(name):
    X, Y = several(name)
    frame = pd.DataFrame(Y, columns=["a", "b", "a"])
    for twice in (frame, frame.astype(pd.SparseDtype(Y.dtype, 0))):
        check_refused(
            small(name).fit(X, Y), ValueError, "y must have distinct column names, got 'a' for two columns", X, twice
        )


def test_names_are_there_with_weights_of_zero_and_frames_of_sparse_columns(name):
    X, Y = several(name)
    weights = np.ones(len(X))
    weights[::3] = 0
    frame = pd.DataFrame(Y, columns=NAMES)
    assert small(name).fit(X, frame, sample_weight=weights).target_names_in_.tolist() == NAMES
    if name.endswith("Classifier"):
        stored = frame.astype(pd.SparseDtype(np.int64, 0))
        assert small(name).fit(X, stored).target_names_in_.tolist() == NAMES


def test_copies_pickles_and_files_keep_names_and_the_choice_of_frames(name, tmp_path):
    X, Y = several(name)
    model = small(name).fit(X, pd.DataFrame(Y, columns=NAMES)).set_output(predict="pandas")
    joblib.dump(model, tmp_path / "joblib")
    weald.save(model, tmp_path / "model")
    weald.save(weald.load(tmp_path / "model"), tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    for other in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "joblib"),
        weald.load(tmp_path / "model"),
        weald.load(tmp_path / "again", mmap_mode="r"),
    ):
        assert other.target_names_in_.tolist() == NAMES
        pd.testing.assert_frame_equal(other.predict(X), model.predict(X))
    unfitted = pickle.loads(pickle.dumps(small(name).set_output(predict="polars")))
    assert isinstance(unfitted.fit(X, Y).predict(X), pl.DataFrame)


def test_names_in_files_are_proven(tmp_path):
    X, Y = several("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, pd.DataFrame(Y, columns=NAMES)).set_output(predict="pandas")
    path = tmp_path / "model"
    weald.save(model, path)
    header, estimator, data = taken_apart(path)
    content = estimator["fitted"]["target_names_in_"]["array"]
    for names, message in (
        (NAMES[:2], "target_names_in_ must be an object array of length 3, one name for each output"),
        ([*NAMES, "more"], "target_names_in_ must be an object array of length 3, one name for each output"),
        ([*NAMES[:2], 1], "target_names_in_ must have strings as names, got 1"),
        ([*NAMES[:2], NAMES[0]], "target_names_in_ must have distinct names"),
    ):
        content["values"], content["shape"] = names, [len(names)]
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match=message):
            weald.load(path)
    content["values"], content["shape"] = NAMES, [3]
    for output in ("numpy", None, ["pandas"]):
        estimator["fitted"]["_predict_output"] = output
        put_together(path, header, estimator, data)
        with pytest.raises(ValueError, match="_predict_output must be one of pandas, polars, got"):
            weald.load(path)
    state = model.__getstate__()
    for names in (NAMES, np.array(NAMES), np.array(NAMES[:2], dtype=object)):
        with pytest.raises(
            ValueError, match="target_names_in_ must be an object array of length 3, one name for each output"
        ):
            make("RandomForestRegressor").__setstate__({**state, "target_names_in_": names})


@pytest.mark.parametrize("name", COMPRESSED)
def test_the_forest_that_is_compressed_has_the_names_too(name):
    for y in (several(name)[1], make_data(name)[1]):
        frame = pd.DataFrame(y, columns=NAMES) if y.ndim == 2 else pd.Series(y, name="kind")
        model = small(name).fit(several(name)[0], frame)
        assert model.estimator_.target_names_in_.tolist() == model.target_names_in_.tolist()


def swapped(frame):
    return frame[[NAMES[1], NAMES[0], NAMES[2]]]


@pytest.mark.parametrize("name", [*ALL[4:], *BOOSTING])
def test_a_warm_start_takes_no_other_columns(name):
    X, Y = several(name)
    frame = pd.DataFrame(Y, columns=NAMES)
    model = small(name, warm_start=True).fit(X, frame).set_params(n_estimators=7)
    check_refused(model, ValueError, "y must have the name 'gene0' at position 0, got 'gene1'", X, swapped(frame))
    assert model.fit(X, frame).target_names_in_.tolist() == NAMES
    assert not hasattr(model.set_params(n_estimators=8).fit(X, Y), "target_names_in_")
    X, y = make_data(name)
    model = small(name, warm_start=True).fit(X, pd.Series(y, name="a")).set_params(n_estimators=7)
    assert model.fit(X, pd.Series(y, name="b")).target_names_in_.tolist() == ["b"]


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_held_out_samples_with_other_columns_are_refused(kind):
    X, Y = several(kind)
    frame = pd.DataFrame(Y, columns=NAMES)
    message = "must have the name 'gene0' at position 0, got 'gene1'"
    for name in (f"DecisionTree{kind}", f"RandomForest{kind}"):
        model = make(name).fit(X, frame)
        with pytest.raises(ValueError, match=f"y_val {message}"):
            model.prune_reduced_error(X, swapped(frame))
        assert model_bytes(model.prune_reduced_error(X, frame)) == model_bytes(model.prune_reduced_error(X, Y))
        assert model.prune_reduced_error(X, frame).target_names_in_.tolist() == NAMES
    boosting = make(f"GradientBoosting{kind}")
    with pytest.raises(ValueError, match=f"y_val {message}"):
        boosting.fit(X, frame, X_val=X, y_val=swapped(frame))
    with pytest.raises(ValueError, match=rf"eval_sets\[0\]: its y {message}"):
        boosting.fit(X, frame, eval_sets=[(X, swapped(frame))])
    with pytest.raises(ValueError, match=message):
        boosting.fit(X, frame, X_val=X, y_val=frame).refit_leaves(X, swapped(frame))
    frozen = FrozenEstimator(make(f"ExtraTrees{kind}").fit(X, frame))
    with pytest.raises(ValueError, match=f"y {message}: ExtraTrees{kind} was fitted on other outputs"):
        small(f"CompressedForest{kind}", estimator=frozen).fit(X, swapped(frame))


def in_arrow(frame):
    return pytest.importorskip("pyarrow").table({name: frame[name].tolist() for name in frame})


CONTAINERS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "pyarrow": in_arrow,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_outputs_of_every_library_are_those_of_arrays(name, container):
    X, Y = several(name)
    weights = np.arange(len(X)) % 3 * 1.0
    model, plain = (
        small(name).fit(X, y, sample_weight=weights) for y in (CONTAINERS[container](pd.DataFrame(Y, columns=NAMES)), Y)
    )
    assert model_bytes(model) == model_bytes(plain)
    assert model.target_names_in_.tolist() == NAMES
    # NumPy adds the columns of another layout in another order.
    score = model.score(X, CONTAINERS[container](pd.DataFrame(Y, columns=NAMES)))
    assert score == pytest.approx(plain.score(X, Y), abs=1e-14)
    message = "y must have the name 'gene0' at position 0, got 'gene1'"
    with pytest.raises(ValueError, match=message):
        model.score(X, CONTAINERS[container](swapped(pd.DataFrame(Y, columns=NAMES))))
    if name in CENTROIDS or name == "CompressedForestClassifier":
        return  # unknown values are not supported
    gaps = np.where(np.arange(Y.size).reshape(Y.shape) % 7 == 0, np.nan, Y)
    frame = pd.DataFrame(gaps, columns=NAMES)
    assert model_bytes(small(name).fit(X, CONTAINERS[container](frame))) == model_bytes(small(name).fit(X, gaps))


@pytest.mark.parametrize("container", CONTAINERS)
def test_tags_in_columns_are_refused(container):
    for cells in ([["a"]] * 30, [["a", "b"], []] * 15, [{"a": 1}] * 30):
        frame = CONTAINERS[container](pd.DataFrame({"tags": cells, "other": 1}))
        with pytest.raises(ValueError, match=r"y must be .*, got lists or sets of tags; .*MultiLabelBinarizer"):
            weald.RandomForestClassifier(2).fit(np.zeros((30, 1)), frame)


def test_missing_values_of_pandas_in_y_are_named_as_others_are(name):
    X, y = make_data(name)
    for missing in (pd.NA, None, np.nan):
        cells = [missing, *y[1:].tolist()]
        array = np.empty(len(y), dtype=object)
        array[:] = cells
        for form in (cells, array, pd.Series(cells, dtype=object), pd.Series(cells), pd.Series(array).astype(object)):
            check_refused(small(name).fit(X, y), ValueError, "y.* contains? NaN|y: Input contains NaN", X, form)
    if name in CENTROIDS or name == "CompressedForestClassifier":
        return
    X, Y = several(name)
    cells = Y.astype(object)
    cells[::5, 1] = pd.NA
    expected = model_bytes(small(name).fit(X, np.where(pd.isna(cells), np.nan, Y)))
    for form in (cells, cells.tolist(), pd.DataFrame(cells), pd.DataFrame(cells).convert_dtypes()):
        assert model_bytes(small(name).fit(X, form)) == expected


# Predictions as frames


def methods(model):
    found = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
    return [method for method in found if hasattr(model, method)]


def to_arrays(found):
    if isinstance(found, list):
        return [to_arrays(part) for part in found]
    return found.to_numpy()


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_frames_have_the_values_of_the_arrays(name, library, outputs):
    X, y = make_data(name, outputs=outputs)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])], index=np.arange(len(X)) * 10)
    model = small(name).fit(frame, y)
    arrays = {method: getattr(model, method)(frame) for method in methods(model)}
    # scikit-learn has no score for several outputs of classes.
    others = [] if outputs == "several" and name.endswith("Classifier") else [lambda: model.score(frame, y)]
    others += [lambda: model.apply(frame)] if hasattr(model, "apply") else []
    before = [other() for other in others]
    assert model.set_output(predict=library) is model
    for method, expected in arrays.items():
        for found in (getattr(model, method)(frame), getattr(model, method)(X=frame)):
            assert type(found) is list or type(found).__module__.startswith(library)
            np.testing.assert_equal(to_arrays(found), expected)
            if library == "pandas":
                for part in found if isinstance(found, list) else [found]:
                    assert part.index.equals(frame.index)
    np.testing.assert_equal([other() for other in others], before)
    assert isinstance(model.set_output().predict(frame), type(model.predict(frame)))
    model.set_output(predict="default")
    assert type(model.predict(frame)) is np.ndarray
    assert "_predict_output" not in model.__dict__


def test_names_of_columns(name, library):
    X, Y = several(name)
    is_classifier = name.endswith("Classifier")
    model = small(name).set_output(predict=library)
    for names, y in ((["y0", "y1", "y2"], Y), (NAMES, FRAMES[library](Y, columns=NAMES))):
        model.fit(X, y)
        for method in methods(model):
            assert list(getattr(model, method)(X).columns) == names, method
    X, y = make_data(name)
    model.fit(X, pd.Series(y, name="kind"))
    assert model.predict(X).name == "kind"
    assert model.fit(X, y).predict(X).name == (None if library == "pandas" else "")
    if is_classifier:
        assert list(model.predict_proba(X).columns) == ["a", "b", "c"]
        model.fit(X, y == "a")
        named = [False, True] if library == "pandas" else ["False", "True"]
        assert list(model.predict_proba(X).columns) == named
        if name in BOOSTING + COMPRESSED:
            assert model.decision_function(X).name == named[1]
        if name in LABEL_TREES:
            return  # several outputs of classes are not supported
        X, y = make_data(name, outputs="several")
        model.fit(X, pd.DataFrame(y, columns=NAMES))
        assert list(model.predict(X).columns) == NAMES
        for part, classes in zip(model.predict_proba(X), model.classes_, strict=True):
            assert list(part.columns) == [str(c) if library == "polars" else c for c in classes]


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith("Classifier")])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16, np.float32, np.float64, np.longdouble, ">i4"])
def test_labels_of_every_type(name, dtype, library):
    X, Y = several(name)
    dtype = np.dtype(dtype)
    model = small(name).fit(X, Y.astype(dtype)).set_output(predict=library)
    expected = model.set_output(predict="default").predict(X)
    np.testing.assert_array_equal(model.set_output(predict=library).predict(X).to_numpy(), expected)
    if dtype in (np.float16, np.longdouble, ">i4"):
        return  # for these types scipy has no sparse matrices, or pandas no sparse columns
    rows = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))])
    stored = small(name).fit(rows, sparse.csr_array(Y.astype(dtype)))
    stored.set_output(predict=library)
    if library == "polars":
        with pytest.raises(ValueError, match='predict="polars" does not support sparse predictions, which '):
            stored.predict(rows)
        return
    found = stored.predict(rows)
    assert found.index.equals(rows.index)
    assert all(isinstance(column, pd.SparseDtype) for column in found.dtypes)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert stored.score(rows, Y) == model.score(X, Y)


def test_scikit_learn_gets_arrays_of_clones(name):
    X, y = make_data(name)
    y = y == "a" if name.endswith("Classifier") else y
    model = small(name)
    scoring = "roc_auc" if name.endswith("Classifier") else "r2"
    expected = cross_val_score(model, X, y, cv=3, scoring=scoring)
    model.set_output(predict="pandas")
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3, scoring=scoring), expected)
    assert type(clone(model).fit(X, y).predict(X)) is np.ndarray
    assert isinstance(model.fit(X, y).predict(X), pd.Series)


def test_in_a_pipeline_transform_and_predict_are_set_apart(name):
    X, y = make_data(name)
    frame = pd.DataFrame(X, index=np.arange(len(X)) * 10)
    pipeline = make_pipeline(StandardScaler(), small(name)).set_output(transform="pandas").fit(frame, y)
    assert type(pipeline.predict(frame)) is np.ndarray
    pipeline[-1].set_output(predict="pandas")
    assert pipeline.predict(frame).index.equals(frame.index)


@pytest.mark.parametrize("name", BOOSTING)
def test_a_fit_that_predicts_has_arrays(name):
    """Inside a fit, the predictions for scorers and those of the models that stages start from are arrays."""
    X, y = make_data(name)
    y = y == "a" if name.endswith("Classifier") else y
    scoring = "roc_auc" if name.endswith("Classifier") else "r2"
    params = {"scoring": scoring, "early_stopping": True, "n_estimators": 20}
    plain = make(name, **params).fit(X, y)
    model = make(name, **params).set_output(predict="polars").fit(X, y)
    assert model_bytes(model) == model_bytes(plain)
    np.testing.assert_array_equal(model.validation_metric_, plain.validation_metric_)
    for library in FRAMES:
        init = make(name).fit(X, y)
        expected = make(name, init=FrozenEstimator(init)).fit(X, y).predict(X)
        framed = make(name, init=FrozenEstimator(init.set_output(predict=library))).fit(X, y)
        np.testing.assert_array_equal(framed.predict(X), expected)


def test_a_choice_that_is_none(name, monkeypatch):
    model = small(name)
    for wrong in ("numpy", "Pandas", 1, pd.DataFrame, np.array(["pandas", "polars"])):
        with pytest.raises(ValueError, match=r'predict must be "default", "pandas", "polars" or None, got '):
            model.set_output(predict=wrong)
    wrong, why = (
        "pandas",
        f"must be None, since {type(model).__name__} has no method transform, got 'pandas'; use predict=",
    )
    if hasattr(model, "transform"):
        wrong, why = "numpy", 'must be "default", "pandas", "polars" or None, got'
    with pytest.raises(ValueError, match=f"transform {why}"):
        model.set_output(transform=wrong, predict="pandas")
    assert "_predict_output" not in model.set_output(transform="default").__dict__
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="predict='polars' requires the package polars, which is not installed"):
        model.set_output(predict="polars")
    with pytest.raises(NotFittedError):
        model.set_output(predict="pandas").predict([[0.0]])


# Names in inspection


def test_importances_of_outputs_by_name():
    X, Y = several("RandomForestClassifier")
    importances = weald.inspection.feature_importances
    for name in ("DecisionTreeRegressor", "RandomForestClassifier"):
        model = make(name).fit(X, pd.DataFrame(Y, columns=NAMES))
        np.testing.assert_array_equal(importances(model, ["gene1"]), importances(model, [1]))
        np.testing.assert_array_equal(importances(model, ["gene2", 0]), importances(model, [2, 0]))
        np.testing.assert_array_equal(importances(model, model.target_names_in_), importances(model, "all"))
        for wrong in ("gene3", ["gene3"], "gene1"):
            with pytest.raises(ValueError, match=r"outputs must be .*, got 'gene[13]'"):
                importances(model, wrong)
        with pytest.raises(ValueError, match=r"outputs must be .*, got 'gene0'; y had no names"):
            importances(make(name).fit(X, Y), ["gene0"])


def test_rules_have_the_names_of_outputs():
    X, Y = several("DecisionTreeClassifier")
    rules = weald.inspection.export_rules
    frame = pd.DataFrame(Y, columns=NAMES)
    for name in (
        "DecisionTreeRegressor",
        "DecisionTreeClassifier",
        "RandomForestRegressor",
        "CompressedForestRegressor",
    ):
        plain, model = (small(name).fit(X, y) for y in (Y, frame))
        assert rules(model) == rules(plain, class_names=NAMES)
        assert rules(model, class_names=["a", "b", "c"]) == rules(plain, class_names=["a", "b", "c"])
    forest = make("RandomForestRegressor").fit(X, frame)
    assert rules(forest, tree=1) == rules(forest.estimators_[1])
    one = make("DecisionTreeRegressor").fit(X, pd.Series(Y[:, 0], name="price"))
    assert rules(one) == rules(make("DecisionTreeRegressor").fit(X, Y[:, 0]), class_names=["price"])
    X, y = make_data("DecisionTreeClassifier", outputs="several")
    plain, model = (make("DecisionTreeClassifier").fit(X, part) for part in (y, pd.DataFrame(y, columns=NAMES)))
    expected = rules(plain)
    for j, output in enumerate(NAMES):
        expected = expected.replace(f"y{j}=", f"{output}=")
    assert rules(model) == expected


@pytest.mark.parametrize("cls", [weald.RandomForestClassifier, weald.GradientBoostingClassifier])
def test_nullable_values_are_missing_in_frames_arrays_and_lists(cls):
    rng = np.random.default_rng(0)
    whole = pd.array(np.where(rng.random(60) < 0.3, None, rng.integers(0, 5, 60)), dtype="Int64")
    flag = pd.array(np.where(rng.random(60) < 0.3, None, rng.random(60) < 0.5), dtype="boolean")
    frame = pd.DataFrame({"whole": whole, "flag": flag})
    y = np.arange(60) % 2
    plain = frame.to_numpy(dtype=float, na_value=np.nan)
    expected = cls(n_estimators=3, random_state=0).fit(plain, y).predict_proba(plain)
    objects = frame.astype(object).to_numpy()
    assert any(value is pd.NA for value in objects.ravel())
    for X in (frame, objects, objects.tolist()):
        assert np.array_equal(cls(n_estimators=3, random_state=0).fit(X, y).predict_proba(X), expected)


def test_columns_of_one_name_as_weights_are_refused_by_name():
    X, y = np.arange(6.0)[:, None], [0, 1] * 3
    twice = pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="sample_weight"):
        weald.DecisionTreeClassifier().fit(X, y, sample_weight=twice)
