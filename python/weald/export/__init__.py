"""Conversion of fitted models to JSON, C, ONNX, treelite and scikit-learn.

Every exporter uses the same description of a model: `score = (start + sum of leaf values) / divisor + weights of features`,
of which a model may have one part alone, and a link function. The docstring of each function states how accurately predictions
are reproduced. See docs/export.md for a table of the models that each format supports, and for the use of MLflow and skops.
The engine writes JSON and C, of centroid forests and label trees too.

| function | result |
|---|---|
| `to_json` | a JSON object with full precision |
| `to_c` | a C source file without memory allocation |
| `to_sklearn` | a tree or forest of scikit-learn |
| `to_onnx` | an ONNX model, for onnxruntime and other runtimes |
| `to_treelite` | a treelite model, to be compiled or run by GTIL |

Boosting with `estimator`, or with an `init` that is not a linear model of weald, is not supported by any format: its predictions
depend on models of other libraries. Linear models, and boosting that starts from one, are supported by JSON, C and ONNX, and
centroid forests and label trees, whose nodes do not test single features, by JSON and C.
"""

from weald.export._onnx import to_onnx
from weald.export._sklearn import to_sklearn
from weald.export._text import to_c, to_json
from weald.export._treelite import to_treelite

__all__ = ["to_c", "to_json", "to_onnx", "to_sklearn", "to_treelite"]
