"""`n_estimators="auto"`, the default of boosting: folds find the number of stages for a few numbers or classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from conftest import model_bytes, unless
from plans import most_in_folds, plan
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from test_samples_apart import on_workers
from weald import EarlyStopping
from weald._rounds import held_out
from weald.distribute import fit_part

# What the defaults stand for where folds find the number for up to 1000 samples.
FOUND = {
    "n_estimators": 1000,
    "early_stopping": EarlyStopping(cv=5),
    "learning_rate": 0.07,
    "max_leaf_nodes": 8,
    "max_features": "half",
    "subsample": 0.7,
}
OF_NUMBERS = {"n_estimators": 1000, "early_stopping": EarlyStopping(cv=5), "learning_rate": 0.07, "max_leaf_nodes": 8}
# And where they do not, for a few classes or numbers.
FIXED = {"n_estimators": 200, "learning_rate": 0.05, "max_leaf_nodes": 31, "max_features": "half"}
FIXED_OF_NUMBERS = {"n_estimators": 300, "learning_rate": 0.05, "max_leaf_nodes": 31}


def boosting(**params: Any) -> weald.GradientBoostingClassifier:
    return weald.GradientBoostingClassifier(**{"random_state": 0, **params})


def of_numbers(**params: Any) -> weald.GradientBoostingRegressor:
    return weald.GradientBoostingRegressor(**{"random_state": 0, **params})


def numbers(n_outputs: int | None = None, n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """X as in `data`, and positive numbers that it tells in part."""
    X, _ = data(n=n, seed=seed)
    noise = np.random.default_rng(seed + 1).normal(size=(n, n_outputs or 1))
    y = np.exp(0.5 * X[:, :1] + noise)
    return X, y.ravel() if n_outputs is None else y


def data(n_classes: int = 2, n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """X with zeros and equal values, and classes that it tells in part."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7)).round(1)
    return X, np.argsort(np.argsort(X[:, 0] + X[:, 1] + rng.normal(size=n))) * n_classes // n


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("params", [{}, {"output_strategy": "joint"}, {"class_weight": "balanced", "subsample": 0.6}])
def test_the_number_is_that_of_five_folds_of_few_samples(n_classes, params):
    X, y = data(n_classes)
    found = boosting(**params).fit(X, y)
    same = boosting(**FOUND | params).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert found.n_estimators_ == same.n_estimators_ < 200
    assert found.learning_rate_ == 0.07
    np.testing.assert_array_equal(found.validation_score_, same.validation_score_)
    assert max(tree.get_n_leaves() for tree in found.estimators_) <= 8
    again = boosting(**FOUND | {"early_stopping": "auto", "n_estimators": found.n_estimators_} | params).fit(X, y)
    assert model_bytes(again) == model_bytes(found)


@pytest.mark.parametrize("n_outputs", [None, 3, 10])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "absolute_error"},
        {"loss": "poisson", "output_strategy": "joint"},
        {"loss": weald.loss.Quantile(0.9), "subsample": 1.0},
        {"output_strategy": "projected", "output_scaling": "variance"},
    ],
    ids=str,
)
def test_the_number_is_that_of_five_folds_of_few_numbers(n_outputs, params):
    X, y = numbers(n_outputs)
    found, same = of_numbers(**params).fit(X, y), of_numbers(**{**OF_NUMBERS, **params}).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert found.n_estimators_ == same.n_estimators_ < 300
    assert found.learning_rate_ == 0.07
    np.testing.assert_array_equal(found.validation_score_, same.validation_score_)
    again = of_numbers(**{**OF_NUMBERS, **params, "early_stopping": "auto", "n_estimators": found.n_estimators_}).fit(
        X, y
    )
    assert model_bytes(again) == model_bytes(found)


def test_the_search_waits_thirty_rounds_or_a_fifth_of_the_best_number():
    X, noisy = numbers(n=400)
    params = {**OF_NUMBERS, "tol": 0.0, "n_estimators": 400}
    waits = []
    clean = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=400)
    for y in (noisy, clean):
        curve = of_numbers(**params, n_iter_no_change=400).fit(X, y).validation_score_
        best = [1 + int(np.argmin(curve[: k + 1])) for k in range(len(curve))]
        end = next((k + 1 for k, b in enumerate(best) if k + 1 - b >= max(30, b // 5)), len(curve))
        found = of_numbers(**params).fit(X, y)
        np.testing.assert_array_equal(found.validation_score_, curve[:end])
        assert found.n_estimators_ == best[end - 1]
        waits.append(end - best[end - 1])
    assert waits[0] == 30 < waits[1]


def test_the_number_is_fixed_for_many_numbers():
    X, y = numbers(101)
    found = of_numbers().fit(X, y)
    assert (found.n_estimators_, found.learning_rate_) == (300, 0.05)
    assert model_bytes(found) == model_bytes(of_numbers(**FIXED_OF_NUMBERS).fit(X, y))
    levels = of_numbers(loss=weald.loss.Quantile([0.1, 0.5, 0.9]))
    assert levels.fit(X, y[:, :34]).n_estimators_ == 300
    assert levels.fit(X, y[:, :3]).n_estimators_ < 300


def test_unknown_numbers_are_in_no_fold():
    X, y = numbers(3)
    y[np.random.default_rng(3).random(y.shape) < 0.4] = np.nan
    found = of_numbers().fit(X, y)
    assert model_bytes(found) == model_bytes(of_numbers(**OF_NUMBERS).fit(X, y))
    masked = of_numbers().fit(X, np.nan_to_num(y), y_weight=unless(np.isnan(y)))
    assert model_bytes(masked) == model_bytes(found)
    alone, unknown = y[:, 0].copy(), np.isnan(y[:, 0])
    assert model_bytes(of_numbers().fit(X, np.nan_to_num(alone), y_weight=unless(unknown))) == model_bytes(
        of_numbers().fit(X[~unknown], alone[~unknown])
    )


@pytest.mark.parametrize(
    "params",
    [{}, {"early_stopping": EarlyStopping(cv=3), "n_estimators": 9}, {"early_stopping": True, "n_estimators": 9}],
    ids=str,
)
@pytest.mark.parametrize("loss", ["gamma", "poisson"])
def test_placeholders_of_unknown_numbers_may_be_outside_the_domain(loss, params):
    X, y = numbers(3)
    unknown = np.random.default_rng(3).random(y.shape) < 0.4
    masked = of_numbers(loss=loss, **params).fit(X, np.where(unknown, -1.0, y), y_weight=unless(unknown))
    assert model_bytes(masked) == model_bytes(of_numbers(loss=loss, **params).fit(X, np.where(unknown, np.nan, y)))


@pytest.mark.parametrize(
    "params", [{}, {"early_stopping": EarlyStopping(cv=3)}, {"early_stopping": True}, {"n_estimators": 5}], ids=str
)
@pytest.mark.parametrize("n_bad", [1, 90])
def test_numbers_outside_the_domain_are_an_error_of_y_and_not_of_folds(params, n_bad):
    X, y = numbers()
    with pytest.raises(ValueError, match=r'^y must be at least 0, got -1 with loss="poisson"$'):
        of_numbers(loss="poisson", **params).fit(X, np.where(np.arange(90) < n_bad, -1.0, y))


def test_the_number_is_fixed_where_one_fold_has_all_known_values_of_an_output():
    X, y = numbers(2)
    y[1:, 1] = np.nan
    found = of_numbers().fit(X, y)
    assert found.n_estimators_ == 300
    assert model_bytes(found) == model_bytes(of_numbers(**FIXED_OF_NUMBERS).fit(X, y))
    with pytest.raises(ValueError, match="cv must allow a fit without each fold"):
        of_numbers(early_stopping=EarlyStopping(cv=3)).fit(X, y)


@pytest.mark.parametrize(
    "params", [{"early_stopping": False}, {"warm_start": True}, {"init": Ridge()}, {"estimator": Ridge()}], ids=str
)
def test_the_number_is_fixed_for_numbers_where_something_else_decides(params):
    X, y = numbers()
    found, same = of_numbers(**params).fit(X, y), of_numbers(**{**FIXED_OF_NUMBERS, **params}).fit(X, y)
    assert found.n_estimators_ == 300
    np.testing.assert_array_equal(found.predict(X), same.predict(X))
    if "estimator" not in params:
        assert model_bytes(found) == model_bytes(same)


def test_numbers_that_are_equal_have_one_stage_without_effect():
    X, _ = data()
    found = of_numbers().fit(X, np.full(90, 2.5))
    assert found.n_estimators_ == 1
    assert found.predict(X).tolist() == [2.5] * 90


def test_more_samples_have_more_leaves(monkeypatch):
    n_samples = (30, 1000, 1001, 5000, 5001, 20_000)
    for kind in ("numbers", "classes"):
        assert [plan(kind, 1, n)["max_leaf_nodes"] for n in n_samples] == [8, 8, 15, 15, 31, 31]
    for make, (X, y) in ((boosting, data(n=1002)), (of_numbers, numbers(n=1002))):
        X[:, 5] = np.arange(len(X))  # no two are equal
        for n, times, n_leaves in ((1000, 1, 8), (1001, 1, 15), (501, 2, 8)):
            found = make().fit(np.tile(X[:n], (times, 1)), np.tile(y[:n], times))
            assert max(tree.get_n_leaves() for tree in found.estimators_) == n_leaves


def test_a_parameter_that_is_set_is_kept():
    X, y = numbers()
    for name, value in (("learning_rate", 0.3), ("max_leaf_nodes", 4), ("max_leaf_nodes", None), ("max_features", 2)):
        found = of_numbers(**{name: value}).fit(X, y)
        given = {**OF_NUMBERS, "max_features": found.plan_["max_features"], name: value}
        assert model_bytes(found) == model_bytes(of_numbers(**given).fit(X, y))
    X, y = data()
    for name, value in (("learning_rate", 0.3), ("max_leaf_nodes", 4), ("max_leaf_nodes", None), ("max_features", 2)):
        found = boosting(**{name: value}).fit(X, y)
        given = {**FOUND, "max_features": found.plan_["max_features"], name: value}
        assert model_bytes(found) == model_bytes(boosting(**given).fit(X, y))


def other_targets() -> dict[str, Any]:
    X, y = data()
    labels = np.column_stack([y, X[:, 2] > 0]).astype(int)
    return {
        "labels": labels,
        "sparse labels": sparse.csr_array(labels),
        "several outputs": np.column_stack([y, data(3)[1]]),
        "eleven classes": np.arange(len(X)) % 11,
    }


@pytest.mark.parametrize("kind", ["several outputs", "eleven classes"])
def test_the_number_is_fixed_for_other_targets(kind):
    X, _ = data()
    y = other_targets()[kind]
    found = boosting().fit(X, y)
    assert (found.n_estimators_, found.learning_rate_) == (200, 0.07)
    fixed = {"n_estimators": 200, "learning_rate": 0.07, "max_leaf_nodes": 31, "max_features": None}
    assert model_bytes(found) == model_bytes(boosting(**fixed).fit(X, y))


@pytest.mark.parametrize("kind", ["labels", "sparse labels"])
def test_few_labelled_samples_have_the_number_of_their_folds(kind):
    X, _ = data()
    y = other_targets()[kind]
    found = boosting().fit(X, y)
    few = {"learning_rate": 0.05, "max_leaf_nodes": 8, "max_features": None}
    same = boosting(n_estimators=400, early_stopping=EarlyStopping(cv=5), **few).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert found.n_estimators_ < 200
    # Not with as many features as samples, such as words, nor with more samples than were studied.
    wide = np.hstack([X] * 15)
    for n, X_of_many in ((90, wide), (501, np.tile(X, (6, 1))[:501] + np.arange(501)[:, np.newaxis])):
        labels = np.tile(other_targets()["labels"], (6, 1))[:n]
        found = boosting(n_jobs=1).fit(X_of_many, labels)
        assert (found.n_estimators_, found.learning_rate_) == (200, 0.07)
    for n, expected in ((29, 200), (30, 400), (500, 400), (501, 200)):
        assert plan("labels", 3, n)["n_estimators"] == expected
        assert plan("labels", 300, n)["n_estimators"] == expected


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
        ({"early_stopping": EarlyStopping(cv=4)}, {}),
        ({"early_stopping": EarlyStopping(refit=True)}, {}),
    ):
        found = boosting(**params).fit(X, y, **more)
        same = boosting(**{**FIXED, "n_estimators": 1000}, **params).fit(X, y, **more)
        assert model_bytes(found) == model_bytes(same)
        assert len(found.validation_score_) == len(same.validation_score_)
    labels = other_targets()["labels"]
    found = boosting(early_stopping=EarlyStopping(cv=3)).fit(X, labels)
    assert model_bytes(found) == model_bytes(
        boosting(early_stopping=EarlyStopping(cv=3), n_estimators=1000).fit(X, labels)
    )


def test_few_and_many_samples_have_a_fixed_number(monkeypatch):
    X, y = data()
    found = boosting().fit(X, y).n_estimators_
    assert found < 200
    assert boosting().fit(X[:30], y[:30]).n_estimators_ < 200
    assert boosting().fit(X[:29], y[:29]).n_estimators_ == 200
    # Copies are samples, which make the search believe what it has seen; samples without weight are not there.
    assert boosting().fit(np.tile(X[:29], (5, 1)), np.tile(y[:29], 5)).n_estimators_ != 200
    assert boosting().fit(X, y, sample_weight=np.arange(90) < 29).n_estimators_ == 200
    most_in_folds(monkeypatch, 89)
    assert boosting().fit(X, y).n_estimators_ == 200
    assert of_numbers().fit(X, numbers()[1]).n_estimators_ == 300
    assert boosting().fit(X[1:], y[1:]).n_estimators_ < 200


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_different_samples_are_counted(layout):
    X = np.random.default_rng(0).integers(0, 2, (80, 5)).astype(np.float32)
    for weights in (None, (np.arange(80) % 3).astype(float)):
        n = len(np.unique(X if weights is None else X[weights > 0], axis=0))
        assert len(held_out.different_samples(layout(X), weights)) == n


def test_where_rows_repeat_the_search_learns_what_repeats():
    """The means of the groups are what there is to learn; a search that holds out whole groups ends at once."""
    rng = np.random.default_rng(1)
    codes = {
        "50 codes": rng.integers(0, 50, (2000, 1)),
        "10 x 10 codes": rng.integers(0, 10, (2000, 2)),
        "eight yes or no": rng.integers(0, 2, (2000, 8)),
        "60 settings": rng.normal(size=(60, 3))[rng.integers(0, 60, 2000)],
    }
    for what, X in codes.items():
        _, group = np.unique(X, axis=0, return_inverse=True)
        truth = rng.normal(size=group.max() + 1)[group.ravel()]
        y = truth + 0.3 * rng.normal(size=2000)
        least = 1 - np.mean((y[1500:] - truth[1500:]) ** 2) / y[1500:].var() - 0.1
        for params in (
            {},
            {"early_stopping": EarlyStopping(cv=3), "learning_rate": 0.1},
            {"early_stopping": True, "learning_rate": 0.1},
        ):
            model = weald.GradientBoostingRegressor(random_state=0, n_jobs=1, **params).fit(X[:1500], y[:1500])
            assert model.score(X[1500:], y[1500:]) > least, (what, params, model.n_estimators_)
        classes = weald.GradientBoostingClassifier(random_state=0, n_jobs=1).fit(X[:1500], y[:1500] > 0)
        assert classes.score(X[1500:], y[1500:] > 0) > np.mean((truth > 0) == (y > 0)) - 0.05, what


def test_classes_with_one_sample_or_one_class_alone():
    X, y = data()
    assert boosting().fit(X, np.zeros(90)).predict(X).tolist() == [0] * 90
    found = boosting().fit(X, np.where(np.arange(90) == 4, 2, y))
    assert found.predict_proba(X).shape == (90, 3)
    assert found.n_estimators_ < 200


def assert_laws(make: Any, method: str, X: Any, y: np.ndarray, weights: np.ndarray, layout: Any) -> Any:
    """Layout, threads, order and weights change nothing at the defaults of `make`. Returns X in this layout."""
    first = make(n_jobs=1).fit(X, y)
    there = layout(X)
    assert model_bytes(make(n_jobs=2).fit(there, y)) == model_bytes(first)
    order = np.random.default_rng(1).permutation(len(X))
    assert model_bytes(make().fit(there[order], y[order])) == model_bytes(first)
    weighted = make().fit(there, y, sample_weight=weights)
    removed = make().fit(there[weights > 0], y[weights > 0], sample_weight=weights[weights > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    assert weighted.n_estimators_ < 200
    # Folds hold out rows, so that copies are samples of their own there. With a number of stages they are weights.
    times = np.repeat(np.arange(len(X)), weights)
    repeated = make(n_estimators=20).fit(there[times], y[times])
    weighted = make(n_estimators=20).fit(there, y, sample_weight=weights)
    np.testing.assert_array_equal(getattr(weighted, method)(X), getattr(repeated, method)(X))
    return there


@pytest.mark.parametrize("n_outputs", [None, 3])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_laws_hold_at_all_defaults_for_numbers(n_outputs, layout):
    X, y = numbers(n_outputs)
    X[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    if n_outputs:
        y[np.random.default_rng(5).random(y.shape) < 0.2] = np.nan
    assert_laws(of_numbers, "predict", X, y, np.random.default_rng(2).integers(0, 3, 90), layout)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_laws_hold_at_all_defaults(n_classes, layout):
    X, y = data(n_classes)
    weights = np.random.default_rng(2).integers(0, 3, 90)
    weights[:10] = 1  # of all classes
    there = assert_laws(boosting, "decision_function", X, y, weights, layout)
    unknown = np.arange(90) % 5 == 4
    masked = boosting().fit(there, y, y_weight=unless(unknown))
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
    assert "_n_in_folds" not in vars(model)
    first = model.decision_function(X)
    model.set_params(warm_start=True, n_estimators=n + 3, learning_rate=0.07).fit(X, y)
    assert model.n_estimators_ == n + 3
    np.testing.assert_array_equal(model.decision_function(X, n_stages=n), first)
    with pytest.raises(ValueError, match=f"n_estimators must be at least {n + 3} with warm_start=True.*got {n}"):
        model.set_params(n_estimators=n).fit(X, y)


def alone(buffer: np.ndarray, kind: str) -> np.ndarray:
    """The `all_reduce` of the only worker."""
    return buffer


def test_samples_apart_have_no_folds(monkeypatch):
    X, y = data()
    apart = {"all_reduce": alone, "n_samples": 90}
    labels = other_targets()["labels"]
    for model, targets in (
        (boosting(), y),
        (boosting(), labels),
        (of_numbers(), numbers()[1]),
        (of_numbers(), numbers(100)[1]),
    ):
        with pytest.raises(ValueError, match=r"n_estimators='auto' for 90 samples.*must be a number"):
            fit_part(model, X, targets, **apart)
    for model, targets in (
        (boosting(early_stopping=False), labels),
        (boosting(early_stopping=False), y),
        (of_numbers(), numbers(101)[1]),
        (of_numbers(early_stopping=False), numbers()[1]),
    ):
        found = fit_part(model, X, targets, **apart)
        assert model_bytes(found) == model_bytes(clone(model).fit(X, targets))
    # Few and many samples have no folds in `fit` either.
    most_in_folds(monkeypatch, 80)
    for model, targets in ((boosting(), y), (of_numbers(), numbers()[1])):
        found = fit_part(model, X, targets, **apart)
        assert model_bytes(found) == model_bytes(clone(model).fit(X, targets))
        found = fit_part(clone(model), X[:29], targets[:29], all_reduce=alone, n_samples=29)
        assert model_bytes(found) == model_bytes(clone(model).fit(X[:29], targets[:29]))


@pytest.mark.parametrize(("most", "is_for_folds"), [(101, True), (100, False), (30, False)])
def test_samples_are_counted_over_all_workers(monkeypatch, most, is_for_folds):
    X, y = numbers()
    most_in_folds(monkeypatch, most)
    # Some samples are on both workers, and one of weight zero does not count.
    parts = [np.arange(60), np.arange(50, 91) % 90]
    weights = np.ones(90)
    weights[70] = 0 if most == 30 else 1

    def fit(place: int, all_reduce: Any) -> Any:
        rows = parts[place]
        return fit_part(of_numbers(n_jobs=1), X[rows], y[rows], all_reduce, n_samples=101, sample_weight=weights[rows])

    found, _ = on_workers(2, fit)
    if is_for_folds:
        assert all("for 101 samples" in str(error) for error in found)
    else:
        rows = np.concatenate(parts)
        whole = of_numbers().fit(X[rows], y[rows], sample_weight=weights[rows])
        assert {model_bytes(model) for model in found} == {model_bytes(whole)}


@pytest.mark.parametrize(
    ("n", "n_outputs", "n_folds"),
    [
        (90, 1, 5),
        (90, 10, 5),
        (201, 1, 3),
        (90, 11, 1),
        (90, 100, 1),
        (90, 101, 0),
        (29, 1, 0),
        (29, 11, 0),
        (5001, 11, 0),
        (20_001, 1, 0),
    ],
)
def test_the_estimate_of_memory_counts_copies_and_scores_of_folds(n, n_outputs, n_folds):
    X, y = np.zeros((n, 6), dtype=np.float32), np.arange(n * n_outputs).reshape(n, n_outputs) % 7.0
    y = y if n_outputs > 1 else y.ravel()
    found = weald.estimate_fit_memory(of_numbers(), X, y)
    without = weald.estimate_fit_memory(of_numbers(early_stopping=False), X, y)
    assert found - without == n_folds * (X.nbytes + y.nbytes)


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
    assert "GradientBoostingClassifier, 5 folds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "n_useful", "drawn"), [(boosting, 2, None), (of_numbers, 2, None), (of_numbers, 30, "half")]
)
def test_folds_say_whether_half_of_the_features_are_drawn(make, n_useful, drawn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 30))
    y = X[:, :n_useful].sum(axis=1) + 0.3 * rng.normal(size=240)
    y = y > 0 if make is boosting else y
    found, same = make().fit(X, y), make(max_features=drawn).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert (found.max_features_, found.plan_["max_features"]) == (same.max_features_, drawn)
    np.testing.assert_array_equal(found.validation_score_, same.validation_score_)
    more = {"warm_start": True, "n_estimators": found.n_estimators_ + 3}
    assert model_bytes(found.set_params(**more).fit(X, y)) == model_bytes(same.set_params(**more).fit(X, y))
    told = []

    class Watch:
        def on_round(self, n: int, train_loss: float, validation_loss: float | None) -> bool:
            told.append(n)
            return self.ends and n == 4

    for ends, features in ((False, drawn), (True, "half")):
        Watch.ends = ends
        watched = make(callbacks=Watch()).fit(X, y)
        assert watched.plan_["max_features"] == features
        assert told == list(range(len(told)))
        told.clear()


@pytest.mark.parametrize("value", ["many", 0, 2.5, None])
def test_other_values_are_refused(value):
    X, y = data()
    with pytest.raises(ValueError, match=r"'n_estimators' .*among {'auto'}"):
        boosting(n_estimators=value).fit(X, y)
    with pytest.raises(ValueError, match=r"'max_leaf_nodes' .*among {'auto'}"):
        boosting(max_leaf_nodes="many").fit(X, y)


def test_the_plan_is_printed_and_stands_in_the_model(capsys):
    X, y = data(3)
    found = boosting(verbose=1).fit(X, y)
    plan = {"output_strategy": "single_target", "learning_rate": 0.07, "max_leaf_nodes": 8, "max_features": "half"}
    plan |= {"subsample": 0.7, "l2_regularization": 1.0, "n_estimators": 1000, "n_iter_no_change": 30, "cv": 5}
    assert found.plan_ == plan
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "GradientBoostingClassifier: " + ", ".join(f"{name}={value!r}" for name, value in plan.items())
    assert weald.loads(weald.dumps(found)).plan_ == plan
    # A model keeps what it was grown by, and a fit that goes on has it, too.
    more = found.set_params(warm_start=True, n_estimators=found.n_estimators_ + 2).fit(X, y)
    same = {name: plan[name] for name in ("output_strategy", "learning_rate", "max_leaf_nodes", "max_features")}
    assert same.items() <= more.plan_.items()
    assert (more.plan_["n_estimators"], more.plan_["cv"]) == (more.n_estimators_, None)
    given = boosting(n_estimators=7, learning_rate=0.3, max_leaf_nodes=None).fit(X, y).plan_
    assert (given["n_estimators"], given["learning_rate"], given["max_leaf_nodes"], given["cv"]) == (7, 0.3, None, None)
