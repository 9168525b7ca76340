"""Conversion of models to JSON and C, which the engine writes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald import _weald
from weald._parameters.types import Estimator
from weald.export._ensemble import fitted_of, head_of

# Keywords up to C23. A name that is one of them, or starts with a reserved prefix, might not compile.
_KEYWORDS = re.compile(
    "alignas|alignof|auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|"
    "enum|extern|false|float|for|goto|if|inline|int|long|main|nullptr|register|restrict|return|"
    "short|signed|sizeof|static|static_assert|struct|switch|thread_local|true|typedef|typeof|"
    "typeof_unqual|union|unsigned|void|volatile|while"
)


def to_json(estimator: BaseEstimator) -> str:
    """Convert a fitted model to JSON, whose schema is in `docs/export.md#json`.

    Numbers are written with full precision: a program that converts X to float32 and adds leaf values as float64, in the
    order of the trees, has exactly the scores of the model. Time and size are O(nodes + stored leaf values).

    >>> import json, weald
    >>> forest = weald.RandomForestClassifier(n_estimators=10).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> content = json.loads(weald.export.to_json(forest))
    >>> content["classes"], len(content["trees"])
    ([[0, 1, 2]], 10)

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.

    Returns
    -------
    str
        A JSON object, without NaN and infinity.
    """
    fitted = fitted_of(estimator, "to_json")
    head = head_of(fitted)
    members = {
        "feature_names": head["feature_names"],
        "categories": _values("categories_", head["categories"]),
        "output_names": head["output_names"],
        "classes": _values("classes_", head["classes"]),
    }
    if head["column_labels"] is not None:
        members["column_labels"] = head["column_labels"]
    text = json.dumps(members, allow_nan=False)[1:-1]
    return _weald.to_json(fitted._engine, head["estimator"], head["threshold"], text, _start_of(fitted))


def to_c(estimator: BaseEstimator, name: str = "model") -> str:
    """Convert a fitted model to a C99 source file, which allocates no memory and only depends on `math.h`.

    For equal float32 features, scores are exactly those of the model if the compiler conforms to IEEE 754 (not with
    `-ffast-math`), up to the rounding of `exp` and `log` of the C library. Code and time to compile are O(nodes +
    stored leaf values). The functions can be called by several threads. What is supported, and more about bits and
    memory, is in `docs/export.md#c`.

    >>> import weald
    >>> tree = weald.DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> "void steps_predict(const float *x, double *out)" in weald.export.to_c(tree, name="steps")
    True

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.
    name : str, default="model"
        Prefix of all names in the file. Must be a C identifier.

    Returns
    -------
    str
        The source code, with `name_scores(const float *x, double *scores)`, which writes NAME_N_SCORES sums over the
        trees, `name_predict(const float *x, double *out)`, which writes NAME_N_COLUMNS predictions or probabilities,
        and for label trees `name_topk`. `x` has the features of one sample; NAN is missing, categories are positions in
        `categories_`.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got a {type(name).__name__}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, flags=re.ASCII) or _KEYWORDS.fullmatch(name):
        raise ValueError(f"name must be a C identifier that is not a keyword and starts with a letter, got {name!r}")
    fitted = fitted_of(estimator, "to_c")
    head = head_of(fitted)
    return _weald.to_c(fitted._engine, name, head["estimator"], head["threshold"], _start_of(fitted))


def _start_of(fitted: Estimator) -> tuple[_weald.LinearModel, str] | None:
    """The linear model that stages start from."""
    found: tuple[_weald.LinearModel, str] | None = None
    if isinstance(fitted._engine, _weald.Boosted):
        found = fitted._linear_part()
    return found


def _values(what: str, arrays: Sequence[NDArray[Any] | None] | None) -> list[Any] | None:
    if arrays is None:
        return None
    found = [None if values is None else values.tolist() for values in arrays]
    for values in found:
        for value in values or ():
            if not isinstance(value, (bool, int, float, str)):
                raise ValueError(
                    f"to_json does not support {what} of type {type(value).__name__}: they must be numbers, strings "
                    "or bools"
                )
    return found
