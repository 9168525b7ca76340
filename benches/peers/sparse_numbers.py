"""Random forest for ratings: 983 outputs of which 2 % are not zero, 12 920 × 500 sparse. Goal: 20 times as fast.

X and the positions of the non-zero ratings are those of delicious; a rating is one to five, drawn at random. weald
gets them as CSR, scikit-learn, which does not support sparse outputs, as a dense array. √p features at a node.
"""

import argparse
from dataclasses import replace

import numpy as np
import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_y
from _harness import Case, Data, Side, main, n_trees


def ratings() -> Data:
    """Delicious, with a rating from one to five in place of each label."""
    data, rng = delicious(), np.random.default_rng(0)

    def rated(labels: object) -> object:
        y = labels.astype(np.float64).tocsr()
        y.data = rng.integers(1, 6, y.nnz).astype(np.float64)
        return y

    return replace(data, y=rated(data.y), y_test=rated(data.y_test))


def r2(model: object, data: Data) -> float:
    y = data.y_test if type(model).__module__.startswith("weald") else data.y_test.toarray()
    return model.score(data.X_test, y)


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)

    def side(library: object, arrange: object) -> Side:
        forest = library.RandomForestRegressor
        return Side(lambda: forest(m, max_features="sqrt", random_state=0, n_jobs=1), arrange)

    return [
        Case(
            name="random forest, ratings",
            data=ratings,
            sides={
                "weald": side(weald, by_column),
                "scikit-learn": side(sklearn.ensemble, lambda data: dense_y(by_column(data))),
            },
            aims={"seconds": 20},
            score=r2,
            notes=f"{m} trees",
        )
    ]


if __name__ == "__main__":
    main(__doc__.splitlines()[0], cases)
