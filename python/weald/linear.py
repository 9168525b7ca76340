"""Linear models of labels and classes, for text above all: a weight of each word for each label.

Each label, or each class of an output, has a model of its own: the squared hinge loss, or the log loss, of its samples
against all others, with an L2 penalty, by dual coordinate descent for sixteen labels at a time. Trees of labels, for more than
some ten thousand, have such models of clusters of labels, and of labels against those that a search finds near them.

Sources: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML
2008; Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine
Learning 2011. Of trees: Prabhu, Kag, Harsola, Agrawal and Varma, "Parabel: partitioned label trees for extreme classification
with application to dynamic search advertising", WWW 2018; Khandagale, Xiao and Babbar, "Bonsai: diverse and shallow trees for
extreme multi-label classification", Machine Learning 2020; Zhang, Chang, Yu and Dhillon, "Fast multi-resolution transformer
fine-tuning for extreme multi-label text classification", NeurIPS 2021, for the samples of a node.
"""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from weald import _weald
from weald._fit import memory, updates
from weald._fit.base import Samples, as_size, keep, prepare
from weald._fit.predictions import Absent, BaseClassifier, OfFiniteX, label_probabilities
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import OF_SEED, Proof, Row, check_fitted, must
from weald._input import messages
from weald._input.checks import MOST, Float, Matrix, Number, draw_seed
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.sparse import csr_of, is_sparse
from weald._input.targets import Target
from weald._parameters.types import (
    ClassWeight,
    LabelNames,
    MatrixLike,
    MultiLabel,
    Prediction,
    RandomState,
    SampleWeight,
    YWeight,
    available_if,
    fit_context,
)
from weald._ranking import ranks
from weald._rounds.linear_start import Added, of_folds
from weald._rounds.rounds import Progress

__all__ = ["LinearClassifier"]


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

    def _fit(self, given: Fit, *, with_folds: bool = False, **ranges: object) -> tuple[Samples, Any]:
        """Fit; return the checked samples, and the models of folds if they are asked for. Of `ranges` one may be a part."""
        if 0 < self.intercept_scaling < 1e-3:
            raise ValueError(f"intercept_scaling must be 0, or from 0.001 to 1000, got {self.intercept_scaling!r}")
        samples = prepare(self, given)
        strategy = self._checked_strategy(samples.target)
        self._seed = draw_seed(self.random_state)
        self._set_outputs(samples.target)
        part = self._checked_part(strategy, ranges)
        of_all = type(self).__name__, "block of columns", None, self.verbose
        with Progress(*of_all) if self.verbose else nullcontext() as told:
            folds = (self._fit_trees if strategy == "tree" else self._fit_columns)(samples, told, part, with_folds)
        if part is not None:
            self._part = (*part, updates.digest_of_data(samples.X, samples.target, samples.weights))
        if n := self._model.n_unfinished:
            of = (
                f"{self._model.n_columns} columns of nodes"
                if self._is_tree
                else f"{self._model.width} labels or classes"
            )
            messages.warn(
                f"{n} of {of} did not reach tol={self._tol(strategy)!r} within "
                f"max_iter={self.max_iter} passes: set a larger max_iter or tol, or a smaller C",
                ConvergenceWarning,
            )
        return samples, folds

    def _fit_columns(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> _weald._FoldModels | None:
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

    def _config(self, seed: int) -> _weald._LinearConfig:
        """The parameters in the engine's form."""
        return {
            "loss": self._loss(),
            "c": None if isinstance(self.C, str) else float(self.C),
            "features": None if self.features == "auto" else self.features,
            "calibration": bool(self.calibrate),
            **self._config_of_columns(seed, "one_vs_rest"),
        }

    def _config_of_trees(
        self, seed: int, features: str, trees: tuple[int, int] | None = None
    ) -> _weald._LabelTreeConfig:
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

    def _config_of_columns(self, seed: int, strategy: Strategy) -> _weald._ColumnsConfig:
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

    def _fit_out_of_bag(self, given: Fit, min_score: float) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return scores of at least `min_score` by models without the fold of each sample, and ones."""
        fit_part = partial(_fit_labels_out_of_bag, min_score=min_score)
        found = given.fits.in_parts(self, given, fit_part)
        if found is None:
            scores = fit_part(self, given, None)
        else:
            self._become(found[0])
            scores = sparse.csr_array(sparse.hstack(found[1], format="csr"))
            scores.sort_indices()
        return scores, np.ones(scores.shape[0], dtype=np.intp)

    def _fit_with_folds(self, given: Fit, labels: range | None = None) -> tuple[Samples, _weald._FoldModels]:
        """Fit; return the checked samples, and the models without each fold, most of which the fit has anyway."""
        with fitted_at_once(self, anew=True) as new:
            found: tuple[Samples, _weald._FoldModels] = new._fit(Fit(*given.data), labels=labels, with_folds=True)
        return found


def _fit_labels_out_of_bag(
    model: BaseLinear, given: Fit, labels: range | None, *, min_score: float
) -> sparse.csr_array:
    """Fit some labels, or all for None; return their scores by the models without the fold of each sample."""
    samples, folds = model._fit_with_folds(given, labels)
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
    blocks = (rows.data if is_sparse(rows) else rows for rows in ranks.blocks_of(X, X.shape[1]))
    are_counts = all((values >= 0).all() and (np.floor(values) == values).all() for values in blocks)
    return "tfidf" if are_counts else "normalized"


def _has_margins(model: LinearClassifier) -> bool:
    """Whether there are margins: not of classes in trees."""
    return not model._is_tree or getattr(model, "_label_format", None) is not None


class LinearClassifier(BaseLinear):
    """A linear classifier for labels or classes, for text above all.

    For each label, or for each class, it fits a weight of each feature (squared hinge loss or log loss, L2 penalty), in
    time in proportion to the stored entries of X times the labels over sixteen. Held-out samples choose C and features,
    and calibrate probabilities. Very many labels get trees of them (`strategy`). For dense data with few labels, use a
    `GradientBoostingClassifier`; `weald.inspection.top_features` shows the weights. See `docs/linear.md`.

    >>> import weald
    >>> X, Y = [[2, 0], [1, 0], [0, 1], [0, 3]] * 5, [[1, 0], [1, 0], [0, 1], [0, 1]] * 5  # words and tags
    >>> weald.LinearClassifier(random_state=0).fit(X, Y).predict([[1, 0]])
    array([[1, 0]])

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto" is 0.2
        in trees, and otherwise one of 0.1, 0.3, 1, 3 and 10, or of ten times these numbers with `loss` "log_loss", by
        the log loss of held-out samples. `C_` is the choice.
    strategy : {"auto", "one_vs_rest", "tree"}, default="auto"
        "one_vs_rest" fits a model of each label or class to all samples. "tree" clusters the labels, or the classes of
        one output, and fits models of clusters and of labels to the samples near them: many labels take far less time.
        "auto" is "tree" for more than 20,000 labels. Setting a parameter that has no effect with the strategy raises a
        ValueError: see `docs/linear.md`.
    loss : {"auto", "squared_hinge", "log_loss"}, default="auto"
        What a sample loses by its margin m, the score if it has the label and the negative score otherwise: max(0, 1 -
        m)², or ln(1 + exp(-m)), which is logistic regression. "log_loss" has better probabilities, also of rare
        classes, and the best label of text is right a little less often. "auto" is "log_loss" for classes and
        "squared_hinge" for labels. Only with "one_vs_rest".
    features : {"auto", "given", "normalized", "tfidf", "standardized"}, default="auto"
        What is done with X, in `fit` and in predictions: nothing, samples are divided by their length, counts of words
        become tf-idf and are then divided, or features are standardised, for which X becomes dense in the fit (not in
        trees). "auto" is the one that suits held-out samples best; in trees it is "tfidf" for whole numbers that are
        not negative, and otherwise "normalized". See `docs/linear.md` for formulas.
    n_estimators : int, default=1
        Number of trees, which differ by the random centres from which the clusters of labels start. Only with "tree".
    max_children : int, default=100
        Maximum number of children of a node, from 2 to 65,536. With 2, each child has half of the labels of its node.
        Only with "tree".
    max_leaf_labels : int, default=400
        Maximum number of labels of a leaf, from 1 to 65,536. Nodes with more labels are divided. Larger leaves rank
        labels better and take longer. Only with "tree".
    beam_width : int, default=20
        Number of nodes of each tree that searches follow at each depth. In the fit, a node learns to tell its labels
        from those of all samples whose search comes there; in predictions, labels of other nodes have the probability
        0. More nodes rank labels better and take longer. Only with "tree".
    intercept_scaling : float, default=0.3
        The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. The larger it is, the
        less intercepts are drawn towards -1, which says that a sample does not have the label; with 0 all are -1. With
        `loss` "log_loss" it is ln((P + ½) / (N + ½)) in place of -1, of the weights P and N of samples with and without
        the label.
    tol : float or "auto", default="auto"
        A label is fitted when the gradient of no sample is larger than this; with `loss` "log_loss", when the duality
        gap, a bound of what the objective is above its least value, is at most this times the loss of the samples.
        "auto" is 0.1, 0.01 with the log loss of classes, and 0.3 in trees.
    max_iter : int, default=1000
        Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.
    min_weight : float, default=0.01
        Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features`
        says, had a mean square of their lengths of one. Of labels whose largest weight is below one, it is this share
        of it. Models are then several times smaller, with hardly any difference in predictions.
    weight_dtype : {"float32", "float16"}, default="float32"
        The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and model
        files take about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not
        rounded: with one of them, for example with a `min_weight` of 0, a file has all weights in float32.
    calibrate : bool, default=True
        Whether margins are turned into log-odds by a slope and an intercept for each label, fitted to the margins of
        held-out samples: those of three or more classes together, by the log loss of their softmax. If False, the
        margins are the log-odds, and with a given `C` and `features` a fit takes about a third of the time. Only with
        "one_vs_rest".
    class_weight : "balanced", dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the order in which samples are visited, and the clusters of labels. Each call of `fit` draws one seed
        from it. With "one_vs_rest", results with different seeds differ by less than `tol` allows.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    strategy_ : {"one_vs_rest", "tree"}
        The strategy of the fit.
    C_ : float
        The inverse strength of the penalty that the model was fitted with.
    features_ : {"given", "normalized", "tfidf", "standardized"}
        What is done with X.
    n_iter_ : int
        The largest number of passes over the samples, of all labels, classes and clusters.
    idf_ : ndarray of shape (n_features,)
        The inverse document frequencies. They exist only with `features_` "tfidf".
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    feature_importances_ = Absent(
        "each label has weights of its own; see weald.inspection.permutation_importance, or without trees coef_ and "
        "weald.inspection.top_features"
    )

    def __init__(
        self,
        C: float | Literal["auto"] = "auto",
        *,
        strategy: Literal["auto", "one_vs_rest", "tree"] = "auto",
        loss: Literal["auto", "squared_hinge", "log_loss"] = "auto",
        features: Literal["auto", "given", "normalized", "tfidf", "standardized"] = "auto",
        n_estimators: int = 1,
        max_children: int = 100,
        max_leaf_labels: int = 400,
        beam_width: int = 20,
        intercept_scaling: float = 0.3,
        tol: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        min_weight: float = 0.01,
        weight_dtype: Literal["float32", "float16"] = "float32",
        calibrate: bool = True,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        labels: range | None = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the model to training samples.

        A `ConvergenceWarning` says that some labels were not fitted to the tolerance `tol` within `max_iter` passes,
        and a `UserWarning` that the sample weights are so small together that `C` decides the model, with a factor for
        them.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: finite numbers such as counts of words. Float32 X that is dense or CSR is used without
            a copy, other X is converted once. Categories raise an error: see `sklearn.preprocessing.OneHotEncoder`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read, and one with weight 2 counts exactly as two.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown values of y, besides those that are NaN; they are not read. A sample has no part in
            the fit of the labels that are unknown for it. An output without any known value raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        labels : range or None, default=None
            Fit only these columns of y, which must be labels, with the strategy "one_vs_rest"; the others have no
            weights. Such parts, each fitted to all of X and y, can be fitted on several machines and put together by
            `weald.merge`. `random_state` must then be an integer. See `docs/many-machines.md#linear-models`.
        trees : range or None, default=None
            Fit only these trees of `range(n_estimators)`, with the strategy "tree": a part of the model in the same
            way.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit(Fit(X, y, sample_weight, y_weight, label_names), labels=labels, trees=trees)
        return self

    # --- what was fitted -----------------------------------------------------------------------------------------------

    def _fitted(self, attribute: str, *, of_weights: bool = False) -> Any:
        """The engine's model. Without it, `attribute` does not exist, as for any estimator of scikit-learn."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        if of_weights and self._is_tree:
            raise AttributeError(f"{type(self).__name__} has no {attribute} with strategy_='tree'")
        return self._model

    @property
    @of_one_fit
    def strategy_(self) -> Strategy:
        """The strategy of the fit: one of the values of `strategy`, and not "auto"."""
        return "tree" if isinstance(self._fitted("strategy_"), _weald.LabelTreeModel) else "one_vs_rest"

    @property
    @of_one_fit
    def n_iter_(self) -> int:
        """The largest number of passes over the samples, of all columns."""
        n_iter: int = self._fitted("n_iter_").n_iter
        return n_iter

    @property
    @of_one_fit
    def features_(self) -> str:
        """What is done with X: one of the values of `features`, and not "auto"."""
        features: str = self._fitted("features_").features
        return features

    @property
    @of_one_fit
    def idf_(self) -> NDArray[np.float32]:
        """The inverse document frequency of each feature: a copy, of shape (n_features,). Only with "tfidf"."""
        idf: NDArray[np.float32] | None = self._fitted("idf_").idf()
        if idf is None:
            raise AttributeError(f"{type(self).__name__} has no idf_ with features_={self._model.features!r}")
        return idf

    @property
    @of_one_fit
    def coef_(self) -> sparse.csr_array:
        """The weight of each feature in each column of `decision_function`: a copy, CSR of shape (n_columns, n_features).

        There is a row for each label, one for an output of two classes, and otherwise one for each class of each output.
        They are weights of features after they were prepared as `features_` says. Trees have none.
        """
        model = self._fitted("coef_", of_weights=True)
        ptr, columns, values = model.weights()
        by_feature = csr_of((ptr, columns, values), (model.n_features, model.width))
        return sparse.csr_array(by_feature.T)

    @property
    @of_one_fit
    def intercept_(self) -> Float:
        """The intercept of each column of `decision_function`: a copy, of shape (n_columns,). Trees have none."""
        found: Float = self._fitted("intercept_", of_weights=True).intercepts()
        return found

    def _linear_part(self) -> tuple[_weald.LinearModel, Added] | None:
        return None if self._is_tree else (self._model, "scores")

    @property
    def _inspected_by(self) -> str | None:  # type: ignore[override]
        return None if self._is_tree else "top_features"

    # --- predictions ---------------------------------------------------------------------------------------------------

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        # The scores of trees are probabilities.
        return 0.5 if self._is_tree else 0.0

    def _unit(self) -> float:
        # Scores of the logistic link are half the logits.
        return 1.0 if self._is_tree or self._model.link == "softmax" else 2.0

    def _scores_of(self, X: Matrix) -> Float:
        scores: Float = (
            self._at_least(X, 0.0).toarray() if self._is_tree else self._model.predict_scores(X, self._n_threads(X))
        )
        return scores

    def _probabilities(self, scores: Float) -> Prediction:
        return self._by_output(scores if self._is_tree else self._model.to_predictions(scores))

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        if self._is_tree:
            # Of labels that the search reaches.
            return csr_of(self._model.predict_at_least(X, floor, self._n_threads(X)), (X.shape[0], self._model.width))
        of_block = lambda rows: ranks.at_least(self._probabilities(self._scores_of(rows)), floor)  # noqa: E731
        return ranks.stacked(X, self.n_outputs_, of_block)

    def _positive(self, X: Matrix) -> Any:
        return self._at_least(X, self._threshold) > self._threshold if self._is_tree else super()._positive(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:  # noqa: D102  # inherited
        return self._probabilities(self._scores(X))

    @available_if(_has_margins)
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        """Compute scores: a label, or the second of two classes, is predicted if its score is positive.

        They are the logits of the probabilities; trees have scores of labels alone, the probabilities minus one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            A column for two classes, one for each of more in the order of `classes_`, and one for each label. For
            several outputs of classes, an array for each.
        """
        check_fitted(self)
        return self._decisions(self._scores(X))

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads, width = self._n_threads(X), self.n_classes_
        if self._label_format is None and not self._is_tree:
            of_scores = self._decisions if as_margins else self._probabilities
            parts = (ranks.by_class(of_scores(self._scores_of(rows)), width) for rows in ranks.blocks_of(X, width))
            return ranks.ranked_parts(parts, k, marked, n_threads)
        indices, scores = self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        return indices, self._of_ranked(scores, as_margins=as_margins)

    def _of_ranked(self, scores: Float, *, as_margins: bool) -> Float:
        """The margins or probabilities of scores of any labels."""
        if as_margins:
            return (scores - self._threshold) * self._unit()
        return scores if self._is_tree else label_probabilities(scores)
