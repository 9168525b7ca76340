"""Whole pipelines that contain an estimator of spinney, as files and bytes."""

import io
import sys
import zipfile

import numpy as np
import pytest
import spinney
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
    "tree": spinney.DecisionTreeClassifier(random_state=0),
    "forest": spinney.RandomForestClassifier(4, random_state=0),
    "centroid": spinney.CentroidForestClassifier(3, random_state=0),
    "boosting": spinney.GradientBoostingClassifier(n_estimators=4, random_state=0),
    "compressed": spinney.CompressedForestClassifier(spinney.ExtraTreesClassifier(3, random_state=0)),
    "thresholds": spinney.multilabel.TunedThresholds(spinney.RandomForestClassifier(4, random_state=0)),
    "sigmoids": spinney.multilabel.CalibratedLabels(spinney.RandomForestClassifier(4, random_state=0), min_positives=1),
    "isotonic": spinney.multilabel.CalibratedLabels(
        spinney.RandomForestClassifier(4, random_state=0), method="isotonic", min_positives=1
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
    spinney.save(pipeline, tmp_path / "model")
    file = io.BytesIO()
    spinney.save(pipeline, file)
    again = [
        spinney.loads(spinney.dumps(pipeline)),
        spinney.load(tmp_path / "model"),
        spinney.load(io.BytesIO(file.getvalue())),
        spinney.loads(bytearray(file.getvalue())),
    ]
    expected = pipeline.predict(TEXTS)
    for loaded in again:
        assert type(loaded) is Pipeline
        found = loaded.predict(TEXTS)
        assert type(found) is type(expected)
        assert abs(found - expected).sum() == 0
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))
        assert spinney.dumps(loaded[-1]) == spinney.dumps(pipeline[-1])


def scaled():
    X = np.random.default_rng(0).normal(size=(20, 3))
    return make_pipeline(StandardScaler(), spinney.RandomForestRegressor(3, random_state=0)).fit(X, X[:, 0])


def test_types_of_others_are_refused(tmp_path):
    steps = (FunctionTransformer(lambda x: x), spinney.RandomForestClassifier(3))
    pipeline = make_pipeline(*steps).fit(np.eye(4), [0, 1, 0, 1])
    (tmp_path / "model").write_bytes(b"old")
    with pytest.raises(TypeError, match=r"Pipeline with types of scikit-learn.*got .*<lambda>"):
        spinney.save(pipeline, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"
    import skops.io

    for data in (skops.io.dumps(pipeline),):
        with pytest.raises(ValueError, match=r"got a skops file with .*<lambda>"):
            spinney.loads(data)
    with pytest.raises(ValueError, match="must be a pipeline, got a skops file with a StandardScaler"):
        spinney.loads(skops.io.dumps(scaled()[0]))
    with pytest.raises(NotFittedError):
        spinney.dumps(make_pipeline(StandardScaler(), spinney.RandomForestClassifier()))


def test_damaged_archives_are_value_errors(tmp_path):
    data = spinney.dumps(scaled())
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("schema.json", "[]")
    cut = [data[:n] for n in (4, 100, len(data) // 2, len(data) - 1)]
    for wrong in (*cut, empty.getvalue(), data[:300] + bytes(60) + data[360:]):
        with pytest.raises(ValueError, match=r"^data: not a valid pipeline"):
            spinney.loads(wrong)
        (tmp_path / "model").write_bytes(wrong)
        with pytest.raises(ValueError, match=r"model: not a valid pipeline"):
            spinney.load(tmp_path / "model")


def test_parts_that_do_not_fit_are_value_errors():
    X = np.random.default_rng(0).normal(size=(30, 3))
    inner = spinney.RandomForestClassifier(3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), spinney.multilabel.TunedThresholds(inner)).fit(X, (X > 0).astype(int))
    pipeline[-1].threshold_ = pipeline[-1].threshold_[:-1]
    with pytest.raises(ValueError, match="threshold_"):
        spinney.loads(spinney.dumps(pipeline))


def test_a_pipeline_is_no_single_estimator(tmp_path):
    spinney.save(scaled(), tmp_path / "model")
    with pytest.raises(ValueError, match=r"model: the file must contain a single estimator, got a zip archive"):
        spinney.inspect_model(tmp_path / "model")


def test_without_skops_the_error_says_what_to_install(monkeypatch):
    pipeline = scaled()
    data = spinney.dumps(pipeline)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: spinney.dumps(pipeline), lambda: spinney.loads(data)):
        with pytest.raises(ImportError, match=r"spinney\[skops\]"):
            call()
