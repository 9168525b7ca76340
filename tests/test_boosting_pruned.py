"""Boosted models that are pruned: smaller, within their limits, and like any other model."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import weald
from sklearn.datasets import load_diabetes, load_digits, make_multilabel_classification
from weald.projection import Projected

RNG = np.random.default_rng(0)
X, LABELS = make_multilabel_classification(240, 12, n_classes=7, random_state=0)
NUMBERS = np.c_[X @ RNG.normal(size=12), np.abs(X[:, 0] - 3) * 1e6] + RNG.normal(size=(240, 2))
CLASSES = np.array(["a", "b", "c"])[np.digitize(NUMBERS[:, 0], np.quantile(NUMBERS[:, 0], [0.3, 0.6]))]
UNKNOWN = RNG.random(LABELS.shape) < 0.5

BOOSTED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "labels, projected": (weald.GradientBoostingClassifier, LABELS, {"output_strategy": "projected"}),
    "labels, one value a leaf": (
        weald.GradientBoostingClassifier,
        LABELS,
        {"output_strategy": Projected(relabel_leaves=False)},
    ),
    "labels, joint": (weald.GradientBoostingClassifier, LABELS, {"output_strategy": "joint"}),
    "labels, a tree for each": (weald.GradientBoostingClassifier, LABELS, {"output_strategy": "single_target"}),
    "labels, a linear start": (weald.GradientBoostingClassifier, sp.csr_array(LABELS), {"init": "linear"}),
    "labels, half unknown": (weald.GradientBoostingClassifier, np.where(UNKNOWN, np.nan, LABELS), {}),
    "classes": (weald.GradientBoostingClassifier, CLASSES, {"class_weight": "balanced"}),
    "two classes": (weald.GradientBoostingClassifier, CLASSES == "a", {"subsample": 0.6}),
    "hinge": (weald.GradientBoostingClassifier, CLASSES == "a", {"loss": "hinge"}),
    "numbers": (weald.GradientBoostingRegressor, NUMBERS, {}),
    "one number, absolute error": (weald.GradientBoostingRegressor, NUMBERS[:, 0], {"loss": "absolute_error"}),
    "counts": (weald.GradientBoostingRegressor, np.abs(NUMBERS[:, 0]).round(), {"loss": "poisson"}),
    "quantiles": (weald.GradientBoostingRegressor, NUMBERS[:, 0], {"loss": weald.loss.Quantile([0.1, 0.9])}),
}


def fitted(name: str, **given: Any) -> tuple[Any, Any]:
    kind, y, parameters = BOOSTED[name]
    return kind(n_estimators=20, random_state=0).set_params(**parameters | given).fit(X, y), y


def n_splits(model: Any) -> int:
    return sum(tree.get_n_leaves() - 1 for tree in model.estimators_)


@pytest.mark.parametrize("name", BOOSTED)
def test_a_pruned_model_is_within_the_limit_and_can_be_loaded(name: str) -> None:
    model, y = fitted(name)
    before, n = weald.dumps(model), n_splits(model)
    small = model.prune(X, y, max_test_nodes=n // 5)
    assert type(small) is type(model)
    assert 0 < n_splits(small) <= n // 5
    assert small.n_estimators_ == len(small.train_score_) <= 20
    assert weald.dumps(model) == before
    loaded = weald.loads(weald.dumps(small))
    np.testing.assert_array_equal(loaded._scores(X), small._scores(X))
    assert weald.dumps(loaded) == weald.dumps(small)
    assert len(weald.dumps(small)) < len(before)
    # Fitted again it takes as many turns as before.
    again = loaded.refit_leaves(X, y)
    np.testing.assert_allclose(again._scores(X), small._scores(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["labels, projected", "classes", "numbers", "labels, half unknown"])
def test_layouts_threads_orders_and_copies_give_the_same_model(name: str) -> None:
    # Weights by the frequencies of classes are fractions, which are exact up to rounding only.
    model, y = fitted(name, **({"class_weight": None} if name == "classes" else {}))
    limit = {"max_test_nodes": n_splits(model) // 4}
    expected = model.prune(X, y, **limit)._scores(X)
    for form in (sp.csr_array, sp.csc_array, np.asfortranarray):
        np.testing.assert_array_equal(model.prune(form(X), y, **limit)._scores(X), expected)
    model.n_jobs = 2
    np.testing.assert_array_equal(model.prune(X, y, **limit)._scores(X), expected)
    order = np.random.default_rng(1).permutation(len(X))
    y = np.asarray(y)
    np.testing.assert_array_equal(model.prune(X[order], y[order], **limit)._scores(X), expected)
    w = np.arange(len(X)) % 3
    weighted = model.prune(X, y, sample_weight=w, **limit)._scores(X)
    rows = np.repeat(np.arange(len(X)), w)
    np.testing.assert_array_equal(model.prune(X[rows], y[rows], **limit)._scores(X), weighted)


def test_the_loss_of_new_samples_is_within_the_limit() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = weald.GradientBoostingRegressor(n_estimators=150, max_leaf_nodes=8, random_state=0).fit(X[:300], y[:300])
    error = {}
    for limit in (0.0, 0.2, 2.0):
        small = model.prune(X[:300], y[:300], max_loss_increase=limit)
        error[limit] = n_splits(small), ((small.predict(X[300:]) - y[300:]) ** 2).mean()
    whole = ((model.predict(X[300:]) - y[300:]) ** 2).mean()
    assert error[0.0][0] >= error[0.2][0] >= error[2.0][0]
    # On 142 new samples, of a model that 300 samples have chosen.
    assert error[0.0][0] < n_splits(model) / 5
    assert error[0.0][1] < 1.2 * whole
    assert model.prune(X[:300], y[:300])._turns == 150  # a limit of .01 if none is given


def test_max_bytes_is_the_size_of_the_file() -> None:
    X, y = load_digits(return_X_y=True)
    model = weald.GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[:400], y[:400])
    sizes = [len(weald.dumps(model)) // part for part in (1, 2, 5, 20)]
    for size in sizes:
        assert size * 0.6 < len(weald.dumps(model.prune(X[:400], y[:400], max_bytes=size))) <= size
    with pytest.raises(ValueError, match=r"max_bytes must be at least (\d+), the size of the smallest model, got 100"):
        model.prune(X[:400], y[:400], max_bytes=100)
    with pytest.raises(ValueError, match=r"smallest model with max_loss_increase=0, got 300"):
        model.prune(X[:400], y[:400], max_bytes=300, max_loss_increase=0)


def test_all_splits_are_left_by_a_limit_that_they_meet() -> None:
    model, y = fitted("classes")
    same = model.prune(X, y, max_test_nodes=n_splits(model))
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    assert n_splits(model.prune(X, y, max_test_nodes=1)) == 1


def test_class_weights_apply_where_leaves_are_fitted_again() -> None:
    y = np.arange(len(X)) % 8 == 0
    model = weald.GradientBoostingClassifier(n_estimators=30, class_weight="balanced", random_state=0).fit(X, y)
    expected = model.predict_proba(X)[:, 1].mean()
    assert expected > 0.2  # without weights it is an eighth
    for again in (model.refit_leaves(X, y), model.prune(X, y, max_test_nodes=n_splits(model) // 2)):
        assert abs(again.predict_proba(X)[:, 1].mean() - expected) < 0.05


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"max_loss_increase": -0.1}, r"max_loss_increase must be None or a finite number of at least 0, got -0.1"),
    ({"max_loss_increase": "cv"}, "max_loss_increase"),
    ({"max_test_nodes": 0}, "max_test_nodes"),
    ({"max_bytes": 2.5}, "max_bytes"),
)


@pytest.mark.parametrize(("limits", "message"), BAD)
def test_limits_are_checked(limits: dict[str, Any], message: str) -> None:
    model, y = fitted("two classes")
    with pytest.raises((ValueError, TypeError), match=message):
        model.prune(X, y, **limits)


def test_other_data_raise() -> None:
    model, y = fitted("labels, joint")
    for X_bad, y_bad in ((X[:, 1:], y), (X, y[:, 1:]), (X[1:], y)):
        with pytest.raises(ValueError, match=r"must have|inconsistent|is expecting"):
            model.prune(X_bad, y_bad)
    constrained = weald.GradientBoostingRegressor(n_estimators=3, monotonic_cst=[1] * 12).fit(X, NUMBERS[:, 0])
    with pytest.raises(ValueError, match="monotonic_cst"):
        constrained.prune(X, NUMBERS[:, 0], max_test_nodes=3)
    compressed = weald.CompressedForestRegressor(weald.GradientBoostingRegressor())
    with pytest.raises(ValueError, match=r"prune\(X, y\)"):
        compressed.fit(X, NUMBERS[:, 0])


@pytest.mark.parametrize(("name", "weighted"), list(product(["labels, projected", "numbers"], [False, True])))
def test_one_constant_or_repeated_sample(name: str, weighted: bool) -> None:
    model, y = fitted(name)
    rows = [np.zeros(9, int), np.arange(1), np.arange(2).repeat(5)]
    for at in rows:
        w = np.linspace(0.1, 1, len(at)) if weighted else None
        small = model.prune(X[at], np.asarray(y)[at], sample_weight=w, max_test_nodes=5)
        assert np.isfinite(small._scores(X)).all()
