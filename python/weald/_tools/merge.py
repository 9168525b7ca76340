"""Merging parts of a model that were fitted separately."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from weald._fit import updates as _updates
from weald._fit.base import BaseModel
from weald._fit.forest import BaseBagging
from weald._fit.updates import PART
from weald._fitted.fits import Fit
from weald._input.frames import is_listed
from weald._input.schema import Schema
from weald._parameters.types import MatrixLike, SampleWeight, YWeight

__all__ = ["merge"]

# What has parts, in words.
MERGED = "forests, centroid forests, linear models or label trees of weald"
# Parameters that may differ between parts, since they do not affect the trees.
_FREE = {"n_jobs", "verbose"}
_NAMES = "target_names_in_"


def merge(
    parts: Sequence[Any],
    X: MatrixLike | None = None,
    y: MatrixLike | None = None,
    sample_weight: SampleWeight = None,
    *,
    y_weight: YWeight = None,
) -> BaseEstimator:
    """Merge parts of a model that were fitted separately, by `fit(X, y, trees=range(a, b))` or by `labels=range(a, b)`.

    Parts that differ in class, parameters or training data (of which they store a digest), or that together do not have
    each tree or label once, raise a ValueError. The cost is O(number of trees or weights), and that of out-of-bag
    predictions.

    >>> import weald
    >>> X, y = [[0.0], [1.0]] * 9, [0, 1] * 9
    >>> parts = [weald.RandomForestClassifier(10, random_state=0).fit(X, y, trees=of) for of in (range(4), range(4, 10))]
    >>> len(weald.merge(parts).estimators_)
    10

    Parameters
    ----------
    parts : sequence of estimators
        Fitted random forests, extra-trees, centroid forests or label trees, or linear models of labels, in any order,
        which differ in `n_jobs` and `verbose` at most.
    X, y, sample_weight, y_weight : as in `fit`, or None, default=None
        The training samples, for the out-of-bag scores of parts with `oob_score`.

    Returns
    -------
    estimator
        The model, equal to that of a single fit of all trees or labels, byte for byte, including out-of-bag scores. The
        trees of a forest share memory with those of the parts; others are copied.
    """
    twins: list[BaseModel] = [part._twin() for part in _checked(parts)]
    twins.sort(key=lambda part: getattr(part, PART)[:2])
    first = twins[0]
    _check_alike(twins)
    what, n = _of_what(first)
    _check_all_there(what, n, [getattr(part, PART)[:2] for part in twins])
    merged = first._twin()
    merged._put_together(twins)
    delattr(merged, PART)
    if isinstance(merged, BaseBagging) and merged.oob_score:
        _set_oob(merged, getattr(first, PART)[2], X, y, sample_weight, y_weight)
    return merged


def _checked(parts: object) -> list[Any]:
    if isinstance(parts, BaseModel) or not is_listed(parts):
        raise TypeError(f"parts must be a list of fitted models, got a {type(parts).__name__}")
    found = list(parts)
    if not found:
        raise ValueError("parts must have at least one fitted model, got none")
    for place, part in enumerate(found):
        if (of := _of_what(part)) is None:
            raise TypeError(f"parts must be {MERGED}, got a {type(part).__name__} as parts[{place}]")
        try:
            check_is_fitted(part)
        except NotFittedError as error:
            raise NotFittedError(f"parts[{place}]: {error}") from None
        if not hasattr(part, PART):
            raise ValueError(
                f"parts must be fitted by fit(X, y, {of[0]}=range(a, b)), but parts[{place}] was fitted without {of[0]}"
            )
    return found


def _of_what(model: Any) -> Any:
    """What its parts are ranges of, and of how many; or None."""
    return model._parts_for(getattr(model, "n_outputs_", 1)) if isinstance(model, BaseModel) else None


def _check_alike(parts: list[Any]) -> None:
    first = parts[0]
    params = first.get_params(deep=False)
    for part in parts[1:]:
        if type(part) is not type(first):
            raise ValueError(f"parts must be of one class, got a {type(first).__name__} and a {type(part).__name__}")
        others = part.get_params(deep=False)
        for name in sorted(params.keys() - _FREE):
            if not _is_equal(params[name], others[name]):
                raise ValueError(
                    f"parts must have the same parameters except n_jobs and verbose, but differ in {name}: "
                    f"{params[name]!r} and {others[name]!r}"
                )
        if getattr(part, PART)[2] != getattr(first, PART)[2]:
            raise ValueError(
                f"parts must be fitted to the same X, y and weights: {_named(first)} have digest "
                f"{getattr(first, PART)[2]}, {_named(part)} {getattr(part, PART)[2]}"
            )
        if (where := Schema.of(first).difference(Schema.of(part))) is not None:
            raise ValueError(f"parts must be fitted to the same X, but differ in {where}")
        names = [None if not hasattr(each, _NAMES) else getattr(each, _NAMES).tolist() for each in (first, part)]
        if names[0] != names[1]:
            one, other = (_some_names(*names), _some_names(*names[::-1]))
            raise ValueError(
                f"parts must have the same names of outputs, but {_named(first)} have {one}, and {_named(part)} {other}"
            )


def _some_names(names: list[str] | None, others: list[str] | None) -> str:
    """The first name that others have not at its place."""
    if names is None:
        return "none"
    at = (
        0 if others is None else next(j for j, pair in enumerate(zip(names, others, strict=True)) if pair[0] != pair[1])
    )
    return f"{names[at]!r} at position {at}"


def _is_equal(a: object, b: object) -> bool:
    """Whether two parameters are equal: scalars and strings by value, arrays and other objects by their pickles."""
    try:
        if a is b or bool(a == b):
            return True
    except (TypeError, ValueError):
        pass  # the comparison of arrays has no single truth value
    return pickle.dumps(a) == pickle.dumps(b)


def _named(part: Any) -> str:
    start, stop, _ = getattr(part, PART)
    return f"{_of_what(part)[0]} {start} to {stop - 1}"


def _check_all_there(what: str, n: int, ranges: list[tuple[int, int]]) -> None:
    one = what[:-1]
    for (_, stop), (start, _) in pairwise([(0, 0), *ranges, (n, n)]):
        if start > stop:
            raise ValueError(
                f"parts must have all {what} of range(0, {n}), but {what} {stop} to {start - 1} are missing"
            )
        if start < stop:
            raise ValueError(f"parts must have each {one} of range(0, {n}) once, but {one} {start} is in two parts")


def _set_oob(
    merged: BaseBagging,
    digest: str,
    X: MatrixLike | None,
    y: MatrixLike | None,
    sample_weight: SampleWeight,
    y_weight: YWeight,
) -> None:
    if X is None or y is None:
        missing = "X" if X is None else "y"
        raise ValueError(
            f"{missing} must be the data that the parts were fitted to, since they have oob_score set, got None: call "
            "merge(parts, X, y, sample_weight)"
        )
    _, samples, config = merged._of_its_samples(Fit(X, y, sample_weight, y_weight))
    if _updates.digest_of_data(samples.X, samples.target, samples.weights) != digest:
        raise ValueError("X, y and sample_weight must be the data that the parts were fitted to, got other data")
    merged._set_oob(samples, config)
