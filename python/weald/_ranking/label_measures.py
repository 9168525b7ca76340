"""Measures of scores of labels: curves and their areas, losses, counts and gains, from the known entries alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald import _weald
from weald._input import checks, masks, targets
from weald._input.checks import Float, Matrix, check_real, named, number, score_weights, shown
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike, YWeight
from weald._ranking import ranks
from weald._ranking.ranks import BLOCK_SCORES


def precision_recall_areas(
    labels: sparse.csr_array, scores: Any, mask: sparse.csr_array | None, pooled: bool
) -> tuple[Float, Float]:
    """The area under the curve of each label, or of all entries together, and the number of true entries.

    Between two points of a curve, true and false positives are interpolated linearly, and the area under this part of the
    curve is its integral (Davis and Goadrich 2006). Before the first point precision is that of the first one. The area
    is NaN for labels without true entries.
    """
    n, d = labels.shape
    stored, is_true = _stored_and_true(labels, scores, mask)
    n_known = np.full(d, n) if mask is None else n - np.bincount(mask.indices, minlength=d)
    n_true = np.bincount(labels.indices, minlength=d)
    # Zeros are one entry of each label, with the numbers of true and of false entries among them.
    own = np.arange(d)
    zero_true = n_true - np.bincount(stored.indices[is_true], minlength=d)
    zero_false = n_known - n_true - np.bincount(stored.indices[~is_true], minlength=d)
    label = np.concatenate([stored.indices, own])
    score = np.concatenate([stored.data, np.zeros(d, dtype=stored.data.dtype)])
    right = np.concatenate([is_true.astype(np.int64), zero_true])
    wrong = np.concatenate([(~is_true).astype(np.int64), zero_false])
    if pooled:
        label, n_true = np.zeros(len(label), dtype=np.int64), n_true.sum(keepdims=True)
    order = np.lexsort((-score, label))
    label, score, right, wrong = label[order], score[order], right[order], wrong[order]
    # Entries of equal score are one point of the curve.
    starts = np.flatnonzero(np.concatenate([[True], (label[1:] != label[:-1]) | (score[1:] != score[:-1])]))
    right, wrong, label = np.add.reduceat(right, starts), np.add.reduceat(wrong, starts), label[starts]
    # Counts of the label before each point.
    first = np.searchsorted(label, label)
    right_before, wrong_before = (np.cumsum(part) - part for part in (right, wrong))
    right_before, wrong_before = right_before - right_before[first], wrong_before - wrong_before[first]
    some = right > 0
    tp, fp, more, false = (part[some].astype(np.float64) for part in (right_before, wrong_before, right, wrong))
    named, before = more + false, tp + fp
    # The integral of x / (x + y) over x from tp to tp + more, where y is linear in x, from fp to fp + false.
    area = more * more / named
    cross = (fp * more - false * tp) * more / (named * named)
    inside = before > 0
    area[inside] -= cross[inside] * np.log1p(named[inside] / before[inside])
    found = np.bincount(label[some], area, minlength=len(n_true))
    return np.divide(found, n_true, out=np.full(len(n_true), np.nan), where=n_true > 0), n_true.astype(np.float64)


def _stored_and_true(
    labels: sparse.csr_array, scores: Any, mask: sparse.csr_array | None
) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """The known scores that are not zero as CSR, and whether their entries are true."""
    stored = sparse.csr_array(scores)
    if is_sparse(scores) and (stored.data == 0).any():
        stored = stored.copy()
        stored.eliminate_zeros()
    if mask is not None:
        stored = ranks.without(stored, mask)
    return stored, ranks.are_entries_in(stored, labels)


def largest_f(labels: sparse.csr_array, scores: Any, mask: sparse.csr_array | None, thresholds: Float | None) -> float:
    """The largest F over thresholds, or over all positive scores.

    Precision is averaged over the samples with a score of at least the threshold, and recall over all samples. Samples
    without labels are left out.
    """
    n_true = np.diff(labels.indptr)
    rows = np.flatnonzero(n_true > 0)
    if not len(rows):
        return float("nan")
    labels, n_true = labels[rows], n_true[rows]
    stored, is_true = _stored_and_true(labels, scores[rows], None if mask is None else mask[rows])
    row, score = ranks.rows_of(stored), stored.data
    positive = score > 0
    row, score, is_true = row[positive], score[positive], is_true[positive]
    if not len(score):
        return 0.0
    order = np.lexsort((-score, row))
    row, score, is_true = row[order], score[order], is_true[order]
    first = np.searchsorted(row, row)
    rank = np.arange(len(row)) - first + 1
    before: NDArray[np.int64] = np.cumsum(is_true) - is_true
    hits_before: NDArray[np.int64] = before - before[first]
    hits = hits_before + is_true
    # What the precision of the sample changes by with each entry, in decreasing order of the scores of all samples.
    change = hits / rank - np.where(rank > 1, hits_before / np.maximum(rank - 1, 1), 0.0)
    order = np.argsort(-score, kind="stable")
    falling = score[order]
    if thresholds is None:
        last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        thresholds = falling[last].astype(np.float64)
    else:
        last = np.searchsorted(-falling, -thresholds, side="right") - 1
        last, thresholds = last[last >= 0], thresholds[last >= 0]
        if not len(last):
            return 0.0
    n_named = np.cumsum(rank[order] == 1)[last]
    precision = np.cumsum(change[order])[last] / n_named
    recall = np.cumsum(is_true[order] / n_true[row[order]])[last] / len(rows)
    best = thresholds[np.argmax(_f(precision, recall))]
    # Sums of many changes are rounded: precision and recall of the best threshold are computed again.
    named = score >= best
    n_predicted = np.bincount(row[named], minlength=len(rows))
    n_right = np.bincount(row[named & is_true], minlength=len(rows))
    some = n_predicted > 0
    precision = np.array(math.fsum(n_right[some] / n_predicted[some]) / np.count_nonzero(some))
    recall = np.array(math.fsum(n_right / n_true) / len(rows))
    return float(_f(precision, recall))


def _f(precision: Float, recall: Float) -> Float:
    total = precision + recall
    found: Float = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
    return found


Index = NDArray[np.int64]

# Bits of the lower part of a weight. The upper one has as many, so that sums of 2**27 parts are exact in float64.
_LOW_BITS = 26


class Weights:
    """Sample weights as whole numbers of a unit of 2**-52 of the largest one.

    Each weight is `high` * 2**26 + `low`, and sums are those of the parts, which are exact for up to 2**27 entries. Weights
    below the unit count as one unit.
    """

    def __init__(self, weights: Float | None, n: int, largest: float | None = None) -> None:
        self.n = n
        self.parts: list[Float] | None = None
        if weights is not None:
            largest = weights.max(initial=0.0) if largest is None else largest
            units = np.maximum(np.rint(np.ldexp(weights, 2 * _LOW_BITS - np.frexp(largest)[1])), 1.0)
            high = np.floor(np.ldexp(units, -_LOW_BITS))
            self.parts = [high, units - np.ldexp(high, _LOW_BITS)]

    def sums(self, groups: Index, rows: Index, n_groups: int) -> Float:
        """The parts of the sums over entries: `groups` and `rows` have the group and the sample of each entry."""
        of_parts = [None] if self.parts is None else [part[rows] for part in self.parts]
        # The counts of no entries are integers, with weights too.
        return np.stack([np.bincount(groups, part, minlength=n_groups).astype(np.float64) for part in of_parts])

    def all(self) -> Float:
        """The parts of the sum of all weights, as a column."""
        whole = [self.n] if self.parts is None else [part.sum() for part in self.parts]
        return np.array(whole, dtype=np.float64)[:, None]

    @staticmethod
    def values(sums: Float) -> Float:
        """The values of sums, rounded once."""
        if len(sums) == 1:
            return np.asarray(sums[0])
        high, low = sums
        carried = np.floor(np.ldexp(low, -_LOW_BITS))
        return np.asarray(np.ldexp(high + carried, _LOW_BITS) + (low - np.ldexp(carried, _LOW_BITS)))


@dataclass(frozen=True)
class Known:
    """The known entries of some labels, by group: a label, or all labels together."""

    n_groups: int
    weights: Weights
    # The group, the sample, the score and the truth of each entry that is listed.
    group: Index
    row: Index
    score: Float
    is_true: NDArray[np.bool_]
    # The parts of the weights of each group: of all known entries, and of those that are not listed.
    whole: Float
    rest: Float

    def of_true(self) -> Float:
        """The weight of the true entries of each group."""
        true = self.is_true
        return self.weights.values(self.weights.sums(self.group[true], self.row[true], self.n_groups))

    def of_all(self) -> Float:
        """The weight of the known entries of each group."""
        return self.weights.values(self.whole)


def known_entries(
    scores: sparse.csr_array,
    labels: sparse.csr_array,
    mask: sparse.csr_array | None,
    weights: Weights,
    *,
    together: bool,
) -> Known:
    """The known entries of matrices of the same shape in canonical form, by label or with all labels `together`."""
    d = labels.shape[1]
    whole = np.repeat(weights.all(), d, axis=1)
    if mask is not None:
        scores = ranks.without(scores, mask)
        whole = whole - weights.sums(mask.indices.astype(np.int64), ranks.rows_of(mask), d)
    rows, columns = ranks.rows_of(scores), scores.indices.astype(np.int64)
    is_true = ranks.places_in(labels, rows, columns)[1]
    there = is_true | (scores.data != 0)
    of_true, label_of_true = ranks.rows_of(labels), labels.indices.astype(np.int64)
    more = ~ranks.places_in(scores, of_true, label_of_true)[1]
    rows = np.concatenate([rows[there], of_true[more]])
    columns = np.concatenate([columns[there], label_of_true[more]])
    # Zeros have one sign.
    score = np.concatenate([scores.data[there].astype(np.float64) + 0.0, np.zeros(np.count_nonzero(more))])
    is_true = np.concatenate([is_true[there], np.ones(np.count_nonzero(more), dtype=np.bool_)])
    n_groups = 1 if together else d
    if together:
        columns, whole = np.zeros_like(columns), whole.sum(axis=1, keepdims=True)
    rest = whole - weights.sums(columns, rows, n_groups)
    return Known(n_groups, weights, columns, rows, score, is_true, whole, rest)


def graded(scores: Any, labels: sparse.csr_array, weights: Float, *, together: bool) -> Iterator[Known]:
    """The known entries of each label, or of all together, where each entry has a weight of its own, (samples, labels)."""
    scores, truth = scores.toarray() if is_sparse(scores) else scores, labels.toarray()
    if together:
        scores, truth, weights = (cells.reshape(-1, 1) for cells in (scores, truth, weights))
    # Sums of all labels have one unit.
    largest = weights.max(initial=0.0)
    for j in range(truth.shape[1]):
        there = np.flatnonzero(weights[:, j] > 0)
        own = Weights(weights[there, j], len(there), largest)
        yield known_entries(_csr(scores[there, j : j + 1]), _csr(truth[there, j : j + 1]), None, own, together=False)


def blocks(
    scores: Any, labels: sparse.csr_array, mask: sparse.csr_array | None, *, together: bool
) -> Iterator[tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array | None]]:
    """Scores, labels and the mask of blocks of labels as CSR, so that of dense scores only one block is copied."""
    n, d = labels.shape
    width = max(1, BLOCK_SCORES // max(1, n))
    if is_sparse(scores) or together or d <= width:
        yield _csr(scores), labels, mask
        return
    by_label, hidden = labels.tocsc(), None if mask is None else mask.tocsc()
    for start in range(0, d, width):
        there = slice(start, start + width)
        some = None if hidden is None else _csr(hidden[:, there])
        yield _csr(scores[:, there]), _csr(by_label[:, there]), some


def _csr(matrix: Any) -> sparse.csr_array:
    found = sparse.csr_array(matrix)
    found.sort_indices()
    return found


def counts(
    y_true: MatrixLike | None, y_pred: Matrix, y_weight: YWeight, sample_weight: object = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each label: the weight of true positives, and that of positives plus that of predicted positives."""
    labels, mask = ranks.known_labels(y_true, y_weight, y_score=y_pred, of_score="y_pred")
    predicted = predicted_labels(y_pred, labels.shape)
    if mask is not None:
        predicted = ranks.without(predicted, mask)
    rows, (n, d) = ranks.rows_of(predicted), labels.shape
    _, right = ranks.places_in(labels, rows, predicted.indices)
    weights = score_weights(sample_weight, n)

    def count(found: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(found, None if weights is None else weights[rows], minlength=d)

    of_predicted = count(predicted.indices, rows)
    return count(predicted.indices[right], rows[right]), count(labels.indices, ranks.rows_of(labels)) + of_predicted


def f1_score(
    y_true: MatrixLike,
    y_pred: Any,
    y_weight: YWeight,
    average: str,
    zero_division: object = 0.0,
    sample_weight: object = None,
) -> float:
    """The F1 score of all entries together ("micro"), or the mean of those of labels ("macro").

    Labels without true or predicted entries have the score `zero_division`, and are left out if that is NaN.
    """
    n_right, n_cells = counts(y_true, y_pred, y_weight, sample_weight)
    zero = check_zero_division(zero_division)
    if average == "micro":
        return 2.0 * n_right.sum().item() / n_cells.sum().item() if n_cells.any() else zero
    some = n_cells > 0
    found = np.full(len(n_cells), zero)
    found[some] = 2.0 * n_right[some] / n_cells[some]
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else float("nan")


def predicted_labels(y_pred: Matrix, shape: tuple[int, int]) -> sparse.csr_array:
    if ranks.is_pair(y_pred):
        listed, scores = y_pred
        ranked = ranks.listed(listed, scores, shape)
        rows, places = np.nonzero(ranked >= 0)
        return ranks.pattern(
            sparse.csr_array((np.ones(len(rows)), (rows, ranked[rows, places])), shape=shape), "y_pred"
        )
    predicted: sparse.csr_array = targets.labels(y_pred, what="y_pred", masks=False).original
    if predicted.shape != shape:
        raise ValueError(f"y_pred must have shape {shape}, that of y_true, got {predicted.shape}")
    return predicted


def check_zero_division(value: object) -> float:
    return number("zero_division", value, lambda found: found in (0, 1) or np.isnan(found), "0.0, 1.0 or np.nan")


class Ranking:
    """The known labels, the k highest-scoring labels of each sample, and which of these are true."""

    labels: sparse.csr_array
    mask: sparse.csr_array | None
    # Of shape (n_samples, k).
    ranked: NDArray[np.int64]
    hits: NDArray[np.bool_]

    def __init__(self, y_true: MatrixLike | None, y_score: object, k: Any, y_weight: YWeight) -> None:
        self.labels, self.mask = ranks.known_labels(y_true, y_weight, y_score=y_score)
        self.ranked = ranks.first(y_score, k, self.labels.shape, self.mask)
        self.hits = ranks.are_in(self.labels, self.ranked)

    @property
    def discounts(self) -> Float:
        """The gain of a true label at each rank."""
        return np.asarray(1.0 / np.log2(np.arange(2, self.hits.shape[1] + 2)))

    @property
    def ideal(self) -> Float:
        """The largest possible gain of each sample if all of its labels have the same weight."""
        sums = np.concatenate([[0.0], np.cumsum(self.discounts)])
        return np.asarray(sums[np.minimum(np.diff(self.labels.indptr), self.hits.shape[1])])

    def gains(self, propensities: object) -> tuple[Float, Float]:
        """The propensity-weighted gain at each rank, and at each rank of the best possible ranking."""
        weights = 1.0 / _check_propensities(propensities, self.labels.shape[1])
        by_weight = sparse.csr_array(
            (weights[self.labels.indices], self.labels.indices, self.labels.indptr), shape=self.labels.shape
        )
        best = ranks.padded(ranks.k_best(by_weight, self.hits.shape[1], zeros=False)[0])
        return np.where(self.hits, weights[self.ranked], 0.0), np.where(best >= 0, weights[best], 0.0)


def _check_propensities(values: Any, n_labels: int) -> Float:
    check_real(values, "propensities")
    with named("propensities"):
        values = check_array(values, ensure_2d=False, dtype=np.float64, input_name="propensities")
    if values.shape != (n_labels,):
        raise ValueError(f"propensities must have shape ({n_labels},), one value for each label, got {values.shape}")
    if values.min() <= 0 or values.max() > 1:
        raise ValueError(
            f"propensities must be greater than 0 and at most 1, got values from {values.min():g} to "
            f"{values.max():g}; for inverse propensities w pass 1 / w"
        )
    return np.asarray(values)


def mean_ratio(parts: Float, wholes: Float) -> float:
    """The mean of parts / wholes over samples with a positive whole, or NaN if there are none."""
    rows = wholes > 0
    return float((parts[rows] / wholes[rows]).mean()) if rows.any() else float("nan")


def ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else float("nan")


AVERAGES = ("macro", "micro", "weighted", "samples")


@dataclass(frozen=True)
class Measure:
    """What is measured of the known entries of a group."""

    # The value of each group, which is NaN where it is not defined, and an argument that is the least score but zero.
    of_groups: Callable[[Known, float], Float]
    # Whether scores have to be probabilities.
    of_probabilities: bool


def roc_areas(known: Known, _: float) -> Float:
    """The area under the ROC curve of each group: the share of pairs of a true and a false entry in the right order."""
    true, false, starts = _by_score(known)
    before = _running(true, starts) - 0.5 * true
    return _ratios(_sums(false * before, starts), _sums(true, starts) * _sums(false, starts))


def precisions(known: Known, _: float) -> Float:
    """The average precision of each group: the precision at each score of true entries, averaged over these."""
    true, false, starts = _by_score(known)
    above = _running(true, starts)
    all_above = above + _running(false, starts)
    precision = np.divide(above, all_above, out=np.zeros(len(above)), where=all_above > 0)
    found = _ratios(_sums(true * precision, starts), _sums(true, starts))
    return np.where(_sums(false, starts) > 0, found, np.nan)


def log_losses(known: Known, least: float) -> Float:
    """The mean log loss of each group."""
    p = np.clip(known.score, least, 1 - least)
    return _means(known, -np.log(np.where(known.is_true, p, 1 - p)), -float(np.log(1 - least)))


def squares(known: Known, _: float) -> Float:
    """The mean squared error of each group."""
    return _means(known, (known.score - known.is_true) ** 2, 0.0)


MEASURES = {
    "roc_auc": Measure(roc_areas, of_probabilities=False),
    "average_precision": Measure(precisions, of_probabilities=False),
    "log_loss": Measure(log_losses, of_probabilities=True),
    "brier": Measure(squares, of_probabilities=True),
}


def _by_score(known: Known) -> tuple[Float, Float, Any]:
    """The weight of true and of false entries of each group and score, by group and decreasing score.

    Entries of equal scores are counted together. `starts` is the first place of each group, which all have one.
    """
    n = known.n_groups
    group = np.concatenate([known.group, np.arange(n)])
    score = np.concatenate([known.score, np.zeros(n)])
    order = np.lexsort((-score, group))
    is_new = np.ones(len(order), dtype=np.bool_)
    at, to = order[:-1], order[1:]
    is_new[1:] = (group[at] != group[to]) | (score[at] != score[to])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    starts = np.searchsorted(group[order[is_new]], np.arange(n))
    n_places, own = int(is_new.sum()), place[: len(known.group)]
    true, weights = known.is_true, known.weights
    of_true = weights.sums(own[true], known.row[true], n_places)
    of_false = weights.sums(own[~true], known.row[~true], n_places)
    of_false[:, place[len(own) :]] += known.rest
    return weights.values(of_true), weights.values(of_false), starts


def _running(values: Float, starts: Any) -> Float:
    """The cumulative sums of values from the start of their group, so that those of other groups do not round them."""
    found = np.empty(len(values))
    ends = [*starts[1:].tolist(), len(values)]
    for start, end in zip(starts.tolist(), ends, strict=True):
        np.cumsum(values[start:end], out=found[start:end])
    return found


def _sums(values: Float, starts: Any) -> Float:
    return np.asarray(np.add.reduceat(values, starts))


def _ratios(parts: Float, wholes: Float) -> Float:
    return np.asarray(np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0))


def _means(known: Known, losses: Float, of_rest: float) -> Float:
    """The weighted mean of the losses of listed entries, and of the loss of those that are not."""
    weights = known.weights
    if weights.parts is not None:
        losses = losses * weights.values(np.stack([part[known.row] for part in weights.parts]))
    group = np.concatenate([known.group, np.arange(known.n_groups)])
    terms = np.concatenate([losses, weights.values(known.rest) * of_rest])
    return _ratios(_weald.exact_sums(group, terms, known.n_groups), known.of_all())


def score(
    measure: Measure, y_true: MatrixLike, y_score: Any, average: object, sample_weight: object, y_weight: YWeight
) -> tuple[Any, Any]:
    """The averaged measure and what was counted for it: labels, samples or entries.

    Without an average: the measure of each label, and the numbers of its known entries.
    """
    if average is not None and (not isinstance(average, str) or average not in AVERAGES):
        raise ValueError(f"average must be one of {list(AVERAGES)} or None, got {shown(average)}")
    targets.check_array_of_y(y_true, "y_true")
    parts = {"y_true": y_true, "y_weight": y_weight, "y_score": y_score}
    w, y_true, y_weight, y_score = masks.scored(sample_weight, checks.count_samples(y_true, "y_true"), **parts)
    labels, mask, cells = ranks.weighed_labels(y_true, y_weight, y_score=y_score)
    of_cells = None if cells is None else cells.of_cells
    scores, least = _scores(y_score, labels.shape, measure.of_probabilities)
    by_sample = average == "samples"
    if by_sample:
        labels, mask = sparse.csr_array(labels.T), None if mask is None else sparse.csr_array(mask.T)
        scores, of_cells = scores.T, None if of_cells is None else of_cells.T
    of_rows, together = None if by_sample else w, average == "micro"
    values, positives = [], []
    for known in _known_of_blocks(scores, labels, mask, of_cells, of_rows, together=together):
        values.append(measure.of_groups(known, least))
        if average == "weighted":
            positives.append(known.of_true())
    found = np.concatenate(values)
    n_known = np.full(labels.shape[1], labels.shape[0])
    if mask is not None:
        n_known -= np.bincount(mask.indices, minlength=labels.shape[1])
    if average is None:
        return found, n_known
    if average == "micro":
        return float(found[0]), int(n_known.sum())
    factors = None
    if average == "weighted":
        factors = np.concatenate(positives)
    elif by_sample and w is not None:
        factors = w
    counted = ~np.isnan(found) if factors is None else ~np.isnan(found) & (factors > 0)
    if not counted.any():
        return float("nan"), 0
    return float(np.average(found[counted], weights=None if factors is None else factors[counted])), int(counted.sum())


def _known_of_blocks(
    scores: Any,
    labels: sparse.csr_array,
    mask: sparse.csr_array | None,
    of_cells: Float | None,
    of_rows: Float | None,
    *,
    together: bool,
) -> Iterator[Known]:
    """The known entries of blocks of labels, or of all labels `together`."""
    if of_cells is not None:
        of_all = of_cells if of_rows is None else of_cells * of_rows[:, None]
        yield from graded(scores, labels, of_all, together=together)
        return
    weights = Weights(of_rows, labels.shape[0])
    for block in blocks(scores, labels, mask, together=together):
        yield known_entries(*block, weights, together=together)


def _scores(y_score: Any, shape: tuple[int, int], of_probabilities: bool) -> tuple[Any, float]:
    """Checked scores of all labels, dense or as canonical CSR, and the resolution of their dtype."""
    scores = ranks.all_scores(y_score, shape)
    values = scores.data if is_sparse(scores) else scores
    if of_probabilities and values.size:
        low, high = float(values.min()), float(values.max())
        if low < 0 or high > 1:
            raise ValueError(f"y_score must be probabilities from 0 to 1, got {low if low < 0 else high:g}")
    return scores, float(np.finfo(scores.dtype).eps)
