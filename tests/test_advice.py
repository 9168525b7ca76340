"""What pages, docstrings and messages advise is there and is taken: names, settings, and defaults of scikit-learn."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import real_data
import sklearn.ensemble
import sklearn.tree
import weald
from every import EVERY
from scipy import sparse

ROOT = real_data.REPOSITORY
PAGES = sorted((ROOT / "docs").glob("*.md"))
SOURCES = [
    *sorted((ROOT / "python" / "weald").rglob("*.py")),
    *PAGES,
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
# The estimators of scikit-learn with the same names, and the page about them.
SAME = [
    (ours, getattr(module, name))
    for name, ours in vars(weald).items()
    for module in (sklearn.tree, sklearn.ensemble)
    if inspect.isclass(ours) and inspect.isclass(getattr(module, name, None))
]
DIFFERENCES = (ROOT / "docs" / "scikit-learn.md").read_text(encoding="utf-8")


def written(text: str) -> dict[str, set[str]]:
    """The values of settings in code, `name=value`, by name."""
    found: dict[str, set[str]] = {}
    for name, value in re.findall(r"`(\w+)=([^`,()\[\]]+|\"[^`\"]*\")`", text):
        found.setdefault(name, set()).add(value)
    return found


@pytest.mark.parametrize(("ours", "theirs"), SAME, ids=lambda cls: cls.__module__.split(".")[0] + "." + cls.__name__)
def test_the_page_has_every_default_that_is_not_scikit_learns(ours, theirs):
    rows = [line.split("|")[1:3] for line in DIFFERENCES.splitlines() if line.startswith("|")]
    left, right = (written(" ".join(row[side] for row in rows)) for side in (0, 1))
    own, others = (inspect.signature(cls).parameters for cls in (ours, theirs))
    for name, parameter in others.items():
        if name not in own:
            # A row says so.
            assert f"`{name}`" in " ".join(row[0] for row in rows), name
        elif (default := own[name].default) != parameter.default:
            assert repr(parameter.default) in left[name], (name, parameter.default)
            # The default of ours, or "auto" and what it means.
            assert name in right or default in ("auto", "half") or f"`{name}` is {default}" in DIFFERENCES, (
                name,
                default,
            )
            if name in right:
                assert {repr(default), f'"{default}"'} & right[name] or default in ("auto", "half"), (name, default)


def test_at_least_the_estimators_of_the_first_line_are_compared():
    assert {ours.__name__ for ours, _ in SAME} >= {
        *(f"{kind}{what}" for kind in ("RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree", "GradientBoosting")
          for what in ("Classifier", "Regressor")),
    }  # fmt: skip


# Pages of which one side is about other libraries.
OF_OTHERS = {"migration.md", "scikit-learn.md", "annif.md"}
# Names of arguments of functions and methods, which parameters of estimators have as well.
OF_FUNCTIONS = {("method", value) for value in ("brute", "predict", "predict_topk", "predict_proba")}
# What a page says that there is not.
DENIED = {("thesis-tables.md", "output_projection", "auto")}


def settings() -> list[tuple[str, str, str]]:
    """The settings with a text as value that pages name, `name="value"`."""
    pattern = r"`(?:\w+\()?(\w+)=\"([^\"`]+)\"\)?`"
    pages = [page for page in PAGES if page.name not in OF_OTHERS]
    found = {(page.name, *pair) for page in pages for pair in re.findall(pattern, page.read_text(encoding="utf-8"))}
    return sorted(found - DENIED - {(page.name, *pair) for page in pages for pair in OF_FUNCTIONS})


def takes(model: object, name: str, value: str) -> bool:
    try:
        model.set_params(**{name: value})._validate_params()
    except (ValueError, TypeError) as error:
        return name not in str(error)
    return True


@pytest.mark.parametrize(("page", "name", "value"), settings(), ids=str)
def test_an_estimator_takes_the_setting_that_a_page_names(page, name, value):
    known = [entry for entry in EVERY.values() if name in entry.build().get_params(deep=False)]
    if known:
        assert any(takes(entry.build(), name, value) for entry in known)


def test_settings_are_found():
    assert ("tuning.md", "C", "auto") in settings()
    assert not takes(weald.LinearClassifier(), "C", "cv")
    assert len(settings()) > 60


def exists(name: str) -> bool:
    """Whether a dotted name is that of a module, or of an attribute of one, or of a class there."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for attribute in parts[n:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_of_functions_exist(path: Path):
    text = path.read_text(encoding="utf-8")
    if path.name == "migration.md":  # the left column has names that are gone
        text = re.sub(r"(?m)^\|[^|]*\|", "|", text)
    names = set(re.findall(r"(?<![\w./-])(?:weald|sklearn)(?:\.[A-Za-z]\w*)+", text))
    # Files, modules that Python makes none of, and the ends of sentences.
    names = {name for name in names if not re.search(r"\.(py|md|pyi|dump_?)$|\.ipynb", name)}
    assert not [name for name in sorted(names) if not exists(name)]


@pytest.mark.parametrize("name", [name for name, entry in EVERY.items() if entry.sparse])
def test_advice_about_importances_works_for_sparse_X(name):
    model = EVERY[name].build()
    try:
        advice = getattr(type(model), "feature_importances_", None)
        model.feature_importances_  # noqa: B018
    except AttributeError as error:
        advice = str(error)
    advice = advice if isinstance(advice, str) else ""
    # scikit-learn's function does not take sparse X.
    assert "sklearn.inspection.permutation_importance" not in advice
    if "permutation_importance" in advice:
        X = sparse.csr_array(np.random.default_rng(0).poisson(0.5, size=(40, 6)).astype(float))
        y = np.asarray(X[:, [0]].toarray()).ravel()
        model = weald.LinearClassifier(random_state=0).fit(X, y > 0)
        assert weald.inspection.permutation_importance(model, X, y > 0, n_repeats=1).importances.shape == (6, 1)


def test_no_docstring_or_page_sends_sparse_X_to_scikit_learns_importances():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        # Only ours names it, once.
        assert text.count("sklearn.inspection.permutation_importance") == (path.name == "inspection.py"), path


def test_bins_of_trees_are_nowhere_said_to_save_time():
    # They take as long as exact searches of forests of classes; a figure needs a script that is run.
    texts = [*PAGES, ROOT / "tools" / "docstrings" / "estimators.py", ROOT / "CHANGELOG.md"]
    for path in texts:
        for block in re.split(r"\n\s*\n|\n(?=[*|])", path.read_text(encoding="utf-8")):
            if "max_bins" in block and "boosting" not in block.lower():
                assert not re.search(r"half the|twice as fast|faster|times as fast|processor time", block), (
                    path,
                    block,
                )
