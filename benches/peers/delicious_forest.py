"""Random forest on delicious, 12 920 × 500 sparse, 983 labels, √p features. Goals: 60 times faster and smaller.

weald gets the labels as CSR. scikit-learn does not support sparse outputs: its regressor gets them as a dense array,
which is the faster of its two ways (its classifier stores two columns for every label), once with X as CSC and once
dense; the better of the two counts. The score is label ranking average precision on the test part.
"""

import argparse
from collections.abc import Callable

import numpy as np
import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_x, dense_y
from _harness import Case, Data, Side, main, n_trees
from sklearn.metrics import label_ranking_average_precision_score


def lrap(model: object, data: Data) -> float:
    method = getattr(model, "predict_proba", None) or model.predict
    return label_ranking_average_precision_score(data.y_test.toarray(), np.asarray(method(data.X_test)))


def make(library: object, kind: str, m: int) -> Callable[[], object]:
    return lambda: getattr(library, kind)(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1)


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=5, quick=2)
    peer = make(sklearn.ensemble, "RandomForestRegressor", m)
    return [
        Case(
            name="random forest, delicious",
            data=delicious,
            sides={
                "weald": Side(make(weald, "RandomForestClassifier", m), by_column),
                "scikit-learn, CSC": Side(peer, lambda data: dense_y(by_column(data))),
                "scikit-learn, dense X": Side(peer, lambda data: dense_y(dense_x(data))),
            },
            aims={"seconds": 60, "model_bytes": 60},
            score=lrap,
            notes=f"{m} trees; model bytes are those of the whole pickle",
        )
    ]


if __name__ == "__main__":
    main(__doc__.splitlines()[0], cases)
