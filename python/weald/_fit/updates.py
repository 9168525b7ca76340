"""Models that are fitted in parts, `fit(..., trees=range(a, b))`, and forests whose oldest trees new ones replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._fit import stored_samples
from weald._fit.base import prepare
from weald._fitted.fits import Fit
from weald._input.checks import Float, Matrix
from weald._input.frames import different
from weald._input.messages import described
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._fit.forest import BaseForest


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
    stored_samples.drop(forest)
    for name in (*forest._oob_attributes, PART):
        forest.__dict__.pop(name, None)


def _of_known_classes(forest: BaseForest, known: Target, target: Target, y: MatrixLike) -> Target:
    """The target with the classes of the fit, some of which the samples may lack."""
    if (target.kind, target.n_outputs) != (known.kind, known.n_outputs):
        expected = f"{known.n_outputs} outputs of {known.kind}, as in the fit"
        raise ValueError(f"y must have {expected}, got {target.n_outputs} outputs of {target.kind}")
    if (where := different(target.names, known.names)) is not None:
        raise ValueError(f"y must have {where}: outputs must be those of the fit, in the same order")
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
