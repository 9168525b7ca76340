"""From which score on a label is named: thresholds of many labels, from sparse scores.

Scores are CSR of canonical form, positive; a cell that is not stored is never named. A label is named where its score
is at least its threshold. Weights of rows count rows.

A rare label has a few cells to choose a threshold by, and the best one of these is mostly luck. So each label is judged
as if it had `shrinkage` further positive cells which are like those of all labels together: with m of them, a label
that names n(t) cells at threshold t, h(t) of its p true ones among them, counts

    h'(t) = h(t) + m · H / P,    n'(t) = n(t) + m · N / P,    p' = p + m

where all labels together name N cells, H of their P true ones among them, when they do as the label does: by "share"
name as many cells for each true one as it does, n(t) / p, each label its best; by "threshold" have the same threshold.
Scores of rare labels are smaller than those of frequent ones in most models: then shares are alike where thresholds are
not.

Without (m = 0) labels are on their own; with infinitely many all have the same share, or the same threshold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._ranks import are_entries_in
from spinney._validation import Float

# Thresholds tried for every label beside those that part its own cells.
_GRID = 64
# Steps of Dinkelbach's iteration at most; it ends by itself after some five.
_MOST_STEPS = 50
# In place of zero where something is divided.
_TINY = np.finfo(np.float64).tiny
# Cells whose keys are held at once.
_BLOCK = 1 << 20
# Named where nothing is known: what `predict` of classifiers has.
_HALF = 0.5

ACCEPTED = (
    "'f1', 'micro_f1', 'macro_f1', 'precision>=.9' with any share, 'label_count', 'label_count=3' with any number"
)


@dataclass(frozen=True)
class Objective:
    """What thresholds are chosen for."""

    kind: str
    # The least precision, or the number of labels of a row; None is that of the rows.
    level: float | None = None

    @classmethod
    def parsed(cls, objective: Any) -> Objective:
        if isinstance(objective, str):
            if objective in ("f1", "micro_f1", "macro_f1", "label_count"):
                return cls(objective)
            found = re.fullmatch(r"\s*(precision\s*>=|label_count\s*=)\s*(\d*\.?\d+)\s*", objective)
            if found is not None:
                level, kind = float(found[2]), found[1].rstrip(">= ")
                if level > 0 and (kind == "label_count" or level <= 1):
                    return cls(kind, level)
        raise ValueError(f"objective is {objective!r}, accepted: {ACCEPTED}")


@dataclass(frozen=True)
class Thresholds:
    """Found thresholds."""

    # (n_labels,)
    of_labels: Float
    common: float
    # Value of the objective on the scores that they were chosen by, and the number of labels of a row.
    score: float
    n_named: float


@dataclass(frozen=True)
class _Cells:
    """Stored cells by label, and there by score, the largest first."""

    label: NDArray[Any]
    score: Float
    is_true: NDArray[np.bool_]
    # None where each cell counts one.
    weight: Float | None
    # The first cell of each label that has some, and of every label where its cells would begin.
    first: NDArray[np.intp]
    starts: NDArray[np.intp]
    # Weights of all cells, and of true ones, from the first of all labels up to and with each.
    named: NDArray[Any]
    hits: NDArray[Any]
    # Cells behind which a threshold may stand: the last of equal scores some of which are true.
    cuts: NDArray[np.intp]
    # Threshold right behind each of `cuts`.
    threshold: Float

    def counts(self, at: NDArray[np.intp]) -> tuple[Float, Float]:
        """Weights of true cells and of all cells of the label up to and with each of some cells."""
        before = self.starts[self.label[at]]
        # Of the first label nothing is before.
        found = [np.where(before > 0, sums[at] - sums[before - 1], sums[at]) for sums in (self.hits, self.named)]
        return found[0].astype(np.float64), found[1].astype(np.float64)


def _threshold_between(lower: Any, upper: Any) -> Any:
    """A number above `lower` and at most `upper`: the middle, where there is one."""
    middle = lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


def _last_of_equal(score: Float, first: NDArray[np.intp]) -> NDArray[np.intp]:
    """The last cell of each run of equal scores of a label."""
    is_last = np.ones(len(score), dtype=np.bool_)
    is_last[:-1] = score[1:] != score[:-1]
    is_last[first[1:] - 1] = True
    return np.flatnonzero(is_last)


def _cells_of(
    n_labels: int, label: NDArray[Any], score: Float, is_true: NDArray[np.bool_], weight: Float | None, floor: float
) -> _Cells:
    """Of cells in their order."""
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
    # The next score of the label, or the floor below which none is stored.
    follows = np.minimum(cuts + 1, n - 1)
    same = (cuts + 1 < n) & (label[follows] == label[cuts])
    threshold = _threshold_between(np.where(same, score[follows], floor), score[cuts])
    return _Cells(label, score, is_true, weight, first, starts, named, hits, cuts, threshold)


def _are_true(scores: Any, truth: Any) -> NDArray[np.bool_]:
    """Whether each stored score is of a true cell; a block of rows after the other, as keys have eight bytes."""
    found = np.empty(scores.nnz, dtype=np.bool_)
    n_rows = max(1, _BLOCK * scores.shape[0] // max(1, scores.nnz))
    for start in range(0, scores.shape[0], n_rows):
        some = scores[start : start + n_rows]
        at = slice(scores.indptr[start], scores.indptr[start] + some.nnz)
        found[at] = are_entries_in(some, truth[start : start + n_rows])
    return found


@dataclass(frozen=True)
class _Counts:
    """Candidates, and what is named at them: of one label, or all."""

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
    """Cells named for each true one; infinitely many where there is none."""
    found = np.full(len(named), np.inf)
    np.divide(named, positive, out=found, where=positive > 0)
    return found


class _Problem:
    """Cells by label and together, and the candidates of each label."""

    def __init__(self, scores: Any, truth: Any, weights: Float, floor: float, mask: Any) -> None:
        d = scores.shape[1]
        # Of cells that are not known a row is so much less.
        n_hidden = 0.0 if mask is None else float(weights @ np.diff(mask.indptr)) / d
        self.n_labels, self.n_rows = d, float(weights.sum()) - n_hidden
        per_label = np.bincount(truth.indices, np.repeat(weights, np.diff(truth.indptr)), minlength=d)
        self.positive: Float = per_label.astype(np.float64)
        # Labels of 16 bits are sorted by their digits.
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
        """True cells and cells that all labels name at thresholds, for each true cell that there is."""
        scores = self.all.score
        # Scores fall; as they stand, their reverse rises.
        n_named = len(scores) - np.searchsorted(scores[::-1], counts.threshold, side="left")
        total = max(float(self.positive.sum()), _TINY)
        hits, named = (np.where(n_named > 0, sums[n_named - 1], 0) for sums in (self.all.hits, self.all.named))
        return hits / total, named / total

    def _pooled_by_share(self, counts: _Counts) -> tuple[Float, Float]:
        """The same where all labels name as many cells for each true one; none for labels without true cells."""
        cells = self.each
        n = len(cells.score)
        # Cells of equal scores are named together: each has the share of the last.
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
        """What each label names at each of some rising thresholds: label after label."""
        d, size, cells = self.n_labels, len(grid), self.each
        # A cell that passes j thresholds is named at the first j of them.
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
        """Own cuts of the labels, right above their largest scores, and a grid for each.

        Judged with `shrinkage` further positive cells; with infinitely many by one of these alone.
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
    """The candidate of largest value of each label; of equal ones that which names the fewest, then the nearest to the
    common threshold.
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
    scores: Any,
    truth: Any,
    weights: Float,
    objective: Objective,
    shrinkage: float,
    toward: str,
    floor: float,
    mask: Any = None,
) -> Thresholds:
    """Thresholds for an objective, chosen on CSR scores and labels of the same rows.

    Neither has a cell that is not known: those of the pattern `mask`.

    O(stored cells · log + labels · 64); memory some hundred bytes a stored cell.
    """
    problem = _Problem(scores, truth, weights, floor, mask)
    level = objective.level
    if objective.kind == "label_count":
        n_asked = problem.positive.sum() / problem.n_rows if level is None else level
        common = _common_of_count(problem.all, n_asked * problem.n_rows, floor)
        return _judged(problem, np.full(problem.n_labels, common), common, objective)
    if not len(problem.all.cuts):
        # No true cell has a score: nothing tells thresholds apart.
        common = np.inf if objective.kind == "precision" else _HALF
        return _judged(problem, np.full(problem.n_labels, common), common, objective)
    pooled = problem.counts_of_all()
    grid = _grid_of(pooled)
    if objective.kind == "precision":
        assert level is not None
        common = _common_of_precision(pooled, level)
    elif objective.kind == "macro_f1":
        tried = problem.at(grid)
        common = float(grid[np.argmax(tried.f1().reshape(problem.n_labels, -1).mean(axis=0))])
    else:
        common = float(pooled.threshold[np.argmax(pooled.f1())])
    if np.isinf(shrinkage) and toward == "threshold":
        return _judged(problem, np.full(problem.n_labels, common), common, objective)
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
    return _judged(problem, thresholds, common, objective)


def _grid_of(pooled: _Counts) -> Float:
    """Thresholds at which equal shares of the true cells that have scores are named, rising."""
    shares = (np.arange(_GRID) + 0.5) / _GRID * pooled.hits[-1]
    found: Float = np.unique(pooled.threshold[np.searchsorted(pooled.hits, shares)])
    return found


def _best_together(counts: _Counts, n_labels: int, common: float) -> NDArray[np.intp]:
    """Candidates of all labels whose F1 of all cells together is largest.

    Dinkelbach's iteration for a ratio of sums: of a ratio F, the numerator less F times the denominator is a sum over
    labels, which each label makes largest for itself; the ratio of what they choose is no smaller than F, and equal
    only at the largest (Dinkelbach 1967, On nonlinear fractional programming).
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


def _common_of_count(cells: _Cells, budget: float, floor: float) -> float:
    """The lowest threshold at which no more cells are named."""
    last = np.append(np.flatnonzero(cells.score[1:] != cells.score[:-1]), len(cells.score) - 1)[: len(cells.score)]
    # Sums of weights and the budget are rounded: a budget that is met exactly is met.
    n_within = int(np.searchsorted(cells.named[last], budget * (1 + 1e-12), side="right"))
    if n_within == 0:
        return np.inf
    at = last[n_within - 1]
    lower = cells.score[at + 1] if at + 1 < len(cells.score) else floor
    return float(_threshold_between(lower, cells.score[at]))


def _judged(problem: _Problem, thresholds: Float, common: float, objective: Objective) -> Thresholds:
    """The thresholds, and what they give on the cells that they were chosen by."""
    cells, d = problem.each, problem.n_labels
    # Named cells are the first of their label: counts at the last of them are those of all.
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
    return Thresholds(thresholds, common, float(score), float(total / problem.n_rows))
