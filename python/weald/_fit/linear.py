"""Fits of linear models by two engines: a model of each label to all samples, or trees of labels."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from weald import _weald
from weald._fit import memory, updates
from weald._fit.base import as_size
from weald._fit.predictions import BaseClassifier, OfFiniteX
from weald._fit.samples import Samples, prepare
from weald._fitted.at_once import fitted_at_once
from weald._fitted.fits import HERE, Fits
from weald._fitted.proof import OF_SEED, Proof, Row, must
from weald._input import digest, warned
from weald._input.checks import MOST, Float, Matrix, Number, draw_seed
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import ClassWeight, MatrixLike, RandomState, available_if
from weald._ranking import best
from weald._rounds.linear_start import of_folds
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _ColumnsConfig, _FoldModels, _LabelTreeConfig, _LinearConfig

Strategy: TypeAlias = Literal["one_vs_rest", "tree"]

# With more labels, `strategy="auto"` is "tree": benches/defaults/README.md says why.
MANY_LABELS = 20_000
# The parameters that one strategy alone has. Where they are set, the other one raises.
ONLY: dict[Strategy, tuple[str, ...]] = {
    "one_vs_rest": ("loss", "calibrate"),
    "tree": ("n_estimators", "max_children", "max_leaf_labels", "beam_width"),
}
# What "auto" is in trees, and the tolerance of both.
_C_OF_TREES = 0.2
_TOLERANCES: dict[Strategy, float] = {"one_vs_rest": 0.1, "tree": 0.3}
# The tolerance of the log loss of classes, whose margins rank samples of a rare class.
_TOLERANCE_OF_CLASSES = 0.01
# With less weight times C, the penalty holds most weights of features near zero.
_LEAST_LOSSES = 30.0


class LinearProof(Proof):
    """The fitted attributes of linear models under validation."""

    attribute = "_model"
    engine = _weald.LinearModel
    own: ClassVar[dict[str, Row]] = {
        **OF_SEED,
        "C_": (True, must("be a positive number", lambda C, _: type(C) is float and 0 < C < np.inf)),
        updates.PART: (False, lambda part, model: updates.fault_of_part(part, *_parts_of(model))),
    }

    @classmethod
    def read(cls, data: bytes) -> Any:
        return _weald.read_model(np.frombuffer(data, dtype=np.uint8), lambda _: None)[0]

    def of_engine(self) -> None:
        if isinstance(model := self.state[self.attribute], _weald.LabelTreeModel):
            self.of_y(model)
        else:
            super().of_engine()


def _parts_of(model: _weald.LinearModel | _weald.LabelTreeModel) -> tuple[str, int]:
    """What parts of a model are ranges of, and their number."""
    return ("trees", model.n_trees) if isinstance(model, _weald.LabelTreeModel) else ("labels", model.n_outputs)


class BaseLinear(OfFiniteX, BaseClassifier):
    """Classifiers with weights of features that are prepared: columns of weights, fitted sixteen at a time."""

    _proof = LinearProof
    _memory_of_fit = staticmethod(memory.of_linear)
    _has_trees = False
    _scored_by_engine = False
    _masks_y = True
    _why_finite = "a weight times a missing value is unknown"
    _why_no_tests = "trees of labels have a linear model of many features at each node"
    _exported_by = "to_json or to_c, or "
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strategy": [StrOptions({"auto", "one_vs_rest", "tree"})],
        "C": [StrOptions({"auto"}), Number(Real, 1e-9, 1e9, closed="both")],
        "loss": [StrOptions({"auto", "squared_hinge", "log_loss"})],
        "features": [StrOptions({"auto", "given", "normalized", "tfidf", "standardized"})],
        "n_estimators": [Interval(Integral, 1, MOST, closed="both")],
        "max_children": [Interval(Integral, 2, 2**16, closed="both")],
        "max_leaf_labels": [Interval(Integral, 1, 2**16, closed="both")],
        "beam_width": [Interval(Integral, 1, 2**32 - 1, closed="both")],
        "intercept_scaling": [Number(Real, 0.0, 1e3, closed="both")],
        "tol": [StrOptions({"auto"}), Number(Real, 1e-9, 1e9, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "min_weight": [Number(Real, 0.0, None, closed="left")],
        "weight_dtype": [StrOptions({"float32", "float16"})],
        "calibrate": ["boolean"],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **BaseClassifier._parameter_constraints,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    strategy: Literal["auto", "one_vs_rest", "tree"]
    C: float | Literal["auto"]
    loss: Literal["auto", "squared_hinge", "log_loss"]
    features: Literal["auto", "given", "normalized", "tfidf", "standardized"]
    n_estimators: int
    max_children: int
    max_leaf_labels: int
    beam_width: int
    intercept_scaling: float
    tol: float | Literal["auto"]
    max_iter: int
    min_weight: float
    weight_dtype: Literal["float32", "float16"]
    calibrate: bool
    class_weight: ClassWeight
    random_state: RandomState
    verbose: int

    C_: float
    _model: Any
    _part: tuple[int, int, str]

    # --- strategies ----------------------------------------------------------------------------------------------------

    def _strategy_for(self, n_labels: int) -> Strategy:
        """The strategy for y with this number of labels; classes are none."""
        if self.strategy != "auto":
            return self.strategy
        return "tree" if n_labels > MANY_LABELS else "one_vs_rest"

    @property
    def _is_tree(self) -> bool:
        """Whether the model has trees of labels: as it was fitted, or will be for sure."""
        model = self.__dict__.get("_model")
        return self.strategy == "tree" if model is None else isinstance(model, _weald.LabelTreeModel)

    def _checked_strategy(self, target: Target) -> Strategy:
        """The strategy for this y, which has all the parameters that are set."""
        strategy = self._strategy_for(target.n_outputs if target.kind == "labels" else 1)
        why = f"with strategy={strategy!r}"
        if self.strategy == "auto":
            why += f', which "auto" is for {"more" if strategy == "tree" else "no more"} than {MANY_LABELS} labels'
        known = signature(type(self)).parameters
        for name in ONLY["one_vs_rest" if strategy == "tree" else "tree"]:
            if (given := getattr(self, name)) != (default := known[name].default):
                raise ValueError(f"{name} must be {default!r}, since it has no effect {why}, got {given!r}")
        if strategy == "tree" and self.features == "standardized":
            raise ValueError(f"features must be 'auto', 'given', 'normalized' or 'tfidf' {why}, got 'standardized'")
        if strategy == "tree" and target.kind == "classes" and target.n_outputs > 1:
            raise ValueError(
                f"y must be labels, several columns of 0 and 1, or one output of classes, got {target.n_outputs} outputs of "
                "classes, which strategy='tree' does not support: fit one model for each output, or strategy='one_vs_rest'"
            )
        return strategy

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        strength = self.C if not isinstance(self.C, str) else _C_OF_TREES if self.strategy == "tree" else 1.0
        return {f"C={self.C}": _LEAST_LOSSES / strength}

    # --- fits ----------------------------------------------------------------------------------------------------------

    def _fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: object,
        y_weight: MatrixLike | None,
        label_names: object = None,
        *,
        with_folds: bool = False,
        **ranges: object,
    ) -> tuple[Samples, Any]:
        """Fit; return the checked samples, and the models of folds if they are asked for. Of `ranges` one may be a part."""
        if 0 < self.intercept_scaling < 1e-3:
            raise ValueError(f"intercept_scaling must be 0, or from 0.001 to 1000, got {self.intercept_scaling!r}")
        samples = prepare(self, X, y, sample_weight, y_weight, label_names)
        strategy = self._checked_strategy(samples.target)
        self._seed = draw_seed(self.random_state)
        self._set_outputs(samples.target)
        part = self._checked_part(strategy, ranges)
        of_all = type(self).__name__, "block of columns", None, self.verbose
        with Progress(*of_all) if self.verbose else nullcontext() as told:
            folds = (self._fit_trees if strategy == "tree" else self._fit_columns)(samples, told, part, with_folds)
        if part is not None:
            self._part = (*part, digest.of_data(samples.X, samples.target, samples.weights))
        if n := self._model.n_unfinished:
            of = (
                f"{self._model.n_columns} columns of nodes"
                if self._is_tree
                else f"{self._model.width} labels or classes"
            )
            warned.warn(
                f"{n} of {of} did not reach tol={self._tol(strategy)!r} within "
                f"max_iter={self.max_iter} passes: set a larger max_iter or tol, or a smaller C",
                ConvergenceWarning,
            )
        return samples, folds

    def _fit_columns(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> _FoldModels | None:
        args = self._config(self._seed), self._n_threads(), told, part, with_folds
        self._model, self.C_, folds = _weald.fit_linear(samples.in_engine, *args)
        return folds

    def _fit_trees(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> None:
        features = chosen_features(samples.X, samples.row_weights[0]) if self.features == "auto" else self.features
        config = self._config_of_trees(self._seed, features, part)
        self._model = _weald.fit_label_tree(samples.in_engine, config, self._n_threads(), told)
        self.C_ = config["c"]

    def _has_classes(self) -> bool:
        """Whether y has classes, and not labels; it must have been seen."""
        return getattr(self, "_label_format", True) is None

    def _loss(self) -> Literal["squared_hinge", "log_loss"]:
        if self.loss == "auto":
            return "log_loss" if self._has_classes() else "squared_hinge"
        return self.loss

    def _tol(self, strategy: Strategy) -> float:
        if not isinstance(self.tol, str):
            return float(self.tol)
        of_classes = strategy == "one_vs_rest" and self._has_classes() and self._loss() == "log_loss"
        return _TOLERANCE_OF_CLASSES if of_classes else _TOLERANCES[strategy]

    def _config(self, seed: int) -> _LinearConfig:
        """The parameters in the engine's form."""
        return {
            "loss": self._loss(),
            "c": None if isinstance(self.C, str) else float(self.C),
            "features": None if self.features == "auto" else self.features,
            "calibration": bool(self.calibrate),
            **self._config_of_columns(seed, "one_vs_rest"),
        }

    def _config_of_fit(self) -> _LinearConfig:
        """The parameters with what was chosen, in the engine's form."""
        return {**self._config(self._seed), "c": self.C_, "features": self._model.features}

    def _config_of_trees(self, seed: int, features: str, trees: tuple[int, int] | None = None) -> _LabelTreeConfig:
        """The same of the trees of a part, or of all."""
        first, end = trees or (0, as_size(self.n_estimators) or 1)
        return {
            "c": _C_OF_TREES if isinstance(self.C, str) else float(self.C),
            "features": features,
            "n_trees": end - first,
            "first_tree": first,
            "max_children": int(self.max_children),
            "max_leaf_labels": int(self.max_leaf_labels),
            "beam_width": int(self.beam_width),
            **self._config_of_columns(seed, "tree"),
        }

    def _config_of_columns(self, seed: int, strategy: Strategy) -> _ColumnsConfig:
        return {
            "intercept_scaling": float(self.intercept_scaling),
            "tol": self._tol(strategy),
            "max_iter": as_size(self.max_iter) or 1,
            "min_weight": float(self.min_weight),
            "half_precision": self.weight_dtype == "float16",
            "seed": seed,
        }

    # --- parts ---------------------------------------------------------------------------------------------------------

    def _parts_for(self, n_labels: int) -> tuple[Literal["trees", "labels"], int]:
        return ("trees", int(self.n_estimators)) if self._strategy_for(n_labels) == "tree" else ("labels", n_labels)

    def _checked_part(self, strategy: Strategy, ranges: dict[str, object]) -> tuple[int, int] | None:
        """The range of the trees or labels to fit; None for all."""
        what, n = self._parts_for(self.n_outputs_)
        other = "labels" if what == "trees" else "trees"
        if ranges.get(other) is not None:
            raise ValueError(f"{other} must be None with strategy={strategy!r}, whose parts are ranges of {what}")
        if (part := ranges.get(what)) is None:
            return None
        if what == "labels" and self._label_format is None:
            raise ValueError(
                "labels must be None if y has classes: a part of a fit is a range of the columns of y, which must be labels"
            )
        return updates.checked_range(self, what, part, n)

    def _put_together(self, parts: list[BaseLinear]) -> None:
        if self._is_tree:
            self._model = _weald.LabelTreeModel.merge([part._model for part in parts])
        else:
            self._model = _weald.LinearModel.merge([(part._model, *part._part[:2]) for part in parts])

    # --- models of folds -----------------------------------------------------------------------------------------------

    # Trees choose nothing by held-out samples.
    @available_if(lambda model: model.strategy != "tree")
    def _chosen_parameters(self) -> dict[str, Any]:
        """The parameters that the fit has chosen."""
        return {"C": self.C_, "features": self._model.features}

    def _without_out_of_bag(self, n_labels: int) -> str | None:
        return "strategy='one_vs_rest', got 'tree'" if self._strategy_for(n_labels) == "tree" else None

    def _fit_out_of_bag(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None,
        min_score: float,
        y_weight: MatrixLike | None = None,
        fits: Fits = HERE,
    ) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return scores of at least `min_score` by models without the fold of each sample, and ones."""
        fit_part = partial(_fit_labels_out_of_bag, min_score=min_score)
        found = fits.in_parts(self, X, y, sample_weight, y_weight, fit_part)
        if found is None:
            scores = fit_part(self, X, y, sample_weight, y_weight, None)
        else:
            self._become(found[0])
            scores = sparse.csr_array(sparse.hstack(found[1], format="csr"))
            scores.sort_indices()
        return scores, np.ones(scores.shape[0], dtype=np.intp)

    def _fit_with_folds(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None,
        y_weight: MatrixLike | None,
        labels: range | None = None,
    ) -> tuple[Samples, _FoldModels]:
        """Fit; return the checked samples, and the models without each fold, most of which the fit has anyway."""
        with fitted_at_once(self, anew=True) as new:
            found: tuple[Samples, _FoldModels] = new._fit(X, y, sample_weight, y_weight, labels=labels, with_folds=True)
        return found


def _fit_labels_out_of_bag(
    model: BaseLinear,
    X: MatrixLike,
    y: MatrixLike,
    sample_weight: ArrayLike | None,
    y_weight: MatrixLike | None,
    labels: range | None,
    *,
    min_score: float,
) -> sparse.csr_array:
    """Fit some labels, or all for None; return their scores by the models without the fold of each sample."""
    samples, folds = model._fit_with_folds(X, y, sample_weight, y_weight, labels)
    found, rows = [], []
    for without_fold, of_fold, X_of_fold in of_folds(samples.X, folds):
        without = copy(model)
        without._model = without_fold
        scores = without._at_least(X_of_fold, min_score)
        found.append(scores if labels is None else scores[:, labels.start : labels.stop])
        rows.append(of_fold)
    scores = sparse.csr_array(sparse.vstack(found, format="csr")[np.argsort(np.concatenate(rows))])
    scores.sort_indices()
    return scores


def chosen_features(X: Matrix, weights: Float | None) -> str:
    """What trees do with X by `features="auto"`: "tfidf" if all values of samples of positive weight are counts."""
    X = X if weights is None or weights.all() else X[weights > 0]
    blocks = (rows.data if is_sparse(rows) else rows for rows in best.row_blocks(X, X.shape[1]))
    are_counts = all((values >= 0).all() and (np.floor(values) == values).all() for values in blocks)
    return "tfidf" if are_counts else "normalized"
