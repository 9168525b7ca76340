"""Several quantiles of each output by boosting.

`QuantileBoostingRegressor`
    One boosted model of several quantiles, which do not cross.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags, get_tags

from weald import loss as losses
from weald._around.base import AroundOne, Claims, need
from weald._fit import stored_samples
from weald._fit.named_outputs import NamedOutputs
from weald._fit.predictions import known_target
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, masks, targets
from weald._input.checks import Float, shown
from weald._input.described import described, kind_of
from weald._input.frames import different, names_of
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike, Prediction
from weald._ranking.pipelines import apart
from weald._rounds import eval_sets as _eval_sets
from weald.boosting import GradientBoostingRegressor

__all__ = ["QuantileBoostingRegressor"]

# Levels that differ by less are the same one: 1 - 0.1 / 2 and 0.95 are.
_SAME = 1e-9
# Parameters of boosting with a value for each output, and the axis of the outputs.
_OF_OUTPUTS = {"output_scaling": 0, "output_weights": 0, "monotonic_cst": 1}


def _is_boosting(_: Any, inner: Any) -> None:
    final = apart(inner)[0]
    is_fitted = isinstance(final, GradientBoostingRegressor) and hasattr(final, "n_outputs_")
    need(is_fitted, "a fitted GradientBoostingRegressor", inner)


def _are_levels(_: Any, levels: Any) -> None:
    is_array = isinstance(levels, np.ndarray) and levels.dtype == np.float64 and levels.ndim == 1 and len(levels) > 0
    need(is_array, "a float64 array of levels", levels)
    inside = np.all((levels > 0) & (levels < 1)) and np.all(np.diff(levels) > 0)
    need(inside, "above 0, below 1 and in increasing order", levels)


def _is_number_of_outputs(around: Any, d: Any) -> None:
    inner: Any = apart(around.estimator_)[0]
    fits = type(d) is int and d > 0 and d * len(around.quantiles_) == inner.n_outputs_
    need(fits, "the outputs of estimator_ divided by the number of levels", d)


class QuantileBoostingRegressor(NamedOutputs, RegressorMixin, AroundOne):
    """Gradient boosting of several quantiles of each output in one model. The quantiles do not cross.

    The model has a column of scores for each output and each level, and minimizes the sum of their pinball losses. The
    predicted quantiles of a sample are then sorted. This never increases the sum of its losses over the levels, whatever y is
    (Chernozhukov, Fernández-Val and Galichon 2010).

    Parameters
    ----------
    estimator : GradientBoostingRegressor or None, default=None
        The parameters of boosting. `fit` fits a clone of it with `loss=weald.loss.Quantile(...)`. Its `loss` must be
        "squared_error", the default, or "quantile", and its `scoring` must be None; `warm_start` has no effect. Arrays that
        have a value for each output (`output_scaling`, `output_weights`, `monotonic_cst`) have one for each output of y, not
        for each level. None is a `weald.GradientBoostingRegressor` at its defaults.
    quantiles : array-like of shape (n_quantiles,), default=(0.1, 0.5, 0.9)
        The levels, above 0 and below 1, in any order, and all different.

    Attributes
    ----------
    estimator_ : GradientBoostingRegressor
        The fitted model. Its column j · n_quantiles + i is the level i of output j, before quantiles are sorted.
    quantiles_ : ndarray of shape (n_quantiles,)
        The levels in increasing order.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of the features, if X has them.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importances of the features for all quantiles together.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, or a Series with a name.

    See Also
    --------
    weald.RandomForestRegressor.predict_quantiles : Quantiles of any level from the samples in the leaves of a forest.
    weald.conformal.ConformalRegressor : Intervals with a promise, also around this estimator.

    Notes
    -----
    `output_strategy` of the estimator says how columns share trees. "auto" grows trees for each output and level, as separate
    models do, if these are at most ten, or at most 100 with 30 to 5000 samples that differ in X, and else trees on projections of
    the columns. "joint" has one tree in a stage for all of them.

    The functions of `weald.inspection` explain the columns of `estimator_`, as they are before they are sorted.

    y is converted to a dense float64 array with a column for each output and level, which takes 8 · n_samples · n_outputs ·
    n_quantiles bytes in addition to those of the fit of the estimator.

    Quantiles that are fitted to few samples miss more of later samples than their levels say, the more so the longer the
    fit. `weald.conformal.ConformalRegressor` with `conformity_score="quantile"` corrects that.

    Source: V. Chernozhukov, I. Fernández-Val and A. Galichon, *Quantile and probability curves without crossing*, Econometrica
    2010; R. Koenker and G. Bassett, *Regression quantiles*, Econometrica 1978.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 2))
    >>> y = X[:, 0] + X[:, 1] * rng.normal(size=600)
    >>> boosting = weald.GradientBoostingRegressor(n_estimators=50, min_samples_leaf=20)
    >>> model = weald.QuantileBoostingRegressor(boosting, quantiles=[0.1, 0.5, 0.9]).fit(X[:400], y[:400])
    >>> low, median, high = model.predict_quantiles(X[400:]).T
    >>> bool(0.65 < ((low <= y[400:]) & (y[400:] <= high)).mean() < 0.9)
    True
    >>> bool((low <= median).all() and (median <= high).all())
    True
    """

    FITTED: ClassVar[Claims] = {
        "estimator_": _is_boosting,
        "quantiles_": _are_levels,
        "n_outputs_": _is_number_of_outputs,
    }
    _fits_apart = False

    quantiles: ArrayLike

    quantiles_: Float

    def __init__(
        self, estimator: GradientBoostingRegressor | None = None, *, quantiles: ArrayLike = (0.1, 0.5, 0.9)
    ) -> None:
        self.estimator = estimator
        self.quantiles = quantiles

    def _given(self) -> Any:
        return GradientBoostingRegressor() if self.estimator is None else self.estimator

    def _validate_params(self) -> None:
        given = self._given()
        if isinstance(given, type):
            raise TypeError(f"estimator must be an instance, got the class {given.__name__}")
        if not isinstance(given, GradientBoostingRegressor):
            raise TypeError(f"estimator must be a GradientBoostingRegressor or None, got {kind_of(given)}")
        is_left = isinstance(given.loss, str) and given.loss in ("squared_error", "quantile")
        if not is_left and not isinstance(given.loss, losses.Quantile):
            raise ValueError(
                "estimator must have the default loss, which the loss of the quantiles replaces, got "
                f"loss={described(given.loss)}"
            )
        if given.scoring is not None:
            raise ValueError(
                "estimator must have scoring=None, since it would score the columns of all quantiles as outputs, got "
                f"scoring={described(given.scoring)}"
            )
        _checked_levels(self.quantiles)

    # --- fit ---------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        X_val: MatrixLike | None = None,
        y_val: MatrixLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        eval_sets: list[Any] | dict[str, Any] | None = None,
    ) -> Self:
        """Fit one boosted model of all quantiles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, as in `weald.GradientBoostingRegressor`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers. Those of samples of weight zero are not read. A dense copy with a column for each output and level is made.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights, as in `weald.GradientBoostingRegressor`.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown entries of y, in addition to those that are NaN if y has several columns.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        X_val, y_val : as X and y, or None, default=None
            Validation samples, for early stopping and `estimator_.validation_score_`: the mean pinball loss over all outputs
            and levels. `y_val` has the outputs of y; NaN marks unknown values of several columns.
        sample_weight_val : array-like of shape (n_samples_val,) or None, default=None
            Weights of the validation samples.
        eval_sets : list or dict of (X, y) or (X, y, sample_weight), or None, default=None
            Additional sets of samples to monitor, as in `weald.GradientBoostingRegressor`, with the outputs of y. The losses
            are in `estimator_.eval_results_`.

        Returns
        -------
        self : QuantileBoostingRegressor
            The fitted regressor.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid. The regressor is left unchanged.
        TypeError
            If `estimator` is no instance of `weald.GradientBoostingRegressor`. The regressor is left unchanged.
        """
        self._validate_params()
        with fitted_at_once(self, anew=True) as new:
            new._fit_levels(X, y, sample_weight, y_weight, label_names, (X_val, y_val, sample_weight_val), eval_sets)
        return self

    def _fit_levels(
        self,
        X: MatrixLike,
        y: Any,
        sample_weight: object,
        y_weight: MatrixLike | None,
        label_names: object,
        held_out: tuple[Any, Any, Any],
        eval_sets: object,
    ) -> None:
        name = type(self).__name__
        checks.check_is_given(y, name)
        levels = _checked_levels(self.quantiles)
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        target = targets.numbers(y, n, name, warn_column=True, weights=weights, masks=True, y_weight=y_weight)
        targets.with_label_names(target, label_names)
        k, d = len(levels), target.n_outputs
        told: dict[str, Any] = {}
        if weights is not None:
            told["sample_weight"] = weights
        if target.mask is not None:
            told["y_weight"] = np.repeat(~masks.dense(target.mask), k, axis=1)
        X_val, y_val, weights_val = held_out
        told |= {"X_val": X_val, "y_val": y_val, "sample_weight_val": weights_val}
        # Where one of the two is missing, the fit of the estimator says so.
        if X_val is not None and y_val is not None:
            told["y_val"] = self._repeated(target, (X_val, y_val, weights_val), k, "y_val", "sample_weight_val")
        if eval_sets is not None:
            told["eval_sets"] = self._repeated_sets(target, eval_sets, k)
        model = clone(self._given())
        model.set_params(loss=losses.Quantile(np.tile(levels, d)), warm_start=False, **_of_columns(model, d, k))
        values = np.repeat(target.original, k, axis=1)
        self.estimator_ = model.fit(X, values[:, 0] if values.shape[1] == 1 else values, **told)
        self.quantiles_, self.n_outputs_ = levels, d
        if target.names is not None:
            self.target_names_in_ = target.names

    def _repeated(self, target: Target, given: Any, k: int, what: str, of_weights: str) -> Float:
        """The y of other samples with each column k times, and NaN in place of unknown values."""
        n = checks.count_samples(given[0])
        weights = None
        if len(given) == 3:
            with checks.renamed(sample_weight=of_weights):
                weights = checks.check_weights(given[2], n)
        y = given[1]
        if (where := different(names_of(y, what), target.names)) is not None:
            raise ValueError(f"{what} must have {where}: outputs must be those of the fit, in the same order")
        rules: dict[str, Any] = {"warn_column": False, "weights": weights, "masks": True, "each_output": False}
        found: Float = targets.numbers(y, n, type(self).__name__, what=what, **rules).original
        if found.shape[1] != target.n_outputs:
            raise ValueError(f"{what} must have {target.n_outputs} outputs, as in the fit, got {found.shape[1]}")
        wide = np.repeat(found, k, axis=1)
        return wide[:, 0] if wide.shape[1] == 1 else wide

    def _repeated_sets(self, target: Target, eval_sets: object, k: int) -> dict[str, tuple[Any, ...]]:
        found = {}
        for name, what, given in _eval_sets.named(eval_sets):
            try:
                found[name] = (given[0], self._repeated(target, given, k, "its y", "its sample_weight"), *given[2:])
            except (TypeError, ValueError) as error:
                raise type(error)(f"{what}: {error}") from error
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        # The score is no R², so that it is never positive.
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = get_tags(self._given()).non_deterministic
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    def _sorted(self, X: MatrixLike) -> Float:
        """The quantiles in increasing order, of shape (n_samples, n_outputs, n_quantiles)."""
        check_fitted(self)
        found = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        return np.sort(found.reshape(len(found), self.n_outputs_, len(self.quantiles_)), axis=2)

    def _positions(self, q: Float) -> NDArray[np.intp]:
        """Where these levels are in `quantiles_`."""
        distances = np.abs(q[:, np.newaxis] - self.quantiles_)
        missing = q[distances.min(axis=1) > _SAME]
        if len(missing):
            raise ValueError(f"q must be among the fitted quantiles {self.quantiles_.tolist()}, got {missing[0]:g}")
        found: NDArray[np.intp] = distances.argmin(axis=1)
        return found

    def _lacks(self, levels: list[float]) -> bool:
        """Whether the parameter `quantiles` lacks one of these levels."""
        own = _checked_levels(self.quantiles)
        return bool((np.abs(np.array(levels)[:, np.newaxis] - own).min(axis=1) > _SAME).any())

    @of_one_fit
    def predict_quantiles(self, X: MatrixLike, q: ArrayLike | None = None) -> Float:
        """Predict quantiles of each output, which do not cross.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        q : float, array-like of shape (n_quantiles,) or None, default=None
            Levels among `quantiles_`, from which they may differ by 1e-9. None: all of them, in increasing order.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            The quantiles in the order of `q`, without the axis of outputs if there is one output, and without the axis of
            quantiles if `q` is a number, as of `weald.RandomForestRegressor`.

        Raises
        ------
        ValueError
            If `q` is invalid, or if one of the levels was not fitted.
        """
        check_fitted(self)
        if q is None:
            found = self._sorted(X)
        else:
            levels = stored_samples.check_quantiles(q)
            where = self._positions(np.atleast_1d(levels))
            found = self._sorted(X)[:, :, where]
            found = found[:, :, 0] if levels.ndim == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the median of each output.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
            The quantiles of the level 0.5.

        Raises
        ------
        ValueError
            If 0.5 is not among `quantiles_`.
        """
        check_fitted(self)
        if np.abs(self.quantiles_ - 0.5).min() > _SAME:
            raise ValueError(
                f"predict returns medians, but quantiles are {self.quantiles_.tolist()}: fit 0.5 too, or call "
                "predict_quantiles"
            )
        return self.predict_quantiles(X, 0.5)

    @of_one_fit
    def score(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
    ) -> float:
        """Return the negative mean pinball loss of all quantiles, not R² as other regressors do: larger values are better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The mean over the outputs and levels of the weighted mean of q · max(y − f, 0) + (1 − q) · max(f − y, 0) over the
            samples with a known value, times −1. Outputs without a known value do not count. It is in the unit of y, so that
            outputs of large values count more.
        """
        check_fitted(self)
        found = self._sorted(X)
        n, d, k = found.shape
        weights = checks.score_weights(sample_weight, n)
        given: Any = y
        given = given.toarray() if is_sparse(given) else given
        truth, told = known_target(self).read(given, n, type(self).__name__, y_weight=y_weight)
        masks.check_ungraded(told, "the pinball loss")
        mask = None if told is None else told.mask
        known = np.ones((n, d), dtype=np.bool_) if mask is None else ~masks.dense(mask)
        # Quantiles stand in the place of unknown values.
        truth = np.where(known, truth, found[:, :, 0])
        loss = losses.Quantile(np.tile(self.quantiles_, d))
        of_cells = loss.loss(np.repeat(truth, k, axis=1), found.reshape(n, d * k)).reshape(n, d, k).mean(axis=2)
        shares = known * (np.ones(n) if weights is None else weights)[:, np.newaxis]
        totals = shares.sum(axis=0)
        if not totals.any():
            raise ValueError("y must have a known value in a sample of positive weight, got none")
        there = totals > 0
        score = -float(((shares * of_cells).sum(axis=0)[there] / totals[there]).mean())
        return score if mask is None else masks.Score(score, int((shares > 0).sum()))

    def _known_target(self) -> Target:
        return known_target(self)


def _checked_levels(quantiles: object) -> Float:
    """The levels in increasing order."""
    accepted = "quantiles must be a list of different numbers above 0 and below 1"
    with checks.named("quantiles"):
        given = np.asarray(quantiles)
    are_numbers = given.dtype.kind in "iuf" and given.ndim == 1 and len(given) > 0
    if not are_numbers or not ((given > 0) & (given < 1)).all():
        raise ValueError(f"{accepted}, got {shown(quantiles)}")
    levels = np.sort(given.astype(np.float64))
    if (same := np.diff(levels) <= _SAME).any():
        raise ValueError(f"{accepted}, got {levels[1:][same][0]:g} twice")
    return levels


def _of_columns(model: GradientBoostingRegressor, d: int, k: int) -> dict[str, Any]:
    """The parameters with values for d outputs, with k values in place of each one."""
    found = {}
    for name, axis in _OF_OUTPUTS.items():
        given = getattr(model, name)
        if given is None or isinstance(given, str | dict) or np.ndim(given) != axis + 1:
            continue
        values = np.asarray(given)
        if values.shape[axis] != d:
            raise ValueError(
                f"{name} of the estimator must have {d} {'columns' if axis else 'values'}, one for each output, got "
                f"{values.shape[axis]}"
            )
        found[name] = np.repeat(values, k, axis=axis)
    return found
