"""The strategies of linear models: which one "auto" is, which parameters each has, and what is around the choice."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import weald
from conftest import check_refused, model_bytes
from scipy import sparse
from sklearn.base import clone
from weald import distribute, linear
from weald.multilabel import TunedThresholds

RNG = np.random.default_rng(4)
X = sparse.csr_array(RNG.poisson(0.3, size=(120, 20)))
LABELS = (X @ (RNG.random((20, 12)) < 0.2) > 2).astype(np.int8)
CLASSES = np.array(list("abc"))[X[:, [0]].toarray().ravel().astype(int) % 3]
AUTO = weald.LinearClassifier(random_state=0)
TREE, ONE_VS_REST = (weald.LinearClassifier(strategy=strategy, random_state=0) for strategy in ("tree", "one_vs_rest"))


@pytest.fixture
def many(monkeypatch):
    """Twelve labels are many, and eleven are not."""
    monkeypatch.setattr(linear, "MANY_LABELS", 11)


def fitted(model, y=LABELS, **fit):
    return clone(model).fit(X, y, **fit)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_auto_is_the_tree_for_many_labels(container):
    found = fitted(AUTO, container(LABELS))
    assert (found.strategy_, found.C_) == ("tree", 0.2)
    assert model_bytes(found) == model_bytes(fitted(TREE, container(LABELS)))
    few = fitted(AUTO, container(LABELS[:, :11]))
    assert few.strategy_ == "one_vs_rest"
    assert model_bytes(few) == model_bytes(fitted(ONE_VS_REST, container(LABELS[:, :11])))
    again = weald.loads(weald.dumps(found))
    assert again.strategy_ == "tree"
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))


def test_small_sets_of_labels_and_classes_are_fitted_one_against_the_rest(monkeypatch):
    assert linear.MANY_LABELS == 20_000
    assert fitted(AUTO).strategy_ == "one_vs_rest"
    monkeypatch.setattr(linear, "MANY_LABELS", 1)
    for y in (CLASSES, np.column_stack([CLASSES, CLASSES])):
        assert fitted(AUTO, y).strategy_ == "one_vs_rest"


@pytest.mark.usefixtures("many")
def test_what_is_around_a_model_knows_the_strategy():
    tuned = {name: TunedThresholds(clone(model), random_state=0) for name, model in (("auto", AUTO), ("tree", TREE))}
    Y = sparse.csr_array(LABELS)
    scores = [tuned[name].fit(X, Y).predict(X).toarray() for name in ("auto", "tree")]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="cv='oob' requires strategy='one_vs_rest'"):
        TunedThresholds(clone(AUTO), cv="oob").fit(X, Y)
    few = Y[:, :5]
    assert TunedThresholds(clone(AUTO), cv="oob", random_state=0).fit(X, few).estimator_.strategy_ == "one_vs_rest"
    model = clone(AUTO)
    assert weald.estimate_fit_memory(model, X, Y) == weald.estimate_fit_memory(clone(TREE), X, Y)
    assert weald.estimate_fit_memory(model, X, few) == weald.estimate_fit_memory(clone(ONE_VS_REST), X, few)
    with ThreadPoolExecutor(2) as executor:
        assert weald.dumps(distribute.fit(model, X, Y, executor)) == weald.dumps(fitted(AUTO, Y))


@pytest.mark.parametrize(
    ("strategy", "params", "message"),
    [
        ("tree", {"loss": "log_loss"}, "loss must be 'auto', since it has no effect with strategy='tree'"),
        (
            "tree",
            {"calibrate": False},
            "calibrate must be True, since it has no effect with strategy='tree', got False",
        ),
        ("tree", {"features": "standardized"}, "features must be 'auto', 'given', 'normalized' or 'tfidf' with"),
        ("one_vs_rest", {"n_estimators": 2}, "n_estimators must be 1, since it has no effect with"),
        ("one_vs_rest", {"max_children": 2}, "max_children must be 100"),
        ("one_vs_rest", {"max_leaf_labels": 2}, "max_leaf_labels must be 400"),
        ("auto", {"beam_width": 2}, "strategy='one_vs_rest', which \"auto\" is for no more than 20000 labels, got 2"),
    ],
)
def test_parameters_without_effect_are_refused(strategy, params, message):
    model = fitted(AUTO).set_params(strategy=strategy, **params)
    check_refused(model, ValueError, re.escape(message), X, LABELS)
    # A default never is.
    name = next(iter(params))
    default = AUTO.get_params()[name]
    fitted(model.set_params(**{name: default}))


def test_the_page_has_the_table_of_parameters():
    page = (Path(__file__).parents[1] / "docs" / "linear.md").read_text()
    for strategy, names in linear.ONLY.items():
        (row,) = re.findall(rf'^\| `"{strategy}"` \| (.*) \|$', page, flags=re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) == set(names)


def test_a_strategy_has_its_own_parts_and_attributes():
    for model, other in ((TREE, "labels"), (ONE_VS_REST, "trees")):
        with pytest.raises(ValueError, match=f"{other} must be None with strategy="):
            fitted(model, **{other: range(1)})
    tree = fitted(TREE)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=f"LinearClassifier has no {name} with strategy_='tree'"):
            getattr(tree, name)
    assert fitted(ONE_VS_REST).coef_.shape == (12, 20)


def test_trees_of_classes_have_class_weights():
    given = {"a": 2.0, "b": 1.0, "c": 3.0}
    weighted = clone(TREE).set_params(class_weight=given).fit(X, CLASSES)
    assert model_bytes(weighted) == model_bytes(clone(TREE).fit(X, CLASSES, [given[name] for name in CLASSES]))
