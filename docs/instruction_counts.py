"""The tables and the picture of the page on counts of instructions, from `benches/rust/history.json`.

    python docs/instruction_counts.py

Writes the part of `instructions.md` between its two comments, and `_static/instructions.png` in two themes.
"""

from __future__ import annotations

import json
import sys
from math import ceil
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches" / "thesis"))

from _pictures import BLUE, faint, heading, picture

HERE = Path(__file__).resolve().parent
PAGE = HERE / "instructions.md"
HISTORY = HERE.parent / "benches" / "rust" / "history.json"
BEGIN, END = "% What follows is written by instruction_counts.py.\n", "% Its end.\n"

Records = list[dict[str, Any]]


def works(records: Records) -> dict[str, list[int | None]]:
    """The counts of each piece of work, in the order of the commits; None where a commit does not have it."""
    counts = [record["instructions"] for record in records]
    names = dict.fromkeys(name for found in reversed(counts) for name in found)
    return {name: [found.get(name) for found in counts] for name in names}


def change(counts: list[int | None]) -> str:
    """By how many percent the last count is above the first."""
    found = [count for count in counts if count]
    return f"{100 * (found[-1] / found[0] - 1):+z.1f} %"


def label(record: dict[str, Any]) -> str:
    return str(record.get("release") or record["commit"][:8])


def millions(count: int | None) -> str:
    """At least three digits."""
    value = (count or 0) / 1e6
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}".replace(",", " ") if count else ""


def table(head: list[str], rows: list[list[str]], numbers: bool) -> str:
    below = ["---", *(["--:" if numbers else "---"] * (len(head) - 1))]
    lines = [head, below, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def tables(records: Records) -> str:
    """The counts, and what the commits are."""
    counts = [
        [name, *map(millions, found), change(found)]
        for name, found in works(records).items()
    ]
    commits = [
        [
            f"{r['release']} ({r['commit'][:8]})" if "release" in r else label(r),
            r["date"][:10],
            r["title"].replace("|", r"\|"),
            r["rustc"].split()[1],
            r["valgrind"].removeprefix("valgrind-"),
        ]
        for r in records
    ]
    return "\n".join(
        [
            f"Millions of instructions, built with the profile `{records[0]['profile']}`:\n",
            table(["work", *map(label, records), "first to last"], counts, True),
            "The commits, by date. A change came with its commit, or one after the commit before:\n",
            table(["commit", "date", "title", "rustc", "valgrind"], commits, False),
        ]
    )


def draw(plt: Any, records: Records) -> Any:
    """A panel for each piece of work: percent of its first count, by commit."""
    found = works(records)
    n_rows = ceil(len(found) / 3)
    look = {"figsize": (7.4, 1 + 1.1 * n_rows), "sharex": True, "squeeze": False}
    figure, axes = plt.subplots(n_rows, 3, **look)
    for axis in axes.flat[len(found) :]:
        axis.set_axis_off()
    for axis, (name, counts) in zip(axes.flat, found.items(), strict=False):
        points = [(i, count) for i, count in enumerate(counts) if count]
        share = [100 * count / points[0][1] for _, count in points]
        axis.axhline(100, color=faint(plt), linewidth=0.8)
        axis.plot([i for i, _ in points], share, "o-", color=BLUE)
        axis.set_title(f"{name}  {change(counts)}", fontsize=8)
        # Changes of one percent look small.
        axis.set(xticks=[], ylim=(min(88, *share) - 4, max(108, *share) + 4))
        axis.locator_params(axis="y", nbins=3)
    heading(
        figure,
        "Instructions of small pieces of work, in percent of the first commit",
        "From left to right, the commits of the table. Scales differ.",
    )
    return figure


def main() -> None:
    records = json.loads(HISTORY.read_text(encoding="utf-8"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    text = f"{before}{BEGIN}\n{tables(records)}\n{END}{after}"
    PAGE.write_text(text, encoding="utf-8")
    picture(HERE / "_static" / "instructions.png", lambda plt: draw(plt, records))


if __name__ == "__main__":
    main()
