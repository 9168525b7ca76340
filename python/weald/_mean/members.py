"""The members of a `Mean`: estimators of weald and of others, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from weald._fit.base import BaseModel
from weald._fitted.around import is_meta_estimator
from weald._input.checks import Float
from weald._input.described import kind_of
from weald._input.sparse import is_sparse
from weald._ranking.pipelines import apart

_DROP = "drop"


def is_own(final: object) -> bool:
    """Whether this is an estimator of weald, which knows labels, sparse y and weights of zero."""
    return isinstance(final, BaseModel) or is_meta_estimator(final)


def is_dropped(estimator: object) -> bool:
    return isinstance(estimator, str) and estimator == _DROP


@contextmanager
def of_member(name: str) -> Iterator[None]:
    """Errors get a note with the name of the estimator."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the fit of the estimator {name!r}")
        raise


def check_takes_weights(name: str, estimator: BaseEstimator) -> None:
    final = apart(estimator)[0]
    if not has_fit_parameter(final, "sample_weight"):
        raise TypeError(
            f"sample_weight must be None: {kind_of(final)} as {name!r} in estimators does not support sample weights"
        )


def mean_of(parts: list[Any], weights: Float) -> Any:
    """The weighted mean. It is sparse if all parts are, with the same values.

    Sums of weights and of weighted values are rounded in the same order, so that the mean is at most the largest value if that
    is a probability of 1, and values are unchanged if there is one part.
    """
    are_sparse = all(map(is_sparse, parts))
    total: Any = None
    for part, weight in zip(parts, weights.tolist(), strict=True):
        term = part.toarray() if is_sparse(part) and not are_sparse else part
        term = term * weight
        total = term if total is None else total + term
    divisor = 0.0
    for weight in weights.tolist():
        divisor += weight
    mean = total / divisor
    if are_sparse:
        mean = (sparse.csr_array if isinstance(parts[0], sparse.sparray) else sparse.csr_matrix)(mean)
        mean.eliminate_zeros()
    return mean
