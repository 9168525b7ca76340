"""The parameters `monotonic_cst` and `interaction_cst`: checks and conversion to the engine's form."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weald._input.checks import is_integer, named
from weald._input.columns import is_listed

if TYPE_CHECKING:
    from weald._fit.base import BaseModel

_SHAPES = (
    "None, an array-like of shape (n_features,) or (n_features, n_outputs) with -1, 0 or 1 for each feature, or a dict "
    "of such values by feature name"
)
_GROUPS = '"pairwise", "no_interactions", None, or groups of features, each a list, tuple or set of indices or names'


def monotonic_to_engine(estimator: BaseModel, n_outputs: int) -> list[list[int]] | None:
    """The constraint of each feature, for all outputs or for each output; None if there are none."""
    asked = getattr(estimator, "monotonic_cst", None)
    if asked is None:
        return None
    n_features = estimator.n_features_in_
    if isinstance(asked, Mapping):
        signs = np.zeros((n_features, 1), dtype=np.int8)
        for name, sign in asked.items():
            signs[_place("monotonic_cst", name, estimator), 0] = _checked_sign(sign)
    else:
        signs = _signs(asked, n_features, n_outputs)
    return signs.tolist() if signs.any() else None


def _signs(asked: object, n_features: int, n_outputs: int) -> NDArray[np.int8]:
    with named("monotonic_cst"):
        values = np.asarray(asked)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(f"monotonic_cst must be {_SHAPES}, got {asked!r}")
    if values.shape[0] != n_features:
        raise ValueError(f"monotonic_cst has shape {values.shape[0]} but the input data X has {n_features} features.")
    if values.shape[1] not in (1, n_outputs):
        raise ValueError(
            f"monotonic_cst must have shape (n_features,) or (n_features, {n_outputs}), one column for each "
            f"output of y, got {values.shape[1]} columns"
        )
    for value in np.unique(values):
        _checked_sign(value)
    return values.astype(np.int8)


def _checked_sign(value: object) -> int:
    if (is_integer(value) or isinstance(value, np.floating | float)) and value in (-1, 0, 1):
        return int(value)
    raise ValueError(f"monotonic_cst must be None or an array-like of -1, 0 or 1, got {value!r}")


def groups_to_engine(estimator: BaseModel) -> list[list[int]] | None:
    """The groups of features that may interact; None if all features may interact."""
    asked = getattr(estimator, "interaction_cst", None)
    n_features = estimator.n_features_in_
    if asked is None:
        return None
    if isinstance(asked, str):
        if asked == "no_interactions":
            return [[j] for j in range(n_features)]
        if asked == "pairwise":
            return [list(pair) for pair in combinations(range(n_features), 2)] or [[0]]
        raise ValueError(f"interaction_cst must be {_GROUPS}, got {asked!r}")
    if not is_listed(asked):
        raise ValueError(f"interaction_cst must be {_GROUPS}, got {asked!r}")
    groups = []
    for group in asked:
        if not is_listed(group):
            raise ValueError(f"interaction_cst must be {_GROUPS}, got the group {group!r}")
        groups.append(sorted({_place("interaction_cst", feature, estimator) for feature in group}))
    return groups


def has_directions(estimator: BaseModel) -> bool:
    """Whether some feature has a monotonic constraint."""
    asked = getattr(estimator, "monotonic_cst", None)
    if asked is None:
        return False
    # As objects, because NumPy 1 cannot combine strings; `monotonic_to_engine` raises the error for them.
    return bool(np.asarray(list(asked.values()) if isinstance(asked, Mapping) else asked, dtype=object).any())


def _place(parameter: str, feature: object, estimator: BaseModel) -> int:
    """The index of a feature that is given by its index or its name."""
    n_features = estimator.n_features_in_
    if isinstance(feature, str):
        names = list(getattr(estimator, "feature_names_in_", ()))
        if feature not in names:
            raise ValueError(f"{parameter} must have names of columns of X, got {feature!r}")
        return names.index(feature)
    if not is_integer(feature):
        raise ValueError(f"{parameter} must have indices or names of features, got {feature!r}")
    if not 0 <= int(feature) < n_features:
        raise ValueError(f"{parameter} must have indices from 0 to {n_features - 1}, got {feature}")
    return int(feature)
