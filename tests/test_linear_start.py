"""Boosting from a linear model: `init="linear"` and `init="auto"`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weald
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from weald._fit.base import prepare
from weald._fitted.fits import Fit
from weald._rounds import linear_start

pytestmark = pytest.mark.quick


def words(n: int = 240, p: int = 60, n_labels: int = 5, seed: int = 0) -> tuple[Any, NDArray[np.int64]]:
    """Counts of words, and labels that are sums of words with a little noise."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=0.12, rng=rng, format="csr")
    X.data = np.ceil(3 * X.data)
    W = rng.normal(size=(p, n_labels)) * (rng.random((p, n_labels)) < 0.3)
    scores = X @ W + 0.3 * rng.normal(size=(n, n_labels))
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(np.int64)


def loss(proba: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    p = np.clip(proba, 1e-12, 1 - 1e-12)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)))


def boosting(**parameters: Any) -> weald.GradientBoostingClassifier:
    return weald.GradientBoostingClassifier(**{"n_estimators": 10, "random_state": 3, **parameters})


def test_a_linear_start_is_better_than_none_where_labels_are_sums_of_words() -> None:
    X, Y = words(400)
    train, test = slice(0, 300), slice(300, None)
    found = {
        init: loss(boosting(init=init).fit(X[train], Y[train]).predict_proba(X[test]), Y[test])
        for init in (None, "linear")
    }
    assert found["linear"] < found[None]


def test_predictions_are_the_scores_of_the_linear_model_plus_the_stages() -> None:
    X, Y = words()
    model = boosting(init="linear").fit(X, Y)
    linear = model._init
    assert type(linear) is weald.LinearClassifier
    single = X.astype(np.float32)
    expected = 2 * (model._model.predict_scores(single) + linear._model.predict_scores(single))
    np.testing.assert_array_equal(model.decision_function(X), expected)
    staged = list(model.staged_decision_function(X))
    np.testing.assert_array_equal(staged[-1], expected)


def test_stages_see_scores_of_samples_that_the_linear_model_was_not_fitted_to() -> None:
    """Random labels of as many samples as words: a linear model fits them, but knows nothing about others."""
    rng = np.random.default_rng(0)
    X, _ = words(120, 400)
    Y = (rng.random((120, 3)) < 0.4).astype(np.int64)
    model = boosting(init="linear").fit(X, Y)
    own = boosting(init=FrozenEstimator(model._init)).fit(X, Y)
    assert model.train_score_[0] > own.train_score_[0]


@pytest.mark.parametrize("masked", [False, True])
def test_scores_of_the_folds_of_a_fit_are_those_of_fits_to_the_other_folds(masked: bool) -> None:
    X, Y = words()
    mask = np.random.default_rng(0).random(Y.shape) < 0.2 if masked else None
    linear = weald.LinearClassifier(random_state=0)
    samples, folds = linear._fit_with_folds(Fit(X, Y, y_weight=mask))
    found = linear_start.held_out(samples.X, folds)
    expected = linear_start.held_out(samples.X, linear_start.fold_models(linear, samples, linear_start.N_FOLDS, 1))
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.fold, expected.fold)


@pytest.mark.parametrize("init", ["linear", "auto"])
def test_layouts_threads_and_the_order_of_samples_do_not_matter(init: str) -> None:
    X, Y = words()
    expected = boosting(init=init).fit(X, Y).decision_function(X)
    for other in (X.tocsc(), X.toarray(), sparse.csr_matrix(X)):
        np.testing.assert_array_equal(boosting(init=init).fit(other, Y).decision_function(X), expected)
    np.testing.assert_array_equal(boosting(init=init, n_jobs=3).fit(X, Y).decision_function(X), expected)
    order = np.random.default_rng(1).permutation(len(Y))
    np.testing.assert_array_equal(boosting(init=init).fit(X[order], Y[order]).decision_function(X), expected)


@pytest.mark.parametrize("init", ["linear", "auto"])
def test_samples_of_weight_zero_are_not_there(init: str) -> None:
    """Copies are samples of their own in the folds of the start (docs/determinism.md)."""
    X, Y = words(120)
    weights = np.random.default_rng(2).integers(0, 3, size=120)
    rows = np.flatnonzero(weights)
    weighted = boosting(init=init).fit(X, Y, sample_weight=weights).decision_function(X)
    removed = boosting(init=init).fit(X[rows], Y[rows], sample_weight=weights[rows]).decision_function(X)
    np.testing.assert_array_equal(removed, weighted)


@pytest.mark.parametrize("init", ["linear", "auto"])
@pytest.mark.parametrize("kind", ["two classes", "classes", "labels", "sparse labels", "unknown labels"])
def test_files_and_copies_predict_the_same(init: str, kind: str) -> None:
    X, Y = words()
    y: Any = {"two classes": Y[:, 0], "classes": Y[:, 0] + Y[:, 1], "sparse labels": sparse.csr_array(Y)}.get(kind, Y)
    if kind == "unknown labels":
        y = np.where(np.random.default_rng(4).random(Y.shape) < 0.3, np.nan, Y)
    model = boosting(init=init).fit(X, y)
    expected = model.predict_proba(X)
    assert np.isfinite(expected).all()
    data = weald.dumps(model)
    loaded = weald.loads(data)
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)
    assert weald.dumps(loaded) == data
    assert clone(model).get_params() == model.get_params()


def test_auto_has_no_linear_start_where_it_does_not_help_or_cannot_be() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert boosting(init="auto").fit(X, y)._init is None
    words_X, Y = words(400)
    assert type(boosting(init="auto").fit(words_X, Y)._init) is weald.LinearClassifier
    X[0, 0] = np.nan
    plain = boosting().fit(X, y)
    np.testing.assert_array_equal(boosting(init="auto").fit(X, y).decision_function(X), plain.decision_function(X))
    squared = boosting(init="auto", loss="squared_error").fit(words_X, Y)
    assert squared._init is None


def test_auto_keeps_the_stages_that_help_on_top_of_the_linear_model() -> None:
    """Labels are sums of words, and one of them is also there if exactly one of two words is."""
    X, Y = words(900, 60, 8)
    rng = np.random.default_rng(0)
    X = sparse.hstack([X, sparse.csr_array(rng.random((900, 2)) < 0.5).astype(float)], format="csr")
    one, other = (X[:, [60, 61]].toarray() > 0).T
    Y[:, 0] |= one ^ other
    train, test = slice(0, 700), slice(700, None)
    model = boosting(init="auto", n_estimators=40).fit(X[train], Y[train])
    assert type(model._init) is weald.LinearClassifier
    assert 1 < model.n_estimators_ <= 40
    assert loss(model.predict_proba(X[test]), Y[test]) < loss(model._init.predict_proba(X[test]), Y[test])
    # Random labels of other words: the linear model says how frequent they are, and stages add nothing.
    nothing = boosting(init="auto").fit(words(300)[0], (rng.random((300, 2)) < 0.3).astype(int))
    assert nothing._init is None or nothing.n_estimators_ < 10


class Losses:
    """Losses after each stage, without and with a start, and of the start alone."""

    def __init__(self, alone: list[float], both: list[float], linear: float) -> None:
        self.of, self.linear = (alone, both), linear

    def losses(self, config: object, start: object, n_threads: int) -> list[float]:
        return self.of[start is not None]

    def loss(self, *_: object) -> float:
        return self.linear


@pytest.mark.parametrize(
    ("alone", "both", "linear", "expected"),
    [
        ([3, 2, 5], [2, 1, 9], 4, (True, 2)),
        ([3, 2, 5], [4, 5, 9], 1, (True, 0)),
        ([3, 1, 5], [4, 2, 9], 3, (False, 2)),
        ([2], [2], 2, (True, 0)),
    ],
)
def test_the_least_losses_say_what_helps(alone: Any, both: Any, linear: float, expected: tuple[bool, int]) -> None:
    start = np.zeros((1, 1))
    found = linear_start.worth(Losses(alone, both, linear), {}, start, 1)  # type: ignore[arg-type]
    assert (found.start, found.n_stages) == expected


def test_samples_that_judge_have_no_part_in_what_they_judge() -> None:
    X, Y = words(200)
    linear = weald.LinearClassifier(random_state=0).fit(X, Y)
    fold = (np.arange(200) % 3).astype(np.uint32)
    other = np.where(fold[:, None] == 0, 1 - Y, Y)

    def start(y: NDArray[np.int64]) -> NDArray[np.float64]:
        samples = prepare(linear, Fit(X, y))
        judged = linear_start.Judged.by_fold(samples, None, fold)
        assert judged is not None
        return judged.start(linear, np.zeros(Y.shape), 3, 1)

    scores = start(Y)
    np.testing.assert_array_equal(scores, start(other))
    assert (scores[fold == 0] == 0).all()
    assert (scores[fold > 0] != 0).any()


def test_auto_takes_the_start_where_no_samples_can_judge_it() -> None:
    X, Y = words()
    holes = Y.astype(float)
    holes[1:, 1] = np.nan  # one sample knows this label: it judges, or is judged
    assert boosting(init="auto").fit(X, holes).n_estimators_ == 10
    assert boosting(init="auto").fit(X[:1], Y[:1]).n_estimators_ == 10


def test_a_warm_start_goes_on_from_the_same_linear_model() -> None:
    X, Y = words()
    whole = boosting(init="linear").fit(X, Y)
    model = boosting(init="linear", warm_start=True).set_params(n_estimators=4).fit(X, Y)
    with pytest.raises(ValueError, match="base_margin is not supported with init"):
        model.set_params(n_estimators=10).fit(X, Y, base_margin=np.zeros(Y.shape))
    model.fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_what_a_linear_start_does_not_support_is_named() -> None:
    X, Y = words(60)
    dense = X.toarray()
    dense[0, 0] = np.nan
    with pytest.raises(ValueError, match="init: X contains NaN"):
        boosting(init="linear").fit(dense, Y)
    with pytest.raises(ValueError, match="init='linear' requires a loss with probabilities, got loss='squared_error'"):
        boosting(init="linear", loss="squared_error").fit(X, Y)
    with pytest.raises(ValueError, match="base_margin is not supported with init"):
        boosting(init="linear").fit(X, Y, base_margin=np.zeros(Y.shape))
    with pytest.raises(ValueError, match="init"):
        boosting(init="quadratic").fit(X, Y)
    with pytest.raises(ValueError, match="init"):
        weald.GradientBoostingRegressor(init="linear").fit(X, Y[:, 0])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("parameters", [{}, {"early_stopping": False}], ids=["defaults", "no stopping"])
@pytest.mark.parametrize("init", ["linear", "auto"])
def test_NaN_in_samples_of_weight_zero_does_not_matter(init: str, parameters: dict[str, Any], layout: Any) -> None:
    X, Y = words()
    weights = np.arange(len(Y)) % 5 % 3
    gaps = X.toarray()
    gaps[(weights == 0)[:, np.newaxis] & (gaps == 2)] = np.nan
    assert np.isnan(gaps).any()
    model = boosting(init=init, **parameters).fit(layout(gaps), Y, sample_weight=weights)
    there = weights > 0
    without = boosting(init=init, **parameters).fit(X[there], Y[there], sample_weight=weights[there])
    assert type(model._init) is weald.LinearClassifier
    np.testing.assert_array_equal(model.decision_function(X), without.decision_function(X))
    unknown = np.where(there[:, np.newaxis], Y, np.nan)
    with_mask = boosting(init=init, **parameters).fit(layout(gaps), unknown, sample_weight=np.maximum(weights, 1))
    np.testing.assert_array_equal(with_mask.decision_function(X), without.decision_function(X))
    gaps[np.flatnonzero(there)[0], 0] = np.nan
    if init == "linear":
        with pytest.raises(ValueError, match="init: X contains NaN"):
            boosting(init=init, **parameters).fit(layout(gaps), Y, sample_weight=weights)
    else:
        assert boosting(init=init, **parameters).fit(layout(gaps), Y, sample_weight=weights)._init is None
