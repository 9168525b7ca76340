"""Exact laws: the same model for every layout, number of threads, order of samples and form of weights."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
import real_data
import weald
from conftest import (
    ALL,
    BOOSTING,
    CLASSIFIERS,
    COMPRESSED,
    FORESTS,
    LABEL_TREES,
    LINEAR,
    REGRESSORS,
    TREES,
    cases,
    has_outputs,
    make,
    make_data,
    model_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from weald.conformal import ConformalClassifier, ConformalLabels, ConformalRegressor
from weald.datasets import load_npz_folder
from weald.multilabel import CalibratedLabels, TunedThresholds

OUTPUTS = ["single", "several", "labels"]
# How splits are chosen: by default; on a projection of the outputs, which is given by name or as a matrix with one row
# that is the sum of the others, so that rounding could matter; by a criterion; with scaled outputs; or on bins.
WAYS = [
    None,
    "gaussian",
    "achlioptas",
    "hadamard",
    "pca",
    "matrix",
    "absolute_error",
    "scaled",
    "scaled gaussian",
    "bins",
]


pytestmark = cases(has_outputs)


def is_possible(way, name, outputs):
    """Whether splits can be chosen in this way for these outputs."""
    if way == "bins":
        return name.startswith(("DecisionTree", "RandomForest"))
    if way in (None, "absolute_error", "scaled", "scaled gaussian"):
        return way is None or name in REGRESSORS
    return outputs != "single" or name in REGRESSORS  # a single output of classes has no projection


def chosen_by(way, name, outputs):
    """Parameters for one of these ways to choose splits, for the outputs of `data`."""
    if way is None:
        return {}
    if way == "bins":
        return {"max_bins": 6}
    if way == "absolute_error":
        return {"criterion": way}
    if way.startswith("scaled"):
        rest = chosen_by("gaussian" if way.endswith("gaussian") else None, name, outputs)
        return {"output_scaling": "variance", **rest}
    if way == "matrix":
        d = {"single": 1, "labels": 3, "several": 9 if name in CLASSIFIERS else 3}[outputs]
        rows = np.random.default_rng(0).normal(size=(2, d))
        return {"output_projection": np.vstack([rows, rows.sum(axis=0)])}
    return {"output_projection": way, "n_projections": 1 if outputs == "single" else 3}


def wide_indices(matrix):
    """The same matrix with 64-bit indices."""
    matrix = matrix.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


SHARES = 4


def layouts(X, share=None):
    """The same values in every form that is accepted without changes, or in one of `SHARES` shares of the forms."""
    X = X.astype(np.float32)
    padded = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=np.float32)
    padded[::2, ::3] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    explicit = sparse.csr_array(X)
    explicit.data = np.concatenate([explicit.data, [0.0]]).astype(np.float32)
    column = next(j for j in range(X.shape[1]) if X[-1, j] == 0)
    at = explicit.indptr[-2] + np.searchsorted(explicit.indices[explicit.indptr[-2] :], column)
    explicit = sparse.csr_array(
        (
            np.insert(explicit.data[:-1], at, 0.0),
            np.insert(explicit.indices, at, column),
            np.append(explicit.indptr[:-1], explicit.indptr[-1] + 1),
        ),
        shape=X.shape,
    )
    forms = {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "strided": padded[::2, ::3],
        "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
        "float64": X.astype(np.float64),
        "read-only": frozen,
        "negative zeros": np.where(X == 0, np.float32(-0.0), X),
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_array(X),
        "csr_matrix": sparse.csr_matrix(X),
        "csc_matrix": sparse.csc_matrix(X),
        "coo": sparse.coo_array(X),
        "csr float64": sparse.csr_array(X.astype(np.float64)),
        "csr int64": wide_indices(sparse.csr_array(X)),
        "csc int64": wide_indices(sparse.csc_array(X)),
        "explicit zero": explicit,
    }
    return forms if share is None else dict(list(forms.items())[share::SHARES])


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("depth_first", [True, False])
@pytest.mark.parametrize("share", range(SHARES))
def test_one_model_for_every_layout(name, outputs, depth_first, way, share):
    X, y = make_data(name, outputs=outputs)
    X = X.astype(np.float32)
    params = chosen_by(way, name, outputs) | ({} if depth_first else {"max_leaf_nodes": 12})
    forms = layouts(X, share)
    expected = make(name, **params).fit(X, y)
    methods = ["predict", "apply", *["predict_proba"] * (name in CLASSIFIERS and outputs != "several")]
    results = {method: getattr(expected, method)(X) for method in methods}
    for form, Z in forms.items():
        assert model_bytes(make(name, **params).fit(Z, y)) == model_bytes(expected), form
        for method, result in results.items():
            np.testing.assert_array_equal(getattr(expected, method)(Z), result, err_msg=f"{method} {form}")


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_one_model_for_any_number_of_threads(name, outputs, way):
    X, y = make_data(name, outputs=outputs, n=150)
    params = {"n_estimators": 13, "bootstrap": True, "oob_score": outputs != "several" or name in REGRESSORS}
    params |= chosen_by(way, name, outputs)
    one, two, eight = (make(name, n_jobs=n, **params).fit(X, y) for n in (1, 2, 8))
    for other in (two, eight):
        assert model_bytes(other) == model_bytes(one)
        np.testing.assert_array_equal(other.predict(X), one.predict(X))
        for attribute in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
            if hasattr(one, attribute):
                np.testing.assert_array_equal(getattr(other, attribute), getattr(one, attribute))


@cases(is_possible)
@pytest.mark.parametrize("way", [None, "gaussian", "absolute_error"])
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_one_tree_for_any_number_of_threads(name, outputs, way):
    # There are enough samples for subtrees to be grown in parallel, and some values are missing.
    X, y = make_data(name, outputs=outputs, n=4_500 if way == "absolute_error" else 9_000)
    X[::7, 0] = np.nan
    params = {"max_features": None, **chosen_by(way, name, outputs)}
    one = make(name, n_jobs=1, **params).fit(X, y)
    assert one.get_n_leaves() > 50
    for n_jobs, form in ((2, X), (8, X), (2, sparse.csr_array(X)), (3, sparse.csc_array(X))):
        other = make(name, n_jobs=n_jobs, **params).fit(form, y)
        assert model_bytes(other) == model_bytes(one)
        np.testing.assert_array_equal(other.predict(form), one.predict(X))
        np.testing.assert_array_equal(other.apply(form), one.apply(X))


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("whole", [True, False])
@cases(lambda name, bootstrap: name in FORESTS or not bootstrap)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_weight_zero_has_no_effect(name, outputs, whole, bootstrap, way):
    X, y = make_data(name, outputs=outputs, n=90)
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, len(X)) if whole else rng.random(len(X)) * (rng.random(len(X)) < 0.7)
    kept = w > 0
    params = {"max_samples": 0.7, "oob_score": outputs == "single", "n_estimators": 30} if bootstrap else {}
    if name in FORESTS:
        params["bootstrap"] = bootstrap
    if name in CLASSIFIERS:
        params["class_weight"] = "balanced"
    params |= chosen_by(way, name, outputs)
    weighted = make(name, min_samples_leaf=0.02, **params).fit(X, y, sample_weight=w)
    removed = make(name, min_samples_leaf=0.02, **params).fit(X[kept], y[kept], sample_weight=w[kept])
    assert model_bytes(weighted) == model_bytes(removed)
    assert getattr(weighted, "oob_score_", None) == getattr(removed, "oob_score_", None)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1.3, 1: 0.7, 2: 5.1}])
def test_weight_zero_has_no_effect_on_a_bootstrap_with_class_weights(class_weight):
    # Many small data sets are used, because the last bits of the weights depend on the number of samples.
    params = {"n_estimators": 3, "class_weight": class_weight, "max_samples": 0.4}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 4, (60, 3)).astype(np.float32), rng.integers(0, 3, 60)
        w = rng.integers(1, 4, 60) * (rng.random(60) < 0.45)
        y[:3], w[:3] = [0, 1, 2], 1
        kept = w > 0
        weighted = make("RandomForestClassifier", **params).fit(X, y, sample_weight=w)
        removed = make("RandomForestClassifier", **params).fit(X[kept], y[kept], sample_weight=w[kept])
        assert model_bytes(weighted) == model_bytes(removed), seed


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_labels_of_samples_of_weight_zero_do_not_change_the_scale_of_balanced_weights(name):
    rng = np.random.default_rng(0)
    n, d = 500, 10
    Y = np.zeros((n + 1, d), dtype=int)
    Y[np.arange(n), rng.integers(0, d, n)] = rng.random(n) < 0.05
    Y[np.arange(d), np.arange(d)] = 1
    Y[n] = 1  # a sample with all labels would have by far the largest weight
    X, w = rng.random((n + 1, 5)), np.arange(n + 1) < n
    weighted = make(name, class_weight="balanced", max_depth=4).fit(X, Y, sample_weight=w)
    removed = make(name, class_weight="balanced", max_depth=4).fit(X[:n], Y[:n])
    assert model_bytes(weighted) == model_bytes(removed)


ABSENT = {
    "classes among labels": ([[0, 1], [1, 0], [0, 0], [1, 1], [0, 1]], [2, 0]),
    "numbers among classes": ([0, 1, 0, 1, 0], 0.5),
    "NaN among classes": ([0.0, 1.0, 0.0, 1.0, 0.0], np.nan),
    "None among names": (["a", "b", "a", "b", "a"], None),
    "counts among sparse labels": (sparse.csr_array([[0, 1], [1, 0], [0, 0], [1, 1], [0, 1]]), [[7, 0]]),
    "infinity among numbers": ([0.5, 1.5, 2.5, 3.5, 4.5], np.inf),
}


@cases(lambda name, case: name.endswith("Regressor") == case.endswith("among numbers"))
@pytest.mark.parametrize("case", ABSENT)
@pytest.mark.parametrize("name", ALL + BOOSTING + COMPRESSED + LINEAR + LABEL_TREES)
def test_y_of_samples_of_weight_zero_is_not_looked_at(name, case):
    known, absent = ABSENT[case]
    X, w = np.arange(6.0)[:, None], np.array([1.0, 2.0, 1.0, 0.5, 1.0, 0.0])
    y = sparse.vstack([known, sparse.csr_array(absent)]) if sparse.issparse(known) else [*known, absent]
    params = {"estimator": weald.ExtraTreesClassifier(3), "cv": 2} if name == COMPRESSED[0] else {}
    params = {"estimator": weald.ExtraTreesRegressor(3), "cv": 2} if name == COMPRESSED[1] else params
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    removed = make(name, **params).fit(X[:5], known, sample_weight=w[:5])
    assert model_bytes(weighted) == model_bytes(removed)
    if name in CLASSIFIERS:
        assert type(weighted.predict_proba(X)) is type(removed.predict_proba(X))
        assert np.shape(weighted.classes_) == np.shape(removed.classes_)


def test_y_of_samples_of_weight_zero_is_not_looked_at_where_it_is_held_out():
    X, y = make_data("GradientBoostingClassifier")
    w = np.arange(60) % 3 > 0
    bad = np.where(w, y, "unknown")
    for held in ({"X_val": X, "y_val": bad, "sample_weight_val": w},):
        one = make("GradientBoostingClassifier").fit(X, y, **held)
        two = make("GradientBoostingClassifier").fit(X, y, X_val=X[w], y_val=y[w])
        np.testing.assert_array_equal(one.validation_score_, two.validation_score_)
    tree = make("DecisionTreeClassifier").fit(X, y)
    pruned, other = tree.prune_reduced_error(X, bad, w), tree.prune_reduced_error(X[w], y[w])
    assert model_bytes(pruned) == model_bytes(other)


@pytest.mark.parametrize("name", CLASSIFIERS + LINEAR + LABEL_TREES)
def test_classes_of_samples_of_weight_zero_do_not_exist(name):
    X, y = make_data(name)
    model = make(name).fit(X, y, sample_weight=y != "b")
    assert model.classes_.tolist() == ["a", "c"]
    assert set(model.predict(X)) <= {"a", "c"}


def samples_with_equals(n_outputs):
    """Samples of which many are equal in X and y, and weights from 0 to 2."""
    rng = np.random.default_rng(0)
    X, y, w = rng.integers(0, 3, (70, 2)), rng.integers(0, 2, (70, n_outputs)), rng.integers(0, 3, 70)
    return X.astype(np.float32), y[:, 0] if n_outputs == 1 else y, w


def rows_sorted(*columns):
    table = np.column_stack(columns)
    return table[np.lexsort(table.T)]


@pytest.mark.parametrize("outputs", ["single", "labels"])
@pytest.mark.parametrize("name", FORESTS)
def test_out_of_bag_scores_depend_neither_on_samples_of_weight_zero_nor_on_the_order(name, outputs):
    X, y, w = samples_with_equals(1 if outputs == "single" else 3)
    order = np.random.default_rng(1).permutation(np.flatnonzero(w))
    forest = make(name, n_estimators=40, bootstrap=True, oob_score=True)
    models = [clone(forest).fit(X[rows], y[rows], w[rows]) for rows in (np.arange(70), np.flatnonzero(w), order)]
    whole, removed, moved = (
        model.oob_prediction_ if name in REGRESSORS else model.oob_decision_function_ for model in models
    )
    assert models[0].oob_score_ == models[1].oob_score_
    np.testing.assert_array_equal(whole[w > 0], removed)
    # Samples that are equal may have exchanged their predictions.
    of_rows = [rows_sorted(found, X[rows], y[rows], w[rows]) for found, rows in ((removed, w > 0), (moved, order))]
    np.testing.assert_array_equal(*of_rows)
    if name in CLASSIFIERS:  # R² is a sum that is rounded
        assert models[2].oob_score_ == models[0].oob_score_


AROUND = {
    "TunedThresholds": (TunedThresholds, 3, "predict_proba", "threshold_"),
    "CalibratedLabels": (CalibratedLabels, 3, "predict_proba", None),
    "CalibratedLabels by sigmoids": (partial(CalibratedLabels, method="sigmoid"), 3, "predict_proba", None),
    "ConformalRegressor": (partial(ConformalRegressor, alpha=0.3), 1, "predict_interval", None),
    "ConformalClassifier": (partial(ConformalClassifier, alpha=0.3), 1, "predict_sets", None),
    "ConformalLabels": (partial(ConformalLabels, alpha=0.3), 3, "predict", None),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_is_found_out_of_bag_depends_neither_on_samples_of_weight_zero_nor_on_the_order(around):
    build, n_outputs, method, attribute = AROUND[around]
    X, y, w = samples_with_equals(n_outputs)
    inner = make(
        "RandomForestRegressor" if around == "ConformalRegressor" else "RandomForestClassifier", n_estimators=30
    )
    order = np.random.default_rng(1).permutation(np.flatnonzero(w))
    models = [
        build(inner, cv="oob").fit(X[rows], y[rows], w[rows]) for rows in (np.arange(70), np.flatnonzero(w), order)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(getattr(other, method)(X), getattr(models[0], method)(X))
        if attribute is not None:
            np.testing.assert_array_equal(getattr(other, attribute), getattr(models[0], attribute))


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_weight_two_is_the_sample_twice(name, outputs, bootstrap, way):
    X, y = make_data(name, outputs=outputs)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    params = chosen_by(way, name, outputs) | ({"bootstrap": bootstrap} if name in FORESTS else {})
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    order = np.random.default_rng(1).permutation(w.sum())
    repeated = make(name, **params).fit(X.repeat(w, axis=0)[order], y.repeat(w, axis=0)[order])
    pairs = zip(getattr(weighted, "estimators_", [weighted]), getattr(repeated, "estimators_", [repeated]), strict=True)
    for ours, theirs in ((one.tree_, two.tree_) for one, two in pairs):
        np.testing.assert_array_equal(ours.children_left, theirs.children_left)
        np.testing.assert_array_equal(ours.feature, theirs.feature)
        np.testing.assert_array_equal(ours.threshold, theirs.threshold)
        np.testing.assert_array_equal(ours.weighted_n_node_samples, theirs.weighted_n_node_samples)
        np.testing.assert_array_equal(ours.value, theirs.value)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_weight_two_is_the_sample_twice_where_samples_are_equal_in_x(name, outputs):
    X, y = make_data(name, outputs=outputs, n=90)
    X = np.repeat(X[:20], 5, axis=0)[:90]
    w = np.random.default_rng(0).integers(0, 4, len(X))
    params = {"bootstrap": True, "oob_score": name in REGRESSORS, "n_estimators": 60, "max_samples": 0.3}
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    order = np.random.default_rng(1).permutation(w.sum())
    X_twice, y_twice = X.repeat(w, axis=0)[order], y.repeat(w, axis=0)[order]
    repeated = make(name, **params).fit(X_twice, y_twice)
    np.testing.assert_array_equal(weighted.apply(X), repeated.apply(X))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    order = np.random.default_rng(2).permutation(len(X))
    again = make(name, **params).fit(X[order], y[order], sample_weight=w[order])
    np.testing.assert_array_equal(weighted.predict(X), again.predict(X))
    # Samples that are equal in X and in y share their out-of-bag scores.
    if name in REGRESSORS:
        np.testing.assert_array_equal(weighted.oob_prediction_[order], again.oob_prediction_)


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_order_of_samples_does_not_matter(name, outputs, way):
    X, y = make_data(name, outputs=outputs)
    order = np.random.default_rng(0).permutation(len(X))
    params = chosen_by(way, name, outputs)
    assert model_bytes(make(name, **params).fit(X[order], y[order])) == model_bytes(make(name, **params).fit(X, y))


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_a_power_of_two_on_all_weights_changes_nothing(name, outputs, way):
    X, y = make_data(name, outputs=outputs)
    w = np.random.default_rng(0).random(len(X))
    params = chosen_by(way, name, outputs)
    one, two = (make(name, **params).fit(X, y, sample_weight=f * w) for f in (1.0, 2.0**-5))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.apply(X), two.apply(X))


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("power", [1000, -1000])
def test_weights_at_the_ends_of_float64_are_those_near_one(name, outputs, bootstrap, power):
    X, y = make_data(name, outputs=outputs)
    w = np.random.default_rng(0).random(len(X))
    far = np.ldexp(w, power)
    if power > 0:
        far *= 2.0**24  # the sum of the weights overflows
    params = {"bootstrap": bootstrap} if name in FORESTS else {}
    params |= {"class_weight": "balanced"} if name in CLASSIFIERS else {}
    one, two = (make(name, **params).fit(X, y, sample_weight=v) for v in (w, far))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.apply(X), two.apply(X))
    trees = [model.tree_ for model in getattr(two, "estimators_", [two])]
    assert all(np.isfinite(tree.weighted_n_node_samples).all() for tree in trees)


@pytest.mark.parametrize("name", [*CLASSIFIERS, BOOSTING[0]])
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_class_weights_times_sample_weights_may_be_out_of_range(name, size):
    X, y = make_data(name)
    w = np.random.default_rng(0).random(len(X))
    weight = {"a": 1.0, "b": 0.25, "c": 2.0}
    # The regularisation λ and the minimums are measured in units of weight.
    units = ("l2_regularization", "min_weight_leaf")
    free = dict.fromkeys(units, 0.0) if name in BOOSTING else {}
    near = make(name, class_weight=weight, **free).fit(X, y, sample_weight=w)
    power = 2.0 ** np.round(np.log2(size))
    weight = {key: value * power for key, value in weight.items()}
    far = make(name, class_weight=weight, **free).fit(X, y, sample_weight=w * power)
    np.testing.assert_array_equal(near.predict(X), far.predict(X))
    np.testing.assert_array_equal(near.apply(X), far.apply(X))


def test_small_weights_keep_their_ratio_down_to_the_bound_and_stay_positive_below():
    X, y = np.array([[0.0]] * 1000 + [[1.0], [1.0]]), np.array([0.0] * 1000 + [1.0, 2.0])
    for light in (1e-6, 1e-8, 1e-10, 1e-12, 1e-13, 1e-20, 1e-300):
        w = np.array([1.0] * 1000 + [light, 3 * light])
        mean = make("DecisionTreeRegressor").fit(X, y, sample_weight=w).predict([[1.0]])[0]
        step = len(w) * w.max() / 2**50
        # Rounding changes each weight by at most half a step, or by at most a whole step if it is rounded up to one
        # step; the mean changes by at most these changes divided by the weight of the leaf.
        assert abs(mean - 1.75) <= max(2 * step / (4 * light), 0.0) + 1e-15
        assert 1.0 < mean < 2.0


@cases(is_possible)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("random_state", [3, None, np.random.RandomState(0)])
def test_warm_start_is_the_forest_grown_at_once(name, outputs, random_state, way):
    X, y = make_data(name, outputs=outputs, n=100)
    # With 40 trees, the probability that a given sample is in all bootstrap samples, which would cause a warning, is
    # 1e-8.
    scored = outputs != "several" or name in REGRESSORS
    params = {"bootstrap": True, "oob_score": scored, "random_state": random_state}
    params |= chosen_by(way, name, outputs)
    warm = make(name, n_estimators=40, warm_start=True, **params).fit(X, y)
    first = pickle.loads(pickle.dumps(warm))
    warm.set_params(n_estimators=65, n_jobs=2).fit(X, y)
    if isinstance(random_state, int):
        whole = make(name, n_estimators=65, **params).fit(X, y)
        assert model_bytes(warm) == model_bytes(whole)
        assert getattr(warm, "oob_score_", None) == getattr(whole, "oob_score_", None)
    np.testing.assert_array_equal(warm.apply(X)[:, :40], first.apply(X))
    assert len(warm) == 65
    assert model_bytes(first.set_params(n_estimators=65).fit(X, y)) == model_bytes(warm)


@pytest.mark.parametrize("name", FORESTS)
def test_warm_start_refuses_what_cannot_be_added(name):
    X, y = make_data(name)
    model = make(name, warm_start=True).fit(X, y)
    before = model_bytes(model)
    with pytest.raises(ValueError, match=r"n_estimators must be at least 5 with warm_start=True, .*got 3"):
        model.set_params(n_estimators=3).fit(X, y)
    model.set_params(n_estimators=8)
    with pytest.raises(ValueError, match=r"X must have 12 features with warm_start=True, .*got 11"):
        model.fit(X[:, 1:], y)
    if name in CLASSIFIERS:
        with pytest.raises(ValueError, match="other classes"):
            model.fit(X, np.char.upper(y))
    assert model_bytes(model) == before
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.set_params(n_estimators=5).fit(X, y)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(name, outputs):
    X, y = make_data(name, outputs=outputs)
    one, again, other = (make(name, random_state=seed, max_features=2).fit(X, y) for seed in (0, 0, 1))
    assert model_bytes(one) == model_bytes(again)
    assert model_bytes(one) != model_bytes(other)
    assert pickle.dumps(one) == pickle.dumps(again)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([*TREES, *FORESTS]),
    st.sampled_from(OUTPUTS),
    st.integers(0, 2**32 - 1),
    st.integers(2, 25),
    st.integers(1, 9),
    st.sampled_from([None, "rademacher", "subsample", "hadamard", "absolute_error"]),
)
def test_layouts_and_threads_on_data_full_of_ties(name, outputs, seed, n, p, way):
    way = None if name in CLASSIFIERS and way == "absolute_error" else way
    if (outputs == "labels" and name in REGRESSORS) or (outputs == "single" and name in CLASSIFIERS and way):
        outputs = "several"
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 3, (n, p)).astype(np.float32)
    y = make_data(name, n=n, outputs=outputs, seed=seed)[1]
    w = [None, rng.integers(0, 3, n) + (np.arange(n) == 0), rng.random(n) + 0.1][seed % 3]
    params = {"random_state": seed % 7, **chosen_by(way, name, outputs)}
    expected = make(name, **params).fit(X, y, sample_weight=w)
    threads = {"n_jobs": 2} if name in FORESTS else {}
    for Z in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        model = make(name, **params, **threads).fit(Z, y, sample_weight=w)
        assert model_bytes(model) == model_bytes(expected)
        np.testing.assert_array_equal(model.predict(Z), expected.predict(X))


@pytest.mark.parametrize("name", ["emotions", "scene", "medical"])
def test_layouts_and_threads_on_real_data(name):
    if reason := real_data.missing(name):
        pytest.skip(reason)
    X, X_test, Y, *_ = load_npz_folder(real_data.root() / name)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = make("ExtraTreesClassifier", n_estimators=10).fit(dense, Y)
    for Z in (sparse.csr_matrix(dense), sparse.csc_matrix(dense)):
        model = make("ExtraTreesClassifier", n_estimators=10, n_jobs=2).fit(Z, Y)
        assert model_bytes(model) == model_bytes(expected)
        np.testing.assert_array_equal(model.predict_proba(X_test), expected.predict_proba(X_test))
