"""Linear models, and boosting from them, as JSON, C and ONNX: scores are those of the engine."""

from __future__ import annotations

import functools
import json

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import make, make_data
from json_models import predictions_of_json, scores_of_json
from test_linear_start import boosting, words
from weald.export import to_c, to_json, to_onnx, to_sklearn, to_treelite
from weald.export._ensemble import ensemble_of
from weald.projection import Projected

FEATURES = ["given", "normalized", "tfidf", "standardized"]
OUTPUTS = ["single", "several", "labels", "two", "one class"]


def fitted(features, outputs, **params):
    X, y = make_data("LinearClassifier", outputs="several" if outputs in ("several", "two") else outputs)
    if outputs == "one class":
        X, y = make_data("LinearClassifier")
        y = np.zeros(len(X), dtype=int)
    if outputs == "two":
        y = np.array(["no", "yes"])[np.minimum(y[:, 0], 1)]
    model = make("LinearClassifier", features=features, max_iter=1000, **params).fit(X, y)
    # Zeros, values next to zero and large ones.
    rng = np.random.default_rng(0)
    tried = np.where(rng.random(X.shape) < 0.3, rng.choice([0.0, -0.0, 1e-40, -3e-3, 4e4, -7.0], X.shape), X)
    return model, np.concatenate([X, tried, np.zeros((1, X.shape[1]))]).astype(np.float32)


def columns_of(found):
    return np.hstack(found) if isinstance(found, list) else found


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("features", FEATURES)
def test_a_reader_of_json_computes_the_same_scores(features, outputs):
    model, X = fitted(features, outputs)
    text = to_json(model)
    assert text == to_json(model)
    content = json.loads(text)
    scores = scores_of_json(content, X)
    np.testing.assert_array_equal(scores, model._model.predict_scores(X))
    # The rounding of exp.
    expected = columns_of(model.predict_proba(X))
    np.testing.assert_allclose(predictions_of_json(content, scores), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("features", FEATURES)
def test_c_computes_the_same_scores(features, outputs, tmp_path):
    c = pytest.importorskip("test_export_c")
    if c.COMPILER is None:
        pytest.skip("no C compiler")
    model, X = fitted(features, outputs)
    scores, predict = c.compiled(to_c(model), tmp_path)
    expected = model._model.predict_scores(X)
    if features == "tfidf":
        # log1p of two libraries may differ in the last bit, which changes a feature by 2^-24 where it is rounded.
        size = np.abs(model.coef_.toarray()).sum(axis=1) + np.abs(model.intercept_)
        assert (np.abs(scores(X) - expected) <= 2.0**-23 * size).all()
        assert np.mean(scores(X) == expected) > 0.9
    else:
        np.testing.assert_array_equal(scores(X), expected)
    # The rounding of exp, and that of logarithms above.
    np.testing.assert_allclose(predict(X), columns_of(model.predict_proba(X)), rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("features", FEATURES)
def test_onnx_computes_the_same_probabilities(features, outputs, ml_opset):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X = fitted(features, outputs)
    session = runtime.InferenceSession(to_onnx(model, ml_opset=ml_opset).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X}), strict=True))
    proba = columns_of([found[name] for name in names if name.startswith("probabilities")])
    expected = columns_of(model.predict_proba(X))
    # Features of length one are not rounded to multiples of 2^-24 there, and the results of version 3 are float32.
    size = np.abs(model.coef_.toarray()).sum(axis=1).max()
    np.testing.assert_allclose(proba, expected, rtol=1e-6, atol=2.0**-24 * size + 1e-7)
    scores = model._model.predict_scores(X)
    if outputs in ("labels", "two"):
        clear = (np.abs(scores) > 2.0**-20 * size).all(axis=1)
    else:
        ends = np.cumsum(model.n_classes_)[:-1] if outputs == "several" else []
        gaps = [
            np.diff(np.sort(part, axis=1)[:, -2:], axis=1)
            for part in np.split(scores, ends, axis=1)
            if part.shape[1] > 1
        ]
        clear = (np.hstack(gaps) > 2.0**-20 * size).all(axis=1) if gaps else np.ones(len(X), dtype=bool)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found["predictions"][clear], model.predict(X)[clear])


def test_a_calibration_is_part_of_the_scores():
    model, _ = fitted("normalized", "labels")
    linear = json.loads(to_json(model))["linear"]
    assert set(linear["slopes"]) != {1.0}
    assert any(linear["offsets"])
    plain = json.loads(to_json(fitted("normalized", "labels", calibrate=False)[0]))["linear"]
    assert (plain["slopes"], plain["offsets"]) == ([1.0] * 3, [0.0] * 3)


def test_names_of_features_and_labels_are_kept():
    X, Y = make_data("LinearClassifier", outputs="labels")
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(X.shape[1])])
    content = json.loads(to_json(make("LinearClassifier").fit(frame, Y, label_names=["a", "b", "c"])))
    assert content["feature_names"] == list(frame.columns)
    assert content["output_names"] == ["a", "b", "c"]


def test_a_dense_matrix_that_is_too_large_for_onnx_is_refused(monkeypatch):
    model, _ = fitted("given", "labels")
    monkeypatch.setattr("weald.export._onnx._MOST_BYTES", 100)
    with pytest.raises(ValueError, match=r"to_onnx does not support linear models with weights of more than 100 bytes"):
        to_onnx(model)


# --- boosting from a linear model -------------------------------------------------------------------------------------

INIT = ["linear", "auto", "LinearClassifier"]
LOW_RANK = Projected(relabel_leaves=False)
STAGES = [
    {},
    {"loss": "exponential"},
    {"output_strategy": "joint"},
    {"output_strategy": LOW_RANK},
]


@functools.cache
def boosted(outputs, init, features="auto", at=0):
    """Boosting whose scores start from a linear model, and samples."""
    X, Y = words()
    y = {"two": np.array(["no", "yes"])[Y[:, 0]], "single": Y[:, 0] + Y[:, 1], "labels": Y, "one label": Y[:, :1]}.get(
        outputs
    )
    params = {"multi_label": outputs == "one label" or "auto"}
    if outputs == "several":
        y, params = np.column_stack([Y[:, 0] + Y[:, 1], Y[:, 2]]), {"multi_label": False}
    if init == "LinearClassifier":
        init = weald.LinearClassifier(random_state=0, features=features, multi_label=params["multi_label"])
    model = boosting(init=init, n_estimators=6, **params, **STAGES[at]).fit(X, y)
    assert type(model._init) is weald.LinearClassifier
    return model, np.concatenate([X.toarray(), np.zeros((1, X.shape[1])), -X.toarray()[:40]]).astype(np.float32)


BOOSTED = [
    pytest.param(
        outputs,
        INIT[(i + at) % 3],
        FEATURES[(i + at) % 3],
        at,
        id=f"{outputs}-{'-'.join(map(str, STAGES[at].values()))}",
    )
    for i, outputs in enumerate(["two", "single", "labels", "one label", "several"])
    for at in range(len(STAGES))
    if outputs not in ("two", "one label") or STAGES[at].get("output_strategy") != LOW_RANK
]
# A function of the probabilities of the linear model, of which two libraries may differ in the last bits of each number:
# probabilities are at least 1e-6, so that half their log-odds are multiplied by up to 1e6 there.
OF_PROBABILITIES = 1e-9


@pytest.mark.parametrize(("outputs", "init", "features", "at"), BOOSTED)
def test_a_reader_of_json_adds_trees_to_a_linear_model(outputs, init, features, at):
    model, X = boosted(outputs, init, features, at)
    text = to_json(model)
    assert text == to_json(model)
    content = json.loads(text)
    scores = scores_of_json(content, X)
    if content["linear"]["added"] == "scores":
        np.testing.assert_array_equal(scores, model._scores(X))
    np.testing.assert_allclose(scores, model._scores(X), rtol=1e-13, atol=OF_PROBABILITIES)
    expected = columns_of(model.predict_proba(X))
    np.testing.assert_allclose(predictions_of_json(content, scores), expected, rtol=1e-5, atol=OF_PROBABILITIES)


@pytest.mark.parametrize(("outputs", "init", "features", "at"), BOOSTED)
def test_boosting_from_a_linear_model_in_c(outputs, init, features, at, tmp_path):
    c = pytest.importorskip("test_export_c")
    if c.COMPILER is None:
        pytest.skip("no C compiler")
    model, X = boosted(outputs, init, features, at)
    linear = ensemble_of(model, "test").linear
    scores, predict = c.compiled(to_c(model), tmp_path)
    if linear.added == "scores" and linear.features != "tfidf":
        np.testing.assert_array_equal(scores(X), model._scores(X))
    else:
        # As above, log1p may change a feature by 2^-24.
        size = np.abs(model._init.coef_.toarray()).sum(axis=1).max() if linear.features == "tfidf" else 0.0
        np.testing.assert_allclose(scores(X), model._scores(X), rtol=1e-13, atol=2.0**-23 * size + OF_PROBABILITIES)
    np.testing.assert_allclose(predict(X), columns_of(model.predict_proba(X)), rtol=1e-5, atol=OF_PROBABILITIES)


@pytest.mark.parametrize("ml_opset", [3, 5])
@pytest.mark.parametrize(("outputs", "init", "features", "at"), BOOSTED)
def test_boosting_from_a_linear_model_in_onnx(outputs, init, features, at, ml_opset):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X = boosted(outputs, init, features, at)
    session = runtime.InferenceSession(to_onnx(model, ml_opset=ml_opset).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X}), strict=True))
    proba = columns_of([found[name] for name in names if name.startswith("probabilities")])
    # Prepared features are not rounded there, and the sums over trees and the results of version 3 are float32.
    size = np.abs(model._init.coef_.toarray()).sum(axis=1).max()
    bound = 2.0**-24 * size + (1e-6 if ml_opset == 3 else OF_PROBABILITIES)
    np.testing.assert_allclose(proba, columns_of(model.predict_proba(X)), rtol=0, atol=bound)
    assert np.mean(found["predictions"] == model.predict(X).reshape(found["predictions"].shape)) > 0.99


def test_boosting_that_took_no_linear_start_and_stages_of_a_warm_start_are_exported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    plain = boosting(init="auto").fit(X, y)
    assert plain._init is None
    assert "linear" not in json.loads(to_json(plain))
    np.testing.assert_array_equal(scores_of_json(json.loads(to_json(plain)), X), plain._scores(X))
    X, Y = words()
    model = boosting(init="linear", warm_start=True).set_params(n_estimators=3).fit(X, Y)
    for n in (3, 5):
        model.set_params(n_estimators=n).fit(X, Y) if n > 3 else None
        for stage, scores in enumerate(model.staged_decision_function(X), start=1):
            at_stage = scores_of_json(json.loads(to_json(model.truncated(stage))), X.toarray())
            np.testing.assert_array_equal(at_stage * model._unit(), scores)
    loaded = weald.loads(weald.dumps(model))
    assert to_json(loaded) == to_json(model)


@pytest.mark.parametrize("exporter", [to_treelite, to_sklearn])
def test_formats_of_trees_alone_say_why_they_do_not_have_a_linear_start(exporter):
    message = r"starts? from a linear model: it has weights.*trees alone.*use to_json, to_c or to_onnx, or fit it with init=None"
    with pytest.raises(ValueError, match=message):
        exporter(boosted("labels", "linear")[0])


@pytest.mark.parametrize("ml_opset", [3, 5])
def test_names_and_classes_are_in_the_metadata_of_onnx(ml_opset):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")

    def metadata(model):
        session = runtime.InferenceSession(to_onnx(model, ml_opset=ml_opset).SerializeToString())
        return {name: json.loads(text) for name, text in session.get_modelmeta().custom_metadata_map.items()}

    X, y = make_data("RandomForestClassifier")
    y = np.unique(y, return_inverse=True)[1]
    frame = pd.DataFrame(X, columns=[f"größe {j}" for j in range(X.shape[1])])
    forest = make("RandomForestClassifier").fit(frame, np.array(["a", "b", '"c"'])[y])
    expected = {"feature_names": list(frame.columns), "classes": [['"c"', "a", "b"]]}
    assert metadata(forest) == expected
    Y = np.column_stack([y % 2, y])
    several = make("RandomForestClassifier").fit(X, pd.DataFrame(Y, columns=["odd", "all"]))
    assert metadata(several) == {"output_names": ["odd", "all"], "classes": [[0, 1], [0, 1, 2]]}
    words_X, labels = words()
    linear = weald.LinearClassifier(random_state=0).fit(words_X, labels, label_names=list("abcde"))
    assert metadata(linear) == {"output_names": list("abcde")}
    assert metadata(make("RandomForestRegressor").fit(X, X[:, 0])) == {}
    frame["colour"] = pd.Categorical(np.array(["red", "blue"])[y % 2])
    found = metadata(make("RandomForestClassifier").fit(frame, y))
    assert found["categories"] == [*[None] * X.shape[1], ["blue", "red"]]
