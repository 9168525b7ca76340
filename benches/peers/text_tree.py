"""One fully grown classification tree on 20newsgroup counts (CSC), all features at a node. Goal: 40 times as fast."""

import argparse

import sklearn.tree
import weald
from _data import by_column, text
from _harness import Case, Side, main


def cases(_: argparse.Namespace) -> list[Case]:
    return [
        Case(
            name="tree, 20newsgroup",
            data=text,
            sides={
                "weald": Side(lambda: weald.DecisionTreeClassifier(random_state=0), by_column),
                "scikit-learn": Side(lambda: sklearn.tree.DecisionTreeClassifier(random_state=0), by_column),
            },
            aims={"seconds": 40},
            score=lambda model, data: model.score(data.X_test, data.y_test),
        )
    ]


if __name__ == "__main__":
    main(__doc__, cases)
