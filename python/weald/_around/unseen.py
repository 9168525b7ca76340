"""Predictions of samples by models that were not fitted to them: out of bag, of other folds, or of a model that is given.

Sparse scores of labels are those of any classifier, in blocks of samples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator, KFold, check_cv

from weald._around.base import Fit
from weald._fit.forest import BaseBagging
from weald._fitted.fits import Read, fitted_last, with_folds
from weald._input.checks import Float, check_is_instance, draw_seed, folds_of
from weald._input.elementary import expit
from weald._input.frames import check_same_names
from weald._input.messages import kind_of
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import outputs, ranks
from weald._ranking.outputs import apart, of_labels
from weald._rounds.held_out import Dealt
from weald._rounds.rounds import Progress


def check_scores(estimator: BaseEstimator) -> None:
    """Raise an error for estimators that predict no scores of labels."""
    check_is_instance(estimator)
    final, _ = apart(estimator)
    if not (hasattr(final, "predict_sparse") or hasattr(final, "predict_proba") or hasattr(final, "decision_function")):
        raise TypeError(f"estimator must be a classifier with predict_proba or decision_function, got {kind_of(final)}")


def check_takes_masks(estimator: BaseEstimator, given: Fit) -> None:
    """Raise for unknown values of y that the fit of an estimator does not support."""
    final, _ = apart(estimator)
    if given.y_weight is not None and given.cv != "given" and not getattr(final, "_masks_y", False):
        raise ValueError(
            f"{type(final).__name__} does not support y with masked entries: estimator must be one of weald that does, "
            "or a fitted one in FrozenEstimator"
        )


def check_names(estimator: BaseEstimator, names: NDArray[np.object_] | None) -> None:
    """Raise for an estimator that is not fitted again, whose outputs have other names than those of y."""
    known = getattr(apart(estimator)[0], "target_names_in_", None)
    if isinstance(estimator, FrozenEstimator):
        check_same_names(
            names, known, "y", "outputs must be those of the fit of the frozen estimator, in the same order"
        )


def scores_at_least(estimator: BaseEstimator, X: MatrixLike, floor: float, n_labels: int) -> sparse.csr_array:
    """Scores of labels that are positive and at least `floor`, as CSR in canonical form.

    Scores are probabilities, or 1 / (1 + exp(-s)) for scores s of `decision_function` if there are no probabilities.
    """
    final, before = apart(estimator)
    if before is not None:
        X = before.transform(X)
        return scores_at_least(final, X, floor, n_labels)
    if hasattr(final, "predict_sparse"):
        found = sparse.csr_array(final.predict_sparse(X, min_score=floor))
        outputs.check_values(found.data, outputs.called(final, "predict_sparse"), is_proba=True)
    else:
        parts = [ranks.at_least(_dense_probabilities(final, rows), floor) for rows in ranks.blocks_of(X, n_labels)]
        found = stacked(parts)
    if found.shape[1] != n_labels:
        raise ValueError(
            f"estimator must predict scores of {n_labels} labels, the number of columns of y, got scores of "
            f"{found.shape[1]} labels"
        )
    found.sort_indices()
    return found


def _dense_probabilities(estimator: BaseEstimator, X: MatrixLike) -> Float:
    if hasattr(estimator, "predict_proba"):
        return of_labels(estimator, "predict_proba", X)
    return expit(of_labels(estimator, "decision_function", X))


def fit_out_of_bag(final: Any, given: Fit, floor: float) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Fit to labels; return out-of-bag scores of at least `floor`, and by how many models each sample has such scores."""
    scores, n_models = final._fit_out_of_bag(given, floor)
    return sparse.csr_array(scores), n_models


def out_of_bag(estimator: BaseEstimator, given: Fit, floor: float) -> tuple[Any, sparse.csr_array, NDArray[np.bool_]]:
    """A fitted clone, out-of-bag scores of at least `floor` as CSR, and a mask of the samples with such scores."""
    model, (scores, n_models) = fitted_last(estimator, given, partial(fit_out_of_bag, floor=floor))
    return model, scores, n_models > 0


def without_out_of_bag(estimator: BaseEstimator, n_labels: int) -> str | None:
    """What an estimator lacks to have out-of-bag scores of labels, as the object of "requires"; None if it has them.

    A mean of several estimators says it by a method `_without_out_of_bag`.
    """
    final, _ = apart(estimator)
    if isinstance(estimator, FrozenEstimator):
        return f"an estimator that is fitted here, but {type(final).__name__} is frozen"
    if hasattr(final, "_without_out_of_bag"):
        found: str | None = final._without_out_of_bag(n_labels)
        return found
    if not isinstance(final, BaseBagging):
        return f"a forest of weald with bootstrap=True or a LinearClassifier, got {type(final).__name__}"
    if not final.bootstrap:
        return f"bootstrap=True, but {type(final).__name__} has bootstrap=False, so that every tree was grown on all samples"
    return None


def check_cv_of(
    around: Any, n_samples: int, weights: Float | None, refused: str | None
) -> BaseCrossValidator | Dealt | str:
    """The folds of samples, or "oob" unless that is refused, or "given" for frozen estimators."""
    cv, estimator = around.cv, around._given()
    if isinstance(estimator, FrozenEstimator):
        return "given"
    if cv is None:
        cv = "oob" if refused is None and not _leaves_few_out(estimator, weights) else 5
    if isinstance(cv, str):
        if cv != "oob":
            raise ValueError(
                f"cv must be 'oob', an integer of at least 2, a cross-validation generator, or None, got {cv!r}"
            )
        if refused is not None:
            raise ValueError(f"cv='oob' requires {refused}; use cv=int")
        return cv
    cv = folds_of(cv, n_samples, "'oob', an integer of at least 2, a cross-validation generator, or None")
    return Dealt(cv, draw_seed(around.random_state)) if isinstance(cv, int) else check_cv(cv)


def _leaves_few_out(estimator: BaseEstimator, weights: Float | None) -> bool:
    """Whether bootstraps, to which whole weights are numbers of copies, leave a sample out less often than once in ten."""
    if weights is None or not getattr(apart(estimator)[0], "bootstrap", False):
        return False
    if np.any(weights != np.floor(weights)) or not np.any(weights):
        return False
    shares = weights / weights.max()
    return bool(np.average(np.exp(-weights), weights=shares) < 0.1 and weights.max() * shares.mean() <= 64)


def _check_groups(groups: object, cv: object) -> None:
    """Raise for groups that would not be kept together; `cv` is the result of `check_cv_of`."""
    if groups is None or not isinstance(cv, str | Dealt | KFold):
        return
    given = {"oob": "out-of-bag predictions", "given": "a frozen estimator"}
    came = given[cv] if isinstance(cv, str) else f"cv={cv.n_splits if isinstance(cv, Dealt) else cv!r}"
    raise ValueError(
        f"groups require a cv that keeps them together, such as sklearn.model_selection.GroupKFold(), got {came}"
    )


def _folds(cv: Any, given: Fit) -> list[Any]:
    """The training and test samples of each fold. Folds that are stratified by labels are told y and its mask."""
    if isinstance(cv, Dealt):
        return cv.of(given.X, given.target, given.sample_weight)
    n, by_labels = given.y.shape[0], "y_weight" in inspect.signature(cv.split).parameters
    told: dict[str, Any] = {"y": given.y, "y_weight": given.y_weight} if by_labels else {"y": np.zeros(n)}
    if given.groups is not None:
        told["groups"] = given.groups
    return list(cv.split(np.zeros((n, 1)), **told))


def unseen(
    around: Any,
    given: Fit,
    read: Read,
    joined: Callable[[list[Any], Any], Any],
    read_out_of_bag: Callable[[Any, Any], Any],
) -> tuple[Any, Any, NDArray[np.bool_]]:
    """A fitted model, predictions of samples by models that were not fitted to them, and a mask of samples with some.

    `given` is what checks have made of the arguments. `joined` makes one table
    of what `read` returns for blocks of samples; it is told the model that was fitted to all samples. `read_out_of_bag` fits
    the last step of a pipeline, and returns predictions and for how many trees each sample was unseen.
    """
    cv = given.cv
    _check_groups(given.groups, cv)
    estimator, n = around._given(), given.y.shape[0]
    if isinstance(cv, str) and cv == "given":
        return estimator, joined(given.fits.read(estimator, given.X, read), estimator), np.ones(n, dtype=np.bool_)
    parts = [] if isinstance(cv, str) else _folds(cv, given)
    with Progress(type(around).__name__, "fit", len(parts) + 1, around.verbose) as progress:
        if isinstance(cv, str):
            model, (found, n_trees) = fitted_last(estimator, given, read_out_of_bag)
            progress(1)
            return model, found, n_trees > 0
        model, blocks, order = with_folds(estimator, given, parts, read, progress)
    at = np.full(n, len(order))
    at[order] = np.arange(len(order))
    return model, _in_order(joined(blocks, model), at), at < len(order)


def _in_order(found: Any, at: NDArray[np.intp]) -> Any:
    """The rows at these places. Beyond the last one is a row of nothing: of zeros if they are sparse, and of NaN if dense."""
    if is_sparse(found):
        return sparse.csr_array(sparse.vstack([found, sparse.csr_array((1, found.shape[1]))], format="csr"))[at]
    return np.concatenate([found, np.full((1, *found.shape[1:]), np.nan)])[at]


def stacked(blocks: list[Any], _: Any = None) -> sparse.csr_array:
    """Blocks of sparse scores as one."""
    return blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.vstack(blocks, format="csr"))
