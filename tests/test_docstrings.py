"""Docstrings of the installed package: examples run, and all parameters are described with their defaults."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re

import pytest
import weald
from sklearn.base import BaseEstimator

MODULES = [
    "weald",
    *(m.name for m in pkgutil.walk_packages(weald.__path__, "weald.") if m.name != "weald._weald"),
]
PUBLIC = [getattr(weald, name) for name in weald.__all__ if inspect.isclass(getattr(weald, name))]
PUBLIC += [weald.multilabel.TunedThresholds, weald.multilabel.CalibratedLabels]
ESTIMATORS = [cls for cls in PUBLIC if issubclass(cls, BaseEstimator)]


def written_examples(module) -> int:
    """The number of prompts in the docstrings of a module and of what it defines, counted without doctest."""
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
    for parameter in inspect.signature(estimator).parameters:
        assert parameter in doc, parameter


@pytest.mark.parametrize("estimator", PUBLIC)
def test_composed_texts_are_whole(estimator):
    texts = [estimator.__doc__]
    texts += [getattr(member, "__doc__", None) or "" for _, member in inspect.getmembers_static(estimator)]
    for text in texts:
        assert not re.search(r"^ *{\w+}$", text, flags=re.MULTILINE)
        assert "{default}" not in text


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_defaults_that_are_described_are_those_of_the_constructor(estimator):
    doc = inspect.getdoc(estimator)
    for name, parameter in inspect.signature(estimator).parameters.items():
        if said := re.search(rf"^{name} : .*default=(.*)$", doc, flags=re.MULTILINE):
            assert ast.literal_eval(said[1]) == parameter.default, name
        else:
            assert parameter.default is inspect.Parameter.empty, name


def test_fits_return_their_estimator_in_types_too():
    for estimator in PUBLIC:
        if estimator.__module__ in ("weald.tree", "weald.forest", "weald.boosting", "weald.centroid"):
            assert inspect.signature(estimator.fit).return_annotation == "Self"


@pytest.mark.parametrize("estimator", PUBLIC)
def test_every_public_method_has_a_docstring(estimator):
    # The build of the documentation checks what docstrings contain (docs/conf.py), and leaves out methods without one.
    for name in dir(estimator):
        if not name.startswith("_") and inspect.getattr_static(estimator, name) is not None:
            assert inspect.getdoc(getattr(estimator, name, None) or inspect.getattr_static(estimator, name)), name
