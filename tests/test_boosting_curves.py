"""Evaluation sets of boosting: `eval_sets`, `eval_results_`, and the display of the curves."""

from __future__ import annotations

import pickle
import sys
import warnings

import matplotlib.pyplot
import numpy as np
import pytest
import weald
from conftest import BOOSTING, cases, check_refused, has_outputs, make, make_data, model_bytes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, mean_tweedie_deviance, r2_score
from sklearn.tree import DecisionTreeRegressor
from weald.inspection import BoostingCurveDisplay
from weald.loss import Huber, Quantile, Tweedie
from weald.projection import Projected

CLASSIFIER, REGRESSOR = BOOSTING
STRATEGIES = [
    {"output_strategy": "single_target"},
    {"output_strategy": "joint"},
    {"output_strategy": Projected(n_projections=2)},
    {"output_strategy": Projected(relabel_leaves=False)},
]
LOSSES = [
    (REGRESSOR, {"loss": "squared_error"}),
    (REGRESSOR, {"loss": "absolute_error"}),
    (REGRESSOR, {"loss": Quantile(0.8)}),
    (REGRESSOR, {"loss": Huber(0.3)}),
    (REGRESSOR, {"loss": "poisson"}),
    (REGRESSOR, {"loss": "gamma"}),
    (REGRESSOR, {"loss": Tweedie(1.3)}),
    (CLASSIFIER, {"loss": "log_loss"}),
    (CLASSIFIER, {"loss": "exponential"}),
    (CLASSIFIER, {"loss": "hinge"}),
    (CLASSIFIER, {"loss": "squared_error"}),
]
OUTPUTS = ["single", "binary", "several", "labels"]
pytestmark = cases(has_outputs)
# The scores of regressors are float64 on both sides, and only the order of sums over samples differs. The scores of
# classifiers are float32 in the engine: each of a dozen rounds rounds them to 6e-8 of their value, and the engine's
# exponentials have an error of 1.2e-7.
TOLERANCE = {REGRESSOR: 1e-10, CLASSIFIER: 1e-5}


def data(name, outputs, loss="", n=150):
    X, y = make_data(name, outputs="single" if outputs == "binary" else outputs, n=n)
    if outputs == "binary":
        y = np.where(y == "a", "a", "b")
    if loss == "poisson" or isinstance(loss, Tweedie):
        y = np.floor(np.exp(y)) * 1.5
        assert (y == 0).any()
    return X, np.exp(y) if loss == "gamma" else y


def held_weights(n, seed=1):
    """Weights that are not whole numbers; some of them are zero."""
    w = np.random.default_rng(seed).random(n)
    w[::5] = 0
    return w


# Values of the losses


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize(("name", "loss"), LOSSES, ids=lambda value: str(value))
def test_the_curve_of_samples_is_that_of_the_validation_set_with_the_same_samples(name, loss, outputs, weighted):
    X, y = data(name, outputs, loss["loss"])
    w = held_weights(50) if weighted else None
    held = (X[100:], y[100:])
    given = {"X_val": held[0], "y_val": held[1], "sample_weight_val": w}
    for params in ({"output_strategy": "single_target"}, {"output_strategy": "joint"}):
        model = make(name, n_estimators=12, **loss, **params)
        model.fit(X[:100], y[:100], **given, eval_sets=[held if w is None else (*held, w)])
        found = model.eval_results_
        assert list(found) == ["eval_0"]
        assert list(found["eval_0"]) == ["loss"]
        assert found["eval_0"]["loss"].dtype == np.float64
        assert np.ptp(found["eval_0"]["loss"]) > 0
        np.testing.assert_allclose(found["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[name])
        # If the model is evaluated on its training samples, the losses are those of the training.
        trained = make(name, n_estimators=12, **loss, **params).fit(X, y, eval_sets={"again": (X, y)})
        again = trained.eval_results_["again"]["loss"]
        np.testing.assert_allclose(again, trained.train_score_, rtol=TOLERANCE[name])


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("name", BOOSTING)
@pytest.mark.parametrize("params", STRATEGIES)
def test_every_strategy_has_the_curve_of_the_validation_set(name, outputs, params):
    X, y = data(name, outputs)
    if outputs == "binary" or (outputs == "single" and name == REGRESSOR):
        params = {**params, "output_strategy": "projected"}
    model = make(name, n_estimators=6, **params).fit(X, y, X_val=X[:40], y_val=y[:40], eval_sets=[(X[:40], y[:40])])
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[name])


def test_losses_are_those_of_the_books():
    """Against scikit-learn's metrics: half a deviance, the softmax loss over the number of classes, means of labels."""
    X, y = data(REGRESSOR, "several", "poisson")
    model = make(REGRESSOR, loss="poisson").fit(X, y, eval_sets=[(X, y)])
    half = [mean_tweedie_deviance(y.ravel(), staged.ravel(), power=1) / 2 for staged in model.staged_predict(X)]
    # The losses are computed from the float64 scores of the model; only the order of the sums in the means differs.
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], half, rtol=1e-12)
    X, y = data(CLASSIFIER, "single")
    model = make(CLASSIFIER, output_strategy="joint").fit(X, y, eval_sets=[(X, y)])
    of_softmax = [log_loss(y, proba) / 3 for proba in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], of_softmax, rtol=1e-12)
    X, y = data(CLASSIFIER, "labels")
    model = make(CLASSIFIER).fit(X, y, eval_sets=[(X, y)])
    of_labels = [log_loss(y.ravel(), proba.ravel()) for proba in model.staged_predict_proba(X)]
    # Only the order of the sums differs, as above.
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], of_labels, rtol=1e-12)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "exponential", "log_loss"])
def test_losses_far_out_are_those_of_the_engine(loss):
    """The scores are so large that exponentials would overflow; there the loss continues as its tangent."""
    name = CLASSIFIER if loss in ("exponential", "log_loss") else REGRESSOR
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    y = np.arange(40) % 2 if name == CLASSIFIER else np.exp(rng.normal(size=40) * 10)
    y_held = 1 - y if name == CLASSIFIER else y[::-1] * 1e120
    params = {"learning_rate": 500.0, "leaf_estimation": "line_search", "min_weight_leaf": 0.0}
    model = make(name, loss=loss, n_estimators=3, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "learning_rate is 500")
        model.fit(X, y, X_val=X, y_val=y_held, eval_sets=[(X, y_held)])
    assert model.validation_score_.max() > 100
    # The relative error of e^x is the absolute error of x, and x is in the hundreds here.
    rtol = 1e-3 if name == CLASSIFIER else 1e-12
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=rtol)


@pytest.mark.parametrize("loss", [Quantile([0.1, 0.9]), Huber([0.1, 0.5, 2.0])], ids=repr)
def test_each_column_has_its_loss(loss):
    X, y = data(REGRESSOR, "several")
    model = make(REGRESSOR, loss=loss)
    model.fit(X, y, X_val=X, y_val=y, eval_sets=[(X, y)])
    # The tolerance is that of regressors, with its reason at `TOLERANCE`.
    np.testing.assert_allclose(
        model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[REGRESSOR]
    )


def test_losses_of_a_single_class_in_eval_sets_are_the_validation_losses():
    X, _ = make_data(REGRESSOR)
    y = np.ones(len(X), dtype=int)
    model = make(CLASSIFIER).fit(X, y, X_val=X, y_val=y, eval_sets=[(X, y)])
    # The tolerance is that of classifiers, with its reason at `TOLERANCE`.
    np.testing.assert_allclose(
        model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[CLASSIFIER]
    )


@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
@pytest.mark.parametrize("name", BOOSTING)
def test_sparse_samples_have_the_curves_of_dense_ones(name, outputs):
    X, y = data(name, outputs)
    dense = make(name).fit(X, y, eval_sets=[(X[:30], y[:30], held_weights(30))]).eval_results_["eval_0"]["loss"]
    for container in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        y_held = sparse.csc_array(y[:30]) if outputs == "labels" else y[:30]
        sets = {"there": (container(X[:30]), y_held, held_weights(30))}
        found = make(name).fit(X, y, eval_sets=sets).eval_results_["there"]["loss"]
        # The model has the same scores for sparse and dense samples: only the order of the sums of losses may differ.
        np.testing.assert_allclose(found, dense, rtol=1e-14)


def test_a_weight_of_zero_removes_a_sample_and_two_is_two_samples():
    X, y = data(REGRESSOR, "single")
    w = np.arange(40) % 3
    hostile = y[:40].copy()
    hostile[w == 0] = np.nan
    sets = [(X[:40], hostile, w), (X[:40].repeat(w, axis=0), y[:40].repeat(w)), (X[:40], y[:40], w * 1e300)]
    results = make(REGRESSOR).fit(X, y, eval_sets=sets).eval_results_
    # Sums of weighted losses replace sums over repeated samples, and 1e300 is not a power of two, so that products
    # round.
    np.testing.assert_allclose(results["eval_0"]["loss"], results["eval_1"]["loss"], rtol=1e-13)
    np.testing.assert_allclose(results["eval_2"]["loss"], results["eval_1"]["loss"], rtol=1e-13)


# Fits


@pytest.mark.parametrize("name", BOOSTING)
def test_sets_that_are_watched_have_no_part_in_the_model(name):
    X, y = make_data(name, n=200)
    y = y + np.random.default_rng(0).normal(size=200) if name == REGRESSOR else y
    plain = {"n_iter_no_change": 3, "learning_rate": 1.0, "n_estimators": 100}
    model = make(name, **plain).fit(X[:100], y[:100], X_val=X[100:150], y_val=y[100:150])
    sets = {"b": (X[150:], y[150:]), "a": (X[:100], y[:100])}
    watched = make(name, **plain).fit(X[:100], y[:100], X_val=X[100:150], y_val=y[100:150], eval_sets=sets)
    assert model_bytes(watched) == model_bytes(model)
    np.testing.assert_array_equal(watched.validation_score_, model.validation_score_)
    # The results cover the rounds that were kept, and the sets stay in the order that was given.
    assert watched.n_estimators_ < len(watched.validation_score_)
    assert list(watched.eval_results_) == ["b", "a"]
    for found in watched.eval_results_.values():
        assert found["loss"].shape == (watched.n_estimators_,)
    trained = watched.eval_results_["a"]["loss"]
    np.testing.assert_allclose(trained, watched.train_score_[: watched.n_estimators_], rtol=TOLERANCE[name])


@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
@pytest.mark.parametrize("name", BOOSTING)
def test_scorers_see_every_set(name, outputs):
    X, y = data(name, outputs)
    metric = r2_score if name == REGRESSOR else accuracy_score
    weights = held_weights(50)

    def scoring(model, X, y, sample_weight=None):
        return metric(y, model.predict(X), sample_weight=sample_weight)

    if (name, outputs) == (CLASSIFIER, "several"):

        def metric(y, predicted, sample_weight=None):
            return accuracy_score(y.ravel(), predicted.ravel(), sample_weight=np.repeat(sample_weight, 3))

    sets = {"first": (X[100:], y[100:], weights), "all": (X, y, np.ones(len(X)))}
    model = make(name, n_estimators=8, scoring=scoring).fit(X[:100], y[:100], eval_sets=sets)
    there = weights > 0
    expected = [
        metric(y[100:][there], staged[there], sample_weight=weights[there]) for staged in model.staged_predict(X[100:])
    ]
    found = model.eval_results_
    # Accuracies are quotients of sums of weights in another order (this also holds below).
    np.testing.assert_allclose(found["first"]["score"], expected, rtol=1e-12)
    expected = [metric(y, staged, sample_weight=np.ones(len(X))) for staged in model.staged_predict(X)]
    np.testing.assert_allclose(found["all"]["score"], expected, rtol=1e-12)
    assert not hasattr(model, "validation_metric_")
    # When a validation set decides when to stop, the evaluation sets are scored by the same rule.
    sets = {"held": (X[100:], y[100:], np.ones(50))}
    held = {"X_val": X[100:], "y_val": y[100:], "sample_weight_val": np.ones(50)}
    model = make(name, n_estimators=8, scoring=scoring, n_iter_no_change=8).fit(
        X[:100], y[:100], **held, eval_sets=sets
    )
    kept = model.validation_metric_[: model.n_estimators_]
    # During the fit the predictions for the validation set are computed from float32 scores.
    np.testing.assert_allclose(model.eval_results_["held"]["score"], kept, rtol=1e-6)


def test_scores_that_are_not_numbers_name_the_set():
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, scoring=lambda *_: np.nan)
    with pytest.raises(
        ValueError,
        match=r"^eval_sets\['b'\]: scoring must return finite numbers, but <lambda> returned nan after a stage",
    ):
        model.fit(X, y, eval_sets={"b": (X, y)})
    assert not hasattr(model, "n_estimators_")


def test_stages_that_are_added_are_measured_with_those_before():
    X, y = make_data(CLASSIFIER, n=100)
    whole = make(CLASSIFIER, n_estimators=9).fit(X, y, eval_sets=[(X[:30], y[:30])])
    parts = make(CLASSIFIER, n_estimators=4, warm_start=True).fit(X, y, eval_sets={"other": (X[30:], y[30:])})
    parts.set_params(n_estimators=9).fit(X, y, eval_sets=[(X[:30], y[:30])])
    assert list(parts.eval_results_) == ["eval_0"]
    np.testing.assert_array_equal(parts.eval_results_["eval_0"]["loss"], whole.eval_results_["eval_0"]["loss"])
    with pytest.warns(UserWarning, match="does not fit new stages"):
        parts.fit(X, y, eval_sets={"late": (X[:30], y[:30])})
    np.testing.assert_array_equal(parts.eval_results_["late"]["loss"], whole.eval_results_["eval_0"]["loss"])
    # The results are those of the last fit.
    parts.set_params(n_estimators=10).fit(X, y)
    with pytest.raises(AttributeError, match="has no eval_results_, since it was fitted without eval_sets"):
        _ = parts.eval_results_
    assert not hasattr(make(CLASSIFIER), "eval_results_")
    assert not hasattr(make(CLASSIFIER).fit(X, y, eval_sets=[]), "eval_results_")


@pytest.mark.parametrize(
    ("estimator", "params", "outputs"),
    [
        (Ridge(), {"output_strategy": "joint"}, "several"),
        (DecisionTreeRegressor(max_depth=2), {"output_strategy": Projected(relabel_leaves=False)}, "several"),
        (LinearRegression(), {}, "single"),
    ],
)
def test_weak_models_of_others_have_curves(estimator, params, outputs):
    X, y = data(REGRESSOR, outputs)
    model = make(REGRESSOR, estimator=estimator, **params)
    for container in (np.asarray, sparse.csc_array):
        held = (container(X[:30]), y[:30])
        model.fit(container(X), y, X_val=held[0], y_val=held[1], eval_sets=[held])
        np.testing.assert_allclose(
            model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[REGRESSOR]
        )


@pytest.mark.parametrize("name", BOOSTING)
def test_curves_begin_at_the_model_that_stages_start_from(name):
    X, y = make_data(name, n=120)
    init = FrozenEstimator((LinearRegression() if name == REGRESSOR else LogisticRegression()).fit(X, y))
    model = make(name, init=init).fit(X, y, X_val=X[:50], y_val=y[:50], eval_sets=[(X[:50], y[:50])])
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], model.validation_score_, rtol=TOLERANCE[name])


def test_parts_of_models_have_their_part_of_the_curves(tmp_path):
    X, y = make_data(REGRESSOR, n=100)
    sets = {"z": (X[:30], y[:30]), "a": (X[30:], y[30:])}
    model = make(REGRESSOR, n_estimators=7, scoring="r2").fit(X, y, eval_sets=sets)
    weald.save(model, tmp_path / "model")
    for other, n in (
        (model.truncated(3), 3),
        (pickle.loads(pickle.dumps(model)), 7),
        (weald.load(tmp_path / "model"), 7),
    ):
        assert list(other.eval_results_) == ["z", "a"]
        for name, found in other.eval_results_.items():
            assert list(found) == ["loss", "score"]
            for what, values in found.items():
                np.testing.assert_array_equal(values, model.eval_results_[name][what][:n])
    # `eval_results_` returns a copy: changing it leaves the model unchanged.
    model.eval_results_["z"]["loss"][:] = 0
    assert (model.eval_results_["z"]["loss"] > 0).all()
    assert not hasattr(model.refit_leaves(X, y), "eval_results_")


@pytest.mark.parametrize(
    "curves",
    [
        {},
        ((1, np.ones(5), None),),
        (("a", np.ones(5), None), ("a", np.ones(5), None)),
        (("a", np.ones(4), None),),
        (("a", np.ones(5), np.ones((5, 1))),),
        (("a", np.ones(5, dtype=np.float32), None),),
        (("a", None, None),),
        (("a", np.ones(5)),),
    ],
)
def test_curves_that_do_not_fit_the_model_are_no_state(curves):
    X, y = make_data(REGRESSOR)
    state = make(REGRESSOR).fit(X, y).__getstate__()
    state["_eval_curves"] = curves
    with pytest.raises(ValueError, match=r"^GradientBoostingRegressor: _eval_curves "):
        weald.GradientBoostingRegressor().__setstate__(state)


# Errors


@pytest.mark.parametrize(
    ("sets", "error", "message"),
    [
        (lambda X, y: (X, y), TypeError, r"eval_sets must be a list of \(X, y\).*got a tuple: put it into a list"),
        (lambda X, _: X, TypeError, r"eval_sets must be a list of \(X, y\).*got a ndarray"),
        (lambda X, y: {1: (X, y)}, TypeError, r"eval_sets must have strings as names, got 1"),
        (lambda X, y: [(X, y), X], TypeError, r"eval_sets\[1\] must be \(X, y\) or .*got a ndarray"),
        (
            lambda X, y: [(X, y), (X,)],
            ValueError,
            r"eval_sets\[1\] must be \(X, y\) or \(X, y, sample_weight\), got a tuple of length 1",
        ),
        (lambda X, y: {"test": (X, y, None, 1)}, ValueError, r"eval_sets\['test'\] must be .*got a tuple of length 4"),
        (lambda X, y: [(X[:, 1:], y)], ValueError, r"eval_sets\[0\]: X has 11 features, but .* is expecting 12"),
        (lambda X, y: [(X + np.inf, y)], ValueError, r"eval_sets\[0\]: Input X contains infinity"),
        (lambda X, y: {"t": (X[1:], y)}, ValueError, r"eval_sets\['t'\]: .*inconsistent numbers of samples"),
        (lambda X, y: [(X, y, -np.ones(len(X)))], ValueError, r"eval_sets\[0\]: sample_weight must not be negative"),
        (
            lambda X, y: [(X, y, np.ones(3))],
            ValueError,
            r"eval_sets\[0\]: sample_weight must have shape .*, got \(3,\)",
        ),
        (
            lambda X, y: [(X, y, 0 * X[:, 0])],
            ValueError,
            r"eval_sets\[0\]: sample_weight must be positive for at least one sample",
        ),
    ],
)
@pytest.mark.parametrize("name", BOOSTING)
def test_errors_name_the_set(name, sets, error, message):
    X, y = make_data(name)
    check_refused(make(name).fit(X, y), error, "^" + message, X, y, eval_sets=sets(X, y))


def test_errors_of_y_name_the_set():
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR).fit(X, y)
    for bad, message in (
        (np.where(y > 0, y, np.nan), "Input y contains NaN"),
        (np.column_stack([y, y]), "its y must have 1 outputs, as in the fit, got 2"),
        (
            sparse.csr_array(np.where(y > 0, y, np.inf)[:, None]),
            "its y must be finite if it is sparse, got NaN or infinity",
        ),
        (y * 1e200, "its y must have absolute values of at most 1e150, got .*e"),
    ):
        check_refused(model, ValueError, rf"^eval_sets\[1\]: {message}", X, y, eval_sets=[(X, y), (X, bad)])
    for loss, accepted in (
        ("poisson", "at least 0"),
        ("tweedie", "at least 0"),
        ("gamma", "above 0"),
    ):
        model = make(REGRESSOR, loss=loss).fit(X, np.exp(y))
        wrong = np.exp(y)
        wrong[5] = 0 if loss == "gamma" else -1
        message = rf"^eval_sets\['a'\]: its y must be {accepted}, got {wrong[5]:g} with loss=\"{loss}\"$"
        check_refused(model, ValueError, message, X, np.exp(y), eval_sets={"a": (X, wrong)})
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER).fit(X, y)
    message = r"^eval_sets\[0\]: its y must have classes of the training data, got 'z'"
    check_refused(model, ValueError, message, X, y, eval_sets=[(X[:1], ["z"])])
    X, Y = make_data(CLASSIFIER, outputs="labels")
    model = make(CLASSIFIER).fit(X, Y)
    check_refused(
        model,
        ValueError,
        r"^eval_sets\[0\]: its y must have 3 outputs, as in the fit, got 2",
        X,
        Y,
        eval_sets=[(X, Y[:, :2])],
    )
    check_refused(
        model,
        ValueError,
        r"^eval_sets\[0\]: its y must have the values 0 and 1 for labels",
        X,
        Y,
        eval_sets=[(X, 2 * Y)],
    )
    message = r"^eval_sets\[0\]: its y must be dense, since y contains classes, got a sparse matrix"
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER).fit(X, y)
    check_refused(model, TypeError, message, X, y, eval_sets=[(X, sparse.csr_array(Y))])


def test_given_scores_and_sets_that_have_none_do_not_go_together():
    X, y = make_data(REGRESSOR)
    message = r"^base_margin does not support eval_sets.*use only one of them, or init="
    check_refused(make(REGRESSOR).fit(X, y), ValueError, message, X, y, base_margin=y, eval_sets=[(X, y)])
    assert hasattr(make(REGRESSOR).fit(X, y, base_margin=y, eval_sets=[]), "n_estimators_")


# The display of the curves


@pytest.fixture
def agg():
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_picture_of_losses(agg):
    X, y = make_data(CLASSIFIER, n=200, seed=3)
    params = {"n_estimators": 100, "n_iter_no_change": 4, "tol": 0.0, "scoring": "accuracy"}
    model = make(CLASSIFIER, **params).fit(X[:150], y[:150], eval_sets={"test": (X[150:], y[150:])})
    n, n_rounds = model.n_estimators_, len(model.train_score_)
    assert 1 < n < n_rounds
    display = BoostingCurveDisplay.from_estimator(model)
    expected = {"training": model.train_score_, "validation": model.validation_score_}
    assert set(display.lines_) == {*expected, "kept"}
    for key, values in expected.items():
        np.testing.assert_array_equal(display.lines_[key].get_ydata(), values)
        np.testing.assert_array_equal(display.lines_[key].get_xdata(), np.arange(1, n_rounds + 1))
    np.testing.assert_array_equal(display.eval_lines_["test"].get_ydata(), model.eval_results_["test"]["loss"])
    np.testing.assert_array_equal(display.eval_lines_["test"].get_xdata(), np.arange(1, n + 1))
    assert list(display.lines_["kept"].get_xdata()) == [n, n]
    assert texts(display) == ["training", "validation", "test", f"{n} stages kept"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("number of stages", "loss (log_loss)")
    assert display.figure_ is display.ax_.figure

    scores = BoostingCurveDisplay.from_estimator(model, which="score")
    assert set(scores.lines_) == {"validation", "kept"}
    np.testing.assert_array_equal(scores.lines_["validation"].get_ydata(), model.validation_metric_)
    np.testing.assert_array_equal(scores.eval_lines_["test"].get_ydata(), model.eval_results_["test"]["score"])
    assert scores.ax_.get_ylabel() == "score (accuracy)"
    assert scores.ax_ is not display.ax_


def test_several_models_are_told_apart_on_the_same_axes(agg):
    X, y = make_data(REGRESSOR)
    _, ax = matplotlib.pyplot.subplots()
    for n, name in ((1, "short"), (4, "long")):
        model = make(REGRESSOR, n_estimators=n).fit(X, y, eval_sets=[(X, y)])
        display = BoostingCurveDisplay.from_estimator(model, ax=ax, name=name)
        assert display.ax_ is ax
    assert texts(display) == [
        "short, training",
        "short, eval_0",
        "short, 1 stage kept",
        "long, training",
        "long, eval_0",
        "long, 4 stages kept",
    ]
    colours = [line.get_color() for line in ax.get_lines() if "kept" not in line.get_label()]
    assert len(set(colours)) == 4
    # The display can be made from curves alone, without a model.
    display = BoostingCurveDisplay({"training": np.arange(3.0)}).plot(ax=ax)
    assert set(display.lines_) == {"training"}
    assert display.eval_lines_ == {}
    assert display.ax_.get_ylabel() == "loss"


def test_weak_models_of_others_have_a_picture(agg):
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, estimator=Ridge(), output_strategy=Projected(relabel_leaves=False)).fit(X, y)
    display = BoostingCurveDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.lines_["training"].get_ydata(), model.train_score_)


def test_the_picture_wants_a_fitted_boosting_its_scores_and_matplotlib(agg, monkeypatch):
    draw = BoostingCurveDisplay.from_estimator
    with pytest.raises(NotFittedError):
        draw(make(REGRESSOR))
    X, y = make_data(REGRESSOR)
    with pytest.raises(
        TypeError, match=r"^estimator must be a gradient boosting model of weald, got a RandomForestRegressor$"
    ):
        draw(make("RandomForestRegressor").fit(X, y))
    with pytest.raises(TypeError, match=r"^estimator must be .*, got the class GradientBoostingRegressor$"):
        draw(weald.GradientBoostingRegressor)
    model = make(REGRESSOR).fit(X, y, eval_sets=[(X, y)])
    for which in ("metric", None, ["loss"]):
        with pytest.raises(ValueError, match=r"^which must be 'loss' or 'score', got "):
            draw(model, which=which)
    with pytest.raises(ValueError, match=r"^which must be 'loss', since the .* fitted without scoring, got 'score'$"):
        draw(model, which="score")
    assert not matplotlib.pyplot.get_fignums()
    display = draw(model)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^BoostingCurveDisplay.from_estimator requires matplotlib"):
        draw(model)
    with pytest.raises(ImportError, match=r"^BoostingCurveDisplay.plot requires matplotlib"):
        display.plot()
