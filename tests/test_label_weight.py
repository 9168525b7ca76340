"""Weights of labels: how much each label counts in the search for splits."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from conftest import FORESTS, TREES, cases, check_refused, make, make_data, model_bytes
from scipy import sparse
from weald._input import elementary

EVERY = [name for name in [*TREES, *FORESTS] if name.endswith("Classifier")]


def labels(n=120, n_labels=20, seed=0):
    """X and labels, some of which are rare; each label depends on a feature."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 8)).astype(np.float32)
    Y = np.stack([X[:, j % 8] + rng.random(n) > 3 + 2 * j / n_labels for j in range(n_labels)], axis=1)
    Y[0] = True
    return X, Y.astype(float)


def structure(model):
    trees = [model.tree_] if hasattr(model, "tree_") else [tree.tree_ for tree in model]
    return [(t.feature.tolist(), t.threshold.tolist(), t.children_left.tolist()) for t in trees]


@pytest.mark.parametrize("name", EVERY)
def test_splits_are_those_of_targets_times_the_roots_of_the_weights(name):
    X, Y = labels(n_labels=24)
    Y[(Y.sum(axis=1) > 3) & (np.arange(len(Y)) > 0)] = 0
    Y[:, ::5] = 0
    assert Y.mean() < 1 / 8
    weights = np.arange(24) % 4 + 0.5
    params = {} if name in TREES else {"bootstrap": False}
    model = make(name, label_weight=weights, **params).fit(X, Y)
    max_features = model.get_params()["max_features"]
    # From 16 outputs on, targets that are mostly zero are fitted from their stored entries, with the same arithmetic as
    # labels.
    numbers = make(name.replace("Classifier", "Regressor"), max_features=max_features, output_weights=weights, **params)
    assert structure(model) == structure(numbers.fit(X, Y))
    # Both means around the middle of 0 and 1 and quotients of counts are rounded.
    np.testing.assert_allclose(model.predict_proba(X), numbers.predict(X), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", EVERY)
def test_equal_weights_choose_as_none_do(name):
    X, Y = labels()
    plain = make(name).fit(X, Y)
    for weights in (np.ones(20), np.full(20, 7.25)):
        model = make(name, label_weight=weights).fit(X, Y)
        assert structure(model) == structure(plain)
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("name", EVERY)
def test_a_label_of_weight_zero_chooses_nothing(name):
    X, Y = labels()
    params = {} if name in TREES else {"bootstrap": False}
    weights = np.ones(20)
    weights[::2] = 0
    model = make(name, label_weight=weights, **params).fit(X, Y)
    Z = Y.copy()
    Z[:, ::2] = np.random.default_rng(1).integers(0, 2, (len(Y), 10))
    assert structure(make(name, label_weight=weights, **params).fit(X, Z)) == structure(model)
    assert np.ptp(model.predict_proba(X)[:, 0]) > 0


@pytest.mark.parametrize("rule", ["balanced", "propensity", "array"])
@pytest.mark.parametrize("name", EVERY)
def test_laws(name, rule, tmp_path):
    X, Y = labels()
    params = {"label_weight": np.linspace(0, 1, 20) if rule == "array" else rule}
    expected = make(name, **params).fit(X, Y)
    for Z in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        for T in (Y, sparse.csr_array(Y)):
            for n_jobs in [{}] if name in TREES else [{"n_jobs": 2}]:
                model = make(name, **params, **n_jobs).fit(Z, T)
                assert bytes(model._forest.to_bytes()) == bytes(expected._forest.to_bytes())
    counts = np.arange(len(X)) % 3
    params |= {} if name in TREES else {"bootstrap": False}
    weighted = make(name, **params).fit(X, Y, sample_weight=counts)
    rows = np.repeat(np.arange(len(X)), counts)
    repeated = make(name, **params).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    Y[counts == 0] = 1 - Y[counts == 0]
    again = make(name, **params).fit(X, Y, sample_weight=counts)
    assert structure(again) == structure(weighted)
    weighted.save(tmp_path / "model") if hasattr(weighted, "save") else weald.save(weighted, tmp_path / "model")
    assert model_bytes(weald.load(tmp_path / "model")) == model_bytes(weighted)


@pytest.mark.parametrize("rule", ["balanced", "propensity"])
def test_fractional_weights_are_summed_exactly(rule):
    """Neither the order of the samples nor samples of weight zero nor halves of samples change a bit."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(60, 3)).astype(np.float32), sparse.csr_array((rng.random((60, 5)) < 0.4).astype(int))
        w, order = rng.random(60) * (rng.random(60) < 0.7), rng.permutation(60)
        kept = np.flatnonzero(w)
        models = [
            weald.ExtraTreesClassifier(3, label_weight=rule, random_state=0).fit(
                X[rows], Y[rows], sample_weight=w[rows]
            )
            for rows in (np.arange(60), kept, order)
        ]
        assert len({model_bytes(model) for model in models}) == 1


@pytest.mark.parametrize("rule", ["balanced", "balanced_subsample"])
def test_balanced_classes_are_summed_exactly(rule):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)).astype(np.float32), rng.integers(0, 3, 60)
        w, order = rng.random(60) * (rng.random(60) < 0.7), rng.permutation(60)
        kept = np.flatnonzero(w)
        for kind in (weald.RandomForestClassifier, weald.ExtraTreesClassifier):
            models = [
                kind(3, class_weight=rule, random_state=0).fit(X[rows], y[rows], sample_weight=w[rows])
                for rows in (np.arange(60), kept, order)
            ]
            assert len({model_bytes(model) for model in models}) == 1


def test_rules_are_what_they_say():
    X, Y = labels(n_labels=6)
    Y[:, 5] = 0
    share = Y.mean(axis=0)
    # A constant label has weight 0.
    weights = np.where(share > 0, 1 / np.maximum(share * (1 - share), 1e-9), 0)
    tree, by_hand = (
        weald.DecisionTreeClassifier(label_weight=w, random_state=0).fit(X, Y) for w in ("balanced", weights)
    )
    assert structure(tree) == structure(by_hand)
    n, positive = len(Y), Y.sum(axis=0)
    # With the engine's logarithms: others have other last bits, by which ties would end differently.
    power = elementary.exp(0.55 * elementary.log(2.5 / (positive + 1.5)))
    weights = 1 + (elementary.log(n) - 1) * power
    tree, by_hand = (
        weald.DecisionTreeClassifier(label_weight=w, random_state=0).fit(X, Y) for w in ("propensity", weights)
    )
    assert structure(tree) == structure(by_hand)
    # Here all labels are constant.
    assert weald.DecisionTreeClassifier(label_weight="balanced").fit(X, np.ones_like(Y)).tree_.node_count == 1


def test_rare_labels_are_found_where_they_count():
    """In a tree with one split, two frequent labels of one feature hide a rare label of another feature."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] > 0.5, X[:, 1] > 0.97])
    assert weald.DecisionTreeClassifier(max_depth=1).fit(X, Y).tree_.feature[0] == 0
    assert weald.DecisionTreeClassifier(max_depth=1, label_weight=[1, 1, 99]).fit(X, Y).tree_.feature[0] == 1


@pytest.mark.parametrize("way", ["gaussian", "matrix"])
def test_labels_are_weighted_before_they_are_projected(way):
    X, Y = labels()
    weights = np.arange(20) % 3 + 1.0
    phi = np.random.default_rng(0).normal(size=(3, 20))
    params = {"output_projection": phi if way == "matrix" else way, "random_state": 0}
    params |= {} if way == "matrix" else {"n_projections": 3}
    model = weald.DecisionTreeClassifier(label_weight=weights, **params).fit(X, Y)
    numbers = weald.DecisionTreeRegressor(output_weights=weights, **params).fit(X, Y)
    assert structure(model) == structure(numbers)


def test_more_trees():
    X, Y = labels()
    model = weald.RandomForestClassifier(2, warm_start=True, label_weight="balanced", random_state=0).fit(X, Y)
    once = weald.RandomForestClassifier(4, label_weight="balanced", random_state=0).fit(X, Y)
    model.set_params(n_estimators=4).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), once.predict_proba(X))
    with pytest.raises(ValueError, match="output_projection must be set with warm_start=True"):
        model.set_params(n_estimators=6, label_weight=None).fit(X, Y)
    plain = weald.RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="label_weight must be None with warm_start=True"):
        plain.set_params(n_estimators=4, label_weight="balanced").fit(X, Y)


BAD = [
    ([1, 2], r"label_weight must have shape \(3,\), .*got \(2,\)"),
    ([[1, 2, 3]], r"label_weight must have shape \(3,\), one value for each label, got \(1, 3\)"),
    ([1, -1, 1], "label_weight must be finite and not negative, got -1.0"),
    ([1, np.nan, 1], "label_weight must be finite and not negative, got nan"),
    ([1, np.inf, 1], "label_weight must be finite and not negative, got inf"),
    ([0, 0, 0], "label_weight must be positive for at least one label, got zero for every label"),
    (["a", "b", "c"], "label_weight must be a list of numbers"),
    ("rare", "'label_weight' parameter"),
]


@pytest.mark.parametrize(("weights", "message"), BAD)
@pytest.mark.parametrize("name", EVERY)
def test_bad_ones_are_named_and_change_nothing(name, weights, message):
    X, Y = make_data(name, outputs="labels")
    check_refused(make(name).fit(X, Y).set_params(label_weight=weights), ValueError, message, X, Y)


@cases(lambda name, rule: rule == "balanced" or name in FORESTS)  # only forests draw subsamples
@pytest.mark.parametrize("rule", ["balanced", "balanced_subsample"])
@pytest.mark.parametrize("name", [*EVERY, "GradientBoostingClassifier"])
def test_balanced_classes_of_many_labels_are_refused(name, rule):
    X, Y = labels(n_labels=11)
    with pytest.raises(
        ValueError,
        match=f"class_weight='{rule}' supports at most 10 labels, got y with 11 labels.*label_weight='balanced'",
    ):
        make(name, class_weight=rule).fit(X, Y)
    make(name, class_weight=rule).fit(X, Y[:, :10])


@pytest.mark.parametrize("name", EVERY)
def test_what_they_are_not_for_is_refused(name):
    X, Y = make_data(name, outputs="labels")
    y = make_data(name)[1]
    model = make(name, label_weight="balanced").fit(X, Y)
    check_refused(model, ValueError, "label_weight is only supported for y of labels, got y of classes", X, y)
    model = make(name, label_weight="balanced", criterion="entropy")
    with pytest.raises(ValueError, match="criterion must be 'gini' with label_weight, got 'entropy'"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="label_weight does not support monotonic_cst"):
        make(name, label_weight="balanced", monotonic_cst=[1] + [0] * 11).fit(X, Y)


def test_forests_of_weighted_labels_are_compressed():
    X, Y = labels()
    forest = weald.RandomForestClassifier(5, label_weight="balanced", random_state=0)
    for params in ({"l1_norm": None, "max_steps": 20}, {"cv": 2, "max_steps": 20}):
        small = weald.CompressedForestClassifier(forest, random_state=0, **params).fit(X, Y)
        assert structure(small.estimator_) == structure(forest.fit(X, Y))
