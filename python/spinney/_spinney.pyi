"""The engine: conversions and compiled code. Private; names may change between any two versions."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Forest",
    "Tree",
    "__version__",
    "build_info",
    "count_projections",
    "draw_projection",
    "fit_forest",
    "fit_tree",
    "johnson_lindenstrauss_dim",
]

__version__: str

# A float32 array of two dimensions, or a canonical float32 CSR or CSC matrix.
_Matrix: TypeAlias = Any
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
# Numbers; class codes and the number of classes of each column; indptr, indices and the number of labels.
_Targets: TypeAlias = NDArray[np.float64] | tuple[NDArray[np.uint32], Sequence[int]] | tuple[_Indices, _Indices, int]

# Sample weights; class weights by row, or their rule.
_RowWeights: TypeAlias = tuple[NDArray[np.float64] | None, NDArray[np.float64] | str | None]

# Φ: an array (n_projections, n_outputs); or indptr, indices and values of CSR, and the number of outputs.
_ProjectionMatrix: TypeAlias = NDArray[np.float64] | tuple[_Indices, _Indices, NDArray[np.float64], int]

@type_check_only
class _ProjectionFamily(TypedDict):
    name: str
    # One entry in so many is not zero; None for √d.
    sparsity: float | None
    replacement: bool

@type_check_only
class _OutputProjection(TypedDict):
    # None for `matrices`, one for all trees or one for each tree to grow.
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
    max_features: int
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    seed: int
    output_projection: _OutputProjection | None

@type_check_only
class _ForestConfig(TypedDict):
    tree: _TreeConfig
    trees: tuple[int, int]
    bootstrap: bool
    max_samples: float | None

def build_info() -> dict[str, str | int]: ...
def fit_tree(x: _Matrix, y: _Targets, weights: _RowWeights, config: _TreeConfig) -> Forest: ...
def fit_forest(
    x: _Matrix,
    y: _Targets,
    weights: _RowWeights,
    config: _ForestConfig,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Forest: ...
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

@final
class Forest:
    @property
    def n_trees(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def criterion(self) -> str: ...
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
        self, x: _Matrix, k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def oob_predict(
        self,
        config: _ForestConfig,
        x: _Matrix,
        sample_weight: NDArray[np.float64] | None,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def feature_importances(self, outputs: Sequence[int] | None = None) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Forest: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Forest], tuple[bytes]]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

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
    def impurity(self) -> NDArray[np.float64]: ...
    def n_node_samples(self) -> NDArray[np.uint32]: ...
    def weighted_n_node_samples(self) -> NDArray[np.float64]: ...
    def value(self) -> NDArray[np.float64]: ...
