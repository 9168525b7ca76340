"""`n_estimators="auto"`, the default of GradientBoostingClassifier: folds find the number of stages for a few classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from conftest import model_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from weald._fit import boosting_parameters
from weald._rounds import folds
from weald.distribute import fit_part

# What the default stands for where folds find the number.
FOUND = {"n_estimators": 1000, "cv": 3, "learning_rate": 0.1, "max_leaf_nodes": 15, "max_features": "half"}
# And where they do not, for a few classes.
FIXED = {"n_estimators": 200, "learning_rate": 0.05, "max_leaf_nodes": 31, "max_features": "half"}


def boosting(**params: Any) -> weald.GradientBoostingClassifier:
    return weald.GradientBoostingClassifier(**{"random_state": 0, **params})


def data(n_classes: int = 2, n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """X with zeros and equal values, and classes that it tells in part."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7)).round(1)
    return X, np.argsort(np.argsort(X[:, 0] + X[:, 1] + rng.normal(size=n))) * n_classes // n


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("params", [{}, {"output_strategy": "joint"}, {"class_weight": "balanced", "subsample": 0.7}])
def test_the_number_is_that_of_three_folds(n_classes, params):
    X, y = data(n_classes)
    found = boosting(**params).fit(X, y)
    same = boosting(**FOUND, **params).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert found.n_estimators_ == same.n_estimators_ < 200
    assert found.learning_rate_ == 0.1
    np.testing.assert_array_equal(found.validation_score_, same.validation_score_)
    assert max(tree.get_n_leaves() for tree in found.estimators_) <= 15
    again = boosting(**{**FOUND, "cv": None, "n_estimators": found.n_estimators_}, **params).fit(X, y)
    assert model_bytes(again) == model_bytes(found)


def test_a_parameter_that_is_set_is_kept():
    X, y = data()
    for name, value in (("learning_rate", 0.3), ("max_leaf_nodes", 4), ("max_leaf_nodes", None), ("max_features", 2)):
        found = boosting(**{name: value}).fit(X, y)
        assert model_bytes(found) == model_bytes(boosting(**{**FOUND, name: value}).fit(X, y))


def other_targets() -> dict[str, Any]:
    X, y = data()
    labels = np.column_stack([y, X[:, 2] > 0]).astype(int)
    return {
        "labels": labels,
        "sparse labels": sparse.csr_array(labels),
        "several outputs": np.column_stack([y, data(3)[1]]),
        "eleven classes": np.arange(len(X)) % 11,
    }


@pytest.mark.parametrize("kind", list(other_targets()))
def test_the_number_is_fixed_for_other_targets(kind):
    X, _ = data()
    y = other_targets()[kind]
    found = boosting().fit(X, y)
    assert (found.n_estimators_, found.learning_rate_) == (200, 0.07)
    fixed = {"n_estimators": 200, "learning_rate": 0.07, "max_leaf_nodes": 31, "max_features": None}
    assert model_bytes(found) == model_bytes(boosting(**fixed).fit(X, y))


@pytest.mark.parametrize(
    "params",
    [
        {"early_stopping": False},
        {"warm_start": True},
        {"init": LogisticRegression()},
        {"init": "linear", "learning_rate": 0.05},
    ],
    ids=str,
)
def test_the_number_is_fixed_where_something_else_decides(params):
    X, y = data()
    found = boosting(**params).fit(X, y)
    assert found.n_estimators_ == 200
    assert model_bytes(found) == model_bytes(boosting(**{**FIXED, **params}).fit(X, y))


def test_the_number_is_fixed_with_another_weak_model_and_with_validation_samples():
    X, y = data()
    assert boosting(estimator=Ridge()).fit(X, y).n_estimators_ == 200
    found = boosting().fit(X, y, X_val=X[:9], y_val=y[:9])
    assert found.n_estimators_ == len(found.validation_score_) == 200
    watched = boosting(scoring="accuracy").fit(X, y, eval_sets=[(X, y)])
    assert watched.n_estimators_ == len(watched.eval_results_["eval_0"]["score"]) == 200
    with pytest.raises(ValueError, match="scoring requires validation samples"):
        boosting(scoring="accuracy").fit(X, y)
    # Monitored sets decide nothing.
    watched = boosting().fit(X, y, eval_sets=[(X, y)])
    assert model_bytes(watched) == model_bytes(boosting().fit(X, y))
    assert len(watched.eval_results_["eval_0"]["loss"]) == watched.n_estimators_ < 200


def test_early_stopping_that_is_asked_for_has_up_to_a_thousand_stages():
    X, y = data()
    held = {"X_val": X[::3], "y_val": y[::3]}
    for params, more in (
        ({"n_iter_no_change": 300}, held),
        ({"early_stopping": True, "tol": 0}, {}),
        ({"cv": 4}, {}),
        ({"early_stopping": True, "refit": True}, {}),
    ):
        found = boosting(**params).fit(X, y, **more)
        same = boosting(**{**FIXED, "n_estimators": 1000}, **params).fit(X, y, **more)
        assert model_bytes(found) == model_bytes(same)
        assert len(found.validation_score_) == len(same.validation_score_)
    labels = other_targets()["labels"]
    found = boosting(cv=3).fit(X, labels)
    assert model_bytes(found) == model_bytes(boosting(cv=3, n_estimators=1000).fit(X, labels))


def test_few_and_many_different_samples_have_a_fixed_number(monkeypatch):
    X, y = data()
    X[:, 5] = np.arange(len(X))  # no two are equal
    found = boosting().fit(X, y).n_estimators_
    assert found < 200
    assert boosting().fit(X[:30], y[:30]).n_estimators_ < 200
    assert boosting().fit(X[:29], y[:29]).n_estimators_ == 200
    # Copies say nothing new, and samples without weight are not there.
    assert boosting().fit(np.tile(X[:29], (5, 1)), np.tile(y[:29], 5)).n_estimators_ == 200
    assert boosting().fit(X, y, sample_weight=np.arange(90) < 29).n_estimators_ == 200
    monkeypatch.setattr(boosting_parameters, "_MOST_SAMPLES", 89)
    assert boosting().fit(X, y).n_estimators_ == 200
    assert boosting().fit(X[1:], y[1:]).n_estimators_ < 200
    assert boosting().fit(np.tile(X[1:], (2, 1)), np.tile(y[1:], 2)).n_estimators_ < 200


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_different_samples_are_counted_until_there_are_enough(layout):
    X = np.random.default_rng(0).integers(0, 2, (80, 5)).astype(np.float32)
    for weights in (None, np.arange(80) % 3 > 0):
        n = len(np.unique(X if weights is None else X[weights], axis=0))
        for most in (1, 7, n - 1, n, n + 1, 100):
            found = folds.n_different(layout(X), weights, most)
            assert found == n if n <= most else most < found <= n


def test_hashes_are_those_of_every_layout(monkeypatch):
    X = (np.random.default_rng(0).normal(size=(50, 9)) * (np.arange(9) % 3 > 0)).round().astype(np.float32)
    X[3, 1], X[:, 7] = np.nan, -0.0
    expected = folds._hashes(X, np.arange(50))
    np.testing.assert_array_equal(folds._hashes(sparse.csr_array(X), np.arange(50)), expected)
    for block in (1 << 20, 7):
        monkeypatch.setattr(folds, "_BLOCK", block)
        np.testing.assert_array_equal(folds._hashes_of_columns(sparse.csc_array(X)), expected)
        stored = sparse.csc_array((np.zeros(3, np.float32), ([0, 4, 4], [0, 1, 8])), shape=(50, 9))
        assert not folds._hashes_of_columns(stored).any()


def test_classes_with_one_sample_or_one_class_alone():
    X, y = data()
    assert boosting().fit(X, np.zeros(90)).predict(X).tolist() == [0] * 90
    found = boosting().fit(X, np.where(np.arange(90) == 4, 2, y))
    assert found.predict_proba(X).shape == (90, 3)
    assert found.n_estimators_ < 200


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_laws_hold_at_all_defaults(n_classes, layout):
    X, y = data(n_classes)
    first = boosting(n_jobs=1).fit(X, y)
    there = layout(X)
    assert model_bytes(boosting(n_jobs=2).fit(there, y)) == model_bytes(first)
    order = np.random.default_rng(1).permutation(90)
    assert model_bytes(boosting().fit(there[order], y[order])) == model_bytes(first)
    weights = np.random.default_rng(2).integers(0, 3, 90)
    weights[:10] = 1  # of all classes
    times = np.repeat(np.arange(90), weights)
    repeated = boosting().fit(there[times], y[times])
    weighted = boosting().fit(there, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert weighted.n_estimators_ == repeated.n_estimators_ < 200
    unknown = np.arange(90) % 5 == 4
    masked = boosting().fit(there, y, y_mask=unknown)
    np.testing.assert_array_equal(
        masked.decision_function(X), boosting().fit(there[~unknown], y[~unknown]).decision_function(X)
    )


def test_a_fit_that_learns_nothing_new_ends_early():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 8)), rng.random(400) < 0.5
    X_fit, X_new, y_fit, y_new = train_test_split(X, y, random_state=0)
    found, fixed = boosting().fit(X_fit, y_fit), boosting(n_estimators=200).fit(X_fit, y_fit)
    assert found.n_estimators_ < 20
    assert log_loss(y_new, found.predict_proba(X_new)) < log_loss(y_new, fixed.predict_proba(X_new)) - 0.1
    # Classes that can be told apart take more than the fixed number.
    assert boosting().fit(X, X[:, 0] > 0).n_estimators_ < 1000
    cells = (X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (X[:, 2] > 0)
    assert boosting(max_leaf_nodes=2).fit(X, cells).n_estimators_ >= 1


def test_stages_after_it_files_and_copies():
    X, y = data()
    model = boosting().fit(X, y)
    n = model.n_estimators_
    assert clone(model).get_params() == model.get_params()
    loaded = weald.loads(weald.dumps(model))
    assert (loaded.n_estimators, loaded.max_leaf_nodes, loaded.n_estimators_) == ("auto", "auto", n)
    assert weald.dumps(loaded) == weald.dumps(model)
    assert "_by_folds" not in vars(model)
    first = model.decision_function(X)
    model.set_params(warm_start=True, n_estimators=n + 3, learning_rate=0.1).fit(X, y)
    assert model.n_estimators_ == n + 3
    np.testing.assert_array_equal(model.decision_function(X, n_stages=n), first)
    with pytest.raises(ValueError, match=f"n_estimators must be at least {n + 3} with warm_start=True.*got {n}"):
        model.set_params(n_estimators=n).fit(X, y)


def test_samples_apart_have_no_folds():
    X, y = data()
    whole = lambda buffer, kind: buffer  # noqa: E731
    with pytest.raises(ValueError, match=r"fit_part does not support n_estimators='auto'.*must be a number"):
        fit_part(boosting(), X, y, all_reduce=whole, n_samples=90)
    labels = other_targets()["labels"]
    found = fit_part(boosting(), X, labels, all_reduce=whole, n_samples=90)
    assert model_bytes(found) == model_bytes(boosting().fit(X, labels))
    found = fit_part(boosting(early_stopping=False), X, y, all_reduce=whole, n_samples=90)
    assert model_bytes(found) == model_bytes(boosting(early_stopping=False).fit(X, y))


def test_callbacks_and_messages_tell_both_fits(capsys):
    X, y = data()
    told = []

    class Watch:
        def on_round(self, n: int, train_loss: float, validation_loss: float | None) -> bool:
            told.append((n, validation_loss))
            return n == 4

    found = boosting(callbacks=Watch(), verbose=1).fit(X, y)
    assert [n for n, _ in told] == list(range(5))
    assert None not in {loss for _, loss in told}
    assert found.n_estimators_ == 1 + int(np.argmin([loss for _, loss in told]))
    assert "GradientBoostingClassifier, 3 folds" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["many", 0, 2.5, None])
def test_other_values_are_refused(value):
    X, y = data()
    with pytest.raises(ValueError, match=r"'n_estimators' .*among {'auto'}"):
        boosting(n_estimators=value).fit(X, y)
    with pytest.raises(ValueError, match=r"'max_leaf_nodes' .*among {'auto'}"):
        boosting(max_leaf_nodes="many").fit(X, y)
