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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from weald._distribute.executors import cuts, seconds_of
from weald._distribute.samples_apart import fit_part
from weald._files import model_file
from weald._fit.boosting import BaseBoosting
from weald._fitted.at_once import fitted_at_once
from weald._input.checks import Matrix, count_samples
from weald._input.messages import kind_of
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import is_sparse

# The name of the handler for messages between workers, and of the attribute in which workers store them.
_HANDLER = "weald_samples"
_BOX = "_weald_samples"
# Maximum number of bytes of a message; longer buffers are sent in pieces.
_PIECE = 1 << 25


def fit_samples(
    estimator: BaseBoosting, X: Any, y: Any, sample_weight: Any, executor: Any, timeout: object, options: dict[str, Any]
) -> BaseBoosting:
    """Fit a boosting model to samples that stay on the workers of a Dask cluster; `options` are those of `fit_part`."""
    client = getattr(executor, "_client", executor)
    if not all(callable(getattr(client, name, None)) for name in ("submit", "who_has", "run", "nthreads")):
        raise TypeError(f"executor must be a distributed.Client for boosting, got a {type(executor).__name__}")
    limit = seconds_of(timeout)
    by_worker = _by_worker(_blocks(X, y, sample_weight, client), client, limit)
    token, addresses = uuid.uuid4().hex, list(by_worker)
    holders = [address for address, own in by_worker.items() for _ in own]
    lengths = [
        client.submit(_count, block, workers=[address], pure=False)
        for address, block in zip(holders, chain.from_iterable(by_worker.values()), strict=True)
    ]
    n_samples = sum(_in_time(client, lengths, "lengths of partitions", limit, holders))
    if n_samples == 0:
        raise ValueError("X must have at least one sample, got none")
    client.run(_open_box, token, workers=addresses)
    tasks: list[Any] = []
    try:
        goes_on = estimator.warm_start and hasattr(estimator, "_model")
        sent = model_file.dumps(estimator) if goes_on else clone(estimator)
        for rank, (address, own) in enumerate(by_worker.items()):
            arguments = (sent, own, rank, addresses, token, limit, {**options, "n_samples": n_samples})
            placed = {"workers": [address], "allow_other_workers": False, "pure": False, "retries": 0}
            tasks.append(client.submit(_fit_on_worker, *arguments, **placed))
        (data, of_workers), *digests = _results(client, tasks, addresses)
    finally:
        client.cancel(tasks)
        client.run(_close_box, token, workers=[a for a in addresses if a in _workers_of(client)])
    if {sha256(data).hexdigest(), *digests} != {sha256(data).hexdigest()}:
        raise RuntimeError("workers fitted different models: they must have the same version of weald")
    with fitted_at_once(estimator) as new:
        new._become(model_file.loads(data))
        new.workers_ = of_workers
    return estimator


# --- in the calling process ------------------------------------------------------------------------------------------


def _workers_of(client: Any) -> list[str]:
    return list(client.nthreads())


def _blocks(X: Any, y: Any, sample_weight: Any, client: Any) -> list[Any]:
    """Futures of (X, y) or (X, y, sample_weight): a partition of each collection, or a block of arrays for each worker."""
    from dask.base import is_dask_collection
    from dask.delayed import delayed

    workers = _workers_of(client)
    if not workers:
        raise RuntimeError("the cluster has no workers")
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    if not any(map(is_dask_collection, given.values())):
        whole = [values.tocsr() if is_sparse(values) else values for values in given.values()]
        ranges = [slice(*ends) for ends in cuts(count_samples(X), len(workers))]
        blocks = [tuple(safe_indexing(values, rows) for values in whole) for rows in ranges]
        return [
            client.scatter([block], workers=[to], hash=False)[0] for block, to in zip(blocks, workers, strict=False)
        ]
    parts = [_parts(name, values) for name, values in given.items()]
    if len(set(map(len, parts))) > 1:
        counts = ", ".join(f"{len(part)} of {name}" for name, part in zip(given, parts, strict=True))
        raise ValueError(f"{' and '.join(given)} must have the same number of partitions, got {counts}")
    futures: list[Any] = client.compute([delayed(tuple)(list(block)) for block in zip(*parts, strict=True)])
    return futures


def _parts(name: str, values: Any) -> list[Any]:
    """The partitions of a Dask frame, or the blocks of rows of a Dask array, in order."""
    if not hasattr(values, "to_delayed") or getattr(values, "ndim", 0) not in (1, 2):
        raise TypeError(f"{name} must be a dask.array or dask.dataframe as the others are, got a {kind_of(values)}")
    if len(getattr(values, "numblocks", ())) == 2:
        values = values.rechunk({1: -1})
    return list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))


def _by_worker(futures: list[Any], client: Any, timeout: float) -> dict[str, list[Any]]:
    """The blocks of each worker, as futures that have finished."""
    _in_time(client, futures, "partitions", timeout)
    where = client.who_has(futures)
    found: dict[str, list[Any]] = defaultdict(list)
    for i, future in enumerate(futures):
        holders = where.get(future.key) or ()
        if not holders:
            raise RuntimeError(f"partition {i} was lost with its worker")
        found[min(holders)].append(future)
    return dict(sorted(found.items()))


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
        if future.status == "error":
            raise future.exception()
        if future.status != "finished":
            raise RuntimeError(f"a partition is not available, since its future is {future.status}")
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


def _count(block: tuple[Any, ...]) -> int:
    found = [count_samples(values, name) for values, name in zip(block, ("X", "y", "sample_weight"), strict=False)]
    if len(set(found)) > 1:
        raise ValueError(
            f"X, y and sample_weight must have the same samples in each partition, got partitions of {found} samples"
        )
    return found[0]


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
    """End the task of the fit if it waits for messages, and accept no more of them."""
    if (box := dask_worker.__dict__.get(_BOX, {}).pop(token, None)) is not None:
        box[-1].put("the fit was ended")


def _fit_on_worker(
    model: BaseBoosting | bytes,
    blocks: list[Any],
    rank: int,
    addresses: list[str],
    token: str,
    timeout: float,
    options: dict[str, Any],
) -> Any:
    """The bytes of the model and its `workers_` on the first worker, and their digest on others. A model with stages is bytes."""
    from distributed import get_worker

    worker = get_worker()
    reduce = _TreeReduce(worker, addresses, rank, token, timeout)
    try:
        model = model_file.loads(model) if isinstance(model, bytes) else model
        X, y, weights = _together(blocks)
        fit_part(model, X, y, reduce, sample_weight=weights, **options)
        data = model_file.dumps(model)
    except _OtherFailedError:
        raise
    except BaseException as error:
        reduce.tell_all(f"the worker {addresses[rank]} failed: {type(error).__name__}: {error}")
        raise
    finally:
        reduce.close()
    return (data, model.workers_) if rank == 0 else sha256(data).hexdigest()


def _together(blocks: list[Any]) -> tuple[Any, ...]:
    """The samples of all blocks of a worker."""
    return tuple(_stacked(list(parts)) for parts in zip(*blocks, strict=True)) + (None,) * (3 - len(blocks[0]))


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
