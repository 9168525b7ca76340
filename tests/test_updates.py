"""Forests in which trees grown on new samples replace the oldest trees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import weald
from conftest import unless
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(120, 4)).astype(np.float32)
CLASSES = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
LABELS = sp.csr_matrix((X @ RNG.normal(size=(4, 3)) > 0.3).astype(np.int8))
NUMBERS = X @ RNG.normal(size=(4, 2))
OLD, NEW = slice(0, 70), slice(70, 120)
MODELS = {
    "classes": (weald.RandomForestClassifier(8, random_state=0), CLASSES),
    "labels": (weald.ExtraTreesClassifier(8, random_state=1), LABELS),
    "numbers": (weald.RandomForestRegressor(8, random_state=2), NUMBERS),
}


@pytest.mark.parametrize("name", MODELS)
def test_new_trees_are_the_next_ones_of_a_fit_on_the_new_samples(name):
    model, y = MODELS[name]
    forest = clone(model).fit(X[OLD], y[OLD])
    old = forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)
    members = [weald.dumps(tree) for tree in forest.estimators_]
    assert forest.update(X[NEW], y[NEW], retire=3) is forest
    found = [weald.dumps(tree) for tree in forest.estimators_]
    assert found[:5] == members[3:]
    # The new trees are trees 8 to 10 of a larger forest on the new samples.
    larger = clone(model).set_params(n_estimators=14).fit(X[NEW], y[NEW])
    expected = [weald.dumps(tree) for tree in larger.estimators_]
    assert found[5:] == expected[8:11]
    forest.update(X[NEW], y[NEW], retire=3)
    assert [weald.dumps(tree) for tree in forest.estimators_][5:] == expected[11:14]
    assert len(forest.estimators_) == forest.n_estimators == 8
    again = weald.loads(weald.dumps(forest))
    new = again.predict_proba(X) if hasattr(again, "predict_proba") else again.predict(X)
    assert not np.array_equal(np.asarray(old), np.asarray(new))
    assert weald.dumps(again.update(X[OLD], y[OLD], retire=1)) == weald.dumps(forest.update(X[OLD], y[OLD], retire=1))


def test_classes_that_the_new_samples_lack_stay():
    forest = clone(MODELS["classes"][0]).fit(X[OLD], CLASSES[OLD])
    kept = CLASSES != "b"
    for rows in (X[kept], sp.csr_matrix(X[kept]), X[kept].tolist()):
        again = weald.loads(weald.dumps(forest)).update(rows, CLASSES[kept], retire=8)
        assert again.classes_.tolist() == ["a", "b", "c"]
        assert (again.predict_proba(X)[:, 1] == 0).all()
    again.update(X[kept], CLASSES[kept], np.ones(kept.sum()), retire=2)


def test_attributes_of_other_samples_are_dropped_and_a_fit_starts_anew():
    model = clone(MODELS["classes"][0]).set_params(oob_score=True, n_estimators=30, keep_rows=True)
    forest = clone(model).fit(X, CLASSES)
    expected = weald.dumps(forest)
    forest.update(X[NEW], CLASSES[NEW])
    assert not any(hasattr(forest, name) for name in ("oob_score_", "oob_decision_function_", "_kept_leaves"))
    with pytest.raises(ValueError, match="is not supported for a forest that was updated"):
        forest.set_params(warm_start=True).fit(X, CLASSES)
    assert weald.dumps(forest.set_params(warm_start=False).fit(X, CLASSES)) == expected


@pytest.mark.parametrize(
    ("rows", "y", "options", "message"),
    [
        (X[NEW], CLASSES[NEW], {"retire": 0}, "retire must be an integer from 1 to 8, the number of trees, got 0"),
        (X[NEW], CLASSES[NEW], {"retire": 9}, "from 1 to 8"),
        (
            X[NEW],
            CLASSES[NEW],
            {"retire": 2.0},
            r"retire must be an integer from 1 to 8, the number of trees, got 2\.0",
        ),
        (X[NEW, :3], CLASSES[NEW], {"retire": 2}, "must have 4 features, as in the fit, got 3"),
        (X[NEW], np.array(["z"] * 50), {"retire": 2}, "y must have classes of the training data, got 'z'"),
        (X[NEW], CLASSES[OLD], {"retire": 2}, "inconsistent"),
        (pd.DataFrame(X[NEW], columns=list("abcd")), CLASSES[NEW], {"retire": 2}, "must have the same feature names"),
    ],
)
def test_bad_samples_change_nothing(rows, y, options, message):
    forest = clone(MODELS["classes"][0]).fit(X[OLD], CLASSES[OLD])
    before = weald.dumps(forest)
    with pytest.raises(ValueError, match=message):
        forest.update(rows, y, **options)
    assert weald.dumps(forest) == before


def test_forests_that_cannot_be_updated():
    with pytest.raises(NotFittedError):
        weald.RandomForestClassifier().update(X, CLASSES)


@pytest.mark.parametrize("kind", ["classes", "labels", "numbers"])
def test_unknown_values_of_new_samples_are_left_out(kind):
    y = {"classes": np.column_stack([CLASSES, CLASSES[::-1]]), "labels": LABELS.toarray(), "numbers": NUMBERS}[kind]
    model = clone(MODELS[kind][0])
    mask = np.random.default_rng(0).random(y.shape) < 0.3
    forest = clone(model).fit(X[OLD], y[OLD]).update(X[NEW], y[NEW], y_weight=unless(mask[NEW]), retire=3)
    of_new = clone(model).set_params(n_estimators=11).fit(X[NEW], y[NEW], y_weight=unless(mask[NEW]))
    for tree, expected in zip(forest.estimators_[-3:], of_new.estimators_[-3:], strict=True):
        assert np.array_equal(tree.predict(X), expected.predict(X))
    # What y has where it is unknown is not read, not even a class that the fit did not have.
    other = np.where(mask, {"classes": "z", "labels": 7, "numbers": np.nan}[kind], y)
    again = clone(model).fit(X[OLD], y[OLD]).update(X[NEW], other[NEW], y_weight=unless(mask[NEW]), retire=3)
    assert weald.dumps(again) == weald.dumps(forest)
    if kind == "classes":
        with pytest.raises(ValueError, match="y must have classes of the training data, got 'z'"):
            forest.update(X[NEW], np.where(mask, y, "z")[NEW], y_weight=unless(mask[NEW]), retire=1)


@pytest.mark.parametrize("kind", ["numbers", "labels", "classes"])
def test_outputs_must_have_the_names_of_the_fit(kind):
    y = {"numbers": X[:, :2], "labels": (X[:, :2] > 0).astype(int), "classes": np.digitize(X[:, :2], [-0.5, 0.5])}[kind]
    y = pd.DataFrame(y, columns=["a", "b"])
    forest = (weald.RandomForestRegressor if kind == "numbers" else weald.RandomForestClassifier)(4, random_state=0)
    forest.fit(X[OLD], y.iloc[OLD])
    before = weald.dumps(forest)
    with pytest.raises(ValueError, match="y must have the name 'a' at position 0, got 'b'"):
        forest.update(X[NEW], y.iloc[NEW][["b", "a"]], retire=2)
    assert weald.dumps(forest) == before
    assert forest.update(X[NEW], y.iloc[NEW], retire=2).target_names_in_.tolist() == ["a", "b"]
