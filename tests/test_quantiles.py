"""`weald.loss.Quantile` with several levels: several quantiles of each output by one boosted model."""

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
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from weald import EarlyStopping, GradientBoostingRegressor, export, inspection
from weald.conformal import ConformalRegressor, coverage
from weald.loss import Quantile

LEVELS = [0.1, 0.5, 0.9]


def problem(n: int = 80, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    return X, X[:, :d] + (0.3 + np.abs(X[:, 2:3])) * rng.normal(size=(n, d))


def boosting(**params: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(**{"n_estimators": 8, "max_leaf_nodes": 6, "random_state": 0, **params})


def of_levels(levels: Any = LEVELS, **params: Any) -> GradientBoostingRegressor:
    return boosting(loss=Quantile(levels), **params)


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
    params = {"output_strategy": "single_target", "subsample": 1.0, "max_features": None}
    model = of_levels([0.9, 0.1, 0.5], **params).fit(X, Y, **told)
    np.testing.assert_array_equal(model.predict_quantiles(X), by_hand(boosting(**params), LEVELS, X, Y, X, **told))
    assert model.n_outputs_ == 2


@pytest.mark.parametrize("strategy", ["joint", "projected", "single_target"])
def test_quantiles_are_the_sorted_scores_whose_loss_is_never_larger(strategy: str) -> None:
    X, Y = problem()
    params = {
        "output_strategy": strategy,
        "n_estimators": 30,
        "learning_rate": 0.1,
        "subsample": 1.0,
        "min_weight_leaf": 0,
    }
    model = of_levels([0.4, 0.5, 0.6], **params).fit(X, Y)
    raw, found = model._scores(X), model.predict_quantiles(X)
    np.testing.assert_array_equal(found, np.sort(raw.reshape(80, 2, 3), axis=2))
    before, after = (model.loss.loss(np.repeat(Y, 3, axis=1), part.reshape(80, 6)) for part in (raw, found))
    by_hand = [
        [mean_pinball_loss(Y[:, j], raw[:, 3 * j + i], alpha=q) for i, q in enumerate((0.4, 0.5, 0.6))] for j in (0, 1)
    ]
    # Means of 80 numbers, summed in another order.
    np.testing.assert_allclose(before.mean(axis=0), np.ravel(by_hand), rtol=1e-12)
    np.testing.assert_allclose(model.train_score_[-1], before.mean(), rtol=1e-12)
    before, after = (part.reshape(80, 2, 3).sum(axis=2) for part in (before, after))
    # Sums of three numbers are rounded in another order.
    assert (after <= before + 1e-12).all()
    # Some columns cross, so that sorting changes something.
    assert (after < before - 1e-6).any()
    np.testing.assert_array_equal(model.predict(X), found[:, :, 1])
    np.testing.assert_array_equal(
        model.start_.reshape(2, 3), np.quantile(Y, [0.4, 0.5, 0.6], axis=0, method="inverted_cdf").T
    )


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
    y = Y[:, 0] if d == 1 else Y
    model = of_levels(levels, n_estimators=3, output_strategy=strategy, min_weight_leaf=0).fit(X, y)
    found = model.predict_quantiles(rng.normal(size=(9, 2)))
    assert found.shape == ((9, len(levels)) if d == 1 else (9, d, len(levels)))
    assert (np.diff(found, axis=-1) >= 0).all()
    # Levels that are asked for in their order are columns of the same array.
    order = rng.permutation(len(levels))
    asked = model.predict_quantiles(X, np.sort(levels)[order])
    np.testing.assert_array_equal(asked, model.predict_quantiles(X)[..., order])
    # Of levels that are as near to that of the median, `predict` has the lower.
    nearest = min(sorted(levels), key=lambda q: round(abs(q - 0.5), 9))
    np.testing.assert_array_equal(model.predict(X), model.predict_quantiles(X, nearest))


def test_quantiles_have_about_their_levels_of_new_samples_below() -> None:
    """Where the noise differs between groups of samples, in each group."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.integers(0, 3, size=(n, 1)).astype(float)
        return X, X[:, 0] + 10.0 ** X[:, 0] * rng.normal(size=n)

    X, y = draw(6000)
    model = of_levels(n_estimators=60, learning_rate=0.3, max_leaf_nodes=3).fit(X, y)
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
    params = {"output_strategy": "single_target", "subsample": 1.0, "max_features": None}
    model = of_levels([0.2, 0.8], **params).fit(X, Y[:, 0] if d == 1 else Y, y_weight=unless(mask))
    found = model.predict_quantiles(X).reshape(80, d, 2)
    for j in range(d):
        there = ~mask[:, j]
        expected = by_hand(boosting(**params), [0.2, 0.8], X[there], Y[there, j : j + 1], X)
        np.testing.assert_array_equal(found[:, j : j + 1], expected)
    if d == 2:
        gaps = np.where(mask, np.nan, Y)
        again = of_levels([0.2, 0.8], **params).fit(X, gaps)
        np.testing.assert_array_equal(again.predict_quantiles(X), found)
        assert model.score(X, gaps).n_cells == (~mask).sum()
        assert model.score(X, gaps) == model.score(X, Y, y_weight=unless(mask))
        gaps[:, 1] = np.nan
        with pytest.raises(ValueError, match="y must have a known value in output 'b'"):
            model.fit(X, pd.DataFrame(gaps, columns=["a", "b"]))


def test_score_is_r2_of_what_is_predicted() -> None:
    X, Y = problem()
    model, weights = of_levels().fit(X, Y), np.arange(80) % 3
    assert model.score(X, Y, weights) == r2_score(Y, model.predict_quantiles(X, 0.5), sample_weight=weights)
    assert model.score(X, sparse.csr_array(Y), weights) == model.score(X, Y, weights)


def test_validation_samples_have_the_outputs_of_y() -> None:
    X, Y = problem(120)
    Y_val = Y[80:].copy()
    Y_val[::3, 1] = np.nan
    params = {"n_estimators": 60, "learning_rate": 0.5, "n_iter_no_change": 3, "output_strategy": "joint"}
    weights = np.arange(40) % 3
    sets = {"later": (X[80:], Y_val, weights)}
    held_out = {"X_val": X[80:], "y_val": Y_val, "sample_weight_val": weights}
    fitted = of_levels(**params).fit(X[:80], Y[:80], **held_out, eval_sets=sets)
    assert fitted.n_estimators_ < 60
    np.testing.assert_array_equal(
        fitted.eval_results_["later"]["loss"], fitted.validation_score_[: fitted.n_estimators_]
    )
    raw, there = fitted._scores(X[80:]).reshape(40, 2, 3), ~np.isnan(Y_val)
    losses = [
        mean_pinball_loss(Y_val[there[:, j], j], raw[there[:, j], j, i], sample_weight=weights[there[:, j]], alpha=q)
        for j in range(2)
        for i, q in enumerate(LEVELS)
    ]
    # Means of a few numbers, summed in another order.
    np.testing.assert_allclose(fitted.validation_score_[fitted.n_estimators_ - 1], np.mean(losses), rtol=1e-12)


@pytest.mark.parametrize(
    "more", [{"early_stopping": True}, {"early_stopping": EarlyStopping(cv=3)}, {"n_estimators": "auto"}]
)
@pytest.mark.parametrize("d", [1, 2])
def test_the_number_of_stages_is_found_by_the_pinball_loss(more: dict[str, Any], d: int) -> None:
    X, Y = problem(120)
    Y[::5, 1] = np.nan
    y = Y[:, 0] if d == 1 else Y
    model = of_levels(**{"n_estimators": 60, "learning_rate": 0.3, **more}).fit(X, y)
    assert model.n_estimators_ == np.argmin(model.validation_score_) + 1 < len(model.validation_score_)
    scored = of_levels(n_estimators=60, early_stopping=True, scoring="r2").fit(X, y)
    assert scored.validation_metric_.max() == scored.validation_metric_[scored.n_estimators_ - 1]


def test_parameters_of_outputs_have_a_value_for_each_output() -> None:
    X, Y = problem()
    params = {"output_strategy": "joint", "subsample": 1.0, "max_features": None}
    free = of_levels(**params).fit(X, Y)
    # An output without weight chooses no split.
    first = of_levels(**params).fit(X, Y[:, 0]).predict_quantiles(X)
    found = of_levels(**params, output_weights=[2.0, 0.0]).fit(X, Y).predict_quantiles(X)
    np.testing.assert_array_equal(found[:, 0], first)
    assert (free.predict_quantiles(X)[:, 0] != first).any()
    scaled, weighted = ({"output_scaling": [1.0, 4.0]}, {"output_weights": [16.0, 1.0]})
    found, expected = (of_levels(**params, **more).fit(X, Y).predict_quantiles(X) for more in (scaled, weighted))
    np.testing.assert_array_equal(found, expected)
    signs = np.array([[-1, 0], [0, 1], [0, 0], [0, 0]])
    model = of_levels(**params, monotonic_cst=signs).fit(X, Y)
    line = np.repeat(X[:20], 9, axis=0)
    line[:, 0] = np.tile(np.linspace(-2, 2, 9), 20)
    steps, free_steps = (np.diff(one.predict_quantiles(line)[:, 0].reshape(20, 9, 3), axis=1) for one in (model, free))
    assert (steps <= 0).all()
    assert (free_steps > 0).any()
    for name in ("output_scaling", "output_weights"):
        with pytest.raises(ValueError, match=rf"{name} must have 1 value\(s\), one for each output, got 2"):
            of_levels(**params, **{name: [1.0, 2.0]}).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=r"monotonic_cst must have shape .*one column for each"):
        of_levels(**params, monotonic_cst=np.zeros((4, 6), dtype=int)).fit(X, Y)


def test_leaves_expect_the_minimum_weight_beyond_each_quantile() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))

    def smallest(X: np.ndarray, levels: Any = LEVELS, **params: Any) -> int:
        y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
        fitted = of_levels(levels, subsample=1.0, max_leaf_nodes=None, max_depth=9, **params).fit(X, y)
        return min(int(tree.tree_.n_node_samples.min()) for tree in fitted.estimators_)

    assert [smallest(X, levels) for levels in ([0.1, 0.5, 0.9], [0.2, 0.5], 0.5, [0.5, 0.8])] == [18, 8, 2, 8]
    assert smallest(X, min_weight_leaf=1.5) == 14
    assert smallest(X, min_weight_leaf=1.0) == 1
    # At most a twentieth of the samples, and only where rows differ.
    assert smallest(X[:200]) == 10
    assert smallest(X[:20]) == 2
    assert smallest(np.repeat(X[:300], 2, axis=0)) == 2
    assert smallest(X, n_jobs=2, n_iter_no_change=3) >= 18


def test_what_stages_start_from() -> None:
    X, Y = problem()
    model = of_levels(init=Ridge()).fit(X, Y)
    start = np.repeat(Ridge().fit(X.astype(np.float32), Y).predict(X.astype(np.float32)), 3, axis=1)
    margins = of_levels().fit(X, Y, base_margin=start)
    np.testing.assert_array_equal(model.predict_quantiles(X), margins.predict_quantiles(X, base_margin=start))
    np.testing.assert_array_equal(model.predict(X), margins.predict(X, base_margin=start))
    with pytest.raises(ValueError, match=r"base_margin must have shape \(80, 6\)"):
        of_levels().fit(X, Y, base_margin=Y)


@pytest.mark.parametrize("strategy", ["joint", "single_target"])
def test_stages_warm_starts_and_leaves_of_other_data(strategy: str) -> None:
    X, Y = problem()
    Y[::7, 0] = np.nan
    model = of_levels(output_strategy=strategy).fit(X, Y)
    warm = of_levels(output_strategy=strategy, n_estimators=3, warm_start=True).fit(X, Y)
    warm.set_params(n_estimators=8).fit(X, Y)
    np.testing.assert_array_equal(warm.predict_quantiles(X), model.predict_quantiles(X))
    with pytest.raises(ValueError, match=r"loss must be .* with warm_start=True"):
        warm.set_params(loss=Quantile([0.2, 0.5, 0.8]), n_estimators=9).fit(X, Y)
    staged = list(model.staged_predict(X))
    for n in (1, 5, 8):
        np.testing.assert_array_equal(staged[n - 1], model.predict_quantiles(X, 0.5, n_stages=n))
        np.testing.assert_array_equal(staged[n - 1], model.truncated(n).predict(X))
    whole = of_levels(output_strategy=strategy, subsample=1.0).fit(X, Y)
    np.testing.assert_array_equal(whole.refit_leaves(X, Y).predict_quantiles(X), whole.predict_quantiles(X))
    moved = whole.refit_leaves(X, Y + 100)
    np.testing.assert_allclose(moved.predict_quantiles(X), whole.predict_quantiles(X) + 100, rtol=1e-12)


def test_weak_models_of_scikit_learn() -> None:
    X, Y = problem()
    model = of_levels(estimator=LinearRegression(), output_strategy="joint").fit(X, Y)
    assert model.predict_quantiles(X).shape == (80, 2, 3)
    assert model.train_score_[-1] < model.train_score_[0]


@pytest.mark.parametrize("strategy", ["joint", "projected", "single_target"])
def test_laws_of_layouts_threads_order_and_weights(strategy: str) -> None:
    X, Y = problem()
    X[np.random.default_rng(2).random(X.shape) < 0.5] = 0
    weights = np.arange(80) % 3
    model = of_levels([0.2, 0.5, 0.8], output_strategy=strategy)
    expected = model.fit(X, Y, weights).predict_quantiles(X)
    for form in (sparse.csr_array(X), sparse.csc_array(X)):
        np.testing.assert_array_equal(clone(model).fit(form, Y, weights).predict_quantiles(form), expected)
    np.testing.assert_array_equal(
        clone(model).fit(X, sparse.csr_array(Y), weights).predict_quantiles(X),
        expected,
    )
    threads = clone(model).set_params(n_jobs=2).fit(X, Y, weights)
    np.testing.assert_array_equal(threads.predict_quantiles(X), expected)
    order = np.random.default_rng(3).permutation(80)
    moved = clone(model).fit(X[order], Y[order], weights[order])
    np.testing.assert_array_equal(moved.predict_quantiles(X), expected)
    rows = np.repeat(np.arange(80), weights)
    np.testing.assert_array_equal(clone(model).fit(X[rows], Y[rows]).predict_quantiles(X), expected)
    # Sums in another order.
    assert model.score(X, Y, weights) == pytest.approx(model.score(X[rows], Y[rows]), rel=1e-12)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([of_levels(n_estimators=40, learning_rate=0.3)])
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- an estimator ----------------------------------------------------------------------------------------------------


def test_shapes_names_and_frames() -> None:
    X, Y = problem()
    frame, outputs = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=["low", "high"])
    model = of_levels().fit(frame, outputs)
    assert model.target_names_in_.tolist() == ["low", "high"]
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict_quantiles(frame, 0.1).shape == (80, 2)
    assert model.predict_quantiles(frame, [0.9]).shape == (80, 2, 1)
    predicted = model.set_output(predict="pandas").predict(frame)
    assert predicted.columns.tolist() == ["low", "high"]
    np.testing.assert_array_equal(predicted, model.predict_quantiles(frame)[:, :, 1])
    with pytest.raises(ValueError, match="y_val must have"):
        model.fit(frame, outputs, X_val=frame, y_val=outputs[["high", "low"]])
    single = of_levels([0.9]).fit(X, Y[:, 0])
    assert single.predict_quantiles(X).shape == (80, 1)
    assert single.predict_quantiles(X, 0.9).shape == (80,)
    alone = of_levels(0.9).fit(X, Y[:, 0])
    for found in (single.predict_quantiles(X, 0.9), single.predict(X), alone.predict_quantiles(X)[:, 0]):
        np.testing.assert_array_equal(found, alone.predict(X))


def test_files_keep_the_levels(tmp_path: Any) -> None:
    X, Y = problem()
    model = of_levels(np.array([0.8, 0.2])).fit(X, pd.DataFrame(Y, columns=["a", "b"]))
    weald.save(model, tmp_path / "model")
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_quantiles(X), model.predict_quantiles(X))
        assert again.loss == Quantile([0.2, 0.8])
        assert weald.dumps(again) == weald.dumps(model)
        np.testing.assert_array_equal(clone(again).fit(X, Y).predict_quantiles(X), model.predict_quantiles(X))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("n_outputs_", 4),
        ("n_outputs_", 1),
        ("n_outputs_", 2.0),
        ("target_names_in_", np.array(list("abcd"), dtype=object)),
    ],
)
def test_states_are_validated(attribute: str, value: Any) -> None:
    X, Y = problem()
    model = of_levels([0.2, 0.8]).fit(X, Y)
    model.__dict__[attribute] = value
    with pytest.raises(ValueError, match=attribute):
        pickle.loads(pickle.dumps(model))
    model = of_levels([0.2, 0.8]).fit(X, Y)
    model._shared["loss"] = Quantile([0.2, 0.5, 0.8])
    with pytest.raises(ValueError, match="n_outputs_"):
        pickle.loads(pickle.dumps(model))


def test_searches_can_choose_by_the_pinball_loss() -> None:
    X, Y = problem()

    def scorer(model: Any, X: Any, Y: Any) -> float:
        return -float(model.loss.loss(np.repeat(Y, 3, axis=1), model.predict_quantiles(X).reshape(len(X), 6)).mean())

    search = GridSearchCV(of_levels(), {"max_leaf_nodes": [2, 6], "loss": [Quantile(LEVELS)]}, cv=2, scoring=scorer)
    search.fit(X, Y)
    assert search.best_score_ < 0
    assert search.best_estimator_.max_leaf_nodes in (2, 6)
    assert (cross_val_score(of_levels(n_estimators=40, learning_rate=0.2), X, Y, cv=2) > 0).all()


def test_what_reads_a_model() -> None:
    X, Y = problem()
    model = of_levels().fit(X, pd.DataFrame(Y, columns=["a", "b"]))
    predictor = weald.Predictor(model)
    np.testing.assert_array_equal([predictor.predict(row) for row in X[:5]], model.predict(X[:5]))
    explained = inspection.shap_values(model, X[:5], ["b=0.9"])
    total = np.asarray(explained.values)[..., 0].sum(axis=1) + np.ravel(explained.base_values)
    np.testing.assert_allclose(total, model._scores(X[:5])[:, 5], rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1)
    one = weald.estimate_fit_memory(of_levels(0.5, output_strategy="joint"), X, Y)
    assert weald.estimate_fit_memory(of_levels(output_strategy="joint"), X, Y) > one + 2 * 8 * Y.size
    with pytest.raises(ValueError, match="to_json does not support GradientBoostingRegressor with several levels"):
        export.to_json(model)
    assert export.to_json(of_levels([0.5]).fit(X, Y))


def test_conformal_intervals_are_around_the_quantiles() -> None:
    X, Y = problem(600)
    inner = of_levels([0.05, 0.5, 0.95], n_estimators=40, max_leaf_nodes=4)
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
        with pytest.raises(ValueError, match=r"requires the quantiles \[0.05, 0.5, 0.95\], but .* has loss=Quantile"):
            clone(model).set_params(estimator__loss=Quantile(levels)).fit(X, Y)
    with pytest.raises(TypeError, match=r"requires a forest of weald, or boosting with loss=weald.loss.Quantile"):
        clone(model).set_params(estimator__loss="huber").fit(X, Y)


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([0.0, 0.5], "above 0 and below 1"),
        ([0.5, 1.0], "above 0 and below 1"),
        ([0.5, np.nan], "above 0 and below 1"),
        ([], "a number, or a list with several levels"),
        ([[0.5]], "a number, or a list with several levels"),
        ("median", "a number, or a list with several levels"),
        ([0.5, 0.1, 0.5], "quantile must have different levels, got 0.5 twice"),
        ([0.95, 1 - 0.1 / 2], "quantile must have different levels, got 0.95 twice"),
    ],
)
def test_levels_are_checked(levels: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Quantile(levels)


def test_levels_that_were_not_fitted_are_refused() -> None:
    X, Y = problem(20)
    model = of_levels([0.05, 0.95]).fit(X, Y)
    with pytest.raises(ValueError, match=r"q must be among the fitted quantiles \[0.05, 0.95\], got 0.5"):
        model.predict_quantiles(X, [0.95, 0.5])
    with pytest.raises(ValueError, match="q must be a number from 0 to 1"):
        model.predict_quantiles(X, 2)
    np.testing.assert_array_equal(model.predict_quantiles(X, 1 - 0.1 / 2), model.predict_quantiles(X)[:, :, 1])
    for loss in ("squared_error", "huber"):
        for other in (boosting(loss=loss), boosting(loss=loss).fit(X, Y)):
            with pytest.raises(AttributeError, match="predict_quantiles"):
                other.predict_quantiles(X)


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
        of_levels().fit(X, Y, **told)


def test_nan_of_one_output_is_no_unknown_value() -> None:
    X, Y = problem(20)
    y = Y[:, 0].copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        of_levels().fit(X, y)
    weights = np.ones(20)
    weights[3] = 0
    with_absent = of_levels().fit(X, y, weights)
    there = weights > 0
    without = of_levels().fit(X[there], y[there])
    np.testing.assert_array_equal(with_absent.predict_quantiles(X), without.predict_quantiles(X))
