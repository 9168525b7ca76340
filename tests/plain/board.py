"""The board: each plain table and each kind of model that it is for, against the best peer of the kind.

    python -m plain.board [--only TEXT] [--kind KIND] [--all]

with `tests` and `python` in `PYTHONPATH` prints what is behind, or with `--all` everything. Peers have been computed by
`peers.py` and stored in `peers.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plain import models, scores
from plain.tables import everything, load

PEERS = Path(__file__).with_name("peers.json")

# What may be behind, with the reason; `docs/when-not.md` says it to users.
EXCEPTIONS: dict[tuple[str, str], str] = {}

# What is behind and should not be: a list that only gets shorter. A line is a table and a kind of models.
BEHIND = Path(__file__).with_name("behind.txt")


@cache
def behind() -> set[tuple[str, str]]:
    lines = (line.rpartition(" | ") for line in BEHIND.read_text(encoding="utf-8").splitlines())
    return {(name, kind) for name, _, kind in lines}


@cache
def peers() -> dict[str, Any]:
    return json.loads(PEERS.read_text()) if PEERS.exists() else {"tables": {}}


def cases() -> list[tuple[str, str]]:
    """All pairs of a table and a kind of models that have peers: known without drawing a table."""
    stored = peers()["tables"]
    return [(name, kind) for name in everything() if name in stored for kind in stored[name]["peers"]]


@dataclass(frozen=True)
class Line:
    """One score of a model, and the best peer's."""

    score: str
    ours: float
    best: float
    peer: str

    @property
    def behind(self) -> float:
        return self.best - self.ours

    @property
    def fails(self) -> bool:
        return not self.behind <= scores.BEHIND + 1e-9  # for the rounding of a difference

    def __str__(self) -> str:
        return f"{self.score} {self.ours:.3f}, {self.peer} {self.best:.3f}"


def stale(name: str) -> bool:
    """Whether peers have not seen the table as it is drawn now, or not for the kinds of models that it is for."""
    known, table = peers()["tables"].get(name), load(name)
    if known is None or not math.isclose(known["mark"], table.mark(), rel_tol=1e-6, abs_tol=1e-9):
        return True
    return set(known["peers"]) != set(models.kinds(everything()[name][0], table))


def judged(name: str, kind: str) -> list[Line]:
    """The scores of a model on a table. Where it warns that weights are too small, those of one with the factor named."""
    of_y, _ = everything()[name]
    table, model = load(name), models.KINDS[of_y][kind]
    said = models.predicted(model, table)
    factor = models.factor_named(said.warned) if table.weight is not None else None
    if factor is not None:
        said = models.predicted(model, table, factor)
    return compared(model.scores(table, said), peers()["tables"].get(name, {}).get("peers", {}).get(kind, {}))


def compared(ours: dict[str, float], theirs: dict[str, dict[str, float]]) -> list[Line]:
    """Each score beside the best of the peers in it."""
    lines = []
    for score, value in ours.items():
        rivals = {peer: found[score] for peer, found in theirs.items() if score in found}
        peer = max(rivals, key=lambda peer: rivals[peer], default="none")
        lines.append(Line(score, value, rivals.get(peer, float("-inf")), peer))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only tables whose name contains this")
    parser.add_argument("--kind", default="", help="only models of this kind")
    parser.add_argument("--all", action="store_true", help="print what is not behind, too")
    asked = parser.parse_args()
    chosen = [(name, kind) for name, kind in cases() if asked.only in name and asked.kind in ("", kind)]
    for name in (name for name in everything() if asked.only in name and stale(name)):
        print(f"peers are missing or out of date: {name}")
    failed, start, slow = 0, time.process_time(), []
    for name, kind in chosen:
        before = time.process_time()
        try:
            lines = judged(name, kind)
            fails = any(line.fails for line in lines)
            text = "; ".join(str(line) for line in lines if asked.all or line.fails)
        except Exception as error:
            fails, text = True, f"{type(error).__name__}: {error}"[:300]
        failed += fails
        if not fails and (name, kind) in behind():
            print(f"not behind any more, take it off the list: {name} | {kind}")
        slow.append((time.process_time() - before, f"{name}, {kind}"))
        if fails or asked.all:
            print(f"{'FAIL' if fails else 'ok  '} {name:45s} {kind:18s} {text}", flush=True)
    print(f"{failed} of {len(chosen)} cases behind, {time.process_time() - start:.0f} processor seconds")
    print("slowest: " + "; ".join(f"{case} {seconds:.1f}" for seconds, case in sorted(slow)[:-6:-1]))


if __name__ == "__main__":
    main()
