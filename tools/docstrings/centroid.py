"""Texts on the parameters of centroid forests, in which these differ from other forests."""

from __future__ import annotations

from docstrings.estimators import LABEL_WEIGHT
from docstrings.texts import texts

CENTROIDS = texts("""
n_children : int, default={default}
    Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node never
    has more than one child for every five of its samples, except that two children are always possible.

max_leaf_samples : int, default={default}
    Nodes with at most this number of samples become leaves. Whole sample weights count as that many samples.

n_projections : int, float or "log", default={default}
    Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a fraction
    of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More separate clusters better and take longer. No
    more numerical outputs than directions are clustered as they are.

output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default={default}
    The family of the directions. None: random signs ±1, created when they are needed, which is the fastest, and the only
    one for one output of classes. Others are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard"
    and "pca", and what `weald.projection` describes.

projection_scope : {"node", "tree", "forest"}, default={default}
    Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"), or
    all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.

max_centroid_features : int or None, default={default}
    Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features that
    `min_centroid_weight` keeps, which ranks labels better for the same memory.

min_centroid_weight : float, default={default}
    Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to below 1.
    With 0, the model is several times as large, and often does not rank labels better.

sample_size : int or None, default={default}
    Number of samples of a node, drawn without replacement, in which clusters are searched; the others then join the
    nearest. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.

n_passes : int, default={default}
    Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.

refine : bool, default={default}
    Whether to improve the centroids by one pass of logistic regression of the clusters over the samples of the node, on
    the features that the centroids have. More samples then reach their own cluster.

soft_routing : bool, default={default}
    If True, a sample that is about as close to the second child of a node as to the nearest follows both at prediction,
    with weights: one to three leaves of each tree are averaged. If False, it follows the nearest only, which is faster
    and slightly less accurate. The setting is part of the fitted model.

smoothing : float, default={default}
    Number of pseudo-samples with the mean of the parent node that are added to each leaf. 0: leaves predict means.

normalize : bool, default={default}
    Whether to scale each sample of X to length one, in `fit` and in predictions: long and short texts count the same.

idf : bool, default={default}
    Whether to multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)), in
    `fit` and in predictions. Set it to False for weights of `sklearn.feature_extraction.text.TfidfVectorizer`.

max_depth : int or None, default={default}
    Maximum depth of a tree. None: until nodes have `max_leaf_samples` samples or these cannot be separated.

n_estimators : int, default={default}
    Number of trees.

output_weights : array-like of shape (n_outputs,) or None, default={default}
    Factors of the outputs in the clustering of samples: numbers that are not negative, one of them positive; only their
    ratios matter. None: outputs with large values dominate. With the inverse of its standard deviation for each, all
    count the same. Predictions are in the units of y.

keep_rows : bool, default={default}
    If True, keep for each training sample its leaf in each tree (four bytes) and its weight, in model files too.
    `weald.inspection.similar_rows` needs them.

bootstrap : bool, default={default}
    If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and trees differ by
    their random directions. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two samples.

""") | texts(LABEL_WEIGHT, where="clustering of samples", more="Predictions are unweighted. Only for labels.")

CENTROID_CLASSIFIERS = {"attributes": "classes_ names_in_ oob_score_ oob_decision_function_"}
CENTROID_REGRESSORS = {"attributes": "names_in_ oob_score_ oob_prediction_"}
