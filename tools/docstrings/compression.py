"""Texts on the parameters and attributes of compressed forests."""

from __future__ import annotations

from docstrings.estimators import LABEL_WEIGHT
from docstrings.texts import texts

_ESTIMATOR = """
estimator : tree or forest of weald, or None, default={default}
    The {model}, which is cloned and fitted; None: `{forest}()`. Without a `random_state` or `n_jobs` of its own it gets
    that of this estimator. A fitted `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples of `fit` only
    determine {what}, and the forests of the folds are grown on them.
"""
_TO_COMPRESS = {"model": "model to compress", "what": "the coefficients"}
_OF_CANDIDATES = {"model": "model whose nodes are the candidates", "what": "which nodes are added and their weights"}

COMPRESSION = texts("""
solver : {"stagewise", "lasso"}, default={default}
    How the path is found: "stagewise", steps of `step_size` each change the node that decreases the loss most, and never
    move back; "lasso", the exact minimum for each of 100 penalties on the sum of the lengths of the coefficients, where
    those of all outputs of a node are one vector (the group lasso).

loss : {"squared_error"} or Loss, default={default}
    The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.

step_size : float, default={default}
    Length of a stagewise step, for numerical outputs after they are scaled to unit variance.

step_outputs : int or None, default={default}
    Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
    gradients in the node. None: all. With many labels, a small number gives leaves that are mostly zero and are stored
    as sparse columns. It has no effect for solver="lasso".

l1_norm : "cv", float or None, default={default}
    Sum of the lengths of the coefficients at which the path is cut: "cv", where the mean test loss over the folds is
    smallest, the first such point if there are several; a number, at this norm; None, at the end of the path.

cv : int, splitter, iterable of (train, test) or None, default={default}
    Folds: their number, None for 5, or what scikit-learn's `check_cv` takes. A number holds out rows (see
    `docs/determinism.md#folds-hold-out-rows`); it is reduced, with a warning, to the number of samples, or of samples in
    the largest class. Each fold grows a forest of its own.

max_steps : int or None, default={default}
    Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for solver="lasso".

standardize : bool, default={default}
    If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.

max_test_nodes : int or None, default={default}
    Maximum number of splits of the model, from 0. None: no limit.

max_bytes : int or None, default={default}
    Maximum size in bytes of the file that `weald.save` writes. None: no limit.

max_loss_increase : float or None, default={default}
    If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
    forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".

keep_path : bool, default={default}
    Whether pickles and model files contain `path_` and `step_`, for figures of size and error.

random_state : int, RandomState instance or None, default={default}
    Controls the randomness of the forest, those of the folds, and candidates. Each `fit` draws one seed from it.

# l1_norm_
l1_norm_, n_test_nodes_, compression_ratio_, step_ : float, int, float and int
    The norm of the coefficients, the number of splits, that of the forest divided by it, and the position in `path_`.

full_loss_ : float
    The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.

estimator_ : tree or forest
    The fitted forest before compression. It is not saved with the model.

""")

# What differs for forests that are grown under a budget.
INDUCED = texts("""
learning_rate : float, default={default}
    The fraction of its best weight that a node gets, above 0 and up to 1.

candidate_window : int or None, default={default}
    The number of nodes that each step draws at random to choose the best of them. None: each step considers all nodes.

n_nodes : "cv", int or None, default={default}
    Number of nodes that get a weight: "cv", where the mean test loss over the folds is smallest, the first such number if
    there are several; a number, or fewer if no other node decreases the loss; None, until none does, or at a limit.

max_nodes : int or None, default={default}
    Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.

# n_nodes_
n_nodes_, l1_norm_, n_test_nodes_, compression_ratio_, step_ : int, float, int, float and int
    The number of nodes with a weight, the sum of the lengths of the weights, the number of splits, that of the forest
    divided by it, and the position in `path_`.
""") | {
    "max_loss_increase": COMPRESSION["max_loss_increase"].replace('l1_norm="cv"', 'n_nodes="cv"'),
}

COMPRESSION_REGRESSORS = {"attributes": "l1_norm_ full_loss_ estimator_ categories_ names_in_"} | texts(
    _ESTIMATOR, forest="ExtraTreesRegressor", **_TO_COMPRESS
)

COMPRESSION_CLASSIFIERS = (
    {"attributes": "l1_norm_ full_loss_ estimator_ classes_ categories_ names_in_"}
    | texts("""
loss : {"squared_error", "log_loss"} or Loss, default={default}
    The loss to minimize, as a name or an object of `weald.loss`: the squared error of scores as estimates of 0 and 1, or
    the log loss, whose scores are half the log-odds for labels and two classes, and the inputs of a softmax for more.

multi_label : {"auto", True, False}, default={default}
    How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of `estimator`.
""")
    | texts(_ESTIMATOR, forest="ExtraTreesClassifier", **_TO_COMPRESS)
    | texts(
        LABEL_WEIGHT,
        where="losses, of training and folds",
        more="Only for labels; for classes, use `class_weight` of `estimator`. Scores are unweighted.",
    )
)

INDUCED_REGRESSORS = texts(_ESTIMATOR, forest="ExtraTreesRegressor", **_OF_CANDIDATES) | {
    "attributes": COMPRESSION_REGRESSORS["attributes"].replace("l1_norm_", "n_nodes_")
}
INDUCED_CLASSIFIERS = texts(_ESTIMATOR, forest="ExtraTreesClassifier", **_OF_CANDIDATES) | {
    "attributes": COMPRESSION_CLASSIFIERS["attributes"].replace("l1_norm_", "n_nodes_")
}
