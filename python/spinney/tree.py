"""Single trees: the best or random thresholds, for classes, labels and numbers."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import sklearn.tree
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context, clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from spinney import _label_weight, _masks, _memory, _output_scaling, _spinney
from spinney._arrays import Tree, decision_path
from spinney._at_once import fitted_at_once, of_one_fit
from spinney._base import (
    PRUNING_CONSTRAINTS,
    BaseClassifier,
    BaseModel,
    BaseRegressor,
    n_drawn_features,
    n_positive,
)
from spinney._docs import documented
from spinney._projection import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA, Growth
from spinney._proof import check_fitted
from spinney._validation import draw_seed


class BaseTree(BaseModel):
    """What trees have and forests have not."""

    _kind = "tree"
    _masks_y = True
    _keeps_sparse_y = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "splitter": [StrOptions({"best", "random"})],
        "n_jobs": [Integral, None],
        **PRUNING_CONSTRAINTS,
    }

    tree_: Tree
    max_features_: int

    @property
    def _forest(self) -> _spinney.Forest:  # type: ignore[override]
        return self.tree_._forest

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @documented
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        check_input: bool = True,
        y_mask: Any = None,
        *,
        label_names: Any = None,
    ) -> Any:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Dense or sparse, without infinity. NaN is a missing value; in sparse X a stored NaN, as absent entries are
            zeros. Used where it lies when Fortran-ordered float32 or CSR or CSC of float32; otherwise converted on one
            copy. Every layout gives the same tree.
            Values are compared in float32: a `DataConversionWarning` names columns, such as ids above 2**24, of which
            it cannot tell some values apart.
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Finite, not negative, not all zero. A row of weight zero is no row, whatever y is there (X must
            not contain infinity there either); a row of weight 2 is two rows.
            Weights that are no multiples of 1/64, or whose total passes 2**31, are rounded to multiples of at most
            n_samples * max(sample_weight) / 2**50, and to one such multiple at least: the ratio of rows lighter than
            that is lost.
            Where the total would pass the largest float64, `tree_.weighted_n_node_samples` holds weights divided by a
            power of two.
        check_input : bool, default=True
            Kept for scikit-learn's signature; input is checked in any case, it costs one pass.
        {y_mask}
        {label_names}

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
        O(n_features · n_samples · log(n_samples)) for a balanced tree on dense X; with sparse X the stored entries
        count instead of the product.
        """
        with fitted_at_once(self) as new:
            X, target, weights = new._check_fit(X, y, sample_weight, y_mask, label_names)
            growth = Growth(draw_seed(new.random_state))
            config = new._tree_config(n_positive(weights, X.shape[0]), target, growth, weights)
            row_weights = new._row_weights(target, weights)
            _memory.reserve(new, _memory.of_checked(new, X, target, row_weights[0] is not None))
            y_mask = _masks.to_engine(target.mask)
            new.tree_ = Tree(_spinney.fit_tree(X, target.engine, row_weights, config, y_mask, new._n_threads()))
            new.max_features_ = n_drawn_features(new.max_features, new.n_features_in_)
            new._set_outputs(target)
        return self

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """Predict; see the class. `check_input` is kept for scikit-learn's signature: input is always checked."""
        return super().predict(X)

    @of_one_fit
    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """Index of the leaf that each row reaches, (n_samples,)."""
        X = self._check_predict(X)
        return self._forest.apply(X, self._n_threads())[:, 0].astype(np.int64)

    @of_one_fit
    def decision_path(self, X: Any, check_input: bool = True) -> sparse.csr_matrix:
        """Indicator, CSR of shape (n_samples, n_nodes), of the nodes that each row passes."""
        X = self._check_predict(X)
        return decision_path(self._forest, X, self._n_threads())[0]

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow a tree and say what minimal cost-complexity pruning makes of it, step after step.

        Each step makes a leaf of the split that pays least for its leaves: of least `(R(t) - R(T_t)) / (|T_t| - 1)`,
        where R is the impurity times the share of the weight, summed over leaves, and `T_t` the subtree below split t.
        Candidates for `ccp_alpha` are the values found; everything between two of them prunes alike.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The estimator itself is left as it is.

        Returns
        -------
        ccp_path : sklearn.utils.Bunch
            ccp_alphas : ndarray of shape (n_steps + 1,)
                0 for the whole tree, then the complexity at which each step is taken.
            impurities : ndarray of shape (n_steps + 1,)
                Sum of R over the leaves that are left.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As `fit`.

        Notes
        -----
        The fit, and O(node_count * log(node_count)). As in scikit-learn, of equal values that of the upper split comes
        first, and rounding decides between values that differ by no more. With `output_projection` the impurities are
        those of the projected outputs.

        References
        ----------
        Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984, chapter 3.
        """
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        ccp_alphas, impurities = grown.tree_._tree.cost_complexity_pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    @of_one_fit
    def prune_reduced_error(self, X_val: Any, y_val: Any, sample_weight: Any = None) -> Any:
        """Prune on rows that the tree was not grown on.

        From the leaves up, a subtree becomes a leaf when that does not raise the loss of the held-out rows: what is
        left is the smallest pruning of least loss. The loss is the squared error for numbers, the number of outputs
        with a wrong class, or the number of labels that are wrongly predicted or missed. Subtrees that no held-out row
        reaches become leaves.

        Parameters
        ----------
        X_val : {array-like, sparse matrix} of shape (n_val, n_features)
            As in `predict`; at least one row.
        y_val : array-like of shape (n_val,) or (n_val, n_outputs), or sparse matrix
            With the outputs that the tree was grown on, and no classes but those.
        sample_weight : array-like of shape (n_val,), default=None
            Not negative, not all zero. A row of weight zero is no row. `class_weight` has no part in the loss.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator; this one is left as it is. Its parameters are the same objects.

        Raises
        ------
        ValueError, TypeError
            Bad input: another number of features or outputs, unknown classes, no rows; and with
            `criterion="absolute_error"`, where leaves are medians, which tell no median of the leaf in their place.

        Notes
        -----
        O(stored leaf values * log(n_leaves)) for classes and labels, O((node_count + n_val) * n_outputs) for numbers,
        and the walk of the rows. Independent of the layout of X_val.

        References
        ----------
        Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27, 1987.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import spinney
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> tree = spinney.DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
        >>> pruned = tree.prune_reduced_error(X[1::2], y[1::2])
        >>> pruned.get_n_leaves() < tree.get_n_leaves()
        True
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight)
        pruned = copy(self)
        pruned.tree_ = Tree(forest)
        return pruned

    def get_depth(self) -> int:
        """Largest number of splits between the root and a leaf."""
        check_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_fitted(self)
        return self.tree_.n_leaves


@documented
class DecisionTreeClassifier(BaseTree, BaseClassifier):
    """A decision tree for classes and labels.

    Parameters
    ----------
    {criterion_of_classifiers}
    splitter : {"best", "random"}, default="best"
        The best threshold of each feature drawn, or one drawn uniformly between its extremes in the node.
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float or {"sqrt", "log2"}, default=None
    {drawn_features}
    {random_state}
    max_leaf_nodes : int, default=None
        Grow best-first to so many leaves.
    {min_impurity_decrease}
    class_weight : dict, list of dict or "balanced", default=None
        Weights of classes, which multiply `sample_weight`; a list has one dict for each output.
    {multi_label}
    ccp_alpha : float, default=0.0
        Prune the grown tree: complexity at which a split must pay for its leaves, see `cost_complexity_pruning_path`.
    {monotonic_cst}
    {output_projection_of_classifiers}
    {n_projections}
    {categorical_features}
    {interaction_cst}
    {label_weight}
    {n_jobs_of_trees}

    Attributes
    ----------
    {categories_}
    {classes_}
    {n_classes_}
    {sizes_of_trees}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    tree_ : Tree
        scikit-learn's arrays, for `sklearn.tree.export_text`, `plot_tree` and the like.

    Notes
    -----
    float32 is the precision of X: values that differ only beyond it are equal. Trees do not depend on the layout of X,
    nor on the order of its rows other than by the choice between splits that are equally good.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = spinney.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> float(tree.score(X, y))
    0.96

    Labels: y is a matrix of 0 and 1, dense or sparse.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> spinney.DecisionTreeClassifier(random_state=0).fit(X, Y).predict(X).toarray()
    array([[1, 0, 0],
           [1, 0, 1],
           [0, 1, 1],
           [0, 1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **BaseClassifier._parameter_constraints,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        label_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.multi_label = multi_label
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.label_weight = label_weight
        self.n_jobs = n_jobs

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict probabilities: frequencies in the leaf; shapes as of `RandomForestClassifier.predict_proba`."""
        return super().predict_proba(X)


@documented
class DecisionTreeRegressor(BaseTree, BaseRegressor):
    """A decision tree for numbers, one or many at once.

    Parameters
    ----------
    {criterion_of_regressors}
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, random_state, \
max_leaf_nodes, min_impurity_decrease, ccp_alpha, output_projection, n_projections, categorical_features
        As in `DecisionTreeClassifier`.
    {categorical_features}
    {monotonic_cst}
    {interaction_cst}
    {output_scaling}
    {n_jobs_of_trees}

    Attributes
    ----------
    {categories_}
    {sizes_of_trees}
    {feature_names_in_}
    {target_names_in_}
    {feature_importances_}
    tree_ : Tree
        scikit-learn's arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.arange(6).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] < 3, X[:, 0] ** 2])
    >>> spinney.DecisionTreeRegressor(max_depth=1).fit(X, Y).predict([[0], [5]])
    array([[ 0.75,  3.5 ],
           [ 0.  , 20.5 ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_output_scaling.CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        output_scaling: Any = None,
        output_weights: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.output_projection = output_projection
        self.n_projections = n_projections
        self.categorical_features = categorical_features
        self.interaction_cst = interaction_cst
        self.output_scaling = output_scaling
        self.output_weights = output_weights
        self.n_jobs = n_jobs


@documented
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomized tree for classes and labels: one random threshold for each feature drawn.

    Parameters, attributes and methods are those of `DecisionTreeClassifier`; the defaults of `splitter` ("random") and
    `max_features` ("sqrt") differ. Meant for ensembles: see `ExtraTreesClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> float(spinney.ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y))
    1.0
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        label_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            multi_label=multi_label,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            output_projection=output_projection,
            n_projections=n_projections,
            categorical_features=categorical_features,
            interaction_cst=interaction_cst,
            label_weight=label_weight,
            n_jobs=n_jobs,
        )


@documented
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomized tree for numbers: one random threshold for each feature drawn.

    Parameters, attributes and methods are those of `DecisionTreeRegressor`; the defaults of `splitter` ("random") and
    `max_features` (1.0) differ. Meant for ensembles: see `ExtraTreesRegressor`.

    Examples
    --------
    >>> import spinney
    >>> tree = spinney.ExtraTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> tree.predict([[2.0]])
    array([4.])
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        output_projection: Any = None,
        n_projections: Any = "log",
        categorical_features: Any = "from_dtype",
        interaction_cst: Any = None,
        output_scaling: Any = None,
        output_weights: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            output_projection=output_projection,
            n_projections=n_projections,
            categorical_features=categorical_features,
            interaction_cst=interaction_cst,
            output_scaling=output_scaling,
            output_weights=output_weights,
            n_jobs=n_jobs,
        )


# `export_text`, `plot_tree` and their like accept instances of these two classes only, and then read `tree_` alone.
# Theirs are abstract base classes, so ours can be registered as theirs: `isinstance` says yes, nothing is inherited.
# The other place that asks, `partial_dependence`, calls `_compute_partial_dependence_recursion`.
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
