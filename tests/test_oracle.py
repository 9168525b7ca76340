"""Fitted trees against the exhaustive splitter of `oracle.py`, on small and hostile data."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import weald
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import REAL_CRITERIA, Arrays, Limits, Oracle, check_tree, dense32, one_hot, project

TINY = np.float32(1e-45)
NEIGHBOURS = np.nextafter(np.float32(1), np.float32(2), dtype=np.float32)
# With ORACLE_EXAMPLES=2000 the search takes an hour.
SETTINGS = settings(deadline=None, max_examples=int(os.environ.get("ORACLE_EXAMPLES", "40")))

# Each kind of feature is a pool of values: few distinct values make ties, and extreme values make overflow and rounding
# more likely.
POOLS: dict[str, list[float]] = {
    "constant": [3.5],
    "ties": [0, 1, 2],
    "sparse": [0, 0, 0, 0, -2, -0.5, 1, 4],
    "negative": [0, 0, -1, -3],
    "signed zeros": [0.0, -0.0, 1.0],
    "denormal": [0, TINY, 2 * TINY, -TINY, 1e-38],
    "neighbours": [1, NEIGHBOURS, np.nextafter(NEIGHBOURS, np.float32(2)), -1, -NEIGHBOURS],
    "huge range": [0, 1e-38, -1e-30, 1e-3, 1, -1e20, 3e38, -3e38],
    "missing": [np.nan, np.nan, 0, 1, 2, -1],
    "one value or missing": [np.nan, -3.5],
    "zero or missing": [np.nan, 0, 0],
    "all missing": [np.nan],
}


@st.composite
def columns(draw: st.DrawFn, n: int) -> np.ndarray:
    kind = draw(st.sampled_from([*POOLS, "continuous"]))
    values = st.floats(-1e3, 1e3, width=32) if kind == "continuous" else st.sampled_from(POOLS[kind])
    return np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype=np.float32)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Two to fourteen samples of up to five features, one of which may be a copy of another."""
    n = draw(st.integers(2, 14))
    kept = [draw(columns(n)) for _ in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        kept.append(kept[draw(st.integers(0, len(kept) - 1))].copy())
    return np.column_stack(kept)


@st.composite
def weights(draw: st.DrawFn, n: int) -> np.ndarray | None:
    pool = draw(st.sampled_from([None, [1, 2, 3], [0, 1, 1], [0.5, 0.25, 2], [0.1, 0.7, 1.3, 0]]))
    if pool is None:
        return None
    w = np.array(draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)), dtype=float)
    w[draw(st.integers(0, n - 1))] = 1.0
    return w


@st.composite
def classes(draw: st.DrawFn, n: int) -> np.ndarray:
    d = draw(st.sampled_from([1, 1, 2, 3]))
    y = np.array(draw(st.lists(st.integers(0, 3), min_size=n * d, max_size=n * d))).reshape(n, d)
    y[0] = 3  # with more than two classes, y is a table of classes and not of labels
    return y.ravel() if d == 1 else y


@st.composite
def labels(draw: st.DrawFn, n: int) -> np.ndarray:
    d = draw(st.integers(2, 5))
    return np.array(draw(st.lists(st.integers(0, 1), min_size=n * d, max_size=n * d))).reshape(n, d)


@st.composite
def numbers(draw: st.DrawFn, n: int) -> np.ndarray:
    d = draw(st.sampled_from([1, 1, 2, 3]))
    kinds = [
        st.integers(-3, 3),
        st.sampled_from([0.1, 0.2, 0.3]),
        st.floats(-1e3, 1e3, width=32),
        st.floats(-1e-6, 1e-6, width=64),
        st.sampled_from([0.0, 1e6, 1e6 + 1, -1e6]),
        st.sampled_from([0.0, 1e-12, 2e-12, 1.0, 1e12, 1e12 + 1]),
    ]
    y = np.array(draw(st.lists(draw(st.sampled_from(kinds)), min_size=n * d, max_size=n * d)), dtype=float)
    return y if d == 1 else y.reshape(n, d)


@st.composite
def counts(draw: st.DrawFn, n: int) -> np.ndarray:
    """Numbers that are not negative, at least one of them positive."""
    d = draw(st.sampled_from([1, 1, 2, 3]))
    kinds = [
        st.integers(0, 4),
        st.sampled_from([0.1, 0.2, 0.3]),
        st.floats(0, 1e3, width=32),
        st.floats(0, 1e-6, width=64),
        st.sampled_from([0.0, 1e6, 1e6 + 1]),
    ]
    y = np.array(draw(st.lists(draw(st.sampled_from(kinds)), min_size=n * d, max_size=n * d)), dtype=float)
    # The engine may treat numbers below 2**-60 of the largest as zero, see `criterion/poisson.rs`; the oracle never
    # does.
    y[y < 1e-12] = 0.0
    y[0] = max(y[0], 1.0)
    return y if d == 1 else y.reshape(n, d)


TARGETS = {"classes": classes, "labels": labels, "numbers": numbers, "counts": counts}
CRITERIA = [
    ("classes", "gini"),
    ("classes", "entropy"),
    ("labels", "gini"),
    ("labels", "entropy"),
    ("numbers", "squared_error"),
    ("counts", "poisson"),
    ("numbers", "absolute_error"),
]


@st.composite
def problems(draw: st.DrawFn, kind: str, criterion: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    X = draw(matrices())
    y, w = draw(TARGETS[kind](len(X))), draw(weights(len(X)))
    if criterion == "absolute_error" and w is not None:
        # A median jumps where both sides have the same weight: 0.1 + 1.3 and 0.7 + 0.7 are equal or not depending on
        # how they are rounded. The engine does not round multiples of 1/64.
        w = np.round(64 * w) / 64
    if kind in ("counts", "classes") and w is not None:
        w[0] = max(w[0], 1.0)  # this sample is positive, or its class cannot be a label
    return X, y, w


def grow(X: Any, y: Any, w: Any, criterion: str, splitter: str = "best", seed: int = 0, **limits: Any) -> Any:
    kind = weald.DecisionTreeRegressor if criterion in REAL_CRITERIA else weald.DecisionTreeClassifier
    tree = kind(criterion=criterion, splitter=splitter, max_features=None, random_state=seed, **limits)
    return tree.fit(X, y, sample_weight=w)


def outputs(tree: Any, X: Any, kind: str) -> Any:
    return tree.predict_proba(X) if kind == "labels" else tree.predict(X)


def with_stored_zeros(X: np.ndarray, layout: type) -> Any:
    """X as a sparse matrix that stores some of its zeros."""
    keep = X != 0
    keep.ravel()[::3] = True
    row, col = np.nonzero(keep)
    return layout(sp.coo_array((X[row, col], (row, col)), shape=X.shape))


def check_values(tree: Any, arrays: Arrays, oracle: Oracle, X: np.ndarray, kind: str) -> None:
    """Checks that predictions are the statistics of the training samples in the same leaf."""
    rows = arrays.rows_of_nodes(oracle.X)
    leaf_of = tree.apply(X)
    walked = arrays.rows_of_nodes(dense32(X))
    for node in np.flatnonzero(arrays.children_left == -1):
        assert (leaf_of[walked[node]] == node).all()
    if kind in ("numbers", "counts"):
        got = tree.predict(X).reshape(len(X), -1)
        expected = np.array([oracle.center(rows[leaf]) for leaf in leaf_of])
        # The oracle's centres are exact; the engine's are quotients of sums whose terms may cancel.
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12 * np.abs(oracle.y).max())
        return
    proba = tree.predict_proba(X)
    for j in range(oracle.n_outputs):
        if kind == "labels":
            expected = np.array([oracle.frequency(rows[leaf], j, 1) for leaf in leaf_of])
            # Weights that are not multiples of 1/64 are rounded in the engine, which also applies to the comparison
            # below.
            np.testing.assert_allclose(proba[:, j], expected, rtol=1e-12)
            continue
        table, names = (proba, tree.classes_) if oracle.n_outputs == 1 else (proba[j], tree.classes_[j])
        expected = np.array([[oracle.frequency(rows[leaf], j, c) for c in names] for leaf in leaf_of])
        np.testing.assert_allclose(table, expected, rtol=1e-12)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_every_split_is_the_best_of_all_cuts(kind: str, criterion: str, data: st.DataObject) -> None:
    X, y, w = data.draw(problems(kind, criterion))
    oracle = Oracle(X, y, w, criterion)
    tree = grow(X, y, w, criterion, seed=data.draw(st.integers(0, 5)))
    arrays = check_tree(tree, oracle)
    check_values(tree, arrays, oracle, X, kind)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_random_thresholds_lie_inside_the_node(kind: str, criterion: str, data: st.DataObject) -> None:
    X, y, w = data.draw(problems(kind, criterion))
    oracle = Oracle(X, y, w, criterion)
    tree = grow(X, y, w, criterion, splitter="random", seed=data.draw(st.integers(0, 5)))
    arrays = check_tree(tree, oracle, splitter="random")
    check_values(tree, arrays, oracle, X, kind)


LIMITS = st.one_of(
    st.builds(Limits, max_depth=st.integers(1, 3)),
    st.builds(Limits, min_samples_split=st.integers(2, 8)),
    st.builds(Limits, min_samples_leaf=st.integers(1, 5)),
    st.builds(Limits, min_weight_fraction_leaf=st.sampled_from([0.125, 0.25, 0.375, 0.5])),
    st.builds(Limits, min_impurity_decrease=st.sampled_from([1e-3, 0.02, 0.1, 0.3])),
    st.builds(Limits, max_leaf_nodes=st.integers(2, 6)),
    st.builds(
        Limits,
        max_depth=st.integers(1, 4),
        min_samples_split=st.integers(2, 5),
        min_samples_leaf=st.integers(1, 3),
        min_weight_fraction_leaf=st.sampled_from([0.0, 0.125]),
        max_leaf_nodes=st.one_of(st.none(), st.integers(2, 6)),
    ),
)


def weights_within(limits: Limits, w: np.ndarray | None) -> np.ndarray | None:
    """Weights whose sums are exact if a limit is on them: at the very limit, the rounding of tenths would decide."""
    return w if w is None or limits.min_weight_fraction_leaf == 0 else np.ceil(4 * w) / 4


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_stopping_rules(kind: str, criterion: str, splitter: str, data: st.DataObject) -> None:
    X, y, w = data.draw(problems(kind, criterion))
    limits = data.draw(LIMITS)
    if splitter == "random" and limits.max_leaf_nodes is not None:
        return  # with random thresholds, the decrease that a node could have reached is not known
    w = weights_within(limits, w)
    tree = grow(X, y, w, criterion, splitter=splitter, **vars(limits))
    check_tree(tree, Oracle(X, y, w, criterion), limits, splitter)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_one_tree_whatever_the_layout(kind: str, criterion: str, splitter: str, data: st.DataObject) -> None:
    X, y, w = data.draw(problems(kind))
    layouts = [
        np.ascontiguousarray(X),
        np.asfortranarray(X),
        sp.csr_array(X),
        sp.csc_array(X),
        with_stored_zeros(X, sp.csr_matrix),
        with_stored_zeros(X, sp.csc_matrix),
    ]
    trees = [grow(layout, y, w, criterion, splitter=splitter) for layout in layouts]
    if kind == "labels":
        trees += [grow(X, sp.csr_array(y), w, criterion, splitter=splitter)]
    first = Arrays.of(trees[0])
    for tree in trees[1:]:
        for name, array in vars(Arrays.of(tree)).items():
            np.testing.assert_array_equal(array, getattr(first, name), err_msg=name)
        for layout in layouts:
            np.testing.assert_array_equal(outputs(tree, layout, kind), outputs(trees[0], X, kind))


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_weight_zero_has_no_effect_and_two_is_two_samples(kind: str, criterion: str, data: st.DataObject) -> None:
    X, y, _ = data.draw(problems(kind))
    n = len(X)
    count = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    count[0] = 1  # the first sample keeps the kind of y
    repeated = np.repeat(np.arange(n), count)
    weighted = Arrays.of(grow(X, y, count.astype(float), criterion))
    removed = Arrays.of(grow(X[count > 0], y[count > 0], count[count > 0].astype(float), criterion))
    copies = Arrays.of(grow(X[repeated], y[repeated], None, criterion))
    for name, array in vars(weighted).items():
        np.testing.assert_array_equal(array, getattr(removed, name), err_msg=name)
        if name != "n_node_samples":
            np.testing.assert_array_equal(array, getattr(copies, name), err_msg=name)


@st.composite
def projections(draw: st.DrawFn, n_outputs: int) -> np.ndarray:
    """Small integers, halves and zeros: their sums are exact, so that rounding does not affect purity."""
    q = draw(st.integers(1, 3))
    entries = draw(st.lists(st.sampled_from([0, 0, 1, -1, 0.5, 2]), min_size=q * n_outputs, max_size=q * n_outputs))
    return np.array(entries, dtype=float).reshape(q, n_outputs)


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("kind", ["classes", "labels", "numbers"])
@SETTINGS
@given(data=st.data())
def test_splits_see_projected_outputs_and_leaves_the_outputs(
    kind: str, splitter: str, drawn: bool, data: st.DataObject
) -> None:
    X, y, w = data.draw(problems(kind))
    if kind == "classes" and y.ndim == 1:
        # The classes are not only 0 and 1, whichever samples have weight, because y would then be taken for labels.
        y = np.column_stack([y, y[::-1]]) + 2
    columns = one_hot(y, w) if kind == "classes" else y.reshape(len(y), -1)
    d, seed = columns.shape[1], data.draw(st.integers(0, 5))
    if drawn:
        phi = weald.projection.RademacherProjection(data.draw(st.sampled_from([1, 3]))).draw(d, 4, random_state=seed)
        phi = phi if isinstance(phi, np.ndarray) else phi.toarray()
    else:
        phi = data.draw(projections(d))
    Z = project(columns, phi)
    limits = {"output_projection": data.draw(st.sampled_from([np.asarray, sp.csr_array]))(phi)}
    criterion = "squared_error" if kind == "numbers" else "gini"
    tree = grow(X, y, w, criterion, splitter=splitter, seed=seed, **limits)
    arrays = check_tree(tree, Oracle(X, Z, w, "squared_error"), splitter=splitter)
    check_values(tree, arrays, Oracle(X, y, w, criterion), X, kind)


def test_splits_that_gain_nothing_are_made() -> None:
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    tree = grow(X, y, None, "gini")
    assert tree.tree_.node_count == 7
    assert (tree.predict(X) == y).all()


def test_purity_is_equality_of_values() -> None:
    """A node whose impurity underflows to zero is not pure if its values differ."""
    X, y = np.arange(4.0)[:, None], np.array([0.0, 0.0, 1e-200, 1e-200])
    tree = grow(X, y, None, "squared_error")
    np.testing.assert_array_equal(tree.predict(X), y)
    same = grow(X, np.full(4, 0.1), None, "squared_error")
    assert same.tree_.node_count == 1
    assert same.predict(X)[0] == 0.1


def test_midpoint_never_reaches_the_upper_value() -> None:
    chain = [np.float32(1)]
    for _ in range(20):
        chain.append(np.nextafter(chain[-1], np.float32(2)))
    X = np.array(chain)[:, None]
    tree = grow(X, np.arange(21), None, "squared_error")
    np.testing.assert_array_equal(tree.predict(X), np.arange(21))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_best_first_without_limit_equals_depth_first(kind: str) -> None:
    """With one feature, no random draw of features decides between equal decreases."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)).astype(np.float32)
    y = rng.integers(0, 3, 200) if kind == "classes" else rng.normal(size=(200, 2))
    criterion = "gini" if kind == "classes" else "squared_error"
    whole = grow(X, y, None, criterion)
    best_first = grow(X, y, None, criterion, max_leaf_nodes=200)
    assert whole.tree_.n_leaves == best_first.tree_.n_leaves
    np.testing.assert_array_equal(whole.predict(X), best_first.predict(X))
