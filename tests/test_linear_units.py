"""Linear models and units: of X, of weights, of files. What holds for X as it is holds for X in other units."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import partial

import numpy as np
import pytest
import weald
from conftest import model_bytes, unless
from scipy import sparse
from sklearn.datasets import load_digits
from weald.multilabel import CalibratedLabels

LOSSES = ["squared_hinge", "log_loss"]
FEATURES = ["given", "normalized", "tfidf", "standardized"]
# Half of the largest float32, the smallest normal one, and a denormal one.
SCALES = [1.7e38, 1e37, 1e12, 1.0, 1e-9, 1.2e-38, 1e-44]


def hostile(seed, labels=4):
    """Columns of very different units, with samples that repeat, zeros and constants; and labels, one of which nothing has."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1 if seed % 2 else 0, 2, (20, 5)).astype(float)
    X = np.vstack([X, X]) * rng.choice(SCALES, 5)
    X[:, 4] = rng.choice(SCALES)
    Y = (rng.random((40, labels)) < 0.4).astype(int)
    Y[:, -1] = 0
    return X, Y


def linear(seed, **params):
    rng = np.random.default_rng(1000 + seed)
    drawn = {
        "C": float(rng.choice([1e-9, 0.3, 1e9])),
        "intercept_scaling": float(rng.choice([0.0, 0.3, 1000.0])),
        "min_weight": float(rng.choice([0.0, 0.01])),
        "weight_dtype": str(rng.choice(["float32", "float16"])),
        "max_iter": 20,
        "random_state": 0,
    }
    return {**drawn, **params}


MODELS = {
    **{
        f"{loss}, {features}": lambda seed, loss=loss, features=features: weald.LinearClassifier(
            loss=loss, features=features, calibrate=bool(seed % 3), **linear(seed)
        )
        for loss in LOSSES
        for features in FEATURES
    },
    "chosen": lambda seed: weald.LinearClassifier(**linear(seed, C="auto")),
    **{
        f"label tree, {features}": lambda seed, features=features: weald.LinearClassifier(
            strategy="tree", features=features, max_leaf_labels=2, **linear(seed)
        )
        for features in FEATURES[:3]
    },
    "centroid": lambda seed: weald.CentroidForestClassifier(3, random_state=0),
    "compressed": lambda seed: weald.CompressedForestClassifier(
        weald.RandomForestClassifier(4, max_leaf_nodes=4, random_state=0), random_state=0
    ),
    "calibrated": lambda seed: CalibratedLabels(weald.LinearClassifier(**linear(seed)), too_few="keep"),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_a_fit_makes_of_hostile_units_can_be_loaded(name):
    for seed in range(12):
        X, Y = hostile(seed)
        if name == "centroid":
            X = abs(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = MODELS[name](seed).fit(X, Y)
        proba = fitted.predict_proba(X)
        assert np.isfinite(proba).all()
        for again in (weald.loads(weald.dumps(fitted)), pickle.loads(pickle.dumps(fitted))):
            np.testing.assert_array_equal(again.predict_proba(X), proba)


def test_weights_that_vanish_are_no_weights():
    # Those of the column of 1e38 are below the least float32.
    rng = np.random.default_rng(27)
    X, Y = rng.integers(0, 2, (16, 3)).astype(float), (rng.random((16, 4)) < 0.4).astype(int)
    X = np.column_stack([np.vstack([X, X]), np.repeat([1.0, -1.0], 16) * 1e38])
    fitted = weald.LinearClassifier(
        C=1.0, features="standardized", min_weight=0, calibrate=False, tol=1e-6, random_state=0
    ).fit(X, np.vstack([Y, Y]))
    assert (fitted.coef_.data != 0).all()
    assert model_bytes(weald.loads(weald.dumps(fitted))) == model_bytes(fitted)


@pytest.mark.parametrize("unit", [0.01, 1.0, 255 / 16, 300.0])
@pytest.mark.parametrize("strategy", ["one_vs_rest", "tree"])
def test_small_weights_are_dropped_in_any_unit_of_x(strategy, unit):
    # C has the unit of 1 / x², and the scaling of the intercept that of x: with these, the model is the same in all units.
    X, y = load_digits(return_X_y=True)
    X, train = X * unit, np.arange(len(X)) % 2 == 0
    params = {"features": "given", "C": 1e-4 / unit**2, "intercept_scaling": 0.3 * unit, "strategy": strategy}
    make = partial(weald.LinearClassifier, random_state=0, **params)
    whole, fewer = (make(min_weight=least).fit(X[train], y[train]) for least in (0, 0.01))
    assert fewer.score(X[~train], y[~train]) > whole.score(X[~train], y[~train]) - 0.01
    assert len(weald.dumps(fewer)) < len(weald.dumps(whole))


@pytest.mark.parametrize("features", ["normalized", "tfidf", "standardized"])
def test_prepared_samples_have_length_one_so_that_min_weight_is_that_of_weights(features):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (200, 40)).astype(float)
    Y = (X @ rng.normal(size=(40, 5)) > 1).astype(int)
    whole, fewer = (
        weald.LinearClassifier(C=1, features=features, min_weight=least, calibrate=False, random_state=0).fit(X, Y)
        for least in (0, 0.1)
    )
    unit = X.std(axis=0) * np.sqrt(40) if features == "standardized" else np.ones(40)
    of_prepared = abs(whole.coef_.toarray()) * unit
    assert (of_prepared.max(axis=1) > 1).all()
    # Lengths of one have an error of 1e-7.
    sure = abs(of_prepared - 0.1) > 1e-5
    np.testing.assert_array_equal((fewer.coef_.toarray() != 0)[sure], (of_prepared >= 0.1)[sure])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_order_of_labels_does_not_count_where_x_repeats(loss, repeats):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.integers(0, 3, (40, 1)).astype(float), (rng.random((40, 20)) < 0.4).astype(int)
        # Labels that no X tells apart: each X has them as often.
        X, Y = (
            np.repeat(X, repeats, axis=0),
            np.vstack([np.roll(Y[i], [0, 7, 11][k]) for i in range(40) for k in range(repeats)]),
        )
        mask = rng.random(Y.shape) < 0.05
        order = rng.permutation(20)
        params = {"C": 1.0, "loss": loss, "features": "given", "calibrate": bool(seed % 2), "random_state": 0}
        one = weald.LinearClassifier(**params).fit(X, Y, y_weight=unless(mask))
        other = weald.LinearClassifier(**params).fit(X, Y[:, order], y_weight=unless(mask[:, order]))
        np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X)[:, order])


def test_classes_that_are_replicated_have_no_order():
    # Each X has each class once: no class is before another.
    X, y = np.repeat(np.arange(6.0), 3)[:, None], np.tile(["a", "b", "c"], 6)
    scores = weald.LinearClassifier(C=1.0, features="given", random_state=0).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(scores, scores[:, [1, 2, 0]])


@pytest.mark.parametrize("calibrate", [False, True])
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_a_label_without_samples_is_not_raised_by_one_that_all_samples_have(loss, calibrate):
    X = np.random.default_rng(0).normal(size=(60, 3))
    for others in ([], [X[:, 0] > 0]):
        Y = np.column_stack([np.ones(60), np.zeros(60), *others]).astype(int)
        for form in (X, 0 * X):
            model = weald.LinearClassifier(loss=loss, calibrate=calibrate, random_state=0).fit(form, Y)
            proba = model.predict_proba(form)
            assert (proba[:, 1] < 0.1).all()
            assert (proba[:, [1]] <= proba).all()
            np.testing.assert_array_equal(model.predict(form)[:, :2], Y[:, :2])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("calibrate", [True, False])
def test_labels_without_samples_have_the_lowest_scores(container, features, loss, calibrate):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(200, 30)).astype(float)
    Y = (X @ rng.normal(size=(30, 5)) > 1).astype(int)
    Y = np.insert(Y, [0, 3], 0, axis=1)
    fitted = weald.LinearClassifier(loss=loss, features=features, calibrate=calibrate, random_state=0).fit(
        X, container(Y)
    )
    scores, empty = fitted.decision_function(X), [0, 4]
    assert np.isfinite(scores).all()
    assert (scores[:, empty].max(axis=1) < np.delete(scores, empty, axis=1).min(axis=1)).all()
    top, _ = fitted.predict_topk(X, 7)
    assert np.isin(top[:, 5:], empty).all()
    parts = [
        weald.LinearClassifier(**fitted.get_params()).fit(X, container(Y), labels=part)
        for part in (range(3), range(3, 7))
    ]
    assert model_bytes(weald.merge(parts)) == model_bytes(fitted)


def test_labels_without_samples_come_last_in_label_trees():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 60, (300, 4))
    Y = np.zeros((300, 25), dtype=int)
    Y[np.arange(300)[:, None], words % 20 + 3] = 1
    X = np.zeros((300, 60))
    X[np.arange(300)[:, None], words] = 1
    fitted = weald.LinearClassifier(
        strategy="tree", max_leaf_labels=2, max_children=2, beam_width=1, random_state=0
    ).fit(X, Y)
    empty = np.flatnonzero(Y.sum(axis=0) == 0)
    proba, (top, scores) = fitted.predict_proba(X), fitted.predict_topk(X, 25)
    assert (proba[:, empty] == 0).all()
    assert (proba == 0).mean() > 0.5
    assert np.isin(top[:, -len(empty) :], empty).all()
    assert not np.isin(top[:, : -len(empty)], empty).any()
    assert (scores[:, -len(empty) :] == 0).all()


@pytest.mark.parametrize(
    ("weights", "told"), [(1 / 400, True), (1e-6, True), (0.7, False), (1.0, False), (None, False)]
)
@pytest.mark.parametrize("strategy", ["one_vs_rest", "tree"])
def test_weights_that_the_penalty_outweighs_are_told_with_a_factor(strategy, weights, told):
    make = partial(weald.LinearClassifier, strategy=strategy)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y, weights = (X[:, 0] > 0).astype(int), None if weights is None else np.full(400, weights)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = make(random_state=0).fit(X, y, weights)
    texts = [str(warning.message) for warning in caught]
    if not told:
        assert not texts
        return
    assert len(texts) == 1
    assert "sample_weight sums to" in texts[0]
    assert re.search(r"so that C=.* decides the model", texts[0])
    factor = float(texts[0].rpartition("by ")[2].partition(",")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = make(random_state=0).fit(X, y, weights * factor)
        # A C that is as much larger is as good.
        make(C=min(1e9, fitted.C_ * factor), random_state=0).fit(X, y, weights)
    assert again.score(X, y) > 0.95
