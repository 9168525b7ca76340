"""A reader of models in JSON, written after docs/json-format.md alone: what it predicts is what other programs predict."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from exports import add_leaves
from weald import _weald


def scores_of_json(content, X):
    """The scores of samples, float64 of shape (n_samples, n_scores)."""
    X = np.asarray(X, dtype=np.float32)
    if "label_trees" in content:
        return np.array([_of_label_trees(content, x) for x in prepared(content["label_trees"], X)])
    if "centroids" in content:
        return np.array([_of_centroids(content, x) for x in prepared(content["centroids"], X)])
    sums = np.zeros((len(X), content["n_scores"]))
    if content["start"]:
        sums += content["start"]
    for tree in content["trees"]:
        add_leaves(_tree(tree), X, sums)
    sums /= content["divisor"]
    return sums + _of_linear(content, X) if "linear" in content else sums


def predictions_of_json(content, scores):
    """What scores mean: numbers, probabilities, or scores that are none."""
    link, classes = content["link"], content["classes"]
    is_of_two = content["n_scores"] == 1 and [len(values) for values in classes] == [2]
    if link == "log":
        return np.exp(np.minimum(scores, 709.78))
    if link == "margin":
        return scores - content["threshold"]
    if link in ("logistic", "one_against_rest"):
        found = 1 / (1 + np.exp(np.minimum(-2 * scores, 709.0)))
        scores = np.hstack([1 / (1 + np.exp(np.minimum(2 * scores, 709.0))), found]) if is_of_two else found
    if link == "share":
        low = 1e-3 * 1e-3 / (1e-3 + np.maximum(1e-3 - scores, 0))
        high = 1 - 1e-3 * 1e-3 / (1e-3 + np.maximum(scores - (1 - 1e-3), 0))
        found = np.where(scores < 1e-3, low, np.where(scores > 1 - 1e-3, high, scores))
        scores = np.hstack([1 - found, found]) if is_of_two else found
    if link == "identity" or not classes or is_of_two:
        return scores
    parts = np.split(scores, np.cumsum([len(values) for values in classes])[:-1], axis=1)
    if link == "softmax":
        parts = [np.exp(part - part.max(axis=1, keepdims=True)) for part in parts]
    totals = [part.sum(axis=1, keepdims=True) for part in parts]
    return np.hstack(
        [
            np.where(total > 0, part / np.where(total > 0, total, 1), 1 / part.shape[1])
            for part, total in zip(parts, totals, strict=True)
        ]
    )


def _tree(tree):
    names = ("feature", "left", "right", "missing_left", "leaf_ptr", "leaf_columns", "leaf_values")
    arrays = {name.removeprefix("leaf_"): np.array(tree[name]) for name in names}
    return SimpleNamespace(
        threshold=np.array(tree["threshold"], dtype=np.float32),
        categories={int(node): codes for node, codes in tree["categories"].items()},
        column=tree["column"],
        factors=None if tree["factors"] is None else np.array(tree["factors"]),
        **(arrays | {"columns": arrays["columns"].astype(int), "values": arrays["values"].astype(float)}),
    )


def prepared(rules, X):
    """Samples as weights take them, by "features" of linear models and label trees, or "normalize" of centroids."""
    features = rules.get("features", "normalized" if rules.get("normalize") else "given")
    values = X.astype(np.float64)
    if features == "tfidf":
        values = np.copysign(_weald.log1p(np.abs(values).ravel()).reshape(values.shape), values)
    if rules["idf"] is not None:
        values = values * np.array(rules["idf"])
    largest = float(np.finfo(np.float32).max)
    single = np.clip(values, -largest, largest).astype(np.float32)
    if features == "given" or (rules.get("normalize") is False):
        return single
    # `cumsum` adds one after another.
    lengths = np.sqrt(np.cumsum(values * values, axis=1)[:, -1:])
    divided = single.astype(np.float64) / np.where(lengths > 0, lengths, 1)
    return (np.rint(divided * 2**24) / 2**24).astype(np.float32)


def _of_linear(content, X):
    model = content["linear"]
    margins = np.zeros((len(X), content["n_scores"])) + np.array(model["intercepts"])
    for feature, values in enumerate(prepared(model, X).astype(np.float64).T):
        cells = slice(*model["ptr"][feature : feature + 2])
        margins[:, model["columns"][cells]] += np.multiply.outer(values, model["values"][cells])
    scores = np.array(model["slopes"]) * margins + np.array(model["offsets"])
    scores = scores * (1.0 if model["link"] == "softmax" else 0.5)
    if model["added"] == "scores":
        return scores
    proba = predictions_of_json({**content, "link": model["link"]}, scores)[:, -content["n_scores"] :]
    proba = np.clip(proba, 1e-6, 1 - 1e-6)
    return np.log(proba) if model["added"] == "log" else 0.5 * (np.log(proba) - np.log1p(-proba))


def _of_centroids(content, x):
    rules, scores = content["centroids"], np.zeros(content["n_scores"])
    sharpness, least = rules["sharpness"], np.float32(rules["least"])

    def add(tree, what, row, factor):
        for cell in range(*tree[f"{what}_ptr"][row : row + 2]):
            scores[tree[f"{what}_columns"][cell]] += factor * tree[f"{what}_values"][cell]

    def product(tree, node):
        total = np.float32(0)
        for cell in range(*tree["centroid_ptr"][node : node + 2]):
            value = x[tree["centroid_features"][cell]]
            if value != 0:
                total = np.float32(total + np.float32(value * np.float32(tree["centroid_weights"][cell])))
        return -np.inf if np.isnan(total) else total

    for tree in content["trees"]:
        children = tree["children"]
        leaf_of = np.cumsum(np.diff(children) == 0) - 1
        level = [(0, np.float32(1))]
        while level:
            below = []
            for node, share in level:
                listed = range(*children[node : node + 2])
                if not listed:
                    leaf, own = leaf_of[node], tree["own"]
                    add(tree, "leaf", leaf, float(share) * (1.0 if own is None else own[leaf]))
                    if own is not None:
                        add(tree, "parent", tree["parent_of"][leaf], float(share) * (1.0 - own[leaf]))
                    continue
                products = [product(tree, child) for child in listed]
                first, second = sorted(range(len(listed)), key=lambda at, of=products: (-of[at], at))[:2]
                apart, part = np.float32(products[first] - products[second]), np.float32(0)
                if sharpness and apart > 0:
                    odds = _weald.exp(np.array([max(-(sharpness * float(apart)), -700.0)]))[0]
                    part = share * np.float32(odds / (1.0 + odds))
                    part = part if part >= least else np.float32(0)
                below += sorted([(listed[first], share - part)] + [(listed[second], part)] * bool(part > 0))
            level = below
    scores /= content["divisor"]
    return scores if content["kind"] == "numbers" else np.minimum(scores, 1.0)


def _of_label_trees(content, values):
    rules, logs = content["label_trees"], {}

    for tree in content["trees"]:

        def below(node, log, tree=tree):
            first, end = tree["column_ptr"][node : node + 2]
            margins = list(tree["intercepts"][first:end])
            for at in range(*tree["feature_ptr"][node : node + 2]):
                for cell in range(*tree["weight_ptr"][at : at + 2]):
                    margins[tree["weight_columns"][cell]] += float(values[tree["features"][at]]) * tree["weights"][cell]
            return [
                (log - max(0.0, 1 - m) ** 3, target)
                for m, target in zip(margins, tree["targets"][first:end], strict=True)
            ]

        nodes = [(0.0, 0)]
        while not all(tree["is_leaf"][node] for _, node in nodes):
            reached = [
                pair for log, node in nodes for pair in ([(log, node)] if tree["is_leaf"][node] else below(node, log))
            ]
            nodes = sorted(reached, key=lambda pair: (-pair[0], pair[1]))[: rules["beam_width"]]
        for log, node in nodes:
            for of_label, label in below(node, 0.05 * log):
                logs.setdefault(label, []).append(of_label)
    scores = np.full(content["n_scores"], -np.inf)
    for label, found in logs.items():
        scores[label] = max(found) + np.log(sum(np.exp(np.array(found) - max(found))) / content["divisor"])
    if content["kind"] == "classes":
        scores = scores - scores.max()
        return np.exp(scores) / np.exp(scores).sum()
    return np.exp(scores)
