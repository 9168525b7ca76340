"""Weights of labels in compression: the loss that is minimised, the losses of the folds, and the reported losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from compression_twin import nodes_of, stagewise
from conftest import check_refused, make, make_data, model_bytes
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from test_compression_oracle import N_NEW, STEP, N, make_problem
from test_label_weight import BAD, labels

NAME = "CompressedForestClassifier"
# Each method is tested with 6 and with 20 labels, since narrow and wide scores are stored differently.
METHODS: list[dict[str, Any]] = [
    {"l1_norm": None, "max_steps": 30},
    {"l1_norm": None, "max_steps": 30, "standardize": True},
    {"l1_norm": None, "max_steps": 30, "step_outputs": 2},
    {"l1_norm": None, "solver": "lasso", "max_test_nodes": 6},
    {"l1_norm": None, "induced": True, "max_steps": 8},
    {"cv": 2, "max_steps": 15},
]
WAYS = [way | {"loss": loss} for way in METHODS for loss in ("squared_error", "log_loss")]
WIDTHS = [6, 20]


def small(label_weight=None, *, of_forest=None, **params):
    forest = weald.ExtraTreesClassifier(3, max_leaf_nodes=8, label_weight=of_forest)
    return make(NAME, estimator=forest, label_weight=label_weight, **{"step_size": 0.05, **params})


def check_same(one, other):
    assert model_bytes(one) == model_bytes(other)
    assert one.path_.keys() == other.path_.keys()
    for key, values in one.path_.items():
        np.testing.assert_array_equal(values, other.path_[key], err_msg=key)
    assert getattr(one, "full_loss_", None) == getattr(other, "full_loss_", None)


def mean_loss(loss, Y, scores, weights, w=None):
    """The mean loss by its definition; `scores` are those of `decision_function`."""
    cells = (Y - 0.5 - scores) ** 2 if loss == "squared_error" else np.logaddexp(0, -2 * (2 * Y - 1) * scores)
    return np.average(cells @ weights / weights.sum(), weights=w)


@pytest.mark.parametrize("n_labels", WIDTHS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_equal_weights_are_none_to_the_bit(way, n_labels):
    X, Y = labels(n_labels=n_labels)
    plain = small(**way).fit(X, Y)
    for weights in (np.ones(n_labels), np.full(n_labels, 7.25)):
        check_same(small(weights, **way).fit(X, Y), plain)


@pytest.mark.parametrize("n_labels", WIDTHS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_label_of_weight_zero_chooses_nothing_and_stays_its_constant(way, n_labels):
    X, Y = labels(n_labels=n_labels)
    weights = np.arange(n_labels) % 2 * np.linspace(1, 2, n_labels)
    Z = Y.copy()
    Z[1:, ::2] = np.random.default_rng(1).integers(0, 2, (len(Y) - 1, n_labels // 2))
    model, other = (small(weights, of_forest=weights, **way).fit(X, T) for T in (Y, Z))
    for key, values in model.path_.items():
        np.testing.assert_array_equal(values, other.path_[key], err_msg=key)
    assert getattr(model, "full_loss_", None) == getattr(other, "full_loss_", None)
    # The leaves are means over trees that include the constant; the last bits of these means may differ.
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, 1::2], other.decision_function(X)[:, 1::2], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(scores[:, ::2], np.tile(scores[0, ::2], (len(X), 1)), rtol=1e-12, atol=1e-15)
    assert np.ptp(scores[:, 1]) > 0
    if way["loss"] == "squared_error":
        # One half is subtracted from means of 0 and 1 and added again, which rounds a few times.
        np.testing.assert_allclose(scores[0, ::2] + 0.5, Y[:, ::2].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("d", [4, 18])
def test_twin(standardize, d):
    """The path for labels multiplied by the roots of their weights, step by step."""
    X, Y, w = make_problem(min(d, 6))
    Y = np.hstack([np.quantile(Y, 0.5 + i / 8, axis=0) < Y for i in range(-(-d // 6))]).astype(int)
    weights = np.random.default_rng(0).uniform(0.2, 5, d)
    root = np.sqrt(weights / weights.mean())
    forest = weald.ExtraTreesClassifier(4, max_leaf_nodes=10, random_state=2).fit(X[:N], Y[:N], sample_weight=w)
    params = {"l1_norm": None, "step_size": STEP, "standardize": standardize, "max_steps": 40}
    model = weald.CompressedForestClassifier(FrozenEstimator(forest), label_weight=weights, **params)
    model.fit(X[:N], Y[:N], sample_weight=w)
    nodes, by_row = nodes_of(forest, X), np.r_[w, np.zeros(N_NEW)]
    steps = stagewise(nodes, Y * root, by_row, STEP, standardize, 40, 1 - np.sign(by_row))
    found = [(step.t, step.loss, step.n_test_nodes, step.scores.copy()) for step in steps]
    assert len(model.path_["l1_norm"]) == len(found) > 20
    np.testing.assert_array_equal(model.path_["n_test_nodes"], [f[2] for f in found])
    # The directions of steps are float32.
    np.testing.assert_allclose(model.path_["train_loss"], [f[1] for f in found], rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X) + 0.5, found[-1][3] / root, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_labels", WIDTHS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_losses_are_means_by_the_weights(way, n_labels):
    X, Y = labels(n_labels=n_labels)
    w = np.arange(len(X)) % 3 + 0.5
    # Labels of weight zero would choose no folds: these are nothing beside the others.
    least = 1e-100 if "cv" in way else 0.0
    weights = np.linspace(least, 3, n_labels)
    model = small(weights, **way).fit(X, Y, w)
    expected = mean_loss(way["loss"], Y, model.decision_function(X), weights, w)
    # The training losses are sums of what each step adds.
    np.testing.assert_allclose(model.path_["train_loss"][model.step_], expected, rtol=1e-11)
    if "cv" not in way:
        return
    # The forests of the folds and the constants do not depend on the weights, so that losses are means of those of
    # single labels.
    alone = [small(np.maximum(np.eye(n_labels)[j], least), **way).fit(X, Y, w) for j in range(n_labels)]
    for found, of_each in (
        (model.full_loss_, [m.full_loss_ for m in alone]),
        (model.path_["test_loss_mean"][0], [m.path_["test_loss_mean"][0] for m in alone]),
    ):
        # The weighted means are summed in another order.
        np.testing.assert_allclose(found, np.average(of_each, weights=weights), rtol=1e-12)


@pytest.mark.parametrize("rule", ["balanced", "propensity", "array"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_laws(way, rule, tmp_path):
    X, Y = labels()
    weights = np.linspace(0, 1, 20) if rule == "array" else rule
    expected = small(weights, **way).fit(X, Y)
    for Z, T, n_jobs in (
        (np.asfortranarray(X), sparse.csr_array(Y), 2),
        (sparse.csr_array(X), Y, 2),
        (sparse.csc_array(X), sparse.csr_array(Y), 1),
    ):
        check_same(small(weights, n_jobs=n_jobs, **way).fit(Z, T), expected)
    counts = np.arange(len(X)) % 3
    weighted = small(weights, **way).fit(X, Y, sample_weight=counts)
    Z = Y.copy()
    Z[counts == 0] = 1 - Z[counts == 0]
    check_same(small(weights, **way).fit(X, Z, sample_weight=counts), weighted)
    there = counts > 0
    check_same(small(weights, **way).fit(X[there], Y[there], sample_weight=counts[there]), weighted)
    if "cv" not in way:
        rows = np.repeat(np.arange(len(X)), counts)
        repeated = small(weights, **way).fit(X[rows], Y[rows])
        one, other = (m.path_["train_loss"] for m in (weighted, repeated))
        common = min(len(one), len(other))
        # Sums are rounded in another order, which may decide between nodes that are otherwise equally good.
        np.testing.assert_allclose(one[:common], other[:common], rtol=2e-2)
    weald.save(weighted, tmp_path / "model")
    loaded = weald.load(tmp_path / "model")
    assert model_bytes(loaded) == model_bytes(weighted)
    np.testing.assert_array_equal(loaded.decision_function(X), weighted.decision_function(X))
    np.testing.assert_array_equal(loaded.label_weight, weights)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_rules_are_what_they_say(loss):
    X, Y = labels(n_labels=6)
    n, positive = len(Y), Y.sum(axis=0)
    rules = {"balanced": 1 / (positive / n * (1 - positive / n))}
    rules["propensity"] = 1 + (np.log(n) - 1) * 2.5**0.55 * np.exp(-0.55 * np.log(positive + 1.5))
    for rule, weights in rules.items():
        model, by_hand = (small(w, loss=loss, l1_norm=None, max_steps=30).fit(X, Y) for w in (rule, weights))
        # Weights are rounded in another order.
        np.testing.assert_allclose(model.path_["train_loss"], by_hand.path_["train_loss"], rtol=1e-11)


def test_nodes_of_rare_labels_stay_where_they_count():
    """Two frequent labels depend on one feature and a rare one on another: the weights decide which stump is kept."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] > 0.5, X[:, 1] > 0.97])
    forest = weald.RandomForestClassifier(12, max_depth=1, max_features=1, bootstrap=False, random_state=0).fit(X, Y)
    assert {int(tree.tree_.feature[0]) for tree in forest} == {0, 1}
    for weights, feature in ((None, 0), ([1, 1, 999], 1)):
        for loss in ("squared_error", "log_loss"):
            params = {"l1_norm": None, "max_steps": 1, "loss": loss, "label_weight": weights}
            model = weald.CompressedForestClassifier(FrozenEstimator(forest), **params).fit(X, Y)
            assert [int(tree.tree_.feature[0]) for tree in model.estimators_] == [feature]


def test_the_path_is_cut_where_the_labels_that_count_are_best():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0.5, rng.random(300) > 0.5]).astype(float)
    sizes = [small(weights, cv=3).fit(X, Y).l1_norm_ for weights in ([1, 0], [0, 1])]
    assert sizes[0] > 4 * sizes[1]


@pytest.mark.parametrize(("weights", "message"), BAD)
def test_bad_ones_are_named_and_change_nothing(weights, message):
    X, Y = make_data(NAME, outputs="labels")
    check_refused(make(NAME).fit(X, Y).set_params(label_weight=weights), ValueError, message, X, Y)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("outputs", ["single", "several"])
def test_classes_are_refused(loss, outputs):
    X, y = make_data(NAME, outputs=outputs)
    model = make(NAME, loss=loss).fit(X, y).set_params(label_weight="balanced")
    message = (
        "label_weight is only supported for y of labels, got y of classes; see class_weight of the estimator, or "
        "sample_weight"
    )
    check_refused(model, ValueError, message, X, y)
