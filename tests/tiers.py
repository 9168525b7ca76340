"""Which combinations of the parameters of a test run, and which of those in the quick tier, `make test`.

A test with three parameters or more runs for as few combinations as hold all pairs of values. With `ALL_CASES=1` in the
environment it runs for all.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

# Cases of one test in the quick tier.
QUICK = 3

Row = Sequence[Hashable]


def parts_of(row: Row, strength: int) -> set[tuple[tuple[int, Hashable], ...]]:
    """All combinations of `strength` values of the row, each with the place where it stands."""
    return set(combinations(enumerate(row), min(strength, len(row))))


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


def factors(item: Any) -> list[Hashable]:
    """What identifies the value of each parameter of the test; parameters that are given together are one."""
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    found: list[Hashable] = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else mark.args[0]
        found.append(tuple(id(params.pop(name)) for name in names if name in params))
    return found + [id(value) for value in params.values()]


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
