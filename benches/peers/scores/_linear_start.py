"""A linear start for boosting on sparse labelled text: tf-idf, logistic regressions, margins of samples left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

# Gradient steps of a logistic regression: more steps change little, but take time.
STEPS = 40


class Words(BaseEstimator):
    """Counts as tf-idf, other features scaled to samples of unit length; words of a single sample are left out."""

    def fit(self, X: Any) -> Words:
        self.kept_ = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) > 1)
        counts = bool((X.data % 1 == 0).all() and (X.data >= 0).all())
        self.tfidf_ = TfidfTransformer(sublinear_tf=True).fit(X[:, self.kept_]) if counts else None
        return self

    def transform(self, X: Any) -> Any:
        X = X[:, self.kept_]
        return sp.csr_array(normalize(X) if self.tfidf_ is None else self.tfidf_.transform(X)).astype(np.float32)


class Linear(ClassifierMixin, BaseEstimator):
    """A logistic regression for each label, all at once: accelerated gradient steps on columns of equal lengths.

    The intercept is the log-odds of the frequency of the label, and is not fitted.
    """

    def __init__(self, C: float = 10.0, steps: int = STEPS) -> None:
        self.C = C
        self.steps = steps

    def fit(self, X: Any, y: Any) -> Linear:
        y = np.asarray(y.toarray(), dtype=np.float32)
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=0)).ravel())
        length[length == 0] = 1
        scale = (length**-0.5).astype(np.float32)
        Z = sp.csr_array(X * scale).astype(np.float32)
        ZT = sp.csr_array(Z.T)
        v, greatest = np.ones(Z.shape[0], dtype=np.float32), 0.0
        for _ in range(15):
            v = Z @ (ZT @ v)
            greatest = np.linalg.norm(v)
            v /= greatest
        penalty = (scale**2 / np.float32(self.C))[:, np.newaxis]
        step = np.float32(1 / (0.25 * 1.05 * greatest + penalty.max()))
        share = (y.sum(axis=0) + 0.5) / (len(y) + 1)
        start = np.log(share / (1 - share)).astype(np.float32)
        W = ahead = np.zeros((Z.shape[1], y.shape[1]), dtype=np.float32)
        t = 1.0
        for _ in range(self.steps):
            residual = Z @ ahead
            residual += start
            expit(residual, out=residual)
            residual -= y
            new = ZT @ residual
            new += penalty * ahead
            new *= -step
            new += ahead
            t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            ahead = new + np.float32((before - 1) / t) * (new - W)
            W = new
        self.coef_, self.intercept_ = W * scale[:, np.newaxis], start
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_ + self.intercept_, dtype=np.float64)


def halves(X: Any, y: Any, C: float) -> np.ndarray:
    """The scores of each sample by a model of the half that does not contain it."""
    half = np.random.default_rng(1).permutation(X.shape[0]) % 2
    margins = np.empty(y.shape)
    for i in (0, 1):
        margins[half == i] = Linear(C).fit(X[half != i], y[half != i]).decision_function(X[half == i])
    return margins
