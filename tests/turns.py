"""How tests of one session take turns: those marked `alone` run last, while no other test runs. And how long each took."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

try:
    import fcntl
except ImportError:  # Windows, where tests marked `alone` run beside others
    fcntl = None  # type: ignore[assignment]

# Files that are locked, and not written: they are in every checkout.
ROOM, DOOR = Path(__file__), Path(__file__).with_name("tiers.py")


@contextmanager
def turn(alone: bool, room: Path = ROOM, door: Path = DOOR) -> Iterator[None]:
    """Wait until no other process of the machine is in a turn of this checkout, or none that has to be alone.

    Whoever waits stands in the door, so that nobody else goes in: those who are in come out one after another.
    """
    if fcntl is None:
        yield
        return
    with open(room) as inside, open(door) as outside:
        fcntl.flock(outside, fcntl.LOCK_EX)
        fcntl.flock(inside, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(outside, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # A process that the test has forked, and left, has the file open too: closing it would not be enough.
            fcntl.flock(inside, fcntl.LOCK_UN)


# Processor time of processes that are forks of another process, and so nobody's children here (tests/children.py).
OF_FORKS: list[float] = []


def seconds() -> float:
    """Processor time of this process, of the children that it has waited for, and of forks."""
    return sum(os.times()[:4]) + sum(OF_FORKS)


def limit() -> float:
    """Seconds of processor of a case: those above it are listed at the end of the session, unless they are `slow`.

    CASE_SECONDS in the environment is another limit, for which the session fails. Machines differ: no other run fails.
    """
    return float(os.environ.get("CASE_SECONDS", "2"))


def is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


# Seconds of processor of the cases above the limit, by their names: in this process, or in all workers of pytest-xdist.
LONG = pytest.StashKey[dict[str, float]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LONG] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with turn(is_alone(item)):
        before = seconds()
        result = yield
        took = seconds() - before
    if took > limit() and not is_alone(item) and item.get_closest_marker("slow") is None:
        item.config.stash[LONG][item.nodeid] = took
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    node.config.stash[LONG].update(getattr(node, "workeroutput", {}).get("long", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["long"] = session.config.stash[LONG]
    elif "CASE_SECONDS" in os.environ and session.config.stash[LONG] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if long := config.stash[LONG]:
        terminalreporter.section(f"cases above {limit():g} seconds of processor")
        for name, took in sorted(long.items(), key=lambda case: -case[1]):
            terminalreporter.line(f"{took:6.1f} {name}")
