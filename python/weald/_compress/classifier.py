"""Predictions of compressed classifiers of both kinds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._fit.compression import BaseCompressed
from weald._fit.predictions import BaseClassifier
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import compressing
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import StrOptions
from weald._parameters import weighting as _weighting
from weald._parameters.types import MatrixLike, Prediction
from weald._ranking import ranks
from weald.loss import LOSSES, Loss


class BaseCompressedClassifier(BaseCompressed, BaseClassifier):
    """What compressed forests and induced forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(compressing(classifier=True))), Loss],
        **_weighting.LABEL_WEIGHT,
        **BaseClassifier._parameter_constraints,
    }

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        return super().predict(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        checked = self._check_predict(X)
        return self._by_output(self._model.predict(checked, self._n_threads(checked)))

    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        return self._decisions(self._check_predict(X))

    def _decisions(self, X: Matrix) -> Prediction:
        if self._threshold and self.n_outputs_ == 1 and self._label_format is None and self.n_classes_ == 2:
            return self._model.predict(X, self._n_threads(X))[:, 1] - self._threshold
        scores = self._by_output(self._scores_of(X) - self._threshold)
        is_single = self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ == 2
        return scores[:, 0] if is_single else scores

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads = self._n_threads(X)
        if not as_margins:
            return self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        margins = lambda rows: ranks.by_class(self._decisions(rows), self.n_classes_)  # noqa: E731
        return ranks.ranked_blocks(X, k, self.n_classes_, marked, n_threads, margins)

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        def of_block(rows: Matrix) -> sparse.csr_array:
            return ranks.at_least(self._model.predict(rows, self._n_threads()), floor)

        return ranks.stacked(X, self.n_outputs_, of_block)

    def _multi_label(self) -> str | bool:
        said, given = super()._multi_label(), self._given()
        if said == "auto" and given is not None:
            said = given._multi_label()
        return said

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        # Scores with the identity as their link estimate 0 and 1.
        return 0.5 if LOSSES[self._loss].link == "identity" else 0.0
