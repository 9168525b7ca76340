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
from _common import Cells, greet, mean_std, options, print_table, pyplot, save, write_table

READINGS = ("unit variance", "raw")
N_MIN = (2, 3, 5, 10, 20, 50, 100)
TREES = (1, 3, 10, 30, 100, 300, 1000)
USUAL = {"n_min": 2, "trees": 100}
# As many points of each.
GRID: dict[str, tuple[float, ...]] = {
    "unit variance": tuple(np.round(np.arange(0, 3.6, 0.25), 2)),
    "raw": tuple(range(0, 29, 2)),
}
VALUES = ("et_error", "et_nodes", "ret_error", "ret_nodes", "t")


def along(reading: str, seed: int) -> list[dict[str, float]]:
    """Test error and test nodes of one forest's path on the grid of t, as far as the path goes."""
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
    return run("friedman1", reading, seed, **(USUAL | {what: value}))


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
    plot(curves, rows, args.out / "ch7_influence.png")


def plot(curves: list[dict[str, Any]], rows: list[dict[str, Any]], path: Any) -> None:
    figure, axes = pyplot().subplots(2, 3, figsize=(10, 5.6))
    for reading in READINGS:
        points = [row for row in curves if row["reading"] == reading]
        # Both readings on one axis: in shares of the longest t of the grid.
        shares = [row["t"] / max(GRID[reading]) for row in points]
        axes[0, 0].plot(shares, [row["error"] for row in points], label=f"{reading}, t to {max(GRID[reading]):g}")
        axes[1, 0].plot(shares, [row["nodes"] for row in points])
        for place, what in ((1, "n_min"), (2, "trees")):
            shown = [row for row in rows if row["what"] == what and row["reading"] == reading]
            values = [row["setting"] for row in shown]
            axes[0, place].plot(values, [row["ret_error"] for row in shown], "s-", label=f"compressed, {reading}")
            axes[1, place].plot(values, [row["ret_nodes"] for row in shown], "s-")
    for place, what in ((1, "n_min"), (2, "trees")):
        shown = [row for row in rows if row["what"] == what and row["reading"] == READINGS[0]]
        values = [row["setting"] for row in shown]
        axes[0, place].plot(values, [row["et_error"] for row in shown], "o-", color="black", label="extra-trees")
        axes[1, place].plot(values, [row["et_nodes"] for row in shown], "o-", color="black")
        axes[1, place].set(xlabel=what, xscale="log", yscale="log")
        axes[0, place].set(xscale="log")
    axes[1, 0].set_xlabel("t, share of the longest")
    axes[0, 0].set_ylabel("error")
    axes[1, 0].set_ylabel("test nodes")
    for axis in axes[0]:
        axis.legend(fontsize=6)
    save(figure, path)


if __name__ == "__main__":
    main()
