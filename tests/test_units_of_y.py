"""Numbers in any unit: a model of y in another unit, or of y plus an offset, predicts the same numbers in that unit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import weald
from sklearn.linear_model import LinearRegression
from weald.loss import Huber, Quantile
from weald.projection import Projected

N = 160
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
NOISE = 0.3 * RNG.normal(size=(N, 3))
Y = np.column_stack([2 * X[:, 0] + (X[:, 1] > 0), X[:, 2] - X[:, 3] * X[:, 0], np.sin(2 * X[:, 1])]) + NOISE
JOINT = {"output_strategy": "joint"}
RANK_ONE = {"output_strategy": Projected(relabel_leaves=False)}
SEARCHED = {"leaf_estimation": "line_search", "l2_regularization": 0.0}


def boosting(unit, loss="squared_error", **params):
    # The parameter of "huber" is in the unit of y.
    loss = Huber(unit) if loss == "huber" else loss
    return weald.GradientBoostingRegressor(n_estimators=10, loss=loss, random_state=0, n_jobs=1, **params)


def forest(name, **params):
    return lambda unit: getattr(weald, name)(5, random_state=0, n_jobs=1, **params)


def boosted(**params):
    return lambda unit: boosting(unit, **params)


MODELS = {
    "default": lambda unit: weald.GradientBoostingRegressor(random_state=0, n_jobs=1),
    "early stopping": boosted(early_stopping=True),
    "joint": boosted(**JOINT),
    "joint, scaled": boosted(output_scaling="variance", **JOINT),
    "projected": boosted(output_strategy="projected"),
    "rank one": boosted(**RANK_ONE),
    "absolute error": boosted(loss="absolute_error"),
    "absolute error, searched": boosted(loss="absolute_error", **SEARCHED),
    "absolute error, searched, joint": boosted(loss="absolute_error", **SEARCHED, **JOINT),
    "absolute error, rank one": boosted(loss="absolute_error", **RANK_ONE),
    "quantile, searched": boosted(loss=Quantile(0.7), **SEARCHED),
    "quantile, searched, joint": boosted(loss=Quantile(0.7), **SEARCHED, **JOINT),
    "huber": boosted(loss="huber"),
    "huber, searched, joint": boosted(loss="huber", **SEARCHED, **JOINT),
    "weak": boosted(estimator=LinearRegression(), **JOINT),
    "weak, absolute error": boosted(estimator=LinearRegression(), loss="absolute_error", **JOINT),
    "random forest": forest("RandomForestRegressor"),
    "absolute forest": forest("RandomForestRegressor", criterion="absolute_error"),
    "extra trees": forest("ExtraTreesRegressor"),
    "projected forest": forest("ExtraTreesRegressor", output_projection="gaussian"),
    "centroids": forest("CentroidForestRegressor"),
    "compressed": lambda unit: weald.CompressedForestRegressor(
        weald.ExtraTreesRegressor(5, random_state=0), cv=3, random_state=0
    ),
    "induced": lambda unit: weald.InducedForestRegressor(
        weald.ExtraTreesRegressor(5, random_state=0), n_nodes=60, random_state=0
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**40, 1e-9, 1e12])
def test_predictions_are_in_the_unit_of_y(name, unit):
    expected, found = (MODELS[name](u).fit(X, Y * u).predict(X) / u for u in (1.0, unit))
    # Searches end where a step changes by 1e-7 of its size, and numbers are rounded at other digits.
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_an_offset_of_y_is_added_to_the_predictions(name):
    expected, found = (MODELS[name](1.0).fit(X, Y + offset).predict(X) - offset for offset in (0.0, 2.0**20))
    # The offset rounds y, so that a search may choose another of two equal splits. Clusters are found by 20 bits of y.
    assert name == "centroids" or np.isclose(found, expected, atol=1e-5).mean() > 0.97
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.95


@pytest.mark.parametrize(
    "name", [name for name in MODELS if "joint" in name or name in ("default", "rank one", "weak")]
)
def test_one_output_a_billion_times_the_others_is_fitted(name):
    units = np.array([1.0, 1e9, 1.0])
    model = MODELS[name](1.0)
    if "huber" in name:
        model.set_params(loss=Huber(1e10))  # squares
    found = model.fit(X, Y * units).predict(X) / units
    residual, of_mean = np.abs(found - Y).mean(axis=0), np.abs(Y - Y.mean(axis=0)).mean(axis=0)
    assert residual[1] < 0.97 * of_mean[1]
    assert (residual < 1.001 * of_mean).all()


@pytest.mark.parametrize("loss", ["poisson", weald.loss.Tweedie(1.5), "gamma"])
@pytest.mark.parametrize(("unit", "warns"), [(1.0, False), (1e-2, True), (1e-9, True), (1e12, False)])
def test_numbers_in_a_unit_that_regularization_does_not_suit_are_warned_of(loss, unit, warns):
    y = np.exp(0.3 * Y)
    for target in (y[:, 0] * unit, y * [1.0, unit, 1.0]):
        model = weald.GradientBoostingRegressor(n_estimators=20, learning_rate=0.3, loss=loss, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, target)
        told = [str(warning.message) for warning in caught if "multiply y by a factor" in str(warning.message)]
        assert len(told) == (warns and loss != "gamma")
        assert not told or ("l2_regularization=1" in told[0] and "mean of" in told[0])
        assert told or model.score(X, target) > 0.5
        free = model.set_params(l2_regularization=0.0, min_weight_leaf=0.0).fit(X, target)
        assert free.score(X, target) > 0.5


def test_rare_counts_are_not_warned_of():
    y = (np.arange(N) % 40 == 0).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weald.GradientBoostingRegressor(n_estimators=2, loss="poisson", random_state=0).fit(X, y)
