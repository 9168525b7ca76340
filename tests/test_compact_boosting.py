"""Boosted models with smaller leaves: their predictions, the reports, files, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from conftest import model_bytes
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import Ridge
from weald.compression import compact_leaves

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (200, 5)).astype(np.float32)
Y = (X @ RNG.normal(size=(5, 30)) + RNG.normal(size=(200, 30)) > 3).astype(np.int8)
NUMBERS = X @ RNG.normal(size=(5, 30))

MODELS = {
    "labels": lambda **p: weald.GradientBoostingClassifier(**p).fit(X, sparse.csr_array(Y)),
    "classes": lambda **p: weald.GradientBoostingClassifier(**p).fit(X, X[:, 0].astype(int)),
    "two classes": lambda **p: weald.GradientBoostingClassifier(**p).fit(X, Y[:, 0]),
    "numbers": lambda **p: weald.GradientBoostingRegressor(**p).fit(X, NUMBERS),
    "counts": lambda **p: weald.GradientBoostingRegressor(loss="poisson", **p).fit(X, Y[:, :3]),
}


def scores(model):
    """Scores in the unit of `max_change`."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    predictions = model.predict(X)
    return np.log(predictions) if model.loss == "poisson" else predictions


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected"])
@pytest.mark.parametrize("params", [{"dtype": "float32"}, {"dtype": "float16"}, {"dtype": "int8"}, {"max_change": 0.5}])
def test_scores_change_by_no_more_than_the_report_says(kind, strategy, params):
    model = MODELS[kind](n_estimators=20, output_strategy=strategy, random_state=0)
    before = scores(model)
    small, report = compact_leaves(model, **params, X=X)
    change = np.abs(scores(small) - before).max()
    # The tolerance is for rounded logarithms and sums of float64.
    assert change <= report["max_change"] + 1e-9
    assert abs(change - report["max_change_on_X"]) <= 1e-9
    assert report["max_change"] <= params.get("max_change", np.inf) + 1e-12
    assert (report["n_bytes_before"], report["n_bytes_after"]) == (
        len(model._model.to_bytes()),
        len(small._model.to_bytes()),
    )
    assert_array_equal(scores(model), before)
    # A table with one column stores a scale for each of its values, and leaving out small values may save too little:
    # only narrower types in wider tables must make the model smaller.
    if "dtype" in params and strategy != "single_target" and kind != "two classes":
        assert report["n_bytes_after"] < report["n_bytes_before"]


def test_bytes_of_wide_models():
    model = MODELS["labels"](n_estimators=30, random_state=0)
    sizes = [
        len(compact_leaves(model, dtype=dtype)[0]._model.to_bytes()) for dtype in (None, "float32", "float16", "int8")
    ]
    assert_array_equal(np.diff(sizes) < 0, True)
    assert sizes[3] < sizes[0] / 4


def test_layouts_threads_files_and_stages(tmp_path):
    model = MODELS["labels"](n_estimators=20, random_state=0)
    small, _ = compact_leaves(model, dtype="int8")
    expected = small.predict_proba(X)
    for layout in (sparse.csr_array, sparse.csc_array, np.asfortranarray):
        assert_array_equal(small.predict_proba(layout(X)), expected)
    assert_array_equal(small.set_params(n_jobs=2).predict_proba(X), expected)
    weald.save(small, tmp_path / "model")
    loaded = weald.load(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(X), expected)
    assert model_bytes(loaded) == model_bytes(small)
    assert_array_equal(list(small.staged_predict_proba(X))[-1], expected)
    indices, best = small.predict_topk(X, 3, scores="margin")
    assert_array_equal(np.take_along_axis(small.decision_function(X), indices, axis=1), best)
    assert small.truncated(5).n_estimators_ == 5


def test_training_goes_on_from_smaller_leaves():
    model = MODELS["numbers"](n_estimators=10, random_state=0)
    small, _ = compact_leaves(model, dtype="int8")
    start = small.predict(X)
    small.set_params(warm_start=True, n_estimators=20).fit(X, NUMBERS)
    assert_array_equal(small.predict(X, n_stages=10), start)
    assert ((small.predict(X) - NUMBERS) ** 2).mean() < ((start - NUMBERS) ** 2).mean()


def test_regressors_have_eight_bits_too():
    forest = weald.RandomForestRegressor(5, random_state=0).fit(X, NUMBERS)
    small, report = compact_leaves(forest, dtype="int8", X=X)
    assert report["n_bytes_after"] < report["n_bytes_before"] / 2
    assert np.abs(small.predict(X) - forest.predict(X)).max() <= report["max_change"]
    path = weald.CompressedForestRegressor(forest, cv=None, l1_norm=5.0).fit(X, NUMBERS)
    assert compact_leaves(path, dtype="int8")[1]["n_bytes_after"] <= compact_leaves(path)[1]["n_bytes_after"]


@pytest.mark.parametrize(
    ("make", "params", "error", "message"),
    [
        (MODELS["labels"], {"top_k": 3}, ValueError, "top_k is not supported for boosted models"),
        (MODELS["labels"], {"training_data": (X, Y)}, ValueError, "training_data is not supported for boosted models"),
        (MODELS["labels"], {"max_change": -1}, ValueError, "max_change must be .*got -1"),
        (MODELS["labels"], {"max_change": np.nan}, ValueError, "max_change must be .*got nan"),
        (MODELS["labels"], {"max_change": "all"}, ValueError, "max_change must be .*got 'all'"),
        (MODELS["labels"], {"dtype": "int4"}, ValueError, "dtype must be .*got 'int4'"),
        (
            lambda **p: weald.RandomForestClassifier(**p).fit(X, Y),
            {"dtype": "int8"},
            ValueError,
            "dtype must be 'float16' or 'float32' for labels and classes, got 'int8'",
        ),
        (
            lambda **p: weald.RandomForestRegressor(**p).fit(X, NUMBERS),
            {"max_change": 1},
            ValueError,
            "max_change is only supported for boosted models",
        ),
        (
            lambda **p: weald.GradientBoostingRegressor(estimator=Ridge(), **p).fit(X, NUMBERS),
            {"dtype": "int8"},
            TypeError,
            "with estimator=, which has none",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(make, params, error, message):
    with pytest.raises(error, match=message):
        compact_leaves(make(n_estimators=3, random_state=0), **params)
