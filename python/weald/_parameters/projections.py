"""Validation of the parameters of output projections, and their conversion to the form of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import isclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from weald._input import warned
from weald._input.checks import Matrix, canonical, check_real, is_integer, named
from weald._input.described import described
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald.projection import CONSTRAINTS as CONSTRAINTS
from weald.projection import FAMILIES, Projected, Projection, count_projections

if TYPE_CHECKING:
    from weald._weald import _OutputProjection, _ProjectionMatrix

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
        warned.warn(
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


def check_grown_with(grown: str, criterion: str, output_projection: object, kind: str) -> None:
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


def to_engine(
    output_projection: object, n_projections: object, target: Target, growth: Growth, *, default: object = "log"
) -> _OutputProjection | None:
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
) -> _ProjectionMatrix | None:
    """The matrix, if the parameter `name` is a matrix, and None otherwise."""
    if isclass(output_projection):
        cls = output_projection.__name__
        raise ValueError(f"{name} must be an instance, {cls}(), got the class {cls}")
    if isinstance(output_projection, str | Projection) or callable(output_projection):
        return None
    return _matrix(output_projection, name, n_outputs, None)


def drawn(
    output_projection: Any, n_projections: int, n_outputs: int, growth: Growth, name: str = "output_projection"
) -> _OutputProjection:
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


def of_stages(projected: Projected, n_outputs: int, growth: Growth) -> _OutputProjection:
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


def _n_rows(matrix: _ProjectionMatrix) -> int:
    return len(matrix) if isinstance(matrix, np.ndarray) else len(matrix[0]) - 1


def _matrix(phi: Matrix, name: str, n_outputs: int, n_projections: int | None) -> _ProjectionMatrix:
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
