"""Prediction of the test part by forests fitted beforehand, √p features. Goal: 3 times as fast each.

Forests have 100 trees, but 10 on delicious, where one tree of scikit-learn takes 100 MB.
"""

import argparse
from collections.abc import Callable

import sklearn.ensemble
import weald
from _data import by_column, continuous, delicious, dense_y, text
from _harness import Case, Data, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    many, few = n_trees(args, usual=100, quick=20), n_trees(args, usual=10, quick=3)

    def side(library: object, kind: str, m: int, arrange: Callable[[Data], Data], method: str) -> Side:
        make = getattr(library, kind)
        return Side(lambda: make(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1), arrange, method)

    classifier, regressor = "RandomForestClassifier", "RandomForestRegressor"
    peers = sklearn.ensemble
    return [
        Case(
            name="prediction, 20newsgroup CSR",
            data=text,
            sides={
                "weald": side(weald, classifier, many, by_column, "predict_proba"),
                "scikit-learn": side(peers, classifier, many, by_column, "predict_proba"),
            },
            aims={"seconds": 3},
            work="predict",
            notes=f"{many} trees, 7 532 rows",
        ),
        Case(
            name="prediction, delicious",
            data=delicious,
            sides={
                "weald": side(weald, classifier, few, by_column, "predict_proba"),
                "scikit-learn": side(peers, regressor, few, lambda data: dense_y(by_column(data)), "predict"),
            },
            aims={"seconds": 3},
            work="predict",
            notes=f"{few} trees, 3 185 rows, all 983 scores of each",
        ),
        Case(
            name="prediction, continuous 50 000 x 30",
            data=lambda: swapped(continuous()),
            sides={
                "weald": side(weald, regressor, many, lambda data: data, "predict"),
                "scikit-learn": side(peers, regressor, many, lambda data: data, "predict"),
            },
            aims={"seconds": 3},
            work="predict",
            notes=f"{many} trees fitted on 10 000 rows, 50 000 rows predicted",
        ),
    ]


def swapped(data: Data) -> Data:
    return Data(data.X_test, data.y_test, data.X, data.y)


if __name__ == "__main__":
    main(__doc__.splitlines()[0], cases)
