"""Centroid forests: trees whose nodes send samples to the nearest of several centroids, for sparse X and many labels.

A test of one word parts few of many texts, so that trees on text are deep and unbalanced. Here a node clusters its
samples by their labels, projected on a few random directions; the mean of the rows of each cluster, a few words with
weights, becomes a child, and each sample goes on to the child whose centroid it is nearest to. Trees are half a dozen
levels deep, no feature is searched, and the cost goes with the stored entries of X.

Sources: Prabhu and Varma, "FastXML: a fast, accurate and stable tree-classifier for extreme multi-label learning", KDD
2014; Siblini, Kuntz and Meyer, "CRAFTML, an efficient clustering-based random forest for extreme multi-label learning",
ICML 2018, who project features as well, which are kept here so that centroids can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from spinney import _categories, _kept_rows, _label_weight, _output_scaling, _projection, _spinney, _validation
from spinney._at_once import fitted_at_once
from spinney._bagging import BAGGING_CONSTRAINTS, BaseBagging, BaseBaggingClassifier, BaseBaggingRegressor
from spinney._base import BaseClassifier, Members, as_size
from spinney._centroid_docs import CENTROID_TEXTS
from spinney._docs import composed
from spinney._projection import Growth
from spinney._proof import check_fitted
from spinney._sparse import is_sparse
from spinney._validation import Float, Matrix, Number, RowWeights, Target
from spinney.projection import count_projections

if TYPE_CHECKING:
    from spinney._spinney import _CentroidForestConfig

__all__ = ["CentroidForestClassifier", "CentroidForestRegressor"]

# A node has a child for every so many samples at most.
_SAMPLES_PER_CHILD = 5
# Of the logistic pass: what products of unit vectors are multiplied by to be logits, and the step.
_SCALE_AND_RATE = (5.0, 3.0)
# How much more of a row goes to the nearest child for each unit of product, where centroids are refined and where they
# are not, and the least share of a row that goes to a second one.
_SHARPNESS = {True: 2.0, False: 45.0}
_LEAST_SHARE = 0.2
# Default of `n_projections`.
_N_PROJECTIONS = 128


def _documented(described: Any) -> Any:
    return composed(described, CENTROID_TEXTS)


class _Absent:
    """An attribute that other forests have: asked for, it tells what there is in its place."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        name = type(instance).__name__ if owner is None else owner.__name__
        raise AttributeError(f"{name} has no {self._name}: {self._instead}")


class BaseCentroidForest(BaseBagging):
    """What both estimators share."""

    _kind = "centroid"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BAGGING_CONSTRAINTS,
        "n_children": [Interval(Integral, 2, 2**15, closed="both")],
        "max_leaf_samples": [Interval(Integral, 1, None, closed="left")],
        **_projection.CONSTRAINTS,
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
    _masks_y = False
    # What makes projected samples alike: their angle or their distance, less their mean or not.
    _clustering: ClassVar[tuple[str, bool]]

    _forest: Any

    # Nodes test no feature, so that nothing says what a single one brings.
    feature_importances_ = _Absent(
        "its nodes test no single feature; see spinney.inspection.export_centroids, or "
        "sklearn.inspection.permutation_importance"
    )
    decision_path = _Absent("apply has the leaf of each row in each tree")
    prune_reduced_error = _Absent("fit with a larger max_leaf_samples, or a smaller max_depth")

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @_documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, label_names: Any = None, trees: Any = None) -> Any:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Finite numbers, dense or sparse: counts of words, 0 and 1, or any others. Used where it lies when CSR of
            float32, otherwise converted on one copy. Every layout gives the same forest. There are no categories here:
            columns of text or of a categorical type are refused, and codes are numbers like others; a
            `sklearn.preprocessing.OneHotEncoder` before makes features of them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
            Numbers for a regressor, sparse ones too; for a classifier classes, or labels: several columns of 0 and 1,
            or any sparse matrix of them, which is never made dense. All cells known: NaN is refused.
        sample_weight : array-like of shape (n_samples,), default=None
            Finite, not negative, not all zero. A row of weight zero is no row, whatever y is there (X must not contain
            NaN or infinity there either). Others weigh in the draws of clusters, in centroids and in leaves. With
            `refine=False`, `bootstrap=False` and `sample_size=None` a row of weight 2 is the row twice, one after the
            other; a step of `refine` is twice as long for it, and a sample of a node has it once.
        {label_names}
        {trees}

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            Bad input or parameters, named in the message.
        MemoryError
            Before anything is grown where the parts of `spinney.estimate_fit_memory` that are certain to be needed
            cannot be had; later for others that the engine cannot allocate.

        After any failure, Ctrl-C included, the estimator is as it was before.

        Notes
        -----
        Tree i is a function of the data, the parameters, the seed and i alone: the same for any `n_jobs`, and whether
        it was grown at once or with `warm_start`, which with `idf` asks for the data of the fit before.

        For each level of a tree: the labels of the samples that are clustered times `n_projections`, and the stored
        entries of X times `n_children`.
        """
        with fitted_at_once(self) as new:
            new._fit(X, y, sample_weight, None, label_names, trees)
        return self

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        if reset:
            _check_no_categories(self, X)
        X = _validation.check_X(self, X, reset=reset)
        values = X.data if is_sparse(X) else X
        # A sum is NaN if and only if a value is: all are finite or NaN, and float64 has room for any sum.
        if np.isnan(np.sum(values, dtype=np.float64)):
            raise ValueError(
                f"X contains NaN, which {type(self).__name__} has no place for: the nearest centroid of a row with "
                "missing values is not known; accepted: finite numbers. Impute, or take a random forest, which splits "
                "on missing values"
            )
        return X

    def _forest_config(self, target: Target, weights: Float | None, trees: tuple[int, int]) -> _CentroidForestConfig:
        clustering, center = self._clustering
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        n_projections = self.n_projections
        if self.output_projection is not None and n_projections == _N_PROJECTIONS:
            # The default, of which some families have no more than there are outputs.
            n_projections = min(_N_PROJECTIONS, target.n_columns)
        given = self.output_projection, n_projections
        projection = _projection.to_engine(*given, target, growth, default=n_projections)
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
            # Leaves of labels are lists of rows, smaller than lists of their labels.
            "store_rows": target.kind == "labels",
        }

    def _count_directions(self, target: Target) -> int:
        found = int(count_projections(self.n_projections, target.n_columns))
        if found > 2**16:
            raise ValueError(f"n_projections is {self.n_projections!r}, accepted: up to 65536 directions")
        return found

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        """What each column of predictions counts for in clusters."""
        return None

    def _grow(
        self,
        X: Matrix,
        target: Target,
        row_weights: RowWeights,
        config: _CentroidForestConfig,
        n_threads: int,
        progress: Callable[[int], object] | None,
    ) -> _spinney.CentroidForest:
        return _spinney.fit_centroid_forest(X, target.engine, row_weights, config, n_threads, progress)

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees as forests of one tree each, made when asked for; they share the forest's memory."""
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> Any:
        member = self._twin()
        member._forest = self._forest.only(index)
        member.set_params(n_estimators=1, oob_score=False, keep_rows=False, warm_start=False)
        for name in (*self._oob_attributes, *_kept_rows.ATTRIBUTES):
            member.__dict__.pop(name, None)
        return member

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _check_no_categories(model: BaseCentroidForest, X: Any) -> None:
    """Refuse frames with columns of text or categories, whose distance from a centroid means nothing."""
    columns = _categories.by_value(X)
    if columns:
        raise ValueError(
            f"X has text or categories in feature {columns[0]!r}, which {type(model).__name__} does not split on; "
            "accepted: numbers, such as sklearn.preprocessing.OneHotEncoder makes of categories and "
            "sklearn.feature_extraction.text.CountVectorizer of texts"
        )


class BaseCentroidForestClassifier(BaseCentroidForest, BaseBaggingClassifier):
    """For classes and labels."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }
    _clustering = ("spherical", False)

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        found = _label_weight.of_labels(self, target, weights)
        return None if found is None else found.tolist()


class BaseCentroidForestRegressor(BaseCentroidForest, BaseBaggingRegressor):
    """For numbers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseCentroidForest._parameter_constraints,
        "output_weights": _output_scaling.CONSTRAINTS["output_weights"],
    }
    _clustering = ("euclidean", True)

    def _output_weights(self, target: Target, weights: Float | None) -> list[float] | None:
        return _output_scaling.numbers("output_weights", self.output_weights)


@_documented
class CentroidForestClassifier(BaseCentroidForestClassifier):
    """A forest of trees of nearest centroids for labels or classes of sparse data, such as text.

    Parameters
    ----------
    {n_estimators}
    {n_children}
    {max_leaf_samples}
    {n_projections_of_nodes}
    {output_projection_of_nodes}
    {projection_scope_of_nodes}
    {max_centroid_features}
    {min_centroid_weight}
    {sample_size}
    {n_passes}
    {refine}
    {soft_routing}
    {smoothing}
    {normalize}
    {idf}
    {bootstrap}
    {max_samples}
    {oob_score_of_classifiers}
    {max_depth_of_nodes}
    {label_weight_of_nodes}
    {class_weight}
    {multi_label}
    {keep_rows}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}

    Attributes
    ----------
    {members}
    {classes_}
    {n_classes_}
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {oob_score_}
    {oob_decision_function_}

    See Also
    --------
    spinney.inspection.export_centroids : The heaviest features of the children of a node.
    RandomForestClassifier : For dense data and features of different kinds.

    Notes
    -----
    A model holds the labels of the rows that it was grown on, once for all trees; so does its file.

    A row of X without a feature that centroids have goes to the first child of each node, that of most weight.

    Sources: Prabhu and Varma, FastXML, KDD 2014; Siblini, Kuntz and Meyer, CRAFTML, ICML 2018: trees that cluster
    samples by projected labels, and centroids. Logistic centroids, two paths a row, smoothing and features that are not
    projected are ours.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["a cat sat", "the cat and the dog", "a dog barked", "rain and snow", "snow fell", "it rains, it snows"]
    >>> tags = [["cat"], ["cat", "dog"], ["dog"], ["weather"], ["weather"], ["weather"]]
    >>> names = ["cat", "dog", "weather"]
    >>> Y = np.array([[name in of_text for name in names] for of_text in tags])
    >>> words = CountVectorizer().fit(texts)
    >>> forest = spinney.CentroidForestClassifier(max_leaf_samples=1, random_state=0)
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
        n_projections: Any = 128,
        output_projection: Any = None,
        projection_scope: str = "node",
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
        oob_score: Any = False,
        max_depth: int | None = None,
        label_weight: Any = None,
        class_weight: Any = None,
        multi_label: str | bool = "auto",
        keep_rows: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_children = n_children
        self.max_leaf_samples = max_leaf_samples
        self.n_projections = n_projections
        self.output_projection = output_projection
        self.projection_scope = projection_scope
        self.max_centroid_features = max_centroid_features
        self.min_centroid_weight = min_centroid_weight
        self.sample_size = sample_size
        self.n_passes = n_passes
        self.refine = refine
        self.soft_routing = soft_routing
        self.smoothing = smoothing
        self.normalize = normalize
        self.idf = idf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_depth = max_depth
        self.label_weight = label_weight
        self.class_weight = class_weight
        self.multi_label = multi_label
        self.keep_rows = keep_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start


@_documented
class CentroidForestRegressor(BaseCentroidForestRegressor):
    """A forest of trees of nearest centroids for numbers, one or many at once, of sparse data.

    Parameters
    ----------
    {n_estimators}
    {n_children}
    {max_leaf_samples}
    {n_projections_of_nodes}
    {output_projection_of_nodes}
    {projection_scope_of_nodes}
    {max_centroid_features}
    {min_centroid_weight}
    {sample_size}
    {n_passes}
    {refine}
    {soft_routing}
    {smoothing}
    {normalize}
    {idf}
    {bootstrap}
    {max_samples}
    {oob_score_of_regressors}
    {max_depth_of_nodes}
    {output_weights_of_nodes}
    {keep_rows}
    {n_jobs}
    {random_state}
    {verbose}
    {warm_start}

    Attributes
    ----------
    {members}
    {sizes_of_forests}
    {feature_names_in_}
    {target_names_in_}
    {oob_score_}
    {oob_prediction_}

    See Also
    --------
    CentroidForestClassifier : The same for labels and classes, with the sources.
    RandomForestRegressor : For dense data and features of different kinds, which it nearly always predicts better.

    Notes
    -----
    Samples are clustered by the distance of their outputs, less their mean in the node; numbers of leaves are means.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> from scipy import sparse
    >>> X = sparse.random_array((300, 1000), density=0.02, rng=np.random.default_rng(0), format="csr")
    >>> topics = np.random.default_rng(1).random((1000, 3)) < 0.02
    >>> Y = X @ topics.astype(float)
    >>> forest = spinney.CentroidForestRegressor(random_state=0).fit(X, Y)
    >>> forest.predict(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_children: int = 10,
        max_leaf_samples: int = 10,
        n_projections: Any = 128,
        output_projection: Any = None,
        projection_scope: str = "node",
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
        oob_score: Any = False,
        max_depth: int | None = None,
        output_weights: Any = None,
        keep_rows: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_children = n_children
        self.max_leaf_samples = max_leaf_samples
        self.n_projections = n_projections
        self.output_projection = output_projection
        self.projection_scope = projection_scope
        self.max_centroid_features = max_centroid_features
        self.min_centroid_weight = min_centroid_weight
        self.sample_size = sample_size
        self.n_passes = n_passes
        self.refine = refine
        self.soft_routing = soft_routing
        self.smoothing = smoothing
        self.normalize = normalize
        self.idf = idf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_depth = max_depth
        self.output_weights = output_weights
        self.keep_rows = keep_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
