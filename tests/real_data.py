"""The location of the real data sets. Tests that need them are skipped if they are missing."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def root() -> Path:
    """The folder of data sets: `WEALD_DATA`, or a folder beside the repository."""
    return Path(os.environ.get("WEALD_DATA", REPOSITORY.parent / "shared" / "datasets"))


def missing(name: str) -> str | None:
    """The reason why the data set `name` cannot be read, or None."""
    folder = root() / name
    return None if (folder / "meta.json").is_file() else f"no data set {name} in {root()} (set WEALD_DATA)"
