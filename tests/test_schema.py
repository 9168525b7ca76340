"""What a column is, `fit` decides once: later samples have columns by name and categories by value.

Each door (a function that takes X) meets each variation of X. It either gives what it gives for an equivalent X in the
form of `fit`, or raises the error of the variation.
"""

from __future__ import annotations

import functools
import pickle
from concurrent.futures import Future

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import model_bytes
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance

SMALL = {"n_estimators": 3, "random_state": 0}
N = 48


def frame(n=N):
    """A number, a text, a category that is a number, and a number with missing values."""
    rng = np.random.default_rng(0)
    x, c, k = rng.normal(size=n), rng.choice(["a", "b", "d"], n), rng.choice([10, 20, 40], n)
    z = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    X = pd.DataFrame({"x": x, "c": c, "k": pd.Categorical(k), "z": z})
    X.loc[::11, "c"] = None
    return X


X = frame()
NUMBER = X["x"] + (X["c"] == "b") * 3.0 + (X["k"] == 20) * 5.0
CLASSES = np.digitize(NUMBER, [0, 4])
LABELS = np.column_stack([NUMBER > 0, X["c"] == "b", X["k"] == 20]).astype(int)


@functools.cache
def model(name):
    """The fitted models, which no test changes."""
    forest = weald.RandomForestClassifier(keep_rows=True, **SMALL)
    models = {
        "tree": lambda: weald.DecisionTreeClassifier(random_state=0).fit(X, CLASSES),
        "forest": lambda: forest.fit(X, CLASSES),
        "labels": lambda: weald.RandomForestClassifier(**SMALL).fit(X, LABELS),
        "numbers": lambda: weald.RandomForestRegressor(keep_rows=True, **SMALL).fit(X, NUMBER),
        "boosting": lambda: weald.GradientBoostingClassifier(**SMALL).fit(X, CLASSES),
        "weak": lambda: weald.GradientBoostingRegressor(
            estimator=weald.DecisionTreeRegressor(max_depth=3), **SMALL
        ).fit(X, NUMBER),
        "compressed": lambda: weald.CompressedForestRegressor(random_state=0, l1_norm=5.0).fit(X, NUMBER),
        "thresholds": lambda: weald.multilabel.TunedThresholds(weald.RandomForestClassifier(**SMALL), cv=2).fit(
            X, LABELS
        ),
        "calibrated": lambda: weald.multilabel.CalibratedLabels(weald.RandomForestClassifier(**SMALL), cv=2).fit(
            X, LABELS
        ),
    }
    return models[name]()


class Inline:
    """An executor that runs tasks at once."""

    def submit(self, function, *args):
        future = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def of_each_row(form):
    """What a Predictor gives for some samples, each as a frame with one row."""
    predictor = weald.Predictor(model("forest"))
    if len(form) == 0:
        predictor.predict_proba(form)
    return np.array([predictor.predict_proba(form.iloc[i : i + 1]) for i in range(min(len(form), 3))])


def warm(estimator, y):
    def door(form):
        grown = clone(estimator).fit(X, y).set_params(warm_start=True, n_estimators=5)
        return model_bytes(grown.fit(form, y[: len(form)]))

    return door


def merged(form):
    forest = weald.RandomForestRegressor(4, random_state=0, oob_score=True)
    parts = [make_part(forest, trees) for trees in (range(2), range(2, 4))]
    return model_bytes(weald.merge(parts, form, NUMBER[: len(form)]))


def make_part(forest, trees, form=X):
    return weald.RandomForestRegressor(**forest.get_params()).fit(form, NUMBER[: len(form)], trees=trees)


def compact(form):
    return weald.compression.compact_leaves(model("numbers"), dtype="float16", X=form)[1]["max_change_on_X"]


# Functions whose results have one entry for each sample.
OF_SAMPLES = {
    "predict": lambda form: model("tree").predict(form),
    "predict_proba": lambda form: model("forest").predict_proba(form),
    "predict_log_proba": lambda form: model("tree").predict_log_proba(form),
    "decision_function": lambda form: model("boosting").decision_function(form),
    "staged_predict": lambda form: np.array(list(model("boosting").staged_predict(form))).T,
    "weak models": lambda form: model("weak").predict(form),
    "predict_topk": lambda form: model("labels").predict_topk(form, 2)[1],
    "predict_quantiles": lambda form: model("numbers").predict_quantiles(form, [0.2, 0.7]),
    "apply": lambda form: model("forest").apply(form),
    "decision_path": lambda form: model("tree").decision_path(form).toarray(),
    "similar_rows": lambda form: weald.inspection.similar_rows(model("numbers"), form).toarray(),
    "shap_values": lambda form: weald.inspection.shap_values(model("boosting"), form).values,
    "compressed": lambda form: model("compressed").predict(form),
    "thresholds": lambda form: model("thresholds").predict(form),
    "calibrated": lambda form: model("calibrated").predict_proba(form),
    "from_json": lambda form: weald.export.from_json(weald.export.to_json(model("forest"))).predict_proba(form),
    "loads": lambda form: weald.loads(weald.dumps(model("forest"))).predict_proba(form),
    "pickle": lambda form: pickle.loads(pickle.dumps(model("boosting"))).predict_proba(form),
    "Predictor": of_each_row,
    "distribute": lambda form: weald.distribute.predict_topk(model("labels"), form, 2, Inline())[1],
}
# Functions of all samples together.
OF_ALL = {
    "score": lambda form: model("tree").score(form, CLASSES[: len(form)]),
    "background": lambda form: weald.inspection.shap_values(model("boosting"), X[:4], background=form).values,
    "interactions": lambda form: weald.inspection.shap_interaction_values(model("numbers"), form[:3]),
    "prune": lambda form: model_bytes(model("tree").prune_reduced_error(form, CLASSES[: len(form)])),
    "refit_leaves": lambda form: model_bytes(model("boosting").refit_leaves(form, CLASSES[: len(form)])),
    "X_val": lambda form: (
        weald.GradientBoostingRegressor(**SMALL).fit(X, NUMBER, X_val=form, y_val=NUMBER[: len(form)]).validation_score_
    ),
    "eval_sets": lambda form: (
        weald.GradientBoostingRegressor(**SMALL).fit(X, NUMBER, eval_sets=[(form, NUMBER[: len(form)])]).eval_results_
    ),
    "warm forest": warm(weald.RandomForestRegressor(**SMALL), NUMBER),
    "warm boosting": warm(weald.GradientBoostingClassifier(**SMALL), CLASSES),
    "update": lambda form: model_bytes(
        weald.RandomForestRegressor(**SMALL).fit(X, NUMBER).update(form, NUMBER[: len(form)], retire=1)
    ),
    "compression of a frozen forest": lambda form: model_bytes(
        weald.CompressedForestRegressor(FrozenEstimator(model("numbers")), l1_norm=5.0, random_state=0).fit(
            form, NUMBER[: len(form)]
        )
    ),
    "compact_leaves": compact,
    "permutation_importance": lambda form: (
        permutation_importance(model("tree"), form, CLASSES[: len(form)], n_repeats=2, random_state=0).importances
    ),
}
DOORS = OF_SAMPLES | OF_ALL


def put(X, **columns):
    """X with other columns."""
    return X.assign(**columns)


def in_polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({name: [None if pd.isna(v) else v for v in X[name].tolist()] for name in X})


def in_arrow(X):
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: [None if pd.isna(v) else v for v in X[name].tolist()] for name in X})


NOTHING = {"c": pd.Series([None] * N, dtype=object)}
OTHER = pd.CategoricalDtype(["d", "z", "b", "a"])
# Variations of X, and the form of `fit` that they are equivalent to.
RIGHT = {
    "category of another order": (lambda X: put(X, c=X["c"].astype(OTHER)), lambda X: X),
    "objects": (lambda X: put(X, c=X["c"].astype(object), x=X["x"].astype(object)), lambda X: X),
    "string": (lambda X: put(X, c=X["c"].astype("string"), x=X["x"].astype("Float64")), lambda X: X),
    "numbers as int64": (lambda X: put(X, k=X["k"].astype("int64")), lambda X: X),
    "numbers as Int64": (lambda X: put(X, k=X["k"].astype("Int64")), lambda X: X),
    "numbers as float32": (lambda X: put(X, k=X["k"].astype("float32")), lambda X: X),
    "category of floats": (lambda X: put(X, k=X["k"].astype(float).astype("category")), lambda X: X),
    "unknown text": (lambda X: put(X, c="q"), lambda X: put(X, c=NOTHING["c"])),
    "unknown number": (lambda X: put(X, k=30), lambda X: put(X, k=np.nan)),
    "text is missing": (lambda X: put(X, c=np.nan), lambda X: put(X, c=NOTHING["c"])),
    "text is missing in a category": (lambda X: put(X, c=pd.Categorical([None] * len(X))), lambda X: put(X, c=None)),
    "text is missing in a str": (lambda X: put(X, c=pd.Series([None] * len(X), dtype="str")), lambda X: put(X, c=None)),
    "number is missing": (lambda X: put(X, k=None), lambda X: put(X, k=np.nan)),
    "number of objects": (
        lambda X: put(X, x=[None, pd.NA, *X["x"][2:]]),
        lambda X: put(X, x=[np.nan] * 2 + [*X["x"][2:]]),
    ),
}
WRONG = {
    "reordered": (lambda X: X[["c", "x", "z", "k"]], "must be in the same order as they were in fit"),
    "renamed": (lambda X: X.rename(columns={"z": "t"}), "Feature names unseen at fit time:\n- t"),
    "a column is missing": (lambda X: X.drop(columns="z"), "seen at fit time, yet now missing:\n- z"),
    "a column more": (lambda X: put(X, t=1.0), "Feature names unseen at fit time:\n- t"),
    "a column twice": (lambda X: X[["x", "c", "k", "k"]], "X must have distinct column names, got 'k' for two columns"),
    "text as number": (lambda X: put(X, c=1.0), "X must have values like .'a'. in feature 'c'.*got the number 1.0"),
    "text as truth": (lambda X: put(X, c=True), "in feature 'c'.*got the number True"),
    "number as text": (
        lambda X: put(X, k=X["k"].astype(str)),
        "X must have values like .10. in feature 'k'.*got the value '.0'",
    ),
    "number as category of text": (
        lambda X: put(X, k=X["k"].astype(str).astype("category")),
        "feature 'k'.*got the value '.0'",
    ),
    "text for a number": (lambda X: put(X, x="a"), "X must have numbers in feature 'x',.*got "),
    "dates": (
        lambda X: put(X, x=pd.Timestamp("2020-01-01")),
        "feature 'x',.* got a column of dtype datetime64.*convert it to",
    ),
    "no sample": (lambda X: X[:0], r"0 sample|must be a single sample, got shape \(0, 4\)"),
}
# One of these containers is used in turn.
CONTAINERS = {"polars": in_polars, "pyarrow": in_arrow}
# scikit-learn's function does not support these containers.
ONLY_PANDAS = {"permutation_importance", "Predictor"}


def same(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, bytes):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("door", DOORS)
def test_columns_are_what_they_were_in_fit(door):
    call = DOORS[door]
    for number, (what, (vary, equivalent)) in enumerate(RIGHT.items()):
        expected = call(equivalent(X))
        try:
            same(call(vary(X)), expected)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error
        if door not in ONLY_PANDAS and number % 4 == 0:
            numbers = vary(X).astype({"k": float})
            for in_container in CONTAINERS.values():
                same(call(in_container(numbers)), expected)
    if door in OF_SAMPLES:
        same(call(X[:1]), call(X)[:1])
        same(call(put(X, c=None)[:1]), call(put(X, c=None))[:1])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("door", [door for door in DOORS if door not in ONLY_PANDAS])
def test_arrays_and_lists_have_the_values_of_frames(door):
    objects = X.to_numpy(dtype=object)
    for form in (objects, objects.tolist()):
        same(DOORS[door](form), DOORS[door](X))


@pytest.mark.parametrize("door", DOORS)
def test_other_columns_are_refused_by_name(door):
    call = DOORS[door]
    for vary, message in WRONG.values():
        with pytest.raises(ValueError, match=f"(?s){message}"):
            call(vary(X))
