"""The progress of long work: a bar on a terminal, and lines in logs and notebooks.

`verbose` of all estimators and functions means the same, described in the docstring of each.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Self, TextIO

import numpy as np

from weald._input.checks import integer

# After this number of seconds without a line, the next report prints one; in long work, after this fraction of the time
# so far, to limit the number of lines.
_LONGEST_SILENCE = 10.0
_SHARE_OF_SILENCE = 0.1
# Seconds between two drawings of a bar, which are too fast to read if they follow sooner.
_BETWEEN_BARS = 0.1
_BAR_WIDTH = 20


class Progress:
    """Reports how much of some work is done. Used as a context, and called with the number of units done.

    `verbose` is 0 for no report, 1 for a bar on standard error if that is a terminal and for some lines on standard
    output if not, and above 1 for a line at every call. With 1, as in scikit-learn's gradient boosting, there are lines
    for the first ten units, then for every tenth, from the hundredth for every hundredth, and so on, for the last unit,
    and after a long time without a line. Each line names its work, because a log may contain several at the same time.

    `total` is None if the number of units is not known. Units up to `first` were done before. A report never ends the
    work: after an error of the stream, nothing more is written.
    """

    def __init__(self, name: str, unit: str, total: int | None, verbose: int, first: int = 0) -> None:
        self._name, self._unit, self._total, self._first = name, unit, total, first
        self._is_estimate = self._is_over = False
        self._of_every_call = verbose > 1
        self.has_bar = verbose == 1 and _is_terminal(sys.stderr)
        self.has_lines = verbose > 0 and not self.has_bar
        self._begin = self._last = time.monotonic()
        self._reported, self.n_done = first, first
        self._more: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._is_estimate:
            self._total, self._is_estimate = self.n_done, False
        is_new = kind is None and self.n_done > self._reported
        self._is_over = True
        if self.has_lines and is_new:
            self._print_line(time.monotonic())
        if self.has_bar:
            if kind is None:
                self._draw_bar(time.monotonic())
            self._write(sys.stderr, "\n")

    def expect(self, total: int) -> None:
        """Set the number of units, now that about how many there will be is known."""
        self._total, self._is_estimate = total, True

    def __call__(self, n_done: int, *more: str) -> None:
        """Report that `n_done` units are done; `more` are further parts of the line, such as losses."""
        self.n_done, self._more = n_done, more
        now = time.monotonic()
        if self.has_bar and now - self._last >= _BETWEEN_BARS:
            self._draw_bar(now)
        elif self.has_lines and n_done > self._reported and self._is_due(now):
            self._print_line(now)

    def _is_due(self, now: float) -> bool:
        if self._of_every_call or self.n_done == self._total:
            return True
        if now - self._last >= max(_LONGEST_SILENCE, _SHARE_OF_SILENCE * (now - self._begin)):
            return True
        # Every 10th unit up to 100 units, every 100th up to 1000; each of the first ten. Several may be done at once.
        done = self.n_done - self._first
        between: int = 10 ** (len(str(done)) - 1)
        return done // between * between > self._reported - self._first

    def _text(self, now: float) -> str:
        seconds, done = now - self._begin, self.n_done - self._first
        total = "" if self._total is None else f" of {'about ' * self._is_estimate}{self._total}"
        parts = [f"{self._name}: {self._unit} {self.n_done}{total}", *self._more, f"{seconds:.1f} s"]
        # Work that ended early, by early stopping for example, has no time left.
        if self._total is not None and done and not (self._is_over and self.n_done < self._total):
            left = max(0.0, seconds / done * (self._total - self.n_done))
            parts.append(f"{left:.1f} s left")
        return ", ".join(parts)

    def _print_line(self, now: float) -> None:
        self._last, self._reported = now, self.n_done
        self._write(sys.stdout, self._text(now) + "\n")

    def _draw_bar(self, now: float) -> None:
        self._last = now
        text, width = self._text(now), _columns(sys.stderr) - 1
        if len(text) > width:
            text = text.removeprefix(f"{self._name}: ")
        elif self._total and len(text) + _BAR_WIDTH + 3 <= width:
            n_full = min(_BAR_WIDTH, _BAR_WIDTH * self.n_done // self._total)
            text = f"[{'#' * n_full:.<{_BAR_WIDTH}}] {text}"
        # The whole line, so that nothing is left of what another fit or a longer text has drawn there.
        self._write(sys.stderr, f"\r{text[:width]:<{width}}")

    def _write(self, stream: TextIO, text: str) -> None:
        if stream is None:
            return
        try:
            stream.write(text)
            stream.flush()
        except Exception:  # closed, a broken pipe, a full disk, an encoding, or what a stream of one's own raises
            self.has_bar = self.has_lines = False


def say(text: str) -> None:
    """Print a line, if that is possible."""
    Progress(text, "", None, 1)._write(sys.stdout, f"{text}\n")


def check_verbose(verbose: object) -> int:
    """`verbose` of a function or meta-estimator as an integer."""
    if isinstance(verbose, bool | np.bool_):
        return int(verbose)
    return integer("verbose", verbose, 0)


def _is_terminal(stream: TextIO) -> bool:
    """Whether lines of the stream can be drawn again, which a stream that is closed or None does not say."""
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except Exception:
        return False


def _columns(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except Exception:
        columns = 0
    return columns or shutil.get_terminal_size().columns
