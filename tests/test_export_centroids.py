"""Centroid forests as JSON and C: predictions are those of the engine to the bit."""

from __future__ import annotations

import functools
import json

import numpy as np
import pandas as pd
import pytest
import weald
from json_models import scores_of_json
from scipy import sparse
from weald.export import to_c, to_json

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
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_reader_of_json_predicts_the_same_bits(case):
    model, Z = fitted(case)
    text = to_json(model)
    assert text == to_json(model)
    Z = np.concatenate([Z[:320:9], Z[-21::4]])
    np.testing.assert_array_equal(scores_of_json(json.loads(text), Z), model._forest.predict(Z))


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


def test_names_are_kept():
    frame = pd.DataFrame(DENSE, columns=[f"word{j}" for j in range(40)])
    model = weald.CentroidForestClassifier(n_estimators=2, random_state=0).fit(frame, Y, label_names=list("abcdef"))
    content = json.loads(to_json(model))
    assert content["feature_names"] == list(frame.columns)
    assert content["output_names"] == list("abcdef")
