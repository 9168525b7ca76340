"""What holds for every estimator from its first fit to its file: tests that go through the table `EVERY`."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import unless
from every import CLASSES, EVERY, MASKED, NUMBERS, PAIRS, Entry, mask_of, problem, public_classes, with_categories
from one_fit import as_text, during_refits, interrupted, outcome
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from weald import distribute
from weald._fit.base import BaseModel
from weald._fit.boosting import BaseBoosting
from weald._fit.forest import BaseBagging
from weald._ranking.outputs import innermost
from weald.model_selection import MultilabelStratifiedKFold, cross_validate
from weald.multilabel import TunedThresholds


def test_the_table_has_every_public_class_with_fit():
    assert {entry.cls for entry in EVERY.values()} == set(public_classes())


def attempt(entry: Entry, X, y, **fit) -> bool:
    """Whether the fit ends without a refusal of the input."""
    try:
        entry.build(**fit.pop("params", {})).fit(X, y, **fit)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:X has feature names")
@pytest.mark.parametrize("name", EVERY)
def test_what_the_table_says_is_true(name):
    entry = EVERY[name]
    for kind in CLASSES + NUMBERS:
        X, y = problem(kind)
        # Regressors take labels and classes that are numbers for numerical outputs.
        if kind in entry.outputs or entry.is_classifier or kind in ("class", "classes"):
            assert attempt(entry, X, y) == (kind in entry.outputs), kind
        if kind in entry.outputs and kind not in ("class", "number"):
            masked = "numbers" if kind == "sparse numbers" else kind  # which become dense numbers
            assert attempt(entry, X, y, y_weight=unless(mask_of(y))) == (masked in entry.masks), kind
    X, y = problem(entry.outputs[0])
    assert attempt(entry, sparse.csr_array(X), y) == attempt(entry, sparse.csc_array(X), y) == entry.sparse
    assert attempt(entry, np.where(X > 1, np.nan, X), y) == entry.missing
    assert attempt(entry, X, y, sample_weight=np.arange(len(X)) % 3) == entry.weights
    assert attempt(entry, with_categories(X), y) == entry.categories


# --- signatures -------------------------------------------------------------------------------------------------------


def public_methods(cls) -> dict[str, inspect.Signature]:
    names = [name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name, None))]
    return {name: inspect.signature(getattr(cls, name)) for name in names}


def by_position(signature) -> list[str]:
    accepted = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in accepted]


CLASSES_OF_TABLE = list(dict.fromkeys(entry.cls for entry in EVERY.values()))


@pytest.mark.parametrize("cls", CLASSES_OF_TABLE)
def test_fit_and_score_have_one_signature(cls):
    methods = public_methods(cls)
    for name in ("fit", "score"):
        assert by_position(methods[name]) == ["self", "X", "y", "sample_weight"]
        assert list(methods[name].parameters)[4] == "y_weight"
        assert methods[name].parameters["y_weight"].kind is inspect.Parameter.KEYWORD_ONLY
        assert methods[name].parameters["y_weight"].default is methods[name].parameters["sample_weight"].default is None


def test_an_argument_by_position_is_the_same_in_every_estimator():
    positions = {}
    for cls in CLASSES_OF_TABLE:
        for name, signature in public_methods(cls).items():
            if name != "at":  # a norm of a path, or a number of nodes of a growth
                positions.setdefault(name, {}).setdefault(tuple(by_position(signature)), []).append(cls.__name__)
    assert {name: found for name, found in positions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", EVERY)
def test_a_mask_by_position_is_refused(name):
    X, y = problem(EVERY[name].outputs[-1])
    model = EVERY[name].build()
    mask = np.ones(y.shape, dtype=bool)
    with pytest.raises(TypeError, match="positional"):
        model.fit(X, y, None, mask)
    with pytest.raises(TypeError, match="positional"):
        model.fit(X, y).score(X, y, None, mask)


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair[1] in MASKED])
def test_entries_that_are_masked_are_not_scored(name, kind):
    X, y = problem(kind)
    dense = y.toarray() if sparse.issparse(y) else y
    model, mask = EVERY[name].build().fit(X, y), mask_of(y)
    # Where y is masked, it may have any other value of y.
    other = np.where(mask, dense[::-1], dense)
    given = [(other, mask), (dense, sparse.csr_array(mask))]
    if kind == "labels":
        given += [(np.where(mask, np.nan, dense), None), (sparse.csr_array(other), mask)]
    scores = [model.score(X, y, y_weight=unless(y_mask)) for y, y_mask in given]
    assert len(set(scores)) == 1
    if kind == "classes":
        return  # scikit-learn has no score of several outputs of classes without unknown values
    nothing = np.zeros_like(mask)
    assert model.score(X, y, y_weight=unless(nothing)) == model.score(X, y)
    # The mask has whole samples: without these the score is the same.
    rows = np.repeat(np.arange(len(X))[:, None] % 3 == 0, y.shape[1], axis=1)
    kept = np.flatnonzero(~rows[:, 0])
    # The same terms are added up in another order, or with zeros between them.
    assert model.score(X, y, y_weight=unless(rows)) == pytest.approx(model.score(X[kept], y[kept]), rel=1e-12)


# Values of y that no sample of positive weight may have.
STRANGE = {"number": 1e308, "numbers": np.inf, "class": "other", "classes": "other", "labels": -1}


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if EVERY[pair[0]].weights])
def test_y_of_a_sample_of_weight_zero_is_not_scored(name, kind):
    X, y = problem(kind)
    weight = np.arange(len(X)) % 4.0
    there, gone = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    model, wrong = EVERY[name].build().fit(X, y), y.copy()
    if sparse.issparse(y):
        wrong = wrong.tolil()
        wrong[gone, 0] = 7
        wrong = wrong.tocoo()
    else:
        wrong = wrong.astype(object if y.dtype.kind == "U" else y.dtype)
        wrong[gone] = STRANGE[kind]
    expected = model.score(X[there], y[there], weight[there])
    assert model.score(X, wrong, weight) == expected == model.score(X, y, weight)


@pytest.mark.parametrize("name", EVERY)
def test_masked_arrays_are_refused(name):
    X, y = problem(EVERY[name].outputs[0])
    model, mask = EVERY[name].build(), np.zeros(len(X), dtype=bool)
    with pytest.raises(TypeError, match=r"X must not be a masked array, .* pass X\.filled\(value\)"):
        model.fit(np.ma.MaskedArray(X, X > 1), y)
    if EVERY[name].weights:
        with pytest.raises(TypeError, match="sample_weight must not be a masked array"):
            model.fit(X, y, sample_weight=np.ma.MaskedArray(np.ones(len(X)), mask))
    if EVERY[name].masks:
        X, y = problem(EVERY[name].masks[0])
        with pytest.raises(TypeError, match="y_weight must not be a masked array"):
            model.fit(X, y, y_weight=np.ma.MaskedArray(np.ones(y.shape), False))
    if "pipeline" in name or "others" in name:
        return  # other libraries read X of predictions
    with pytest.raises(TypeError, match="X must not be a masked array"):
        model.fit(X, y).predict(np.ma.MaskedArray(X, False))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", [name for name, entry in EVERY.items() if entry.categories and entry.weights])
def test_the_category_of_a_sample_of_weight_zero_changes_nothing(name):
    X, y = problem(EVERY[name].outputs[0])
    X, weights = with_categories(X), np.arange(len(X)) % 3
    there = weights > 0
    texts = X["color"].astype(str)
    methods = "predict", "predict_proba", "decision_function"
    found = []
    for absent in ("red", np.resize(["amber", "lilac", "white"], len(X))):
        X["color"] = np.where(there, texts, absent)
        model = EVERY[name].build().fit(X, y, sample_weight=weights)
        found.append([getattr(model, method)(X[there]) for method in methods if hasattr(model, method)])
    assert as_text(found[0]) == as_text(found[1])


def test_folds_and_scores_of_a_mask_are_those_of_NaN():
    X, y = problem("labels", refit=1)
    mask = mask_of(y)
    gaps = np.where(mask, np.nan, y)
    cv = MultilabelStratifiedKFold(3)
    assert as_text(list(cv.split(X, y, y_weight=unless(mask)))) == as_text(list(cv.split(X, gaps)))
    forest = EVERY["RandomForestClassifier"].build()
    with ThreadPoolExecutor(1) as executor:
        told = distribute.cross_validate(forest, X, y, executor, cv=cv, y_weight=unless(mask))["test_score"]
        other = distribute.cross_validate(forest, X, gaps, executor, cv=cv)["test_score"]
    assert told.tolist() == other.tolist()
    expected = cross_validate(forest, X, y, cv=list(cv.split(X, y, y_weight=unless(mask))), y_weight=unless(mask))[
        "test_score"
    ]
    assert told[0].tolist() == expected.tolist()


# --- one fit after another --------------------------------------------------------------------------------------------


def framed(kind, refit):
    """The problem as frames, whose columns have names, for kinds of y that are dense."""
    X, y = problem(kind, refit)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    if sparse.issparse(y):
        return frame, y
    return frame, pd.Series(y, name="y") if y.ndim == 1 else pd.DataFrame(y).rename(columns="y{}".format)


def saved(model) -> bytes | None:
    """The bytes of the model file, or None for an estimator that has parts which are not of weald."""
    try:
        return weald.dumps(model)
    except TypeError:
        return None


def assert_equal_models(one, other, X):
    """Check that two estimators have the same attributes, bytes and predictions."""
    assert vars(one).keys() == vars(other).keys()
    assert saved(one) == saved(other)
    for method in ("predict", "predict_proba"):
        if hasattr(one, method):
            assert as_text(getattr(one, method)(X)) == as_text(getattr(other, method)(X))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", EVERY)
def test_a_refit_is_a_fit_of_a_new_estimator(name):
    entry = EVERY[name]
    model = entry.build()
    kinds = entry.outputs
    # Every kind of y follows every other one, and the names and masks of a fit are not those of the next one.
    for kind in (*kinds, *kinds[::-1]):
        if entry.refits:
            X, y = framed(kind, refit=1)
            model.fit(X, y, **({"y_weight": unless(mask_of(y))} if kind in entry.masks else {}))
        X, y = problem(kind)
        assert_equal_models(model.fit(X, y), entry.build().fit(X, y), X)
    if name == "RandomForestRegressor-kept":
        model.set_params(oob_score=False, keep_rows=False)
        assert_equal_models(model.fit(X, y), clone(model).fit(X, y), X)


@pytest.mark.parametrize("name", EVERY)
def test_all_that_a_fit_sets_is_replaced_by_the_next_one(name):
    entry = EVERY[name]
    for kind in entry.outputs:
        model = entry.build()
        before = vars(model).keys() - set()
        model.fit(*(framed if entry.refits else problem)(kind, 0))
        assert vars(model).keys() - before <= model._fitted_names()


def with_a_note(cls):
    """A subclass with one more parameter."""

    def init(self, *, note="", **params):
        cls.__init__(self, **params)
        self.note = note

    signature = inspect.signature(cls.__init__)
    *others, last = signature.parameters.values()
    note = inspect.Parameter("note", inspect.Parameter.KEYWORD_ONLY, default="")
    init.__signature__ = signature.replace(parameters=[*others, last, note])
    return type(f"Noted{cls.__name__}", (cls,), {"__init__": init})


@pytest.mark.parametrize("name", EVERY)
def test_a_subclass_may_have_one_more_parameter(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    plain = entry.build()
    model = with_a_note(entry.cls)(**plain.get_params(deep=False), note="mine")
    assert model.get_params()["note"] == "mine"
    assert "note='mine'" in repr(model)
    for fitted in (model.fit(X, y), model.fit(X, y), clone(model).fit(X, y), copy.deepcopy(model), copy.copy(model)):
        assert type(fitted) is type(model)
        assert fitted.note == "mine"
        assert as_text(fitted.predict(X)) == as_text(plain.fit(X, y).predict(X))
        assert outcome(lambda fitted=fitted: fitted.score(X, y)) == outcome(lambda: plain.score(X, y))
    with pytest.raises(TypeError, match="Noted"):
        weald.dumps(model)
    model.set_params(note="yours").fit(*problem(entry.outputs[0], refit=int(entry.refits)))
    assert model.note == "yours"


# --- names and frames stay --------------------------------------------------------------------------------------------


def part_of_path(model):
    """The model of an earlier step: with a smaller norm, or fewer nodes."""
    return model.at(3 if "n_nodes" in model.get_params() else 0.1)


def grown_again(model, X, y):
    """Estimators that are made of a fitted one in every way that keeps its names and its setting of `set_output`."""
    yield "a refit", copy.copy(model).fit(X, y)
    yield "copy", copy.copy(model)
    yield "deepcopy", copy.deepcopy(model)
    yield "pickle", pickle.loads(pickle.dumps(model))
    to_save = copy.copy(model)
    del to_save.own
    if saved(to_save) is not None:
        yield "loads", weald.loads(weald.dumps(to_save))
    if hasattr(model, "truncated"):
        yield "truncated", model.truncated(min(2, model.n_estimators_))
        if model.estimator is None:
            yield "refit_leaves", model.refit_leaves(X, y)
    if hasattr(model, "at"):
        yield "at", part_of_path(model)
    if hasattr(model, "prune_reduced_error"):
        yield "prune_reduced_error", model.prune_reduced_error(X, y)
    if hasattr(model, "estimators_") and isinstance(model, BaseBagging):
        with ThreadPoolExecutor(1) as executor:
            yield "distribute.fit", distribute.fit(copy.copy(model), X, y, executor, n_parts=2)
        halves = [range(2), range(2, model.n_estimators)]
        yield "merge", weald.merge([copy.copy(model).fit(X, y, trees=trees) for trees in halves], X, y)
    if hasattr(model, "update"):
        yield "update", copy.copy(model).update(X, y, retire=1)
        yield "compact_leaves", weald.compression.compact_leaves(model, dtype="float16")[0]
    # Samples that are apart have no linear start, which is refused in words.
    in_parts = isinstance(model, BaseBoosting) and model.estimator is None and model.init is None
    in_parts = in_parts and isinstance(model.loss, str)
    if in_parts and not model._patience():
        fitted = distribute.fit_part(copy.copy(model), X, y, lambda buffer, op: None, n_samples=len(X))
        yield "fit_part", fitted


# The frozen forests of the table were fitted to arrays, and warn when they are given frames.
UNNAMED = pytest.mark.filterwarnings("ignore:X has feature names, but RandomForestClassifier was fitted without")
TO_FRAMES = [name if entry.refits else pytest.param(name, marks=UNNAMED) for name, entry in EVERY.items()]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", TO_FRAMES)
def test_names_and_the_setting_of_frames_stay(name):
    kind = next(kind for kind in ("labels", "numbers", "classes") if kind in EVERY[name].outputs)
    X, y = framed(kind, refit=0)
    model = EVERY[name].build().fit(X, y).set_output(predict="pandas")
    model.own = "an attribute of the user"
    for way, found in grown_again(model, X, y):
        predicted = found.predict(X)
        assert isinstance(predicted, pd.DataFrame), way
        assert list(predicted.columns) == list(y.columns), way
        assert found.target_names_in_.tolist() == list(y.columns), way
        if kind == "labels" and hasattr(found, "predict_topk"):
            assert set(found.predict_topk(X, 2, names=True)[0].ravel()) <= {*y.columns, None}, way
        assert hasattr(found, "own") == (way != "loads"), way


# --- other threads ----------------------------------------------------------------------------------------------------


def uses(model, X, y):
    """Everything that reads attributes of a fitted estimator: properties, attributes, methods and functions."""
    names = [name for name in dir(type(model)) if isinstance(inspect.getattr_static(type(model), name), property)]
    names += [name for name in vars(model) if name.endswith("_")]
    found = {name: lambda m, name=name: getattr(m, name) for name in names if not name.startswith("_")}
    methods = ["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_sparse", "apply"]
    methods += ["decision_path", "staged_predict", "staged_predict_proba", "staged_decision_function"]
    methods += ["predict_quantiles", "sample_y", "transform"]
    found |= {name: lambda m, name=name: getattr(m, name)(X) for name in methods if hasattr(model, name)}
    if hasattr(model, "predict_topk"):
        found["predict_topk"] = lambda m: m.predict_topk(X, 2)
        found["topk"] = lambda m: weald.topk(m, X, 2)
    if hasattr(model, "at"):
        found["at"] = part_of_path
    if hasattr(model, "truncated"):
        found["truncated"] = lambda m: m.truncated(1)
    if hasattr(model, "refit_leaves"):
        found["refit_leaves"] = lambda m: m.refit_leaves(X, y)
    if hasattr(model, "prune_reduced_error"):
        found["prune_reduced_error"] = lambda m: m.prune_reduced_error(X, y)
    if isinstance(innermost(model)[0], BaseModel):
        found["Predictor"] = lambda m: weald.Predictor(m).predict(X[0])
        found["feature_importances"] = weald.inspection.feature_importances
    if isinstance(model, BaseModel) and not hasattr(getattr(model, "loss", None), "quantile"):
        found["to_json"] = weald.export.to_json
    return found | {"score": lambda m: m.score(X, y), "dumps": weald.dumps, "copy": copy.copy, "len": len}


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:divide by zero")
@pytest.mark.parametrize("name", [name for name, entry in EVERY.items() if entry.refits])
def test_a_refit_during_a_call_gives_the_result_of_the_old_model_or_of_the_new_one(name):
    kind = EVERY[name].outputs[-1]
    X, y = problem(kind)
    old, new = (EVERY[name].build().fit(*problem(kind, refit)) for refit in (0, 1))
    for what, use in uses(old, X[:6], y[:6]).items():
        right = {outcome(lambda use=use, model=model: use(model)) for model in (old, new)}
        for n_before, found in enumerate(during_refits(old, new, use)):
            assert found in right, f"{what}, replaced after {n_before} accesses"


# --- fits that fail ---------------------------------------------------------------------------------------------------


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is before[key] for key in before)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", EVERY)
def test_a_fit_that_is_interrupted_changes_nothing(name, error):
    entry = EVERY[name]
    kind = entry.outputs[-1]
    model = entry.build().fit(*problem(kind))
    before = dict(vars(model))
    X, y = problem(kind, refit=int(entry.refits))
    # The forest of a frozen entry is fitted while the entry is built: those are not calls of this fit.
    fresh = entry.build()
    with interrupted(0, error) as calls:
        fresh.fit(X, y)
    n_refused = 0
    # Ten places from the first call to the last one, at which the new state may be there already.
    for after in np.linspace(1, calls[0], 10).astype(int):
        try:
            with interrupted(after, error):
                model.fit(X, y)
        except (error, AttributeError):  # any error is one where scikit-learn asks whether a method exists
            n_refused += 1
            assert_unchanged(model, before)
        model.__dict__ = dict(before)
    assert n_refused >= 5


@pytest.mark.parametrize(
    ("error", "expected"), [(MemoryError("none left"), MemoryError), (ValueError("no"), AttributeError)]
)
def test_a_lack_of_memory_is_not_taken_for_a_lack_of_a_method(monkeypatch, error, expected):
    model = weald.GradientBoostingClassifier(n_estimators=1).fit(*problem("classes"))

    def failing(self):
        raise error

    monkeypatch.setattr(type(model), "_loss", property(failing))
    with pytest.raises(expected):
        model.predict_proba  # noqa: B018


@pytest.mark.parametrize("name", EVERY)
def test_a_fit_that_is_refused_changes_nothing(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    model = entry.build().fit(X, y)
    before = dict(vars(model))
    bad = [(X, y[:-1]), (X[:-1], y), (X[:, :0], y), (X, None), (np.where(X > 1, np.inf, X), y)]
    bad += [
        (X, y[:0]),
        (X[:0], y[:0]),
        (X, np.full(y.shape, "a") if not entry.is_classifier else np.full(y.shape, None)),
    ]
    for X_bad, y_bad in bad:
        with pytest.raises((ValueError, TypeError)):
            model.fit(X_bad, y_bad)
        assert_unchanged(model, before)
    for fit in (
        {"sample_weight": -np.ones(len(X))},
        {"sample_weight": np.zeros(len(X))},
        {"y_weight": unless(np.ones((1, 1)))},
    ):
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, y, **fit)
        assert_unchanged(model, before)


# --- where warnings point ---------------------------------------------------------------------------------------------


def warned(call, *args) -> set[str]:
    """The first words of the warnings of a call, after a check that each points at a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args)
    assert {found.filename for found in caught} <= {__file__}, [(str(f.message), f.filename) for f in caught]
    return {" ".join(str(found.message).split()[:4]) for found in caught}


def of_features(entry, X, y):
    """Warnings about X, with the first words of each."""
    large = X.copy()
    large[:, :-1] += 2.0**40  # samples still differ, in the last feature
    large[:, 0] += np.arange(len(X)) / 1e3
    named = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    partly = named.assign(x0=pd.arrays.SparseArray(X[:, 0]))
    yield "X has features with", lambda: entry.build().fit(large, y)
    yield "X does not have", lambda: entry.build().fit(named, y).predict(X)
    yield "X has feature names,", lambda: entry.build().fit(X, y).predict(named)
    yield "pandas.DataFrame with sparse columns", lambda: entry.build().fit(partly, y)


OF_X = [name for name in EVERY if not name.endswith(("others", "pipeline", "frozen"))]


@pytest.mark.parametrize("name", OF_X)
def test_warnings_about_X_point_at_the_user(name):
    entry = EVERY[name]
    for words, call in of_features(entry, *problem(entry.outputs[0])):
        # Linear models compare no float32, and forests with few trees have no out-of-bag scores for some samples.
        assert words in warned(call) or (name.endswith("linear") and words == "X has features with")


def test_other_warnings_point_at_the_user():
    X, y = problem("class")
    forest = EVERY["RandomForestClassifier"].build()
    for name in (
        "RandomForestClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingRegressor",
        "CentroidForestClassifier",
    ):
        X, y = problem(EVERY[name].outputs[0])
        model = EVERY[name].build(warm_start=True).fit(X, y)
        assert warned(model.fit, X, y) == {"Warm-start fitting without increasing"}
        column = y[:, None]
        assert warned(EVERY[name].build().fit, X, column) == {"A column-vector y was"}
    X, y = problem("class")
    few = EVERY["RandomForestClassifier-oob"].build(n_estimators=1)
    assert warned(few.fit, X, y) == {"Some inputs do not"}
    numbers = problem("number")
    for name in ("DecisionTreeRegressor", "ExtraTreesRegressor"):
        tree = EVERY[name].build(criterion="friedman_mse")
        assert warned(tree.fit, *numbers) == {"criterion 'friedman_mse' is a"}
    compressed = EVERY["CompressedForestClassifier"].build(cv=50)
    assert {"cv is 50, but"} == warned(compressed.fit, X, np.where(np.arange(len(X)) < 3, "rare", y))
    labels = problem("labels")
    tuned = TunedThresholds(forest.set_params(n_estimators=1), cv="oob")
    assert "X has features with" in warned(tuned.fit, labels[0] * 1e3 + 2.0**40, labels[1])
    # From a subclass in a file of the user, and through scikit-learn.
    pipeline = make_pipeline(EVERY["RandomForestClassifier"].build(warm_start=True)).fit(X, y)
    assert warned(pipeline.fit, X, y) == {"Warm-start fitting without increasing"}
    scores = lambda: weald.model_selection.cross_validate(few, X, y, cv=2)  # noqa: E731
    assert warned(scores) == {"Some inputs do not"}


def test_the_package_warns_in_one_way():
    sources = Path(weald.__file__).parent.rglob("*.py")
    told = {path.name for path in sources if re.search(r"warnings\.(warn|warn_explicit)\(", path.read_text())}
    assert told == {"messages.py"}


@pytest.mark.parametrize("name", EVERY)
def test_every_attribute_can_be_asked_for(name):
    # As tools do that list the members of an object.
    entry = EVERY[name]
    X, y = problem(entry.outputs[0], n=60 if entry.refits else 40)
    for model in (entry.build(), entry.build().fit(X, y)):
        assert "fit" in dir(model)
        dict(inspect.getmembers(model))
