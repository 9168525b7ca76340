"""Which Φ: projected boosting without relabelling, score against time to fit, for four families of projections.

Chapter 6 of the thesis, three figures: stumps on all features, learning rate 0.1, logistic loss on delicious and
mediamill, square loss on friedman1-ind. Published: one subsampled output converges fastest on friedman1-ind and, by the
text, on delicious (the caption of that figure says the contrary); on mediamill the three others are ten times faster.
mediamill is run where all of it is at hand; a sample of it is not mediamill.

A cell is a point of a curve: on labels a curve is one fit, whose clock is read after each step, on friedman1-ind it is
one fit for each point. Curves are measured one at a time.
"""

from __future__ import annotations

from typing import Any

from _ch6 import (
    STUMPS,
    Points,
    best_points,
    booster,
    doublings,
    draw,
    friedman,
    of_one_fit,
    of_separate_fits,
    run_curves,
)
from _common import at_hand, original, print_table, write_table
from _pictures import heading, picture
from weald.projection import Projected

FAMILIES = {
    "subsample": "one subsampled output",
    "gaussian": "Gaussian",
    "achlioptas": "Achlioptas, s = 3",
    "sparse": "sparse, s = √d",
}


def problems() -> tuple[str, ...]:
    return ("delicious", "friedman1-ind", *(("mediamill",) if at_hand("mediamill") else ()))


def curve(problem: str, family: str, seed: int, steps: list[int]) -> Points:
    numbers = problem == "friedman1-ind"
    task, loss = ("numbers", "squared_error") if numbers else ("labels", "log_loss")
    strategy = {"output_strategy": Projected(family, relabel_leaves=False)}

    def make(n: int) -> Any:
        return booster(task, strategy, seed, loss=loss, n_estimators=n, **STUMPS)

    if numbers:
        return of_separate_fits(task, make, friedman("ind", 0, seed), steps)
    return of_one_fit(task, make, original(problem), steps)


def wanted(args: Any) -> list[tuple[str, str, int, int]]:
    return [
        (problem, family, seed, steps)
        for seed in range(args.repeat)
        for steps in doublings(args.steps)
        for problem in problems()
        for family in FAMILIES
    ]


def main() -> None:
    keys = ("problem", "family", "seed", "steps")
    about = __doc__.splitlines()[0]
    args, rows = run_curves(about, "ch6_projections", curve, keys, wanted, repeat=3, steps=(8192, 16))
    if not rows:
        return
    write_table(args.out / "ch6_projections.csv", rows)
    if found := best_points(rows, problems(), "family", FAMILIES, "subsample"):
        write_table(args.out / "ch6_projections_best.csv", found)
        print_table(found)
    plot(rows, args.out / "ch6_projections.png")


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    names = problems()
    titles = {"friedman1-ind": "16 independent outputs (Friedman1)", "delicious": "delicious, 983 labels"}

    def draw_all(plt: Any) -> Any:
        figure, axes = plt.subplots(len(names), 1, figsize=(6.6, 2.9 * len(names) + 0.6), squeeze=False)
        for axis, problem in zip(axes.flat, names, strict=True):
            shown = [row for row in rows if row["problem"] == problem]
            draw(axis, shown, "family", FAMILIES, titles.get(problem, problem), 5e-3)
            score = "mean r² of the outputs" if problem == "friedman1-ind" else "label ranking average precision"
            axis.set_ylabel(score)
        axes[-1, 0].set_xlabel("processor seconds to fit (n_estimators grows to the right)")
        heading(
            figure,
            "Projected boosting by family of projections: score against time",
            "bands: one standard deviation, where there are repeats",
        )
        return figure

    picture(path, draw_all)


if __name__ == "__main__":
    main()
