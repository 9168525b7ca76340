"""An estimate of the memory of a fit before it starts.

The engine estimates its tables (`weald::memory`) from the shapes of X and y and the configuration of the fit, by which the
fit itself refuses what is not available.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from weald import _weald
from weald._fit.base import BaseModel, Samples
from weald._input import checks, masks, schema
from weald._input import targets as _targets
from weald._input.frames import check_collected, names_of
from weald._input.sparse import Raw, is_sparse, of_sparse_columns
from weald._input.targets import Target, check_array_of_y, is_binary
from weald._parameters.types import MatrixLike, YWeight
from weald._rounds import held_out, linear_start
from weald._rounds import held_out as _held_out
from weald.projection import Projected, Projection

_Model = TypeVar("_Model", bound="BaseModel")

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._fit.boosting import BaseBoosting
    from weald._fit.compression import BaseCompressed
    from weald._fit.forest import BaseBagging
    from weald._fit.tree import BaseTree
    from weald.linear import BaseLinear

# Number of tables of samples and scores while a set is evaluated: the scores, and temporary arrays of its loss.
_TABLES = 4
# Bytes of a weight that is kept: its column and value, and the end of a vector that has grown.
_WEIGHT = 12
# Bytes of an unknown value while an array becomes a CSR pattern.
_MASKED_LABEL = 13


@dataclass(frozen=True)
class Shapes:
    """The description of the data of a fit that the estimate needs, which the engine reads by attributes."""

    # Number of columns of predictions, and of labels or classes of samples (width × samples for numerical outputs).
    width: int
    n_entries: int
    # Whether y is numerical and the engine keeps it dense.
    is_dense_numbers: bool
    # Number of values, and of unknown values.
    n_cells: int
    n_unknown: int
    n_samples: int
    n_features: int
    # "C" or "F" for dense X, "csr" or "csc".
    layout: str
    # Number of stored values of sparse X, 0 for dense X.
    n_stored: int
    # Number of categories of each categorical feature.
    categories: tuple[int, ...]
    # X as it is passed, and y without its values and without weights, for what makes the configuration of a fit.
    samples: Samples


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


def _config_of_forest(model: BaseTree | BaseBagging, samples: Samples) -> Any:
    if not hasattr(model, "n_estimators"):
        return _before_fit(model, samples)._config_again(samples, 0)
    forest = _before_fit(cast("BaseBagging", model), samples)
    return forest._forest_config(samples, (0, int(forest.n_estimators)))


def _before_fit(model: _Model, samples: Samples) -> _Model:
    """A twin that can make the configuration of its fit, without parameters that cost no memory but need X and y."""
    twin = model._twin()
    twin.__dict__.pop(schema.CATEGORIES, None)
    twin._seed, twin.n_features_in_ = 0, samples.X.shape[1]
    for name in ("monotonic_cst", "interaction_cst", "label_weight"):
        if hasattr(twin, name):
            setattr(twin, name, None)
    # Projections that a function draws have as many rows as others, which are not drawn here.
    projected = getattr(twin, "output_strategy", None)
    if isinstance(projected, Projected) and _is_function(projected.projection):
        twin.__dict__["output_strategy"] = replace(projected, projection="gaussian")
    elif _is_function(getattr(twin, "output_projection", None)):
        twin.__dict__["output_projection"] = "gaussian"
    return twin


def _is_function(projection: object) -> bool:
    return callable(projection) and not isinstance(projection, Projection)


def of_forest(estimator: BaseTree | BaseBagging, shapes: Shapes) -> int:
    config = _config_of_forest(estimator, shapes.samples)
    return _weald.memory_of_forest(config, shapes, estimator._n_threads()) + _rows_kept(estimator, shapes)


def of_centroids(estimator: BaseBagging, shapes: Shapes) -> int:
    config = _config_of_forest(estimator, shapes.samples)
    return _weald.memory_of_centroids(config, shapes, estimator._n_threads()) + _rows_kept(estimator, shapes)


def of_linear(estimator: BaseLinear, shapes: Shapes) -> int:
    if estimator._strategy_for(shapes.n_cells // max(1, shapes.n_samples)) == "tree":
        features = "tfidf" if estimator.features == "auto" else estimator.features
        return _weald.memory_of_label_tree(estimator._config_of_trees(0, features), shapes, estimator._n_threads())
    config = estimator._config(0)
    # Features that are chosen: standardised ones are tried only for X with few zeros.
    config["features"] = config["features"] or ("tfidf" if shapes.layout in ("csr", "csc") else "standardized")
    return _weald.memory_of_linear(config, shapes, estimator._n_threads())


def _rows_kept(estimator: BaseTree | BaseBagging, shapes: Shapes) -> int:
    """The memory of `keep_rows`: leaves, which are first found as int64, weights and y."""
    if not (hasattr(estimator, "keep_rows") and hasattr(estimator, "n_estimators") and estimator.keep_rows):
        return 0
    targets = 8 * shapes.n_cells if shapes.is_dense_numbers else 0
    return 12 * shapes.n_samples * int(estimator.n_estimators) + 8 * shapes.n_samples + targets


def of_boosting(estimator: BaseBoosting, shapes: Shapes) -> int:
    if estimator.estimator is not None:
        return _weald.memory_of_boosting(None, shapes, 1)
    n, width, target = shapes.n_samples, _n_scores(shapes), shapes.samples.target
    twin = _before_fit(estimator, shapes.samples)
    # The stages that are likely, not the most that a search may find.
    search, twin._plan = (
        _weald.plan_of_boosting(twin._asks_for(target, may_search=searches), (n, n, n, True, False))
        for searches in (True, False)
    )
    twin._shared = twin._describe(target)
    found = _weald.memory_of_boosting(twin._boost_config(n, target), shapes, twin._n_threads())
    found += _of_start(twin, shapes)
    cv = twin._folds() if twin._patience() is not None else search["n_grown"]
    if cv is None:
        return found
    # Nearly all samples are held out in one of the folds; those of splitters may be in several or in none.
    of_X = 4 * n * shapes.n_features if shapes.layout in "FC" else 8 * shapes.n_stored
    return found + of_X * held_out.n_copies(cv, of_X) + 8 * n * width * held_out.n_folds(cv)


def _of_start(estimator: BaseBoosting, shapes: Shapes) -> int:
    """The memory of the model that boosting starts from, if it is one of weald, and of the scores of its samples."""
    start = estimator._model_of_start()
    if start is None or not hasattr(start, "_memory_of_fit"):
        return 0
    # Scores by folds and of all samples, and in the unit of the stages; "auto" fits all of this once more.
    n_tables = 3 if estimator.init != "auto" else 5
    n, p = shapes.n_samples, shapes.n_features
    found: int = start._memory_of_fit(start, shapes) + n_tables * 8 * n * _n_scores(shapes)
    if isinstance(estimator.init, str):
        # The weights of the models without each fold are kept: a feature has some in the columns of its samples.
        n_weights = min((shapes.n_stored or n * p) * -(-shapes.n_entries // max(1, n)), p * shapes.width)
        found += linear_start.N_FOLDS * _WEIGHT * n_weights
    return found


def _n_scores(shapes: Shapes) -> int:
    return 1 if not shapes.is_dense_numbers and shapes.width == 2 else shapes.width


def of_compression(estimator: BaseCompressed, shapes: Shapes) -> int:
    given = estimator._given()
    given = estimator._default_estimator() if given is None else given
    fitted = estimator._is_frozen() and hasattr(given, "n_features_in_")
    n_fitted = given._forest.n_trees if fitted else None
    config = _config_of_forest(given, shapes.samples)
    found = _weald.memory_of_compression(config, n_fitted, shapes, given._n_threads())
    return found if fitted else found + _rows_kept(given, shapes)


def watched(estimator: BaseModel, sets: list[tuple[str, str, Any]]) -> int:
    """The memory of `eval_sets`: X and y of all sets, and the scores of one set at a time."""
    found = largest = 0
    for _, _, (X, y, *_) in sets:
        conversions, shapes = of_raw(estimator, X, y)
        # X is read by samples.
        transposed = (
            8 * shapes.n_stored if shapes.layout == "csc" and getattr(estimator, "estimator", None) is None else 0
        )
        found += conversions + transposed
        largest = max(largest, _TABLES * 8 * shapes.n_samples * _n_scores(shapes))
    return found + largest


def of_raw(estimator: BaseModel, X: Raw, y: MatrixLike, y_weight: YWeight = None) -> tuple[int, Shapes]:
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
    target, n_entries, is_dense, n_unknown = _columns_of(estimator, y, y_weight)
    n_cells = n * target.n_outputs * target.n_levels
    n_bytes += (8 if is_dense else 12) * n_entries
    if n_unknown:
        # Booleans for all values, and for classes and labels a copy of y without unknown values; not for sparse y.
        n_bytes += 0 if is_sparse(y) else n_cells * (1 if is_dense else 9)
        n_bytes += 0 if is_dense else _MASKED_LABEL * n_unknown
    sizes = (target.n_columns, n_entries, is_dense, n_cells, n_unknown, n, p, layout, n_stored)
    return n_bytes, Shapes(*sizes, categories, Samples(X, target, None, (None, None), None))


def _columns_of(estimator: BaseModel, y: Raw, y_weight: YWeight) -> tuple[Target, int, bool, int]:
    """A description of y, the number of entries, whether they are dense numbers, and the number of unknown values."""
    check_array_of_y(y, "y")
    names, y = names_of(y), of_sparse_columns(y)
    if is_sparse(y):
        columns = y
        known = None if y_weight is None else masks.check(y_weight, columns.shape, names, y)
        mask = None
        n_unknown = 0 if known is None else y.shape[0] * y.shape[1] - int(known.n_known())
    else:
        columns, known = _targets.known_columns(y, y_weight)
        # A single output with NaN raises an error in `fit`.
        missing = masks.of_missing(columns) if estimator._masks_y and columns.shape[1] > 1 else None
        mask = masks.join(missing, None if known is None else known.mask)
        n_unknown = 0 if mask is None else int(mask.sum())
    n, width = map(int, columns.shape)
    if not is_classifier(estimator):
        entries = _entries_of_numbers(estimator, columns, n_unknown)
        target = estimator._in_columns(Target("numbers", None, width, [], None, names=names))
        n_cells = n * target.n_columns if entries is None else entries
        return target, n_cells, entries is None, n_unknown * target.n_levels
    labels = Target("labels", None, width, [], None, names=names)
    if is_sparse(columns):
        return labels, int(columns.nnz), False, n_unknown
    said, values = estimator._multi_label(), columns if mask is None else columns[~mask]
    if said is True or (said == "auto" and width > 1 and is_binary(values)):
        return labels, int(np.count_nonzero(values)), False, n_unknown
    of_outputs = columns.T if mask is None else [column[~gaps] for column, gaps in zip(columns.T, mask.T, strict=True)]
    classes = [np.unique(column) for column in of_outputs]
    return Target("classes", None, width, classes, None, names=names), n * width, False, n_unknown


def estimate_fit_memory(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    *,
    eval_sets: list[Any] | dict[str, Any] | None = None,
    y_weight: YWeight = None,
) -> int:
    """Estimate the peak memory of `estimator.fit(X, y)`, in addition to X and y, without a fit.

    It counts copies of X and y, the tables of trees that grow at the same time, and trees of the maximum size that the
    number of samples, `max_depth` and `max_leaf_nodes` allow, and is meant to be within a factor of three if trees grow
    to this size, from a few megabytes on. See `docs/memory.md`.

    >>> import numpy as np
    >>> import weald
    >>> X, y = np.zeros((10_000, 50)), np.zeros(10_000)
    >>> 10_000_000 < weald.estimate_fit_memory(weald.RandomForestRegressor(), X, y) < 1_000_000_000
    True

    Parameters
    ----------
    estimator : tree, forest, centroid forest, linear model, boosting or compressed forest of weald
        It need not be fitted, and does not change.
    X, y, eval_sets, y_weight : as in `fit`
        The training samples.

    Returns
    -------
    int
        The estimate in bytes.
    """
    if not isinstance(estimator, BaseModel):
        raise TypeError(f"estimator must be an estimator of weald, got a {type(estimator).__name__}")
    estimator._validate_params()
    estimator._check_parameters()
    if eval_sets is not None and "eval_sets" not in signature(estimator.fit).parameters:
        raise TypeError(f"{type(estimator).__name__} does not support eval_sets: it must be None")
    if y_weight is not None and not estimator._masks_y:
        raise TypeError(f"{type(estimator).__name__} does not support y_weight: it must be None")
    conversions, shapes = of_raw(estimator, X, y, y_weight)
    of_fit: int = estimator._memory_of_fit(estimator, shapes)
    return conversions + of_fit + watched(estimator, _held_out.named_sets(eval_sets))
