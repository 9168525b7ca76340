"""Python processes that tests start. All of them are killed after some time, so that a hang is a failure."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from multiprocessing import forkserver
from unittest import mock

import numpy as np
import turns
from conftest import class_of, make, make_data, model_bytes

# The end of the code of `interrupted`: `cases` has the estimator and the work for each name. A work that has finished
# waits for Ctrl-C, so that there is one answer to each.
_INTERRUPTED = """
import signal, sys, time
# Where Ctrl-C is ignored or blocked, in the background of a script or by some runners, so it is in children.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
for kind in sys.argv[1:]:
    order = "again"
    while order == "again":
        model, work = cases[kind]()
        before = dict(model.__dict__)
        state, now = "working", float("inf")
        print("ready", flush=True)
        try:
            work()
            state = "finished"
            time.sleep(10)
        except KeyboardInterrupt:
            now = time.monotonic()
        if state == "working":
            same = model.__dict__.keys() == before.keys() and all(model.__dict__[key] is before[key] for key in before)
            state = "unchanged" if same else "changed"
        print(now, state, flush=True)
        order = sys.stdin.readline().strip()
"""


def _environment() -> dict[str, str]:
    """The environment with which child processes find the modules of the tests and the same weald."""
    folders = [str(pathlib.Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def run(code: str, *args: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the code in a child process with additional environment variables. Warnings are errors."""
    source = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *args]
    options = {"capture_output": True, "text": True, "timeout": timeout, "check": False}
    return subprocess.run(source, env={**_environment(), **environment}, **options)


def forked(code: str, *args: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Like `run`, but in a fork of a process that has imported weald: each import takes more than a second.

    This is for POSIX, and for code without processes of its own.
    """
    code = textwrap.dedent(code)
    with tempfile.TemporaryDirectory() as folder:
        *outputs, seconds = (pathlib.Path(folder, name) for name in ("stdout", "stderr", "seconds"))
        process = _forks().Process(target=_execute, args=(code, args, outputs, seconds))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired([code, *args], timeout)
        if seconds.exists():
            turns.OF_FORKS.append(float(seconds.read_text() or 0))
        return subprocess.CompletedProcess([code, *args], process.exitcode, *(path.read_text() for path in outputs))


@functools.cache
def _forks() -> multiprocessing.context.ForkServerContext:
    """The server of forks; it has no threads and has never fitted a model."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["children", "sklearn.frozen"])
    # The server imports this module, and its BLAS starts no threads.
    with mock.patch.dict(os.environ, _environment(), OPENBLAS_NUM_THREADS="1"):
        forkserver.ensure_running()
    return context


def _execute(code: str, args: tuple[str, ...], outputs: list[pathlib.Path], seconds: pathlib.Path) -> None:
    for descriptor, path in enumerate(outputs, start=1):
        path.touch()
        os.dup2(os.open(path, os.O_WRONLY), descriptor)
    sys.argv[1:] = args
    warnings.simplefilter("error")
    told = os.open(seconds, os.O_WRONLY | os.O_CREAT)
    try:
        exec(code, {"__name__": "__main__"})
    finally:
        # The code may have left no memory, or no room in files.
        with contextlib.suppress(OSError, MemoryError):
            os.write(told, str(turns.seconds()).encode())


def interrupted(code: str, kinds: list[str], wait: float) -> dict[str, tuple[float, str]]:
    """Press Ctrl-C after `wait` seconds of each kind of work.

    `code` defines `cases`, a dict of functions that return an estimator and a function that works on it for a long
    time. On a machine on which a work has finished before Ctrl-C, it is repeated with half the wait. For each kind, the
    result has the seconds until `KeyboardInterrupt` was raised, infinity if it was not, and whether the estimator is
    unchanged.
    """
    source = [sys.executable, "-c", textwrap.dedent(code) + _INTERRUPTED, *kinds]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    found: dict[str, tuple[float, str]] = {}
    with subprocess.Popen(source, env=_environment(), bufsize=1, **pipes) as process:
        try:
            for kind in kinds:
                for pause in [wait / 2**halvings for halvings in range(6)]:
                    if kind in found:
                        process.stdin.write("again\n")
                    line = process.stdout.readline()
                    assert line == "ready\n", (kind, line, process.stderr.read())
                    time.sleep(pause)
                    sent = time.monotonic()
                    process.send_signal(signal.SIGINT)
                    answer = process.stdout.readline().split()
                    assert answer, (kind, process.stderr.read())
                    found[kind] = (float(answer[0]) - sent, answer[1])
                    if answer[1] != "finished" or found[kind][0] == float("inf"):
                        break
                process.stdin.write("next\n")
        finally:
            process.kill()
    return found


def fit_and_predict(name: str) -> str:
    """The result of a worker process: a hash of a small model fitted on two threads and of its predictions."""
    X, y = make_data(name, n=200)
    threads = {"n_jobs": 2} if "n_jobs" in class_of(name)._get_param_names() else {}
    model = make(name, **threads).fit(X, y)
    return digest(model_bytes(model), model.predict(X))


def digest(*parts: bytes | np.ndarray) -> str:
    """SHA-256 of bytes, and of the types, shapes and values of arrays."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype} {part.shape}".encode())
            part = np.ascontiguousarray(part).tobytes()
        sha.update(part)
    return sha.hexdigest()
