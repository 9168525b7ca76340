"""Prediction by the description of a model: the result of `from_json`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._fit.predictions import label_probabilities
from weald._input.checks import Float, Matrix, check_rows
from weald._input.schema import LABELS, Schema
from weald._parameters.types import MatrixLike
from weald._rounds import linear_start
from weald._rounds.linear_start import Added
from weald.export._ensemble import Head


class SumOfParts:
    """Trees and a linear model, whose scores are added: what boosting from a linear model predicts."""

    def __init__(self, head: Head, trees: _weald.DescribedModel, linear: _weald.LinearModel, added: Added) -> None:
        self._head, self._trees, self._linear, self._added = head, trees, linear, added

    def predict_scores(self, X: Matrix) -> Float:
        """(n_samples, n_scores): the sums."""
        start = linear_start.in_unit_of_stages(self._linear, self._linear.predict_scores(X), self._added)
        return self._trees.predict_scores(X) + start

    def predict_proba(self, X: Matrix) -> Float:
        """(n_samples, n_columns): the probabilities that they mean."""
        scores = self.predict_scores(X)
        if self._head.link != "one_against_rest":
            return self._linear.to_predictions(scores)
        proba = label_probabilities(scores)
        for block in self._head.blocks():
            part = proba[:, block]
            # In the order of the classes, as the engine adds.
            total = np.cumsum(part, axis=1)[:, -1:]
            proba[:, block] = np.where(total > 0, part / np.where(total > 0, total, 1), 1 / part.shape[1])
        return proba


class Engine(Protocol):
    """What computes the scores of checked samples, and the predictions that they mean."""

    def predict_scores(self, X: Matrix, /) -> Float: ...


class JsonModel:
    """A predictor that `weald.export.from_json` returns. It is not an estimator.

    Attributes
    ----------
    kind : {"numbers", "classes", "labels"}
        The kind of y. Regression targets are "numbers".
    n_features_in_, n_outputs_ : int
        The numbers of features and of outputs.
    classes_ : ndarray, or list of ndarray
        The classes, in the order of the columns of probabilities; for several outputs an array for each, for numbers
        and labels none.
    feature_names_in_, target_names_in_ : ndarray
        Names of features and of outputs, if the model has them.
    categories_ : list
        For each feature its categories, or None if it is not categorical. It only exists if a feature is categorical.
    """

    def __init__(self, head: Head, engine: Engine) -> None:
        self._head, self._engine = head, engine
        self.kind = head.kind
        self.n_features_in_ = head.n_features
        self.n_outputs_ = head.n_outputs
        if head.classes:
            self.classes_: Any = head.classes[0] if head.n_outputs == 1 else head.classes
        if head.feature_names is not None:
            self.feature_names_in_ = np.array(head.feature_names, dtype=object)
        if head.column_labels is not None:
            setattr(self, LABELS, np.array(head.column_labels, dtype=object))
        if head.output_names is not None:
            self.target_names_in_ = np.array(head.output_names, dtype=object)
        if head.categories is not None:
            self.categories_ = head.categories

    def __repr__(self) -> str:
        parts = f" of {self._head.n_trees} trees" if self._head.n_trees else ""
        return f"<{self._head.estimator}{parts}, read by weald.export.from_json>"

    def _checked(self, X: MatrixLike) -> Matrix:
        schema = Schema.of(self)
        checked = check_rows(schema.read(X))
        if checked.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, got {checked.shape[1]}")
        return schema.with_codes(checked)

    def _predicted(self, X: MatrixLike) -> Float:
        engine: Any = self._engine
        # Linear models have probabilities alone.
        predict = engine.predict_proba if hasattr(engine, "predict_proba") else engine.predict
        found: Float = predict(self._checked(X))
        return found

    def predict_scores(self, X: MatrixLike) -> Float:
        """Compute the scores, which are the sums over trees before the link function.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts. They are converted to float32.

        Returns
        -------
        float64 ndarray of shape (n_samples, n_scores)
            The scores, with one column for each regression target, label or class, except that boosting and compressed
            forests have a single column for two classes. They are exactly those of the engine.
        """
        return self._engine.predict_scores(self._checked(X))

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
        model = self._head
        if model.kind == "numbers":
            numbers = self._predicted(X)
            return numbers[:, 0] if model.n_outputs == 1 else numbers
        scores = self.predict_scores(X)
        if model.kind == "labels":
            return (scores > model.threshold).astype(np.int64)
        if model.is_of_two_classes:
            return model.classes[0].take(scores[:, 0] > model.threshold)
        found = [
            classes.take(scores[:, block].argmax(axis=1))
            for classes, block in zip(model.classes, model.blocks(), strict=True)
        ]
        return found[0] if model.n_outputs == 1 else np.stack(found, axis=1)

    def predict_proba(self, X: MatrixLike) -> Float | list[Float]:
        """Predict probabilities as the estimator does; models without any raise an AttributeError.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, as in `predict_scores`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            The probabilities, as a list with one array for each output if there are several outputs of classes.
        """
        model = self._head
        if not model.has_probabilities:
            what = "y was numbers" if model.kind == "numbers" else "its loss has none"
            raise AttributeError(f"this {model.estimator} has no probabilities: {what}")
        proba = self._predicted(X)
        if model.kind == "labels" or model.n_outputs == 1:
            return proba
        return [proba[:, block] for block in model.blocks()]
