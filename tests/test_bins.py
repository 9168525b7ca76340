"""Trees and forests on bins (`max_bins`) against exact ones: on few values, and on the codes of a slow twin of the bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from conftest import model_bytes
from scipy import sparse

# Kinds of y, with the criteria that take them.
KINDS = {
    "two classes": ["gini", "entropy"],
    "classes": ["gini", "entropy"],
    "several classes": ["gini", "entropy"],
    "labels": ["gini", "entropy"],
    "sparse labels": ["gini"],
    "masked labels": ["gini", "entropy"],
    "number": ["squared_error", "poisson", "absolute_error"],
    "numbers": ["squared_error", "poisson", "absolute_error"],
    "sparse numbers": ["squared_error"],
    "masked numbers": ["squared_error"],
}
CASES = [(kind, criterion) for kind, criteria in KINDS.items() for criterion in criteria]
LIMITS: list[dict[str, Any]] = [
    {},
    {"min_samples_leaf": 3, "max_features": 0.5},
    {"max_leaf_nodes": 9, "min_weight_fraction_leaf": 0.02},
    {"max_depth": 4, "interaction_cst": [[0, 1], [1, 2, 3, 4]]},
]


def samples(kind: str, n: int = 300, seed: int = 0) -> tuple[np.ndarray, Any]:
    """X of continuous, tied, sparse and partly missing features and one of categories, the last; and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 1] = rng.integers(-3, 4, n)
    X[rng.random(n) < 0.7, 2] = 0.0
    X[rng.random(n) < 0.2, 3] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    score = X[:, [0]] + np.nan_to_num(X[:, [3]]) + np.array([0.0, 2.0, -1.0, 0.5, 1.0, -2.0])[X[:, 4].astype(int), None]
    noisy = score * np.array([1.0, -1.0, 0.5]) + X[:, [1]] + rng.normal(size=(n, 3))
    labels = (noisy > 0.5).astype(np.int64)
    if kind == "sparse numbers":
        wide = np.where(rng.random((n, 20)) < 0.05, 1 + np.abs(score), 0.0)
        return X, sparse.csr_array(wide)
    masked = np.where(rng.random((n, 3)) < 0.3, np.nan, labels if kind == "masked labels" else noisy)
    return X, {
        "two classes": labels[:, 0],
        "classes": labels @ [1, 2, 4],
        "several classes": 1 + labels + (noisy > 2),
        "labels": labels,
        "sparse labels": sparse.csr_array(labels),
        "masked labels": masked,
        "number": np.exp(noisy[:, 0] / 3),
        "numbers": np.exp(noisy / 3),
        "masked numbers": masked,
    }[kind]


def model(kind: str, name: str = "DecisionTree", **params: Any) -> Any:
    cls = getattr(weald, name + ("Regressor" if "number" in kind else "Classifier"))
    forest = {"n_estimators": 4} if name == "RandomForest" else {}
    return cls(**{"random_state": 0, "categorical_features": [4], **forest, **params})


def nodes(fitted: Any) -> list[Any]:
    """The arrays of all trees, by which models with different parameters are compared."""
    trees = [tree.tree_ for tree in fitted.estimators_] if hasattr(fitted, "estimators_") else [fitted.tree_]
    names = (
        "feature",
        "threshold",
        "children_left",
        "missing_go_to_left",
        "impurity",
        "weighted_n_node_samples",
        "value",
    )
    return [np.asarray(getattr(tree, name)) for tree in trees for name in names]


def check_equal(one: Any, other: Any, but: tuple[int, ...] = ()) -> None:
    for i, (a, b) in enumerate(zip(nodes(one), nodes(other), strict=True)):
        if i % 7 not in but:
            np.testing.assert_array_equal(a, b)


def naive_bins(values: np.ndarray, weights: np.ndarray, max_bins: int) -> np.ndarray:
    """The largest value of each bin: a bin takes values until the next would bring it further above an equal share of
    the weight that is left than it is below it without this value."""
    present = ~np.isnan(values) & (weights > 0)
    distinct, of = np.unique(values[present], return_inverse=True)
    units = np.bincount(of, weights[present], len(distinct))
    ends, at = [], 0
    while at < len(distinct):
        bins_left, left, taken = max_bins - len(ends), units[at:].sum(), units[at]
        at += 1
        if len(distinct) - at + 1 > bins_left:
            while at < len(distinct) and (bins_left == 1 or taken + units[at] / 2 <= left / bins_left):
                taken += units[at]
                at += 1
        ends.append(distinct[at - 1])
    return np.array(ends)


def codes(X: np.ndarray, weights: np.ndarray, max_bins: int) -> np.ndarray:
    """X with the number of its bin in place of each value, but the last feature."""
    ends = [naive_bins(X[:, j], weights, max_bins) for j in range(X.shape[1] - 1)]
    coded = X.copy()
    for j, of_feature in enumerate(ends):
        present = ~np.isnan(X[:, j])
        coded[present, j] = np.minimum(np.searchsorted(of_feature, X[present, j]), len(of_feature) - 1)
    return coded


@pytest.mark.parametrize(("kind", "criterion"), CASES)
@pytest.mark.parametrize("name", ["DecisionTree", "RandomForest"])
@pytest.mark.parametrize("limits", LIMITS)
def test_a_tree_of_as_many_bins_as_values_is_the_exact_tree(kind, criterion, name, limits):
    X, y = samples(kind)
    X[:, :4] = np.round(X[:, :4] * 4)
    exact = model(kind, name, criterion=criterion, **limits).fit(X, y)
    assert len(nodes(exact)[0]) > 3
    for form in (X, sparse.csr_array(X)):
        for max_bins in (60, 255):
            check_equal(model(kind, name, criterion=criterion, max_bins=max_bins, **limits).fit(form, y), exact)


@pytest.mark.parametrize(("kind", "criterion"), CASES)
@pytest.mark.parametrize("max_bins", [2, 7, 100])
def test_a_tree_of_bins_is_the_exact_tree_of_their_codes(kind, criterion, max_bins):
    X, y = samples(kind)
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    if kind.startswith("masked"):
        weights[np.isnan(y).all(axis=1)] = 0.0  # a sample without a known value is absent
    coded = codes(X, weights, max_bins)
    for limits in LIMITS[:2]:
        found = model(kind, criterion=criterion, max_bins=max_bins, **limits).fit(X, y, weights)
        naive = model(kind, criterion=criterion, **limits).fit(coded, y, weights)
        check_equal(found, naive, but=(1,))
        assert found.tree_.node_count > 3
        # Thresholds between values send the samples from which bins were made where those between codes send their codes.
        there = weights > 0
        np.testing.assert_array_equal(found.apply(X[there]), naive.apply(coded[there]))


@pytest.mark.parametrize(("kind", "criterion"), CASES)
@pytest.mark.parametrize("name", ["DecisionTree", "RandomForest"])
def test_one_model_for_layouts_threads_orders_and_forms_of_weights(kind, criterion, name):
    X, y = samples(kind)
    rng = np.random.default_rng(2)
    for limits in LIMITS[:2]:
        build = lambda **more: model(kind, name, criterion=criterion, max_bins=9, **limits, **more)  # noqa: B023, E731
        expected = build().fit(X, y)
        for form in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
            assert model_bytes(build().fit(form, y)) == model_bytes(expected)
        check_equal(build(n_jobs=2).fit(X, y), expected)
        order = rng.permutation(len(X))
        check_equal(build().fit(X[order], y[order]), expected)
        if "min_samples_leaf" not in limits:  # which counts samples, whatever their weights
            weights = rng.integers(0, 3, len(X))
            times = np.repeat(np.arange(len(X)), weights)
            check_equal(build().fit(X, y, weights), build().fit(X[times], y[times]))


@pytest.mark.parametrize("kind", ["two classes", "number", "numbers"])
def test_other_parameters_of_forests_work_on_bins(kind, tmp_path):
    X, y = samples(kind)
    build = lambda **more: model(kind, "RandomForest", **{"max_bins": 9, **more})  # noqa: E731
    expected = build().fit(X, y)
    weald.save(expected, tmp_path / "model")
    assert model_bytes(weald.load(tmp_path / "model")) == model_bytes(expected)
    assert weald.load(tmp_path / "model").max_bins == 9

    grown = build(n_estimators=2, warm_start=True).fit(X, y).set_params(n_estimators=4).fit(X, y)
    check_equal(grown, expected)
    parts = [build().fit(X, y, trees=range(2)), build().fit(X, y, trees=range(2, 4))]
    check_equal(weald.merge(parts), expected)
    assert expected.estimators_[0].max_bins == 9
    with_score = build(n_estimators=30, oob_score=True).fit(X, y)
    exact = build(n_estimators=30, oob_score=True, max_bins=None).fit(X, y)
    # The scores are not those of exact trees, whose thresholds differ, but chance is .5 and 0.
    assert with_score.oob_score_ != exact.oob_score_
    assert with_score.oob_score_ > (0.65 if kind == "two classes" else 0.2)
    pruned = build(ccp_alpha=0.01).fit(X, y)
    assert sum(tree.tree_.node_count for tree in pruned.estimators_) < sum(
        tree.tree_.node_count for tree in expected.estimators_
    )


def test_predictions_on_bins_keep_monotonic_constraints():
    X, y = samples("number")
    X = X[:, :2]
    for name in ("DecisionTree", "RandomForest"):
        build = lambda **more: model("number", name, categorical_features=None, max_bins=20, **more)  # noqa: B023, E731
        fitted = build(monotonic_cst=[1, -1]).fit(X, y)
        grid = np.column_stack([np.linspace(-3, 3, 100), np.zeros(100)]).astype(np.float32)
        assert (np.diff(fitted.predict(grid)) >= 0).all()
        assert (np.diff(fitted.predict(grid[:, ::-1])) <= 0).all()
        assert (np.diff(build().fit(X, y).predict(grid)) < 0).any()


def test_projections_are_searched_on_bins():
    X, y = samples("numbers")
    X[:, :4] = np.round(X[:, :4] * 4)
    params = {"output_projection": "gaussian", "n_projections": 2}
    exact = model("numbers", "RandomForest", **params).fit(X, y)
    check_equal(model("numbers", "RandomForest", max_bins=255, **params).fit(X, y), exact)


@pytest.mark.parametrize("name", ["DecisionTree", "ExtraTree", "RandomForest"])
@pytest.mark.parametrize("max_bins", [1, 256, 2.5, True, "auto", -1])
def test_a_number_of_bins_that_is_not_supported_is_refused(name, max_bins):
    X, y = samples("number", n=20)
    with pytest.raises(ValueError, match="max_bins"):
        model("number", name, max_bins=max_bins, categorical_features=None).fit(X, y)


def test_random_thresholds_have_no_bins():
    X, y = samples("number", n=50)
    message = 'max_bins must be None with splitter="random", got 16'
    for name in ("DecisionTree", "ExtraTree"):
        with pytest.raises(ValueError, match=message):
            model("number", name, splitter="random", max_bins=16).fit(X, y)
    fitted = model("number", "ExtraTree", splitter="best", max_features=None, max_bins=16).fit(X, y)
    check_equal(fitted, model("number", max_bins=16).fit(X, y))
    assert "max_bins" not in weald.ExtraTreesRegressor().get_params()
