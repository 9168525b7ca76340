"""Forests grown in parts and merged, and estimators as bytes."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import weald
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(3)
X = np.where(RNG.random((60, 5)) < 0.5, 0.0, RNG.integers(-3, 4, size=(60, 5))).astype(np.float32)
CLASSES = np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1]).astype(int) % 3]
LABELS = sp.csr_matrix((X @ RNG.normal(size=(5, 4)) > 1).astype(np.int8))
NUMBERS = X @ RNG.normal(size=(5, 2))

MODELS = {
    "forest of classes": (weald.RandomForestClassifier(7, random_state=0, oob_score=True), CLASSES),
    "balanced": (weald.RandomForestClassifier(7, random_state=0, class_weight="balanced_subsample"), CLASSES),
    "forest of labels": (weald.RandomForestClassifier(7, random_state=1, oob_score=True, keep_rows=True), LABELS),
    "forest of numbers": (weald.ExtraTreesRegressor(7, random_state=2, keep_rows=True), NUMBERS),
    "projected": (
        weald.RandomForestRegressor(7, random_state=3, output_projection="gaussian", projection_scope="forest"),
        NUMBERS,
    ),
    "centroids of labels": (weald.CentroidForestClassifier(7, random_state=4), LABELS),
    "centroids of numbers": (
        weald.CentroidForestRegressor(7, random_state=5, bootstrap=True, oob_score=True),
        NUMBERS,
    ),
}
LAYOUTS = (np.ascontiguousarray, np.asfortranarray, sp.csr_matrix, sp.csc_array)


def parts_of(model, y, cuts=(0, 2, 3, 7), **fit):
    """The fitted parts of a forest, with different layouts of X and numbers of threads."""
    ranges = [range(a, b) for a, b in pairwise(cuts)]
    return [
        clone(model).set_params(n_jobs=1 + i % 2).fit(LAYOUTS[i % len(LAYOUTS)](X), y, trees=trees, **fit)
        for i, trees in enumerate(ranges)
    ]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cuts", [(0, 7), (0, 1, 7), (0, 2, 3, 7), tuple(range(8))], ids=len)
def test_merged_parts_are_byte_for_byte_the_forest(name, cuts):
    model, y = MODELS[name]
    whole = clone(model).fit(X, y)
    parts = parts_of(model, y, cuts)
    assert not any(hasattr(part, "oob_score_") for part in parts)
    # The parts pass through bytes, as if they were sent between machines, and are merged in another order.
    parts = [weald.loads(weald.dumps(part)) for part in parts][::-1]
    merged = weald.merge(parts, X, y).set_params(n_jobs=None)
    assert weald.dumps(merged) == weald.dumps(whole)
    found, expected = (sp.csr_array(model.predict(X)) if y is LABELS else model.predict(X) for model in (merged, whole))
    assert (found != expected).sum() == 0


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_weights_are_part_of_the_data():
    model, y = MODELS["forest of classes"]
    weights = np.arange(60) % 3
    whole = clone(model).fit(X, y, weights)
    merged = weald.merge(parts_of(model, y, sample_weight=weights), X, y, weights).set_params(n_jobs=None)
    assert weald.dumps(merged) == weald.dumps(whole)
    with pytest.raises(ValueError, match="must be the data that the parts were fitted to, got other data"):
        weald.merge(parts_of(model, y, sample_weight=weights), X, y)


def test_a_part_predicts_as_the_forest_of_its_trees():
    model, y = MODELS["forest of numbers"]
    whole = clone(model).fit(X, y)
    (_, part, _) = parts_of(model, y)
    assert len(part.estimators_) == 1
    assert np.array_equal(part.predict(X), whole.estimators_[2].predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: parts[:2], "trees 3 to 6 are missing"),
        (lambda parts: parts[1:], "trees 0 to 1 are missing"),
        (lambda parts: [parts[0], parts[2]], "trees 2 to 2 are missing"),
        (lambda parts: [*parts, parts[1]], "tree 2 is in two parts"),
        (lambda _: [], "parts must have at least one fitted model, got none"),
        (lambda parts: [*parts[:2], whole_forest()], r"parts\[2\] was fitted without trees"),
        (lambda parts: [*parts[:2], other(parts[2], max_depth=1)], "differ in max_depth: None and 1"),
        (lambda parts: [*parts[:2], other(parts[2], random_state=9)], "differ in random_state"),
        (lambda parts: [*parts[:2], on_other_data(X + 1)], "must be fitted to the same X, y and weights"),
        (lambda parts: [*parts[:2], on_other_data(np.hstack([X, X]))], "must be fitted to the same X, y and weights"),
        (lambda parts: [*parts[:2], on_other_data(X, CLASSES[::-1])], "must be fitted to the same X, y and weights"),
        (lambda parts: [*parts[:2], of_extra_trees()], "a RandomForestClassifier and a ExtraTreesClassifier"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    model, y = MODELS["balanced"]
    with pytest.raises(ValueError, match=message):
        weald.merge(change(parts_of(model, y)))


def whole_forest():
    model, y = MODELS["balanced"]
    return clone(model).fit(X, y)


def other(part, **params):
    return clone(part).set_params(**params).fit(X, CLASSES, trees=range(3, 7))


def on_other_data(X_of_part, y=CLASSES):
    return clone(MODELS["balanced"][0]).fit(X_of_part, y, trees=range(3, 7))


def of_extra_trees():
    return weald.ExtraTreesClassifier(7, random_state=0).fit(X, CLASSES, trees=range(3, 7))


@pytest.mark.parametrize("parts", [whole_forest, lambda: 3, lambda: [3], lambda: [StandardScaler()]])
def test_what_is_no_list_of_forests_is_a_type_error(parts):
    with pytest.raises(TypeError, match=r"parts must be .*got a "):
        weald.merge(parts())
    with pytest.raises(NotFittedError, match=r"parts\[0\]"):
        weald.merge([weald.RandomForestClassifier()])


@pytest.mark.parametrize(
    ("trees", "params", "error", "message"),
    [
        ([0, 1], {}, TypeError, "trees must be a range .*got a list"),
        (range(3, 3), {}, ValueError, r"trees must be a non-empty.*got range\(3, 3\)"),
        (range(5, 8), {}, ValueError, "n_estimators is 7"),
        (range(-1, 3), {}, ValueError, r"trees must be a non-empty.*got range\(-1, 3\)"),
        (range(0, 6, 2), {}, ValueError, "step 1"),
        (
            range(3),
            {"random_state": None},
            ValueError,
            "random_state must be an integer with trees, since all parts use the same seed, got None",
        ),
        (range(3), {"random_state": np.random.RandomState(0)}, ValueError, "an integer"),
        (range(3), {"warm_start": True}, ValueError, "warm_start=True"),
    ],
)
def test_bad_ranges_are_refused_and_nothing_is_fitted(trees, params, error, message):
    for name in ("balanced", "centroids of labels"):
        model, y = MODELS[name]
        model = clone(model).set_params(**params)
        with pytest.raises(error, match=message):
            model.fit(X, y, trees=trees)
        assert not hasattr(model, "n_features_in_")


def test_a_part_is_proven_when_it_is_loaded():
    part = parts_of(*MODELS["balanced"])[1]
    for wrong in [(2, 4, "0" * 32), (2, 3, "x" * 32), (2, 3), (2.0, 3, "0" * 32), [2, 3, "0" * 32]]:
        state = part.__getstate__() | {"_part": wrong}
        with pytest.raises(ValueError, match="_part"):
            weald.RandomForestClassifier().__setstate__(state)


def test_a_new_fit_of_a_part_is_no_part():
    part = parts_of(*MODELS["balanced"])[1]
    assert weald.dumps(part.set_params(n_jobs=None).fit(X, CLASSES)) == weald.dumps(whole_forest())


# --- bytes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_bytes_are_those_of_the_file(name, tmp_path):
    model = clone(MODELS[name][0]).fit(X, MODELS[name][1])
    data = weald.dumps(model)
    weald.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == data
    file = io.BytesIO()
    weald.save(model, file)
    assert file.getvalue() == data
    file.seek(0)
    for same in (data, memoryview(data), bytearray(data)):
        assert weald.dumps(weald.loads(same)) == data
    assert weald.dumps(weald.load(file)) == data


def test_what_is_no_model_is_refused_in_a_short_message(tmp_path):
    model = whole_forest()
    data = weald.dumps(model)
    with pytest.raises(TypeError, match=r"path must be a str, an os\.PathLike or a binary file, got a b") as caught:
        weald.load(data)
    assert len(str(caught.value)) < 300
    for wrong in (3, None, [1], "text", {}):
        with pytest.raises(TypeError, match=r"data must be bytes.*got a"):
            weald.loads(wrong)
    for wrong in (3, None, data):
        with pytest.raises(TypeError, match=r"path must be .*got a"):
            weald.save(model, wrong)
    with pytest.raises(TypeError, match=r"path\.read\(\) returned a str"):
        weald.load(io.StringIO("text"))
    with pytest.raises(ValueError, match="mmap_mode"):
        weald.load(io.BytesIO(data), mmap_mode="r")
    for wrong in (b"", data[:-1], data + b"x", b"\0" * 40):
        with pytest.raises(ValueError, match="data"):
            weald.loads(wrong)
    for protocol in range(2, 6):
        pickled = pickle.dumps(model, protocol)
        with pytest.raises(ValueError, match="got a pickle"):
            weald.loads(pickled)
        (tmp_path / "pickle").write_bytes(pickled)
        with pytest.raises(ValueError, match="got a pickle"):
            weald.load(tmp_path / "pickle")
    with pytest.raises(NotFittedError):
        weald.dumps(weald.RandomForestClassifier())


def test_parts_whose_outputs_have_other_names_are_refused():
    names = ["temperature", "rain"]
    forest = weald.RandomForestRegressor(4, random_state=0)
    Y = pd.DataFrame(X[:, :2], columns=names)
    one = clone(forest).fit(X, Y, trees=range(2))
    same = clone(forest).fit(X, Y, trees=range(2, 4))
    assert weald.merge([one, same]).target_names_in_.tolist() == names
    for other, message in (
        (Y.set_axis(names[::-1], axis=1), "trees 0 to 1 have 'temperature' at position 0, and trees 2 to 3 'rain'"),
        (Y.to_numpy(), "trees 0 to 1 have 'temperature' at position 0, and trees 2 to 3 none"),
    ):
        part = clone(forest).fit(X, other, trees=range(2, 4))
        with pytest.raises(ValueError, match=f"parts must have the same names of outputs, but {message}"):
            weald.merge([one, part])
    # A single output, too.
    single = [
        clone(forest).fit(X, pd.Series(X[:, 0], name=name), trees=range(2 * i, 2 * i + 2))
        for i, name in enumerate(["a", "b"])
    ]
    with pytest.raises(ValueError, match="'a' at position 0, and trees 2 to 3 'b'"):
        weald.merge(single)
    labels = (X.mean(axis=0) < X).astype(int)
    linear = weald.LinearClassifier(C=1, features="given", calibrate=False, random_state=0)
    parts = [
        clone(linear).fit(X, labels, labels=range(i, i + 1 + i), label_names=list(told))
        for i, told in enumerate(["abcdefghij"[: labels.shape[1]], "jihgfedcba"[: labels.shape[1]]])
    ]
    with pytest.raises(ValueError, match="parts must have the same names of outputs"):
        weald.merge(parts)
