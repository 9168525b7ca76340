"""Fitted models for other programs: JSON, C, ONNX, treelite and scikit-learn.

Each exporter reads the same description of a model, `score = (start + sum of what the leaves add) / divisor` and a
link, and writes it in another form; its docstring says how near the predictions are, and why. The page docs/export.md
has a table of what each format supports, and recipes for MLflow and skops.

| function | what it makes |
|---|---|
| `to_json`, `from_json` | a JSON object with all digits, and a predictor of it |
| `to_c` | one file of C, without allocation |
| `to_sklearn` | scikit-learn's own tree or forest |
| `to_onnx` | an ONNX model, for onnxruntime and others |
| `to_treelite` | a model of treelite, to be compiled or run by GTIL |

Boosting with `estimator` or `init`, whose predictions are in part those of other libraries' models, and centroid
forests, whose nodes are no tests of features, have none of these forms: `spinney.save` keeps centroid forests, pickle
all.
"""

from spinney.export._c import to_c
from spinney.export._json import from_json, to_json
from spinney.export._onnx import to_onnx
from spinney.export._predictor import JsonModel
from spinney.export._sklearn import to_sklearn
from spinney.export._treelite import to_treelite

__all__ = ["JsonModel", "from_json", "to_c", "to_json", "to_onnx", "to_sklearn", "to_treelite"]
