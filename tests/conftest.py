"""Estimators and data that tests share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import sklearn
import tiers
import turns
import weald
from scipy import sparse
from weald._input.checks import draw_seed
from weald._rounds import held_out
from weald.projection import Projected

# The release of scikit-learn, for comparisons with what it has or does correctly from some release on.
SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

TREES = ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"]
FORESTS = ["RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"]
ALL = TREES + FORESTS
BOOSTING = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
COMPRESSED = ["CompressedForestClassifier", "CompressedForestRegressor"]
INDUCED = ["InducedForestClassifier", "InducedForestRegressor"]
CENTROIDS = ["CentroidForestClassifier", "CentroidForestRegressor"]
LINEAR = ["LinearClassifier"]
# With `strategy="tree"`.
LABEL_TREES = ["trees of LinearClassifier"]
CLASSIFIERS = [name for name in ALL if name.endswith("Classifier")]
REGRESSORS = [name for name in ALL if name.endswith("Regressor")]


def dealt(n_folds: int, X: np.ndarray, y: np.ndarray, seed: int = 0) -> list[held_out.Split]:
    """The folds that an integer as `cv` stands for, for the random state `seed` and y in one column."""
    kind = weald.RandomForestRegressor if np.asarray(y).dtype.kind == "f" else weald.RandomForestClassifier
    target = kind()._check_y(y, None, len(X))
    return held_out.folds_of(n_folds, np.asarray(X, dtype=np.float32), target, None, draw_seed(seed))


def cases(rule: Callable[..., bool]) -> pytest.MarkDecorator:
    """Mark tests of which only some combinations of parameters exist: those for which the rule returns true.

    The arguments of the rule are names of parameters. The other combinations are not generated, so that a skipped test
    means that something is missing on this machine. The rule of a module does not apply to tests without these
    parameters.
    """
    return pytest.mark.cases.with_args(rule)


def has_outputs(name: str, outputs: str) -> bool:
    """Whether the estimator supports these outputs of `make_data`; a rule for `cases`."""
    return name.endswith("Classifier") or outputs not in ("labels", "binary")


def combines_columns(name: str, outputs: str, params: dict[str, Any]) -> bool:
    """Whether there are columns for the projections that are asked for; a rule for `cases`."""
    asks = isinstance(params.get("output_strategy"), Projected)
    return not asks or not (name.endswith("Regressor") and outputs == "single")


@cache
def names_of(rule: Callable[..., bool]) -> set[str]:
    return set(inspect.signature(rule).parameters)


def exists(item: pytest.Item) -> bool:
    """Whether the rules of all `cases` accept the parameters of the test."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("cases"):
        (rule,) = mark.args
        names = names_of(rule)
        if names <= params.keys() and not rule(**{name: params[name] for name in names}):
            return False
    return True


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str):
    found = yield
    if not isinstance(found, list):
        return found
    kept = list(filter(exists, found))
    # With a rule that no case satisfies, the test would silently disappear.
    if found and not kept:
        raise collector.CollectError(f"{name}: the rules of `cases` accept no combination of parameters")
    return [kept[position] for position in tiers.paired(map(tiers.factors, kept))] if kept else kept


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(turns)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.mark_quick(items)
    items[:], not_due = tiers.without_those_not_due(items)
    config.hook.pytest_deselected(items=not_due)
    items.sort(key=turns.is_alone)


def make(name: str, **params):
    """The estimator with this name, small and with a fixed seed.

    With `induced=True`, it is the induced forest in place of the compressed forest: parameters have their names there,
    and in place of a norm there is a number of nodes.
    """
    if params.get("induced"):
        name = name.replace("Compressed", "Induced")
        there = {"l1_norm": "n_nodes", "max_steps": "max_nodes"}
        params = {there.get(key, key): value for key, value in params.items() if key not in ("induced", "step_size")}
        params |= {"n_nodes": 8 if params["n_nodes"] else 0} if isinstance(params.get("n_nodes"), float) else {}
    if name in FORESTS + BOOSTING + CENTROIDS:
        params = {"n_estimators": 5, **params}
    if name in COMPRESSED + INDUCED:
        forest = weald.ExtraTreesClassifier if name.endswith("Classifier") else weald.ExtraTreesRegressor
        # The exact path takes hundreds of times as long as the stagewise one, mostly for small penalties and many
        # nodes.
        size = {"n_estimators": 3, "max_depth": 4} if params.get("solver") == "lasso" else {"n_estimators": 5}
        params = {"estimator": forest(**size), "cv": 3, **({"step_size": 0.05} if name in COMPRESSED else {}), **params}
    if name in LABEL_TREES:
        params = {"strategy": "tree", **params}
    return class_of(name)(**{"random_state": 0, **params})


def class_of(name: str) -> type:
    return getattr(weald, name.rpartition(" ")[2])


def make_data(name: str, n: int = 60, p: int = 12, seed: int = 0, outputs: str = "single"):
    """X, half of which is zero so that sparse layouts differ from dense ones, and y that depends on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(1)
    X[rng.random((n, p)) < 0.5] = 0
    if name in LABEL_TREES and outputs == "several":
        outputs = "labels"  # the only y of several columns that they take
    k = min(4, p)
    score = X[:, :k] @ rng.normal(size=(k, 3)) + rng.normal(scale=0.3, size=(n, 3))
    if name.endswith("Regressor"):
        return X, score[:, 0] if outputs == "single" else score
    if outputs == "labels":
        return X, (score > 0.5).astype(np.int64)
    classes = np.digitize(score, [-0.5, 0.5])
    if outputs == "single":
        return X, np.array(["a", "b", "c"])[classes[:, 0]]
    return X, classes


def unless(mask: Any) -> Any:
    """The `y_weight` of y whose values are unknown where the mask is True."""
    if mask is None or isinstance(mask, str):
        return mask
    if sparse.issparse(mask):
        return type(mask)(unless(mask.toarray()))
    if isinstance(mask, list):
        return unless(np.asarray(mask))
    if hasattr(mask, "iloc"):
        return mask == 0
    if getattr(mask, "dtype", None) == np.bool_:
        return ~mask
    return 1 - mask if isinstance(mask, np.ndarray) and mask.dtype.kind in "iuf" else mask


def model_bytes(model) -> bytes:
    """The bytes of the fitted model, without the estimator: equal bytes mean equal models."""
    return (model._model if hasattr(model, "_model") else model._forest).to_bytes()


def check_refused(model, error, message, X, y, **fit):
    """Check that the fit raises this error, and that the fitted estimator is unchanged."""
    before = dict(model.__dict__)
    with pytest.raises(error, match=message):
        model.fit(X, y, **fit)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)


@pytest.fixture(params=ALL)
def name(request) -> str:
    return request.param


@pytest.fixture
def labels():
    """Sparse X and Y with many columns."""
    X = sparse.random_array((80, 200), density=0.1, random_state=np.random.default_rng(0), format="csr")
    Y = sparse.random_array((80, 30), density=0.1, random_state=np.random.default_rng(1), format="csr")
    Y.data[:] = 1
    return X, Y.astype(np.int64)
