"""Forests compressed by an l1 path over their nodes: error and test nodes before and after.

Chapter 7 of the thesis, table "Overall assessment": 100 extra-trees, K = p, grown until pure; means of 50 runs.
The text leaves open how indicators are scaled, and whether Two-norm is learnt by regression or classification trees:
every reading is run (`_ch7.py`), and more that it does not name: the exact path, the logistic loss, and paths that are
cut at a number of test nodes.

A cell is one run: data, forest, ten forests of the folds, paths. `ch7_compression.csv` has means and standard
deviations (n − 1), and the quotient of mean numbers of test nodes.
"""

from __future__ import annotations

import functools
from typing import Any

from _ch7 import PROBLEMS, READINGS, linear, run
from _common import Cells, greet, mean_std, options, print_table, write_table
from _common import published as table_of
from _pictures import BLUE, ORANGE, counts, heading, ink, picture

VALUES = ("et_error", "et_nodes", "ret_error", "ret_nodes", "t")


def published() -> dict[str, dict[str, float]]:
    lines = table_of("ch7_compression")
    return {row["problem"]: {k: float(v) for k, v in row.items() if k != "problem"} for row in lines}


def table(cells: Cells, lasso: Cells) -> list[dict[str, Any]]:
    rows = []
    for name in PROBLEMS:
        for reading in READINGS[name]:
            found = {v: cells.of(v, problem=name, reading=reading) for v in VALUES}
            if not found["t"]:
                continue
            row: dict[str, Any] = {"problem": name, "reading": reading, "runs": len(found["t"])}
            for value, numbers in found.items():
                row[value], row[f"{value}_std"] = mean_std(numbers)
            row["factor"] = row["et_nodes"] / row["ret_nodes"] if row["ret_nodes"] else float("inf")
            if errors := lasso.of("error", problem=name):
                row["lasso_error"] = mean_std(errors)[0]
                row["lasso_features"] = mean_std(lasso.of("features", problem=name))[0]
            row |= {f"published_{k}": v for k, v in published()[name].items()}
            rows.append(row)
    return rows


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--without", nargs="*", default=(), help="readings to leave out")

    args = options(__doc__.splitlines()[0], repeat=50, extra=extra)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch7_compression_cells.csv", ("problem", "reading", "seed"), VALUES, args.fresh)
    lasso = Cells(args.out / "ch7_lasso_cells.csv", ("problem", "seed"), ("error", "features"), args.fresh)
    seeds, chosen = range(args.repeat), [name for name in PROBLEMS if args.only in name]
    lasso.run([(name, seed) for seed in seeds for name in chosen], linear, args.n_jobs)
    wanted = [(name, reading, seed) for seed in seeds for name in chosen for reading in READINGS[name]]
    wanted = [key for key in wanted if key[1] not in args.without]
    cells.run(wanted, functools.partial(run, trees=args.trees), args.n_jobs)
    if not (rows := table(cells, lasso)):
        return
    write_table(args.out / "ch7_compression.csv", rows)
    print_table([{k: v for k, v in row.items() if not k.endswith("_std")} for row in rows])
    plot(rows, args.out / "ch7_compression.png")


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    """Error against test nodes of forests and compressed forests: ours by variant, and the published values.

    Variants with fewer than five runs are not shown.
    """
    titles = {"friedman1": "Friedman1: mean squared error", "twonorm": "Two-norm: share of wrong classes"}

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(1, 2, figsize=(8.6, 4))
        for axis, name in zip(axes, PROBLEMS, strict=True):
            said = published()[name]
            axis.set(xscale="log", title=titles[name], xlabel="number of splits")
            for row in (row for row in rows if row["problem"] == name and row["runs"] >= 5):
                axis.plot(
                    [row["et_nodes"], row["ret_nodes"]],
                    [row["et_error"], row["ret_error"]],
                    color=BLUE,
                    alpha=0.25,
                    linewidth=1,
                )
                axis.plot([row["et_nodes"]], [row["et_error"]], "s", color=ORANGE)
                axis.plot([row["ret_nodes"]], [row["ret_error"]], "o", color=BLUE)
            for kind, shape in (("et", "s"), ("ret", "o")):
                axis.plot(
                    [said[f"{kind}_nodes"]], [said[f"{kind}_error"]], shape, markersize=7, mfc="none", mec=ink(plt)
                )
            counts(axis, "x", (300, 1_000, 3_000, 10_000, 30_000, 100_000))
        heading(
            figure,
            "Forests before (squares) and after (circles) compression",
            "filled: here, means of runs, a line for each reading of the published text; open: published",
        )
        return figure

    picture(path, draw)


if __name__ == "__main__":
    main()
