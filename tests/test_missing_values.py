"""NaN in X: which trees grow, where samples go, and the laws with missing values. `test_oracle.py` tests the search."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import weald
from conftest import (
    ALL,
    BOOSTING,
    COMPRESSED,
    FORESTS,
    SKLEARN,
    TREES,
    cases,
    has_outputs,
    make,
    make_data,
    model_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from sklearn.utils import get_tags

EVERY = [*ALL, *BOOSTING, *COMPRESSED]
# Different bits of NaN, all of which mean the same missing value.
NANS = np.array([0x7FC00000, 0xFFC00000, 0x7F800001], dtype=np.uint32).view(np.float32)


def with_missing(X, share=0.2, seed=0):
    """X with missing values in all features but the last; in the second feature all values are missing."""
    rng = np.random.default_rng(seed)
    X = X.astype(np.float32)
    X[:, :-1][rng.random(X[:, :-1].shape) < share] = np.nan
    X[:, 1] = np.nan
    return X


def other_nans(X):
    """The same values with NaN of different signs and payloads."""
    X = X.copy()
    at = np.isnan(X)
    X.view(np.uint32)[at] = NANS.view(np.uint32)[np.arange(at.sum()) % len(NANS)]
    return X


def layouts(X):
    stored = sparse.csr_array(X)
    return [X, np.asfortranarray(X), other_nans(X), X.astype(np.float64), stored, stored.tocsc(), stored.tocoo()]


def fitted(name, X, y, **params):
    return make(name, **params).fit(X, y)


SETTINGS = {name: [{}, {"max_features": 0.4}] for name in EVERY}
SETTINGS |= {name: [*SETTINGS[name], {"max_leaf_nodes": 7}] for name in [*TREES, *FORESTS]}
SETTINGS |= {
    name: [
        {},
        {"max_features": 0.4},
        {"max_bins": 16},
        {"max_bins": None},
        {"output_strategy": "projected"},
    ]
    for name in BOOSTING
}
SETTINGS |= {name: [{}] for name in COMPRESSED}


@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
@pytest.mark.parametrize("name", EVERY)
def test_one_model_for_every_layout_and_number_of_threads(name, outputs):
    if outputs == "several" and name in COMPRESSED + BOOSTING and name.endswith("Classifier"):
        outputs = "labels"
    X, y = make_data(name, n=90, outputs=outputs)
    X = with_missing(X)
    for params in SETTINGS[name]:
        expected = fitted(name, X, y, **params)
        for form in layouts(X):
            threads = {} if name in TREES else {"n_jobs": 2}
            other = fitted(name, form, y, **params, **threads)
            assert model_bytes(other) == model_bytes(expected), params
            np.testing.assert_array_equal(expected.predict(form), expected.predict(X))
            np.testing.assert_array_equal(expected.apply(form), expected.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_weights_are_counts(name):
    X, y = make_data(name, n=90)
    X = with_missing(X)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    params = {"bootstrap": False} if name in FORESTS else {}
    if name in COMPRESSED:
        params = {"l1_norm": 0.3}
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    removed = make(name, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    if name not in COMPRESSED:
        copied = make(name, **params).fit(X[rows], y[rows])
        np.testing.assert_array_equal(weighted.apply(X), copied.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_what_is_saved_predicts_the_same(name, tmp_path):
    X, y = make_data(name, n=90)
    X = with_missing(X)
    model = fitted(name, X, y)
    path = tmp_path / "model"
    weald.save(model, path)
    loaded = weald.load(path)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert model_bytes(other) == model_bytes(model)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.apply(X), model.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_models_of_data_without_missing_values_are_as_before_and_predict_with_them(name, tmp_path):
    """Missing values go to the child of larger weight, or left if the weights are equal; files do not store this."""
    X, y = make_data(name, n=90)
    X = X.astype(np.float32)
    model = fitted(name, X, y)
    assert b"missing_sides" not in model_bytes(model)
    missing = np.full((1, X.shape[1]), np.nan, dtype=np.float32)
    tree = model.tree_ if name in TREES else np.ravel(model.estimators_)[0].tree_
    node = 0
    while tree.children_left[node] >= 0:
        left, right = tree.children_left[node], tree.children_right[node]
        heavier = tree.weighted_n_node_samples[left] >= tree.weighted_n_node_samples[right]
        assert tree.missing_go_to_left[node] == heavier
        node = left if heavier else right
    leaf = model.apply(missing)
    assert np.ravel(leaf)[0] == node
    weald.save(model, tmp_path / "model")
    loaded = weald.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.apply(missing), leaf)
    np.testing.assert_array_equal(loaded.predict(missing), model.predict(missing))
    np.testing.assert_array_equal(model.predict(sparse.csr_array(missing)), model.predict(missing))


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_missing_right_is_a_value_above_all_others(name):
    """If all missing values go right, the tree treats them as a value above all others."""
    n_checked = 0
    for seed in range(60):
        X, y = make_data(name, n=40, p=3, seed=seed)
        X = X.astype(np.float32)
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
        model = fitted(name, X, y, max_depth=3)
        tree = model.tree_
        if tree.missing_go_to_left[tree.children_left >= 0].any():
            continue
        n_checked += 1
        large = np.nan_to_num(X, nan=1e6)
        other = fitted(name, large, y, max_depth=3)
        np.testing.assert_array_equal(other.tree_.feature, tree.feature)
        np.testing.assert_array_equal(other.apply(large), model.apply(X))
    assert n_checked > 0


@pytest.mark.parametrize("name", [*FORESTS, *BOOSTING])
def test_missingness_is_learnt(name):
    """y depends only on whether a value is missing, which is lost if missing values are replaced by means."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    missing = rng.random(600) < 0.5
    X[missing, 2] = np.nan
    y = missing.astype(float) if name.endswith("Regressor") else missing.astype(int)
    model = fitted(name, X[:400], y[:400], n_estimators=30)
    assert model.score(X[400:], y[400:]) > 0.95


@settings(deadline=None, max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_one_split_is_scikit_learns(kind, data):
    """The split of a tree of depth one leaves the same impurity as scikit-learn's."""
    n = data.draw(st.integers(4, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n, 1)).astype(np.float32)
    X[rng.random(n) < 0.3] = np.nan
    if np.isnan(X).all():
        return
    if SKLEARN < (1, 8) and len(np.unique(X[~np.isnan(X)])) == 1:
        return  # before 1.8, scikit-learn does not split by a feature of one value and missing values
    y = rng.integers(0, 2, n) if kind == "classes" else rng.normal(size=n)
    ours, theirs = (
        (weald.DecisionTreeClassifier, DecisionTreeClassifier)
        if kind == "classes"
        else (weald.DecisionTreeRegressor, DecisionTreeRegressor)
    )
    a, b = (tree(max_depth=1, random_state=0).fit(X, y).tree_ for tree in (ours, theirs))
    assert a.node_count == b.node_count
    if a.node_count == 3:
        total = [
            sum(t.weighted_n_node_samples[i] * t.impurity[i] for i in (1, 2)) / t.weighted_n_node_samples[0]
            for t in (a, b)
        ]
        # Equal impurities are summed in a different order.
        assert total[0] == pytest.approx(total[1], rel=1e-9, abs=1e-12)


def test_rules_and_scikit_learns_text_say_where_missing_values_go():
    X = np.array([[1, 5], [2, 3], [np.nan, 12], [3, 2], [3.5, np.nan], [4, 9]])
    y = np.array([0.0, 0, 0, 5, 9, 5])
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, y)
    text = weald.inspection.export_rules(model)
    assert "(feature_0 <= 2.500 or missing)" in text
    assert "is missing" in text
    assert "feature_0 <=" in export_text(model)
    tree = model.tree_
    assert tree.missing_go_to_left.dtype == np.uint8
    assert not tree.missing_go_to_left.flags.writeable
    assert (tree.missing_go_to_left[tree.children_left < 0] == 0).all()


@pytest.mark.parametrize("name", EVERY)
def test_tags_pipelines_and_nullable_frames(name):
    pd = pytest.importorskip("pandas")
    assert get_tags(make(name)).input_tags.allow_nan
    X, y = make_data(name, n=60)
    X = with_missing(X.round())
    expected = fitted(name, X, y)
    frame = pd.DataFrame(X).astype("Float32")
    frame.columns = [f"x{j}" for j in range(X.shape[1])]
    assert frame.isna().to_numpy().any()
    model = make_pipeline(clone(make(name))).fit(frame, y)
    assert model_bytes(model[-1]) == model_bytes(expected)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(X))


def test_degenerate_features():
    for X in (np.full((5, 2), np.nan), np.array([[np.nan], [1.0]]), np.array([[np.nan]])):
        y = np.arange(len(X), dtype=float)
        for name in ("DecisionTreeRegressor", "RandomForestRegressor", "GradientBoostingRegressor"):
            for form in (X, sparse.csr_array(X)):
                model = fitted(name, form, y)
                assert np.isfinite(model.predict(form)).all()
    tree = weald.DecisionTreeRegressor().fit(np.array([[np.nan], [1.0]]), [0.0, 1.0])
    assert tree.tree_.node_count == 3
    np.testing.assert_array_equal(tree.predict([[np.nan], [1e30], [-1e30]]), [0.0, 1.0, 1.0])


@pytest.mark.parametrize("name", ["RandomForestRegressor", "GradientBoostingRegressor"])
def test_infinity_is_still_refused(name):
    X, y = make_data(name)
    X = with_missing(X)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match=r"X contains infinity.*NaN for missing values"):
        make(name).fit(X, y)


@pytest.mark.parametrize("container", ["array", "frame", "frame of numbers", "sparse"])
def test_partial_dependence_passes_over_missing_values(container):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    whole = X.copy()
    X[::3, 0] = np.nan
    X[:, 2] = np.nan
    y = np.nan_to_num(X[:, 0]) + X[:, 1]
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, y)
    frames = {"frame": pd.DataFrame(X, columns=list("abc")), "frame of numbers": pd.DataFrame(X)}
    form = ({"array": X, "sparse": sparse.csr_array(X)} | frames)[container]
    if container == "frame":
        model = weald.RandomForestRegressor(5, random_state=0).fit(form, y)
    found = weald.inspection.partial_dependence(model, form, [0], grid_resolution=20)
    grid = found["grid_values"][0]
    kept = whole[np.flatnonzero(~np.isnan(X[:, 0])), 0]
    # Two hundred known values stand in for three hundred: percentiles move by less than the distance between
    # neighbouring values, which is 0.1 in the tails.
    np.testing.assert_allclose([grid[0], grid[-1]], np.quantile(kept, [0.05, 0.95]), atol=0.1)
    assert found["average"][0, -1] > found["average"][0, 0] + 1
    with pytest.raises(ValueError, match="NaN"):
        weald.inspection.partial_dependence(model, form, [2])
