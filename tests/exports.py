"""Models of each kind for the tests of exporters, samples at their thresholds, and the predictions of the engine."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import weald
from conftest import ALL, BOOSTING, COMPRESSED, make, make_data
from scipy import sparse
from weald.compression import compact_leaves

CODES = [0, 3]


class HalfSquares:
    """A loss of the user."""

    def loss(self, y, scores):
        return 0.5 * (y - scores) ** 2

    def gradient_hessian(self, y, scores):
        return scores - y, np.ones_like(y)


def _cases() -> dict[str, tuple[str, str, str, dict[str, Any]]]:
    """The cases by name: the estimator, the kind of outputs, the kind of X, and parameters."""
    cases = {}

    def add(name, outputs, x="missing", **params):
        told = "-".join(str(value) for value in params.values() if isinstance(value, (str, bool)))
        cases["-".join(filter(None, [name, outputs, x, told]))] = (name, outputs, x, params)

    for name in ALL + COMPRESSED:
        for outputs in ["single", "several"] + (["labels", "two", "wide"] if name.endswith("Classifier") else []):
            add(name, outputs)
        add(name, "several", "categories")
    for name in BOOSTING:
        outputs = ["single", "several", *(["labels", "two", "wide"] if name.endswith("Classifier") else [])]
        for one in outputs:
            for strategy in ["single_target", "joint", "projected"]:
                add(name, one, output_strategy=strategy)
            add(name, one, output_strategy="projected", relabel_leaves=False)
        add(name, "several", "categories")
        one = "several" if name.endswith("Regressor") else "labels"
        add(name, one, output_strategy="projected", relabel_leaves=False, step_dtype="float8")
    for loss in ["absolute_error", "quantile", "huber", "gamma", "poisson", "tweedie"]:
        add("GradientBoostingRegressor", "several", loss=loss)
    for loss in ["exponential", "hinge", "squared_error"]:
        for outputs in ["single", "several", "labels", "two"]:
            add("GradientBoostingClassifier", outputs, loss=loss)
    for outputs in ["single", "several", "labels", "two"]:
        add("CompressedForestClassifier", outputs, loss="log_loss")
    add("RandomForestClassifier", "single", "categories")
    add("RandomForestClassifier", "one class")
    add("RandomForestRegressor", "several", output_projection="gaussian")
    add("RandomForestClassifier", "labels", output_projection="rademacher")
    add("ExtraTreesRegressor", "several", criterion="absolute_error")
    add("RandomForestRegressor", "sparse numbers")
    for kind in ["rows", "float16", "float32"]:
        cases[f"compact {kind}"] = ("RandomForestRegressor", "several", kind, {})
    cases["compact labels"] = ("RandomForestClassifier", "wide", "rows", {})
    cases["compact boosting"] = ("GradientBoostingRegressor", "several", "int8", {"output_strategy": "joint"})
    cases["own loss"] = ("GradientBoostingRegressor", "several", "missing", {"loss": HalfSquares()})
    return cases


CASES = _cases()


def make_y(name, outputs, n, seed=0):
    """The training data of a case."""
    X, y = make_data(name, n=n, outputs=outputs if outputs in ("single", "labels") else "several", seed=seed)
    if outputs == "several" and name.endswith("Classifier"):
        y = np.column_stack([y[:, 0], np.minimum(y[:, 1], 1)])  # three classes and two
    elif outputs == "two":
        y = np.array(["no", "yes"])[np.minimum(y[:, 0], 1)]
    elif outputs == "one class":
        y = np.zeros(n, dtype=int)
    elif outputs == "wide":
        rng = np.random.default_rng(seed)
        y = sparse.csr_array((rng.random((n, 30)) < 0.05) * (X[:, :1] > 0)).astype(np.int64)
    elif outputs == "sparse numbers":
        rng = np.random.default_rng(seed)
        y = sparse.csr_array(rng.normal(size=(n, 20)) * (rng.random((n, 20)) < 0.08))
    return X, y


@functools.cache
def fitted(case: str) -> tuple[Any, np.ndarray]:
    """The model of a case, and samples to predict."""
    name, outputs, x, params = CASES[case]
    params = dict(params)
    X, y = make_y(name, outputs, 60)
    if params.get("loss") in ("gamma", "poisson", "tweedie"):
        y = np.abs(y) + 0.1
    X = X.astype(np.float32)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    if x == "categories":
        X[:, CODES] = rng.integers(0, 70, (len(X), 2))
        X[rng.random(len(X)) < 0.2, 3] = np.nan
        if name in COMPRESSED:
            forest = weald.ExtraTreesClassifier if name.endswith("Classifier") else weald.ExtraTreesRegressor
            params["estimator"] = forest(n_estimators=5, categorical_features=CODES)
        else:
            params["categorical_features"] = CODES
    model = make(name, **params).fit(X, y)
    if x == "rows":
        model = compact_leaves(model, training_data=(X, y))[0]
    elif x in ("float16", "float32", "int8"):
        model = compact_leaves(model, dtype=x)[0]
    return model, probes(model, X, CODES if x == "categories" else [])


def probes(model, X, codes=(), seed=0):
    """The samples of X, and copies with values at the thresholds of the model, next to them, missing and extreme."""
    rng = np.random.default_rng(seed)
    thresholds = [
        member.threshold()[np.isfinite(member.threshold()) & (member.children_left() >= 0)]
        for member in map(model._forest.tree, range(model._forest.n_trees))
    ]
    values = np.unique(np.concatenate([*thresholds, [0.0]])).astype(np.float32)
    with np.errstate(over="ignore"):
        around = np.concatenate(
            [values, np.nextafter(values, np.float32(-np.inf)), np.nextafter(values, np.float32(np.inf))]
        )
    largest = np.finfo(np.float32).max
    around = np.concatenate([around[np.isfinite(around)], [np.nan, largest, -largest, 1e-40, -0.0]]).astype(np.float32)
    tried = np.repeat(X, 2, axis=0)
    there = rng.random(tried.shape) < 0.5
    there[:, list(codes)] = False
    tried[there] = rng.choice(around, there.sum())
    for j in codes:
        tried[:, j] = rng.choice(np.append(np.arange(80), [200, 65535, np.nan]), len(tried))
    return np.concatenate([X, tried])


def scores_of(model, X):
    """Raw scores of the engine, of shape (n_samples, n_scores)."""
    engine = model._forest if model._kind in ("tree", "forest") else model._model
    X = np.ascontiguousarray(X, dtype=np.float32)
    return (
        engine.predict(X)
        if engine is getattr(model, "_forest", None) and model._kind != "compressed"
        else (engine.predict_scores(X))
    )


def columns_of(model, X):
    """The predictions of exports, (n_samples, n_columns): numerical outputs, probabilities or scores."""
    X = np.asarray(X)
    if not hasattr(model, "classes_"):
        found = model.predict(X)
    elif hasattr(model, "predict_proba"):
        found = model.predict_proba(X)
    else:
        found = model.decision_function(X)
    found = np.hstack(found) if isinstance(found, list) else found
    return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=float).reshape(len(X), -1)


def decisions_of(model, X):
    """`predict` as a dense array."""
    found = model.predict(X)
    return np.asarray(found.toarray() if sparse.issparse(found) else found)


def sizes(model, X):
    """An upper bound of the sums of absolute values of each score, of shape (n_samples, n_scores)."""
    return np.maximum(np.abs(scores_of(model, X)), _largest(model))


def _largest(model):
    engine, total = model._forest, 0.0
    factors = 1.0
    if model._kind == "boosting":
        factors = np.abs(model.step_sizes_).max() if model._model.term == "rank_one" else 1.0
        total = np.abs(model.start_).max()
    for t in range(engine.n_trees):
        values = np.abs(engine.tree(t).leaf_values()[2])
        total += factors * (values.max() if len(values) else 0.0)
    return total / (1.0 if model._kind == "boosting" else engine.n_trees)
