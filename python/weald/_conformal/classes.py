"""Calibration of `ConformalClassifier`: scores of the classes of each output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from weald._conformal import class_scores, ranked
from weald._conformal.around import BaseConformal
from weald._fit.predictions import BaseClassifier
from weald._fitted.around import Need
from weald._fitted.fits import Fits, Read
from weald._input import checks, targets
from weald._input.checks import Float
from weald._input.described import described
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import outputs
from weald._ranking.outputs import classes_of


class BaseConformalClassifier(BaseConformal):
    """What `ConformalClassifier` computes."""

    method: str
    randomized: bool

    _seed: int

    def _validate_params(self) -> None:
        if not isinstance(self.method, str) or self.method not in class_scores.METHODS:
            raise ValueError(f"method must be 'lac' or 'aps', got {self.method!r}")
        if not isinstance(self.randomized, bool | np.bool_):
            raise ValueError(f"randomized must be True or False, got {self.randomized!r}")
        super()._validate_params()

    def _fit(
        self,
        fits: Fits,
        X: MatrixLike,
        y: Any,
        sample_weight: object,
        y_mask: MatrixLike | None,
        label_names: object,
        groups: object,
    ) -> None:
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        estimator, final, cv = self._check_estimator(n, weights)
        if not is_classifier(estimator):
            other = "; ConformalRegressor is for regressors" * is_regressor(estimator)
            raise TypeError(f"estimator must be a classifier, got {type(final).__name__}{other}")
        if not hasattr(final, "predict_proba"):
            raise TypeError(f"estimator must be a classifier with predict_proba, got {type(final).__name__}")
        checks.check_is_given(y, type(self).__name__)
        said = final._multi_label() if isinstance(final, BaseClassifier) else "auto"
        rules: dict[str, Any] = {"warn_column": True, "multi_label": said, "masks": True, "y_mask": y_mask}
        target = targets.classes(y, weights, n, type(self).__name__, **rules)
        if target.kind == "labels":
            raise ValueError(
                "y must be classes, got labels, a matrix of 0 and 1: ConformalLabels is for labels, and an estimator with "
                "multi_label=False takes them for classes"
            )
        targets.with_label_names(target, label_names, y_mask)
        self._seed = checks.draw_seed(self.random_state)
        told = target.original[:, 0] if target.n_outputs == 1 else target.original
        proba, weights = self._unseen(fits, X, told, target, weights, cv, groups)
        parts = self._by_output(proba)
        columns = []
        for j, (part, classes) in enumerate(zip(parts, classes_of(self.estimator_), strict=True)):
            known = (weights > 0) & (True if target.mask is None else ~_column(target.mask, j))
            at = outputs.places_of(target.original[known, j], classes, "y")
            scores = np.full(n, np.nan)
            scores[known] = self._scored(part[known])[np.arange(len(at)), at]
            columns.append((scores, weights))
        self._ranks = ranked.ranked(columns)
        self._check_ranks()

    def _reader(self) -> Read:
        return _read_classes

    def _aligned(self, found: Any, full: Any) -> Float:
        # A fold may lack classes.
        pairs = zip(found, classes_of(full), strict=True)
        return np.hstack([outputs.in_columns(part, known, wanted, "estimator") for (part, known), wanted in pairs])

    def _read_out_of_bag(self, forest: Any, samples: Any, config: Any) -> tuple[Float, NDArray[np.uint32]]:
        found: tuple[Float, NDArray[np.uint32]] = forest._oob_predict(config, samples)
        return found

    def _by_output(self, proba: Float) -> list[Float]:
        sizes = [len(classes) for classes in classes_of(self.estimator_)]
        if len(sizes) != self.n_outputs_ or sum(sizes) != proba.shape[1]:
            raise ValueError(f"estimator must predict {self.n_outputs_} output(s), as y has, got {len(sizes)}")
        return np.split(proba, np.cumsum(sizes)[:-1], axis=1)

    def _scored(self, proba: Float) -> Float:
        return class_scores.scores(proba, self.method, self._seed if self.randomized else None)

    def _prove_inner(self, need: Need, inner: BaseEstimator, final: Any, fitted: dict[str, Any]) -> None:
        is_own = isinstance(final, BaseClassifier)
        is_fitted = is_classifier(inner) and hasattr(final, "predict_proba") and hasattr(final, "classes_")
        need(is_fitted, "estimator_", f"must be a fitted classifier with predict_proba, got {described(inner)}")
        need(
            not is_own or final._label_format is None,
            "estimator_",
            "must be a classifier of classes, got one of labels",
        )
        n_outputs = fitted["n_outputs_"]
        fits = n_outputs == len(classes_of(inner))
        need(fits, "n_outputs_", f"must be the number of outputs of estimator_, got {described(n_outputs)}")

    def _prove(self, need: Need) -> None:
        seed = self._seed
        is_seed = type(seed) is int and 0 <= seed < 2**64
        need(is_seed, "_seed", f"must be an integer from 0 to 2**64 - 1, got {described(seed)}")
        self._prove_ranks(need, self.n_outputs_)


def _read_classes(model: Any, X: Any) -> list[tuple[Float, NDArray[Any]]]:
    """The probabilities of the classes of each output, and these classes."""
    return outputs.probabilities(model, X, checks.count_samples(X))


def _column(mask: Any, j: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = mask[:, [j]].toarray().ravel() if is_sparse(mask) else mask[:, j]
    return found
