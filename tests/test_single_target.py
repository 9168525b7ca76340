"""Forests with `output_strategy="single_target"`: the same as forests that are fitted to one column after another."""

import pickle
import re

import numpy as np
import pytest
import weald
from conftest import FORESTS, check_refused, model_bytes, unless
from scipy import sparse
from sklearn.base import clone

N, P, D = 70, 6, 5
SMALL = {"n_estimators": 4, "random_state": 3, "output_strategy": "single_target"}
CLASSIFIERS = [name for name in FORESTS if name.endswith("Classifier")]
GAPS = ["none", "shared", "each", "all of one"]


def is_classifier(name):
    return name.endswith("Classifier")


def make(name, **params):
    kind = {"multi_label": True} if is_classifier(name) else {}
    return getattr(weald, name)(**{**SMALL, **kind, **params})


def problem(name, gaps="each", seed=0, n=N):
    """X with ties and missing values, and y of five outputs with NaN where it is unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P)).round(1)
    X[rng.random(X.shape) < 0.4] = 0
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X) @ rng.normal(size=(P, D)) + rng.normal(scale=0.3, size=(n, D))
    Y = (score > 0.5).astype(float) if is_classifier(name) else score.round(2)
    unknown = rng.random(Y.shape) < 0.6
    if gaps == "shared":
        unknown[:, 1:3], unknown[:, 4] = unknown[:, :1], unknown[:, 3]
    if gaps == "all of one":
        unknown[:, 1:] = False
    if gaps != "none":
        unknown[:2] = False
        Y[unknown] = np.nan
    return X, Y


def alone(model, X, Y, weights=None):
    """The twin: a forest for each column, fitted to the samples for which it is known."""
    forests = []
    for y in Y.T:
        known = ~np.isnan(y)
        one = clone(model).set_params(output_strategy="joint", oob_score=False)
        target = y[known][:, None] if hasattr(model, "multi_label") else y[known]
        forests.append(one.fit(X[known], target, None if weights is None else weights[known]))
    return forests


def frequencies(model, X):
    """Predictions of shape (n_samples, n_outputs)."""
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    found = found.toarray() if sparse.issparse(found) else np.asarray(found)
    return found.reshape(len(found), -1)


def assert_is_alone(model, forests, X):
    """Check that trees and predictions are those of the twin, bit for bit."""
    X = np.asarray(X, dtype=np.float64)
    columns = [frequencies(one, X)[:, -1] for one in forests]
    np.testing.assert_array_equal(frequencies(model, X), np.column_stack(columns))
    leaves, d = model.apply(X), len(forests)
    assert len(model.estimators_) == d * model.n_estimators
    for output, one in enumerate(forests):
        np.testing.assert_array_equal(leaves[:, output::d], one.apply(X))
        for t, tree in enumerate(one.estimators_):
            own, theirs = model.estimators_[t * d + output].tree_, tree.tree_
            for array in ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples", "value"):
                np.testing.assert_array_equal(getattr(own, array), getattr(theirs, array))


# The criteria and settings, some of which do not support unknown values in trees of all outputs.
SETTINGS = [
    {},
    {"max_samples": 0.5, "bootstrap": True},
    {"min_samples_leaf": 3, "min_weight_fraction_leaf": 0.05},
    {"max_leaf_nodes": 5},
    {"ccp_alpha": 0.02},
    {"max_features": None, "max_depth": 4},
]


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("name", FORESTS)
def test_it_is_a_forest_for_each_output(name, params, gaps):
    X, Y = problem(name, gaps)
    model = make(name, **params)
    assert_is_alone(model.fit(X, Y), alone(model, X, Y), X)


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_criteria_that_need_known_values_have_them(criterion):
    X, Y = problem("RandomForestRegressor", "each")
    Y = np.abs(Y) + 0.5
    model = make("RandomForestRegressor", criterion=criterion)
    assert_is_alone(model.fit(X, Y), alone(model, X, Y), X)


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_bins_are_those_of_the_samples_of_an_output(name, gaps):
    X, Y = problem(name, gaps, n=150)
    model = make(name, max_bins=4)
    assert_is_alone(model.fit(X, Y), alone(model, X, Y), X)


@pytest.mark.parametrize("name", FORESTS)
def test_weights_are_those_of_the_samples_of_an_output(name):
    X, Y = problem(name)
    weights = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.7], size=N)
    weights[:2] = 1
    model = make(name)
    assert_is_alone(model.fit(X, Y, weights), alone(model, X, Y, weights), X)


@pytest.mark.parametrize("name", FORESTS)
def test_constraints_of_each_output(name):
    X, Y = problem(name)
    X = np.nan_to_num(X)
    signs = np.random.default_rng(2).integers(-1, 2, size=(P, D))
    model = make(name, monotonic_cst=signs, interaction_cst="pairwise").fit(X, Y)
    forests = []
    for j in range(D):
        known = ~np.isnan(Y[:, j])
        one = clone(model).set_params(output_strategy="joint", monotonic_cst=signs[:, j])
        forests.append(one.fit(X[known], Y[known, j][:, None] if is_classifier(name) else Y[known, j]))
    assert_is_alone(model, forests, X)


def test_categories():
    X, Y = problem("ExtraTreesRegressor")
    X[:, 0] = np.random.default_rng(4).integers(0, 9, size=N)
    model = make("ExtraTreesRegressor", categorical_features=[0])
    assert_is_alone(model.fit(X, Y), alone(model, X, Y), X)


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", ["none", "shared", "each"])
@pytest.mark.parametrize("name", FORESTS)
def test_layouts_threads_and_orders_lead_to_the_same_bytes(name, gaps):
    X, Y = problem(name, gaps)
    X = np.nan_to_num(X)  # sparse X may have stored NaN alone
    expected = model_bytes(make(name).fit(X, Y))
    for other in (np.asfortranarray(X, dtype=np.float32), sparse.csr_array(X), sparse.csc_array(X)):
        for n_jobs in (1, 3):
            assert model_bytes(make(name, n_jobs=n_jobs).fit(other, Y)) == expected
    order = np.random.default_rng(0).permutation(N)
    assert model_bytes(make(name).fit(X[order], Y[order])) == expected


@pytest.mark.parametrize("name", FORESTS)
def test_weight_zero_is_no_sample_and_weight_two_is_two(name):
    X, Y = problem(name)
    weights = np.random.default_rng(0).integers(0, 3, size=N).astype(float)
    weights[:2] = 1
    times = np.repeat(np.arange(N), weights.astype(int))
    weighted, repeated = make(name).fit(X, Y, weights), make(name).fit(X[times], Y[times])
    np.testing.assert_array_equal(frequencies(weighted, X), frequencies(repeated, X))
    kept = weights > 0
    assert model_bytes(make(name).fit(X, Y, weights)) == model_bytes(make(name).fit(X[kept], Y[kept], weights[kept]))


@pytest.mark.parametrize("name", FORESTS)
def test_sparse_y_with_a_mask_is_dense_y_with_nan(name):
    X, Y = problem(name)
    mask = np.isnan(Y)
    model = make(name).fit(X, Y)
    if is_classifier(name):
        known = sparse.csr_array(np.where(mask, 0, Y).astype(np.int64))
        other = make(name).fit(X, known, y_weight=unless(sparse.csr_array(mask)))
        np.testing.assert_array_equal(other.predict_sparse(X).toarray(), model.predict_proba(X))
    else:
        other = make(name).fit(X, np.where(mask, 7.0, Y), y_weight=unless(mask))
    assert model_bytes(other) == model_bytes(model)


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_sparse_numbers_are_dense_numbers(name):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((N, 20)) < 0.05, rng.normal(size=(N, 20)), 0)
    X = rng.normal(size=(N, P))
    dense = make(name, n_estimators=2).fit(X, Y)
    assert model_bytes(make(name, n_estimators=2).fit(X, sparse.csr_array(Y))) == model_bytes(dense)
    assert_is_alone(dense, alone(dense, X, Y), X)


@pytest.mark.parametrize("name", FORESTS)
def test_files_and_pickles_come_back(name, tmp_path):
    X, Y = problem(name)
    model = make(name).fit(X, Y)
    weald.save(model, tmp_path / "model")
    for other in (weald.load(tmp_path / "model"), weald.loads(weald.dumps(model)), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        assert model_bytes(other) == model_bytes(model)
        np.testing.assert_array_equal(frequencies(other, X), frequencies(model, X))
        if is_classifier(name):
            np.testing.assert_array_equal(other.predict_topk(X, 3)[0], model.predict_topk(X, 3)[0])
    assert weald.inspect_model(tmp_path / "model")["n_outputs"] == D
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("name", FORESTS)
def test_parts_and_warm_starts_are_one_fit(name):
    X, Y = problem(name)
    whole = make(name).fit(X, Y)
    parts = [make(name).fit(X, Y, trees=trees) for trees in (range(1, 4), range(1))]
    merged = weald.merge(parts)
    assert model_bytes(merged) == model_bytes(whole)
    grown = make(name, n_estimators=1, warm_start=True).fit(X, Y)
    assert model_bytes(grown.set_params(n_estimators=4).fit(X, Y)) == model_bytes(whole)
    joint = make(name, n_estimators=1, warm_start=True, output_strategy="joint").fit(X, Y)
    joint.set_params(n_estimators=2, output_strategy="single_target")
    check_refused(joint, ValueError, "output_strategy must be 'joint'", X, Y)


@pytest.mark.parametrize("name", FORESTS)
def test_updates_replace_the_oldest_trees_of_each_output(name):
    X, Y = problem(name)
    model = make(name).fit(X, Y)
    d, before = D, [tree.tree_ for tree in model.estimators_]
    X_new, Y_new = problem(name, seed=1)
    model.update(X_new, Y_new, retire=1)
    assert len(model.estimators_) == len(before)
    for old, new in zip(before[d:], model.estimators_[:-d], strict=True):
        np.testing.assert_array_equal(old.threshold, new.tree_.threshold)
    replaced = make(name).fit(X, Y).update(X_new, Y_new, retire=4)
    # The seeds of new trees follow those of all trees before.
    expected = make(name, n_estimators=8).fit(X_new, Y_new)
    leaves = expected.apply(X)[:, 4 * d :]
    np.testing.assert_array_equal(replaced.apply(X), leaves)


# --- what is computed from the trees ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("name", FORESTS)
def test_out_of_bag_predictions_are_those_of_the_forests_of_outputs(name, gaps):
    X, Y = problem(name, gaps)
    params = {"bootstrap": True, "n_estimators": 30}
    model = make(name, oob_score=True, **params).fit(X, Y)
    attribute = "oob_decision_function_" if is_classifier(name) else "oob_prediction_"
    for j, one in enumerate(alone(model, X, Y)):
        known = ~np.isnan(Y[:, j])
        one.set_params(oob_score=True)
        one.fit(X[known], Y[known, j][:, None] if is_classifier(name) else Y[known, j])
        expected = np.full(N, np.nan)
        expected[known] = getattr(one, attribute).reshape(known.sum(), -1)[:, -1]
        expected[~known] = frequencies(one, X[~known])[:, -1] if (~known).any() else 0
        np.testing.assert_array_equal(getattr(model, attribute)[:, j], expected)
    assert np.isfinite(model.oob_score_)
    parts = [make(name, oob_score=True, **params).fit(X, Y, trees=trees) for trees in (range(9), range(9, 30))]
    assert weald.merge(parts, X, Y).oob_score_ == model.oob_score_


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_out_of_bag_scores_of_sparse_labels_are_the_dense_ones(name):
    X, Y = problem(name)
    mask = np.isnan(Y)
    params = {"bootstrap": True, "n_estimators": 30, "oob_score": True}
    dense = make(name, **params).fit(X, Y)
    other = make(name, **params).fit(X, sparse.csr_array(np.where(mask, 0, Y)), y_weight=unless(mask))
    np.testing.assert_array_equal(other.oob_decision_function_.toarray(), dense.oob_decision_function_)
    assert other.oob_score_ == dense.oob_score_


@pytest.mark.parametrize("name", FORESTS)
def test_importances_are_those_of_the_trees_of_outputs(name):
    X, Y = problem(name)
    model = make(name).fit(X, Y)
    trees = [tree for one in alone(model, X, Y) for tree in one.estimators_ if tree.tree_.node_count > 1]
    expected = np.mean([tree.feature_importances_ for tree in trees], axis=0)
    # Sums in another order.
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-12)
    for j, one in enumerate(alone(model, X, Y)):
        of_one = weald.inspection.feature_importances(model, outputs=[j])
        np.testing.assert_array_equal(of_one, one.feature_importances_)


@pytest.mark.parametrize("name", FORESTS)
def test_explanations_are_those_of_the_forests_of_outputs(name):
    X, Y = problem(name)
    X = np.nan_to_num(X)
    model = make(name, max_depth=3).fit(X, Y)
    values = weald.inspection.shap_values(model, X[:9])
    curves = weald.inspection.partial_dependence(model, X, [0], grid_resolution=4)["average"]
    for j, one in enumerate(alone(model, X, Y)):
        of_one = weald.inspection.shap_values(one, X[:9])
        own, theirs = np.asarray(values.values)[..., j], np.asarray(of_one.values).reshape(9, P, -1)[..., -1]
        # Sums over the features that some tree tests, of which there are more.
        np.testing.assert_allclose(own, theirs, atol=1e-12)
        theirs = weald.inspection.partial_dependence(one, X, [0], grid_resolution=4)["average"]
        np.testing.assert_array_equal(curves[j], theirs[-1])


@pytest.mark.parametrize("name", FORESTS)
def test_pruning_uses_the_known_values_of_each_output(name):
    X, Y = problem(name, "each")
    X_val, Y_val = problem(name, "each", seed=5)
    Y_val[:, 4] = np.nan
    model = make(name).fit(X, Y)
    pruned = model.prune_reduced_error(X_val, Y_val)
    for j, one in enumerate(alone(model, X, Y)):
        known = ~np.isnan(Y_val[:, j])
        if known.any():
            y = Y_val[known, j]
            one = one.prune_reduced_error(X_val[known], y[:, None] if is_classifier(name) else y)
        np.testing.assert_array_equal(pruned.apply(X)[:, j::D], one.apply(X))
    assert len(weald.dumps(pruned)) < len(weald.dumps(model))


@pytest.mark.parametrize("name", FORESTS)
def test_best_labels_floors_and_single_samples(name):
    X, Y = problem(name)
    model = make(name).fit(X, Y)
    scores = frequencies(model, X)
    if is_classifier(name):
        found, values = model.predict_topk(X, 2)
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :2]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))
        for floor in (0.0, 0.4):
            kept = np.where((scores > 0) & (scores >= floor), scores, 0)
            np.testing.assert_array_equal(model.predict_sparse(X, min_score=floor).toarray(), kept)
    predictor = weald.Predictor(model)
    for row in range(5):
        own = predictor.predict_proba(X[row : row + 1]) if is_classifier(name) else predictor.predict(X[row : row + 1])
        np.testing.assert_array_equal(np.asarray(own).reshape(-1), scores[row])


def test_trees_have_the_name_of_their_output():
    pd = pytest.importorskip("pandas")
    X, Y = problem("RandomForestClassifier")
    names = [f"assay {j}" for j in range(D)]
    model = make("RandomForestClassifier").fit(X, pd.DataFrame(Y, columns=names))
    assert list(model.target_names_in_) == names
    tree = model.estimators_[D + 2]
    assert list(tree.target_names_in_) == ["assay 2"]
    assert tree.n_outputs_ == 1
    np.testing.assert_array_equal(tree.predict_proba(X)[:, -1], tree.tree_.predict(X.astype(np.float32))[:, 1])
    assert "assay 2" in weald.inspection.export_rules(model, tree=D + 2)
    indicator, starts = model.decision_path(X)
    assert indicator.shape == (N, starts[-1])
    assert len(starts) == 4 * D + 1


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ExtraTreesRegressor"])
def test_compact_leaves_bound_the_change_of_each_output(name, dtype):
    X, Y = problem(name)
    model = make(name, min_samples_leaf=3).fit(X, Y)
    small, report = weald.compression.compact_leaves(model, dtype=dtype, X=X)
    changes = np.abs(frequencies(small, X) - frequencies(model, X)).max()
    assert report["max_change_on_X"] == changes <= report["max_change"] + 1e-12  # rounding of sums
    for params in ({"top_k": 1}, {"training_data": (X, Y)}):
        with pytest.raises(ValueError, match=f"{next(iter(params))} .*output_strategy='single_target'"):
            weald.compression.compact_leaves(model, **params)


def test_the_estimate_of_memory_counts_the_trees_of_all_outputs():
    X, Y = problem("RandomForestRegressor", "none")
    one = weald.estimate_fit_memory(make("RandomForestRegressor"), X, Y[:, :1])
    all_outputs = weald.estimate_fit_memory(make("RandomForestRegressor"), X, Y)
    assert all_outputs > 2 * one
    masked = weald.estimate_fit_memory(make("RandomForestRegressor"), X, problem("RandomForestRegressor")[1])
    assert one < masked < all_outputs


def test_one_output_is_the_same_with_both_strategies():
    X, Y = problem("RandomForestRegressor", "none")
    y = Y[:, 0]
    joint = make("RandomForestRegressor", output_strategy="joint").fit(X, y)
    assert model_bytes(make("RandomForestRegressor").fit(X, y)) == model_bytes(joint)
    classes = (y > 0).astype(int)
    model = make("RandomForestClassifier", multi_label="auto").fit(X, classes)
    assert model.predict(X).shape == (N,)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("RandomForestRegressor", {"output_projection": "gaussian"}),
        ("RandomForestClassifier", {"class_weight": "balanced"}),
        ("RandomForestClassifier", {"label_weight": "balanced"}),
        ("RandomForestRegressor", {"output_scaling": "variance"}),
        ("RandomForestRegressor", {"output_weights": [1.0] * D}),
        ("RandomForestRegressor", {"keep_rows": True}),
        ("RandomForestRegressor", {"min_samples_leaf": 0.1}),
        ("RandomForestRegressor", {"min_samples_split": 0.1}),
    ],
    ids=str,
)
def test_what_trees_of_one_output_do_not_support(name, params):
    X, Y = problem(name)
    model = make(name).fit(X, Y)
    check_refused(
        model.set_params(**params), ValueError, f"{next(iter(params))}.*output_strategy='single_target'", X, Y
    )


def test_outputs_of_classes_are_refused():
    X, Y = problem("RandomForestClassifier", "none")
    model = make("RandomForestClassifier", multi_label=False)
    with pytest.raises(ValueError, match=r"output_strategy='single_target' does not support .*outputs of classes"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="output_strategy"):
        make("RandomForestClassifier", output_strategy="projected").fit(X, Y)
    with pytest.raises(ValueError, match=r"known"):
        make("RandomForestRegressor").fit(X, np.where(np.arange(D) == 1, np.nan, Y))


def test_what_is_around_forests_refuses_them_in_words():
    X, Y = problem("RandomForestRegressor", "none")
    model = make("RandomForestRegressor").fit(X, Y)
    said = re.escape("output_strategy='single_target'")
    with pytest.raises(ValueError, match=f"to_sklearn does not support .*{said}"):
        weald.export.to_sklearn(model)
    for compressed in (weald.CompressedForestRegressor, weald.InducedForestRegressor):
        with pytest.raises(ValueError, match=said):
            compressed(make("RandomForestRegressor")).fit(X, Y)
    spread = weald.conformal.ConformalRegressor(make("RandomForestRegressor"), conformity_score="normalized")
    with pytest.raises(ValueError, match=f"conformity_score='normalized' .*{said}"):
        spread.fit(X, Y)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_damaged_files_are_refused(name):
    X, Y = problem(name)
    content = weald.dumps(make(name).fit(X, Y))
    told = rb"sizes\":5"
    assert content.count(told) == 1
    changes = [(told, told.replace(b"5", other)) for other in (b"1", b"3", b"4")]
    for old, new in [*changes, (b"by_output", b"of_output")]:
        with pytest.raises(ValueError, match=r"weald|model|outputs|n_outputs_"):
            weald.loads(content.replace(old, new))
