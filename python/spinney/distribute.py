"""Work on many processes or machines, by any executor of `concurrent.futures`.

`fit` grows the trees of a forest in parts, `predict_topk` predicts blocks of rows, `cross_validate` fits and scores
settings on folds. An executor is any object with a method `submit` that returns `concurrent.futures.Future`:
`ProcessPoolExecutor`, `distributed.Client(...).get_executor()` of Dask, `mpi4py.futures.MPIPoolExecutor`. Results are
those of one machine, byte for byte, whatever the number of workers and the order in which they end.

Data are sent with each task, so once to each worker where there are as many tasks as workers; by Dask, once to each
worker in any case, and so by any executor with a method `scatter(data)`, whose result stands for the data among the
arguments of tasks: `ray.put` is one. Tasks that are lost with their worker run again. There is no code for clusters
here: workers are started, found and watched by the executor.

`fit_part` is for samples that do not fit one machine: each worker has some of them and calls it, and all get the
boosting model of one machine with all samples. It needs no executor, but an all-reduce, such as MPI's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from spinney import _parts, model_selection
from spinney._bagging import BaseBagging
from spinney._dask_samples import fit_samples
from spinney._samples_apart import fit_part
from spinney._sparse import is_sparse
from spinney._topk import topk

__all__ = ["cross_validate", "fit", "fit_part", "fit_samples", "predict_topk"]

# Errors of data and parameters: the same again on any worker.
_LASTING = (ValueError, TypeError, NotImplementedError, AttributeError)


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    executor: Any,
    *,
    n_parts: int | None = None,
    sample_weight: Any = None,
    timeout: float | None = None,
    max_retries: int = 2,
    **fit_params: Any,
) -> Any:
    """Fit a forest whose trees are grown by the workers of an executor.

    Parameters
    ----------
    estimator : estimator
        A random forest, extra-trees or centroid forest, whose `random_state` is an integer. `n_jobs` is the number of
        threads of each worker.
    X, y, sample_weight
        As `fit` of the estimator takes them.
    executor : concurrent.futures.Executor
        Or any object whose method `submit` returns `concurrent.futures.Future`. If it has a method `scatter`, this is
        called with the data, and what it returns is passed to tasks in their place.
    n_parts : int, default=None
        Ranges of trees of nearly equal length, at most one for each tree. None: as many as the executor has workers,
        where it tells, or else as this machine has processors.
    timeout : float, default=None
        Seconds until all parts must be there.
    max_retries : int, default=2
        How often a part is grown again that was lost.
    **fit_params
        Other arguments of the estimator's `fit`: `y_mask`, `label_names`.

    Returns
    -------
    estimator
        The one that was given, fitted: byte for byte as by its own `fit`, out-of-bag scores included.

    Raises
    ------
    TypeError
        For an estimator that is no forest, and for an executor that has no `submit`, or whose tasks are no
        `concurrent.futures.Future`.
    ValueError
        For bad data or parameters, as `fit` of the estimator raises it on the worker; for `n_parts`, `timeout` or
        `max_retries` out of range.
    TimeoutError
        With the trees that are not there at the end of `timeout`.
    RuntimeError
        For a part that was lost more than `max_retries` times, with the trees and the last error; when the executor was
        shut down, or broke, as a pool does that loses a process; when it returns nothing.

    After any failure, Ctrl-C included, tasks that have not started are cancelled, and the estimator is as it was.

    Notes
    -----
    The data are sent once for each part. What comes back are the trees.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(random_state=0)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     forest = spinney.distribute.fit(forest, X, y, executor)
    >>> len(forest.estimators_)
    100
    """
    if not isinstance(estimator, BaseBagging):
        raise TypeError(f"estimator is a {type(estimator).__name__}, accepted: forests and centroid forests of spinney")
    cuts = _cuts(int(estimator.n_estimators), _count_parts(n_parts, executor))
    ranges = [range(start, stop) for start, stop in cuts]
    _parts.checked_range(estimator, ranges[0])
    data = _sent(executor, (X, y, sample_weight, fit_params))
    calls = [(f"trees {trees.start} to {trees.stop - 1}", (_fitted_part, clone(estimator), trees)) for trees in ranges]
    parts = _results(executor, calls, data, timeout, max_retries)
    merged = _parts.merge(parts, X, y, sample_weight, y_mask=fit_params.get("y_mask"))
    state = merged.__dict__ | {name: getattr(estimator, name) for name in estimator._get_param_names()}
    estimator.__dict__ = state
    return estimator


def predict_topk(
    model: Any,
    X: Any,
    k: int,
    executor: Any,
    *,
    n_parts: int | None = None,
    min_score: float = 0.0,
    timeout: float | None = None,
    max_retries: int = 2,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The `k` best labels of each row, of blocks of rows that the workers of an executor predict.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted: what `spinney.topk` takes.
    X : array or sparse matrix of shape (n_samples, n_features), frame, or list
        What the first step of `model` takes; cut into blocks of rows.
    k, min_score
        As of `spinney.topk`.
    executor, n_parts, timeout, max_retries
        As of `fit`; parts are blocks of rows.

    Returns
    -------
    indices : int64 ndarray of shape (n_samples, k)
    scores : float64 ndarray of shape (n_samples, k)
        As of `spinney.topk`.

    Raises
    ------
    TypeError, ValueError, TimeoutError, RuntimeError
        As `fit`, and as `spinney.topk` on a worker.

    Notes
    -----
    The model is sent once for each block, each row once.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(random_state=0).fit(X, y)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     indices, scores = spinney.distribute.predict_topk(forest, X, 2, executor)
    >>> indices.shape
    (150, 2)
    """
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    cuts = _cuts(n_rows, _count_parts(n_parts, executor))
    data = _sent(executor, (model, k, min_score))
    rows = X.tocsr() if is_sparse(X) else X
    rows = getattr(rows, "iloc", rows)
    calls = [(f"rows {start} to {stop - 1}", (_best_of_rows, rows[start:stop])) for start, stop in cuts]
    if not calls:
        return topk(model, X, k, min_score=min_score)
    found = _results(executor, calls, data, timeout, max_retries)
    indices, scores = zip(*found, strict=True)
    return np.concatenate(indices), np.concatenate(scores)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    executor: Any,
    *,
    settings: Sequence[dict[str, Any]] = ({},),
    cv: Any = None,
    scoring: Any = None,
    timeout: float | None = None,
    max_retries: int = 2,
) -> dict[str, Any]:
    """Fit and score settings of an estimator on folds, each by a worker of an executor.

    Parameters
    ----------
    estimator : estimator
        Any of scikit-learn's kind: forests, boosting, compression, pipelines.
    X, y
        As its `fit` takes them; y may be sparse.
    executor, timeout, max_retries
        As of `fit`; a part is one setting on one fold.
    settings : sequence of dict, default=({},)
        Parameters to set, each a candidate: `list(sklearn.model_selection.ParameterGrid(grid))` for a grid.
    cv : int, splitter or iterable, default=None
        As of `sklearn.model_selection.check_cv`. The folds are drawn once, here.
    scoring : str or callable, default=None
        One score. None: the estimator's own.

    Returns
    -------
    dict
        - `settings` : list of dict
        - `test_score` : ndarray of shape (n_settings, n_folds)
        - `mean_test_score` : ndarray of shape (n_settings,)
        - `fit_time`, `score_time` : ndarray of shape (n_settings, n_folds), seconds
        - `best_index` : int, the first setting of the greatest mean

    Raises
    ------
    TypeError, ValueError, TimeoutError, RuntimeError
        As `fit`, and as fits and scores raise them on a worker.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> model = spinney.GradientBoostingClassifier(n_estimators=10, random_state=0)
    >>> settings = [{"learning_rate": 0.1}, {"learning_rate": 0.3}]
    >>> with ThreadPoolExecutor(2) as executor:
    ...     found = spinney.distribute.cross_validate(model, X, y, executor, settings=settings, cv=3)
    >>> found["test_score"].shape
    (2, 3)
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise TypeError(f"scoring is a {type(scoring).__name__}, accepted: a name, a function, or None")
    candidates = [dict(setting) for setting in settings]
    if not candidates:
        raise ValueError("settings is empty, accepted: at least one dict of parameters")
    for setting in candidates:
        clone(estimator).set_params(**setting)
    folds = list(check_cv(cv, None if is_sparse(y) else y, classifier=is_classifier(estimator)).split(X, y))
    data = _sent(executor, (X, y, scoring))
    calls = [
        (f"setting {i} on fold {j}", (_scored, clone(estimator).set_params(**setting), fold))
        for i, setting in enumerate(candidates)
        for j, fold in enumerate(folds)
    ]
    found = np.array(_results(executor, calls, data, timeout, max_retries)).reshape(len(candidates), len(folds), 3)
    score, fit_time, score_time = np.moveaxis(found, 2, 0)
    means = score.mean(axis=1)
    return {
        "settings": candidates,
        "test_score": score,
        "mean_test_score": means,
        "fit_time": fit_time,
        "score_time": score_time,
        "best_index": int(np.argmax(np.where(np.isnan(means), -np.inf, means))),
    }


# --- on the workers --------------------------------------------------------------------------------------------------


def _fitted_part(data: Any, estimator: Any, trees: range) -> Any:
    X, y, sample_weight, fit_params = data
    return estimator.fit(X, y, sample_weight, trees=trees, **fit_params)


def _best_of_rows(data: Any, rows: Any) -> Any:
    model, k, min_score = data
    return topk(model, rows, k, min_score=min_score)


def _scored(data: Any, estimator: Any, fold: Any) -> tuple[float, float, float]:
    X, y, scoring = data
    found = model_selection.cross_validate(estimator, X, y, cv=[fold], scoring=scoring, error_score="raise")
    return found["test_score"][0], found["fit_time"][0], found["score_time"][0]


# --- here ------------------------------------------------------------------------------------------------------------


def _count_parts(n_parts: Any, executor: Any) -> int:
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor is a {type(executor).__name__}, accepted: an object with a method submit")
    if n_parts is None:
        found = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        return max(1, int(found))
    if not isinstance(n_parts, Integral) or isinstance(n_parts, bool):
        raise TypeError(f"n_parts is {n_parts!r}, accepted: an integer of at least 1, or None")
    if n_parts < 1:
        raise ValueError(f"n_parts is {n_parts}, accepted: at least 1")
    return int(n_parts)


def _cuts(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Ranges of nearly equal length that make up `range(n)`, none empty."""
    n_parts = min(n, n_parts)
    return [(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]


def _sent(executor: Any, data: Any) -> Any:
    """The data, or what stands for them in the tasks: each worker then gets them once."""
    if callable(scatter := getattr(executor, "scatter", None)):
        return scatter(data)
    client: Any = getattr(executor, "_client", None)  # of Dask
    return client.scatter([data], broadcast=True, hash=False)[0] if hasattr(client, "scatter") else data


def _results(executor: Any, calls: list[Any], data: Any, timeout: Any, max_retries: Any) -> list[Any]:
    """What the calls return, in their order."""
    ends = _end_of(timeout)
    if not isinstance(max_retries, Integral) or isinstance(max_retries, bool) or max_retries < 0:
        raise ValueError(f"max_retries is {max_retries!r}, accepted: an integer of at least 0")
    found: list[Any] = [None] * len(calls)
    n_lost = [0] * len(calls)
    pending: dict[Future[Any], int] = {}
    try:
        for i, (name, call) in enumerate(calls):
            pending[_submitted(executor, name, call, data)] = i
        while pending:
            left = None if ends is None else max(0.0, ends - time.monotonic())
            done, _ = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                names = [calls[i][0] for i in sorted(pending.values())]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise TimeoutError(f"after {timeout} s there were not yet: {', '.join(names[:3])}{more}")
            for future in done:
                i = pending.pop(future)
                name, call = calls[i]
                try:
                    found[i] = future.result()
                except _LASTING:
                    raise
                except (Exception, CancelledError) as error:
                    n_lost[i] += 1
                    if n_lost[i] > max_retries:
                        raise RuntimeError(f"{name} failed {n_lost[i]} times: {error!r}") from error
                    pending[_submitted(executor, name, call, data)] = i
                    continue
                if found[i] is None:
                    raise RuntimeError(f"the executor returned nothing for {name}")
    finally:
        for future in pending:
            future.cancel()
    return found


def _end_of(timeout: Any) -> float | None:
    if timeout is None:
        return None
    if not isinstance(timeout, Real) or isinstance(timeout, bool) or not float(timeout) > 0:
        raise ValueError(f"timeout is {timeout!r}, accepted: a positive number of seconds, or None")
    return time.monotonic() + float(timeout)


def _submitted(executor: Any, name: str, call: tuple[Callable[..., Any], Any], data: Any) -> Future[Any]:
    function, *arguments = call
    try:
        future = executor.submit(function, data, *arguments)
    except BrokenExecutor as error:
        raise RuntimeError(f"the executor broke and takes no more tasks, {name} among them: {error}") from error
    except RuntimeError as error:
        raise RuntimeError(f"the executor takes no more tasks, {name} among them: {error}") from error
    if not isinstance(future, Future):
        raise TypeError(
            f"executor.submit returned a {type(future).__name__}, accepted: concurrent.futures.Future; of a Dask "
            "client pass client.get_executor()"
        )
    return future
