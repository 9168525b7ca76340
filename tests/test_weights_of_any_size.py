"""Weights of any finite size: scores do not depend on their unit, and neither do the choices that folds make."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import weald
from conftest import unless
from every import EVERY, problem
from weald import conformal, metrics
from weald._input import checks

# Powers of two: the largest whose products with small weights are finite, and the least.
UNITS = [2.0**1021, 2.0**-1074]
WEIGHTS = np.arange(60) % 4.0
# The parameters of boosting that are in the unit of weights.
FREE = {"min_weight_leaf": 0.0, "l2_regularization": 0.0}


@pytest.mark.parametrize("name", [name for name, entry in EVERY.items() if entry.weights])
def test_scores_do_not_depend_on_the_unit_of_weights(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    model = entry.build().fit(X, y)
    expected = model.score(X, y, sample_weight=WEIGHTS)
    assert np.isfinite(expected)
    assert [model.score(X, y, sample_weight=WEIGHTS * unit) for unit in UNITS] == [expected, expected]


@pytest.mark.parametrize("unit", UNITS)
def test_measures_do_not_depend_on_the_unit_of_weights(unit):
    rng = np.random.default_rng(0)
    Y, scores = rng.integers(0, 2, (60, 3)), rng.random((60, 3))
    for measure in (metrics.roc_auc, metrics.average_precision, metrics.log_loss, metrics.brier):
        for average in ("macro", "micro", "weighted", "samples"):
            options = {"average": average}
            found = measure(Y, scores, sample_weight=WEIGHTS * unit, **options)
            assert found == measure(Y, scores, sample_weight=WEIGHTS, **options)
    y, mask = rng.normal(size=(60, 2)), rng.random((60, 2)) < 0.2
    intervals = np.sort(rng.normal(size=(60, 2, 2)), axis=2)
    for joint in (False, True):
        one, other = (
            (
                conformal.coverage(y, intervals, sample_weight=w, y_weight=unless(mask), joint=joint),
                conformal.size(intervals, sample_weight=w, joint=joint),
            )
            for w in (WEIGHTS, WEIGHTS * unit)
        )
        assert one == other


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["class", "labels", "number", "numbers"])
def test_folds_choose_the_same_stages_in_any_unit_of_weights(kind, unit):
    X, y = problem(kind)
    cls = weald.GradientBoostingClassifier if kind in ("class", "labels") else weald.GradientBoostingRegressor
    model = cls(early_stopping=weald.EarlyStopping(cv=3), n_estimators=40, max_leaf_nodes=4, random_state=0, **FREE)
    found = [model.fit(X, y, sample_weight=np.full(60, weight)).n_estimators_ for weight in (1.0, unit)]
    assert found[0] == found[1] > 1


def test_importances_and_values_of_nodes_do_not_depend_on_the_unit_of_weights():
    X, y = problem("numbers")
    sizes = {"DecisionTree": {}, "RandomForest": {"n_estimators": 5}, "GradientBoosting": {"n_estimators": 5, **FREE}}
    for task, target in (("Regressor", y * 1e100), ("Classifier", (y > 0).astype(int))):
        for name, options in sizes.items():
            model = getattr(weald, name + task)(random_state=0, **options)
            found = []
            for unit in (1.0, *UNITS):
                model.fit(X, target, sample_weight=np.full(60, unit))
                of_one = weald.inspection.feature_importances(model, outputs=None if "Boosting" in name else [0])
                found.append([model.feature_importances_, of_one])
                if name == "DecisionTree":
                    values = model.tree_.value.ravel()
                    found[-1] += [model.tree_.compute_feature_importances(), values / np.abs(values).max()]
            for other in found[1:]:
                # Some ten sums are rounded, at other digits where weights or products with them are subnormal.
                for one, expected in zip(other, found[0], strict=True):
                    np.testing.assert_allclose(one, expected, rtol=1e-9)


def test_relative_weights_keep_their_ratios_and_stay_positive():
    for weights in (WEIGHTS, WEIGHTS * UNITS[0], WEIGHTS * UNITS[1]):
        np.testing.assert_array_equal(checks.relative(weights), WEIGHTS / 4)
    found = checks.relative(np.array([5e-324, 1.7e308, 0.0]))
    assert 0 < found[0] < 1e-100
    assert 0.5 <= found[1] < 1
    assert found[2] == 0
    counted = checks.count_weights(np.array([5e-324, 1.7e308, 1.7e308, 0.0]))
    assert np.isfinite(counted.sum())
    assert (counted[:3] > 0).all()
    assert checks.count_weights(WEIGHTS) is WEIGHTS


# What is in the unit of weights, and weights that are so small together that it decides the model.
TINY = [np.full(60, 1 / 60), np.full(60, 1e-6), np.random.default_rng(0).random(60) * 1e-9]


@pytest.mark.parametrize("weights", TINY, ids=["1/n", "1e-6", "fractions"])
@pytest.mark.parametrize("name", sorted(EVERY))
def test_weights_that_are_tiny_together_change_nothing_or_are_warned_of(name, weights):
    entry = EVERY[name]
    if not entry.weights:
        return
    X, y = problem(entry.outputs[0])

    def fitted(w):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = entry.build().fit(X, y, sample_weight=w)
        told = [str(warning.message) for warning in caught if "multiply sample_weight by" in str(warning.message)]
        return model.score(X, y), told

    if name.startswith("ConformalLabels"):
        # These do not warn, but refuse so few samples.
        with pytest.raises(ValueError, match="A weight of 2 counts as two samples"):
            fitted(weights)
        return
    found, told = fitted(weights)
    factor = float(told[0].split("multiply sample_weight by ")[1].split(",")[0]) if told else 60 / weights.sum()
    assert 0.999 < factor * weights.mean() < 1.001
    expected, none = fitted(weights * factor)
    assert none == []
    if name.startswith("Conformal"):
        # These take such weights as relative. Draws depend on the last bits of weights.
        assert told
        assert "aps" in name or found == pytest.approx(expected, rel=1e-4)
    # Samples may be drawn by other rules where weights are whole numbers.
    assert told or found > expected - 0.15 * max(1.0, abs(expected)), (found, expected)


@pytest.mark.parametrize(
    ("params", "amount", "names"),
    [
        ({}, 1.0, ""),
        ({}, 0.7, ""),
        ({}, 0.2, ""),
        ({}, 0.01, "l2_regularization=1 and min_weight_leaf=2 decide"),
        ({"l2_regularization": 0.0}, 0.01, "min_weight_leaf=2 decides"),
        ({"min_weight_leaf": 0.0}, 0.01, "l2_regularization=1 decides"),
        ({"max_leaf_nodes": 2, "min_weight_leaf": 0.0}, 0.01, ""),
        (FREE, 1e-300, ""),
    ],
    ids=str,
)
def test_the_warning_names_the_parameters_that_decide(params, amount, names):
    X, y = problem("number")
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    model = weald.GradientBoostingRegressor(n_estimators=2, random_state=0, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=np.full(600, amount))
    told = [str(warning.message) for warning in caught]
    assert len(told) == bool(names)
    assert not names or (names in told[0] and f"multiply sample_weight by {1 / amount:.0f}," in told[0])


@pytest.mark.parametrize("weight", [0.7, 1.3, 1 / 3])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("GradientBoostingRegressor", {}),
        ("GradientBoostingRegressor", {"min_weight_leaf": 9.0}),
        ("GradientBoostingRegressor", {"loss": "poisson", "min_weight_leaf": 5.0}),
        ("GradientBoostingClassifier", {"min_weight_leaf": 5.0}),
        ("GradientBoostingRegressor", {"max_bins": None, "categorical_features": [1]}),
        ("DecisionTreeRegressor", {"categorical_features": [1], "min_samples_split": 2}),
        ("DecisionTreeClassifier", {"categorical_features": [1]}),
        ("ExtraTreesRegressor", {}),
    ],
    ids=str,
)
def test_twice_a_weight_is_two_samples_up_to_the_unit(name, params, weight):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=120), rng.integers(0, 12, 120), rng.normal(size=120)]).astype(np.float32)
    y = np.exp(0.5 * X[:, 0] + 0.1 * X[:, 1] + 0.3 * rng.normal(size=120))
    y = (y > np.median(y)).astype(int) if name.endswith("Classifier") else y
    free = {"n_estimators": 12} if hasattr(getattr(weald, name)(), "n_estimators") else {}
    free |= {"subsample": 1.0, "max_features": None} if "Boosting" in name else {}
    model = getattr(weald, name)(random_state=0, **free, **params)
    heavy = np.where(np.arange(120) % 3 == 0, 2 * weight, weight)
    twice = np.repeat(np.arange(120), 1 + (np.arange(120) % 3 == 0))
    one = model.fit(X, y, sample_weight=heavy).predict(X)
    two = model.fit(X[twice], y[twice], sample_weight=np.full(len(twice), weight)).predict(X)
    # The unit is some 2**-44 of a weight; sums and products with gradients are rounded to it.
    np.testing.assert_allclose(one, two, rtol=1e-9)
