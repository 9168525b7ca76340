"""Weights of labels in boosting: their effect on trees that labels share, and on the losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from boosting_twin import Twin
from conftest import check_refused, make, make_data, model_bytes, unless
from scipy import sparse
from sklearn.linear_model import Ridge
from test_boosting_oracle import LABELS, STRATEGIES, TOLERANCE, check, make_problem, setting, weights_for
from test_boosting_oracle import make as make_boosting
from test_label_weight import BAD, labels, structure
from weald import EarlyStopping
from weald.projection import PCAProjection, Projected

NAME = "GradientBoostingClassifier"
WEIGHTS = np.array([0.5, 3.0, 0.1, 1.25])
# Strategies in which labels share trees, and one with a tree for each label; the last one uses the squared error.
WAYS: list[dict[str, Any]] = [
    {"output_strategy": "joint"},
    {"output_strategy": Projected(n_projections=2)},
    {"output_strategy": Projected(relabel_leaves=False)},
    {"output_strategy": Projected("subsample", 3)},
    {"output_strategy": "single_target"},
    {"output_strategy": Projected(relabel_leaves=False), "loss": "squared_error"},
]
SHARED = [way for way in WAYS if way["output_strategy"] != "single_target"]


def boosted(**params):
    return make(NAME, **{"n_estimators": 8, "min_weight_leaf": 1.0, **params})


def shares(weights):
    return weights / weights.mean()


@pytest.mark.parametrize("rule", ["line_search", "newton"])
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_twin(strategy, loss, rule):
    """The twin grows trees on gradients times roots of the weights, and weights losses, but not values of leaves."""
    X, X_new, scores = make_problem()
    Y = (scores > 0.4).astype(int)
    w = weights_for(len(X))
    params, parameters = setting(strategy, 4)
    if strategy != "single_target":
        phis = [phi * np.sqrt(shares(WEIGHTS)) for phi in parameters.get("phis", [np.eye(4)] * 6)]
        parameters |= {"strategy": "projected", "phis": phis}
    model = make_boosting("Classifier", rule, loss=loss, label_weight=WEIGHTS, **params).fit(X, Y, sample_weight=w)
    targets = Y - 0.5 if loss == "squared_error" else 2.0 * Y - 1  # `decision_function` subtracts one half
    twin = Twin(X, targets, loss, w, shares=shares(WEIGHTS))
    check(model, twin, X_new, parameters, TOLERANCE["labels"])


class OwnLogLoss:
    """The log loss for y in {0, 1}, written as a loss of the user's own."""

    def __str__(self):
        return "own"

    def loss(self, y, scores):
        return np.logaddexp(0, -(2 * y - 1) * scores)

    def gradient_hessian(self, y, scores):
        p = 1 / (1 + np.exp(-scores))
        return p - y, p * (1 - p)


@pytest.mark.parametrize("loss", [None, "exponential", "hinge", "squared_error", OwnLogLoss()], ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_losses_of_training_and_validation_are_those_of_the_same_samples_that_are_watched(way, loss):
    X, Y = labels()
    way = way if loss is None else way | {"loss": loss}
    w = np.arange(len(X)) % 3 + 0.5
    params = way | {"label_weight": np.arange(20.0), "subsample": 0.7, "n_iter_no_change": 50}
    given = {"X_val": X[:40], "y_val": Y[:40], "sample_weight_val": w[:40]}
    model = boosted(**params).fit(X, Y, w, **given, eval_sets={"train": (X, Y, w), "held": (X[:40], Y[:40], w[:40])})
    # Scores are float32, and so are the exponentials of the engine.
    np.testing.assert_allclose(model.train_score_, model.eval_results_["train"]["loss"], rtol=1e-5)
    np.testing.assert_allclose(model.validation_score_, model.eval_results_["held"]["loss"], rtol=1e-5)
    whole = boosted(**way, subsample=0.7).fit(X, Y, w)
    if way["output_strategy"] == "single_target":
        np.testing.assert_array_equal(whole.decision_function(X), model.decision_function(X))
    assert (model.train_score_ != whole.train_score_).all()
    # Losses of the samples that a stage leaves out, with weights for which a single label counts.
    alone = [boosted(**params | {"label_weight": np.arange(20) == j}).fit(X, Y, w, **given) for j in (3, 11)]
    if way["output_strategy"] == "single_target":
        both = boosted(**params | {"label_weight": np.isin(np.arange(20), [3, 11])}).fit(X, Y, w, **given)
        mean = (alone[0].oob_scores_ + alone[1].oob_scores_) / 2
        # The mean of two losses, each of which is a sum in another order.
        np.testing.assert_allclose(both.oob_scores_, mean, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_equal_weights_are_none_to_the_bit(way):
    X, Y = labels()
    plain = boosted(**way, subsample=0.8).fit(X, Y)
    for weights in (np.ones(20), np.full(20, 7.25)):
        model = boosted(**way, subsample=0.8, label_weight=weights).fit(X, Y, eval_sets=[(X, Y)])
        assert model_bytes(model) == model_bytes(plain)
        np.testing.assert_array_equal(model.oob_scores_, plain.oob_scores_)


@pytest.mark.parametrize("way", [*SHARED, {"output_strategy": Projected(PCAProjection(), 2)}], ids=str)
def test_a_label_of_weight_zero_chooses_nothing_and_has_leaves(way):
    X, Y = labels()
    weights = np.arange(20) % 2.0
    model = boosted(**way, label_weight=weights).fit(X, Y)
    Z = Y.copy()
    Z[1:, ::2] = np.random.default_rng(1).integers(0, 2, (len(Y) - 1, 10))
    other = boosted(**way, label_weight=weights).fit(X, Z)
    trees = [[m[i] for i in range(8)] for m in (model, other)]
    assert [structure(tree) for tree in trees[0]] == [structure(tree) for tree in trees[1]]
    np.testing.assert_array_equal(model.decision_function(X)[:, 1::2], other.decision_function(X)[:, 1::2])
    # The losses of the labels that count are the same to the bit.
    np.testing.assert_array_equal(model.train_score_, other.train_score_)
    assert np.ptp(model.decision_function(X)[:, 0]) > 0


@pytest.mark.parametrize(
    "more",
    [
        {"n_iter_no_change": 3},
        {"n_iter_no_change": 3, "early_stopping": EarlyStopping(cv=3)},
    ],
    ids=["held out", "cv"],
)
def test_a_label_of_weight_zero_holds_out_no_other_samples(more):
    X, Y = labels()
    weights = np.arange(20) % 2.0
    Z = Y.copy()
    Z[1:, ::2] = np.random.default_rng(1).integers(0, 2, (len(Y) - 1, 10))
    mask = np.random.default_rng(2).random(Y.shape) < 0.2
    for y_mask in [None, mask]:
        params = {"output_strategy": "single_target", "n_estimators": 20, "label_weight": weights, **more}
        model, other = (boosted(**params).fit(X, T, y_weight=unless(y_mask)) for T in (Y, Z))
        assert model.n_estimators_ == other.n_estimators_
        np.testing.assert_array_equal(model.decision_function(X)[:, 1::2], other.decision_function(X)[:, 1::2])
        np.testing.assert_array_equal(model.train_score_, other.train_score_)
        np.testing.assert_array_equal(model.validation_score_, other.validation_score_)


@pytest.mark.parametrize("rule", ["balanced", "propensity", "array"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_laws(way, rule, tmp_path):
    X, Y = labels()
    params = way | {"label_weight": np.linspace(0, 1, 20) if rule == "array" else rule}
    expected = boosted(**params).fit(X, Y)
    for Z in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        for T in (Y, sparse.csr_array(Y)):
            for n_jobs in (1, 2):
                assert model_bytes(boosted(**params, n_jobs=n_jobs).fit(Z, T)) == model_bytes(
                    expected.set_params(n_jobs=n_jobs)
                )
    counts = np.arange(len(X)) % 3
    weighted = boosted(**params).fit(X, Y, sample_weight=counts)
    rows = np.repeat(np.arange(len(X)), counts)
    repeated = boosted(**params).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    np.testing.assert_array_equal(weighted.train_score_, repeated.train_score_)
    Y[counts == 0] = 1 - Y[counts == 0]
    again = boosted(**params).fit(X, Y, sample_weight=counts)
    assert model_bytes(again) == model_bytes(weighted)
    weald.save(weighted, tmp_path / "model")
    loaded = weald.load(tmp_path / "model")
    assert model_bytes(loaded) == model_bytes(weighted)
    np.testing.assert_array_equal(loaded.decision_function(X), weighted.decision_function(X))
    # A warm start gives the model of a single fit.
    part = boosted(**params | {"n_estimators": 3}, warm_start=True).fit(X, Y)
    whole = boosted(**params).fit(X, Y)
    part.set_params(n_estimators=8).fit(X, Y)
    np.testing.assert_array_equal(part.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(part.train_score_, whole.train_score_)
    refitted = whole.refit_leaves(X, Y)
    # Refitting the leaves to the same samples gives the same leaves.
    np.testing.assert_array_equal(refitted.train_score_, whole.train_score_)


@pytest.mark.parametrize("way", WAYS[:3], ids=str)
def test_rules_are_what_they_say(way):
    X, Y = labels(n_labels=6)
    n, positive = len(Y), Y.sum(axis=0)
    rules = {"balanced": 1 / (positive / n * (1 - positive / n))}
    rules["propensity"] = 1 + (np.log(n) - 1) * 2.5**0.55 * np.exp(-0.55 * np.log(positive + 1.5))
    for rule, weights in rules.items():
        model, by_hand = (boosted(**way, label_weight=w).fit(X, Y) for w in (rule, weights))
        # Weights are rounded in another order.
        np.testing.assert_allclose(model.train_score_, by_hand.train_score_, rtol=1e-12)


def test_rare_labels_are_found_where_they_count():
    """In a stump, two frequent labels that depend on one feature hide a rare label that depends on another."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] > 0.5, X[:, 1] > 0.97])
    for weights, feature in ((None, 0), ([1, 1, 99], 1)):
        model = boosted(output_strategy="joint", max_leaf_nodes=2, n_estimators=1, label_weight=weights).fit(X, Y)
        assert model[0].tree_.feature[0] == feature


def test_early_stopping_looks_at_the_labels_that_count():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0.5, rng.random(300) > 0.5]).astype(float)
    stages = [
        boosted(output_strategy="joint", n_estimators=60, n_iter_no_change=3, label_weight=weights)
        .fit(X, Y)
        .n_estimators_
        for weights in ([1, 0], [0, 1])
    ]
    assert stages[0] > stages[1]


@pytest.mark.parametrize(("weights", "message"), BAD)
def test_bad_ones_are_named_and_change_nothing(weights, message):
    X, Y = make_data(NAME, outputs="labels")
    check_refused(make(NAME).fit(X, Y).set_params(label_weight=weights), ValueError, message, X, Y)


def test_what_they_are_not_for_is_refused():
    X, Y = make_data(NAME, outputs="labels")
    y = make_data(NAME)[1]
    model = make(NAME, label_weight="balanced").fit(X, Y)
    check_refused(model, ValueError, "label_weight is only supported for y of labels, got y of classes", X, y)
    model.set_params(estimator=Ridge(), output_strategy="joint")
    check_refused(model, ValueError, "label_weight has no effect with `estimator`", X, Y)
