"""`output_strategy="auto"`, the default of boosting, gives 11 to 100 numbers a tree each where few samples differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from conftest import model_bytes
from plans import plan
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from test_number_of_leaves import data
from test_samples_apart import on_workers
from weald import EarlyStopping
from weald._input.checks import draw_seed
from weald._input.masks import KnownCells
from weald._input.targets import Target
from weald._rounds import held_out
from weald.distribute import fit_part
from weald.projection import Projected

# What the defaults stand for with a tree for each output and up to 1000 samples, where no fold finds fewer stages, and for
# trees of all outputs.
FIXED = {"output_strategy": "single_target", "n_estimators": 100, "learning_rate": 0.07, "max_leaf_nodes": 8}
SHARED = {"output_strategy": "projected", "n_estimators": 300, "learning_rate": 0.05}
MOST = 5000


def boosting(**params: Any) -> weald.GradientBoostingRegressor:
    return weald.GradientBoostingRegressor(**{"random_state": 0, "n_jobs": 1} | params)


def of_one_fold(params: dict[str, Any], X: np.ndarray, Y: np.ndarray) -> weald.GradientBoostingRegressor:
    """What the default should be, slowly: the stages that the first of three folds finds, fitted to all samples."""
    known = np.isfinite(Y)
    engine = np.where(known, Y, 0.0)
    told = None if known.all() else KnownCells(~known)
    target = Target(kind="numbers", engine=engine, n_outputs=Y.shape[1], classes=[], original=engine, known=told)
    train, test = held_out.folds_of(3, X.astype(np.float32), target, None, draw_seed(0))[0]
    of_rest = boosting(**params | {"n_estimators": 200}).fit(X[train], Y[train])
    held, of_held = X[test], known[test]

    def loss(scores: np.ndarray) -> float:
        squares = np.where(of_held, scores - Y[test], 0.0) ** 2
        return float(np.mean(squares.sum(axis=0)[of_held.any(axis=0)] / of_held.sum(axis=0)[of_held.any(axis=0)]))

    losses = [loss(scores) for scores in of_rest.staged_predict(held)]
    best, lowest = 0, np.inf
    for stage, value in enumerate(losses):
        if value < lowest:
            best, lowest = stage + 1, value
        elif stage + 1 - best >= max(10, 0.2 * best):
            break
    return boosting(**params | {"n_estimators": best}).fit(X, Y)


def strategy(model: weald.GradientBoostingRegressor) -> str:
    return model._shared["output_strategy"]


def test_the_rule():
    n_leaves = {30: 8, 1000: 8, 1001: 15, 2000: 15, 2001: 31, MOST: 31}
    assert {n: plan("numbers", 20, n)["max_leaf_nodes"] for n in n_leaves} == n_leaves


@pytest.mark.parametrize(("n", "n_outputs"), [(30, 11), (90, 11), (90, 100)])
def test_many_numbers_of_few_samples_have_a_tree_each(n, n_outputs):
    X, Y = data(n, n_outputs)
    found = boosting().fit(X, Y)
    assert (found.learning_rate_, found.max_leaf_nodes_) == (0.07, 8)
    assert 1 <= found.n_estimators_ < 200
    assert len(found.estimators_) == found.n_estimators_ * n_outputs
    assert model_bytes(found) == model_bytes(of_one_fold(FIXED, X, Y))
    assert not {"_plan"} & vars(found).keys()


def test_there_are_at_most_two_hundred_stages():
    X, _ = data(600)
    Y = np.stack([X[:, 0] + k * X[:, 1] for k in range(11)], axis=1)
    found = boosting().fit(X, Y)
    assert found.n_estimators_ == 200
    assert model_bytes(found) == model_bytes(boosting(**FIXED | {"n_estimators": 200}).fit(X, Y))


@pytest.mark.parametrize(
    "params",
    [{"early_stopping": False}, {"warm_start": True}, {"init": Ridge()}, {"loss": "huber", "early_stopping": False}],
)
def test_a_hundred_stages_where_no_folds_decide(params):
    X, Y = data(90)
    found = boosting(**params).fit(X, Y)
    assert found.n_estimators_ == 100
    assert model_bytes(found) == model_bytes(boosting(**FIXED | params).fit(X, Y))


def test_the_folds_must_know_all_outputs():
    X, Y = data(90)
    Y[:, 3] = np.where(np.arange(90) < 2, Y[:, 3], np.nan)
    found = [boosting(random_state=seed).fit(X, Y) for seed in range(8)]
    alike = [boosting(random_state=seed, **FIXED).fit(X, Y) for seed in range(8)]
    are_fixed = [model_bytes(a) == model_bytes(b) for a, b in zip(found, alike, strict=True)]
    # With one of the two known values in each fold, folds decide; with both in one, they cannot.
    assert any(are_fixed)
    assert not all(are_fixed)


@pytest.mark.parametrize(("n", "n_leaves"), [(1001, 15), (2001, 31), (MOST, 31)])
def test_more_samples_have_more_leaves(n, n_leaves):
    X, Y = data(n)
    found = boosting(n_estimators=2).fit(X, Y)
    assert found.max_leaf_nodes_ == n_leaves == max(tree.get_n_leaves() for tree in found.estimators_)
    same = boosting(**FIXED | {"n_estimators": 2, "max_leaf_nodes": n_leaves}).fit(X, Y)
    assert model_bytes(found) == model_bytes(same)


@pytest.mark.parametrize(
    ("n", "n_outputs", "params"),
    [
        (1, 11, {}),
        (29, 11, {}),
        (90, 101, {}),
        (90, 11, {"output_strategy": Projected(n_projections=2)}),
        (90, 11, {"output_strategy": Projected("rademacher")}),
        (90, 11, {"output_strategy": Projected(relabel_leaves=False)}),
        (90, 11, {"output_strategy": "projected"}),
        (90, 11, {"output_strategy": "joint"}),
        (90, 11, {"estimator": Ridge(), "subsample": 1.0}),
        (MOST + 1, 11, {"n_estimators": 2}),
    ],
)
def test_others_share_trees(n, n_outputs, params):
    X, Y = data(n, n_outputs)
    found = boosting(**params).fit(X, Y)
    given = params.get("output_strategy", "projected")
    expected = "joint" if "estimator" in params else "projected" if isinstance(given, Projected) else given
    assert strategy(found) == expected
    assert found.learning_rate_ == 0.05
    same = boosting(**SHARED | {"output_strategy": strategy(found)} | params).fit(X, Y)
    assert model_bytes(found) == model_bytes(same)


def test_labels_and_classes_share_trees():
    X, Y = data(90, 11)
    for y in ((Y > 0).astype(int), np.arange(90) % 11):
        found = weald.GradientBoostingClassifier(random_state=0).fit(X, y)
        assert strategy(found) == "projected"


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(("n", "expected"), [(MOST, "single_target"), (MOST + 1, "projected")])
def test_the_laws_hold_on_both_sides_of_the_threshold(n, expected, layout):
    X, Y = data(n)
    # Draws of samples are by rows of X, so that copies would draw others.
    model = boosting(n_estimators=2, subsample=1.0).fit(X, Y)
    assert strategy(model) == expected
    order = np.random.default_rng(0).permutation(n)
    twice = np.concatenate([np.arange(n), np.arange(n)[::3]])
    removed = np.concatenate([X, X + 0.5])
    for other in (
        clone(model).fit(layout(X), Y),
        clone(model).set_params(n_jobs=2).fit(layout(X[order]), Y[order]),
        clone(model).fit(layout(removed), np.concatenate([Y, Y]), sample_weight=np.repeat([1.0, 0.0], n)),
    ):
        assert model_bytes(other) == model_bytes(model)
    heavy = clone(model).fit(layout(X), Y, sample_weight=1.0 + (np.arange(n) % 3 == 0))
    copies = clone(model).fit(layout(X[twice]), Y[twice])
    assert strategy(copies) == strategy(heavy) == expected
    np.testing.assert_array_equal(copies.predict(X), heavy.predict(X))


@pytest.mark.parametrize(
    "params",
    [{"early_stopping": EarlyStopping(cv=3)}, {"early_stopping": True}, {"early_stopping": EarlyStopping(refit=True)}],
)
def test_early_stopping_counts_all_samples(params):
    X, Y = data(90)
    most = {"n_estimators": 1000} | params
    assert model_bytes(boosting(**params).fit(X, Y)) == model_bytes(boosting(**FIXED | most).fit(X, Y))


def test_validation_samples_and_unknown_values_change_nothing():
    X, Y = data(90)
    Y[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    assert model_bytes(boosting().fit(X, Y)) == model_bytes(of_one_fold(FIXED, X, Y))
    held = {"X_val": X[:9], "y_val": np.nan_to_num(Y[:9])}
    assert model_bytes(boosting().fit(X, Y, **held)) == model_bytes(boosting(**FIXED).fit(X, Y, **held))


def test_directions_are_kept_by_trees_of_their_own():
    X, Y = data(90)
    directions = {"monotonic_cst": [1, 0, 0, 0]}
    found = boosting(**directions).fit(X, Y)
    assert model_bytes(found) == model_bytes(of_one_fold(FIXED | directions, X, Y))
    X, Y = data(MOST + 1)
    assert strategy(boosting(n_estimators=2, **directions).fit(X, Y)) == "joint"


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(90, MOST + 1, "single_target"), (MOST + 1, 90, "projected")]
)
def test_a_warm_start_goes_on_with_the_trees_that_it_finds(before, after, expected):
    model = boosting(n_estimators=2, warm_start=True).fit(*data(before))
    workers = clone(model).fit(*data(before))
    X, Y = data(after)
    # Memory is that of the trees that the model has.
    same = boosting(n_estimators=4, output_strategy=expected, max_leaf_nodes=model.max_leaf_nodes_)
    assert weald.estimate_fit_memory(model.set_params(n_estimators=4), X, Y) == weald.estimate_fit_memory(same, X, Y)
    model.fit(X, Y)
    assert (strategy(model), model.n_estimators_) == (expected, 4)
    apart = fit_part(workers.set_params(n_estimators=4), X, Y, lambda buffer, op: None, n_samples=after)
    assert model_bytes(apart) == model_bytes(model)
    # The number of stages is that of the strategy.
    assert model.set_params(n_estimators="auto").fit(*data(90)).n_estimators_ == (100 if before == 90 else 300)


def test_another_fit_of_the_same_estimator_decides_anew():
    model = boosting(n_estimators=2)
    for n in (MOST + 1, 90, MOST + 1):
        X, Y = data(n)
        assert model_bytes(model.fit(X, Y)) == model_bytes(boosting(n_estimators=2).fit(X, Y))


@pytest.mark.parametrize(("n", "expected"), [(MOST, "single_target"), (MOST + 1, "projected")])
def test_workers_count_their_samples_together(n, expected):
    X, Y = data(n)
    # Some samples are on two workers.
    parts = [np.arange(n)[:3000], np.arange(n)[2800:]]

    def fit(place: int, all_reduce: Any) -> Any:
        rows = parts[place]
        model = boosting(n_estimators=2, subsample=1.0)
        return fit_part(model, X[rows], Y[rows], all_reduce, n_samples=n + 200)

    models, _ = on_workers(2, fit)
    assert [strategy(model) for model in models] == [expected] * 2
    whole = np.concatenate(parts)
    same = boosting(n_estimators=2, subsample=1.0).fit(X[whole], Y[whole])
    assert model_bytes(models[0]) == model_bytes(models[1]) == model_bytes(same)
    assert "_plan" not in vars(models[0])


def test_workers_have_no_folds():
    X, Y = data(90)
    with pytest.raises(ValueError, match="n_estimators='auto' for 90 samples with 11 columns"):
        fit_part(boosting(), X, Y, lambda buffer, op: None, n_samples=90)
    found = fit_part(boosting(early_stopping=False), X, Y, lambda buffer, op: None, n_samples=90)
    assert model_bytes(found) == model_bytes(boosting(**FIXED).fit(X, Y))


def test_the_estimate_of_memory_is_that_of_the_trees_and_of_one_fold():
    for n, same, n_folds in ((90, FIXED, 1), (29, SHARED, 0), (MOST + 1, SHARED, 0)):
        X, Y = data(n, 50)
        found = weald.estimate_fit_memory(boosting(), X, Y)
        assert found == weald.estimate_fit_memory(boosting(**same), X, Y) + n_folds * (X.nbytes + Y.nbytes)


def test_one_fold_is_told(capsys):
    boosting(verbose=1).fit(*data(90))
    assert "GradientBoostingRegressor, 1 fold: round 1 of 200" in capsys.readouterr().out


def test_quantiles_count_as_outputs():
    X, Y = data(90, 4)
    found = boosting(loss=weald.loss.Quantile([0.1, 0.5, 0.9])).fit(X, Y)
    assert strategy(found) == "single_target"
    assert found.n_estimators_ <= 200
