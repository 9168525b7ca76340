"""The description of a centroid forest for exporters: nodes, their centroids, and the values of leaves.

A node sends a sample x to the child with the largest product of x and the child's centroid, the first of equal ones. Products
are float32 sums in the order of the features, of x after it was prepared. If samples are shared, the second child gets the
share 1 / (1 + exp(sharpness · difference of the two products)) of what the node gets, unless that is less than `least`, and the
first child the rest; shares are float32. Of a leaf with the share s and the weight `own`, the values of the leaf are added times
s · own, and then those of its parent times s · (1 - own). Sums are float64 in the order of the trees, and in each tree in
the order of the leaves; divided by the number of trees, they are the scores: at most 1 for classes and labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._files.centroid_tables import CentroidTables, Rules, Table, leaves_and_parents
from weald._input.checks import Float
from weald.centroid import BaseCentroidForest
from weald.export._ensemble import Head, head_of


@dataclass(frozen=True, kw_only=True)
class CentroidTree:
    """A tree. Nodes are numbered level by level, and leaves are numbered in the order of their nodes."""

    # The children of node i are the nodes starts[i]:starts[i + 1]; leaves have none.
    starts: NDArray[np.int64]
    # Node i has the weights of the features features[ptr[i]:ptr[i + 1]], which are in ascending order.
    ptr: NDArray[np.int64]
    features: NDArray[np.int64]
    weights: NDArray[np.float32]
    leaves: Table
    # The values of the parents of leaves, the row of the parent of each leaf, and the weight of its own values, or None.
    parents: Table | None
    parent_of: NDArray[np.int64]
    own: Float


@dataclass(frozen=True, kw_only=True)
class Centroids(Head):
    """A centroid forest."""

    rules: Rules
    # Reads the tables of the trees from the first one on.
    tables: CentroidTables

    def trees(self) -> Iterator[CentroidTree]:
        """Iterate over all trees, once, each of which is created when it is reached."""
        for tree, leaves, parents in self.tables.trees():
            starts = tree.children_start().astype(np.int64)
            centroids = [tree.centroid(node) for node in range(tree.node_count)]
            nodes, with_leaves = leaves_and_parents(starts)
            parent_of, own = np.zeros(0, dtype=np.int64), np.ones(0)
            if parents is not None:
                parent_of = np.searchsorted(starts[with_leaves + 1], nodes, side="right").astype(np.int64)
                weights = tree.weighted_n_node_samples()[nodes]
                own = weights / (weights + self.rules.leaf_shrinkage)
            yield CentroidTree(
                starts=starts,
                ptr=np.append(0, np.cumsum([len(features) for features, _ in centroids])).astype(np.int64),
                features=np.concatenate([features for features, _ in centroids]).astype(np.int64),
                weights=np.concatenate([weights for _, weights in centroids]),
                leaves=leaves,
                parents=parents,
                parent_of=parent_of,
                own=own,
            )


def centroids_of(model: BaseEstimator) -> Centroids | None:
    """The description of a fitted centroid forest; None for other models."""
    if not isinstance(model, BaseCentroidForest):
        return None
    check_is_fitted(model)
    fitted = model._twin()
    tables = CentroidTables(fitted._forest)
    return Centroids(
        **head_of(fitted),
        n_scores=fitted._forest.width,
        start=np.zeros(fitted._forest.width),
        divisor=float(fitted._forest.n_trees),
        link="identity",
        n_trees=fitted._forest.n_trees,
        linear=None,
        rules=tables.rules,
        tables=tables,
    )
