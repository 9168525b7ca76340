"""Texts on the parameters and attributes of boosting, in which it differs from trees and forests."""

from __future__ import annotations

from docstrings.estimators import SHARED

_OBJECTS = """
A loss with another parameter is an object of `weald.loss`, such as `weald.loss.Huber(delta=0.5)`; all losses and their
formulas are there. A loss of your own is an object with the methods `loss(y, scores)` and
`gradient_hessian(y, scores)`, or a `weald.loss.CustomLoss`, which gives it a name, a domain of y and a link. A pickle
contains the object. A model file contains its name, domain and link and no code: the model that is loaded predicts the
same, and needs a loss again for another fit.
"""

_LEARNING_RATE = """
learning_rate : float or "auto", default={default}
    Factor by which the contribution of each stage is multiplied. The initial constant is not multiplied."""


def _n_estimators(auto: str) -> str:
    return f"""
n_estimators : int or "auto", default={{default}}
    Number of stages. With `output_strategy="single_target"`, each stage has one tree for every column of scores.

    "auto": {auto}
    With `n_iter_no_change` or `early_stopping`, it is what they find, up to 1000.
"""


def _output_strategy(auto: str) -> str:
    return f"""
output_strategy : {{"auto", "projected", "joint", "single_target"}} or Projected, default={{default}}
    What each stage fits:

    - "projected" or a `weald.projection.Projected`: one tree, to a few random combinations of the gradients of all outputs;
    - "joint": one tree, to the gradients of all outputs;
    - "single_target": one tree for each output, independently of the other outputs;
    - "auto": {auto}
"""


BOOSTING = {
    "output_strategy": _output_strategy(
        """"single_target" for up to ten columns of scores, and "projected" for more; "joint" in its place with
      `monotonic_cst`, and always with `estimator`. Each of three to ten classes is therefore fitted against all other
      classes, see `loss`."""
    ),
    "output_scaling": """
output_scaling : "variance", array-like of shape (n_outputs,) or None, default={default}
    Scale by which the gradients of each output are divided when a tree is grown for several outputs or for combinations
    of them:

    - "variance": the standard deviation of the gradients before the first stage, weighted by `sample_weight` and
      computed from the known values (for "squared_error" this is the standard deviation of y); 1 for a constant output;
    - an array: the scales, finite and positive;
    - None: no scaling. Outputs with large values then dominate the choice of splits.

    Leaf values and steps minimize the unscaled loss. Importances and `min_impurity_decrease` refer to the scaled
    gradients. It takes memory for one table of gradients before the first stage.
""",
    "output_weights": """
output_weights : array-like of shape (n_outputs,) or None, default={default}
    Weight of each output in the search for splits: the impurity is the weighted mean of the variances of the gradients,
    after `output_scaling`. The weights must be finite, none of them negative, and at least one positive; only their
    ratios matter. The loss, leaf values and steps are not weighted.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
    Weight of each label in the search for splits and in the losses. Only for labels.

    - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight;
    - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
    - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter. A label with
      weight zero influences neither splits nor losses;
    - None: all labels have the same weight.

    Trees that labels share ("joint" and "projected") are grown on gradients times the square roots of the weights, so
    that the impurity is the weighted mean over the labels and frequent labels do not decide alone. The losses of
    `train_score_`, `validation_score_`, `oob_scores_` and `eval_results_` are weighted means, and early stopping uses
    them. Leaf values and steps are computed for each label separately, where the weight cancels: predicted
    probabilities are not distorted. With `output_strategy="single_target"`, only the losses change. If some values of y
    are unknown, p is the fraction of the samples of which the label is known, and propensities count these.
""",
    "estimator": """
estimator : regressor of scikit-learn or None, default={default}
    Weak model to use instead of trees, which is cloned for each stage. It must support several outputs with
    `output_strategy="joint"`; with `Projected(relabel_leaves=False)` it fits one output. Parameters of trees do not apply to
    it.
""",
    "init": """
init : estimator or None, default={default}
    Model whose predictions are the initial scores. It is cloned and fitted to the same data, or used as it is if it is
    wrapped in `sklearn.frozen.FrozenEstimator`. All predictions include it. For a classifier, its `predict_proba` is
    used, or else its `decision_function`, which must return log-odds. It receives X as float32, dense or sparse. For
    sparse text, a linear model ranks labels well, and trees on top of it rank better.
""",
    "leaf_estimation": """
leaf_estimation : {"newton", "line_search"}, default={default}
    How the values of leaves are computed:

    - "newton": each leaf and column of scores takes its own Newton step, that is, the sum of the negative gradients of
      the leaf divided by the sum of their second derivatives plus `l2_regularization`. The step is halved as long as
      the loss of the leaf's samples increases.
    - "line_search": leaves hold mean negative gradients, and each column takes one step for all leaves, which minimizes
      the loss over all samples. If leaves need different steps, a single step can overfit samples that are easy to
      separate.

    With `Projected(relabel_leaves=False)`, "newton" is one Newton step of each column along the values of the leaves. With
    `estimator`, steps are always found by line search.
""",
    "subsample": """
subsample : float, default={default}
    Fraction of the samples that each stage is fitted to, drawn without replacement. Whole sample weights of at most 64 on
    average are counts: a sample of weight 3 is three samples, of which some may be drawn. Other weights do not matter to
    the draw.
""",
    "max_bins": """
max_bins : int or None, default={default}
    Maximum number of bins for each feature, from 2 to 255. Features with at most this number of distinct values are
    split exactly, as are categorical features. None: all features are split exactly.
""",
    "max_depth": """
max_depth : int or None, default={default}
    Maximum depth of a tree. None: no limit.
""",
    "max_leaf_nodes": """
max_leaf_nodes : int, "auto" or None, default={default}
    Maximum number of leaves; the tree is grown best-first. None: nodes are split until they are pure or another
    parameter forbids the split. "auto": 31, except for some numbers of samples. Where folds find the number of stages, see
    `n_estimators`: 8 for up to 1000 samples, and 15 for up to 5000, unless at most half of the samples differ in X. Where 11
    to 100 columns of scores share each tree, without `init`: 63 for more than 2000 samples that differ in X, and 127 for
    more than 5000.
""",
    "max_features": """
max_features : int, float, {"sqrt", "log2", "half"} or None, default={default}
    Number of features that each node draws at random from the features of the tree: a number, a fraction, their square
    root, their binary logarithm, or "half" of them, rounded up and at least four. None: all features. Features that are
    constant in the node do not count.
""",
    "min_weight_leaf": """
min_weight_leaf : float, default={default}
    Minimum weight on either side of a split, in units of `sample_weight`. A sample with weight 2 counts as two here;
    for `min_samples_leaf`, which counts samples, it counts as one.

    A leaf whose second derivatives sum to less than a 2000th of it adds nothing to a column of scores. Weights are absolute,
    here and in `l2_regularization`: with weights that sum to one, these parameters leave no splits, or next to no steps. `fit`
    then warns and names the factor by which to multiply the weights.
    In trees of one column of scores with Newton steps, a sample counts as its second derivative divided by the largest one in
    the stage: with "log_loss", 11 samples with a probability of 0.05 count about as much as 2 samples with a probability of
    1/2.
""",
    "early_stopping": """
early_stopping : bool, "auto" or EarlyStopping, default={default}
    Whether to stop the fit when the validation samples do not improve any more, and keep the stages up to the best one.
    "auto": if `n_iter_no_change` is set. A `weald.EarlyStopping` finds the number of stages by folds, or fits it to all
    samples.
""",
    "scoring": """
scoring : str, callable or None, default={default}
    What early stopping monitors. None: the loss. Otherwise the name of a scorer of scikit-learn, or a callable
    scorer(estimator, X, y) that returns a number, of which larger values are better. A scorer needs samples: `X_val` in
    `fit`, or `early_stopping`.
""",
    "validation_fraction": """
validation_fraction : float, default={default}
    Fraction of the training samples to set aside for early stopping if `fit` gets no validation set. Samples count
    regardless of their weights. They are chosen as those of a fold of `EarlyStopping(cv=...)`, with which this has no effect.
""",
    "n_iter_no_change": """
n_iter_no_change : int or None, default={default}
    Number of consecutive rounds without an improvement of at least `tol` after which the fit stops. None means 10 with
    early_stopping=True; with the `cv` of an `EarlyStopping` 30, or its `patience_share` of the best number of rounds so far.
""",
    "tol": """
tol : float, default={default}
    Minimum improvement that counts for early stopping. For the loss, it is a fraction of the absolute value of the
    validation loss before the first stage, and therefore does not depend on the number or the scale of the outputs. With
    `scoring`, it is in the unit of the score.
""",
    "callbacks": """
callbacks : object, list of objects or None, default={default}
    Objects with a method on_round(round, train_loss, validation_loss), which is called after each round with its index,
    from 0, and the losses; `validation_loss` is None without validation samples. If the method returns a true value,
    the fit ends, and the model consists of the rounds so far. If it raises an exception, the fit ends too, and the
    estimator stays as it was.

    With `refit` and `cv` of an `EarlyStopping`, they watch the search for the number of stages, whose losses with `cv` are
    the means over the folds, of some rounds at a time. If one of them ends the search, the best number of stages so far is
    fitted to all samples.

    Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`: each round is a task named "round", after
    which they receive a fitted estimator of the rounds so far, and they can end the fit. With `refit` and `cv`, they watch
    the last fit.
""",
    "monotonic_cst": SHARED["monotonic_cst"]
    + """
    Not supported with `output_strategy="projected"`; "auto" then chooses "single_target" or "joint". What `init` or
    `base_margin` add to the scores is not constrained.
""",
    "categorical_features": SHARED["categorical_features"]
    + """
    Categorical features are not binned, however many categories they have. `init` and `estimator` receive their codes.
""",
    "warm_start": """
warm_start : bool, default={default}
    If True, `fit` keeps the stages of the previous fit, their constants, and what "auto" stood for, and grows only the
    additional stages, with the same seed. On the same data, the result is the model that a single fit with these values would
    have grown.
""",
    "class_weight": """
class_weight : "balanced", dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    Products that are not multiples of 1/64 are rounded: see `sample_weight` of `fit`.
""",
    "n_estimators_": """
n_estimators_ : int
    The number of stages: `n_estimators`, or fewer if the fit stopped early.
""",
    "estimators_": """
estimators_ : sequence of DecisionTreeRegressor, or list
    The weak models. Trees are created when they are accessed, and share the memory of the model.
""",
    "learning_rate_": """
learning_rate_ : float
    The factor of the contribution of every stage: `learning_rate`, or what "auto" stands for.
""",
    "step_sizes_": """
step_sizes_ : ndarray of shape (`n_estimators_`, n_columns)
    The factor of each stage for each column of scores, before `learning_rate_`: 1 if the leaves hold the values that
    they add, 0 if a stage adds nothing to a column.
""",
    "start_": """
start_ : ndarray of shape (n_columns,)
    The constant initial scores.
""",
    "train_score_": """
train_score_ : ndarray of shape (n_rounds,)
    The loss on the training samples after each round: the mean over the columns of scores of the weighted mean over
    the samples with a known value. Columns without a known value do not count. After an early stop, there are more
    rounds than the `n_estimators_` stages that were kept, unless these were fitted again (see `weald.EarlyStopping`).
""",
    "oob_improvement_": """
oob_improvement_ : ndarray of shape (n_rounds,)
    The improvement of the loss on the out-of-bag samples by each round: the differences of consecutive `oob_scores_`,
    and for the first round the difference to the loss of its samples before it. It exists only if `subsample` is below
    1.
""",
    "oob_scores_": """
oob_scores_ : ndarray of shape (n_rounds,)
    The loss after each round on the samples that the round did not draw, as in `train_score_`. It exists only if
    `subsample` is below 1.
""",
    "oob_score_": """
oob_score_ : float
    The last of `oob_scores_`.
""",
    "validation_score_": """
validation_score_ : ndarray of shape (n_rounds,)
    The loss on the validation samples after each round, a mean like that of `train_score_`. It exists only if there are
    validation samples. With `refit` and `cv` of an `EarlyStopping`, it is that of the search for the number of stages; with
    `cv`, the mean over the folds.
""",
    "eval_results_": """
eval_results_ : dict of str and dict
    For each of the `eval_sets` of `fit`, the "loss", and with `scoring` the "score", after each stage that was kept:
    arrays of shape (`n_estimators_`,). It exists only with `eval_sets`.
""",
    "max_leaf_nodes_": """
max_leaf_nodes_ : int or None
    The maximum number of leaves of each tree.
""",
    "max_features_": """
max_features_ : int
    The number of features that each node draws.
""",
    "scores_of_stages": """
{n_estimators_}
{estimators_}
{learning_rate_}
{step_sizes_}
{start_}
{train_score_}
{oob_improvement_}
{oob_scores_}
{oob_score_}
{validation_score_}
{eval_results_}
""",
    "algorithm": """
This is Friedman's gradient boosting. It starts from the constants that minimize the loss. Each stage fits a tree to the
negative gradients and adds `learning_rate` times the values of its leaves to the scores. For a leaf and a column of
scores, the value is the Newton step Σ w r / (Σ w h + λ), with the sample weights w, the negative gradients r and the
second derivatives h of the samples in the leaf. With line searches, and with other weak models g, each column j has a
step ρ_j that minimizes the loss along g, and `learning_rate` · ρ_j g is added. With `learning_rate<=1`,
`subsample=1` and a convex loss, as all named losses are, the training loss never increases, except by rounding.
""",
}

BOOSTING_REGRESSORS = {
    "output_strategy": _output_strategy(
        """"single_target" for up to ten outputs, and for up to 100 outputs if 30 to 5000 samples differ in X, and
      otherwise "projected"; "joint" in its place with `monotonic_cst`, and always with `estimator`."""
    ),
    "max_leaf_nodes": BOOSTING["max_leaf_nodes"]
    + """\
    Where `output_strategy="auto"` gives 11 to 100 outputs a tree each: 8 for up to 1000 samples, and 15 for up to 2000.
""",
    "learning_rate": f"""{_LEARNING_RATE} "auto": 0.07 if
    folds find the number of stages, see `n_estimators`, or `output_strategy="auto"` gives 11 to 100 outputs a tree each,
    and 0.05 otherwise.
""",
    "n_estimators": _n_estimators(
        """for up to ten outputs, the number with the least mean loss in three folds, or in five of up to
    200 samples, and up to 1000. This takes about three quarters of the time of 300 stages with up to some thousand samples,
    and up to twelve times as long with more samples and without noise. If `output_strategy="auto"` gives 11 to 100 outputs
    a tree each, one of the folds finds it, up to 200. It is 300 for more outputs, with fewer than 30 or more than 20 000
    samples, if one fold has all known values of an output, and with `X_val`, `warm_start`, `estimator`, `init`, `scoring`
    or `early_stopping=False`; for 11 to 100 outputs with a tree each, 100 in these cases."""
    ),
    "loss": f"""
loss : str or object, default={{default}}
    The loss to minimize, summed over the outputs: "squared_error", "absolute_error", "quantile", "huber", "poisson",
    "gamma" or "tweedie" (half the deviances), or another loss of `weald.loss` for numbers.

    Scores are logarithms, and predictions are exp(f), for losses with the link "log", such as the last three. If all
    values of an output are 0, its initial score is computed as if there were half a sample with y = 1 (or a 64th of
    all samples, if that is less).

    {_OBJECTS.strip().replace(chr(10), chr(10) + "    ")}
""",
    "l2_regularization": """
l2_regularization : float, default={default}
    The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
    weight take shorter steps. With `Projected(relabel_leaves=False)`, λ is multiplied by the squares of the leaves' values, so
    that their unit does not matter. It has no effect for "absolute_error" and "quantile", whose leaves are medians or
    quantiles of residuals, or for "huber", whose leaves minimize the loss. The second derivatives of "poisson" are
    predictions, in units of y: if these are far below 1, a smaller λ is appropriate.
""",
    "attributes": """
{scores_of_stages}
{categories_}
{feature_importances_}
{max_features_}
{max_leaf_nodes_}
{sizes}
{names_in_}
""",
}

BOOSTING_CLASSIFIERS = {
    "learning_rate": f"""{_LEARNING_RATE} "auto": 0.07
    for more than ten classes, and for several outputs, such as labels, but 0.05 where folds find the number of stages of
    labels, see `n_estimators`; for one output of up to ten classes 0.1 if folds find that number, and 0.05 otherwise; 0.05
    with `init="linear"` and `init="auto"`, which leave less to learn.
""",
    "n_estimators": _n_estimators(
        """for one output of up to ten classes, the number with the least mean loss in three folds, or in
    five of up to 200 samples, and up to 1000. This takes about half as long again as 200 stages, up to fifteen times as
    long where classes can be told apart without error. For labels of 30 to 500 samples
    with fewer features, these folds find it, up to 400. It is 200 for any other y, with fewer than 30 or more than 20 000
    samples, and with `X_val`, `warm_start`, `estimator`, `init`, `scoring` or `early_stopping=False`."""
    ),
    "max_features": BOOSTING["max_features"].replace('"half"} or None', '"half", "auto"} or None')
    + """\
    "auto": "half" if y has one output of up to ten classes, and all features otherwise.
""",
    "init": """
init : estimator, "linear", "auto" or None, default={default}
    The model whose predictions are the initial scores.

    - "linear": a `LinearClassifier` with its defaults. The initial scores of training samples are those of linear models of
      the other samples. For sparse text, trees on top of a linear model usually rank labels better than both alone.
      Requires finite X without categories, and a loss with probabilities.
    - "auto": "linear" if it helps, else None. Boosting without and with a linear start is fitted to two thirds of the
      samples. The one whose smallest loss on the other samples is lower is fitted to all samples; with a linear start, by as
      many stages as had the smallest loss, or by one stage if none helps. If linear models do not support X or the loss,
      there is no linear start. Without the linear models, a fit takes about 2.5 times as long.
    - an estimator: it is cloned and fitted to the same data, or used as it is if it is wrapped in
      `sklearn.frozen.FrozenEstimator`. Its `predict_proba` is used, or else its `decision_function`, which must return
      log-odds. It receives X as float32, dense or sparse.

    All predictions include it.
""",
    "loss": f"""
loss : str or object, default={{default}}
    The loss to minimize, summed over the columns of scores: "log_loss", "exponential", "hinge" or "squared_error", or
    another loss of `weald.loss` for labels.

    For outputs of three or more classes, and for several outputs of classes, "log_loss" is the log loss of the softmax
    over the columns of the output, except with `output_strategy="single_target"`. With the default
    `output_strategy="auto"`, this is the case for up to ten columns of scores: each class is then fitted against all
    other classes, and probabilities are divided by their sum. Set `output_strategy="joint"` for the softmax. Except
    with the softmax, each class of several is one column against all other classes.

    {_OBJECTS.strip().replace(chr(10), chr(10) + "    ")}
""",
    "l2_regularization": """
l2_regularization : float, default={default}
    The term λ of Newton steps, which is added to the sum of second derivatives of each leaf, so that leaves of small
    weight take shorter steps. With `Projected(relabel_leaves=False)`, λ is multiplied by the squares of the leaves' values, so
    that their unit does not matter. The second derivatives of "log_loss" for labels and two classes are with respect to
    half the log-odds, 4 p (1 - p): the value 4 corresponds to 1 in XGBoost and LightGBM. It has no effect for "hinge",
    which has no second derivatives: there a leaf takes the step that is best for its samples.
""",
    "attributes": """
{scores_of_stages}
{categories_}
{classes_}
{n_classes_}
{feature_importances_}
{max_features_}
{max_leaf_nodes_}
{sizes}
{names_in_}
""",
}
