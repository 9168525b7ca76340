"""Random forests and extra-trees, for classes, labels and numerical outputs."""

from __future__ import annotations

from typing import Literal

import sklearn.ensemble
from numpy.typing import ArrayLike

from weald._docs.compose import documented_by
from weald._docs.estimators import (
    CLASSIFIERS,
    FOREST_CLASSIFIERS,
    FOREST_REGRESSORS,
    FORESTS,
    REGRESSORS,
    TREES,
    members,
    share_of_words,
)
from weald._fit.base import keep
from weald._fit.forest import BaseForestClassifier, BaseForestRegressor
from weald._parameters.types import (
    CategoricalFeatures,
    ClassifierCriterion,
    ForestClassWeight,
    InteractionCst,
    LabelWeight,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    NProjections,
    OobScore,
    OutputProjection,
    OutputScaling,
    RandomState,
    RegressorCriterion,
)
from weald.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@documented_by(
    TREES,
    CLASSIFIERS,
    FORESTS,
    FOREST_CLASSIFIERS,
    members("DecisionTreeClassifier"),
    share_of_words("all five", "up to 3.2"),
)
class RandomForestClassifier(BaseForestClassifier):
    """A random forest classifier for classes and labels.

    Each tree is grown on a bootstrap sample, and each node draws features at random.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.9
    True

    Labels with sparse X and sparse y; the two most probable labels of each sample:

    >>> from scipy import sparse
    >>> X = sparse.random_array((100, 1000), density=0.01, random_state=0, format="csr")
    >>> Y = sparse.random_array((100, 50), density=0.05, random_state=0).astype(bool)
    >>> forest = weald.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> forest.predict_proba(X).shape
    (100, 50)
    >>> labels, scores = forest.predict_topk(X, k=2)
    >>> labels.shape
    (100, 2)
    """

    _member_class = DecisionTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassifierCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
        multi_label: MultiLabel = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        label_weight: LabelWeight = None,
    ) -> None:
        keep(self, locals())


@documented_by(TREES, REGRESSORS, FORESTS, FOREST_REGRESSORS, members("DecisionTreeRegressor"))
class RandomForestRegressor(BaseForestRegressor):
    """A random forest regressor for one or several numerical outputs.

    Each tree is grown on a bootstrap sample; by default, each node considers all features.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import weald
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> forest = weald.RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.7
    True
    """

    _member_class = DecisionTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressorCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
    ) -> None:
        keep(self, locals())


@documented_by(
    TREES,
    CLASSIFIERS,
    FORESTS,
    FOREST_CLASSIFIERS,
    members("ExtraTreeClassifier"),
    share_of_words("four of five", "1.5 to 3.3"),
)
class ExtraTreesClassifier(BaseForestClassifier):
    """An extra-trees classifier for classes and labels: a forest of extremely randomized trees.

    Each node draws features at random, and one random threshold for each of them.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(weald.ExtraTreesClassifier(random_state=0), X, y).mean() > 0.9)
    True
    """

    _member_class = ExtraTreeClassifier
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassifierCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
        multi_label: MultiLabel = "auto",
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        label_weight: LabelWeight = None,
    ) -> None:
        keep(self, locals())


@documented_by(TREES, REGRESSORS, FORESTS, FOREST_REGRESSORS, members("ExtraTreeRegressor"))
class ExtraTreesRegressor(BaseForestRegressor):
    """An extra-trees regressor for one or several numerical outputs: a forest of extremely randomized trees.

    Each node draws one random threshold for each feature that it considers, by default for all features.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> import weald
    >>> X, y = make_friedman1(n_samples=300, random_state=0)
    >>> trees = weald.ExtraTreesRegressor(random_state=0).fit(X[:200], y[:200])
    >>> trees.score(X[200:], y[200:]) > 0.7
    True
    """

    _member_class = ExtraTreeRegressor
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressorCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        max_samples: float | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        projection_scope: Literal["tree", "forest"] = "tree",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        keep_rows: bool = False,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
    ) -> None:
        keep(self, locals())


# `sklearn.inspection.partial_dependence` uses the method "recursion" for instances of this class, and then calls
# `_compute_partial_dependence_recursion`. It is the only place of scikit-learn that checks for the class, which is an
# abstract base class, so ours can be registered: nothing is inherited. The recursion is valid for every forest that
# averages regression trees.
sklearn.ensemble.RandomForestRegressor.register(BaseForestRegressor)
