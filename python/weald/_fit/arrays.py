"""Fitted trees as arrays like those of scikit-learn: the attribute `tree_`, paths, and leaves as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from weald import _weald
from weald._input.checks import Float, Matrix, as_float32, check_rows, relative
from weald._input.sparse import csr_of

_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "impurity",
    "missing_go_to_left",
    "n_node_samples",
    "threshold",
    "value",
    "weighted_n_node_samples",
)


class Tree:
    """A fitted tree as arrays, with the attributes of `sklearn.tree._tree.Tree`.

    Arrays are created when they are first accessed, cached, and read-only. Nodes are in pre-order, and node 0 is the
    root. As in scikit-learn, the children of a leaf are -1 and its feature is -2.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs : int
        The numbers of nodes and leaves, the depth, and the numbers of features and outputs.
    n_classes : ndarray of shape (n_outputs,)
        Number of classes of each output: 1 for numbers and 2 for labels. `max_n_classes` is the largest.
    children_left, children_right, feature : int64 ndarray of shape (node_count,)
        The children of each node, and the feature that it is split on.
    threshold : float64 ndarray of shape (node_count,)
        Threshold of each split. The largest float32 separates missing values from all others; NaN is a split on
        categories, see `categories_left`.
    impurity : float64 ndarray of shape (node_count,)
        Impurity of each node. With `output_projection` it is that of the projected outputs.
    n_node_samples, weighted_n_node_samples : int64 and float64 ndarray of shape (node_count,)
        Number of distinct training samples of positive weight in each node, and the sum of their weights.
    value : float64 ndarray of shape (node_count, n_outputs, max_n_classes)
        Means of regression targets, or frequencies of classes. With `criterion="absolute_error"`, leaves have medians,
        and other nodes the weighted mean of the leaves below them.
    leaf_values : csr_array of shape (node_count, n_columns)
        The exact contribution of each leaf to predictions, with one column for each number, label, or class of each
        output: for conversion of models, in memory for the stored values alone.
    missing_go_to_left : uint8 ndarray of shape (node_count,)
        1 if samples with a missing value go to the left child: the better side if the node had such samples, and else
        that of larger weight, or the left one.
    """

    children_left: NDArray[np.int64]
    children_right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Float
    impurity: Float
    n_node_samples: NDArray[np.int64]
    missing_go_to_left: NDArray[np.uint8]
    weighted_n_node_samples: Float
    value: Float
    leaf_values: sparse.csr_array

    def __init__(self, forest: _weald.Forest) -> None:
        self._forest = forest
        self._tree = forest.tree(0)
        self.node_count = self._tree.node_count
        self.n_leaves = self._tree.n_leaves
        self.max_depth = self._tree.max_depth
        self.n_features = forest.n_features
        self.n_outputs = forest.n_outputs
        self.n_classes = forest.n_classes
        self.max_n_classes = int(self.n_classes.max())

    def __getattr__(self, name: str) -> Any:
        if name == "leaf_values":
            self.leaf_values = self._leaf_values()
            return self.leaf_values
        if name not in _ARRAYS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        array: NDArray[Any] = getattr(self._tree, name)()
        if name == "n_node_samples":
            array = array.astype(np.int64)
        array.flags.writeable = False
        setattr(self, name, array)
        return array

    def _leaf_values(self) -> sparse.csr_array:
        found = csr_of(self._tree.leaf_values(), (self.node_count, self._forest.width))
        for array in (found.data, found.indices, found.indptr):
            array.flags.writeable = False
        return found

    def categories_left(self, node: int) -> NDArray[np.int64]:
        """Codes of the categories for which a split goes to the left child, in ascending order.

        All other categories and missing values go to the right child. The array is empty for splits on a threshold and
        for leaves. An IndexError is raised for nodes that do not exist.
        """
        return self._tree.categories_left(range(self.node_count)[node]).astype(np.int64)

    def __reduce__(self) -> tuple[type[Tree], tuple[_weald.Forest]]:
        return (Tree, (self._forest,))

    def apply(self, X: ArrayLike | Matrix) -> NDArray[np.int64]:
        """Index of the leaf that each sample reaches."""
        return self._forest.apply(check_rows(X))[:, 0].astype(np.int64)

    def decision_path(self, X: ArrayLike | Matrix) -> sparse.csr_matrix:
        """Indicator matrix of shape (n_samples, node_count) of the nodes on the path of each sample."""
        return decision_path(self._forest, check_rows(X))[0]

    def predict(self, X: ArrayLike | Matrix) -> Float:
        """Value of the leaf of each sample.

        The shape is (n_samples, max_n_classes) with one output, and (n_samples, n_outputs, max_n_classes) otherwise.
        """
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def compute_feature_importances(self, normalize: bool = True) -> Float:
        """Total decrease of impurity by splits on each feature, which sums to 1 if `normalize` is True.

        If the tree has no split that decreases the impurity, all importances are zero.
        """
        splits = np.flatnonzero(self.children_left >= 0)
        # Products with impurities, which are below 2**998, stay within float64.
        weights = relative(self.weighted_n_node_samples) * 2.0**26
        total = weights * self.impurity
        decrease = total[splits] - total[self.children_left[splits]] - total[self.children_right[splits]]
        importances = np.bincount(self.feature[splits], decrease, self.n_features) / weights[0]
        whole = importances.sum()
        return np.asarray(importances / whole if normalize and whole > 0 else importances)

    def compute_partial_dependence(self, X: Float, target_features: NDArray[np.intp], out: Float) -> None:
        """Add the partial dependence on `target_features` at each grid point in X to `out`."""
        features = [int(feature) for feature in target_features]
        out += self._forest.partial_dependence(features, np.ascontiguousarray(as_float32(X)))[:, 0]


def decision_path(forest: _weald.Forest, X: Matrix, n_threads: int = 1) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """Indicator matrix of the nodes on the path of each sample in each tree, and the first column of each tree."""
    ptr, nodes, offsets = forest.decision_path(X, n_threads)
    index: type[np.signedinteger] = np.int32 if max(len(nodes), offsets[-1]) <= np.iinfo(np.int32).max else np.int64
    parts: Any = (np.ones(len(nodes), dtype=np.int64), nodes.astype(index), ptr.astype(index))
    return sparse.csr_matrix(parts, shape=(len(ptr) - 1, int(offsets[-1]))), offsets.astype(np.int64)


def leaf_indicator(forest: _weald.Forest | _weald.CentroidForest, nodes: NDArray[np.uint32]) -> sparse.csr_matrix:
    """Indicator matrix of the leaves of all trees, from the node that each sample reaches in each tree."""
    n, n_trees = nodes.shape
    columns = np.empty((n, n_trees), dtype=np.int64)
    n_columns = 0
    for tree, leaves in enumerate(leaves_of(forest)):
        columns[:, tree] = n_columns + np.searchsorted(leaves, nodes[:, tree])
        n_columns += len(leaves)
    # CSR has one dtype for columns and for offsets.
    index: type[np.signedinteger] = np.int32 if max(nodes.size, n_columns) <= np.iinfo(np.int32).max else np.int64
    ptr = np.arange(n + 1, dtype=np.int64) * n_trees
    parts: Any = (np.ones(nodes.size), columns.ravel().astype(index), ptr.astype(index))
    return sparse.csr_matrix(parts, shape=(n, n_columns))


def leaves_of(forest: _weald.Forest | _weald.CentroidForest) -> Iterator[NDArray[np.intp]]:
    """The leaves of each tree, in ascending order."""
    for i in range(forest.n_trees):
        tree = forest.tree(i)
        if isinstance(tree, _weald.CentroidTree):
            start = tree.children_start()
            yield np.flatnonzero(start[1:] == start[:-1])
        else:
            yield np.flatnonzero(tree.children_left() < 0)
