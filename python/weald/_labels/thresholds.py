"""Decision thresholds for many labels, tuned on sparse scores.

Scores are positive, and CSR in canonical form. An entry that is not stored is never predicted. A label is predicted if
its score is at least its threshold. Sample weights count samples.

A rare label has few positive entries, and the best threshold on these is mostly due to chance. So each label is judged
as if it had `shrinkage` additional positive entries, distributed as those of all labels together. With m of them, a
label for which n(t) entries are predicted at threshold t, among them h(t) of its p positives, has the counts

    h'(t) = h(t) + m · H / P,    n'(t) = n(t) + m · N / P,    p' = p + m

where N and H are the numbers of predicted entries and predicted positives of all labels together, which have P
positives, if the decision is extended to all labels. With "share", the highest scores of every label are predicted such
that it has the same number n(t) / p of predicted entries per positive. With "threshold", every label has the same
threshold. Scores of rare labels are smaller than those of frequent ones in most models. Labels then have similar
optimal shares, but different optimal thresholds.

With m = 0, each label is tuned on its own. With m = infinity, all labels have the same share or the same threshold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float
from weald._parameters.types import MatrixLike
from weald._ranking.ranks import are_entries_in

# Number of thresholds that are tried for every label, in addition to those between its own scores.
_GRID = 64
# Maximum number of steps of Dinkelbach's iteration, which usually converges after about five.
_MOST_STEPS = 50
# Replaces zero in denominators.
_TINY = np.finfo(np.float64).tiny
# Maximum number of entries of a block.
_BLOCK = 1 << 20
# The threshold if the scores contain no information, as in `predict` of classifiers.
_HALF = 0.5
# `label_count` that predicts fewer labels than were asked for by more than this fraction says so.
_FEWER = 0.02
# From here on shrinkage is infinite: sums of counts would overflow.
_INFINITE = 2.0**500

ACCEPTED = (
    "'f1', 'micro_f1', 'macro_f1', 'precision>=.9' or another fraction, 'label_count', or 'label_count=3' or another "
    "number"
)


@dataclass(frozen=True)
class Objective:
    """The objective that thresholds are tuned for."""

    kind: str
    # The minimum precision, or the number of labels per sample; None is the number in y.
    level: float | None = None

    @classmethod
    def parsed(cls, objective: object) -> Objective:
        if isinstance(objective, str):
            if objective in ("f1", "micro_f1", "macro_f1", "label_count"):
                return cls(objective)
            found = re.fullmatch(r"\s*(precision\s*>=|label_count\s*=)\s*(\d*\.?\d+)\s*", objective)
            if found is not None:
                level, kind = float(found[2]), found[1].rstrip(">= ")
                if level > 0 and (kind == "label_count" or level <= 1):
                    return cls(kind, level)
        raise ValueError(f"objective must be {ACCEPTED}, got {objective!r}")


@dataclass(frozen=True)
class Thresholds:
    """Tuned thresholds."""

    # (n_labels,)
    of_labels: Float
    common: float
    # The objective, and the number of predicted labels per sample, on the scores used for tuning.
    score: float
    n_named: float
    # Whether a lower floor of scores would change the common threshold: all stored scores reach it, and more are asked for.
    at_floor: bool


@dataclass(frozen=True)
class _Cells:
    """Stored entries, sorted by label and then by descending score."""

    label: NDArray[Any]
    score: Float
    is_true: NDArray[np.bool_]
    # None if all weights are 1.
    weight: Float | None
    # The position of the first entry of each label with entries, and the start position of every label.
    first: NDArray[np.intp]
    starts: NDArray[np.intp]
    # Cumulative weights of all entries and of positive entries, over all labels and including each entry.
    named: NDArray[Any]
    hits: NDArray[Any]
    # Candidates for the last predicted entry: the last one of each run of equal scores with a positive.
    cuts: NDArray[np.intp]
    # The threshold just below each of `cuts`.
    threshold: Float

    def counts(self, at: NDArray[np.intp]) -> tuple[Float, Float]:
        """Total weights of positives and of all entries of the label, up to and including each of some entries."""
        before = self.starts[self.label[at]]
        # There is nothing before the first label.
        found = [np.where(before > 0, sums[at] - sums[before - 1], sums[at]) for sums in (self.hits, self.named)]
        return found[0].astype(np.float64), found[1].astype(np.float64)


def _threshold_between(lower: Any, upper: Any) -> Any:
    """A number above `lower` and at most `upper`: the middle, where there is one."""
    middle = lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


def _last_of_equal(score: Float, first: NDArray[np.intp]) -> NDArray[np.intp]:
    """The last entry of each run of equal scores of a label."""
    is_last = np.ones(len(score), dtype=np.bool_)
    is_last[:-1] = score[1:] != score[:-1]
    is_last[first[1:] - 1] = True
    return np.flatnonzero(is_last)


def _cells_of(
    n_labels: int, label: NDArray[Any], score: Float, is_true: NDArray[np.bool_], weight: Float | None, floor: float
) -> _Cells:
    """The entries, given in their order."""
    n = len(score)
    if weight is None:
        named, hits = np.arange(1, n + 1), np.cumsum(is_true, dtype=np.int64)
        if n < 2**31:
            named, hits = named.astype(np.int32), hits.astype(np.int32)
    else:
        named, hits = np.cumsum(weight), np.cumsum(np.where(is_true, weight, 0.0))
    starts = np.searchsorted(label, np.arange(n_labels).astype(label.dtype))
    first = starts[starts < np.append(starts[1:], n)]
    ends = _last_of_equal(score, first)
    true_before = np.concatenate([[0], np.cumsum(is_true, dtype=np.int32)[ends]])
    cuts = ends[np.diff(true_before) > 0]
    # The next score of the label, or the floor below which no scores are stored.
    follows = np.minimum(cuts + 1, n - 1)
    same = (cuts + 1 < n) & (label[follows] == label[cuts])
    threshold = _threshold_between(np.where(same, score[follows], floor), score[cuts])
    return _Cells(label, score, is_true, weight, first, starts, named, hits, cuts, threshold)


def _are_true(scores: sparse.csr_array, truth: Any) -> NDArray[np.bool_]:
    """Whether each stored score belongs to a positive entry, computed in blocks to limit memory."""
    found = np.empty(scores.nnz, dtype=np.bool_)
    n_rows = max(1, _BLOCK * scores.shape[0] // max(1, scores.nnz))
    for start in range(0, scores.shape[0], n_rows):
        some = scores[start : start + n_rows]
        at = slice(scores.indptr[start], scores.indptr[start] + some.nnz)
        found[at] = are_entries_in(some, truth[start : start + n_rows])
    return found


@dataclass(frozen=True)
class _Counts:
    """Candidate thresholds, and the counts of predicted entries at them, for single labels or all together."""

    label: NDArray[np.int64]
    threshold: Float
    hits: Float
    named: Float
    positive: Float

    def f1(self) -> Float:
        found: Float = 2 * self.hits / np.maximum(self.named + self.positive, _TINY)
        return found

    def precision(self) -> Float:
        found: Float = self.hits / np.maximum(self.named, _TINY)
        return found


def _shares(named: Float, positive: Float) -> Float:
    """The number of predicted entries per positive, or infinity without positives."""
    found = np.full(len(named), np.inf)
    np.divide(named, positive, out=found, where=positive > 0)
    return found


class _Problem:
    """The entries by label and of all labels together, and the candidate thresholds of each label."""

    def __init__(self, scores: Any, truth: Any, weights: Float, floor: float, mask: Any) -> None:
        d = scores.shape[1]
        # A sample with unknown entries counts as a fraction of a sample.
        n_hidden = 0.0 if mask is None else float((weights * np.diff(mask.indptr)).sum()) / d
        self.n_labels, self.n_rows, self.floor = d, float(weights.sum()) - n_hidden, floor
        per_label = np.bincount(truth.indices, np.repeat(weights, np.diff(truth.indptr)), minlength=d)
        self.positive: Float = per_label.astype(np.float64)
        # Labels of 16 bits are sorted by radix sort.
        label = scores.indices.astype(np.uint16 if d < 2**16 else np.int32)
        score, is_true, weight = np.asarray(scores.data, dtype=np.float64), _are_true(scores, truth), None
        if (weights != 1).any():
            weight = np.repeat(weights, np.diff(scores.indptr))
            kept = weight > 0
            label, score, is_true, weight = label[kept], score[kept], is_true[kept], weight[kept]
        order = np.argsort(score)[::-1]
        label, score, is_true = label[order], score[order], is_true[order]
        weight = None if weight is None else weight[order]
        self.all = _cells_of(1, np.zeros(len(label), dtype=np.uint8), score, is_true, weight, floor)
        order = np.argsort(label, kind="stable")
        weight = None if weight is None else weight[order]
        self.each = _cells_of(d, label[order], score[order], is_true[order], weight, floor)

    def counts_of_all(self) -> _Counts:
        cuts = self.all.cuts
        hits, named = self.all.counts(cuts)
        total = np.full(len(cuts), self.positive.sum())
        return _Counts(np.zeros(len(cuts), dtype=np.int64), self.all.threshold, hits, named, total)

    def _pooled_by_threshold(self, counts: _Counts) -> tuple[Float, Float]:
        """Predicted positives, and predicted entries, per positive of all labels together, at each threshold."""
        scores = self.all.score
        # Scores are in descending order, and reversed for the search.
        n_named = len(scores) - np.searchsorted(scores[::-1], counts.threshold, side="left")
        total = max(float(self.positive.sum()), _TINY)
        hits, named = (np.where(n_named > 0, sums[n_named - 1], 0) for sums in (self.all.hits, self.all.named))
        return hits / total, named / total

    def _pooled_by_share(self, counts: _Counts) -> tuple[Float, Float]:
        """The same for equal numbers of predicted entries per positive in all labels; 0 without positives."""
        cells = self.each
        n = len(cells.score)
        # Entries of equal score are predicted together, and have the share of the last of them.
        ends = _last_of_equal(cells.score, cells.first)
        _, of_labels = cells.counts(ends)
        share = np.repeat(_shares(of_labels, self.positive[cells.label[ends]]), np.diff(ends, prepend=-1))
        order = np.argsort(share)
        share = share[order]
        is_true = cells.is_true[order]
        hits: NDArray[Any]
        named: NDArray[Any]
        if cells.weight is None:
            hits, named = np.cumsum(is_true), np.arange(1, n + 1)
        else:
            weight = cells.weight[order]
            hits, named = np.cumsum(np.where(is_true, weight, 0.0)), np.cumsum(weight)
        positive = self.positive[counts.label]
        n_named = np.searchsorted(share, _shares(counts.named, positive), side="right")
        total = max(float(self.positive.sum()), _TINY)
        there = (n_named > 0) & (positive > 0)
        return np.where(there, hits[n_named - 1], 0) / total, np.where(there, named[n_named - 1], 0) / total

    def at(self, grid: Float) -> _Counts:
        """The counts of each label at each threshold of an ascending grid, in the order of labels."""
        d, size, cells = self.n_labels, len(grid), self.each
        # An entry that reaches j thresholds is predicted at the first j of them.
        at = np.searchsorted(grid, cells.score, side="right")
        at += cells.label.astype(np.int64) * (size + 1)

        def above(kept: Any, weight: Float | None) -> Float:
            table = np.bincount(at[kept], weight, minlength=d * (size + 1)).reshape(d, size + 1)
            found: Float = np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:].ravel().astype(np.float64)
            return found

        true = cells.is_true
        hits = above(true, None if cells.weight is None else cells.weight[true])
        label = np.repeat(np.arange(d), size)
        return _Counts(label, np.tile(grid, d), hits, above(slice(None), cells.weight), self.positive[label])

    def candidates(self, grid: Float, shrinkage: float, toward: str) -> _Counts:
        """The candidates of each label: between its scores, just above its largest score, and a grid.

        The counts include `shrinkage` additional positives. If it is infinite, they are those of a single one of them.
        """
        cells, tried = self.each, self.at(grid)
        above, none = np.nextafter(cells.score[cells.first], np.inf), np.zeros(len(cells.first))
        own_hits, own_named = cells.counts(cells.cuts)
        label = np.concatenate([cells.label[cells.cuts], cells.label[cells.first], tried.label]).astype(np.int64)
        threshold = np.concatenate([cells.threshold, above, tried.threshold])
        hits = np.concatenate([own_hits, none, tried.hits])
        named = np.concatenate([own_named, none, tried.named])
        counts = _Counts(label, threshold, hits, named, self.positive[label])
        if shrinkage == 0:
            return counts
        pooled = self._pooled_by_share if toward == "share" else self._pooled_by_threshold
        further_hits, further_named = pooled(counts)
        if np.isinf(shrinkage):
            return _Counts(label, threshold, further_hits, further_named, np.ones(len(label)))
        hits, named = hits + shrinkage * further_hits, named + shrinkage * further_named
        return _Counts(label, threshold, hits, named, counts.positive + shrinkage)


def _best(counts: _Counts, value: Float, n_labels: int, common: float) -> NDArray[np.intp]:
    """The candidate of largest value for each label.

    Among equal values it is the one with the fewest predicted entries, and then the nearest to the common threshold.
    """
    best = np.full(n_labels, -np.inf)
    np.maximum.at(best, counts.label, value)
    tied = np.flatnonzero(value == best[counts.label])
    distance = np.abs(counts.threshold[tied] - common)
    order = tied[np.lexsort((-counts.threshold[tied], distance, counts.named[tied], counts.label[tied]))]
    _, first = np.unique(counts.label[order], return_index=True)
    found: NDArray[np.intp] = order[first]
    return found


def tuned(
    scores: object,
    truth: MatrixLike,
    weights: Float,
    objective: Objective,
    shrinkage: float,
    toward: str,
    floor: float,
    mask: object = None,
    ordered: Callable[[Float, str], Float] | None = None,
) -> Thresholds:
    """Thresholds for an objective, tuned on CSR scores and labels of the same samples.

    Neither has stored entries in the pattern `mask` of unknown entries. `ordered` makes thresholds respect a hierarchy of
    labels: "max" raises, and "min" lowers them.

    The time is O(m log m + 64 · labels) for m stored scores, and the memory some hundred bytes per stored score.
    """
    problem = _Problem(scores, truth, weights, floor, mask)
    of_labels, common = _chosen(problem, objective, shrinkage if shrinkage < _INFINITE else np.inf, toward, floor)
    if ordered is None:
        return _judged(problem, of_labels, common, objective)
    raised = _judged(problem, ordered(of_labels, "max"), common, objective)
    if objective.kind == "precision":
        # Lower thresholds could have less precision.
        return raised
    lowered = _judged(problem, ordered(of_labels, "min"), common, objective)
    return lowered if lowered.score > raised.score else raised


def _chosen(
    problem: _Problem, objective: Objective, shrinkage: float, toward: str, floor: float
) -> tuple[Float, float]:
    """The threshold of each label, and the common one."""
    level = objective.level
    if objective.kind == "label_count":
        n_asked = problem.positive.sum() / problem.n_rows if level is None else level
        common = _common_of_count(problem.all, n_asked * problem.n_rows, floor)
        return np.full(problem.n_labels, common), common
    if not len(problem.all.cuts):
        # No positive entry has a score, so that thresholds cannot be compared.
        common = np.inf if objective.kind == "precision" else _HALF
        return np.full(problem.n_labels, common), common
    pooled = problem.counts_of_all()
    grid = _grid_of(pooled)
    if objective.kind == "precision":
        assert level is not None
        common = _common_of_precision(pooled, level)
    elif objective.kind == "macro_f1":
        common = _common_of_mean_f1(problem, floor)
    else:
        common = float(pooled.threshold[np.argmax(pooled.f1())])
    if np.isinf(shrinkage) and toward == "threshold":
        return np.full(problem.n_labels, common), common
    if np.isfinite(common):
        grid = np.unique(np.append(grid, common))
    counts = problem.candidates(grid, shrinkage, toward)
    if objective.kind == "precision":
        assert level is not None
        feasible = counts.precision() >= level
        chosen = _best(counts, np.where(feasible, counts.hits, -1.0), problem.n_labels, common)
        thresholds = np.where(feasible[chosen], counts.threshold[chosen], np.inf)
    elif objective.kind == "micro_f1":
        thresholds = counts.threshold[_best_together(counts, problem.n_labels, common)]
    else:
        thresholds = counts.threshold[_best(counts, counts.f1(), problem.n_labels, common)]
    return thresholds, common


def _grid_of(pooled: _Counts) -> Float:
    """Ascending thresholds at which equally spaced fractions of the positives with a score are predicted."""
    shares = (np.arange(_GRID) + 0.5) / _GRID * pooled.hits[-1]
    found: Float = np.unique(pooled.threshold[np.searchsorted(pooled.hits, shares)])
    return found


def _best_together(counts: _Counts, n_labels: int, common: float) -> NDArray[np.intp]:
    """The candidates, one for each label, that maximize the F1 score of all entries together.

    Dinkelbach's iteration for a ratio of sums: for a ratio F, the numerator minus F times the denominator is a sum over
    labels, which each label maximizes separately. The ratio of these choices is at least F, and equal to F
    only at the maximum (Dinkelbach 1967, On nonlinear fractional programming).
    """
    ratio, chosen = -1.0, np.zeros(0, dtype=np.intp)
    for _ in range(_MOST_STEPS):
        found = _best(counts, 2 * counts.hits - max(ratio, 0.0) * counts.named, n_labels, common)
        sums = 2 * counts.hits[found].sum(), (counts.named + counts.positive)[found].sum()
        if not sums[0] / sums[1] > ratio:
            break
        ratio, chosen = sums[0] / sums[1], found
    return chosen


def _common_of_precision(pooled: _Counts, level: float) -> float:
    feasible = np.flatnonzero(pooled.precision() >= level)
    return float(pooled.threshold[feasible[-1]]) if len(feasible) else np.inf


def _common_of_mean_f1(problem: _Problem, floor: float) -> float:
    """The threshold with the largest mean of the F1 scores of the labels, the largest one among equal means.

    Each entry that is predicted in addition changes the F1 score of its label. The mean changes by the sum of these
    changes over all entries of equal score.
    """
    cells = problem.each
    every = np.arange(len(cells.score))
    hits, named = cells.counts(every)
    f1 = _Counts(every, cells.score, hits, named, problem.positive[cells.label]).f1()
    change = np.diff(f1, prepend=0.0)
    change[cells.first] = f1[cells.first]
    scores, at = np.unique(-cells.score, return_inverse=True)
    total = np.cumsum(np.bincount(at, change, minlength=len(scores)))
    # Sums of the same changes in another order differ by rounding, by much less than this fraction of the number of
    # labels, and would make the choice among equal means depend on the order of the samples.
    best = int(np.argmax(total >= total.max() - 1e-12 * problem.n_labels))
    lower = -scores[best + 1] if best + 1 < len(scores) else floor
    return float(_threshold_between(lower, -scores[best]))


def _common_of_count(cells: _Cells, budget: float, floor: float) -> float:
    """The lowest threshold at which at most `budget` entries are predicted."""
    last = np.append(np.flatnonzero(cells.score[1:] != cells.score[:-1]), len(cells.score) - 1)[: len(cells.score)]
    # The tolerance ensures that a budget that is met exactly is not missed by rounding of the sums of weights.
    n_within = int(np.searchsorted(cells.named[last], budget * (1 + 1e-12), side="right"))
    if n_within == 0:
        return np.inf
    at = last[n_within - 1]
    lower = cells.score[at + 1] if at + 1 < len(cells.score) else floor
    return float(_threshold_between(lower, cells.score[at]))


def _judged(problem: _Problem, thresholds: Float, common: float, objective: Objective) -> Thresholds:
    """The thresholds, with their objective on the scores used for tuning."""
    cells, d = problem.each, problem.n_labels
    # The predicted entries are the first ones of each label, so that the counts at the last one include all.
    n_named = np.bincount(cells.label[cells.score >= thresholds[cells.label]], minlength=d)
    some = np.flatnonzero(n_named)
    hits, named = np.zeros(d), np.zeros(d)
    hits[some], named[some] = cells.counts(cells.starts[some] + n_named[some] - 1)
    total = named.sum()
    if objective.kind == "label_count":
        score = total / problem.n_rows
    elif objective.kind == "precision":
        score = hits.sum() / total if total > 0 else np.nan
    elif objective.kind == "micro_f1":
        score = 2 * hits.sum() / max(total + problem.positive.sum(), _TINY)
    else:
        score = float((2 * hits / np.maximum(named + problem.positive, _TINY)).mean())
    of_sample = float(total / problem.n_rows)
    return Thresholds(thresholds, common, float(score), of_sample, _is_at_floor(problem, common, objective, of_sample))


def _is_at_floor(problem: _Problem, common: float, objective: Objective, n_named: float) -> bool:
    stored = problem.all
    if objective.kind == "label_count":
        n_asked = problem.positive.sum() / problem.n_rows if objective.level is None else objective.level
        takes_all = not len(stored.score) or common <= stored.score[-1]
        return bool(takes_all and n_named < n_asked * (1 - _FEWER))
    # Some positive entries have a score below the floor.
    hidden = problem.floor > 0 and len(stored.score) and stored.hits[-1] < problem.positive.sum()
    return bool(hidden and common <= stored.score[-1])
