"""Boosting with samples on the workers of a Dask cluster.

Each worker has one task, which runs during the whole fit and calls `fit_part` with the samples of its blocks. The tasks
add their sums along a binary tree, over the connections between Dask workers.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections import defaultdict
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from weald._distribute.samples_apart import fit_part
from weald._files import model_file
from weald._fit.boosting import BaseBoosting
from weald._fitted.at_once import fitted_at_once
from weald._input.checks import Matrix, number
from weald._input.sparse import is_sparse

if TYPE_CHECKING:
    from distributed import Client

# The name of the handler for messages between workers, and of the attribute in which workers store them.
_HANDLER = "weald_samples"
_BOX = "_weald_samples"
# The attribute in which workers store the stages of a fit that failed.
_KEPT = "_weald_stages"
# Seconds to wait for the end of the tasks of a fit that failed.
_LAST_WORDS = 10.0
# Maximum number of bytes of a message; longer buffers are sent in pieces.
_PIECE = 1 << 25


def fit_samples(
    estimator: BaseEstimator, blocks: object, client: Any, *, timeout: float = 300.0, keep_stages: bool = False
) -> BaseEstimator:
    """Fit a gradient boosting model to samples that are distributed over the workers of a Dask cluster.

    Each worker needs a thread during the whole fit, and has its samples in memory twice for a short time. After any
    failure, and Ctrl-C, the tasks of the fit end, and the model is unchanged unless `keep_stages` is True.

    Parameters
    ----------
    estimator : GradientBoostingRegressor or GradientBoostingClassifier
        The model to fit, with parameters that `fit_part` supports.
    blocks : list of (X, y) or (X, y, sample_weight)
        The samples, all dense or all sparse: tuples of arrays, which are sent to workers in turn, or futures of such
        tuples, which stay on their workers, for example `[client.submit(load, path) for path in paths]`.
    client : distributed.Client
        The client of the cluster.
    timeout : float, default=300.0
        Number of seconds that a worker waits for another one before the fit fails: longer than the longest step of the
        fit.
    keep_stages : bool, default=False
        Whether the model keeps the completed stages if the fit fails in a later stage, as in `fit_part`.

    Returns
    -------
    estimator
        The model that was passed, fitted: equal to the result of its own `fit` on all samples, in any order, byte for
        byte.

    Raises
    ------
    TimeoutError
        If a worker did not receive a message of another worker in time, with the address of the latter.
    RuntimeError
        If a worker failed, with its address and the error, or blocks were lost with their worker.
    """
    if not isinstance(estimator, BaseBoosting):
        accepted = "GradientBoostingRegressor or GradientBoostingClassifier"
        raise TypeError(f"estimator must be {accepted}, got a {type(estimator).__name__}")
    if not all(callable(getattr(client, name, None)) for name in ("submit", "who_has", "run", "nthreads")):
        raise TypeError(f"client must be a distributed.Client, got a {type(client).__name__}")
    timeout = number("timeout", timeout, lambda found: 0 < found < np.inf, "a positive number of seconds")
    by_worker = _by_worker(blocks, client, float(timeout))
    token, addresses = uuid.uuid4().hex, list(by_worker)
    holders = [address for address, own in by_worker.items() for _ in own]
    lengths = [
        client.submit(_count, block, workers=[address], pure=False)
        for address, block in zip(holders, chain.from_iterable(by_worker.values()), strict=True)
    ]
    n_samples = sum(_in_time(client, lengths, "lengths of blocks", float(timeout), holders))
    if n_samples == 0:
        raise ValueError("blocks must have at least one sample, got none")
    client.run(_open_box, token, workers=addresses)
    tasks: list[Any] = []
    try:
        goes_on = estimator.warm_start and hasattr(estimator, "_model")
        sent = model_file.dumps(estimator) if goes_on else clone(estimator)
        for rank, (address, own) in enumerate(by_worker.items()):
            arguments = (sent, own, rank, addresses, token, n_samples, float(timeout), bool(keep_stages))
            options = {"workers": [address], "allow_other_workers": False, "pure": False, "retries": 0}
            tasks.append(client.submit(_fit_on_worker, *arguments, **options))
        found = _results(client, tasks, addresses)
    except BaseException as error:
        if keep_stages:
            # The error of the fit is raised, not one that occurs while stages are kept.
            with suppress(Exception):
                _keep_stages(estimator, error, client, tasks, addresses, token)
        raise
    finally:
        client.cancel(tasks)
        client.run(_close_box, token, workers=[a for a in addresses if a in _workers_of(client)])
    data = found[0]
    digests = {sha256(data).hexdigest(), *found[1:]}
    if len(digests) != 1:
        raise RuntimeError("workers fitted different models: they must have the same version of weald")
    _take(estimator, data)
    return estimator


def _take(model: BaseBoosting, data: bytes) -> None:
    with fitted_at_once(model) as new:
        new._become(model_file.loads(data))


def _keep_stages(
    model: BaseBoosting, error: BaseException, client: Client, tasks: list[Any], addresses: list[str], token: str
) -> None:
    """Take the stages of the worker that has completed the most, if there are any."""
    here = _workers_of(client)
    alive = [address for address in addresses if address in here]
    client.run(_end_fit, token, workers=alive)
    _waited([task for task, address in zip(tasks, addresses, strict=False) if address in alive], _LAST_WORDS)
    n_stages = client.run(_count_kept, token, workers=alive)
    if best := max(n_stages, key=n_stages.__getitem__, default=None):
        if n_stages[best] == 0:
            return
        _take(model, client.run(_kept, token, workers=[best])[best])
        error.add_note(
            f"the model has the {model.n_estimators_} stages that were done before; set_params(warm_start=True) and a "
            "fit go on from them"
        )


# --- in the calling process ------------------------------------------------------------------------------------------


def _workers_of(client: Any) -> list[str]:
    return list(client.nthreads())


def _by_worker(blocks: object, client: Any, timeout: float) -> dict[str, list[Any]]:
    """The blocks of each worker, as futures that have finished."""
    from distributed import Future

    workers = _workers_of(client)
    if not workers:
        raise RuntimeError("the cluster has no workers")
    if not isinstance(blocks, list | tuple) or not blocks:
        raise TypeError(
            f"blocks must be a list of (X, y) or (X, y, sample_weight), or of their futures, got {blocks!r:.80}"
        )
    futures = []
    for i, block in enumerate(blocks):
        if not isinstance(block, Future):
            _proven(block, f"blocks[{i}]")
            [block] = client.scatter([block], workers=[workers[i % len(workers)]], hash=False)
        futures.append(block)
    _in_time(client, futures, "blocks", timeout)
    where = client.who_has(futures)
    found: dict[str, list[Any]] = defaultdict(list)
    for i, future in enumerate(futures):
        holders = where.get(future.key) or ()
        if not holders:
            raise RuntimeError(f"blocks[{i}] was lost with its worker")
        found[min(holders)].append(future)
    return dict(sorted(found.items()))


def _proven(block: object, name: str) -> None:
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise TypeError(f"{name} must be (X, y) or (X, y, sample_weight), got a {type(block).__name__}")


def _waited(futures: list[Any], timeout: float) -> bool:
    """Wait for at most `timeout` seconds, and return whether all futures have ended."""
    from distributed import wait

    try:
        wait(futures, timeout=timeout)  # type: ignore[no-untyped-call]
    except TimeoutError:
        return False
    return True


def _in_time(client: Any, futures: list[Any], what: str, timeout: float, holders: list[str] | None = None) -> Any:
    """Wait for the futures. Raises TimeoutError if they do not end in time.

    `holders` are the workers that run the futures: then the results are returned, and a RuntimeError names a worker
    that was lost.
    """
    deadline = time.monotonic() + timeout
    while not _waited(futures, max(min(1.0, deadline - time.monotonic()), 0.0)):
        if holders is not None:
            _check_workers(client, holders)
        if time.monotonic() >= deadline:
            waiting = [i for i, future in enumerate(futures) if future.status == "pending"]
            names = "" if holders is None else f": workers {', '.join(sorted({holders[i] for i in waiting}))}"
            raise TimeoutError(f"{len(waiting)} of {len(futures)} {what} did not finish within {timeout} s{names}")
    for future in futures:
        if future.status != "finished":
            error = future.exception()
            if holders is not None and isinstance(error, TypeError):
                raise error
            raise RuntimeError(f"a block is not available, since its future is {future.status}: {error!r}") from error
    return None if holders is None else client.gather(futures)


def _check_workers(client: object, addresses: list[str]) -> None:
    here = _workers_of(client)
    if lost := [address for address in addresses if address not in here]:
        raise RuntimeError(f"the worker {lost[0]} was lost during the fit")


def _results(client: Any, tasks: list[Any], addresses: list[str]) -> list[Any]:
    """The results of the tasks. Raises the first error that is not a consequence of an error of another worker."""
    while not _waited(tasks, 1.0):
        if any(task.status != "pending" for task in tasks):
            # A task that fails notifies the others, which end soon after. A task whose worker is lost never ends.
            _waited(tasks, 2.0)
            break
        _check_workers(client, addresses)
    if all(task.status == "finished" for task in tasks):
        return list(client.gather(tasks))
    errors = [task.exception() for task in tasks if task.status == "error"]
    for error in errors:
        if not isinstance(error, _OtherFailedError):
            raise error
    raise RuntimeError("tasks of the fit were lost or cancelled") from (errors or [None])[0]


# --- on the workers --------------------------------------------------------------------------------------------------


class _OtherFailedError(RuntimeError):
    """Another worker has failed. Its error is raised instead of this one."""


def _count(block: Any) -> int:
    _proven(block, "a block")
    X = block[0]
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _open_box(token: str, dask_worker: Any) -> None:
    """Start to store messages of the fit `token` on this worker. They may arrive before its task has started."""
    boxes = dask_worker.__dict__.setdefault(_BOX, {})
    boxes[token] = defaultdict(queue.Queue)

    def take(token: str, sender: int, message: object) -> None:
        if token in boxes:
            boxes[token][sender].put(message)

    dask_worker.handlers[_HANDLER] = take


def _end_fit(token: str, dask_worker: object) -> None:
    """End the task of the fit on this worker if it waits for messages."""
    box = dask_worker.__dict__.get(_BOX, {}).get(token)
    if box is not None:
        box[-1].put("the fit was ended")


def _close_box(token: str, dask_worker: object) -> None:
    """Stop accepting messages, and delete stages that were kept."""
    _end_fit(token, dask_worker)
    dask_worker.__dict__.get(_BOX, {}).pop(token, None)
    dask_worker.__dict__.get(_KEPT, {}).pop(token, None)


def _count_kept(token: str, dask_worker: object) -> int:
    return int(dask_worker.__dict__.get(_KEPT, {}).get(token, (0, b""))[0])


def _kept(token: str, dask_worker: object) -> bytes:
    return bytes(dask_worker.__dict__[_KEPT][token][1])


def _fit_on_worker(
    model: BaseBoosting | bytes,
    blocks: list[Any],
    rank: int,
    addresses: list[str],
    token: str,
    n_samples: int,
    timeout: float,
    keep_stages: bool,
) -> Any:
    """The bytes of the model on the first worker, and their digest on others. `model` is bytes if it has stages."""
    from distributed import get_worker

    worker = get_worker()
    reduce = _TreeReduce(worker, addresses, rank, token, timeout)
    try:
        model = model_file.loads(model) if isinstance(model, bytes) else model
        n_before = getattr(model, "n_estimators_", 0)
        X, y, weights = _together(blocks)
        options = {"n_samples": n_samples, "sample_weight": weights, "keep_stages": keep_stages}
        try:
            fit_part(model, X, y, reduce, **options)
        except BaseException:
            if getattr(model, "n_estimators_", 0) > n_before:
                worker.__dict__.setdefault(_KEPT, {})[token] = (model.n_estimators_, model_file.dumps(model))
            raise
        data = model_file.dumps(model)
    except _OtherFailedError:
        raise
    except BaseException as error:
        reduce.tell_all(f"the worker {addresses[rank]} failed: {type(error).__name__}: {error}")
        raise
    finally:
        reduce.close()
    return data if rank == 0 else sha256(data).hexdigest()


def _together(blocks: list[Any]) -> tuple[Any, Any, Any]:
    """The samples of all blocks of a worker."""
    for block in blocks:
        _proven(block, "a block")
    X, y = (_stacked([block[i] for block in blocks]) for i in range(2))
    if all(len(block) == 2 or block[2] is None for block in blocks):
        return X, y, None
    weights = [block[2] if len(block) == 3 and block[2] is not None else np.ones(_count(block)) for block in blocks]
    return X, y, np.concatenate([np.asarray(weight) for weight in weights])


def _stacked(parts: list[Any]) -> Matrix:
    if len(parts) == 1:
        return parts[0]
    if any(is_sparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    if all(hasattr(part, "iloc") for part in parts):
        import pandas as pd  # type: ignore[import-untyped]

        return pd.concat(parts, ignore_index=True)
    return np.concatenate([np.asarray(part) for part in parts])


class _TreeReduce:
    """Add the buffers of all workers along a binary tree with the first worker as root, and send back the sums."""

    def __init__(self, worker: Any, addresses: list[str], rank: int, token: str, timeout: float) -> None:
        self.worker, self.addresses, self.rank, self.token, self.timeout = worker, addresses, rank, token, timeout
        self.parent = (rank - 1) // 2 if rank else None
        self.children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < len(addresses)]
        self.box = getattr(worker, _BOX)[token]
        self.comms: dict[int, Any] = {}

    def __call__(self, buffer: NDArray[Any], op: str) -> None:
        combine = {"sum": np.add, "max": np.maximum}[op]
        for child in self.children:
            combine(buffer, self._received(child, buffer), out=buffer)
        if self.parent is not None:
            self._send(self.parent, buffer)
            buffer[:] = self._received(self.parent, buffer)
        for child in self.children:
            self._send(child, buffer)

    def tell_all(self, text: str) -> None:
        """End the fit on all other workers."""
        for rank in range(len(self.addresses)):
            if rank != self.rank:
                # A worker that cannot be notified is lost, or will reach its timeout.
                with suppress(Exception):
                    self._post(rank, text, 5.0)

    def close(self) -> None:
        for comm in self.comms.values():
            self.worker.loop.add_callback(comm.abort)

    def _send(self, rank: int, buffer: NDArray[Any]) -> None:
        data = memoryview(buffer).cast("B")
        for start in range(0, max(1, len(data)), _PIECE):
            self._post(rank, bytes(data[start : start + _PIECE]), self.timeout)

    def _post(self, rank: int, message: bytes | str, timeout: float) -> None:
        from distributed.comm.core import connect
        from distributed.utils import sync

        address = self.addresses[rank]

        async def post() -> None:
            # One connection for each other worker, which preserves the order of messages without replies.
            if rank not in self.comms:
                arguments = self.worker.security.get_connection_args("worker")
                self.comms[rank] = await connect(address, timeout=timeout, **arguments)  # type: ignore[no-untyped-call]
            parts = {"op": _HANDLER, "reply": False, "token": self.token, "sender": self.rank, "message": message}
            await self.comms[rank].write(parts)

        try:
            sync(self.worker.loop, post, callback_timeout=timeout)
        except TimeoutError as error:
            raise TimeoutError(f"the worker {address} received no message within {timeout} s") from error
        except OSError as error:
            raise RuntimeError(f"the worker {address} was lost during the fit: {error}") from error

    def _received(self, rank: int, like: NDArray[Any]) -> NDArray[Any]:
        """Receive a buffer from the worker `rank`, of the length and dtype of `like`."""
        ends, pieces, n_left = time.monotonic() + self.timeout, [], max(1, like.nbytes)
        while n_left > 0:
            message = self._message(rank, ends)
            if len(message) > n_left or (like.nbytes and not message):
                raise RuntimeError(f"the worker {self.addresses[rank]} sent a buffer of another length")
            pieces.append(message)
            n_left -= max(1, len(message))
        return np.frombuffer(b"".join(pieces), dtype=like.dtype)

    def _message(self, rank: int, ends: float) -> bytes:
        while True:
            # A worker that fails notifies all others, which may be waiting for a third one.
            for box in list(self.box.values()):
                for text in list(box.queue):
                    if isinstance(text, str):
                        raise _OtherFailedError(text)
            try:
                message = self.box[rank].get(timeout=min(0.5, max(0.0, ends - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= ends:
                    address = self.addresses[rank]
                    raise TimeoutError(f"the worker {address} sent nothing within {self.timeout} s") from None
                continue
            if isinstance(message, str):
                raise _OtherFailedError(message)
            return bytes(message)
