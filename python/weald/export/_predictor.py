"""Prediction by the description of a model, with numpy: the result of `from_json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float, Matrix, check_rows
from weald._input.schema import LABELS, Schema
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald.export._ensemble import Ensemble, EnsembleTree

# Constants of `weald::loss::link`: the distance from 0 and 1 below which shares are bent, and the largest logarithm.
BENT = 1e-3
LARGEST_LOG = 709.78
# Maximum number of scores or features of a block of samples.
_BLOCK = 1 << 20


class JsonModel:
    """A predictor that `weald.export.from_json` returns. It is not an estimator.

    Attributes
    ----------
    kind : {"numbers", "classes", "labels"}
        The kind of y. Regression targets are "numbers".
    n_features_in_ : int
        Number of features.
    n_outputs_ : int
        Number of outputs.
    classes_ : ndarray, or list of ndarray
        The classes, in the order of the columns of probabilities, or with several outputs one array for each. It only
        exists if `kind` is "classes".
    feature_names_in_ : ndarray
        Names of features, if the model has them.
    target_names_in_ : ndarray
        Names of outputs, if the model has them.
    categories_ : list
        For each feature its categories, or None if it is not categorical. It only exists if a feature is categorical.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self.kind = ensemble.kind
        self.n_features_in_ = ensemble.n_features
        self.n_outputs_ = ensemble.n_outputs
        if ensemble.classes:
            self.classes_: Any = ensemble.classes[0] if ensemble.n_outputs == 1 else ensemble.classes
        if ensemble.feature_names is not None:
            self.feature_names_in_ = np.array(ensemble.feature_names, dtype=object)
        if ensemble.column_labels is not None:
            setattr(self, LABELS, np.array(ensemble.column_labels, dtype=object))
        if ensemble.output_names is not None:
            self.target_names_in_ = np.array(ensemble.output_names, dtype=object)
        if ensemble.categories is not None:
            self.categories_ = ensemble.categories

    def __repr__(self) -> str:
        return f"<{self._ensemble.estimator} of {self._ensemble.n_trees} trees, read by weald.export.from_json>"

    def predict_scores(self, X: MatrixLike) -> Float:
        """Compute the scores, which are the sums over trees before the link function.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts. They are converted to float32. NaN is a missing value,
            entries that sparse X does not store are zero, and frames contain categories by value. The columns of a
            frame must have the names of the features, in their order.

        Returns
        -------
        float64 ndarray of shape (n_samples, n_scores)
            The scores, with one column for each regression target, label or class, except that boosting and compressed
            forests have a single column for two classes. They are exactly those of the engine.

        Raises
        ------
        ValueError
            If X has a different number of features, columns with other names or in another order, or infinite values,
            or if categories are not valid codes.
        """
        schema = Schema.of(self)
        checked = check_rows(schema.read(X))
        if checked.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, got {checked.shape[1]}")
        schema.check_codes(checked)
        model = self._ensemble
        scores = np.empty((checked.shape[0], model.n_scores))
        for rows, block in _blocks(checked, max(model.n_scores, model.n_features)):
            sums = scores[rows]
            sums[:] = model.start
            for tree in model.trees():
                _add(tree, _leaves_of(tree, block), sums)
            sums /= model.divisor
        return scores

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Predict in the same way as `predict` of the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, as in `predict_scores`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Regression targets, classes, or labels. Labels are a dense int64 array of 0 and 1, also if y was sparse.
        """
        model, scores = self._ensemble, self.predict_scores(X)
        if model.kind == "labels":
            return (scores > model.threshold).astype(np.int64)
        if model.kind == "numbers":
            numbers = linked(model, scores)
            return numbers[:, 0] if model.n_outputs == 1 else numbers
        if model.is_of_two_classes:
            return model.classes[0].take(scores[:, 0] > model.threshold)
        found = [
            classes.take(scores[:, block].argmax(axis=1))
            for classes, block in zip(model.classes, model.blocks(), strict=True)
        ]
        return found[0] if model.n_outputs == 1 else np.stack(found, axis=1)

    def predict_proba(self, X: MatrixLike) -> Float | list[Float]:
        """Predict probabilities in the same way as `predict_proba` of the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, as in `predict_scores`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            The probabilities, as a list with one array for each output if there are several outputs of classes.

        Raises
        ------
        AttributeError
            If the model is a regressor, or its loss has no probabilities.
        """
        model = self._ensemble
        if not model.has_probabilities:
            what = "y was numbers" if model.kind == "numbers" else "its loss has none"
            raise AttributeError(f"this {model.estimator} has no probabilities: {what}")
        proba = linked(model, self.predict_scores(X))
        if model.kind == "labels" or model.n_outputs == 1:
            return proba
        return [proba[:, block] for block in model.blocks()]


def _blocks(X: Matrix, width: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Iterate over blocks of samples, as slices and dense arrays."""
    X = X.tocsr() if is_sparse(X) else X
    n = max(1, _BLOCK // max(width, 1))
    for first in range(0, X.shape[0], n):
        rows = slice(first, min(first + n, X.shape[0]))
        block = X[rows]
        yield rows, block.toarray() if is_sparse(block) else np.asarray(block)


def _leaves_of(tree: EnsembleTree, X: NDArray[np.float32]) -> NDArray[np.intp]:
    """The leaf that each sample reaches."""
    at = np.zeros(len(X), dtype=np.intp)
    rows = np.flatnonzero(tree.feature[at] >= 0)
    while len(rows):
        nodes = at[rows]
        values = X[rows, tree.feature[nodes]]
        goes_left = values <= tree.threshold[nodes]
        for node in tree.categories.keys() & set(nodes.tolist()) if tree.categories else ():
            here = nodes == node
            goes_left[here] = np.isin(values[here], tree.categories[node])
        goes_left = np.where(np.isnan(values), tree.missing_left[nodes], goes_left)
        at[rows] = np.where(goes_left, tree.left[nodes], tree.right[nodes])
        rows = rows[tree.feature[at[rows]] >= 0]
    return at


def _add(tree: EnsembleTree, leaves: NDArray[np.intp], sums: Float) -> None:
    """Add the values of the leaves of samples to the sums."""
    counts = np.diff(tree.ptr)[leaves]
    rows = np.repeat(np.arange(len(leaves)), counts)
    cells = np.arange(counts.sum()) + np.repeat(tree.ptr[leaves] - (np.cumsum(counts) - counts), counts)
    if tree.factors is not None:
        sums[rows] += tree.values[cells, np.newaxis] * tree.factors
    else:
        # No pair of sample and column occurs twice, so that the assignment adds every value.
        sums[rows, tree.columns[cells] if tree.column is None else tree.column] += tree.values[cells]


def linked(model: Ensemble, scores: Float) -> Float:
    """The predictions for scores, of shape (n_samples, n_columns)."""
    if model.link == "identity":
        return scores
    if model.link == "margin":
        return scores - model.threshold
    if model.is_of_two_classes:
        second = _of_score(model.link, scores)
        # 1 - p would be inaccurate for small probabilities.
        first = 1.0 - second if model.link == "share" else _of_score(model.link, -scores)
        return np.hstack([first, second])
    if model.link != "softmax":
        found = _of_score(model.link, scores)
        for block in model.blocks():
            part = found[:, block]
            # As in the engine, probabilities that are all zero become equal.
            part[~part.any(axis=1)] = 1.0
            part /= part.sum(axis=1, keepdims=True)
        return found
    found = np.empty_like(scores)
    for block in model.blocks():
        powers = np.exp(scores[:, block] - scores[:, block].max(axis=1, keepdims=True))
        found[:, block] = powers / powers.sum(axis=1, keepdims=True)
    return found


def _of_score(link: str, scores: Float) -> Float:
    """The link function of single scores, before the values of the classes of an output are divided by their sum."""
    if link == "log":
        return np.exp(np.minimum(scores, LARGEST_LOG))
    if link == "share":
        below = BENT**2 / (BENT + np.maximum(BENT - scores, 0.0))
        above = 1.0 - BENT**2 / (BENT + np.maximum(scores - (1.0 - BENT), 0.0))
        return np.where(scores < BENT, below, np.where(scores > 1.0 - BENT, above, scores))
    e = np.exp(-2.0 * np.abs(scores))
    return np.where(scores >= 0, 1.0 / (1.0 + e), e / (1.0 + e))
