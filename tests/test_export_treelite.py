"""Models converted to treelite: run by GTIL, and compiled where tl2cgen is installed."""

from __future__ import annotations

import shutil

import exports
import numpy as np
import pytest
from conftest import make, make_data
from exports import CASES, N_RANDOM, columns_of, fitted, random_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from test_export_json import any_model
from weald.export import _treelite, to_treelite

treelite = pytest.importorskip("treelite")

# Links that treelite does not have.
NOT_THERE = ("share", "one_against_rest")


def rows(X):
    """X as treelite expects it: float32 values as float64."""
    return np.ascontiguousarray(np.asarray(X, dtype=np.float32), dtype=np.float64)


def as_columns(model, found, n_samples):
    """The predictions of treelite, with the outputs side by side."""
    if getattr(model, "_label_format", 1) is None and model.n_outputs_ > 1:
        return np.hstack([found[:, output, :n] for output, n in enumerate(model.n_classes_)])
    return found.reshape(n_samples, -1)


def gtil(model, X):
    # Several threads would wait for each other where processors are busy.
    return treelite.gtil.predict(model, X, nthread=1)


def check_same(model, X, run=gtil):
    # The sums are in another order, and terms are divided before they are added.
    unit = 2 * (model._forest.n_trees + 2) * 2.0**-53
    found = as_columns(model, run(to_treelite(model, raw_scores=True), rows(X)), len(X))
    exports.check_same(model, X, scores=found, unit=unit)
    link = exports.link_of(model)
    if link in NOT_THERE:
        with pytest.raises(ValueError, match=r"to_treelite does not support the predictions .*raw_scores=True"):
            to_treelite(model)
        return "same; refused: link"
    if link == "log" and exports.score_size(model).max() > 709.78:
        with pytest.raises(ValueError, match="to_treelite does not support exponentials of scores"):
            to_treelite(model)
        return "same; refused: link"
    found = as_columns(model, run(to_treelite(model), rows(X)), len(X))
    if link == "logistic" and columns_of(model, X).shape[1] == 2 != found.shape[1]:
        # If two classes share one score, treelite only returns the column of the second class.
        found = np.hstack([1.0 - found, found])
    # treelite computes the softmax in float32.
    exports.check_same(model, X, columns=found, unit=unit, eps=2.0**-23 if link == "softmax" else 2.0**-52)
    return "same"


@pytest.mark.parametrize("case", CASES)
def test_predictions_are_the_same_to_the_bound(case):
    check_same(*fitted(case))


@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random_models(seed):
    check_same(*random_model(seed))


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_any_forest(data):
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "GradientBoostingClassifier"]))
    seed, has_categories = data.draw(st.integers(0, 2**31)), data.draw(st.booleans())
    check_same(*any_model(name, outputs, seed, has_categories, data.draw(st.integers(2, 40))))


def test_wide_labels_are_not_written_in_full():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)).astype(np.float32)
    Y = sparse.random_array((200, 5000), density=0.001, random_state=rng, format="csr")
    Y.data[:] = 1
    model = make("RandomForestClassifier", n_estimators=3).fit(X, Y)
    n_leaves = sum(model._forest.tree(t).n_leaves for t in range(3))
    n_bytes = len(to_treelite(model).serialize_bytes())
    assert n_bytes < n_leaves * 5000 * 8 / 2
    check_same(model, X)


def test_forests_without_any_label():
    X, _ = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, sparse.csr_array((len(X), 9), dtype=np.int64))
    check_same(model, X)


@pytest.mark.parametrize(
    "case", ["RandomForestRegressor-several-missing", "GradientBoostingClassifier-labels-missing-joint"]
)
def test_compiled(case, tmp_path):
    tl2cgen = pytest.importorskip("tl2cgen")
    if shutil.which("gcc") is None:
        pytest.skip("no compiler")
    model, X = fitted(case)

    def run(theirs, X):
        library = tmp_path / "model.so"
        tl2cgen.export_lib(theirs, toolchain="gcc", libpath=library, params={})
        return tl2cgen.Predictor(str(library)).predict(tl2cgen.DMatrix(X, dtype="float64"))

    check_same(model, X, run)


def test_exponentials_that_treelite_does_not_limit_are_refused(monkeypatch):
    X, y = np.arange(60.0).reshape(-1, 1), np.exp(np.arange(60) % 7 * 110 - 330.0)
    model = make("GradientBoostingRegressor", loss="gamma", learning_rate=1.0).fit(X, y)
    assert 320 < exports.score_size(model).max() < 709
    check_same(model, X)
    # Scores that exceed the logarithm of the largest float64 come from fits that diverge.
    monkeypatch.setattr(_treelite, "LARGEST_LOG", 320.0)
    with pytest.raises(ValueError, match=r"to_treelite .* may exceed 320.0, got scores up to 3.*raw_scores=True"):
        to_treelite(model)
    found = gtil(to_treelite(model, raw_scores=True), rows(X))
    exports.check_same(model, X, scores=found.reshape(60, 1), unit=2.0**-48)


def test_raw_scores_is_yes_or_no():
    with pytest.raises(TypeError, match="raw_scores must be True or False, got 1"):
        to_treelite(fitted("DecisionTreeRegressor-single-missing")[0], raw_scores=1)
