"""Files of every version of the format load, predict the same bits and save the same bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import weald
from golden import write
from golden.write import bits, raw_predictions

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("v*/*.safetensors"))


def test_there_are_eighteen_golden_files_or_more_of_at_most_200_kilobytes():
    assert len(FILES) >= 18
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*")) < 200_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_predictions_have_the_same_bits_and_the_file_is_written_again(path, tmp_path):
    about = json.loads((path.parent / "predictions.json").read_text())
    X = np.array(about["X"], dtype=np.float32)
    for mmap_mode in (None, "r"):
        model = weald.load(path, mmap_mode=mmap_mode)
        assert bits(raw_predictions(model, X)) == about["predictions"][path.stem]
        assert model.predict(X).shape[0] == len(X)
    if path.parent.name == "v1":  # the version of the format that is written today
        weald.save(model, tmp_path / "model")
        assert without_release(tmp_path / "model") == (without_release(path)[0], weald.__version__)
    assert weald.inspect_model(path)["format_version"] == int(path.parent.name[1:])


def without_release(path):
    """The header without the release that wrote the file, the arrays, and the release."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    entry = json.loads(header["__metadata__"]["weald"])
    release = entry.pop("release", None)
    assert weald.inspect_model(path)["release"] == release
    header["__metadata__"]["weald"] = entry
    return (header, content[end:]), release


def test_files_are_not_written_over(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["write.py"])
    with pytest.raises(SystemExit, match="--replace"):
        write.main()
