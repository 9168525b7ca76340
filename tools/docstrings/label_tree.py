"""Texts on the parameters and attributes of label trees."""

from __future__ import annotations

from docstrings.linear import INTERCEPT_SCALING, LINEAR

LABEL_TREES = {
    "C": """
C : float, default={default}
    Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it.
""",
    "features": """
features : {"auto", "given", "normalized", "tfidf"}, default={default}
    What is done with X, in `fit` and in predictions. What is learned for it is part of the model:

    - "given": nothing;
    - "normalized": each sample is divided by its length √(Σ x²);
    - "tfidf": for counts of words x, sign(x) ln(1 + abs(x)) times the inverse document frequency of the word,
      1 + ln((1 + n) / (1 + n with the word)), and then each sample is divided by its length;
    - "auto": "tfidf" if all values of X are whole numbers and none is negative, and otherwise "normalized".
""",
    "n_estimators": """
n_estimators : int, default={default}
    Number of trees, which differ by the random centres from which the clusters of labels start.
""",
    "max_children": """
max_children : int, default={default}
    Maximum number of children of a node, from 2 to 65,536. With 2, each child has half of the labels of its node.
""",
    "max_leaf_labels": """
max_leaf_labels : int, default={default}
    Maximum number of labels of a leaf, from 1 to 65,536. Nodes with more labels are divided. Larger leaves rank labels better
    and take longer.
""",
    "beam_width": """
beam_width : int, default={default}
    Number of nodes of each tree that searches follow at each depth. In the fit, a node learns to tell its labels from those of
    all samples whose search comes there; in predictions, labels of other nodes have the probability 0. More nodes rank
    labels better and take longer.
""",
    "intercept_scaling": INTERCEPT_SCALING,
    "tol": """
tol : float, default={default}
    A child or label is fitted when the gradient of no sample is larger than this.
""",
    "max_iter": """
max_iter : int, default={default}
    Maximum number of passes over the samples of a node. If it does not suffice, `fit` warns.
""",
    "min_weight": LINEAR["min_weight"],
    "weight_dtype": LINEAR["weight_dtype"],
    "random_state": """
random_state : int, RandomState instance or None, default={default}
    Controls the clusters of labels, and the order in which samples are visited. Each call of `fit` draws one seed from it.
""",
    "features_": LINEAR["features_"].replace(', "standardized"', ""),
    "n_iter_": LINEAR["n_iter_"],
    "idf_": LINEAR["idf_"],
    "attributes": "features_ n_iter_ idf_ classes_ names_in_",
}
