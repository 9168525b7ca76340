"""Docstrings of the installed package: examples run, and all parameters are described with their defaults."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
import weald
from docstrings import write
from sklearn.base import BaseEstimator

MODULES = [
    "weald",
    *(m.name for m in pkgutil.walk_packages(weald.__path__, "weald.") if m.name != "weald._weald"),
]
PUBLIC = [getattr(weald, name) for name in weald.__all__ if inspect.isclass(getattr(weald, name))]
PUBLIC += [weald.multilabel.TunedThresholds, weald.multilabel.CalibratedLabels]
PUBLIC += [weald.multilabel.LabelHierarchy, weald.multilabel.HierarchicalLabels]
PUBLIC += [weald.conformal.ConformalRegressor, weald.conformal.ConformalClassifier, weald.conformal.ConformalLabels]
PUBLIC += [weald.projection.KernelProjection]
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
def test_docstrings_have_no_names_of_texts(estimator):
    texts = [estimator.__doc__]
    texts += [getattr(member, "__doc__", None) or "" for _, member in inspect.getmembers_static(estimator)]
    for text in texts:
        assert not re.search(r"^ *{\w+}$", text, flags=re.MULTILINE)
        assert "{default}" not in text


def test_docstrings_have_the_texts_of_the_tables():
    assert not write.outdated(), "run make docstrings"


CLASS = '''
# Kept  as it is.
class Tree:
    """A tree.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Of its own.
    """

    def __init__(self, seed: int = 0, *, name="a"): ...

    def fit(self, X, own):
        """Fit.

        Parameters
        ----------
        {X_as_in_predict}
        own : {int}
            Own text.

            {weight_zero}

        Returns
        -------
        {fitted_self}
        """
        return {"X" : own}
'''


def test_texts_are_written_in_place_of_their_former_selves_and_nothing_else_changes():
    def written(source, **tables):
        return write.rewritten(source, {"Tree": tables}, {"Tree.fit": "X_as_in_predict weight_zero fitted_self"})

    seed = "\nseed : int, default={default}\n    Of draws.\n\n    - 0: none.\n"
    tables = {"seed": seed, "name": "\nname : str, default={default}\n    Its name.\n", "attributes": "\n{of_both}\n"}
    first = written(CLASS, **tables, of_both="\ntree_ : Tree\n    The tree.\n")
    for text in (
        '    seed : int, default=0\n        Of draws.\n\n        - 0: none.\n    name : str, default="a"\n        Its name.\n\n',
        "    tree_ : Tree\n        The tree.\n\n    Notes\n",
        "        own : {int}\n            Own text.\n\n            A sample with weight zero is treated as if it were absent:",
    ):
        assert text in first
    kept = [line for line in CLASS.split("\n") if not re.fullmatch(r" *{\w+}", line)]
    assert [line for line in first.split("\n") if line in kept and line] == [line for line in kept if line]
    assert written(first, **tables, of_both="\ntree_ : Tree\n    The tree.\n") == first

    # Words that were edited in the file, lines that were added to a text or left out of it, and a new text of a table.
    edited = first.replace("treated as if", "used as if").replace("be infinite.", "be infinite.\n            A line.")
    edited = edited.replace("            The samples, as in `predict`.\n", "").replace("Of draws.", "Of other draws.")
    assert edited != first
    assert written(edited, **tables, of_both="\ntree_ : Tree\n    The tree.\n") == first
    assert written(edited, **tables, of_both="\ntree_ : Tree\n    New.\n") == first.replace("The tree.", "New.")

    with pytest.raises(SystemExit, match=r"Tree\.fit has no place for fitted_self: add a line {fitted_self}"):
        written(first.replace("self : object", "it"), **tables, of_both="\ntree_ : Tree\n    The tree.\n")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_defaults_that_are_described_are_those_of_the_constructor(estimator):
    doc = inspect.getdoc(estimator)
    for name, parameter in inspect.signature(estimator).parameters.items():
        if said := re.search(rf"^{name} : .*default=(.*)$", doc, flags=re.MULTILINE):
            assert ast.literal_eval(said[1]) == parameter.default, name
        else:
            assert parameter.default is inspect.Parameter.empty, name


def test_types_of_parameters_whose_default_is_none_name_it():
    root = Path(weald.__file__).parent
    typed = [
        (path.name, found[0].strip(), found[1])
        for path in root.rglob("*.py")
        for found in re.finditer(r"^ *[\w, *]+ : (.+), default=None$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(typed) > 400
    assert not [line for line in typed if not re.search(r"\bNone\b", line[2])]


def test_fits_return_their_estimator_in_types_too():
    for estimator in PUBLIC:
        if estimator.__module__ in ("weald.tree", "weald.forest", "weald.boosting", "weald.centroid", "weald.linear"):
            assert inspect.signature(estimator.fit).return_annotation == "Self"


@pytest.mark.parametrize("estimator", PUBLIC)
def test_every_public_method_has_a_docstring(estimator):
    # The build of the documentation checks what docstrings contain (docs/conf.py), and leaves out methods without one.
    for name in dir(estimator):
        if not name.startswith("_") and inspect.getattr_static(estimator, name) is not None:
            assert inspect.getdoc(getattr(estimator, name, None) or inspect.getattr_static(estimator, name)), name
