"""Weights of the training samples in the predictions of a forest (Meinshausen 2006).

In a tree, the weight of a training sample is its fraction of the weight of the leaf that is reached, or zero outside of
this leaf. In a forest, it is the mean over the trees, so that the weights of all training samples sum to 1. Conditional
quantiles and joint draws of all outputs are computed from these weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.checks import Float, generator, integer, named
from weald._input.described import described
from weald._ranking import ranks

# Attributes of a forest with `keep_rows`: the leaf of each training sample in each tree, int32 of shape
# (n_samples, n_trees); the sample weights; and for regressors the targets of shape (n_samples, n_outputs).
LEAVES, WEIGHTS, TARGETS = "_kept_leaves", "_kept_weights", "_kept_targets"
ATTRIBUTES = (LEAVES, WEIGHTS, TARGETS)

# The maximum number of weights, of a block of samples for all training samples, that are held at once.
_BLOCK_CELLS = 1 << 24
# Sums of weights are rounded: a quantile level counts as reached if the cumulated weight is this close to it.
_SLACK = 1e-12


def keep(forest: Any, leaves: NDArray[Any], weights: Float | None, targets: Float | None) -> None:
    """Store the leaves, weights and targets of the training samples in a fitted forest."""
    setattr(forest, LEAVES, leaves.astype(np.int32))
    setattr(forest, WEIGHTS, np.ones(len(leaves)) if weights is None else np.array(weights, dtype=np.float64))
    if targets is not None:
        setattr(forest, TARGETS, np.array(targets, dtype=np.float64))


def merge(forest: Any, parts: list[Any]) -> None:
    """Store in a forest what its parts have stored, in the order of their trees."""
    if hasattr(parts[0], LEAVES):
        setattr(forest, LEAVES, np.hstack([getattr(part, LEAVES) for part in parts]))


def drop(forest: Any) -> None:
    """Delete the stored attributes, after the leaves have changed."""
    for name in ATTRIBUTES:
        forest.__dict__.pop(name, None)


def check_kept(forest: Any) -> None:
    """Raise unless the forest has stored its training samples."""
    if not hasattr(forest, LEAVES):
        raise ValueError(
            f"this {type(forest).__name__} stores no training samples: it must be fitted with keep_rows=True, "
            "and not pruned after that"
        )


def weights_of(forest: Any, leaves: NDArray[Any]) -> Iterator[sparse.csr_array]:
    """Weights of all training samples for samples that reach these leaves: (n, n_samples), in blocks."""
    kept: NDArray[np.int32] = getattr(forest, LEAVES)
    row_weights: Float = getattr(forest, WEIGHTS)
    n_train, n_trees = kept.shape
    n_nodes = np.array([forest._forest.tree(i).node_count for i in range(n_trees)])
    first = np.concatenate([[0], np.cumsum(n_nodes)])
    there = np.flatnonzero(row_weights > 0)
    places = (kept[there] + first[:-1]).ravel()
    shares = np.repeat(row_weights[there], n_trees)
    in_leaf = np.bincount(places, weights=shares, minlength=first[-1])
    of_nodes = sparse.csr_array(
        (shares / in_leaf[places] / n_trees, (places, np.repeat(there, n_trees))), shape=(first[-1], n_train)
    )
    n_at_once = max(1, _BLOCK_CELLS // max(1, n_train))
    for start in range(0, len(leaves), n_at_once):
        reached = leaves[start : start + n_at_once] + first[:-1]
        n = len(reached)
        indicators = sparse.csr_array(
            (np.ones(reached.size), reached.ravel(), np.arange(0, reached.size + 1, n_trees)), shape=(n, first[-1])
        )
        yield sparse.csr_array(indicators @ of_nodes)


def largest(weights: sparse.csr_array, k: int) -> sparse.csr_array:
    """The k largest weights of each row; of equal weights, those of the first training samples."""
    longest = int(np.diff(weights.indptr).max(initial=0))
    indices, values = ranks.k_best(weights, min(k, longest), zeros=False)
    there = indices != ranks.NONE
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))])
    found = sparse.csr_array((values[there], indices[there].astype(np.int64), ends), shape=weights.shape)
    found.sort_indices()
    return found


def quantiles(forest: Any, leaves: NDArray[Any], q: Float) -> Float:
    """Quantiles of shape (n, n_outputs, n_quantiles): the smallest targets up to which the weights reach each level."""
    targets: Float = getattr(forest, TARGETS)
    n_outputs = targets.shape[1]
    parts = []
    for weights in weights_of(forest, leaves):
        of_block = np.empty((weights.shape[0], n_outputs, len(q)))
        for j in range(n_outputs):
            known = np.flatnonzero(~np.isnan(targets[:, j]))
            order = known[np.argsort(targets[known, j], kind="stable")]
            of_block[:, j] = targets[order, j][_reached(weights[:, order], q - _SLACK, "left")]
        parts.append(of_block)
    return np.concatenate(parts) if parts else np.empty((0, n_outputs, len(q)))


def _reached(weights: sparse.csr_array, shares: Float, side: Literal["left", "right"]) -> NDArray[Any]:
    """For each row and share, the column up to which the weights reach this share of their sum.

    `shares` are the same for all rows, or one list for each row. With "right", the weights must exceed the share.
    """
    weights.sort_indices()
    sums = np.cumsum(weights.data)
    starts, ends = weights.indptr[:-1], weights.indptr[1:]
    if (starts == ends).any():
        raise ValueError(
            "y must have a known target in a leaf that each sample reaches, got a sample that only reaches leaves "
            "without one"
        )
    before = np.where(starts > 0, sums[starts - 1], 0.0)
    goals = before[:, None] + (sums[ends - 1] - before)[:, None] * shares
    places = np.searchsorted(sums, goals, side=side)
    found: NDArray[Any] = weights.indices[np.clip(places, starts[:, None], ends[:, None] - 1)]
    return found


def check_quantiles(q: Any) -> Float:
    """Check quantile levels: a number from 0 to 1, or a list of such numbers."""
    with named("q"):
        shares = np.asarray(q, dtype=np.float64)
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"q must be a number from 0 to 1, or a list of such numbers, got {q!r}")
    return shares


def draws(forest: Any, leaves: NDArray[Any], n_samples: Any, random_state: Any) -> Float:
    """Targets of training samples drawn with their weights: (n, n_outputs, n_samples).

    All outputs of a draw come from the same training sample.
    """
    n_samples = integer("n_samples", n_samples, 1, sys.maxsize)
    targets: Float = getattr(forest, TARGETS)
    rng = generator(random_state)
    parts = []
    for weights in weights_of(forest, leaves):
        shares = rng.uniform(size=(weights.shape[0], int(n_samples)))
        parts.append(targets[_reached(weights, shares, "right")].transpose(0, 2, 1))
    return np.concatenate(parts) if parts else np.empty((0, targets.shape[1], int(n_samples)))


def check_k(k: Any) -> int | None:
    """Check a number of samples to return; None stands for all."""
    return None if k is None else integer("k", k, 1, also=" or None")


def prove(name: str, state: dict[str, Any], node_counts: list[int], n_outputs: int) -> None:
    """Check the stored attributes of a state from an untrusted source."""
    if LEAVES not in state:
        if found := [attribute for attribute in (WEIGHTS, TARGETS) if attribute in state]:
            raise ValueError(f"{name}: {LEAVES} is missing, but {found[0]} is given")
        return
    leaves: Any = state[LEAVES]
    weights: Any = state.get(WEIGHTS)
    is_table = isinstance(leaves, np.ndarray) and leaves.dtype == np.int32 and leaves.ndim == 2
    if not is_table or leaves.shape[1] != len(node_counts) or len(leaves) == 0:
        raise ValueError(
            f"{name}: {LEAVES} must be an int32 array of shape (n_samples, {len(node_counts)}), one column for each "
            f"tree, got {described(leaves)}"
        )
    if wrong := leaves[(leaves < 0) | (leaves >= np.array(node_counts))].tolist():
        raise ValueError(f"{name}: {LEAVES} must have nodes of its trees, got node {wrong[0]}")
    of_rows: list[tuple[str, Any, tuple[int, ...]]] = [(WEIGHTS, weights, (len(leaves),))]
    if TARGETS in state:
        of_rows.append((TARGETS, state[TARGETS], (len(leaves), n_outputs)))
    for attribute, value, shape in of_rows:
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape:
            raise ValueError(f"{name}: {attribute} must be a float64 array of shape {shape}, got {described(value)}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights > 0).any():
        raise ValueError(f"{name}: {WEIGHTS} must be finite, at least 0, and not all 0, got other values")
