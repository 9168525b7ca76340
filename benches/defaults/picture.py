"""Pictures of the README and the pages: precision at 1 against seconds to fit, weald and other libraries.

    python benches/defaults/picture.py

`pictures/score_on_tags.png` has a point for each column of the two tables of docs/tagging.md: the mean precision at 1 of the sets
that all libraries were fitted to, and the sum of their seconds. The points of the others are those of two tables of the
README.md beside this script: the line of corel5k in "Other libraries at their defaults" (`pictures/score_on_images.png`), and the
line of yahoo_arts in "Sparse text" (`pictures/score_on_text.png`). Each is also written for the dark theme, as `*-dark.png`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "thesis"))

from _pictures import BLUE, ORANGE, picture, seconds_along

HERE = Path(__file__).resolve().parent
TAGGING = HERE.parents[1] / "docs" / "tagging.md"

# By column of the table: the name in the picture, whether it is weald's, and the side of the point that it is on.
Place = tuple[str, bool, str]
SIDES = {"above": (0, 9, "center", "bottom"), "below": (0, -9, "center", "top"), "right": (9, 0, "left", "center")}
TAGS: dict[str, Place] = {
    "linear": ("linear model", True, "above"),
    "from a linear start": ("boosting from\na linear start", True, "below"),
    "label tree": ("label tree", True, "above"),
    "omikuji": ("omikuji", False, "above"),
    "napkinXC": ("napkinXC", False, "below"),
}
IMAGES: dict[str, Place] = {
    "boosting": ("boosting", True, "above"),
    "300 rounds": ("boosting, 300 rounds", True, "above"),
    "extra-trees": ("extra-trees", True, "below"),
    "logistic regression": ("logistic regression", False, "above"),
    "XGBoost, a tree a label": ("XGBoost", False, "below"),
    "BOOMER": ("BOOMER", False, "below"),
}
TEXT: dict[str, Place] = {
    "boosting from a linear start": ("boosting from\na linear start", True, "above"),
    "the start alone": ("the linear\nstart alone", False, "right"),
    "boosting, 100 rounds": ("boosting", True, "below"),
    "omikuji": ("omikuji", False, "below"),
    "napkinXC": ("napkinXC", False, "below"),
    "omikuji, tuned": ("omikuji, tuned", False, "above"),
    "napkinXC, tuned": ("napkinXC, tuned", False, "above"),
}


def line(title: str, name: str) -> dict[str, str]:
    """The cells of a line of the first table below a heading, by column."""
    text = re.split(rf"^##+ {title}$", (HERE / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return dict(zip(rows[0], next(row for row in rows if row[0] == name), strict=True))


def on_tags() -> dict[str, tuple[float, float]]:
    """Of the sets without an empty cell: the sum of seconds, and the mean of precision at 1, of each column."""
    text = TAGGING.read_text(encoding="utf-8").replace("*", "")
    tables = []
    for head in ("set, tags", "set"):  # cells such as ".697 / .371 / .252" and "0.43 s, 1.6 MB"
        [rows] = re.findall(rf"^\| {head} \| linear \|.*\n\|[-:|]*\n((?:\|.*\n)*)", text, re.MULTILINE)
        cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
        tables.append({name.split(",")[0]: values for name, *values in cells if "–" not in values})
    scores, seconds = tables
    assert scores.keys() == seconds.keys()
    return {
        method: (
            sum(float(values[i].split(" s")[0]) for values in seconds.values()),
            sum(float(values[i].split(" / ")[0]) for values in scores.values()) / len(scores),
        )
        for i, method in enumerate(TAGS)
    }


def on_images() -> dict[str, tuple[float, float]]:
    """Seconds and precision at 1 of cells such as ".334 / .394 / 1.4", which begin with another score."""
    found = {}
    for method, cell in line("Other libraries at their defaults", "corel5k").items():
        if method in IMAGES:
            _, precision, seconds = cell.replace("*", "").split(" / ")
            found[method] = float(seconds), float(precision)
    return found


def on_text() -> dict[str, tuple[float, float]]:
    """The same of ".681 / .731 / 4.1" and of ".667 / 1.3 (.678 / 1.4)"; brackets have the best of eight settings."""
    found = {}
    for method, cell in line("Sparse text", "yahoo_arts").items():
        if method in TEXT:
            parts = re.findall(r"[\d./ ]+", cell.replace("*", ""))
            for name, part in zip((method, f"{method}, tuned"), filter(str.strip, parts), strict=False):
                values = [float(value) for value in part.split("/")]
                found[name] = values[-1], values[0]
    return found


def plot(
    path: Path,
    title: str,
    found: dict[str, tuple[float, float]],
    places: dict[str, Place],
    size: tuple[float, float] = (5.6, 4.6),
) -> None:
    def draw(plt: Any) -> Any:
        plt.rcParams.update({"font.size": 12, "axes.titlesize": 12.5})
        figure, axis = plt.subplots(figsize=size)
        for method, (name, is_ours, side) in places.items():
            seconds, score = found[method]
            colour, weight = (BLUE, "bold") if is_ours else (ORANGE, "normal")
            dx, dy, across, along = SIDES[side]
            axis.plot([seconds], [score], "o" if is_ours else "D", color=colour, markersize=9 if is_ours else 7)
            axis.annotate(
                name,
                (seconds, score),
                (dx, dy),
                textcoords="offset points",
                ha=across,
                va=along,
                color=colour,
                weight=weight,
            )
        axis.set_xscale("log")
        times, scores = zip(*(found[method] for method in places), strict=True)
        axis.set_xlim(min(times) / 1.9, max(times) * 1.9)
        spread = max(scores) - min(scores)
        axis.set_ylim(min(scores) - 0.18 * spread, max(scores) + 0.25 * spread)
        low, high = axis.get_xlim()
        seconds_along(axis)
        axis.set_xticks([t for t in (0.5, 1, 2, 5, 10, 20, 50) if low <= t <= high])
        axis.minorticks_off()
        axis.set_title(title, pad=28)
        axis.set_xlabel("seconds to fit, one thread")
        axis.set_ylabel("precision at 1 on the test part")
        axis.text(0, 1.03, "● weald", color=BLUE, weight="bold", transform=axis.transAxes)
        axis.text(1.35 / size[0], 1.03, "◆ other libraries", color=ORANGE, transform=axis.transAxes)
        return figure

    picture(path, draw)


def main() -> None:
    plot(HERE / "pictures" / "score_on_tags.png", "Tagged text: seven sets, 26 to 983 tags", on_tags(), TAGS, (7.4, 4))
    plot(HERE / "pictures" / "score_on_images.png", "Images: corel5k, 374 labels", on_images(), IMAGES)
    plot(HERE / "pictures" / "score_on_text.png", "Text: yahoo_arts, 26 labels", on_text(), TEXT)


if __name__ == "__main__":
    main()
