"""Public names and signatures.

The names that scikit-learn's estimators have and weald's lack are those that docs/scikit-learn.md lists.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
import real_data
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import make_data
from every import EVERY
from weald._fit.tree import BaseTree

# Public names of scikit-learn that weald does not have, by kind of estimator; docs/scikit-learn.md gives the reasons.
ABSENT = {
    "tree": {"monotonic_cst"},
    "forest": {"monotonic_cst", "estimators_samples_", "estimator", "estimator_", "estimator_params"},
    "boosting": {
        "alpha",
        "ccp_alpha",
        "criterion",
        "init_",
        "n_trees_per_iteration_",
        # scikit-learn has these from its base class of ensembles.
        "estimator_",
        "estimator_params",
    },
}
KINDS = {
    "DecisionTree": "tree",
    "ExtraTree": "tree",
    "RandomForest": "forest",
    "ExtraTrees": "forest",
    "GradientBoosting": "boosting",
}


def public(estimator):
    return {name for name in dir(estimator) if not name.startswith("_") and hasattr(estimator, name)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("stem", KINDS)
def test_what_is_absent_is_said(stem, task):
    name = stem + task
    kind = KINDS[stem]
    X, y = make_data(name)
    params = {} if kind == "tree" else {"n_estimators": 3}
    if kind == "boosting":
        params["subsample"] = 0.5
    elif kind == "forest":
        params |= {"bootstrap": True, "oob_score": True}
    theirs = getattr(sklearn.tree if kind == "tree" else sklearn.ensemble, name)(**params).fit(X, y)
    ours = getattr(weald, name)(**params).fit(X, y)
    absent = public(theirs) - public(ours)
    # scikit-learn's regressors have the attribute `class_weight`, which is None.
    assert absent - {"class_weight"} <= ABSENT[kind]
    text = (real_data.REPOSITORY / "docs" / "scikit-learn.md").read_text()
    assert all(f"`{name}`" in text for name in absent)


# --- one signature ---------------------------------------------------------------------------------------------------

CLASSES = sorted({entry.cls for entry in EVERY.values()}, key=lambda cls: cls.__name__)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# Functions and methods with y for which the engine does not support unknown values, and those that read no values of y.
WITHOUT_MASK = {"loss", "gradient_hessian", "fit_part", "prune_reduced_error", "draw", "check_cv", "get_n_splits"}
# Arguments of a function or class of weald that are estimators or fitted models have the first of these names.
ESTIMATOR, OTHER_NAMES = "estimator", {"model", "forest", "clf", "regressor", "est"}


def modules():
    """The public modules of the package."""
    names = ["weald", *(found.name for found in pkgutil.walk_packages(weald.__path__, "weald."))]
    return [importlib.import_module(n) for n in names if not any(part.startswith("_") for part in n.split("."))]


def parameters(function):
    """The parameters but `self`, and those that may be given by place."""
    found = dict(inspect.signature(function).parameters)
    for own in ("self", "cls"):
        found.pop(own, None)
    return found, [name for name, parameter in found.items() if parameter.kind in POSITIONAL]


def functions():
    """All public functions, constructors and methods by name."""
    found = {}
    for module in modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                found[f"{module.__name__}.{name}"] = thing
            elif inspect.isclass(thing) and thing.__module__.startswith("weald"):
                found[f"{module.__name__}.{name}"] = thing.__init__
                for method, value in inspect.getmembers_static(thing):
                    value = getattr(value, "__func__", getattr(value, "fn", value))
                    if (
                        not method.startswith("_")
                        and inspect.isfunction(value)
                        and value.__module__.startswith("weald")
                    ):
                        found[f"{module.__name__}.{name}.{method}"] = value
    return found


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_and_score_have_one_signature(cls):
    found, by_place = parameters(cls.fit)
    assert by_place == ["X", "y", "sample_weight"]
    assert found["sample_weight"].default is None
    assert list(found)[3:5] == ["y_weight", "label_names"]
    assert all(found[name].default is not inspect.Parameter.empty for name in list(found)[2:])
    assert ("check_input" in found) == issubclass(cls, BaseTree)
    scored, by_place = parameters(cls.score)
    assert (list(scored), by_place) == (["X", "y", "sample_weight", "y_weight"], ["X", "y", "sample_weight"])


def test_arguments_have_one_name_and_one_order():
    for name, function in functions().items():
        found, by_place = parameters(function)
        assert not OTHER_NAMES & found.keys(), name
        assert ESTIMATOR not in by_place or by_place[0] == ESTIMATOR, name
        assert "sample_weight" not in by_place or by_place[-1] == "sample_weight", name
        assert "y_weight" not in by_place, name
        takes_y = {"y", "y_true", "y_val"} & found.keys()
        if takes_y and name.rpartition(".")[2] not in WITHOUT_MASK:
            assert "y_weight" in found or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values()), name


def test_every_public_module_says_what_is_public():
    for module in modules():
        assert all(hasattr(module, name) for name in module.__all__), module
    within = {module.__name__.partition(".")[2]: module for module in modules() if module is not weald}
    assert all(getattr(weald, name) is module for name, module in within.items())
    of_estimators = {name for name, module in within.items() if set(module.__all__) <= set(weald.__all__)}
    assert within.keys() - of_estimators == within.keys() & set(weald.__all__)
