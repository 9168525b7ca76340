"""Monotonic and interaction constraints: against every cut in plain loops, against scikit-learn, and on grids."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import ALL, BOOSTING, FORESTS, TREES, check_refused, make, make_data, model_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

EVERY = [*ALL, *BOOSTING]
REGRESSORS = [name for name in EVERY if name.endswith("Regressor")]
CLASSIFIERS = [name for name in EVERY if name.endswith("Classifier")]
# Sums are exact in the engine and rounded here; the data are small whole numbers, so that distinct means differ by
# more.
NEAR = 1e-9


def two_classes(name, n=120):
    """X and y with two classes or one numerical output."""
    X, y = make_data(name, n=n)
    return X, (y == np.unique(y)[0]).astype(int) if name.endswith("Classifier") else y


# --- the twin -------------------------------------------------------------------------------------------------------


class Node:
    """The samples of a node, the ranges of its predictions, and the features on its path."""

    def __init__(self, rows, ranges, path):
        self.rows, self.ranges, self.path = rows, ranges, path


def candidates(X, Y, weight, node, signs, groups, min_samples_leaf):
    """Every cut that the constraints allow: feature, samples that go left, decrease, and whether it is certain."""
    rows = node.rows
    total = weight[rows].sum()

    def mean(part):
        return weight[part] @ Y[part] / weight[part].sum()

    def squares(part):
        return (weight[part, None] * (Y[part] - mean(part)) ** 2).sum() / total / Y.shape[1]

    for feature in range(X.shape[1]):
        if groups is not None and not any(node.path | {feature} <= group for group in groups):
            continue
        column = X[rows, feature]
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        sides = []
        for low in values[:-1]:
            sides += [(column <= low) | (missing & left_too) for left_too in {False, bool(missing.any())}]
        if missing.any() and len(values):
            sides.append(~missing)
        for goes_left in sides:
            left, right = rows[goes_left], rows[~goes_left]
            if min(len(left), len(right)) < min_samples_leaf:
                continue
            a, b = mean(left), mean(right)
            low, high = node.ranges
            # The slack is the margin of the constraints: below zero one is violated, and near zero rounding decides.
            slack = np.array([a - low, b - low, high - a, high - b, signs[feature] * (b - a)])
            slack = slack[:, signs[feature] != 0].min(initial=np.inf)
            if slack >= -NEAR:
                gain = squares(rows) - squares(left) - squares(right)
                yield feature, frozenset(left), gain, slack > NEAR


def check_tree(model, X, Y, weight, signs, groups, min_samples_leaf=1):
    """Every split is the best that the constraints allow, and no leaf with different targets has an allowed one."""
    tree, where = model.tree_, model.decision_path(X).toarray().astype(bool)
    p, d = X.shape[1], Y.shape[1]
    signs = np.broadcast_to(np.reshape(signs, (p, -1)), (p, d))
    root = np.flatnonzero(weight > 0)
    nodes = {0: Node(root, (np.full(d, -np.inf), np.full(d, np.inf)), frozenset())}
    for i in range(tree.node_count):
        node = nodes[i]
        assert set(root[where[root, i]]) == set(node.rows)
        found = list(candidates(X, Y, weight, node, signs, groups, min_samples_leaf))
        best = max((gain for _, _, gain, is_certain in found if is_certain), default=-np.inf)
        if tree.children_left[i] < 0:
            is_pure = (Y[node.rows] == Y[node.rows[0]]).all()
            assert is_pure or best == -np.inf
            continue
        feature = tree.feature[i]
        sides = [node.rows[where[node.rows, child]] for child in (tree.children_left[i], tree.children_right[i])]
        gains = [gain for f, left, gain, _ in found if f == feature and left == frozenset(sides[0])]
        assert gains, "a split that the constraints refuse"
        assert gains[0] >= best - NEAR
        a, b = (weight[side] @ Y[side] / weight[side].sum() for side in sides)
        low, high, middle = *node.ranges, (a + b) / 2
        up, down = signs[feature] == 1, signs[feature] == -1
        ranges = [
            (np.where(down, middle, low), np.where(up, middle, high)),
            (np.where(up, middle, low), np.where(down, middle, high)),
        ]
        for child, side, inside in zip((tree.children_left[i], tree.children_right[i]), sides, ranges, strict=True):
            nodes[child] = Node(side, inside, node.path | {int(feature)})


@st.composite
def problems(draw):
    n, p, d = draw(st.integers(1, 14)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, -1.0, -2.0, np.nan] if draw(st.booleans()) else range(-3, 4))
    X = np.array(draw(st.lists(values, min_size=n * p, max_size=n * p)), dtype=np.float64).reshape(n, p)
    Y = np.array(draw(st.lists(st.integers(-5, 5), min_size=n * d, max_size=n * d)), dtype=np.float64).reshape(n, d)
    weight = np.array(draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=n, max_size=n)), dtype=np.float64)
    weight[0] = 1
    of_outputs = draw(st.sampled_from([1, d]))
    signs = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=p * of_outputs, max_size=p * of_outputs))
    groups = draw(st.one_of(st.none(), st.lists(st.sets(st.integers(0, p - 1)), max_size=3)))
    return X, Y, weight, np.array(signs).reshape(p, of_outputs), groups, draw(st.integers(1, 2))


@pytest.mark.slow("crates/weald/src/split")
@settings(max_examples=300, deadline=None)
@given(problems())
def test_trees_are_those_of_plain_loops(problem):
    X, Y, weight, signs, given_groups, least = problem
    p = X.shape[1]
    groups = given_groups
    if groups is not None:
        groups = [set(group) for group in groups]
        groups.append(set(range(p)) - set().union(*groups))
    for form in (X, sparse.csr_array(X), sparse.csc_array(X)):
        model = weald.DecisionTreeRegressor(
            monotonic_cst=signs, interaction_cst=given_groups, min_samples_leaf=least, random_state=0
        ).fit(form, Y, sample_weight=weight)
        check_tree(model, X, Y, weight, signs, groups, least)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_bins_and_entries_find_the_same_constrained_trees(problem):
    X, Y, weight, signs, groups, _ = problem
    strategies = ["joint", "single_target"] if Y.shape[1] > 1 else ["joint"]
    for strategy in strategies:
        params = {
            "monotonic_cst": signs,
            "interaction_cst": groups,
            "output_strategy": strategy,
            "min_weight_leaf": 1.0,
            "n_estimators": 3,
            "random_state": 0,
        }
        y = Y if Y.shape[1] > 1 else Y[:, 0]
        models = [
            weald.GradientBoostingRegressor(max_bins=max_bins, **params).fit(form, y, sample_weight=weight)
            for max_bins in (255, None)
            for form in (X, sparse.csr_array(X))
        ]
        for other in models[1:]:
            np.testing.assert_array_equal(other.predict(X), models[0].predict(X))


# --- what predictions do ----------------------------------------------------------------------------------------------


def check_monotonic(predict, X, signs):
    """Predictions never move against the direction of a feature, whatever the values of the other features are."""
    for feature, sign in enumerate(signs):
        if sign == 0:
            continue
        grid = np.unique(np.concatenate([X[:, feature], np.linspace(-4, 4, 40)]))
        grid = grid[~np.isnan(grid)]
        for row in X[:25]:
            rows = np.repeat(row[None], len(grid), axis=0)
            rows[:, feature] = grid
            assert (np.diff(predict(rows), axis=0) * sign >= 0).all()


SIGNS = [1, -1, 0, 1]


@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_of_regressors_are_monotonic(name):
    X, y = make_data(name, n=150)
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    for params in ({}, {"min_samples_leaf": 3}, {"max_leaf_nodes": 8}, {"max_features": 0.5}):
        model = make(name, monotonic_cst=signs, **params).fit(X, y)
        check_monotonic(model.predict, X.astype(np.float64), signs)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_of_two_classes_are_monotonic(name):
    X, y = two_classes(name)
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    model = make(name, monotonic_cst=signs, max_depth=6).fit(X, y)
    check_monotonic(lambda rows: model.predict_proba(rows)[:, 1], X.astype(np.float64), signs)


@pytest.mark.parametrize("criterion", ["poisson", "squared_error"])
def test_other_criteria_are_monotonic(criterion):
    X, y = make_data("DecisionTreeRegressor", n=150)
    y = np.abs(y) + 0.5
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    model = weald.DecisionTreeRegressor(criterion=criterion, monotonic_cst=signs).fit(X, y)
    assert model.tree_.node_count > 5
    check_monotonic(model.predict, X.astype(np.float64), signs)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_labels_are_monotonic_each_in_its_direction(criterion):
    X, Y = make_data("DecisionTreeClassifier", n=150, outputs="labels")
    signs = np.random.default_rng(0).integers(-1, 2, (X.shape[1], Y.shape[1]))
    for name in ("DecisionTreeClassifier", "ExtraTreesClassifier"):
        model = make(name, criterion=criterion, monotonic_cst=signs).fit(X, Y)
        for label in range(Y.shape[1]):

            def probability(rows, model=model, label=label):
                return model.predict_proba(rows)[:, label]

            check_monotonic(probability, X.astype(np.float64), signs[:, label])


@pytest.mark.parametrize("leaf_estimation", ["newton", "line_search"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
)
def test_every_regression_loss_is_monotonic_and_never_rises(loss, leaf_estimation):
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, (150, 4)).astype(np.float64)
    # Some outputs depend on features against their directions, so that leaf values have to be limited.
    Y = np.exp(0.3 * (X @ rng.normal(size=(4, 2)) + rng.normal(size=(150, 2))))
    signs = np.array([[1, -1], [-1, -1], [0, 1], [1, 1]])
    params = {"monotonic_cst": signs, "loss": loss, "leaf_estimation": leaf_estimation, "n_estimators": 12}
    params |= {"subsample": 1.0}
    for strategy in ("joint", "single_target", "auto"):
        model = weald.GradientBoostingRegressor(output_strategy=strategy, **params).fit(X, Y)
        for output in range(2):

            def number(rows, output=output, model=model):
                return model.predict(rows)[:, output]

            check_monotonic(number, X, signs[:, output])
        of_one = weald.GradientBoostingRegressor(output_strategy=strategy, learning_rate=1.0, **params).fit(X, Y)
        # The losses are sums of rounded terms.
        assert (np.diff(of_one.train_score_) <= 1e-12 * np.abs(of_one.train_score_[:-1])).all()


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "squared_error"])
def test_labels_are_boosted_in_order(loss):
    X, Y = make_data("DecisionTreeClassifier", n=150, outputs="labels")
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    for strategy in ("joint", "single_target"):
        params = {"monotonic_cst": signs, "loss": loss, "output_strategy": strategy, "n_estimators": 15}
        model = weald.GradientBoostingClassifier(**params).fit(X, Y)
        check_monotonic(model.decision_function, X.astype(np.float64), signs)
        of_one = weald.GradientBoostingClassifier(learning_rate=1.0, **params).fit(X, Y)
        # The losses are sums of rounded terms, which are computed from float32 scores.
        assert (np.diff(of_one.train_score_) <= 1e-6 * np.abs(of_one.train_score_[:-1])).all()


def features_on_paths(tree):
    """The features on the path to each leaf."""
    paths = {0: frozenset()}
    for i in range(tree.node_count):
        if tree.children_left[i] < 0:
            yield paths[i]
            continue
        for child in (tree.children_left[i], tree.children_right[i]):
            paths[child] = paths[i] | {int(tree.feature[i])}


def trees_of(model):
    if hasattr(model, "tree_"):
        return [model.tree_]
    return [tree.tree_ for tree in np.ravel(model.estimators_)]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("groups", ["pairwise", "no_interactions", [[0, 1], (1, 2), {3}], []])
def test_only_features_of_one_group_meet(name, groups):
    X, y = make_data(name, n=120)
    p = X.shape[1]
    allowed = {
        "pairwise": [set(pair) for pair in itertools.combinations(range(p), 2)],
        "no_interactions": [{j} for j in range(p)],
    }.get(groups if isinstance(groups, str) else "", [set(g) for g in groups if not isinstance(groups, str)])
    allowed.append(set(range(p)) - set().union(*allowed))
    for params in ({}, {"max_features": 2}, {"max_features": 0.5, "max_leaf_nodes": 9}):
        model = make(name, interaction_cst=groups, **params).fit(X, y)
        paths = [path for tree in trees_of(model) for path in features_on_paths(tree)]
        assert all(any(path <= group for group in allowed) for path in paths)
        assert any(paths)
        other = make(name, interaction_cst=groups, **params).fit(sparse.csc_array(X), y)
        assert model_bytes(other) == model_bytes(model)


def test_features_are_drawn_of_those_that_are_allowed():
    # Below the root only the two features of one group are allowed, out of forty: the two that are drawn must be these.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    y = X[:, 0] + X[:, 1] * (X[:, 0] > 0)
    groups = [[2 * j, 2 * j + 1] for j in range(20)]
    for form in (X, sparse.csr_array(X)):
        model = weald.DecisionTreeRegressor(max_features=2, interaction_cst=groups, random_state=0).fit(form, y)
        assert model.get_depth() > 3
        assert model.score(form, y) == 1.0


# --- against scikit-learn ---------------------------------------------------------------------------------------------


def same_tree(ours, theirs):
    np.testing.assert_array_equal(ours.children_left, theirs.children_left)
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    # scikit-learn's thresholds are midpoints in float64, and ours are rounded down to float32.
    inner = theirs.children_left >= 0
    np.testing.assert_allclose(ours.threshold[inner], theirs.threshold[inner], rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_trees_are_scikit_learns_where_no_cuts_tie(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    y = X @ [1.0, -0.5, 0.3] + rng.normal(size=300)
    signs = rng.permutation([1, -1, 0])
    # In small nodes, cuts on different features can divide the samples in the same way.
    for params in ({"max_depth": 4}, {"min_samples_leaf": 15}):
        ours, theirs = (
            module.DecisionTreeRegressor(monotonic_cst=signs, random_state=0, **params).fit(X, y)
            for module in (weald, sklearn.tree)
        )
        same_tree(ours.tree_, theirs.tree_)
        # Means are rounded once here, and are sums of rounded numbers in scikit-learn.
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12, atol=1e-12)
        # Without weights the counts of classes could make cuts tie; random weights prevent this.
        classes, weight = (y > 0.2).astype(int), rng.uniform(0.5, 1.5, 300)
        ours, theirs = (
            module.DecisionTreeClassifier(monotonic_cst=signs, random_state=0, max_depth=3).fit(X, classes, weight)
            for module in (weald, sklearn.tree)
        )
        same_tree(ours.tree_, theirs.tree_)
        # Weights are rounded to 2⁻²⁵ of their total or finer.
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.slow("crates/weald/src/split", "crates/weald/src/boost")
def test_boosting_scores_as_hist_gradient_boosting_does():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 5))
    y = 2 * X[:, 0] - X[:, 1] + np.sin(4 * X[:, 2]) + rng.normal(scale=0.5, size=600)
    signs = [1, -1, 0, 0, 0]
    ours = weald.GradientBoostingRegressor(monotonic_cst=signs).fit(X[:300], y[:300])
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(monotonic_cst=signs).fit(X[:300], y[:300])
    free = weald.GradientBoostingRegressor().fit(X[:300], y[:300])
    # Both learn the same function from 300 samples; 0.03 is the spread between seeds.
    assert ours.score(X[300:], y[300:]) > theirs.score(X[300:], y[300:]) - 0.03
    assert ours.score(X[300:], y[300:]) > free.score(X[300:], y[300:]) - 0.01


# --- the laws ---------------------------------------------------------------------------------------------------------


def constrained(name, X, **params):
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    return make(name, monotonic_cst=signs, interaction_cst=[[0, 1, 2], [2, 3]], **params)


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_one_model_for_every_layout_and_number_of_threads(name, has_missing):
    X, y = two_classes(name)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.4, 0, X).astype(np.float32)
    if has_missing:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    settings_of = [{}, {"max_features": 0.4}]
    if name in BOOSTING:
        settings_of += [{"max_bins": None}, {"max_bins": 4}]
    for params in settings_of:
        expected = constrained(name, X, **params).fit(X, y)
        assert max(len(tree.feature) for tree in trees_of(expected)) > 3
        for form in (np.asfortranarray(X), X.astype(np.float64), sparse.csr_array(X), sparse.csc_array(X)):
            threads = {} if name in TREES else {"n_jobs": 2}
            other = constrained(name, X, **params, **threads).fit(form, y)
            assert model_bytes(other) == model_bytes(expected), params


@pytest.mark.parametrize("name", EVERY)
def test_weights_are_counts(name):
    X, y = two_classes(name)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    params = {"bootstrap": False} if name in FORESTS else {}
    weighted = constrained(name, X, **params).fit(X, y, sample_weight=w)
    removed = constrained(name, X, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    copied = constrained(name, X, **params).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.apply(X), copied.apply(X))


@pytest.mark.parametrize("name", EVERY)
def test_what_is_saved_predicts_the_same(name, tmp_path):
    X, y = two_classes(name)
    model = constrained(name, X).fit(X, y)
    weald.save(model, tmp_path / "model")
    for other in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert model_bytes(other) == model_bytes(model)
        assert other.interaction_cst == model.interaction_cst
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("name", EVERY)
def test_constraints_that_say_nothing_are_none(name):
    X, y = make_data(name, n=90)
    expected = make(name).fit(X, y)
    everything = list(range(X.shape[1]))
    for params in ({"monotonic_cst": np.zeros(X.shape[1])}, {"interaction_cst": [everything]}, {"interaction_cst": []}):
        other = make(name, **params).fit(X, y)
        np.testing.assert_array_equal(other.apply(X), expected.apply(X))
        np.testing.assert_array_equal(other.predict(X), expected.predict(X))


# In the other regressors, thresholds are drawn, or samples by their values.
@pytest.mark.parametrize("name", [n for n in REGRESSORS if not n.startswith("Extra") and n not in FORESTS])
def test_opposite_monotonic_constraints_on_negated_features_predict_the_same(name):
    X, y = make_data(name, n=90)
    ties_nothing = np.random.default_rng(0).normal(size=X.shape)
    signs = (SIGNS * X.shape[1])[: X.shape[1]]
    params = {"max_features": None} | ({"subsample": 1.0} if name in BOOSTING else {})
    one = make(name, monotonic_cst=signs, **params).fit(ties_nothing, y)
    other = make(name, monotonic_cst=[-sign for sign in signs], **params).fit(-ties_nothing, y)
    # Sums are exact; the predictions are divided and added in the same order.
    np.testing.assert_allclose(other.predict(-ties_nothing), one.predict(ties_nothing), rtol=1e-12, atol=1e-12)


def test_names_of_a_frame_are_features():
    X, y = make_data("DecisionTreeRegressor", n=90)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    by_name = weald.RandomForestRegressor(
        10, monotonic_cst={"f1": 1, "f0": -1}, interaction_cst=[["f0", "f1"], ["f1", 2]], random_state=0
    ).fit(frame, y)
    signs = [-1, 1] + [0] * (X.shape[1] - 2)
    by_place = weald.RandomForestRegressor(
        10, monotonic_cst=signs, interaction_cst=[[0, 1], [1, 2]], random_state=0
    ).fit(frame, y)
    np.testing.assert_array_equal(by_name.apply(frame), by_place.apply(frame))


def test_one_sample_one_class_and_constant_features():
    for name in EVERY:
        X = np.zeros((3, 2))
        model = make(name, monotonic_cst=[1, -1], interaction_cst=[[0]]).fit(X, [0, 1, 1])
        assert all(tree.node_count == 1 for tree in trees_of(model))
        if name in REGRESSORS:
            make(name, monotonic_cst=[1, -1]).fit(X[:1], [1])
        elif name not in BOOSTING:
            make(name, monotonic_cst=[1, -1]).fit(X, [1, 1, 1])


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"monotonic_cst": [1, 0]}, "monotonic_cst has shape 2 but the input data X has"),
        ({"monotonic_cst": "up"}, "monotonic_cst"),
        ({"monotonic_cst": [[1], [0]]}, "monotonic_cst"),
        ({"monotonic_cst": {"a": 1}}, "monotonic_cst must have names of columns of X, got 'a'"),
        ({"monotonic_cst": {99: 1}}, "monotonic_cst must have indices from 0 to 11, got 99"),
        ({"monotonic_cst": {0: 2}}, "monotonic_cst must be None or an array-like of -1, 0 or 1"),
        ({"interaction_cst": "all"}, "interaction_cst"),
        ({"interaction_cst": [1, 2]}, "interaction_cst must be.*got the group 1"),
        ({"interaction_cst": [["a"]]}, "interaction_cst must have names of columns of X, got 'a'"),
        ({"interaction_cst": [[-1]]}, "interaction_cst must have indices from 0 to 11, got -1"),
        ({"interaction_cst": [[0.5]]}, r"interaction_cst must have indices or names of features, got 0\.5"),
    ],
)
def test_bad_constraints_are_refused(name, params, message):
    X, y = two_classes(name)
    check_refused(make(name).fit(X, y).set_params(**params), ValueError, message, X, y)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("value", [2, -2, 0.5, np.nan])
def test_directions_are_signs(name, value):
    X, y = two_classes(name)
    signs = np.zeros(X.shape[1])
    signs[1] = value
    model = make(name).fit(X, y).set_params(monotonic_cst=signs)
    check_refused(model, ValueError, "monotonic_cst must be None or an array-like of -1, 0 or 1", X, y)


def test_monotonic_constraints_are_refused_where_they_have_no_meaning():
    X, y = make_data("RandomForestRegressor", n=60)
    signs = [1] + [0] * (X.shape[1] - 1)
    codes = np.abs(X).round()
    classes = np.arange(60) % 3
    several = np.column_stack([y, y])
    masked = several.copy()
    masked[0, 0] = np.nan
    forest, boosting = weald.RandomForestRegressor, weald.GradientBoostingRegressor
    for model, data, message in [
        (
            forest(monotonic_cst=signs, categorical_features=[0]),
            (codes, y),
            "monotonic_cst must be 0 for categorical features",
        ),
        (forest(monotonic_cst=signs, output_projection="gaussian"), (X, several), "monotonic_cst .* projection"),
        (forest(monotonic_cst=signs), (X, masked), "monotonic_cst .* masked"),
        (boosting(monotonic_cst=signs), (X, masked), "monotonic_cst .* masked"),
        (
            boosting(monotonic_cst=signs, output_strategy="projected"),
            (X, several),
            "monotonic_cst .* output_strategy='projected'",
        ),
        (weald.RandomForestClassifier(monotonic_cst=signs), (X, classes), "monotonic_cst .* two classes"),
        (
            weald.GradientBoostingClassifier(monotonic_cst=signs),
            (X, classes),
            "monotonic_cst is not supported for the log loss of three and more classes",
        ),
        (
            weald.CompressedForestRegressor(forest(monotonic_cst=signs)),
            (X, y),
            "CompressedForestRegressor does not support an estimator with",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*data)
    boosted = boosting(monotonic_cst=signs).fit(X, y)
    before = model_bytes(boosted)
    with pytest.raises(ValueError, match="monotonic_cst"):
        boosted.refit_leaves(X, y)
    assert model_bytes(boosted) == before
