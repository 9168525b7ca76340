"""Models converted to scikit-learn's own estimators: the same predictions, or an error."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import ALL, make, make_data
from exports import CASES, N_RANDOM, columns_of, decisions_of, fitted, make_y, random_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import export_text
from test_export_json import any_model
from weald._parameters.growing import REGRESSOR_CRITERIA
from weald.export import to_sklearn

# A check of scikit-learn adds up all values of X, also where these are the largest floats of both signs.
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered in reduce")

EXPRESSED = [
    case
    for case in CASES
    if "categories" not in case
    and "Boosting" not in case
    and "boosting" not in case
    and "own loss" not in case
    and "single_target" not in case
    and "CompressedForestClassifier" not in case
]


def check_same(theirs, model, X):
    predicted = decisions_of(model, X)
    if not hasattr(model, "classes_"):
        # Sums run in the same order and so give the same bits. Numerical predictions that are sparse here are dense
        # there.
        np.testing.assert_array_equal(theirs.predict(X), predicted)
        return
    np.testing.assert_array_equal(np.asarray(theirs.predict(X)).reshape(predicted.shape), predicted)
    proba, ours = theirs.predict_proba(X), columns_of(model, X)
    if model._label_format is not None:
        proba = np.column_stack([part[:, 1] for part in (proba if isinstance(proba, list) else [proba])])
    else:
        assert isinstance(proba, list) == (model.n_outputs_ > 1)
        proba = np.hstack(proba) if isinstance(proba, list) else proba
    np.testing.assert_array_equal(proba, ours)


def check_random(model, X):
    """Compare the estimators; or check that what scikit-learn has not is refused with the reason."""
    name = type(model).__name__
    trees = [model._forest.tree(t) for t in range(model._forest.n_trees)]
    has_sets = any(np.isnan(tree.threshold()[tree.children_left() >= 0]).any() for tree in trees)
    if has_sets or name.startswith("GradientBoosting") or name == "CompressedForestClassifier":
        with pytest.raises(
            ValueError, match=f"to_sklearn does not support {name}.*(no estimator|splits on categories)"
        ):
            to_sklearn(model)
        return "refused"
    check_same(to_sklearn(model), model, X)
    return "same"


@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random_models(seed):
    check_random(*random_model(seed))


@pytest.mark.parametrize("case", EXPRESSED)
def test_predictions_are_the_same_to_the_bit(case):
    model, X = fitted(case)
    check_same(to_sklearn(model), model, X)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_any_forest(data):
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "ExtraTreesClassifier"]))
    model, X = any_model(name, outputs, data.draw(st.integers(0, 2**31)), False, data.draw(st.integers(2, 40)))
    check_same(to_sklearn(model), model, X)


@pytest.mark.parametrize("name", ALL)
def test_it_is_an_estimator_of_scikit_learn(name):
    X, y = make_data(name)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = make(name, max_depth=3).fit(frame, y)
    theirs = to_sklearn(model)
    module = sklearn.tree if "Tree" in name and "Trees" not in name else sklearn.ensemble
    assert type(theirs) is getattr(module, name)
    assert theirs.get_params()["max_depth"] == 3
    np.testing.assert_array_equal(theirs.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(theirs)).predict(frame), model.predict(frame))
    # Importances are shares of the decreases of impurity, summed in another order.
    np.testing.assert_allclose(theirs.feature_importances_, model.feature_importances_, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(theirs.apply(frame), model.apply(frame))
    clone(theirs).fit(frame, y)
    tree = theirs if hasattr(theirs, "tree_") else theirs.estimators_[0]
    ours = model if hasattr(model, "tree_") else model.estimators_[0]
    assert export_text(tree) == export_text(ours) or name.endswith("Classifier")
    if not hasattr(theirs, "tree_"):
        assert len(theirs.estimators_) == 5 == theirs.n_estimators
        np.testing.assert_array_equal(theirs.decision_path(frame)[0].toarray(), model.decision_path(frame)[0].toarray())


def test_sparse_samples_are_predicted_alike():
    X, y = make_y("RandomForestClassifier", "single", 60)
    model = make("RandomForestClassifier").fit(X, y)
    np.testing.assert_array_equal(to_sklearn(model).predict_proba(sparse.csr_array(X)), model.predict_proba(X))


def test_a_member_of_a_forest_is_a_tree():
    model, X = fitted("RandomForestClassifier-single-missing")
    theirs = to_sklearn(model.estimators_[1])
    assert type(theirs) is sklearn.tree.DecisionTreeClassifier
    np.testing.assert_array_equal(theirs.predict(X), model.estimators_[1].predict(X))


def test_parameters_that_scikit_learn_has_not_are_left_out():
    X, y = make_data("ExtraTreesClassifier", outputs="labels")
    model = make("ExtraTreesClassifier", min_samples_leaf=2, class_weight=None, label_weight="balanced").fit(X, y)
    theirs = to_sklearn(model)
    assert (theirs.min_samples_leaf, theirs.criterion) == (2, "gini")
    # scikit-learn's absolute error does not support missing values, but the criterion only matters for fits.
    X, y = make_data("RandomForestRegressor")
    X[::3, 0] = np.nan
    model = make("RandomForestRegressor", criterion="absolute_error").fit(X, y)
    np.testing.assert_array_equal(to_sklearn(model).predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor"])
@pytest.mark.parametrize("criterion", sorted(REGRESSOR_CRITERIA))
@pytest.mark.filterwarnings("ignore:criterion 'friedman_mse':FutureWarning")
def test_every_criterion_is_converted_and_the_result_can_be_cloned_and_fitted(name, criterion):
    X, y = make_data(name)
    model = make(name, criterion=criterion).fit(X, np.abs(y))
    theirs = to_sklearn(model)
    check_same(theirs, model, X)
    clone(theirs).fit(X, np.abs(y))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("RandomForestClassifier-single-categories", "splits on categories"),
        ("GradientBoostingRegressor-single-missing-joint", "scikit-learn has no estimator with its scores"),
        ("CompressedForestClassifier-single-missing", "scikit-learn has no estimator with its scores"),
    ],
)
def test_what_scikit_learn_has_not_is_refused_with_what_to_do(case, message):
    with pytest.raises(ValueError, match=f"to_sklearn does not support .*{message}.*use to_onnx"):
        to_sklearn(fitted(case)[0])


def test_a_compressed_regressor_is_a_forest():
    model, _ = fitted("CompressedForestRegressor-single-missing")
    assert type(to_sklearn(model)) is sklearn.ensemble.RandomForestRegressor


def test_an_induced_regressor_is_a_forest_and_a_classifier_is_refused():
    X, y = make_data("RandomForestRegressor")
    model = weald.InducedForestRegressor(n_nodes=10, random_state=0).fit(X, y)
    theirs = to_sklearn(model)
    assert type(theirs) is sklearn.ensemble.RandomForestRegressor
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    model = weald.InducedForestClassifier(n_nodes=10, random_state=0).fit(X, y > y.mean())
    with pytest.raises(ValueError, match=r"to_sklearn does not support InducedForestClassifier: .*use to_onnx"):
        to_sklearn(model)


def test_labels_of_one_column():
    X, y = make_data("RandomForestClassifier", outputs="labels")
    model = weald.RandomForestClassifier(n_estimators=3, multi_label=True, random_state=0).fit(X, y[:, :1])
    theirs = to_sklearn(model)
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X)[:, 0])
    np.testing.assert_array_equal(theirs.predict_proba(X)[:, 1:], model.predict_proba(X))
