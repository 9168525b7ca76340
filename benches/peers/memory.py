"""Peak memory above the inputs while a forest is fitted. Goal: at most 3 × stored entries + the model."""

import argparse
from collections.abc import Callable

import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_y, text
from _harness import Case, Data, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)

    def side(library: object, kind: str, arrange: Callable[[Data], Data]) -> Side:
        make = getattr(library, kind)
        return Side(lambda: make(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1), arrange)

    classifier, regressor = "RandomForestClassifier", "RandomForestRegressor"
    return [
        Case(
            name=f"memory, {name}",
            data=data,
            sides={
                "weald": side(weald, classifier, by_column),
                "scikit-learn": side(sklearn.ensemble, peer, arrange),
            },
            aims={},
            bound_memory=True,
            notes=f"{m} trees",
        )
        for name, data, peer, arrange in (
            ("20newsgroup", text, classifier, by_column),
            ("delicious", delicious, regressor, lambda data: dense_y(by_column(data))),
        )
    ]


if __name__ == "__main__":
    main(__doc__, cases)
