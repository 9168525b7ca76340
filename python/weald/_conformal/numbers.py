"""Calibration of `ConformalRegressor`: scores of numerical outputs, and the bounds that follow from them."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from weald._conformal import ranked, regions
from weald._conformal.around import BaseConformal
from weald._conformal.regions import Ellipsoid
from weald._fit.forest import BaseForestRegressor
from weald._fit.predictions import BaseRegressor
from weald._fit.samples import Samples
from weald._fitted.around import Need, is_array
from weald._fitted.fits import Fits, Read
from weald._input import checks, targets
from weald._input.checks import Float
from weald._input.described import described, kind_of
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters import output_strategy
from weald._parameters.types import MatrixLike
from weald._ranking import outputs
from weald._ranking.pipelines import apart

Scores = Literal["absolute", "normalized", "quantile"]
Region = Literal["box", "ellipsoid"]

_SCORES = ("absolute", "normalized", "quantile")
_REGIONS = ("box", "ellipsoid")
# The share of the mean spread that is added to each spread, so that no interval is as narrow as the trees happen to agree.
# Of 0.03, 0.1, 0.3, 1 and 3, it gave the smallest boxes or nearly so in the training parts of edm, enb, jura, wq, atp1d,
# oes10 and oes97, each divided ten times.
_SHARE_OF_MEAN = 0.3
# Bounds are rounded outwards by this fraction of the largest of the numbers that they are computed from.
_LAST_BITS = 8 * np.finfo(np.float64).eps


class BaseConformalRegressor(BaseConformal):
    """What `ConformalRegressor` computes."""

    conformity_score: Scores

    scale_: Float
    covariance_: Float | None
    # What is added to the spread of each output, or None.
    _offset: Float | None

    def _validate_params(self) -> None:
        if not isinstance(self.conformity_score, str) or self.conformity_score not in _SCORES:
            raise ValueError(
                f"conformity_score must be 'absolute', 'normalized' or 'quantile', got {self.conformity_score!r}"
            )
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
        if not is_regressor(estimator):
            other = "; ConformalClassifier is for classes, and ConformalLabels for labels" * is_classifier(estimator)
            raise TypeError(f"estimator must be a regressor, got {type(final).__name__}{other}")
        self._check_conformity(final, cv)
        checks.check_is_given(y, type(self).__name__)
        rules: dict[str, Any] = {"warn_column": True, "weights": weights, "masks": True, "y_mask": y_mask}
        target = targets.numbers(y, n, type(self).__name__, **rules, keeps_sparse=True)
        targets.with_label_names(target, label_names, y_mask)
        truth = target.original if target.container is None else target.original.toarray()
        told = truth[:, 0] if target.n_outputs == 1 else truth
        if target.container is not None and isinstance(final, BaseRegressor):
            told = target.original
        if target.mask is not None:
            truth = np.where(target.mask, np.nan, truth)
        found, weights = self._unseen(fits, X, told, target, weights, cv, groups)
        self._calibrate(truth, np.moveaxis(found, 1, 0), weights)

    @property
    def _quantile_levels(self) -> list[float]:
        """The levels of the quantiles that values are compared with."""
        return [float(self.alpha) / 2, 1 - float(self.alpha) / 2]

    def _check_conformity(self, final: Any, cv: object) -> None:
        if self.conformity_score == "normalized":
            _check_has_spread(final)
        if self.conformity_score == "quantile":
            if not hasattr(final, "predict_quantiles"):
                raise TypeError(
                    "conformity_score='quantile' requires a forest of weald or a QuantileBoostingRegressor, which has "
                    f"predict_quantiles, got {type(final).__name__}"
                )
            low, high = self._quantile_levels
            levels = [low, 0.5, high]
            if hasattr(final, "_lacks") and final._lacks(levels):
                raise ValueError(
                    f"conformity_score='quantile' with alpha={self.alpha:g} requires the quantiles {levels}, but "
                    f"{type(final).__name__} has quantiles={described(final.quantiles)}"
                )
            if not getattr(final, "keep_rows", True):
                raise ValueError(
                    f"conformity_score='quantile' requires keep_rows=True, but {type(final).__name__} has keep_rows=False"
                )
            if isinstance(cv, str) and cv == "oob":
                raise ValueError(
                    "conformity_score='quantile' does not support cv='oob', since the trees that have not drawn a sample "
                    "still store its y in a leaf: cv must be an integer or a cross-validation generator"
                )

    def _reader(self) -> Read:
        return partial(_read_numbers, self.conformity_score, self._quantile_levels)

    def _read_out_of_bag(self, forest: Any, samples: Samples, config: Any) -> tuple[Float, NDArray[np.uint32]]:
        if self.conformity_score == "normalized":
            data = samples.X, samples.target.engine, samples.row_weights[0]
            center, n_trees, spread = forest._forest.oob_spread(config, *data, forest._n_threads(), samples.mask)
            return np.stack([center, spread], axis=1), n_trees
        center, n_trees = forest._oob_predict(config, samples)
        return center[:, None, :], n_trees

    def _calibrate(self, truth: Float, parts: Float, weights: Float) -> None:
        n_outputs = self.n_outputs_
        if parts.shape[2] != n_outputs:
            raise ValueError(
                f"estimator must predict {n_outputs} outputs, the number of columns of y, got {parts.shape[2]}"
            )
        self._offset = None
        if self.conformity_score == "normalized":
            known = np.where(np.isnan(truth), np.nan, parts[1])
            self._offset = _SHARE_OF_MEAN * regions.means(known, weights)
            # Where all trees always agree, residuals are compared as they are.
            self._offset[self._offset == 0] = 1.0
        lower, upper, unit = self._around(parts)
        scores = np.maximum(lower - truth, truth - upper) / unit
        residuals = (truth - parts[0]) / unit
        self.scale_ = regions.scales(scores, weights)
        self._check_sizes(self.scale_)
        columns = [(scores[:, j], weights) for j in range(n_outputs)]
        columns.append((regions.largest(scores, self.scale_), weights))
        self.covariance_ = None
        if n_outputs <= regions.MOST_OUTPUTS:
            self.covariance_, sizes = regions.covariance_of(residuals, weights)
            self._check_sizes(sizes)
            columns.append((regions.ellipsoid_of(self.covariance_).lengths(residuals), weights))
        self._ranks = ranked.ranked(columns)
        self._check_ranks()

    def _check_sizes(self, sizes: Float) -> None:
        """Raise if the squares of residuals are beyond float64, for the root mean square of each output."""
        wrong = np.flatnonzero((sizes != 0) & ~((sizes >= regions.LEAST_SIZE) & (sizes <= regions.MOST_SIZE)))
        if len(wrong):
            of_output = self._of_output(int(wrong[0])).removeprefix(" with known y")
            raise ValueError(
                f"y must have residuals from {regions.LEAST_SIZE:.2g} to {regions.MOST_SIZE:.2g} on average, or all zero, since "
                f"regions hold their squares, got {sizes[wrong[0]]:.3g}{of_output}: another unit of y has others"
            )

    def _around(self, parts: Float) -> tuple[Float, Float, Float]:
        """Where scores are zero, as lower and upper bounds, and the unit of scores."""
        one = np.ones((1, parts.shape[2]))
        if self.conformity_score == "quantile":
            return parts[1], parts[2], one
        return parts[0], parts[0], one if self._offset is None else parts[1] + self._offset

    def _prove_inner(self, need: Need, inner: BaseEstimator, final: Any, fitted: dict[str, Any]) -> None:
        is_own = isinstance(final, BaseRegressor)
        is_fitted = is_regressor(inner) and (not is_own or hasattr(final, "n_outputs_"))
        need(is_fitted, "estimator_", f"must be a fitted regressor, got {described(inner)}")
        n_outputs = fitted["n_outputs_"]
        fits = not is_own or n_outputs == final.n_outputs_
        need(fits, "n_outputs_", f"must be the number of outputs of estimator_, got {described(n_outputs)}")
        if self.conformity_score == "normalized":
            need(isinstance(final, BaseRegressor), "estimator_", f"must be a forest, got {described(final)}")

    def _prove(self, need: Need) -> None:
        d = self.n_outputs_

        def numbers(name: str, shape: tuple[int, ...], least: float) -> None:
            value = getattr(self, name)
            is_valid = is_array(value, np.float64, shape) and np.all(np.isfinite(value) & (value >= least))
            need(is_valid, name, f"must be a float64 array of shape {shape} of finite numbers, got {described(value)}")

        numbers("scale_", (d,), 0.0)
        if self.conformity_score == "normalized":
            numbers("_offset", (d,), 0.0)
            need(np.all(self._offset != 0), "_offset", "must be positive, got zero")
        else:
            need(self._offset is None, "_offset", f"must be None, got {described(self._offset)}")
        has_matrix = d <= regions.MOST_OUTPUTS
        if has_matrix:
            numbers("covariance_", (d, d), -np.inf)
            try:
                regions.ellipsoid_of(self.covariance_)  # type: ignore[arg-type]
            except np.linalg.LinAlgError:
                need(False, "covariance_", "must be positive semidefinite, got another matrix")
        else:
            need(self.covariance_ is None, "covariance_", f"must be None, got {described(self.covariance_)}")
        self._prove_ranks(need, d + 1 + has_matrix)

    def _truth(self, y: Any, y_mask: MatrixLike | None, n_samples: int) -> tuple[Float, Any]:
        names = getattr(self, "target_names_in_", None)
        known = Target("numbers", None, self.n_outputs_, [], None, names=names)
        truth, mask = known.read(y, n_samples, type(self).__name__, y_mask=y_mask)
        return (truth.toarray() if is_sparse(truth) else truth), mask

    def _parts_of(self, X: MatrixLike) -> Float:
        return np.moveaxis(self._predicted(X), 1, 0)

    def _bounds(self, parts: Float, at: Float) -> Float:
        """Intervals of the scores up to `at`, one for each output."""
        lower, upper, unit = self._around(parts)
        reach = at * unit
        # A value whose score is `at` is inside, although scores and bounds are rounded, and although predictions may have
        # other last bits in another block of samples.
        slack = np.where(
            reach != 0, _LAST_BITS * np.maximum(np.abs(reach), np.maximum(np.abs(lower), np.abs(upper))), 0.0
        )
        low, high = lower - reach - slack, upper + reach + slack
        if self.conformity_score == "quantile":
            # Quantiles that are too wide become narrower, at most down to their middle.
            middle = (lower + upper) / 2
            low, high = np.minimum(low, middle), np.maximum(high, middle)
        bounds = np.stack([low, high], axis=2)
        return bounds[:, 0] if self.n_outputs_ == 1 else bounds

    def _radius(self, alpha: float | None, region: object) -> float:
        if not isinstance(region, str) or region not in _REGIONS:
            raise ValueError(f"region must be 'box' or 'ellipsoid', got {region!r}")
        column = self.n_outputs_ + _REGIONS.index(region)
        if column >= self._ranks.n_columns:
            raise ValueError(
                f"region='ellipsoid' supports at most {regions.MOST_OUTPUTS} outputs, got {self.n_outputs_}: use 'box'"
            )
        every = " in which all outputs are known" if self.n_outputs_ > 1 else ""
        return self._ranks.quantile(column, self._level(alpha), every, self._too_few)

    def _ellipsoid(self, outputs: NDArray[np.bool_]) -> Ellipsoid:
        assert self.covariance_ is not None
        return regions.ellipsoid_of(self.covariance_[np.ix_(outputs, outputs)])


def _check_has_spread(final: BaseEstimator) -> None:
    """Raise for estimators whose trees have no spread, the standard deviation of their predictions."""
    if not isinstance(final, BaseForestRegressor):
        raise TypeError(
            "conformity_score='normalized' requires a random forest or an extra-trees forest of weald, got "
            f"{kind_of(final)}; 'absolute' takes any regressor"
        )
    if output_strategy.is_asked(final):
        raise ValueError(
            f"conformity_score='normalized' does not support a forest with {output_strategy.ASKED}, whose trees have one "
            "output each; 'absolute' does"
        )


def _read_numbers(conformity_score: Scores, quantile_levels: list[float], model: Any, X: Any) -> Float:
    """What intervals are made of, of shape (n_samples, 1 to 3, n_outputs): predictions, and their spread or quantiles."""
    n = checks.count_samples(X)
    center = outputs.checked(model, "predict", model.predict(X), n).reshape(n, -1)
    parts = [center]
    if conformity_score != "absolute":
        final, before = apart(model)
        X = X if before is None else before.transform(X)
        if conformity_score == "normalized":
            checked = final._check_predict(X)
            parts.append(final._forest.spread(checked, final._n_threads(checked)))
        else:
            found = np.asarray(final.predict_quantiles(X, quantile_levels), dtype=np.float64)
            outputs.check_values(found, outputs.called(final, "predict_quantiles"), is_proba=False)
            if found.shape not in ((*center.shape, 2), (n, 2)):
                raise ValueError(
                    f"{outputs.called(final, 'predict_quantiles')} must return an array of shape {(*center.shape, 2)}, got "
                    f"{found.shape}"
                )
            found = found.reshape(*center.shape, 2)
            parts += [found[:, :, 0], found[:, :, 1]]
    return np.stack(parts, axis=1)
