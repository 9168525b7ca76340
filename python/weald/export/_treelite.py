"""Conversion of models to treelite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from weald._input.checks import Float
from weald.export._ensemble import LARGEST_LOG, LINKS, Ensemble, EnsembleTree, by_column, constant, nothing, trees_of


def to_treelite(estimator: BaseEstimator, *, raw_scores: bool = False) -> object:
    """Convert a fitted model to treelite, to be compiled by tl2cgen, served by FIL, or run by GTIL.

    Every sample reaches the same leaves as in the original model, and the score of n trees differs by at most (n + 2) *
    2**-53 times the sum of absolute values. Leaves with several scores are vectors in O(leaves · scores) memory, or one
    tree for each score where that is smaller. Centroid forests, linear models, and boosting without trees or with
    `init` raise a ValueError. See `docs/export.md#what-each-format-supports`.

    >>> import numpy as np
    >>> import weald
    >>> X, y = np.arange(8, dtype=np.float32).reshape(-1, 1), np.arange(8.0)
    >>> theirs = weald.export.to_treelite(weald.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y))
    >>> import treelite
    >>> predictions = treelite.gtil.predict(theirs, X)

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, boosting model or compressed forest of weald.
    raw_scores : bool, default=False
        Whether to omit the link function, so that predictions are sums over the trees. It must be True if treelite does
        not support the link function.

    Returns
    -------
    treelite.Model
        A model with float64 values, with a target for each number or label and for each output of classes; of boosting
        and compressed forests for two classes, the probability of the second. Pass dense samples, rounded to float32,
        `X.astype(numpy.float32).astype(numpy.float64)`, with categories as positions in `categories_`.

    Raises
    ------
    ImportError
        If `treelite` is not installed (the extra `export` includes it).
    """
    if not isinstance(raw_scores, (bool, np.bool_)):
        raise TypeError(f"raw_scores must be True or False, got {raw_scores!r}")
    ensemble = trees_of(estimator, "to_treelite")
    if not raw_scores and LINKS[ensemble.link].in_treelite is None:
        known = sorted(name for name, link in LINKS.items() if link.in_treelite is not None and name != "margin")
        raise ValueError(
            f"to_treelite does not support the predictions of this {ensemble.estimator}, whose link is "
            f"{ensemble.link!r}: treelite has {known}; set raw_scores=True and "
            "apply the link to its scores, or use to_onnx"
        )
    if not raw_scores and ensemble.link == "log" and (largest := float(ensemble.largest_scores().max())) > LARGEST_LOG:
        raise ValueError(
            f"to_treelite does not support exponentials of scores that may exceed {LARGEST_LOG}, got scores up to "
            f"{largest:.3g}: treelite returns infinity for them; set raw_scores=True and apply the link to its scores, "
            "or use to_onnx"
        )
    try:
        from treelite import model_builder
    except ImportError as error:
        raise ImportError("to_treelite needs the package treelite: pip install treelite") from error
    return _built(model_builder, ensemble, bool(raw_scores))


def _built(model_builder: Any, ensemble: Ensemble, raw_scores: bool) -> Any:
    n_classes = ensemble.n_classes if ensemble.blocks() else [1] * ensemble.n_scores
    shape = (len(n_classes), max(n_classes))
    # The position of each score in a leaf with all scores.
    places = np.concatenate([k * shape[1] + np.arange(n) for k, n in enumerate(n_classes)])
    trees = list(_trees(ensemble))
    are_vectors = any(tree.column is None for tree in trees)
    start = ensemble.start
    if ensemble.link == "margin" and not raw_scores:
        start = start - ensemble.threshold
    base = np.zeros(shape[0] * shape[1])
    if len(places) == len(base) and (start == start[0]).all():
        base[:] = start[0]
    else:
        # tl2cgen 1.0 uses the base score of the first target for all targets. Instead, trees without splits add them.
        trees += _constants(start, are_vectors)
    averages = are_vectors and ensemble.divisor == ensemble.n_trees > 1
    ids = [(-1, -1) if tree.column is None else divmod(int(places[tree.column]), shape[1]) for tree in trees]
    name, alpha = (None if raw_scores else LINKS[ensemble.link].in_treelite) or ("identity", 1.0)
    if name == "identity" and shape[1] > 1:
        name = "identity_multiclass"
    kind = {"numbers": "kRegressor", "labels": "kBinaryClf"}.get(ensemble.kind)
    if kind is None:
        kind = "kMultiClf" if shape[1] > 1 else "kBinaryClf"
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=ensemble.n_features,
            task_type=kind,
            average_tree_output=averages,
            num_target=shape[0],
            num_class=n_classes,
            leaf_vector_shape=shape if are_vectors else (1, 1),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=len(trees), target_id=[target for target, _ in ids], class_id=[k for _, k in ids]
        ),
        postprocessor=model_builder.PostProcessorFunc(name=name, sigmoid_alpha=alpha),
        base_scores=base.tolist(),
    )
    divisor = 1.0 if averages else ensemble.divisor
    for tree in trees:
        _add(builder, tree, places, shape[0] * shape[1], divisor)
    return builder.commit()


def _trees(ensemble: Ensemble) -> Iterator[EnsembleTree]:
    """Trees whose leaves store all scores, or trees whose leaves store one score: the same for all trees."""
    if ensemble.n_scores == 1:
        yield from map(_of_one_score, ensemble.trees())
        return
    n_leaves, n_stored = 0, 0
    for tree in ensemble.trees():
        n_leaves += len(tree.leaves)
        n_stored += len(tree.values)
    # A node of treelite needs as much memory as eight values, and a stored value needs a path of nodes.
    depth = 1 + np.log2(max(1.0, n_leaves / max(1, ensemble.n_trees)))
    is_sparse = 8 * depth * n_stored < n_leaves * ensemble.n_scores
    n_yielded = 0
    for tree in ensemble.trees():
        for one in by_column(tree) if is_sparse else [tree]:
            n_yielded += 1
            yield one
    if n_yielded == 0:
        yield nothing()


def _constants(start: Float, are_vectors: bool) -> list[EnsembleTree]:
    """Trees without splits that add the non-zero ones of these scores."""
    columns = np.flatnonzero(start)
    if are_vectors:
        return [constant(columns, start[columns])] if len(columns) else []
    one = np.zeros(1, dtype=np.int64)
    return [replace(constant(one, start[[column]]), column=column) for column in columns.tolist()]


def _of_one_score(tree: EnsembleTree) -> EnsembleTree:
    values = tree.values if tree.factors is None else tree.values * tree.factors[0]
    return replace(tree, column=0, factors=None, values=values)


def _add(builder: Any, tree: EnsembleTree, places: Any, width: int, divisor: float) -> None:
    builder.start_tree()
    for node, feature in enumerate(tree.feature.tolist()):
        builder.start_node(node)
        if feature < 0:
            builder.leaf(_leaf(tree, node, places, width, divisor))
        else:
            children = {"left_child_key": int(tree.left[node]), "right_child_key": int(tree.right[node])}
            missing = bool(tree.missing_left[node])
            if node in tree.categories:
                codes = tree.categories[node].tolist()
                sides = {"category_list": codes, "category_list_right_child": False}
                builder.categorical_test(feature, default_left=missing, **sides, **children)
            else:
                threshold = float(tree.threshold[node])
                builder.numerical_test(feature, threshold, default_left=missing, opname="<=", **children)
        builder.end_node()
    builder.end_tree()


def _leaf(tree: EnsembleTree, node: int, places: list[int], width: int, divisor: float) -> float | list[float]:
    columns, values = tree.leaf(node)
    if tree.column is not None:
        return float(values[0] / divisor) if len(values) else 0.0
    row: Float = np.zeros(width)
    if tree.factors is not None:
        row[places] = (values[0] if len(values) else 0.0) * tree.factors
    else:
        row[places[columns]] = values
    listed: list[float] = (row / divisor).tolist()
    return listed
