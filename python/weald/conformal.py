"""How sure predictions are: intervals, regions and sets that hold the true value with a probability that is promised.

A model predicts calibration samples that it was not fitted to, and the errors that it makes there tell how wide an
interval, or how large a set, must be. Forests have such predictions for each training sample, by the trees that have
not drawn it. All other regressors and classifiers are calibrated by folds, or on samples that are held out:
`ConformalRegressor` for numbers, `ConformalClassifier` for classes and `ConformalLabels` for labels. `coverage` and
`size` measure what they predict. See `docs/intervals.md`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils import Tags

from weald._around import calibrated, unseen
from weald._around.base import AroundOne, Checked, Claims, Fit, is_array, need, positive
from weald._around.calibrated import Ellipsoid, Scorer
from weald._around.calibrated import Ranked as Ranked
from weald._around.labels import WithScores
from weald._fit.base import NamedOutputs, Samples, keep
from weald._fit.forest import BaseForestRegressor
from weald._fit.predictions import BaseClassifier, BaseRegressor, known_target
from weald._fitted.at_once import of_one_fit
from weald._fitted.fits import Read
from weald._fitted.proof import check_fitted
from weald._input import checks, masks, messages, targets
from weald._input.checks import Float, shown
from weald._input.messages import kind_of
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._inspect.displays import CoverageDisplay
from weald._parameters import growing
from weald._parameters.types import LabelNames, MatrixLike, Prediction, RandomState, SampleWeight, YWeight
from weald._ranking import outputs
from weald._ranking.outputs import apart, classes_of
from weald.forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "ConformalClassifier",
    "ConformalLabels",
    "ConformalRegressor",
    "CoverageDisplay",
    "coverage",
    "make_coverage_scorer",
    "make_size_scorer",
    "size",
]


Scores = Literal["absolute", "normalized", "quantile"]
Region = Literal["box", "ellipsoid"]

_SCORES = ("absolute", "normalized", "quantile")
_REGIONS = ("box", "ellipsoid")
# The share of the mean spread that is added to each spread, so that no interval is as narrow as the trees happen to agree.
# Of 0.03, 0.1, 0.3, 1 and 3, it gave the smallest boxes or nearly so in the training parts of edm, enb, jura, wq, atp1d,
# oes10 and oes97, each divided ten times.
_SHARE_OF_MEAN = 0.3
# The trees of the forest in the place of None: about a third of them predict a calibration sample, and a hundred should.
_N_TREES = 300
# Bounds are rounded outwards by this fraction of the largest of the numbers that they are computed from.
_LAST_BITS = 8 * np.finfo(np.float64).eps


class BaseConformal(NamedOutputs, AroundOne):
    """Base class of meta-estimators with the ranked scores of calibration samples."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AroundOne._parameter_constraints,
        "estimator": [None, Checked(checks.check_has_fit)],
        "alpha": [Checked(calibrated.check_alpha)],
    }
    FITTED: ClassVar[Claims] = {
        **AroundOne.FITTED,
        "_ranks": lambda around, found: calibrated.prove_ranked(found, around._n_ranked()),
    }

    alpha: float

    _ranks: Ranked

    # The forest that stands in the place of None.
    _default: ClassVar[type[BaseEstimator]]
    # What follows from too few calibration samples.
    _too_few: ClassVar[str]

    def _given(self) -> BaseEstimator:
        if self.estimator is not None:
            return self.estimator
        return self._default(n_estimators=_N_TREES, random_state=self.random_state)

    def _n_ranked(self) -> int:
        """The number of columns of ranked scores."""
        return self.n_outputs_

    def _level(self, alpha: float | None) -> float:
        return calibrated.check_alpha(self.alpha if alpha is None else alpha)

    def _seen(self, given: Fit) -> Fit:
        """The arguments of a fit with checked weights, and the source of predictions of unseen samples."""
        n = checks.count_samples(given.X)
        weights = checks.check_weights(given.sample_weight, n)
        estimator = self._given()
        final, refused = apart(estimator)[0], unseen.without_out_of_bag(estimator, 0)
        if hasattr(final, "_without_out_of_bag"):
            # A mean of forests has out-of-bag scores of labels alone.
            refused = f"a forest of weald, got {type(final).__name__}"
        cv = unseen.check_cv_of(self, n, weights, refused)
        checks.check_is_given(given.y, type(self).__name__)
        return replace(given, sample_weight=weights, cv=cv)

    def _with_target(self, given: Fit, target: Target, y: Any) -> Fit:
        """The arguments of a fit to this y."""
        targets.with_label_names(target, given.label_names, given.y_weight)
        return replace(given, y=y, y_weight=target.known, target=target)

    def _unseen(self, given: Fit) -> tuple[Float, Float]:
        """Fit the estimator. Returns predictions of samples by models that were not fitted to them, and sample weights.

        The weights are zero for samples without such predictions.
        """
        unseen.check_takes_masks(self._given(), given)
        unseen.check_names(self._given(), given.target.names)
        weights = masks.weights_of_known(given.target.known, given.sample_weight, given.target.names)
        weights = None if weights is None else checks.count_weights(weights)
        n = checks.count_samples(given.X)
        if weights is not None and messages.of_tiny_weights(weights, {f"alpha={self.alpha}": 1 / self.alpha - 1}):
            weights = checks.relative(weights)
            weights = weights * (np.count_nonzero(weights) / weights.sum())  # they are taken as relative
        calibrated.check_enough(self.alpha, n if weights is None else float(weights.sum()), "", self._too_few)
        given = replace(given, sample_weight=weights)
        self.estimator_, found, known = unseen.unseen(self, given, self._reader(), self._joined, self._read_oob(given))
        self._set_outputs(given.target)
        return found, np.where(known, np.ones(n) if weights is None else weights, 0.0)

    def _reader(self) -> Read:
        """What predicts X by a model, for scores. Executors send it to their workers."""
        raise NotImplementedError

    def _joined(self, blocks: list[Any], full: Any) -> Float:
        """What the reader has found, for samples along the first axis; `full` is the fit to all samples."""
        found: Float = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return found

    def _predicted(self, X: MatrixLike) -> Float:
        """The predictions from which scores are computed."""
        return self._joined([self._reader()(self.estimator_, X)], self.estimator_)

    def _read_oob(self, given: Fit) -> Any:
        """The fit of a forest to X, which returns the same out of bag."""
        return lambda forest, own: forest._fit_and_read(own, self._of_forest)

    def _of_forest(self, forest: Any, samples: Samples, config: Any) -> tuple[Float, NDArray[np.uint32]]:
        """Out-of-bag predictions by a fitted forest, and the number of trees for each sample."""
        found: tuple[Float, NDArray[np.uint32]] = forest._oob_predict(config, samples)
        return found

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

    def _rank(self, columns: list[tuple[Float, Float]]) -> None:
        """Set the ranked scores. Raises if an output has too few calibration samples for the parameter `alpha`."""
        self._ranks = calibrated.ranked(columns)
        for j in range(self.n_outputs_):
            calibrated.check_enough(self.alpha, self._ranks.n_samples(j), self._of_output(j), self._too_few)

    @property
    @of_one_fit
    def n_calibration_(self) -> Float:
        """The number of calibration samples of each output, or the sum of their weights."""
        self._first("n_calibration_")
        return np.array([self._ranks.n_samples(j) for j in range(self.n_outputs_)])


def _is_inside_regressor(around: Any, inner: Any) -> None:
    final = apart(inner)[0]
    is_fitted = is_regressor(inner) and (not isinstance(final, BaseRegressor) or hasattr(final, "n_outputs_"))
    need(is_fitted, "a fitted regressor", inner)
    need(around.conformity_score != "normalized" or isinstance(final, BaseRegressor), "a forest", final)


def _are_numbers(found: Any, shape: tuple[int, ...], least: float) -> None:
    is_valid = is_array(found, np.float64, shape) and np.all(np.isfinite(found) & (found >= least))
    need(is_valid, f"a float64 array of shape {shape} of finite numbers", found)


def _is_offset(around: Any, found: Any) -> None:
    if around.conformity_score != "normalized":
        return need(found is None, "None", found)
    _are_numbers(found, (around.n_outputs_,), 0.0)
    return need(np.all(found != 0), "positive", found)


def _is_covariance(around: Any, found: Any) -> None:
    d = around.n_outputs_
    if d > calibrated.MOST_OUTPUTS:
        return need(found is None, "None", found)
    _are_numbers(found, (d, d), -np.inf)
    try:
        calibrated.ellipsoid_of(found)
    except np.linalg.LinAlgError:
        need(False, "positive semidefinite", found)


class BaseConformalRegressor(BaseConformal):
    """What `ConformalRegressor` computes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConformal._parameter_constraints,
        "conformity_score": [StrOptions(set(_SCORES))],
    }
    FITTED: ClassVar[Claims] = {
        **BaseConformal.FITTED,
        "estimator_": _is_inside_regressor,
        "scale_": lambda around, found: _are_numbers(found, (around.n_outputs_,), 0.0),
        "covariance_": _is_covariance,
        "_offset": _is_offset,
    }

    conformity_score: Scores

    scale_: Float
    covariance_: Float | None
    # What is added to the spread of each output, or None.
    _offset: Float | None

    def _fit(self, given: Fit) -> None:
        given, name = self._seen(given), type(self).__name__
        estimator = self._given()
        final = apart(estimator)[0]
        if not is_regressor(estimator):
            other = "; ConformalClassifier is for classes, and ConformalLabels for labels" * is_classifier(estimator)
            raise TypeError(f"estimator must be a regressor, got {type(final).__name__}{other}")
        self._check_conformity(final, given.cv)
        rules: dict[str, Any] = {"warn_column": True, "masks": True, "keeps_sparse": True}
        n = checks.count_samples(given.X)
        target = targets.numbers(given.y, n, name, weights=given.sample_weight, y_weight=given.y_weight, **rules)
        truth = target.original if target.container is None else target.original.toarray()
        y = truth[:, 0] if target.n_outputs == 1 else truth
        if target.container is not None and isinstance(final, BaseRegressor):
            y = target.original
        if target.mask is not None:
            truth = np.where(masks.dense(target.mask), np.nan, truth)
        found, weights = self._unseen(self._with_target(given, target, y))
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
                    "conformity_score='quantile' requires a forest of weald, or boosting with loss=weald.loss.Quantile(...), "
                    f"which has predict_quantiles, got {type(final).__name__}"
                )
            low, high = self._quantile_levels
            levels = [low, 0.5, high]
            if hasattr(final, "_lacks") and final._lacks(levels):
                raise ValueError(
                    f"conformity_score='quantile' with alpha={self.alpha:g} requires the quantiles {levels}, but "
                    f"{type(final).__name__} has loss={shown(final.loss)}"
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

    def _of_forest(self, forest: Any, samples: Samples, config: Any) -> tuple[Float, NDArray[np.uint32]]:
        if self.conformity_score == "normalized":
            center, n_trees, spread = forest._forest.oob_spread(config, samples.in_engine, forest._n_threads())
            return np.stack([center, spread], axis=1), n_trees
        center, n_trees = super()._of_forest(forest, samples, config)
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
            self._offset = _SHARE_OF_MEAN * calibrated.means_of_known(known, weights)
            # Where all trees always agree, residuals are compared as they are.
            self._offset[self._offset == 0] = 1.0
        lower, upper, unit = self._around(parts)
        scores = np.maximum(lower - truth, truth - upper) / unit
        residuals = (truth - parts[0]) / unit
        self.scale_ = calibrated.scales(scores, weights)
        self._check_sizes(self.scale_)
        columns = [(scores[:, j], weights) for j in range(n_outputs)]
        columns.append((calibrated.largest_scores(scores, self.scale_), weights))
        self.covariance_ = None
        if n_outputs <= calibrated.MOST_OUTPUTS:
            self.covariance_, sizes = calibrated.covariance_of(residuals, weights)
            self._check_sizes(sizes)
            columns.append((calibrated.ellipsoid_of(self.covariance_).lengths(residuals), weights))
        self._rank(columns)

    def _check_sizes(self, sizes: Float) -> None:
        """Raise if the squares of residuals are beyond float64, for the root mean square of each output."""
        wrong = np.flatnonzero((sizes != 0) & ~((sizes >= calibrated.LEAST_SIZE) & (sizes <= calibrated.MOST_SIZE)))
        if len(wrong):
            of_output = self._of_output(int(wrong[0])).removeprefix(" with known y")
            raise ValueError(
                f"y must have residuals from {calibrated.LEAST_SIZE:.2g} to {calibrated.MOST_SIZE:.2g} on average, or all "
                f"zero, since regions hold their squares, got {sizes[wrong[0]]:.3g}{of_output}: another unit of y has others"
            )

    def _around(self, parts: Float) -> tuple[Float, Float, Float]:
        """Where scores are zero, as lower and upper bounds, and the unit of scores."""
        one = np.ones((1, parts.shape[2]))
        if self.conformity_score == "quantile":
            return parts[1], parts[2], one
        return parts[0], parts[0], one if self._offset is None else parts[1] + self._offset

    def _n_ranked(self) -> int:
        return self.n_outputs_ + 1 + (self.n_outputs_ <= calibrated.MOST_OUTPUTS)

    def _truth(self, y: Any, y_weight: YWeight, n_samples: int) -> tuple[Float, Any]:
        truth, mask = known_target(self).read_plain(y, n_samples, type(self).__name__, "intervals", y_weight)
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
        checks.choice("region", region, "box", "ellipsoid")
        column = self.n_outputs_ + _REGIONS.index(region)
        if column >= self._ranks.n_columns:
            raise ValueError(
                f"region='ellipsoid' supports at most {calibrated.MOST_OUTPUTS} outputs, got {self.n_outputs_}: use 'box'"
            )
        every = " in which all outputs are known" if self.n_outputs_ > 1 else ""
        return self._ranks.quantile(column, self._level(alpha), every, self._too_few)

    def _ellipsoid(self, outputs: NDArray[np.bool_]) -> Ellipsoid:
        assert self.covariance_ is not None
        return calibrated.ellipsoid_of(self.covariance_[np.ix_(outputs, outputs)])


def _check_has_spread(final: BaseEstimator) -> None:
    """Raise for estimators whose trees have no spread, the standard deviation of their predictions."""
    if not isinstance(final, BaseForestRegressor):
        raise TypeError(
            "conformity_score='normalized' requires a random forest or an extra-trees forest of weald, got "
            f"{kind_of(final)}; 'absolute' takes any regressor"
        )
    if growing.asks_to_separate(final):
        raise ValueError(
            f"conformity_score='normalized' does not support a forest with {growing.ASKED}, whose trees have one "
            "output each; 'absolute' does"
        )


def _read_numbers(conformity_score: Scores, quantile_levels: list[float], model: Any, X: Any) -> Float:
    """What intervals are made of, of shape (n_samples, 1 to 3, n_outputs): predictions, and their spread or quantiles."""
    n = checks.count_samples(X)
    center = outputs.checked(model, "predict", model.predict(X), n).reshape(n, -1)
    parts = [center]
    if conformity_score != "absolute":
        final: Any
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


def _is_inside_classifier(_: Any, inner: Any) -> None:
    final = apart(inner)[0]
    is_fitted = is_classifier(inner) and hasattr(final, "predict_proba") and hasattr(final, "classes_")
    need(is_fitted, "a fitted classifier with predict_proba", inner)
    of_classes = not isinstance(final, BaseClassifier) or final._label_format is None
    need(of_classes, "a classifier of classes", inner)


def _is_number_of_outputs(around: Any, found: object) -> None:
    positive(around, found)
    need(found == len(classes_of(around.estimator_)), "the number of outputs of estimator_", found)


def _is_seed(_: Any, seed: object) -> None:
    need(type(seed) is int and 0 <= seed < 2**64, "an integer from 0 to 2**64 - 1", seed)


class BaseConformalClassifier(BaseConformal):
    """What `ConformalClassifier` computes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConformal._parameter_constraints,
        "method": [StrOptions(set(calibrated.CLASS_METHODS))],
        "randomized": ["boolean"],
    }
    FITTED: ClassVar[Claims] = {
        **BaseConformal.FITTED,
        "estimator_": _is_inside_classifier,
        "n_outputs_": _is_number_of_outputs,
        "_seed": _is_seed,
    }

    method: str
    randomized: bool

    _seed: int

    def _fit(self, given: Fit) -> None:
        given, name = self._seen(given), type(self).__name__
        estimator = self._given()
        final = apart(estimator)[0]
        if not is_classifier(estimator):
            other = "; ConformalRegressor is for regressors" * is_regressor(estimator)
            raise TypeError(f"estimator must be a classifier, got {type(final).__name__}{other}")
        if not hasattr(final, "predict_proba"):
            raise TypeError(f"estimator must be a classifier with predict_proba, got {type(final).__name__}")
        said = final._multi_label() if isinstance(final, BaseClassifier) else "auto"
        n = checks.count_samples(given.X)
        rules: dict[str, Any] = {"warn_column": True, "multi_label": said, "masks": True, "y_weight": given.y_weight}
        target = targets.classes(given.y, given.sample_weight, n, name, **rules)
        if target.kind == "labels":
            raise ValueError(
                "y must be classes, got labels, a matrix of 0 and 1: ConformalLabels is for labels, and an estimator with "
                "multi_label=False takes them for classes"
            )
        self._seed = checks.draw_seed(self.random_state)
        y = target.original[:, 0] if target.n_outputs == 1 else target.original
        proba, weights = self._unseen(self._with_target(given, target, y))
        columns = []
        for j, (part, classes) in enumerate(zip(self._by_output(proba), classes_of(self.estimator_), strict=True)):
            known = (weights > 0) & (True if target.mask is None else ~_column(target.mask, j))
            at = outputs.places_of(target.original[known, j], classes, "y")
            scores = np.full(n, np.nan)
            scores[known] = self._scored(part[known])[np.arange(len(at)), at]
            columns.append((scores, weights))
        self._rank(columns)

    def _reader(self) -> Read:
        return _read_classes

    def _joined(self, blocks: list[Any], full: Any) -> Float:
        # A fold may lack classes.
        wanted = classes_of(full)
        return super()._joined([np.hstack(list(map(_in_columns, block, wanted))) for block in blocks], full)

    def _by_output(self, proba: Float) -> list[Float]:
        sizes = [len(classes) for classes in classes_of(self.estimator_)]
        if len(sizes) != self.n_outputs_ or sum(sizes) != proba.shape[1]:
            raise ValueError(f"estimator must predict {self.n_outputs_} output(s), as y has, got {len(sizes)}")
        return np.split(proba, np.cumsum(sizes)[:-1], axis=1)

    def _scored(self, proba: Float) -> Float:
        return calibrated.class_scores(proba, self.method, self._seed if self.randomized else None)


def _read_classes(model: Any, X: Any) -> list[tuple[Float, NDArray[Any]]]:
    """The probabilities of the classes of each output, and these classes."""
    return outputs.probabilities(model, X, checks.count_samples(X))


def _column(mask: Any, j: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = mask[:, [j]].toarray().ravel() if is_sparse(mask) else mask[:, j]
    return found


def _in_columns(known: tuple[Float, NDArray[Any]], wanted: NDArray[Any]) -> Float:
    return outputs.in_columns(*known, wanted, "estimator")


class ConformalRegressor(RegressorMixin, BaseConformalRegressor):
    """Regressor with prediction intervals for each output, and regions for all outputs of a sample together.

    Use it where errors must be bounded: the interval of an output is the prediction plus and minus the residual at
    position ⌈(n + 1)(1 − alpha)⌉ of n calibration samples, to which the estimator was not fitted. What holds, and
    sources, are in `docs/intervals.md#what-is-promised`. A sample of weight w counts as w samples. Beside the fits it
    takes O(n log n) for each output, and stores the scores of the calibration samples.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> weald.conformal.ConformalRegressor(alpha=0.2).fit(X, X[:, 0]).predict_interval(X[:5]).shape
    (5, 2)

    Parameters
    ----------
    estimator : regressor, Pipeline or None, default=None
        Any regressor of weald or scikit-learn, or a pipeline that ends with one. None is a
        `weald.RandomForestRegressor` of 300 trees. A `sklearn.frozen.FrozenEstimator` is not refitted: `fit` needs
        samples that it was not fitted to.
    alpha : float, default=0.1
        The fraction of samples that intervals and regions may miss, above 0 and below 1. Methods take other values.
    conformity_score : {"absolute", "normalized", "quantile"}, default="absolute"
        What is compared with the calibration samples: the residual; the residual divided by the spread of the trees of
        a forest, which is narrow where trees agree; or how far the value is outside of the quantiles alpha / 2 and 1 −
        alpha / 2 that `predict_quantiles` predicts. See `docs/intervals.md#which-score`.
    cv : "oob", int, cross-validation generator or None, default=None
        How calibration samples are predicted: "oob", by the trees that have not drawn them, without other fits; by fits
        to the other folds, of which a number holds out rows; None, "oob" for forests with `bootstrap=True` whose
        weights leave enough samples out, and otherwise 5. See
        `docs/intervals.md#where-the-calibration-samples-come-from`.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None, and the forest if `estimator` is None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_, n_outputs_, n_features_in_, target_names_in_ : estimator, int, int and ndarray of str
        The estimator, fitted on all samples or frozen, the numbers of outputs and features, and names of y, if any.
    scale_ : ndarray of shape (n_outputs,)
        The root mean square of the scores of each output, by which boxes are scaled.
    covariance_ : ndarray of shape (n_outputs, n_outputs) or None
        The matrix of ellipsoids: the mean square of the residuals (divided by the spread if normalized) of samples with
        all outputs known, shrunk towards its diagonal, which counts as a sample for each output. None for more than
        1000 outputs.
    n_calibration_ : ndarray of shape (n_outputs,)
        The number of calibration samples of each output, or the sum of their weights.
    """

    _default = RandomForestRegressor
    _too_few = "intervals would be infinite"

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        alpha: float = 0.1,
        conformity_score: Scores = "absolute",
        cv: object = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and rank the scores of samples that it was not fitted to.

        Fewer than 1 / alpha − 1 calibration samples of an output, whose intervals would be infinite, raise a
        ValueError.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers. Those of samples of weight zero are not read. A dense copy of sparse y is made.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights for the fit and for what follows, where a sample of weight 2 counts as two. Samples of weight
            zero do not count, but they are assigned to folds as well.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown values of y, besides those that are NaN, for the fit of the estimator, too. Each
            output is calibrated on its known values, and regions on the samples in which all outputs are known.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of samples, for a `cv` that keeps them together, such as `sklearn.model_selection.GroupKFold`.
            With any other `cv` they raise an error.

        Returns
        -------
        self : ConformalRegressor
            The fitted regressor.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names, groups))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        # `score` is at most 0, and not R².
        tags.regressor_tags.poor_score = True
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the numerical outputs, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The result of `predict` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict(X)

    @of_one_fit
    def predict_interval(self, X: MatrixLike, alpha: float | None = None) -> Float:
        """Predict an interval for each output, which holds its value with probability 1 − alpha.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and upper bounds, which belong to the intervals; without the axis of outputs if there is one
            output.
        """
        check_fitted(self)
        at = np.array(self._quantiles(alpha))
        return self._bounds(self._parts_of(X), at)

    @of_one_fit
    def predict_region(self, X: MatrixLike, alpha: float | None = None) -> Float:
        """Predict a box for each sample, which holds all outputs together with probability 1 − alpha.

        The score of a sample is the largest of the scores of its outputs, each divided by `scale_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and upper bounds of each output, in the form of `predict_interval`.
        """
        check_fitted(self)
        return self._bounds(self._parts_of(X), self._radius(alpha, "box") * self.scale_)

    @of_one_fit
    def contains(
        self,
        X: MatrixLike,
        y: MatrixLike,
        alpha: float | None = None,
        *,
        y_weight: YWeight = None,
        region: Region = "box",
    ) -> NDArray[np.bool_]:
        """Whether the region of each sample holds its outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Values of the outputs.
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown values of y, besides those that are NaN: the result is whether the region holds the
            known values together with any values of the others.
        region : {"box", "ellipsoid"}, default="box"
            "box": the region of `predict_region`. "ellipsoid": the values y whose residual r, divided by the spread if
            normalized, has a Mahalanobis length √(rᵀ C⁻¹ r) of at most `ellipsoid_radius`, where C is `covariance_`.

        Returns
        -------
        bool ndarray of shape (n_samples,)
            Whether the values are in the region.
        """
        check_fitted(self)
        radius, parts = self._radius(alpha, region), self._parts_of(X)
        truth, mask = self._truth(y, y_weight, parts.shape[1])
        if region == "box":
            inside = calibrated.inside_intervals(truth, self._bounds(parts, radius * self.scale_))
            return np.array((inside if mask is None else inside | mask).all(axis=1))
        residuals = (truth - parts[0]) / self._around(parts)[2]
        found = np.ones(len(truth), dtype=np.bool_)
        patterns, at = np.unique(
            np.zeros(truth.shape, dtype=np.bool_) if mask is None else mask, axis=0, return_inverse=True
        )
        for index, hidden in enumerate(patterns):
            rows = np.flatnonzero(at.ravel() == index)
            # The shadow of an ellipsoid on some of its axes is the ellipsoid of their part of the matrix.
            found[rows] = self._ellipsoid(~hidden).holds(residuals[np.ix_(rows, ~hidden)], radius)
        return found

    @of_one_fit
    def log_volume(self, X: MatrixLike, alpha: float | None = None, *, region: Region = "box") -> Float:
        """Compute the natural logarithm of the volume of the region of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.
        region : {"box", "ellipsoid"}, default="box"
            The region, as in `contains`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The logarithms, in the units of the product of the outputs. Minus infinity for a region that is flat in an
            output.
        """
        check_fitted(self)
        radius, parts = self._radius(alpha, region), self._parts_of(X)
        if region == "box":
            bounds = self._bounds(parts, radius * self.scale_).reshape(parts.shape[1], -1, 2)
            with np.errstate(divide="ignore"):
                volume: Float = np.log(bounds[:, :, 1] - bounds[:, :, 0]).sum(axis=1)
            return volume
        unit = np.log(self._around(parts)[2]).sum(axis=1)
        every = np.ones(self.n_outputs_, dtype=np.bool_)
        whole: Float = np.broadcast_to(unit + self._ellipsoid(every).log_volume(radius), parts.shape[1]).copy()
        return whole

    @of_one_fit
    def ellipsoid_radius(self, alpha: float | None = None) -> float:
        """Return the Mahalanobis length up to which residuals are inside the ellipsoid, see `contains`.

        Parameters
        ----------
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.

        Returns
        -------
        float
            The length.
        """
        check_fitted(self)
        return self._radius(alpha, "ellipsoid")

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return minus the mean interval score of the intervals, averaged over the outputs: larger is better.

        The interval score of a value is the width of its interval, and 2 / alpha times the distance by which the value
        is outside (Winkler 1972), in the unit of y. Searches can choose by it, except for `alpha`: see
        `docs/intervals.md#searches`.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values, of which those that are unknown are left out.

        Returns
        -------
        float
            Minus the mean interval score, at most 0; NaN if no value is known.
        """
        found = self.predict_interval(X)
        weights, y, y_weight, found = masks.scored(sample_weight, len(found), y=y, y_weight=y_weight, found=found)
        truth, mask = self._truth(y, y_weight, len(found))
        scores = calibrated.interval_scores(truth, found, self._level(None))
        return -float(calibrated.averaged(calibrated.by_output(scores, mask, weights), "uniform_average"))


class ConformalClassifier(ClassifierMixin, BaseConformalClassifier):
    """Classifier with sets of classes that hold the true class with a probability that is promised.

    A class is in the set of a sample if its score is at most the score at position ⌈(n + 1)(1 − alpha)⌉ of the true
    classes of n calibration samples, to which the estimator was not fitted: see `docs/intervals.md#what-is-promised`. A
    sample of weight w counts as w samples. Sets of several outputs hold for each output by itself. For labels see
    `ConformalLabels`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> weald.conformal.ConformalClassifier().fit(X, X[:, 0] > 0.5).predict_sets([[0.9, 0.1]])
    array([[False,  True]])

    Parameters
    ----------
    estimator : classifier, Pipeline or None, default=None
        Any classifier of weald or scikit-learn with `predict_proba`, or a pipeline that ends with one. None is a
        `weald.RandomForestClassifier` of 300 trees. A `sklearn.frozen.FrozenEstimator` is not refitted: `fit` needs
        samples that it was not fitted to.
    alpha : float, default=0.1
        The fraction of samples whose set may miss the true class, above 0 and below 1. `predict_sets` takes other
        values.
    method : {"lac", "aps"}, default="lac"
        The score of a class: 1 minus its probability (Sadinle, Lei and Wasserman 2019), for the smallest sets, which
        may be empty and miss difficult samples more often; or the sum of the probabilities of all that are at least as
        probable (Romano, Sesia and Candès 2020), for larger sets that miss difficult and easy samples about equally
        often.
    randomized : bool, default=True
        Whether "aps" counts a random share of the probability of the class itself, which depends on the sample and
        `random_state`: sets are smaller, and their coverage is near 1 − alpha in place of above it.
    cv : "oob", int, cross-validation generator or None, default=None
        How calibration samples are predicted by models that were not fitted to them, as in `ConformalRegressor`.
        Classes that are missing in the samples of a fit have probability 0 in its fold.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None, the shares if `randomized`, and the forest if `estimator` is
        None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_, n_outputs_, n_features_in_, target_names_in_ : estimator, int, int and ndarray of str
        The estimator, fitted on all samples or frozen, the numbers of outputs and features, and names of y, if any.
    classes_ : ndarray or list of ndarray
        The classes of the fitted estimator, in its order; for several outputs, a list of one array for each output.
    n_calibration_ : ndarray of shape (n_outputs,)
        The number of calibration samples of each output, or the sum of their weights.
    """

    _default = RandomForestClassifier
    _too_few = "sets would hold every class"
    # Probabilities are those of classes.
    _label_format = None

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        alpha: float = 0.1,
        method: Literal["lac", "aps"] = "lac",
        randomized: bool = True,
        cv: object = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and rank the scores of the true classes of samples that it was not fitted to.

        Fewer than 1 / alpha − 1 calibration samples of an output, whose sets would hold all classes, raise a
        ValueError.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes. Those of samples of weight zero are not read.
        sample_weight, y_weight, label_names, groups : as in `ConformalRegressor.fit`
            Weights, unknown values, names of the labels and groups of samples, for the fit and the calibration.

        Returns
        -------
        self : ConformalClassifier
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names, groups))

    @property
    @of_one_fit
    def classes_(self) -> Any:
        """The classes of the fitted estimator."""
        return self._first("classes_").classes_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        # scikit-learn's checks take labels for several outputs, which `ConformalLabels` is for.
        tags.target_tags.multi_output = False
        return tags

    # --- predictions -------------------------------------------------------------------------------------------------

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The result of `predict` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict the probabilities of classes, as the fitted estimator does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of them
            The result of `predict_proba` of `estimator_`.
        """
        check_fitted(self)
        return self.estimator_.predict_proba(X)

    @of_one_fit
    def predict_sets(self, X: MatrixLike, alpha: float | None = None) -> Prediction:
        """Predict the set of classes of each sample, which holds the true class with probability 1 − alpha.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        alpha : float or None, default=None
            The fraction of samples that may be missed, at least 1 / (n + 1) for n calibration samples. None is the
            parameter.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes), or list of them
            Whether each class is in the set, in the order of `classes_`; for several outputs, one array for each. A set
            may be empty, unless the method is "aps" without `randomized`.
        """
        check_fitted(self)
        at = self._quantiles(alpha)
        parts = self._by_output(self._predicted(X))
        sets = [calibrated.classes_inside(self._scored(part), most) for part, most in zip(parts, at, strict=True)]
        return sets[0] if self.n_outputs_ == 1 else sets

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return minus the mean size of the sets at the promised coverage, averaged over the outputs: larger is better.

        Sets that miss more true classes than the fraction alpha count as larger, by one class for each fraction alpha
        that is missed in addition. Searches can choose by it, except for `alpha`: see `docs/intervals.md#searches`.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values, of which those that are unknown are left out.

        Returns
        -------
        float
            Minus the mean number of classes in a set, and minus max(0, missed − alpha) / alpha for the fraction of true
            classes that is missed. A class that the estimator does not know is in no set. NaN if no class is known.
        """
        sets = self.predict_sets(X)
        sets = sets if isinstance(sets, list) else [sets]
        known = known_target(self)
        parts = {"y": y, "y_weight": y_weight} | {f"sets {j}": part for j, part in enumerate(sets)}
        weights, y, y_weight, *sets = masks.scored(sample_weight, len(sets[0]), **parts)
        truth, mask = known.read_plain(y, len(sets[0]), type(self).__name__, "sets of classes", y_weight)
        missed = 1 - calibrated.by_output(calibrated.inside_sets(truth, sets, known.classes, mask), mask, weights)
        n_in_sets = calibrated.by_output(np.stack([part.sum(axis=1) for part in sets], axis=1), mask, weights)
        return -float(calibrated.averaged(n_in_sets + calibrated.beyond(missed, self._level(None)), "uniform_average"))


def _check_delta(delta: object) -> None:
    checks.number("delta", delta, lambda found: 0 < found < 1, "a number above 0 and below 1")


def _is_count(_: Any, found: Any) -> None:
    need(type(found) is float and found >= 0, "a float of at least 0", found)


def _are_labels(around: Any, found: Any) -> None:
    d = around.n_outputs_
    is_list = isinstance(found, np.ndarray) and found.dtype == np.int64 and found.ndim == 1
    is_list = is_list and bool((np.diff(found) > 0).all() and ((found >= 0) & (found < d)).all())
    need(is_list, f"an ascending int64 array of indices of {d} labels", found)


class ConformalLabels(WithScores):
    """Multi-label classifier with sets of labels whose recall or precision is controlled.

    One threshold for all labels is chosen on scores of samples that the estimator was not fitted to, so that a further
    sample is promised a fraction of its true labels, or of true labels among those that are predicted: see
    `docs/intervals.md#what-is-promised`. A sample of weight w counts as w samples. Beside the fits, recall takes O(m
    log m) time for m stored scores, and precision 200 operations for each sample. `weald.multilabel.TunedThresholds`
    tunes without a promise.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> weald.conformal.ConformalLabels(weald.RandomForestClassifier(50)).fit(X, X > 0.5).predict([[0.9, 0.1]])
    array([[ True, False]])

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba`, or else with `decision_function`, whose scores s are converted by
        1 / (1 + exp(-s)). A `sklearn.frozen.FrozenEstimator` is not refitted: `fit` needs samples that it was not
        fitted on.
    control : {"recall", "precision"}, default="recall"
        "recall": the expected fraction of true labels that are missed, over samples with a label, is at most `alpha`
        (conformal risk control, Angelopoulos et al. 2022). "precision": with probability 1 − `delta` over calibration
        samples, the expected fraction of wrong labels among the predicted ones is (learn then test, Angelopoulos et al.
        2021).
    alpha : float, default=0.1
        The fraction of labels that may be missed or wrong, above 0 and below 1.
    delta : float, default=0.1
        The probability that calibration samples are misleading, above 0 and below 1. It has no effect on recall.
    cv : "oob", int, cross-validation generator or None, default=None
        How the scores of calibration samples are computed, as in `TunedThresholds`.
    min_score : float or "auto", default="auto"
        Scores below this value are not stored. "auto" is 0 if y is dense or the estimator is a `LinearClassifier` with trees,
        and 0.001 otherwise. If recall cannot be reached by all stored scores, see `frequent_`.
    random_state : int, RandomState instance or None, default=None
        Controls the folds if `cv` is an integer or None.
    verbose : int, default=0
        Whether fits on folds are reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its
        own.

    Attributes
    ----------
    estimator_, classes_, n_outputs_, n_features_in_ : estimator, ndarray, int and int
        The estimator, fitted on all samples or frozen, the indices of the labels, and the numbers of labels and features.
    threshold_ : float
        Labels whose score is at least this are predicted. 0 are all with a score of at least `min_score`. Infinite if
        no threshold is sure to have the precision, so that no label is predicted; `fit` then warns.
    frequent_ : ndarray of int64
        The labels that are predicted for every sample, because the stored scores do not reach the recall. Mostly empty.
    n_calibration_ : float
        The number of calibration samples, or the sum of their weights; for recall, of those that have a label.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WithScores._parameter_constraints,
        "control": [StrOptions({"recall", "precision"})],
        "alpha": [Checked(calibrated.check_alpha)],
        "delta": [Checked(_check_delta)],
    }
    FITTED: ClassVar[Claims] = {
        **WithScores.FITTED,
        "threshold_": _is_count,
        "n_calibration_": _is_count,
        "frequent_": _are_labels,
    }
    _floor_of_sparse = 0.001

    control: Literal["recall", "precision"]
    alpha: float
    delta: float

    threshold_: float
    frequent_: NDArray[np.int64]
    n_calibration_: float

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        control: Literal["recall", "precision"] = "recall",
        alpha: float = 0.1,
        delta: float = 0.1,
        cv: object = None,
        min_score: float | Literal["auto"] = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and choose the threshold on scores of samples that it was not fitted to.

        For recall, fewer than 1 / alpha − 1 calibration samples with a label raise a ValueError.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight, y_weight, label_names, groups : as in `ConformalRegressor.fit`
            Weights, unknown values, names of the labels and groups of samples, for the fit and the calibration.

        Returns
        -------
        self : ConformalLabels
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names, groups))

    def _fit(self, given: Fit) -> None:
        given = self._seen(self._checked(given))
        scores, weights = self._unseen(given)
        self._calibrate(scores, given.target, weights)

    def _calibrate(self, scores: sparse.csr_array, target: Target, weights: Float) -> None:
        truth, alpha = target.original, float(self.alpha)
        self.frequent_ = np.zeros(0, dtype=np.int64)
        if self.control == "precision":
            self.n_calibration_ = float(weights.sum())
            rules = (alpha, float(self.delta), self._floor())
            self.threshold_ = calibrated.precision_threshold(scores, truth, weights, *rules)
            if np.isinf(self.threshold_):
                messages.warn(
                    f"No threshold is sure to have a precision of {1 - alpha:g}, with {self.n_calibration_:g} calibration "
                    "samples: no label is predicted. A larger alpha or delta, or more samples, may change this."
                )
            return
        self.n_calibration_ = float(weights[np.diff(truth.indptr) > 0].sum())
        frequency = calibrated.frequencies(truth, target.mask, weights)
        self.threshold_, least = calibrated.recall_thresholds(scores, truth, weights, frequency, alpha)
        if np.isfinite(least):
            self.frequent_ = np.flatnonzero(frequency >= least).astype(np.int64)

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict the set of labels of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_labels)
            The labels, 0 or 1, with the dtype of the y passed to `fit`; sparse if that y was sparse.
        """
        return self._built(self._named(X))

    def _named(self, X: MatrixLike) -> sparse.csr_array:
        check_fitted(self)
        least = min(1.0, max(calibrated.reached(self.threshold_), self._floor()))
        scores = unseen.scores_at_least(self.estimator_, X, least, self.n_outputs_)
        return calibrated.named_by(scores, self.threshold_, self.frequent_)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Score the predicted sets by what is not promised, so that larger is better and searches can choose by it.

        With the recall promised, the fewer labels are predicted the better; with the precision promised, the more true
        labels are found the better. Sets that miss the promise lose the fraction by which they do, divided by `alpha`.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values, of which those that are unknown are left out.

        Returns
        -------
        float
            For recall, minus the mean number of predicted labels, and minus max(0, missed − alpha) / alpha for each
            true label of a sample. For precision, the mean fraction of true labels that are predicted, minus max(0,
            wrong − alpha) / alpha. NaN if no sample has a label.
        """
        named, truth, mask, weights = self._compared(X, y, sample_weight, y_weight)
        weights = np.ones(named.shape[0]) if weights is None else weights
        if mask is not None:  # samples of which nothing is known do not count
            weights = np.where(np.diff(mask.indptr) == mask.shape[1], 0.0, weights)
        recall = calibrated.mean_fraction(named, truth, weights, "recall")
        if np.isnan(recall):
            return recall
        if self.control == "precision":
            wrong = 1 - calibrated.mean_fraction(named, truth, weights, "precision")
            return float(recall - calibrated.beyond(wrong, float(self.alpha)))
        n_named, n_true = (float(np.average(np.diff(cells.indptr), weights=weights)) for cells in (named, truth))
        return float(-n_named - n_true * calibrated.beyond(1 - recall, float(self.alpha)))


def coverage(
    y_true: MatrixLike,
    predicted: Any,
    sample_weight: SampleWeight = None,
    *,
    y_weight: YWeight = None,
    classes: Any = None,
    joint: bool = False,
    multioutput: Literal["uniform_average", "raw_values"] = "uniform_average",
) -> Any:
    """Fraction of true values that are inside predicted intervals, or of true classes that are in predicted sets.

    >>> from weald.conformal import coverage
    >>> coverage([1.0, 2.0, 3.0, 4.0], [[0, 2], [0, 2], [0, 2], [3, 5]])
    0.75

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true values or classes. NaN in several columns are unknown.
    predicted : ndarray or list of ndarray
        Intervals of shape (n_samples, 2) or (n_samples, n_outputs, 2), as of `ConformalRegressor.predict_interval`; or
        sets, bool of shape (n_samples, n_classes) or a list of them, as of `ConformalClassifier.predict_sets`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
        0 marks values of y to leave out, besides those that are NaN.
    classes : array-like of shape (n_classes,), list of them or None, default=None
        The classes of sets, the attribute `classes_` of the classifier. None are the numbers from 0.
    joint : bool, default=False
        Whether a sample counts if all of its known values are inside, as of `predict_region`.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The mean over the outputs that have known values, or an array of all, NaN without known values, unless `joint`.

    Returns
    -------
    float or ndarray of shape (n_outputs,)
        The coverage, from 0 to 1. It should be near the level that was asked for: larger is not better.
    """
    found = calibrated.Predicted.of(predicted, classes)
    found, weights, y_true, y_weight = found.scored(sample_weight, y_true, y_weight)
    inside, mask = found.inside(y_true, y_weight)
    if joint:
        return calibrated.together(inside, mask, weights)
    return calibrated.averaged(calibrated.by_output(inside, mask, weights), multioutput)


def size(
    predicted: Any,
    sample_weight: SampleWeight = None,
    *,
    joint: bool = False,
    multioutput: Literal["uniform_average", "raw_values"] = "uniform_average",
) -> Any:
    """Mean width of predicted intervals, or mean number of classes in predicted sets.

    >>> from weald.conformal import size
    >>> size([[[0, 2], [0, 1]], [[0, 4], [0, 1]]], multioutput="raw_values")
    array([3., 1.])

    Parameters
    ----------
    predicted : ndarray or list of ndarray
        Intervals or sets, as in `coverage`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    joint : bool, default=False
        Whether the result is the mean natural logarithm of the volume of boxes, or of the number of combinations of
        classes, which depends on the units of outputs by a constant only.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        The mean over the outputs, or an array of the values of all outputs. It has no effect if `joint`.

    Returns
    -------
    float or ndarray of shape (n_outputs,)
        The size. Of two predictions with the same coverage, the smaller one says more.
    """
    found, weights, *_ = calibrated.Predicted.of(predicted, None).scored(sample_weight)
    widths = found.sizes()
    if joint:
        with np.errstate(divide="ignore"):
            return float(np.average(np.log(widths).sum(axis=1), weights=weights))
    return calibrated.averaged(np.average(widths, axis=0, weights=weights), multioutput)


def make_coverage_scorer(alpha: float | None = None, *, joint: bool = False) -> Scorer:
    """Make a scorer of `coverage`, for `cross_validate` and the other functions of `model_selection`.

    >>> from weald.conformal import ConformalRegressor, make_coverage_scorer
    >>> model = ConformalRegressor().fit([[0.0], [1.0]] * 50, [0.0, 1.0] * 50)
    >>> make_coverage_scorer()(model, [[0.0], [1.0]], [0.0, 9.0])
    0.5

    Parameters
    ----------
    alpha : float or None, default=None
        The level that intervals and sets are asked for. None is that of the estimator.
    joint : bool, default=False
        Whether the scorer takes regions (`predict_region`), and sets of all outputs together.

    Returns
    -------
    callable
        A function of an estimator, X, y and optionally `sample_weight`, which returns the coverage.
    """
    return Scorer("coverage", coverage, None if alpha is None else calibrated.check_alpha(alpha), joint)


def make_size_scorer(alpha: float | None = None, *, joint: bool = False) -> Scorer:
    """Make a scorer of `size`: the negative size, so that a larger score is better.

    Parameters
    ----------
    alpha : float or None, default=None
        The level that intervals and sets are asked for. None is that of the estimator.
    joint : bool, default=False
        Whether the scorer takes regions (`predict_region`), and sets of all outputs together.

    Returns
    -------
    callable
        A function of an estimator, X, y and optionally `sample_weight`, which returns the negative size.
    """
    return Scorer("size", size, None if alpha is None else calibrated.check_alpha(alpha), joint)
