"""Texts on the parameters and attributes of boosting, in which it differs from trees and forests."""

from __future__ import annotations

from docstrings.estimators import LABEL_WEIGHT, SHARED
from docstrings.texts import texts

# With words for `losses`, `link`, `auto` and `leaves`.
_DIFFERING = """
loss : str or object, default={default}
    The loss to minimize, summed over the columns of scores: {losses}; an object of `weald.loss`, which has all losses with
    formulas and parameters; or one of your own, with `loss(y, scores)` and `gradient_hessian(y, scores)`, of which files
    have no code. {link}

learning_rate : float or "auto", default={default}
    Factor by which the contribution of each stage is multiplied; the initial constant is not. "auto": {rate}. See
    `docs/boosting.md#how-many-stages`.

n_estimators : int or "auto", default={default}
    Number of stages, of one tree each, or of one for each column of scores ("single_target"). "auto", or with early
    stopping: what held-out samples find, up to 1000. Else "auto" is {else_}. See
    `docs/boosting.md#how-many-stages`.

output_strategy : {"auto", "projected", "joint", "single_target"} or Projected, default={default}
    What each stage fits: a tree to a few random combinations of the gradients of all outputs ("projected", or a
    `weald.projection.Projected`), a tree to all ("joint"), or a tree to each ("single_target"). "auto" is the last for up
    to ten columns of scores{few}, and otherwise "projected". See `docs/boosting.md#output-strategies`.

l2_regularization : float or "auto", default={default}
    The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
    weight take shorter steps; "auto": {l2}. {unit}

subsample : float or "auto", default={default}
    Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most 64 on
    average are counts, of which some may be drawn. Other weights do not matter to the draw. "auto": {share}.
"""

BOOSTING = texts("""
output_scaling : "variance", array-like of shape (n_outputs,) or None, default={default}
    Scale by which the gradients of each output are divided where outputs share trees: "variance", their weighted standard
    deviation before the first stage, or 1 if they are constant; positive numbers; None, none, so that outputs with large
    values decide. The loss is unscaled, importances and `min_impurity_decrease` are scaled. Not with `estimator`.

output_weights : array-like of shape (n_outputs,) or None, default={default}
    Weight of each output in the search for splits where outputs share trees, after `output_scaling`: numbers that are not
    negative, one of them positive; only their ratios matter. Losses and leaf values are unweighted. Not with `estimator`.

estimator : regressor of scikit-learn or None, default={default}
    Weak model to use instead of trees, which is cloned for each stage, and has its own parameters. It must support several
    outputs with `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output.

init : estimator or None, default={default}
    Model whose predictions are the initial scores, and part of all predictions. It is cloned and fitted to the same data,
    or used as it is in a `sklearn.frozen.FrozenEstimator`. X is float32 for it, dense or sparse.

leaf_estimation : {"newton", "line_search"}, default={default}
    How the values of leaves are computed: "newton", by a Newton step for each leaf and column of scores, which is halved as
    long as it increases the loss; "line_search", by mean negative gradients and one step of each column for all leaves.
    With `Projected(relabel_leaves=False)` it is one step of each column; with `estimator`, steps are by line search.

max_bins : int or None, default={default}
    Maximum number of bins for each feature, from 2 to 255. Features with no more distinct values, and categories, are split
    exactly; None: all are.

max_depth : int or None, default={default}
    Maximum depth of a tree. None: no limit.

max_leaf_nodes : int, "auto" or None, default={default}
    Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another parameter
    forbids the split. "auto": 31, and other numbers for some kinds of y and numbers of samples, see
    `docs/boosting.md#how-many-stages`; `max_leaf_nodes_` is the choice.

max_features : int, float, {"sqrt", "log2", "half", "auto"} or None, default={default}
    Number of features that each node draws at random from those of the tree: a number, a fraction, their square root, their
    binary logarithm, or "half" of them, rounded up and at least four. None: all. "auto": `docs/boosting.md#how-many-stages`
    has the rule: "half" for numbers and few classes, unless folds say that all are better, and otherwise all.

min_weight_leaf : float, default={default}
    Minimum weight on either side of a split, in units of `sample_weight`, which are absolute: `fit` warns if weights are so
    small that this decides the model. In trees of one column with Newton steps, samples count by their second derivatives,
    and a leaf with less than a 2000th of it adds nothing. See `docs/determinism.md#sample-weights-are-counts`, and
    of quantiles `docs/intervals.md#quantiles-by-boosting`.

early_stopping : bool, "auto" or EarlyStopping, default={default}
    Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best one.
    "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits it to all
    samples.

scoring : str, callable or None, default={default}
    What early stopping monitors: the loss (None), a scorer of scikit-learn by name, or scorer(estimator, X, y), where
    larger is better. A scorer needs samples: `X_val` in `fit`, or `early_stopping`.

validation_fraction : float, default={default}
    Fraction of the training samples, whatever their weights, to set aside for early stopping without `X_val` and folds.

n_iter_no_change : int or None, default={default}
    Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10 with
    early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number so far.

tol : float, default={default}
    Minimum improvement that counts for early stopping: of the loss, as a fraction of its absolute value before the first
    stage; with `scoring`, in the unit of the score.

callbacks : object, list of objects or None, default={default}
    Objects whose method on_round(round, train_loss, validation_loss) is called after each round; the last is None without
    validation samples. A true result ends the fit, with the rounds so far. They watch the search for the number of stages,
    and those of scikit-learn (`set_callbacks`) the last fit. See `docs/boosting.md#recipes`.

warm_start : bool, default={default}
    If True, `fit` keeps the stages of the previous fit and what "auto" stood for, and grows only the additional stages:
    on the same data, the model of a single fit with these values.

class_weight : "balanced", dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    Products that are not multiples of 1/64 are rounded, as `sample_weight` of `fit` is.

# choices
n_estimators_, learning_rate_, max_leaf_nodes_, max_features_ : int, float, int or None, and int
    What the parameters stood for: the stages that were kept, their factor, the leaves of each tree, and the features that
    each node draws.

plan_ : dict
    What the fit was planned to be where nothing was given: the parameters above, `n_estimators` as the largest number where
    held-out samples find it, and `cv` and `n_iter_no_change` of that search, or None.

# attributes
choices plan_ categories_ names_in_
""")

BOOSTING["monotonic_cst"] = SHARED["monotonic_cst"].replace(
    "categories, projections or unknown values of y.",
    'categories, unknown values of y, "projected" or what `init` adds.',
)

BOOSTING_REGRESSORS = texts(
    _DIFFERING,
    losses='"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma" or "tweedie"',
    link="Predictions are exp(score) for the last three.",
    rate="0.07 if held-out samples find the number of stages, and 0.05 otherwise",
    else_="300, or 100 for 11 to 100 outputs with a tree each",
    few=", and for up to 100 outputs if 30 to 5000 samples differ in X",
    l2="1, or 8 where trees are for many numbers of which at most half are known",
    share='0.7, or 1 where `l2_regularization="auto"` is 8',
    unit='It has no effect for "absolute_error", "quantile" and "huber". It is in units of y for "poisson".',
)

BOOSTING_CLASSIFIERS = texts(
    _DIFFERING
    + """
init : estimator, "linear", "auto" or None, default={default}
    Model whose predictions (log-odds, or of `predict_proba`) are the initial scores, and part of all predictions: an
    estimator, cloned and fitted to the same data unless it is a `sklearn.frozen.FrozenEstimator`; "linear", a
    `LinearClassifier`, which helps on sparse text; "auto", "linear" if that helps held-out samples, in about 2.5 times the
    time of the stages.
""",
    losses='"log_loss", "exponential", "hinge" or "squared_error"',
    link="Classes that share trees have the softmax, and others are fitted each against the rest.",
    rate="0.05 or 0.07",
    else_="200",
    few="",
    l2="1",
    share="0.7 for one output of up to ten classes if held-out samples find the number of stages, and otherwise 1",
    unit='For "log_loss" of labels and two classes, 4 corresponds to 1 in XGBoost and LightGBM. It has no effect for "hinge".',
) | texts(
    LABEL_WEIGHT,
    where="search for splits and in the losses",
    more="Only for labels. Leaf values and probabilities are unweighted. Not with `estimator`.",
)
BOOSTING_CLASSIFIERS["attributes"] = BOOSTING["attributes"] + " classes_"
