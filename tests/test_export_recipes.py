"""The recipes of docs/export.md for skops and MLflow, with linear models, boosting from them, label trees and centroid forests."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import weald
from test_linear_start import boosting, words
from weald.export import to_onnx

skops = pytest.importorskip("skops.io")
# MLflow and its dependencies warn about each other.
pytestmark = pytest.mark.filterwarnings("ignore")

# The names that the recipe tells to trust.
TRUSTED = {
    "linear": ["weald.linear.LinearClassifier"],
    "linear start": ["weald.boosting.GradientBoostingClassifier", "weald.linear.LinearClassifier"],
    "centroids": ["weald.centroid.CentroidForestClassifier"],
    "label tree": ["weald.linear.LinearClassifier"],
}
OF_LABELS = ["weald.multilabel.LabelFormat", "numpy.dtype"]
X, Y = words()


@functools.cache
def fitted(name):
    model = {
        "linear": weald.LinearClassifier(random_state=0),
        "linear start": boosting(init="linear"),
        "centroids": weald.CentroidForestClassifier(n_estimators=3, random_state=0),
        "label tree": weald.LinearClassifier(strategy="tree", random_state=0),
    }[name]
    return model.fit(X, Y)


@pytest.mark.parametrize("name", TRUSTED)
def test_skops_needs_the_names_of_the_recipe(name):
    model = fitted(name)
    data = skops.dumps(model)
    trusted = TRUSTED[name] + OF_LABELS
    assert set(skops.get_untrusted_types(data=data)) == set(trusted)
    loaded = skops.loads(data, trusted=trusted)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(TypeError, match=TRUSTED[name][0]):
        skops.loads(data, trusted=OF_LABELS)


@pytest.mark.parametrize("name", TRUSTED)
def test_mlflow_stores_models_as_the_recipe_says(name, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    model, path = fitted(name), tmp_path / "tags"
    trusted = TRUSTED[name] + OF_LABELS
    mlflow.sklearn.save_model(model, path, skops_trusted_types=trusted, pip_requirements=[])
    again = mlflow.sklearn.load_model(str(path))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(mlflow.pyfunc.load_model(str(path)).predict(X.toarray()), model.predict(X))

    class WealdFile(mlflow.pyfunc.PythonModel):
        def load_context(self, context):
            self.model = weald.load(context.artifacts["model"])

        def predict(self, context, model_input, params=None):
            return self.model.predict(np.asarray(model_input))

    file, path = tmp_path / "tags.safetensors", tmp_path / "file"
    weald.save(model, file)
    mlflow.pyfunc.save_model(path, python_model=WealdFile(), artifacts={"model": str(file)}, pip_requirements=[])
    np.testing.assert_array_equal(mlflow.pyfunc.load_model(str(path)).predict(X.toarray()), model.predict(X))


@pytest.mark.parametrize("name", ["linear", "linear start"])
def test_mlflow_stores_the_onnx_form(name, tmp_path):
    pytest.importorskip("onnxruntime")
    mlflow_onnx = pytest.importorskip("mlflow.onnx")
    model, path = fitted(name), tmp_path / "tags"
    mlflow_onnx.save_model(to_onnx(model), path, pip_requirements=[])
    found = mlflow_onnx.load_model(str(path))
    assert {one.key for one in found.metadata_props} == {one.key for one in to_onnx(model).metadata_props}
