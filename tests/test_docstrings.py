"""Docstrings of the installed package: examples run, and all parameters are described with their defaults."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
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


# What differs from these only in defaults names them in place of its parameters.
AS_IN = {
    weald.ExtraTreesClassifier: weald.RandomForestClassifier,
    weald.ExtraTreesRegressor: weald.RandomForestRegressor,
    weald.ExtraTreeClassifier: weald.DecisionTreeClassifier,
    weald.ExtraTreeRegressor: weald.DecisionTreeRegressor,
}


@pytest.mark.parametrize("estimator", AS_IN)
def test_estimators_with_parameters_of_another_name_what_differs(estimator):
    doc = " ".join(inspect.getdoc(estimator).split())
    own, others = (inspect.signature(cls).parameters for cls in (estimator, AS_IN[estimator]))
    assert f"The parameters and attributes are those of `{AS_IN[estimator].__name__}`" in doc
    assert set(own) <= set(others)
    assert all(f"without `{name}`" in doc for name in set(others) - set(own))
    differing = {name: p.default for name, p in own.items() if p.default != others[name].default}
    assert all(f"`{name}={default!r}`".replace("'", '"') in doc for name, default in differing.items())


@pytest.mark.parametrize("estimator", PUBLIC)
def test_every_parameter_is_described_below_an_example(estimator):
    doc = inspect.getdoc(estimator)
    before = doc.partition("Parameters\n----------")[0]
    assert ">>> " in before
    described = inspect.getdoc(AS_IN.get(estimator, estimator))
    for parameter in inspect.signature(estimator).parameters:
        assert parameter in described, parameter


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

        {errors_of_fit}

        Parameters
        ----------
        {X_as_in_predict}
        own : {int}
            Own text.

        Returns
        -------
        {fitted_self}
        """
        return {"X" : own}
'''


def test_texts_are_written_in_place_of_their_former_selves_and_nothing_else_changes():
    def written(source, **tables):
        return write.rewritten(source, {"Tree": tables}, {"Tree.fit": "errors_of_fit X_as_in_predict fitted_self"})

    seed = f"seed : int, default={{default}}\n    {'Of draws. ' * 9}\n    {'Of draws. ' * 4}\n\n    - 0: none."
    tables = {"seed": seed, "name": "name : str, default={default}\n    Its name.", "attributes": "of_both"}
    first = written(CLASS, **tables, of_both="tree_ : Tree\n    The tree.")
    for text in (
        "    seed : int, default=0\n        Of draws.",
        "Of draws. Of\n        draws.",  # filled anew
        '.\n\n        - 0: none.\n    name : str, default="a"\n        Its name.\n\n',
        "    tree_ : Tree\n        The tree.\n\n    Notes\n",
        "        A wrong argument or parameter raises",
        "        own : {int}\n            Own text.\n",
    ):
        assert text in first
    kept = [line for line in CLASS.split("\n") if not re.fullmatch(r" *{\w+}", line)]
    assert [line for line in first.split("\n") if line in kept and line] == [line for line in kept if line]
    assert written(first, **tables, of_both="tree_ : Tree\n    The tree.") == first

    # Words that were edited in the file, lines that were added to a text or left out of it, and a new text of a table.
    edited = first.replace("that names it", "that has it").replace("after Ctrl-C.", "after Ctrl-C.\n        A line.")
    edited = edited.replace("            The samples, as in `predict`.\n", "").replace("Of draws.", "Of other draws.")
    assert edited != first
    assert written(edited, **tables, of_both="tree_ : Tree\n    The tree.") == first
    assert written(edited, **tables, of_both="tree_ : Tree\n    New.") == first.replace("The tree.", "New.")

    with pytest.raises(SystemExit, match=r"Tree\.fit has no place for fitted_self: add a line {fitted_self}"):
        written(first.replace("self : object", "it"), **tables, of_both="tree_ : Tree\n    The tree.")


def entries(doc: str) -> Iterator[list[str]]:
    """The entries of the sections that describe parameters, attributes, results and errors, as lines."""
    for heading, body in re.findall(r"^(\w+)\n-{3,}\n((?:.*\n(?!\w+\n-{3,}))*.*)", doc, re.MULTILINE):
        if heading in ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns"):
            for entry in re.findall(r"^\S.*(?:\n(?: .*)?)*", body, re.MULTILINE):
                yield entry.strip().split("\n")


@pytest.mark.parametrize("module", MODULES)
def test_entries_have_at_most_five_lines(module):
    # What needs more is said once, on a page of docs.
    tree = ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    long = [
        (node.name, entry[0])
        for node in documented
        for entry in entries(ast.get_docstring(node) or "")
        if len(entry) > 5
    ]
    assert not long


def test_pages_and_headings_that_docstrings_name_exist():
    repository = Path(__file__).resolve().parents[1]
    sources = [path.read_text(encoding="utf-8") for path in Path(weald.__file__).parent.rglob("*.py")]
    named = {link for source in sources for link in re.findall(r"`docs/([\w/-]+\.md)(?:#([\w-]+))?`", source)}
    assert len(named) > 30
    for page, anchor in named:
        text = (repository / "docs" / page).read_text(encoding="utf-8")
        headings = [re.sub(r"[^\w -]", "", line.lower()) for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
        assert not anchor or anchor in [heading.replace(" ", "-") for heading in headings], (page, anchor)


@pytest.mark.parametrize("estimator", [cls for cls in ESTIMATORS if cls not in AS_IN])
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
    assert len(typed) > 200
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
