"""How many projections: projected boosting with relabelled leaves on delicious, against joint boosting.

Chapter 6 of the thesis, two figures on delicious (stumps on all features, learning rate 0.1, logistic loss): precision
and time of 100 steps against the number q of Gaussian projections, and precision against time to fit for four q, for
Gaussian projections and subsampled outputs. Published: from q = 20 on the precision of joint boosting, in a seventh of
its time; at a fixed time q = 1 is ahead of greater q and of joint boosting.

A cell is one fit with a number of steps, under the clock; cells run one at a time.
"""

from __future__ import annotations

from typing import Any

from _ch6 import STUMPS, booster, doublings, draw, run_curves, timed
from _common import original, print_table, pyplot, save, write_table

COUNTS = (1, 2, 5, 10, 20, 50, 98, 196, 491, 983)
CURVES = (1, 98, 196, 491)
FIXED = 100
JOINT = ("joint", 0)
"""In place of the family and q."""


def cell(family: str, q: int, seed: int, steps: int) -> dict[str, float]:
    if (family, q) == JOINT:
        strategy: dict[str, Any] = {"output_strategy": "joint"}
    else:
        strategy = {"output_strategy": "projected", "output_projection": family, "n_projections": q}
    model = booster("labels", strategy, seed, loss="log_loss", n_estimators=steps, **STUMPS)
    return timed("labels", model, original("delicious"))


def at_fixed_steps(rows: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """Precision and time of that many steps, and both beside joint boosting's."""
    rows = [row for row in rows if row["steps"] == str(steps)]
    joint = next((row for row in rows if row["family"] == "joint"), None)
    return [
        {
            "family": row["family"],
            "q": int(row["q"]) or "",
            "repeats": row["repeats"],
            "score": row["score"],
            "std": row["std"],
            "seconds": row["seconds"],
            "score_less_joint": row["score"] - joint["score"],
            "times_faster": joint["seconds"] / row["seconds"],
        }
        for row in sorted(rows, key=lambda r: (r["family"], int(r["q"])))
        if joint
    ]


def wanted(args: Any) -> list[tuple[str, int, int, int]]:
    """Every q at a fixed number of steps, then curves of some."""
    counts = [(*at, min(FIXED, args.steps)) for at in (JOINT, *(("gaussian", q) for q in COUNTS))]
    lines = [
        (*at, steps)
        for steps in doublings(args.steps)
        for at in (JOINT, *((f, q) for f in ("gaussian", "subsample") for q in CURVES))
    ]
    seeds = range(args.repeat)
    found = [(family, q, seed, steps) for part in (counts, lines) for seed in seeds for family, q, steps in part]
    return list(dict.fromkeys(found))


def main() -> None:
    keys = ("family", "q", "seed", "steps")
    args, rows = run_curves(__doc__.splitlines()[0], "ch6_q", cell, keys, wanted, repeat=3, steps=(1024, 4))
    if not rows:
        return
    fixed = min(FIXED, args.steps)
    write_table(args.out / "ch6_q_curves.csv", rows)
    table = at_fixed_steps(rows, fixed)
    if not table:
        return
    write_table(args.out / "ch6_q.csv", table)
    print_table(table)
    figure, axes = pyplot().subplots(2, 2, figsize=(8, 6))
    gaussian = [row for row in table if row["family"] == "gaussian"]
    joint = next(row for row in table if row["family"] == "joint")
    for axis, column, label in (
        (axes[0, 0], "score", f"precision after {fixed} steps"),
        (axes[0, 1], "seconds", f"seconds to fit {fixed} steps"),
    ):
        axis.plot([row["q"] for row in gaussian], [row[column] for row in gaussian], marker=".", label="Gaussian")
        axis.axhline(joint[column], color="black", linestyle="--", linewidth=1, label="joint")
        axis.axvline(20, color="tab:gray", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("number q of projections")
        axis.set_ylabel(label)
        axis.legend(frameon=False, fontsize=8)
    for axis, family in zip(axes[1], ("gaussian", "subsample"), strict=True):
        shown = [row for row in rows if row["family"] in (family, "joint") and int(row["q"]) in (0, *CURVES)]
        names = {"0": "joint"} | {str(q): f"q = {q}" for q in CURVES}
        draw(axis, shown, "q", names, family, "label ranking average precision")
    save(figure, args.out / "ch6_q.png")


if __name__ == "__main__":
    main()
