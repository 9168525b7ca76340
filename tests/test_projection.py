"""Structures grown on projected outputs: what families draw, and that leaves and laws are as without a projection."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import weald
from conftest import ALL, CLASSIFIERS, FORESTS, REGRESSORS, TREES, make, make_data, model_bytes
from oracle import one_hot, project
from scipy import sparse
from scipy.linalg import hadamard
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeRegressor as TheirTree
from weald import _weald, projection
from weald.inspection import feature_importances
from weald.projection import (
    GaussianProjection,
    HadamardProjection,
    PCAProjection,
    RademacherProjection,
    SubsampleProjection,
    johnson_lindenstrauss_dim,
)

NAMES = {
    "gaussian": GaussianProjection(),
    "rademacher": RademacherProjection(),
    "achlioptas": RademacherProjection("achlioptas"),
    "sparse": RademacherProjection("sqrt"),
    "subsample": SubsampleProjection(),
    "hadamard": HadamardProjection(),
    "pca": PCAProjection(),
}
OBJECTS = [*NAMES.values(), RademacherProjection(2.5), SubsampleProjection(replacement=True)]
RANDOM = [family for family in OBJECTS if family != PCAProjection()]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def structure(model):
    trees = model.estimators_ if hasattr(model, "estimators_") else [model]
    arrays = ("children_left", "children_right", "feature", "threshold", "impurity", "weighted_n_node_samples")
    return [getattr(tree.tree_, array) for tree in trees for array in arrays]


def assert_same_structure(one, two):
    for a, b in zip(structure(one), structure(two), strict=True):
        np.testing.assert_array_equal(a, b)


def wide_data(name, n=120, d=9, seed=0):
    """X, and d numerical outputs or labels that depend on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8)) * (rng.random((n, 8)) < 0.6)
    Y = X[:, :5] @ rng.normal(size=(5, d)) + rng.normal(scale=0.3, size=(n, d))
    return X, (Y > 0.7).astype(np.int64) if name in CLASSIFIERS else Y


# Families


@pytest.mark.parametrize("family", OBJECTS)
def test_families_are_values(family):
    for same in (copy.deepcopy(family), pickle.loads(pickle.dumps(family)), eval(repr(family), vars(projection))):
        assert same == family
        assert hash(same) == hash(family)
    assert [other for other in OBJECTS if other == family] == [family]
    with pytest.raises(AttributeError):
        family.sparsity = 4


def test_equal_families_are_those_that_mean_the_same():
    assert RademacherProjection() == RademacherProjection(1) == RademacherProjection(sparsity=1.0)
    assert RademacherProjection("achlioptas") == RademacherProjection(3)
    assert RademacherProjection("sqrt") != RademacherProjection(2)
    assert GaussianProjection() != HadamardProjection()


@pytest.mark.parametrize("family", RANDOM)
@pytest.mark.parametrize(("d", "q"), [(1, 1), (2, 1), (8, 3), (13, 5), (100, 100)])
def test_draws_have_the_shape_and_the_format_of_the_family(family, d, q):
    phi = family.draw(d, q, random_state=0)
    assert phi.shape == (q, d)
    assert phi.dtype == np.float64
    is_sparse = isinstance(family, SubsampleProjection) or family in [*map(RademacherProjection, [3, 2.5, "sqrt"])]
    assert isinstance(phi, sparse.csr_array if is_sparse else np.ndarray)
    if is_sparse:
        phi.check_format(full_check=True)
        assert phi.has_canonical_format
        assert (phi.data != 0).all()
        assert (np.diff(phi.indptr) > 0).all()  # a row of zeros is drawn again
    assert np.isfinite(dense(phi)).all()


@pytest.mark.parametrize("family", RANDOM)
def test_draws_are_functions_of_the_random_state(family):
    one, again, other = (dense(family.draw(40, 6, random_state=seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    generator = np.random.RandomState(0)
    np.testing.assert_array_equal(dense(family.draw(40, 6, random_state=generator)), one)
    assert (dense(family.draw(40, 6, random_state=generator)) != one).any()


@pytest.mark.parametrize("family", [f for f in RANDOM if isinstance(f, (GaussianProjection, RademacherProjection))])
def test_more_samples_are_the_same_samples_and_others(family):
    few, many = (math.sqrt(q) * dense(family.draw(30, q, random_state=3)) for q in (4, 9))
    # Products with square roots are rounded, so that the last bits may differ.
    np.testing.assert_allclose(many[:4], few, rtol=1e-15)
    assert len(np.unique(many, axis=0)) == 9


# The bounds are six standard deviations of the mean of all draws.
def test_gaussian_entries_are_normal():
    phi = 10 * GaussianProjection().draw(1000, 100, random_state=0).ravel()
    n = len(phi)
    assert abs(phi.mean()) < 6 / math.sqrt(n)
    assert abs((phi**2).mean() - 1) < 6 * math.sqrt(2 / n)
    assert abs((phi**4).mean() - 3) < 6 * math.sqrt(96 / n)


@pytest.mark.parametrize(("sparsity", "s"), [(1, 1), ("achlioptas", 3), ("sqrt", math.sqrt(1000)), (7.5, 7.5)])
def test_signs_are_fair_and_as_many_as_the_sparsity_says(sparsity, s):
    phi = RademacherProjection(sparsity).draw(1000, 100, random_state=0)
    values = phi.data if sparse.issparse(phi) else phi.ravel()
    # The square root and the quotient are computed in a different order.
    np.testing.assert_allclose(np.abs(values), math.sqrt(s / 100), rtol=1e-15)
    n = phi.shape[0] * phi.shape[1]
    assert abs(len(values) / n - 1 / s) <= 6 * math.sqrt((1 - 1 / s) / s / n)
    assert abs(np.sign(values).mean()) < 6 / math.sqrt(len(values))


def test_rows_that_would_be_zero_have_a_sign_somewhere():
    phi = RademacherProjection(1e12).draw(7, 500, random_state=0)
    np.testing.assert_array_equal(np.diff(phi.indptr), 1)
    # Each of the 7 columns expects 71 of 500 entries, with a standard deviation of 8.
    assert np.bincount(phi.indices, minlength=7).min() > 30


@pytest.mark.parametrize("replacement", [False, True])
def test_subsamples_are_rows_of_the_identity(replacement):
    phi = SubsampleProjection(replacement=replacement).draw(50, 50, random_state=0)
    assert (phi.data == 1).all()
    np.testing.assert_array_equal(np.diff(phi.indptr), 1)
    assert (len(set(phi.indices.tolist())) == 50) == (not replacement)
    assert SubsampleProjection(replacement=True).draw(2, 30, random_state=0).shape == (30, 2)


@pytest.mark.parametrize("d", [1, 2, 5, 8, 11, 64])
def test_hadamard_rows_are_distinct_rows_of_the_matrix_cut_to_the_outputs(d):
    size = 1 << (d - 1).bit_length()
    rows = {tuple(row) for row in hadamard(size)}
    phi = HadamardProjection().draw(d, size, random_state=0) * math.sqrt(size)
    # The entries are quotients by a square root, multiplied by the root.
    np.testing.assert_allclose(np.abs(phi), 1, rtol=1e-15)
    assert sorted(map(tuple, np.sign(phi))) == sorted(row[:d] for row in rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [False, True])
def test_principal_directions(weighted, labels):
    _, Y = wide_data("DecisionTreeClassifier" if labels else "DecisionTreeRegressor")
    w = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float) if weighted else np.ones(len(Y))
    container = sparse.csr_array if labels else np.asarray
    phi = PCAProjection().draw(9, 3, random_state=0, y=container(Y), sample_weight=w if weighted else None)
    centred = np.sqrt(w)[:, None] * (Y - np.average(Y, axis=0, weights=w))
    expected = np.linalg.svd(centred)[2][:3]
    # Directions are accurate to 1e-10 of the largest variance, divided by the gap to the next variance.
    np.testing.assert_allclose(np.abs((phi * expected).sum(axis=1)), 1, rtol=1e-9)
    # They are orthogonal up to rounding.
    np.testing.assert_allclose(phi @ phi.T, np.eye(3), rtol=0, atol=1e-12)


def test_principal_directions_need_y():
    with pytest.raises(ValueError, match="y must be given for the principal directions of y, got None"):
        PCAProjection().draw(3)
    with pytest.raises(ValueError, match="n_outputs must be 2, the number of outputs of y, got 3"):
        PCAProjection().draw(3, 1, y=np.eye(2))
    with pytest.raises(ValueError, match="n_projections"):
        PCAProjection().draw(2, 3, y=np.eye(2))


@pytest.mark.parametrize(
    ("n_projections", "d", "q"),
    [("log", 1, 1), ("log", 4, 1), ("log", 5, 2), ("log", 983, 7), (3, 2, 3), (0.5, 9, 4), (0.01, 9, 1), (1.0, 9, 9)],
)
def test_the_number_of_projections(n_projections, d, q):
    assert GaussianProjection().draw(d, n_projections, random_state=0).shape == (q, d)
    assert GaussianProjection().draw(d, np.array([n_projections])[0], random_state=0).shape == (q, d)


@pytest.mark.parametrize(("n", "eps", "dim"), [(1000, 0.5, 222), (1, 0.5, 1), (2, 0.99, 6), (10**6, 0.1, 11053)])
def test_johnson_lindenstrauss_dim(n, eps, dim):
    assert johnson_lindenstrauss_dim(n, eps) == dim
    assert johnson_lindenstrauss_dim(np.int64(n), np.float64(eps)) == dim


# Fits


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, list])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}, {"min_impurity_decrease": 0.01}])
def test_the_identity_is_no_projection(name, container, limits):
    X, Y = wide_data(name)
    w = np.random.default_rng(0).random(len(X))
    expected = make(name, **limits).fit(X, Y, sample_weight=w)
    identity = container(np.eye(9))
    model = make(name, output_projection=identity, **limits).fit(X, Y, sample_weight=w)
    assert model_bytes(model) == model_bytes(expected)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_labels_under_the_identity_are_numerical_in_the_search_and_labels_in_the_leaves(name, container):
    X, Y = wide_data(name)
    params = {"max_features": 3, "output_projection": container(np.eye(9))}
    model = make(name, **params).fit(X, container(Y))
    numbers = make(name.replace("Classifier", "Regressor"), max_features=3).fit(X, Y)
    assert_same_structure(model, numbers)
    # Quotients of counts are compared with means around the middle of 0 and 1, and both are rounded.
    np.testing.assert_allclose(model.predict_proba(X), numbers.predict(X), rtol=1e-14)
    squared = make(name, criterion="squared_error", **params).fit(X, container(Y))
    assert model_bytes(squared) == model_bytes(model)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_under_the_identity_are_their_one_hot_columns(name):
    X, Y = make_data(name, outputs="several", n=150)
    columns = one_hot(Y)
    model = make(name, max_features=3, output_projection=np.eye(columns.shape[1])).fit(X, Y)
    numbers = make(name.replace("Classifier", "Regressor"), max_features=3).fit(X, columns)
    assert_same_structure(model, numbers)
    # The tolerance is that of the previous test.
    np.testing.assert_allclose(np.hstack(model.predict_proba(X)), numbers.predict(X), rtol=1e-14)


@pytest.mark.parametrize("kind", ["numbers", "labels", "classes"])
@pytest.mark.parametrize("family", [f for f in OBJECTS if f != PCAProjection()])
def test_the_structure_is_that_of_a_tree_on_projected_outputs(kind, family):
    """The tree equals scikit-learn's on Z = Y Φᵀ; leaves are so large that no two features make the same split."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    name = "DecisionTreeRegressor" if kind == "numbers" else "DecisionTreeClassifier"
    _, Y = wide_data(name, n=300)
    if kind == "classes":
        Y = rng.integers(0, 4, (300, 3))
    columns = one_hot(Y) if kind == "classes" else Y
    phi = dense(family.draw(columns.shape[1], 4, random_state=7))
    limits = {"min_samples_leaf": 15}
    model = make(name, output_projection=family, n_projections=4, random_state=7, **limits).fit(X, Y)
    theirs = TheirTree(random_state=0, **limits).fit(X, project(columns, phi)).tree_
    ours = model.tree_
    np.testing.assert_array_equal(ours.children_left, theirs.children_left)
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    # scikit-learn's thresholds are midpoints in float64, and weald's are rounded down to float32; impurities and
    # means are float64 sums.
    np.testing.assert_allclose(ours.threshold, theirs.threshold, rtol=2**-23)
    np.testing.assert_allclose(ours.impurity, theirs.impurity, rtol=1e-10)
    leaves = model.apply(X)
    expected = np.array([columns[leaves == leaf].mean(axis=0) for leaf in leaves])
    got = (
        model.predict(X)
        if kind == "numbers"
        else np.hstack([model.predict_proba(X)] if kind == "labels" else model.predict_proba(X))
    )
    # The means of a leaf are summed in a different order.
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NAMES)
def test_names_are_objects_and_draws_are_the_matrices_of_trees(name, family):
    X, Y = wide_data(name, d=11)  # √11 is not 3, the sparsity of Achlioptas
    scope = {"projection_scope": "forest"} if name in FORESTS else {}
    by_name, by_object = (
        make(name, output_projection=p, n_projections=4, **scope).fit(X, Y) for p in (family, NAMES[family])
    )
    assert model_bytes(by_name) == model_bytes(by_object)
    y = {"y": sparse.csr_array(Y) if name in CLASSIFIERS else Y} if family == "pca" else {}
    phi = NAMES[family].draw(11, 4, random_state=0, **y)
    for matrix in (phi, sparse.csr_matrix(phi), dense(phi)):
        assert model_bytes(make(name, output_projection=matrix).fit(X, Y)) == model_bytes(by_name)
    assert model_bytes(make(name, output_projection=phi, n_projections=4).fit(X, Y)) == model_bytes(by_name)


@pytest.mark.parametrize("name", FORESTS)
def test_scopes(name):
    """One output is drawn for each tree, or one for all trees; the impurity of the root shows which."""
    X, Y = wide_data(name)
    params = {"output_projection": "subsample", "n_projections": 1, "bootstrap": False, "n_estimators": 20}
    own, shared = (make(name, projection_scope=scope, **params).fit(X, Y) for scope in ("tree", "forest"))
    variances = Y.var(axis=0)
    drawn = [[np.isclose(variances, tree.tree_.impurity[0]).argmax() for tree in model] for model in (own, shared)]
    # Both variances are rounded in float64.
    np.testing.assert_allclose(variances[drawn[0]], [tree.tree_.impurity[0] for tree in own], rtol=1e-12)
    assert len(set(drawn[0])) > 4
    (output,) = set(drawn[1])
    assert SubsampleProjection().draw(9, 1, random_state=0)[0, output] == 1


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NAMES)
def test_dense_and_sparse_labels_and_inputs_give_one_model(name, family):
    X, Y = wide_data(name)
    params = {"output_projection": family, "n_projections": 0.4}
    expected = model_bytes(make(name, **params).fit(X, Y))
    for container in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
        assert model_bytes(make(name, **params).fit(container(X), Y)) == expected
        if name in CLASSIFIERS:
            assert model_bytes(make(name, **params).fit(container(X), container(Y))) == expected
    if name in FORESTS:
        assert model_bytes(make(name, n_jobs=2, **params).fit(X, Y)) == expected


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NAMES)
def test_odd_outputs(name, family):
    X, Y = wide_data(name)
    Y[:, [2, 7]] = 0  # outputs that are always zero
    Y[10:40] = 0  # samples that are zero in all outputs
    model = make(name, output_projection=family).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert (predicted[:, [2, 7]] == 0).all()
    constant = make(name, output_projection=family).fit(X, np.zeros_like(Y))
    assert (constant.apply(X) == 0).all()
    assert (constant.predict(X) == 0).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", NAMES)
def test_one_output(name, family):
    X, Y = wide_data(name)
    y = sparse.csr_array(Y[:, [0]]) if name in CLASSIFIERS else Y[:, 0]
    model = make(name, output_projection=family, max_features=None).fit(X, y)
    assert dense(model.predict(X)).ravel().shape == (len(X),)
    if name.startswith("DecisionTree"):
        # Samples whose features are all zero cannot be distinguished.
        assert (dense(model.predict(X)).ravel() == Y[:, 0]).mean() > 0.85


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("family", ["gaussian", "achlioptas", SubsampleProjection(replacement=True)])
def test_more_projections_than_outputs(name, family):
    X, Y = wide_data(name, d=3)
    model = make(name, output_projection=family, n_projections=11).fit(X, Y)
    assert model.predict(X).shape == Y.shape


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("scope", ["tree", "forest"])
def test_callables_are_called_once_for_each_projection(name, scope):
    X, Y = wide_data(name)
    calls = []

    def draw(n_outputs, n_projections, random_state):
        calls.append((n_outputs, n_projections, random_state))
        return GaussianProjection().draw(n_outputs, n_projections, random_state=random_state)

    params = {"output_projection": draw, "n_projections": 2, "projection_scope": scope}
    whole = make(name, n_estimators=6, **params).fit(X, Y)
    at_once, calls[:] = list(calls), []
    assert [call[:2] for call in at_once] == [(9, 2)] * (6 if scope == "tree" else 1)
    assert len({call[2] for call in at_once}) == len(at_once)
    warm = make(name, n_estimators=2, warm_start=True, **params).fit(X, Y)
    warm.set_params(n_estimators=6).fit(X, Y)
    assert calls == (at_once if scope == "tree" else at_once * 2)
    assert model_bytes(warm) == model_bytes(whole)
    again = make(name, n_estimators=6, random_state=1, **params).fit(X, Y)
    assert model_bytes(again) != model_bytes(whole)


@pytest.mark.parametrize("name", TREES)
def test_callables_of_trees(name):
    X, Y = wide_data(name)

    def draw(n_outputs, n_projections, random_state):
        assert 0 <= random_state < 2**32
        return sparse.random_array((n_projections, n_outputs), density=0.5, random_state=random_state)

    one, two = (make(name, output_projection=draw, n_projections=0.5).fit(X, Y) for _ in range(2))
    assert model_bytes(one) == model_bytes(two)


@pytest.mark.parametrize("name", FORESTS)
def test_warm_start_of_families_and_matrices(name):
    X, Y = wide_data(name)
    rng = np.random.default_rng(0)
    for phi in [*NAMES, rng.normal(size=(2, 9))]:
        for scope in ("tree", "forest"):
            params = {"output_projection": phi, "projection_scope": scope}
            warm = make(name, warm_start=True, n_estimators=2, **params).fit(X, Y)
            warm = pickle.loads(pickle.dumps(warm)).set_params(n_estimators=5).fit(X, Y)
            assert model_bytes(warm) == model_bytes(make(name, n_estimators=5, **params).fit(X, Y))


@pytest.mark.parametrize("name", sorted(set(FORESTS) & set(CLASSIFIERS)))
@pytest.mark.parametrize("other", ["gaussian", np.ones((2, 9)), lambda d, q, seed: np.ones((q, d))])
def test_warm_start_neither_takes_up_a_projection_nor_drops_it(name, other, monkeypatch):
    X, Y = wide_data(name)
    for first, then in ((None, other), (other, None)):
        model = make(name, warm_start=True, n_estimators=2, output_projection=first).fit(X, Y)
        model.set_params(output_projection=then, n_estimators=4)
        before = dict(model.__dict__)
        with monkeypatch.context() as patch:
            patch.setattr(_weald, "fit_forest", lambda *args: pytest.fail("trees were grown"))
            with pytest.raises(ValueError, match=r"^output_projection must .*warm_start"):
                model.fit(X, Y)
        assert model.__dict__.keys() == before.keys()
        assert all(model.__dict__[key] is before[key] for key in before)
        model.set_params(output_projection=first).fit(X, Y)
        assert model_bytes(model) == model_bytes(make(name, n_estimators=4, output_projection=first).fit(X, Y))


@pytest.mark.parametrize("name", sorted(set(FORESTS) & set(CLASSIFIERS)))
def test_warm_start_keeps_the_criterion(name, monkeypatch):
    X, Y = wide_data(name)
    model = make(name, warm_start=True, n_estimators=2, criterion="entropy").fit(X, Y)
    model.set_params(n_estimators=3, criterion="log_loss").fit(X, Y)  # another name of the same criterion
    monkeypatch.setattr(_weald, "fit_forest", lambda *args: pytest.fail("trees were grown"))
    with pytest.raises(ValueError, match=r"^criterion must be 'entropy' with warm_start=True, .*got 'gini'"):
        model.set_params(n_estimators=4, criterion="gini").fit(X, Y)
    with pytest.raises(ValueError, match=r"^output_projection must be None .* 'entropy'"):
        model.set_params(output_projection="gaussian").fit(X, Y)


@pytest.mark.parametrize("name", sorted(set(FORESTS) & set(REGRESSORS)))
def test_warm_start_of_regressors_may_take_up_a_projection(name):
    X, Y = wide_data(name)
    model = make(name, warm_start=True, n_estimators=2).fit(X, Y)
    model.set_params(output_projection="gaussian", n_estimators=4).fit(X, Y)
    assert len(model.estimators_) == 4


@pytest.mark.parametrize("name", FORESTS)
def test_out_of_bag(name):
    X, Y = wide_data(name, n=200)
    params = {"output_projection": "gaussian", "bootstrap": True, "oob_score": True, "n_estimators": 40}
    model = make(name, **params).fit(X, Y)
    scores = model.oob_decision_function_ if name in CLASSIFIERS else model.oob_prediction_
    assert scores.shape == Y.shape
    assert not np.isnan(scores).any()
    error = np.mean((scores - Y) ** 2)
    assert np.mean((model.predict_proba(X) if name in CLASSIFIERS else model.predict(X)) - Y) ** 2 < error
    assert error < Y.var()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_topk(name):
    X, Y = wide_data(name)
    model = make(name, output_projection="sparse").fit(X, sparse.csr_array(Y))
    proba = model.predict_proba(X)
    indices, scores = model.predict_topk(X, k=4)
    expected = np.argsort(-proba, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(scores, np.take_along_axis(proba, expected, axis=1))


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_class_weights_are_sample_weights(name):
    X, Y = wide_data(name, d=3)
    by_label = [{0: 1, 1: 2}, {0: 2, 1: 1}, {0: 1.5, 1: 1}]
    w = np.prod([[weights[c] for c in column] for weights, column in zip(by_label, Y.T, strict=True)], axis=0)
    params = {"output_projection": "rademacher", "n_projections": 2}
    model = make(name, class_weight=by_label, **params).fit(X, Y)
    assert model_bytes(model) == model_bytes(make(name, **params).fit(X, Y, sample_weight=w))


@pytest.mark.parametrize("name", FORESTS)
def test_members_have_the_parameters_of_the_forest(name):
    X, Y = wide_data(name)
    for phi in (np.ones((2, 9)), sparse.csr_array(np.ones((2, 9))), "gaussian", GaussianProjection()):
        model = make(name, output_projection=phi, n_projections="log", projection_scope="forest").fit(X, Y)
        members = model.estimators_
        assert members[0].get_params()["output_projection"] is phi
        assert members[0].get_params()["n_projections"] == "log"
        assert "projection_scope" not in members[0].get_params()
        repr(members[0])
        refitted = clone(members[0]).fit(X, Y)
        assert refitted.predict(X).shape == Y.shape
        method = "predict" if name in REGRESSORS else "predict_proba"
        mean = np.mean([getattr(member, method)(X) for member in members], axis=0)
        # The mean over the trees is summed in a different order.
        np.testing.assert_allclose(mean, getattr(model, method)(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "phi", ["gaussian", RademacherProjection(3), np.ones((2, 9)), sparse.csr_array(np.ones((2, 9)))]
)
def test_pickle_clone_repr_and_parameters(name, phi):
    X, Y = wide_data(name)
    model = make(name, output_projection=phi).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert model_bytes(again) == model_bytes(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model_bytes(clone(model).fit(X, Y)) == model_bytes(model)
    assert "output_projection" in repr(model)
    without = clone(model).set_params(output_projection=None).fit(X, Y)
    assert model_bytes(without) == model_bytes(make(name).fit(X, Y))


@pytest.mark.slow("python/weald/projection.py", "python/weald/_parameters", "crates/weald/src/projection")
def test_parameters_are_searched():
    X, Y = wide_data("RandomForestRegressor")
    grid = {"output_projection": [None, "gaussian", RademacherProjection("sqrt")], "n_projections": ["log", 5, 0.9]}
    search = GridSearchCV(make("RandomForestRegressor"), grid, cv=2, n_jobs=2).fit(X, Y)
    assert search.best_score_ > 0.3
    one, two = (
        cross_val_score(make("ExtraTreesClassifier", output_projection="gaussian"), X, Y > 0, cv=3, n_jobs=n)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestClassifier", "ExtraTreesRegressor"])
def test_importances_of_all_outputs(name):
    X, Y = wide_data(name)
    model = make(name, output_projection="gaussian", n_projections=2).fit(X, Y)
    expected = np.zeros(X.shape[1])
    members = model.estimators_ if name in FORESTS else [model]
    for tree in (member.tree_ for member in members):
        means, w = tree.value[..., -1], tree.weighted_n_node_samples
        # Splits decrease the variances by as much as they increase the squared means of the nodes.
        squares = w * (means**2).sum(axis=1)
        inner = np.flatnonzero(tree.children_left >= 0)
        gain = squares[tree.children_left[inner]] + squares[tree.children_right[inner]] - squares[inner]
        importances = np.bincount(tree.feature[inner], gain, X.shape[1])
        expected += importances / importances.sum() / len(members)
    # Decreases are differences of float64 sums, which also applies to the comparison below.
    np.testing.assert_allclose(feature_importances(model, outputs="all"), expected / expected.sum(), rtol=1e-11)
    stored = feature_importances(model)
    np.testing.assert_array_equal(stored, model.feature_importances_)
    assert np.abs(stored - expected).max() > 1e-4
    unprojected = make(name).fit(X, Y)
    np.testing.assert_allclose(
        feature_importances(unprojected, outputs="all"), unprojected.feature_importances_, rtol=1e-10
    )
    with pytest.raises(ValueError, match=r"outputs must be .*got 'some'"):
        feature_importances(model, outputs="some")


def test_projections_find_what_outputs_share():
    """A projection with few rows is as good as all outputs if these are functions of one feature."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 6))
    Y = np.sin(4 * X[:, [0]] + np.arange(60) / 20) + rng.normal(scale=0.2, size=(600, 60))
    train, test = slice(400), slice(400, None)
    scores = [
        make("RandomForestRegressor", n_estimators=30, output_projection=p)
        .fit(X[train], Y[train])
        .score(X[test], Y[test])
        for p in (None, "gaussian", "pca")
    ]
    assert min(scores) > 0.7
    assert max(scores) - min(scores) < 0.1


def test_weald_exports_the_module():
    assert weald.projection is projection
    assert all(hasattr(projection, name) for name in projection.__all__)
