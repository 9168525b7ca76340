"""Models of each kind and random ones for the tests of exporters, samples at their thresholds, and the comparison.

`EXPORT_MODELS` is the number of random models that each format is tested on; without it a test takes seconds.
"""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

import numpy as np
import weald
from conftest import ALL, BOOSTING, COMPRESSED, FORESTS, make, make_data
from scipy import sparse
from weald.compression import compact_leaves
from weald.projection import Projected

LOW_RANK = Projected(relabel_leaves=False)

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
        values = ("low rank" if value is LOW_RANK else value for value in params.values())
        told = "-".join(str(value) for value in values if isinstance(value, (str, bool)))
        cases["-".join(filter(None, [name, outputs, x, told]))] = (name, outputs, x, params)

    for name in ALL + COMPRESSED:
        for outputs in ["single", "several"] + (["labels", "two", "wide"] if name.endswith("Classifier") else []):
            add(name, outputs)
        add(name, "several", "categories")
    for name in FORESTS:
        for outputs in ["labels", "wide"] if name.endswith("Classifier") else ["several"]:
            add(name, outputs, output_strategy="single_target")
    for name in BOOSTING:
        outputs = ["single", "several", *(["labels", "two", "wide"] if name.endswith("Classifier") else [])]
        for one in outputs:
            for strategy in ["single_target", "joint", "projected"]:
                add(name, one, output_strategy=strategy)
            if one not in ("single", "two") or (one, name) == ("single", "GradientBoostingClassifier"):
                add(name, one, output_strategy=LOW_RANK)
        add(name, "several", "categories")
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
        below, above = (np.nextafter(values, np.float32(end)) for end in (-np.inf, np.inf))
    largest = np.finfo(np.float32).max
    around = np.concatenate([values, below, above, np.float32([np.nan, largest, -largest, 1e-40, -0.0])])
    if X.dtype == np.float64:
        # Values that are rounded to float32: next to a threshold, and in the middle between two.
        values, above = values.astype(float), above.astype(float)
        between = values + (above - values) / 2
        around = np.concatenate(
            [around, between, *(np.nextafter(v, e) for v in (values, between) for e in (-9e99, 9e99))]
        )
    around = around[~np.isinf(around) & ~(np.abs(around) > largest)]
    tried = np.repeat(X, 2, axis=0)
    there = rng.random(tried.shape) < 0.5
    there[:, list(codes)] = False
    tried[there] = rng.choice(around, there.sum())
    for j in codes:
        tried[:, j] = rng.choice(np.append(np.arange(80), [200, 65535, np.nan]), len(tried))
    return np.concatenate([X, tried])


def scores_of(model, X):
    """Raw scores of the engine, of shape (n_samples, n_scores)."""
    engine, X = model._engine, np.ascontiguousarray(X, dtype=np.float32)
    return engine.predict(X) if isinstance(engine, weald._weald.Forest) else engine.predict_scores(X)


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


def classes_of(model):
    """The classes of each output; none for numbers and labels."""
    if not hasattr(model, "classes_") or model._label_format is not None:
        return []
    return [model.classes_] if model.n_outputs_ == 1 else model.classes_


# --- the comparison ---------------------------------------------------------------------------------------------------


def has_columns(model):
    """Whether each tree has one score: tree t that of t modulo the number of scores."""
    engine = model._engine
    if isinstance(engine, weald._weald.Boosted):
        return engine.term == "column"
    return isinstance(engine, weald._weald.Forest) and engine.by_output


def score_size(model):
    """A bound of the sums of absolute values of the start and of one leaf of each tree, of shape (n_scores,)."""
    engine = model._forest
    if not isinstance(model._engine, weald._weald.Boosted):
        width, start, divisor = engine.width, 0.0, engine.n_trees_of_an_output
    else:
        width, start, divisor = model._model.width, np.abs(model.start_), 1
    total = np.zeros(width) + start
    for t in range(0 if engine is None else engine.n_trees):
        _, columns, values = engine.tree(t).leaf_values()
        largest = np.zeros(width)
        if isinstance(model._engine, weald._weald.Boosted) and model._model.term == "rank_one":
            largest = np.abs(values).max(initial=0.0) * np.abs(model.learning_rate_ * model.step_sizes_[t])
        elif has_columns(model):
            largest[t % width] = np.abs(values).max(initial=0.0)
        else:
            np.maximum.at(largest, columns, np.abs(values))
        total += largest
    return total / divisor


def link_of(model):
    """The name of the function that makes predictions of scores."""
    return "identity" if isinstance(model._engine, weald._weald.Forest) else model._engine.link


def check_same(model, X, *, scores=None, columns=None, predicted=None, unit=0.0, eps=2.0**-52):
    """Compare what an exported model returns with the model.

    `unit` is the largest error of a sum, divided by the sum of absolute values of its terms; with 0 scores and
    decisions are the same. `eps` is the relative error of the link function and of the type of the predictions.
    """
    size = score_size(model)
    error = unit * size
    if scores is not None:
        assert scores.shape == scores_of(model, X).shape
        assert (np.abs(scores - scores_of(model, X)) <= error).all()
    if columns is not None:
        expected, link = columns_of(model, X), link_of(model)
        assert columns.shape == expected.shape
        if eps > 2.0**-40 and link == "log":
            # As in the model, with the largest float64, predictions do not exceed the largest number of their type.
            expected = np.minimum(expected, float(np.finfo(np.float32).max))
        with np.errstate(over="ignore"):
            if link in ("identity", "margin"):
                # The threshold is subtracted once more.
                bound = error + eps * np.abs(expected) + (eps * size if link == "margin" else 0.0)
            elif link == "log":
                bound = np.abs(expected) * (np.expm1(error) + 2 * eps * (1 + size))
            else:
                # Where all classes are improbable, their quotients change as their logarithms do: up to twice as fast
                # as log-odds, and a thousand times as fast as shares, whose hyperbola starts at 0.001.
                bound = (1000 if link == "share" else 4) * error.max() + 8 * eps
        # Numbers below the range of the type become zero.
        tiny = np.finfo(np.float32 if eps > 2.0**-40 else np.float64).smallest_subnormal
        assert (np.abs(columns - expected) <= bound + float(tiny)).all()
    if predicted is not None:
        expected = decisions_of(model, X)
        predicted = np.asarray(predicted).reshape(expected.shape)
        if not hasattr(model, "classes_"):
            if columns is None:
                check_same(model, X, columns=predicted.reshape(len(X), -1), unit=unit, eps=eps)
            return
        differs = np.asarray(predicted != expected).reshape(len(X), -1)
        # Decisions may only differ where the margin is as small as the differences of scores.
        assert not (differs & ((margins(model, X) > 2 * error.max()) | (unit == 0))).any()


def margins(model, X):
    """The distance of each decision from the nearest other decision, of shape (n_samples, n_outputs)."""
    scores = scores_of(model, X)
    if model._label_format is not None or scores.shape[1] == 1:
        threshold = getattr(model, "_threshold", 0.5)
        return np.abs(scores - threshold)
    sizes = np.atleast_1d(model.n_classes_)
    parts = np.split(scores, np.cumsum(sizes)[:-1], axis=1)
    ordered = [np.sort(part, axis=1) for part in parts]
    return np.column_stack(
        [part[:, -1] - part[:, -2] if part.shape[1] > 1 else np.full(len(part), np.inf) for part in ordered]
    )


# --- random models ----------------------------------------------------------------------------------------------------

N_RANDOM = int(os.environ.get("EXPORT_MODELS", "60"))
LEVELS = [0.0, -0.0, 1.0, np.nextafter(np.float32(1), np.float32(2)), 1e-42, -3e38, 3e38, 0.1, -2.5]
CLASSES: list[Any] = [
    np.arange(6),
    np.array([-(2**62), -1, 3, 2**33, 2**53 + 1, 2**63 - 1]),
    np.array([0, 1, 200, 255, 7, 8], dtype=np.uint8),
    np.array([1, 2**63 + 5, 2**64 - 1, 7, 8, 2**53 + 1], dtype=np.uint64),
    np.array([0.0, 1.0, 2.0, -5.0, 1e15, 4.0]),
    np.array([1, 2, 3, 4, 5, 6], dtype=np.float32),
    np.array(["", "b", "ä", "日本", "x y", "long name"]),
    np.array(["no", "yes", "a\0b", "c", "d", "e"], dtype=object),
    np.array([b"a", b"b", b"\xff", b"c", b"d", b"e"]),
]
LOSSES = {
    "Regressor": ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie", "own"],
    "Classifier": ["log_loss", "exponential", "hinge", "squared_error"],
}


@functools.lru_cache(maxsize=256)
def random_model(seed):
    """A model of random settings on random data, and samples to predict. What weald refuses is drawn again."""
    for attempt in range(50):
        rng = np.random.default_rng([seed, attempt])
        drawn = _Drawn(rng)
        try:
            model = drawn.fitted()
        except (ValueError, TypeError):
            continue
        return model, probes(model, drawn.dense, drawn.codes, seed)
    raise AssertionError(f"no setting of seed {seed} is accepted")


class _Drawn:
    """What is drawn for a random model: X, y and parameters."""

    def __init__(self, rng):
        self.rng = rng
        self.name = str(rng.choice(ALL + 3 * BOOSTING + COMPRESSED))
        self.is_classifier = self.name.endswith("Classifier")
        n, p = int(rng.choice([1, 2, 3, 10, 40, 80])), int(rng.integers(1, 6))
        self.dense = self._samples(n, p)
        self.codes = [0] if self.chance(0.25) else []
        if self.codes:
            self.dense[:, 0] = rng.integers(0, rng.choice([1, 3, 90]), n)
        if self.chance(0.5):
            self.dense[rng.random((n, p)) < 0.15] = np.nan
        self.params = {}
        # Half of the outputs depend on X, so that there is something to learn.
        hidden = np.nan_to_num(self.dense.clip(-9, 9)) @ rng.normal(size=(p, 8))
        self.hidden = np.where(rng.random(8) < 0.5, hidden, rng.normal(size=(n, 8))) + 0.1 * rng.normal(size=(n, 8))
        self.y = self._classes() if self.is_classifier else self._numbers()

    def chance(self, share):
        return self.rng.random() < share

    def one(self, *values):
        return values[self.rng.integers(len(values))]

    def _samples(self, n, p):
        rng = self.rng
        X = rng.choice(LEVELS, (n, p)) if self.chance(0.4) else rng.normal(size=(n, p))
        if self.chance(0.2):
            X[:, rng.integers(p)] = self.one(0.0, 7.5, 3e38)
        return X

    def _numbers(self):
        q = self.one(1, 1, 2, 5)
        y = self.hidden[:, :q] * self.one(*[1.0] * 9, 1e-30, 1e-60, 1e6, 1e30, 1e60)
        if self.chance(0.3):
            y = y * (self.rng.random(y.shape) < 0.3)
        if self.chance(0.2):
            y = np.round(y)
        if self.chance(0.15):
            y[:, 0] = self.one(0.0, 3.25)
        if self.chance(0.1):
            y[self.rng.random(y.shape) < 0.2] = np.nan
        if q > 1 and self.chance(0.1):
            return sparse.csr_array(np.nan_to_num(y))
        return y[:, 0] if q == 1 else y

    def _classes(self):
        kind = self.one("classes", "classes", "bools", "outputs", "labels", "labels", "wide")
        ranks = self.hidden.argsort(axis=0).argsort(axis=0)
        if kind == "bools":
            return self.hidden[:, 0] > 0
        if kind in ("labels", "wide"):
            q = self.one(1, 2, 6) if kind == "labels" else 30
            y = (np.tile(self.hidden, 4)[:, :q] + self.rng.normal(size=(1, q)) > self.one(-1.0, 0.5, 2.0)).astype(
                self.one(np.int64, np.uint8, bool, np.float64)
            )
            self.params["multi_label"] = True
            return self.one(sparse.csr_array, sparse.csr_matrix)(y) if self.chance(0.4) else y
        q = 1 if kind == "classes" else self.one(2, 3)
        columns, values = [], self.one(*CLASSES)
        for j in range(q):
            k = int(self.rng.integers(1, 6))
            columns.append(values[self.rng.permutation(len(values))[:k]][ranks[:, j] * k // len(ranks)])
        return columns[0] if q == 1 else np.column_stack(columns)

    def fitted(self):
        name, rng, params = self.name, self.rng, self.params
        if name in COMPRESSED:
            params.pop("multi_label", None)
            if self.is_classifier and isinstance(self.y, np.ndarray) and self.y.shape[1:] == (1,):
                self.y = self.y[:, 0]  # of a single column these are classes
            params["estimator"] = make(
                self.one("RandomForest", "ExtraTrees") + name.removeprefix("CompressedForest"),
                n_estimators=int(rng.integers(1, 6)),
                max_depth=self.one(None, 3),
                categorical_features=self.codes or None,
            )
            params["l1_norm"] = self.one(None, 0.5, 3.0)
            if self.is_classifier:
                params["loss"] = self.one("squared_error", "log_loss")
        else:
            self._grown()
        y, form = self.y, self.one(np.asarray, np.asarray, sparse.csr_array)
        X = form(np.nan_to_num(self.dense)) if form is sparse.csr_array and not self.codes else self.dense
        weight = self.one(None, None, rng.integers(0, 3, len(self.dense)), rng.random(len(self.dense)) + 0.1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "y has a mean of")  # that minima of leaves outweigh
            model = make(name, **params).fit(X, y, sample_weight=weight)
        if self.chance(0.2):
            how = self.one({"dtype": "float32"}, {"dtype": "float16"}, {"dtype": "int8"}, {"training_data": 0})
            if "training_data" in how:
                how = {"training_data": (X, y) if weight is None else (X, y, weight)}
            elif name in BOOSTING and self.chance(0.5):
                how = {"max_change": self.one(0.0, 0.5)}
            model = compact_leaves(model, **how)[0]
        return model

    def _grown(self):
        name, params = self.name, self.params
        params |= {
            "max_depth": self.one(None, 1, 2, 5),
            "max_leaf_nodes": self.one(None, None, 3),
            "min_samples_leaf": self.one(1, 1, 4),
            "categorical_features": self.codes or None,
        }
        if self.chance(0.15):
            params["monotonic_cst"] = [0] * len(self.codes) + self.rng.integers(
                -1, 2, self.dense.shape[1] - len(self.codes)
            ).tolist()
        if self.is_classifier:
            params["class_weight"] = self.one(None, None, None, "balanced")
        if name in BOOSTING:
            self._boosted()
            return
        if name not in ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"):
            params |= {"n_estimators": int(self.rng.integers(1, 6)), "bootstrap": self.chance(0.5)}
        kinds = ["gini", "entropy"] if self.is_classifier else ["squared_error", "absolute_error", "squared_error"]
        params["criterion"] = self.one(*kinds)
        params["output_projection"] = self.one(None, None, None, "gaussian", "rademacher")

    def _boosted(self):
        kind = "Classifier" if self.is_classifier else "Regressor"
        loss = self.one(*LOSSES[kind])
        if loss in ("poisson", "gamma", "tweedie"):
            self.y = abs(self.y) + (0.1 if loss == "gamma" else 0.0) * (not sparse.issparse(self.y))
        self.params |= {
            "loss": HalfSquares() if loss == "own" else loss,
            "n_estimators": int(self.rng.integers(1, 13)),
            "learning_rate": self.one(0.1, 0.5, 1.0),
            "output_strategy": self.one("auto", "joint", "joint", "projected", LOW_RANK, "single_target"),
            "min_weight_leaf": self.one(2.0, 0.0),
            "l2_regularization": self.one(0.0, 1.0),
            "max_bins": self.one(255, None),
            "leaf_estimation": self.one("newton", "newton", "line_search"),
            "subsample": self.one(1.0, 1.0, 0.5),
            "early_stopping": self.one(False, False, "auto", True),
        }


def leaves_of(tree, X):
    """The leaf that each sample reaches."""
    at = np.zeros(len(X), dtype=np.intp)
    rows = np.flatnonzero(tree.feature[at] >= 0)
    while len(rows):
        nodes = at[rows]
        values = X[rows, tree.feature[nodes]]
        goes_left = values <= tree.threshold[nodes]
        for node in tree.categories.keys() & set(nodes.tolist()) if tree.categories else ():
            here = nodes == node
            goes_left[here] = np.isin(values[here], tree.categories[node])
        goes_left = np.where(np.isnan(values), tree.missing_left[nodes], goes_left)
        at[rows] = np.where(goes_left, tree.left[nodes], tree.right[nodes])
        rows = rows[tree.feature[at[rows]] >= 0]
    return at


def add_leaves(tree, X, sums):
    """Add the values of the leaves that samples reach to the sums."""
    leaves = leaves_of(tree, X)
    counts = np.diff(tree.ptr)[leaves]
    rows = np.repeat(np.arange(len(leaves)), counts)
    cells = np.arange(counts.sum()) + np.repeat(tree.ptr[leaves] - (np.cumsum(counts) - counts), counts)
    if tree.factors is not None:
        sums[rows] += tree.values[cells, np.newaxis] * tree.factors
    else:
        # No pair of sample and column occurs twice, so that the assignment adds every value.
        sums[rows, tree.columns[cells] if tree.column is None else tree.column] += tree.values[cells]
