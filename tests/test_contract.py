"""The contract of scikit-learn for estimators, and their use together with other parts of scikit-learn."""

from __future__ import annotations

import copy
import inspect
import pickle

import joblib
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import (
    ALL,
    CENTROIDS,
    CLASSIFIERS,
    FORESTS,
    LABEL_TREES,
    LINEAR,
    REGRESSORS,
    TREES,
    cases,
    has_outputs,
    make,
    make_data,
    model_bytes,
)
from estimator_checks import with_estimator_checks
from every import EVERY, problem
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning
from sklearn.inspection import partial_dependence
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from weald.projection import RademacherProjection
from weald.voting import BaseVoting

# The tolerance for sums and means of at most a few hundred float64 numbers in another order: about 1e-14 of the
# largest.
ROUNDING = 1e-12


def variations():
    for name in ALL:
        yield make(name, max_leaf_nodes=60)
        yield make(name, ccp_alpha=1e-4)
        yield make(name, max_depth=12, max_features=0.7)
        # the checks fit classifiers to a single output of classes, which does not support projections
        if name in REGRESSORS:
            yield make(name, output_projection="gaussian")
            yield make(name, output_scaling="variance")
            yield make(name, output_projection=RademacherProjection("achlioptas"), n_projections=3)
        if name in CLASSIFIERS:
            yield make(name, criterion="entropy")
            yield make(name, class_weight="balanced")
    for name in LINEAR:
        yield make(name, C=10.0, features="normalized", min_weight=0.0, max_iter=100_000)
        yield make(name, features="standardized", n_jobs=2)
        yield make(name, features="tfidf", class_weight="balanced")
        # nothing is held out
        yield make(name, C=1.0, features="normalized", calibrate=False, max_iter=100_000)
        yield make(name, C=1.0, features="standardized", calibrate=False, max_iter=100_000)
    for name in LABEL_TREES:
        yield make(name, C=10.0, features="normalized", max_leaf_labels=1, max_children=2, max_iter=100_000)
        yield make(name, features="tfidf", n_jobs=2, n_estimators=1, max_leaf_labels=2, beam_width=1)
    for name in CENTROIDS:
        yield make(name, n_children=3, max_leaf_samples=5, refine=False, soft_routing=False, smoothing=0)
        yield make(name, bootstrap=True, n_jobs=2)
        yield make(name, warm_start=True)
    for name in TREES:
        yield make(name, splitter="random")
        yield make(name, splitter="best", max_features="log2")
    for name in FORESTS:
        yield make(name, bootstrap=True, n_jobs=2)
        yield make(name, bootstrap=False)
        yield make(name, warm_start=True)
        if name in CLASSIFIERS:
            yield make(name, bootstrap=True, class_weight="balanced_subsample")


def expected_failures(estimator):
    """Centroid forests depend on the order of samples (docs/centroid-forests.md), which the checks shuffle.

    test_centroid.py tests that samples of weight zero are ignored, and that a sample of weight two equals two adjacent
    samples.

    Folds hold out rows (docs/determinism.md), so that linear models for which nothing is held out are those of the checks.
    """
    name = type(estimator).__name__
    if name in LINEAR and estimator.calibrate and estimator.strategy != "tree":
        reason = "copies are held out one by one"
    # Without `refine` the three classes of the checks are three clusters in any order of the samples.
    elif name in CENTROIDS and estimator.refine:
        reason = "forests are equal only for samples in the same order"
    else:
        return {}
    return {f"check_sample_weight_equivalence_on_{what}_data": reason for what in ("dense", "sparse")}


# With five trees and the few samples of the checks, some samples are drawn by every tree and have no out-of-bag score.
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
# Checks that fit twice leave a warm start with no trees to add.
@pytest.mark.filterwarnings("ignore:Warm-start fitting without increasing")
@with_estimator_checks(
    [make(name, random_state=None) for name in ALL + CENTROIDS + LINEAR + LABEL_TREES],
    [*variations(), *(make(name, bootstrap=True, oob_score=True) for name in FORESTS + CENTROIDS)],
    expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# scikit-learn runs these checks only for estimators with the tag `multi_label`, for which another check requires
# probabilities strictly between 0 and 1.
@pytest.mark.parametrize("params", [{}, {"output_projection": "gaussian"}, {"output_projection": "subsample"}])
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
        estimator_checks.check_classifiers_multilabel_output_format_decision_function,
    ],
)
def test_scikit_learn_checks_of_labels(name, check, params):
    check(name, make(name, **params))


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_scikit_learns(name):
    theirs = getattr(sklearn.tree if name in TREES else sklearn.ensemble, name)
    here, there = (inspect.signature(c.__init__).parameters for c in (getattr(weald, name), theirs))
    assert set(there) <= set(here)
    new = {"output_projection", "n_projections", "categorical_features", "interaction_cst"}
    new |= {"projection_scope", "keep_rows", "output_strategy"} if name in FORESTS else {"n_jobs"}
    new |= {"output_scaling", "output_weights"} if name in REGRESSORS else {"label_weight"}
    new |= set() if name.startswith("ExtraTrees") else {"max_bins"}
    assert set(list(here)[-len(new) :]) == new
    new |= {"multi_label"} if name.endswith("Classifier") else set()
    assert set(here) - set(there) == new
    for parameter in set(here) - new:
        assert here[parameter].default == there[parameter].default, parameter
        assert here[parameter].kind == there[parameter].kind, parameter


@pytest.mark.parametrize("name", ALL)
def test_public_methods_are_scikit_learns_and_more(name):
    theirs = getattr(sklearn.tree if name in TREES else sklearn.ensemble, name)
    missing = {m for m in dir(theirs) if not m.startswith("_")} - set(dir(getattr(weald, name)))
    assert missing <= {"estimators_samples_"}


def test_kinds(name):
    estimator = make(name)
    assert is_classifier(estimator) == (name in CLASSIFIERS)
    assert is_regressor(estimator) == (name in REGRESSORS)


def test_pipeline_grid_search_and_parallel_cross_validation(name):
    X, y = make_data(name)
    model, depth = make_pipeline(StandardScaler(), make(name)), f"{name.lower()}__max_depth"
    search = GridSearchCV(model, {depth: [1, None]}, cv=2).fit(X, y)
    by_hand = [cross_val_score(clone(model).set_params(**{depth: value}), X, y, cv=2).mean() for value in (1, None)]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert by_hand[0] != by_hand[1]  # the parameter reaches the trees
    one, two = (cross_val_score(make(name), X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_pickle_joblib_copy_and_clone(name, tmp_path):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model"), copy.deepcopy(model)):
        assert model_bytes(again) == model_bytes(model)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    assert pickle.dumps(model) == pickle.dumps(pickle.loads(pickle.dumps(model)))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "n_features_in_")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_and_the_same_model(name, frame):
    X, y = make_data(name, p=3)
    columns = ["one", "two", "three"]
    X_frame = frame(dict(zip(columns, X.T, strict=True)))
    model = make(name).fit(X_frame, y)
    assert model.feature_names_in_.tolist() == columns
    assert model_bytes(model) == model_bytes(make(name).fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict(zip(["one", "three", "two"], X.T, strict=True))))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("series", [pd.Series, pl.Series, list])
def test_y_and_weights_of_any_vector_type(name, series):
    X, y = make_data(name)
    w = np.arange(1.0, len(X) + 1)
    expected = make(name).fit(X, y, sample_weight=w)
    assert model_bytes(make(name).fit(X, series(y), sample_weight=series(w))) == model_bytes(expected)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier"])
def test_base_of_adaboost_and_bagging(name):
    X, y = make_data(name, n=150)
    base = make(name, max_depth=2)
    for meta in (sklearn.ensemble.AdaBoostClassifier, sklearn.ensemble.BaggingClassifier):
        assert meta(estimator=base, n_estimators=5, random_state=0).fit(X, y).score(X, y) > 0.5


def test_base_of_adaboost_regressor():
    X, y = make_data("DecisionTreeRegressor", n=150)
    meta = sklearn.ensemble.AdaBoostRegressor(estimator=make("DecisionTreeRegressor", max_depth=4), n_estimators=5)
    assert meta.fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("name", TREES)
def test_scikit_learn_prints_trees(name):
    X, y = make_data(name)
    model = make(name, max_depth=3).fit(X, y)
    text = sklearn.tree.export_text(model, feature_names=[f"column {j}" for j in range(X.shape[1])])
    assert text.count("<=") == model.get_n_leaves() - 1
    assert ("class: a" in text) == (name in CLASSIFIERS)
    assert sklearn.tree.export_graphviz(model).startswith("digraph Tree")


def test_scikit_learn_plots_trees():
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    X, y = make_data("DecisionTreeClassifier")
    model = make("RandomForestClassifier", max_depth=2).fit(X, y)[0]
    assert len(sklearn.tree.plot_tree(model)) >= model.tree_.node_count
    plt.close("all")


@pytest.mark.parametrize("features", [[0], [0, 2]])
def test_partial_dependence_by_recursion_is_that_of_scikit_learn(features):
    rng = np.random.default_rng(0)
    X = rng.random((200, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.05, size=200)
    model = make("DecisionTreeRegressor", max_depth=4).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=ROUNDING)
    grid = {"grid_resolution": 5, "method": "recursion"}
    here, there = (partial_dependence(m, X, features, **grid)["average"] for m in (model, theirs))
    np.testing.assert_allclose(here, there, rtol=ROUNDING)
    forest = make("RandomForestRegressor").fit(X, y)
    by_forest = forest._compute_partial_dependence_recursion([[0.5] * len(features)], np.array(features))
    by_tree = [t._compute_partial_dependence_recursion([[0.5] * len(features)], np.array(features)) for t in forest]
    np.testing.assert_allclose(by_forest, np.mean(by_tree, axis=0), rtol=ROUNDING)


@pytest.mark.parametrize("name", TREES)
@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
def test_tree_arrays_agree_with_each_other_and_with_predictions(name, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name).fit(X, y)
    tree = model.tree_
    n = tree.node_count
    assert (tree.n_features, tree.n_outputs) == (X.shape[1], model.n_outputs_)
    for array in ("children_left", "children_right", "feature"):
        assert getattr(tree, array).shape == (n,)
        assert getattr(tree, array).dtype == np.int64
    leaf = tree.children_left == -1
    assert (tree.children_right[leaf] == -1).all()
    assert (tree.feature[leaf] == -2).all()
    assert (tree.threshold[leaf] == -2).all()
    assert leaf.sum() == tree.n_leaves == model.get_n_leaves()
    inner = ~leaf
    for array in (tree.n_node_samples, tree.weighted_n_node_samples):
        # The weights in these data are whole numbers, so that their sums are exact.
        np.testing.assert_array_equal(
            array[inner], array[tree.children_left[inner]] + array[tree.children_right[inner]]
        )
    assert tree.value.shape == (n, tree.n_outputs, tree.max_n_classes)
    leaves = model.apply(X)
    np.testing.assert_array_equal(tree.apply(X.astype(np.float32)), leaves)
    assert leaf[leaves].all()
    path = model.decision_path(X)
    assert path.shape == (len(X), n)
    assert (path[np.arange(len(X)), leaves] == 1).all()
    assert path.sum(axis=1).max() == model.get_depth() + 1
    importances = tree.compute_feature_importances()
    np.testing.assert_allclose(importances, model.feature_importances_, rtol=0, atol=ROUNDING)
    if name in REGRESSORS:
        np.testing.assert_array_equal(tree.predict(X)[..., 0], model.predict(X))
    elif outputs == "labels":
        np.testing.assert_array_equal(tree.predict(X)[..., 1], model.predict_proba(X))
    elif outputs == "single":
        np.testing.assert_array_equal(tree.predict(X), model.predict_proba(X))


@pytest.mark.parametrize("name", FORESTS)
@cases(has_outputs)
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
def test_members_average_to_the_forest(name, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name).fit(X, y)
    members = model.estimators_
    assert len(members) == len(model) == 5
    assert len(list(model)) == len(members[1:]) + 1
    assert members[-1].tree_.node_count == members[4].tree_.node_count
    with pytest.raises(IndexError):
        members[5]
    method = "predict" if name in REGRESSORS else "predict_proba"
    mean = np.mean([getattr(member, method)(X) for member in members], axis=0)
    np.testing.assert_allclose(mean, getattr(model, method)(X), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_array_equal(model.apply(X), np.column_stack([member.apply(X) for member in members]))
    indicator, first = model.decision_path(X)
    assert first[-1] == indicator.shape[1] == sum(member.tree_.node_count for member in members)
    for i, member in enumerate(members):
        assert (indicator[:, first[i] : first[i + 1]] != member.decision_path(X)).nnz == 0


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float64])
def test_labels_come_back_as_they_were(name, dtype):
    X, Y = make_data(name, outputs="labels")
    Y = Y.astype(dtype)
    dense = make(name).fit(X, Y)
    predicted = dense.predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == Y.shape
    proba = dense.predict_proba(X)
    np.testing.assert_array_equal(predicted, proba > 0.5)
    np.testing.assert_array_equal(dense.decision_function(X), proba - 0.5)
    assert (dense.n_classes_, dense.n_outputs_, dense.classes_.tolist()) == (3, 3, [0, 1, 2])
    for container in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.dok_matrix):
        model = make(name).fit(X, container(Y))
        assert model_bytes(model) == model_bytes(dense)
        labels = model.predict(X)
        assert labels.format == "csr"
        assert labels.dtype == dtype
        assert isinstance(labels, sparse.sparray) == issubclass(container, sparse.sparray)
        np.testing.assert_array_equal(labels.toarray(), predicted)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_decision_function_is_for_labels_only(name):
    X, y = make_data(name)
    assert not hasattr(make(name), "decision_function")
    assert not hasattr(make(name).fit(X, y), "decision_function")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_sparse_predictions_by_blocks(name, labels, monkeypatch):
    X, Y = labels
    model = make(name).fit(X, Y)
    whole = model.predict(X)
    monkeypatch.setattr("weald._ranking.ranks.BLOCK_SCORES", 7 * Y.shape[1])
    for container in (sparse.csr_array, sparse.csc_array, np.asarray):
        blocks = model.predict(container(X.toarray()))
        assert (blocks != whole).nnz == 0
        assert blocks.dtype == whole.dtype


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_topk_is_the_head_of_the_sorted_probabilities(name, labels):
    X, Y = labels
    model = make(name).fit(X, Y)
    proba = model.predict_proba(X)
    indices, scores = model.predict_topk(X, k=7)
    expected = np.argsort(-proba, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(scores, np.take_along_axis(proba, expected, axis=1))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_topk_of_one_output_names_classes(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    indices, _ = model.predict_topk(X, k=1)
    np.testing.assert_array_equal(model.classes_[indices[:, 0]], model.predict(X))
    several = make(name).fit(*make_data(name, outputs="several"))
    assert not hasattr(several, "predict_topk")


OF_NUMBERS = [name for name, entry in EVERY.items() if "numbers" in entry.outputs and "Conformal" not in name]


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_topk_of_numbers_is_the_head_of_the_sorted_predictions(name, monkeypatch):
    """As for ratings: what is known of a sample is left out, and so is what is small."""
    entry = EVERY[name]
    X, Y = problem("numbers")
    Y = pd.DataFrame(np.c_[Y, Y[:, :1] - Y[:, 1:2], Y[:, 0] ** 2], columns=[f"item {j}" for j in range(Y.shape[1] + 2)])
    model = entry.build()
    if not entry.refits:
        Y = Y.iloc[:, :-2]
    model.fit(X, Y)
    X, k = X[:20].astype(np.float32), Y.shape[1]
    predicted = np.asarray(model.predict(X))
    order = np.argsort(-predicted, axis=1, kind="stable")
    ranked = np.take_along_axis(predicted, order, axis=1)
    for size in (10**6, 3 * k):
        monkeypatch.setattr("weald._ranking.ranks.BLOCK_SCORES", size)
        indices, found = model.predict_topk(X, k)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(found, ranked)
        known = sparse.csr_array(predicted >= np.median(predicted))
        for exclude in (known, known.toarray(), pd.DataFrame(known.toarray(), columns=Y.columns)):
            indices, found = weald.topk(model, X, k, exclude=exclude, min_score=predicted.min() + 1e-9, chunk_size=7)
            for row, (left, scores) in enumerate(zip(indices, found, strict=True)):
                kept = [j for j in order[row] if not known[row, j] and predicted[row, j] > predicted.min()]
                assert left.tolist() == kept + [-1] * (k - len(kept))
                assert np.isneginf(scores[len(kept) :]).all()
    names, _ = model.predict_topk(X, 1, names=True)
    assert names[:, 0].tolist() == Y.columns[order[:, 0]].tolist()
    if not isinstance(model, BaseVoting):
        one, scores = weald.Predictor(model).predict_topk(X[3], 2, exclude=[0])
        both = model.predict_topk(X[3:4], 2, exclude=[0])
        np.testing.assert_array_equal(one, both[0][0])
        np.testing.assert_array_equal(scores, both[1][0])
    with pytest.raises(ValueError, match=r"scores must be 'auto' for .*, which has no predict_proba"):
        model.predict_topk(X, 1, scores="probability")
    if entry.refits and "number" in entry.outputs:
        assert not hasattr(entry.build().fit(X, Y["item 0"].to_numpy()[:20]), "predict_topk")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_several_outputs_of_classes(name):
    X, Y = make_data(name, outputs="several")
    model = make(name).fit(X, Y)
    proba = model.predict_proba(X)
    assert [part.shape for part in proba] == [(len(X), k) for k in model.n_classes_]
    np.testing.assert_allclose([part.sum(axis=1) for part in proba], 1, rtol=ROUNDING)
    assert model.predict(X).shape == Y.shape
    assert [part.shape for part in model.predict_log_proba(X)] == [part.shape for part in proba]
    # A column of 0 and 1 beside columns of other values is an output of classes, not a label.
    mixed = Y.copy()
    mixed[:, 0] = mixed[:, 0] == 1
    assert isinstance(make(name).fit(X, mixed).predict_proba(X), list)
    # Columns with two classes other than 0 and 1 are also outputs of classes.
    assert isinstance(make(name).fit(X, (Y == 1) + 1).predict_proba(X), list)


@pytest.mark.parametrize("name", FORESTS)
def test_column_y_warns_in_forests(name):
    X, y = make_data(name)
    with pytest.warns(DataConversionWarning):
        column = make(name).fit(X, y[:, None])
    assert column.predict(X).shape == (len(X),)
    assert model_bytes(column) == model_bytes(make(name).fit(X, y))


@pytest.mark.parametrize("name", TREES)
def test_column_y_in_trees(name):
    X, y = make_data(name)
    assert make(name).fit(X, y[:, None]).predict(X).shape == (len(X),)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize("outputs", ["single", "several", "labels"])
@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_weigh_the_same(name, outputs, weighted):
    X, y = make_data(name, outputs=outputs, n=400)
    w = np.arange(len(X)) % 3 + 1.0 if weighted else np.ones(len(X))
    expected = w.copy()
    for column in y.reshape(len(X), -1).T:
        classes, codes = np.unique(column, return_inverse=True)
        expected *= (w.sum() / (len(classes) * np.bincount(codes, w)))[codes]
    params = {"max_depth": 3, "max_features": None}
    for rule in ("balanced", *(["balanced_subsample"] if name in FORESTS else [])):
        model = make(name, class_weight=rule, **params).fit(X, y, sample_weight=w if weighted else None)
        same = make(name, **params).fit(X, y, sample_weight=expected)
        # Balanced weights are rounded to 30 bits, that is to 1e-9.
        np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=0, atol=1e-8)


def test_balanced_subsample_is_balanced_in_every_tree():
    X, y = make_data("RandomForestClassifier", n=300)
    rare = np.flatnonzero(y != "a")[20:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    forest = make("RandomForestClassifier", n_estimators=50, class_weight="balanced_subsample").fit(X, y)
    roots = np.array([tree.tree_.value[0, 0] for tree in forest])
    # Weights are rounded to 30 bits, as above.
    np.testing.assert_allclose(roots, 1 / np.count_nonzero(roots, axis=1)[:, None] * (roots > 0), rtol=0, atol=1e-8)
    whole = make("RandomForestClassifier", n_estimators=50, class_weight="balanced").fit(X, y)
    assert np.std([tree.tree_.value[0, 0, 0] for tree in whole]) > 0.01


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_class_weights_are_sample_weights(name):
    X, y = make_data(name)
    by_class = {"a": 1, "b": 4, "c": 0.5}
    expected = make(name).fit(X, y, sample_weight=[by_class[c] for c in y])
    assert model_bytes(make(name, class_weight=by_class).fit(X, y)) == model_bytes(expected)
    Y = make_data(name, outputs="labels")[1]
    by_label = [{0: 1, 1: 2}, {0: 2, 1: 1}, {0: 1.5, 1: 1}]
    w = np.prod([[weights[c] for c in column] for weights, column in zip(by_label, Y.T, strict=True)], axis=0)
    for container in (np.asarray, sparse.csr_array):
        model = make(name, class_weight=by_label).fit(X, container(Y))
        assert model_bytes(model) == model_bytes(make(name).fit(X, Y, sample_weight=w))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize("outputs", ["single", "labels"])
def test_oob_of_classifiers(name, outputs):
    X, y = make_data(name, outputs=outputs, n=150)
    model = make(name, n_estimators=30, bootstrap=True, oob_score=True).fit(X, y)
    scores = model.oob_decision_function_
    assert scores.shape == model.predict_proba(X).shape
    truth, predicted = (y, model.classes_[scores.argmax(1)]) if outputs == "single" else (y, scores > 0.5)
    assert model.oob_score_ == accuracy_score(truth, predicted)
    assert 0.3 < model.oob_score_ < model.score(X, y)
    custom = make(name, n_estimators=30, bootstrap=True, oob_score=lambda t, p: -accuracy_score(t, p)).fit(X, y)
    assert custom.oob_score_ == -model.oob_score_
    without = model.set_params(oob_score=False).fit(X, y)
    assert not hasattr(without, "oob_score_")
    assert not hasattr(without, "oob_decision_function_")


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
@pytest.mark.parametrize("outputs", ["single", "several"])
def test_oob_of_regressors(name, outputs):
    X, y = make_data(name, outputs=outputs, n=150)
    model = make(name, n_estimators=30, bootstrap=True, oob_score=True).fit(X, y)
    assert model.oob_prediction_.shape == y.shape
    assert 0.3 < model.oob_score_ < model.score(X, y)


def test_oob_leaves_out_samples_of_weight_zero_and_samples_without_scores():
    X, y = make_data("RandomForestRegressor", n=40)
    w = np.arange(40) % 2
    y_wrong = np.where(w == 0, 1e6, y)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        model = make("RandomForestRegressor", n_estimators=2, oob_score=True).fit(X, y_wrong, sample_weight=w)
    assert np.isnan(model.oob_prediction_[w == 1]).any()
    assert model.oob_score_ > -10


def test_oob_of_several_outputs_of_classes_is_refused():
    X, y = make_data("RandomForestClassifier", outputs="several", n=200)
    with pytest.raises(ValueError, match="oob_score"):
        make("RandomForestClassifier", n_estimators=40, oob_score=True).fit(X, y)


def test_inspection_by_outputs():
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    model = make("RandomForestRegressor", n_estimators=20).fit(X, X[:, :2])
    first, second = (weald.inspection.feature_importances(model, outputs=[j]) for j in (0, 1))
    assert first.argmax() == 0
    assert second.argmax() == 1
    np.testing.assert_array_equal(weald.inspection.feature_importances(model), model.feature_importances_)
    with pytest.raises(ValueError, match="outputs"):
        weald.inspection.feature_importances(model, outputs=[2])


def test_build_info_says_which_build_this_is():
    info = weald.build_info()
    assert info["version"] == weald.__version__
    assert info["profile"] in ("debug", "release")
