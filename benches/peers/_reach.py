"""How many rounds, or trees, a model needs to reach a score: a search without a time measurement, stored in files.

Numbers of rounds are tried on a grid that grows by a tenth, the same for every library, on the test part. The model is
grown in doublings until it reaches the score, has the maximum number of rounds, has not improved for long, or has used
its time. The number of rounds that is found is fitted with a time measurement afterwards, in processes of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _boosters import staged
from _harness import Data, Side, say
from _records import differences, environment

OUT = Path(__file__).resolve().parents[1] / "out" / "reach"
# A model whose best score is this number of rounds ago does not continue.
PATIENCE = 8
GRID = sorted({round(1.1**i) for i in range(120)})


@dataclass(frozen=True)
class Contender:
    """A model that may reach the score, and its limits."""

    side: Side
    most: int
    seconds: float = 300.0
    ours: bool = False
    """Searched again when what was found is of another build of the engine."""


@dataclass(frozen=True)
class Curve:
    """Scores on the test part after numbers of rounds, and the approximate seconds of a round."""

    scores: dict[int, float]
    pace: float

    def best(self) -> float:
        return max(self.scores.values())

    def rounds_to(self, target: float) -> int | None:
        return next((m for m in sorted(self.scores) if self.scores[m] >= target), None)

    def seconds_to(self, target: float) -> float:
        m = self.rounds_to(target)
        return np.inf if m is None else m * self.pace


def curve(
    problem: str,
    name: str,
    contender: Contender,
    data: Callable[[], Data],
    score: Callable[[np.ndarray, Any], float],
    target: float,
    seconds: float = np.inf,
) -> Curve:
    """Scores on the grid up to the first that is at least `target`; read from the file if it contains them.

    No fit starts that would take longer than `seconds`, or than the contender may take: the last fit has as many rounds
    as these limits allow.
    """
    path = OUT / f"{problem}-{name}-{contender.most}-{target:g}.json".replace(" ", "_").replace("/", "_")
    about = environment()
    kept = json.loads(path.read_text()) if path.exists() else None
    # Times depend on the machine, scores on the versions too.
    if kept is not None and not differences(kept.get("environment"), about, contender.ours):
        return Curve({int(m): value for m, value in kept["scores"].items()}, kept["pace"])
    arranged = contender.side.arrange(data())
    contender.side.estimator().set_params(n_estimators=1).fit(arranged.X, arranged.y)
    found: dict[int, float] = {}
    size = min(4, contender.most)
    while True:
        say(f"{problem}: {name}, {size} rounds")
        # Processor seconds, which do not depend on other processes; imports and thread pools are excluded.
        start = time.process_time()
        model = contender.side.estimator().set_params(n_estimators=size).fit(arranged.X, arranged.y)
        took = time.process_time() - start
        new = sorted(m for m in {*GRID, contender.most} if m <= size and m not in found)
        for m, values in zip(new, staged(model, arranged.X_test, new), strict=False):
            found[m] = score(values, arranged.y_test)
            if found[m] >= target:
                break
        best = max(found, key=lambda m: found[m])
        if found[best] >= target or size >= contender.most or size > PATIENCE * (best + 8):
            break
        most = min(contender.most, min(seconds, contender.seconds) * size / took)
        if most < 1.1 * size:
            break
        size = int(min(2 * size, most))
    say("")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"pace": took / size, "scores": found, "environment": about}))
    return Curve(found, took / size)
