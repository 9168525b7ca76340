"""Boosting against the slow twin of `boosting_twin.py`: scores after every stage, on small data without ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from boosting_twin import WHOLE, Newton, Twin, in_domain, loss_object
from weald.projection import GaussianProjection, Projected, RademacherProjection

N_STAGES = 6
# Leaves are so large that no two splits of a node are equally good: the twin raises `TiedError` otherwise.
LIMITS: dict[str, Any] = {"max_depth": 2, "min_samples_leaf": 8}
# Scores of labels and classes are float32 with 24 bits, an error of about 1e-7 of a score; the steps of each stage
# depend on earlier scores. Scores of numerical outputs are float64; the twin's minimiser finds a step to about the root
# of the rounding of a loss. So does a line search of labels, whose scores are float32: "searched".
TOLERANCE = {"labels": 2e-5, "searched": 1e-4, "numbers": 1e-6, "softmax": 2e-5}

STRATEGIES = ["single_target", "joint", "projected", "subspace", "relabelled", "relabelled pair"]
NUMBERS = ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"]
LABELS = ["log_loss", "exponential", "hinge", "squared_error"]
# Rules for the values of leaves. Without λ and without a minimum curvature steps are longest, and most of them are
# halved.
RULES: dict[str, dict[str, Any]] = {
    "line_search": {"leaf_estimation": "line_search"},
    "newton": {"leaf_estimation": "newton", "l2_regularization": 1.0},
    "bare": {"leaf_estimation": "newton", "l2_regularization": 0.0},
    "strict": {"leaf_estimation": "newton", "l2_regularization": 3.0},
}


# With a learning rate of 1, scores reach medians and kinks of a loss exactly, and the last bit decides on which side a
# sample is.
RATES = [("line_search", 0.9), ("line_search", 0.3), ("newton", 0.9), ("bare", 0.3), ("strict", 0.9)]


def make_problem(seed: int = 0, n: int = 120, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples to fit, samples to predict, and scores that depend on the samples to fit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    scores = np.sin(X @ rng.normal(size=(5, d))) + 0.3 * rng.normal(size=(n, d))
    return X, X[rng.permutation(n)] + np.float32(0.01), scores


def setting(strategy: str, d: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same strategy as parameters of the estimator and as parameters of the twin."""
    if strategy in ("single_target", "joint"):
        return {"output_strategy": strategy}, {"strategy": strategy}
    if d == 1:  # a factor, which changes no split
        twin = {"strategy": "projected", "phis": [np.eye(1)] * N_STAGES, "relabel": True}
        return {"output_strategy": "projected"}, twin
    q = 2 if strategy == "relabelled pair" else 1
    family = RademacherProjection("achlioptas") if strategy == "subspace" else GaussianProjection()
    phis = [np.asarray(family.draw(d, q, random_state=seed + stage) @ np.eye(d)) for stage in range(N_STAGES)]
    left = iter(phis)
    relabel = strategy.startswith("relabelled")
    params = {"output_strategy": Projected(lambda *shape: next(left), q, relabel_leaves=relabel)}
    return params, {"strategy": "projected", "phis": phis, "relabel": relabel}


def make(kind: str, rule: str = "line_search", **params: Any) -> Any:
    fixed = {
        **WHOLE,
        "learning_rate": 0.1,
        "n_estimators": N_STAGES,
        "max_bins": None,
        "min_weight_leaf": 0.0,
        "random_state": 0,
    }
    params = {**fixed, **RULES[rule], **LIMITS, **params}
    return getattr(weald, f"GradientBoosting{kind}")(**params)


def check(model: Any, twin: Twin, X_new: np.ndarray, parameters: dict[str, Any], tolerance: float) -> None:
    """Compare the scores of training samples and of new samples, the step sizes and the losses."""
    parameters = {"learning_rate": model.learning_rate, "n_stages": N_STAGES, **parameters, **LIMITS}
    if model.leaf_estimation == "newton":
        parameters["newton"] = Newton(model.l2_regularization, 0.0)
    staged = model._staged if not hasattr(model, "classes_") else model.staged_decision_function
    stages = list(twin.stages(**parameters))  # the twin is slow: it runs once for all comparisons
    for X in (twin.X, X_new):
        theirs = np.tile(twin.start(), (len(X), 1))
        for stage, (ours, (add, _, _)) in enumerate(zip(staged(X), stages, strict=True)):
            theirs = theirs + add(X)
            ours = as_scores(ours, twin) / model._unit()
            np.testing.assert_allclose(ours, as_scores(theirs, twin), atol=tolerance, err_msg=stage)
    steps = np.array([rho for _, rho, _ in stages])
    # With a single score, leaves are relabelled even where relabel_leaves=False.
    if steps.shape[1] > 1 and not twin.groups:
        # A loss is flat at its minimum: the error of a step size is of the order of the root of the error of the loss.
        np.testing.assert_allclose(model.step_sizes_, steps, rtol=1e-4, atol=1e-4)
    losses = np.array([twin.value(f) for _, _, f in stages])
    # The estimator divides its losses by constants of its own, so that losses are compared relative to the first.
    # Losses are computed from scores that agree to `tolerance`, which is at most 2e-5.
    np.testing.assert_allclose(model.train_score_ / model.train_score_[0], losses / losses[0], rtol=1e-6)


def as_scores(scores: Any, twin: Twin) -> np.ndarray:
    """Scores as one table; the mean over the classes of a softmax, on which its loss does not depend, is subtracted."""
    if isinstance(scores, list):
        scores = np.column_stack(scores)
    scores = scores.reshape(len(scores), -1)
    if twin.groups:
        scores = np.column_stack([scores[:, s] - scores[:, s].mean(axis=1, keepdims=True) for s in twin.groups])
    return scores


def weights_for(n: int) -> np.ndarray:
    """Random weights, so that no two sums of a few of them are equal: gradients that are signs would tie otherwise."""
    return np.random.default_rng(9).uniform(0.5, 2, n)


@pytest.mark.parametrize(("rule", "learning_rate"), RATES)
@pytest.mark.parametrize("loss", [*NUMBERS, "unweighted"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_numerical_outputs(strategy, loss, learning_rate, rule):
    X, X_new, Y = make_problem()
    w = None if loss == "unweighted" else weights_for(len(X))
    loss = "squared_error" if loss == "unweighted" else loss
    Y = in_domain(loss, Y)
    params, parameters = setting(strategy, Y.shape[1])
    model = make("Regressor", rule, loss=loss_object(loss), learning_rate=learning_rate, **params).fit(
        X, Y, sample_weight=w
    )
    check(model, Twin(X, Y, loss, w), X_new, parameters, TOLERANCE["numbers"])


@pytest.mark.parametrize(("rule", "learning_rate"), RATES)
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels(strategy, loss, learning_rate, rule):
    X, X_new, scores = make_problem()
    Y = (scores > 0.4).astype(int)
    w = weights_for(len(X))
    params, parameters = setting(strategy, Y.shape[1])
    model = make("Classifier", rule, loss=loss, learning_rate=learning_rate, **params).fit(X, Y, sample_weight=w)
    targets = Y - 0.5 if loss == "squared_error" else 2.0 * Y - 1  # `decision_function` subtracts one half
    check(
        model,
        Twin(X, targets, loss, w),
        X_new,
        parameters,
        TOLERANCE["searched" if rule == "line_search" else "labels"],
    )


@pytest.mark.parametrize("rule", ["line_search", "bare"])
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected"])
def test_two_classes(strategy, loss, rule):
    X, X_new, scores = make_problem()
    y = scores[:, 0] > 0.4
    params, parameters = setting(strategy, 1)
    w = weights_for(len(X))
    model = make("Classifier", rule, loss=loss, **params).fit(X, y, sample_weight=w)
    targets = (y - 0.5 if loss == "squared_error" else 2.0 * y - 1)[:, None]
    check(model, Twin(X, targets, loss, w), X_new, parameters, TOLERANCE["labels"])


@pytest.mark.parametrize("rule", ["line_search", "newton"])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_classes(strategy, loss, outputs, rule):
    X, X_new, scores = make_problem()
    y = np.digitize(scores[:, :outputs], [-0.4, 0.4])
    params, parameters = setting(strategy, 3 * outputs)
    w = weights_for(len(X))
    model = make("Classifier", rule, loss=loss, **params).fit(X, y[:, 0] if outputs == 1 else y, sample_weight=w)
    one_hot = np.concatenate([y[:, [o]] == np.arange(3) for o in range(outputs)], axis=1).astype(float)
    softmax = loss == "log_loss" and strategy != "single_target"
    groups = tuple(slice(3 * o, 3 * o + 3) for o in range(outputs)) if softmax else None
    targets = one_hot if softmax else one_hot - 0.5 if loss == "squared_error" else 2 * one_hot - 1
    check(model, Twin(X, targets, loss, w, groups), X_new, parameters, TOLERANCE["softmax" if softmax else "labels"])


def test_separable_classes_leave_nothing_on_the_table():
    # Leaves are pure, so that the loss has no minimum: it must be as low as scipy's minimiser gets, or 1e-6 of its
    # start.
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    X = (y + rng.uniform(0, 0.5, len(y)))[:, None].astype(np.float32)
    limits: dict[str, Any] = {"max_depth": 2, "min_samples_leaf": 1}
    params = {"n_estimators": 1, "learning_rate": 1.0, "output_strategy": "joint", "max_bins": None, **limits}
    params["leaf_estimation"] = "line_search"
    model = weald.GradientBoostingClassifier(**params).fit(X, y)
    twin = Twin(X, np.eye(3)[y], "log_loss", None, (slice(0, 3),))
    (_, rho, f) = next(twin.stages("joint", 1, 1.0, **limits))
    first = twin.value(np.tile(twin.start(), (len(y), 1)))
    ours = model.train_score_[0] * len(y) * 3
    assert ours <= max(twin.value(f), 1e-6 * first), (model.step_sizes_, rho)
    assert np.abs(model.step_sizes_).max() <= 1000
