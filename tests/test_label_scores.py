"""Areas, average precision, log loss and Brier score of labels with unknown entries, against scikit-learn's of each label."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.metrics as theirs
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from weald import metrics
from weald._ranking import ranks
from weald._ranking.label_measures import Weights
from weald.metrics import average_precision, brier, log_loss, make_label_scorer, roc_auc
from weald.model_selection import check_cv, cross_validate
from weald.multilabel import CalibratedLabels

METRICS = [roc_auc, average_precision, log_loss, brier]
AREAS = (roc_auc, average_precision)
AVERAGES = [None, "macro", "micro", "weighted", "samples"]
# Both sides add up some dozens of the same terms in another order.
ROUNDING = {"rtol": 1e-12, "atol": 1e-14}


def of_one(metric, y, scores, w):
    """scikit-learn's score of one label, from known entries of positive weight; NaN where it is not defined."""
    there = w > 0
    y, scores, w = y[there], scores[there], w[there]
    if not len(y) or (metric in AREAS and len(np.unique(y)) < 2):
        return np.nan
    if metric is log_loss:
        return theirs.log_loss(y, scores, labels=[0, 1], sample_weight=w)
    if metric is brier:
        return theirs.brier_score_loss(y, scores, pos_label=1, sample_weight=w)
    named = {roc_auc: theirs.roc_auc_score, average_precision: theirs.average_precision_score}
    return named[metric](y, scores, sample_weight=w)


def twin(metric, y, scores, mask, w, average):
    """The score and what is counted, label by label."""
    w = np.ones(len(y)) if w is None else w
    n_known = (~mask[w > 0]).sum(axis=0)
    if average == "micro":
        known = ~mask
        of_all = np.repeat(w[:, None], y.shape[1], axis=1)
        return of_one(metric, y[known], scores[known], of_all[known]), n_known.sum()
    if average == "samples":
        one = np.ones(y.shape[1])
        found = [
            of_one(metric, *(part[~gaps] for part in (a, b, one))) for a, b, gaps in zip(y, scores, mask, strict=True)
        ]
        factors = w
    else:
        known = [~gaps for gaps in mask.T]
        found = [of_one(metric, y[k, j], scores[k, j], w[k]) for j, k in enumerate(known)]
        if average is None:
            return np.array(found), n_known
        factors = np.ones(len(found)) if average == "macro" else np.array([w[k] @ y[k, j] for j, k in enumerate(known)])
    found = np.array(found)
    counted = ~np.isnan(found) & (factors > 0)
    mean = np.average(found[counted], weights=factors[counted]) if counted.any() else np.nan
    return mean, counted.sum()


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 5))
    y = (rng.random((n, d)) < rng.choice([0.0, 0.1, 0.5, 1.0], d)).astype(float)
    # Many ties, zeros and ones, or none.
    scores = rng.integers(0, 5, (n, d)) / 4 if draw(st.booleans()) else rng.random((n, d))
    mask = rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3, 0.9]))
    kind = draw(st.sampled_from(["none", "counts", "floats"]))
    w = {"none": None, "counts": rng.integers(0, 3, n).astype(float), "floats": rng.random(n)}[kind]
    return y, scores, mask, w if w is None or w.any() else None


@settings(max_examples=60, deadline=None)
@given(problem=problems(), metric=st.sampled_from(METRICS), average=st.sampled_from(AVERAGES))
def test_each_label_has_the_score_of_scikit_learn_on_its_known_samples(problem, metric, average):
    y, scores, mask, w = problem
    expected, counts = twin(metric, y, scores, mask, w, average)
    told = {"average": average, "sample_weight": w, "return_counts": True}
    gaps = np.where(mask, np.nan, y)
    found, n = metric(gaps, scores, **told)
    np.testing.assert_allclose(found, expected, **ROUNDING)
    np.testing.assert_array_equal(n, counts)
    # Neither the form of the matrices nor what is under the mask matters.
    junk = np.where(mask, 1 - y, y)
    for truth, unknown in (
        (junk, mask),
        (sparse.csc_matrix(junk), sparse.coo_array(mask)),
        (sparse.csr_array(y), mask),
    ):
        for form in (np.asfortranarray, sparse.csr_array, sparse.coo_matrix):
            same, n_same = metric(truth, form(scores), y_weight=unless(unknown), **told)
            np.testing.assert_array_equal(same, found)
            np.testing.assert_array_equal(n_same, n)


@settings(max_examples=40, deadline=None)
@given(problem=problems(), metric=st.sampled_from(METRICS), average=st.sampled_from(AVERAGES[:4]))
def test_samples_in_any_order_and_weights_are_counts(problem, metric, average):
    y, scores, mask, w = problem
    y = np.where(mask, np.nan, y)
    found = metric(y, scores, average=average, sample_weight=w)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = metric(y[order], scores[order], average=average, sample_weight=None if w is None else w[order])
    np.testing.assert_array_equal(shuffled, found)
    times = np.arange(len(y)) % 3
    if not times.any():
        return
    counted = metric(y, scores, average=average, sample_weight=times.astype(float))
    repeated = metric(np.repeat(y, times, axis=0), np.repeat(scores, times, axis=0), average=average)
    np.testing.assert_array_equal(counted, repeated)


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_of_labels_have_no_influence(metric, monkeypatch):
    rng = np.random.default_rng(0)
    y, scores = (rng.random((20, 7)) < 0.4).astype(float), rng.random((20, 7)).astype(np.float32)
    y[rng.random(y.shape) < 0.3] = np.nan
    expected = metric(y, scores, average=None)
    monkeypatch.setattr(ranks, "BLOCK_SCORES", 40)
    monkeypatch.setattr("weald._ranking.label_measures.BLOCK_SCORES", 40)
    np.testing.assert_array_equal(metric(y, scores, average=None), expected)


def test_sums_of_weights_are_exact():
    w = np.array([1.0, 1e-9, 0.1, 3.0])
    weights = Weights(w, 4)
    groups = np.zeros(4, dtype=np.int64)
    whole = weights.values(weights.sums(groups, np.arange(4), 1) - weights.sums(groups[:1], np.array([3]), 1))
    # Units of 2**-52 of the largest weight: the one of 1e-9 has 22 bits left.
    unit = weights.values(weights.all())[0] / w.sum()
    assert whole[0] / unit == pytest.approx(1.1 + 1e-9, rel=1e-15)
    assert Weights(np.array([1.0, 1e-300]), 2).parts[1][1] == 1.0


def test_margins_negative_scores_and_stored_zeros():
    y = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1], [0, 0]]))
    scores = np.array([[0.0, -2.0], [-1.0, 0.0], [3.0, 1.0], [-0.0, 0.0]])
    stored = sparse.csr_array(np.ones((4, 2)))
    stored.data[:] = scores.ravel()
    expected = [theirs.roc_auc_score(y.toarray()[:, j], scores[:, j]) for j in range(2)]
    for form in (scores, stored, sparse.csr_array(scores)):
        np.testing.assert_array_equal(roc_auc(y, form, average=None), expected)


def test_nothing_to_count():
    y = np.array([[1.0, np.nan], [1.0, np.nan]])
    scores = np.full((2, 2), 0.5)
    for metric in METRICS:
        value, n = metric(y, scores, return_counts=True)
        assert (n, np.isnan(value)) == ((0, True) if metric in AREAS else (1, False))
        value, n = metric(np.full((2, 2), np.nan), scores, return_counts=True)
        assert (n, np.isnan(value)) == (0, True)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"average": "binary"}, ValueError, "^average must be one of .* or None, got 'binary'$"),
        ({"average": ["macro"]}, ValueError, "^average must be one of"),
        ({"return_counts": 1}, TypeError, "^return_counts must be True or False, got 1$"),
        ({"sample_weight": [1.0]}, ValueError, r"^sample_weight must have shape \(3,\)"),
        ({"sample_weight": [1.0, -1.0, 0.0]}, ValueError, "^sample_weight must not be negative"),
        ({"y_score": np.ones((3, 3))}, ValueError, "^y_score must have 2 columns, as y_true, got 3$"),
        ({"y_score": np.ones((2, 2))}, ValueError, "^y_score must have 3 rows, as y_true, got 2$"),
        ({"y_score": np.full((3, 2), np.inf)}, ValueError, "y_score contains infinity"),
        (
            {"y_score": (np.zeros((3, 1), int), np.ones((3, 1)))},
            ValueError,
            "^y_score must be scores of all labels, got",
        ),
        ({"y_true": [[0, 2], [0, 1], [1, 1]]}, ValueError, "^y_true must have the values 0 and 1 for labels, got 2$"),
        ({"y_weight": unless(np.ones((3, 1)))}, ValueError, r"^y_weight must have shape \(3, 2\)"),
    ],
)
def test_bad_arguments(metric, given, error, message):
    arguments = {"y_true": [[0, 1], [1, 0], [1, 1]], "y_score": np.full((3, 2), 0.5), **given}
    with pytest.raises(error, match=message):
        metric(**arguments)


@pytest.mark.parametrize("metric", [log_loss, brier])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_scores_that_are_no_probabilities(metric, form):
    for value in (-0.5, 1.5):
        with pytest.raises(ValueError, match=f"^y_score must be probabilities from 0 to 1, got {value:g}$"):
            metric([[0, 1]], form([[0.5, value]]))


# --- scorers ----------------------------------------------------------------------------------------------------------


def gaps_of_labels(n=60, d=4):
    rng = np.random.default_rng(1)
    X = rng.random((n, 6))
    Y = (X[:, :d] + 0.3 * rng.random((n, d)) > 0.6).astype(float)
    mask = rng.random(Y.shape) < 0.3
    return X, Y, mask, np.where(mask, np.nan, Y)


@pytest.mark.parametrize("metric", METRICS)
def test_a_scorer_is_the_metric_of_known_entries(metric):
    X, Y, mask, gaps = gaps_of_labels()
    forest = weald.RandomForestClassifier(5, random_state=0).fit(X, gaps)
    sign = 1 if metric in AREAS else -1
    for named in (metric, metric.__name__):
        scorer = pickle.loads(pickle.dumps(make_label_scorer(named, average="micro")))
        expected = sign * metric(Y, forest.predict_proba(X), average="micro", y_weight=unless(mask))
        assert scorer(forest, X, gaps) == expected
        w = np.arange(len(X)) % 3
        weighted = sign * metric(gaps, forest.predict_proba(X), average="micro", sample_weight=w)
        assert scorer(forest, X, gaps, sample_weight=w) == weighted
    assert make_label_scorer(metric)(forest, X, sparse.csr_array(Y)) == sign * metric(Y, forest.predict_proba(X))
    assert make_label_scorer(metric, greater_is_better=sign < 0)(forest, X, gaps) == -make_label_scorer(metric)(
        forest, X, gaps
    )


def test_scorers_see_through_pipelines_searches_and_meta_estimators():
    X, Y, _, gaps = gaps_of_labels()
    scorer = make_label_scorer("roc_auc")
    forest = weald.RandomForestClassifier(5, random_state=0)
    pipeline = make_pipeline(MaxAbsScaler(), forest)
    grid = {"randomforestclassifier__max_depth": [1, 4]}
    search = GridSearchCV(pipeline, grid, cv=check_cv(3, gaps), scoring=scorer, error_score="raise").fit(X, gaps)
    proba = search.best_estimator_.predict_proba(X)
    assert scorer(search, X, gaps) == search.score(X, gaps) == roc_auc(gaps, proba)
    assert scorer(search, X, sparse.csr_array(Y)) == roc_auc(Y, proba)
    calibrated = CalibratedLabels(forest, cv=2, min_positives=1, random_state=0).fit(X, gaps)
    assert make_label_scorer("brier")(calibrated, X, gaps) == -brier(gaps, calibrated.predict_proba(X))
    for other in (OneVsRestClassifier(LogisticRegression()), RandomForestClassifier(3, random_state=0)):
        found = other.fit(X, Y).predict_proba(X)
        proba = np.column_stack([part[:, 1] for part in found]) if isinstance(found, list) else found
        assert scorer(other, X, gaps) == roc_auc(gaps, proba)
    found = cross_validate(pipeline, X, gaps, cv=2, scoring={"auc": scorer, "brier": make_label_scorer("brier")})
    assert (found["test_brier"] < 0).all()
    assert (cross_validate(pipeline, X, gaps, cv=2, scoring=scorer)["test_score"] == found["test_auc"]).all()


def test_margins_are_ranked_but_have_no_loss():
    X, Y, _, gaps = gaps_of_labels()

    machine = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    assert make_label_scorer("roc_auc")(machine, X, gaps) == roc_auc(gaps, machine.decision_function(X))
    with pytest.raises(TypeError, match="scoring requires predict_proba, which OneVsRestClassifier does not have"):
        make_label_scorer("brier")(machine, X, gaps)
    with pytest.raises(TypeError, match="scoring requires predict_proba or decision_function, which LinearRegr"):
        make_label_scorer("roc_auc")(LinearRegression().fit(X, Y), X, gaps)


def test_bad_scorers():
    with pytest.raises(ValueError, match=r"^metric must be a callable or one of .*got 'f1'$"):
        make_label_scorer("f1")
    with pytest.raises(TypeError, match=r"^metric must be a callable or one of .*got 3$"):
        make_label_scorer(3)
    with pytest.raises(TypeError, match=r"^return_counts must be False in a scorer"):
        make_label_scorer("brier", return_counts=True)
    assert repr(make_label_scorer("brier", average="micro")) == (
        "make_label_scorer(brier, greater_is_better=False, average='micro')"
    )
    assert set(metrics._LABEL_METRICS.values()) == set(METRICS)
