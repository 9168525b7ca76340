"""The examples: what they print, where they write pictures, and that the demo and the gallery have all of them."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
import real_data

EXAMPLES = real_data.REPOSITORY / "examples"


def loaded() -> Any:
    """The module `examples/demo.py`."""
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DEMO = loaded()


def copied(folder):
    """A copy of the examples, because the checkout may be closed to tests."""
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("out", "__pycache__"))
    return folder


def run(name, folder):
    return subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


def test_the_demo_has_every_example():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*DEMO.EXAMPLES, "demo.py", "pictures.py"}


@pytest.mark.slow("examples")
@pytest.mark.parametrize("name", DEMO.EXAMPLES)
def test_an_example_says_what_it_shows_and_concludes(name, tmp_path):
    for package in DEMO.EXAMPLES[name]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    folder = copied(tmp_path / "examples")
    done = run(name, folder)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert not re.search(r"Warning|Traceback|Nothing done|object at 0x", printed), printed

    lines = done.stdout.splitlines()
    title = (folder / name).read_text(encoding="utf-8").splitlines()[1]
    assert lines[0].startswith(f"{title}: "), printed
    assert [line for line in lines if line.startswith("Conclusion: ")] == lines[-1:]
    assert re.search(r"\d", lines[-1])

    pictures = [line.removeprefix("Picture: ") for line in lines if line.startswith("Picture: ")]
    assert len(pictures) == (folder / name).read_text(encoding="utf-8").count("plt.show()")
    for picture in pictures:
        assert (folder / picture).parent == folder / "out"
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "name", [name for name, packages in DEMO.EXAMPLES.items() if {"annif", "distributed"} & {*packages}]
)
def test_an_example_says_what_is_not_installed(name, monkeypatch, capsys):
    for package in DEMO.EXAMPLES[name]:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert ended.value.code == 0
    assert f"Left out: it needs pip install {' '.join(DEMO.EXAMPLES[name])}" in capsys.readouterr().out


def test_with_annif_its_backend_is_registered(monkeypatch, capsys):
    for name in ("annif", "annif.backend", "annif.backend.backend", "annif.exception", "annif.suggestion"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    annif = sys.modules["annif"]
    annif.backend = sys.modules["annif.backend"]
    annif.backend._backend_fns = {}
    annif.backend.backend = sys.modules["annif.backend.backend"]
    annif.backend.mixins = ModuleType("mixins")
    annif.backend.backend.AnnifBackend = type("AnnifBackend", (), {})
    annif.backend.mixins.TfidfVectorizerMixin = type("TfidfVectorizerMixin", (), {})
    for module, names in (
        ("annif.exception", ("NotInitializedException", "NotSupportedException")),
        ("annif.suggestion", ("SubjectSuggestion", "SuggestionBatch")),
    ):
        for name in names:
            setattr(sys.modules[module], name, type(name, (), {}))
    monkeypatch.setattr(sys, "argv", ["annif_backend.py"])
    runpy.run_path(str(EXAMPLES / "annif_backend.py"), run_name="__main__")
    assert "weald" in annif.backend._backend_fns
    assert capsys.readouterr().out.splitlines()[-1].startswith("Conclusion: backend=weald is number 1 of 1")


def test_the_demo_goes_on_after_what_is_left_out_or_fails(tmp_path, monkeypatch, capfd):
    (tmp_path / "good.py").write_text("print('good')")
    (tmp_path / "bad.py").write_text("raise SystemExit('bad')")
    monkeypatch.setattr(DEMO, "HERE", tmp_path)
    examples = {"absent.py": ("no_such_package",), "bad.py": (), "good.py": ()}
    monkeypatch.setattr(DEMO, "EXAMPLES", examples)
    assert DEMO.main() == 1
    printed = capfd.readouterr().out
    assert printed.startswith("3 examples, about ")
    assert "Left out: it needs no_such_package (pip install no_such_package)\n" in printed
    assert "good\n\n== 1 of 3 examples in " in printed
    assert "Left out: absent.py\nFailed: bad.py\n" in printed
    assert str(tmp_path / "out") in printed.splitlines()[-2]
    del examples["bad.py"]
    assert DEMO.main() == 0


SHOWS = """
import matplotlib.pyplot as plt
import pictures
for n_figures in (1, 2):
    for _ in range(n_figures):
        plt.subplots()
    plt.show()
print(len(plt.get_fignums()))
"""


def test_pictures_are_written_once_and_named(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    shutil.copy(EXAMPLES / "pictures.py", tmp_path)
    (tmp_path / "three.py").write_text(SHOWS)
    done = run("three.py", tmp_path)
    pictures = [os.path.join("out", f"three_{number}.png") for number in (1, 2, 3)]
    assert done.stdout.splitlines() == [*(f"Picture: {picture}" for picture in pictures), "0"], done.stderr
    assert sorted(os.path.join("out", name) for name in os.listdir(tmp_path / "out")) == pictures
