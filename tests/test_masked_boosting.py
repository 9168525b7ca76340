"""Boosting with unknown values in y: their gradients and curvatures are zero, for all strategies and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import test_boosting_oracle as oracle
import weald
from boosting_twin import WHOLE, Twin
from conftest import unless
from test_masked_outputs import masked_r2, problem
from weald.metrics import brier, make_label_scorer, micro_f1, roc_auc
from weald.projection import Projected

NAN = np.nan
STRATEGIES: list[dict[str, Any]] = [
    {"output_strategy": "single_target"},
    {"output_strategy": "joint"},
    {"output_strategy": "projected"},
    {"output_strategy": Projected(n_projections=2)},
    {"output_strategy": Projected(relabel_leaves=False)},
]
OF_NUMBERS = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
OF_LABELS = ["log_loss", "exponential", "hinge", "squared_error"]


def boosting(kind: str, **parameters: Any) -> Any:
    model = weald.GradientBoostingRegressor if kind == "numbers" else weald.GradientBoostingClassifier
    return model(**{"n_estimators": 6, "max_leaf_nodes": 5, "random_state": 0, **parameters})


def data(kind: str, loss: str, share: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, mask = problem(kind, n=90, d=4, share=share)
    return X, np.exp(y / 3) if loss in ("poisson", "gamma", "tweedie") else y, mask


def scores(model: Any, X: Any) -> np.ndarray:
    found = (
        model.predict(X) if hasattr(model, "_weak") and not hasattr(model, "classes_") else model.decision_function(X)
    )
    return np.column_stack(found) if isinstance(found, list) else found


ALL = [("numbers", loss) for loss in OF_NUMBERS] + [("labels", loss) for loss in OF_LABELS]
# Several outputs of three classes.
OF_CLASSES = [("classes", loss) for loss in OF_LABELS]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "loss"), ALL + OF_CLASSES)
@pytest.mark.parametrize("leaf_estimation", ["newton", "line_search"])
def test_the_training_loss_of_known_cells_never_rises(
    kind: str, loss: str, strategy: dict[str, Any], leaf_estimation: str
) -> None:
    X, y, mask = data(kind, loss)
    model = boosting(kind, loss=loss, learning_rate=1.0, subsample=1.0, leaf_estimation=leaf_estimation, **strategy)
    losses = model.fit(X, y, y_weight=unless(mask)).train_score_
    assert np.isfinite(losses).all()
    # The scores are float32 sums, which are rounded at each stage.
    assert (np.diff(losses) <= 1e-6 * abs(losses[0])).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("kind", "loss"),
    [("numbers", "squared_error"), ("numbers", "huber"), ("labels", "log_loss"), ("classes", "log_loss")],
)
def test_laws(kind: str, loss: str, strategy: dict[str, Any]) -> None:
    X, y, mask = data(kind, loss)
    model = boosting(kind, loss=loss, **strategy)
    plain = scores(model.fit(X, y), X)
    np.testing.assert_array_equal(scores(model.fit(X, y, y_weight=unless(np.zeros_like(mask))), X), plain)
    rows = np.zeros_like(mask)
    rows[[2, 40]] = True
    weight = np.where(rows.all(axis=1), 0.0, 1.0)
    without = scores(model.fit(X, y, sample_weight=weight), X)
    np.testing.assert_array_equal(scores(model.fit(X, y, y_weight=unless(rows)), X), without)
    masked = scores(model.fit(X, y, y_weight=unless(mask)), X)
    assert not np.array_equal(masked, plain)
    assert np.isfinite(masked).all()
    other = np.where(mask, {"labels": 1 - y, "numbers": y + 3, "classes": 2 - y}[kind], y)
    np.testing.assert_array_equal(scores(model.fit(X, other, y_weight=unless(sp.csr_array(mask))), X), masked)
    np.testing.assert_array_equal(scores(model.fit(X, np.where(mask, NAN, y)), X), masked)
    np.testing.assert_array_equal(
        scores(model.fit(sp.csr_array(X), y, y_weight=unless(mask)), X),
        scores(model.fit(sp.csc_array(X), y, y_weight=unless(mask)), X),
    )
    np.testing.assert_array_equal(scores(model.set_params(n_jobs=2).fit(X, y, y_weight=unless(mask)), X), masked)
    counts = np.arange(len(X)) % 3
    counts[:2] = 1
    repeated = np.repeat(np.arange(len(X)), counts)
    by_weight = scores(model.fit(X, y, sample_weight=counts, y_weight=unless(mask)), X)
    np.testing.assert_array_equal(
        scores(model.fit(X[repeated], y[repeated], y_weight=unless(mask[repeated])), X), by_weight
    )


@pytest.mark.parametrize("rule", ["line_search", "newton", "bare"])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected", "subspace", "relabelled pair"])
@pytest.mark.parametrize("kind", ["labels", "weighted labels", "classes"])
def test_twin(kind: str, strategy: str, loss: str, rule: str) -> None:
    """The twin gives unknown cells no gradient, curvature or loss."""
    X, X_new, values = oracle.make_problem()
    w, weights = oracle.weights_for(len(X)), np.array([0.5, 3.0, 0.1, 1.25])
    given: dict[str, Any] = {}
    of_twin: dict[str, Any] = {}
    params, parameters = oracle.setting(strategy, 6 if kind == "classes" else 4)
    if kind == "classes":
        y = np.digitize(values[:, :2], [-0.4, 0.4])
        one_hot = np.concatenate([y[:, [o]] == np.arange(3) for o in range(2)], axis=1).astype(float)
        softmax = loss == "log_loss" and strategy != "single_target"
        of_twin["groups"] = (slice(0, 3), slice(3, 6)) if softmax else None
        targets = one_hot if softmax else 2 * one_hot - 1
    else:
        y = (values > 0.4).astype(int)
        targets = 2.0 * y - 1
    mask = np.random.default_rng(1).random(y.shape) < 0.3
    mask[mask.all(axis=1)] = False  # the engine leaves such samples out
    known = np.repeat(~mask, 3 if kind == "classes" else 1, axis=1)
    targets = np.where(known, targets, 0.0)
    if kind == "weighted labels":
        given["label_weight"], of_twin["shares"] = weights, weights / weights.mean()
        if strategy != "single_target":
            phis = [phi * np.sqrt(of_twin["shares"]) for phi in parameters.get("phis", [np.eye(4)] * 6)]
            parameters |= {"strategy": "projected", "phis": phis}
    model = oracle.make("Classifier", rule, loss=loss, **given, **params).fit(
        X, y, sample_weight=w, y_weight=unless(mask)
    )
    twin = Twin(X, targets, loss, w, known=known, **of_twin)
    # Scores of labels and classes are float32.
    oracle.check(model, twin, X_new, parameters, oracle.TOLERANCE["softmax" if of_twin.get("groups") else "labels"])


def test_weights_of_labels_count_known_samples() -> None:
    X, y, mask = data("labels", "log_loss")
    w = np.arange(len(X)) % 4 * 1.0
    known = w[:, None] * ~mask
    share = (known * y).sum(axis=0) / known.sum(axis=0)
    by_hand = boosting("labels", label_weight=1 / (share * (1 - share)), output_strategy="joint")
    by_name = boosting("labels", label_weight="balanced", output_strategy="joint")
    for told in (
        {"y": y, "y_weight": unless(mask)},
        {"y": np.where(mask, NAN, y)},
        {"y": sp.csr_array(y), "y_weight": unless(mask)},
    ):
        found = scores(by_name.fit(X, sample_weight=w, **told), X)
        np.testing.assert_array_equal(found, scores(by_hand.fit(X, sample_weight=w, **told), X))
    for strategy in STRATEGIES:
        gaps, held = np.where(mask, NAN, y), np.where(mask[::-1], NAN, y)
        weighted = boosting("labels", label_weight=np.arange(4.0), subsample=0.8, n_iter_no_change=50, **strategy)
        weighted.fit(X, gaps, w, X_val=X, y_val=held, eval_sets={"train": (X, gaps, w), "held": (X, held)})
        # Scores are float32, and so are the exponentials of the engine.
        np.testing.assert_allclose(weighted.train_score_, weighted.eval_results_["train"]["loss"], rtol=1e-5)
        np.testing.assert_allclose(weighted.validation_score_, weighted.eval_results_["held"]["loss"], rtol=1e-5)
    equal = boosting("labels", label_weight=np.full(4, 0.3)).fit(X, y, y_weight=unless(mask))
    plain = boosting("labels").fit(X, y, y_weight=unless(mask))
    np.testing.assert_array_equal(scores(equal, X), scores(plain, X))
    again = by_hand.refit_leaves(X, y, sample_weight=w, y_weight=unless(mask))
    np.testing.assert_allclose(scores(again, X), scores(by_hand, X), rtol=1e-5, atol=1e-5)  # float32


# The gradients of the absolute error and of quantiles are signs: several splits are often equally good, and the number
# of the tree decides which of them is taken.
WITHOUT_TIES = [pair for pair in ALL if pair[1] not in ("absolute_error", "quantile")]


@pytest.mark.parametrize(("kind", "loss"), WITHOUT_TIES)
def test_single_targets_are_models_of_the_samples_that_know_them(kind: str, loss: str) -> None:
    X, y, mask = data(kind, loss)
    parameters = {"loss": loss, "output_strategy": "single_target", "max_bins": None, "learning_rate": 0.1, **WHOLE}
    found = scores(boosting(kind, **parameters).fit(X, y, y_weight=unless(mask)), X)
    for j in range(y.shape[1]):
        known = ~mask[:, j]
        alone = boosting(kind, **parameters).fit(X[known], y[known, j])
        # With a mask, values of leaves are searched sample by sample; without one, they come from sums. Scores of
        # labels are float32.
        tolerance = 1e-9 if kind == "numbers" else 2e-4
        np.testing.assert_allclose(found[:, j], scores(alone, X), rtol=tolerance, atol=tolerance)


def test_a_joint_stage_is_one_tree_on_residuals_and_means_of_those_that_are_known() -> None:
    X, y, mask = data("numbers", "squared_error")
    model = boosting(
        "numbers",
        n_estimators=1,
        learning_rate=1.0,
        output_strategy="joint",
        max_bins=None,
        l2_regularization=0.0,
        **WHOLE,
    ).fit(X, y, y_weight=unless(mask))
    start = np.array([y[~mask[:, j], j].mean() for j in range(4)])
    residuals = np.where(mask, 0.0, y - start)
    tree = weald.DecisionTreeRegressor(max_leaf_nodes=5, min_samples_leaf=2, random_state=0).fit(X, residuals)
    leaf_of = model.apply(X)[:, 0]
    expected = np.empty_like(y)
    for leaf in np.unique(leaf_of):
        here = leaf_of == leaf
        for j in range(4):
            known = here & ~mask[:, j]
            expected[here, j] = start[j] + (residuals[known, j].mean() if known.any() else 0.0)
    # The means of the residuals are summed in a different order.
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12, atol=1e-12)
    # Leaves must have at least the weight of two samples of weight 1.
    np.testing.assert_array_equal(tree.apply(X)[:, None] == tree.apply(X), leaf_of[:, None] == leaf_of)


def half_squares(predicted: np.ndarray, gaps: np.ndarray) -> Any:
    """The mean over columns, except those without a known value, of the mean losses of their known values."""
    there = ~np.isnan(gaps).all(axis=0)
    return np.nanmean((predicted - gaps)[:, there] ** 2 / 2, axis=0).mean()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_losses_are_means_over_columns_of_the_means_over_known_cells(strategy: dict[str, Any]) -> None:
    X, y, mask = data("numbers", "squared_error")
    # Columns with few known values and large losses tell the mean over columns from the mean over all known values.
    y, mask[:60, 0] = y * [9, 3, 1, 1], True
    model = boosting("numbers", subsample=0.7, **strategy).fit(X, y, y_weight=unless(mask))
    gaps = np.where(mask, NAN, y)
    losses = [half_squares(found, gaps) for found in model.staged_predict(X)]
    # The means are summed in a different order.
    np.testing.assert_allclose(model.train_score_, losses, rtol=1e-12)
    assert np.isfinite(model.oob_scores_).all()


def test_losses_of_one_stage_are_the_same_with_every_strategy_that_grows_the_same_tree() -> None:
    X, y, mask = data("numbers", "squared_error")
    kwargs = {"n_estimators": 1, "max_depth": 1, "subsample": 0.6}
    first = y[:, [0, 0]] * [1.0, 2.0]
    gaps = np.where(mask[:, [0, 0]], NAN, first)
    held = gaps[:30].copy()
    held[5:, 1] = NAN
    found = {}
    for strategy in ("joint", "single_target"):
        model = boosting("numbers", output_strategy=strategy, n_iter_no_change=3, **kwargs)
        model.fit(X[30:], gaps[30:], X_val=X[:30], y_val=held, eval_sets=[(X[:30], held)])
        curves = [model.train_score_, model.oob_scores_, model.validation_score_, model.eval_results_["eval_0"]["loss"]]
        found[strategy] = np.ravel(curves)
    # Both outputs have their best split at the same place, so that the models are the same up to rounding.
    np.testing.assert_allclose(found["joint"], found["single_target"], rtol=1e-12)


def test_early_stopping_looks_at_known_cells_of_samples_that_are_held_out() -> None:
    for kind, loss in (("numbers", "squared_error"), ("labels", "log_loss")):
        X, y, mask = data(kind, loss, share=0.7)
        model = boosting(kind, loss=loss, n_estimators=60, n_iter_no_change=3, output_strategy="joint")
        model.fit(X, y, y_weight=unless(mask))
        assert np.isfinite(model.validation_score_).all()
        assert model.n_estimators_ <= 60


def test_validation_samples_may_have_masked_outputs() -> None:
    X, y, mask = data("numbers", "squared_error")
    held = np.where(mask, NAN, y)[:30]
    held[4] = NAN
    held[:, 3] = NAN  # an output may be unknown in all of these samples
    model = boosting("numbers", n_iter_no_change=50, output_strategy="joint")
    model.fit(X[30:], y[30:], X_val=X[:30], y_val=held)
    without = boosting("numbers", output_strategy="joint").fit(X[30:], y[30:])
    losses = [half_squares(found, held) for found in without.staged_predict(X[:30])]
    # Stages after the best one are not kept. The means are summed in a different order.
    np.testing.assert_allclose(model.validation_score_, losses[: len(model.validation_score_)], rtol=1e-12)
    X, y, mask = data("labels", "log_loss")
    with_gaps = boosting("labels").fit(X[30:], y[30:], X_val=X[:30], y_val=np.where(mask, NAN, y)[:30])
    assert np.isfinite(with_gaps.validation_score_).all()


@pytest.mark.parametrize(
    ("kind", "scoring"),
    [("labels", "roc_auc"), ("labels", "f1_micro"), ("labels", make_label_scorer("brier")), ("numbers", "r2")],
)
def test_scores_of_rounds_are_those_of_known_values(kind: str, scoring: Any) -> None:
    X, y, mask = data(kind, "log_loss")
    gaps = np.where(mask, NAN, y)
    held = X[:30], gaps[:30]
    model = boosting(kind, scoring=scoring, n_iter_no_change=50, output_strategy="joint")
    model.fit(X[30:], y[30:], X_val=held[0], y_val=held[1], eval_sets=[held])
    plain = boosting(kind, output_strategy="joint").fit(X[30:], y[30:])
    expected = {
        "roc_auc": lambda: [roc_auc(held[1], found) for found in plain.staged_predict_proba(held[0])],
        "f1_micro": lambda: [micro_f1(held[1], found) for found in plain.staged_predict(held[0])],
        "r2": lambda: [masked_r2(held[1], found) for found in plain.staged_predict(held[0])],
    }.get(scoring, lambda: [-brier(held[1], found) for found in plain.staged_predict_proba(held[0])])()
    # Scores of stages are added up in float64, and the steps of a model are float32.
    np.testing.assert_allclose(model.validation_metric_, expected, rtol=1e-6)
    watched = model.eval_results_["eval_0"]["score"]
    np.testing.assert_allclose(watched, expected[: len(watched)], rtol=1e-6)
    # Samples that are held out know their mask, and what is under it does not matter.
    stopped = {"scoring": scoring, "early_stopping": True, "validation_fraction": 0.3}
    junk = np.where(mask, 1 - y, y)
    for other, given in ((y, mask), (junk, sp.csr_array(mask))):
        told = boosting(kind, **stopped).fit(X, other, y_weight=unless(given))
        np.testing.assert_array_equal(
            told.validation_metric_, boosting(kind, **stopped).fit(X, gaps).validation_metric_
        )
    if kind == "labels":
        sparse_y = boosting(kind, **stopped).fit(X, sp.csr_array(junk), y_weight=unless(mask))
        np.testing.assert_array_equal(sparse_y.validation_metric_, told.validation_metric_)
    with pytest.raises(ValueError, match=r"^scoring must be one of .* for y with unknown values, got 'max_error'$"):
        boosting(kind, scoring="max_error", early_stopping=True).fit(X, gaps)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "loss"), ALL)
def test_eval_sets_with_unknown_values_have_the_validation_losses(
    kind: str, loss: str, strategy: dict[str, Any]
) -> None:
    """The losses of a watched set are the validation losses that the engine computes for the same samples."""
    X, y, mask = data(kind, loss)
    held = np.where(mask, NAN, y)[:30]
    held[4] = NAN
    without_output = held.copy()
    without_output[:, 3] = NAN
    w = np.random.default_rng(0).random(30)
    w[::5] = 0
    # Scores of numerical outputs are float64 on both sides and are summed in a different order; scores of labels are
    # float32 in the engine.
    tolerance = 1e-10 if kind == "numbers" else 1e-5
    for y_held in (held, without_output):
        for weights in (None, w):
            model = boosting(kind, loss=loss, **strategy)
            watched = (X[:30], y_held) if weights is None else (X[:30], y_held, weights)
            rows = {"X_val": X[:30], "y_val": y_held, "sample_weight_val": weights}
            model.fit(X[30:], y[30:], eval_sets=[watched], **rows)
            found = model.eval_results_["eval_0"]["loss"]
            np.testing.assert_allclose(found, model.validation_score_, rtol=tolerance)
    # If the watched set is the training data with unknown values, its loss is the training loss.
    model = boosting(kind, loss=loss, **strategy)
    masked = np.where(mask, NAN, y)
    model.fit(X, masked, eval_sets=[(X, masked)])
    np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], model.train_score_, rtol=tolerance)


def test_watched_samples_of_weight_zero_are_ignored_whatever_outputs_they_know() -> None:
    X, y, mask = data("numbers", "squared_error")
    gaps = np.where(mask, NAN, y)
    w = np.arange(len(X)) % 3
    hostile = gaps.copy()
    hostile[w == 0] = NAN
    sets = [
        (X, gaps, w),
        (X, hostile, w),
        (X[w > 0], gaps[w > 0], w[w > 0]),
        (X.repeat(w, axis=0), gaps.repeat(w, axis=0)),
    ]
    found = boosting("numbers").fit(X, y, eval_sets=sets).eval_results_
    for name in ("eval_1", "eval_2"):
        np.testing.assert_array_equal(found[name]["loss"], found["eval_0"]["loss"])
    # The set of repeated samples has sums of more terms.
    np.testing.assert_allclose(found["eval_3"]["loss"], found["eval_0"]["loss"], rtol=1e-13)


def test_losses_of_watched_cells_are_those_of_the_books() -> None:
    X, y, mask = data("numbers", "squared_error")
    gaps = np.where(mask, NAN, y)
    for strategy in ("joint", "single_target"):
        model = boosting("numbers", output_strategy=strategy).fit(X, y, eval_sets=[(X, gaps)])
        losses = [half_squares(found, gaps) for found in model.staged_predict(X)]
        # The means over known values are summed in a different order.
        np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], losses, rtol=1e-12)


def test_own_losses_and_models_to_start_from_watch_known_cells() -> None:
    from sklearn.linear_model import LinearRegression

    class Square:
        def loss(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
            assert np.isfinite(y).all()
            return (y - scores) ** 2 / 2

        def gradient_hessian(self, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return scores - y, np.ones_like(y)

    X, y, mask = data("numbers", "squared_error")
    gaps = np.where(mask, NAN, y)
    for parameters in ({"loss": Square()}, {"init": LinearRegression()}):
        model = boosting("numbers", output_strategy="joint", **parameters).fit(X, y, eval_sets=[(X, gaps)])
        losses = [half_squares(found, gaps) for found in model.staged_predict(X)]
        # The means are summed in a different order, as in the previous test.
        np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], losses, rtol=1e-12)


def test_watched_gaps_that_cannot_be_are_refused() -> None:
    X, y, mask = data("labels", "log_loss")
    gaps = np.where(mask, NAN, y)
    with pytest.raises(ValueError, match=r"scoring must be one of .* for y with unknown values, got 'jaccard_samples'"):
        boosting("labels", scoring="jaccard_samples").fit(X, y, eval_sets=[(X, gaps)])
    nothing = np.full_like(gaps, NAN)
    with pytest.raises(ValueError, match=r"eval_sets\['a'\]: its y must have a known value"):
        boosting("labels").fit(X, y, eval_sets={"a": (X, nothing)})
    with pytest.raises(ValueError, match="y_val must have a known value"):
        boosting("labels").fit(X, y, X_val=X, y_val=nothing)
    with pytest.raises(ValueError, match=r"eval_sets\[0\]: Input y contains NaN and has one output: sampl"):
        boosting("numbers").fit(X, y[:, 0], eval_sets=[(X, gaps[:, 1])])
    classes = y + 2 * (np.arange(len(y))[:, None] % 2)
    with pytest.raises(ValueError, match=r"eval_sets\[0\]: Input y contains NaN"):
        boosting("labels").fit(X, classes, eval_sets=[(X, np.where(mask, NAN, classes))])


def test_what_does_not_support_masks_says_so() -> None:
    X, y, mask = data("labels", "log_loss")
    from sklearn.linear_model import LogisticRegression, Ridge

    refused: list[tuple[dict[str, Any], str]] = [
        ({"init": LogisticRegression()}, "init does not support y with masked entries: it must be None"),
        ({"estimator": Ridge(), "output_strategy": "joint"}, "estimator does not support y with masked entries"),
        (
            {"output_strategy": Projected("pca")},
            "^projection must be another family if y has masked cells, got 'pca'",
        ),
    ]
    for parameters, message in refused:
        with pytest.raises(ValueError, match=message):
            boosting("labels", **parameters).fit(X, y, y_weight=unless(mask))
    mask[:, 1] = True
    with pytest.raises(ValueError, match="y must have a known value in column 1"):
        boosting("labels").fit(X, y, y_weight=unless(mask))


def test_masked_models_grow_on_and_are_kept_by_files(tmp_path: Any) -> None:
    for kind, loss in (("numbers", "squared_error"), ("labels", "log_loss")):
        X, y, mask = data(kind, loss)
        whole = boosting(kind, loss=loss).fit(X, y, y_weight=unless(mask))
        parts = boosting(kind, loss=loss, n_estimators=3, warm_start=True).fit(X, y, y_weight=unless(mask))
        parts.set_params(n_estimators=6).fit(X, y, y_weight=unless(mask))
        np.testing.assert_array_equal(scores(parts, X), scores(whole, X))
        weald.save(whole, tmp_path / kind)
        np.testing.assert_array_equal(scores(weald.load(tmp_path / kind), X), scores(whole, X))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "loss"), [("numbers", "squared_error"), ("numbers", "huber"), ("labels", "log_loss")])
def test_leaves_fitted_again_to_the_known_values_are_the_same(kind: str, loss: str, strategy: dict[str, Any]) -> None:
    X, y, mask = data(kind, loss)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    model = boosting(kind, loss=loss, subsample=1.0, **strategy).fit(X, y, sample_weight=w, y_weight=unless(mask))
    junk = np.where(mask, 1 - y if kind == "labels" else y + 3, y)
    for other, given in ((y, mask), (junk, sp.csr_array(mask)), (np.where(mask, NAN, y), None)):
        again = model.refit_leaves(X, other, sample_weight=w, y_weight=unless(given))
        np.testing.assert_array_equal(scores(again, X), scores(model, X))
    # Samples of weight zero are as if they were absent, with their part of the mask.
    there = w > 0
    again = model.refit_leaves(X[there], y[there], sample_weight=w[there], y_weight=unless(mask[there]))
    np.testing.assert_array_equal(scores(again, X), scores(model, X))
    assert not np.array_equal(scores(model.refit_leaves(X, junk, sample_weight=w), X), scores(model, X))
    with pytest.raises(ValueError, match="y_weight must have 90 rows, as y, got 3"):
        model.refit_leaves(X, y, sample_weight=w, y_weight=unless(mask[:3]))
    hidden = np.zeros_like(mask)
    hidden[:, 1] = True
    with pytest.raises(ValueError, match="y must have a known value in column 1"):
        model.refit_leaves(X, y, y_weight=unless(hidden))


def test_masked_classes_of_one_output_are_left_out_of_refits() -> None:
    X, y, _ = data("numbers", "squared_error")
    classes = np.where(y[:, 0] > 0, "a", "b")
    model = weald.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, classes)
    mask = np.arange(len(X)) % 4 == 0
    again = model.refit_leaves(X, np.where(mask, "c", classes), y_weight=unless(mask))
    expected = model.refit_leaves(X[~mask], classes[~mask])
    np.testing.assert_array_equal(again.decision_function(X), expected.decision_function(X))
