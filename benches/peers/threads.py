"""Forests and single trees on two threads against one, weald only. Goal for forests: 1.8 times as fast."""

import argparse
from collections.abc import Callable

import weald
from _data import by_column, continuous, delicious, fortran, text
from _harness import Case, Data, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=40, quick=10)

    def side(kind: str, n_jobs: int, arrange: Callable[[Data], Data]) -> Side:
        make = getattr(weald, kind)
        trees = {} if kind.startswith("DecisionTree") else {"n_estimators": m, "max_features": "sqrt"}
        return Side(lambda: make(**trees, random_state=0, n_jobs=n_jobs), arrange)

    return [
        Case(
            name=f"threads, {kind} on {name}",
            data=data,
            sides={"two threads": side(kind, 2, arrange), "one thread": side(kind, 1, arrange)},
            aims={"seconds": None if kind.startswith("DecisionTree") else 1.8},
            notes="a tree" if kind.startswith("DecisionTree") else f"{m} trees",
        )
        for kind, name, data, arrange in (
            ("RandomForestClassifier", "20newsgroup", text, by_column),
            ("RandomForestClassifier", "delicious", delicious, by_column),
            ("RandomForestRegressor", "continuous 50 000 x 30", continuous, fortran),
            ("ExtraTreesRegressor", "continuous 50 000 x 30", continuous, fortran),
            ("DecisionTreeClassifier", "20newsgroup", text, by_column),
            ("DecisionTreeClassifier", "delicious", delicious, by_column),
            ("DecisionTreeRegressor", "continuous 50 000 x 30", continuous, fortran),
        )
    ]


if __name__ == "__main__":
    main(__doc__, cases)
