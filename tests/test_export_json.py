"""Models as JSON: every digit is written, other readers predict the same, and only valid models are read."""

from __future__ import annotations

import copy
import json

import exports
import numpy as np
import pandas as pd
import pytest
import weald
from conftest import make, make_data
from exports import CASES, N_RANDOM, decisions_of, fitted, probes, random_model, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from weald.export import from_json, to_json


def check_same(model, X):
    read = from_json(to_json(model))
    # The engine reads what it wrote: all is the same to the bit.
    exports.check_same(model, X, scores=read.predict_scores(X))
    predicted, expected = read.predict(X), decisions_of(model, X)
    assert predicted.shape == expected.shape
    np.testing.assert_array_equal(predicted, expected)
    assert hasattr(model, "predict_proba") == read._head.has_probabilities
    if hasattr(model, "predict_proba"):
        proba = read.predict_proba(X)
        assert isinstance(proba, list) == isinstance(model.predict_proba(X), list)
        expected = model.predict_proba(X)
        pairs = zip(proba, expected, strict=True) if isinstance(proba, list) else [(proba, expected)]
        for found, known in pairs:
            np.testing.assert_array_equal(found, known)
    else:
        with pytest.raises(AttributeError, match="no probabilities"):
            read.predict_proba(X)


def check_random(model, X):
    """Compare the model that is read with the one that was written, or check that the reason of a refusal is given."""
    if any(classes.dtype.kind == "S" for classes in exports.classes_of(model)):
        with pytest.raises(ValueError, match=r"to_json does not support classes_ of type bytes: they must be numbers"):
            to_json(model)
        return "refused: classes of bytes"
    check_same(model, X)
    return "same"


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
        "GradientBoostingRegressor-several-missing-projected-False",
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
def test_any_forest_comes_back(data):
    seed = data.draw(st.integers(0, 2**31))
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier"]))
    model, X = any_model(name, outputs, seed, data.draw(st.booleans()), data.draw(st.integers(2, 40)))
    read = from_json(to_json(model))
    np.testing.assert_array_equal(read.predict_scores(X), scores_of(model, X))
    np.testing.assert_array_equal(read.predict(X), decisions_of(model, X))


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


@pytest.mark.parametrize("name", ["RandomForestRegressor", "GradientBoostingClassifier"])
def test_samples_may_be_sparse_and_frames(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    read = from_json(to_json(model))
    expected = read.predict(X)
    for form in [sparse.csr_array(X), sparse.csc_matrix(X), pd.DataFrame(X), X.tolist(), X.astype(np.float32)]:
        np.testing.assert_array_equal(read.predict(form), expected)


def test_frames_hold_categories_by_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"where": pd.Categorical(rng.choice(list("abcdef"), 80)), "much": rng.normal(size=80)})
    y = (frame["where"].isin(["a", "e"]) ^ (frame["much"] > 0)).to_numpy()
    model = weald.ExtraTreesClassifier(n_estimators=5, random_state=0).fit(frame, y)
    read = from_json(to_json(model))
    assert read.categories_[0].tolist() == list("abcdef")
    assert read.categories_[1] is None
    np.testing.assert_array_equal(read.predict_proba(frame), model.predict_proba(frame))
    assert read.feature_names_in_.tolist() == ["where", "much"]
    with pytest.raises(ValueError, match="must be a frame or an object array with values like"):
        read.predict(np.zeros((2, 2)))


def test_names_and_classes_come_back():
    X, y = make_data("RandomForestClassifier", outputs="labels")
    frame = pd.DataFrame(y, columns=["x", "y", "z"])
    read = from_json(to_json(weald.RandomForestClassifier(n_estimators=2).fit(X, frame)))
    assert read.target_names_in_.tolist() == ["x", "y", "z"]
    assert "RandomForestClassifier of 2 trees" in repr(read)
    large = np.array([1, 2**63 + 5, 2**64 - 1], dtype=np.uint64)
    for classes in [[1, 2, 5], [-(2**63), 0, 2**63 - 1], large, [1.0, 2.0, 4.0], ["ä", "b", "c"], [False, True, True]]:
        model = weald.DecisionTreeClassifier().fit(np.arange(3).reshape(-1, 1), classes)
        read = from_json(to_json(model))
        assert read.classes_.tolist() == model.classes_.tolist()
        assert read.predict([[0], [2]]).tolist() == [classes[0], classes[2]]


def test_classes_that_are_all_improbable_are_equally_probable():
    # The probabilities are zeros before they are divided by their sum, and the model itself makes them equal.
    X, y = make_data("GradientBoostingClassifier")
    model = make("GradientBoostingClassifier", loss="exponential").fit(X, y)
    content = json.loads(to_json(model))
    read = from_json(json.dumps({**content, "start": [-1000.0, -1001.0, -1002.0], "trees": []}))
    np.testing.assert_array_equal(read.predict_proba(X), np.full((len(X), 3), 1 / 3))
    assert read.predict(X[:2]).tolist() == ["a", "a"]


def test_the_text_is_json_of_the_size_of_what_is_stored():
    model, _ = fitted("RandomForestClassifier-wide-missing")
    text = to_json(model)
    content = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert (content["format"], content["version"]) == ("weald.export", 1)
    n_stored = sum(tree.leaf_values()[2].size for tree in map(model._forest.tree, range(5)))
    assert sum(len(tree["leaf_values"]) for tree in content["trees"]) == n_stored


def damaged(content, path, value):
    content = copy.deepcopy(content)
    *above, last = path
    place = content
    for step in above:
        place = place[step]
    place[last] = value
    return json.dumps(content)


NO_CODES = r'^text is not a valid model: tree 0 must have "categories" that are ascending integers from 0 to 65535, got'
DAMAGE = [
    (["format"], "other", '"format" must be "weald.export", got '),
    (["version"], 2, 'text is not a valid model: "version" must be 1, got 2'),
    (["version"], "1", '"version" must be 1, got'),
    (["kind"], "trees", '"kind"'),
    (["link"], "cosine", '"link"'),
    (["link"], ["log"], '"link"'),
    (["n_features"], 0, 'text is not a valid model: "n_features" must be an integer from 1 to 2147483647, got 0'),
    (["n_features"], 1.5, r'text is not a valid model: "n_features" must be an integer from 1 to 2147483647, got 1\.5'),
    (["n_features"], True, 'text is not a valid model: "n_features" must be an integer from 1 to 2147483647, got True'),
    (["n_features"], 1, "must test features below 1|one item for each feature"),
    (["n_scores"], 4, '"n_scores" must be 5 for'),
    (["classes"], [], '"classes"'),
    (["classes"], [[0, 1, 2], [0, 1, "x"]], "must be all bools, all integers"),
    (["classes"], [[0, 1, 2], []], "that are not empty"),
    (["classes"], [[0, 1, 2], [0, 10**30]], "at most 64 bits"),
    (["start"], [0.0], '"start"'),
    (["start"], "none", '"start" must be a list, got .none'),
    (["divisor"], 0, '"divisor"'),
    (["divisor"], None, '"divisor"'),
    (["threshold"], "half", '"threshold"'),
    (["categories"], [None], '"categories"'),
    (["feature_names"], ["a"], '"feature_names"'),
    (["trees"], {}, '"trees" must be a list, got a dict'),
    (["trees", 0], [], "tree 0 must be an object, got a list"),
    (["trees", 0, "feature", 0], 99, "must test features below 12, got 99"),
    (["trees", 0, "feature", 0], 0.5, "must have integers, got 0.5"),
    (["trees", 0, "feature"], [], "must have lists of the same positive length"),
    (["trees", 0, "left", 0], 0, "must have a single parent before each node"),
    (["trees", 0, "right", 0], 1, "must have a single parent before each node"),
    (["trees", 0, "right", 0], 10**6, "must have a single parent before each node"),
    (["trees", 0, "left", -1], 0, "got a leaf with children"),
    (["trees", 0, "threshold", 0], 0.1, "must have float32 thresholds, got 0.1"),
    (["trees", 0, "threshold", 0], 1e300, r"must have float32 thresholds, got 1e\+300"),
    (["trees", 0, "threshold", 0], "x", "must have numbers, got 'x'"),
    (["trees", 0, "threshold", 0], 10**400, "must have finite float64 numbers"),
    (["trees", 0, "leaf_ptr", 0], 1, '"leaf_ptr"'),
    (["trees", 0, "leaf_ptr", -1], 10**6, '"leaf_ptr"'),
    (["trees", 0, "leaf_ptr", 1], 1, '"leaf_ptr"|a split with values'),
    (["trees", 0, "leaf_columns", 0], 5, '"leaf_columns"'),
    (["trees", 0, "leaf_columns", 0], -1, '"leaf_columns"'),
    (["trees", 0, "leaf_values", 0], None, "must have numbers, got None"),
    (["trees", 0, "column"], 5, '"column"'),
    (["trees", 0, "column"], True, '"column"'),
    (["trees", 0, "factors"], [1.0], '"factors"'),
    (["trees", 0, "categories"], None, '"categories" of tree 0'),
    (["trees", 0, "categories"], {"99999": [0]}, '"categories" of tree 0 must have indices of splits'),
    (["trees", 0, "categories"], {"x": [0]}, '"categories" of tree 0 must have indices of splits'),
    (["trees", 0, "categories"], {"0": [3, 1]}, NO_CODES),
    (["trees", 0, "categories"], {"0": [70000]}, NO_CODES),
    (["trees", 0, "categories"], {"0": [1, 1]}, NO_CODES),
    (["trees", 0, "categories"], {"0": [-1, 2]}, NO_CODES),
]


@pytest.mark.parametrize(("path", "value", "message"), DAMAGE, ids=lambda part: str(part)[:40])
def test_what_is_no_model_is_refused_with_the_fault(path, value, message):
    model, _ = fitted("RandomForestClassifier-several-missing")
    content = json.loads(to_json(model))
    with pytest.raises(ValueError, match=message):
        from_json(damaged(content, path, value))


def test_what_is_no_text_of_a_model_is_refused():
    with pytest.raises(TypeError, match="text must be a string or bytes, got a dict"):
        from_json({})
    for text in ["", "{", b"\xff", "[" * 100_000, '{"format": NaN}']:
        with pytest.raises(ValueError, match=r"^text must be JSON"):
            from_json(text)
    for text in ["[]", "1", "{}"]:
        with pytest.raises(ValueError, match=r"^text is not a valid model: "):
            from_json(text)


def test_any_missing_key_is_refused():
    model, _ = fitted("GradientBoostingRegressor-several-missing-projected-False")
    content = json.loads(to_json(model))
    for key in set(content) - {"estimator", "feature_names", "output_names", "categories"}:
        with pytest.raises(ValueError, match=rf'^text is not a valid model: "{key}" '):
            from_json(json.dumps({name: value for name, value in content.items() if name != key}))
    tree = content["trees"][0]
    for key in set(tree) - {"column", "factors"}:
        less = {name: value for name, value in tree.items() if name != key}
        with pytest.raises(ValueError, match=rf'^text is not a valid model: "{key}" '):
            from_json(json.dumps({**content, "trees": [less]}))


def test_samples_that_do_not_fit_are_refused():
    model, X = fitted("RandomForestClassifier-several-missing")
    read = from_json(to_json(model))
    with pytest.raises(ValueError, match="X must have 12 features, got 3"):
        read.predict(X[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        read.predict(np.full((1, 12), np.inf))


def test_classes_that_json_has_not_are_refused():
    model = weald.DecisionTreeClassifier().fit([[0], [1]], np.array([b"a", b"b"]))
    with pytest.raises(
        ValueError, match="to_json does not support classes_ of type bytes: they must be numbers, strings"
    ):
        to_json(model)


def all_in_columns(tree, n_scores):
    """The same tree without a column or factors of its own: its leaves have values for the scores."""
    values, counts = np.array(tree["leaf_values"]), np.diff(tree["leaf_ptr"])
    factors = np.eye(n_scores)[tree["column"]] if tree["factors"] is None else np.array(tree["factors"])
    columns = np.flatnonzero(factors)
    return {
        **tree,
        "column": None,
        "factors": None,
        "leaf_ptr": [0, *np.cumsum(counts * len(columns)).tolist()],
        "leaf_columns": np.tile(columns, len(values)).tolist(),
        "leaf_values": np.multiply.outer(values, factors[columns]).ravel().tolist(),
    }


@pytest.mark.parametrize(
    "case",
    [
        "GradientBoostingRegressor-several-missing-projected-False",
        "GradientBoostingClassifier-labels-missing-single_target",
    ],
)
def test_the_trees_of_a_text_need_not_be_alike(case):
    model, X = fitted(case)
    content = json.loads(to_json(model))
    expected = from_json(json.dumps(content)).predict_scores(X)
    np.testing.assert_array_equal(expected, scores_of(model, X))
    for changed in (range(0, len(content["trees"]), 2), range(len(content["trees"]))):
        trees = list(content["trees"])
        for t in changed:
            trees[t] = all_in_columns(trees[t], content["n_scores"])
        found = from_json(json.dumps({**content, "trees": trees})).predict_scores(X)
        np.testing.assert_array_equal(found, expected)


def test_nodes_may_be_in_any_order_that_has_parents_first():
    model, X = fitted("RandomForestClassifier-several-missing")
    content = json.loads(to_json(model))
    for tree in content["trees"]:
        # By level: the nodes of a level are behind each other.
        order = [0]
        for node in order:
            order += [tree[side][node] for side in ("left", "right") if tree["feature"][node] >= 0]
        place = {node: new for new, node in enumerate(order)}
        cells = [range(tree["leaf_ptr"][node], tree["leaf_ptr"][node + 1]) for node in order]
        for name in ("feature", "threshold", "missing_left"):
            tree[name] = [tree[name][node] for node in order]
        for name in ("left", "right"):
            tree[name] = [place.get(tree[name][node], -1) for node in order]
        for name in ("leaf_columns", "leaf_values"):
            tree[name] = [tree[name][cell] for some in cells for cell in some]
        tree["leaf_ptr"] = [0, *np.cumsum([len(some) for some in cells]).tolist()]
        tree["categories"] = {str(place[int(node)]): codes for node, codes in tree["categories"].items()}
    np.testing.assert_array_equal(from_json(json.dumps(content)).predict_scores(X), scores_of(model, X))
