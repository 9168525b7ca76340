"""Texts on the parameters and attributes of linear models."""

from __future__ import annotations

INTERCEPT_SCALING = """
intercept_scaling : float, default={default}
    The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. Intercepts are drawn towards
    -1, which says that a sample does not have the label, and the less so, the larger this value is. With 0 all intercepts
    are -1.
"""

LINEAR = {
    "loss": """
loss : {"squared_hinge", "log_loss"}, default={default}
    What a sample loses by its margin m, which is its score if it has the label, and the negative score otherwise:

    - "squared_hinge": max(0, 1 - m)²;
    - "log_loss": ln(1 + exp(-m)), which is logistic regression: the margins are log-odds, also without calibration.
      Probabilities of text are better as a rule, and the best label is right a little less often. Each sample has its say
      about each label, so that fits with many rare labels take longer, and models are larger.
""",
    "C": """
C : float or "auto", default={default}
    Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto": one of
    0.1, 0.3, 1, 3 and 10, or of ten times these numbers with `loss` "log_loss", by the log loss of held-out samples; `C_` is
    the choice.
""",
    "features": """
features : {"auto", "given", "normalized", "tfidf", "standardized"}, default={default}
    What is done with X, in `fit` and in predictions. What is learned for it is part of the model:

    - "given": nothing;
    - "normalized": each sample is divided by its length √(Σ x²);
    - "tfidf": for counts of words x, sign(x) ln(1 + abs(x)) times the inverse document frequency of the word,
      1 + ln((1 + n) / (1 + n with the word)), and then each sample is divided by its length;
    - "standardized": for numbers of different units, the difference from the mean of a feature divided by its standard
      deviation and by √n_features. X becomes dense during the fit;
    - "auto": the one with the least log loss of held-out samples, or that ranks their labels best (nDCG of the five best) if
      there are more than 256, among those that suit X. Standardised features are tried only if at least a tenth of the cells
      of X are not zero; tf-idf, if at most a quarter are not, and none is negative; X as it is given, if its samples are not
      long (a mean square of their lengths of at most 100), nor of length one.
""",
    "intercept_scaling": INTERCEPT_SCALING
    + """\
    With `loss` "log_loss" they are drawn towards ln((P + ½) / (N + ½)) instead, where P and N are the weights of the samples
    with and without the label.
""",
    "tol": """
tol : float, default={default}
    A label is fitted when the gradient of no sample is larger than this. With `loss` "log_loss", when the duality gap of its
    objective is at most this times the loss of the samples; the gap is a bound of what the objective is above its least value.
""",
    "max_iter": """
max_iter : int, default={default}
    Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.
""",
    "min_weight": """
min_weight : float, default={default}
    Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features` says, had a mean
    square of their lengths of one: of X as it is given, those below `min_weight` divided by the root of that mean. Of labels
    whose largest weight is below one, it is this share of it. Models are then several times smaller, with hardly any
    difference in predictions.
""",
    "weight_dtype": """
weight_dtype : {"float32", "float16"}, default={default}
    The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and
    model files take about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not
    rounded: with one of them, for example with a `min_weight` of 0, a file has all weights in float32.
""",
    "calibrate": """
calibrate : bool, default={default}
    Whether margins are turned into log-odds by a slope and an intercept for each label, fitted to the margins of held-out
    samples: those of three or more classes together, by the log loss of their softmax. If False, the margins are the
    log-odds, `predict` is not affected by held-out samples, and with a given `C` and `features` a fit takes about a third of
    the time.
""",
    "class_weight": """
class_weight : "balanced", dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" raises a ValueError for more than 10 labels.
""",
    "random_state": """
random_state : int, RandomState instance or None, default={default}
    Controls the order in which samples are visited. Each call of `fit` draws one seed from it. Results with different
    seeds differ by less than `tol` allows.
""",
    "attributes": """
C_ : float
    The inverse strength of the penalty that the model was fitted with.
features_ : {"given", "normalized", "tfidf", "standardized"}
    What is done with X.
coef_ : sparse array of shape (n_columns, n_features)
    The weights of features, as CSR: of X as `features_` prepares it, and of X as it is given if these are "standardized".
    There is a row for each label, one for an output of two classes, and otherwise one for each class of each output. Each
    access makes a copy.
intercept_ : ndarray of shape (n_columns,)
    The intercepts.
n_iter_ : int
    The largest number of passes over the samples, of all labels or classes.
idf_ : ndarray of shape (n_features,)
    The inverse document frequencies. They exist only with `features_` "tfidf".
{classes_}
{n_classes_}
{sizes}
{names_in_}
""",
}
