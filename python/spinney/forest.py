"""Forests: random forests and extra-trees, for classes, labels and numbers."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sklearn.ensemble
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from spinney import _kept_rows, _masks, _memory, _spinney
from spinney._arrays import Tree, decision_path
from spinney._at_once import fitted_at_once, of_one_fit
from spinney._base import (
    PRUNING_CONSTRAINTS,
    BaseClassifier,
    BaseEnsemble,
    BaseModel,
    BaseRegressor,
    Members,
    n_drawn_features,
    n_positive,
    progress_bar,
)
from spinney._docs import documented
from spinney._projection import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA, SCOPE_CONSTRAINTS, Growth, check_grown_with
from spinney._validation import MOST, Float, Matrix, Number, Target, draw_seed
from spinney.tree import (
    BaseTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

if TYPE_CHECKING:
    from spinney._spinney import _ForestConfig


def _known_numbers(target: Target) -> Float:
    """The numbers of y, NaN where they are not known."""
    mask = _masks.dense(target.mask)
    known: Float = target.original if mask is None else np.where(mask, np.nan, target.original)
    return known


class BaseForest(BaseEnsemble):
    """What forests have and trees have not."""

    _kind = "forest"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, MOST, closed="both")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "keep_rows": ["boolean"],
        "max_samples": [
            None,
            Number(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, MOST, closed="both"),
        ],
        **SCOPE_CONSTRAINTS,
        **PRUNING_CONSTRAINTS,
    }
    _masks_y = True
    # Attributes of a fit with `oob_score`, gone after a fit without.
    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_",)
    _member_class: ClassVar[type[BaseTree]]

    _seed: int
    # How the trees drew their rows: bootstrap, max_samples.
    _draws: tuple[bool, float | None]

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, y_mask: Any = None) -> Any:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Dense or sparse, without infinity. NaN is a missing value; in sparse X a stored NaN, as absent entries are
            zeros. Used where it lies when Fortran-ordered float32 or CSR or CSC of float32; otherwise converted on one
            copy, shared by all trees. Every layout gives the same forest.
            Values are compared in float32: a `DataConversionWarning` names columns, such as ids above 2**24, of which
            it cannot tell some values apart.
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Finite, not negative, not all zero. A row of weight zero is no row, whatever y is there (X must not contain
            infinity there either); a row of weight 2 is two rows, wherever the second stands. With `bootstrap`, only
            whole weights are such counts. Weights that are no multiples of 1/64, or whose total passes 2**31, are
            rounded to multiples of at most n_samples * max(sample_weight) / 2**50, and to one such multiple at least:
            the ratio of rows lighter than that is lost. Where the total would pass the largest float64,
            `weighted_n_node_samples` of the trees holds weights divided by a power of two.
        {y_mask}

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad input or parameters, named in the message.
        MemoryError
            Before anything is grown where the parts of `spinney.estimate_fit_memory` that are certain to be needed
            cannot be had; later for others that the engine cannot allocate.

        After any failure, Ctrl-C included, the estimator is as it was before.

        Notes
        -----
        Tree i is a function of the data, the parameters, the seed and i alone: the same for any `n_jobs`, and whether
        it was grown at once or with `warm_start`.
        """
        with fitted_at_once(self) as new:
            new._fit(X, y, sample_weight, y_mask)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, y_mask: Any) -> None:
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs trees that do not see all rows: set bootstrap=True")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples is the size of bootstrap samples: set bootstrap=True, or max_samples=None")
        grown = self._forest if self.warm_start and hasattr(self, "_forest") else None
        before = dict(self.__dict__)
        X, target, weights = self._check_fit(X, y, sample_weight, y_mask)
        n_grown = 0 if grown is None else grown.n_trees
        n_more = int(self.n_estimators) - n_grown
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_grown} trees of the fitted forest; with "
                "warm_start=True it must be larger or equal"
            )
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._set_outputs(target)
        if grown is not None:
            self._check_warm_start(before)
            check_grown_with(grown.criterion, self.criterion, self.output_projection, target.kind)
        n_threads = self._n_threads()
        row_weights = self._row_weights(target, weights)
        weights = row_weights[0]
        config = self._forest_config(target, weights, (n_grown, n_grown + n_more))
        if n_more == 0:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=4)
        else:
            _memory.reserve(self, _memory.of_checked(X, target, weights is not None))
            with progress_bar(n_more, self.verbose, type(self).__name__) as progress:
                y_mask = _masks.to_engine(target.mask)
                more = _spinney.fit_forest(X, target.engine, row_weights, config, n_threads, progress, y_mask)
            self._forest = more if grown is None else _spinney.Forest.merge([grown, more])
        _kept_rows.drop(self)
        if self.keep_rows:
            leaves = self._forest.apply(X, n_threads)
            _kept_rows.keep(self, leaves, weights, _known_numbers(target) if target.kind == "numbers" else None)
        draws = (config["bootstrap"], config["max_samples"])
        if self.oob_score and (n_more > 0 or not hasattr(self, "oob_score_")):
            if grown is not None and draws != self._draws:
                raise ValueError("max_samples and bootstrap must not change under warm_start=True with oob_score")
            self._set_oob(X, target, weights, config)
        elif not self.oob_score:
            for name in self._oob_attributes:
                self.__dict__.pop(name, None)
        self._draws = draws

    def _check_warm_start(self, before: dict[str, Any]) -> None:
        if self.n_features_in_ != before["n_features_in_"]:
            raise ValueError(
                f"X has {self.n_features_in_} features, but the trees grown before have {before['n_features_in_']}"
            )
        if self.n_outputs_ != before["n_outputs_"]:
            raise ValueError(f"y has {self.n_outputs_} outputs, but the trees grown before have {before['n_outputs_']}")

    def _forest_config(self, target: Target, weights: Float | None, trees: tuple[int, int]) -> _ForestConfig:
        n_draws = self.max_samples
        if n_draws is not None:
            n_draws = int(n_draws) if isinstance(n_draws, Integral) else float(n_draws)
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        n_samples = n_positive(weights, target.original.shape[0])
        return {
            "tree": self._tree_config(n_samples, target, growth),
            "trees": trees,
            "bootstrap": bool(self.bootstrap),
            "max_samples": n_draws,
        }

    def _set_oob(self, X: Matrix, target: Target, weights: Float | None, config: _ForestConfig) -> None:
        if target.mask is not None and callable(self.oob_score):
            raise ValueError("oob_score is a function, but y has masked cells, accepted: True with these")
        y_mask = _masks.to_engine(target.mask)
        scores, n_trees = self._forest.oob_predict(config, X, target.engine, weights, self._n_threads(), y_mask)
        scored = n_trees > 0
        exists = np.ones(len(scored), dtype=np.bool_) if weights is None else weights > 0
        if not scored[exists].all():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used to compute any "
                "reliable OOB estimates.",
                stacklevel=5,
            )
        rows = np.flatnonzero(scored & exists)
        self._set_oob_attributes(scores, target, rows)

    @abstractmethod
    def _set_oob_attributes(self, scores: Float, target: Target, rows: NDArray[np.intp]) -> None:
        """Sets predictions for all rows, NaN where no tree has left a row out, and the score over `rows`."""

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees as estimators, made when asked for; they share the forest's memory.

        They predict classes as the forest does, where scikit-learn's predict positions in `classes_`.
        """
        check_is_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseTree:
        shared = set(self._member_class._get_param_names()) & set(self.get_params(deep=False)) - {"random_state"}
        member: BaseTree = self._member_class(**{name: getattr(self, name) for name in sorted(shared)})
        if getattr(member, "class_weight", None) == "balanced_subsample":
            member.set_params(class_weight="balanced")
        member.tree_ = Tree(self._forest.only(index))
        member.n_features_in_ = self.n_features_in_
        member.max_features_ = n_drawn_features(self.max_features, self.n_features_in_)
        for name in ("n_outputs_", "target_names_in_", "categories_", "classes_", "n_classes_", "_label_format"):
            if name in self.__dict__:
                setattr(member, name, self.__dict__[name])
        return member

    @of_one_fit
    def prune_reduced_error(self, X_val: Any, y_val: Any, sample_weight: Any = None) -> Any:
        """Prune each tree by itself on rows that the forest was not grown on.

        See `DecisionTreeClassifier.prune_reduced_error`, whose parameters, loss and errors are the same. Forests gain
        by averaging trees that are too large: this makes them smaller, and not always better.

        Parameters
        ----------
        X_val : {array-like, sparse matrix} of shape (n_val, n_features)
        y_val : array-like of shape (n_val,) or (n_val, n_outputs), or sparse matrix
        sample_weight : array-like of shape (n_val,), default=None

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator; this one is left as it is. It has no out-of-bag score, and keeps no rows.
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight)
        pruned = copy(self)
        pruned._forest = forest
        _kept_rows.drop(pruned)
        for name in self._oob_attributes:
            pruned.__dict__.pop(name, None)
        return pruned

    @of_one_fit
    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """The nodes that each row passes.

        Returns
        -------
        indicator : CSR matrix of shape (n_samples, n_nodes)
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Tree i has the columns from `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]`.
        """
        X = self._check_predict(X)
        return decision_path(self._forest, X, self._n_threads())


class BaseForestClassifier(BaseForest, BaseClassifier):
    """A forest for classes and labels."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }
    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_decision_function_")

    oob_score_: float
    oob_decision_function_: Float

    def _check_warm_start(self, before: dict[str, Any]) -> None:
        super()._check_warm_start(before)
        as_list = [part if isinstance(part, list) else [part] for part in (before["classes_"], self.classes_)]
        if not all(map(np.array_equal, *as_list)):
            raise ValueError("y has other classes than the trees grown before; warm_start=True needs the same")

    def _set_oob_attributes(self, scores: Float, target: Target, rows: NDArray[np.intp]) -> None:
        if target.kind == "classes" and target.n_outputs > 1:
            raise ValueError("oob_score is for one output of classes, or labels; y has several outputs of classes")
        mask = None if target.mask is None else _masks.dense(target.mask[rows])
        self.oob_decision_function_ = scores
        found = scores[rows]
        if target.kind == "labels":
            truth = target.original[rows].toarray()
            predicted = found > 0.5
            correct = (truth == predicted).all(axis=1)
        else:
            truth = target.original[rows, 0]
            predicted = self.classes_.take(found.argmax(axis=1))
            correct = truth == predicted
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, predicted)
        elif mask is not None and target.kind == "labels":
            self.oob_score_ = float(_masks.accuracy(truth == predicted, mask))
        else:
            self.oob_score_ = float(np.mean(correct)) if len(rows) else np.nan


class BaseForestRegressor(BaseForest, BaseRegressor):
    """A forest for numbers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
    }
    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_prediction_")

    oob_score_: float
    oob_prediction_: Float

    def _set_oob_attributes(self, scores: Float, target: Target, rows: NDArray[np.intp]) -> None:
        truth = target.original
        if target.n_outputs == 1:
            scores, truth = scores[:, 0], truth[:, 0]
        self.oob_prediction_ = scores
        if target.mask is not None:
            mask = target.mask[rows]
            self.oob_score_ = float(_masks.r2(target.original[rows], scores[rows].reshape(mask.shape), mask))
            return
        score: Callable[..., float] = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(truth[rows], scores[rows]) if len(rows) else np.nan

    @of_one_fit
    def predict_quantiles(self, X: Any, q: Any = 0.5) -> Float:
        """Predict quantiles of each output, of the training rows in the leaves that a row reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,), default=0.5
            Shares from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            Without the axis of outputs where there is one, and without that of quantiles where `q` is a number. Each is
            the target of a training row: the least for which the weights of the rows up to it reach q.

        Raises
        ------
        ValueError
            When the forest was fitted without `keep_rows=True`, and for other values of `q`.

        Notes
        -----
        A training row weighs the mean over the trees of its share of the weight of the leaf, if it is there
        (Meinshausen 2006, Quantile regression forests; all training rows count, also those that a tree has not drawn).
        Cost: the training rows of the leaves reached, for each output, and a pass over the leaves of all training rows.
        """
        check_is_fitted(self)
        _kept_rows.check_kept(self)
        shares = _kept_rows.check_quantiles(q)
        found = _kept_rows.quantiles(self, self.apply(X), np.atleast_1d(shares))
        found = found[:, :, 0] if shares.ndim == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found

    @of_one_fit
    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Float:
        """Draw targets of training rows in the leaves that a row reaches: jointly, those of one row for all outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
        n_samples : int, default=1
            Draws for each row.
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_samples), float64
            Without the axis of outputs where there is one.

        Raises
        ------
        ValueError
            When the forest was fitted without `keep_rows=True`, and for other values of `n_samples`.

        Notes
        -----
        Training rows are drawn by the weights of `predict_quantiles`. Cost: as there, once for all outputs.
        """
        check_is_fitted(self)
        _kept_rows.check_kept(self)
        found = _kept_rows.draws(self, self.apply(X), n_samples, random_state)
        return found[:, 0] if self.n_outputs_ == 1 else found


@documented
class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classes and labels: bootstrap, and a few features drawn at each node.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits reduce, the mean over outputs. "log_loss" is "entropy", in bits. "squared_error" is for
        `output_projection`, with which "gini" means the same and entropy does not exist.
    max_depth : int, default=None
        Largest depth; without, nodes are split while they are impure.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
        For labels of sparse text with thousands of words a share of 0.05 ranked better than "sqrt" on five sets
        (`benches/defaults`), for up to 3.2 times the time.
    max_leaf_nodes : int, default=None
        Maximum number of leaves; the tree is grown best-first. None is no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    bootstrap : bool, default=True
        Grow each tree on rows drawn with replacement, else on all. Rows of weight zero are not drawn. Whole weights are
        counts: a row of weight 2 is drawn as two rows. Draws of a row of another weight weigh as much.
    oob_score : bool or callable, default=False
        Score the forest on the rows that trees have not drawn: accuracy, or a function of (y_true, y_pred).
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.
    warm_start : bool, default=False
        Keep the trees of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the forest is the one that would have been grown at once.
    class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output.
    multi_label : {"auto", True, False}, default="auto"
        Whether y of several columns holds labels, each 0 or 1, or an output of classes in each column. "auto" is True
        for sparse y, and for several columns of dtype bool, integer or float whose values are all 0 or 1: what
        `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", but of 0 and 1 alone. So the rows
        decide: say which where a fold may lack a class. With True a single column, (n_samples, 1), is one label.
    max_samples : int or float, default=None
        Draws for each tree with bootstrap: a number, or a share of the rows. None draws as many as there are.
    ccp_alpha : float, default=0.0
        Prune each tree when it is grown: complexity at which a split must pay for its leaves, see
        `DecisionTreeClassifier.cost_complexity_pruning_path`.
    output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
        Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
        hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
        `spinney.projection`. A single output of classes has no projection.
    n_projections : int, float or "log", default="log"
        Number of combinations q: a number, a share of the outputs, or ⌊½ + ln d⌋ for d outputs.
    projection_scope : {"tree", "forest"}, default="tree"
        Whether every tree has a projection of its own, or all the same.
    {categorical_features}
    {keep_rows}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of DecisionTreeClassifier
        Made when asked for; they share the forest's memory.
    classes_ : ndarray, or list of ndarray
        Classes in rising order; for several outputs one array for each. For labels, their
        numbers; one or two labels have 0 and 1 in each row, (n_labels, 2).
    n_classes_ : int, or list of int
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name.
    feature_importances_ : ndarray of shape (n_features_in_,)
    oob_score_ : float
        With `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        With `oob_score`; NaN for rows that every tree has drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.9
    True

    Labels, sparse on both sides; the two most probable of each row:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 1000), density=0.01, random_state=0, format="csr")
    >>> Y = sparse.random_array((100, 50), density=0.05, random_state=0).astype(bool)
    >>> forest = spinney.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> forest.predict_proba(X).shape
    (100, 50)
    >>> labels, scores = forest.predict_topk(X, k=2)
    >>> labels.shape
    (100, 2)
    """

    _member_class = DecisionTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        keep_rows: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.multi_label = multi_label
        self.max_samples = max_samples
        self.ccp_alpha = ccp_alpha
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.keep_rows = keep_rows


@documented
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for numbers, one or many at once.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "poisson"}, default="squared_error"
        Impurity that splits reduce, the mean over outputs. "squared_error" is the variance. "poisson" is half the mean
        Poisson deviance, for y that is not negative and has a positive sum; no split leaves a side where an output sums
        to zero, unless the output does so in the whole node. Leaves are means with both.
    max_depth : int, default=None
        Largest depth; without, nodes are split while they are impure.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
    max_leaf_nodes : int, default=None
        Maximum number of leaves; the tree is grown best-first. None is no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    bootstrap : bool, default=True
        Grow each tree on rows drawn with replacement, else on all. Rows of weight zero are not drawn. Whole weights are
        counts: a row of weight 2 is drawn as two rows. Draws of a row of another weight weigh as much.
    oob_score : bool or callable, default=False
        Score the forest on the rows that trees have not drawn: R², or a function of (y_true, y_pred).
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.
    warm_start : bool, default=False
        Keep the trees of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the forest is the one that would have been grown at once.
    max_samples : int or float, default=None
        Draws for each tree with bootstrap: a number, or a share of the rows. None draws as many as there are.
    ccp_alpha : float, default=0.0
        Prune each tree when it is grown: complexity at which a split must pay for its leaves, see
        `DecisionTreeClassifier.cost_complexity_pruning_path`.
    output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
        Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
        hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
        `spinney.projection`.
    n_projections : int, float or "log", default="log"
        Number of combinations q: a number, a share of the outputs, or ⌊½ + ln d⌋ for d outputs.
    projection_scope : {"tree", "forest"}, default="tree"
        Whether every tree has a projection of its own, or all the same.
    {categorical_features}
    {keep_rows}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of DecisionTreeRegressor
        Made when asked for; they share the forest's memory.
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name.
    feature_importances_ : ndarray of shape (n_features_in_,)
    oob_score_ : float
        With `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        With `oob_score`; NaN for rows that every tree has drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import spinney
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> forest = spinney.RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.7
    True
    """

    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        keep_rows: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_samples = max_samples
        self.ccp_alpha = ccp_alpha
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.keep_rows = keep_rows


@documented
class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomized trees for classes and labels: one random threshold for each feature drawn.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss", "squared_error"}, default="gini"
        Impurity that splits reduce, the mean over outputs. "log_loss" is "entropy", in bits. "squared_error" is for
        `output_projection`, with which "gini" means the same and entropy does not exist.
    max_depth : int, default=None
        Largest depth; without, nodes are split while they are impure.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
        For labels of sparse text with thousands of words a share of 0.05 ranked better than "sqrt" on four sets of
        five (`benches/defaults`), for 1.5 to 3.3 times the time.
    max_leaf_nodes : int, default=None
        Maximum number of leaves; the tree is grown best-first. None is no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    bootstrap : bool, default=False
        Grow each tree on rows drawn with replacement, else on all. Rows of weight zero are not drawn. Whole weights are
        counts: a row of weight 2 is drawn as two rows. Draws of a row of another weight weigh as much.
    oob_score : bool or callable, default=False
        Score the forest on the rows that trees have not drawn: accuracy, or a function of (y_true, y_pred).
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.
    warm_start : bool, default=False
        Keep the trees of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the forest is the one that would have been grown at once.
    class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output.
    multi_label : {"auto", True, False}, default="auto"
        Whether y of several columns holds labels, each 0 or 1, or an output of classes in each column. "auto" is True
        for sparse y, and for several columns of dtype bool, integer or float whose values are all 0 or 1: what
        `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", but of 0 and 1 alone. So the rows
        decide: say which where a fold may lack a class. With True a single column, (n_samples, 1), is one label.
    max_samples : int or float, default=None
        Draws for each tree with bootstrap: a number, or a share of the rows. None draws as many as there are.
    ccp_alpha : float, default=0.0
        Prune each tree when it is grown: complexity at which a split must pay for its leaves, see
        `DecisionTreeClassifier.cost_complexity_pruning_path`.
    output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
        Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
        hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
        `spinney.projection`. A single output of classes has no projection.
    n_projections : int, float or "log", default="log"
        Number of combinations q: a number, a share of the outputs, or ⌊½ + ln d⌋ for d outputs.
    projection_scope : {"tree", "forest"}, default="tree"
        Whether every tree has a projection of its own, or all the same.
    {categorical_features}
    {keep_rows}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of ExtraTreeClassifier
        Made when asked for; they share the forest's memory.
    classes_ : ndarray, or list of ndarray
        Classes in rising order; for several outputs one array for each. For labels, their
        numbers; one or two labels have 0 and 1 in each row, (n_labels, 2).
    n_classes_ : int, or list of int
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name.
    feature_importances_ : ndarray of shape (n_features_in_,)
    oob_score_ : float
        With `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        With `oob_score`; NaN for rows that every tree has drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(spinney.ExtraTreesClassifier(random_state=0), X, y).mean() > 0.9)
    True
    """

    _member_class = ExtraTreeClassifier
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        keep_rows: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.multi_label = multi_label
        self.max_samples = max_samples
        self.ccp_alpha = ccp_alpha
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.keep_rows = keep_rows


@documented
class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomized trees for numbers, one or many at once.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "poisson"}, default="squared_error"
        Impurity that splits reduce, the mean over outputs. "squared_error" is the variance. "poisson" is half the mean
        Poisson deviance, for y that is not negative and has a positive sum; no split leaves a side where an output sums
        to zero, unless the output does so in the whole node. Leaves are means with both.
    max_depth : int, default=None
        Largest depth; without, nodes are split while they are impure.
    min_samples_split : int or float, default=2
        Least number of rows to split a node; a float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Least number of rows on either side of a split; a float is a share of the rows, rounded up.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight on either side of a split.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Features drawn at each node: a number, a share, a rule, or all. Constant features do not count.
    max_leaf_nodes : int, default=None
        Maximum number of leaves; the tree is grown best-first. None is no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity by a split, weighted by the node's share of the total weight.
    bootstrap : bool, default=False
        Grow each tree on rows drawn with replacement, else on all. Rows of weight zero are not drawn. Whole weights are
        counts: a row of weight 2 is drawn as two rows. Draws of a row of another weight weigh as much.
    oob_score : bool or callable, default=False
        Score the forest on the rows that trees have not drawn: R², or a function of (y_true, y_pred).
    n_jobs : int, default=None
        Number of threads; None is 1 unless joblib's context says otherwise, -1 is all. No result depends on it.
    random_state : int, RandomState instance or None, default=None
        Source of the one seed that each fit draws.
    verbose : int, default=0
        Above 0, a progress bar if tqdm is installed and standard error is a terminal.
    warm_start : bool, default=False
        Keep the trees of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
        data the forest is the one that would have been grown at once.
    max_samples : int or float, default=None
        Draws for each tree with bootstrap: a number, or a share of the rows. None draws as many as there are.
    ccp_alpha : float, default=0.0
        Prune each tree when it is grown: complexity at which a split must pay for its leaves, see
        `DecisionTreeClassifier.cost_complexity_pruning_path`.
    output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
        Choose splits by the variance of a few combinations of the outputs in place of the outputs, which leaves still
        hold. "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
        `spinney.projection`.
    n_projections : int, float or "log", default="log"
        Number of combinations q: a number, a share of the outputs, or ⌊½ + ln d⌋ for d outputs.
    projection_scope : {"tree", "forest"}, default="tree"
        Whether every tree has a projection of its own, or all the same.
    {categorical_features}
    {keep_rows}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of ExtraTreeRegressor
        Made when asked for; they share the forest's memory.
    n_outputs_, n_features_in_ : int
    feature_names_in_ : ndarray
        When X had names that are all strings.
    target_names_in_ : ndarray
        When y was a frame with columns that are all strings, or a Series with a name.
    feature_importances_ : ndarray of shape (n_features_in_,)
    oob_score_ : float
        With `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        With `oob_score`; NaN for rows that every tree has drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import spinney
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> trees = spinney.ExtraTreesRegressor(random_state=0).fit(X[:200], y[:200])
    >>> trees.score(X[200:], y[200:]) > 0.7
    True
    """

    _member_class = ExtraTreeRegressor
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        keep_rows: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_samples = max_samples
        self.ccp_alpha = ccp_alpha
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.keep_rows = keep_rows


# `sklearn.inspection.partial_dependence` takes the recursion for instances of this class, and calls
# `_compute_partial_dependence_recursion`. It is the one place of scikit-learn that asks for the class, an abstract base
# class, so ours can be registered: nothing is inherited. Of forests it means any that averages trees for numbers.
sklearn.ensemble.RandomForestRegressor.register(BaseForestRegressor)
