"""Forests, single trees and boosting on two threads against one, weald only. Goal: 1.8 times as fast."""

import argparse
from collections.abc import Callable

import weald
from _data import by_column, by_row, continuous, delicious, fortran, named, plain, smooth, text
from _harness import Case, Data, Side, main, n_trees


def bibtex() -> Data:
    return named("bibtex")


def two_classes() -> Data:
    return smooth(classes=2)


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=40, quick=10)

    def side(kind: str, n_jobs: int, arrange: Callable[[Data], Data]) -> Side:
        make = getattr(weald, kind)
        if kind.startswith("DecisionTree"):
            given = {}
        elif kind.startswith("GradientBoosting"):
            given = {"n_estimators": m, "early_stopping": False}
        else:
            given = {"n_estimators": m, "max_features": "sqrt"}
        return Side(lambda: make(**given, random_state=0, n_jobs=n_jobs), arrange)

    return [
        Case(
            name=f"threads, {kind} on {name}",
            data=data,
            sides={"two threads": side(kind, 2, arrange), "one thread": side(kind, 1, arrange)},
            aims={"seconds": 1.8},
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
            ("GradientBoostingRegressor", "numbers 100 000 x 50", smooth, plain),
            ("GradientBoostingClassifier", "two classes 100 000 x 50", two_classes, plain),
            ("GradientBoostingClassifier", "bibtex", bibtex, by_row),
            ("GradientBoostingClassifier", "delicious", delicious, by_row),
        )
    ]


if __name__ == "__main__":
    main(__doc__, cases)
