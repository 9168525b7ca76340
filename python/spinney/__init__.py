"""Trees and tree ensembles for data with many features and many outputs.

The estimators have the interface of scikit-learn. In addition, they support sparse X in CSR and CSC format with 32-bit
and 64-bit indices, multi-label y as a sparse matrix, and trees grown on random projections of the outputs.

Modules
-------
`spinney.tree`, `spinney.forest`, `spinney.centroid`, `spinney.boosting`, `spinney.compression`
    The estimators, which can also be imported from `spinney`. Compression makes models smaller that predict the same or
    nearly the same.
`spinney.projection`
    Random projections of the outputs.
`spinney.multilabel`
    Tuned decision thresholds and calibrated probabilities for many labels.
`spinney.metrics`
    Metrics and scorers for dense and sparse label matrices.
`spinney.model_selection`
    Stratified folds for labels, and cross-validation with sparse y.
`spinney.inspection`
    Importances, partial dependence, explanations and rules of fitted models.
`spinney.export`
    Conversion of models to JSON, C, ONNX, treelite and scikit-learn.
`spinney.datasets`
    Loading and generating data sets.
`spinney.distribute`
    Fitting, prediction and cross-validation on several processes or machines.

Functions
---------
`save`, `load`, `dumps`, `loads`, `inspect_model`
    Model files, which can be loaded without running code of the file.
`merge`
    Merges parts of a forest that were fitted separately.
`estimate_fit_memory`
    Estimates the memory that a fit needs.
`topk`, `topk_chunks`
    The highest-scoring labels of samples, also for pipelines and in chunks.

`Predictor` predicts single samples with low latency.
"""

from spinney import (
    compression,
    datasets,
    distribute,
    export,
    inspection,
    metrics,
    model_selection,
    multilabel,
    projection,
)
from spinney._memory import estimate_fit_memory
from spinney._model_file import dumps, inspect_model, load, loads, save
from spinney._parts import merge
from spinney._predictor import Predictor
from spinney._spinney import __version__, build_info
from spinney._topk import topk, topk_chunks
from spinney.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.centroid import CentroidForestClassifier, CentroidForestRegressor
from spinney.compression import CompressedForestClassifier, CompressedForestRegressor
from spinney.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = [
    "CentroidForestClassifier",
    "CentroidForestRegressor",
    "CompressedForestClassifier",
    "CompressedForestRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Predictor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "build_info",
    "compression",
    "datasets",
    "distribute",
    "dumps",
    "estimate_fit_memory",
    "export",
    "inspect_model",
    "inspection",
    "load",
    "loads",
    "merge",
    "metrics",
    "model_selection",
    "multilabel",
    "projection",
    "save",
    "topk",
    "topk_chunks",
]
