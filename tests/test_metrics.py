"""Ranking scores against definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score
from spinney.metrics import ndcg_at_k, one_error, precision_at_k


def problem(seed, n=40, d=9):
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, d)) < 0.3).astype(int)
    truth[0] = 0
    scores = rng.integers(-2, 4, (n, d)).astype(float)  # many ties, negatives and zeros
    return truth, scores


def first(scores, k):
    """Labels by falling score, lower first where equal."""
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
    assert precision_at_k(truth_as(truth), passed, k) == pytest.approx(hits.mean())
    assert one_error(truth_as(truth), passed) == pytest.approx(1 - hits[:, 0].mean())
    assert ndcg_at_k(truth_as(truth), passed, k) == pytest.approx((gains[some] / best[some]).mean())


def test_ndcg_is_scikit_learns_where_scores_differ():
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 12)) < 0.4).astype(int)
    truth[:, 0] = 1
    scores = rng.random((50, 12))
    assert ndcg_at_k(truth, scores, 5) == pytest.approx(ndcg_score(truth, scores, k=5))


def test_no_labels_at_all():
    truth = np.zeros((3, 4))
    assert one_error(truth, np.ones((3, 4))) == 1
    assert np.isnan(ndcg_at_k(truth, np.ones((3, 4)), 2))


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        (np.ones((3, 4)), 1, "y_score has 3 rows, expected 2"),
        (np.ones((2, 5)), 1, "y_score has 5 columns, expected 4"),
        (np.ones((2, 4)), 5, "k is 5, accepted: an integer from 1 to 4"),
        (np.ones((2, 4)), 0, "k is 0, accepted: an integer from 1 to 4"),
        (np.array([[0], [4]]), 1, "y_score holds labels outside 0..3"),
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
        assert precision_at_k(y, passed, k, y_mask=y_mask) == pytest.approx(np.mean(precisions))
        assert one_error(y, passed, y_mask=y_mask) == pytest.approx(np.mean(errors))
        assert ndcg_at_k(y, passed, k, y_mask=y_mask) == pytest.approx(np.mean(gains))
    assert precision_at_k(truth, passed, k, y_mask=np.zeros_like(mask)) == precision_at_k(truth, passed, k)
    assert np.isnan(precision_at_k(truth, passed, k, y_mask=np.ones_like(mask)))
    with pytest.raises(ValueError, match="y_mask has shape"):
        precision_at_k(truth, passed, k, y_mask=mask[:, 1:])
