"""From scores of labels to labels: thresholds, calibration, and the best labels of samples, against plain loops."""

from __future__ import annotations

import itertools
import pickle
import warnings
from functools import partial

import matplotlib
import numpy as np
import pytest
import weald
from conftest import BOOSTING, CLASSIFIERS, COMPRESSED, cases, make, unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import _sigmoid_calibration
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.utils import estimator_checks
from weald._labels.calibration import calibrated
from weald._labels.thresholds import Objective, tuned
from weald._ranking.ranks import ranking_precision
from weald.conformal import ConformalLabels
from weald.model_selection import MultilabelStratifiedKFold
from weald.multilabel import CalibratedLabels, LabelReliabilityDisplay, TunedThresholds

matplotlib.use("Agg")
LABEL_MODELS = [*CLASSIFIERS, BOOSTING[0], COMPRESSED[0]]
OBJECTIVES = ["f1", "macro_f1", "micro_f1", "precision>=.6", "label_count", "label_count=1.5"]


def small(name, **params):
    return make(name, **({"l1_norm": None, "max_steps": 30} if name in COMPRESSED else {}), **params)


def problem(n=120, d=15, seed=0):
    """Sparse X, and labels: some are frequent, some are rare, one never occurs, and some samples have no label."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, 40), density=0.2, random_state=rng, format="csr")
    scores = X @ rng.normal(size=(40, d)) + rng.normal(scale=0.2, size=(n, d))
    Y = scores > np.linspace(0.2, 1.2, d)
    Y[:, 3] = False
    return X, sparse.csr_array(Y.astype(np.int64))


def forest(**params):
    return weald.RandomForestClassifier(**{"n_estimators": 20, "random_state": 0, **params})


# The best labels of samples


def plain_topk(scores, k, least, banned, absent):
    """The k best labels, found sample by sample and label by label."""
    indices, best = np.full((len(scores), k), -1), np.full((len(scores), k), absent)
    for i, row in enumerate(scores):
        ranked = sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))
        named = [j for j in ranked if (i, j) not in banned and least(i, j)][:k]
        indices[i, : len(named)], best[i, : len(named)] = named, row[named]
    return indices, best


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@cases(lambda name, params: not params or name == BOOSTING[0])  # only boosting has init
@pytest.mark.parametrize("params", [{}, {"init": LogisticRegression(C=1e-3)}], ids=["", "init"])
@pytest.mark.parametrize("name", LABEL_MODELS)
def test_topk_leaves_out_what_is_excluded_and_what_is_too_small(name, params):
    X, Y = problem()
    if params:
        params = {"init": OneVsRestClassifier(LogisticRegression(C=1e-3))}
        Y = sparse.csr_array(Y.toarray()[:, [0, 1, 2, 4, 5, 6]])
        X, Y = X.toarray(), Y.toarray()
    model = small(name, **params).fit(X, Y)
    proba, margins = model.predict_proba(X), model.decision_function(X)
    n, d = Y.shape
    rng = np.random.default_rng(1)
    rows = sparse.random_array((n, d), density=0.5, random_state=rng, format="csr")
    stored_zero = rows.copy()
    stored_zero.data[::3] = 0
    # All labels are excluded for the first sample.
    rows = sparse.csr_array(sparse.vstack([np.ones((1, d)), rows[1:]]))
    units = [("auto", floor) for floor in (None, 0, 0.2, 1.0)] + [("margin", floor) for floor in (None, -0.1, 0.05)]
    for exclude, (unit, floor), k in itertools.product(
        [None, rows, rows.tocoo(), (rows != 0).toarray(), stored_zero, [0, d - 1], np.array([2]), list(range(d)), []],
        units,
        [1, d],
    ):
        if exclude is None:
            banned = set()
        elif np.ndim(exclude) == 2:
            banned = {(i, j) for i, j in zip(*exclude.nonzero(), strict=True)}
        else:
            banned = set(itertools.product(range(n), exclude))
        scores, absent = (margins, -np.inf) if unit == "margin" else (proba, 0.0)
        fits = lambda i, j, f=floor, scores=scores: f is None or scores[i, j] >= f  # noqa: E731
        expected = plain_topk(scores, k, fits, banned, absent)
        found = model.predict_topk(X, k, scores=unit, min_score=floor, exclude=exclude)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        assert found[0].dtype == np.int64


@pytest.mark.parametrize("name", LABEL_MODELS)
def test_sparse_probabilities_are_those_of_predict_proba(name):
    X, Y = problem()
    model = small(name).fit(X, Y)
    proba = model.predict_proba(X)
    some = proba[proba > 0.3].min()
    for floor in (0, 0.2, some, 1.0):
        found = model.predict_sparse(X, floor)
        assert isinstance(found, sparse.csr_array)
        assert found.has_sorted_indices
        assert (found.data > 0).all()
        np.testing.assert_array_equal(found.toarray(), np.where(proba >= floor, proba, 0.0))
        for layout in (X.toarray(), X.tocsc()):
            again = model.predict_sparse(layout, floor)
            np.testing.assert_array_equal(again.toarray(), found.toarray())
    with_threads = clone(model).set_params(**({"n_jobs": 2} if hasattr(model, "n_jobs") else {})).fit(X, Y)
    np.testing.assert_array_equal(with_threads.predict_sparse(X).data, model.predict_sparse(X).data)
    assert isinstance(small(name).fit(X, sparse.csc_matrix(Y)).predict_sparse(X), sparse.csr_matrix)
    assert not hasattr(small(name).fit(X, Y[:, [0]].toarray()[:, 0]), "predict_sparse")


@pytest.mark.parametrize("name", LABEL_MODELS)
def test_bad_arguments_of_the_best_labels_are_named(name):
    X, Y = problem()
    model = small(name).fit(X, Y)
    for k in (0, 16, 1.5, "3", True, None):
        with pytest.raises(ValueError, match=r"k must be an integer from 1 to 15, got "):
            model.predict_topk(X, k)
    for bad in (-0.1, 1.5, "a", None, np.nan, True):
        with pytest.raises(ValueError, match=r"min_score must be a number from 0 to 1, got "):
            model.predict_sparse(X, bad)
        if bad is not None:
            with pytest.raises(ValueError, match=r"min_score must be a number from 0 to 1, got "):
                model.predict_topk(X, 1, min_score=bad)
    for bad in ("a", np.nan, True):
        with pytest.raises(ValueError, match=r"min_score must be a number that is not NaN, or None, got "):
            model.predict_topk(X, 1, scores="margin", min_score=bad)
    for bad in ("margins", None, 0):
        with pytest.raises(ValueError, match="scores must be 'auto', 'probability' or 'margin', got "):
            model.predict_topk(X, 1, scores=bad)
    for bad, error, message in [
        (
            sparse.csr_array((3, 15)),
            ValueError,
            r"exclude must be .*\(120, 15\).*got a sparse matrix of shape \(3, 15\)",
        ),
        ([15], ValueError, "exclude must be .*got the label 15"),
        ([-1], ValueError, "exclude must be .*got the label -1"),
        ([0.5], TypeError, r"exclude must be a matrix.*got a list of dtype float64 and shape \(1,\)"),
        (np.zeros(15, dtype=np.bool_), TypeError, r"exclude must be .*got a ndarray of dtype bool and shape \(15,\)"),
        (np.zeros((120, 15, 1)), TypeError, "exclude must be .*got a ndarray of dtype float64 and shape"),
        (np.zeros((3, 15)), ValueError, r"exclude must be .*\(120, 15\).*got shape \(3, 15\)"),
        (np.full((120, 15), 0.5), ValueError, "exclude must be .*got other values than 0 and 1"),
        (np.full((120, 15), np.nan), ValueError, "exclude must be .*got other values than 0 and 1"),
        (np.full((120, 15), "a"), TypeError, "exclude must be .*got dtype <U1"),
        ("label", TypeError, "exclude must be .*got a str"),
    ]:
        with pytest.raises(error, match=message):
            model.predict_topk(X, 1, exclude=bad)


def test_scores_of_losses_without_probabilities_are_margins():
    X, Y = problem()
    model = make(BOOSTING[0], loss="squared_error").fit(X, Y)
    margins = model.decision_function(X)
    labels, scores = model.predict_topk(X, 15)
    assert (labels >= 0).all()
    np.testing.assert_array_equal(scores, -np.sort(-margins, axis=1))
    # The unit of `min_score` is that of the scores: those of predicted labels are positive.
    labels, scores = model.predict_topk(X, 15, min_score=0.0)
    np.testing.assert_array_equal((labels >= 0).sum(axis=1), (margins >= 0).sum(axis=1))
    assert (scores[labels < 0] == -np.inf).all()
    with pytest.raises(ValueError, match="scores must be 'auto' or 'margin' for GradientBoostingClassifier, which has"):
        model.predict_topk(X, 1, scores="probability")
    assert not hasattr(model, "predict_sparse")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LABEL_MODELS)
def test_classes_are_ranked_by_probabilities_or_margins(name, n_classes):
    X, y = problem()[0], np.arange(120) % n_classes
    X = X.toarray() + y[:, None] * 0.3
    model = small(name).fit(X, np.array(["a", "b", "c"])[y])
    proba = model.predict_proba(X)
    labels, scores = model.predict_topk(X, n_classes)
    np.testing.assert_array_equal(scores, np.take_along_axis(proba, labels, axis=1))
    np.testing.assert_array_equal(scores, -np.sort(-proba, axis=1))
    if not hasattr(model, "decision_function"):
        with pytest.raises(ValueError, match=f"scores must be 'auto' or 'probability' for {name}, which has no"):
            model.predict_topk(X, 1, scores="margin")
        return
    margins = model.decision_function(X)
    margins = margins if n_classes > 2 else np.column_stack([-margins, margins])
    labels, scores = model.predict_topk(X, n_classes, scores="margin")
    np.testing.assert_array_equal(scores, -np.sort(-margins, axis=1))
    np.testing.assert_array_equal(scores, np.take_along_axis(margins, labels, axis=1))


# Out-of-bag scores


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_estimators", [2, 70])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_out_of_bag_scores_of_sparse_labels_are_sparse_and_the_same(n_estimators, container, tmp_path):
    X, Y = problem()
    dense = forest(n_estimators=n_estimators, oob_score=True).fit(X, Y.toarray())
    for n_jobs in (1, 2):
        model = forest(n_estimators=n_estimators, oob_score=True, n_jobs=n_jobs).fit(X, container(Y))
        scores = model.oob_decision_function_
        assert scores.format == "csr"
        assert isinstance(scores, sparse.sparray) == (container is sparse.csr_array)
        np.testing.assert_array_equal(scores.toarray(), np.nan_to_num(dense.oob_decision_function_))
        assert model.oob_score_ == dense.oob_score_
    weald.save(model, tmp_path / "model")
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.oob_decision_function_.toarray(), scores.toarray())


def test_the_out_of_bag_score_of_many_labels_is_one_of_ranking():
    X, Y = problem()
    model = forest(n_estimators=60, oob_score=True).fit(X, Y)
    found = model.oob_decision_function_.toarray()
    # The means of the samples are summed in a different order.
    assert model.oob_score_ == pytest.approx(label_ranking_average_precision_score(Y.toarray(), found), rel=1e-12)
    few = forest(n_estimators=60, oob_score=True).fit(X, Y[:, :10])
    right = (few.oob_decision_function_.toarray() > 0.5) == Y[:, :10].toarray()
    assert few.oob_score_ == right.all(axis=1).mean()
    custom = forest(n_estimators=60, oob_score=lambda t, p: f1_score(t, p, average="micro")).fit(X, Y)
    assert custom.oob_score_ == f1_score(Y.toarray(), found > 0.5, average="micro")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 6), st.booleans())
def test_ranking_precision_is_that_of_the_definition(seed, n, d, masks):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n, d)) / 4  # ties and zeros
    truth = rng.random((n, d)) < rng.choice([0.0, 0.3, 1.0])
    mask = rng.random((n, d)) < 0.3 if masks else np.zeros((n, d), dtype=bool)
    truth &= ~mask
    of_rows = []
    for s, t, m in zip(scores, truth, mask, strict=True):
        if m.all():
            continue
        own = np.flatnonzero(t)
        above = [[j for j in range(d) if not m[j] and s[j] >= s[label]] for label in own]
        shares = [sum(t[j] for j in row) / len(row) for row in above]
        of_rows.append(1.0 if len(own) in (0, d - m.sum()) else np.mean(shares))
    cells = sparse.csr_array(np.where(scores > 0, scores, 0.0))
    told = (sparse.csr_array(truth), sparse.csr_array(mask) if masks else None)
    found = ranking_precision(cells, *told)
    for again in (sparse.csc_array(cells), np.asfortranarray(cells.toarray())):
        np.testing.assert_array_equal(ranking_precision(again, *told, n_threads=2), found)
    # The sums are added up in a different order.
    assert found == pytest.approx(np.mean(of_rows) if of_rows else np.nan, rel=1e-12, nan_ok=True)


# Thresholds


def grid_of(scores, truth, weights, floor):
    """Thresholds just below the scores of true labels: a grid at equal shares of the true labels, and all of them."""
    cells = sorted(
        ((scores[i, j], weights[i] * truth[i, j]) for i, j in np.argwhere(scores > 0) if weights[i] > 0),
        key=lambda cell: -cell[0],
    )
    values = sorted({s for s, _ in cells}, reverse=True)
    cuts, total = [], 0.0
    for at, value in enumerate(values):
        hit = sum(w for s, w in cells if s == value)
        total += hit
        if hit > 0:
            below = values[at + 1] if at + 1 < len(values) else floor
            cuts.append((total, between(below, value)))
    shares = [(g + 0.5) / 64 * total for g in range(64)]
    return sorted({next(t for reached, t in cuts if reached >= share) for share in shares}), [t for _, t in cuts]


def between(lower, upper):
    middle = lower / 2 + upper / 2
    return middle if middle > lower else upper


class Plain:
    """Counts of labels, computed by loops over samples and labels."""

    def __init__(self, scores, truth, weights, floor):
        self.scores, self.truth, self.weights = scores, truth, weights
        self.floor = floor
        self.positive = [sum(weights[truth[:, j]]) for j in range(truth.shape[1])]

    def counts(self, j, threshold):
        named = (self.scores[:, j] > 0) & (self.scores[:, j] >= threshold)
        return self.weights[named & self.truth[:, j]].sum(), self.weights[named].sum()

    def at_share(self, j, share):
        """Counts if the label is predicted at most `share` times per true sample; equal scores stay together."""
        some = [self.counts(j, s) for s in set(self.scores[:, j]) if s > 0]
        fit = [(hits, named) for hits, named in some if named / max(self.positive[j], 1e-300) <= share]
        return max(fit, key=lambda pair: pair[1], default=(0.0, 0.0))

    def shrunk(self, j, threshold, m, toward):
        """Correct, predicted and true samples of the label, with m more true ones that behave like all labels."""
        hits, named = self.counts(j, threshold)
        labels = range(self.truth.shape[1])
        if toward == "threshold":
            every = [self.counts(other, threshold) for other in labels]
        else:
            share = named / max(self.positive[j], 1e-300)
            every = [self.at_share(other, share) for other in labels if self.positive[j] > 0]
        total = max(sum(self.positive), 1e-300)
        return (
            hits + m * sum(h for h, _ in every) / total,
            named + m * sum(n for _, n in every) / total,
            self.positive[j] + m,
        )

    def candidates(self, j, grid, only_true):
        """Thresholds below the label's scores, or only below true ones; one above all scores; and the grid."""
        own = sorted({s for s, w in zip(self.scores[:, j], self.weights, strict=True) if s > 0 and w > 0}, reverse=True)
        below = [*own[1:], self.floor][: len(own)]
        true = set(self.scores[self.truth[:, j] & (self.weights > 0), j])
        cuts = [between(b, s) for b, s in zip(below, own, strict=True) if s in true or not only_true]
        return [*cuts, *(np.nextafter(s, 2) for s in own[:1]), *grid]


def f1(hits, named, positive):
    return 2 * hits / (named + positive) if named + positive else 0.0


@st.composite
def hostile(draw):
    """Scores with ties and zeros; labels and samples without true values, or all values true; weights 0, 1 and 2."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.choice([0.0, 0.25, 0.5, 0.5000000000000001, 0.75, 1.0], (n, d))
    truth = rng.random((n, d)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    weights = rng.integers(0, 3, n).astype(float) if draw(st.booleans()) else np.ones(n)
    weights[0] = max(weights[0], 1.0)
    truth[0, 0] = True
    return scores, truth, weights


def fast(scores, truth, weights, objective, m, toward="threshold"):
    arrays = sparse.csr_array(scores), sparse.csr_array(truth)
    return tuned(*arrays, weights, Objective.parsed(objective), m, toward, 0.1)


TOWARD = st.sampled_from(["share", "threshold"])


@settings(max_examples=150, deadline=None)
@given(hostile(), st.sampled_from([0.0, 0.5, 3.0]), TOWARD, st.sampled_from(["f1", "macro_f1", "precision>=.6"]))
def test_thresholds_of_labels_are_the_best_of_all_candidates(data, m, toward, objective):
    scores, truth, weights = data
    plain = Plain(scores, truth, weights, 0.1)
    found = fast(scores, truth, weights, objective, m, toward)
    if not (scores * truth * weights[:, None]).any():
        return
    grid, _ = grid_of(scores, truth, weights, 0.1)
    grid += [found.common]
    for j, threshold in enumerate(found.of_labels):
        # Without shrinkage (m = 0), a further false prediction never helps a label, so that all thresholds can be
        # tried.
        tried = [plain.shrunk(j, t, m, toward) for t in plain.candidates(j, grid, only_true=m > 0)]
        got = plain.shrunk(j, threshold, m, toward)
        if objective.startswith("precision"):
            # Sums of thirds and quarters are rounded, so that a precision that is exactly at the limit may pass or
            # fail.
            fit = [hits for hits, named, _ in tried if named > 0 and hits / named >= 0.6 + 1e-9]
            if fit:
                assert np.isfinite(threshold)
                assert got[0] >= max(fit) - 1e-9
            if np.isfinite(threshold):
                assert got[0] >= (0.6 - 1e-9) * got[1]
        else:
            # Both sides add up the same terms in a different order.
            assert f1(*got) == pytest.approx(max(f1(*one) for one in tried), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(hostile(), st.sampled_from([0.0, 2.0]), TOWARD)
def test_thresholds_for_all_cells_together_are_the_best_of_all_combinations(data, m, toward):
    scores, truth, weights = data
    scores, truth = scores[:, :2], truth[:, :2]
    if not (scores * truth * weights[:, None]).any():
        return
    plain = Plain(scores, truth, weights, 0.1)
    found = fast(scores, truth, weights, "micro_f1", m, toward)
    grid, _ = grid_of(scores, truth, weights, 0.1)
    grid = sorted({*grid, found.common})

    def together(thresholds):
        return f1(*np.sum([plain.shrunk(j, t, m, toward) for j, t in enumerate(thresholds)], axis=0))

    options = [plain.candidates(j, grid, only_true=m > 0) for j in range(scores.shape[1])]
    # The sums are added up in a different order.
    best = max(map(together, itertools.product(*options)))
    assert together(found.of_labels) == pytest.approx(best, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(hostile(), st.sampled_from(["f1", "micro_f1", "macro_f1"]))
def test_one_threshold_for_all_is_the_best_one(data, objective):
    scores, truth, weights = data
    found = fast(scores, truth, weights, objective, np.inf)
    assert len(set(found.of_labels)) == 1
    if not (scores * truth * weights[:, None]).any():
        assert found.common == 0.5
        return
    plain = Plain(scores, truth, weights, 0.1)

    def value(t):
        counts = [(*plain.counts(j, t), p) for j, p in enumerate(plain.positive)]
        if objective == "macro_f1":
            return np.mean([f1(*one) for one in counts])
        return f1(*np.sum(counts, axis=0))

    # Every threshold that separates two scores, or all scores from what is not stored.
    own = sorted({0.1, *scores[scores > 0]})
    tried = [*itertools.starmap(between, itertools.pairwise(own)), 2.0]
    # The sums are added up in a different order.
    assert value(found.common) == pytest.approx(max(map(value, tried)), rel=1e-12)
    if objective != "f1":
        assert found.score == pytest.approx(value(found.common), rel=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "objective", ["f1", "micro_f1", "macro_f1", "precision>=.55", "label_count", "label_count=1.5"]
)
def test_the_common_threshold_is_the_best_of_all_thresholds(objective, weighted, masked):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.random((60, 4)) < rng.random(4) ** 2
        scores = (rng.random(truth.shape) * rng.random(4) + 0.3 * truth).round(seed % 4 + 1).clip(0, 1)
        mask = (rng.random(truth.shape) < 0.3) & masked
        scores[mask], truth[mask] = 0, False
        weights = rng.integers(0, 4, 60).astype(float) if weighted else np.ones(60)
        pattern = sparse.csr_array(mask) if masked else None
        arrays = sparse.csr_array(scores), sparse.csr_array(truth)
        found = tuned(*arrays, weights, Objective.parsed(objective), 0.0, "share", 0.01, pattern).common
        n = (weights @ ~mask).sum() / 4
        n_allowed = 1.5 * n if objective.endswith("1.5") else (weights @ truth).sum()

        def value(t, scores=scores, truth=truth, weights=weights, n_allowed=n_allowed):
            named = (scores > 0) & (scores >= t)
            hits, n_named, positive = (weights @ cells for cells in (named & truth, named, truth))
            if objective.startswith("precision"):
                return hits.sum() if hits.sum() >= 0.55 * n_named.sum() else -1.0
            if objective.startswith("label_count"):
                return n_named.sum() if n_named.sum() <= n_allowed * (1 + 1e-9) else -1.0
            if objective == "macro_f1":
                return np.mean([f1(*of_label) for of_label in zip(hits, n_named, positive, strict=True)])
            return f1(hits.sum(), n_named.sum(), positive.sum())

        # The sums are added up in a different order.
        assert value(found) == pytest.approx(max(map(value, [2.0, *scores[scores > 0]])), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(hostile(), st.sampled_from([0.3, 1.0, 2.5, 100.0]))
def test_a_budget_of_labels_is_used_up_and_kept(data, budget):
    scores, truth, weights = data
    found = fast(scores, truth, weights, f"label_count={budget}", 0.0)
    total = weights.sum()
    plain = Plain(scores, truth, weights, 0.1)

    def named(t):
        return sum(plain.counts(j, t)[1] for j in range(scores.shape[1])) / total

    # The budget holds for float64 sums in a different order.
    assert named(found.common) <= budget + 1e-9
    assert found.n_named == pytest.approx(named(found.common), rel=1e-12)  # summed in a different order
    lower = [s for s, w in zip(scores.ravel(), np.repeat(weights, scores.shape[1]), strict=True) if w > 0]
    lower = [s for s in lower if 0 < s < found.common]
    if lower:
        assert named(max(lower)) > budget


@settings(max_examples=60, deadline=None)
@given(hostile(), st.sampled_from(OBJECTIVES), st.sampled_from([0.0, 3.0, np.inf]), TOWARD)
def test_weight_zero_has_no_effect_and_two_is_two_samples(data, objective, m, toward):
    scores, truth, weights = data
    repeats = weights.astype(int)
    one = fast(scores, truth, weights, objective, m, toward)
    twice = scores.repeat(repeats, axis=0), truth.repeat(repeats, axis=0), np.ones(repeats.sum())
    other = fast(*twice, objective, m, toward)
    np.testing.assert_array_equal(one.of_labels, other.of_labels)
    assert one.score == other.score or (np.isnan(one.score) and np.isnan(other.score))


@pytest.mark.parametrize("toward", ["share", "threshold"])
def test_rare_labels_are_drawn_to_what_all_labels_do(toward):
    rng = np.random.default_rng(0)
    truth = rng.random((4000, 2)) < [0.3, 0.0008]
    scores = np.clip(np.where(truth, 0.6, 0.3) + rng.normal(scale=0.1, size=truth.shape), 0.01, 1.0)
    alone, shrunk, common = (fast(scores, truth, np.ones(4000), "f1", m, toward) for m in (0.0, 100.0, np.inf))
    if toward == "threshold":
        did = [found.of_labels for found in (alone, shrunk, common)]
    else:
        did = [(scores >= found.of_labels).sum(axis=0) / truth.sum(axis=0) for found in (alone, shrunk, common)]
        # A rare label can only have few shares: with three true samples, multiples of one third.
        assert abs(did[2][1] - did[2][0]) < 1 / truth.sum(axis=0)[1]
    assert abs(did[1][1] - did[2][1]) < abs(did[0][1] - did[2][1])
    assert abs(did[1][0] - did[0][0]) < 0.05


@pytest.mark.parametrize(
    "objective",
    ["f2", "", None, 3, "precision", "precision>=", "precision>=1.5", "precision>=0", "label_count=0", "f1 "],
)
def test_unknown_objectives_are_refused(objective):
    X, Y = problem()
    with pytest.raises(ValueError, match=r"objective must be 'f1', 'micro_f1', 'macro_f1', 'precision>=.9'.*got "):
        TunedThresholds(forest(), objective=objective).fit(X, Y)


# The classifier


@pytest.mark.filterwarnings("ignore:objective='macro_f1' takes all stored scores")
@pytest.mark.parametrize("cv", [None, "oob", 3, KFold(3)], ids=str)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_dense_and_sparse_labels_give_the_same_thresholds_and_labels(objective, cv):
    X, Y = problem()
    # The default of `min_score` depends on the form of y.
    rules = {"objective": objective, "cv": cv, "random_state": 0, "min_score": 0.01}
    one = TunedThresholds(forest(), **rules).fit(X, Y)
    predicted = one.predict(X)
    assert isinstance(predicted, sparse.csr_array)
    assert predicted.dtype == Y.dtype
    expected = one.predict_proba(X) >= one.threshold_
    np.testing.assert_array_equal(predicted.toarray(), expected)
    for given_y in (Y.toarray(), Y.toarray().astype(bool), sparse.csc_matrix(Y), sparse.coo_array(Y.astype(float))):
        other = TunedThresholds(forest(), **rules).fit(X, given_y)
        np.testing.assert_array_equal(other.threshold_, one.threshold_)
        labels = other.predict(X)
        assert sparse.issparse(labels) == sparse.issparse(given_y)
        assert labels.dtype == given_y.dtype
        np.testing.assert_array_equal(labels.toarray() if sparse.issparse(labels) else labels, expected)
        assert other.score(X, given_y) == one.score(X, Y)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_out_of_bag_thresholds_are_of_the_forests_out_of_bag_scores():
    X, Y = problem()
    w = np.random.default_rng(0).integers(0, 3, X.shape[0]).astype(float)
    found = TunedThresholds(forest(n_estimators=40), cv="oob").fit(X, Y, sample_weight=w)
    scored = forest(n_estimators=40, oob_score=True).fit(X, Y.toarray(), sample_weight=w)
    scores = scored.oob_decision_function_
    # Samples that every tree has drawn have no out-of-bag scores and do not count.
    w[np.isnan(scores[:, 0])] = 0
    expected = tuned(
        sparse.csr_array(np.where(scores >= 0.01, scores, 0)),
        Y,
        w,
        Objective.parsed("f1"),
        found.shrinkage,
        "share",
        0.01,
    )
    np.testing.assert_array_equal(found.threshold_, expected.of_labels)
    assert not hasattr(found.estimator_, "oob_decision_function_")
    np.testing.assert_array_equal(found.predict_proba(X), scored.predict_proba(X))


@pytest.mark.parametrize("around", [TunedThresholds, partial(CalibratedLabels, too_few="keep")])
@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (forest(n_estimators=-3), "The 'n_estimators' parameter of RandomForestClassifier"),
        (forest(criterion="foo"), "The 'criterion' parameter of RandomForestClassifier"),
        (weald.LinearClassifier(tol="small"), "The 'tol' parameter of LinearClassifier"),
    ],
)
@pytest.mark.parametrize("cv", ["oob", 3])
def test_parameters_of_the_estimator_are_checked_whatever_scores_it(around, inner, message, cv):
    X, Y = problem()
    with pytest.raises(ValueError, match=message):
        around(inner, cv=cv).fit(X, Y)


@pytest.mark.parametrize("name", LABEL_MODELS)
def test_cross_validated_scores_are_of_the_other_folds(name):
    X, Y = problem()
    cv = KFold(3, shuffle=True, random_state=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "objective='f1' takes all stored scores")
        found = TunedThresholds(small(name), cv=cv, min_score=0.05).fit(X, Y)
    scores = np.zeros(Y.shape)
    for train, test in cv.split(X):
        scores[test] = small(name).fit(X[train], Y[train]).predict_proba(X[test])
    scores[scores < 0.05] = 0
    expected = tuned(
        sparse.csr_array(scores), Y, np.ones(len(scores)), Objective.parsed("f1"), found.shrinkage, "share", 0.05
    )
    np.testing.assert_array_equal(found.threshold_, expected.of_labels)


def test_a_frozen_estimator_is_left_alone_and_tuned_on_the_samples_given():
    X, Y = problem()
    model = forest().fit(X[:60], Y[:60])
    found = TunedThresholds(FrozenEstimator(model), objective="micro_f1").fit(X[60:], Y[60:])
    scores = model.predict_sparse(X[60:], 0.01)
    expected = tuned(scores, Y[60:], np.ones(60), Objective.parsed("micro_f1"), found.shrinkage, "share", 0.01)
    np.testing.assert_array_equal(found.threshold_, expected.of_labels)
    assert clone(found).fit(X[60:], Y[60:]).threshold_.tolist() == found.threshold_.tolist()
    with pytest.raises(NotFittedError):
        TunedThresholds(FrozenEstimator(forest())).fit(X, Y)


def test_estimators_of_scikit_learn_and_pipelines():
    X, Y = problem()
    # From a dense array: SciPy before 1.13 draws 64-bit indices, which scikit-learn's trees do not support.
    X, dense = sparse.csr_array(X.toarray()), Y.toarray()
    theirs = TunedThresholds(RandomForestClassifier(10, random_state=0), cv=3, random_state=0).fit(X, dense)
    assert theirs.predict(X).shape == Y.shape
    assert theirs.predict(X)[:, 3].sum() == 0  # a label that no sample has
    margins = TunedThresholds(OneVsRestClassifier(RidgeClassifier()), cv=3, random_state=0).fit(
        X, dense[:, [0, 1, 2, 4]]
    )
    assert margins.score(X, dense[:, [0, 1, 2, 4]]) > 0.3
    pipeline = make_pipeline(MaxAbsScaler(), forest())
    found = TunedThresholds(pipeline).fit(X, Y)
    alone = TunedThresholds(forest()).fit(MaxAbsScaler().fit_transform(X), Y)
    np.testing.assert_array_equal(found.threshold_, alone.threshold_)
    np.testing.assert_array_equal(found.predict(X).toarray(), alone.predict(MaxAbsScaler().fit_transform(X)).toarray())
    weighted = TunedThresholds(pipeline, cv=2, random_state=0).fit(X, Y, sample_weight=np.ones(X.shape[0]))
    plain = TunedThresholds(pipeline, cv=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(weighted.threshold_, plain.threshold_)
    outer = make_pipeline(MaxAbsScaler(), TunedThresholds(forest())).fit(X, Y)
    np.testing.assert_array_equal(outer.predict(X).toarray(), found.predict(X).toarray())


def test_scores_are_forwarded():
    X, Y = problem()
    found = TunedThresholds(forest()).fit(X, Y)
    model = found.estimator_
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(found.predict_sparse(X, 0.2).data, model.predict_sparse(X, 0.2).data)
    for one, other in zip(found.predict_topk(X, 3, exclude=[1]), model.predict_topk(X, 3, exclude=[1]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not hasattr(TunedThresholds(RidgeClassifier()), "predict_proba")
    assert found.n_features_in_ == 40
    assert not hasattr(TunedThresholds(forest()), "n_features_in_")


@pytest.mark.parametrize(
    "made", [lambda: TunedThresholds(forest()), lambda: CalibratedLabels(forest(), too_few="keep")]
)
def test_company_of_scikit_learn(made):
    X, Y = problem()
    model = made().fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X).toarray(), model.predict(X).toarray())
    assert clone(model).get_params().keys() == model.get_params().keys()
    # A fit that raises an error leaves the model as it was.
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="y must have at least one label in a sample of positive weight, got none"):
        model.fit(X, Y * 0)
    assert all(model.__dict__[key] is before[key] for key in before)
    search = GridSearchCV(made(), {"estimator__max_depth": [1, None]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0
    for check in (
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
    ):
        check(type(model).__name__, made())
    for check in (
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
    ):
        check(type(model).__name__, made())
    with pytest.raises(NotFittedError):
        made().predict(X)


@pytest.mark.parametrize("kind", [TunedThresholds, CalibratedLabels])
def test_bad_input_is_named(kind):
    X, Y = problem()

    def refused(error, message, y=Y, X=X, estimator=None, **params):
        model = kind(forest() if estimator is None else estimator, **params)
        with pytest.raises(error, match=message):
            model.fit(X, y)
        assert not hasattr(model, "estimator_")

    refused(
        TypeError,
        "estimator must be a classifier with predict_proba or decision_function, got a MaxAbsScaler",
        estimator=MaxAbsScaler(),
    )
    refused(
        TypeError,
        r"estimator must be an instance, RandomForestClassifier\(\), got the class",
        estimator=weald.RandomForestClassifier,
    )
    refused(ValueError, "cv='oob' requires bootstrap=True", cv="oob", estimator=forest(bootstrap=False))
    refused(
        ValueError,
        "cv='oob' requires a forest of weald .*got OneVsRest",
        cv="oob",
        estimator=OneVsRestClassifier(RidgeClassifier()),
    )
    refused(ValueError, "cv='oob' requires a forest of weald .*got Gradient", cv="oob", estimator=make(BOOSTING[0]))
    for cv in ("prefit", 1, True):
        refused(ValueError, r"cv must be 'oob', an integer of at least 2.*got ", cv=cv)
    for bad in (-0.1, 2, "a"):
        refused(ValueError, "min_score must be ('auto' or )?a number from 0 to 1, got ", min_score=bad)
    refused(ValueError, r"y must have shape \(n_samples, n_labels\), got an array with 1 dimension", y=np.ones(120))
    refused(ValueError, "must have the values 0 and 1", y=Y.toarray() * 2)
    refused(ValueError, "inconsistent numbers of samples", y=Y[:5])
    if kind is TunedThresholds:
        refused(ValueError, "'toward' parameter .* must be a str among {'\\w+', '\\w+'}. Got 'all'", toward="all")
        for bad in (-1, "a", np.nan, None, True):
            refused(ValueError, "shrinkage must be a number of at least 0.*got ", shrinkage=bad)
    else:
        refused(ValueError, "'method' parameter .* must be a str among {'\\w+', '\\w+'}. Got 'platt'", method="platt")
        refused(ValueError, "'too_few' parameter .* must be a str among {'\\w+', '\\w+'}. Got 'drop'", too_few="drop")
        for bad in (0, 1.5, True, "a"):
            refused(ValueError, "min_positives must be a positive integer, got ", min_positives=bad)
        refused(
            ValueError,
            r"y must have at least min_positives=5 samples for each label, but \d+ label.* fewer: 3.*too_few='keep'",
        )
        refused(
            ValueError,
            "y must have at least one label in a sample of positive weight",
            y=sparse.csr_array((120, 3), dtype=int),
        )


# Calibration


def plain_scores(seed, n=200, d=4):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.1, 0.2, 0.4, 0.7, 0.9], (n, d))
    truth = rng.random((n, d)) < 0.7 * scores**1.5 + 0.05
    return scores, truth, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("seed", range(4))
def test_calibration_is_scikit_learns_of_each_column(seed):
    scores, truth, weights = plain_scores(seed)
    kept = np.array([False, True, False, False])
    arrays = sparse.csr_array(scores), sparse.csr_array(truth), weights
    isotonic, sigmoid = (calibrated(*arrays, method, kept)(arrays[0]) for method in ("isotonic", "sigmoid"))
    for j in range(scores.shape[1]):
        stored = scores[:, j] > 0
        if kept[j]:
            for found in (isotonic, sigmoid):
                np.testing.assert_array_equal(found.toarray()[:, j], scores[:, j])
            continue
        theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores[:, j], truth[:, j], weights)
        # The sums are added up in a different order, and scikit-learn predicts in float64, too.
        expected = np.where(stored, theirs.predict(scores[:, j]), 0)
        np.testing.assert_allclose(isotonic.toarray()[:, j], expected, rtol=1e-12)
        # scikit-learn's search stops at a gradient of about 1e-6, which changes the probabilities by about as much.
        a, b = _sigmoid_calibration(scores[:, j], truth[:, j].astype(int), weights)
        expected = np.where(stored, 1 / (1 + np.exp(a * scores[:, j] + b)), 0)
        np.testing.assert_allclose(sigmoid.toarray()[:, j], expected, rtol=0, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(hostile(), st.sampled_from(["isotonic", "sigmoid"]))
def test_calibrated_scores_are_probabilities_in_the_order_of_the_scores(data, method):
    scores, truth, weights = data
    cells = sparse.csr_array(scores)
    found = calibrated(cells, sparse.csr_array(truth), weights, method, np.zeros(scores.shape[1], dtype=bool))
    found = found(cells).toarray()
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[scores == 0] == 0).all()
    for j in range(scores.shape[1]):
        stored = scores[:, j] > 0
        order = np.argsort(scores[stored, j])
        assert (np.diff(found[stored, j][order]) >= 0).all()


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@pytest.mark.parametrize("cv", ["oob", 3])
def test_calibrated_labels(method, cv):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 20))
    Y = sparse.csr_array((X @ rng.normal(size=(20, 6)) > [3, 3, 3, 100, 4, 4]).astype(int))
    rules = {"method": method, "cv": cv, "too_few": "keep", "random_state": 0}
    model = CalibratedLabels(forest(n_estimators=50), **rules).fit(X[:500], Y[:500])
    proba = model.predict_proba(X[500:])
    before, truth = model.estimator_.predict_proba(X[500:]), Y[500:].toarray()
    # Forests pull probabilities towards the frequency of the label.
    assert ((proba - truth) ** 2).mean() < ((before - truth) ** 2).mean()
    assert model.is_calibrated_.tolist() == (Y[:500].toarray().sum(axis=0) >= 5).tolist()
    np.testing.assert_array_equal(proba[:, 3], np.where(before[:, 3] >= 0.01, before[:, 3], 0))
    found = model.predict_sparse(X[500:], 0.3)
    np.testing.assert_array_equal(found.toarray(), np.where(proba >= 0.3, proba, 0))
    np.testing.assert_array_equal(model.predict(X[500:]).toarray(), proba > 0.5)
    dense = CalibratedLabels(forest(n_estimators=50), **rules).fit(X[:500], Y[:500].toarray())
    np.testing.assert_array_equal(dense.predict_proba(X[500:]), proba)
    np.testing.assert_array_equal(dense.predict(X[500:]), proba > 0.5)
    for exclude, floor in itertools.product([None, [0, 2], sparse.csr_array(truth)], [0, 0.2]):
        banned = set()
        if exclude is not None:
            cells = zip(*exclude.nonzero(), strict=True) if sparse.issparse(exclude) else ()
            banned = set(cells) if sparse.issparse(exclude) else set(itertools.product(range(300), exclude))
        best = plain_topk(proba, 4, lambda i, j, f=floor: proba[i, j] >= f, banned, 0.0)
        for one, other in zip(model.predict_topk(X[500:], 4, min_score=floor, exclude=exclude), best, strict=True):
            np.testing.assert_array_equal(one, other)
    inside = TunedThresholds(model.set_params(cv=3), cv=3, random_state=0).fit(X[:500], Y[:500])
    assert inside.score(X[500:], Y[500:]) > 0.2


# Pipelines and chunks


def test_topk_through_a_pipeline_and_in_chunks():
    X, Y = problem()
    pipeline = make_pipeline(MaxAbsScaler(), forest()).fit(X, Y)
    inside = MaxAbsScaler().fit_transform(X)
    exclude = sparse.csr_array(Y)
    expected = pipeline[-1].predict_topk(inside, 4, min_score=0.1, exclude=exclude)
    rules = {"min_score": 0.1, "exclude": exclude}
    for model in (pipeline, FrozenEstimator(pipeline), make_pipeline(MaxAbsScaler(), FrozenEstimator(pipeline[-1]))):
        if model is not pipeline and not isinstance(model, FrozenEstimator):
            model[0].fit(X)
        found = weald.topk(model, X, 4, **rules)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    for given_x, left_out in itertools.product(
        (X, X.toarray(), X.tocoo()), (exclude, exclude.tocoo(), exclude.toarray())
    ):
        for size in (1, 33, 120, 10**9):
            found = weald.topk(pipeline, given_x, 4, chunk_size=size, min_score=0.1, exclude=left_out)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])
    lengths = []
    counted = make_pipeline(FunctionTransformer(lambda rows: lengths.append(rows.shape[0]) or rows), forest())
    counted.fit(X, Y)
    lengths.clear()
    weald.topk(counted, X, 4, chunk_size=33)
    assert lengths == [33, 33, 33, 21]
    with pytest.raises(TypeError, match=r"estimator must be .*got RidgeClassifier, which has no predict_topk"):
        weald.topk(make_pipeline(RidgeClassifier()), X, 1)
    for bad in (0, 1.5, True, "a"):
        with pytest.raises(ValueError, match=r"chunk_size must be a positive integer or None, got "):
            weald.topk(pipeline, X, 1, chunk_size=bad)
    for bad in (exclude[:60], np.zeros((60, 15))):
        with pytest.raises(ValueError, match=r"exclude must have 120 rows, one for each sample of X, got 60"):
            weald.topk(pipeline, X, 1, chunk_size=60, exclude=bad)
    once = weald.topk(pipeline, X, 4, chunk_size=70, exclude=[3])
    np.testing.assert_array_equal(once[0], weald.topk(pipeline, X, 4, exclude=[3])[0])
    tags = TunedThresholds(pipeline).fit(X, Y)
    np.testing.assert_array_equal(weald.topk(tags, X, 4, **rules)[0], tags.predict_topk(X, 4, **rules)[0])


# The reliability display


def test_the_reliability_of_labels_is_counted_cell_by_cell():
    scores, truth, _ = plain_scores(0)
    display = LabelReliabilityDisplay.from_predictions(truth.astype(int), sparse.csr_array(scores), n_bins=5)
    edges = np.linspace(0, 1, 6)
    at = np.searchsorted(edges[1:-1], scores)
    found = display.mean_probability[0], display.fraction_true[0], display.n_cells[0]
    for b, mean, share, n in zip(np.unique(at), *found, strict=True):
        assert n == (at == b).sum()
        assert mean == pytest.approx(scores[at == b].mean(), rel=1e-12)  # summed in a different order
        assert share == truth[at == b].mean()
    display = LabelReliabilityDisplay.from_predictions(truth, scores, labels=[0, 2], name="forest", strategy="quantile")
    assert [line.get_label() for line in display.lines_] == ["forest, label 0", "forest, label 2"]
    assert sum(display.n_cells[1]) == len(scores)
    # A label that is unknown for some samples has the curve of the other samples.
    mask = np.zeros(truth.shape, dtype=np.bool_)
    mask[::3, 2] = True
    masked = LabelReliabilityDisplay.from_predictions(
        truth, sparse.csr_array(scores), y_weight=unless(mask), labels=[2]
    )
    known = LabelReliabilityDisplay.from_predictions(truth[~mask[:, 2]], scores[~mask[:, 2]], labels=[2])
    np.testing.assert_array_equal(masked.n_cells, known.n_cells)
    np.testing.assert_array_equal(masked.fraction_true, known.fraction_true)
    X, Y = problem()
    model = forest().fit(X, Y)
    again = LabelReliabilityDisplay.from_estimator(model, X, Y, ax=display.ax_)
    assert again.ax_ is display.ax_
    assert again.lines_[0].get_label() == "RandomForestClassifier"
    for bad, message in [
        ({"n_bins": 0}, "n_bins must be an integer from 1 to 4294967295, got 0"),
        ({"strategy": "even"}, "strategy must be 'uniform' or 'quantile', got 'even'"),
        ({"labels": [15]}, r"labels must be a list of integers from 0 to 14, got \[15\]"),
        ({"labels": []}, "labels must be a list of integers from 0 to 14, got "),
    ]:
        with pytest.raises(ValueError, match=message):
            LabelReliabilityDisplay.from_estimator(model, X, Y, **bad)
    with pytest.raises(ValueError, match=r"^y_score must have shape \(200, 4\), that of y_true, got \(3, 4\)$"):
        LabelReliabilityDisplay.from_predictions(truth, scores[:3])
    with pytest.raises(ValueError, match="y_score must be probabilities from 0 to 1"):
        LabelReliabilityDisplay.from_predictions(truth, scores * 2)
    with pytest.raises(TypeError, match="must be a classifier with predict_proba or decision_function"):
        LabelReliabilityDisplay.from_estimator(MaxAbsScaler(), X, Y)
    with pytest.raises(NotFittedError):
        LabelReliabilityDisplay.from_estimator(forest(), X, Y)


@pytest.mark.parametrize("kind", [TunedThresholds, CalibratedLabels])
@pytest.mark.parametrize("masked", [False, True])
def test_folds_that_are_stratified_by_labels_are_told_y(kind, masked):
    X, Y = problem()
    mask = np.random.default_rng(1).random(Y.shape) < 0.2 if masked else None
    cv = MultilabelStratifiedKFold(2)
    folds = list(cv.split(X, Y, y_weight=unless(mask)))
    rules = {"too_few": "keep"} if kind is CalibratedLabels else {}
    found = kind(forest(n_estimators=5), cv=cv, **rules).fit(X, Y, y_weight=unless(mask))
    expected = kind(forest(n_estimators=5), cv=folds, **rules).fit(X, Y, y_weight=unless(mask))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X).toarray(), expected.predict(X).toarray())


# Floors of scores, and weights in any order


def rare_labels(n=900):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    logit = 1.3 * X[:, :4] - 4.0 + 0.5 * X[:, 4:5]
    return X, (rng.random((n, 4)) < 1 / (1 + np.exp(-logit))).astype(int)


def log_loss_of(Y, proba):
    return -np.mean(np.log(np.where(Y == 1, proba, 1 - proba)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize(
    "model",
    [
        weald.RandomForestClassifier(30, min_samples_leaf=2, random_state=0),
        weald.LinearClassifier(strategy="tree", random_state=0),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=["forest", "label tree", "others"],
)
def test_labels_without_a_stored_score_have_a_probability(model, method, form):
    X, Y = rare_labels()
    around = CalibratedLabels(model, method=method, cv=3, random_state=0, too_few="keep")
    proba = around.fit(X[:600], form(Y[:600])).predict_proba(X[600:])
    before = around.estimator_.predict_proba(X[600:])
    truth = Y[600:]
    # Isotonic functions may be 0 or 1 where no sample of the calibration was of the other kind.
    if method == "sigmoid":
        assert ((proba > 0) & (proba < 1)).all()
    # Those of logistic regression are right already, and a sigmoid of probabilities is none of log-odds.
    if method == "sigmoid" and not isinstance(model, OneVsRestClassifier):
        assert log_loss_of(truth, proba) <= log_loss_of(truth, np.clip(before, 1e-6, 1 - 1e-6))
    # In sparse form, and in the order of the probabilities.
    for floor in (0.02, 0.3):
        np.testing.assert_array_equal(
            around.predict_sparse(X[600:], floor).toarray(), np.where(proba < floor, 0, proba)
        )
    np.testing.assert_array_equal(dense_labels(around.predict(X[600:])), proba > 0.5)
    indices, found = around.predict_topk(X[600:], 3)
    np.testing.assert_array_equal(found, np.sort(proba, axis=1)[:, ::-1][:, :3])
    np.testing.assert_array_equal(np.take_along_axis(proba, indices, axis=1), found)
    if form is np.asarray:
        np.testing.assert_array_equal(around.predict_sparse(X[600:]).toarray(), proba)


def dense_labels(found):
    return found.toarray() if sparse.issparse(found) else found


def test_the_floor_of_scores_depends_on_y_and_on_the_model():
    X, Y = rare_labels(200)
    labels = sparse.csr_array(Y)
    for around, floor in ((TunedThresholds, 0.01), (CalibratedLabels, 0.01), (ConformalLabels, 0.001)):
        rules = {"too_few": "keep"} if around is CalibratedLabels else {}
        assert around(forest(), **rules).fit(X, Y)._floor() == 0
        assert around(forest(), **rules).fit(X, labels)._floor() == floor
        assert around(forest(), min_score=0.2, **rules).fit(X, labels)._floor() == 0.2
        tree = weald.LinearClassifier(strategy="tree", random_state=0)
        assert around(tree, cv=2, random_state=0, **rules).fit(X, labels)._floor() == 0
        with pytest.raises(ValueError, match="min_score must be 'auto' or a number from 0 to 1, got 'none'"):
            around(forest(), min_score="none").fit(X, Y)


def test_as_many_labels_as_are_asked_for_or_a_warning():
    rng = np.random.default_rng(0)
    n, d, p = 1200, 400, 300
    words, tags = rng.integers(0, p, size=(d, 3)), rng.integers(0, d, size=(n, 2))
    found = np.where(rng.random((n, 1)) < 0.5, words[tags[:, 0]], rng.integers(0, p, size=(n, 3)))
    X = sparse.csr_array((np.ones(3 * n), (np.arange(n).repeat(3), found.ravel())), shape=(n, p))
    Y = (sparse.csr_array((np.ones(2 * n), (np.arange(n).repeat(2), tags.ravel())), shape=(n, d)) > 0).astype(np.int8)
    tree = weald.LinearClassifier(strategy="tree", random_state=0)
    tuned_tree = TunedThresholds(tree, objective="label_count", cv=3, random_state=0).fit(X, Y)
    assert tuned_tree.n_labels_named_ == pytest.approx(Y.sum() / n, rel=0.05)
    with pytest.warns(
        UserWarning, match=r"objective='label_count' takes all stored scores .* below 0\.3 may predict more"
    ):
        few = TunedThresholds(tree, objective="label_count", min_score=0.3, cv=3, random_state=0).fit(X, Y)
    assert few.n_labels_named_ < 1
    with pytest.warns(UserWarning, match="objective='label_count=500' takes all .* it has no further ones"):
        TunedThresholds(tree, objective="label_count=500", cv=3, random_state=0).fit(X, Y)


class Given(ClassifierMixin, BaseEstimator):
    """Its probabilities are the features."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.arange(y.shape[1]), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.asarray(X, float)

    def predict(self, X):
        return (np.asarray(X) > 0.5).astype(int)


@pytest.mark.parametrize("objective", ["f1", "micro_f1", "macro_f1", "precision>=.5", "label_count", "label_count=1.5"])
@pytest.mark.parametrize("shrinkage", [0.0, 50.0])
def test_fractional_weights_do_not_depend_on_the_order_of_samples(objective, shrinkage):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        P, Y = np.round(rng.random((9, 3)) * 4) / 4, (rng.random((9, 3)) < 0.5).astype(int)
        w, mask = rng.choice([0.1, 0.2, 0.3, 0.7, 1 / 3], 9), rng.random((9, 3)) < 0.2
        if not (Y * ~mask).any(axis=0).all():
            continue
        given, order = FrozenEstimator(Given().fit(P, Y)), rng.permutation(9)
        for told in (None, mask):
            found = []
            for rows in (np.arange(9), order, order[::-1]):
                model = TunedThresholds(given, objective=objective, shrinkage=shrinkage)
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "objective=")
                    model.fit(P[rows], Y[rows], w[rows], y_weight=unless(None if told is None else told[rows]))
                found.append((model.threshold_.tobytes(), model.common_threshold_))
            assert len(set(found)) == 1, (seed, told is None)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_by_fractional_weights_does_not_depend_on_the_order_of_samples(method):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        P, Y = np.round(rng.random((40, 3)) * 8) / 8, (rng.random((40, 3)) < 0.4).astype(int)
        w = rng.choice([0.1, 0.2, 0.3, 0.7, 1 / 3], 40)
        given, order = FrozenEstimator(Given().fit(P, Y)), rng.permutation(40)
        one, other = (CalibratedLabels(given, method=method).fit(P[i], Y[i], w[i]) for i in (np.arange(40), order))
        np.testing.assert_array_equal(one.predict_proba(P), other.predict_proba(P))
        # Weight 2 is two samples, in halves too.
        halves = rng.integers(0, 4, 40) / 2
        twice = np.concatenate([P, P]), np.concatenate([Y, Y]), np.concatenate([halves, halves])
        double = CalibratedLabels(given, method=method, too_few="keep").fit(P, Y, 2 * halves)
        again = CalibratedLabels(given, method=method, too_few="keep").fit(*twice)
        np.testing.assert_array_equal(again.predict_proba(P), double.predict_proba(P))
