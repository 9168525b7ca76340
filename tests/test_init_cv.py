"""`init_cv`: training samples start from copies of `init` that were fitted without them."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from conftest import BOOSTING, check_refused, make, make_data, model_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from weald._rounds import folds

CLASSIFIER, REGRESSOR = BOOSTING
CASES = [(CLASSIFIER, "single"), (CLASSIFIER, "labels"), (REGRESSOR, "single"), (REGRESSOR, "several")]


def linear(name, outputs):
    if name == REGRESSOR:
        return LinearRegression()
    return OneVsRestClassifier(LogisticRegression()) if outputs == "labels" else LogisticRegression()


def case(name, outputs, n=90):
    X, y = make_data(name, n=n, outputs=outputs)
    return X.astype(np.float32), y


@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize(("name", "outputs"), CASES)
def test_samples_start_from_models_that_have_not_seen_them(name, outputs, n_folds):
    """Compared with a plain loop over the folds, whose predictions are given as margins."""
    X, y = case(name, outputs)
    seen = []
    original = folds.of

    def watched(*args, **more):
        seen.append(original(*args, **more))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folds, "of", watched)
        model = make(name, init=linear(name, outputs), init_cv=n_folds).fit(X, y)
    (splits,) = seen
    assert len(splits) == n_folds
    fold = np.empty(len(X), dtype=int)
    for k, (train, test) in enumerate(splits):
        assert sorted([*train, *test]) == list(range(len(X)))
        fold[test] = k
    assert np.ptp(np.bincount(fold)) <= 1
    width = model.decision_function(X).reshape(len(X), -1).shape[1] if name == CLASSIFIER else y.reshape(len(X), -1)
    margins = np.zeros((len(X), width if name == CLASSIFIER else width.shape[1]))
    for k in range(n_folds):
        start = linear(name, outputs).fit(X[fold != k], y[fold != k])
        # The margins are the predictions of a boosted model with a frozen start, before its first stage.
        none = make(name, init=FrozenEstimator(start)).fit(X[fold != k], y[fold != k])
        scores = none.decision_function(X, n_stages=0) if name == CLASSIFIER else none.predict(X, n_stages=0)
        margins[fold == k] = scores.reshape(len(X), -1)[fold == k]
    given = make(name).fit(X, y, base_margin=margins)
    # Log-odds and their halves are rounded in another order.
    ours, theirs = (m._model.predict_scores(X, 1) for m in (model, given))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    # Predictions start from the model that is fitted to all samples.
    whole = linear(name, outputs).fit(X, y)
    if name == REGRESSOR:
        # Both models are fitted to the same values.
        np.testing.assert_allclose(model.predict(X, n_stages=0), whole.predict(X), rtol=1e-12, atol=1e-12)
    else:
        # Log-odds of probabilities are rounded to float32, a relative error of 6e-8.
        np.testing.assert_allclose(model.predict_proba(X, n_stages=0), whole.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("name", "outputs"), CASES)
def test_one_model_for_sparse_y_samples_of_weight_zero_and_files(name, outputs, tmp_path):
    X, y = case(name, outputs)
    start = linear(name, outputs)
    if outputs == "labels":  # a model that supports sample weights
        start = weald.DecisionTreeClassifier(max_depth=2, random_state=0)
    params = {"init": start, "init_cv": 3}
    model = make(name, **params).fit(X, y)
    if outputs == "labels":
        assert model_bytes(make(name, **params).fit(X, sparse.csc_array(y))) == model_bytes(model)
    w = np.random.default_rng(0).integers(0, 2, len(X)).astype(float)
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    removed = make(name, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    assert clone(model).get_params()["init_cv"] == 3
    held = make(name, **params, early_stopping=True, n_iter_no_change=2).fit(X, y)
    assert len(held.validation_score_) == len(held.train_score_)
    grown = make(name, **params, n_estimators=2, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=5).fit(X, y)
    assert model_bytes(grown) == model_bytes(model)


def test_a_class_of_one_sample_is_in_every_fold():
    X, y = case(CLASSIFIER, "single")
    y = y.astype(object)
    y[7] = "only one"
    model = make(CLASSIFIER, init=KNeighborsClassifier(3), init_cv=4).fit(X, y)
    assert model.predict_proba(X).shape == (90, 4)


def test_a_start_that_fits_its_samples_closely_leaves_something_to_learn():
    """The nearest neighbour of a training sample is the sample itself: no residual is left for the stages."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(scale=0.3, size=400)
    start = KNeighborsRegressor(1)
    alone = clone(start).fit(X, y).predict(X)
    seen, unseen = (make(REGRESSOR, init=start, init_cv=n).fit(X, y) for n in (None, 5))
    # All residuals are zero, so that stages add exact zeros.
    np.testing.assert_array_equal(seen.predict(X), alone)
    assert np.abs(unseen.predict(X) - alone).mean() > 0.01
    assert unseen.train_score_[-1] < unseen.train_score_[0]


def test_what_does_not_fit_is_refused():
    X, y = case(REGRESSOR, "single")
    model = make(REGRESSOR).fit(X, y)
    for params, error, message in [
        (
            {"init_cv": 3},
            ValueError,
            "init_cv=3 is not supported without init: init must be an estimator, or init_cv None",
        ),
        ({"init_cv": 1, "init": LinearRegression()}, ValueError, "'init_cv' parameter"),
        ({"init_cv": 2.5, "init": LinearRegression()}, ValueError, "'init_cv' parameter"),
        (
            {"init_cv": 91, "init": LinearRegression()},
            ValueError,
            "init_cv must be at most the number of samples, got 91",
        ),
        (
            {"init_cv": 3, "init": FrozenEstimator(LinearRegression().fit(X, y))},
            ValueError,
            "init_cv=3 does not support a frozen init",
        ),
        ({"init_cv": 2, "init": KNeighborsRegressor(60)}, ValueError, "Expected n_neighbors <= n_samples_fit"),
    ]:
        other = model.set_params(**{"init": None, "init_cv": None} | params)
        check_refused(other, error, message, X, y)
    both = make(REGRESSOR, init=LinearRegression(), init_cv=2)
    with pytest.raises(ValueError, match="base_margin is not supported with init"):
        both.fit(X, y, base_margin=y)
    classes = np.repeat([0, 1], 45)
    labels = np.column_stack([classes, np.arange(90) == 3])
    broken = make(CLASSIFIER, init=weald.DecisionTreeClassifier(min_samples_split=1), init_cv=2)
    with pytest.raises(ValueError, match="min_samples_split"):
        broken.fit(X, labels)
