"""Shapley values of weights of features: those of a sum, feature by feature.

A weight times the difference of a feature from its mean over the background is the Shapley value of the feature, whichever
other features are known. The features are those that the weights belong to, as `features_` of the linear model prepares them:
where a sample is divided by its length, that is the length of the whole sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from weald import _weald
from weald._fit.base import BaseModel
from weald._input.checks import Float, Matrix
from weald._input.prepared import prepared
from weald._input.sparse import csr_of, has_nan, is_sparse


@dataclass(frozen=True)
class LinearPart:
    """The weights of a model in the unit of `decision_function`."""

    engine: _weald.LinearModel
    # (n_features, n_columns)
    weights: sparse.csc_array
    # (n_columns,)
    intercepts: Float

    @staticmethod
    def of(model: BaseModel) -> LinearPart | None:
        """The weights that are added to what trees add, or to nothing; None if there are none, or a function of them is."""
        found = model._linear_part()
        if found is None or found[1] != "scores":
            return None
        engine = found[0]
        # From log-odds to scores of the engine, and on to the result of `decision_function`.
        unit = (1.0 if engine.link == "softmax" else 0.5) * model._unit()
        weights = csr_of(engine.weights(), (engine.n_features, engine.width))
        return LinearPart(engine, sparse.csc_array(weights * unit), engine.intercepts() * unit)

    def means(self, background: Matrix) -> Float:
        """The mean of each feature over the background."""
        prepared = self.prepared(background, "background")
        found: Float = np.asarray(prepared.sum(axis=0)).ravel() / prepared.shape[0]
        return found

    def base(self, means: Float, columns: list[int]) -> Float:
        """The mean score of the background, of shape (n_columns,)."""
        found: Float = self.intercepts[columns] + self.weights[:, columns].T @ means
        return found

    def added(self, values: Any, X: Matrix, means: Float, columns: list[int]) -> Any:
        """`values`, with those of the weights added: an array (n_samples, n_features, n_columns), or a list of CSR."""
        prepared = self.prepared(X, "X")
        if not is_sparse(X):
            differences = prepared.toarray() - means
            for at, column in enumerate(columns):
                values[:, :, at] += differences * self.weights[:, [column]].toarray()[:, 0]
            return values
        found = []
        for part, column in zip(values, columns, strict=True):
            weights = sparse.csr_array(self.weights[:, [column]].T)
            at_means = sparse.csr_array(weights.multiply(means))
            everywhere = sparse.kron(np.ones((prepared.shape[0], 1)), at_means, format="csr")
            found.append(sparse.csr_array(part + sparse.csr_array(prepared.multiply(weights.toarray())) - everywhere))
        return found

    def prepared(self, X: Matrix, name: str) -> sparse.csr_array:
        """X as the weights take it."""
        if has_nan(X):
            raise ValueError(f"{name} must be finite, since a weight times a missing value is unknown, got NaN")
        features = self.engine.features
        are_scaled = features in ("normalized", "tfidf")
        found = prepared(X, self.engine.idf(), are_counts=features == "tfidf", normalize=are_scaled)
        return sparse.csr_array(found.astype(np.float64))
