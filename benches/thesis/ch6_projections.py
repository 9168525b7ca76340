"""Which Φ: projected boosting without relabelling, score against time to fit, for four families of projections.

Chapter 6 of the thesis, three figures: stumps on all features, learning rate 0.1, logistic loss on delicious and
mediamill, square loss on friedman1-ind. Published: one subsampled output converges fastest on friedman1-ind and, by the
text, on delicious (the caption of that figure says the contrary); on mediamill the three others are ten times faster.
mediamill is run where all of it is at hand; a sample of it is not mediamill.

A cell is one fit with a number of steps, under the clock; cells run one at a time.
"""

from __future__ import annotations

from typing import Any

from _ch6 import STUMPS, booster, curves, doublings, draw, friedman, timed
from _common import Cells, at_hand, greet, options, original, print_table, pyplot, save, write_table

FAMILIES = {
    "subsample": "one subsampled output",
    "gaussian": "Gaussian",
    "achlioptas": "Achlioptas, s = 3",
    "sparse": "sparse, s = √d",
}


def problems() -> tuple[str, ...]:
    return ("delicious", "friedman1-ind", *(("mediamill",) if at_hand("mediamill") else ()))


def cell(problem: str, family: str, seed: int, steps: int) -> dict[str, float]:
    numbers = problem == "friedman1-ind"
    task, loss = ("numbers", "squared_error") if numbers else ("labels", "log_loss")
    strategy = {"output_strategy": "projected", "output_projection": family, "relabel_leaves": False}
    model = booster(task, strategy, seed, loss=loss, n_estimators=steps, **STUMPS)
    return timed(task, model, friedman("ind", 0, seed) if numbers else original(problem))


def best(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each family's best score, and when it is there; and the seconds to reach 0.99 of the best of subsampling."""
    found = []
    for problem in problems():
        of = {f: [r for r in rows if r["problem"] == problem and r["family"] == f] for f in FAMILIES}
        if not all(of.values()):
            continue
        goal = 0.99 * max(r["score"] for r in of["subsample"])
        for family, points in of.items():
            top = max(points, key=lambda r: r["score"])
            found.append(
                {
                    "problem": problem,
                    "family": family,
                    "best": top["score"],
                    "step": int(top["steps"]),
                    "seconds": top["seconds"],
                    "goal": goal,
                    "seconds_to_goal": next((r["seconds"] for r in points if r["score"] >= goal), ""),
                    "steps_to_goal": next((r["steps"] for r in points if r["score"] >= goal), ""),
                }
            )
    return found


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--steps", type=int, help="steps at most (8192; with --quick 16)")

    args = options(__doc__.splitlines()[0], repeat=3, extra=extra)
    args.steps = args.steps or (16 if args.quick else 8192)
    greet(__doc__.splitlines()[0])
    keys = ("problem", "family", "seed", "steps")
    cells = Cells(args.out / "ch6_projections_cells.csv", keys, ("score", "seconds"), args.fresh)
    wanted = [
        (problem, family, seed, steps)
        for seed in range(args.repeat)
        for steps in doublings(args.steps)
        for problem in problems()
        for family in FAMILIES
        if args.only in f"{problem} {family}"
    ]
    cells.run(wanted, cell, n_jobs=1)
    if not (rows := curves(cells)):
        return
    write_table(args.out / "ch6_projections.csv", rows)
    if found := best(rows):
        write_table(args.out / "ch6_projections_best.csv", found)
        print_table(found)
    names = problems()
    figure, axes = pyplot().subplots(1, len(names), figsize=(3.6 * len(names), 3.2), squeeze=False)
    for axis, problem in zip(axes.flat, names, strict=True):
        score = "macro-r²" if problem == "friedman1-ind" else "label ranking average precision"
        draw(axis, [row for row in rows if row["problem"] == problem], "family", FAMILIES, problem, score)
    save(figure, args.out / "ch6_projections.png")


if __name__ == "__main__":
    main()
