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
    """Convert a fitted model to JSON.

    See docs/export.md for the schema.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.

    Returns
    -------
    str
        A JSON object, without NaN and infinity.

    Raises
    ------
    TypeError
        If `estimator` is something else. For `TunedThresholds` and pipelines, the message says which part to export.
    ValueError
        If `estimator` is boosting without trees or with an `init` that is not a linear model of weald, or has classes that
        are neither numbers, strings nor bools.
    sklearn.exceptions.NotFittedError
        If `estimator` is not fitted.

    Notes
    -----
    Numbers are written with full precision. A program that converts X to float32, and adds leaf values as float64 in
    the order of the trees, obtains exactly the scores of the model. Link functions then agree up to the rounding of
    exp. Time and size are O(nodes + stored leaf values), independently of the number of outputs.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> import weald
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) // 3
    >>> forest = weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> content = json.loads(weald.export.to_json(forest))
    >>> content["classes"], len(content["trees"])
    ([[0, 1, 2]], 10)
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

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.
    name : str, default="model"
        Prefix of all names in the file. Must be a C identifier.

    Returns
    -------
    str
        The source code, with tables and the functions `name_scores(const float *x, double *scores)`, which writes
        NAME_N_SCORES sums over the trees, and `name_predict(const float *x, double *out)`, which writes NAME_N_COLUMNS
        predictions; trees of labels have `name_topk`, too. `x` points to the features of one sample. What they write, and
        how missing values and categories are given, is in `docs/export.md#c`.

    Raises
    ------
    TypeError
        If `estimator` is something else, or `name` is not a string.
    ValueError
        If `estimator` is boosting without trees or with an `init` that is not a linear model of weald, has
        more than 2**32 - 1 nodes, leaf values or weights, if a search in label trees may find more than 65 536 labels, or if
        `name` is not a C identifier, is a keyword, or starts with an
        underscore.
    sklearn.exceptions.NotFittedError
        If `estimator` is not fitted.

    Notes
    -----
    For equal float32 features, the scores are exactly those of the model if `double` is an IEEE 754 float64 and the
    compiler conforms to IEEE 754 (not with `-ffast-math`); a linear model, or the start of boosting, with `features_` "tfidf" or
    of more than two classes also uses logarithms and exponentials, whose rounding is that of the C library. Predictions agree
    up to the rounding of `exp`. Centroid forests have the bits of weald. Neither they nor linear models nor label trees support
    missing values. Boosting from a linear model has NAME_N_SCORES doubles on the stack, and label trees have some 40 bytes for
    each label that a search may find. The size of the source code and of the compiled
    program, and the time to compile it, are O(nodes + stored leaf values), with 20 bytes per node and 12 bytes per leaf
    value. A prediction takes time proportional to the lengths of the paths and the stored values of the leaves that are
    reached. The functions only write to the buffer of the caller, so they can be called by several threads.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    >>> tree = weald.DecisionTreeRegressor(max_depth=2).fit(X, y)
    >>> text = weald.export.to_c(tree, name="steps")
    >>> "void steps_predict(const float *x, double *out)" in text
    True
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
