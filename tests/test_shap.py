"""Shapley values are compared with their definition, their axioms, and shap if it is installed."""

from __future__ import annotations

import math
import sys
import types
from itertools import combinations

import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, LABEL_TREES, make, make_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from weald.inspection import shap_interaction_values, shap_values

# Importing shap gives warnings about features that its own dependencies will remove.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# Both sides are sums of some thousands of rounded terms of the size of the scores.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def scores(model, X):
    """The scores to which Shapley values add up, of shape (n_samples, n_scores)."""
    if isinstance(model, weald.GradientBoostingRegressor):
        found = model.predict(X) if model.loss not in ("poisson", "gamma", "tweedie") else np.log(model.predict(X))
    elif type(model).__name__ in (*BOOSTING, *COMPRESSED) and hasattr(model, "decision_function"):
        found = model.decision_function(X)
    else:
        found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    if isinstance(found, list):
        found = np.column_stack(found)
    found = found.toarray() if sparse.issparse(found) else found
    return np.asarray(found).reshape(len(found), -1)


def sums(found):
    """The base values plus the values of all features, of shape (n_samples, n_scores)."""
    if sparse.issparse(found.values):
        return (found.base_values + found.values.sum(axis=1))[:, np.newaxis]
    if isinstance(found.values, list):
        return found.base_values + np.column_stack([part.sum(axis=1) for part in found.values])
    added = found.base_values + found.values.sum(axis=1)
    return added.reshape(len(added), -1)


def told(tree, value, row, known):
    """The mean prediction of a tree for a sample of which only some features are known, node by node."""

    def mean(node):
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return value[node]
        feature = int(tree.feature[node])
        if feature in known:
            x = row[feature]
            if np.isnan(x):
                goes_left = bool(tree.missing_go_to_left[node])
            elif np.isnan(tree.threshold[node]):
                goes_left = int(x) in tree.categories_left(node)
            else:
                goes_left = np.float32(x) <= tree.threshold[node]
            return mean(left if goes_left else right)
        weight = tree.weighted_n_node_samples
        share = weight[left] / (weight[left] + weight[right])
        return share * mean(left) + (1 - share) * mean(right)

    return mean(0)


def by_definition(worth, p):
    """Shapley values of a game in which the features are the players."""
    found = []
    for j in range(p):
        others = [k for k in range(p) if k != j]
        value = 0.0
        for size in range(p):
            orders = math.factorial(size) * math.factorial(p - size - 1) / math.factorial(p)
            for known in combinations(others, size):
                value = value + orders * (worth({*known, j}) - worth(set(known)))
        found.append(value)
    return np.array(found)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 4), depth=st.integers(1, 6), gaps=st.booleans(), sets=st.booleans())
def test_values_of_a_tree_are_those_of_the_definition(seed, p, depth, gaps, sets):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, p)).astype(float)
    y = rng.normal(size=40) + X @ rng.normal(size=p)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    weights = rng.integers(0, 3, 40).astype(float)
    weights[0] = 1
    params = {"categorical_features": [0]} if sets else {}
    model = weald.DecisionTreeRegressor(max_depth=depth, random_state=0, **params).fit(X, y, sample_weight=weights)
    value = model.tree_.value[:, 0, 0]
    found = shap_values(model, X[:4])
    assert found.values.shape == (4, p)
    for row, values in zip(X[:4], found.values, strict=True):
        expected = by_definition(lambda known, row=row: told(model.tree_, value, row, known), p)
        np.testing.assert_allclose(values, expected, **CLOSE)
    background = X[4:9]
    against = shap_values(model, X[:4], background=background)
    for row, values in zip(X[:4], against.values, strict=True):

        def worth(known, row=row):
            mixed = background.copy()
            mixed[:, list(known)] = row[list(known)]
            return model.predict(mixed).mean()

        np.testing.assert_allclose(values, by_definition(worth, p), **CLOSE)
    np.testing.assert_allclose(sums(against)[:, 0], model.predict(X[:4]), **CLOSE)


def every_model():
    for name in (*ALL, *BOOSTING, *COMPRESSED):
        kinds = ["single", "several"] if name.endswith("Regressor") else ["single", "several", "labels"]
        for outputs in kinds:
            yield pytest.param(name, outputs, id=f"{name}-{outputs}")


@pytest.mark.parametrize(("name", "outputs"), list(every_model()))
def test_values_add_up_in_every_model_and_layout(name, outputs):
    X, y = make_data(name, outputs=outputs)
    model = make(name).fit(X, y)
    few = X[:11]
    expected = scores(model, few)
    found = shap_values(model, few)
    np.testing.assert_allclose(sums(found), expected, **CLOSE)
    several = expected.shape[1] > 1
    assert np.ndim(found.values) == (3 if several else 2)
    against = shap_values(model, few, background=X[20:25])
    np.testing.assert_allclose(sums(against), expected, **CLOSE)
    base = scores(model, X[20:25]).mean(axis=0)
    np.testing.assert_allclose(np.reshape(against.base_values[0], -1), base, **CLOSE)
    for game, values in ((None, found.values), (X[20:25], against.values)):
        for form in (sparse.csr_array, sparse.csc_matrix):
            parts = shap_values(model, form(few), background=None if game is None else form(game))
            np.testing.assert_allclose(sums(parts), expected, **CLOSE)
            for o, part in enumerate(parts.values if several else [parts.values]):
                assert part.has_canonical_format
                np.testing.assert_array_equal(part.toarray(), values[:, :, o] if several else values)
    for n_jobs in (1, 3):
        if "n_jobs" in model.get_params():
            again = shap_values(model.set_params(n_jobs=n_jobs), np.asfortranarray(few))
            np.testing.assert_array_equal(again.values, found.values)


@pytest.mark.parametrize("strategy", ["joint", "single_target", "projected"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_boosting_of_every_strategy_adds_up(strategy, loss):
    X, y = make_data("Regressor", outputs="several")
    y = np.abs(y) if loss == "poisson" else y
    low_rank = weald.projection.Projected(relabel_leaves=False)
    params = {"output_strategy": low_rank if strategy == "projected" else strategy, "loss": loss}
    model = weald.GradientBoostingRegressor(n_estimators=6, random_state=0, **params).fit(X, y)
    found = shap_values(model, X)
    np.testing.assert_allclose(sums(found), scores(model, X), **CLOSE)
    # The base values are path-dependent means for a sample without known features: one for each output.
    mean = weald.inspection.partial_dependence(model, X, [0], grid_resolution=2)
    assert mean["average"].shape[0] == found.base_values.shape[1]


def test_features_that_no_tree_tests_have_no_value():
    X, y = make_data("RandomForestRegressor")
    X[:, 3] = 1.0
    model = make("RandomForestRegressor").fit(X, y)
    assert (shap_values(model, X).values[:, 3] == 0).all()
    assert shap_values(model, sparse.csr_array(X)).values[:, [3]].nnz == 0
    assert (shap_interaction_values(model, X[:5])[:, 3] == 0).all()


def test_features_that_do_the_same_have_the_same_value():
    X = np.array([[a, b, c] for a in (0.0, 1) for b in (0.0, 1) for c in (0.0, 1)])
    # Whichever of the first two features is tested first, both have the same effect.
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    values = shap_values(model, X[[0, 7]]).values
    np.testing.assert_allclose(values[:, 0], values[:, 1], **CLOSE)
    assert (values[:, 2] == 0).all()
    values = shap_values(model, X[[0, 7]], background=X).values
    np.testing.assert_allclose(values[:, 0], values[:, 1], **CLOSE)


def test_values_of_a_forest_are_the_means_of_its_trees():
    X, y = make_data("ExtraTreesRegressor", outputs="several")
    model = make("ExtraTreesRegressor").fit(X, y)
    for background in (None, X[:3]):
        members = [shap_values(member, X, background=background) for member in model]
        found = shap_values(model, X, background=background)
        np.testing.assert_allclose(found.values, np.mean([m.values for m in members], axis=0), **CLOSE)
        np.testing.assert_allclose(found.base_values, np.mean([m.base_values for m in members], axis=0), **CLOSE)


def test_interactions_are_symmetric_and_sum_to_the_values():
    X, y = make_data("RandomForestClassifier", outputs="labels")
    model = make("RandomForestClassifier").fit(X, y)
    for output in (0, "y2"):
        found = shap_interaction_values(model, X[:9], output)
        np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
        np.testing.assert_allclose(found.sum(axis=2), shap_values(model, X[:9], output).values, **CLOSE)
        np.testing.assert_array_equal(shap_interaction_values(model, sparse.csr_array(X[:9]), output), found)
        against = shap_interaction_values(model, X[:9], output, background=X[20:27])
        assert not np.allclose(against, found, rtol=1e-3, atol=1e-6)
        np.testing.assert_array_equal(against, against.transpose(0, 2, 1))
        values = shap_values(model, X[:9], output, background=X[20:27]).values
        np.testing.assert_allclose(against.sum(axis=2), values, **CLOSE)
        parts = [sparse.csr_array(part) for part in (X[:9], X[20:27])]
        np.testing.assert_array_equal(shap_interaction_values(model, parts[0], output, background=parts[1]), against)


def interactions_by_definition(worth, p):
    """Interactions of pairs of players; the diagonal has the remainder of the Shapley values."""
    found = np.zeros((p, p))
    for i, j in combinations(range(p), 2):
        others = [k for k in range(p) if k not in (i, j)]
        for size in range(p - 1):
            orders = math.factorial(size) * math.factorial(p - size - 2) / (2 * math.factorial(p - 1))
            for known in combinations(others, size):
                both, one, other = worth({*known, i, j}), worth({*known, i}), worth({*known, j})
                found[i, j] += orders * (both - one - other + worth(set(known)))
        found[j, i] = found[i, j]
    return found + np.diag(by_definition(worth, p) - found.sum(axis=1))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 4), n_background=st.integers(1, 90), sets=st.booleans())
def test_interactions_with_a_background_are_those_of_the_definition(seed, p, n_background, sets):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40 + n_background, p)).astype(float)
    y = rng.normal(size=len(X)) + X @ rng.normal(size=p)
    X[rng.random(X.shape) < 0.2] = np.nan
    params = {"categorical_features": [0]} if sets else {}
    model = weald.DecisionTreeRegressor(max_depth=5, random_state=0, **params).fit(X, y)
    background = X[40:]
    found = shap_interaction_values(model, X[:3], background=background)
    values = shap_values(model, X[:3], background=background).values
    for row, pairs, value in zip(X[:3], found, values, strict=True):

        def worth(known, row=row):
            mixed = background.copy()
            mixed[:, list(known)] = row[list(known)]
            return model.predict(mixed).mean()

        np.testing.assert_allclose(pairs, interactions_by_definition(worth, p), **CLOSE)
        np.testing.assert_allclose(value, by_definition(worth, p), **CLOSE)


@pytest.mark.parametrize("depth", [3, 12])
def test_values_against_a_large_background_do_not_depend_on_the_number_of_samples(depth):
    # For many samples the engine sums over sets of features, for few over the pairs of samples; both give the same
    # integers.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6))
    model = weald.RandomForestRegressor(4, max_depth=depth, random_state=0).fit(X, np.sin(X[:, 0]) * X[:, 1] + X[:, 2])
    background = X[:300]
    found = shap_values(model, X, background=background)
    np.testing.assert_allclose(sums(found)[:, 0], model.predict(X), **CLOSE)
    for at in (0, 7, 700):
        one = shap_values(model, X[at : at + 1], background=background).values
        np.testing.assert_array_equal(one[0], found.values[at])
    again = shap_values(model.set_params(n_jobs=2), sparse.csr_array(X[:77]), background=background)
    np.testing.assert_array_equal(again.values.toarray(), found.values[:77])


def test_values_add_up_three_hundred_splits_deep():
    # Each sample but the last has a feature of its own, so that every split separates one sample from all others.
    p = 300
    X = np.vstack([np.eye(p), np.zeros(p)])
    y = np.random.default_rng(0).random(p + 1)
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, y)
    assert model.get_depth() == p
    rng = np.random.default_rng(0)
    X = np.vstack([X, rng.integers(0, 2, (100, p))])
    for background in (None, X[:5]):
        found = shap_values(model, X, background=background)
        np.testing.assert_allclose(sums(found)[:, 0], model.predict(X), rtol=0, atol=1e-9)
        # The effect of a feature, in whatever order, is at most the difference of the largest and the smallest target.
        assert np.abs(found.values).max() <= 1


def test_chosen_outputs_are_those_of_all():
    X, y = make_data("RandomForestRegressor", outputs="several")
    y = np.hstack([y, y**2, -y])
    model = make("RandomForestRegressor").fit(X, y)
    found = shap_values(model, X)
    assert found.values.shape == (len(X), X.shape[1], 9)
    assert list(found.output_names) == [f"y{j}" for j in range(9)]
    for outputs in ([4], [8, 0], ["y3", 1, np.int64(2), 5, 7], []):
        some = shap_values(model, X, outputs)
        numbers = [int(str(of).removeprefix("y")) for of in outputs]
        np.testing.assert_allclose(some.values, found.values[:, :, numbers], **CLOSE)
        np.testing.assert_array_equal(some.base_values, found.base_values[:, numbers])
        parts = shap_values(model, sparse.csr_array(X), outputs)
        assert isinstance(parts.values, list)
        assert len(parts.values) == len(outputs)
    one = shap_values(model, X, 3)
    assert (one.values.shape, one.base_values.shape, one.output_names) == (X.shape, (len(X),), None)
    np.testing.assert_array_equal(one.values, shap_values(model, X, "y3").values)


def test_names_are_those_of_the_fit():
    pd = pytest.importorskip("pandas")
    X, y = make_data("RandomForestClassifier")
    X = pd.DataFrame(X, columns=[f"word {j}" for j in range(X.shape[1])])
    model = make("RandomForestClassifier").fit(X, y)
    found = shap_values(model, X)
    assert list(found.feature_names) == list(X.columns)
    assert list(found.output_names) == ["a", "b", "c"]
    np.testing.assert_array_equal(found.data, X.to_numpy())
    np.testing.assert_allclose(shap_values(model, X, "b").values, found.values[:, :, 1], **CLOSE)
    pairs = make("RandomForestClassifier").fit(X, pd.DataFrame({"size": y, "shape": y}))
    assert list(shap_values(pairs, X).output_names)[:2] == ["size=a", "size=b"]
    two = make("GradientBoostingClassifier").fit(X, np.where(y == "a", "yes", "no"))
    np.testing.assert_allclose(sums(shap_values(two, X, "yes"))[:, 0], two.decision_function(X), **CLOSE)


def test_bad_input_is_named_and_nothing_is_lost():
    X, y = make_data("RandomForestRegressor", outputs="several")
    model = make("RandomForestRegressor").fit(X, y)
    before = dict(model.__dict__)

    def refused(error, message, *args, **options):
        with pytest.raises(error, match=message):
            shap_values(model, *args, **options)

    refused(ValueError, "X has 5 features, but RandomForestRegressor is expecting 12", X[:, :5])
    refused(ValueError, "background has 5 features", X, background=X[:, :5])
    refused(ValueError, "background.* 0 sample", X, background=X[:0])
    refused(ValueError, "background.*infinity", X, background=np.full((2, 12), np.inf))
    refused(TypeError, "background must be an array, a sparse matrix.* got 3", X, background=3)
    refused(ValueError, r"outputs must be columns of scores, each an integer from 0 to 2 or a name.*got 3", X, [3])
    refused(ValueError, "outputs must be .*got -1", X, -1)
    refused(ValueError, "outputs must be .*got True", X, [True])
    refused(ValueError, "outputs must be .*got 'y9'", X, "y9")
    refused(ValueError, "outputs must be distinct.*got 'y1' twice", X, [1, "y1"])
    refused(TypeError, "outputs must be .*got 1.5", X, 1.5)
    with pytest.raises(ValueError, match="output must be one of the 3 scores of the model, got None"):
        shap_interaction_values(model, X)
    with pytest.raises(TypeError, match=r"output must be an integer or a name, got \[0, 1\]"):
        shap_interaction_values(model, X, [0, 1])
    with pytest.raises(ValueError, match=r"background has 5 features"):
        shap_interaction_values(model, X, 0, background=X[:, :5])
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)
    with pytest.raises(TypeError, match="estimator must be a fitted estimator of weald, got a list"):
        shap_values([model], X)


@pytest.mark.parametrize("name", CENTROIDS + LABEL_TREES)
def test_models_whose_nodes_test_no_feature_are_refused(name):
    X, y = make_data(name)
    model = make(name).fit(np.abs(X), y)
    for explain in (shap_values, shap_interaction_values):
        with pytest.raises(TypeError, match="estimator must have nodes that test single features"):
            explain(model, X)


def test_weak_models_that_are_no_trees_are_refused():
    from sklearn.linear_model import Ridge

    X, y = make_data("GradientBoostingRegressor")
    model = weald.GradientBoostingRegressor(n_estimators=2, estimator=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="with estimator=, which has none"):
        shap_values(model, X)


# --- weights of features ----------------------------------------------------------------------------------------------


def with_weights(kind, seed=0):
    """A linear model or boosting from one, its linear model, counts of five words, and what is added to its weights."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.9, (90, 5)).astype(float)
    scores = X @ rng.normal(size=(5, 3)) + X[:, :1] * X[:, 1:2] + rng.normal(size=(90, 3))
    Y = (scores > np.median(scores, axis=0)).astype(int)
    if kind.startswith("start"):
        y = Y[:, 0] if kind.endswith("two classes") else Y
        loss = "exponential" if "exponential" in kind else "log_loss"
        model = weald.GradientBoostingClassifier(init="linear", n_estimators=4, random_state=0, loss=loss).fit(X, y)
        return model, model._init, X, lambda Z: model._model.predict_scores(np.float32(Z)) * model._unit()
    y = Y[:, 0] + Y[:, 1] if kind.endswith("classes") else Y
    model = weald.LinearClassifier(features=kind.split()[0], random_state=0).fit(X, y)
    return model, model, X, lambda Z: np.zeros((len(Z), 3))


KINDS = [
    "given",
    "normalized",
    "tfidf",
    "standardized",
    "tfidf classes",
    "start",
    "start two classes",
    "start exponential",
]
# Prepared features are multiples of 2^-24 in the model.
ROUNDED = {"rtol": 1e-6, "atol": 1e-6}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_weights_and_of_trees_on_top_are_those_of_the_definition(kind):
    from test_linear import prepared

    model, linear, X, of_trees = with_weights(kind)
    # The exponential loss has half the log-odds as its scores.
    unit = 0.5 if "exponential" in kind else 1.0
    coef = linear.coef_.toarray().T * unit
    background, rows = X[50:57], X[:3]
    found, pairs = (
        shap_values(model, rows, background=background),
        shap_interaction_values(model, rows, 0, background=background),
    )
    values = found.values.reshape(3, 5, -1)
    far, near = prepared(linear, background), prepared(linear, rows)
    for i in range(3):

        def worth(known, i=i):
            mixed, mixed_prepared = background.copy(), far.copy()
            mixed[:, list(known)], mixed_prepared[:, list(known)] = rows[i, list(known)], near[i, list(known)]
            return (of_trees(mixed) + mixed_prepared @ coef + linear.intercept_ * unit).mean(axis=0)

        np.testing.assert_allclose(values[i], by_definition(worth, 5), **ROUNDED)
        np.testing.assert_allclose(
            pairs[i], interactions_by_definition(lambda known, of=worth: of(known)[0], 5), **ROUNDED
        )
        np.testing.assert_allclose(pairs[i].sum(axis=1), values[i, :, 0], **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_weights_add_up_to_decisions_in_every_layout(kind):
    model, _, X, _ = with_weights(kind)
    for background in (X[20:60], sparse.csr_array((1, 5))):
        dense = shap_values(model, X[:9], background=background)
        decisions = model.decision_function(X[:9]).reshape(9, -1)
        np.testing.assert_allclose(sums(dense), decisions, **ROUNDED)
        expected = model.decision_function(background).reshape(background.shape[0], -1).mean(axis=0)
        np.testing.assert_allclose(np.atleast_2d(dense.base_values[0])[0], expected, **ROUNDED)
        for layout in (sparse.csr_array, sparse.csc_matrix):
            of_sparse = shap_values(model, layout(X[:9]), background=background)
            parts = of_sparse.values if isinstance(of_sparse.values, list) else [of_sparse.values]
            np.testing.assert_allclose(
                np.stack([part.toarray() for part in parts], axis=-1), dense.values.reshape(9, 5, -1), **CLOSE
            )
            one = shap_values(model, layout(X[:9]), outputs=0, background=background)
            np.testing.assert_array_equal(one.values.toarray(), parts[0].toarray())
    # Compared to a text without words, other words have no value by weights.
    if not kind.startswith("start"):
        words = shap_values(model, sparse.csr_array(X[:9]), outputs=0, background=sparse.csr_array((1, 5))).values
        assert not (words.toarray()[X[:9] == 0] != 0).any()


def test_weights_need_a_background_and_finite_samples():
    for kind in ("given", "start"):
        model, _, X, _ = with_weights(kind)
        for explain in (shap_values, lambda of, rows, **given: shap_interaction_values(of, rows, 0, **given)):
            with pytest.raises(
                ValueError, match=r"background must be samples for a .* with weights of features.*got None"
            ):
                explain(model, X[:2])
            for samples, background in ((X[:2] * np.nan, X), (X[:2], X * np.nan)):
                with pytest.raises(ValueError, match="NaN"):
                    explain(model, samples, background=background)


def test_a_start_from_logarithms_of_probabilities_leaves_the_trees():
    X = with_weights("start")[2]
    classes = weald.GradientBoostingClassifier(init="linear", output_strategy="joint", n_estimators=3, random_state=0)
    classes.fit(X, np.arange(90) % 3)
    for background in (None, X[:9]):
        found = shap_values(classes, X[:5], background=background)
        of_trees = classes._model.predict_scores(np.float32(X[:5]))
        np.testing.assert_allclose(sums(found), of_trees, **CLOSE)


def test_values_are_of_the_type_of_shap_where_it_is_installed(monkeypatch):
    class Theirs:
        def __init__(self, values, **parts):
            self.values, self.parts = values, parts

    module = types.ModuleType("shap")
    module.Explanation = Theirs
    monkeypatch.setitem(sys.modules, "shap", module)
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, y)
    found = shap_values(model, X)
    assert isinstance(found, Theirs)
    assert found.parts.keys() == {"base_values", "data", "feature_names", "output_names"}
    assert found.parts["base_values"].flags.writeable
    # The explanations of shap do not support sparse values.
    assert isinstance(shap_values(model, sparse.csr_array(X)), weald.inspection.Explanation)
    monkeypatch.setitem(sys.modules, "shap", None)
    assert isinstance(shap_values(model, X), weald.inspection.Explanation)


# shap requires numba and llvmlite, which take 200 MB: the tests do not require it and use the definition above.
def as_shap_takes_it(model):
    members = list(getattr(model, "estimators_", [model]))
    return {
        "trees": [
            {
                "children_left": tree.children_left,
                "children_right": tree.children_right,
                "children_default": tree.children_right,
                "features": tree.feature,
                "thresholds": tree.threshold,
                "values": tree.value[:, :, -1] / len(members),
                "node_sample_weight": tree.weighted_n_node_samples.copy(),
            }
            for tree in (member.tree_ for member in members)
        ]
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outputs", ["single", "several"])
def test_values_are_those_of_shap(outputs):
    shap = pytest.importorskip("shap", reason="shap is not installed: it brings numba along")
    X, y = make_data("RandomForestRegressor", outputs=outputs)
    X = X.astype(np.float32).astype(np.float64)
    model = make("RandomForestRegressor", max_depth=6).fit(X, y)
    for background, game in ((None, "tree_path_dependent"), (X[:7], "interventional")):
        explainer = shap.TreeExplainer(as_shap_takes_it(model), background, feature_perturbation=game)
        expected = np.asarray(explainer.shap_values(X, check_additivity=False))
        found = shap_values(model, X, background=background)
        # shap adds up the terms in a different order, and in float32 if there is a background.
        close = 1e-9 if background is None else 1e-5
        np.testing.assert_allclose(found.values, expected.reshape(found.values.shape), rtol=close, atol=close)
    assert isinstance(found, shap.Explanation)
    assert shap.Explanation(found).values.shape == found.values.shape
    if outputs == "single":
        explainer = shap.TreeExplainer(as_shap_takes_it(model), feature_perturbation="tree_path_dependent")
        expected = explainer.shap_interaction_values(X[:9])
        np.testing.assert_allclose(shap_interaction_values(model, X[:9]), expected, rtol=1e-7, atol=1e-9)


def test_values_that_memory_cannot_hold_are_an_error_that_says_what_to_do():
    X = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [5, 5, 5])), shape=(4, 2**22))
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, np.arange(4.0))
    # Each sample would have 2**44 values, which is more than can be addressed.
    with pytest.raises(MemoryError, match="Shapley values; explain fewer samples at a time, or only some outputs"):
        shap_interaction_values(model, X)
    assert shap_values(model, X).values.shape == X.shape
