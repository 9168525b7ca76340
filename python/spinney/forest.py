"""Forests: random forests and extra-trees, for classes, labels and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sklearn.ensemble
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from spinney import _kept_rows, _label_weight, _output_scaling, _spinney, _updates
from spinney._arrays import Tree, decision_path
from spinney._at_once import fitted_at_once, of_one_fit
from spinney._bagging import BAGGING_CONSTRAINTS, BaseBagging, BaseBaggingClassifier, BaseBaggingRegressor
from spinney._base import (
    PRUNING_CONSTRAINTS,
    BaseClassifier,
    BaseModel,
    Members,
    n_drawn_features,
    n_positive,
)
from spinney._docs import documented
from spinney._projection import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA, SCOPE_CONSTRAINTS, Growth, check_grown_with
from spinney._proof import check_fitted
from spinney._validation import CONTAINER, Float, Matrix, RowWeights, Target
from spinney.tree import (
    BaseTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

if TYPE_CHECKING:
    from spinney._spinney import _ForestConfig


class BaseForest(BaseBagging):
    """What forests have and trees have not."""

    _kind = "forest"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        **BAGGING_CONSTRAINTS,
        **SCOPE_CONSTRAINTS,
        **PRUNING_CONSTRAINTS,
    }
    _member_class: ClassVar[type[BaseTree]]

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @documented
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        y_mask: Any = None,
        *,
        label_names: Any = None,
        trees: Any = None,
    ) -> Any:
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
        {label_names}
        {trees}

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
            new._fit(X, y, sample_weight, y_mask, label_names, trees)
        return self

    def _forest_config(self, target: Target, weights: Float | None, trees: tuple[int, int]) -> _ForestConfig:
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        n_samples = n_positive(weights, target.original.shape[0])
        return {
            "tree": self._tree_config(n_samples, target, growth, weights),
            "trees": trees,
            "bootstrap": bool(self.bootstrap),
            "max_samples": self._n_draws(),
        }

    def _check_grown_with(self, grown: _spinney.Forest, target: Target) -> None:
        if _label_weight.is_given(self) and self.output_projection is None:
            _label_weight.check_grown_with(grown.criterion)
        else:
            check_grown_with(grown.criterion, self.criterion, self.output_projection, target.kind)

    def _grow(
        self,
        X: Matrix,
        target: Target,
        row_weights: RowWeights,
        config: _ForestConfig,
        n_threads: int,
        progress: Callable[[int], object] | None,
    ) -> _spinney.Forest:
        (y_mask,) = self._mask_of(target)
        return _spinney.fit_forest(X, target.engine, row_weights, config, n_threads, progress, y_mask)

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees as estimators, made when asked for; they share the forest's memory.

        They predict classes as the forest does, where scikit-learn's predict positions in `classes_`.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseTree:
        shared = set(self._member_class._get_param_names()) & set(self.get_params(deep=False)) - {"random_state"}
        member: BaseTree = self._member_class(**{name: getattr(self, name) for name in sorted(shared)})
        if getattr(member, "class_weight", None) == "balanced_subsample":
            member.set_params(class_weight="balanced")
        member.tree_ = Tree(self._forest.only(index))
        member.n_features_in_ = self.n_features_in_
        member.max_features_ = n_drawn_features(self.max_features, self.n_features_in_)
        for name in (
            "n_outputs_",
            "target_names_in_",
            "categories_",
            "classes_",
            "n_classes_",
            "_label_format",
            CONTAINER,
        ):
            if name in self.__dict__:
                setattr(member, name, self.__dict__[name])
        return member

    def update(self, X: Any, y: Any, sample_weight: Any = None, *, retire: int = 10) -> Any:
        """Grow trees on new rows in place of the oldest trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows, of the features of the fit.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
            Of the outputs of the fit; of classes those of the fit, which need not all be there.
        sample_weight : array-like of shape (n_samples,), default=None
        retire : int, default=10
            Number of trees that are grown, and of the oldest ones that are dropped; from 1 to the number of trees.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            As `fit`; for other numbers of features or outputs, classes that the fit did not have, and `retire` out of
            range. The forest is as it was after any failure.
        sklearn.exceptions.NotFittedError

        Notes
        -----
        After as many updates as drop all trees of the fit, the forest has seen the new rows alone. Until then it is a
        mean over trees of different ages: it follows a drift with a lag of n_estimators / retire updates, and old rows
        are not forgotten at once. It is not the forest that a fit on all rows together gives, and rare classes or
        labels of old rows are lost with their trees. Trees are functions of their rows, the parameters, the seed of the
        fit and the number of trees grown before. Out-of-bag scores and kept rows are dropped, as they are of other
        rows.
        Cost: that of a fit of `retire` trees.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import spinney
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = spinney.RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
        >>> len(forest.update(X[1::2], y[1::2], retire=25).estimators_)
        50
        """
        check_fitted(self)
        _updates.check(self, retire)
        with fitted_at_once(self) as new:
            _updates.update(new, X, y, sample_weight, int(retire))
        return self

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


class BaseForestClassifier(BaseForest, BaseBaggingClassifier):
    """A forest for classes and labels."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }


class BaseForestRegressor(BaseForest, BaseBaggingRegressor):
    """A forest for numbers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_output_scaling.CONSTRAINTS,
    }

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
        check_fitted(self)
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
        check_fitted(self)
        _kept_rows.check_kept(self)
        found = _kept_rows.draws(self, self.apply(X), n_samples, random_state)
        return found[:, 0] if self.n_outputs_ == 1 else found


@documented
class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classes and labels: bootstrap, and a few features drawn at each node.

    Parameters
    ----------
    {n_estimators}
    {criterion_of_classifiers}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    {drawn_features}
        For labels of sparse text with thousands of words a share of 0.05 ranked better than "sqrt" on five sets
        (`benches/defaults`), for up to 3.2 times the time.
    {max_leaf_nodes}
    {min_impurity_decrease}
    bootstrap : bool, default=True
    {bootstrap}
    {oob_score_of_classifiers}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}
    {class_weight}
    {multi_label}
    {max_samples}
    {ccp_alpha}
    {monotonic_cst}
    {output_projection_of_classifiers}
    {n_projections}
    {projection_scope}
    {categorical_features}
    {interaction_cst}
    {keep_rows}
    {label_weight}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of DecisionTreeClassifier
        Made when asked for; they share the forest's memory.
    {classes_}
    {n_classes_}
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    {oob_score_}
    {oob_decision_function_}

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
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        keep_rows: bool = False,
        label_weight: Any = None,
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
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.keep_rows = keep_rows
        self.label_weight = label_weight


@documented
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for numbers, one or many at once.

    Parameters
    ----------
    {n_estimators}
    {criterion_of_regressors}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    {drawn_features}
    {max_leaf_nodes}
    {min_impurity_decrease}
    bootstrap : bool, default=True
    {bootstrap}
    {oob_score_of_regressors}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}
    {max_samples}
    {ccp_alpha}
    {monotonic_cst}
    {output_projection_of_regressors}
    {n_projections}
    {projection_scope}
    {categorical_features}
    {interaction_cst}
    {keep_rows}
    {output_scaling}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of DecisionTreeRegressor
        Made when asked for; they share the forest's memory.
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    {oob_score_}
    {oob_prediction_}

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
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        keep_rows: bool = False,
        output_scaling: Any = None,
        output_weights: Any = None,
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
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.keep_rows = keep_rows
        self.output_scaling = output_scaling
        self.output_weights = output_weights


@documented
class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomized trees for classes and labels: one random threshold for each feature drawn.

    Parameters
    ----------
    {n_estimators}
    {criterion_of_classifiers}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    {drawn_features}
        For labels of sparse text with thousands of words a share of 0.05 ranked better than "sqrt" on four sets of
        five (`benches/defaults`), for 1.5 to 3.3 times the time.
    {max_leaf_nodes}
    {min_impurity_decrease}
    bootstrap : bool, default=False
    {bootstrap}
    {oob_score_of_classifiers}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}
    {class_weight}
    {multi_label}
    {max_samples}
    {ccp_alpha}
    {monotonic_cst}
    {output_projection_of_classifiers}
    {n_projections}
    {projection_scope}
    {categorical_features}
    {interaction_cst}
    {keep_rows}
    {label_weight}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of ExtraTreeClassifier
        Made when asked for; they share the forest's memory.
    {classes_}
    {n_classes_}
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    {oob_score_}
    {oob_decision_function_}

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
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        keep_rows: bool = False,
        label_weight: Any = None,
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
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.keep_rows = keep_rows
        self.label_weight = label_weight


@documented
class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomized trees for numbers, one or many at once.

    Parameters
    ----------
    {n_estimators}
    {criterion_of_regressors}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    {drawn_features}
    {max_leaf_nodes}
    {min_impurity_decrease}
    bootstrap : bool, default=False
    {bootstrap}
    {oob_score_of_regressors}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}
    {max_samples}
    {ccp_alpha}
    {monotonic_cst}
    {output_projection_of_regressors}
    {n_projections}
    {projection_scope}
    {categorical_features}
    {interaction_cst}
    {keep_rows}
    {output_scaling}

    Attributes
    ----------
    {categories_}
    estimators_ : sequence of ExtraTreeRegressor
        Made when asked for; they share the forest's memory.
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    {oob_score_}
    {oob_prediction_}

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
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        projection_scope: str = "tree",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        keep_rows: bool = False,
        output_scaling: Any = None,
        output_weights: Any = None,
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
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.projection_scope = projection_scope
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.keep_rows = keep_rows
        self.output_scaling = output_scaling
        self.output_weights = output_weights


# `sklearn.inspection.partial_dependence` takes the recursion for instances of this class, and calls
# `_compute_partial_dependence_recursion`. It is the one place of scikit-learn that asks for the class, an abstract base
# class, so ours can be registered: nothing is inherited. Of forests it means any that averages trees for numbers.
sklearn.ensemble.RandomForestRegressor.register(BaseForestRegressor)
