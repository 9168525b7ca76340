"""A backend of matplotlib that writes pictures into the folder `out` where others open windows.

Examples import this file. Where matplotlib finds a display, and in the gallery, it changes nothing.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

OUT = Path(__file__).resolve().parent / "out"
_numbers = count(1)


class FigureManager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:  # noqa: ARG003
        """Write each open figure to a file, print where it is, and close it."""
        OUT.mkdir(exist_ok=True)
        for figure in map(plt.figure, plt.get_fignums()):
            path = OUT / f"{Path(sys.argv[0]).stem}_{next(_numbers)}.png"
            figure.savefig(path, dpi=150)
            plt.close(figure)
            here = Path.cwd()
            print(
                "Picture:",
                path.relative_to(here) if path.is_relative_to(here) else path,
            )


class FigureCanvas(FigureCanvasAgg):
    manager_class: Any = FigureManager


if matplotlib.get_backend().lower() == "agg" and "sphinx_gallery" not in sys.modules:
    matplotlib.use("module://pictures")
