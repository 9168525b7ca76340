"""The memory of a fit: an estimate before it starts, and an error if the memory is not available.

The sizes of the engine's tables, which are named as in the crate, are computed from shapes, types and parameters.
`Term.certain` marks those that every such fit holds at the same time: their sum is a lower bound, so that a fit that
would succeed never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from weald._input import checks, masks, schema
from weald._input import targets as _targets
from weald._input.sparse import Raw, is_sparse
from weald._input.sparse_frames import of_sparse_columns
from weald._input.targets import Target
from weald._input.y_columns import check_array_of_y, is_binary
from weald._parameters import output_scaling
from weald._parameters.max_features import n_drawn_features
from weald._parameters.types import MatrixLike
from weald.projection import count_projections

if TYPE_CHECKING:
    from weald._fit.base import BaseModel

# Bytes of a value with its sample in a sorted column (`partition::Entry`); of a node in a tree with its statistics
# (`tree::Tree`); of a node while the tree grows (`tree::grow`); of a sample in addition to its rounded targets
# (`criterion::variance`).
_ENTRY = 8
_NODE = 32
_GROWING = 200
_ROUNDED_ROW = 28
# Number of tables of samples and scores while a set is evaluated: the scores, and temporary arrays of its loss.
_TABLES = 4
# Bytes of a category in the set of a split (`partition::category_sets`), and of its sums without those of the outputs
# (`split::categories`).
_CATEGORY, _CATEGORY_SUMS = 2, 60
# Bytes of an unknown value while an array becomes a CSR pattern, and of a sample in the engine's mask (`data::known`).
_MASKED_LABEL, _MASKED_ROW = 13, 9
# The maximum number of projections, which are counted in 32 bits.
_COUNTED = 2**32 - 1
# `FEW_OUTPUTS` and `ZEROS_TO_ONE` of `data::sparse_targets`: numerical y stays sparse from this number of outputs on,
# if at most one entry in this many is not zero.
_FEW_OUTPUTS, _ZEROS_TO_ONE = 16, 8
# `CARRY_SHARE` of `tree::grower`: if nodes draw at least this fraction of the features, columns are sorted only once.
_CARRY_SHARE = 0.2
# `MOST_DIRECTIONS` of `centroid::config`; bytes of an entry of a centroid with spare capacity (`centroid::centroids`);
# measured number of entries of all centroids of a tree for each stored value of X.
_MOST_DIRECTIONS = 2**16
_CENTROID_ENTRY, _KEPT = 6, 1.1


@dataclass(frozen=True)
class Term:
    """A part of the estimate."""

    what: str
    n_bytes: int
    # How to reduce it.
    hint: str
    # Whether every fit holds it, at the same time as the other terms that are certain.
    certain: bool = False


@dataclass(frozen=True)
class Shapes:
    """The description of the data of a fit that the estimate needs."""

    n_samples: int
    n_features: int
    # Number of stored values of sparse X; None for dense X.
    n_stored: int | None
    is_csr: bool
    is_fortran: bool
    numbers: bool
    # Number of columns of predictions, and of labels or classes of samples (width × samples for numerical outputs).
    width: int
    n_entries: int
    # Whether there are weights: samples with weight zero are not used.
    weighted: bool = False
    # Number of values of y, and of unknown values.
    n_cells: int = 0
    n_gaps: int = 0
    # Number of categories of each categorical feature.
    categories: tuple[int, ...] = ()


def _entries_of_numbers(estimator: BaseModel, y: Raw, n_gaps: int) -> int | None:
    """The number of nonzero entries if the engine keeps y sparse (`data::sparse_targets`); None if y becomes dense.

    If samples with weight zero change this decision of the engine, the fit takes less memory than estimated.
    """
    n_cells = int(np.prod(y.shape))
    # Centroid forests have no criterion, and predict means.
    criterion = getattr(estimator, "criterion", "squared_error")
    is_forest = getattr(estimator, "_keeps_sparse_y", False) and criterion == "squared_error"
    if not is_forest or n_gaps or y.ndim != 2 or y.shape[1] < _FEW_OUTPUTS:
        return None
    n_entries = int(y.nnz if is_sparse(y) else np.count_nonzero(y))
    return n_entries if n_entries * _ZEROS_TO_ONE <= n_cells else None


def of_checked(estimator: BaseModel, X: Raw, target: Target, weighted: bool) -> Shapes:
    """The description of data in the engine's form, for an estimator with known categories."""
    stored = not isinstance(X, np.ndarray)
    n_gaps = 0 if target.mask is None else int(target.mask.sum())
    numbers, n_entries = target.kind == "numbers", X.shape[0] * target.n_outputs
    if target.kind == "labels":
        n_entries = len(target.engine[1])
    elif numbers and (entries := _entries_of_numbers(estimator, target.original, n_gaps)) is not None:
        numbers, n_entries = False, entries
    return Shapes(
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_stored=len(X.data) if stored else None,
        is_csr=stored and X.format == "csr",
        is_fortran=not stored and bool(X.flags.f_contiguous),
        numbers=numbers,
        width=target.n_columns,
        n_entries=n_entries,
        weighted=weighted,
        n_cells=X.shape[0] * target.n_outputs,
        n_gaps=n_gaps,
        categories=tuple(filter(None, schema.to_engine(estimator) or ())) if hasattr(estimator, "categories_") else (),
    )


def reserve(estimator: BaseModel, X: Raw, target: Target, *, weighted: bool) -> None:
    """Raise a `MemoryError` if the certain part of the estimate is not available; nothing stays allocated."""
    found = terms(estimator, of_checked(estimator, X, target, weighted))
    certain = sum(term.n_bytes for term in found if term.certain)
    try:
        np.empty(certain, dtype=np.uint8)  # its pages are never accessed
    except MemoryError as error:
        largest = max((term for term in found if term.certain), key=lambda term: term.n_bytes)
        whole = sum(term.n_bytes for term in found)
        raise MemoryError(
            f"{type(estimator).__name__}.fit needs about {whole / 1e6:.0f} MB in addition to X and y, "
            f"{certain / 1e6:.0f} MB of it at the same time, which are not available. The largest part is "
            f"{largest.what}, {largest.n_bytes / 1e6:.0f} MB: {largest.hint}"
        ) from error


def terms(estimator: BaseModel, shapes: Shapes) -> list[Term]:
    """The parts of the estimate that the engine allocates."""
    found: list[Term] = estimator._memory_terms(estimator, shapes)
    return found


def of_forest(estimator: BaseModel, shapes: Shapes) -> list[Term]:
    n = shapes.n_samples
    n_trees = int(getattr(estimator, "n_estimators", 1))
    at_once = max(1, min(estimator._n_threads(), n_trees))
    bootstrap = bool(getattr(estimator, "bootstrap", False))
    n_rows = int(n * 0.64) if bootstrap else n
    projected = estimator.output_projection is not None
    found = _columns(estimator, shapes, n_rows, at_once, some_rows=bootstrap or shapes.weighted)
    if shapes.numbers or projected:
        q = _n_projections(estimator, shapes.width) if projected else shapes.width
        of_tree = n * (_ROUNDED_ROW + 8 * (q + 1) + (8 * q if projected else 0))
        hint = "fit fewer outputs at a time, or choose splits by few combinations with output_projection"
        found += _each("the targets of a tree", of_tree, at_once, hint)
    leaves = _most_leaves(estimator, n_rows)
    hint = "set max_leaf_nodes, max_depth or min_samples_leaf, or a smaller n_estimators"
    found.append(Term("the leaves of all trees", n_trees * _leaf_bytes(shapes, leaves, n_rows), hint))
    found.append(Term("the nodes of all trees", n_trees * 2 * leaves * _NODE, hint))
    found.append(Term("the nodes of growing trees", at_once * 2 * leaves * _GROWING, hint))
    found += _gaps(shapes)
    found += _sets_of_categories(shapes, n_trees, at_once, leaves, n_rows)
    return found + _rows_kept(estimator, shapes, n_trees)


def _rows_kept(estimator: BaseModel, shapes: Shapes, n_trees: int) -> list[Term]:
    """The memory of `keep_rows`."""
    if not getattr(estimator, "keep_rows", False):
        return []
    # Leaves are first found as int64.
    targets = 8 * shapes.n_cells if shapes.numbers else 0
    hint = "set keep_rows=False, or a smaller n_estimators"
    return [
        Term("the leaves of the stored training samples", 12 * shapes.n_samples * n_trees, hint),
        Term("the stored training samples", 8 * shapes.n_samples + targets, hint),
    ]


def of_centroids(estimator: BaseModel, shapes: Shapes) -> list[Term]:
    """The memory of a centroid forest: samples of X, points of y, the largest nodes, and the trees."""
    n, p = shapes.n_samples, shapes.n_features
    stored = n * p if shapes.n_stored is None else shapes.n_stored
    n_trees = int(estimator.n_estimators)
    at_once = max(1, min(estimator._n_threads(), n_trees))
    n_rows = int(n * 0.64) if estimator.bootstrap else n
    q = min(_n_projections(estimator, shapes.width), _MOST_DIRECTIONS)
    found = [Term("X by samples", _ENTRY * stored, "pass fewer features, or fewer samples")]
    if shapes.n_stored is not None and not shapes.is_csr:
        found.append(Term("the transposed X", _ENTRY * stored, "pass X as CSR"))
    k = int(estimator.n_children)
    found.append(Term("the points of growing trees", at_once * n_rows * (2 * q + _NODE), "set a smaller n_projections"))
    found.append(Term("the centroids of growing nodes", at_once * p * (4 * k + 20), "set a smaller n_children"))
    hint = "set a larger max_leaf_samples or min_centroid_weight, or a smaller n_estimators"
    leaves = max(1, 2 * n_rows // (1 + min(int(estimator.max_leaf_samples), n_rows)))
    share = n_rows * stored // max(1, n)
    kept = min(share * _KEPT, 2 * leaves * p)
    if estimator.max_centroid_features is not None:
        kept = min(kept, 2 * leaves * int(estimator.max_centroid_features))
    found.append(Term("the centroids of all trees", n_trees * int(_CENTROID_ENTRY * kept), hint))
    # Labels are stored once, and leaves store the lists of their samples.
    of_leaves = 4 * n_rows if not shapes.numbers else _leaf_bytes(shapes, leaves, n_rows)
    found.append(Term("the leaves of all trees", n_trees * (of_leaves + 2 * leaves * _NODE), hint))
    found.append(Term("the stored labels", 4 * shapes.n_entries, "pass fewer samples"))
    return found + _rows_kept(estimator, shapes, n_trees)


def _gaps(shapes: Shapes) -> list[Term]:
    """The memory of unknown values in the engine: the mask, and a copy of y without their values."""
    if shapes.n_gaps == 0:
        return []
    hint = "fit fewer outputs at a time, or leave out samples with unknown values"
    listed = min(shapes.n_gaps, shapes.n_cells - shapes.n_gaps)
    copied = 8 * shapes.n_cells if shapes.numbers else 4 * shapes.n_entries
    return [
        Term("the mask of y", _MASKED_ROW * shapes.n_samples + 4 * listed, hint),
        Term("the known values of y", copied, hint),
    ]


def _sets_of_categories(shapes: Shapes, n_trees: int, at_once: int, leaves: int, n_rows: int) -> list[Term]:
    """The memory of the sets of categories of splits, and of the sums of categories in a node.

    A set has at most the number of categories and the number of samples of its node; together, the nodes of a level
    have at most all samples.
    """
    if not shapes.categories:
        return []
    most = max(shapes.categories)
    of_splits = min((leaves - 1) * most, n_rows * leaves.bit_length()) * len(shapes.categories) // shapes.n_features
    hint = "set max_leaf_nodes or max_depth, or merge rare categories"
    sums = at_once * most * (_CATEGORY_SUMS + 8 * shapes.width)
    return [
        Term("the categories of splits", n_trees * _CATEGORY * of_splits, hint),
        Term("the sums of categories", sums, "merge rare categories, or fit fewer outputs at a time"),
    ]


def _columns(estimator: BaseModel, shapes: Shapes, n_rows: int, at_once: int, *, some_rows: bool) -> list[Term]:
    """The memory of X in the form in which trees are grown, and of the sorted columns of each tree."""
    n, p = shapes.n_samples, shapes.n_features
    many = n_drawn_features(estimator.max_features, p) >= _CARRY_SHARE * p
    carried = "draw fewer features at each node with max_features, below a fifth of them, or use less n_jobs"
    if shapes.n_stored is not None:
        found = []
        if shapes.is_csr or not many:
            found.append(
                Term("the transposed X", 8 * shapes.n_stored, "pass X as CSC and max_features=None", certain=True)
            )
        if many:
            found.append(Term("the sorted entries of X", 12 * shapes.n_stored, carried))
            found.append(Term("the entries of growing trees", 24 * shapes.n_stored * at_once, carried))
        return found
    found = []
    if not shapes.is_fortran:
        hint = "pass X in Fortran order as float32, np.asfortranarray(X, dtype=np.float32)"
        found.append(Term("the column-major copy of X", 4 * n * p, hint, certain=True))
    if many and getattr(estimator, "splitter", estimator._splitter) == "best":
        found.append(Term("the sorted columns of X", _ENTRY * n * p, carried, certain=True))
        first = Term("the sorted columns of a tree", _ENTRY * n_rows * p, carried, certain=not some_rows)
        found += [first, Term("those of other trees", (at_once - 1) * first.n_bytes, carried)]
    return found


def of_boosting(estimator: BaseModel, shapes: Shapes) -> list[Term]:
    n, p = shapes.n_samples, shapes.n_features
    labels = not shapes.numbers
    width = 1 if labels and shapes.width == 2 else shapes.width
    fewer = "fit fewer outputs at a time"
    if estimator.estimator is not None:
        return [Term("scores and targets", 24 * n * width, fewer)]
    found = []
    if shapes.n_stored is not None:
        found.append(Term("the sorted entries of X", 36 * shapes.n_stored, "pass fewer features"))
        if (kept := n_drawn_features(estimator.max_features_by_tree, p)) < p:
            at_once = estimator._n_threads() if estimator._strategy(width) == "single_target" else 1
            of_tree = 36 * shapes.n_stored * kept // p
            found.append(Term("the entries of growing trees", of_tree * at_once, "set a smaller max_features_by_tree"))
    elif estimator.max_bins is not None:
        found.append(Term("the codes of X", n * p, "pass fewer features", certain=True))
        if not shapes.is_fortran:
            found.append(Term("the column-major copy of X", 4 * n * p, "pass X in Fortran order as float32"))
    else:
        found += _columns(estimator, shapes, n, 1, some_rows=True)
    strategy = estimator._strategy(width)
    projected = strategy == "projected"
    low_rank = projected and not estimator.relabel_leaves
    scores = (4 if labels else 8) * n * width
    if not low_rank or shapes.numbers:
        # "single_target" holds the scores of one column at a time.
        certain = (projected and not low_rank) or strategy == "joint"
        found.append(Term("the scores of all samples", scores, fewer, certain=certain))
    q = _n_projections(estimator, width) if projected else 1 if strategy == "single_target" else width
    targets = n * (_ROUNDED_ROW + 16 * (q + 1))
    found.append(Term("the targets of a stage", targets, "set output_strategy='projected' with few n_projections"))
    if projected and output_scaling.are_given(estimator):
        found.append(Term("the gradients before the first stage", 8 * n * width, "set output_scaling=None"))
    leaves = _most_leaves(estimator, n)
    per_stage = leaves * (1 if low_rank else width)
    hint = "set a smaller n_estimators, max_depth or max_leaf_nodes, or relabel_leaves=False"
    found.append(Term("the leaves of all stages", int(estimator.n_estimators) * 8 * per_stage, hint))
    step = 1 if estimator.step_dtype == "float8" else 8
    steps = int(estimator.n_estimators) * step * width
    # A fit that stops early keeps fewer steps.
    certain = estimator._patience() is None and estimator.callbacks is None
    found.append(Term("the step sizes", steps, "set a smaller n_estimators, or step_dtype='float8'", certain=certain))
    found += _gaps(shapes)
    if shapes.n_gaps:
        found.append(Term("y without its missing values", 8 * shapes.n_cells, fewer))
    n_trees = int(estimator.n_estimators) * (width if strategy == "single_target" else 1)
    found += _sets_of_categories(shapes, n_trees, 1, leaves, n)
    if estimator.subsample < 1:
        # The drawn samples, and the losses of all samples if scores are not stored.
        found.append(Term("the losses of out-of-bag samples", n * (17 if low_rank else 9), "set subsample=1"))
    return found


def watched(estimator: BaseModel, sets: list[tuple[str, str, Any]]) -> list[Term]:
    """The memory of `eval_sets`: X and y of all sets, and the scores of one set at a time."""
    found, largest = [], 0
    for _, what, (X, y, *_) in sets:
        conversions, shapes = of_raw(estimator, X, y)
        found += [Term(f"{what}: {term.what}", term.n_bytes, term.hint) for term in conversions]
        if shapes.n_stored is not None and not shapes.is_csr and estimator.estimator is None:
            found.append(Term(f"{what}: X by samples", 8 * shapes.n_stored, "pass X as CSR"))
        width = 1 if not shapes.numbers and shapes.width == 2 else shapes.width
        largest = max(largest, _TABLES * 8 * shapes.n_samples * width)
    found.append(Term("the scores of eval_sets", largest, "pass smaller eval_sets"))
    return found


def of_compression(estimator: BaseModel, shapes: Shapes) -> list[Term]:
    given = estimator._default_estimator() if estimator.estimator is None else estimator._given()
    fitted = estimator._is_frozen() and hasattr(given, "n_features_in_")
    n = shapes.n_samples
    found = [] if fitted else of_forest(given, shapes)
    found = [Term(term.what, term.n_bytes, term.hint) for term in found]
    n_trees = given._forest.n_trees if fitted else int(getattr(given, "n_estimators", 1))
    hint = "compress a forest of fewer trees"
    rows = 8 * n * n_trees
    found.append(Term("the samples of nodes", rows, hint, certain=not shapes.weighted))
    found.append(Term("the residuals", 16 * n * shapes.width, "fit fewer outputs at a time"))
    leaves = _most_leaves(given, n)
    found.append(Term("the values of nodes", 2 * leaves * n_trees * (60 + 8 * min(shapes.width, 16)), hint))
    return found


def _each(what: str, n_bytes: int, at_once: int, hint: str) -> list[Term]:
    """A table of every tree that is being grown, of which one is certain."""
    return [Term(what, n_bytes, hint, certain=True), Term(f"{what}, of others", (at_once - 1) * n_bytes, hint)]


def _n_projections(estimator: BaseModel, width: int) -> int:
    phi = estimator.output_projection
    if hasattr(phi, "shape"):
        return int(phi.shape[0])
    found = int(count_projections(estimator.n_projections, width))
    # For larger numbers, the engine raises an error that names the parameter.
    return found if found < _COUNTED else 0


def _most_leaves(estimator: BaseModel, n_rows: int) -> int:
    """The number of leaves of a tree that splits as long as the parameters allow it."""
    least = estimator.min_samples_leaf
    # A fraction of the samples may be less than one sample.
    most = n_rows // int(least) if least >= 1 else n_rows if least * n_rows <= 1 else int(1 / least)
    if estimator.max_depth is not None and estimator.max_depth < 40:
        most = min(most, 2 ** int(estimator.max_depth))
    if estimator.max_leaf_nodes is not None:
        most = min(most, int(estimator.max_leaf_nodes))
    return max(1, most)


def _leaf_bytes(shapes: Shapes, leaves: int, n_rows: int) -> int:
    """The memory of leaf values: numbers for each leaf and column; for labels and classes counts, sparse if smaller."""
    if shapes.numbers:
        return 8 * leaves * shapes.width
    entries = shapes.n_entries * n_rows // max(1, shapes.n_samples)
    return 8 * leaves + min(leaves * shapes.width, 5 * entries + 4 * leaves)


def of_raw(estimator: BaseModel, X: Raw, y: MatrixLike, y_mask: MatrixLike | None = None) -> tuple[list[Term], Shapes]:
    """The conversions of X and y as they are passed, and the description of the result."""
    conversions = []
    if is_sparse(X):
        n, p = X.shape
        stored = int(X.nnz)
        if X.dtype != np.float32 or X.format not in ("csr", "csc"):
            conversions.append(Term("X as float32", 8 * stored, "pass X as float32 CSR or CSC"))
        conversions.append(Term("offsets of X", 8 * (X.shape[0] + X.shape[1]), "pass fewer samples"))
        is_csr, is_fortran = X.format != "csc", False
    else:
        if not hasattr(X, "shape"):
            with checks.named("X"):
                X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, samples and features, got shape {tuple(X.shape)}")
        n, p = X.shape
        stored, is_csr = None, False
        flags = getattr(X, "flags", None)
        is_fortran = bool(getattr(flags, "f_contiguous", False))
        if getattr(X, "dtype", None) != np.float32:
            conversions.append(Term("X as float32", 4 * n * p, "pass X as float32"))
    categories = tuple(schema.counts(estimator, X))
    if categories and schema.are_by_value(X):
        # The values of one column at a time are listed; arrays of objects become float64.
        copies = 8 * n * p if isinstance(X, np.ndarray) else 0
        n_bytes = 4 * n * len(categories) + 8 * n + copies
        conversions.append(
            Term("the codes of categories", n_bytes, "pass codes, and declare them by categorical_features")
        )
    of_y = _columns_of(estimator, y, y_mask)
    n_bytes = (8 if of_y.numbers else 12) * of_y.n_entries
    conversions.append(Term("y in the engine's form", n_bytes, "pass y as float64"))
    if of_y.n_gaps:
        # Booleans for all values, and for classes and labels a copy of y without unknown values; not for sparse y.
        n_bytes = 0 if is_sparse(y) else of_y.n_cells * (1 if of_y.numbers else 9)
        n_bytes += 0 if of_y.numbers else _MASKED_LABEL * of_y.n_gaps
        conversions.append(Term("the mask of y as it was passed", n_bytes, "fit fewer outputs at a time"))
    shapes = Shapes(
        n,
        p,
        stored,
        is_csr,
        is_fortran,
        of_y.numbers,
        of_y.width,
        of_y.n_entries,
        n_cells=of_y.n_cells,
        n_gaps=of_y.n_gaps,
        categories=categories,
    )
    return conversions, shapes


@dataclass(frozen=True)
class _Columns:
    """The description of y that the estimate needs."""

    # Number of columns of predictions, and of labels or classes of samples (width × samples for numerical outputs).
    width: int
    n_entries: int
    numbers: bool
    # Number of values, and of unknown values.
    n_cells: int
    n_gaps: int


def _columns_of(estimator: BaseModel, y: Raw, y_mask: MatrixLike | None) -> _Columns:
    check_array_of_y(y, "y")
    y = of_sparse_columns(y)
    if is_sparse(y):
        n, width = map(int, y.shape)
        told = None if y_mask is None else masks.check(y_mask, (n, width))
        if not is_classifier(estimator) and _entries_of_numbers(estimator, y, 0) is None:
            return _Columns(width, n * width, True, n * width, 0)
        return _Columns(width, int(y.nnz), False, n * width, 0 if told is None else int(told.sum()))
    columns = _targets.columns_of(y)
    told = None if y_mask is None else masks.dense(masks.check(y_mask, columns.shape))
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
