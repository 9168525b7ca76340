"""Classifiers of labels or of classes: what decides, what `classes_` holds for labels, and scikit-learn's scorers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.metrics
import weald
from conftest import BOOSTING, CLASSIFIERS, COMPRESSED, make, model_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.utils.multiclass import type_of_target

NAMES = [*CLASSIFIERS, BOOSTING[0], COMPRESSED[0]]


def small(name, **params):
    if name in COMPRESSED:
        params = {"l1_norm": None, "max_steps": 30, **params}
    return make(name, **params)


def problem(d, n=80):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    return X, (X[:, :d] + rng.normal(scale=0.5, size=(n, d)) > 0.3).astype(int)


# Scorers


def by_the_metric(scorer, model, X, y):
    """The score that the metric of a scorer gives to all labels that the model predicts."""
    methods = scorer._response_method
    methods = [methods] if isinstance(methods, str) else methods
    predict = next(getattr(model, method) for method in methods if hasattr(model, method))
    return scorer._sign * scorer._score_func(y, predict(X), **scorer._kwargs)


# Metrics warn about sums of probabilities of labels and about labels that never occur.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_every_scorer_that_takes_labels_scores_all_of_them(name, d):
    X, y = problem(d)
    model = small(name).fit(X, y)
    as_sparse = sparse.csr_array(y)
    scored = set()
    for truth, fitted in ((y, model), (as_sparse, small(name).fit(X, as_sparse))):
        for scorer in sorted(sklearn.metrics.get_scorer_names()):
            try:
                expected = by_the_metric(get_scorer(scorer), fitted, X, truth)
            except (ValueError, TypeError) as error:  # the metric does not support labels, or not sparse y
                with pytest.raises(type(error)):
                    get_scorer(scorer)(fitted, X, truth)
                continue
            # Both sides sum over samples and labels in a different order.
            assert get_scorer(scorer)(fitted, X, truth) == pytest.approx(expected, rel=1e-12, nan_ok=True), scorer
            scored.add(scorer)
    # These scorers support labels, so the loop above must not have skipped them.
    assert scored >= {"accuracy", "average_precision", "f1_samples", "jaccard_micro", "neg_log_loss", "roc_auc"}
    assert get_scorer("roc_auc")(model, X, y) == sklearn.metrics.roc_auc_score(y, model.decision_function(X))


@pytest.mark.parametrize("scorer", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("name", NAMES)
def test_scorers_score_one_label(name, scorer):
    X, y = problem(1)
    dense = small(name, multi_label=True).fit(X, y)
    assert get_scorer("accuracy")(dense, X, y) == (dense.predict(X) == y).mean()
    for given in (dense, small(name).fit(X, sparse.csc_array(y))):
        assert given.predict(X).shape == (80, 1)
        assert given.predict_proba(X).shape == (80, 1)
        expected = getattr(sklearn.metrics, f"{scorer}_score")(y[:, 0], given.decision_function(X)[:, 0])
        # The order of the sums differs, as in the previous test.
        assert get_scorer(scorer)(given, X, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_cross_validation_takes_probabilities_of_labels(d):
    X, y = problem(d)
    model = weald.RandomForestClassifier(5, random_state=0)
    assert cross_val_predict(model, X, y, method="predict_proba", cv=3).shape == (80, d)
    assert (cross_val_score(model, X, y, scoring="roc_auc", cv=3) > 0.5).all()


# classes_


@pytest.mark.parametrize("d", [1, 2, 3, 300])
@pytest.mark.parametrize("name", NAMES)
def test_classes_of_labels_tell_scorers_that_columns_are_labels(name, d, tmp_path):
    X, _ = problem(1)
    Y = sparse.csr_array((np.random.default_rng(0).random((80, d)) < 0.2).astype(float))
    model = small(name).fit(X, Y)
    weald.save(model, tmp_path / "model")
    for found in (model, weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert found.classes_.tolist() == ([[0, 1]] * d if d < 3 else list(range(d)))
        assert found.n_classes_ == d
        # Scorers leave out columns of the predictions only if the type of the target is "binary".
        assert type_of_target(found.classes_) != "binary"
        np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))


# multi_label


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_of_y_can_be_said(name):
    X, y = problem(2)
    labels, classes = (small(name, multi_label=said).fit(X, y) for said in (True, False))
    assert isinstance(labels.predict_proba(X), np.ndarray)
    assert isinstance(classes.predict_proba(X), list)
    assert [part.tolist() for part in classes.classes_] == [[0, 1], [0, 1]]
    assert model_bytes(small(name).fit(X, y)) == model_bytes(labels)
    # One output of y has three classes, of which this fold contains only 0 and 1.
    y[0, 1] = 2
    fold = small(name, multi_label=False).fit(X[1:], y[1:])
    assert isinstance(fold.predict_proba(X), list)
    assert type(fold.predict_proba(X)) is type(small(name).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, float])
@pytest.mark.parametrize("said", ["auto", True, np.True_])
def test_labels_by_dtype_and_values(dtype, said):
    X, y = problem(3)
    model = small("DecisionTreeClassifier", multi_label=said).fit(X, y.astype(dtype))
    assert model.predict(X).dtype == dtype
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("convert", [lambda y: y.astype(str), lambda y: y + 1])
def test_other_columns_are_classes(convert):
    X, y = problem(2)
    model = small("DecisionTreeClassifier").fit(X, convert(y))
    assert isinstance(model.classes_, list)
    with pytest.raises(ValueError, match=r"^y must have the values 0 and 1 for labels, got ('0'|2)"):
        small("DecisionTreeClassifier", multi_label=True).fit(X, convert(y))


@pytest.mark.parametrize("name", NAMES)
def test_y_that_is_not_what_was_said_is_refused(name):
    X, y = problem(2)
    with pytest.raises(
        ValueError,
        match=r"^y must have shape \(n_samples, n_labels\) with multi_label=True, got an array with 1 dimension",
    ):
        small(name, multi_label=True).fit(X, y[:, 0])
    with pytest.raises(ValueError, match=r"^multi_label=False does not support sparse y, which contains labels"):
        small(name, multi_label=False).fit(X, sparse.csr_array(y))
    for bad in ("yes", 1, None, 0.0):
        with pytest.raises(ValueError, match="'multi_label' parameter"):
            small(name, multi_label=bad).fit(X, y)


def test_compression_passes_on_what_is_said():
    X, y = problem(2)
    forest = weald.ExtraTreesClassifier(5, random_state=0)
    for said in (True, False):
        inside = small(COMPRESSED[0], estimator=clone(forest).set_params(multi_label=said)).fit(X, y)
        outside = small(COMPRESSED[0], estimator=forest, multi_label=said).fit(X, y)
        assert (
            isinstance(inside.predict_proba(X), np.ndarray) is isinstance(outside.predict_proba(X), np.ndarray) is said
        )
        assert model_bytes(inside) == model_bytes(outside)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_the_parameter(name, tmp_path):
    X, y = problem(2)
    for said in ("auto", True, False):
        weald.save(small(name, multi_label=said).fit(X, y), tmp_path / "model")
        loaded = weald.load(tmp_path / "model")
        assert loaded.multi_label is said or loaded.multi_label == said == "auto"
