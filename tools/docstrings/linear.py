"""Texts on the parameters and attributes of linear models."""

from __future__ import annotations

from docstrings.texts import texts

INTERCEPT_SCALING = """
intercept_scaling : float, default={default}
    The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. Intercepts are drawn towards
    -1, which says that a sample does not have the label, the less, the larger this value is. With 0 all are -1.
"""

LINEAR = texts(
    """
loss : {"squared_hinge", "log_loss"}, default={default}
    What a sample loses by its margin m, which is its score if it has the label, and the negative score otherwise:
    max(0, 1 - m)², or ln(1 + exp(-m)), which is logistic regression: its margins are log-odds without calibration too.
    The second has better probabilities of text as a rule, the first is faster for many labels: see `docs/linear.md`.

C : float or "auto", default={default}
    Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto": one of 0.1,
    0.3, 1, 3 and 10, or with "log_loss" of ten times these, by the log loss of held-out samples; `C_` is the choice.

features : {"auto", "given", "normalized", "tfidf", "standardized"}, default={default}
    What is done with X, in `fit` and in predictions: "normalized" divides each sample by its length; "tfidf" takes logarithms
    of counts of words times inverse document frequencies, then the same; "standardized" gives features, dense, mean 0 and
    variance 1 / n_features. "auto": the best for held-out samples. See `docs/linear.md#what-is-done-with-x`.
"""
    + INTERCEPT_SCALING.rstrip("\n")
    + """
    With "log_loss", they are drawn towards ln((P + ½) / (N + ½)), for weights P and N of samples with and without it.

tol : float, default={default}
    A label is fitted when the gradient of no sample is larger than this; with `loss` "log_loss", when the duality gap,
    a bound of what its objective is above its least value, is at most this times the loss of the samples.

max_iter : int, default={default}
    Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.

min_weight : float, default={default}
    Smaller weights are dropped after the fit, so that models are several times smaller and predict about the same: smaller
    than this share of the label's largest weight or of one, for prepared samples with a mean square length of one.

weight_dtype : {"float32", "float16"}, default={default}
    The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and files take about
    a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude keep a file in float32.

calibrate : bool, default={default}
    Whether margins become log-odds by a slope and an intercept for each label, fitted to held-out samples: those of three
    or more classes together, by their softmax. If False, margins are log-odds, `predict` does not change, and with given
    `C` and `features` a fit takes about a third of the time.

class_weight : "balanced", dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" raises a ValueError for more than 10 labels.

random_state : int, RandomState instance or None, default={default}
    Controls the order in which samples are visited. Each call of `fit` draws one seed from it. Results with different
    seeds differ by less than `tol` allows.

C_ : float
    The inverse strength of the penalty that the model was fitted with.

features_ : {"given", "normalized", "tfidf", "standardized"}
    What is done with X.

n_iter_ : int
    The largest number of passes over the samples, of all labels or classes.

idf_ : ndarray of shape (n_features,)
    The inverse document frequencies. They exist only with `features_` "tfidf".

# attributes
C_ features_ n_iter_ idf_ classes_ names_in_
"""
)
