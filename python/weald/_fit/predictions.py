"""What estimators for one kind of y or X share: predictions of regressors and of classifiers, and X that is finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import unique_labels

from weald import _weald
from weald._fit.base import BaseModel, BestLabels, NamedOutputs, has_labels
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, elementary, masks, schema, targets
from weald._input.checks import Float, Matrix, RowWeights
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import Raw, csr_of, has_nan, is_sparse, r2
from weald._input.targets import CONTAINER, Target, label_classes
from weald._parameters import weighting
from weald._parameters.types import MatrixLike, MultiLabel, Prediction, SampleWeight, YWeight, available_if
from weald._ranking import ranks


def known_target(estimator: NamedOutputs) -> Target:
    """What the y of a fitted estimator was, without its values."""
    names = getattr(estimator, "target_names_in_", None)
    if not hasattr(estimator, "classes_"):
        return Target("numbers", None, estimator.n_outputs_, [], None, names=names)
    if estimator._label_format is not None:
        return Target("labels", None, estimator.n_outputs_, [], None, estimator._label_format, names)
    classes = [estimator.classes_] if estimator.n_outputs_ == 1 else estimator.classes_
    sizes = [len(found) for found in classes]
    return Target("classes", (None, sizes), estimator.n_outputs_, classes, None, names=names)


def r2_of(estimator: NamedOutputs, scores: Any, y: Any, sample_weight: object, y_weight: Any) -> float:
    """R² of predicted numbers, an array or CSR with a column for each output, for dense or sparse y."""
    weights, y, y_weight, scores = masks.scored(sample_weight, scores.shape[0], y=y, y_weight=y_weight, scores=scores)
    n = scores.shape[0]
    if is_sparse(scores) and y_weight is None:
        return r2(checks.canonical(y, "y") if is_sparse(y) else y, lambda rows: scores[rows].toarray(), n, weights)
    if is_sparse(y):
        said = None if y_weight is None else masks.check(y_weight, y.shape, y=y)
        y, y_weight = y.toarray(), said
    scores = scores.toarray() if is_sparse(scores) else scores
    truth, known = known_target(estimator).read(y, n, type(estimator).__name__, y_weight=y_weight)
    if known is None:
        return float(r2_score(truth, scores, sample_weight=weights))
    return masks.r2(truth, scores, known, weights)


def accuracy_of(estimator: NamedOutputs, predicted: Any, y: Any, sample_weight: object, y_weight: YWeight) -> float:
    """The fraction of samples all of whose predicted classes or labels are right."""
    parts = {"y": y, "y_weight": y_weight, "predicted": predicted}
    weights, y, y_weight, predicted = masks.scored(sample_weight, predicted.shape[0], **parts)
    n = predicted.shape[0]
    known, mask = known_target(estimator).read_plain(y, n, type(estimator).__name__, "accuracy", y_weight)
    if estimator._label_format is not None:
        wrong = known != sparse.csr_array(predicted).astype(np.bool_)
    else:
        # Unknown values may be NaN.
        there = known[:, 0] if mask is None else known[~masks.dense(mask)[:, 0], 0]
        with checks.named("y"):
            # This checks that the types of the classes can be compared.
            first = estimator.classes_ if estimator.n_outputs_ == 1 else estimator.classes_[0]
            unique_labels(there, np.ravel(first))
        wrong = sparse.csr_array(known != predicted.reshape(n, -1))
    return masks.accuracy(wrong, mask, weights)


class BaseRegressor(BestLabels, RegressorMixin, BaseModel):
    """Predictions of numerical outputs."""

    def _check_y(self, y: Raw, weights: Float | None, n_samples: int, y_weight: YWeight = None) -> Target:
        rules: dict[str, Any] = {
            "warn_column": self._warn_column,
            "weights": weights,
            "masks": self._masks_y,
            "y_weight": y_weight,
        }
        name = type(self).__name__
        return self._in_columns(
            targets.numbers(y, n_samples, name, **rules, keeps_sparse=self._reads_sparse_y(y_weight))
        )

    def _set_outputs(self, target: Target) -> None:
        super()._set_outputs(target)
        self.__dict__.pop(CONTAINER, None)
        if target.container is not None and self._keeps_sparse_y:
            setattr(self, CONTAINER, target.container)

    def _known_target(self) -> Target:
        return known_target(self)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return R² of the predictions, averaged over the outputs, as scikit-learn's regressors do.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values. If some are unknown, they are left out, and the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            R², averaged over the outputs that have known values.
        """
        true: Matrix = checks.canonical(y, "y") if is_sparse(y) else y
        if self._is_sparse_numbers() and y_weight is None:
            checked = self._check_predict(X)
            weights, true, there = masks.scored(sample_weight, checked.shape[0], y=true, X=checked)
            return r2(true, lambda rows: self._forest.predict(there[rows], self._n_threads()), there.shape[0], weights)
        return r2_of(self, self._of_scores(self._scores(X)), true, sample_weight, y_weight)

    def _of_scores(self, scores: Float) -> Float:
        """Predicted numbers, a column for each output, of the scores of samples."""
        return scores

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numerical outputs.

        They are the mean over the trees of the leaves that a sample reaches, or for compressed forests the sum of the
        coefficients of the nodes that it passes through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The predictions: sparse for trees and forests that were fitted to sparse y and kept it so.
        """
        if self._is_sparse_numbers():
            build = sparse.csr_array if getattr(self, CONTAINER) == "array" else sparse.csr_matrix
            return self._predict_in_blocks(X, lambda rows: build(self._forest.predict(rows, self._n_threads(rows))))
        scores = self._scores(X)
        return scores[:, 0] if self.n_outputs_ == 1 else scores

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        parts = (self._of_scores(self._scores_of(rows)) for rows in ranks.blocks_of(X, self.n_outputs_))
        return ranks.ranked_parts(parts, k, marked, self._n_threads(X))

    def _is_sparse_numbers(self) -> bool:
        check_fitted(self)
        return hasattr(self, CONTAINER)


def logarithms_of(proba: Prediction) -> Prediction:
    """The logarithms of probabilities in their form; that of zero is minus infinity."""
    return [elementary.log(part) for part in proba] if isinstance(proba, list) else elementary.log(proba)


def label_probabilities(scores: Float) -> Float:
    """Probabilities of scores of any labels that are half their log-odds; places without a label have minus infinity."""
    return _weald.label_probabilities(scores.ravel()).reshape(scores.shape)


def best_of_scores(
    model: BaseClassifier, scores: Float, k: int, marked: Any, *, as_margins: bool
) -> tuple[NDArray[np.uint32], Float]:
    """The `k` best labels or classes by the scores of the engine, and their margins or probabilities."""
    if model._label_format is None:
        of_scores = model._decisions if as_margins else model._probabilities
        return ranks.k_best(ranks.by_class(of_scores(scores), model.n_classes_), k, marked)
    indices, found = ranks.k_best(scores, k, marked)
    return indices, model._of_ranked(found, as_margins=as_margins)


# Labels are supported, but scikit-learn's tag `multi_label` stays at its default: with it, scikit-learn checks that an
# array of probabilities is strictly between 0 and 1, and a frequency may be 0 or 1.
class BaseClassifier(BestLabels, ClassifierMixin, BaseModel):
    """Predictions of classes and labels.

    `classes_` of labels are their indices, as of `sklearn.multiclass.OneVsRestClassifier`: a label keeps its column
    whether or not both 0 and 1 occur. For one or two labels it has the shape (d, 2), because scikit-learn's scorers
    would take two indices for two classes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"multi_label": ["boolean", StrOptions({"auto"})]}

    multi_label: MultiLabel

    # Of models that rank labels by scores of the engine: probabilities, and scores of ranked ones.
    _probabilities: Callable[[Float], Prediction]
    _of_ranked: Callable[..., Float]

    def _check_y(self, y: MatrixLike | None, weights: Float | None, n_samples: int, y_weight: YWeight = None) -> Target:
        rules: dict[str, Any] = {"warn_column": self._warn_column, "multi_label": self._multi_label()}
        rules |= {"masks": self._masks_y, "y_weight": y_weight}
        return targets.classes(y, weights, n_samples, type(self).__name__, **rules)

    def _multi_label(self) -> str | bool:
        """The parameter `multi_label` as a plain bool or str."""
        return self.multi_label if isinstance(self.multi_label, str) else bool(self.multi_label)

    def _known_target(self) -> Target:
        return known_target(self)

    def _row_weights(self, target: Target, weights: Float | None) -> RowWeights:
        given = getattr(self, "class_weight", None)
        if given is None:
            return weights, None
        return weighting.row_weights(given, target, weights)

    def _set_outputs(self, target: Target) -> None:
        super()._set_outputs(target)
        self._label_format = target.label_format
        if target.kind == "labels":
            self.classes_, self.n_classes_ = label_classes(target.n_outputs), target.n_outputs
            return
        single = target.n_outputs == 1
        self.classes_ = target.classes[0] if single else target.classes
        self.n_classes_ = len(self.classes_) if single else [len(classes) for classes in target.classes]

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        if state.get("_label_format") is not None:
            # Files and pickles contain the indices of the labels, with the dtype object of `classes_`: an unpickled
            # dtype is a new object, and a model is pickled to the same bytes again only if shared objects stay shared.
            state["classes_"] = np.arange(state["n_outputs_"]).astype(state["classes_"].dtype)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        form = self.__dict__.get("_label_format")
        if form is not None:
            self.classes_ = label_classes(self.n_outputs_).astype(self.classes_.dtype)

    # The raw score above which a label, or the second of two classes with a single score, is predicted.
    _threshold: float = 0.5

    def _by_output(self, scores: Float) -> Prediction:
        """Columns of scores as an array, or as a list with the classes of each output if there are several."""
        is_one = self.n_outputs_ == 1 or self._label_format is not None
        return scores if is_one else np.split(scores, np.cumsum(self.n_classes_)[:-1], axis=1)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return the accuracy, as scikit-learn's classifiers do. For labels, all labels of a sample must be right.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values. If some are unknown, they are left out, and the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction of samples all of whose known values are predicted.
        """
        return accuracy_of(self, self.predict(X), y, sample_weight, y_weight)

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the most probable class, of equals the first, or the labels that are more probable than not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predicted classes, or labels as 0 and 1, of the dtype of y and sparse if y was.
        """
        if self._is_sparse_labels():
            return self._predict_in_blocks(X, self._build_labels)
        return self._decided(self._scores(X))

    def _decided(self, scores: Float) -> Prediction:
        """The classes or labels that raw scores predict."""
        if self._label_format is not None:
            return self._label_format.build(scores > self._threshold)
        if self.n_outputs_ == 1:
            is_single = self.n_classes_ == 2 and scores.shape[1] == 1
            return self.classes_.take(scores[:, 0] > self._threshold if is_single else scores.argmax(axis=1))
        parts = zip(self.classes_, self._by_output(scores), strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in parts], axis=1)

    def _is_sparse_labels(self) -> bool:
        check_fitted(self)
        return self._label_format is not None and self._label_format.container is not None

    def _build_labels(self, X: Matrix) -> Prediction:
        assert self._label_format is not None
        return self._label_format.build(self._positive(X))

    def _positive(self, X: Matrix) -> NDArray[np.bool_]:
        """The predicted labels of checked samples."""
        return self._scores_of(X) > self._threshold

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities.

        Trees and forests average the weighted frequencies in the leaves that a sample reaches. Linear models have the
        logistic function 1 / (1 + exp(-f)) of their scores f, or the softmax of classes, and so have compressed
        forests, with exp(-2f), for "log_loss"; for "squared_error", their scores, drawn into the interval from 0 to 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several
            outputs of classes, an array for each.
        """
        return self._by_output(self._scores(X))

    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray or list of ndarray
            In the form of `predict_proba`.
        """
        return logarithms_of(self.predict_proba(X))

    @available_if(has_labels)
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        """Compute scores: a label, or the second of two classes, is predicted if its score is positive.

        They are the log-odds of linear models, and the scores of compressed forests, for "squared_error" less one half.
        Of trees and forests they are the probabilities of labels less one half, only after a fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            A column for two classes, one for each of more in the order of `classes_`, and one for each label. For
            several outputs of classes, an array for each.
        """
        return self._decisions(self._scores(X))

    def _decisions(self, scores: Float) -> Prediction:
        """The margins of raw scores, which are a single column for two classes."""
        found = self._by_output((scores - self._threshold) * self._unit())
        is_single = self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ <= 2
        return found[:, 0] if is_single else found

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        indices, found = self._forest.predict_topk(X, k, self._n_threads(X), ranks.cells_of(marked))
        return indices, found - 0.5 if as_margins else found

    @available_if(has_labels)
    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array | sparse.csr_matrix:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix.

        Only after a fit on labels. The values are those of `predict_proba`. It takes time and memory in proportion to
        the labels in the leaves that are reached; other models compute all scores, in blocks of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        min_score : float, default=0
            Minimum probability to store, from 0 to 1. With 0, all probabilities that are not zero are stored.

        Returns
        -------
        CSR of shape (n_samples, n_labels), float64
            A sparse matrix if y was a sparse matrix of scipy, else a sparse array. Column indices are sorted.
        """
        found = self._at_least(self._check_predict(X), ranks.checked_min_score(min_score))
        assert self._label_format is not None
        as_stored: sparse.csr_array | sparse.csr_matrix = (self._label_format.container or sparse.csr_array)(found)
        return as_stored

    def _at_least(self, X: Matrix, floor: float) -> sparse.csr_array:
        """The positive probabilities of labels that are at least the floor, for checked samples."""
        arrays = self._forest.predict_at_least(X, floor, self._n_threads(X))
        return csr_of(arrays, (X.shape[0], self.n_outputs_))


# --- X without missing values and without categories ------------------------------------------------------------------


class Absent:
    """An attribute of other estimators that these do not have. Its error says what to use instead."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        name = type(instance).__name__ if owner is None else owner.__name__
        raise AttributeError(f"{name} has no {self._name}: {self._instead}")


class OfFiniteX(BaseModel):
    """Estimators for X without missing values and without categories."""

    _tests_features = False
    # Why missing values are not supported.
    _why_finite: ClassVar[str]
    _exported_by = ""

    is_categorical_ = Absent("its features are numbers, and not categories")

    def _check_X(self, X: Raw, *, reset: bool, **options: Any) -> Matrix:
        if reset and (columns := schema.by_value(X)):
            raise ValueError(
                f"{type(self).__name__} does not support text or categories, got feature {columns[0]!r} of X; "
                "use for example sklearn.preprocessing.OneHotEncoder for categories and "
                "sklearn.feature_extraction.text.CountVectorizer for texts"
            )
        return super()._check_X(X, reset=reset, **options)

    def _to_matrix(self, X: Raw, *, reset: bool, fitting: bool) -> Matrix:
        X = super()._to_matrix(X, reset=reset, fitting=fitting)
        if has_nan(X):
            raise ValueError(
                f"X contains NaN, which {type(self).__name__} does not support, since {self._why_finite}: X must be "
                "finite. Impute missing values, or use a random forest, which splits on missing values"
            )
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
