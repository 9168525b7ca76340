"""What all estimators share: the engine's configuration, the fitted state, and predictions for each kind of y."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from joblib.parallel import ThreadingBackend, get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, clone, is_classifier
from sklearn.utils import Tags, TransformerTags

from weald import _weald
from weald._fit.arrays import Tree, decision_path, leaf_indicator, leaves_of
from weald._fitted.at_once import FittedAsOne, of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import Proof, check_fitted
from weald._input import checks, frames, masks, messages, registry, schema, targets
from weald._input import schema as _schema
from weald._input.checks import Float, Matrix, Number, RowWeights, boolean, count_samples
from weald._input.schema import Schema
from weald._input.sklearn_private import Interval, RealNotInt, StrOptions, validate_parameter_constraints
from weald._input.sparse import Raw
from weald._input.targets import LabelFormat, Target
from weald._parameters import growing, weighting
from weald._parameters.growing import Growth
from weald._parameters.types import (
    CategoricalFeatures,
    Estimator,
    InteractionCst,
    MatrixLike,
    MaxFeatures,
    MonotonicCst,
    NProjections,
    OutputProjection,
    RandomState,
    SampleWeight,
    Scores,
    YWeight,
    available_if,
)
from weald._ranking import ranks
from weald._rounds.linear_start import Added
from weald.projection import CONSTRAINTS

if TYPE_CHECKING:
    from weald._fit.tree import BaseTree


class NamedOutputs:
    """Estimators whose predictions can be frames."""

    n_outputs_: int
    # After a fit on classes or labels.
    n_classes_: Any
    classes_: Any
    _label_format: LabelFormat | None

    def set_output(
        self,
        *,
        transform: Literal["default", "pandas", "polars"] | None = None,
        predict: Literal["default", "pandas", "polars"] | None = None,
    ) -> Self:
        """Set the container of predictions: arrays, or frames of pandas or polars with the names of the outputs.

        A frame has a column for each output, named as in `target_names_in_` or "y0", "y1" and so on; scores of one
        output of classes have one for each class, those of several are a list of frames, and a single column is a
        Series. pandas keeps the index of X and sparse labels; polars has no sparse columns, and raises a ValueError for
        them. Copies, pickles and model files keep the setting; `sklearn.base.clone` does not keep that of `predict`, as
        scorers need arrays.

        >>> from sklearn.datasets import load_linnerud
        >>> import weald
        >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
        >>> tree = weald.DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, Y)
        >>> tree.set_output(predict="pandas").predict(X[:2]).columns.tolist()
        ['Weight', 'Waist', 'Pulse']

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            The container of the result of `transform`, if there is one: only "default", a sparse matrix, is supported;
            with the others, which a pipeline may set, `transform` raises a ValueError. None: no change.
        predict : {"default", "pandas", "polars"} or None, default=None
            The container of the results of `predict`, `predict_proba`, `predict_log_proba` and `decision_function`.
            "default": arrays, which other methods always return. None: no change.

        Returns
        -------
        self : object
            This estimator.
        """
        chosen: dict[str, Any] = {}
        if transform is not None and hasattr(self, "transform"):
            chosen[frames.TRANSFORM] = {"transform": frames.check_name(transform, "transform")}
        elif transform is not None and not (isinstance(transform, str) and transform == "default"):
            raise ValueError(
                f"transform must be None, since {type(self).__name__} has no method transform, got {transform!r}; "
                "use predict=... for predictions as frames"
            )
        if predict is not None:
            frames.check_predict(predict)
            chosen[frames.OUTPUT] = str(predict)
        self.__dict__.update(chosen)
        if predict == "default":
            del self.__dict__[frames.OUTPUT]
        return self


def has_labels(estimator: NamedOutputs) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


def ranks_columns(estimator: NamedOutputs) -> bool:
    """Whether columns of scores can be ranked: after a fit on labels, one output of classes, or several numbers."""
    check_fitted(estimator)
    if not is_classifier(estimator):
        return estimator.n_outputs_ > 1
    return estimator.n_outputs_ == 1 or estimator._label_format is not None


class BestLabels:
    """Models that rank their labels, the classes of one output, or several numbers."""

    n_outputs_: int
    n_classes_: Any
    classes_: Any
    _label_format: Any

    @available_if(ranks_columns)
    @of_one_fit
    def predict_topk(
        self,
        X: MatrixLike,
        k: int,
        *,
        names: bool = False,
        scores: Scores = "auto",
        min_score: float | None = None,
        exclude: MatrixLike | None = None,
    ) -> tuple[NDArray[Any], Float]:
        """Predict the `k` labels, classes of one output, or outputs of several numbers, with the largest scores.

        The scores of all labels are never held at once. Thresholds are not used. Scores of numbers, such as ratings, are
        those of `predict`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        k : int
            Number of labels to return, from 1 to the number of labels or classes.
        names : bool, default=False
            Whether names are returned in place of indices: those in `target_names_in_`, or classes of one output.
        scores : {"auto", "probability", "margin"}, default="auto"
            The scores that are returned: those of `predict_proba` or of `decision_function`, which for the first of two
            classes is the negative one of the second. "auto" are probabilities if there are any.
        min_score : float or None, default=None
            Labels with a lower score, in the unit of the scores, are not returned. None returns all.
        exclude : {array-like, sparse matrix} of shape (n_samples, n_labels), list of int or None, default=None
            Labels that are not returned, such as those that a sample has already: True or 1 in a matrix, or entries of
            a sparse one that are not zero; or a list of labels for all samples. Classes of one output are given by
            positions.

        Returns
        -------
        indices : ndarray of shape (n_samples, k), int64 or with `names=True` of objects
            Indices of labels, positions in `classes_`, or their names, in decreasing order of the score; of equal ones,
            the lower index comes first. If `min_score` and `exclude` leave fewer than `k`, the last places are -1, or
            None for names.
        scores : float64 ndarray of shape (n_samples, k)
            Their scores. Where there is no label, the probability 0, or minus infinity as the margin or the number.

        Raises
        ------
        ValueError, TypeError
            If `k` or `min_score` is out of range, if there are no such `scores` or names, or if `exclude` does not have a valid
            shape, type or values.
        """
        check_fitted(self)
        X, n_samples = self._to_rank(X)
        has_classes = is_classifier(self) and self._label_format is None
        width = self.n_classes_ if has_classes else self.n_outputs_
        has_probabilities, has_margins = hasattr(self, "predict_proba"), hasattr(self, "decision_function")
        as_margins = ranks.are_margins(scores, has_probabilities, has_margins, type(self).__name__)
        k, floor = ranks.checked_k(k, width), ranks.checked_floor(min_score, as_margins)
        of_columns = self._names_to_rank() if boolean("names", names) else None
        given = None if exclude is None else frames.names_of(exclude, "exclude")
        known = getattr(self, "target_names_in_", None)
        frames.check_same_names(given, known, "exclude", "its columns must be the labels, in the order of y")
        marked = ranks.excluded(exclude, n_samples, width)
        indices, found = self._k_best(X, k, marked, as_margins=as_margins)
        labels, found = ranks.padded_by_floor(indices, found, floor, are_margins=as_margins)
        return labels if of_columns is None else ranks.named_labels(labels, of_columns), found

    def _to_rank(self, X: MatrixLike) -> tuple[Any, int]:
        """Samples as `_k_best` takes them, and their number."""
        checked: Any = self._check_predict(X) if isinstance(self, BaseModel) else X
        return checked, count_samples(checked)

    @abstractmethod
    def _k_best(self, X: Any, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        """The `k` best labels or classes of samples, without the marked ones, and their scores."""

    def _names_to_rank(self) -> NDArray[Any]:
        """What columns of scores are: the classes, or the names of the labels."""
        if is_classifier(self) and self._label_format is None:
            return np.asarray(self.classes_)
        found: NDArray[np.object_] | None = getattr(self, "target_names_in_", None)
        if found is None:
            of_labels = "labels", "label_names must be passed to fit, or y"
            what, given = of_labels if is_classifier(self) else ("outputs", "y")
            raise ValueError(f"names must be False for {what} without names: {given} must be a frame with column names")
        return found


@dataclass(frozen=True)
class Samples:
    """What a fit is made of: X, y and the weights, after their checks."""

    X: Matrix
    target: Target
    # Sample weights, which are zero for samples without a known value of y; None if all are one.
    weights: Float | None
    # The same with the rule of class weights, or weights by class: see `weights_by_row` of the engine.
    row_weights: RowWeights
    # What is known of y in the engine's form; None if all is known.
    known: Any

    @property
    def n(self) -> int:
        """The number of samples."""
        n: int = self.X.shape[0]
        return n

    @property
    def in_engine(self) -> tuple[Matrix, Any, RowWeights, Any]:
        """The samples as an argument of the engine."""
        return self.X, self.target.engine, self.row_weights, self.known

    @property
    def n_positive(self) -> int:
        """The number of samples with positive weight."""
        weights = self.row_weights[0]
        return self.n if weights is None else int(np.count_nonzero(weights))

    def of(self, estimator: BaseModel, target: Target | None = None) -> Samples:
        """The same samples for an estimator with other class weights, or with another form of y."""
        target = self.target if target is None else target
        row_weights = estimator._row_weights(target, self.weights)
        return replace(self, target=target, row_weights=row_weights, known=target.known_in_engine)


def prepare(estimator: BaseModel, given: Fit, *, goes_on: bool = False) -> Samples:
    """Check the arguments of a fit, and set the attributes of `estimator` that describe X.

    Samples without a known value of y get the weight zero. Categories are those of the samples with positive weight. A
    fit that goes on, as it does with `warm_start`, keeps the features of the fit before.
    """
    name, y, y_weight = type(estimator).__name__, given.y, given.y_weight
    checks.check_is_given(y, name)
    targets.compare(given.X, y)
    kept = estimator._kept_schema(given.X, goes_on)
    X = estimator._check_X(given.X, reset=True, kept=kept)
    n = X.shape[0]
    weights = None if given.sample_weight is None else checks.check_weights(given.sample_weight, n)
    target = estimator._check_y(y, weights, n, y_weight)
    if is_classifier(estimator) and given.label_names is None and estimator._multi_label() is not True:
        targets.warn_of_form(target, weights)
    if given.label_names is not None:
        target = targets.with_label_names(target, given.label_names, y_weight)
    if y_weight is not None and not estimator._masks_y:
        masks.check_nothing(y_weight, target.original.shape, name, y)
    if target.known is not None:
        weights = masks.weights_of_known(target.known, weights, target.names)
    if target.known is not None and target.n_outputs == 1:
        # The weights of one output are those of samples.
        if target.known.is_graded:
            own = masks.dense(target.known.weights, np.float64)[:, 0]
            weights = own if weights is None else own * weights
        target = replace(target, known=masks.KnownCells(target.mask) if target.kind == "numbers" else None)
    if weights is not None and not weights.all() and (kept is None or kept.n_features == X.shape[1]):
        X = schema.of_samples(estimator, given.X, X, weights > 0, learned=kept is None)
    if weights is not None and not goes_on:
        messages.of_tiny_weights(weights, estimator._least_weights(int(np.count_nonzero(weights))))
    return Samples(X, target, weights, estimator._row_weights(target, weights), target.known_in_engine)


# The results do not depend on the number of threads, and more threads than processors would be idle.
_MOST_THREADS = max(256, os.cpu_count() or 1)


def count_threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` stands for; None is the number of the active joblib context.

    This differs from `joblib.effective_n_jobs` for backends of processes: joblib warns and returns 1 in processes that
    must not have children, such as those of `multiprocessing.Pool`, but the engine's threads are allowed there.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must be None, a positive integer, or a negative one, of which -1 is all cores, got 0")
    backend, in_context = get_active_backend()
    if not getattr(backend, "supports_sharedmem", False):
        backend = ThreadingBackend()
    found = int(backend.effective_n_jobs(in_context if n_jobs is None else n_jobs))
    return min(found, _MOST_THREADS)


class Members(Sequence[Any]):
    """The trees of an ensemble as estimators, which are created when they are accessed and share its memory."""

    def __init__(self, ensemble: BaseEnsemble) -> None:
        self._owner = ensemble

    def __len__(self) -> int:
        return self._owner._forest.n_trees

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._owner._member(i) for i in range(len(self))[index]]
        return self._owner._member(range(len(self))[index])

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self._owner!r}>"


def keep(estimator: BaseEstimator, given: dict[str, Any]) -> None:
    """Set the parameters of a constructor, given as its `locals()`, without changing them."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def unfitted(estimator: Any) -> Any:
    """A parameter that is an estimator, without what it learned: fits clone it. A frozen one is left as it is."""
    return clone(estimator) if hasattr(estimator, "get_params") and not isinstance(estimator, type) else estimator


# Only for trees and forests: scikit-learn's checks fail for a key that is not a parameter of the estimator.
PRUNING_CONSTRAINTS: dict[str, list[Any]] = {"ccp_alpha": [Number(Real, 0.0, None, closed="left")]}
# Only for estimators that find thresholds by comparing them.
BINS_CONSTRAINTS: dict[str, list[Any]] = {"max_bins": [Interval(Integral, 2, 255, closed="both"), None]}


class _Scalar:
    """Stands for a value that no parameter takes, where scikit-learn says which ones it takes."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def check_parameters(estimator: BaseEstimator) -> None:
    """Check each parameter by the table of constraints."""
    given = estimator.get_params(deep=False)
    # To scikit-learn, arrays without an axis are lists, and to NumPy, spans of time are integers.
    scalars = {name: _Scalar(value) for name, value in given.items() if checks.is_scalar(value)}
    validate_parameter_constraints(estimator._parameter_constraints, {**given, **scalars}, type(estimator).__name__)


class BaseModel(MultiOutputMixin, NamedOutputs, FittedAsOne):
    """Checks and fitted state that all estimators share."""

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
            StrOptions({"sqrt", "log2", "half"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Number(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        **CONSTRAINTS,
    }
    # How thresholds are chosen, for estimators without the parameter `splitter`.
    _splitter: ClassVar[str] = "best"
    # Whether y of shape (n_samples, 1) raises a warning: it does in scikit-learn's forests, and not in its trees.
    _warn_column: ClassVar[bool] = False

    # Which attribute holds the fitted model, of which class of the engine, and which attributes belong to it.
    _proof: ClassVar[type[Proof]]
    # Whether nodes test single features.
    _tests_features: ClassVar[bool] = True
    # If they do not: the function of `weald.inspection` that shows their content, why formats for tests of single features
    # do not represent them, and the exporters that take them all the same.
    _inspected_by: ClassVar[str | None]
    _why_no_tests: ClassVar[str]
    _exported_by: ClassVar[str]
    # Whether the scores of a sample are computed by the engine alone.
    _scored_by_engine: ClassVar[bool] = True
    # Whether a fit leads to trees. A boosted model of other estimators has none.
    _has_trees: bool = True

    # The fitted model; that of a single tree is a forest of one tree.
    _forest: _weald.Forest
    _seed: int
    _memory_of_fit: ClassVar[Callable[..., int]]
    # Of classifiers.
    _multi_label: Callable[[], str | bool]
    # Parameters of those that grow trees.
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: MaxFeatures | Literal["auto"]
    max_leaf_nodes: int | Literal["auto"] | None
    min_impurity_decrease: float
    monotonic_cst: MonotonicCst
    interaction_cst: InteractionCst

    n_features_in_: int
    target_names_in_: NDArray[np.object_]
    categories_: _schema.Known

    @property
    def _engine(self) -> Any:
        """The model of the engine that computes scores."""
        return self._proof.model_of(getattr(self, self._proof.attribute))

    @property
    def _explained(self) -> _weald.Forest | _weald.Boosted:
        """The model of the engine whose leaves have scores as values."""
        explained: _weald.Forest | _weald.Boosted = self._engine
        return explained

    def _with_engine(self, model: _weald._Model) -> Self:
        """A copy with another model of the engine."""
        other: Self = self._twin()
        other.__dict__[self._proof.attribute] = self._proof.holding(model)
        return other

    def _unit(self) -> float:
        """The factor from scores of the engine to those of `decision_function`."""
        return 1.0

    def _parts_for(self, n_labels: int) -> tuple[Literal["trees", "labels"], int] | None:
        """What `fit` takes a range of, for y with so many columns, and of how many: `weald.merge` puts such parts together."""
        return None

    def _put_together(self, parts: list[Any]) -> None:
        """Become the fit of parts, which are in the order of their ranges."""
        raise NotImplementedError

    def _validate_params(self) -> None:
        check_parameters(self)

    def _check_parameters(self) -> None:
        """Check for parameters that contradict each other, which the table of constraints cannot express."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.ESTIMATORS, cls)

    @property
    @of_one_fit
    def is_categorical_(self) -> NDArray[np.bool_] | None:
        """Mask of the categorical features, of shape (n_features,); None if there are none."""
        check_fitted(self)
        mask = _schema.mask_of(self)
        return None if mask is None else np.array(mask)

    # Fitted attributes that are in no file, because they can be large.
    _unsaved: ClassVar[tuple[str, ...]] = ()

    # The names of its fitted attributes, which are computed once for each class.
    _names_of_fit: ClassVar[dict[type, Set[str]]] = {}

    def _fitted_names(self) -> Set[str]:
        names = self._names_of_fit.get(type(self))
        if names is None:
            known = self._proof.rows(isinstance(self, ClassifierMixin))
            names = frozenset({self._proof.attribute, *known, *self._unsaved} - frames.SETTINGS)
            self._names_of_fit[type(self)] = names
        return names

    n_jobs: int | None

    def _n_threads(self, X: Matrix = None) -> int:
        """The number of threads for work on X, which is 1 for a single sample."""
        return 1 if X is not None and X.shape[0] == 1 else count_threads(self.n_jobs)

    # Whether unknown values of y are supported.
    _masks_y: ClassVar[bool] = False
    # Whether sparse numerical y stays sparse, as do predictions then.
    _keeps_sparse_y: ClassVar[bool] = False

    def _reads_sparse_y(self, y_weight: YWeight) -> bool:
        """Whether a fit reads sparse numerical y as it is."""
        return self._keeps_sparse_y

    @abstractmethod
    def _check_y(self, y: MatrixLike | None, weights: Float | None, n_samples: int, y_weight: YWeight = None) -> Target:
        """Check y and convert it to the engine's form."""

    def _row_weights(self, target: Target, weights: Float | None) -> RowWeights:
        """Sample weights, and class weights by sample or their rule."""
        return weights, None

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        """For each parameter in the unit of weights, the weight of all samples below which it decides the model."""
        # What the best split by categories gains by chance is taken from it.
        most = max(filter(None, _schema.to_engine(self) or ()), default=0)
        return {"categorical_features": 2.0 * most} if most > 2 else {}

    def _set_outputs(self, target: Target) -> None:
        """Set the fitted attributes that describe y."""
        if getattr(self, "warm_start", False):
            where = frames.different(target.names, getattr(self, "target_names_in_", None))
            if where is not None:
                raise ValueError(
                    f"y must have {where}: warm_start=True requires the outputs of the previous fit in the same order"
                )
        self.n_outputs_ = target.n_outputs
        self.__dict__.pop("target_names_in_", None)
        if target.names is not None:
            self.target_names_in_ = target.names

    def _check_goes_on(self, before: dict[str, Any]) -> None:
        """Raise if a warm start has other features, outputs or classes than the fit with the attributes `before`."""
        for name, where, what in (("n_features_in_", "X", "features"), ("n_outputs_", "y", "outputs")):
            if (old := before[name]) != (new := getattr(self, name)):
                raise ValueError(
                    f"{where} must have {old} {what} with warm_start=True, as in the previous fit, got {new}"
                )
        found = before.get("classes_"), getattr(self, "classes_", None)
        if not all(map(np.array_equal, *(part if isinstance(part, list) else [part] for part in found))):
            raise ValueError("y must have the classes of the previous fit with warm_start=True, got other classes")

    def _check_X(self, X: Raw, *, reset: bool, fitting: bool = False, kept: Schema | None = None) -> Matrix:
        """X in the engine's form.

        With `reset`, decides what the columns are, unless the schema of an earlier fit is `kept`. `fitting` says that X
        has other samples of a fit that has not finished.
        """
        if not reset:
            schema = Schema.of(self)
            X = self._to_matrix(schema.read(X), reset=False, fitting=fitting)
            X = schema.with_codes(X)
        elif kept is None:
            asked = self._asked_categories()
            are_floats = type(X) is np.ndarray and X.dtype.kind == "f" and X.ndim == 2
            if are_floats and (asked is None or (isinstance(asked, str) and asked == "from_dtype")):
                # Nothing is to be learned of the columns.
                for name in (_schema.CATEGORIES, _schema.LABELS):
                    self.__dict__.pop(name, None)
                return self._to_matrix(X, reset=True, fitting=fitting)
            X, learned = _schema.learn(asked, X)
            X = self._to_matrix(X, reset=True, fitting=fitting)
            X = _schema.declare(self, X, learned)
        else:
            X = self._to_matrix(kept.read_again(X), reset=True, fitting=fitting)
            X = kept.keep_in(self, X)
        return X

    def _to_matrix(self, X: MatrixLike, *, reset: bool, fitting: bool) -> Matrix:
        """X whose columns are numbers, as a matrix."""
        return checks.check_X(self, X, reset=reset)

    def _asked_categories(self) -> object:
        """The parameter `categorical_features`; None for models without categories."""
        return getattr(self, "categorical_features", None)

    def _kept_schema(self, X: MatrixLike, goes_on: bool) -> Schema | None:
        """The schema that a fit keeps, if it `goes_on` or with `warm_start`, or that of a model that it is fitted to."""
        if not goes_on and not (getattr(self, "warm_start", False) and self._proof.attribute in self.__dict__):
            return self._frozen_schema()
        kept = Schema.of(self)
        kept.check_asked(self._asked_categories(), X)
        return kept

    def _frozen_schema(self) -> Schema | None:
        """The schema of a model that this one is fitted to, if there is one."""
        return None

    def _growth_config(self, n_samples: int, criterion: str, seed: int, n_outputs: int) -> _weald._TreeConfig:
        """The parameters of trees in the engine's form, but for their features, leaves, bins and projections."""
        leaf, split = self.min_samples_leaf, self.min_samples_split
        leaf = leaf if isinstance(leaf, Integral) else ceil(leaf * n_samples)
        split = split if isinstance(split, Integral) else max(2, ceil(split * n_samples))
        found: _weald._TreeConfig = {
            "criterion": criterion,
            "splitter": getattr(self, "splitter", self._splitter),
            "max_depth": as_size(self.max_depth),
            "min_samples_split": min(int(split), sys.maxsize),
            "min_samples_leaf": min(int(leaf), sys.maxsize),
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "min_weight_leaf": float(getattr(self, "min_weight_leaf", 0.0)),
            "max_features": self.n_features_in_,
            "max_leaf_nodes": None,
            "min_impurity_decrease": float(self.min_impurity_decrease),
            "seed": seed,
            "output_projection": None,
            "max_bins": None,
            "ccp_alpha": float(getattr(self, "ccp_alpha", 0.0)),
            "categories": None,
            "monotonic_cst": None,
            "interaction_cst": None,
            "output_scaling": None,
            "output_weights": None,
        }
        if hasattr(self, _schema.CATEGORIES):
            found["categories"] = _schema.to_engine(self)
        if getattr(self, "monotonic_cst", None) is not None:
            found["monotonic_cst"] = growing.monotonic_to_engine(self, n_outputs)
        if getattr(self, "interaction_cst", None) is not None:
            found["interaction_cst"] = growing.groups_to_engine(self)
        if any(getattr(self, name, None) is not None for name in growing.OUTPUT_FACTORS):
            found.update(growing.factors_to_engine(self, criterion))  # type: ignore[typeddict-item]
        return found

    def _check_predict(self, X: MatrixLike) -> Matrix:
        check_fitted(self)
        return self._check_X(X, reset=False)

    def _in_columns(self, target: Target) -> Target:
        """The target with a column for each number that is fitted to an output."""
        return target

    @abstractmethod
    def _known_target(self) -> Target:
        """The description of y at fit, without its samples."""

    def _reduced_error_pruned(
        self, X_val: MatrixLike, y_val: MatrixLike, sample_weight: SampleWeight, y_weight: YWeight
    ) -> _weald.Forest:
        """The model after reduced-error pruning of each tree on validation samples."""
        with checks.renamed(X="X_val", y="y_val"):
            X = self._check_predict(X_val)
            weights = checks.check_weights(sample_weight, X.shape[0])
            there = checks.rows_there(weights)
            y_weight = masks.rows_of(y_weight, X.shape[0], there)
            X, y_val, weights = checks.without_absent(X, y_val, weights)
            target, name = self._known_target(), type(self).__name__
            y, known = target.like_with_gaps(y_val, X.shape[0], name, y_weight=y_weight, of_classes=True)
        return self._forest.prune_reduced_error((X, y, (weights, None), target.in_engine(known)), self._n_threads())

    def _predict_in_blocks(self, X: MatrixLike, build: Callable[[Matrix], Any]) -> Matrix:
        """CSR of the results of `build` for blocks of checked samples."""
        return ranks.stacked(self._check_predict(X), self.n_outputs_, build)

    def _scores(self, X: MatrixLike) -> Float:
        """Raw scores of samples, of shape (n_samples, n_columns)."""
        return self._scores_of(self._check_predict(X))

    def _linear_part(self) -> tuple[_weald.LinearModel, Added] | None:
        """The weights of features that are added to what trees add, or to nothing, and in what form."""
        return None

    def _scores_of(self, X: Matrix) -> Float:
        """The same for checked X."""
        return self._forest.predict(X, self._n_threads(X))

    @property
    @of_one_fit
    def feature_importances_(self) -> Float:
        """Importance of each feature: its fraction of the total decrease of impurity, averaged over the trees.

        They sum to 1, or are all zero if no tree has a split, and favour features with many distinct values, as
        `weald.inspection.permutation_importance` does not. With `output_projection`, the impurity is that of the
        projected outputs. Computed in O(nodes) at each access.
        """
        check_fitted(self)
        return self._forest.feature_importances()

    def _compute_partial_dependence_recursion(self, grid: object, target_features: object) -> Float:
        """Mean prediction at each point of `grid`, of shape (n_columns, n_points).

        `grid` has one row for each point and one column for each target feature, with categories by value.
        `sklearn.inspection.partial_dependence` calls this method, which scikit-learn's trees and forests have as well.
        """
        return self._means_of_grid(grid, target_features)

    def _means_of_grid(self, grid: object, target_features: Any, *, of_samples: bool = False) -> Float:
        features = [int(feature) for feature in target_features]
        points = Schema.of(self).points(features, grid, of_samples=of_samples)
        return np.ascontiguousarray(self._means_at(features, points).T)

    def _means_at(self, features: list[int], points: NDArray[np.float32]) -> Float:
        return self._forest.partial_dependence(features, points, self._n_threads())

    # --- copies ------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """The attributes that copies and files contain."""
        return {**super().__getstate__()}

    def __getstate__(self) -> dict[str, Any]:
        # The engine's model is stored as bytes: skops creates objects from their states, and engine objects have none.
        state = self._state()
        attribute = self._proof.attribute
        if (model := self._proof.model_of(state.get(attribute))) is not None:
            state[attribute] = model.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        state = dict(state)
        attribute = self._proof.attribute
        if isinstance(state.get(attribute), bytes):
            state[attribute] = self._proof.holding(self._proof.read(state[attribute]))
        self._prove(state)
        super().__setstate__(state)

    def __copy__(self) -> Self:
        other = self._twin()
        other._prove(other.__dict__)
        return other

    def _prove(self, state: dict[str, Any]) -> None:
        self._proof(type(self).__name__, isinstance(self, ClassifierMixin), state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class TreeParameters(BaseModel):
    """The parameters that trees and forests share, which their constructors set by `keep`, and their form for the engine."""

    criterion: str
    random_state: RandomState
    output_projection: OutputProjection
    n_projections: NProjections
    ccp_alpha: float
    categorical_features: CategoricalFeatures

    def _tree_config(self, samples: Samples, growth: Growth) -> _weald._TreeConfig:
        """Parameters of trees that are grown on these samples, in the engine's form."""
        target = samples.target
        criterion = growing.check_criterion(self.criterion, self.output_projection, target.kind)
        config = self._growth_config(samples.n_positive, criterion, growth.seed, target.n_outputs)
        config["max_features"] = n_drawn_features(self.max_features, self.n_features_in_)
        config["max_leaf_nodes"] = as_size(self.max_leaf_nodes)
        max_bins = getattr(self, "max_bins", None)  # extra-trees have none
        if max_bins is not None and getattr(self, "splitter", "best") == "random":
            raise ValueError(f'max_bins must be None with splitter="random", got {max_bins!r}')
        config["max_bins"] = as_size(max_bins)
        if getattr(self, "label_weight", None) is not None:
            config.update(weighting.to_engine(self, target, samples.row_weights[0]))  # type: ignore[typeddict-item]
        if self.output_projection is not None or isinstance(self.n_projections, bool):
            given = self.output_projection, self.n_projections
            config["output_projection"] = growing.projection_to_engine(*given, target, growth)
        return config


class BaseEnsemble(BaseModel):
    """What ensembles share: access to their members, and the leaves that samples reach."""

    _warn_column: ClassVar[bool] = True
    # The class of the members of `estimators_`, if these are trees.
    _member_class: ClassVar[type[BaseTree]]
    _member: Callable[[int], BaseEstimator]

    def _as_member(self, index: int, params: dict[str, Any], max_features: int) -> BaseTree:
        """A tree as an estimator with these parameters."""
        member = self._member_class(**params)
        member.tree_ = Tree(self._forest.only(index))
        member.n_features_in_, member.max_features_ = self.n_features_in_, max_features
        member.n_outputs_ = member.tree_.n_outputs
        if hasattr(self, "categories_"):
            member.categories_ = self.categories_
        return member

    @property
    @abstractmethod
    def estimators_(self) -> Sequence[Estimator]:
        """The members of the ensemble as estimators."""

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.estimators_)

    def __getitem__(self, index: int | slice) -> Estimator:
        """Return the member at an index as an estimator, or a list of members for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Estimator]:
        """Iterate over the members as estimators."""
        return iter(self.estimators_)

    @of_one_fit
    def apply(self, X: MatrixLike) -> NDArray[np.int64]:
        """Return the index of the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Indices of nodes, with a column for each tree.
        """
        checked = self._check_predict(X)
        return self._forest.apply(checked, self._n_threads(checked)).astype(np.int64)

    def _grows_trees(self) -> bool:
        """True, or an AttributeError for models of other estimators."""
        return True

    @available_if(lambda self: self._grows_trees())
    @of_one_fit
    def transform(self, X: MatrixLike) -> sparse.csr_matrix:
        """Return indicators of the leaves that samples reach, which are features for other estimators.

        The columns are those of scikit-learn's `RandomTreesEmbedding`, with trees that know y, and so fit their
        training samples better than others. It takes the time of `apply`, and 12 bytes for each sample and tree. If
        `set_output` or scikit-learn's configuration asks for frames, a ValueError is raised.

        >>> from sklearn.datasets import load_iris
        >>> import weald
        >>> X, y = load_iris(return_X_y=True)
        >>> weald.ExtraTreesClassifier(10, max_leaf_nodes=4, random_state=0).fit(X, y).transform(X).shape
        (150, 40)

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        CSR matrix of shape (n_samples, n_leaves), float64
            A column for each leaf of each tree, tree by tree and in the order of the nodes. Each row has a 1 for each
            tree, in the column of the leaf that the sample reaches there.
        """
        if (container := frames.transform_container(self)) != "default":
            raise ValueError(
                f"transform={container!r} is not supported by {type(self).__name__}, whose transform returns a sparse "
                f'matrix with a column for each leaf: call set_output(transform="default") of the {type(self).__name__}'
            )
        checked = self._check_predict(X)
        return leaf_indicator(self._forest, self._forest.apply(checked, self._n_threads(checked)))

    @available_if(lambda self: self._grows_trees())
    def fit_transform(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, **fit_params: Any
    ) -> sparse.csr_matrix:
        """Fit to training samples, and return the leaves that they reach.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The training samples.
        **fit_params
            Other parameters of `fit`.

        Returns
        -------
        CSR matrix of shape (n_samples, n_leaves), float64
            The result of `transform` for X.
        """
        found: sparse.csr_matrix = self.fit(X, y, sample_weight, **fit_params).transform(X)
        return found

    @available_if(lambda self: self._grows_trees())
    @of_one_fit
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of shape (n_features,) of str or None, default=None
            Only for compatibility with scikit-learn: the names of the features of `fit`, which are no part of the
            result.

        Returns
        -------
        ndarray of shape (n_leaves,), of strings as objects
            The class in lower case, the index of the tree and that of the node, as in "randomforestclassifier_0_2".
        """
        check_fitted(self)
        if input_features is not None:
            self._check_names(np.asarray(input_features, dtype=object))
        name = type(self).__name__.lower()
        pairs = ((tree, node) for tree, leaves in enumerate(leaves_of(self._forest)) for node in leaves.tolist())
        return np.array([f"{name}_{tree}_{node}" for tree, node in pairs], dtype=object)

    def _check_names(self, given: NDArray[np.object_]) -> None:
        known = getattr(self, "feature_names_in_", None)
        if given.shape != (self.n_features_in_,):
            raise ValueError(
                f"input_features must have length {self.n_features_in_}, the number of features of fit, got an array "
                f"of shape {given.shape}"
            )
        if known is not None and not np.array_equal(given, known):
            first = int(np.flatnonzero(given != known)[0])
            raise ValueError(
                f"input_features is not equal to feature_names_in_: it must have {known[first]!r} at position {first}, "
                f"got {checks.shown(given[first])}"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])  # the result is always float64
        return tags


class WithPaths(BaseEnsemble):
    """Ensembles that return the paths of samples."""

    @of_one_fit
    def decision_path(self, X: MatrixLike) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Return the nodes that each sample passes through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        indicator : CSR matrix of shape (n_samples, n_nodes)
            1 where a sample passes through a node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns from `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]` belong to tree i.
        """
        checked = self._check_predict(X)
        return decision_path(self._forest, checked, self._n_threads())


def as_size(value: Any) -> int | None:
    """An integer parameter as the engine's size; a value beyond that is as good as the largest size."""
    return None if value is None else min(int(value), sys.maxsize)


def n_drawn_features(max_features: MaxFeatures | Literal["auto"], n_features: int) -> int:
    """The number of features that each node draws; all for "auto", in whose place boosting puts its choice."""
    if max_features is None or max_features == "auto":
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "half":
        return min(max(4, -(-n_features // 2)), n_features)
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))
