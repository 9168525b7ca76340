"""What y is: one answer at every door through which y comes, for every container of labels, and for what is none."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import model_bytes, unless
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald import datasets, distribute, inspection, metrics, model_selection
from weald.model_selection import MultilabelStratifiedKFold
from weald.multilabel import (
    CalibratedLabels,
    HierarchicalLabels,
    LabelHierarchy,
    LabelReliabilityDisplay,
    TunedThresholds,
)

N, D = 60, 3
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, 4)).round(1)
Y = (X[:, :D] + _rng.normal(scale=0.3, size=(N, D)) > 0.2).astype(np.int64)
SCORES = (Y + _rng.normal(size=Y.shape)).clip(0, 1)
GAPS = _rng.random(Y.shape) < 0.2
GAPS[:12] = False
UNKNOWN = np.where(GAPS, np.nan, Y)


def forest(**params):
    return weald.RandomForestClassifier(**{"n_estimators": 4, "max_depth": 3, "random_state": 0, **params})


def boosting(**params):
    return weald.GradientBoostingClassifier(**{"n_estimators": 2, "random_state": 0, **params})


FITTED = forest().fit(X, Y)
TUNED = TunedThresholds(forest(n_estimators=8)).fit(X, Y)
HIERARCHICAL = HierarchicalLabels(forest(n_estimators=8)).fit(X, Y)
CALIBRATED = CalibratedLabels(forest(n_estimators=8), min_positives=1).fit(X, Y)
BOOSTED = boosting().fit(X, Y)


def dumped(y, y_mask):
    assert y_mask is None
    weald.datasets.dump_xmc(X, y, path := "/dev/null")
    return path


def on_threads(function, *args, **options):
    with ThreadPoolExecutor(1) as executor:
        return function(*args, executor, **options)


def of_mask(y_mask):
    return {} if y_mask is None else {"y_weight": unless(y_mask)}


def of_fit(make):
    return lambda y, y_mask: model_bytes(make().fit(X, y, **of_mask(y_mask)))


def folds(y, y_mask):
    return [test.tolist() for _, test in MultilabelStratifiedKFold(3).split(X, y)]


def of_metric(function, *args, **options):
    return lambda y, y_mask: function(y, *args, **options, **of_mask(y_mask))


def of_search(search, grid):
    def score(y, y_mask):
        cv = model_selection.check_cv(3, y, classifier=True)
        return search(forest(), grid, cv=cv, error_score="raise").fit(X, y).cv_results_["mean_test_score"]

    return score


def of_validation(name, *args, **options):
    function = getattr(model_selection, name)
    return lambda y, y_mask: function(forest(), X, y, *args, cv=3, **options, **of_mask(y_mask))


ONE, K = {"propensities": [0.5, 0.7, 0.9]}, {"k": 2}
# Doors through which labels come: functions of y and of y_mask.
DOORS = {
    "tree": of_fit(lambda: weald.DecisionTreeClassifier(random_state=0)),
    "forest": of_fit(forest),
    "boosting": of_fit(boosting),
    "stopped boosting": of_fit(lambda: boosting(n_iter_no_change=1, validation_fraction=0.3)),
    "CompressedForest": of_fit(lambda: weald.CompressedForestClassifier(forest(), cv=2, max_steps=3, random_state=0)),
    "VotingClassifier": lambda y, y_mask: (
        weald.VotingClassifier([("forest", forest()), ("boosting", boosting())])
        .fit(X, y, y_weight=unless(y_mask))
        .predict_proba(X)
    ),
    "TunedThresholds": lambda y, y_mask: (
        TunedThresholds(forest(n_estimators=8)).fit(X, y, y_weight=unless(y_mask)).threshold_
    ),
    "TunedThresholds, folds": lambda y, y_mask: (
        TunedThresholds(boosting(), cv=2, random_state=0).fit(X, y, y_weight=unless(y_mask)).threshold_
    ),
    "CalibratedLabels": lambda y, y_mask: (
        CalibratedLabels(forest(n_estimators=8), min_positives=1, min_score=0.01)
        .fit(X, y, y_weight=unless(y_mask))
        .predict_proba(X)
    ),
    "score": lambda y, y_mask: FITTED.score(X, y, y_weight=unless(y_mask)),
    "score of boosting": lambda y, y_mask: BOOSTED.score(X, y, y_weight=unless(y_mask)),
    "score of TunedThresholds": lambda y, y_mask: TUNED.score(X, y, y_weight=unless(y_mask)),
    "score of CalibratedLabels": lambda y, y_mask: CALIBRATED.score(X, y, y_weight=unless(y_mask)),
    "HierarchicalLabels": lambda y, y_mask: (
        HierarchicalLabels(forest(n_estimators=8)).fit(X, y, y_weight=unless(y_mask)).predict_proba(X)
    ),
    "score of HierarchicalLabels": lambda y, y_mask: HIERARCHICAL.score(X, y, y_weight=unless(y_mask)),
    "from_labels": lambda y, y_mask: LabelHierarchy.from_labels(y, min_samples=1, **of_mask(y_mask)).depth_,
    "check": lambda y, y_mask: HIERARCHICAL.hierarchy_.check(y, **of_mask(y_mask)),
    "label_weight": lambda y, y_mask: HIERARCHICAL.hierarchy_.label_weight(
        "information_content", Y=y, **of_mask(y_mask)
    ),
    "fmax": of_metric(metrics.fmax, SCORES),
    "fmax, hierarchy": of_metric(metrics.fmax, SCORES, hierarchy=HIERARCHICAL.hierarchy_),
    "auprc": of_metric(metrics.auprc, SCORES),
    **{
        name: of_metric(getattr(metrics, name), SCORES > 0.5, HIERARCHICAL.hierarchy_)
        for name in ("hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
    },
    "one_error": of_metric(metrics.one_error, SCORES),
    "coverage_error": of_metric(metrics.coverage_error, SCORES),
    **{
        name: of_metric(getattr(metrics, name), SCORES, **K)
        for name in ("precision_at_k", "recall_at_k", "ndcg_at_k", "label_coverage_at_k")
    },
    **{name: of_metric(getattr(metrics, name), SCORES, **K, **ONE) for name in ("psp_at_k", "psndcg_at_k")},
    **{name: of_metric(getattr(metrics, name), SCORES > 0.5) for name in ("micro_f1", "macro_f1")},
    **{
        name: of_metric(getattr(metrics, name), SCORES)
        for name in ("roc_auc", "average_precision", "log_loss", "brier")
    },
    "cross_validate": lambda y, y_mask: of_validation("cross_validate")(y, y_mask)["test_score"],
    "cross_val_predict": of_validation("cross_val_predict"),
    "cross_val_predict, proba": of_validation("cross_val_predict", method="predict_proba"),
    "cross_val_predict, log": of_validation("cross_val_predict", method="predict_log_proba"),
    "cross_val_predict, decisions": of_validation("cross_val_predict", method="decision_function"),
    "cross_val_predict, best labels": of_validation("cross_val_predict", method="predict_topk", k=2),
    "prune_reduced_error": lambda y, y_mask: model_bytes(FITTED.prune_reduced_error(X, y, **of_mask(y_mask))),
    "reliability": lambda y, y_mask: LabelReliabilityDisplay.from_predictions(
        y, SCORES, **of_mask(y_mask)
    ).fraction_true[0],
    "estimate_fit_memory": lambda y, y_mask: weald.estimate_fit_memory(forest(), X, y, **of_mask(y_mask)) > 0,
}
# Doors without y_mask, which take NaN nevertheless.
WITHOUT_MASK = {
    "folds": folds,
    "GridSearchCV": of_search(GridSearchCV, {"max_depth": [1, 2]}),
    "RandomizedSearchCV": of_search(lambda *args, **options: RandomizedSearchCV(*args, n_iter=1, **options), {}),
    "scorer": lambda y, _: metrics.make_topk_scorer("ndcg_at_k", k=2)(FITTED, X, y),
    "X_val": lambda y, _: boosting(n_iter_no_change=1).fit(X, Y, X_val=X, y_val=y).validation_score_,
    "eval_sets": lambda y, _: boosting().fit(X, Y, eval_sets=[(X, y)]).eval_results_["eval_0"]["loss"],
    "LinearClassifier": of_fit(lambda: weald.LinearClassifier(random_state=0)),
    "CentroidForest": of_fit(lambda: weald.CentroidForestClassifier(2, random_state=0)),
    "label tree": of_fit(lambda: weald.LinearClassifier(strategy="tree", random_state=0)),
    "permutation_importance": lambda y, _: inspection.permutation_importance(FITTED, X, y, random_state=0).importances,
    "distribute.fit": lambda y, _: model_bytes(on_threads(distribute.fit, forest(), X, y)),
    "distribute.cross_validate": lambda y, _: on_threads(distribute.cross_validate, forest(), X, y, cv=3)["test_score"],
}
# Doors that take no unknown labels.
OF_KNOWN = {
    "InducedForest": of_fit(lambda: weald.InducedForestClassifier(forest(), n_nodes=3, random_state=0)),
    "propensities": lambda y, _: metrics.propensities(y),
    "y_pred": lambda y, _: metrics.micro_f1(Y, y),
    "dump_xmc": dumped,
}
EVERY_DOOR = {**DOORS, **WITHOUT_MASK, **OF_KNOWN}


def sparse_columns(y, dtype=np.float64):
    return pd.DataFrame(np.asarray(y, dtype=dtype)).astype(pd.SparseDtype(dtype, 0))


KNOWN = {
    "bool": Y > 0,
    "int8": Y.astype(np.int8),
    "float": Y.astype(float),
    "Fortran": np.asfortranarray(Y),
    "objects": Y.astype(object),
    "lists": Y.tolist(),
    "list of arrays": list(Y > 0),
    "pandas": pd.DataFrame(Y > 0),
    "pandas of objects": pd.DataFrame(Y.astype(object)),
    "pandas Int64": pd.DataFrame(Y).astype("Int64"),
    "polars": pl.DataFrame(Y > 0),
    "CSR": sparse.csr_array(Y),
    "CSC matrix": sparse.csc_matrix(Y.astype(float)),
    "COO": sparse.coo_array(Y),
    "sparse columns": sparse_columns(Y),
}
# Pairs of y and y_mask.
HIDDEN = {
    "float32": (UNKNOWN.astype(np.float32), None),
    "objects": (np.where(GAPS, None, Y.astype(object)), None),
    "lists": (UNKNOWN.tolist(), None),
    "pandas": (pd.DataFrame(UNKNOWN), None),
    "pandas boolean": (pd.DataFrame(UNKNOWN).astype("boolean"), None),
    "polars": (pl.DataFrame(UNKNOWN).fill_nan(None), None),
    "polars boolean": (pl.DataFrame(UNKNOWN).fill_nan(None).cast(pl.Boolean), None),
    "sparse columns": (sparse_columns(UNKNOWN), None),
    "mask": (np.where(GAPS, 1 - Y, Y), GAPS),
    "sparse mask": (np.where(GAPS, 1 - Y, Y), sparse.csr_array(GAPS)),
    "CSR": (sparse.csr_array(np.where(GAPS, 1 - Y, Y)), GAPS),
    "CSR, sparse mask": (sparse.csr_matrix(Y.astype(float)), sparse.csr_matrix(GAPS)),
}
TAGS = [["cat", "pet"], ["dog"], ["lion", "pet"]] * (N // 3)
PAIRS = [["cat", "pet"], ["dog", "pet"], ["lion", "wild"]] * (N // 3)
NO_LABELS = {
    "lists": TAGS,
    "lists of equal length": PAIRS,
    "one list each": [["cat"], ["dog"]] * (N // 2),
    "tuples": tuple(map(tuple, TAGS)),
    "sets": list(map(set, TAGS)),
    "frozensets": list(map(frozenset, PAIRS)),
    "numbers of tags": [[0, 2], [1], []] * (N // 3),
    "arrays": list(map(np.array, PAIRS)),
    "object array": np.array(TAGS, dtype=object),
    "object array of sets": np.array(list(map(set, TAGS)), dtype=object),
    "Series": pd.Series(TAGS),
    "Series of sets": pd.Series(list(map(set, TAGS))),
    "frame": pd.DataFrame({"tags": TAGS}),
    "polars": pl.Series(TAGS),
    "polars frame": pl.DataFrame({"tags": TAGS}),
    "dict": dict(enumerate(TAGS)),
    "generator": None,  # made anew for each door
    "set": set(map(tuple, TAGS)),
    "text": "cat,dog",
}
OTHER_VALUES = {
    "-1/+1": 2 * Y - 1,
    "0/3": 3 * Y,
    "1/2": 1 + Y,
    "halves": Y / 2,
    "sparse -1": sparse.csr_array(-Y),
    "sparse 3": sparse.csr_array(3 * Y),
    "list": (2 * Y - 1).tolist(),
    "frame": pd.DataFrame(3 * Y),
    "text": np.where(Y > 0, "yes", "no"),
    "infinity": np.where(Y > 0, np.inf, 0),
}


def plain(found):
    if isinstance(found, tuple | list):
        return list(map(plain, found))
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


def refusal(door, y):
    """The message of the error, with which a door refuses y."""
    try:
        EVERY_DOOR[door](y, None)
    except (ValueError, TypeError) as error:
        return str(error)
    return "no error"


def same(a, b):
    a, b = plain(a), plain(b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    # The type of predictions is that of y.
    return np.array_equal(a.astype(float), b.astype(float), equal_nan=True) if a.dtype.kind in "biuf" else a == b


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", EVERY_DOOR)
def test_known_labels_of_every_container_are_the_same(door):
    expected = EVERY_DOOR[door](Y, None)
    for name, y in KNOWN.items():
        assert same(EVERY_DOOR[door](y, None), expected), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS | WITHOUT_MASK)
def test_unknown_labels_of_every_container_are_the_same(door):
    through = EVERY_DOOR[door]
    expected = through(UNKNOWN, None)
    for name, (y, y_mask) in HIDDEN.items():
        if y_mask is None or door in DOORS:
            assert same(through(y, y_mask), expected), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", OF_KNOWN)
def test_unknown_labels_are_refused_where_they_are_not_supported(door):
    for name, (y, y_mask) in HIDDEN.items():
        if y_mask is None:
            assert re.search("NaN|nan", refusal(door, y)), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", EVERY_DOOR)
def test_tags_are_refused_with_what_converts_them(door):
    for name, y in NO_LABELS.items():
        given = iter(TAGS) if name == "generator" else y
        assert re.search(r"\b(y|Y|y_true|y_val|y_pred)\b.*MultiLabelBinarizer", refusal(door, given)), name


# Doors that take other values than 0 and 1: for a fit they are classes.
FITS = {
    "tree",
    "LinearClassifier",
    "label tree",
    "VotingClassifier",
    "forest",
    "boosting",
    "stopped boosting",
    "CentroidForest",
    "CompressedForest",
    "InducedForest",
    "estimate_fit_memory",
    "distribute.fit",
    "distribute.cross_validate",
    "GridSearchCV",
    "RandomizedSearchCV",
    *(door for door in DOORS if door.startswith("cross_val")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", sorted(EVERY_DOOR.keys() - FITS))
def test_other_values_are_no_labels(door):
    for name, y in OTHER_VALUES.items():
        message = refusal(door, y)
        assert re.search(r"\b(y|Y|y_true|y_val|y_pred)\b.*(values 0 and 1 for labels|infinity)", message), name


@pytest.mark.filterwarnings("ignore")
def test_two_other_values_are_classes_for_every_door_of_a_fit():
    for y in (2 * Y - 1, 3 * Y, 1 + Y, np.where(Y > 0, "yes", "no"), pd.DataFrame(np.where(Y > 0, "yes", "no"))):
        model = forest().fit(X, y)
        assert [len(classes) for classes in model.classes_] == [2] * D
        right = model.predict(X) == np.asarray(y)
        assert model.score(X, y) == right.all(axis=1).mean()
        assert model.score(X, y, y_weight=unless(GAPS)) == (right | GAPS).all(axis=1)[~GAPS.all(axis=1)].mean()
        found = model_selection.cross_val_predict(forest(), X, y, cv=3, method="predict_proba")
        for train, test in KFold(3).split(X):
            expected = forest().fit(X[train], np.asarray(y)[train]).predict_proba(X[test])
            for of_output, of_fold in zip(found, expected, strict=True):
                np.testing.assert_array_equal(of_output[test], of_fold)


# Validation


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict_log_proba"])
@pytest.mark.parametrize("pipe", [False, True])
def test_cross_val_predict_of_unknown_labels_is_that_of_each_fold(method, pipe):
    model = make_pipeline(MaxAbsScaler(), forest()) if pipe else forest()
    y = UNKNOWN.copy()
    # All training samples of the last fold have the first label.
    y[:40, 0] = 1
    expected = np.empty(y.shape)
    for train, test in KFold(3).split(X):
        expected[test] = getattr(model.fit(X[train], y[train]), method)(X[test])
    found = model_selection.cross_val_predict(model, X, y, cv=3, method=method)
    np.testing.assert_array_equal(found, expected)


def test_cross_val_predict_of_unknown_classes_is_that_of_each_fold():
    classes = np.where(GAPS, np.nan, Y + (X[:, 3:] > 0))
    found = model_selection.cross_val_predict(forest(), X, classes, cv=3, method="predict_proba")
    for train, test in KFold(3).split(X):
        expected = forest().fit(X[train], classes[train]).predict_proba(X[test])
        for of_output, of_fold in zip(found, expected, strict=True):
            np.testing.assert_array_equal(of_output[test], of_fold)


def test_folds_have_the_same_share_of_known_ones_and_known_zeros():
    rng = np.random.default_rng(0)
    y = (rng.random((600, 4)) < [0.5, 0.2, 0.1, 0.05]).astype(float)
    y[rng.random(y.shape) < [0.0, 0.3, 0.6, 0.5]] = np.nan
    for value in (0, 1):
        counts = np.array([(y[test] == value).sum(axis=0) for _, test in MultilabelStratifiedKFold(5).split(y, y)])
        # What was assigned for rarer labels is not moved again, so that frequent ones differ by some samples.
        assert np.ptp(counts, axis=0).max() <= 6


def test_a_mask_of_names_of_classes_is_refused_in_validation():
    with pytest.raises(ValueError, match=r"^y_weight is only supported for several columns of numbers here"):
        model_selection.cross_validate(forest(), X, np.where(Y > 0, "yes", "no"), y_weight=unless(GAPS))


NO_FOLDS = [1, 0, True, 10**400, -(10**400), 2.0, np.nan, "text", object()]


@pytest.mark.parametrize("cv", NO_FOLDS, ids=lambda cv: str(cv)[:9])
def test_folds_that_are_none(cv):
    with pytest.raises(ValueError, match=r"cv|n_splits"):
        model_selection.cross_validate(forest(), X, UNKNOWN, cv=cv)


# Missing values among classes, and values that are no classes


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", None] * 30, dtype=object), r"^Input y contains NaN or None among other values than numbers"),
        (pd.Series(["a", None] * 30), r"^Input y contains NaN"),
        (np.array(["a", np.nan] * 30, dtype=object), r"y.* contains NaN"),
        (np.array([1, "a"] * 30, dtype=object), r"\by\b"),
        (pd.Series(pd.date_range("2020", periods=60)), r"^y must be classes, .* got dates or times"),
        ([10**400, 1] * 30, r"^y must have numbers that float64 can represent"),
        (np.ma.array(Y, mask=GAPS), r"^y must not be a masked array: pass y.data, and ~y.mask as y_weight"),
        (np.full(60, 1j), r"^y: Complex data not supported"),
        (np.full(60, 0.5), r"^y must be classes, .*Unknown label type"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_class_is_refused_by_name(y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        forest().fit(X, y)


@pytest.mark.parametrize(
    "y",
    [["1", "a"] * 30, np.array([None, 1.0] * 30, dtype=object), [10**400, 1] * 30, pd.Series(TAGS), PAIRS],
    ids=repr,
)
def test_what_is_no_number_is_refused_by_name(y):
    for model in (weald.DecisionTreeRegressor(), weald.GradientBoostingRegressor(n_estimators=1)):
        with pytest.raises((ValueError, TypeError), match=r"\by\b"):
            model.fit(X, y)


def test_the_doors_of_data_sets_name_y(tmp_path):
    with pytest.raises(ValueError, match=r"^Y must have the values 0 and 1 for labels, got -1"):
        datasets.dump_xmc(X, 2 * Y - 1, tmp_path / "data")
    assert not (tmp_path / "data").exists()
