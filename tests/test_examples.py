"""The quick ones among the examples that the demo runs are also run here."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import real_data


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        ("serve_samples.py", "715 samples of 30 named features"),
        ("fit_with_dask.py", "the bytes of one machine"),
        ("fit_samples_with_dask.py", "the bytes of one machine"),
    ],
)
def test_examples_end_well(name, promised):
    if "dask" in name:
        pytest.importorskip("distributed", reason="Dask is not installed")
    command = [sys.executable, str(real_data.REPOSITORY / "examples" / name)]
    done = subprocess.run(
        command, env=os.environ | {"MPLBACKEND": "agg"}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert promised in done.stdout
