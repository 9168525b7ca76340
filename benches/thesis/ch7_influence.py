"""Error and size of a compressed forest against t, the number of rows of a split, and the number of trees.

Chapter 7 of the thesis, three figures on Friedman1: (t) an increase of t lowers the error until about 3 with some 900
test nodes, where the path ends; (n_min) error and size hardly change for n_min ≤ 10, unlike those of the forest; (M)
beyond 100 trees the error goes on falling and the size does not grow. Extra-trees, K = p, unit variance of indicators;
and, beside, indicators as they are.

`ch7_influence_t.csv` has means over runs on a grid of t, `ch7_influence.csv` means for each n_min and M at the t that
ten folds choose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _ch7 import compressed, error, problem, run
from _common import Cells, greet, mean_std, options, print_table, write_table
from _pictures import BLUE, ORANGE, counts, heading, ink, name_lines, picture

READINGS = ("unit variance", "raw")
N_MIN = (2, 3, 5, 10, 20, 50, 100)
TREES = (1, 3, 10, 30, 100, 300, 1000)
# What the other one is, as in the captions of the figures.
USUAL = {"n_min": {"trees": 100}, "trees": {"n_min": 10}}
# The same number of points for each.
GRID: dict[str, tuple[float, ...]] = {
    "unit variance": tuple(np.round(np.arange(0, 3.6, 0.25), 2)),
    "raw": tuple(range(0, 29, 2)),
}
VALUES = ("et_error", "et_nodes", "ret_error", "ret_nodes", "t")


def along(reading: str, seed: int) -> list[dict[str, float]]:
    """Test error and test nodes along the path of one forest, on the grid of t, up to the end of the path."""
    data = problem("friedman1", seed)
    model = compressed("friedman1", reading, seed).set_params(l1_norm=None).fit(data.X, data.y)
    end = model.path_["l1_norm"][-1]
    found = []
    for t in GRID[reading]:
        small = model.at(min(float(t), end))
        found.append({"t": float(t), "error": error("friedman1", small, data), "nodes": small.n_test_nodes_})
    return found


def along_cell(reading: str, seed: int) -> dict[str, float]:
    points = along(reading, seed)
    return {f"{what}_{i}": point[what] for i, point in enumerate(points) for what in ("error", "nodes")}


def setting(what: str, value: int, reading: str, seed: int) -> dict[str, float]:
    return run("friedman1", reading, seed, **(USUAL[what] | {what: value}))


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=10)
    greet(__doc__.splitlines()[0])
    names = [f"{what}_{i}" for i in range(len(GRID["raw"])) for what in ("error", "nodes")]
    paths = Cells(args.out / "ch7_influence_t_cells.csv", ("reading", "seed"), names, args.fresh)
    paths.run([(r, s) for s in range(args.repeat) for r in READINGS if args.only in r], along_cell, args.n_jobs)
    curves = [
        {
            "reading": reading,
            "t": float(t),
            "error": mean_std(paths.of(f"error_{i}", reading=reading))[0],
            "nodes": mean_std(paths.of(f"nodes_{i}", reading=reading))[0],
        }
        for reading in READINGS
        if paths.of("error_0", reading=reading)
        for i, t in enumerate(GRID[reading])
    ]
    cells = Cells(args.out / "ch7_influence_cells.csv", ("what", "setting", "reading", "seed"), VALUES, args.fresh)
    settings = [("n_min", v) for v in N_MIN] + [("trees", v) for v in TREES if v <= (30 if args.quick else 1000)]
    wanted = [(*s, r, seed) for seed in range(args.repeat) for r in READINGS for s in settings if args.only in r]
    cells.run(wanted, setting, args.n_jobs)
    rows = [
        {"what": what, "setting": value, "reading": reading, "runs": len(of("t"))}
        | {v: mean_std(of(v))[0] for v in VALUES}
        for what, value in settings
        for reading in READINGS
        for of in [lambda v, w=what, n=value, r=reading: cells.of(v, what=w, setting=n, reading=r)]
        if of("t")
    ]
    if not curves or not rows:
        return
    write_table(args.out / "ch7_influence_t.csv", curves)
    write_table(args.out / "ch7_influence.csv", rows)
    print_table(curves)
    print_table(rows)
    plot(rows, args.out / "ch7_influence.png")
    plot_path(curves, args.out / "ch7_influence_t.png")


NAMES = {"unit variance": "unit variance", "raw": "raw (default)"}
COLOURS = {"unit variance": ORANGE, "raw": BLUE}


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    """Error and size against the two parameters of the forest."""
    titles = {"n_min": "min_samples_split", "trees": "n_estimators"}

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(2, 2, figsize=(8.4, 6), sharex="col", sharey="row")
        for column, (what, ticks) in enumerate(
            (("n_min", (2, 5, 10, 20, 50, 100)), ("trees", (1, 3, 10, 30, 100, 300, 1_000)))
        ):
            for at, measure in enumerate(("error", "nodes")):
                axis, lines = axes[at, column], []
                axis.set_xscale("log")
                for reading in READINGS:
                    mine = [row for row in rows if row["what"] == what and row["reading"] == reading]
                    values = [row["setting"] for row in mine]
                    (line,) = axis.plot(values, [row[f"ret_{measure}"] for row in mine], "o-", color=COLOURS[reading])
                    lines.append((line, f"compressed, {NAMES[reading]}"))
                (line,) = axis.plot(values, [row[f"et_{measure}"] for row in mine], "s-", color=ink(plt))
                lines.append((line, "forest"))
                counts(axis, "x", ticks)
                if measure == "nodes":
                    axis.set_yscale("log")
                    counts(axis, "y", (10, 100, 1_000, 10_000, 100_000))
                if column == 1:
                    name_lines(axis, lines)
            axes[1, column].set_xlabel(titles[what])
        axes[0, 0].set(ylabel="mean squared error")
        axes[1, 0].set(ylabel="number of splits")
        runs = f"{min(row['runs'] for row in rows)}"
        heading(
            figure,
            "Extra-trees on Friedman1 before and after compression",
            f"means of at least {runs} runs; unit variance: standardize=True; raw: standardize=False, the default",
        )
        return figure

    picture(path, draw)


def plot_path(curves: list[dict[str, Any]], path: Any) -> None:
    """Error against size along the path."""

    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(7, 3.6))
        lines = []
        for reading in READINGS:
            mine = [row for row in curves if row["reading"] == reading and row["nodes"] > 0]
            (line,) = axis.plot(
                [row["nodes"] for row in mine], [row["error"] for row in mine], "o-", color=COLOURS[reading]
            )
            lines.append((line, NAMES[reading]))
        name_lines(axis, lines)
        axis.set_ylim(bottom=0)
        axis.set(xlabel="number of splits of the compressed forest", ylabel="mean squared error")
        heading(
            figure,
            "Error along the path: Friedman1, 100 extra-trees with 29\u202f900 splits",
            "means of runs; from point to point t, the norm of all coefficients, grows by the same amount",
        )
        return figure

    picture(path, draw)


if __name__ == "__main__":
    main()
