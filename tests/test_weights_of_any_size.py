"""Weights of any finite size: scores do not depend on their unit, and neither do the choices that folds make."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from every import EVERY, problem
from weald import conformal, metrics
from weald._input import checks

# Powers of two: the largest whose products with small weights are finite, and the least.
UNITS = [2.0**1021, 2.0**-1074]
WEIGHTS = np.arange(60) % 4.0
# The parameters of boosting that are in the unit of weights.
FREE = {"min_weight_leaf": 0.0, "min_sum_hessian_in_leaf": 0.0, "l2_regularization": 0.0}


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
                conformal.coverage(y, intervals, sample_weight=w, y_mask=mask, joint=joint),
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
    model = cls(cv=3, n_estimators=40, max_leaf_nodes=4, random_state=0, **FREE)
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
