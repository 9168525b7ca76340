"""Mean decrease of impurity of each feature of the Titanic data, for a tree whose size is chosen on a pruning set.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 3, figure on importances: one decision tree on the passengers of the Titanic; its complexity is the one with the
best accuracy on held-out samples. The thesis does not say which table of passengers it took, and prints no numbers.

Here: the table of R. J. Dawson, "The 'unusual episode' data revisited" (Journal of Statistics Education, 1995), 2 201
people by class, sex, age (adult or child) and survival; a third of the people at random is the pruning set. The path of
complexities is that of minimal cost-complexity pruning (`cost_complexity_pruning_path`, `ccp_alpha`). A cell is one
split; importances are normed to a sum of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import weald
from _common import Cells, greet, mean_std, options, print_table, write_table
from _pictures import BLUE, heading, picture

FEATURES = ("sex", "class", "age")
# Numbers of people by class (first, second, third, crew), for sex, age and survival.
PEOPLE = {
    ("male", "child", 0): (0, 0, 35, 0),
    ("female", "child", 0): (0, 0, 17, 0),
    ("male", "adult", 0): (118, 154, 387, 670),
    ("female", "adult", 0): (4, 13, 89, 3),
    ("male", "child", 1): (5, 11, 13, 0),
    ("female", "child", 1): (1, 13, 14, 0),
    ("male", "adult", 1): (57, 14, 75, 192),
    ("female", "adult", 1): (140, 80, 76, 20),
}
VALUES = (*FEATURES, "leaves", "accuracy", "most_leaves")


def people() -> tuple[np.ndarray, np.ndarray]:
    lines = [
        (float(sex == "female"), float(rank), float(age == "child"), survived)
        for (sex, age, survived), numbers in PEOPLE.items()
        for rank, number in enumerate(numbers, 1)
        for _ in range(number)
    ]
    table = np.array(lines)
    return table[:, :3], table[:, 3]


def cell(seed: int) -> dict[str, float]:
    X, y = people()
    order = np.random.default_rng(seed).permutation(len(y))
    prune, learn = order[: len(y) // 3], order[len(y) // 3 :]
    full = weald.DecisionTreeClassifier(random_state=seed)
    alphas = full.cost_complexity_pruning_path(X[learn], y[learn]).ccp_alphas
    trees = [
        weald.DecisionTreeClassifier(random_state=seed, ccp_alpha=max(float(alpha), 0.0)).fit(X[learn], y[learn])
        for alpha in alphas
    ]
    scores = [tree.score(X[prune], y[prune]) for tree in trees]
    # Among equal accuracies, the smallest tree.
    best = trees[max(i for i, score in enumerate(scores) if score == max(scores))]
    found = dict(zip(FEATURES, map(float, best.feature_importances_), strict=True))
    leaves = {"leaves": float(best.get_n_leaves()), "most_leaves": float(trees[0].get_n_leaves())}
    return found | leaves | {"accuracy": max(scores)}


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(6, 2.2))
        names, means, spread = ([row[k] for row in rows] for k in ("feature", "mean", "std"))
        axis.barh(names, means, xerr=spread, color=BLUE, ecolor=plt.rcParams["text.color"], height=0.6, capsize=3)
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("feature importance (mean decrease of impurity, sum 1)")
        runs = rows[0]["splits"]
        heading(
            figure,
            "Feature importances of a pruned tree: survival on the Titanic",
            f"means of {runs} random splits; whiskers: one standard deviation",
        )
        return figure

    picture(path, draw)


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=20)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch3_importances_cells.csv", ("seed",), VALUES, args.fresh)
    cells.run([(seed,) for seed in range(args.repeat)], cell, args.n_jobs)
    rows: list[dict[str, Any]] = []
    for feature in FEATURES:
        mean, std = mean_std(cells.of(feature))
        rows.append({"feature": feature, "splits": len(cells.done), "mean": mean, "std": std})
        rows[-1] |= {v: mean_std(cells.of(v))[0] for v in ("leaves", "most_leaves", "accuracy")}
    write_table(args.out / "ch3_importances.csv", rows)
    print_table(rows)
    plot(rows, args.out / "ch3_importances.png")


if __name__ == "__main__":
    main()
