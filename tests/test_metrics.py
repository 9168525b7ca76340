"""Ranking metrics against their definitions, written out as loops."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald._ranking import ranks
from weald.metrics import (
    coverage_error,
    label_coverage_at_k,
    macro_f1,
    make_topk_scorer,
    micro_f1,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensities,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)

# Metrics are means over some dozens of samples of gains, which are sums over labels; the terms are added up in a
# different order.
ROUNDING = 1e-12


def problem(seed, n=40, d=9):
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, d)) < 0.3).astype(int)
    truth[0] = 0
    scores = rng.integers(-2, 4, (n, d)).astype(float)  # many ties, negatives and zeros
    return truth, scores


def first(scores, k):
    """The first k labels by decreasing score; of equal scores the lower label comes first."""
    return np.array([sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:k] for row in scores])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3, 9])
@pytest.mark.parametrize("truth_as", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("scores_as", ["dense", "csr", "csc", "labels"])
def test_against_the_definitions(seed, k, truth_as, scores_as):
    truth, scores = problem(seed)
    ranked = first(scores, k)
    passed = {
        "dense": scores,
        "csr": sparse.csr_matrix(scores),
        "csc": sparse.csc_array(scores),
        "labels": ranked,
    }[scores_as]
    hits = np.take_along_axis(truth, ranked, axis=1)
    gains = (hits / np.log2(np.arange(2, k + 2))).sum(axis=1)
    best = np.array([(1 / np.log2(np.arange(2, min(k, row.sum()) + 2))).sum() for row in truth])
    some = truth.any(axis=1)
    assert precision_at_k(truth_as(truth), passed, k) == pytest.approx(hits.mean(), rel=ROUNDING)
    assert one_error(truth_as(truth), passed) == pytest.approx(1 - hits[:, 0].mean(), rel=ROUNDING)
    assert ndcg_at_k(truth_as(truth), passed, k) == pytest.approx((gains[some] / best[some]).mean(), rel=ROUNDING)


def test_ndcg_is_scikit_learns_where_scores_differ():
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 12)) < 0.4).astype(int)
    truth[:, 0] = 1
    scores = rng.random((50, 12))
    assert ndcg_at_k(truth, scores, 5) == pytest.approx(ndcg_score(truth, scores, k=5), rel=ROUNDING)


def test_no_labels_at_all():
    truth = np.zeros((3, 4))
    assert one_error(truth, np.ones((3, 4))) == 1
    assert np.isnan(ndcg_at_k(truth, np.ones((3, 4)), 2))


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        (np.ones((3, 4)), 1, "y_score must have 2 rows, as y_true, got 3"),
        (np.ones((2, 5)), 1, "y_score must have 4 columns, as y_true, got 5"),
        (np.ones((2, 4)), 5, "k must be an integer from 1 to 4, got 5"),
        (np.ones((2, 4)), 0, "k must be an integer from 1 to 4, got 0"),
        (np.array([[0], [4]]), 1, "y_score must have labels from 0 to 3"),
        (np.full((2, 4), np.nan), 1, "y_score contains NaN"),
    ],
)
def test_bad_scores(scores, k, message):
    with pytest.raises(ValueError, match=message):
        precision_at_k(np.eye(2, 4), scores, k)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 3, 9])
@pytest.mark.parametrize("scores_as", [np.asarray, sparse.csr_matrix, lambda scores: first(scores, 9)])
def test_masked_cells_are_left_out_of_the_ranking(seed, k, scores_as):
    truth, scores = problem(seed)
    mask = np.random.default_rng(seed + 9).random(truth.shape) < [0.1, 0.5, 0.9, 0.0][seed]
    mask[1] = True
    precisions, gains, errors = [], [], []
    for row, values, hidden in zip(truth, scores, mask, strict=True):
        known = [j for j in first(values[None], 9)[0] if not hidden[j]]
        if not known:
            continue
        hits = [row[j] for j in known[:k]]
        precisions.append(np.mean(hits))
        errors.append(1 - row[known[0]])
        n_right = min(k, sum(row[j] for j in known))
        if n_right:
            gains.append(
                sum(h / np.log2(r + 2) for r, h in enumerate(hits)) / sum(1 / np.log2(np.arange(2, n_right + 2)))
            )
    passed = scores_as(scores)
    with_gaps = np.where(mask, np.nan, truth)
    for y, y_mask in ((truth, mask), (with_gaps, None), (sparse.csr_array(truth), sparse.coo_array(mask))):
        assert precision_at_k(y, passed, k, y_weight=unless(y_mask)) == pytest.approx(np.mean(precisions), rel=ROUNDING)
        assert one_error(y, passed, y_weight=unless(y_mask)) == pytest.approx(np.mean(errors), rel=ROUNDING)
        assert ndcg_at_k(y, passed, k, y_weight=unless(y_mask)) == pytest.approx(np.mean(gains), rel=ROUNDING)
    assert precision_at_k(truth, passed, k, y_weight=unless(np.zeros_like(mask))) == precision_at_k(truth, passed, k)
    assert np.isnan(precision_at_k(truth, passed, k, y_weight=unless(np.ones_like(mask))))
    with pytest.raises(
        ValueError,
        match=rf"^y_weight must have shape {re.escape(str(truth.shape))}, .*, got {re.escape(str(mask[:, 1:].shape))}$",
    ):
        precision_at_k(truth, passed, k, y_weight=unless(mask[:, 1:]))


# Slow twins, which go through dense data sample by sample.


def ranked_of(row, hidden, k):
    """The first k known labels of one sample, ranked by a dense row of scores."""
    return [j for j in sorted(range(len(row)), key=lambda j: (-row[j], j)) if not hidden[j]][:k]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 40), st.sampled_from([np.int32, np.int64]))
def test_the_k_best_are_the_head_of_a_full_sort(seed, n, d, index_dtype):
    rng = np.random.default_rng(seed)
    values = [-1.0, -0.0, 0.0, 5e-324, 0.5, np.nextafter(0.5, 1), 1e300, np.inf, -np.inf, np.nan]
    scores = np.where(rng.random((n, d)) < 0.6, rng.choice(values, (n, d)), 0.0)
    hidden = rng.random((n, d)) < rng.choice([0.0, 0.3, 1.0])
    stored = sparse.csr_array(scores)
    stored = (stored.indptr.astype(index_dtype), stored.indices.astype(index_dtype), stored.data, d)
    mask = sparse.csr_array(hidden)
    listed = ~hidden & (scores != 0)
    for k in (0, 1, d, d + 3):
        for form, are_ranked in ((scores, ~hidden), ((*stored, True), ~hidden), ((*stored, False), listed)):
            expected = np.full((n, k), -1)
            for i, row in enumerate(scores):
                keys = sorted((np.isnan(row[j]), -row[j], j) for j in np.flatnonzero(are_ranked[i]))[:k]
                expected[i, : len(keys)] = [j for *_, j in keys]
            labels, best = ranks.k_best(form, k, mask if hidden.any() else None, n_threads=2)
            np.testing.assert_array_equal(ranks.padded(labels), expected)
            named = expected >= 0
            np.testing.assert_array_equal(best[named], scores[np.nonzero(named)[0], expected[named]])
            assert (best[~named] == -np.inf).all()


def over(part, whole):
    return part / whole if whole else math.nan


def twins(truth, ranked, hidden, p, k):
    """All metrics of the first k labels, from the ranking of each sample."""
    truth = np.where(hidden, 0, truth)
    precision, recall, ndcg, named = [], [], [], set()
    sums = np.zeros(4)
    for row, labels, gaps in zip(truth, ranked, hidden, strict=True):
        right = [j for j in range(len(row)) if row[j]]
        hits = [j in right for j in labels]
        named |= set(labels) & set(right)
        if not gaps.all():
            precision.append(sum(hits) / min(k, sum(~gaps)))
        if not right:
            continue
        recall.append(sum(hits) / len(right))
        ideal = sum(1 / math.log2(r + 2) for r in range(min(k, len(right))))
        ndcg.append(sum(hit / math.log2(r + 2) for r, hit in enumerate(hits)) / ideal)
        best = sorted((1 / p[j] for j in right), reverse=True)[:k]
        sums += [
            sum(1 / p[j] for j, hit in zip(labels, hits, strict=True) if hit),
            sum(best),
            sum(1 / p[j] / math.log2(r + 2) for r, (j, hit) in enumerate(zip(labels, hits, strict=True)) if hit)
            / ideal,
            sum(w / math.log2(r + 2) for r, w in enumerate(best)) / ideal,
        ]
    return {
        precision_at_k: over(sum(precision), len(precision)),
        recall_at_k: over(sum(recall), len(recall)),
        ndcg_at_k: over(sum(ndcg), len(ndcg)),
        psp_at_k: over(sums[0], sums[1]),
        psndcg_at_k: over(sums[2], sums[3]),
        label_coverage_at_k: over(len(named), np.count_nonzero(truth.any(axis=0))),
    }


def with_hostile_storage(matrix, rng, kind):
    """The same matrix as CSR or COO with unordered entries, stored zeros, and possibly two entries per cell."""
    rows, columns = np.indices(matrix.shape).reshape(2, -1)
    values = matrix.ravel()
    keep = (values != 0) | (rng.random(len(values)) < 0.3)
    rows, columns, values = rows[keep], columns[keep], values[keep]
    if kind == "summed":
        twice = rng.random(len(rows)) < 0.4
        rows, columns = np.concatenate([rows, rows[twice]]), np.concatenate([columns, columns[twice]])
        # Halves of small integers add up exactly.
        values = np.concatenate([np.where(twice, values / 2, values), values[twice] / 2])
    order = rng.permutation(len(rows))
    rows, columns, values = rows[order], columns[order], values[order]
    if kind == "coo":
        return sparse.coo_array((values, (rows, columns)), shape=matrix.shape)
    order = np.argsort(rows, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return sparse.csr_matrix((values[order], columns[order], ends), shape=matrix.shape)


@st.composite
def problems(draw):
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    cells = n * d
    scores = draw(
        st.lists(st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0]), min_size=cells, max_size=cells)
    )
    truth = draw(st.lists(st.sampled_from([0, 0, 1]), min_size=cells, max_size=cells))
    hidden = draw(st.lists(st.sampled_from([False, False, False, True]), min_size=cells, max_size=cells))
    hides = draw(st.booleans())
    return (
        np.reshape(truth, (n, d)),
        np.reshape(scores, (n, d)),
        np.reshape(hidden, (n, d)) & hides,
        draw(st.integers(1, d)),
        draw(st.integers(0, 2**32 - 1)),
    )


def assert_same(found, expected):
    # The sums over at most six samples and seven labels are added up in a different order.
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.slow("python/weald/metrics.py", "python/weald/_ranking", "crates/weald/src/model")
@settings(max_examples=150, deadline=None)
@given(problem=problems())
def test_metrics_of_the_first_k_are_those_of_their_twins(problem):
    truth, scores, hidden, k, seed = problem
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 1, truth.shape[1])
    expected = twins(truth, [ranked_of(row, gaps, k) for row, gaps in zip(scores, hidden, strict=True)], hidden, p, k)
    all_of_row = np.array([ranked_of(row, np.zeros(len(row)), len(row)) for row in scores])
    shuffled = np.array([rng.permutation(row) for row in all_of_row])
    forms = {
        "dense": scores,
        "float32": scores.astype(np.float32),
        "csr": sparse.csr_array(scores),
        "int": sparse.csc_matrix(scores.astype(np.int8)),
        "labels": all_of_row.astype(np.int32),
        "pair": (all_of_row, np.take_along_axis(scores, all_of_row, axis=1)),
        # A pair is ranked by its scores, whatever the order of its labels.
        "unordered pair": (shuffled, np.take_along_axis(scores, shuffled, axis=1)),
        **{kind: with_hostile_storage(scores, rng, kind) for kind in ("coo", "unordered", "summed")},
    }
    truths = [truth, sparse.csc_array(truth.astype(bool)), with_hostile_storage(truth.astype(np.float32), rng, "csr")]
    mask = None if not hidden.any() else sparse.coo_array(hidden)
    # Only some of the forms are tried for each problem, because most of the time is spent on the checks of arguments.
    for name in rng.choice(list(forms), 3, replace=False):
        y_score = forms[str(name)]
        y_true = truths[rng.integers(len(truths))]
        for metric, value in expected.items():
            options = {"propensities": p} if metric in (psp_at_k, psndcg_at_k) else {}
            assert_same(metric(y_true, y_score, k, y_weight=unless(mask), **options), value)


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_what_is_passed_stays_as_it_is(problem):
    truth, scores, hidden, k, seed = problem
    y_true = with_hostile_storage(truth.astype(float), np.random.default_rng(seed), "unordered")
    y_score = with_hostile_storage(scores, np.random.default_rng(seed), "summed")
    before = [part.copy() for matrix in (y_true, y_score) for part in (matrix.data, matrix.indices, matrix.indptr)]
    ndcg_at_k(y_true, y_score, k, y_weight=unless(hidden))
    macro_f1(y_true, y_true, y_weight=unless(hidden))
    coverage_error(y_true, y_score)
    after = [part for matrix in (y_true, y_score) for part in (matrix.data, matrix.indices, matrix.indptr)]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_lists_with_gaps(problem):
    truth, _, hidden, k, seed = problem
    rng = np.random.default_rng(seed)
    labels = np.array([rng.permutation(row) for row in [range(truth.shape[1])] * len(truth)])
    labels = np.where(rng.random(labels.shape) < 0.4, -1, labels)
    ranked = [[j for j in row if j >= 0 and not gaps[j]][:k] for row, gaps in zip(labels, hidden, strict=True)]
    p = np.ones(truth.shape[1])
    for metric, value in twins(truth, ranked, hidden, p, k).items():
        options = {"propensities": p} if metric in (psp_at_k, psndcg_at_k) else {}
        assert_same(metric(truth, labels, k, y_weight=unless(hidden), **options), value)
    # The scores of a pair have no effect at places without a label.
    falling = np.where(labels < 0, np.nan, -np.arange(labels.shape[1]))
    assert_same(recall_at_k(truth, (labels, falling), k), recall_at_k(truth, labels, k))


@settings(max_examples=50, deadline=None)
@given(problem=problems(), zero_division=st.sampled_from([0.0, 1.0, np.nan]))
def test_f1_and_coverage_error_are_scikit_learns(problem, zero_division):
    truth, scores, _, _, seed = problem
    rng = np.random.default_rng(seed)
    predicted = (scores > 0).astype(int)
    rows, columns = np.nonzero(predicted)
    # A label that is predicted twice counts once.
    cells = (np.tile(rows, 2), np.tile(columns, 2))
    twice = sparse.coo_array((np.ones(len(cells[0])), cells), shape=truth.shape)
    for y_true in (truth, with_hostile_storage(truth.astype(float), rng, "unordered")):
        for y_pred in (predicted, sparse.coo_array(predicted.astype(bool)), sparse.csc_matrix(predicted), twice):
            for ours, average in ((micro_f1, "micro"), (macro_f1, "macro")):
                if truth.shape[1] > 1:  # scikit-learn takes one column as two classes
                    theirs = sklearn.metrics.f1_score(truth, predicted, average=average, zero_division=zero_division)
                    assert_same(ours(y_true, y_pred, zero_division=zero_division), theirs)
        if truth.shape[1] > 1:
            expected = sklearn.metrics.coverage_error(truth, scores)
            assert_same(coverage_error(y_true, scores), expected)
            assert_same(coverage_error(y_true, with_hostile_storage(scores, rng, "summed")), expected)


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_masked_cells_are_left_out_of_f1_and_coverage_error(problem):
    truth, scores, hidden, _, seed = problem
    predicted = (scores > 0).astype(int)
    true, named = np.where(hidden, 0, truth), np.where(hidden, 0, predicted)
    assert_same(micro_f1(truth, predicted, y_weight=unless(hidden)), micro_f1(true, named))
    assert_same(
        macro_f1(truth, sparse.csr_array(predicted), y_weight=unless(sparse.csr_array(hidden))), macro_f1(true, named)
    )
    depths = []
    for row, values, gaps in zip(true, scores, hidden, strict=True):
        if not gaps.all():
            least = min((values[j] for j in range(len(row)) if row[j]), default=np.inf)
            depths.append(sum(values[j] >= least for j in range(len(row)) if not gaps[j]))
    expected = over(sum(depths), len(depths))
    assert_same(coverage_error(truth, scores, y_weight=unless(hidden)), expected)
    rng = np.random.default_rng(seed)
    assert_same(coverage_error(truth, with_hostile_storage(scores, rng, "csr"), y_weight=unless(hidden)), expected)


def test_f1_of_the_first_k_is_that_of_their_pattern():
    truth, scores = problem(3)
    ranked = first(scores, 3)
    predicted = np.zeros_like(truth)
    np.put_along_axis(predicted, ranked, 1, axis=1)
    pair = (ranked, np.take_along_axis(scores, ranked, axis=1))
    assert micro_f1(truth, pair) == micro_f1(truth, predicted)
    assert macro_f1(truth, pair) == macro_f1(truth, predicted)


@pytest.mark.parametrize("k", [1, 4, 40])
def test_samples_of_any_length_and_more_cells_than_a_block(k):
    """Samples with 0 to 2000 scores give rectangles of all sizes, some of more samples than are processed at a time."""
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(0, 40, 30_000), [2000, 1999, 1025, 1024, 1023, 0]])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = np.concatenate([rng.permutation(2500)[:length] for length in lengths])
    values = rng.integers(-1, 5, len(rows)).astype(np.float32)
    scores = sparse.csr_array((values, (rows, columns)), shape=(len(lengths), 2500))
    truth = sparse.random_array(scores.shape, density=0.01, random_state=rng, format="csr")
    truth.data[:] = 1
    # For some of the samples, the dense form is compared, which uses another search.
    some = np.concatenate([np.arange(0, 30_000, 97), np.arange(len(lengths) - 6, len(lengths))])
    assert precision_at_k(truth[some], scores[some], k) == precision_at_k(truth[some], scores[some].toarray(), k)
    parts = np.array_split(np.arange(len(lengths)), 7)
    mean = sum(precision_at_k(truth[part], scores[part], k) * len(part) for part in parts) / len(lengths)
    # The expected value is a mean of seven means.
    assert precision_at_k(truth, scores, k) == pytest.approx(mean, rel=1e-12)


def test_propensities_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 6)) < [0.0, 0.02, 0.1, 0.3, 0.8, 1.0]).astype(int)
    for a, b in ((0.55, 1.5), (0.5, 0.4), (0.6, 2.6), (0, 1)):
        C = (math.log(50) - 1) * (b + 1) ** a
        expected = [1 / (1 + C * math.exp(-a * math.log(Y[:, j].sum() + b))) for j in range(6)]
        # Powers are computed as exponentials of logarithms, which is a different order of the same steps.
        assert propensities(sparse.csc_array(Y), a, b) == pytest.approx(expected, rel=1e-12)
    assert (propensities(Y[:2]) == 1).all()
    for name, value in (("a", -1), ("a", np.inf), ("a", True), ("b", 0), ("b", np.nan), ("b", "1")):
        with pytest.raises(ValueError, match=f"{name} must be "):
            propensities(Y, **{name: value})
    with pytest.raises(ValueError, match="must not be so extreme that propensities are zero"):
        propensities(Y, 1e6, 1e-6)


PAIR = (np.array([[0], [1]]), np.array([[0.5], [0.5]]))


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        (sparse.csr_array([[np.nan, 0, 0, 1], [0, 0, 0, 1]]), 1, "y_score contains NaN"),
        (np.full((2, 4), np.inf), 1, "y_score contains infinity"),
        ((PAIR[0], np.array([[np.nan], [1]])), 1, "y_score contains NaN"),
        ((PAIR[0], np.ones((2, 2))), 1, "y_score must have scores of shape .2, 1..*got .2, 2."),
        (
            (np.ones((2, 2)), np.ones((2, 2))),
            1,
            "y_score must have labels of an integer dtype, with -1 for no label, got dtype float64",
        ),
        (
            (np.array([[0, 0], [1, 2]]), np.ones((2, 2))),
            1,
            "y_score must have each label once in a row, got the label 0 twice in row 0",
        ),
        (PAIR, 2, "k must be an integer from 1 to 1, got 2"),
        (np.array([[-2], [1]]), 1, "y_score must have labels from 0 to 3"),
        (sparse.csr_array((2, 3)), 1, "y_score must have 4 columns, as y_true, got 3"),
        (sparse.csr_array((3, 4)), 1, "y_score must have 2 rows, as y_true, got 3"),
        (sparse.csr_array((2, 4)), 5, "k must be an integer from 1 to 4, got 5"),
        (sparse.csr_array((2, 4)), True, "^k must be an integer from 1 to 4, got True$"),
        (sparse.csr_array((2, 4)), 1.0, r"k must be an integer from 1 to 4, got 1\.0"),
    ],
)
def test_more_bad_scores(scores, k, message):
    for metric in (recall_at_k, ndcg_at_k, label_coverage_at_k):
        with pytest.raises(ValueError, match=message):
            metric(np.eye(2, 4), scores, k)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.ones(3), r"^propensities must have shape \(4,\), one value for each label, got \(3,\)$"),
        ([1, 1, 0, 1], "propensities must be greater than 0 and at most 1, got value"),
        ([1, 1, 2, 1], "propensities must be greater than 0 and at most 1, got value"),
        ([1, 1, np.nan, 1], "propensities contains NaN"),
    ],
)
def test_bad_propensities(p, message):
    for metric in (psp_at_k, psndcg_at_k):
        with pytest.raises(ValueError, match=message):
            metric(np.eye(2, 4), np.ones((2, 4)), 1, propensities=p)


@pytest.mark.parametrize(
    ("y_pred", "options", "message"),
    [
        (np.full((2, 4), 0.5), {}, "y_pred must have the values 0 and 1 for labels, got"),
        (sparse.csr_array([[2, 0, 0, 0], [0, 0, 0, 0]]), {}, "y_pred must have the values 0 and 1 for labels, got"),
        (np.ones((2, 3)), {}, r"^y_pred must have shape \(2, 4\), that of y_true, got \(2, 3\)$"),
        (np.ones((2, 4)), {"zero_division": 0.5}, r"zero_division must be 0\.0, 1\.0 or np\.nan, got 0\.5"),
        (np.ones((2, 4)), {"zero_division": "warn"}, "zero_division must be 0.0, 1.0 or np.nan, got 'warn'"),
    ],
)
def test_bad_predictions(y_pred, options, message):
    for metric in (micro_f1, macro_f1):
        with pytest.raises(ValueError, match=message):
            metric(np.eye(2, 4), y_pred, **options)


def test_coverage_error_needs_all_scores():
    with pytest.raises(ValueError, match="y_score must be scores of all labels"):
        coverage_error(np.eye(2, 4), PAIR)


def labels_of(n=90, d=6):
    rng = np.random.default_rng(1)
    X = sparse.random_array((n, 12), density=0.4, random_state=rng, format="csr", dtype=np.float32)
    return X, sparse.csr_array((X[:, :d].toarray() + 0.2 * rng.random((n, d)) > 0.45).astype(float))


SCORERS = {
    precision_at_k: {},
    recall_at_k: {},
    ndcg_at_k: {},
    label_coverage_at_k: {},
    micro_f1: {},
    macro_f1: {"zero_division": 1.0},
    psp_at_k: {"propensities": np.linspace(0.2, 1, 6)},
    psndcg_at_k: {"propensities": np.linspace(0.2, 1, 6)},
}


@pytest.mark.parametrize("metric", SCORERS)
def test_a_scorer_is_the_metric_of_the_labels_predicted(metric):
    X, Y = labels_of()
    forest = weald.RandomForestClassifier(5, random_state=0).fit(X, Y)
    options = SCORERS[metric]
    for named in (metric, metric.__name__):
        scorer = pickle.loads(pickle.dumps(make_topk_scorer(named, 2, **options)))
        takes_k = {} if metric in (micro_f1, macro_f1) else {"k": 2}
        expected = metric(Y, forest.predict_topk(X, 2), **takes_k, **options)
        assert scorer(forest, X, Y) == expected
        # Metrics that take k give the same value for all probabilities as for the two best labels.
        if takes_k:
            assert expected == metric(Y, forest.predict_proba(X), **takes_k, **options)


def test_scorers_of_losses_are_negative():
    X, Y = labels_of()
    forest = weald.RandomForestClassifier(5, random_state=0).fit(X, Y)
    error = one_error(Y, forest.predict_proba(X))
    assert 0 < error < 1
    assert make_topk_scorer(one_error, 3)(forest, X, Y) == -error
    assert make_topk_scorer(one_error, 3, greater_is_better=True)(forest, X, Y) == error
    assert repr(make_topk_scorer(one_error, 3)) == "make_topk_scorer(one_error, k=3, greater_is_better=False)"


def n_right(y_true, y_score):
    """A metric without k, as a user may define it."""
    return float(np.sum(y_true.toarray()[:, y_score[0][0, 0]]))


def test_scorers_see_through_pipelines_and_searches():
    X, Y = labels_of()
    scorer = make_topk_scorer("ndcg_at_k", 3)
    forest = weald.RandomForestClassifier(5, random_state=0)
    inner = make_pipeline("passthrough", MaxAbsScaler(), make_pipeline(MaxAbsScaler(), forest)).fit(X, Y)
    Z = MaxAbsScaler().fit_transform(MaxAbsScaler().fit_transform(X))
    assert scorer(inner, X, Y) == ndcg_at_k(Y, forest.fit(Z, Y).predict_topk(Z, 3), 3)
    assert scorer(FrozenEstimator(inner), X, Y) == scorer(inner, X, Y)
    grid = {"randomforestclassifier__max_depth": [1, 4]}
    search = GridSearchCV(make_pipeline(MaxAbsScaler(), forest), grid, cv=KFold(3), scoring=scorer).fit(X, Y)
    assert search.score(X, Y) == scorer(search.best_estimator_, X, Y)
    assert scorer(search, X, Y) == scorer(search.best_estimator_, X, Y)
    best = search.cv_results_["split1_test_score"][search.best_index_]
    train, test = list(KFold(3).split(X))[1]
    assert best == scorer(search.best_estimator_.fit(X[train], Y[train]), X[test], Y[test])
    assert make_topk_scorer(n_right, 2)(inner, X, Y) > 0


def test_scorers_of_estimators_that_rank_nothing_use_all_scores():
    X, Y = labels_of()
    linear = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    scorer = make_topk_scorer("precision_at_k", 2)
    assert scorer(linear, X, Y) == precision_at_k(Y, linear.predict_proba(X), 2)
    lists = RandomForestClassifier(3).fit(X.toarray(), Y.toarray())
    with pytest.raises(TypeError, match="RandomForestClassifier has no predict_topk"):
        scorer(lists, X.toarray(), Y)


@pytest.mark.parametrize(
    ("metric", "k", "error", "message"),
    [
        ("f1", 1, ValueError, "metric must be a callable or one of .*got 'f1'"),
        ("coverage_error", 1, ValueError, "metric must be a callable.*got 'coverage_error'"),
        (coverage_error, 1, ValueError, "needs scores of all labels"),
        (3, 1, TypeError, "metric must be a callable.*got 3"),
        (ndcg_at_k, 0, ValueError, "k must be a positive integer, got 0"),
        (ndcg_at_k, True, ValueError, "^k must be a positive integer, got True$"),
        (ndcg_at_k, 1.5, ValueError, r"k must be a positive integer, got 1\.5"),
    ],
)
def test_bad_scorers(metric, k, error, message):
    with pytest.raises(error, match=message):
        make_topk_scorer(metric, k)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_matrices_whose_arrays_contradict_each_other_are_refused(form):
    bad = form(np.eye(4))
    bad.indices = np.array([0, 1, 2, 9], dtype=np.int32)
    for call, name in (
        (lambda: precision_at_k(bad, np.eye(4), 1), "y_true"),
        (lambda: propensities(bad), "Y"),
        (lambda: precision_at_k(np.eye(4), bad, 1), "y_score"),
        (lambda: coverage_error(np.eye(4), bad), "y_score"),
        (lambda: macro_f1(np.eye(4), bad), "y_pred"),
        (lambda: ndcg_at_k(np.eye(4), np.eye(4), 1, y_weight=bad), "y_weight"),
    ):
        with pytest.raises(ValueError, match=f"{name} is not a valid sparse matrix"):
            call()


def test_scores_with_the_names_of_other_labels_are_refused():
    rng = np.random.default_rng(0)
    Y = pd.DataFrame((rng.random((40, 3)) < 0.5).astype(int), columns=["a", "b", "c"])
    scores = pd.DataFrame(rng.random((40, 3)), columns=["a", "b", "c"])
    of_scores = ["roc_auc", "average_precision", "log_loss", "brier", "coverage_error", "one_error"]
    at_k = ["precision_at_k", "recall_at_k", "ndcg_at_k", "label_coverage_at_k"]
    for name in [*of_scores, *at_k, "micro_f1", "macro_f1"]:
        metric = getattr(weald.metrics, name)
        options = {"k": 2} if name in at_k else {}
        found = (scores > 0.5).astype(int) if name.endswith("f1") else scores
        expected = metric(Y.to_numpy(), found.to_numpy(), **options)
        assert metric(Y, found, **options) == metric(Y, found.to_numpy(), **options) == expected
        with pytest.raises(
            ValueError, match="must have the name 'a' at position 0, got 'c': its columns must be those of"
        ):
            metric(Y, found[["c", "a", "b"]], **options)
