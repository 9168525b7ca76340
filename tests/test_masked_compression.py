"""Compression with unknown values in y: the stagewise path against its slow twin, laws, and invalid input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from compression_twin import nodes_of, stagewise
from conftest import COMPRESSED, check_refused, make, make_data, model_bytes, unless
from sklearn.datasets import make_friedman1
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold
from test_compression_laws import check_same
from test_laws import layouts

NAN = np.nan
REGRESSOR = COMPRESSED[1]
STEP = 0.05
METHODS: dict[str, dict[str, Any]] = {"stagewise": {}, "scaled": {"standardize": True}, "few": {"step_outputs": 2}}


@pytest.fixture(params=METHODS)
def params(request):
    return METHODS[request.param]


def make_problem(d: int, n: int = 80, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, Y, weights, and a mask of about a third of the values in Y that leaves at least one value of each sample."""
    X, y = make_friedman1(n, n_features=6, noise=0.3, random_state=seed)
    rng = np.random.default_rng(seed)
    Y = np.column_stack([np.roll(y, j) * 0.2 + X[:, j % 6] * (9 + j) + rng.normal(size=n) for j in range(d)])
    mask = rng.random(Y.shape) < 0.35
    mask[np.arange(n), rng.integers(0, d, n)] = False
    return X.astype(np.float32), Y, rng.integers(0, 3, n).astype(float), mask


def whitened(Y: np.ndarray, w: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets scaled to mean 0 and deviation 1 of their known values, as in the path; also means and deviations."""
    weights = w[:, None] * known
    mean = (weights * Y).sum(axis=0) / weights.sum(axis=0)
    scale = np.sqrt((weights * (Y - mean) ** 2).sum(axis=0) / weights.sum(axis=0))
    return (Y - mean) / scale, mean, scale


# Up to sixteen outputs, the path keeps sums for each node; beyond that it keeps bounds of their lengths.
@pytest.mark.parametrize("d", [2, 5, 20])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [weald.ExtraTreesRegressor, weald.RandomForestRegressor])
def test_paths_step_by_step(kind, standardize, d):
    X, Y, w, mask = make_problem(d)
    n_train = 60
    w[n_train:] = 0
    forest = kind(5, max_leaf_nodes=12, random_state=1).fit(X, Y, sample_weight=w, y_weight=unless(mask))
    model = weald.CompressedForestRegressor(
        FrozenEstimator(forest), l1_norm=None, step_size=STEP, standardize=standardize, max_steps=60
    ).fit(X, Y, sample_weight=w, y_weight=unless(mask))
    white, mean, scale = whitened(Y, w, ~mask)
    twin = stagewise(nodes_of(forest, X), white, w, STEP, standardize, 60, np.zeros(len(w)), ~mask)
    found = []
    for step in twin:
        squares = w[:, None] * ~mask * ((white - step.scores) * scale) ** 2
        loss = squares.sum() / (w[:, None] * ~mask).sum()
        n_nonzero = np.count_nonzero(np.abs(step.beta).max(axis=1, initial=0))
        found.append((step.t, loss, step.n_test_nodes, n_nonzero, step.scores.copy()))
    path = model.path_
    assert len(path["l1_norm"]) == len(found) > 20
    # The norms are sums of equal steps.
    np.testing.assert_allclose(path["l1_norm"], [f[0] for f in found], rtol=1e-12, atol=1e-12)
    # The directions are rounded to float32.
    np.testing.assert_allclose(path["train_loss"], [f[1] for f in found], rtol=1e-6)
    np.testing.assert_array_equal(path["n_test_nodes"], [f[2] for f in found])
    np.testing.assert_array_equal(path["n_nonzero"], [f[3] for f in found])
    for step in (0, 1, len(found) // 2, len(found) - 1):
        predicted = model.at(found[step][0]).predict(X)
        # Directions are rounded to float32, as above: each of some dozens of steps has a relative error of 6e-8.
        np.testing.assert_allclose((predicted - mean) / scale, found[step][4], rtol=0, atol=1e-6)


@pytest.mark.parametrize("d", [2, 20])
def test_losses_of_folds_are_of_the_known_cells(d):
    X, Y, w, mask = make_problem(d)
    w = w + 0.5
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = make(REGRESSOR, cv=folds, step_size=STEP, max_steps=5).fit(X, Y, sample_weight=w, y_weight=unless(mask))
    weights, losses = w[:, None] * ~mask, []
    for train, test in folds:
        constant = (weights[train] * Y[train]).sum(axis=0) / weights[train].sum(axis=0)
        losses.append((weights[test] * (Y[test] - constant) ** 2).sum() / weights[test].sum())
    # The sums run over samples and folds in a different order; a standard deviation is a difference of means.
    np.testing.assert_allclose(model.path_["test_loss_mean"][0], np.mean(losses), rtol=1e-12)
    np.testing.assert_allclose(model.path_["test_loss_std"][0], np.std(losses), rtol=1e-11)


@pytest.mark.parametrize("d", [3, 20])
def test_a_mask_of_nothing_is_none_and_what_is_masked_is_not_looked_at(params, d):
    X, Y, w, mask = make_problem(d)
    params = {"step_size": STEP, "max_steps": 40, **params}

    def fitted(Y: np.ndarray, mask: Any = None) -> Any:
        return make(REGRESSOR, **params).fit(X, Y, sample_weight=w, y_weight=unless(mask))

    check_same(fitted(Y), fitted(Y, np.zeros_like(mask)))
    masked = fitted(Y, mask)
    check_same(masked, fitted(np.where(mask, NAN, Y)))
    check_same(masked, fitted(np.where(mask, 1e6, Y), mask))
    other = np.where(mask, NAN, Y)
    other[0], both = Y[0], mask.copy()
    both[1:] = False
    check_same(masked, fitted(other, both))
    assert masked.full_loss_ == fitted(np.where(mask, -1e5, Y), mask).full_loss_


@pytest.mark.parametrize("d", [3, 20])
def test_samples_without_known_outputs_are_ignored(params, d):
    X, Y, w, mask = make_problem(d, n=90)
    w = w + 1
    gone = np.random.default_rng(1).random(len(X)) < 0.3
    mask[gone] = True
    fold = np.random.default_rng(2).integers(0, 3, len(X))
    folds = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    of_kept = [(np.flatnonzero(fold[~gone] != f), np.flatnonzero(fold[~gone] == f)) for f in range(3)]
    params = {"step_size": STEP, "max_steps": 30, **params}
    masked = make(REGRESSOR, cv=folds, **params).fit(X, Y, sample_weight=w, y_weight=unless(mask))
    removed = make(REGRESSOR, cv=of_kept, **params).fit(X[~gone], Y[~gone], w[~gone], y_weight=unless(mask[~gone]))
    check_same(masked, removed)
    # Only whole samples are masked here, so that the mask has no effect on the samples that are kept.
    whole = np.broadcast_to(gone[:, None], mask.shape)
    masked = make(REGRESSOR, cv=folds, **params).fit(X, Y, sample_weight=w, y_weight=unless(whole))
    check_same(masked, make(REGRESSOR, cv=of_kept, **params).fit(X[~gone], Y[~gone], w[~gone]))


@pytest.mark.parametrize("d", [3, 20])
def test_one_model_for_every_layout_and_any_number_of_threads(params, d):
    X, Y = make_data(REGRESSOR, outputs="several")
    Y = np.hstack([Y + 0.1 * j for j in range(d)])[:, :d] + np.arange(d) * Y[:, :1]
    mask = np.random.default_rng(0).random(Y.shape) < 0.3
    w = np.random.default_rng(2).uniform(0.5, 2, len(X))
    params = {"step_size": STEP, "max_steps": 40, **params}
    expected = make(REGRESSOR, **params).fit(X, Y, w, y_weight=unless(mask))
    for form, Z in layouts(X.astype(np.float32)).items():
        check_same(make(REGRESSOR, **params).fit(Z, Y, w, y_weight=unless(mask)), expected, form)
    check_same(make(REGRESSOR, n_jobs=2, **params).fit(X, Y, w, y_weight=unless(mask)), expected)


@pytest.mark.parametrize("d", [3, 20])
def test_a_weight_of_two_is_two_samples(params, d):
    X, Y, w, mask = make_problem(d)
    w = w + 1
    times = w.astype(int)
    params = {"step_size": STEP, "l1_norm": None, "max_steps": 25, **params}
    forest = weald.ExtraTreesRegressor(5, max_leaf_nodes=10, random_state=0)
    one = make(REGRESSOR, estimator=forest, **params).fit(X, Y, sample_weight=w, y_weight=unless(mask))
    rows = np.repeat(np.arange(len(X)), times)
    other = make(REGRESSOR, estimator=forest, **params).fit(X[rows], Y[rows], y_weight=unless(mask[rows]))
    # The results are equal up to the rounding of sums.
    np.testing.assert_allclose(one.path_["train_loss"], other.path_["train_loss"], rtol=1e-11)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-11, atol=1e-11)


def test_the_training_loss_falls_and_scores_are_of_known_cells(tmp_path):
    X, Y, _, mask = make_problem(4, n=150)
    model = make(REGRESSOR, step_size=STEP).fit(X, Y, y_weight=unless(mask))
    assert (np.diff(model.path_["train_loss"]) < 0).all()
    score = model.score(X, Y, y_weight=unless(mask))
    assert score > 0.7
    assert score.n_cells == np.count_nonzero(~mask)
    weald.save(model, tmp_path / "model")
    assert model_bytes(weald.load(tmp_path / "model")) == model_bytes(model)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "lasso"}, 'solver="lasso" does not support y with masked entries'),
        ({"estimator": weald.ExtraTreesRegressor(5, ccp_alpha=0.1)}, "ccp_alpha"),
        (
            {"cv": [([0, 1], range(2, 60)), (range(2, 60), [0, 1])]},
            "y_weight must leave at least one observed cell .* output 0",
        ),
        (
            {"cv": [([0, 1, *range(4, 60)], [2, 3]), (range(2, 60), [0, 1])]},
            "cv must have test samples of positive weight in each fold, got none in fold 0",
        ),
    ],
)
def test_what_does_not_hold_is_refused(params, message):
    X, Y = make_data(REGRESSOR, outputs="several")
    mask = np.zeros(Y.shape, dtype=bool)
    mask[:2, 0] = True
    mask[2:4] = True
    mask[10, 1] = True
    model = make(REGRESSOR, step_size=STEP).fit(X, Y).set_params(**params)
    check_refused(model, ValueError, message, X, Y, y_weight=unless(mask))


def test_bad_masks_are_refused():
    X, Y = make_data(REGRESSOR, outputs="several")
    model = make(REGRESSOR, step_size=STEP).fit(X, Y)
    check_refused(
        model,
        ValueError,
        r"^y_weight must have shape \(60, 3\), that of y, with 0 for unknown values, got \(2, 2\)$",
        X,
        Y,
        y_weight=unless(np.zeros((2, 2))),
    )
    nothing = np.zeros(Y.shape, dtype=bool)
    nothing[:, 1] = True
    check_refused(model, ValueError, "y must have a known value in column 1", X, Y, y_weight=unless(nothing))
    X, y = make_data(COMPRESSED[0], outputs="several")
    classifier = make(COMPRESSED[0], step_size=STEP, solver="lasso").fit(X, y)
    message = 'solver="lasso" does not support y with masked entries'
    check_refused(classifier, ValueError, message, X, y, y_weight=unless(np.arange(y.size).reshape(y.shape) == 1))
    before = model_bytes(classifier)
    assert model_bytes(classifier.fit(X, y, y_weight=unless(y > 9))) == before
