"""Predictions for single samples."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import weald
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from weald.multilabel import CalibratedLabels, HierarchicalLabels, TunedThresholds

RNG = np.random.default_rng(5)
X = np.where(RNG.random((80, 6)) < 0.4, 0.0, RNG.normal(size=(80, 6)))
CLASSES = np.array(["a", "b", "c"])[(X[:, :3].sum(axis=1) > 0).astype(int) + (X[:, 3] > 0)]
LABELS = (X @ RNG.normal(size=(6, 4)) > 0.5).astype(np.int8)
NUMBERS = X @ RNG.normal(size=(6, 3))
SMALL = {"n_estimators": 5, "random_state": 0}
LABEL_TREES = ("label tree", "sparse labels of a tree", "label tree of classes")
MODELS = {
    "tree": (weald.DecisionTreeClassifier(random_state=0), CLASSES),
    "classes": (weald.RandomForestClassifier(**SMALL), CLASSES),
    "outputs of classes": (weald.ExtraTreesClassifier(**SMALL), np.stack([CLASSES, CLASSES[::-1]], axis=1)),
    "labels": (weald.RandomForestClassifier(**SMALL), LABELS),
    "sparse labels": (weald.RandomForestClassifier(**SMALL), sp.csr_matrix(LABELS)),
    "number": (weald.RandomForestRegressor(**SMALL), NUMBERS[:, 0]),
    "numbers": (weald.ExtraTreesRegressor(**SMALL), NUMBERS),
    "sparse numbers": (weald.RandomForestRegressor(**SMALL), sp.csr_matrix(np.abs(NUMBERS) * (NUMBERS > 1))),
    "boosting": (weald.GradientBoostingClassifier(**SMALL), LABELS),
    "boosting of numbers": (weald.GradientBoostingRegressor(**SMALL), NUMBERS),
    "centroids": (weald.CentroidForestClassifier(**SMALL), LABELS),
    "linear": (weald.LinearClassifier(features="given", random_state=0), LABELS),
    "linear classes": (weald.LinearClassifier(features="normalized", random_state=0), CLASSES),
    "linear sparse labels": (weald.LinearClassifier(random_state=0), sp.csr_matrix(LABELS)),
    "linear start": (weald.GradientBoostingClassifier(init="linear", **SMALL), LABELS),
    "linear start of classes": (
        weald.GradientBoostingClassifier(init="linear", output_strategy="joint", **SMALL),
        CLASSES,
    ),
    "linear init": (weald.GradientBoostingClassifier(init=weald.LinearClassifier(random_state=0), **SMALL), LABELS),
    "label tree": (weald.LinearClassifier(strategy="tree", max_leaf_labels=1, random_state=0), LABELS),
    "sparse labels of a tree": (weald.LinearClassifier(strategy="tree", random_state=0), sp.csr_matrix(LABELS)),
    "label tree of classes": (weald.LinearClassifier(strategy="tree", max_leaf_labels=1, random_state=0), CLASSES),
    "thresholds": (TunedThresholds(weald.RandomForestClassifier(**SMALL), random_state=0), LABELS),
    "sparse thresholds": (
        TunedThresholds(weald.GradientBoostingClassifier(**SMALL), cv=2, random_state=0),
        sp.csr_matrix(LABELS),
    ),
    "hierarchy": (HierarchicalLabels(weald.GradientBoostingClassifier(**SMALL), method="isotonic"), LABELS),
    "calibrated": (
        CalibratedLabels(weald.RandomForestClassifier(**SMALL), min_positives=1, random_state=0),
        LABELS,
    ),
    "mean": (
        weald.VotingClassifier(
            [
                ("forest", weald.RandomForestClassifier(**SMALL)),
                ("linear", weald.LinearClassifier(random_state=0)),
                ("boosting", weald.GradientBoostingClassifier(**SMALL)),
            ]
        ),
        LABELS,
    ),
    "pipeline": (make_pipeline(StandardScaler(with_mean=False), weald.RandomForestClassifier(**SMALL)), LABELS),
    "thresholds after steps": (
        make_pipeline(
            StandardScaler(with_mean=False), TunedThresholds(weald.RandomForestClassifier(**SMALL), random_state=0)
        ),
        LABELS,
    ),
    "thresholds around steps": (
        TunedThresholds(
            make_pipeline(StandardScaler(with_mean=False), weald.RandomForestClassifier(**SMALL)), random_state=0
        ),
        LABELS,
    ),
    "compressed": (weald.CompressedForestRegressor(random_state=0, max_test_nodes=9), NUMBERS[:, 0]),
}
# Models with steps of scikit-learn before them.
WITH_STEPS = ("pipeline", "thresholds after steps", "thresholds around steps")


def dense(found):
    return found.toarray() if sp.issparse(found) else np.asarray(found)


def assert_same(found, expected):
    found, expected = dense(found), dense(expected)
    assert np.array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("name", MODELS)
def test_samples_are_predicted_as_by_the_model(name):
    model = clone(MODELS[name][0]).fit(X, MODELS[name][1])
    predictor = weald.Predictor(model)
    for i in range(0, 80, 9):
        row = X[i]
        forms = (row, row.astype(np.float32), row.tolist(), tuple(row), X[i : i + 1], sp.csr_matrix(X[i : i + 1]))
        for form in forms:
            assert_same(predictor.predict(form), model.predict(X[i : i + 1]))
        if hasattr(model, "predict_proba"):
            found, expected = predictor.predict_proba(row), model.predict_proba(X[i : i + 1])
            parts = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
            for one, many in parts:
                assert_same(one, many)
        if MODELS[name][1].shape == LABELS.shape and name != "numbers":
            found, expected = predictor.predict_topk(row, k=2), weald.topk(model, X[i : i + 1], k=2)
            assert_same(found[0], expected[0])
            assert_same(found[1], expected[1])
            for options in ({"min_score": 0.3, "exclude": [0]}, {"exclude": np.eye(1, LABELS.shape[1])}):
                found, expected = (
                    predictor.predict_topk(row, k=2, **options),
                    weald.topk(model, X[i : i + 1], k=2, **options),
                )
                assert_same(found[0], expected[0])
                assert_same(found[1], expected[1])


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("name", ["sparse labels", "sparse numbers"])
def test_sparse_predictions_of_a_sample_have_one_row(name, container):
    model = clone(MODELS[name][0]).fit(X, container(MODELS[name][1]))
    predictor = weald.Predictor(model)
    for form in (X[0], X[:1], X[0].tolist(), container(X[:1])):
        found = predictor.predict(form)
        assert (type(found), found.shape) == (container, (1, model.n_outputs_))
        assert (found != model.predict(X[:1])).nnz == 0


def test_numbers_as_objects_are_numbers_and_dates_and_huge_integers_are_none():
    model = clone(MODELS["number"][0]).fit(X, MODELS["number"][1])
    predictor = weald.Predictor(model)
    assert predictor.predict(X[0].astype(object)) == model.predict(X[:1])[0]
    for first in (np.datetime64("2020"), np.timedelta64(1, "s")):
        for form in ([first, 1, 2, 3, 4, 5], np.array([first] * 6)):
            with pytest.raises(ValueError, match=r"sample must have numbers, got (dtype|dates)"):
                predictor.predict(form)
    with pytest.raises(ValueError, match="sample must have numbers that float32 can represent, got a larger integer"):
        predictor.predict([10**400, 1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match=r"sample must have numbers in feature 0, got \(1\+0j\)"):
        predictor.predict([1 + 0j, 1, 2, 3, 4, 5])


# Zeros, values next to zero, very large values, one, and missing values.
HOSTILE = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-39, 3.4e38, -3.4e38, 1.0, np.nan, np.nan])


def answers(model, methods, samples):
    """What all these methods return, as arrays with one entry for each sample."""
    found = [getattr(model, method)(samples) for method in methods]
    return [part for parts in found for part in (parts if isinstance(parts, list) else [parts])]


@pytest.mark.parametrize("name", MODELS)
def test_hostile_samples_are_predicted_as_among_many(name):
    rng = np.random.default_rng(7)
    train = X.copy()
    train[rng.random(X.shape) < 0.2] = np.nan
    model = clone(MODELS[name][0])
    if "n_estimators" in model.get_params() and getattr(model, "strategy", "tree") == "tree":
        model.set_params(n_estimators=19)  # more trees than are processed at once, and a remainder
    if name.startswith(("centroids", "linear", "compressed", "mean")) or name in LABEL_TREES:
        train = X  # the former models do not support missing values
    model.fit(train, MODELS[name][1])
    samples = np.where(rng.random((60, 6)) < 0.5, rng.choice(HOSTILE, (60, 6)), rng.choice(X.ravel(), (60, 6)))
    if name.startswith(("centroids", "linear", "mean")) or name in LABEL_TREES:
        samples = np.nan_to_num(samples)
    predictor = weald.Predictor(model)
    if name in WITH_STEPS:
        # Divided by a scale below 1, the largest values are too large for float32.
        with pytest.raises(ValueError, match="infinity or a value too large"):
            model.predict(samples)
        for form in (np.full(6, 3.4e38), [3.4e38] * 6, np.full((1, 6), -3.4e38)):
            with pytest.raises(ValueError, match="infinity or a value too large"):
                predictor.predict(form)
        samples = np.clip(samples, -1e38, 1e38)
    methods = [method for method in ("predict", "predict_proba") if hasattr(model, method)]
    expected = {
        dtype: [dense(found) for found in answers(model, methods, samples.astype(dtype))]
        for dtype in (float, np.float32)
    }
    if name not in WITH_STEPS:  # which compute in the dtype of their X
        for of_double, of_single in zip(*expected.values(), strict=True):
            assert np.array_equal(of_double, of_single)
    for i, sample in enumerate(samples):
        forms = [sample, sample.astype(np.float32), sample.tolist(), samples[i : i + 1], np.repeat(sample, 2)[::2]]
        forms += [sp.csr_array(forms[3]), sp.csr_matrix(forms[3], dtype=np.float32), sp.csc_array(forms[3])]
        for form in forms:
            many = expected[np.float32 if getattr(form, "dtype", float) == np.float32 else float]
            for found, of_all in zip(answers(predictor, methods, form), many, strict=True):
                assert_same(found, of_all[i])


@pytest.mark.parametrize("name", MODELS)
def test_the_engine_alone_scores_what_it_can(name):
    predictor = weald.Predictor(clone(MODELS[name][0]).fit(X, MODELS[name][1]))
    if name in ("pipeline", "thresholds after steps"):
        predictor = predictor._steps._last
    by_engine = predictor._steps is None and predictor._scores_of is not None
    others = ("centroids", "linear", "calibrated", "hierarchy", "mean")
    is_of_trees = not name.startswith(others) and name not in LABEL_TREES
    assert by_engine == (is_of_trees and "thresholds" not in name)
    if by_engine:
        for form in (X[0], X[0].astype(np.float32), X[:1], X[0].tolist(), tuple(X[0])):
            assert predictor._scores_of(form) is not None
        csr = sp.csr_array(X[:1])
        unsorted = sp.csr_array((csr.data[::-1], csr.indices[::-1], csr.indptr), shape=csr.shape)
        for form in (csr, sp.csr_matrix(csr), csr.astype(np.float32), csr.astype(np.int64)):
            assert predictor._scores_of(form) is not None
        others = [X[0, :5], X[:2], X[0, ::-1], X[0].astype(np.int64), "123456", None, np.full(6, np.inf), X[0] * 1e300]
        for form in [*others, csr.tocsc(), csr[:, :5], sp.csr_array(X[:2]), csr * np.inf, unsorted]:
            assert predictor._scores_of(form) is None


def test_models_with_a_start_or_weak_models_of_python():
    init = weald.RandomForestRegressor(**SMALL).fit(X, NUMBERS)
    for options in ({"init": init}, {"estimator": LinearRegression()}):
        model = weald.GradientBoostingRegressor(**SMALL, **options).fit(X, NUMBERS)
        predictor = weald.Predictor(model)
        for i in range(5):
            # Single float32 samples are compared: linear models add up several samples in a different order, and
            # float32 differently from float64.
            sample = X[i].astype(np.float32)
            assert np.array_equal(predictor.predict(sample), model.predict(sample[np.newaxis])[0])


def test_missing_values_and_categories():
    holes = X.copy()
    holes[::3, 1] = np.nan
    model = weald.RandomForestClassifier(**SMALL).fit(holes, CLASSES)
    predictor = weald.Predictor(model)
    assert [predictor.predict(row) for row in holes] == model.predict(holes).tolist()
    frame = pd.DataFrame({"word": pd.Categorical(CLASSES), "x": X[:, 0]})
    model = weald.RandomForestClassifier(**SMALL).fit(frame, LABELS[:, 0])
    predictor = weald.Predictor(model)
    assert [predictor.predict(frame.iloc[i : i + 1]) for i in range(20)] == model.predict(frame)[:20].tolist()


def test_names_of_features():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = weald.RandomForestClassifier(**SMALL).fit(frame, CLASSES)
    predictor = weald.Predictor(model)
    row = dict(zip("fedcba", X[3, ::-1], strict=True))
    assert predictor.predict(row) == predictor.predict(X[3]) == model.predict(frame.iloc[3:4])[0]
    assert predictor.predict(frame.iloc[3:4]) == predictor.predict(row)
    with pytest.raises(ValueError, match=r"must have all features of the model, .*got none for 'a'"):
        predictor.predict(dict.fromkeys("bcdef", 1.0))
    with pytest.raises(ValueError, match="must have names of features of the model as keys, got 'z'"):
        predictor.predict(row | {"z": 1.0})
    with pytest.raises(TypeError, match="the model has no feature names, got a mapping"):
        weald.Predictor(weald.RandomForestClassifier(**SMALL).fit(X, CLASSES)).predict(row)


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        (X[0, :5], ValueError, r"shape \(6,\) or \(1, 6\), got \(5,\)"),
        (X[:2], ValueError, r"got \(2, 6\)"),
        (3.0, ValueError, r"got \(\)"),
        (["a"] * 6, ValueError, "sample must have numbers in feature 0, got 'a' of type str"),
        (np.array(["1"] * 6), ValueError, "must have numbers, got dtype <U1"),
        (np.full(6, np.inf), ValueError, "infinity"),
        ([1.0] * 5 + [1e39], ValueError, "too large for float32"),
        (sp.csr_matrix(X[:2]), ValueError, "a single sample"),
        (sp.csr_matrix(X[:1, :5]), ValueError, "5 features"),
        (None, ValueError, r"got \(\)"),
    ],
)
def test_what_is_no_sample_is_an_error(sample, error, message):
    predictor = weald.Predictor(weald.RandomForestClassifier(**SMALL).fit(X, CLASSES))
    with pytest.raises(error, match=message):
        predictor.predict(sample)
    assert predictor.predict(X[0]) in CLASSES


def test_samples_of_pipelines_are_what_their_first_step_takes():
    words = ["red fox", "blue fish", "red fish", "old fox"] * 10
    labels = np.array([[word in text for word in ("fox", "fish")] for text in words], dtype=np.int64)
    texts = make_pipeline(CountVectorizer(), weald.RandomForestClassifier(**SMALL)).fit(words, labels)
    predictor = pickle.loads(pickle.dumps(weald.Predictor(texts)))
    assert predictor.predict("red fish").tolist() == [0, 1]
    # The steps are copied.
    texts[0].fit(["other words"])
    assert predictor.predict_topk("old fox", k=1)[0].tolist() == [0]
    counts = [{text: 1} for text in words]
    of_counts = make_pipeline(DictVectorizer(), weald.RandomForestClassifier(**SMALL)).fit(counts, labels)
    assert weald.Predictor(of_counts).predict({"old fox": 1}).tolist() == [1, 0]
    frame = pd.DataFrame({"color": [text.split()[0] for text in words], "size": np.arange(40.0)})
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["color"]), remainder="passthrough")
    predictor = weald.Predictor(make_pipeline(columns, weald.RandomForestClassifier(**SMALL)).fit(frame, labels))
    assert predictor.feature_names_in_.tolist() == ["color", "size"]
    for sample in ({"size": 3.0, "color": "old"}, frame.iloc[3], frame[3:4], next(frame[3:4].itertuples(index=False))):
        assert predictor.predict(sample).tolist() == [1, 0]
    with pytest.raises(ValueError, match="sample must have all features of the model, got none for 'color'"):
        predictor.predict({"size": 3.0})
    with pytest.raises(ValueError, match="sample must be a single sample, got shape"):
        predictor.predict(frame)


@pytest.mark.parametrize("name", WITH_STEPS)
def test_errors_of_steps_name_the_sample(name):
    model = clone(MODELS[name][0]).fit(X, MODELS[name][1])
    predictor = weald.Predictor(model)
    for call in (predictor.predict, predictor.predict_proba, lambda sample: predictor.predict_topk(sample, k=2)):
        with pytest.raises(ValueError, match=r"^sample has 5 features, but StandardScaler is expecting 6 features"):
            call(X[0, :5])
        with pytest.raises(ValueError, match=r"^sample: could not convert string to float"):
            call(["a"] * 6)
        with pytest.raises(ValueError, match=r"^Input sample contains infinity"):
            call(np.full(6, np.inf))
    with pytest.raises(ValueError, match=r"^k must be "):
        predictor.predict_topk(X[0], k=0)
    with pytest.raises(ValueError, match=r"^scores must be "):
        predictor.predict_topk(X[0], k=2, scores="rank")
    # That a step is not fitted is no fault of the sample.
    steps = make_pipeline(StandardScaler(), weald.RandomForestClassifier(**SMALL).fit(X, LABELS))
    with pytest.raises(NotFittedError):
        weald.Predictor(steps).predict(X[0])


def test_what_is_no_model_is_refused():
    with pytest.raises(NotFittedError):
        weald.Predictor(weald.RandomForestClassifier())
    model = weald.RandomForestRegressor(**SMALL).fit(X, NUMBERS)
    for wrong in (make_pipeline(StandardScaler(), LinearRegression()), 3, weald.RandomForestRegressor):
        with pytest.raises(TypeError, match="estimator must be a fitted estimator of weald, got a"):
            weald.Predictor(wrong)
    with pytest.raises(AttributeError, match="RandomForestRegressor has no predict_proba"):
        weald.Predictor(model).predict_proba(X[0])


def test_threads_do_not_mix_their_samples_and_later_fits_change_nothing():
    model = weald.RandomForestRegressor(**SMALL).fit(X, NUMBERS[:, 0])
    predictor = weald.Predictor(model)
    expected = model.predict(X)
    model.fit(X, -NUMBERS[:, 0])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(predictor.predict, np.tile(X, (20, 1))))
    assert np.array_equal(found, np.tile(expected, 20))


def test_copies_and_pickles_predict_the_same():
    predictor = weald.Predictor(weald.GradientBoostingClassifier(**SMALL).fit(X, LABELS))
    for other in (pickle.loads(pickle.dumps(predictor)), copy.deepcopy(predictor), copy.copy(predictor)):
        assert np.array_equal(other.predict_proba(X[1]), predictor.predict_proba(X[1]))
    assert repr(predictor).startswith("Predictor(GradientBoostingClassifier(")


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("linear")])
def test_weights_and_trees_are_added_without_the_checks_of_many_samples(name, monkeypatch):
    model = clone(MODELS[name][0]).fit(sp.csr_array(X), MODELS[name][1])
    counts = sp.csr_array(np.round(X[:9] * (np.abs(X[:9]) > 0.3)).astype(np.int64))
    expected = [
        (model.predict(row), model.predict_proba(row), model.predict_topk(row, k=2))
        for row in map(counts.__getitem__, [[i] for i in range(9)])
    ]
    margins = model.predict_topk(counts, k=2, scores="margin", exclude=[1])
    predictor = weald.Predictor(model)
    # What many samples need is not called.
    monkeypatch.setattr(type(model), "_check_X", None)
    for i, (predicted, proba, (indices, scores)) in enumerate(expected):
        for row in (
            counts[[i]],
            sp.csr_matrix(counts[[i]], dtype=np.float32),
            counts[[i]].astype(float),
            counts[[i]].toarray()[0],
        ):
            assert_same(predictor.predict(row), predicted)
            assert_same(predictor.predict_proba(row), proba)
            found = predictor.predict_topk(row, k=2)
            assert_same(found[0], indices)
            assert_same(found[1], scores)
            found = predictor.predict_topk(row, k=2, scores="margin", exclude=[1])
            assert_same(found[0], margins[0][i])
            assert_same(found[1], margins[1][i])


def wide(features, name=None):
    """Labels of which some words are in many texts, and most in few: more than 32, so that weights have dense rows."""
    rng = np.random.default_rng(3)
    often = rng.random((200, 40)) < np.where(np.arange(40) < 6, 0.6, 0.05)
    words = often * rng.integers(1, 5, size=(200, 40))
    hidden = rng.normal(size=(40, 50)) * (rng.random((40, 50)) < np.where(np.arange(40) < 6, 0.9, 0.1)[:, None])
    labels = sp.csr_array((words @ hidden > 2).astype(np.int8))
    X = pd.DataFrame(words, columns=[f"word {j}" for j in range(40)]) if name == "frame" else sp.csr_array(words)
    return weald.LinearClassifier(
        1.0, features=features, min_weight={"given": 2.0}.get(features, 0.4), random_state=0
    ).fit(X, labels), words


@pytest.mark.parametrize("features", ["given", "normalized", "tfidf", "standardized"])
def test_weights_of_many_labels_have_the_bits_of_many_samples(features, monkeypatch):
    model, words = wide(features)
    shares = np.diff(model._model.arrays()[0].astype(int)) / 50
    assert (shares >= 0.25).any()
    assert (shares < 0.25).any()
    names = [f"word {j}" for j in range(40)]
    rows = sp.csr_array(words.astype(np.int64))
    scores, proba, predicted = model.decision_function(rows), model.predict_proba(rows), dense(model.predict(rows))
    best = {kind: model.predict_topk(rows, k=7, scores=kind) for kind in ("auto", "probability", "margin")}
    named = weald.Predictor(wide(features, "frame")[0], absent="zero")
    predictor = weald.Predictor(model)
    # Nothing is left to the model, to SciPy and to NumPy.
    monkeypatch.setattr("weald._tools.predictor.row_of", None)
    monkeypatch.setattr("weald._tools.predictor.row_of_entries", None)
    monkeypatch.setattr(weald.Predictor, "_checked", None)
    for i in range(0, 200, 7):
        row = rows[[i]]
        wide_indices = sp.csr_array(
            (row.data, row.indices.astype(np.int64), row.indptr.astype(np.int64)), shape=row.shape
        )
        given = {names[j]: [int, float, np.float64][j % 3](words[i, j]) for j in row.indices[::-1]}
        forms = [row, sp.csr_matrix(row), row.astype(np.float32), row.astype(float), wide_indices]
        forms += [
            words[i].astype(float),
            words[i].astype(np.float32)[None],
            words[i].tolist(),
            tuple(words[i].tolist()),
        ]
        forms += [given, Counter(given)]
        for form in forms:
            served = named if isinstance(form, dict) else predictor
            assert np.array_equal(served._parts.scores(form)[0] * 2, scores[i])
            assert np.array_equal(served.predict_proba(form), proba[i])
            assert np.array_equal(dense(served.predict(form)).ravel(), predicted[i])
            for kind, (indices, found) in best.items():
                labels, of_labels = served.predict_topk(form, 7, scores=kind)
                assert (labels.dtype, of_labels.dtype) == (indices.dtype, found.dtype)
                assert np.array_equal(labels, indices[i])
                assert np.array_equal(of_labels, found[i])


def test_what_the_engine_does_not_read_is_left_to_the_model():
    model, words = wide("tfidf", "frame")
    one = weald.Predictor(model, absent="zero")._parts
    row = sp.csr_array(words[:1].astype(float))
    unsorted = sp.csr_array((row.data[::-1], row.indices[::-1], row.indptr), shape=row.shape)
    twice = sp.csr_array((np.ones(2), np.array([3, 3]), np.array([0, 2])), shape=row.shape)
    longer = sp.csr_array(row)
    longer.data, longer.indices = np.append(row.data, 1), np.append(row.indices, np.int32(39))
    outside = sp.csr_array(row)
    outside.indices = outside.indices + np.int32(40)
    negative = sp.csr_array(row)
    negative.indices = negative.indices - np.int32(40)

    class Doubled(dict):
        def items(self):
            return [(name, 2 * value) for name, value in super().items()]

    others = [row[:, :5], sp.csr_array(words[:2]), row.tocsc(), row.tocoo(), row * np.inf, row * np.nan, row * 1e300]
    others += [unsorted, twice, longer, outside, negative, row.astype(np.int8), row.astype(np.uint64), words[0][::2]]
    others += [{"word 1": None}, {"word 1": 2**60}, {"word 1": "a"}, {"nothing": 1}, {1: 1}, {"word 1": np.nan}]
    others += [{"word 1": np.inf}, {"word 1": 1e39}, Doubled({"word 1": 1}), "123", None, 3.0, words[:2], words[0, :5]]
    for other in others:
        assert one.scores(other) is None
        assert one.topk(other, 3, False) is None
    assert one.topk(row, 51, False) is None
    assert weald.Predictor(model)._parts.scores({"word 1": 1}) is None
    predictor = weald.Predictor(model, absent="zero")
    plain = wide("tfidf")[0]
    for form in (unsorted, row.astype(np.int8), {"word 1": np.int8(3)}, {"word 1": 2**60, "word 2": 1}):
        served, of_model, many = (weald.Predictor(plain), plain, form)
        if isinstance(form, dict):
            named = pd.DataFrame([{f"word {j}": 0.0 for j in range(40)} | form])
            served, of_model, many = predictor, model, named
        for found, expected in zip(served.predict_topk(form, k=3), of_model.predict_topk(many, k=3), strict=True):
            assert_same(found, expected)
    for k in (0, 51, True, 2.0, -1, 10**30, None):
        with pytest.raises((ValueError, TypeError), match=r"^k must be "):
            predictor.predict_topk(row, k=k)
    assert_same(predictor.predict_topk(row, k=np.int64(3))[0], predictor.predict_topk(row, k=3)[0])
    for kind in ("rank", None, ["margin"], np.array(["margin", "margin"])):
        with pytest.raises(ValueError, match=r"^scores must be "):
            predictor.predict_topk(row, k=2, scores=kind)


def test_threads_share_the_weights_of_a_predictor():
    model, words = wide("tfidf")
    predictor = weald.Predictor(model)
    rows = sp.csr_array(words.astype(float))
    expected = model.predict_topk(rows, k=5)
    forms = [rows[[i]] for i in range(200)] * 5
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: predictor.predict_topk(row, k=5), forms))
    assert np.array_equal([labels for labels, _ in found], np.tile(expected[0], (5, 1)))
    assert np.array_equal([scores for _, scores in found], np.tile(expected[1], (5, 1)))


@pytest.mark.parametrize("name", ["linear", "linear start"])
def test_what_is_no_sparse_sample_of_weights_is_an_error_of_the_model(name):
    predictor = weald.Predictor(clone(MODELS[name][0]).fit(X, MODELS[name][1]))
    row = sp.csr_array(X[:1])
    unsorted = sp.csr_array((row.data[::-1], row.indices[::-1], row.indptr), shape=row.shape)
    assert_same(predictor.predict_proba(unsorted), predictor.predict_proba(X[0]))
    assert_same(predictor.predict_proba(row.tocsc()), predictor.predict_proba(X[0]))
    assert_same(predictor.predict_proba(row.tocoo()), predictor.predict_proba(X[0]))
    for wrong, message in [
        (row * np.inf, "infinity"),
        (row * 1e300, "too large for"),
        (row * np.nan, "NaN"),
        (X[0] * np.nan, "NaN"),
        (row[:, :5], "5 features"),
        (sp.csr_array(X[:2]), "a single sample"),
    ]:
        with pytest.raises(ValueError, match=message):
            predictor.predict(wrong)


@pytest.mark.parametrize("name", ["linear", "linear start", "labels"])
def test_words_that_a_mapping_does_not_name_are_zero_if_asked_for(name):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = clone(MODELS[name][0]).fit(frame, MODELS[name][1])
    predictor = weald.Predictor(model, absent="zero")
    for given in (
        {"e": 2, "b": -1},
        {"f": 0.5},
        {},
        {"c": np.float64(3), "a": True},
        dict(zip("abcdef", X[3], strict=True)),
    ):
        row = pd.DataFrame([{**dict.fromkeys("abcdef", 0.0), **given}]).astype(float)
        assert_same(predictor.predict_proba(given), model.predict_proba(row))
        assert_same(predictor.predict(given), model.predict(row))
        for found, expected in zip(predictor.predict_topk(given, k=2), model.predict_topk(row, k=2), strict=True):
            assert_same(found, expected)
    for wrong, message in [
        ({"z": 1.0}, "must have names of features of the model as keys, got 'z'"),
        ({"a": "x"}, "sample must have numbers"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            predictor.predict(wrong)
    if name != "labels":
        with pytest.raises(ValueError, match="NaN"):
            predictor.predict({"a": None})
    with pytest.raises(ValueError, match="got none for"):
        weald.Predictor(model).predict({"e": 2})
    again = pickle.loads(pickle.dumps(predictor))
    assert_same(again.predict_proba({"e": 2}), predictor.predict_proba({"e": 2}))
    around = weald.Predictor(TunedThresholds(clone(model), cv=2, random_state=0).fit(frame, LABELS), absent="zero")
    assert_same(around.predict({"e": 2}), around.predict({**dict.fromkeys("abcdf", 0), "e": 2}))


def test_absent_features_of_pipelines_are_those_of_the_first_step():
    pipeline = clone(MODELS["pipeline"][0]).fit(X, LABELS)
    for model in (pipeline, clone(MODELS["thresholds around steps"][0]).fit(X, LABELS)):
        with pytest.raises(ValueError, match=r"absent must be 'error' for a pipeline, .* got 'zero'"):
            weald.Predictor(model, absent="zero")
    for wrong in ("none", 0, None):
        with pytest.raises(ValueError, match="absent must be 'error' or 'zero', got"):
            weald.Predictor(pipeline, absent=wrong)


@pytest.mark.parametrize("name", ["linear", "mean", "calibrated", "pipeline", "thresholds around steps"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array])
def test_rows_of_sparse_arrays_have_one_dimension(name, form):
    model = weald.LinearClassifier(random_state=0) if name == "linear" else clone(MODELS[name][0])
    model.fit(X, LABELS if name == "linear" else MODELS[name][1])
    predictor = weald.Predictor(model)
    for i in range(0, 80, 17):
        row = form(sp.csr_array(X[i]))
        assert row.ndim == 1
        whole = sp.csr_array(X[i : i + 1])
        assert_same(predictor.predict(row), predictor.predict(whole))
        assert_same(predictor.predict_proba(row), predictor.predict_proba(whole))
        for one, other in zip(predictor.predict_topk(row, k=2), predictor.predict_topk(whole, k=2), strict=True):
            assert_same(one, other)
    with pytest.raises(ValueError, match="features"):
        predictor.predict(sp.csr_array(X[0, :2]))
