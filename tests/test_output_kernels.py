"""Targets of outputs of any kind by a kernel: the trees are output-kernel trees, and predictions are decoded."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import weald
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weald.projection import KernelProjection

NAMES = ("chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")


def jaccard(A, B):
    return np.array([[len(a & b) / max(len(a | b), 1) for b in B] for a in A])


def of_texts(A, B):
    """The number of pairs of equal neighbouring letters: an inner product of counts."""

    def pairs(text):
        return [text[i : i + 2] for i in range(len(text) - 1)]

    return np.array([[sum(x == y for x in pairs(a) for y in pairs(b)) for b in B] for a in A], dtype=float)


def sets(n, seed=0, n_members=5):
    rng = np.random.default_rng(seed)
    return [set(np.flatnonzero(rng.random(n_members) < 0.4).tolist()) for _ in range(n)]


# --- the slow twin: an output-kernel tree on the Gram matrix ----------------------------------------------------------


def inertia(K, samples):
    """Mean k(i, i) - mean k(i, j) over the samples of a node, by plain loops."""
    n = len(samples)
    own = sum(K[i][i] for i in samples) / n
    return own - sum(K[i][j] for i in samples for j in samples) / n**2


def decreases(X, K, samples):
    """The decrease of the inertia by each split, by feature and samples of the left child."""
    found, whole = {}, inertia(K, samples)
    for feature in range(X.shape[1]):
        for threshold in sorted({X[i, feature] for i in samples})[:-1]:
            left = [i for i in samples if X[i, feature] <= threshold]
            right = [i for i in samples if X[i, feature] > threshold]
            parts = sum(len(part) / len(samples) * inertia(K, part) for part in (left, right))
            found[feature, tuple(left)] = whole - parts
    return found


def check_kernel_tree(tree, X, K, samples, depth, node=0):
    """All splits are of the largest decrease, and there are as many as the depth allows; returns their number."""
    found = decreases(X, K, samples)
    # Decreases that are equal in exact arithmetic differ by their rounding.
    near = 1e-9 * max(abs(value) for row in K for value in row)
    best = max(found.values(), default=0)
    if tree.children_left[node] < 0:
        assert depth == 0 or best <= near
        return 0
    feature, threshold = tree.feature[node], tree.threshold[node]
    left = [i for i in samples if X[i, feature] <= threshold]
    right = [i for i in samples if X[i, feature] > threshold]
    assert found[feature, tuple(left)] >= best - near
    below = zip((left, right), (tree.children_left[node], tree.children_right[node]), strict=True)
    return 1 + sum(check_kernel_tree(tree, X, K, part, depth - 1, child) for part, child in below)


def problem(kind, seed, n=18):
    """X, outputs of a kind, and their kernel."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).astype(np.float32)
    if kind == "sets":
        return X, sets(n, seed), jaccard
    if kind == "texts":
        return X, ["".join(rng.choice(list("abc"), 6)) for _ in range(n)], of_texts
    return X, np.abs(X @ rng.random((3, 4)) + rng.normal(scale=0.1, size=(n, 4))), kind


@pytest.mark.parametrize("kind", ["sets", "texts", "rbf", "laplacian", "chi2", "cosine", "linear"])
@pytest.mark.parametrize("seed", range(3))
def test_trees_on_all_landmarks_are_output_kernel_trees(kind, seed):
    X, Y, kernel = problem(kind, seed)
    K = kernel(Y, Y) if callable(kernel) else pairwise_kernels(Y, metric=kernel)
    Z = KernelProjection(kernel).fit_transform(Y)
    # Directions of eigenvalues at the level of the rounding are left out, and no others.
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * np.abs(K).max())
    tree = weald.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Z)
    samples = list(range(len(X)))
    # The engine's impurity is the mean of the variances of the columns; their sum is the inertia of the kernel.
    assert tree.tree_.impurity[0] * Z.shape[1] == pytest.approx(inertia(K, samples), rel=1e-6)
    assert check_kernel_tree(tree.tree_, X, K.tolist(), samples, 3) >= 3


@pytest.mark.parametrize("kind", ["rbf", "sets"])
def test_precomputed_and_callable_kernels_are_the_same(kind):
    _, Y, kernel = problem(kind, 0)
    gram = kernel if callable(kernel) else lambda A, B: pairwise_kernels(A, B, metric="rbf")
    K = gram(Y, Y)
    one = KernelProjection(gram, n_components=9, random_state=3).fit(Y)
    two = KernelProjection("precomputed", n_components=9, random_state=3).fit(K)
    np.testing.assert_array_equal(one.landmarks_, two.landmarks_)
    np.testing.assert_array_equal(one.transform(Y[:5]), two.transform(K[:5]))
    np.testing.assert_array_equal(one.decode(one.transform(Y)), two.decode(two.transform(K)))
    with pytest.raises(ValueError, match="precomputed"):
        two.inverse_transform(two.transform(K))
    assert not hasattr(two, "outputs_")


@pytest.mark.parametrize("kernel", NAMES)
def test_names_are_the_kernels_of_scikit_learn(kernel):
    Y = np.random.default_rng(0).random((12, 3))
    projection = KernelProjection(kernel, random_state=0)
    Z = projection.fit_transform(Y)
    K = pairwise_kernels(Y, metric=kernel)
    if kernel == "sigmoid":
        # It is not positive semidefinite: what remains is its positive part.
        values, vectors = np.linalg.eigh(K)
        K = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * np.abs(K).max())
    if kernel in ("rbf", "laplacian", "chi2", "poly"):
        own = KernelProjection(kernel, kernel_params={"gamma": 0.25}).fit_transform(Y)
        np.testing.assert_allclose(own @ own.T, pairwise_kernels(Y, metric=kernel, gamma=0.25), atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_random_features_approximate_the_kernel(kernel):
    Y = np.random.default_rng(0).random((30, 3))
    for params in (None, {"gamma": 0.7}):
        projection = KernelProjection(
            kernel, method="random_features", n_components=20_000, kernel_params=params, random_state=0
        )
        Z = projection.fit_transform(Y)
        # An inner product is a mean of 20 000 values in [-2, 2], of a standard deviation of at most 1.3 in √20 000.
        np.testing.assert_allclose(Z @ Z.T, pairwise_kernels(Y, metric=kernel, **(params or {})), atol=0.05)
        np.testing.assert_array_equal(projection.decode(Z[::-1]), np.arange(30)[::-1])
        assert not hasattr(projection, "landmarks_")


def test_landmarks_are_drawn_without_replacement_by_random_state():
    Y = np.random.default_rng(0).random((50, 2))
    one, two, other = (KernelProjection(n_components=10, random_state=s).fit(Y) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.landmarks_, two.landmarks_)
    assert (one.landmarks_ != other.landmarks_).any()
    assert len(set(one.landmarks_.tolist())) == 10
    assert (np.diff(one.landmarks_) > 0).all()
    np.testing.assert_array_equal(one.transform(Y), two.transform(Y))
    # Between landmarks the kernel is exact.
    own = one.transform(Y[one.landmarks_])
    np.testing.assert_allclose(own @ own.T, pairwise_kernels(Y[one.landmarks_], metric="rbf", gamma=0.5), atol=1e-7)


# --- decoding ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), n_members=st.integers(1, 3), q=st.integers(1, 12))
def test_decoded_outputs_are_nearest_and_the_first_of_equal_ones(seed, n, n_members, q):
    outputs = sets(n, seed, n_members)
    projection = KernelProjection(jaccard, n_components=q, random_state=seed)
    Z = projection.fit_transform(outputs)
    assert Z.shape == (n, projection.n_components_)
    assert 1 <= projection.n_components_ <= min(n, q)
    rng = np.random.default_rng(seed)
    Z = np.concatenate([Z, rng.normal(size=(3, Z.shape[1]))])
    candidates = [set(), *outputs[::-1]]
    for given_ones, known in ((None, outputs), (candidates, candidates)):
        chosen = projection.decode(Z, given_ones)
        targets = projection.transform(known)
        for z, i in zip(Z, chosen, strict=True):
            distances = [((z - target) ** 2).sum() for target in targets]
            # The rounding of squared distances, and what counts as equally near.
            near = 1e-11 * ((Z**2).sum(axis=1).max() + (targets**2).sum(axis=1).max())
            assert distances[i] <= min(distances) + near
            assert known.index(known[i]) == i
    assert projection.inverse_transform(Z) == [outputs[i] for i in projection.decode(Z)]


def test_containers_return_as_they_came():
    rng = np.random.default_rng(0)
    Y = (rng.random((20, 4)) < 0.4).astype(float)
    order = rng.permutation(20)
    for given_as in (Y, sparse.csr_array(Y), sparse.csc_matrix(Y), pd.DataFrame(Y), Y.tolist(), Y.astype(np.float32)):
        projection = KernelProjection("cosine", random_state=0)
        Z = projection.fit_transform(given_as)
        found = projection.inverse_transform(Z[order])
        assert sparse.issparse(found) == sparse.issparse(given_as)
        np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, Y[order])
    words = np.array(["ab", "abc", "ca", "bcab"], dtype=object)
    for outputs in (words, list(words), tuple(words), pd.Series(words)):
        projection = KernelProjection(of_texts)
        found = projection.inverse_transform(projection.fit_transform(outputs)[::-1])
        assert type(found) is (list if isinstance(outputs, tuple) else type(outputs))
        assert list(found) == list(words[::-1])


def test_what_is_stored_does_not_change_with_the_callers_data_or_parameters():
    rng = np.random.default_rng(0)
    Y = rng.random((15, 3))
    projection = KernelProjection(n_components=5, random_state=0)
    Z = projection.fit_transform(Y)
    before, known = Z.copy(), Y.copy()
    Y[:] = 0
    Z[:] = 0
    projection.set_params(kernel="linear", kernel_params={}, n_components=2)
    np.testing.assert_array_equal(projection.transform(known), before)
    np.testing.assert_array_equal(projection.inverse_transform(before), known)


def test_blocks_change_nothing(monkeypatch):
    Y = np.random.default_rng(0).random((40, 3))
    whole = KernelProjection(n_components=7, random_state=0)
    Z = whole.fit_transform(Y)
    monkeypatch.setattr("weald.projection._CELLS", 30)
    parts = KernelProjection(n_components=7, random_state=0)
    # Matrix products of other shapes add in another order.
    np.testing.assert_allclose(parts.fit_transform(Y), Z, atol=1e-12)
    np.testing.assert_array_equal(parts.decode(Z), whole.decode(Z))


@pytest.mark.parametrize("kernel", ["rbf", of_texts, "precomputed"])
def test_pickles_and_clones(kernel):
    outputs = {"rbf": np.arange(12.0).reshape(4, 3), of_texts: ["ab", "abc", "ca", "b"], "precomputed": np.eye(4)}[
        kernel
    ]
    projection = KernelProjection(kernel, n_components=3, random_state=0).fit(outputs)
    again = pickle.loads(pickle.dumps(projection))
    np.testing.assert_array_equal(again.transform(outputs), projection.transform(outputs))
    np.testing.assert_array_equal(
        again.decode(np.eye(3)[:, : again.n_components_]), projection.decode(np.eye(3)[:, : again.n_components_])
    )
    assert clone(projection).get_params() == projection.get_params()
    with pytest.raises(NotFittedError):
        clone(projection).transform(outputs)


# --- with regressors --------------------------------------------------------------------------------------------------


def test_rows_of_numbers_in_scikit_learns_regressor_of_transformed_targets():
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    Y = np.column_stack([np.sin(4 * X[:, 0]), np.cos(4 * X[:, 0]), X[:, 1]])
    model = TransformedTargetRegressor(
        weald.RandomForestRegressor(20, random_state=0),
        transformer=KernelProjection("rbf", n_components=40, random_state=0),
        check_inverse=False,
    )
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.7
    known = {tuple(row) for row in Y.tolist()}
    assert all(tuple(row) in known for row in model.fit(X, Y).predict(X[:7]).tolist())


def test_pipelines_of_outputs_end_in_a_projection():
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    Y = np.column_stack([1000 * X[:, 0], X[:, 1]])
    scaled = make_pipeline(StandardScaler(), KernelProjection("rbf"))
    model = TransformedTargetRegressor(weald.DecisionTreeRegressor(), transformer=scaled, check_inverse=False)
    # Fully grown trees return their training samples.
    np.testing.assert_allclose(model.fit(X, Y).predict(X), Y, rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        weald.DecisionTreeRegressor(random_state=0),
        weald.ExtraTreesRegressor(10, random_state=0),
        weald.GradientBoostingRegressor(n_estimators=60, random_state=0),
    ],
)
def test_sets_are_predicted(model):
    rng = np.random.default_rng(0)
    X = rng.random((150, 2))
    outputs = [{int(3 * a), 3 + int(2 * b)} for a, b in X]
    projection = KernelProjection(jaccard, random_state=0)
    model.fit(X[:100], projection.fit_transform(outputs[:100]))
    found = projection.inverse_transform(model.predict(X[100:]))
    # Of six sets, at the edges of their cells a few samples are on the wrong side.
    assert np.mean([a == b for a, b in zip(found, outputs[100:], strict=True)]) > 0.8


def test_one_component_decodes_the_vectors_that_regressors_of_one_output_predict():
    projection = KernelProjection("linear")
    Y = np.array([1.0, 2.0, 3.0])
    Z = projection.fit_transform(Y)
    assert Z.shape == (3, 1)
    np.testing.assert_array_equal(projection.inverse_transform(Z[:, 0]), Y[:, None])


@pytest.mark.parametrize("outputs", [np.zeros((4, 2)), [[0.0, 0.0]]])
def test_outputs_without_inertia_have_one_column_of_zeros(outputs):
    projection = KernelProjection("linear")
    Z = projection.fit_transform(outputs)
    np.testing.assert_array_equal(Z, np.zeros((len(outputs), 1)))
    np.testing.assert_array_equal(projection.decode(Z), np.zeros(len(outputs)))


def test_equal_outputs_take_no_columns():
    projection = KernelProjection("rbf", n_components=30, random_state=0)
    Y = np.repeat(np.eye(3), 20, axis=0)
    Z = projection.fit_transform(Y)
    assert Z.shape == (60, 3)
    np.testing.assert_array_equal(projection.decode(Z), np.repeat([0, 20, 40], 20))


def test_float32_kernels_do_not_keep_directions_of_their_rounding():
    Y = np.random.default_rng(0).random((60, 2))
    wide = KernelProjection(lambda A, B: A @ B.T).fit(Y)
    narrow = KernelProjection(lambda A, B: A.astype(np.float32) @ B.T.astype(np.float32)).fit(Y)
    assert wide.n_components_ == narrow.n_components_ == 2


# --- mistakes ---------------------------------------------------------------------------------------------------------

Y_OK = np.arange(12.0).reshape(4, 3)
WRONG = [
    ({"kernel": "additive_chi2"}, Y_OK, ValueError, 'kernel must be a callable, "precomputed" or one of chi2'),
    ({"kernel": 3}, Y_OK, ValueError, "kernel must be"),
    ({"method": "exact"}, Y_OK, ValueError, 'method must be "nystroem" or "random_features"'),
    ({"kernel": "linear", "method": "random_features"}, Y_OK, ValueError, 'supports the kernels "rbf" and "laplacian"'),
    ({"n_components": 0}, Y_OK, ValueError, "n_components must be a positive integer, got 0"),
    ({"kernel_params": {"degree": 2}}, Y_OK, ValueError, "kernel_params of rbf must be of these: gamma; got 'degree'"),
    ({"kernel_params": {"gamma": -1}}, Y_OK, ValueError, r"kernel_params\['gamma'\] must be positive, got -1"),
    ({"kernel_params": {"gamma": np.nan}}, Y_OK, ValueError, "must be a finite number"),
    ({"kernel_params": 3}, Y_OK, ValueError, "kernel_params must be a dict or None"),
    ({"random_state": "a"}, Y_OK, ValueError, "random_state"),
    ({}, [["a"], ["b"]], ValueError, "Y"),
    ({}, np.full((3, 2), np.nan), ValueError, "Y contains NaN"),
    ({}, np.empty((0, 2)), ValueError, "Found array with 0 sample"),
    ({"kernel": "chi2"}, -Y_OK, ValueError, "Y must not have negative values"),
    ({"kernel": "precomputed"}, Y_OK, ValueError, "Y must be a square array"),
    ({"kernel": of_texts}, [], ValueError, "Y must have at least one output"),
    ({"kernel": of_texts}, {"ab", "b"}, TypeError, "which has no order"),
    ({"kernel": of_texts}, "ab", TypeError, "Y must be"),
    ({"kernel": lambda A, B: np.zeros(len(A))}, Y_OK, ValueError, r"kernel must return values of shape \(4, 4\), got"),
    ({"kernel": lambda A, B: np.full((4, 4), np.nan)}, Y_OK, ValueError, "kernel must return finite values"),
    ({"kernel": lambda A, B: [["a"] * 4] * 4}, Y_OK, ValueError, "kernel"),
    ({"kernel": lambda A, B: np.arange(16.0).reshape(4, 4)}, Y_OK, ValueError, "kernel must be symmetric"),
    ({"kernel": lambda A, B: -np.eye(4)}, Y_OK, ValueError, "kernel must be positive semidefinite"),
]


@pytest.mark.parametrize(("params", "outputs", "error", "message"), WRONG)
def test_mistakes_are_named_and_leave_the_projection_as_it_was(params, outputs, error, message):
    projection = KernelProjection(random_state=0).fit(Y_OK)
    before = projection.transform(Y_OK)
    projection.set_params(**params)
    with pytest.raises(error, match=message):
        projection.fit(outputs)
    np.testing.assert_array_equal(projection.transform(Y_OK), before)
    np.testing.assert_array_equal(projection.outputs_, Y_OK)


def test_mistakes_of_fitted_projections():
    projection = KernelProjection(random_state=0).fit(Y_OK)
    with pytest.raises(ValueError, match="Y must have 3 columns, as in fit, got 2"):
        projection.transform(Y_OK[:, :2])
    with pytest.raises(ValueError, match="candidates must have 3 columns, as in fit, got 2"):
        projection.decode(projection.transform(Y_OK), candidates=Y_OK[:, :2])
    with pytest.raises(ValueError, match=f"Z must have {projection.n_components_} columns"):
        projection.decode(np.zeros((2, 9)))
    with pytest.raises(ValueError, match="Z contains NaN"):
        projection.decode(np.full((2, projection.n_components_), np.nan))
    assert projection.decode(np.empty((0, projection.n_components_))).shape == (0,)


def test_refits_forget_what_the_fit_before_has_left():
    projection = KernelProjection(random_state=0).fit(Y_OK)
    projection.set_params(method="random_features").fit(Y_OK)
    assert not hasattr(projection, "landmarks_")
    projection.set_params(method="nystroem", kernel="precomputed").fit(np.eye(4))
    assert not hasattr(projection, "outputs_")
    assert projection.transform(np.eye(4)).shape == (4, 4)
