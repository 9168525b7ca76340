"""Forests compressed: a few of their nodes, weighted anew, in place of all of them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from spinney import (
    _best,
    _categories,
    _constraints,
    _frames,
    _label_weight,
    _masks,
    _memory,
    _spinney,
    _validation,
)
from spinney._arrays import Tree, decision_path
from spinney._at_once import fitted_at_once, of_one_fit
from spinney._base import (
    BaseClassifier,
    BaseEnsemble,
    BaseRegressor,
    Members,
    as_size,
    n_drawn_features,
    progress_bar,
)
from spinney._compact import CompactReport, compact_leaves
from spinney._docs import documented
from spinney._path_choice import Budget, Curve, check_size, choose, fold_rows
from spinney._projection import Growth, derived_seed
from spinney._proof import check_fitted
from spinney._validation import Float, Matrix, Number, RowWeights, Target, draw_seed, is_float
from spinney.forest import BaseForest, ExtraTreesClassifier, ExtraTreesRegressor
from spinney.tree import BaseTree, DecisionTreeRegressor

if TYPE_CHECKING:
    from spinney._spinney import _CompressConfig, _ForestConfig

__all__ = ["CompactReport", "CompressedForestClassifier", "CompressedForestRegressor", "compact_leaves"]

# The exact path: penalties from the largest that matters down to its thousandth, as in scikit-learn's `lasso_path`.
_N_ALPHAS, _LEAST_ALPHA = 100, 1e-3
# Conditions of optimality hold to a ten-thousandth of the penalty, or so many sweeps are made.
_TOL = 1e-4
_MAX_ITER = 1000

# Bytes that a test node takes at least in a model file: itself, and the leaf that it adds.
_LEAST_BYTES = 14


def _ranks_columns(estimator: Any) -> bool:
    check_fitted(estimator)
    return estimator.n_outputs_ == 1 or estimator._label_format is not None


class BaseCompressed(BaseEnsemble):
    """What compressed forests have, whatever y is."""

    _kind = "compressed"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        # `_check_parameters` says which estimators are accepted.
        "method": [StrOptions({"path", "grow"})],
        "solver": [StrOptions({"stagewise", "lasso"})],
        "loss": [StrOptions({"squared_error"})],
        "step_size": [Number(Real, 0.0, None, closed="neither")],
        "step_outputs": [Interval(Integral, 1, None, closed="left"), None],
        "l1_norm": [StrOptions({"cv"}), Number(Real, 0.0, None, closed="left"), None],
        "cv": ["cv_object"],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "standardize": ["boolean"],
        "max_test_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "max_loss_increase": [Number(Real, -1.0, None, closed="left"), None],
        "learning_rate": [Number(Real, 0.0, 1.0, closed="right")],
        "candidate_window": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _default_estimator: ClassVar[type[BaseForest]]
    # The forest before compression; neither is saved, both can be large.
    _unsaved: ClassVar[tuple[str, ...]] = ("_path", "estimator_")

    estimator_: Any
    l1_norm_: float
    n_test_nodes_: int
    compression_ratio_: float
    step_: int
    path_: dict[str, NDArray[Any]]
    full_loss_: float

    _model: _spinney.Compressed
    _path: _spinney.CompressionPath
    # The loss that the model was fitted with.
    _loss: str

    @property
    def _forest(self) -> _spinney.Forest:  # type: ignore[override]
        return self._model.forest

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, y_mask: Any = None, *, label_names: Any = None) -> Any:
        """Grow the forest, unless it is a `FrozenEstimator`, and compress it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Dense or sparse, without infinity. NaN is a missing value; in sparse X a stored NaN, as absent entries are
            zeros. Used where it lies when Fortran-ordered float32 or CSR or CSC of float32; otherwise converted on one
            copy. Every layout gives the same model.
            Values are compared in float32: a `DataConversionWarning` names columns, such as ids above 2**24, of which
            it cannot tell some values apart.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
            Numbers for a regressor, of which NaN among several columns is a cell that is not known, see `y_mask`. For a
            classifier classes, or labels: several columns of 0 and 1, or any sparse matrix of them. With a frozen
            estimator, of the outputs and classes that it was grown on; rows need not be the same.
        sample_weight : array-like of shape (n_samples,), default=None
            Finite, not negative, not all zero. A row of weight zero is no row, whatever y is there (X must not contain
            infinity there either). A row of weight 2 is two rows but for the rounding of sums; folds of `cv` are of
            rows, whatever they weigh. Weights below 2**-40 of the largest count as that.
        {y_mask_of_compression}
        {label_names}

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad input or parameters, named in the message; a budget that cannot be met, with the least that can.
        sklearn.exceptions.NotFittedError
            When `estimator` is frozen and not fitted.
        MemoryError
            Before anything is grown where the parts of `spinney.estimate_fit_memory` that are certain to be needed
            cannot be had; later for others that the engine cannot allocate.

        After any failure, Ctrl-C included, the estimator is as it was before.

        Notes
        -----
        The model is a function of the data, the parameters and the seed: the same for any `n_jobs`.

        Memory: eight bytes for each row of each tree, a few numbers for each node of the forest and for each column of
        each row, never rows × nodes; in cross-validation, as much and a forest for each fold that is being worked on,
        of which there are `n_jobs` at a time.
        """
        with fitted_at_once(self) as new:
            new._fit(X, y, sample_weight, y_mask, label_names)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, y_mask: Any, label_names: Any) -> None:
        self._check_parameters()
        if y_mask is not None and not self._masks_y:
            raise ValueError("y_mask is given, but y holds classes or labels, accepted in compression: None")
        if self._is_frozen():
            check_is_fitted(self._given())
        if _constraints.has_directions(self._given()):
            raise ValueError(
                f"estimator has monotonic_cst, which {type(self).__name__} does not keep: coefficients of nodes have "
                "no direction; accepted: monotonic_cst=None"
            )
        X, target, weights = self._check_fit(X, y, sample_weight, y_mask, label_names)
        if target.mask is not None and (self.method, self.solver) != ("path", "stagewise"):
            given = 'method="grow"' if self.method == "grow" else 'solver="lasso"'
            raise ValueError(
                f"y has cells that are not known, but {given}, whose steps ask for all cells of a row; accepted with "
                'them: method="path" with solver="stagewise"'
            )
        of_labels = _label_weight.of_labels(self, target, weights)
        _memory.reserve(self, _memory.of_checked(self, X, target, weights is not None))
        seed = draw_seed(self.random_state)
        folds = self._folds(X, target, weights) if self._cross_validates() else []
        self._set_outputs(target)
        frozen = self._is_frozen()
        self.estimator_ = self._fitted_before(target) if frozen else self._grown(X, y, target, weights, seed)
        self._loss = self.loss
        rows = self.estimator_._row_weights(target, weights)
        # How many steps there will be is not known.
        with progress_bar(None, self.verbose, type(self).__name__, unit="step") as progress:
            self._path = self._whole_path(X, target, rows, of_labels, seed, progress)
            self._set_path(self._path)
            if folds:
                n_done = self._path.n_steps
                in_all = None if progress is None else lambda n_more: progress(n_done + n_more)
                self._cross_validate(X, target, rows, of_labels, folds, seed, in_all)
            else:
                self.__dict__.pop("full_loss_", None)
        self._set_model(self._chosen())

    # --- parameters --------------------------------------------------------------------------------------------------

    def _cross_validates(self) -> bool:
        return isinstance(self.l1_norm, str)

    def _is_frozen(self) -> bool:
        """Whether `estimator` is fitted and to be taken as it is."""
        return isinstance(self.estimator, FrozenEstimator)

    def _given(self) -> Any:
        """`estimator` without the wrapper by which scikit-learn keeps fitted estimators from being fitted again."""
        return self.estimator.estimator if self._is_frozen() else self.estimator

    def _check_parameters(self) -> None:
        """What no table can say: parameters that contradict each other."""
        given = self._given()
        if isinstance(given, type):
            raise ValueError(f"estimator is the class {given.__name__}, accepted: an object of it, {given.__name__}()")
        if given is None and not self._is_frozen():
            fits = True
        else:
            fits = isinstance(given, BaseForest | BaseTree) and is_classifier(given) == is_classifier(self)
        if not fits:
            kind = "classifiers" if is_classifier(self) else "regressors"
            raise ValueError(
                f"estimator is {type(given).__name__}, accepted: trees and forests of spinney that are {kind}, or None "
                f"for {self._default_estimator.__name__}()"
            )
        if self.method == "grow":
            if self.solver != "stagewise":
                raise ValueError(f"solver is {self.solver!r}, but method='grow' has none: leave it at 'stagewise'")
            if self.standardize:
                raise ValueError("standardize is True, but method='grow' has raw indicators: set standardize=False")
        if self.max_loss_increase is not None and not self._cross_validates():
            raise ValueError(
                f"max_loss_increase is {self.max_loss_increase}, which is measured by cross-validation, but l1_norm is "
                f"{self.l1_norm!r}: set l1_norm='cv'"
            )

    def _budget(self) -> Budget:
        return Budget(self.max_test_nodes, self.max_bytes, self.max_loss_increase)

    def _config(
        self, seed: int, of_labels: Float | None, max_steps: int | None, max_test_nodes: int | None
    ) -> _CompressConfig:
        method = "grow" if self.method == "grow" else self.solver
        return {
            "method": method,
            "loss": self.loss,
            "standardize": bool(self.standardize),
            "seed": seed,
            "step_size": float(self.step_size),
            "step_outputs": as_size(self.step_outputs),
            "output_weights": None if of_labels is None else of_labels.tolist(),
            "max_steps": max_steps,
            "max_test_nodes": max_test_nodes,
            "learning_rate": float(self.learning_rate),
            "max_nodes": max_steps,
            "candidate_window": as_size(self.candidate_window),
            "n_alphas": _N_ALPHAS,
            "eps": _LEAST_ALPHA,
            "tol": _TOL,
            "max_iter": _MAX_ITER,
        }

    def _folds(self, X: Matrix, target: Target, weights: Float | None) -> list[tuple[Any, Any]]:
        """Rows to train on and to test on, of positive weight."""
        n_samples = X.shape[0]
        exists = np.ones(n_samples, dtype=np.bool_) if weights is None else weights > 0
        y = target.original
        if target.kind == "classes" and target.n_outputs == 1:
            y = y[:, 0]
        if self.cv is None or isinstance(self.cv, Integral):
            rows = np.flatnonzero(exists)
            n_folds = 5 if self.cv is None else int(self.cv)
            classes = target.kind == "classes" and target.n_outputs == 1
            most = int(np.unique(y[rows], return_counts=True)[1].max()) if classes else len(rows)
            if n_folds > most:
                where = "the largest class has rows" if classes else "there are rows"
                if most < 2:
                    raise ValueError(
                        f"cv is {n_folds} folds, more than {where} of positive weight: {most}, n_samples={len(rows)}"
                    )
                warnings.warn(
                    f"cv is {n_folds} folds, more than {where} of positive weight: {most} folds are made", stacklevel=5
                )
                n_folds = most
            cv = check_cv(n_folds, y[rows] if classes else None, classifier=classes)
            y = y[rows]
        else:
            rows = np.arange(n_samples)
            cv = check_cv(self.cv)
        try:
            splits = [(rows[train], rows[test]) for train, test in cv.split(np.zeros((len(rows), 1)), y)]
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(f"cv is {self.cv!r}, but the rows cannot be split so: {error}") from error
        if len(splits) < 2:
            raise ValueError(f"cv is {self.cv!r}, which has {len(splits)} folds; accepted: at least 2")
        return [fold_rows(split, number, exists) for number, split in enumerate(splits)]

    # --- the forest --------------------------------------------------------------------------------------------------

    def _grown(self, X: Matrix, y: Any, target: Target, weights: Float | None, seed: int) -> Any:
        """A forest of the estimator's parameters. A random state of its own is kept."""
        given = self._given()
        forest = self._default_estimator() if given is None else clone(given)
        if is_classifier(self):
            forest.set_params(multi_label=target.kind == "labels")
        own: dict[str, Any] = {"n_jobs": self.n_jobs, "random_state": derived_seed(seed, ())}
        params = forest.get_params(deep=False)
        forest.set_params(**{name: value for name, value in own.items() if params.get(name, own) is None})
        # X holds codes by now, whatever it came as.
        forest.set_params(categorical_features=_categories.mask_of(self))
        single = target.n_outputs == 1 and target.kind != "labels"
        y_mask = _masks.dense(target.mask)
        forest.fit(X, target.original[:, 0] if single else y, sample_weight=weights, y_mask=y_mask)
        for name in ("feature_names_in_", "target_names_in_", "categories_"):
            if hasattr(self, name):
                setattr(forest, name, getattr(self, name))
        return forest

    @property
    def categorical_features(self) -> Any:
        """Those of the forest."""
        given = self._given()
        return "from_dtype" if given is None else given.categorical_features

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        known = getattr(self._given(), "categories_", None) if reset and self._is_frozen() else None
        if known is None:
            return super()._check_X(X, reset=reset)
        X = _validation.check_X(self, _categories.encode(self._given(), X), reset=True)
        self.categories_ = known
        return X

    def _fitted_before(self, target: Target) -> Any:
        """The fitted estimator, if it was grown on such X and y."""
        forest = self._given()
        name = type(forest).__name__
        if forest.n_features_in_ != self.n_features_in_:
            raise ValueError(f"X has {self.n_features_in_} features, but {name} was fitted on {forest.n_features_in_}")
        old, new = (getattr(m, "feature_names_in_", None) for m in (forest, self))
        if old is not None and new is not None and not np.array_equal(old, new):
            raise ValueError(f"X has other feature names than {name} was fitted on")
        if forest.n_outputs_ != target.n_outputs:
            raise ValueError(f"y has {target.n_outputs} outputs, but {name} was fitted on {forest.n_outputs_}")
        names = (getattr(m, "target_names_in_", None) for m in (self, forest))
        if (where := _frames.different(*names)) is not None:
            raise ValueError(f"y has {where}: {name} was fitted on other columns")
        if not is_classifier(self):
            return forest
        if (forest._label_format is None) != (self._label_format is None):
            kinds = ["labels" if m._label_format is not None else "classes" for m in (self, forest)]
            raise ValueError(f"y holds {kinds[0]}, but {name} was fitted on {kinds[1]}")
        parts = [m.classes_ if isinstance(m.classes_, list) else [m.classes_] for m in (forest, self)]
        if not all(map(np.array_equal, *parts)):
            raise ValueError(f"y has other classes than {name} was fitted on")
        return forest

    def _fold_config(self, target: Target, folds: list[tuple[Any, Any]], seed: int) -> _ForestConfig:
        """How forests of the folds are grown: as the whole one, on as many rows as the first has to train on."""
        forest = self.estimator_
        train = np.zeros(target.original.shape[0])
        train[folds[0][0]] = 1.0
        if isinstance(forest, BaseForest):
            config = forest._forest_config(target, train, (0, forest._forest.n_trees))
        else:
            growth = Growth(seed, range(1))
            tree = forest._tree_config(len(folds[0][0]), target, growth, train)
            config = {"tree": tree, "trees": (0, 1), "bootstrap": False, "max_samples": None}
        config["tree"]["seed"] = seed
        return config

    # --- the path ----------------------------------------------------------------------------------------------------

    def _whole_path(
        self, X: Matrix, target: Target, rows: RowWeights, of_labels: Float | None, seed: int, progress: Any
    ) -> _spinney.CompressionPath:
        weights, rule = rows
        rule = "balanced" if isinstance(rule, str) else rule  # of each tree's own rows, only while it grows
        by_row = _spinney.weights_by_row(target.engine, (weights, rule))
        config = self._config(seed, of_labels, as_size(self.max_steps), self._end_of_path())
        forest, y_mask = self.estimator_._forest, _masks.to_engine(target.mask)
        n_threads = self._n_threads()
        return _spinney.compress_forest(forest, X, target.engine, by_row, config, None, n_threads, progress, y_mask)

    def _end_of_path(self) -> int | None:
        """Test nodes above which no model is looked for."""
        if self.max_loss_increase is not None or isinstance(self.l1_norm, Real):
            return None  # what is refused is to say by how much
        limits = [
            as_size(self.max_test_nodes),
            None if self.max_bytes is None else as_size(self.max_bytes // _LEAST_BYTES),
        ]
        return min((limit for limit in limits if limit is not None), default=None)

    def _set_path(self, path: _spinney.CompressionPath) -> None:
        self.path_ = {
            "l1_norm": path.l1_norm(),
            "train_loss": path.train_loss(),
            "n_test_nodes": path.n_test_nodes(),
            "n_nonzero": path.n_nonzero(),
        }

    def _cross_validate(
        self,
        X: Matrix,
        target: Target,
        rows: RowWeights,
        of_labels: Float | None,
        folds: list[tuple[Any, Any]],
        seed: int,
        progress: Any,
    ) -> None:
        n_points = len(self.path_["l1_norm"])
        # No fold need go further than the path that is to be cut.
        config = self._config(seed, of_labels, max(1, n_points - 1), None)
        grow = self._fold_config(target, folds, seed)
        threads = self._n_threads()
        _, losses, _, full = _spinney.cross_validate_compression(
            X, target.engine, rows, grow, config, folds, threads, progress, _masks.to_engine(target.mask)
        )
        # Point s is step s of each fold; those that have ended stay as they were.
        losses = losses[:, np.minimum(np.arange(n_points), losses.shape[1] - 1)]
        self.path_["test_loss_mean"] = losses.mean(axis=0)
        self.path_["test_loss_std"] = losses.std(axis=0)
        self.full_loss_ = float(full.mean())

    def _chosen(self) -> _spinney.Compressed:
        """The model of the path that the parameters ask for."""
        path, budget = self._path, self._budget()
        if self.l1_norm is not None and not self._cross_validates():
            model = path.at(float(self.l1_norm))
            check_size(f"l1_norm={self.l1_norm}", model.n_test_nodes, lambda: len(model.to_bytes()), budget)
            return model
        curve = Curve(
            self.path_["n_test_nodes"],
            self.path_.get("test_loss_mean"),
            getattr(self, "full_loss_", np.nan),
            path.bytes_at,
        )
        return path.at_step(choose(curve, budget))

    def _set_model(self, model: _spinney.Compressed) -> None:
        self._model = model
        self.l1_norm_ = model.l1_norm
        self.n_test_nodes_ = model.n_test_nodes
        before = _n_test_nodes(self.estimator_._forest)
        self.compression_ratio_ = before / model.n_test_nodes if model.n_test_nodes else float("inf" if before else 1)
        self.step_ = self._path.step_of(model.l1_norm)

    @of_one_fit
    def at(self, l1_norm: float) -> Any:
        """The model of another ℓ1 norm of the same path.

        Parameters
        ----------
        l1_norm : float
            Sum of the lengths of the coefficients, not negative. Above the end of the path it is the end of the path.

        Returns
        -------
        CompressedForestRegressor or CompressedForestClassifier
            A fitted estimator that shares the path with this one, whose parameter `l1_norm` is the norm. This one stays
            as it is.

        Raises
        ------
        ValueError
            For a norm that is negative or no finite number; for a model that was loaded from a file or a pickle, which
            has no path.

        Notes
        -----
        Nothing is grown: O(nodes of the full forest · width). Budgets do not apply. With solver="lasso", penalties are
        searched for that give the norm.
        """
        check_fitted(self)
        is_number = isinstance(l1_norm, Real) and not isinstance(l1_norm, bool) and is_float(l1_norm)
        if not is_number or not 0 <= float(l1_norm) < np.inf:
            raise ValueError(f"l1_norm is {l1_norm!r}, accepted: a finite number from 0")
        if "_path" not in self.__dict__:
            raise ValueError(
                "the path is not saved with a model: this one, loaded from a file, has no other norms; fit again"
            )
        model = copy.copy(self)
        model.l1_norm = float(l1_norm)
        model._set_model(self._path.at(float(l1_norm)))
        return model

    # --- copies ------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in self.__dict__.items():  # the path is immutable, and shared
            other.__dict__[name] = value if name == "_path" else copy.deepcopy(value, memo)
        return other

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        for name in self._unsaved:
            state.pop(name, None)
        frozen = state.get("estimator")
        if isinstance(frozen, FrozenEstimator) and "_model" in state:
            state["estimator"] = clone(frozen.estimator)
        return state

    # --- the fitted model --------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Float:
        return self._scores_of(self._check_predict(X))

    def _scores_of(self, X: Matrix) -> Float:
        """Raw scores, (n_samples, n_columns), of X that was checked."""
        return self._model.predict_scores(X, self._n_threads(X))

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees that are left, as regressors of the scores, made when asked for; they share the model's memory.

        Scores are the mean of what they predict.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> DecisionTreeRegressor:
        member = DecisionTreeRegressor()
        member.tree_ = Tree(self._forest.only(index))
        member.n_features_in_ = self.n_features_in_
        member.max_features_ = n_drawn_features(None, self.n_features_in_)
        member.n_outputs_ = member.tree_.n_outputs
        if hasattr(self, "categories_"):
            member.categories_ = self.categories_
        return member

    @property
    def feature_importances_(self) -> Float:
        """Share of the decrease of impurity that is due to each feature, the mean over the trees that are left.

        Impurities are those of the forest before compression, at the splits that are left. Sums to 1, or is all zero
        when there is no split. O(nodes).
        """
        return super().feature_importances_

    @of_one_fit
    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """The nodes that each row passes.

        Returns
        -------
        indicator : CSR matrix of shape (n_samples, n_nodes)
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Tree i has the columns from `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]`.
        """
        X = self._check_predict(X)
        return decision_path(self._forest, X, self._n_threads())


def _n_test_nodes(forest: _spinney.Forest) -> int:
    trees = map(forest.tree, range(forest.n_trees))
    return sum(tree.node_count - tree.n_leaves for tree in trees)


class CompressedForestRegressor(BaseCompressed, BaseRegressor):
    """A forest for numbers of which a few nodes are left, with values of their own.

    Every node of every tree is seen as an indicator of the rows that pass it, and a sparse linear model over all of
    them is fitted. Splits with nothing but zero coefficients below them go; the rest is an ordinary forest again, which
    predicts the same as the linear model. Often it is a tenth or a hundredth of the forest, and predicts better.

    Parameters
    ----------
    estimator : tree or forest of spinney, default=None
        What to compress: cloned and fitted. None is `ExtraTreesRegressor()`. Where `random_state` or `n_jobs` is None,
        it gets those of this estimator. In `sklearn.frozen.FrozenEstimator(forest)` it is fitted already and taken as
        it is: rows passed to `fit` then only find the coefficients, and the forests of the folds are grown on them.
    method : {"path", "grow"}, default="path"
        "path": the coefficients follow an ℓ1 path from none to many, found by `solver`. "grow": a globally induced
        forest; starting from the roots, again and again the best node below those that are there is added, with a
        share of its best weight.
    solver : {"stagewise", "lasso"}, default="stagewise"
        With "path". "stagewise": steps of length `step_size` on the node that lowers the loss most; no coefficient ever
        moves back. "lasso": the exact minimum of the loss for each of 100 penalties on the sum of the lengths of the
        coefficients (of all outputs of a node together: the group lasso).
    loss : {"squared_error"}, default="squared_error"
        What is minimised. Several outputs are scaled to unit variance for it.
    step_size : float, default=0.01
        Length of a stagewise step; outputs are scaled to unit variance.
    step_outputs : int, default=None
        Most outputs (labels, columns of classes) that a stagewise step moves: those of largest gradient in the node.
        None moves all. Of many labels, few make leaves that are mostly zero, which are stored by column. The lasso and
        "grow" do not look at it.
    l1_norm : "cv", float or None, default="cv"
        Sum of the lengths of the coefficients at which the path is cut. "cv": where the mean test loss over the folds
        is least, the first if there are several. None: the end of the path.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Folds, with the meaning of scikit-learn's `check_cv`: an integer is so many blocks of consecutive rows (those of
        positive weight), for one output of classes of equal shares of classes; rows in some order want
        `KFold(10, shuffle=True)`. None is 5. Where there are fewer rows, or the largest class has fewer, a number is
        lowered to that, with a warning. Each fold grows a forest of its own.
    max_steps : int, default=None
        Most steps; with "grow", most nodes that get a weight. Without, the path ends where no step lowers the loss. The
        lasso does not look at it.
    standardize : bool, default=False
        Scale indicators to unit variance: small nodes cost less, as in the thesis. Not with "grow".
    max_test_nodes : int, default=None
        Most splits of the model, from 0.
    max_bytes : int, default=None
        Most bytes of the model as it is saved.
    max_loss_increase : float, default=None
        Take the smallest model whose cross-validated loss is not above (1 + `max_loss_increase`) times that of the
        forest, in place of the model of least loss. From -1; needs l1_norm="cv".
    learning_rate : float, default=0.1
        With "grow": share of a node's best weight that it gets, above 0 and up to 1.
    candidate_window : int, default=None
        With "grow": nodes drawn at random each time, among which the best is chosen; None looks at all.
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws: for forests, those of the folds included, and the candidates of
        "grow".
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.

    Attributes
    ----------
    l1_norm_ : float
        Norm of the model's coefficients.
    n_test_nodes_ : int
        Splits that are left.
    compression_ratio_ : float
        Splits before, divided by splits after; infinite when none is left.
    path_ : dict of ndarray of shape (n_steps + 1,)
        Of each step, from the constant on: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero" (nodes with a
        coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the folds at the same step.
        The path ends with the first step above `max_test_nodes`. Losses are mean squared errors.
    step_ : int
        Place of the model in `path_`; the place before it, when its norm lies between two.
    full_loss_ : float
        With cross-validation, the mean test loss of the folds' forests before compression.
    estimator_ : tree or forest
        The fitted forest before compression; not saved with the model.
    estimators_ : sequence of DecisionTreeRegressor
        The trees that are left, whose mean is the prediction. Made when asked for; they share the model's memory.
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name.
    feature_importances_ : ndarray of shape (`n_features_in_`,)

    Notes
    -----
    A pickle holds the small model alone: neither the path nor the forest, and in place of a frozen estimator one that
    is not fitted. `at` is then not to be had.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 7; T. Hastie et al., *Forward stagewise regression and the monotone lasso*, Electronic
    Journal of Statistics 2007; J.-M. Begon, A. Joly, P. Geurts, *Globally induced forest: a prepruning compression
    scheme*, ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import spinney
    >>> X, y = make_friedman1(n_samples=500, random_state=0)
    >>> small = spinney.CompressedForestRegressor(cv=3, random_state=0).fit(X[:300], y[:300])
    >>> small.compression_ratio_ > 20
    True
    >>> small.score(X[300:], y[300:]) > small.estimator_.score(X[300:], y[300:])
    True

    The same path, cut earlier:

    >>> smaller = small.at(small.l1_norm_ / 2)
    >>> smaller.n_test_nodes_ < small.n_test_nodes_
    True
    """

    _masks_y = True
    _default_estimator = ExtraTreesRegressor

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "path",
        solver: str = "stagewise",
        loss: str = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Any = "cv",
        cv: Any = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.solver = solver
        self.loss = loss
        self.step_size = step_size
        self.step_outputs = step_outputs
        self.l1_norm = l1_norm
        self.cv = cv
        self.max_steps = max_steps
        self.standardize = standardize
        self.max_test_nodes = max_test_nodes
        self.max_bytes = max_bytes
        self.max_loss_increase = max_loss_increase
        self.learning_rate = learning_rate
        self.candidate_window = candidate_window
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> Float:
        """Predict numbers: the sum of the coefficients of the nodes that a row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        predicted: Float = super().predict(X)
        return predicted


class CompressedForestClassifier(BaseCompressed, BaseClassifier):
    """A forest for classes and labels of which a few nodes are left, with values of their own.

    As `CompressedForestRegressor`, with a column of scores for each label, one for two classes, and otherwise one for
    each class of each output; a node has a coefficient in every column, or in none.

    Parameters
    ----------
    estimator : tree or forest of spinney, default=None
        What to compress: cloned and fitted, or as it is in `sklearn.frozen.FrozenEstimator(forest)`. None is
        `ExtraTreesClassifier()`. Where `random_state` or `n_jobs` is None, it gets those of this estimator. Its class
        weights weigh the rows here too; its `label_weight` says which nodes there are to choose from, and no more.
    loss : {"squared_error", "log_loss"}, default="squared_error"
        What is minimised. "squared_error" is that of scores which estimate 0 and 1. "log_loss" is that of half the
        log-odds, for labels and two classes, and of the softmax for more classes.
    method, solver, step_size, step_outputs, l1_norm, cv, max_steps, standardize, max_test_nodes, max_bytes, \
max_loss_increase, learning_rate, candidate_window, n_jobs, random_state, verbose
        As in `CompressedForestRegressor`; columns of 0 and 1 are not scaled.
    multi_label : {"auto", True, False}, default="auto"
        As in `RandomForestClassifier`; "auto" is what `estimator` says.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        How often each label counts in the loss: that which is minimised, that of the folds by which the path is cut,
        and those of `path_` and `full_loss_` are means over labels by these weights. "balanced" and "propensity" as in
        `RandomForestClassifier`, of all rows of the fit by `sample_weight`, one set of weights for all folds. An array
        are finite numbers, none negative, one positive; their ratios alone count. A label of weight 2 is the label
        twice, so that lengths, of `step_size`, `l1_norm` and for `step_outputs`, are those of coefficients times the
        root of (weight / mean of the weights that are not zero). A label of weight zero is no label: it chooses
        nothing, and its scores stay the constant of the path. Scores and probabilities are those of each label, and are
        not weighted. For labels alone: where y holds classes, see `class_weight` of the estimator, or `sample_weight`.

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
        Classes in rising order; for several outputs one array for each. For labels, their
        numbers; one or two labels have 0 and 1 in each row, (n_labels, 2).
    n_classes_ : int, or list of int
    path_ : dict of ndarray of shape (n_steps + 1,)
        As in `CompressedForestRegressor`. Training losses are those that are minimised; test losses are shares of rows
        whose class is wrong, and of labels the loss that is minimised.
    l1_norm_, n_test_nodes_, compression_ratio_, step_, full_loss_, estimator_, estimators_
        As in `CompressedForestRegressor`.
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name; or `label_names` of `fit`.
    feature_importances_ : ndarray of shape (`n_features_in_`,)

    Notes
    -----
    A node's coefficients of all labels come and go together, and without `label_weight` frequent labels decide most
    about the nodes that are kept. That of `estimator` says which nodes there are to choose from, `label_weight` here
    which of them stay; either may be given without the other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> small = spinney.CompressedForestClassifier(cv=3, random_state=0).fit(X, y)
    >>> small.n_test_nodes_ < 200 < 20 * small.n_test_nodes_ * small.compression_ratio_
    True
    >>> small.score(X, y) > 0.9
    True

    Labels, sparse on both sides, in a model of at most ten splits; the two best labels of each row:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 30), density=0.2, rng=0, format="csr")
    >>> Y = (X[:, :10] != 0).astype(int)
    >>> small = spinney.CompressedForestClassifier(l1_norm=None, max_test_nodes=10, random_state=0).fit(X, Y)
    >>> small.n_test_nodes_
    10
    >>> indices, scores = small.predict_topk(X[:3], k=2)
    >>> indices.shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "loss": [StrOptions({"squared_error", "log_loss"})],
        **_label_weight.CONSTRAINTS,
        **BaseClassifier._parameter_constraints,
    }
    _default_estimator = ExtraTreesClassifier

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "path",
        solver: str = "stagewise",
        loss: str = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Any = "cv",
        cv: Any = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        multi_label: str | bool = "auto",
        label_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.solver = solver
        self.loss = loss
        self.step_size = step_size
        self.step_outputs = step_outputs
        self.l1_norm = l1_norm
        self.cv = cv
        self.max_steps = max_steps
        self.standardize = standardize
        self.max_test_nodes = max_test_nodes
        self.max_bytes = max_bytes
        self.max_loss_increase = max_loss_increase
        self.learning_rate = learning_rate
        self.candidate_window = candidate_window
        self.multi_label = multi_label
        self.label_weight = label_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @of_one_fit
    def predict(self, X: Any) -> Any:
        """Predict classes or labels: those of `decision_function` above zero, or the class whose score is largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            Of the type of y: for labels of its dtype, and sparse when y was. A sparse result is built by blocks of
            rows, so that memory is that of the result.
        """
        if self._is_sparse_labels():
            return self._predict_in_blocks(X, self._build_labels)
        scores = self._scores(X)
        if self._label_format is not None:
            return self._label_format.build(scores > self._threshold)
        if self.n_outputs_ == 1:
            two = self.n_classes_ == 2
            return self.classes_.take(scores[:, 0] > self._threshold if two else scores.argmax(axis=1))
        parts = zip(self.classes_, self._split_outputs(scores), strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in parts], axis=1)

    @of_one_fit
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        With "squared_error" the scores, those near 0 and 1 and beyond brought between them by a rising function, and of
        classes divided by their sum; with "log_loss" 1 / (1 + exp(-2f)) of a score f, or the softmax. They rank as
        `decision_function` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One output: columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            Labels: the probability that each is 1.
        list of ndarray of shape (n_samples, n_classes)
            Several outputs of classes: one array for each, as in scikit-learn.
        """
        X = self._check_predict(X)
        proba = self._model.predict(X, self._n_threads(X))
        return proba if self.n_outputs_ == 1 or self._label_format is not None else self._split_outputs(proba)

    @of_one_fit
    def decision_function(self, X: Any) -> Any:
        """Scores.

        Those of "squared_error", which estimate 0 and 1, less one half: a label, or the second of two classes, is
        predicted where its score is above zero, whatever the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Two classes; those of "squared_error" are probabilities less one half.
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            One output of more classes, in the order of `classes_`; labels.
        list of ndarray of shape (n_samples, n_classes)
            Several outputs of classes: one array for each.
        """
        check_fitted(self)
        if self._threshold and self.n_outputs_ == 1 and self._label_format is None and self.n_classes_ == 2:
            return self.predict_proba(X)[:, 1] - self._threshold
        scores = self._scores(X) - self._threshold
        if self._label_format is not None:
            return scores
        if self.n_outputs_ == 1:
            return scores[:, 0] if self.n_classes_ == 2 else scores
        return self._split_outputs(scores)

    @available_if(_ranks_columns)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_topk(
        self, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` labels (or classes of one output) of largest probability, without holding all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        k : int
            From 1 to the number of labels or classes.
        min_score : float, default=0
            Name none whose probability is below; from 0 to 1.
        exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
            Labels (or positions in `classes_`) not to be named: those that are not zero in the row, or a list for all
            rows.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            Labels, or positions in `classes_`; the largest first, the lower index where equal. Where `min_score` and
            `exclude` leave fewer than `k`, -1 in the last places of the row.
        scores : float64 ndarray of shape (n_samples, k)
            Their probabilities; 0 where the index is -1.

        Raises
        ------
        ValueError, TypeError
            When `k` or `min_score` is out of range, or `exclude` does not fit.
        """
        X = self._check_predict(X)
        width = self.n_outputs_ if self._label_format is not None else self.n_classes_
        k, floor = _best.checked_k(k, width), _best.checked_min_score(min_score)
        marked = _best.to_engine(exclude, X.shape[0], width)
        return _best.ranked(*self._model.predict_topk(X, k, self._n_threads(X), marked), floor)

    def _at_least(self, X: Matrix, floor: float) -> Any:
        def of_block(rows: Matrix) -> Any:
            return _best.at_least(self._model.predict(rows, self._n_threads()), floor)

        return _best.stacked(X, self.n_outputs_, of_block)

    def _multi_label(self) -> str | bool:
        said, given = super()._multi_label(), self._given()
        if said == "auto" and given is not None:
            said = given._multi_label()
        return said

    @property
    def _threshold(self) -> float:
        """Raw score above which a label, or the second of two classes, is predicted."""
        return 0.5 if self._loss == "squared_error" else 0.0

    def _positive(self, X: Matrix) -> NDArray[np.bool_]:
        return self._scores_of(X) > self._threshold
