"""Which combinations of the parameters of a test run, which of them in the quick tier (`make test`), and which slow
cases.

A test with three parameters or more runs for as few combinations as hold all pairs of values. Values that are given
together, in one `parametrize`, count one by one: each row of them runs, and each pair of a value of one row with a value
of another `parametrize`. With `ALL_CASES=1` in the environment tests run for all combinations.

Slow cases say in their mark which files they are about, `slow("examples")`. With a commit in `SLOW_SINCE` only those
run of which one of these files, or the test's own, has changed since.
"""

from __future__ import annotations

import heapq
import os
import subprocess
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

# Cases of one test in the quick tier.
QUICK = 3
ROOT = Path(__file__).parents[1]

# The values of a case, one for each parameter, or a tuple of those that are given together.
Row = Sequence[Hashable]


def parts_of(row: Row, strength: int) -> set[Hashable]:
    """All combinations of `strength` values of the row, each with the place where it stands.

    Of values that are given together each stands for them, and all of them are one more part.
    """
    places = [
        [(place, at, value) for at, value in enumerate(values if isinstance(values, tuple) else (values,))]
        for place, values in enumerate(row)
    ]
    chosen = combinations(places, min(strength, len(row)))
    return {*enumerate(row), *(parts for some in chosen for parts in product(*some))}


def covering(rows: Sequence[Row], strength: int) -> list[int]:
    """Positions of few rows, in order, in which each combination of `strength` values of any row occurs.

    The next row is always the first of those with the most new combinations. As rows only lose new combinations, a
    count that is out of date is an upper bound: only the rows at the top of the heap are counted again.
    """
    missing = [parts_of(row, strength) for row in rows]
    seen: set[Any] = set()
    heap = [(-len(parts), position) for position, parts in enumerate(missing)]
    heapq.heapify(heap)
    kept = []
    while heap:
        count, position = heapq.heappop(heap)
        new = len(missing[position] - seen)
        if new == -count and new:
            kept.append(position)
            seen |= missing[position]
        elif new:
            heapq.heappush(heap, (-new, position))
    return sorted(kept)


def same(value: Any) -> Hashable:
    """What equal values of a parameter have in common: plain ones themselves, others that they are one object."""
    return (type(value), value) if isinstance(value, str | int | float | None) else id(value)


def factors(item: Any) -> list[Hashable]:
    """What identifies the value of each parameter of the test, in tuples if they are given together."""
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    found: list[Hashable] = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else mark.args[0]
        found.append(tuple(same(params.pop(name)) for name in names if name in params))
    return found + [(same(value),) for value in params.values()]


def paired(rows: Iterable[Row]) -> list[int]:
    """Positions of the rows that run: those which hold all pairs, or all of them."""
    rows = list(rows)
    return list(range(len(rows))) if os.environ.get("ALL_CASES") == "1" else covering(rows, 2)


def values_of(item: Any) -> set[tuple[str, Hashable]]:
    """The values of the parameters of the case, by which those of another test are known to be the same."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return {(name, value if isinstance(value, str) else id(value)) for name, value in params.items()}


def mark_quick(items: Iterable[Any]) -> None:
    """Mark with `quick` some cases of each test that is not slow: those with values that tests above them do not have.

    So the tests of a module have all estimators and options between them, although none has all of its own.
    """
    tests: dict[tuple[Any, str], list[Any]] = {}
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "alone")):
            tests.setdefault((item.parent, getattr(item, "originalname", item.name)), []).append(item)
    seen: dict[Any, set[tuple[str, Hashable]]] = {}
    for (parent, _), cases in tests.items():
        known, values = seen.setdefault(parent, set()), list(map(values_of, cases))
        for turn in range(QUICK):
            best = max(range(len(cases)), key=lambda case: len(values[case] - known))
            if turn and values[best] <= known:
                break
            cases[best].add_marker("quick")
            known |= values[best]


@cache
def changed_since(commit: str) -> tuple[str, ...] | None:
    """The files that differ from those of the commit, or None if that is not known."""
    found = []
    for command in (["diff", "--name-only", "--no-renames", commit], ["ls-files", "--others", "--exclude-standard"]):
        try:
            done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        found += done.stdout.splitlines()
    return tuple(found)


def is_due(own: str, about: Iterable[str], changed: Iterable[str] | None) -> bool:
    """Whether a slow case of the file `own` runs: files that it is about have changed, or it does not say which."""
    if changed is None or not about:
        return True
    return any(path.startswith((own, *about)) for path in changed)


def without_those_not_due(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """The cases that run, and the slow ones that do not, because nothing that they are about has changed."""
    commit = os.environ.get("SLOW_SINCE")
    changed = changed_since(commit) if commit else None
    kept: list[Any] = []
    left: list[Any] = []
    for item in items:
        slow = item.get_closest_marker("slow")
        due = not slow or is_due(item.path.relative_to(ROOT).as_posix(), slow.args, changed)
        (kept if due else left).append(item)
    return kept, left
