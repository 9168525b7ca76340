"""Cost-complexity pruning, pruning on held-out samples, and rules: against scikit-learn and against definitions."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import (
    ALL,
    BOOSTING,
    CLASSIFIERS,
    FORESTS,
    REGRESSORS,
    SKLEARN,
    TREES,
    cases,
    has_outputs,
    make,
    make_data,
    model_bytes,
    unless,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_regression
from weald.inspection import export_rules, feature_importances

OUTPUTS = ["single", "several", "labels"]
pytestmark = cases(has_outputs)


# Deviations from medians are often tied except for rounding; integers have exact sums in both libraries.
MADE = make_regression(400, 8, noise=9.0, random_state=3)
# Statistics are float64 sums on both sides, in a different order; scikit-learn's are differences of large sums, which
# are accurate to about 1e-12 of the impurity of the root.
NEAR = 1e-10
# Data and limits under which neither splits nor the weakest links are tied, as the test shows.
PARITY = {
    "numbers": (*make_regression(600, 8, noise=9.0, random_state=1), {"min_samples_leaf": 15}),
    "several numbers": (*make_regression(600, 8, n_targets=3, noise=9.0, random_state=1), {"min_samples_leaf": 20}),
    "diabetes": (*load_diabetes(return_X_y=True), {"max_depth": 8, "min_samples_leaf": 20}),
    "medians": (MADE[0], np.round(100 * MADE[1]), {"criterion": "absolute_error", "min_samples_leaf": 15}),
    "wine": (*load_wine(return_X_y=True), {"max_depth": 2}),
    "breast cancer": (*load_breast_cancer(return_X_y=True), {"max_depth": 2, "min_samples_leaf": 30}),
}


def pair(y, **params):
    name = "DecisionTreeClassifier" if np.asarray(y).dtype.kind in "iu" else "DecisionTreeRegressor"
    return getattr(weald, name)(**params), getattr(sklearn.tree, name)(**params)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", PARITY)
def test_path_and_pruned_trees_are_scikit_learns(case, weighted):
    if case == "medians" and weighted and SKLEARN < (1, 8):
        pytest.skip("weighted absolute errors of scikit-learn are correct from 1.8")
    X, y, limits = PARITY[case]
    X = X.astype(np.float32)
    w = np.random.default_rng(3).uniform(0.5, 2.0, len(X)) if weighted else None
    ours, theirs = pair(y, random_state=0, **limits)
    here = ours.cost_complexity_pruning_path(X, y, w)
    there = theirs.cost_complexity_pruning_path(X, y, w)
    assert not hasattr(ours, "tree_")
    scale = there.impurities[-1]
    assert np.diff(there.ccp_alphas[1:]).min(initial=1.0) > 1e-9 * scale, "tied links: choose other limits"
    np.testing.assert_allclose(here.ccp_alphas, there.ccp_alphas, rtol=NEAR, atol=NEAR * scale)
    np.testing.assert_allclose(here.impurities, there.impurities, rtol=NEAR, atol=NEAR * scale)
    between = (there.ccp_alphas[1:-1] + there.ccp_alphas[2:]) / 2
    for alpha in [*between[:: max(1, len(between) // 12)], 2 * there.ccp_alphas[-1]]:
        a, b = (model.set_params(ccp_alpha=alpha).fit(X, y, w) for model in (ours, theirs))
        np.testing.assert_array_equal(a.tree_.children_left, b.tree_.children_left)
        np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
        np.testing.assert_array_equal(a.tree_.n_node_samples, b.tree_.n_node_samples)
        # An inner node has the mean of its leaves here, which is not a median.
        held = a.tree_.children_left == -1 if "criterion" in limits else slice(None)
        np.testing.assert_allclose(a.tree_.value[held], b.tree_.value[held], rtol=NEAR, atol=NEAR)
        np.testing.assert_allclose(a.tree_.impurity, b.tree_.impurity, rtol=NEAR, atol=NEAR * scale)
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=NEAR)
        np.testing.assert_allclose(a.feature_importances_, b.feature_importances_, rtol=NEAR, atol=NEAR)


def test_forests_shrink_as_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    for kind in ("RandomForestClassifier", "ExtraTreesClassifier"):
        forests = (getattr(m, kind)(100, ccp_alpha=0.01, random_state=0).fit(X, y) for m in (weald, sklearn.ensemble))
        leaves = np.array([[tree.get_n_leaves() for tree in forest] for forest in forests])
        error = np.sqrt((leaves.var(axis=1) / 100).sum())
        assert abs(np.diff(leaves.mean(axis=1))[0]) < 4 * error
        assert leaves.mean() < 10


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_pruned_fits_are_nested_and_new_leaves_hold_what_growth_would_have_put_there(name, outputs):
    X, y = make_data(name, outputs=outputs)
    whole = make(name).fit(X, y)
    assert model_bytes(make(name, ccp_alpha=0.0).fit(X, y)) == model_bytes(whole)
    last = np.inf
    for alpha in (1e-12, 1e-3, 0.02, 0.1, 100.0):
        pruned = make(name, ccp_alpha=alpha).fit(X, y)
        trees = zip(getattr(pruned, "estimators_", [pruned]), getattr(whole, "estimators_", [whole]), strict=True)
        size = 0
        for a, b in ((one.tree_, two.tree_) for one, two in trees):
            size += a.node_count
            # Each node of the pruned tree is a node of the full tree.
            todo = [(0, 0)]
            while todo:
                i, j = todo.pop()
                # The statistics of a node that became a leaf are sums over its former leaves, in a different order.
                np.testing.assert_allclose(a.value[i], b.value[j], rtol=1e-12, atol=1e-13)
                assert a.n_node_samples[i] == b.n_node_samples[j]
                if a.children_left[i] >= 0:
                    assert (a.feature[i], a.threshold[i]) == (b.feature[j], b.threshold[j])
                    todo.append((a.children_left[i], b.children_left[j]))
                    todo.append((a.children_right[i], b.children_right[j]))
        assert size <= last
        last = size
    assert size == len(getattr(whole, "estimators_", [whole]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pruned)).predict(X), pruned.predict(X))


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_ccp_alpha_keeps_the_laws(name, outputs):
    X, y = make_data(name, outputs=outputs, n=90)
    X = X.astype(np.float32)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    params = {"ccp_alpha": 0.03}
    expected = make(name, **params).fit(X, y, sample_weight=w)
    assert model_bytes(expected) != model_bytes(make(name).fit(X, y, sample_weight=w))
    threads = {"n_jobs": 2} if name in FORESTS else {}
    for Z in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        model = make(name, **params, **threads).fit(Z, y, sample_weight=w)
        assert model_bytes(model) == model_bytes(expected)
    removed = make(name, **params).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model_bytes(removed) == model_bytes(expected)
    if name in FORESTS:
        warm = make(name, n_estimators=2, warm_start=True, **params).fit(X, y, sample_weight=w)
        assert model_bytes(warm.set_params(n_estimators=5).fit(X, y, sample_weight=w)) == model_bytes(expected)
        assert expected.estimators_[0].ccp_alpha == 0.03


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, "0"])
def test_bad_complexities(name, bad):
    X, y = make_data(name)
    with pytest.raises(ValueError, match="ccp_alpha"):
        make(name, ccp_alpha=bad).fit(X, y)


def test_projected_trees_are_pruned_by_the_impurity_of_their_projections():
    X, y = make_data("DecisionTreeRegressor", outputs="several")
    tree = weald.DecisionTreeRegressor(output_projection=[[1.0, 2.0, -1.0]], random_state=0)
    combined = weald.DecisionTreeRegressor(random_state=0)
    z = y @ [1.0, 2.0, -1.0]
    here, there = tree.cost_complexity_pruning_path(X, y), combined.cost_complexity_pruning_path(X, z)
    # The projection of y is a sum of products in a different order.
    assert here.impurities[-1] == pytest.approx(there.impurities[-1], rel=1e-12)
    np.testing.assert_allclose(here.ccp_alphas[-3:], there.ccp_alphas[-3:], rtol=1e-10)


# Reduced-error pruning


def naive_reduced_error(model, tree, X, y, w, is_known=None):
    """The loss and the number of leaves that remain by the definition, from the samples at each node."""
    value = tree.value
    is_known = np.ones((len(X), len(value[0])), dtype=bool) if is_known is None else is_known

    def loss(node, rows):
        v = value[node]
        if model._label_format is not None if hasattr(model, "classes_") else False:
            wrong = (v[:, 1] > 0.5) != (y[rows] > 0)
        elif hasattr(model, "classes_"):
            several = isinstance(model.classes_, list)
            classes = model.classes_ if several else [model.classes_]
            Y = y[rows].reshape(len(rows), len(classes))
            frequent = [c[v[j, : len(c)].argmax()] for j, c in enumerate(classes)]
            wrong = frequent != Y
        else:
            wrong = (y[rows].reshape(len(rows), len(v)) - v[:, 0]) ** 2
        return float(w[rows] @ np.where(is_known[rows], wrong, 0).sum(axis=1))

    def prune(node, rows):
        own = loss(node, rows)
        if tree.children_left[node] < 0:
            return own, 1
        left = X[rows, tree.feature[node]] <= tree.threshold[node]
        a, n_a = prune(tree.children_left[node], rows[left])
        b, n_b = prune(tree.children_right[node], rows[~left])
        # Ties become leaves; equal losses may differ by the rounding of float64.
        return (own, 1) if own <= (a + b) * (1 + 1e-12) else (a + b, n_a + n_b)

    return prune(0, np.arange(len(X)))


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([*TREES, *FORESTS]),
    st.sampled_from(OUTPUTS),
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.integers(1, 40),
    st.sampled_from([None, 0.01]),
)
def test_reduced_error_is_the_definition(name, outputs, seed, n, n_val, ccp_alpha):
    if outputs == "labels" and name in REGRESSORS:
        outputs = "several"
    rng = np.random.default_rng(seed)
    X, y = make_data(name, n=n + n_val, p=5, outputs=outputs, seed=seed)
    X = rng.integers(-1, 3, X.shape).astype(np.float32) if seed % 2 else X.astype(np.float32)
    if name in CLASSIFIERS and outputs != "labels":
        y[n:] = y[:n][rng.integers(0, n, n_val)]  # no unknown classes
    model = make(name, random_state=seed % 5, **({} if ccp_alpha is None else {"ccp_alpha": ccp_alpha}))
    model.fit(X[:n], y[:n])
    before = model_bytes(model)
    X_val, y_val = X[n:], y[n:]
    w = [None, rng.integers(0, 3, n_val) + (np.arange(n_val) == 0)][seed % 3 % 2]
    weights = np.ones(n_val) if w is None else w.astype(float)
    pruned = model.prune_reduced_error(X_val, y_val, w)
    assert model_bytes(model) == before
    trees = zip(getattr(pruned, "estimators_", [pruned]), getattr(model, "estimators_", [model]), strict=True)
    for small, large in trees:
        _, n_leaves = naive_reduced_error(model, large.tree_, X_val, y_val, weights)
        assert small.get_n_leaves() == n_leaves
    for Z in (sparse.csr_array(X_val), sparse.csc_array(X_val), np.asfortranarray(X_val)):
        assert model_bytes(model.prune_reduced_error(Z, y_val, w)) == model_bytes(pruned)
    if w is not None:
        kept = w > 0
        assert model_bytes(model.prune_reduced_error(X_val[kept], y_val[kept], w[kept])) == model_bytes(pruned)
        if name in CLASSIFIERS:
            twice = model.prune_reduced_error(X_val.repeat(w, axis=0), y_val.repeat(w, axis=0))
            assert model_bytes(twice) == model_bytes(pruned)
    assert model_bytes(pruned.prune_reduced_error(X_val, y_val, w)) == model_bytes(pruned)
    assert pruned.get_params() == model.get_params()
    assert pruned.predict(X).shape == model.predict(X).shape
    assert feature_importances(pruned, outputs="all").shape == (5,)


@pytest.mark.parametrize("name", FORESTS)
def test_reduced_error_of_forests_takes_any_number_of_threads_and_drops_the_oob_score(name):
    X, y = make_data(name, n=150)
    model = make(name, n_estimators=40, bootstrap=True, oob_score=True).fit(X[:100], y[:100])
    pruned = model.prune_reduced_error(X[100:], y[100:])
    assert hasattr(model, "oob_score_")
    assert not hasattr(pruned, "oob_score_")
    assert len(pruned) == 40
    again = model.set_params(n_jobs=2).prune_reduced_error(X[100:], y[100:])
    assert model_bytes(again) == model_bytes(pruned)
    assert sum(t.tree_.node_count for t in pruned) < sum(t.tree_.node_count for t in model)


def test_reduced_error_of_sparse_labels(labels):
    X, Y = labels
    model = weald.ExtraTreesClassifier(10, random_state=0).fit(X[:60], Y[:60])
    pruned = model.prune_reduced_error(X[60:], Y[60:])
    dense = model.prune_reduced_error(X[60:].toarray(), Y[60:].toarray())
    assert model_bytes(pruned) == model_bytes(dense)
    loss = [abs(m.predict(X[60:]) - Y[60:]).sum() for m in (model[0], pruned[0])]
    assert loss[1] <= loss[0]
    assert sparse.issparse(pruned.predict(X))


@pytest.mark.parametrize("outputs", ["several", "labels"])
@pytest.mark.parametrize("name", TREES + FORESTS)
def test_unknown_values_of_validation_samples_have_no_loss(name, outputs):
    outputs = "several" if name in REGRESSORS else outputs
    X, y = make_data(name, n=120, outputs=outputs)
    X = X.astype(np.float32)
    model = make(name).fit(X[:60], y[:60])
    X_val, y_val, w = X[60:], y[60:], np.arange(60) % 3
    mask = np.random.default_rng(0).random(y_val.shape) < 0.6
    mask[:5] = True
    masked = model.prune_reduced_error(X_val, y_val, w, y_weight=unless(mask))
    trees = zip(getattr(masked, "estimators_", [masked]), getattr(model, "estimators_", [model]), strict=True)
    for small, large in trees:
        assert small.get_n_leaves() == naive_reduced_error(model, large.tree_, X_val, y_val, w, ~mask)[1]
    pruned = model_bytes(masked)
    # So many values are unknown that other splits of each of these models are pruned than if all were known.
    assert pruned != model_bytes(model.prune_reduced_error(X_val, y_val, w))
    others = np.where(mask, y_val[::-1], y_val)
    for hidden, known in ((mask, others), (mask.astype(int), y_val), (sparse.coo_array(mask), y_val)):
        assert model_bytes(model.prune_reduced_error(X_val, known, w, y_weight=unless(hidden))) == pruned
    # Samples without a known value are as absent, and so are those of weight zero, whatever their mask.
    kept = (np.arange(60) >= 5) & (w > 0)
    assert (
        model_bytes(model.prune_reduced_error(X_val[kept], y_val[kept], w[kept], y_weight=unless(mask[kept]))) == pruned
    )
    if name in REGRESSORS:
        missing = np.where(mask, np.nan, y_val)
        assert model_bytes(model.prune_reduced_error(X_val, missing, w)) == pruned
    nothing = model.prune_reduced_error(X_val, y_val, y_weight=unless(np.zeros_like(mask)))
    assert model_bytes(nothing) == model_bytes(model.prune_reduced_error(X_val, y_val))
    with pytest.raises(ValueError, match="y_val must have a known value in a sample of positive weight, got NaN or"):
        model.prune_reduced_error(X_val, y_val, y_weight=unless(np.ones_like(mask)))
    with pytest.raises(ValueError, match="y_weight must have shape"):
        model.prune_reduced_error(X_val, y_val, y_weight=unless(mask[1:]))


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_reduced_error_refuses_other_data(name, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name).fit(X, y)
    before = model_bytes(model)
    with pytest.raises(ValueError, match="X_val has 11 features"):
        model.prune_reduced_error(X[:, 1:], y)
    with pytest.raises(ValueError, match="y_val must have"):
        model.prune_reduced_error(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="0 sample"):
        model.prune_reduced_error(X[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.prune_reduced_error(X, y[1:])
    for bad in (np.zeros(len(X)), -np.ones(len(X)), np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.prune_reduced_error(X, y, bad)
    with pytest.raises(ValueError, match="infinity"):
        model.prune_reduced_error(np.full_like(X, np.inf), y)
    if name in CLASSIFIERS and outputs != "labels":
        other = y.copy()
        other[0] = "x" if outputs == "single" else 9
        with pytest.raises(ValueError, match="must have classes of the training data, got"):
            model.prune_reduced_error(X, other)
        # A sample of weight zero is ignored, whatever its class.
        model.prune_reduced_error(X, other, np.arange(len(X)))
    assert model_bytes(model) == before
    with pytest.raises(ValueError, match="not fitted"):
        make(name).prune_reduced_error(X, y)


# Importances of pruned trees


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_importances_of_chosen_outputs_on_pruned_trees(name, outputs):
    X, y = make_data(name, outputs=outputs)
    for model in (make(name, ccp_alpha=0.005).fit(X, y), make(name).fit(X, y).prune_reduced_error(X, y)):
        every = feature_importances(model, outputs="all")
        # The importances are shares divided by their sum.
        assert every.sum() == pytest.approx(1.0, rel=1e-12)
        # Leaves that result from pruning hold means, whose variances are those that were used when the tree was grown.
        np.testing.assert_allclose(every, model.feature_importances_, rtol=0, atol=1e-12)


# Rules


def parse(rule, X, names):
    """Which samples meet the conditions of a rule."""
    met = np.ones(len(X), dtype=bool)
    head = rule.split(": ")[0]
    if head == "always":
        return met
    seen = set()
    for condition in head.removeprefix("if ").split(" and "):
        words = condition.split(" ")
        name = next(word for word in words if word in names)
        assert name not in seen
        seen.add(name)
        column = X[:, names.index(name)]
        if len(words) == 5:
            met &= (np.float32(words[0]) < column) & (column <= np.float32(words[4]))
        else:
            met &= column <= np.float32(words[2]) if words[1] == "<=" else column > np.float32(words[2])
    return met


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_each_sample_meets_the_rule_of_its_leaf_alone(name, outputs):
    X, y = make_data(name, outputs=outputs, n=120)
    X = X.astype(np.float32)
    model = make(name).fit(X, y)
    member = model[2] if name in FORESTS else model
    rules = export_rules(model, tree=2 if name in FORESTS else 0, decimals=None).splitlines()
    assert rules == export_rules(member, decimals=None).splitlines()
    names = [f"feature_{j}" for j in range(X.shape[1])]
    leaves = np.flatnonzero(member.tree_.children_left < 0)
    assert len(rules) == len(leaves)
    reached = member.apply(X)
    for rule, leaf in zip(rules, leaves, strict=True):
        np.testing.assert_array_equal(parse(rule, X, names), reached == leaf)
        assert f"({member.tree_.n_node_samples[leaf]} sample" in rule


def test_names_of_features_classes_labels_and_numerical_outputs():
    X = np.arange(6.0).reshape(-1, 1)
    classes = weald.DecisionTreeClassifier().fit(X, ["no", "no", "no", "yes", "yes", "no"])
    assert export_rules(classes, max_depth=1, decimals=2) == (
        "if feature_0 <= 2.50: no 1.00 (3 samples)\nif feature_0 > 2.50: yes 0.67, no 0.33 (3 samples in 2 leaves)\n"
    )
    named = export_rules(classes, feature_names=["age"], class_names=["A", "B"], max_depth=0, top_k=1)
    assert named == "always: A 0.667 and 1 more (6 samples in 3 leaves)\n"
    Y = np.array([[0, 0], [0, 0], [0, 0], [1, 0], [1, 1], [1, 1]])
    labels = weald.DecisionTreeClassifier(max_depth=1).fit(X, Y)
    assert export_rules(labels, class_names=["cat", "dog"]).splitlines() == [
        "if feature_0 <= 2.500: no labels (3 samples)",
        "if feature_0 > 2.500: cat 1.000, dog 0.667 (3 samples)",
    ]
    several = weald.DecisionTreeClassifier(max_depth=1).fit(X, np.where(Y, "b", "a"))
    assert export_rules(several).splitlines()[1] == "if feature_0 > 2.500: y0=b 1.000, y1=b 0.667 (3 samples)"
    with pytest.raises(ValueError, match=r"class_names\[1\] must have length 2, one for each class, got 1 names"):
        export_rules(several, class_names=[["x", "y"], ["z"]])
    numbers = weald.DecisionTreeRegressor(max_depth=1).fit(X, Y.astype(float))
    assert export_rules(numbers).splitlines()[1] == "if feature_0 > 2.500: y0 1.000, y1 0.667 (3 samples)"
    assert export_rules(numbers.fit(X, Y[:, 1].astype(float))).splitlines()[0].endswith(": 0.000 (4 samples)")


@pytest.mark.parametrize(
    "params",
    [
        {"tree": 5},
        {"tree": -6},
        {"tree": "0"},
        {"decimals": -1},
        {"decimals": 1.5},
        {"max_depth": -1},
        {"top_k": 0},
        {"top_k": None},
        {"feature_names": ["a"]},
        {"feature_names": "abcdefghijkl"},
        {"class_names": ["a"]},
    ],
)
def test_bad_parameters_of_rules(params):
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    with pytest.raises(ValueError, match=next(iter(params))):
        export_rules(model, **params)


@pytest.mark.parametrize("name", [*ALL, *BOOSTING])
def test_rules_of_models_that_have_none(name):
    if name not in BOOSTING:
        with pytest.raises(ValueError, match="not fitted"):
            export_rules(make(name))
        return
    X, y = make_data(name)
    for model in (make(name), make(name).fit(X, y)):
        with pytest.raises(TypeError, match="estimator must be a tree or forest"):
            export_rules(model)


def test_messages_name_the_validation_samples():
    X, y = make_data("DecisionTreeRegressor")
    tree = make("DecisionTreeRegressor").fit(pd.DataFrame(X).add_prefix("x"), y)
    for X_val, y_val, message in [
        (X[:, 1:], y, f"X_val has {X.shape[1] - 1} features"),
        (np.full(X.shape, np.inf), y, "Input X_val contains infinity"),
        (X[:0], y[:0], "X_val: Found array with 0 sample"),
        ([["a"] * X.shape[1]], y[:1], "X_val must have numbers in feature 0"),
        (pd.DataFrame(X).add_prefix("z"), y, "X_val: The feature names should match"),
        (X, y[:3], f"X_val has {len(X)} rows, y_val has 3"),
        (X, np.column_stack([y, y]), "y_val must have 1 outputs, as in the fit, got 2"),
        (X, np.full(len(y), np.nan), "y_val contains NaN"),
    ]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            with pytest.raises(ValueError, match=message):
                tree.prune_reduced_error(X_val, y_val)
