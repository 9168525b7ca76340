"""Boosting with samples on several workers, which add their sums by an all-reduce operation."""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from weald import _weald
from weald import loss as losses
from weald._distribute.checkpoints import Checkpoint
from weald._files import model_file
from weald._fit import boosting
from weald._fit.boosting import BaseBoosting
from weald._fitted.at_once import fitted_at_once
from weald._input import checks
from weald._input.checks import Float, Matrix, integer, is_integer
from weald._input.frames import names_of
from weald._input.schema import Schema
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._input.targets import Target, check_one_kind
from weald._parameters.types import MatrixLike, SampleWeight
from weald._rounds import held_out

if TYPE_CHECKING:
    from weald._fit.base import BaseModel

__all__ = ["fit_part"]

AllReduce = Callable[[NDArray[Any], str], Any]

# Parameters that do not affect the model.
_FREE = {"n_jobs", "verbose"}
# Parameters that a fit may change that goes on from a checkpoint.
_MAY_GROW = {"n_estimators", "warm_start"}
# Parameters that need all samples in one process.
_UNSET = ("estimator", "init", "scoring", "callbacks", "monotonic_cst")
_MOST_DRAWS = 64
_MOST_WORKERS = 1 << 20
# The number that every worker sends with each buffer, as the engine does.
_MARK = 1_000_003
# The largest message of one worker in bytes: its parameters, and the classes of y.
_MOST_BYTES = 1 << 32


def fit_part(
    estimator: BaseModel,
    X: MatrixLike,
    y: MatrixLike,
    all_reduce: AllReduce,
    *,
    n_samples: int,
    sample_weight: SampleWeight = None,
    checkpoint: object = None,
    every: int = 20,
) -> BaseEstimator:
    """Fit a gradient boosting model to samples that are distributed over several workers.

    Each worker calls this function with its own samples, of which it may have none, and obtains the model of a single
    machine with all samples, byte for byte. Sums are exact for up to 2**26 samples with numbers and 2**30 with labels
    and classes; beyond, last bits may depend on how samples are distributed. With `warm_start=True`, the fit continues
    from the stages that all workers have. The cost is that of `fit` on the samples of the worker and communication.
    `docs/many-machines.md#samples-on-several-machines` has the parameters that are not supported, and failures.

    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> model = weald.GradientBoostingClassifier(n_estimators=5, random_state=0)
    >>> weald.distribute.fit_part(model, X, y, lambda buffer, op: None, n_samples=150).n_estimators_  # one worker
    5

    Parameters
    ----------
    estimator : GradientBoostingRegressor or GradientBoostingClassifier
        The model to fit, with an integer `random_state`, and the same parameters on every worker except `n_jobs` and
        `verbose`. The losses are "squared_error" and "log_loss".
    X : {array-like, sparse matrix} of shape (n_samples_of_this_worker, n_features)
        The samples of this worker. All workers must have the same features, and all dense or all sparse X.
    y : {array-like, sparse matrix} of shape (n_samples_of_this_worker,) or (n_samples_of_this_worker, n_outputs)
        The targets of these samples, of the same kind and dtype on every worker.
    all_reduce : callable
        A function `all_reduce(buffer, op)` that replaces the values of a one-dimensional array of float64 or int64 by
        their sums ("sum") or maxima ("max") over all workers, the same on each. It is called from the thread of
        `fit_part`, its exceptions end the fit, and it should have a timeout.
    n_samples : int
        Total number of samples of all workers. It is only used to check that no samples are missing.
    sample_weight : array-like of shape (n_samples_of_this_worker,) or None, default=None
        Weights of the samples of this worker, which may be all zero. None where others have weights: 1.
    checkpoint : str, path-like or None, default=None
        A file, or a URL of fsspec, to which the first worker writes the model of the stages so far, as `weald.save`
        does. If there is one, the fit goes on from it, with any number of workers.
    every : int, default=20
        Number of stages after which the checkpoint is written, and after a failure. Each time copies the model.

    Returns
    -------
    estimator
        The model that was passed, fitted. `workers_`, which no file has, is a list of a dict for each worker: `worker`,
        `n_samples`, `seconds_at_work`, and of calls of `all_reduce` `seconds_waiting`, `n_calls` and `n_bytes`.

    Raises
    ------
    ValueError
        If the checkpoint is of a fit with other data, parameters or release, with the first that differs.
    RuntimeError
        If `all_reduce` gives different values to different workers, or values that the workers have not sent.
    """
    if not isinstance(estimator, BaseBoosting):
        accepted = "GradientBoostingRegressor or GradientBoostingClassifier"
        raise TypeError(f"estimator must be {accepted}, got a {type(estimator).__name__}")
    if not callable(all_reduce):
        raise TypeError(
            "all_reduce must be a callable with the arguments buffer and 'sum' or 'max', got a "
            f"{type(all_reduce).__name__}"
        )
    n_samples, every = integer("n_samples", n_samples, 1), integer("every", every, 1)
    file = None if checkpoint is None else Checkpoint(checkpoint)
    timed = _Timed(all_reduce)
    workers = _Workers(timed)
    part = workers.agree(lambda: _Part(estimator, X, y, sample_weight), lambda part: part.told())
    of_parts = workers.told
    found = sum(part.n_given for part in of_parts)
    if found != n_samples:
        raise ValueError(f"n_samples must be {found}, the number of samples of all workers, got {n_samples}")
    with fitted_at_once(estimator) as new:
        begun = None if file is None else _begun(new, file, workers)
        if begun is None:
            grown = _stages_of_all(estimator, of_parts)
        else:
            new._become(begun)
            new.warm_start, grown = True, begun._model
        checked = workers.agree(
            lambda: _Checked(new, part.with_stand_in(of_parts), grown, file is not None),
            lambda checked: checked.told(),
        )
        digest = sum(told.digest for told in workers.told) % (1 << 64)
        if file is not None and begun is not None and digest != int(begun._checkpoint[1], 16):
            raise _other_fit(file, "other samples, targets or weights")
        n_there, n_columns = sum(told.n_given for told in workers.told), new._n_columns(checked.target)
        first = checked.plan
        n_different = _n_different(workers, checked, first["most_counted"]) if first["counts_different"] else n_there
        new._plan = _weald.plan_of_boosting(checked.asked, (n_there, n_there, n_different, True, False))
        new._shared = new._describe(checked.target)
        if new._plan["cv"] is not None:
            raise ValueError(
                f"fit_part does not support n_estimators='auto' for {n_there} samples with {n_columns} columns of scores, "
                "where folds of all samples find the number: it must be a number"
            )
        config = new._boost_config(n_there, checked.target, checked.of_labels)
        data = checked.X, checked.target.engine, (checked.weights, None), None
        kept: list[_weald.Boosted] = []

        def save() -> None:
            if file is not None and workers.place == 0 and kept:
                done: BaseBoosting = new._twin()
                _end(done, kept[-1])
                done._checkpoint = _weald.__version__, f"{digest:016x}"
                file.write(model_file.dumps(done))

        def reached(stages: _weald.Boosted) -> None:
            kept[:] = [stages]
            if stages.n_stages < config["n_estimators"]:
                workers.agree(save, lambda _: _Told(0, {}))

        observer = None if file is None else reached
        try:
            kept[:] = [_weald.fit_boosting_part(data, config, timed, new._n_threads(), grown, kept, every, observer)]
            rows = workers._gathered(json.dumps(timed.row(part.n_given)).encode())
        except BaseException:
            # The error of the fit is raised, not one that occurs while stages are saved.
            with suppress(Exception):
                save()
            raise
        _end(new, kept[0])
        new.workers_ = [json.loads(row.rstrip(b"\0")) for row in rows]
    return estimator


def _end(model: BaseBoosting, stages: _weald.Boosted) -> None:
    """Set what a fit that ends with these stages sets."""
    model._model, model._weak, model.n_estimators_ = stages, None, stages.n_stages
    model._keep_plan()


def _begun(model: BaseBoosting, file: Checkpoint, workers: _Workers) -> Any:
    """The model of the checkpoint with the most stages that any worker can read, if there is one."""

    def read() -> tuple[bytes, int]:
        if (data := file.read()) is None:
            return b" ", 0
        found = model_file.loads(data)
        if not isinstance(found, BaseBoosting) or not hasattr(found, "_checkpoint"):
            raise ValueError(f"checkpoint must be a file that fit_part has written, got another one, {file.path!r}")
        before, now = _same_of(found) | {"the version of weald": found._checkpoint[0]}, _same_of(model)
        for name in sorted((before.keys() | now.keys()) - _MAY_GROW):
            if before.get(name) != now.get(name):
                raise _other_fit(file, f"{name} {before.get(name)} in place of {now.get(name)}")
        if isinstance(model.n_estimators, int) and found.n_estimators_ > model.n_estimators:
            raise _other_fit(file, f"{found.n_estimators_} stages, more than n_estimators={model.n_estimators}")
        return data, found.n_estimators_

    data, _ = workers.agree(read, lambda found: _Told(0, {}, n_stages=found[1]))
    n_stages = [told.n_stages for told in workers.told]
    if max(n_stages) == 0:
        return None
    best = n_stages.index(max(n_stages))
    return model_file.loads(workers._gathered(data if workers.place == best else b" ")[best])


def _other_fit(file: Checkpoint, what: str) -> ValueError:
    return ValueError(
        f"checkpoint must be of a fit like this one, got the file {file.path!r} of a fit with {what}: delete it, or "
        "use another path"
    )


def _n_different(workers: _Workers, checked: _Checked, most: int) -> int:
    """The number of different samples of all workers, or of one of them that alone has more than counts."""
    own = held_out.different_samples(checked.X, checked.weights)
    workers.agree(lambda: own, lambda own: _Told(len(own), {}, [own if len(own) <= most else own[:0]]))
    of_all = [told.classes[0] for told in workers.told if told.classes]
    return max(*(told.n_given for told in workers.told), len(np.unique(np.concatenate(of_all))))


def _stages_of_all(model: BaseBoosting, told: list[_Told]) -> _weald.Boosted | None:
    """The stages that all workers have, from which the fit continues."""
    n_stages = [other.n_stages for other in told]
    fewest, most = min(n_stages), max(n_stages)
    if most == 0:
        return None
    if fewest == 0:
        raise ValueError(
            f"warm_start requires a fitted model on every worker, but the model has {most} stages on worker "
            f"{n_stages.index(most)} and none on worker {n_stages.index(0)}"
        )
    return model._model.truncated(fewest)


@dataclass(frozen=True)
class _Told:
    """What a worker sends to the others: fields that must be equal on all workers, and others."""

    n_given: int
    same: dict[str, str]
    classes: list[NDArray[Any]] | None = None
    n_stages: int = 0
    # Whether y is an array of objects.
    are_objects: bool = False
    digest: int = 0

    def packed(self) -> bytes:
        found = BytesIO()
        for values in self.classes or ():
            np.save(found, values, allow_pickle=False)
        n_columns = None if self.classes is None else len(self.classes)
        told = [self.n_given, self.same, n_columns, self.n_stages, self.are_objects, self.digest]
        return json.dumps(told).encode() + b"\n" + found.getvalue()

    @classmethod
    def unpacked(cls, message: bytes) -> _Told:
        line, _, rest = message.partition(b"\n")
        n_given, same, n_columns, *others = json.loads(line)
        classes = None
        if n_columns is not None:
            arrays = BytesIO(rest)
            classes = [np.load(arrays, allow_pickle=False) for _ in range(n_columns)]
        return cls(n_given, same, classes, *others)


class _Timed:
    """An all-reduce, and what it has cost this worker."""

    def __init__(self, all_reduce: AllReduce) -> None:
        self.all_reduce, self.began = all_reduce, time.perf_counter()
        self.waited, self.n_calls, self.n_bytes = 0.0, 0, 0

    def __call__(self, buffer: NDArray[Any], op: str) -> Any:
        self.n_calls, self.n_bytes = self.n_calls + 1, self.n_bytes + buffer.nbytes
        began = time.perf_counter()
        try:
            return self.all_reduce(buffer, op)
        finally:
            self.waited += time.perf_counter() - began

    def row(self, n_samples: int) -> dict[str, Any]:
        """The row of this worker in the table of a fit."""
        return {
            "worker": f"{platform.node()}, process {os.getpid()}",
            "n_samples": n_samples,
            "seconds_at_work": time.perf_counter() - self.began - self.waited,
            "seconds_waiting": self.waited,
            "n_calls": self.n_calls,
            "n_bytes": self.n_bytes,
        }


class _Workers:
    """The workers of a fit: `place` is the index of this one, and `told` is what each of them sent last."""

    def __init__(self, all_reduce: AllReduce) -> None:
        self._all_reduce = all_reduce
        self.n_workers = 0  # not known yet
        self.place, self.n_workers = self._find_place()
        self.told: list[_Told] = []

    def _reduced(self, values: object, op: str) -> NDArray[np.int64]:
        """The sums or maxima of what all workers send, with a mark at the end that shows who took part."""
        buffer = np.append(np.array(values, dtype=np.int64), _MARK)
        self._all_reduce(buffer, op)
        expected = _MARK * (self.n_workers if op == "sum" else 1)
        if buffer[-1] != expected and expected:
            raise _other_sums()
        return buffer[:-1]

    def _find_place(self) -> tuple[int, int]:
        """The index of this worker and the number of workers.

        Since workers do not know their index, each one draws a random number, and they are sorted in descending order.
        """
        for _ in range(_MOST_DRAWS):
            own, place, n_workers, are_apart = 1 + secrets.randbits(62), -1, 0, True
            last = 1 << 63
            while (largest := int(self._reduced([own if place < 0 else 0], "max")[0])) > 0:
                # Numbers that no worker has drawn would not end the loop.
                if largest >= last or n_workers == _MOST_WORKERS:
                    raise _other_sums()
                last = largest
                is_own = place < 0 and own == largest
                place = n_workers if is_own else place
                are_apart &= int(self._reduced([is_own], "sum")[0]) == 1
                n_workers += 1
            if are_apart and place >= 0:
                return place, n_workers
        raise RuntimeError("all_reduce must return the same values on all workers, got different ones")

    def _gathered(self, message: bytes) -> list[bytes]:
        lengths = np.zeros(self.n_workers, dtype=np.int64)
        lengths[self.place] = len(message)
        lengths = self._reduced(lengths, "sum")
        if lengths[self.place] != len(message) or (lengths < 1).any() or (lengths > _MOST_BYTES).any():
            raise _other_sums()
        starts = np.concatenate([[0], np.cumsum((lengths + 7) // 8)])
        words = np.zeros(starts[-1], dtype=np.int64)
        padded = message + bytes(-len(message) % 8)
        words[starts[self.place] : starts[self.place + 1]] = np.frombuffer(padded, dtype="<i8")
        words = self._reduced(words, "sum").astype("<i8")
        found = [words[starts[i] : starts[i + 1]].tobytes()[:n] for i, n in enumerate(lengths)]
        if found[self.place] != message:
            raise _other_sums()
        return found

    def agree(self, check: Callable[[], Any], tell: Callable[[Any], _Told]) -> Any:
        """The result of `check` if it succeeds and agrees on all workers, or else its error or that of another one."""
        found = refused = None
        try:
            found = check()
            message = b"+" + tell(found).packed()
        except Exception as error:
            refused = error
            # Messages may contain arguments of the user.
            where = f"({platform.node()}, process {os.getpid()})"
            message = (
                b"-" + f"{where} has raised an error for its data: {type(error).__name__}: {str(error)[:500]}".encode()
            )
        messages = self._gathered(message)
        if refused is not None:
            raise refused
        for i, other in enumerate(messages):
            if other[:1] == b"-":
                raise ValueError(f"worker {i} of {self.n_workers} {other[1:].decode(errors='replace')}")
        try:
            self.told = [_Told.unpacked(other[1:]) for other in messages]
        except Exception as error:  # headers of arrays that are damaged raise errors of many types
            raise _other_sums() from error
        first = self.told[0].same
        for i, told in enumerate(self.told):
            for name in first | told.same:
                if told.same.get(name) != first.get(name):
                    raise ValueError(
                        f"{name} must be the same on all workers, got {first.get(name)} on worker 0 and "
                        f"{told.same.get(name)} on worker {i}"
                    )
        return found


def _other_sums() -> RuntimeError:
    return RuntimeError(
        "all_reduce must return the same values on all workers, sums and maxima of what they send, got others"
    )


def _same_of(model: BaseBoosting) -> dict[str, str]:
    """What must be the same on all workers, and in the fit of a checkpoint: the class, the parameters and the release."""
    parameters = model.get_params(deep=False)
    same = {"model": type(model).__name__, "the version of weald": _weald.__version__}
    return same | {name: _as_text(value) for name, value in sorted(parameters.items()) if name not in _FREE}


def _as_text(value: Any) -> str:
    """A parameter as text, in which arrays are replaced by digests."""
    if isinstance(value, np.ndarray) or is_sparse(value):
        array = value.toarray() if is_sparse(value) else value
        return f"an array of shape {array.shape} and digest {sha256(array.tobytes()).hexdigest()[:16]}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_text, value))}]"
    return repr(value)


def _has_softmax(model: BaseBoosting) -> bool:
    return losses.get(model.loss).name in losses.supporting("softmax")


def _check_supported(model: BaseBoosting) -> None:
    """Raise an error for parameters that are not supported with distributed samples."""

    def refuse(name: str, accepted: str) -> None:
        raise ValueError(f"fit_part does not support {name}={getattr(model, name)!r}: it must be {accepted}")

    if not is_integer(model.random_state):
        refuse("random_state", "an integer, the same on all workers")
    supported = losses.supporting("has_workers")
    if losses.get(model.loss).name not in supported:
        refuse("loss", " or ".join(map(repr, supported)))
    for name in _UNSET:
        if getattr(model, name) is not None:
            refuse(name, "None")
    if model._patience() is not None:
        refuse(*(("n_iter_no_change", "None") if model.early_stopping == "auto" else ("early_stopping", "False")))
    if model.max_bins is None:
        refuse("max_bins", "from 2 to 255")
    if model.warm_start and hasattr(model, "_model") and (model._weak is not None or model._init is not None):
        raise ValueError(
            "fit_part does not support warm_start for a model that was fitted with estimator or init: warm_start "
            "must be False"
        )
    for name in ("class_weight", "label_weight"):
        if isinstance(getattr(model, name, None), str):
            refuse(name, "weights, or None")


class _Part:
    """The samples of a worker as passed, without those of weight zero."""

    def __init__(self, model: BaseBoosting, X: Raw, y: Raw, sample_weight: SampleWeight) -> None:
        model._validate_params()
        model._check_parameters()
        _check_supported(model)
        if not hasattr(X, "shape"):
            with checks.named("X"):
                X = np.asarray(X)
        if not hasattr(y, "shape"):
            with checks.named("y"):
                y = np.asarray(y)
        if len(X.shape) != 2 or len(y.shape) not in (1, 2) or X.shape[0] != y.shape[0]:
            raise ValueError(
                "X must have shape (n_samples, n_features), and y the same number of samples, got X of shape "
                f"{X.shape} and y of shape {y.shape}"
            )
        self.model, self.n_given = model, int(X.shape[0])
        self.names = names_of(y)
        y = y if is_sparse(y) else np.asarray(y)
        weights = np.full(self.n_given, sample_weight) if isinstance(sample_weight, Real) else sample_weight
        if weights is not None:
            weights = checks.check_real(weights, "sample_weight")
            none_counts = np.shape(weights) == (self.n_given,) and not np.any(weights)
            checked: Any = np.zeros(self.n_given)
            if not none_counts:
                checked = checks.check_weights(weights, self.n_given)
            there = np.flatnonzero(checked)
            if len(there) < self.n_given:
                X = X.tocsr() if is_sparse(X) else X
                X, y = safe_indexing(X, there), safe_indexing(y.tocsr() if is_sparse(y) else y, there)
            weights = checked[there]
        self.X, self.y, self.weights = X, y, weights

    def told(self) -> _Told:
        same = _same_of(self.model)
        same |= {"the number of features": str(self.X.shape[1]), "X": "sparse" if is_sparse(self.X) else "dense"}
        same |= {"the dimensions of y": str(self.y.ndim), "y": "sparse" if is_sparse(self.y) else "dense"}
        n_stages = self.model._model.n_stages if self.model._goes_on() else 0
        if not is_classifier(self.model) or is_sparse(self.y):
            return _Told(self.n_given, same, None, n_stages)
        classes = [self._of_column(j) for j in range(self._wide().shape[1])]
        return _Told(self.n_given, same, classes, n_stages, self.y.dtype == object and len(self.y) > 0)

    def _wide(self) -> NDArray[Any]:
        return np.asarray(self.y if self.y.ndim == 2 else self.y[:, None])

    def _of_column(self, j: int) -> NDArray[Any]:
        values = self._wide()[:, j]
        if values.dtype != object:
            return np.unique(values)
        kinds = {type(value) for value in values.tolist()}
        if all(issubclass(kind, bool | Real) for kind in kinds):
            return np.unique(np.asarray(values.tolist()))
        if not all(issubclass(kind, str) for kind in kinds):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise TypeError(f"y must be numbers, bools or strings, got objects of the types {names}")
        return np.unique(values.astype(str))

    def with_stand_in(self, told: list[_Told]) -> _Part:
        """The samples, with additional samples of weight zero whose y contains the classes of all workers."""
        self.stand_ins = None
        n_there = self.X.shape[0]
        if told[0].classes is not None:
            wide = self._wide()
            columns = []
            for j in range(wide.shape[1]):
                of_all = [other.classes[j] for other in told if other.classes is not None and len(other.classes[j])]
                check_one_kind(of_all, "on all workers")
                columns.append(np.unique(np.concatenate(of_all)) if of_all else np.zeros(1))
            rows = np.stack([np.resize(column, max(map(len, columns))) for column in columns], axis=1)
            # As all samples together would be.
            dtype = np.dtype(object) if any(other.are_objects for other in told) else rows.dtype
            self.y, self.stand_ins = wide.astype(dtype) if n_there else rows[:1], rows.astype(dtype)
        if n_there:
            return self
        # A sample of weight zero.
        self.weights = np.zeros(1)
        n_features = self.X.shape[1]
        if is_sparse(self.X):
            self.X = sparse.csr_array((1, n_features), dtype=np.float32)
        elif hasattr(self.X, "reindex"):
            self.X = self.X.reindex(range(1)).astype(np.float64)
        else:
            self.X = np.zeros((1, n_features), dtype=np.float32)
        if is_sparse(self.y):
            kind = sparse.csr_array if isinstance(self.y, sparse.sparray) else sparse.csr_matrix
            self.y = kind((1, self.y.shape[1]), dtype=self.y.dtype)
        elif self.stand_ins is None:
            self.y = np.zeros((1, *self.y.shape[1:]))
        return self


class _Checked:
    """The samples of a worker in the form of the engine, with an estimator that has validated them."""

    X: Matrix
    weights: Float | None

    def __init__(self, new: BaseBoosting, part: _Part, grown: _weald.Boosted | None, has_digest: bool) -> None:
        before = dict(new.__dict__)
        self._grown, self._has_digest = grown, has_digest
        new._forget()
        for name in ("_init", "_eval_curves"):
            new.__dict__.pop(name, None)
        self.X = new._check_X(part.X, reset=True, kept=None if grown is None else Schema.of(new))
        if (categories := new.is_categorical_) is not None and np.any(categories):
            raise ValueError(
                "fit_part does not support categorical features, got X with some and "
                f"categorical_features={new.categorical_features!r}"
            )
        n = self.X.shape[0]
        self.target = _target(new, part, n)
        if self.target.known is not None:
            raise ValueError("fit_part does not support missing values in y: y must be numbers")
        if grown is None:
            new._seed = checks.draw_seed(new.random_state)
        self.asked = new._asks_for(self.target, may_search=True)
        new._plan = self.plan = _weald.plan_of_boosting(self.asked, (0, 0, 0, True, False))
        shared = new._describe(self.target)
        if grown is not None:
            boosting.check_warm_start(new, before, shared, grown.n_stages)
        new._shared = shared
        boosting.check_effects(new, new._n_columns(self.target), has_validation=False)
        softmax = self.target.kind == "classes" and self.target.n_columns > 2 and _has_softmax(new)
        if softmax and new.leaf_estimation == "line_search" and new._shared["output_strategy"] != "single_target":
            raise ValueError(
                "fit_part does not support leaf_estimation='line_search' for three and more classes: it must be "
                "'newton'"
            )
        there = np.count_nonzero(part.weights) if part.weights is not None else n
        weights = part.weights if there else None
        self.of_labels = new._of_labels(self.target, weights)
        by_row = _weald.weights_by_row(self.target.engine, new._row_weights(self.target, weights))
        self.weights = by_row if there else np.zeros(n)
        self._n_there = n if self.weights is None else int(np.count_nonzero(self.weights))
        self._names = getattr(new, "feature_names_in_", None)

    def told(self) -> _Told:
        target = self.target
        same = {"the kind of y": target.kind, "the number of outputs": str(target.n_outputs)}
        same |= {"the names of features": _as_text(list(self._names) if self._names is not None else None)}
        same |= {"the names of outputs": _as_text(None if target.names is None else list(target.names))}
        if target.label_format is not None:
            same["the type of y"] = f"{target.label_format.dtype} {target.label_format.container}"
        elif target.container is not None:
            same["the type of y"] = target.container
        stages = None if self._grown is None else sha256(self._grown.to_bytes()).hexdigest()[:16]
        same["the digest of the stages before"] = str(stages)
        return _Told(self._n_there, same, digest=self._digest() if self._has_digest else 0)

    def _digest(self) -> int:
        """A number that depends on the samples, but not on their order, nor on the workers that have them."""
        y, weights = self.target.engine, self.weights
        if isinstance(y, tuple):
            codes, *rest = y
            y = codes if len(rest) == 1 else _csr(*y)
        rows = _weald.hashes_of_samples(self.X if self.X.dtype == np.float32 else self.X.astype(np.float32))
        rows = _mixed(rows, _hashes(y))
        if weights is not None:
            rows = _mixed(rows, _hashes(weights[:, None]))[weights > 0]
        return int(rows.sum(dtype=np.uint64))


def _csr(indptr: NDArray[Any], indices: NDArray[Any], *rest: Any) -> Matrix:
    """Sparse y of the engine as a matrix."""
    values = rest[0] if len(rest) == 2 else np.ones(len(indices))
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, rest[-1]))


def _hashes(values: Any) -> NDArray[np.uint64]:
    """A hash for each row of numbers, which the engine takes as float32: of their rounded values, and of the rest."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32)
        rest = (values - rounded).astype(np.float32)
    return _mixed(_weald.hashes_of_samples(rounded), _weald.hashes_of_samples(rest))


def _mixed(rows: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (rows ^ (rows >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + others
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


def _target(new: BaseBoosting, part: _Part, n: int) -> Target:
    """The targets of this worker in the engine's form, of the classes of all workers."""
    weights = part.weights if part.weights is not None and part.weights.any() else None
    if part.stand_ins is None:
        target: Target = new._check_y(part.y, weights, n)
        return replace(target, names=part.names)
    rows = part.stand_ins
    y = np.concatenate([part.y, rows])
    if rows.shape[1] == 1:
        y = y.ravel()
    weights = np.concatenate([np.ones(n) if weights is None else weights, np.ones(len(rows))])
    target = new._check_y(y, weights, len(y))
    return replace(target, engine=target.rows(np.arange(n)), original=target.original[:n], names=part.names)
