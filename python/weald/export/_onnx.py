"""Conversion of models to ONNX."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from weald._input.checks import Float
from weald._rounds.linear_start import LEAST_PROBABILITY
from weald.export._ensemble import (
    LINKS,
    Ensemble,
    EnsembleTree,
    Linear,
    Operations,
    by_column,
    constant,
    ensemble_of,
    largest_of,
    nothing,
)

# The limit of the format, less what is not weights.
_MOST_BYTES = 2_000_000_000


def check_size(model: Linear) -> None:
    """Raise if the graph would be larger than the format allows."""
    if (n_bytes := 4 * model.n_features * model.n_scores) > _MOST_BYTES:
        raise ValueError(
            f"to_onnx does not support linear models with weights of more than {_MOST_BYTES} bytes as a dense matrix, got "
            f"{model.n_features} features and {model.n_scores} columns, {n_bytes} bytes; use to_c or to_json"
        )


def linear_scores(graph: Operations, model: Linear, blocks: list[slice]) -> str:
    """What is added to the sums over trees, float64 of shape (n_samples, n_scores); `blocks` are those of outputs."""
    found = _linear_scores(graph, model)
    if model.added == "scores":
        return found
    if model.link == "softmax":
        parts = [graph._op("Softmax", graph._columns(found, block), axis=1) for block in blocks]
        proba = graph._joined(parts)
    else:
        logistic = LINKS["logistic"].in_onnx
        assert logistic is not None
        proba = logistic(graph, found)
    one, least = graph._constant(1.0), graph._constant(LEAST_PROBABILITY)
    proba = graph._op("Min", graph._op("Max", proba, least), graph._constant(1 - LEAST_PROBABILITY))
    logarithms = graph._op("Log", proba)
    if model.added == "log":
        return logarithms
    odds = graph._op("Sub", logarithms, graph._op("Log", graph._op("Sub", one, proba)))
    return graph._op("Mul", odds, graph._constant(0.5))


def _linear_scores(graph: Operations, model: Linear) -> str:
    """The scores, float64 of shape (n_samples, n_scores)."""
    x = graph._cast("X", np.float64)
    if model.idf is not None:
        logarithms = graph._op("Log", graph._op("Add", graph._op("Abs", x), graph._constant(1.0)))
        x = graph._op("Mul", graph._op("Mul", graph._op("Sign", x), logarithms), graph._constant(model.idf))
    if model.features != "given":
        squares = graph._op("ReduceSum", graph._op("Mul", x, x), graph._constant([1], np.int64), keepdims=1)
        is_there = graph._op("Greater", squares, graph._constant(0.0))
        x = graph._op("Div", x, graph._op("Where", is_there, graph._op("Sqrt", squares), graph._constant(1.0)))
    shape = (model.n_features, model.n_scores)
    weights = sparse.csr_array((model.values, model.columns, model.ptr), shape=shape).toarray()
    weights_in_double = graph._cast(graph._constant(weights, np.float32), np.float64)
    margins = graph._op("Add", graph._op("MatMul", x, weights_in_double), graph._constant(model.intercepts))
    scores = graph._op("Mul", margins, graph._constant(model.unit * model.slopes.astype(np.float64)))
    return graph._op("Add", scores, graph._constant(model.unit * model.offsets.astype(np.float64)))


_ML = "ai.onnx.ml"
# Version of the operators of the default ONNX domain that the graphs use, and the file version that belongs to it.
_OPSET, _IR = 18, {3: 8, 5: 10}
# The largest number of the type of the outputs of each version.
_LARGEST = {3: float(np.finfo(np.float32).max), 5: float(np.finfo(np.float64).max)}
# Sums are not scaled for float32 if their binary exponents are at most this, which leaves half of its range.
_USUAL = 64


def to_onnx(estimator: BaseEstimator, *, ml_opset: Literal[3, 5] = 3) -> Any:
    """Convert a fitted model to an ONNX graph.

    Every sample reaches the same leaves as in the original model, and scores agree up to rounding, to float32 with
    `ml_opset=3`. The size is O(nodes + stored leaf values) with `ml_opset=3`, and at most the depth of the trees times
    larger with 5; weights of linear models are dense. Centroid forests, label trees, boosting without trees and values
    beyond float32 raise a ValueError. See `docs/export.md#what-each-format-supports`, and
    `docs/export.md#how-close-the-predictions-are`.

    >>> import numpy as np
    >>> import weald
    >>> X, y = np.arange(8, dtype=np.float32).reshape(-1, 1), np.arange(8) // 3
    >>> graph = weald.export.to_onnx(weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y))
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> predictions, probabilities = session.run(None, {"X": X})

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, boosting model, compressed forest or linear model of weald.
    ml_opset : {3, 5}, default=3
        Version of the `ai.onnx.ml` operators: 3 uses `TreeEnsembleRegressor`, which most runtimes support, with any
        number of scores in a leaf and float32 results; 5 uses `TreeEnsemble`, which onnxruntime supports since version
        1.21, with one score in a leaf and float64 results.

    Returns
    -------
    onnx.ModelProto
        A graph with the float32 input "X", in which NaN is missing and categories are positions in `categories_`. The
        outputs are "predictions" and, for classes and labels, "probabilities" or "scores", for several outputs of
        classes "probabilities_0" and so on. `metadata_props` has names, classes and categories as JSON.

    Raises
    ------
    ImportError
        If `onnx` is not installed (the extra `export` includes it).
    """
    if type(ml_opset) is not int or ml_opset not in (3, 5):
        raise ValueError(f"ml_opset must be 3 or 5, got {ml_opset!r}")
    ensemble = ensemble_of(estimator, "to_onnx")
    if ensemble.linear is not None:
        check_size(ensemble.linear)
    elif ml_opset == 3 and ensemble.link in ("identity", "margin"):
        largest = float(ensemble.largest_scores().max())
        if largest > _LARGEST[3]:
            raise ValueError(
                "to_onnx does not support scores beyond the range of float32 with ml_opset=3, got scores up to "
                f"{largest:.3g}; use ml_opset=5, whose results are float64"
            )
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install onnx") from error
    return _Graph(onnx, ensemble, ml_opset).model()


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self, onnx: Any, ensemble: Ensemble, ml_opset: int) -> None:
        self._onnx = onnx
        self._ensemble = ensemble
        self._ml_opset = ml_opset
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._float = np.dtype(np.float32 if ml_opset == 3 else np.float64)

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _op(self, kind: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add an operator, and return the name of its output."""
        name = output or f"{kind}_{len(self._nodes)}"
        # Optimizers give names to nodes without a name, and some give several nodes the same name.
        node = self._onnx.helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes)
        self._nodes.append(node)
        return name

    def _constant(self, values: object, dtype: object = np.float64) -> str:
        return self._stored(self._tensor(values, dtype))

    def _stored(self, tensor: Any) -> str:
        tensor.name = f"constant_{len(self._constants)}"
        self._constants.append(tensor)
        return str(tensor.name)

    def _tensor(self, values: Any, dtype: Any) -> Any:
        return self._onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), "")

    def _type(self, dtype: Any) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _cast(self, name: str, dtype: object, output: str | None = None) -> str:
        return self._op("Cast", name, output=output, to=self._type(dtype))

    def _give(self, name: str, output: str, dtype: DTypeLike, n_columns: int | None) -> None:
        """Add an output of the graph. Without a number of columns it is one-dimensional."""
        self._cast(name, dtype, output)
        shape = ["n_samples"] if n_columns is None else ["n_samples", n_columns]
        self._outputs.append(self._onnx.helper.make_tensor_value_info(output, self._type(dtype), shape))

    # --- sums over trees ---------------------------------------------------------------------------------------------

    def model(self) -> Any:
        helper, model = self._onnx.helper, self._ensemble
        self._give_outputs(self._scores())
        x = helper.make_tensor_value_info("X", self._type(np.float32), ["n_samples", model.n_features])
        graph = helper.make_graph(self._nodes, model.estimator, [x], self._outputs, self._constants)
        versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_ML, self._ml_opset)]
        made = helper.make_model(graph, opset_imports=versions, ir_version=_IR[self._ml_opset], producer_name="weald")
        helper.set_model_props(made, _names_of(model))
        self._onnx.checker.check_model(made)
        return made

    def _scores(self) -> str:
        """The scores, float64 of shape (n_samples, n_scores)."""
        model = self._ensemble
        if model.linear is None:
            return self._sums()
        linear = linear_scores(self, model.linear, model.blocks())
        return self._op("Add", self._sums(), linear) if model.n_trees else linear

    def _sums(self) -> str:
        """The sums over trees, in the same form."""
        model = self._ensemble
        x, tests = self._with_memberships(self._cast("X", np.float64))
        trees = [_tested(tree, tests) for tree in model.trees()]
        has_factors = any(tree.factors is not None for tree in trees)
        width = model.n_trees if has_factors else model.n_scores
        if has_factors:
            trees = [replace(tree, factors=None, column=t) for t, tree in enumerate(trees)]
        scores = (self._regressor if self._ml_opset == 3 else self._tree_ensemble)(x, trees, width)
        if has_factors:
            scores = self._op("MatMul", scores, self._constant([tree.factors for tree in model.trees()]))
        # Runtimes add the operator's own base values only to scores of which a leaf that is reached has a value.
        if model.start.any():
            # onnxruntime removes the addition of a single number that is zero as float32.
            is_tiny = np.abs(model.start).max() < float(np.finfo(np.float32).smallest_subnormal)
            scores = self._op("Sum" if is_tiny else "Add", scores, self._constant(model.start))
        return scores if model.divisor == 1 else self._op("Div", scores, self._constant(model.divisor))

    def _with_memberships(self, x: str) -> tuple[str, dict[tuple[int, bytes], int]]:
        """X with an additional column of 0 and 1 for each set of categories of a split, and the index of each column.

        The operators for trees do not support sets (version 3), or not large ones in some runtimes (version 5).
        """
        model = self._ensemble
        sets: dict[int, dict[bytes, NDArray[np.uint16]]] = {}
        for tree in model.trees():
            for node, codes in tree.categories.items():
                sets.setdefault(int(tree.feature[node]), {})[codes.tobytes()] = codes
        parts, tests, n = [x], {}, model.n_features
        for feature in sorted(sets):
            of_feature = sets[feature]
            size = 1 + max((int(codes[-1]) for codes in of_feature.values() if len(codes)), default=0)
            # An additional row of zeros, for missing values and values that are in no set.
            table = np.zeros((size + 1, len(of_feature)), dtype=np.uint8)
            for at, (key, codes) in enumerate(of_feature.items()):
                table[codes, at] = 1
                tests[feature, key] = n + at
            n += len(of_feature)
            value = self._op("Gather", x, self._constant(feature, np.int64), axis=1)
            rest = self._constant(float(size))
            is_code = self._op(
                "And", self._op("GreaterOrEqual", value, self._constant(0.0)), self._op("Less", value, rest)
            )
            is_code = self._op("And", is_code, self._op("Equal", value, self._op("Floor", value)))
            row = self._cast(self._op("Where", is_code, value, rest), np.int64)
            parts.append(self._cast(self._op("Gather", self._constant(table, np.uint8), row), np.float64))
        return (self._op("Concat", *parts, axis=1) if len(parts) > 1 else x), tests

    def _regressor(self, x: str, trees: list[EnsembleTree], width: int) -> str:
        """The sums over trees, as float64 numbers that were rounded to float32."""
        scale = _scale_of(trees, width)
        trees = [*(tree if scale is None else _divided(tree, scale) for tree in trees), *_for_absent(trees, width)]
        nodes: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "featureids", "truenodeids")}
        nodes |= {name: [] for name in ("falsenodeids", "missing_value_tracks_true", "modes")}
        thresholds, targets = [], {name: list[int]() for name in ("treeids", "nodeids", "ids")}
        weights: list[Float] = []
        for t, tree in enumerate(trees):
            n, is_leaf = len(tree.feature), tree.feature < 0
            nodes["treeids"] += [t] * n
            nodes["nodeids"] += range(n)
            nodes["featureids"] += np.where(is_leaf, 0, tree.feature).tolist()
            nodes["truenodeids"] += np.where(is_leaf, 0, tree.left).tolist()
            nodes["falsenodeids"] += np.where(is_leaf, 0, tree.right).tolist()
            nodes["missing_value_tracks_true"] += tree.missing_left.astype(int).tolist()
            nodes["modes"] += np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist()
            thresholds.append(tree.threshold)
            # A leaf without values gets the value zero, since runtimes require that every leaf has a target.
            counts = np.diff(tree.ptr)[tree.leaves]
            n_targets = np.maximum(counts, 1)
            is_stored = np.repeat(counts > 0, n_targets)
            ids, added = np.full(len(is_stored), tree.column or 0), np.zeros(len(is_stored))
            added[is_stored] = tree.values
            if tree.column is None:
                ids[is_stored] = tree.columns
            targets["treeids"] += [t] * len(ids)
            targets["nodeids"] += np.repeat(tree.leaves, n_targets).tolist()
            targets["ids"] += ids.tolist()
            weights.append(added)
        attributes: dict[str, Any] = {f"nodes_{name}": values for name, values in nodes.items()}
        attributes |= {f"target_{name}": values for name, values in targets.items()}
        scores = self._op(
            "TreeEnsembleRegressor",
            x,
            domain=_ML,
            n_targets=width,
            aggregate_function="SUM",
            post_transform="NONE",
            nodes_values_as_tensor=self._tensor(np.concatenate(thresholds), np.float64),
            target_weights_as_tensor=self._tensor(np.concatenate(weights), np.float64),
            **attributes,
        )
        scores = self._cast(scores, np.float64)
        return scores if scale is None else self._op("Mul", scores, self._constant(scale))

    def _tree_ensemble(self, x: str, trees: list[EnsembleTree], width: int) -> str:
        """The sums over trees."""
        table, is_there = _Interior(), np.zeros(width, dtype=bool)
        for tree in trees:
            for one in by_column(tree):
                table.add(one)
                is_there[one.column] = True
        for column in np.flatnonzero(~is_there).tolist():
            table.add(nothing(column))
        attributes: dict[str, Any] = {f"nodes_{name}": values for name, values in table.nodes.items()}
        return self._op(
            "TreeEnsemble",
            x,
            domain=_ML,
            n_targets=width,
            aggregate_function=1,
            post_transform=0,
            tree_roots=table.roots,
            nodes_splits=self._tensor(table.splits, np.float64),
            # All modes are BRANCH_LEQ.
            nodes_modes=self._tensor(np.zeros(len(table.splits)), np.uint8),
            leaf_targetids=table.targets,
            leaf_weights=self._tensor(table.weights, np.float64),
            **attributes,
        )

    # --- from scores to predictions ----------------------------------------------------------------------------------

    def _give_outputs(self, scores: str) -> None:
        model = self._ensemble
        linked = self._linked(scores)
        if model.kind == "numbers":
            return self._give(linked, "predictions", self._float, model.n_outputs)
        self._give_predictions(scores)
        name = "probabilities" if model.has_probabilities else "scores"
        blocks = model.blocks()
        if len(blocks) <= 1:
            return self._give(linked, name, self._float, model.n_columns)
        for output, block in enumerate(blocks):
            self._give(self._columns(linked, block), f"{name}_{output}", self._float, block.stop - block.start)
        return None

    def _give_predictions(self, scores: str) -> None:
        model = self._ensemble
        if model.kind == "labels" or model.is_of_two_classes:
            above = self._op("Greater", scores, self._constant(model.threshold))
            if model.kind == "labels":
                return self._give(above, "predictions", np.int64, model.n_outputs)
            places = [self._op("Squeeze", self._cast(above, np.int64), self._constant([1], np.int64))]
        else:
            places = [self._op("ArgMax", self._columns(scores, block), axis=1, keepdims=0) for block in model.blocks()]
        tensors = self._tensors_of_classes()
        found = [self._op("Gather", self._stored(one), place) for one, place in zip(tensors, places, strict=True)]
        if model.n_outputs == 1:
            shape: list[Any] = ["n_samples"]
            output = found[0]
        else:
            axis = self._constant([1], np.int64)
            output = self._op("Concat", *(self._op("Unsqueeze", one, axis) for one in found), axis=1)
            shape = ["n_samples", model.n_outputs]
        kind = tensors[0].data_type
        self._op("Identity", output, output="predictions")
        self._outputs.append(self._onnx.helper.make_tensor_value_info("predictions", kind, shape))
        return None

    def _tensors_of_classes(self) -> list[Any]:
        """The classes of each output."""
        helper, numpy_helper = self._onnx.helper, self._onnx.numpy_helper
        values = _values_of_classes(self._ensemble.classes)
        parts = np.split(values, np.cumsum(self._ensemble.n_classes)[:-1])
        if values.dtype == object:
            return [helper.make_tensor("", self._onnx.TensorProto.STRING, part.shape, part.tolist()) for part in parts]
        return [numpy_helper.from_array(part) for part in parts]

    def _columns(self, scores: str, block: slice) -> str:
        if block == slice(0, self._ensemble.n_scores):
            return scores
        ends = [self._constant([end], np.int64) for end in (block.start, block.stop, 1)]
        return self._op("Slice", scores, *ends)

    def _linked(self, scores: str) -> str:
        """The predictions, float64 of shape (n_samples, n_columns)."""
        model = self._ensemble
        link = LINKS[model.link]
        if model.link == "margin" and model.threshold:
            return self._op("Sub", scores, self._constant(model.threshold))
        if model.link == "softmax":
            parts = [self._op("Softmax", self._columns(scores, block), axis=1) for block in model.blocks()]
            return self._joined(parts)
        if link.in_onnx is None:
            return scores
        found = link.in_onnx(self, scores)
        if model.link == "log":
            return self._op("Min", found, self._constant(_LARGEST[self._ml_opset]))
        if model.is_of_two_classes:
            is_share = model.link == "share"
            first = (
                self._op("Sub", self._constant(1.0), found) if is_share else link.in_onnx(self, self._op("Neg", scores))
            )
            return self._op("Concat", first, found, axis=1)
        if not model.classes:
            return found
        return self._joined([self._divided(self._columns(found, block)) for block in model.blocks()])

    def _joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self._op("Concat", *parts, axis=1)

    def _divided(self, part: str) -> str:
        """Divide by the sum of each row. If all values of a row are zero, they become equal."""
        total = self._op("ReduceSum", part, self._constant([1], np.int64), keepdims=1)
        is_there = self._op("Greater", total, self._constant(0.0))
        ones = self._op("Add", self._op("Mul", part, self._constant(0.0)), self._constant(1.0))
        part = self._op("Where", is_there, part, ones)
        return self._op("Div", part, self._op("ReduceSum", part, self._constant([1], np.int64), keepdims=1))


def _names_of(model: Ensemble) -> dict[str, str]:
    """The names and values that belong to the columns of X and of predictions, as JSON."""
    found: dict[str, Any] = {"feature_names": model.feature_names, "output_names": model.output_names}
    found["classes"] = [values.tolist() for values in model.classes] or None
    if model.categories is not None:
        listed = [None if values is None else values.tolist() for values in model.categories]
        are_plain = all(isinstance(value, (bool, int, float, str)) for values in listed for value in values or ())
        found["categories"] = listed if are_plain else None
    return {name: json.dumps(values) for name, values in found.items() if values is not None}


def _for_absent(trees: list[EnsembleTree], width: int) -> list[EnsembleTree]:
    """A tree that adds zeros to the scores of which some leaf of each tree has no value; none without such scores.

    With it every sample reaches a value of every score, so that nothing depends on how a runtime treats absent values.
    """
    is_there = np.zeros(width, dtype=bool)
    for tree in trees:
        if tree.column is not None:
            # Leaves without values are written with the value zero.
            is_there[tree.column] = True
        else:
            is_there |= np.bincount(tree.columns, minlength=width) == len(tree.leaves)
    absent = np.flatnonzero(~is_there)
    return [constant(absent, np.zeros(len(absent)))] if len(absent) else []


def _scale_of(trees: list[EnsembleTree], width: int) -> Float | None:
    """Powers of two that bring each score well into the range of float32; None if all of them are there already."""
    largest = largest_of(trees, width)
    _, exponents = np.frexp(largest)
    return None if (np.abs(exponents) <= _USUAL).all() else np.ldexp(1.0, exponents)


def _divided(tree: EnsembleTree, scale: Float) -> EnsembleTree:
    by = scale[tree.columns] if tree.column is None else scale[tree.column]
    return replace(tree, values=tree.values / by)


def _values_of_classes(classes: list[NDArray[Any]]) -> NDArray[Any]:
    """The classes of all outputs, one after the other, in a type that ONNX has; strings are objects, as UTF-8."""
    # As in `predict`, the classes of all outputs have a common type.
    values = np.concatenate(classes)
    kind = values.dtype.kind
    if kind in "OU" and all(isinstance(value, str) for value in values.tolist()):
        return np.array([_utf8(value) for value in values.tolist()], dtype=object)
    # Unsigned classes are int64, as most runtimes and their users expect, unless they exceed it.
    unsigned = np.uint64 if kind == "u" and values.max() > np.iinfo(np.int64).max else np.int64
    dtype = {"i": np.int64, "u": unsigned, "b": np.bool_, "f": np.float64}.get(kind)
    if dtype is None or (values.astype(dtype) != values).any():
        names = {"S": "bytes", "O": "objects"}
        raise TypeError(
            f"to_onnx does not support classes of {names.get(kind, values.dtype)}: classes_ must be numbers of at most "
            "64 bits, strings or bools; fit the model to such classes"
        )
    return values.astype(dtype)


def _utf8(value: str) -> bytes:
    try:
        found = value.encode()
    except UnicodeEncodeError:
        found = b"\0"
    # Runtimes that are called from Python leave out NUL at the end of a string.
    if found.endswith(b"\0"):
        raise ValueError(
            f"to_onnx does not support the class {value!r}: classes that are strings must have characters that UTF-8 "
            "can encode, and must not end in NUL"
        )
    return found


def _tested(tree: EnsembleTree, tests: dict[tuple[int, bytes], int]) -> EnsembleTree:
    """The tree with thresholds only: splits on categories test whether the column of their set exceeds one half."""
    if not tree.categories:
        return tree
    feature, threshold, missing = tree.feature.copy(), tree.threshold.copy(), tree.missing_left.copy()
    left, right = tree.left.copy(), tree.right.copy()
    for node, codes in tree.categories.items():
        feature[node] = tests[int(tree.feature[node]), codes.tobytes()]
        threshold[node] = 0.5
        # Members of the set go left and exceed one half, so the children are exchanged. The column is never missing:
        # missing values are not members, and go right as in the engine.
        left[node], right[node], missing[node] = tree.right[node], tree.left[node], False
    tree = replace(tree, feature=feature, threshold=threshold, left=left, right=right)
    return replace(tree, missing_left=missing, categories={})


class _Interior:
    """Trees in the form of `TreeEnsemble`: splits and leaves are stored separately, and all trees together."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.splits: list[float] = []
        names = ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs", "missing_value_tracks_true")
        self.nodes: dict[str, list[int]] = {name: [] for name in names}
        self.targets: list[int] = []
        self.weights: list[float] = []

    def add(self, tree: EnsembleTree) -> None:
        """Add a tree whose leaves store at most one value."""
        is_leaf, root = tree.feature < 0, len(self.splits)
        self.roots.append(root)
        if is_leaf[0]:
            # A tree without splits is represented by a split into two equal leaves. Runtimes differ where both children
            # are the same leaf.
            self._split(0, 0.0, (self._leaves(tree), 1), (self._leaves(tree), 1), 0)
            return
        first = self._leaves(tree)
        place = np.where(is_leaf, first + np.cumsum(is_leaf) - 1, root + np.cumsum(~is_leaf) - 1).tolist()
        for node in np.flatnonzero(~is_leaf).tolist():
            sides = [(place[child], int(is_leaf[child])) for child in (tree.left[node], tree.right[node])]
            feature, missing = int(tree.feature[node]), int(tree.missing_left[node])
            self._split(feature, float(tree.threshold[node]), sides[0], sides[1], missing)

    def _leaves(self, tree: EnsembleTree) -> int:
        """Add the leaves of a tree, and return the index of the first one."""
        left, right = tree.left[0], tree.right[0]
        leaves = tree.leaves
        if len(leaves) > 1:
            is_leaf = tree.feature[[left, right]] < 0
            # onnxruntime (issue 24679) treats a root as a leaf if its children have the same index, even if one is a
            # split and the other a leaf. A leaf that is never reached shifts the indices.
            if is_leaf[0] != is_leaf[1]:
                n_before = np.searchsorted(leaves, left if is_leaf[0] else right)
                split = right if is_leaf[0] else left
                if len(self.weights) + n_before == len(self.splits) + np.count_nonzero(tree.feature[:split] >= 0):
                    self.targets.append(tree.column or 0)
                    self.weights.append(0.0)
        first = len(self.weights)
        counts = np.diff(tree.ptr)[leaves]
        weights = np.zeros(len(leaves))
        weights[counts > 0] = tree.values
        self.weights += weights.tolist()
        self.targets += [tree.column or 0] * len(leaves)
        return first

    def _split(
        self, feature: int, threshold: float, true: tuple[int, int], false: tuple[int, int], missing: int
    ) -> None:
        row = (feature, *true, *false, missing)
        for values, value in zip(self.nodes.values(), row, strict=True):
            values.append(value)
        self.splits.append(threshold)
