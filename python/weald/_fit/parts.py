"""Forests grown in parts, on one machine or many: `fit(..., trees=range(a, b))`, and `weald.merge`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from weald._input.described import described

# Attribute of a forest that is a part: the index of its first tree, one past the index of its last tree, and the digest
# of the training data.
PART = "_part"


def checked_range(forest: Any, trees: Any) -> tuple[int, int]:
    """The validated argument `trees` of `fit`: the index of the first tree, and one past the index of the last one."""
    n = int(forest.n_estimators)
    if not isinstance(trees, range):
        raise TypeError(f"trees must be a range such as range(0, {n}), or None, got a {type(trees).__name__}")
    if trees.step != 1 or not 0 <= trees.start < trees.stop <= n:
        raise ValueError(
            f"trees must be a non-empty range of step 1 within range(0, {n}), since n_estimators is {n}, got {trees}"
        )
    if not isinstance(forest.random_state, Integral):
        raise ValueError(
            "random_state must be an integer with trees, since all parts use the same seed, got "
            f"{forest.random_state!r}"
        )
    if forest.warm_start:
        raise ValueError("trees does not support warm_start=True: it must be None, or warm_start False")
    return trees.start, trees.stop


def prove(need: Any, part: Any, n_trees: int) -> None:
    """Validate the attribute of a part; `need` raises an error if its first argument is false."""
    is_triple = type(part) is tuple and len(part) == 3 and [type(value) for value in part] == [int, int, str]
    need(is_triple, PART, f"must be a tuple (first tree, one past the last tree, digest), got {described(part)}")
    start, stop, digest = part
    fits = start >= 0 and stop - start == n_trees
    need(fits, PART, f"must be a range of {n_trees} trees, got {described(start)} to {described(stop)}")
    is_digest = len(digest) == 32 and set(digest) <= set("0123456789abcdef")
    need(is_digest, PART, f"must have a digest of 32 hexadecimal digits, got {described(digest)}")
