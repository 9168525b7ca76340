"""Forests made small: by a path of sparse linear models over their nodes, by growth under a budget, by few bytes for leaves.

`CompressedForestRegressor` and `CompressedForestClassifier` compress a forest that was grown: an ℓ1 path over all of its
nodes, which is cut. `InducedForestRegressor` and `InducedForestClassifier` grow a small forest, node by node, until a
budget is spent. `compact_leaves` stores the leaves of any model in fewer bytes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import BaseEstimator

from weald._compress.classifier import BaseCompressedClassifier
from weald._compress.induced import BaseInducedForest
from weald._compress.path import BaseCompressedForest
from weald._fit.base import keep
from weald._fit.compact import CompactReport as CompactReport
from weald._fit.compact import compact_leaves
from weald._fit.compression import BaseCompressed as BaseCompressed
from weald._fit.predictions import BaseRegressor
from weald._parameters.types import LabelWeight, MatrixLike, MultiLabel, Prediction, RandomState
from weald.forest import ExtraTreesClassifier, ExtraTreesRegressor
from weald.tree import DecisionTreeRegressor

__all__ = [
    "CompressedForestClassifier",
    "CompressedForestRegressor",
    "InducedForestClassifier",
    "InducedForestRegressor",
    "compact_leaves",
]


class CompressedForestRegressor(BaseCompressedForest, BaseRegressor):
    """A compressed forest for regression with one or several numerical outputs.

    Each node of each tree is an indicator of the samples that pass through it, and a sparse linear model over these
    indicators is fitted. Splits without any nonzero coefficient below them are removed. The rest is a forest again,
    with new values, which predicts the same as the linear model. It often has a tenth or a hundredth of the splits of
    the original forest and predicts better.

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model to compress, which is cloned and fitted. None: `ExtraTreesRegressor()`. If its `random_state` or `n_jobs` is
        None, it gets that of this estimator. A fitted model in `sklearn.frozen.FrozenEstimator(model)` is used as it is:
        the samples that `fit` receives then only determine the coefficients, and the forests of the folds are grown on
        them.
    solver : {"stagewise", "lasso"}, default="stagewise"
        How the path is found:

        - "stagewise": each step changes the coefficient of the node that decreases the loss most, by `step_size`.
          Coefficients never move back.
        - "lasso": the exact minimum of the loss for each of 100 penalties on the sum of the lengths of the coefficients,
          where the coefficients of all outputs of a node form one vector (the group lasso).
    loss : {"squared_error"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.
    step_size : float, default=0.01
        Length of a stagewise step, for outputs that are scaled to unit variance.
    step_outputs : int or None, default=None
        Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
        gradients in the node. None: all outputs. With many labels, a small number gives leaves that are mostly zero and are
        stored as sparse columns. It has no effect for solver="lasso".
    l1_norm : "cv", float or None, default="cv"
        Sum of the lengths of the coefficients at which the path is cut:

        - "cv": where the mean test loss over the folds is smallest, the first such point if there are several;
        - a number: at this norm;
        - None: at the end of the path.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Cross-validation folds: their number, None for 5, or what scikit-learn's `check_cv` takes. Folds of a number hold out
        rows (see `docs/determinism.md`). If there are fewer samples, or fewer samples in the largest class, the number is
        reduced with a warning. Each fold grows a forest of its own.
    max_steps : int or None, default=None
        Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for solver="lasso".
    standardize : bool, default=False
        If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size of the saved model in bytes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
        forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".
    keep_path : bool, default=False
        If True, pickles and model files contain `path_` and `step_`, for figures of size and error. A model predicts
        without them.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest and of the forests of the folds. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    l1_norm_ : float
        The norm of the model's coefficients.
    n_test_nodes_ : int
        The number of splits of the model.
    compression_ratio_ : float
        The number of splits of the forest divided by that of the model; infinite if the model has none and the forest has
        some.
    path_ : dict of ndarray of shape (n_steps + 1,)
        For each step of the path, starting with the constant model: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero"
        (the number of nodes with a coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the
        folds at the same step. The path ends with the first step that has more than `max_test_nodes` splits. Losses are mean
        squared errors.
    step_ : int
        The position of the model in `path_`; if its norm is between two positions, the first of them.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    estimators_ : sequence of DecisionTreeRegressor
        The trees of the model, as regressors whose mean is the score of a sample. They are created when they are accessed,
        and share the memory of the model.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.

    Notes
    -----
    A pickle or model file contains the small model only: not the forest, an unfitted `estimator` instead of a fitted or
    frozen one, and `path_` only with `keep_path=True`. The method `at` is not available for a loaded model.

    Source: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
    thesis, Liège 2016, chapter 7; T. Hastie et al., *Forward stagewise regression and the monotone lasso*, Electronic
    Journal of Statistics 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import weald
    >>> X, y = make_friedman1(n_samples=500, random_state=0)
    >>> small = weald.CompressedForestRegressor(cv=3, random_state=0).fit(X[:300], y[:300])
    >>> small.compression_ratio_ > 20
    True
    >>> small.score(X[300:], y[300:]) > small.estimator_.score(X[300:], y[300:])
    True

    The same path, cut earlier:

    >>> smaller = small.at(small.l1_norm_ / 2)
    >>> smaller.n_test_nodes_ < small.n_test_nodes_
    True
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

    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numerical outputs: the sum of the coefficients of the nodes that a sample passes through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets.
        """
        return super().predict(X)


class CompressedForestClassifier(BaseCompressedForest, BaseCompressedClassifier):
    """A compressed forest for classification with classes or labels.

    It works as `CompressedForestRegressor`, with one column of scores for each label, one for two classes, and
    otherwise one for each class of each output. These columns of 0 and 1 are not scaled. A node has coefficients in all
    columns or in none, unless `step_outputs` limits them.

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model to compress, which is cloned and fitted. None: `ExtraTreesClassifier()`. If its `random_state` or `n_jobs` is
        None, it gets that of this estimator. A fitted model in `sklearn.frozen.FrozenEstimator(model)` is used as it is:
        the samples that `fit` receives then only determine the coefficients, and the forests of the folds are grown on
        them.

        Its class weights also weight the samples here. Its `label_weight` only influences which nodes exist.
    solver : {"stagewise", "lasso"}, default="stagewise"
        How the path is found:

        - "stagewise": each step changes the coefficient of the node that decreases the loss most, by `step_size`.
          Coefficients never move back.
        - "lasso": the exact minimum of the loss for each of 100 penalties on the sum of the lengths of the coefficients,
          where the coefficients of all outputs of a node form one vector (the group lasso).
    loss : {"squared_error", "log_loss"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`:

        - "squared_error": the squared error of scores as estimates of 0 and 1;
        - "log_loss": the log loss. Scores are half the log-odds for labels and two classes, and the inputs of the softmax
          for more classes.
    step_size : float, default=0.01
        Length of a stagewise step.
    step_outputs : int or None, default=None
        Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
        gradients in the node. None: all outputs. With many labels, a small number gives leaves that are mostly zero and are
        stored as sparse columns. It has no effect for solver="lasso".
    l1_norm : "cv", float or None, default="cv"
        Sum of the lengths of the coefficients at which the path is cut:

        - "cv": where the mean test loss over the folds is smallest, the first such point if there are several;
        - a number: at this norm;
        - None: at the end of the path.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Cross-validation folds: their number, None for 5, or what scikit-learn's `check_cv` takes. Folds of a number hold out
        rows (see `docs/determinism.md`). If there are fewer samples, or fewer samples in the largest class, the number is
        reduced with a warning. Each fold grows a forest of its own.
    max_steps : int or None, default=None
        Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for solver="lasso".
    standardize : bool, default=False
        If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size of the saved model in bytes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
        forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".
    keep_path : bool, default=False
        If True, pickles and model files contain `path_` and `step_`, for figures of size and error. A model predicts
        without them.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of `estimator`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the losses: the loss to minimize, the loss of the folds that determines where the path is
        cut, and the losses of `path_` and `full_loss_` are weighted means over the labels. Only for labels; for classes,
        use `class_weight` of `estimator` or `sample_weight`.

        - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight;
        - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
        - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter;
        - None: all labels have the same weight.

        "balanced" and "propensity" are computed from all training samples, and the same weights are used in all folds. A
        label with weight 2 counts as two equal labels. Lengths, for `step_size`, `l1_norm` and `step_outputs`, are
        therefore those of the coefficients times the square root of weight / (mean of the weights that are not zero). A
        label with weight zero is treated as if it were absent: it influences no choice, and its scores remain the initial
        constant. Scores and probabilities are those of each label, without weights.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest and of the forests of the folds. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    l1_norm_ : float
        The norm of the model's coefficients.
    n_test_nodes_ : int
        The number of splits of the model.
    compression_ratio_ : float
        The number of splits of the forest divided by that of the model; infinite if the model has none and the forest has
        some.
    path_ : dict of ndarray of shape (n_steps + 1,)
        For each step of the path, starting with the constant model: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero"
        (the number of nodes with a coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the
        folds at the same step. The path ends with the first step that has more than `max_test_nodes` splits. The
        training losses are those that are minimized. The test losses are error rates for classes, and the minimized loss
        for labels.
    step_ : int
        The position of the model in `path_`; if its norm is between two positions, the first of them.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest before compression. It is not saved with the model.
    estimators_ : sequence of DecisionTreeRegressor
        The trees of the model, as regressors whose mean is the score of a sample. They are created when they are accessed,
        and share the memory of the model.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.

    Notes
    -----
    The coefficients of a node for all labels are kept or removed together. Without `label_weight`, frequent labels have
    the most influence on which nodes are kept. The `label_weight` of `estimator` influences which nodes exist, and the
    `label_weight` of this estimator influences which of them are kept; each can be used without the other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> small = weald.CompressedForestClassifier(cv=3, random_state=0).fit(X, y)
    >>> small.n_test_nodes_ < 200 < 20 * small.n_test_nodes_ * small.compression_ratio_
    True
    >>> small.score(X, y) > 0.9
    True

    Labels with sparse X and sparse y, and a model of at most ten splits; the two best labels of each sample:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    >>> Y = (X[:, :10] != 0).astype(int)
    >>> small = weald.CompressedForestClassifier(l1_norm=None, max_test_nodes=10, random_state=0).fit(X, Y)
    >>> small.n_test_nodes_ <= 10
    True
    >>> indices, scores = small.predict_topk(X[:3], k=2)
    >>> indices.shape
    (3, 2)
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
    """A globally induced forest for regression with one or several numerical outputs.

    A small forest is grown within a forest of candidates. It starts from the roots, and each step adds the node, among
    the children of the nodes that were added before, whose weight decreases the loss most; the node gets a fraction
    of its best weight. The growth stops at a number of nodes, so that a budget of memory is met with a better model
    than by growing fewer or smaller trees.

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model whose nodes are the candidates, which is cloned and fitted. None: `ExtraTreesRegressor()`. If its
        `random_state` or `n_jobs` is None, it gets that of this estimator. A fitted model in
        `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples that `fit` receives then only determine which
        nodes are added and their weights, and the forests of the folds are grown on them.
    loss : {"squared_error"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.
    learning_rate : float, default=0.1
        The fraction of its best weight that a node gets, above 0 and up to 1.
    candidate_window : int or None, default=None
        The number of nodes that each step draws at random to choose the best of them. None: each step considers all nodes.
    n_nodes : "cv", int or None, default="cv"
        Number of nodes that get a weight:

        - "cv": where the mean test loss over the folds is smallest, the first such number if there are several;
        - a number: this one, or fewer if no other node decreases the loss;
        - None: the growth ends when no node decreases the loss, or at a limit.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Cross-validation folds: their number, None for 5, or what scikit-learn's `check_cv` takes. Folds of a number hold out
        rows (see `docs/determinism.md`). If there are fewer samples, or fewer samples in the largest class, the number is
        reduced with a warning. Each fold grows a forest of its own.
    max_nodes : int or None, default=None
        Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size of the saved model in bytes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
        forest, instead of the model with the smallest loss. At least -1; it requires n_nodes="cv".
    keep_path : bool, default=False
        If True, pickles and model files contain `path_` and `step_`, for figures of size and error. A model predicts
        without them.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, of the forests of the folds, and of the candidates of each step. Each call of
        `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    n_nodes_ : int
        The number of nodes with a weight.
    l1_norm_ : float
        The sum of the lengths of the weights.
    n_test_nodes_ : int
        The number of splits of the model.
    compression_ratio_ : float
        The number of splits of the forest divided by that of the model; infinite if the model has none and the forest has
        some.
    path_ : dict of ndarray of shape (n_steps + 1,)
        For each step of the path, starting with the constant model: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero"
        (the number of nodes with a coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the
        folds at the same step. The path ends with the first step that has more than `max_test_nodes` splits. Losses are mean
        squared errors.
    step_ : int
        The position of the model in `path_`; if its norm is between two positions, the first of them.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest of candidates. It is not saved with the model.
    estimators_ : sequence of DecisionTreeRegressor
        The trees of the model, as regressors whose mean is the score of a sample. They are created when they are accessed,
        and share the memory of the model.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.

    Notes
    -----
    A pickle or model file contains the small model only: not the forest of candidates, an unfitted `estimator` instead
    of a fitted or frozen one, and `path_` only with `keep_path=True`. The method `at` is not available for a loaded
    model.

    Source: J.-M. Begon, A. Joly, P. Geurts, *Globally induced forest: a prepruning compression scheme*, ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import weald
    >>> X, y = make_friedman1(n_samples=500, random_state=0)
    >>> small = weald.InducedForestRegressor(n_nodes=500, random_state=0).fit(X[:300], y[:300])
    >>> small.n_nodes_, small.n_test_nodes_ < 500
    (500, True)
    >>> small.score(X[300:], y[300:]) > 0.7
    True

    The same growth, stopped earlier:

    >>> small.at(100).n_nodes_
    100
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

    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numerical outputs: the sum of the weights of the nodes that a sample passes through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets.
        """
        return super().predict(X)


class InducedForestClassifier(BaseInducedForest, BaseCompressedClassifier):
    """A globally induced forest for classification with classes or labels.

    It works as `InducedForestRegressor`, with one column of scores for each label, one for two classes, and otherwise
    one for each class of each output. A node has weights in all columns.

    Parameters
    ----------
    estimator : tree or forest of weald, or None, default=None
        The model whose nodes are the candidates, which is cloned and fitted. None: `ExtraTreesClassifier()`. If its
        `random_state` or `n_jobs` is None, it gets that of this estimator. A fitted model in
        `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples that `fit` receives then only determine which
        nodes are added and their weights, and the forests of the folds are grown on them.

        Its class weights also weight the samples here. Its `label_weight` only influences which nodes exist.
    loss : {"squared_error", "log_loss"} or Loss, default="squared_error"
        The loss to minimize, as a name or an object of `weald.loss`:

        - "squared_error": the squared error of scores as estimates of 0 and 1;
        - "log_loss": the log loss. Scores are half the log-odds for labels and two classes, and the inputs of the softmax
          for more classes.
    learning_rate : float, default=0.1
        The fraction of its best weight that a node gets, above 0 and up to 1.
    candidate_window : int or None, default=None
        The number of nodes that each step draws at random to choose the best of them. None: each step considers all nodes.
    n_nodes : "cv", int or None, default="cv"
        Number of nodes that get a weight:

        - "cv": where the mean test loss over the folds is smallest, the first such number if there are several;
        - a number: this one, or fewer if no other node decreases the loss;
        - None: the growth ends when no node decreases the loss, or at a limit.
    cv : int, splitter, iterable of (train, test) or None, default=10
        Cross-validation folds: their number, None for 5, or what scikit-learn's `check_cv` takes. Folds of a number hold out
        rows (see `docs/determinism.md`). If there are fewer samples, or fewer samples in the largest class, the number is
        reduced with a warning. Each fold grows a forest of its own.
    max_nodes : int or None, default=None
        Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.
    max_test_nodes : int or None, default=None
        Maximum number of splits of the model, from 0. None: no limit.
    max_bytes : int or None, default=None
        Maximum size of the saved model in bytes. None: no limit.
    max_loss_increase : float or None, default=None
        If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
        forest, instead of the model with the smallest loss. At least -1; it requires n_nodes="cv".
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of `estimator`.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the losses: the loss to minimize, the loss of the folds that determines the number of nodes,
        and the losses of `path_` and `full_loss_` are weighted means over the labels. The values are those of
        `CompressedForestClassifier`. Only for labels; for classes, use `class_weight` of `estimator` or `sample_weight`.
    keep_path : bool, default=False
        If True, pickles and model files contain `path_` and `step_`, for figures of size and error. A model predicts
        without them.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the forest, of the forests of the folds, and of the candidates of each step. Each call of
        `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    n_nodes_ : int
        The number of nodes with a weight.
    l1_norm_ : float
        The sum of the lengths of the weights.
    n_test_nodes_ : int
        The number of splits of the model.
    compression_ratio_ : float
        The number of splits of the forest divided by that of the model; infinite if the model has none and the forest has
        some.
    path_ : dict of ndarray of shape (n_steps + 1,)
        For each step of the path, starting with the constant model: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero"
        (the number of nodes with a coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the
        folds at the same step. The path ends with the first step that has more than `max_test_nodes` splits. The
        training losses are those that are minimized. The test losses are error rates for classes, and the minimized loss
        for labels.
    step_ : int
        The position of the model in `path_`; if its norm is between two positions, the first of them.
    full_loss_ : float
        The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
    estimator_ : tree or forest
        The fitted forest of candidates. It is not saved with the model.
    estimators_ : sequence of DecisionTreeRegressor
        The trees of the model, as regressors whose mean is the score of a sample. They are created when they are accessed,
        and share the memory of the model.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    categories_ : list of length n_features
        The categories of each categorical feature, in the order of their codes, and None for the other features: those of the
        samples with positive weight, or of a dtype that lists them. It exists only if there are categorical features.
        `is_categorical_` is the mask of these features. In later samples, columns have these categories whatever their
        dtype; all others are unknown.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        The importance of each feature: its fraction of the total decrease of impurity.

    Notes
    -----
    `estimator` is grown with its own parameters, and determines which nodes are candidates. The `label_weight` of this
    estimator influences which of them are added.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> small = weald.InducedForestClassifier(n_nodes=100, random_state=0).fit(X, y)
    >>> small.n_nodes_, small.score(X, y) > 0.9
    (100, True)
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
