"""Types of public parameters and results, and scikit-learn's decorators with types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from weald._input import sklearn_private
from weald._input.sparse import MatrixLike as MatrixLike
from weald.projection import Projection

_Method = TypeVar("_Method", bound=Callable[..., Any])

# An array, a sparse array or matrix, or a list of arrays, by the kind of y; a frame where `set_output` asks for one.
# A union would have to be narrowed at each use.
Prediction: TypeAlias = Any
# One of an estimator's class, or of the class of its members.
Estimator: TypeAlias = Any

# Arguments of fits and scores: weights of samples and of the values of y, and names of labels.
SampleWeight: TypeAlias = ArrayLike | None
YWeight: TypeAlias = MatrixLike | None
LabelNames: TypeAlias = ArrayLike | None
RandomState: TypeAlias = int | np.random.RandomState | None
MaxFeatures: TypeAlias = float | Literal["sqrt", "log2", "half"] | None
ClassifierCriterion: TypeAlias = Literal["gini", "entropy", "log_loss", "squared_error"]
RegressorCriterion: TypeAlias = Literal["squared_error", "poisson", "absolute_error"]
ClassWeight: TypeAlias = Mapping[Any, float] | Sequence[Mapping[Any, float]] | Literal["balanced"] | None
ForestClassWeight: TypeAlias = ClassWeight | Literal["balanced_subsample"]
LabelWeight: TypeAlias = Literal["balanced", "propensity"] | ArrayLike | None
MultiLabel: TypeAlias = bool | Literal["auto"]
OutputScaling: TypeAlias = Literal["variance"] | ArrayLike | None
OutputStrategy: TypeAlias = Literal["joint", "single_target"]
OutputProjection: TypeAlias = (
    Literal["gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard", "pca"]
    | Projection
    | Callable[[int, int, int], MatrixLike]
    | MatrixLike
    | None
)
NProjections: TypeAlias = float | Literal["log"]
CategoricalFeatures: TypeAlias = Literal["from_dtype"] | ArrayLike | None
MonotonicCst: TypeAlias = ArrayLike | Mapping[str, int] | None
InteractionCst: TypeAlias = Literal["pairwise", "no_interactions"] | Sequence[Collection[int | str]] | None
# The unit of the scores that `predict_topk` returns.
Scores: TypeAlias = Literal["auto", "probability", "margin"]
OobScore: TypeAlias = bool | Callable[[Any, Any], float]


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """scikit-learn's `_fit_context`, which checks parameters before a fit; methods keep their types."""
    decorate = sklearn_private.fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return cast(Callable[[_Method], _Method], decorate)


class _Available(sklearn_private.AvailableIfDescriptor):  # type: ignore[misc]
    """scikit-learn's descriptor, which treats any error of the check as a missing method; here a `MemoryError` is raised."""

    def _check(self, obj: Any, owner: Any) -> None:
        try:
            super()._check(obj, owner)
        except AttributeError as error:
            if isinstance(error.__cause__, MemoryError):
                raise error.__cause__ from None
            raise


def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """scikit-learn's `available_if`; methods keep their types, and a `MemoryError` of the check is raised."""
    decorate = lambda method: _Available(method, check, attribute_name=method.__name__)  # noqa: E731
    return cast(Callable[[_Method], _Method], decorate)
