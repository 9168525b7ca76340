"""Forests for all kinds of y: the fit, and the fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from weald import _weald
from weald._fit import memory, stored_samples, updates
from weald._fit.bagging import BAGGING_CONSTRAINTS, BaseBagging, BaseBaggingClassifier, BaseBaggingRegressor
from weald._fit.base import PRUNING_CONSTRAINTS, BaseModel, Members, TreeParameters, WithPaths
from weald._fit.predictions import BaseClassifier
from weald._fit.samples import Samples
from weald._fit.tree import BaseTree
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input.checks import Float
from weald._input.sklearn_private import StrOptions
from weald._input.targets import CONTAINER, Target
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling as _output_scaling
from weald._parameters import output_strategy as _output_strategy
from weald._parameters.max_features import n_drawn_features
from weald._parameters.projections import (
    CLASSIFIER_CRITERIA,
    REGRESSOR_CRITERIA,
    SCOPE_CONSTRAINTS,
    Growth,
    check_grown_with,
)
from weald._parameters.types import (
    ForestClassWeight,
    LabelWeight,
    MatrixLike,
    OutputScaling,
    OutputStrategy,
    RandomState,
    fit_context,
)
from weald._rounds import callbacks as _callbacks

if TYPE_CHECKING:
    from weald._weald import _ForestConfig


class BaseForest(TreeParameters, WithPaths, BaseBagging):
    """What forests for all kinds of y share."""

    _memory_of_fit = staticmethod(memory.of_forest)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        **BAGGING_CONSTRAINTS,
        **SCOPE_CONSTRAINTS,
        **PRUNING_CONSTRAINTS,
        "output_strategy": [StrOptions({"joint", "single_target"})],
    }

    output_strategy: OutputStrategy
    projection_scope: Literal["tree", "forest"]

    @_callbacks.with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the forest to training samples.

        Tree i is a function of the data, the parameters, the seed and i. Callbacks of scikit-learn (`set_callbacks`)
        are called after each tenth of the trees.
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
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read, and one with weight 2 counts as two: exactly for multiples of 1/64, and otherwise up to the
            rounding and with the exceptions in `docs/determinism.md#sample-weights-are-counts`.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            Weights of the values of y, by which they multiply the weight of their sample: 0 for unknown values, which
            are not read, as NaN is. "stored": the stored entries of sparse y are what is known. A sample without a
            known value is left out, an output without any raises a ValueError. See `docs/missing-labels.md`.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        trees : range or None, default=None
            Grow only these trees of `range(n_estimators)`, in the same way, without out-of-bag scores. Such parts can
            be fitted on several machines and put together by `weald.merge`. `random_state` must then be an integer, and
            `warm_start` False.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit_as_task(X, y, sample_weight, y_weight, label_names, trees)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _output_strategy.check_parameters(self)

    def _forest_config(self, samples: Samples, trees: tuple[int, int]) -> _ForestConfig:
        _output_strategy.check_samples(self, samples.target)
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        return {
            "tree": self._tree_config(samples, growth),
            "trees": trees,
            "bootstrap": bool(self.bootstrap),
            "max_samples": self._n_draws(),
            "by_output": _output_strategy.is_asked(self),
        }

    def _config_again(self, samples: Samples, seed: int) -> _ForestConfig:
        """The configuration of a forest with as many trees on other samples."""
        return self._forest_config(samples, (0, self._n_trees(self._forest)))

    def _n_trees(self, forest: Any) -> int:
        return int(forest.n_trees_of_an_output)

    def _trees_at_a_time(self, target: Target) -> int:
        return target.n_outputs if _output_strategy.separates(self, target) else 1

    def _check_grown_with(self, grown: _weald.Forest, target: Target) -> None:
        _output_strategy.check_grown_with(grown, self, target)
        if _label_weight.is_given(self) and self.output_projection is None:
            _label_weight.check_grown_with(grown.criterion)
        else:
            check_grown_with(grown.criterion, self.criterion, self.output_projection, target.kind)

    def _grow(
        self, samples: Samples, config: _ForestConfig, n_threads: int, progress: Callable[[int], object] | None
    ) -> _weald.Forest:
        return _weald.fit_forest(samples.in_engine, config, n_threads, progress)

    @property
    def estimators_(self) -> Sequence[BaseTree]:
        """The trees as estimators, which are created when they are accessed and share the memory of the forest.

        With `output_strategy="single_target"`, the first trees of all outputs are first. Trees predict classes, and not
        their positions in `classes_` as those of scikit-learn's forests.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseTree:
        shared = set(self._member_class._get_param_names()) & set(self.get_params(deep=False)) - {"random_state"}
        params = {name: getattr(self, name) for name in shared}
        member = self._as_member(index, params, n_drawn_features(self.max_features, self.n_features_in_))
        if getattr(member, "class_weight", None) == "balanced_subsample":
            member.set_params(class_weight="balanced")
        for name in ("target_names_in_", "classes_", "n_classes_", "_label_format", CONTAINER):
            if name in self.__dict__:
                setattr(member, name, self.__dict__[name])
        if self._forest.by_output:
            _output_strategy.describe_member(member, index % self.n_outputs_)
        return member

    def update(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        retire: int = 10,
    ) -> Self:
        """Replace the oldest trees by trees that are grown on new samples, in the time of a fit of that many trees.

        The forest averages trees of different ages: it follows a drift with a lag of n_estimators / retire updates, and
        loses rare classes or labels of old samples with their trees. Each new tree is a function of its samples, the
        parameters, the seed of `fit` and the number of trees before. Out-of-bag scores and kept samples are deleted.
        Errors are those of `fit`, and leave the forest as it was.

        >>> from sklearn.datasets import load_iris
        >>> import weald
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = weald.RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
        >>> len(forest.update(X[1::2], y[1::2], retire=25).estimators_)
        50

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            The new samples, with the features and outputs of `fit`, a known value of each output, and some of its
            classes. Other categories are unknown.
        retire : int, default=10
            Number of trees to replace, from 1 to the number of trees.

        Returns
        -------
        self : object
            The updated estimator.
        """
        check_fitted(self)
        updates.check(self, retire)
        with fitted_at_once(self) as new:
            updates.update(new, X, y, sample_weight, y_weight, int(retire))
        return self

    @of_one_fit
    def prune_reduced_error(
        self,
        X_val: MatrixLike,
        y_val: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
    ) -> Self:
        """Prune each tree on validation samples, as `DecisionTreeClassifier.prune_reduced_error` does.

        The pruned forest is smaller, and not always better, because a forest averages the errors of trees that are too
        large.

        Parameters
        ----------
        X_val, y_val, sample_weight, y_weight : as X, y, sample_weight and y_weight in `fit`
            The validation samples. Unknown values have no loss.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator, without out-of-bag scores and kept samples. This estimator does not change.
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight, y_weight)
        pruned = copy(self)
        pruned._forest = forest
        stored_samples.drop(pruned)
        for name in self._oob_attributes:
            pruned.__dict__.pop(name, None)
        return pruned


class BaseForestClassifier(BaseForest, BaseBaggingClassifier):
    """What forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }

    class_weight: ForestClassWeight
    label_weight: LabelWeight


class BaseForestRegressor(BaseForest, BaseBaggingRegressor):
    """What forests for numerical outputs share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_output_scaling.CONSTRAINTS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    @of_one_fit
    def predict_quantiles(self, X: MatrixLike, q: ArrayLike = 0.5) -> Float:
        """Predict conditional quantiles of each output, from the training samples in the leaves that a sample reaches.

        The weight of a training sample is the average over the trees of its fraction of the weight of the leaf that is
        reached (Meinshausen, *Quantile regression forests*, 2006). It takes time in proportion to the training samples
        in these leaves, for each output. Requires `keep_rows=True`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Quantile levels, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            The quantiles, without the axis of a single output or of a `q` that is a number. Each is the smallest target
            value of a training sample at which the weights reach the level.
        """
        check_fitted(self)
        stored_samples.check_kept(self)
        shares = stored_samples.check_quantiles(q)
        found = stored_samples.quantiles(self, self.apply(X), np.atleast_1d(shares))
        found = found[:, :, 0] if shares.ndim == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found

    @of_one_fit
    def sample_y(self, X: MatrixLike, n_samples: int = 1, random_state: RandomState = 0) -> Float:
        """Draw target values from the training samples in the leaves that a sample reaches.

        All outputs of a draw come from the same training sample, so that draws follow the joint distribution. Weights
        and time are those of `predict_quantiles` for one output. Requires `keep_rows=True`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The samples to draw for.
        n_samples : int, default=1
            Number of draws for each sample of X.
        random_state : int, RandomState instance or None, default=0
            Controls the draws.

        Returns
        -------
        ndarray of shape (n_queries, n_outputs, n_samples), float64
            The drawn target values, without the axis of outputs if there is one output.
        """
        check_fitted(self)
        stored_samples.check_kept(self)
        found = stored_samples.draws(self, self.apply(X), n_samples, random_state)
        return found[:, 0] if self.n_outputs_ == 1 else found
