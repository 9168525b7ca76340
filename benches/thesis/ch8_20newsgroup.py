"""Twelve algorithms on 20newsgroup: accuracy, seconds to train and to predict.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 8, last table: 11 314 posts to learn from, 7 532 to test on, 130 107 words; parameters chosen by five folds,
scikit-learn 0.17.1. Posts are scaled to length 1, as the fetcher of scikit-learn had it at that time; raw counts are
another problem for all but the Bernoulli model.

Trees and forests are weald's, the others, and AdaBoost around weald's trees, scikit-learn's. Grids are those of the
thesis but for three: AdaBoost and stochastic gradient descent are tried on a part of theirs, and forests of 1 000 trees
take the parameters that were chosen for 100. `--folds N` tries each setting on the first N of the five folds (default
1: a fifth of the training part is held out once). "training" is what the published column has: seconds of the whole
search and of the last fit. Seconds are those of the processor, one thread.

A cell is one setting on one fold, or the last fit (fold −1).
"""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
import weald
from _common import Cells, greet, options, original, print_table, published, write_table
from _pictures import BLUE, heading, ink, picture
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize

P = 130_107
N_MIN = (2, 5, 10, 15)
DRAWN = {"1": 1, "log p": round(np.log(P)), "√p": "sqrt", "0.001 p": 0.001}


def grid(**values: Any) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def forest(kind: Any, trees: int) -> Callable[..., Any]:
    return functools.partial(kind, n_estimators=trees, random_state=0, n_jobs=1)


def ada_boost(min_samples_split: int, max_features: Any, learning_rate: float) -> Any:
    tree = weald.DecisionTreeClassifier(min_samples_split=min_samples_split, max_features=max_features)
    return sklearn.ensemble.AdaBoostClassifier(tree, n_estimators=100, learning_rate=learning_rate, random_state=0)


SGD = functools.partial(sklearn.linear_model.SGDClassifier, max_iter=100, tol=1e-3, random_state=0)
FORESTS = grid(min_samples_split=N_MIN, max_features=tuple(DRAWN.values()))
# For each name in the table: how the estimator is created, and its settings.
ALGORITHMS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "k-nearest neighbours": (sklearn.neighbors.KNeighborsClassifier, grid(n_neighbors=range(1, 11))),
    "decision tree": (
        functools.partial(weald.DecisionTreeClassifier, random_state=0),
        grid(min_samples_split=N_MIN),
    ),
    "AdaBoost": (
        ada_boost,
        grid(min_samples_split=(2, 15), max_features=("sqrt", 0.001), learning_rate=(1.0, 0.1)),
    ),
    "Bernoulli naive Bayes": (
        sklearn.naive_bayes.BernoulliNB,
        grid(alpha=(1e-10, 0.001, 0.01, 0.1, 1)),
    ),
    "random forest of 100 trees": (forest(weald.RandomForestClassifier, 100), FORESTS),
    "extra-trees of 100 trees": (forest(weald.ExtraTreesClassifier, 100), FORESTS),
    "stochastic gradient descent": (
        SGD,
        grid(loss=("hinge", "log_loss"), penalty=("l2", "elasticnet"), alpha=(1e-5, 1e-4, 1e-3)),
    ),
    "linear SVC": (sklearn.svm.LinearSVC, grid(C=tuple(10.0**i for i in range(-5, 5)))),
    "extra-trees of 1000 trees": (forest(weald.ExtraTreesClassifier, 1000), FORESTS),
    "multinomial naive Bayes": (sklearn.naive_bayes.MultinomialNB, grid(alpha=(1e-10, 0.001, 0.01, 0.1, 1))),
    "random forest of 1000 trees": (forest(weald.RandomForestClassifier, 1000), FORESTS),
    "ridge": (sklearn.linear_model.RidgeClassifier, grid(alpha=(0.0001, 0.001, 0.01, 0.1, 1, 10))),
}
SAME_PARAMETERS = {
    "extra-trees of 1000 trees": "extra-trees of 100 trees",
    "random forest of 1000 trees": "random forest of 100 trees",
}
OF_WEALD = ("decision tree", "random forest", "extra-trees")
FIRST = ("k-nearest neighbours", "decision tree", "multinomial naive Bayes")
KEYS = ("estimator", "setting", "fold")
VALUES = ("accuracy", "fit", "predict")
LAST = -1


@functools.cache
def posts() -> tuple[Any, Any, Any, Any]:
    data = original("20newsgroup")
    return normalize(data.X), data.y.astype(int), normalize(data.X_test), data.y_test.astype(int)


def cell(name: str, setting: int, fold: int) -> dict[str, float]:
    X, y, X_test, y_test = posts()
    if fold != LAST:
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        learn, check = next(itertools.islice(folds, fold, None))
        X, y, X_test, y_test = X[learn], y[learn], X[check], y[check]
    make, settings = ALGORITHMS[name]
    model = make(**settings[setting])
    start = time.process_time()
    with warnings.catch_warnings():
        # Small penalties and few iterations: a part of the grid.
        warnings.simplefilter("ignore")
        model.fit(X, y)
    fitted = time.process_time()
    predicted = model.predict(X_test)
    done = time.process_time()
    accuracy = float(np.mean(predicted == y_test))
    return {"accuracy": accuracy, "fit": fitted - start, "predict": done - fitted}


def chosen(cells: Cells, name: str, folds: int) -> int | None:
    """The setting with the best mean accuracy on the folds; None until all of them are finished."""
    name = SAME_PARAMETERS.get(name, name)
    scores = []
    for setting in range(len(ALGORITHMS[name][1])):
        keys = [(name, str(setting), str(fold)) for fold in range(folds)]
        if not all(key in cells.done for key in keys):
            return None
        scores.append(np.mean([cells.done[key]["accuracy"] for key in keys]))
    return int(np.argmax(scores))


def summary(cells: Cells, folds: int) -> list[dict[str, Any]]:
    rows = []
    for theirs in published("ch8_20newsgroup"):
        name = theirs["estimator"]
        setting = chosen(cells, name, folds)
        last = cells.done.get((name, str(setting), str(LAST)))
        if setting is None or last is None:
            continue
        search = (
            sum(found["fit"] + found["predict"] for key, found in cells.done.items() if key[0] == name)
            - (last["predict"])
        )
        rows.append(
            {
                "estimator": name,
                "library": "weald" if name.startswith(OF_WEALD) else "scikit-learn",
                "chosen": " ".join(f"{k}={v}" for k, v in ALGORITHMS[name][1][setting].items()),
                "tried": 0 if name in SAME_PARAMETERS else len(ALGORITHMS[name][1]),
                "accuracy": last["accuracy"],
                "published_accuracy": float(theirs["accuracy"]),
                "training": search,
                "last_fit": last["fit"],
                "prediction": last["predict"],
                "published_training": float(theirs["training_seconds"]),
                "published_prediction": float(theirs["prediction_seconds"]),
            }
        )
    return rows


def plot(rows: list[dict[str, Any]], path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(8, 4.4))
        for i, row in enumerate(rows):
            axis.plot([row["published_accuracy"], row["accuracy"]], [i, i], color=plt.rcParams["grid.color"], zorder=1)
            axis.plot([row["published_accuracy"]], [i], "o", markersize=6, mfc="none", mec=ink(plt))
            axis.plot([row["accuracy"]], [i], "o", markersize=6, color=BLUE)
        names = [f"{row['estimator']} ({row['library']})" for row in rows]
        axis.set_yticks(range(len(rows)), names)
        axis.set_xlabel("accuracy on the 7 532 posts of the test part")
        axis.grid(axis="y", visible=False)
        heading(figure, "Twelve algorithms on 20newsgroup", "filled: here; open: published")
        return figure

    picture(path, draw)


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--folds", type=int, default=1, help="folds of five that settings are tried on (1)")

    args = options(__doc__.splitlines()[0], repeat=1, extra=extra)
    greet(__doc__.splitlines()[0])
    cells = Cells(args.out / "ch8_20newsgroup_cells.csv", KEYS, VALUES, args.fresh)
    names = [name for name in (FIRST if args.quick else ALGORITHMS) if args.only in name]
    # One at a time, since seconds are part of the table.
    for name in names:
        if name not in SAME_PARAMETERS:
            settings = range(len(ALGORITHMS[name][1]))
            cells.run([(name, s, f) for s in settings for f in range(args.folds)], cell, n_jobs=1)
    for name in names:
        if (setting := chosen(cells, name, args.folds)) is not None:
            cells.run([(name, setting, LAST)], cell, n_jobs=1)
    if rows := summary(cells, args.folds):
        write_table(args.out / "ch8_20newsgroup.csv", rows)
        print_table(rows)
        plot(rows, args.out / "ch8_20newsgroup.png")


if __name__ == "__main__":
    main()
