"""Where the real data sets lie: the one place that knows. Tests skip where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def root() -> Path:
    """The folder of data sets: `SPINNEY_DATA`, else `../shared/datasets` beside the repository."""
    return Path(os.environ.get("SPINNEY_DATA", REPOSITORY.parent / "shared" / "datasets"))


def missing(name: str) -> str | None:
    """Why data set `name` cannot be read; None when it can."""
    folder = root() / name
    return None if (folder / "meta.json").is_file() else f"no data set {name} in {root()} (set SPINNEY_DATA)"
