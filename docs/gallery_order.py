"""The order of the gallery, which is that of `make demo`."""

from __future__ import annotations

from demo import EXAMPLES

_ORDER = list(EXAMPLES)


class GalleryOrder:
    """A sorting key: the position in the list; files that are not in the list come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
