"""Random forest and extra-trees on 20newsgroup counts (CSC), √p features at a node. Goal: 10 times as fast each."""

import argparse

import sklearn.ensemble
import weald
from _data import by_column, text
from _harness import Case, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=10, quick=3)

    def side(library: object, kind: str) -> Side:
        make = getattr(library, kind)
        return Side(lambda: make(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1), by_column)

    return [
        Case(
            name=f"{kind}, 20newsgroup",
            data=text,
            sides={"weald": side(weald, kind), "scikit-learn": side(sklearn.ensemble, kind)},
            aims={"seconds": 10},
            score=lambda model, data: model.score(data.X_test, data.y_test),
            notes=f"{m} trees",
        )
        for kind in ("RandomForestClassifier", "ExtraTreesClassifier")
    ]


if __name__ == "__main__":
    main(__doc__, cases)
