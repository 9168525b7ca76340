"""Losses of the samples that `subsample` leaves out of each round, against losses recomputed from staged scores."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import sklearn.ensemble
import weald
from conftest import BOOSTING, cases, has_outputs, make, model_bytes
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from test_boosting_curves import LOSSES, OUTPUTS, STRATEGIES, TOLERANCE, data
from weald.projection import Projected

CLASSIFIER, REGRESSOR = BOOSTING
OUT_OF_BAG = ("oob_scores_", "oob_improvement_", "oob_score_")


def left_out(X, n_rounds, *, subsample=0.6, sample_weight=None):
    """Which samples each round leaves out, of shape (n_rounds, n_samples); this depends on X, weights and seed alone.

    Trees with one sample in each leaf halve the residuals of the samples that they are grown on, at a learning rate of
    one half. The residual of any other sample changes by half the residual of a different sample.
    """
    y = np.random.default_rng(7).normal(size=len(X))
    assert len(np.unique(X, axis=0)) == len(X)
    grown_out = {"max_leaf_nodes": None, "min_weight_leaf": 0.0, "max_bins": None, "l2_regularization": 0.0}
    model = weald.GradientBoostingRegressor(
        n_estimators=n_rounds, subsample=subsample, learning_rate=0.5, random_state=0, **grown_out
    ).fit(X, y, sample_weight)
    residuals = [y - model.start_, *(y - predicted for predicted in model.staged_predict(X))]
    # The residual of a sample that a round is grown on is halved up to rounding; other residuals are not halved by
    # chance.
    outside = [~np.isclose(new, old / 2, rtol=1e-9, atol=0) for old, new in itertools.pairwise(residuals)]
    there = np.ones(len(X), dtype=bool) if sample_weight is None else sample_weight > 0
    outside = np.array(outside) & there
    assert (outside.sum(axis=1) == there.sum() - max(1, int(subsample * there.sum()))).all()
    return outside


def recomputed(model, X, y, outside, sample_weight=None, **fit):
    """The loss, after each round, of the samples that are left out of that round, from a fit with `eval_sets`."""
    w = np.ones(len(X)) if sample_weight is None else sample_weight
    sets = [(X, y, w * rows) for rows in outside]
    twin = make(type(model).__name__, **{**model.get_params(deep=False), "callbacks": None})
    curves = [found["loss"] for found in twin.fit(X, y, sample_weight, eval_sets=sets, **fit).eval_results_.values()]
    return np.array([curve[i] for i, curve in enumerate(curves)])


@cases(has_outputs)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize(("name", "loss"), LOSSES, ids=lambda value: str(value))
def test_losses_are_those_of_the_samples_left_out(name, loss, outputs, weighted):
    X, y = data(name, outputs, loss["loss"])
    w = np.arange(len(X)) % 3 * 0.75 if weighted else None
    outside = left_out(X, 6, sample_weight=w)
    for params in ({"output_strategy": "single_target"}, {"output_strategy": "joint"}):
        model = make(name, n_estimators=6, subsample=0.6, **loss, **params).fit(X, y, w)
        expected = recomputed(model, X, y, outside, w)
        assert model.oob_scores_.dtype == model.oob_improvement_.dtype == np.float64
        assert model.oob_scores_.shape == model.oob_improvement_.shape == model.train_score_.shape == (6,)
        np.testing.assert_allclose(model.oob_scores_, expected, rtol=TOLERANCE[name])
        assert model.oob_score_ == model.oob_scores_[-1]
        np.testing.assert_array_equal(model.oob_improvement_[1:], -np.diff(model.oob_scores_))


@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["several", "labels"])
@pytest.mark.parametrize("name", BOOSTING)
@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("loss", [None, "squared_error"])
def test_every_strategy_has_losses_of_the_samples_left_out(name, outputs, params, loss):
    X, y = data(name, outputs)
    params = params if loss is None else {**params, "loss": loss}
    model = make(name, n_estimators=8, subsample=0.6, **params).fit(X, y)
    np.testing.assert_allclose(model.oob_scores_, recomputed(model, X, y, left_out(X, 8)), rtol=TOLERANCE[name])


def test_the_first_improvement_is_to_the_start():
    X, y = data(REGRESSOR, "several")
    (outside,) = left_out(X, 1)
    for params in STRATEGIES:
        model = make(REGRESSOR, n_estimators=1, subsample=0.6, **params).fit(X, y)
        before = ((y[outside] - model.start_) ** 2).mean() / 2
        after = ((y[outside] - model.predict(X[outside])) ** 2).mean() / 2
        # the sums are in another order
        np.testing.assert_allclose(model.oob_improvement_, [before - after], rtol=1e-12)
    X, y = data(CLASSIFIER, "labels")
    model = make(
        CLASSIFIER, n_estimators=1, subsample=0.6, loss="squared_error", output_strategy=Projected(relabel_leaves=False)
    ).fit(X, y)
    before = ((y[outside] - model.start_) ** 2).mean() / 2
    after = ((y[outside] - 0.5 - model.decision_function(X[outside])) ** 2).mean() / 2
    # The sums are in another order, as above.
    np.testing.assert_allclose(model.oob_improvement_, [before - after], rtol=1e-12)


def test_definitions_are_those_of_scikit_learn():
    """scikit-learn's squared error is twice ours, and it draws other samples: over many samples both are close."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 4))
    y = 3 * X[:, 0] + rng.normal(scale=0.3, size=4000)
    params = {
        "n_estimators": 8,
        "subsample": 0.5,
        "max_features": None,
        "learning_rate": 0.1,
        "max_depth": 3,
        "random_state": 0,
    }
    theirs = sklearn.ensemble.GradientBoostingRegressor(**params).fit(X, y)
    ours = weald.GradientBoostingRegressor(**params, max_leaf_nodes=None, l2_regularization=0.0).fit(X, y)
    # Losses are means over 2000 samples, which differ by about 3 %.
    np.testing.assert_allclose(2 * ours.oob_scores_, theirs.oob_scores_, rtol=0.1)
    before = 2 * (ours.oob_improvement_[0] + ours.oob_scores_[0])
    assert before == pytest.approx(theirs.oob_improvement_[0] + theirs.oob_scores_[0], rel=0.1)
    assert ours.oob_score_ == ours.oob_scores_[-1]
    assert theirs.oob_score_ == theirs.oob_scores_[-1]


# Laws


@pytest.mark.parametrize(("name", "outputs"), [(REGRESSOR, "several"), (CLASSIFIER, "labels"), (CLASSIFIER, "single")])
@pytest.mark.parametrize("params", STRATEGIES)
def test_laws(name, outputs, params, tmp_path):
    X, y = data(name, outputs)

    def fit(X, y, w=None, **more):
        model = make(name, subsample=0.4, max_bins=None, **params, **more).fit(X, y, w)
        return [*model.oob_scores_, *model.oob_improvement_, model.oob_score_], model

    expected, model = fit(X, y)
    assert len(expected) == 11
    for found, _ in (fit(X, y, n_jobs=3), fit(sparse.csr_array(X), y), fit(sparse.csc_array(X), y)):
        assert found == expected
    w = np.arange(len(X)) % 3 > 0
    assert fit(X, y, w.astype(float))[0] == fit(X[w], y[w])[0]
    more = make(name, subsample=0.4, max_bins=None, warm_start=True, **{**params, "n_estimators": 2}).fit(X, y)
    assert more.oob_scores_.tolist() == expected[:2]
    more.set_params(n_estimators=5).fit(X, y)
    assert model_bytes(more) == model_bytes(model)
    weald.save(model, tmp_path / "model")
    for twin in (more, pickle.loads(pickle.dumps(model)), weald.load(tmp_path / "model")):
        assert [*twin.oob_scores_, *twin.oob_improvement_, twin.oob_score_] == expected
    for n_stages in (1, 3):
        part = model.truncated(n_stages)
        np.testing.assert_array_equal(part.oob_scores_, model.oob_scores_[:n_stages])
        np.testing.assert_array_equal(part.oob_improvement_, model.oob_improvement_[:n_stages])
        assert part.oob_score_ == model.oob_scores_[n_stages - 1]


def test_cells_that_are_not_known_have_no_part():
    X, y = data(REGRESSOR, "several")
    mask = np.random.default_rng(3).random(y.shape) < 0.4
    mask[mask.all(axis=1), 0] = False  # samples without a known target would be ignored, and not drawn
    masked = np.where(mask, np.nan, y)
    outside = left_out(X, 5)
    for params in ({"output_strategy": "single_target"}, {"output_strategy": "joint"}):
        model = make(REGRESSOR, subsample=0.6, **params).fit(X, masked)
        expected = recomputed(model, X, masked, outside)
        # Sums of float64 in another order.
        np.testing.assert_allclose(model.oob_scores_, expected, rtol=1e-12)
    # An output without a known target among the samples left out does not count in the loss of a round.
    y[:, 2] = np.nan
    y[:3, 2] = [1.0, 2.0, 4.0]
    model = make(REGRESSOR, n_estimators=40, subsample=0.6, output_strategy="single_target").fit(X, y)
    assert np.isfinite(model.oob_scores_).all()


def test_weak_models_have_them():
    X, y = data(REGRESSOR, "several")
    for params in ({"output_strategy": "joint"}, {"output_strategy": Projected(relabel_leaves=False)}):
        model = make(REGRESSOR, n_estimators=4, subsample=0.5, estimator=LinearRegression(), **params).fit(X, y)
        assert model.oob_scores_.shape == model.oob_improvement_.shape == (4,)
        # Samples are drawn at random, so that the losses of those left out are close to the losses of those drawn.
        np.testing.assert_allclose(model.oob_scores_, model.train_score_, rtol=0.5)
        assert model.oob_improvement_[0] > 0
        more = make(REGRESSOR, n_estimators=2, subsample=0.5, estimator=LinearRegression(), warm_start=True, **params)
        more.fit(X, y).set_params(n_estimators=4).fit(X, y)
        np.testing.assert_array_equal(more.oob_scores_, model.oob_scores_)


# When the attributes exist


def test_oob_scores_include_the_rounds_that_early_stopping_removed():
    X, y = data(REGRESSOR, "single")
    y = y + np.random.default_rng(0).normal(size=len(y))
    params = {"subsample": 0.5, "n_iter_no_change": 3, "learning_rate": 1.0, "n_estimators": 100}
    watched = make(REGRESSOR, **params).fit(X, y)
    n_rounds = len(watched.train_score_)
    assert watched.oob_scores_.shape == watched.oob_improvement_.shape == (n_rounds,)
    assert watched.n_estimators_ < n_rounds
    np.testing.assert_array_equal(watched.oob_improvement_[1:], -np.diff(watched.oob_scores_))
    kept = watched.truncated(watched.n_estimators_)
    np.testing.assert_array_equal(kept.oob_improvement_, watched.oob_improvement_[: watched.n_estimators_])
    scored = make(REGRESSOR, **params, scoring="r2").fit(X, y)
    assert scored.oob_scores_.shape == scored.train_score_.shape
    # More stages are added to this model.
    n_kept = watched.n_estimators_
    watched.set_params(warm_start=True, n_iter_no_change=None, n_estimators=n_kept + 2).fit(X, y)
    assert watched.oob_scores_.shape == (n_kept + 2,)


class Quiet:
    def on_round(self, *_):
        return False


def test_watching_a_fit_changes_no_loss():
    X, y = data(REGRESSOR, "single")
    plain = make(REGRESSOR, subsample=0.5).fit(X, y)
    for fitted in (
        make(REGRESSOR, subsample=0.5, callbacks=Quiet()).fit(X, y),
        make(REGRESSOR, subsample=0.5, n_estimators=2)
        .fit(X, y)
        .set_params(warm_start=True, n_estimators=5, callbacks=Quiet())
        .fit(X, y),
    ):
        np.testing.assert_array_equal(fitted.oob_scores_, plain.oob_scores_)
        np.testing.assert_array_equal(fitted.oob_improvement_, plain.oob_improvement_)


def test_they_are_absent_where_a_round_left_no_samples_out():
    X, y = data(REGRESSOR, "single")
    half = make(REGRESSOR, subsample=0.5, warm_start=True).fit(X, y)
    whole = make(REGRESSOR, subsample=1.0, warm_start=True).fit(X, y)
    refitted = half.refit_leaves(X, y)
    without = [make(REGRESSOR), whole, refitted, make(REGRESSOR, subsample=0.5).fit(X[:1], y[:1])]
    for model in without:
        assert not any(hasattr(model, name) for name in OUT_OF_BAG)
    for callbacks in (None, Quiet()):
        for model, share in ((half, 1.0), (whole, 0.5)):
            grown = pickle.loads(pickle.dumps(model))
            grown.set_params(n_estimators=7, subsample=share, callbacks=callbacks).fit(X, y)
            assert len(grown.train_score_) == 7
            assert not any(hasattr(grown, name) for name in OUT_OF_BAG)
    with pytest.raises(
        AttributeError, match=r"no oob_scores_, oob_score_ and oob_improvement_, .*set subsample below 1"
    ):
        _ = whole.oob_improvement_
    with pytest.raises(AttributeError, match="has no oob_scores_ before it is fitted"):
        _ = make(REGRESSOR).oob_score_


# Printed lines


def rounds_of(lines):
    return [int(line.split(": round ")[1].split(" ")[0]) for line in lines]


@pytest.mark.parametrize("params", [{}, {"estimator": Ridge(), "output_strategy": "joint"}])
def test_lines_are_those_that_scikit_learn_prints(capsys, params):
    X, y = data(REGRESSOR, "single")
    model = make(REGRESSOR, n_estimators=125, verbose=1, subsample=0.5, warm_start=True, **params).fit(X, y)
    _, *lines = capsys.readouterr().out.splitlines()
    assert rounds_of(lines) == [*range(1, 11), *range(20, 101, 10), 125]
    for line, at in zip(lines, rounds_of(lines), strict=True):
        told = f"loss {model.train_score_[at - 1]:.5g}, OOB improvement {model.oob_improvement_[at - 1]:.5g}, "
        assert line.startswith(f"GradientBoostingRegressor: round {at} of 125, {told}")
        assert line.endswith(" s left")
    theirs = sklearn.ensemble.GradientBoostingRegressor(n_estimators=125, verbose=1, subsample=0.5).fit(X, y)
    assert theirs.n_estimators_ == 125
    table = capsys.readouterr().out.splitlines()[1:]
    # scikit-learn prints the last round only if it is a round number.
    assert [int(row.split()[0]) for row in table] == rounds_of(lines)[:-1]
    # A fit that continues counts its own rounds when it chooses which of them to print.
    model.set_params(n_estimators=148).fit(X, y)
    assert rounds_of(capsys.readouterr().out.splitlines()[1:]) == [*range(126, 136), 145, 148]


@pytest.mark.parametrize("verbose", [2, 3])
def test_above_one_every_round_has_a_line_and_none_a_bar(capsys, monkeypatch, verbose):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    X, y = data(REGRESSOR, "single")
    model = make(REGRESSOR, n_estimators=33, subsample=1.0, verbose=verbose).fit(X, y, X_val=X, y_val=y)
    printed = capsys.readouterr()
    _, *lines = printed.out.splitlines()
    assert printed.err == ""
    assert rounds_of(lines) == list(range(1, 34))
    assert "OOB" not in printed.out
    for line, loss in zip(lines, model.validation_score_, strict=True):
        assert f"validation loss {loss:.5g}, " in line


def test_long_rounds_have_lines_between(capsys, monkeypatch):
    clock = iter(np.arange(0, 4000, 4.0))
    monkeypatch.setattr("weald._rounds.rounds.time.monotonic", lambda: next(clock))
    X, y = data(REGRESSOR, "single")
    make(REGRESSOR, n_estimators=200, verbose=1).fit(X, y)
    found = rounds_of(capsys.readouterr().out.splitlines()[1:])
    # Each round takes four seconds: after ten rounds every third round is printed, as three rounds take more than ten
    # seconds.
    assert found[:14] == [*range(1, 11), 13, 16, 19, 20]
    # Later a line is printed whenever a tenth of the time so far has passed.
    assert 20 < len(found) < 70
    assert max(np.diff(found)) <= 20
