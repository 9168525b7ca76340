"""`max_leaf_nodes="auto"`, the default of boosting: trees that many columns of scores share get more leaves for more samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from conftest import model_bytes
from plans import plan
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from test_samples_apart import on_workers
from weald import EarlyStopping
from weald.distribute import fit_part

# Two stages are enough to count leaves.
FEW = {"n_estimators": 2, "random_state": 0}


def data(n: int, n_outputs: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """Samples of which no two are equal, with zeros, and numbers that they tell in part."""
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.7)).round(1)
    X[:, 3] = np.arange(n)
    return X.astype(np.float32), X[:, :2] @ rng.normal(size=(2, n_outputs)) + rng.normal(size=(n, n_outputs))


def boosting(kind: str, **params: Any) -> BaseEstimator:
    """Boosting whose trees many columns of scores share; numbers would have trees of their own for few samples."""
    if kind == "numbers":
        return weald.GradientBoostingRegressor(**FEW | {"output_strategy": "projected"} | params)
    return weald.GradientBoostingClassifier(**FEW | params)


def target(kind: str, Y: np.ndarray) -> Any:
    return {"numbers": Y, "labels": (Y > 1).astype(int), "classes": np.arange(len(Y)) % Y.shape[1]}[kind]


def test_the_rule():
    n_leaves = {1: 31, 2000: 31, 2001: 63, 5000: 63, 5001: 127, 10**9: 127}
    for kind in ("labels", "classes"):
        assert {n: plan(kind, 20, n, is_free=False)["max_leaf_nodes"] for n in n_leaves} == n_leaves


@pytest.mark.parametrize("kind", ["numbers", "labels", "classes"])
@pytest.mark.parametrize(("n", "n_leaves"), [(2000, 31), (2001, 63), (5001, 127)])
def test_more_samples_have_more_leaves(kind, n, n_leaves):
    X, Y = data(n)
    y = target(kind, Y)
    found = boosting(kind).fit(X, y)
    assert found.max_leaf_nodes_ == n_leaves
    assert [tree.max_leaf_nodes for tree in found.estimators_] == [n_leaves] * 2
    assert max(tree.get_n_leaves() for tree in found.estimators_) == n_leaves
    same = boosting(kind, max_leaf_nodes=n_leaves).fit(X, y)
    assert same.max_leaf_nodes_ == n_leaves
    assert model_bytes(found) == model_bytes(same)


@pytest.mark.parametrize(
    ("kind", "n_outputs", "params"),
    [
        ("numbers", 10, {"output_strategy": "joint"}),
        ("numbers", 101, {}),
        ("numbers", 11, {"output_strategy": "single_target"}),
        ("labels", 10, {}),
        ("labels", 10, {"output_strategy": "joint"}),
        ("labels", 101, {}),
        ("labels", 11, {"init": "linear"}),
        ("classes", 10, {}),
        ("classes", 101, {}),
    ],
)
def test_other_fits_have_31_leaves(kind, n_outputs, params):
    X, Y = data(2001, n_outputs)
    y = target(kind, Y)
    found = boosting(kind, **params).fit(X, y)
    assert found.max_leaf_nodes_ == 31
    assert model_bytes(found) == model_bytes(boosting(kind, max_leaf_nodes=31, **params).fit(X, y))


@pytest.mark.parametrize("value", [5, None])
def test_a_value_that_is_set_is_kept(value):
    X, Y = data(2001)
    found = boosting("numbers", max_leaf_nodes=value, max_depth=7).fit(X, Y)
    assert found.max_leaf_nodes_ == value
    assert [tree.max_leaf_nodes for tree in found.estimators_] == [value] * 2


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(("n", "n_leaves"), [(2000, 31), (2001, 63)])
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_the_laws_hold_on_both_sides_of_the_threshold(kind, n, n_leaves, layout):
    X, Y = data(n)
    y = target(kind, Y)
    # Draws of samples are by rows of X, so that copies would draw others.
    model = boosting(kind, subsample=1.0, n_jobs=1).fit(X, y)
    assert model.max_leaf_nodes_ == n_leaves
    order = np.random.default_rng(0).permutation(n)
    twice = np.concatenate([np.arange(n), np.arange(n)[::3]])
    removed = np.concatenate([X, X + 0.5])
    for other in (
        clone(model).fit(layout(X), y),
        clone(model).set_params(n_jobs=2).fit(layout(X[order]), y[order]),
        clone(model).fit(layout(removed), np.concatenate([y, y]), sample_weight=np.repeat([1.0, 0.0], n)),
    ):
        assert model_bytes(other) == model_bytes(model)
    heavy = clone(model).fit(layout(X), y, sample_weight=1.0 + (np.arange(n) % 3 == 0))
    copies = clone(model).fit(layout(X[twice]), y[twice])
    assert copies.max_leaf_nodes_ == heavy.max_leaf_nodes_ == n_leaves
    np.testing.assert_array_equal(copies.predict(X), heavy.predict(X))


def test_early_stopping_counts_all_samples():
    X, Y = data(2001)
    for params in (
        {"early_stopping": EarlyStopping(cv=3)},
        {"early_stopping": True},
        {"early_stopping": EarlyStopping(refit=True)},
    ):
        found = boosting("numbers", **params).fit(X, Y)
        assert found.max_leaf_nodes_ == 63
        assert model_bytes(found) == model_bytes(boosting("numbers", max_leaf_nodes=63, **params).fit(X, Y))
    assert boosting("numbers").fit(X, Y, X_val=X[:9], y_val=Y[:9]).max_leaf_nodes_ == 63


def test_a_warm_start_goes_on_with_as_many_leaves():
    X, Y = data(2001)
    model = boosting("numbers", warm_start=True).fit(X, Y).set_params(n_estimators=4).fit(X, Y)
    assert model_bytes(model) == model_bytes(boosting("numbers", n_estimators=4).fit(X, Y))
    assert model.max_leaf_nodes_ == 63


@pytest.mark.parametrize(("n", "n_leaves"), [(2000, 31), (2001, 63)])
def test_workers_count_their_samples_together(n, n_leaves):
    X, Y = data(n)
    # Some samples are on two workers.
    parts = [np.arange(n)[:1200], np.arange(n)[1000:]]

    def fit(place: int, all_reduce: Any) -> Any:
        rows = parts[place]
        model = boosting("numbers", subsample=1.0, n_jobs=1)
        return fit_part(model, X[rows], Y[rows], all_reduce, n_samples=n + 200)

    models, _ = on_workers(2, fit)
    assert [model.max_leaf_nodes_ for model in models] == [n_leaves] * 2
    whole = np.concatenate(parts)
    same = boosting("numbers", subsample=1.0).fit(X[whole], Y[whole])
    assert model_bytes(models[0]) == model_bytes(models[1]) == model_bytes(same)


def test_files_keep_the_number():
    X, Y = data(2001)
    model = boosting("numbers").fit(X, Y)
    found = weald.loads(weald.dumps(model))
    assert (found.max_leaf_nodes_, found.estimators_[0].max_leaf_nodes) == (63, 63)
    model.max_leaf_nodes_ = 1
    with pytest.raises(ValueError, match="max_leaf_nodes_"):
        weald.loads(weald.dumps(model))


def test_members_tell_the_leaves_that_folds_had():
    X, Y = data(90, 1)
    model = weald.GradientBoostingRegressor(random_state=0).fit(X, Y.ravel())
    assert model.max_leaf_nodes_ == 8
    assert {tree.max_leaf_nodes for tree in model.estimators_} == {8}


def test_the_estimate_of_memory_counts_larger_trees():
    X, Y = data(5001)
    model = boosting("numbers", n_estimators=300)
    found, same, few = (
        weald.estimate_fit_memory(clone(model).set_params(max_leaf_nodes=n), X, Y) for n in ("auto", 127, 31)
    )
    assert found == same > few
