"""The description of a fitted model that all exporters use: trees, their leaf values, weights, and the link function.

```text
score(x)      = (start + sum over trees t of term_t(leaf_t(x))) / divisor + linear(x)
prediction(x) = link(score(x))
```

Few models have both trees and a linear part: boosting that starts from a linear model.

It is the engine's own form of all models (`weald::model::Additive` of the crate), in arrays. X is float32. A value
goes left if `value <= threshold`, where both are float32; NaN goes in the direction of `missing_left`. At a split on
categories, the listed categories go left and everything else goes right. Sums are float64 in the order of the trees, so
that adding in this order gives exactly the scores of the engine.

Trees are created one at a time during iteration: the cost of an exporter is proportional to the stored values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.base import BaseModel
from weald._fit.boosting import BoostedModel
from weald._input.checks import Float
from weald._input.messages import kind_of
from weald._input.schema import LABELS
from weald._parameters.types import Estimator
from weald._rounds.linear_start import Added

# Scores less than `BENT` from the ends of [0, 1] are mapped into it; predictions are at most exp(`LARGEST_LOG`).
BENT, LARGEST_LOG = _weald.BENT, _weald.LARGEST_LOG


class Operations(Protocol):
    """How to add operations and constants to an ONNX graph. All values are names in the graph."""

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str: ...

    def _constant(self, values: object, dtype: object = np.float64) -> str: ...

    def _cast(self, name: str, dtype: object, output: str | None = None) -> str: ...

    def _columns(self, scores: str, block: slice) -> str: ...

    def _joined(self, parts: list[str]) -> str: ...


def _log(graph: Operations, scores: str) -> str:
    return graph._op("Exp", graph._op("Min", scores, graph._constant(LARGEST_LOG)))


def _logistic(graph: Operations, scores: str) -> str:
    """1 / (1 + exp(-2f)), without overflow, and accurate for small probabilities."""
    e = graph._op("Exp", graph._op("Mul", graph._op("Abs", scores), graph._constant(-2.0)))
    is_up = graph._op("GreaterOrEqual", scores, graph._constant(0.0))
    numerator = graph._op("Where", is_up, graph._constant(1.0), e)
    return graph._op("Div", numerator, graph._op("Add", e, graph._constant(1.0)))


def _share(graph: Operations, scores: str) -> str:
    square, bent, end = graph._constant(BENT * BENT), graph._constant(BENT), graph._constant(1.0 - BENT)

    def tail(beyond: str) -> str:
        beyond = graph._op("Max", beyond, graph._constant(0.0))
        return graph._op("Div", square, graph._op("Add", beyond, bent))

    below = tail(graph._op("Sub", bent, scores))
    above = graph._op("Sub", graph._constant(1.0), tail(graph._op("Sub", scores, end)))
    upper = graph._op("Where", graph._op("Greater", scores, end), above, scores)
    return graph._op("Where", graph._op("Less", scores, bent), below, upper)


@dataclass(frozen=True)
class Link:
    """A link in each format."""

    # The function of a single score as ONNX operations; None if predictions are scores, or if the scores of an output are
    # read together.
    in_onnx: Callable[[Operations, str], str] | None = None
    # The name in treelite and the factor that it applies to scores; None if treelite does not have the link.
    in_treelite: tuple[str, float] | None = None


LINKS = {
    "identity": Link(in_treelite=("identity", 1.0)),
    "log": Link(in_onnx=_log, in_treelite=("exponential", 1.0)),
    "margin": Link(in_treelite=("identity", 1.0)),
    "share": Link(in_onnx=_share),
    "logistic": Link(in_onnx=_logistic, in_treelite=("sigmoid", 2.0)),
    "one_against_rest": Link(in_onnx=_logistic),
    "softmax": Link(in_treelite=("softmax", 1.0)),
}


def by_column(tree: EnsembleTree) -> Iterator[EnsembleTree]:
    """One tree for each column with a value in some leaf, with only the branches that lead to such leaves.

    Other branches end in leaves of value zero. Trees with one column and trees with factors are returned unchanged. The
    total time and number of nodes are O(stored values · depth), and if every leaf has a value in every column at most
    twice the number of stored values.
    """
    if tree.column is not None or tree.factors is not None:
        yield tree
        return
    if len(tree.values) == 0:
        return
    n = len(tree.feature)
    parent = np.full(n, -1)
    splits = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[splits]] = splits
    parent[tree.right[splits]] = splits
    node_of_cell = np.repeat(np.arange(n), np.diff(tree.ptr))
    order = np.argsort(tree.columns, kind="stable")
    columns, firsts = np.unique(tree.columns[order], return_index=True)
    is_kept = np.zeros(n, dtype=bool)
    place = np.full(n, -1)
    for column, cells in zip(columns.tolist(), np.split(order, firsts[1:]), strict=True):
        leaves = node_of_cell[cells]
        kept = _with_ancestors(leaves, parent, is_kept)
        place[kept] = np.arange(len(kept))
        yield _pruned(tree, kept, place, column, dict(zip(place[leaves].tolist(), tree.values[cells], strict=True)))
        is_kept[kept] = False
        place[kept] = -1


def _with_ancestors(leaves: NDArray[np.intp], parent: NDArray[np.intp], is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The nodes on the paths to leaves, in ascending order. They are also marked."""
    levels = []
    level = leaves
    while len(level):
        is_kept[level] = True
        levels.append(level)
        level = np.unique(parent[level])
        level = level[level >= 0]
        level = level[~is_kept[level]]
    return np.sort(np.concatenate(levels))


def _pruned(
    tree: EnsembleTree, kept: NDArray[np.intp], place: NDArray[np.intp], column: int, values: dict[int, float]
) -> EnsembleTree:
    """The tree of these nodes, in which leaves of value zero replace the other children."""
    feature = tree.feature[kept]
    left, right = tree.left[kept].copy(), tree.right[kept].copy()
    n = len(kept)
    for children in (left, right):
        splits = np.flatnonzero(feature >= 0)
        found = place[children[splits]]
        absent = np.flatnonzero(found < 0)
        found[absent] = n + np.arange(len(absent))
        children[splits] = found
        n += len(absent)
    more = n - len(kept)
    nodes = sorted(values)
    counts = np.zeros(n, dtype=np.int64)
    counts[nodes] = 1
    return replace(
        tree,
        feature=np.append(feature, np.full(more, -1, dtype=np.int32)),
        threshold=np.append(tree.threshold[kept], np.zeros(more, dtype=np.float32)),
        left=np.append(left, np.full(more, -1, dtype=np.int32)),
        right=np.append(right, np.full(more, -1, dtype=np.int32)),
        missing_left=np.append(tree.missing_left[kept], np.zeros(more, dtype=bool)),
        categories={int(place[node]): codes for node, codes in tree.categories.items() if place[node] >= 0},
        ptr=np.append(0, np.cumsum(counts)),
        columns=np.zeros(len(nodes), dtype=np.int64),
        values=np.array([values[node] for node in nodes]),
        column=column,
    )


Single = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Weights of features."""

    n_features: int
    n_scores: int
    # "logistic" or "softmax": what its scores mean.
    link: str
    # What is added to the sums over trees: its scores, or the logarithms or half the log-odds of its probabilities.
    added: Added
    # "given", "normalized" or "tfidf".
    features: str
    idf: Single | None
    # Feature j has the weights values[ptr[j]:ptr[j + 1]] for these columns of scores, which are in ascending order.
    ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Single
    intercepts: Single
    # 1 and 0 if the model is not calibrated.
    slopes: Single
    offsets: Single

    @property
    def unit(self) -> float:
        """The factor of scores."""
        return 1.0 if self.link == "softmax" else 0.5

    @property
    def is_calibrated(self) -> bool:
        """Whether there are slopes and offsets."""
        return bool((self.slopes != 1).any() or self.offsets.any())


def linear_of(engine: _weald.LinearModel, added: Added = "scores") -> Linear:
    """The description of a model of the engine."""
    ptr, columns, values, intercepts, slopes, offsets = engine.arrays()
    return Linear(
        n_features=engine.n_features,
        n_scores=engine.width,
        link=engine.link,
        added=added,
        # Weights of standardised features are those of X as it is given.
        features="given" if engine.features == "standardized" else engine.features,
        idf=engine.idf(),
        ptr=ptr.astype(np.int64),
        columns=columns.astype(np.int64),
        values=values,
        intercepts=intercepts,
        slopes=slopes,
        offsets=offsets,
    )


Kind: TypeAlias = Literal["numbers", "classes", "labels"]


@dataclass(frozen=True)
class EnsembleTree:
    """A tree. Arrays have one item per node. Children come after their parents, and node 0 is the root."""

    # -1 in leaves.
    feature: NDArray[np.int32]
    # 0 in leaves and for splits on categories.
    threshold: NDArray[np.float32]
    # -1 in leaves.
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    # For each node that is a split on categories: those that go left, in ascending order.
    categories: dict[int, NDArray[np.uint16]]
    # Leaf i has values in columns[ptr[i]:ptr[i + 1]], which are in ascending order. Splits have no values.
    ptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Float
    # If not None, leaves have one value, which is added to this score only.
    column: int | None = None
    # If not None, of shape (n_scores,): leaves have one value, which is multiplied by the factor of each score.
    factors: Float | None = None

    @property
    def leaves(self) -> NDArray[np.intp]:
        """The nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    def leaf(self, node: int) -> tuple[NDArray[np.int64], Float]:
        """The scores that a leaf of a tree without factors contributes to, in ascending order, and its values."""
        cells = slice(self.ptr[node], self.ptr[node + 1])
        columns = self.columns[cells]
        return (columns if self.column is None else np.full_like(columns, self.column)), self.values[cells]


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """A model, as described in the docstring of this module."""

    # The name of the class of the estimator.
    estimator: str
    kind: Kind
    n_features: int
    n_outputs: int
    n_scores: int
    # The classes of each output; empty for regression targets and labels.
    classes: list[NDArray[Any]]
    # Of shape (n_scores,).
    start: Float
    divisor: float
    link: str
    # The score above which a label, or the second of two classes, is predicted; 0 for regression targets.
    threshold: float
    n_trees: int
    # Returns tree t.
    tree: Callable[[int], EnsembleTree]
    # What is added to the sums over trees; the only part of a linear model.
    linear: Linear | None
    feature_names: list[str] | None
    output_names: list[str] | None
    # For each feature, its categories, whose codes are their positions, or None. None if no feature is categorical.
    categories: list[NDArray[Any] | None] | None
    # The labels of the columns of X as text, if they are neither names nor the numbers 0, 1 and so on.
    column_labels: list[str] | None = None

    @property
    def n_classes(self) -> list[int]:
        """The number of classes of each output; empty for regression targets and labels."""
        return list(map(len, self.classes))

    @property
    def is_of_two_classes(self) -> bool:
        """Whether a single score determines the probabilities of two classes."""
        return self.n_scores == 1 and self.n_classes == [2]

    @property
    def n_columns(self) -> int:
        """Number of columns of predictions: one for each regression target, label, or class of each output.

        For two classes without probabilities there is one.
        """
        return 2 if self.is_of_two_classes and self.link != "margin" else self.n_scores

    @property
    def has_probabilities(self) -> bool:
        """Whether predictions are probabilities, which includes the class frequencies of forests."""
        return self.kind != "numbers" and self.link != "margin"

    def blocks(self) -> list[slice]:
        """The scores of each output of classes; empty if a single score determines two classes, or without classes."""
        if not self.classes or self.is_of_two_classes:
            return []
        ends = np.cumsum(self.n_classes).tolist()
        return [slice(end - n, end) for end, n in zip(ends, self.n_classes, strict=True)]

    def trees(self) -> Iterator[EnsembleTree]:
        """Iterate over all trees, each of which is created when it is reached."""
        return map(self.tree, range(self.n_trees))

    def largest_scores(self) -> Float:
        """An upper bound of the absolute value of each score, of shape (n_scores,)."""
        return (np.abs(self.start) + largest_of(self.trees(), self.n_scores)) / self.divisor


def fitted_of(model: BaseEstimator, exporter: str) -> BaseModel:
    """A fitted estimator of weald whose predictions are those of the engine, with the attributes of one fit.

    Error messages contain the name `exporter`.
    """
    if not isinstance(model, BaseModel):
        raise TypeError(_refusal(model, exporter))
    check_is_fitted(model)
    name, fitted = type(model).__name__, model._twin()
    if not isinstance(fitted, BoostedModel):
        return fitted
    if fitted._weak is not None:
        raise ValueError(
            f"{exporter} does not support {name} with estimator=: its weak models are not trees of weald; fit it "
            "with estimator=None, or pickle it"
        )
    if fitted._init is not None and fitted._linear_part() is None:
        raise ValueError(
            f"{exporter} does not support {name} with init=: its scores start from those of another model, "
            f'{type(fitted._init).__name__}; fit it with init=None or init="linear", or pickle it'
        )
    if len(fitted._loss._levels) > 1:
        raise ValueError(
            f"{exporter} does not support {name} with several levels of quantiles, which it sorts: fit a model for each "
            "level, or use weald.save and weald.load"
        )
    return fitted


def ensemble_of(model: BaseEstimator, exporter: str) -> Ensemble:
    """The description of a fitted estimator of weald. Error messages contain the name `exporter`."""
    fitted = fitted_of(model, exporter)
    if isinstance(fitted._engine, _weald.LinearModel):
        return _of_linear(fitted)
    if not fitted._tests_features:
        raise ValueError(
            f"{exporter} does not support {type(model).__name__}: {fitted._why_no_tests}; use {fitted._exported_by}"
            "weald.save and weald.load, or export a RandomForest or ExtraTrees estimator fitted to the same data"
        )
    if isinstance(fitted._engine, _weald.Boosted):
        return _of_boosting(fitted)
    compressed = fitted._engine if isinstance(fitted._engine, _weald.Compressed) else None
    forest = fitted._forest
    return _described(
        fitted,
        n_scores=forest.width,
        start=np.zeros(forest.width),
        divisor=float(forest.n_trees_of_an_output),
        link="identity" if compressed is None else compressed.link,
        n_trees=forest.n_trees,
        tree=lambda index: _tree_of(forest.tree(index), column=index % forest.width if forest.by_output else None),
    )


def trees_of(model: BaseEstimator, exporter: str) -> Ensemble:
    """The same for a format that has trees alone."""
    found = ensemble_of(model, exporter)
    if found.linear is None:
        return found
    what = f"{found.estimator} whose trees start from a linear model" if found.n_trees else found.estimator
    instead = (
        "fit it with init=None"
        if found.n_trees
        else "use weald.save and weald.load, or export a RandomForest or ExtraTrees estimator fitted to the same data"
    )
    raise ValueError(
        f"{exporter} does not support {what}: it has weights of features, which the format, of trees alone, cannot "
        f"represent; use to_json, to_c or to_onnx, or {instead}"
    )


# What to export in place of a model with this attribute.
_INSTEAD = {
    "steps": "export the last step of a pipeline",
    "best_estimator_": "export its best_estimator_",
    "estimator_": "export its estimator_, and apply what is around it to the predictions",
    "regressor_": "export its regressor_, and apply the inverse transformation to the predictions",
    "estimators_": "export each of its estimators_",
    "estimator": "export the fitted estimator that it is made of",
}


def _refusal(model: BaseEstimator, exporter: str) -> str:
    accepted = "fitted trees, forests, boosted and compressed models of weald"
    message = f"estimator is {kind_of(model)}, but {exporter} takes {accepted}"
    # Its own attributes, since some models also have those of the estimator inside them.
    own = getattr(model, "__dict__", {})
    instead = next((told for name, told in _INSTEAD.items() if name in own), None)
    if isinstance(model, type):
        instead = "pass an instance, after its fit" if issubclass(model, BaseModel) else None
    return message if instead is None else f"{message}; {instead}"


def _of_boosting(fitted: Estimator) -> Ensemble:
    model, linear = fitted._model, fitted._linear_part()
    forest, term = model.forest, model.term
    steps = model.learning_rate * model.step_sizes() if term == "rank_one" else None

    def tree(index: int) -> EnsembleTree:
        assert forest is not None
        return _tree_of(
            forest.tree(index),
            column=index % model.width if term == "column" else None,
            factors=None if steps is None else steps[index],
        )

    return _described(
        fitted,
        n_scores=model.width,
        start=model.start(),
        divisor=1.0,
        link=model.link,
        n_trees=0 if forest is None else forest.n_trees,
        tree=tree,
        linear=None if linear is None else linear_of(*linear),
    )


def _of_linear(fitted: Estimator) -> Ensemble:
    engine = fitted._model
    return _described(
        fitted,
        n_scores=engine.width,
        start=np.zeros(engine.width),
        divisor=1.0,
        link=engine.link,
        n_trees=0,
        tree=nothing,
        linear=linear_of(engine),
    )


def _described(fitted: Estimator, **parts: Any) -> Ensemble:
    """The description, with the parts that all fitted estimators have in common."""
    return Ensemble(**({"linear": None} | head_of(fitted) | parts))


def head_of(fitted: Estimator) -> dict[str, Any]:
    """What all fitted estimators have in common."""
    kind: Kind = "numbers"
    classes: list[NDArray[Any]] = []
    if hasattr(fitted, "classes_"):
        kind = "classes" if fitted._label_format is None else "labels"
    if kind == "classes":
        classes = [fitted.classes_] if fitted.n_outputs_ == 1 else list(fitted.classes_)

    def names(attribute: str) -> list[str] | None:
        found = getattr(fitted, attribute, None)
        return None if found is None else [str(name) for name in found]

    # For a class that is derived from an estimator of weald, the name of that estimator.
    own = next(kind for kind in type(fitted).__mro__ if kind.__module__.startswith("weald."))
    return {
        "estimator": own.__name__,
        "kind": kind,
        "n_features": fitted.n_features_in_,
        "n_outputs": fitted.n_outputs_,
        "classes": classes,
        "feature_names": names("feature_names_in_"),
        "output_names": names("target_names_in_"),
        "categories": getattr(fitted, "categories_", None),
        "column_labels": names(LABELS),
        "threshold": getattr(fitted, "_threshold", 0.0),
    }


def _tree_of(tree: _weald.Tree, column: int | None = None, factors: Float | None = None) -> EnsembleTree:
    """A tree of the engine."""
    left, feature, threshold = tree.children_left(), tree.feature(), tree.threshold()
    is_leaf = left < 0
    lists = np.isnan(threshold)
    ptr, columns, values = tree.leaf_values()
    return EnsembleTree(
        feature=np.where(is_leaf, -1, feature).astype(np.int32),
        # Exact: the engine's thresholds are float32.
        threshold=np.where(is_leaf | lists, 0.0, threshold).astype(np.float32),
        left=left.astype(np.int32),
        right=tree.children_right().astype(np.int32),
        missing_left=tree.missing_go_to_left().astype(bool),
        categories={int(node): tree.categories_left(int(node)) for node in np.flatnonzero(lists)},
        ptr=ptr.astype(np.int64),
        columns=columns.astype(np.int64),
        values=values,
        column=column,
        factors=factors,
    )


def constant(columns: NDArray[np.int64], values: Float) -> EnsembleTree:
    """A tree without splits, which adds these values to these scores, in ascending order, of every sample."""
    one = np.full(1, -1, dtype=np.int32)
    return EnsembleTree(
        feature=one,
        threshold=np.zeros(1, dtype=np.float32),
        left=one,
        right=one,
        missing_left=np.zeros(1, dtype=bool),
        categories={},
        ptr=np.array([0, len(columns)], dtype=np.int64),
        columns=columns,
        values=values,
    )


def nothing(column: int = 0) -> EnsembleTree:
    """A tree that adds nothing, for formats that do not support models without trees or scores without values."""
    none = np.zeros(0, dtype=np.int64)
    return replace(constant(none, np.zeros(0)), column=column)


def largest_of(trees: Iterable[EnsembleTree], width: int) -> Float:
    """For each score, the sum over the trees of the largest absolute value in a leaf: a bound of the sums."""
    total: Float = np.zeros(width)
    for tree in trees:
        if tree.factors is not None:
            total += np.abs(tree.values).max(initial=0.0) * np.abs(tree.factors)
        elif tree.column is not None:
            total[tree.column] += np.abs(tree.values).max(initial=0.0)
        else:
            largest: Float = np.zeros(width)
            np.maximum.at(largest, tree.columns, np.abs(tree.values))
            total += largest
    return total
