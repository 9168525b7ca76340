"""What calibration samples promise: scores of classes, ranked scores, regions, thresholds of labels; and measures of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.special import bdtr, gammaln
from sklearn.base import BaseEstimator

from weald._input import checks, masks, registry, targets
from weald._input.checks import Float, number, relative
from weald._input.messages import described
from weald._input.targets import Target
from weald._parameters.types import Estimator, MatrixLike, SampleWeight, YWeight
from weald._ranking.outputs import check_names_of_outputs
from weald._ranking.ranks import are_entries_in

CLASS_METHODS = ("aps", "lac")

# Probabilities of the same sample that other libraries compute with other samples differ by less than this fraction.
_SLACK_OF_CLASSES = 1e-12
# The score of classes of probability 0 with APS.
_OF_NONE = 2.0

# Constants of the mixing function of splitmix64 (Steele, Lea and Flood 2014).
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    found: NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return found


def uniform(proba: Float, seed: int) -> Float:
    """A number from 0 to 1 for each sample, which depends on its probabilities and on the seed alone.

    It has the same value in any order of samples and in any block of them.
    """
    bits = np.ascontiguousarray(proba + 0.0).view(np.uint64)  # no negative zeros
    found = np.full(len(proba), np.uint64(seed), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            found = _mixed((found ^ column) + _STEP)
    return (found >> np.uint64(11)).astype(np.float64) * 2.0**-53


def class_scores(proba: Float, method: str, seed: int | None) -> Float:
    """The score of each class, of the shape of `proba`. With a seed, APS takes a random share of the class itself.

    A class of probability 0 has a score of its own with APS, above that of the last class with another probability, which
    may be the only one: both would have the sum of all probabilities.
    """
    if method == "lac":
        return 1.0 - proba
    order = np.argsort(-proba, axis=1, kind="stable")
    ranked = np.take_along_axis(proba, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    # Of equal probabilities none is before another.
    place = np.broadcast_to(np.arange(proba.shape[1]), proba.shape)
    is_first = np.ones(proba.shape, dtype=np.bool_)
    is_first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    before = np.take_along_axis(before, first, axis=1)
    share = 1.0 if seed is None else uniform(proba, seed)[:, None]
    found = np.empty(proba.shape)
    np.put_along_axis(found, order, np.where(ranked > 0, before + share * ranked, _OF_NONE), axis=1)
    return found


def classes_inside(found: Float, most: float) -> NDArray[np.bool_]:
    """Which classes have a score up to `most`, whose last bits may be others in another block of samples."""
    return found <= most * (1 + _SLACK_OF_CLASSES)


# Products such as (n + 1)(1 − alpha) that are a whole number may be computed as slightly more.
_SLACK = 1e-12
# Up to this number of samples, messages have all its digits.
_MOST_TOLD = 1e15


def check_alpha(alpha: object) -> float:
    """Check a level: the fraction of samples that may be missed."""
    return number("alpha", alpha, lambda found: 0 < found < 1, "a number above 0 and below 1")


def too_few(alpha: float, n: float, what: str, so: str) -> ValueError:
    """The error for n calibration samples that are too few; `what` tells of which, and `so` what would follow."""
    least = min(1 / alpha - 1, sys.float_info.max) * (1 - _SLACK)
    told = f"{math.ceil(least)}" if least < _MOST_TOLD else f"{least:.3g}"
    return ValueError(
        f"alpha={alpha:g} needs at least {told} calibration samples, got {n:g} sample(s){what}: {so}. A weight of 2 counts "
        f"as two samples. With {n:g} alpha must be at least {1 / (n + 1):.4g}"
    )


def check_enough(alpha: float, n: float, what: str, so: str) -> None:
    """Raise if n calibration samples are too few for a finite quantile at this level."""
    if n < (n + 1) * (1 - alpha) * (1 - _SLACK):
        raise too_few(alpha, n, what, so)


@registry.stored(registry.PARTS, "weald.conformal")
@dataclass(frozen=True)
class Ranked:
    """Ascending scores of several columns, with sums of weights. Column j has the places from `ptr[j]` to `ptr[j + 1]`."""

    ptr: NDArray[np.int64]
    score: Float
    total: Float

    @property
    def n_columns(self) -> int:
        return len(self.ptr) - 1

    def n_samples(self, column: int) -> float:
        """The sum of the weights of a column."""
        end = self.ptr[column + 1]
        return float(self.total[end - 1]) if end > self.ptr[column] else 0.0

    def quantile(self, column: int, alpha: float, what: str, so: str) -> float:
        """The conformal quantile of a column. Raises if there are too few samples, as `too_few` does."""
        n = self.n_samples(column)
        check_enough(alpha, n, what, so)
        own = slice(self.ptr[column], self.ptr[column + 1])
        at = np.searchsorted(self.total[own], (n + 1) * (1 - alpha) * (1 - _SLACK))
        return float(self.score[own][at])


def ranked(columns: list[tuple[Float, Float]]) -> Ranked:
    """The scores and weights of each column, in order. NaN are unknown; equal scores become one."""
    parts = [_ranked_column(np.asarray(scores, dtype=np.float64), np.asarray(weights)) for scores, weights in columns]
    ptr = np.cumsum([0, *(len(scores) for scores, _ in parts)]).astype(np.int64)
    empty = np.zeros(0)
    return Ranked(ptr, *(np.concatenate([empty, *side]) for side in zip(*parts, strict=True)))


def _ranked_column(scores: Float, weights: Float) -> tuple[Float, Float]:
    known = ~np.isnan(scores) & (weights > 0)
    # Equal scores are added up in the order of their weights, which is that of no sample.
    order = np.lexsort((weights[known], scores[known]))
    scores, weights = scores[known][order], weights[known][order]
    total = np.cumsum(weights, dtype=np.float64)
    last = np.append(scores[1:] != scores[:-1], True)[: len(scores)]
    return scores[last], total[last]


def prove_ranked(found: Any, n_columns: int) -> None:
    """Raise unless scores of an untrusted source are what `ranked` makes; the message is the predicate of a sentence."""
    arrays = list(vars(found).values()) if isinstance(found, Ranked) else []
    kinds = zip(arrays, (np.int64, np.float64, np.float64), strict=False)
    if not arrays or not all(isinstance(a, np.ndarray) and a.dtype == kind and a.ndim == 1 for a, kind in kinds):
        raise ValueError(f"must be Ranked with an int64 array and two float64 arrays, got {described(found)}")
    ptr, score, total = arrays
    n = len(score)
    if len(ptr) != n_columns + 1 or len(total) != n or ptr[0] != 0 or ptr[-1] != n or (np.diff(ptr) < 0).any():
        raise ValueError("must have a score and a weight for each place, and columns in order, got others")
    for j in range(n_columns):
        own = slice(ptr[j], ptr[j + 1])
        rises = (np.diff(score[own]) > 0).all() and (np.diff(total[own]) >= 0).all()
        if not (rises and np.isfinite(score[own]).all() and np.isfinite(total[own]).all() and (total[own] > 0).all()):
            raise ValueError("must have finite scores and positive sums of weights in ascending order, got others")


# With more outputs, the matrix of an ellipsoid is not computed: its time grows with their third power.
MOST_OUTPUTS = 1000
# The root mean square of the residuals of an output, if it is not zero: float64 holds its square with all digits.
LEAST_SIZE, MOST_SIZE = 2.0**-511, 2.0**511
# Lengths of the same residual in d dimensions differ by less than this fraction times d.
_LAST_BITS_OF_LENGTHS = 64 * np.finfo(np.float64).eps
# More samples for each output than this count as so many: rounding would make the matrix indefinite.
_MOST_SAMPLES = 2.0**40


def scales(scores: Float, weights: Float) -> Float:
    """The root mean square of the known scores of each output. The order of samples does not matter, to the last bit."""
    found = np.zeros(scores.shape[1])
    for j in range(scores.shape[1]):
        known = ~np.isnan(scores[:, j]) & (weights > 0)
        w, s = relative(weights[known]), scores[known, j]
        largest = float(np.abs(s).max(initial=0.0))
        if largest > 0:
            found[j] = largest * math.sqrt(math.fsum(w * (s / largest) ** 2) / math.fsum(w))
    return found


def complete(values: Float) -> NDArray[np.bool_]:
    """The samples in which all outputs are known."""
    return np.array(~np.isnan(values).any(axis=1))


def largest_scores(scores: Float, scale: Float) -> Float:
    """The largest score of each sample in units of the scale; NaN if one is unknown.

    Outputs of scale zero, whose calibration samples all have the score zero, do not count.
    """
    there = scale > 0
    if not there.any():
        return np.where(complete(scores), 0.0, np.nan)
    found: Float = (scores[:, there] / scale[there]).max(axis=1)
    return np.where(complete(scores), found, np.nan)


@dataclass(frozen=True)
class Ellipsoid:
    """The matrix of an ellipsoid, and of the outputs that vary its factor by Cholesky."""

    covariance: Float
    there: NDArray[np.bool_]
    factor: Float

    def lengths(self, residuals: Float) -> Float:
        """Mahalanobis lengths of residuals; NaN if one is unknown, and infinite outside an output that does not vary."""
        found = np.full(len(residuals), np.nan)
        known = complete(residuals)
        parts = residuals[known]
        solved = solve_triangular(self.factor, parts[:, self.there].T, lower=True, check_finite=False)
        lengths = np.sqrt((solved**2).sum(axis=0))
        lengths[(parts[:, ~self.there] != 0).any(axis=1)] = np.inf
        found[known] = lengths
        return found

    def holds(self, residuals: Float, radius: float) -> NDArray[np.bool_]:
        """Whether residuals are inside. One whose length is the radius is, although blocks of samples are rounded apart."""
        found: NDArray[np.bool_] = self.lengths(residuals) <= radius * (
            1 + _LAST_BITS_OF_LENGTHS * len(self.covariance)
        )
        return found

    def log_volume(self, radius: float) -> float:
        """The logarithm of the volume; minus infinity if an output does not vary."""
        d = len(self.covariance)
        if not self.there.all() or radius == 0:
            return -math.inf
        half = d / 2
        unit = half * math.log(math.pi) - float(gammaln(half + 1))
        return unit + d * math.log(radius) + float(np.log(np.diagonal(self.factor)).sum())


def ellipsoid_of(covariance: Float) -> Ellipsoid:
    """The ellipsoid of a matrix. Raises a LinAlgError if the matrix is not positive semidefinite."""
    there = np.diagonal(covariance) > 0
    if covariance[~there].any():
        raise np.linalg.LinAlgError
    part = covariance[np.ix_(there, there)]
    scale = np.sqrt(np.diagonal(part))
    # The factor of the correlations: outputs may have units of any size.
    factor = scale[:, None] * cholesky(part / np.outer(scale, scale), lower=True)
    return Ellipsoid(covariance, there, factor)


def covariance_of(residuals: Float, weights: Float) -> tuple[Float, Float]:
    """The mean square of the residuals around zero, shrunk towards its diagonal, and the root mean square of each output.

    The diagonal counts as one sample for each output, so that the matrix is definite with any number of samples.
    Equal samples become one and are sorted, so that their order does not matter to the last bit.
    """
    known = complete(residuals) & (weights > 0)
    rows, at = np.unique(residuals[known], axis=0, return_inverse=True)
    w: Float = np.bincount(at.ravel(), weights[known], minlength=len(rows)).astype(np.float64)
    d, n = residuals.shape[1], math.fsum(w)
    if not n:
        return np.zeros((d, d)), np.zeros(d)
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    rows = rows / scale
    shares = relative(w)
    mean = (rows * shares[:, None]).T @ rows / math.fsum(shares)
    mean = (mean + mean.T) / 2
    n = min(n, d * _MOST_SAMPLES)
    shrunk = (n * mean + d * np.diag(np.diagonal(mean))) / (n + d)
    # Squares may leave the range of float64.
    with np.errstate(over="ignore", invalid="ignore"):
        found: Float = shrunk * scale * scale[:, None]
    return found, scale * np.sqrt(np.diagonal(mean))


def means_of_known(values: Float, weights: Float) -> Float:
    """The mean of the known values of each output, whatever the order of the samples; 0 if none is known."""
    found = np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        known = ~np.isnan(values[:, j]) & (weights > 0)
        if known.any():
            w = relative(weights[known])
            found[j] = math.fsum(w * values[known, j]) / math.fsum(w)
    return found


# Sums of the same terms in another order, and scores of the same sample among others, differ by less than this fraction.
_SLACK_OF_SUMS = 1e-12
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
    if (n + 1) * alpha * (1 + _SLACK_OF_SUMS) < 1:
        raise too_few(alpha, n, " that have a label", "all labels would be predicted")
    needed = (n + 1 - (n + 1) * alpha) - n * _SLACK_OF_SUMS
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
    tested = tested_thresholds(floor)
    n = float(weights.sum())
    chosen = np.inf
    for threshold, risk in zip(tested, false_discoveries(scores, truth, weights, tested) / n, strict=True):
        if p_value(risk, n, alpha) > delta:
            break
        chosen = float(threshold)
    return chosen


def tested_thresholds(floor: float) -> Float:
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
    whole = math.floor(min(n * (1 + _SLACK_OF_SUMS), _MOST_COUNTED))
    if whole < 1:
        return 1.0
    low = min(risk, alpha)
    divergence = (low * math.log(low / alpha) if low > 0 else 0.0) + (1 - low) * math.log((1 - low) / (1 - alpha))
    hoeffding = math.exp(-whole * divergence)
    bentkus = math.e * float(bdtr(min(whole, math.ceil(whole * risk * (1 - _SLACK_OF_SUMS))), whole, alpha))
    return min(1.0, hoeffding, bentkus)


def reached(threshold: float) -> float:
    """The least score that reaches a threshold."""
    return threshold * (1 - _SLACK_OF_SUMS)


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


_OUTPUTS = ("uniform_average", "raw_values")


@dataclass(frozen=True)
class Predicted:
    """Intervals of shape (n_samples, n_outputs, 2), or sets of each output with their classes."""

    intervals: Float | None
    sets: list[NDArray[np.bool_]]
    classes: list[NDArray[Any]]

    @classmethod
    def of(cls, predicted: Any, classes: Any) -> Predicted:
        """Checked predictions, of one or several outputs."""
        accepted = (
            "predicted must be intervals of shape (n_samples, 2) or (n_samples, n_outputs, 2), or sets of bool of shape "
            "(n_samples, n_classes) or a list of them"
        )
        parts = list(predicted) if isinstance(predicted, list | tuple) else [predicted]
        with checks.named("predicted"):
            if isinstance(predicted, list | tuple) and (not parts or np.ndim(parts[0]) < 2 or not _are_bool(parts[0])):
                parts = [np.asarray(predicted)]
            arrays = [np.asarray(part) for part in parts]
        if all(_are_bool(part) and part.ndim == 2 for part in arrays) and len({len(part) for part in arrays}) == 1:
            if classes is None:
                named = [np.arange(part.shape[1]) for part in arrays]
            else:
                with checks.named("classes"):
                    several = isinstance(classes, list) and classes and np.ndim(classes[0]) == 1
                    named = [np.atleast_1d(part) for part in (classes if several else [classes])]
            if [len(part) for part in named] != [part.shape[1] for part in arrays]:
                raise ValueError(
                    f"classes must have one name for each column of predicted, {[part.shape[1] for part in arrays]}, got "
                    f"{[len(part) for part in named]}"
                )
            return cls(None, arrays, named)
        found = arrays[0]
        is_table = len(arrays) == 1 and found.dtype.kind in "iuf" and found.ndim in (2, 3) and found.shape[-1] == 2
        if not is_table:
            raise ValueError(f"{accepted}, got {described(predicted)}")
        return cls(found.reshape(len(found), -1, 2).astype(np.float64), [], [])

    def scored(
        self, sample_weight: SampleWeight, y_true: Any = None, y_weight: YWeight = None
    ) -> tuple[Predicted, Float | None, Any, Any]:
        """The predictions, the weights, and what is true and known of samples of positive weight."""
        n = len(self.sets[0] if self.intervals is None else self.intervals)
        parts = {"y_true": y_true, "y_weight": y_weight, "intervals": self.intervals}
        parts |= {f"sets of output {j}": part for j, part in enumerate(self.sets)}
        weights, y_true, y_weight, intervals, *sets = masks.scored(sample_weight, n, **parts)
        return replace(self, intervals=intervals, sets=sets), weights, y_true, y_weight

    def inside(self, y_true: Any, y_weight: YWeight) -> tuple[NDArray[np.bool_], Any]:
        """Whether each value is inside, of shape (n_samples, n_outputs), and the mask of unknown ones."""
        if self.intervals is None:
            n, n_classes = len(self.sets[0]), [len(found) for found in self.classes]
            known = Target("classes", (None, n_classes), len(n_classes), self.classes, None)
            truth, mask = known.read_plain(y_true, n, "coverage", "coverage", y_weight, "y_true")
            return inside_sets(truth, self.sets, self.classes, mask), mask
        n, n_outputs, _ = self.intervals.shape
        target = targets.numbers(
            y_true, n, "coverage", warn_column=False, masks=True, y_weight=y_weight, each_output=False, what="y_true"
        )
        masks.check_ungraded(target.known, "coverage")
        if target.n_outputs != n_outputs:
            raise ValueError(f"y_true must have {n_outputs} outputs, as predicted has, got {target.n_outputs}")
        return inside_intervals(target.original, self.intervals), target.mask

    def sizes(self) -> Float:
        """Widths, or numbers of classes, of shape (n_samples, n_outputs)."""
        if self.intervals is None:
            return np.stack([part.sum(axis=1) for part in self.sets], axis=1).astype(np.float64)
        widths: Float = self.intervals[:, :, 1] - self.intervals[:, :, 0]
        return widths


def _are_bool(values: Any) -> bool:
    return np.asarray(values).dtype == np.bool_


def inside_intervals(truth: Float, intervals: Float) -> NDArray[np.bool_]:
    """Whether each value is inside its interval; the bounds are."""
    bounds = intervals.reshape(*truth.shape, 2)
    with np.errstate(invalid="ignore"):
        inside: NDArray[np.bool_] = (bounds[:, :, 0] <= truth) & (truth <= bounds[:, :, 1])
    return inside


def inside_sets(truth: Any, sets: list[Any], classes: list[NDArray[Any]], mask: Any) -> NDArray[np.bool_]:
    """Whether each true class is in its set; one that is not among the classes is in none."""
    inside = np.zeros(truth.shape, dtype=np.bool_)
    for j, (part, names) in enumerate(zip(sets, classes, strict=True)):
        known = np.arange(len(truth)) if mask is None else np.flatnonzero(~mask[:, j])
        column = truth[known, j]
        for at, name in enumerate(names):
            rows = known[column == name]
            inside[rows, j] = part[rows, at]
    return inside


def by_output(values: NDArray[Any], mask: Any, weights: Float | None) -> Float:
    """The mean of what is known of each output, of shape (n_samples, n_outputs): of whether values are inside, for example.

    It is NaN without known values of positive weight.
    """
    weight = np.ones(values.shape) if weights is None else np.repeat(weights[:, None], values.shape[1], axis=1)
    if mask is not None:
        weight, values = np.where(mask, 0.0, weight), np.where(mask, 0, values)
    total = weight.sum(axis=0)
    found = np.full(values.shape[1], np.nan)
    np.divide((weight * values).sum(axis=0), total, out=found, where=total > 0)
    return found


def interval_scores(truth: Float, intervals: Float, alpha: float) -> Float:
    """The interval score of each value: the width, and 2 / alpha times the distance of a value that is outside.

    Its mean is smallest for the quantiles alpha / 2 and 1 - alpha / 2 (Winkler 1972; Gneiting and Raftery 2007).
    """
    low, high = np.moveaxis(intervals.reshape(*truth.shape, 2), 2, 0)
    found: Float = (high - low) + 2 / alpha * np.maximum(np.maximum(low - truth, truth - high), 0.0)
    return found


def beyond(missed: Any, alpha: float) -> Any:
    """How much more is missed than the fraction alpha that was asked for, in units of alpha; 0 if it is less."""
    return np.maximum(missed - alpha, 0.0) / alpha


def together(inside: NDArray[np.bool_], mask: Any, weights: Float | None) -> float:
    """The fraction of samples with known values whose known values are all inside."""
    weight = np.ones(len(inside)) if weights is None else weights
    if mask is not None:
        inside, weight = inside | mask, np.where(mask.all(axis=1), 0.0, weight)
    return float(np.average(inside.all(axis=1), weights=weight)) if weight.any() else np.nan


def averaged(values: Float, multioutput: object) -> Any:
    """The mean over the outputs that have a value, or all values."""
    checks.choice("multioutput", multioutput, "uniform_average", "raw_values")
    if multioutput == "raw_values":
        return values
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def found_by(estimator: Estimator, X: MatrixLike, alpha: float | None, *, joint: bool) -> tuple[Any, Any]:
    """The intervals, regions or sets of an estimator, and the classes of sets."""
    if hasattr(estimator, "best_estimator_"):
        return found_by(estimator.best_estimator_, X, alpha, joint=joint)
    if hasattr(estimator, "steps"):
        rows = X if len(estimator.steps) == 1 else estimator[:-1].transform(X)
        return found_by(estimator.steps[-1][1], rows, alpha, joint=joint)
    if hasattr(estimator, "predict_sets"):
        return estimator.predict_sets(X, alpha), estimator.classes_
    if hasattr(estimator, "predict_interval"):
        return (estimator.predict_region if joint else estimator.predict_interval)(X, alpha), None
    raise TypeError(
        "estimator must be a ConformalRegressor or a ConformalClassifier, or a pipeline or search around one, got "
        f"{type(estimator).__name__}"
    )


@dataclass(eq=False, repr=False)
class Scorer:
    """A scorer for scikit-learn of the coverage, or the negative size, of the intervals or sets of an estimator."""

    name: str
    measure: Callable[..., Any]
    alpha: float | None
    joint: bool

    def __call__(self, estimator: BaseEstimator, X: MatrixLike, y: Any, sample_weight: object = None) -> float:
        """The score of `estimator` on samples `X` with true values `y`."""
        check_names_of_outputs(estimator, y)
        predicted, classes = found_by(estimator, X, self.alpha, joint=self.joint)
        if self.name == "size":
            return -float(self.measure(predicted, sample_weight, joint=self.joint))
        return float(self.measure(y, predicted, sample_weight, classes=classes, joint=self.joint))

    def __repr__(self) -> str:
        return f"make_{self.name}_scorer(alpha={self.alpha}, joint={self.joint})"
