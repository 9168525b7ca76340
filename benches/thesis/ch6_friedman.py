"""Boosting with outputs whose relation is known: Friedman's function in a chain, in a group, independent.

Chapter 6 of the thesis, tables "All methods compared on the 3 artificial datasets" and "Friedman datasets with noisy
outputs": macro-r² on 4000 rows of models learnt from 300, 16 outputs, without and with 16 further outputs that are
copies of the first with their rows permuted. Five repeats. What "artificial" knows: a model of the mean of the outputs,
said of each of them, on the chain and the group; single target on independent outputs.

A cell is one setting of the grid (seven learning rates, five numbers of features, 2 to 8 leaves, square or absolute
loss) with at most 10 000 steps. The grid has 490; `--settings N` takes the first N of a random order that is the same
for all, and a later run with a greater N goes on from there. Trees find their splits exactly (`max_bins=None`).

`ch6_friedman.csv` has means and standard deviations (n − 1) beside the published ones, and ranks;
`ch6_friedman_tests.csv` Student's paired t-test of each pair of methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _ch6 import (
    BOOSTING,
    FRIEDMAN,
    N_OUTPUTS,
    SHOWN,
    booster,
    friedman,
    grid,
    held_out,
    leading,
    paired_t,
    pairwise,
    ranks,
    validated,
    whole_searches,
)
from _common import Cells, greet, mean_std, options, print_table, published, write_table
from _harness import Data
from _pictures import BLUE, heading, ink, picture
from _scores import r2_of_each

NOISY = 16
METHODS = ("artificial-gbrt", "st-gbrt", "gbmort", "gbrt-relabel-rpo-subsampled", "gbrt-rpo-subsampled")
KEYS = ("problem", "noisy_outputs", "method", "seed", "steps", "setting")
VALUES = ("validation", "step", "score", "half", "seconds")


def cell(problem: str, noisy: int, method: str, seed: int, steps: int, setting: int) -> dict[str, float]:
    data = friedman(problem, noisy, seed)
    part = held_out(data, seed)
    strategy = BOOSTING.get(method, BOOSTING["gbmort"])
    y_test = data.y_test
    if method == "artificial-gbrt":
        part = Data(part.X, part.y.mean(axis=1), part.X_test, part.y_test.mean(axis=1))
    model = booster("numbers", strategy, seed, max_bins=None, **grid("numbers")[setting])
    found = validated("numbers", model, part, steps)
    predicted = found.scores(data.X_test).reshape(len(y_test), -1)
    each = r2_of_each(np.broadcast_to(predicted, y_test.shape), y_test)
    return {
        "validation": found.score,
        "step": found.step,
        "score": float(each.mean()),
        "half": float(each[:N_OUTPUTS].mean()),
        "seconds": found.seconds,
    }


def wanted(args: Any) -> list[tuple[Any, ...]]:
    """Ordered by settings, then seeds, so that an interrupted run has some results of each kind."""
    return [
        (problem, noisy, method, seed, args.steps, setting)
        for setting in range(args.settings)
        for seed in range(args.repeat)
        for noisy in (0, NOISY)
        for problem in FRIEDMAN
        for method in METHODS
        # On independent outputs, "artificial" is single target; the noisy table has no "artificial".
        if not (method == "artificial-gbrt" and (noisy or problem == "ind"))
        and args.only in f"{problem} {noisy} {method}"
    ]


def searches(cells: Cells, args: Any, problem: str, noisy: int) -> tuple[int, list[int]]:
    """The settings of the searches of a problem that are complete for all methods, and their seeds."""
    methods = [m for m in METHODS if not (m == METHODS[0] and (noisy or problem == "ind"))]

    def there(seed: int, setting: int) -> bool:
        keys = [tuple(map(str, (problem, noisy, method, seed, args.steps, setting))) for method in methods]
        return all(key in cells.done for key in keys)

    done = {seed: leading(there(seed, setting) for setting in range(args.settings)) for seed in range(args.repeat)}
    return whole_searches({seed: count for seed, count in done.items() if count})


def chosen(
    cells: Cells, args: Any, problem: str, noisy: int, method: str, settings: int, seeds: list[int]
) -> list[dict[str, float]]:
    """For each seed, the cell with the best score on the held-out samples."""
    if method == "artificial-gbrt" and problem == "ind":
        method = "st-gbrt"
    best = []
    for seed in seeds:
        keys = [tuple(map(str, (problem, noisy, method, seed, args.steps, s))) for s in range(settings)]
        best.append(max((cells.done[key] for key in keys), key=lambda cell: cell["validation"]))
    return best


def summary(cells: Cells, args: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    theirs = {(r["problem"], int(r["noisy_outputs"]), r["method"]): r for r in published("ch6_friedman")}
    for noisy in (0, NOISY):
        for problem in FRIEDMAN:
            settings, seeds = searches(cells, args, problem, noisy)
            if not seeds:
                continue
            scores = {
                method: chosen(cells, args, problem, noisy, method, settings, seeds)
                for method in METHODS
                if (problem, noisy, method) in theirs
            }
            means = {method: mean_std([c["score"] for c in best]) for method, best in scores.items()}
            for (method, best), rank in zip(scores.items(), ranks([m for m, _ in means.values()]), strict=True):
                known = theirs[problem, noisy, method]
                rows.append(
                    {
                        "problem": problem,
                        "noisy_outputs": noisy,
                        "method": method,
                        "repeats": len(best),
                        "settings": settings,
                        "mean": means[method][0],
                        "std": means[method][1],
                        "rank": rank,
                        "half": mean_std([c["half"] for c in best])[0] if noisy else "",
                        "published_mean": float(known["mean"]),
                        "published_std": float(known["std"]),
                        "published_half": known["half"],
                        "median_step": float(np.median([c["step"] for c in best])),
                    }
                )
            full = {m: [c["score"] for c in best] for m, best in scores.items()}
            tests += pairwise(full, paired_t, problem=problem, noisy_outputs=noisy)
    return rows, tests


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    titles = {"chain": "chain", "group": "noisy copies", "ind": "independent"}

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(3, 2, figsize=(8.6, 7), sharey=True)
        for axis, (noisy, problem) in zip(axes.flat, [(n, p) for p in FRIEDMAN for n in (0, NOISY)], strict=True):
            shown = [r for r in rows if r["noisy_outputs"] == noisy and r["problem"] == problem]
            at = [METHODS.index(r["method"]) for r in shown]
            for shift, mean, std, colour, face in (
                (-0.15, "published_mean", "published_std", ink(plt), "none"),
                (0.15, "mean", "std", BLUE, BLUE),
            ):
                axis.errorbar(
                    [r[mean] for r in shown],
                    [y + shift for y in at],
                    xerr=[r[std] for r in shown],
                    fmt="o",
                    markersize=4.5,
                    color=colour,
                    mfc=face,
                    capsize=2,
                )
            axis.set_title(titles[problem] + (" + 16 noise outputs" if noisy else ""))
            axis.grid(axis="y", visible=False)
        axes[0, 0].set_yticks(range(len(METHODS)), [SHOWN[method] for method in METHODS])
        axes[0, 0].invert_yaxis()
        figure.supxlabel("mean r² of the outputs on test samples (further right is better)", fontsize=10)
        settings, repeats = rows[0]["settings"], max(row["repeats"] for row in rows)
        heading(
            figure,
            "Boosting on Friedman1 with 16 outputs whose relation is known",
            f"filled: here, best of {settings} settings; open: published, best of 490; "
            f"whiskers: standard deviation of {repeats} data sets",
        )
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--settings", type=int, help="settings of the grid, of 490 (30; with --quick 3)")
        parser.add_argument("--steps", type=int, help="steps at most (10 000; with --quick 300)")

    args = options(__doc__.splitlines()[0], repeat=5, extra=extra)
    usual = 3 if args.quick else (len(grid("numbers")) if args.draw else 30)
    args.settings = min(args.settings or usual, len(grid("numbers")))
    args.steps = args.steps or (300 if args.quick else 10_000)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch6_friedman_cells.csv", KEYS, VALUES, args.fresh)
    cells.run(wanted(args), cell, args.n_jobs)
    rows, tests = summary(cells, args)
    if rows:
        write_table(args.out / "ch6_friedman.csv", rows)
        print_table(rows)
        plot(rows, args.out / "ch6_friedman.png")
    if tests:
        write_table(args.out / "ch6_friedman_tests.csv", tests)
        print_table(tests)


if __name__ == "__main__":
    main()
