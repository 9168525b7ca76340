"""Tasks that the workers of an executor carry out: parts of fits, folds, blocks of samples."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from functools import partial
from threading import TIMEOUT_MAX
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from weald._around.base import Around
from weald._fit import updates
from weald._fit.base import BaseModel
from weald._fitted.fits import Fit, Fits, Fold, Read, fitted, fitted_last, of_fold
from weald._input.checks import count_samples, integer, is_integer, number, shown
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking.outputs import apart, innermost
from weald._rounds.rounds import Progress
from weald._tools.merge import merge

# Errors due to data and parameters, which would occur again on any other worker.
_LASTING = (ValueError, TypeError, NotImplementedError, AttributeError)
# The name of a task, and the function and arguments of its call, before which the data stand.
Call = tuple[str, tuple[Any, ...]]


class _Batch:
    """Tasks that were submitted together, and their results in the same order."""

    def __init__(self, calls: list[Call], data: object, told: Callable[[int], object]) -> None:
        self.calls, self.data, self.told = calls, data, told
        self.found: list[Any] = [None] * len(calls)
        self.n_lost = [0] * len(calls)
        self.n_left = len(calls)


class OnExecutor(Fits):
    """Fits, and other tasks, on the workers of an executor. At the end of the context, tasks that wait are cancelled."""

    def __init__(self, executor: object, n_parts: object, timeout: object, max_retries: object) -> None:
        if callable(made := getattr(executor, "get_executor", None)):  # of a Dask client
            executor = made()
        self._executor, self.n_parts = executor, _count_parts(n_parts, executor)
        self._timeout, self._ends = timeout, time.monotonic() + seconds_of(timeout)
        self._max_retries = integer("max_retries", max_retries, 0)
        self._pending: dict[Future[Any], tuple[_Batch, int]] = {}
        # Data that were sent to workers, and what tasks get in their place.
        self._sent: list[tuple[tuple[Any, ...], object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._pending:
            future.cancel()

    # --- tasks -------------------------------------------------------------------------------------------------------

    def submit(
        self, calls: list[Call], data: tuple[Any, ...], told: Callable[[int], object]
    ) -> Callable[[], list[Any]]:
        """Submit calls, and return a function that waits for their results; `told` gets the index of each when it arrives."""
        batch = _Batch(calls, self._reference(data), told)
        for i in range(len(calls)):
            self._submit(batch, i)
        return partial(self._results, batch)

    def _reference(self, data: tuple[Any, ...]) -> object:
        """The data, or a reference to it for the executors that send data once to each worker."""
        for known, reference in self._sent:
            if len(known) == len(data) and all(a is b for a, b in zip(known, data, strict=True)):
                return reference
        found: object = data
        client: Any = getattr(self._executor, "_client", None)  # of Dask
        if callable(scatter := getattr(self._executor, "scatter", None)):
            found = scatter(data)
        elif hasattr(client, "scatter"):
            found = client.scatter([data], broadcast=True, hash=False)[0]
        self._sent.append((data, found))
        return found

    def _results(self, batch: _Batch) -> list[Any]:
        while batch.n_left:
            left = min(max(0.0, self._ends - time.monotonic()), TIMEOUT_MAX)
            done, _ = wait(self._pending, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                names = [of.calls[i][0] for of, i in self._pending.values()]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise TimeoutError(f"{', '.join(names[:3])}{more} did not finish within {self._timeout} s")
            # In the order of the tasks, so that of several errors the first one is raised.
            for future in [future for future in self._pending if future in done]:
                self._take(future)
        return batch.found

    def _take(self, future: Future[Any]) -> None:
        """Take the result of a task that has ended, or submit it again if it was lost."""
        batch, i = self._pending.pop(future)
        name = batch.calls[i][0]
        try:
            batch.found[i] = future.result()
        except _LASTING:
            raise
        except (Exception, CancelledError) as error:
            batch.n_lost[i] += 1
            if batch.n_lost[i] > self._max_retries:
                raise RuntimeError(f"{name} failed {batch.n_lost[i]} times: {error!r}") from error
            self._submit(batch, i)
            return
        if batch.found[i] is None:
            raise RuntimeError(f"the executor returned nothing for {name}")
        batch.n_left -= 1
        batch.told(i)

    def _submit(self, batch: _Batch, i: int) -> None:
        executor: Any = self._executor
        name, (function, *arguments) = batch.calls[i]
        try:
            future = executor.submit(function, batch.data, *arguments)
        except BrokenExecutor as error:
            raise RuntimeError(f"the executor is broken and does not run {name}: {error}") from error
        except RuntimeError as error:
            raise RuntimeError(f"the executor does not run {name}: {error}") from error
        if not isinstance(future, Future):
            raise TypeError(f"executor.submit must return a concurrent.futures.Future, got a {type(future).__name__}")
        self._pending[future] = batch, i

    # --- fits --------------------------------------------------------------------------------------------------------

    def in_parts(
        self, model: Any, given: Fit, fit_part: Callable[..., Any] | None = None
    ) -> tuple[Any, list[Any]] | None:
        found = _parts_of(model, given)
        return None if found is None else self.start_parts(*found, given, fit_part, {})()

    def start_parts(
        self,
        model: Any,
        what: str,
        n: int,
        given: Fit,
        fit_part: Callable[..., Any] | None,
        others: dict[str, Any],
    ) -> Callable[[], tuple[Any, list[Any]]]:
        """The fit of a model whose parts are `n` trees or labels; `others` are further arguments of its `fit`."""
        ranges = [range(start, stop) for start, stop in cuts(n, self.n_parts)]
        updates.checked_range(model, what, ranges[0], n)
        silent = clone(model).set_params(verbose=0)
        if hasattr(silent, "set_callbacks"):
            silent.set_callbacks()
        calls: list[Call] = [
            (f"{what} {part.start} to {part.stop - 1}", (_fit_part, clone(silent), what, part, fit_part, others))
            for part in ranges
        ]
        progress = Progress(type(model).__name__, what[:-1], n, int(model.verbose))
        told = lambda i: progress(progress.n_done + len(ranges[i]))  # noqa: E731
        wait_for_all = self.submit(calls, given.data, told)

        def result() -> tuple[Any, list[Any]]:
            with progress:
                found = wait_for_all()
            X, y, weights, y_weight = given.data
            merged = merge([part for part, _ in found], X, y, weights, y_weight=y_weight)
            return merged, [more for _, more in found]

        return result

    def start(
        self, estimator: BaseEstimator, given: Fit, told: Callable[[], object] = lambda: None
    ) -> Callable[[], Any]:
        final: Any = apart(estimator)[0]
        if isinstance(estimator, FrozenEstimator):
            return super().start(estimator, given, told)
        is_around, parts = isinstance(final, Around) and final._fits_apart, _parts_of(final, given)
        if not is_around and parts is None:
            call: Call = ("the fit to all samples", (_fit_whole, estimator))
            found = self.submit([call], given.data, lambda _: told())
            return lambda: found()[0]
        if isinstance(estimator, Pipeline):
            fit_last = lambda last, rows: last._become(self.start(last, rows)())  # noqa: E731
            fit: Callable[[], Any] = lambda: fitted_last(estimator, given, fit_last)[0]  # noqa: E731
        elif is_around:
            model = clone(final)
            fit = lambda: model._run(Fit(*given.data, fits=self))  # noqa: E731
        else:
            assert parts is not None
            model, merged = clone(final), self.start_parts(*parts, given, None, {})
            fit = lambda: model._become(merged()[0]) or model  # noqa: E731

        def result() -> Any:
            done = fit()
            told()
            return done

        return result

    def start_folds(
        self, estimator: BaseEstimator, given: Fit, folds: list[Fold], read: Read, told: Callable[[], object]
    ) -> Callable[[], list[Any]]:
        calls: list[Call] = [
            (f"the fit without fold {i}", (_fit_fold, estimator, *fold, read)) for i, fold in enumerate(folds)
        ]
        return self.submit(calls, given.data, lambda _: told())

    def read(self, model: BaseEstimator, X: MatrixLike, read: Read) -> list[Any]:
        inside, before = innermost(model)
        # Models of others, in boosting too, and steps before may compute other bits for other blocks.
        of_others = any(getattr(inside, name, None) is not None for name in ("_weak", "_init"))
        if before or of_others or not isinstance(inside, BaseModel):
            return super().read(model, X, read)
        calls: list[Call] = [(name, (_read_rows, rows)) for name, rows, _ in self.blocks(X)]
        return self.submit(calls, (model, read), lambda _: None)()

    def blocks(self, X: Any) -> list[tuple[str, Any, int]]:
        """A name of each block of samples that tasks predict, the samples, and how many they are."""
        whole: Any = X.tocsr() if is_sparse(X) else X
        return [
            (f"rows {start} to {stop - 1}", safe_indexing(whole, slice(start, stop)), stop - start)
            for start, stop in cuts(count_samples(X), self.n_parts)
        ]


# --- on the workers --------------------------------------------------------------------------------------------------


def _fit_part(
    data: tuple[Any, ...],
    model: Any,
    what: str,
    part: range,
    fit_part: Callable[..., Any] | None,
    others: dict[str, Any],
) -> tuple[Any, Any]:
    if fit_part is not None:
        return model, fit_part(model, Fit(*data), part)
    X, y, weights, y_weight = data
    told = {} if y_weight is None else {"y_weight": y_weight}
    return model.fit(X, y, weights, **{what: part}, **told, **others), None


def _fit_whole(data: tuple[Any, ...], estimator: BaseEstimator) -> BaseEstimator:
    return fitted(estimator, Fit(*data))


def _fit_fold(
    data: tuple[Any, ...], estimator: BaseEstimator, train: NDArray[Any], test: NDArray[Any], read: Read
) -> Any:
    return of_fold(estimator, Fit(*data), train, test, read)


def _read_rows(data: tuple[Any, ...], rows: Any) -> Any:
    model, read = data
    return read(model, rows)


# --- in the calling process ------------------------------------------------------------------------------------------


def _parts_of(model: Any, given: Fit) -> tuple[Any, str, int] | None:
    """A clone of a model inside a meta-estimator that can be fitted in parts, what these are, and of how many; or None."""
    found = model._parts_for(count_columns(given.y)) if isinstance(model, BaseModel) else None
    if found is None:
        return None
    what, n = found
    # A clone has no earlier fit that it could go on from.
    model = clone(model)
    if getattr(model, "warm_start", False):
        model.set_params(warm_start=False)
    if what == "labels":
        target = model._check_y(given.y, given.sample_weight, count_samples(given.X), given.y_weight)
        if target.kind != "labels":
            return None
        n = target.n_outputs
    model._validate_params()
    try:
        updates.checked_range(model, what, range(n), n)
    except ValueError as error:
        raise ValueError(f"{type(model).__name__}: {error}") from None
    return model, what, n


def count_columns(y: Any) -> int:
    """The number of columns of y, which is 1 for a list of classes, or of lists that fits refuse."""
    shape = shape_of(y)
    return int(shape[1]) if shape is not None and len(shape) > 1 else 1


def shape_of(y: Any) -> tuple[int, ...] | None:
    """The shape of y; None for lists of several lengths."""
    try:
        shape: tuple[int, ...] = np.shape(y)
        return shape
    except ValueError:
        return None


def check_executor(executor: object) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be an object with a method submit, got a {type(executor).__name__}")


def _count_parts(n_parts: object, executor: object) -> int:
    check_executor(executor)
    if n_parts is None:
        found = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        return max(1, int(found))
    if not is_integer(n_parts):
        raise TypeError(f"n_parts must be a positive integer or None, got {shown(n_parts)}")
    return integer("n_parts", n_parts, 1, also=" or None")


def cuts(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Non-empty ranges of nearly equal length that partition `range(n)`."""
    n_parts = min(n, n_parts)
    return [(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]


def seconds_of(timeout: object) -> float:
    """The seconds of the argument `timeout`; without a limit the longest time that can be waited for, which is centuries."""
    if timeout is None:
        return TIMEOUT_MAX
    found = number("timeout", timeout, lambda found: found > 0, "a positive number of seconds, or None")
    return min(found, TIMEOUT_MAX)
