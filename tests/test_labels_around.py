"""`TunedThresholds` and `CalibratedLabels` with unknown values in y, and in files."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import put_together, taken_apart
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from test_multilabel import forest, hostile, problem
from weald._labels.calibration import calibrated
from weald._labels.thresholds import Objective, tuned
from weald.conformal import ConformalLabels, ConformalRegressor
from weald.multilabel import CalibratedLabels, HierarchicalLabels, LabelHierarchy, TunedThresholds

KINDS = [
    lambda estimator, **params: TunedThresholds(estimator, **params),
    lambda estimator, **params: CalibratedLabels(estimator, too_few="keep", **params),
    lambda estimator, **params: CalibratedLabels(estimator, too_few="keep", method="isotonic", **params),
]
IDS = ["thresholds", "sigmoid", "isotonic"]
OBJECTIVES = ["f1", "micro_f1", "macro_f1", "precision>=.5", "label_count", "label_count=2.5"]


def masked_problem(seed=0):
    X, Y = problem(n=200)
    mask = np.random.default_rng(seed).random(Y.shape) < 0.25
    mask[:3] = True
    return X, Y, mask


def fitted(kind, X, Y, **fit):
    return KINDS[kind](forest(), random_state=0).fit(X, Y, **fit)


# What holds for every estimator holds for them


@pytest.mark.parametrize("kind", range(3), ids=IDS)
def test_they_have_the_names_scores_and_explanations_of_what_they_are_around(kind):
    X, Y = problem(n=200)
    X, names = X.toarray(), [f"tag {j}" for j in range(Y.shape[1])]
    frame = pd.DataFrame(X).add_prefix("word ")
    model = fitted(kind, frame, Y, label_names=names)
    inside = model.estimator_
    np.testing.assert_array_equal(model.feature_importances_, inside.feature_importances_)
    inspection = weald.inspection
    for of in (model, FrozenEstimator(model)):
        np.testing.assert_array_equal(
            inspection.feature_importances(of, "all"), inspection.feature_importances(inside, "all")
        )
        found, expected = inspection.shap_values(of, frame[:3], "tag 1"), inspection.shap_values(inside, frame[:3], 1)
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.feature_names == list(frame.columns)
        assert inspection.export_rules(of) == inspection.export_rules(inside, class_names=names)
    proba = model.predict_proba(frame)
    with np.errstate(divide="ignore"):
        # The logarithms of the engine and of NumPy are each within one unit of the last place.
        np.testing.assert_allclose(model.predict_log_proba(frame), np.log(proba), rtol=1e-15)
    labels, _ = model.predict_topk(frame, 2)
    assert model.predict_topk(frame, 2, names=True)[0].tolist() == [
        [names[j] if j >= 0 else None for j in row] for row in labels
    ]
    decisions = model.decision_function(frame)
    if kind:
        np.testing.assert_array_equal(decisions > 0, model.predict(frame).toarray() == 1)
    model.set_output(predict="pandas")
    for method, plain in (("predict_proba", proba), ("decision_function", decisions)):
        found = getattr(model, method)(frame)
        assert found.columns.tolist() == names
        np.testing.assert_array_equal(found.to_numpy(), plain)
    again = weald.loads(weald.dumps(model))
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))
    assert again.set_output(predict="default").predict(frame).shape == Y.shape
    # Pipelines pass X through their first steps, which name the features of the model.
    piped = make_pipeline(MaxAbsScaler(), KINDS[kind](forest(), random_state=0)).fit(frame, Y)
    found = inspection.shap_values(piped, frame[:3], 1)
    expected = inspection.shap_values(piped[-1].estimator_, piped[0].transform(frame[:3]), 1)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.feature_names == list(frame.columns)


@pytest.mark.parametrize(
    "inner", [LogisticRegression(), weald.GradientBoostingClassifier(n_estimators=3, loss="hinge")]
)
def test_scores_of_the_best_labels_around_other_classifiers(inner):
    X, Y = problem(n=200)
    Y = Y[:, [0, 1, 2, 4, 5, 6]]
    inner = OneVsRestClassifier(inner) if isinstance(inner, LogisticRegression) else inner
    model = TunedThresholds(inner, cv=2, random_state=0).fit(X, Y.toarray())
    has_proba = hasattr(model, "predict_proba")
    assert has_proba == isinstance(inner, OneVsRestClassifier)
    scores = model.predict_proba(X) if has_proba else model.decision_function(X)
    for exclude in (None, [0], Y):
        labels, found = model.predict_topk(X, 2, exclude=exclude)
        there = labels >= 0
        np.testing.assert_array_equal(found[there], np.take_along_axis(scores, labels, axis=1)[there])
    np.testing.assert_array_equal(model.predict_topk(X, 6)[1], -np.sort(-scores, axis=1))
    margins = model.predict_topk(X, 6, scores="margin")[1]
    np.testing.assert_array_equal(margins, -np.sort(-model.decision_function(X), axis=1))
    if not has_proba:
        with pytest.raises(ValueError, match="scores must be 'auto' or 'margin' for TunedThresholds, which has no"):
            model.predict_topk(X, 1, scores="probability")


# Unknown values in y


@settings(max_examples=60, deadline=None)
@given(hostile(), st.integers(0, 2**16), st.sampled_from(OBJECTIVES))
def test_masked_cells_are_left_out_of_every_objective(data, seed, objective):
    """An objective of single labels chooses each threshold from the samples in which the label is known."""
    scores, truth, weights = data
    mask = np.random.default_rng(seed).random(scores.shape) < 0.3
    mask[0, 0] = False
    known = sparse.csr_array(scores * ~mask), sparse.csr_array(truth & ~mask)
    parsed = Objective.parsed(objective)
    found = tuned(*known, weights, parsed, 0.0, "share", 0.1, sparse.csr_array(mask))
    named = (scores * ~mask > 0) & (scores >= found.of_labels)
    n_rows = weights.sum() - (weights[:, None] * mask).sum() / scores.shape[1]
    if n_rows > 0:
        # Both sides add up the same terms in a different order.
        np.testing.assert_allclose(found.n_named, (weights[:, None] * named).sum() / n_rows, rtol=1e-12)
    if objective == "label_count=2.5":
        # The limit holds for float64 sums in a different order.
        assert (weights[:, None] * named).sum() <= 2.5 * n_rows * (1 + 1e-9)
    if objective == "f1":
        for j in range(scores.shape[1]):
            w = weights * ~mask[:, j]
            hits, n_named = (w * (named[:, j] & truth[:, j])).sum(), (w * named[:, j]).sum()
            positive = (w * truth[:, j]).sum()
            own = 2 * hits / (n_named + positive) if n_named + positive else 0.0
            tried = [0.0]
            for t in np.unique(scores[:, j]):
                at = (scores[:, j] >= t) & (scores[:, j] > 0)
                if (w * at).sum() + positive:
                    tried.append(2 * (w * (at & truth[:, j])).sum() / ((w * at).sum() + positive))
            # F1 scores are at most 1, and their sums are added up in a different order.
            assert own >= max(tried) - 1e-12


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@settings(max_examples=40, deadline=None)
@given(hostile(), st.integers(0, 2**16))
def test_each_label_is_calibrated_on_the_samples_in_which_it_is_known(method, data, seed):
    scores, truth, weights = data
    mask = np.random.default_rng(seed).random(scores.shape) < 0.3
    mask[weights.argmax()] = False
    d = scores.shape[1]
    known = sparse.csr_array(scores * ~mask), sparse.csr_array(truth & ~mask)
    found = calibrated(*known, weights, method, np.zeros(d, dtype=bool), sparse.csr_array(mask))
    found = found(sparse.csr_array(scores)).toarray()
    for j in range(d):
        column = sparse.csr_array(scores[:, [j]]), sparse.csr_array(truth[:, [j]])
        alone = calibrated(*column, weights * ~mask[:, j], method, np.zeros(1, dtype=bool))
        # The weights of values that are not stored are computed as differences of sums.
        np.testing.assert_allclose(found[:, [j]], alone(column[0]).toarray(), atol=1e-9)


@pytest.mark.parametrize("cv", ["oob", 3])
@pytest.mark.parametrize("kind", range(3), ids=IDS)
def test_what_y_holds_in_masked_cells_is_not_looked_at(kind, cv):
    X, Y, mask = masked_problem()
    params = {"cv": cv, "random_state": 0, "min_score": 0.01}  # "auto" is another one for sparse y
    dense = Y.toarray().astype(float)
    other, gaps = np.where(mask, 1 - dense, dense), np.where(mask, np.nan, dense)
    expected = KINDS[kind](forest(), **params).fit(X, dense, y_weight=unless(mask))
    given = [(other, mask), (dense, sparse.csr_array(mask)), (gaps, None), (sparse.csr_array(other), mask)]
    for y, y_mask in given:
        model = KINDS[kind](forest(), **params).fit(X, y, y_weight=unless(y_mask))
        for one, two in ((model, expected), (model.estimator_, expected.estimator_)):
            np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        found = model.predict(X)
        np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, expected.predict(X))
    inner = forest().fit(X, dense, y_weight=unless(mask))
    np.testing.assert_array_equal(expected.estimator_.predict_proba(X), inner.predict_proba(X))
    plain = KINDS[kind](forest(), **params).fit(X, dense)
    assert (plain.estimator_.predict_proba(X) != inner.predict_proba(X)).any()


@pytest.mark.parametrize("kind", range(3), ids=IDS)
def test_a_mask_of_nothing_is_none_and_samples_without_known_outputs_are_ignored(kind):
    X, Y, mask = masked_problem()
    plain = fitted(kind, X, Y)
    same = fitted(kind, X, Y, y_weight=unless(np.zeros_like(mask)))
    np.testing.assert_array_equal(plain.predict(X).toarray(), same.predict(X).toarray())
    weights = np.where(np.arange(200) < 3, 0.0, 1.0)
    one, two = (fitted(kind, X, Y, y_weight=unless(mask), sample_weight=w) for w in (None, weights))
    np.testing.assert_array_equal(one.predict(X).toarray(), two.predict(X).toarray())


@pytest.mark.parametrize("kind", range(3), ids=IDS)
def test_pipelines_and_frozen_estimators_with_masks(kind):
    X, Y, mask = masked_problem()
    for cv in ("oob", 3):
        piped = KINDS[kind](make_pipeline(MaxAbsScaler(), forest()), cv=cv, random_state=0).fit(
            X, Y, y_weight=unless(mask)
        )
        scaled = KINDS[kind](forest(), cv=cv, random_state=0).fit(
            MaxAbsScaler().fit_transform(X), Y, y_weight=unless(mask)
        )
        if cv == "oob":
            np.testing.assert_array_equal(
                piped.predict(X).toarray(), scaled.predict(MaxAbsScaler().fit_transform(X)).toarray()
            )
    linear = OneVsRestClassifier(LogisticRegression()).fit(X, np.maximum(Y.toarray(), np.eye(200, 15, dtype=int)))
    held = KINDS[kind](FrozenEstimator(linear)).fit(X, Y, y_weight=unless(mask))
    other = KINDS[kind](FrozenEstimator(linear)).fit(X, np.where(mask, 1, Y.toarray()), y_weight=unless(mask))
    np.testing.assert_array_equal(held.predict(X).toarray(), other.predict(X))
    with pytest.raises(ValueError, match="OneVsRestClassifier does not support y with masked entries: "):
        KINDS[kind](OneVsRestClassifier(LogisticRegression())).fit(X, Y, y_weight=unless(mask))


def test_scores_of_known_cells():
    X, Y, mask = masked_problem()
    mask[:, 5] = False
    for objective in ("f1", "micro_f1", "precision>=.5"):
        model = TunedThresholds(forest(), objective=objective).fit(X, Y)
        dense = Y.toarray()
        expected = model.score(X, Y, y_weight=unless(mask))
        # A label that is neither predicted nor true in a sample does not count in F1 and in precision.
        for y, y_mask in [
            (np.where(mask, np.nan, dense), None),
            (np.where(mask, 1, dense), sparse.csr_array(mask)),
            (sparse.csr_array(np.where(mask, 1, dense)), mask),
        ]:
            assert model.score(X, y, y_weight=unless(y_mask)) == expected
        assert model.score(X, Y, y_weight=unless(np.zeros_like(mask))) == model.score(X, Y) != expected


def test_bad_masks_are_named():
    X, Y, mask = masked_problem()
    for kind in KINDS:
        for bad, message in [
            (mask[:-1], r"y_weight must have shape \(200, 15\).*got \(199, 15\)"),
            (mask * 2, "y_weight must be finite and not negative, got -1.0"),
            (np.ones_like(mask), "y must have a known value in columns 0, 1, 2, 3, 4 and 10 others for"),
        ]:
            with pytest.raises(ValueError, match=message):
                kind(forest()).fit(X, Y, y_weight=unless(bad))


# Files


def models():
    X, Y = problem()
    names = [f"tag {j}" for j in range(15)]
    boosting = weald.GradientBoostingClassifier(n_estimators=3, random_state=0)
    yield TunedThresholds(forest(), objective="precision>=.9").fit(X, Y)
    yield TunedThresholds(forest(oob_score=True), shrinkage=np.inf, toward="threshold").fit(X, Y.toarray())
    yield TunedThresholds(boosting, cv=2, random_state=3).fit(X, Y)
    yield TunedThresholds(FrozenEstimator(forest().fit(X, Y, label_names=names))).fit(X, Y)
    yield TunedThresholds(FrozenEstimator(FrozenEstimator(forest().fit(X, Y)))).fit(X, Y.astype(bool))
    for method in ("sigmoid", "isotonic"):
        rules = {"method": method, "too_few": "keep"}
        yield CalibratedLabels(forest(), **rules).fit(X, Y)
        yield CalibratedLabels(weald.DecisionTreeClassifier(max_depth=4), cv=3, **rules, random_state=0).fit(X, Y)
        yield CalibratedLabels(FrozenEstimator(boosting.fit(X, Y)), **rules).fit(X, Y)
        yield TunedThresholds(CalibratedLabels(forest(), **rules), cv=2, random_state=0).fit(X, Y)
        yield TunedThresholds(FrozenEstimator(CalibratedLabels(forest(), **rules).fit(X, Y))).fit(X, Y)
    hierarchy = LabelHierarchy([(j + 1, j // 2) for j in range(14)], label_names=names)
    yield HierarchicalLabels(forest()).fit(X, Y)
    yield HierarchicalLabels(boosting, hierarchy, method="isotonic").fit(X, Y.toarray())
    yield HierarchicalLabels(FrozenEstimator(forest().fit(X, Y)), hierarchy, label_weight="depth").fit(X, Y)
    yield HierarchicalLabels(TunedThresholds(boosting, cv=2, random_state=0), hierarchy, method="min").fit(X, Y)
    yield TunedThresholds(HierarchicalLabels(forest(), hierarchy)).fit(X, Y)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("at", range(20))
def test_they_come_back_and_save_to_the_same_bytes(at, mmap_mode, tmp_path):
    X, _ = problem()
    model = next(itertools.islice(models(), at, None))
    weald.save(model, tmp_path / "model")
    again = weald.load(tmp_path / "model", mmap_mode=mmap_mode)
    assert type(again) is type(model)
    weald.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    found, expected = again.predict(X), model.predict(X)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(sparse.csr_array(found).toarray(), sparse.csr_array(expected).toarray())
    for one, two in zip(again.predict_topk(X, 3), model.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(one, two)
    for name in ("threshold_", "common_threshold_", "tuned_score_", "is_calibrated_", "classes_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(again, name, None), getattr(model, name, None))
    if hasattr(model, "target_names_in_"):
        np.testing.assert_array_equal(again.target_names_in_, model.target_names_in_)
    assert weald.inspect_model(tmp_path / "model")["n_outputs"] == 15
    copy.deepcopy(pickle.loads(pickle.dumps(again))).predict(X)


def test_estimators_and_folds_of_others_are_saved_as_archives(tmp_path):
    pytest.importorskip("skops")
    X, Y = problem()
    linear = OneVsRestClassifier(LogisticRegression()).fit(X, np.maximum(Y.toarray(), np.eye(120, 15, dtype=int)))
    models = [
        kind(other) for other in (make_pipeline(MaxAbsScaler(), forest()), FrozenEstimator(linear)) for kind in KINDS
    ]
    for model in [*models, TunedThresholds(forest(), cv=KFold(3))]:
        weald.save(model.fit(X, Y), tmp_path / "model")
        again = weald.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_models_that_cannot_be_read_are_refused_and_nothing_is_written(tmp_path):
    X, Y = problem()
    with pytest.raises(ValueError, match="shrinkage must be a number of at least 0, or infinity, got -1"):
        weald.save(TunedThresholds(forest()).fit(X, Y).set_params(shrinkage=-1), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted"):
        weald.save(TunedThresholds(forest()), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def at(content, *keys):
    for key in keys:
        content = content[key]
    return content


def values(*numbers, dtype="<f8"):
    return {"array": {"dtype": dtype, "shape": [len(numbers)], "values": list(numbers)}}


FAULTS = [
    (0, ("class",), "Thresholds", "an estimator must be an object with the keys"),
    (0, ("class",), "CalibratedLabels", "CalibratedLabels must have the parameters"),
    (0, ("members", 0, "frozen"), 1, "must have members with an estimator, and true or false as frozen"),
    (0, ("members",), [], "members must be a list of estimators, got a list of length 0"),
    (0, ("members", 0), None, "must have members with an estimator"),
    (0, ("params", "estimator"), 1, "must have estimator_ for each frozen parameter, got none for 1"),
    (0, ("params", "shrinkage"), -1.0, r"shrinkage must be a number of at least 0, or infinity, got -1\.0"),
    (0, ("params", "objective"), "best", "objective must be 'f1',.*got 'best'"),
    (0, ("params", "min_score"), 2, "min_score"),
    (0, ("params", "estimator"), None, "must be a classifier with predict_proba or decision_function"),
    (0, ("params", "estimator"), 3.0, "must be a classifier with predict_proba or decision_function"),
    (0, ("fitted",), [], "params and fitted must be objects"),
    (0, ("fitted", "threshold_"), values(*[0.5] * 14), "threshold_ must be a float64 array of length 15"),
    (
        0,
        ("fitted", "threshold_"),
        values(*[0.5] * 14, {"float": "nan"}),
        "threshold_ must be a float64 array of length 15",
    ),
    (0, ("fitted", "threshold_"), values(*[1] * 15, dtype="<i8"), "threshold_ must be a float64 array of length 15"),
    (0, ("fitted", "threshold_"), [0.5] * 15, "threshold_ must be a float64 array of length 15"),
    (0, ("fitted", "common_threshold_"), "0.5", "common_threshold_ must be a float, got '0.5'"),
    (0, ("fitted", "n_outputs_"), 14, "n_outputs_ must be the number of outputs of estimator_, got 14"),
    (0, ("fitted", "n_outputs_"), 15.0, "n_outputs_ must be a positive integer, got 15.0"),
    (0, ("fitted", "_label_format"), None, "_label_format must be a format of labels, got None"),
    (
        0,
        ("fitted", "target_names_in_"),
        values(*"ab", dtype="|O"),
        "must be 15 distinct strings, one name for each output",
    ),
    (0, ("fitted", "target_names_in_"), values(*["a"] * 15, dtype="|O"), "must be 15 distinct strings"),
    (0, ("fitted", "estimator_"), 3, "attributes must be .*, got .*estimator_"),
    (0, ("members", 0, "inner"), None, "an estimator must be an object with the keys"),
    (
        0,
        ("members", 0, "inner", "class"),
        "RandomForestRegressor",
        "does not support the parameter|must have the parameter",
    ),
    (0, ("members", 0, "inner", "fitted", "n_outputs_"), 14, "n_outputs_ must be 15, as in the model, got 14"),
    (
        5,
        ("fitted", "is_calibrated_"),
        values(*[True] * 15, dtype="|b1"),
        "must be finite for exactly the calibrated labels",
    ),
    (
        5,
        ("fitted", "is_calibrated_"),
        values(*[1] * 15, dtype="<i8"),
        "is_calibrated_ must be a bool array of length 15",
    ),
    (5, ("fitted", "_maps"), {"part": ["Sigmoids", {"dict": []}]}, "a part must be of a known class with its fields"),
    (5, ("fitted", "_maps"), {"part": ["LabelHierarchy", {"dict": []}]}, "a part must be of a known class"),
    (
        5,
        ("fitted", "_maps"),
        {"part": ["Sigmoids", {"dict": [["a", 1], ["b", 2]]}]},
        "must be Maps or Sigmoids of arrays",
    ),
    (5, ("fitted", "_maps"), 3, "_maps must be Maps or Sigmoids of arrays, got 3"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for i, model in enumerate(itertools.islice(models(), 11)):
        weald.save(model, folder / str(i))
    return folder


@pytest.mark.parametrize(("which", "keys", "value", "message"), FAULTS, ids=str)
def test_faults_of_files_are_told(which, keys, value, message, saved, tmp_path):
    header, content, data = taken_apart(saved / str(which))
    at(content, *keys[:-1])[keys[-1]] = value
    put_together(tmp_path / "model", header, content, data)
    with pytest.raises(ValueError, match=message):
        weald.load(tmp_path / "model")


@pytest.mark.parametrize("part", ["class", "params", "fitted", "members"])
def test_parts_that_are_missing_are_told(part, saved, tmp_path):
    header, content, data = taken_apart(saved / "0")
    del content[part]
    put_together(tmp_path / "model", header, content, data)
    with pytest.raises(ValueError, match=r"must be an object with the keys|must be an object, got"):
        weald.load(tmp_path / "model")


KNOTS = [
    ("a", [-1.0], "must be non-decreasing, got the slope -1.0"),
    ("b", [np.inf], "must be finite for exactly the calibrated labels"),
    ("b", [], "must have float64 arrays of length"),
    ("ptr", [1], "ascending integers from 0 as ptr"),
    ("x", [], "must have float64 arrays of length .* as x and y"),
    ("x", [np.nan], "must be non-decreasing with values from 0 to 1"),
    ("y", [1.5], "must be non-decreasing with values from 0 to 1"),
]


@pytest.mark.parametrize(("name", "value", "message"), KNOTS, ids=str)
def test_functions_of_labels_are_proven(name, value, message):
    X, Y = problem()
    method = "sigmoid" if name in "ab" else "isotonic"
    model = CalibratedLabels(forest(), too_few="keep", method=method).fit(X, Y)
    members, params, fitted = model._parts()
    given = getattr(fitted["_maps"], name)
    spoiled = replace(fitted["_maps"], **{name: given[:-1] if not value else np.append(value, given[1:])})
    with pytest.raises(ValueError, match=message):
        CalibratedLabels._of_parts(members, params, fitted | {"_maps": spoiled})
    model._maps = spoiled
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(model))


def test_other_text_is_an_error_and_nothing_else(saved, tmp_path):
    """After any value of a file is replaced, loading gives an estimator that predicts, or raises a ValueError."""
    X, _ = problem()
    header, content, data = taken_apart(saved / "5")
    del content["members"][0]["inner"]["fitted"]

    def places(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from places(item, (*path, key))

    inner = taken_apart(saved / "5")[1]["members"][0]["inner"]
    # The inner estimator is left unchanged, since its parameters (`n_jobs`) affect how it predicts.
    for path in [path for path in places(content) if path and "inner" not in path][:300]:
        for value in (None, -1, "x", [], {}, {"int": "0x0"}):
            changed = json.loads(json.dumps(content))
            changed["members"][0]["inner"] = json.loads(json.dumps(inner))
            at(changed, *path[:-1])[path[-1]] = value
            put_together(tmp_path / "model", header, changed, data)
            try:
                model = weald.load(tmp_path / "model")
            except ValueError:
                continue
            model.predict(X)


# --- weights, shrinkage and layouts of any size and kind -------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:sample_weight sums to")
@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize(("low", "high"), [(-300, 300), (307, 308.2), (-323, -300)])
def test_weights_of_any_size_give_finite_functions_of_scores(kind, low, high):
    X, Y = problem(n=120)
    for seed in range(3):
        weights = 10.0 ** np.random.default_rng(seed).uniform(low, high, X.shape[0])
        model = kind(forest(), random_state=0).fit(X, Y.toarray(), weights)
        assert np.isfinite(model.predict_proba(X)).all()
        assert set(np.unique(model.predict(X))) <= {0, 1}


def test_enormous_shrinkage_is_infinite_shrinkage():
    X, Y = problem(n=120)
    for objective in OBJECTIVES:
        tuned = [TunedThresholds(forest(), objective=objective, shrinkage=s, min_score=0) for s in (1e308, np.inf)]
        models = [model.fit(X, Y) for model in tuned]
        assert np.array_equal(models[0].threshold_, models[1].threshold_), objective


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_every_sparse_format_gives_the_model_of_dense_X(kind):
    X, Y = problem(n=120)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = kind(forest(), cv=2, random_state=0).fit(dense, Y).predict_proba(dense)
    for form in (sparse.coo_array, sparse.bsr_array, sparse.lil_array, sparse.dok_array, sparse.csc_matrix):
        found = kind(forest(), cv=2, random_state=0).fit(form(dense), Y).predict_proba(form(dense))
        assert np.array_equal(found, expected), form


@pytest.mark.parametrize("around", ["thresholds", "calibration", "hierarchy", "conformal", "mean", "numbers"])
def test_a_frozen_estimator_has_outputs_of_the_names_of_y(around):
    X, Y = problem(n=120)
    names = [f"label {j}" for j in range(Y.shape[1])]
    frame = pd.DataFrame(Y.toarray(), columns=names)
    other = frame[names[::-1]]
    if around == "numbers":
        frozen = FrozenEstimator(weald.RandomForestRegressor(3, random_state=0).fit(X, frame.astype(float)))
        model, frame, other = ConformalRegressor(frozen), frame.astype(float), other.astype(float)
    else:
        frozen = FrozenEstimator(forest().fit(X, frame))
        model = {
            "thresholds": TunedThresholds(frozen),
            "calibration": CalibratedLabels(frozen, too_few="keep"),
            "hierarchy": HierarchicalLabels(frozen, LabelHierarchy([(1, 0)], n_labels=len(names))),
            "conformal": ConformalLabels(frozen, alpha=0.5),
            "mean": weald.VotingClassifier([("only", frozen)]),
        }[around]
    model.fit(X, frame)
    with pytest.raises(ValueError, match="y must have the name 'label 0' at position 0"):
        model.fit(X, other)
    if around != "numbers":
        with pytest.raises(ValueError, match="y must have the name"):
            model.fit(X, Y, label_names=names[::-1])


def test_labels_that_are_kept_have_the_scores_of_the_estimator_where_y_is_sparse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = sparse.csr_array((rng.random((300, 8)) < [0.4, 0.3, 0.2, 0.01, 0.01, 0.02, 0.01, 0.01]).astype(int))
    around = CalibratedLabels(
        weald.LinearClassifier(loss="log_loss", random_state=0), cv=3, too_few="keep", min_positives=20, random_state=0
    ).fit(X, Y)
    kept = ~around.is_calibrated_
    assert 0 < kept.sum() < 8
    # Scores that are kept go through the sparse form, as float64.
    np.testing.assert_allclose(
        around.predict_proba(X)[:, kept], around.estimator_.predict_proba(X)[:, kept], rtol=1e-12, atol=0
    )
