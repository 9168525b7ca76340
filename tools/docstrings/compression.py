"""Texts on the parameters and attributes of compressed forests."""

from __future__ import annotations

COMPRESSION = {
    "estimator": """
estimator : tree or forest of weald, or None, default={default}
    The model to compress, which is cloned and fitted. None: {default_estimator}. If its `random_state` or `n_jobs` is
    None, it gets that of this estimator. A fitted model in `sklearn.frozen.FrozenEstimator(model)` is used as it is:
    the samples that `fit` receives then only determine the coefficients, and the forests of the folds are grown on
    them.
""",
    "solver": """
solver : {"stagewise", "lasso"}, default={default}
    How the path is found:

    - "stagewise": each step changes the coefficient of the node that decreases the loss most, by `step_size`.
      Coefficients never move back.
    - "lasso": the exact minimum of the loss for each of 100 penalties on the sum of the lengths of the coefficients,
      where the coefficients of all outputs of a node form one vector (the group lasso).
""",
    "loss": """
loss : {"squared_error"} or Loss, default={default}
    The loss to minimize, as a name or an object of `weald.loss`. Several outputs are scaled to unit variance in it.
""",
    "step_size": """
step_size : float, default={default}
    Length of a stagewise step{on_the_scale}.
""",
    "step_outputs": """
step_outputs : int or None, default={default}
    Maximum number of outputs (labels, or columns of classes) that a stagewise step changes: those with the largest
    gradients in the node. None: all outputs. With many labels, a small number gives leaves that are mostly zero and are
    stored as sparse columns. It has no effect for solver="lasso".
""",
    "l1_norm": """
l1_norm : "cv", float or None, default={default}
    Sum of the lengths of the coefficients at which the path is cut:

    - "cv": where the mean test loss over the folds is smallest, the first such point if there are several;
    - a number: at this norm;
    - None: at the end of the path.
""",
    "cv": """
cv : int, splitter, iterable of (train, test) or None, default={default}
    Cross-validation folds: their number, None for 5, or what scikit-learn's `check_cv` takes. Folds of a number hold out
    rows (see `docs/determinism.md`). If there are fewer samples, or fewer samples in the largest class, the number is
    reduced with a warning. Each fold grows a forest of its own.
""",
    "max_steps": """
max_steps : int or None, default={default}
    Maximum number of steps. None: the path ends when no step decreases the loss. It has no effect for solver="lasso".
""",
    "standardize": """
standardize : bool, default={default}
    If True, scale the indicators of nodes to unit variance, as in the thesis, so that small nodes cost less.
""",
    "max_test_nodes": """
max_test_nodes : int or None, default={default}
    Maximum number of splits of the model, from 0. None: no limit.
""",
    "max_bytes": """
max_bytes : int or None, default={default}
    Maximum size of the saved model in bytes. None: no limit.
""",
    "max_loss_increase": """
max_loss_increase : float or None, default={default}
    If set, choose the smallest model whose cross-validated loss is at most (1 + `max_loss_increase`) times that of the
    forest, instead of the model with the smallest loss. At least -1; it requires l1_norm="cv".
""",
    "keep_path": """
keep_path : bool, default={default}
    If True, pickles and model files contain `path_` and `step_`, for figures of size and error. A model predicts
    without them.
""",
    "random_state": """
random_state : int, RandomState instance or None, default={default}
    Controls the randomness of the forest and of the forests of the folds. Each call of `fit` draws one seed from it.
""",
    "l1_norm_": """
l1_norm_ : float
    The norm of the model's coefficients.
""",
    "n_test_nodes_": """
n_test_nodes_ : int
    The number of splits of the model.
""",
    "compression_ratio_": """
compression_ratio_ : float
    The number of splits of the forest divided by that of the model; infinite if the model has none and the forest has
    some.
""",
    "path_": """
path_ : dict of ndarray of shape (n_steps + 1,)
    For each step of the path, starting with the constant model: "l1_norm", "train_loss", "n_test_nodes", "n_nonzero"
    (the number of nodes with a coefficient), and with cross-validation "test_loss_mean" and "test_loss_std" over the
    folds at the same step. The path ends with the first step that has more than `max_test_nodes` splits. {losses}
""",
    "step_": """
step_ : int
    The position of the model in `path_`; if its norm is between two positions, the first of them.
""",
    "full_loss_": """
full_loss_ : float
    The mean test loss of the uncompressed forests of the folds. It exists only with cross-validation.
""",
    "estimator_": """
estimator_ : tree or forest
    The fitted forest before compression. It is not saved with the model.
""",
    "estimators_": """
estimators_ : sequence of DecisionTreeRegressor
    The trees of the model, as regressors whose mean is the score of a sample. They are created when they are accessed,
    and share the memory of the model.
""",
    "of_the_path": """
{l1_norm_}
{n_test_nodes_}
{compression_ratio_}
{path_}
{step_}
{full_loss_}
{estimator_}
{estimators_}
""",
}

# What differs for forests that are grown under a budget.
INDUCED = {
    "estimator": """
estimator : tree or forest of weald, or None, default={default}
    The model whose nodes are the candidates, which is cloned and fitted. None: {default_estimator}. If its
    `random_state` or `n_jobs` is None, it gets that of this estimator. A fitted model in
    `sklearn.frozen.FrozenEstimator(model)` is used as it is: the samples that `fit` receives then only determine which
    nodes are added and their weights, and the forests of the folds are grown on them.
""",
    "learning_rate": """
learning_rate : float, default={default}
    The fraction of its best weight that a node gets, above 0 and up to 1.
""",
    "candidate_window": """
candidate_window : int or None, default={default}
    The number of nodes that each step draws at random to choose the best of them. None: each step considers all nodes.
""",
    "n_nodes": """
n_nodes : "cv", int or None, default={default}
    Number of nodes that get a weight:

    - "cv": where the mean test loss over the folds is smallest, the first such number if there are several;
    - a number: this one, or fewer if no other node decreases the loss;
    - None: the growth ends when no node decreases the loss, or at a limit.
""",
    "max_nodes": """
max_nodes : int or None, default={default}
    Maximum number of nodes that get a weight, and so of the steps of a fit with n_nodes="cv". None: no limit.
""",
    "max_loss_increase": COMPRESSION["max_loss_increase"].replace('l1_norm="cv"', 'n_nodes="cv"'),
    "random_state": """
random_state : int, RandomState instance or None, default={default}
    Controls the randomness of the forest, of the forests of the folds, and of the candidates of each step. Each call of
    `fit` draws one seed from it.
""",
    "l1_norm_": """
l1_norm_ : float
    The sum of the lengths of the weights.
""",
    "n_nodes_": """
n_nodes_ : int
    The number of nodes with a weight.
""",
    "estimator_": """
estimator_ : tree or forest
    The fitted forest of candidates. It is not saved with the model.
""",
    "of_the_path": """
{n_nodes_}
{l1_norm_}
{n_test_nodes_}
{compression_ratio_}
{path_}
{step_}
{full_loss_}
{estimator_}
{estimators_}
""",
}

COMPRESSION_REGRESSORS = {
    "estimator": COMPRESSION["estimator"].replace("{default_estimator}", "`ExtraTreesRegressor()`"),
    "step_size": COMPRESSION["step_size"].replace("{on_the_scale}", ", for outputs that are scaled to unit variance"),
    "path_": COMPRESSION["path_"].replace("{losses}", "Losses are mean\n    squared errors."),
    "attributes": """
{of_the_path}
{categories_}
{sizes}
{names_in_}
{feature_importances_}
""",
}

COMPRESSION_CLASSIFIERS = {
    "estimator": COMPRESSION["estimator"].replace("{default_estimator}", "`ExtraTreesClassifier()`")
    + """
    Its class weights also weight the samples here. Its `label_weight` only influences which nodes exist.
""",
    "loss": """
loss : {"squared_error", "log_loss"} or Loss, default={default}
    The loss to minimize, as a name or an object of `weald.loss`:

    - "squared_error": the squared error of scores as estimates of 0 and 1;
    - "log_loss": the log loss. Scores are half the log-odds for labels and two classes, and the inputs of the softmax
      for more classes.
""",
    "step_size": COMPRESSION["step_size"].replace("{on_the_scale}", ""),
    "multi_label": """
multi_label : {"auto", True, False}, default={default}
    How y with several columns is interpreted, as in `RandomForestClassifier`. "auto" uses the setting of `estimator`.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
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
""",
    "path_": COMPRESSION["path_"].replace(
        "{losses}",
        """\
The
    training losses are those that are minimized. The test losses are error rates for classes, and the minimized loss
    for labels.""",
    ),
    "attributes": """
{of_the_path}
{classes_}
{n_classes_}
{categories_}
{sizes}
{names_in_}
{feature_importances_}
""",
}

INDUCED_REGRESSORS = {"estimator": INDUCED["estimator"].replace("{default_estimator}", "`ExtraTreesRegressor()`")}

INDUCED_CLASSIFIERS = {
    "estimator": INDUCED["estimator"].replace("{default_estimator}", "`ExtraTreesClassifier()`")
    + """
    Its class weights also weight the samples here. Its `label_weight` only influences which nodes exist.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
    Weight of each label in the losses: the loss to minimize, the loss of the folds that determines the number of nodes,
    and the losses of `path_` and `full_loss_` are weighted means over the labels. The values are those of
    `CompressedForestClassifier`. Only for labels; for classes, use `class_weight` of `estimator` or `sample_weight`.
""",
}
