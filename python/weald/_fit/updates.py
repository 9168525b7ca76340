"""What forests keep of a fit and change after it: stored samples, parts, and trees that new ones replace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald import _weald
from weald._fit.base import prepare
from weald._fitted.fits import Fit
from weald._input.checks import Float, Matrix, floats, generator, integer
from weald._input.frames import check_same_names
from weald._input.messages import described
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._fit.forest import BaseBagging, BaseForest


# Attributes of a forest with `keep_rows`: the leaf of each training sample in each tree, int32 of shape
# (n_samples, n_trees); the sample weights; and for regressors the targets of shape (n_samples, n_outputs).
LEAVES, WEIGHTS, TARGETS = "_kept_leaves", "_kept_weights", "_kept_targets"
OF_ROWS = (LEAVES, WEIGHTS, TARGETS)

# The largest number of entries of a sparse matrix with narrow indices.
MOST_NARROW = 2**31 - 1


def keep_rows(forest: BaseBagging, leaves: NDArray[Any], weights: Float | None, targets: Float | None) -> None:
    """Store the leaves, weights and targets of the training samples in a fitted forest."""
    setattr(forest, LEAVES, leaves.astype(np.int32))
    setattr(forest, WEIGHTS, np.ones(len(leaves)) if weights is None else np.array(weights, dtype=np.float64))
    if targets is not None:
        setattr(forest, TARGETS, np.array(targets, dtype=np.float64))


def merge_rows(forest: BaseBagging, parts: list[Any]) -> None:
    """Store in a forest what its parts have stored, in the order of their trees."""
    if hasattr(parts[0], LEAVES):
        setattr(forest, LEAVES, np.hstack([getattr(part, LEAVES) for part in parts]))


def drop_rows(forest: BaseBagging) -> None:
    """Delete the stored attributes, after the leaves have changed."""
    for name in OF_ROWS:
        forest.__dict__.pop(name, None)


def check_kept(forest: BaseBagging) -> None:
    """Raise unless the forest has stored its training samples."""
    if not hasattr(forest, LEAVES):
        raise ValueError(
            f"this {type(forest).__name__} stores no training samples: it must be fitted with keep_rows=True, "
            "and not pruned after that"
        )


def _rows_in_engine(forest: BaseBagging) -> tuple[NDArray[np.uint32], Float]:
    """The leaves and weights of the training samples, in the engine's form."""
    return getattr(forest, LEAVES).view(np.uint32), getattr(forest, WEIGHTS)


def weights_of_rows(forest: BaseBagging, leaves: NDArray[Any], k: int | None) -> sparse.csr_array:
    """Weights of all training samples, or the k largest, for samples that reach these leaves: (n, n_samples).

    Of equal weights, those of the first training samples are kept.
    """
    reached, n_train = leaves.astype(np.uint32), len(getattr(forest, LEAVES))
    most = None if k is None else min(k, n_train)
    ptr, columns, values = _weald.stored_weights(_rows_in_engine(forest), reached, most, forest._n_threads())
    indices = columns.astype(np.int32 if len(values) <= MOST_NARROW else np.int64)
    return sparse.csr_array((values, indices, ptr.astype(indices.dtype)), shape=(len(leaves), n_train))


def quantiles_of_rows(forest: BaseBagging, leaves: NDArray[Any], q: Float) -> Float:
    """Quantiles of shape (n, n_outputs, n_quantiles): the smallest targets up to which the weights reach each level."""
    reached = leaves.astype(np.uint32)
    return _weald.stored_quantiles(
        _rows_in_engine(forest), getattr(forest, TARGETS), reached, q.tolist(), forest._n_threads()
    )


def check_quantiles(q: object) -> Float:
    """Check quantile levels: a number from 0 to 1, or a list of such numbers."""
    shares = floats(q, "q")
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"q must be a number from 0 to 1, or a list of such numbers, got {q!r}")
    return shares


def draws_of_rows(forest: BaseBagging, leaves: NDArray[Any], n_samples: object, random_state: object) -> Float:
    """Targets of training samples drawn with their weights: (n, n_outputs, n_samples).

    All outputs of a draw come from the same training sample.
    """
    n_samples = integer("n_samples", n_samples, 1, sys.maxsize)
    shares = generator(random_state).uniform(size=(len(leaves), n_samples))
    targets, reached = getattr(forest, TARGETS), leaves.astype(np.uint32)
    return _weald.stored_draws(_rows_in_engine(forest), targets, reached, shares, forest._n_threads())


def checked_k(k: object) -> int | None:
    """Check a number of samples to return; None stands for all."""
    return None if k is None else integer("k", k, 1, also=" or None")


def prove_rows(name: str, state: dict[str, Any], node_counts: list[int], n_outputs: int) -> None:
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


def digest_of_data(X: Matrix, target: Target, weights: Float | None) -> str:
    """128 bits, as hexadecimal digits, of validated X, y, mask and weights; see `weald::data::data_digest`."""
    classes = [np.sort(found.astype(str)).tolist() for found in target.classes]
    return _weald.data_digest(X, _cells_of(target.original), target.known_in_engine, weights, classes)


def _cells_of(y: Matrix) -> Matrix:
    """The cells of y: numbers, a pattern and its values, or texts with their places."""
    if is_sparse(y):
        y = y.tocsr()
        return (y.indptr, y.indices, y.shape[1]), y.data.astype(np.float64)
    table = np.asarray(y).reshape(len(y), -1)
    if table.dtype.kind in "biuf":
        return table.astype(np.float64, copy=False)
    places = np.nonzero(table if table.dtype != object else np.ones(table.shape, bool))
    rows, columns = map(np.ascontiguousarray, places)
    return rows, columns, list(map(str, table[rows, columns].tolist())), table.shape


# Attribute of a model that is a part: the index of its first tree or label, one past the index of the last one, and the
# digest of the training data.
PART = "_part"
# An attribute of updated forests: the number of trees that were ever grown.
GROWN = "_n_grown"


def update(forest: BaseForest, given: Fit, retire: int) -> None:
    """Grow `retire` trees on these samples and delete as many of the oldest trees."""
    before = dict(forest.__dict__)
    n_old = forest._n_trees(forest._forest)
    n_grown = before.get(GROWN, n_old)
    known = forest._known_target()
    samples = prepare(forest, given, goes_on=True)
    X = samples.X
    if X.shape[1] != before["n_features_in_"]:
        raise ValueError(f"X must have {before['n_features_in_']} features, as in the fit, got {X.shape[1]}")
    old, new = (state.get("feature_names_in_") for state in (before, forest.__dict__))
    if not np.array_equal([] if old is None else old, [] if new is None else new):
        raise ValueError("X must have the same feature names in the same order as in the fit, got other names")
    samples = samples.of(forest, _of_known_classes(forest, known, samples.target, given.y))
    forest._check_grown_with(forest._forest, samples.target)
    config = forest._forest_config(samples, (n_grown, n_grown + retire))
    more = forest._grow(samples, config, forest._n_threads(), None)
    kept = [forest._forest.some_trees(retire, n_old)] if retire < n_old else []
    forest._forest = type(more).merge([*kept, more])
    setattr(forest, GROWN, n_grown + retire)
    drop_rows(forest)
    for name in (*forest._oob_attributes, PART):
        forest.__dict__.pop(name, None)


def _of_known_classes(forest: BaseForest, known: Target, target: Target, y: MatrixLike) -> Target:
    """The target with the classes of the fit, some of which the samples may lack."""
    if (target.kind, target.n_outputs) != (known.kind, known.n_outputs):
        expected = f"{known.n_outputs} outputs of {known.kind}, as in the fit"
        raise ValueError(f"y must have {expected}, got {target.n_outputs} outputs of {target.kind}")
    check_same_names(target.names, known.names, "y", "outputs must be those of the fit, in the same order")
    if target.kind != "classes":
        return target
    if target.mask is None:
        engine = known.like(y, target.original.shape[0], type(forest).__name__, what="y")
    else:
        engine = (_codes_among(known.classes, target), known.engine[1])
    return replace(target, engine=engine, classes=known.classes)


def _codes_among(classes: Sequence[NDArray[Any]], target: Target) -> NDArray[np.uint32]:
    """The codes of y with unknown values among the classes of the fit."""
    codes: NDArray[np.uint32] = np.zeros_like(target.engine[0])
    for j, (found, new) in enumerate(zip(classes, target.classes, strict=True)):
        if not (known := np.isin(new, found)).all():
            raise ValueError(f"y must have classes of the training data, got {new[~known][:1].tolist()[0]!r}")
        codes[:, j] = np.searchsorted(found, new)[target.engine[0][:, j]]
    return codes


# --- parts ----------------------------------------------------------------------------------------------------


def checked_range(model: BaseModel, what: str, given: object, n: int) -> tuple[int, int]:
    """The validated argument `trees` or `labels` of `fit`: the index of the first one of `n`, and one past the last."""
    if not isinstance(given, range):
        raise TypeError(f"{what} must be a range such as range(0, {n}), or None, got a {type(given).__name__}")
    if given.step != 1 or not 0 <= given.start < given.stop <= n:
        since = f"n_estimators is {n}" if what == "trees" else f"y has {n} labels"
        raise ValueError(f"{what} must be a non-empty range of step 1 within range(0, {n}), since {since}, got {given}")
    random_state = getattr(model, "random_state", None)
    if not isinstance(random_state, Integral):
        raise ValueError(
            f"random_state must be an integer with {what}, since all parts use the same seed, got {random_state!r}"
        )
    if getattr(model, "warm_start", False):
        raise ValueError(f"{what} does not support warm_start=True: it must be None, or warm_start False")
    return given.start, given.stop


def fault_of_part(part: Any, what: str, n: int) -> str | None:
    """What is wrong with the attribute of a part with `n` trees, or of `n` labels."""
    if type(part) is not tuple or [type(value) for value in part] != [int, int, str]:
        one = what[:-1]
        return f"must be a tuple (first {one}, one past the last {one}, digest), got {described(part)}"
    start, stop, digest = part
    if start < 0 or (stop - start != n if what == "trees" else not start < stop <= n):
        of = f"{n} trees" if what == "trees" else f"labels within {n}"
        return f"must be a range of {of}, got {described(start)} to {described(stop)}"
    is_digest = len(digest) == 32 and set(digest) <= set("0123456789abcdef")
    return None if is_digest else f"must have a digest of 32 hexadecimal digits, got {described(digest)}"
