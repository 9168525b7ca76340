"""What new labels cost a linear model: a fit that chooses its settings, one with given ones, and one of the new labels alone.

    python benches/new_subjects.py [--repeat 3]

The training texts of delicious, of whose 983 labels the last ten are new. Seconds of the processor on one thread, medians; then the
largest difference of a margin of the two models from that of one fit of all, whose labels converge within `tol` in other company.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import delicious
from _harness import Table, options, parser, timed

N_NEW = 10


def main() -> None:
    args = options(parser(__doc__ or "", repeat=3))
    data = delicious()
    X, Y = data.X, data.y
    if args.quick:
        X, Y = X[:500], Y[:500, :60]
    chosen = weald.LinearClassifier(random_state=0).fit(X, Y[:, :-N_NEW])
    settings = {"C": chosen.C_, "features": chosen.features_, "calibrate": False, "random_state": 0}

    def of(columns: slice, **parameters: Any) -> Callable[[], Any]:
        return lambda: weald.LinearClassifier(**parameters).fit(X, Y[:, columns])

    fits = {
        "all labels, settings chosen": of(slice(None), random_state=0),
        "all labels, settings given": of(slice(None), **settings),
        f"the {N_NEW} new labels alone": of(slice(-N_NEW, None), **settings),
    }
    table = Table("what | result", texts=1)
    models = {}
    for name, fit in fits.items():
        seconds, found = zip(*(timed(fit) for _ in range(args.repeat)), strict=True)
        models[name] = found[-1]
        table.row(name, f"{statistics.median(seconds):.3g} s")
    _, whole, new = models.values()
    old = of(slice(None, -N_NEW), **settings)()
    apart = np.hstack([old.decision_function(X), new.decision_function(X)])
    table.row("largest difference of a margin", f"{np.abs(apart - whole.decision_function(X)).max():.2g}")


if __name__ == "__main__":
    main()
