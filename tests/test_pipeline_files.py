"""Whole pipelines that contain an estimator of weald, as files and bytes."""

import copy
import io
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
import weald
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from weald.multilabel import CalibratedLabels, TunedThresholds

pytest.importorskip("skops.io")

WORDS = ["oak", "elm", "ash", "yew", "fir"]
TEXTS = [f"{WORDS[i % 5]} {WORDS[i % 3]} {WORDS[(i * i) % 5]}" for i in range(30)]
Y = np.column_stack([[f"{word} " in f"{text} " for text in TEXTS] for word in WORDS[:3]]).astype(int)

ESTIMATORS = {
    "tree": weald.DecisionTreeClassifier(random_state=0),
    "forest": weald.RandomForestClassifier(4, random_state=0),
    "centroid": weald.CentroidForestClassifier(3, random_state=0),
    "linear": weald.LinearClassifier(random_state=0),
    "label tree": weald.LinearClassifier(strategy="tree", random_state=0),
    "boosting": weald.GradientBoostingClassifier(n_estimators=4, random_state=0),
    "mean": weald.VotingClassifier(
        [
            ("forest", weald.RandomForestClassifier(4, random_state=0)),
            ("linear", weald.LinearClassifier(random_state=0)),
        ],
        weights=[1, 2],
    ),
    "compressed": weald.CompressedForestClassifier(weald.ExtraTreesClassifier(3, random_state=0)),
    "thresholds": weald.multilabel.TunedThresholds(weald.RandomForestClassifier(4, random_state=0)),
    "sigmoids": weald.multilabel.CalibratedLabels(weald.RandomForestClassifier(4, random_state=0), min_positives=1),
    "hierarchy": weald.multilabel.HierarchicalLabels(weald.RandomForestClassifier(4, random_state=0)),
    "isotonic": weald.multilabel.CalibratedLabels(
        weald.RandomForestClassifier(4, random_state=0), method="isotonic", min_positives=1
    ),
}
BEFORE = {
    "counts": CountVectorizer(),
    "tf-idf": TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
    "hashes": make_pipeline(HashingVectorizer(n_features=64), TruncatedSVD(3, random_state=0)),
}


@pytest.mark.parametrize("layout", ["dense", "csr", "csc"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_pipeline_predicts_the_same_after_it_was_loaded(name, before, layout, tmp_path):
    y = {"dense": Y, "csr": sparse.csr_array(Y), "csc": sparse.csc_matrix(Y)}[layout]
    pipeline = make_pipeline(BEFORE[before], ESTIMATORS[name]).fit(TEXTS, y)
    weald.save(pipeline, tmp_path / "model")
    file = io.BytesIO()
    weald.save(pipeline, file)
    again = [
        weald.loads(weald.dumps(pipeline)),
        weald.load(tmp_path / "model"),
        weald.load(io.BytesIO(file.getvalue())),
        weald.loads(bytearray(file.getvalue())),
    ]
    expected = pipeline.predict(TEXTS)
    for loaded in again:
        assert type(loaded) is Pipeline
        found = loaded.predict(TEXTS)
        assert type(found) is type(expected)
        assert abs(found - expected).sum() == 0
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))
        assert weald.dumps(loaded[-1]) == weald.dumps(pipeline[-1])
        assert weald.dumps(loaded) == weald.dumps(pipeline) == file.getvalue()


# --- models of scikit-learn inside those of weald --------------------------------------------------------------------


def one_vs_rest(estimator):
    return OneVsRestClassifier(estimator)


X = np.random.default_rng(0).normal(size=(60, 4))
LABELS = (X[:, :3] > 0).astype(int)
STARTS = {
    "logistic": one_vs_rest(LogisticRegression()),
    "machine": one_vs_rest(LinearSVC()),
    "descent": one_vs_rest(SGDClassifier(random_state=0)),
    "bayes": one_vs_rest(BernoulliNB()),
    "several": MultiOutputClassifier(LogisticRegression()),
    "dummy": DummyClassifier(),
    "scaled": make_pipeline(StandardScaler(), one_vs_rest(LogisticRegression())),
    "frozen": FrozenEstimator(one_vs_rest(LogisticRegression()).fit(X, LABELS)),
    "forest": FrozenEstimator(weald.RandomForestClassifier(3, random_state=0).fit(X, LABELS)),
    "forest in a pipeline": make_pipeline(MaxAbsScaler(), weald.RandomForestClassifier(3, random_state=0)),
    "thresholds": FrozenEstimator(TunedThresholds(weald.RandomForestClassifier(5, random_state=0)).fit(X, LABELS)),
}


def assert_saved(model, X, tmp_path):
    """Check that every way to save a model gives the same model and the same bytes."""
    data = weald.dumps(model)
    weald.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == data
    file = io.BytesIO(data)
    ways = [weald.loads(data), weald.load(tmp_path / "model"), weald.load(file)]
    for loaded in [*ways, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]:
        assert type(loaded) is type(model)
        assert abs(loaded.predict(X) - model.predict(X)).sum() == 0
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert weald.dumps(loaded) == data
    return data


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("name", STARTS)
def test_boosting_with_a_start_is_saved_alone(name, form, tmp_path):
    if name == "several" and form is not np.asarray:
        form = np.asfortranarray  # this estimator does not support sparse labels
    model = weald.GradientBoostingClassifier(init=STARTS[name], n_estimators=2, random_state=0).fit(X, form(LABELS))
    data = assert_saved(model, X, tmp_path)
    # It is a model file, whose trees other readers find.
    assert weald.inspect_model(tmp_path / "model")["kind"] == "boosted"
    assert data[8:9] == b"{"


def test_starts_and_weak_models_of_regressors_are_saved(tmp_path):
    for params in ({"init": DummyRegressor()}, {"init": Ridge()}, {"estimator": LinearRegression()}):
        model = weald.GradientBoostingRegressor(n_estimators=3, random_state=0, **params).fit(X, X[:, 0])
        assert_saved(model, X, tmp_path)
    for start in (LogisticRegression(), DummyClassifier(strategy="prior"), LinearSVC()):
        for y in (LABELS[:, 0], LABELS[:, 0] + LABELS[:, 1]):
            model = weald.GradientBoostingClassifier(init=start, n_estimators=2, random_state=0).fit(X, y)
            assert_saved(model, X, tmp_path)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("around", [TunedThresholds, CalibratedLabels])
def test_thresholds_and_calibration_around_models_of_scikit_learn_are_saved(around, form, tmp_path):
    options = {"min_positives": 1} if around is CalibratedLabels else {}
    inner = [
        one_vs_rest(LogisticRegression()),
        make_pipeline(MaxAbsScaler(), weald.RandomForestClassifier(8, random_state=0)),
        FrozenEstimator(make_pipeline(MaxAbsScaler(), one_vs_rest(LogisticRegression())).fit(X, LABELS)),
    ]
    for estimator in inner:
        model = around(estimator, cv="given" if isinstance(estimator, FrozenEstimator) else 2, **options)
        model.fit(X, form(LABELS))
        data = assert_saved(model, X, tmp_path)
        model.n_outputs_ = 7
        for write in (weald.dumps, pickle.dumps):
            read = weald.loads if write is weald.dumps else pickle.loads
            with pytest.raises(ValueError, match=r"must be|must have"):
                read(write(model))
        assert weald.loads(data).n_outputs_ == 3


def test_what_a_model_of_scikit_learn_holds_is_checked_when_it_is_written_and_read(tmp_path):
    model = weald.GradientBoostingClassifier(init=STARTS["logistic"], n_estimators=2, random_state=0).fit(X, LABELS)
    data = weald.dumps(model)
    # A type that is not trusted, in the archive inside the file.
    changed = data.replace(b'"LogisticRegression"', b'"LogisticRegressioN"')
    with pytest.raises(ValueError, match=r"^data: "):
        weald.loads(changed)
    logistic = (b"sklearn.linear_model._logistic", b"os.path.aaaaaaaaaaaaaaaaaaaaaa")
    for old, new in (logistic, (b"PK\x03\x04", b"PK\x00\x00")):
        assert len(old) == len(new)
        with pytest.raises(ValueError, match=r"^data: "):
            weald.loads(data.replace(old, new))
    bad = weald.GradientBoostingRegressor(init=DummyRegressor(), n_estimators=2).fit(X, X[:, 0])
    bad._init.note = lambda: 1
    (tmp_path / "model").write_bytes(b"old")
    with pytest.raises(TypeError, match=r"the attribute _init must (be|have)"):
        weald.save(bad, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"
    for attribute, value in (("_init", 3), ("_weak", [1, 2])):
        model = weald.GradientBoostingRegressor(estimator=Ridge(), n_estimators=2).fit(X, X[:, 0])
        setattr(model, attribute, value)
        with pytest.raises(ValueError, match=rf"{attribute} must"):
            weald.loads(weald.dumps(model))


def test_equal_archives_have_equal_bytes_at_any_time():
    def made():
        return make_pipeline(TfidfVectorizer(), ESTIMATORS["forest"]).fit(TEXTS, sparse.csr_array(Y))

    data = weald.dumps(made())
    assert weald.dumps(made()) == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {about.date_time for about in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        schema = json.loads(archive.read("schema.json"))
    assert schema["__loader__"] == "ObjectNode"


def scaled():
    X = np.random.default_rng(0).normal(size=(20, 3))
    return make_pipeline(StandardScaler(), weald.RandomForestRegressor(3, random_state=0)).fit(X, X[:, 0])


def test_types_of_others_are_refused(tmp_path):
    steps = (FunctionTransformer(lambda x: x), weald.RandomForestClassifier(3))
    pipeline = make_pipeline(*steps).fit(np.eye(4), [0, 1, 0, 1])
    (tmp_path / "model").write_bytes(b"old")
    with pytest.raises(TypeError, match=r"estimator must have types of scikit-learn.*got .*<lambda>"):
        weald.save(pipeline, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"
    import skops.io

    for data in (skops.io.dumps(pipeline),):
        with pytest.raises(ValueError, match=r"got a skops file with .*<lambda>"):
            weald.loads(data)
    with pytest.raises(ValueError, match=r"must be a pipeline.*got a skops file with a StandardScaler"):
        weald.loads(skops.io.dumps(scaled()[0]))
    with pytest.raises(NotFittedError):
        weald.dumps(make_pipeline(StandardScaler(), weald.RandomForestClassifier()))


def test_damaged_archives_are_value_errors(tmp_path):
    data = weald.dumps(scaled())
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("schema.json", "[]")
    cut = [data[:n] for n in (4, 100, len(data) // 2, len(data) - 1)]
    for wrong in (*cut, empty.getvalue(), data[:300] + bytes(60) + data[360:]):
        with pytest.raises(ValueError, match=r"^data: not a valid pipeline"):
            weald.loads(wrong)
        (tmp_path / "model").write_bytes(wrong)
        with pytest.raises(ValueError, match=r"model: not a valid pipeline"):
            weald.load(tmp_path / "model")


def test_parts_that_do_not_fit_are_value_errors():
    X = np.random.default_rng(0).normal(size=(30, 3))
    inner = weald.RandomForestClassifier(3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), weald.multilabel.TunedThresholds(inner)).fit(X, (X > 0).astype(int))
    pipeline[-1].threshold_ = pipeline[-1].threshold_[:-1]
    with pytest.raises(ValueError, match="threshold_"):
        weald.loads(weald.dumps(pipeline))


def test_a_pipeline_is_no_single_estimator(tmp_path):
    weald.save(scaled(), tmp_path / "model")
    with pytest.raises(ValueError, match=r"model: the file must contain a single estimator, got a zip archive"):
        weald.inspect_model(tmp_path / "model")


def test_without_skops_the_error_says_what_to_install(monkeypatch):
    pipeline = scaled()
    data = weald.dumps(pipeline)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: weald.dumps(pipeline), lambda: weald.loads(data)):
        with pytest.raises(ImportError, match=r"pip install skops"):
            call()
    monkeypatch.undo()
    model = weald.GradientBoostingClassifier(init=STARTS["dummy"], n_estimators=2).fit(X, LABELS)
    data = weald.dumps(model)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: weald.dumps(model), lambda: weald.loads(data)):
        with pytest.raises(ImportError, match=r"skops .*pip install skops"):
            call()
