"""Compressed forests follow scikit-learn's contract; their attributes and methods are consistent with each other."""

from __future__ import annotations

import copy
import pickle
import re
import sys

import joblib
import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
import weald
from conftest import COMPRESSED, dealt, make, make_data, model_bytes
from estimator_checks import with_estimator_checks
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from weald.compression import compact_leaves
from weald.inspection import CompressionPathDisplay

# The tolerance for sums and means of at most a few hundred float64 numbers in another order: about 1e-14 of the
# largest.
ROUNDING = 1e-12

CLASSIFIER, REGRESSOR = COMPRESSED
METHODS = {
    "stagewise": {},
    "scaled": {"standardize": True},
    "lasso": {"solver": "lasso"},
    "grow": {"induced": True},
}
OUTPUTS = ["single", "two", "several", "labels"]
LOSSES = {REGRESSOR: ["squared_error"], CLASSIFIER: ["squared_error", "log_loss"]}
CASES = [
    (name, loss, outputs)
    for name in COMPRESSED
    for loss in LOSSES[name]
    for outputs in OUTPUTS
    if name == CLASSIFIER or outputs in ("single", "several")
]


@pytest.fixture(params=COMPRESSED)
def name(request):
    return request.param


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


def data(name, outputs="single", **kwargs):
    X, y = make_data(name, outputs="single" if outputs == "two" else outputs, **kwargs)
    return X, np.where(y == "a", "a", "b") if outputs == "two" else y


def forest_of(name, **params):
    return make(name.replace("CompressedForest", "ExtraTrees"), **params)


# The steps are large, which suits the few samples of the checks and makes them quick.
FAST = {"random_state": None, "step_size": 0.05}


def variations():
    for name in COMPRESSED:
        yield make(name, **FAST, l1_norm=5.0)
        yield make(name, **FAST, l1_norm=None)
        yield make(name, **FAST, max_test_nodes=40, n_jobs=2)
        yield make(name, **FAST, estimator=forest_of(name, bootstrap=True, n_estimators=8))
        yield make(name, **FAST, estimator=getattr(weald, name.replace("CompressedForest", "DecisionTree"))())
    yield make(CLASSIFIER, step_size=0.05, loss="log_loss")
    yield make(CLASSIFIER, step_size=0.05, estimator=forest_of(CLASSIFIER, class_weight="balanced"))


# Some classes of the checks have few samples.
@pytest.mark.filterwarnings("ignore:The least populated class in y has only")
# The lasso is solved to a ten-thousandth of the penalty. Where a norm is large, that may be more than the check allows for
# weights in place of copies.
@with_estimator_checks(
    [
        make(name, **FAST | params | ({"l1_norm": 2.0} if params.get("solver") == "lasso" else {}))
        for name in COMPRESSED
        for params in METHODS.values()
    ],
    variations(),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("params", [*METHODS.values(), {"loss": "log_loss"}])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
        estimator_checks.check_classifiers_multilabel_output_format_decision_function,
    ],
)
def test_scikit_learn_checks_of_labels(check, params):
    check(CLASSIFIER, make(CLASSIFIER, step_size=0.05, **params))


def test_kinds(name):
    assert is_classifier(make(name)) == (name == CLASSIFIER)
    assert is_regressor(make(name)) == (name == REGRESSOR)


def test_both_have_the_same_parameters():
    classifier, regressor = (getattr(weald, name)().get_params() for name in COMPRESSED)
    assert classifier.pop("multi_label") == "auto"  # regressors have no labels
    assert classifier.pop("label_weight") is None
    assert classifier == regressor
    assert classifier["estimator"] is None


def test_parameters_of_the_estimator_are_parameters(name):
    model = make(name)
    assert model.get_params()["estimator__n_estimators"] == 5
    model.set_params(estimator__max_depth=2, l1_norm=None)
    assert model.estimator.max_depth == 2
    X, y = data(name)
    model.fit(X, y)
    assert max(tree.get_depth() for tree in model.estimator_) == 2
    assert model.estimator is not model.estimator_
    assert not hasattr(model.estimator, "n_features_in_")


def test_the_default_is_a_hundred_extra_trees(name):
    X, y = data(name)
    model = make(name, estimator=None, l1_norm=1.0).fit(X, y)
    assert type(model.estimator_).__name__ == name.replace("CompressedForest", "ExtraTrees")
    assert len(model.estimator_) == 100


@pytest.mark.slow("python/weald/compression.py", "crates/weald/src/compress")
def test_grid_search_over_norms_and_forests_and_parallel_cross_validation(name):
    X, y = data(name)
    model = make_pipeline(StandardScaler(), make(name))
    grid = {f"{name.lower()}__l1_norm": [0.1, 2.0], f"{name.lower()}__estimator__max_depth": [1, None]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_params_[f"{name.lower()}__l1_norm"] == 2.0
    one, two = (cross_val_score(make(name), X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


# Randomness


def test_a_seed_gives_the_same_model_twice_and_another_does_not(name, method):
    X, y = data(name)
    one, again, other = (make(name, random_state=s, **method).fit(X, y) for s in (0, 0, 1))
    assert model_bytes(one) == model_bytes(again) != model_bytes(other)
    for key, values in one.path_.items():
        np.testing.assert_array_equal(values, again.path_[key])


def test_an_estimator_keeps_a_seed_of_its_own(name):
    X, y = data(name)
    forest = forest_of(name, random_state=7)
    models = [make(name, estimator=forest, random_state=s).fit(X, y) for s in (0, 1)]
    expected = clone(forest).fit(X, y)
    for model in models:
        assert model_bytes(model.estimator_) == model_bytes(expected)
        assert model.estimator_.random_state == 7


# Forests that are fitted already


def test_a_frozen_forest_is_taken_as_it_is(name, method):
    X, y = data(name)
    forest = forest_of(name, random_state=7)
    grown = make(name, estimator=forest, **method).fit(X, y)
    forest.fit(X, y)
    model = make(name, estimator=FrozenEstimator(forest), **method)
    for frozen in (model, clone(model)):
        assert frozen.fit(X, y).estimator_ is forest
        assert model_bytes(frozen) == model_bytes(grown)
        np.testing.assert_array_equal(frozen.path_["test_loss_mean"], grown.path_["test_loss_mean"])
    assert make(name, estimator=forest, **method).fit(X, y).estimator_ is not forest


def test_whether_the_forest_is_fitted_is_no_parameter(name):
    with pytest.raises(TypeError, match="prefit"):
        make(name, prefit=True)


@pytest.mark.parametrize("tree", ["DecisionTree", "ExtraTree", "RandomForest"])
def test_any_tree_or_forest(name, method, tree):
    X, y = data(name)
    kind = "Classifier" if name == CLASSIFIER else "Regressor"
    estimator = make(f"{tree}{kind}", random_state=3).fit(X, y)
    model = make(name, estimator=FrozenEstimator(estimator), **method).fit(X, y)
    n_before = sum(t.tree_.node_count // 2 for t in (estimator if tree == "RandomForest" else [estimator]))
    assert 0 < model.n_test_nodes_ <= n_before
    assert model.compression_ratio_ == n_before / model.n_test_nodes_


def test_other_samples_may_find_the_coefficients(name):
    X, y = data(name, n=120)
    forest = forest_of(name).fit(X[:60], y[:60])
    model = make(name, estimator=FrozenEstimator(forest)).fit(X[60:], y[60:])
    same = make(name, estimator=FrozenEstimator(forest)).fit(X[:60], y[:60])
    assert model_bytes(model) != model_bytes(same)


# Attributes


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_shapes_of_attributes(name, loss, outputs, method):
    X, y = data(name, outputs)
    model = make(name, loss=loss, **method).fit(X, y)
    assert (model.n_features_in_, model.n_outputs_) == (12, 3 if outputs in ("several", "labels") else 1)
    assert set(model.path_) == {
        "l1_norm",
        "train_loss",
        "n_test_nodes",
        "n_nonzero",
        "test_loss_mean",
        "test_loss_std",
    }
    assert len({len(values) for values in model.path_.values()}) == 1
    assert all(np.isfinite(values).all() for values in model.path_.values())
    first = [model.path_[key][0] for key in ("l1_norm", "n_test_nodes", "n_nonzero", "test_loss_std")]
    assert first[:3] == [0, 0, 0]
    assert (model.path_["test_loss_std"] >= 0).all()
    assert model.path_["train_loss"][-1] < model.path_["train_loss"][0]
    assert model.step_ == model.path_["test_loss_mean"].argmin()
    assert model.l1_norm_ == model.path_["l1_norm"][model.step_]
    assert model.n_test_nodes_ == model.path_["n_test_nodes"][model.step_]
    assert model.n_test_nodes_ == sum(tree.tree_.node_count - tree.get_n_leaves() for tree in model)
    assert model.feature_importances_.shape == (12,)
    assert model.feature_importances_.sum() == pytest.approx(1 if model.n_test_nodes_ else 0, rel=ROUNDING)
    assert model.full_loss_ > 0
    if "solver" not in method:
        assert (np.diff(model.path_["n_test_nodes"]) >= 0).all()
        assert (np.diff(model.path_["l1_norm"]) > 0).all()


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_scores_are_the_mean_over_the_trees_that_are_left(name, loss, outputs, method):
    X, y = data(name, outputs)
    model = make(name, loss=loss, l1_norm=None, max_steps=150, **method).fit(X, y)
    assert 0 < len(model) <= 5
    assert len(model) == len(model.estimators_) == len(list(model))
    expected = np.mean([tree.predict(X).reshape(len(X), -1) for tree in model], axis=0)
    np.testing.assert_allclose(model._scores(X), expected, rtol=ROUNDING, atol=ROUNDING)
    leaves = model.apply(X)
    assert leaves.dtype == np.int64
    np.testing.assert_array_equal(leaves, np.column_stack([tree.apply(X) for tree in model]))
    indicator, offsets = model.decision_path(X)
    assert indicator.shape == (len(X), offsets[-1])
    assert len(offsets) == len(model) + 1
    assert indicator[np.arange(len(X)), offsets[0] + leaves[:, 0]].all()
    text = sklearn.tree.export_text(model[0], feature_names=[f"column {j}" for j in range(12)], max_depth=60)
    assert text.count("<=") == model[0].get_n_leaves() - 1


def test_without_cross_validation_there_is_no_test_loss(name):
    X, y = data(name)
    model = make(name).fit(X, y)
    assert hasattr(model, "full_loss_")
    model.set_params(l1_norm=0.5).fit(X, y)
    assert not hasattr(model, "full_loss_")
    assert not any(key.startswith("test") for key in model.path_)


def test_frames_give_names(name):
    X, y = data(name, p=3)
    columns = ["one", "two", "three"]
    frame = pd.DataFrame(dict(zip(columns, X.T, strict=True)))
    model = make(name).fit(frame, y)
    assert model.feature_names_in_.tolist() == model.estimator_.feature_names_in_.tolist() == columns
    assert model_bytes(model) == model_bytes(make(name).fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[columns[::-1]])


# Copies


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_pickle_joblib_copy_and_clone(name, loss, outputs, tmp_path):
    X, y = data(name, outputs)
    model = make(name, loss=loss).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    copies = [
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        copy.deepcopy(model),
        copy.copy(model),
    ]
    for again in copies:
        assert model_bytes(again) == model_bytes(model)
        assert again._model == model._model
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
        for method in ("predict", "apply", *["predict_proba", "decision_function"] * (name == CLASSIFIER)):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    # A pickle refers back to a string that occurs twice as one object. After loading, the keys of `path_` and names of
    # attributes may be two objects, as in Python 3.14: the second pickle may differ from the first, but no later one.
    second = pickle.dumps(pickle.loads(pickle.dumps(model)))
    assert pickle.dumps(pickle.loads(second)) == second
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert not hasattr(clone(model), "n_features_in_")


@pytest.mark.parametrize("frozen", [True, False])
def test_a_saved_model_is_small_and_has_no_path(name, frozen):
    X, y = data(name, n=300)
    forest = forest_of(name, n_estimators=30)
    given = FrozenEstimator(forest.fit(X, y)) if frozen else forest
    model = make(name, estimator=given, l1_norm=1.0, max_steps=110).fit(X, y)
    saved = pickle.dumps(model)
    assert len(saved) < len(pickle.dumps(model.estimator_)) / 5
    again = pickle.loads(saved)
    assert not hasattr(again, "estimator_")
    assert not hasattr(again, "path_")
    with pytest.raises(AttributeError, match="has no path_, since it was saved without its path: set keep_path=True"):
        again.path_  # noqa: B018
    with pytest.raises(ValueError, match="this model has no path of other values of l1_norm"):
        again.at(0.5)
    for other in (copy.copy(model), copy.deepcopy(model)):
        assert model_bytes(other.at(0.5)) == model_bytes(model.at(0.5))
    # In place of a frozen forest the loaded model holds an unfitted one, which is grown again in `fit`.
    assert not hasattr(again.estimator, "n_features_in_")
    assert again.fit(X, y).n_test_nodes_ > 0
    if frozen:
        assert pickle.loads(pickle.dumps(make(name, estimator=given))).fit(X, y).n_test_nodes_ > 0
    else:
        assert model_bytes(again) == model_bytes(model)


@pytest.mark.parametrize("kept", [False, True])
def test_a_saved_model_has_its_path_if_that_is_asked_for(name, method, kept, tmp_path):
    X, y = data(name)
    model = make(name, keep_path=kept, max_steps=40, **method).fit(X, y)
    weald.save(model, tmp_path / "model")
    without = weald.dumps(model.set_params(keep_path=False))
    assert (len((tmp_path / "model").read_bytes()) > len(without)) == kept
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model.set_params(keep_path=kept)))):
        assert hasattr(again, "path_") == hasattr(again, "step_") == kept
        assert again.full_loss_ == model.full_loss_
        if kept:
            assert again.step_ == model.step_
            assert again.path_.keys() == model.path_.keys()
            for key, values in again.path_.items():
                np.testing.assert_array_equal(values, model.path_[key])
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert weald.dumps(weald.load(tmp_path / "model")) == (tmp_path / "model").read_bytes()


def test_fitted_parameters_are_stored_unfitted(name):
    X, y = data(name, n=300)
    forest = forest_of(name, n_estimators=30)
    plain = make(name, estimator=clone(forest), l1_norm=1.0, max_steps=50).fit(X, y)
    model = make(name, estimator=forest.fit(X, y), l1_norm=1.0, max_steps=50).fit(X, y)
    assert model.estimator is forest
    assert hasattr(forest, "n_features_in_")
    # Parameters of a fitted estimator do not depend on whether it was fitted when it was passed.
    assert weald.dumps(model) == weald.dumps(plain)
    for again in (weald.loads(weald.dumps(model)), pickle.loads(pickle.dumps(model))):
        assert repr(again.get_params()) == repr(plain.get_params())
        assert not hasattr(again.estimator, "n_features_in_")
        assert model_bytes(again.fit(X, y)) == model_bytes(model)


# Other norms


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_at_is_the_model_fitted_with_that_norm(name, loss, outputs, method):
    X, y = data(name, outputs)
    whole = make(name, loss=loss, l1_norm=None, **method).fit(X, y)
    before = dict(whole.__dict__)
    for share in (0, 0.31, 1, 7):
        parameter, size = ("n_nodes", "n_nonzero") if "induced" in method else ("l1_norm", "l1_norm")
        t = share * whole.path_[size][-1]
        t = int(t) if "induced" in method else t
        model, fitted = whole.at(t), make(name, loss=loss, **method, **{parameter: t}).fit(X, y)
        assert model_bytes(model) == model_bytes(fitted)
        assert model.get_params()[parameter] == t
        assert model.l1_norm_ == fitted.l1_norm_
        assert getattr(model, f"{parameter}_") <= t
        assert (model.n_test_nodes_, model.step_) == (fitted.n_test_nodes_, fitted.step_)
        assert model.path_["l1_norm"][model.step_] <= model.l1_norm_
    assert whole.__dict__.keys() == before.keys()
    assert all(whole.__dict__[key] is before[key] for key in before)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_norm_zero_is_the_constant(name, loss, outputs, weighted, method):
    X, y = data(name, outputs)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    model = make(name, loss=loss, l1_norm=0.0, **method).fit(X, y, sample_weight=w)
    assert (model.n_test_nodes_, model.step_, len(model)) == (0, 0, 1)
    assert model.compression_ratio_ == np.inf
    if name == REGRESSOR:
        np.testing.assert_allclose(
            model.predict(X), np.broadcast_to(np.average(y, axis=0, weights=w), y.shape), rtol=ROUNDING
        )
        return
    columns = y if outputs == "labels" else y.reshape(len(X), -1)
    proba = model.predict_proba(X)
    parts = proba if outputs == "several" else [proba]
    if outputs == "labels":
        expected = [np.average(columns, axis=0, weights=w)]
    else:
        expected = [np.average(c[:, None] == np.unique(c), axis=0, weights=w) for c in columns.T]
    for part, mean in zip(parts, expected, strict=True):
        np.testing.assert_allclose(part, np.broadcast_to(mean, part.shape), rtol=ROUNDING)


# Classes and labels


@pytest.mark.parametrize("loss", LOSSES[CLASSIFIER])
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_decisions_predictions_and_probabilities_agree(loss, outputs, method):
    X, y = data(CLASSIFIER, outputs)
    model = make(CLASSIFIER, loss=loss, **method).fit(X, y)
    decision, predicted, proba = model.decision_function(X), model.predict(X), model.predict_proba(X)
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
    for part in proba if outputs == "several" else [proba]:
        assert (part >= 0).all()
        assert (part <= 1).all()
        if outputs != "labels":
            np.testing.assert_allclose(part.sum(axis=1), 1, rtol=ROUNDING)
    if outputs == "labels":
        assert ((proba > 0.5) == predicted)[~np.isclose(proba, 0.5)].all()
    if loss == "log_loss" and outputs in ("two", "labels"):
        found = proba if outputs == "labels" else proba[:, 1]
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-2 * decision)), rtol=ROUNDING)
    if loss == "log_loss" and outputs == "single":
        # The logarithms of the engine and of NumPy are each within one unit of the last place.
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-15)
        np.testing.assert_allclose(proba, np.exp(decision) / np.exp(decision).sum(axis=1, keepdims=True), rtol=ROUNDING)


@pytest.mark.parametrize("loss", LOSSES[CLASSIFIER])
@pytest.mark.parametrize("outputs", ["single", "two", "labels"])
def test_topk_is_the_head_of_the_sorted_probabilities(loss, outputs):
    X, y = data(CLASSIFIER, outputs)
    model = make(CLASSIFIER, loss=loss, l1_norm=0.5).fit(X, y)
    proba = model.predict_proba(X)
    indices, scores = model.predict_topk(X, k=2)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(scores, -np.sort(-proba, axis=1)[:, :2])
    np.testing.assert_array_equal(scores, np.take_along_axis(proba, indices, axis=1))
    for k in (0, 4, True, 1.5):
        with pytest.raises(ValueError, match=f"k must be an integer from 1 to .*, got {k}"):
            model.predict_topk(X, k)


def test_several_outputs_of_classes_have_no_topk():
    assert not hasattr(make(CLASSIFIER, l1_norm=0.5).fit(*data(CLASSIFIER, "several")), "predict_topk")
    assert not hasattr(make(REGRESSOR), "predict_topk")


@pytest.mark.parametrize("loss", LOSSES[CLASSIFIER])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float64])
def test_labels_come_back_as_they_were(dtype, loss):
    X, Y = data(CLASSIFIER, "labels")
    Y = Y.astype(dtype)
    dense = make(CLASSIFIER, loss=loss).fit(X, Y)
    predicted = dense.predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == Y.shape
    for container in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array):
        model = make(CLASSIFIER, loss=loss).fit(X, container(Y))
        assert model_bytes(model) == model_bytes(dense)
        labels = model.predict(X)
        assert labels.format == "csr"
        assert labels.dtype == dtype
        assert isinstance(labels, sparse.sparray) == issubclass(container, sparse.sparray)
        np.testing.assert_array_equal(labels.toarray(), predicted)


def test_sparse_predictions_by_blocks(labels, monkeypatch):
    X, Y = labels
    model = make(CLASSIFIER, l1_norm=None, max_steps=400).fit(X, Y)
    whole = model.predict(X)
    assert whole.nnz > 0
    monkeypatch.setattr("weald._ranking.ranks.BLOCK_SCORES", 7 * Y.shape[1])
    for container in (sparse.csr_array, sparse.csc_array, np.asarray):
        assert (model.predict(container(X.toarray())) != whole).nnz == 0


@pytest.mark.parametrize("rule", ["balanced", {"a": 1, "b": 4, "c": 0.5}])
def test_class_weights_of_the_estimator_weigh_the_samples(rule):
    X, y = data(CLASSIFIER)
    by_class = rule if isinstance(rule, dict) else {c: len(y) / (3 * np.sum(y == c)) for c in "abc"}
    w = np.array([by_class[c] for c in y])
    forest = forest_of(CLASSIFIER, class_weight=rule, random_state=1)
    model = make(CLASSIFIER, estimator=forest, l1_norm=0.8).fit(X, y)
    same = make(CLASSIFIER, estimator=clone(forest).set_params(class_weight=None), l1_norm=0.8).fit(X, y, w)
    # Balanced weights are rounded to 30 bits, that is to 1e-9 (this also holds below).
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=0, atol=1e-8)
    plain = make(CLASSIFIER, estimator=clone(forest).set_params(class_weight=None), l1_norm=0.8).fit(X, y)
    assert np.abs(plain.predict_proba(X) - model.predict_proba(X)).max() > 1e-3


def test_weights_by_tree_are_balanced_over_all_samples_here():
    X, y = data(CLASSIFIER)
    forest = weald.RandomForestClassifier(5, class_weight="balanced_subsample", random_state=0).fit(X, y)
    w = np.array([len(y) / (3 * np.sum(y == c)) for c in y])
    model = make(CLASSIFIER, estimator=FrozenEstimator(forest), l1_norm=0.8).fit(X, y)
    plain = make(
        CLASSIFIER, estimator=FrozenEstimator(clone(forest).set_params(class_weight=None).fit(X, y)), l1_norm=0.8
    )
    assert model.predict_proba(X).shape == plain.fit(X, y).predict_proba(X).shape
    constant = model.at(0).predict_proba(X[:1])[0]
    np.testing.assert_allclose(constant, [np.average(y == c, weights=w) for c in "abc"], rtol=0, atol=1e-8)


# Cross-validation


@pytest.mark.parametrize("outputs", ["single", "several"])
def test_losses_are_those_of_predictions(outputs):
    """Each half of the samples is tested on in turn: cross-validated losses are those of `predict`."""
    X, y = data(REGRESSOR, outputs)
    # Without ties between features, a tree that searches all features is the same in the fold and here, whatever the
    # seed is.
    X = X + np.random.default_rng(5).normal(scale=0.1, size=X.shape)
    rows = np.arange(len(X))
    folds = [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]
    tree = make("DecisionTreeRegressor", max_depth=2)
    model = make(REGRESSOR, estimator=tree, cv=folds, step_size=0.05).fit(X, y)
    single = [make(REGRESSOR, estimator=tree, l1_norm=None, step_size=0.05).fit(X[a], y[a]) for a, _ in folds]
    for step in (0, 3, 7):
        t = model.path_["l1_norm"][step]
        losses = [loss_of(half.at(t), X[test], y[test], outputs) for half, (_, test) in zip(single, folds, strict=True)]
        assert model.path_["test_loss_mean"][step] == pytest.approx(np.mean(losses), rel=ROUNDING)
        assert model.path_["test_loss_std"][step] == pytest.approx(np.std(losses), rel=1e-11, abs=1e-12)
    full = [
        loss_of(half.estimator_, X[test], y[test], outputs, full=True)
        for half, (_, test) in zip(single, folds, strict=True)
    ]
    assert model.full_loss_ == pytest.approx(np.mean(full), rel=ROUNDING)


def loss_of(model, X, y, outputs, full=False):
    if model._estimator_type == "regressor" if hasattr(model, "_estimator_type") else is_regressor(model):
        return mean_squared_error(y, model.predict(X))
    if outputs in ("single", "two"):
        return 1 - accuracy_score(y, model.predict(X))
    if outputs == "several":
        return (y != model.predict(X)).mean()
    if full or model.loss == "squared_error":
        score = model.predict_proba(X) if full else model.decision_function(X) + 0.5
        return ((y - score) ** 2).mean()
    return np.log1p(np.exp(-2 * (2 * y - 1) * model.decision_function(X))).mean()


def test_integers_are_folds_that_hold_out_rows(name):
    X, y = data(name)
    expected = make(name, cv=4).fit(X, y)
    by_hand = make(name, cv=dealt(4, X, y)).fit(X, y)
    np.testing.assert_array_equal(by_hand.path_["test_loss_mean"], expected.path_["test_loss_mean"])
    # The order of the samples does not matter but for sums: some units in the last place of losses.
    order = np.argsort(y, kind="stable")
    model = make(name, cv=4).fit(X[order], y[order])
    np.testing.assert_allclose(model.path_["test_loss_mean"][:3], expected.path_["test_loss_mean"][:3], rtol=1e-6)
    splitter = (StratifiedKFold if name == CLASSIFIER else KFold)(4)
    given, by_hand = (make(name, cv=cv).fit(X, y) for cv in (splitter, list(splitter.split(X, y))))
    np.testing.assert_array_equal(by_hand.path_["test_loss_mean"], given.path_["test_loss_mean"])
    five, none = (make(name, cv=cv).fit(X, y) for cv in (5, None))
    np.testing.assert_array_equal(five.path_["test_loss_mean"], none.path_["test_loss_mean"])


def test_folds_of_booleans_are_folds_of_samples(name):
    X, y = data(name)
    test = np.arange(len(X)) % 3 == 0
    masks, rows = [(~test, test), (test, ~test)], [(np.flatnonzero(~test), np.flatnonzero(test))] * 2
    rows[1] = rows[1][::-1]
    one, two = (make(name, cv=folds).fit(X, y) for folds in (masks, rows))
    np.testing.assert_array_equal(one.path_["test_loss_mean"], two.path_["test_loss_mean"])


# Budgets


def test_test_nodes_within_a_budget(name, method):
    X, y = data(name)
    free = make(name, **method).fit(X, y)
    assert free.n_test_nodes_ > 3
    # An exact path may pass through models larger than its best one, and a budget ends the path at the first model
    # above it.
    largest = int(free.path_["n_test_nodes"][: free.step_ + 1].max())
    best = np.inf
    for budget in (0, 1, 3, largest):
        model = make(name, max_test_nodes=budget, **method).fit(X, y)
        assert model.n_test_nodes_ <= budget
        loss = model.path_["test_loss_mean"][model.step_]
        assert loss <= best
        best = loss
    assert model_bytes(model) == model_bytes(free)


def test_bytes_that_an_error_names_are_enough_for_a_model_with_its_path(name, method):
    X, y = data(name)
    with pytest.raises(ValueError, match="max_bytes must be at least") as told:
        make(name, max_bytes=9, keep_path=True, max_steps=60, **method).fit(X, y)
    smallest = int(re.findall(r"\d+", str(told.value))[0])
    assert (
        len(weald.dumps(make(name, max_bytes=smallest, keep_path=True, max_steps=60, **method).fit(X, y))) == smallest
    )


def test_bytes_within_a_budget(name, method):
    X, y = data(name)
    free = make(name, **method).fit(X, y)
    with pytest.raises(
        ValueError, match=r"max_bytes must be at least \d+, the size of the smallest model, got 9"
    ) as told:
        make(name, max_bytes=9, **method).fit(X, y)
    smallest = int(re.findall(r"\d+", str(told.value))[0])
    least = make(name, max_bytes=smallest, **method).fit(X, y)
    assert len(weald.dumps(least)) == smallest
    with pytest.raises(ValueError, match=f"max_bytes must be at least {smallest}, the size of the smallest model, got"):
        make(name, max_bytes=smallest - 1, **method).fit(X, y)
    budget = (smallest + len(weald.dumps(free))) // 2
    model = make(name, max_bytes=budget, **method).fit(X, y)
    assert least.n_test_nodes_ < model.n_test_nodes_
    assert len(weald.dumps(model)) <= budget
    end = make(name, max_bytes=budget, l1_norm=None, **method).fit(X, y)
    assert len(weald.dumps(end)) <= budget
    assert end.n_test_nodes_ >= model.n_test_nodes_
    assert model_bytes(make(name, max_bytes=10**6, **method).fit(X, y)) == model_bytes(free)
    # The size of another model of the path changes nothing.
    before = dict(free.__dict__)
    assert free._n_bytes(free._path.at_step(0)) < len(weald.dumps(free))
    assert free.__dict__.keys() == before.keys()
    assert all(value is before[attribute] for attribute, value in free.__dict__.items())


def test_the_end_of_the_path_within_a_budget(name, method):
    X, y = data(name)
    whole = make(name, l1_norm=None, **method).fit(X, y)
    assert whole.step_ == len(whole.path_["l1_norm"]) - 1
    model = make(name, l1_norm=None, max_test_nodes=5, **method).fit(X, y)
    assert model.n_test_nodes_ <= 5
    assert (model.path_["n_test_nodes"][model.step_ + 1 :] > 5).all()


def test_the_smallest_model_within_a_loss(name, method):
    X, y = data(name, n=120)
    model = make(name, **method).fit(X, y)
    # The increase is half the way from the best loss of the path to the loss of the constant.
    losses = model.path_["test_loss_mean"] / model.full_loss_ - 1
    increase = round((losses.min() + losses[0]) / 2, 6)
    model = make(name, max_loss_increase=increase, **method).fit(X, y)
    loss, sizes = model.path_["test_loss_mean"], model.path_["n_test_nodes"]
    within = loss <= (1 + increase) * model.full_loss_
    assert within[model.step_]
    assert model.n_test_nodes_ == sizes[within].min()
    assert not within[sizes < model.n_test_nodes_].any()
    least = loss.min() / model.full_loss_ - 1
    with pytest.raises(
        ValueError, match=r"max_loss_increase must be at least .*the least cross-validated loss of the path is"
    ):
        make(name, max_loss_increase=max(-1, least - 0.01), **method).fit(X, y)
    with pytest.raises(
        ValueError, match=f"at least {model.n_test_nodes_}, the number of .* model within max_loss_increase={increase}"
    ):
        make(name, max_loss_increase=increase, max_test_nodes=model.n_test_nodes_ - 1, **method).fit(X, y)
    n_bytes = len(weald.dumps(model.set_params(max_bytes=1000)))  # of as many digits
    with pytest.raises(
        ValueError, match=f"at least {n_bytes}, the size of the smallest model within max_loss_increase={increase}"
    ):
        make(name, max_loss_increase=increase, max_bytes=n_bytes - 1, **method).fit(X, y)
    same = make(name, max_loss_increase=increase, max_bytes=n_bytes, max_test_nodes=model.n_test_nodes_, **method)
    assert model_bytes(same.fit(X, y)) == model_bytes(model)


def test_a_norm_above_the_budget_is_refused(name):
    X, y = data(name)
    model = make(name, l1_norm=1.0).fit(X, y)
    n = model.n_test_nodes_
    with pytest.raises(
        ValueError,
        match=f"max_test_nodes must be at least {n}, the number of test nodes of the model of l1_norm=1.0, got",
    ):
        make(name, l1_norm=1.0, max_test_nodes=n - 1).fit(X, y)
    n_bytes = len(weald.dumps(model.set_params(max_bytes=1000, max_test_nodes=n)))
    with pytest.raises(ValueError, match=f"max_bytes must be at least {n_bytes}, the size of the model of l1_norm"):
        make(name, l1_norm=1.0, max_bytes=n_bytes - 1, max_test_nodes=n).fit(X, y)
    within = make(name, l1_norm=1.0, max_bytes=n_bytes, max_test_nodes=n).fit(X, y)
    assert model_bytes(within) == model_bytes(model)


def test_max_steps_end_the_path(name):
    X, y = data(name)
    model = make(name, max_steps=7, l1_norm=None).fit(X, y)
    assert len(model.path_["l1_norm"]) == 8
    # The norm is a sum of seven steps of 0.05.
    assert model.l1_norm_ == pytest.approx(0.35, rel=1e-15)
    grown = make(name, max_steps=7, l1_norm=None, induced=True).fit(X, y)
    assert grown.path_["n_nonzero"][-1] <= 7


# The display of the path


@pytest.fixture
def agg():
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("l1_norm", ["cv", 0.5])
def test_the_picture_of_a_path(name, l1_norm, agg):
    X, y = data(name)
    model = make(name, l1_norm=l1_norm).fit(X, y)
    display = CompressionPathDisplay.from_estimator(model)
    with_test = {"test_loss", "test_loss_std", "full_loss"} if l1_norm == "cv" else set()
    assert set(display.lines_) == {"train_loss", "n_test_nodes", "chosen"} | with_test
    np.testing.assert_array_equal(display.lines_["n_test_nodes"].get_xdata(), model.path_["l1_norm"])
    np.testing.assert_array_equal(display.lines_["n_test_nodes"].get_ydata(), model.path_["n_test_nodes"])
    np.testing.assert_array_equal(display.lines_["train_loss"].get_ydata(), model.path_["train_loss"])
    assert display.ax_ is not display.size_ax_
    assert display.figure_ is display.ax_.figure is display.size_ax_.figure
    if l1_norm == "cv":
        np.testing.assert_array_equal(display.lines_["test_loss"].get_ydata(), model.path_["test_loss_mean"])
    _, ax = matplotlib.pyplot.subplots()
    assert CompressionPathDisplay(model.path_).plot(ax=ax).ax_ is ax


def test_the_picture_wants_a_fitted_model_and_matplotlib(name, agg, monkeypatch):
    with pytest.raises(NotFittedError):
        CompressionPathDisplay.from_estimator(make(name))
    X, y = data(name)
    with pytest.raises(TypeError, match=r"must be a compressed forest.*got ExtraTrees"):
        CompressionPathDisplay.from_estimator(forest_of(name).fit(X, y))
    model = make(name, l1_norm=0.5).fit(X, y)
    display = CompressionPathDisplay.from_estimator(model)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="requires matplotlib"):
        CompressionPathDisplay.from_estimator(model)
    with pytest.raises(ImportError, match="requires matplotlib"):
        display.plot()


def test_leaves_of_compressed_models_become_smaller():
    X, Y = make_multilabel_classification(200, n_classes=30, n_labels=4, random_state=0)
    forest = weald.ExtraTreesClassifier(10, random_state=0)
    model = weald.CompressedForestClassifier(forest, l1_norm=None, step_size=0.05, random_state=0).fit(X, Y)
    small, report = compact_leaves(model, dtype="float16", X=X)
    assert report["n_bytes_after"] == len(small._model.to_bytes()) < report["n_bytes_before"] / 2
    change = np.abs(small.decision_function(X) - model.decision_function(X)).max()
    # The change is a difference of rounded scores, and the change on `X` is computed in the same way.
    assert 0 < change <= report["max_change"] * (1 + 1e-12)
    assert change == report["max_change_on_X"]
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    for parameters in ({"top_k": 3}, {"training_data": (X, Y)}):
        with pytest.raises(ValueError, match="compressed forest"):
            compact_leaves(model, **parameters)


def test_steps_on_few_labels_make_sparse_leaves():
    X, Y = make_multilabel_classification(200, n_classes=30, n_labels=4, random_state=0)
    forest = FrozenEstimator(weald.ExtraTreesClassifier(10, random_state=0).fit(X, Y))
    parameters = {"l1_norm": None, "step_size": 0.05, "max_steps": 20, "random_state": 0}
    whole = weald.CompressedForestClassifier(forest, **parameters).fit(X, Y)
    few = weald.CompressedForestClassifier(forest, step_outputs=2, **parameters).fit(X, Y)
    assert ((few._path.coefficients(1)[2] != 0).sum(axis=1) == 2).all()
    assert len(few._model.to_bytes()) < len(whole._model.to_bytes())
    # The last tree is the constant.
    assert few.estimators_[-1].get_n_leaves() == 1
    scores = np.mean([tree.predict(X) for tree in few.estimators_], axis=0)
    # The decision function is the score less the threshold of one half.
    np.testing.assert_allclose(few.decision_function(X) + 0.5, scores, rtol=0, atol=1e-12)
    same = weald.CompressedForestClassifier(forest, step_outputs=30, **parameters).fit(X, Y)
    np.testing.assert_array_equal(same.decision_function(X), whole.decision_function(X))


# Defaults


# The forests have only a few trees, since fits take seconds; everything else has its default, in particular ten folds.
# The checks fit classes with a few samples, where fewer folds are used, with a warning.
@pytest.mark.filterwarnings("ignore:cv is .* folds", "ignore:The least populated class")
@with_estimator_checks(
    [
        weald.CompressedForestClassifier(weald.ExtraTreesClassifier(3)),
        weald.CompressedForestRegressor(weald.ExtraTreesRegressor(3)),
    ]
)
def test_defaults_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_more_folds_than_the_data_supports_are_lowered_with_a_warning():
    X, y = data(CLASSIFIER, n=40)
    few = np.r_[np.flatnonzero(y == "a")[:4], np.flatnonzero(y == "b")[:3]]
    params = {"estimator": forest_of(CLASSIFIER), "max_steps": 20}
    with pytest.warns(UserWarning, match="cv is 10, but there are only 4 samples of the largest .*: using 4 folds"):
        model = make(CLASSIFIER, cv=10, **params).fit(X[few], y[few])
    assert model_bytes(model) == model_bytes(make(CLASSIFIER, cv=4, **params).fit(X[few], y[few]))
    X, y = data(REGRESSOR, n=6)
    with pytest.warns(UserWarning, match="cv is 7, but there are only 6 samples with .*: using 6 folds"):
        make(REGRESSOR, cv=7).fit(X, y)
    with pytest.raises(ValueError, match="n_samples=1"):
        make(REGRESSOR, cv=7).fit(X[:1], y[:1])


def test_a_model_that_is_too_large_is_said_to_be_so_by_its_own_parameter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    with pytest.raises(ValueError, match="model of n_nodes=60, got 1000; a smaller n_nodes takes fewer bytes"):
        weald.InducedForestRegressor(n_nodes=60, max_bytes=1000, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"model of l1_norm=0\.9, got 1000; a smaller l1_norm takes fewer bytes"):
        weald.CompressedForestRegressor(l1_norm=0.9, max_bytes=1000, random_state=0).fit(X, X[:, 0])
