"""Permutation importance without making sparse data dense."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.inspection import permutation_importance as of_dense
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_array, check_random_state

from weald._input.checks import (
    Matrix,
    canonical,
    check_has_fit,
    check_jobs,
    check_names_of_scorers,
    check_real,
    generator,
    integer,
    named,
)
from weald._input.messages import described
from weald._input.sparse import is_sparse
from weald._input.targets import check_array_of_y, with_gaps
from weald._parameters.types import MatrixLike, RandomState

__all__ = ["permutation_importance"]


def permutation_importance(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    *,
    scoring: str | Callable[..., float] | Collection[str] | Mapping[str, Callable[..., float]] | None = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    sample_weight: ArrayLike | None = None,
    y_weight: MatrixLike | None = None,
) -> Bunch | dict[str, Bunch]:
    """Compute permutation importances of features, without making sparse X dense.

    The importance of a feature is the decrease of the score when its values are randomly permuted among samples
    (Fisher, Rudin and Dominici, JMLR 2019, after Breiman 2001). This is `sklearn.inspection.permutation_importance`,
    extended to sparse X, with the same result; features without stored entries are not scored. The cost is that of
    `n_repeats` scores, and a copy of the stored entries, for each other feature.

    >>> import weald, numpy as np
    >>> X = np.random.default_rng(0).random((200, 6))
    >>> forest = weald.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, X[:, 2])
    >>> int(weald.inspection.permutation_importance(forest, X, X[:, 2], random_state=0).importances_mean.argmax())
    2

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of weald, or any other estimator that supports X.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples. Anything that is not a sparse matrix is passed to the function of scikit-learn.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets, in any form that the scorer supports.
    scoring : str, callable, list, tuple, set, dict or None, default=None
        One or several scorers, as in `sklearn.metrics.check_scoring`. If None, `estimator.score` is used.
    n_repeats : int, default=5
        Number of times that each feature is permuted.
    n_jobs : int or None, default=None
        Number of threads, each of which scores one feature at a time. Each thread needs memory for a copy of X.
    random_state : int, RandomState instance or None, default=None
        Controls the permutations.
    sample_weight, y_weight : as in the scorer, or None, default=None
        Sample weights, and unknown values of several columns of y, for which the scorer gets NaN.

    Returns
    -------
    Bunch or dict of Bunch
        `importances`, a float64 ndarray of shape (n_features, n_repeats), and its `importances_mean` and
        `importances_std` of shape (n_features,). With several scorers, a dict of them.
    """
    n_repeats = integer("n_repeats", n_repeats, 1, sys.maxsize)
    if n_jobs is not None:
        # More jobs than processors would be idle.
        most = os.cpu_count() or 1
        n_jobs = max(-most, min(integer("n_jobs", n_jobs, -sys.maxsize, also=" or None"), most))
    check_has_fit(estimator)
    check_jobs(n_jobs)
    check_names_of_scorers(scoring)
    if sample_weight is not None:
        check_real(sample_weight, "sample_weight")
    check_array_of_y(y, "y")
    y = with_gaps(y, y_weight)
    if isinstance(scoring, Mapping) and not (scoring and all(map(callable, scoring.values()))):
        raise ValueError(f"scoring must have callables as values, got {described(scoring)}")
    if not is_sparse(X):
        if not hasattr(X, "iloc"):
            with named("X"):
                X = check_array(X, ensure_all_finite="allow-nan", dtype=None)
        # The decorator of scikit-learn's function refuses sparse y.
        function = inspect.unwrap(of_dense) if is_sparse(y) else of_dense
        options: dict[str, Any] = {"scoring": scoring, "n_repeats": n_repeats, "n_jobs": n_jobs}
        found: Bunch = function(estimator, X, y, random_state=random_state, sample_weight=sample_weight, **options)
        return found
    matrix: Matrix = X
    if matrix.shape[0] == 0:
        raise ValueError("X must have at least one sample, got none")
    columns = sparse.csc_array(canonical(X, "X"))
    columns.sum_duplicates()
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with named("scoring"):
        scorer = check_scoring(estimator, scoring=scoring)
    # As in scikit-learn, there is one seed for all features.
    seed = generator(random_state).randint(np.iinfo(np.int32).max + 1)
    baseline = scorer(estimator, X, y, **weights)

    def shuffled(j: int) -> list[Any]:
        return [scorer(estimator, of_repeat, y, **weights) for of_repeat in _shuffled(columns, j, seed, n_repeats)]

    with_entries = np.flatnonzero(np.diff(columns.indptr)).tolist()
    scores = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(shuffled)(j) for j in with_entries)
    if isinstance(baseline, dict):
        names = list(baseline)
        parts = {name: [[score[name] for score in of_feature] for of_feature in scores] for name in names}
        return {name: _bunch(columns, with_entries, baseline[name], parts[name], n_repeats) for name in names}
    return _bunch(columns, with_entries, baseline, scores, n_repeats)


def _shuffled(columns: sparse.csc_array, j: int, seed: int, n_repeats: int) -> Matrix:
    """The matrix with the entries of column j permuted, for each repeat.

    Each repeat permutes the result of the one before, as in scikit-learn.
    """
    rng = check_random_state(seed)
    own = slice(columns.indptr[j], columns.indptr[j + 1])
    rows, values = columns.indices[own], columns.data[own]
    taken = np.arange(columns.shape[0])
    place = np.empty_like(taken)
    for _ in range(n_repeats):
        rng.shuffle(taken)
        # Sample i gets the value of sample taken[i].
        place[taken] = np.arange(len(taken))
        rows = place[rows].astype(rows.dtype)
        order = np.argsort(rows)
        rows, values = rows[order], values[order]
        indices, data = columns.indices.copy(), columns.data.copy()
        indices[own], data[own] = rows, values
        yield sparse.csc_array((data, indices, columns.indptr), shape=columns.shape)


def _bunch(
    columns: sparse.csc_array, with_entries: list[int], baseline: float, scores: list[Any], n_repeats: int
) -> Bunch:
    importances: NDArray[np.float64] = np.zeros((columns.shape[1], n_repeats))
    if with_entries:
        importances[with_entries] = baseline - np.array(scores, dtype=np.float64)
    return Bunch(
        importances_mean=importances.mean(axis=1), importances_std=importances.std(axis=1), importances=importances
    )
