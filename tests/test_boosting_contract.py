"""Boosting follows scikit-learn's contract, and its attributes and methods are consistent with each other."""

from __future__ import annotations

import copy
import inspect
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import BOOSTING, cases, combines_columns, has_outputs, make, make_data, model_bytes
from estimator_checks import with_estimator_checks
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import estimator_checks
from weald.projection import Projected

# The tolerance for sums of at most a few hundred float64 numbers in another order: about 1e-14 of the largest number.
ROUNDING = 1e-12

CLASSIFIER, REGRESSOR = BOOSTING
NAMES = [{"output_strategy": name} for name in ("single_target", "joint", "projected")]
STRATEGIES = [
    *NAMES[:2],
    {"output_strategy": Projected(n_projections=2)},
    {"output_strategy": Projected(relabel_leaves=False)},
]
OUTPUTS = ["single", "several", "labels"]


@pytest.fixture(params=BOOSTING)
def name(request):
    return request.param


pytestmark = [cases(has_outputs), cases(combines_columns)]


def defaults():
    for name in BOOSTING:
        yield make(name, n_estimators=40, random_state=None)
        for strategy in NAMES:
            yield make(name, learning_rate=0.5, **strategy)


def variations():
    for name in BOOSTING:
        for strategy in NAMES:
            yield make(name, max_bins=None, learning_rate=0.5, **strategy)
        yield make(name, max_leaf_nodes=6, max_features=0.7, n_jobs=2, n_estimators=20)
        yield make(name, leaf_estimation="line_search", learning_rate=0.3)
        yield make(name, l2_regularization=0.0, min_weight_leaf=0.0, learning_rate=0.3)
        yield make(name, learning_rate=0.5, subsample=0.7)
        yield make(name, warm_start=True, learning_rate=0.3)
        # Steps along directions that separate the labels are as long as the engine allows. A small learning rate keeps
        # the probabilities from reaching 1, where the checks could not tell the order of the scores.
        params = {"learning_rate": 0.01} if name == CLASSIFIER else {}
        yield make(name, leaf_estimation="line_search", n_estimators=50, **params)
        # Iterations for sparse X end so late that they do not tell a weight of two from two samples.
        # With `estimator`, `subsample` draws samples whatever their weights.
        weak = {
            "estimator": Ridge(alpha=1e-3, solver="lsqr", tol=1e-12),
            "subsample": 1.0,
            "learning_rate": 0.1,
            **params,
        }
        yield make(name, output_strategy="joint", **weak)
        yield make(name, output_strategy=Projected(relabel_leaves=False), **weak)
    yield make(REGRESSOR, loss="absolute_error", learning_rate=0.5, n_estimators=20)
    yield make(CLASSIFIER, loss="exponential")
    yield make(CLASSIFIER, loss="hinge")
    yield make(CLASSIFIER, loss="squared_error")
    # Without drawn features no two splits of these data are equally good within the rounding of such weights.
    yield make(CLASSIFIER, class_weight="balanced", max_features=None)


# No check is expected to fail. The checks that fit twice leave a warm start with no stages to add, hence the filter.
@pytest.mark.filterwarnings("ignore:Warm-start fitting without increasing")
@with_estimator_checks(defaults(), variations())
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("params", [*STRATEGIES, {"loss": "hinge"}, {"loss": "squared_error"}])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
        estimator_checks.check_classifiers_multilabel_output_format_predict_proba,
        estimator_checks.check_classifiers_multilabel_output_format_decision_function,
    ],
)
def test_scikit_learn_checks_of_labels(check, params):
    check(CLASSIFIER, make(CLASSIFIER, **params))


@pytest.mark.parametrize(("outputs", "rate", "share"), [("single", 0.05, "half"), ("several", 0.07, None)])
@pytest.mark.parametrize("extra", [{}, {"warm_start": True}])
def test_what_auto_stands_for(outputs, rate, share, extra):
    X, y = make_data(CLASSIFIER, outputs=outputs)
    found = make(CLASSIFIER, **extra).fit(X, y)
    same = make(CLASSIFIER, learning_rate=rate, max_features=share, **extra).fit(X, y)
    assert model_bytes(found) == model_bytes(same)
    assert (found.max_features_, found.learning_rate_) == (same.max_features_, rate)
    assert found.estimators_[0].max_features == share
    np.testing.assert_array_equal(
        found.set_params(n_estimators=7).fit(X, y)._scores(X), same.set_params(n_estimators=7).fit(X, y)._scores(X)
    )
    np.testing.assert_array_equal(
        found.refit_leaves(X[::2], y[::2])._scores(X), same.refit_leaves(X[::2], y[::2])._scores(X)
    )
    again = clone(found)
    assert (again.learning_rate, again.max_features) == ("auto", "auto")


@pytest.mark.parametrize("init", ["linear", "auto"])
def test_steps_from_a_linear_start_are_smaller_by_default(init):
    X, y = make_data(CLASSIFIER, outputs="labels", n=120)
    found = make(CLASSIFIER, init=init).fit(X, y)
    assert found.learning_rate_ == 0.05
    assert model_bytes(found) == model_bytes(make(CLASSIFIER, init=init, learning_rate=0.05).fit(X, y))


@pytest.mark.parametrize(("n_classes", "rate"), [(2, 0.05), (10, 0.05), (11, 0.07)])
def test_what_auto_stands_for_depends_on_the_number_of_classes(n_classes, rate):
    X, _ = make_data(CLASSIFIER)
    y = np.arange(len(X)) % n_classes
    found = make(CLASSIFIER).fit(X, y)
    same = make(CLASSIFIER, learning_rate=rate, max_features="half" if rate == 0.05 else None).fit(X, y)
    assert model_bytes(found) == model_bytes(same)


def test_parameters_that_scikit_learn_has_are_its(name):
    theirs = getattr(sklearn.ensemble, name)
    here, there = (inspect.signature(c.__init__).parameters for c in (getattr(weald, name), theirs))
    # Friedman's improvement and pruning are not supported, and quantiles have a parameter of their own.
    assert set(there) - set(here) == {"criterion", "ccp_alpha"} | ({"alpha"} if name == REGRESSOR else set())
    # Two defaults are those of scikit-learn's histogram gradient boosting, the others are chosen by a study (benches/defaults).
    others = {"max_depth": None, "tol": 1e-7}
    others |= dict.fromkeys(("learning_rate", "n_estimators", "max_leaf_nodes", "max_features"), "auto")
    others["subsample"] = "auto"
    for parameter in set(here) & set(there):
        assert here[parameter].default == others.get(parameter, there[parameter].default), parameter


def test_public_methods_are_scikit_learns_and_more(name):
    missing = {m for m in dir(getattr(sklearn.ensemble, name)) if not m.startswith("_")} - set(
        dir(getattr(weald, name))
    )
    assert missing == set()


def test_kinds(name):
    assert is_classifier(make(name)) == (name == CLASSIFIER)
    assert is_regressor(make(name)) == (name == REGRESSOR)


@pytest.mark.slow("python/weald/boosting.py", "python/weald/_fit", "python/weald/_rounds")
def test_pipeline_grid_search_and_parallel_cross_validation(name):
    X, y = make_data(name)
    model, depth = make_pipeline(StandardScaler(), make(name)), f"{name.lower()}__max_depth"
    search = GridSearchCV(model, {depth: [1, None]}, cv=2).fit(X, y)
    by_hand = [cross_val_score(clone(model).set_params(**{depth: value}), X, y, cv=2).mean() for value in (1, None)]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert by_hand[0] != by_hand[1]  # the scores differ because the parameter reaches the trees
    one, two = (cross_val_score(make(name), X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_pickle_joblib_copy_and_clone(name, params, outputs, tmp_path):
    X, y = make_data(name, outputs=outputs)
    model = make(name, **params).fit(X, y, X_val=X, y_val=y)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model"), copy.deepcopy(model)):
        assert model_bytes(again) == model_bytes(model)
        assert again._model == model._model
        for attribute in ("feature_importances_", "step_sizes_", "start_", "train_score_", "validation_score_"):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert pickle.dumps(model) == pickle.dumps(pickle.loads(pickle.dumps(model)))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "n_features_in_")


def test_frames_give_names(name):
    X, y = make_data(name, p=3)
    frame = pd.DataFrame(dict(zip(["one", "two", "three"], X.T, strict=True)))
    model = make(name).fit(frame, y, X_val=frame, y_val=y)
    assert model.feature_names_in_.tolist() == ["one", "two", "three"]
    with pytest.raises(ValueError, match="feature names"):
        make(name).fit(frame, y, X_val=frame[["two", "one", "three"]], y_val=y)


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_shapes_of_attributes(name, params, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name, **params).fit(X, y)
    width = {"single": 3 if name == CLASSIFIER else 1, "several": 9 if name == CLASSIFIER else 3, "labels": 3}[outputs]
    assert (model.n_estimators_, model.n_features_in_, model.n_outputs_) == (5, 12, 1 if outputs == "single" else 3)
    assert model.step_sizes_.shape == (5, width)
    assert model.start_.shape == (width,)
    assert model.train_score_.shape == (5,)
    assert not hasattr(model, "validation_score_")
    assert model.feature_importances_.shape == (12,)
    assert model.feature_importances_.sum() == pytest.approx(1, rel=ROUNDING)
    n_trees = 5 * (width if model._shared["output_strategy"] == "single_target" else 1)
    assert len(model) == len(model.estimators_) == len(list(model)) == n_trees
    leaves = model.apply(X)
    assert leaves.shape == (len(X), n_trees)
    assert leaves.dtype == np.int64
    np.testing.assert_array_equal(leaves, np.column_stack([tree.apply(X) for tree in model]))
    text = sklearn.tree.export_text(model[0], feature_names=[f"column {j}" for j in range(12)], max_depth=100)
    assert text.count("<=") == model[0].get_n_leaves() - 1


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_scores_are_sums_over_trees(name, params, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name, **params).fit(X, y)
    expected = np.tile(model.start_, (len(X), 1))
    width = expected.shape[1]
    single = params.get("output_strategy") == "single_target"
    for stage, steps in enumerate(model.step_sizes_):
        if single:
            trees = model.estimators_[stage * width : (stage + 1) * width]
            expected += np.column_stack([tree.predict(X) for tree in trees])
        else:
            added = model[stage].predict(X).reshape(len(X), -1)
            expected += added if added.shape[1] == width else model.learning_rate_ * steps * added
    found = model._scores(X)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_the_last_stage_is_the_model(name, params, outputs, container):
    X, y = make_data(name, outputs=outputs)
    model = make(name, **params).fit(X, y)
    X = container(X)
    methods = ["predict"] + ["predict_proba", "decision_function"] * (name == CLASSIFIER)
    for method in methods:
        stages = list(getattr(model, f"staged_{method}")(X))
        assert len(stages) == model.n_estimators_
        assert len({id(stage) for stage in stages}) == 5
        np.testing.assert_array_equal(stages[-1], getattr(model, method)(X))
        if method != "predict":
            assert not np.array_equal(stages[0], stages[-1])


@pytest.mark.parametrize("params", NAMES)
def test_a_model_of_fewer_stages_is_the_beginning_of_one_of_more(name, params):
    X, y = make_data(name)
    many = make(name, **params).fit(X, y)
    few = make(name, n_estimators=3, **params).fit(X, y)
    np.testing.assert_array_equal(list(many.staged_predict(X))[2], few.predict(X))


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge", "squared_error"])
@pytest.mark.parametrize("outputs", ["two", *OUTPUTS])
def test_decisions_predictions_and_probabilities_agree(loss, outputs):
    X, y = make_data(CLASSIFIER, outputs="single" if outputs == "two" else outputs)
    if outputs == "two":
        y = np.where(y == "a", "a", "b")
    model = make(CLASSIFIER, loss=loss, learning_rate=0.5).fit(X, y)
    decision, predicted = model.decision_function(X), model.predict(X)
    if outputs == "two":
        assert decision.shape == (len(X),)
        np.testing.assert_array_equal(predicted, model.classes_[(decision > 0).astype(int)])
    elif outputs == "single":
        np.testing.assert_array_equal(predicted, model.classes_[decision.argmax(axis=1)])
    elif outputs == "labels":
        np.testing.assert_array_equal(predicted, decision > 0)
    else:
        assert [part.shape for part in decision] == [(len(X), 3)] * 3
        np.testing.assert_array_equal(predicted, np.column_stack([part.argmax(axis=1) for part in decision]))
    if loss in ("hinge", "squared_error"):
        for method in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
            with pytest.raises(AttributeError, match="has no attribute") as raised:
                getattr(model, method)
            assert f"loss='{loss}' has no probabilities" in str(raised.value.__cause__)
        return
    proba = model.predict_proba(X)
    unit = 1 if loss == "log_loss" else 2  # the decision function is the log-odds or, for other losses, half of them
    half = np.isclose  # probabilities of one half may be rounded to either class
    if outputs == "labels":
        assert ((proba > 0.5) == predicted)[~half(proba, 0.5)].all()
        # The exponentials of the engine and of NumPy are both float64 (this also holds for the classes below).
        np.testing.assert_allclose(proba, 1 / (1 + np.exp(-unit * decision)), rtol=ROUNDING)
    elif outputs == "several":
        np.testing.assert_allclose([part.sum(axis=1) for part in proba], 1, rtol=ROUNDING)
        assert [part.shape for part in model.predict_log_proba(X)] == [(len(X), 3)] * 3
    else:
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=ROUNDING)
        assert (model.classes_[proba.argmax(axis=1)] == predicted).mean() == 1
        # The logarithms of the engine and of NumPy are each within one unit of the last place.
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-15)
    if outputs == "two":
        np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-unit * decision)), rtol=ROUNDING)


@pytest.mark.parametrize("params", STRATEGIES)
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float64])
def test_labels_come_back_as_they_were(dtype, params):
    X, Y = make_data(CLASSIFIER, outputs="labels")
    Y = Y.astype(dtype)
    dense = make(CLASSIFIER, **params).fit(X, Y)
    predicted = dense.predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == Y.shape
    for container in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.dok_matrix):
        model = make(CLASSIFIER, **params).fit(X, container(Y))
        assert model_bytes(model) == model_bytes(dense)
        labels = model.predict(X)
        assert labels.format == "csr"
        assert labels.dtype == dtype
        assert isinstance(labels, sparse.sparray) == issubclass(container, sparse.sparray)
        np.testing.assert_array_equal(labels.toarray(), predicted)
        assert (next(model.staged_predict(X)) != next(make_staged(dense, X))).nnz == 0


def make_staged(model, X):
    return map(sparse.csr_array, model.staged_predict(X))


@pytest.mark.parametrize("params", [*STRATEGIES, {"estimator": Ridge(), "output_strategy": "joint"}])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_topk_is_the_head_of_the_sorted_scores(labels, params, loss):
    X, Y = labels
    model = make(CLASSIFIER, loss=loss, **params).fit(X, Y)
    decision = model.decision_function(X)
    indices, scores = model.predict_topk(X, k=7, scores="margin")
    expected = np.argsort(-decision, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(scores, np.take_along_axis(decision, expected, axis=1))
    assert not hasattr(make(CLASSIFIER).fit(*make_data(CLASSIFIER, outputs="several")), "predict_topk")


def test_sparse_predictions_by_blocks(labels, monkeypatch):
    X, Y = labels
    model = make(CLASSIFIER).fit(X, Y)
    whole = model.predict(X)
    monkeypatch.setattr("weald._ranking.ranks.BLOCK_SCORES", 7 * Y.shape[1])
    for container in (sparse.csr_array, sparse.csc_array, np.asarray):
        blocks = model.predict(container(X.toarray()))
        assert (blocks != whole).nnz == 0
        assert blocks.dtype == whole.dtype


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_weigh_the_same(outputs, weighted):
    # Balanced weights are rounded to 30 bits, that is to 1e-9. In these data no two splits are equally good to that
    # precision.
    X, y = make_data(CLASSIFIER, outputs=outputs, n=310)
    w = np.arange(len(X)) % 3 + 1.0 if weighted else np.ones(len(X))
    expected = w.copy()
    for column in y.reshape(len(X), -1).T:
        classes, codes = np.unique(column, return_inverse=True)
        expected *= (w.sum() / (len(classes) * np.bincount(codes, w)))[codes]
    # In small nodes of deep trees splits can be equally good, and sums of a few weights can equal the minimum weight of
    # a leaf.
    params = {"max_depth": 3, "min_weight_leaf": 0.0, "max_features": None}
    model = make(CLASSIFIER, class_weight="balanced", **params).fit(X, y, sample_weight=w if weighted else None)
    same = make(CLASSIFIER, **params).fit(X, y, sample_weight=expected)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), rtol=0, atol=1e-7)


def test_class_weights_are_sample_weights():
    X, y = make_data(CLASSIFIER)
    by_class = {"a": 1, "b": 4, "c": 0.5}
    expected = make(CLASSIFIER).fit(X, y, sample_weight=[by_class[c] for c in y])
    assert model_bytes(make(CLASSIFIER, class_weight=by_class).fit(X, y)) == model_bytes(expected)


# Early stopping


# No linear model: LAPACK's last digits depend on where arrays lie in memory, and a fit is compared with another one.
@pytest.mark.parametrize(
    "params",
    [*STRATEGIES, {"estimator": DecisionTreeRegressor(max_depth=1, random_state=0), "output_strategy": "joint"}],
)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_best_stage_of_a_given_validation_set_is_kept(name, outputs, params):
    X, y = make_data(name, outputs=outputs, n=150)
    half = len(X) // 2
    held = {"X_val": X[half:], "y_val": y[half:]}
    whole = make(name, n_estimators=60, learning_rate=1.0, **params).fit(X[:half], y[:half], **held)
    assert whole.n_estimators_ == 60
    assert len(whole.validation_score_) == len(whole.train_score_) == 60
    stopped = make(name, n_estimators=60, learning_rate=1.0, n_iter_no_change=5, tol=0.0, **params)
    stopped.fit(X[:half], y[:half], **held)
    losses, best, since = whole.validation_score_, 0, 0
    for stage, loss in enumerate(losses[1:], start=1):
        best, since = (stage, 0) if loss < losses[best] else (best, since + 1)
        if since == 5:
            break
    assert stopped.n_estimators_ == best + 1
    # The losses of the rounds that were not kept are included, except with `estimator`.
    n_rounds = best + 1 if "estimator" in params else stage + 1
    assert len(stopped.validation_score_) == len(stopped.train_score_) == n_rounds
    np.testing.assert_array_equal(stopped.validation_score_, losses[:n_rounds])
    np.testing.assert_array_equal(stopped.step_sizes_, whole.step_sizes_[: best + 1])
    np.testing.assert_array_equal(stopped.predict(X), list(whole.staged_predict(X))[best])
    assert len(stopped.estimators_) == (best + 1) * len(whole.estimators_) // 60


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_a_share_of_the_rows_is_held_out(name, outputs):
    X, y = make_data(name, outputs=outputs, n=200)
    params = {"n_estimators": 200, "n_iter_no_change": 3, "learning_rate": 1.0}
    model = make(name, **params).fit(X, y)
    assert model.n_estimators_ < 200
    assert len(model.validation_score_) == len(model.train_score_) > model.n_estimators_
    again, other = (make(name, random_state=seed, **params).fit(X, y) for seed in (0, 1))
    assert model_bytes(again) == model_bytes(model) != model_bytes(other)
    # Samples of weight zero are neither trained on nor held out.
    w = np.arange(len(X)) % 2
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    removed = make(name, **params).fit(X[w > 0], y[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    assert not hasattr(model.set_params(n_iter_no_change=None, n_estimators=2).fit(X, y), "validation_score_")


def test_models_of_files_keep_their_leaf_estimation(tmp_path):
    X, y = make_data(REGRESSOR)
    for params in (
        {},
        {"leaf_estimation": "line_search"},
        {"l2_regularization": 0.0},
        {"min_weight_leaf": 0.0},
    ):
        model = make(REGRESSOR, **params).fit(X, y)
        weald.save(model, tmp_path / "model")
        again = weald.load(tmp_path / "model")
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("params", [*STRATEGIES, {"estimator": LinearRegression(), "output_strategy": "joint"}])
def test_copies_of_the_outputs_and_their_scale_do_not_decide_when_to_stop(params):
    # The loss is a mean over the outputs: with many easy outputs it is small, and so is its decrease at each stage.
    rng = np.random.default_rng(0)
    X = rng.random((200, 4)).astype(np.float32)
    y = np.sin(5 * X[:, :1]) + X[:, 1:2]
    params = {"n_iter_no_change": 2, "n_estimators": 40, "tol": 0.02, "random_state": 0, **params}
    n_stages = set()
    for scale in (1.0, 2.0**-10, 2.0**12):
        model = make("GradientBoostingRegressor", **params).fit(X, scale * np.hstack([y, y]))
        n_stages.add(model.n_estimators_)
    assert len(n_stages) == 1
    assert 3 < n_stages.pop() < 40


def test_many_labels_that_hardly_occur_do_not_stop_the_fit():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4)).astype(np.float32)
    few = (X[:, :2] > 0.5).astype(int)
    many = np.hstack([few, np.zeros((300, 3000), dtype=int)])
    params = {"n_iter_no_change": 3, "n_estimators": 30, "loss": "squared_error", "output_strategy": "joint"}
    a, b = (make(CLASSIFIER, random_state=0, **params).fit(X, y) for y in (few, many))
    assert a.n_estimators_ == b.n_estimators_ == 30
    # Stages that a warm start adds give the same number of stages as a single fit.
    more = make(CLASSIFIER, random_state=0, warm_start=True, **params | {"n_estimators": 10}).fit(X, many)
    assert more.set_params(n_estimators=30).fit(X, many).n_estimators_ == 30


def test_a_loss_of_zero_from_the_start_ends_the_fit():
    X = np.random.default_rng(0).random((40, 3))
    model = make("GradientBoostingRegressor", n_iter_no_change=4, n_estimators=50).fit(X, np.ones(40))
    assert model.n_estimators_ == 1
    assert set(model.validation_score_) == {0.0}
    assert len(model.validation_score_) <= 5


def test_samples_held_out_are_stratified_by_class():
    X, _ = make_data(CLASSIFIER, n=100)
    y = np.repeat(["common", "rare"], [90, 10])
    model = make(CLASSIFIER, n_iter_no_change=2, validation_fraction=0.2).fit(X, y)
    assert model.classes_.tolist() == ["common", "rare"]
    assert model.start_[0] == pytest.approx(0.5 * np.log(8 / 72), rel=ROUNDING)


# Weak models

WEAK = [{"output_strategy": "joint"}, {"output_strategy": Projected(relabel_leaves=False)}]


@pytest.mark.parametrize("params", WEAK)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weak_models_of_scikit_learn(name, outputs, params, container):
    X, y = make_data(name, outputs=outputs, n=120)
    weak = Ridge(alpha=1.0)
    params = {"subsample": 1.0, **params} if name == REGRESSOR else params
    model = make(name, estimator=weak, learning_rate=0.5, n_estimators=20, **params).fit(container(X), y)
    assert [type(part) for part in model.estimators_] == [Ridge] * 20
    assert not hasattr(weak, "coef_")
    # The tolerance is for sums of a hundred rounded terms of about 1.
    assert (np.diff(model.train_score_) <= 1e-12).all()
    assert not hasattr(model, "apply")
    assert not hasattr(model, "feature_importances_")
    scores = np.tile(model.start_, (len(X), 1))
    for part, step in zip(model.estimators_, model.step_sizes_, strict=True):
        scores += 0.5 * step * part.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(model._scores(X), scores, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    # X explains y: a linear model for each class or output must predict the training samples well.
    right = model.score(X, y) if name == REGRESSOR else (model.predict(X) == y).mean()
    assert right > 0.8


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("params", WEAK)
def test_trees_as_weak_models_are_the_trees_of_the_engine(params, loss):
    X, Y = make_data(REGRESSOR, outputs="several", n=100)
    X = X + np.random.default_rng(0).normal(size=X.shape).astype(np.float32)  # the noise removes ties
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    limits = {"max_depth": 2, "min_samples_leaf": 10}
    # Weak models do not have leaves that the engine could give Newton steps of their own, so that the trees use line
    # searches.
    shared = {
        "learning_rate": 0.5,
        "loss": loss,
        "subsample": 1.0,
        "max_features": None,
        **params,
    }
    trees = make(REGRESSOR, leaf_estimation="line_search", max_bins=None, **limits, **shared).fit(X, Y, sample_weight=w)
    weak = weald.DecisionTreeRegressor(**limits)
    other = make(REGRESSOR, estimator=weak, **shared).fit(X.astype(np.float32), Y, sample_weight=w)
    # Without weights both agree to 1e-13; with weights, each weight is rounded to 2⁻²⁵ of the total or finer.
    np.testing.assert_allclose(other.predict(X.astype(np.float32)), trees.predict(X), rtol=0, atol=1e-6)


def test_weak_models_are_seeded_by_stage():
    X, y = make_data(REGRESSOR)
    weak = make_pipeline(StandardScaler(), sklearn.tree.ExtraTreeRegressor(max_depth=2))
    one, again, other = (
        make(REGRESSOR, estimator=weak, output_strategy=Projected(relabel_leaves=False), random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.predict(X), again.predict(X))
    assert not np.array_equal(one.predict(X), other.predict(X))
    seeds = [part[-1].random_state for part in one.estimators_]
    assert len(set(seeds)) == 5


@pytest.mark.parametrize("params", WEAK)
def test_warm_start_with_weak_models(name, params):
    X, y = make_data(name)
    weak = {"estimator": sklearn.tree.ExtraTreeRegressor(max_depth=2), **params}
    warm = make(name, n_estimators=3, warm_start=True, **weak).fit(X, y)
    first = list(warm.estimators_)
    warm.set_params(n_estimators=7).fit(X, y)
    assert all(one is two for one, two in zip(first, warm.estimators_, strict=False))
    whole = make(name, n_estimators=7, **weak).fit(X, y)
    assert model_bytes(warm) == model_bytes(whole)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))


def test_subsample_is_a_share_of_the_samples_for_weak_models():
    class Spy(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            self.n_rows_, self.first_ = len(X), X[:, 0].tolist()
            return super().fit(X, y, sample_weight)

    X, y = np.arange(100.0)[:, None], np.arange(100.0) ** 2
    model = make(REGRESSOR, estimator=Spy(), output_strategy=Projected(relabel_leaves=False), subsample=0.4).fit(X, y)
    assert [part.n_rows_ for part in model.estimators_] == [40] * 5
    assert all(len(set(part.first_)) == 40 for part in model.estimators_)
    assert len({tuple(part.first_) for part in model.estimators_}) == 5
