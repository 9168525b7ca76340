"""Centroid forests as JSON and C: predictions are those of the engine to the bit."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import weald
from scipy import sparse
from weald._files.centroid_tables import CentroidTables
from weald.export import from_json, to_c, to_json
from weald.export._centroids import centroids_of
from weald.export._json_centroids import CentroidPredictor

RNG = np.random.default_rng(0)
X = sparse.random_array((160, 40), density=0.2, rng=RNG, format="csr").astype(np.float32)
DENSE = X.toarray()
Y = (DENSE[:, :6] > 0.3).astype(int)
WIDE = sparse.random_array((160, 300), density=0.02, rng=RNG, data_sampler=lambda size: np.ones(size, int)).tocsr()
HEAVY, FRACTIONS = RNG.integers(20, 60, 160).astype(float), RNG.random(160)
SEVERAL = np.column_stack([Y[:, 0] + Y[:, 1], Y[:, 2]])
# Values of which some are unknown; leaves that know little share values.
SOME = np.where(RNG.random((160, 3)) < 0.4, np.nan, DENSE[:, :3] * 7.3 - 1)
FEW = np.where((RNG.random((160, 90)) < 0.95) & (np.arange(160) > 0)[:, None], np.nan, RNG.integers(0, 2, (160, 90)))

# y, sample weights, and parameters.
CASES = {
    "labels": (Y, None, {}),
    "plain": (Y, None, {"soft_routing": False, "smoothing": 0.0, "refine": False, "bootstrap": False}),
    "nearest": (WIDE, None, {"soft_routing": False}),
    "many labels": (WIDE, None, {"bootstrap": True}),
    "heavy": (WIDE, HEAVY, {}),
    "fractions": (WIDE, FRACTIONS, {"smoothing": 0.0}),
    "fractions of classes": (Y[:, 0] + Y[:, 1], FRACTIONS, {}),
    "as given": (WIDE, None, {"normalize": False, "idf": False}),
    "weighted words": (Y, None, {"normalize": False}),
    "two classes": (np.array(["no", "yes"])[Y[:, 0]], None, {"refine": False}),
    "several": (SEVERAL, None, {"multi_label": False}),
    "one class": (np.zeros(160, dtype=int), None, {}),
    "one leaf": (Y, None, {"max_leaf_samples": 500}),
    "few children": (WIDE, None, {"n_children": 2, "max_leaf_samples": 1}),
    "many children": (WIDE, None, {"n_children": 40}),
    "numbers": (DENSE[:, :3] * 7.3 - 1, None, {}),
    "a number": (DENSE[:, 0].astype(float), FRACTIONS, {"smoothing": 0.0}),
    "sparse numbers": (sparse.csr_array(DENSE[:, :9] * -2.5), None, {"soft_routing": False}),
    "unknown labels": (np.where(RNG.random(Y.shape) < 0.4, np.nan, Y), None, {}),
    "unknown classes": (np.where(RNG.random(SEVERAL.shape) < 0.4, np.nan, SEVERAL), None, {"multi_label": False}),
    "unknown numbers": (SOME, FRACTIONS, {}),
    "few known labels": (FEW, None, {"max_leaf_samples": 2}),
    "two sets of samples": (WIDE, None, {"idf": False}),
}


@functools.cache
def fitted(case):
    """The model of a case, and samples."""
    y, weights, params = CASES[case]
    kind = weald.CentroidForestRegressor if "number" in case else weald.CentroidForestClassifier
    model = kind(n_estimators=5, random_state=0, **params).fit(X, y, sample_weight=weights)
    if case == "two sets of samples":
        other = kind(n_estimators=3, random_state=1, **params).fit(X[40:], y[40:])
        model._forest = weald._weald.CentroidForest.merge([model._forest, other._forest])
    # Zeros, values next to zero, negative and large ones.
    rng = np.random.default_rng(1)
    tried = np.where(
        rng.random(DENSE.shape) < 0.15, rng.choice([0.0, -0.0, 1e-42, -3e-3, 4e4, 1e30], DENSE.shape), DENSE
    )
    return model, np.concatenate([DENSE, tried, -DENSE[:20], np.zeros((1, 40))]).astype(np.float32)


def columns_of(found):
    found = np.hstack(found) if isinstance(found, list) else found
    return dense(found).reshape(len(dense(found)), -1)


def dense(found):
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


def predictions(model, Z):
    return columns_of(model.predict_proba(Z) if hasattr(model, "classes_") else model.predict(Z))


@pytest.mark.parametrize("case", CASES)
def test_json_that_is_read_predicts_the_same_bits(case):
    model, Z = fitted(case)
    text = to_json(model)
    assert text == to_json(model)
    read = from_json(text)
    for samples in (Z, sparse.csr_array(Z)):
        np.testing.assert_array_equal(read.predict_scores(samples), model._forest.predict(Z))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(columns_of(read.predict_proba(Z)), predictions(model, Z))
    np.testing.assert_array_equal(read.predict(Z), dense(model.predict(Z)))
    assert repr(read) == f"<{type(model).__name__} of {model._forest.n_trees} trees, read by weald.export.from_json>"
    with pytest.raises(ValueError, match=r"NaN|finite"):
        read.predict(Z * np.nan)


@pytest.mark.parametrize("flags", [["-O0"], ["-O3", "-march=native", "-ffp-contract=fast"]], ids=["plain", "fused"])
@pytest.mark.parametrize("case", CASES)
def test_c_predicts_the_same_bits(case, flags, tmp_path):
    import subprocess

    c = pytest.importorskip("test_export_c")
    if c.COMPILER is None:
        pytest.skip("no C compiler")
    model, Z = fitted(case)
    text = to_c(model, name="tags")
    assert "alloc" not in text
    try:
        scores, predict = c.compiled(text, tmp_path, *flags, name="tags")
    except subprocess.CalledProcessError:
        if flags == ["-O0"]:
            raise
        pytest.skip("the compiler has not these flags")
    np.testing.assert_array_equal(scores(Z), model._forest.predict(Z))
    np.testing.assert_array_equal(predict(Z), predictions(model, Z))


@pytest.mark.parametrize("case", CASES)
def test_leaves_are_those_that_apply_finds(case):
    """The nearest leaves, with the shares of their parents, predict what a forest with the nearest leaves alone does."""
    model, Z = fitted(case)
    found = centroids_of(model)
    reached = model.apply(Z)
    sums = np.zeros((len(Z), found.n_scores))
    for t, tree in enumerate(found.trees()):
        nodes = np.flatnonzero(tree.starts[1:] == tree.starts[:-1])
        np.testing.assert_array_equal(nodes[np.searchsorted(nodes, reached[:, t])], reached[:, t])
        leaf = np.searchsorted(nodes, reached[:, t])
        shape = (len(nodes), found.n_scores)
        values = sparse.csr_array((tree.leaves.values, tree.leaves.columns, tree.leaves.ptr), shape=shape).toarray()
        if tree.parents is None:
            sums += values[leaf]
            continue
        # Each leaf is below its parent, and the samples of leaves are those of the model.
        with_leaves = [
            p for p in range(len(tree.starts) - 1) if set(range(*tree.starts[p : p + 2])) & set(nodes.tolist())
        ]
        for at, node in enumerate(nodes):
            parent = with_leaves[tree.parent_of[at]]
            assert tree.starts[parent] <= node < tree.starts[parent + 1]
        parents = tree.parents
        shape = (len(with_leaves), found.n_scores)
        above = sparse.csr_array((parents.values, parents.columns, parents.ptr), shape=shape).toarray()[tree.parent_of]
        own = tree.own[leaf, np.newaxis]
        sums += own * values[leaf]
        sums += (1 - own) * above[leaf]
    means = sums / found.divisor
    if found.kind != "numbers":
        np.testing.assert_array_less(means, 1 + 1e-12)
        means = np.minimum(means, 1)
    if not model.soft_routing:
        np.testing.assert_array_equal(means, model._forest.predict(Z))


@pytest.mark.parametrize("case", CASES)
def test_all_that_the_file_says_of_leaves_is_read(case):
    tables = CentroidTables(fitted(case)[0]._forest)
    list(tables.trees())
    of_leaves = {
        "leaf_layout",
        "leaf_sizes",
        "leaf_columns",
        "leaf_amounts",
        "leaf_totals",
        "row_units",
        "row_set",
        "set_sizes",
    }
    for name in of_leaves & tables._tensors.keys():
        assert tables._at.get(name, 0) == len(tables._tensors[name])
    assert not {"leaf_scales", "leaf_factors", "set_values"} & tables._tensors.keys()


def test_names_are_kept():
    frame = pd.DataFrame(DENSE, columns=[f"word{j}" for j in range(40)])
    model = weald.CentroidForestClassifier(n_estimators=2, random_state=0).fit(frame, Y, label_names=list("abcdef"))
    read = from_json(to_json(model))
    assert read.feature_names_in_.tolist() == list(frame.columns)
    assert read.target_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(read.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="40 features"):
        read.predict(DENSE[:, :3])


def of_tree(**changes):
    return lambda content: content["trees"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(centroids=3), '"centroids" must be an object'),
        (lambda content: content.update(divisor=2.0), '"divisor" the number of trees'),
        (lambda content: content.update(link="softmax"), '"link" must be "identity"'),
        (lambda content: content.update(start=[0.5] * 6), '"start" empty'),
        (lambda content: content.update(linear={}), "exclude each other"),
        (lambda content: content.update(trees=[]), '"divisor" the number of trees'),
        (lambda content: content["centroids"].update(normalize=1), '"normalize" must be true or false'),
        (lambda content: content["centroids"].update(sharpness=-1.0), '"sharpness" must be at least 0'),
        (lambda content: content["centroids"].update(least=0.75), '"least" from 0 to 0.5'),
        (lambda content: content["centroids"].update(least=0.1), "float32 numbers"),
        (lambda content: content["centroids"]["idf"].pop(), '"idf" must have length 40'),
        (of_tree(children=[1, 3, 3, 2]), "not the nodes of one tree"),
        (of_tree(children=[0, 0]), "not the nodes of one tree"),
        (of_tree(children=[]), "not the nodes of one tree"),
        (of_tree(children=[1, 2, 2]), "not the nodes of one tree"),
        (lambda content: content["trees"][0]["centroid_ptr"].pop(), "do not add up"),
        (
            lambda content: content["trees"][0]["centroid_features"].__setitem__(0, 40),
            "out of range or not in increasing",
        ),
        (
            lambda content: content["trees"][0]["centroid_features"].__setitem__(0, 39),
            "out of range or not in increasing",
        ),
        (lambda content: content["trees"][0]["centroid_weights"].pop(), "as many weights as features"),
        (lambda content: content["trees"][0]["centroid_weights"].__setitem__(0, 0.1), "float32 numbers"),
        (lambda content: content["trees"][0]["leaf_columns"].__setitem__(0, 6), "out of range"),
        (lambda content: content["trees"][0]["leaf_values"].__setitem__(0, 1.5), "must be from 0 to 1"),
        (lambda content: content["trees"][0]["parent_values"].pop(), "as many parent values"),
        (lambda content: content["trees"][0]["parent_of"].__setitem__(0, 99), "a row of the parents for each leaf"),
        (lambda content: content["trees"][0]["own"].__setitem__(0, 2.0), "a number from 0 to 1 for each leaf"),
        (lambda content: content["trees"].__setitem__(0, []), "tree 0 must be an object"),
    ],
)
def test_what_contradicts_itself_is_not_read(change, message):
    content = json.loads(to_json(fitted("labels")[0]))
    change(content)
    with pytest.raises(ValueError, match=f"text is not a valid model: .*{message}"):
        from_json(json.dumps(content))


def test_a_file_that_is_too_large_for_c_is_refused(monkeypatch):
    monkeypatch.setattr("weald.export._c._NONE", 50)
    with pytest.raises(ValueError, match=r"to_c does not support models of more than 49 nodes, weights or values"):
        to_c(fitted("labels")[0])


def test_the_pages_tell_that_centroid_forests_are_predicted_in_python():
    root = Path(__file__).parents[1]
    forest = weald.CentroidForestClassifier(2, random_state=0).fit(X, Y)
    assert isinstance(from_json(to_json(forest))._engine, CentroidPredictor)
    for page, promise in (
        ("docs/export.md", "predicts by weald's engine,"),
        ("CHANGELOG.md", "as fast as the estimator"),
    ):
        (told,) = (part for part in (root / page).read_text().split("\n\n") if promise in part)
        assert "entroid" in told.split(promise)[1].split("* **")[0][:200], page
