"""Conversion of models to JSON, and prediction by the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._validation import Float
from spinney.export._ensemble import LINKS, Ensemble, EnsembleTree, ensemble_of
from spinney.export._predictor import JsonModel

FORMAT = "spinney.export"
VERSION = 1
_INT = 2**31 - 1


def to_json(model: Any) -> str:
    """Convert a fitted model to JSON.

    See docs/export.md for the schema.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosting model or compressed forest of spinney.

    Returns
    -------
    str
        A JSON object, without NaN and infinity.

    Raises
    ------
    TypeError
        If `model` is something else. For `TunedThresholds` and pipelines, the message says which part to export.
    ValueError
        If `model` is a centroid forest, boosting with `estimator` or `init`, or has classes that are neither numbers,
        strings nor bools.
    sklearn.exceptions.NotFittedError
        If `model` is not fitted.

    See Also
    --------
    from_json : Reads the result.

    Notes
    -----
    Numbers are written with full precision. A program that converts X to float32, and adds leaf values as float64 in
    the order of the trees, obtains exactly the scores of the model. Link functions then agree up to the rounding of
    exp. Time and size are O(nodes + stored leaf values), independently of the number of outputs.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> from spinney.export import from_json, to_json
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) // 3
    >>> forest = spinney.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> text = to_json(forest)
    >>> bool((from_json(text).predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    ensemble = ensemble_of(model, "to_json")
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
    # Tree by tree, so that only the lists of one tree are in memory in addition to the text.
    trees = (json.dumps(_tree(tree), allow_nan=False, separators=(",", ":")) for tree in ensemble.trees())
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
        A predictor with the methods `predict`, `predict_proba` and `predict_scores`, which only use numpy. Its
        predictions equal those of the original model. It is not an estimator; use `spinney.save` and `spinney.load` for
        estimators.

    Raises
    ------
    ValueError
        If the text is not a valid model. Every tree is validated before use.
    TypeError
        If `text` is neither a string nor bytes.

    Notes
    -----
    The time is O(length of the text), and no code of the text is run. Predictions are computed by numpy, level by level
    of the trees. Use the estimator or another format if prediction must be fast.

    Examples
    --------
    See `to_json`.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text must be a string or bytes, got a {type(text).__name__}")
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("text is not a model: lists in lists in lists") from error
    except ValueError as error:
        raise ValueError(f"text is not a model: {error}") from error
    return JsonModel(_read(content))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _need(holds: Any, fault: str) -> None:
    if not holds:
        raise ValueError(f"text is not a valid model: {fault}")


def _read(content: Any) -> Ensemble:
    _need(isinstance(content, dict), "it is no object")
    _need(content.get("format") == FORMAT, f'"format" is not "{FORMAT}"')
    _need(content.get("version") == VERSION, f'"version" must be {VERSION}, got {content.get("version")!r}')
    kind, link = content.get("kind"), content.get("link")
    _need(kind in ("numbers", "classes", "labels"), '"kind" is not known')
    _need(link in LINKS, '"link" is not known')
    n_features, n_outputs, n_scores = (_size(content, name) for name in ("n_features", "n_outputs", "n_scores"))
    classes = [_any_values(values) for values in _list(content, "classes")]
    _need(
        len(classes) == (n_outputs if kind == "classes" else 0), '"classes" has not a list for each output of classes'
    )
    widths = (
        {n_outputs}
        if kind != "classes"
        else {sum(map(len, classes))} | ({1} if list(map(len, classes)) == [2] else set())
    )
    _need(n_scores in widths, '"n_scores" does not fit "classes" and "n_outputs"')
    start = _floats(content, "start")
    _need(len(start) in (0, n_scores), '"start" has not a number for each score')
    divisor, threshold = _number(content, "divisor"), _number(content, "threshold")
    _need(divisor > 0, '"divisor" is not positive')
    categories = content.get("categories")
    if categories is not None:
        categories = [None if values is None else _any_values(values) for values in _list(content, "categories")]
        _need(len(categories) == n_features, '"categories" has not an item for each feature')
    listed = _list(content, "trees")
    trees = [_read_tree(tree, f"tree {t}", n_features, n_scores) for t, tree in enumerate(listed)]
    return Ensemble(
        estimator=str(content.get("estimator")),
        kind=kind,
        n_features=n_features,
        n_outputs=n_outputs,
        n_scores=n_scores,
        classes=classes,
        start=start if len(start) else np.broadcast_to(0.0, n_scores),
        divisor=divisor,
        link=link,
        threshold=threshold,
        n_trees=len(trees),
        tree=trees.__getitem__,
        feature_names=_names(content, "feature_names", n_features),
        output_names=_names(content, "output_names", n_outputs),
        categories=categories,
    )


def _read_tree(content: Any, where: str, n_features: int, n_scores: int) -> EnsembleTree:
    _need(isinstance(content, dict), f"{where} is no object")
    feature, left, right = (_integers(content, name, where) for name in ("feature", "left", "right"))
    missing_left, ptr, columns = (
        _integers(content, name, where) for name in ("missing_left", "leaf_ptr", "leaf_columns")
    )
    threshold, values = _floats(content, "threshold"), _floats(content, "leaf_values")
    n = len(feature)
    _need(
        n > 0 and {len(left), len(right), len(missing_left), len(threshold), len(ptr) - 1} == {n},
        f"{where} has arrays of different lengths",
    )
    is_leaf = feature < 0
    _need((feature < n_features).all(), f"{where} tests a feature that is not there")
    _need((left[is_leaf] == -1).all() and (right[is_leaf] == -1).all(), f"{where} has leaves with children")
    below = np.concatenate([left[~is_leaf], right[~is_leaf]])
    after = np.tile(np.flatnonzero(~is_leaf), 2)
    # Each node except the root has exactly one parent, which comes before it: every traversal terminates.
    is_tree = (below > after).all() and np.array_equal(np.sort(below), np.arange(1, n))
    _need(is_tree, f"{where} has nodes without one parent before them")
    with np.errstate(over="ignore"):
        as_float32 = threshold.astype(np.float32)
    _need((as_float32 == threshold).all(), f"{where} has thresholds that are no float32")
    column, factors = content.get("column"), None
    if column is not None:
        _need(type(column) is int and 0 <= column < n_scores, f'"column" of {where} is no score')
    if content.get("factors") is not None:
        factors = _floats(content, "factors")
        _need(column is None and len(factors) == n_scores, f'"factors" of {where} are not one for each score')
    counts = np.diff(ptr)
    _need(
        ptr[0] == 0 and (counts >= 0).all() and ptr[-1] == len(values) == len(columns),
        f'"leaf_ptr" of {where} does not fit',
    )
    _need(not counts[~is_leaf].any(), f"{where} has splits with values")
    width = n_scores if column is None and factors is None else 1
    firsts = np.zeros(len(columns), dtype=bool)
    firsts[ptr[:-1][counts > 0]] = True
    rises = firsts[1:] | (np.diff(columns) > 0)
    _need(
        ((columns >= 0) & (columns < width)).all() and rises.all(),
        f'"leaf_columns" of {where} do not rise from 0 to {width - 1}',
    )
    sets = content.get("categories")
    _need(isinstance(sets, dict), f'"categories" of {where} is no object')
    lists = {}
    for node in sets:
        _need(
            node.isascii() and node.isdecimal() and int(node) < n and not is_leaf[int(node)],
            f'"categories" of {where} has no split {node[:20]!r}',
        )
        found = _integers(sets, node, where)
        _need(
            ((found >= 0) & (found < 2**16)).all() and (np.diff(found) > 0).all(),
            f'"categories" of {where} do not rise from 0',
        )
        lists[int(node)] = found.astype(np.uint16)
    return EnsembleTree(
        feature=feature.astype(np.int32),
        threshold=as_float32,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=missing_left.astype(bool),
        categories=lists,
        ptr=ptr,
        columns=columns,
        values=values,
        column=column,
        factors=factors,
    )


def _list(content: dict[str, Any], name: str) -> list[Any]:
    found = content.get(name)
    if not isinstance(found, list):
        raise ValueError(f'text is not a valid model: "{name}" is no list')
    return found


def _size(content: dict[str, Any], name: str) -> int:
    found = content.get(name)
    if type(found) is not int or not 1 <= found <= _INT:
        raise ValueError(
            f'text is not a valid model: "{name}" must be an integer from 1 to {_INT}, got {str(found)[:40]}'
        )
    return found


def _number(content: dict[str, Any], name: str) -> float:
    return float(_floats({name: [content.get(name)]}, name)[0])


def _floats(content: dict[str, Any], name: str) -> Float:
    listed = _list(content, name)
    _need(all(type(value) in (int, float) for value in listed), f'"{name}" has values that are no numbers')
    try:
        found = np.array(listed, dtype=np.float64)
    except OverflowError as error:
        raise ValueError(f'text is not a valid model: "{name}" has numbers beyond float64') from error
    _need(np.isfinite(found).all(), f'"{name}" has numbers beyond float64')
    return found


def _integers(content: dict[str, Any], name: str, where: str) -> NDArray[np.int64]:
    listed = _list(content, name)
    is_whole = all(type(value) is int and abs(value) < 2**53 for value in listed)
    _need(is_whole, f'"{name}" of {where} has values that are no integers')
    return np.array(listed, dtype=np.int64)


def _any_values(listed: Any) -> NDArray[Any]:
    _need(isinstance(listed, list) and listed, "a list of classes or categories is none, or empty")
    kinds = {type(value) for value in listed}
    _need(len(kinds) == 1 and kinds <= {bool, int, float, str}, "classes or categories are of several kinds")
    found = np.array(listed, dtype=object if kinds == {str} else None)
    _need(kinds == {str} or found.dtype.kind in "biuf", "classes or categories are integers beyond 64 bits")
    return found


def _names(content: dict[str, Any], name: str, length: int) -> list[str] | None:
    if content.get(name) is None:
        return None
    found = _list(content, name)
    _need(len(found) == length and all(isinstance(item, str) for item in found), f'"{name}" are not {length} strings')
    return found
