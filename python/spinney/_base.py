"""What all estimators share: parameters to the engine's configuration, fitted state, predictions by kind of y."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib.parallel import ThreadingBackend, get_active_backend
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.metaestimators import available_if

from spinney import (
    _best,
    _categories,
    _constraints,
    _frames,
    _label_weight,
    _masks,
    _output_scaling,
    _projection,
    _proof,
    _spinney,
    _validation,
)
from spinney._at_once import of_one_fit
from spinney._docs import documented
from spinney._projection import Growth
from spinney._proof import Kind, check_fitted
from spinney._sparse import csr_of, is_sparse, r2
from spinney._validation import CONTAINER, Float, LabelFormat, Matrix, Number, RowWeights, Target, label_classes

if TYPE_CHECKING:
    from spinney._spinney import _TreeConfig

# No result depends on the number of threads, and more of them than processors have nothing to do.
_MOST_THREADS = max(256, os.cpu_count() or 1)


def count_threads(n_jobs: int | None) -> int:
    """Threads that `n_jobs` stands for, None in the context of joblib that is active.

    As `joblib.effective_n_jobs` but for backends of processes, which warns and says 1 where processes may have no
    children, such as those of `multiprocessing.Pool`: the engine has threads, which may be there.
    """
    backend, in_context = get_active_backend()
    if not getattr(backend, "supports_sharedmem", False):
        backend = ThreadingBackend()
    found = int(backend.effective_n_jobs(in_context if n_jobs is None else n_jobs))
    return min(found, _MOST_THREADS)


@contextmanager
def progress_bar(
    n_trees: int | None, verbose: int, name: str, unit: str = "tree"
) -> Iterator[Callable[[int], object] | None]:
    """A tqdm bar when asked for, on a terminal and installed; else nothing. None is a number not known before."""
    if not verbose or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=n_trees, desc=name, unit=unit) as bar:
        yield lambda n_done: bar.update(n_done - bar.n)


class Members(Sequence[Any]):
    """The trees of an ensemble as estimators, made when asked for; they share its memory."""

    def __init__(self, ensemble: Any) -> None:
        self._owner = ensemble

    def __len__(self) -> int:
        n_trees: int = self._owner._forest.n_trees
        return n_trees

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._owner._member(i) for i in range(len(self))[index]]
        return self._owner._member(range(len(self))[index])

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self._owner!r}>"


# Only of trees and forests: a key that an estimator has no parameter for fails scikit-learn's checks.
PRUNING_CONSTRAINTS: dict[str, list[Any]] = {"ccp_alpha": [Number(Real, 0.0, None, closed="left")]}


class BaseModel(MultiOutputMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters, checks and fitted state of trees and forests."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Number(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Number(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Number(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Number(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Number(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        **_projection.CONSTRAINTS,
    }
    # How thresholds are chosen, where it is not a parameter.
    _splitter: ClassVar[str] = "best"
    # scikit-learn's forests say so when y is a column, its trees do not.
    _warn_column: ClassVar[bool] = False

    # Where the fitted model is, and which attributes go with it: see `spinney._proof`.
    _kind: ClassVar[Kind]

    # The fitted model; of a tree, a forest of one.
    _forest: _spinney.Forest
    n_features_in_: int
    n_outputs_: int
    target_names_in_: NDArray[np.object_]
    categories_: _categories.Known

    @property
    def is_categorical_(self) -> NDArray[np.bool_] | None:
        """Which features are categories, (n_features,); None where none is."""
        check_fitted(self)
        mask = _categories.mask_of(self)
        return None if mask is None else np.array(mask)

    def set_output(self, *, transform: Any = None, predict: str | None = None) -> Any:
        """Choose what predictions are: arrays, or frames of pandas or polars with the names of the outputs.

        Parameters
        ----------
        transform : {"default", None}, default=None
            Kept for scikit-learn's signature: there is no `transform` here whose output could be set.
        predict : {"default", "pandas", "polars"}, default=None
            Of `predict`, `predict_proba`, `predict_log_proba` and `decision_function`: "default" are arrays, None
            leaves the choice as it is. Other methods, `staged_predict` and `predict_topk` among them, return arrays
            always.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For other values. A prediction of sparse labels raises it with "polars", which has no sparse columns.
        ImportError
            When the library is not installed.

        Notes
        -----
        A frame has a column for each output, called as in `target_names_in_` or else "y0" and so on; probabilities and
        scores of one output of classes have one for each class, called as in `classes_`. Several outputs of classes
        have a list of such frames. One column without others is a Series. With "pandas" the index is that of X where
        it has one, and sparse labels are sparse columns. The values are those of the arrays.

        The choice is kept by copies, pickles and model files, and not by `sklearn.base.clone`: scorers,
        cross-validation and searches of scikit-learn expect probabilities as arrays. `score` uses arrays in any case.

        Examples
        --------
        >>> from sklearn.datasets import load_linnerud
        >>> import spinney
        >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
        >>> tree = spinney.DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, Y)
        >>> tree.set_output(predict="pandas").predict(X[:2]).columns.tolist()
        ['Weight', 'Waist', 'Pulse']
        """
        if transform is not None and not (isinstance(transform, str) and transform == "default"):
            raise ValueError(
                f"transform is {transform!r}, but {type(self).__name__} has no transform; accepted: None, and "
                "predict=... for predictions as frames"
            )
        if predict is None:
            return self
        _frames.check_container(predict)
        if predict == "default":
            self.__dict__.pop(_frames.OUTPUT, None)
        else:
            setattr(self, _frames.OUTPUT, str(predict))
        return self

    def _twin(self) -> Any:
        """A shallow copy, of attributes that belong together: `fitted_at_once` assigns all of them at once."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    n_jobs: int | None

    def _n_threads(self, X: Any = None) -> int:
        """Threads for work on X: one row has nothing to share."""
        return 1 if X is not None and X.shape[0] == 1 else count_threads(self.n_jobs)

    # Whether cells of y may be unknown.
    _masks_y: ClassVar[bool] = False
    # Whether sparse numbers of y stay sparse, and so do predictions.
    _keeps_sparse_y: ClassVar[bool] = False

    @abstractmethod
    def _check_y(self, y: Any, weights: Float | None, n_samples: int, y_mask: Any = None) -> Target:
        """Bring y into the engine's form."""

    def _row_weights(self, target: Target, weights: Float | None) -> RowWeights:
        """Sample weights and class weights."""
        return weights, None

    def _set_outputs(self, target: Target) -> None:
        """Fitted attributes that describe y."""
        if getattr(self, "warm_start", False):
            where = _frames.different(target.names, getattr(self, "target_names_in_", None))
            if where is not None:
                raise ValueError(f"y has {where}: warm_start=True needs the columns of the fit before, in their order")
        self.n_outputs_ = target.n_outputs
        self.__dict__.pop("target_names_in_", None)
        if target.names is not None:
            self.target_names_in_ = target.names

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        if not reset:
            X = _validation.check_X(self, _categories.encode(self, X), reset=False)
            _categories.check_codes(self, X)
            return X
        X, known = _categories.learn(self, X)
        X = _validation.check_X(self, X, reset=True)
        _categories.declare(self, X, known)
        return X

    def _check_fit(
        self, X: Any, y: Any, sample_weight: Any, y_mask: Any = None, label_names: Any = None
    ) -> tuple[Matrix, Target, Float | None]:
        """X, y and weights; rows without a known cell of y weigh nothing."""
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        X = self._check_X(X, reset=True)
        weights = _validation.check_weights(sample_weight, X.shape[0])
        target = _validation.with_label_names(self._check_y(y, weights, X.shape[0], y_mask), label_names)
        return X, target, _masks.weights_of_known(target.mask, weights, target.names)

    def _tree_config(self, n_samples: int, target: Target, growth: Growth, weights: Float | None = None) -> _TreeConfig:
        """Parameters of trees grown on `n_samples` rows of positive weight, of which `weights` are the weights."""
        of_labels = _label_weight.to_engine(self, target, weights)
        criterion = _projection.check_criterion(self.criterion, self.output_projection, target.kind)
        config = self._growth_config(n_samples, criterion, growth.seed, target.n_outputs)
        config.update(of_labels)  # type: ignore[typeddict-item]
        config["output_projection"] = _projection.to_engine(self.output_projection, self.n_projections, target, growth)
        return config

    def _growth_config(self, n_samples: int, criterion: str, seed: int, n_outputs: int) -> _TreeConfig:
        """The same, but for projections."""
        leaf, split = self.min_samples_leaf, self.min_samples_split
        leaf = leaf if isinstance(leaf, Integral) else ceil(leaf * n_samples)
        split = split if isinstance(split, Integral) else max(2, ceil(split * n_samples))
        return {
            "criterion": criterion,
            "splitter": getattr(self, "splitter", self._splitter),
            "max_depth": as_size(self.max_depth),
            "min_samples_split": min(int(split), sys.maxsize),
            "min_samples_leaf": min(int(leaf), sys.maxsize),
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "min_weight_leaf": float(getattr(self, "min_weight_leaf", 0.0)),
            "max_features": n_drawn_features(self.max_features, self.n_features_in_),
            "max_leaf_nodes": as_size(self.max_leaf_nodes),
            "min_impurity_decrease": float(self.min_impurity_decrease),
            "seed": seed,
            "output_projection": None,
            "ccp_alpha": float(getattr(self, "ccp_alpha", 0.0)),
            "categories": _categories.to_engine(self),
            "monotonic_cst": _constraints.monotonic_to_engine(self, n_outputs),
            "interaction_cst": _constraints.groups_to_engine(self),
            **_output_scaling.to_engine(self, criterion),
        }

    def _check_predict(self, X: Any) -> Matrix:
        check_fitted(self)
        return self._check_X(X, reset=False)

    @abstractmethod
    def _known_target(self) -> Target:
        """What y was at fit, without its rows."""

    def _reduced_error_pruned(self, X_val: Any, y_val: Any, sample_weight: Any) -> _spinney.Forest:
        """The model, each tree pruned on held-out rows."""
        X = self._check_predict(X_val)
        weights = _validation.check_weights(sample_weight, X.shape[0])
        X, y_val, weights = _validation.without_absent(X, y_val, weights)
        y = self._known_target().like(y_val, X.shape[0], type(self).__name__)
        return self._forest.prune_reduced_error(X, y, weights, self._n_threads())

    def _predict_in_blocks(self, X: Any, build: Callable[[Matrix], Any]) -> Any:
        """CSR of what `build` makes of some rows at a time, which were checked."""
        return _best.stacked(self._check_predict(X), self.n_outputs_, build)

    def _scores(self, X: Any) -> Float:
        X = self._check_predict(X)
        return self._forest.predict(X, self._n_threads(X))

    @property
    def feature_importances_(self) -> Float:
        """Share of the decrease of impurity that is due to each feature, the mean over trees.

        Sums to 1, or is all zero when no tree has a split. Features with many distinct values are favoured: where that
        matters, prefer `sklearn.inspection.permutation_importance`. With `output_projection` the impurity is that of
        the projected outputs; `spinney.inspection.feature_importances` measures others. O(nodes).
        """
        check_fitted(self)
        return self._forest.feature_importances()

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Float:
        """Mean prediction, (n_columns, n_points), at each row of `grid`, which has a column for each target feature.

        scikit-learn's trees and forests have such a method, which `sklearn.inspection.partial_dependence` calls.
        """
        points = np.ascontiguousarray(_validation.as_float32(grid))
        features = [int(feature) for feature in target_features]
        return np.ascontiguousarray(self._means_at(features, points).T)

    def _means_at(self, features: list[int], points: NDArray[np.float32]) -> Float:
        return self._forest.partial_dependence(features, points, self._n_threads())

    # --- copies ------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """What a copy or a file keeps."""
        return {**super().__getstate__()}

    def __getstate__(self) -> dict[str, Any]:
        # The engine's model as bytes: skops makes objects of what their states hold, and the engine's have none.
        state = self._state()
        attribute = _proof.ENGINE[self._kind]
        if (model := _proof.engine_of(state.get(attribute))) is not None:
            state[attribute] = model.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What pickle, joblib and skops hand over was made by anybody.
        state = dict(state)
        attribute = _proof.ENGINE[self._kind]
        if isinstance(state.get(attribute), bytes):
            state[attribute] = _proof.engine_from(self._kind, state[attribute])
        self._prove(state)
        super().__setstate__(state)

    def __copy__(self) -> Any:
        other = self._twin()
        other._prove(other.__dict__)
        return other

    def _prove(self, state: dict[str, Any]) -> None:
        _proof.prove(type(self).__name__, self._kind, isinstance(self, ClassifierMixin), state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class BaseEnsemble(BaseModel):
    """What forests, boosted and compressed models have and trees have not: members."""

    _warn_column: ClassVar[bool] = True

    @property
    @abstractmethod
    def estimators_(self) -> Sequence[Any]:
        """The members as estimators."""

    def __len__(self) -> int:
        """Number of members."""
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """The member at an index, as an estimator."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """The members, as estimators."""
        return iter(self.estimators_)

    @of_one_fit
    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the leaf that each row reaches in each tree, (n_samples, n_trees)."""
        X = self._check_predict(X)
        return self._forest.apply(X, self._n_threads(X)).astype(np.int64)


def as_size(value: Any) -> int | None:
    return None if value is None else min(int(value), sys.maxsize)


def n_drawn_features(max_features: Any, n_features: int) -> int:
    """Number of features drawn at each node."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


def n_positive(weights: Float | None, n_samples: int) -> int:
    """Number of rows that exist: those of positive weight."""
    return n_samples if weights is None else int(np.count_nonzero(weights))


class BaseRegressor(RegressorMixin, BaseModel):  # type: ignore[misc]
    """Predictions of numbers."""

    def _check_y(self, y: Any, weights: Float | None, n_samples: int, y_mask: Any = None) -> Target:
        rules = {"warn_column": self._warn_column, "weights": weights, "masks": self._masks_y, "y_mask": y_mask}
        return _validation.numbers(y, n_samples, type(self).__name__, **rules, keeps_sparse=self._keeps_sparse_y)

    def _set_outputs(self, target: Target) -> None:
        super()._set_outputs(target)
        self.__dict__.pop(CONTAINER, None)
        if target.container is not None:
            setattr(self, CONTAINER, target.container)

    def _known_target(self) -> Target:
        return Target("numbers", None, self.n_outputs_, [], None, names=getattr(self, "target_names_in_", None))

    @of_one_fit
    @documented
    def score(self, X: Any, y: Any, sample_weight: Any = None, y_mask: Any = None) -> float:
        """R² of the predictions for X, the mean over outputs, as every regressor of scikit-learn has it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
        sample_weight : array-like of shape (n_samples,), default=None
        {y_mask_of_score}

        Returns
        -------
        float
            With masked cells the mean over outputs that have others.
        """
        y = _validation.canonical(y, "y") if is_sparse(y) else y
        if self._is_sparse_numbers() and y_mask is None:
            X = self._check_predict(X)
            return r2(y, lambda rows: self._forest.predict(X[rows], self._n_threads()), X.shape[0], sample_weight)
        y = y.toarray() if is_sparse(y) else y
        truth = _masks.to_score(y, y_mask)
        if truth is None:
            return float(super().score(X, y, sample_weight))
        scores = self._scores(X)
        return _masks.r2(*_masks.alike(truth, scores), sample_weight)

    @of_one_fit
    def predict(self, X: Any) -> Any:
        """Predict numbers: the mean over trees of the mean of the training rows in the leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Used as it is when float32, dense or CSR; converted once otherwise. CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            Sparse where trees and forests were fitted to sparse y. A sparse result is built by blocks of rows, so that
            memory is that of the result.
        """
        if self._is_sparse_numbers():
            build = sparse.csr_array if getattr(self, CONTAINER) == "array" else sparse.csr_matrix
            return self._predict_in_blocks(X, lambda rows: build(self._forest.predict(rows, self._n_threads(rows))))
        scores = self._scores(X)
        return scores[:, 0] if self.n_outputs_ == 1 else scores

    def _is_sparse_numbers(self) -> bool:
        check_fitted(self)
        return hasattr(self, CONTAINER)


def _has_labels(estimator: Any) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


def _ranks_columns(estimator: Any) -> bool:
    check_fitted(estimator)
    return estimator.n_outputs_ == 1 or estimator._label_format is not None


# Labels are supported, yet scikit-learn's tag `multi_label` stays at its default: it calls for a check that an array of
# probabilities is strictly between 0 and 1, and a frequency may be either.
class BaseClassifier(ClassifierMixin, BaseModel):  # type: ignore[misc]
    """Predictions of classes and labels.

    `classes_` and `n_classes_` are an array and a number for one output, lists of them for several. For labels they
    are the numbers of the labels, 0 to d - 1, and d, as of `sklearn.multiclass.OneVsRestClassifier`, whose predictions
    have the same form: a label keeps its column whether or not both 0 and 1 occur. One or two labels have `classes_` of
    shape (d, 2), 0 and 1 in each row: scikit-learn's scorers would take two numbers for two classes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"multi_label": ["boolean", StrOptions({"auto"})]}

    multi_label: str | bool

    classes_: Any
    n_classes_: Any
    _label_format: LabelFormat | None

    def _check_y(self, y: Any, weights: Float | None, n_samples: int, y_mask: Any = None) -> Target:
        rules: dict[str, Any] = {"warn_column": self._warn_column, "multi_label": self._multi_label()}
        rules |= {"masks": self._masks_y, "y_mask": y_mask}
        return _validation.classes(y, weights, n_samples, type(self).__name__, **rules)

    def _multi_label(self) -> str | bool:
        """Whether y is labels, as far as it is said."""
        return self.multi_label if isinstance(self.multi_label, str) else bool(self.multi_label)

    def _known_target(self) -> Target:
        names = getattr(self, "target_names_in_", None)
        if self._label_format is not None:
            return Target("labels", None, self.n_outputs_, [], None, self._label_format, names)
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        sizes = [len(found) for found in classes]
        return Target("classes", (None, sizes), self.n_outputs_, classes, None, names=names)

    def _row_weights(self, target: Target, weights: Float | None) -> RowWeights:
        if target.mask is not None and self.class_weight is not None:
            raise ValueError("class_weight is set, but y has masked cells, accepted: class_weight=None with these")
        return _validation.row_weights(self.class_weight, target, weights)

    def _set_outputs(self, target: Target) -> None:
        super()._set_outputs(target)
        self._label_format = target.label_format
        if target.kind == "labels":
            self.classes_, self.n_classes_ = label_classes(target.n_outputs), target.n_outputs
            return
        single = target.n_outputs == 1
        self.classes_ = target.classes[0] if single else target.classes
        self.n_classes_ = len(self.classes_) if single else [len(classes) for classes in target.classes]

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        if state.get("_label_format") is not None:
            # Files and pickles hold the numbers of the labels. In the type of `classes_`: an unpickled dtype is an
            # object of its own, and where those that were one stay one, a model is pickled to the same bytes again.
            state["classes_"] = np.arange(state["n_outputs_"]).astype(self.classes_.dtype)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        form = self.__dict__.get("_label_format")
        if form is not None:
            self.classes_ = label_classes(self.n_outputs_).astype(self.classes_.dtype)

    def _split_outputs(self, scores: Float) -> list[Float]:
        return np.split(scores, np.cumsum(self.n_classes_)[:-1], axis=1)

    @of_one_fit
    @documented
    def score(self, X: Any, y: Any, sample_weight: Any = None, y_mask: Any = None) -> float:
        """Share of the rows of X whose prediction is right, of labels in all of them, as scikit-learn has it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
        sample_weight : array-like of shape (n_samples,), default=None
        {y_mask_of_score}

        Returns
        -------
        float
            With masked cells the share of the rows that have others, right in all of these.
        """
        truth = _masks.to_score(y, y_mask)
        if truth is None:
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X)
        predicted = predicted.toarray() if is_sparse(predicted) else np.asarray(predicted)
        known, predicted, mask = _masks.alike(truth, predicted.reshape(len(predicted), -1))
        return _masks.accuracy(known == predicted, mask, sample_weight)

    @of_one_fit
    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        The class of largest probability, the first of `classes_` where several are equal; the labels of probability
        above one half.

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
            return self._label_format.build(scores > 0.5)
        if self.n_outputs_ == 1:
            return self.classes_.take(scores.argmax(axis=1))
        parts = zip(self.classes_, self._split_outputs(scores), strict=True)
        columns = [classes.take(part.argmax(axis=1)) for classes, part in parts]
        return np.stack(columns, axis=1)

    def _is_sparse_labels(self) -> bool:
        check_fitted(self)
        return self._label_format is not None and self._label_format.container is not None

    def _build_labels(self, X: Matrix) -> Any:
        assert self._label_format is not None
        return self._label_format.build(self._positive(X))

    def _positive(self, X: Matrix) -> NDArray[np.bool_]:
        """Labels that are predicted for rows that were checked."""
        return self._forest.predict(X, self._n_threads(X)) > 0.5

    @of_one_fit
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities: the mean over trees of the frequencies in the leaf.

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
        scores = self._scores(X)
        if self.n_outputs_ == 1 or self._label_format is not None:
            return scores
        return self._split_outputs(scores)

    @of_one_fit
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of what `predict_proba` returns; of zero it is minus infinity."""
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in proba] if isinstance(proba, list) else np.log(proba)

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    @of_one_fit
    def decision_function(self, X: Any) -> Float:
        """Scores of labels, (n_samples, n_labels): probabilities less one half, positive for the labels predicted.

        Only after fit on labels.
        """
        return self._scores(X) - 0.5

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    @of_one_fit
    def topk_names(self, X: Any, k: int, **options: Any) -> NDArray[np.object_]:
        """Predict the names of the `k` labels that `predict_topk` returns. Only after fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        k : int
            From 1 to the number of labels.
        **options
            What else `predict_topk` takes.

        Returns
        -------
        ndarray of shape (n_samples, k), of strings as objects
            Names of `target_names_in_`, the best label first; `.tolist()` makes lists of them. None where
            `predict_topk` names no label, with -1.

        Raises
        ------
        ValueError
            When `k` is out of range, and after a fit on labels without names.
        """
        names: NDArray[np.object_] | None = getattr(self, "target_names_in_", None)
        if names is None:
            raise ValueError("labels have no names: fit with label_names=..., or with a frame whose columns have names")
        indices, _ = self.predict_topk(X, k, **options)
        found: NDArray[np.object_] = names[indices]
        found[indices < 0] = None
        return found

    @available_if(_ranks_columns)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_topk(
        self, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` labels (or classes) of largest probability, without holding all probabilities.

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
            Labels, or positions in `classes_`; the largest probability first, the lower index where equal. Where
            `min_score` and `exclude` leave fewer than `k`, -1 in the last places of the row.
        scores : float64 ndarray of shape (n_samples, k)
            Their probabilities; 0 where the index is -1.

        Raises
        ------
        ValueError, TypeError
            When `k` or `min_score` is out of range, or `exclude` does not fit.
        """
        X = self._check_predict(X)
        width = self._forest.width
        k, floor = _best.checked_k(k, width), _best.checked_min_score(min_score)
        marked = _best.to_engine(exclude, X.shape[0], width)
        return _best.ranked(*self._forest.predict_topk(X, k, self._n_threads(X), marked), floor)

    @available_if(_has_labels)  # type: ignore[untyped-decorator]
    @of_one_fit
    def predict_sparse(self, X: Any, min_score: float = 0.0) -> Any:
        """Predict the probabilities of labels that are at least `min_score`, as a sparse matrix.

        Only after fit on labels. The values are those of `predict_proba`, to the bit; nothing of size n_samples ×
        n_labels is made unless so many are stored. Cost and memory are those of the labels in the leaves that are
        reached; of boosted and compressed models, in which all labels have scores, those of blocks of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `predict`.
        min_score : float, default=0
            Least probability that is stored, from 0 to 1. With 0 all that are not zero.

        Returns
        -------
        CSR of shape (n_samples, n_labels), float64
            A matrix when y was one of scipy's sparse matrices, else an array; indices rise within a row.

        Raises
        ------
        ValueError
            When `min_score` is out of range.
        """
        X = self._check_predict(X)
        found = self._at_least(X, _best.checked_min_score(min_score))
        assert self._label_format is not None
        return (self._label_format.container or sparse.csr_array)(found)

    def _at_least(self, X: Matrix, floor: float) -> Any:
        """Probabilities of labels that are positive and at least the floor, for rows that were checked."""
        arrays = self._forest.predict_at_least(X, floor, self._n_threads(X))
        return csr_of(arrays, (X.shape[0], self.n_outputs_))
