"""Compact leaves in Python: what is exact, what is bounded, the general laws, and invalid input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import weald
from conftest import ALL, CLASSIFIERS, FORESTS, REGRESSORS, cases, has_outputs, make, make_data, model_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from weald import _weald
from weald.compression import compact_leaves

OUTPUTS = ["single", "several", "labels"]
pytestmark = cases(has_outputs)


def scores(model, X):
    """Numerical predictions or probabilities as one array."""
    proba = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X).reshape(X.shape[0], -1)
    return np.hstack(proba) if isinstance(proba, list) else proba


def forms(name, X, y):
    every = [{"training_data": (X, y)}, {"dtype": "float16"}, {"training_data": (X, y), "dtype": "float16"}]
    every.append({"dtype": "float32"})
    return every + ([{"top_k": 1}, {"top_k": 2, "dtype": "float32"}] if name in CLASSIFIERS else [])


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_leaves_of_samples_predict_the_same_bits(name, outputs, bootstrap, weights):
    X, y = make_data(name, outputs=outputs, n=90)
    rng = np.random.default_rng(0)
    w = {None: None, "whole": rng.integers(0, 3, len(X)), "fractions": rng.random(len(X))}[weights]
    params = {"class_weight": "balanced"} if name in CLASSIFIERS else {}
    if name in FORESTS:
        params |= {"bootstrap": bootstrap, "max_samples": 0.7 if bootstrap else None}
    model = make(name, **params).fit(X, y, sample_weight=w)
    before = model_bytes(model)
    compact, report = compact_leaves(model, training_data=(X, y, w), X=X)
    assert model_bytes(model) == before != model_bytes(compact)
    assert type(compact) is type(model)
    assert compact.get_params() == model.get_params()
    np.testing.assert_array_equal(scores(compact, X), scores(model, X))
    np.testing.assert_array_equal(compact.predict(X), model.predict(X))
    np.testing.assert_array_equal(compact.apply(X), model.apply(X))
    np.testing.assert_array_equal(compact.feature_importances_, model.feature_importances_)
    assert report == {
        "n_bytes_before": len(before),
        "n_bytes_after": len(model_bytes(compact)),
        "max_change": 0.0,
        "max_change_on_X": 0.0,
    }


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_reported_change_bounds_that_of_predictions(name, outputs):
    X, y = make_data(name, outputs=outputs, n=120)
    more = make_data(name, n=300, seed=5)[0]
    model = make(name).fit(X, y)
    for params in forms(name, X, y):
        compact, report = compact_leaves(model, **params, X=more)
        change = np.abs(scores(compact, more) - scores(model, more)).max()
        assert report["max_change_on_X"] == change
        # Both changes are differences of sums over the trees, which are rounded.
        assert change <= report["max_change"] * (1 + 1e-12) + 1e-15
        if "top_k" not in params:
            precision = {None: 0.0, "float32": 2.0**-24, "float16": 2.0**-11}[params.get("dtype")]
            largest = np.abs(y).max() if name in REGRESSORS else 1.0
            # The bound is a mean over the trees of rounded products of float64.
            assert report["max_change"] <= precision * largest * (1 + 1e-12)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_compact_models_keep_the_laws(name, outputs, tmp_path):
    X, y = make_data(name, outputs=outputs, n=100)
    X = X.astype(np.float32)
    for params in forms(name, X, y):
        model = make(name, **({"n_jobs": 2} if name in FORESTS else {})).fit(X, y)
        compact, report = compact_leaves(model, **params)
        expected = scores(compact, X)
        assert report["n_bytes_after"] == len(model_bytes(compact))
        again = pickle.loads(pickle.dumps(compact))
        assert model_bytes(again) == model_bytes(compact)
        np.testing.assert_array_equal(scores(again, X), expected)
        loaded = _weald.Forest.from_bytes(model_bytes(compact))
        assert loaded == compact._forest
        for Z in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
            np.testing.assert_array_equal(scores(compact, Z), expected)
            if "training_data" in params:
                other = compact_leaves(model, **(params | {"training_data": (Z, y)}))[0]
                assert model_bytes(other) == model_bytes(compact)
        if name in FORESTS:
            one = compact_leaves(make(name, n_jobs=1).fit(X, y), **params)[0]
            assert model_bytes(one) == model_bytes(compact)
            np.testing.assert_array_equal(scores(one, X), expected)
            assert len(compact.estimators_) == 5
            mean = np.mean([scores(tree, X) for tree in compact.estimators_], axis=0)
            # The mean of five trees is summed in another order.
            np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("form", [{}, {"top_k": 2}, {"dtype": "float16"}])
def test_sparse_labels(name, form, labels):
    X, Y = labels
    model = make(name).fit(X, Y)
    compact, _ = compact_leaves(model, **(form or {"training_data": (X, Y)}))
    found = compact.predict(X)
    assert sparse.issparse(found)
    best, score = compact.predict_topk(X, 3)
    np.testing.assert_array_equal(np.take_along_axis(compact.predict_proba(X), best, axis=1), score)
    if form == {}:
        np.testing.assert_array_equal(found.toarray(), model.predict(X).toarray())
        np.testing.assert_array_equal(best, model.predict_topk(X, 3)[0])


@pytest.mark.parametrize("name", FORESTS)
def test_more_trees_may_be_grown_on_a_compact_forest(name):
    X, y = make_data(name)
    whole = make(name, n_estimators=8).fit(X, y)
    grown = compact_leaves(make(name, warm_start=True).fit(X, y), training_data=(X, y))[0]
    grown.set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(scores(grown, X), scores(whole, X))
    # Trees whose leaves store samples and trees whose leaves store values are in one forest; afterwards all store
    # samples.
    again = pickle.loads(pickle.dumps(grown))
    np.testing.assert_array_equal(scores(again, X), scores(whole, X))
    one, other = (compact_leaves(model, training_data=(X, y))[0] for model in (grown, whole))
    assert model_bytes(one) == model_bytes(other)


def test_samples_of_weight_zero_are_not_stored(name):
    X, y = make_data(name, n=80)
    kept = np.arange(80) % 3 > 0
    one = compact_leaves(make(name).fit(X, y, sample_weight=kept), training_data=(X, y, kept))[0]
    other = compact_leaves(make(name).fit(X[kept], y[kept]), training_data=(X[kept], y[kept]))[0]
    assert model_bytes(one) == model_bytes(other)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), name=st.sampled_from(ALL), n=st.integers(1, 12))
def test_small_hostile_data(seed, name, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 2))
    y = rng.integers(0, 2, (n, 3)) if seed % 2 else rng.integers(0, 3, n)
    w = rng.integers(0, 3, n)
    w[0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(name).fit(X, y, sample_weight=w)
        compact, report = compact_leaves(model, training_data=(X, y, w), X=X)
    assert report["max_change"] == report["max_change_on_X"] == 0
    np.testing.assert_array_equal(scores(compact, X), scores(model, X))


def test_wide_labels_take_far_fewer_bytes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    Y = (rng.random((400, 300)) < 0.1).astype(int)
    forest = weald.RandomForestClassifier(n_estimators=20, max_leaf_nodes=40, random_state=0).fit(X, Y)
    for form, factor in [({"training_data": (X, Y)}, 4), ({"top_k": 5}, 4)]:
        report = compact_leaves(forest, **form)[1]
        assert report["n_bytes_before"] > factor * report["n_bytes_after"]


def test_outputs_beyond_float16_are_scaled():
    X = np.arange(50.0).reshape(-1, 1)
    y = np.column_stack([X[:, 0] * 1e140, X[:, 0] * 1e-140, X[:, 0]])
    tree = weald.DecisionTreeRegressor(random_state=0).fit(X, y)
    for form in ({"dtype": "float16"}, {"dtype": "float16", "training_data": (X, y)}):
        found = compact_leaves(tree, **form)[0].predict(X)
        assert (np.abs(found - y) <= 2.0**-11 * y.max(axis=0)).all()


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", True])
def test_bad_top_k(bad):
    X, y = make_data("DecisionTreeClassifier")
    with pytest.raises(ValueError, match="top_k"):
        compact_leaves(make("DecisionTreeClassifier").fit(X, y), top_k=bad)


def test_bad_input_is_refused_by_name():
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    with pytest.raises(NotFittedError):
        compact_leaves(make("RandomForestClassifier"), top_k=1)
    for bad in ("float64", "half", 16, np.float16):
        with pytest.raises(ValueError, match="dtype"):
            compact_leaves(model, dtype=bad)
    X_real, y_real = make_data("RandomForestRegressor")
    with pytest.raises(ValueError, match="top_k"):
        compact_leaves(make("RandomForestRegressor").fit(X_real, y_real), top_k=1)
    with pytest.raises(ValueError, match="top_k is not supported with training_data"):
        compact_leaves(model, top_k=1, training_data=(X, y))
    for bad in (1, X, (X,), (X, y, None, None)):
        with pytest.raises(ValueError, match="training_data"):
            compact_leaves(model, training_data=bad)
    for other in (Ridge().fit(X, X[:, 0]), None, "forest"):
        with pytest.raises(TypeError, match="model"):
            compact_leaves(other, dtype="float16")
    for X_bad in (X[:, :3], np.full_like(X, np.inf)):
        with pytest.raises(ValueError, match="X"):
            compact_leaves(model, dtype="float16", X=X_bad)


def test_training_data_that_do_not_fit_are_refused_by_name(name):
    X, y = make_data(name, n=80)
    model = make(name).fit(X, y)
    before = model_bytes(model)
    w = np.ones(len(X))
    w[0] = 2
    bad = [
        (X[:, :4], y),
        (X[:-1], y),
        (X[:-1], y[:-1]),
        (X, y[:-1]),
        (-X, y),
        (X, y[::-1]),
        (X, np.column_stack([y, y])),
        (X, None),
        (X, y, w),
        (X, y, w[1:]),
        (X, y, -w),
    ]
    if name in CLASSIFIERS:
        bad += [(X, np.where(y == "a", "d", y)), (X, np.where(y == "a", "b", y)), (X, sparse.csr_array((80, 3)))]
    for training_data in bad:
        with pytest.raises((ValueError, TypeError), match="training_data"):
            compact_leaves(model, training_data=training_data)
    assert model_bytes(model) == before


@pytest.mark.parametrize("name", FORESTS)
def test_other_draws_do_not_reproduce_the_leaves(name):
    X, y = make_data(name)
    one = make(name, bootstrap=True).fit(X, y)
    other = make(name, bootstrap=True, random_state=1).fit(X, y)
    one._forest = other._forest
    with pytest.raises(ValueError, match="training_data must be X, y and sample_weight of the fit"):
        compact_leaves(one, training_data=(X, y))
    with pytest.raises(ValueError, match="training_data must be X, y and sample_weight of the fit"):
        compact_leaves(other.estimators_[0], training_data=(X, y))


def test_flipped_bytes_are_refused_or_harmless():
    X, Y = make_data("RandomForestClassifier", n=30, outputs="labels")
    model = make("RandomForestClassifier", n_estimators=2, max_leaf_nodes=4).fit(X, Y)
    file = model_bytes(compact_leaves(model, training_data=(X, Y), dtype="float16")[0])
    n_refused = 0
    for at in range(len(file)):
        try:
            forest = _weald.Forest.from_bytes(file[:at] + bytes([file[at] ^ 0xFF]) + file[at + 1 :])
        except ValueError:
            n_refused += 1
            continue
        if (forest.n_features, forest.width) == (X.shape[1], 3):
            assert np.isfinite(forest.predict(X.astype(np.float32))).all()
    assert n_refused > 100
