"""Losses that are Python objects: against the engine's losses, scikit-learn's losses as objects, and invalid losses."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
import weald
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn._loss.loss import HalfGammaLoss, HalfPoissonLoss, HalfSquaredError
from sklearn.base import clone


class HalfSquares:
    def loss(self, y, scores):
        return 0.5 * (y - scores) ** 2

    def gradient_hessian(self, y, scores):
        return scores - y, np.ones_like(y)


class Poisson:
    def loss(self, y, scores):
        return np.exp(scores) - y * scores

    def gradient_hessian(self, y, scores):
        return np.exp(scores) - y, np.exp(scores)


class Logistic:
    """The log loss of y with values 0 and 1; scores are log-odds."""

    def loss(self, y, scores):
        return np.logaddexp(0, scores) - y * scores

    def gradient_hessian(self, y, scores):
        p = 1 / (1 + np.exp(-scores))
        return p - y, p * (1 - p)


class Distances:
    """The absolute error without second derivatives, so that the values of leaves are searched."""

    def loss(self, y, scores):
        return np.abs(y - scores)

    def gradient_hessian(self, y, scores):
        return np.sign(scores - y), np.zeros_like(y)


class Broken(HalfSquares):
    def __init__(self, what):
        self.what = what

    def loss(self, y, scores):
        found = super().loss(y, scores)
        return {"nan": found * np.nan, "shape": found[:, np.newaxis], "text": "many"}.get(self.what, found)

    def gradient_hessian(self, y, scores):
        if self.what == "raises":
            raise ZeroDivisionError("by the loss")
        gradient, hessian = super().gradient_hessian(y, scores)
        if self.what == "one array":
            return gradient
        return (gradient, hessian[:-1]) if self.what == "short" else (gradient, hessian)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 4)).astype(np.float32)
    Y = rng.poisson(np.exp(0.3 * X[:, :2]), (300, 2)).astype(float)
    return X, Y


def fit(loss, X, y, **params):
    params = {"n_estimators": 8, "max_leaf_nodes": 6, "random_state": 0} | params
    return weald.GradientBoostingRegressor(loss=loss, **params).fit(X, y)


# The engine's losses take sums on grids for their steps and have initial scores in closed form. Losses that are objects
# take float64 sums, and their initial scores are searched to a relative accuracy of 1e-7.
NEAR = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("strategy", ["auto", "joint", "projected"])
@pytest.mark.parametrize("leaf_estimation", ["newton", "line_search"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize(
    "pair", [("squared_error", HalfSquares()), ("poisson", Poisson()), ("absolute_error", Distances())]
)
def test_objects_give_what_losses_of_the_engine_give(data, strategy, leaf_estimation, n_outputs, pair):
    X, Y = data
    name, own = pair
    params = {"output_strategy": strategy, "leaf_estimation": leaf_estimation}
    y = Y[:, 0] if n_outputs == 1 else Y
    expected, found = fit(name, X, y, **params), fit(own, X, y, **params)
    predictions = found.predict(X)
    if name == "absolute_error":
        # Medians are not unique, and a later split may differ as a result, so that only the losses must be close.
        ratio = found.train_score_[-1] / expected.train_score_[-1]
        assert 0.97 < ratio < 1.03
    else:
        assert_allclose(np.exp(predictions) if name == "poisson" else predictions, expected.predict(X), **NEAR)


@pytest.mark.parametrize(("name", "own"), [("poisson", HalfPoissonLoss()), ("gamma", HalfGammaLoss())])
def test_losses_of_scikit_learn_serve(data, name, own):
    X, Y = data
    y = Y[:, 0] + 1
    assert_allclose(np.exp(fit(own, X, y).predict(X)), fit(name, X, y).predict(X), **NEAR)
    assert_allclose(fit(HalfSquaredError(), X, y).predict(X), fit("squared_error", X, y).predict(X), **NEAR)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_targets_of_any_size(data, scale):
    X, Y = data
    # No regularisation is used, because its unit is that of y.
    found, expected = (
        fit(loss, X, Y * scale, l2_regularization=0.0, min_weight_leaf=0.0) for loss in (Poisson(), "poisson")
    )
    # The tolerance is that of `NEAR`, relative to targets of any size.
    assert_allclose(np.exp(found.predict(X)), expected.predict(X), rtol=1e-5)


def test_labels_and_two_classes(data):
    X, Y = data
    params = {"n_estimators": 6, "max_leaf_nodes": 6, "random_state": 0, "l2_regularization": 0.0}
    for y in (Y[:, 0] > 1, sparse.csr_array((Y > 1).astype(np.int8))):
        own = weald.GradientBoostingClassifier(loss=Logistic(), output_strategy="joint", **params).fit(X, y)
        # The engine's loss is a function of half the log-odds; without regularisation, its Newton steps are the same.
        expected = weald.GradientBoostingClassifier(output_strategy="joint", **params).fit(X, y)
        # The engine's log loss has float32 scores.
        assert_allclose(own.decision_function(X), expected.decision_function(X), rtol=1e-5, atol=1e-5)
        ours, theirs = (p.toarray() if sparse.issparse(p) else p for p in (own.predict(X), expected.predict(X)))
        assert (ours == theirs).mean() > 0.99
        assert not hasattr(own, "predict_proba")


@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_array, np.asfortranarray])
def test_layouts_threads_and_weights(data, layout):
    X, Y = data
    expected = fit(Poisson(), X, Y)
    bits = expected.predict(X)
    assert_array_equal(fit(Poisson(), layout(X), Y).predict(X), bits)
    assert_array_equal(fit(Poisson(), X, Y, n_jobs=2).predict(X), bits)
    weights = np.ones(300)
    weights[::3] = 0
    assert_array_equal(
        fit(Poisson(), X[weights > 0], Y[weights > 0]).predict(X),
        weald.GradientBoostingRegressor(loss=Poisson(), n_estimators=8, max_leaf_nodes=6, random_state=0)
        .fit(X, Y, weights)
        .predict(X),
    )
    twice = np.repeat(np.arange(300), 2)
    assert_array_equal(
        fit(Poisson(), X[twice], Y[twice]).predict(X),
        weald.GradientBoostingRegressor(loss=Poisson(), n_estimators=8, max_leaf_nodes=6, random_state=0)
        .fit(X, Y, np.full(300, 2.0))
        .predict(X),
    )


def test_the_training_loss_never_rises(data):
    X, Y = data
    for own in (HalfSquares(), Poisson(), Distances()):
        losses = fit(own, X, Y, learning_rate=1.0, subsample=1.0).train_score_
        # The losses are sums over rounded scores.
        assert (np.diff(losses) <= 1e-12 * np.abs(losses[:-1])).all()
    model = fit(Poisson(), X, Y)
    # The mean is summed in a different order.
    assert_allclose(model.train_score_[-1], Poisson().loss(Y, model.predict(X)).mean(), rtol=1e-12)


def test_losses_of_users_support_early_stopping_warm_start_pickle_and_clone(data):
    X, Y = data
    params = {"n_estimators": 200, "n_iter_no_change": 3, "learning_rate": 0.5}
    stopped = fit(Poisson(), X, Y, **params)
    assert stopped.n_estimators_ < 200
    model = fit(Poisson(), X, Y, warm_start=True)
    whole = fit(Poisson(), X, Y, n_estimators=12).predict(X)
    assert_array_equal(model.set_params(n_estimators=12).fit(X, Y).predict(X), whole)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), whole)
    assert isinstance(clone(model).loss, Poisson)
    with pytest.raises(
        ValueError, match=r"loss must be .*name='Poisson'.* with warm_start=True, .*got .*'HalfSquares'"
    ):
        model.set_params(n_estimators=14, loss=HalfSquares()).fit(X, Y)
    of_all = fit(Poisson(), X, Y, subsample=1.0)
    assert_allclose(of_all.refit_leaves(X, Y).predict(X), of_all.predict(X), **NEAR)


def test_sets_that_are_watched(data):
    X, Y = data
    weights = np.arange(1.0, 101.0)
    model = weald.GradientBoostingRegressor(loss=Poisson(), n_estimators=6, random_state=0)
    held = {"X_val": X[:100], "y_val": Y[:100], "sample_weight_val": weights}
    model.fit(X, Y, **held, eval_sets={"same": (X[:100], Y[:100], weights)})
    # Both sides add up the same terms in a different order.
    assert_allclose(model.eval_results_["same"]["loss"], model.validation_score_, rtol=1e-12)
    labels = weald.GradientBoostingClassifier(loss=Logistic(), n_estimators=6, random_state=0)
    y = sparse.csr_array((Y > 1).astype(np.int8))
    labels.fit(X, y, X_val=X[:100], y_val=y[:100], eval_sets=[(X[:100], y[:100])])
    assert_allclose(labels.eval_results_["eval_0"]["loss"], labels.validation_score_, rtol=1e-12)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("nan", ValueError, "loss must have finite values and derivatives for every sample, got NaN or infinity"),
        ("shape", ValueError, r"loss\.loss returned an array of shape \(\d+, 1\), expected \(\d+,\)"),
        ("text", ValueError, "could not convert string"),
        ("short", ValueError, r"loss\.gradient_hessian returned an array of shape"),
        ("one array", (TypeError, ValueError), r"loss\.gradient_hessian returned"),
        ("raises", ZeroDivisionError, "by the loss"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_loss_does_wrong_comes_through(data, what, error, message, n_jobs):
    X, Y = data
    model = weald.GradientBoostingRegressor(loss=HalfSquares(), n_estimators=3, n_jobs=n_jobs).fit(X, Y)
    before = model.predict(X)
    for n in (300, 3):
        with pytest.raises(error, match=message):
            model.set_params(loss=Broken(what)).fit(np.tile(X[:n], (40, 1)), np.tile(Y[:n], (40, 1)))
    model.loss = HalfSquares()
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (HalfSquares, "loss must be a name or an instance, got the class HalfSquares"),
        (object(), "'loss'"),
        (np.square, "'loss'"),
        ("cubes", "'loss'"),
    ],
)
def test_what_is_no_loss_is_refused(data, loss, message):
    with pytest.raises(ValueError, match=message):
        fit(loss, *data)


def test_a_fit_in_another_thread(data):
    X, Y = data
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fit(Poisson(), X, Y, n_jobs=2).predict(X))) for _ in range(2)
    ]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    expected = fit(Poisson(), X, Y).predict(X)
    assert len(found) == 2
    assert all((one == expected).all() for one in found)
