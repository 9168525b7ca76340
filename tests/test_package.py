"""The files around the code describe the package in agreement with the code and with each other."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib

import budget
import pytest
import real_data
import weald

ROOT = real_data.REPOSITORY


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text())


PROJECT = toml("pyproject.toml")["project"]
RECIPE = "conda/recipe.yaml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_one_version():
    [citation] = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    cargo = toml("Cargo.toml")["workspace"]
    assert weald.__version__ == citation == cargo["package"]["version"]
    assert cargo["dependencies"]["weald"]["version"] == f"={citation}"
    assert f"\n## {citation} (" in (ROOT / "CHANGELOG.md").read_text()
    assert f'\n  version: "{citation}"\n' in (ROOT / RECIPE).read_text()


def test_the_recipe_for_conda_forge_has_the_dependencies_of_the_project():
    text = (ROOT / RECIPE).read_text()

    def listed(section):
        [block] = re.findall(rf"^  {section}:\n((?:    .*\n)+)", text, re.MULTILINE)
        return {line.removeprefix("- ").replace(" ", "") for line in map(str.strip, block.splitlines())}

    assert listed("run") == {"python", *PROJECT["dependencies"]}
    assert listed("host") == {"python", "pip", *toml("pyproject.toml")["build-system"]["requires"]}
    assert f'skip: match(python, "<{PROJECT["requires-python"].removeprefix(">=")}")' in text
    assert f"  license: {PROJECT['license']}\n" in text
    assert f"  summary: {PROJECT['description']}\n" in text
    assert all(f"    - {name}\n" in text for name in PROJECT["license-files"])


def test_the_oldest_python_is_the_same_everywhere():
    pyproject = toml("pyproject.toml")
    [oldest] = re.findall(r"^>=(3\.\d+)$", PROJECT["requires-python"])
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert named[0] == oldest
    minors = [int(version.partition(".")[2]) for version in named]
    assert minors == list(range(minors[0], minors[0] + len(minors)))
    short = "py" + oldest.replace(".", "")
    assert pyproject["tool"]["ruff"]["target-version"] == short
    assert f"abi3-{short}" in toml("Cargo.toml")["workspace"]["dependencies"]["pyo3"]["features"]
    # Every Python version that is listed is tested.
    [tested] = re.findall(r"^        python: \[(.+)\]$", (ROOT / ".github/workflows/ci.yml").read_text(), re.MULTILINE)
    assert {version.strip('"') for version in tested.split(", ")} >= set(named)


def test_the_oldest_dependencies_are_the_bounds():
    text = (ROOT / ".github" / "oldest.txt").read_text()
    pinned = dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))
    extras = [one for extra in ("export", "plot", "skops") for one in PROJECT["optional-dependencies"][extra]]
    bounds = dict(one.split(">=") for one in [*PROJECT["dependencies"], *extras] if ">=" in one)
    # No dependencies; the versions pinned are those that the oldest scipy and scikit-learn work with.
    del pinned["pandas"], pinned["polars"]
    assert pinned == {name: f"{bound}.0" for name, bound in bounds.items()}


def test_the_licences_are_the_same_in_the_crate():
    assert PROJECT["license-files"]
    for name in PROJECT["license-files"]:
        assert (ROOT / name).read_bytes() == (ROOT / "crates" / "weald" / name).read_bytes()
    assert PROJECT["license"] == toml("Cargo.toml")["workspace"]["package"]["license"]


@pytest.mark.parametrize("lock", ["Cargo.lock", "fuzz/Cargo.lock"])
def test_every_crate_has_a_digest_and_comes_from_the_public_index(lock):
    elsewhere = [package for package in toml(lock)["package"] if "source" in package]
    assert elsewhere
    assert all("checksum" in package for package in elsewhere)
    assert len({package["source"] for package in elsewhere}) == 1
    assert elsewhere[0]["source"].startswith("registry+https://github.com/rust-lang/")


# Scorecard's service accepts only actions.
@pytest.mark.parametrize(
    "path", [path for path in WORKFLOWS if path.name != "scorecard.yml"], ids=lambda path: path.name
)
def test_workflows_call_targets_that_exist(path):
    called = re.findall(r"\bmake ([a-z][a-z-]*)", path.read_text())
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert called
    assert set(called) <= set(targets)


def test_actions_are_named_by_commit_and_the_same_everywhere():
    used = {line for path in WORKFLOWS for line in re.findall(r"\buses: (.+)$", path.read_text(), re.MULTILINE)}
    pinned = [re.fullmatch(r"([\w./-]+)@[0-9a-f]{40} # v\d+(?:\.\d+)*", line) for line in used]
    assert len(pinned) > 10
    assert all(pinned), used
    assert len({match[1] for match in pinned}) == len(pinned), used


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_write_nothing_but_what_a_job_says(path):
    [granted] = re.findall(r"^permissions:(.*(?:\n  .+)*)", path.read_text(), re.MULTILINE)
    assert granted in (" {}", "\n  contents: read")


def test_the_gate_waits_for_every_job():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    jobs = re.findall(r"^  ([a-z-]+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
    [needed] = re.findall(r"^    needs: \[(.+)\]$", text, re.MULTILINE)
    assert sorted([*needed.split(", "), "gate"]) == sorted(jobs)


PAGES = ["AGENTS.md", "GOVERNANCE.md", "RELEASING.md", "SECURITY.md", "SUPPORT.md", "docs/promises.md"]


@pytest.mark.parametrize("path", PAGES)
def test_files_that_are_named_exist(path):
    text = (ROOT / path).read_text()
    named = re.findall(r"`([\w./-]+\.(?:md|yml|yaml|toml|lock|py|cff))`", text)
    assert named
    for name in named:
        if name != "recipes/weald/recipe.yaml":  # in conda-forge's repository
            assert any((folder / name).is_file() for folder in (ROOT, ROOT / ".github", WORKFLOWS[0].parent)), name


def test_what_coding_tools_are_told_exists():
    text = (ROOT / "AGENTS.md").read_text()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"test", "lint"} <= set(re.findall(r"\bmake ([a-z][a-z-]*)", text)) <= set(targets)
    for line in re.findall(r"^\| (`.+?) \|", text, re.MULTILINE):
        assert all((ROOT / folder).is_dir() for folder in re.findall(r"`(.+?)`", line)), line


def test_messages_name_packages_of_the_extras():
    # weald itself is not on the index yet, and a name of its own that a message would install could be somebody else's.
    known = {re.split(r"[^\w.-]", one)[0] for extra in PROJECT["optional-dependencies"].values() for one in extra}
    named = set()
    for path in (ROOT / "python" / "weald").rglob("*.py"):
        named |= set(re.findall(r"pip install ([\w.\[\]'-]+)", path.read_text()))
    assert named
    assert named <= known


def test_no_command_installs_weald_from_the_index_before_it_is_there():
    # RELEASING.md has the command for the time after the release.
    pages = [page for page in ROOT.glob("*.md") if page.name != "RELEASING.md"]
    for folder in ("benches", "docs", "examples", "python", "crates"):
        pages += [page for kind in ("md", "py", "rs") for page in (ROOT / folder).rglob(f"*.{kind}")]
    # Not what a build of the site writes meanwhile.
    pages = [page for page in pages if not {"gallery", "generated"} & set(page.parts)]
    assert len(pages) > 100
    commands = re.compile(r"pip install [^`\n]*\bweald\b|cargo (?:add|install) weald\b")
    assert [page.name for page in pages if commands.search(page.read_text(encoding="utf-8"))] == []


def test_small_changes_are_tried_on_modules_and_tests_that_exist():
    found = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
    for module, tests in found["TESTS"].items():
        assert (ROOT / "python" / "weald" / f"{module.replace('.', '/')}.py").is_file(), module
        assert all((ROOT / "tests" / f"test_{name}.py").is_file() for name in tests), module
    source = "def f(x: int = 1) -> int:\n    if x is None and not x < 2:\n        raise ValueError\n    return x + 1\n"
    changes = [what.partition(": ")[2] for what, _ in found["mutants"]("m", source)]
    assert changes == [
        "1  ->  2",
        "x is None  ->  x is not None",
        "2  ->  3",
        "x < 2  ->  x <= 2",
        "x is None and (not x < 2)  ->  x is None or not x < 2",
        "raise ValueError  ->  raise NoError",
        "1  ->  2",
        "x + 1  ->  x - 1",
    ]
    assert [changed for _, changed in found["mutants"]("m", source)][5].count("pass") == 1


ADDRESSED = ["CITATION.cff", "Cargo.toml", "README.md", "pyproject.toml"]
ADDRESSED += ["crates/weald/Cargo.toml", "crates/weald/README.md"]
ADDRESS = "https://example.org/someone/weald"
PICTURES = re.compile(r'\bsrc(?:set)?="([^"]+)"')


def addressed(root, *arguments):
    """Runs the tool in a copy of the files that it reads, in which links lead to empty files."""
    for name in ADDRESSED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((ROOT / name).read_bytes())
    for target in relative_links((ROOT / "README.md").read_text()):
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / target).touch()
    command = [sys.executable, ROOT / "tools" / "public_address.py", "--root", root, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def relative_links(text):
    """The targets of links and pictures, without their anchors."""
    links = re.findall(r"\]\(([^)\s]+)\)", text) + PICTURES.findall(text)
    return [link.partition("#")[0] for link in links if not re.match(r"\w+:", link)]


def test_the_public_address_is_written_into_a_checkout(tmp_path):
    done = addressed(tmp_path, ADDRESS + ".git", "v0.1.0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert project["project"].pop("urls") == {
        "Repository": ADDRESS,
        "Documentation": f"{ADDRESS}/tree/v0.1.0/docs",
        "Changelog": f"{ADDRESS}/blob/v0.1.0/CHANGELOG.md",
        "Issues": f"{ADDRESS}/issues",
    }
    assert project == toml("pyproject.toml")
    cargo = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert cargo["workspace"]["package"].pop("repository") == ADDRESS
    assert cargo == toml("Cargo.toml")
    crate = tomllib.loads((tmp_path / "crates/weald/Cargo.toml").read_text())
    assert crate["package"].pop("repository") == {"workspace": True}
    assert crate == toml("crates/weald/Cargo.toml")
    assert f"\nrepository-code: {ADDRESS}\n" in (tmp_path / "CITATION.cff").read_text()


def test_links_of_published_readmes_are_absolute(tmp_path):
    before = (ROOT / "README.md").read_text()
    relative = relative_links(before)
    assert relative
    assert addressed(tmp_path, ADDRESS, "v0.1.0").returncode == 0
    after = (tmp_path / "README.md").read_text()
    assert relative_links(after) == []
    for target in relative:
        assert re.search(rf"[(\"]{ADDRESS}/(blob|raw)/v0\.1\.0/{re.escape(target)}[#)\"]", after), target
    pictures = PICTURES.findall(after)
    assert len(pictures) == 2  # for the light and the dark theme
    assert all(picture.startswith(f"{ADDRESS}/raw/v0.1.0/") for picture in pictures)
    # Only addresses have changed.
    assert re.sub(rf"{ADDRESS}/(blob|raw)/v0\.1\.0/", "", after) == before


@pytest.mark.parametrize("arguments", [("http://example.org/a",), ("https://example.org",), (ADDRESS, "a b")])
def test_addresses_that_are_none_change_nothing(tmp_path, arguments):
    done = addressed(tmp_path, *arguments)
    assert done.returncode == 2
    assert repr(arguments[-1]) in done.stderr
    assert all((tmp_path / name).read_bytes() == (ROOT / name).read_bytes() for name in ADDRESSED)


def test_an_address_is_written_once(tmp_path):
    assert addressed(tmp_path, ADDRESS).returncode == 0
    tool = [sys.executable, ROOT / "tools" / "public_address.py", "--root", tmp_path, ADDRESS]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "already" in done.stderr


def private_names(source):
    """What a module imports, or reads as an attribute, of the names that scikit-learn calls private."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
        for name in names:
            first, *others = name.split(".")
            if first == "sklearn" and any(re.match("_[^_]", other) for other in others):
                yield name


def test_private_names_of_scikit_learn_are_in_one_module():
    package = ROOT / "python" / "weald"
    one = package / "_input" / "sklearn_private.py"
    assert len(set(private_names(one.read_text(encoding="utf-8")))) > 5
    for path in package.rglob("*.py"):
        if path != one:
            assert not list(private_names(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize(
    "line",
    [
        "from sklearn.utils import _safe_indexing as f",
        "from sklearn.tree._tree import Tree",
        "import sklearn.tree._tree",
        "import sklearn.base\nsklearn.base._fit_context(1)",
    ],
)
def test_private_names_are_found(line):
    assert list(private_names(line))


def test_lines_of_code_are_counted():
    module = '"""Text.\n\nMore.\n"""\n\n# A comment.\nx = """one\ntwo"""\n'
    function = '\ndef f():\n    """Text."""\n    return 1  # why\n'
    assert budget.of_python(module + function) == (4, 5)
    rust = "//! Text.\n\nuse a;\n// why\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n"
    assert budget.of_rust(rust) == 2


# What y, X and the samples are counted by.
SIZES = {"n_samples", "n_columns", "n_outputs", "n_outputs_", "n_rows", "n_different", "n_features", "n_features_in_"}
SIZES |= {"width", "n_positive", "n_there"}


def compared_sizes(code: str) -> list[str]:
    """Comparisons of a size with a number above two, or with a constant."""

    def name(node: ast.expr) -> str:
        return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""

    def is_limit(node: ast.expr) -> bool:
        is_number = isinstance(node, ast.Constant) and type(node.value) is int and node.value > 2
        return is_number or name(node).strip("_").isupper()

    found = []
    for node in ast.walk(ast.parse(code)):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if SIZES & set(map(name, sides)) and any(map(is_limit, sides)):
            found.append(ast.unparse(node))
    return found


def test_no_branch_of_python_decides_a_default_of_boosting():
    """What "auto" stands for is a plan of the engine, `weald::plan`."""
    assert compared_sizes("a = 1 if n_columns <= FEW else 2") == ["n_columns <= FEW"]
    assert compared_sizes("a = model.n_samples in _RANGE, n_rows > 500, n_outputs == 1") == [
        "model.n_samples in _RANGE",
        "n_rows > 500",
    ]
    package = ROOT / "python/weald"
    files = [*package.glob("_fit/boost*.py"), *package.glob("_rounds/*.py"), package / "boosting.py"]
    files += [package / "_fit/memory.py", package / "_distribute/samples_apart.py"]
    assert {path.name: found for path in files if (found := compared_sizes(path.read_text(encoding="utf-8")))} == {}


def test_the_budget_has_a_limit_for_all_that_is_measured():
    limits = json.loads(budget.LIMITS.read_text(encoding="utf-8"))
    found = budget.measured()
    assert list(found) == list(limits)
    assert min(found.values()) > 0
    # Joints: what a module of one room imports from another one, and names that mean two things.
    crossing, twice = budget.joints()
    assert 100 < crossing <= limits["imports between rooms of Python"]
    assert 0 < twice <= limits["names that several modules of Python define"]
