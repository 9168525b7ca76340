"""Score against time to fit on Friedman's function in a chain, in a group, independent: three strategies.

Chapter 6 of the thesis, figure on the convergence of single target, joint and projected boosting (subsampled outputs,
no relabelling): stumps on all features, learning rate 0.1, square loss, 300 rows to learn from, 16 outputs. Published:
on the chain and the group joint and projected converge more than 100 times faster than single target and slightly
higher; on independent outputs all at the same rate, single target to the best score, projected second, joint last.

A cell is one fit with a number of steps, under the clock; cells run one at a time. `ch6_convergence.csv` has means over
repeats, `ch6_convergence_claims.csv` each method's best score, the step and the seconds of it, and the seconds to reach
0.99 of the best of single target.
"""

from __future__ import annotations

from typing import Any

from _ch6 import BOOSTING, FRIEDMAN, STUMPS, best_points, booster, doublings, draw, friedman, run_curves, timed
from _common import print_table, pyplot, save, write_table

METHODS = ("st-gbrt", "gbmort", "gbrt-rpo-subsampled")


def cell(problem: str, method: str, seed: int, steps: int) -> dict[str, float]:
    model = booster("numbers", BOOSTING[method], seed, n_estimators=steps, max_bins=None, **STUMPS)
    return timed("numbers", model, friedman(problem, 0, seed))


def wanted(args: Any) -> list[tuple[str, str, int, int]]:
    """Single target takes a quarter of the steps, each of 16 trees."""
    return [
        (problem, method, seed, steps)
        for seed in range(args.repeat)
        for problem in FRIEDMAN
        for method in METHODS
        for steps in doublings(args.steps // 4 if method == "st-gbrt" else args.steps)
    ]


def main() -> None:
    keys = ("problem", "method", "seed", "steps")
    about = __doc__.splitlines()[0]
    args, rows = run_curves(about, "ch6_convergence", cell, keys, wanted, repeat=5, steps=(8192, 64))
    if not rows:
        return
    write_table(args.out / "ch6_convergence.csv", rows)
    if found := best_points(rows, FRIEDMAN, "method", METHODS, "st-gbrt"):
        write_table(args.out / "ch6_convergence_claims.csv", found)
        print_table(found)
    figure, axes = pyplot().subplots(1, 3, figsize=(10, 3.2))
    for axis, problem in zip(axes, FRIEDMAN, strict=True):
        shown = [row for row in rows if row["problem"] == problem]
        draw(axis, shown, "method", dict(zip(METHODS, METHODS, strict=True)), f"friedman1-{problem}", "macro-r²")
    save(figure, args.out / "ch6_convergence.png")


if __name__ == "__main__":
    main()
