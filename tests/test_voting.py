"""`VotingClassifier`, `VotingRegressor`: averages of what estimators predict, of weald and scikit-learn, for every kind of y."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import check_refused, unless
from every import CLASSES, NUMBERS, mask_of, problem, with_categories
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from model_files import put_together, taken_apart
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from weald._fitted.fits import Fit
from weald._ranking import ranks
from weald.multilabel import CalibratedLabels, TunedThresholds


def forest(**params):
    return weald.RandomForestClassifier(**{"n_estimators": 5, "random_state": 0, **params})


def extra(**params):
    return weald.ExtraTreesClassifier(**{"n_estimators": 4, "random_state": 1, **params})


def boosting(**params):
    return weald.GradientBoostingClassifier(**{"n_estimators": 3, "random_state": 0, **params})


def numbers(**params):
    return weald.RandomForestRegressor(**{"n_estimators": 5, "random_state": 0, **params})


def boosted(**params):
    return weald.GradientBoostingRegressor(**{"n_estimators": 3, "random_state": 0, **params})


def mean(*estimators, **params):
    cls = weald.VotingClassifier if is_classifier(estimators[0]) else weald.VotingRegressor
    return cls([(f"part{i}", estimator) for i, estimator in enumerate(estimators)], **params)


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def averaged(parts, weights):
    """The slow twin of the mean: one number after another."""
    parts = [dense(part) for part in parts]
    flat = [part.ravel().tolist() for part in parts]
    found = [
        sum(w * p for w, p in zip(weights, cells, strict=True)) / sum(weights) for cells in zip(*flat, strict=True)
    ]
    return np.array(found).reshape(parts[0].shape)


# --- what is averaged -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, [1, 1, 1], [0.5, 0.1, 3.0], [0, 2, 1], [1e-300, 1e300, 1]], ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_probabilities_are_the_weighted_mean(kind, weights):
    X, y = problem(kind)
    parts = forest(), boosting(), extra()
    model = mean(*parts, weights=weights).fit(X, y)
    found = model.predict_proba(X)
    alone = [clone(part).fit(X, y) for part in parts]
    used = np.ones(3) if weights is None else np.array(weights)
    wanted = [part.predict_proba(X) for part in alone]
    several = isinstance(found, list)
    for j in range(len(found) if several else 1):
        of_output = [part[j] if several else part for part in wanted]
        # Weights are divided by the largest one, which rounds them in the last bits.
        one = found[j] if several else found
        np.testing.assert_allclose(one, averaged(of_output, used / used.max()), rtol=1e-14)
        assert one.min() >= 0
        assert one.max() <= 1
    # The rules of prediction are those of forests.
    if several:
        expected = np.column_stack(
            [c[p.argmax(axis=1)] for c, p in zip(model.classes_, found, strict=True)],
        )
    else:
        expected = model.classes_[found.argmax(axis=1)] if kind == "class" else (found > 0.5).astype(int)
    assert np.array_equal(dense(model.predict(X)), expected)
    assert sparse.issparse(model.predict(X)) == (kind == "sparse labels")
    log = model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        for one, other in zip(log if several else [log], found if several else [found], strict=True):
            # The logarithms of the engine and of NumPy are each within one unit of the last place.
            np.testing.assert_allclose(one, np.log(other), rtol=1e-15)
    assert hasattr(model, "decision_function") == hasattr(model, "predict_sparse") == kind.endswith("labels")
    assert hasattr(model, "predict_topk") == (not several)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_the_weighted_mean(kind):
    X, y = problem(kind)
    parts = numbers(), weald.ExtraTreesRegressor(4, random_state=1)
    model = mean(*parts, weights=[1, 3]).fit(X, y)
    found = model.predict(X)
    wanted = averaged([clone(part).fit(X, y).predict(X) for part in parts], [1 / 3, 1])
    np.testing.assert_allclose(dense(found), wanted, rtol=1e-14)
    assert sparse.issparse(found) == (kind == "sparse numbers")
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "predict_topk") == (kind != "number")
    assert not hasattr(model, "classes_")
    assert is_regressor(model)
    assert not is_classifier(model)
    # A dense prediction makes the mean dense.
    mixed = mean(*parts, boosted()).fit(X, y).predict(X)
    assert isinstance(mixed, np.ndarray)
    # The score is that of a forest that predicts the same; NumPy adds the terms in another order.
    assert model.score(X, y) == pytest.approx(numbers_score(y, dense(found)), rel=1e-12)


def numbers_score(y, found):
    from sklearn.metrics import r2_score

    return r2_score(dense(y), found)


@pytest.mark.parametrize("kind", ["class", "number"])
def test_it_is_scikit_learns_voting(kind):
    X, y = problem(kind)
    if kind == "class":
        parts = [("a", LogisticRegression()), ("b", GaussianNB()), ("c", RandomForestClassifier(5, random_state=0))]
        theirs = VotingClassifier(parts, voting="soft", weights=[1, 2, 4]).fit(X, y)
        ours = weald.VotingClassifier(parts, weights=[1, 2, 4]).fit(X, y)
        # The same products and sums, with weights that are divided by a power of two.
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-14)
    else:
        parts = [("a", Ridge()), ("b", RandomForestRegressor(5, random_state=0))]
        theirs, ours = (cls(parts, weights=[1, 2]).fit(X, y) for cls in (VotingRegressor, weald.VotingRegressor))
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-14)
    assert np.array_equal(ours.predict(X) == theirs.predict(X), np.ones(len(X))) or kind == "number"
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-14)
    assert list(ours.named_estimators_) == [name for name, _ in parts]


@pytest.mark.parametrize("kind", ["class", "classes", "labels"])
def test_members_of_scikit_learn_with_every_y_that_they_take(kind):
    X, y = problem(kind)
    theirs = RandomForestClassifier(5, random_state=0)
    model = mean(theirs, forest()).fit(X, y)
    found = model.predict_proba(X)
    of_theirs, of_ours = clone(theirs).fit(X, y).predict_proba(X), forest().fit(X, y).predict_proba(X)
    if kind == "labels":
        of_theirs = np.column_stack([part[:, 1] for part in of_theirs])
    pairs = zip(of_theirs, of_ours, strict=True) if kind == "classes" else [(of_theirs, of_ours)]
    for one, wanted in zip(found if kind == "classes" else [found], pairs, strict=True):
        np.testing.assert_allclose(one, averaged(wanted, [1, 1]), rtol=1e-15)


def test_a_single_label_of_scikit_learn_and_of_weald():
    X, y = problem("class")
    label = sparse.csr_array((y == y[0]).astype(int)[:, None])
    parts = RandomForestClassifier(3, random_state=0), forest()
    model = mean(*parts).fit(X, label)
    assert np.array_equal(
        model.predict_proba(X), mean(parts[0], forest(multi_label=True)).fit(X, label.toarray()).predict_proba(X)
    )
    wanted = [parts[0].fit(X, label.toarray()[:, 0]).predict_proba(X), parts[1].fit(X, label).predict_proba(X)]
    np.testing.assert_allclose(model.predict_proba(X), averaged([p[:, -1:] for p in wanted], [1, 1]), rtol=1e-15)
    assert model.predict(X).shape == (len(X), 1)
    assert model.predict_topk(X, 1)[0].shape == (len(X), 1)


def test_labels_that_no_sample_has_and_constant_members():
    X, y = problem("labels")
    y[:, 1] = 0
    y[:, 2] = 1
    model = mean(forest(), boosting(), RandomForestClassifier(3, random_state=0)).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == y.shape
    assert (model.predict(X)[:, 1:] == y[:, 1:]).all()
    one_class = mean(forest(), DummyClassifier()).fit(X, np.full(len(X), "a"))
    assert one_class.predict(X).tolist() == ["a"] * len(X)
    assert one_class.predict_proba(X).tolist() == [[1.0]] * len(X)


hostile = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(-2, 2))


@settings(max_examples=40, deadline=None)
@given(X=hostile, data=st.data())
def test_means_lie_between_members_and_rank_as_they_should(X, data):
    n, d = len(X), data.draw(st.integers(1, 4))
    y = data.draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 1)))
    if not y.any():
        y[0, 0] = 1
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 7.0]), min_size=2, max_size=2).filter(any))
    model = mean(forest(n_estimators=2), extra(n_estimators=2, max_depth=1), weights=weights).fit(
        X, sparse.csr_array(y)
    )
    proba = model.predict_proba(X)
    parts = [p.predict_proba(X) for p, w in zip(model.estimators_, weights, strict=True) if w]
    # Rounding of the product and of the quotient: a few units in the last place.
    slack = 4 * np.finfo(float).eps
    assert (proba >= np.minimum.reduce(parts) - slack).all()
    assert (proba <= np.maximum.reduce(parts) + slack).all()
    if len(parts) == 1:
        assert np.array_equal(proba, parts[0])
    k = data.draw(st.integers(1, d))
    labels, scores = model.predict_topk(X, k)
    order = np.argsort(-proba, axis=1, kind="stable")[:, :k]
    assert np.array_equal(labels, order)
    assert np.array_equal(scores, np.take_along_axis(proba, order, axis=1))
    stored = model.predict_sparse(X, 0.4)
    assert np.array_equal(stored.toarray(), np.where(proba >= 0.4, proba, 0))
    assert stored.has_canonical_format


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*CLASSES, *NUMBERS])
def test_layouts_threads_and_blocks(kind, monkeypatch):
    X, y = problem(kind)
    parts = (forest(), extra()) if kind in CLASSES else (numbers(), boosted())
    expected = mean(*parts).fit(X, y)
    for form, n_jobs in ((sparse.csr_array, None), (sparse.csc_matrix, 2), (np.asfortranarray, -1), (pd.DataFrame, 1)):
        model = mean(*parts, n_jobs=n_jobs).fit(form(X), y)
        assert np.array_equal(dense(model.predict(form(X))), dense(expected.predict(X)))
        assert weald.dumps(model.set_params(n_jobs=None)) == weald.dumps(expected) or form is pd.DataFrame
    if kind not in CLASSES:
        return
    methods = [lambda m: m.predict(X)]
    if kind != "classes":
        methods += [lambda m: m.predict_topk(X, 2)]
    if kind.endswith("labels"):
        pattern = sparse.csr_array(np.eye(len(X), 3))
        methods += [lambda m: m.predict_sparse(X, 0.1), lambda m: m.predict_topk(X, 2, exclude=pattern)]
        methods += [lambda m: m.predict_topk(X, 1, exclude=[1], scores="margin", min_score=-0.2)]
    whole = [method(expected) for method in methods]
    monkeypatch.setattr(ranks, "BLOCK_SCORES", 21)
    for method, wanted in zip(methods, whole, strict=True):
        found = method(expected)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            assert type(one) is type(other)
            assert one.dtype == other.dtype
            assert np.array_equal(dense(one), dense(other))


@pytest.mark.parametrize("kind", ["class", "labels", "numbers"])
def test_weight_zero_is_a_sample_that_is_removed(kind):
    X, y = problem(kind)
    weights = np.arange(len(X)) % 3.0
    there = weights > 0
    if kind == "class":
        y = np.where(there, y, "only absent samples have this class")
    others = {
        "class": GaussianNB(),
        "labels": RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0),
        "numbers": LinearRegression(),
    }
    parts = (numbers(), others[kind]) if kind == "numbers" else (forest(), others[kind])
    model = mean(*parts).fit(X, y, weights)
    removed = mean(*parts).fit(X[there], y[there], weights[there])
    method = "predict" if kind == "numbers" else "predict_proba"
    # A forest counts samples of weight zero when it draws, as few as there are.
    forests = [m.estimators_[1] for m in (model, removed)]
    assert np.array_equal(*(getattr(part, method)(X) for part in forests))
    if kind != "numbers":
        assert np.array_equal(model.classes_, removed.classes_)
    sparse_X = sparse.coo_array(X)
    if kind == "numbers":
        found = mean(*parts).fit(sparse_X, y, weights).predict(sparse_X)
        # Linear models of sparse X use another solver.
        np.testing.assert_allclose(found, model.predict(X), atol=1e-2)


def test_unknown_values_reach_all_members():
    X, y = problem("labels")
    mask = mask_of(y)
    parts = forest(), boosting()
    other = np.where(mask, 1 - y, y)
    model = mean(*parts).fit(X, y, y_weight=unless(mask))
    assert np.array_equal(model.predict_proba(X), mean(*parts).fit(X, other, y_weight=unless(mask)).predict_proba(X))
    assert np.array_equal(model.predict_proba(X), mean(*parts).fit(X, np.where(mask, np.nan, y)).predict_proba(X))
    assert model.score(X, y, y_weight=unless(mask)) == model.score(X, other, y_weight=unless(mask))
    assert model.score(X, y, y_weight=unless(mask)).n_cells == (~mask).sum()
    assert mean(*parts, GaussianNB())._masks_y is False
    refused = mean(*parts, RandomForestClassifier())
    with pytest.raises(ValueError, match=r"RandomForestClassifier as 'part2' does not support y with masked entries"):
        refused.fit(X, y, y_weight=unless(mask))
    frozen = FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, y))
    assert mean(*parts, frozen).fit(X, y, y_weight=unless(mask)).predict_proba(X).shape == y.shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for estimator in (mean(forest(), boosting(), weights=[2, 1]), mean(numbers(), boosted()))
        for pair in estimator_checks_generator(estimator)
    ],
    ids=lambda value: (
        value.func.__name__ if hasattr(value, "func") else "classes" if is_classifier(value) else "numbers"
    ),
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# --- members ----------------------------------------------------------------------------------------------------------


def test_frozen_members_are_not_fitted_and_classes_are_joined():
    X, y = problem("class")
    kept = np.isin(y, ["a"]) | (np.arange(len(y)) % 2 == 0)
    old = forest().fit(X[kept], np.where(np.arange(kept.sum()) % 2 == 0, y[kept], "older"))
    model = mean(FrozenEstimator(old), extra()).fit(X, y)
    assert model.estimators_[0].estimator is old
    assert model.classes_.tolist() == sorted({*y, "older"})
    wide = np.zeros((len(X), len(model.classes_)))
    wide[:, np.isin(model.classes_, old.classes_)] += old.predict_proba(X)
    wide[:, np.isin(model.classes_, np.unique(y))] += extra().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), wide / 2, rtol=1e-15)
    again = weald.loads(weald.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(ValueError, match="y must have classes of the type of those of the estimator 'part0', 'a'"):
        model.fit(X, np.arange(len(y)) % 2)
    labels = problem("labels")[1]
    with pytest.raises(ValueError, match="y must have labels, as in the fit of the estimator 'part0', got classes"):
        mean(FrozenEstimator(forest().fit(X, labels)), extra()).fit(X, np.where(labels, "yes", "no"))
    with pytest.raises(ValueError, match="y must have 3 outputs, as in the fit of the estimator 'part0', got 1"):
        mean(FrozenEstimator(numbers().fit(X, labels)), numbers()).fit(X, labels[:, 0])
    with pytest.raises(ValueError, match="features") as caught:
        model.fit(X[:, :3], y)
    assert caught.value.__notes__ == ["in the fit of the estimator 'part0'"]
    with pytest.raises(NotFittedError):
        mean(FrozenEstimator(forest())).fit(X, y)


def test_weights_can_be_chosen_on_other_samples_without_another_fit():
    X, y = problem("labels", n=120)
    parts = [FrozenEstimator(part.fit(X[:60], y[:60])) for part in (forest(), boosting())]
    search = GridSearchCV(mean(*parts), {"weights": [[1, 0], [1, 1], [0, 1]]}, cv=2).fit(X[60:], y[60:])
    assert search.best_estimator_.estimators_[0].estimator is parts[0].estimator
    search = GridSearchCV(mean(forest(), boosting()), {"part0__max_depth": [1, 3], "part1": ["drop"]}, cv=2).fit(X, y)
    assert search.best_estimator_.named_estimators_["part1"] == "drop"


def test_parameters_of_members():
    model = mean(forest(), boosting(), weights=[1, 0])
    assert model.get_params()["part0__n_estimators"] == 5
    model.set_params(part0__n_estimators=2, part1="drop", weights=None)
    X, y = problem("labels")
    model.fit(X, y)
    assert len(model.estimators_[0].estimators_) == 2
    assert np.array_equal(model.predict_proba(X), forest(n_estimators=2).fit(X, y).predict_proba(X))
    assert weald.loads(weald.dumps(model)).get_params()["part1"] == "drop"
    assert "part0" in repr(model)


def test_pipelines_texts_and_steps_with_weights():
    texts, tags = 10 * ["red fox", "red fish", "blue fish"], np.array(10 * [[1, 0], [1, 1], [0, 1]])
    parts = make_pipeline(TfidfVectorizer(), forest()), make_pipeline(TfidfVectorizer(), boosting())
    model = mean(*parts).fit(texts, tags, np.ones(30))
    wanted = [part.fit(texts, tags).predict_proba(texts) for part in parts]
    np.testing.assert_allclose(model.predict_proba(texts), averaged(wanted, [1, 1]), rtol=1e-15)
    assert not hasattr(model, "n_features_in_")
    assert weald.topk(model, texts, 1)[0].tolist() == model.predict_topk(texts, 1)[0].tolist()
    found = weald.Predictor(model).predict_proba("red fox")
    assert np.array_equal(found, model.predict_proba(["red fox"])[0])
    again = weald.loads(weald.dumps(model))
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_frames_of_members_are_read_as_arrays():
    X, y = problem("numbers")
    named = numbers().fit(X, y).set_output(predict="pandas")
    model = mean(FrozenEstimator(named), numbers()).fit(X, y)
    assert type(model.predict(X)) is np.ndarray
    assert np.array_equal(model.predict(X), numbers().fit(X, y).predict(X))
    labels = pd.DataFrame(problem("labels")[1], columns=["u", "v", "w"])
    model = mean(forest(), extra()).fit(pd.DataFrame(X), labels)
    assert model.target_names_in_.tolist() == ["u", "v", "w"]
    assert model.set_output(predict="pandas").predict_proba(pd.DataFrame(X)).columns.tolist() == ["u", "v", "w"]
    assert set(model.predict_topk(pd.DataFrame(X), 2, names=True)[0].ravel()) == {"u", "v", "w"}
    assert (
        mean(forest()).fit(X, labels.to_numpy(), label_names=["a", "b", "c"]).predict_topk(X, 1, names=True)[0][0, 0]
        in "abc"
    )


# --- thresholds and calibration ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("y_kind", ["labels", "sparse labels"])
def test_out_of_bag_scores_are_the_mean_of_those_of_forests(y_kind):
    X, y = problem(y_kind, n=80)
    parts = forest(n_estimators=20), extra(n_estimators=20, bootstrap=True), boosting()
    both = mean(*parts, weights=[2, 1, 0])
    tuned = TunedThresholds(both, cv="oob", min_score=0.05).fit(X, y)
    scores = [clone(part).set_params(oob_score=True).fit(X, y).oob_decision_function_ for part in parts[:2]]
    wanted = averaged(scores, [1, 0.5])
    found, known = both._fit_out_of_bag(Fit(X, y), 0.05)
    np.testing.assert_allclose(found.toarray(), np.where(wanted >= 0.05, wanted, 0), rtol=1e-15)
    assert known.all()
    assert found.has_canonical_format
    assert type(tuned.estimator_) is weald.VotingClassifier
    by_default = TunedThresholds(both, min_score=0.05).fit(X, y)
    assert np.array_equal(by_default.threshold_, tuned.threshold_)
    assert np.array_equal(tuned.estimator_.predict_proba(X), clone(both).fit(X, y).predict_proba(X))
    piped = mean(make_pipeline(MaxAbsScaler(), parts[0]), parts[1])
    assert CalibratedLabels(piped, cv="oob", min_positives=1).fit(X, y).predict_proba(X).shape == y.shape
    with_linear = mean(parts[0], weald.LinearClassifier(random_state=0))
    linear = weald.LinearClassifier(random_state=0)._fit_out_of_bag(Fit(X, y), 0.0)[0].toarray()
    found, known = with_linear._fit_out_of_bag(Fit(X, y), 0.0)
    np.testing.assert_allclose(found.toarray(), averaged([scores[0], linear], [1, 1]), rtol=1e-15)
    assert known.all()
    again = weald.loads(weald.dumps(tuned))
    assert np.array_equal(dense(again.predict(X)), dense(tuned.predict(X)))
    assert again.estimator_.weights_.tolist() == [1, 0.5, 0]


def test_samples_without_out_of_bag_scores_in_one_forest_have_none():
    X, y = problem("labels")
    _, known = mean(forest(n_estimators=1), forest(n_estimators=40)).fit(X, y)._fit_out_of_bag(Fit(X, y), 0.0)
    alone = forest(n_estimators=1)._fit_out_of_bag(Fit(X, y), 0.0)[1] > 0
    assert np.array_equal(known > 0, alone)
    assert 0 < known.sum() < len(X)


def test_other_estimators_have_no_out_of_bag_scores():
    X, y = problem("labels")
    frozen = FrozenEstimator(forest().fit(X, y))
    for part, message in [
        (boosting(), "bootstrap=True or a LinearClassifier, got GradientBoostingClassifier; use cv=int"),
        (extra(), "requires bootstrap=True, but ExtraTreesClassifier has bootstrap=False"),
        (frozen, "requires an estimator that is fitted here, but RandomForestClassifier is frozen"),
    ]:
        with pytest.raises(ValueError, match=message):
            TunedThresholds(mean(forest(), part), cv="oob").fit(X, y)
        tuned = TunedThresholds(mean(forest(), part), cv=2, random_state=0).fit(X, y)
        assert weald.dumps(weald.loads(weald.dumps(tuned))) == weald.dumps(tuned)


# --- one sample, files ------------------------------------------------------------------------------------------------


PREDICTED = {
    "labels": (mean(forest(), boosting(), weald.LinearClassifier(random_state=0)), "labels"),
    "sparse labels": (mean(forest(), extra(), weights=[1, 2]), "sparse labels"),
    "classes": (mean(forest(), boosting()), "classes"),
    "class": (mean(forest(), boosting(), weights=[0, 1]), "class"),
    "number": (mean(numbers(), boosted()), "number"),
    "sparse numbers": (mean(numbers(), numbers(max_depth=2)), "sparse numbers"),
    "others": (mean(LogisticRegression(), forest()), "class"),
    "other numbers": (mean(LinearRegression(), numbers()), "numbers"),
    "pipelines": (mean(make_pipeline(StandardScaler(), forest()), extra()), "labels"),
    "means": (mean(mean(forest(), extra()), TunedThresholds(forest(), cv=2, random_state=0)), "labels"),
}


@pytest.mark.parametrize("case", PREDICTED)
def test_a_predictor_has_the_bits_of_the_mean(case):
    estimator, kind = PREDICTED[case]
    X, y = problem(kind)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for rows, samples in ((X, list(X[:9])), (frame, frame[:9].to_dict("records"))):
        model = clone(estimator).fit(rows, y)
        predictors = [weald.Predictor(model)]
        predictors += [pickle.loads(pickle.dumps(predictors[0]))]
        for predictor in predictors:
            assert predictor.n_features_in_ == 6
            for method in ("predict", "predict_proba", "predict_topk"):
                more = {"k": 2} if method == "predict_topk" else {}
                if not hasattr(model, method):
                    with pytest.raises(AttributeError, match=f"Voting\\w+ has no {method}"):
                        getattr(predictor, method)(samples[0], **more)
                    continue
                wanted = getattr(model, method)(rows[:9], **more)
                for i, sample in enumerate(samples):
                    found = getattr(predictor, method)(sample, **more)
                    if isinstance(wanted, tuple | list):
                        for one, other in zip(found, wanted, strict=True):
                            np.testing.assert_allclose(one, other[i], rtol=1e-13 * ("other" in case))
                    elif "other" in case and method != "predict_topk" and dense(found).dtype.kind == "f":
                        # scikit-learn multiplies one row and many rows in another order.
                        np.testing.assert_allclose(dense(found), dense(wanted[i]), rtol=1e-13)
                    else:
                        assert np.array_equal(dense(found).ravel(), dense(wanted[[i]]).ravel())
        model.fit(rows[::-1], y[::-1])
        assert len(samples) == 9


def test_a_predictor_of_categories_and_of_words_that_are_absent():
    X, y = problem("labels")
    frame = with_categories(X)
    model = mean(forest(), boosting()).fit(frame, y)
    sample = frame.iloc[3].to_dict()
    assert np.array_equal(weald.Predictor(model).predict_proba(sample), model.predict_proba(frame[3:4])[0])
    named = pd.DataFrame(X, columns=list("abcdef"))
    model = mean(weald.LinearClassifier(random_state=0), forest()).fit(named, y)
    found = weald.Predictor(model, absent="zero").predict_proba({"b": 2.0})
    wanted = model.predict_proba(pd.DataFrame([[0, 2.0, 0, 0, 0, 0]], columns=list("abcdef")))
    assert np.array_equal(found, wanted[0])
    with pytest.raises(ValueError, match="absent must be 'error' with estimators of scikit-learn"):
        weald.Predictor(mean(LogisticRegression()).fit(named, y[:, 0]), absent="zero")
    with pytest.raises(ValueError, match="sample must have shape"):
        weald.Predictor(mean(forest()).fit(X, y)).predict([1.0])
    with pytest.raises(NotFittedError):
        weald.Predictor(mean(forest()))


SAVED = {
    **{
        name: PREDICTED[name]
        for name in ("labels", "classes", "class", "sparse numbers", "means", "others", "pipelines")
    },
    "calibrated": (
        mean(CalibratedLabels(forest(), min_positives=1, random_state=0), mean(extra(), boosting(), weights=[1, 0])),
        "labels",
    ),
    "around": (TunedThresholds(mean(mean(boosting(), forest()), extra()), cv=2, random_state=0), "sparse labels"),
}


@pytest.mark.parametrize("case", SAVED)
def test_what_is_saved_is_loaded(case, tmp_path):
    estimator, kind = SAVED[case]
    X, y = problem(kind)
    model = clone(estimator).fit(X, y)
    weald.save(model, tmp_path / "model")
    for found in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(dense(found.predict(X)), dense(model.predict(X)))
        assert weald.dumps(found) == weald.dumps(model)
        assert repr(found) == repr(model)
        assert np.array_equal(dense(clone(found).fit(X, y).predict(X)), dense(model.predict(X)))
    if case not in ("others", "pipelines"):
        assert weald.inspect_model(tmp_path / "model")["n_outputs"] == model.n_outputs_


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = problem("class")
    path = tmp_path_factory.mktemp("models") / "model"
    weald.save(mean(forest(n_estimators=2), FrozenEstimator(boosting(n_estimators=1).fit(X, y))).fit(X, y), path)
    return path


def at(content, *keys):
    for key in keys:
        content = content[key]
    return content


def values(*numbers):
    return {"array": {"dtype": "<f8", "shape": [len(numbers)], "values": list(numbers)}}


FAULTS = [
    (("params", "weights"), [1], r"weights must have shape \(2,\)"),
    (("params", "estimators"), [], "estimators must be a list of pairs"),
    (("params", "estimators"), 3, r"estimators must be a list of pairs \(name, estimator\), got 3"),
    (("params", "other"), 3, "must have the parameters"),
    (("fitted", "n_outputs_"), 2, "y must have 1 outputs|_classes must"),
    (("fitted", "n_outputs_"), -1, "n_outputs_ must be a positive integer, got -1"),
    (("fitted", "weights_"), values(1.0), "weights_ must be 2 floats"),
    (("fitted", "weights_"), values(0.5, 0.5), "weights_ must be 2 floats from 0 to 1, the largest of them 1"),
    (("fitted", "weights_"), [1.0, 1.0], "weights_ must be 2 floats"),
    (("fitted", "weights_"), values(1.0, -1.0), "weights_ must be 2 floats"),
    (("fitted", "_classes"), [3], "_classes must be 1 arrays of classes"),
    (
        ("fitted", "_classes", 0),
        {"array": {"dtype": "<i8", "shape": [2], "values": [1, 0]}},
        "_classes must be distinct and in increasing order",
    ),
    (
        ("fitted", "_classes", 0),
        {"array": {"dtype": "<i8", "shape": [1], "values": [1]}},
        "_classes must be all classes of the estimators",
    ),
    (("fitted", "other"), 1, "attributes must be"),
    (("members",), [], "an array that is not used"),
    (("members",), 1, "an array that is not used"),
    (("members", 0), 1, "must have members with an estimator"),
    (
        ("params", "estimators", 1),
        {"tuple": ["part1", 2]},
        "must have estimators_ for each frozen parameter, got none for 2",
    ),
    (("fitted", "_names"), {"dict": [["part0", True]]}, "_names must be a name for each of estimators_"),
    (("fitted", "_names"), 1, "_names must be a name for each of estimators_, got 1"),
    (("members", 1, "frozen"), 0, "must have members with an estimator, and true or false as frozen"),
    (("members", 1, "inner", "class"), "RandomForestClassifier", "."),
    (("members", 1, "inner"), {"class": "RandomForestClassifier", "params": {}, "fitted": {}}, "."),
]


@pytest.mark.parametrize(("keys", "value", "message"), FAULTS, ids=str)
def test_faults_of_files_are_told(keys, value, message, saved, tmp_path):
    header, content, data = taken_apart(saved)
    at(content, *keys[:-1])[keys[-1]] = value
    put_together(tmp_path / "model", header, content, data)
    with pytest.raises(ValueError, match=message):
        weald.load(tmp_path / "model")


def test_other_text_is_an_error_and_nothing_else(saved, tmp_path):
    """After any value of the mean in a file is replaced, loading gives an estimator that predicts, or a ValueError."""
    X, _ = problem("class")
    header, content, data = taken_apart(saved)

    def places(value, path=()):
        yield path
        if path and path[-1] == "inner":
            return  # the files of members have tests of their own
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from places(item, (*path, key))

    for path in [path for path in places(content) if path][:300]:
        for value in (None, -1, "x", [], {}, {"int": "0x0"}):
            changed = json.loads(json.dumps(content))
            at(changed, *path[:-1])[path[-1]] = value
            put_together(tmp_path / "model", header, changed, data)
            try:
                model = weald.load(tmp_path / "model")
            except ValueError:
                continue
            model.predict(X)


# --- refusals ---------------------------------------------------------------------------------------------------------


BAD = [
    ({"estimators": []}, ValueError, "estimators must be a list of pairs .* got a list of length 0"),
    ({"estimators": None}, ValueError, "estimators must be a list of pairs .* got None"),
    ({"estimators": [forest()]}, ValueError, "estimators must be a list of pairs .* got the item a RandomForest"),
    ({"estimators": [("a", forest()), ("a", extra())]}, ValueError, "not unique"),
    ({"estimators": [("a__b", forest())]}, ValueError, "__"),
    ({"estimators": [("a", weald.RandomForestClassifier)]}, TypeError, "got the class RandomForestClassifier as 'a'"),
    ({"estimators": [("a", "drop")]}, ValueError, "estimators must have one that is not 'drop'"),
    ({"estimators": [("a", StandardScaler())]}, TypeError, "must be classifiers, got a StandardScaler as 'a'"),
    (
        {"estimators": [("a", forest()), ("b", numbers())]},
        TypeError,
        "must be classifiers, got a RandomForestRegressor as 'b'; VotingRegressor is for regressors",
    ),
    ({"estimators": [("a", RidgeClassifier())]}, TypeError, "must have predict_proba, which a RidgeClassifier as 'a'"),
    ({"estimators": [("a", boosting(loss="hinge"))]}, TypeError, "must have predict_proba.*'a' has not after its fit"),
    (
        {"estimators": [("a", forest(multi_label=True)), ("b", extra(multi_label=False))]},
        ValueError,
        "the same multi_label, got True in 'a' and False in 'b'",
    ),
    ({"weights": [1]}, ValueError, r"weights must have shape \(2,\), one weight for each estimator, got \(1,\)"),
    ({"weights": [1, -1]}, ValueError, "weights must be finite numbers that are not negative, got -1"),
    ({"weights": [1, np.inf]}, ValueError, "weights must be finite .* got inf"),
    ({"weights": [np.nan, 1]}, ValueError, "weights must be finite .* got nan"),
    ({"weights": [0, 0]}, ValueError, "weights must be positive for at least one estimator"),
    ({"weights": ["a", "b"]}, ValueError, "weights"),
    ({"voting": "hard"}, ValueError, "'voting' parameter of VotingClassifier must be a str among {'soft'}. Got 'hard'"),
    ({"verbose": -1}, ValueError, "verbose"),
    ({"n_jobs": 0}, ValueError, "'n_jobs' parameter .* must be an int in the range .* or None. Got 0"),
    ({"n_jobs": 1.5}, ValueError, "'n_jobs' parameter .* must be an int in the range .* or None. Got 1.5"),
]


@pytest.mark.parametrize(("params", "error", "message"), BAD, ids=str)
def test_what_does_not_fit_is_refused(params, error, message):
    X, y = problem("labels")
    model = mean(forest(), extra()).fit(X, y)
    before = model.predict_proba(X)
    given = model.get_params(deep=False)
    vars(model).update(params)
    check_refused(model, error, message, X, y)
    vars(model).update(given)
    assert np.array_equal(model.predict_proba(X), before)


def test_sample_weights_that_a_member_does_not_take():
    X, y = problem("class")
    message = "sample_weight must be None: a KNeighborsClassifier as 'part1' in estimators does not support"
    with pytest.raises(TypeError, match=message):
        mean(forest(), KNeighborsClassifier()).fit(X, y, np.ones(len(X)))
    assert mean(forest(), KNeighborsClassifier()).fit(X, y).score(X, y) > 0.5


def test_a_classifier_is_for_classifiers_and_a_regressor_for_regressors():
    X, y = problem("number")
    message = "must be regressors, got a RandomForestClassifier as 'a'; VotingClassifier is for classifiers"
    with pytest.raises(TypeError, match=message):
        weald.VotingRegressor([("a", forest())]).fit(X, y)


def test_fits_are_reported(capsys):
    X, y = problem("class")
    mean(forest(), extra(), verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"VotingClassifier: fit {i} of 2" for i in (1, 2)]


def test_what_is_dropped_keeps_its_name():
    X, y = problem("class")
    model = mean(forest(), extra(), boosting(), weights=[1, 2, 3]).set_params(part1="drop").fit(X, y)
    for found in (model, weald.loads(weald.dumps(model)), pickle.loads(pickle.dumps(model))):
        assert list(found.named_estimators_) == ["part0", "part1", "part2"]
        assert found.named_estimators_["part1"] == "drop"
        assert len(found.estimators_) == 2
        assert found.weights_.tolist() == [1 / 3, 1]
    assert list(model.named_estimators) == ["part0", "part1", "part2"]


@pytest.mark.parametrize("name", ["to_json", "to_c", "to_onnx", "to_treelite", "to_sklearn"])
def test_exports_are_of_its_members(name):
    X, y = problem("class")
    with pytest.raises(TypeError, match=r"estimator is a VotingClassifier, but .*; export each of its estimators_"):
        getattr(weald.export, name)(mean(forest()).fit(X, y))
