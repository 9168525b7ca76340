"""Outputs that are scaled and weighted in the search for splits, against fits of scaled copies and the slow twin."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import weald
from boosting_twin import Twin, in_domain, loss_object
from conftest import (
    ALL,
    BOOSTING,
    CLASSIFIERS,
    FORESTS,
    REGRESSORS,
    TREES,
    check_refused,
    make,
    make_data,
    model_bytes,
    unless,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Arrays
from scipy import sparse
from test_boosting_oracle import NUMBERS, TOLERANCE, check, make_problem, setting, weights_for
from test_boosting_oracle import make as make_boosting
from test_masked_outputs import problems
from test_oracle import SETTINGS
from weald.projection import PCAProjection, Projected, SubsampleProjection

BOOSTED = BOOSTING[1]
STRUCTURE = ["children_left", "children_right", "feature", "threshold", "n_node_samples", "weighted_n_node_samples"]


def deviations(y: np.ndarray, w: np.ndarray | None = None, known: np.ndarray | None = None) -> np.ndarray:
    """Plain standard deviations of the known values of each output; 1 for constant outputs."""
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    known = np.ones(y.shape, dtype=bool) if known is None else known
    found = []
    for column, there in zip(y.T, known.T, strict=True):
        values, weights = column[there & (w > 0)], w[there & (w > 0)]
        mean = np.average(values, weights=weights)
        is_constant = values.min() == values.max()
        found.append(1.0 if is_constant else np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    return np.array(found)


def factors(scales: Any, weights: Any, d: int) -> np.ndarray:
    weights = np.ones(d) if weights is None else np.asarray(weights, dtype=float)
    return np.sqrt(weights / weights.max() * d / (weights / weights.max()).sum()) / np.asarray(scales, dtype=float)


def same_structure(one: Any, other: Any, *, impurity: bool = True) -> None:
    """Checks that the trees of two models have the same splits and impurities, to the bit; leaf values may differ."""
    trees = [(m.estimators_ if hasattr(m, "estimators_") else [m]) for m in (one, other)]
    for a, b in zip(*trees, strict=True):
        for name in STRUCTURE + (["impurity"] if impurity else []):
            np.testing.assert_array_equal(getattr(a.tree_, name), getattr(b.tree_, name), err_msg=name)


def drawless(name: str, **params: Any) -> Any:
    """The estimator without a bootstrap, which would draw samples by their values and so depend on the units of y."""
    if name == "RandomForestRegressor":
        params = {"bootstrap": False, "max_features": 0.5, **params}
    return make(name, **params)


def scaled_problem(seed: int = 0, n: int = 150, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Outputs in very different units, each of which is a function of a different feature; the values have no ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d + 2)).astype(np.float32)
    Y = np.column_stack([np.sin(2 * X[:, j]) + 0.2 * rng.normal(size=n) for j in range(d)])
    return X, Y * 10.0 ** np.arange(0, 3 * d, 3)


# --- trees and forests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("splitter", ["best", "random"])
@SETTINGS
@given(data=st.data())
def test_the_structure_is_that_of_scaled_targets_and_leaves_are_those_of_y(name, masked, splitter, data):
    X, y, mask, w = data.draw(problems("numbers"))
    d = y.shape[1]
    numbers = st.lists(st.sampled_from([1e-3, 0.3, 1.0, 7.0, 1e4]), min_size=d, max_size=d)
    scales = data.draw(st.none() | numbers)
    weights = data.draw(st.none() | numbers)
    f = factors(np.ones(d) if scales is None else scales, weights, d)
    params: dict[str, Any] = {"max_leaf_nodes": data.draw(st.sampled_from([None, 3]))}
    params |= {"splitter": splitter} if name in TREES else {}
    fit = {"sample_weight": w} | ({"y_weight": unless(mask)} if masked else {})
    ours = drawless(name, output_scaling=scales, output_weights=weights, **params).fit(X, y, **fit)
    theirs = drawless(name, **params).fit(X, y * f, **fit)
    same_structure(ours, theirs)
    # The means of y and the means of f y, divided by f, differ by the rounding of products: some units in the last
    # place of the largest value.
    atol = 1e-12 * np.abs(y).max()
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X) / f, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("name", TREES[1::2])
@pytest.mark.parametrize("masked", [False, True])
@SETTINGS
@given(data=st.data())
def test_by_standard_deviations_each_output_has_variance_one(name, masked, data):
    X, y, mask, w = data.draw(problems("numbers"))
    known = ~mask if masked else np.ones_like(mask)
    weights = data.draw(st.none() | st.just(np.arange(y.shape[1]) + 0.5))
    fit = {"sample_weight": w} | ({"y_weight": unless(mask)} if masked else {})
    tree = make(name, output_scaling="variance", output_weights=weights).fit(X, y, **fit)
    w = np.ones(len(y)) if w is None else w
    of_known = (known * w[:, None]).sum(axis=0)
    values = [y[there & (w > 0), j] for j, there in enumerate(known.T)]
    varies = np.array([v.min() < v.max() for v in values])
    # Deviations below 1e-150 count as 1e-150, because float64 cannot represent their squares.
    assume((np.array([np.ptp(v) for v in values])[varies] > 1e-140).all())
    shares = factors(np.ones(y.shape[1]), weights, y.shape[1]) ** 2
    # Deviations are rounded to 36 bits of half the range; if a light sample lies at the end of the range, 18 bits of
    # accuracy remain (`exact_deviation`).
    expected = (shares * varies * of_known).sum() / of_known.sum()
    np.testing.assert_allclose(tree.tree_.impurity[0], expected, rtol=1e-4)


@pytest.mark.parametrize("params", [{}, {"output_projection": "gaussian", "n_projections": 2}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", REGRESSORS)
def test_variance_is_the_array_of_standard_deviations(name, weighted, params):
    X, Y = scaled_problem()
    w = np.random.default_rng(3).integers(0, 3, len(X)) if weighted else None
    model = make(name, output_scaling="variance", **params).fit(X, Y, sample_weight=w)
    by_array = make(name, output_scaling=deviations(Y, w), **params).fit(X, Y, sample_weight=w)
    # No two splits are equally good here, so that the last digits of the scales have no effect on the structure.
    same_structure(model, by_array, impurity=False)
    np.testing.assert_array_equal(model.predict(X), by_array.predict(X))


@pytest.mark.parametrize("projection", [None, "gaussian", "subsample", "pca"])
@pytest.mark.parametrize("name", [*REGRESSORS, BOOSTED])
def test_scales_of_one_and_equal_output_weights_give_the_same_bytes(name, projection):
    X, Y = make_data(name, outputs="several")
    params: dict[str, Any] = {"output_projection": projection, "n_projections": 2} if projection else {}
    if name == BOOSTED:
        params = {"output_strategy": Projected(projection, 2) if projection else "joint"}
    expected = model_bytes(make(name, **params).fit(X, Y))
    for scales, weights in [(np.ones(3), None), (None, [0.1] * 3), ([1, 1, 1], [1e300] * 3)]:
        model = make(name, output_scaling=scales, output_weights=weights, **params).fit(X, Y)
        assert model_bytes(model) == expected


@pytest.mark.parametrize("params", [{}, {"output_projection": "gaussian"}, {"ccp_alpha": 0.01}, {"max_leaf_nodes": 9}])
@pytest.mark.parametrize("name", REGRESSORS)
def test_scaled_outputs_give_the_same_splits_in_any_units(name, params):
    X, Y = make_data(name, outputs="several", n=120)
    units = 2.0 ** np.array([-30, 0, 41])  # products with powers of two are exact
    params = {"min_samples_leaf": 4, **params}
    one, other = (drawless(name, output_scaling="variance", **params).fit(X, y) for y in (Y, Y * units))
    same_structure(one, other)
    np.testing.assert_array_equal(one.predict(X) * units, other.predict(X))
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)
    plain = [drawless(name, **params).fit(X, y) for y in (Y, Y * units)]
    assert (plain[0].predict(X) * units != plain[1].predict(X)).any()


@pytest.mark.parametrize("name", REGRESSORS)
def test_outputs_of_weight_zero_choose_no_split_and_have_leaves(name):
    X, Y = scaled_problem(d=3)
    params = {"min_samples_leaf": 5}
    model = drawless(name, output_weights=[0, 1, 0], **params).fit(X, Y)
    alone = drawless(name, **params).fit(X, Y[:, 1])
    # The criterion is the mean over three outputs, one of which counts three times, so that impurities are rounded
    # differently.
    same_structure(model, alone, impurity=False)
    np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X), rtol=1e-12)
    for tree in model.estimators_ if name in FORESTS else [model]:
        leaves = tree.apply(X)
        for leaf in set(leaves):
            # The means of a leaf are summed in a different order.
            np.testing.assert_allclose(tree.predict(X)[leaves == leaf][0], Y[leaves == leaf].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", [*REGRESSORS, BOOSTED])
def test_the_identity_is_no_projection(name, container):
    X, Y = scaled_problem()
    params: dict[str, Any] = {"output_scaling": "variance", "output_weights": [1, 2, 0, 0.3]}
    eye = container(np.eye(4))
    plain = make(name, **params, **({"output_strategy": "joint"} if name == BOOSTED else {})).fit(X, Y)
    params |= {"output_strategy": Projected(eye)} if name == BOOSTED else {"output_projection": eye}
    identity = make(name, **params).fit(X, Y)
    assert model_bytes(plain) == model_bytes(identity)


@pytest.mark.parametrize("name", ["ExtraTreesRegressor"])
@pytest.mark.parametrize("family", [SubsampleProjection(), PCAProjection()])
def test_outputs_are_scaled_before_they_are_projected(name, family):
    X, Y = scaled_problem()
    params: dict[str, Any] = {"output_projection": family, "n_projections": 2}
    scales = deviations(Y)
    ours = make(name, output_scaling=scales, **params).fit(X, Y)
    same_structure(ours, make(name, **params).fit(X, Y * (1 / scales)))


def test_a_tree_for_all_outputs_learns_outputs_in_any_units():
    X, Y = scaled_problem(n=400, d=3)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        forests = [make(name, n_estimators=30, output_scaling=s, min_samples_leaf=5) for s in (None, "variance")]
        plain, scaled = (forest.fit(X[:300], Y[:300]).predict(X[300:]) for forest in forests)
        error = [((p[:, 0] - Y[300:, 0]) ** 2).mean() / Y[300:, 0].var() for p in (plain, scaled)]
        assert error[1] < 0.75 < error[0]


# --- boosting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["line_search", "newton"])
@pytest.mark.parametrize("loss", [*NUMBERS, "unweighted"])
@pytest.mark.parametrize("scaling", ["variance", "by"])
@pytest.mark.parametrize("strategy", ["joint", "projected", "subspace", "relabelled", "relabelled pair"])
def test_trees_of_boosting_are_grown_on_scaled_gradients(strategy, scaling, loss, rule):
    X, X_new, Y = make_problem()
    Y = Y * [1, 3, 0.4, 1] if loss in ("squared_error", "unweighted") else Y
    w = None if loss == "unweighted" else weights_for(len(X))
    loss = "squared_error" if loss == "unweighted" else loss
    Y = in_domain(loss, Y)
    d = Y.shape[1]
    params, parameters = setting(strategy, d)
    twin = Twin(X, Y, loss, w)
    weights = None if scaling == "variance" else [1, 2, 0.5, 1]
    scales = [1.5, 0.7, 1, 2]
    if scaling == "variance":
        scales = deviations(twin.responses(np.tile(twin.start(), (len(X), 1)), shared=True), w)
    f = factors(scales, weights, d)
    phis = parameters.get("phis", [np.eye(d)] * 6)
    parameters |= {"strategy": "projected", "phis": [phi * f for phi in phis]}
    given = "variance" if scaling == "variance" else scales
    model = make_boosting(
        "Regressor", rule, loss=loss_object(loss), output_scaling=given, output_weights=weights, **params
    )
    check(model.fit(X, Y, sample_weight=w), twin, X_new, parameters, TOLERANCE["numbers"])


@pytest.mark.parametrize(
    "params",
    [
        {"output_strategy": "joint"},
        {"output_strategy": Projected(n_projections=2)},
        {"output_strategy": Projected(relabel_leaves=False)},
    ],
)
def test_boosting_of_scaled_outputs_gives_the_same_splits_in_any_units(params):
    X, Y = make_data(BOOSTED, outputs="several", n=120)
    units = 2.0 ** np.array([-20, 0, 11])
    one, other = (make(BOOSTED, output_scaling="variance", **params).fit(X, y) for y in (Y, Y * units))
    same_structure(one, other)
    np.testing.assert_array_equal(one.predict(X) * units, other.predict(X))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "gamma"])
@pytest.mark.parametrize("params", [{"output_strategy": "joint"}, {"output_strategy": Projected(n_projections=2)}])
def test_stages_that_are_added_see_outputs_as_those_before(params, loss):
    X, _, Y = make_problem()
    Y = in_domain(loss, Y) * [1, 3, 0.4, 1]
    params = {**params, "output_scaling": "variance", "loss": loss}
    whole = make(BOOSTED, **params).fit(X, Y)
    part = make(BOOSTED, n_estimators=2, warm_start=True, **params).fit(X, Y)
    assert model_bytes(part.set_params(n_estimators=5).fit(X, Y)) == model_bytes(whole)


@pytest.mark.parametrize("params", [{"output_strategy": "joint"}, {"output_strategy": Projected(n_projections=2)}])
def test_cells_that_are_not_known_have_no_part_in_the_scales_of_boosting(params):
    X, Y = scaled_problem()
    mask = np.random.default_rng(1).random(Y.shape) < 0.3
    model = make(BOOSTED, output_scaling="variance", **params).fit(X, np.where(mask, np.nan, Y))
    # Stages start from the means of the known values, so that the gradients have the standard deviations of y.
    scales = deviations(Y, None, ~mask)
    by_array = make(BOOSTED, output_scaling=scales, **params).fit(X, Y, y_weight=unless(mask))
    same_structure(model, by_array, impurity=False)
    # The scales of the engine are rounded to 36 bits; they are used in the choice of splits and so affect the step
    # sizes.
    np.testing.assert_allclose(model.predict(X), by_array.predict(X), rtol=1e-9)
    nothing = make(BOOSTED, output_scaling="variance", **params).fit(X, Y, y_weight=unless(np.zeros_like(mask)))
    assert model_bytes(nothing) == model_bytes(make(BOOSTED, output_scaling="variance", **params).fit(X, Y))


# --- the parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ALL, *BOOSTING])
def test_regressors_have_them_and_classifiers_do_not(name):
    has = {"output_scaling", "output_weights"} & set(inspect.signature(getattr(weald, name)).parameters)
    assert len(has) == (0 if name in CLASSIFIERS or name == BOOSTING[0] else 2)


@pytest.mark.parametrize("name", [*REGRESSORS, BOOSTED])
def test_files_and_copies_keep_them(name, tmp_path):
    X, Y = make_data(name, outputs="several")
    for scaling in ("variance", [1.0, 2.0, 3.0]):
        joint = {"output_strategy": "joint"} if name == BOOSTED else {}
        model = make(name, output_scaling=scaling, output_weights=[1.0, 0.0, 2.0], **joint).fit(X, Y)
        weald.save(model, tmp_path / "model")
        again = weald.load(tmp_path / "model")
        assert again.get_params() == model.get_params()
        assert model_bytes(again) == model_bytes(model)
        weald.save(again, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"output_scaling": "std"}, "'output_scaling' parameter"),
    ({"output_scaling": 2.0}, "'output_scaling' parameter"),
    ({"output_weights": "variance"}, "'output_weights' parameter"),
    ({"output_scaling": [1, 2]}, "output_scaling must have length 3, got 2"),
    ({"output_scaling": []}, "output_scaling must have length 3, got 0"),
    ({"output_scaling": [[1, 2, 3]]}, r"output_scaling must have shape \(n_outputs,\), .*got \(1, 3\)"),
    ({"output_scaling": ["a", "b", "c"]}, "output_scaling must be a list of numbers"),
    ({"output_scaling": [1, 0, 1]}, "output_scaling must have finite, positive values, got 0"),
    ({"output_scaling": [1, -1, 1]}, "output_scaling must have finite, positive values, got -1"),
    ({"output_scaling": [1, np.nan, 1]}, "output_scaling must have finite, positive values, got NaN"),
    ({"output_scaling": [1, np.inf, 1]}, "output_scaling must have finite, positive values, got inf"),
    (
        {"output_scaling": [1, 1e-300, 1]},
        "output_scaling must have scales and weights .* got values of up to .* in output 1",
    ),
    ({"output_weights": [1, 2]}, "output_weights must have length 3, got 2"),
    ({"output_weights": [0, 0, 0]}, "output_weights must have at least one positive value, got zeros only"),
    ({"output_weights": [1, -1, 1]}, "output_weights must have finite values of at least 0, got -1"),
    ({"output_weights": [1, np.nan, 1]}, "output_weights must have finite values of at least 0, got NaN"),
    ({"output_weights": [1, np.inf, 1]}, "output_weights must have finite values of at least 0, got inf"),
]


@pytest.mark.parametrize(("params", "message"), BAD)
@pytest.mark.parametrize("name", [*REGRESSORS, BOOSTED])
def test_bad_ones_are_named_and_change_nothing(name, params, message):
    X, Y = make_data(name, outputs="several")
    strategy = {"output_strategy": "joint"} if name == BOOSTED else {}
    model = make(name, **strategy).fit(X, Y).set_params(**params)
    check_refused(model, ValueError, message, X, Y)


@pytest.mark.parametrize("params", [{"output_scaling": "variance"}, {"output_weights": [1.0]}])
def test_what_they_are_not_for_is_refused(params):
    X, y = make_data("DecisionTreeRegressor")
    given = next(iter(params))
    for name in REGRESSORS:
        model = make(name, criterion="poisson", **params)
        with pytest.raises(ValueError, match=f"criterion must be 'squared_error' with {given}, .*got 'poisson'"):
            model.fit(X, np.abs(y))
    weak = make(BOOSTED, estimator=weald.DecisionTreeRegressor(), output_strategy="joint", **params)
    with pytest.raises(ValueError, match=f"{given} has no effect with `estimator`"):
        weak.fit(X, y)


def test_structures_are_listed_whole():
    assert set(STRUCTURE) | {"impurity"} <= set(Arrays.__annotations__)
