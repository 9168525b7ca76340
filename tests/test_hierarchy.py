"""Hierarchies of labels: the graph, closed label sets, consistent scores, closed best labels, and metrics.

The twins go through all label sets or all samples by loops, on small random graphs.
"""

from __future__ import annotations

import copy
import doctest
import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import real_data
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald._fitted.fits import Fit
from weald._labels import label_graph
from weald.metrics import auprc, fmax, hierarchical_f1, hierarchical_precision, hierarchical_recall
from weald.multilabel import CalibratedLabels, HierarchicalLabels, LabelHierarchy, TunedThresholds

METHODS = ("max", "min", "isotonic")
NAMES = ["animal", "bird", "cat", "penguin"]
ANIMALS = LabelHierarchy({"bird": "animal", "cat": ["animal"], "penguin": ["bird"]}, label_names=NAMES)
# Two parents of label 3, a root without edges, and an edge that others imply.
DIAMOND = LabelHierarchy([(1, 0), (2, 0), (3, 1), (3, 2), (3, 0)], n_labels=5)


def random_edges(rng, d: int, share: float) -> list[tuple[int, int]]:
    names = rng.permutation(d)
    return [(int(names[i]), int(names[j])) for i in range(d) for j in range(i) if rng.random() < share]


def ancestors_of(edges, label: int) -> set[int]:
    found, left = set(), [label]
    while left:
        for parent in [p for c, p in edges if c == left[-1]] if left else []:
            if parent not in found:
                found.add(parent)
        at = left.pop()
        left += [p for c, p in edges if c == at and p not in left]
    return found


graphs = st.builds(
    lambda seed, d, share: (seed, d, random_edges(np.random.default_rng(seed), d, share)),
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)


def small_scores(rng, n: int, d: int) -> np.ndarray:
    """Scores with ties and zeros, and in every other case some below zero."""
    scores = rng.choice([0.0, 0.0, 0.125, 0.25, 0.3, 0.7, 1.0], size=(n, d))
    return scores - 0.3 if rng.random() < 0.5 else scores


# --- the graph --------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(graphs)
def test_ancestors_descendants_and_depth_are_those_of_a_walk(graph):
    _, d, edges = graph
    hierarchy = LabelHierarchy(edges, n_labels=d)
    for label in range(d):
        above = ancestors_of(edges, label)
        assert set(hierarchy.ancestors_[[label]].indices) == above
        assert {c for c in range(d) if label in ancestors_of(edges, c)} == set(hierarchy.descendants_[[label]].indices)
        longest = max((1 + hierarchy.depth_[p] for c, p in edges if c == label), default=0)
        assert hierarchy.depth_[label] == longest


def test_all_forms_of_edges_give_one_hierarchy():
    pairs = [(1, 0), (2, 0), (3, 1)]
    matrix = sparse.coo_array((np.ones(3), tuple(np.array(pairs).T)), shape=(4, 4))
    forms = [pairs, np.array(pairs), [*pairs, (1, 0)], {1: 0, 2: [0], 3: {1}, 0: None}, matrix, matrix.tocsc()]
    forms += [sparse.csr_matrix(matrix), matrix.astype(bool).tolil()]
    found = [LabelHierarchy(form) for form in forms]
    assert all(one == found[0] and hash(one) == hash(found[0]) for one in found)
    assert LabelHierarchy(pairs, label_names=NAMES) == ANIMALS != found[0]
    assert LabelHierarchy([("bird", "animal"), ("cat", "animal"), ("penguin", "bird")], label_names=NAMES) == ANIMALS
    assert LabelHierarchy([], n_labels=3).parents_.nnz == 0
    assert found[0] != LabelHierarchy(pairs[:2], n_labels=4)
    assert repr(ANIMALS) == "LabelHierarchy(n_labels=4, n_edges=3, n_roots=1, depth=2)"
    assert (ANIMALS == 3) is False


def test_a_hierarchy_does_not_change():
    hierarchy = LabelHierarchy([(1, 0)])
    with pytest.raises(ValueError, match="read-only"):
        hierarchy.depth_[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        hierarchy.parents_.data[0] = False
    with pytest.raises(ValueError, match="read-only"):
        hierarchy.ancestors_.indices[0] = 1
    assert copy.deepcopy(hierarchy) is copy.copy(hierarchy) is hierarchy


CHAIN = [(1, 0), (2, 1)]


@pytest.mark.parametrize(
    ("edges", "rules", "error", "message"),
    [
        (
            [(0, 1), (1, 2), (2, 0)],
            {},
            ValueError,
            "no circle of labels, got one: 0, whose parent is 1, whose parent is 2",
        ),
        ([(0, 0)], {}, ValueError, "no circle, got the label 0 as a parent of itself"),
        ([("cat", "bird"), ("bird", "cat")], {"label_names": NAMES}, ValueError, "one: 'bird', whose parent is 'cat'"),
        (
            [("cat", "root")],
            {"label_names": NAMES},
            ValueError,
            "edges must have labels of label_names, got 1 others: 'root'",
        ),
        ([("cat", "animal")], {}, TypeError, "label_names must be the names of the columns"),
        ([(3, 0)], {"n_labels": 3}, ValueError, "edges must have labels from 0 to 2, as there are n_labels=3, got 3"),
        ([(-1, 0)], {}, ValueError, "edges must have labels from 0 to 0, as there are n_labels=1, got -1"),
        ([(1.0, 0)], {}, TypeError, "edges must have indices of labels, or names of all labels, got 1.0"),
        ([(1, "a")], {"label_names": ["a", "b"]}, TypeError, "names of all labels, got 'a'"),
        ([(True, 0)], {}, TypeError, "got True"),
        ([(1, 0, 2)], {}, TypeError, re.escape("with an item (1, 0, 2)")),
        ("ab", {}, TypeError, "edges must be a sparse matrix"),
        (7, {}, TypeError, "got something else: 7"),
        ([], {}, ValueError, "n_labels or label_names must be given if there are no edges"),
        (CHAIN, {"n_labels": 0}, ValueError, "n_labels must be an integer from 1 to 2147483647, got 0"),
        (CHAIN, {"label_names": ["a", "b", "a"]}, ValueError, "label_names must be distinct"),
        (CHAIN, {"label_names": []}, ValueError, "label_names must have a name for each label, got none"),
        ([(2**70, 0)], {}, ValueError, "edges must have labels from 0 to 2147483646, as there are n_labels"),
        (CHAIN, {"label_names": 3}, TypeError, "label_names"),
        ({7: None}, {"n_labels": 3}, ValueError, "edges must have labels from 0 to 2, as there are n_labels=3, got 7"),
        ({-1: []}, {"n_labels": 3}, ValueError, "edges must have labels from 0 to 2, as there are n_labels=3, got -1"),
        ({1.5: []}, {"n_labels": 3}, TypeError, "edges must have indices of labels, or names of all labels, got 1.5"),
        ({"cat": None}, {}, TypeError, "label_names must be the names of the columns"),
        (
            {"root": None, "cat": "animal"},
            {"label_names": NAMES},
            ValueError,
            "edges must have labels of label_names, got 1 others: 'root'",
        ),
        (CHAIN, {"n_labels": 4, "label_names": ["a", "b", "c"]}, ValueError, "label_names must have length 4"),
        (sparse.csr_array((2, 3)), {}, ValueError, re.escape("got a sparse matrix of shape (2, 3)")),
        (sparse.csr_array((2, 2)), {"n_labels": 3}, ValueError, "edges must have 3 rows, the number of labels, got 2"),
        (sparse.csr_array([[0, 0], [np.nan, 0]]), {}, ValueError, "edges must have bools or numbers as entries"),
    ],
)
def test_mistakes_in_edges_are_said_in_words(edges, rules, error, message):
    with pytest.raises(error, match=message):
        LabelHierarchy(edges, **rules)


def test_keys_of_a_dict_are_labels_also_without_parents():
    assert LabelHierarchy({2: None, 1: 0}) == LabelHierarchy([(1, 0)], n_labels=3)
    assert LabelHierarchy({"animal": [], "cat": "animal"}, label_names=NAMES).parents_.nnz == 1


def test_a_long_circle_is_named_in_part_and_a_long_chain_is_none():
    n = 3000
    chain = [(i + 1, i) for i in range(n)]
    assert LabelHierarchy(chain).depth_[-1] == n
    with pytest.raises(ValueError, match="whose parent is 2992 more labels"):
        LabelHierarchy([*chain[:-1], (0, n - 1)])


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["dag", "tree"]))
def test_an_inferred_hierarchy_has_the_implications_of_the_data(seed, kind):
    rng = np.random.default_rng(seed)
    Y = (rng.random((8, 5)) < rng.choice([0.2, 0.5, 0.9])).astype(int)
    if rng.random() < 0.5:
        Y = DIAMOND.closure(Y)
    least = int(rng.integers(0, 4))
    weights = np.append(1, rng.integers(0, 3, size=7))
    found = LabelHierarchy.from_labels(Y, sample_weight=weights, min_samples=least, kind=kind)
    there = Y[weights > 0]
    above = np.zeros((5, 5), dtype=bool)
    for child, parent in itertools.permutations(range(5), 2):
        enough = (weights @ Y)[child] >= least and there[:, child].any()
        implied = (there[:, child] <= there[:, parent]).all()
        same = (there[:, child] == there[:, parent]).all()
        above[child, parent] = enough and implied and (not same or parent < child)
    indirect = (above.astype(int) @ above.astype(int)) > 0
    if kind == "dag":
        assert np.array_equal(found.ancestors_.toarray(), above)
        assert np.array_equal(found.parents_.toarray(), above & ~indirect)
    else:
        for child in range(5):
            candidates = np.flatnonzero(above[child] & ~indirect[child])
            best = sorted(candidates, key=lambda parent: ((weights @ Y)[parent], parent))[:1]
            assert found.parents_[[child]].indices.tolist() == best
    for form in (sparse.csr_array(Y), np.repeat(Y, weights, axis=0)):
        told = {"sample_weight": weights} if sparse.issparse(form) else {}
        assert LabelHierarchy.from_labels(form, **told, min_samples=least, kind=kind) == found


def test_parameters_of_inferred_hierarchies():
    Y = pd.DataFrame([[1, 1], [1, 0]], columns=["a", "b"])
    assert LabelHierarchy.from_labels(Y, min_samples=1).label_names.tolist() == ["a", "b"]
    # An unknown entry counts as 0.
    assert LabelHierarchy.from_labels([[np.nan, 1.0], [1.0, 0.0]], min_samples=1).parents_.nnz == 0
    with pytest.raises(ValueError, match="kind must be 'dag' or 'tree', got 'forest'"):
        LabelHierarchy.from_labels(Y, kind="forest")
    with pytest.raises(ValueError, match="min_samples must be a number of at least 0, got -1"):
        LabelHierarchy.from_labels(Y, min_samples=-1)


# --- label sets -------------------------------------------------------------------------------------------------------


def closed_by_loops(edges, Y: np.ndarray) -> np.ndarray:
    """Label sets with NaN closed: first upwards from ones, then downwards from zeros."""
    Y = Y.astype(float)
    for row in Y:
        known = row.copy()
        for label in np.flatnonzero(known == 1):
            row[list(ancestors_of(edges, label))] = 1
        ones = row.copy()
        for label in np.flatnonzero(np.isnan(ones)):
            if any(ones[above] == 0 for above in ancestors_of(edges, label)):
                row[label] = 0
    return Y


@settings(deadline=None)
@given(graphs)
def test_closure_is_that_of_loops_with_unknown_entries_in_any_form(graph):
    seed, d, edges = graph
    rng = np.random.default_rng(seed)
    hierarchy = LabelHierarchy(edges, n_labels=d)
    Y = (rng.random((6, d)) < 0.3).astype(float)
    full = closed_by_loops(edges, Y)
    assert np.array_equal(hierarchy.closure(Y), full)
    for form in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        found = hierarchy.closure(form(Y))
        assert sparse.issparse(found)
        assert isinstance(found, sparse.sparray) == (form is not sparse.csr_matrix)
        assert np.array_equal(found.toarray(), full)
    found = hierarchy.closure(Y.astype(np.int8))
    assert found.dtype == np.int8
    assert np.array_equal(found, full)
    hierarchy.check(full)
    assert hierarchy.n_violations(full) == 0
    assert (hierarchy.n_violations(Y) == 0) == np.array_equal(Y, full)
    gaps = rng.random(Y.shape) < 0.5
    wanted = closed_by_loops(edges, np.where(gaps, np.nan, Y))
    if d > 1:
        assert np.array_equal(hierarchy.closure(np.where(gaps, np.nan, Y)), wanted, equal_nan=True)
    for form in (np.asarray, sparse.csr_array):
        found, known = hierarchy.closure(form(Y.astype(int)), y_weight=unless(form(gaps)))
        assert np.array_equal(known.toarray() if sparse.issparse(known) else known, ~np.isnan(wanted))
        found = found.toarray() if sparse.issparse(found) else found
        assert np.array_equal(found, np.where(np.isnan(wanted), 0, wanted))
    # Closing once more changes nothing.
    again, known_again = hierarchy.closure(sparse.csr_array(found), y_weight=known)
    assert np.array_equal(again.toarray(), found)
    assert np.array_equal(known_again.toarray(), known.toarray())


def test_check_names_the_sample_and_the_labels():
    with pytest.raises(
        ValueError,
        match=r"Y must have closed label sets, but 2 sample\(s\) .* the sample 1 has the label 'bird' and not the label "
        "'animal' above it",
    ):
        ANIMALS.check([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    # What is unknown breaks no rule.
    ANIMALS.check([[np.nan, np.nan, 0, 1], [1, np.nan, np.nan, np.nan]])
    with pytest.raises(ValueError, match="the label 'penguin' and not the label 'animal'"):
        ANIMALS.check([[0, 1, 0, 1]], y_weight=unless([[0, 1, 0, 0]]))


@pytest.mark.parametrize("method", ["closure", "check", "n_violations", "consistent"])
def test_other_numbers_of_columns_and_other_values_are_refused(method):
    what = "scores" if method in ("n_violations", "consistent") else "Y"
    with pytest.raises(ValueError, match=f"{what} must have 4 columns, one for each label of the hierarchy, got 3"):
        getattr(ANIMALS, method)([[0, 0, 1]])
    if what == "Y":
        with pytest.raises(ValueError, match="Y must have the values 0 and 1 for labels, got 2"):
            getattr(ANIMALS, method)([[0, 0, 1, 2]])
        with pytest.raises(ValueError, match="Y must have the name 'animal' at position 0, got 'bird'"):
            getattr(ANIMALS, method)(pd.DataFrame([[0, 0, 1, 1]], columns=["bird", "animal", "cat", "penguin"]))
    else:
        for form in (np.array, sparse.csr_array):
            with pytest.raises(ValueError, match="scores must be numbers, got NaN"):
                getattr(ANIMALS, method)(form([[0.1, 0.2, np.nan, 0.3]]))


def test_label_weights_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 5)) < 0.2).astype(int)
    Y[:, 4] = 0
    closed = DIAMOND.closure(Y)
    depth = DIAMOND.label_weight("depth", base=0.5)
    # The weight of label 3 is half the mean of those of its parents 0, 1 and 2.
    assert np.array_equal(depth, [1, 0.5, 0.5, 0.5 * (1 + 0.5 + 0.5) / 3, 1])
    content = DIAMOND.label_weight("information_content", Y=Y)
    accretion = DIAMOND.label_weight("information_accretion", Y=sparse.csr_array(Y))
    for label in range(5):
        n_with = max(1, closed[:, label].sum())
        parents = DIAMOND.parents_[[label]].indices
        n_above = max(n_with, (closed[:, parents].all(axis=1)).sum())
        # One rounding of the logarithm and one of the quotient.
        assert content[label] == pytest.approx(-np.log2(n_with / 50), rel=1e-14)
        assert accretion[label] == pytest.approx(-np.log2(n_with / n_above), rel=1e-14, abs=1e-15)
    assert content.min() >= 0
    assert np.isfinite(content).all()
    with pytest.raises(ValueError, match="Y must be the labels of the training samples for kind='information_content'"):
        DIAMOND.label_weight("information_content")
    with pytest.raises(ValueError, match="kind must be 'depth', "):
        DIAMOND.label_weight("deep")
    with pytest.raises(ValueError, match="base must be a finite number above 0, got 0"):
        DIAMOND.label_weight(base=0)


# --- scores -----------------------------------------------------------------------------------------------------------


def upper_sets(edges, d: int) -> list[np.ndarray]:
    """All sets of labels that have the parents of their labels."""
    every = itertools.product([False, True], repeat=d)
    return [np.array(bits) for bits in every if all(bits[p] for c, p in edges if bits[c])]


def isotonic_by_sets(edges, scores: np.ndarray) -> np.ndarray:
    """The min-max formula: the best over upper sets of the worst over lower sets of the mean of what is in both."""
    sets = upper_sets(edges, len(scores))
    found = np.empty(len(scores))
    for label in range(len(scores)):
        uppers, lowers = ([u for u in sets if u[label]], [~u for u in sets if not u[label]])
        found[label] = max(min(scores[upper & lower].mean() for lower in lowers) for upper in uppers)
    return found


@settings(deadline=None)
@given(graphs)
def test_consistent_scores_are_those_of_their_definitions_in_any_layout(graph):
    seed, d, edges = graph
    rng = np.random.default_rng(seed)
    hierarchy = LabelHierarchy(edges, n_labels=d)
    scores = small_scores(rng, 5, d)
    above = [[label, *ancestors_of(edges, label)] for label in range(d)]
    below = [[c for c in range(d) if label in above[c]] for label in range(d)]
    wanted = {
        "max": np.column_stack([scores[:, below[label]].max(axis=1) for label in range(d)]),
        "min": np.column_stack([scores[:, above[label]].min(axis=1) for label in range(d)]),
        "isotonic": np.array([isotonic_by_sets(edges, row) for row in scores]),
    }
    for method in METHODS:
        found = hierarchy.consistent(scores, method)
        if method == "isotonic":
            # Means of at most six numbers of at most 1 are rounded.
            assert np.allclose(found, wanted[method], rtol=0, atol=1e-15)
        else:
            assert np.array_equal(found, wanted[method])
        assert hierarchy.n_violations(found) == hierarchy.n_violations(sparse.csr_array(found)) == 0
        # Consistent scores stay as they are; means of isotonic regression are equal already.
        assert np.array_equal(hierarchy.consistent(found, method), found)
        for form in (sparse.csr_array, sparse.csc_matrix):
            stored = hierarchy.consistent(form(scores), method)
            assert stored.format == "csr"
            assert np.array_equal(stored.toarray(), found)
            assert (np.diff(stored.indices)[np.diff(np.repeat(np.arange(5), np.diff(stored.indptr))) == 0] > 0).all()
        order = rng.permutation(5)
        assert np.array_equal(hierarchy.consistent(scores[order], method), found[order])
        assert np.array_equal(hierarchy.consistent(np.asfortranarray(scores), method), found)
        single = hierarchy.consistent(scores.astype(np.float32), method)
        assert single.dtype == np.float32
        assert hierarchy.n_violations(single) == 0


def test_isotonic_scores_are_the_nearest_ones_on_a_larger_graph():
    rng = np.random.default_rng(1)
    d = 60
    edges = random_edges(rng, d, 0.08)
    hierarchy = LabelHierarchy(edges, n_labels=d)
    scores = rng.random((7, d))
    found = hierarchy.consistent(scores, "isotonic")
    assert hierarchy.n_violations(found) == 0
    # The conditions of Karush, Kuhn and Tucker: in each set of equal scores, residuals can flow along edges from
    # children to parents, which is a linear program in the multipliers of the edges.
    from scipy.optimize import linprog

    for row, fit in zip(scores, found, strict=True):
        tight = [(c, p) for c, p in edges if fit[c] == fit[p]]
        flow = np.zeros((d, len(tight)))
        for j, (c, p) in enumerate(tight):
            flow[c, j], flow[p, j] = 1, -1
        result = linprog(np.zeros(len(tight)), A_eq=flow, b_eq=row - fit, bounds=(0, None))
        # The solver's own tolerance is 1e-7.
        assert result.status == 0


def test_blocks_of_samples_do_not_matter(monkeypatch):
    rng = np.random.default_rng(2)
    scores = small_scores(rng, 40, 5)
    scores = np.maximum(scores, 0)
    wanted = {method: DIAMOND.consistent(scores, method) for method in METHODS}
    n_rises = DIAMOND.n_violations(scores)
    monkeypatch.setattr("weald._labels.label_graph.BLOCK_SCORES", 35)
    for method in METHODS:
        assert np.array_equal(DIAMOND.consistent(scores, method), wanted[method])
        assert np.array_equal(DIAMOND.consistent(sparse.csr_array(scores), method).toarray(), wanted[method])
    assert DIAMOND.n_violations(scores) == DIAMOND.n_violations(sparse.csr_array(scores)) == n_rises


def test_infinite_scores():
    scores = [[-np.inf, np.inf, 0.0, 1.0, np.inf]]
    assert DIAMOND.consistent(scores).tolist() == [[np.inf, np.inf, 1, 1, np.inf]]
    assert DIAMOND.consistent(scores, "min").tolist() == [[-np.inf] * 4 + [np.inf]]
    with pytest.raises(ValueError, match="scores must be finite with method='isotonic'"):
        DIAMOND.consistent(scores, "isotonic")
    with pytest.raises(ValueError, match="method must be 'max', 'min' or 'isotonic', got 'mean'"):
        DIAMOND.consistent(scores, "mean")


@settings(deadline=None)
@given(graphs, st.sampled_from(METHODS))
def test_the_best_labels_are_a_closed_set_of_largest_sum(graph, method):
    seed, d, edges = graph
    rng = np.random.default_rng(seed)
    hierarchy = LabelHierarchy(edges, n_labels=d)
    scores = np.maximum(small_scores(rng, 4, d), 0)
    even = hierarchy.consistent(scores, method)
    sets = upper_sets(edges, d)
    for k in range(1, d + 1):
        indices, values = hierarchy.topk(scores, k, method=method)
        again = hierarchy.topk(sparse.csr_array(scores), k, method=method)
        assert np.array_equal(indices, again[0])
        assert np.array_equal(values, again[1])
        for row in range(4):
            assert np.array_equal(values[row], even[row, indices[row]])
            best = max(even[row, one].sum() for one in sets if one.sum() == k)
            # The sums have the same numbers in another order.
            assert values[row].sum() == pytest.approx(best, rel=1e-14)
            for size in range(1, k + 1):
                chosen = set(indices[row, :size].tolist())
                assert all(p in chosen for c, p in edges if c in chosen)


def test_topk_refuses_a_wrong_k():
    with pytest.raises(ValueError, match="k must be an integer from 1 to 5, got 6"):
        DIAMOND.topk(np.zeros((1, 5)), 6)


# --- around estimators ------------------------------------------------------------------------------------------------


def problem(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Noisy labels of the diamond, in which each label is drawn by itself and then closed."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 6)).round(2)
    Y = (X @ rng.normal(size=(6, 5)) + rng.normal(scale=2, size=(n, 5)) > 2.5).astype(int)
    return X, Y


X, Y = problem()


def forest(**params):
    return weald.RandomForestClassifier(**{"n_estimators": 8, "max_depth": 5, "random_state": 0, **params})


def boosting(**params):
    return weald.GradientBoostingClassifier(
        **{"n_estimators": 8, "random_state": 0, "output_strategy": "single_target", **params}
    )


INNER = {
    "forest": forest,
    "boosting": boosting,
    "linear": lambda: weald.LinearClassifier(random_state=0),
    "pipeline": lambda: make_pipeline(MaxAbsScaler(), boosting()),
    "others": lambda: OneVsRestClassifier(LogisticRegression()),
    "thresholds": lambda: TunedThresholds(boosting(), cv=2, random_state=0),
    "calibrated": lambda: CalibratedLabels(boosting(), cv=2, min_positives=1, random_state=0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inner", INNER)
def test_predictions_respect_the_hierarchy(inner, method):
    model = HierarchicalLabels(INNER[inner](), DIAMOND, method=method).fit(X, Y)
    alone = clone(INNER[inner]()).fit(X, DIAMOND.closure(Y))
    proba = np.asarray(alone.predict_proba(X))
    found = model.predict_proba(X)
    assert np.array_equal(found, DIAMOND.consistent(proba, method))
    # The pools of isotonic regression are added up in other blocks.
    assert np.array_equal(model.predict_sparse(X).toarray(), found)
    for floor in (0.2, 0.5, 1.0):
        assert np.array_equal(model.predict_sparse(X, floor).toarray(), np.where(found >= floor, found, 0))
    labels = model.predict(X)
    DIAMOND.check(labels)
    if inner == "thresholds":
        assert np.array_equal(labels, DIAMOND.consistent(alone.predict(X), method) > 0.5)
    else:
        assert np.array_equal(labels, found > 0.5)
    for k in (1, 3, 5):
        indices, values = model.predict_topk(X, k)
        wanted = DIAMOND.topk(found, k)
        assert np.array_equal(indices, wanted[0])
        assert np.array_equal(values, wanted[1])
    if hasattr(alone, "decision_function"):
        margins = model.decision_function(X)
        assert np.array_equal(margins, DIAMOND.consistent(alone.decision_function(X), method))
        indices, _ = model.predict_topk(X, 2, scores="margin")
        assert np.array_equal(indices, DIAMOND.topk(margins, 2, method=method)[0])
    assert model.score(X, Y) == np.mean((labels == DIAMOND.closure(Y)).all(axis=1))


def test_a_forest_on_closed_labels_is_consistent_and_boosting_is_not():
    closed = DIAMOND.closure(Y)
    assert DIAMOND.n_violations(forest().fit(X, closed).predict_proba(X)) == 0
    assert DIAMOND.n_violations(boosting(n_estimators=30).fit(X, closed).predict_proba(X)) > 0


def test_sets_that_are_not_closed_are_closed_or_refused():
    model = HierarchicalLabels(forest(), DIAMOND, not_closed="raise")
    with pytest.raises(ValueError, match="y must have closed label sets"):
        model.fit(X, Y)
    assert not hasattr(model, "estimator_")
    model.fit(X, DIAMOND.closure(Y))
    same = HierarchicalLabels(forest(), DIAMOND).fit(X, Y)
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="y must have closed label sets"):
        model.score(X, Y)


def test_without_a_hierarchy_that_of_the_labels_is_inferred():
    closed = DIAMOND.closure(Y)
    weights = np.arange(len(X)) % 3
    model = HierarchicalLabels(boosting()).fit(X, closed, sample_weight=weights)
    assert model.hierarchy_ == LabelHierarchy.from_labels(closed, sample_weight=weights)
    assert model.hierarchy_.n_violations(model.predict_proba(X)) == 0
    repeated = HierarchicalLabels(boosting()).fit(np.repeat(X, weights, axis=0), np.repeat(closed, weights, axis=0))
    assert repeated.hierarchy_ == model.hierarchy_
    assert np.array_equal(repeated.predict_proba(X), model.predict_proba(X))


def test_unknown_entries_become_known_where_the_hierarchy_says_so():
    rng = np.random.default_rng(3)
    mask = rng.random(Y.shape) < 0.3
    mask[:20] = False
    model = HierarchicalLabels(forest(), DIAMOND).fit(X, Y, y_weight=unless(mask))
    labels, known = DIAMOND.closure(Y, y_weight=unless(mask))
    assert (~mask).sum() < known.sum() < mask.size
    alone = forest().fit(X, labels, y_weight=known)
    assert np.array_equal(model.predict_proba(X), DIAMOND.consistent(alone.predict_proba(X)))
    hidden = HierarchicalLabels(forest(), DIAMOND).fit(X, np.where(mask, np.nan, Y))
    assert np.array_equal(hidden.predict_proba(X), model.predict_proba(X))
    found = model.score(X, Y, y_weight=unless(mask))
    wrong = (model.predict(X) != labels) & known
    assert found == np.mean(~wrong[known.any(axis=1)].any(axis=1))
    assert found.n_cells == known.sum()
    others = HierarchicalLabels(OneVsRestClassifier(LogisticRegression()), DIAMOND)
    with pytest.raises(ValueError, match="OneVsRestClassifier does not support y with masked entries"):
        others.fit(X, Y, y_weight=unless(mask))


@pytest.mark.parametrize("kind", ["depth", "information_content", "information_accretion"])
def test_label_weights_reach_the_estimator(kind):
    weights = 1.0 + np.arange(len(X)) % 2
    for inner in (forest(), make_pipeline(MaxAbsScaler(), forest())):
        model = HierarchicalLabels(inner, DIAMOND, label_weight=kind).fit(X, Y, sample_weight=weights)
        final = model.estimator_ if inner.__class__ is forest().__class__ else model.estimator_[-1]
        told = {} if kind == "depth" else {"Y": np.repeat(Y, weights.astype(int), axis=0)}
        # Sums of weights that are integers are exact.
        assert np.array_equal(final.label_weight, DIAMOND.label_weight(kind, **told))
    with pytest.raises(ValueError, match="label_weight must be None for LinearClassifier, which has no parameter"):
        HierarchicalLabels(weald.LinearClassifier(), DIAMOND, label_weight=kind).fit(X, Y)


OBJECTIVES = ("f1", "macro_f1", "micro_f1", "precision>=.8", "label_count", "label_count=1")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("inner", ["forest", "boosting", "pipeline"])
def test_tuned_thresholds_around_a_hierarchy_predict_closed_sets(inner, objective):
    model = HierarchicalLabels(INNER[inner](), DIAMOND)
    tuned = TunedThresholds(model, objective=objective, shrinkage=0, random_state=0).fit(X, Y)
    child, parent = DIAMOND.parents_.nonzero()
    assert (tuned.threshold_[child] >= tuned.threshold_[parent]).all()
    DIAMOND.check(tuned.predict(X))
    again = make_pipeline(MaxAbsScaler(), model)
    DIAMOND.check(TunedThresholds(again, objective=objective, random_state=0).fit(X, sparse.csr_array(Y)).predict(X))
    if inner == "forest":
        # Out of bag by default, as for the forest.
        same = TunedThresholds(model, objective=objective, shrinkage=0, cv="oob").fit(X, Y)
        assert np.array_equal(same.threshold_, tuned.threshold_)
        assert np.array_equal(same.predict_proba(X), HierarchicalLabels(forest(), DIAMOND).fit(X, Y).predict_proba(X))


def test_out_of_bag_scores_of_a_hierarchy_are_those_of_its_forest():
    model = HierarchicalLabels(forest(), DIAMOND)
    labels = DIAMOND.closure(Y)
    scores, known = clone(model)._fit_out_of_bag(Fit(X, Y), 0.01)
    wanted, n_trees = forest()._fit_out_of_bag(Fit(X, labels), 0.01)
    assert np.array_equal(scores.toarray(), sparse.csr_array(wanted).toarray())
    assert np.array_equal(known, n_trees > 0)
    for bad in (HierarchicalLabels(boosting(), DIAMOND), HierarchicalLabels(FrozenEstimator(forest().fit(X, labels)))):
        with pytest.raises(ValueError, match="cv='oob' requires "):
            TunedThresholds(bad, cv="oob").fit(X, Y)


def test_excluded_labels_and_least_scores():
    model = HierarchicalLabels(forest(), DIAMOND).fit(X, Y)
    indices, scores = model.predict_topk(X, 5, exclude=[0, 4], min_score=0.3)
    for row, proba in enumerate(model.predict_proba(X)):
        there = indices[row][indices[row] >= 0]
        assert set(there) == {j for j in (1, 2, 3) if proba[j] >= 0.3}
        assert np.array_equal(scores[row][: len(there)], np.sort(proba[there])[::-1])
        # With the excluded ones, the labels are closed.
        assert 3 not in there or {1, 2} <= set(there)


def test_names_of_labels_are_those_of_the_hierarchy():
    named = LabelHierarchy([("b", "a"), ("c", "a")], label_names=["a", "b", "c"])
    model = HierarchicalLabels(forest(), named).fit(X, Y[:, :3])
    assert model.target_names_in_.tolist() == ["a", "b", "c"]
    frame = model.set_output(predict="pandas").predict_proba(X)
    assert frame.columns.tolist() == ["a", "b", "c"]
    given = pd.DataFrame(Y[:, :3], columns=["a", "c", "b"])
    for told in ({"y": given}, {"y": Y[:, :3], "label_names": ["a", "c", "b"]}):
        with pytest.raises(ValueError, match="y must have the name 'b' at position 1, got 'c'"):
            HierarchicalLabels(forest(), named).fit(X, **told)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"method": "mean"}, ValueError, "'method' parameter .* must be a str among {.*'isotonic'.*}. Got 'mean'"),
        ({"not_closed": "keep"}, ValueError, "'not_closed' parameter .* must be a str among {.*'raise'.*}. Got 'keep'"),
        (
            {"label_weight": "deep"},
            ValueError,
            "'label_weight' parameter .* must be a str among {.*'depth'.*} or None. Got 'deep'",
        ),
        (
            {"hierarchy": [(1, 0)]},
            TypeError,
            "'hierarchy' parameter .* must be an instance of .*LabelHierarchy' or None. Got",
        ),
        ({"hierarchy": ANIMALS}, ValueError, "y must have 4 columns, one for each label of the hierarchy, got 5"),
        ({"estimator": forest}, TypeError, "estimator must be a classifier with predict_proba or decision_function"),
        ({"estimator": weald.RandomForestClassifier}, TypeError, "estimator must be an instance"),
        ({"verbose": -1}, ValueError, "verbose"),
    ],
)
def test_mistakes_in_parameters_are_said_in_words(params, error, message):
    model = HierarchicalLabels(**{"estimator": forest(), "hierarchy": DIAMOND, **params})
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "estimator_")


def test_a_frozen_estimator_is_checked_and_kept():
    labels = DIAMOND.closure(Y)
    inner = boosting().fit(X, labels)
    model = HierarchicalLabels(FrozenEstimator(inner), DIAMOND).fit(X, Y)
    assert np.array_equal(model.predict_proba(X), DIAMOND.consistent(inner.predict_proba(X)))
    assert weald.loads(weald.dumps(model)).hierarchy_ == DIAMOND
    with pytest.raises(ValueError, match="estimator must predict scores of 5 labels, the number of columns of y"):
        HierarchicalLabels(FrozenEstimator(boosting().fit(X, labels[:, :4])), DIAMOND).fit(X, Y)


@pytest.mark.parametrize("inner", ["forest", "boosting", "pipeline", "thresholds"])
def test_files_hold_the_hierarchy(inner, tmp_path):
    named = LabelHierarchy(DIAMOND.parents_, label_names=[*"abcde"])
    model = HierarchicalLabels(INNER[inner](), named, method="isotonic").fit(X, sparse.csr_array(Y))
    if inner == "pipeline":
        pytest.importorskip("skops")
    data = weald.dumps(model)
    again = weald.loads(data)
    assert again.hierarchy_ == again.hierarchy == named
    assert again.method == "isotonic"
    assert weald.dumps(again) == data
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    same = pickle.loads(pickle.dumps(model))
    assert same.hierarchy_ == named
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))
    around = TunedThresholds(HierarchicalLabels(forest(), named)).fit(X, Y)
    DIAMOND.check(weald.loads(weald.dumps(around)).predict(X))


def test_a_damaged_hierarchy_is_refused():
    model = HierarchicalLabels(forest(), DIAMOND).fit(X, Y)
    model.hierarchy_ = ANIMALS
    data = pickle.dumps(model)
    with pytest.raises(ValueError, match="hierarchy_ must be a LabelHierarchy of 5 labels"):
        pickle.loads(data)
    state = DIAMOND.__getstate__()
    for change, message in (
        ({"indices": state["indices"] * 0 + 3}, "no circle"),
        ({"indices": state["indices"] + 7}, "labels from 0 to 4"),
        ({"indices": state["indices"].astype(float)}, "int64 array"),
        ({"indptr": state["indptr"][:-2]}, "must ascend from 0 to 5"),
        ({"indptr": state["indptr"][:0]}, "must ascend from 0 to 5"),
        ({"label_names": ["a"]}, "label_names must have length 5"),
    ):
        with pytest.raises(ValueError, match=message):
            object.__new__(LabelHierarchy).__setstate__(state | change)
    with pytest.raises(ValueError, match="must have indptr, indices and label_names"):
        object.__new__(LabelHierarchy).__setstate__({"edges": []})


# --- metrics ----------------------------------------------------------------------------------------------------------


def with_gaps(rng, shape: tuple[int, int]) -> np.ndarray:
    mask = rng.random(shape) < 0.3
    mask[rng.random(shape[0]) < 0.2] = True
    return mask


@pytest.mark.parametrize("average", ["micro", "samples"])
@pytest.mark.parametrize("zero", [0.0, 1.0, np.nan])
@settings(deadline=None, max_examples=30)
@given(graph=graphs)
def test_hierarchical_precision_recall_and_f1_are_those_of_sets(graph, average, zero):
    seed, d, edges = graph
    rng = np.random.default_rng(seed)
    hierarchy = LabelHierarchy(edges, n_labels=d)
    n = 6
    true, predicted = ((rng.random((n, d)) < 0.25).astype(float) for _ in range(2))
    mask = with_gaps(rng, (n, d)) if rng.random() < 0.7 else np.zeros((n, d), dtype=bool)
    closed, named = closed_by_loops(edges, np.where(mask, np.nan, true)), closed_by_loops(edges, predicted)
    rows = [i for i in range(n) if not np.isnan(closed[i]).all()]
    sets = []
    for i in rows:
        t = {j for j in range(d) if closed[i, j] == 1}
        sets.append((t, {j for j in range(d) if named[i, j] == 1 and not np.isnan(closed[i, j])}))

    def ratio(part, whole):
        return part / whole if whole else zero

    def averaged(part, whole):
        if not sets:
            return np.nan
        if average == "micro":
            return ratio(sum(part(t, p) for t, p in sets), sum(whole(t, p) for t, p in sets))
        values = [ratio(part(t, p), whole(t, p)) for t, p in sets]
        values = [value for value in values if not np.isnan(value)]
        return np.mean(values) if values else np.nan

    for metric, part, whole in (
        (hierarchical_precision, lambda t, p: len(t & p), lambda t, p: len(p)),
        (hierarchical_recall, lambda t, p: len(t & p), lambda t, p: len(t)),
        (hierarchical_f1, lambda t, p: 2 * len(t & p), lambda t, p: len(t) + len(p)),
    ):
        wanted = averaged(part, whole)
        for form in (np.asarray, sparse.csr_array):
            found = metric(
                form(true), form(predicted), hierarchy, average=average, y_weight=unless(form(mask)), zero_division=zero
            )
            # The mean adds the same numbers in the same order.
            assert found == wanted or (np.isnan(found) and np.isnan(wanted))


def fmax_by_loops(true, scores, mask, thresholds=None) -> float:
    rows = [i for i in range(len(true)) if (true[i] & ~mask[i]).any()]
    if not rows:
        return np.nan
    best = 0.0
    for threshold in np.unique(scores[scores > 0]) if thresholds is None else thresholds:
        precisions, recalls = [], []
        for i in rows:
            t, p = (
                {j for j in range(true.shape[1]) if of[i, j] and not mask[i, j]} for of in (true, scores >= threshold)
            )
            recalls.append(len(t & p) / len(t))
            if p:
                precisions.append(len(t & p) / len(p))
        if precisions and (np.mean(precisions) + np.mean(recalls)) > 0:
            precision, recall = np.mean(precisions), np.mean(recalls)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def area_by_steps(true: np.ndarray, scores: np.ndarray) -> float:
    """The area under an interpolated curve, by Gauss-Legendre quadrature of each part between two points."""
    n_true, area, tp, fp = true.sum(), 0.0, 0, 0
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for score in np.unique(scores)[::-1]:
        more, false = (true & (scores == score)).sum(), (~true & (scores == score)).sum()
        if more:
            x = (nodes + 1) / 2 * more
            y = fp + false * x / more
            area += (weights / 2 * more * (tp + x) / (tp + x + y)).sum()
        tp, fp = tp + more, fp + false
    return area / n_true if n_true else np.nan


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_fmax_and_auprc_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    true = rng.random((n, d)) < 0.4
    scores = rng.choice([0.0, 0.0, 0.25, 0.5, 0.75, *rng.random(3)], size=(n, d))
    mask = with_gaps(rng, (n, d)) if rng.random() < 0.7 else np.zeros((n, d), dtype=bool)
    wanted = fmax_by_loops(true, scores, mask)
    grid = np.arange(1, 101) / 100
    on_grid = fmax_by_loops(true, scores, mask, grid)
    shifted = scores - 0.4
    areas = [area_by_steps(true[~mask[:, j], j], shifted[~mask[:, j], j]) for j in range(d)]
    n_true = (true & ~mask).sum(axis=0)
    some = n_true > 0
    averages = {
        "micro": area_by_steps(true[~mask], shifted[~mask]),
        "macro": np.mean(np.array(areas)[some]) if some.any() else np.nan,
        "weighted": np.average(np.array(areas)[some], weights=n_true[some]) if some.any() else np.nan,
    }
    for form in (np.asarray, sparse.csr_array):
        told = {"y_weight": unless(form(mask))}
        # Means of a few numbers of at most 1, whose order of addition may differ.
        assert fmax(form(true), form(scores), **told) == pytest.approx(wanted, abs=1e-15, nan_ok=True)
        found = fmax(form(true), form(scores), thresholds=grid, **told)
        assert found == pytest.approx(on_grid, abs=1e-15, nan_ok=True)
        for average, area in averages.items():
            # The twin integrates smooth functions by 40 nodes: to rounding, except for parts from the first false
            # positives, where the function has a pole near the interval.
            found = auprc(form(true), form(shifted), average=average, **told)
            assert found == pytest.approx(area, abs=1e-9, nan_ok=True)
    order = rng.permutation(n)
    again = auprc(true[order], shifted[order], average="micro", y_weight=unless(mask[order]))
    assert np.array_equal(again, auprc(true, shifted, average="micro", y_weight=unless(mask)), equal_nan=True)


def test_fmax_in_a_hierarchy_closes_both_sides():
    true, scores = [[0, 0, 0, 1]], [[0.1, 0.2, 0.3, 0.9]]
    assert fmax(true, scores, hierarchy=ANIMALS) == 1.0
    closed, raised = ANIMALS.closure(true), ANIMALS.consistent(scores)
    assert fmax(closed, raised) == 1.0 > fmax(closed, scores)


def test_single_points_of_curves():
    # All scores equal: one point, whose precision is the share of true entries.
    assert auprc([[1], [0], [0], [1]], np.zeros((4, 1))) == 0.5
    assert auprc([[1], [1]], [[0.3], [0.1]]) == 1.0
    assert np.isnan(auprc([[0], [0]], [[0.3], [0.1]]))
    assert fmax([[1, 0]], [[0.0, 0.0]]) == 0.0
    assert fmax([[1, 0]], [[0.5, 0.0]], thresholds=[0.6]) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fmax([[1, 0]], [[-0.5, 1.0]]), ValueError, "y_score must not have negative scores"),
        (lambda: fmax([[1, 0]], [[0.5, 1.0, 0.1]]), ValueError, "y_score must have 2 columns, as y_true, got 3"),
        (lambda: fmax([[1, 0]], [[np.nan, 1.0]]), ValueError, "y_score contains NaN"),
        (lambda: fmax([[1, 0]], [[0.5, 1.0]], thresholds=[0.0]), ValueError, "thresholds must be a list of positive"),
        (lambda: fmax([[1, 0]], [[0.5, 1.0]], thresholds=[[0.1]]), ValueError, "thresholds must be a list of positive"),
        (lambda: fmax([[1, 0]], [[0.5, 1.0]], hierarchy=[(1, 0)]), TypeError, "hierarchy must be a LabelHierarchy"),
        (lambda: fmax([[1, 0]], ([[1]], [[0.5]])), ValueError, "y_score must be scores of all labels"),
        (lambda: auprc([[1, 0]], [[0.5, 1.0]], average="samples"), ValueError, "average must be 'micro', 'macro' or"),
        (lambda: auprc([[1, 0]], [[0.5, np.inf]]), ValueError, "y_score contains infinity"),
        (lambda: hierarchical_f1([[1, 0]], [[1, 0]], DIAMOND), ValueError, "y_true must have 5 columns, one for each"),
        (lambda: hierarchical_f1([[1, 0]], [[1, 0]], None), TypeError, "hierarchy must be a LabelHierarchy, got None"),
        (
            lambda: hierarchical_precision([[1] * 5], [[1] * 5], DIAMOND, average="macro"),
            ValueError,
            "average must be 'micro' or 'samples', got 'macro'",
        ),
        (lambda: hierarchical_recall([[1] * 5], [[2] * 5], DIAMOND), ValueError, "y_pred must have the values 0 and 1"),
    ],
)
def test_mistakes_in_metrics_are_said_in_words(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_ranked_labels_are_predicted_labels():
    model = HierarchicalLabels(forest(), DIAMOND).fit(X, Y)
    ranked = model.predict_topk(X, 2)
    labels = np.zeros(Y.shape, dtype=int)
    np.put_along_axis(labels, ranked[0], 1, axis=1)
    assert hierarchical_f1(Y, ranked, DIAMOND) == hierarchical_f1(Y, labels, DIAMOND)


# --- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [LabelHierarchy, HierarchicalLabels])
def test_examples_of_methods(cls):
    """Doctest passes over the methods of classes that a private module defines."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    n_examples = 0
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod) else member
        if callable(function) and not name.startswith("_"):
            for test in finder.find(function, name, module=False, globs={}):
                n_examples += len(test.examples)
                assert runner.run(test).failed == 0
    assert n_examples > 5 or cls is HierarchicalLabels


@pytest.mark.skipif(real_data.missing("eisen_go") is not None, reason=str(real_data.missing("eisen_go")))
def test_implications_of_gene_functions():
    from weald.datasets import load_npz_folder

    labels = sparse.csr_array(load_npz_folder(real_data.root() / "eisen_go").Y_train)
    hierarchy = LabelHierarchy.from_labels(labels)
    hierarchy.check(labels)
    assert hierarchy.ancestors_.nnz > 10_000
    assert hierarchy.depth_.max() > 5
    assert label_graph.closed_relation(hierarchy.parents_).nnz == hierarchy.ancestors_.nnz
