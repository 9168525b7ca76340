"""Centroid forests as users see them: laws, unusual data, invalid parameters, and what they do not support."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import CENTROIDS, cases, check_refused, has_outputs, make, make_data, model_bytes, unless
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import label_ranking_average_precision_score
from weald import _weald
from weald.inspection import export_centroids, export_rules, feature_importances, similar_rows
from weald.multilabel import TunedThresholds
from weald.projection import RademacherProjection, SubsampleProjection

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array, "CSC": sparse.csc_array}
# With these parameters the trees of the tests, which have few samples, have more than one level.
SMALL = {"n_estimators": 4, "n_children": 3, "max_leaf_samples": 3}
WAYS = [
    {},
    {"refine": False, "soft_routing": False, "smoothing": 0},
    {"normalize": False, "idf": False, "n_passes": 3, "min_centroid_weight": 0},
    {"bootstrap": True, "max_samples": 0.5},
    {"sample_size": 20, "max_centroid_features": 2, "max_depth": 2},
    {"output_projection": "gaussian", "n_projections": 3, "projection_scope": "forest"},
]


@pytest.fixture(params=CENTROIDS)
def name(request):
    return request.param


def outputs_of(name):
    return ["single", "several", *(["labels"] if name.endswith("Classifier") else [])]


def topics(n=200, p=300, d=12, seed=0):
    """Counts of words, and labels: each label has words of its own, and each sample has at least one label."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, d)) < 2 / d) | (np.arange(d) == rng.integers(0, d, (n, 1)))
    of_labels = np.where(np.arange(p) % d == np.arange(d)[:, None], 0.15, 0.0)
    X = rng.poisson(Y @ of_labels + 0.02)
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.int64))


# --- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", WAYS)
def test_every_layout_and_number_of_threads_gives_the_same_model(name, params):
    for outputs in outputs_of(name):
        if outputs == "single" and name.endswith("Classifier") and "output_projection" in params:
            continue
        X, y = make_data(name, n=90, outputs=outputs)
        models = [
            make(name, **SMALL, **params, n_jobs=n_jobs).fit(convert(X), y)
            for convert in LAYOUTS.values()
            for n_jobs in (1, 3)
        ]
        assert len({model_bytes(model) for model in models}) == 1
        expected = models[0].predict(X)
        for convert in LAYOUTS.values():
            np.testing.assert_array_equal(models[-1].predict(convert(X)), expected)


@pytest.mark.parametrize("params", WAYS)
def test_weight_zero_has_no_effect(name, params):
    X, y = make_data(name, n=90)
    weights = np.random.default_rng(1).integers(0, 3, 90).astype(float)
    there = weights > 0
    if name.endswith("Classifier") and "output_projection" in params:
        y = np.column_stack([y, y[::-1]])
    one = make(name, **SMALL, **params).fit(X, y, sample_weight=weights)
    two = make(name, **SMALL, **params).fit(X[there], y[there], sample_weight=weights[there])
    assert one._forest == two._forest


@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
def test_weight_two_is_the_sample_twice_side_by_side(name, outputs):
    X, y = make_data(name, n=60, outputs=outputs)
    weights = np.random.default_rng(2).integers(1, 3, 60)
    params = {**SMALL, "refine": False, "sample_size": None}
    one = make(name, **params).fit(X, y, sample_weight=weights.astype(float))
    two = make(name, **params).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    np.testing.assert_array_equal(one.apply(X), two.apply(X))
    found, expected = (m.predict_proba(X) if name.endswith("Classifier") else m.predict(X) for m in (one, two))
    # With whole-number weights the sums of classes are exact. Means of numerical outputs are sums of about 60 terms in
    # another order.
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)


def test_warm_start_and_merged_ranges_are_the_forest_grown_at_once(name):
    X, y = make_data(name, n=90)
    whole = make(name, **{**SMALL, "n_estimators": 7}).fit(X, y)
    warm = make(name, **{**SMALL, "n_estimators": 3, "warm_start": True}).fit(X, y)
    first = warm._forest
    warm.set_params(n_estimators=7).fit(X, y)
    assert warm._forest == whole._forest
    rest = [whole._forest.only(i) for i in range(3, 7)]
    assert _weald.CentroidForest.merge([first, *rest]) == whole._forest


def test_warm_start_refuses_other_data_and_stays_as_it_was(name):
    X, y = make_data(name, n=90)
    model = make(name, **SMALL, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6)
    check_refused(model, ValueError, "5 features|features", X[:, :5], y)
    check_refused(model, ValueError, "idf of the same data", np.where(X == 0, 1.0, X), y)
    model.set_params(normalize=False)
    check_refused(model, ValueError, "the same normalize", X, y)


def test_members_are_forests_of_one_tree(name):
    X, y = make_data(name, n=90)
    model = make(name, **SMALL, keep_rows=True).fit(X, y)
    assert len(model) == 4
    np.testing.assert_array_equal(np.column_stack([member.apply(X)[:, 0] for member in model]), model.apply(X))
    predict = (lambda m: m.predict_proba(X)) if name.endswith("Classifier") else (lambda m: m.predict(X))
    # The mean of four numbers is taken in two orders.
    np.testing.assert_allclose(np.mean([predict(member) for member in model], axis=0), predict(model), rtol=1e-12)
    member = pickle.loads(pickle.dumps(model[1]))
    np.testing.assert_array_equal(member.apply(X)[:, 0], model.apply(X)[:, 1])


def test_dense_and_sparse_y_give_the_same_model():
    X, Y = topics()
    for kind, y in (("Classifier", Y), ("Regressor", Y.astype(float) * 3)):
        one, two = (make(f"CentroidForest{kind}").fit(X, form) for form in (y, y.toarray()))
        assert sparse.issparse(one.predict(X))
        np.testing.assert_array_equal(one.apply(X), two.apply(X))
        np.testing.assert_array_equal(one.predict(X).toarray(), two.predict(X))


# --- what it is for --------------------------------------------------------------------------------------------------


def test_topics_are_found_and_no_worse_than_by_a_random_forest():
    X, Y = topics(1500)
    train, test = slice(0, 1000), slice(1000, None)
    truth = Y[test].toarray()
    scores = [
        label_ranking_average_precision_score(truth, model.fit(X[train], Y[train]).predict_proba(X[test]))
        for model in (
            weald.CentroidForestClassifier(20, random_state=0),
            weald.RandomForestClassifier(20, random_state=0),
        )
    ]
    assert scores[0] > max(0.8, scores[1])


def test_targets_of_sparse_samples_are_predicted():
    X, Y = topics(1500)
    y = Y.toarray() @ np.random.default_rng(0).normal(size=(12, 4))
    model = weald.CentroidForestRegressor(20, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.4


@pytest.mark.parametrize(
    "params",
    [{"soft_routing": False}, {"refine": False}, {"smoothing": 0}, {"idf": False}, {"label_weight": "propensity"}],
)
def test_ways_differ(params):
    X, Y = topics(400)
    plain = weald.CentroidForestClassifier(5, random_state=0).fit(X, Y)
    other = weald.CentroidForestClassifier(5, random_state=0, **params).fit(X, Y)
    assert not np.array_equal(plain.predict_proba(X), other.predict_proba(X))


def test_class_weight_is_a_weight_of_samples():
    X, Y = topics(200)
    y = Y.toarray().argmax(axis=1) == 0
    by_class = weald.CentroidForestClassifier(4, class_weight={False: 1, True: 3}, random_state=0).fit(X, y)
    by_row = weald.CentroidForestClassifier(4, random_state=0).fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


@pytest.mark.parametrize(
    "projection",
    [
        "rademacher",
        "subsample",
        "pca",
        "hadamard",
        RademacherProjection("achlioptas"),
        SubsampleProjection(),
        np.random.default_rng(0).normal(size=(2, 12)),
        lambda n_outputs, n_projections, seed: np.random.default_rng(seed).normal(size=(n_projections, n_outputs)),
    ],
)
def test_families_of_projections(projection):
    X, Y = topics()
    for kind, y in (("Classifier", Y), ("Regressor", Y.toarray() * 1.5)):
        model = make(f"CentroidForest{kind}", output_projection=projection, n_projections=2).fit(X, y)
        assert model.apply(X).max() > 1
        make(f"CentroidForest{kind}", output_projection=projection).fit(X, y)


# --- the rest of the contract ----------------------------------------------------------------------------------------


def test_probabilities_are_from_zero_to_one():
    """The shares of a sample in several leaves are rounded to float32, and their sum may be above one."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, Y = rng.random((30, 5)).astype(np.float32), (rng.random((30, 3)) < 0.8).astype(int)
        model = weald.CentroidForestClassifier(
            [2, 60][seed % 2], max_leaf_samples=2, bootstrap=seed % 2 == 1, oob_score=seed % 2 == 1, random_state=seed
        ).fit(X, Y)
        proba = model.predict_proba(X)
        assert proba.min() >= 0
        assert proba.max() <= 1
        _, scores = weald.topk(model, X, 3)
        np.testing.assert_array_equal(np.sort(scores, axis=1), np.sort(proba, axis=1))
        if seed % 2 == 1:
            assert np.nanmax(model.oob_decision_function_) <= 1
        of_classes = weald.CentroidForestClassifier(2, max_leaf_samples=2, random_state=seed).fit(X, Y[:, 0] + Y[:, 1])
        proba = of_classes.predict_proba(X)
        assert proba.max() <= 1
        # The shares of a sample in up to a few leaves have the precision of float32.
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=2e-7)


def test_out_of_bag_scores_are_those_of_trees_that_did_not_see_a_sample():
    X, Y = topics(300)
    model = weald.CentroidForestClassifier(30, bootstrap=True, oob_score=True, random_state=0).fit(X, Y)
    assert 0.6 < model.oob_score_ <= 1
    assert sparse.issparse(model.oob_decision_function_)
    dense = weald.CentroidForestClassifier(30, bootstrap=True, oob_score=True, random_state=0).fit(X, Y.toarray())
    np.testing.assert_array_equal(dense.oob_decision_function_, model.oob_decision_function_.toarray())
    numbers = weald.CentroidForestRegressor(30, bootstrap=True, oob_score=True, random_state=0)
    numbers.fit(X, Y.toarray() * 2.0)
    assert numbers.oob_prediction_.shape == Y.shape
    assert 0.1 < numbers.oob_score_ < 1


def test_thresholds_are_tuned_out_of_bag():
    X, Y = topics(300)
    tuned = TunedThresholds(weald.CentroidForestClassifier(20, bootstrap=True, random_state=0), cv="oob").fit(X, Y)
    assert tuned.predict(X).shape == Y.shape


def test_names_best_labels_and_sparse_scores_agree():
    X, Y = topics()
    names = [f"label {j}" for j in range(12)]
    model = weald.CentroidForestClassifier(5, random_state=0).fit(X, Y, label_names=names)
    proba = model.predict_proba(X)
    labels, scores = model.predict_topk(X, k=3)
    np.testing.assert_array_equal(scores, -np.sort(-proba, axis=1)[:, :3])
    np.testing.assert_array_equal(model.predict_topk(X, k=3, names=True)[0], np.array(names, dtype=object)[labels])
    np.testing.assert_array_equal(weald.topk(model, X, k=3)[0], labels)
    np.testing.assert_array_equal(model.predict_sparse(X, 0.2).toarray(), np.where(proba >= 0.2, proba, 0))
    frame = model.set_output(predict="pandas").predict_proba(X)
    assert frame.columns.tolist() == names


def test_similar_samples_are_those_of_the_same_leaves(name):
    X, y = make_data(name, n=90)
    model = make(name, **SMALL, keep_rows=True).fit(X, y)
    found = similar_rows(model, X[:5], k=None).toarray()
    leaves = model.apply(X)
    shared = (leaves[:5, None] == leaves[None]).astype(float)
    expected = (shared / shared.sum(axis=1, keepdims=True)).mean(axis=2)
    # The shares of four trees are summed in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_pickles_and_files_have_the_same_model(name, tmp_path):
    X, y = make_data(name, n=90)
    model = make(name, **SMALL, keep_rows=True, bootstrap=True).fit(X, y)
    weald.save(model, tmp_path / "model")
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert model_bytes(again) == model_bytes(model)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert weald.inspect_model(tmp_path / "model")["kind"] == "centroid"


# --- centroids as text -----------------------------------------------------------------------------------------------


def test_centroids_as_text():
    X, Y = topics()
    words = [f"word{j}" for j in range(300)]
    model = weald.CentroidForestClassifier(3, random_state=0).fit(pd.DataFrame(X.toarray(), columns=words), Y)
    text = export_centroids(model, tree=-1, n_features=4, decimals=1)
    first, *children = text.splitlines()
    tree = model._forest.tree(2)
    n_children = int(tree.children_start()[1] - 1)
    assert first == f"node 0: 200 samples, {n_children} children"
    assert len(children) == n_children
    assert all(line.count("word") <= 4 for line in children)
    assert sum(int(line.split("(")[1].split(" ")[0]) for line in children) == 200
    leaf = int(model.apply(pd.DataFrame(X.toarray(), columns=words))[0, 0])
    assert export_centroids(model, node=leaf).endswith("a leaf\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": 5}, "tree must be an integer from -5 to 4, got 5"),
        ({"node": -1}, "node must be an integer from 0 to 13, got -1"),
        ({"node": 10**9}, "node must be an integer from 0 to 13, got 1000000000"),
        ({"n_features": 0}, "n_features must be an integer from 1 to 2147483648, got 0"),
        ({"decimals": 1.5}, r"decimals must be an integer from 0 to 30, got 1\.5"),
        ({"feature_names": ["a"]}, "feature_names must have length 12, one for each feature, got 1 names"),
    ],
)
def test_bad_options_of_text_are_named(options, message):
    X, y = make_data("CentroidForestClassifier")
    model = make("CentroidForestClassifier").fit(X, y)
    with pytest.raises(ValueError, match=message):
        export_centroids(model, **options)
    with pytest.raises(TypeError, match="estimator must be a centroid forest"):
        export_centroids(make("RandomForestClassifier").fit(X, y))


# --- odd data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, *WAYS[1:5]])
def test_one_sample(name, params):
    X = np.array([[1.0, 0.0, 2.0]])
    y = np.array([2.5]) if name.endswith("Regressor") else np.array(["a"])
    model = make(name, **params).fit(X, y)
    assert model.predict(np.zeros((2, 3))).tolist() == y.tolist() * 2


def test_all_of_one_y_are_leaves_alone(name):
    X, y = make_data(name)
    model = make(name).fit(X, np.full_like(y, y[0]))
    assert model.apply(X).max() == 0
    assert set(model.predict(X).tolist()) == {y[0]}


def test_labels_that_nobody_has_or_all_have():
    X, Y = topics()
    for y in (np.zeros(Y.shape, dtype=int), np.ones(Y.shape, dtype=int)):
        model = make("CentroidForestClassifier").fit(X, sparse.csr_array(y))
        np.testing.assert_array_equal(model.predict(X).toarray(), y)
        assert model.apply(X).max() == 0


def test_more_children_than_samples(name):
    X, y = make_data(name, n=12)
    make(name, n_children=1000, max_leaf_samples=1).fit(X, y).predict(X)


def test_samples_without_features(name):
    X, y = make_data(name)
    for Z in (np.zeros_like(X), sparse.csr_array(X.shape)):
        model = make(name).fit(Z, y)
        # No feature separates the samples.
        assert model.apply(Z).max() == 0
    model = make(name).fit(X, y)
    assert len(np.unique(model.apply(np.zeros((3, X.shape[1]))), axis=0)) == 1


def test_one_feature(name):
    X, y = make_data(name)
    for params in ({}, {"normalize": False}):
        make(name, **params).fit(X[:, :1], y).predict(X[:, :1])


def test_duplicate_samples(name):
    X, y = make_data(name, n=5)
    model = make(name, max_leaf_samples=1).fit(np.repeat(X, 40, axis=0), np.repeat(y, 40, axis=0))
    assert model.predict(X).shape == (5,)


def test_values_near_the_limits_of_float32(name):
    X, y = make_data(name)
    for scale in (3e37, 1e-40):
        for params in ({}, {"normalize": False}):
            predicted = make(name, **params).fit(X * scale, y).predict(X * scale)
            assert len(predicted) == len(y)


def test_seventy_thousand_labels():
    rng = np.random.default_rng(0)
    n, d = 400, 70_000
    Y = sparse.csr_array(
        (np.ones(3 * n, dtype=np.int8), (np.repeat(np.arange(n), 3), rng.integers(0, d, 3 * n))), (n, d)
    )
    Y.data[:] = 1
    X = sparse.random_array((n, 200), density=0.05, random_state=rng, format="csr")
    model = make("CentroidForestClassifier", n_estimators=2).fit(X, Y)
    labels, _ = model.predict_topk(X, k=5)
    assert labels.max() < d
    found = model.predict_sparse(X, 0.01)
    assert found.shape == (n, d)
    assert found.nnz < 1000 * n


# --- bad input -------------------------------------------------------------------------------------------------------


def test_missing_values_are_refused_in_words(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    bad = X.copy()
    bad[3, 2] = np.nan
    for convert in LAYOUTS.values():
        check_refused(
            model,
            ValueError,
            "X contains NaN, which CentroidForest.* does not support.* must be finite",
            convert(bad),
            y,
        )
        for method in ("predict", "apply"):
            with pytest.raises(ValueError, match="X contains NaN"):
                getattr(model, method)(convert(bad))


def masked_data(name, outputs, n=120):
    """X, y and a mask of y, which hides two samples."""
    X, y = make_data(name, n=n, outputs=outputs)
    mask = np.random.default_rng(2).random(y.shape) < 0.3
    mask[5] = mask[17] = True
    return X, y, mask


@pytest.mark.parametrize("params", WAYS)
def test_unknown_cells_of_y_are_left_out(name, params):
    for outputs in outputs_of(name)[1:]:
        X, y, mask = masked_data(name, outputs)
        build = lambda **more: make(name, **{**SMALL, **params, **more})  # noqa: E731
        model = build().fit(X, y, y_weight=unless(mask))
        # What stands there, how it is told, layouts and threads.
        other = build(n_jobs=2).fit(
            sparse.csc_array(X), np.where(mask, y[::-1], y), y_weight=unless(sparse.coo_array(mask))
        )
        assert model_bytes(other) == model_bytes(model)
        assert model_bytes(build().fit(X, y, y_weight=unless(np.zeros(y.shape)))) == model_bytes(build().fit(X, y))
        # A sample without known cells is absent.
        there = ~mask.all(axis=1)
        assert not there.all()
        without = build().fit(X[there], y[there], y_weight=unless(mask[there]))
        assert without._forest == model._forest
        # Parts, and a forest that grows.
        build_n = lambda n, build=build: build(n_estimators=n, random_state=3)  # noqa: E731
        whole = build_n(4).fit(X, y, y_weight=unless(mask))
        parts = [build_n(4).fit(X, y, y_weight=unless(mask), trees=trees) for trees in (range(3), range(3, 4))]
        assert model_bytes(weald.merge(parts)) == model_bytes(whole)
        grown = build_n(2).set_params(warm_start=True).fit(X, y, y_weight=unless(mask))
        grown.set_params(n_estimators=4).fit(X, y, y_weight=unless(mask))
        assert grown._forest == whole._forest
        loaded = weald.loads(weald.dumps(whole))
        assert model_bytes(loaded) == model_bytes(whole)


def test_out_of_bag_scores_are_those_of_the_known_cells(name):
    for outputs in outputs_of(name)[1:]:
        if name.endswith("Classifier") and outputs != "labels":
            continue
        X, y, mask = masked_data(name, outputs)
        model = make(name, **SMALL).set_params(n_estimators=30, bootstrap=True, oob_score=True)
        model.fit(X, y, y_weight=unless(mask))
        there = ~mask.all(axis=1)
        without = clone(model).fit(X[there], y[there], y_weight=unless(mask[there]))
        assert model.oob_score_ == without.oob_score_
        hidden = clone(model).fit(X, np.where(mask, y[::-1], y), y_weight=unless(mask))
        assert model.oob_score_ == hidden.oob_score_


def test_what_is_unknown_in_every_sample_is_named():
    X, y, mask = masked_data("CentroidForestRegressor", "several")
    mask[:, 1] = True
    model = make("CentroidForestRegressor").fit(X, y)
    check_refused(model, ValueError, "y_mask|unknown|known", X, y, y_weight=unless(mask))
    labels = make_data("CentroidForestClassifier", outputs="labels")[1]
    given = make("CentroidForestClassifier").set_params(output_projection="pca", n_projections=2)
    X = make_data("CentroidForestClassifier", outputs="labels")[0]
    hidden = np.arange(labels.size).reshape(labels.shape) % 7 == 1
    with pytest.raises(ValueError, match=r"output_projection.*masked"):
        given.fit(X, labels, y_weight=unless(hidden))


def test_text_and_categories_are_refused_in_words(name):
    X, y = make_data(name)
    for column in (["a", "b", "c"] * 20, pd.Categorical([1, 2, 3] * 20)):
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(color=column)
        with pytest.raises(
            ValueError, match=r"does not support text or categories, got feature .color..*OneHotEncoder"
        ):
            make(name).fit(frame, y)


BAD = [
    ("n_estimators", 0),
    ("n_children", 1),
    ("n_children", 2**15 + 1),
    ("max_leaf_samples", 0),
    ("n_projections", 0),
    ("n_projections", 2**16 + 1),
    ("n_projections", "many"),
    ("output_projection", "signs"),
    ("output_projection", np.ones((2, 7))),
    ("projection_scope", "leaf"),
    ("max_centroid_features", 0),
    ("min_centroid_weight", 1.0),
    ("min_centroid_weight", -0.1),
    ("sample_size", 1),
    ("n_passes", -1),
    ("refine", "yes"),
    ("soft_routing", 2),
    ("smoothing", -1),
    ("smoothing", np.inf),
    ("normalize", "l2"),
    ("idf", None),
    ("max_depth", 0),
    ("max_samples", 0),
    ("verbose", "loud"),
]


@pytest.mark.parametrize(("parameter", "value"), BAD)
def test_bad_parameters_are_named(name, parameter, value):
    X, y = make_data(name, outputs="several")
    model = make(name).fit(X, y)
    model.set_params(**{parameter: value}, **({"bootstrap": True} if parameter == "max_samples" else {}))
    check_refused(model, ValueError, parameter, X, y)


@pytest.mark.parametrize(
    ("params", "outputs", "message"),
    [
        ({"label_weight": "balanced"}, "single", "label_weight is only supported for y of labels, got y of classes"),
        ({"label_weight": [1.0]}, "labels", r"label_weight must have shape .*got \(1,\)"),
        ({"label_weight": [1.0, -1.0, 1.0]}, "labels", r"label_weight must be finite and not negative, got -1\.0"),
        ({"class_weight": {"z": 1}}, "single", "class_weight"),
        ({"output_projection": "gaussian"}, "single", "output_projection does not support y with a single output"),
        ({"oob_score": True}, "single", "oob_score is not supported with bootstrap=False"),
        ({"max_samples": 0.5}, "single", "max_samples is not supported with bootstrap=False"),
    ],
)
def test_parameters_that_do_not_fit_are_named(params, outputs, message):
    X, y = make_data("CentroidForestClassifier", outputs=outputs)
    model = make("CentroidForestClassifier").fit(X, y)
    check_refused(model.set_params(**params), ValueError, message, X, y)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0], "heavy"])
def test_bad_output_weights_are_named(weights):
    X, y = make_data("CentroidForestRegressor", outputs="several")
    model = make("CentroidForestRegressor").fit(X, y)
    check_refused(model.set_params(output_weights=weights), ValueError, "output_weights", X, y)


def test_output_weights_say_which_outputs_count():
    X, y = make_data("CentroidForestRegressor", n=200, outputs="several")
    alone = make("CentroidForestRegressor", **SMALL).fit(X, y[:, 0])
    weighted = make("CentroidForestRegressor", **SMALL, output_weights=[1, 0, 0]).fit(X, y)
    # The other outputs have leaf values, but no effect on where samples go.
    other = y.copy()
    other[:, 1:] = other[::-1, 1:]
    again = make("CentroidForestRegressor", **SMALL, output_weights=[1, 0, 0]).fit(X, other)
    np.testing.assert_array_equal(weighted.apply(X), again.apply(X))
    assert alone.apply(X).shape == weighted.apply(X).shape


# --- what is not supported -------------------------------------------------------------------------------------------


def test_what_centroid_forests_have_not_says_what_there_is(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    for attribute, instead in (
        ("feature_importances_", "export_centroids"),
        ("decision_path", "apply"),
        ("prune_reduced_error", "max_leaf_samples"),
    ):
        assert not hasattr(model, attribute)
        with pytest.raises(AttributeError, match=f"{name} has no {attribute}: .*{instead}"):
            getattr(model, attribute)
    for refused in (
        lambda: feature_importances(model),
        lambda: weald.inspection.partial_dependence(model, X, [0]),
        lambda: export_rules(model),
    ):
        with pytest.raises(
            TypeError, match=f"estimator must have nodes that test single features, got a {name}.*export_centroids"
        ):
            refused()
    with pytest.raises(TypeError, match="a centroid forest is smaller with"):
        weald.compression.compact_leaves(model, top_k=2)
    compressed = getattr(weald, f"CompressedForest{name.removeprefix('CentroidForest')}")
    with pytest.raises(ValueError, match=f"estimator must be .*got {name}"):
        compressed(estimator=make(name)).fit(X, y)
    # The tools of scikit-learn that only need predictions do work.
    assert permutation_importance(model, X, y, n_repeats=1, random_state=0).importances_mean.shape == (X.shape[1],)
    if name.endswith("Regressor"):
        assert partial_dependence(model, X, [0], grid_resolution=3)["average"].shape == (1, 3)


def test_samples_are_kept_only_when_asked(name):
    X, y = make_data(name)
    with pytest.raises(ValueError, match="keep_rows=True"):
        similar_rows(make(name).fit(X, y), X)
