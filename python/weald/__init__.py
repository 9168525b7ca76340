"""Trees and tree ensembles for data with many features and many outputs.

The estimators have the interface of scikit-learn. In addition, they support sparse X in CSR and CSC format with 32-bit
and 64-bit indices, multi-label y as a sparse matrix, and trees grown on random projections of the outputs.

Modules
-------
`weald.tree`, `weald.forest`, `weald.centroid`, `weald.linear`, `weald.boosting`, `weald.compression`
    The estimators, which can also be imported from `weald`. Compression makes models smaller that predict the same or
    nearly the same.
`weald.loss`
    Losses of boosting with their parameters, and losses of your own.
`weald.projection`
    Random projections of the outputs.
`weald.voting`
    Estimators that average what others predict.
`weald.multilabel`
    Tuned decision thresholds and calibrated probabilities for many labels; hierarchies of labels.
`weald.conformal`
    Intervals, regions and sets that hold the truth with a chosen probability.
`weald.metrics`
    Metrics and scorers for dense and sparse label matrices.
`weald.model_selection`
    Stratified folds for labels, and cross-validation with sparse y.
`weald.inspection`
    Importances, partial dependence, explanations and rules of fitted models.
`weald.export`
    Conversion of models to JSON, C, ONNX, treelite and scikit-learn.
`weald.datasets`
    Loading and generating data sets.
`weald.distribute`
    Fitting, prediction and cross-validation on several processes or machines.

Functions
---------
`save`, `load`, `dumps`, `loads`, `inspect_model`
    Model files, which can be loaded without running code of the file.
`merge`
    Merges parts of a forest, a linear model or label trees that were fitted separately.
`estimate_fit_memory`
    Estimates the memory that a fit needs.
`topk`
    The highest-scoring labels of samples, also for pipelines and in chunks.

`EarlyStopping` says how boosting stops early, and `Predictor` predicts single samples with low latency.
"""

import sys

from weald import (
    compression,
    conformal,
    datasets,
    distribute,
    export,
    inspection,
    loss,
    metrics,
    model_selection,
    multilabel,
    projection,
)
from weald._files.model_file import dumps, inspect_model, load, loads, save
from weald._fit.memory import estimate_fit_memory
from weald._rounds.held_out import EarlyStopping
from weald._tools.merge import merge
from weald._tools.predictor import Predictor
from weald._tools.topk import topk
from weald._weald import __version__, build_info
from weald.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from weald.centroid import CentroidForestClassifier, CentroidForestRegressor
from weald.compression import (
    CompressedForestClassifier,
    CompressedForestRegressor,
    InducedForestClassifier,
    InducedForestRegressor,
)
from weald.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.linear import LinearClassifier
from weald.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from weald.voting import VotingClassifier, VotingRegressor

__all__ = [
    "CentroidForestClassifier",
    "CentroidForestRegressor",
    "CompressedForestClassifier",
    "CompressedForestRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "EarlyStopping",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "InducedForestClassifier",
    "InducedForestRegressor",
    "LinearClassifier",
    "Predictor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "build_info",
    "compression",
    "conformal",
    "datasets",
    "distribute",
    "dumps",
    "estimate_fit_memory",
    "export",
    "inspect_model",
    "inspection",
    "load",
    "loads",
    "loss",
    "merge",
    "metrics",
    "model_selection",
    "multilabel",
    "projection",
    "save",
    "topk",
]

# What `dir` and the completion of names show.
for _name, _module in list(sys.modules.items()):
    if _name.partition(".")[0] == "weald" and "._" not in _name:
        vars(_module)["__dir__"] = vars(_module)["__all__"].copy
del _name, _module
