"""Dense continuous data, 50 000 × 30: one tree, random forest, extra-trees. Goals: 10, 5 and 3 times as fast, and 15 times
for a random forest on 255 bins for each feature."""

import argparse
from functools import partial

import sklearn.ensemble
import sklearn.tree
import weald
from _data import continuous, fortran
from _harness import Case, Side, main, n_trees


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)

    def side(library: object, kind: str, **more: int) -> Side:
        params = more if "DecisionTree" in kind else {"n_estimators": m, "n_jobs": 1, **more}
        make = getattr(library, kind)
        return Side(lambda: make(random_state=0, **params), fortran)

    found = []
    for task, data in (("Regressor", continuous), ("Classifier", partial(continuous, classes=2))):
        for kind, bins, aim in (
            ("DecisionTree", {}, 10),
            ("RandomForest", {}, 5),
            ("RandomForest", {"max_bins": 255}, 15),
            ("ExtraTrees", {}, 3),
        ):
            told = ", 255 bins" if bins else ""
            peer = sklearn.tree if kind == "DecisionTree" else sklearn.ensemble
            found.append(
                Case(
                    name=f"{kind}{task}, continuous 50 000 x 30{told}",
                    data=data,
                    sides={"weald": side(weald, kind + task, **bins), "scikit-learn": side(peer, kind + task)},
                    aims={"seconds": aim},
                    score=lambda model, data: model.score(data.X_test, data.y_test),
                    notes="default parameters" if kind == "DecisionTree" else f"default parameters, {m} trees",
                )
            )
    return found


if __name__ == "__main__":
    main(__doc__, cases)
