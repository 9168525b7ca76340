"""The description of label trees for exporters: nodes, and a linear model of the children or labels of each node.

A column of a node, a child or a label, has the margin intercept + sum over features j of x_j · weight_j: float64 sums in the order
of the features, of x after it was prepared as `features` says. With -max(0, 1 - margin)³ added to the logarithm of its node, it
has a logarithm of its own; that of the root is 0. Level by level, the `beam_width` nodes of a tree with the largest logarithms
are followed, of equal ones the first; leaves stay among them until all are leaves. The labels of these are found: in their
logarithms, that of the leaf counts a twentieth. The score of a label is the logarithm of the mean over the trees of
exp(logarithm), where a label that is not found in a tree counts as 0, and its probability exp(score): of classes, divided by
the sum over the classes that are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.linear import BaseLinear
from weald.export._ensemble import Head, head_of
from weald.export._linear import Single

# What the logarithm of a leaf counts in those of its labels: a constant of the engine.
SHARE_OF_PATH = 0.05


@dataclass(frozen=True, kw_only=True)
class LabelTree:
    """A tree. Nodes are numbered level by level, and the root is node 0."""

    is_leaf: NDArray[np.bool_]
    # Node i has the columns column_ptr[i]:column_ptr[i + 1]: their targets are nodes, and labels in leaves.
    column_ptr: NDArray[np.int64]
    targets: NDArray[np.int64]
    intercepts: Single
    # Node i has weights for features[feature_ptr[i]:feature_ptr[i + 1]], which are in ascending order.
    feature_ptr: NDArray[np.int64]
    features: NDArray[np.int64]
    # The feature at place i of these has values[weight_ptr[i]:weight_ptr[i + 1]], for columns counted from the node's first.
    weight_ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Single

    @classmethod
    def of(cls, engine: _weald.LabelTreeModel, tree: int) -> LabelTree:
        is_leaf, column_ptr, targets, intercepts, feature_ptr, features, weight_ptr, columns, values = (
            engine.tree_arrays(tree)
        )
        return cls(
            is_leaf=is_leaf,
            column_ptr=column_ptr.astype(np.int64),
            targets=targets.astype(np.int64),
            intercepts=intercepts,
            feature_ptr=feature_ptr.astype(np.int64),
            features=features.astype(np.int64),
            weight_ptr=weight_ptr.astype(np.int64),
            columns=columns.astype(np.int64),
            values=values,
        )


@dataclass(frozen=True, kw_only=True)
class LabelTrees(Head):
    """A model of label trees."""

    # "given", "normalized" or "tfidf".
    features: str
    idf: Single | None
    beam_width: int
    engine: _weald.LabelTreeModel

    def trees(self) -> Iterator[LabelTree]:
        """Iterate over all trees, each of which is created when it is reached."""
        return (LabelTree.of(self.engine, tree) for tree in range(self.n_trees))


def label_trees_of(model: BaseEstimator) -> LabelTrees | None:
    """The description of a fitted model of label trees; None for other models."""
    if not isinstance(model, BaseLinear):
        return None
    check_is_fitted(model)
    fitted = model._twin()
    engine = fitted._model
    if not isinstance(engine, _weald.LabelTreeModel):
        return None
    return LabelTrees(
        **head_of(fitted),
        n_scores=engine.width,
        start=np.zeros(engine.width),
        divisor=float(engine.n_trees),
        link="identity",
        n_trees=engine.n_trees,
        linear=None,
        features=engine.features,
        idf=engine.idf(),
        beam_width=engine.beam_width,
        engine=engine,
    )
