"""Models as JSON: every digit is written, and a reader that knows the documentation alone predicts the same."""

from __future__ import annotations

import json

import exports
import numpy as np
import pandas as pd
import pytest
import weald
from conftest import make, make_data
from exports import CASES, N_RANDOM, fitted, probes, random_model, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from json_models import predictions_of_json, scores_of_json
from weald.export import to_json


def check_same(model, X):
    content = json.loads(to_json(model))
    scores = scores_of_json(content, X)
    # Scores are the same to the bit; the functions for exponentials round in their own ways.
    exports.check_same(model, X, scores=scores, columns=predictions_of_json(content, scores))


def check_random(model, X):
    """Compare what a reader predicts, or check that the reason of a refusal is given."""
    if any(classes.dtype.kind == "S" for classes in exports.classes_of(model)):
        with pytest.raises(ValueError, match=r"to_json does not support classes_ of type bytes: they must be numbers"):
            to_json(model)
        return
    check_same(model, X)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_engine_to_the_bit(case):
    check_same(*fitted(case))


@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random_models(seed):
    check_random(*random_model(seed))


def walk(tree, row):
    """The leaf that a sample reaches, found in plain Python from what the JSON text contains."""
    node = 0
    while tree["feature"][node] >= 0:
        value = float(np.float32(row[tree["feature"][node]]))
        if value != value:
            goes_left = tree["missing_left"][node] == 1
        elif str(node) in tree["categories"]:
            goes_left = value in tree["categories"][str(node)]
        else:
            goes_left = value <= tree["threshold"][node]
        node = tree["left" if goes_left else "right"][node]
    return node


@pytest.mark.parametrize(
    "case",
    [
        "RandomForestClassifier-wide-missing",
        "GradientBoostingClassifier-several-categories",
        "GradientBoostingRegressor-several-missing-low rank",
        "GradientBoostingClassifier-labels-missing-single_target",
        "CompressedForestRegressor-several-missing",
    ],
)
def test_the_schema_in_twenty_lines_of_plain_python(case):
    model, X = fitted(case)
    content = json.loads(to_json(model))
    for row, expected in zip(X[::9], scores_of(model, X)[::9], strict=True):
        scores = content["start"] or [0.0] * content["n_scores"]
        scores = list(scores)
        for tree in content["trees"]:
            leaf = walk(tree, row)
            for cell in range(tree["leaf_ptr"][leaf], tree["leaf_ptr"][leaf + 1]):
                value = tree["leaf_values"][cell]
                if tree["factors"] is not None:
                    scores = [score + value * factor for score, factor in zip(scores, tree["factors"], strict=True)]
                else:
                    column = tree["leaf_columns"][cell] if tree["column"] is None else tree["column"]
                    scores[column] += value
        assert [score / content["divisor"] for score in scores] == expected.tolist()


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_any_forest(data):
    seed = data.draw(st.integers(0, 2**31))
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier"]))
    model, X = any_model(name, outputs, seed, data.draw(st.booleans()), data.draw(st.integers(2, 40)))
    check_same(model, X)


def any_model(name, outputs, seed, has_categories, n):
    """A small model of data with ties, neighbouring values, missing values and categories, and samples to predict."""
    rng = np.random.default_rng(seed)
    _, y = exports.make_y(name, outputs, n, seed % 1000)
    if outputs == "two":
        y[:2] = ["no", "yes"]
    elif outputs == "several":
        y[:3] = [[0, 0], [1, 1], [2, 0]][:n]
    elif outputs == "single":
        y[:2] = ["a", "b"]
    levels = np.array([0.0, -0.0, 1.0, np.nextafter(np.float32(1), np.float32(2)), 1e-42, -3e38, 3e38, 0.1, np.nan])
    X = rng.choice(levels, (n, 5)).astype(np.float32)
    params = {"n_estimators": 3}
    if has_categories:
        X[:, 0] = rng.integers(0, 5, n)
        params["categorical_features"] = [0]
    model = make(name, **params).fit(X, y)
    return model, probes(model, X, [0] if has_categories else [])


def test_names_classes_and_categories_are_written():
    X, y = make_data("RandomForestClassifier", outputs="labels")
    frame = pd.DataFrame(y, columns=["x", "y", "z"])
    content = json.loads(to_json(weald.RandomForestClassifier(n_estimators=2).fit(X, frame)))
    assert content["output_names"] == ["x", "y", "z"]
    assert (content["estimator"], content["kind"], content["classes"]) == ("RandomForestClassifier", "labels", [])
    assert (content["feature_names"], content["categories"]) == (None, None)
    large = np.array([1, 2**63 + 5, 2**64 - 1], dtype=np.uint64)
    for classes in [[1, 2, 5], [-(2**63), 0, 2**63 - 1], large, [1.0, 2.0, 4.0], ["ä", "b", "c"], [False, True, True]]:
        model = weald.DecisionTreeClassifier().fit(np.arange(3).reshape(-1, 1), classes)
        assert json.loads(to_json(model))["classes"] == [model.classes_.tolist()]
    frame = pd.DataFrame({"größe": [1.0, 2.0, 3.0], 'a "b"': pd.Categorical(["ä", "b", "ä"])})
    content = json.loads(to_json(weald.DecisionTreeRegressor().fit(frame, [1, 2, 3])))
    assert content["feature_names"] == list(frame.columns)
    assert content["categories"] == [None, ["b", "ä"]]
    assert "column_labels" not in content
    columns = pd.DataFrame(X[:, :2], columns=[7, 8])
    assert json.loads(to_json(weald.DecisionTreeRegressor().fit(columns, y)))["column_labels"] == ["7", "8"]


def test_the_text_is_json_of_the_size_of_what_is_stored():
    model, _ = fitted("RandomForestClassifier-wide-missing")
    text = to_json(model)
    content = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert (content["format"], content["version"]) == ("weald.export", 1)
    n_stored = sum(tree.leaf_values()[2].size for tree in map(model._forest.tree, range(5)))
    assert sum(len(tree["leaf_values"]) for tree in content["trees"]) == n_stored


def test_classes_that_json_has_not_are_refused():
    model = weald.DecisionTreeClassifier().fit([[0], [1]], np.array([b"a", b"b"]))
    with pytest.raises(
        ValueError, match="to_json does not support classes_ of type bytes: they must be numbers, strings"
    ):
        to_json(model)
