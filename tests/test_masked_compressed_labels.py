"""Compression with unknown labels and classes: paths against a slow twin, and laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from compression_twin import nodes_of, stagewise
from conftest import model_bytes, unless
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

NAN = np.nan
STEP = 0.05
LOSSES = ("squared_error", "log_loss")
KINDS = ("labels", "classes")


def make_problem(
    kind: str, d: int, seed: int = 0, n: int = 80
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, weights, and a mask of a third of y under which every output keeps known values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1).astype(np.float32)
    score = X[:, np.arange(d) % 5] + rng.normal(scale=0.5, size=(n, d))
    y = (score > 0.2).astype(float) if kind == "labels" else np.digitize(score, [-0.4, 0.5]).astype(float)
    mask = rng.random(y.shape) < 0.35
    mask[np.arange(n), rng.integers(0, d, n)] = False
    mask[:9] = False
    return X, y, rng.integers(0, 3, n).astype(float), mask


def fitted(X: Any, y: Any, w: Any = None, mask: Any = None, **params: Any) -> Any:
    forest = weald.ExtraTreesClassifier(4, max_leaf_nodes=10, random_state=2)
    given = {"estimator": forest, "l1_norm": None, "step_size": STEP, "max_steps": 40, "random_state": 0, **params}
    return weald.CompressedForestClassifier(**given).fit(X, y, sample_weight=w, y_weight=unless(mask))


def scores(model: Any, X: np.ndarray) -> np.ndarray:
    found = model.decision_function(X)
    return np.column_stack(found) if isinstance(found, list) else np.asarray(found)


def columns(kind: str, y: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of 0 and 1, and which of their cells are known."""
    if kind == "labels":
        return y, ~mask
    parts = [np.equal.outer(column, np.unique(column)) * 1.0 for column in y.T]
    return np.hstack(parts), np.hstack(
        [np.repeat(~m[:, None], p.shape[1], axis=1) for m, p in zip(mask.T, parts, strict=True)]
    )


# Up to sixteen scores, the path keeps sums for each node; beyond that it keeps bounds of their lengths.
@pytest.mark.parametrize(("kind", "d"), [("labels", 3), ("labels", 20), ("classes", 2), ("classes", 7)])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_squared_errors_are_those_of_the_twin(kind, d, standardize, seed):
    X, y, w, mask = make_problem(kind, d, seed)
    forest = weald.ExtraTreesClassifier(4, max_leaf_nodes=10, random_state=2).fit(
        X, y, sample_weight=w, y_weight=unless(mask)
    )
    model = fitted(X, y, w, mask, estimator=FrozenEstimator(forest), standardize=standardize)
    Y, known = columns(kind, y, mask)
    found = [
        (step.t, step.loss, step.n_test_nodes, step.scores.copy())
        for step in stagewise(nodes_of(forest, X), Y, w, STEP, standardize, 40, np.zeros(len(w)), known)
    ]
    assert len(model.path_["l1_norm"]) == len(found) > 10
    # The directions are rounded to float32.
    np.testing.assert_allclose(model.path_["train_loss"], [f[1] for f in found], rtol=1e-6)
    np.testing.assert_array_equal(model.path_["n_test_nodes"], [f[2] for f in found])
    np.testing.assert_allclose(scores(model, X) + 0.5, found[-1][3], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_log_losses_are_means_over_known_cells_and_fall(kind, d):
    X, y, w, mask = make_problem(kind, d)
    model = fitted(X, y, w, mask, loss="log_loss")
    f = scores(model, X)
    if kind == "labels":
        of_cell = np.logaddexp(0, -2 * (2 * y - 1) * f)
    else:
        of_cell = np.empty(y.shape)
        for j in range(d):
            part = f[:, 3 * j : 3 * j + 3]
            of_cell[:, j] = np.log(np.exp(part).sum(axis=1)) - part[np.arange(len(y)), y[:, j].astype(int)]
    weights = w[:, None] * ~mask
    # Sums of losses in another order, with steps whose directions are rounded alike in the model and the path.
    assert model.path_["train_loss"][-1] == pytest.approx((weights * of_cell).sum() / weights.sum(), rel=1e-9)
    assert (np.diff(model.path_["train_loss"]) < 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_what_is_unknown_has_no_effect(kind, d, loss, tmp_path):
    X, y, w, mask = make_problem(kind, d, n=90)
    params = {"loss": loss, "cv": KFold(3, shuffle=True, random_state=0), "l1_norm": "cv"}
    expected = model_bytes(fitted(X, y, w, mask, **params))
    junk = np.where(mask, y[::-1], y)
    assert model_bytes(fitted(X, junk, w, mask, **params)) == expected
    assert model_bytes(fitted(X, np.where(mask, NAN, y), w, **params)) == expected
    for form in (sparse.csr_array, sparse.csc_array):
        assert model_bytes(fitted(form(X), junk, w, sparse.csr_array(mask), **params)) == expected
    if kind == "labels":
        of_sparse = fitted(X, sparse.csr_array(junk), w, mask, **params)
        np.testing.assert_array_equal(scores(of_sparse, X), scores(fitted(X, y, w, mask, **params), X))
    model = fitted(X, y, w, mask, **params)
    weald.save(model, tmp_path / "model")
    assert model_bytes(weald.load(tmp_path / "model")) == expected
    nothing = np.zeros_like(mask)
    assert model_bytes(fitted(X, y, w, nothing, **params)) == model_bytes(fitted(X, y, w, **params)) != expected
    # Other numbers of threads are another parameter of the file.
    np.testing.assert_array_equal(scores(fitted(X, y, w, mask, n_jobs=2, **params), X), scores(model, X))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_weights_are_counts(kind, d, loss):
    X, y, w, mask = make_problem(kind, d)
    forest = weald.ExtraTreesClassifier(4, max_leaf_nodes=10, random_state=2).fit(
        X, y, sample_weight=w, y_weight=unless(mask)
    )
    params = {"loss": loss, "estimator": FrozenEstimator(forest), "max_steps": 25}
    one = fitted(X, y, w, mask, **params)
    there = w > 0
    gone = fitted(X[there], y[there], w[there], mask[there], **params)
    np.testing.assert_array_equal(one.path_["train_loss"], gone.path_["train_loss"])
    np.testing.assert_array_equal(scores(one, X), scores(gone, X))
    rows = np.repeat(np.arange(len(X)), w.astype(int))
    twice = fitted(X[rows], y[rows], None, mask[rows], **params)
    # The results are equal up to the rounding of sums.
    np.testing.assert_allclose(one.path_["train_loss"], twice.path_["train_loss"], rtol=1e-9)
    # Samples without a known cell are absent.
    none = np.arange(len(X)) % 4 == 3
    hidden = fitted(X, y, w, mask | none[:, None], **params)
    removed = fitted(X[~none], y[~none], w[~none], mask[~none], **params)
    np.testing.assert_array_equal(scores(hidden, X), scores(removed, X))


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_of_folds_are_of_the_known_cells(kind, d):
    X, y, w, mask = make_problem(kind, d)
    # Weights without ties between the shares of classes, which rounding would decide.
    w = w + np.random.default_rng(4).uniform(0.4, 0.6, len(w))
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = fitted(X, y, w, mask, cv=folds, l1_norm="cv", max_steps=5)
    losses = []
    for train, test in folds:
        weights = w[test, None] * ~mask[test]
        if kind == "labels":
            of_train = w[train, None] * ~mask[train]
            constant = (of_train * y[train]).sum(axis=0) / of_train.sum(axis=0)
            of_cell = (y[test] - constant) ** 2
        else:
            best = [
                np.argmax(np.bincount(c[k].astype(int), u[k]))
                for c, k, u in zip(y[train].T, ~mask[train].T, np.repeat(w[train, None], d, axis=1).T, strict=True)
            ]
            of_cell = (y[test] != best) * 1.0
        losses.append((weights * of_cell).sum() / weights.sum())
    # The sums run over samples and folds in a different order.
    np.testing.assert_allclose(model.path_["test_loss_mean"][0], np.mean(losses), rtol=1e-12)
