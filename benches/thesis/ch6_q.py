"""How many projections: projected boosting with relabelled leaves on delicious, against joint boosting.

Chapter 6 of the thesis, two figures on delicious (stumps on all features, learning rate 0.1, logistic loss): precision
and time of 100 steps against the number q of Gaussian projections, and precision against time to fit for four q, for
Gaussian projections and subsampled outputs. Published: from q = 20 on the precision of joint boosting, in a seventh of
its time; at a fixed time q = 1 is ahead of greater q and of joint boosting.

A curve is one fit, whose clock is read after each step; a cell is one of its points. Curves are measured one at a time.
"""

from __future__ import annotations

from typing import Any

from _ch6 import STUMPS, Points, booster, doublings, draw, of_one_fit, run_curves
from _common import original, print_table, write_table
from _pictures import BLUE, counts, heading, ink, name_ends, picture
from weald.projection import Projected

COUNTS = (1, 2, 5, 10, 20, 50, 98, 196, 491, 983)
CURVES = (1, 98, 196, 491)
FIXED = 100
JOINT = ("joint", 0)
"""In place of the family and q."""


def curve(family: str, q: int, seed: int, steps: list[int]) -> Points:
    if (family, q) == JOINT:
        strategy: dict[str, Any] = {"output_strategy": "joint"}
    else:
        strategy = {"output_strategy": Projected(family, q)}

    def make(n: int) -> Any:
        return booster("labels", strategy, seed, loss="log_loss", n_estimators=n, **STUMPS)

    return of_one_fit("labels", make, original("delicious"), steps)


def at_fixed_steps(rows: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """Precision and time of this number of steps, and both relative to joint boosting."""
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
    """Every q with a fixed number of steps, then the curves of some of them."""
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
    args, rows = run_curves(__doc__.splitlines()[0], "ch6_q", curve, keys, wanted, repeat=3, steps=(1024, 4))
    if not rows:
        return
    fixed = min(FIXED, args.steps)
    write_table(args.out / "ch6_q_curves.csv", rows)
    table = at_fixed_steps(rows, fixed)
    if not table:
        return
    write_table(args.out / "ch6_q.csv", table)
    print_table(table)
    plot(table, fixed, args.out / "ch6_q.png")
    curved = {row["family"] for row in rows if int(row["steps"]) not in (1, fixed)}
    families = curved & {"gaussian", "subsample"}
    if families:
        plot_curves(rows, sorted(families), args.out / "ch6_q_curves.png")


def plot(table: list[dict[str, Any]], fixed: int, path: Any) -> None:
    """Score and time of a fixed number of steps against q."""
    gaussian = [row for row in table if row["family"] == "gaussian"]
    joint = next(row for row in table if row["family"] == "joint")

    def draw_all(plt: Any) -> Any:
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
        for axis, column, title in (
            (axes[0], "score", "label ranking average precision"),
            (axes[1], "seconds", "processor seconds to fit"),
        ):
            qs = [row["q"] for row in gaussian]
            axis.plot(qs, [row[column] for row in gaussian], "o-", color=BLUE)
            axis.axhline(joint[column], color=ink(plt), linestyle="--", linewidth=1)
            axis.annotate("joint boosting", (1, joint[column]), (0, 4), textcoords="offset points", fontsize=9)
            axis.set_xscale("log")
            counts(axis, "x", qs)
            axis.set(xlabel="n_projections (Gaussian)", title=title)
        axes[1].set_ylim(bottom=0)
        heading(figure, f"Number of projections: boosting with n_estimators={fixed} on delicious, 983 labels")
        return figure

    picture(path, draw_all)


def plot_curves(rows: list[dict[str, Any]], families: list[str], path: Any) -> None:
    """Score against time, for four q."""
    names = {"0": "joint"} | {str(q): f"q = {q}" for q in CURVES}
    titles = {"gaussian": "q Gaussian projections", "subsample": "q subsampled outputs"}

    def draw_all(plt: Any) -> Any:
        figure, axes = plt.subplots(len(families), 1, figsize=(6.6, 2.8 * len(families) + 0.6), squeeze=False)
        for axis, family in zip(axes.flat, families, strict=True):
            shown = [row for row in rows if row["family"] in (family, "joint") and int(row["q"]) in (0, *CURVES)]
            draw(axis, shown, "q", names, titles[family], 0, name_ends)
            axis.set_ylabel("label ranking average precision")
        axes[-1, 0].set_xlabel("processor seconds to fit (n_estimators grows to the right)")
        heading(figure, "Projected boosting on delicious: score against time")
        return figure

    picture(path, draw_all)


if __name__ == "__main__":
    main()
