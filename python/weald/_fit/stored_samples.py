"""The training samples that a forest with `keep_rows` stores: checks, and their form for the engine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald import _weald
from weald._input.checks import Float, floats, generator, integer
from weald._input.messages import described

if TYPE_CHECKING:
    from weald._fit.forest import BaseBagging

# Attributes of a forest with `keep_rows`: the leaf of each training sample in each tree, int32 of shape
# (n_samples, n_trees); the sample weights; and for regressors the targets of shape (n_samples, n_outputs).
LEAVES, WEIGHTS, TARGETS = "_kept_leaves", "_kept_weights", "_kept_targets"
ATTRIBUTES = (LEAVES, WEIGHTS, TARGETS)

# The largest number of entries of a sparse matrix with narrow indices.
MOST_NARROW = 2**31 - 1


def keep(forest: BaseBagging, leaves: NDArray[Any], weights: Float | None, targets: Float | None) -> None:
    """Store the leaves, weights and targets of the training samples in a fitted forest."""
    setattr(forest, LEAVES, leaves.astype(np.int32))
    setattr(forest, WEIGHTS, np.ones(len(leaves)) if weights is None else np.array(weights, dtype=np.float64))
    if targets is not None:
        setattr(forest, TARGETS, np.array(targets, dtype=np.float64))


def merge(forest: BaseBagging, parts: list[Any]) -> None:
    """Store in a forest what its parts have stored, in the order of their trees."""
    if hasattr(parts[0], LEAVES):
        setattr(forest, LEAVES, np.hstack([getattr(part, LEAVES) for part in parts]))


def drop(forest: BaseBagging) -> None:
    """Delete the stored attributes, after the leaves have changed."""
    for name in ATTRIBUTES:
        forest.__dict__.pop(name, None)


def check_kept(forest: BaseBagging) -> None:
    """Raise unless the forest has stored its training samples."""
    if not hasattr(forest, LEAVES):
        raise ValueError(
            f"this {type(forest).__name__} stores no training samples: it must be fitted with keep_rows=True, "
            "and not pruned after that"
        )


def _samples(forest: BaseBagging) -> tuple[NDArray[np.uint32], Float]:
    """The leaves and weights of the training samples, in the engine's form."""
    return getattr(forest, LEAVES).view(np.uint32), getattr(forest, WEIGHTS)


def weights_of(forest: BaseBagging, leaves: NDArray[Any], k: int | None) -> sparse.csr_array:
    """Weights of all training samples, or the k largest, for samples that reach these leaves: (n, n_samples).

    Of equal weights, those of the first training samples are kept.
    """
    reached, n_train = leaves.astype(np.uint32), len(getattr(forest, LEAVES))
    most = None if k is None else min(k, n_train)
    ptr, columns, values = _weald.stored_weights(_samples(forest), reached, most, forest._n_threads())
    indices = columns.astype(np.int32 if len(values) <= MOST_NARROW else np.int64)
    return sparse.csr_array((values, indices, ptr.astype(indices.dtype)), shape=(len(leaves), n_train))


def quantiles(forest: BaseBagging, leaves: NDArray[Any], q: Float) -> Float:
    """Quantiles of shape (n, n_outputs, n_quantiles): the smallest targets up to which the weights reach each level."""
    reached = leaves.astype(np.uint32)
    return _weald.stored_quantiles(_samples(forest), getattr(forest, TARGETS), reached, q.tolist(), forest._n_threads())


def check_quantiles(q: object) -> Float:
    """Check quantile levels: a number from 0 to 1, or a list of such numbers."""
    shares = floats(q, "q")
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"q must be a number from 0 to 1, or a list of such numbers, got {q!r}")
    return shares


def draws(forest: BaseBagging, leaves: NDArray[Any], n_samples: object, random_state: object) -> Float:
    """Targets of training samples drawn with their weights: (n, n_outputs, n_samples).

    All outputs of a draw come from the same training sample.
    """
    n_samples = integer("n_samples", n_samples, 1, sys.maxsize)
    shares = generator(random_state).uniform(size=(len(leaves), n_samples))
    targets, reached = getattr(forest, TARGETS), leaves.astype(np.uint32)
    return _weald.stored_draws(_samples(forest), targets, reached, shares, forest._n_threads())


def check_k(k: object) -> int | None:
    """Check a number of samples to return; None stands for all."""
    return None if k is None else integer("k", k, 1, also=" or None")


def prove(name: str, state: dict[str, Any], node_counts: list[int], n_outputs: int) -> None:
    """Check the stored attributes of a state from an untrusted source."""
    if LEAVES not in state:
        if found := [attribute for attribute in (WEIGHTS, TARGETS) if attribute in state]:
            raise ValueError(f"{name}: {LEAVES} is missing, but {found[0]} is given")
        return
    leaves: NDArray[Any] = state[LEAVES]
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
