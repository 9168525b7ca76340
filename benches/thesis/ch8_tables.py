"""Seconds to fit a stump and a fully grown tree on real sparse data: C order, Fortran order and compressed columns.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 8, two tables of nine data sets, scikit-learn 0.17. Three of the nine are at hand: 20newsgroup (its training
part, posts scaled to length 1), mushrooms and mnist (all samples). Ours has 127 indicator features of mushrooms where
the published set has 112.

Seconds are those of the processor, one thread, median of the repeats; converting the layout is not counted. Dense
layouts of 20newsgroup take 5.9 GB for X alone, and as much again while a tree is grown: they are measured with
`--dense`, for weald alone. `--peer` adds scikit-learn of today on the other layouts, once.
"""

from __future__ import annotations

import functools
import statistics
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.tree
import weald
from _common import Cells, at_hand, greet, options, original, print_table, published, write_table
from _pictures import BLUE, ORANGE, heading, ink, picture, seconds_along
from sklearn.preprocessing import normalize

SETS = ("20newsgroup", "mushrooms", "mnist")
LAYOUTS = ("c", "fortran", "sparse")
MODELS: dict[str, dict[str, Any]] = {"stump": {"max_leaf_nodes": 2}, "full tree": {}}
LIBRARIES: dict[str, Any] = {"weald": weald, "scikit-learn": sklearn.tree}
KEYS = ("dataset", "model", "library", "layout", "turn")
VALUES = ("fit", "nodes")
LARGE = "20newsgroup"


@functools.lru_cache(maxsize=1)
def problem(name: str) -> tuple[sp.csc_array, np.ndarray]:
    data = original(name)
    X, y = sp.csr_array(data.X), data.y
    if name == LARGE:
        X = normalize(X)
    else:
        X, y = sp.vstack([X, sp.csr_array(data.X_test)]), np.concatenate([y, data.y_test])
    return sp.csc_array(X), y


def cell(name: str, model: str, library: str, layout: str, turn: int) -> dict[str, float]:
    X, y = problem(name)
    if layout != "sparse":
        X = X.toarray(order="C" if layout == "c" else "F")
    tree = LIBRARIES[library].DecisionTreeClassifier(random_state=turn, **MODELS[model])
    start = time.process_time()
    tree.fit(X, y)
    return {"fit": time.process_time() - start, "nodes": float(tree.tree_.node_count)}


def wanted(args: Any) -> list[tuple[Any, ...]]:
    names = [name for name in (SETS[1:2] if args.quick else SETS) if at_hand(name)]
    found = [
        (name, model, library, layout, turn)
        for library in (("weald", "scikit-learn") if args.peer else ("weald",))
        for turn in range(args.repeat if library == "weald" else 1)
        for name in names
        for model in MODELS
        for layout in LAYOUTS
        if layout == "sparse" or name != LARGE or (args.dense and library == "weald")
    ]
    return [key for key in found if args.only in " ".join(map(str, key))]


def summary(cells: Cells) -> list[dict[str, Any]]:
    known = {(row["dataset"], row["model"]): row for row in published("ch8_times")}
    rows = []
    for model in MODELS:
        for name in SETS:
            theirs = known[name, model]
            row: dict[str, Any] = {"dataset": name, "model": model}
            for library in LIBRARIES:
                times: dict[str, float] = {}
                for layout in LAYOUTS:
                    found = cells.of("fit", dataset=name, model=model, library=library, layout=layout)
                    times[layout] = statistics.median(found) if found else 0.0
                    row[f"{library} {layout}"] = times[layout] or ""
                both = times["fortran"] and times["sparse"]
                row[f"{library} fortran/sparse"] = times["fortran"] / times["sparse"] if both else ""
            row |= {f"published {layout}": float(theirs[layout]) for layout in LAYOUTS}
            row["published fortran/sparse"] = float(theirs["fortran"]) / float(theirs["sparse"])
            if row["weald sparse"]:
                rows.append(row)
    return rows


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    """A panel for each table: seconds for each layout, published, of scikit-learn today, and ours."""

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
        sides = {
            "published": (-0.25, ink(plt), "none", "published, scikit-learn 0.17"),
            "scikit-learn": (0, ORANGE, ORANGE, "scikit-learn of today"),
            "weald": (0.25, BLUE, BLUE, "weald"),
        }
        names = {"c": "C", "fortran": "Fortran", "sparse": "CSC"}
        for axis, model in zip(axes, MODELS, strict=True):
            ticks = []
            mine = [row for row in rows if row["model"] == model]
            for i, row in enumerate(mine):
                for j, layout in enumerate(LAYOUTS):
                    y = 4 * i + j
                    ticks.append((y, f"{row['dataset']}, {names[layout]}"))
                    for side, (shift, edge, face, _) in sides.items():
                        value = row.get(f"{side} {layout}", "")
                        if value:
                            axis.plot([value], [y + shift], "o", markersize=5, mec=edge, mfc=face)
            axis.set(xscale="log", title=model, xlabel="processor seconds to fit, logarithmic")
            seconds_along(axis)
            axis.set_yticks([y for y, _ in ticks], [name for _, name in ticks])
        axes[0].invert_yaxis()
        for side, (_, edge, face, name) in sides.items():
            if any(row[f"{side} sparse"] for row in rows):
                axes[1].plot([], [], "o", mec=edge, mfc=face, label=name)
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        heading(figure, "One tree on real sparse data, by the layout of X")
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--peer", action="store_true", help="scikit-learn of today too, once")
        parser.add_argument("--dense", action="store_true", help="dense layouts of 20newsgroup too: 16 GiB of memory")

    args = options(__doc__.splitlines()[0], repeat=3, extra=extra)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch8_tables_cells.csv", KEYS, VALUES, args.fresh)
    # One at a time, since two at a time would slow each other down.
    cells.run(wanted(args), cell, n_jobs=1)
    if rows := summary(cells):
        write_table(args.out / "ch8_tables.csv", rows)
        print_table(rows)
        plot(rows, args.out / "ch8_tables.png")


if __name__ == "__main__":
    main()
