"""The attribute `tree_`: a fitted tree as arrays with the names that scikit-learn uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spinney import _spinney
from spinney._sparse import csr_of
from spinney._validation import Float, Matrix, as_float32, check_rows

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
    """A fitted tree, with the attributes of scikit-learn's `sklearn.tree._tree.Tree`.

    Arrays are created at the first access, kept, and read-only. Node 0 is the root, and nodes are in depth-first order.
    As in scikit-learn, leaves have -1 as children and -2 as feature.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs, max_n_classes : int
    n_classes : ndarray of shape (n_outputs,)
        1 for numerical outputs, 2 for labels.
    children_left, children_right, feature : int64 ndarray of shape (node_count,)
    threshold, impurity, weighted_n_node_samples : float64 ndarray of shape (node_count,)
        With `output_projection`, impurities are those of the projected outputs. If the threshold is the largest
        float32, the split separates missing values from all others. It is NaN for splits on categories, see
        `categories_left`.
    n_node_samples : int64 ndarray of shape (node_count,)
        Number of distinct training samples with positive weight.
    value : float64 ndarray of shape (node_count, n_outputs, max_n_classes)
        Means of numerical outputs, and frequencies of classes. With `criterion="absolute_error"`, medians in leaves,
        and the weighted mean of the leaves below in other nodes. It takes O(node_count * n_outputs * max_n_classes)
        memory, and is created on demand.
    leaf_values : csr_array of shape (node_count, n_columns)
        The exact values that predictions use for samples that reach a leaf, without zeros. Columns are those of
        predictions: one for each numerical output and label, and one for each class of each output. The rows of splits
        are empty. It takes O(node_count + stored values) memory for any number of outputs. Converters of models should
        read it; `value` is for the inspection of trees.
    missing_go_to_left : uint8 ndarray of shape (node_count,)
        1 if samples with a missing value go to the left child. This is learned if some training samples of the node
        have a missing value; otherwise it is the child with more weight (the left one for equal weights). 0 in leaves.
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

    def __init__(self, forest: _spinney.Forest) -> None:
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
        """Return the sorted codes of the categories that a split sends left; all other categories go right.

        The result is empty for leaves and for splits with a threshold. Missing categories go right as well. An
        IndexError is raised if the node does not exist.
        """
        return self._tree.categories_left(range(self.node_count)[node]).astype(np.int64)

    def __reduce__(self) -> tuple[type[Tree], tuple[_spinney.Forest]]:
        return (Tree, (self._forest,))

    def apply(self, X: ArrayLike | Matrix) -> NDArray[np.int64]:
        """Return the index of the leaf that each sample reaches, of shape (n_samples,)."""
        return self._forest.apply(check_rows(X))[:, 0].astype(np.int64)

    def decision_path(self, X: ArrayLike | Matrix) -> sparse.csr_matrix:
        """Return the indicator of the nodes that each sample passes through, of shape (n_samples, node_count)."""
        return decision_path(self._forest, check_rows(X))[0]

    def predict(self, X: ArrayLike | Matrix) -> Float:
        """Return the value of the leaf that each sample reaches.

        Of shape (n_samples, max_n_classes) for one output, else (n_samples, n_outputs, max_n_classes).
        """
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def compute_feature_importances(self, normalize: bool = True) -> Float:
        """Return the total decrease of impurity by each feature, scaled to the sum 1 with `normalize`.

        All importances are zero if the tree is a single leaf.
        """
        splits = np.flatnonzero(self.children_left >= 0)
        total = self.weighted_n_node_samples * self.impurity
        decrease = total[splits] - total[self.children_left[splits]] - total[self.children_right[splits]]
        importances = np.bincount(self.feature[splits], decrease, self.n_features) / self.weighted_n_node_samples[0]
        whole = importances.sum()
        return np.asarray(importances / whole if normalize and whole > 0 else importances)

    def compute_partial_dependence(self, X: Float, target_features: NDArray[np.intp], out: Float) -> None:
        """Add to `out` the mean prediction at each row of X, averaged over the features not in `target_features`."""
        features = [int(feature) for feature in target_features]
        out += self._forest.partial_dependence(features, np.ascontiguousarray(as_float32(X)))[:, 0]


def decision_path(
    forest: _spinney.Forest, X: Matrix, n_threads: int = 1
) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """The indicator of the nodes that each sample passes through in each tree, and the first column of each tree."""
    ptr, nodes, offsets = forest.decision_path(X, n_threads)
    index: Any = np.int32 if max(len(nodes), offsets[-1]) <= np.iinfo(np.int32).max else np.int64
    parts: Any = (np.ones(len(nodes), dtype=np.int64), nodes.astype(index), ptr.astype(index))
    return sparse.csr_matrix(parts, shape=(len(ptr) - 1, int(offsets[-1]))), offsets.astype(np.int64)
