"""Texts on the parameters of centroid forests, in which these differ from other forests."""

from __future__ import annotations

CENTROIDS = {
    "n_children": """
n_children : int, default={default}
    Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node never
    has more than one child for every five of its samples, except that two children are always possible.
""",
    "max_leaf_samples": """
max_leaf_samples : int, default={default}
    Nodes with at most this number of samples become leaves. Sample weights that are whole numbers count here as that
    many samples.
""",
    "n_projections": """
n_projections : int, float or "log", default={default}
    Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a fraction
    of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More directions separate clusters better and take
    longer. Numerical outputs are clustered without projections if there are no more outputs than directions. With
    `output_projection`, the default is limited by the number of outputs.
""",
    "output_projection": """
output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default={default}
    The family of the directions. None: random signs ±1, which are created when they are needed and are the fastest.
    Other families are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what
    `weald.projection` describes. A callable is called once for each tree. A single output of classes supports None
    only.
""",
    "projection_scope": """
projection_scope : {"node", "tree", "forest"}, default={default}
    Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"), or
    all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.
""",
    "max_centroid_features": """
max_centroid_features : int or None, default={default}
    Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features that
    `min_centroid_weight` keeps, which ranks labels better for the same memory.
""",
    "min_centroid_weight": """
min_centroid_weight : float, default={default}
    Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to below
    1. Such features take most of the memory of a model: with 0, the model is several times as large, and often does not
    rank labels better.
""",
    "sample_size": """
sample_size : int or None, default={default}
    Number of samples of a node, drawn without replacement, in which clusters are searched; the other samples then join
    the nearest cluster. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.
""",
    "n_passes": """
n_passes : int, default={default}
    Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.
""",
    "refine": """
refine : bool, default={default}
    If True, improve the centroids after clusters are found, by one pass of logistic regression of the clusters over the
    samples of the node, on the features that the centroids have. More samples then reach their own cluster.
""",
    "soft_routing": """
soft_routing : bool, default={default}
    If True, a sample that is about as close to the second child of a node as to the nearest follows both at prediction,
    with weights; one to three leaves of each tree are then averaged. If False, it follows the nearest child only, which
    is faster and slightly less accurate. The setting is part of the fitted model.
""",
    "smoothing": """
smoothing : float, default={default}
    Number of pseudo-samples that are added to each leaf: they have the mean of the parent node. With 0, leaves predict
    plain means.
""",
    "normalize": """
normalize : bool, default={default}
    If True, scale each sample of X to length one, in `fit` and in predictions, so that long and short texts count the
    same.
""",
    "idf": """
idf : bool, default={default}
    If True, multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)), in
    `fit` and in predictions. Set it to False if X contains such weights already, as those of
    `sklearn.feature_extraction.text.TfidfVectorizer`.
""",
    "max_depth": """
max_depth : int or None, default={default}
    Maximum depth of a tree. None: nodes are split until they have at most `max_leaf_samples` samples or until their
    samples cannot be separated.
""",
    "n_estimators": """
n_estimators : int, default={default}
    Number of trees.
""",
    "label_weight": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default={default}
    Weight of each label in the clustering of samples:

    - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight;
    - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
    - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter;
    - None: all labels have the same weight.

    Leaves and predictions are unweighted frequencies. Only for labels.
""",
    "output_weights": """
output_weights : array-like of shape (n_outputs,) or None, default={default}
    Factors by which the outputs are multiplied in the clustering of samples: finite numbers, none of them negative and
    at least one positive; only their ratios matter. None: outputs with large values dominate the clustering. With
    the inverse of its standard deviation for each output, all outputs count the same. Leaves and predictions are in the
    units of y.
""",
    "keep_rows": """
keep_rows : bool, default={default}
    If True, keep for each training sample its leaf in each tree and its weight, which takes four bytes for each sample
    and tree. `weald.inspection.similar_rows` needs them. Model files contain them.
""",
    "bootstrap": """
bootstrap : bool, default={default}
    If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and the trees still
    differ by their random directions. Samples with weight zero are never drawn. If all weights are whole numbers with a
    mean of at most 64, they are counts: a sample with weight 2 is drawn as two samples.
""",
    "estimators_": """
estimators_ : sequence of estimators of the same class
    The trees, as forests of one tree each. They are created when they are accessed, and share the memory of the forest.
""",
}

CENTROID_CLASSIFIERS = {
    "attributes": """
{estimators_}
{classes_}
{n_classes_}
{sizes}
{names_in_}
{oob_score_}
{oob_decision_function_}
""",
}

CENTROID_REGRESSORS = {
    "attributes": """
{estimators_}
{sizes}
{names_in_}
{oob_score_}
{oob_prediction_}
""",
}
