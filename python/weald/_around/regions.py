"""Regions of several outputs: boxes and ellipsoids around predictions, by one score for all outputs of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln

from weald._input.checks import Float, relative

# With more outputs, the matrix of an ellipsoid is not computed: its time grows with their third power.
MOST_OUTPUTS = 1000
# The root mean square of the residuals of an output, if it is not zero: float64 holds its square with all digits.
LEAST_SIZE, MOST_SIZE = 2.0**-511, 2.0**511
# Lengths of the same residual in d dimensions differ by less than this fraction times d.
_LAST_BITS = 64 * np.finfo(np.float64).eps
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


def largest(scores: Float, scale: Float) -> Float:
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
        found: NDArray[np.bool_] = self.lengths(residuals) <= radius * (1 + _LAST_BITS * len(self.covariance))
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


def means(values: Float, weights: Float) -> Float:
    """The mean of the known values of each output, whatever the order of the samples; 0 if none is known."""
    found = np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        known = ~np.isnan(values[:, j]) & (weights > 0)
        if known.any():
            w = relative(weights[known])
            found[j] = math.fsum(w * values[known, j]) / math.fsum(w)
    return found
