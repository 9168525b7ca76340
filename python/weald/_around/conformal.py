"""What `ConformalRegressor` and `ConformalClassifier` compute: scores of calibration samples, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from weald._around import class_scores, ranked, regions, unseen
from weald._around.base import AroundOne, Checked, Claims, Fit, is_array, need, positive
from weald._around.ranked import Ranked
from weald._around.regions import Ellipsoid
from weald._fit.forest import BaseForestRegressor
from weald._fit.named_outputs import NamedOutputs
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.samples import Samples
from weald._fitted.at_once import of_one_fit
from weald._fitted.fits import Read
from weald._input import checks, masks, targets, warned
from weald._input.checks import Float, shown
from weald._input.described import kind_of
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters import output_strategy
from weald._parameters.types import MatrixLike
from weald._ranking import outputs
from weald._ranking.outputs import classes_of
from weald._ranking.pipelines import apart

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
        "alpha": [Checked(ranked.check_alpha)],
    }
    FITTED: ClassVar[Claims] = {
        **AroundOne.FITTED,
        "_ranks": lambda around, found: ranked.prove(found, around._n_ranked()),
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
        return ranked.check_alpha(self.alpha if alpha is None else alpha)

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
        if weights is not None and warned.of_tiny_weights(weights, {f"alpha={self.alpha}": 1 / self.alpha - 1}):
            weights = checks.relative(weights)
            weights = weights * (np.count_nonzero(weights) / weights.sum())  # they are taken as relative
        ranked.check_enough(self.alpha, n if weights is None else float(weights.sum()), "", self._too_few)
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
        others = given.y, given.sample_weight, given.y_weight, self._of_forest, given.fits
        return lambda forest, X: forest._fit_and_read(X, *others)

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
        self._ranks = ranked.ranked(columns)
        for j in range(self.n_outputs_):
            ranked.check_enough(self.alpha, self._ranks.n_samples(j), self._of_output(j), self._too_few)

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
    if d > regions.MOST_OUTPUTS:
        return need(found is None, "None", found)
    _are_numbers(found, (d, d), -np.inf)
    try:
        regions.ellipsoid_of(found)
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
        self._rank(columns)

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

    def _n_ranked(self) -> int:
        return self.n_outputs_ + 1 + (self.n_outputs_ <= regions.MOST_OUTPUTS)

    def _truth(self, y: Any, y_weight: MatrixLike | None, n_samples: int) -> tuple[Float, Any]:
        names = getattr(self, "target_names_in_", None)
        known = Target("numbers", None, self.n_outputs_, [], None, names=names)
        truth, mask = known.read_plain(y, n_samples, type(self).__name__, "intervals", y_weight)
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
        "method": [StrOptions(set(class_scores.METHODS))],
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
        return class_scores.scores(proba, self.method, self._seed if self.randomized else None)


def _read_classes(model: Any, X: Any) -> list[tuple[Float, NDArray[Any]]]:
    """The probabilities of the classes of each output, and these classes."""
    return outputs.probabilities(model, X, checks.count_samples(X))


def _column(mask: Any, j: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = mask[:, [j]].toarray().ravel() if is_sparse(mask) else mask[:, j]
    return found


def _in_columns(known: tuple[Float, NDArray[Any]], wanted: NDArray[Any]) -> Float:
    return outputs.in_columns(*known, wanted, "estimator")
