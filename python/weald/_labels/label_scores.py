"""Sparse scores of labels, of any classifier, for samples that it was not fitted on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator, KFold, check_cv
from sklearn.pipeline import Pipeline

from weald._fit.bagging import BaseBagging
from weald._input.checks import Float, Matrix, folds_of
from weald._input.elementary import expit
from weald._input.sklearn_private import num_samples, safe_indexing
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking import best
from weald._ranking.pipelines import apart
from weald._ranking.scorers import dense_scores
from weald._rounds.progress import Progress


def blocks_of(X: Matrix, width: int) -> Iterator[Any]:
    """Blocks of samples with about 2**23 scores."""
    n_rows, n = max(1, best.BLOCK_SCORES // max(1, width)), num_samples(X)
    if is_sparse(X) and n > n_rows:
        X = X.tocsr()
    for start in range(0, max(1, n), n_rows):
        yield X if n <= n_rows else safe_indexing(X, slice(start, min(start + n_rows, n)))


def check_scores(estimator: BaseEstimator) -> None:
    """Raise an error for estimators that predict no scores of labels."""
    final, _ = apart(estimator)
    if not (hasattr(final, "predict_sparse") or hasattr(final, "predict_proba") or hasattr(final, "decision_function")):
        raise TypeError(
            f"estimator must be a classifier with predict_proba or decision_function, got {type(final).__name__}"
        )


def check_takes_masks(estimator: BaseEstimator, mask: object, cv: object) -> None:
    """Raise for unknown values of y that the fit of an estimator does not support; `cv` is that of `check_cv_of`."""
    final, _ = apart(estimator)
    if mask is not None and cv != "given" and not getattr(final, "_masks_y", False):
        raise ValueError(
            f"{type(final).__name__} does not support y with masked entries: estimator must be one of weald that does, "
            "or a fitted one in FrozenEstimator"
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
    else:
        parts = [best.at_least(_dense_probabilities(final, rows), floor) for rows in blocks_of(X, n_labels)]
        found = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))
    if found.shape[1] != n_labels:
        raise ValueError(
            f"estimator must predict scores of {n_labels} labels, the number of columns of y, got scores of "
            f"{found.shape[1]} labels"
        )
    found.sort_indices()
    return found


def _dense_probabilities(estimator: BaseEstimator, X: MatrixLike) -> Float:
    if hasattr(estimator, "predict_proba"):
        return dense_scores(estimator, X, "predict_proba")
    return expit(dense_scores(estimator, X, "decision_function"))


def fitted(
    estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, weights: object, mask: object = None
) -> BaseEstimator:
    """A fitted clone. Sample weights and the mask of y are only passed to `fit` if they are not None."""
    model = clone(estimator)
    told = {"sample_weight": weights, "y_mask": mask}
    step = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return model.fit(X, y, **{f"{step}{name}": value for name, value in told.items() if value is not None})


def as_chosen(estimator: BaseEstimator, model: BaseEstimator) -> BaseEstimator:
    """An estimator with the parameters that `model`, its fit to all samples, has chosen, if it says so."""
    chosen = getattr(apart(model)[0], "_chosen_parameters", None)
    if chosen is None:
        return estimator
    found = clone(estimator)
    apart(found)[0].set_params(**chosen())
    return found


def of_folds(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    weights: Any,
    parts: list[Any],
    mask: Any,
    read: Callable[[Any, Any], Any],
    progress: Progress,
) -> tuple[list[Any], NDArray[np.intp]]:
    """What `read` makes of a clone fitted to the other folds and of the X of each fold, and the samples in this order."""
    if is_sparse(X):
        X = X.tocsr()
    elif not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    found, rows = [], []
    for train, test in parts:
        w, gaps = (None if part is None else part[train] for part in (weights, mask))
        model = fitted(estimator, safe_indexing(X, train), y[train], w, gaps)
        found.append(read(model, safe_indexing(X, test)))
        rows.append(test)
        progress(1 + len(rows))
    order = np.concatenate(rows)
    if len(np.unique(order)) < len(order):
        raise ValueError("cv must have disjoint test folds, got a sample that is in more than one")
    return found, order


def cross_validated(
    estimator: BaseEstimator,
    X: Any,
    y: sparse.csr_array,
    weights: Any,
    parts: list[Any],
    floor: float,
    mask: Any,
    progress: Progress,
) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Scores of each sample by a clone that was fitted on other folds, and a mask of the samples with scores."""
    n, d = y.shape
    read = lambda model, rows: scores_at_least(model, rows, floor, d)  # noqa: E731
    found, order = of_folds(estimator, X, y, weights, parts, mask, read, progress)
    known = np.zeros(n, dtype=np.bool_)
    known[order] = True
    stacked = sparse.csr_array(sparse.vstack([*found, sparse.csr_array((1, d))], format="csr"))
    at = np.full(n, len(order))
    at[order] = np.arange(len(order))
    return stacked[at], known


def fitted_out_of_bag(
    estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, read: Callable[[Any, MatrixLike], Any]
) -> tuple[Any, Any]:
    """A clone of a forest, or of a pipeline that ends with one, and what `read` returns, which fits the forest to X."""
    model = clone(estimator)
    final, before = apart(model)
    # What the decorator of `fit` does.
    final._validate_params()
    if before is not None:
        X = before.fit_transform(X, y)
    found = read(final, X)
    if before is not None:
        model = Pipeline([*before.steps, (model.steps[-1][0], final)], memory=model.memory, verbose=model.verbose)
    return model, found


def out_of_bag(
    estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, weights: object, floor: float, mask: object
) -> tuple[Any, sparse.csr_array, NDArray[np.bool_]]:
    """A fitted clone, out-of-bag scores of at least `floor` as CSR, and a mask of the samples with such scores."""
    fit = lambda forest, rows: forest._fit_out_of_bag(rows, y, weights, floor, mask)  # noqa: E731
    model, (scores, n_trees) = fitted_out_of_bag(estimator, X, y, fit)
    return model, sparse.csr_array(scores), n_trees > 0


def without_out_of_bag(estimator: BaseEstimator) -> str | None:
    """What an estimator lacks to have out-of-bag scores of labels, as the object of "requires"; None if it has them.

    A mean of several estimators says it by a method `_without_out_of_bag`.
    """
    final, _ = apart(estimator)
    if isinstance(estimator, FrozenEstimator):
        return f"an estimator that is fitted here, but {type(final).__name__} is frozen"
    if hasattr(final, "_without_out_of_bag"):
        found: str | None = final._without_out_of_bag()
        return found
    if not isinstance(final, BaseBagging):
        return f"a forest of weald with bootstrap=True or a LinearClassifier, got {type(final).__name__}"
    if not final.bootstrap:
        return f"bootstrap=True, but {type(final).__name__} has bootstrap=False, so that every tree was grown on all samples"
    return None


def check_cv_of(cv: object, estimator: BaseEstimator, random_state: object) -> BaseCrossValidator:
    """The folds, or "oob", or "given" for frozen estimators."""
    if isinstance(estimator, FrozenEstimator):
        return "given"
    refused = without_out_of_bag(estimator)
    if cv is None:
        cv = "oob" if refused is None else 5
    if isinstance(cv, str):
        if cv != "oob":
            raise ValueError(
                f"cv must be 'oob', an integer of at least 2, a cross-validation generator, or None, got {cv!r}"
            )
        if refused is not None:
            raise ValueError(f"cv='oob' requires {refused}; use cv=int")
        return cv
    cv = folds_of(cv, None, "'oob', an integer of at least 2, a cross-validation generator, or None")
    return KFold(cv, shuffle=True, random_state=random_state) if isinstance(cv, int) else check_cv(cv)


def check_groups(groups: object, cv: object) -> None:
    """Raise for groups that would not be kept together; `cv` is the result of `check_cv_of`."""
    if groups is None or not isinstance(cv, str | KFold):
        return
    given = {"oob": "out-of-bag predictions", "given": "a frozen estimator"}
    came = given[cv] if isinstance(cv, str) else f"cv={cv!r}"
    raise ValueError(
        f"groups require a cv that keeps them together, such as sklearn.model_selection.GroupKFold(), got {came}"
    )


def folds(cv: Any, y: Any, mask: object, groups: object = None) -> list[Any]:
    """The training and test samples of each fold. Folds that are stratified by labels are told y and its mask."""
    n = y.shape[0]
    by_labels = "y_mask" in inspect.signature(cv.split).parameters
    told: dict[str, Any] = {"y": y, "y_mask": mask} if by_labels else {"y": np.zeros(n)}
    if groups is not None:
        told["groups"] = groups
    return list(cv.split(np.zeros((n, 1)), **told))


def unseen_scores(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: sparse.csr_array,
    weights: object,
    cv: object,
    floor: float,
    mask: object,
    name: str,
    verbose: int,
    groups: object = None,
) -> tuple[Any, sparse.csr_array, NDArray[np.bool_]]:
    """A fitted model, scores of samples by models that were not fitted on them, and a mask of the samples with scores.

    `cv` is the result of `check_cv_of`, and `mask` are the unknown entries of y. The fits are reported as those of
    `name`.
    """
    check_groups(groups, cv)
    if isinstance(cv, str) and cv == "given":
        return estimator, scores_at_least(estimator, X, floor, y.shape[1]), np.ones(y.shape[0], dtype=np.bool_)
    parts = [] if isinstance(cv, str) else folds(cv, y, mask, groups)
    n_fits = len(parts) + 1
    with Progress(name, "fit", n_fits, verbose) as progress:
        if isinstance(cv, str):
            model, scores, known = out_of_bag(estimator, X, y, weights, floor, mask)
            progress(1)
        else:
            model = fitted(estimator, X, y, weights, mask)
            progress(1)
            like = as_chosen(estimator, model)
            scores, known = cross_validated(like, X, y, weights, parts, floor, mask, progress)
    return model, scores, known
