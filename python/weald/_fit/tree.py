"""What single trees for all kinds of y share."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch

from weald import _weald
from weald._fit import memory
from weald._fit.arrays import Tree, decision_path
from weald._fit.base import BINS_CONSTRAINTS, PRUNING_CONSTRAINTS, BaseModel, TreeParameters
from weald._fit.samples import Samples, prepare
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import OF_CONTAINER, OF_DRAWN, Proof, check_fitted
from weald._input.checks import draw_seed
from weald._input.described import described
from weald._input.sklearn_private import StrOptions
from weald._parameters.projections import Growth
from weald._parameters.types import (
    MatrixLike,
    Prediction,
    fit_context,
)

if TYPE_CHECKING:
    from weald._weald import _ForestConfig, _Model


class TreeProof(Proof):
    """The fitted attributes of a tree under validation."""

    attribute = "tree_"
    own = OF_DRAWN | OF_CONTAINER

    @classmethod
    def model_of(cls, value: object) -> _Model | None:
        """The model of the engine, which is a forest of one tree."""
        return super().model_of(value._forest if type(value) is Tree else value)

    @classmethod
    def holding(cls, model: _Model) -> Tree:
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
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Fit the tree to training samples.

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
        check_input : bool, default=True
            It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.

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

        The fitted tree does not depend on the layout of X.

        A balanced tree on dense X takes O(n_features · n_samples · log(n_samples)) time. For sparse X, the number of
        stored entries takes the place of n_features · n_samples.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit_samples(prepare(new, X, y, sample_weight, y_mask, label_names))
        return self

    def _fit_samples(self, samples: Samples) -> None:
        """Grow the tree on checked samples."""
        target = samples.target
        config = self._tree_config(samples, Growth(draw_seed(self.random_state)))
        data = samples.X, target.engine, samples.row_weights
        self.tree_ = Tree(_weald.fit_tree(*data, config, samples.mask, self._n_threads()))
        self.max_features_ = config["max_features"]
        self._set_outputs(target)

    def _config_again(self, samples: Samples, seed: int) -> _ForestConfig:
        """The configuration of a forest of one such tree on other samples."""
        tree = self._tree_config(samples, Growth(seed, range(1)))
        return {"tree": tree, "trees": (0, 1), "bootstrap": False, "max_samples": None, "by_output": False}

    def predict(self, X: MatrixLike, *, check_input: bool = True) -> Prediction:
        """Predict the classes, labels or numerical outputs of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.
        check_input : bool, default=True
            It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            For classes, the most frequent class of the leaf; for labels, those that more than half of the weight of
            the leaf has; for numerical outputs, the value of the leaf. The result is sparse if y was.
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
            It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.

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
            It has no effect: the input is always checked, which takes one pass. It exists for compatibility with scikit-learn.

        Returns
        -------
        CSR matrix of shape (n_samples, n_nodes)
            1 where a sample passes through a node.
        """
        checked = self._check_predict(X)
        return decision_path(self._forest, checked, self._n_threads())[0]

    def cost_complexity_pruning_path(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
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
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights. None: all weights are equal.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y, as in `fit`. Impurities are those of the known values. (`ccp_alpha` does not
            support unknown values.)

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
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight, y_mask=y_mask)
        ccp_alphas, impurities = grown.tree_._tree.cost_complexity_pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    @of_one_fit
    def prune_reduced_error(
        self,
        X_val: MatrixLike,
        y_val: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
    ) -> Self:
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
        sample_weight : array-like of shape (n_val,) or None, default=None
            Their weights: not negative, and at least one positive. A sample with weight zero is treated as if it were
            absent. `class_weight` does not affect the loss.
        y_mask : {array-like, sparse matrix} of the shape of y_val or None, default=None
            The unknown values of y_val: True or 1. NaN in several columns is unknown as well. Unknown values have no
            loss.

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
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight, y_mask)
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
