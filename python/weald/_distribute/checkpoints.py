"""Files with the stages that a fit has done so far, local or of any file system that fsspec knows."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from weald import _weald
from weald._input.messages import described


class Checkpoint:
    """A file that holds one content or another, and never a part of one."""

    def __init__(self, path: object) -> None:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"checkpoint must be a path, a URL of fsspec or None, got {described(path)}")
        self.path = os.fsdecode(path)

    def _elsewhere(self) -> tuple[Any, str] | None:
        """The file system of a URL, and the path there."""
        if "://" not in self.path:
            return None
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                f"checkpoint={self.path!r} requires the package fsspec, which is not installed"
            ) from error
        found: tuple[Any, str] = url_to_fs(self.path)
        return found

    def read(self) -> bytes | None:
        """The content, or None if there is no file."""
        if (elsewhere := self._elsewhere()) is not None:
            files, path = elsewhere
            return bytes(files.cat_file(path)) if files.exists(path) else None
        return Path(self.path).read_bytes() if os.path.exists(self.path) else None

    def write(self, data: bytes) -> None:
        if (elsewhere := self._elsewhere()) is None:
            _weald.write_file(self.path, data)
            return
        files, path = elsewhere
        part = f"{path}.{secrets.token_hex(4)}.part"
        files.pipe_file(part, data)
        files.mv(part, path)
