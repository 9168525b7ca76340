"""Models of other libraries inside those of weald: classes in any order are taken by name, and what is no prediction is refused.

`DOORS` lists the ways in which the predictions of another model come in. Each door is given models that differ in nothing but
the order of their classes, and models that return what is no prediction.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import weald
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from weald._ranking.outputs import of_labels
from weald.conformal import (
    ConformalClassifier,
    ConformalLabels,
    ConformalRegressor,
    CoverageDisplay,
    make_coverage_scorer,
    make_size_scorer,
)
from weald.metrics import make_label_scorer, make_topk_scorer
from weald.multilabel import (
    CalibratedLabels,
    HierarchicalLabels,
    LabelHierarchy,
    LabelReliabilityDisplay,
    TunedThresholds,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
NAMES = np.array(["no", "perhaps", "yes"])
CLASSES = NAMES[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=160), [-0.5, 0.5])]
TWO = np.where(CLASSES == "yes", "yes", "no")
LABELS = (X[:, :3] + 0.5 * RNG.normal(size=(160, 3)) > 0.4).astype(int)
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=160)


class Other(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are in the order that is asked for, and whose probabilities `spoil` may change."""

    def __init__(self, order=None, dtype=None, spoil=None):
        self.order, self.dtype, self.spoil = order, dtype, spoil

    def fit(self, X, y, sample_weight=None):
        self.inner_ = LogisticRegression().fit(X, y, sample_weight)
        known = self.inner_.classes_
        self.order_ = np.arange(len(known)) if self.order is None else np.argsort([self.order.index(c) for c in known])
        self.classes_ = known[self.order_].astype(self.dtype or known.dtype)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        found = self.inner_.predict_proba(X)[:, self.order_]
        return found if self.spoil is None else self.spoil(found)

    def predict(self, X):
        return self.classes_[self.inner_.predict_proba(X)[:, self.order_].argmax(axis=1)]


class OtherLabels(ClassifierMixin, BaseEstimator):
    """A classifier of labels, with a list of arrays, whose classes may be 1 and 0, or one array in the order `columns`."""

    def __init__(self, flipped=False, columns=None, method="predict_proba", spoil=None):
        self.flipped, self.columns, self.method, self.spoil = flipped, columns, method, spoil

    def fit(self, X, y, sample_weight=None):
        y = y.toarray() if sparse.issparse(y) else y
        self.inner_ = [LogisticRegression().fit(X, column, sample_weight) for column in y.T]
        step = -1 if self.flipped else 1
        listed = [model.classes_[::step] for model in self.inner_]
        self.classes_ = listed if self.columns is None else np.array(self.columns)
        self.n_features_in_ = X.shape[1]
        return self

    def _found(self, X):
        step = -1 if self.flipped else 1
        proba = [model.predict_proba(X)[:, ::step] for model in self.inner_]
        if self.columns is not None:
            proba = np.column_stack([proba[j][:, 1] for j in self.columns])
        if self.spoil is None:
            return proba
        return [self.spoil(proba[0]), *proba[1:]] if isinstance(proba, list) else self.spoil(proba)

    def __getattr__(self, name):
        if name == self.__dict__.get("method"):
            return self._found
        raise AttributeError(name)

    def predict(self, X):
        return np.column_stack([model.predict(X) for model in self.inner_])


class OtherNumbers(RegressorMixin, BaseEstimator):
    def __init__(self, spoil=None):
        self.spoil = spoil

    def fit(self, X, y, sample_weight=None):
        self.inner_, self.n_features_in_ = LinearRegression().fit(X, y), X.shape[1]
        return self

    def predict(self, X):
        found = self.inner_.predict(X)
        return found if self.spoil is None else self.spoil(found)


def tuned(objective):
    def door(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return TunedThresholds(model, objective=objective, cv=3, random_state=0).fit(X, LABELS)

    return door


def boosted(y):
    return lambda model: weald.GradientBoostingClassifier(n_estimators=3, init=model, random_state=0).fit(X, y)


# What is made of a model of classes.
OF_CLASSES = {
    "VotingClassifier": lambda model: weald.VotingClassifier(
        [("a", model), ("b", weald.DecisionTreeClassifier(max_depth=2))]
    ).fit(X, CLASSES),
    "VotingClassifier of a frozen one": lambda model: weald.VotingClassifier(
        [("a", FrozenEstimator(model.fit(X, CLASSES)))]
    ).fit(X, CLASSES),
    "lac": lambda model: ConformalClassifier(model, cv=3, random_state=0).fit(X, CLASSES),
    "lac, frozen": lambda model: ConformalClassifier(FrozenEstimator(model.fit(X, CLASSES))).fit(X, CLASSES),
    "aps": lambda model: ConformalClassifier(model, method="aps", randomized=False, cv=3, random_state=0).fit(
        X, CLASSES
    ),
    "pipeline": lambda model: ConformalClassifier(
        make_pipeline(FunctionTransformer(), model), cv=3, random_state=0
    ).fit(X, CLASSES),
    "init": boosted(CLASSES),
    "init of two classes": boosted(TWO),
}
# What is made of a model of labels.
OF_LABELS = {
    "VotingClassifier": lambda model: weald.VotingClassifier(
        [("a", model), ("b", weald.DecisionTreeClassifier(max_depth=2))]
    ).fit(X, LABELS),
    "TunedThresholds": tuned("f1"),
    "TunedThresholds, counts": tuned("label_count"),
    "CalibratedLabels": lambda model: CalibratedLabels(model, cv=3, random_state=0).fit(X, LABELS),
    "HierarchicalLabels": lambda model: HierarchicalLabels(model, LabelHierarchy([(1, 0)], n_labels=3)).fit(X, LABELS),
    "ConformalLabels": lambda model: ConformalLabels(model, cv=3, alpha=0.3, random_state=0).fit(X, LABELS),
}
OF_NUMBERS = {
    "VotingRegressor": lambda model: weald.VotingRegressor([("a", model), ("b", LinearRegression())]).fit(X, NUMBERS),
    "ConformalRegressor": lambda model: ConformalRegressor(model, cv=3, random_state=0).fit(X, NUMBERS),
    "ConformalRegressor, frozen": lambda model: ConformalRegressor(FrozenEstimator(model.fit(X, NUMBERS))).fit(
        X, NUMBERS
    ),
}


def answers(model):
    """Predictions by class or label, in one order."""
    found = {"predict": np.asarray(model.predict(X))}
    for method in ("predict_proba", "predict_sets"):
        if hasattr(model, method):
            columns = getattr(model, method)(X)
            if method == "predict_sets" or np.ndim(model.classes_) == 1:
                columns = columns[:, np.argsort(np.asarray(model.classes_))]
            found[method] = np.asarray(columns)
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for method, values in one.items():
        if values.dtype.kind == "f":
            # Sums over classes in another order.
            np.testing.assert_allclose(values, other[method], rtol=0, atol=1e-12, err_msg=method)
        else:
            np.testing.assert_array_equal(values, other[method], err_msg=method)


@pytest.mark.parametrize("order", [["yes", "no", "perhaps"], ["perhaps", "yes", "no"]])
@pytest.mark.parametrize("dtype", [None, object])
@pytest.mark.parametrize("door", OF_CLASSES)
def test_classes_are_taken_by_name_and_not_by_place(door, order, dtype):
    made = OF_CLASSES[door]
    order = [name for name in order if name != "perhaps"] if door == "init of two classes" else order
    assert_same(answers(made(Other(order, dtype))), answers(made(Other())))


def test_classes_that_a_fold_lacks_or_a_member_has_in_addition():
    y = np.where(np.arange(160) == 3, "rare", CLASSES)
    order = ["yes", "rare", "no", "perhaps"]
    one, other = (ConformalClassifier(Other(each), cv=4, random_state=0).fit(X, y) for each in (order, sorted(order)))
    assert_same(answers(one), answers(other))
    known = FrozenEstimator(Other(["yes", "no", "perhaps"]).fit(X, CLASSES))
    mean = weald.VotingClassifier([("a", known), ("b", weald.DecisionTreeClassifier(max_depth=2))]).fit(X, TWO)
    assert mean.classes_.tolist() == ["no", "perhaps", "yes"]
    np.testing.assert_array_equal(mean.set_params(weights=[1, 0]).fit(X, TWO).predict(X), known.predict(X))


@pytest.mark.parametrize("door", OF_LABELS)
def test_labels_are_taken_by_the_class_1_and_by_their_index(door):
    made = OF_LABELS[door]
    expected = answers(made(OtherLabels()))
    assert_same(answers(made(OtherLabels(flipped=True))), expected)
    assert_same(answers(made(OtherLabels(columns=[2, 0, 1]))), expected)
    assert_same(answers(made(OtherLabels(columns=[0, 1, 2]))), expected)


def test_numbers_and_text_are_never_the_same_class():
    held = FrozenEstimator(Other().fit(X, CLASSES))
    numbers = np.searchsorted(NAMES, CLASSES)
    for call in (
        lambda: ConformalClassifier(held).fit(X, numbers),
        lambda: ConformalClassifier(held).fit(X, CLASSES).score(X, numbers),
        lambda: weald.VotingClassifier([("a", held)]).fit(X, numbers),
        lambda: weald.RandomForestClassifier(3).fit(X, CLASSES).score(X, numbers),
        lambda: weald.RandomForestClassifier(3).fit(X, numbers).score(X, numbers.astype(str).astype(object)),
    ):
        with pytest.raises(ValueError, match=r"text|type of those"):
            call()


def at(value, place=5):
    """Puts a value into an array."""

    def spoil(found):
        found = np.array(found, dtype=np.float64)
        found[place % len(found)] = value
        return found

    return spoil


# What a model may return -> what the message says.
WRONG = {
    "NaN": (at(np.nan), "got nan for sample"),
    "infinity": (at(np.inf), "got inf for sample"),
    "too large": (at(1.5), "got 1.5 for sample"),
    "negative": (at(-0.5), "got -0.5 for sample"),
    "a row less": (lambda found: found[:-1], "must return a row for each of"),
    "one number": (lambda found: np.float64(0.5), "must return a row for each of"),
    "text": (lambda found: np.full(np.shape(found), "a"), "must be numbers"),
    "a column less": (lambda found: np.asarray(found)[:, :-1], "column|scores of|must predict|outputs"),
    "a column more": (lambda found: np.column_stack([found, found[:, 0]]), "column|scores of|must predict|outputs"),
}
OF_PROBABILITIES = [name for name in OF_CLASSES if not name.startswith("init")]


def refused(make, method):
    """The message of the error that a fit, or the predictions after it, raise."""

    def everything():
        model = make()
        for name in ("predict", "predict_proba", "predict_sets", "predict_interval"):
            if hasattr(model, name):
                getattr(model, name)(X)

    with pytest.raises(ValueError, match=r".") as error:
        everything()
    return str(error.value)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("door", OF_PROBABILITIES)
def test_what_is_no_probability_of_a_class_is_refused(door, wrong):
    spoil, message = WRONG[wrong]
    said = refused(lambda: OF_CLASSES[door](Other(spoil=spoil)), "predict_proba")
    assert re.search(message, said), said
    assert "Other.predict_proba" in said


@pytest.mark.parametrize("columns", [None, [2, 0, 1]])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("door", OF_LABELS)
def test_what_is_no_probability_of_a_label_is_refused(door, wrong, columns):
    spoil, message = WRONG[wrong]
    said = refused(lambda: OF_LABELS[door](OtherLabels(columns=columns, spoil=spoil)), "predict_proba")
    assert re.search(message, said), said


@pytest.mark.parametrize("wrong", ["NaN", "infinity", "a row less", "text"])
@pytest.mark.parametrize("door", [name for name in OF_LABELS if name not in ("VotingClassifier", "HierarchicalLabels")])
def test_what_is_no_score_of_a_label_is_refused(door, wrong):
    spoil, message = WRONG[wrong]
    model = OtherLabels(columns=[0, 1, 2], method="decision_function", spoil=spoil)
    said = refused(lambda: OF_LABELS[door](model), "decision_function")
    assert re.search(message, said), said
    assert "OtherLabels.decision_function" in said


@pytest.mark.parametrize("wrong", ["NaN", "infinity", "a row less", "one number", "text"])
@pytest.mark.parametrize("door", OF_NUMBERS)
def test_what_is_no_number_is_refused(door, wrong):
    spoil, message = WRONG[wrong]
    said = refused(lambda: OF_NUMBERS[door](OtherNumbers(spoil=spoil)), "predict")
    assert re.search(message, said), said
    assert "OtherNumbers.predict" in said


class OfTwo(RegressorMixin, BaseEstimator):
    """A linear model of two outputs, whose predictions are spoilt."""

    def __init__(self, spoil=None):
        self.spoil = spoil

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        found = self.model_.predict(X)
        return found if self.spoil is None else self.spoil(found)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@pytest.mark.parametrize(
    "spoil", [np.transpose, np.ravel, lambda p: p[:, :, None], lambda p: np.ma.array(p, mask=True)]
)
@pytest.mark.parametrize("door", ["init", "estimator", "VotingRegressor"])
def test_numbers_in_another_shape_are_not_brought_into_the_right_one(door, spoil):
    Y = np.column_stack([NUMBERS, -NUMBERS])

    def fitted(model):
        if door == "VotingRegressor":
            return weald.VotingRegressor([("a", model)]).fit(X, Y)
        return weald.GradientBoostingRegressor(
            n_estimators=2, output_strategy="joint", subsample=1.0, **{door: model}
        ).fit(X, Y)

    assert fitted(OfTwo()).predict(X).shape == Y.shape
    with pytest.raises((TypeError, ValueError), match=r"OfTwo"):
        fitted(OfTwo(spoil)).predict(X)


def test_what_a_weak_model_says_of_new_samples_is_checked():
    model = weald.GradientBoostingRegressor(n_estimators=2, estimator=OfTwo(), output_strategy="joint", subsample=1.0)
    model.fit(X, np.column_stack([NUMBERS, -NUMBERS]))
    model._weak[1].spoil = at(np.nan)
    with pytest.raises(ValueError, match="estimator must predict finite numbers, got NaN or infinity from OfTwo"):
        model.predict(X)


def test_labels_of_fewer_arrays_than_labels_are_refused():
    few = OtherLabels(columns=[0, 1, 2], spoil=None)
    few.predict_proba = lambda X: [np.full((len(X), 2), 0.5)] * 2
    few.classes_ = [np.array([0, 1])] * 3
    with pytest.raises(ValueError, match="must return an array for each of 3 outputs, got 2"):
        of_labels(few, "predict_proba", X)


def names_in_another_order():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    Y = pd.DataFrame({"p": NUMBERS, "q": -NUMBERS})
    return frame, Y, FrozenEstimator(weald.RandomForestRegressor(3, random_state=0).fit(frame, Y))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_frozen_init_must_have_the_names_of_features_and_outputs():
    frame, Y, init = names_in_another_order()
    model = weald.GradientBoostingRegressor(n_estimators=2, init=init)
    model.fit(frame, Y)
    with pytest.raises(ValueError, match=r"X must have the name 'x0' at position 0, got 'x\d'"):
        model.fit(frame.iloc[:, ::-1], Y)
    with pytest.raises(ValueError, match=r"y must have the name 'p' at position 0, got 'q'"):
        model.fit(frame, Y[["q", "p"]])


def test_scorers_and_displays_ask_for_the_names_of_outputs():
    frame, Y, _ = names_in_another_order()
    intervals = ConformalRegressor(weald.RandomForestRegressor(5, random_state=0), random_state=0).fit(frame, Y)
    labels = pd.DataFrame(LABELS, columns=list("abc"))
    forest = weald.RandomForestClassifier(5, random_state=0).fit(frame, labels)
    wrong, wrong_labels = Y[["q", "p"]], labels[["c", "b", "a"]]
    for call in (
        lambda: make_coverage_scorer()(intervals, frame, wrong),
        lambda: make_size_scorer()(intervals, frame, wrong),
        lambda: CoverageDisplay.from_estimator(intervals, frame, wrong),
        lambda: make_label_scorer("roc_auc")(forest, frame, wrong_labels),
        lambda: make_topk_scorer("precision_at_k", k=1)(forest, frame, wrong_labels),
        lambda: LabelReliabilityDisplay.from_estimator(forest, frame, wrong_labels),
    ):
        with pytest.raises(ValueError, match=r"y must have the name '.' at position 0, got"):
            call()
    scores = pd.DataFrame([[0.9, 0.1, 0.5]], columns=list("cba"))
    hierarchy = LabelHierarchy([("a", "b")], label_names=list("abc"))
    for call in (hierarchy.consistent, hierarchy.n_violations, hierarchy.closure):
        with pytest.raises(ValueError, match=r"must have the name 'a' at position 0, got 'c'"):
            call(scores if call != hierarchy.closure else scores > 0.5)


def test_predictor_refuses_what_a_member_returns_for_one_sample():
    fitted = weald.VotingClassifier([("a", Other()), ("b", Other(spoil=None))]).fit(X, CLASSES)
    fitted.estimators_[1].spoil = at(np.nan)
    with pytest.raises(ValueError, match=r"Other\.predict_proba must return probabilities from 0 to 1, got nan"):
        weald.Predictor(fitted).predict_proba(X[0])


def test_best_labels_of_what_is_no_score_are_refused():
    model = OtherLabels(columns=[0, 1, 2], spoil=at(np.nan)).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"OtherLabels\.predict_proba must return probabilities from 0 to 1, got nan"):
        weald.metrics.make_topk_scorer("ndcg_at_k", k=2)(model, X, LABELS)


def test_rounding_of_float32_is_no_fault():
    rounded = lambda found: np.float32(found) * np.float32(1.0000002)  # noqa: E731
    mean = weald.VotingClassifier([("a", Other(spoil=rounded))]).fit(X, CLASSES).predict_proba(X)
    assert mean.max() <= 1
