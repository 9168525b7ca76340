"""Warm starts of boosting: what a fit has decided, its constants and its stages stay, whatever the data are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import weald
from conftest import model_bytes
from sklearn.linear_model import Ridge
from weald.projection import Projected

N = 150
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
NUMBERS = np.exp(0.3 * X[:, :3]) + 0.2 * RNG.random((N, 3))
TARGETS = {
    "number": NUMBERS[:, 0],
    "numbers": np.tile(NUMBERS, 5) * np.linspace(1, 2, 15),
    "class": (NUMBERS[:, 0] > 1).astype(int),
    "classes": np.digitize(NUMBERS[:, 0], [0.8, 1.2]),
    "labels": (np.tile(NUMBERS, 5) > np.linspace(0.6, 1.4, 15)).astype(int),
}


def boosting(kind, **params):
    cls = weald.GradientBoostingRegressor if kind.startswith("number") else weald.GradientBoostingClassifier
    return cls(**{"random_state": 0, "n_jobs": 1, **params})


def decisions(model):
    names = ("learning_rate_", "max_leaf_nodes_", "max_features_")
    return {name: getattr(model, name) for name in names} | {"strategy": model._shared["output_strategy"]}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_warm_start_keeps_what_auto_stood_for(kind):
    y = TARGETS[kind]
    model = boosting(kind).fit(X, y)
    n, decided = model.n_estimators_, decisions(model)
    first = list(model.staged_predict(X))
    model.set_params(warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).n_estimators_ == n
    # Other data, for which "auto" would stand for something else.
    more = np.tile(X, (8, 1)) + 0.01 * np.random.default_rng(1).normal(size=(8 * N, 4)).astype(np.float32)
    model.set_params(n_estimators=n + 3).fit(more, np.concatenate([y] * 8))
    assert (model.n_estimators_, decisions(model)) == (n + 3, decided)
    for kept, before in zip(model.staged_predict(X), first, strict=False):
        np.testing.assert_array_equal(kept, before)


@pytest.mark.parametrize("kind", TARGETS)
def test_stages_of_a_fit_by_default_go_on_to_a_fit_with_its_values(kind):
    y = TARGETS[kind]
    model = boosting(kind).fit(X, y)
    values = {"learning_rate": model.learning_rate_, "max_leaf_nodes": model.max_leaf_nodes_}
    values |= {"output_strategy": model._shared["output_strategy"], "subsample": model.plan_["subsample"]}
    values["max_features"] = model.plan_["max_features"]
    n = model.n_estimators_ + 4
    whole = boosting(kind, n_estimators=n, **values).fit(X, y)
    model.set_params(warm_start=True, n_estimators=n).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    np.testing.assert_array_equal(model.train_score_, whole.train_score_)


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "squared_error"},
        {"loss": "absolute_error", "output_strategy": "joint"},
        {"loss": "poisson"},
        {"output_strategy": Projected(relabel_leaves=False)},
        {"estimator": Ridge(1.0), "output_strategy": "joint"},
        {"estimator": Ridge(1.0), "output_strategy": Projected(relabel_leaves=False)},
    ],
    ids=str,
)
def test_constants_and_stages_stay_on_other_data(params):
    model = boosting("numbers", n_estimators=5, warm_start=True, **params).fit(X, NUMBERS)
    start, first, scores = model.start_, model.predict(X), model.train_score_
    model.set_params(n_estimators=7).fit(X, NUMBERS + 100.0)
    np.testing.assert_array_equal(model.start_, start)
    np.testing.assert_array_equal(list(model.staged_predict(X))[4], first)
    np.testing.assert_array_equal(model.train_score_[:5], scores)
    # The new stages are fitted to what is left.
    assert np.abs(model.predict(X) - first).max() > 1e-3


def test_constants_stay_with_base_margins():
    margins = RNG.normal(size=N)
    for before, after in ((None, margins), (margins, None)):
        model = boosting("number", n_estimators=5, warm_start=True).fit(X, TARGETS["number"], base_margin=before)
        start, first = model.start_, model.predict(X)
        model.set_params(n_estimators=6).fit(X, TARGETS["number"] + 9, base_margin=after)
        np.testing.assert_array_equal(model.start_, start)
        np.testing.assert_array_equal(list(model.staged_predict(X))[4], first)


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor", "CentroidForestRegressor"])
def test_trees_of_forests_stay_on_other_data(name):
    model = getattr(weald, name)(3, warm_start=True, random_state=0).fit(X, NUMBERS)
    first = [tree.predict(X) for tree in model.estimators_]
    model.set_params(n_estimators=5).fit(X, NUMBERS + 100.0)
    for kept, before in zip(model.estimators_, first, strict=False):
        np.testing.assert_array_equal(kept.predict(X), before)


def test_values_that_are_given_are_not_replaced():
    y = TARGETS["number"]
    model = boosting("number").fit(X, y)
    model.set_params(warm_start=True, n_estimators=model.n_estimators_ + 1, max_leaf_nodes=3).fit(X, y)
    assert model.max_leaf_nodes_ == 3
    with pytest.raises(ValueError, match=r"learning_rate must be 0\.07 with warm_start=True"):
        model.set_params(learning_rate=0.5).fit(X, y)
    # Without a warm start, all is decided anew.
    model.set_params(warm_start=False, n_estimators="auto", learning_rate="auto", max_leaf_nodes="auto").fit(X, y)
    assert model_bytes(model) == model_bytes(boosting("number").fit(X, y))


class Shifted:
    """The squared error less a constant, which has the same gradients and the same trees."""

    def __init__(self, by):
        self.by = by

    def loss(self, y, f):
        return 0.5 * (y - f) ** 2 - self.by

    def gradient_hessian(self, y, f):
        return f - y, np.ones_like(y)


@pytest.mark.parametrize("how", ["validation", "early_stopping", "cv", "one target each"])
def test_worse_rounds_are_no_improvement_of_a_loss_below_zero(how):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=200)
    fit = {"X_val": X[150:], "y_val": y[150:]} if how in ("validation", "one target each") else {}
    params = {"early_stopping": weald.EarlyStopping(cv=3)} if how == "cv" else {"early_stopping": True}
    if how == "one target each":
        y = np.column_stack([y, -y])
        fit["y_val"], params["output_strategy"] = y[150:], "single_target"
    rounds = []
    for by in (0.0, 0.6, 100.0, 1e6):
        model = boosting(
            "number", loss=Shifted(by), n_estimators=150, learning_rate=0.3, n_iter_no_change=5, tol=0.02, **params
        )
        model.fit(X[:150] if fit else X, y[:150] if fit else y, **fit)
        rounds.append(len(model.validation_score_))
    # The improvement that counts is a share of the loss at the start, which no round reaches if that is large.
    assert rounds[2:] == [6, 6]
    assert max(rounds) < 150


# How a fit is judged while it goes on.
JUDGED = {
    "by nothing": {},
    "by a tenth": {"early_stopping": True},
    "by a score of a tenth": {"early_stopping": True, "scoring": "r2"},
    "by given samples": {"given": True},
    "by a score of given samples": {"given": True, "scoring": "r2"},
    "out of bag": {"subsample": 0.5},
    "by folds": {"early_stopping": weald.EarlyStopping(cv=3)},
}


@pytest.mark.parametrize("second", [how for how in JUDGED if how != "by folds"])
@pytest.mark.parametrize("first", JUDGED)
def test_curves_of_a_fit_that_goes_on_have_a_value_for_each_stage_and_can_be_saved(first, second):
    y = TARGETS["number"]
    usual = {"early_stopping": "auto", "scoring": None, "subsample": 1.0, "n_iter_no_change": 100}
    model = boosting("number", warm_start=True)
    for how, n in ((first, 5), (second, 12)):
        params = {**usual, **JUDGED[how]}
        given = {"X_val": X[:40], "y_val": y[:40]} if params.pop("given", False) else {}
        model.set_params(n_estimators=n, **params).fit(X, y, **given)
        assert model.n_estimators_ <= n
    for curve in (model._curves or {}).values():
        assert len(curve) >= model.n_estimators_
    again = weald.loads(weald.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model_bytes(again) == model_bytes(model)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_the_same_fit_again_adds_no_stage_that_is_not_better(scoring):
    y = TARGETS["number"] + np.random.default_rng(2).normal(size=N)
    rows = {"X_val": X[:60], "y_val": y[:60]}
    model = boosting("number", n_estimators=100, scoring=scoring, n_iter_no_change=2, warm_start=True)
    model.fit(X[60:], y[60:], **rows)
    n, best = model.n_estimators_, model.score(X[:60], y[:60])
    for _ in range(4):
        model.fit(X[60:], y[60:], **rows)
    assert (model.n_estimators_, model.score(X[:60], y[:60])) == (n, best)


def test_stages_that_a_linear_start_finds_to_be_useful_stay():
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(300, 6))
    labels = (wide[:, :5] + rng.normal(size=(300, 5)) > 0.8).astype(int)
    model = weald.GradientBoostingClassifier(n_estimators=40, init="auto", warm_start=True, random_state=0)
    first = model.fit(wide, labels).predict_proba(wide)
    assert model.n_estimators_ < 40
    np.testing.assert_array_equal(model.fit(wide, labels).predict_proba(wide), first)


@pytest.mark.parametrize(("one", "other", "said"), [(None, Ridge(), "None"), (Ridge(), None, "'Ridge'")])
def test_a_fit_does_not_go_on_from_another_start(one, other, said):
    model = boosting("number", n_estimators=3, init=one, warm_start=True).fit(X, TARGETS["number"])
    with pytest.raises(ValueError, match=f"init must be {said} with warm_start=True"):
        model.set_params(n_estimators=5, init=other).fit(X, TARGETS["number"])
    classes = boosting("class", n_estimators=3, warm_start=True).fit(X, TARGETS["class"])
    with pytest.raises(ValueError, match="init must be None with warm_start=True, as in the previous fit"):
        classes.set_params(n_estimators=5, init="linear").fit(X, TARGETS["class"])
