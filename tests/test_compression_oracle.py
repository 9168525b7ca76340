"""The stagewise path against its twin, step by step; sizes of models and predictions at points of the path."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from compression_twin import n_test_nodes, nodes_of, stagewise
from sklearn.datasets import make_friedman1
from sklearn.frozen import FrozenEstimator

STEP = 0.05
N, N_NEW = 60, 40


def make_problem(d: int = 1):
    X, y = make_friedman1(N + N_NEW, n_features=6, noise=0.3, random_state=3)
    rng = np.random.default_rng(3)
    Y = np.column_stack([y, *(np.roll(y, j) * 0.2 + X[:, j] * 9 + rng.normal(size=len(y)) for j in range(1, d))])
    w = rng.integers(0, 3, N).astype(float)
    return X.astype(np.float32), Y, w


def whitened(Y, w):
    """Outputs with mean 0 and standard deviation 1, as the path uses them, and these means and deviations."""
    mean = w @ Y[:N] / w.sum()
    scale = np.sqrt(w @ (Y[:N] - mean) ** 2 / w.sum())
    return (Y - mean) / scale, mean, scale


def fit_both(forest, X, y, Y, w, standardize, *, white):
    """The estimator at the end of its path, and copies of the twin's steps up to there."""
    kind = weald.CompressedForestRegressor if white else weald.CompressedForestClassifier
    model = kind(FrozenEstimator(forest), l1_norm=None, step_size=STEP, standardize=standardize, max_steps=60)
    model.fit(X[:N], y[:N], sample_weight=w)
    weights = np.r_[w, np.zeros(N_NEW)]
    nodes = nodes_of(forest, X)
    found = []
    for step in stagewise(nodes, Y, weights, STEP, standardize, 60, 1 - np.sign(weights)):
        kept = (step.t, step.loss, step.n_test_nodes, np.count_nonzero(np.abs(step.beta).max(axis=1, initial=0)))
        found.append((*kept, step.scores.copy()))
    return model, found


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [weald.ExtraTreesRegressor, weald.RandomForestRegressor])
def test_numerical_outputs_step_by_step(kind, standardize, d):
    X, Y, w = make_problem(d)
    y = Y.squeeze(axis=1) if d == 1 else Y
    forest = kind(5, max_leaf_nodes=12, random_state=1).fit(X[:N], y[:N], sample_weight=w)
    white, mean, scale = whitened(Y, w)
    model, found = fit_both(forest, X, y, white, w, standardize, white=True)
    path = model.path_
    assert len(path["l1_norm"]) == len(found) > 20
    # Norms are sums of equal steps, in the same order.
    np.testing.assert_allclose(path["l1_norm"], [f[0] for f in found], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(path["n_test_nodes"], [f[2] for f in found])
    np.testing.assert_array_equal(path["n_nonzero"], [f[3] for f in found])
    for step in (0, 1, len(found) // 2, len(found) - 1):
        predicted = model.at(found[step][0]).predict(X).reshape(N + N_NEW, d)
        # Directions of steps are rounded to float32, a relative error of 6e-8 in each of at most 60 steps.
        np.testing.assert_allclose((predicted - mean) / scale, found[step][4], rtol=0, atol=1e-6)


@pytest.mark.parametrize("standardize", [True, False])
def test_labels_step_by_step(standardize):
    X, Y, w = make_problem(4)
    Y = (Y - np.median(Y, axis=0) > 0).astype(int)
    forest = weald.ExtraTreesClassifier(4, max_leaf_nodes=10, random_state=2).fit(X[:N], Y[:N], sample_weight=w)
    model, found = fit_both(forest, X, Y, Y.astype(float), w, standardize, white=False)
    path = model.path_
    assert len(path["l1_norm"]) == len(found) > 20
    np.testing.assert_array_equal(path["n_test_nodes"], [f[2] for f in found])
    # Directions of steps are rounded to float32.
    np.testing.assert_allclose(path["train_loss"], [f[1] for f in found], rtol=1e-6)
    scores = model.decision_function(X) + 0.5
    np.testing.assert_allclose(scores, found[-1][4], rtol=0, atol=1e-6)


def test_the_constant_has_no_test_nodes():
    X, Y, _ = make_problem()
    forest = weald.ExtraTreesRegressor(3, random_state=0).fit(X[:N], Y[:N, 0])
    model = weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=0.0).fit(X[:N], Y[:N, 0])
    assert model.n_test_nodes_ == 0
    # The mean of float64 numbers is summed in another order.
    np.testing.assert_allclose(model.predict(X), Y[:N, 0].mean(), rtol=1e-12)


def test_the_twin_counts_test_nodes_as_drawn():
    X, Y, _ = make_problem()
    forest = weald.ExtraTreesRegressor(2, random_state=0).fit(X[:N], Y[:N, 0])
    nodes = nodes_of(forest, X)
    everything = np.ones((nodes.Z.shape[1], 1))
    splits = sum(int((t.tree_.children_left >= 0).sum()) for t in forest.estimators_)
    assert n_test_nodes(nodes, everything) == splits
    assert n_test_nodes(nodes, 0 * everything) == 0
