"""Boosting and forests on real data with many outputs: the tables of chapter 6, labels and numbers.

A. Joly's thesis (Liège, 2016), tables "LRAP scores over 21 multi-label datasets" and "Performance over 8 multi-output
regression dataset": eight methods, five random splits, label ranking average precision or macro-r². Average ranks with
Friedman's test and Nemenyi's critical difference, Wilcoxon's signed-rank test for each pair.

Boosting: a setting of the grid (learning rate, features, leaves, loss) may take as many steps as fit into 100 T
(labels) or 500 T (numbers), T the time of one step of joint boosting with stumps and square loss on the data set, what
a fit does before its first step left out on both sides; the steps that are kept are those with the best score on a
fifth of the training part. T is measured first and kept. `--settings N` takes the first N of a random order of the 490.
Forests: 100 trees; labels fully grown with √p features, numbers p/3 features and at least 5 rows to split.

Data sets are those at hand. diatoms is another version (398 labels, published 359); mediamill_sample is a tenth of
mediamill, the reuters set another than the published, and neither has a published value here. `--large` adds those with
thousands of labels or a very long time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import weald
from _ch6 import (
    BOOSTING,
    LABEL_SETS,
    LARGE_SETS,
    NUMBER_SETS,
    STUMPS,
    booster,
    critical_difference,
    diagram,
    grid,
    held_out,
    judge,
    leading,
    pairwise,
    random_split,
    ranks,
    seconds_of_a_step,
    validated,
    whole_searches,
    wilcoxon,
)
from _common import Cells, at_hand, greet, mean_std, options, print_table, published, write_table
from _harness import Data
from _pictures import heading, picture
from scipy import stats

METHODS = (*BOOSTING, "st-rf", "mo-rf")
LABEL_NAMES = {"st-gbrt": "br-gbrt", "st-rf": "br-rf"}
PUBLISHED_NAMES = {"wq": "water-quality"}
BUDGET = {"labels": 100, "numbers": 500}
MOST_STEPS = 10_000
KEYS = ("task", "dataset", "method", "seed", "setting", "trees")
VALUES = ("validation", "step", "score", "seconds")


def sets(task: str, args: Any) -> list[str]:
    names = (LABEL_SETS + LARGE_SETS * args.large) if task == "labels" else NUMBER_SETS
    if args.quick:
        names = ("emotions", "medical") if task == "labels" else ("edm", "wq")
    return [name for name in names if at_hand(name) and args.only in f"{task} {name}" and name not in args.without]


def unit(task: str, name: str) -> dict[str, float]:
    """The time T of a data set."""
    part = held_out(random_split(task, name, 0), 0)
    model = booster(task, BOOSTING["gbmort"], 0, loss="squared_error", **STUMPS)
    return {"seconds": min(seconds_of_a_step(model, part, 0.2) for _ in range(3))}


def cell(task: str, name: str, method: str, seed: int, setting: int, trees: int, budget: float) -> dict[str, float]:
    data = random_split(task, name, seed)
    if method in BOOSTING:
        model = booster(task, BOOSTING[method], seed, **grid(task)[setting])
        found = validated(task, model, held_out(data, seed), MOST_STEPS, budget)
        scores, values = found.scores(data.X_test), {"validation": found.score, "step": found.step}
        return values | {"score": judge(task, scores, data.y_test), "seconds": found.seconds}
    scores, seconds = forest(task, method, data, seed, trees)
    return {"validation": 0, "step": trees, "score": judge(task, scores, data.y_test), "seconds": seconds}


def forest(task: str, method: str, data: Data, seed: int, trees: int) -> tuple[np.ndarray, float]:
    """Scores on the test part: one forest for all outputs, or one for each."""
    common: dict[str, Any] = {"n_estimators": trees, "random_state": seed, "n_jobs": 1}
    start = time.perf_counter()
    if task == "numbers":
        make = lambda: weald.RandomForestRegressor(max_features=1 / 3, min_samples_split=5, **common)  # noqa: E731
        if method == "mo-rf":
            scores = make().fit(data.X, data.y).predict(data.X_test)
        else:
            scores = np.column_stack([make().fit(data.X, y).predict(data.X_test) for y in data.y.T])
    else:
        make = lambda: weald.RandomForestClassifier(max_features="sqrt", **common)  # noqa: E731
        if method == "mo-rf":
            scores = make().fit(data.X, data.y).predict_proba(data.X_test)
        else:
            scores = np.column_stack([of_one(make(), data, y) for y in columns(data.y)])
    return scores, time.perf_counter() - start


def columns(Y: Any) -> Iterator[np.ndarray]:
    Y = Y.tocsc()
    for j in range(Y.shape[1]):
        yield Y[:, [j]].toarray().ravel().astype(np.int64)


def of_one(model: Any, data: Data, y: np.ndarray) -> np.ndarray:
    """The probability of one label, which is constant for a label that has a single value."""
    if y.min() == y.max():
        return np.full(data.X_test.shape[0], float(y[0]))
    return model.fit(data.X, y).predict_proba(data.X_test)[:, 1]


def searches(cells: Cells, args: Any, task: str, name: str) -> tuple[int, list[int]]:
    """The settings of the searches of a data set that are complete for all methods, and their splits."""

    def there(seed: int, setting: int) -> bool:
        methods = METHODS if setting == 0 else BOOSTING
        keys = [tuple(map(str, (task, name, method, seed, setting, args.trees))) for method in methods]
        return all(key in cells.done for key in keys)

    done = {seed: leading(there(seed, setting) for setting in range(args.settings)) for seed in range(args.repeat)}
    return whole_searches({seed: count for seed, count in done.items() if count})


def chosen(
    cells: Cells, args: Any, task: str, name: str, method: str, settings: int, splits: list[int]
) -> list[dict[str, float]]:
    """For each split, the setting with the best score on the held-out samples."""
    best = []
    for seed in splits:
        tried = range(settings if method in BOOSTING else 1)
        found = [cells.done[tuple(map(str, (task, name, method, seed, s, args.trees)))] for s in tried]
        best.append(max(found, key=lambda c: c["validation"]))
    return best


def shown(task: str, method: str) -> str:
    return LABEL_NAMES.get(method, method) if task == "labels" else method


def table(cells: Cells, args: Any, task: str) -> list[dict[str, Any]]:
    known = {(r["dataset"], r["method"]): r for r in published("ch6_tables") if r["task"] == task}
    rows = []
    for name in sets(task, args):
        settings, splits = searches(cells, args, task, name)
        best = {m: chosen(cells, args, task, name, m, settings, splits) for m in METHODS} if splits else {}
        means = {m: mean_std([c["score"] for c in found]) for m, found in best.items()}
        for method, rank in zip(best, ranks([mean for mean, _ in means.values()]), strict=True):
            theirs = known.get((PUBLISHED_NAMES.get(name, name), shown(task, method)), {})
            rows.append(
                {
                    "dataset": name,
                    "method": shown(task, method),
                    "splits": len(splits),
                    "settings": settings,
                    "mean": means[method][0],
                    "std": means[method][1],
                    "rank": rank,
                    "published_mean": theirs.get("mean", ""),
                    "published_std": theirs.get("std", ""),
                    "published_rank": theirs.get("rank", ""),
                    "agrees": agrees(means[method], theirs),
                    "median_step": float(np.median([c["step"] for c in best[method]])),
                    "seconds": mean_std([c["seconds"] for c in best[method]])[0],
                }
            )
    return rows


def agrees(found: tuple[float, float], theirs: dict[str, Any]) -> bool | str:
    """Whether a mean differs from the published one by at most the larger of the two standard deviations."""
    if not theirs:
        return ""
    return abs(found[0] - float(theirs["mean"])) <= max(found[1], float(theirs["std"]))


def compared(rows: list[dict[str, Any]], task: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Average ranks of our and of the published values, on data sets with all methods; and pairs of methods."""
    names = [shown(task, m) for m in METHODS]
    means = {(r["dataset"], r["method"]): r["mean"] for r in rows}
    theirs = {(r["dataset"], r["method"]): float(r["published_mean"]) for r in rows if r["published_mean"] != ""}

    def whole(of: dict[tuple[str, str], float]) -> np.ndarray:
        found = dict.fromkeys(name for name, _ in of)
        return np.array([[of[d, m] for m in names] for d in found if all((d, m) in of for m in names)])

    ours, printed = whole(means), whole(theirs)
    if len(ours) == 0:
        return [], [], np.nan
    p = stats.friedmanchisquare(*ours.T).pvalue if len(ours) > 1 else np.nan
    difference = critical_difference(len(names), len(ours))
    of_ours = np.mean([ranks(row) for row in ours], axis=0)
    of_printed = np.mean([ranks(row) for row in printed], axis=0) if len(printed) else [np.nan] * len(names)
    found = [
        {
            "method": name,
            "mean_rank": of_ours[i],
            "published_mean_rank_same_sets": of_printed[i],
            "sets": len(ours),
            "published_sets": len(printed),
            "friedman_p": float(p),
            "critical_difference": difference,
        }
        for i, name in enumerate(names)
    ]
    return found, pairwise(dict(zip(names, ours.T, strict=True)), wilcoxon), difference


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--task", choices=["labels", "numbers", "both"], default="both")
        parser.add_argument("--settings", type=int, help="settings of the grid, of 490 (30; with --quick 2)")
        parser.add_argument("--without", nargs="*", default=(), help="data sets to leave out")
        parser.add_argument("--large", action="store_true", help="also " + ", ".join(LARGE_SETS))

    args = options(__doc__.splitlines()[0], repeat=5, extra=extra)
    usual = 2 if args.quick else (len(grid("labels")) if args.draw else 30)
    args.settings = min(args.settings or usual, len(grid("labels")))
    greet(__doc__.splitlines()[0])
    tasks = ("labels", "numbers") if args.task == "both" else (args.task,)

    # Alone on the machine, since all budgets depend on it.
    units = Cells(args.out / "ch6_tables_units.csv", ("task", "dataset"), ("seconds",), args.fresh)
    units.run([(task, name) for task in tasks for name in sets(task, args)], unit, n_jobs=1)

    cells = Cells(args.out / "ch6_tables_cells.csv", KEYS, VALUES, args.fresh)
    # Ordered by splits, then settings, so that an interrupted run has some results of each kind.
    wanted = [
        (task, name, method, seed, setting, args.trees)
        for seed in range(args.repeat)
        for setting in range(args.settings)
        for task in tasks
        for name in sets(task, args)
        for method in METHODS
        if method in BOOSTING or setting == 0
    ]
    cells.run(wanted, cell, args.n_jobs, given=lambda key: (BUDGET[key[0]] * units.done[key[:2]]["seconds"],))

    for task in tasks:
        if not (rows := table(cells, args, task)):
            continue
        write_table(args.out / f"ch6_tables_{task}.csv", rows)
        print_table(rows)
        found, pairs, difference = compared(rows, task)
        if found:
            write_table(args.out / f"ch6_tables_{task}_ranks.csv", found)
            write_table(args.out / f"ch6_tables_{task}_wilcoxon.csv", pairs)
            print_table(found)
            plot(found, task, difference, args.out / f"ch6_tables_{task}.png")


def plot(found: list[dict[str, Any]], task: str, difference: float, path: Any) -> None:
    outputs = {"labels": "labels", "numbers": "numerical outputs"}[task]

    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(7.5, 3.2))
        diagram(axis, {row["method"]: row["mean_rank"] for row in found}, difference)
        heading(
            figure,
            f"Boosting and forests on {found[0]['sets']} data sets with many {outputs}",
            "band: not significantly different from the best (Nemenyi test, 5 %)",
        )
        return figure

    picture(path, draw)


if __name__ == "__main__":
    # One thread for each cell.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
