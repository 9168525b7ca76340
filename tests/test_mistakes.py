"""Typical mistakes of users, each of which ends in a text that names what was wrong and what to do."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import unless
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from weald import (
    CentroidForestClassifier,
    CompressedForestRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearClassifier,
)
from weald import RandomForestClassifier as Classifier
from weald import RandomForestRegressor as Regressor

N = 60
RNG = np.random.default_rng(0)
X = RNG.random((N, 4))
y = RNG.random(N)
Y = RNG.random((N, 3))
LABELS = (RNG.random((N, 5)) < 0.4).astype(int)
CLASSES = RNG.integers(0, 3, N)
NAMES = np.array(["a", "b", "c"])[CLASSES]
FRAME = pd.DataFrame(X, columns=list("abcd"))
TEXTS = ["a text", "another one"] * 30
TAGS = [["x", "y"], ["z"], []] * 20
DAYS = pd.date_range("2020-01-01", periods=N)


def fit(x=X, target=y, model=Regressor, **params) -> Callable[[], object]:
    """The fit of a small model, with `fit=` for further arguments of fit."""
    arguments = params.pop("fit", {})
    return lambda: model(**params).fit(x, target, **arguments)


def column(values) -> pd.DataFrame:
    return FRAME.assign(b=values)


def fitted(**params):
    return Regressor(2, random_state=0, **params).fit(X, y)


def in_pickle(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(fitted()))
    return weald.load(path)


def in_text(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("a table, for example")
    return weald.load(path)


MISTAKES = {
    # X
    "texts": (fit(TEXTS), ValueError, "^X must .*got texts.*TfidfVectorizer"),
    "an array of texts": (fit(np.array(TEXTS)), ValueError, "^X must .*got texts.*TfidfVectorizer"),
    "an array of objects that are texts": (fit(np.array(TEXTS, dtype=object)), ValueError, "TfidfVectorizer"),
    "a series of texts": (fit(pd.Series(TEXTS)), ValueError, "^X must .*got texts.*TfidfVectorizer"),
    "texts when predicting": (lambda: fitted().predict(TEXTS), ValueError, "^X must .*got texts.*TfidfVectorizer"),
    "a cell with a text": (fit([["a", 1.0]] * N), ValueError, "X must have numbers in feature 0, got 'a'"),
    "a query of polars": (
        fit(pl.LazyFrame(X)),
        TypeError,
        r"^X must be in memory, got a LazyFrame.*its method collect\(\)",
    ),
    "a query when predicting": (lambda: fitted().predict(pl.LazyFrame(X)), TypeError, "^X must be in memory"),
    "a query for one sample": (
        lambda: weald.Predictor(fitted()).predict(pl.LazyFrame(X[:1])),
        TypeError,
        "^sample must be in memory",
    ),
    "a query as y": (fit(X, pl.LazyFrame(Y)), TypeError, r"^y must be in memory, .*collect\(\)"),
    "a query as labels": (fit(X, pl.LazyFrame(LABELS), LinearClassifier), TypeError, "^y must be in memory"),
    "a query as weights": (fit(fit={"sample_weight": pl.LazyFrame(y)}), TypeError, "^sample_weight must be in memory"),
    "a query as a mask": (
        fit(X, Y, fit={"y_weight": unless(pl.LazyFrame(Y > 0.5))}),
        TypeError,
        "^y_weight must be in memory",
    ),
    "a query whose memory is estimated": (
        lambda: weald.estimate_fit_memory(Regressor(), pl.LazyFrame(X), y),
        TypeError,
        "^X must be in memory",
    ),
    "a path": (fit("data.csv"), TypeError, r"^X must be an array.*got 'data.csv'.*pandas.read_csv"),
    "a dict of columns": (fit({"a": y, "b": y}), TypeError, r"^X must be .*got a dict.*pandas.DataFrame\(X\)"),
    "a list of dicts": (fit([{"a": 1.0}] * N), TypeError, "^X must be .*list of dicts.*DataFrame.*DictVectorizer"),
    "a set": (fit({1.0, 2.0}), TypeError, "^X must be .*got a set, which has no order"),
    "a generator": (lambda: Regressor().fit((row for row in X), y), TypeError, r"^X must be .*list\(X\)"),
    "none": (fit(None), TypeError, "^X must be an array, .*got None"),
    "a number": (fit(3.0), TypeError, "^X must be an array, .*got 3.0"),
    "an object": (fit(object()), TypeError, "^X must be an array, .*got an object"),
    "one feature": (fit(X[:, 0]), ValueError, r"^X must have shape \(n_samples, n_features\), .*reshape\(X, \(-1, 1\)"),
    "one sample": (lambda: fitted().predict(X[0]), ValueError, r"^X must have shape .*reshape\(X, \(1, -1\)"),
    "one sample in a list": (
        lambda: fitted().predict([1.0, 2.0, 3.0, 4.0]),
        ValueError,
        r"^X must have shape .*\(1, -1",
    ),
    "a picture for each sample": (fit(RNG.random((N, 2, 2))), ValueError, "^X: Found array with dim 3"),
    "samples of several lengths": (fit([[1, 2], [3]] * 30), ValueError, "^X must have the same number of features"),
    "no samples": (fit(X[:0], y[:0]), ValueError, r"^X: Found array with 0 sample\(s\)"),
    "a frame without rows": (fit(FRAME[:0], y[:0]), ValueError, r"^X: Found array with 0 sample\(s\)"),
    "no features": (fit(X[:, :0]), ValueError, r"^X: Found array with 0 feature\(s\)"),
    "an infinite value": (fit(np.where(X > 0.9, np.inf, X)), ValueError, "X contains infinity"),
    "a value beyond float32": (fit(np.where(X > 0.9, 1e39, X)), ValueError, "X contains .*too large"),
    "an infinite sparse value": (
        fit(sparse.csr_array(np.where(X > 0.9, np.inf, 0))),
        ValueError,
        "X contains infinity",
    ),
    "complex numbers": (fit(X * 1j), ValueError, "^X must have real numbers, got dtype complex128"),
    "dates": (fit(DAYS.to_numpy().reshape(-1, 1)), ValueError, "^X must have numbers, .*days since a date"),
    "a column of dates": (fit(FRAME.assign(day=DAYS)), ValueError, "feature 'day', .*datetime64.*days since a date"),
    "dates with time zones": (fit(column(DAYS.tz_localize("UTC"))), ValueError, "feature 'b', .*UTC.*days since"),
    "durations": (fit(column(DAYS - DAYS[0])), ValueError, "feature 'b', .*timedelta64.*convert it to numbers"),
    "periods": (fit(column(DAYS.to_period("D"))), ValueError, "feature 'b', .*period.*convert it to numbers"),
    "a column of objects": (fit(column([object()] * N)), ValueError, "feature 'b', got <object.*drop the column"),
    "a column of lists": (fit(column([[1, 2]] * N)), ValueError, r"feature 'b', got \[1, 2\] of type list"),
    "a column of dicts": (fit(column([{"a": 1}] * N)), ValueError, "feature 'b', got {'a': 1} of type dict"),
    "a column of bytes": (fit(column([b"x"] * N)), ValueError, "feature 'b', got b'x' of type bytes"),
    "texts among numbers": (fit(column([1, "x"] * 30)), ValueError, r"either texts or numbers.*'b'.*astype\(str\)"),
    "a column of complex numbers": (fit(column([1j] * N)), ValueError, "feature 'b', got a column of dtype complex128"),
    "columns of one name": (fit(pd.concat([FRAME, FRAME], axis=1)), ValueError, "distinct column names, got 'a'"),
    "names of several types": (fit(FRAME.rename(columns={"a": 0})), TypeError, "string names"),
    "fewer features than in fit": (lambda: fitted().predict(X[:, :3]), ValueError, "X has 3 features, .*expecting 4"),
    "columns in another order": (
        lambda: Regressor(2).fit(FRAME, y).predict(FRAME[list("dcba")]),
        ValueError,
        "same order",
    ),
    "a column that is missing": (
        lambda: Regressor(2).fit(FRAME, y).predict(FRAME[list("abc")]),
        ValueError,
        "missing:\n- d",
    ),
    "a column that is new": (
        lambda: Regressor(2).fit(FRAME, y).predict(FRAME.assign(e=y)),
        ValueError,
        "unseen at fit time:\n- e",
    ),
    # y
    "tags": (fit(X, TAGS, Classifier), ValueError, "^y must be .*got lists or sets of tags.*MultiLabelBinarizer"),
    "sets of tags": (fit(X, list(map(set, TAGS)), Classifier), ValueError, "MultiLabelBinarizer"),
    "tuples of tags": (fit(X, list(map(tuple, TAGS)), Classifier), ValueError, "MultiLabelBinarizer"),
    "a series of tags": (fit(X, pd.Series(TAGS), Classifier), ValueError, "MultiLabelBinarizer"),
    "tags for boosting": (fit(X, TAGS, GradientBoostingClassifier), ValueError, "MultiLabelBinarizer"),
    "tags for centroids": (fit(X, TAGS, CentroidForestClassifier), ValueError, "MultiLabelBinarizer"),
    "tags for a linear model": (fit(X, TAGS, LinearClassifier), ValueError, "MultiLabelBinarizer"),
    "tags for a label tree": (fit(X, TAGS, LinearClassifier, strategy="tree"), ValueError, "MultiLabelBinarizer"),
    "none among classes": (
        fit(X, np.array([None, "a", "b"] * 20, dtype=object), Classifier),
        ValueError,
        "y contains NaN or None .*give the unknown class a name",
    ),
    "NaN among classes": (
        fit(X, np.where(CLASSES == 1, np.nan, CLASSES), Classifier),
        ValueError,
        "y contains NaN and has one output: .*left out",
    ),
    "NA among classes": (
        fit(X, pd.array([1, None, 2] * 20, dtype="Int64"), Classifier),
        ValueError,
        "y contains NaN and has one output: .*left out",
    ),
    "numbers for a classifier": (fit(X, y, Classifier), ValueError, "^y must be classes, .*continuous"),
    "classes for a regressor": (fit(X, NAMES), ValueError, "^y must have numbers, got '[abc]': .*Classifier is for"),
    "yes and no for a regressor": (fit(X, ["yes", "no"] * 30), ValueError, "^y must have numbers, got 'yes'"),
    "classes for boosting of numbers": (
        fit(X, NAMES, GradientBoostingRegressor),
        ValueError,
        "^y must have numbers, .*GradientBoostingClassifier is for",
    ),
    "dates as y": (fit(X, pd.Series(DAYS)), ValueError, "^y must have numbers, got dates.*datetime64"),
    "an array of dates as y": (fit(X, DAYS.to_numpy()), ValueError, "^y must have numbers, got dates.*datetime64"),
    "a frame of dates as y": (fit(X, pd.DataFrame({"t": DAYS})), ValueError, "^y must have numbers, got dates"),
    "dates as classes": (fit(X, pd.Series(DAYS), Classifier), ValueError, "^y must be classes, .*got dates"),
    "no y": (fit(X, None), ValueError, "requires y to be passed"),
    "a name of a column as y": (fit(FRAME, "a"), TypeError, "^y must be an array, .*got 'a'"),
    "a number as y": (fit(X, 1.0), TypeError, "^y must be an array, .*got 1.0"),
    "y of fewer samples": (fit(X, y[:50]), ValueError, "X has 60 rows, y has 50"),
    "y transposed": (fit(X, Y.T), ValueError, "X has 60 rows, y has 3"),
    "y with three axes": (fit(X, RNG.random((N, 2, 2))), ValueError, "^y: Found array with dim 3"),
    "y without outputs": (fit(X, Y[:, :0]), ValueError, r"^y: Found array with 0 feature\(s\)"),
    "infinite y": (fit(X, np.where(y > 0.5, np.inf, y)), ValueError, "y contains infinity"),
    "unknown y of one output": (fit(X, np.where(y > 0.5, np.nan, y)), ValueError, "y contains NaN and has one output"),
    "a masked array": (fit(X, np.ma.masked_greater(Y, 0.5)), TypeError, r"pass y.data, and ~y.mask as y_weight"),
    "negative counts": (
        fit(X, y - 1, GradientBoostingRegressor, loss="poisson"),
        ValueError,
        '^y must be at least 0, got -.*loss="poisson"',
    ),
    "sparse labels of -1": (fit(X, sparse.csr_array(-LABELS), Classifier), ValueError, "values 0 and 1 .*got -1"),
    # Weights, masks, validation samples
    "a negative weight": (fit(fit={"sample_weight": -y}), ValueError, "^sample_weight must not be negative, got -"),
    "no weight at all": (fit(fit={"sample_weight": 0 * y}), ValueError, "^sample_weight must be positive for at least"),
    "fewer weights": (fit(fit={"sample_weight": y[:5]}), ValueError, r"^sample_weight must have shape \(60,\)"),
    "weights by output": (fit(fit={"sample_weight": Y}), ValueError, r"^sample_weight must have shape \(60,\)"),
    "NaN as a weight": (fit(fit={"sample_weight": np.where(y > 0.5, np.nan, y)}), ValueError, "sample_weight contains"),
    "a mask of samples": (
        fit(X, Y, fit={"y_weight": unless(y > 0.5)}),
        ValueError,
        r"^y_weight must have shape \(60, 3\)",
    ),
    "a mask of weights": (
        fit(X, Y, fit={"y_weight": -Y}),
        ValueError,
        "^y_weight must be finite and not negative",
    ),
    "X_val alone": (
        fit(model=GradientBoostingRegressor, fit={"X_val": X}),
        ValueError,
        "^y_val must be given if X_val is",
    ),
    "X_val with fewer features": (
        fit(model=GradientBoostingRegressor, fit={"X_val": X[:, :2], "y_val": y}),
        ValueError,
        "^X_val has 2 features, .*expecting 4",
    ),
    "X_val of texts": (
        fit(model=GradientBoostingRegressor, fit={"X_val": TEXTS, "y_val": y}),
        ValueError,
        "^X_val must .*TfidfVectorizer",
    ),
    "eval_set": (
        fit(model=GradientBoostingRegressor, fit={"eval_set": [(X, y)]}),
        TypeError,
        "got an unexpected keyword argument 'eval_set': pass X_val and y_val",
    ),
    "early_stopping_rounds": (
        fit(model=GradientBoostingRegressor, fit={"early_stopping_rounds": 5}),
        TypeError,
        "'early_stopping_rounds': set the parameter n_iter_no_change",
    ),
    "new classes in y_val": (
        fit(X, NAMES, GradientBoostingClassifier, fit={"X_val": X, "y_val": ["z"] * N}),
        ValueError,
        "^y_val must have classes of the training data, got 'z'",
    ),
    # Parameters
    "a text as number": (fit(n_estimators="100"), ValueError, "'n_estimators' .*Got '100'"),
    "no trees": (fit(n_estimators=0), ValueError, r"'n_estimators' .*range \[1, .*Got 0"),
    "half a tree": (fit(n_estimators=10.5), ValueError, "'n_estimators' .*Got 10.5"),
    "data for the constructor": (lambda: Regressor(X, y), TypeError, "positional argument"),
    "depth 0": (fit(max_depth=0), ValueError, "'max_depth' .*Got 0"),
    "depth -1": (fit(max_depth=-1), ValueError, "'max_depth' .*None. Got -1"),
    "learning rate 0": (fit(model=GradientBoostingRegressor, learning_rate=0), ValueError, "'learning_rate' .*Got 0"),
    "mse as criterion": (fit(criterion="mse"), ValueError, "'criterion' .*'squared_error'.*Got 'mse'"),
    "gini of numbers": (fit(criterion="gini"), ValueError, "'criterion' .*Got 'gini'"),
    "mse as loss": (fit(model=GradientBoostingRegressor, loss="mse"), ValueError, "'loss' .*'squared_error'"),
    "auto features": (fit(max_features="auto"), ValueError, "'max_features' .*Got 'auto' instead. Did you mean 'sqrt'"),
    "one sample to split": (fit(min_samples_split=1), ValueError, "'min_samples_split' .*Got 1"),
    "empty leaves": (fit(min_samples_leaf=0), ValueError, "'min_samples_leaf' .*Got 0"),
    "percent of samples": (fit(model=GradientBoostingRegressor, subsample=50), ValueError, "'subsample' .*Got 50"),
    "yes as truth": (fit(bootstrap="yes"), ValueError, "'bootstrap' .*Got 'yes'"),
    "no threads": (fit(n_jobs=0), ValueError, "^n_jobs must be .*-1 is all cores, got 0"),
    "all threads": (fit(n_jobs="all"), ValueError, "'n_jobs' .*Got 'all'"),
    "a negative seed": (fit(random_state=-1), ValueError, "'random_state' .*Got -1"),
    "a fraction as seed": (fit(random_state=0.5), ValueError, "'random_state' .*Got 0.5"),
    "balance": (fit(X, CLASSES, Classifier, class_weight="balance"), ValueError, "'class_weight' .*'balanced'"),
    "a weight of no class": (fit(X, CLASSES, Classifier, class_weight={7: 1.0}), ValueError, "class_weight"),
    "a category without column": (
        fit(FRAME, categorical_features=["z"]),
        ValueError,
        "^categorical_features must have names of columns of X, got 'z'",
    ),
    "an index without column": (fit(categorical_features=[9]), ValueError, "^categorical_features .*0 to 3, got 9"),
    "categories that are no integers": (
        fit(categorical_features=[0]),
        ValueError,
        "X must have whole numbers .*feature 0",
    ),
    "constraints of other features": (fit(monotonic_cst=[1, 0]), ValueError, "monotonic_cst .*4 features"),
    "a constraint of 2": (fit(monotonic_cst=[2, 0, 0, 0]), ValueError, "monotonic_cst .*-1, 0 or 1, got"),
    "gauss": (fit(X, Y, output_projection="gauss"), ValueError, "'output_projection' .*'gaussian'"),
    "out of bag without bags": (fit(bootstrap=False, oob_score=True), ValueError, "oob_score .*set bootstrap=True"),
    "fewer trees than there are": (
        lambda: fitted(warm_start=True).set_params(n_estimators=1).fit(X, y),
        ValueError,
        "n_estimators must be at least 2 with warm_start=True",
    ),
    "a parameter with a slip": (lambda: Regressor().set_params(n_estimator=3), ValueError, "'n_estimator'.*Valid"),
    "a class as estimator": (
        lambda: CompressedForestRegressor(Regressor).fit(X, y),
        ValueError,
        r"^estimator must be an instance, RandomForestRegressor\(\), got the class",
    ),
    "a forest of scikit-learn": (
        lambda: CompressedForestRegressor(RandomForestRegressor()).fit(X, y),
        ValueError,
        "^estimator must be a tree or forest of weald",
    ),
    # Methods, metrics and files
    "predict before fit": (lambda: Regressor().predict(X), ValueError, "not fitted yet. Call 'fit'"),
    "export before fit": (lambda: weald.export.to_json(DecisionTreeRegressor()), ValueError, "not fitted yet"),
    "more labels than there are": (
        lambda: Classifier(2).fit(X, LABELS).predict_topk(X, 9),
        ValueError,
        "^k must be an integer from 1 to 5, got 9",
    ),
    "scores of other samples": (
        lambda: weald.metrics.precision_at_k(LABELS, LABELS[:5], k=2),
        ValueError,
        "^y_score must have 60 rows",
    ),
    "scores of one sample": (
        lambda: weald.metrics.precision_at_k(LABELS[0], LABELS[0], k=2),
        ValueError,
        r"^y_true must have shape \(n_samples, n_labels\)",
    ),
    "a file that is not there": (lambda: weald.load("no-such-file"), FileNotFoundError, "no-such-file"),
    "a folder": (lambda: weald.load("."), IsADirectoryError, "."),
    "a pickle": (in_pickle, ValueError, "got a pickle, which runs code .*weald.save"),
    "a text": (in_text, ValueError, "not a valid weald model: .*or the file is not a model"),
    "indices and names": (
        lambda: weald.metrics.precision_at_k(LABELS, NAMES[:5], 1),
        ValueError,
        "^y_score must have scores, or indices .* without names=True, got '[abc]'",
    ),
    "auc": (
        fit(model=GradientBoostingRegressor, early_stopping=True, scoring="auc"),
        ValueError,
        "^scoring must be .* got 'auc'. Did you mean 'roc_auc'",
    ),
    "a scorer of another library for folds": (
        lambda: weald.model_selection.cross_validate(Regressor(2), X, y, scoring="rmse"),
        ValueError,
        "Did you mean 'neg_root_mean_squared_error'",
    ),
    "thresholds of one output": (
        lambda: weald.multilabel.TunedThresholds(Classifier(2)).fit(X, CLASSES),
        ValueError,
        "^y must have shape .*; for one output, sklearn has TunedThresholdClassifierCV",
    ),
    "X and y exchanged": (fit(y, X), ValueError, "^X must have shape .* are X and y exchanged"),
    "a fit by the class": (lambda: Regressor.fit(X, y), TypeError, "^fit must be called on an instance"),
    "raw scores": (lambda: fitted().predict(X, raw_score=True), TypeError, "'raw_score': decision_function has"),
    "predict_topk before fit": (lambda: Classifier().predict_topk(X, 1), AttributeError, "call fit first"),
    "classes before fit": (lambda: Classifier().classes_, AttributeError, "'classes_': call fit first"),
    "coef_ before fit": (lambda: LinearClassifier().coef_, AttributeError, "before it is fitted: call fit first"),
    "importances before fit": (
        lambda: Classifier().feature_importances_,
        AttributeError,
        "Call 'fit' with .*estimator.$",
    ),
    "labels of one number": (lambda: fitted().predict_topk(X, 1), AttributeError, "'predict_topk': it ranks labels"),
    "probabilities of numbers": (lambda: fitted().predict_proba(X), AttributeError, "regressors have predict$"),
    "margins of forests": (
        lambda: Classifier(2).fit(X, CLASSES).decision_function(X),
        AttributeError,
        "'decision_function': .*predict_proba",
    ),
    "batches": (lambda: LinearClassifier().partial_fit(X, CLASSES), AttributeError, "docs/new-subjects.md"),
    "a method that saves": (lambda: fitted().save_model("model"), AttributeError, r"weald.save\(estimator, path\)"),
    "a name that nobody knows": (lambda: fitted().xyz, AttributeError, "has no attribute 'xyz'$"),
    "a folder that is not there": (
        lambda: weald.save(fitted(), "no-such-folder/model"),
        FileNotFoundError,
        "no-such-folder",
    ),
}


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_the_text_says_what_is_wrong_and_what_to_do(mistake, tmp_path):
    make, error, text = MISTAKES[mistake]
    with pytest.raises(error, match=f"(?s){text}"):
        make(tmp_path) if make in (in_pickle, in_text) else make()


ORDER = RNG.permutation(N)
ONE_HOT = np.eye(3, dtype=int)[CLASSES]
SIGNS = np.where(LABELS > 0, 1, -1)
IN_ORDER = pd.DataFrame({"a": y, "b": y})
DOUBTFUL = {
    "a series in another order": (fit(FRAME, pd.Series(y).iloc[ORDER]), "same index in another order.*y.loc"),
    "a frame in another order": (fit(FRAME, IN_ORDER.iloc[ORDER]), "same index in another order.*y.loc"),
    "another order for folds": (
        lambda: weald.conformal.ConformalRegressor(Regressor(2), cv=3).fit(FRAME, pd.Series(y).iloc[ORDER]),
        "same index in another order",
    ),
    "one class": (fit(X, ["a"] * N, Classifier), "^y has one class, 'a', .*several classes"),
    "one class for boosting": (fit(X, 0 * CLASSES, GradientBoostingClassifier, n_estimators=2), "^y has one class, 0,"),
    "one class for linear models": (fit(X, 0 * CLASSES, LinearClassifier), "^y has one class, 0,"),
    "one-hot classes": (fit(X, ONE_HOT, Classifier), r"^y has one label in each sample, .*argmax\(axis=1\)"),
    "sparse one-hot classes": (fit(X, sparse.csr_array(ONE_HOT), LinearClassifier), "^y has one label in each sample"),
    "labels of -1 and 1": (fit(X, SIGNS, Classifier), "^y has columns of -1 and 1, .* labels are 0 and 1"),
    "tags in one text": (
        fit(X, ["a,b", "a", "b; c"] * 20, Classifier),
        "^y has classes such as 'a,b', .*MultiLabelBinarizer",
    ),
    "a rate of ten": (fit(model=GradientBoostingRegressor, n_estimators=2, learning_rate=10), "^learning_rate is 10"),
}


@pytest.mark.parametrize("doubt", DOUBTFUL)
def test_what_is_rarely_meant_is_fitted_with_a_warning(doubt):
    make, text = DOUBTFUL[doubt]
    with pytest.warns(UserWarning, match=f"(?s){text}"):
        make()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "make",
    [
        fit(FRAME, pd.Series(y, index=range(100, 100 + N))),
        fit(FRAME, pd.Series(y, index=[0] * N)),
        fit(FRAME, pd.Series(y)),
        fit(X, pd.Series(y).iloc[ORDER]),
        fit(X, ONE_HOT, Classifier, fit={"label_names": list("abc")}),
        fit(X, ONE_HOT, LinearClassifier, multi_label=True),
        fit(X, LABELS, Classifier),
        fit(X[:4], ONE_HOT[:4], Classifier),
        fit(X, ["Paris, France", "Lyon, France", "Rome"] * 20, Classifier),
        fit(X, SIGNS[:, 0], Classifier),
        fit(model=GradientBoostingRegressor, n_estimators=2, learning_rate=2),
    ],
)
def test_what_is_meant_is_fitted_without_a_warning(make):
    make()
