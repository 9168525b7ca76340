"""Whole pipelines that contain an estimator of weald, as files and bytes."""

import io
import sys
import zipfile

import numpy as np
import pytest
import weald
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

pytest.importorskip("skops.io")

WORDS = ["oak", "elm", "ash", "yew", "fir"]
TEXTS = [f"{WORDS[i % 5]} {WORDS[i % 3]} {WORDS[(i * i) % 5]}" for i in range(30)]
Y = np.column_stack([[f"{word} " in f"{text} " for text in TEXTS] for word in WORDS[:3]]).astype(int)

ESTIMATORS = {
    "tree": weald.DecisionTreeClassifier(random_state=0),
    "forest": weald.RandomForestClassifier(4, random_state=0),
    "centroid": weald.CentroidForestClassifier(3, random_state=0),
    "boosting": weald.GradientBoostingClassifier(n_estimators=4, random_state=0),
    "compressed": weald.CompressedForestClassifier(weald.ExtraTreesClassifier(3, random_state=0)),
    "thresholds": weald.multilabel.TunedThresholds(weald.RandomForestClassifier(4, random_state=0)),
    "sigmoids": weald.multilabel.CalibratedLabels(weald.RandomForestClassifier(4, random_state=0), min_positives=1),
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


def scaled():
    X = np.random.default_rng(0).normal(size=(20, 3))
    return make_pipeline(StandardScaler(), weald.RandomForestRegressor(3, random_state=0)).fit(X, X[:, 0])


def test_types_of_others_are_refused(tmp_path):
    steps = (FunctionTransformer(lambda x: x), weald.RandomForestClassifier(3))
    pipeline = make_pipeline(*steps).fit(np.eye(4), [0, 1, 0, 1])
    (tmp_path / "model").write_bytes(b"old")
    with pytest.raises(TypeError, match=r"Pipeline with types of scikit-learn.*got .*<lambda>"):
        weald.save(pipeline, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"
    import skops.io

    for data in (skops.io.dumps(pipeline),):
        with pytest.raises(ValueError, match=r"got a skops file with .*<lambda>"):
            weald.loads(data)
    with pytest.raises(ValueError, match="must be a pipeline, got a skops file with a StandardScaler"):
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
        with pytest.raises(ImportError, match=r"pip install skops;"):
            call()
