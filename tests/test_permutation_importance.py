"""Permutation importance with sparse X: the values that scikit-learn computes for the same X as a dense array."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import sklearn.inspection
import weald
from conftest import make, make_data, unless
from scipy import sparse
from sklearn.linear_model import Ridge
from weald.inspection import permutation_importance


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key in found:
        # Both sides take the same differences and means of the same scores.
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesClassifier", "GradientBoostingClassifier"])
def test_numbers_are_those_of_scikit_learn(name, form):
    X, y = make_data(name)
    X[:, 5] = 0
    X[3, :] = 0
    model = make(name).fit(X, y)
    weights = np.random.default_rng(0).random(len(X))
    for options in ({"random_state": 0}, {"n_repeats": 3, "random_state": 7, "sample_weight": weights, "n_jobs": 2}):
        expected = sklearn.inspection.permutation_importance(model, X, y, **options)
        found = permutation_importance(model, form(X), y, **options)
        assert_same(found, expected)
        assert (found.importances[5] == 0).all()
        assert_same(permutation_importance(model, X, y, **options), expected)


def test_several_scorers_give_a_dict():
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, y)
    options = {"scoring": ["r2", "neg_mean_absolute_error"], "n_repeats": 2, "random_state": 0}
    found = permutation_importance(model, sparse.csr_array(X), y, **options)
    expected = sklearn.inspection.permutation_importance(model, X, y, **options)
    assert found.keys() == expected.keys()
    for scorer in found:
        assert_same(found[scorer], expected[scorer])


def test_any_model_and_sparse_labels_are_taken():
    X, y = make_data("RandomForestRegressor")
    model = Ridge(solver="lsqr").fit(X, y)
    assert_same(
        permutation_importance(model, sparse.csr_array(X), y, random_state=1),
        permutation_importance(model, sparse.csc_array(X), y, random_state=1),
    )
    X, y = make_data("RandomForestClassifier", outputs="labels")
    model = make("RandomForestClassifier").fit(sparse.csr_array(X), sparse.csr_array(y))
    found = permutation_importance(
        model, sparse.csr_array(X), sparse.csr_array(y), n_repeats=2, random_state=0, scoring=f1_of_labels
    )
    assert found.importances_mean[:4].sum() > found.importances_mean[4:].sum()


def f1_of_labels(model, X, y):
    hits = model.predict(X).multiply(y).sum()
    return 2 * hits / (model.predict(X).sum() + y.sum())


def test_the_matrix_that_was_given_stays_as_it_was_and_sparse():
    rng = np.random.default_rng(0)
    n, p = 500, 100_000
    X = sparse.coo_array((rng.random(900), (rng.integers(0, n, 900), rng.integers(0, 3, 900))), shape=(n, p)).tocsr()
    y = X[:, [1]].toarray().ravel()
    model = weald.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y)
    before = X.copy()
    tracemalloc.start()
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A dense copy of X would take 400 MB; the offsets, the importances and their means are several arrays of p numbers.
    assert peak < 20_000_000
    assert found.importances_mean.argmax() == 1
    assert abs(X - before).nnz == 0


def test_bad_input_is_named():
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, y)
    for n_repeats in (0, -1, 1.5, True, None):
        with pytest.raises(ValueError, match=r"n_repeats must be a positive integer, got "):
            permutation_importance(model, sparse.csr_array(X), y, n_repeats=n_repeats)
    with pytest.raises(ValueError, match="X must have at least one sample"):
        permutation_importance(model, sparse.csr_array(X[:0]), y[:0])
    with pytest.raises(ValueError, match="features"):
        permutation_importance(model, sparse.csr_array(X[:, :4]), y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_unknown_values_of_y_are_left_out(form):
    X, y = make_data("RandomForestClassifier", outputs="labels")
    model = make("RandomForestClassifier").fit(X, y)
    mask = np.random.default_rng(0).random(y.shape) < 0.3
    found = permutation_importance(model, form(X), y, y_weight=unless(mask), random_state=0, n_repeats=2)
    gaps = np.where(mask, np.nan, y)
    assert_same(found, sklearn.inspection.permutation_importance(model, X, gaps, random_state=0, n_repeats=2))
    # Other values where y is unknown change nothing.
    other = permutation_importance(
        model, form(X), np.where(mask, 1 - y, y), y_weight=unless(mask), random_state=0, n_repeats=2
    )
    assert_same(other, found)
