"""What the types of the package find: names that do not exist, misspelt in a copy of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# In each module: what is written there, and how the first of it is misspelt. A misspelt assignment cannot be found: it
# declares the attribute.
TYPOS = [
    ("_fit/base.py", "self._forest.predict(", "self._forrest.predict("),
    ("_fit/forest.py", "draws != self._draws", "draws != self._drows"),
    ("_fit/boosting.py", "self._start_margins(", "self._start_margin("),
    ("_fit/compression.py", "self.estimator_._row_weights", "self.estimater_._row_weights"),
    ("linear.py", "samples.target", "samples.taget"),
    ("_fitted/fits.py", "final._validate_params()", "final._validate_parms()"),
    ("_fit/memory.py", "estimator._multi_label()", "estimator._multi_labell()"),
    ("conformal.py", "self._calibrate(", "self._cal_typo("),
    ("_around/labels.py", '(self.estimator_, "predict_proba"', '(self.estimater_, "predict_proba"'),
    ("voting.py", "zip([name for name, is_kept in self._names", "zip([name for name, is_kept in self._nanes"),
    ("multilabel.py", "self.toward", "self.towards"),
    ("export/_ensemble.py", "forest.n_trees_of_an_output", "forest.n_trees_of_output"),
]


@pytest.mark.slow("python/weald", "typings", "pyproject.toml")
def test_misspelt_names_are_found_and_nothing_else(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "typings", tmp_path / "typings")
    package = tmp_path / "python" / "weald"
    shutil.copytree(ROOT / "python" / "weald", package, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    for module, right, wrong in TYPOS:
        text = (package / module).read_text(encoding="utf-8")
        assert right in text, (module, right)
        (package / module).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-color-output", "--show-error-codes"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    told = {line.partition(": error: ")[0] for line in run.stdout.splitlines() if ": error: " in line}
    found = re.findall(r'^python.weald.(.+):\d+: error: .* has no attribute "(\w+)"', run.stdout, re.MULTILINE)
    planted = [
        (module, *set(re.findall(r"\w+", wrong)) - set(re.findall(r"\w+", right))) for module, right, wrong in TYPOS
    ]
    assert sorted((module.replace("\\", "/"), name) for module, name in found) == sorted(planted), (
        run.stdout + run.stderr
    )
    # Other errors are on the same lines.
    assert len(told) == len(TYPOS), run.stdout
