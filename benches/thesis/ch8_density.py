"""How long a tree takes against the density of X: C order, Fortran order and compressed columns.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 8, two figures: seconds to fit a stump and a fully grown regression tree, seconds to predict the training part,
and the depth of the tree. X has 1 000 features whose entries are zero but for a share, the density, of standard normal
numbers; y is uniform. Published: 100 000 samples, twenty repeats, curves without numbers. Said of them in words: (1)
compressed columns are the fastest for stumps at every density; (2) Fortran order is faster than C order; (3) for fully
grown trees compressed columns are faster below a density of 0.02 and slower beyond; (4) depth falls as density rises.

Here stumps have the published size, fully grown trees `--samples` of it (20 000). Prediction takes compressed rows in
place of compressed columns, as published. Seconds are those of the processor, one thread. A cell is one fit and one
prediction; `--peer` adds scikit-learn of today, once, at every other density, without C order.
"""

from __future__ import annotations

import functools
import itertools
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.tree
import weald
from _common import Cells, greet, mean_std, options, print_table, write_table
from _pictures import BLUE, GREEN, ORANGE, counts, heading, name_lines, number, picture

P = 1_000
DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
LAYOUTS = {"c": "C order", "fortran": "Fortran order", "sparse": "compressed"}
MODELS = {"stump": {"max_leaf_nodes": 2}, "full tree": {}}
LIBRARIES = {"weald": weald, "scikit-learn": sklearn.tree}
SIZES = {"stump": 100_000, "full tree": 20_000}
QUICK = {"stump": 2_000, "full tree": 500}
KEYS = ("model", "samples", "library", "layout", "density", "seed")
VALUES = ("fit", "predict", "depth", "nodes")
SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
"""Ticks of the picture."""


@functools.lru_cache(maxsize=1)
def problem(samples: int, density: float, seed: int) -> tuple[sp.csc_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    draw = functools.partial(rng.standard_normal, dtype=np.float32)
    # A random number of nonzero entries in each feature, at random positions.
    stored = [np.sort(rng.choice(samples, rng.binomial(samples, density), replace=False)) for _ in range(P)]
    places = np.concatenate([[0], np.cumsum([len(at) for at in stored])])
    indices = np.concatenate(stored).astype(np.int32)
    X = sp.csc_array((draw(len(indices)), indices, places.astype(np.int32)), shape=(samples, P))
    return X, rng.random(samples)


def laid_out(X: sp.csc_array, layout: str) -> tuple[Any, Any]:
    """X for the fit, and X for the predictions."""
    if layout == "sparse":
        return X, X.tocsr()
    dense = X.toarray(order="C" if layout == "c" else "F")
    return dense, dense


def cell(model: str, samples: int, library: str, layout: str, density: float, seed: int) -> dict[str, float]:
    X, y = problem(samples, density, seed)
    X_fit, X_predict = laid_out(X, layout)
    tree = LIBRARIES[library].DecisionTreeRegressor(random_state=seed, **MODELS[model])
    start = time.process_time()
    tree.fit(X_fit, y)
    fitted = time.process_time()
    tree.predict(X_predict)
    done = time.process_time()
    found = {"depth": float(tree.tree_.max_depth), "nodes": float(tree.tree_.node_count)}
    return {"fit": fitted - start, "predict": done - fitted} | found


def wanted(args: Any) -> list[tuple[Any, ...]]:
    """Ordered by seeds, so that an interrupted run has results of each kind; layouts of one X one after the other."""
    sizes = QUICK if args.quick else SIZES | {"full tree": args.samples}
    densities = DENSITIES[::3] if args.quick else DENSITIES
    found = [
        (model, sizes[model], "weald", layout, density, seed)
        for seed in range(args.repeat)
        for density in densities
        for model in MODELS
        for layout in LAYOUTS
    ]
    if args.peer:
        found += [
            (model, sizes[model], "scikit-learn", layout, density, 0)
            for density in densities[::2]
            for model in MODELS
            for layout in ("fortran", "sparse")
        ]
    return [key for key in found if args.only in " ".join(map(str, key))]


def summary(cells: Cells) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for key, found in cells.done.items():
        groups.setdefault(key[:-1], []).append(found)
    order = lambda key: (key[0], key[2], key[3], float(key[4]))  # noqa: E731
    return [
        dict(zip(KEYS, key, strict=False))
        | {"repeats": len(groups[key])}
        | {value: mean_std([found[value] for found in groups[key]])[0] for value in VALUES}
        for key in sorted(groups, key=order)
    ]


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The statements of the text, and whether they hold for our measurements."""

    def line(model: str, layout: str, value: str = "fit") -> dict[float, float]:
        mine = [r for r in rows if (r["model"], r["library"], r["layout"]) == (model, "weald", layout)]
        return {float(r["density"]): r[value] for r in mine}

    def better(model: str, first: str, second: str) -> list[float]:
        one, other = line(model, first), line(model, second)
        return [density for density in one if density in other and one[density] < other[density]]

    def row(statement: str, holds: bool, found: str) -> dict[str, Any]:
        return {"statement": statement, "holds": "yes" if holds else "no", "found": found}

    def said(densities: list[float]) -> str:
        return "at densities " + ", ".join(f"{d:g}" for d in densities) if densities else "at no density"

    stump, full = line("stump", "sparse"), line("full tree", "sparse")
    if len(stump) < 2 or len(full) < 2:
        return []
    fast = [d for d in better("stump", "sparse", "fortran") if d in better("stump", "sparse", "c")]
    order = [d for d in better("stump", "fortran", "c") if d in better("full tree", "fortran", "c")]
    deep = better("full tree", "sparse", "fortran")
    depth = line("full tree", "sparse", "depth")
    shallow = [depth[d] for d in sorted(depth)]
    return [
        row("stumps: compressed columns are the fastest at every density", fast == list(stump), said(fast)),
        row("Fortran order is faster than C order", order == list(stump), f"stump and full tree, {said(order)}"),
        row(
            "full trees: compressed columns are faster than Fortran order below 0.02 alone",
            deep == [d for d in full if d < 0.02],
            said(deep),
        ),
        row(
            "full trees: depth falls as density rises",
            all(a >= b for a, b in itertools.pairwise(shallow)),
            ", ".join(f"{d:g}" for d in shallow),
        ),
    ]


def same_trees(cells: Cells) -> bool:
    """Whether all layouts of one X gave trees of the same size and depth."""
    found: dict[tuple[str, ...], set[tuple[float, float]]] = {}
    for (model, samples, library, _, density, seed), values in cells.done.items():
        if library == "weald":
            found.setdefault((model, samples, density, seed), set()).add((values["depth"], values["nodes"]))
    return all(len(kinds) == 1 for kinds in found.values())


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    colours = dict(zip(LAYOUTS, (GREEN, BLUE, ORANGE), strict=True))

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(2, 2, figsize=(8.4, 6), sharex=True)
        for column, model in enumerate(MODELS):
            for at, value in enumerate(("fit", "predict")):
                axis, lines = axes[at, column], []
                axis.set(xscale="log", yscale="log")
                for layout, name in LAYOUTS.items():
                    mine = [r for r in rows if (r["model"], r["library"], r["layout"]) == (model, "weald", layout)]
                    if not mine:
                        continue
                    name = name if layout != "sparse" else ("CSC" if value == "fit" else "CSR")
                    densities = [float(r["density"]) for r in mine]
                    (line,) = axis.plot(densities, [r[value] for r in mine], "o-", color=colours[layout])
                    lines.append((line, name))
                    samples = number(mine[0]["samples"])
                    axis.set_title(f"{model}, {samples} samples")
                name_lines(axis, lines)
                axis.set_xticks([0.001, 0.01, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
                counts(axis, "y", [t for t in SECONDS if axis.get_ylim()[0] <= t <= axis.get_ylim()[1]])
            axes[1, column].set_xlabel("density: share of entries that are not zero")
        axes[0, 0].set_ylabel("processor seconds to fit")
        axes[1, 0].set_ylabel("processor seconds to predict")
        heading(figure, "Time of one regression tree on 1\u202f000 features, by the density and the layout of X")
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--samples", type=int, default=SIZES["full tree"], help="samples of fully grown trees")
        parser.add_argument("--peer", action="store_true", help="scikit-learn of today too, once")

    args = options(__doc__.splitlines()[0], repeat=3, extra=extra)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch8_density_cells.csv", KEYS, VALUES, args.fresh)
    # One at a time, since two at a time would slow each other down.
    cells.run(wanted(args), cell, n_jobs=1)
    if not (rows := summary(cells)):
        return
    write_table(args.out / "ch8_density.csv", rows)
    print_table(rows)
    print(f"trees of equal size and depth from all layouts: {'yes' if same_trees(cells) else 'no'}\n")
    if found := claims(rows):
        write_table(args.out / "ch8_density_claims.csv", found)
        print_table(found)
    plot(rows, args.out / "ch8_density.png")


if __name__ == "__main__":
    main()
