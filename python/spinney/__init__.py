"""Trees and tree ensembles for data that is wide on both sides.

The estimators have scikit-learn's names, parameters and behaviour. What is new is what they accept: sparse X in either
orientation and either index width, and multi-label y as a sparse matrix; and structures grown on random projections of
the outputs.

Modules
-------
`spinney.tree`, `spinney.forest`, `spinney.centroid`, `spinney.boosting`, `spinney.compression`
    The estimators, also found here.
`spinney.projection`
    Random projections of the outputs: families, and which to choose.
`spinney.compression`
    Smaller models that predict the same, or nearly so.
`spinney.multilabel`
    From scores of labels to labels: tuned thresholds, calibration.
`spinney.metrics`
    Scores for predictions and rankings of many labels, dense or sparse, and scorers for searches.
`spinney.model_selection`
    Folds for labels, and cross-validation where y is sparse.
`spinney.inspection`
    What a fitted model says about its features.
`spinney.export`
    Models for other programs: JSON, C, ONNX, treelite, scikit-learn.
`spinney.datasets`
    Readers of data sets.
`spinney.distribute`
    Fits, predictions and cross-validation by the workers of an executor, on one machine or many.

Model files: `save`, `load`, `dumps`, `loads` and `inspect_model`, for files that run no code when they are loaded.
`merge` puts forests together that were grown in parts. `estimate_fit_memory`
says what a fit will take of memory.

`Predictor`: one row at a time, for services. `topk` and `topk_chunks`: the best labels of rows, through pipelines and
chunk by chunk.
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
