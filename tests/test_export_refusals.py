"""Models that exporters do not support, and the messages of their errors; the public values of leaves."""

from __future__ import annotations

import builtins
import pickle

import exports
import numpy as np
import pytest
import sklearn.ensemble
import weald
from conftest import ALL, LABEL_TREES, LINEAR, make, make_data
from exports import CASES, fitted
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weald import export
from weald.export import _ensemble as __ensemble
from weald.multilabel import TunedThresholds

EXPORTERS = [export.to_json, export.to_c, export.to_onnx, export.to_treelite, export.to_sklearn]


@pytest.fixture(params=EXPORTERS, ids=lambda exporter: exporter.__name__)
def exporter(request):
    return request.param


def test_the_public_names():
    assert {name for name in export.__all__ if name.startswith("to_")} == {one.__name__ for one in EXPORTERS}


def test_models_that_are_not_fitted(exporter):
    for name in [
        *ALL,
        "GradientBoostingClassifier",
        "CompressedForestRegressor",
        "CentroidForestClassifier",
        *LINEAR,
        *LABEL_TREES,
    ]:
        with pytest.raises(NotFittedError):
            exporter(make(name))


def test_what_is_no_model_of_weald(exporter):
    X, y = make_data("RandomForestClassifier", outputs="labels")
    tuned = TunedThresholds(weald.RandomForestClassifier(n_estimators=3), cv=2).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), weald.ExtraTreesClassifier(n_estimators=2)).fit(X, y)
    theirs = sklearn.ensemble.RandomForestClassifier(n_estimators=2).fit(X, y)
    forest = weald.RandomForestClassifier(n_estimators=2).fit(X, y)
    numbers = weald.RandomForestRegressor(n_estimators=2)
    for model, message in [
        (None, "estimator is a NoneType"),
        (theirs, "takes fitted trees, forests, boosted and compressed models of weald"),
        (
            weald.RandomForestClassifier,
            "estimator is the class RandomForestClassifier.*pass an instance, after its fit",
        ),
        (GridSearchCV(numbers, {"max_depth": [1]}, cv=2).fit(X, y[:, 0]), "export its best_estimator_"),
        (FrozenEstimator(forest), "export the fitted estimator that it is made of"),
        (MultiOutputRegressor(numbers).fit(X, y), "export each of its estimators_"),
        (TransformedTargetRegressor(numbers).fit(X, y[:, 0]), "export its regressor_"),
        (weald.Predictor(forest), "estimator is a Predictor, but"),
        (tuned, "export its estimator_"),
        (pipeline, "export the last step"),
    ]:
        with pytest.raises(TypeError, match=message):
            exporter(model)


def test_models_that_no_format_expresses(exporter):
    X, y = make_data("RandomForestClassifier", outputs="labels")
    if exporter not in (export.to_json, export.to_c):
        centroid = make("CentroidForestClassifier").fit(sparse.csr_array(np.abs(X)), y)
        message = rf"{exporter.__name__} does not support CentroidForestClassifier.*use to_json or to_c, or weald.save"
        with pytest.raises(ValueError, match=message):
            exporter(centroid)
        tree = make(*LABEL_TREES).fit(X, y)
        message = "does not support LinearClassifier: trees of labels have a linear model .*use to_json or to_c, or weald.save"
        with pytest.raises(ValueError, match=message):
            exporter(tree)
    if exporter in (export.to_treelite, export.to_sklearn):
        linear = make("LinearClassifier").fit(X, y)
        with pytest.raises(
            ValueError, match=r"does not support LinearClassifier: it has weights.*use to_json, to_c or"
        ):
            exporter(linear)
    X, y = make_data("GradientBoostingRegressor")
    weak = make("GradientBoostingRegressor", estimator=Ridge(), output_strategy="joint").fit(X, y)
    with pytest.raises(ValueError, match=r"does not support GradientBoostingRegressor with estimator=.*pickle it"):
        exporter(weak)
    X, y = make_data("GradientBoostingClassifier")
    started = make("GradientBoostingClassifier", init=LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match=r"with init=.*LogisticRegression"):
        exporter(started)


@pytest.mark.parametrize(("function", "package"), [(export.to_onnx, "onnx"), (export.to_treelite, "treelite")])
def test_the_extra_is_named_where_it_is_not_installed(function, package, monkeypatch):
    find = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return find(name, *arguments, **options)

    model, _ = fitted("DecisionTreeRegressor-single-missing")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=f"needs the package {package}: pip install {package}"):
        function(model)


class OfAUser(weald.ExtraTreesRegressor):
    """A class derived from one of weald's."""


def test_classes_that_are_derived(exporter):
    X, y = make_data("ExtraTreesRegressor")
    model = OfAUser(n_estimators=2, random_state=0).fit(X, y)
    ours = weald.ExtraTreesRegressor(n_estimators=2, random_state=0).fit(X, y)
    one, other = exporter(model), exporter(ours)
    assert type(one) is type(other)
    if isinstance(one, str):
        assert one == other


def test_models_stay_as_they_are(exporter):
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    before, state = model.predict_proba(X), dict(model.__dict__)
    exporter(model)
    assert model.__dict__ == state
    np.testing.assert_array_equal(model.predict_proba(X), before)


def as_bytes(exported):
    for name in ("SerializeToString", "serialize_bytes"):
        if hasattr(exported, name):
            return getattr(exported, name)()
    return exported.encode() if isinstance(exported, str) else pickle.dumps(exported)


def test_exporting_twice_gives_the_same_bytes(exporter):
    for seed in range(0, exports.N_RANDOM, 3):
        model, _ = exports.random_model(seed)
        try:
            found = as_bytes(exporter(model))
        except (TypeError, ValueError):
            continue  # other tests look at what is refused
        assert found == as_bytes(exporter(model))
        # In pickles, objects that are shared are written once.
        if exporter is not export.to_sklearn:
            assert found == as_bytes(exporter(pickle.loads(pickle.dumps(model))))


@pytest.mark.parametrize("case", CASES)
def test_leaf_values_are_what_leaves_add(case):
    model, X = fitted(case)
    forest = model._forest
    start = model.start_ if isinstance(model._engine, weald._weald.Boosted) else 0.0
    scores = np.zeros_like(exports.scores_of(model, X)) + start
    for t in range(forest.n_trees):
        tree = weald._fit.arrays.Tree(forest.only(t))
        has_columns = exports.has_columns(model)
        assert tree.leaf_values.shape == (tree.node_count, 1 if has_columns else forest.width)
        assert tree.leaf_values.has_canonical_format
        assert (tree.leaf_values.data != 0).all()
        assert not np.diff(tree.leaf_values.indptr)[tree.children_left >= 0].any()
        added = tree.leaf_values[tree.apply(X)].toarray()
        if isinstance(model._engine, weald._weald.Boosted) and model._model.term == "rank_one":
            scores += added * (model.learning_rate_ * model.step_sizes_[t])
        elif has_columns:
            scores[:, [t % scores.shape[1]]] += added
        else:
            scores += added
    np.testing.assert_array_equal(
        scores / (1 if isinstance(model._engine, weald._weald.Boosted) else forest.n_trees_of_an_output),
        exports.scores_of(model, X),
    )


def test_leaf_values_are_those_of_value():
    model, _ = fitted("RandomForestClassifier-several-missing")
    tree = model.estimators_[0].tree_
    leaves = tree.children_left < 0
    assert tree.leaf_values is tree.leaf_values
    assert not tree.leaf_values.data.flags.writeable
    # The first output has three classes, and the second one has two.
    dense = tree.leaf_values.toarray()[leaves]
    np.testing.assert_array_equal(dense, np.hstack([tree.value[leaves, 0], tree.value[leaves, 1, :2]]))


def test_a_tree_for_each_column_adds_the_same():
    for case in [
        "RandomForestClassifier-wide-missing",
        "ExtraTreesRegressor-several-categories",
        "RandomForestRegressor-sparse numbers-missing",
    ]:
        model, X = fitted(case)
        ensemble = __ensemble.ensemble_of(model, "test")
        for tree in ensemble.trees():
            whole, parts = np.zeros((len(X), ensemble.n_scores)), np.zeros((len(X), ensemble.n_scores))
            exports.add_leaves(tree, X, whole)
            for one in __ensemble.by_column(tree):
                exports.add_leaves(one, X, parts)
                assert (one.feature >= 0).sum() + 1 == (one.feature < 0).sum()
            np.testing.assert_array_equal(parts, whole)
