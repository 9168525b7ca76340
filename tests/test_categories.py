"""Unordered categories in X: which sets of categories go left, frames and codes, and the laws with categories."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import (
    ALL,
    BOOSTING,
    COMPRESSED,
    FORESTS,
    TREES,
    cases,
    check_refused,
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
from sklearn.preprocessing import FunctionTransformer

EVERY = [*ALL, *BOOSTING, *COMPRESSED]
LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
# The features that hold category codes.
CODES = [0, 3]


def make_categorical(name, categorical_features=CODES, **params):
    """The estimator with categorical features, which are set on the inner forest of compressed forests."""
    if name in COMPRESSED:
        forest = weald.ExtraTreesClassifier if name.endswith("Classifier") else weald.ExtraTreesRegressor
        params = {"estimator": forest(n_estimators=5, categorical_features=categorical_features), **params}
        return make(name, **params)
    return make(name, categorical_features=categorical_features, **params)


def with_codes(X, seed=0, n_categories=6):
    """X with category codes in two features; in the second one some are missing."""
    rng = np.random.default_rng(seed)
    X = X.astype(np.float32)
    # Many codes are 0, which sparse X does not store.
    X[:, CODES] = rng.integers(0, n_categories, (len(X), 2)) * (rng.random((len(X), 2)) < 0.7)
    X[rng.random(len(X)) < 0.1, 3] = np.nan
    return X


def data(name, outputs="single", n=90):
    """X with category codes, and y."""
    X, y = make_data(name, n=n, outputs=outputs)
    return with_codes(X), y


def outputs_of(name, outputs):
    if outputs == "several" and name in COMPRESSED + BOOSTING and name.endswith("Classifier"):
        return "labels"
    return outputs


SETTINGS = {name: [{}, {"max_features": 0.4}] for name in [*TREES, *FORESTS]}
SETTINGS |= {name: [{}, {"max_features": 0.4}, {"max_bins": 4}, {"max_bins": None}] for name in BOOSTING}
SETTINGS |= {name: [{}] for name in COMPRESSED}


@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
@pytest.mark.parametrize("name", EVERY)
def test_one_model_for_every_layout_and_number_of_threads(name, outputs):
    X, y = data(name, outputs_of(name, outputs))
    stored = sparse.csr_array(X)
    for params in SETTINGS[name]:
        expected = make_categorical(name, **params).fit(X, y)
        assert b"category_splits" in model_bytes(expected)
        for form in [X, np.asfortranarray(X), X.astype(np.float64), stored, stored.tocsc()]:
            threads = {} if name in TREES else {"n_jobs": 2}
            other = make_categorical(name, **params, **threads).fit(form, y)
            assert model_bytes(other) == model_bytes(expected), params
            np.testing.assert_array_equal(expected.predict(form), expected.predict(X))
            np.testing.assert_array_equal(expected.apply(form), expected.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_weights_are_counts(name):
    X, y = data(name)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    params = {"bootstrap": False} if name in FORESTS else {}
    if name in COMPRESSED:
        params = {"l1_norm": 0.3}
    weighted = make_categorical(name, **params).fit(X, y, sample_weight=w)
    removed = make_categorical(name, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    if name not in COMPRESSED:
        copied = make_categorical(name, **params).fit(X[rows], y[rows])
        np.testing.assert_array_equal(weighted.apply(X), copied.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_what_is_saved_predicts_the_same(name, tmp_path):
    X, y = data(name)
    model = make_categorical(name).fit(X, y)
    weald.save(model, tmp_path / "model")
    for other in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert model_bytes(other) == model_bytes(model)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.is_categorical_, model.is_categorical_)


@pytest.mark.parametrize("name", EVERY)
def test_without_categories_models_are_those_of_before(name):
    X, y = make_data(name, n=90)
    expected = make(name).fit(X, y)
    for asked in (None, [], np.zeros(X.shape[1], dtype=bool)):
        other = make_categorical(name, asked).fit(X, y)
        assert model_bytes(other) == model_bytes(expected)
        assert other.is_categorical_ is None
        assert not hasattr(other, "categories_")
    assert b"categor" not in model_bytes(expected)


@pytest.mark.parametrize("outputs", ["single", "several"])
@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor", "GradientBoostingRegressor"])
def test_other_codes_of_the_same_categories_change_no_prediction(name, outputs):
    X, y = data(name, outputs)
    order = np.random.default_rng(4).permutation(6)
    other = X.copy()
    there = ~np.isnan(X)
    for j in CODES:
        other[there[:, j], j] = order[X[there[:, j], j].astype(int)]
    # Forests and boosting draw samples by their contents, which the recoding changes.
    params = {"bootstrap": False} if name in FORESTS else {"subsample": 1.0} if name in BOOSTING else {}
    one, two = (make_categorical(name, **params).fit(form, y) for form in (X, other))
    # Sums of floats over categories are in another order, so that only rounding differs.
    np.testing.assert_allclose(two.predict(other), one.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_categories", [2, 3, 12])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_cut_between_equal_means_lets_those_below_it_gain(n_categories, n_outputs):
    # y tells whether two categories are equal: either of them alone contains no information about y.
    X = np.array([(a, b) for a in range(n_categories) for b in range(n_categories)], dtype=np.float32)
    y = np.repeat((X[:, [0]] == X[:, [1]]).astype(float), n_outputs, axis=1)
    tree = weald.DecisionTreeRegressor(categorical_features=[0, 1])
    assert tree.fit(X, y if n_outputs > 1 else y.ravel()).score(X, y) == 1.0


def test_a_split_sends_the_best_set_left():
    """A split is compared with all sets of categories, in plain loops."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k, q = 30, 6, int(rng.integers(1, 4))
        x, y = rng.integers(0, k, n), rng.integers(0, 5, (n, q)).astype(float)
        tree = weald.DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(x[:, None], y)
        left = np.isin(x, tree.tree_.categories_left(0))

        def sum_of_squares(left, y=y):
            return sum(((y[side] - y[side].mean(0)) ** 2).sum() for side in (left, ~left))

        present = np.unique(x)
        sets = itertools.chain.from_iterable(itertools.combinations(present, r) for r in range(1, len(present)))
        best = min(sum_of_squares(np.isin(x, listed)) for listed in sets)
        # The tolerance is for the rounding of sums of at most 90 numbers.
        assert sum_of_squares(left) <= best + 1e-9
        np.testing.assert_array_equal(tree.apply(x[:, None]) == 1, left)


def gain_of(criterion, y, left):
    """The decrease of the total impurity by a split, by definition."""

    def total(y):
        mean = y.mean()
        if criterion == "poisson":
            return np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0).sum() if mean > 0 else 0.0
        if criterion == "entropy":
            return len(y) * sum(-p * np.log2(p) for p in (mean, 1 - mean) if p > 0)
        return len(y) * y.var()

    return total(y) - total(y[left]) - total(y[~left])


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "gini", "entropy"])
@pytest.mark.parametrize("with_missing", [False, True])
def test_the_best_set_that_leaves_may_have_is_found(criterion, with_missing):
    """With a limit on leaves, or sides that a criterion forbids, the best set may be at no place of the order."""
    n_not_first = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, limit = 24, int(rng.integers(1, 11))
        X = rng.integers(0, rng.integers(2, 8), (n, 1)).astype(np.float32)
        X[rng.random((n, 1)) < 0.2 * with_missing] = np.nan
        w = rng.integers(1, 3, n) if seed % 2 else np.ones(n, dtype=int)
        y = rng.poisson(0.7, n).astype(float) if criterion == "poisson" else rng.normal(size=n)
        regressor = criterion in ("squared_error", "poisson")
        y = y if regressor else (y > 0).astype(float)
        if len(np.unique(y)) == 1:
            continue
        kind = weald.DecisionTreeRegressor if regressor else weald.DecisionTreeClassifier
        limits = {"min_samples_leaf": limit} if seed % 3 else {"min_weight_fraction_leaf": limit / n}
        model = kind(max_depth=1, criterion=criterion, categorical_features=[0], random_state=0, **limits)
        tree = model.fit(X, y, sample_weight=w).tree_
        for sparse_x in (sparse.csr_array(X), sparse.csc_array(X)):
            assert model_bytes(clone(model).fit(sparse_x, y, sample_weight=w)) == model_bytes(model)

        repeated, groups = np.repeat(np.arange(n), w), [*np.unique(X[~np.isnan(X)]), np.nan]
        many = y[repeated]

        def is_permitted(left, w=w, limit=limit, seed=seed, repeated=repeated, many=many):
            sides = [left, ~left]
            if criterion == "poisson" and any(many[side[repeated]].sum() == 0 for side in sides):
                return False
            sizes = [side.sum() if seed % 3 else w[side].sum() * len(w) / w.sum() for side in sides]
            return min(sizes) >= limit and min(side.sum() for side in sides) > 0

        def members(listed, x=X[:, 0]):
            return np.any([np.isnan(x) if np.isnan(group) else x == group for group in listed], axis=0)

        every = [members(c) for k in range(1, len(groups)) for c in itertools.combinations(groups, k)]
        sets = [left for left in every if 0 < left.sum() < n]
        gains = [gain_of(criterion, many, left[repeated]) for left in sets if is_permitted(left)]
        best = max(gains, default=0.0)
        if tree.node_count == 1:
            assert best <= 1e-9, (seed, best)
            continue
        left = model.apply(X) == 1
        assert is_permitted(left)
        # The tolerance is for the rounding of sums of at most 50 numbers.
        assert gain_of(criterion, many, left[repeated]) >= best - 1e-9, seed
        n_not_first += max(gain_of(criterion, many, left[repeated]) for left in sets) > best + 1e-9
    assert n_not_first >= 5  # otherwise the limits have excluded nothing


def test_more_categories_than_can_all_be_tried_are_split_within_the_limits():
    rng = np.random.default_rng(0)
    for k in (20, 100):
        X = rng.integers(0, k, (400, 1)).astype(np.float32)
        X[:150] = 0
        y = np.where(X[:, 0] == 0, 0.0, np.where(X[:, 0] == 1, 9.0, rng.normal(size=400)))
        tree = weald.DecisionTreeRegressor(max_depth=1, min_samples_leaf=100, categorical_features=[0]).fit(X, y)
        left = tree.apply(X) == 1
        assert min(left.sum(), (~left).sum()) >= 100
        # The best beginning of the order that the limit admits is among the sets that are tried.
        order = np.argsort([y[X[:, 0] == c].mean() if (X[:, 0] == c).any() else np.inf for c in range(k)])
        beginnings = [np.isin(X[:, 0], order[:end]) for end in range(1, k)]
        permitted = [side for side in beginnings if min(side.sum(), (~side).sum()) >= 100]
        assert gain_of("squared_error", y, left) >= max(gain_of("squared_error", y, side) for side in permitted) - 1e-9


@pytest.mark.filterwarnings("ignore:sample_weight sums to")
@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("loss", ["poisson", "tweedie", "squared_error"])
def test_a_category_is_present_only_where_a_sample_has_it(max_bins, loss):
    """Category 0, which sparse X does not store, is decided by numbers of samples, whatever the weights."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.choice([0, 1, 2, np.nan], (20, 1), p=[0.05, 0.15, 0.15, 0.65]).astype(np.float32)
        y, w = rng.exponential(size=20), (rng.random(20) + 0.1) * 10.0 ** rng.integers(-9, 9, 20 if seed % 2 else 1)
        options = {"n_estimators": 3, "random_state": seed, "max_bins": max_bins, "loss": loss, "min_weight_leaf": 0}
        for more in ({"subsample": 0.8}, {"early_stopping": True, "n_iter_no_change": 5}, {"min_samples_leaf": 1}):
            model = weald.GradientBoostingRegressor(categorical_features=[0], **options, **more)
            fitted = [clone(model).fit(form(X), y, sample_weight=w) for form in LAYOUTS]
            assert len({model_bytes(one) for one in fitted}) == 1
            assert all((tree.tree_.n_node_samples > 0).all() for one in fitted for tree in one.estimators_)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_missing_unseen_and_unknown_categories_go_right_together(splitter):
    X = np.array([[0], [0], [1], [1], [2], [2]], dtype=np.float32)
    y = np.array([0.0, 0, 5, 5, 1, 1])
    mask = [True]
    tree = weald.DecisionTreeRegressor(max_depth=1, splitter=splitter, categorical_features=mask, random_state=0).fit(
        X, y
    )
    right = tree.tree_.children_right[0]
    assert (tree.apply([[np.nan], [7.0], [65_000.0]]) == right).all()
    # The categories of the lighter side are listed, so that missing and unknown values go with the larger part of the
    # samples.
    n = tree.tree_.n_node_samples
    assert n[1] <= n[right]
    assert np.isnan(tree.tree_.threshold[0])
    assert tree.tree_.missing_go_to_left[0] == 0
    with_missing = np.vstack([X, [[np.nan]] * 3])
    tree.fit(with_missing, np.r_[y, 9, 9, 9])
    assert len(tree.tree_.categories_left(0)) > 0
    assert (tree.apply(with_missing[6:]) == tree.apply([[np.nan]])).all()


def test_random_sets_are_drawn_evenly():
    """Of three categories there are three splits into two proper subsets, each drawn in a third of the trees."""
    X = np.repeat(np.arange(3), 10)[:, None]
    y = np.random.default_rng(0).normal(size=30)
    model = weald.ExtraTreesRegressor(n_estimators=1500, max_depth=1, categorical_features=[0], random_state=0).fit(
        X, y
    )
    found = [tuple(tree.tree_.categories_left(0)) for tree in model.estimators_]
    # Either side may be the one that is listed.
    shares = np.array([sum(set(listed) in ({j}, {0, 1, 2} - {j}) for listed in found) for j in range(3)]) / len(found)
    assert shares.sum() == 1
    # The tolerance is four standard deviations of a share of 1500 draws.
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * np.sqrt(2 / 9 / 1500))


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees", "GradientBoosting"])
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_ensembles_predict_the_mean_for_a_category_that_they_have_not_seen(name, kind):
    """Where all trees follow the heavier side, they agree on the leaf of one category, and are sure of it."""
    rng = np.random.default_rng(3)
    sizes = 200 // np.arange(2, 32)
    X = pd.DataFrame({"code": pd.Categorical(np.repeat([f"v{j}" for j in range(30)], sizes))})
    of_code = rng.normal(size=30) if kind == "Regressor" else np.arange(30) % 3 == 0
    y = np.repeat(of_code, sizes) * 1
    new = pd.DataFrame({"code": pd.Categorical(["new"])})
    for seed in range(3):
        model = getattr(weald, name + kind)(random_state=seed).fit(X, y)
        found = model.predict(new)[0] if kind == "Regressor" else model.predict_proba(new)[0, 1]
        # The leaf of one category is a standard deviation off; a mean of a hundred trees is off by a tenth of that.
        assert abs(found - y.mean()) < 0.4 * y.std()


def colours(n=120, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "black"], n)
    size = rng.normal(size=n)
    y = np.where(np.isin(colour, ["red", "black"]), 5.0, 0.0) + 0.1 * size
    return pd.DataFrame({"colour": colour, "size": size}), y


def in_polars(X, dtype=None):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: [None if pd.isna(value) else value for value in X[name]] for name in X})
    return frame.with_columns(pl.col("colour").cast(getattr(pl, dtype))) if dtype else frame


def in_arrow(X):
    """A table of pyarrow with a column of dictionary type."""
    pa = pytest.importorskip("pyarrow")
    colour = pa.array([None if pd.isna(value) else value for value in X["colour"]])
    return pa.table({"colour": colour.dictionary_encode(), "size": pa.array(X["size"].to_numpy())})


FORMS = {
    "text": lambda X: X,
    "category": lambda X: X.astype({"colour": "category"}),
    "string": lambda X: X.astype({"colour": "string"}),
    "polars": in_polars,
    "polars categories": lambda X: in_polars(X, "Categorical"),
    "pyarrow": in_arrow,
    "pandas over pyarrow": lambda X: in_arrow(X).to_pandas(types_mapper=pd.ArrowDtype),
    "objects": lambda X: X.to_numpy(dtype=object),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EVERY)
def test_categories_of_frames_are_known_by_value(name, form):
    X, y = colours()
    y = y if name.endswith("Regressor") else y > 2
    # Arrays of objects do not have a type for each feature.
    asked = [0] if form == "objects" else "from_dtype"
    by_codes = np.column_stack([np.searchsorted(["black", "blue", "green", "red"], X["colour"]), X["size"]])
    expected = make_categorical(name, [0]).fit(by_codes, y)
    given = FORMS[form](X)
    model = make_categorical(name, asked).fit(given, y)
    assert model.categories_[0].tolist() == ["black", "blue", "green", "red"]
    assert model.categories_[1] is None
    assert model_bytes(model) == model_bytes(expected)
    np.testing.assert_array_equal(model.predict(given), expected.predict(by_codes))
    # Some of the new samples have a category that is not in the training data.
    rows = pd.DataFrame({"colour": ["red", "pink", None, "blue"], "size": [0.0, 0.0, 0.0, 0.0]})
    codes = np.array([[3, 0], [np.nan, 0], [np.nan, 0], [1, 0]])
    np.testing.assert_array_equal(model.predict(FORMS[form](rows)), expected.predict(codes))


CODED = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}


@pytest.mark.parametrize("form", [*FORMS, *CODED])
@pytest.mark.parametrize("name", EVERY)
def test_categories_of_samples_of_weight_zero_do_not_exist(name, form):
    X, y = colours()
    y = y if name.endswith("Regressor") else y > 2
    there = np.arange(len(X)) % 5 > 0
    params = {"random_state": 0}
    if form in CODED:
        codes = np.searchsorted(["black", "blue", "green", "red"], X["colour"])
        # The largest codes are those of absent samples.
        X = np.column_stack([np.where(there, codes, 7), X["size"]])
        given, removed, known = CODED[form](X), CODED[form](X[there]), [0, 1, 2, 3]
    else:
        # Their texts come before, between and after the others.
        known = ["black", "blue", "green", "red"]
        X = X.assign(colour=np.where(there, X["colour"], np.resize(["amber", "brown", "white"], len(X))))
        if form == "category":
            known = sorted({*known, "amber", "brown", "white"})
            X["colour"] = X["colour"].astype("category")
        given, removed = FORMS[form](X), FORMS[form](X[there])
    asked = [0] if form in CODED or form == "objects" else "from_dtype"
    model = make_categorical(name, asked, **params).fit(given, y, sample_weight=there)
    expected = make_categorical(name, asked, **params).fit(removed, y[there])
    assert model.categories_[0].tolist() == expected.categories_[0].tolist() == known
    assert model.categories_[0].dtype == expected.categories_[0].dtype
    assert model_bytes(model) == model_bytes(expected)


def test_categories_of_samples_without_a_known_value_do_not_exist():
    X, y = colours()
    unknown = np.arange(len(X)) % 5 == 0
    X["colour"] = np.where(unknown, "brown", X["colour"])
    Y = np.column_stack([y, y > 2])
    forest = weald.RandomForestRegressor(5, random_state=0)
    expected = clone(forest).fit(X[~unknown], Y[~unknown])
    Y[unknown] = np.nan
    model = clone(forest).fit(X, Y)
    assert model.categories_[0].tolist() == expected.categories_[0].tolist() == ["black", "blue", "green", "red"]
    assert model_bytes(model) == model_bytes(expected)
    # No category is left if the only samples that have one are absent.
    there = X["colour"] != "brown"
    X["colour"] = X["colour"].where(X["colour"] == "brown", None)
    model = clone(forest).fit(X, y, sample_weight=there)
    assert model_bytes(model) == model_bytes(clone(forest).fit(X[there], y[there]))


@pytest.mark.parametrize("form", ["objects", "dense", "csr"])
def test_fits_that_go_on_have_no_categories_of_samples_of_weight_zero(form):
    X, y = colours()
    there = np.arange(len(X)) % 5 > 0
    codes = np.where(there, np.searchsorted(["black", "blue", "green", "red"], X["colour"]), 7)
    texts = X.assign(colour=np.where(there, X["colour"], "brown"))
    X = FORMS[form](texts) if form in FORMS else CODED[form](np.column_stack([codes, X["size"]]))
    forest = weald.RandomForestRegressor(30, random_state=0, oob_score=True, categorical_features=[0])
    whole = clone(forest).fit(X, y, sample_weight=there)
    parts = [clone(forest).fit(X, y, there, trees=trees) for trees in (range(20), range(20, 30))]
    merged = weald.merge(parts, X, y, there)
    grown = clone(forest).set_params(n_estimators=20, warm_start=True).fit(X, y, sample_weight=there)
    grown.set_params(n_estimators=30).fit(X, y, sample_weight=there)
    for model in (merged, grown):
        assert model_bytes(model) == model_bytes(whole)
        assert model.oob_score_ == whole.oob_score_
        np.testing.assert_array_equal(model.oob_prediction_, whole.oob_prediction_)
    removed = clone(forest).fit(X[there], y[there])
    assert removed.oob_score_ == whole.oob_score_
    np.testing.assert_array_equal(removed.oob_prediction_, whole.oob_prediction_[there])
    # The first fit does not change with what absent samples of the next one have.
    assert [known if known is None else known.tolist() for known in grown.categories_] == [
        known if known is None else known.tolist() for known in removed.categories_
    ]


def test_categories_of_a_type_keep_their_codes_whatever_is_there(tmp_path):
    X, y = colours()
    kinds = pd.CategoricalDtype(["none", "red", "green", "blue", "black"])
    X["colour"] = X["colour"].astype(kinds)
    model = weald.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert model.categories_[0].tolist() == list(kinds.categories)
    few = X[X["colour"] == "blue"].astype({"colour": "category"})
    np.testing.assert_array_equal(model.predict(few), model.predict(X)[X["colour"] == "blue"])
    weald.save(model, tmp_path / "model")
    np.testing.assert_array_equal(weald.load(tmp_path / "model").predict(X), model.predict(X))
    numbers = pd.DataFrame({"year": pd.Categorical([2001, 1999, 2001, 1999]), "x": [0.0, 1.0, 2.0, 3.0]})
    model = weald.DecisionTreeRegressor().fit(numbers, [1.0, 2, 1, 2])
    assert model.categories_[0].tolist() == [1999, 2001]
    np.testing.assert_array_equal(model.predict(numbers.astype({"year": int})), [1.0, 2, 1, 2])
    np.testing.assert_array_equal(model.predict(numbers), [1.0, 2, 1, 2])


def test_names_masks_and_indices_are_one():
    X, y = colours()
    X["colour"] = X["colour"].map({"red": 0, "green": 1, "blue": 2, "black": 3})
    model = weald.DecisionTreeRegressor(categorical_features=["colour"], random_state=0).fit(X, y)
    for asked in ([0], [True, False], np.array([True, False]), np.array([0])):
        other = weald.DecisionTreeRegressor(categorical_features=asked, random_state=0).fit(X, y)
        assert model_bytes(other) == model_bytes(model)
    assert clone(model).categorical_features == ["colour"]
    assert weald.DecisionTreeRegressor().fit(X, y).is_categorical_ is None


def test_rules_name_categories():
    X, y = colours()
    model = weald.DecisionTreeRegressor(max_depth=1).fit(X, y)
    rules = weald.inspection.export_rules(model, decimals=0)
    assert rules.startswith("if colour in {")
    assert "colour not in {" in rules
    listed = rules.split("{")[1].split("}")[0].split(", ")
    assert sorted(listed) in (["black", "red"], ["blue", "green"])


def test_what_is_no_category_is_refused():
    X, y = colours()
    codes = np.array([[0.0, 1], [1, 2], [2, 3], [0, 4]])
    for wrong, message in [
        (-0.5, r"X must have whole numbers or NaN in feature 0, which is in categorical_features, got -0\.5"),
        (0.5, r"X must have whole numbers or NaN in feature 0, which is in categorical_features, got 0\.5"),
        (
            65_535.0,
            r"X must have at most 65535 categories, .*in feature 0, which is in .*, got the code 65535",
        ),
    ]:
        bad = codes.copy()
        bad[1, 0] = wrong
        for form in (bad, sparse.csr_array(bad), sparse.csc_array(bad)):
            model = weald.DecisionTreeRegressor(categorical_features=[0]).fit(codes, [0, 1, 2, 3])
            check_refused(model, ValueError, message, form, [0, 1, 2, 3])
            if wrong != 65_535.0:
                with pytest.raises(ValueError, match=message):
                    model.predict(form)
    for asked, message in [
        ("colour", "The 'categorical_features' parameter"),
        ([2], "indices from 0 to 1, got 2"),
        ([-1], "indices from 0 to 1, got -1"),
        ([True], "a mask of length 2, .*got length 1"),
        (["shape"], "must have names of columns of X, got 'shape'"),
        ([0.5], "must be .*, got the item 0.5"),
    ]:
        model = weald.DecisionTreeRegressor().fit(X, y).set_params(categorical_features=asked)
        check_refused(model, ValueError, message, X, y)
    model = weald.DecisionTreeRegressor().fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"X must have values like .* in feature 'colour', which is in categorical_features, got the number 1.0",
    ):
        model.predict(X.assign(colour=1.0))
    with pytest.raises(
        ValueError, match=r"X must be a frame or an object array with values like .* in feature 'colour'.*got numbers"
    ):
        model.predict(np.zeros((2, 2)))
    many = pd.DataFrame({"id": [f"n{i}" for i in range(65_536)]})
    with pytest.raises(ValueError, match="X must have at most 65535 categories in feature 'id', got 65536"):
        weald.DecisionTreeRegressor().fit(many, np.arange(65_536))


FORMS_OF_CODES = {
    "F": np.asfortranarray,
    "C": np.ascontiguousarray,
    "float64": lambda X: X.astype(np.float64),
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_matrix,
    "integers": lambda X: X.astype(np.int16),
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]).astype({"a": "int8"}),
    "polars": lambda X: pl.DataFrame(X.astype(np.int64), schema=["a", "b"]),
}


@pytest.mark.parametrize("form", FORMS_OF_CODES)
@pytest.mark.parametrize("name", [*TREES, *FORESTS, *BOOSTING])
def test_negative_codes_are_missing(name, form):
    """Models and predictions are those of NaN in the same places, and X is as it was."""
    rng = np.random.default_rng(0)
    codes = rng.integers(-2, 4, (60, 2)).astype(np.float32)
    y = (codes[:, 0] % 2 + rng.random(60) > 0.7).astype(int)
    missing = codes.copy()
    missing[codes[:, 0] < 0, 0] = np.nan
    X, untouched = FORMS_OF_CODES[form](codes), FORMS_OF_CODES[form](codes.copy())
    rules = {"categorical_features": [0], "random_state": 0}
    model, twin = make(name, **rules).fit(X, y), make(name, **rules).fit(missing, y)
    assert model.categories_[0].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.predict(X), twin.predict(missing))
    np.testing.assert_array_equal(model.apply(X), twin.apply(missing))
    assert [weald.Predictor(model).predict(row) for row in FORMS_OF_CODES["C"](codes)] == model.predict(X).tolist()
    if form not in ("pandas", "polars"):
        assert model_bytes(model) == model_bytes(twin)
    for one, other in zip(*((Z.data, Z.indices) if sparse.issparse(Z) else (Z,) for Z in (X, untouched)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_codes_that_are_all_negative_are_one_unknown_category():
    X = np.full((4, 1), -1.0)
    model = weald.DecisionTreeRegressor(categorical_features=[0]).fit(X, [0, 1, 2, 3])
    assert model.categories_[0].tolist() == [0]
    assert model.predict([[-1], [0], [np.nan]]).tolist() == [1.5] * 3


@pytest.mark.parametrize("max_features", [None, 0.5])
def test_categories_are_told_apart_however_many_they_are(max_features):
    """`max_bins` only applies to numerical features: if these have few values, bins do not change the model."""
    rng = np.random.default_rng(0)
    n = 3000
    # The second feature has more categories than one byte can encode, and some of its values are missing.
    X = np.column_stack([rng.integers(0, 20, n), np.minimum(rng.geometric(0.005, n) - 1, 900), rng.integers(0, 6, n)])
    X = X.astype(np.float32)
    y = (X[:, 1] % 2) * 3.0 + X[:, 0] / 20 + rng.normal(scale=0.1, size=n)
    X[rng.random(n) < 0.05, 1] = np.nan
    assert len(np.unique(X[:, 1])) > 600
    params = {"n_estimators": 20, "learning_rate": 0.1, "categorical_features": [1, 2], "max_features": max_features}
    params |= {"random_state": 0}
    exact = weald.GradientBoostingRegressor(max_bins=None, **params).fit(X, y)
    assert exact.score(X, y) > 0.8
    for max_bins in (20, 255):
        model = weald.GradientBoostingRegressor(max_bins=max_bins, **params)
        for form in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
            for n_jobs in (1, 2):
                model.set_params(n_jobs=n_jobs).fit(form, y)
                np.testing.assert_array_equal(model.apply(X), exact.apply(X))
                np.testing.assert_array_equal(model.predict(form), exact.predict(X))
    weights = rng.integers(0, 3, n)
    rows = np.repeat(np.arange(n), weights)
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.apply(X), clone(model).fit(X[rows], y[rows]).apply(X))


def test_in_a_pipeline_and_beside_other_columns():
    X, y = colours()
    X["when"] = np.arange(len(X))
    model = make_pipeline(FunctionTransformer(), weald.GradientBoostingRegressor(n_estimators=60, random_state=0))
    assert model.fit(X, y).score(X, y) > 0.9
    assert model[-1].is_categorical_.tolist() == [True, False, False]
    assert model[-1].feature_importances_.argmax() == 0


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_one_split_beside_scikit_learns_of_ordered_means(draws):
    """With one output, the best set of categories is a cut in the order of the mean targets (Fisher 1958)."""
    n = draws.draw(st.integers(3, 20))
    x = np.array(draws.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    y = np.array(draws.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    means = {category: y[x == category].mean() for category in np.unique(x)}
    ordered = np.array([means[category] for category in x])[:, None]
    tree = weald.DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(x[:, None], y)
    expected = weald.DecisionTreeRegressor(max_depth=1).fit(ordered, y)
    fell = [
        t.tree_.impurity[0] - (t.tree_.impurity[1:] * t.tree_.n_node_samples[1:]).sum() / n
        if len(t.tree_.impurity) > 1
        else 0
        for t in (tree, expected)
    ]
    # Impurities are sums of squares of small numbers. Categories with equal means are separated, too, which gains
    # nothing.
    assert fell[0] == pytest.approx(fell[1], abs=1e-9)
    assert tree.tree_.node_count >= expected.tree_.node_count


def uninformed(seed, n=300, n_categories=300):
    """A number that tells a part of y, beside a column of many categories that tell nothing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_categories, n), rng.normal(size=n)]).astype(np.float32)
    return X, 0.6 * X[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("outputs", ["number", "numbers", "two classes", "labels"])
@pytest.mark.parametrize("options", [{}, {"max_bins": 255}])
def test_many_categories_that_tell_nothing_are_not_better_than_a_number_that_does(outputs, options):
    for seed in range(5):
        X, y = uninformed(seed)
        y = {
            "number": y,
            "numbers": np.column_stack([y, -y, y + 0.1 * X[:, 1]]),
            "two classes": (y > 0).astype(int),
            "labels": np.column_stack([y > 0, y > 1, y < -1]).astype(int),
        }[outputs]
        kind = weald.DecisionTreeRegressor if "number" in outputs else weald.DecisionTreeClassifier
        tree = kind(max_depth=1, categorical_features=[0], random_state=0, **options).fit(X, y)
        assert tree.tree_.feature[0] == 1
        # By the decrease alone, the sets of categories would win.
        alone = kind(max_depth=1, categorical_features=[0], random_state=0, **options).fit(X[:, :1], y)
        assert alone.tree_.impurity[0] - impurity_below(alone) > tree.tree_.impurity[0] - impurity_below(tree)


def impurity_below(tree):
    """The mean impurity of the children of the root."""
    return np.average(tree.tree_.impurity[1:], weights=tree.tree_.weighted_n_node_samples[1:])


@pytest.mark.parametrize("kind", [weald.GradientBoostingRegressor, weald.RandomForestRegressor])
def test_targets_of_rare_categories_do_not_leak(kind):
    """Rare categories without information cost little of the score of samples that are held out."""
    scores = []
    for column in ("categories", "numbers"):
        of_seeds = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            n = 600
            X = np.column_stack([rng.integers(0, 300, n), rng.normal(size=(n, 3))]).astype(np.float32)
            y = X[:, 1] + rng.normal(size=n)
            model = kind(n_estimators=30, categorical_features=[0] if column == "categories" else None, random_state=0)
            of_seeds.append(model.fit(X[:400], y[:400]).score(X[400:], y[400:]))
        scores.append(np.mean(of_seeds))
    # Half of the variance of y is noise, so that the best score is 0.5. The limit is a fifth of it.
    assert scores[1] > 0.2
    assert scores[0] > scores[1] - 0.1


@pytest.mark.parametrize("kind", [weald.DecisionTreeRegressor, weald.DecisionTreeClassifier])
def test_two_categories_are_two_numbers(kind):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.integers(0, 2, (40, 2)), rng.integers(0, 4, (40, 2))]).astype(np.float32)
        y = rng.integers(0, 3, (40, 2))
        one, two = (kind(max_depth=1, categorical_features=c, random_state=0).fit(X, y) for c in (None, [0, 1]))
        assert one.tree_.feature[0] == two.tree_.feature[0]
        np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_categories_that_tell_nothing_are_separated_if_there_is_nothing_else():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(50), np.zeros(50)])
    y = rng.normal(size=50)
    for options in ({}, {"max_leaf_nodes": 50}):
        tree = weald.DecisionTreeRegressor(categorical_features=[0], **options).fit(X, y)
        assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_sets_and_thresholds_are_compared_by_what_they_gain_beyond_chance(weighted):
    """The slow twin of the comparison of two features, for one number."""
    of_categories = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, k = 40, int(rng.integers(2, 12))
        X = np.column_stack([rng.integers(0, k, n), rng.integers(0, 4, n)]).astype(np.float32)
        effect = rng.normal(size=k) * rng.choice([0.0, 0.5, 1.0])
        y = rng.normal(size=n) + effect[X[:, 0].astype(int)] + 0.4 * X[:, 1]
        w = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
        tree = weald.DecisionTreeRegressor(max_depth=1, categorical_features=[0], random_state=0)
        feature = tree.fit(X, y, sample_weight=w).tree_.feature[0]
        x, y = np.repeat(X, w, axis=0), np.repeat(y, w)
        means = {c: y[x[:, 0] == c].mean() for c in np.unique(x[:, 0])}
        order = sorted(means, key=means.get)
        sets = [np.isin(x[:, 0], order[:i]) for i in range(1, len(order))]
        by_chance = 2 / np.pi * (len(order) - 2) * y.var()
        of_sets = max(gain_of("squared_error", y, left) for left in sets)
        of_sets = max(of_sets - by_chance, 1e-6 * of_sets)
        of_numbers = max(gain_of("squared_error", y, x[:, 1] <= t) for t in np.unique(x[:, 1])[:-1])
        assert feature == (0 if of_sets > of_numbers else 1)
        of_categories += feature == 0
    assert 10 < of_categories < 90
