"""Label trees as JSON and C: the same search, and the same probabilities."""

from __future__ import annotations

import ctypes
import functools
import json
import subprocess

import numpy as np
import pandas as pd
import pytest
import weald
from scipy import sparse
from test_export_c import COMPILER, compiled
from weald.export import from_json, to_c, to_json
from weald.export._label_trees import label_trees_of

RNG = np.random.default_rng(0)
WORDS = RNG.integers(0, 4, (160, 40)) * (RNG.random((160, 40)) < 0.2)
NUMBERS = RNG.normal(size=(160, 40)) * (WORDS > 0)
LABELS = sparse.csr_array((RNG.random((160, 60)) < 0.03) | (WORDS[:, :1] > RNG.integers(1, 9, 60))).astype(np.int64)
FEW = (WORDS[:, :6] > 0).astype(int)
CLASSES = np.array(["a", "b", "c", "d", "e"])[(WORDS[:, :5] + RNG.random((160, 5))).argmax(axis=1)]

# X, y, and parameters.
CASES = {
    "labels": (WORDS, LABELS, {"max_leaf_labels": 5, "max_children": 4}),
    "normalized": (WORDS, LABELS, {"features": "normalized", "max_leaf_labels": 3, "max_children": 2}),
    "given": (NUMBERS, LABELS, {"features": "given", "max_leaf_labels": 4, "max_children": 3}),
    "one tree": (NUMBERS, LABELS, {"n_estimators": 1, "max_leaf_labels": 2, "max_children": 2}),
    "narrow": (WORDS, LABELS, {"beam_width": 1, "max_leaf_labels": 2, "max_children": 2}),
    "wide": (WORDS, LABELS, {"beam_width": 10**6, "max_leaf_labels": 2, "max_children": 2}),
    "one leaf": (WORDS, FEW, {}),
    "leaves at other depths": (NUMBERS, LABELS, {"max_leaf_labels": 7, "max_children": 16, "beam_width": 3}),
    "classes": (WORDS, CLASSES, {"max_leaf_labels": 1, "max_children": 2}),
    "two classes": (WORDS, CLASSES > "b", {}),
    "classes that are not found": (NUMBERS, np.arange(160) % 40, {"max_leaf_labels": 2, "beam_width": 2}),
    "a label": (WORDS, FEW[:, :1], {"multi_label": True}),
    "all weights": (NUMBERS, LABELS, {"min_weight": 0.0, "max_leaf_labels": 5, "features": "given"}),
}


@functools.cache
def fitted(case):
    """The model of a case, and samples: those of its fit, others, and hostile ones."""
    X, y, params = CASES[case]
    model = weald.LinearClassifier(**{"strategy": "tree", "n_estimators": 3, "random_state": 0, **params}).fit(X, y)
    rng = np.random.default_rng(1)
    tried = np.where(rng.random(X.shape) < 0.15, rng.choice([0.0, -0.0, 1e-42, -3e-3, 4e4, 1e30], X.shape), X)
    return model, np.concatenate([X, tried, -X[:20], np.zeros((1, 40))]).astype(np.float32)


def dense(found):
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


@pytest.mark.parametrize("case", CASES)
def test_json_that_is_read_predicts_the_same_bits(case):
    model, Z = fitted(case)
    text = to_json(model)
    assert text == to_json(model)
    read = from_json(text)
    for samples in (Z, sparse.csr_array(Z)):
        np.testing.assert_array_equal(read.predict_scores(samples), model.predict_proba(Z))
    np.testing.assert_array_equal(read.predict_proba(Z), model.predict_proba(Z))
    np.testing.assert_array_equal(read.predict(Z), dense(model.predict(Z)))
    assert read.n_outputs_ == model.n_outputs_
    n_trees = model._model.n_trees
    assert repr(read) == f"<LinearClassifier of {n_trees} trees, read by weald.export.from_json>"
    with pytest.raises(ValueError, match=r"NaN|finite"):
        read.predict(Z * np.nan)


def slow(model, x):
    """The probabilities of a sample by the description alone, written down as in docs/export.md."""
    content = json.loads(to_json(model))
    rules, logs = content["label_trees"], {}
    values = x.astype(np.float64)
    if rules["features"] == "tfidf":
        values = np.copysign(np.log1p(np.abs(values)), values) * np.float32(rules["idf"])
    if rules["features"] != "given":
        length = np.sqrt(sum(value * value for value in values))
        single = np.clip(values, -3.4028235e38, 3.4028235e38).astype(np.float32).astype(np.float64)
        values = np.rint(single / length * 2**24) / 2**24 if length > 0 else values
    for tree in content["trees"]:

        def below(node, log, tree=tree):
            first, end = tree["column_ptr"][node : node + 2]
            margins = list(tree["intercepts"][first:end])
            for at in range(*tree["feature_ptr"][node : node + 2]):
                for cell in range(*tree["weight_ptr"][at : at + 2]):
                    margins[tree["weight_columns"][cell]] += float(values[tree["features"][at]]) * tree["weights"][cell]
            return [
                (log - max(0.0, 1 - m) ** 3, target)
                for m, target in zip(margins, tree["targets"][first:end], strict=True)
            ]

        nodes = [(0.0, 0)]
        while not all(tree["is_leaf"][node] for _, node in nodes):
            reached = [
                pair for log, node in nodes for pair in ([(log, node)] if tree["is_leaf"][node] else below(node, log))
            ]
            nodes = sorted(reached, key=lambda pair: (-pair[0], pair[1]))[: rules["beam_width"]]
        for log, node in nodes:
            for of_label, label in below(node, 0.05 * log):
                logs.setdefault(label, []).append(of_label)
    scores = np.full(content["n_scores"], -np.inf)
    for label, found in logs.items():
        scores[label] = max(found) + np.log(sum(np.exp(np.array(found) - max(found))) / content["divisor"])
    if content["kind"] == "classes":
        scores = scores - scores.max()
        return np.exp(scores) / np.exp(scores).sum()
    return np.exp(scores)


@pytest.mark.parametrize("case", CASES)
def test_the_description_is_complete(case):
    model, Z = fitted(case)
    for x in [*Z[:40:7], *Z[-21::5]]:
        # Sums of other orders, and the powers and logarithms of other libraries.
        np.testing.assert_allclose(slow(model, x), model.predict_proba(x[np.newaxis])[0], rtol=1e-9, atol=1e-12)


def functions(model, folder, *flags):
    """Scores, predictions and best labels by a compiled file."""
    text = to_c(model, name="tags")
    assert "alloc" not in text
    scores, predict = compiled(text, folder, *flags, name="tags")
    library = ctypes.CDLL(str(folder / "tags.so"))

    def topk(X, k):
        found, n_found = np.full((len(X), k), np.nan), np.zeros(len(X), dtype=int)
        labels = np.full((len(X), k), 2**32 - 1, dtype=np.uint32)
        for i, x in enumerate(np.ascontiguousarray(X, dtype=np.float32)):
            pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, labels[i], found[i])]
            n_found[i] = library.tags_topk(pointers[0], ctypes.c_uint32(k), *pointers[1:])
        return labels, found, n_found

    return scores, predict, topk


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [["-O0"], ["-O3", "-march=native", "-ffp-contract=fast"]], ids=["plain", "fused"])
@pytest.mark.parametrize("case", CASES)
def test_c_finds_the_same_labels(case, flags, tmp_path):
    model, Z = fitted(case)
    try:
        scores, predict, topk = functions(model, tmp_path, *flags)
    except subprocess.CalledProcessError:
        if flags == ["-O0"]:
            raise
        pytest.skip("the compiler has not these flags")
    expected = model.predict_proba(Z)
    # Probabilities are quotients of exponentials of sums with a logarithm, each of which the C library may round in another way.
    np.testing.assert_allclose(scores(Z), expected, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(predict(Z), scores(Z))
    for k in (1, 3, expected.shape[1] + 2):
        labels, found, n_found = topk(Z, k)
        n_there = np.minimum(np.count_nonzero(expected, axis=1), k)
        # Probabilities below the smallest number are zero, and have labels all the same.
        assert (n_found >= n_there).all()
        best, of_best = model.predict_topk(Z, min(k, expected.shape[1]))
        for i, n in enumerate(n_found):
            np.testing.assert_array_equal(labels[i, :n], best[i, :n])
            np.testing.assert_allclose(found[i, :n], of_best[i, :n], rtol=1e-14, atol=0)
            # What is not written stays as it was.
            assert np.isnan(found[i, n:]).all()
            assert (labels[i, n:] == 2**32 - 1).all()
    assert (topk(Z[:3], 0)[2] == 0).all()


def test_names_are_kept():
    frame = pd.DataFrame(WORDS, columns=[f"word{j}" for j in range(40)])
    model = weald.LinearClassifier(strategy="tree", n_estimators=2, random_state=0).fit(
        frame, FEW, label_names=list("abcdef")
    )
    read = from_json(to_json(model))
    assert read.feature_names_in_.tolist() == list(frame.columns)
    assert read.target_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(read.predict_proba(frame), model.predict_proba(frame))


def of_rules(**changes):
    return lambda content: content["label_trees"].update(changes)


def of_tree(name, *values):
    """Replaces the first values of a list of the first tree, or removes its last one."""

    def change(content):
        listed = content["trees"][0][name]
        listed[: len(values)] = values
        if not values:
            listed.pop()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(label_trees=3), '"label_trees" must be an object'),
        (lambda content: content.update(divisor=2.0), '"divisor" the number of trees'),
        (lambda content: content.update(link="softmax"), '"link" must be "identity"'),
        (lambda content: content.update(start=[0.5] * 60), '"start" empty'),
        (lambda content: content.update(trees=[]), '"divisor" the number of trees'),
        (lambda content: content.update(linear={}), '"label_trees" and "linear" exclude each other'),
        (lambda content: content.update(centroids={}), '"centroids" and "label_trees" exclude each other'),
        (of_rules(features="standardized"), '"features" must be "given", "normalized" or "tfidf"'),
        (of_rules(features=None), '"features" must be "given", "normalized" or "tfidf", got None'),
        (of_rules(features="normalized"), "if and only if features are tf-idf"),
        (of_rules(idf=None), "if and only if features are tf-idf"),
        (of_rules(idf=[1.0]), "one positive number for each feature"),
        (of_rules(idf=[0.1] * 40), "float32 numbers"),
        (of_rules(beam_width=0), '"beam_width" must be an integer from 1'),
        (of_rules(beam_width=2**32), '"beam_width" must be an integer from 1'),
        (of_rules(beam_width=2.0), '"beam_width" must be an integer from 1'),
        (of_tree("is_leaf", 2), '"is_leaf" of tree 0 must have integers from 0 to 1'),
        (of_tree("is_leaf", 1), "a node has no parent"),
        (of_tree("is_leaf"), "do not add up"),
        (of_tree("column_ptr"), "do not add up"),
        (of_tree("column_ptr", 1), "do not add up"),
        (of_tree("targets", 0), "nodes|children"),
        (of_tree("targets", -1), '"targets" of tree 0 must have integers from 0'),
        (of_tree("intercepts"), "intercepts are not one finite number"),
        (of_tree("intercepts", 0.1), "float32 numbers"),
        (of_tree("feature_ptr", 0, 10**6), "do not add up"),
        (of_tree("features", 40), "out of range or not in increasing order"),
        (of_tree("weight_ptr"), "do not add up"),
        (of_tree("weight_columns", 2**16), '"weight_columns" of tree 0 must have integers from 0 to 65535'),
        (of_tree("weight_columns", 999), "out of range or not in increasing order"),
        (of_tree("weights"), "weights|values"),
        (of_tree("weights", "a"), "must have numbers"),
        (lambda content: content["trees"].__setitem__(0, []), "tree 0 must be an object"),
        (lambda content: content["trees"][0].pop("weights"), '"weights" must be a list'),
        (lambda content: content["trees"][1].update(content["trees"][0], targets=[]), "do not add up|not one finite"),
    ],
)
def test_what_contradicts_itself_is_not_read(change, message):
    content = json.loads(to_json(fitted("labels")[0]))
    change(content)
    with pytest.raises(ValueError, match=f"text is not a valid model: .*({message})"):
        from_json(json.dumps(content))


def test_what_c_has_no_room_for_is_refused(monkeypatch):
    model, _ = fitted("labels")
    monkeypatch.setattr("weald.export._c._NONE", 50)
    with pytest.raises(ValueError, match=r"to_c does not support models of more than 49 nodes, columns or weights"):
        to_c(model)
    monkeypatch.undo()
    monkeypatch.setattr("weald.export._c_label_trees.MOST_FOUND", 20)
    with pytest.raises(ValueError, match=r"may find \d+ labels, more than 20, .*set a smaller beam_width"):
        to_c(model)


def test_arrays_make_the_same_model():
    model, _ = fitted("labels")
    engine = model._model
    trees = [tuple(values.tolist() for values in engine.tree_arrays(t)) for t in range(engine.n_trees)]
    of_y = (engine.n_features, "labels", engine.n_outputs, [], engine.features, engine.idf(), engine.beam_width)
    again = weald._weald.LabelTreeModel.of_arrays(*of_y, trees)
    assert [again.tree_arrays(t)[3].tolist() for t in range(3)] == [engine.tree_arrays(t)[3].tolist() for t in range(3)]
    assert (again.n_iter, again.n_unfinished, again.n_weights) == (0, 0, engine.n_weights)
    with pytest.raises(IndexError, match="no such tree"):
        engine.tree_arrays(3)
    described = label_trees_of(model)
    assert described.n_trees == 3
    assert sum(len(tree.values) for tree in described.trees()) == engine.n_weights
