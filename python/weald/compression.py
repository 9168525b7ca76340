"""Forests made small: by a path of sparse linear models over their nodes, by growth under a budget, by few bytes for leaves.

`CompressedForestRegressor` and `CompressedForestClassifier` compress a forest that was grown: an ℓ1 path over all of its
nodes, which is cut. `InducedForestRegressor` and `InducedForestClassifier` grow a small forest, node by node, until a
budget is spent. `compact_leaves` stores the leaves of any model in fewer bytes.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from weald import _weald
from weald._fit.base import as_size, keep
from weald._fit.compact import CompactReport as CompactReport
from weald._fit.compact import compact_leaves
from weald._fit.compression import BaseCompressed as BaseCompressed
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted, compressing
from weald._input.checks import Float, Matrix, Number, integer, number
from weald._input.sklearn_private import Interval, StrOptions
from weald._parameters import weighting as _weighting
from weald._parameters.types import LabelWeight, MatrixLike, MultiLabel, Prediction, RandomState
from weald._ranking import ranks
from weald.forest import ExtraTreesClassifier, ExtraTreesRegressor
from weald.loss import LOSSES, Loss
from weald.tree import DecisionTreeRegressor

__all__ = [
    "CompressedForestClassifier",
    "CompressedForestRegressor",
    "InducedForestClassifier",
    "InducedForestRegressor",
    "compact_leaves",
]


class BaseCompressedClassifier(BaseCompressed, BaseClassifier):
    """What compressed forests and induced forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(compressing(classifier=True))), Loss],
        **_weighting.LABEL_WEIGHT,
        **BaseClassifier._parameter_constraints,
    }

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        return super().predict(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        checked = self._check_predict(X)
        return self._by_output(self._model.predict(checked, self._n_threads(checked)))

    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        return self._decisions(self._check_predict(X))

    def _decisions(self, X: Matrix) -> Prediction:
        if self._threshold and self.n_outputs_ == 1 and self._label_format is None and self.n_classes_ == 2:
            return self._model.predict(X, self._n_threads(X))[:, 1] - self._threshold
        scores = self._by_output(self._scores_of(X) - self._threshold)
        is_single = self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ == 2
        return scores[:, 0] if is_single else scores

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads = self._n_threads(X)
        if not as_margins:
            return self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        margins = (
            ranks.by_class(self._decisions(rows), self.n_classes_) for rows in ranks.blocks_of(X, self.n_classes_)
        )
        return ranks.ranked_parts(margins, k, marked, n_threads)

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        def of_block(rows: Matrix) -> sparse.csr_array:
            return ranks.at_least(self._model.predict(rows, self._n_threads()), floor)

        return ranks.stacked(X, self.n_outputs_, of_block)

    def _multi_label(self) -> str | bool:
        said, given = super()._multi_label(), self._given()
        if said == "auto" and given is not None:
            said = given._multi_label()
        return said

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        # Scores with the identity as their link estimate 0 and 1.
        return 0.5 if LOSSES[self._loss].link == "identity" else 0.0


class BaseInducedForest(BaseCompressed):
    """What induced forests for all kinds of y share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "learning_rate": [Number(Real, 0.0, 1.0, closed="right")],
        "candidate_window": [Interval(Integral, 1, None, closed="left"), None],
        "n_nodes": [StrOptions({"cv"}), Interval(Integral, 0, None, closed="left"), None],
        "max_nodes": [Interval(Integral, 1, None, closed="left"), None],
    }
    _end = "n_nodes"

    learning_rate: float
    candidate_window: int | None
    n_nodes: Literal["cv"] | int | None
    max_nodes: int | None

    n_nodes_: int

    def _steps(self) -> dict[str, Any]:
        return {
            "method": "grow",
            "learning_rate": float(self.learning_rate),
            "candidate_window": as_size(self.candidate_window),
        }

    def _max_steps(self) -> int | None:
        limits = [int(n) for n in (self.n_nodes, self.max_nodes) if n is not None and not isinstance(n, str)]
        return max(1, as_size(min(limits)) or 0) if limits else None

    def _refuses_masks(self) -> str | None:
        return type(self).__name__

    def _at(self, end: float) -> _weald.Compressed:
        # Each step gives a weight to one node.
        step = int(np.searchsorted(self._path.n_nonzero(), end, side="right")) - 1
        return self._path.at_step(max(step, 0))

    def _set_model(self, model: _weald.Compressed) -> None:
        super()._set_model(model)
        self.n_nodes_ = int(self._path.n_nonzero()[self.step_])

    @of_one_fit
    def at(self, n_nodes: int) -> Self:
        """Return the model that the same growth had with fewer nodes.

        Parameters
        ----------
        n_nodes : int
            Number of nodes with a weight, not negative. Beyond the end of the growth, the model at the end is returned.

        Returns
        -------
        InducedForestRegressor or InducedForestClassifier
            A new fitted estimator with this parameter `n_nodes`, which shares the candidates. This estimator does not
            change.

        Notes
        -----
        Nothing is grown: it takes O(nodes of the full forest · width). Limits of size do not apply.
        """
        check_fitted(self)
        return self._ending_at(integer("n_nodes", n_nodes, 0))


# For the lasso: penalties from the largest with a nonzero solution to its thousandth, as in scikit-learn's
# `lasso_path`.
_N_ALPHAS, _LEAST_ALPHA = 100, 1e-3
# For the lasso: it stops when the optimality conditions hold to a ten-thousandth of the penalty, or after this number
# of sweeps.
_TOL = 1e-4
_MAX_ITER = 1000


class BaseCompressedForest(BaseCompressed):
    """What compressed forests for all kinds of y share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressed._parameter_constraints,
        "solver": [StrOptions({"stagewise", "lasso"})],
        "step_size": [Number(Real, 0.0, None, closed="neither")],
        "step_outputs": [Interval(Integral, 1, None, closed="left"), None],
        "l1_norm": [StrOptions({"cv"}), Number(Real, 0.0, None, closed="left"), None],
        "max_steps": [Interval(Integral, 1, None, closed="left"), None],
        "standardize": ["boolean"],
    }
    _end = "l1_norm"

    solver: Literal["stagewise", "lasso"]
    step_size: float
    step_outputs: int | None
    l1_norm: Literal["cv"] | float | None
    max_steps: int | None
    standardize: bool

    def _steps(self) -> dict[str, Any]:
        return {
            "method": self.solver,
            "standardize": bool(self.standardize),
            "step_size": float(self.step_size),
            "step_outputs": as_size(self.step_outputs),
            "n_alphas": _N_ALPHAS,
            "eps": _LEAST_ALPHA,
            "tol": _TOL,
            "max_iter": _MAX_ITER,
        }

    def _max_steps(self) -> int | None:
        return as_size(self.max_steps)

    def _refuses_masks(self) -> str | None:
        return 'solver="lasso"' if self.solver == "lasso" else None

    def _at(self, end: float) -> _weald.Compressed:
        return self._path.at(float(end))

    @of_one_fit
    def at(self, l1_norm: float) -> Self:
        """Return the model at another ℓ1 norm of the same path.

        Parameters
        ----------
        l1_norm : float
            Sum of the lengths of the coefficients, not negative. Beyond the end of the path, the model at the end is
            returned.

        Returns
        -------
        CompressedForestRegressor or CompressedForestClassifier
            A new fitted estimator with this parameter `l1_norm`, which shares the path. This estimator does not change.

        Notes
        -----
        Nothing is grown: it takes O(nodes of the full forest · width). Limits of size do not apply. With
        solver="lasso", the penalty with this norm is searched for.
        """
        check_fitted(self)
        accepted = "a finite number of at least 0"
        return self._ending_at(number("l1_norm", l1_norm, lambda norm: 0 <= norm < np.inf, accepted))


class CompressedForestRegressor(BaseCompressedForest, BaseRegressor):
    """A compressed forest for regression: a tenth or a hundredth of the splits, and often better predictions.

    Each node of each tree is an indicator of the samples that pass through it, and a sparse linear model over these
    indicators is fitted. Splits without any nonzero coefficient below them are removed (Joly 2016, chapter 7; Hastie et
    al., *Forward stagewise regression and the monotone lasso*, 2007). Files contain the small model only, and loaded
    models have no `at`: see `docs/compression.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((90, 3))
    >>> weald.CompressedForestRegressor(cv=3, random_state=0).fit(X, X[:, 0]).compression_ratio_ > 20
    True

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model to compress, which is cloned and fitted; None: `ExtraTreesRegressor()`. Without a `random_state` or
        `n_jobs` of its own it gets that of this estimator. A fitted `sklearn.frozen.FrozenEstimator(model)` is used as
        it is: the samples of `fit` only determine the coefficients, and the forests of the folds are grown on them.
    solver : {"stagewise", "lasso"}, default="stagewise"
        How the path is found: "stagewise", steps of `step_size` each change the node that decreases the loss most, and
        never move back; "lasso", the exact minimum for each of 100 penalties on the sum of the lengths of the
        coefficients, where those of all outputs of a node are one vector (the group lasso).
    loss : {"squared_error"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.
    step_size : float, default=0.01
        Length of a stagewise step, for numerical outputs after they are scaled to unit variance.
    step_outputs : int or None, default=None
        Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
        gradients in the node. None: all. With many labels, a small number gives leaves that are mostly zero and are
        stored as sparse columns. It has no effect for solver="lasso".
    l1_norm : "cv", float or None, default="cv"
        Sum of the lengths of the coefficients at which the path is cut: "cv", where the mean test loss over the folds
        is smallest, the first such point if there are several; a number, at this norm; None, at the end of the path.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Folds: their number, None for 5, or what scikit-learn's `check_cv` takes. A number holds out rows (see
        `docs/determinism.md#folds-hold-out-rows`); it is reduced, with a warning, to the number of samples, or of
        samples in the largest class. Each fold grows a forest of its own.
    max_steps : int or None, default=None
        Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for
        solver="lasso".
    standardize : bool, default=False
        If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size in bytes of the file that `weald.save` writes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of
        the forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".
    keep_path : bool, default=False
        Whether pickles and model files contain `path_` and `step_`, for figures of size and error.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, those of the folds, and candidates. Each `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    l1_norm_, n_test_nodes_, compression_ratio_, step_ : float, int, float and int
        The norm of the coefficients, the number of splits, that of the forest divided by it, and the position in
        `path_`.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _masks_y = True
    _default_estimator = ExtraTreesRegressor
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        solver: Literal["stagewise", "lasso"] = "stagewise",
        loss: object = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Literal["cv"] | float | None = "cv",
        cv: object = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        keep_path: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())


class CompressedForestClassifier(BaseCompressedForest, BaseCompressedClassifier):
    """A compressed forest for classification: a small model with the accuracy of a forest.

    It works as `CompressedForestRegressor`, with one column of scores for each label, one for two classes, and
    otherwise one for each class of each output, which are not scaled. A node has coefficients in all columns or in
    none, unless `step_outputs` limits them, so that frequent labels decide unless `label_weight` weights them. See
    `docs/compression.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((90, 3))
    >>> weald.CompressedForestClassifier(max_test_nodes=10, random_state=0).fit(X, X[:, 0] > 0.5).n_test_nodes_ <= 10
    True

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model to compress, which is cloned and fitted; None: `ExtraTreesClassifier()`. Without a `random_state` or
        `n_jobs` of its own it gets that of this estimator. A fitted `sklearn.frozen.FrozenEstimator(model)` is used as
        it is: the samples of `fit` only determine the coefficients, and the forests of the folds are grown on them.
    solver : {"stagewise", "lasso"}, default="stagewise"
        How the path is found: "stagewise", steps of `step_size` each change the node that decreases the loss most, and
        never move back; "lasso", the exact minimum for each of 100 penalties on the sum of the lengths of the
        coefficients, where those of all outputs of a node are one vector (the group lasso).
    loss : {"squared_error", "log_loss"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`: the squared error of scores as estimates of 0 and
        1, or the log loss, whose scores are half the log-odds for labels and two classes, and the inputs of a softmax
        for more.
    step_size : float, default=0.01
        Length of a stagewise step, for numerical outputs after they are scaled to unit variance.
    step_outputs : int or None, default=None
        Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
        gradients in the node. None: all. With many labels, a small number gives leaves that are mostly zero and are
        stored as sparse columns. It has no effect for solver="lasso".
    l1_norm : "cv", float or None, default="cv"
        Sum of the lengths of the coefficients at which the path is cut: "cv", where the mean test loss over the folds
        is smallest, the first such point if there are several; a number, at this norm; None, at the end of the path.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Folds: their number, None for 5, or what scikit-learn's `check_cv` takes. A number holds out rows (see
        `docs/determinism.md#folds-hold-out-rows`); it is reduced, with a warning, to the number of samples, or of
        samples in the largest class. Each fold grows a forest of its own.
    max_steps : int or None, default=None
        Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for
        solver="lasso".
    standardize : bool, default=False
        If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size in bytes of the file that `weald.save` writes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of
        the forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".
    keep_path : bool, default=False
        Whether pickles and model files contain `path_` and `step_`, for figures of size and error.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of
        `estimator`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the losses, of training and folds: "balanced", 1 / (p (1 - p)) for a label with a
        fraction p of the known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not
        negative, of which only ratios matter; None, all the same. Only for labels; for classes, use `class_weight` of
        `estimator`. Scores are unweighted. See `docs/tagging.md#weights-for-rare-tags`.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, those of the folds, and candidates. Each `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    l1_norm_, n_test_nodes_, compression_ratio_, step_ : float, int, float and int
        The norm of the coefficients, the number of splits, that of the forest divided by it, and the position in
        `path_`.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCompressedForest._parameter_constraints,
        **BaseCompressedClassifier._parameter_constraints,
    }
    _masks_y = True
    _default_estimator = ExtraTreesClassifier
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        solver: Literal["stagewise", "lasso"] = "stagewise",
        loss: object = "squared_error",
        step_size: float = 0.01,
        step_outputs: int | None = None,
        l1_norm: Literal["cv"] | float | None = "cv",
        cv: object = 10,
        max_steps: int | None = None,
        standardize: bool = False,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        keep_path: bool = False,
        multi_label: MultiLabel = "auto",
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())


class InducedForestRegressor(BaseInducedForest, BaseRegressor):
    """A globally induced forest for regression: a model within a budget of memory.

    A small forest is grown within a forest of candidates. It starts from the roots, and each step adds the node, among
    the children of those that were added before, whose weight decreases the loss most, with a fraction of that weight
    (Begon, Joly and Geurts, *Globally induced forest*, ICML 2017). This is better than fewer or smaller trees. Files
    contain the small model only: see `docs/compression.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((90, 3))
    >>> weald.InducedForestRegressor(n_nodes=50, random_state=0).fit(X, X[:, 0]).at(20).n_nodes_
    20

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model whose nodes are the candidates, which is cloned and fitted; None: `ExtraTreesRegressor()`. Without a
        `random_state` or `n_jobs` of its own it gets that of this estimator. A fitted
        `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples of `fit` only determine which nodes are
        added and their weights, and the forests of the folds are grown on them.
    loss : {"squared_error"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.
    learning_rate : float, default=0.1
        The fraction of its best weight that a node gets, above 0 and up to 1.
    candidate_window : int or None, default=None
        The number of nodes that each step draws at random to choose the best of them. None: each step considers all
        nodes.
    n_nodes : "cv", int or None, default="cv"
        Number of nodes that get a weight: "cv", where the mean test loss over the folds is smallest, the first such
        number if there are several; a number, or fewer if no other node decreases the loss; None, until none does, or
        at a limit.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Folds: their number, None for 5, or what scikit-learn's `check_cv` takes. A number holds out rows (see
        `docs/determinism.md#folds-hold-out-rows`); it is reduced, with a warning, to the number of samples, or of
        samples in the largest class. Each fold grows a forest of its own.
    max_nodes : int or None, default=None
        Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size in bytes of the file that `weald.save` writes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of
        the forest, instead of the model with the smallest loss. At least -1; it requires n_nodes="cv".
    keep_path : bool, default=False
        Whether pickles and model files contain `path_` and `step_`, for figures of size and error.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, those of the folds, and candidates. Each `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    n_nodes_, l1_norm_, n_test_nodes_, compression_ratio_, step_ : int, float, int, float and int
        The number of nodes with a weight, the sum of the lengths of the weights, the number of splits, that of the
        forest divided by it, and the position in `path_`.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _default_estimator = ExtraTreesRegressor
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: object = "squared_error",
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        n_nodes: Literal["cv"] | int | None = "cv",
        cv: object = 10,
        max_nodes: int | None = None,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        keep_path: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())


class InducedForestClassifier(BaseInducedForest, BaseCompressedClassifier):
    """A globally induced forest for classification: a model within a budget of memory.

    It works as `InducedForestRegressor`, with one column of scores for each label, one for two classes, and otherwise
    one for each class of each output. A node has weights in all columns. See `docs/compression.md`.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((90, 3))
    >>> weald.InducedForestClassifier(n_nodes=50, random_state=0).fit(X, X[:, 0] > 0.5).n_nodes_
    50

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model whose nodes are the candidates, which is cloned and fitted; None: `ExtraTreesClassifier()`. Without a
        `random_state` or `n_jobs` of its own it gets that of this estimator. A fitted
        `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples of `fit` only determine which nodes are
        added and their weights, and the forests of the folds are grown on them.
    loss : {"squared_error", "log_loss"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`: the squared error of scores as estimates of 0 and
        1, or the log loss, whose scores are half the log-odds for labels and two classes, and the inputs of a softmax
        for more.
    learning_rate : float, default=0.1
        The fraction of its best weight that a node gets, above 0 and up to 1.
    candidate_window : int or None, default=None
        The number of nodes that each step draws at random to choose the best of them. None: each step considers all
        nodes.
    n_nodes : "cv", int or None, default="cv"
        Number of nodes that get a weight: "cv", where the mean test loss over the folds is smallest, the first such
        number if there are several; a number, or fewer if no other node decreases the loss; None, until none does, or
        at a limit.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Folds: their number, None for 5, or what scikit-learn's `check_cv` takes. A number holds out rows (see
        `docs/determinism.md#folds-hold-out-rows`); it is reduced, with a warning, to the number of samples, or of
        samples in the largest class. Each fold grows a forest of its own.
    max_nodes : int or None, default=None
        Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size in bytes of the file that `weald.save` writes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of
        the forest, instead of the model with the smallest loss. At least -1; it requires n_nodes="cv".
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of
        `estimator`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the losses, of training and folds: "balanced", 1 / (p (1 - p)) for a label with a
        fraction p of the known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not
        negative, of which only ratios matter; None, all the same. Only for labels; for classes, use `class_weight` of
        `estimator`. Scores are unweighted. See `docs/tagging.md#weights-for-rare-tags`.
    keep_path : bool, default=False
        Whether pickles and model files contain `path_` and `step_`, for figures of size and error.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, those of the folds, and candidates. Each `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    n_nodes_, l1_norm_, n_test_nodes_, compression_ratio_, step_ : int, float, int, float and int
        The number of nodes with a weight, the sum of the lengths of the weights, the number of splits, that of the
        forest divided by it, and the position in `path_`.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for other features. It exists
        only if there are such features, of which `is_categorical_` is the mask.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseInducedForest._parameter_constraints,
        **BaseCompressedClassifier._parameter_constraints,
    }
    _default_estimator = ExtraTreesClassifier
    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        loss: object = "squared_error",
        learning_rate: float = 0.1,
        candidate_window: int | None = None,
        n_nodes: Literal["cv"] | int | None = "cv",
        cv: object = 10,
        max_nodes: int | None = None,
        max_test_nodes: int | None = None,
        max_bytes: int | None = None,
        max_loss_increase: float | None = None,
        multi_label: MultiLabel = "auto",
        label_weight: LabelWeight = None,
        keep_path: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())
