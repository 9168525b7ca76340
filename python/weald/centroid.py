"""Centroid forests: trees whose nodes send samples to the nearest of several centroids, for sparse X and many labels.

A node clusters its samples by their labels, projected on a few random directions. The mean of the samples of each
cluster, a few words with weights, becomes the centroid of a child. Trees have about six levels, no feature is searched,
and the time is in proportion to the stored entries of X. `docs/centroid-forests.md` has the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weald import _weald
from weald._fit import memory, updates
from weald._fit.base import Members, Samples, as_size, keep
from weald._fit.forest import BAGGING_CONSTRAINTS, BaggedProof, BaseBagging, BaseBaggingClassifier, BaseBaggingRegressor
from weald._fit.predictions import Absent, BaseClassifier, OfFiniteX
from weald._fitted.fits import Fit
from weald._fitted.proof import check_fitted
from weald._input.checks import Float, Number
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.targets import Target
from weald._parameters import growing
from weald._parameters import weighting as _weighting
from weald._parameters.growing import Growth
from weald._parameters.types import (
    Estimator,
    ForestClassWeight,
    LabelNames,
    LabelWeight,
    MatrixLike,
    MultiLabel,
    NProjections,
    OobScore,
    OutputProjection,
    RandomState,
    SampleWeight,
    YWeight,
    fit_context,
)
from weald._rounds import rounds as _rounds
from weald.projection import CONSTRAINTS, count_projections

__all__ = ["CentroidForestClassifier", "CentroidForestRegressor"]

# A node has at most one child for this number of samples.
_SAMPLES_PER_CHILD = 5
# For the logistic regression: the factor from products of unit vectors to logits, and the step size.
_SCALE_AND_RATE = (5.0, 3.0)
# For soft routing: how fast the share of the nearest child grows with the difference of products, for refined and for
# unrefined centroids, and the smallest share that a second child gets.
_SHARPNESS = {True: 2.0, False: 45.0}
_LEAST_SHARE = 0.2
# The default of `n_projections`.
_N_PROJECTIONS = 128


class CentroidProof(BaggedProof):
    """The fitted attributes of centroid forests under validation."""

    engine = _weald.CentroidForest


class BaseCentroidForest(OfFiniteX, BaseBagging):
    """What centroid forests for all kinds of y share."""

    _proof = CentroidProof
    _inspected_by = "export_centroids"
    _why_no_tests = (
        "its nodes send samples to the nearest of several centroids, which formats with tests on single features "
        "cannot represent"
    )
    _exported_by = "to_json or to_c, or "
    _why_finite = "the nearest centroid of a sample with missing values is unknown"
    _scored_by_engine = False
    _memory_of_fit = staticmethod(memory.of_centroids)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BAGGING_CONSTRAINTS,
        "n_children": [Interval(Integral, 2, 2**15, closed="both")],
        "max_leaf_samples": [Interval(Integral, 1, None, closed="left")],
        **CONSTRAINTS,
        "projection_scope": [StrOptions({"node", "tree", "forest"})],
        "max_centroid_features": [Interval(Integral, 1, None, closed="left"), None],
        "min_centroid_weight": [Number(Real, 0.0, 1.0, closed="left")],
        "sample_size": [Interval(Integral, 2, None, closed="left"), None],
        "n_passes": [Interval(Integral, 0, 1000, closed="both")],
        "refine": ["boolean"],
        "soft_routing": ["boolean"],
        "smoothing": [Number(Real, 0.0, None, closed="left")],
        "normalize": ["boolean"],
        "idf": ["boolean"],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    n_children: int
    max_leaf_samples: int
    n_projections: NProjections
    output_projection: OutputProjection
    projection_scope: Literal["node", "tree", "forest"]
    max_centroid_features: int | None
    min_centroid_weight: float
    sample_size: int | None
    n_passes: int
    refine: bool
    soft_routing: bool
    smoothing: float
    normalize: bool
    idf: bool
    max_depth: int | None

    # How projected samples are compared: by angle or by distance, and whether their mean is subtracted.
    _clustering: ClassVar[tuple[str, bool]]

    _forest: Any

    # Nodes do not test single features, so that impurity importances are not defined.
    feature_importances_ = Absent(
        "its nodes do not test single features; see weald.inspection.export_centroids, or "
        "weald.inspection.permutation_importance"
    )
    decision_path = Absent("its nodes do not test single features; apply returns the leaf of each sample in each tree")
    prune_reduced_error = Absent("fit with a larger max_leaf_samples, or a smaller max_depth")

    @_rounds.with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the forest to training samples.

        Tree i is a function of the data, the parameters, the seed and i; with `idf`, `warm_start` requires the data of
        the previous fit. Each level of a tree takes time in proportion to the labels of the clustered samples times
        `n_projections`, and to the stored entries of X times `n_children`. Callbacks of scikit-learn (`set_callbacks`)
        are called after each tenth of the trees.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: finite numbers such as counts of words. Float32 X that is dense or CSR is used without
            a copy, other X is converted once. Categories raise an error: see `sklearn.preprocessing.OneHotEncoder`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero y
            is not read. For what a weight of 2 is, see `docs/centroid-forests.md#what-it-does-not-support`.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown values of y, besides those that are NaN; they are not read. Clusters take unknown
            labels for 0 and unknown numbers for their mean; leaves use the known values. A sample without any is left
            out, an output without any raises a ValueError. See `docs/missing-labels.md`.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        trees : range or None, default=None
            Grow only these trees of `range(n_estimators)`, in the same way, without out-of-bag scores. Such parts can
            be fitted on several machines and put together by `weald.merge`. `random_state` must then be an integer, and
            `warm_start` False.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit_as_task(Fit(X, y, sample_weight, y_weight, label_names), trees)
        return self

    def _forest_config(self, samples: Samples, trees: tuple[int, int]) -> _weald._CentroidForestConfig:
        target, weights = samples.target, samples.row_weights[0]
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        n_projections = self.n_projections
        if self.output_projection is not None and n_projections == _N_PROJECTIONS:
            # This is the default, and some families have at most as many directions as there are outputs.
            n_projections = min(_N_PROJECTIONS, target.n_columns)
        given = self.output_projection, n_projections
        projection = growing.projection_to_engine(*given, target, growth, default=n_projections)
        clustering, center = self._clustering
        return {
            "trees": trees,
            "bootstrap": bool(self.bootstrap),
            "max_samples": self._n_draws(),
            "seed": self._seed,
            "n_children": int(self.n_children),
            "samples_per_child": _SAMPLES_PER_CHILD,
            "max_leaf_samples": as_size(self.max_leaf_samples) or 1,
            "max_depth": as_size(self.max_depth),
            "sample_size": as_size(self.sample_size),
            "n_projections": self._count_directions(target) if projection is None else _N_PROJECTIONS,
            "output_projection": projection,
            "projection_scope": self.projection_scope,
            "clustering": clustering,
            "center": center,
            "n_passes": int(self.n_passes),
            "max_centroid_features": as_size(self.max_centroid_features),
            "min_centroid_weight": float(self.min_centroid_weight),
            "max_features": 1.0,
            "refinement": _SCALE_AND_RATE if self.refine else None,
            "routing": (_SHARPNESS[bool(self.refine)], _LEAST_SHARE) if self.soft_routing else None,
            "leaf_shrinkage": float(self.smoothing),
            "normalize": bool(self.normalize),
            "idf": bool(self.idf),
            "centroid_dtype": "levels",
            "output_weights": self._output_weights(target, weights),
            # Leaves store the lists of their samples, which are smaller than the lists of their labels.
            "store_rows": target.kind == "labels",
        }

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        return {f"smoothing={self.smoothing:g}": float(self.smoothing) * n_samples / int(self.max_leaf_samples)}

    def _count_directions(self, target: Target) -> int:
        found = int(count_projections(self.n_projections, target.n_columns))
        if found > 2**16:
            raise ValueError(f"n_projections must be at most 65536, got {self.n_projections!r}")
        return found

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        """The weight of each column of predictions in the clustering."""
        return None

    def _grow(
        self,
        samples: Samples,
        config: _weald._CentroidForestConfig,
        n_threads: int,
        progress: Callable[[int], object] | None,
    ) -> _weald.CentroidForest:
        return _weald.fit_centroid_forest(samples.in_engine, config, n_threads, progress)

    @property
    def estimators_(self) -> Sequence[Estimator]:
        """The trees as forests of one tree each.

        They are created when they are accessed, and share the memory of the forest.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseEstimator:
        member = self._twin()
        member._forest = self._forest.only(index)
        member.set_params(n_estimators=1, oob_score=False, keep_rows=False, warm_start=False)
        for name in (*self._oob_attributes, *updates.OF_ROWS):
            member.__dict__.pop(name, None)
        return member


class BaseCentroidForestClassifier(BaseCentroidForest, BaseBaggingClassifier):
    """What centroid forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        **_weighting.LABEL_WEIGHT,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }
    _clustering = ("spherical", False)

    class_weight: ForestClassWeight
    label_weight: LabelWeight

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        found = _weighting.of_labels(self, target, weights)
        return None if found is None else found.tolist()


class BaseCentroidForestRegressor(BaseCentroidForest, BaseBaggingRegressor):
    """What centroid forests for numerical outputs share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        "output_weights": growing.OUTPUT_FACTORS["output_weights"],
    }
    _clustering = ("euclidean", True)

    output_weights: ArrayLike | None

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        return growing.numbers("output_weights", self.output_weights)


class CentroidForestClassifier(BaseCentroidForestClassifier):
    """A centroid forest classifier for many labels or classes of sparse data, such as text.

    Each node of a tree clusters its samples by their labels and sends a sample to the child with the nearest centroid;
    one without any feature of the centroids goes to the first child, the heaviest. After FastXML (Prabhu and Varma, KDD
    2014) and CRAFTML (Siblini, Kuntz and Meyer, ICML 2018): see `docs/centroid-forests.md`. For dense data and features
    of different kinds, use a `RandomForestClassifier`.

    >>> import weald
    >>> X, Y = [[2, 0], [1, 0], [0, 1], [0, 3]], [[1, 0], [1, 0], [0, 1], [0, 1]]  # words and tags
    >>> weald.CentroidForestClassifier(max_leaf_samples=1, random_state=0).fit(X, Y).predict([[1, 0]])
    array([[1, 0]])

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    n_children : int, default=10
        Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node
        never has more than one child for every five of its samples, except that two children are always possible.
    max_leaf_samples : int, default=10
        Nodes with at most this number of samples become leaves. Whole sample weights count as that many samples.
    n_projections : int, float or "log", default=128
        Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a
        fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More separate clusters better and
        take longer. No more numerical outputs than directions are clustered as they are.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        The family of the directions. None: random signs ±1, created when they are needed, which is the fastest, and the
        only one for one output of classes. Others are "gaussian", "rademacher", "achlioptas", "sparse", "subsample",
        "hadamard" and "pca", and what `weald.projection` describes.
    projection_scope : {"node", "tree", "forest"}, default="node"
        Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"),
        or all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.
    max_centroid_features : int or None, default=None
        Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features
        that `min_centroid_weight` keeps, which ranks labels better for the same memory.
    min_centroid_weight : float, default=0.1
        Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to
        below 1. With 0, the model is several times as large, and often does not rank labels better.
    sample_size : int or None, default=None
        Number of samples of a node, drawn without replacement, in which clusters are searched; the others then join the
        nearest. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.
    n_passes : int, default=3
        Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.
    refine : bool, default=True
        Whether to improve the centroids by one pass of logistic regression of the clusters over the samples of the
        node, on the features that the centroids have. More samples then reach their own cluster.
    soft_routing : bool, default=True
        If True, a sample that is about as close to the second child of a node as to the nearest follows both at
        prediction, with weights: one to three leaves of each tree are averaged. If False, it follows the nearest only,
        which is faster and slightly less accurate. The setting is part of the fitted model.
    smoothing : float, default=0.5
        Number of pseudo-samples with the mean of the parent node that are added to each leaf. 0: leaves predict means.
    normalize : bool, default=True
        Whether to scale each sample of X to length one, in `fit` and in predictions: long and short texts count the
        same.
    idf : bool, default=True
        Whether to multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)),
        in `fit` and in predictions. Set it to False for weights of `sklearn.feature_extraction.text.TfidfVectorizer`.
    bootstrap : bool, default=False
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and trees
        differ by their random directions. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two
        samples.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples,
        either of which may exceed them. None: as many as there are.
    oob_score : bool or callable, default=False
        Whether to score for each sample the predictions of the trees that were grown without it. True: the accuracy for
        classes and up to ten labels, all of which must be right, and label ranking average precision for more labels. A
        callable gets (y_true, y_pred), which are sparse if y was.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: until nodes have `max_leaf_samples` samples or these cannot be separated.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the clustering of samples: "balanced", 1 / (p (1 - p)) for a label with a fraction p of
        the known weight; "propensity", the inverse of `weald.metrics.propensities`; numbers that are not negative, of
        which only ratios matter; None, all the same. Predictions are unweighted. Only for labels. See
        `docs/tagging.md#weights-for-rare-tags`.
    class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" and "balanced_subsample" raise a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree (four bytes) and its weight, in model files too.
        `weald.inspection.similar_rows` needs them.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On
        the same data, the result is the forest that a single fit would have grown.

    Attributes
    ----------
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
        The out-of-bag scores of the training samples: NaN, or if y is sparse no entry, for samples that all trees have
        drawn. It exists only with `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_children: int = 10,
        max_leaf_samples: int = 10,
        n_projections: NProjections = 128,
        output_projection: OutputProjection = None,
        projection_scope: Literal["node", "tree", "forest"] = "node",
        max_centroid_features: int | None = None,
        min_centroid_weight: float = 0.1,
        sample_size: int | None = None,
        n_passes: int = 3,
        refine: bool = True,
        soft_routing: bool = True,
        smoothing: float = 0.5,
        normalize: bool = True,
        idf: bool = True,
        bootstrap: bool = False,
        max_samples: float | None = None,
        oob_score: OobScore = False,
        max_depth: int | None = None,
        label_weight: LabelWeight = None,
        class_weight: ForestClassWeight = None,
        multi_label: MultiLabel = "auto",
        keep_rows: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        keep(self, locals())


class CentroidForestRegressor(BaseCentroidForestRegressor):
    """A centroid forest regressor for numerical outputs of sparse data, such as text.

    Each node of a tree clusters its samples by their outputs, after their mean in the node is subtracted, and sends a
    sample to the child with the nearest centroid. A `RandomForestRegressor` nearly always predicts dense data better.
    See `docs/centroid-forests.md`.

    >>> import weald
    >>> X, Y = [[2, 0], [1, 0], [0, 1], [0, 3]], [[1.0, 0.0], [1.0, 0.0], [0.0, 5.0], [0.0, 5.0]]
    >>> weald.CentroidForestRegressor(max_leaf_samples=1, random_state=0).fit(X, Y).predict([[1, 0]]).shape
    (1, 2)

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    n_children : int, default=10
        Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node
        never has more than one child for every five of its samples, except that two children are always possible.
    max_leaf_samples : int, default=10
        Nodes with at most this number of samples become leaves. Whole sample weights count as that many samples.
    n_projections : int, float or "log", default=128
        Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a
        fraction of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More separate clusters better and
        take longer. No more numerical outputs than directions are clustered as they are.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        The family of the directions. None: random signs ±1, created when they are needed, which is the fastest, and the
        only one for one output of classes. Others are "gaussian", "rademacher", "achlioptas", "sparse", "subsample",
        "hadamard" and "pca", and what `weald.projection` describes.
    projection_scope : {"node", "tree", "forest"}, default="node"
        Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"),
        or all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.
    max_centroid_features : int or None, default=None
        Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features
        that `min_centroid_weight` keeps, which ranks labels better for the same memory.
    min_centroid_weight : float, default=0.1
        Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to
        below 1. With 0, the model is several times as large, and often does not rank labels better.
    sample_size : int or None, default=None
        Number of samples of a node, drawn without replacement, in which clusters are searched; the others then join the
        nearest. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.
    n_passes : int, default=3
        Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.
    refine : bool, default=True
        Whether to improve the centroids by one pass of logistic regression of the clusters over the samples of the
        node, on the features that the centroids have. More samples then reach their own cluster.
    soft_routing : bool, default=True
        If True, a sample that is about as close to the second child of a node as to the nearest follows both at
        prediction, with weights: one to three leaves of each tree are averaged. If False, it follows the nearest only,
        which is faster and slightly less accurate. The setting is part of the fitted model.
    smoothing : float, default=0.5
        Number of pseudo-samples with the mean of the parent node that are added to each leaf. 0: leaves predict means.
    normalize : bool, default=True
        Whether to scale each sample of X to length one, in `fit` and in predictions: long and short texts count the
        same.
    idf : bool, default=True
        Whether to multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)),
        in `fit` and in predictions. Set it to False for weights of `sklearn.feature_extraction.text.TfidfVectorizer`.
    bootstrap : bool, default=False
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and trees
        differ by their random directions. Whole weights with a mean of at most 64 are counts: weight 2 is drawn as two
        samples.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples,
        either of which may exceed them. None: as many as there are.
    oob_score : bool or callable, default=False
        Whether to score for each sample the predictions of the trees that were grown without it: True by R², a callable
        by its value for (y_true, y_pred).
    max_depth : int or None, default=None
        Maximum depth of a tree. None: until nodes have `max_leaf_samples` samples or these cannot be separated.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Factors of the outputs in the clustering of samples: numbers that are not negative, one of them positive; only
        their ratios matter. None: outputs with large values dominate. With the inverse of its standard deviation for
        each, all count the same. Predictions are in the units of y.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree (four bytes) and its weight, in model files too.
        `weald.inspection.similar_rows` needs them.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On
        the same data, the result is the forest that a single fit would have grown.

    Attributes
    ----------
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The out-of-bag predictions of the training samples: NaN for samples that all trees have drawn. It exists only
        with `oob_score`. For weights see `docs/determinism.md#sample-weights-are-counts`.
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_children: int = 10,
        max_leaf_samples: int = 10,
        n_projections: NProjections = 128,
        output_projection: OutputProjection = None,
        projection_scope: Literal["node", "tree", "forest"] = "node",
        max_centroid_features: int | None = None,
        min_centroid_weight: float = 0.1,
        sample_size: int | None = None,
        n_passes: int = 3,
        refine: bool = True,
        soft_routing: bool = True,
        smoothing: float = 0.5,
        normalize: bool = True,
        idf: bool = True,
        bootstrap: bool = False,
        max_samples: float | None = None,
        oob_score: OobScore = False,
        max_depth: int | None = None,
        output_weights: ArrayLike | None = None,
        keep_rows: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        keep(self, locals())
