"""Exact laws of boosting: the same model for every layout, number of threads and form of weights; identities."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
import sklearn.ensemble
import sklearn.metrics
import weald
from boosting_twin import WHOLE, Twin, in_domain, loss_object
from conftest import BOOSTING, cases, make, make_data, model_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from test_laws import SHARES, layouts
from weald.projection import GaussianProjection, HadamardProjection, Projected

CLASSIFIER, REGRESSOR = BOOSTING
# Newton steps without the terms that are relative to samples of weight 1, so that weights may have any unit.
BARE: dict[str, Any] = {"leaf_estimation": "newton", "l2_regularization": 0.0, "min_weight_leaf": 0.0}
STRATEGIES: dict[str, dict[str, Any]] = {
    "single_target": {"output_strategy": "single_target"},
    "joint": {"output_strategy": "joint"},
    "projected": {"output_strategy": Projected(relabel_leaves=False)},
    "relabelled": {"output_strategy": Projected(n_projections=2)},
    "subsampled": {"output_strategy": Projected("subsample", relabel_leaves=False), "subsample": 0.7},
    "signs": {"output_strategy": Projected("achlioptas", 2), "max_leaf_nodes": 5},
    "principal": {"output_strategy": Projected("pca"), "max_features": 4},
    "features": {"max_features": 0.7},
    "scaled": {"output_strategy": "joint", "output_scaling": "variance"},
    "scaled combination": {"output_strategy": Projected(relabel_leaves=False), "output_scaling": "variance"},
    "searched": {"output_strategy": "joint", "leaf_estimation": "line_search"},
    "searched for each stage": {"output_strategy": Projected(relabel_leaves=False), "leaf_estimation": "line_search"},
}
# Newton steps without regularization and without minimum weights.
FREE = {"l2_regularization": 0.0, "min_weight_leaf": 0.0}
# The size of the trees in scikit-learn's GradientBoosting, without a minimum weight of leaves.
SHALLOW = {"max_depth": 3, "max_leaf_nodes": None, "min_weight_leaf": 0.0}
RULES = [{}, FREE, {"leaf_estimation": "line_search"}, {"l2_regularization": 0.3, "min_weight_leaf": 1.0}]
LOSSES = {REGRESSOR: ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"]}
LOSSES[CLASSIFIER] = ["log_loss", "exponential", "hinge", "squared_error"]
OUTPUTS = ["single", "several", "labels"]
CASES = [(name, loss, outputs) for name in BOOSTING for loss in LOSSES[name] for outputs in OUTPUTS]
CASES = [case for case in CASES if not (case[0] == REGRESSOR and case[2] == "labels")]
# Only regressors scale outputs.
pytestmark = cases(lambda name, params: name == REGRESSOR or "output_scaling" not in STRATEGIES[params])


@pytest.fixture(params=STRATEGIES)
def params(request):
    return STRATEGIES[request.param]


def data_for(name, loss, **shape):
    """X, and y in the domain of the loss."""
    X, y = make_data(name, **shape)
    return X, in_domain(loss, y) if name == REGRESSOR else y


def sparse_rows(Z):
    """Z in a format whose samples can be indexed."""
    return Z.tocsr() if sparse.issparse(Z) else Z


def possible(name, loss, outputs, params):
    """Parameters that the case supports: projections have nothing to combine for a single output."""
    if (name, outputs) == (REGRESSOR, "single") and isinstance(params.get("output_strategy"), Projected):
        return params | {"output_strategy": "projected"}
    return params


# Bins for all values of X, for fewer, and none; the last without a minimum weight of leaves, so that a leaf may be any
# sample.
BINS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "few bins": {"max_bins": 8},
    "exact": {"max_bins": None, "min_weight_leaf": 0.0},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_one_model_for_every_layout(name, loss, outputs, params, bins, weighted, share):
    X, y = data_for(name, loss, outputs=outputs)
    X = X.astype(np.float32)
    rng = np.random.default_rng(2)
    new = np.where(rng.random(X.shape) < 0.3, 0, X[::-1] + rng.normal(size=X.shape)).astype(np.float32)
    params = possible(name, loss, outputs, params) | BINS[bins] | {"loss": loss_object(loss)}
    # The weights are not sums of few powers of two, so that sums of them are rounded.
    w = rng.uniform(0.5, 2, len(X)) if weighted else None
    expected = make(name, **params).fit(X, y, sample_weight=w, X_val=X[:20], y_val=y[:20])
    predicted = [expected.predict(new), expected._scores(X), expected._scores(new)]
    for form, Z in layouts(X, share).items():
        model = make(name, **params).fit(Z, y, sample_weight=w, X_val=sparse_rows(Z)[:20], y_val=y[:20])
        assert model_bytes(model) == model_bytes(expected), form
        np.testing.assert_array_equal(expected._scores(Z), predicted[1], err_msg=form)
        for of_model, of_expected in zip(
            (model.predict(new), model._scores(X), model._scores(new)), predicted, strict=True
        ):
            np.testing.assert_array_equal(of_model, of_expected, err_msg=form)


# Losses whose trees are grown on second derivatives, if each score has trees of its own.
CURVED = [
    (name, loss, outputs) for name, loss, outputs in CASES if loss in ("log_loss", "exponential", "poisson", "gamma")
]


@pytest.mark.filterwarnings("ignore:sample_weight sums to")
@pytest.mark.parametrize("options", [{}, {"max_bins": None, "min_weight_leaf": 0.0}], ids=["bins", "exact"])
@pytest.mark.parametrize(("name", "loss", "outputs"), CURVED)
def test_weights_of_any_size_have_one_model_for_every_layout(name, loss, outputs, options):
    """Weights times second derivatives may have more bits than sums hold."""
    X, y = data_for(name, loss, n=300, p=5, outputs=outputs)
    X, rng = X.round().astype(np.float32), np.random.default_rng(3)
    new = (X + rng.normal(size=X.shape)).astype(np.float32)
    params = {"loss": loss, "n_estimators": 10, "output_strategy": "single_target", **options}
    below_one = np.nextafter(1, 0)
    hostile = {
        "uniform": rng.random(len(X)) + 0.1,
        "below one": np.full(len(X), below_one),
        "beside": np.where(rng.random(len(X)) < 0.5, below_one, np.nextafter(1, 2)),
        "decades": 10.0 ** rng.uniform(-30, 0, len(X)),
        "denormal": 5e-324 * rng.integers(1, 5, len(X)),
        "large": np.ldexp(rng.random(len(X)) + 0.5, 1000),
        "beside 2^52": 2.0**52 + rng.integers(-2, 3, len(X)),
    }
    for kind, w in hostile.items():
        dense = make(name, **params).fit(X, y, sample_weight=w)
        for Z in (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X)):
            other = make(name, **params).fit(Z, y, sample_weight=w)
            assert model_bytes(other) == model_bytes(dense), kind
            np.testing.assert_array_equal(other._scores(new), dense._scores(new), err_msg=kind)
        assert model_bytes(pickle.loads(pickle.dumps(dense))) == model_bytes(dense)


@pytest.mark.parametrize("seed", [2, 11, 14])
def test_a_set_of_categories_that_is_better_by_rounding_only_is_found_in_every_layout(seed):
    # The leaves must have five samples, which forbids the best sets in nodes where all sets are equal up to rounding.
    # Sparse X is searched in the order of its columns, dense X in the order in which features are drawn.
    r = np.random.default_rng(seed)
    X = (r.normal(size=(200, 4)) * 4).round()
    X[r.random(X.shape) < 0.5] = 0
    X[:, 1] = r.integers(0, 12, 200)
    y = np.digitize(X[:, 0] + X[:, 2] + r.normal(size=200) * 2, [-2, 0, 3])
    w = r.choice([1e-300, 0.3, 1 / 3, 1, 7.1], 200)
    params = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 5, "categorical_features": [1]}
    of_dense, of_sparse = (
        make(CLASSIFIER, **params).fit(form(X), y, sample_weight=w) for form in (np.asarray, sparse.csr_array)
    )
    assert model_bytes(of_dense) == model_bytes(of_sparse)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_weights_next_to_one_are_nearly_weights_of_one(loss):
    """The total of these weights is a power of two but for rounding, where one bit more is needed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4096, 3))
    y = (X[:, 0] > 0).astype(int)
    for w in (np.nextafter(1, 0), 1 - 2.0**-40, np.nextafter(2, 0), 1 / 3):
        model = make(CLASSIFIER, loss=loss, n_estimators=20).fit(X, y, sample_weight=np.full(4096, w))
        assert model.score(X, y) > 0.95, w


def test_bins_are_no_approximation_for_features_of_few_values(params):
    X, y = make_data(REGRESSOR, outputs="several", n=200)  # X is rounded to tenths and has about fifty values
    exact, binned = (make(REGRESSOR, max_bins=bins, **params).fit(X, y) for bins in (None, 255))
    np.testing.assert_array_equal(exact.predict(X), binned.predict(X))


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_one_model_for_any_number_of_threads(name, loss, outputs, params):
    X, y = data_for(name, loss, n=150, outputs=outputs)
    w = np.random.default_rng(2).uniform(0.5, 2, len(X))
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss)}
    one, two, eight = (make(name, n_jobs=n, **params).fit(X, y, w, X_val=X, y_val=y) for n in (1, 2, 8))
    for other in (two, eight):
        assert model_bytes(other) == model_bytes(one)
        np.testing.assert_array_equal(other.predict(X), one.predict(X))
        np.testing.assert_array_equal(other.validation_score_, one.validation_score_)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weight_zero_has_no_effect(name, loss, outputs, params, whole):
    X, y = data_for(name, loss, n=90, outputs=outputs)
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, len(X)) if whole else rng.random(len(X)) * (rng.random(len(X)) < 0.7)
    kept = w > 0
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss), "min_samples_leaf": 0.02}
    if name == CLASSIFIER:
        params["class_weight"] = "balanced"
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    removed = make(name, **params).fit(X[kept], y[kept], sample_weight=w[kept])
    assert model_bytes(weighted) == model_bytes(removed)


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weight_two_is_the_sample_twice(name, loss, outputs, params):
    X, y = data_for(name, loss, outputs=outputs)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    order = np.random.default_rng(1).permutation(w.sum())
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss)}
    weighted = make(name, **params).fit(X, y, sample_weight=w)
    repeated = make(name, **params).fit(X.repeat(w, axis=0)[order], y.repeat(w, axis=0)[order])
    np.testing.assert_array_equal(weighted.step_sizes_, repeated.step_sizes_)
    np.testing.assert_array_equal(weighted._scores(X), repeated._scores(X))


@pytest.mark.parametrize("weights", [np.arange(1.0, 5) / 3, [1e-300, 0.3, 1, 7.1], 2.0 ** np.arange(0, 52, 13) - 1])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_the_order_of_samples_has_no_effect_whatever_their_weights(name, loss, outputs, params, weights):
    X, y = data_for(name, loss, outputs=outputs)
    w = np.random.default_rng(0).choice(weights, len(X))
    w[0] = 1
    order = np.random.default_rng(1).permutation(len(X))
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss)}
    model, other = (make(name, **params).fit(X[rows], y[rows], sample_weight=w[rows]) for rows in (slice(None), order))
    assert model_bytes(model) == model_bytes(other)


@pytest.mark.parametrize("power", [1024, 700, -1000])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_weights_at_the_ends_of_float64_are_those_near_one(name, loss, outputs, params, power):
    X, y = data_for(name, loss, outputs=outputs)
    w = np.random.default_rng(2).uniform(0.5, 1, len(X))
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss), **FREE}
    near, far = (
        make(name, **params).fit(X, y, sample_weight=v, X_val=X, y_val=y, sample_weight_val=v)
        for v in (w, np.ldexp(w, power))
    )
    np.testing.assert_array_equal(near.step_sizes_, far.step_sizes_)
    np.testing.assert_array_equal(near._scores(X), far._scores(X))
    np.testing.assert_array_equal(near.validation_score_, far.validation_score_)


@cases(lambda params: "leaf_estimation" not in STRATEGIES[params])  # line searches are not regularized
@pytest.mark.parametrize("unit", [0.25, 1024.0])
@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_regularization_is_in_units_of_weight(name, loss, outputs, params, unit):
    X, y = data_for(name, loss, outputs=outputs)
    # These are counts in neither unit: `subsample` draws the copies of samples with whole weights.
    w = np.random.default_rng(2).integers(1, 4, len(X)) + 0.5
    # Shallow trees are used, since in deep trees the last bits decide between splits that are equally good.
    params = {**SHALLOW, **possible(name, loss, outputs, params), "loss": loss_object(loss)}
    one = make(name, **params | {"l2_regularization": 0.75, "min_weight_leaf": 3.0}).fit(X, y, w)
    other = make(name, **params | {"l2_regularization": 0.75 * unit, "min_weight_leaf": 3.0 * unit}).fit(X, y, w * unit)
    # Sums are rounded to grids that depend on the total weight: the last bits may differ, also those of float32 scores.
    np.testing.assert_allclose(one.step_sizes_, other.step_sizes_, rtol=1e-5)
    np.testing.assert_allclose(one._scores(X), other._scores(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "exponential"])
@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected", "relabelled"])
def test_regularization_shortens_the_first_stage(strategy, loss):
    X, y = make_data(CLASSIFIER, outputs="labels")
    sizes = []
    for l2 in (0.0, 1.0, 10.0, 1e6):
        model = make(CLASSIFIER, loss=loss, n_estimators=1, l2_regularization=l2, **STRATEGIES[strategy]).fit(X, y)
        sizes.append(np.abs(model._scores(X) - model.start_).max())
    # Without regularization a step may be halved where a shorter step is not, except with the squared error.
    assert sizes[1] > sizes[2] > sizes[3] > 0
    assert sizes[0] >= sizes[1] or loss != "squared_error"


@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected", "relabelled"])
def test_leaves_of_little_curvature_add_nothing(strategy):
    X, y = make_data(CLASSIFIER, outputs="labels")
    y = np.ones_like(y) - np.eye(*y.shape, dtype=y.dtype)
    wrong = np.full(y.shape, -12.0)  # nearly certain: second derivatives are 2.5e-5
    for least, moves in ((20.0, False), (0.0, True)):
        params = {**STRATEGIES[strategy], "min_weight_leaf": least, "l2_regularization": 0.0}
        model = make(CLASSIFIER, **params).fit(X, y, base_margin=wrong)
        assert model.step_sizes_.any() == moves
        assert (model._scores(X) != model.start_).any() == moves


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
@pytest.mark.parametrize("random_state", [3, None])
def test_warm_start_is_the_model_grown_at_once(name, loss, outputs, params, random_state):
    X, y = data_for(name, loss, outputs=outputs)
    params = possible(name, loss, outputs, params) | {"loss": loss_object(loss), "random_state": random_state}
    warm = make(name, n_estimators=4, warm_start=True, **params).fit(X, y, X_val=X, y_val=y)
    first = pickle.loads(pickle.dumps(warm))
    warm.set_params(n_estimators=9, n_jobs=2).fit(X, y, X_val=X, y_val=y)
    assert warm.n_estimators_ == len(warm.validation_score_) == 9
    np.testing.assert_array_equal(warm.step_sizes_[:4], first.step_sizes_)
    assert model_bytes(first.set_params(n_estimators=9).fit(X, y, X_val=X, y_val=y)) == model_bytes(warm)
    if random_state is not None:
        whole = make(name, n_estimators=9, **params).fit(X, y, X_val=X, y_val=y)
        assert model_bytes(warm) == model_bytes(whole)


@pytest.mark.parametrize("outputs", ["single", "several"])
@pytest.mark.parametrize(("first", "then"), [(True, False), (False, True)])
def test_the_validation_loss_of_a_warm_start_is_that_of_the_samples_held_out_last(outputs, first, then):
    X, y = make_data(REGRESSOR, outputs=outputs)
    held = {"X_val": X[:20] + 0.1, "y_val": y[:20]}
    for strategy in ("single_target", "projected"):
        params = possible(REGRESSOR, "", outputs, STRATEGIES[strategy])
        warm = make(REGRESSOR, n_estimators=4, warm_start=True, **params)
        warm.fit(X, y, **(held if first else {}))
        warm.set_params(n_estimators=9).fit(X, y, **(held if then else {}))
        whole = make(REGRESSOR, n_estimators=9, **params).fit(X, y, **(held if then else {}))
        assert hasattr(warm, "validation_score_") == then
        assert model_bytes(pickle.loads(pickle.dumps(warm))) == model_bytes(whole)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(params):
    X, y = make_data(REGRESSOR, outputs="several")
    one, again, other = (make(REGRESSOR, random_state=s, **{"max_features": 3, **params}).fit(X, y) for s in (0, 0, 1))
    assert model_bytes(one) == model_bytes(again) != model_bytes(other)


# Identities of strategies


@pytest.mark.parametrize(("name", "loss", "outputs"), CASES)
def test_projections_that_keep_all_distances_are_the_joint_strategy(name, loss, outputs):
    X, y = data_for(name, loss, outputs=outputs)
    # At other rates a split ties with another one, and the order of sums decides.
    parameters = {"loss": loss_object(loss), "learning_rate": 0.1}
    joint = make(name, output_strategy="joint", **parameters).fit(X, y)
    d = joint.step_sizes_.shape[1]
    if d == 1:  # there is nothing to project
        with pytest.raises(
            ValueError, match=r"Projected\.projection has no effect where there is one column of scores"
        ):
            make(name, output_strategy=Projected(np.eye(d)), **parameters).fit(X, y)
        return
    identity = make(name, output_strategy=Projected(np.eye(d)), **parameters).fit(X, y)
    assert model_bytes(identity) == model_bytes(joint)
    if outputs == "single" and name == REGRESSOR:
        return
    every = make(name, output_strategy=Projected("subsample", d), **parameters).fit(X, y)
    np.testing.assert_array_equal(every._scores(X), joint._scores(X))


@pytest.mark.parametrize("loss", LOSSES[CLASSIFIER])
def test_orthonormal_projections_are_the_joint_strategy(loss):
    (
        X,
        _,
    ) = make_data(CLASSIFIER, n=100)
    X = X + np.random.default_rng(1).normal(size=X.shape)  # no two gains are equal, so that rounding cannot decide
    Y = (X[:, :4] @ np.random.default_rng(2).normal(size=(4, 4)) > 0.5).astype(int)
    w = np.random.default_rng(3).uniform(0.5, 2, len(X))
    params = {"loss": loss, "learning_rate": 0.5, "min_samples_leaf": 8}
    joint = make(CLASSIFIER, output_strategy="joint", **params).fit(X, Y, sample_weight=w)
    phi = HadamardProjection().draw(4, 4, random_state=0)
    rotated = make(CLASSIFIER, output_strategy=Projected(phi), **params).fit(X, Y, sample_weight=w)
    assert [tree.tree_.feature.tolist() for tree in rotated] == [tree.tree_.feature.tolist() for tree in joint]
    np.testing.assert_array_equal(rotated._scores(X), joint._scores(X))


@pytest.mark.parametrize("loss", [*LOSSES[REGRESSOR], *LOSSES[CLASSIFIER][:3]])
def test_all_strategies_are_one_for_one_column(loss):
    name = REGRESSOR if loss in LOSSES[REGRESSOR] else CLASSIFIER
    X, y = data_for(name, loss)
    if name == CLASSIFIER:
        y = y == "a"
    models = [make(name, loss=loss, output_strategy=s).fit(X, y) for s in ("single_target", "joint", "projected")]
    models.append(make(name, loss=loss).fit(X, y))
    for model in models[1:]:
        # The trees are the same, and the strategies only differ in the order of their additions.
        np.testing.assert_allclose(model._scores(X), models[0]._scores(X), rtol=1e-12)


@pytest.mark.parametrize("strategy", ["single_target", "joint", "relabelled"])
def test_steps_of_the_square_loss_are_one_after_relabelling(strategy):
    X, Y = make_data(REGRESSOR, outputs="several")
    model = make(REGRESSOR, **STRATEGIES[strategy]).fit(X, Y)
    assert (model.step_sizes_ == 1).all()


def test_the_square_loss_on_two_leaves_is_the_same_with_and_without_relabelling():
    X, Y = make_data(REGRESSOR, outputs="several")
    phi = GaussianProjection().draw(3, 1, random_state=0)
    # With relabelling λ is added to the weight of a leaf, and without it to Σ w g² over both leaves: for λ = 0 both are
    # equal.
    shared = {"max_depth": 1, "n_estimators": 20, **FREE}
    relabelled, projected = (
        make(REGRESSOR, output_strategy=Projected(phi, relabel_leaves=r), **WHOLE, **shared).fit(X, Y)
        for r in (True, False)
    )
    np.testing.assert_array_equal(relabelled.apply(X), projected.apply(X))
    # Means of residuals are compared with projections of residuals times step sizes: these are float64 sums in another
    # order, over 20 stages.
    np.testing.assert_allclose(relabelled.predict(X), projected.predict(X), rtol=1e-12, atol=1e-12)


# The convergence theorem


@st.composite
def problems(draw):
    loss = draw(st.sampled_from([*LOSSES[REGRESSOR], "log_loss", "exponential", "hinge", "softmax"]))
    strategies = STRATEGIES.keys() - {"subsampled"}
    if loss not in LOSSES[REGRESSOR]:
        # Only regressors support output_scaling.
        strategies -= {"scaled", "scaled combination"}
    strategy = draw(st.sampled_from(sorted(strategies)))
    seed = draw(st.integers(0, 2**32 - 1))
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 5))
    weighting = draw(st.sampled_from([None, "counts", "shares", "decades", "whole decades"]))
    rule = draw(st.sampled_from(RULES))
    return loss, strategy, seed, n, d, weighting, rule


@pytest.mark.filterwarnings("ignore:sample_weight sums to", "ignore:y has a mean of")
@settings(max_examples=200, deadline=None)
@given(problems())
def test_the_training_loss_never_rises(problem):
    """The training loss never increases with a learning rate of 1 and all samples.

    Losses are computed here in float64 from the scores of each stage. Those of log_loss, hinge and softmax are float32
    during the fit: the rounding of a score, 2^-24 of it, changes the loss of a sample by as much (twice as much for
    log_loss), which is the tolerance. A stage without a better step must not seem worse because of it.
    """
    loss, strategy, seed, n, d, weighting, rule = problem
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 4)).astype(np.float32)
    numbers = X[:, :1] * rng.normal(size=d) + rng.normal(size=(n, d))
    w = {
        None: None,
        "counts": rng.integers(1, 4, n).astype(float),
        "shares": rng.uniform(0.1, 2, n),
        "decades": 10.0 ** (-rng.choice([6, 20, 40]) * rng.random(n)),
        "whole decades": np.floor(10.0 ** (6 * rng.random(n))),
    }[weighting]
    params = {**WHOLE, "learning_rate": 1.0, "n_estimators": 8, "max_depth": 2, **rule, **STRATEGIES[strategy]}
    params = params if d > 1 else possible(REGRESSOR, loss, "single", params)
    groups = None
    if loss in LOSSES[REGRESSOR]:
        y = targets = in_domain(loss, numbers)
        model = make(REGRESSOR, loss=loss_object(loss), **params)
    elif loss == "softmax":
        y = np.digitize(numbers, [-0.5, 0.5])
        y[:3] = np.arange(min(3, n))[:, None]
        sizes = [len(np.unique(column)) for column in y.T]
        model = make(CLASSIFIER, **{**params, "output_strategy": "projected"})
        ends = np.cumsum([0, *sizes])
        targets = np.column_stack([column == c for column in y.T for c in np.unique(column)]).astype(float)
        if sizes == [2]:
            targets, groups = 2 * targets[:, 1:] - 1, None
        elif model.fit(X, y if len(sizes) > 1 else y.ravel())._shared["output_strategy"] == "single_target":
            targets, groups = 2 * targets - 1, None
        else:
            groups = tuple(slice(a, b) for a, b in pairwise(ends))
        if d > 1 and set(np.unique(y)) <= {0, 1}:
            y = y + 5  # so that they are classes and not labels
    else:
        labels = (numbers > 0.3).astype(int)
        y = sparse.csr_array(labels)
        model, targets = make(CLASSIFIER, loss=loss, **params), 2.0 * labels - 1
    # y with a single column is passed as a vector, since scikit-learn warns otherwise.
    model.fit(X, y[:, 0] if d == 1 and not sparse.issparse(y) else y, sample_weight=w)
    twin = Twin(X, targets, "log_loss" if loss == "softmax" else loss, w, groups)
    scores = [np.tile(model.start_, (n, 1)), *model._staged(X)]
    losses = np.array([twin.value(f) for f in scores])
    assert np.isfinite(losses).all()
    # The twin adds up rounded losses of rounded scores.
    slack = 1e-9 * losses[0]
    if loss in ("log_loss", "hinge", "softmax"):
        slack += 2.0**-22 * twin.w.sum() * max(1.0, max(np.abs(f).max() for f in scores)) * targets.shape[1]
    if weighting == "decades":
        # Weights are counted in units, n of the largest in less than 2^52, and none as less than one: of the loss of
        # each sample, which grows without limit where a weight is next to nothing, the fit sees a unit more or less.
        unit = 2.0 ** (np.frexp(twin.w.max())[1] - np.floor(52 - np.log2(n)))
        slack += unit * max(twin.size(f) for f in scores)
        # Where the start is next to perfect, the twin's losses are rounded differences of terms of the targets' squares.
        slack += 2.0**-48 * twin.w.sum() * (1 + np.abs(targets).max() ** 2)
    assert (np.diff(losses) <= slack).all(), losses


@pytest.mark.parametrize(("decades", "seed"), [(6, 338), (20, 248), (40, 80)])
@pytest.mark.parametrize("strategy", ["single_target", "joint", "projected"])
def test_steps_that_light_samples_want_do_not_raise_the_loss_of_heavy_ones(strategy, decades, seed):
    """Derivatives of heavy samples that are far below those of light ones must not be rounded away."""
    for draw in (seed, *range(20)):
        rng = np.random.default_rng(draw)
        n = int(rng.integers(5, 30))
        X, Y = rng.normal(size=(n, 2)).astype(np.float32), (rng.random((n, 3)) < 0.4).astype(int)
        w = 10.0 ** (-decades * rng.random(n))
        model = make(CLASSIFIER, n_estimators=12, learning_rate=1.0, **FREE, **STRATEGIES[strategy])
        rises = np.diff(model.fit(X, Y, sample_weight=w).train_score_)
        # Scores are float32, and the loss of a sample rises by twice the rounding of its score, which may be 100.
        assert rises.max() <= 2e-5, draw


# Side by side with scikit-learn


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_depth": 1, "n_estimators": 50},
        {"max_depth": 4, "min_samples_leaf": 10, "learning_rate": 0.3},
        {"max_leaf_nodes": 5, "max_depth": None, "min_samples_leaf": 8},
        {"min_samples_split": 30, "learning_rate": 1.0, "max_depth": 2},
        {"min_weight_fraction_leaf": 0.05},
        {"min_impurity_decrease": 0.01},
    ],
)
def test_single_output_squared_error_is_that_of_scikit_learn(params, weighted):
    X, y = sklearn.datasets.make_friedman1(300, noise=1.0, random_state=0)
    X = X.astype(np.float32)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    params = {**WHOLE, "learning_rate": 0.1, "n_estimators": 20, "min_samples_leaf": 5, **params}
    ours_alone = {"max_bins": None, "l2_regularization": 0}
    params = SHALLOW | params
    theirs_alone = {name: value for name, value in params.items() if name != "min_weight_leaf"}
    theirs = sklearn.ensemble.GradientBoostingRegressor(random_state=0, **theirs_alone)
    theirs.fit(X, y, sample_weight=w)
    for strategy in ("projected", "joint", "single_target"):
        ours = make(REGRESSOR, output_strategy=strategy, **ours_alone, **params).fit(X, y, sample_weight=w)
        # Weights are rounded to 2⁻²⁵ of the total or finer, over a hundred stages; those of scikit-learn are float64
        # sums.
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_output_absolute_error_has_the_leaves_of_scikit_learn(weighted):
    X, y = sklearn.datasets.make_friedman1(200, noise=1.0, random_state=0)
    X = X.astype(np.float32)
    # The weights never sum to exactly one half of their total, so that each median is a single sample.
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    w = w if weighted else None
    params = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 5, "max_depth": 2, "loss": "absolute_error"}
    ours = make(REGRESSOR, max_bins=None, **WHOLE, **params).fit(X, y, sample_weight=w)
    weights = np.ones(len(X)) if w is None else w
    leaves = ours.apply(X)[:, 0]
    for leaf in np.unique(leaves):
        rows = np.flatnonzero(leaves == leaf)
        order = rows[np.argsort(y[rows])]
        median = y[order][np.searchsorted(weights[order].cumsum(), weights[order].sum() / 2)]
        # The prediction is the start plus the median of the residuals, each of which is rounded.
        np.testing.assert_allclose(ours.predict(X[rows]), median, rtol=1e-12)


def test_leaf_medians_predict_as_well_as_those_of_scikit_learn():
    """With a single step for a whole tree, the error was larger than scikit-learn's by a tenth."""
    ratios = []
    for seed in range(2):
        X, y = sklearn.datasets.make_friedman1(600, noise=1.0, random_state=seed)
        ours = weald.GradientBoostingRegressor(loss="absolute_error", random_state=0, **SHALLOW)
        theirs = sklearn.ensemble.GradientBoostingRegressor(loss="absolute_error", random_state=0)
        errors = [np.abs(m.fit(X[:300], y[:300]).predict(X[300:]) - y[300:]).mean() for m in (ours, theirs)]
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < 1.03, ratios


@pytest.mark.parametrize("load", [sklearn.datasets.load_wine, sklearn.datasets.load_breast_cancer])
def test_labels_that_are_told_apart_are_not_overconfident(load):
    """With a single step for a whole tree, steps were too long: held-out log losses were twice scikit-learn's."""
    data = load()
    X, y = data.data, data.target
    rows = np.random.default_rng(0).permutation(len(y))
    first, held = rows[: 4 * len(y) // 5], rows[4 * len(y) // 5 :]
    losses = []
    ours, theirs = weald.GradientBoostingClassifier(**SHALLOW), sklearn.ensemble.GradientBoostingClassifier()
    for model in (ours, theirs):
        proba = model.set_params(random_state=0).fit(X[first], y[first]).predict_proba(X[held])
        losses.append(sklearn.metrics.log_loss(y[held], np.clip(proba, 1e-15, 1)))
    assert losses[0] < 1.1 * losses[1], losses
