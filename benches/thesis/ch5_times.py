"""Learning times of chapter 5: 100 trees on delicious, on the labels themselves and on q = 1, 25, 250 projections.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
section 5.3.5: user and system seconds of a process that loads the data and grows a random forest of 100 full trees;
3348 s on the 983 labels, 236, 311, 1088 s on Gaussian projections; scikit-learn 0.14-dev, Xeon of 2.26 GHz. Its times
and ours are of machines a decade apart: what may be compared is each column's ratios. For the machine's part
scikit-learn of today is measured too, once, on the labels as dense numbers (the faster of its ways).

Each measurement is a process of its own with one thread; what it does before loading (imports) is not counted. The
sides take turns.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from typing import Any

from _common import Cells, greet, options, original, print_table, write_table
from _harness import ONE_THREAD, say
from _pictures import BLUE, ORANGE, heading, ink, number, picture

# For each side: the published seconds, and the parameters of the forest.
GAUSSIAN = {"output_projection": "gaussian"}
SIDES: dict[str, tuple[float, dict[str, Any]]] = {
    "unprojected": (3348.0, {}),
    "q = 1": (236.0, GAUSSIAN | {"n_projections": 1}),
    "q = 25": (311.0, GAUSSIAN | {"n_projections": 25}),
    "q = 250": (1088.0, GAUSSIAN | {"n_projections": 250}),
}
PEER = "scikit-learn of today, unprojected"


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(side: str, trees: int) -> dict[str, float]:
    """Loads the data and fits in this process."""
    import sklearn.ensemble
    import weald

    parameters: dict[str, Any] = {"n_estimators": trees, "max_features": "sqrt", "random_state": 0, "n_jobs": 1}
    before = cpu_seconds()
    data = original("delicious")
    if side == PEER:
        sklearn.ensemble.RandomForestRegressor(**parameters).fit(data.X.tocsc(), data.y.toarray())
    else:
        weald.RandomForestClassifier(**parameters, **SIDES[side][1]).fit(data.X, data.y)
    return {"cpu_seconds": cpu_seconds() - before}


def cell(side: str, trees: int, turn: int) -> dict[str, float]:
    say(f"{side}, turn {turn + 1}")
    command = [sys.executable, __file__, "--trees", str(trees), "--worker", side]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{side}: the measurement failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for side in [*SIDES, PEER]:
        if times := cells.of("cpu_seconds", side=side, trees=trees):
            published = SIDES[side][0] if side in SIDES else ""
            rows.append(
                {
                    "side": side,
                    "trees": trees,
                    "runs": len(times),
                    "cpu_seconds": statistics.median(times),
                    "least": min(times),
                    "most": max(times),
                    "published_seconds": published,
                    "speed_up": "",
                    "published_speed_up": f"{SIDES['unprojected'][0] / published:.3g}" if published else "",
                }
            )
    base = next((row["cpu_seconds"] for row in rows if row["side"] == "unprojected"), None)
    if base:
        for row in rows:
            row["speed_up"] = f"{base / row['cpu_seconds']:.3g}"
    return rows


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(7.5, 3))
        for i, row in enumerate(rows):
            for column, face, edge in (
                ("published_seconds", "none", ink(plt)),
                ("cpu_seconds", *(2 * (ORANGE if row["side"] == PEER else BLUE,))),
            ):
                if row[column] != "":
                    axis.plot([row[column]], [i], "o", markersize=7, mfc=face, mec=edge)
                    text = f"{number(round(row[column], 0 if row[column] >= 100 else 1))} s"
                    axis.annotate(text, (row[column], i), (8, 0), textcoords="offset points", va="center", fontsize=8)
        names = {"unprojected": "no projection"}
        axis.set_yticks(
            range(len(rows)),
            [names.get(row["side"], row["side"].replace("unprojected", "no projection")) for row in rows],
        )
        axis.set_xscale("log")
        axis.set_xticks([1, 10, 100, 1000], ["1 s", "10 s", "100 s", "1\u202f000 s"])
        axis.set_xlim(1, 10_000)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("processor seconds")
        heading(
            figure,
            f"Loading delicious and growing {rows[0]['trees']} trees, by the number q of projections",
            "filled: here; open: published, scikit-learn 0.14-dev on a Xeon of 2.26 GHz",
        )
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--no-peer", action="store_true", help="leave scikit-learn out")
        parser.add_argument("--worker", choices=[*SIDES, PEER], help="be the process of one measurement")

    args = options(__doc__.splitlines()[0], repeat=3, extra=extra)
    if args.worker:
        print(json.dumps(measure(args.worker, args.trees)))
        return
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch5_times_cells.csv", ("side", "trees", "turn"), ("cpu_seconds",), args.fresh)
    sides = list(SIDES) if args.no_peer else [*SIDES, PEER]
    for turn in range(args.repeat):
        # scikit-learn takes minutes, and is measured once.
        order = [
            (side, args.trees, turn)
            for side in (sides if turn % 2 == 0 else reversed(sides))
            if args.only in side and (side != PEER or turn == 0)
        ]
        # One at a time, since two processes at a time would slow each other down.
        cells.run(order, cell, n_jobs=1)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch5_times.csv", rows)
        print_table(rows)
        plot(rows, args.out / "ch5_times.png")


if __name__ == "__main__":
    main()
