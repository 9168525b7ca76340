"""What trees of all kinds of y have as parameters: their checks, and their form for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import isclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from weald import _weald
from weald._input import messages
from weald._input.checks import Matrix, canonical, check_real, floats, is_integer, named
from weald._input.frames import is_listed
from weald._input.messages import described
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald.projection import FAMILIES, Projected, Projection, count_projections

if TYPE_CHECKING:
    from weald._fit.base import BaseModel


_SHAPES = (
    "None, an array-like of shape (n_features,) or (n_features, n_outputs) with -1, 0 or 1 for each feature, or a dict "
    "of such values by feature name"
)
_GROUPS = '"pairwise", "no_interactions", None, or groups of features, each a list, tuple or set of indices or names'


def monotonic_to_engine(estimator: BaseModel, n_outputs: int) -> list[list[int]] | None:
    """The constraint of each feature, for all outputs or for each output; None if all are 0."""
    asked, n_features = estimator.monotonic_cst, estimator.n_features_in_
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


def groups_to_engine(estimator: BaseModel) -> list[list[int]]:
    """The groups of features that may interact."""
    asked, n_features = estimator.interaction_cst, estimator.n_features_in_
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


# The constraints for scikit-learn's validation of parameters.
OUTPUT_FACTORS: dict[str, list[Any]] = {
    "output_scaling": [StrOptions({"variance"}), "array-like", None],
    "output_weights": ["array-like", None],
}


class OutputFactors(TypedDict):
    """Both parameters in the engine's form."""

    output_scaling: str | list[float] | None
    output_weights: list[float] | None


def factors_to_engine(model: BaseModel, criterion: str) -> OutputFactors:
    """The parameters of a regressor in the engine's form, None for other models. The engine checks the values."""
    scaling, weights = (getattr(model, name, None) for name in OUTPUT_FACTORS)
    given = [name for name, value in zip(OUTPUT_FACTORS, (scaling, weights), strict=True) if value is not None]
    if given and criterion != "squared_error":
        raise ValueError(
            f"criterion must be 'squared_error' with {given[0]}, which scales variances, got {criterion!r}"
        )
    return {
        "output_scaling": scaling if isinstance(scaling, str) else numbers("output_scaling", scaling),
        "output_weights": numbers("output_weights", weights),
    }


def numbers(name: str, values: object) -> list[float] | None:
    """A list of one number for each output; None if there are none."""
    if values is None:
        return None
    array = floats(values, name, "a list of numbers")
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n_outputs,), one value for each output, got {array.shape}")
    return [float(value) for value in array]


ASKED = "output_strategy='single_target'"


def asks_to_separate(forest: Any) -> bool:
    """Whether each output of a forest is to have trees of its own. False for models without the parameter."""
    return getattr(forest, "output_strategy", "joint") == "single_target"


SCOPE_CONSTRAINTS: dict[str, list[Any]] = {"projection_scope": [StrOptions({"tree", "forest"})]}

ENTROPIES = {"entropy", "log_loss"}
# "squared_error" is only supported with projections, see `check_criterion`.
CLASSIFIER_CRITERIA = {"gini", "squared_error"} | ENTROPIES
REGRESSOR_CRITERIA = {"squared_error", "friedman_mse", "poisson", "absolute_error"}
# The reason why a criterion does not support projections of regression targets.
UNPROJECTED = {
    "poisson": "projected outputs may be negative",
    "absolute_error": "medians of projected outputs do not determine those of the outputs",
}


@dataclass(frozen=True)
class Growth:
    """The trees that a fit grows."""

    seed: int
    # None for a single tree.
    trees: Sequence[int] | None = None
    # Whether all trees use the same projection.
    shared: bool = False

    @property
    def projection_seeds(self) -> list[int]:
        """A 32-bit seed for each projection, which only depends on the seed of the fit and the index of the tree."""
        if self.shared or self.trees is None:
            return [derived_seed(self.seed, ())]
        return [derived_seed(self.seed, (tree,)) for tree in self.trees]


def derived_seed(seed: int, path: tuple[int, ...]) -> int:
    """A 32-bit integer, as scikit-learn requires for seeds."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1)[0])


def check_criterion(criterion: str, output_projection: object, kind: str) -> str:
    """`criterion`, if this kind of y supports it with these projections; "squared_error" for its former name."""
    if criterion == "friedman_mse":
        messages.warn(
            "criterion 'friedman_mse' is a former name of 'squared_error', with which it was always equivalent; "
            "scikit-learn 1.9 deprecates it: use criterion='squared_error'",
            FutureWarning,
        )
        criterion = "squared_error"
    if output_projection is None and criterion == "squared_error" and kind != "numbers":
        raise ValueError(
            "criterion must be 'gini', 'entropy' or 'log_loss' for classifiers without output_projection, got "
            "'squared_error'"
        )
    if output_projection is not None and criterion in ENTROPIES:
        raise ValueError(
            "criterion must be 'gini' or 'squared_error', which are equivalent, with output_projection, got "
            f"{criterion!r}"
        )
    if output_projection is not None and criterion in UNPROJECTED:
        raise ValueError(
            f"criterion must be 'squared_error' with output_projection, since {UNPROJECTED[criterion]}, got "
            f"{criterion!r}"
        )
    return criterion


def check_criterion_of_grown(grown: str, criterion: str, output_projection: object, kind: str) -> None:
    """Raise an error if new trees would have impurities of a different kind than those grown before by `grown`."""
    criterion = check_criterion(criterion, output_projection, kind)
    if output_projection is not None and grown != "squared_error":
        raise ValueError(
            f"output_projection must be None with warm_start=True, as in the previous fit, whose criterion is "
            f"{grown!r}, got {described(output_projection)}"
        )
    if output_projection is None and grown == "squared_error" and kind != "numbers":
        raise ValueError("output_projection must be set with warm_start=True, as in the previous fit, got None")
    if output_projection is None and grown != ("entropy" if criterion in ENTROPIES else criterion):
        raise ValueError(f"criterion must be {grown!r} with warm_start=True, as in the previous fit, got {criterion!r}")


def projection_to_engine(
    output_projection: object, n_projections: object, target: Target, growth: Growth, *, default: object = "log"
) -> _weald._OutputProjection | None:
    """The two parameters in the form of the engine. `default` is the default of `n_projections`."""
    if isinstance(n_projections, bool):  # the parameter constraints accept a bool as an integer
        count_projections(n_projections, target.n_columns)
    if output_projection is None:
        return None
    if target.kind == "classes" and target.n_outputs == 1:
        raise ValueError(
            "output_projection does not support y with a single output of classes: it must be None, or y several "
            "outputs, labels or regression targets"
        )
    d = target.n_columns
    matrix = given_matrix(output_projection, d)
    if matrix is not None:
        q = _n_rows(matrix)
        if not (isinstance(n_projections, str) or (is_integer(n_projections) and n_projections in (default, q))):
            raise ValueError(
                f"n_projections must be {q}, the number of rows of the matrix output_projection, or "
                f"{_quoted(default)} (the default), got {n_projections!r}"
            )
        return {"family": None, "matrices": [matrix], "n_projections": q, "shared": growth.shared}
    return drawn(output_projection, count_projections(n_projections, d), d, growth)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def given_matrix(
    output_projection: object, n_outputs: int, name: str = "output_projection"
) -> _weald._ProjectionMatrix | None:
    """The matrix, if the parameter `name` is a matrix, and None otherwise."""
    if isclass(output_projection):
        cls = output_projection.__name__
        raise ValueError(f"{name} must be an instance, {cls}(), got the class {cls}")
    if isinstance(output_projection, str | Projection) or callable(output_projection):
        return None
    return _matrix(output_projection, name, n_outputs, None)


def drawn(
    output_projection: Any, n_projections: int, n_outputs: int, growth: Growth, name: str = "output_projection"
) -> _weald._OutputProjection:
    """The family, or the matrices that the callable returns."""
    if isinstance(output_projection, str):
        output_projection = FAMILIES[output_projection]
    q = n_projections
    if isinstance(output_projection, Projection):
        return {"family": output_projection._family(), "matrices": [], "n_projections": q, "shared": growth.shared}
    call = f"{name}(n_outputs, n_projections, random_state)"
    seeds = growth.projection_seeds
    with named(name):
        matrices = [_matrix(output_projection(n_outputs, q, seed), call, n_outputs, q) for seed in seeds]
    return {"family": None, "matrices": matrices, "n_projections": q, "shared": growth.shared}


def of_stages(projected: Projected, n_outputs: int, growth: Growth) -> _weald._OutputProjection:
    """The projections of boosting in the form of the engine, for `n_outputs` columns of scores."""
    given, n_projections = projected.projection, projected.n_projections
    matrix = given_matrix(given, n_outputs, "projection")
    if matrix is None:
        return drawn(given, count_projections(n_projections, n_outputs), n_outputs, growth, "projection")
    q = _n_rows(matrix)
    if not isinstance(n_projections, str) and n_projections not in (1, q):
        raise ValueError(
            f"n_projections must be {q}, the number of rows of the matrix projection, or 1 (the default), got "
            f"{n_projections!r}"
        )
    return {"family": None, "matrices": [matrix], "n_projections": q, "shared": True}


def _n_rows(matrix: _weald._ProjectionMatrix) -> int:
    return len(matrix) if isinstance(matrix, np.ndarray) else len(matrix[0]) - 1


def _matrix(phi: Matrix, name: str, n_outputs: int, n_projections: int | None) -> _weald._ProjectionMatrix:
    """Validate a finite matrix of that shape. Returns float64 in C order, or the parts of canonical CSR."""
    check_real(phi, name, "a matrix of numbers")
    try:
        phi = check_array(
            phi,
            accept_sparse="csr",
            dtype=np.float64,
            copy=True,
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
            ensure_all_finite=False,
        )
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of numbers: {error}") from error
    n_rows = n_projections or max(1, phi.shape[0] if phi.ndim else 0)
    if phi.shape != (n_rows, n_outputs):
        raise ValueError(
            f"{name} must have shape ({n_projections or 'n_projections'}, {n_outputs}), with at least one row "
            f"and a column for each output (for classes, for each class of each output), got {phi.shape}"
        )
    values = phi.data if is_sparse(phi) else phi
    if not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"{name} must be finite, got {what}")
    if not is_sparse(phi):
        return np.ascontiguousarray(phi)
    phi = canonical(phi, name)
    phi.eliminate_zeros()
    return phi.indptr, phi.indices, phi.data, n_outputs
