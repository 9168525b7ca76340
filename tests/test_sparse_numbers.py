"""Regressors with sparse y: targets that are not stored are zero."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import BOOSTING, COMPRESSED, check_refused, make, model_bytes, unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TREES = ["DecisionTreeRegressor", "ExtraTreeRegressor"]
FORESTS = ["RandomForestRegressor", "ExtraTreesRegressor"]
EVERY = [*TREES, *FORESTS]
N_OUTPUTS = 24


def ratings(n=80, n_outputs=N_OUTPUTS, *, share=0.08, seed=0, negative=True):
    """X, and y in which most values are zero."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, 6)).astype(np.float32) * (rng.random((n, 6)) < 0.7)
    y = (rng.random((n, n_outputs)) < share) * rng.integers(1, 6, (n, n_outputs)) * (1 + X[:, [0]]) / 3
    if negative:
        y *= rng.choice([-1, 1], y.shape)
    y[0, 0] = 5  # at least one value is not zero
    return X, y


def forms(y):
    """The same targets in every container of sparse values."""
    csr = sparse.csr_array(y)
    shuffled = csr.tocoo()
    order = np.random.default_rng(0).permutation(shuffled.nnz)
    twice = sparse.coo_array(
        (np.repeat(shuffled.data / 2, 2), (np.repeat(shuffled.row, 2), np.repeat(shuffled.col, 2))), shape=y.shape
    )
    zeros = sparse.csr_array(np.where(y == 0, 1e9, y))
    zeros.data[zeros.data == 1e9] = 0
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return {
        "csr_array": csr,
        "csr_matrix": sparse.csr_matrix(y),
        "csc": sparse.csc_array(y),
        "coo out of order": sparse.coo_array(
            (shuffled.data[order], (shuffled.row[order], shuffled.col[order])), shape=y.shape
        ),
        "each entry in two halves": twice,
        "zeros that are stored": zeros,
        "lil": sparse.lil_array(y),
        "int64 indices": wide,
    }


@pytest.mark.parametrize("share", [0.02, 0.6])
@pytest.mark.parametrize("n_outputs", [1, 5, N_OUTPUTS])
@pytest.mark.parametrize("name", EVERY)
def test_one_model_of_dense_and_sparse_y(name, n_outputs, share):
    X, y = ratings(n_outputs=n_outputs, share=share)
    expected = make(name).fit(X, y if n_outputs > 1 else y.ravel())
    for form, sparse_y in forms(y).items():
        before = sparse_y.copy()
        model = make(name).fit(X, sparse_y)
        assert bytes(model._forest.to_bytes()) == bytes(expected._forest.to_bytes()), form
        predicted = model.predict(X)
        assert isinstance(predicted, sparse.spmatrix if form == "csr_matrix" else sparse.sparray), form
        assert predicted.format == "csr"
        np.testing.assert_array_equal(predicted.toarray(), expected.predict(X).reshape(y.shape), err_msg=form)
        assert (before != sparse_y).nnz == 0


WAYS = {
    "plain": {},
    "leaves": {"max_leaf_nodes": 9},
    "features": {"max_features": 0.5, "min_samples_leaf": 3},
    "gaussian": {"output_projection": "gaussian", "n_projections": 3},
    "achlioptas": {"output_projection": "achlioptas", "n_projections": 4},
    "pca": {"output_projection": "pca", "n_projections": 3},
    "scaled": {"output_scaling": "variance", "output_weights": np.arange(N_OUTPUTS) % 4},
    "monotonic": {"monotonic_cst": [1, 0, 0, -1, 0, 0]},
    "categories": {"categorical_features": [1, 2]},
    "pruned": {"ccp_alpha": 1e-3},
    "absolute_error": {"criterion": "absolute_error"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EVERY)
def test_one_model_for_every_layout_and_number_of_threads(name, way):
    X, y = ratings(seed=3)
    X[5, 0] = np.nan if way not in ("monotonic",) else 0
    sparse_y = sparse.csr_array(y)
    expected = make(name, **WAYS[way]).fit(X, sparse_y)
    assert bytes(expected._forest.to_bytes()) == bytes(make(name, **WAYS[way]).fit(X, y)._forest.to_bytes())
    jobs = [{}] if name in TREES else [{"n_jobs": 2}, {"n_jobs": 3}]
    for layout in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        for n_jobs in jobs:
            model = make(name, **WAYS[way], **n_jobs).fit(layout, sparse_y)
            assert bytes(model._forest.to_bytes()) == bytes(expected._forest.to_bytes())
            assert (model.predict(layout) != expected.predict(X)).nnz == 0


@pytest.mark.parametrize("way", ["plain", "gaussian", "scaled", "absolute_error"])
@pytest.mark.parametrize("name", EVERY)
def test_weights_are_counts(name, way):
    X, y = ratings()
    params = WAYS[way] | ({} if name in TREES else {"bootstrap": False})
    weights = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = make(name, **params).fit(X, sparse.csr_array(y), sample_weight=weights)
    repeated = make(name, **params).fit(X[rows], sparse.csr_array(y[rows]))
    assert (weighted.predict(X) != repeated.predict(X)).nnz == 0
    # Samples of weight zero are ignored, so that their y may have any values.
    y[weights == 0] = np.inf
    again = make(name, **params).fit(X, sparse.csr_array(y), sample_weight=weights)
    assert bytes(again._forest.to_bytes()) == bytes(weighted._forest.to_bytes())


def test_samples_without_weight_do_not_decide_how_sparse_targets_are_fitted():
    # With the dense samples most targets are not zero; without them nearly all are zero.
    X, y = ratings(40)
    y[::2] = 7.0
    weights = np.arange(40) % 2.0
    tree = make("DecisionTreeRegressor").fit(X, sparse.csr_array(y), sample_weight=weights)
    odd = make("DecisionTreeRegressor").fit(X[1::2], y[1::2])
    assert bytes(tree._forest.to_bytes()) == bytes(odd._forest.to_bytes())


@pytest.mark.parametrize("name", EVERY)
def test_the_identity_projects_nothing(name):
    X, y = ratings()
    plain = make(name).fit(X, sparse.csr_array(y))
    for identity in (np.eye(N_OUTPUTS), sparse.eye_array(N_OUTPUTS, format="csr")):
        model = make(name, output_projection=identity).fit(X, sparse.csr_array(y))
        assert bytes(model._forest.to_bytes()) == bytes(plain._forest.to_bytes())


@pytest.mark.parametrize("name", EVERY)
def test_what_is_saved_predicts_the_same(name, tmp_path):
    X, y = ratings()
    model = make(name).fit(X, sparse.csr_matrix(y))
    model.save(tmp_path / "model.weald") if hasattr(model, "save") else weald.save(model, tmp_path / "model.weald")
    loaded = weald.load(tmp_path / "model.weald")
    assert model_bytes(loaded) == model_bytes(model)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert isinstance(other.predict(X), sparse.csr_matrix)
        assert (other.predict(X) != model.predict(X)).nnz == 0
    # After another fit of the same estimator to dense y, predictions are dense.
    assert isinstance(model.fit(X, y).predict(X), np.ndarray)


def best_decrease(X, y):
    """The largest decrease of the mean variance by one split, computed with plain loops."""
    n = len(X)
    of = lambda rows: len(rows) * y[rows].var(axis=0).mean() if len(rows) else 0.0  # noqa: E731
    best = 0.0
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:
            left = X[:, j] <= value
            best = max(best, (of(np.arange(n)) - of(np.flatnonzero(left)) - of(np.flatnonzero(~left))) / n)
    return best


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_one_cut_beside_plain_loops(draws):
    n, d = draws.draw(st.integers(2, 12)), draws.draw(st.integers(16, 20))
    X = np.array(draws.draw(st.lists(st.integers(-2, 2), min_size=2 * n, max_size=2 * n)), dtype=np.float32).reshape(
        n, 2
    )
    scale = draws.draw(st.sampled_from([1e-9, 0.1, 1.0, 1e12]))
    y = np.zeros((n, d))
    for _ in range(draws.draw(st.integers(0, n * d // 8))):
        cell = draws.draw(st.integers(0, n - 1)), draws.draw(st.integers(0, d - 1))
        y[cell] = draws.draw(st.integers(-5, 5)) * scale
    tree = weald.DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, sparse.csr_array(y)).tree_
    rows = np.arange(n)
    # The plain loops add up squares below 25 · scale² in float64.
    assert tree.impurity[0] == pytest.approx(y.var(axis=0).mean(), abs=1e-12 * scale**2)
    if tree.node_count > 1:
        fell = tree.impurity[0] - (tree.impurity[1:] * tree.n_node_samples[1:]).sum() / n
        assert fell == pytest.approx(best_decrease(X, y), abs=1e-12 * scale**2)
        left = X[:, tree.feature[0]] <= tree.threshold[0]
        # The expected value is a mean of at most twelve numbers.
        np.testing.assert_allclose(tree.value[1, :, 0], y[rows[left]].mean(axis=0), rtol=1e-14, atol=0)
    else:
        assert best_decrease(X, y) == 0 or not np.ptp(X, axis=0).any() or not np.ptp(y, axis=0).any()


def test_numbers_of_0_and_1_are_labels():
    """For outputs of 0 and 1 the variance is half the Gini index, so that both trees have the same structure."""
    X, y = ratings(200)
    y = sparse.csr_array(y != 0)
    numbers = weald.DecisionTreeRegressor(random_state=0).fit(X, y.astype(float))
    labels = weald.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert np.array_equal(numbers.tree_.feature, labels.tree_.feature)
    assert np.array_equal(numbers.tree_.threshold, labels.tree_.threshold)
    # Both means around the middle of 0 and 1 and quotients of counts are rounded.
    np.testing.assert_allclose(numbers.predict(X).toarray(), labels.predict_proba(X), rtol=0, atol=2e-16)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, np.asarray])
def test_scores_are_those_of_dense_targets(container):
    X, y = ratings(120)
    y[:, 3], y[:, 4] = 0, 2.5
    weights = np.random.default_rng(0).random(120)
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, sparse.csr_array(y))
    dense = model.predict(X).toarray()
    for w in (None, weights):
        # Both sides add up the same terms in a different order.
        assert model.score(X, container(y), w) == pytest.approx(r2_score(y, dense, sample_weight=w), abs=1e-12)
    with pytest.raises(ValueError, match=r"must have .* outputs, as in the fit"):
        model.score(X, sparse.csr_array(y[:, 1:]))
    with pytest.raises(ValueError, match="inconsistent"):
        model.score(X, sparse.csr_array(y[1:]))


def test_results_in_blocks_are_those_at_once(monkeypatch):
    X, y = ratings(100)
    model = weald.ExtraTreesRegressor(5, random_state=0).fit(X, sparse.csr_array(y))
    whole, score = model.predict(X), model.score(X, y)
    monkeypatch.setattr("weald._ranking.ranks.BLOCK_SCORES", 7 * N_OUTPUTS)
    monkeypatch.setattr("weald._input.sparse._CELLS", 7 * N_OUTPUTS)
    assert (model.predict(X) != whole).nnz == 0
    assert (model.predict(sparse.csc_array(X)) != whole).nnz == 0
    # Errors are added up block by block, so that the order of the sum differs.
    assert model.score(X, y) == pytest.approx(score, abs=1e-13)


def test_out_of_bag_kept_samples_and_samples_in_leaves():
    X, y = ratings(150, negative=False)
    params = {"n_estimators": 30, "oob_score": True, "bootstrap": True, "keep_rows": True, "random_state": 0}
    dense = weald.RandomForestRegressor(**params).fit(X, y)
    model = weald.RandomForestRegressor(**params).fit(X, sparse.csr_array(y))
    np.testing.assert_array_equal(model.oob_prediction_, dense.oob_prediction_)
    # Both sides add up the same terms in a different order.
    assert model.oob_score_ == pytest.approx(dense.oob_score_, abs=1e-12)
    np.testing.assert_array_equal(model.predict_quantiles(X[:5], [0.5]), dense.predict_quantiles(X[:5], [0.5]))
    np.testing.assert_array_equal(model.sample_y(X[:5]), dense.sample_y(X[:5]))
    assert isinstance(model[0].predict(X), sparse.csr_array)
    assert (model[0].predict(X) != sparse.csr_array(dense[0].predict(X))).nnz == 0


def test_pruning_on_held_out_samples_and_more_trees():
    X, y = ratings(150)
    pruned = [
        weald.RandomForestRegressor(5, random_state=0)
        .fit(X[:100], of(y[:100]))
        .prune_reduced_error(X[100:], of(y[100:]))
        for of in (np.asarray, sparse.csr_array)
    ]
    assert (sparse.csr_array(pruned[0].predict(X)) != pruned[1].predict(X)).nnz == 0
    more = weald.ExtraTreesRegressor(3, warm_start=True, random_state=0).fit(X, sparse.csr_array(y))
    more.set_params(n_estimators=6).fit(X, sparse.csr_array(y))
    once = weald.ExtraTreesRegressor(6, random_state=0).fit(X, y)
    assert bytes(more._forest.to_bytes()) == bytes(once._forest.to_bytes())


def test_leaves_of_mostly_zero_targets_are_stored_sparse():
    X, y = ratings(300, 400, share=0.01)
    model = weald.ExtraTreesRegressor(10, random_state=0).fit(X, sparse.csr_array(y))
    n_leaves = sum(tree.tree_.n_leaves for tree in model)
    assert len(bytes(model._forest.to_bytes())) < 8 * n_leaves * y.shape[1] / 4


@pytest.mark.parametrize("name", [name for name in [*BOOSTING, *COMPRESSED] if name.endswith("Regressor")])
def test_boosting_and_compression_make_y_dense(name):
    X, y = ratings(60)
    dense, model = make(name).fit(X, y), make(name).fit(X, sparse.csr_array(y))
    predicted = model.predict(X)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_array_equal(predicted, dense.predict(X))
    assert model.score(X, sparse.csr_array(y)) == dense.score(X, y)


def test_frames_of_predictions_are_of_sparse_columns():
    X, y = ratings()
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, sparse.csr_array(y)).set_output(predict="pandas")
    frame = model.predict(X)
    assert isinstance(frame, pd.DataFrame)
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes)


def test_in_a_pipeline():
    X, y = ratings()
    model = make_pipeline(StandardScaler(), weald.ExtraTreesRegressor(5, random_state=0))
    assert clone(model).fit(X, sparse.csr_array(y)).score(X, sparse.csr_array(y)) > 0.5


@pytest.mark.parametrize("name", [*EVERY, "GradientBoostingRegressor"])
def test_what_is_no_sparse_y_is_refused(name):
    X, y = ratings(20)
    model = make(name)
    good = sparse.csr_array(y)
    bad = good.copy()
    bad.data[0] = np.nan
    check_refused(model, ValueError, "y must be finite if it is sparse, got NaN", X, bad)
    bad.data[0] = np.inf
    check_refused(model, ValueError, "y must be finite if it is sparse, got NaN or infinity", X, bad)
    check_refused(model, ValueError, "y has 19", X, good[1:])
    check_refused(model, ValueError, "0 columns", X, sparse.csr_array((20, 0)))
    check_refused(model, ValueError, "dtype complex128", X, good.astype(complex))
    broken = good.copy()
    broken.indices[0] = N_OUTPUTS
    check_refused(model, ValueError, "y is not a valid sparse matrix", X, broken)
    huge = good.copy()
    huge.data[0] = 1e200
    with pytest.raises(ValueError, match="1e150"):
        model.fit(X, huge)
    assert make(name).fit(X, sparse.csr_array(y.shape)).predict(X).sum() == 0


@pytest.mark.parametrize(
    "name", [*EVERY, "CentroidForestRegressor", "GradientBoostingRegressor", "CompressedForestRegressor"]
)
@pytest.mark.parametrize("n_outputs", [3, N_OUTPUTS])
def test_masked_sparse_y_is_dense_y_with_gaps(name, n_outputs):
    X, y = ratings(n_outputs=n_outputs)
    unknown = np.random.default_rng(1).random(y.shape) < 0.3
    unknown[0] = False
    gaps = np.where(unknown, np.nan, y)
    expected = make(name).fit(X, gaps)
    values = expected.predict(X)
    values = values.toarray() if sparse.issparse(values) else values
    masks = itertools.cycle((unknown, sparse.csr_array(unknown)))
    for (form, sparse_y), mask in zip(forms(y).items(), masks, strict=False):
        model = make(name).fit(X, sparse_y, y_weight=unless(mask))
        found = model.predict(X)
        assert (found.toarray() if sparse.issparse(found) else found).tolist() == values.tolist(), form
        assert model.score(X, sparse_y, y_weight=unless(mask)) == expected.score(X, y, y_weight=unless(unknown))
        assert weald.estimate_fit_memory(model, X, sparse_y, y_weight=unless(mask)) > 0
    # A mask of nothing changes nothing.
    plain, masked = (
        make(name).fit(X, sparse.csr_array(y), **given) for given in ({}, {"y_weight": unless(np.zeros_like(unknown))})
    )
    assert type(plain.predict(X)) is type(masked.predict(X))


def test_early_stopping_scores_the_known_values_of_sparse_y():
    X, y = ratings()
    unknown = np.random.default_rng(1).random(y.shape) < 0.3
    unknown[0] = False
    model = make("GradientBoostingRegressor", n_estimators=5, early_stopping=True, scoring="r2")
    curves = [
        model.fit(X, y, y_weight=unless(unknown)).validation_metric_
        for y in (np.where(unknown, np.nan, y), sparse.csr_array(y))
    ]
    np.testing.assert_array_equal(*curves)
