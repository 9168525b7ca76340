"""ARFF files without what the engine does not read: comments behind other text, and weights of rows."""

from __future__ import annotations

import math
import re

import numpy as np

from weald._input.checks import Float

# A text between quotes where a value or a name may begin. Without a second quote, it is the rest of the line.
_QUOTED = re.compile(
    rb"""(^[ \t]*(?:@[A-Za-z]+[ \t]+)?|[,{][ \t]*(?:\d+[ \t]+)?)('(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))""",
    re.DOTALL,
)
_DATA = re.compile(rb"^[ \t]*@data[ \t]*(?:%[^\n]*)?\r?$", re.MULTILINE | re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"^[ \t]*@attribute[ \t]", re.MULTILINE | re.IGNORECASE)
# A brace that may follow something else in its line.
_LATER_BRACE = re.compile(rb"[}, \t]\{")
_COMMENT = re.compile(rb"[ \t]%")
_BRACE = re.compile(rb"[ \t,][ \t]*\{")
# What follows the values of a row, if it is a weight.
_WEIGHT = re.compile(rb"[ \t]*,?[ \t]*\{([^{}]*)\}[ \t]*")
_MOST_SHOWN = 40


def plain(text: bytes) -> tuple[bytes, Float | None]:
    """The text of a file without comments behind other text and without weights, and the weights if rows have some.

    Lines keep their numbers. A row without a weight has the weight 1. Other lines are not changed: the engine says what is
    wrong with them. The text itself is returned if there is nothing to take out.
    """
    found = _DATA.search(text)
    if found is None:
        return text, None
    header, data = text[: found.end()], text[found.end() :]
    are_plain = b"%" not in data and (b"{" not in data or _LATER_BRACE.search(data) is None)
    if are_plain and b"%" not in header:
        return text, None
    n_attributes = len(_ATTRIBUTE.findall(header.removeprefix(b"\xef\xbb\xbf")))
    lines = header.split(b"\n")
    lines = [_without_comment(line) if b"%" in line else line for line in lines]
    if are_plain:
        return b"\n".join(lines) + data, None
    weights, are_given = [], False
    for number, line in enumerate(data.split(b"\n")[1:], len(lines) + 1):
        content = line.lstrip(b" \t\r")
        if not content or content.startswith(b"%"):
            lines.append(line)
            continue
        weight = None
        if b"%" in line or b"{" in content[1:]:
            line, weight = _row(line, n_attributes, number)
        lines.append(line)
        are_given |= weight is not None
        weights.append(1.0 if weight is None else weight)
    return b"\n".join(lines), np.array(weights) if are_given else None


def _masked(line: bytes) -> bytes:
    """The line with other bytes in place of those between quotes."""
    if b"'" not in line and b'"' not in line:
        return line
    return _QUOTED.sub(lambda found: found[1] + b"q" * len(found[2]), line)


def _without_comment(line: bytes) -> bytes:
    """A line of the header."""
    masked = _masked(line)
    if not masked.lstrip(b" \t").startswith(b"@"):
        return line
    found = _COMMENT.search(masked)
    brace = masked.find(b"{", 0, found.start() if found is not None else None)
    if brace >= 0:  # categories, which may have percent signs
        end = masked.find(b"}", brace) + 1
        if end == 0:
            return line
        if masked.startswith(b"%", end):
            return line[:end]
        found = _COMMENT.search(masked, end)
    return line if found is None else line[: found.start()]


def _row(line: bytes, n_attributes: int, number: int) -> tuple[bytes, float | None]:
    """A row without its comment and its weight, and the weight."""
    masked = _masked(line)
    if masked.lstrip(b" \t").startswith(b"{"):
        end = masked.find(b"}") + 1
        return (line, None) if end == 0 else _split(line, masked, end, number)
    ends = [at for pattern in (_COMMENT, _BRACE) if (at := _after_last(masked, pattern, n_attributes)) is not None]
    return _split(line, masked, min(ends), number) if ends else (line, None)


def _after_last(masked: bytes, pattern: re.Pattern[bytes], n_attributes: int) -> int | None:
    """Where the pattern first occurs behind the last value of a dense row."""
    for found in pattern.finditer(masked):
        at = found.start()
        # Between a comma and what follows it is no value, so that this is one.
        has_value = masked[masked.rfind(b",", 0, at) + 1 : at].strip(b" \t")
        if has_value and masked.count(b",", 0, at) >= n_attributes - 1:
            return at
    return None


def _split(line: bytes, masked: bytes, end: int, number: int) -> tuple[bytes, float | None]:
    """The row up to `end`, and the weight that follows; the whole line if something else follows."""
    rest = masked[end:].rstrip(b"\r")
    found = _WEIGHT.match(rest)
    after = rest[found.end() :] if found is not None else rest.lstrip(b" \t")
    if after and not after.startswith(b"%"):
        return line, None
    if found is None:
        return line[:end], None
    return line[:end], _weight(found[1].strip(b" \t"), number)


def _weight(text: bytes, number: int) -> float:
    try:
        # Python accepts more than numbers: digits with underscores between them.
        value = math.nan if b"_" in text else float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        shown = text[:_MOST_SHOWN].decode("ascii", "backslashreplace") + "..." * (len(text) > _MOST_SHOWN)
        raise ValueError(f"line {number}: the weight '{shown}', expected a finite number of at least 0 between braces")
    return value
