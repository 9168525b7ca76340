"""Forests that keep their training samples: weights, quantiles and draws are compared with plain loops."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import weald
from conftest import FORESTS, check_refused, make, make_data, model_bytes, unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from weald.inspection import similar_rows

REGRESSORS = [name for name in FORESTS if name.endswith("Regressor")]


def naive_weights(model, X_train, X, w=None):
    """Weights of the training samples, computed sample by sample and tree by tree."""
    w = np.ones(len(X_train)) if w is None else np.asarray(w, dtype=float)
    kept, reached = model.apply(X_train), model.apply(X)
    weights = np.zeros((len(X), len(X_train)))
    for i in range(len(X)):
        for tree in range(kept.shape[1]):
            there = kept[:, tree] == reached[i, tree]
            total = w[there].sum()
            weights[i, there] += w[there] / total / kept.shape[1]
    return weights


def naive_quantile(y, weights, q):
    """The smallest value at which the weights of all values up to it reach q, up to the rounding of sums of weights."""
    for value in np.unique(y[weights > 0]):
        if weights[y <= value].sum() >= q * weights.sum() - 1e-9:
            return value
    raise AssertionError


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_weights_and_quantiles_are_those_of_plain_loops(draw):
    n, p = draw.draw(st.integers(2, 25)), draw.draw(st.integers(1, 3))
    rng = np.random.default_rng(draw.draw(st.integers(0, 1000)))
    X = rng.integers(0, 4, (n, p)).astype(float)
    y = rng.integers(-3, 4, (n, draw.draw(st.integers(1, 3)))).astype(float)
    targets = y[:, 0] if y.shape[1] == 1 else y
    w = draw.draw(st.sampled_from([None, rng.integers(0, 3, n).astype(float), rng.random(n)]))
    if w is not None and not w.any():
        w = None
    model = make(draw.draw(st.sampled_from(REGRESSORS)), min_samples_leaf=2, keep_rows=True)
    model.fit(X, targets, sample_weight=w)
    queries = rng.integers(0, 4, (5, p)).astype(float)
    expected = naive_weights(model, X, queries, w)
    found = similar_rows(model, queries, k=None)
    # Both sides add up the weights in a different order.
    np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    q = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    quantiles = model.predict_quantiles(queries, q).reshape(len(queries), y.shape[1], len(q))
    assert (np.diff(quantiles, axis=2) >= 0).all()
    some = draw.draw(st.permutations(range(5)))
    again = model.predict_quantiles(queries, q[some]).reshape(quantiles.shape)
    np.testing.assert_array_equal(again, quantiles[:, :, some])
    for i in range(len(queries)):
        for j in range(y.shape[1]):
            assert [naive_quantile(y[:, j], expected[i], share) for share in q] == quantiles[i, j].tolist()


def test_the_largest_weights_are_kept_and_ties_go_to_the_first_samples():
    X, y = make_data("RandomForestRegressor", n=80)
    model = make("RandomForestRegressor", min_samples_leaf=3, keep_rows=True).fit(X, y)
    whole = similar_rows(model, X[:9], k=None).toarray()
    few = similar_rows(model, X[:9], k=4)
    assert few.shape == (9, 80)
    assert (np.diff(few.indptr) == 4).all()
    for i in range(9):
        order = np.lexsort((np.arange(80), -whole[i]))[:4]
        np.testing.assert_array_equal(np.sort(order), few[[i]].indices)
        np.testing.assert_array_equal(few[[i]].data, whole[i, np.sort(order)])
    for more in (81, 2**64, 10**100):
        np.testing.assert_array_equal(similar_rows(model, X[:9], k=more).toarray(), whole)


@pytest.mark.parametrize("name", FORESTS)
def test_weighted_targets_are_the_predictions_of_forests_whose_trees_see_all_samples(name):
    X, y = make_data(name, n=90)
    model = make(name, bootstrap=False, min_samples_leaf=4, keep_rows=True).fit(X, y)
    weights = similar_rows(model, X, k=None)
    targets = y if name.endswith("Regressor") else (y[:, None] == model.classes_).astype(float)
    predicted = model.predict(X) if name.endswith("Regressor") else model.predict_proba(X)
    # The mean of the means of the leaves and the weighted sum of the targets are the same number, up to rounding.
    np.testing.assert_allclose(weights @ targets, predicted, rtol=1e-12, atol=1e-12)


def test_draws_are_samples_by_their_weights():
    X, y = make_data("RandomForestRegressor", n=60, outputs="several")
    model = make("RandomForestRegressor", min_samples_leaf=5, keep_rows=True).fit(X, y)
    found = model.sample_y(X[:2], n_samples=4000, random_state=1)
    assert found.shape == (2, 3, 4000)
    # Each draw takes all outputs from one training sample.
    rows = [np.flatnonzero((y == found[0, :, s]).all(axis=1)) for s in range(4000)]
    assert all(len(row) == 1 for row in rows)
    shares = np.bincount(np.ravel(rows), minlength=60) / 4000
    weights = similar_rows(model, X[:1], k=None).toarray()[0]
    # The bound is five standard deviations of a share of 4000 draws.
    assert (abs(shares - weights) <= 5 * np.sqrt(weights * (1 - weights) / 4000)).all()
    np.testing.assert_array_equal(found, model.sample_y(X[:2], n_samples=4000, random_state=1))
    single = make("RandomForestRegressor", keep_rows=True).fit(X, y[:, 0])
    assert single.sample_y(X[:3]).shape == (3, 1)
    assert single.predict_quantiles(X[:3]).shape == (3,)
    assert single.predict_quantiles(X[:3], [0.1, 0.9]).shape == (3, 2)
    assert model.predict_quantiles(X[:3]).shape == (3, 3)
    assert model.predict_quantiles(X[:3], [0.5]).shape == (3, 3, 1)


@pytest.mark.parametrize("name", FORESTS)
def test_layouts_threads_and_files_say_the_same(name, tmp_path):
    X, y = make_data(name, n=70)
    model = make(name, min_samples_leaf=3, keep_rows=True).fit(X, y)
    expected = similar_rows(model, X[:20])
    weald.save(model, tmp_path / "model")
    others = [weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    others += [clone(model).set_params(n_jobs=2).fit(form, y) for form in (sparse.csr_array(X), sparse.csc_array(X))]
    for other in others:
        found = similar_rows(other, sparse.csr_array(X[:20]))
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    plain = clone(model).set_params(keep_rows=False).fit(X, y)
    assert model_bytes(plain) == model_bytes(model)


def test_forests_without_samples_and_wrong_questions_are_refused():
    X, y = make_data("RandomForestRegressor", n=50)
    model = make("RandomForestRegressor").fit(X, y)
    for ask in (model.predict_quantiles, model.sample_y, lambda X: similar_rows(model, X)):
        with pytest.raises(ValueError, match="stores no training samples: it must be fitted with"):
            ask(X)
    check_refused(model.set_params(keep_rows="yes"), ValueError, "'keep_rows' parameter", X, y)
    model = make("RandomForestRegressor", keep_rows=True).fit(X, y)
    for q in (-0.1, 1.1, [0.5, np.nan], [[0.5]]):
        with pytest.raises(ValueError, match=r"q must be a number from 0 to 1.*, got "):
            model.predict_quantiles(X, q)
    with pytest.raises(ValueError, match="n_samples must be a positive integer, got 0"):
        model.sample_y(X, 0)
    for k in (0, 1.5, True):
        with pytest.raises(ValueError, match=r"k must be a positive integer or None, got "):
            similar_rows(model, X, k)
    with pytest.raises(TypeError, match=r"estimator must be a random forest.*got a DecisionTreeRegressor"):
        similar_rows(make("DecisionTreeRegressor").fit(X, y), X)
    pruned = model.prune_reduced_error(X, y)
    with pytest.raises(ValueError, match="this RandomForestRegressor stores no training samples: it mu"):
        pruned.predict_quantiles(X)
    again = model.set_params(keep_rows=False).fit(X, y)
    with pytest.raises(ValueError, match="this RandomForestRegressor stores no training samples: it mu"):
        again.predict_quantiles(X)


def test_cells_of_y_that_are_not_known_are_in_no_quantile():
    X, y = make_data("RandomForestRegressor", n=60, outputs="several")
    mask = np.random.default_rng(0).random(y.shape) < 0.3
    params = {"min_samples_leaf": 10, "bootstrap": False, "keep_rows": True}
    told = make("RandomForestRegressor", **params).fit(X, np.where(mask, 1e6, y), y_weight=unless(mask))
    missing = make("RandomForestRegressor", **params).fit(X, np.where(mask, np.nan, y))
    q = [0.0, 0.5, 1.0]
    assert told.predict_quantiles(X, q).max() < 1e6
    np.testing.assert_array_equal(told.predict_quantiles(X, q), missing.predict_quantiles(X, q))


def test_warm_starts_keep_the_samples_of_all_trees():
    X, y = make_data("ExtraTreesRegressor", n=50)
    grown = make("ExtraTreesRegressor", n_estimators=3, warm_start=True, keep_rows=True).fit(X, y)
    grown.set_params(n_estimators=6).fit(X, y)
    whole = make("ExtraTreesRegressor", n_estimators=6, keep_rows=True).fit(X, y)
    np.testing.assert_array_equal(similar_rows(grown, X).toarray(), similar_rows(whole, X).toarray())


def test_states_that_were_tampered_with_are_refused():
    X, y = make_data("RandomForestRegressor", n=40)
    model = make("RandomForestRegressor", keep_rows=True).fit(X, y)
    for attribute, value, message in [
        ("_kept_leaves", model._kept_leaves[:, :2], "one column for each tree, got a ndarray of dtype int32"),
        ("_kept_leaves", model._kept_leaves + 1000, "must have nodes of its trees, got node 1"),
        ("_kept_weights", model._kept_weights[:-1], r"must be a float64 array of shape \(40,\), got"),
        ("_kept_weights", -model._kept_weights, "must be finite, at least 0, and not all 0"),
        ("_kept_targets", model._kept_targets[:, :0], r"must be a float64 array of shape \(40, 1\), got"),
    ]:
        state = model.__getstate__()
        state[attribute] = value
        with pytest.raises(ValueError, match=message):
            weald.RandomForestRegressor().__setstate__(state)
