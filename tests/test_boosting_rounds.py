"""Callbacks, early stopping and starts of boosting, and parts of models."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
import weald
from boosting_twin import WHOLE
from conftest import BOOSTING, make, make_data, unless
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer, r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from weald._rounds.held_out import samples_held_out
from weald.projection import Projected

CLASSIFIER, REGRESSOR = BOOSTING
STRATEGIES = [
    {"output_strategy": "single_target"},
    {"output_strategy": "joint"},
    {"output_strategy": "projected"},
    {"output_strategy": Projected(n_projections=2)},
    {"output_strategy": Projected(relabel_leaves=False)},
]
OUTPUTS = [
    (REGRESSOR, "single"),
    (REGRESSOR, "several"),
    (CLASSIFIER, "single"),
    (CLASSIFIER, "several"),
    (CLASSIFIER, "labels"),
]


def scores_of(model, X):
    return model._scores(X)


def parameters(name, outputs, params):
    is_one = (name, outputs) == (REGRESSOR, "single") and isinstance(params.get("output_strategy"), Projected)
    return {**params, "output_strategy": "projected"} if is_one else params


class Recorder:
    def __init__(self, end=None):
        self.end, self.seen = end, []

    def on_round(self, round, train_loss, validation_loss):
        self.seen.append((round, train_loss, validation_loss))
        return round == self.end


# Callbacks


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_callbacks_are_told_of_every_round_and_may_end_the_fit(name, outputs):
    X, y = make_data(name, outputs=outputs)
    whole = make(name, n_estimators=8).fit(X, y, X_val=X[:20], y_val=y[:20])
    first, second = Recorder(end=4), Recorder()
    model = make(name, n_estimators=8, callbacks=[first, second]).fit(X, y, X_val=X[:20], y_val=y[:20])
    assert first.seen == second.seen
    assert [number for number, _, _ in first.seen] == list(range(5))
    np.testing.assert_array_equal([loss for _, loss, _ in first.seen], whole.train_score_[:5])
    np.testing.assert_array_equal([loss for _, _, loss in first.seen], whole.validation_score_[:5])
    assert model.n_estimators_ == 5
    np.testing.assert_array_equal(scores_of(model, X), scores_of(whole.truncated(5), X))
    alone = Recorder()
    make(name, n_estimators=3, callbacks=alone).fit(X, y)
    assert [loss for _, _, loss in alone.seen] == [None] * 3


@pytest.mark.parametrize("n", [60, 20_000])
def test_what_a_callback_raises_comes_through_and_nothing_is_lost(n):
    # Long fits run on a thread of their own, and callbacks on the thread of the caller.
    X = np.random.default_rng(0).random((n, 20)).astype(np.float32)
    model = make(REGRESSOR, n_estimators=3).fit(X, X[:, 0])
    before = pickle.dumps(model)
    threads = []

    class Raises:
        def on_round(self, *_):
            threads.append(threading.current_thread())
            raise KeyError("mine")

    model.set_params(callbacks=[Raises()])
    with pytest.raises(KeyError, match="mine"):
        model.fit(X, X[:, 1])
    assert threads == [threading.current_thread()]
    assert pickle.dumps(model.set_params(callbacks=None)) == before


@pytest.mark.parametrize("callbacks", [[1], [Recorder(), "no"]])
def test_callbacks_without_their_method_are_refused(callbacks):
    X, y = make_data(REGRESSOR)
    with pytest.raises(TypeError, match=r"callbacks must be objects with a method on_round\(round, trai"):
        make(REGRESSOR, callbacks=callbacks).fit(X, y)


def test_lines_are_printed_where_no_bar_can_move(capsys):
    X, y = make_data(REGRESSOR)
    make(REGRESSOR, n_estimators=7, verbose=1).fit(X, y, X_val=X, y_val=y)
    plan, *lines = capsys.readouterr().out.splitlines()
    assert plan.startswith("GradientBoostingRegressor: output_strategy=")
    assert lines[0].startswith("GradientBoostingRegressor: round 1 of 7, loss ")
    assert "validation loss" in lines[-1]
    assert lines[-1].startswith("GradientBoostingRegressor: round 7 of 7")
    make(REGRESSOR, n_estimators=7).fit(X, y)
    assert capsys.readouterr().out == ""


# Stopping


@pytest.mark.parametrize(
    ("name", "outputs", "scoring", "metric"),
    [
        (REGRESSOR, "single", "r2", r2_score),
        (REGRESSOR, "several", make_scorer(r2_score), r2_score),
        (CLASSIFIER, "single", "accuracy", accuracy_score),
        (CLASSIFIER, "labels", lambda model, X, y: accuracy_score(y, model.predict(X)), accuracy_score),
    ],
)
@pytest.mark.parametrize("params", STRATEGIES)
def test_scorers_see_what_the_model_predicts_after_each_round(name, outputs, scoring, metric, params):
    X, y = make_data(name, outputs=outputs, n=120)
    held = {"X_val": X[80:], "y_val": y[80:]}
    params = parameters(name, outputs, params)
    model = make(name, n_estimators=12, scoring=scoring, **params).fit(X[:80], y[:80], **held)
    expected = [metric(y[80:], predicted) for predicted in model.staged_predict(X[80:])]
    # The scores are the same sums, in another order.
    np.testing.assert_allclose(model.validation_metric_, expected, rtol=1e-12)
    assert model.n_estimators_ == 12


def test_the_best_round_by_a_scorer_is_kept_and_the_curves_are_whole():
    X, y = make_data(CLASSIFIER, n=200)
    params = {"n_estimators": 100, "learning_rate": 1.0, "n_iter_no_change": 4, "tol": 0.0, "scoring": "accuracy"}
    model = make(CLASSIFIER, early_stopping=True, **params).fit(X, y)
    scores = model.validation_metric_
    assert model.n_estimators_ == scores.argmax() + 1
    assert len(scores) == len(model.train_score_) == len(model.validation_score_) == model.n_estimators_ + 4
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.validation_metric_, scores)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_early_stopping_says_whether():
    X, y = make_data(REGRESSOR, n=200)
    params = {"n_estimators": 300, "learning_rate": 1.0}
    by_default = make(REGRESSOR, early_stopping=True, **params).fit(X, y)
    ten = make(REGRESSOR, n_iter_no_change=10, **params).fit(X, y)
    np.testing.assert_array_equal(by_default.predict(X), ten.predict(X))
    assert by_default.n_estimators_ < 300
    never = make(REGRESSOR, early_stopping=False, n_iter_no_change=1, **params).fit(X, y)
    assert never.n_estimators_ == 300
    assert not hasattr(never, "validation_score_")


def test_samples_held_out_have_the_rare_labels_in_their_share():
    rng = np.random.default_rng(0)
    X = rng.random((400, 5))
    Y = np.column_stack([np.arange(400) < 40, np.ones(400), rng.random(400) < 0.5]).astype(int)
    target = make(CLASSIFIER)._check_y(Y, None, len(X))
    held = samples_held_out(X.astype(np.float32), target, None, 0.25, seed=3)
    assert len(held) == 100
    assert Y[held, 0].sum() == 10


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        (lambda *_: np.nan, "scoring must return finite numbers, but <lambda> returned nan after a stage"),
        (lambda *_: "high", "returned 'high' after a stage"),
    ],
)
def test_scores_that_are_not_numbers_are_refused(scoring, message):
    X, y = make_data(REGRESSOR)
    with pytest.raises(ValueError, match=message):
        make(REGRESSOR, scoring=scoring).fit(X, y, X_val=X, y_val=y)


def test_scoring_needs_samples_and_the_name_of_a_scorer():
    X, y = make_data(REGRESSOR)
    with pytest.raises(ValueError, match="scoring requires validation samples, got scoring='r2'"):
        make(REGRESSOR, scoring="r2").fit(X, y)
    with pytest.raises(ValueError, match="no_such_score"):
        make(REGRESSOR, scoring="no_such_score").fit(X, y, X_val=X, y_val=y)

    def raises(*_):
        raise ZeroDivisionError("mine")

    model = make(REGRESSOR).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.set_params(scoring=raises).fit(X, y, X_val=X, y_val=y)
    assert pickle.dumps(model.set_params(scoring=None)) == before


# Starts


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
@pytest.mark.parametrize("params", STRATEGIES)
def test_margins_of_a_model_are_the_rounds_that_it_had(name, outputs, params):
    X, y = make_data(name, outputs=outputs)
    params = parameters(name, outputs, params)
    whole = make(name, n_estimators=9, **params).fit(X, y)
    unit = whole._unit()
    first = whole.truncated(4)
    margins = first._scores(X) * unit
    more = make(name, n_estimators=5, **params).fit(X, y, base_margin=margins)
    assert (more.start_ == 0).all()
    alone = more._scores(X)
    # Sums of a dozen float64 numbers in another order.
    np.testing.assert_allclose(more._scores(X, base_margin=margins), alone + margins / unit, rtol=1e-12, atol=1e-12)
    # The rounds continue from the margins, so that the loss is not above theirs. Margins are rounded to float32 where
    # scores of labels and classes are float32.
    assert more.train_score_[0] <= first.train_score_[-1] * (1 + 1e-6)


def test_margins_in_the_place_of_a_constant_change_nothing():
    X, y = make_data(REGRESSOR, outputs="several")
    plain = make(REGRESSOR, n_estimators=6, output_strategy="joint").fit(X, y)
    margins = np.tile(plain.start_, (len(X), 1))
    started = make(REGRESSOR, n_estimators=6, output_strategy="joint").fit(X, y, base_margin=margins)
    # The constant is added last instead of first.
    np.testing.assert_allclose(started.predict(X, base_margin=margins), plain.predict(X), rtol=1e-12, atol=1e-12)
    held = {"X_val": X[:9], "y_val": y[:9], "base_margin_val": margins[:9]}
    watched = make(REGRESSOR, n_estimators=6, output_strategy="joint").fit(X, y, base_margin=margins, **held)
    expected = make(REGRESSOR, n_estimators=6, output_strategy="joint").fit(X, y, X_val=X[:9], y_val=y[:9])
    # The constant is added in another order, as above.
    np.testing.assert_allclose(watched.validation_score_, expected.validation_score_, rtol=1e-12)


def linear(name, outputs):
    if name == REGRESSOR:
        return LinearRegression()
    one = LogisticRegression()
    return {"single": one, "several": MultiOutputClassifier(one), "labels": OneVsRestClassifier(one)}[outputs]


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
@pytest.mark.parametrize("params", [{}, *STRATEGIES])
def test_rounds_start_from_another_model(name, outputs, params):
    X, y = make_data(name, outputs=outputs, n=150)
    params = parameters(name, outputs, params)
    fitted = linear(name, outputs).fit(X, y)
    frozen = make(name, n_estimators=5, init=FrozenEstimator(fitted), **params).fit(X, y)
    inside = make(name, n_estimators=5, init=linear(name, outputs), **params).fit(X.astype(np.float32), y)
    # The start of `inside` is fitted to float32 samples and that of `frozen` to float64 ones, and stages depend on its
    # predictions.
    np.testing.assert_allclose(frozen._scores(X), inside._scores(X), rtol=1e-3, atol=1e-3)
    # Without any stage, the model predicts what its start predicts.
    none = inside._scores(X, n_stages=0)
    if name == REGRESSOR:
        np.testing.assert_allclose(none.reshape(y.shape), fitted.predict(X), rtol=1e-5, atol=1e-5)
    elif outputs != "several":
        np.testing.assert_allclose(inside.predict_proba(X, n_stages=0), fitted.predict_proba(X), rtol=0, atol=1e-5)
    last = list(inside.staged_predict(X))[-1]
    np.testing.assert_array_equal(last, inside.predict(X))
    if outputs == "labels":
        indices, best = inside.predict_topk(X, 2, scores="margin")
        decision = inside.decision_function(X)
        np.testing.assert_array_equal(indices[:, 0], decision.argmax(axis=1))
        # The scores of `predict_topk` are those of `decision_function`.
        np.testing.assert_array_equal(best[:, 0], decision.max(axis=1))
        sparse_model = make(name, n_estimators=5, init=linear(name, outputs), **params).fit(
            sparse.csr_array(X.astype(np.float32)), sparse.csr_array(y)
        )
        assert (sparse_model.predict(sparse.csr_array(X)) != sparse.csr_array(inside.predict(X))).sum() <= 2


def test_starts_that_do_not_fit_are_refused():
    X, y = make_data(REGRESSOR, outputs="several")
    model = make(REGRESSOR)
    with pytest.raises(ValueError, match=r"base_margin must have shape \(60, 3\), got an array of shape \(60, 2\)"):
        model.fit(X, y, base_margin=y[:, :2])
    with pytest.raises(ValueError, match="base_margin must be finite, got NaN or infinity"):
        model.fit(X, y, base_margin=np.full(y.shape, np.nan))
    with pytest.raises(ValueError, match="base_margin_val must be given if base_margin and X_val are"):
        model.fit(X, y, base_margin=y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="base_margin must be given if base_margin_val is"):
        model.fit(X, y, base_margin_val=y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X_val and y_val must be given if base_margin_val is"):
        model.fit(X, y, base_margin=y, base_margin_val=y)
    with pytest.raises(ValueError, match="base_margin is not supported with init"):
        make(REGRESSOR, init=LinearRegression()).fit(X, y, base_margin=y)
    with pytest.raises(ValueError, match="init must be an instance, got the class LinearRegression"):
        make(REGRESSOR, init=LinearRegression).fit(X, y)
    with pytest.raises(ValueError, match=r"init must predict .*, got an array of shape \(60, 1\) from FrozenEstimator"):
        make(REGRESSOR, init=FrozenEstimator(LinearRegression().fit(X, y[:, 0]))).fit(X, y)
    for parameter, value in (("init", LinearRegression()), ("scoring", "r2"), ("callbacks", Recorder())):
        with pytest.raises(ValueError, match=f"estimator= .LinearRegression. does not support {parameter}"):
            make(REGRESSOR, estimator=LinearRegression(), **{parameter: value}).fit(X, y)


# Parts of models


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
@pytest.mark.parametrize("params", STRATEGIES)
def test_the_first_stages_are_a_model(name, outputs, params):
    X, y = make_data(name, outputs=outputs)
    model = make(name, n_estimators=7, **parameters(name, outputs, params)).fit(X, y)
    staged = list(model.staged_predict(X))
    for n_stages in (1, 4, 7):
        part = model.truncated(n_stages)
        assert part.n_estimators_ == part.n_estimators == n_stages
        np.testing.assert_array_equal(part.predict(X), staged[n_stages - 1])
        np.testing.assert_array_equal(model.predict(X, n_stages=n_stages), staged[n_stages - 1])
        np.testing.assert_array_equal(part.train_score_, model.train_score_[:n_stages])
    assert model.n_estimators_ == 7
    for wrong in (-1, 8, 2.0, True):
        with pytest.raises(ValueError, match=r"n_stages must be an integer from 0 to 7, got "):
            model.predict(X, n_stages=wrong)
    with pytest.raises(ValueError, match="n_stages must be an integer from 1 to 7"):
        model.truncated(0)


@pytest.mark.parametrize("leaf_estimation", ["newton", "line_search"])
@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
@pytest.mark.parametrize("params", STRATEGIES)
def test_leaves_fitted_again_to_the_same_samples_are_the_same(name, outputs, params, leaf_estimation):
    X, y = make_data(name, outputs=outputs)
    params = {**parameters(name, outputs, params), "leaf_estimation": leaf_estimation, "subsample": 1.0}
    w = np.random.default_rng(0).integers(0, 3, len(X))
    model = make(name, n_estimators=5, **params).fit(X, y, sample_weight=w)
    again = model.refit_leaves(X, y, sample_weight=w)
    np.testing.assert_array_equal(again._scores(X), model._scores(X))
    np.testing.assert_array_equal(again.step_sizes_, model.step_sizes_)
    other = model.refit_leaves(X[::2], y[::2])
    assert not np.array_equal(other._scores(X), model._scores(X))
    assert [tree.get_n_leaves() for tree in other] == [tree.get_n_leaves() for tree in model]
    np.testing.assert_array_equal(model.apply(X), other.apply(X))


@pytest.mark.parametrize(("name", "outputs"), [(REGRESSOR, "several"), (CLASSIFIER, "labels")])
@pytest.mark.parametrize("params", STRATEGIES)
def test_leaves_fitted_again_leave_out_unknown_values(name, outputs, params):
    X, y = make_data(name, outputs=outputs)
    mask = np.random.default_rng(0).random(y.shape) < 0.3
    model = make(name, n_estimators=5, subsample=1.0, **parameters(name, outputs, params)).fit(
        X, y, y_weight=unless(mask)
    )
    for known, hidden in ((y, mask), (np.where(mask, 1 - y, y), sparse.csr_array(mask))):
        again = model.refit_leaves(X, known, y_weight=unless(hidden))
        np.testing.assert_array_equal(again._scores(X), model._scores(X))
    if name == REGRESSOR:
        again = model.refit_leaves(X, np.where(mask, np.nan, y))
        np.testing.assert_array_equal(again._scores(X), model._scores(X))
    assert not np.array_equal(model.refit_leaves(X, y)._scores(X), model._scores(X))
    with pytest.raises(ValueError, match="y must have a known value"):
        model.refit_leaves(X, y, y_weight=unless(np.ones_like(mask)))


def test_samples_without_a_known_class_are_as_absent_in_refits():
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER).fit(X, y)
    mask = np.arange(len(y)) % 3 == 0
    again, left = model.refit_leaves(X, y, y_weight=unless(mask)), model.refit_leaves(X[~mask], y[~mask])
    np.testing.assert_array_equal(again._scores(X), left._scores(X))


def test_leaves_fitted_to_other_samples_fit_them():
    X, y = make_data(REGRESSOR, n=200)
    model = make(REGRESSOR, n_estimators=40, subsample=1.0).fit(X, y)
    moved = model.refit_leaves(X, 3 * y + 5)
    assert r2_score(3 * y + 5, moved.predict(X)) > r2_score(3 * y + 5, model.predict(X))
    # 3y + 5 is rounded, and so are the sums over 40 stages.
    np.testing.assert_allclose(moved.predict(X), 3 * model.predict(X) + 5, rtol=1e-11)
    # One sample reaches one leaf of each tree; all other leaves keep their values.
    one = model.refit_leaves(X[:1], y[:1])
    assert np.isfinite(one.predict(X)).all()


@pytest.mark.parametrize("relabel", [True, False])
def test_refits_draw_no_projections(relabel):
    X, Y = make_data(REGRESSOR, outputs="several")
    calls = []

    def phi(n_outputs, n_projections, random_state):
        calls.append(random_state)
        return np.random.default_rng(random_state).normal(size=(n_projections, n_outputs))

    params = {"output_strategy": Projected(phi, 2 if relabel else 1, relabel_leaves=relabel)}
    model = make(REGRESSOR, subsample=1.0, **params).fit(X, Y)
    assert len(calls) == model.n_estimators_
    refitted = model.refit_leaves(X, Y)
    assert len(calls) == model.n_estimators_
    # With the same samples, leaves and steps do not change.
    np.testing.assert_array_equal(refitted._scores(X), model._scores(X))


def test_refits_refuse_other_data():
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.refit_leaves(X[:, 1:], y)
    with pytest.raises(ValueError, match="class"):
        model.refit_leaves(X, np.char.upper(y))
    with pytest.raises(AttributeError, match="has no attribute 'refit_leaves'"):
        _ = make(REGRESSOR, estimator=LinearRegression()).fit(X, X[:, 0]).refit_leaves


def test_a_few_columns_of_scores_get_a_tree_each():
    X, y = make_data(REGRESSOR, outputs="several")
    auto, single = (make(REGRESSOR, **params).fit(X, y) for params in ({}, STRATEGIES[0]))
    np.testing.assert_array_equal(auto.predict(X), single.predict(X))
    many = np.hstack([y] * 34)
    auto, projected = (make(REGRESSOR, output_strategy=s).fit(X, many) for s in ("auto", "projected"))
    np.testing.assert_array_equal(auto.predict(X), projected.predict(X))


def test_weights_that_are_counted_as_samples():
    X = np.arange(8, dtype=np.float32)[:, None]
    y = np.array([0, 5, 1, 4, 2, 9, 0, 3.0])
    shared = {"n_estimators": 1, "learning_rate": 1.0, "l2_regularization": 0.0, "subsample": 1.0}
    weighty = weald.GradientBoostingRegressor(min_weight_leaf=2.0, **shared).fit(X, y)
    counted = weald.GradientBoostingRegressor(min_weight_leaf=0.0, min_samples_leaf=2, **shared).fit(X, y)
    np.testing.assert_array_equal(weighty.predict(X), counted.predict(X))
    w = np.array([1, 2, 1, 1, 3, 1, 1, 2])
    weighty, twice = (
        weald.GradientBoostingRegressor(min_weight_leaf=2.0, **shared).fit(*data)
        for data in ((X, y, w), (X.repeat(w, axis=0), y.repeat(w)))
    )
    np.testing.assert_array_equal(weighty.predict(X), twice.predict(X))


@pytest.mark.parametrize("weight", [2.0, 1.0, 0.5, 0.25, 1.5, 2.0**40])
@pytest.mark.parametrize("max_bins", [None, 255])
def test_the_least_weight_of_a_leaf_is_in_units_of_the_weights(weight, max_bins):
    X, y = make_data(REGRESSOR, n=40)
    params = {"n_estimators": 1, "max_leaf_nodes": None, "l2_regularization": 0.0, "max_bins": max_bins, **WHOLE}
    of_weight = weald.GradientBoostingRegressor(min_weight_leaf=4 * weight, **params)
    of_weight.fit(X, y, sample_weight=np.full(40, weight))
    of_samples = weald.GradientBoostingRegressor(min_weight_leaf=0.0, min_samples_leaf=4, **params).fit(X, y)
    np.testing.assert_array_equal(of_weight.apply(X), of_samples.apply(X))


def test_files_hold_models_that_start_from_other_models(tmp_path):
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, init=weald.DecisionTreeRegressor(max_depth=2)).fit(X, y)
    weald.save(model, tmp_path / "model")
    again = weald.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    other = make(REGRESSOR, init=LinearRegression()).fit(X, y)
    pytest.importorskip("skops")
    weald.save(other, tmp_path / "other")
    np.testing.assert_array_equal(weald.load(tmp_path / "other").predict(X), other.predict(X))
