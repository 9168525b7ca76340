"""Forests on Gaussian subspaces of the outputs: the two tables of chapter 5, random forest and extra-trees.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
tables "Random Forests on Gaussian sub-space" and "Extra trees on Gaussian sub-space": label ranking average precision
of 100 fully grown trees with √p features a node, on the outputs themselves and on q = 1, ⌊½ + ln d⌋, d Gaussian
projections, a fresh Φ for each tree. Every data set here is split at random into parts of the published sizes, as in
the thesis, which does so for all its sets but the three of EUR-Lex; also where an original split exists. Split s is
drawn with seed s, and the forests grown on it have that seed too.

`ch5_table.csv` has our means and standard deviations (n − 1) beside the published ones.

The extra-trees of the thesis are those of scikit-learn 0.14-dev, whose random splitter, as sources of that time show
it, left features that are constant in a node out of the count of the k drawn (pull requests 2813 and 2875 of 2014
rewrote how constant features are treated). weald counts them, as scikit-learn does today. On sparse features nearly
all are constant in nodes of some depth, so that the published trees examined more candidates a node, and were less
random, than k = √p says. `--peer` measures scikit-learn of today on the first splits of the sparse sets, on the
outputs themselves: `ch5_table_peer.csv`.
"""

from __future__ import annotations

from typing import Any

import sklearn.ensemble
import weald
from _common import (
    Cells,
    dense,
    fit_and_score,
    greet,
    log_of,
    mean_std,
    options,
    print_table,
    split,
    write_table,
)
from _pictures import BLUE, heading, ink, picture

FORESTS = {"rf": "RandomForestClassifier", "et": "ExtraTreesClassifier"}
NAMES = {"rf": "random forest", "et": "extra-trees"}
SUBSPACES = ("none", "1", "log", "d")
"""Growth on the outputs themselves, then the numbers of projections."""
PEER_SETS = ("medical", "bibtex", "corel5k", "delicious")
PEER_SPLITS = 3
CONSTANTS = "sparse: constant features count among the k drawn, published: they do not"

# Published sizes (n_LS, n_TS), from the appendix of the thesis, and the number of labels d of our copy.
SIZES = {
    "emotions": (391, 202, 6),
    "scene": (1211, 1196, 6),
    "medical": (333, 645, 45),
    "bibtex": (4880, 2515, 159),
    "CAL500": (376, 126, 174),
    "diatoms": (2065, 1054, 398),
    "corel5k": (4500, 500, 374),
    "delicious": (12920, 3185, 983),
}
NOTES = {"diatoms": "another version: 398 labels (published 359)"}
PEERS = {"rf": sklearn.ensemble.RandomForestRegressor, "et": sklearn.ensemble.ExtraTreesRegressor}
"""On labels as dense numbers, which grows the same trees as the classifier and takes less time and room."""
LEFT_OUT = """Left out, as what is at hand is not what was published:
  reuters: 90 labels and 15165 features, published 34 and 19769
  mediamill: a tenth of the rows only
  Expression-GO, SCOP-GO: the gene ontology sets at hand have other rows, features and labels
The others of the tables (yeast, tmc2007, genbase, enron, Yeast-GO, WIPO, EUR-Lex, bookmarks, drug- and
protein-interaction) are not at hand.
"""

# As published: mean and standard deviation for each of SUBSPACES.
PUBLISHED = {
    "rf": {
        "emotions": ((0.800, 0.014), (0.800, 0.010), (0.810, 0.014), (0.810, 0.016)),
        "scene": ((0.870, 0.003), (0.875, 0.007), (0.872, 0.004), (0.872, 0.004)),
        "medical": ((0.848, 0.009), (0.836, 0.011), (0.842, 0.014), (0.841, 0.009)),
        "bibtex": ((0.566, 0.004), (0.513, 0.006), (0.548, 0.007), (0.564, 0.008)),
        "CAL500": ((0.504, 0.011), (0.504, 0.004), (0.506, 0.007), (0.502, 0.010)),
        "diatoms": ((0.700, 0.010), (0.650, 0.010), (0.670, 0.010), (0.710, 0.020)),
        "corel5k": ((0.303, 0.012), (0.309, 0.011), (0.307, 0.011), (0.299, 0.013)),
        "delicious": ((0.384, 0.004), (0.381, 0.003), (0.382, 0.002), (0.383, 0.004)),
    },
    "et": {
        "emotions": ((0.81, 0.01), (0.81, 0.014), (0.80, 0.013), (0.81, 0.014)),
        "scene": ((0.873, 0.004), (0.876, 0.003), (0.877, 0.007), (0.878, 0.006)),
        "medical": ((0.855, 0.008), (0.867, 0.009), (0.872, 0.006), (0.862, 0.008)),
        "bibtex": ((0.584, 0.005), (0.538, 0.005), (0.564, 0.004), (0.583, 0.004)),
        "CAL500": ((0.5, 0.007), (0.502, 0.008), (0.499, 0.007), (0.503, 0.009)),
        "diatoms": ((0.73, 0.01), (0.69, 0.01), (0.71, 0.01), (0.73, 0.01)),
        "corel5k": ((0.285, 0.009), (0.313, 0.011), (0.309, 0.009), (0.285, 0.011)),
        "delicious": ((0.354, 0.003), (0.36, 0.004), (0.358, 0.004), (0.355, 0.003)),
    },
}


def n_projections(subspace: str, d: int) -> int | None:
    return {"none": None, "1": 1, "log": log_of(d), "d": d}[subspace]


def cell(method: str, name: str, subspace: str, trees: int, seed: int) -> dict[str, float]:
    n_train, n_test, d = SIZES[name]
    data = split(name, n_train, n_test, seed)
    if data.y.shape[1] != d:
        raise SystemExit(f"{name} has {data.y.shape[1]} labels, not {d}")
    parameters: dict[str, Any] = {"n_estimators": trees, "max_features": "sqrt", "random_state": seed, "n_jobs": 1}
    if subspace == "peer":
        return fit_and_score(PEERS[method](**parameters), dense(data))
    if (q := n_projections(subspace, d)) is not None:
        parameters |= {"output_projection": "gaussian", "n_projections": q}
    return fit_and_score(getattr(weald, FORESTS[method])(**parameters), data)


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    rows = []
    for method, published in PUBLISHED.items():
        for name in published:
            for subspace, (mean, std) in zip(SUBSPACES, published[name], strict=True):
                where = {"method": method, "dataset": name, "projections": subspace, "trees": trees}
                scores = cells.of("score", **where)
                if not scores:
                    continue
                ours, spread = mean_std(scores)
                rows.append(
                    {
                        "dataset": name,
                        "method": method,
                        "projections": subspace,
                        "q": n_projections(subspace, SIZES[name][2]) or "",
                        "splits": len(scores),
                        "mean": round(ours, 5),
                        "std": round(spread, 5),
                        "published_mean": mean,
                        "published_std": std,
                        "within_one_std": "yes" if abs(ours - mean) <= std else "no",
                        "seconds": mean_std(cells.of("seconds", **where))[0],
                        "note": NOTES.get(name, CONSTANTS if method == "et" and name in PEER_SETS else ""),
                    }
                )
    return rows


def peer_summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    """Both libraries on the splits on which scikit-learn was measured."""
    rows = []
    for method in FORESTS:
        for name in PEER_SETS:
            where = {"method": method, "dataset": name, "trees": trees}
            peers = cells.of("score", projections="peer", **where)
            ours = cells.of("score", projections="none", **where)[: len(peers)]
            if peers and len(ours) == len(peers):
                mean, std = PUBLISHED[method][name][0]
                rows.append(
                    {
                        "dataset": name,
                        "method": method,
                        "splits": len(peers),
                        "mean": round(mean_std(ours)[0], 5),
                        "std": round(mean_std(ours)[1], 5),
                        "scikit_learn_mean": round(mean_std(peers)[0], 5),
                        "scikit_learn_std": round(mean_std(peers)[1], 5),
                        "published_mean": mean,
                        "published_std": std,
                    }
                )
    return rows


def plot(rows: list[dict[str, Any]], method: str, path: Any) -> None:
    rows = [row for row in rows if row["method"] == method]
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    if not names:
        return
    labels = {"none": "none", "1": "q = 1", "log": "q ≈ ln d", "d": "q = d"}

    def draw(plt: Any) -> Any:
        down = (len(names) + 1) // 2
        figure, axes = plt.subplots(down, 2, figsize=(7.4, 0.9 + 2.1 * down), squeeze=False)
        for axis in axes.flat[len(names) :]:
            axis.set_visible(False)
        for axis, name in zip(axes.flat, names, strict=False):
            shown = [row for row in rows if row["dataset"] == name]
            at = [SUBSPACES.index(row["projections"]) for row in shown]
            for shift, mean, std, colour, face in (
                (-0.14, "published_mean", "published_std", ink(plt), "none"),
                (0.14, "mean", "std", BLUE, BLUE),
            ):
                axis.errorbar(
                    [x + shift for x in at],
                    [row[mean] for row in shown],
                    [row[std] for row in shown],
                    fmt="o",
                    color=colour,
                    mfc=face,
                    capsize=2,
                )
            axis.set_xticks(range(len(SUBSPACES)), [labels[s] for s in SUBSPACES], fontsize=9)
            axis.set_xlim(-0.5, len(SUBSPACES) - 0.5)
            axis.set_title(name + (", another version" if name in NOTES else ""))
            axis.grid(axis="x", visible=False)
        figure.supylabel("label ranking average precision", fontsize=10)
        figure.supxlabel("number q of Gaussian projections of the d labels", fontsize=10)
        splits = max(row["splits"] for row in rows)
        heading(
            figure,
            f"{NAMES[method].capitalize()} of 100 trees on projected labels",
            f"filled: here, means of {splits} random splits; open: published; whiskers: one standard deviation",
        )
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--method", choices=[*FORESTS, "both"], default="both")
        parser.add_argument("--peer", action="store_true", help="scikit-learn of today too, where features are sparse")

    args = options(__doc__.splitlines()[0], repeat=10, extra=extra)
    greet(__doc__.splitlines()[0])
    keys = ("method", "dataset", "projections", "trees", "seed")
    cells = Cells(args.out / "ch5_table_cells.csv", keys, ("score", "seconds"), args.fresh)
    methods = list(FORESTS) if args.method == "both" else [args.method]
    # Ordered by splits, so that an interrupted run has some results of each kind.
    wanted = [
        (method, name, subspace, args.trees, seed)
        for seed in range(args.repeat)
        for method in methods
        for name in SIZES
        for subspace in SUBSPACES
        if args.only in f"{method} {name} {subspace}"
    ]
    if args.peer:
        wanted += [
            (method, name, "peer", args.trees, seed)
            for seed in range(min(args.repeat, PEER_SPLITS))
            for method in methods
            for name in PEER_SETS
            if args.only in f"{method} {name} peer"
        ]
    cells.run(wanted, cell, args.n_jobs)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch5_table.csv", rows)
        print_table(rows)
        for method in FORESTS:
            plot(rows, method, args.out / f"ch5_table_{method}.png")
            mine = [row for row in rows if row["method"] == method]
            within = sum(row["within_one_std"] == "yes" for row in mine)
            if mine:
                print(f"{method}: {within} of {len(mine)} means lie within one published standard deviation")
    if rows := peer_summary(cells, args.trees):
        write_table(args.out / "ch5_table_peer.csv", rows)
        print_table(rows)
    print(f"\n{LEFT_OUT}")


if __name__ == "__main__":
    main()
