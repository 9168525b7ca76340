"""Regression forests with 16 outputs on scm20d, all features at every node. Goal: 4 times as fast."""

import argparse

import sklearn.ensemble
import weald
from _data import fortran, scm20d
from _harness import Case, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)

    def side(library: object, kind: str) -> Side:
        make = getattr(library, kind)
        return Side(lambda: make(n_estimators=m, random_state=0, n_jobs=1), fortran)

    return [
        Case(
            name=f"{kind}, scm20d",
            data=scm20d,
            sides={"weald": side(weald, kind), "scikit-learn": side(sklearn.ensemble, kind)},
            aims={"seconds": 4},
            score=lambda model, data: model.score(data.X_test, data.y_test),
            notes=f"{m} trees",
        )
        for kind in ("RandomForestRegressor", "ExtraTreesRegressor")
    ]


if __name__ == "__main__":
    main(__doc__, cases)
