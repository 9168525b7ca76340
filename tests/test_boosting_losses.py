"""Losses of boosting for numerical outputs against scikit-learn's: deviances, quantiles, models side by side."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
import weald
from boosting_twin import OBJECTS, WHOLE, in_domain, loss_object
from conftest import check_refused, make, make_data, model_bytes
from exports import HalfSquares
from model_files import taken_apart
from sklearn.linear_model import Ridge
from sklearn.metrics import (
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
    r2_score,
)
from weald.loss import CustomLoss, Quantile, Tweedie
from weald.projection import Projected

NAME = "GradientBoostingRegressor"
DEVIANCES = ["poisson", "gamma", "tweedie"]
LOSSES = ["quantile", "huber", *DEVIANCES]
LEAVES = ["newton", "line_search"]


def huber(y: Any, f: Any, sample_weight: Any) -> float:
    r, delta = np.abs(y - f), OBJECTS["huber"].delta
    return float(np.average(np.where(r <= delta, r**2 / 2, delta * (r - delta / 2)), weights=sample_weight))


def half(deviance: Any, **params: Any) -> Any:
    return lambda y, mean, sample_weight: deviance(y, mean, sample_weight=sample_weight, **params) / 2


# The mean loss of one output and its predictions.
METRICS: dict[str, Any] = {
    "quantile": lambda y, f, sample_weight: mean_pinball_loss(
        y, f, sample_weight=sample_weight, alpha=OBJECTS["quantile"].quantile
    ),
    "huber": huber,
    "poisson": half(mean_poisson_deviance),
    "gamma": half(mean_gamma_deviance),
    "tweedie": half(mean_tweedie_deviance, power=OBJECTS["tweedie"].power),
}


def make_model(loss: str, **params: Any) -> Any:
    return make(NAME, loss=loss_object(loss), **params)


def data(loss: str, outputs: str = "several", n: int = 60) -> tuple[Any, Any]:
    X, y = make_data(NAME, n=n, outputs=outputs)
    return X, in_domain(loss, y)


@pytest.mark.parametrize("leaf_estimation", LEAVES)
@pytest.mark.parametrize("outputs", ["single", "several"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_scikit_learn(loss, outputs, leaf_estimation):
    X, y = data(loss, outputs)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = make_model(loss, leaf_estimation=leaf_estimation).fit(X, y, w, X_val=X[:30], y_val=y[:30])
    for stage, f in enumerate(model.staged_predict(X)):
        columns = list(zip(y.reshape(60, -1).T, f.reshape(60, -1).T, strict=True))
        expected = np.mean([METRICS[loss](a, b, sample_weight=w) for a, b in columns])
        held_out = np.mean([METRICS[loss](a[:30], b[:30], sample_weight=None) for a, b in columns])
        # scikit-learn's deviances are differences of terms of about one, which have 16 digits.
        np.testing.assert_allclose(model.train_score_[stage], expected, rtol=1e-12)
        np.testing.assert_allclose(model.validation_score_[stage], held_out, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_starts_are_the_best_constants(loss):
    X, Y = data(loss)
    w = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    start = make_model(loss).fit(X, Y, sample_weight=w).start_
    if loss == "quantile":
        rows = Y.repeat(w.astype(int), axis=0)
        expected = np.quantile(rows, OBJECTS[loss].quantile, axis=0, method="inverted_cdf")
        np.testing.assert_array_equal(start, expected)
    elif loss == "huber":
        for y, f in zip(Y.T, start, strict=True):
            assert all(huber(y, f, w) <= huber(y, f + step, w) for step in (-0.1, -1e-4, 1e-4, 0.1))
    else:
        # The mean, its logarithm and a weighted sum each have 16 digits.
        np.testing.assert_allclose(np.exp(start), np.average(Y, axis=0, weights=w), rtol=1e-14)


@pytest.mark.parametrize("loss", DEVIANCES)
@pytest.mark.parametrize(
    "params", [{}, {"output_strategy": Projected(relabel_leaves=False)}, {"output_strategy": "single_target"}]
)
def test_predictions_are_exponentials_of_scores(loss, params):
    X, Y = data(loss)
    model = make_model(loss, **params).fit(X, Y)
    for f, scores in zip(model.staged_predict(X), model._staged(X), strict=True):
        # The engine's exponential and NumPy's differ by the last bit.
        np.testing.assert_allclose(f, np.exp(scores), rtol=1e-15)
    np.testing.assert_array_equal(model.predict(X), f)
    assert (model.predict(X) > 0).all()
    # Trees add to scores. A relative error of 2⁻⁵² in an exponential is an absolute error of 2⁻⁵² in its logarithm.
    np.testing.assert_allclose(model._scores(X), np.log(model.predict(X)), rtol=0, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.7, 0.9])
def test_shares_below_quantiles_are_their_levels(alpha):
    X, y = sklearn.datasets.make_friedman1(300, noise=1.0, random_state=0)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    shared: dict[str, Any] = {**WHOLE, "learning_rate": 0.1, "n_estimators": 10, "min_samples_leaf": 20, "max_depth": 2}
    model = weald.GradientBoostingRegressor(loss=Quantile(alpha), leaf_estimation="newton", random_state=0, **shared)
    # Fitting these samples moves the share a little.
    assert abs(np.average(y <= model.fit(X, y, sample_weight=w).predict(X), weights=w) - alpha) < 0.05


@pytest.mark.parametrize("loss", ["absolute_error", Quantile(0.05), Quantile(0.95)])
def test_targets_on_one_side_are_told_apart_by_their_distance(loss):
    """Fifty values of one column, each with one y. All of one side of the start have the same gradient."""
    X = np.repeat(np.arange(50.0), 4)[:, None]
    y = np.random.default_rng(0).permutation(50)[X[:, 0].astype(int)] + 100.0
    shared: dict[str, Any] = {**WHOLE, "learning_rate": 1.0, "n_estimators": 60, "max_leaf_nodes": 8}
    model = weald.GradientBoostingRegressor(loss=loss, min_weight_leaf=1, random_state=0, **shared)
    assert abs(y - model.fit(X, y).predict(X)).max() < 1e-9  # the rounding of numbers about 100


@pytest.mark.parametrize("leaf_estimation", LEAVES)
@pytest.mark.parametrize(
    "params", [{}, {"output_strategy": Projected(relabel_leaves=False)}, {"output_strategy": "joint"}]
)
def test_several_quantiles_of_each_output(params, leaf_estimation):
    X, Y = make_data(NAME, outputs="several", n=200)
    w = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    params = {"leaf_estimation": leaf_estimation, "n_estimators": 20, **params}
    quantiles = [0.2, 0.5, 0.9]
    model = make(NAME, loss=Quantile(quantiles), **params).fit(X, Y, sample_weight=w, X_val=X, y_val=Y)
    pairs = [(y, q) for y in Y.T for q in quantiles]
    starts = [np.quantile(y.repeat(w.astype(int)), q, method="inverted_cdf") for y, q in pairs]
    np.testing.assert_array_equal(model.start_, starts)
    losses = [
        mean_pinball_loss(y, f, sample_weight=w, alpha=q) for (y, q), f in zip(pairs, model._scores(X).T, strict=True)
    ]
    # Means of a few hundred numbers, summed in another order.
    np.testing.assert_allclose(model.train_score_[-1], np.mean(losses), rtol=1e-12)
    assert (np.diff(model.train_score_) <= 0).all()
    # A list of one level is that level.
    same = make(NAME, loss=Quantile([0.3]), **params).fit(X, Y, sample_weight=w)
    assert model_bytes(same) == model_bytes(make(NAME, loss=Quantile(0.3), **params).fit(X, Y, sample_weight=w))
    # Threads, weights and layouts do not change the model.
    threads = make(NAME, loss=Quantile(np.array(quantiles)), n_jobs=2, **params)
    assert model_bytes(threads.fit(X, Y, sample_weight=w, X_val=X, y_val=Y)) == model_bytes(model)
    order = np.random.default_rng(1).permutation(int(w.sum()))
    repeated = make(NAME, loss=Quantile(tuple(quantiles)), **params)
    repeated.fit(X.repeat(w.astype(int), axis=0)[order], Y.repeat(w.astype(int), axis=0)[order])
    np.testing.assert_array_equal(repeated._scores(X), model._scores(X))


@pytest.mark.parametrize("leaf_estimation", LEAVES)
def test_quantiles_that_share_nothing_are_those_of_models_apart(leaf_estimation):
    X, Y = make_data(NAME, outputs="several", n=200)
    # Trees of a single output and of one among several outputs have different seeds, which decide between splits that
    # tie: here no two features and no two sums of weights are equal.
    rng = np.random.default_rng(0)
    X, w = X + rng.normal(size=X.shape), rng.uniform(0.5, 2, len(X))
    quantiles = [0.25, 0.5, 0.875]
    params = {"leaf_estimation": leaf_estimation, "output_strategy": "single_target"}
    params |= {"max_depth": 2, "min_samples_leaf": 20, "max_bins": None, **WHOLE}
    model = make(NAME, loss=Quantile(quantiles), **params).fit(X, Y, sample_weight=w)
    apart = [make(NAME, loss=Quantile(q), **params).fit(X, y, w) for y in Y.T for q in quantiles]
    np.testing.assert_array_equal(model._scores(X), np.column_stack([part.predict(X) for part in apart]))
    model = make(NAME, loss=Quantile(quantiles), **params).fit(X, Y)
    warm = make(NAME, loss=Quantile(quantiles), warm_start=True, n_estimators=2, **params).fit(X, Y)
    warm.set_params(n_estimators=5).fit(X, Y)
    assert model_bytes(warm) == model_bytes(model)
    warm.set_params(loss=Quantile([0.2, 0.5, 0.8]), n_estimators=6)
    check_refused(warm, ValueError, r"loss must be .* with warm_start=True, .*got .*\(0.2, 0.5, 0.8\)", X, Y)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile"])
def test_new_samples_are_predicted_as_well_as_by_histograms_of_scikit_learn(loss):
    """The loss on new samples is at most 5 % above scikit-learn's with as many leaves; splitting rules differ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6)).astype(np.float32)
    mean = np.exp(0.5 * X[:, 0] + np.sin(2 * X[:, 1]))
    of_loss = {
        "poisson": lambda: rng.poisson(mean).astype(float),
        "gamma": lambda: rng.gamma(2, mean / 2) + 1e-6,
        "quantile": lambda: mean + rng.normal(size=len(X)),
    }
    y, train, new = of_loss[loss](), slice(2000), slice(2000, None)
    quantile = OBJECTS["quantile"].quantile if loss == "quantile" else None
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(
        loss=loss, quantile=quantile, early_stopping=False, max_leaf_nodes=8
    )
    shared = {"loss": loss_object(loss), "random_state": 0, "max_leaf_nodes": 8}
    ours = [weald.GradientBoostingRegressor(leaf_estimation=leaf, **shared) for leaf in LEAVES]
    least, *losses = (METRICS[loss](y[new], m.fit(X[train], y[train]).predict(X[new]), None) for m in (theirs, *ours))
    assert max(losses) <= 1.05 * least, (losses, least)


def test_half_the_absolute_error_is_the_quantile_loss_of_the_median():
    X, Y = make_data(NAME, outputs="several")
    for leaf_estimation in LEAVES:
        median = make(NAME, loss="quantile", leaf_estimation=leaf_estimation).fit(X, Y)
        absolute = make(NAME, loss="absolute_error", leaf_estimation=leaf_estimation).fit(X, Y)
        # Halving the gradients changes no tree, and the steps along them are twice as long.
        np.testing.assert_allclose(median.predict(X), absolute.predict(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(2 * median.train_score_, absolute.train_score_, rtol=1e-12)
        errors = mean_absolute_error(Y, median.predict(X))
        # Means of a few hundred numbers, summed in another order.
        np.testing.assert_allclose(2 * median.train_score_[-1], errors, rtol=1e-12)


@pytest.mark.parametrize("leaf_estimation", LEAVES)
@pytest.mark.parametrize(
    "params", [{}, {"output_strategy": Projected(relabel_leaves=False)}, {"output_strategy": "single_target"}]
)
@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_outputs_that_are_always_zero_are_predicted_to_be_near_zero(loss, params, leaf_estimation):
    X, Y = data(loss)
    Y[:, 1] = 0
    model = make_model(loss, leaf_estimation=leaf_estimation, n_estimators=60, **params).fit(X, Y)
    # Two logarithms of the same number may differ by the last bit.
    np.testing.assert_allclose(model.start_[1], np.log(0.5 / len(X)), rtol=1e-15)
    assert np.isfinite(model._scores(X)).all()
    assert model.predict(X)[:, 1].mean() <= 0.5 / len(X)
    params = params if params.get("output_strategy") == "single_target" else {}
    assert np.isfinite(make_model(loss, **params).fit(X, np.zeros(len(X))).predict(X)).all()


@pytest.mark.parametrize("leaf_estimation", LEAVES)
@pytest.mark.parametrize("loss", DEVIANCES)
@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100, 1e145])
def test_targets_of_any_size_have_finite_predictions(loss, scale, leaf_estimation):
    X, y = data("gamma", "single")
    model = make_model(loss, leaf_estimation=leaf_estimation, l2_regularization=0.0, min_weight_leaf=0.0)
    model.set_params(learning_rate=1.0, n_estimators=20).fit(X, y * scale)
    assert np.isfinite(model._scores(X)).all()
    f = model.predict(X)
    assert np.isfinite(f).all()
    # At any scale the predictions are less than half as far from y as the mean is, in orders of magnitude.
    assert np.abs(np.log(f / (y * scale))).mean() < 0.5 * np.abs(np.log(y.mean() / y)).mean()


def test_predictions_of_scores_far_out_are_finite():
    X, y = data("poisson", "single")
    model = make_model("poisson", learning_rate=1e6, n_estimators=4).fit(X, y, X_val=X, y_val=y)
    for part in (model.predict(X), model.train_score_, model.validation_score_):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("loss", DEVIANCES)
def test_weak_models_add_to_logarithms(loss):
    X, Y = data(loss)
    model = make_model(loss, estimator=Ridge(), output_strategy="joint", n_estimators=20).fit(X, Y)
    assert (np.diff(model.train_score_) <= 0).all()
    # The engine's exponential and NumPy's differ by the last bit.
    np.testing.assert_allclose(model.predict(X), np.exp(model._scores(X)), rtol=1e-15)
    expected = np.mean([METRICS[loss](a, b, None) for a, b in zip(Y.T, model.predict(X).T, strict=True)])
    # The terms of about one have 16 digits, as above.
    np.testing.assert_allclose(model.train_score_[-1], expected, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_early_stops(loss):
    X, Y = data(loss, n=300)
    model = make_model(loss, n_estimators=500, n_iter_no_change=3, learning_rate=0.5).fit(X, Y)
    assert model.n_estimators_ == np.argmin(model.validation_score_) + 1 < 500
    assert len(model.validation_score_) <= model.n_estimators_ + 3


@pytest.mark.parametrize("loss", ["quantile", "huber"])
def test_warm_starts_keep_the_parameter_of_the_loss(loss):
    X, Y = data(loss)
    model = make_model(loss, warm_start=True).fit(X, Y)
    old, new = loss_object(loss), type(loss_object(loss))(0.7)
    for other in (new, loss, "squared_error"):
        model.set_params(n_estimators=8, loss=other)
        message = re.escape(f"loss must be {old!r} with warm_start=True, as in the previous fit, got {other!r}")
        check_refused(model, ValueError, message, X, Y)
    # The name and the object of the default are the same loss.
    warm = make(NAME, warm_start=True, loss=loss).fit(X, Y)
    warm.set_params(n_estimators=8, loss=type(loss_object(loss))()).fit(X, Y)
    assert model_bytes(warm) == model_bytes(make(NAME, n_estimators=8, loss=loss).fit(X, Y))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_score_is_that_of_the_predictions(loss):
    X, Y = data(loss)
    model = make_model(loss).fit(X, Y)
    weights = np.arange(len(X)) % 3.0
    for w in (None, weights):
        assert model.score(X, Y, sample_weight=w) == r2_score(Y, model.predict(X), sample_weight=w)
    one = make_model(loss).fit(X, Y[:, 0])
    assert one.score(X, Y[:, 0]) == r2_score(Y[:, 0], one.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_models_come_back_from_files_and_pickles(loss, tmp_path):
    X, Y = data(loss)
    model = make_model(loss).fit(X, Y)
    path = tmp_path / "model"
    weald.save(model, path)
    for loaded in (weald.load(path), pickle.loads(pickle.dumps(model))):
        assert loaded.get_params() == model.get_params()
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert model_bytes(loaded) == model_bytes(model)
    assert model.loss == loss_object(loss)
    _, estimator, _ = taken_apart(path)
    stored = estimator["params"]["loss"]
    assert stored == (loss if loss not in OBJECTS else {"loss": [type(OBJECTS[loss]).__name__, stored["loss"][1]]})


def test_losses_in_files_are_those_of_the_model():
    X, Y = data("poisson")
    state = make_model("poisson").fit(X, Y).__getstate__()
    for loss, message in [
        ("squared_error", "_shared must have the loss of the model, got 'squared_error'"),
        ("log_loss", "_shared must have a loss of .*got 'log_loss'"),
        (Quantile(0.5), "_shared must have the loss of the model"),
        (Tweedie([1.5, 1.4]), "_shared must have a loss for each of 3 outputs"),
        ("unknown", "_shared must have a loss of .*'tweedie'.*got 'unknown'"),
        (CustomLoss(None, name="own"), "_shared must have the loss of the model, got 'own'"),
        (CustomLoss(HalfSquares(), link="log"), "custom loss of numbers without methods"),
        (None, "_shared must have a loss of"),
    ]:
        model = weald.GradientBoostingRegressor()
        with pytest.raises(ValueError, match=message):
            model.__setstate__(state | {"_shared": state["_shared"] | {"loss": loss}})
    with pytest.raises(ValueError, match="_shared must be a dict with the keys"):
        weald.GradientBoostingRegressor().__setstate__(state | {"_shared": state["_shared"] | {"quantile": 0.5}})


def test_trees_and_forests_alone_are_compressed():
    X, y = data("poisson", "single")
    boosting = make_model("poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"estimator must be a tree or forest.*got GradientBoostingRegressor"):
        weald.CompressedForestRegressor(estimator=boosting).fit(X, y)
