"""Linear models: what the weights mean, what each kind of y leads to, and the tools around them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import make, make_data, model_bytes, unless
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, normalize
from weald import _weald, inspection, model_selection
from weald._fit.base import prepare
from weald._fitted.fits import Fit
from weald._labels.thresholds import Objective, tuned
from weald._rounds import linear_start
from weald.metrics import make_topk_scorer
from weald.multilabel import CalibratedLabels, TunedThresholds

FEATURES = ["given", "normalized", "tfidf", "standardized"]
LOSSES = ["squared_hinge", "log_loss"]
GOLDEN = Path(__file__).parent / "golden/v1"
RNG = np.random.default_rng(3)
COUNTS = sparse.csr_array(RNG.poisson(0.3, size=(120, 30)))
LABELS = (COUNTS @ RNG.normal(size=(30, 5)) > 0.8).astype(np.int8)


def model(**params):
    return weald.LinearClassifier(**{"random_state": 0, "max_iter": 1000, **params})


def prepared(fitted, X):
    """X as `features_` says, in plain numpy."""
    X = np.asarray(X, dtype=float)
    if fitted.features_ == "tfidf":
        X = np.sign(X) * np.log1p(np.abs(X)) * fitted.idf_
    if fitted.features_ in ("tfidf", "normalized"):
        lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
        X = X / np.where(lengths > 0, lengths, 1)
    return X


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("outputs", ["single", "labels", "several"])
def test_scores_are_weights_times_prepared_features(features, outputs):
    X, y = make_data("LinearClassifier", outputs=outputs)
    fitted = model(features=features).fit(X, y)
    assert fitted.features_ == features
    assert fitted.coef_.shape == (len(fitted.intercept_), X.shape[1])
    expected = prepared(fitted, X) @ fitted.coef_.toarray().T + fitted.intercept_
    found = fitted.decision_function(X)
    found = np.hstack(found) if isinstance(found, list) else found
    # The model prepares X in float32.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    proba = fitted.predict_proba(X)
    if outputs == "labels":
        np.testing.assert_allclose(proba, expit(found), rtol=1e-12)
        np.testing.assert_array_equal(fitted.predict(X), found > 0)
        return
    ends = np.cumsum([part.shape[1] for part in proba])[:-1] if outputs == "several" else []
    parts = proba if outputs == "several" else [proba]
    for of_output, scores in zip(parts, np.split(found, ends, axis=1), strict=True):
        np.testing.assert_allclose(of_output, softmax(scores, axis=1), rtol=1e-12)


def test_inverse_document_frequencies_count_the_samples_with_a_word():
    fitted = model(features="tfidf").fit(COUNTS, LABELS)
    n, n_with = COUNTS.shape[0], (COUNTS.toarray() != 0).sum(axis=0)
    np.testing.assert_allclose(fitted.idf_, 1 + np.log((1 + n) / (1 + n_with)), rtol=1e-6)
    with pytest.raises(AttributeError, match="LinearClassifier has no idf_ with features_='given'"):
        _ = model(features="given").fit(COUNTS, LABELS).idf_


def test_two_classes_have_one_column():
    X, y = make_data("LinearClassifier")
    fitted = model(features="standardized").fit(X, y == "a")
    scores = fitted.decision_function(X)
    assert scores.shape == (len(X),)
    assert fitted.coef_.shape == (1, X.shape[1])
    np.testing.assert_allclose(fitted.predict_proba(X), np.stack([expit(-scores), expit(scores)], axis=1), rtol=1e-12)
    indices, found = fitted.predict_topk(X, 2, scores="margin")
    np.testing.assert_array_equal(indices[:, 0], scores > 0)
    np.testing.assert_array_equal(found[:, 0], np.abs(scores))
    np.testing.assert_array_equal(found[:, 1], -np.abs(scores))


def test_one_class_and_labels_without_samples():
    X, Y = make_data("LinearClassifier", outputs="labels")
    alone = model().fit(X, np.full(len(X), "b"))
    assert (alone.predict(X) == "b").all()
    np.testing.assert_array_equal(alone.predict_proba(X), np.ones((len(X), 1)))
    Y[:, 1] = 0
    assert not model().fit(X, Y).predict(X)[:, 1].any()
    fitted = model(calibrate=False).fit(X, Y)
    assert fitted.coef_[[1]].nnz == 0
    assert fitted.intercept_[1] < fitted.decision_function(X)[:, [0, 2]].min()
    assert not fitted.predict(X)[:, 1].any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("features", FEATURES)
def test_the_order_of_samples_and_labels_does_not_count(features, loss):
    rows, columns = RNG.permutation(120), RNG.permutation(5)
    fitted = model(loss=loss, features=features).fit(COUNTS, LABELS)
    other = model(loss=loss, features=features, n_jobs=2).fit(COUNTS[rows], LABELS[np.ix_(rows, columns)])
    np.testing.assert_array_equal(other.coef_.toarray(), fitted.coef_.toarray()[columns])
    np.testing.assert_array_equal(other.decision_function(COUNTS), fitted.decision_function(COUNTS)[:, columns])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("features", FEATURES)
def test_a_weight_is_a_number_of_samples(features, loss):
    """Calibration holds out rows, of which copies are some of their own."""
    weights = RNG.integers(0, 4, size=120)
    params = {"loss": loss, "features": features, "C": 1.0, "calibrate": False}
    weighted = model(**params).fit(COUNTS, LABELS, weights)
    repeated = np.repeat(np.arange(120), weights)
    assert model_bytes(weighted) == model_bytes(model(**params).fit(COUNTS[repeated], LABELS[repeated]))


def test_class_weights_multiply_sample_weights():
    X, y = make_data("LinearClassifier")
    weights = RNG.integers(1, 3, size=len(X)).astype(float)
    given = {"a": 2.0, "b": 1.0, "c": 0.0}
    plain = {"C": 0.3, "features": "normalized", "calibrate": False}
    by_hand = model(**plain).fit(X[y != "c"], y[y != "c"], (weights * np.vectorize(given.get)(y))[y != "c"])
    # The class without weight stays, as a column without samples.
    fitted = model(class_weight=given, **plain).fit(X, y, weights)
    scores = by_hand.decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X)[:, 1], scores, atol=0.2)
    assert not (fitted.predict(X) == "c").any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("features", ["given", "normalized"])
def test_unknown_labels_are_left_out_of_the_fit_of_their_column(features, loss):
    mask = RNG.random(LABELS.shape) < 0.3
    mask[:, 0] = False
    fitted = model(loss=loss, features=features).fit(COUNTS, LABELS, y_weight=unless(mask))
    with_gaps = np.where(mask, np.nan, LABELS)
    assert model_bytes(model(loss=loss, features=features).fit(COUNTS, with_gaps)) == model_bytes(fitted)
    assert model_bytes(
        model(loss=loss, features=features).fit(COUNTS, sparse.csr_array(LABELS), y_weight=unless(mask))
    ) == model_bytes(fitted)
    tight = model(C=0.3, loss=loss, features=features, tol=1e-4, max_iter=100_000, min_weight=0.0, calibrate=False)
    together = tight.fit(COUNTS, LABELS, y_weight=unless(mask)).coef_.toarray()
    for j in range(LABELS.shape[1]):
        known = ~mask[:, j]
        alone = tight.fit(COUNTS[known], LABELS[known, j : j + 1]).coef_.toarray()
        # Both are within the tolerance of the optimum.
        np.testing.assert_allclose(together[j], alone[0] if alone.shape[0] == 1 else alone[j], atol=2e-3)


def test_a_choice_is_the_candidate_with_the_least_loss_of_held_out_samples():
    fitted = model().fit(COUNTS, LABELS)
    assert fitted.C_ in (0.1, 0.3, 1.0, 3.0, 10.0)
    # Too few cells are zero for standardised features to be left out, and too many for tf-idf to be.
    assert fitted.features_ in FEATURES
    again = model(C=fitted.C_, features=fitted.features_).fit(COUNTS, LABELS)
    np.testing.assert_allclose(again.predict_proba(COUNTS), fitted.predict_proba(COUNTS), atol=0.02)
    np.testing.assert_array_equal(
        model(C=fitted.C_, features=fitted.features_, calibrate=False).fit(COUNTS, LABELS)._model.arrays()[2],
        fitted._model.arrays()[2],
    )
    given = model(features="normalized").fit(COUNTS, LABELS)
    assert (given.features_, given.C_ in (0.1, 0.3, 1.0, 3.0, 10.0)) == ("normalized", True)
    assert model(C=0.7).fit(COUNTS, LABELS).C_ == 0.7
    dense = model().fit(RNG.normal(size=(90, 4)), np.arange(90) % 3)
    assert dense.features_ != "tfidf"  # for values below zero have no logarithm of a count


def test_calibrated_probabilities_have_less_loss_than_margins_have():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    score = 1.5 * X[:, 0] - X[:, 1] + rng.logistic(size=3000)
    y = (score > 0.5).astype(int)
    losses = {}
    for calibrate in (True, False):
        fitted = model(C=0.1, loss="squared_hinge", features="standardized", calibrate=calibrate)
        fitted.fit(X[:1500], y[:1500])
        losses[calibrate] = log_loss(y[1500:], fitted.predict_proba(X[1500:]))
    # A line that is fitted to held-out margins of 1500 samples is near the best one: far better than none.
    assert losses[True] < 0.95 * losses[False]


# --- log loss ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept_scaling", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("C", [0.1, 3.0, 30.0])
def test_log_loss_is_logistic_regression(C, intercept_scaling):
    rng = np.random.default_rng(0)
    X = normalize(rng.poisson(0.3, size=(300, 20)).astype(np.float32))
    score = X @ rng.normal(size=(20, 3)) + rng.logistic(size=(300, 3))
    # Intercepts are drawn towards 0 where half of the samples have a label.
    Y = (score > np.median(score, axis=0)).astype(np.int8)
    assert (Y.sum(axis=0) == 150).all()
    params = {"C": C, "intercept_scaling": intercept_scaling, "features": "given", "calibrate": False}
    fitted = model(loss="log_loss", tol=1e-8, min_weight=0.0, max_iter=20_000, **params).fit(X, Y)
    for j in range(3):
        scaling = {"intercept_scaling": intercept_scaling} if intercept_scaling else {"fit_intercept": False}
        other = LogisticRegression(C=C, solver="liblinear", tol=1e-10, max_iter=10_000, **scaling).fit(X, Y[:, j])
        # The gap, at least half the square of the distance of the weights, is below 1e-8 of a loss of some 100 C.
        np.testing.assert_allclose(fitted.coef_.toarray()[j], other.coef_[0], atol=5e-3, rtol=5e-3)
        if intercept_scaling:
            np.testing.assert_allclose(fitted.intercept_[j], other.intercept_[0], atol=5e-3, rtol=5e-3)
        np.testing.assert_allclose(fitted.predict_proba(X)[:, j], other.predict_proba(X)[:, 1], atol=5e-3)


def test_margins_of_log_loss_are_log_odds():
    fitted = model(loss="log_loss", calibrate=False).fit(COUNTS, LABELS)
    scores = fitted.decision_function(COUNTS)
    np.testing.assert_allclose(fitted.predict_proba(COUNTS), expit(scores), rtol=1e-12)
    expected = prepared(fitted, COUNTS.toarray()) @ fitted.coef_.toarray().T + fitted.intercept_
    # The model prepares X in float32.
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    # Without weights of features, an intercept is the log-odds of the label with half a sample more on either side.
    alone = model(C=1e-9, loss="log_loss", features="given", calibrate=False).fit(COUNTS, LABELS)
    n, n_with = len(LABELS), LABELS.sum(axis=0)
    np.testing.assert_allclose(alone.intercept_, np.log((n_with + 0.5) / (n - n_with + 0.5)), rtol=1e-5)
    assert (abs(alone.coef_.data) < 1e-6).all()


def test_log_loss_without_calibration_has_less_loss_than_the_squared_hinge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    y = (1.5 * X[:, 0] - X[:, 1] + rng.logistic(size=3000) > 0.5).astype(int)
    losses = {}
    for loss, C in (("squared_hinge", 0.3), ("log_loss", 3.0)):
        fitted = model(C=C, loss=loss, features="standardized", calibrate=False).fit(X[:1500], y[:1500])
        losses[loss] = log_loss(y[1500:], fitted.predict_proba(X[1500:]))
    # Samples have logistic noise, so that log loss fits their probabilities; a margin of the hinge is no log-odds.
    assert losses["log_loss"] < 0.9 * losses["squared_hinge"]


def test_choices_of_log_loss_are_among_its_own_strengths():
    fitted = model(loss="log_loss").fit(COUNTS, LABELS)
    assert fitted.C_ in (1.0, 3.0, 10.0, 30.0, 100.0)
    again = model(C=fitted.C_, loss="log_loss", features=fitted.features_, calibrate=False).fit(COUNTS, LABELS)
    np.testing.assert_array_equal(again._model.arrays()[2], fitted._model.arrays()[2])


@pytest.mark.parametrize(("y", "loss", "tol"), [(LABELS, "squared_hinge", 0.1), (LABELS[:, 0], "log_loss", 0.01)])
def test_loss_is_that_of_classes_or_labels(y, loss, tol):
    assert model_bytes(model().fit(COUNTS, y)) == model_bytes(model(loss=loss, tol=tol).fit(COUNTS, y))


def test_files_from_before_log_loss_are_of_the_squared_hinge(tmp_path):
    fitted = model(C=0.3, loss="log_loss").fit(COUNTS, LABELS)
    weald.save(fitted, tmp_path / "logistic")
    assert weald.load(tmp_path / "logistic").loss == "log_loss"
    assert b"squared_hinge" not in model_bytes(model(C=0.3).fit(COUNTS, LABELS))
    assert weald.load(GOLDEN / "linear_labels.safetensors").loss == "squared_hinge"


# --- precision --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", FEATURES)
def test_float16_weights_are_the_nearest_ones_and_files_are_smaller(features, tmp_path):
    wide = sparse.csr_array(np.random.default_rng(0).poisson(0.3, size=(200, 200)))
    Y = (wide @ np.random.default_rng(1).normal(size=(200, 30)) > 2).astype(np.int8)
    params = {"features": features, "C": 0.3, "calibrate": False}
    single = model(**params).fit(wide, Y)
    half = model(weight_dtype="float16", **params).fit(wide, Y)
    weights, rounded = single._model.arrays()[2], half._model.arrays()[2]
    np.testing.assert_array_equal(rounded, weights.astype(np.float16).astype(np.float32))
    assert (rounded != weights).any()
    weald.save(half, tmp_path / "half")
    loaded = weald.load(tmp_path / "half")
    assert loaded.weight_dtype == "float16"
    np.testing.assert_array_equal(loaded.decision_function(wide), half.decision_function(wide))
    # Two bytes less for each weight; there is one byte for its column, and little else.
    saved = len(weald.dumps(single)) - len(weald.dumps(half))
    assert 2 * len(weights) - 200 < saved <= 2 * len(weights)
    # Weights are within 2⁻¹¹ of the others, and margins are sums of some thirty of them.
    np.testing.assert_allclose(half.decision_function(wide), single.decision_function(wide), atol=0.02)


def test_weights_that_float16_does_not_hold_stay_as_they_are():
    X = np.column_stack([np.arange(60) % 2, 1e-7 * np.arange(60), 1e7 * (np.arange(60) % 3)])
    params = {"features": "standardized", "C": 0.3, "calibrate": False}
    y = np.arange(60) // 2 % 15 + 5 * (np.arange(60) % 3) < 10
    single, half = (model(weight_dtype=dtype, **params).fit(X, y) for dtype in ("float32", "float16"))
    weights, rounded = single._model.arrays()[2], half._model.arrays()[2]
    held = (np.abs(weights) >= 2.0**-14) & (np.abs(weights) <= 65504)
    assert not held.all()
    np.testing.assert_array_equal(rounded[~held], weights[~held])
    np.testing.assert_array_equal(rounded[held], weights[held].astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(weald.loads(weald.dumps(half)).decision_function(X), half.decision_function(X))


# --- what is warned about, and refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_fits_that_do_not_end_in_time_warn(loss):
    with pytest.warns(ConvergenceWarning, match=r"\d of 5 labels or classes did not reach tol=1e-06 within max_iter=2"):
        fitted = model(loss=loss, tol=1e-6, max_iter=2).fit(COUNTS, LABELS)
    assert fitted.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 <= model(loss=loss).fit(COUNTS, LABELS).n_iter_ < 1000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C' parameter of LinearClassifier must be"),
        ({"C": -1.0}, "'C' parameter of LinearClassifier must be"),
        ({"C": np.inf}, "'C' parameter of LinearClassifier must be"),
        ({"calibrate": "yes"}, "'calibrate' parameter"),
        ({"loss": "hinge"}, "'loss' parameter of LinearClassifier must be"),
        ({"weight_dtype": "float8"}, "'weight_dtype' parameter of LinearClassifier must be"),
        ({"loss": None}, "'loss' parameter of LinearClassifier must be"),
        ({"C": "cv"}, "'C' parameter of LinearClassifier must be"),
        ({"features": "counts"}, "'features' parameter of LinearClassifier must be"),
        ({"intercept_scaling": -1.0}, "'intercept_scaling' parameter"),
        ({"intercept_scaling": 1e-4}, "intercept_scaling must be 0, or from 0.001 to 1000, got 0.0001"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"min_weight": -0.1}, "'min_weight' parameter"),
        ({"class_weight": "balanced_subsample"}, "'class_weight' parameter"),
    ],
)
def test_parameters_that_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        weald.LinearClassifier(**params).fit(COUNTS, LABELS)


def test_samples_that_are_refused():
    X, y = make_data("LinearClassifier")
    gaps = np.where(X > 1, np.nan, X)
    for Z in (gaps, sparse.csr_array(gaps), pd.DataFrame(gaps)):
        with pytest.raises(ValueError, match="X contains NaN, which LinearClassifier does not support, since a weight"):
            model().fit(Z, y)
        with pytest.raises(ValueError, match="X contains NaN"):
            model().fit(X, y).predict(np.asarray(gaps))
    frame = pd.DataFrame(X).assign(color=pd.Categorical(["red", "green"] * 30))
    with pytest.raises(ValueError, match=r"does not support text or categories, got feature 'color'.*OneHotEncoder"):
        model().fit(frame, y)
    with pytest.raises(ValueError, match=r"X must have finite|infinity"):
        model().fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(ValueError, match=r"LinearClassifier.*supports? classes|y .*(continuous|classes)"):
        model().fit(X, X[:, 0])
    with pytest.raises(AttributeError, match=r"has no feature_importances_: .*top_features"):
        _ = model().fit(X, y).feature_importances_


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_best_labels_are_those_of_all_scores(container):
    fitted = model().fit(COUNTS, container(LABELS))
    scores = fitted.decision_function(COUNTS)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    indices, found = fitted.predict_topk(COUNTS, 3, scores="margin")
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(found, np.take_along_axis(scores, order, axis=1))
    indices, found = fitted.predict_topk(COUNTS, 3)
    np.testing.assert_array_equal(found, np.take_along_axis(fitted.predict_proba(COUNTS), order, axis=1))
    indices, _ = fitted.predict_topk(COUNTS, 5, exclude=[0, 3])
    assert not np.isin(indices, [0, 3]).any()
    assert (indices[:, 3:] == -1).all()
    stored = fitted.predict_sparse(COUNTS, min_score=0.4).toarray()
    proba = fitted.predict_proba(COUNTS)
    np.testing.assert_array_equal(stored, np.where(proba >= 0.4, proba, 0.0))


def test_large_values_have_finite_scores():
    X, Y = make_data("LinearClassifier", outputs="labels")
    fitted = model(features="given").fit(X, Y)
    extreme = np.where(X > 0, 3e38, -3e38)
    assert np.isfinite(fitted.decision_function(extreme)).all()
    np.testing.assert_array_equal(
        fitted.decision_function(sparse.csr_array(extreme)), fitted.decision_function(extreme)
    )


# --- words ------------------------------------------------------------------------------------------------------------

TEXTS = ["the cat sat on the mat", "the dog chased the cat", "snow fell on hills", "rain and snow", "dog"] * 4
TAGS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]] * 4)
NAMES = ["cat", "dog", "weather"]


def test_top_features_are_the_largest_weights():
    vectorizer = CountVectorizer()
    fitted = model().fit(vectorizer.fit_transform(TEXTS), TAGS, label_names=NAMES)
    words = vectorizer.get_feature_names_out()
    for j, name in enumerate(NAMES):
        weights = fitted.coef_.toarray()[j]
        for sign, keep in (("positive", weights > 0), ("negative", weights < 0), ("both", weights != 0)):
            asked = np.flatnonzero(keep)
            order = asked[np.argsort(-np.abs(weights[asked]), kind="stable")][:4]
            expected = [(words[i], weights[i]) for i in order]
            for label in (j, np.int64(j), name):
                assert inspection.top_features(fitted, label, 4, sign=sign, feature_names=words) == expected
    assert inspection.top_features(fitted, "dog", 1, feature_names=words)[0][0] == "dog"
    assert inspection.top_features(fitted, "dog", 1)[0][0] == f"feature_{words.tolist().index('dog')}"
    # The names of a step before the model, and those of a frame.
    piped = make_pipeline(CountVectorizer(), model()).fit(TEXTS, TAGS)
    assert inspection.top_features(piped, 1, 1)[0][0] == "dog"
    framed = pd.DataFrame(vectorizer.transform(TEXTS).toarray(), columns=words)
    assert inspection.top_features(model().fit(framed, TAGS), 1, 1)[0][0] == "dog"


def test_top_features_of_classes():
    X, y = make_data("LinearClassifier")
    fitted = model(features="standardized").fit(X, y)
    assert dict(inspection.top_features(fitted, "b", 99, sign="both")) == {
        f"feature_{j}": weight for j, weight in enumerate(fitted.coef_.toarray()[1]) if weight
    }
    two = model(features="standardized").fit(X, y == "a")
    second = inspection.top_features(two, True, 99, sign="both")
    assert inspection.top_features(two, False, 99, sign="both") == [(name, -weight) for name, weight in second]
    with pytest.raises(ValueError, match=r"label must be one of the classes \[False, True\], got 1"):
        inspection.top_features(two, 1)
    X, y = make_data("LinearClassifier", outputs="several")
    several = model(features="standardized").fit(X, y)
    found = dict(inspection.top_features(several, (1, 2), 99, sign="both"))
    expected = several.coef_.toarray()[several.n_classes_[0] + 2]
    assert found == {f"feature_{j}": weight for j, weight in enumerate(expected) if weight}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"label": 3}, ValueError, "label must be an integer from 0 to 2 or a name in target_names_in_, got 3"),
        ({"label": -1}, ValueError, "label must be an integer from 0 to 2"),
        ({"label": "bird"}, ValueError, "label must be .*got 'bird'"),
        ({"label": True}, ValueError, "label must be .*got True"),
        ({"label": 1.0}, ValueError, "label must be .*got 1.0"),
        ({"n": 0}, ValueError, "n must be a positive integer, got 0"),
        ({"sign": "plus"}, ValueError, "sign must be 'positive', 'negative' or 'both', got 'plus'"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must have length"),
        ({"estimator": make("RandomForestClassifier")}, TypeError, "estimator must be a linear model of weald, got"),
    ],
)
def test_top_features_refuses(arguments, error, message):
    fitted = model().fit(CountVectorizer().fit_transform(TEXTS), TAGS, label_names=NAMES)
    with pytest.raises(error, match=message):
        inspection.top_features(**{"estimator": fitted, "label": 0, **arguments})


def test_one_text_at_a_time():
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    words = vectorizer.get_feature_names_out()
    fitted = model().fit(pd.DataFrame(X.toarray(), columns=words), TAGS)
    predictor = weald.Predictor(fitted)
    sample = dict.fromkeys(words, 0) | {"dog": 1, "snow": 2}
    row = pd.DataFrame([sample])
    np.testing.assert_array_equal(predictor.predict_proba(sample), fitted.predict_proba(row)[0])
    for k in (1, 2):
        for found, expected in zip(predictor.predict_topk(sample, k), fitted.predict_topk(row, k), strict=True):
            np.testing.assert_array_equal(found, expected[0])
    piped = weald.Predictor(make_pipeline(CountVectorizer(), model()).fit(TEXTS, TAGS))
    assert piped.predict_topk("a dog", 1)[0].tolist() == [1]
    on_rows = weald.Predictor(model().fit(X, TAGS))
    np.testing.assert_array_equal(on_rows.predict(X[[3]]), TAGS[3])


# --- tools around it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: TunedThresholds(inner, cv=3, random_state=0),
        lambda inner: CalibratedLabels(inner, cv=3, min_positives=1, random_state=0),
    ],
)
def test_meta_estimators_take_linear_models(around, tmp_path):
    fitted = around(model()).fit(COUNTS, sparse.csr_array(LABELS))
    weald.save(fitted, tmp_path / "model")
    again = weald.load(tmp_path / "model")
    assert (fitted.predict(COUNTS) != again.predict(COUNTS)).nnz == 0
    indices, scores = fitted.predict_topk(COUNTS, 2)
    for found, expected in zip(weald.topk(again, COUNTS, 2), (indices, scores), strict=True):
        np.testing.assert_array_equal(found, expected)
    best = inspection.top_features(fitted, 0, 3)
    assert best == inspection.top_features(fitted.estimator_, 0, 3)


def thresholds(X, Y, **rules):
    return TunedThresholds(model(), shrinkage=5).fit(X, Y, **rules)


@pytest.mark.parametrize("params", [{}, {"C": 1.0, "features": "normalized"}, {"calibrate": False}])
@pytest.mark.parametrize("masked", [False, True])
def test_thresholds_are_tuned_on_the_folds_of_the_fit_itself(params, masked, monkeypatch):
    mask = RNG.random(LABELS.shape) < 0.2 if masked else None
    fits, fit_linear = [], _weald.fit_linear
    monkeypatch.setattr(_weald, "fit_linear", lambda *args: fits.append(0) or fit_linear(*args))
    found = TunedThresholds(model(**params), shrinkage=5).fit(COUNTS, LABELS, y_weight=unless(mask))
    assert len(fits) == 1
    inner = found.estimator_
    plain = model(**params).fit(COUNTS, LABELS, y_weight=unless(mask))
    assert inner._model == plain._model
    samples = prepare(model(), Fit(COUNTS, LABELS, y_weight=unless(mask)))
    folds = linear_start.fold_models(inner, samples, 3, 1)
    scores, fold = linear_start.held_out(samples.X, folds).scores, folds[0]
    proba = inner._probabilities(scores)
    assert sorted(set(fold)) == [0, 1, 2]
    proba[proba < 0.01] = 0
    if masked:
        proba[mask] = 0
    hidden = None if mask is None else sparse.csr_array(mask)
    known = LABELS if mask is None else np.where(mask, 0, LABELS)
    expected = tuned(
        sparse.csr_array(proba), sparse.csr_array(known), np.ones(120), Objective.parsed("f1"), 5, "share", 0.01, hidden
    )
    np.testing.assert_array_equal(found.threshold_, expected.of_labels)
    assert vars(found.estimator_).keys() == vars(plain).keys()


def test_thresholds_of_folds_obey_the_laws():
    expected = thresholds(COUNTS, LABELS).threshold_
    for X, Y in ((COUNTS.toarray(), LABELS), (COUNTS.tocsc(), sparse.csr_array(LABELS))):
        np.testing.assert_array_equal(thresholds(X, Y).threshold_, expected)
    order = np.random.default_rng(0).permutation(120)
    np.testing.assert_array_equal(thresholds(COUNTS[order], LABELS[order]).threshold_, expected)
    weights = np.random.default_rng(1).integers(0, 3, 120)
    rows, weights = np.flatnonzero(weights), weights.astype(float)
    weighted = thresholds(COUNTS, LABELS, sample_weight=weights)
    removed = thresholds(COUNTS[rows], LABELS[rows], sample_weight=weights[rows])
    np.testing.assert_array_equal(removed.threshold_, weighted.threshold_)
    piped = TunedThresholds(make_pipeline(MaxAbsScaler(), model()), shrinkage=5).fit(COUNTS, LABELS)
    again = TunedThresholds(model(), shrinkage=5).fit(MaxAbsScaler().fit_transform(COUNTS), LABELS)
    np.testing.assert_array_equal(piped.threshold_, again.threshold_)


@pytest.mark.parametrize("piped", [False, True])
def test_fits_to_folds_take_what_the_fit_to_all_samples_has_chosen(piped, monkeypatch):
    asked = []
    fit_linear = _weald.fit_linear

    def noted(data, config, *rest):
        asked.append((config["c"], config["features"]))
        return fit_linear(data, config, *rest)

    monkeypatch.setattr(_weald, "fit_linear", noted)
    estimator = make_pipeline(MaxAbsScaler(), model()) if piped else model()
    found = TunedThresholds(estimator, cv=3, random_state=0).fit(COUNTS, LABELS)
    best = found.estimator_[-1] if piped else found.estimator_
    assert (best.C, best.features) == ("auto", "auto")
    assert asked == [(None, None), *[(best.C_, best.features_)] * 3]


def test_model_selection_takes_linear_models():
    Y = sparse.csr_array(LABELS)
    indices, scores = model_selection.cross_val_predict(model(), COUNTS, Y, method="predict_topk", k=2, cv=3)
    assert indices.shape == scores.shape == (120, 2)
    fitted = model().fit(COUNTS, Y)
    score = make_topk_scorer("precision_at_k", k=1)(fitted, COUNTS, Y)
    first = fitted.predict_topk(COUNTS, 1)[0][:, 0]
    assert score == pytest.approx(LABELS[np.arange(120), first].mean())


def test_whole_models_are_no_parts():
    fitted = model().fit(COUNTS, LABELS)
    with pytest.raises(ValueError, match=r"parts\[0\] was fitted without labels"):
        weald.merge([fitted, fitted])
