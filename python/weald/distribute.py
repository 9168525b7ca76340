"""Distributed computation on several processes or machines, by any executor of `concurrent.futures`.

`fit` grows the trees of a forest in parts, and those of a forest inside another estimator with the folds of that one;
`predict` predicts samples in blocks, and `cross_validate` fits and scores parameter settings on folds.
An executor is any object with a method `submit` that returns `concurrent.futures.Future`, for example
`ProcessPoolExecutor` or `mpi4py.futures.MPIPoolExecutor`, or a `distributed.Client` of Dask. The results are equal to
those of a single machine, byte for byte, independently of the number of workers and the order in which they finish.

The data is sent with each task, and so once to each worker if there are as many tasks as workers. With Dask it is sent
once to each worker in any case. The same holds for any executor with a method `scatter(data)`, whose result is passed
to tasks in place of the data; `ray.put` is such a function. Tasks that are lost with their worker are repeated. This
module contains no cluster management: the executor starts and monitors the workers.

Boosting is fitted to samples that do not fit into the memory of one machine: each worker has some of them, and all
obtain the model that a single machine would fit to all samples. `fit` takes collections of Dask where they lie;
`fit_part` needs no executor but an all-reduce operation, such as that of MPI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import BaseCrossValidator

from weald import model_selection
from weald._around.base import Around, Fit
from weald._distribute.dask_samples import fit_samples
from weald._distribute.executors import Call, OnExecutor, check_executor, count_columns, shape_of
from weald._distribute.samples_apart import fit_part
from weald._fit.base import BaseModel
from weald._fit.boosting import BaseBoosting
from weald._fitted.at_once import FittedAsOne, fitted_at_once
from weald._input import frames, targets
from weald._input.checks import check_has_fit, count_samples, named, shown
from weald._input.messages import kind_of
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike, SampleWeight, YWeight
from weald._ranking.outputs import apart
from weald._rounds.rounds import Progress, check_verbose
from weald._tools.merge import MERGED
from weald._tools.topk import by_sample, topk

__all__ = ["cross_validate", "fit", "fit_part", "predict"]

# What has fits of its own that are independent, in words.
_AROUND = "the estimators around another one of weald.conformal and weald.multilabel"


def fit(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    executor: object,
    *,
    n_parts: int | None = None,
    sample_weight: SampleWeight = None,
    timeout: float | None = None,
    max_retries: int = 2,
    **fit_params: Any,
) -> BaseEstimator:
    """Fit a forest whose trees are grown by the workers of an executor, a linear model of their labels, folds, or boosting.

    The data is sent once for each part, and trees or weights are sent back, but of a fold only the predictions of its
    samples. The samples of boosting stay on the workers of Dask that have them. Out-of-bag predictions, thresholds and
    ranks are computed here. After any failure, and Ctrl-C, tasks that have not started are cancelled, and the estimator
    is unchanged. See `docs/many-machines.md`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     forest = weald.distribute.fit(weald.RandomForestClassifier(random_state=0), X, y, executor)
    >>> len(forest.estimators_)
    100

    Parameters
    ----------
    estimator : estimator
        A forest, label tree or `LinearClassifier` of labels with an integer `random_state`, whose `n_jobs` is that of
        each worker; an estimator of `weald.conformal`, `TunedThresholds`, `CalibratedLabels` or `HierarchicalLabels`
        around any estimator, with a part for each fold and for those of the fit to all samples; or boosting, with
        parameters that `fit_part` supports.
    X, y : as in the `fit` of the estimator
        Training samples and targets, dense or sparse. For boosting also a `dask.dataframe` or `dask.array`, also of SciPy's
        sparse blocks: X, y and `sample_weight` have the same partitions, whose sizes need not be known.
    executor : concurrent.futures.Executor or distributed.Client
        An executor, or any object with a method `submit` that returns `concurrent.futures.Future`. Boosting needs Dask,
        and one free thread of each worker that has samples.
    n_parts : int or None, default=None
        Number of parts, which are ranges of trees or labels; folds are parts in addition. None: the number of workers
        of the executor if that is known, and otherwise of processors of this machine.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Sample weights.
    timeout : float or None, default=None
        Number of seconds after which all parts must be complete; with boosting, that one worker waits for another. If
        None, there is no limit.
    max_retries : int, default=2
        Maximum number of times that a lost part is repeated. Boosting is not repeated, but goes on from a checkpoint.
    **fit_params
        Other arguments of the `fit` of the estimator: `y_weight`, `label_names` and, where it takes them, `groups`; of
        boosting `checkpoint` and `every`, as in `fit_part`, for a path that the workers can reach.

    Returns
    -------
    estimator
        The estimator that was passed, fitted: equal to the result of its own `fit`, byte for byte. Estimators of other
        libraries inside it are as equal as two of their own fits are, and `random_state=None` shuffles other folds each
        time. Boosting has `workers_`, as after `fit_part`.

    Raises
    ------
    TimeoutError
        If parts are missing after `timeout` seconds. The message contains the trees, labels or folds that are missing.
    RuntimeError
        If a part was lost more than `max_retries` times, a worker was lost that has samples of boosting, or the executor was
        shut down or is broken.
    """
    if isinstance(estimator, BaseBoosting):
        if n_parts is not None or (unknown := sorted(fit_params.keys() - {"checkpoint", "every"})):
            got = "n_parts" if n_parts is not None else ", ".join(unknown)
            raise TypeError(f"fit of boosting accepts X, y, sample_weight, timeout, checkpoint, every, got {got}")
        return fit_samples(estimator, X, y, sample_weight, executor, timeout, fit_params)
    parts = estimator._parts_for(count_columns(y)) if isinstance(estimator, BaseModel) else None
    around = estimator if isinstance(estimator, Around) and estimator._fits_apart else None
    if parts is None and around is None:
        raise TypeError(f"estimator must be one of {MERGED}, or {_AROUND}, got a {type(estimator).__name__}")
    accepted = signature(estimator.fit).parameters
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in accepted.values())
    if (unknown := sorted(fit_params.keys() - accepted.keys())) and not takes_all:
        known = ", ".join(name for name in accepted if name not in ("X", "y", "labels", "trees"))
        raise TypeError(f"fit of {type(estimator).__name__} accepts {known}, got {', '.join(unknown)}")
    with OnExecutor(executor, n_parts, timeout, max_retries) as fits:
        if around is not None:
            return around._run(Fit(X, y, sample_weight, fits=fits, **fit_params))
        assert parts is not None
        assert isinstance(estimator, BaseModel)
        what, n = parts
        shape = shape_of(y)
        if what == "labels" and shape is not None and (len(shape) != 2 or n == 0):
            raise ValueError(
                f"y must have a column for each label, since parts are ranges of labels, got the shape {shape}"
            )
        y_weight = fit_params.pop("y_weight", None)
        merged = fits.start_parts(estimator, what, n, Fit(X, y, sample_weight, y_weight), None, fit_params)()[0]
    with fitted_at_once(estimator) as new:
        new._become(merged)
    return estimator


def predict(
    estimator: BaseEstimator,
    X: Raw,
    executor: Executor | None,
    *,
    method: str = "predict",
    n_parts: int | None = None,
    timeout: float | None = None,
    max_retries: int = 2,
    verbose: int = 0,
    **options: Any,
) -> Any:
    """Call a method of a fitted model for samples in blocks, which the workers of an executor predict.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted model with the method.
    X : {ndarray, sparse matrix, DataFrame, list} of n_samples samples
        Samples, in any of these forms that the method accepts. They are split into blocks.
    executor : concurrent.futures.Executor
        An executor, as in `fit`.
    method : str, default="predict"
        The name of a method that predicts each sample by itself, such as "predict_proba", "predict_interval",
        "predict_sets" or "predict_sparse". "predict_topk" is `weald.topk`, which also takes pipelines.
    n_parts : int or None, default=None
        Number of blocks of samples. If None, it is chosen as in `fit`.
    timeout : float or None, default=None
        Number of seconds after which all blocks must be complete. If None, there is no limit.
    max_retries : int, default=2
        Maximum number of times that a lost block is repeated.
    verbose : int, default=0
        How blocks that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.
    **options
        Other arguments of the method, the same for all blocks, such as `alpha` of "predict_interval"; but `exclude` of
        "predict_topk" may be a matrix with a row for each sample.

    Returns
    -------
    ndarray, sparse matrix, DataFrame, or a list or tuple of them
        What the method returns for all samples. It is the same to the last bit for the models of weald; others may compute
        other last bits in blocks.

    Raises
    ------
    TypeError, ValueError, TimeoutError, RuntimeError
        Under the same conditions as in `fit`, if there is no such method, if it returns something else than arrays with a row
        for each sample (frames that the last step of a pipeline returns among them), and as raised by it on a worker.

    Notes
    -----
    The model is sent once for each block, and each sample is sent once.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_diabetes
    >>> import weald
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = weald.conformal.ConformalRegressor(weald.RandomForestRegressor(random_state=0)).fit(X, y)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     intervals = weald.distribute.predict(model, X, executor, method="predict_interval", alpha=0.2)
    >>> intervals.shape
    (442, 2)
    """
    check_has_fit(estimator)
    if not isinstance(method, str) or not callable(_method(estimator, method)):
        raise TypeError(f"method must be the name of a method of {type(estimator).__name__}, got {shown(method)}")
    model: Any = estimator
    container = None
    if isinstance(estimator, FittedAsOne) and method in frames.FRAMED:
        # The samples together become the frame that `set_output` asks for.
        model = estimator._twin()
        container = model.__dict__.pop(frames.OUTPUT, None)
    with OnExecutor(executor, n_parts, timeout, max_retries) as tasks:
        blocks = tasks.blocks(X)
        if not blocks:
            return _method(estimator, method)(X, **options)
        n_rows = sum(n for *_, n in blocks)
        exclude = by_sample(options.get("exclude"), n_rows) if method == "predict_topk" else None
        ends = np.cumsum([n for *_, n in blocks])
        calls: list[Call] = [
            (
                name,
                (_predicted, rows, {} if exclude is None else {"exclude": safe_indexing(exclude, slice(end - n, end))}),
            )
            for (name, rows, n), end in zip(blocks, ends, strict=True)
        ]
        if exclude is not None:
            del options["exclude"]
        with Progress(type(apart(estimator)[0]).__name__, "sample", n_rows, check_verbose(verbose)) as progress:
            told = lambda i: progress(progress.n_done + blocks[i][2])  # noqa: E731
            parts = tasks.submit(calls, (model, method, options), told)()
        if len(parts) > 1 and len({n for *_, n in blocks}) == 1 and blocks[0][2] > 1:
            # An array of another meaning may have as many rows as each block by chance; it has no other number for one sample.
            one = safe_indexing(blocks[0][1], [0])
            _predicted((model, method, options), one, {})
        found = parts[0] if len(parts) == 1 else _joined(parts)
    return found if container is None else frames.built(container, found, model, method, X)


def cross_validate(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: MatrixLike,
    executor: Executor | None,
    *,
    settings: Sequence[dict[str, Any]] = ({},),
    cv: int | BaseCrossValidator | Iterable[Any] | None = None,
    scoring: str | Callable[..., float] | None = None,
    y_weight: YWeight = None,
    timeout: float | None = None,
    max_retries: int = 2,
    verbose: int = 0,
) -> dict[str, Any]:
    """Fit and score parameter settings of an estimator by cross-validation, on the workers of an executor.

    Errors are those of `fit`, and of fits and scorers on a worker.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     found = weald.distribute.cross_validate(weald.DecisionTreeClassifier(), X, y, executor, cv=3)
    >>> found["test_score"].shape
    (1, 3)

    Parameters
    ----------
    estimator : estimator
        Any estimator with the interface of scikit-learn, such as a forest, boosting, a compressed forest or a pipeline.
    X, y : as in the `fit` of the estimator
        Training samples and targets, dense or sparse.
    executor : concurrent.futures.Executor
        An executor, as in `fit`. Each task is one setting on one fold.
    settings : sequence of dict, default=({},)
        Parameter settings to evaluate. Use `list(sklearn.model_selection.ParameterGrid(grid))` for a grid.
    cv : int, cross-validation generator, iterable or None, default=None
        The folds, as in `weald.model_selection.check_cv`. They are generated once, in the calling process.
    scoring : str, callable or None, default=None
        A single score. If None, the `score` method of the estimator is used.
    y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
        0 marks unknown entries of y, as in `weald.model_selection.cross_validate`.
    timeout, max_retries : as in `fit`
        The seconds for all tasks, and how often a lost task is repeated.
    verbose : int, default=0
        How fits that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Returns
    -------
    dict
        `settings`, a list of dict; `test_score`, and `fit_time` and `score_time` in seconds, ndarrays of shape
        (n_settings, n_folds); `mean_test_score`, of shape (n_settings,); and `best_index`, of the first setting with
        the largest mean.
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise TypeError(f"scoring must be a name, a callable, or None, got a {type(scoring).__name__}")
    check_executor(executor)
    check_has_fit(estimator)
    count_samples(X)
    with named("settings"):
        candidates = [dict(setting) for setting in settings]
    if not candidates:
        raise ValueError("settings must have at least one dict of parameters, got none")
    for setting in candidates:
        clone(estimator).set_params(**setting)
    y = targets.with_gaps(y, y_weight)
    folds = list(model_selection.check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
    calls: list[Call] = [
        (f"setting {i} on fold {j}", (_scored, clone(estimator).set_params(**setting), fold))
        for i, setting in enumerate(candidates)
        for j, fold in enumerate(folds)
    ]
    with (
        OnExecutor(executor, None, timeout, max_retries) as tasks,
        Progress(type(estimator).__name__, "fit", len(calls), check_verbose(verbose)) as progress,
    ):
        found = tasks.submit(calls, (X, y, scoring), lambda _: progress(progress.n_done + 1))()
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


def _method(model: BaseEstimator, name: str) -> Any:
    """The method of this name, or None. The best labels are those of `topk`, which looks inside pipelines."""
    return partial(topk, model) if name == "predict_topk" else getattr(model, name, None)


def _predicted(data: tuple[Any, ...], rows: Any, of_rows: dict[str, Any]) -> Any:
    model, method, options = data
    found = _method(model, method)(rows, **options, **of_rows)
    _check_rows(found, count_samples(rows), method)
    return found


def _check_rows(found: Any, n: int, method: str) -> None:
    """Raise unless it is an array with a row for each of n samples, or a list or tuple of such arrays."""
    if isinstance(found, list | tuple) and len(found):
        for part in found:
            _check_rows(part, n, method)
        return
    is_array = isinstance(found, np.ndarray) or is_sparse(found)
    if not is_array or found.ndim < 1 or found.shape[0] != n or (is_sparse(found) and found.ndim != 2):
        got = f"an array of shape {found.shape} for {n} sample(s)" if is_array else kind_of(found)
        raise TypeError(f"method must return arrays with a row for each sample, but {method} returned {got}")


def _scored(
    data: tuple[Any, ...], estimator: BaseEstimator, fold: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> tuple[float, float, float]:
    X, y, scoring = data
    found = model_selection.cross_validate(estimator, X, y, cv=[fold], scoring=scoring, error_score="raise")
    return found["test_score"][0], found["fit_time"][0], found["score_time"][0]


# --- in the calling process ------------------------------------------------------------------------------------------


def _joined(parts: list[Any]) -> Any:
    """The predictions of blocks of samples as those of all samples."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if is_sparse(first):
        return sparse.vstack(parts, format=first.format)
    joined = [_joined(list(of_blocks)) for of_blocks in zip(*parts, strict=True)]
    # Tuples with names.
    return first._make(joined) if hasattr(first, "_make") else type(first)(joined)
