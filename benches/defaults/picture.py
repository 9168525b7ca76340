"""The picture of the README: precision at 1 against seconds to fit, spinney and other libraries, on images and text.

    python benches/defaults/labels_against_peers.py points.jsonl --sets corel5k yahoo_arts
    python benches/peers/text_recipe.py --only yahoo_arts --json text.jsonl
    python benches/defaults/picture.py points.jsonl text.jsonl

Writes `score_against_time.png` beside this script. Both files must come from one machine; methods that a file does not
have are left out.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import matplotlib.pyplot as plt

OUT = Path(__file__).with_name("score_against_time.png")
# The colours of Okabe and Ito, which colour-blind people can distinguish; the shapes differ as well.
OURS, OTHERS = "#0072B2", "#D55E00"
# Names, their positions relative to the point (points to the right and up), and their alignment.
Place = tuple[str, float, float, str]
IMAGES: dict[str, Place] = {
    "spinney boosting": ("boosting", 0, 9, "center"),
    "spinney boosting, 300 rounds": ("boosting, 300 rounds", 0, 9, "center"),
    "spinney extra-trees": ("extra-trees", 0, -15, "center"),
    "logistic regression": ("logistic regression", 0, 9, "center"),
    "XGBoost, a tree a label": ("XGBoost", 0, -15, "center"),
    "BOOMER": ("BOOMER", 0, -15, "center"),
}
TEXT: dict[str, Place] = {
    "recipe": ("boosting from a\nlinear start", 0, 9, "center"),
    "boosting, 100 rounds": ("boosting", 0, 9, "center"),
    "its linear start": ("its linear start alone", 8, -4, "left"),
    "omikuji, defaults, as it comes": ("omikuji", 0, -15, "center"),
    "napkinxc, defaults, as it comes": ("napkinXC", 0, -16, "center"),
    "omikuji, best of 8 settings": ("omikuji, best of 8", 0, 9, "center"),
    "napkinxc, best of 8 settings": ("napkinXC,\nbest of 8", -8, -4, "right"),
    "BOOMER": ("BOOMER", 0, 9, "center"),
}


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def main() -> None:
    of_defaults, of_text = (lines(path) for path in sys.argv[1:3])
    points = {
        name: {
            line["method"]: (line["seconds"], line["p1"])
            for line in of_defaults
            if line["set"] == name and "p1" in line
        }
        for name in ("corel5k", "yahoo_arts")
    }
    text = next(line for line in of_text if line["set"] == "yahoo_arts")["runs"]
    words = {"BOOMER": points["yahoo_arts"]["BOOMER"]} if "BOOMER" in points["yahoo_arts"] else {}
    for method, runs in text.items():
        peer = method.split(",")[0]
        chosen = method in TEXT or f"{peer}, best of 8 settings" not in TEXT
        name = method if chosen else f"{peer}, best of 8 settings"
        words[name] = statistics.median(run["seconds"] for run in runs), runs[0]["p1"]

    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.9), layout="constrained")
    panels = (
        ("Images: corel5k, 374 labels", points["corel5k"], IMAGES),
        ("Text: yahoo_arts, 23 146 words, 26 labels", words, TEXT),
    )
    for axis, (title, found, places) in zip(axes, panels, strict=True):
        for method, (label, dx, dy, end) in places.items():
            if method not in found:
                continue
            seconds, score = found[method]
            ours = method.startswith("spinney") or method in ("recipe", "boosting, 100 rounds")
            colour = OURS if ours else OTHERS
            axis.scatter(seconds, score, s=75 if ours else 50, c=colour, marker="o" if ours else "D", zorder=3)
            axis.annotate(
                label,
                (seconds, score),
                (dx, dy),
                textcoords="offset points",
                ha=end,
                color=colour,
                weight="bold" if ours else "normal",
            )
        axis.set_xscale("log")
        ticks = [0.3, 0.5, 1, 2, 5, 10, 20, 50]
        times, scores = zip(*(found[m] for m in places if m in found), strict=True)
        axis.set_xlim(min(times) / 2.2, max(times) * 2.1)
        spread = max(scores) - min(scores)
        axis.set_ylim(min(scores) - 0.2 * spread, max(scores) + 0.25 * spread)
        low, high = axis.get_xlim()
        axis.set_xticks([t for t in ticks if low <= t <= high], [f"{t:g}" for t in ticks if low <= t <= high])
        axis.minorticks_off()
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xlabel("seconds to fit, one thread (log scale)")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#E5E5E5", linewidth=0.8)
        axis.set_axisbelow(True)
    axes[0].set_ylabel("precision at 1, test part")
    axes[0].text(0.98, 0.92, "spinney", color=OURS, weight="bold", ha="right", transform=axes[0].transAxes)
    axes[0].text(0.98, 0.85, "other libraries", color=OTHERS, ha="right", transform=axes[0].transAxes)
    figure.savefig(OUT, dpi=130, facecolor="white")


if __name__ == "__main__":
    main()
