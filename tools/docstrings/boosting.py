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

output_strategy : {"auto", "projected", "joint", "single_target"}, default={default}
    What each stage fits: a tree to a few random combinations of the gradients of all outputs ("projected"), a tree to
    all ("joint"), or a tree to each ("single_target"). "auto" is the last for up to ten columns of scores{few}, and
    otherwise "projected". See `docs/boosting.md#output-strategies`.

l2_regularization : float, default={default}
    The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
    weight take shorter steps. {unit}

min_sum_hessian_in_leaf : float, default={default}
    Minimum sum of second derivatives for Newton steps: a leaf with a smaller sum adds nothing to that column of scores.
    It has no effect for {first_order}.
"""

BOOSTING = {
    "output_projection": """
output_projection : str, Projection, callable or matrix of shape (q, n_columns), default={default}
    The family of the random combinations with `output_strategy="projected"`: "gaussian", "rademacher", "achlioptas",
    "sparse", "subsample", "hadamard" or "pca", or what `weald.projection` describes. Each stage has a projection of
    its own. The number of columns is that of the columns of scores: one for each numerical output, label, or single
    output of two classes, and one for each class of other outputs of classes.
""",
    "n_projections": """
n_projections : int, float or "log", default={default}
    Number q of combinations with `output_strategy="projected"`: a number, a fraction of the columns of scores, or for
    "log" the number ⌊½ + ln d⌋ for d columns.
""",
    "relabel_leaves": """
relabel_leaves : bool, default={default}
    Whether leaves hold values for every output with `output_strategy="projected"`. If False, a leaf holds one value,
    which each output multiplies by a step size of its own. A stage then takes memory for n_leaves + n_columns numbers
    instead of their product.
""",
    "init_cv": """
init_cv : int or None, default={default}
    Number of folds, at least 2, for the initial scores of the training samples: these are then predicted by copies of
    `init` that were fitted without the sample, as for new samples. If `init` fits its training samples closely, as
    linear models of many words do, the stages learn more this way, because they see the errors on other samples. It
    takes one more fit of `init` for each fold; predictions use the model that was fitted to all samples.

    Folds hold out rows, as with `cv`.
""",
    "line_search": """
line_search : {"newton", "brent"}, default={default}
    How step sizes without a closed form are found: Newton's method safeguarded by a bracket, or Brent's method.
""",
    "step_dtype": """
step_dtype : {"float64", "float8"}, default={default}
    Type of the step sizes with `relabel_leaves=False`, in the model and while it is grown. With "float8" (OCP E4M3,
    scaled by a power of two for each stage), a step takes one byte instead of eight, in memory and in files. Steps are
    rounded towards zero by at most an eighth, so that losses still never increase, and later stages compensate for it.
    Not supported for outputs of three or more classes with "log_loss", whose steps depend on each other.
""",
    "max_features_by_tree": """
max_features_by_tree : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each tree draws at random, including constant features. Its nodes draw from these. The
    values are those of `max_features`. The time of growing a tree is in proportion to it.
""",
    "cv": """
cv : int, splitter, iterable of (train, test) or None, default={default}
    Folds of early stopping, in place of one part of the samples that is set aside: their number, at least 2, or what
    scikit-learn's `check_cv` takes. Each fold is held out in turn, and all of them grow their stages together. The fit
    stops when the mean of their validation losses (or scores) does not improve any more, in which each fold has the total
    weight of its known values of y. The number of stages with the best mean is then fitted to all samples, as with
    `refit`. The search takes the time of a fit for each fold, and up to half as long again, as rounds are grown in
    blocks. An `init` that is neither frozen nor a name is fitted without each fold too, unless there is `init_cv`.

    With an integer, folds hold out rows (see `docs/determinism.md`): they depend on what samples are and on
    `random_state`, not on the order of the samples. They are stratified by class, and for labels by the rarest label of
    each sample; the only sample of a class is in no fold. A splitter does not see weights, but samples with weight zero are
    in no fold.

    Every output needs a known value outside each fold. Not supported with `X_val`, or for further stages with
    `warm_start`. It has no effect with `early_stopping=False`.
""",
    "refit": """
refit : bool, default={default}
    Whether early stopping ends with another fit, to all samples, with the number of stages that it has found. The result
    is the model of a fit without early stopping with this number as `n_estimators` (and with the same start, if
    `init="auto"`). Without it, the samples that were set aside teach the model nothing. It takes at most the time of the
    search once more. It has no effect without early stopping, and with `X_val`, which are not training samples: all of
    these are used already. Not supported for further stages with `warm_start`.
""",
} | texts("""
output_scaling : "variance", array-like of shape (n_outputs,) or None, default={default}
    Scale by which the gradients of each output are divided where outputs share trees: "variance", their weighted standard
    deviation before the first stage, or 1 if they are constant; positive numbers; None, none, so that outputs with large
    values decide. The loss is unscaled, importances and `min_impurity_decrease` are scaled. Not with `estimator`.

output_weights : array-like of shape (n_outputs,) or None, default={default}
    Weight of each output in the search for splits where outputs share trees, after `output_scaling`: numbers that are not
    negative, one of them positive; only their ratios matter. Losses and leaf values are unweighted. Not with `estimator`.

estimator : regressor of scikit-learn or None, default={default}
    Weak model to use instead of trees, which is cloned for each stage, and has its own parameters. It must support several
    outputs with `output_strategy="joint"`; with "projected" it fits one output, and needs `relabel_leaves=False`.

init : estimator or None, default={default}
    Model whose predictions are the initial scores, and part of all predictions. It is cloned and fitted to the same data,
    or used as it is in a `sklearn.frozen.FrozenEstimator`. X is float32 for it, dense or sparse.

leaf_estimation : {"newton", "line_search"}, default={default}
    How the values of leaves are computed: "newton", by a Newton step for each leaf and column of scores, which is halved as
    long as it increases the loss; "line_search", by mean negative gradients and one step of each column for all leaves.
    With `relabel_leaves=False`, "newton" is one step of each column; with `estimator`, steps are by line search.

subsample : float, default={default}
    Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most 64 on
    average are counts, of which some may be drawn. Other weights do not matter to the draw.

max_bins : int or None, default={default}
    Maximum number of bins for each feature, from 2 to 255. Features with no more distinct values, and categories, are split
    exactly; None: all are.

max_depth : int or None, default={default}
    Maximum depth of a tree. None: no limit.

max_leaf_nodes : int, "auto" or None, default={default}
    Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another parameter
    forbids the split. "auto": 31, and other numbers for some kinds of y and numbers of samples, see
    `docs/boosting.md#how-many-stages`; `max_leaf_nodes_` is the choice.

max_features : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each node draws at random from those of the tree: a number, a fraction, their square root, their
    binary logarithm, or "half" of them, rounded up and at least four. None: all. Features that are constant in the node do
    not count.

min_weight_leaf : float, default={default}
    Minimum weight on either side of a split, in units of `sample_weight`, which are absolute: `fit` warns if weights are so
    small that this decides the model. In trees of one column with Newton steps, a sample counts as its second derivative
    divided by the largest one in the stage. See `docs/determinism.md#sample-weights-are-counts`.

early_stopping : bool or "auto", default={default}
    Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best one.
    "auto": if `n_iter_no_change` or `cv` is set.

scoring : str, callable or None, default={default}
    What early stopping monitors: the loss (None), a scorer of scikit-learn by name, or scorer(estimator, X, y), where
    larger is better. A scorer needs samples: `X_val` in `fit`, or `early_stopping`.

validation_fraction : float, default={default}
    Fraction of the training samples, whatever their weights, to set aside for early stopping without `X_val` and folds.

n_iter_no_change : int or None, default={default}
    Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10 with
    early_stopping=True; with `cv` 30, or a fifth of the best number of rounds so far if that is more.

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

# attributes
choices categories_ names_in_
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
    unit='It has no effect for "absolute_error", "quantile" and "huber". It is in units of y for "poisson".',
    first_order='"absolute_error", "quantile" and "huber"',
)

BOOSTING_CLASSIFIERS = (
    {
        "init_cv": """
init_cv : int or None, default={default}
    Number of folds, at least 2, for the initial scores of the training samples: these are then predicted by copies of
    `init` that were fitted without the sample, as for new samples. If `init` fits its training samples closely, as
    linear models of many words do, the stages learn more this way, because they see the errors on other samples. It
    takes one more fit of `init` for each fold; predictions use the model that was fitted to all samples.

    For "linear" and "auto", None means 3. Folds hold out rows, as with `cv`.
""",
    }
    | texts(
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
        rate="0.05 or 0.07, and 0.1 for up to ten classes if held-out samples find the number of stages",
        else_="200",
        few="",
        unit='For "log_loss" of labels and two classes, 4 corresponds to 1 in XGBoost and LightGBM. It has no effect for "hinge".',
        first_order='"hinge"',
    )
    | texts(
        LABEL_WEIGHT,
        where="search for splits and in the losses",
        more="Only for labels. Leaf values and probabilities are unweighted. Not with `estimator`.",
    )
)
BOOSTING_CLASSIFIERS["attributes"] = BOOSTING["attributes"] + " classes_"
BOOSTING_CLASSIFIERS["max_features"] = (
    BOOSTING["max_features"].replace('"half"} or None', '"half", "auto"} or None').partition("Features that")[0]
    + '"auto": "half" for one output of up to ten classes, and otherwise all.'
)
