"""Label trees: what probabilities mean, what each kind of y leads to, and the tools around them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import check_refused, make_data, model_bytes, unless
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from weald import inspection, model_selection
from weald.metrics import make_topk_scorer
from weald.multilabel import CalibratedLabels, TunedThresholds

RNG = np.random.default_rng(3)
N, P, D = 200, 40, 30
COUNTS = sparse.csr_array(RNG.poisson(0.3, size=(N, P)))
# Labels of which each has some words, so that they cluster.
LABELS = (COUNTS @ (RNG.random((P, D)) < 0.1) > 2).astype(np.int8)
SMALL = {"n_estimators": 3, "max_children": 3, "max_leaf_labels": 2, "beam_width": 4}


def model(**params):
    return weald.LinearClassifier(**{"strategy": "tree", "random_state": 0, **SMALL, **params})


def in_columns(fitted, X):
    """The scores of the engine: logarithms of probabilities, and minus infinity for labels that are not found."""
    ptr, labels, values = fitted._model.predict_scores(sparse.csr_matrix(X, dtype=np.float32))
    found = np.full((X.shape[0], fitted.n_classes_), -np.inf)
    found[np.repeat(np.arange(X.shape[0]), np.diff(ptr.astype(np.int64))), labels] = values
    return found


def test_probabilities_are_zero_where_the_search_does_not_go():
    fitted = model().fit(COUNTS, LABELS)
    assert min(fitted._model.depths()) >= 2
    proba = fitted.predict_proba(COUNTS)
    np.testing.assert_allclose(proba, np.exp(in_columns(fitted, COUNTS)), rtol=1e-12)
    assert ((proba >= 0) & (proba <= 1)).all()
    n_found = (proba > 0).sum(axis=1)
    # Four leaves of at most two labels in each of three trees.
    assert n_found.max() <= 24
    wide = model(beam_width=1000).fit(COUNTS, LABELS).predict_proba(COUNTS)
    assert (wide > 0).sum() > n_found.sum()


def test_predictions_are_labels_above_one_half():
    for Y in (LABELS, sparse.csr_array(LABELS), sparse.csr_matrix(LABELS)):
        fitted = model().fit(COUNTS, Y)
        proba, predicted = fitted.predict_proba(COUNTS), fitted.predict(COUNTS)
        assert type(predicted) is type(Y)
        assert predicted.dtype == Y.dtype
        dense = predicted.toarray() if sparse.issparse(predicted) else predicted
        np.testing.assert_array_equal(dense, proba > 0.5)
        np.testing.assert_array_equal(fitted.decision_function(COUNTS), proba - 0.5)
        for floor in (0.0, 0.3):
            stored = fitted.predict_sparse(COUNTS, min_score=floor)
            np.testing.assert_array_equal(stored.toarray(), np.where(proba >= floor, proba, 0.0))
    # It learns what it is fitted to: most of what it says is right.
    assert (LABELS[dense > 0] == 1).mean() > 0.8


@pytest.mark.parametrize("params", [{}, {"beam_width": 1, "n_estimators": 1}, {"max_leaf_labels": 400}])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_best_labels_are_those_of_all_probabilities(container, params):
    fitted = model(**params).fit(COUNTS, container(LABELS))
    proba = fitted.predict_proba(COUNTS)
    # Labels that no sample has come last.
    scores = in_columns(fitted, COUNTS)
    order = np.lexsort((np.broadcast_to(~LABELS.any(axis=0), scores.shape), -scores), axis=1)
    for k in (1, 3, D):
        indices, found = fitted.predict_topk(COUNTS, k)
        np.testing.assert_array_equal(indices, order[:, :k])
        np.testing.assert_array_equal(found, np.take_along_axis(proba, order, axis=1)[:, :k])
    _, margins = fitted.predict_topk(COUNTS, 3, scores="margin")
    np.testing.assert_array_equal(margins, np.take_along_axis(proba, order, axis=1)[:, :3] - 0.5)
    indices, found = fitted.predict_topk(COUNTS, D, exclude=[0, 3], min_score=0.2)
    assert not np.isin(indices, [0, 3]).any()
    assert ((indices >= 0) == (found >= 0.2)).all()


def test_a_tree_of_one_leaf_is_the_linear_model():
    params = {"features": "tfidf", "intercept_scaling": 0.3, "tol": 0.1, "min_weight": 0.01, "max_leaf_labels": 400}
    fitted = model(C=1.0, n_estimators=1, **params).fit(COUNTS, LABELS)
    del params["max_leaf_labels"]
    linear = weald.LinearClassifier(1.0, calibrate=False, random_state=0, **params).fit(COUNTS, LABELS)
    assert fitted._model.depths() == [0]
    expected = np.exp(-(np.maximum(0, 1 - linear.decision_function(COUNTS)) ** 3))
    has_samples = LABELS.any(axis=0)
    # Margins are sums in float64 in both models.
    np.testing.assert_allclose(fitted.predict_proba(COUNTS)[:, has_samples], expected[:, has_samples], rtol=1e-9)


@pytest.mark.parametrize("n_classes", [1, 2, 9])
def test_classes(n_classes):
    words = np.array([f"class {j}" for j in range(n_classes)])
    y = words[(COUNTS @ RNG.normal(size=P) * 3).astype(int) % n_classes]
    fitted = model().fit(COUNTS, y)
    assert fitted.classes_.tolist() == sorted(set(y))
    proba = fitted.predict_proba(COUNTS)
    assert proba.shape == (N, len(fitted.classes_))
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(COUNTS), fitted.classes_[proba.argmax(axis=1)])
    assert not hasattr(fitted, "decision_function")
    k = min(3, len(fitted.classes_))
    indices, found = fitted.predict_topk(COUNTS, k)
    np.testing.assert_array_equal(found, np.take_along_axis(proba, indices, axis=1))
    np.testing.assert_array_equal(indices[:, 0], proba.argmax(axis=1))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(COUNTS), proba)
    # They are the trees of one label for each class.
    of_labels = model().fit(COUNTS, (y[:, None] == fitted.classes_).astype(int))
    alone = of_labels.predict_proba(COUNTS)
    if n_classes > 1:
        np.testing.assert_allclose(proba, alone / alone.sum(axis=1, keepdims=True), rtol=1e-9)


def test_several_outputs_of_classes_are_refused_in_words():
    y = RNG.integers(0, 3, size=(N, 2))
    message = "y must be labels, several columns of 0 and 1, or one output of classes, got 2 outputs of classes"
    check_refused(model().fit(COUNTS, LABELS), ValueError, message, COUNTS, y)
    check_refused(model(multi_label=False).fit(COUNTS, y[:, 0]), ValueError, message, COUNTS, LABELS[:, :2])


def test_labels_without_samples_are_never_found():
    Y = LABELS.copy()
    Y[:, 4] = 0
    fitted = model(beam_width=1000).fit(COUNTS, Y)
    assert not fitted.predict_proba(COUNTS)[:, 4].any()
    nothing = model().fit(COUNTS, np.zeros_like(LABELS))
    assert not nothing.predict(COUNTS).any()
    indices, found = nothing.predict_topk(COUNTS, 2)
    assert (indices == [0, 1]).all()
    assert not found.any()


@pytest.mark.parametrize("features", ["given", "normalized", "tfidf"])
def test_the_order_of_samples_and_labels_does_not_count(features):
    rows, columns = RNG.permutation(N), RNG.permutation(D)
    kept = np.unique(LABELS, axis=1, return_index=True)[1]  # labels with the same samples keep their order
    fitted = model(features=features).fit(COUNTS, LABELS[:, kept])
    assert model_bytes(model(features=features, n_jobs=2).fit(COUNTS[rows], LABELS[np.ix_(rows, kept)])) == model_bytes(
        fitted
    )
    columns = RNG.permutation(len(kept))
    other = model(features=features).fit(COUNTS[rows], LABELS[:, kept][np.ix_(rows, columns)])
    np.testing.assert_array_equal(other.predict_proba(COUNTS), fitted.predict_proba(COUNTS)[:, columns])


@pytest.mark.parametrize("features", ["given", "tfidf", "auto"])
def test_a_weight_is_a_number_of_samples(features):
    weights = RNG.integers(0, 4, size=N)
    weighted = model(features=features).fit(COUNTS, LABELS, weights)
    repeated = np.repeat(np.arange(N), weights)
    assert model_bytes(weighted) == model_bytes(model(features=features).fit(COUNTS[repeated], LABELS[repeated]))


def test_unknown_labels_are_left_out():
    mask = RNG.random(LABELS.shape) < 0.2
    mask[:, 0] = False
    fitted = model().fit(COUNTS, LABELS, y_weight=unless(mask))
    assert model_bytes(fitted) != model_bytes(model().fit(COUNTS, LABELS))
    assert model_bytes(model().fit(COUNTS, np.where(mask, np.nan, LABELS))) == model_bytes(fitted)
    found = model().fit(COUNTS, sparse.csr_array(np.where(mask, 1, LABELS)), y_weight=unless(sparse.csr_array(mask)))
    assert model_bytes(found) == model_bytes(fitted)
    # A sample without any known label is absent, and so is one whose only class is unknown.
    gone = np.zeros(LABELS.shape, dtype=bool)
    gone[:50] = True
    assert model_bytes(model().fit(COUNTS, LABELS, y_weight=unless(gone))) == model_bytes(
        model().fit(COUNTS[50:], LABELS[50:])
    )
    y = LABELS[:, 0] + 2 * LABELS[:, 1]
    masked = model().fit(COUNTS, y, y_weight=unless(gone[:, :1]))
    assert model_bytes(masked) == model_bytes(model().fit(COUNTS[50:], y[50:]))


def test_what_is_done_with_x_is_chosen_by_its_values():
    dense = COUNTS.toarray().astype(float)
    fractions, negative = dense.copy(), dense.copy()
    fractions[7, 3], negative[7, 3] = 0.5, -1.0
    weights = np.ones(N)
    weights[7] = 0
    for convert in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, pd.DataFrame):
        assert model().fit(convert(dense), LABELS).features_ == "tfidf"
        for X in (fractions, negative):
            assert model().fit(convert(X), LABELS).features_ == "normalized"
            # A sample of weight zero does not exist.
            assert model().fit(convert(X), LABELS, weights).features_ == "tfidf"
    assert model(features="given").fit(fractions, LABELS).features_ == "given"
    words = TfidfTransformer(sublinear_tf=True).fit_transform(COUNTS)
    assert model().fit(words, LABELS).features_ == "normalized"
    n, n_with = N, (dense != 0).sum(axis=0)
    np.testing.assert_allclose(model().fit(dense, LABELS).idf_, 1 + np.log((1 + n) / (1 + n_with)), rtol=1e-6)
    with pytest.raises(AttributeError, match="LinearClassifier has no idf_ with features_='normalized'"):
        _ = model().fit(words, LABELS).idf_


def test_fits_that_do_not_end_in_time_warn():
    with pytest.warns(
        ConvergenceWarning, match=r"\d+ of \d+ columns of nodes did not reach tol=1e-06 within max_iter=2"
    ):
        fitted = model(C=100.0, tol=1e-6, max_iter=2).fit(COUNTS, LABELS)
    assert fitted.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 <= model().fit(COUNTS, LABELS).n_iter_ < 1000
    with pytest.raises(AttributeError, match="LinearClassifier has no n_iter_ before it is fitted"):
        _ = model().n_iter_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C' parameter of LinearClassifier must be"),
        ({"C": "best"}, "'C' parameter of LinearClassifier must be"),
        ({"features": "standardized"}, "features must be .* with strategy='tree', got 'standardized'"),
        ({"n_estimators": 0}, "'n_estimators' parameter"),
        ({"max_children": 1}, "'max_children' parameter"),
        ({"max_children": 65_537}, "'max_children' parameter"),
        ({"max_leaf_labels": 0}, "'max_leaf_labels' parameter"),
        ({"beam_width": 0}, "'beam_width' parameter"),
        ({"beam_width": 2.5}, "'beam_width' parameter"),
        ({"intercept_scaling": 1e-4}, "intercept_scaling must be 0, or from 0.001 to 1000, got 0.0001"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"min_weight": -0.1}, "'min_weight' parameter"),
        ({"weight_dtype": np.float16}, "'weight_dtype' parameter"),
        ({"multi_label": "yes"}, "'multi_label' parameter"),
    ],
)
def test_parameters_that_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        weald.LinearClassifier(strategy="tree", **params).fit(COUNTS, LABELS)


def test_samples_that_are_refused():
    X, y = make_data("LinearClassifier", outputs="labels")
    gaps = np.where(X > 1, np.nan, X)
    for Z in (gaps, sparse.csr_array(gaps), pd.DataFrame(gaps)):
        with pytest.raises(ValueError, match="X contains NaN, which LinearClassifier does not support, since a weight"):
            model().fit(Z, y)
        with pytest.raises(ValueError, match="X contains NaN"):
            model().fit(X, y).predict(np.asarray(gaps))
    frame = pd.DataFrame(X).assign(color=pd.Categorical(["red", "green"] * 30))
    with pytest.raises(ValueError, match=r"does not support text or categories, got feature 'color'.*OneHotEncoder"):
        model().fit(frame, y)
    with pytest.raises(ValueError, match=r"y must be classes, or labels of 0 and 1\."):
        model().fit(X, X[:, 0])
    with pytest.raises(AttributeError, match=r"has no feature_importances_: .*permutation_importance"):
        _ = model().fit(X, y).feature_importances_
    with pytest.raises(TypeError, match=r"got a LinearClassifier; see weald.inspection.permutation_importance"):
        inspection.shap_values(model().fit(X, y), X)


def test_large_values_have_finite_scores():
    fitted = model(features="given").fit(COUNTS, LABELS)
    extreme = np.where(COUNTS.toarray() > 0, 3e38, -3e38)
    assert np.isfinite(fitted.predict_proba(extreme)).all()
    np.testing.assert_array_equal(
        fitted.predict_topk(sparse.csr_array(extreme), 3)[0], fitted.predict_topk(extreme, 3)[0]
    )


# --- tools around it --------------------------------------------------------------------------------------------------


def test_files_and_predictors_have_the_same_predictions(tmp_path):
    words = [f"word{j}" for j in range(P)]
    frame = pd.DataFrame(COUNTS.toarray(), columns=words)
    names = [f"subject {j}" for j in range(D)]
    fitted = model().fit(frame, sparse.csr_array(LABELS), label_names=names)
    weald.save(fitted, tmp_path / "model")
    about = weald.inspect_model(tmp_path / "model")
    assert (about["kind"], about["n_trees"], about["n_outputs"]) == ("label_tree", 3, D)
    again = weald.load(tmp_path / "model")
    assert again.get_params() == fitted.get_params()
    assert weald.dumps(again) == weald.dumps(fitted)
    np.testing.assert_array_equal(
        again.predict_topk(frame, 3, names=True)[0], fitted.predict_topk(frame, 3, names=True)[0]
    )
    predictor = weald.Predictor(again)
    sample = dict(frame.iloc[5])
    for found, expected in zip(predictor.predict_topk(sample, 4), fitted.predict_topk(frame.iloc[[5]], 4), strict=True):
        np.testing.assert_array_equal(found, expected[0])
    assert (predictor.predict(sample) != fitted.predict(frame.iloc[[5]])).nnz == 0
    spoken = {word: count for word, count in sample.items() if count}
    indices, _ = weald.Predictor(again, absent="zero").predict_topk(spoken, 4)
    np.testing.assert_array_equal(indices, predictor.predict_topk(sample, 4)[0])


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: TunedThresholds(inner, cv=3, random_state=0),
        lambda inner: CalibratedLabels(inner, cv=3, min_positives=1, too_few="keep", random_state=0),
    ],
)
def test_meta_estimators_take_label_trees(around, tmp_path):
    fitted = around(model()).fit(COUNTS, sparse.csr_array(LABELS))
    weald.save(fitted, tmp_path / "model")
    again = weald.load(tmp_path / "model")
    assert (fitted.predict(COUNTS) != again.predict(COUNTS)).nnz == 0
    for found, expected in zip(weald.topk(again, COUNTS, 2), fitted.predict_topk(COUNTS, 2), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_model_selection_takes_label_trees():
    Y = sparse.csr_array(LABELS)
    indices, scores = model_selection.cross_val_predict(model(), COUNTS, Y, method="predict_topk", k=2, cv=3)
    assert indices.shape == scores.shape == (N, 2)
    fitted = model().fit(COUNTS, Y)
    score = make_topk_scorer("precision_at_k", k=1)(fitted, COUNTS, Y)
    first = fitted.predict_topk(COUNTS, 1)[0][:, 0]
    assert score == pytest.approx(LABELS[np.arange(N), first].mean())


def test_float16_weights_make_smaller_files():
    # Where all samples reach all nodes, both fit the same columns: rounded weights above send no sample elsewhere.
    single, half = (model(weight_dtype=dtype, beam_width=99).fit(COUNTS, LABELS) for dtype in ("float32", "float16"))
    # Two bytes less for each weight.
    saved = len(weald.dumps(single)) - len(weald.dumps(half))
    assert half._model.n_weights == single._model.n_weights
    assert 2 * half._model.n_weights - 200 < saved <= 2 * half._model.n_weights
    np.testing.assert_array_equal(weald.loads(weald.dumps(half)).predict_proba(COUNTS), half.predict_proba(COUNTS))
    # Margins are sums of weights within 2⁻¹¹.
    np.testing.assert_allclose(half.predict_proba(COUNTS), single.predict_proba(COUNTS), atol=0.02)


def test_what_label_trees_are_not_is_refused_in_words():
    fitted = model().fit(COUNTS, LABELS)
    with pytest.raises(ValueError, match=r"parts\[0\] was fitted without trees"):
        weald.merge([fitted, fitted])
    with pytest.raises(TypeError, match="estimator must be a linear model of weald, got a LinearClassifier with trees"):
        inspection.top_features(fitted, 0)
    with pytest.raises(TypeError, match="got a LinearClassifier"):
        weald.compression.compact_leaves(fitted)


def test_texts_of_many_subjects_are_found():
    subjects = [f"subject{j}" for j in range(120)]
    rng = np.random.default_rng(1)
    chosen = [rng.choice(120, size=2, replace=False) for _ in range(900)]
    texts = [" ".join([*(f"{subjects[j]}word" for j in pair), f"noise{rng.integers(50)}"]) for pair in chosen]
    Y = sparse.csr_array((np.ones(1800), np.sort(chosen, axis=1).ravel(), np.arange(0, 1801, 2)), shape=(900, 120))
    X = CountVectorizer().fit_transform(texts)
    fitted = weald.LinearClassifier(strategy="tree", max_children=5, max_leaf_labels=8, random_state=0).fit(
        X[:800], Y[:800]
    )
    best = fitted.predict_topk(X[800:], 2)[0]
    found = [len(set(pair) & set(row)) for pair, row in zip(chosen[800:], best.tolist(), strict=True)]
    # Each subject has a word of its own, so that nearly all are found.
    assert np.mean(found) > 1.8
