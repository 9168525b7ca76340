"""What a column is, `fit` decides once: later samples have columns by name and categories by value.

Each door (a function that takes X) meets each variation of X. It either gives what it gives for an equivalent X in the
form of `fit`, or raises the error of the variation.
"""

from __future__ import annotations

import collections
import decimal
import functools
import pickle
import re
from concurrent.futures import Future

import numpy as np
import pandas as pd
import pytest
import sklearn.inspection
import weald
from conftest import check_refused, model_bytes
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline

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
        "mean": lambda: weald.VotingClassifier(
            [("a", weald.RandomForestClassifier(**SMALL)), ("b", weald.GradientBoostingClassifier(**SMALL))]
        ).fit(X, LABELS),
        "compressed": lambda: weald.CompressedForestRegressor(random_state=0, l1_norm=5.0).fit(X, NUMBER),
        "thresholds": lambda: weald.multilabel.TunedThresholds(weald.RandomForestClassifier(**SMALL), cv=2).fit(
            X, LABELS
        ),
        "hierarchy": lambda: weald.multilabel.HierarchicalLabels(weald.RandomForestClassifier(**SMALL)).fit(X, LABELS),
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
    "predict_topk": lambda form: model("labels").predict_topk(form, 2)[1],
    "predict_quantiles": lambda form: model("numbers").predict_quantiles(form, [0.2, 0.7]),
    "apply": lambda form: model("forest").apply(form),
    "decision_path": lambda form: model("tree").decision_path(form).toarray(),
    "similar_rows": lambda form: weald.inspection.similar_rows(model("numbers"), form).toarray(),
    "shap_values": lambda form: weald.inspection.shap_values(model("boosting"), form).values,
    "compressed": lambda form: model("compressed").predict(form),
    "thresholds": lambda form: model("thresholds").predict(form),
    "hierarchy": lambda form: model("hierarchy").predict_proba(form),
    "calibrated": lambda form: model("calibrated").predict_proba(form),
    "mean": lambda form: model("mean").predict_proba(form),
    "loads": lambda form: weald.loads(weald.dumps(model("forest"))).predict_proba(form),
    "pickle": lambda form: pickle.loads(pickle.dumps(model("boosting"))).predict_proba(form),
    "Predictor": of_each_row,
    "distribute": lambda form: weald.distribute.predict(model("labels"), form, Inline(), method="predict_topk", k=2)[1],
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
    "a column twice": (lambda X: X[["x", "c", "k", "k"]], "must have distinct column names, got 'k' for two columns"),
    "text as number": (lambda X: put(X, c=1.0), "{X} must have values like .'a'. in feature 'c'.*got the number 1.0"),
    "text as truth": (lambda X: put(X, c=True), "in feature 'c'.*got the number True"),
    "number as text": (
        lambda X: put(X, k=X["k"].astype(str)),
        "{X} must have values like .10. in feature 'k'.*got the value '.0'",
    ),
    "number as category of text": (
        lambda X: put(X, k=X["k"].astype(str).astype("category")),
        "feature 'k'.*got the value '.0'",
    ),
    "text for a number": (lambda X: put(X, x="a"), "{X} must have numbers in feature 'x',.*got "),
    "dates": (
        lambda X: put(X, x=pd.Timestamp("2020-01-01")),
        "feature 'x',.* got a column of dtype datetime64.*convert it to",
    ),
    "no sample": (lambda X: X[:0], r"0 sample|must be a single sample, got shape \(0, 4\)"),
}
# One of these containers is used in turn.
CONTAINERS = {"polars": in_polars, "pyarrow": in_arrow}
# The doors whose argument has another name than X, which all their errors have.
NAMES = {
    "background": "background",
    "prune": "X_val",
    "X_val": "X_val",
    "eval_sets": "eval_sets[0]: X",
    "Predictor": "sample",
}
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
    name = NAMES.get(door, "X")
    for what, (vary, message) in WRONG.items():
        with pytest.raises(ValueError, match=f"(?s){message.replace('{X}', re.escape(name))}") as found:
            call(vary(X))
        assert name == "X" or name.removesuffix(": X") in str(found.value), what


# What fit decides


EMPTY = {
    "object": lambda n: pd.Series([None] * n, dtype=object),
    "str": lambda n: pd.Series([None] * n, dtype="str"),
    "string": lambda n: pd.Series([None] * n, dtype="string"),
    "category": lambda n: pd.Series([None] * n, dtype="category"),
}


@pytest.mark.parametrize("library", [None, *CONTAINERS])
@pytest.mark.parametrize("dtype", EMPTY)
def test_a_column_without_values_in_fit_says_nothing_about_its_values(dtype, library):
    convert = CONTAINERS.get(library, lambda X: X)
    Z = put(X[["x"]], c=EMPTY[dtype](N))
    tree = weald.DecisionTreeRegressor(random_state=0).fit(convert(Z), NUMBER)
    assert tree.is_categorical_.tolist() == [False, True]
    for value in ("a", 1.5, None, True):
        np.testing.assert_array_equal(tree.predict(convert(put(Z, c=value))), tree.predict(convert(Z)))
    forest = weald.RandomForestRegressor(warm_start=True, **SMALL).fit(Z, NUMBER)
    same_again = clone(forest).fit(Z, NUMBER).set_params(n_estimators=5).fit(Z, NUMBER)
    assert model_bytes(forest.set_params(n_estimators=5).fit(put(Z, c="a"), NUMBER)) == model_bytes(same_again)


@pytest.mark.parametrize("wrap", [list, pd.Categorical])
@pytest.mark.parametrize("values", [[1, "1"], [True, "True"], ["a", 2.5]])
def test_texts_and_numbers_in_one_column_are_refused(values, wrap):
    column = wrap(pd.Series(values * 4, dtype=object))
    message = "X must have either texts or numbers as categories in feature 'c', got '.*' and .*: convert the column"
    model = weald.DecisionTreeRegressor()
    check_refused(model.fit(X, NUMBER), ValueError, message, pd.DataFrame({"c": column}), np.arange(8.0))


@pytest.mark.parametrize("kind", [bool, int, float])
def test_numbers_are_categories_by_value_whatever_their_type(kind):
    values = np.array([0, 1] * 6).astype(kind)
    y = np.arange(12.0) % 2
    tree = weald.DecisionTreeRegressor().fit(pd.DataFrame({"c": pd.Categorical(values)}), y)
    assert type(tree.categories_[0].tolist()[0]) is kind
    for dtype in (bool, int, float, "float32", "boolean", "Int8", object, "category"):
        np.testing.assert_array_equal(tree.predict(pd.DataFrame({"c": values.astype(bool)}).astype(dtype)), y)
    with pytest.raises(ValueError, match=r"got the value '1'|got the value 'True'"):
        tree.predict(pd.DataFrame({"c": ["1" if kind is not bool else "True"]}))


def test_float32_has_the_categories_of_float64():
    tree = weald.DecisionTreeRegressor().fit(pd.DataFrame({"c": pd.Categorical([0.1, 0.7] * 6)}), [0.0, 1.0] * 6)
    for form in (pd.DataFrame({"c": np.float32([0.1, 0.7])}), pd.DataFrame({"c": [0.1, 0.7]}).astype("Float32")):
        np.testing.assert_array_equal(tree.predict(form), [0, 1])
    assert weald.Predictor(tree).predict(np.float32([0.7])) == 1
    near = pd.DataFrame({"c": pd.Categorical([0.1, 0.1 + 1e-12] * 6)})
    tree = weald.DecisionTreeRegressor().fit(near, [0.0, 1.0] * 6)
    np.testing.assert_array_equal(tree.predict(near[:2]), [0, 1])
    with pytest.raises(ValueError, match=r"X must be float64 in feature 'c'.*float32 does not distinguish"):
        tree.predict(pd.DataFrame({"c": np.float32([0.1])}))


def test_intervals_are_known_by_their_text():
    cut = pd.cut(X["x"], 3)
    tree = weald.DecisionTreeRegressor().fit(pd.DataFrame({"c": cut}), cut.cat.codes.astype(float))
    for form in (cut, cut.astype(str), cut.cat.set_categories(cut.cat.categories[::-1])):
        np.testing.assert_array_equal(tree.predict(pd.DataFrame({"c": form})), cut.cat.codes)


def test_missing_values_of_a_category_of_numbers_are_missing_in_numbers():
    column = pd.Categorical([10, None] * 6)
    tree = weald.DecisionTreeRegressor(categorical_features=None)
    one, two = (clone(tree).fit(pd.DataFrame({"k": k}), [0.0, 1.0] * 6) for k in (column, [10, np.nan] * 6))
    assert model_bytes(one) == model_bytes(two)
    np.testing.assert_array_equal(two.predict(pd.DataFrame({"k": column})), [0, 1] * 6)


@pytest.mark.parametrize("labels", [[0, 1, 2], [2, 1, 0], [10, 20, 30], [("a", 1), ("a", 2), ("b", 1)]])
def test_labels_that_are_not_strings_keep_their_order(labels):
    Z = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)))
    Z.columns = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels
    forest = weald.RandomForestRegressor(**SMALL).fit(Z, Z.iloc[:, 0])
    for model in (forest, weald.loads(weald.dumps(forest))):
        np.testing.assert_array_equal(model.predict(Z), model.predict(Z.to_numpy()))
        np.testing.assert_array_equal(model.predict(Z.set_axis([7, 8, 9], axis=1)), model.predict(Z))
        with pytest.raises(ValueError, match=r"X must have its columns in the same order as in fit, .*, got "):
            model.predict(Z.iloc[:, ::-1])
    forest.set_params(warm_start=True, n_estimators=4)
    check_refused(forest, ValueError, "X must have its columns in the same order", Z.iloc[:, ::-1], Z.iloc[:, 0])


@pytest.mark.filterwarnings("ignore:X and y have the same index in another order")
def test_columns_are_read_by_position_and_not_by_index():
    Z = put(X, k=X["k"].cat.rename_categories([2**60, 2**60 + 256, 2**60 + 512]))
    Z.loc[::5, "k"] = None
    for labels in (["x", "c", "k", "z"], [3, 1, 4, 2], [("a", 1), ("a", 2), ("b", 1), ("b", 2)]):
        plain = Z.set_axis(
            pd.Index(labels) if isinstance(labels[0], str | int) else pd.MultiIndex.from_tuples(labels), axis=1
        )
        forest = weald.RandomForestRegressor(**SMALL).fit(plain, NUMBER)
        assert forest.categories_[2].tolist() == [2**60, 2**60 + 256, 2**60 + 512]
        for index in (np.arange(N)[::-1], np.zeros(N), list("ab") * (N // 2), pd.date_range("2020", periods=N)):
            moved = plain.set_axis(index, axis=0)
            assert model_bytes(weald.RandomForestRegressor(**SMALL).fit(moved, NUMBER)) == model_bytes(forest)
            np.testing.assert_array_equal(forest.predict(moved), forest.predict(plain))


@pytest.mark.parametrize("library", [None, *CONTAINERS])
def test_dtypes_that_are_numbers_texts_or_nothing(library):
    """Decimal numbers are numbers, columns of nothing are categories without values."""
    convert = CONTAINERS.get(library, lambda X: X)
    exact = put(X[["x"]], c=[decimal.Decimal(int(k)) / 2 for k in X["k"]])
    tree = weald.DecisionTreeRegressor(random_state=0).fit(convert(exact), NUMBER)
    assert not hasattr(tree, "categories_")
    plain = weald.DecisionTreeRegressor(random_state=0).fit(exact.astype(float), NUMBER)
    assert model_bytes(tree) == model_bytes(plain)
    nothing = convert(put(X[["x"]], c=None))
    assert weald.DecisionTreeRegressor().fit(nothing, NUMBER).categories_[1].tolist() == [""]


def test_a_fit_that_goes_on_has_the_same_categorical_features():
    numbers = put(X, c=1.0, k=1.0)
    for estimator in (weald.RandomForestRegressor(**SMALL), weald.GradientBoostingRegressor(**SMALL)):
        grown = clone(estimator).set_params(warm_start=True).fit(numbers, NUMBER).set_params(n_estimators=4)
        message = "X must have numbers in feature '.', as in the previous fit, got a column of dtype (str|category)"
        check_refused(grown, ValueError, message, X, NUMBER)
        check_refused(grown, ValueError, message, put(numbers, k=pd.Categorical([1.0] * N)), NUMBER)
        grown.set_params(categorical_features=["k"])
        message = r"categorical_features must be the features of the previous fit, \[\], got \[2\]"
        check_refused(grown, ValueError, message, numbers, NUMBER)
    forest = weald.RandomForestRegressor(4, random_state=0)
    one, two = (pd.DataFrame({"c": list(names) * 8}) for names in ("ab", "xy"))
    y = np.arange(16.0) % 2
    parts = [clone(forest).fit(Z, y, trees=trees) for Z, trees in ((one, range(2)), (two, range(2, 4)))]
    parts_alike = [clone(forest).fit(one, y, trees=trees) for trees in (range(2), range(2, 4))]
    np.testing.assert_array_equal(weald.merge(parts_alike).predict(one), forest.fit(one, y).predict(one))
    with pytest.raises(ValueError, match="parts must be fitted to the same X, but differ in the categories"):
        weald.merge(parts)


WHEN = pd.date_range("2020-01-01", periods=N)
# Columns that are not numbers, and whether the message is that of dates.
NO_NUMBERS = {
    "datetime": (WHEN, True),
    "with a time zone": (WHEN.tz_localize("UTC"), True),
    "timedelta": (WHEN - WHEN[0], True),
    "period": (WHEN.to_period("D"), True),
    "date objects": (WHEN.date, True),
    "complex": (np.full(N, 1j), False),
    "interval": (pd.interval_range(0, N), False),
    "lists": ([[1, 2]] * N, False),
    "arrays": ([np.zeros(2)] * N, False),
    "tuples of lists": ([(1, [2])] * N, False),
    "dicts": ([{}] * N, False),
    "bytes": ([b"1"] * N, False),
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_columns_that_are_no_numbers_are_named(what):
    column, is_date = NO_NUMBERS[what]
    message = "X must have numbers in feature 'when', got .*a column of dtype .*: convert it to numbers first, "
    message += "such as the year" if is_date else "pass categories as"
    for Z in (X[["x"]], X):
        bad = Z.assign(when=pd.Series(column))
        for estimator in (
            weald.DecisionTreeRegressor(),
            weald.GradientBoostingRegressor(**SMALL),
            weald.CompressedForestRegressor(l1_norm=1.0),
        ):
            with pytest.raises(ValueError, match=message):
                estimator.fit(bad, NUMBER)
    forest = weald.CentroidForestRegressor(2, random_state=0)
    for call in (forest.fit, forest.fit(X[["x"]].assign(when=0.0), NUMBER).score):
        with pytest.raises(ValueError, match=message):
            call(X[["x"]].assign(when=pd.Series(column)), NUMBER)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_other_libraries_that_are_no_numbers_are_named(library):
    pl = pytest.importorskip("polars")
    pytest.importorskip(library)
    rows = [WHEN[0].to_pydatetime(), WHEN[0].date(), WHEN[0].time(), WHEN[1] - WHEN[0], [1, 2], {"a": 1}, b"1"]
    for value in rows:
        table = pl.DataFrame({"x": NUMBER.to_numpy(), "when": [value] * N})
        Z = table.to_arrow() if library == "pyarrow" else table
        with pytest.raises(ValueError, match="X must have numbers in feature 'when', got a column of dtype "):
            weald.DecisionTreeRegressor().fit(Z, NUMBER)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0, WHEN[0]]] * N, "feature 1, got Timestamp"),
        ([[1.0, [1, 2]]] * N, r"feature 1, got \[1, 2\] of type list"),
        (np.array([[1.0, {}]] * N, dtype=object), "feature 1, got {} of type dict"),
        (np.array([["1", "b"]] * N), "feature 1, got 'b' of type str"),
        (WHEN.to_numpy().reshape(-1, 1), "numbers, got values of dtype datetime64"),
        ([[WHEN.to_numpy()[0]]] * N, "numbers, got values of dtype datetime64"),
    ],
)
def test_values_of_arrays_and_lists_that_are_no_numbers_are_named(bad, message):
    tree = weald.DecisionTreeRegressor()
    with pytest.raises((ValueError, TypeError), match=f"X must have .*{message}"):
        tree.fit(bad, NUMBER)


# One sample with names


def test_samples_with_names_are_read_by_name():
    predictor = weald.Predictor(model("forest"))
    expected = model("forest").predict_proba(X)
    for i in range(1, 6):
        row = X.iloc[i].to_dict()
        backwards = dict(reversed(row.items()))
        named = collections.namedtuple("Sample", backwards)(**backwards)
        record = np.array([tuple(backwards.values())], dtype=[(name, object) for name in backwards])
        polars_row = in_polars(X[i : i + 1])
        samples = [row, backwards, named, record, record[0], pd.Series(backwards), list(row.values()), (*row.values(),)]
        samples += [X[i : i + 1], polars_row, polars_row.row(0, named=True), np.array([*row.values()], dtype=object)]
        for sample in samples:
            np.testing.assert_array_equal(predictor.predict_proba(sample), expected[i])
    missing = dict.fromkeys(X)
    np.testing.assert_array_equal(
        predictor.predict_proba(missing), model("forest").predict_proba(put(X, **missing)[:1].astype({"x": float}))[0]
    )
    numbers = X[["x", "z"]]
    forest = weald.RandomForestRegressor(**SMALL).fit(numbers, NUMBER)
    predictor, expected = weald.Predictor(forest), forest.predict(numbers)
    for i, sample in enumerate(numbers[["z", "x"]].itertuples(index=False)):
        assert predictor.predict(sample) == predictor.predict(pd.Series(sample._asdict())) == expected[i]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": 1}, "sample must have values like .* in feature 'c'.*got the number 1"),
        ({"c": ["a"]}, "sample must have values like .* in feature 'c'.*got a list"),
        ({"c": ("a", [1])}, "sample must have values like .* in feature 'c'.*got a tuple"),
        ({"k": "10"}, "sample must have values like .* in feature 'k'.*got the value '10'"),
        ({"x": WHEN[0]}, "sample must have numbers in feature 'x', got Timestamp"),
        ({"x": np.inf}, "sample must have finite values"),
        ({"t": 1.0}, "names of features of the model as keys, got 't'"),
    ],
)
def test_values_of_samples_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        weald.Predictor(model("forest")).predict(X.iloc[1].to_dict() | change)


# Partial dependence


@pytest.mark.parametrize("features", [["c"], ["k"], ["c", "k"]])
def test_partial_dependence_of_categories_is_that_of_their_values(features):
    """On all combinations of categories, recursion and brute force are the same mean."""
    Z = pd.DataFrame([(c, k) for c in "abd" for k in (10, 20, 40)] * 2, columns=["c", "k"])
    y = (Z["c"] == "b") * 3.0 + (Z["k"] == 20) * 5.0 + (Z["k"] == 40) * (Z["c"] == "d")
    for kind in ("category", object):
        Z["k"] = Z["k"].astype("category" if kind == "category" else str)
        forest = weald.RandomForestRegressor(3, bootstrap=False, random_state=0).fit(Z, y)
        options = {"kind": "average", "categorical_features": ["c", "k"]}
        brute = sklearn.inspection.partial_dependence(forest, Z, features, method="brute", **options)["average"]
        recursion = sklearn.inspection.partial_dependence(forest, Z, features, method="recursion", **options)
        # The two are sums of the same terms in another order.
        np.testing.assert_allclose(recursion["average"], brute, atol=1e-12)
        for form in (Z, in_polars(Z)):
            found = weald.inspection.partial_dependence(forest, form, features)["average"]
            np.testing.assert_allclose(found, brute, atol=1e-12)
        with pytest.raises(ValueError, match="in the same order as they were in fit"):
            weald.inspection.partial_dependence(forest, Z[["k", "c"]], features)


def test_partial_dependence_between_categories_is_refused():
    Z = pd.DataFrame({"k": pd.Categorical([1.5, 2.5, 9.0] * 8), "x": np.arange(24.0)})
    forest = weald.RandomForestRegressor(**SMALL).fit(Z, Z["x"])
    with pytest.raises(ValueError, match=r"the grid must have categories of feature 'k', got .*categorical_features"):
        sklearn.inspection.partial_dependence(forest, Z.astype({"k": float}), ["k"], grid_resolution=3)
    found = weald.inspection.partial_dependence(forest, Z, ["k"])
    assert found["grid_values"][0].tolist() == [1.5, 2.5, 9.0]


def test_a_frozen_init_with_categories_by_value_is_refused():
    """`init` receives codes, which it would take for values."""
    Z = X[["x", "k"]]
    init = weald.RandomForestRegressor(**SMALL).fit(Z, NUMBER)
    for frozen in (FrozenEstimator(init), FrozenEstimator(make_pipeline("passthrough", init))):
        boosting = weald.GradientBoostingRegressor(init=frozen, **SMALL)
        with pytest.raises(ValueError, match=r"init must not have categories by value .* like \[10\] in feature 'k'"):
            boosting.fit(Z, NUMBER)
    fitted = weald.GradientBoostingRegressor(init=clone(init), **SMALL).fit(Z, NUMBER)
    np.testing.assert_array_equal(fitted.predict(put(Z, k=Z["k"].astype(float))), fitted.predict(Z))
