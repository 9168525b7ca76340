"""Texts on linear models."""

from __future__ import annotations

from docstrings.texts import texts

LINEAR = texts("""
strategy : {"auto", "one_vs_rest", "tree"}, default={default}
    "one_vs_rest" fits a model of each label or class to all samples. "tree" clusters the labels, or the classes of one
    output, and fits models of clusters and of labels to the samples near them: many labels take far less time. "auto" is
    "tree" for more than 20,000 labels. Setting a parameter that has no effect with the strategy raises a ValueError: see
    `docs/linear.md`.

loss : {"auto", "squared_hinge", "log_loss"}, default={default}
    What a sample loses by its margin m, the score if it has the label and the negative score otherwise: max(0, 1 - m)², or
    ln(1 + exp(-m)), which is logistic regression. "log_loss" has better probabilities, also of rare classes, and the best
    label of text is right a little less often. "auto" is "log_loss" for classes and "squared_hinge" for labels. Only with
    "one_vs_rest".

C : float or "auto", default={default}
    Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto" is 0.2 in
    trees, and otherwise one of 0.1, 0.3, 1, 3 and 10, or of ten times these numbers with `loss` "log_loss", by the log loss
    of held-out samples. `C_` is the choice.

features : {"auto", "given", "normalized", "tfidf", "standardized"}, default={default}
    What is done with X, in `fit` and in predictions: nothing, samples are divided by their length, counts of words become
    tf-idf and are then divided, or features are standardised, for which X becomes dense in the fit (not in trees). "auto"
    is the one that suits held-out samples best; in trees it is "tfidf" for whole numbers that are not negative, and
    otherwise "normalized". See `docs/linear.md` for formulas.

n_estimators : int, default={default}
    Number of trees, which differ by the random centres from which the clusters of labels start. Only with "tree".

max_children : int, default={default}
    Maximum number of children of a node, from 2 to 65,536. With 2, each child has half of the labels of its node. Only with
    "tree".

max_leaf_labels : int, default={default}
    Maximum number of labels of a leaf, from 1 to 65,536. Nodes with more labels are divided. Larger leaves rank labels
    better and take longer. Only with "tree".

beam_width : int, default={default}
    Number of nodes of each tree that searches follow at each depth. In the fit, a node learns to tell its labels from those
    of all samples whose search comes there; in predictions, labels of other nodes have the probability 0. More nodes rank
    labels better and take longer. Only with "tree".

intercept_scaling : float, default={default}
    The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. The larger it is, the less
    intercepts are drawn towards -1, which says that a sample does not have the label; with 0 all are -1. With `loss`
    "log_loss" it is ln((P + ½) / (N + ½)) in place of -1, of the weights P and N of samples with and without the label.

tol : float or "auto", default={default}
    A label is fitted when the gradient of no sample is larger than this; with `loss` "log_loss", when the duality gap, a
    bound of what the objective is above its least value, is at most this times the loss of the samples. "auto" is 0.1,
    0.01 with the log loss of classes, and 0.3 in trees.

max_iter : int, default={default}
    Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.

min_weight : float, default={default}
    Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features` says, had a
    mean square of their lengths of one. Of labels whose largest weight is below one, it is this share of it. Models are
    then several times smaller, with hardly any difference in predictions.

weight_dtype : {"float32", "float16"}, default={default}
    The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and model files take
    about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not rounded: with one of
    them, for example with a `min_weight` of 0, a file has all weights in float32.

calibrate : bool, default={default}
    Whether margins are turned into log-odds by a slope and an intercept for each label, fitted to the margins of held-out
    samples: those of three or more classes together, by the log loss of their softmax. If False, the margins are the
    log-odds, and with a given `C` and `features` a fit takes about a third of the time. Only with "one_vs_rest".

class_weight : "balanced", dict, list of dict or None, default={default}
    Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
    "balanced" raises a ValueError for more than 10 labels.

random_state : int, RandomState instance or None, default={default}
    Controls the order in which samples are visited, and the clusters of labels. Each call of `fit` draws one seed from it.
    With "one_vs_rest", results with different seeds differ by less than `tol` allows.

strategy_ : {"one_vs_rest", "tree"}
    The strategy of the fit.

C_ : float
    The inverse strength of the penalty that the model was fitted with.

features_ : {"given", "normalized", "tfidf", "standardized"}
    What is done with X.

n_iter_ : int
    The largest number of passes over the samples, of all labels, classes and clusters.

idf_ : ndarray of shape (n_features,)
    The inverse document frequencies. They exist only with `features_` "tfidf".

# attributes
strategy_ C_ features_ n_iter_ idf_ classes_ names_in_
""")
