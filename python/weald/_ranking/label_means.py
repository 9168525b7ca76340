"""Areas under curves, and losses, of the scores of labels, and their means over labels, samples or all entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from weald import _weald
from weald._input import checks
from weald._input.checks import Float, shown
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import known_entries, ranks
from weald._ranking.known_entries import Known, Weights

AVERAGES = ("macro", "micro", "weighted", "samples")


@dataclass(frozen=True)
class Measure:
    """What is measured of the known entries of a group."""

    # The value of each group, which is NaN where it is not defined, and an argument that is the least score but zero.
    of_groups: Callable[[Known, float], Float]
    # Whether scores have to be probabilities.
    of_probabilities: bool


def areas(known: Known, _: float) -> Float:
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
    "roc_auc": Measure(areas, of_probabilities=False),
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
    measure: Measure,
    y_true: MatrixLike,
    y_score: Any,
    average: object,
    sample_weight: object,
    y_weight: MatrixLike | None,
) -> tuple[Any, Any]:
    """The averaged measure and what was counted for it: labels, samples or entries.

    Without an average: the measure of each label, and the numbers of its known entries.
    """
    if average is not None and (not isinstance(average, str) or average not in AVERAGES):
        raise ValueError(f"average must be one of {list(AVERAGES)} or None, got {shown(average)}")
    labels, mask, cells = ranks.weighed_labels(y_true, y_weight, y_score=y_score)
    of_cells = None if cells is None else cells.of_cells
    scores, least = _scores(y_score, labels.shape, measure.of_probabilities)
    w = checks.score_weights(sample_weight, labels.shape[0])
    if (there := checks.rows_there(w)) is not None and w is not None:
        labels, mask, w = labels[there], None if mask is None else mask[there], w[there]
        scores, of_cells = scores[there], None if of_cells is None else of_cells[there]
    by_sample = average == "samples"
    if by_sample:
        labels, mask = sparse.csr_array(labels.T), None if mask is None else sparse.csr_array(mask.T)
        scores, of_cells = scores.T, None if of_cells is None else of_cells.T
    of_rows, together = None if by_sample else w, average == "micro"
    values, positives = [], []
    for known in _known(scores, labels, mask, of_cells, of_rows, together=together):
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


def _known(
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
        yield from known_entries.graded(scores, labels, of_all, together=together)
        return
    weights = Weights(of_rows, labels.shape[0])
    for block in known_entries.blocks(scores, labels, mask, together=together):
        yield known_entries.known(*block, weights, together=together)


def _scores(y_score: Any, shape: tuple[int, int], of_probabilities: bool) -> tuple[Any, float]:
    """Checked scores of all labels, dense or as canonical CSR, and the resolution of their dtype."""
    scores = ranks.all_scores(y_score, shape)
    values = scores.data if is_sparse(scores) else scores
    if of_probabilities and values.size:
        low, high = float(values.min()), float(values.max())
        if low < 0 or high > 1:
            raise ValueError(f"y_score must be probabilities from 0 to 1, got {low if low < 0 else high:g}")
    return scores, float(np.finfo(scores.dtype).eps)
