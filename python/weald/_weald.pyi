"""Type stub of the compiled engine. It is private, and its names may change between any two versions."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BENT",
    "FEW_OUTPUTS",
    "LARGEST_LOG",
    "LEAST_PROBABILITY",
    "MOST_COPIED",
    "ZEROS_TO_ONE",
    "Boosted",
    "CentroidForest",
    "CentroidTree",
    "Compressed",
    "CompressionPath",
    "Forest",
    "LabelTreeModel",
    "LinearModel",
    "OneSample",
    "StagedScores",
    "Tree",
    "__version__",
    "build_info",
    "compress_forest",
    "count_projections",
    "counts_of_plan",
    "coverage",
    "cross_validate_compression",
    "data_digest",
    "draw_projection",
    "exact_sums",
    "exp",
    "fit_boosting",
    "fit_boosting_part",
    "fit_boosting_with",
    "fit_centroid_forest",
    "fit_forest",
    "fit_label_tree",
    "fit_linear",
    "fit_tree",
    "fold_models_of_linear",
    "folds_of_samples",
    "hashes_of_samples",
    "held_out_samples",
    "inspect_model",
    "johnson_lindenstrauss_dim",
    "label_folds",
    "label_precision",
    "label_probabilities",
    "load_model",
    "log",
    "log1p",
    "loss_cells",
    "losses",
    "mean_loss",
    "memory_of_boosting",
    "memory_of_centroids",
    "memory_of_compression",
    "memory_of_forest",
    "memory_of_label_tree",
    "memory_of_linear",
    "plan_of_boosting",
    "rank_rows",
    "read_model",
    "read_mulan",
    "read_svmlight",
    "read_xmc",
    "refit_leaves",
    "save_model",
    "search_stages",
    "search_stages_with",
    "shap_base_values",
    "shap_interaction_values",
    "shap_values",
    "shap_values_sparse",
    "stored_draws",
    "stored_quantiles",
    "stored_weights",
    "to_c",
    "to_json",
    "weights_by_row",
    "write_file",
    "write_model",
    "write_xmc",
]

__version__: str
BENT: float
LARGEST_LOG: float
# Up to this number of bytes of X, times the number of folds, each fold has a copy of its training samples.
MOST_COPIED: int
LEAST_PROBABILITY: float
# Trees and forests keep numerical y sparse from this number of outputs on, if at most one entry in this many is not zero.
FEW_OUTPUTS: int
ZEROS_TO_ONE: int

_Model: TypeAlias = Forest | Boosted | CentroidForest | LinearModel | LabelTreeModel | Compressed
# A float32 array of two dimensions, or a canonical float32 CSR or CSC matrix.
_Matrix: TypeAlias = Any
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
# Regression targets; or class codes and the number of classes of each output; or indptr, indices and the number of
# labels; or CSR regression targets.
_Targets: TypeAlias = (
    NDArray[np.float64]
    | tuple[NDArray[np.uint32], Sequence[int]]
    | tuple[_Indices, _Indices, int]
    | tuple[_Indices, _Indices, NDArray[np.float64], int]
)

# Unknown entries of y, as a bool array; or as indptr, indices and the number of outputs.
_Mask: TypeAlias = (
    NDArray[np.bool_]
    | NDArray[np.float64]
    | tuple[_Indices, _Indices, int]
    | tuple[_Indices, _Indices, NDArray[np.float64], int]
)
_Pattern: TypeAlias = tuple[_Indices, _Indices, int]
# The training and the held-out samples of a fold.
_Split: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]
# Mean training losses, held-out losses and scores of folds after each stage, and the number of stages.
_Search: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]
# The leaves of the training samples of a forest in each tree, and their weights.
_Stored: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.float64]]
# Scores of all labels; or indptr, indices and data of CSR, the number of labels, and whether labels without a stored
# score are ranked with score zero.
_LabelScores: TypeAlias = (
    NDArray[np.float64] | NDArray[np.float32] | tuple[_Indices, _Indices, NDArray[np.float64], int, bool]
)
# A part of the estimate of the memory of a fit: what is stored, its bytes, and whether every fit holds it at the same
# time as the other parts that are certain.
# An object with the attributes of `weald._fit.memory.Shapes`.
_FitShapes: TypeAlias = Any
# The fold of each sample, and the model of each fold.
_FoldModels: TypeAlias = tuple[NDArray[np.uint32], list[LinearModel]]
_SparseScores: TypeAlias = tuple[NDArray[np.uintp], NDArray[np.uint32], NDArray[np.float64]]

# Sample weights; and class weights by sample, or their rule.
_RowWeights: TypeAlias = tuple[NDArray[np.float64] | None, NDArray[np.float64] | str | None]
# The samples of a fit: X, y, their weights, and what is known of y.
_Data: TypeAlias = tuple[_Matrix, _Targets, _RowWeights, _Mask | None]

# Φ of shape (n_projections, n_outputs), as an array; or as indptr, indices, values of CSR, and the number of outputs.
_ProjectionMatrix: TypeAlias = NDArray[np.float64] | tuple[_Indices, _Indices, NDArray[np.float64], int]

# CSR: values, indices, indptr and the number of columns; without values if all values are 1.
_Rows: TypeAlias = tuple[NDArray[np.float32], _Indices, _Indices, int]
_LabelRows: TypeAlias = tuple[_Indices, _Indices, int]

@type_check_only
class _Mulan(TypedDict):
    # Values in C order and the number of columns; or CSR.
    dense: NotRequired[tuple[NDArray[np.float32], int]]
    sparse: NotRequired[_Rows]
    labels: _LabelRows
    feature_names: list[str]
    label_names: list[str]
    # The categories of each feature, or None for numerical features.
    categories: list[list[str] | None]

@type_check_only
class _Asked(TypedDict):
    # None is "auto".
    kind: str
    n_outputs: int
    n_columns: int
    n_features: int
    output_strategy: str | None
    # The strategy of the model that the fit goes on with.
    kept: str | None
    has_directions: bool
    has_weak_models: bool
    has_init: bool
    is_linear_init: bool
    learning_rate: float | None
    n_estimators: int | None
    # 0: no limit.
    max_leaf_nodes: int | None
    # Whether nothing else says when the fit ends.
    is_free: bool
    patience: int | None

@type_check_only
class _Plan(TypedDict):
    output_strategy: str
    learning_rate: float
    max_leaf_nodes: int | None
    max_features: Literal["half"] | None
    # The share of the features that each tree draws.
    features_of_tree: float
    subsample: float
    l2_regularization: float
    # The largest number with a patience.
    n_estimators: int
    n_iter_no_change: int | None
    # The folds that find the number of stages, and how many of them are grown.
    cv: int | None
    n_grown: int | None
    # By what share of the loss of the folds with half of the features all of them must be better to be taken.
    all_gain: float | None
    # Whether so few cells of y are known that a stage combines few outputs.
    has_few_cells: bool
    # Whether it depends on how many samples differ; more than `most_counted` are all the same to it.
    counts_different: bool
    most_counted: int
    # That of quantiles, which Python adds.
    min_weight_leaf: NotRequired[float]

@type_check_only
class _ProjectionFamily(TypedDict):
    name: str
    # On average one in `sparsity` entries is not zero; None for √d.
    sparsity: float | None
    replacement: bool

@type_check_only
class _OutputProjection(TypedDict):
    # None with `matrices`, of which there is one for all trees or one for each tree to grow.
    family: _ProjectionFamily | None
    matrices: list[_ProjectionMatrix]
    n_projections: int
    shared: bool

@type_check_only
class _TreeConfig(TypedDict):
    criterion: str
    splitter: str
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_weight_leaf: float
    max_features: int
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    seed: int
    output_projection: _OutputProjection | None
    max_bins: int | None
    ccp_alpha: float
    # Number of categories of each feature, 0 for features that are not categorical.
    categories: list[int] | None
    # The direction of each feature, for all outputs or for each output.
    monotonic_cst: list[list[int]] | None
    # Groups of features that may interact.
    interaction_cst: list[list[int]] | None
    # "variance", or the scale of each output.
    output_scaling: str | list[float] | None
    output_weights: list[float] | None

@type_check_only
class _ForestConfig(TypedDict):
    tree: _TreeConfig
    trees: tuple[int, int]
    bootstrap: bool
    max_samples: float | None
    by_output: bool

@type_check_only
class _CentroidForestConfig(TypedDict):
    # The range of trees to grow, half-open.
    trees: tuple[int, int]
    bootstrap: bool
    max_samples: float | None
    seed: int
    n_children: int
    # A node has at most as many children as its samples divided by this, but at least two.
    samples_per_child: int
    # A node with at most this number of samples is a leaf.
    max_leaf_samples: int
    max_depth: int | None
    # Number of samples of a node that clusters are computed from, which the others then join; None for all.
    sample_size: int | None
    # Number of random sign projections of y, if `output_projection` is None.
    n_projections: int
    output_projection: _OutputProjection | None
    # "node", "tree" or "forest"
    projection_scope: str
    # "spherical" or "euclidean"
    clustering: str
    # Whether the mean of the node is subtracted from projected samples.
    center: bool
    n_passes: int
    # Number of entries of largest magnitude that centroids keep; None for all.
    max_centroid_features: int | None
    # Weights of a centroid below this fraction of its largest one are dropped.
    min_centroid_weight: float
    # The fraction of features that are drawn for each tree and used by its centroids.
    max_features: float
    # Scale and rate of one pass of logistic regression on the clusters.
    refinement: tuple[float, float] | None
    # Sharpness of the weights of the two nearest children in prediction, and the minimum weight of the second one; None
    # for the nearest child only.
    routing: tuple[float, float] | None
    # Leaves predict as if they contained this number of additional samples of their parent.
    leaf_shrinkage: float
    normalize: bool
    idf: bool
    # "int8" or "float16"
    centroid_dtype: str
    # The weight of each output, class or label in the clustering.
    output_weights: list[float] | None
    # Whether leaves refer to samples, whose y is then stored once for all trees.
    store_rows: bool

@type_check_only
class _ColumnsConfig(TypedDict):
    intercept_scaling: float
    tol: float
    max_iter: int
    min_weight: float
    # Whether weights are rounded to float16.
    half_precision: bool
    seed: int

@type_check_only
class _LinearConfig(_ColumnsConfig):
    # "squared_hinge" or "log_loss"
    loss: str
    # None: chosen by held-out samples.
    c: float | None
    # "given", "normalized", "tfidf" or "standardized"; None: chosen in the same way
    features: str | None
    # Whether probabilities are calibrated by held-out samples.
    calibration: bool

@type_check_only
class _LabelTreeConfig(_ColumnsConfig):
    c: float
    # "given", "normalized" or "tfidf"
    features: str
    n_trees: int
    first_tree: int
    max_children: int
    max_leaf_labels: int
    beam_width: int

@type_check_only
class _BoostConfig(TypedDict):
    # The seed is that of the fit.
    tree: _TreeConfig
    n_estimators: int
    learning_rate: float
    # A name, or a `CustomLoss`.
    loss: str | Any
    # The parameter of the loss, if it has a name and a parameter, for all outputs or for each output.
    loss_parameter: float | tuple[float, ...] | None
    strategy: str
    # For the strategy "projected".
    output_projection: _OutputProjection | None
    relabel: bool
    subsample: float
    # The share of the features that each tree draws.
    features_of_tree: float
    leaf_estimation: str
    l2_regularization: float
    min_sum_hessian_in_leaf: float
    max_bins: int | None
    n_iter_no_change: int | None
    tol: float

@type_check_only
class _LossParameter(TypedDict):
    name: str
    about: str
    default: float
    # The value is between these two.
    above: float
    below: float
    # The same in words that follow "must".
    must: str

@type_check_only
class _LossRow(TypedDict):
    name: str
    type: str
    about: str
    # The kinds of y that the loss is meant for.
    of_numbers: bool
    of_labels: bool
    domain: str
    link: str | None
    # Whether several classes share the softmax.
    softmax: bool
    # Whether compression, and fits of workers that each hold some of the samples, support it.
    compresses: bool
    has_workers: bool
    parameter: _LossParameter | None

def losses() -> list[_LossRow]: ...
def loss_cells(
    name: str, parameter: float | None, y: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

@type_check_only
class _CompressConfig(TypedDict):
    # "stagewise", "lasso" or "grow"; the keys of the other methods are ignored.
    method: str
    # "squared_error" or "log_loss"
    loss: str
    standardize: bool
    seed: int
    # The weight of each label in all losses.
    output_weights: list[float] | None
    # The path ends with the first step that exceeds this number.
    max_test_nodes: int | None
    # stagewise
    step_outputs: int | None
    step_size: float
    max_steps: int | None
    # lasso
    n_alphas: int
    eps: float
    tol: float
    max_iter: int
    # grow; None until no node is left
    learning_rate: float
    max_nodes: int | None
    candidate_window: int | None

@type_check_only
class _TensorSummary(TypedDict):
    name: str
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int
    share: float

@type_check_only
class _ModelSummary(TypedDict):
    format_version: int
    release: str | None
    kind: str
    outputs: str
    n_outputs: int
    width: int
    criterion: str
    n_features: int
    n_trees: int
    n_nodes: int
    n_bytes: int
    n_header_bytes: int
    tensors: list[_TensorSummary]
    estimator: str | None

def build_info() -> dict[str, str | int]: ...
def shap_values(
    model: Forest | Boosted | Compressed,
    x: _Matrix,
    background: _Matrix | None = None,
    outputs: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def shap_values_sparse(
    model: Forest | Boosted | Compressed,
    x: _Matrix,
    background: _Matrix | None = None,
    outputs: Sequence[int] | None = None,
    n_threads: int = 1,
) -> list[_SparseScores]: ...
def shap_base_values(
    model: Forest | Boosted | Compressed,
    background: _Matrix | None = None,
    outputs: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def shap_interaction_values(
    model: Forest | Boosted | Compressed,
    x: _Matrix,
    output: int,
    background: _Matrix | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def rank_rows(
    scores: _LabelScores, k: int, exclude: _Pattern | None = None, n_threads: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
def label_precision(
    scores: _LabelScores, truth: _Pattern, mask: _Pattern | None = None, n_threads: int = 1
) -> NDArray[np.float64]: ...
def coverage(
    scores: _LabelScores, truth: _Pattern, mask: _Pattern | None = None, n_threads: int = 1
) -> NDArray[np.float64]: ...
def label_folds(labels: _Pattern, n_folds: int, priority: NDArray[np.int64]) -> NDArray[np.uint32]: ...
def folds_of_samples(
    data: _Data,
    n_folds: int,
    seed: int,
    base_margin: NDArray[np.float64] | None,
) -> list[_Split]: ...
def held_out_samples(
    data: _Data,
    share: float,
    seed: int,
) -> NDArray[np.uint32]: ...
def counts_of_plan(
    asked: _Asked,
    data: _Data,
    seed: int,
) -> tuple[int, int, int, bool, bool]: ...
def plan_of_boosting(asked: _Asked, counts: tuple[int, int, int, bool, bool]) -> _Plan: ...
def hashes_of_samples(x: _Matrix) -> NDArray[np.uint64]: ...
def data_digest(
    x: _Matrix, y: Any, mask: _Mask | None, weights: NDArray[np.float64] | None, classes: Sequence[Sequence[str]]
) -> str: ...
def stored_weights(
    samples: _Stored, reached: NDArray[np.uint32], k: int | None = None, n_threads: int = 1
) -> _SparseScores: ...
def stored_quantiles(
    samples: _Stored,
    targets: NDArray[np.float64],
    reached: NDArray[np.uint32],
    levels: Sequence[float],
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def stored_draws(
    samples: _Stored,
    targets: NDArray[np.float64],
    reached: NDArray[np.uint32],
    shares: NDArray[np.float64],
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def fit_tree(
    data: _Data,
    config: _TreeConfig,
    n_threads: int = 1,
) -> Forest: ...
def fit_forest(
    data: _Data,
    config: _ForestConfig,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Forest: ...
def fit_centroid_forest(
    data: _Data,
    config: _CentroidForestConfig,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> CentroidForest: ...
def fit_linear(
    data: _Data,
    config: _LinearConfig,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
    columns: tuple[int, int] | None = None,
    with_folds: bool = False,
) -> tuple[LinearModel, float, _FoldModels | None]: ...
def fold_models_of_linear(
    model: LinearModel,
    data: _Data,
    config: _LinearConfig,
    n_folds: int,
    n_threads: int = 1,
) -> _FoldModels: ...
def fit_label_tree(
    data: _Data,
    config: _LabelTreeConfig,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> LabelTreeModel: ...
def fit_boosting(
    data: _Data,
    config: _BoostConfig,
    validation: tuple[_Data, NDArray[np.float64] | None] | None = None,
    grown: Boosted | None = None,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
    base_margin: NDArray[np.float64] | None = None,
    observer: Callable[
        [int, float, float | None, tuple[float, float] | None, Boosted | None, NDArray[np.float64] | None], object
    ]
    | None = None,
    wants_scores: bool = False,
    wants_models: bool = False,
) -> Boosted: ...
def fit_boosting_part(
    data: _Data,
    config: _BoostConfig,
    all_reduce: Callable[[NDArray[Any], str], object],
    n_threads: int = 1,
    grown: Boosted | None = None,
    kept: list[Boosted] | None = None,
    every: int = 1,
    observer: Callable[[Boosted], object] | None = None,
) -> Boosted: ...
def mean_loss(
    y: _Targets,
    sample_weight: NDArray[np.float64] | None,
    config: _BoostConfig,
    scores: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    y_weight: _Mask | None = None,
) -> float | None: ...
def refit_leaves(
    model: Boosted,
    data: _Data,
    config: _BoostConfig,
    n_threads: int = 1,
    base_margin: NDArray[np.float64] | None = None,
    n_test_nodes: int | None = None,
) -> Boosted: ...
def fit_boosting_with(
    fit_predict: Callable[
        [int, NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.float64] | None],
    ],
    shape: tuple[int, int],
    y: _Targets,
    sample_weight: NDArray[np.float64] | None,
    config: _BoostConfig,
    validation: tuple[_Targets, NDArray[np.float64] | None] | None = None,
    progress: Callable[[int], object] | None = None,
    observer: Callable[[int, float, float | None, tuple[float, float] | None], object] | None = None,
    grown: Boosted | None = None,
) -> Boosted: ...
def search_stages(
    data: _Data,
    config: _BoostConfig,
    folds: Sequence[_Split],
    patience_share: float,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
    base_margin: NDArray[np.float64] | None = None,
    base_margins: Sequence[NDArray[np.float64]] = ...,
    observer: Callable[[int, float, float, float | None], object] | None = None,
    scorers: Sequence[Callable[[Boosted, NDArray[np.float64]], float]] = ...,
) -> _Search: ...
def search_stages_with(
    shape: tuple[int, int],
    y: _Targets,
    config: _BoostConfig,
    folds: Sequence[
        tuple[
            Callable[
                [int, NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]],
                tuple[NDArray[np.float64], NDArray[np.float64] | None],
            ],
            NDArray[np.float64],
            tuple[_Targets, NDArray[np.float64] | None],
        ]
    ],
    patience_share: float,
    progress: Callable[[int], object] | None = None,
    observer: Callable[[int, float, float, float | None], object] | None = None,
) -> _Search: ...
def compress_forest(
    forest: Forest,
    data: _Data,
    config: _CompressConfig,
    held_out: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> CompressionPath: ...
def cross_validate_compression(
    data: _Data,
    grow: _ForestConfig,
    config: _CompressConfig,
    folds: Sequence[_Split],
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def memory_of_forest(config: _ForestConfig, shapes: _FitShapes, n_threads: int) -> int: ...
def memory_of_centroids(config: _CentroidForestConfig, shapes: _FitShapes, n_threads: int) -> int: ...
def memory_of_linear(config: _LinearConfig, shapes: _FitShapes, n_threads: int) -> int: ...
def memory_of_label_tree(config: _LabelTreeConfig, shapes: _FitShapes, n_threads: int) -> int: ...
def memory_of_boosting(config: _BoostConfig | None, shapes: _FitShapes, n_threads: int) -> int: ...
def memory_of_compression(config: _ForestConfig, n_fitted: int | None, shapes: _FitShapes, n_threads: int) -> int: ...
def save_model(
    path: str,
    model: _Model,
    estimator: str | None,
    arrays: dict[str, NDArray[Any]],
) -> None: ...
def write_model(
    model: _Model,
    estimator: str | None,
    arrays: dict[str, NDArray[Any]],
) -> bytes: ...
def write_file(path: str, bytes: bytes) -> None: ...
def load_model(path: str, accept: Callable[[_ModelSummary], None]) -> tuple[_Model, dict[str, NDArray[Any]]]: ...
def read_model(
    bytes: NDArray[np.uint8], accept: Callable[[_ModelSummary], None]
) -> tuple[_Model, dict[str, NDArray[Any]]]: ...
def read_xmc(text: bytes) -> tuple[_Rows, _LabelRows]: ...
def read_svmlight(
    text: bytes, n_features: int | None, n_labels: int | None, zero_based: bool | None
) -> tuple[_Rows, _LabelRows]: ...
def read_mulan(text: bytes, labels: list[str]) -> _Mulan: ...
def write_xmc(x: _Matrix, y: _Targets) -> bytes: ...
def inspect_model(path: str) -> _ModelSummary: ...
def exact_sums(groups: NDArray[np.int64], values: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]: ...
def exp(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def label_probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log1p(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def weights_by_row(y: _Targets, weights: _RowWeights, y_weight: _Mask | None = None) -> NDArray[np.float64] | None: ...
def draw_projection(
    family: _ProjectionFamily,
    n_outputs: int,
    n_projections: int,
    seed: int,
    y: _Targets | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64] | tuple[NDArray[np.uintp], NDArray[np.uint32], NDArray[np.float64]]: ...
def count_projections(n_outputs: int, count: int | None = None, share: float | None = None) -> int: ...
def johnson_lindenstrauss_dim(n_samples: int, eps: float) -> int: ...

# What `to_c` writes, of trees that may start from a linear model: what of it is added to their sums.
def to_c(
    model: _Model, name: str, estimator: str, threshold: float, start: tuple[LinearModel, str] | None = None
) -> str: ...

# `members` are further members of the object, as JSON without braces.
def to_json(
    model: _Model, estimator: str, threshold: float, members: str, start: tuple[LinearModel, str] | None = None
) -> str: ...

@final
class Forest:
    @property
    def n_trees(self) -> int: ...
    @property
    def by_output(self) -> bool: ...
    @property
    def n_trees_of_an_output(self) -> int: ...
    def some_trees(self, start: int, stop: int) -> Forest: ...
    @property
    def n_features(self) -> int: ...
    @property
    def criterion(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    def tree(self, index: int) -> Tree: ...
    def only(self, index: int) -> Forest: ...
    @staticmethod
    def merge(forests: Sequence[Forest]) -> Forest: ...
    def predict(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def apply(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.uint32]: ...
    def decision_path(
        self, x: _Matrix, n_threads: int = 1
    ) -> tuple[NDArray[np.uintp], NDArray[np.uint32], NDArray[np.uintp]]: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def predict_at_least(self, x: _Matrix, floor: float, n_threads: int = 1) -> _SparseScores: ...
    def oob_predict(
        self,
        config: _ForestConfig,
        data: _Data,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def oob_at_least(
        self,
        config: _ForestConfig,
        data: _Data,
        floor: float,
        n_threads: int = 1,
    ) -> tuple[_SparseScores, NDArray[np.uint32]]: ...
    def spread(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def oob_spread(
        self,
        config: _ForestConfig,
        data: _Data,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64]]: ...
    def prune_reduced_error(
        self,
        data: _Data,
        n_threads: int = 1,
    ) -> Forest: ...
    def feature_importances(self, outputs: Sequence[int] | None = None) -> NDArray[np.float64]: ...
    def partial_dependence(
        self, features: list[int], points: NDArray[np.float32], n_threads: int = 1
    ) -> NDArray[np.float64]: ...
    def with_precision(self, dtype: str, n_threads: int = 1) -> Forest: ...
    def with_top_k(self, k: int, n_threads: int = 1) -> Forest: ...
    def with_stored_rows(
        self,
        data: _Data,
        bootstrap: bool,
        max_samples: float | None,
        seed: int,
        n_threads: int = 1,
    ) -> Forest: ...
    def largest_change(self, other: Forest, n_threads: int = 1) -> float: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Forest: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Forest], tuple[bytes]]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class CentroidForest:
    @property
    def n_trees(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def n_bytes(self) -> int: ...
    def tree(self, index: int) -> CentroidTree: ...
    def only(self, index: int) -> CentroidForest: ...
    @staticmethod
    def merge(forests: Sequence[CentroidForest]) -> CentroidForest: ...
    def predict(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def apply(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.uint32]: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def predict_at_least(self, x: _Matrix, floor: float, n_threads: int = 1) -> _SparseScores: ...
    def oob_predict(
        self,
        config: _CentroidForestConfig,
        data: _Data,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def oob_at_least(
        self,
        config: _CentroidForestConfig,
        data: _Data,
        floor: float,
        n_threads: int = 1,
    ) -> tuple[_SparseScores, NDArray[np.uint32]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> CentroidForest: ...
    def __reduce__(self) -> tuple[Callable[[bytes], CentroidForest], tuple[bytes]]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class CentroidTree:
    @property
    def node_count(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    # The children of node i are the nodes from children_start[i] to children_start[i + 1]; leaves have none.
    def children_start(self) -> NDArray[np.uint32]: ...
    def n_node_samples(self) -> NDArray[np.uint32]: ...
    def weighted_n_node_samples(self) -> NDArray[np.float64]: ...
    # Features in ascending order and their weights in the centroid of a node; empty at the root.
    def centroid(self, node: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...
    # (feature, weight) for the `k` largest weights of each child, in descending order.
    def heaviest_features(self, node: int, k: int) -> list[list[tuple[int, float]]]: ...

@final
class LinearModel:
    @property
    def n_features(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_outputs(self) -> int: ...
    # Number of columns of scores.
    @property
    def width(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def n_unfinished(self) -> int: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def features(self) -> str: ...
    # How scores are turned into predictions, which are always probabilities.
    @property
    def link(self) -> str: ...
    # Of models, each with the first of its columns and one past the last, in increasing order.
    @staticmethod
    def merge(parts: list[tuple[LinearModel, int, int]]) -> LinearModel: ...
    # Offsets, columns and values of weights, intercepts of margins, slopes and intercepts of log-odds.
    def arrays(self) -> tuple[NDArray[Any], ...]: ...
    def predict(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    # Logits, or half of them for the logistic link, of shape (n_samples, width).
    def predict_scores(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def to_predictions(self, scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    # The weights of logits: CSR with a row for each feature, and columns of scores.
    def weights(self) -> _SparseScores: ...
    def intercepts(self) -> NDArray[np.float64]: ...
    def idf(self) -> NDArray[np.float32] | None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> LinearModel: ...
    def __reduce__(self) -> tuple[Callable[[bytes], LinearModel], tuple[bytes]]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class LabelTreeModel:
    @property
    def n_features(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_outputs(self) -> int: ...
    # Number of labels or classes.
    @property
    def width(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def beam_width(self) -> int: ...
    # Children and labels of all nodes of all trees, and how many of them did not reach the tolerance.
    @property
    def n_columns(self) -> int: ...
    @property
    def n_unfinished(self) -> int: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def n_weights(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def features(self) -> str: ...
    @staticmethod
    def merge(parts: list[LabelTreeModel]) -> LabelTreeModel: ...
    # Of each tree.
    def depths(self) -> list[int]: ...
    def n_leaves(self) -> list[int]: ...
    # Logarithms of the means over the trees, of the labels that are found.
    def predict_scores(self, x: _Matrix, n_threads: int = 1) -> _SparseScores: ...
    # Probabilities that are positive and at least `floor`.
    def predict_at_least(self, x: _Matrix, floor: float, n_threads: int = 1) -> _SparseScores: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def idf(self) -> NDArray[np.float32] | None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> LabelTreeModel: ...
    def __reduce__(self) -> tuple[Callable[[bytes], LabelTreeModel], tuple[bytes]]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Boosted:
    @property
    def n_features(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_stages(self) -> int: ...
    @property
    def n_test_nodes(self) -> int: ...
    @property
    def forest(self) -> Forest | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def has_probabilities(self) -> bool: ...
    def truncated(self, n_stages: int) -> Boosted: ...
    @property
    def has_log_link(self) -> bool: ...
    @property
    def link(self) -> str: ...
    @property
    def term(self) -> str: ...
    def start(self) -> NDArray[np.float64]: ...
    def step_sizes(self) -> NDArray[np.float64]: ...
    def train_score(self) -> NDArray[np.float64]: ...
    def validation_score(self) -> NDArray[np.float64]: ...
    def oob_score(self) -> NDArray[np.float64]: ...
    def oob_improvement(self) -> NDArray[np.float64]: ...
    def predict_scores(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def staged_scores(self, x: _Matrix, n_threads: int = 1) -> StagedScores: ...
    def to_predictions(self, scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def feature_importances(self) -> NDArray[np.float64]: ...
    def partial_dependence(
        self, features: list[int], points: NDArray[np.float32], n_threads: int = 1
    ) -> NDArray[np.float64]: ...
    def with_precision(self, dtype: str, n_threads: int = 1) -> Boosted: ...
    def without_small_values(self, max_change: float, n_threads: int = 1) -> Boosted: ...
    def largest_change(self, other: Boosted, n_threads: int = 1) -> float: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Boosted: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Boosted], tuple[bytes]]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class CompressionPath:
    @property
    def n_steps(self) -> int: ...
    @property
    def width(self) -> int: ...
    def l1_norm(self) -> NDArray[np.float64]: ...
    def train_loss(self) -> NDArray[np.float64]: ...
    def test_loss(self) -> NDArray[np.float64]: ...
    def n_test_nodes(self) -> NDArray[np.int64]: ...
    def n_nonzero(self) -> NDArray[np.int64]: ...
    def step_of(self, l1_norm: float) -> int: ...
    def at(self, l1_norm: float) -> Compressed: ...
    def at_step(self, step: int) -> Compressed: ...
    def coefficients(self, step: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]: ...
    def intercept(self, step: int) -> NDArray[np.float64]: ...

@final
class Compressed:
    @property
    def n_features(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def kind(self) -> str: ...
    @property
    def has_log_odds(self) -> bool: ...
    @property
    def link(self) -> str: ...
    @property
    def l1_norm(self) -> float: ...
    @property
    def n_test_nodes(self) -> int: ...
    @property
    def forest(self) -> Forest: ...
    def predict_scores(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def predict(self, x: _Matrix, n_threads: int = 1) -> NDArray[np.float64]: ...
    def predict_topk(
        self, x: _Matrix, k: int, n_threads: int = 1, exclude: _Pattern | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def with_precision(self, dtype: str, n_threads: int = 1) -> Compressed: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Compressed: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Compressed], tuple[bytes]]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class OneSample:
    def __new__(
        cls, model: Forest | Boosted | Compressed | LinearModel, names: dict[str, int] | None = None
    ) -> OneSample: ...
    def scores(self, sample: object) -> NDArray[np.float64] | None: ...
    def topk(
        self, sample: object, k: int, as_margins: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None: ...

@final
class StagedScores:
    def __iter__(self) -> StagedScores: ...
    def __next__(self) -> NDArray[np.float64]: ...

@final
class Tree:
    @property
    def node_count(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    def children_left(self) -> NDArray[np.int64]: ...
    def children_right(self) -> NDArray[np.int64]: ...
    def feature(self) -> NDArray[np.int64]: ...
    def threshold(self) -> NDArray[np.float64]: ...
    def missing_go_to_left(self) -> NDArray[np.uint8]: ...
    def impurity(self) -> NDArray[np.float64]: ...
    def n_node_samples(self) -> NDArray[np.uint32]: ...
    def weighted_n_node_samples(self) -> NDArray[np.float64]: ...
    def value(self) -> NDArray[np.float64]: ...
    def categories_left(self, node: int) -> NDArray[np.uint16]: ...
    def leaf_values(self) -> _SparseScores: ...
    def cost_complexity_pruning_path(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def rules(
        self,
        feature_names: Sequence[str] | None,
        column_names: Sequence[str] | None,
        decimals: int | None,
        max_depth: int | None,
        top_k: int,
        category_names: list[list[str]] | None = None,
    ) -> str: ...
