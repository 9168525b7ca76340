"""Centroid forests: trees whose nodes send samples to the nearest of several centroids, for sparse X and many labels.

A test of a single word separates few of many texts, so that decision trees on text are deep and unbalanced. The trees
of a centroid forest work differently. A node clusters its samples by their labels, projected on a few random
directions. The mean of the samples of each cluster, a few words with weights, becomes the centroid of a child, and each
sample goes to the child with the nearest centroid. Trees have about six levels, no feature is searched, and the time is
in proportion to the stored entries of X.

Sources: Prabhu and Varma, "FastXML: a fast, accurate and stable tree-classifier for extreme multi-label learning", KDD
2014; Siblini, Kuntz and Meyer, "CRAFTML, an efficient clustering-based random forest for extreme multi-label learning",
ICML 2018. CRAFTML projects the features as well; here they are kept, so that centroids can be interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weald import _weald
from weald._fit import memory, stored_samples
from weald._fit.bagging import (
    BAGGING_CONSTRAINTS,
    BaggedProof,
    BaseBagging,
    BaseBaggingClassifier,
    BaseBaggingRegressor,
)
from weald._fit.base import Members, as_size, keep
from weald._fit.finite import Absent, OfFiniteX
from weald._fit.predictions import BaseClassifier
from weald._fit.samples import Samples
from weald._fitted.proof import check_fitted
from weald._input.checks import Float, Number
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.targets import Target
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling, projections
from weald._parameters.projections import Growth
from weald._parameters.types import (
    Estimator,
    ForestClassWeight,
    LabelWeight,
    MatrixLike,
    MultiLabel,
    NProjections,
    OobScore,
    OutputProjection,
    RandomState,
    fit_context,
)
from weald._rounds import callbacks as _callbacks
from weald.projection import count_projections

if TYPE_CHECKING:
    from weald._weald import _CentroidForestConfig

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
        **projections.CONSTRAINTS,
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

    @_callbacks.with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the forest to training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples, dense or sparse: finite numbers such as counts of words or 0 and 1. X is used without
            a copy if it is CSR of float32; otherwise it is converted once.

            Categorical features are not supported. String and categorical columns raise an error, and codes are treated
            as numbers: convert categories with `sklearn.preprocessing.OneHotEncoder`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The target values.

            - Regressors: numbers. In a sparse matrix, entries that are not stored are zeros.
            - Classifiers: classes, or labels. Labels are several columns of 0 and 1, or any sparse matrix of 0 and 1,
              which is never made dense.

            If y has several columns of floats, a NaN marks an unknown value: see `y_mask`. In a frame of sparse columns NaN
            does so whether it is stored or not.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, and at least one of them positive. None: all samples have weight 1.

            A sample with weight zero is treated as if it were absent: its y is not read, and its features have no
            effect, but must not be NaN or infinite. Positive weights count in the draws of clusters, in centroids and
            in leaves.

            With `refine=False`, `bootstrap=False` and `sample_size=None`, a sample with weight 2 counts exactly as two
            consecutive samples. Otherwise it does not: `refine` makes one step of twice the length for it, and
            `sample_size` draws it as one sample.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are not
            read.

            A leaf predicts for each output the mean of its known values; if it has none, it predicts the mean in its nearest
            ancestor that has some. `smoothing` adds to the samples of a leaf that know an output. Out-of-bag scores also use
            the known values only. A sample without any known value is treated as if it were absent, and an output without
            any known value raises a ValueError.

            In the clusters of a node, an unknown label or class adds nothing to the projection of a sample, as a label that
            it does not have, and an unknown number counts as the mean of the known values of its output over all samples, as
            do unknown labels and classes with an `output_projection`. A node whose samples agree in all that is known is a
            leaf.

            Class weights and label weights count the samples of which an output is known; in the product of class weights of a
            sample, unknown outputs have the factor 1. Unknown values are not supported with `output_projection="pca"` for
            classes and labels. With a mask, leaves of labels store frequencies in place of the lists of their samples, which
            takes more memory, and y of weighted labels with an `output_projection` is held as a float64 array.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        trees : range or None, default=None
            Grow only these trees of `range(n_estimators)`. The result is a part of the forest, and predicts as the forest of
            these trees does. Parts can be fitted in several processes or on several machines and put together by
            `weald.merge`. `random_state` must then be an integer and `warm_start` must be False. A part has no out-of-bag
            scores.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If an argument or a parameter is invalid. The message names it.
        MemoryError
            Before the fit starts, if the memory that it needs for certain (see `weald.estimate_fit_memory`) is not
            available; later, if the engine cannot allocate more.

        Notes
        -----
        If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.

        Tree i is a function of the data, the parameters, the seed and i. It does not depend on the layout of X, on `n_jobs`, or
        on whether the forest was grown by one fit or by several with `warm_start`.
        With `idf`, `warm_start` requires the data of the previous fit.

        Callbacks of scikit-learn (1.9 and later) are set by `set_callbacks`. Trees are then grown in ten blocks, or one by one
        if there are fewer than ten; each block is a task named "trees", after which a callback gets the forest so far and can
        end the fit by returning True. The forest has fewer trees than `n_estimators` then, and is that of the same trees in
        any other fit. Every block prepares X again, which costs time where trees are small. Only `fit` itself calls callbacks:
        parts of `weald.distribute.fit`, and fits that meta-estimators calibrate out of bag, do not.

        Each level of a tree takes time in proportion to the labels of the clustered samples times `n_projections`, and
        to the stored entries of X times `n_children`.
        """
        self._fit_as_task(X, y, sample_weight, y_mask, label_names, trees)
        return self

    def _forest_config(self, samples: Samples, trees: tuple[int, int]) -> _CentroidForestConfig:
        target, weights = samples.target, samples.row_weights[0]
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        n_projections = self.n_projections
        if self.output_projection is not None and n_projections == _N_PROJECTIONS:
            # This is the default, and some families have at most as many directions as there are outputs.
            n_projections = min(_N_PROJECTIONS, target.n_columns)
        given = self.output_projection, n_projections
        projection = projections.to_engine(*given, target, growth, default=n_projections)
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
        self, samples: Samples, config: _CentroidForestConfig, n_threads: int, progress: Callable[[int], object] | None
    ) -> _weald.CentroidForest:
        data = samples.X, samples.target.engine, samples.row_weights
        return _weald.fit_centroid_forest(*data, config, n_threads, progress, samples.mask)

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
        for name in (*self._oob_attributes, *stored_samples.ATTRIBUTES):
            member.__dict__.pop(name, None)
        return member


class BaseCentroidForestClassifier(BaseCentroidForest, BaseBaggingClassifier):
    """What centroid forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }
    _clustering = ("spherical", False)

    class_weight: ForestClassWeight
    label_weight: LabelWeight

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        found = _label_weight.of_labels(self, target, weights)
        return None if found is None else found.tolist()


class BaseCentroidForestRegressor(BaseCentroidForest, BaseBaggingRegressor):
    """What centroid forests for numerical outputs share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        "output_weights": output_scaling.CONSTRAINTS["output_weights"],
    }
    _clustering = ("euclidean", True)

    output_weights: ArrayLike | None

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        return output_scaling.numbers("output_weights", self.output_weights)


class CentroidForestClassifier(BaseCentroidForestClassifier):
    """A centroid forest classifier for labels or classes of sparse data, such as text.

    Each node of a tree clusters its samples by their labels and sends a sample to the child with the nearest centroid.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    n_children : int, default=10
        Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node never
        has more than one child for every five of its samples, except that two children are always possible.
    max_leaf_samples : int, default=10
        Nodes with at most this number of samples become leaves. Sample weights that are whole numbers count here as that
        many samples.
    n_projections : int, float or "log", default=128
        Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a fraction
        of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More directions separate clusters better and take
        longer. Numerical outputs are clustered without projections if there are no more outputs than directions. With
        `output_projection`, the default is limited by the number of outputs.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        The family of the directions. None: random signs ±1, which are created when they are needed and are the fastest.
        Other families are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what
        `weald.projection` describes. A callable is called once for each tree. A single output of classes supports None
        only.
    projection_scope : {"node", "tree", "forest"}, default="node"
        Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"), or
        all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.
    max_centroid_features : int or None, default=None
        Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features that
        `min_centroid_weight` keeps, which ranks labels better for the same memory.
    min_centroid_weight : float, default=0.1
        Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to below
        1. Such features take most of the memory of a model: with 0, the model is several times as large, and often does not
        rank labels better.
    sample_size : int or None, default=None
        Number of samples of a node, drawn without replacement, in which clusters are searched; the other samples then join
        the nearest cluster. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.
    n_passes : int, default=3
        Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.
    refine : bool, default=True
        If True, improve the centroids after clusters are found, by one pass of logistic regression of the clusters over the
        samples of the node, on the features that the centroids have. More samples then reach their own cluster.
    soft_routing : bool, default=True
        If True, a sample that is about as close to the second child of a node as to the nearest follows both at prediction,
        with weights; one to three leaves of each tree are then averaged. If False, it follows the nearest child only, which
        is faster and slightly less accurate. The setting is part of the fitted model.
    smoothing : float, default=0.5
        Number of pseudo-samples that are added to each leaf: they have the mean of the parent node. With 0, leaves predict
        plain means.
    normalize : bool, default=True
        If True, scale each sample of X to length one, in `fit` and in predictions, so that long and short texts count the
        same.
    idf : bool, default=True
        If True, multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)), in
        `fit` and in predictions. Set it to False if X contains such weights already, as those of
        `sklearn.feature_extraction.text.TfidfVectorizer`.
    bootstrap : bool, default=False
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and the trees still
        differ by their random directions. Samples with weight zero are never drawn. If all weights are whole numbers with a
        mean of at most 64, they are counts: a sample with weight 2 is drawn as two samples.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples. None:
        as many as there are training samples. Both may ask for more draws than that, as in scikit-learn 1.9, and the time of
        a fit grows with the number of draws.
    oob_score : bool or callable, default=False
        If not False, score the forest on its out-of-bag samples, that is, score for each sample the predictions of the
        trees that were grown without it. A callable is called with (y_true, y_pred), which are sparse if y was. True stands
        for:

        - the accuracy for classes and for at most ten labels, where all labels of a sample must be right;
        - label ranking average precision (`sklearn.metrics.label_ranking_average_precision_score`) for more labels.
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they have at most `max_leaf_samples` samples or until their
        samples cannot be separated.
    label_weight : {"balanced", "propensity"}, array-like of shape (n_labels,) or None, default=None
        Weight of each label in the clustering of samples:

        - "balanced": 1 / (p (1 - p)) for a label that has a fraction p of the total sample weight;
        - "propensity": the inverse propensities of Jain, Prabhu and Varma (KDD 2016), see `weald.metrics.propensities`;
        - an array: finite numbers, none of them negative and at least one positive. Only their ratios matter;
        - None: all labels have the same weight.

        Leaves and predictions are unweighted frequencies. Only for labels.
    class_weight : {"balanced", "balanced_subsample"}, dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" and "balanced_subsample" raise a ValueError for more than 10 labels: see `label_weight`.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted:

        - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
        - False: each column is an output of classes.
        - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
          or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
          values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree and its weight, which takes four bytes for each sample
        and tree. `weald.inspection.similar_rows` needs them. Model files contain them.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On the
        same data, the result is the forest that a single fit would have grown.

    Attributes
    ----------
    estimators_ : sequence of estimators of the same class
        The trees, as forests of one tree each. They are created when they are accessed, and share the memory of the forest.
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or CSR
        The out-of-bag scores of the training samples. Samples that all trees have drawn have NaN. If y is sparse, this is a
        CSR matrix of the nonzero scores, in which such samples have no entries. A sample of weight 2 is scored by the trees
        that have drawn it zero times; of two equal samples, each is also scored by trees that have drawn the other. It
        exists only with `oob_score`.

    See Also
    --------
    weald.inspection.export_centroids : Show the features with the largest weights of the children of a node.
    RandomForestClassifier : The forest for dense data and for features of different kinds.

    Notes
    -----
    The model, and its file, contain the labels of the training samples once for all trees.

    A sample without any feature of the centroids goes to the first child of each node, which has the most weight.

    Sources: Prabhu and Varma, FastXML, KDD 2014; Siblini, Kuntz and Meyer, CRAFTML, ICML 2018. From them are trees that
    cluster samples by projected labels, and centroids. New here are logistic centroids, two paths for a sample,
    smoothing, and features that are not projected.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["a cat sat", "the cat and the dog", "a dog barked", "rain and snow", "snow fell", "it rains, it snows"]
    >>> tags = [["cat"], ["cat", "dog"], ["dog"], ["weather"], ["weather"], ["weather"]]
    >>> names = ["cat", "dog", "weather"]
    >>> Y = np.array([[name in of_text for name in names] for of_text in tags])
    >>> words = CountVectorizer().fit(texts)
    >>> forest = weald.CentroidForestClassifier(max_leaf_samples=1, random_state=0)
    >>> forest = forest.fit(words.transform(texts), Y, label_names=names)
    >>> forest.topk_names(words.transform(["snow again", "my dog"]), k=1).tolist()
    [['weather'], ['dog']]
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
    """A centroid forest regressor for one or several numerical outputs of sparse data.

    Each node of a tree clusters its samples by their outputs and sends a sample to the child with the nearest centroid.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    n_children : int, default=10
        Maximum number of children of a node, from 2 to 32,768: the number of clusters that k-means looks for. A node never
        has more than one child for every five of its samples, except that two children are always possible.
    max_leaf_samples : int, default=10
        Nodes with at most this number of samples become leaves. Sample weights that are whole numbers count here as that
        many samples.
    n_projections : int, float or "log", default=128
        Number of random directions on which y is projected before samples are clustered, up to 65,536: a number, a fraction
        of the outputs, or for "log" the number ⌊½ + ln d⌋ for d outputs. More directions separate clusters better and take
        longer. Numerical outputs are clustered without projections if there are no more outputs than directions. With
        `output_projection`, the default is limited by the number of outputs.
    output_projection : str, Projection, callable, matrix of shape (q, n_outputs) or None, default=None
        The family of the directions. None: random signs ±1, which are created when they are needed and are the fastest.
        Other families are "gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard" and "pca", and what
        `weald.projection` describes. A callable is called once for each tree. A single output of classes supports None
        only.
    projection_scope : {"node", "tree", "forest"}, default="node"
        Which nodes share the same directions: each node has its own ("node"), the nodes of a tree share them ("tree"), or
        all nodes share them ("forest"). With "forest" the trees are more alike, and the forest predicts worse.
    max_centroid_features : int or None, default=None
        Maximum number of features of a centroid: those with the largest absolute values are kept. None: all features that
        `min_centroid_weight` keeps, which ranks labels better for the same memory.
    min_centroid_weight : float, default=0.1
        Features whose absolute value in a centroid is below this fraction of the largest one are dropped; from 0 to below
        1. Such features take most of the memory of a model: with 0, the model is several times as large, and often does not
        rank labels better.
    sample_size : int or None, default=None
        Number of samples of a node, drawn without replacement, in which clusters are searched; the other samples then join
        the nearest cluster. None: all samples. 1000 makes fits to many samples faster and slightly reduces precision.
    n_passes : int, default=3
        Number of iterations of k-means, from 0 to 1,000. With 0, the centers are the samples that k-means++ draws.
    refine : bool, default=True
        If True, improve the centroids after clusters are found, by one pass of logistic regression of the clusters over the
        samples of the node, on the features that the centroids have. More samples then reach their own cluster.
    soft_routing : bool, default=True
        If True, a sample that is about as close to the second child of a node as to the nearest follows both at prediction,
        with weights; one to three leaves of each tree are then averaged. If False, it follows the nearest child only, which
        is faster and slightly less accurate. The setting is part of the fitted model.
    smoothing : float, default=0.5
        Number of pseudo-samples that are added to each leaf: they have the mean of the parent node. With 0, leaves predict
        plain means.
    normalize : bool, default=True
        If True, scale each sample of X to length one, in `fit` and in predictions, so that long and short texts count the
        same.
    idf : bool, default=True
        If True, multiply each feature by its inverse document frequency 1 + ln((1 + n) / (1 + n with the feature)), in
        `fit` and in predictions. Set it to False if X contains such weights already, as those of
        `sklearn.feature_extraction.text.TfidfVectorizer`.
    bootstrap : bool, default=False
        If True, grow each tree on a bootstrap sample, drawn with replacement; if False, on all samples, and the trees still
        differ by their random directions. Samples with weight zero are never drawn. If all weights are whole numbers with a
        mean of at most 64, they are counts: a sample with weight 2 is drawn as two samples.
    max_samples : int, float or None, default=None
        Number of samples to draw for each tree if `bootstrap=True`: a number, or a fraction of the training samples. None:
        as many as there are training samples. Both may ask for more draws than that, as in scikit-learn 1.9, and the time of
        a fit grows with the number of draws.
    oob_score : bool or callable, default=False
        If not False, score the forest on its out-of-bag samples, that is, score for each sample the predictions of the
        trees that were grown without it. True stands for R². A callable is called with (y_true, y_pred).
    max_depth : int or None, default=None
        Maximum depth of a tree. None: nodes are split until they have at most `max_leaf_samples` samples or until their
        samples cannot be separated.
    output_weights : array-like of shape (n_outputs,) or None, default=None
        Factors by which the outputs are multiplied in the clustering of samples: finite numbers, none of them negative and
        at least one positive; only their ratios matter. None: outputs with large values dominate the clustering. With
        the inverse of its standard deviation for each output, all outputs count the same. Leaves and predictions are in the
        units of y.
    keep_rows : bool, default=False
        If True, keep for each training sample its leaf in each tree and its weight, which takes four bytes for each sample
        and tree. `weald.inspection.similar_rows` needs them. Model files contain them.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls all randomness of the estimator. Each call of `fit` draws one seed from it.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and grows only the additional trees, with the same seed. On the
        same data, the result is the forest that a single fit would have grown.

    Attributes
    ----------
    estimators_ : sequence of estimators of the same class
        The trees, as forests of one tree each. They are created when they are accessed, and share the memory of the forest.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.
    oob_score_ : float
        The out-of-bag score, in which samples of positive weight count once. It exists only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The out-of-bag predictions of the training samples. Samples that all trees have drawn have NaN. A sample of weight 2
        is predicted by the trees that have drawn it zero times; of two equal samples, each is also predicted by trees that
        have drawn the other. It exists only with `oob_score`.

    See Also
    --------
    CentroidForestClassifier : The forest for labels and classes, with the sources.
    RandomForestRegressor : The forest for dense data and for features of different kinds, which it nearly always
        predicts better.

    Notes
    -----
    Samples are clustered by the distance of their outputs after their mean in the node is subtracted. Leaves predict
    means.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> from scipy import sparse
    >>> X = sparse.random_array((300, 1000), density=0.02, random_state=np.random.default_rng(0), format="csr")
    >>> topics = np.random.default_rng(1).random((1000, 3)) < 0.02
    >>> Y = X @ topics.astype(float)
    >>> forest = weald.CentroidForestRegressor(random_state=0).fit(X, Y)
    >>> forest.predict(X[:2]).shape
    (2, 3)
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
