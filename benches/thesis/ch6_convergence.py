"""Score against time to fit on Friedman's function in a chain, in a group, independent: three strategies.

Chapter 6 of the thesis, figure on the convergence of single target, joint and projected boosting (subsampled outputs,
no relabelling): stumps on all features, learning rate 0.1, square loss, 300 rows to learn from, 16 outputs. Published:
on the chain and the group joint and projected converge more than 100 times faster than single target and slightly
higher; on independent outputs all at the same rate, single target to the best score, projected second, joint last.

A cell is one fit with a number of steps, under the clock; curves are measured one at a time. `ch6_convergence.csv` has
means over repeats, `ch6_convergence_claims.csv` each method's best score, the step and the seconds of it, and the
seconds to reach 0.99 of the best of single target.
"""

from __future__ import annotations

from typing import Any

from _ch6 import (
    BOOSTING,
    FRIEDMAN,
    SHOWN,
    STUMPS,
    Points,
    best_points,
    booster,
    doublings,
    draw,
    friedman,
    of_separate_fits,
    run_curves,
)
from _common import print_table, write_table
from _pictures import heading, picture

METHODS = ("st-gbrt", "gbmort", "gbrt-rpo-subsampled")


def curve(problem: str, method: str, seed: int, steps: list[int]) -> Points:
    def make(n: int) -> Any:
        return booster("numbers", BOOSTING[method], seed, n_estimators=n, max_bins=None, **STUMPS)

    return of_separate_fits("numbers", make, friedman(problem, 0, seed), steps)


def wanted(args: Any) -> list[tuple[str, str, int, int]]:
    """Single target has a quarter of the steps, each of 16 trees."""
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
    args, rows = run_curves(about, "ch6_convergence", curve, keys, wanted, repeat=5, steps=(8192, 64))
    if not rows:
        return
    write_table(args.out / "ch6_convergence.csv", rows)
    if found := best_points(rows, FRIEDMAN, "method", METHODS, "st-gbrt"):
        write_table(args.out / "ch6_convergence_claims.csv", found)
        print_table(found)
    plot(rows, args.out / "ch6_convergence.png")


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    titles = {
        "chain": "16 outputs in a chain",
        "group": "16 noisy copies of one output",
        "ind": "16 independent outputs",
    }

    def draw_all(plt: Any) -> Any:
        figure, axes = plt.subplots(3, 1, figsize=(6.6, 8.4), sharex=True)
        for axis, problem in zip(axes, FRIEDMAN, strict=True):
            shown = [row for row in rows if row["problem"] == problem]
            draw(axis, shown, "method", {method: SHOWN[method] for method in METHODS}, titles[problem], 3e-3)
            axis.set_ylabel("mean r² of the outputs")
        axes[-1].set_xlabel("processor seconds to fit (n_estimators grows to the right)")
        repeats = max(row["repeats"] for row in rows)
        heading(
            figure,
            "Boosting on Friedman1: score against time",
            f"scores on test samples; means of {repeats} data sets; bands: one standard deviation",
        )
        return figure

    picture(path, draw_all)


if __name__ == "__main__":
    main()
