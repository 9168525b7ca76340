"""A slow, obvious twin of the stagewise path over the nodes of a forest, with NumPy and all indicators stored.

Indicators are the columns of `decision_path` without the roots, for all samples. The path is that of incremental
forward stagewise regression with a group of coefficients for each node and squared loss. Numerical outputs are whitened
by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass
class Nodes:
    """All nodes of a forest except the roots, tree by tree in pre-order."""

    Z: Array
    """(n_samples, n_nodes) of 0 and 1."""
    tree: Array
    parent: Array
    """Column of the parent, −1 − tree for a root."""
    ancestors: list[list[int]] = field(default_factory=list)
    """Columns, and roots as −1 − tree, strictly above each node."""


def nodes_of(forest: Any, X: Any) -> Nodes:
    path, offsets = forest.decision_path(X)
    path = path.toarray().astype(float)
    keep, tree, parent, column_of = [], [], [], {}
    for m, estimator in enumerate(forest.estimators_):
        left, right = estimator.tree_.children_left, estimator.tree_.children_right
        for node in range(len(left)):
            for child in (left[node], right[node]) if left[node] >= 0 else ():
                column_of[m, int(child)] = node
        for node in range(1, len(left)):
            keep.append(offsets[m] + node)
            tree.append(m)
            parent.append((m, column_of[m, node]))
    place = {int(k): i for i, k in enumerate(keep)}
    above = [-1 - m if node == 0 else place[int(offsets[m] + node)] for m, node in parent]
    nodes = Nodes(path[:, keep], np.array(tree, dtype=int), np.array(above, dtype=int))
    for j in range(len(above)):
        up = above[j]
        nodes.ancestors.append([up] + (nodes.ancestors[up] if up >= 0 else []))
    return nodes


def n_test_nodes(nodes: Nodes, beta: Array) -> int:
    """The number of nodes with a nonzero coefficient strictly below them."""
    kept = {up for j in np.flatnonzero(np.abs(beta).max(axis=1, initial=0)) for up in nodes.ancestors[j]}
    return len(kept)


@dataclass
class Step:
    t: float
    loss: float
    """Weighted mean square over training rows and columns."""
    held_out: float
    """The same of the rows held out."""
    n_test_nodes: int
    beta: Array
    scores: Array
    """Of all rows."""


def loss_of(r: Array, w: Array, known: Array) -> float:
    """The mean square of the known values."""
    return float(w @ (known * r**2).sum(axis=1) / max(w @ known.sum(axis=1), 1e-300))


def stagewise(
    nodes: Nodes,
    y: Array,
    w: Array,
    step_size: float,
    standardize: bool,
    max_steps: int,
    held_out: Array,
    known: Array | None = None,
) -> Iterator[Step]:
    """The path for y of shape (n, d). Held-out samples have a weight there, and weight zero in `w`. The first step is
    the constant.

    `known` is a mask of the known values of y, from which means, residuals and losses are computed; None if all are
    known. `beta` and `scores` are the current ones, which change as the path continues.
    """
    mean = w @ nodes.Z / w.sum()
    Z, usable = nodes.Z, (mean > 0) & (mean < 1)
    if standardize:
        Z = (nodes.Z - mean) / np.where(usable, np.sqrt(mean * (1 - mean)), 1.0)
    Z = Z * usable
    d = y.shape[1]
    known = np.ones(y.shape, dtype=bool) if known is None else known
    start = (w[:, None] * known * y).sum(axis=0) / (w[:, None] * known).sum(axis=0)
    beta, scores = np.zeros((Z.shape[1], d)), np.tile(start, (len(y), 1))

    def now(step: int) -> Step:
        losses = loss_of(y - scores, w, known), loss_of(y - scores, held_out, known)
        return Step(step * step_size, *losses, n_test_nodes(nodes, beta), beta, scores)

    yield now(0)
    for step in range(1, max_steps + 1):
        c = Z.T @ (w[:, None] * known * (y - scores))
        norms = np.sqrt((c**2).sum(axis=1)) * ((c * beta).sum(axis=1) >= 0)
        if not norms.size or norms.max() == 0:
            return
        # Nodes with the same samples are equal; so are those that float32 cannot distinguish, of which the first one
        # wins.
        j = int(np.argmax(norms.astype(np.float32)))
        move = step_size * c[j] / norms[j]
        after = scores + np.outer(Z[:, j], move)
        if loss_of(y - after, w, known) >= loss_of(y - scores, w, known):
            return
        beta[j] += move
        scores[:] = after
        yield now(step)
