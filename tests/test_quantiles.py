"""`QuantileBoostingRegressor`: several quantiles by one boosted model."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from weald import GradientBoostingRegressor, QuantileBoostingRegressor
from weald.conformal import ConformalRegressor, coverage
from weald.loss import Quantile

LEVELS = [0.1, 0.5, 0.9]


def problem(n: int = 80, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    return X, X[:, :d] + (0.3 + np.abs(X[:, 2:3])) * rng.normal(size=(n, d))


def boosting(**params: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(**{"n_estimators": 8, "max_leaf_nodes": 6, "random_state": 0, **params})


def by_hand(model: GradientBoostingRegressor, levels: list[float], X: Any, y: Any, X_new: Any, **told: Any) -> Any:
    """Separate models of each output and level, sorted.

    They are those of one model if X has one feature: of several, one of those that split equally well is drawn.
    """
    found = np.empty((len(X_new), y.shape[1], len(levels)))
    for j in range(y.shape[1]):
        for i, level in enumerate(levels):
            single = clone(model).set_params(loss=Quantile(level))
            found[:, j, i] = single.fit(X, y[:, j], **told).predict(X_new)
    return np.sort(found, axis=2)


# --- the model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_single_targets_are_those_of_separate_models(weighted: bool) -> None:
    X, Y = problem()
    X = X[:, :1]
    told = {"sample_weight": np.arange(80) % 4} if weighted else {}
    inner = boosting(output_strategy="single_target", subsample=1.0, max_features=None)
    model = QuantileBoostingRegressor(inner, quantiles=[0.9, 0.1, 0.5]).fit(X, Y, **told)
    np.testing.assert_array_equal(model.predict_quantiles(X), by_hand(inner, LEVELS, X, Y, X, **told))
    np.testing.assert_array_equal(model.quantiles_, LEVELS)


@pytest.mark.parametrize("strategy", ["joint", "projected", "single_target"])
def test_quantiles_are_the_sorted_columns_of_one_model_whose_loss_is_never_larger(strategy: str) -> None:
    X, Y = problem()
    inner = boosting(output_strategy=strategy, min_samples_leaf=1, n_estimators=30, learning_rate=0.1, subsample=1.0)
    model = QuantileBoostingRegressor(inner, quantiles=[0.4, 0.5, 0.6]).fit(X, Y)
    loss = Quantile([0.4, 0.5, 0.6] * 2)
    wide = clone(inner).set_params(loss=loss).fit(X, np.repeat(Y, 3, axis=1))
    raw = wide.predict(X)
    found = model.predict_quantiles(X)
    np.testing.assert_array_equal(found, np.sort(raw.reshape(80, 2, 3), axis=2))
    before, after = (loss.loss(np.repeat(Y, 3, axis=1), part.reshape(80, 6)) for part in (raw, found))
    before, after = (part.reshape(80, 2, 3).sum(axis=2) for part in (before, after))
    # Sums of three numbers are rounded in another order.
    assert (after <= before + 1e-12).all()
    # Some columns cross, so that sorting changes something.
    assert (after < before - 1e-6).any()
    np.testing.assert_array_equal(model.predict(X), found[:, :, 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6, unique_by=lambda q: round(q, 6)),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(0, 2**16),
    st.sampled_from(["auto", "joint", "projected", "single_target"]),
)
def test_quantiles_never_cross(levels: list[float], d: int, n: int, seed: int, strategy: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 2)).astype(float)
    Y = rng.integers(-2, 3, size=(n, d)) * 10.0 ** rng.integers(-3, 9)
    inner = boosting(n_estimators=3, output_strategy=strategy, min_samples_leaf=1, min_weight_leaf=0)
    y = Y[:, 0] if d == 1 else Y
    model = QuantileBoostingRegressor(inner, quantiles=levels).fit(X, y)
    found = model.predict_quantiles(rng.normal(size=(9, 2)))
    assert found.shape == ((9, len(levels)) if d == 1 else (9, d, len(levels)))
    assert (np.diff(found, axis=-1) >= 0).all()
    # Levels that are asked for in their order are columns of the same array.
    order = rng.permutation(len(levels))
    asked = model.predict_quantiles(X, model.quantiles_[order])
    np.testing.assert_array_equal(asked, model.predict_quantiles(X)[..., order])


def test_quantiles_have_about_their_levels_of_new_samples_below() -> None:
    """Where the noise differs between groups of samples, in each group."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.integers(0, 3, size=(n, 1)).astype(float)
        return X, X[:, 0] + 10.0 ** X[:, 0] * rng.normal(size=n)

    X, y = draw(6000)
    inner = GradientBoostingRegressor(n_estimators=60, learning_rate=0.3, max_leaf_nodes=3)
    model = QuantileBoostingRegressor(inner, quantiles=LEVELS).fit(X, y)
    X_new, y_new = draw(6000)
    below = y_new[:, np.newaxis] <= model.predict_quantiles(X_new)
    for group in range(3):
        of_group = below[X_new[:, 0] == group]
        n = len(of_group)
        for level, count in zip(LEVELS, of_group.sum(axis=0), strict=True):
            # The fitted quantile is itself one of as many samples, which doubles the variance.
            spread = 4 * np.sqrt(2) * stats.binom.std(n, level)
            assert abs(count - n * level) < spread, (group, level)


@pytest.mark.parametrize("d", [1, 2])
def test_unknown_values_of_an_output_are_left_out(d: int) -> None:
    X, Y = problem()
    X = X[:, :1]
    mask = np.random.default_rng(1).random(Y.shape) < 0.3
    Y, mask = Y[:, :d], mask[:, :d]
    inner = boosting(output_strategy="single_target", subsample=1.0, max_features=None)
    model = QuantileBoostingRegressor(inner, quantiles=[0.2, 0.8]).fit(
        X, Y[:, 0] if d == 1 else Y, y_weight=unless(mask)
    )
    found = model.predict_quantiles(X).reshape(80, d, 2)
    for j in range(d):
        there = ~mask[:, j]
        expected = by_hand(inner, [0.2, 0.8], X[there], Y[there, j : j + 1], X)
        np.testing.assert_array_equal(found[:, j : j + 1], expected)
    if d == 2:
        gaps = np.where(mask, np.nan, Y)
        again = QuantileBoostingRegressor(inner, quantiles=[0.2, 0.8]).fit(X, gaps)
        np.testing.assert_array_equal(again.predict_quantiles(X), found)
        assert model.score(X, gaps).n_cells == (~mask).sum()
        assert model.score(X, gaps) == model.score(X, Y, y_weight=unless(mask))


def test_score_is_the_negative_mean_pinball_loss() -> None:
    X, Y = problem()
    model = QuantileBoostingRegressor(boosting(), quantiles=LEVELS).fit(X, Y)
    weights = np.arange(80) % 3
    expected = []
    for j in range(2):
        for i, q in enumerate(LEVELS):
            error = Y[:, j] - model.predict_quantiles(X)[:, j, i]
            expected.append(np.average(np.where(error > 0, q * error, (q - 1) * error), weights=weights))
    assert model.score(X, Y, weights) == pytest.approx(-np.mean(expected), rel=1e-12)  # sums in another order
    assert model.score(X, sparse.csr_array(Y), weights) == model.score(X, Y, weights)
    with pytest.raises(ValueError, match="y must have a known value"):
        model.score(X, Y, y_weight=unless(np.ones_like(Y)))


def test_validation_samples_have_the_outputs_of_y() -> None:
    X, Y = problem(120)
    Y_val = Y[80:].copy()
    Y_val[::3, 1] = np.nan
    inner = boosting(n_estimators=60, learning_rate=0.5, n_iter_no_change=3, output_strategy="joint")
    model = QuantileBoostingRegressor(inner, quantiles=LEVELS)
    weights = np.arange(40) % 3
    sets = {"later": (X[80:], Y_val, weights)}
    held_out = {"X_val": X[80:], "y_val": Y_val, "sample_weight_val": weights}
    model.fit(X[:80], Y[:80], **held_out, eval_sets=sets)
    fitted = model.estimator_
    assert fitted.n_estimators_ < 60
    np.testing.assert_array_equal(
        fitted.eval_results_["later"]["loss"], fitted.validation_score_[: fitted.n_estimators_]
    )
    wide = np.repeat(Y[:80], 3, axis=1)
    expected = clone(inner).set_params(loss=Quantile(LEVELS * 2))
    expected.fit(X[:80], wide, **{**held_out, "y_val": np.repeat(Y_val, 3, axis=1)})
    np.testing.assert_array_equal(expected.validation_score_, fitted.validation_score_)
    # The score is that of sorted quantiles.
    assert -model.score(X[80:], Y_val, weights) <= fitted.validation_score_[fitted.n_estimators_ - 1] + 1e-12


def test_parameters_of_outputs_have_a_value_for_each_output() -> None:
    X, Y = problem()
    signs = np.array([[1, 0], [0, -1], [0, 0], [0, 0]])
    inner = boosting(output_strategy="joint", output_scaling=[1.0, 5.0], output_weights=[1.0, 2.0], monotonic_cst=signs)
    model = QuantileBoostingRegressor(inner, quantiles=LEVELS).fit(X, Y)
    wide = clone(inner).set_params(
        loss=Quantile(LEVELS * 2),
        output_scaling=[1.0] * 3 + [5.0] * 3,
        output_weights=[1.0] * 3 + [2.0] * 3,
        monotonic_cst=np.repeat(signs, 3, axis=1),
    )
    expected = wide.fit(X, np.repeat(Y, 3, axis=1)).predict(X).reshape(80, 2, 3)
    np.testing.assert_array_equal(model.predict_quantiles(X), np.sort(expected, axis=2))
    # The parameter stays as it was.
    assert model.estimator.output_weights == [1.0, 2.0]
    with pytest.raises(ValueError, match="output_scaling of the estimator must have 1 values, one for each output"):
        model.fit(X, Y[:, 0])


@pytest.mark.parametrize("strategy", ["joint", "projected", "single_target"])
def test_laws_of_layouts_threads_order_and_weights(strategy: str) -> None:
    X, Y = problem()
    X[np.random.default_rng(2).random(X.shape) < 0.5] = 0
    weights = np.arange(80) % 3
    model = QuantileBoostingRegressor(boosting(output_strategy=strategy), quantiles=[0.2, 0.5, 0.8])
    expected = model.fit(X, Y, weights).predict_quantiles(X)
    for form in (sparse.csr_array(X), sparse.csc_array(X)):
        np.testing.assert_array_equal(clone(model).fit(form, Y, weights).predict_quantiles(form), expected)
    np.testing.assert_array_equal(
        clone(model).fit(X, sparse.csr_array(Y), weights).predict_quantiles(X),
        expected,
    )
    threads = clone(model).set_params(estimator__n_jobs=2).fit(X, Y, weights)
    np.testing.assert_array_equal(threads.predict_quantiles(X), expected)
    order = np.random.default_rng(3).permutation(80)
    moved = clone(model).fit(X[order], Y[order], weights[order])
    np.testing.assert_array_equal(moved.predict_quantiles(X), expected)
    rows = np.repeat(np.arange(80), weights)
    np.testing.assert_array_equal(clone(model).fit(X[rows], Y[rows]).predict_quantiles(X), expected)
    # Sums in another order.
    assert model.score(X, Y, weights) == pytest.approx(model.score(X[rows], Y[rows]), rel=1e-12)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([QuantileBoostingRegressor(boosting())])
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- an estimator ----------------------------------------------------------------------------------------------------


def test_shapes_names_and_frames() -> None:
    X, Y = problem()
    frame, outputs = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=["low", "high"])
    model = QuantileBoostingRegressor(boosting()).fit(frame, outputs)
    assert model.target_names_in_.tolist() == ["low", "high"]
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict_quantiles(frame, 0.1).shape == (80, 2)
    assert model.predict_quantiles(frame, [0.9]).shape == (80, 2, 1)
    predicted = model.set_output(predict="pandas").predict(frame)
    assert predicted.columns.tolist() == ["low", "high"]
    np.testing.assert_array_equal(predicted, model.predict_quantiles(frame)[:, :, 1])
    with pytest.raises(ValueError, match="y_val must have"):
        model.fit(frame, outputs, X_val=frame, y_val=outputs[["high", "low"]])
    single = QuantileBoostingRegressor(boosting(), quantiles=[0.9]).fit(X, Y[:, 0])
    assert single.predict_quantiles(X).shape == (80, 1)
    assert single.predict_quantiles(X, 0.9).shape == (80,)
    np.testing.assert_array_equal(
        single.predict_quantiles(X, 0.9), boosting(loss=Quantile(0.9)).fit(X, Y[:, 0]).predict(X)
    )


def test_files_keep_the_levels(tmp_path: Any) -> None:
    X, Y = problem()
    model = QuantileBoostingRegressor(boosting(), quantiles=np.array([0.8, 0.2])).fit(X, Y)
    weald.save(model, tmp_path / "model")
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_quantiles(X), model.predict_quantiles(X))
        np.testing.assert_array_equal(again.quantiles_, [0.2, 0.8])
        assert weald.dumps(again) == weald.dumps(model)
        np.testing.assert_array_equal(clone(again).fit(X, Y).predict_quantiles(X), model.predict_quantiles(X))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("quantiles_", [0.2, 0.8]),
        ("quantiles_", np.array([0.8, 0.2])),
        ("quantiles_", np.array([0.0, 0.2])),
        ("quantiles_", np.array([])),
        ("n_outputs_", 3),
        ("estimator_", LinearRegression()),
    ],
)
def test_states_are_validated(attribute: str, value: Any) -> None:
    X, Y = problem()
    model = QuantileBoostingRegressor(boosting(), quantiles=[0.2, 0.8]).fit(X, Y)
    model.__dict__[attribute] = value
    with pytest.raises(ValueError, match=attribute):
        pickle.loads(pickle.dumps(model))


def test_searches_choose_by_the_pinball_loss() -> None:
    X, Y = problem()
    search = GridSearchCV(QuantileBoostingRegressor(boosting()), {"estimator__max_leaf_nodes": [2, 6]}, cv=2)
    search.fit(X, Y)
    assert search.best_score_ < 0
    assert search.best_estimator_.estimator_.max_leaf_nodes in (2, 6)


def test_conformal_intervals_are_around_the_quantiles() -> None:
    X, Y = problem(600)
    inner = QuantileBoostingRegressor(boosting(n_estimators=40, max_leaf_nodes=4), quantiles=[0.05, 0.5, 0.95])
    model = ConformalRegressor(inner, alpha=0.1, conformity_score="quantile", cv=4, random_state=0)
    model.fit(X[:300], Y[:300])
    intervals = model.predict_interval(X[300:])
    quantiles = clone(inner).fit(X[:300], Y[:300]).predict_quantiles(X[300:])
    # The correction is one number for each output, up to the rounding of sums.
    assert np.ptp(intervals[:, :, 1] - quantiles[:, :, 2], axis=0).max() < 1e-9
    assert np.ptp(intervals[:, :, 0] - quantiles[:, :, 0], axis=0).max() < 1e-9
    # Four standard deviations of the calibration and of the test samples.
    assert abs(coverage(Y[300:], intervals) - 0.9) < 4 * np.sqrt(2 * 0.9 * 0.1 / 300)
    np.testing.assert_array_equal(model.predict(X[300:]), quantiles[:, :, 1])
    for levels in ([0.05, 0.95], [0.1, 0.5, 0.9]):
        with pytest.raises(ValueError, match=r"requires the quantiles \[0.05, 0.5, 0.95\], but .* has quantiles="):
            clone(model).set_params(estimator__quantiles=levels).fit(X, Y)


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"quantiles": [0.0, 0.5]}, ValueError, "above 0 and below 1"),
        ({"quantiles": [0.5, 1.0]}, ValueError, "above 0 and below 1"),
        ({"quantiles": [0.5, np.nan]}, ValueError, "above 0 and below 1"),
        ({"quantiles": []}, ValueError, "quantiles must be a list"),
        ({"quantiles": 0.5}, ValueError, "quantiles must be a list"),
        ({"quantiles": [[0.5]]}, ValueError, "quantiles must be a list"),
        ({"quantiles": "median"}, ValueError, "quantiles"),
        ({"quantiles": [0.5, 0.1, 0.5]}, ValueError, "different numbers above 0 and below 1, got 0.5 twice"),
        ({"estimator": LinearRegression()}, TypeError, "must be a GradientBoostingRegressor or None, got"),
        ({"estimator": GradientBoostingRegressor}, TypeError, "must be an instance, got the class"),
        ({"estimator": boosting(loss="huber")}, ValueError, "must have the default loss"),
        ({"estimator": boosting(scoring="r2")}, ValueError, "must have scoring=None"),
    ],
)
def test_parameters_are_checked(params: dict[str, Any], error: type[Exception], text: str) -> None:
    X, Y = problem(20)
    model = QuantileBoostingRegressor(boosting()).fit(X, Y)
    before = model.predict_quantiles(X)
    with pytest.raises(error, match=text):
        model.set_params(**params).fit(X, Y)
    np.testing.assert_array_equal(model.predict_quantiles(X), before)


def test_levels_that_were_not_fitted_are_refused() -> None:
    X, Y = problem(20)
    model = QuantileBoostingRegressor(boosting(), quantiles=[0.05, 0.95]).fit(X, Y)
    with pytest.raises(ValueError, match=r"q must be among the fitted quantiles \[0.05, 0.95\], got 0.5"):
        model.predict_quantiles(X, [0.95, 0.5])
    with pytest.raises(ValueError, match="predict returns medians, but quantiles are"):
        model.predict(X)
    with pytest.raises(ValueError, match="q must be a number from 0 to 1"):
        model.predict_quantiles(X, 2)
    np.testing.assert_array_equal(model.predict_quantiles(X, 1 - 0.1 / 2), model.predict_quantiles(X)[:, :, 1])


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"X_val": np.zeros((3, 4)), "y_val": np.zeros((3, 3))}, "y_val must have 2 outputs, as in the fit, got 3"),
        ({"X_val": np.zeros((3, 4)), "y_val": np.zeros((2, 2))}, "inconsistent numbers of samples"),
        ({"X_val": np.zeros((3, 4))}, "y_val"),
        ({"y_val": np.zeros((3, 2))}, "X_val"),
        ({"eval_sets": [(np.zeros((3, 4)), np.zeros((3, 3)))]}, r"eval_sets\[0\]: its y must have 2 outputs"),
    ],
)
def test_validation_samples_are_checked(told: dict[str, Any], text: str) -> None:
    X, Y = problem(20)
    with pytest.raises(ValueError, match=text):
        QuantileBoostingRegressor(boosting()).fit(X, Y, **told)


def test_nan_of_one_output_is_no_unknown_value() -> None:
    X, Y = problem(20)
    y = Y[:, 0].copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        QuantileBoostingRegressor(boosting()).fit(X, y)
    weights = np.ones(20)
    weights[3] = 0
    with_absent = QuantileBoostingRegressor(boosting()).fit(X, y, weights)
    there = weights > 0
    without = QuantileBoostingRegressor(boosting()).fit(X[there], y[there])
    np.testing.assert_array_equal(with_absent.predict_quantiles(X), without.predict_quantiles(X))
