"""Every criterion with every kind of y, with and without projection: it is supported, or `fit` raises an error."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import CLASSIFIERS, FORESTS, REGRESSORS, SKLEARN, cases, has_outputs, make, make_data, model_bytes, unless
from oracle import Oracle
from sklearn.metrics import mean_poisson_deviance
from test_laws import layouts
from weald.compression import compact_leaves
from weald.inspection import export_rules, feature_importances

KINDS = ["single", "several", "labels"]
CRITERIA = ["gini", "entropy", "log_loss", "squared_error", "poisson", "absolute_error"]
# The criterion that a fitted model reports without projection: entropy has two names.
GROWN = {
    "gini": "gini",
    "entropy": "entropy",
    "log_loss": "entropy",
    "squared_error": "squared_error",
    "poisson": "poisson",
    "absolute_error": "absolute_error",
}


def data(name, kind):
    """X and y; the outputs of regressors are not negative."""
    X, y = make_data(name, outputs=kind)
    return X, np.exp(y).round(1) if name in REGRESSORS else y


def is_accepted(name, kind, criterion, projection):
    if name in REGRESSORS:
        return criterion == "squared_error" or (criterion in ("poisson", "absolute_error") and projection is None)
    if projection is None:
        return criterion in ("gini", "entropy", "log_loss")
    return criterion in ("gini", "squared_error") and kind != "single"


@pytest.mark.parametrize("projection", [None, "gaussian"])
@pytest.mark.parametrize("criterion", CRITERIA)
@cases(lambda name, kind: has_outputs(name, kind))
@pytest.mark.parametrize("kind", KINDS)
def test_fit_supports_a_criterion_or_refuses_it_before_anything_is_fitted(name, kind, criterion, projection, tmp_path):
    X, y = data(name, kind)
    model = make(name, criterion=criterion, output_projection=projection, max_depth=4)
    if not is_accepted(name, kind, criterion, projection):
        what = "output_projection" if kind == "single" and name in CLASSIFIERS and projection else "criterion"
        with pytest.raises(
            ValueError, match=what if criterion in ("gini", "squared_error") else "criterion|output_projection"
        ):
            model.fit(X, y)
        assert not hasattr(model, "n_features_in_")
        return
    model.fit(X, y)
    grown = "squared_error" if projection else GROWN[criterion]
    path = tmp_path / "model.weald"
    weald.save(model, path)
    assert weald.inspect_model(path)["criterion"] == grown
    again = weald.load(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model_bytes(again) == model_bytes(model)
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    has_medians = criterion == "absolute_error" and kind == "several"
    for chosen in ("all",) if has_medians else ("all", [0]):
        shares = feature_importances(model, outputs=chosen)
        # The shares are divided by their sum, and decreases are differences of float64 sums.
        assert shares.sum() == pytest.approx(1.0, rel=1e-12)
        assert (shares >= -1e-12).all()
        np.testing.assert_array_equal(feature_importances(again, outputs=chosen), shares)
    if projection is None:
        # Splits were searched on the outputs themselves, so that leaves give the stored impurities, up to the order of
        # sums.
        np.testing.assert_allclose(feature_importances(model, outputs="all"), model.feature_importances_, atol=1e-12)
    if has_medians:
        with pytest.raises(
            ValueError, match="outputs must be all outputs with a criterion whose leaves are medians, got some outputs"
        ):
            feature_importances(model, outputs=[0])


def test_impurities_of_poisson_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = rng.poisson(np.exp(X[:, 0] - X[:, 1] / 2)).astype(float)
    w = rng.integers(1, 4, len(X)).astype(float)
    for weights in (None, w):
        # Splits of a few samples often decrease the impurity equally, and each library breaks ties in its own order.
        params = {"criterion": "poisson", "max_depth": 4, "min_samples_leaf": 5, "random_state": 0}
        ours = weald.DecisionTreeRegressor(**params).fit(X, y, sample_weight=weights).tree_
        theirs = sklearn.tree.DecisionTreeRegressor(**params).fit(X, y, sample_weight=weights).tree_
        np.testing.assert_array_equal(ours.feature, theirs.feature)
        # scikit-learn's are float64, ours float32
        np.testing.assert_allclose(ours.threshold, theirs.threshold, rtol=2**-23)
        # The values of scikit-learn are sums of floats.
        np.testing.assert_allclose(ours.impurity, theirs.impurity, rtol=1e-12)
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)
    deviance = mean_poisson_deviance(y, np.full(len(y), np.average(y)))
    root = weald.DecisionTreeRegressor(criterion="poisson", max_depth=1).fit(X, y).tree_.impurity[0]
    # A mean of logarithms, summed in another order.
    assert root == pytest.approx(deviance / 2, rel=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_medians_are_those_of_scikit_learn(n_outputs, weighted):
    rng = np.random.default_rng(n_outputs)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    # Whole numbers below 2**20 and their sums are exact in scikit-learn, too: the same cuts tie in both, and here none
    # does.
    y = np.round(2**16 * (X[:, :n_outputs] - X[:, [4]] / 2 + rng.standard_t(2, (300, n_outputs)) / 4)).squeeze()
    w = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    if weighted and SKLEARN < (1, 8):
        pytest.skip("weighted absolute errors of scikit-learn are correct from 1.8")
    params = {"criterion": "absolute_error", "max_depth": 4, "min_samples_leaf": 9, "random_state": 0}
    model, other = weald.DecisionTreeRegressor(**params), sklearn.tree.DecisionTreeRegressor(**params)
    ours, theirs = model.fit(X, y, sample_weight=w).tree_, other.fit(X, y, sample_weight=w).tree_
    assert ours.node_count > 20
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    # scikit-learn's are float64, ours float32
    np.testing.assert_allclose(ours.threshold, theirs.threshold, rtol=2**-23)
    np.testing.assert_allclose(ours.impurity, theirs.impurity, rtol=1e-12)  # both are quotients of exact sums
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_forests_of_medians_err_as_much_as_those_of_scikit_learn(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    Y = X[:, :2] - X[:, [4]] / 2 + rng.standard_t(2, (600, 2)) / 4
    errors = []
    for module in (weald, sklearn.ensemble):
        model = getattr(module, kind)(50, criterion="absolute_error", min_samples_leaf=3, random_state=0)
        errors.append(np.abs(model.fit(X[:300], Y[:300]).predict(X[300:]) - Y[300:]).mean())
    # Samples, features and thresholds are drawn differently: with fifty trees the errors differ by less than 5 %.
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


def test_an_even_split_of_the_weight_gives_the_mean_of_the_two_in_the_middle():
    y = [1.0, 2.0, 10.0, 0.0]
    for w, median in ((None, 1.5), ([3, 1, 1, 1], 1.0), ([1, 1, 4, 2], 6.0), ([2, 0, 2, 0], 5.5), ([1, 1, 1, 5], 0.0)):
        params = {"criterion": "absolute_error", "min_samples_leaf": 4}
        for module in (weald, sklearn.tree):
            tree = module.DecisionTreeRegressor(**params).fit(np.zeros((4, 1)), y, sample_weight=w)
            assert tree.predict([[0.0]])[0] == median, (module, w)


def test_medians_are_refused_where_means_are_needed():
    X, y = data("RandomForestRegressor", "several")
    tree = weald.DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    forest = weald.RandomForestRegressor(3, criterion="absolute_error").fit(X, y)
    for model in (tree, forest):
        with pytest.raises(
            ValueError, match=r"criterion must be a criterion whose leaves are means.*, got 'absolute_error'"
        ):
            model.prune_reduced_error(X, y)
        with pytest.raises(
            ValueError, match=r"criterion must be a criterion whose leaves are means.*, got 'absolute_error'"
        ):
            compact_leaves(model, training_data=(X, y))
        model.set_params(criterion="absolute_error", output_projection="gaussian")
        with pytest.raises(ValueError, match=r"criterion must be 'squared_error'.*got 'absolute_error'"):
            model.fit(X, y)
        model.set_params(output_projection=None)
        with pytest.raises(ValueError, match=r"criterion must be 'squared_error' .*got 'absolute_error'"):
            model.fit(X, y, y_weight=unless(y > y.mean()))
    with pytest.raises(ValueError, match="max_depth is not supported if leaves are medians"):
        export_rules(tree, max_depth=1)
    assert "if" in export_rules(tree)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize(
    ("bad", "message"), [(-1.0, "y must be at least 0 .*got -1"), (0.0, "y must have a positive sum .*got zeros only")]
)
def test_poisson_refuses_targets_that_it_is_not_for(name, bad, message):
    X, y = data(name, "single")
    model = make(name, criterion="poisson")
    y_bad = np.zeros_like(y)
    y_bad[3] = bad
    with pytest.raises(ValueError, match=message):
        model.fit(X, y_bad)
    assert not hasattr(model, "n_features_in_")
    # A sample of weight zero is ignored.
    weights = np.ones(len(y))
    weights[3] = 0.0
    y[3] = -1.0
    model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("kind", ["single", "several"])
def test_one_poisson_model_whatever_the_layout_the_threads_and_the_order(name, kind):
    X, y = data(name, kind)
    X = X.astype(np.float32)
    expected = model_bytes(make(name, criterion="poisson").fit(X, y))
    for form, Z in layouts(X).items():
        assert model_bytes(make(name, criterion="poisson").fit(Z, y)) == expected, form
    if name in FORESTS:
        assert model_bytes(make(name, criterion="poisson", n_jobs=3).fit(X, y)) == expected
    elif name == "DecisionTreeRegressor":
        order = np.random.default_rng(0).permutation(len(X))
        assert model_bytes(make(name, criterion="poisson").fit(X[order], y[order])) == expected
        twice = make(name, criterion="poisson").fit(X, y, sample_weight=np.full(len(X), 2.0)).tree_
        copies = make(name, criterion="poisson").fit(np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)).tree_
        for what in ("feature", "threshold", "impurity", "value"):
            np.testing.assert_array_equal(getattr(twice, what), getattr(copies, what))


def test_a_split_whose_side_would_sum_to_zero_is_not_made():
    X = np.arange(6.0).reshape(-1, 1)
    tree = weald.DecisionTreeRegressor(criterion="poisson").fit(X, [0, 0, 0, 1, 2, 3]).tree_
    assert tree.threshold[0] > 3  # not 2.5, which would leave three zeros
    assert (tree.value[:, 0, 0] > 0).all()
    # An output that is zero in the whole node adds nothing to the impurities, and does not affect the choice of the
    # split.
    y = np.column_stack([[0, 0, 0, 1, 2, 3], np.zeros(6)])
    both = weald.DecisionTreeRegressor(criterion="poisson").fit(X, y).tree_
    np.testing.assert_array_equal(both.threshold, tree.threshold)
    oracle = Oracle(X, y, None, "poisson")
    # The oracle is exact; the engine computes a few logarithms in float64.
    assert both.impurity[0] == pytest.approx(oracle.impurity(oracle.all_rows), rel=1e-12)


@pytest.mark.parametrize("name", REGRESSORS)
def test_friedman_mse_is_a_former_name_of_squared_error(name):
    X, y = make_data(name)
    expected = make(name).fit(X, y)
    model = make(name, criterion="friedman_mse")
    with pytest.warns(FutureWarning, match="a former name of 'squared_error'"):
        model.fit(X, y)
    assert model_bytes(model) == model_bytes(expected)
    assert model.criterion == "friedman_mse"
