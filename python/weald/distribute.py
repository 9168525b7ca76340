"""Distributed computation on several processes or machines, by any executor of `concurrent.futures`.

`fit` grows the trees of a forest in parts, `predict_topk` predicts samples in blocks, and `cross_validate` fits and
scores parameter settings on folds. An executor is any object with a method `submit` that returns
`concurrent.futures.Future`, for example `ProcessPoolExecutor`, `distributed.Client(...).get_executor()` of Dask, or
`mpi4py.futures.MPIPoolExecutor`. The results are equal to those of a single machine, byte for byte, independently of
the number of workers and the order in which they finish.

The data is sent with each task, and so once to each worker if there are as many tasks as workers. With Dask it is sent
once to each worker in any case. The same holds for any executor with a method `scatter(data)`, whose result is passed
to tasks in place of the data; `ray.put` is such a function. Tasks that are lost with their worker are repeated. This
module contains no cluster management: the executor starts and monitors the workers.

`fit_part` and `fit_samples` are for training data that does not fit into the memory of one machine. Each worker has
some of the samples, and all workers obtain the boosting model that a single machine would fit on all samples.
`fit_part` needs no executor but an all-reduce operation, such as that of MPI; `fit_samples` uses a Dask cluster.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from numbers import Integral
from threading import TIMEOUT_MAX
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from weald import model_selection
from weald._distribute.dask_samples import fit_samples
from weald._distribute.samples_apart import fit_part
from weald._fit import updates as _updates
from weald._fit.base import BaseModel
from weald._fitted.at_once import fitted_at_once
from weald._input import targets
from weald._input.checks import check_has_fit, count_samples, integer, named, number, shown
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike, Scores
from weald._ranking.pipelines import apart
from weald._rounds.progress import Progress, check_verbose
from weald._tools.merge import MERGED, merge
from weald._tools.topk import topk

__all__ = ["cross_validate", "fit", "fit_part", "fit_samples", "predict_topk"]

# Errors due to data and parameters, which would occur again on any other worker.
_LASTING = (ValueError, TypeError, NotImplementedError, AttributeError)


def fit(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    executor: object,
    *,
    n_parts: int | None = None,
    sample_weight: ArrayLike | None = None,
    timeout: float | None = None,
    max_retries: int = 2,
    **fit_params: Any,
) -> BaseEstimator:
    """Fit a forest whose trees are grown by the workers of an executor, or a linear model of their labels.

    Parameters
    ----------
    estimator : estimator
        A random forest, extra-trees, centroid forest or label tree, or a `LinearClassifier` of labels. Its `random_state`
        must be an integer. Its `n_jobs` is the number of threads of each worker. With `verbose` above 0, trees or labels are
        reported as in its own `fit`, here and not by the workers, when the part that they are in arrives.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples, in any form that the `fit` of the estimator accepts.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets, in any form that the `fit` of the estimator accepts.
    executor : concurrent.futures.Executor
        An executor, or any object with a method `submit` that returns `concurrent.futures.Future`. If it has a method
        `scatter`, this method is called with the data, and its result is passed to tasks in place of the data.
    n_parts : int or None, default=None
        Number of parts. Each part is a range of trees, or of labels of a linear model, and the ranges have nearly equal
        lengths. There are never more parts than trees or labels. If None, it is the number of workers of the executor if
        that is known, and otherwise the number of processors of this machine.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    timeout : float or None, default=None
        Number of seconds after which all parts must be complete. If None, there is no limit.
    max_retries : int, default=2
        Maximum number of times that a lost part is repeated.
    **fit_params
        Other arguments of the `fit` of the estimator: `y_mask` and `label_names`.

    Returns
    -------
    estimator
        The estimator that was passed, fitted. It is equal to the result of its own `fit`, byte for byte, including
        out-of-bag scores.

    Raises
    ------
    TypeError
        If `estimator` is not such a model, `executor` has no method `submit`, or `submit` does not return a
        `concurrent.futures.Future`.
    ValueError
        If the data or a parameter of the estimator is not valid, as raised by its `fit` on a worker, or if `n_parts`,
        `timeout` or `max_retries` is out of range.
    TimeoutError
        If parts are missing after `timeout` seconds. The message contains the trees or labels that are missing.
    RuntimeError
        If a part was lost more than `max_retries` times, with its trees or labels and the last error; if the executor was shut
        down, or is broken because a process of the pool died; or if a task returned None.

    Notes
    -----
    The data is sent once for each part, and the trees or weights are sent back. Each part of a linear model chooses `C` and
    `features` and calibrates by itself, with the same result, if it is asked to. After any failure, including an interrupt with
    Ctrl-C, tasks that have not started are cancelled, and the estimator is unchanged.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(random_state=0)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     forest = weald.distribute.fit(forest, X, y, executor)
    >>> len(forest.estimators_)
    100
    """
    what = estimator._part_of if isinstance(estimator, BaseModel) else None
    if what is None:
        raise TypeError(f"estimator must be one of {MERGED}, got a {type(estimator).__name__}")
    n = _count_labels(y) if what == "labels" else estimator._n_of_parts()
    cuts = _cuts(n, _count_parts(n_parts, executor))
    ranges = [range(start, stop) for start, stop in cuts]
    _updates.checked_range(estimator, ranges[0], n)
    data = _sent(executor, (X, y, sample_weight, fit_params))
    silent = clone(estimator).set_params(verbose=0)
    if hasattr(silent, "set_callbacks"):
        silent.set_callbacks()
    calls = [
        (f"{what} {part.start} to {part.stop - 1}", (_fitted_part, clone(silent), {what: part})) for part in ranges
    ]
    with Progress(type(estimator).__name__, what[:-1], n, int(estimator.verbose)) as progress:
        parts = _results(executor, calls, data, timeout, max_retries, progress, [len(part) for part in ranges])
    merged = merge(parts, X, y, sample_weight, y_mask=fit_params.get("y_mask"))
    with fitted_at_once(estimator) as new:
        new._become(merged)
    return estimator


def predict_topk(
    estimator: BaseEstimator,
    X: Raw,
    k: int,
    executor: Executor | None,
    *,
    n_parts: int | None = None,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    timeout: float | None = None,
    max_retries: int = 2,
    verbose: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Predict the `k` highest-scoring labels of each sample, in blocks that the workers of an executor predict.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted model that `weald.topk` supports.
    X : {ndarray, sparse matrix, DataFrame, list} of n_samples samples
        Samples, in any of these forms that the first step of `estimator` accepts. They are split into blocks.
    k : int
        The number of labels per sample, from 1 to the number of labels.
    executor : concurrent.futures.Executor
        An executor, as in `fit`.
    n_parts : int or None, default=None
        Number of blocks of samples. If None, it is chosen as in `fit`.
    scores : {"auto", "probability", "margin"}, default="auto"
        The scores that are returned: "probability" are those of `predict_proba`, and "margin" those of
        `decision_function`, where for two classes that of the first class is the negative one of the second. "auto" are
        probabilities if there are any, and margins otherwise.
    min_score : float or None, default=None
        Labels with a lower score are not returned. It is in the unit of the scores: from 0 to 1 for probabilities, and any
        number for margins. None returns all.
    exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
        Labels that are not returned, as in `weald.topk`.
    timeout : float or None, default=None
        Number of seconds after which all blocks must be complete. If None, there is no limit.
    max_retries : int, default=2
        Maximum number of times that a lost block is repeated.
    verbose : int, default=0
        How blocks that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Returns
    -------
    indices : int64 ndarray of shape (n_samples, k)
        Indices of the labels, as returned by `weald.topk`.
    scores : float64 ndarray of shape (n_samples, k)
        Their scores, as returned by `weald.topk`.

    Raises
    ------
    TypeError, ValueError, TimeoutError, RuntimeError
        Under the same conditions as in `fit`, and as raised by `weald.topk` on a worker.

    Notes
    -----
    The model is sent once for each block, and each sample is sent once.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(random_state=0).fit(X, y)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     indices, scores = weald.distribute.predict_topk(forest, X, 2, executor)
    >>> indices.shape
    (150, 2)
    """
    n_rows = count_samples(X)
    cuts = _cuts(n_rows, _count_parts(n_parts, executor))
    options: dict[str, Any] = {"scores": scores, "min_score": min_score}
    data = _sent(executor, (estimator, k, options if is_sparse(exclude) else {**options, "exclude": exclude}))
    rows = X.tocsr() if is_sparse(X) else X
    rows = getattr(rows, "iloc", rows)
    marked: Any = exclude
    some = marked.tocsr() if is_sparse(marked) else None
    if some is not None and some.shape[0] != n_rows:
        raise ValueError(f"exclude must have {n_rows} rows, one for each sample of X, got {some.shape[0]}")
    calls = [
        (f"rows {start} to {stop - 1}", (_best_of_rows, rows[start:stop], None if some is None else some[start:stop]))
        for start, stop in cuts
    ]
    if not calls:
        return topk(estimator, X, k, exclude=exclude, **options)
    name = type(apart(estimator)[0]).__name__
    with Progress(name, "sample", n_rows, check_verbose(verbose)) as progress:
        found = _results(executor, calls, data, timeout, max_retries, progress, [stop - start for start, stop in cuts])
    labels, values = zip(*found, strict=True)
    return np.concatenate(labels), np.concatenate(values)


def cross_validate(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    executor: Executor | None,
    *,
    settings: Sequence[dict[str, Any]] = ({},),
    cv: object = None,
    scoring: str | Callable[..., float] | None = None,
    y_mask: MatrixLike | None = None,
    timeout: float | None = None,
    max_retries: int = 2,
    verbose: int = 0,
) -> dict[str, Any]:
    """Fit and score parameter settings of an estimator by cross-validation, on the workers of an executor.

    Parameters
    ----------
    estimator : estimator
        Any estimator with the interface of scikit-learn, such as a forest, boosting, a compressed forest or a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples, in any form that the `fit` of the estimator accepts.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets, in any form that the `fit` of the estimator accepts, including sparse matrices.
    executor : concurrent.futures.Executor
        An executor, as in `fit`. Each task is one setting on one fold.
    settings : sequence of dict, default=({},)
        Parameter settings to evaluate. Use `list(sklearn.model_selection.ParameterGrid(grid))` for a grid.
    cv : int, cross-validation generator, iterable or None, default=None
        The folds, as in `weald.model_selection.check_cv`. They are generated once, in the calling process.
    scoring : str, callable or None, default=None
        A single score. If None, the `score` method of the estimator is used.
    y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
        True or 1 marks unknown entries of y, as in `weald.model_selection.cross_validate`.
    timeout : float or None, default=None
        Number of seconds after which all tasks must be complete. If None, there is no limit.
    max_retries : int, default=2
        Maximum number of times that a lost task is repeated.
    verbose : int, default=0
        How fits that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Returns
    -------
    dict
        - `settings` : list of dict, the parameter settings
        - `test_score` : ndarray of shape (n_settings, n_folds)
        - `mean_test_score` : ndarray of shape (n_settings,), the mean over folds
        - `fit_time` : ndarray of shape (n_settings, n_folds), in seconds
        - `score_time` : ndarray of shape (n_settings, n_folds), in seconds
        - `best_index` : int, the index of the setting with the largest mean, and the first of them if several are equal

    Raises
    ------
    TypeError, ValueError, TimeoutError, RuntimeError
        Under the same conditions as in `fit`, and as raised by fits and scorers on a worker.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> model = weald.GradientBoostingClassifier(n_estimators=10, random_state=0)
    >>> settings = [{"learning_rate": 0.1}, {"learning_rate": 0.3}]
    >>> with ThreadPoolExecutor(2) as executor:
    ...     found = weald.distribute.cross_validate(model, X, y, executor, settings=settings, cv=3)
    >>> found["test_score"].shape
    (2, 3)
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise TypeError(f"scoring must be a name, a callable, or None, got a {type(scoring).__name__}")
    _check_executor(executor)
    check_has_fit(estimator)
    count_samples(X)
    with named("settings"):
        candidates = [dict(setting) for setting in settings]
    if not candidates:
        raise ValueError("settings must have at least one dict of parameters, got none")
    for setting in candidates:
        clone(estimator).set_params(**setting)
    y = targets.with_gaps(y, y_mask)
    folds = list(model_selection.check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
    data = _sent(executor, (X, y, scoring))
    calls = [
        (f"setting {i} on fold {j}", (_scored, clone(estimator).set_params(**setting), fold))
        for i, setting in enumerate(candidates)
        for j, fold in enumerate(folds)
    ]
    with Progress(type(estimator).__name__, "fit", len(calls), check_verbose(verbose)) as progress:
        found = _results(executor, calls, data, timeout, max_retries, progress, [1] * len(calls))
    score, fit_time, score_time = np.moveaxis(np.reshape(found, (len(candidates), len(folds), 3)), 2, 0)
    means = score.mean(axis=1)
    return {
        "settings": candidates,
        "test_score": score,
        "mean_test_score": means,
        "fit_time": fit_time,
        "score_time": score_time,
        "best_index": int(np.argmax(np.where(np.isnan(means), -np.inf, means))),
    }


# --- tasks, which run on the workers ---------------------------------------------------------------------------------


def _fitted_part(data: tuple[Any, ...], estimator: BaseEstimator, part: dict[str, range]) -> Any:
    X, y, sample_weight, fit_params = data
    return estimator.fit(X, y, sample_weight, **part, **fit_params)


def _best_of_rows(data: tuple[Any, ...], rows: Any, exclude: Any) -> Any:
    model, k, options = data
    return topk(model, rows, k, **(options if exclude is None else {**options, "exclude": exclude}))


def _scored(
    data: tuple[Any, ...], estimator: BaseEstimator, fold: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> tuple[float, float, float]:
    X, y, scoring = data
    found = model_selection.cross_validate(estimator, X, y, cv=[fold], scoring=scoring, error_score="raise")
    return found["test_score"][0], found["fit_time"][0], found["score_time"][0]


# --- in the calling process ------------------------------------------------------------------------------------------


def _check_executor(executor: object) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be an object with a method submit, got a {type(executor).__name__}")


def _count_labels(y: Any) -> int:
    """The number of columns of y."""
    shape = tuple(getattr(y, "shape", None) or np.shape(y))
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(
            f"y must have a column for each label, since parts are ranges of labels, got the shape {shape}"
        )
    return int(shape[1])


def _count_parts(n_parts: object, executor: object) -> int:
    _check_executor(executor)
    if n_parts is None:
        found = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        return max(1, int(found))
    if not isinstance(n_parts, Integral) or isinstance(n_parts, bool):
        raise TypeError(f"n_parts must be a positive integer or None, got {shown(n_parts)}")
    return integer("n_parts", n_parts, 1, also=" or None")


def _cuts(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Non-empty ranges of nearly equal length that partition `range(n)`."""
    n_parts = min(n, n_parts)
    return [(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]


def _sent(executor: object, data: object) -> object:
    """The data, or a reference to it for the executors that send data once to each worker."""
    if callable(scatter := getattr(executor, "scatter", None)):
        return scatter(data)
    client: Any = getattr(executor, "_client", None)  # of Dask
    return client.scatter([data], broadcast=True, hash=False)[0] if hasattr(client, "scatter") else data


def _results(
    executor: object,
    calls: list[Any],
    data: object,
    timeout: object,
    max_retries: object,
    progress: Progress,
    sizes: list[int],
) -> list[Any]:
    """The results of the calls, in the order of the calls; `sizes` are the units of progress of each."""
    ends = _end_of(timeout)
    max_retries = integer("max_retries", max_retries, 0)
    found: list[Any] = [None] * len(calls)
    n_lost = [0] * len(calls)
    pending: dict[Future[Any], int] = {}
    try:
        for i, (name, call) in enumerate(calls):
            pending[_submitted(executor, name, call, data)] = i
        while pending:
            left = None if ends is None else min(max(0.0, ends - time.monotonic()), TIMEOUT_MAX)
            done, _ = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                names = [calls[i][0] for i in sorted(pending.values())]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise TimeoutError(f"{', '.join(names[:3])}{more} did not finish within {timeout} s")
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
                progress(progress.n_done + sizes[i])
    finally:
        for future in pending:
            future.cancel()
    return found


def _end_of(timeout: object) -> float | None:
    if timeout is None:
        return None
    seconds = number("timeout", timeout, lambda found: found > 0, "a positive number of seconds, or None")
    # Longer times cannot be waited for, and would be centuries.
    return time.monotonic() + min(seconds, TIMEOUT_MAX)


def _submitted(executor: Any, name: str, call: tuple[Callable[..., Any], Any], data: Any) -> Future[Any]:
    function, *arguments = call
    try:
        future = executor.submit(function, data, *arguments)
    except BrokenExecutor as error:
        raise RuntimeError(f"the executor is broken and does not run {name}: {error}") from error
    except RuntimeError as error:
        raise RuntimeError(f"the executor does not run {name}: {error}") from error
    if not isinstance(future, Future):
        raise TypeError(
            f"executor.submit must return a concurrent.futures.Future, got a {type(future).__name__}; for a "
            "Dask client pass client.get_executor()"
        )
    return future
