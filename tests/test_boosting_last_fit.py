"""Early stopping that ends with a fit to all samples (`refit`), and by several folds (`cv` of `EarlyStopping`)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import BOOSTING, check_refused, make, make_data, model_bytes, unless
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from test_boosting_rounds import Recorder
from weald import EarlyStopping
from weald._input.targets import Target
from weald._rounds import held_out
from weald.projection import Projected

CLASSIFIER, REGRESSOR = BOOSTING
OUTPUTS = [
    (REGRESSOR, "single"),
    (REGRESSOR, "several"),
    (CLASSIFIER, "single"),
    (CLASSIFIER, "several"),
    (CLASSIFIER, "labels"),
]
SEARCHES = [
    {"early_stopping": EarlyStopping(refit=True)},
    {"early_stopping": EarlyStopping(cv=3)},
    {"early_stopping": EarlyStopping(cv=4, refit=True), "n_iter_no_change": 2},
]
# Parameters and arguments of `fit` that early stopping meets.
GAPS = [
    (REGRESSOR, "several", {"subsample": 0.6, "max_features": 0.5}, {}),
    (REGRESSOR, "several", {"output_strategy": "joint", "output_scaling": "variance"}, {"weights": True}),
    (REGRESSOR, "several", {"output_strategy": Projected(n_projections=2)}, {}),
    (REGRESSOR, "several", {"output_strategy": Projected(relabel_leaves=False)}, {"sparse": True}),
    (REGRESSOR, "single", {"loss": "absolute_error"}, {"weights": True}),
    (REGRESSOR, "single", {"loss": weald.loss.Quantile(0.8), "min_samples_leaf": 0.05}, {}),
    (REGRESSOR, "single", {"init": Ridge()}, {"weights": True}),
    (REGRESSOR, "several", {"init": LinearRegression()}, {}),
    (REGRESSOR, "several", {"estimator": LinearRegression(), "output_strategy": "joint"}, {"sparse": True}),
    (REGRESSOR, "several", {"estimator": KNeighborsRegressor(3), "output_strategy": "joint"}, {}),
    (REGRESSOR, "several", {"scoring": "r2"}, {}),
    (REGRESSOR, "several", {}, {"masked": True}),
    (REGRESSOR, "single", {}, {"margin": True}),
    (CLASSIFIER, "single", {"class_weight": "balanced"}, {}),
    (CLASSIFIER, "single", {"init": LogisticRegression(), "scoring": "accuracy"}, {"weights": True}),
    (CLASSIFIER, "labels", {"init": "linear"}, {"sparse": True}),
    (CLASSIFIER, "labels", {"label_weight": "balanced"}, {"masked": True}),
]


def data(name, outputs, n=90, *, weights=False, masked=False, margin=False, sparse=False):
    """X, y and the arguments of `fit`."""
    X, y = make_data(name, outputs=outputs, n=n)
    rng, fit = np.random.default_rng(1), {}
    if weights:
        fit["sample_weight"] = rng.integers(0, 4, n).astype(float)
    if masked:
        fit["y_weight"] = rng.random(y.shape) >= 0.2
    if margin:
        fit["base_margin"] = rng.normal(size=n)
    return csr(X) if sparse else X, y, fit


def csr(X):
    return sparse.csr_array(X)


def search(name, **params):
    return make(name, **{"n_estimators": 60, "learning_rate": 0.6, "max_leaf_nodes": 8, **params})


def same(a, b, X, **predict):
    """Whether two models predict the same, to the bit."""
    np.testing.assert_array_equal(a._model.train_score(), b._model.train_score())
    found, expected = (np.asarray(m._scores(X, **predict)) for m in (a, b))
    np.testing.assert_array_equal(found, expected)
    assert (a._weak is None) == (b._weak is None)
    assert a._weak is not None or model_bytes(a) == model_bytes(b)


# The last fit


@pytest.mark.parametrize("way", SEARCHES)
@pytest.mark.parametrize(("name", "outputs", "params", "kind"), [*((*o, {}, {}) for o in OUTPUTS), *GAPS])
def test_the_last_fit_is_a_fit_with_that_number_of_stages(name, outputs, params, kind, way):
    X, y, fit = data(name, outputs, **kind)
    model = search(name, **way, **params).fit(X, y, **fit)
    n = model.n_estimators_
    assert 1 <= n <= 60
    plain = search(name, **params | {"n_estimators": n, "scoring": None}).fit(X, y, **fit)
    same(model, plain, X, **{key: value for key, value in fit.items() if key == "base_margin"})
    np.testing.assert_array_equal(model.train_score_, plain.train_score_)
    assert model.train_score_.shape == (n,)
    assert len(model.validation_score_) >= n
    assert hasattr(model, "validation_metric_") == ("scoring" in params)
    if params.get("subsample"):
        np.testing.assert_array_equal(model.oob_improvement_, plain.oob_improvement_)
    again = weald.loads(weald.dumps(model)) if params.get("estimator") is None else clone(model).fit(X, y, **fit)
    np.testing.assert_array_equal(again.validation_score_, model.validation_score_)
    assert again.early_stopping == way["early_stopping"]


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_the_search_is_that_of_early_stopping_alone(name, outputs):
    X, y, _ = data(name, outputs)
    found = search(name, early_stopping=True).fit(X, y)
    model = search(name, early_stopping=EarlyStopping(refit=True)).fit(X, y)
    assert model.n_estimators_ == found.n_estimators_
    np.testing.assert_array_equal(model.validation_score_, found.validation_score_)


def test_eval_sets_are_evaluated_by_the_last_model():
    X, y, _ = data(REGRESSOR, "several")
    model = search(REGRESSOR, early_stopping=EarlyStopping(cv=3)).fit(X, y, eval_sets=[(X[:20], y[:20])])
    plain = search(REGRESSOR, n_estimators=model.n_estimators_).fit(X, y, eval_sets=[(X[:20], y[:20])])
    np.testing.assert_array_equal(model.eval_results_["eval_0"]["loss"], plain.eval_results_["eval_0"]["loss"])


def test_frames_pipelines_and_quantiles():
    X, y, _ = data(REGRESSOR, "several")
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(np.where(X[:, 3] > 0, "up", np.where(X[:, 3] < 0, "down", "none")))
    for way in SEARCHES:
        boosting = search(REGRESSOR, **way)
        model = make_pipeline(FunctionTransformer(), boosting).set_output(transform="pandas").fit(frame, y)
        plain = search(REGRESSOR, n_estimators=model[-1].n_estimators_).fit(frame, y)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(frame))
        loss = weald.loss.Quantile([0.2, 0.8])
        quantiles = search(REGRESSOR, loss=loss, **way).fit(X, y)
        plain = search(REGRESSOR, loss=loss, n_estimators=quantiles.n_estimators_).fit(X, y)
        np.testing.assert_array_equal(quantiles.predict_quantiles(X), plain.predict_quantiles(X))


# Folds


def naive(model, X, y, w, fold, patience, tol):
    """The mean curve, and the number of stages, by fits without early stopping."""
    curves, starts, weights = [], [], []
    for k in range(fold.max() + 1):
        there, held = fold != k, fold == k
        kwargs = {"sample_weight_val": w[held], "X_val": X[held], "y_val": y[held]}
        part = clone(model).set_params(early_stopping=False).fit(X[there], y[there], w[there], **kwargs)
        curves.append(part.validation_score_)
        # A stage that adds nothing: the loss before the first one.
        none = clone(model).set_params(early_stopping=False, n_estimators=1, learning_rate=1e-12)
        starts.append(none.fit(X[there], y[there], w[there], **kwargs).validation_score_[0])
        weights.append(w[held].sum())
    mean, start = np.average(curves, axis=0, weights=weights), np.average(starts, weights=weights)
    n_rounds = len(mean)
    for n in range(patience + 1, len(mean) + 1):
        if mean[n - patience : n].min() > mean[: n - patience].min() - tol * start:
            n_rounds = n
            break
    return mean[:n_rounds], int(np.argmin(mean[:n_rounds])) + 1


def folds_of(model, X, y, w):
    """The fold of each sample."""
    target = make(type(model).__name__)._check_y(y, w, len(X))
    found = np.empty(len(X), dtype=int)
    for k, (train, test) in enumerate(
        held_out.folds_of(model.early_stopping.cv, np.asarray(X, np.float32), target, w, model._seed)
    ):
        assert sorted([*train, *test]) == list(range(len(X)))
        found[test] = k
    return found


@pytest.mark.parametrize("params", [{}, {"learning_rate": 0.05, "tol": 0.0, "subsample": 0.8}, {"tol": 0.05}])
@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_the_number_of_stages_is_that_of_the_least_mean_loss(name, outputs, params):
    X, y, _ = data(name, outputs)
    w = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    params = {"n_iter_no_change": 5, "tol": 1e-4, **params}
    model = search(name, early_stopping=EarlyStopping(cv=3), **params).fit(X, y, w)
    fold = folds_of(model, X, y, w)
    curve, n = naive(
        search(name, early_stopping=EarlyStopping(cv=3), **params),
        X,
        y,
        w,
        fold,
        params["n_iter_no_change"],
        params["tol"],
    )
    assert model.n_estimators_ == n
    # The weights of the mean are summed in another order: some units in the last place.
    np.testing.assert_allclose(model.validation_score_, curve, rtol=1e-12)


def test_scores_decide_if_scoring_says_so():
    X, y, _ = data(CLASSIFIER, "single")
    model = search(CLASSIFIER, early_stopping=EarlyStopping(cv=3), scoring="accuracy", n_iter_no_change=4, tol=0.0).fit(
        X, y
    )
    fold, metrics = folds_of(model, X, y, None), []
    for k in range(3):
        held = fold == k
        part = search(CLASSIFIER, scoring="accuracy").fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
        metrics.append(part.validation_metric_)
    mean = np.average(metrics, axis=0, weights=np.bincount(fold))
    n = next(n for n in range(5, 61) if mean[n - 4 : n].max() <= mean[: n - 4].max() or n == 60)
    # Sums of three products in another order.
    np.testing.assert_allclose(model.validation_metric_, mean[:n], rtol=1e-12)
    assert model.n_estimators_ == np.argmax(model.validation_metric_) + 1


@pytest.mark.parametrize("name", BOOSTING)
def test_splitters_say_which_samples_are_in_a_fold(name):
    X, y, _ = data(name, "single")
    groups = np.arange(len(X)) % 7
    w = np.random.default_rng(0).integers(0, 3, len(X))
    splits = list(GroupKFold(3).split(X, y, groups))
    model = search(name, early_stopping=EarlyStopping(cv=splits)).fit(X, y, sample_weight=w)
    fold = np.empty(len(X), dtype=int)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    there = w > 0
    curve, n = naive(search(name), X[there], y[there], w[there].astype(float), fold[there], 30, 1e-4)
    assert model.n_estimators_ == n
    # The weights of the mean are summed in another order: some units in the last place.
    np.testing.assert_allclose(model.validation_score_, curve, rtol=1e-12)
    # Folds that leave samples out altogether, as those of time series do: the mean has the weights of their samples.
    in_time = search(name, early_stopping=EarlyStopping(cv=TimeSeriesSplit(3)), n_estimators=3, n_iter_no_change=9).fit(
        X, y
    )
    curves = []
    for train, test in TimeSeriesSplit(3).split(X):
        part = search(name, n_estimators=3).fit(X[train], y[train], X_val=X[test], y_val=y[test])
        curves.append(part.validation_score_)
    np.testing.assert_allclose(in_time.validation_score_, np.mean(curves, axis=0), rtol=1e-12)
    saved = weald.loads(weald.dumps(search(name, early_stopping=EarlyStopping(cv=KFold(3))).fit(X, y)))
    assert saved.early_stopping.cv.n_splits == 3


def test_init_does_not_know_the_samples_of_a_fold():
    """A start that returns what it has seen has no error on samples that it knows."""
    X, y, _ = data(REGRESSOR, "single")
    y = np.random.default_rng(0).normal(size=len(X))
    X = X + np.arange(len(X))[:, np.newaxis] / 1000
    model = search(REGRESSOR, init=KNeighborsRegressor(1), early_stopping=EarlyStopping(cv=3)).fit(X, y)
    assert model.validation_score_[0] > 0.5 * y.var()


@pytest.mark.parametrize(("name", "outputs"), OUTPUTS)
def test_laws_of_weights_order_and_layout(name, outputs):
    X, y, _ = data(name, outputs)
    n = len(X)
    X[5], X[7] = X[6], X[8]  # equal samples, with other y
    rng = np.random.default_rng(2)
    params = {"early_stopping": EarlyStopping(cv=4), "n_iter_no_change": 3}
    model = search(name, **params).fit(X, y)

    def check(other):
        assert model_bytes(other) == expected
        np.testing.assert_array_equal(other.validation_score_, curve)

    expected, curve = model_bytes(model), model.validation_score_
    for layout in (sparse.csr_array, sparse.csc_array, np.asfortranarray):
        check(search(name, **params).fit(layout(X), y))
    check(search(name, **params, n_jobs=3).fit(X, y))
    order = rng.permutation(n)
    check(search(name, **params).fit(X[order], y[order]))
    w = rng.integers(0, 3, n)
    weighted = search(name, **params).fit(X, y, sample_weight=w)
    # Copies are samples of their own in folds; they are weights where the folds are given.
    times = np.repeat(np.arange(n), w)
    fold = rng.integers(0, 3, n)
    of_samples = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    of_copies = [(np.flatnonzero(fold[times] != k), np.flatnonzero(fold[times] == k)) for k in range(3)]
    repeated = search(name, **params | {"early_stopping": EarlyStopping(cv=of_copies)}).fit(X[times], y[times])
    given = search(name, **params | {"early_stopping": EarlyStopping(cv=of_samples)}).fit(X, y, sample_weight=w)
    # Models of weights and of copies differ in what they say about the number of samples, not in what they predict.
    np.testing.assert_array_equal(given.validation_score_, repeated.validation_score_)
    np.testing.assert_array_equal(given._scores(X), repeated._scores(X))
    removed = search(name, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(weighted) == model_bytes(removed)
    other = search(name, **params, random_state=7).fit(X, y)
    assert list(other.validation_score_) != list(curve)


@given(
    values=st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan")]), min_size=3, max_size=3), min_size=1, max_size=30
    ),
    classes=st.lists(st.integers(0, 3), min_size=30, max_size=30),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 5),
)
def test_folds_of_small_and_hostile_samples(values, classes, n_folds, seed):
    X = np.array(values, dtype=np.float32).reshape(-1, 3)
    n, y = len(X), np.array(classes[: len(X)])
    there = np.flatnonzero(np.bincount(y, minlength=4)[y] > 1)
    engine = (y[:, np.newaxis].astype(np.uint32), [4])
    target = Target(kind="classes", engine=engine, n_outputs=1, classes=[np.arange(4)], original=y)
    if len(there) < n_folds:
        with pytest.raises(ValueError, match=f"got {n_folds} for {len(there)} samples with a class of other samples"):
            held_out.folds_of(n_folds, X, target, None, seed)
        return
    found = held_out.folds_of(n_folds, X, target, None, seed)
    fold_of = np.full(n, -1)
    for fold, (train, test) in enumerate(found):
        fold_of[test] = fold
        assert sorted([*train, *test]) == list(range(n))
    assert np.flatnonzero(fold_of >= 0).tolist() == there.tolist()
    for rows in (there, *(there[y[there] == c] for c in range(4))):
        counts = np.bincount(fold_of[rows], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
    for layout in (sparse.csr_array, sparse.csc_array):
        again = held_out.folds_of(n_folds, layout(X), target, None, seed)
        assert all(
            np.array_equal(a, b)
            for one, other in zip(again, found, strict=True)
            for a, b in zip(one, other, strict=True)
        )


def test_few_samples():
    X, y = np.arange(3.0)[:, np.newaxis], np.array([0.0, 1.0, 5.0])
    model = search(REGRESSOR, early_stopping=EarlyStopping(cv=3)).fit(X, y)
    assert model.predict(X).shape == (3,)
    for way, n, message in [
        (
            {"early_stopping": EarlyStopping(cv=4)},
            3,
            "cv must be at most the number of samples, got 4 for 3 samples with a known y",
        ),
        (
            {"early_stopping": EarlyStopping(cv=2)},
            1,
            "cv must be at most the number of samples, got 2 for 1 samples with a known y",
        ),
        ({"early_stopping": EarlyStopping(refit=True)}, 1, "validation_fraction must allow a split of the samples"),
    ]:
        check_refused(make(REGRESSOR).fit(X, y).set_params(**way), ValueError, message, X[:n], y[:n])
    # Equal samples are held out one by one.
    search(REGRESSOR, early_stopping=EarlyStopping(cv=4)).fit(np.repeat(X, 5, axis=0), np.repeat(y, 5))
    one_class = search(CLASSIFIER, early_stopping=EarlyStopping(cv=3)).fit(X, ["a", "a", "a"])
    assert one_class.predict(X).tolist() == ["a"] * 3
    alone = ["a", "b", "c"]
    message = "got 2 for 0 samples with a class of other samples"
    check_refused(
        make(CLASSIFIER).fit(X, alone).set_params(early_stopping=EarlyStopping(cv=2)), ValueError, message, X, alone
    )


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_rare_classes_and_labels(loss):
    X, _, _ = data(CLASSIFIER, "single", n=40)
    y = np.repeat(["often", "rare", "once"], [37, 2, 1])
    model = search(CLASSIFIER, early_stopping=EarlyStopping(cv=5), loss=loss).fit(X, y)
    assert model.classes_.tolist() == ["often", "once", "rare"]
    assert np.isfinite(model.validation_score_).all()
    labels = np.zeros((40, 4), dtype=int)
    labels[:3, 0], labels[3, 1], labels[:, 2] = 1, 1, 1
    model = search(CLASSIFIER, early_stopping=EarlyStopping(cv=5), loss=loss).fit(X, labels)
    assert np.isfinite(model.validation_score_).all()
    # Equal samples of several classes.
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = rng.integers(0, 7, size=(40, 1)), rng.integers(0, 5, size=40)
        y[X[:, 0] < 4] = 4
        assert np.isfinite(
            search(CLASSIFIER, n_estimators=8, early_stopping=EarlyStopping(cv=2), loss=loss)
            .fit(X, y)
            .validation_score_
        ).all()


def test_what_does_not_fit_is_refused():
    X, y, _ = data(REGRESSOR, "several")
    fitted = make(REGRESSOR).fit(X, y)
    for params, fit, message in [
        ({"early_stopping": EarlyStopping(cv=[([0, 1], [2])])}, {}, "cv must have at least 2 folds"),
        ({"early_stopping": EarlyStopping(cv=KFold(91))}, {}, "cv must split the samples into folds, got KFold"),
        (
            {"early_stopping": EarlyStopping(cv=[([0, 1], [1, 2])] * 2)},
            {},
            "cv must have disjoint training and test samples, got sample 1",
        ),
        (
            {"early_stopping": EarlyStopping(cv=[([0, 1], [])] * 2)},
            {},
            "cv must have test samples of positive weight in each fold",
        ),
        ({"early_stopping": EarlyStopping(cv=91)}, {}, "cv must be at most the number of samples, got 91"),
        (
            {"early_stopping": EarlyStopping(cv=3)},
            {"X_val": X, "y_val": y},
            "cv must be None if X_val and y_val are given",
        ),
        (
            {"early_stopping": EarlyStopping(cv=3), "warm_start": True},
            {},
            "cv does not support further stages with warm_start=True, .* got cv=3",
        ),
        (
            {"n_iter_no_change": 2, "early_stopping": EarlyStopping(refit=True), "warm_start": True},
            {},
            "refit does not support further stages",
        ),
    ]:
        kept = {"early_stopping": "auto", "warm_start": False, "n_iter_no_change": None, "n_estimators": 6}
        check_refused(fitted.set_params(**kept | params), ValueError, message, X, y, **fit)
    unknown = np.zeros(y.shape, dtype=bool)
    unknown[1:, 0] = True
    message = "cv must allow a fit without each fold, got 3: y must have a known value in column 0"
    check_refused(
        fitted.set_params(early_stopping=EarlyStopping(cv=3), warm_start=False),
        ValueError,
        message,
        X,
        y,
        y_weight=unless(unknown),
    )


# What is told


@pytest.mark.parametrize(
    "way", [{"early_stopping": EarlyStopping(refit=True)}, {"early_stopping": EarlyStopping(cv=3)}]
)
def test_callbacks_watch_the_search_and_may_end_it(way):
    X, y, _ = data(REGRESSOR, "several")
    whole = search(REGRESSOR, learning_rate=0.1, **way).fit(X, y)
    recorder = Recorder(end=4)
    model = search(REGRESSOR, learning_rate=0.1, callbacks=recorder, **way).fit(X, y)
    assert [number for number, _, _ in recorder.seen] == list(range(5))
    np.testing.assert_array_equal([loss for _, _, loss in recorder.seen], whole.validation_score_[:5])
    assert model.n_estimators_ == np.argmin(whole.validation_score_[:5]) + 1
    plain = search(REGRESSOR, learning_rate=0.1, n_estimators=model.n_estimators_).fit(X, y)
    assert model_bytes(model) == model_bytes(plain)


@pytest.mark.parametrize(
    "way", [{"early_stopping": EarlyStopping(refit=True)}, {"early_stopping": EarlyStopping(cv=3)}]
)
def test_callbacks_of_scikit_learn_watch_the_last_fit(way):
    pytest.importorskip("sklearn.callback")
    from test_callbacks import Record

    X, y, _ = data(REGRESSOR, "single")
    record = Record()
    model = search(REGRESSOR, **way).set_callbacks(record).fit(X, y)
    plain = Record()
    search(REGRESSOR, n_estimators=model.n_estimators_).set_callbacks(plain).fit(X, y)
    rounds = [[told for told in r.told if told[1] == "round"] for r in (record, plain)]
    assert rounds[0] == rounds[1]
    assert len(rounds[0]) == 2 * model.n_estimators_
    np.testing.assert_array_equal(record.predictions, plain.predictions)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ({"early_stopping": EarlyStopping(refit=True)}, "held-out samples"),
        ({"early_stopping": EarlyStopping(cv=3)}, "3 folds"),
    ],
)
def test_lines_name_the_search_and_the_last_fit(way, name, capsys):
    X, y, _ = data(REGRESSOR, "single")
    model = search(REGRESSOR, verbose=2, **way).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    searched = [line for line in lines if line.startswith(f"{REGRESSOR}, {name}: round ")]
    last = [line for line in lines if line.startswith(f"{REGRESSOR}: round ")]
    assert len(searched) == len(model.validation_score_)
    assert len(last) == model.n_estimators_
    assert len(lines) == 1 + len(searched) + len(last)  # the first one is the plan
    assert "validation loss" in searched[0]
    assert "validation loss" not in last[0]
