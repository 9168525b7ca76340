"""Bias and variance of trees, of bagged trees and of boosted stumps against their size, on Friedman1.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 4, three figures: means over 100 learning sets of 300 samples, error on 20 000 others. Published as curves
without numbers. Said of them in words: (1) the error of one tree rises beyond about 20 leaves, its bias falls and its
variance rises with the number of leaves, its training error falls to zero; (2) bagging fully grown trees reduces the
variance and leaves the bias as it is; of one tree the variance is the greater part; (3) boosting stumps on squared
error reduces the bias, which is the greater part at first, and raises the variance; the error is least in between.

The learning rate of boosting is not published: 0.1 here. Noise has variance 1, which is part of the error. A cell is
one size: models on all learning sets, whose mean prediction of each of the 20 000 samples gives bias and variance.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import weald
from _common import Cells, greet, options, print_table, write_table
from _pictures import BLUE, GREEN, ORANGE, counts, faint, heading, ink, name_lines, picture

N_TRAIN, N_TEST, SETS = 300, 20_000, 100
KINDS = {"tree": "number of leaves", "bagging": "number of trees", "boosting": "number of stumps"}
TITLES = {"tree": "one tree", "bagging": "bagged full trees", "boosting": "boosted stumps"}
SIZES = {
    "tree": (2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 300),
    "bagging": (1, 2, 3, 5, 10, 20, 50, 100),
    "boosting": (1, 3, 10, 30, 100, 200, 300, 1_000, 3_000),
}
VALUES = ("error", "squared_bias", "variance", "training_error")


def friedman1(X: np.ndarray) -> np.ndarray:
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


@functools.cache
def test_part(samples: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1_000_000).random((samples, 10))
    return X, friedman1(X)


def model(kind: str, size: int, seed: int) -> Any:
    if kind == "tree":
        return weald.DecisionTreeRegressor(max_leaf_nodes=size, random_state=seed)
    if kind == "bagging":
        return weald.RandomForestRegressor(size, max_features=None, random_state=seed, n_jobs=1)
    stumps: dict[str, Any] = {"max_depth": None, "max_leaf_nodes": 2, "min_weight_leaf": 0.0, "max_bins": None}
    return weald.GradientBoostingRegressor(n_estimators=size, learning_rate=0.1, random_state=seed, n_jobs=1, **stumps)


def cell(kind: str, size: int, sets: int) -> dict[str, float]:
    X_test, truth = test_part(N_TEST)
    noise = np.random.default_rng(2_000_000).standard_normal(N_TEST)
    total, squares, error, training = np.zeros(N_TEST), np.zeros(N_TEST), 0.0, 0.0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        X = rng.random((N_TRAIN, 10))
        y = friedman1(X) + rng.standard_normal(N_TRAIN)
        fitted = model(kind, size, seed).fit(X, y)
        predicted = fitted.predict(X_test)
        total += predicted
        squares += predicted**2
        error += float(np.mean((predicted - truth - noise) ** 2)) / sets
        training += float(np.mean((fitted.predict(X) - y) ** 2)) / sets
    mean = total / sets
    # With a finite number of training sets, the variance of their mean is part of the apparent bias, and is subtracted.
    variance = (squares / sets - mean**2) * sets / (sets - 1)
    bias = (mean - truth) ** 2 - variance / sets
    return {
        "error": error,
        "squared_bias": float(bias.mean()),
        "variance": float(variance.mean()),
        "training_error": training,
    }


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    of = {kind: {row["size"]: row for row in rows if row["kind"] == kind} for kind in KINDS}
    if any(list(of[kind]) != list(SIZES[kind]) for kind in KINDS):
        return []
    tree, bagging, boosting = of["tree"], of["bagging"], of["boosting"]
    best = min(tree, key=lambda size: tree[size]["error"])
    at = min(boosting, key=lambda size: boosting[size]["error"])
    first, last = bagging[1], bagging[100]
    rises = all(a["variance"] < b["variance"] for a, b in itertools.pairwise(boosting.values()))
    rest = [*tree.values()]
    falls = all(a["training_error"] >= b["training_error"] for a, b in itertools.pairwise(rest))
    return [
        {
            "statement": "one tree: least error at about 20 leaves",
            "holds": "yes" if 10 <= best <= 40 else "no",
            "found": f"{best} leaves, {tree[best]['error']:.2f}; fully grown {rest[-1]['error']:.2f}",
        },
        {
            "statement": "one tree: the training error falls to zero",
            "holds": "yes" if falls and rest[-1]["training_error"] < 1e-6 else "no",
            "found": f"{rest[-1]['training_error']:.2g} with {list(tree)[-1]} leaves",
        },
        {
            "statement": "one tree: variance is most of a full tree's error beside the noise",
            "holds": "yes" if first["variance"] > first["squared_bias"] else "no",
            "found": f"variance {first['variance']:.2f}, squared bias {first['squared_bias']:.2f}",
        },
        {
            "statement": "bagging reduces the variance and leaves the bias",
            "holds": "yes"
            if last["variance"] < first["variance"] / 2
            and abs(last["squared_bias"] - first["squared_bias"]) < 0.25 * first["squared_bias"]
            else "no",
            "found": f"variance {first['variance']:.2f} to {last['variance']:.2f}, "
            f"squared bias {first['squared_bias']:.2f} to {last['squared_bias']:.2f}",
        },
        {
            "statement": "boosting: bias falls, variance rises, the error is least in between",
            "holds": "yes" if rises and 1 < at < list(boosting)[-1] else "no",
            "found": f"least error {boosting[at]['error']:.2f} at {at} stumps",
        },
    ]


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(3, 1, figsize=(6.8, 9.2), sharey=True)
        for axis, kind in zip(axes, KINDS, strict=True):
            mine = [row for row in rows if row["kind"] == kind]
            axis.set(xscale="log", title=TITLES[kind], xlabel=KINDS[kind])
            lines = []
            for value, name, colour in (
                ("error", "error", ink(plt)),
                ("squared_bias", "bias²", ORANGE),
                ("variance", "variance", BLUE),
                ("training_error", "training error", GREEN),
            ):
                if value == "training_error" and kind != "tree":
                    continue
                (line,) = axis.plot([r["size"] for r in mine], [r[value] for r in mine], "o-", color=colour)
                lines.append((line, name))
            axis.axhline(1, color=faint(plt), linestyle=":", linewidth=1)
            axis.set_ylim(0, 26)
            counts(
                axis, "x", {"tree": (2, 5, 20, 100, 300), "bagging": (1, 3, 10, 30, 100)}.get(kind, (1, 10, 100, 1000))
            )
            name_lines(axis, lines)
        axes[1].set_ylabel("mean squared error")
        heading(
            figure,
            "Bias and variance: Friedman1, 300 samples, means over 100 training sets",
            "dotted: the noise, which no model can predict; error = bias² + variance + noise",
        )
        return figure

    picture(path, draw)


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=SETS)
    greet(__doc__.splitlines()[0])
    keys = ("kind", "size", "learning_sets")
    cells = Cells(args.out / "ch4_bias_variance_cells.csv", keys, VALUES, args.fresh)
    wanted = [
        (kind, size, args.repeat)
        for kind in KINDS
        for size in (SIZES[kind][:3] if args.quick else SIZES[kind])
        if args.only in f"{kind} {size}"
    ]
    cells.run(wanted, cell, args.n_jobs)
    rows = [
        {"kind": kind, "size": size, "learning_sets": args.repeat} | cells.done[kind, str(size), str(args.repeat)]
        for kind in KINDS
        for size in SIZES[kind]
        if (kind, str(size), str(args.repeat)) in cells.done
    ]
    if not rows:
        return
    write_table(args.out / "ch4_bias_variance.csv", rows)
    print_table(rows)
    if found := claims(rows):
        write_table(args.out / "ch4_bias_variance_claims.csv", found)
        print_table(found)
    plot(rows, args.out / "ch4_bias_variance.png")


if __name__ == "__main__":
    main()
