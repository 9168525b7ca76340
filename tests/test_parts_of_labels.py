"""Linear models that are fitted to some labels at a time, label trees in parts, and what they are together."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import weald
from conftest import unless
from scipy import sparse
from sklearn.base import clone
from weald import distribute

RNG = np.random.default_rng(5)
N, N_LABELS = 90, 40
X = np.asarray(RNG.poisson(0.4, size=(N, 25)), np.float32)
# Labels of all frequencies, one of them without samples.
LABELS = (X @ RNG.normal(size=(25, N_LABELS)) > np.linspace(-1, 8, N_LABELS)).astype(np.int8)
LABELS[:, 7] = 0
MASK = RNG.random(LABELS.shape) < 0.1
WEIGHTS = RNG.integers(0, 3, size=N).astype(float)
LAYOUTS = (np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array)

MODELS = {
    "chosen": weald.LinearClassifier(random_state=0),
    "log loss": weald.LinearClassifier(3.0, loss="log_loss", random_state=1),
    "standardized": weald.LinearClassifier(0.3, features="standardized", random_state=2),
    "not calibrated": weald.LinearClassifier(1.0, features="tfidf", calibrate=False, random_state=3),
    "half": weald.LinearClassifier(0.3, features="normalized", weight_dtype="float16", random_state=4),
}


def parts_of(model, cuts=(0, 3, 20, N_LABELS), y=LABELS, what="labels", **fit):
    """The fitted parts, with different layouts of X and numbers of threads."""
    return [
        clone(model)
        .set_params(n_jobs=1 + i % 2)
        .fit(LAYOUTS[i % len(LAYOUTS)](X), y, **{what: range(start, stop)}, **fit)
        for i, (start, stop) in enumerate(pairwise(cuts))
    ]


def merged_of(parts):
    """Parts that were sent as bytes are merged in another order."""
    return weald.merge([weald.loads(weald.dumps(part)) for part in parts][::-1]).set_params(n_jobs=None)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cuts", [(0, N_LABELS), (0, 1, N_LABELS), (0, 3, 20, N_LABELS)], ids=len)
@pytest.mark.parametrize(
    "fit", [{}, {"sample_weight": WEIGHTS, "y_weight": unless(MASK)}], ids=["plain", "weights and mask"]
)
def test_merged_parts_are_byte_for_byte_the_model(name, cuts, fit):
    whole = clone(MODELS[name]).fit(X, LABELS, **fit)
    merged = merged_of(parts_of(MODELS[name], cuts, **fit))
    assert weald.dumps(merged) == weald.dumps(whole)
    np.testing.assert_array_equal(merged.decision_function(X), whole.decision_function(X))


def test_labels_of_one_part_have_the_scores_of_the_model_and_the_others_no_weights():
    whole = clone(MODELS["chosen"]).fit(X, LABELS)
    part = clone(MODELS["chosen"]).fit(X, LABELS, labels=range(3, 20))
    assert (part.C_, part.features_, part.n_outputs_) == (whole.C_, whole.features_, N_LABELS)
    np.testing.assert_array_equal(part.decision_function(X)[:, 3:20], whole.decision_function(X)[:, 3:20])
    assert part.coef_[[*range(3), *range(20, N_LABELS)]].nnz == 0
    # A new fit of a part is no part.
    assert weald.dumps(part.fit(X, LABELS)) == weald.dumps(whole)


def test_sparse_labels_and_their_names_are_merged():
    Y, names = sparse.csr_array(LABELS), [f"label {j}" for j in range(N_LABELS)]
    model = MODELS["not calibrated"]
    whole = clone(model).fit(X, Y, label_names=names)
    merged = merged_of(parts_of(model, y=Y, label_names=names))
    assert weald.dumps(merged) == weald.dumps(whole)
    assert merged.predict_topk(X[:2], 1, names=True)[0].tolist() == whole.predict_topk(X[:2], 1, names=True)[0].tolist()


@pytest.mark.parametrize("n_parts", [1, 3, 100])
def test_workers_fit_the_labels_of_one_model(n_parts):
    model = MODELS["log loss"]
    whole = clone(model).fit(X, LABELS, WEIGHTS, y_weight=unless(MASK))
    with ThreadPoolExecutor(2) as executor:
        found = distribute.fit(
            clone(model), X, LABELS, executor, n_parts=n_parts, sample_weight=WEIGHTS, y_weight=unless(MASK)
        )
    assert weald.dumps(found) == weald.dumps(whole)


def test_workers_need_labels():
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ValueError, match=r"y must have a column for each label.*got the shape \(90,\)"):
            distribute.fit(clone(MODELS["chosen"]), X, LABELS[:, 0], executor)
        with pytest.raises(ValueError, match="labels must be None if y has classes"):
            distribute.fit(clone(MODELS["chosen"]), X, LABELS[:, :2] + 1, executor)
        with pytest.raises(ValueError, match="random_state must be an integer with labels"):
            distribute.fit(weald.LinearClassifier(), X, LABELS, executor)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: parts[:2], "parts must have all labels of range(0, 40), but labels 20 to 39 are missing"),
        (lambda parts: parts[1:], "labels 0 to 2 are missing"),
        (lambda parts: [*parts, parts[1]], "each label of range(0, 40) once, but label 3 is in two parts"),
        (lambda parts: [*parts[:2], clone(parts[2]).fit(X, LABELS)], "parts[2] was fitted without labels"),
        (lambda parts: [*parts[:2], other(parts[2], C=2.0)], "differ in C: 1.0 and 2.0"),
        (lambda parts: [*parts[:2], other(parts[2], random_state=9)], "differ in random_state"),
        (lambda parts: [*parts[:2], other(parts[2], loss="log_loss")], "differ in loss"),
        (lambda parts: [*parts[:2], other(parts[2], X=X + 1)], "must be fitted to the same X, y and weights"),
        (lambda parts: [*parts[:2], other(parts[2], y=LABELS[::-1])], "must be fitted to the same X, y and weights"),
        (lambda parts: [*parts[:2], forest()], "a LinearClassifier and a RandomForestClassifier"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        weald.merge(change(parts_of(MODELS["not calibrated"])))


def other(part, X=X, y=LABELS, **params):
    return clone(part).set_params(**params).fit(X, y, labels=range(20, N_LABELS))


def forest():
    return weald.RandomForestClassifier(3, random_state=0).fit(X, LABELS, trees=range(1, 3))


@pytest.mark.parametrize(
    ("labels", "y", "params", "error", "message"),
    [
        ([0, 1], LABELS, {}, TypeError, "labels must be a range such as range(0, 40), or None, got a list"),
        (3, LABELS, {}, TypeError, "labels must be a range"),
        (range(3, 3), LABELS, {}, ValueError, "labels must be a non-empty range of step 1 within range(0, 40)"),
        (range(30, 41), LABELS, {}, ValueError, "since y has 40 labels, got range(30, 41)"),
        (range(-1, 3), LABELS, {}, ValueError, "got range(-1, 3)"),
        (range(0, 6, 2), LABELS, {}, ValueError, "step 1"),
        (range(3), LABELS, {"random_state": None}, ValueError, "random_state must be an integer with labels"),
        (range(1), LABELS[:, 0], {}, ValueError, "labels must be None if y has classes"),
        (range(1), LABELS[:, :2] + 1, {}, ValueError, "labels must be None if y has classes"),
    ],
)
def test_bad_ranges_are_refused_and_nothing_is_fitted(labels, y, params, error, message):
    model = clone(MODELS["not calibrated"]).set_params(**params)
    with pytest.raises(error, match=re.escape(message)):
        model.fit(X, y, labels=labels)
    assert not hasattr(model, "n_features_in_")


def test_a_part_is_proven_when_it_is_loaded():
    part = parts_of(MODELS["not calibrated"])[1]
    for wrong in [
        (30, 41, "0" * 32),
        (-1, 3, "0" * 32),
        (3, 3, "0" * 32),
        (2, 3, "x" * 32),
        (2, 3),
        (2.0, 3, "0" * 32),
    ]:
        state = part.__getstate__() | {"_part": wrong}
        with pytest.raises(ValueError, match="_part"):
            weald.LinearClassifier().__setstate__(state)


# --- label trees ------------------------------------------------------------------------------------------------------

TREES = weald.LinearClassifier(
    strategy="tree",
    n_estimators=4,
    max_children=3,
    max_leaf_labels=5,
    beam_width=3,
    features="normalized",
    random_state=0,
)


@pytest.mark.parametrize("cuts", [(0, 4), (0, 1, 4), (0, 1, 2, 3, 4)], ids=len)
@pytest.mark.parametrize("features", ["normalized", "auto"])
def test_merged_trees_are_byte_for_byte_the_label_trees(cuts, features):
    model = clone(TREES).set_params(features=features)
    whole = clone(model).fit(X, LABELS, WEIGHTS, y_weight=unless(MASK))
    merged = merged_of(parts_of(model, cuts, what="trees", sample_weight=WEIGHTS, y_weight=unless(MASK)))
    assert weald.dumps(merged) == weald.dumps(whole)
    with ThreadPoolExecutor(2) as executor:
        found = distribute.fit(
            clone(model), X, LABELS, executor, sample_weight=WEIGHTS, y_weight=unless(MASK), n_parts=3
        )
    assert weald.dumps(found) == weald.dumps(whole)


def test_label_trees_of_classes_have_parts_too():
    y = np.array(list("abcdef"))[(X[:, 0] + 2 * X[:, 1]).astype(int) % 6]
    whole = clone(TREES).fit(X, y)
    assert weald.dumps(merged_of(parts_of(TREES, (0, 3, 4), y, "trees"))) == weald.dumps(whole)


def test_parts_of_label_trees_that_do_not_fit_are_refused():
    parts = parts_of(TREES, (0, 1, 4), what="trees")
    with pytest.raises(ValueError, match="trees 1 to 3 are missing"):
        weald.merge(parts[:1])
    with pytest.raises(ValueError, match="tree 0 is in two parts"):
        weald.merge([*parts, parts[0]])
    with pytest.raises(ValueError, match="since n_estimators is 4, got range"):
        clone(TREES).fit(X, LABELS, trees=range(2, 5))
    state = parts[1].__getstate__() | {"_part": (0, 1, "0" * 32)}
    with pytest.raises(ValueError, match="_part must be a range of 3 trees"):
        weald.LinearClassifier(strategy="tree").__setstate__(state)
