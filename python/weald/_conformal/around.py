"""The base class of `ConformalRegressor` and `ConformalClassifier`."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._conformal import ranked
from weald._conformal.ranked import Ranked
from weald._conformal.unseen import unseen
from weald._fit.named_outputs import NamedOutputs
from weald._fitted.around import Around
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import Fits, Read
from weald._input import checks, masks, warned
from weald._input.checks import Float
from weald._input.targets import Target
from weald._labels import label_scores
from weald._parameters.types import MatrixLike
from weald._ranking.pipelines import apart
from weald._rounds.progress import check_verbose


class BaseConformal(NamedOutputs, Around):
    """Base class of meta-estimators with the ranked scores of calibration samples."""

    alpha: float
    cv: Any
    random_state: Any
    verbose: int

    _ranks: Ranked

    # The class that stands in the place of None.
    _default: ClassVar[type[BaseEstimator]]
    # What follows from too few calibration samples.
    _too_few: ClassVar[str]

    def _given(self) -> BaseEstimator:
        return self._default(random_state=self.random_state) if self.estimator is None else self.estimator

    def _validate_params(self) -> None:
        checks.check_has_fit(self._given())
        checks.generator(self.random_state)  # which is checked also where nothing is drawn
        ranked.check_alpha(self.alpha)
        check_verbose(self.verbose)

    def _level(self, alpha: float | None) -> float:
        return ranked.check_alpha(self.alpha if alpha is None else alpha)

    def _fitted_names(self) -> Set[str]:
        return super()._fitted_names() | {"_ranks"}

    @property
    def _scores(self) -> dict[str, NDArray[Any]]:
        """The ranked scores as arrays, as model files hold them."""
        return self._ranks.arrays()

    def _prove_ranks(self, need: Any, n_columns: int) -> None:
        try:
            self._ranks = ranked.proven(self.__dict__.pop("_scores", None), n_columns)
        except ValueError as error:
            need(False, "_scores", str(error))

    def _fit_by(
        self,
        fits: Fits,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: object = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: object = None,
        groups: object = None,
    ) -> None:
        self._validate_params()
        with fitted_at_once(self, anew=True) as new:
            new._fit(fits, X, y, sample_weight, y_mask, label_names, groups)

    def _check_estimator(self, n_samples: int, weights: Float | None) -> tuple[BaseEstimator, Any, Any]:
        """The estimator, its last step, and the source of predictions of unseen samples."""
        estimator = self._given()
        final, cv = apart(estimator)[0], self.cv
        if hasattr(final, "_without_out_of_bag"):
            # A mean of forests has out-of-bag scores of labels alone.
            if isinstance(cv, str) and cv == "oob":
                raise ValueError(f"cv='oob' requires a forest of weald, got {type(final).__name__}; use cv=int")
            cv = 5 if cv is None else cv
        return estimator, final, label_scores.check_cv_of(cv, estimator, self.random_state, n_samples, weights)

    def _unseen(
        self,
        fits: Fits,
        X: MatrixLike,
        y: Any,
        target: Target,
        weights: Float | None,
        cv: object,
        groups: object,
    ) -> tuple[Float, Float]:
        """Predictions of samples by models that were not fitted on them, and sample weights. Sets the attributes for y.

        The weights are zero for samples without such predictions.
        """
        name, estimator = type(self).__name__, self._given()
        label_scores.check_takes_masks(estimator, target.mask, cv)
        label_scores.check_names(estimator, target.names)
        weights = masks.weights_of_known(target.mask, weights, target.names)
        weights = None if weights is None else checks.count_weights(weights)
        n = checks.count_samples(X)
        if weights is not None and warned.of_tiny_weights(weights, {f"alpha={self.alpha}": 1 / self.alpha - 1}):
            weights = checks.relative(weights)
            weights = weights * (np.count_nonzero(weights) / weights.sum())  # they are taken as relative
        ranked.check_enough(self.alpha, n if weights is None else float(weights.sum()), "", self._too_few)
        data, read = (X, y, weights, target), (self._reader(), self._aligned, self._read_out_of_bag)
        model, found, known = unseen(fits, estimator, *data, cv, groups, *read, name, self.verbose)
        self.estimator_, self.n_outputs_ = model, target.n_outputs
        if target.names is not None:
            self.target_names_in_ = target.names
        return found, np.where(known, np.ones(n) if weights is None else weights, 0.0)

    def _reader(self) -> Read:
        """What predicts X by a model, for scores. Executors send it to their workers."""
        raise NotImplementedError

    def _aligned(self, found: Any, full: Any) -> Float:
        """What the reader has found, for samples along the first axis; `full` is the fit to all samples."""
        aligned: Float = found
        return aligned

    def _predicted(self, X: MatrixLike) -> Float:
        """The predictions from which scores are computed."""
        return self._aligned(self._reader()(self.estimator_, X), self.estimator_)

    def _read_out_of_bag(self, forest: Any, samples: Any, config: Any) -> tuple[Float, NDArray[np.uint32]]:
        """The same out of bag, and the number of trees for each sample."""
        raise NotImplementedError

    def _of_output(self, j: int) -> str:
        """What an error says about the samples of an output."""
        if self.n_outputs_ == 1:
            return ""
        names = getattr(self, "target_names_in_", None)
        return f" with known y of output {j if names is None else repr(names[j])}"

    def _quantiles(self, alpha: float | None) -> list[float]:
        """The conformal quantile of each output."""
        level, outputs = self._level(alpha), range(self.n_outputs_)
        return [self._ranks.quantile(j, level, self._of_output(j), self._too_few) for j in outputs]

    def _check_ranks(self) -> None:
        """Raise if an output has too few calibration samples for the parameter `alpha`."""
        for j in range(self.n_outputs_):
            ranked.check_enough(self.alpha, self._ranks.n_samples(j), self._of_output(j), self._too_few)

    @property
    @of_one_fit
    def n_calibration_(self) -> Float:
        """The number of calibration samples of each output, or the sum of their weights."""
        if not hasattr(self, "_ranks"):
            raise AttributeError(f"{type(self).__name__} has no n_calibration_ before it is fitted")
        return np.array([self._ranks.n_samples(j) for j in range(self.n_outputs_)])
