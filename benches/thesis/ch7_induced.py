"""Forests compressed under the protocol of globally induced forests: a tenth and a hundredth of 1 000 extra-trees.

J.-M. Begon, A. Joly, P. Geurts, Globally induced forest: a prepruning compression scheme (ICML 2017): Friedman1 and
Two-norm, 300 samples to learn from, 2 000 to test on, a forest of 1 000 extra-trees of K = √p features; the compressed
model may have 10 % or 1 % as many nodes. Published errors are mean squares of outputs as they are (the noise of
Friedman1 has variance 1), and shares of wrong classes.

Ours: `InducedForest*`, which is that algorithm, with a learning rate of 10^-1.5 and one candidate drawn at each step, on
the square loss and, for classes, on the logistic loss (the paper's default for classes is a trimmed exponential loss,
which weald does not have); and `method="path"`, the stagewise path of chapter 7 of A. Joly's thesis, cut at half as
many test nodes, which often ends with fewer. Both budgets are points of one path. A cell is one run of one way.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import weald
from _ch7 import N_TEST, N_TRAIN, test_nodes
from _common import Cells, Data, greet, mean_std, options, print_table, published, write_table
from _pictures import BLUE, GREEN, ORANGE, heading, ink, picture
from sklearn.datasets import make_friedman1
from weald.datasets import make_twonorm

TREES = 1_000
SHARES = (0.1, 0.01)
GROW: dict[str, Any] = {"candidate_window": 1, "learning_rate": 10**-1.5}
WAYS: dict[str, dict[str, dict[str, Any]]] = {
    "friedman1": {"grow": GROW, "path": {}},
    "twonorm": {
        "grow": GROW,
        "grow, logistic": GROW | {"loss": "log_loss"},
        "path": {},
        "path, logistic": {"loss": "log_loss"},
    },
}
VALUES = ("forest_error", "forest_nodes", *(f"{what}_{share:g}" for share in SHARES for what in ("error", "nodes")))


@functools.cache
def problem(name: str, seed: int) -> Data:
    """Outputs in their original units, not scaled to mean 0 and deviation 1."""
    if name == "friedman1":
        X, y = make_friedman1(N_TRAIN + N_TEST, n_features=10, noise=1.0, random_state=seed)
    else:
        X, y = make_twonorm(N_TRAIN + N_TEST, random_state=seed)
    return Data(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])


def error(name: str, model: Any, data: Data) -> float:
    predicted = model.predict(data.X_test)
    if name == "friedman1":
        return float(np.mean((predicted - data.y_test) ** 2))
    return float(np.mean(predicted != data.y_test))


def cell(name: str, way: str, seed: int, trees: int) -> dict[str, float]:
    data = problem(name, seed)
    numbers = name == "friedman1"
    kind = weald.ExtraTreesRegressor if numbers else weald.ExtraTreesClassifier
    forest = kind(trees, max_features="sqrt", random_state=seed, n_jobs=1)
    full = forest.fit(data.X, data.y)
    splits = test_nodes(full)
    nodes = 2 * splits + trees
    how = WAYS[name][way]
    grows = "candidate_window" in how
    small = getattr(weald, f"{'Induced' if grows else 'Compressed'}Forest{'Regressor' if numbers else 'Classifier'}")
    most = {"n_nodes": int(SHARES[0] * nodes)}
    if not grows:
        most = {"l1_norm": None, "max_test_nodes": int(SHARES[0] * nodes / 2)}
    model = small(forest, random_state=seed, **how, **most).fit(data.X, data.y)
    found = {"forest_error": error(name, full, data), "forest_nodes": float(nodes)}
    for share in SHARES:
        path = model.path_
        if grows:
            cut = model.at(int(share * nodes))
        else:
            # The last point with at most as many test nodes as the budget.
            step = int(np.flatnonzero(path["n_test_nodes"] <= share * nodes / 2)[-1])
            cut = model.at(path["l1_norm"][step])
        found[f"error_{share:g}"] = error(name, cut, data)
        # Test nodes and leaves of the remaining trees.
        found[f"nodes_{share:g}"] = 2.0 * cut.n_test_nodes_ + trees
    return found


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    known = {(row["problem"], float(row["share"])): float(row["error"]) for row in published("ch7_induced")}
    rows = []
    for name, ways in WAYS.items():
        for way in ways:
            of = functools.partial(cells.of, problem=name, way=way, trees=trees)
            if not (errors := of("forest_error")):
                continue
            for share in SHARES:
                mean, std = mean_std(of(f"error_{share:g}"))
                rows.append(
                    {
                        "problem": name,
                        "way": way,
                        "budget": share,
                        "runs": len(errors),
                        "forest_error": mean_std(errors)[0],
                        "error": mean,
                        "std": std,
                        "nodes": mean_std(of(f"nodes_{share:g}"))[0],
                        "forest_nodes": mean_std(of("forest_nodes"))[0],
                        "published_error": known[name, share],
                    }
                )
    return rows


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    titles = {"friedman1": "Friedman1: mean squared error", "twonorm": "Two-norm: share of wrong classes"}
    colours = (BLUE, ORANGE, GREEN)

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(2, 1, figsize=(7, 5.4), height_ratios=(2, 3))
        for axis, name in zip(axes, WAYS, strict=True):
            mine = [row for row in rows if row["problem"] == name]
            ticks = []
            for at, (way, share) in enumerate((way, share) for share in SHARES for way in WAYS[name]):
                y = at + (share == SHARES[1])
                ticks.append((y, f"{way}, {share:.0%} of the nodes"))
                for row in mine:
                    if (row["way"], row["budget"]) == (way, share):
                        axis.errorbar(
                            [row["error"]],
                            [y],
                            xerr=[row["std"]],
                            fmt="o",
                            color=colours[way.startswith("path")],
                            capsize=2,
                        )
                        axis.plot([row["published_error"]], [y], "o", mfc="none", mec=ink(plt))
            if mine:
                axis.axvline(mine[0]["forest_error"], color=ink(plt), linestyle=":", linewidth=1)
                axis.text(mine[0]["forest_error"], -0.9, " whole forest", fontsize=9, ha="center")
            axis.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
            axis.set_ylim(max(y for y, _ in ticks) + 0.5, -0.6)
            axis.grid(axis="y", visible=False)
            axis.set_xlim(left=0)
            axis.set_title(titles[name], pad=24)
        runs = rows[0]["runs"]
        heading(
            figure,
            "Error after compressing 1\u202f000 extra-trees",
            f"filled: here, means and standard deviations of {runs} runs; open: published for globally induced forests",
        )
        return figure

    picture(path, draw)


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=10, trees=TREES)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch7_induced_cells.csv", ("problem", "way", "seed", "trees"), VALUES, args.fresh)
    wanted = [
        (name, way, seed, args.trees)
        for seed in range(args.repeat)
        for name in WAYS
        for way in WAYS[name]
        if args.only in f"{name} {way}"
    ]
    cells.run(wanted, cell, args.n_jobs)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch7_induced.csv", rows)
        print_table(rows)
        plot(rows, args.out / "ch7_induced.png")


if __name__ == "__main__":
    main()
