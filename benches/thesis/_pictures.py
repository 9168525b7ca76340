"""How the pictures of this folder look: one style, light and dark, lines and points that carry their names.

`picture(path, draw)` calls `draw(plt)` under each of two themes and saves `name.png` and `name-dark.png`. Colours are
those of Okabe and Ito, which people who are colour-blind can tell apart, somewhat darker or lighter by theme. A line is
named at its end (`name_lines`) rather than in a legend; published values are open circles in ink, ours are filled.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BLUE, ORANGE, GREEN, PURPLE, GOLD, SKY = "C0", "C1", "C2", "C3", "C4", "C5"
# By suffix of the file: background, ink, faint ink, grid, and the six colours.
THEMES = {
    "": (
        *("white", "#1a1a1a", "#6b6b6b", "#d9d9d9"),
        ("#0072B2", "#D55E00", "#009E73", "#B2558F", "#B57600", "#2E9BD6"),
    ),
    "-dark": (
        *("#14181e", "#e8e8e8", "#a0a7b0", "#3a424d"),
        ("#56B4E9", "#F58A4B", "#2BC79A", "#E59BC2", "#F0C04A", "#9FC9FF"),
    ),
}


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def picture(path: Path, draw: Callable[[Any], Any]) -> None:
    """Saves the figure that `draw` returns, once for each theme."""
    from cycler import cycler
    from PIL import Image

    plt = pyplot()
    for suffix, (ground, ink, faint, grid, colours) in THEMES.items():
        style = {
            "figure.facecolor": ground,
            "axes.facecolor": ground,
            "savefig.facecolor": ground,
            "text.color": ink,
            "axes.labelcolor": ink,
            "axes.titlecolor": ink,
            "axes.edgecolor": faint,
            "xtick.color": faint,
            "ytick.color": faint,
            "xtick.labelcolor": ink,
            "ytick.labelcolor": ink,
            "grid.color": grid,
            "grid.linewidth": 0.6,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.prop_cycle": cycler(color=colours),
            "font.size": 10,
            "lines.linewidth": 1.6,
            "lines.markersize": 4,
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
        }
        with plt.rc_context(style):
            figure = draw(plt)
            move_names_apart(figure)
            raw = io.BytesIO()
            figure.savefig(raw, dpi=130)
            plt.close(figure)
        # 128 colours are enough for lines and letters, at a third of the size.
        Image.open(raw).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
            path.with_name(f"{path.stem}{suffix}.png"), optimize=True
        )
    print(f"picture: {path}")


def ink(plt: Any) -> str:
    return str(plt.rcParams["text.color"])


def faint(plt: Any) -> str:
    return str(plt.rcParams["xtick.color"])


def heading(figure: Any, title: str, note: str = "") -> None:
    """A title above all panels, and lighter lines that explain the picture; both are wrapped to the width."""
    titles = textwrap.wrap(title, int(11 * figure.get_figwidth()))
    notes = textwrap.wrap(note, int(13.5 * figure.get_figwidth()))
    # Empty lines below the title keep the room for the notes, which have another weight.
    top = figure.suptitle(
        "\n".join(titles + [""] * len(notes)), x=0.01, ha="left", fontsize=11, weight="bold", linespacing=1.35
    )
    down = -11 * 1.55 * len(titles)
    figure.add_artist(
        pyplot().Annotation(
            "\n".join(notes), (0, 1), (0, down), xycoords=top, textcoords="offset points", va="top", linespacing=1.35
        )
    )


def name_lines(axis: Any, lines: Sequence[tuple[Any, str]], size: float = 9) -> None:
    """Writes the names of lines in their colours, to the right of the end of the longest one.

    Names that would overlap are moved apart when the figure is saved.
    """
    ends = [(line.get_xdata()[-1], line.get_ydata()[-1]) for line, _ in lines if len(line.get_xdata())]
    for line, name in lines:
        if len(line.get_xdata()):
            at = (max(x for x, _ in ends), line.get_ydata()[-1])
            text = axis.annotate(
                name, at, (7, 0), textcoords="offset points", color=line.get_color(), va="center", fontsize=size
            )
            text.set_gid(NAME)


def name_ends(axis: Any, lines: Sequence[tuple[Any, str]], size: float = 9) -> None:
    """Writes the name of each line above its last point, for lines that end at the same height, and moves names apart
    that would overlap. The limits of the axis must be final.
    """
    axis.margins(y=0.16)
    axis.figure.draw_without_rendering()
    free = -float("inf")
    for line, name in sorted(lines, key=lambda pair: pair[0].get_xdata()[-1]):
        at = (line.get_xdata()[-1], line.get_ydata()[-1])
        end = axis.transData.transform(at)[0] * 72 / axis.figure.dpi
        x = max(end + 1, free)
        look = {"color": line.get_color(), "fontsize": size, "rotation": 60, "rotation_mode": "anchor"}
        axis.annotate(name, at, (x - end, 5), textcoords="offset points", **look)
        free = x + 1.4 * size


NAME = "name of a line"


def move_names_apart(figure: Any) -> None:
    """Makes the space for each name at the end of lines that share an axis at least as high as a line of text."""
    figure.draw_without_rendering()
    for axis in figure.axes:
        names = [text for text in axis.texts if text.get_gid() == NAME]
        to_points = 72 / figure.dpi
        places = sorted((axis.transData.transform(text.xy)[1] * to_points, i) for i, text in enumerate(names))
        low, high = (axis.transAxes.transform((0, at))[1] * to_points for at in (0, 1))
        ys = [max(y, low + names[0].get_fontsize() / 2) for y, _ in places]
        steps = [1.25 * names[i].get_fontsize() for _, i in places]
        for i in range(1, len(ys)):
            ys[i] = max(ys[i], ys[i - 1] + steps[i])
        if ys and ys[-1] > high:
            ys[-1] = high
            for i in reversed(range(len(ys) - 1)):
                ys[i] = min(ys[i], ys[i + 1] - steps[i + 1])
        for y, (place, i) in zip(ys, places, strict=True):
            names[i].set_position((7, y - place))


def counts(axis: Any, which: str, values: Sequence[float]) -> None:
    """Ticks at these values, written in full, on a logarithmic axis."""
    side = axis.xaxis if which == "x" else axis.yaxis
    side.set_minor_locator(pyplot().NullLocator())
    side.set_ticks(list(values), [number(value) for value in values])


def seconds_along(axis: Any) -> None:
    """Ticks of a horizontal axis of seconds, written out."""
    axis.xaxis.set_major_formatter(lambda value, _: f"{number(value)} s")


def number(value: Any) -> str:
    """The number with thin spaces between thousands."""
    return f"{float(value):,.10g}".replace(",", "\u202f")
