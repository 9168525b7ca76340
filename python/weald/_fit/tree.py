"""What single trees for all kinds of y share."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from weald import _weald
from weald._docs.compose import documented
from weald._fit import memory
from weald._fit.arrays import Tree, decision_path
from weald._fit.at_once import fitted_at_once, of_one_fit
from weald._fit.base import PRUNING_CONSTRAINTS, BaseModel, TreeParameters, n_positive
from weald._fit.proof import check_fitted
from weald._input import masks
from weald._input.checks import draw_seed
from weald._parameters.max_features import n_drawn_features
from weald._parameters.projections import Growth
from weald._parameters.types import (
    MatrixLike,
    Prediction,
    fit_context,
)


class BaseTree(TreeParameters, BaseModel):
    """What trees for all kinds of y share."""

    _kind = "tree"
    _memory_terms = staticmethod(memory.of_forest)
    _masks_y = True
    _keeps_sparse_y = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "splitter": [StrOptions({"best", "random"})],
        "n_jobs": [Integral, None],
        **PRUNING_CONSTRAINTS,
    }

    splitter: Literal["best", "random"]

    tree_: Tree
    max_features_: int

    @property
    def _forest(self) -> _weald.Forest:  # type: ignore[override]
        return self.tree_._forest

    @fit_context(prefer_skip_nested_validation=True)
    @documented
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Fit the tree to training samples.

        Parameters
        ----------
        {X_of_fit}
        {y}
        {sample_weight_of_trees}
        {y_mask}
        {label_names}
        {check_input}

        Returns
        -------
        {fitted_self}

        Raises
        ------
        {errors_of_fit}

        Notes
        -----
        {after_errors}

        The fitted tree does not depend on the layout of X.

        A balanced tree on dense X takes O(n_features · n_samples · log(n_samples)) time. For sparse X, the number of
        stored entries takes the place of n_features · n_samples.
        """
        with fitted_at_once(self, anew=True) as new:
            checked, target, weights = new._check_fit(X, y, sample_weight, y_mask, label_names)
            growth = Growth(draw_seed(new.random_state))
            config = new._tree_config(n_positive(weights, checked.shape[0]), target, growth, weights)
            row_weights = new._row_weights(target, weights)
            memory.reserve(new, memory.of_checked(new, checked, target, row_weights[0] is not None))
            mask = masks.to_engine(target.mask)
            new.tree_ = Tree(_weald.fit_tree(checked, target.engine, row_weights, config, mask, new._n_threads()))
            new.max_features_ = n_drawn_features(new.max_features, new.n_features_in_)
            new._set_outputs(target)
        return self

    @documented
    def predict(self, X: MatrixLike, *, check_input: bool = True) -> Prediction:
        """Predict the classes, labels or numerical outputs of samples.

        Parameters
        ----------
        {X}
        {check_input}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            For classes, the most frequent class of the leaf; for labels, those that more than half of the weight of
            the leaf has; for numerical outputs, the value of the leaf. The result is sparse if y was.
        """
        return super().predict(X)

    @of_one_fit
    @documented
    def apply(self, X: MatrixLike, *, check_input: bool = True) -> NDArray[np.int64]:
        """Return the index of the leaf that each sample reaches.

        Parameters
        ----------
        {X_as_in_predict}
        {check_input}

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes in `tree_`.
        """
        checked = self._check_predict(X)
        return self._forest.apply(checked, self._n_threads())[:, 0].astype(np.int64)

    @of_one_fit
    @documented
    def decision_path(self, X: MatrixLike, *, check_input: bool = True) -> sparse.csr_matrix:
        """Return the nodes that each sample passes through.

        Parameters
        ----------
        {X_as_in_predict}
        {check_input}

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
            1 where a sample passes through a node.
        """
        checked = self._check_predict(X)
        return decision_path(self._forest, checked, self._n_threads())[0]

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Fit a tree and compute the path of minimal cost-complexity pruning.

        Each step of the path turns the split with the smallest value of ``(R(t) - R(T_t)) / (|T_t| - 1)`` into a leaf.
        ``R(t)`` is the impurity of node t times its fraction of the total weight, ``T_t`` is the subtree below t,
        ``R(T_t)`` is the sum of R over its leaves and ``|T_t|`` is their number. The values are the candidates for
        `ccp_alpha`: all values between two of them prune the tree in the same way.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, as in `fit`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Targets, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. None: all weights are equal.

        Returns
        -------
        ccp_path : sklearn.utils.Bunch
            The path. This estimator does not change.

            ccp_alphas : ndarray of shape (n_steps + 1,)
                0 for the whole tree, then the complexity of each step.
            impurities : ndarray of shape (n_steps + 1,)
                The sum of R over the remaining leaves.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As `fit`.

        Notes
        -----
        It takes the time of a fit, and O(node_count * log(node_count)). As in scikit-learn, of several equal values
        the upper split is pruned first, and rounding decides between values that differ by no more than rounding. With
        `output_projection` the impurities are those of the projected outputs.

        References
        ----------
        Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984, chapter 3.
        """
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        ccp_alphas, impurities = grown.tree_._tree.cost_complexity_pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    @of_one_fit
    def prune_reduced_error(self, X_val: MatrixLike, y_val: MatrixLike, sample_weight: ArrayLike | None = None) -> Self:
        """Prune the tree on validation samples, by reduced-error pruning.

        From the leaves to the root, a subtree becomes a leaf if this does not increase the loss on the validation
        samples. The result is the smallest of the prunings with the least loss. Subtrees that no validation sample
        reaches become leaves. The loss is the squared error for numerical outputs, the number of outputs with a wrong
        class for classes, and the number of labels that are wrongly predicted or missed for labels.

        Parameters
        ----------
        X_val : {array-like, sparse matrix} of shape (n_val, n_features)
            The validation samples, at least one, as in `predict`.
        y_val : {array-like, sparse matrix} of shape (n_val,) or (n_val, n_outputs)
            Their target values, with the outputs of the fit and no other classes than those of the fit.
        sample_weight : array-like of shape (n_val,), default=None
            Their weights: not negative, and at least one positive. A sample with weight zero is treated as if it were
            absent. `class_weight` does not affect the loss.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator, whose parameters are the same objects. This estimator does not change.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid: another number of features or outputs, unknown classes, or no samples; and for
            trees with `criterion="absolute_error"`, because the median of a subtree is not known from its leaves.

        Notes
        -----
        It takes O(stored leaf values * log(n_leaves)) time for classes and labels and
        O((node_count + n_val) * n_outputs) for numerical outputs, in addition to the paths of the samples. The result
        does not depend on the layout of X_val.

        References
        ----------
        Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27, 1987.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import weald
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> tree = weald.DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
        >>> pruned = tree.prune_reduced_error(X[1::2], y[1::2])
        >>> pruned.get_n_leaves() < tree.get_n_leaves()
        True
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight)
        pruned = copy(self)
        pruned.tree_ = Tree(forest)
        return pruned

    def get_depth(self) -> int:
        """Return the depth of the tree: the maximum number of splits between the root and a leaf.

        Returns
        -------
        int
            The depth, which is 0 for a tree of a single leaf.
        """
        check_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            The number of leaves.
        """
        check_fitted(self)
        return self.tree_.n_leaves
