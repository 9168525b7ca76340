"""Folds of labels against the algorithm sample by sample; cross-validation with sparse y against that with dense y."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
import sklearn
import sklearn.model_selection as theirs
import weald
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald import model_selection
from weald.metrics import make_topk_scorer, precision_at_k
from weald.model_selection import MultilabelStratifiedKFold

FORMATS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]


def folds_row_by_row(Y, n_splits, order, priority):
    """Iterative stratification as it is published, for folds of equal size, from dense labels.

    The demand of a fold for a label, in units of 1 / n_splits samples, is the number of samples with the label minus
    n_splits times the number of those that the fold already has. The demand for samples is defined in the same way.
    Ties between labels are resolved by the smallest priority, ties between folds by the first fold.
    """
    n, d = Y.shape
    wants_of_label = np.tile(Y.sum(axis=0), (n_splits, 1))
    wants = np.full(n_splits, n)
    fold = np.full(n, -1)
    while True:
        remaining = [sum(Y[i, label] for i in range(n) if fold[i] < 0) for label in range(d)]
        if not any(remaining):
            break
        label = min(
            (label for label in range(d) if remaining[label]), key=lambda label: (remaining[label], priority[label])
        )
        for i in order:
            if fold[i] < 0 and Y[i, label]:
                fold[i] = max(range(n_splits), key=lambda j: (wants_of_label[j, label], wants[j], -j))
                wants_of_label[fold[i]] -= n_splits * Y[i]
                wants[fold[i]] -= n_splits
    for i in order:
        if fold[i] < 0:
            fold[i] = max(range(n_splits), key=lambda j: (wants[j], -j))
            wants[fold[i]] -= n_splits
    return fold


def fold_of_rows(cv, Y):
    fold = np.full(len(Y) if isinstance(Y, list) else Y.shape[0], -1)
    for j, (train, test) in enumerate(cv.split(None, Y)):
        assert (fold[test] < 0).all()
        fold[test] = j
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(fold)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
    assert (fold >= 0).all()
    return fold


@st.composite
def labels_and_splits(draw):
    n_splits = draw(st.integers(2, 5))
    n, d = draw(st.integers(n_splits, 24)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = rng.choice([0.0, 0.1, 0.4, 0.9, 1.0], d)
    return (rng.random((n, d)) < share).astype(int), n_splits, rng


@settings(max_examples=200, deadline=None)
@given(case=labels_and_splits())
def test_folds_are_those_of_the_algorithm_sample_by_sample(case):
    Y, n_splits, _ = case
    fold = fold_of_rows(MultilabelStratifiedKFold(n_splits), Y)
    assert np.array_equal(fold, folds_row_by_row(Y, n_splits, range(len(Y)), range(Y.shape[1])))
    shuffled = fold_of_rows(MultilabelStratifiedKFold(n_splits, shuffle=True, random_state=3), Y)
    drawn = np.random.RandomState(3)
    order, priority = drawn.permutation(len(Y)), drawn.permutation(Y.shape[1])
    assert np.array_equal(shuffled, folds_row_by_row(Y, n_splits, order, priority))
    # Every fold has a sample, because no fold gets a second sample of a label before each fold has one.
    for found in (fold, shuffled):
        assert np.bincount(found, minlength=n_splits).min() > 0


@settings(max_examples=50, deadline=None)
@given(case=labels_and_splits())
def test_folds_do_not_depend_on_the_form_of_y(case):
    Y, n_splits, rng = case
    expected = fold_of_rows(MultilabelStratifiedKFold(n_splits), Y)
    rows, columns = np.nonzero(Y)
    order = rng.permutation(len(rows))
    # Stored zeros, unordered entries, and labels that are stored twice.
    stored = sparse.coo_array(
        (
            np.concatenate([np.ones(2 * len(rows)), np.zeros(len(Y))]),
            (
                np.concatenate([rows[order], rows, np.arange(len(Y))]),
                np.concatenate([columns[order], columns, np.zeros(len(Y), dtype=int)]),
            ),
        ),
        shape=Y.shape,
    )
    forms = [kind(Y) for kind in FORMATS] + [Y.astype(bool), Y.tolist(), np.asfortranarray(Y), Y.astype(object)]
    for form in [*forms, sparse.csr_array(Y.astype(bool)), stored]:
        assert np.array_equal(fold_of_rows(MultilabelStratifiedKFold(n_splits), form), expected)


def test_a_single_label_is_dealt_out_evenly():
    Y = sparse.csr_array(np.ones((23, 1)))
    assert np.bincount(fold_of_rows(MultilabelStratifiedKFold(5), Y)).tolist() == [5, 5, 5, 4, 4]


def deviation(Y, splits):
    """Relative deviation of a label's frequency in a fold from that in all samples, averaged over folds and labels."""
    frequency = Y.mean(axis=0)
    of_folds = np.array([Y[test].mean(axis=0) for _, test in splits])
    return np.mean(np.abs(of_folds - frequency) / frequency)


@pytest.mark.parametrize("shuffle", [False, True])
def test_labels_are_as_frequent_in_folds_as_in_all_samples(shuffle):
    rng = np.random.default_rng(0)
    Y = (rng.random((2000, 30)) < np.geomspace(0.005, 0.5, 30)).astype(int)
    seed = {"shuffle": True, "random_state": 0} if shuffle else {}
    # The tests above compare the folds with the algorithm. Here they must be useful: a fifth of the deviation of random
    # folds was measured.
    stratified = deviation(Y, MultilabelStratifiedKFold(5, **seed).split(Y, Y))
    assert stratified < deviation(Y, theirs.KFold(5, shuffle=True, random_state=0).split(Y)) / 3


def test_seeds():
    Y = sparse.random_array((200, 20), density=0.1, random_state=np.random.default_rng(0), format="csr") > 0
    one, other = (MultilabelStratifiedKFold(4, shuffle=True, random_state=seed) for seed in (0, 1))
    assert np.array_equal(fold_of_rows(one, Y), fold_of_rows(one, Y))
    assert not np.array_equal(fold_of_rows(one, Y), fold_of_rows(other, Y))
    drawing = MultilabelStratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(0))
    assert not np.array_equal(fold_of_rows(drawing, Y), fold_of_rows(drawing, Y))
    assert repr(one) == "MultilabelStratifiedKFold(n_splits=4, random_state=0, shuffle=True)"


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_splits": 1}, ValueError, "n_splits must be an integer of at least 2, got 1"),
        ({"n_splits": True}, ValueError, "n_splits must be an integer of at least 2, got True"),
        ({"n_splits": 2.0}, ValueError, r"n_splits must be an integer of at least 2, got 2\.0"),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False, got 1"),
        (
            {"random_state": 0},
            ValueError,
            "random_state must be None with shuffle=False, which draws no random numbers, got 0",
        ),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        MultilabelStratifiedKFold(**parameters)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(10), r"y must have shape \(n_samples, n_labels\), got an array with 1 dimension"),
        (None, r"y must have shape \(n_samples, n_labels\), got an array with 0"),
        (np.full((10, 2), 2), "y must have the values 0 and 1 for labels, got 2"),
        (sparse.csr_array(np.full((10, 2), -1.5)), r"y must have the values 0 and 1 for labels, got -1\.5"),
        (np.full((10, 2), np.inf), "Input y contains infinity"),
        (np.eye(4), "n_splits must be at most the number of samples, 4, got 5"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        next(MultilabelStratifiedKFold(5).split(None, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(MultilabelStratifiedKFold(5).split(np.ones((9, 1)), np.eye(10)))


# Cross-validation. Forests predict the same from sparse labels and from dense ones, so that the results for sparse
# labels must equal those of scikit-learn for dense labels.

RNG = np.random.default_rng(0)
X = sparse.random_array((60, 12), density=0.4, random_state=RNG, format="csr", dtype=np.float32)
Y = (X[:, :5].toarray() + 0.2 * RNG.random((60, 5)) > 0.45).astype(float)
FOREST = weald.RandomForestClassifier(4, max_depth=4, random_state=0)
TIMES = {"fit_time", "score_time"}


class AsGiven(ClassifierMixin, BaseEstimator):
    """A classifier that remembers what was passed to `fit`."""

    def fit(self, X, y, sample_weight=None, y_weight=None):
        self.given_ = (type(y), y.shape, sample_weight, y_weight)
        self.classes_ = np.arange(y.shape[1])
        return self

    def score(self, X, y):
        return float(y.sum())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("cv", [3, theirs.KFold(4), MultilabelStratifiedKFold(3), "splits"])
def test_cross_validate_of_sparse_y_is_that_of_dense_y(form, cv):
    cv = list(theirs.KFold(2).split(X)) if cv == "splits" else cv
    options = {
        "cv": cv,
        "scoring": {"f1": "f1_micro", "p": make_topk_scorer("precision_at_k", 2)},
        "return_train_score": True,
        "return_estimator": True,
        "return_indices": True,
    }
    expected = theirs.cross_validate(FOREST, X, Y, **options)
    found = model_selection.cross_validate(FOREST, X, form(Y), **options)
    assert list(found) == list(expected)
    for name in set(found) - TIMES - {"estimator", "indices"}:
        assert np.array_equal(found[name], expected[name]), name
    for one, other in zip(found["estimator"], expected["estimator"], strict=True):
        assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
        assert sparse.issparse(one.predict(X))
    for part in ("train", "test"):
        assert all(map(np.array_equal, found["indices"][part], expected["indices"][part]))


def test_dense_y_is_scikit_learns():
    found, expected = (module.cross_validate(FOREST, X, Y, cv=3) for module in (model_selection, theirs))
    assert np.array_equal(found["test_score"], expected["test_score"])
    for method in ("predict", "predict_proba"):
        found, expected = (
            module.cross_val_predict(FOREST, X, Y, cv=3, method=method) for module in (model_selection, theirs)
        )
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("scoring", [None, "f1_micro", make_topk_scorer("ndcg_at_k", 3)])
def test_scores_of_sparse_y_are_those_of_dense_y(scoring):
    expected = theirs.cross_val_score(FOREST, X, Y, cv=4, scoring=scoring)
    for n_jobs in (None, 2):
        found = model_selection.cross_validate(FOREST, X, sparse.csr_array(Y), cv=4, scoring=scoring, n_jobs=n_jobs)[
            "test_score"
        ]
        assert np.array_equal(found, expected)
    assert np.ptp(expected) > 0


def test_parameters_of_fit_are_cut_to_the_samples_and_y_stays_sparse():
    weights = np.arange(60.0)
    mask = sparse.csr_array(Y > 0)
    y = sparse.csr_matrix(Y)
    params = {"sample_weight": weights, "y_weight": mask}
    found = model_selection.cross_validate(AsGiven(), X, y, cv=3, params=params, return_estimator=True)
    for (train, test), fitted, score in zip(
        theirs.KFold(3).split(X), found["estimator"], found["test_score"], strict=True
    ):
        kind, shape, weights_of_fold, mask_of_fold = fitted.given_
        assert issubclass(kind, sparse.csr_matrix)
        assert shape == (40, 5)
        assert np.array_equal(weights_of_fold, weights[train])
        assert (mask_of_fold != mask[train]).nnz == 0
        assert score == Y[test].sum()


def test_groups():
    groups = np.arange(60) % 7
    cv = theirs.GroupKFold(3)
    expected = theirs.cross_val_score(FOREST, X, Y, groups=groups, cv=cv)
    assert np.array_equal(
        model_selection.cross_validate(FOREST, X, sparse.csr_array(Y), groups=groups, cv=cv)["test_score"], expected
    )
    for module, y in ((theirs, Y), (model_selection, sparse.csr_array(Y))):
        with pytest.raises(ValueError, match="groups"):
            module.cross_validate(FOREST, X, y, cv=cv)


class Failing(AsGiven):
    def fit(self, X, y):
        raise RuntimeError("no")


def test_error_score():
    y = sparse.csr_array(Y)
    with pytest.raises(RuntimeError, match="no"):
        model_selection.cross_validate(Failing(), X, y, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        model_selection.cross_validate(Failing(), X, y, cv=3)
    bad = make_topk_scorer("precision_at_k", 99)
    with pytest.warns(UserWarning, match="Scoring failed"):
        assert (
            model_selection.cross_validate(FOREST, X, y, cv=3, scoring=bad, error_score=-1.0)["test_score"] == -1
        ).all()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_cross_val_predict_of_sparse_y_is_that_of_dense_y(form, shuffle):
    cv = theirs.KFold(3, shuffle=shuffle, random_state=0 if shuffle else None)
    predicted = model_selection.cross_val_predict(FOREST, X, form(Y), cv=cv)
    assert isinstance(predicted, sparse.csr_matrix if form is sparse.csr_matrix else sparse.csr_array)
    assert np.array_equal(predicted.toarray(), theirs.cross_val_predict(FOREST, X, Y, cv=cv))
    for method in ("predict_proba", "decision_function"):
        expected = theirs.cross_val_predict(FOREST, X, Y, cv=cv, method=method)
        assert np.array_equal(model_selection.cross_val_predict(FOREST, X, form(Y), cv=cv, method=method), expected)
    with np.errstate(divide="ignore"):
        expected = np.log(theirs.cross_val_predict(FOREST, X, Y, cv=cv, method="predict_proba"))
    found = model_selection.cross_val_predict(FOREST, X, form(Y), cv=cv, method="predict_log_proba")
    # The logarithms of the engine and of NumPy are each within one unit of the last place.
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("y", [Y, sparse.csr_array(Y), sparse.csc_matrix(Y)], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_best_labels_are_those_of_each_fold(y, k):
    cv = MultilabelStratifiedKFold(4, shuffle=True, random_state=1)
    pipeline = make_pipeline(MaxAbsScaler(), FOREST)
    for estimator in (FOREST, pipeline):
        labels, scores = model_selection.cross_val_predict(estimator, X, y, method="predict_topk", k=k, cv=cv)
        again = model_selection.cross_val_predict(estimator, X, y, method="predict_topk", k=k, cv=cv, n_jobs=2)
        assert np.array_equal(labels, again[0])
        assert np.array_equal(scores, again[1])
        assert labels.dtype == np.int64
        assert scores.dtype == np.float64
        assert labels.flags.c_contiguous
        for train, test in cv.split(X, y):
            fold = estimator.fit(X[train], sparse.csr_array(Y)[train])
            Z = X[test] if estimator is FOREST else fold[:-1].transform(X[test])
            expected = (fold if estimator is FOREST else fold[-1]).predict_topk(Z, k)
            assert np.array_equal(labels[test], expected[0])
            assert np.array_equal(scores[test], expected[1])
    # The metrics accept labels and scores in this form.
    assert precision_at_k(y, (labels, scores), k) == precision_at_k(Y, labels, k)


def test_probabilities_through_pipelines_with_weights():
    pipeline = make_pipeline(MaxAbsScaler(), FOREST)
    params = {"randomforestclassifier__sample_weight": np.arange(60) % 3 + 1.0}
    options = {"cv": 3, "method": "predict_proba", "params": params}
    expected = theirs.cross_val_predict(pipeline, X, Y, **options)
    assert np.array_equal(model_selection.cross_val_predict(pipeline, X, sparse.csr_array(Y), **options), expected)
    unweighted = model_selection.cross_val_predict(pipeline, X, sparse.csr_array(Y), cv=3, method="predict_proba")
    assert not np.array_equal(unweighted, expected)


def test_metadata_is_routed():
    weights = np.arange(60) % 3 + 1.0
    y = sparse.csr_array(Y)
    expected = model_selection.cross_val_predict(
        FOREST, X, y, cv=3, method="predict_proba", params={"sample_weight": weights}
    )
    with sklearn.config_context(enable_metadata_routing=True):
        asking = sklearn.base.clone(FOREST).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        params = {"sample_weight": weights}
        found = model_selection.cross_val_predict(asking, X, y, cv=3, method="predict_proba", params=params)
        assert np.array_equal(found, expected)
        scores = model_selection.cross_validate(asking, X, y, cv=MultilabelStratifiedKFold(3), params=params)[
            "test_score"
        ]
        topk = model_selection.cross_validate(
            asking, X, y, cv=3, params=params, scoring=make_topk_scorer("precision_at_k", 1)
        )["test_score"]
    params = {"params": {"sample_weight": weights}}
    assert np.array_equal(
        scores, model_selection.cross_validate(FOREST, X, y, cv=MultilabelStratifiedKFold(3), **params)["test_score"]
    )
    assert np.array_equal(
        topk,
        model_selection.cross_validate(FOREST, X, y, cv=3, scoring=make_topk_scorer("precision_at_k", 1), **params)[
            "test_score"
        ],
    )


def test_other_estimators():
    linear = OneVsRestClassifier(LogisticRegression())
    expected = theirs.cross_val_predict(linear, X, Y.astype(int), cv=3, method="predict_proba")
    found = model_selection.cross_val_predict(linear, X, sparse.csr_array(Y.astype(int)), cv=3, method="predict_proba")
    assert np.array_equal(found, expected)
    labels, scores = model_selection.cross_val_predict(
        linear, X, sparse.csr_array(Y.astype(int)), method="predict_topk", k=2, cv=3
    )
    assert np.array_equal(labels, np.argsort(-expected, axis=1, kind="stable")[:, :2])
    assert np.array_equal(scores, np.take_along_axis(expected, labels, axis=1))


@pytest.mark.parametrize("d", [1, 2])
def test_few_labels(d):
    y = sparse.csr_array(Y[:, :d])
    assert model_selection.cross_val_predict(FOREST, X, y, cv=3, method="predict_proba").shape == (60, d)
    assert model_selection.cross_val_predict(FOREST, X, y, cv=3).shape == (60, d)
    assert model_selection.cross_val_predict(FOREST, X, y, method="predict_topk", k=1, cv=3)[0].shape == (60, 1)
    # The accuracy of scikit-learn, which `score` computes, does not support sparse labels of one column.
    scoring = make_topk_scorer("recall_at_k", 1) if d == 1 else None
    assert model_selection.cross_validate(FOREST, X, y, cv=3, scoring=scoring)["test_score"].shape == (3,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, y, method="predict_topk"),
            "k must be a positive integer with method='predict_topk', got None",
        ),
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, y, k=3),
            "k must be None with method='predict', got 3; it is only used with method='predict_topk'",
        ),
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, y, method="apply"),
            "method must be one of .*got 'apply'",
        ),
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, y, method="predict_topk", k=0),
            "k must be a positive integer, got 0",
        ),
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, y, method="predict_topk", k=6),
            "k must be an integer from 1 to 5, got 6",
        ),
        (
            lambda y: model_selection.cross_val_predict(FOREST, X, np.arange(60) % 2, method="predict_topk", k=1),
            r"y must have shape \(n_samples, n_labels\), got an array with 1 dimension\(s\)",
        ),
        (
            lambda y: model_selection.cross_val_predict(
                FOREST, X, y, method="predict_topk", k=1, cv=theirs.ShuffleSplit(2)
            ),
            "only works for partitions",
        ),
        (lambda y: model_selection.cross_validate(FOREST, X[:9], y), "inconsistent numbers of samples"),
        (lambda y: model_selection.cross_validate(FOREST, X, y, scoring="none")["test_score"], "none"),
        (lambda y: model_selection.cross_validate(FOREST, X, y, cv=1.5)["test_score"], "cv"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call(sparse.csr_array(Y))


def test_searches_with_folds_of_labels_and_scorers_of_the_first_k():
    y = sparse.csr_array(Y)
    grid = {"max_depth": [1, 4], "min_samples_leaf": [1, 5]}
    scoring = make_topk_scorer("ndcg_at_k", 3)
    cv = MultilabelStratifiedKFold(3, shuffle=True, random_state=0)
    found = {}
    for name, search in {
        "grid": theirs.GridSearchCV(FOREST, grid, cv=cv, scoring=scoring, n_jobs=2),
        "random": theirs.RandomizedSearchCV(FOREST, grid, n_iter=4, cv=cv, scoring=scoring, random_state=0),
        "halving": theirs.HalvingGridSearchCV(FOREST, grid, cv=cv, scoring=scoring, min_resources=20, random_state=0),
    }.items():
        sparse_y, dense_y = (sklearn.base.clone(search).fit(X, labels) for labels in (y, Y))
        for key, column in dense_y.cv_results_.items():
            if key.endswith("score"):
                assert np.array_equal(sparse_y.cv_results_[key], column), key
        assert sparse_y.best_params_ == dense_y.best_params_
        found[name] = sparse_y
    best = model_selection.cross_validate(found["grid"].best_estimator_, X, y, cv=cv, scoring=scoring)[
        "test_score"
    ].mean()
    assert found["grid"].best_score_ == best
    both = theirs.GridSearchCV(FOREST, grid, cv=cv, scoring={"n": scoring, "f": "f1_micro"}, refit="n").fit(X, y)
    assert both.best_score_ == best


def test_functions_show_the_parameters_of_scikit_learn():
    shown, original = (inspect.signature(module.cross_validate) for module in (model_selection, theirs))
    assert list(shown.parameters) == [*original.parameters, "y_weight"]
    shown, original = (inspect.signature(module.cross_val_predict) for module in (model_selection, theirs))
    assert list(shown.parameters) == [*original.parameters, "k", "y_weight"]


def test_splitters_can_be_pickled():
    cv = MultilabelStratifiedKFold(3, shuffle=True, random_state=0)
    again = pickle.loads(pickle.dumps(cv))
    assert np.array_equal(fold_of_rows(cv, Y), fold_of_rows(again, Y))
