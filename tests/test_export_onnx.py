"""Models exported to ONNX and run by onnxruntime."""

from __future__ import annotations

import warnings

import exports
import numpy as np
import pytest
import weald
from conftest import make, make_data
from exports import CASES, columns_of, decisions_of, fitted, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export_json import any_model
from weald.export import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")


def run(graph, X):
    """The outputs of the graph by their names."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=providers)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.ascontiguousarray(X, dtype=np.float32)}), strict=True))


def bound(model, ml_opset):
    """The largest difference that the scores may have."""
    unit = 2.0**-24 if ml_opset == 3 else (2 + model._forest.n_trees) * 2.0**-53
    size = exports.sizes(model, np.zeros((1, model.n_features_in_))).max()
    return 2 * unit * size


def check_same(model, X, ml_opset):
    found = run(to_onnx(model, ml_opset=ml_opset), X)
    expected, predicted = columns_of(model, X), decisions_of(model, X)
    dtype = np.float32 if ml_opset == 3 else np.float64
    tolerance = bound(model, ml_opset)
    if not hasattr(model, "classes_"):
        assert list(found) == ["predictions"]
        assert found["predictions"].dtype == dtype
        predictions = found["predictions"].reshape(predicted.shape)
        if getattr(model, "loss", None) in ("gamma", "poisson", "tweedie"):
            # The tolerance is relative: the predictions are exponentials of scores, which are rounded themselves.
            return np.testing.assert_allclose(predictions, predicted, rtol=2 * tolerance + np.finfo(dtype).eps)
        return np.testing.assert_allclose(predictions, predicted, rtol=np.finfo(dtype).eps, atol=tolerance)
    names = [name for name in found if name != "predictions"]
    columns = np.hstack([found[name] for name in names])
    assert columns.dtype == dtype
    assert names[0].startswith("probabilities" if hasattr(model, "predict_proba") else "scores")
    # The links of labels and classes have slopes of at most 1; their values are rounded, and divided by sums.
    columns = columns if columns.shape == expected.shape else columns[:, -1:]
    np.testing.assert_allclose(columns, expected, rtol=0, atol=2 * tolerance + 4 * np.finfo(dtype).eps)
    assert found["predictions"].shape == predicted.shape
    differs = np.asarray(found["predictions"] != predicted).reshape(len(X), -1)
    # Decisions may only differ where the margin is as small as the differences of scores.
    assert not differs[margins(model, X) > 2 * tolerance].any()
    return None


def margins(model, X):
    """The distance of each decision from the nearest other decision, of shape (n_samples, n_outputs)."""
    scores = scores_of(model, X)
    if model._label_format is not None or scores.shape[1] == 1:
        threshold = getattr(model, "_threshold", 0.5)
        return np.abs(scores - threshold)
    sizes = np.atleast_1d(model.n_classes_)
    parts = np.split(scores, np.cumsum(sizes)[:-1], axis=1)
    ordered = [np.sort(part, axis=1) for part in parts]
    return np.column_stack(
        [part[:, -1] - part[:, -2] if part.shape[1] > 1 else np.full(len(part), np.inf) for part in ordered]
    )


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize("case", CASES)
def test_predictions_are_the_same_to_the_bound(case, ml_opset):
    check_same(*fitted(case), ml_opset)


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_any_forest(data):
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "GradientBoostingClassifier"]))
    seed, has_categories = data.draw(st.integers(0, 2**31)), data.draw(st.booleans())
    model, X = any_model(name, outputs, seed, has_categories, data.draw(st.integers(2, 40)))
    check_same(model, X, data.draw(st.sampled_from([3, 5])))


def test_trees_are_written_as_they_are_and_labels_as_they_are_stored():
    model, _ = fitted("RandomForestClassifier-wide-missing")
    trees = [model._forest.tree(t) for t in range(5)]
    node = next(node for node in to_onnx(model).graph.node if node.op_type == "TreeEnsembleRegressor")
    lists = {one.name: one for one in node.attribute}
    assert len(lists["nodes_modes"].strings) == sum(tree.node_count for tree in trees)
    n_stored = sum(len(tree.leaf_values()[2]) for tree in trees)
    n_empty = sum((np.diff(tree.leaf_values()[0])[tree.children_left() < 0] == 0).sum() for tree in trees)
    assert len(lists["target_ids"].ints) == n_stored + n_empty
    # Each leaf holds one score: a tree is written once for each label, with only the branches that lead to leaves with
    # it.
    node = next(node for node in to_onnx(model, ml_opset=5).graph.node if node.op_type == "TreeEnsemble")
    lists = {one.name: one for one in node.attribute}
    depth = max(tree.max_depth for tree in trees)
    assert len(lists["nodes_featureids"].ints) <= n_stored * (depth + 1)
    # The sums have the same terms in another order.
    assert sum(np.frombuffer(lists["leaf_weights"].t.raw_data)) == pytest.approx(
        sum(tree.leaf_values()[2].sum() for tree in trees), rel=1e-12
    )


def test_roots_with_a_leaf_and_a_split_of_one_number():
    # onnxruntime treated such roots as leaves (issue 24679).
    X = np.arange(40, dtype=np.float32).reshape(-1, 1)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.2)
        model = weald.ExtraTreesRegressor(n_estimators=4, max_leaf_nodes=3, random_state=seed).fit(X, y)
        check_same(model, X, 5)


def test_types_of_classes():
    X = np.arange(4).reshape(-1, 1)
    for classes in [[1, 2, 5, 1], [1.0, 2.0, 4.0, 1.0], ["ä", "b", "c", "ä"], [False, True, True, False]]:
        model = weald.DecisionTreeClassifier().fit(X, classes)
        assert run(to_onnx(model), X)["predictions"].tolist() == classes


def test_no_samples_and_one():
    model, X = fitted("RandomForestClassifier-single-categories")
    graph = to_onnx(model)
    assert run(graph, X[:0])["probabilities"].shape == (0, 3)
    np.testing.assert_array_equal(run(graph, X[:1])["predictions"], model.predict(X[:1]))


def test_many_trees_and_samples_whatever_the_order_of_sums():
    X, y = make_data("GradientBoostingRegressor", n=300)
    model = make("GradientBoostingRegressor", n_estimators=200, learning_rate=0.05).fit(X, y)
    for ml_opset in (3, 5):
        check_same(model, X, ml_opset)


@pytest.mark.parametrize("ml_opset", [4, 0, "3", True, None, 3.0])
def test_other_versions_are_refused(ml_opset):
    with pytest.raises(ValueError, match=r"ml_opset must be 3 or 5, got "):
        to_onnx(fitted("DecisionTreeRegressor-single-missing")[0], ml_opset=ml_opset)


def test_the_graph_is_checked_and_names_its_estimator():
    model, _ = fitted("RandomForestClassifier-single-missing")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    assert (graph.graph.name, graph.producer_name) == ("RandomForestClassifier", "weald")
