"""`EVERY`: one table of all public estimators, which the tests of what holds for each of them go through.

An entry builds a small and fast estimator, and says which kinds of y and of X it takes. Several entries of one class
have different settings, where these lead to different code. `tests/test_life_cycle.py` checks that no public class with
`fit` is missing here, and that what an entry says is true.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import weald
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald.conformal import BaseConformal, ConformalClassifier, ConformalLabels, ConformalRegressor
from weald.multilabel import CalibratedLabels, HierarchicalLabels, LabelHierarchy, TunedThresholds
from weald.voting import BaseVoting

# Kinds of y: one and several outputs of classes, dense and sparse labels, one, several and sparse numerical outputs.
CLASSES = ("class", "classes", "labels", "sparse labels")
NUMBERS = ("number", "numbers", "sparse numbers")
LABELS = ("labels", "sparse labels")
# The kinds of y that may have unknown values.
MASKED = ("classes", "labels", "sparse labels", "numbers")


@dataclass(frozen=True)
class Entry:
    """An estimator of the table, and what it supports."""

    name: str
    # Parameters that replace those of the small configuration -> an estimator that is not fitted.
    build: Callable[..., Any]
    # The kinds of y, the first of which is the usual one, and those of them that may have unknown values (`y_mask`).
    outputs: tuple[str, ...]
    masks: tuple[str, ...]
    # Whether X may be sparse, have missing values, and have categorical features; whether samples may have weights.
    sparse: bool = True
    missing: bool = True
    categories: bool = True
    weights: bool = True
    # Whether a fit may follow with another number of outputs: not if the estimator inside is fitted already.
    refits: bool = True

    @property
    def cls(self) -> type:
        return type(self.build())

    @property
    def is_classifier(self) -> bool:
        return self.outputs[0] in CLASSES

    @property
    def is_meta(self) -> bool:
        """Whether the estimator is around others, whose models it holds."""
        around = TunedThresholds | CalibratedLabels | HierarchicalLabels | BaseConformal | ConformalLabels
        return issubclass(self.cls, around | BaseVoting)


@dataclass
class _Table:
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, cls: type, told: str = "", *, masks: tuple[str, ...] | None = None, **options: Any) -> None:
        params = options.pop("params", {})
        outputs = options.pop("outputs", CLASSES if cls.__name__.endswith("Classifier") else NUMBERS)
        name = f"{cls.__name__}-{told}" if told else cls.__name__
        known = tuple(kind for kind in outputs if kind in MASKED) if masks is None else masks

        def build(**more: Any) -> Any:
            # Parameters that are estimators are made anew, so that models share none.
            made = {key: value() if inspect.isfunction(value) else value for key, value in params.items()}
            return cls(**{**made, **more})

        self.entries[name] = Entry(name, build, outputs, known, **options)


def _small_forest(regressor: bool = False, **params: Any) -> Any:
    cls = weald.RandomForestRegressor if regressor else weald.RandomForestClassifier
    return cls(**{"n_estimators": 4, "max_depth": 4, "random_state": 0, **params})


def _fitted_forest() -> Any:
    """A frozen forest that was fitted to the labels of `problem`."""
    X, Y = problem("labels", refit=0, n=40)
    return FrozenEstimator(_small_forest().fit(X, Y))


def _table() -> dict[str, Entry]:
    table = _Table()
    small = {"n_estimators": 4, "random_state": 0}
    for name in ("DecisionTree", "ExtraTree"):
        for task in ("Classifier", "Regressor"):
            table.add(getattr(weald, name + task), params={"random_state": 0})
    for name in ("RandomForest", "ExtraTrees"):
        for task in ("Classifier", "Regressor"):
            table.add(getattr(weald, name + task), params=small)
            outputs = (
                ("labels", "sparse labels", "class")
                if task == "Classifier"
                else ("numbers", "number", "sparse numbers")
            )
            masks = LABELS if task == "Classifier" else ("numbers",)
            params = {**small, "output_strategy": "single_target"}
            table.add(getattr(weald, name + task), "single target", outputs=outputs, masks=masks, params=params)
            if name == "RandomForest":
                table.add(getattr(weald, name + task), "bins", params={**small, "max_bins": 8})
    several = tuple(kind for kind in CLASSES if kind != "classes")
    table.add(
        weald.RandomForestClassifier,
        "oob",
        outputs=several,
        params={**small, "n_estimators": 12, "oob_score": True},
    )
    table.add(
        weald.RandomForestRegressor,
        "kept",
        params={**small, "n_estimators": 12, "oob_score": True, "keep_rows": True},
    )
    projected = {"output_projection": "gaussian", "n_projections": 2}
    for task, outputs in (("Classifier", ("classes", *LABELS)), ("Regressor", NUMBERS)):
        table.add(getattr(weald, f"ExtraTrees{task}"), "projected", outputs=outputs, params={**small, **projected})
    for task in ("Classifier", "Regressor"):
        # Centroids are means of samples, which missing values and categories do not have.
        table.add(getattr(weald, f"CentroidForest{task}"), missing=False, categories=False, params=small)
    # A weight times a missing value is unknown.
    linear = {"missing": False, "categories": False}
    table.add(weald.LinearClassifier, masks=("classes", *LABELS), **linear, params={"random_state": 0})
    given = {"C": 1.0, "features": "given", "min_weight": 0.0, "max_iter": 10_000, "random_state": 0}
    table.add(weald.LinearClassifier, "given", masks=("classes", *LABELS), **linear, params=given)
    logistic = {"loss": "log_loss", "weight_dtype": "float16", "random_state": 0}
    table.add(weald.LinearClassifier, "log loss", masks=("classes", *LABELS), **linear, params=logistic)
    # Labels, or one output of classes.
    of_one = {"outputs": ("labels", "sparse labels", "class"), "masks": LABELS, **linear}
    tree = {"strategy": "tree", "random_state": 0}
    table.add(weald.LinearClassifier, "trees", **of_one, params=tree)
    deep = {"n_estimators": 2, "max_children": 2, "max_leaf_labels": 1, "beam_width": 2}
    table.add(weald.LinearClassifier, "deep", **of_one, params={**tree, **deep})
    boosted = {**small, "max_leaf_nodes": 6}
    for task in ("Classifier", "Regressor"):
        cls = getattr(weald, f"GradientBoosting{task}")
        masks = ("classes", *LABELS) if task == "Classifier" else ("numbers",)
        table.add(cls, masks=masks, params=boosted)
        for strategy in ("projected", "joint", "single_target"):
            table.add(cls, strategy, masks=masks, params={**boosted, "output_strategy": strategy})
        stopped = {**boosted, "n_iter_no_change": 2, "subsample": 0.8}
        table.add(cls, "stopped", masks=masks, params=stopped)
        table.add(cls, "refitted", masks=masks, params={**stopped, "early_stopping": weald.EarlyStopping(refit=True)})
        table.add(
            cls,
            "folds",
            masks=masks,
            params={**boosted, "early_stopping": weald.EarlyStopping(cv=3), "n_iter_no_change": 2},
        )
        table.add(
            cls,
            "linear",
            masks=(),
            missing=False,
            categories=False,
            params={**boosted, "estimator": lambda: LinearRegression()},
        )
    started = {"masks": ("classes", *LABELS), **linear}
    table.add(weald.GradientBoostingClassifier, "linear start", **started, params={**boosted, "init": "linear"})
    by_itself = {**boosted, "init": "auto"}
    table.add(weald.GradientBoostingClassifier, "auto start", masks=("classes", *LABELS), params=by_itself)
    for task in ("Classifier", "Regressor"):
        cls = getattr(weald, f"CompressedForest{task}")
        masks = ("numbers",) if task == "Regressor" else ("classes", *LABELS)
        forest = (lambda: _small_forest(), lambda: _small_forest(True))[task == "Regressor"]
        path = {"estimator": forest, "cv": 2, "step_size": 0.1, "max_steps": 30, "random_state": 0}
        table.add(cls, masks=masks, params=path)
        induced = {"estimator": forest, "cv": 2, "max_nodes": 30, "random_state": 0}
        table.add(getattr(weald, f"InducedForest{task}"), masks=(), params=induced)
        table.add(cls, "lasso", masks=(), params={**path, "solver": "lasso", "l1_norm": 0.5})
    table.add(
        weald.CompressedForestClassifier,
        "logistic",
        masks=("classes", *LABELS),
        params={
            "estimator": lambda: _small_forest(),
            "cv": 2,
            "step_size": 0.1,
            "max_steps": 30,
            "random_state": 0,
            "loss": "log_loss",
        },
    )
    folds = {"random_state": 0}
    for cls, extra in (
        (TunedThresholds, folds),
        (CalibratedLabels, {**folds, "min_positives": 1}),
        (HierarchicalLabels, {}),
        (ConformalLabels, {**folds, "alpha": 0.3}),
    ):
        common, in_folds = extra, {"cv": 2} if extra else {}
        of_labels = {"outputs": LABELS}
        table.add(cls, params={**common, "estimator": lambda: _small_forest(n_estimators=8)}, **of_labels)
        boosting = {
            **common,
            **in_folds,
            "estimator": lambda: weald.GradientBoostingClassifier(n_estimators=3, random_state=0),
        }
        table.add(cls, "boosting", params=boosting, **of_labels)
        piped = {**common, "estimator": lambda: make_pipeline(MaxAbsScaler(), _small_forest(n_estimators=8))}
        table.add(cls, "pipeline", categories=False, params=piped, **of_labels)
        # Without a floor of scores, whose warning this tiny forest causes.
        unlimited = {"min_score": 0.0} if cls is TunedThresholds else {}
        frozen = {**common, **unlimited, "estimator": lambda: _fitted_forest()}
        table.add(cls, "frozen", categories=False, refits=False, params=frozen, **of_labels)
        others = {
            **common,
            **in_folds,
            "estimator": lambda: OneVsRestClassifier(LogisticRegression(solver="liblinear")),
        }
        table.add(cls, "others", masks=(), missing=False, categories=False, weights=False, params=others, **of_labels)
    for method in ("min", "isotonic"):
        params = {
            "method": method,
            "estimator": lambda: weald.GradientBoostingClassifier(n_estimators=3, random_state=0),
        }
        table.add(HierarchicalLabels, method, outputs=LABELS, params=params)
    params = {"hierarchy": LabelHierarchy([(1, 0)], n_labels=3), "estimator": lambda: _small_forest()}
    table.add(HierarchicalLabels, "given", outputs=LABELS, refits=False, params=params)
    around = {"random_state": 0, "estimator": lambda: HierarchicalLabels(_small_forest(n_estimators=8))}
    table.add(TunedThresholds, "hierarchy", outputs=LABELS, params=around)
    table.add(
        CalibratedLabels,
        "isotonic",
        outputs=LABELS,
        params={
            "method": "isotonic",
            "cv": 2,
            "estimator": lambda: _small_forest(),
            "min_positives": 1,
            "random_state": 0,
        },
    )
    _add_means(table)
    of_classes = {"outputs": ("class", "classes")}
    for cls, of_y in ((ConformalRegressor, {}), (ConformalClassifier, of_classes)):
        is_regressor = cls is ConformalRegressor
        common = {"random_state": 0, "alpha": 0.3}
        forest = {**common, "estimator": lambda r=is_regressor: _small_forest(r, n_estimators=8)}
        table.add(cls, params=forest, **of_y)
        name = "GradientBoostingRegressor" if is_regressor else "GradientBoostingClassifier"
        boosting = {
            **common,
            "cv": 2,
            "estimator": lambda name=name: getattr(weald, name)(n_estimators=3, random_state=0),
        }
        masks = ("numbers" if is_regressor else "classes",)
        table.add(cls, "boosting", masks=masks, params=boosting, **of_y)
        piped = {
            **common,
            "estimator": lambda r=is_regressor: make_pipeline(MaxAbsScaler(), _small_forest(r, n_estimators=8)),
        }
        table.add(cls, "pipeline", categories=False, params=piped, **of_y)
    normalized = {"random_state": 0, "alpha": 0.3, "conformity_score": "normalized"}
    table.add(
        ConformalRegressor,
        "normalized",
        params={**normalized, "estimator": lambda: _small_forest(True, n_estimators=8)},
    )
    quantile = {"random_state": 0, "alpha": 0.3, "conformity_score": "quantile", "cv": 2}
    table.add(
        ConformalRegressor,
        "quantile",
        params={**quantile, "estimator": lambda: _small_forest(True, n_estimators=8, keep_rows=True)},
    )
    levels = {**boosted, "loss": weald.loss.Quantile([0.85, 0.5, 0.15])}
    joint = {**levels, "output_strategy": "joint", "subsample": 0.8}
    table.add(weald.GradientBoostingRegressor, "quantiles", params=levels)
    table.add(weald.GradientBoostingRegressor, "joint quantiles", params=joint)
    table.add(
        ConformalRegressor,
        "boosted quantiles",
        params={**quantile, "estimator": lambda: weald.GradientBoostingRegressor(**joint)},
    )
    linear = {"missing": False, "categories": False}
    table.add(
        ConformalRegressor,
        "others",
        masks=(),
        **linear,
        params={"random_state": 0, "alpha": 0.3, "cv": 2, "estimator": lambda: LinearRegression()},
    )
    table.add(
        ConformalClassifier,
        "aps",
        **of_classes,
        params={
            "random_state": 0,
            "alpha": 0.3,
            "method": "aps",
            "randomized": True,
            "cv": 2,
            "estimator": lambda: _small_forest(n_estimators=8),
        },
    )
    return table.entries


def _add_means(table: _Table) -> None:
    """Means of classifiers and of regressors."""

    def mean(*estimators: Callable[[], Any], **more: Any) -> dict[str, Any]:
        def pairs() -> Any:
            return [(f"part{i}", build()) for i, build in enumerate(estimators)]

        return {"estimators": pairs, **more}

    def forest() -> Any:
        return _small_forest()

    def boosting() -> Any:
        return weald.GradientBoostingClassifier(n_estimators=3, random_state=0)

    def linear() -> Any:
        return weald.LinearClassifier(random_state=0)

    def centroids() -> Any:
        return weald.CentroidForestClassifier(n_estimators=3, random_state=0)

    def piped() -> Any:
        return make_pipeline(MaxAbsScaler(), _small_forest())

    def numbers() -> Any:
        return _small_forest(True)

    def boosted_numbers() -> Any:
        return weald.GradientBoostingRegressor(n_estimators=3, random_state=0)

    add = table.add
    dense = {"missing": False, "categories": False}
    add(weald.VotingClassifier, outputs=CLASSES, params=mean(forest, forest, weights=[1, 3]))
    add(weald.VotingClassifier, "boosting", outputs=CLASSES, params=mean(boosting, forest, forest, weights=[2, 1, 0]))
    add(weald.VotingClassifier, "linear", outputs=CLASSES, **dense, params=mean(linear, centroids, boosting))
    add(weald.VotingClassifier, "pipeline", outputs=CLASSES, categories=False, params=mean(forest, piped))
    add(
        weald.VotingClassifier,
        "frozen",
        outputs=LABELS,
        categories=False,
        refits=False,
        params=mean(_fitted_forest, forest),
    )
    others: dict[str, Any] = {"masks": (), **dense}
    one_by_one = mean(lambda: OneVsRestClassifier(LogisticRegression(solver="liblinear")), forest)
    add(weald.VotingClassifier, "others", outputs=(*LABELS, "class"), weights=False, **others, params=one_by_one)
    add(weald.VotingRegressor, outputs=NUMBERS, params=mean(numbers, numbers))
    add(weald.VotingRegressor, "boosted numbers", outputs=NUMBERS, params=mean(boosted_numbers, numbers))
    others |= {"outputs": ("number", "numbers")}
    add(
        weald.VotingRegressor,
        "numbers of others",
        **others,
        params=mean(lambda: LinearRegression(), numbers, weights=[0.1, 0.3]),
    )


def problem(kind: str, refit: int = 0, n: int = 60) -> tuple[np.ndarray, Any]:
    """Dense X with many zeros, and y of a kind; those of a `refit` differ in values, samples, outputs and classes."""
    rng = np.random.default_rng(refit)
    n, d = n + 20 * refit, 3 + refit
    X = rng.normal(size=(n, 6)).round(1)
    X[rng.random(X.shape) < 0.4] = 0
    score = X[:, :4] @ rng.normal(size=(4, d)) + rng.normal(scale=0.3, size=(n, d))
    if kind in ("number", "numbers"):
        return X, score[:, 0] if kind == "number" else score
    if kind == "sparse numbers":
        return X, sparse.csr_array(np.where(score > 0.5, score, 0.0))
    if kind in ("class", "classes"):
        names = np.array([["a", "b", "c", "d"], ["p", "q", "r", "s"]])[refit % 2]
        cuts = [-1.0, 0.5] if refit % 2 else [0.0]
        classes = names[np.digitize(score, cuts)]
        return X, classes[:, 0] if kind == "class" else classes
    labels = (score > 0.3).astype(np.int64)
    return X, labels if kind == "labels" else sparse.csr_array(labels)


def with_categories(X: np.ndarray) -> pd.DataFrame:
    """A frame of dense X, whose last column has categories."""
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    codes = np.abs(X[:, -1]).astype(int) % 3
    return frame.assign(color=pd.Categorical(np.array(["red", "green", "blue"])[codes])).drop(columns="x5")


def mask_of(y: Any, seed: int = 0) -> np.ndarray:
    """A mask of some entries of y, in which every sample and output keeps known entries."""
    mask = np.random.default_rng(seed).random(y.shape) < 0.2
    mask[:, 0] = False
    mask[:20] = False
    return mask


EVERY: dict[str, Entry] = _table()
# All pairs of an entry and a kind of y that it takes.
PAIRS: list[tuple[str, str]] = [(name, kind) for name, entry in EVERY.items() for kind in entry.outputs]


def public_classes() -> Iterator[type]:
    """The public classes of the package that are fitted to X, which leaves out those that are fitted to y alone."""
    for module in ["weald", *(m.name for m in pkgutil.walk_packages(weald.__path__, "weald."))]:
        if any(part.startswith("_") for part in module.split(".")):
            continue
        for name, cls in vars(importlib.import_module(module)).items():
            is_own = inspect.isclass(cls) and cls.__module__.startswith("weald.")
            if not is_own or not hasattr(cls, "fit") or name.startswith(("_", "Base")):
                continue
            if "X" in inspect.signature(cls.fit).parameters:
                yield cls
