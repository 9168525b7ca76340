"""Partial dependence in the engine equals scikit-learn's recursion, for every model and every kind of y."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.linear_model
import sklearn.tree
import weald
from conftest import SKLEARN
from scipy import sparse
from weald.inspection import partial_dependence
from weald.projection import Projected

# Both sides add up the same terms in a different order.
CLOSE = {"rtol": 1e-12, "atol": 1e-14}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def y(X):
    return X[:, 0] * X[:, 1] + np.abs(X[:, 2])


@pytest.mark.parametrize("features", [[0], [2, 1], [3]])
def test_a_tree_has_the_recursion_of_scikit_learn_on_the_same_tree(X, y, features):
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    # Leaves have several samples, so that no two splits are equally good.
    params = {"min_samples_leaf": 8, "random_state": 0}
    theirs = sklearn.tree.DecisionTreeRegressor(**params).fit(X, y, sample_weight=weights)
    ours = weald.DecisionTreeRegressor(**params).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_array_equal(ours.tree_.n_node_samples, theirs.tree_.n_node_samples)
    expected = sklearn.inspection.partial_dependence(theirs, X, features, grid_resolution=15)
    for found in (
        partial_dependence(ours, X, features, grid_resolution=15),
        sklearn.inspection.partial_dependence(ours, X, features, grid_resolution=15),
    ):
        np.testing.assert_allclose(found["average"], expected["average"], **CLOSE)
        for a, b in zip(found["grid_values"], expected["grid_values"], strict=True):
            np.testing.assert_array_equal(a, b)


def by_recursion(model, features, grid, column=0):
    """The scores of each tree at the points of a grid, node by node, for one output."""
    found = np.zeros((len(model.estimators_), len(grid)))
    for row, member in zip(found, model.estimators_, strict=True):
        tree = member.tree_
        value = tree.value[:, column, -1]
        for p, point in enumerate(grid):
            given = dict(zip(features, point, strict=True))

            def mean(node, given=given, tree=tree, value=value):
                left, right = tree.children_left[node], tree.children_right[node]
                if left < 0:
                    return value[node]
                feature = int(tree.feature[node])
                if feature in given:
                    return mean(left if given[feature] <= tree.threshold[node] else right)
                share = tree.weighted_n_node_samples[left] / tree.weighted_n_node_samples[node]
                return share * mean(left) + (1 - share) * mean(right)

            row[p] = mean(0)
    return found


@pytest.mark.parametrize("cls", [weald.RandomForestRegressor, weald.ExtraTreesRegressor])
def test_scikit_learn_takes_the_recursion_of_forests(X, y, cls):
    forest = cls(5, max_features=2, random_state=0).fit(X, np.column_stack([y, -2 * y]))
    for n_jobs in (1, 2):
        found = sklearn.inspection.partial_dependence(forest.set_params(n_jobs=n_jobs), X, [1], grid_resolution=7)
        grid = found["grid_values"][0][:, None].astype(np.float32)
        for column in range(2):
            expected = by_recursion(forest, [1], grid, column).mean(axis=0)
            np.testing.assert_allclose(found["average"][column], expected, **CLOSE)
    with_rows = sklearn.inspection.partial_dependence(forest, X, [1], grid_resolution=7, method="brute")
    assert with_rows["average"].shape == found["average"].shape
    assert not np.array_equal(with_rows["average"], found["average"])


def test_brute_force_over_the_training_samples_is_the_same_where_features_are_independent(y):
    # On a full grid, every node contains all values of the features that are not tested above it.
    a, b = (part.ravel().astype(np.float32) for part in np.meshgrid(np.arange(6.0), np.arange(5.0)))
    X = np.column_stack([a, b])
    forest = weald.RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, np.sin(a) * b)
    # These are the values of the default grid, too; scikit-learn has the argument from 1.7.
    options = {"custom_values": {0: np.arange(6.0)}} if SKLEARN >= (1, 7) else {}
    brute = sklearn.inspection.partial_dependence(forest, X, [0], method="brute", **options)["average"]
    np.testing.assert_allclose(partial_dependence(forest, X, [0], **options)["average"], brute, **CLOSE)


def test_classes_and_labels_have_a_row_for_each_column_of_probabilities(X, y):
    classes = np.digitize(y, [0, 1])
    labels = sparse.csr_array(np.column_stack([y > 0, y > 1, X[:, 3] > 0, y > 99]).astype(np.int8))
    for target, width in ((classes, 3), (labels, 4), (np.column_stack([classes, classes > 1]), 5)):
        forest = weald.ExtraTreesClassifier(6, random_state=0).fit(X, target)
        average = partial_dependence(forest, X, [0, 1], grid_resolution=4)["average"]
        assert average.shape == (width, 4, 4)
        if width != 4:
            np.testing.assert_allclose(average[:3].sum(axis=0), 1, **CLOSE)
    np.testing.assert_array_equal(partial_dependence(forest, X, [0])["average"].min() >= 0, True)
    one = weald.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, classes)
    forest = weald.RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=4, random_state=0)
    a, b = (partial_dependence(m, X, [2])["average"] for m in (one, forest.fit(X, classes)))
    assert a.shape == b.shape


@pytest.mark.parametrize(
    "params",
    [
        {"output_strategy": "projected"},
        {"output_strategy": Projected(relabel_leaves=False)},
        {"output_strategy": "joint"},
        {"output_strategy": "single_target"},
    ],
    ids=str,
)
def test_boosting_adds_up_what_its_trees_say(X, y, params):
    model = weald.GradientBoostingRegressor(n_estimators=6, random_state=0, **params)
    model.fit(X, np.column_stack([y, X[:, 0], -y]))
    found = partial_dependence(model, X, [0], grid_resolution=9)
    grid = found["grid_values"][0][:, None].astype(np.float32)
    expected = np.repeat(model.start_[:, None], len(grid), axis=1)
    for column in range(3):
        if params == {"output_strategy": "single_target"}:
            expected[column] += by_recursion(model, [0], grid)[column::3].sum(axis=0)
        elif params == {"output_strategy": Projected(relabel_leaves=False)}:
            expected[column] += (
                model.learning_rate_ * model.step_sizes_[:, [column]] * by_recursion(model, [0], grid)
            ).sum(axis=0)
        else:
            expected[column] += by_recursion(model, [0], grid, column).sum(axis=0)
    np.testing.assert_allclose(found["average"], expected, **CLOSE)


def test_classifiers_of_boosting_and_compression_answer_with_scores(X, y):
    labels = np.column_stack([y > 0, y > 1, X[:, 3] > 0]).astype(int)
    boosting = weald.GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, labels)
    small = weald.CompressedForestClassifier(
        weald.ExtraTreesClassifier(5), l1_norm=None, max_steps=30, step_size=0.1, random_state=0
    ).fit(X, labels)
    for model in (boosting, small):
        assert partial_dependence(model, X, [0], grid_resolution=5)["average"].shape == (3, 5)
    grid = partial_dependence(small, X, [0], grid_resolution=5)["grid_values"][0][:, None].astype(np.float32)
    expected = [by_recursion(small, [0], grid, column).mean(axis=0) for column in range(3)]
    found = partial_dependence(small, X, [0], grid_resolution=5)["average"]
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_sparse_X_gives_what_dense_X_gives(X, y):
    X = X * (np.abs(X) > 0.7)
    forest = weald.RandomForestRegressor(5, random_state=0).fit(X, y)
    dense = partial_dependence(forest, X, [3, 0], grid_resolution=8)
    for convert in (sparse.csr_array, sparse.csc_matrix):
        found = partial_dependence(forest, convert(X), [3, 0], grid_resolution=8)
        np.testing.assert_array_equal(found["average"], dense["average"])
        for a, b in zip(found["grid_values"], dense["grid_values"], strict=True):
            np.testing.assert_array_equal(a, b)


def test_names_of_features_are_accepted(X, y):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = weald.RandomForestRegressor(5, random_state=0).fit(frame, y)
    a, b = (partial_dependence(forest, frame, features)["average"] for features in (["c"], [2]))
    np.testing.assert_array_equal(a, b)


def test_what_cannot_be_answered_is_refused_in_words(X, y):
    forest = weald.RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        partial_dependence(forest, X, [4])
    with pytest.raises(ValueError, match="X has 3 features, but RandomForestRegressor is expecting 4"):
        partial_dependence(forest, X[:, :3], [0])
    with pytest.raises(TypeError, match=r"estimator must be .*got a Ridge"):
        partial_dependence(sklearn.linear_model.Ridge().fit(X, y), X, [0])
    weak = weald.GradientBoostingRegressor(
        estimator=sklearn.linear_model.Ridge(), output_strategy=Projected(relabel_leaves=False)
    )
    with pytest.raises(ValueError, match="with estimator=, which has none"):
        partial_dependence(weak.fit(X, y), X, [0])


def test_integers_are_numbers_and_sparse_X_has_names():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (80, 3))
    words = ["apple", "pear", "plum"]
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, X[:, 1] - X[:, 2])
    expected = weald.inspection.partial_dependence(model, X.astype(float), [1])
    frame = pd.DataFrame(X, columns=words)
    of_frame = weald.RandomForestRegressor(3, random_state=0).fit(frame, X[:, 1] - X[:, 2])
    gaps = frame.astype("Int64").mask(np.arange(80)[:, None] < [3, 3, 3])
    for found in (
        weald.inspection.partial_dependence(model, X, [1]),
        weald.inspection.partial_dependence(of_frame, frame, "pear"),
        weald.inspection.partial_dependence(of_frame, gaps, ["pear"]),
        weald.inspection.partial_dependence(model, sparse.csr_array(X), ["pear"], feature_names=words),
        weald.inspection.partial_dependence(model, sparse.csr_array(X), 1),
    ):
        np.testing.assert_array_equal(found["grid_values"][0], [0, 1, 2, 3, 4])
        np.testing.assert_array_equal(found["average"], expected["average"])
    with pytest.raises(ValueError, match=r"features must be integers from 0 to 2 with sparse X, got .'fig'"):
        weald.inspection.partial_dependence(model, sparse.csr_array(X), ["fig"], feature_names=words)
