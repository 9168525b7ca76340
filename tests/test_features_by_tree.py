"""Features drawn for each tree of boosting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import weald
from boosting_twin import WHOLE
from conftest import BOOSTING, check_refused, make, make_data
from scipy import sparse
from sklearn.linear_model import Ridge

CLASSIFIER, REGRESSOR = BOOSTING
STRATEGIES = [
    {"output_strategy": "joint"},
    {"output_strategy": "single_target"},
    {"output_strategy": "projected"},
    {"output_strategy": "projected", "relabel_leaves": False},
]


def used(tree):
    """The features that a tree splits on."""
    feature = tree.tree_.feature
    return frozenset(feature[feature >= 0].tolist())


@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_tree_is_the_one_of_X_where_the_features_not_drawn_are_constant(container, max_bins):
    rng = np.random.default_rng(0)
    X = np.round(rng.random((80, 4)), 2) * (rng.random((80, 4)) < 0.8)
    y = X @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=80)  # no two splits are equally good
    params = {**WHOLE, "n_estimators": 1, "max_bins": max_bins}
    subsets = list(itertools.combinations(range(4), 2))
    twins = {}
    for kept in subsets:
        alone = np.zeros_like(X)
        alone[:, kept] = X[:, kept]
        twins[kept] = make(REGRESSOR, **params).fit(container(alone), y).predict(container(X))
    counts = dict.fromkeys(subsets, 0)
    n_seeds = 120
    for seed in range(n_seeds):
        model = make(REGRESSOR, max_features_by_tree=2, random_state=seed, **params).fit(container(X), y)
        predicted = model.predict(container(X))
        found = [kept for kept in subsets if np.array_equal(predicted, twins[kept])]
        assert len(found) == 1
        counts[found[0]] += 1
    # Each pair is expected 20 times, with a standard deviation of 4.1: the bounds are about five of them away.
    assert min(counts.values()) >= 1, counts
    assert max(counts.values()) <= 40, counts


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("name", BOOSTING)
def test_every_tree_has_so_many_features_and_stages_draw_anew(name, params):
    X, y = make_data(name, outputs="labels" if name == CLASSIFIER else "several")
    p = X.shape[1]
    model = make(name, n_estimators=30, max_features_by_tree=2, **params).fit(X, y)
    sets = [used(tree) for tree in model.estimators_]
    assert max(map(len, sets)) == 2
    assert len(set(sets)) > 3
    assert frozenset.union(*sets) == set(range(p))
    assert (model.feature_importances_ > 0).all()
    # The shares of the features are divided by their sum, so that only rounding is left.
    assert model.feature_importances_.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("params", [*STRATEGIES, {"max_features": 3}])
@pytest.mark.parametrize("every", [1.0, 10**30])
def test_max_features_by_tree_of_all_features_equals_None_to_the_bit(params, every):
    X, y = make_data(REGRESSOR, outputs="several")
    one, other = (make(REGRESSOR, max_features_by_tree=value, **params).fit(X, y) for value in (None, every))
    assert one._model.to_bytes() == other._model.to_bytes()


def test_nodes_draw_from_the_features_of_the_tree():
    X, y = make_data(REGRESSOR)
    p = X.shape[1]
    for by_tree, by_node, expected in [
        (None, "sqrt", int(np.sqrt(p))),
        (4, "sqrt", 2),
        (4, "log2", 2),
        (4, 0.5, 2),
        (2, 3, 2),
        (3, None, 3),
        ("sqrt", None, int(np.sqrt(p))),
        ("log2", None, int(np.log2(p))),
        (0.5, None, p // 2),
        (1e-9, 1e-9, 1),
        (None, "half", -(-p // 2)),
        (6, "half", 4),
        (3, "half", 3),
        ("half", None, -(-p // 2)),
    ]:
        model = make(REGRESSOR, max_features_by_tree=by_tree, max_features=by_node).fit(X, y)
        assert model.max_features_ == expected, (by_tree, by_node)


@pytest.mark.parametrize("name", BOOSTING)
@pytest.mark.parametrize("bad", [0, -1, 0.0, 1.5, np.nan, "all", [2]])
def test_messages_are_those_of_max_features(name, bad):
    X, y = make_data(name)
    said = []
    for parameter in ("max_features", "max_features_by_tree"):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of {name}") as raised:
            make(name, **{parameter: bad}).fit(X, y)
        said.append(str(raised.value).replace(parameter, ""))
    # Only max_features of classifiers is "auto", by default.
    assert said[0].replace(", None or a str among {'auto'}", " or None") == said[1]
    model = make(name).fit(X, y)
    check_refused(model.set_params(max_features_by_tree=bad), ValueError, "max_features_by_tree", X, y)


def test_features_that_are_constant_count():
    X = np.zeros((50, 20))
    X[:, 0] = np.arange(50)
    y = X[:, 0] % 7
    model = make(REGRESSOR, n_estimators=40, max_features_by_tree=1).fit(X, y)
    grown = [used(tree) for tree in model.estimators_]
    assert frozenset() in grown
    assert frozenset({0}) in grown


def test_it_is_kept_in_files_and_by_a_warm_start(tmp_path):
    X, y = make_data(CLASSIFIER)
    whole = make(CLASSIFIER, n_estimators=9, max_features_by_tree=3).fit(X, y)
    parts = make(CLASSIFIER, n_estimators=4, max_features_by_tree=3, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=9).fit(X, y)
    assert whole._model.to_bytes() == parts._model.to_bytes()
    weald.save(whole, tmp_path / "model.weald")
    assert weald.load(tmp_path / "model.weald").max_features_by_tree == 3


def test_weak_models_have_all_features():
    X, y = make_data(REGRESSOR)
    weak = {"estimator": Ridge(), "output_strategy": "joint", "n_estimators": 3}
    one, other = (make(REGRESSOR, max_features_by_tree=value, **weak).fit(X, y) for value in (None, 1))
    assert np.array_equal(one.predict(X), other.predict(X))
