"""Compressed forests for all kinds of y: the fit, and the fitted model."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

import weald
from weald import _weald
from weald import loss as losses
from weald._fit import memory
from weald._fit.base import Members, Samples, WithPaths, as_size, prepare, unfitted
from weald._fit.forest import BaseForest
from weald._fit.tree import BaseTree
from weald._fitted.at_once import fitted_at_once
from weald._fitted.fits import Fit
from weald._fitted.proof import CompressedProof, check_fitted, compressing
from weald._input import frames, messages, schema, targets
from weald._input.checks import Float, Matrix, Number, RowWeights, draw_seed
from weald._input.schema import Schema
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters import growing, weighting
from weald._parameters.growing import derived_seed
from weald._parameters.types import (
    CategoricalFeatures,
    LabelNames,
    MatrixLike,
    RandomState,
    SampleWeight,
    YWeight,
    fit_context,
)
from weald._rounds import held_out as _held_out
from weald._rounds.rounds import Progress

_PRUNES = "fit it and call its method prune(X, y), which has the limits of size and loss of this class"


@dataclass(frozen=True)
class Budget:
    """Limits of a compressed model; None stands for no limit."""

    max_test_nodes: int | None = None
    max_bytes: int | None = None
    max_loss_increase: float | None = None


@dataclass(frozen=True)
class Curve:
    """Size and loss of each point of a path."""

    n_test_nodes: NDArray[np.int64]
    # Mean test loss over the folds; None without cross-validation.
    test_loss: Float | None
    # Mean test loss of the uncompressed forests of the folds.
    full_loss: float
    # Size in bytes of the model of a point.
    n_bytes: Callable[[int], int]

    def n_bytes_within(self, rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
        """The points of `rows`, in their order, whose models have at most `limit` bytes.

        They are found by bisection over the number of test nodes, with which the size increases except for a few bytes,
        so that the size of few models is computed.
        """
        sizes, first = np.unique(self.n_test_nodes[rows], return_index=True)
        n_within = bisect_right(first, limit, key=lambda at: self.n_bytes(int(rows[at])))
        return rows[self.n_test_nodes[rows] <= sizes[n_within - 1]] if n_within else rows[:0]


def choose(curve: Curve, budget: Budget) -> int:
    """The point to choose.

    With a limit of the loss, it is the smallest model within the limit. Otherwise, of the models within the limits of
    size, it is the first with the smallest test loss, or the last if there is no test loss.
    """
    rows = np.arange(len(curve.n_test_nodes))
    limited = budget.max_loss_increase is not None
    if limited:
        rows = _within_loss(curve, budget)
    if budget.max_test_nodes is not None:
        found = rows[curve.n_test_nodes[rows] <= budget.max_test_nodes]
        if not len(found):
            least = int(curve.n_test_nodes[rows].min())
            raise ValueError(
                f"max_test_nodes must be at least {least}, the number of test nodes of the smallest model"
                f"{_of_loss(budget)}, got {budget.max_test_nodes}"
            )
        rows = found
    # The order of preference, which the following steps preserve.
    if limited:
        rows = rows[np.argsort(curve.n_test_nodes[rows], kind="stable")]
    elif curve.test_loss is not None:
        rows = rows[np.argsort(curve.test_loss[rows], kind="stable")]
    else:
        rows = rows[::-1]
    if budget.max_bytes is None or curve.n_bytes(int(rows[0])) <= budget.max_bytes:
        return int(rows[0])
    for row in curve.n_bytes_within(rows, budget.max_bytes):
        if curve.n_bytes(int(row)) <= budget.max_bytes:
            return int(row)
    smallest = int(rows[np.argmin(curve.n_test_nodes[rows])])
    raise ValueError(
        f"max_bytes must be at least {curve.n_bytes(smallest)}, the size of the smallest model{_of_loss(budget)}, got "
        f"{budget.max_bytes}"
    )


def check_size(what: str, n_test_nodes: int, n_bytes: Callable[[], int], budget: Budget) -> None:
    """Raise if the model of the requested norm exceeds a limit of size."""
    if budget.max_test_nodes is not None and n_test_nodes > budget.max_test_nodes:
        raise ValueError(
            f"max_test_nodes must be at least {n_test_nodes}, the number of test nodes of the model of {what}, got "
            f"{budget.max_test_nodes}; a smaller {what.partition('=')[0]} has fewer test nodes"
        )
    if budget.max_bytes is not None and (found := n_bytes()) > budget.max_bytes:
        raise ValueError(
            f"max_bytes must be at least {found}, the size of the model of {what}, got {budget.max_bytes}; a smaller "
            f"{what.partition('=')[0]} takes fewer bytes"
        )


def folds_of(cv: object, X: Matrix, target: Target, weights: Float | None, seed: int) -> list[_held_out.Split]:
    """The training and the test samples of each fold, all with positive weight: of fewer folds if there are few samples."""
    if cv is None or isinstance(cv, Integral):
        cv = 5 if cv is None else int(cv)
        classes = target.kind == "classes" and target.n_outputs == 1
        rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
        most = int(np.unique(target.original[rows, 0], return_counts=True)[1].max()) if classes else len(rows)
        if cv > most:
            of_what = "samples of the largest class" if classes else "samples"
            if most < 2:
                raise ValueError(
                    f"cv requires at least 2 {of_what} with positive weight, got {most}, n_samples={len(rows)}"
                )
            messages.warn(f"cv is {cv}, but there are only {most} {of_what} with positive weight: using {most} folds")
            cv = most
    return _held_out.folds_of(cv, X, target, weights, seed)


def _within_loss(curve: Curve, budget: Budget) -> NDArray[np.intp]:
    assert budget.max_loss_increase is not None
    assert curve.test_loss is not None
    rows = np.flatnonzero(curve.test_loss <= (1 + budget.max_loss_increase) * curve.full_loss)
    if not len(rows):
        least, full = float(np.min(curve.test_loss)), curve.full_loss
        needed = f" must be at least {least / full - 1:.3g}" if full > 0 else " is too small"
        raise ValueError(
            f"max_loss_increase{needed}, got {budget.max_loss_increase}: the least cross-validated loss of the path is "
            f"{least:.6g}, and that of the forest is {full:.6g}"
        )
    return rows


def _of_loss(budget: Budget) -> str:
    return "" if budget.max_loss_increase is None else f" within max_loss_increase={budget.max_loss_increase}"


# Parameters of the engine that the other kind of steps has, and which are ignored.
_OTHER_STEPS = {
    "standardize": False,
    "step_size": 1.0,
    "step_outputs": None,
    "learning_rate": 1.0,
    "candidate_window": None,
    "n_alphas": 2,
    "eps": 0.5,
    "tol": 1e-4,
    "max_iter": 1,
}
# The minimum number of bytes of a test node in a model file, with the leaf that it adds.
_LEAST_BYTES = 14


class BaseCompressed(WithPaths):
    """What compressed forests for all kinds of y share."""

    _proof = CompressedProof
    _memory_of_fit = staticmethod(memory.of_compression)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        # `_check_parameters` checks `estimator`.
        "loss": [StrOptions(set(compressing(classifier=False))), losses.Loss],
        "cv": ["cv_object"],
        "max_test_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "max_loss_increase": [Number(Real, -1.0, None, closed="left"), None],
        "keep_path": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _default_estimator: ClassVar[type[BaseForest]]
    _unsaved: ClassVar[tuple[str, ...]] = ("_path", "estimator_")

    estimator: BaseForest | BaseTree | FrozenEstimator | None
    loss: object
    cv: Any
    max_test_nodes: int | None
    max_bytes: int | None
    max_loss_increase: float | None
    keep_path: bool
    random_state: RandomState
    verbose: int

    estimator_: BaseForest | BaseTree
    l1_norm_: float
    n_test_nodes_: int
    compression_ratio_: float
    step_: int
    full_loss_: float

    _model: _weald.Compressed
    _path: _weald.CompressionPath
    # The loss of the fitted model.
    _loss: str

    @property
    def _explained(self) -> _weald.Forest:
        # The leaves of the forest have scores as values.
        return self._forest

    @property
    def _forest(self) -> _weald.Forest:  # type: ignore[override]
        return self._model.forest

    @property
    def path_(self) -> dict[str, NDArray[Any]]:
        """The size and the loss of the model at each step, a dict of ndarray of shape (n_steps + 1,).

        From the constant model to the first one with more than `max_test_nodes` splits: "l1_norm", "train_loss",
        "n_test_nodes", "n_nonzero" (nodes with a coefficient), and with folds "test_loss_mean" and "test_loss_std" over
        them. Training losses are those that are minimized; test losses of classes are error rates. A model that was
        loaded has it only with `keep_path=True`.
        """
        if "path_" not in self.__dict__:
            loaded = "_model" in self.__dict__
            why = ", since it was saved without its path: set keep_path=True" if loaded else " before it is fitted"
            raise AttributeError(f"{type(self).__name__} has no path_{why}")
        path: dict[str, NDArray[Any]] = self.__dict__["path_"]
        return path

    @path_.setter
    def path_(self, path: dict[str, NDArray[Any]]) -> None:
        self.__dict__["path_"] = path

    # --- where the steps end, which differs between the path of an l1 norm and the growth of a forest -----------------

    # The parameter that says where: "cv", a number, or None for the last step.
    _end: ClassVar[str]

    def _steps(self) -> dict[str, Any]:
        """The parameters of the steps in the engine's form."""
        raise NotImplementedError

    def _max_steps(self) -> int | None:
        """The largest number of steps."""
        raise NotImplementedError

    def _refuses_masks(self) -> str | None:
        """What does not support unknown values of y; None if they are supported."""
        raise NotImplementedError

    def _at(self, end: float) -> _weald.Compressed:
        """The model for this value of the parameter that says where the steps end."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
    ) -> Self:
        """Fit the forest, unless it is in a `FrozenEstimator`, and compress it.

        The fit takes eight bytes of memory for each sample and tree, and a few numbers for each node of the forest and
        each column of scores of each sample; with folds, the same again for each of `n_jobs` folds. If no model meets
        the limits of size and loss, the error has the smallest value that can be met.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples; NaN marks a missing value, and what sparse X does not store is zero. Dense float32 X
            in Fortran order and float32 CSR or CSC are used without a copy, other X is converted to float32 once.
            Infinite values raise a ValueError, and a `DataConversionWarning` names features whose values float32 cannot
            distinguish.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them. NaN in several columns of floats is an unknown value. With a frozen estimator, y must have its
            outputs and classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read; one with weight 2 counts as two, up to the rounding of sums, and as one in folds. Positive
            weights below 2**-40 of the largest are raised to this value.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            Weights of the values of y: 0 for unknown ones, which are not read, as NaN is. Only for solver="stagewise".
            A sample without any known value is left out, an output without any raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit(Fit(X, y, sample_weight, y_weight, label_names))
        return self

    def _fit(self, given: Fit) -> None:
        self._check_parameters()
        if self._is_frozen():
            check_is_fitted(self._given())
        if (inner := self._given()) is not None and growing.has_directions(inner):
            raise ValueError(
                f"{type(self).__name__} does not support an estimator with monotonic_cst, since coefficients of "
                "nodes have no direction: monotonic_cst must be None"
            )
        if given.y_weight is not None and is_sparse(given.y) and not is_classifier(self):
            known = targets.known_of(given.y, given.y_weight)
            given = replace(given, y=given.y.toarray(), y_weight=None if known is None else known.as_array())
        samples = prepare(self, given)
        X, target, weights = samples.X, samples.target, samples.weights
        if target.mask is not None and (refused := self._refuses_masks()) is not None:
            raise ValueError(
                f"{refused} does not support y with masked entries, since its steps need all entries of a sample; "
                'use a compressed forest with solver="stagewise"'
            )
        of_labels = None
        if getattr(self, "label_weight", None) is not None:
            of_labels = weighting.of_labels(self, target, weights)
        seed = draw_seed(self.random_state)
        counted = weighting.that_count(self, target)
        folds = folds_of(self.cv, X, counted, weights, seed) if self._cross_validates() else []
        self._set_outputs(target)
        frozen = self._is_frozen()
        self.estimator_ = self._fitted_before(target) if frozen else self._grown(samples, given.y, seed)
        self._loss = losses.get(self.loss).name
        rows = self.estimator_._row_weights(target, weights)
        # How many steps there are is known at the end of the path. A fold has about as many, and one for each tree.
        with Progress(type(self).__name__, "step", None, self.verbose) if self.verbose else nullcontext() as told:
            self._path = self._whole_path(samples, rows, of_labels, seed, told)
            self._set_path(self._path)
            if folds:
                in_all = None
                if told is not None:
                    n_done = told.n_done
                    told.expect(n_done + len(folds) * (self.estimator_._forest.n_trees + n_done))
                    in_all = lambda n_more: told(n_done + n_more)  # noqa: E731
                self._cross_validate(samples, rows, of_labels, folds, seed, in_all)
        self._set_model(self._chosen())

    # --- parameters --------------------------------------------------------------------------------------------------

    def _cross_validates(self) -> bool:
        return isinstance(getattr(self, self._end), str)

    def _is_frozen(self) -> bool:
        """Whether `estimator` is fitted and must be used as it is."""
        return isinstance(self.estimator, FrozenEstimator)

    def _given(self) -> BaseForest | BaseTree | None:
        """`estimator` without `FrozenEstimator`."""
        given = self.estimator
        return given.estimator if isinstance(given, FrozenEstimator) else given

    def _check_parameters(self) -> None:
        """Check for parameters that contradict each other, which the table of constraints cannot express."""
        given = self._given()
        if isinstance(given, type):
            raise ValueError(f"estimator must be an instance, {given.__name__}(), got the class {given.__name__}")
        if given is None and not self._is_frozen():
            fits = True
        else:
            fits = isinstance(given, BaseForest | BaseTree) and is_classifier(given) == is_classifier(self)
        if not fits:
            kind = "classifier" if is_classifier(self) else "regressor"
            hint = f": {_PRUNES}" if type(given).__name__.startswith("GradientBoosting") else ""
            raise ValueError(
                f"estimator must be a tree or forest of weald that is a {kind}, or None for "
                f"{self._default_estimator.__name__}(), got {type(given).__name__}{hint}"
            )
        if growing.asks_to_separate(given):
            raise ValueError(
                f"{type(self).__name__} does not support an estimator with {growing.ASKED}, since its trees have one "
                "output each: output_strategy must be 'joint'"
            )
        supported = compressing(is_classifier(self))
        if losses.get(self.loss).name not in supported:
            raise ValueError(f"loss must be {' or '.join(map(repr, supported))}, got {self.loss!r}")
        if self.max_loss_increase is not None and not self._cross_validates():
            raise ValueError(
                f"{self._end} must be 'cv' with max_loss_increase, which is measured by cross-validation, got "
                f"{getattr(self, self._end)!r}"
            )

    def _config(
        self, seed: int, of_labels: Float | None, max_steps: int | None, max_test_nodes: int | None
    ) -> _weald._CompressConfig:
        config: Any = {
            **_OTHER_STEPS,
            "loss": self._loss,
            "seed": seed,
            "output_weights": None if of_labels is None else of_labels.tolist(),
            "max_steps": max_steps,
            "max_nodes": max_steps,
            "max_test_nodes": max_test_nodes,
            **self._steps(),
        }
        return config  # type: ignore[no-any-return]

    # --- the forest --------------------------------------------------------------------------------------------------

    def _grown(self, samples: Samples, y: MatrixLike, seed: int) -> BaseForest | BaseTree:
        """A forest with the parameters of `estimator`, grown on these samples; its own random state is kept."""
        target, given = samples.target, self._given()
        forest = self._default_estimator() if given is None else clone(given)
        if is_classifier(self):
            forest.set_params(multi_label=target.kind == "labels")
        own: dict[str, Any] = {"n_jobs": self.n_jobs, "random_state": derived_seed(seed, ())}
        params = forest.get_params(deep=False)
        forest.set_params(**{name: value for name, value in own.items() if params.get(name, own) is None})
        # The validated X contains codes of categories.
        forest.set_params(categorical_features=schema.mask_of(self))
        forest._validate_params()
        forest._check_parameters()
        for name in ("n_features_in_", "feature_names_in_", "categories_", schema.LABELS):
            if name in self.__dict__:
                setattr(forest, name, self.__dict__[name])
        if target.kind == "numbers" and target.mask is None and not isinstance(y, np.ndarray) and is_sparse(y):
            target = forest._check_y(y, samples.weights, samples.n)  # the forest keeps y sparse
        forest._fit_samples(samples.of(forest, target))
        return forest

    @property
    def categorical_features(self) -> CategoricalFeatures:
        """The categorical features of the forest."""
        given = self._given()
        return "from_dtype" if given is None else given.categorical_features

    def _frozen_schema(self) -> Schema | None:
        given = self._given() if self._is_frozen() else None
        return Schema.of(given) if given is not None and hasattr(given, "n_features_in_") else None

    def _fitted_before(self, target: Target) -> BaseForest | BaseTree:
        """The fitted estimator, after a check that it fits X and y."""
        forest = self._given()
        assert forest is not None
        name = type(forest).__name__
        if forest.n_features_in_ != self.n_features_in_:
            raise ValueError(
                f"X must have {forest.n_features_in_} features, as in the fit of {name}, got {self.n_features_in_}"
            )
        old, new = (getattr(m, "feature_names_in_", None) for m in (forest, self))
        if old is not None and new is not None and not np.array_equal(old, new):
            raise ValueError(f"X must have the feature names of the fit of {name}, got other names")
        if forest.n_outputs_ != target.n_outputs:
            raise ValueError(
                f"y must have {forest.n_outputs_} outputs, as in the fit of {name}, got {target.n_outputs}"
            )
        names, own = (getattr(m, "target_names_in_", None) for m in (self, forest))
        frames.check_same_names(names, own, "y", f"{name} was fitted on other outputs")
        if not is_classifier(self):
            return forest
        if (forest._label_format is None) != (self._label_format is None):
            kinds = ["labels" if m._label_format is not None else "classes" for m in (self, forest)]
            raise ValueError(f"y must be {kinds[1]}, as in the fit of {name}, got {kinds[0]}")
        parts = [m.classes_ if isinstance(m.classes_, list) else [m.classes_] for m in (forest, self)]
        if not all(map(np.array_equal, *parts)):
            raise ValueError(f"y must have the classes of the fit of {name}, got other classes")
        return forest

    def _fold_config(self, samples: Samples, folds: list[tuple[Any, Any]], seed: int) -> _weald._ForestConfig:
        """The configuration of the forests of the folds.

        It is that of the forest for all samples, with the number of training samples of the first fold.
        """
        forest = self.estimator_
        train = np.zeros(samples.n)
        train[folds[0][0]] = 1.0
        of_fold = replace(samples, weights=train, row_weights=(train, None))
        config = forest._config_again(of_fold, seed)
        config["tree"]["seed"] = seed
        return config

    # --- the path ----------------------------------------------------------------------------------------------------

    def _whole_path(
        self,
        samples: Samples,
        rows: RowWeights,
        of_labels: Float | None,
        seed: int,
        progress: Callable[[int], object] | None,
    ) -> _weald.CompressionPath:
        weights, rule = rows
        rule = "balanced" if isinstance(rule, str) else rule  # "balanced_subsample" applies only while trees grow
        engine = samples.target.engine
        by_row = _weald.weights_by_row(engine, (weights, rule), samples.known)
        config = self._config(seed, of_labels, self._max_steps(), self._end_of_path())
        data = samples.X, engine, (by_row, None), samples.known
        return _weald.compress_forest(self.estimator_._forest, data, config, None, self._n_threads(), progress)

    def _end_of_path(self) -> int | None:
        """The number of test nodes above which no model can be chosen; None if there is no such number."""
        if self.max_loss_increase is not None or isinstance(getattr(self, self._end), Real):
            return None  # error messages name the smallest value that can be met
        limits = [
            as_size(self.max_test_nodes),
            # A path that is kept counts, and would be longer with more bytes.
            None if self.max_bytes is None or self.keep_path else as_size(self.max_bytes // _LEAST_BYTES),
        ]
        return min((limit for limit in limits if limit is not None), default=None)

    def _set_path(self, path: _weald.CompressionPath) -> None:
        self.path_ = {
            "l1_norm": path.l1_norm(),
            "train_loss": path.train_loss(),
            "n_test_nodes": path.n_test_nodes(),
            "n_nonzero": path.n_nonzero(),
        }

    def _cross_validate(
        self,
        samples: Samples,
        rows: RowWeights,
        of_labels: Float | None,
        folds: list[tuple[Any, Any]],
        seed: int,
        progress: Callable[[int], object] | None,
    ) -> None:
        n_points = len(self.path_["l1_norm"])
        # The paths of the folds need not be longer than the path that is cut.
        config = self._config(seed, of_labels, max(1, n_points - 1), None)
        grow = self._fold_config(samples, folds, seed)
        data = samples.X, samples.target.engine, rows, samples.known
        found = _weald.cross_validate_compression(data, grow, config, folds, self._n_threads(), progress)
        _, losses, _, full = found
        # Point s is step s of each fold. A fold whose path has ended keeps its last loss.
        losses = losses[:, np.minimum(np.arange(n_points), losses.shape[1] - 1)]
        self.path_["test_loss_mean"] = losses.mean(axis=0)
        # Losses are divided by a power of two, which changes no bit of the result, so that no square overflows.
        exponent = np.frexp(losses.max())[1]
        self.path_["test_loss_std"] = np.ldexp(np.ldexp(losses, -exponent).std(axis=0), exponent)
        self.full_loss_ = float(full.mean())

    def _chosen(self) -> _weald.Compressed:
        """The model of the path that the parameters choose."""
        path, end = self._path, getattr(self, self._end)
        budget = Budget(self.max_test_nodes, self.max_bytes, self.max_loss_increase)
        if end is not None and not self._cross_validates():
            model = self._at(end)
            check_size(f"{self._end}={end}", model.n_test_nodes, lambda: self._n_bytes(model), budget)
            return model
        curve = Curve(
            self.path_["n_test_nodes"],
            self.path_.get("test_loss_mean"),
            getattr(self, "full_loss_", np.nan),
            lambda step: self._n_bytes(path.at_step(step)),
        )
        return path.at_step(choose(curve, budget))

    def _n_bytes(self, model: _weald.Compressed) -> int:
        """The size of the file of this estimator with this model.

        The file has the digits of `max_bytes`, which has to be at least this size.
        """
        measured = self._twin()
        measured._set_model(model)
        while (size := len(weald.dumps(measured))) > (measured.max_bytes or 0):
            measured.max_bytes = size
        return size

    def _set_model(self, model: _weald.Compressed) -> None:
        self._model = model
        self.l1_norm_ = model.l1_norm
        self.n_test_nodes_ = model.n_test_nodes
        forest = self.estimator_._forest
        before = sum(tree.node_count - tree.n_leaves for tree in map(forest.tree, range(forest.n_trees)))
        self.compression_ratio_ = before / model.n_test_nodes if model.n_test_nodes else float("inf" if before else 1)
        self.step_ = self._path.step_of(model.l1_norm)

    def _ending_at(self, end: float) -> Self:
        """A new fitted estimator, which shares the path and ends elsewhere."""
        if "_path" not in self.__dict__:
            raise ValueError(
                f"this model has no path of other values of {self._end}, since it was loaded from a file, which does "
                "not contain the steps: fit the model again"
            )
        model = copy.copy(self)
        setattr(model, self._end, end)
        model._set_model(self._at(end))
        return model

    # --- copies ------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in self.__dict__.items():  # the path is immutable and shared
            other.__dict__[name] = value if name == "_path" else copy.deepcopy(value, memo)
        return other

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        unsaved = self._unsaved if self.keep_path else (*self._unsaved, "path_", "step_")
        for name in unsaved:
            state.pop(name, None)
        if "_model" in state:
            given = state["estimator"]
            state["estimator"] = unfitted(given.estimator if isinstance(given, FrozenEstimator) else given)
        return state

    # --- the fitted model --------------------------------------------------------------------------------------------

    def _scores_of(self, X: Matrix) -> Float:
        return self._model.predict_scores(X, self._n_threads(X))

    @property
    def estimators_(self) -> Sequence[BaseTree]:
        """The trees of the model, as regressors whose mean prediction is the score.

        They are created when they are accessed, and share the memory of the model.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseTree:
        return self._as_member(index, {}, self.n_features_in_)

    @property
    def feature_importances_(self) -> Float:
        """Importance of each feature: its fraction of the total decrease of impurity, averaged over the trees.

        The impurities are those of the forest before compression, at the splits of the model. Computed at each access.
        """
        return super().feature_importances_
