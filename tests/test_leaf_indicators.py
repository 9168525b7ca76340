"""`transform` of ensembles: indicators of the leaves that samples reach."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import weald
from every import EVERY, problem, with_categories
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from weald._fit.base import BaseEnsemble

ENSEMBLES = [name for name, entry in EVERY.items() if issubclass(entry.cls, BaseEnsemble) and name[-6:] != "linear"]
# One entry of each class.
CLASSES = list({EVERY[name].cls: name for name in reversed(ENSEMBLES)}.values())


def obvious(model, X):
    """The indicators and the names of the columns, by a loop over trees and samples."""
    nodes = model.apply(X)
    columns, names = [], []
    for t in range(nodes.shape[1]):
        tree = model._forest.tree(t)
        if isinstance(tree, weald._weald.CentroidTree):
            start = tree.children_start().tolist()
            leaves = [i for i in range(tree.node_count) if start[i] == start[i + 1]]
        else:
            leaves = [i for i, child in enumerate(tree.children_left().tolist()) if child == -1]
        assert len(leaves) == tree.n_leaves
        for leaf in leaves:
            columns.append([float(node == leaf) for node in nodes[:, t]])
            names.append(f"{type(model).__name__.lower()}_{t}_{leaf}")
    return np.array(columns).T, names


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", ENSEMBLES)
def test_each_sample_has_a_one_in_the_column_of_its_leaf(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[-1])
    model = entry.build()
    found = model.fit_transform(X, y)
    assert isinstance(found, sparse.csr_matrix)
    assert found.dtype == np.float64
    assert found.has_canonical_format
    expected, names = obvious(model, X)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert model.get_feature_names_out().tolist() == names
    assert found.nnz == expected.sum() == len(X) * model._forest.n_trees
    # Some columns may belong to leaves that no sample of X reaches.
    one = model.transform(X[3:4])
    np.testing.assert_array_equal(one.toarray(), expected[3:4])
    if entry.sparse:
        for form in (sparse.csr_array, sparse.csc_matrix):
            np.testing.assert_array_equal(model.transform(form(X)).toarray(), expected)


@pytest.mark.parametrize("name", CLASSES)
def test_copies_and_files_transform_as_the_model_does(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    model = entry.build().fit(X, y)
    expected = model.transform(X).toarray()
    parallel = entry.build().set_params(n_jobs=3).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), weald.loads(weald.dumps(model)), parallel, clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.transform(X).toarray(), expected)


def test_the_columns_are_those_of_scikit_learns_embedding():
    X, y = problem("class")
    theirs = RandomTreesEmbedding(n_estimators=3, max_depth=2, random_state=0).fit(X)
    ours = weald.RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    for model in (theirs, ours):
        nodes, found = model.apply(X), model.transform(X)
        parts = [nodes[:, [t]] == np.unique(nodes[:, t]) for t in range(3)]
        np.testing.assert_array_equal(found.toarray(), np.hstack(parts))
        pairs = [(t, node) for t in range(3) for node in np.unique(nodes[:, t])]
        assert [name.split("_", 1)[1] for name in model.get_feature_names_out()] == [f"{t}_{n}" for t, n in pairs]


def test_a_tree_without_splits_has_one_column():
    X = np.zeros((4, 2))
    model = weald.RandomForestRegressor(n_estimators=3).fit(X, [1.0, 2, 3, 4])
    np.testing.assert_array_equal(model.transform(X).toarray(), np.ones((4, 3)))
    assert model.get_feature_names_out().tolist() == [f"randomforestregressor_{t}_0" for t in range(3)]


def test_samples_of_weight_zero_are_transformed_and_have_no_effect():
    X, y = problem("number")
    weights = np.arange(len(X)) % 2.0
    model = weald.ExtraTreesRegressor(n_estimators=3, random_state=0)
    found = model.fit_transform(X, y, weights)
    kept = clone(model).fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(found.toarray(), kept.transform(X).toarray())


def test_missing_values_and_categories_reach_leaves():
    X, y = problem("labels")
    frame = with_categories(X)
    frame[frame.columns[:2]] = np.where(X[:, :2] > 1, np.nan, X[:, :2])
    model = weald.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.transform(frame).toarray(), obvious(model, frame)[0])


def test_each_column_of_scores_has_trees_of_its_own():
    X, y = problem("numbers")
    model = weald.GradientBoostingRegressor(n_estimators=2, output_strategy="single_target", random_state=0).fit(X, y)
    assert model.transform(X).nnz == len(X) * 2 * y.shape[1]


# --- inside scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_a_step_of_a_pipeline(name):
    entry = EVERY[name]
    kind = "labels" if entry.is_classifier else "number"
    X, y = problem(kind)
    last = weald.LinearClassifier(random_state=0) if entry.is_classifier else LinearRegression()
    pipeline = make_pipeline(entry.build(), last).fit(X, y)
    apart = clone(last).fit(entry.build().fit(X, y).transform(X), y)
    np.testing.assert_array_equal(pipeline.predict(X), apart.predict(entry.build().fit(X, y).transform(X)))
    names = pipeline[:-1].get_feature_names_out()
    assert len(names) == pipeline[-1].n_features_in_
    if entry.is_classifier:
        other = weald.loads(weald.dumps(pipeline))
        np.testing.assert_array_equal(other.predict(X), pipeline.predict(X))


def test_weights_pass_through_a_pipeline():
    X, y = problem("class")
    weights = np.arange(len(X)) % 3.0
    pipeline = make_pipeline(weald.RandomForestClassifier(3, random_state=0), weald.LinearClassifier(random_state=0))
    told = {"randomforestclassifier__sample_weight": weights, "linearclassifier__sample_weight": weights}
    pipeline.fit(X, y, **told)
    forest = weald.RandomForestClassifier(3, random_state=0).fit(X, y, weights)
    last = weald.LinearClassifier(random_state=0).fit(forest.transform(X), y, weights)
    np.testing.assert_array_equal(pipeline.predict(X), last.predict(forest.transform(X)))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            weald.RandomForestClassifier(3, random_state=0).set_fit_request(sample_weight=True),
            weald.LinearClassifier(random_state=0).set_fit_request(sample_weight=True),
        ).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(routed.predict(X), pipeline.predict(X))


# Ten leaves of few samples can be told apart without error: the C that is found has no strong penalty.
@pytest.mark.filterwarnings("ignore:1 of 1 labels or classes did not reach tol")
def test_unions_searches_and_frozen_forests():
    X, y = problem("class")
    forest = weald.ExtraTreesClassifier(n_estimators=3, random_state=0)
    union = make_union(StandardScaler(), forest).fit(X, y)
    assert union.transform(X).shape == (len(X), X.shape[1] + forest.fit(X, y).transform(X).shape[1])
    assert len(union.get_feature_names_out()) == union.transform(X).shape[1]
    pipeline = make_pipeline(forest, weald.LinearClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"extratreesclassifier__max_leaf_nodes": [2, 8]}, cv=2, error_score="raise")
    assert 0 <= search.fit(X, y).score(X, y) <= 1
    frozen = make_pipeline(FrozenEstimator(forest.fit(X, y)), weald.LinearClassifier(random_state=0))
    assert len(cross_val_score(frozen, X, y, cv=2, error_score="raise")) == 2


# --- frames, names and errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("name", CLASSES)
def test_frames_are_refused_and_the_choice_is_kept(name, container):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    model = entry.build().fit(X, y).set_output(transform=container)
    kept = [model, clone(model).fit(X, y), pickle.loads(pickle.dumps(model)), weald.loads(weald.dumps(model))]
    kept += [model.fit(X, y), clone(model).set_output(transform=None).fit(X, y)]
    for other in kept:
        with pytest.raises(ValueError, match=rf"transform='{container}' is not supported by .* set_output\(transform="):
            other.transform(X)
        assert type(other.predict(X)) is type(entry.build().fit(X, y).predict(X))
        assert sparse.issparse(copy.copy(other).set_output(transform="default").transform(X))
    model.set_output(transform="default")
    with sklearn.config_context(transform_output=container):
        assert sparse.issparse(model.transform(X))  # what the estimator says comes first
        with pytest.raises(ValueError, match=f"transform='{container}' is not supported"):
            entry.build().fit(X, y).transform(X)


def test_a_pipeline_sets_frames_for_all_of_its_steps():
    X, y = problem("class")
    last = weald.RandomForestClassifier(3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), last).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
    with pytest.raises(ValueError, match="transform='pandas' is not supported by RandomForestClassifier"):
        pipeline.transform(X)
    pipeline = make_pipeline(last, weald.LinearClassifier()).set_output(transform="pandas")
    with pytest.raises(ValueError, match="transform='pandas' is not supported by RandomForestClassifier"):
        pipeline.fit(X, y)


def test_a_container_that_is_none_changes_nothing():
    model = weald.ExtraTreesRegressor()
    for wrong in ("numpy", 1, pd.DataFrame, np.array(["pandas", "polars"])):
        with pytest.raises(ValueError, match='transform must be "default", "pandas", "polars" or None, got '):
            model.set_output(transform=wrong, predict="pandas")
    with pytest.raises(ValueError, match="predict must be"):
        model.set_output(transform="pandas", predict="numpy")
    assert vars(model) == vars(weald.ExtraTreesRegressor())


@pytest.mark.parametrize(
    "setting", ["pandas", {"transform": "numpy"}, {"transform": 1}, {"predict": "pandas"}, {1: "pandas"}]
)
def test_a_state_with_another_setting_is_refused(setting):
    model = weald.RandomForestRegressor(n_estimators=2).fit(*problem("number"))
    state = model.__getstate__() | {"_sklearn_output_config": setting}
    with pytest.raises(ValueError, match="_sklearn_output_config must have a container of transform, got"):
        weald.RandomForestRegressor().__setstate__(state)


def test_names_of_other_features_are_refused():
    X, y = problem("class")
    names = [f"x{i}" for i in range(6)]
    model = weald.RandomForestClassifier(2, random_state=0).fit(pd.DataFrame(X, columns=names), y)
    assert model.get_feature_names_out(names).tolist() == model.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="it must have 'x1' at position 1, got 'y'"):
        model.get_feature_names_out(["x0", "y", *names[2:]])
    with pytest.raises(ValueError, match=r"input_features must have length 6, .* got an array of shape \(2,\)"):
        model.get_feature_names_out(["x0", "x1"])
    assert len(weald.RandomForestClassifier(2).fit(X, y).get_feature_names_out(list("abcdef"))) > 0


def test_models_of_others_and_unfitted_ones_have_no_leaves():
    X, y = problem("number")
    for model in (
        weald.GradientBoostingRegressor(estimator=LinearRegression(), n_estimators=2),
        weald.GradientBoostingRegressor(estimator=LinearRegression(), n_estimators=2).fit(X, y),
    ):
        for method in ("transform", "fit_transform", "get_feature_names_out"):
            assert not hasattr(model, method)
        with pytest.raises(ValueError, match="has no method transform"):
            model.set_output(transform="pandas")
    for method in (lambda m: m.transform(X), lambda m: m.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            method(weald.ExtraTreesRegressor())
    with pytest.raises(ValueError, match="X has 2 features"):
        weald.ExtraTreesRegressor(n_estimators=2).fit(X, y).transform(X[:, :2])
