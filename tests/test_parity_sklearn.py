"""Comparison with scikit-learn: the same trees where nothing is random, the same scores where something is.

Two splits of equal decrease may be resolved either way, so that exact comparisons hold only for nodes without ties.
Whether a node is tied is computed and never assumed: the first test uses limits under which no node is tied, and the
second one grows full trees and compares every node that does not lie below a tied node.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import real_data
import sklearn.datasets
import sklearn.ensemble
import sklearn.tree
import weald
from weald.datasets import load_npz_folder

# Two decreases count as tied if they differ by less than this share of the larger one: rounding of float64 sums over
# thousands of samples may exceed smaller differences, and the gaps in the data sets used here are far larger.
TIE = 1e-6


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y for the fit, then X and y for predictions; features with missing values are left out."""
    bundled = getattr(sklearn.datasets, f"load_{name}", None)
    if bundled is not None:
        X, y = bundled(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(X))
        X, y, half = X[rows].astype(np.float32), y[rows], 2 * len(X) // 3
        return X[:half], y[:half], X[half:], y[half:]
    if reason := real_data.missing(name):
        pytest.skip(reason)
    X, X_test, y, y_test, *_ = load_npz_folder(real_data.root() / name)
    X, X_test, y, y_test = (a.toarray() if hasattr(a, "toarray") else a for a in (X, X_test, y, y_test))
    complete = ~(np.isnan(X).any(axis=0) | np.isnan(X_test).any(axis=0))
    return X[:, complete], y, X_test[:, complete], y_test


def weights_for(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(1, 5, n).astype(float)


def pair(kind: str, y: np.ndarray, **params: Any) -> tuple[Any, Any]:
    """The estimator `kind` for y from weald and from scikit-learn, with the same parameters."""
    task = "Classifier" if y.dtype.kind in "iu" or set(np.unique(y)) == {0, 1} else "Regressor"
    module = sklearn.tree if kind in ("DecisionTree", "ExtraTree") else sklearn.ensemble
    return getattr(weald, kind + task)(**params), getattr(module, kind + task)(**params)


@dataclass
class Node:
    """One node of a tree, with its values as attributes."""

    tree: Any
    index: int

    @property
    def is_leaf(self) -> bool:
        return self.tree.children_left[self.index] == -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tree, name)[self.index]

    def children(self) -> tuple[Node, Node]:
        return Node(self.tree, self.children_left), Node(self.tree, self.children_right)


def margin(X: np.ndarray, Y: np.ndarray, w: np.ndarray, min_samples_leaf: int) -> float:
    """How far the best split of these samples is ahead of the second best, relative to the best; 0 for a tie.

    Y is numerical or one-hot encoded: in both cases, variance and Gini index rank splits by the same sum of squares.
    """
    n, decreases = len(X), [np.zeros(0)]
    centred = w[:, None] * (Y - np.average(Y, axis=0, weights=w))
    for x in X.T:
        order = np.argsort(x, kind="stable")
        cut = np.flatnonzero(np.diff(x[order]) > 0)
        cut = cut[(cut + 1 >= min_samples_leaf) & (n - cut - 1 >= min_samples_leaf)]
        left, weight = centred[order].cumsum(axis=0)[cut], w[order].cumsum()[cut]
        decreases.append((left**2).sum(axis=1) * (1 / weight + 1 / (w.sum() - weight)))
    best = np.sort(np.concatenate(decreases))[::-1]
    if len(best) < 2:
        return 1.0
    return (best[0] - best[1]) / best[0] if best[0] > 0 else 0.0


def compare(
    name: str, ours: Any, theirs: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray, min_samples_leaf: int
) -> tuple[int, int]:
    """Compares both trees down to tied nodes. Returns the number of nodes compared and the number of tied nodes."""
    y = y.reshape(len(y), -1)
    if hasattr(theirs, "classes_"):
        one_hot = [y[:, j] == c for j in range(y.shape[1]) for c in np.unique(y[:, j])]
        y = np.column_stack(one_hot).astype(float)
    spread = np.ptp(X, axis=0)
    todo = [(Node(ours.tree_, 0), Node(theirs.tree_, 0), np.arange(len(X)))]
    compared = tied = 0
    while todo:
        a, b, rows = todo.pop()
        where = f"{name}, node {a.index} of weald and {b.index} of scikit-learn, {len(rows)} rows"
        compared += 1
        assert a.is_leaf == b.is_leaf, where
        assert a.n_node_samples == b.n_node_samples == len(rows), where
        # Weights are rounded to 2⁻²⁵ of their total or finer.
        assert a.weighted_n_node_samples == pytest.approx(b.weighted_n_node_samples, rel=1e-6), where
        # scikit-learn's variance is a difference of large sums, so that its error is relative to the impurity of the
        # root.
        assert a.impurity == pytest.approx(b.impurity, rel=1e-6, abs=1e-9 * float(theirs.tree_.impurity[0])), where
        # Values are means with weights that are rounded as above, which also applies to the predictions below.
        np.testing.assert_allclose(a.value, b.value, rtol=1e-6, atol=1e-9, err_msg=where)
        if a.is_leaf:
            continue
        if margin(X[rows], y[rows].astype(float), w[rows], min_samples_leaf) < TIE:
            tied += 1
            continue
        assert a.feature == b.feature, where
        # scikit-learn's thresholds are midpoints in float64, and weald's are rounded down to float32: they differ by
        # 6e-8 of the threshold or, near zero, of the spread of the feature.
        assert a.threshold == pytest.approx(b.threshold, rel=1e-6, abs=1e-7 * float(spread[a.feature])), where
        left = X[rows, b.feature] <= b.threshold
        todo += [(*sides, rows[side]) for *sides, side in zip(a.children(), b.children(), (left, ~left), strict=True)]
    return compared, tied


# Limits under which no node of the tree is tied, weighted or not, as the test shows.
WITHOUT_TIES = [
    ("diabetes", 8, 20),
    ("wine", 2, 1),
    ("breast_cancer", 2, 30),
    ("scm20d", 4, 5),
    ("rf1", 2, 20),
    ("jura", 6, 5),
    ("wq", 6, 20),
    ("oes10", 8, 20),
    ("edm", 8, 20),
    ("emotions", 4, 20),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "max_depth", "min_samples_leaf"), WITHOUT_TIES)
def test_same_tree_and_predictions_without_ties(
    name: str, max_depth: int, min_samples_leaf: int, weighted: bool
) -> None:
    X, y, X_test, _ = data(name)
    w = weights_for(len(X)) if weighted else None
    ours, theirs = pair("DecisionTree", y, max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=0)
    ours.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w)
    compared, tied = compare(name, ours, theirs, X, y, np.ones(len(X)) if w is None else w, min_samples_leaf)
    assert tied == 0, f"{name} has {tied} tied nodes under these limits: choose others"
    assert compared == ours.tree_.node_count == theirs.tree_.node_count
    # The tolerance is that of the values of nodes in `compare`.
    np.testing.assert_allclose(ours.predict(X_test), theirs.predict(X_test), rtol=1e-6)
    if hasattr(theirs, "predict_proba"):
        expected = theirs.predict_proba(X_test)
        if isinstance(expected, list):  # one array of two columns for each label
            expected = np.column_stack([p[:, 1] for p in expected])
        np.testing.assert_allclose(ours.predict_proba(X_test), expected, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine", "digits", "jura", "wq", "scm20d", "scene"])
def test_same_nodes_down_to_the_first_tie(name: str, weighted: bool) -> None:
    X, y, _, _ = data(name)
    w = weights_for(len(X)) if weighted else None
    ours, theirs = pair("DecisionTree", y, random_state=0)
    ours.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w)
    compared, _ = compare(name, ours, theirs, X, y, np.ones(len(X)) if w is None else w, 1)
    assert compared >= 5


# There are enough seeds for a standard error of the scores of a forest, and few enough for a test.
SEEDS = range(10)


@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees", "ExtraTree"])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("diabetes", {"max_features": "sqrt"}),
        ("breast_cancer", {}),
        ("wine", {"max_depth": 3}),
        ("digits", {}),
        ("jura", {"max_features": 0.5}),
        ("wq", {"max_features": "sqrt", "min_samples_leaf": 3}),
        ("enb", {"max_depth": 6}),
        ("atp1d", {"max_features": "sqrt"}),
        ("emotions", {}),
        ("scene", {"max_features": "sqrt", "max_depth": 10}),
    ],
)
def test_scores_within_noise(name: str, params: dict[str, Any], kind: str) -> None:
    """Mean test scores over seeds differ by less than three standard errors of the difference."""
    X, y, X_test, y_test = data(name)
    if kind != "ExtraTree":
        params = {"n_estimators": 20, **params}
    scores = np.array(
        [[m.fit(X, y).score(X_test, y_test) for m in pair(kind, y, random_state=s, **params)] for s in SEEDS]
    )
    ours, theirs = scores.mean(axis=0)
    error = np.sqrt((scores.var(axis=0, ddof=1) / len(SEEDS)).sum())
    sys.stdout.write(f"{name} {kind}: weald {ours:.4f}, scikit-learn {theirs:.4f}, standard error {error:.4f}\n")
    assert abs(ours - theirs) <= 3 * error
