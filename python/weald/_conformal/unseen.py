"""Predictions of samples by models that were not fitted to them: out of bag, of other folds, or of a model that is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._fitted.fits import Fits, Read, fitted_last, with_folds
from weald._input.checks import Float
from weald._input.targets import Target
from weald._labels import label_scores
from weald._parameters.types import MatrixLike
from weald._rounds.progress import Progress


def unseen(
    fits: Fits,
    estimator: BaseEstimator,
    X: MatrixLike,
    y: Any,
    weights: Any,
    target: Target,
    cv: object,
    groups: object,
    read: Read,
    aligned: Callable[[Any, Any], Float],
    read_out_of_bag: Callable[[Any, Any, Any], tuple[Float, NDArray[np.uint32]]],
    name: str,
    verbose: int,
) -> tuple[Any, Float, NDArray[np.bool_]]:
    """A fitted model, predictions of samples by models that were not fitted to them, and a mask of samples with some.

    `aligned` makes predictions for samples along the first axis of what `read` returns; it is told the model that was
    fitted to all samples. `read_out_of_bag` predicts by a forest, its checked samples and its configuration. `cv` is the
    result of `label_scores.check_cv_of`. The fits are reported as those of `name`.
    """
    label_scores.check_groups(groups, cv)
    mask = target.mask
    if isinstance(cv, str) and cv == "given":
        blocks = [aligned(block, estimator) for block in fits.read(estimator, X, read)]
        found = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return estimator, found, np.ones(len(found), dtype=np.bool_)
    parts = [] if isinstance(cv, str) else label_scores.folds(cv, X, target, weights, y, groups)
    with Progress(name, "fit", len(parts) + 1, verbose) as progress:
        if isinstance(cv, str):
            fit = lambda forest, rows: forest._fit_and_read(rows, y, weights, mask, read_out_of_bag, fits)  # noqa: E731
            model, (found, n_trees) = fitted_last(estimator, X, y, fit)
            progress(1)
            return model, found, n_trees > 0
        model, of_folds, order = with_folds(fits, estimator, X, y, weights, mask, parts, read, progress)
    found_by_fold = [aligned(fold, model) for fold in of_folds]
    found = np.full((y.shape[0], *found_by_fold[0].shape[1:]), np.nan)
    found[order] = np.concatenate(found_by_fold)
    known = np.zeros(len(found), dtype=np.bool_)
    known[order] = True
    return model, found, known
