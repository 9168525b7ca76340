"""The weights of one label or class of a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import Float, shown
from weald._input.messages import cut
from weald._parameters.types import Estimator


def weights_of(model: Estimator, label: object) -> tuple[NDArray[np.int64], Float]:
    """The features with a weight for a label or class of a fitted model, in ascending order, and these weights."""
    column, factor = _column(model, label)
    row = model.coef_[[column]]
    return row.indices.astype(np.int64), row.data * factor


def _column(model: Estimator, label: object) -> tuple[int, float]:
    """The column of `coef_` of a label or class, and the factor of its weights."""
    names = getattr(model, "target_names_in_", None)
    if model._label_format is not None:
        return _position("label", label, model.n_outputs_, names), 1.0
    if model.n_outputs_ == 1:
        at = _class_at("label", label, model.classes_)
        return (0, 1.0 if at else -1.0) if model.n_classes_ == 2 else (at, 1.0)
    if not isinstance(label, tuple) or len(label) != 2:
        raise ValueError(f"label must be a tuple of an output and a class, got {shown(label)}")
    output = _position("the output in label", label[0], model.n_outputs_, names)
    return sum(model.n_classes_[:output]) + _class_at("the class in label", label[1], model.classes_[output]), 1.0


def _position(what: str, given: object, n: int, names: NDArray[np.object_] | None) -> int:
    known = [] if names is None else names.tolist()
    if isinstance(given, str) and given in known:
        return known.index(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= int(given) < n:
        return int(given)
    named = " or a name in target_names_in_" if known else ""
    raise ValueError(f"{what} must be an integer from 0 to {n - 1}{named}, got {shown(given)}")


def _class_at(what: str, given: Any, classes: NDArray[Any]) -> int:
    for at, known in enumerate(classes.tolist()):
        # True is no class 1, nor is "1".
        if isinstance(given, bool | np.bool_) == isinstance(known, bool) and _are_equal(known, given):
            return at
    raise ValueError(f"{what} must be one of the classes {cut(str(classes.tolist()))}, got {shown(given)}")


def _are_equal(known: Any, given: Any) -> bool:
    return np.ndim(given) == 0 and bool(known == given)
