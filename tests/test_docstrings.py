"""The examples of docstrings run, in the package that is installed."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest
import spinney

MODULES = [
    "spinney",
    *(m.name for m in pkgutil.walk_packages(spinney.__path__, "spinney.") if m.name != "spinney._spinney"),
]
PUBLIC = [getattr(spinney, name) for name in spinney.__all__ if inspect.isclass(getattr(spinney, name))]
PUBLIC += [spinney.multilabel.TunedThresholds, spinney.multilabel.CalibratedLabels]
# The classes that describe all their parameters themselves, one by one.
COMPOSED = [
    getattr(spinney, name)
    for name in (
        "DecisionTreeClassifier",
        *(
            kind + task
            for kind in ("RandomForest", "ExtraTrees", "CentroidForest", "GradientBoosting")
            for task in ("Classifier", "Regressor")
        ),
    )
]


def written_examples(module) -> int:
    """Prompts in the docstrings of a module and of what it defines: counted apart from doctest."""
    own = [thing for thing in vars(module).values() if getattr(thing, "__module__", None) == module.__name__]
    documented = [module, *(thing for thing in own if inspect.isclass(thing) or inspect.isfunction(thing))]
    return sum((thing.__doc__ or "").count(">>> ") for thing in documented)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    module = importlib.import_module(module)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted >= written_examples(module)


def test_examples_are_found():
    estimators = {inspect.getmodule(estimator) for estimator in PUBLIC}
    assert all(written_examples(module) > 0 for module in estimators)


@pytest.mark.parametrize("estimator", PUBLIC)
def test_every_parameter_is_described_and_there_is_an_example(estimator):
    doc = inspect.getdoc(estimator)
    assert "Examples\n--------" in doc
    if "Parameters\n----------" not in doc:  # it names the class whose parameters are the same
        doc += inspect.getdoc(estimator.__mro__[1])
    for parameter in inspect.signature(estimator).parameters:
        assert parameter in doc, parameter


@pytest.mark.parametrize("estimator", PUBLIC)
def test_composed_texts_are_whole(estimator):
    assert not re.search(r"^ *{\w+}$", estimator.__doc__, flags=re.MULTILINE)


@pytest.mark.parametrize("estimator", [*COMPOSED, *PUBLIC[-2:]])
def test_composed_texts_are_in_the_order_of_the_constructor(estimator):
    doc = inspect.getdoc(estimator)
    parameters = doc.split("Parameters\n----------")[1].split("\n\nAttributes\n")[0]
    said = re.findall(r"^(\w+) : ", parameters, flags=re.MULTILINE)
    assert said == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", PUBLIC)
def test_every_public_method_has_a_docstring(estimator):
    for name in dir(estimator):
        if not name.startswith("_") and inspect.getattr_static(estimator, name) is not None:
            assert inspect.getdoc(getattr(estimator, name, None) or inspect.getattr_static(estimator, name)), name
