"""One Φ for each tree against one Φ for all trees: which is more precise, on average.

Chapter 5 shows that the expected squared error of a forest with one Φ for each tree is at most that of a forest with
one Φ for all (the variance that Φ brings is divided by the number of trees), and finds the same of precision. Here:
random forests of 100 fully grown trees with √p features a node on Gaussian projections; data sets split at random into
parts of the published sizes. The two forests of a pair have the same split and the same seed.

`ch5_scope.csv` has, for each data set and q, the mean difference of label ranking average precision (positive: one Φ
for each tree is better) and the two-sided Wilcoxon signed-rank test over the pairs; the last line takes the mean
differences of all data sets and q as its pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import weald
from _common import (
    Cells,
    fit_and_score,
    greet,
    log_of,
    mean_std,
    options,
    print_table,
    split,
    write_table,
)
from _pictures import BLUE, faint, heading, picture
from ch5_table import SIZES
from scipy.stats import wilcoxon

SETS = ("emotions", "scene", "medical", "bibtex", "CAL500", "corel5k", "delicious")


def grid(name: str) -> list[int]:
    """Numbers of projections: 1, 2, ⌊½ + ln d⌋, 25."""
    return list(dict.fromkeys((1, 2, log_of(SIZES[name][2]), 25)))


def cell(name: str, q: int, scope: str, trees: int, seed: int) -> dict[str, float]:
    n_train, n_test, _ = SIZES[name]
    forest = weald.RandomForestClassifier(
        n_estimators=trees,
        max_features="sqrt",
        random_state=seed,
        n_jobs=1,
        output_projection="gaussian",
        n_projections=q,
        projection_scope=scope,
    )
    return fit_and_score(forest, split(name, n_train, n_test, seed))


def compared(name: str, q: Any, differences: list[float]) -> dict[str, Any]:
    mean, std = mean_std(differences)
    signs = np.sign(differences)
    return {
        "dataset": name,
        "q": q,
        "pairs": len(differences),
        "mean_difference": mean,
        "std": std,
        "better": int((signs > 0).sum()),
        "equal": int((signs == 0).sum()),
        "worse": int((signs < 0).sum()),
        "p_value": float(wilcoxon(differences).pvalue) if np.any(signs) and len(differences) > 1 else 1.0,
    }


def scores(cells: Cells, *key: Any) -> dict[str, float]:
    """The scores by seed, of the cells whose key begins like this."""
    key = tuple(map(str, key))
    return {k[-1]: found["score"] for k, found in cells.done.items() if k[:-1] == key}


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    rows = []
    for name in SETS:
        for q in grid(name):
            own, shared = (scores(cells, name, q, scope, trees) for scope in ("tree", "forest"))
            if differences := [own[seed] - shared[seed] for seed in own if seed in shared]:
                rows.append(compared(name, q, differences))
    if len(rows) > 1:
        rows.append(compared("all", "all", [row["mean_difference"] for row in rows]))
    return rows


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(7, 5.2))
        axis.axvline(0, color=faint(plt), linewidth=1)
        ticks, y = [], 0.0
        for i, row in enumerate(rows):
            # A gap between data sets.
            y += 1.0 if i == 0 or row["dataset"] == rows[i - 1]["dataset"] else 1.7
            error = row["std"] / row["pairs"] ** 0.5
            axis.errorbar([row["mean_difference"]], [y], xerr=[error], fmt="o", color=BLUE, capsize=2)
            ticks.append((y, f"{row['dataset']}, q = {row['q']}"))
        axis.set_yticks([y for y, _ in ticks], [name for _, name in ticks], fontsize=9)
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("difference of label ranking average precision (right of 0: one for each tree is better)")
        pairs = rows[0]["pairs"]
        heading(
            figure,
            "One projection for each tree, compared with one for the whole forest",
            f"means of {pairs} random splits; whiskers: standard error of the mean",
        )
        return figure

    picture(path, draw)


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=10)
    greet(__doc__.splitlines()[0])
    keys = ("dataset", "q", "scope", "trees", "seed")
    cells = Cells(args.out / "ch5_scope_cells.csv", keys, ("score", "seconds"), args.fresh)
    wanted = [
        (name, q, scope, args.trees, seed)
        for seed in range(args.repeat)
        for name in SETS
        for q in grid(name)
        for scope in ("tree", "forest")
        if args.only in f"{name} {q}"
    ]
    cells.run(wanted, cell, args.n_jobs)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch5_scope.csv", rows)
        print_table(rows)
        plot([row for row in rows if row["dataset"] != "all"], args.out / "ch5_scope.png")


if __name__ == "__main__":
    main()
