"""Models exported to ONNX and run by onnxruntime."""

from __future__ import annotations

import warnings

import exports
import numpy as np
import pytest
import weald
from conftest import make, make_data
from exports import CASES, N_RANDOM, decisions_of, fitted, random_model
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export_json import any_model
from weald.export import to_onnx

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")


def run(graph, X):
    """The outputs of the graph by their names."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=providers)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.ascontiguousarray(X, dtype=np.float32)}), strict=True))


def check_same(model, X, ml_opset, run=run):
    found = run(to_onnx(model, ml_opset=ml_opset), X)
    dtype = np.dtype(np.float32 if ml_opset == 3 else np.float64)
    predicted, names = found["predictions"], [name for name in found if name != "predictions"]
    if not hasattr(model, "classes_"):
        assert names == []
        assert predicted.shape == (len(X), model.n_outputs_)
        columns = predicted
    else:
        assert names[0].startswith("probabilities" if hasattr(model, "predict_proba") else "scores")
        assert len(names) == (1 if model.n_outputs_ == 1 or model._label_format is not None else model.n_outputs_)
        assert predicted.shape == decisions_of(model, X).shape
        # Two classes without probabilities have one score.
        columns = np.hstack([found[name] for name in names])
    assert columns.dtype == dtype
    # Runtimes may add the trees in any order; with version 3 sums are float32.
    unit = 2.0**-23 if ml_opset == 3 else 2 * (2 + model._forest.n_trees) * 2.0**-53
    exports.check_same(model, X, columns=columns, predicted=predicted, unit=unit, eps=np.finfo(dtype).eps)


def check_random(model, X, ml_opset, run=run):
    """Compare the graph with the model; or check that what has no form in ONNX is refused with the reason."""
    kinds = [classes.dtype.kind for classes in exports.classes_of(model)]
    if "S" in kinds:
        with pytest.raises(
            TypeError, match=r"to_onnx does not support classes of bytes: .*must be numbers of at most 64 bits, strings"
        ):
            to_onnx(model, ml_opset=ml_opset)
        return "refused: classes of bytes"
    is_identity = not hasattr(model, "classes_") and exports.link_of(model) == "identity"
    if ml_opset == 3 and is_identity and exports.score_size(model).max() > float(np.finfo(np.float32).max):
        with pytest.raises(ValueError, match=r"to_onnx does not support .*float32.*ml_opset=5"):
            to_onnx(model, ml_opset=ml_opset)
        return "refused: beyond float32"
    check_same(model, X, ml_opset, run)
    return "same"


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize("case", CASES)
def test_predictions_are_the_same_to_the_bound(case, ml_opset):
    check_same(*fitted(case), ml_opset)


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random_models(seed, ml_opset):
    check_random(*random_model(seed), ml_opset)


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
    # One more tree adds zeros to the labels of which some leaf of each tree has no value.
    assert len(lists["nodes_modes"].strings) == sum(tree.node_count for tree in trees) + 1
    added = np.array(lists["target_treeids"].ints) == len(trees)
    assert not np.frombuffer(lists["target_weights_as_tensor"].t.raw_data)[added].any()
    n_stored = sum(len(tree.leaf_values()[2]) for tree in trees)
    n_empty = sum((np.diff(tree.leaf_values()[0])[tree.children_left() < 0] == 0).sum() for tree in trees)
    assert len(lists["target_ids"].ints) == n_stored + n_empty + added.sum()
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


@pytest.mark.parametrize("ml_opset", [3, 5])
def test_scores_start_where_they_start_if_no_leaf_adds_to_them(ml_opset):
    # onnxruntime adds base values of the operator only to scores of which a leaf that is reached has a value.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    Y = (X[:, :1] * [1, -1, 0.5, 0, 2, 1] + rng.normal(size=(200, 6)) / 2 > 1.2).astype(int)
    numbers = rng.normal(size=(200, 3))
    numbers[X[:, 0] < 1, 0] = 0
    joint = {"output_strategy": "joint", "n_estimators": 3, "random_state": 0}
    for model, y in [
        (weald.GradientBoostingClassifier(loss="hinge", **joint), Y),
        (weald.GradientBoostingClassifier(loss="hinge", **joint), Y[:, 0] + 2 * Y[:, 1]),
        (weald.GradientBoostingRegressor(loss="absolute_error", max_depth=1, **joint), numbers),
        (weald.GradientBoostingRegressor(loss=weald.loss.Quantile(0.9), max_depth=1, **joint), numbers),
    ]:
        model.fit(X, y)
        counts = [np.bincount(tree.leaf_values()[1]) for tree in map(model._forest.tree, range(3))]
        assert model.start_.any()
        assert (np.max(counts, axis=0) < max(map(np.max, counts))).any()
        check_same(model, X, ml_opset)


def in_python(graph, X):
    """The outputs of the graph by their names, from another runtime: that of the package onnx, in plain Python."""
    graph = onnx.ModelProto.FromString(graph.SerializeToString())
    # It does not know the attributes of TreeEnsembleRegressor that are tensors.
    for node in graph.graph.node:
        for one in node.attribute if node.op_type == "TreeEnsembleRegressor" else []:
            if one.name.endswith("_as_tensor"):
                values = onnx.numpy_helper.to_array(one.t)
                one.CopyFrom(onnx.helper.make_attribute(one.name.removesuffix("_as_tensor"), values.tolist()))
    names = [output.name for output in graph.graph.output]
    found = reference.ReferenceEvaluator(graph).run(None, {"X": np.ascontiguousarray(X, dtype=np.float32)})
    return dict(zip(names, found, strict=True))


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize("seed", range(0, N_RANDOM, 4))
def test_another_runtime(seed, ml_opset):
    check_random(*random_model(seed), ml_opset, in_python)


@pytest.mark.parametrize(
    "classes",
    [
        [1, 2, 5],
        np.array([1, 200, 255], dtype=np.uint8),
        np.array([1, 2, 3], dtype=np.uint64),
        np.array([-(2**62), 2**33, 2**63 - 1]),
        np.array([1, 2**63 + 5, 2**64 - 1], dtype=np.uint64),
        [1.0, 2.0, 4.0],
        np.array([1, 2, 4], dtype=np.float16),
        ["ä", "", "日本"],
        np.array(["a", "b\0a", "c"], dtype=object),
        [False, True, True],
    ],
    ids=str,
)
def test_classes_keep_their_values(classes):
    X, two = np.arange(3).reshape(-1, 1), np.asarray(classes)[[0, 1, 1]]
    kind = str if np.asarray(classes).dtype.kind in "OU" else np.asarray(classes).dtype.kind
    for y in [np.asarray(classes), two, np.column_stack([two, classes])]:
        for model in [weald.DecisionTreeClassifier(), make("GradientBoostingClassifier", min_weight_leaf=0)]:
            if y.ndim == 2 and len(np.unique(y)) == 2:
                continue  # these are labels
            graph = to_onnx(model.fit(X, y))
            predicted = run(graph, X)["predictions"]
            assert predicted.tolist() == model.predict(X).tolist()
            if kind in ("i", "u", "f", "b"):
                large = max(map(int, np.ravel(y))) > 2**63 - 1
                assert predicted.dtype == {"u": np.uint64 if large else np.int64, "i": np.int64, "b": bool}.get(
                    kind, np.float64
                )
            assert run(to_onnx(model, ml_opset=5), X)["predictions"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("classes", "error", "message"),
    [
        (
            np.array([b"a", b"\xff"]),
            TypeError,
            "classes of bytes: classes_ must be numbers of at most 64 bits, strings",
        ),
        (np.array([2, 1 + np.longdouble(2) ** 62]), TypeError, "classes of float.*numbers of at most 64 bits"),
        (np.array(["\ud800", "b"], dtype=object), ValueError, r"the class '\\ud800'.*UTF-8"),
        (np.array(["a", "a\0"], dtype=object), ValueError, r"the class 'a\\x00'.*must not end in NUL"),
    ],
    ids=["bytes", "long double", "surrogates", "NUL"],
)
def test_classes_that_onnx_has_not_are_refused(classes, error, message):
    if classes.dtype == np.longdouble and (classes.astype(float) == classes).all():
        pytest.skip("long double is float64")
    model = weald.DecisionTreeClassifier().fit([[0], [1]], classes)
    for ml_opset in (3, 5):
        with pytest.raises(error, match=f"to_onnx does not support {message}"):
            to_onnx(model, ml_opset=ml_opset)


def test_numbers_of_any_size():
    X, y = make_data("RandomForestRegressor", outputs="several")
    # The sum over trees exceeds float32, and one output is far smaller than its smallest number.
    model = make("RandomForestRegressor", n_estimators=20).fit(X, y / np.abs(y).max() * [3e38, 1e-60, 1e5])
    for ml_opset in (3, 5):
        check_same(model, X, ml_opset)
    model.fit(X, y * 1e60)
    check_same(model, X, 5)
    with pytest.raises(ValueError, match=r"beyond the range of float32 with ml_opset=3, got scores up to \d"):
        to_onnx(model)
    # onnxruntime removes the addition of a start that is zero as float32.
    check_same(make("GradientBoostingRegressor").fit(X, 1e-60 * (y[:, 0] + 3)), X, 5)
    # The weights of leaves are far below float32, and decisions depend on them.
    small = make("GradientBoostingClassifier", loss="squared_error", learning_rate=1e-60).fit(X, y[:, 0] > 0)
    check_same(small, X, 3)
    # Predictions beyond float32 are its largest number.
    gamma = make("GradientBoostingRegressor", loss="gamma", learning_rate=1.0).fit(X, np.exp(40 * y[:, 0]))
    assert gamma.predict(X).max() > 1e40
    assert run(to_onnx(gamma), X)["predictions"].max() == np.finfo(np.float32).max
    check_same(gamma, X, 3)
    check_same(gamma, X, 5)


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
