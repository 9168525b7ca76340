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
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the forest to training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples, dense or sparse. NaN marks a missing value. In sparse X a NaN must be stored to mark one:
            entries that are not stored are zeros. Infinite values raise a ValueError.

            Dense X is used without a copy if it is float32 in Fortran order, and sparse X if it is CSR or CSC of float32. Other
            X is converted once, and all trees share the copy.

            Values are compared in float32. If float32 cannot distinguish some values of a feature, such as identifiers above
            2**24, a `DataConversionWarning` names the feature.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The target values.

            - Regressors: numbers. In a sparse matrix, entries that are not stored are zeros.
            - Classifiers: classes, or labels. Labels are several columns of 0 and 1, or any sparse matrix of 0 and 1, which is
              never made dense; see also the parameter `multi_label`.

            If y has several columns of floats, a NaN marks an unknown value: see `y_mask`. In a frame of sparse columns NaN
            does so whether it is stored or not.

            Trees and forests keep sparse numerical y sparse, and their splits and leaves cost time in proportion to the
            stored entries. They convert it to a dense array if it has fewer than 16 outputs, if more than one entry in eight
            is not zero, if `criterion` is not "squared_error", or if `y_mask` marks some of it. Boosting and compression always
            convert it.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, and at least one of them positive. None: all samples have weight 1.

            A sample with weight zero is treated as if it were absent: its y is not read, and its features have no effect, but must
            not be infinite.

            A sample with weight 2 counts exactly as two samples with weight 1. In forests with `bootstrap=True` this holds if
            all weights are whole numbers with a mean of at most 64, but not for out-of-bag scores.

            Weights that are not multiples of 1/64, or whose sum exceeds 2**31, are rounded to multiples of some unit of at most
            n_samples * max(sample_weight) / 2**50. No positive weight becomes zero: samples lighter than the unit get the weight of
            one unit.

            If the sum of the weights would exceed the largest float64, the attribute `weighted_n_node_samples` of the fitted
            trees holds weights divided by a power of two.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are not
            read.

            The impurity of a node is computed from the known values. A leaf predicts for each output the mean of its known
            values; if it has none, it predicts the mean in its nearest ancestor that has some. A sample without any known value
            is treated as if it were absent, and an output without any known value raises a ValueError. Output projections and
            out-of-bag scores also use the known values only.

            Class weights and label weights count the samples of which an output is known; in the product of class weights of a
            sample, unknown outputs have the factor 1. Unknown values are not supported with the criteria "poisson" and
            "absolute_error", with `ccp_alpha`, or with `output_projection="pca"` for classes and labels. With a mask, the search
            for splits costs time in proportion to the number of outputs; without one, labels cost time in proportion to the
            labels that a sample has. With a mask, weighted labels are held as a float64 array for the search.
            Forests with `output_strategy="single_target"` leave the sample of an unknown value out for this output alone, with
            every criterion and with `ccp_alpha`.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        trees : range or None, default=None
            Grow only these trees of `range(n_estimators)`. The result is a part of the forest, and predicts as the forest of
            these trees does. Parts can be fitted in several processes or on several machines and put together by
            `weald.merge`. `random_state` must then be an integer and `warm_start` must be False. A part has no out-of-bag
            scores.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If an argument or a parameter is invalid. The message names it.
        MemoryError
            Before the fit starts, if the memory that it needs for certain (see `weald.estimate_fit_memory`) is not
            available; later, if the engine cannot allocate more.

        Notes
        -----
        If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.

        Tree i is a function of the data, the parameters, the seed and i. It does not depend on the layout of X, on `n_jobs`, or
        on whether the forest was grown by one fit or by several with `warm_start`.

        Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`. Trees are then grown in ten blocks, or one by one
        if there are fewer than ten; each block is a task named "trees", after which a callback gets the forest so far and can
        end the fit by returning True. The forest has fewer trees than `n_estimators` then, and is that of the same trees in
        any other fit. Every block prepares X again, which costs time where trees are small. Only `fit` itself calls callbacks:
        parts of `weald.distribute.fit`, and fits that meta-estimators calibrate out of bag, do not.
        """
        self._fit_as_task(X, y, sample_weight, y_mask, label_names, trees)
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
        data = samples.X, samples.target.engine, samples.row_weights
        return _weald.fit_forest(*data, config, n_threads, progress, samples.mask)

    @property
    def estimators_(self) -> Sequence[BaseTree]:
        """The trees as estimators, which are created when they are accessed and share the memory of the forest.

        With `output_strategy="single_target"`, these are the first trees of all outputs, then the second ones, and so on,
        each a tree of one output. Trees predict classes, as the forest does. (The trees of scikit-learn's forests predict
        positions in `classes_`.)
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
        y_mask: MatrixLike | None = None,
        retire: int = 10,
    ) -> Self:
        """Replace the oldest trees by trees that are grown on new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The new samples, with the features of `fit`. Categories that `fit` did not have are unknown.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Their target values, with the outputs of `fit`. Classes must be among those of `fit`; some may be absent.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights, as in `fit`.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y, as in `fit`. Each output must have a known value.
        retire : int, default=10
            Number of trees to replace, from 1 to the number of trees.

        Returns
        -------
        self : object
            The updated estimator.

        Raises
        ------
        ValueError, TypeError
            As in `fit`; and if the number of features or outputs is not that of `fit`, if y has classes that `fit` did
            not have, or if `retire` is out of range. The forest stays as it was after any error.
        sklearn.exceptions.NotFittedError
            If the forest is not fitted.

        Notes
        -----
        Once updates have replaced all trees of `fit`, the forest depends only on new samples. Until then it averages
        trees of different ages: it follows a drift with a lag of n_estimators / retire updates, and forgets old samples
        gradually. It differs from a forest that is fitted to all samples together, and it loses rare classes or labels
        of old samples together with their trees. Each new tree is a function of its samples, the parameters, the seed
        of `fit` and the number of trees that were grown before. Out-of-bag scores and kept samples are deleted, because
        they belong to other samples. An update takes the time of a fit of `retire` trees.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import weald
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = weald.RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
        >>> len(forest.update(X[1::2], y[1::2], retire=25).estimators_)
        50
        """
        check_fitted(self)
        updates.check(self, retire)
        with fitted_at_once(self) as new:
            updates.update(new, X, y, sample_weight, y_mask, int(retire))
        return self

    @of_one_fit
    def prune_reduced_error(
        self,
        X_val: MatrixLike,
        y_val: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
    ) -> Self:
        """Prune each tree on validation samples, by reduced-error pruning.

        The parameters, the loss and the errors are those of `DecisionTreeClassifier.prune_reduced_error`. Each tree is
        pruned on its own. The pruned forest is smaller, and not always better, because a forest averages the errors of
        trees that are too large.

        Parameters
        ----------
        X_val : {array-like, sparse matrix} of shape (n_val, n_features)
            The validation samples.
        y_val : {array-like, sparse matrix} of shape (n_val,) or (n_val, n_outputs)
            Their target values.
        sample_weight : array-like of shape (n_val,) or None, default=None
            Their weights.
        y_mask : {array-like, sparse matrix} of the shape of y_val or None, default=None
            The unknown values of y_val: True or 1. NaN in several columns is unknown as well. Unknown values have no
            loss.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator, without out-of-bag scores and kept samples. This estimator does not change.
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight, y_mask)
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

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Quantile levels, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            The quantiles, without the axis of outputs if there is one output, and without the axis of quantiles if `q`
            is a number. Each quantile is the target value of a training sample: the smallest for which the weights of
            the training samples with values up to it reach the level.

        Raises
        ------
        ValueError
            If the forest was fitted without `keep_rows=True`, or if `q` is invalid.

        Notes
        -----
        The weight of a training sample is the average over the trees of its fraction of the weight of the leaf that is
        reached, or zero if it is not in that leaf (Meinshausen 2006, Quantile regression forests). As in this source,
        all training samples count, also those that a tree has not drawn. The time is in proportion to the training
        samples in the leaves that are reached, for each output, in addition to a pass over the leaves of all training
        samples.
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

        All outputs of a draw come from the same training sample, so that draws follow the joint distribution.

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

        Raises
        ------
        ValueError
            If the forest was fitted without `keep_rows=True`, or if `n_samples` is invalid.

        Notes
        -----
        Training samples are drawn with the weights of `predict_quantiles`. The time is that of `predict_quantiles` for
        one output.
        """
        check_fitted(self)
        stored_samples.check_kept(self)
        found = stored_samples.draws(self, self.apply(X), n_samples, random_state)
        return found[:, 0] if self.n_outputs_ == 1 else found
