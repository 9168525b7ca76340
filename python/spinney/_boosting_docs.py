"""Texts on the parameters and attributes of boosting that its estimators share, each written once."""

from __future__ import annotations

from typing import TypeVar

from spinney import _docs

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """The class with its docstring composed, see `spinney._docs`."""
    return _docs.composed(cls, _TEXTS)


# Texts that trees and forests have too stand in `spinney._docs`.
_TEXTS = _docs.TEXTS | {
    "learning_rate": """
learning_rate : float, default=0.1
    What each stage's step is multiplied by; the constant that stages start from is not.
""",
    "n_estimators": """
n_estimators : int, default=100
    Number of stages; with "single_target" each has a tree for every column of scores.
""",
    "output_strategy": """
output_strategy : {"auto", "projected", "joint", "single_target"}, default="auto"
    What a stage fits. "projected": one tree, to a few random combinations of the gradients of all outputs. "joint":
    one tree, to the gradients of all outputs. "single_target": a tree for each output, which share nothing. "auto":
    "single_target" up to ten columns of scores, "projected" beyond, or where a parameter of projections is given.
""",
    "output_projection": """
output_projection : str, Projection, callable or matrix of shape (q, n_columns), default="gaussian"
    With "projected", the combinations: "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard",
    "pca", or as described in `spinney.projection`, one for each stage. Columns are those of scores: an output that
    is a number, a label, or two classes has one, other outputs of classes have one for each class.
""",
    "n_projections": """
n_projections : int, float or "log", default=1
    With "projected", the number of combinations q: a number, a share of the columns, or ⌊½ + ln d⌋ of d.
""",
    "relabel_leaves": """
relabel_leaves : bool, default=True
    With "projected": leaves hold the mean gradient of every output. If not, they hold one number, which each output
    multiplies by a step of its own: a stage takes memory of n_leaves + n_columns in place of their product.
""",
    "output_scaling": """
output_scaling : "variance", array-like of shape (n_outputs,) or None, default=None
    What the gradients of each output are divided by where trees are grown on them or on combinations of them. Without,
    a tree for all outputs splits where gradients are large: an output of large numbers decides alone. "variance" are
    the standard deviations, by weight, of the gradients before the first stage: with "squared_error" those of y, of
    the known cells alone; 1 for an output that is constant. An array are the scales themselves, finite and positive.
    Leaves and steps minimise the loss as it is; importances and `min_impurity_decrease` are of the divided gradients.
    It changes nothing with "single_target". Not with `estimator`. Costs a table of gradients before the first stage.
""",
    "output_weights": """
output_weights : array-like of shape (n_outputs,), default=None
    How much each output counts where splits are searched: the impurity is the mean of the variances of the (divided)
    gradients by these weights. Finite, none negative, one positive; their ratios alone count. The loss, leaves and
    steps know no weights. It changes nothing with "single_target". Not with `estimator`.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
    How much each label counts, where y is labels. The trees that labels share ("joint" and "projected") are grown on
    gradients times the roots of the weights, so that the impurity is the mean of the labels' by these weights and the
    many rows of frequent labels do not decide alone; and the losses of `train_score_`, `validation_score_`,
    `oob_scores_` and `eval_results_` are means by these weights, early stopping among what follows them. Leaves and
    steps are those of each label for itself, in which a weight cancels: probabilities stay probabilities. With
    "single_target" it changes the losses alone. "balanced" are 1 / (p (1 - p)) for a label of a share p of the rows,
    by `sample_weight`; "propensity" are the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see
    `spinney.metrics.propensities`. An array are finite numbers, none negative, one positive; their ratios alone count,
    and a label of weight zero has no part in splits and losses. Not with masked cells of y, nor `estimator`.
""",
    "estimator": """
estimator : regressor of scikit-learn, default=None
    Weak model in place of trees, cloned for each stage: of several outputs with "joint"; of one with "projected"
    and `relabel_leaves=False`, which must be said. Limits of trees do not apply to it.
""",
    "init": """
init : estimator, default=None
    A model that stages start from, fitted to the same data, or as it is when wrapped in `FrozenEstimator`; every
    prediction has its part. Of a classifier its `predict_proba` is used, else its `decision_function`, taken for
    log-odds. X comes to it in float32, dense or sparse. For sparse text a linear model ranks well, and trees on top
    of it better.
""",
    "init_cv": """
init_cv : int, default=None
    Folds, at least 2: each training row then starts from a copy of `init` that was fitted without it, as rows to
    predict do. Where `init` fits its rows closely, as linear models of many words do, stages see what it leaves over
    on other rows, and learn more. Costs as many more fits of `init`; predictions start from the one fitted to all rows.
    Folds are drawn with `random_state`, in the shares of the classes, or of the rarest label of each row; the only row
    of a class is in no fold. Rows of weight 2 are one row in them.
""",
    "leaf_estimation": """
leaf_estimation : {"newton", "line_search"}, default="newton"
    What leaves add to the scores. "newton": each leaf and column of scores takes its own Newton step, the sum of
    the leaf's negative gradients over the sum of their second derivatives plus `l2_regularization`, halved while
    the loss of the leaf's rows rises. "line_search": leaves hold mean negative gradients, and each column takes
    one step along those of all leaves, which minimises the loss over all rows; a single step for leaves that want
    different ones fits rows that are told apart easily too closely. With `relabel_leaves=False` "newton" is the
    one Newton step of each column along the leaves' numbers. With `estimator`, steps are searched.
""",
    "line_search": """
line_search : {"newton", "brent"}, default="newton"
    How steps are found where the loss has no closed form: Newton's method kept within a bracket, or Brent's.
""",
    "step_dtype": """
step_dtype : {"float64", "float8"}, default="float64"
    Type in which the model keeps steps that leaves do not hold, with `relabel_leaves=False`, and which stages are
    grown with. In "float8" (OCP E4M3, scaled by a power of two for each stage) a step takes one byte in place of
    eight, in memory as in files. Steps are cut towards zero, by an eighth at most, so that losses still do not
    rise; later stages make up for it. Not for classes whose steps depend on each other (log loss of three or more).
""",
    "subsample": """
subsample : float, default=1.0
    Share of the rows, whatever they weigh, drawn without replacement, that each stage is fitted to.
""",
    "max_bins": """
max_bins : int, default=255
    Trees on dense X look at so many groups of values of each feature, 2 to 255; at every value of a feature that
    has no more of them, or with None; at every category. Sparse X is always looked at value by value.
""",
    "max_depth": """
max_depth : int, default=None
    Largest depth; with None there is no bound.
""",
    "max_leaf_nodes": """
max_leaf_nodes : int, default=31
    Grow best-first to so many leaves; with None, nodes are split while they are impure.
""",
    "max_features": """
max_features : int, float, {"sqrt", "log2"} or None, default=None
    Features drawn at each node: a number, a share, a rule, or all, of those of the tree. Constant features do not
    count.
""",
    "max_features_by_tree": """
max_features_by_tree : int, float, {"sqrt", "log2"} or None, default=None
    Features drawn for each tree, of which its nodes draw theirs: a number, a share, a rule, or all, whether they
    are constant or not. What a tree costs goes with them, the rows' scores apart.
""",
    "min_weight_leaf": """
min_weight_leaf : float, default=2.0
    Least weight on either side of a split, in samples: one of weight 2 counts as two, which `min_samples_leaf`
    counts as one. What counts as one is the largest power of two of which all weights are multiples, 1 for whole
    numbers of which one is odd; or the mean weight where that is below 1/64. Where trees of one score are grown for
    Newton steps, samples count by their second derivatives: as one where it is as large as that of any sample, so
    that 2 samples with a probability of 1/2 count as much as 11 with one of 0.05.
""",
    "early_stopping": """
early_stopping : bool or "auto", default="auto"
    Whether rounds without improvement on rows held out end the fit, and the stages up to the best are kept. "auto":
    where `n_iter_no_change` is given.
""",
    "scoring": """
scoring : str, callable or None, default=None
    What improvement is of: None is the loss; else the name of a scorer of scikit-learn, or scorer(estimator, X, y)
    that returns a number, larger where better. It needs rows to score: `X_val` at `fit`, or `early_stopping`.
""",
    "validation_fraction": """
validation_fraction : float, default=0.1
    Share of the rows, whatever they weigh, held out for early stopping when `fit` gets no validation set: a row of
    weight 2 is held out as one row. Classes are held out in their shares, samples of labels by their rarest label.
""",
    "n_iter_no_change": """
n_iter_no_change : int, default=None
    Rounds without an improvement by `tol` that end the fit; with early_stopping=True, None is 10.
""",
    "tol": """
tol : float, default=1e-4
    Least decrease of the loss on the rows held out that counts, as a share of what it is before the first stage:
    the number and the scale of the outputs have no part in it. With `scoring`, in the unit of the score.
""",
    "callbacks": """
callbacks : object or list of objects, default=None
    Each has a method on_round(round, train_loss, validation_loss), called after every round with its number, from
    0, and the losses (None without rows held out): a true value ends the fit, and the model has the rounds so far.
    What it raises ends the fit too, and leaves the estimator as it was. Callbacks of scikit-learn (1.9 and later)
    are set by `set_callbacks`: each round is a task named "round", after which they get a fitted estimator of the
    rounds so far, and may end the fit.
""",
    "monotonic_cst": _docs.TEXTS["monotonic_cst"]
    + """    Not with `output_strategy="projected"`; "auto" is then "single_target" or "joint". What `init` or
    `base_margin` add to the scores has no direction.
""",
    "interaction_cst": _docs.TEXTS["interaction_cst"],
    "categorical_features": _docs.TEXTS["categorical_features"]
    + """\
    `max_bins` is about numbers: categories are told apart however many they are. `init` and `estimator` see codes.
""",
    "warm_start": """
warm_start : bool, default=False
    Keep the stages of the fit before and grow only those that `n_estimators` adds, with the same seed: on the same
    data the model is the one that would have been grown at once.
""",
    "verbose": """
verbose : int, default=0
    1: a progress bar if tqdm is installed and standard error is a terminal; else lines, as scikit-learn's: one for each
    of the first ten rounds, then for every tenth, from the hundredth on for every hundredth, and so on. Above 1: a line
    for every round. Lines go to standard output and have the round, the losses, with `subsample` below 1 the last of
    `oob_improvement_`, and the time so far and left.
""",
    "n_estimators_": """
n_estimators_ : int
    Number of stages: `n_estimators`, or fewer after an early stop.
""",
    "estimators_": """
estimators_ : sequence of DecisionTreeRegressor, or list
    The weak models; trees are made when asked for, and share the model's memory.
""",
    "step_sizes_": """
step_sizes_ : ndarray of shape (`n_estimators_`, n_columns)
    What each stage's weak model was multiplied by for each column of scores, before `learning_rate`: 1 where leaves
    hold what they add, 0 where they add nothing to a column.
""",
    "start_": """
start_ : ndarray of shape (n_columns,)
    The constant scores that stages start from.
""",
    "train_score_": """
train_score_ : ndarray of shape (`n_estimators_`,)
    Loss on the training rows after each stage.
""",
    "oob_improvement_": """
oob_improvement_ : ndarray of shape (`n_estimators_`,)
    With `subsample` below 1, by how much the loss on the rows left out is below that of the stage before: differences
    of `oob_scores_`, of the first stage to the loss of its rows before it.
""",
    "oob_scores_": """
oob_scores_ : ndarray of shape (`n_estimators_`,)
    With `subsample` below 1, the loss after each stage on the rows that it left out; a loss as `train_score_`.
""",
    "oob_score_": """
oob_score_ : float
    The last of `oob_scores_`.
""",
    "validation_score_": """
validation_score_ : ndarray of shape (`n_estimators_`,)
    Loss on the rows held out or given, when there are any.
""",
    "eval_results_": """
eval_results_ : dict of str and dict
    Of each of the `eval_sets` of `fit`, when there are any, the "loss" and with `scoring` the "score" after each
    stage that was kept, each of shape (`n_estimators_`,).
""",
    "max_features_": """
max_features_, n_outputs_, n_features_in_ : int
""",
    "algorithm": """
Friedman's gradient boosting: from the constants that minimise the loss, each stage fits a tree to the negative
gradients and adds to the scores `learning_rate` times what its leaves hold: for a leaf and column of scores the
Newton step Σ w r / (Σ w h + λ), of the negative gradients r and second derivatives h of the leaf's rows. With
line searches, and with other weak models g, each column j has a step ρ_j that minimises the loss along g, and
takes `learning_rate` · ρ_j g. With a learning rate of 1 and all rows the training loss never rises.
""",
}
