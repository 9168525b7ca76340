"""What single trees for all kinds of y share."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch

from weald import _weald
from weald._fit import memory
from weald._fit.arrays import Tree, decision_path
from weald._fit.base import BINS_CONSTRAINTS, PRUNING_CONSTRAINTS, BaseModel, Samples, TreeParameters, prepare
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import OF_CONTAINER, OF_DRAWN, Proof, check_fitted
from weald._input.checks import draw_seed
from weald._input.messages import described
from weald._input.sklearn_private import StrOptions
from weald._parameters.growing import Growth
from weald._parameters.types import (
    LabelNames,
    MatrixLike,
    Prediction,
    SampleWeight,
    YWeight,
    fit_context,
)


class TreeProof(Proof):
    """The fitted attributes of a tree under validation."""

    attribute = "tree_"
    own = OF_DRAWN | OF_CONTAINER

    @classmethod
    def model_of(cls, value: object) -> _weald._Model | None:
        """The model of the engine, which is a forest of one tree."""
        return super().model_of(value._forest if type(value) is Tree else value)

    @classmethod
    def holding(cls, model: _weald._Model) -> Tree:
        """The arrays of the tree."""
        if type(model) is not _weald.Forest or model.n_trees != 1:
            trees = f"{model.n_trees} trees" if type(model) is _weald.Forest else described(model)
            raise ValueError(f"the model must be a single tree, got {trees}")
        return Tree(model)

    def of_engine(self) -> None:
        """Check the arrays of the tree."""
        tree = self.state[self.attribute]
        is_tree = type(tree) is Tree and type(tree._forest) is _weald.Forest
        self.need(is_tree, self.attribute, f"must be a tree, got {described(tree)}")
        n_trees = tree._forest.n_trees
        self.need(n_trees == 1, self.attribute, f"must be a single tree, got {n_trees} trees")
        self.of_y(tree._forest)


class BaseTree(TreeParameters, BaseModel):
    """What trees for all kinds of y share."""

    _proof = TreeProof
    _memory_of_fit = staticmethod(memory.of_forest)
    _masks_y = True
    _keeps_sparse_y = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        "splitter": [StrOptions({"best", "random"})],
        "n_jobs": [Integral, None],
        **PRUNING_CONSTRAINTS,
        **BINS_CONSTRAINTS,
    }

    splitter: Literal["best", "random"]
    max_bins: int | None

    tree_: Tree
    max_features_: int

    @property
    def _forest(self) -> _weald.Forest:  # type: ignore[override]
        return self.tree_._forest

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        check_input: bool = True,
    ) -> Self:
        """Fit the tree to training samples.

        A balanced tree on dense X takes O(n_features · n_samples · log(n_samples)) time. For sparse X, the number of
        stored entries takes the place of n_features · n_samples.
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
        check_input : bool, default=True
            It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit_samples(prepare(new, Fit(X, y, sample_weight, y_weight, label_names)))
        return self

    def _fit_samples(self, samples: Samples) -> None:
        """Grow the tree on checked samples."""
        target = samples.target
        config = self._tree_config(samples, Growth(draw_seed(self.random_state)))
        self.tree_ = Tree(_weald.fit_tree(samples.in_engine, config, self._n_threads()))
        self.max_features_ = config["max_features"]
        self._set_outputs(target)

    def _config_again(self, samples: Samples, seed: int) -> _weald._ForestConfig:
        """The configuration of a forest of one such tree on other samples."""
        tree = self._tree_config(samples, Growth(seed, range(1)))
        return {"tree": tree, "trees": (0, 1), "bootstrap": False, "max_samples": None, "by_output": False}

    def predict(self, X: MatrixLike, *, check_input: bool = True) -> Prediction:
        """Predict the classes, labels or numerical outputs of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. Float32 X that is dense or CSR is used without a copy.
        check_input : bool, default=True
            It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The most frequent class of the leaf, the labels that more than half of its weight has, or its value; sparse
            if y was.
        """
        return super().predict(X)

    @of_one_fit
    def apply(self, X: MatrixLike, *, check_input: bool = True) -> NDArray[np.int64]:
        """Return the index of the leaf that each sample reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        check_input : bool, default=True
            It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes in `tree_`.
        """
        checked = self._check_predict(X)
        return self._forest.apply(checked, self._n_threads())[:, 0].astype(np.int64)

    @of_one_fit
    def decision_path(self, X: MatrixLike, *, check_input: bool = True) -> sparse.csr_matrix:
        """Return the nodes that each sample passes through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        check_input : bool, default=True
            It has no effect: the input is always checked. It exists for compatibility with scikit-learn.

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
            1 where a sample passes through a node.
        """
        checked = self._check_predict(X)
        return decision_path(self._forest, checked, self._n_threads())[0]

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> Bunch:
        """Fit a tree and compute the path of minimal cost-complexity pruning, which gives the candidates for `ccp_alpha`.

        Each step turns the split with the smallest ``(R(t) - R(T_t)) / (|T_t| - 1)`` into a leaf: ``R(t)`` is the
        impurity of node t times its fraction of the weight, ``R(T_t)`` the sum of R over the ``|T_t|`` leaves below
        (Breiman et al., *Classification and Regression Trees*, 1984, chapter 3). It takes the time of a fit, whose
        errors it has, and O(node_count * log(node_count)).

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            The training samples. `ccp_alpha` does not support unknown values.

        Returns
        -------
        ccp_path : sklearn.utils.Bunch
            The path: `ccp_alphas`, 0 and then the complexity of each step, and `impurities`, the sums of R over the
            remaining leaves. The estimator does not change.
        """
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight, y_weight=y_weight)
        ccp_alphas, impurities = grown.tree_._tree.cost_complexity_pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    @of_one_fit
    def prune_reduced_error(
        self, X_val: MatrixLike, y_val: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> Self:
        """Prune the tree on validation samples, by reduced-error pruning.

        From the leaves to the root, a subtree becomes a leaf if this does not increase the loss on the validation
        samples: the squared error, the number of outputs with a wrong class, or of wrong labels. The result is the
        smallest pruning with the least loss (Quinlan, *Simplifying decision trees*, 1987). It takes O(stored leaf
        values * log(n_leaves)), or O((node_count + n_val) * n_outputs) for numbers. Trees of
        `criterion="absolute_error"` raise a ValueError.

        >>> from sklearn.datasets import load_breast_cancer
        >>> import weald
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> tree = weald.DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
        >>> tree.prune_reduced_error(X[1::2], y[1::2]).get_n_leaves() < tree.get_n_leaves()
        True

        Parameters
        ----------
        X_val, y_val, sample_weight, y_weight : as X, y, sample_weight and y_weight in `fit`
            The validation samples, at least one, with the outputs of `fit` and no other classes. Unknown values have no
            loss, and `class_weight` does not affect it.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator. This estimator does not change.
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight, y_weight)
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
