"""Conversion of models to JSON, and prediction by the result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Never

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald import _weald
from weald._input.checks import Float
from weald._input.described import described
from weald._rounds.linear_start import Added
from weald.export import _json_centroids, _json_label_trees
from weald.export._centroids import centroids_of
from weald.export._ensemble import EnsembleTree, Head, ensemble_of
from weald.export._label_trees import label_trees_of
from weald.export._linear import Linear
from weald.export._links import LINKS
from weald.export._predictor import JsonModel, SumOfParts

FORMAT = "weald.export"
VERSION = 1
_INT = 2**31 - 1
_KINDS = ("numbers", "classes", "labels")


def to_json(estimator: BaseEstimator) -> str:
    """Convert a fitted model to JSON.

    See docs/export.md for the schema.

    >>> import numpy as np
    >>> import weald
    >>> from weald.export import from_json, to_json
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) // 3
    >>> forest = weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> text = to_json(forest)
    >>> bool((from_json(text).predict_proba(X) == forest.predict_proba(X)).all())
    True

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.

    Returns
    -------
    str
        A JSON object, without NaN and infinity.

    See Also
    --------
    from_json : Reads the result.

    Notes
    -----
    Numbers are written with full precision. A program that converts X to float32, and adds leaf values as float64 in
    the order of the trees, obtains exactly the scores of the model. Link functions then agree up to the rounding of
    exp. Time and size are O(nodes + stored leaf values), independently of the number of outputs.
    """
    centroids = centroids_of(estimator)
    label_trees = label_trees_of(estimator)
    ensemble: Head = centroids or label_trees or (with_trees := ensemble_of(estimator, "to_json"))
    head = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": ensemble.estimator,
        "kind": ensemble.kind,
        "n_features": ensemble.n_features,
        "feature_names": ensemble.feature_names,
        "categories": _values("categories_", ensemble.categories),
        "n_outputs": ensemble.n_outputs,
        "output_names": ensemble.output_names,
        "classes": _values("classes_", ensemble.classes),
        "n_scores": ensemble.n_scores,
        "start": ensemble.start.tolist() if ensemble.start.any() else [],
        "divisor": ensemble.divisor,
        "link": ensemble.link,
        "threshold": ensemble.threshold,
    }
    if ensemble.column_labels is not None:
        head["column_labels"] = ensemble.column_labels
    if ensemble.linear is not None:
        head["linear"] = _linear(ensemble.linear)
    listed: Iterator[dict[str, Any]]
    if centroids is not None:
        head["centroids"] = _json_centroids.rules_to_json(centroids)
        listed = map(_json_centroids.tree_to_json, centroids.trees())
    elif label_trees is not None:
        head["label_trees"] = _json_label_trees.rules_to_json(label_trees)
        listed = map(_json_label_trees.tree_to_json, label_trees.trees())
    else:
        listed = map(_tree, with_trees.trees())
    # Tree by tree, so that only the lists of one tree are in memory in addition to the text.
    trees = (json.dumps(tree, allow_nan=False, separators=(",", ":")) for tree in listed)
    return f'{json.dumps(head, allow_nan=False)[:-1]}, "trees": [\n' + ",\n".join(trees) + "\n]}\n"


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


def _linear(model: Linear) -> dict[str, Any]:
    return {
        "link": model.link,
        "added": model.added,
        "features": model.features,
        "idf": None if model.idf is None else model.idf.tolist(),
        "ptr": model.ptr.tolist(),
        "columns": model.columns.tolist(),
        "values": model.values.tolist(),
        "intercepts": model.intercepts.tolist(),
        "slopes": model.slopes.tolist(),
        "offsets": model.offsets.tolist(),
    }


def _tree(tree: EnsembleTree) -> dict[str, Any]:
    return {
        "feature": tree.feature.tolist(),
        "threshold": tree.threshold.tolist(),
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "missing_left": tree.missing_left.astype(int).tolist(),
        "categories": {str(node): codes.tolist() for node, codes in tree.categories.items()},
        "leaf_ptr": tree.ptr.tolist(),
        "leaf_columns": tree.columns.tolist(),
        "leaf_values": tree.values.tolist(),
        "column": tree.column,
        "factors": None if tree.factors is None else tree.factors.tolist(),
    }


def from_json(text: str | bytes) -> JsonModel:
    """Read a model that `to_json` wrote.

    Parameters
    ----------
    text : str or bytes
        The JSON text.

    Returns
    -------
    JsonModel
        A predictor with the methods `predict`, `predict_proba` and `predict_scores`. Its predictions equal those of the
        original model. It is not an estimator; use `weald.save` and `weald.load` for estimators.

    Notes
    -----
    The time is O(length of the text), and no code of the text is run. The trees become those of the engine, which
    predicts as fast as the estimator does, on one thread. Centroid forests predict in Python, sample by sample, which takes
    0.2 to 0.7 ms for each tree.

    Examples
    --------
    See `to_json`.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text must be a string or bytes, got a {type(text).__name__}")
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("text must be JSON with lists that are not nested deeply, got deeper ones") from error
    except ValueError as error:
        raise ValueError(f"text must be JSON: {error}") from error
    return _read(content)


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"numbers must be finite, got {name}")


def _invalid(error: ValueError) -> ValueError:
    """The error with what it is about, unless it says so itself."""
    about = "text is not a valid model: "
    return error if str(error).startswith(about) else ValueError(f"{about}{error}")


def _need(holds: object, fault: str) -> None:
    if not holds:
        raise ValueError(f"text is not a valid model: {fault}")


def _read(content: Any) -> JsonModel:
    _need(isinstance(content, dict), f"it must be an object, got {described(content)}")
    form, version, kind, link = (content.get(name) for name in ("format", "version", "kind", "link"))
    _need(form == FORMAT, f'"format" must be "{FORMAT}", got {described(form)}')
    _need(version == VERSION, f'"version" must be {VERSION}, got {described(version)}')
    _need(kind in _KINDS, f'"kind" must be one of {", ".join(_KINDS)}, got {described(kind)}')
    _need(
        isinstance(link, str) and link in LINKS,
        f'"link" must be one of {", ".join(LINKS)}, got {described(link)}',
    )
    n_features, n_outputs, n_scores = (_size(content, name) for name in ("n_features", "n_outputs", "n_scores"))
    classes = [_any_values(values) for values in _list(content, "classes")]
    n_lists = n_outputs if kind == "classes" else 0
    _need(len(classes) == n_lists, f'"classes" must have length {n_lists}, one list for each output of classes')
    widths = (
        {n_outputs}
        if kind != "classes"
        else {sum(map(len, classes))} | ({1} if list(map(len, classes)) == [2] else set())
    )
    accepted = " or ".join(map(str, sorted(widths)))
    _need(n_scores in widths, f'"n_scores" must be {accepted} for these "classes" and "n_outputs", got {n_scores}')
    start = _floats(content, "start")
    _need(len(start) in (0, n_scores), f'"start" must have length 0 or {n_scores}, got {len(start)}')
    divisor, threshold = _number(content, "divisor"), _number(content, "threshold")
    _need(divisor > 0, f'"divisor" must be positive, got {divisor}')
    categories = content.get("categories")
    if categories is not None:
        categories = [None if values is None else _any_values(values) for values in _list(content, "categories")]
        _need(
            len(categories) == n_features,
            f'"categories" must have length {n_features}, one item for each feature, got {len(categories)}',
        )
    given = _list(content, "trees")
    others = [name for name in ("centroids", "label_trees", "linear") if name in content]
    has_trees = others in ([], ["linear"])
    trees = [_read_tree(tree, f"tree {t}", n_scores) for t, tree in enumerate(given)] if has_trees else []
    head = Head(
        estimator=str(content.get("estimator")),
        kind=kind,
        n_features=n_features,
        n_outputs=n_outputs,
        n_scores=n_scores,
        classes=classes,
        start=start,
        divisor=divisor,
        link=link,
        threshold=threshold,
        n_trees=len(given),
        linear=None,
        feature_names=_names(content, "feature_names", n_features),
        output_names=_names(content, "output_names", n_outputs),
        categories=categories,
        column_labels=_names(content, "column_labels", n_features),
    )
    if not has_trees:
        _need(len(others) == 1, " and ".join(f'"{name}"' for name in others) + " exclude each other")
        reading = _json_centroids.Reading(_need, _integers, _floats, _singles)
        if others == ["centroids"]:
            return JsonModel(head, _json_centroids.read(content["centroids"], given, head, reading))
        try:
            return JsonModel(head, _json_label_trees.read(content["label_trees"], given, head, reading))
        except ValueError as error:
            raise _invalid(error) from error
    of_y = (n_features, kind, n_outputs, head.n_classes)
    linear = _ReadLinear.of(content["linear"], head) if "linear" in content else None
    try:
        weights = None if linear is None else _weald.LinearModel.of_arrays(*of_y, *linear.arrays)
        if weights is not None and not trees:
            return JsonModel(head, weights)
        sums = _weald.DescribedModel(*of_y, n_scores, start.tolist(), divisor, link, trees)
    except ValueError as error:
        raise _invalid(error) from error
    if linear is None or weights is None:
        return JsonModel(head, sums)
    return JsonModel(head, SumOfParts(head, sums, weights, linear.added))


class _ReadLinear(NamedTuple):
    """What is added to the sums over trees, and the arrays, which the engine checks."""

    added: Added
    # What is done with X, inverse document frequencies, and the other arrays.
    arrays: tuple[Any, ...]

    @staticmethod
    def of(content: Any, head: Head) -> _ReadLinear:
        _need(isinstance(content, dict), f'"linear" must be an object, got {described(content)}')
        _need(head.threshold == 0, f'"threshold" must be 0 with "linear", got {head.threshold}')
        _need(head.divisor == 1, f'"divisor" must be 1 with "linear", got {head.divisor}')
        of_kind = "softmax" if head.blocks() else "logistic"
        link, added = content.get("link", of_kind), content.get("added", "scores")
        _need(link == of_kind, f'"link" of "linear" must be "{of_kind}", got {described(link)}')
        _need(
            isinstance(added, str) and added in ("scores", "log", "half_logit"),
            f'"added" must be "scores", "log" or "half_logit", got {described(added)}',
        )
        if head.n_trees == 0:
            _need(head.link == of_kind, f'"link" must be "{of_kind}" with "linear", got "{head.link}"')
            _need(
                len(head.start) == 0 and added == "scores", '"start" must be empty and "added" "scores" without trees'
            )
        else:
            known = ("logistic", "softmax", "one_against_rest")
            _need(head.link in known, f'"link" must be one of {", ".join(known)} with "linear", got "{head.link}"')
        features = content.get("features")
        _need(
            isinstance(features, str) and features in ("given", "normalized", "tfidf"),
            f'"features" must be "given", "normalized" or "tfidf", got {described(features)}',
        )
        ptr, columns = (_integers(content, name, '"linear"') for name in ("ptr", "columns"))
        for name, numbers in (("ptr", ptr), ("columns", columns)):
            _need((numbers >= 0).all() and (numbers < 2**32).all(), f'"{name}" must have numbers from 0 to 2**32 - 1')
        idf = None if content.get("idf") is None else _singles(content, "idf")
        arrays = [_singles(content, name) for name in ("values", "intercepts", "slopes", "offsets")]
        return _ReadLinear(added, (features, idf, (ptr.astype(np.uint64), columns.astype(np.uint32), *arrays)))


def _singles(content: dict[str, Any], name: str) -> NDArray[np.float32]:
    numbers = _floats(content, name)
    with np.errstate(over="ignore"):
        found = numbers.astype(np.float32)
    others = numbers[found != numbers]
    _need(len(others) == 0, f'"{name}" must have float32 numbers, got {others[0] if len(others) else None}')
    return found


class _Tree(NamedTuple):
    """The arrays of a tree, in the engine's types."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    # Splits, and the categories that go left.
    categories: list[tuple[int, list[int]]]
    ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Float
    column: int | None
    factors: Float | None


def _read_tree(content: Any, where: str, n_scores: int) -> _Tree:
    """The arrays of a tree, whose structure the engine checks."""
    _need(isinstance(content, dict), f"{where} must be an object, got {described(content)}")
    names = ("feature", "left", "right", "missing_left", "leaf_ptr", "leaf_columns")
    feature, left, right, missing_left, ptr, columns = (_integers(content, name, where) for name in names)
    threshold, values = _floats(content, "threshold"), _floats(content, "leaf_values")
    with np.errstate(over="ignore"):
        as_float32 = threshold.astype(np.float32)
    others = threshold[as_float32 != threshold]
    _need(len(others) == 0, f"{where} must have float32 thresholds, got {others[0] if len(others) else None}")
    column, factors = content.get("column"), None
    if column is not None:
        _need(
            type(column) is int and 0 <= column < n_scores,
            f'"column" of {where} must be an integer from 0 to {n_scores - 1}, got {described(column)}',
        )
    if content.get("factors") is not None:
        factors = _floats(content, "factors")
        _need(column is None, f'"factors" of {where} must be null if "column" is given, got {len(factors)} values')
        _need(len(factors) == n_scores, f'"factors" of {where} must have length {n_scores}, got {len(factors)}')
    sets = content.get("categories")
    _need(isinstance(sets, dict), f'"categories" of {where} must be an object, got {described(sets)}')
    for node in sets:
        _need(
            node.isascii() and node.isdecimal() and int(node) < len(feature) and feature[int(node)] >= 0,
            f'"categories" of {where} must have indices of splits as keys, got {described(node)}',
        )
    categories = [(int(node), _integers(sets, node, where).tolist()) for node in sets]
    return _Tree(feature, as_float32, left, right, missing_left != 0, categories, ptr, columns, values, column, factors)


def _list(content: dict[str, Any], name: str) -> list[Any]:
    found = content.get(name)
    if not isinstance(found, list):
        raise ValueError(f'text is not a valid model: "{name}" must be a list, got {described(found)}')
    return found


def _size(content: dict[str, Any], name: str) -> int:
    found = content.get(name)
    if type(found) is not int or not 1 <= found <= _INT:
        raise ValueError(
            f'text is not a valid model: "{name}" must be an integer from 1 to {_INT}, got {described(found)}'
        )
    return found


def _number(content: dict[str, Any], name: str) -> float:
    return float(_floats({name: [content.get(name)]}, name)[0])


def _floats(content: dict[str, Any], name: str) -> Float:
    listed = _list(content, name)
    others = [value for value in listed if type(value) not in (int, float)]
    _need(not others, f'"{name}" must have numbers, got {described(others[0] if others else None)}')
    try:
        found = np.array(listed, dtype=np.float64)
    except OverflowError as error:
        raise ValueError(f'text is not a valid model: "{name}" must have finite float64 numbers') from error
    _need(np.isfinite(found).all(), f'"{name}" must have finite float64 numbers')
    return found


def _integers(content: dict[str, Any], name: str, where: str) -> NDArray[np.int64]:
    listed = _list(content, name)
    others = [value for value in listed if type(value) is not int or abs(value) >= 2**53]
    _need(not others, f'"{name}" of {where} must have integers, got {described(others[0] if others else None)}')
    return np.array(listed, dtype=np.int64)


def _any_values(listed: Any) -> NDArray[Any]:
    _need(
        isinstance(listed, list) and listed,
        f"classes and categories must be lists that are not empty, got {described(listed)}",
    )
    kinds = {type(value) for value in listed}
    _need(
        len(kinds) == 1 and kinds <= {bool, int, float, str},
        f"classes and categories must be all bools, all integers, all floats or all strings, got {described(listed)}",
    )
    if kinds != {int}:
        return np.array(listed, dtype=object if kinds == {str} else None)
    # NumPy makes floats of integers of which some exceed int64.
    dtype = np.int64 if max(listed) <= np.iinfo(np.int64).max else np.uint64
    limits = np.iinfo(dtype)
    is_64_bit = limits.min <= min(listed) and max(listed) <= limits.max
    _need(is_64_bit, "classes and categories must be integers of at most 64 bits, got larger ones")
    return np.array(listed, dtype=dtype)


def _names(content: dict[str, Any], name: str, length: int) -> list[str] | None:
    if content.get(name) is None:
        return None
    found = _list(content, name)
    are_strings = all(isinstance(item, str) for item in found)
    _need(
        len(found) == length and are_strings,
        f'"{name}" must be a list of {length} strings, got {described(found)}',
    )
    return found
