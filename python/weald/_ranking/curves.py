"""Areas under precision-recall curves, and the largest F of sample-averaged precision and recall.

Scores are dense, or canonical CSR whose entries that are not stored have score zero. Entries in a pattern `mask` are left
out. Time is O(m log m) for m scores that are not zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float
from weald._input.sparse import is_sparse
from weald._ranking import ranks


def areas(labels: sparse.csr_array, scores: Any, mask: sparse.csr_array | None, pooled: bool) -> tuple[Float, Float]:
    """The area under the curve of each label, or of all entries together, and the number of true entries.

    Between two points of a curve, true and false positives are interpolated linearly, and the area under this part of the
    curve is its integral (Davis and Goadrich 2006). Before the first point precision is that of the first one. The area
    is NaN for labels without true entries.
    """
    n, d = labels.shape
    stored, is_true = _stored(labels, scores, mask)
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


def _stored(
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
    stored, is_true = _stored(labels, scores[rows], None if mask is None else mask[rows])
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
