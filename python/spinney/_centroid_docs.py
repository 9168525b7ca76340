"""Texts on the parameters of centroid forests, which both estimators share."""

from __future__ import annotations

from spinney._docs import TEXTS

CENTROID_TEXTS = TEXTS | {
    "n_estimators": """
n_estimators : int, default=50
    Number of trees.
""",
    "n_children": """
n_children : int, default=10
    Clusters that are looked for in a node, from 2 to 32,768: its most children. A node has no more than one child for
    every five samples, but two.
""",
    "max_leaf_samples": """
max_leaf_samples : int, default=10
    A node of so many samples or fewer is a leaf. Whole sample weights count here as that many samples.
""",
    "n_projections_of_nodes": """
n_projections : int, float or "log", default=128
    Number of random directions that y is projected on before samples are clustered: a number, a share of the outputs,
    or ⌊½ + ln d⌋ for d outputs; up to 65,536. More separate clusters better and take longer. Numbers of no more outputs
    than that are clustered as they are. With `output_projection` the default is at most the number of outputs.
""",
    "output_projection_of_nodes": """
output_projection : str, Projection, callable or matrix of shape (q, n_outputs), default=None
    Directions of another family than random signs ±1, which are made as they are needed and are the fastest:
    "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca", or as described in
    `spinney.projection`. A callable is called once a tree. A single output of classes has signs alone.
""",
    "projection_scope_of_nodes": """
projection_scope : {"node", "tree", "forest"}, default="node"
    Which nodes have the same directions: none, those of a tree, or all. With "forest" trees are more alike, and the
    forest is worse.
""",
    "max_centroid_features": """
max_centroid_features : int, default=None
    Most features that a centroid keeps, those of largest magnitude. None keeps all that `min_centroid_weight` leaves,
    which ranks better for the same memory.
""",
    "min_centroid_weight": """
min_centroid_weight : float, default=0.1
    Features of less than that share of the largest magnitude in a centroid are dropped, from 0 to below 1. Most of a
    model's bytes are such features: with 0 it is some times as large, and often ranks no better.
""",
    "sample_size": """
sample_size : int, default=None
    Samples of a node of which clusters are found, drawn without replacement; all others then join the nearest cluster.
    None for all; 1000 makes fits of many rows faster, for a little precision.
""",
    "n_passes": """
n_passes : int, default=3
    How often k-means moves the centres of clusters, from 0 to 1,000; 0 are the samples that k-means++ draws.
""",
    "refine": """
refine : bool, default=True
    Learn centroids further when clusters are found: one pass of logistic regression of the clusters over the samples of
    the node, on the features that centroids have. More samples go to their cluster then.
""",
    "soft_routing": """
soft_routing : bool, default=True
    A row that is about as near to the second child of a node as to the nearest goes on to both, by shares, when it is
    predicted; one to three leaves a tree are then averaged. False takes the nearest alone: faster, a little worse. It
    is part of the fitted model.
""",
    "smoothing": """
smoothing : float, default=0.5
    Leaves predict as if they had so many samples more, which are like those of the node above on the average; so do the
    nodes above. 0 are the plain means of the leaves.
""",
    "normalize": """
normalize : bool, default=True
    Bring rows of X to length one, in fits and in predictions: a long text counts like a short one.
""",
    "idf": """
idf : bool, default=True
    Weigh features by how few samples have them, 1 + ln((1 + n) / (1 + n with the feature)), in fits and in predictions.
    Set it to False where X holds such weights already, as of `sklearn.feature_extraction.text.TfidfVectorizer`.
""",
    "max_depth_of_nodes": """
max_depth : int, default=None
    Largest depth; without, nodes are split until they have `max_leaf_samples` or nothing separates their samples.
""",
    "label_weight_of_nodes": """
label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
    How much each label counts where samples are clustered. "balanced" are 1 / (p (1 - p)) for a label of a share p of
    the rows, by weight. "propensity" are the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see
    `spinney.metrics.propensities`. An array are finite numbers, none negative, one positive; their ratios alone count.
    Leaves and predictions are frequencies, which are not weighted. For labels alone.
""",
    "output_weights_of_nodes": """
output_weights : array-like of shape (n_outputs,), default=None
    What each output is multiplied by where samples are clustered, up to a factor: finite, none negative, one positive.
    Without, outputs of large numbers decide alone; 1 / the standard deviation of each makes them equal. Leaves and
    predictions are in the units of y.
""",
    "keep_rows": """
keep_rows : bool, default=False
    Keep the leaf of each training row in each tree, and its weight: four bytes for each row and tree, which
    `spinney.inspection.similar_rows` asks for. Model files have them too.
""",
    "bootstrap": """
bootstrap : bool, default=False
    Grow each tree on rows drawn with replacement, else on all: trees differ by their directions anyway. Rows of weight
    zero are not drawn. Whole weights are counts: a row of weight 2 is drawn as two rows.
""",
    "members": """
estimators_ : sequence of estimators of the same class
    Each a forest of one tree; made when asked for, they share the forest's memory.
""",
}
