"""Exact laws of compression: the same model for every layout, number of threads and form of weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import COMPRESSED, make, make_data, model_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import MultiTaskLasso, lasso_path
from test_laws import SHARES, layouts
from weald import _weald
from weald._fit.base import prepare
from weald._fitted.fits import Fit
from weald._input.checks import draw_seed

CLASSIFIER, REGRESSOR = COMPRESSED
METHODS: dict[str, dict[str, Any]] = {
    "stagewise": {},
    "scaled": {"standardize": True},
    "lasso": {"solver": "lasso"},
    "lasso, scaled": {"solver": "lasso", "standardize": True},
    "grow": {"induced": True},
    "grow, window": {"induced": True, "candidate_window": 3},
}
LOSSES = {REGRESSOR: ["squared_error"], CLASSIFIER: ["squared_error", "log_loss"]}
CASES = [
    (name, loss, outputs)
    for name in COMPRESSED
    for loss in LOSSES[name]
    for outputs in ("single", "several", "labels")
    if (name, outputs) != (REGRESSOR, "labels")
]


@pytest.fixture(params=METHODS)
def params(request):
    return METHODS[request.param]


def small(params, loss):
    """Parameters of a small fit.

    The exact path takes seconds, so that only its first part is computed. Paths of the log loss are long: with steps of
    0.2 they have hundreds of steps up to their end, and with steps of 0.05 thousands.
    """
    first = {"l1_norm": None, "max_test_nodes": 6} if params.get("solver") == "lasso" else {}
    return params | {"loss": loss, "step_size": 0.2 if loss == "log_loss" else 0.05} | first


def check_same(one, other, note=""):
    assert model_bytes(one) == model_bytes(other), note
    for key, values in one.path_.items():
        np.testing.assert_array_equal(values, other.path_[key], err_msg=f"{note} {key}")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_one_model_for_every_layout(name, loss, outputs, params, weighted, share):
    X, y = make_data(name, outputs=outputs)
    X = X.astype(np.float32)
    w = np.random.default_rng(2).uniform(0.5, 2, len(X)) if weighted else None
    params = small(params, loss)
    expected = make(name, **params).fit(X, y, sample_weight=w)
    predicted, scores = expected.predict(X), expected._scores(X)
    for form, Z in layouts(X, share).items():
        model = make(name, **params).fit(Z, y, sample_weight=w)
        check_same(model, expected, form)
        np.testing.assert_array_equal(expected._scores(Z), scores, err_msg=form)
        np.testing.assert_array_equal(expected.predict(Z), predicted, err_msg=form)


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_one_model_for_any_number_of_threads(name, loss, outputs, params):
    X, y = make_data(name, n=150, outputs=outputs)
    w = np.random.default_rng(2).uniform(0.5, 2, len(X))
    params = small(params, loss)
    one, two, eight = (make(name, n_jobs=n, **params).fit(X, y, w) for n in (1, 2, 8))
    for other in (two, eight):
        check_same(one, other)
        assert getattr(one, "full_loss_", None) == getattr(other, "full_loss_", None)
        np.testing.assert_array_equal(other.predict(X), one.predict(X))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("cv", [3, "splits"])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weight_zero_has_no_effect(name, loss, outputs, params, whole, cv):
    X, y = make_data(name, n=90, outputs=outputs)
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, len(X)) if whole else rng.random(len(X)) * (rng.random(len(X)) < 0.7)
    kept = w > 0
    fold = rng.integers(0, 3, len(X))
    by_row = by_kept = cv
    if cv == "splits":
        by_row = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
        by_kept = [(np.flatnonzero(fold[kept] != f), np.flatnonzero(fold[kept] == f)) for f in range(3)]
    weight = {"class_weight": "balanced"} if name == CLASSIFIER else {}
    forest = make(name.replace("CompressedForest", "ExtraTrees"), min_samples_leaf=0.03, **weight)
    params = small(params, loss) | {"estimator": forest}
    weighted = make(name, cv=by_row, **params).fit(X, y, sample_weight=w)
    removed = make(name, cv=by_kept, **params).fit(X[kept], y[kept], sample_weight=w[kept])
    check_same(weighted, removed)
    assert getattr(weighted, "full_loss_", None) == getattr(removed, "full_loss_", None)


@pytest.mark.parametrize("power", [1024, 600, -600, -1000])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weights_at_the_ends_of_float64_are_those_near_one(name, loss, outputs, params, power):
    X, y = make_data(name, outputs=outputs)
    w = np.random.default_rng(2).uniform(0.5, 1, len(X))
    params = small(params, loss)
    near, far = (make(name, **params).fit(X, y, sample_weight=v) for v in (w, np.ldexp(w, power)))
    assert near.n_test_nodes_ > 0
    np.testing.assert_array_equal(near._scores(X), far._scores(X))
    for key, values in near.path_.items():
        np.testing.assert_array_equal(values, far.path_[key], err_msg=key)


@pytest.mark.parametrize(("scale", "weight"), [(1e20, 1e300), (1e149, 1e20), (1e60, 1e200), (1e-140, 1e-200)])
@pytest.mark.parametrize("outputs", ["single", "several"])
def test_targets_far_from_one_are_scaled(params, outputs, scale, weight):
    X, y = make_data(REGRESSOR, outputs=outputs)
    params = params | {"l1_norm": None, "max_test_nodes": 30}
    near, far = (
        make(REGRESSOR, **params).fit(X, s * y, sample_weight=np.full(len(X), w))
        for s, w in [(1.0, 1.0), (scale, weight)]
    )
    # The models are as close as forests for outputs times `scale`, which is not a power of two.
    assert far.n_test_nodes_ > 0
    np.testing.assert_allclose(far.predict(X) / scale, near.predict(X), atol=0.3 * np.std(y))
    assert np.corrcoef(np.ravel(far.predict(X) / scale), np.ravel(near.predict(X)))[0, 1] > 0.9


def test_values_too_near_each_other_for_their_squares_are_refused(params):
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, **(params | {"l1_norm": None}))
    with pytest.raises(
        ValueError, match=r"y must have values .* at least 1e-150 apart, got values at most .* apart in output 0"
    ):
        model.fit(X, 1e-170 * y)


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weight_two_is_the_sample_twice(name, loss, outputs, params):
    """Equal up to the rounding of sums, which decides between nodes that the training samples do not distinguish."""
    X, y = make_data(name, outputs=outputs)
    w = np.random.default_rng(0).integers(1, 4, len(X))
    params = params | {"loss": loss, "step_size": 0.05, "l1_norm": 0.4}
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    repeated = make(name, **params).fit(X.repeat(w, axis=0), y.repeat(w, axis=0))
    one, other = weighted.path_["train_loss"], repeated.path_["train_loss"]
    common = min(len(one), len(other))
    assert common >= 0.95 * max(len(one), len(other))
    # The directions of steps are float32. If two nodes are equal, a step along either has the same length, so that the
    # losses stay close.
    np.testing.assert_allclose(one[:common], other[:common], rtol=2e-2, atol=1e-3 * one[0])
    np.testing.assert_allclose(weighted._scores(X), repeated._scores(X), atol=1e-3)


# The linear model over nodes


def coefficients(model, step):
    """The intercept b, the coefficients β of all nodes before compression, (n_nodes, width), and the trees' offsets."""
    forest = model.estimator_
    trees = [forest] if not hasattr(forest, "estimators_") else list(forest)
    offsets = np.cumsum([0, *(tree.tree_.node_count for tree in trees)])
    tree, node, values = model._path.coefficients(step)
    beta = np.zeros((offsets[-1], model._path.width))
    beta[offsets[tree] + node] = values
    return model._path.intercept(step), beta, offsets


def indicators(model, X):
    found = model.estimator_.decision_path(X)
    return found[0] if isinstance(found, tuple) else found


@st.composite
def problems(draw):
    """Small hostile data: ties, equal samples, constant features, weights of zero, a single sample, a single class."""
    seed = draw(st.integers(0, 2**32 - 1))
    n, p, d = draw(st.integers(1, 25)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["numbers", "classes", "labels"]))
    weighting = draw(st.sampled_from([None, "counts", "shares"]))
    bootstrap = draw(st.booleans())
    params = METHODS[draw(st.sampled_from(sorted(METHODS)))]
    loss = "squared_error" if kind == "numbers" else draw(st.sampled_from(LOSSES[CLASSIFIER]))
    return seed, n, p, d, kind, weighting, bootstrap, params | {"loss": loss}


def fitted(problem):
    seed, n, p, d, kind, weighting, bootstrap, params = problem
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, p)).astype(np.float32)
    w = {None: None, "counts": rng.integers(0, 3, n).astype(float), "shares": rng.uniform(0, 2, n)}[weighting]
    if w is not None and not w.any():
        w[0] = 1
    name = REGRESSOR if kind == "numbers" else CLASSIFIER
    if kind == "numbers":
        y = rng.integers(-2, 3, (n, d)) * rng.choice([0.0, 1.0, 1e3], d)
    elif kind == "labels":
        y = sparse.csr_array(rng.integers(0, 2, (n, d)))
    else:
        y = rng.integers(0, 4, (n, d)) + 5
    if d == 1 and kind != "labels":
        y = y[:, 0]
    forest = make(name.replace("CompressedForest", "ExtraTrees"), n_estimators=3, bootstrap=bootstrap)
    step = rng.choice([0.01, 0.2])
    model = make(
        name, estimator=forest, l1_norm=None, step_size=step, max_steps=300, random_state=seed % 1000, **params
    )
    return model.fit(X, y, sample_weight=w), X, rng


@pytest.mark.slow("python/weald/compression.py", "crates/weald/src/compress")
@settings(max_examples=300, deadline=None)
@given(problems())
def test_predictions_are_the_linear_model_over_the_nodes(problem):
    model, X, rng = fitted(problem)
    n_steps = model._path.n_steps
    Z = np.vstack([X, rng.normal(size=(20, X.shape[1])).astype(np.float32)])
    for step in {0, n_steps // 3, n_steps}:
        small = model._path.at_step(step)
        b, beta, offsets = coefficients(model, step)
        expected = b + indicators(model, Z) @ beta
        # A sum of coefficients that cancel is as exact as the largest of them.
        size = max(1.0, np.abs(b).max(), np.abs(beta).sum())
        np.testing.assert_allclose(small.predict_scores(Z), expected, atol=1e-12 * size)
        assert not beta[offsets[:-1]].any()  # roots have no coefficients
        assert (beta != 0).any(axis=1).sum() == model.path_["n_nonzero"][step]
        assert small.n_test_nodes == model.path_["n_test_nodes"][step] == n_kept(model, beta, offsets)


def n_kept(model, beta, offsets):
    """The number of test nodes with a coefficient strictly below them."""
    forest = model.estimator_
    kept = 0
    for tree, first in zip(forest, offsets[:-1], strict=True):
        left, right = tree.tree_.children_left, tree.tree_.children_right
        used = (beta[first : first + len(left)] != 0).any(axis=1)
        below = np.zeros(len(left), dtype=bool)
        for node in range(len(left) - 1, -1, -1):  # children come after their parents
            if left[node] >= 0:
                below[node] = any(used[c] or below[c] for c in (left[node], right[node]))
        kept += below.sum()
    return kept


@settings(max_examples=150, deadline=None)
@given(problems())
def test_coefficients_of_the_stagewise_path_never_move_back(problem):
    *head, params = problem
    params = {**params, "solver": "stagewise"}
    params = {key: value for key, value in params.items() if key not in ("induced", "candidate_window")}
    model, _, _ = fitted((*head, params))
    before = None
    n_steps = model._path.n_steps
    # Near the minimum, a step decreases the loss by less than the rounding of its sum over the samples.
    losses = model.path_["train_loss"]
    assert (np.diff(losses) < 1e-15 * losses[0]).all()
    # Norms are sums of steps, and differences of norms lose some of their digits.
    np.testing.assert_allclose(np.diff(model.path_["l1_norm"]), model.step_size, rtol=1e-11)
    for step in range(0, n_steps + 1, max(1, n_steps // 8)):
        _, beta, _ = coefficients(model, step)
        if beta.shape[1] > 1:
            continue  # with several numerical outputs the path uses whitened outputs, which have their own tests
        if before is not None:
            # Coefficients are sums of float32 steps in float64.
            assert (np.abs(beta) >= np.abs(before) * (1 - 1e-9)).all()
            assert (np.sign(before) * np.sign(beta) >= 0).all()
        before = beta


def test_one_output_is_a_group_of_one():
    X, y = make_data(REGRESSOR, n=100)
    params = {"l1_norm": None, "max_steps": 100}
    alone = make(REGRESSOR, **params).fit(X, y)
    # Both use the trees of the first model: a constant output does not change the choice of splits.
    forest = alone.estimator_
    twice = make(REGRESSOR.replace("CompressedForest", "ExtraTrees"), random_state=forest.random_state)
    Y = np.column_stack([y, np.full(len(y), 3.0)])
    group = make(REGRESSOR, estimator=twice, **params).fit(X, Y)
    assert [t.tree_.feature.tolist() for t in group.estimator_] == [t.tree_.feature.tolist() for t in forest]
    # The zeros of a constant output add nothing to a norm.
    np.testing.assert_array_equal(group.predict(X)[:, 0], alone.predict(X))
    np.testing.assert_array_equal(group.predict(X)[:, 1], 3.0)


@pytest.mark.parametrize("standardize", [False, True])
def test_units_of_outputs_do_not_matter(standardize):
    X, Y = make_data(REGRESSOR, n=100, outputs="several")
    units = np.array([0.25, 1.0, 1024.0])  # with powers of two, nothing is rounded differently
    forest = FrozenEstimator(make("ExtraTreesRegressor").fit(X, Y))
    params = {"l1_norm": None, "max_steps": 60, "standardize": standardize}
    plain = make(REGRESSOR, estimator=forest, **params).fit(X, Y)
    scaled = make(REGRESSOR, estimator=forest, **params).fit(X, Y * units)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X) * units)


# Side by side with scikit-learn


def explicit(model, X, standardize):
    """Indicators of all nodes except roots as columns, scaled as on the path, and the positions of these nodes."""
    Z = indicators(model, X).toarray().astype(float)
    _, _, offsets = coefficients(model, 0)
    columns = np.setdiff1d(np.arange(Z.shape[1]), offsets[:-1])
    Z = Z[:, columns]
    if standardize:
        sd = Z.std(axis=0)
        keep = sd > 0
        return (Z[:, keep] - Z[:, keep].mean(axis=0)) / sd[keep], columns[keep], sd[keep]
    return Z, columns, np.ones(Z.shape[1])


@pytest.mark.parametrize("standardize", [False, True])
def test_the_lasso_is_that_of_scikit_learn(standardize):
    X, y = make_data(REGRESSOR, n=80)
    model = make(REGRESSOR, solver="lasso", standardize=standardize, l1_norm=None).fit(X, y)
    Z, _, _ = explicit(model, X, standardize)
    unit = y.std()
    target = (y - y.mean()) / unit
    centred = Z - Z.mean(axis=0)
    largest = np.abs(centred.T @ target).max() / len(target)
    grid = np.geomspace(largest, 1e-3 * largest, 100)
    alphas, betas, _ = lasso_path(centred, target, alphas=grid, tol=1e-10, max_iter=200_000)
    norms = np.abs(betas).sum(axis=0)
    found = model.path_["l1_norm"]
    knots = len(found) - len(alphas)  # 1 if the path has the constant before the largest penalty, and otherwise 0
    assert knots in (0, 1)
    for k in (1, 10, 40, 70):
        step = k + knots
        fit = y.mean() + unit * (centred @ betas[:, k])
        # Columns that are equal or complementary can share a coefficient in many ways, but the loss is unique. Near the
        # minimum the loss is flat, so that fits and norms are as exact as the root of `tol`, the gap at which the
        # descent ends.
        np.testing.assert_allclose(model._path.at_step(step).predict_scores(X.astype(np.float32))[:, 0], fit, atol=2e-3)
        assert found[step] == pytest.approx(norms[k], rel=1e-4)
        objective = ((y - fit) ** 2).mean() / (2 * unit**2) + alphas[k] * norms[k]
        ours = model.path_["train_loss"][step] / (2 * unit**2) + alphas[k] * found[step]
        # The objective itself is as exact as the gap.
        assert ours == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_the_group_lasso_is_that_of_scikit_learn(standardize, share):
    X, Y = make_data(REGRESSOR, n=80, outputs="several")
    model = make(REGRESSOR, solver="lasso", standardize=standardize, l1_norm=None).fit(X, Y)
    Z, _, _ = explicit(model, X, standardize)
    Z = Z - Z.mean(axis=0)
    units = Y.std(axis=0)
    T = (Y - Y.mean(axis=0)) / units
    largest = np.linalg.norm(Z.T @ T, axis=1).max() / len(X)
    theirs = MultiTaskLasso(alpha=share * largest, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(Z, T)
    norm = np.linalg.norm(theirs.coef_, axis=0).sum()
    at = model.at(norm)
    # As for one output: fits are as exact as the root of the gap at which the descent ends.
    np.testing.assert_allclose(at.predict(X), Y.mean(axis=0) + units * (Z @ theirs.coef_.T), atol=5e-3 * units.max())


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_the_lasso_lowers_the_loss_at_least_as_far_as_steps_of_the_same_norm(name, loss, outputs):
    X, y = make_data(name, n=100, outputs=outputs)
    # Both use the same trees.
    forest = make(name, solver="lasso").estimator
    steps, exact = (
        make(name, loss=loss, solver=solver, l1_norm=None, estimator=forest).fit(X, y)
        for solver in ("stagewise", "lasso")
    )
    norms, losses = (exact.path_[key] for key in ("l1_norm", "train_loss"))
    for step in np.linspace(1, steps._path.n_steps, 6).astype(int):
        t, loss_of_steps = steps.path_["l1_norm"][step], steps.path_["train_loss"][step]
        if t <= norms[-1]:
            # The loss is convex in t: between knots it is not above the chord. Knots are above their minimum by at most
            # the gap at which the descent ends.
            assert np.interp(t, norms, losses) <= loss_of_steps * (1 + 1e-3) + 1e-9


# Cross-validation


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_each_fold_grows_a_forest_of_its_samples_alone(name, loss, outputs, params):
    X, y = make_data(name, n=90, outputs=outputs)
    X = X.astype(np.float32)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    rows = np.arange(90)
    folds = [(rows[rows % 3 != f].astype(np.uint32), rows[rows % 3 == f].astype(np.uint32)) for f in range(3)]
    weight = {"class_weight": "balanced"} if name == CLASSIFIER else {}
    # The exact path takes seconds in each fold if there are many nodes. With a depth of 3, nodes have ancestors with
    # coefficients, and the minimum number of samples decides between splits.
    slow = params.get("solver") == "lasso"
    size = {"n_estimators": 2, "max_depth": 3, "min_samples_leaf": 0.15} if slow else {"n_estimators": 5}
    forest = make(name.replace("CompressedForest", "ExtraTrees"), **{"min_samples_leaf": 0.05} | size | weight)
    model = make(name, estimator=forest, cv=folds, step_size=0.05, loss=loss, **params).fit(X, y, sample_weight=w)
    samples = prepare(model, Fit(X, y, w))
    target = samples.target
    seed = draw_seed(model.random_state)
    losses = []
    for train, test in folds:
        within, held = np.zeros(90), np.zeros(90)
        within[train], held[test] = w[train], w[test]
        of_fold = replace(samples, weights=within, row_weights=(within, None))
        # min_samples_leaf is a fraction of the samples of the fold.
        grown = model.estimator_._forest_config(of_fold, (0, forest.n_estimators))
        grown["tree"]["seed"] = seed
        of_rows = model.estimator_._row_weights(target, within)
        trees = _weald.fit_forest((X, target.engine, of_rows, None), grown)
        by_row = _weald.weights_by_row(target.engine, of_rows)
        config = model._config(seed, None, None, None)
        path = _weald.compress_forest(trees, (X, target.engine, (by_row, None), None), config, held)
        losses.append(path.test_loss())
    for step in range(min(map(len, losses))):
        if step < len(model.path_["l1_norm"]):
            expected = [loss[step] for loss in losses]
            assert model.path_["test_loss_mean"][step] == np.mean(expected)
            assert model.path_["test_loss_std"][step] == np.std(expected)
