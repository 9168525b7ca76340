"""Trees and forests against scikit-learn's: seconds and bytes of fits, peak memory, and seconds of predictions.

Text is 20newsgroup as counts (CSC), delicious has 983 labels, ratings are delicious with a number from one to five, drawn
at random, in place of each label. weald gets labels and ratings as CSR. scikit-learn does not support sparse outputs: its
regressor gets them as a dense array, which for labels is the faster of its two ways (its classifier stores two columns for
every label), once with X as CSC and once dense; the better of the two counts. Nodes draw √p features in forests on text,
delicious and in all predictions, and else as many as the defaults say. Scores are of the test part: accuracy, r², and label
ranking average precision. Peak memory of the fits on text and delicious: at most 3 × stored entries + the model.

Forests whose predictions are measured have 100 trees, but 10 on delicious, where one tree of scikit-learn takes 100 MB.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
import weald
from _data import by_column, continuous, delicious, dense_x, dense_y, fortran, scm20d, text
from _harness import Case, Data, Side, main, n_trees
from _scores import ranking_precision

Arrange = Callable[[Data], Data]
FOREST, REGRESSOR = "RandomForestClassifier", "RandomForestRegressor"
DRAWN: dict[str, Any] = {"max_features": "sqrt"}


def labels_dense(data: Data) -> Data:
    return dense_y(by_column(data))


def all_dense(data: Data) -> Data:
    return dense_y(dense_x(data))


def ratings() -> Data:
    data, rng = delicious(), np.random.default_rng(0)

    def rated(labels: Any) -> Any:
        y = labels.astype(np.float64).tocsr()
        y.data = rng.integers(1, 6, y.nnz).astype(np.float64)
        return y

    return replace(data, y=rated(data.y), y_test=rated(data.y_test))


def swapped() -> Data:
    """The larger part of the samples is predicted."""
    data = continuous()
    return Data(data.X_test, data.y_test, data.X, data.y)


def lrap(model: Any, data: Data) -> float:
    method = getattr(model, "predict_proba", None) or model.predict
    return ranking_precision(method(data.X_test), data.y_test)


def score(model: Any, data: Data) -> float:
    is_sparse = hasattr(data.y_test, "toarray") and not type(model).__module__.startswith("weald")
    return float(model.score(data.X_test, data.y_test.toarray() if is_sparse else data.y_test))


def side(library: Any, kind: str, m: int, arrange: Arrange, method: str = "predict", **params: Any) -> Side:
    if "DecisionTree" not in kind:
        params |= {"n_estimators": m, "n_jobs": 1}
    return Side(lambda: getattr(library, kind)(random_state=0, **params), arrange, method)


def fits(args: argparse.Namespace) -> Iterator[Case]:
    def against(
        name: str, data: Callable[[], Data], kind: str, arrange: Arrange, m: int, aims: dict[str, Any], **params: Any
    ) -> Case:
        library = sklearn.tree if "DecisionTree" in kind else sklearn.ensemble
        theirs = {key: value for key, value in params.items() if key != "max_bins"}
        return Case(
            f"{kind}, {name}",
            data,
            {
                "weald": side(weald, kind, m, arrange, **params),
                "scikit-learn": side(library, kind, m, arrange, **theirs),
            },
            {"seconds": None, "model_bytes": None} | aims,
            score=score,
            bound_memory=data is text and kind == FOREST,
            notes="" if "DecisionTree" in kind else f"{m} trees",
        )

    m, more = n_trees(args, usual=5, quick=2), n_trees(args, usual=10, quick=3)
    yield against("20newsgroup", text, "DecisionTreeClassifier", by_column, 1, {"seconds": 40})
    for kind in (FOREST, "ExtraTreesClassifier"):
        yield against("20newsgroup", text, kind, by_column, more, {"seconds": 10}, **DRAWN)
    peers = {
        "scikit-learn, CSC": side(sklearn.ensemble, REGRESSOR, m, labels_dense, **DRAWN),
        "scikit-learn, dense X": side(sklearn.ensemble, REGRESSOR, m, all_dense, **DRAWN),
    }
    yield Case(
        "random forest, delicious",
        delicious,
        {"weald": side(weald, FOREST, m, by_column, **DRAWN)} | peers,
        {"seconds": 60, "model_bytes": 60},
        score=lrap,
        bound_memory=True,
        notes=f"{m} trees",
    )
    yield Case(
        "random forest, ratings",
        ratings,
        {
            "weald": side(weald, REGRESSOR, m, by_column, **DRAWN),
            "scikit-learn, CSC": peers["scikit-learn, CSC"],
        },
        {"seconds": 20},
        score=score,
        notes=f"{m} trees",
    )
    dense: dict[str, Any] = {"Regressor": continuous, "Classifier": partial(continuous, classes=2)}
    for task, data in dense.items():
        name = "continuous 50 000 x 30"
        for kind, aim in (("DecisionTree", 10), ("RandomForest", 5), ("ExtraTrees", 3)):
            yield against(name, data, kind + task, fortran, m, {"seconds": aim})
        name += ", 255 bins"
        yield against(name, data, f"RandomForest{task}", fortran, m, {"seconds": 15}, max_bins=255)
    for kind in (REGRESSOR, "ExtraTreesRegressor"):
        yield against("scm20d", scm20d, kind, fortran, m, {"seconds": 4})


def predictions(args: argparse.Namespace) -> Iterator[Case]:
    many, few = n_trees(args, usual=100, quick=20), n_trees(args, usual=10, quick=3)
    proba, plain = "predict_proba", "predict"
    rows: list[tuple[str, Callable[[], Data], int, tuple[str, Arrange, str], tuple[str, Arrange, str]]] = [
        ("20newsgroup CSR", text, many, (FOREST, by_column, proba), (FOREST, by_column, proba)),
        ("delicious", delicious, few, (FOREST, by_column, proba), (REGRESSOR, labels_dense, plain)),
        ("continuous 50 000 x 30", swapped, many, (REGRESSOR, fortran, plain), (REGRESSOR, fortran, plain)),
    ]
    for name, data, m, ours, theirs in rows:
        sides = {
            library: side(module, kind, m, arrange, method, **DRAWN)
            for library, module, (kind, arrange, method) in (
                ("weald", weald, ours),
                ("scikit-learn", sklearn.ensemble, theirs),
            )
        }
        yield Case(f"prediction, {name}", data, sides, {"seconds": 3}, work="predict", notes=f"{m} trees")


def cases(args: argparse.Namespace) -> Iterator[Case]:
    yield from fits(args)
    yield from predictions(args)


if __name__ == "__main__":
    main(__doc__ or "", cases)
