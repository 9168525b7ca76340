"""What the files around the code say of the package agrees with it and with each other."""

from __future__ import annotations

import re
import tomllib

import pytest
import real_data
import spinney

ROOT = real_data.REPOSITORY


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text())


PROJECT = toml("pyproject.toml")["project"]


def test_one_version():
    [citation] = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    cargo = toml("Cargo.toml")["workspace"]
    assert spinney.__version__ == citation == cargo["package"]["version"]
    assert cargo["dependencies"]["spinney"]["version"] == f"={citation}"
    assert f"\n## {citation} (" in (ROOT / "CHANGELOG.md").read_text()


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
    # Every version that is named is tested.
    [tested] = re.findall(r"^        python: \[(.+)\]$", (ROOT / ".github/workflows/ci.yml").read_text(), re.MULTILINE)
    assert {version.strip('"') for version in tested.split(", ")} >= set(named)


def test_the_oldest_dependencies_are_the_bounds():
    text = (ROOT / ".github" / "oldest.txt").read_text()
    pinned = dict(line.split("==") for line in text.splitlines() if not line.startswith("#"))
    extras = [one for extra in ("export", "plot", "skops") for one in PROJECT["optional-dependencies"][extra]]
    bounds = dict(one.split(">=") for one in [*PROJECT["dependencies"], *extras] if ">=" in one)
    del pinned["pandas"]  # no dependency: one that the oldest scipy works with
    assert pinned == {name: f"{bound}.0" for name, bound in bounds.items()}


def test_the_licences_are_the_same_in_the_crate():
    assert PROJECT["license-files"]
    for name in PROJECT["license-files"]:
        assert (ROOT / name).read_bytes() == (ROOT / "crates" / "spinney" / name).read_bytes()
    assert PROJECT["license"] == toml("Cargo.toml")["workspace"]["package"]["license"]


@pytest.mark.parametrize("lock", ["Cargo.lock", "fuzz/Cargo.lock"])
def test_every_crate_has_a_digest_and_comes_from_the_public_index(lock):
    elsewhere = [package for package in toml(lock)["package"] if "source" in package]
    assert elsewhere
    assert all("checksum" in package for package in elsewhere)
    assert len({package["source"] for package in elsewhere}) == 1
    assert elsewhere[0]["source"].startswith("registry+https://github.com/rust-lang/")


@pytest.mark.parametrize("path", sorted(path.name for path in (ROOT / ".github" / "workflows").glob("*.yml")))
def test_workflows_call_targets_that_exist(path):
    called = re.findall(r"\bmake ([a-z][a-z-]*)", (ROOT / ".github" / "workflows" / path).read_text())
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert called
    assert set(called) <= set(targets)


def test_the_gate_waits_for_every_job():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    jobs = re.findall(r"^  ([a-z-]+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
    [needed] = re.findall(r"^    needs: \[(.+)\]$", text, re.MULTILINE)
    assert sorted([*needed.split(", "), "gate"]) == sorted(jobs)


@pytest.mark.parametrize("path", ["RELEASING.md", "SUPPORT.md", "docs/promises.md"])
def test_files_that_are_named_exist(path):
    text = (ROOT / path).read_text()
    named = re.findall(r"`([\w./-]+\.(?:md|yml|toml|lock|py|cff))`", text)
    assert named
    for name in named:
        assert any((folder / name).is_file() for folder in (ROOT, ROOT / ".github" / "workflows")), name


def test_extras_that_messages_name_exist():
    named = set()
    for path in (ROOT / "python" / "spinney").rglob("*.py"):
        named |= set(re.findall(r"spinney\[(\w+)\]", path.read_text()))
    assert named
    assert named <= set(PROJECT["optional-dependencies"])
