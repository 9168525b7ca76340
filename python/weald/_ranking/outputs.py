"""The parts of pipelines and meta-estimators, and what fitted estimators of any library predict, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weald._input.checks import Float, Matrix, count_samples, floats
from weald._input.frames import check_same_names, names_of
from weald._input.messages import cut
from weald._input.sparse import is_sparse
from weald._input.targets import kind_of_classes
from weald._parameters.types import MatrixLike


def apart(estimator: BaseEstimator) -> tuple[BaseEstimator, Any]:
    """The last step of a pipeline and the steps before it, or the estimator and None, without `FrozenEstimator`."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, Pipeline):
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return estimator.steps[-1][1], before
    return estimator, None


def innermost(estimator: BaseEstimator) -> tuple[Any, list[Any]]:
    """The model inside meta-estimators of weald, pipelines and frozen estimators, and the pipelines of the steps before.

    Meta-estimators say by a method `_inside` what they are around.
    """
    before: list[Any] = []
    while True:
        estimator, steps = apart(estimator)
        if steps is not None:
            before.append(steps)
        if isinstance(estimator, type) or not hasattr(estimator, "_inside"):
            return estimator, before
        estimator = estimator._inside()


def transformed(before: list[Any], X: MatrixLike) -> Matrix:
    """X after the steps before a model."""
    for steps in before:
        X = steps.transform(X)
    return X


def names_of_features(model: BaseEstimator, before: list[Any]) -> list[str] | None:
    """The names of the features of a model: those of its X, or those that the step before it gives them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and before and hasattr(before[-1], "get_feature_names_out"):
        try:
            names = before[-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step has no names
            return None
    return None if names is None else [str(name) for name in names]


def check_names_of_outputs(model: Any, y: Any, what: str = "y") -> None:
    """Raise for y whose columns have other names than the outputs of the model, or another order."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    known = getattr(apart(model)[0], "target_names_in_", None)
    check_same_names(names_of(y, what), known, what, "outputs must be those of the fit, in the same order")


# Probabilities of other libraries may be beyond 0 and 1 by rounding of float32.
_SLACK = 1e-5


def called(model: BaseEstimator, method: str) -> str:
    """The name of a method in messages: that of the last step of a pipeline, which predicts."""
    return f"{type(apart(model)[0]).__name__}.{method}"


def classes_of(model: Any) -> list[NDArray[Any]]:
    """The classes of each output of a classifier, in the order of the columns of its probabilities."""
    found = model.classes_
    return [np.asarray(part) for part in found] if isinstance(found, list) else [np.asarray(found)]


def places_of(classes: NDArray[Any], among: NDArray[Any], what: str, of: str = "the estimator") -> NDArray[np.intp]:
    """Where each of some classes is `among` others, which may be in any order. Raises for one that is not there.

    `what` says in messages what must have the classes, and `of` whose these are.
    """
    if not len(classes):
        return np.zeros(0, dtype=np.intp)
    one, other = kind_of_classes(classes), kind_of_classes(among)
    if one != other:
        raise ValueError(
            f"{what} must have classes that are {other}, as {_shown(among)}, got {one}, as {_shown(classes)}"
        )
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among, classes, sorter=order), len(order) - 1)
    found: NDArray[np.intp] = order[at]
    strange = np.flatnonzero(among[found] != classes)
    if len(strange):
        raise ValueError(f"{what} must have classes of {of}, got {_shown(classes[strange])}")
    return found


def _shown(classes: NDArray[Any]) -> str:
    return cut(repr(classes[:1].tolist()[0]))


def checked(model: BaseEstimator, method: str, found: Any, n_samples: int, *, is_proba: bool = False) -> Float:
    """The values that a method of a model has returned, as a float64 array with a row for each sample.

    NaN and infinity are refused, and with `is_proba` all that is not from 0 to 1, except for rounding.
    """
    what = called(model, method)
    values = floats(found.toarray() if is_sparse(found) else found, f"the result of {what}")
    if values.ndim not in (1, 2) or len(values) != n_samples:
        raise ValueError(
            f"{what} must return a row for each of {n_samples} sample(s), got an array of shape {values.shape}"
        )
    check_values(values, what, is_proba=is_proba)
    return np.clip(values, 0.0, 1.0) if is_proba and ((values < 0) | (values > 1)).any() else values


def check_values(values: Float, what: str, *, is_proba: bool) -> None:
    """Raise for values of `what` that are not finite, or not probabilities."""
    least, most = (-_SLACK, 1 + _SLACK) if is_proba else (-np.finfo(np.float64).max, np.finfo(np.float64).max)
    # NaN is in no range.
    if not values.size or (least <= values.min() and values.max() <= most):
        return
    wrong = np.argwhere(~((values >= least) & (values <= most)))[0]
    accepted = "probabilities from 0 to 1" if is_proba else "finite numbers"
    raise ValueError(f"{what} must return {accepted}, got {values[tuple(wrong)]:g} for sample {wrong[0]}")


def probabilities(model: BaseEstimator, X: MatrixLike, n_samples: int) -> list[tuple[Float, NDArray[Any]]]:
    """The checked probabilities of the classes of each output, and the classes of their columns."""
    found, classes = model.predict_proba(X), classes_of(model)
    what = called(model, "predict_proba")
    parts = found if isinstance(found, list) else [found]
    _check_is_complete(parts, classes, what)
    pairs = []
    for part, names in zip(parts, classes, strict=True):
        values = checked(model, "predict_proba", part, n_samples, is_proba=True)
        if names.ndim != 1 or values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(
                f"{what} must return a column for each of its classes_, of shape {names.shape}, got an array of shape "
                f"{values.shape}"
            )
        if len(np.unique(names)) < len(names):
            raise ValueError(f"{what} must be that of distinct classes_, got {cut(str(names.tolist()))}")
        pairs.append((values, names))
    return pairs


def in_columns(part: Float, known: NDArray[Any], wanted: NDArray[Any], what: str) -> Float:
    """Probabilities of known classes in the columns of the wanted ones, of which others have zero."""
    if np.array_equal(known, wanted):
        return part
    found = np.zeros((len(part), len(wanted)))
    found[:, places_of(known, wanted, what, "y")] = part
    return found


def of_labels(model: BaseEstimator, method: str, X: MatrixLike, n_samples: int | None = None) -> Float:
    """The checked result of a method of a classifier of labels as an array of shape (n_samples, n_labels)."""
    found, n = getattr(model, method)(X), count_samples(X) if n_samples is None else n_samples
    is_proba = method == "predict_proba"
    if not isinstance(found, list):
        values = checked(model, method, found, n, is_proba=is_proba)
        return _in_order(model, values.reshape(len(values), -1))
    what, classes = called(model, method), classes_of(apart(model)[0])
    _check_is_complete(found, classes, what)
    parts = [checked(model, method, part, n, is_proba=is_proba) for part in found]
    return np.column_stack([of_one_label(*pair, what) for pair in zip(parts, classes, strict=True)])


def _check_is_complete(parts: list[Any], classes: list[NDArray[Any]], what: str) -> None:
    if len(parts) != len(classes):
        raise ValueError(f"{what} must return an array for each of {len(classes)} outputs, got {len(parts)}")


def _in_order(model: BaseEstimator, values: Float) -> Float:
    """Scores of labels in the order of the labels, where `classes_` of the model are their indices in another order."""
    classes = getattr(apart(model)[0], "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.dtype.kind not in "iu" or classes.shape != values.shape[1:]:
        return values
    order = np.argsort(classes)
    every = np.arange(len(order))
    is_other = np.array_equal(classes[order], every) and not np.array_equal(classes, every)
    return values[:, order] if is_other else values


def of_one_label(proba: Float, classes: NDArray[Any], what: str) -> Float:
    """Probabilities of class 1 of a single label, which may have only one class in training."""
    if not np.isin(classes, (0, 1)).all() or kind_of_classes(classes) != "numbers" or proba.shape[1:] != classes.shape:
        raise ValueError(
            f"{what} must return a column for each class of a label, 0 and 1, got an array of shape {proba.shape} for "
            f"classes_ {cut(str(classes.tolist()))}"
        )
    at = np.flatnonzero(classes == 1)
    return proba[:, at[0]] if len(at) else np.zeros(len(proba))
