"""Single decision trees and extremely randomized trees, for classes, labels and numerical outputs."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import sklearn.tree
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from weald._docs.compose import documented, documented_by
from weald._docs.estimators import CLASSIFIERS, REGRESSORS, TREE_CLASSIFIERS, TREE_REGRESSORS, TREES
from weald._fit.base import keep
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.tree import BaseTree
from weald._parameters import label_weight as _label_weight
from weald._parameters import output_scaling as _output_scaling
from weald._parameters.projections import CLASSIFIER_CRITERIA, REGRESSOR_CRITERIA
from weald._parameters.types import (
    CategoricalFeatures,
    ClassifierCriterion,
    ClassWeight,
    InteractionCst,
    LabelWeight,
    MatrixLike,
    MaxFeatures,
    MonotonicCst,
    MultiLabel,
    NProjections,
    OutputProjection,
    OutputScaling,
    Prediction,
    RandomState,
    RegressorCriterion,
)


@documented_by(TREES, CLASSIFIERS, TREE_CLASSIFIERS)
class DecisionTreeClassifier(BaseTree, BaseClassifier):
    """A decision tree classifier for classes and labels.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    X is compared in float32: values that are equal in float32 are equal for the tree. The tree does not depend on the
    layout of X. It depends on the order of the samples only in the choice between splits that are equally good.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = weald.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> float(tree.score(X, y))
    0.96

    For labels, y is a dense or sparse matrix of 0 and 1:

    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> weald.DecisionTreeClassifier(random_state=0).fit(X, Y).predict(X).toarray()
    array([[1, 0, 0],
           [1, 0, 1],
           [0, 1, 1],
           [0, 1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_label_weight.CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **BaseClassifier._parameter_constraints,
    }

    class_weight: ClassWeight
    label_weight: LabelWeight

    def __init__(
        self,
        *,
        criterion: ClassifierCriterion = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())

    @documented
    def predict_proba(self, X: MatrixLike, *, check_input: bool = True) -> Prediction:
        """Predict probabilities: the weighted frequencies of the classes or labels in the leaf.

        Parameters
        ----------
        {X_as_in_predict}
        {check_input}

        Returns
        -------
        {probabilities}
        """
        return super().predict_proba(X)


@documented_by(TREES, REGRESSORS, TREE_REGRESSORS)
class DecisionTreeRegressor(BaseTree, BaseRegressor):
    """A decision tree regressor for one or several numerical outputs.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.arange(6).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] < 3, X[:, 0] ** 2])
    >>> weald.DecisionTreeRegressor(max_depth=1).fit(X, Y).predict([[0], [5]])
    array([[ 0.75,  3.5 ],
           [ 0.  , 20.5 ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_output_scaling.CONSTRAINTS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    def __init__(
        self,
        *,
        criterion: RegressorCriterion = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())


@documented_by(TREES, CLASSIFIERS, TREE_CLASSIFIERS)
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomized tree classifier for classes and labels.

    It is a `DecisionTreeClassifier` with other defaults: each node draws features at random, and one random threshold
    for each of them. It is meant for ensembles: see `ExtraTreesClassifier`.

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
    >>> float(weald.ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y))
    1.0
    """

    def __init__(
        self,
        *,
        criterion: ClassifierCriterion = "gini",
        splitter: Literal["best", "random"] = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        label_weight: LabelWeight = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())


@documented_by(TREES, REGRESSORS, TREE_REGRESSORS)
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomized tree regressor for one or several numerical outputs.

    It is a `DecisionTreeRegressor` with other defaults: each node draws features at random, and one random threshold
    for each of them. It is meant for ensembles: see `ExtraTreesRegressor`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import weald
    >>> tree = weald.ExtraTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> tree.predict([[2.0]])
    array([4.])
    """

    def __init__(
        self,
        *,
        criterion: RegressorCriterion = "squared_error",
        splitter: Literal["best", "random"] = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: MonotonicCst = None,
        output_projection: OutputProjection = None,
        n_projections: NProjections = "log",
        categorical_features: CategoricalFeatures = "from_dtype",
        interaction_cst: InteractionCst = None,
        output_scaling: OutputScaling = None,
        output_weights: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())


# `export_text`, `plot_tree` and similar functions of scikit-learn accept only instances of these two classes, and then
# read only `tree_`. These are abstract base classes, so our classes can be registered with them: `isinstance` is then
# true, and nothing is inherited. `partial_dependence`, which also checks the class, calls
# `_compute_partial_dependence_recursion`.
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
