"""Thresholds for scores of labels that control recall or precision, from CSR scores and labels of calibration samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import bdtr

from weald._around import ranked
from weald._input.checks import Float
from weald._ranking.ranks import are_entries_in

# Sums of the same terms in another order, and scores of the same sample among others, differ by less than this fraction.
_SLACK = 1e-12
# More samples count as so many, which is what `bdtr` takes.
_MOST_COUNTED = 2.0**62
# The number of thresholds that are tested one after another, from the largest to the smallest.
N_TESTED = 200
# The number of counts that are held at once.
_BLOCK = 1 << 22


def recall_thresholds(
    scores: sparse.csr_array, truth: sparse.csr_array, weights: Float, frequency: Float, alpha: float
) -> tuple[float, float]:
    """The largest threshold of scores with a bound of alpha on the missed fraction of true labels, and one of frequencies.

    Conformal risk control (Angelopoulos et al. 2022): (Σ w L(t) + 1) / (Σ w + 1) ≤ alpha for the fractions L(t) that
    samples with true labels miss at the threshold t. A label whose score is not stored is predicted if its frequency
    reaches the second threshold, which is infinite unless all stored scores together do not suffice.
    """
    n_true = np.diff(truth.indptr)
    used = (n_true > 0) & (weights > 0)
    share = np.zeros(len(weights))
    share[used] = weights[used] / n_true[used]
    n = float(weights[used].sum())
    if (n + 1) * alpha * (1 + _SLACK) < 1:
        raise ranked.too_few(alpha, n, " that have a label", "all labels would be predicted")
    needed = (n + 1 - (n + 1) * alpha) - n * _SLACK
    is_true = are_entries_in(scores, truth)
    found, gain = scores.data[is_true], np.repeat(share, np.diff(scores.indptr))[is_true]
    threshold, total = _first_to_reach(found, gain, needed)
    if threshold is not None:
        return threshold, np.inf
    # The true labels without a stored score, by their frequency.
    rows = np.repeat(np.arange(truth.shape[0]), n_true)
    is_missed = ~are_entries_in(truth, scores)
    reached, _ = _first_to_reach(frequency[truth.indices[is_missed]], share[rows[is_missed]], needed - total)
    # All true labels together always suffice, except for rounding.
    return 0.0, float(frequency.min()) if reached is None else reached


def _first_to_reach(values: Float, gains: Float, needed: float) -> tuple[float | None, float]:
    """The largest value down to which the gains add up to what is needed, or None, and the sum of all gains."""
    order = np.lexsort((gains, -values))
    values, total = values[order], np.cumsum(gains[order])
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True)[: len(values)])
    at = int(np.searchsorted(total[last], needed))
    whole = float(total[-1]) if len(total) else 0.0
    return (float(values[last[at]]), whole) if at < len(last) else (None, whole)


def precision_threshold(
    scores: sparse.csr_array, truth: sparse.csr_array, weights: Float, alpha: float, delta: float, floor: float
) -> float:
    """The smallest threshold whose false discovery rate is at most alpha with probability 1 − delta; or infinity.

    Learn then test (Angelopoulos et al. 2021): thresholds from 1 down to the floor, which do not depend on the data, are
    tested in order until the hypothesis that the rate is above alpha is not rejected at level delta, by the p-value of
    Hoeffding and Bentkus.
    """
    tested = thresholds(floor)
    n = float(weights.sum())
    chosen = np.inf
    for threshold, risk in zip(tested, false_discoveries(scores, truth, weights, tested) / n, strict=True):
        if p_value(risk, n, alpha) > delta:
            break
        chosen = float(threshold)
    return chosen


def thresholds(floor: float) -> Float:
    """The thresholds that are tested, from the largest to the smallest."""
    return np.linspace(1.0, max(floor, 1 / N_TESTED), N_TESTED)


def false_discoveries(scores: Any, truth: Any, weights: Float, tested: Float) -> Float:
    """At each threshold, the weighted sum over samples of the fraction of predicted labels that are wrong."""
    n, size = scores.shape[0], len(tested)
    is_true = are_entries_in(scores, truth)
    # A score reaches the thresholds from this position on.
    at = size - np.searchsorted(tested[::-1], scores.data, side="right")
    found = np.zeros(size)
    n_rows = max(1, _BLOCK // (size + 1))
    for start in range(0, n, n_rows):
        end = min(n, start + n_rows)
        own = slice(scores.indptr[start], scores.indptr[end])
        rows = np.repeat(np.arange(end - start), np.diff(scores.indptr[start : end + 1]))

        def counts(kept: Any, rows: Any = rows, own: slice = own, height: int = end - start) -> NDArray[np.int64]:
            cells = rows[kept] * (size + 1) + at[own][kept]
            table = np.bincount(cells, minlength=height * (size + 1)).reshape(height, size + 1)
            summed: NDArray[np.int64] = np.cumsum(table[:, :size], axis=1)
            return summed

        named, wrong = counts(slice(None)), counts(~is_true[own])
        found += weights[start:end] @ (wrong / np.maximum(named, 1))
    return found


def p_value(risk: float, n: float, alpha: float) -> float:
    """The p-value of Hoeffding and Bentkus for the hypothesis that a risk from 0 to 1 is above alpha.

    `risk` is the mean of n samples (Bates et al. 2021, Distribution-free, risk-controlling prediction sets).
    """
    whole = math.floor(min(n * (1 + _SLACK), _MOST_COUNTED))
    if whole < 1:
        return 1.0
    low = min(risk, alpha)
    divergence = (low * math.log(low / alpha) if low > 0 else 0.0) + (1 - low) * math.log((1 - low) / (1 - alpha))
    hoeffding = math.exp(-whole * divergence)
    bentkus = math.e * float(bdtr(min(whole, math.ceil(whole * risk * (1 - _SLACK))), whole, alpha))
    return min(1.0, hoeffding, bentkus)


def reached(threshold: float) -> float:
    """The least score that reaches a threshold."""
    return threshold * (1 - _SLACK)


def named_by(scores: sparse.csr_array, threshold: float, frequent: NDArray[np.intp]) -> sparse.csr_array:
    """The labels whose stored score reaches the threshold, and those that are frequent and have no stored score.

    The threshold is the score of a label, which may have other last bits in another block of samples.
    """
    named = scores.data >= reached(threshold)
    found = sparse.csr_array((named, scores.indices, scores.indptr), shape=scores.shape)
    found.eliminate_zeros()
    if not len(frequent):
        return found
    n = scores.shape[0]
    ptr = np.arange(n + 1, dtype=np.int64) * len(frequent)
    more = sparse.csr_array((np.ones(n * len(frequent), dtype=np.bool_), np.tile(frequent, n), ptr), shape=scores.shape)
    return sparse.csr_array((found + more).astype(np.bool_))


def frequencies(truth: sparse.csr_array, mask: Any, weights: Float) -> Float:
    """The fraction of the known samples, by weight, that have each label; 0 for labels that are never known."""
    d = truth.shape[1]

    def sums(cells: Any) -> Float:
        found = np.bincount(cells.indices, np.repeat(weights, np.diff(cells.indptr)), minlength=d)
        return found.astype(np.float64)

    known = np.full(d, weights.sum()) if mask is None else weights.sum() - sums(mask)
    found = np.zeros(d)
    np.divide(sums(truth), known, out=found, where=known > 0)
    return found


def mean_fraction(named: sparse.csr_array, truth: sparse.csr_array, weights: Float, control: str) -> float:
    """The mean over samples of the fraction of true labels that are predicted, or of predicted labels that are true."""
    is_hit = are_entries_in(named, truth)
    hits = np.bincount(np.repeat(np.arange(named.shape[0]), np.diff(named.indptr)), is_hit, minlength=named.shape[0])
    if control == "precision":
        n_named = np.diff(named.indptr)
        shares = np.where(n_named > 0, hits / np.maximum(n_named, 1), 1.0)
        return float(np.average(shares, weights=weights))
    n_true = np.diff(truth.indptr)
    used = (n_true > 0) & (weights > 0)
    if not used.any():
        return np.nan
    return float(np.average(hits[used] / n_true[used], weights=weights[used]))
