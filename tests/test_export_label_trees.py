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
from json_models import scores_of_json
from scipy import sparse
from test_export_c import COMPILER, compiled
from weald.export import to_c, to_json

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
def test_the_description_is_complete(case):
    model, Z = fitted(case)
    text = to_json(model)
    assert text == to_json(model)
    Z = np.concatenate([Z[:40:7], Z[-21::5]])
    # The powers, exponentials and logarithms of other libraries.
    np.testing.assert_allclose(scores_of_json(json.loads(text), Z), model.predict_proba(Z), rtol=1e-9, atol=1e-12)


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
    content = json.loads(to_json(model))
    assert content["feature_names"] == list(frame.columns)
    assert content["output_names"] == list("abcdef")
