"""Bytes of a saved forest, weald's pickle against scikit-learn's. Goal on delicious: 60 times smaller."""

import argparse
from collections.abc import Callable

import sklearn.ensemble
import weald
from _data import by_column, continuous, delicious, dense_y, fortran, scm20d, text
from _harness import Case, Data, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)

    def side(library: object, kind: str, arrange: Callable[[Data], Data]) -> Side:
        make = getattr(library, kind)
        return Side(lambda: make(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1), arrange)

    forest = "RandomForestClassifier", "RandomForestRegressor"
    rows = [
        ("delicious", delicious, by_column, forest[0], lambda data: dense_y(by_column(data)), forest[1], 60),
        ("20newsgroup", text, by_column, forest[0], by_column, forest[0], 1),
        ("scm20d", scm20d, fortran, forest[1], fortran, forest[1], 1),
        ("continuous 50 000 x 30", continuous, fortran, forest[1], fortran, forest[1], 1),
    ]
    return [
        Case(
            name=f"bytes, {name}",
            data=data,
            sides={
                "weald": side(weald, our_kind, ours),
                "scikit-learn": side(sklearn.ensemble, their_kind, theirs),
            },
            aims={"model_bytes": aim},
            notes=f"{m} trees",
        )
        for name, data, ours, our_kind, theirs, their_kind, aim in rows
    ]


if __name__ == "__main__":
    main(__doc__, cases)
