"""Compressed forests: sparse linear models over the nodes of a forest, which are small forests again."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from weald._docs.compose import documented, documented_by
from weald._docs.compression import COMPRESSION, COMPRESSION_CLASSIFIERS, COMPRESSION_REGRESSORS
from weald._docs.estimators import SHARED
from weald._fit.at_once import of_one_fit
from weald._fit.base import keep
from weald._fit.compact import CompactReport, compact_leaves
from weald._fit.compression import BaseCompressed as BaseCompressed
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.proof import check_fitted
from weald._input.checks import Matrix
from weald._parameters import label_weight as _label_weight
from weald._parameters.types import LabelWeight, MatrixLike, MultiLabel, Prediction, RandomState
from weald._ranking import best
from weald.forest import ExtraTreesClassifier, ExtraTreesRegressor
from weald.tree import DecisionTreeRegressor

__all__ = ["CompactReport", "CompressedForestClassifier", "CompressedForestRegressor", "compact_leaves"]


@documented_by(SHARED, COMPRESSION, COMPRESSION_REGRESSORS)
class CompressedForestRegressor(BaseCompressed, BaseRegressor):
    """A compressed forest for regression with one or several numerical outputs.

    Each node of each tree is an indicator of the samples that pass through it, and a sparse linear model over these
    indicators is fitted. Splits without any nonzero coefficient below them are removed. The rest is a forest again,
    with new values, which predicts the same as the linear model. It often has a tenth or a hundredth of the splits of
    the original forest and predicts better.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    A pickle or model file contains the small model only: neither the path nor the forest, and an unfitted estimator
    instead of a frozen one. The method `at` is therefore not available for a loaded model.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 7; T. Hastie et al., *Forward stagewise regression and the monotone lasso*, Electronic
    Journal of Statistics 2007; J.-M. Begon, A. Joly, P. Geurts, *Globally induced forest: a prepruning compression
    scheme*, ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import weald
    >>> X, y = make_friedman1(n_samples=500, random_state=0)
    >>> small = weald.CompressedForestRegressor(cv=3, random_state=0).fit(X[:300], y[:300])
    >>> small.compression_ratio_ > 20
    True
    >>> small.score(X[300:], y[300:]) > small.estimator_.score(X[300:], y[300:])
    True

    The same path, cut earlier:

    >>> smaller = small.at(small.l1_norm_ / 2)
    >>> smaller.n_test_nodes_ < small.n_test_nodes_
    True
    """

    _masks_y = True
    _default_estimator = ExtraTreesRegressor
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Literal["path", "grow"] = "path",
        solver: Literal["stagewise", "lasso"] = "stagewise",
        loss: Literal["squared_error"] = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Literal["cv"] | float | None = "cv",
        cv: Any = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @documented
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numerical outputs: the sum of the coefficients of the nodes that a sample passes through.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets.
        """
        return super().predict(X)


@documented_by(SHARED, COMPRESSION, COMPRESSION_CLASSIFIERS)
class CompressedForestClassifier(BaseCompressed, BaseClassifier):
    """A compressed forest for classification with classes or labels.

    It works as `CompressedForestRegressor`, with one column of scores for each label, one for two classes, and
    otherwise one for each class of each output. These columns of 0 and 1 are not scaled. A node has coefficients in all
    columns or in none, unless `step_outputs` limits them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    The coefficients of a node for all labels are kept or removed together. Without `label_weight`, frequent labels have
    the most influence on which nodes are kept. The `label_weight` of `estimator` influences which nodes exist, and the
    `label_weight` of this estimator influences which of them are kept; each can be used without the other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> small = weald.CompressedForestClassifier(cv=3, random_state=0).fit(X, y)
    >>> small.n_test_nodes_ < 200 < 20 * small.n_test_nodes_ * small.compression_ratio_
    True
    >>> small.score(X, y) > 0.9
    True

    Labels with sparse X and sparse y, and a model of at most ten splits; the two best labels of each sample:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    >>> Y = (X[:, :10] != 0).astype(int)
    >>> small = weald.CompressedForestClassifier(l1_norm=None, max_test_nodes=10, random_state=0).fit(X, Y)
    >>> small.n_test_nodes_ <= 10
    True
    >>> indices, scores = small.predict_topk(X[:3], k=2)
    >>> indices.shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "loss": [StrOptions({"squared_error", "log_loss"})],
        **_label_weight.CONSTRAINTS,
        **BaseClassifier._parameter_constraints,
    }
    _default_estimator = ExtraTreesClassifier
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: Literal["path", "grow"] = "path",
        solver: Literal["stagewise", "lasso"] = "stagewise",
        loss: Literal["squared_error", "log_loss"] = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Literal["cv"] | float | None = "cv",
        cv: Any = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        multi_label: MultiLabel = "auto",
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    @documented
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes or labels: those with a positive `decision_function`, or the class with the largest score.

        Parameters
        ----------
        {X}

        Returns
        -------
        {of_the_type_of_y}
        """
        if self._is_sparse_labels():
            return self._predict_in_blocks(X, self._build_labels)
        scores = self._scores(X)
        if self._label_format is not None:
            return self._label_format.build(scores > self._threshold)
        if self.n_outputs_ == 1:
            two = self.n_classes_ == 2
            return self.classes_.take(scores[:, 0] > self._threshold if two else scores.argmax(axis=1))
        parts = zip(self.classes_, self._split_outputs(scores), strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in parts], axis=1)

    @of_one_fit
    @documented
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities, which rank samples as `decision_function` does.

        With "squared_error" they are the scores; scores near or beyond 0 and 1 are mapped into the interval by an
        increasing function, and those of classes are divided by their sum. With "log_loss" and the score f they are
        1 / (1 + exp(-2f)), or the softmax.

        Parameters
        ----------
        {X_as_in_predict}

        Returns
        -------
        {probabilities}
        """
        checked = self._check_predict(X)
        proba = self._model.predict(checked, self._n_threads(checked))
        return proba if self.n_outputs_ == 1 or self._label_format is not None else self._split_outputs(proba)

    @of_one_fit
    @documented
    def decision_function(self, X: MatrixLike) -> Prediction:
        """Compute the scores. A label, or the second of two classes, is predicted if its score is positive.

        With "squared_error", the scores are the estimates of 0 and 1 minus one half; for two classes they are the
        probabilities minus one half.

        Parameters
        ----------
        {X_as_in_predict}

        Returns
        -------
        {decisions}
        """
        check_fitted(self)
        if self._threshold and self.n_outputs_ == 1 and self._label_format is None and self.n_classes_ == 2:
            return self.predict_proba(X)[:, 1] - self._threshold
        scores = self._scores(X) - self._threshold
        if self._label_format is not None:
            return scores
        if self.n_outputs_ == 1:
            return scores[:, 0] if self.n_classes_ == 2 else scores
        return self._split_outputs(scores)

    def _ranking(self) -> tuple[Any, int]:
        return self._model, self.n_outputs_ if self._label_format is not None else self.n_classes_

    def _at_least(self, X: Matrix, floor: float) -> Any:
        def of_block(rows: Matrix) -> Any:
            return best.at_least(self._model.predict(rows, self._n_threads()), floor)

        return best.stacked(X, self.n_outputs_, of_block)

    def _multi_label(self) -> str | bool:
        said, given = super()._multi_label(), self._given()
        if said == "auto" and given is not None:
            said = given._multi_label()
        return said

    @property
    def _threshold(self) -> float:
        """The raw score above which a label, or the second of two classes, is predicted."""
        return 0.5 if self._loss == "squared_error" else 0.0

    def _positive(self, X: Matrix) -> NDArray[np.bool_]:
        return self._scores_of(X) > self._threshold
