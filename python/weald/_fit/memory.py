"""The memory of a fit: an estimate before it starts, and an error if the memory is not available.

The engine estimates its tables (`weald::memory`) from the shapes of X and y, types and parameters. Tables that every
such fit holds at the same time are certain: their sum is a lower bound, so that a fit that would succeed never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from weald import _weald
from weald._input import checks, masks, schema
from weald._input import targets as _targets
from weald._input.containers import check_collected
from weald._input.frames import names_of
from weald._input.sparse import Raw, is_sparse
from weald._input.sparse_frames import of_sparse_columns
from weald._input.targets import Target
from weald._input.y_columns import check_array_of_y, is_binary
from weald._parameters import output_scaling, output_strategy, projections
from weald._parameters.max_features import n_drawn_features
from weald._parameters.types import MatrixLike
from weald._rounds import cross_validated, linear_start
from weald.projection import count_projections

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._weald import _ForestConfig, _MemoryTerm, _OutputProjection

# Number of tables of samples and scores while a set is evaluated: the scores, and temporary arrays of its loss.
_TABLES = 4
# Bytes of an unknown value while an array becomes a CSR pattern.
_MASKED_LABEL = 13

_FEWER_FEATURES = "draw fewer features at each node with max_features, below a fifth of them, or use less n_jobs"
# How to reduce the parts of the estimate that may be certain.
HINTS = {
    "the trees": "set a smaller n_estimators",
    "the transposed X": "pass X as CSC and max_features=None",
    "the column-major copy of X": "pass X in Fortran order as float32, np.asfortranarray(X, dtype=np.float32)",
    "the sorted columns of X": _FEWER_FEATURES,
    "the sorted columns of a tree": _FEWER_FEATURES,
    "the targets of a tree": "fit fewer outputs at a time, or choose splits by few combinations with output_projection",
    "the codes of X": "pass fewer features",
    "the scores of all samples": "fit fewer outputs at a time",
    "the step sizes": "set a smaller n_estimators",
    "the samples of nodes": "compress a forest of fewer trees",
}


@dataclass(frozen=True)
class _Columns:
    """The description of y that the estimate needs."""

    # Number of columns of predictions, and of labels or classes of samples (width × samples for numerical outputs).
    width: int
    n_entries: int
    # Whether y is numerical and the engine keeps it dense.
    is_dense_numbers: bool
    # Number of values, and of unknown values.
    n_cells: int
    n_unknown: int


@dataclass(frozen=True)
class Shapes(_Columns):
    """The description of the data of a fit that the estimate needs, which the engine reads by attributes."""

    n_samples: int
    n_features: int
    # "C" or "F" for dense X, "csr" or "csc".
    layout: str
    # Number of stored values of sparse X, 0 for dense X.
    n_stored: int
    # Whether there are weights: samples with weight zero are not used.
    is_weighted: bool = False
    # Number of categories of each categorical feature.
    categories: tuple[int, ...] = ()


def _entries_of_numbers(estimator: BaseModel, y: Raw, n_unknown: int) -> int | None:
    """The number of nonzero entries if the engine keeps y sparse (`SparseTargets`); None if y becomes dense.

    If samples with weight zero change this decision of the engine, the fit takes less memory than estimated.
    """
    n_cells = int(np.prod(y.shape))
    # Centroid forests have no criterion, and predict means.
    criterion = getattr(estimator, "criterion", "squared_error")
    is_forest = getattr(estimator, "_keeps_sparse_y", False) and criterion == "squared_error"
    if not is_forest or n_unknown or y.ndim != 2 or y.shape[1] < _weald.FEW_OUTPUTS:
        return None
    n_entries = int(y.nnz if is_sparse(y) else np.count_nonzero(y))
    return n_entries if n_entries * _weald.ZEROS_TO_ONE <= n_cells else None


def of_checked(estimator: BaseModel, X: Raw, target: Target, weighted: bool) -> Shapes:
    """The description of data in the engine's form, for an estimator with known categories."""
    is_dense = isinstance(X, np.ndarray)
    n_unknown = 0 if target.mask is None else int(target.mask.sum())
    n_cells = n_entries = X.shape[0] * target.n_outputs
    entries = _entries_of_numbers(estimator, target.original, n_unknown) if target.kind == "numbers" else None
    if target.kind == "labels":
        n_entries = len(target.engine[1])
    return Shapes(
        width=target.n_columns,
        n_entries=n_entries if entries is None else entries,
        is_dense_numbers=target.kind == "numbers" and entries is None,
        n_cells=n_cells,
        n_unknown=n_unknown,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        layout=("F" if X.flags.f_contiguous else "C") if is_dense else X.format,
        n_stored=0 if is_dense else len(X.data),
        is_weighted=weighted,
        categories=tuple(filter(None, schema.to_engine(estimator) or ())),
    )


def reserve(estimator: BaseModel, X: Raw, target: Target, *, weighted: bool) -> None:
    """Raise a `MemoryError` if the certain part of the estimate is not available; nothing stays allocated."""
    found = estimator._memory_terms(estimator, of_checked(estimator, X, target, weighted))
    sizes = {what: n_bytes for what, n_bytes, is_certain in found if is_certain}
    certain = sum(sizes.values())
    try:
        np.empty(certain, dtype=np.uint8)  # its pages are never accessed
    except MemoryError as error:
        largest = max(sizes, key=sizes.__getitem__)
        raise MemoryError(
            f"{type(estimator).__name__}.fit needs about {size_of(found) / 1e6:.0f} MB in addition to X and y, "
            f"{certain / 1e6:.0f} MB of it at the same time, which are not available. The largest part is "
            f"{largest}, {sizes[largest] / 1e6:.0f} MB: {HINTS[largest]}"
        ) from error


def size_of(terms: list[_MemoryTerm]) -> int:
    """The whole estimate in bytes."""
    return sum(n_bytes for _, n_bytes, _ in terms)


def _config_of_forest(model: BaseModel, shapes: Shapes) -> _ForestConfig:
    tree = model._plain_tree_config(shapes.n_samples, shapes.n_features)
    if model.output_projection is not None:
        tree["output_projection"] = _projection(_n_projections(model, shapes.width), shapes.width)
    n_trees, bootstrap = int(getattr(model, "n_estimators", 1)), bool(getattr(model, "bootstrap", False))
    max_samples = model._n_draws() if bootstrap else None
    return {
        "tree": tree,
        "trees": (0, n_trees),
        "bootstrap": bootstrap,
        "max_samples": max_samples,
        "by_output": output_strategy.is_asked(model),
    }


def of_forest(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    config = _config_of_forest(estimator, shapes)
    found = _weald.memory_of_forest(config, shapes, estimator._n_threads())
    return found + _rows_kept(estimator, shapes)


def of_centroids(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    n_projections = _n_projections(estimator, shapes.width)
    config = estimator._plain_forest_config((0, int(estimator.n_estimators)), 0, n_projections)
    found = _weald.memory_of_centroids(config, shapes, estimator._n_threads())
    return found + _rows_kept(estimator, shapes)


def of_linear(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    config = estimator._config(0)
    # Features that are chosen: standardised ones are tried only for X with few zeros.
    config["features"] = config["features"] or ("tfidf" if shapes.layout in ("csr", "csc") else "standardized")
    return _weald.memory_of_linear(config, shapes, estimator._n_threads())


def of_label_tree(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    features = "tfidf" if estimator.features == "auto" else estimator.features
    return _weald.memory_of_label_tree(estimator._config(0, features), shapes, estimator._n_threads())


def _rows_kept(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    """The memory of `keep_rows`."""
    if not getattr(estimator, "keep_rows", False):
        return []
    targets = 8 * shapes.n_cells if shapes.is_dense_numbers else 0
    return [
        # They are first found as int64.
        ("the leaves of the stored training samples", 12 * shapes.n_samples * int(estimator.n_estimators), False),
        ("the stored training samples", 8 * shapes.n_samples + targets, False),
    ]


def of_boosting(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    if estimator.estimator is not None:
        return _weald.memory_of_boosting(None, shapes, 1, False)
    width = _n_scores(shapes)
    estimator = estimator._twin()
    n, n_outputs = shapes.n_samples, shapes.n_cells // max(1, shapes.n_samples)
    kind = "numbers" if not is_classifier(estimator) else "classes" if n_outputs == 1 else "labels"
    estimator.n_features_in_ = shapes.n_features
    # The stages that are likely, not the most that a search may find.
    search, plan = (
        _weald.plan_of_boosting(estimator._asks(kind, n_outputs, width, may_search=searches), (n, n, n, True))
        for searches in (True, False)
    )
    estimator._plan = plan
    strategy = plan["output_strategy"]
    projected = estimator._projected()
    q = _n_rows(projected.projection, projected.n_projections, width)
    projection = _projection(q, width) if strategy == "projected" else None
    tree = estimator._plain_tree_config(shapes.n_samples, shapes.n_features)
    max_features = plan["max_features"] if estimator.max_features == "auto" else estimator.max_features
    tree["max_features"] = n_drawn_features(max_features, shapes.n_features)
    tree["max_leaf_nodes"] = plan["max_leaf_nodes"]
    if output_scaling.are_given(estimator):
        tree["output_scaling"] = "variance"  # their values do not matter
    config = estimator._plain_boost_config(tree, strategy, projection)
    found = _weald.memory_of_boosting(config, shapes, estimator._n_threads(), estimator.callbacks is not None)
    found += _of_start(estimator, shapes, width)
    cv = estimator._folds() if estimator._patience() is not None else search["n_grown"]
    if cv is None:
        return found
    # Nearly all samples are held out in one of the folds; those of splitters may be in several or in none.
    of_X = 4 * shapes.n_samples * shapes.n_features if shapes.layout in "FC" else 8 * shapes.n_stored
    of_samples = of_X * cross_validated.n_copies(cv, of_X)
    of_scores = 8 * shapes.n_samples * width * cross_validated.n_folds(cv)
    return [*found, ("the samples of the folds", of_samples, False), ("the scores of the folds", of_scores, False)]


def _of_start(estimator: BaseModel, shapes: Shapes, width: int) -> list[_MemoryTerm]:
    """The memory of the model that boosting starts from, if it is one of weald, and of the scores of its samples."""
    start = estimator._model_of_start()
    if not hasattr(start, "_memory_terms"):
        return []
    # Scores by folds and of all samples, and in the unit of the stages; "auto" fits all of this once more.
    n_tables = 3 if estimator.init != "auto" else 5
    # The models without each fold are kept beside that of all samples.
    n_models = 1 + linear_start.N_FOLDS if isinstance(estimator.init, str) else 1
    of_model = [(what, n_models * n_bytes, False) for what, n_bytes, _ in start._memory_terms(start, shapes)]
    return [*of_model, ("the scores of the start", n_tables * 8 * shapes.n_samples * width, False)]


def _n_scores(shapes: _Columns) -> int:
    return 1 if not shapes.is_dense_numbers and shapes.width == 2 else shapes.width


def of_compression(estimator: BaseModel, shapes: Shapes) -> list[_MemoryTerm]:
    given = estimator._default_estimator() if estimator.estimator is None else estimator._given()
    fitted = estimator._is_frozen() and hasattr(given, "n_features_in_")
    config, n_fitted = _config_of_forest(given, shapes), given._forest.n_trees if fitted else None
    found = _weald.memory_of_compression(config, n_fitted, shapes, given._n_threads())
    return found if fitted else found + _rows_kept(given, shapes)


def watched(estimator: BaseModel, sets: list[tuple[str, str, Any]]) -> int:
    """The memory of `eval_sets`: X and y of all sets, and the scores of one set at a time."""
    found = largest = 0
    for _, _, (X, y, *_) in sets:
        conversions, shapes = of_raw(estimator, X, y)
        # X is read by samples.
        transposed = 8 * shapes.n_stored if shapes.layout == "csc" and estimator.estimator is None else 0
        found += conversions + transposed
        largest = max(largest, _TABLES * 8 * shapes.n_samples * _n_scores(shapes))
    return found + largest


def _projection(n_projections: int, width: int) -> _OutputProjection:
    """Any projection with as many rows, which is not drawn."""
    return projections.drawn("gaussian", n_projections, width, projections.Growth(0))


def _n_projections(estimator: BaseModel, width: int) -> int:
    return _n_rows(estimator.output_projection, estimator.n_projections, width)


def _n_rows(phi: Any, n_projections: object, width: int) -> int:
    return int(phi.shape[0]) if hasattr(phi, "shape") else int(count_projections(n_projections, width))


def of_raw(estimator: BaseModel, X: Raw, y: MatrixLike, y_mask: MatrixLike | None = None) -> tuple[int, Shapes]:
    """The bytes of the conversions of X and y as they are passed, and the description of the result."""
    n_bytes = n_stored = 0
    if is_sparse(X):
        n, p = X.shape
        n_stored, layout = int(X.nnz), "csc" if X.format == "csc" else "csr"
        if X.dtype != np.float32 or X.format not in ("csr", "csc"):
            n_bytes += 8 * n_stored
        n_bytes += 8 * (n + p)  # the offsets
    else:
        if not hasattr(X, "shape"):
            check_collected(X, "X")
            with checks.named("X"):
                X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, samples and features, got shape {tuple(X.shape)}")
        n, p = X.shape
        layout = "F" if getattr(getattr(X, "flags", None), "f_contiguous", False) else "C"
        if getattr(X, "dtype", None) != np.float32:
            n_bytes += 4 * n * p
    categories = tuple(schema.counts(estimator, X))
    if categories and schema.are_by_value(X):
        # Codes, and the values of one column at a time; arrays of objects become float64.
        n_bytes += 4 * n * len(categories) + 8 * n + (8 * n * p if isinstance(X, np.ndarray) else 0)
    of_y = _columns_of(estimator, y, y_mask)
    n_bytes += (8 if of_y.is_dense_numbers else 12) * of_y.n_entries
    if of_y.n_unknown:
        # Booleans for all values, and for classes and labels a copy of y without unknown values; not for sparse y.
        n_bytes += 0 if is_sparse(y) else of_y.n_cells * (1 if of_y.is_dense_numbers else 9)
        n_bytes += 0 if of_y.is_dense_numbers else _MASKED_LABEL * of_y.n_unknown
    return n_bytes, Shapes(
        **vars(of_y), n_samples=n, n_features=p, layout=layout, n_stored=n_stored, categories=categories
    )


def _columns_of(estimator: BaseModel, y: Raw, y_mask: MatrixLike | None) -> _Columns:
    check_array_of_y(y, "y")
    names, y = names_of(y), of_sparse_columns(y)
    if is_sparse(y):
        n, width = map(int, y.shape)
        told = None if y_mask is None else masks.check(y_mask, (n, width), names)
        n_unknown = 0 if told is None else int(told.sum())
        if not is_classifier(estimator) and _entries_of_numbers(estimator, y, n_unknown) is None:
            return _Columns(width, n * width, True, n * width, n_unknown)
        return _Columns(width, int(y.nnz), False, n * width, n_unknown)
    columns, told = _targets.known_columns(y, y_mask)
    # A single output with NaN raises an error in `fit`.
    missing = masks.of_missing(columns) if estimator._masks_y and columns.shape[1] > 1 else None
    mask = masks.join(missing, told)
    cells = columns.size, 0 if mask is None else int(mask.sum())
    if not is_classifier(estimator):
        entries = _entries_of_numbers(estimator, columns, cells[1])
        return _Columns(columns.shape[1], columns.size if entries is None else entries, entries is None, *cells)
    known = columns if mask is None else columns[~mask]
    said = estimator._multi_label()
    if said is True or (said == "auto" and columns.shape[1] > 1 and is_binary(known)):
        return _Columns(columns.shape[1], int(np.count_nonzero(known)), False, *cells)
    of_outputs = columns.T if mask is None else [column[~gaps] for column, gaps in zip(columns.T, mask.T, strict=True)]
    return _Columns(sum(len(np.unique(column)) for column in of_outputs), columns.size, False, *cells)
