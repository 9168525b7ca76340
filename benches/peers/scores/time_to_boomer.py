"""Time to the score that BOOMER (mlrl-boomer, boosted rules for labels) has at its defaults, on multi-label data sets.

Boosting has to reach the label ranking average precision of BOOMER's probabilities on the test part. For each of a
few settings a search (`_reach.py`, on a grid that grows by a tenth) finds the number of rounds at which it does; the
fastest setting is then fitted with exactly that number of rounds, alternating with BOOMER, with a time measurement.
The search is bounded: it begins no fit that would take longer than the fastest setting so far or than BOOMER, so that
each setting takes at most about three times BOOMER's seconds, plus the scoring. Seconds are processor seconds, one
thread, medians. BOOMER is stopped after `--most-seconds`; the data set then has no ratio, as the score is unknown.
Without mlrl-boomer nothing is run.
"""

from __future__ import annotations

import math
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import PLAIN_BOOSTING, Side, Table, is_absent, met, options, parser, ratios, spread, timed, told
from _reach import Contender, Curve, curve
from _records import append
from _scores import ranking_precision

SETS = (
    "medical", "emotions", "CAL500", "scene", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "corel5k", "bibtex",
    "mediamill_sample", "diatoms", "goemotions", "delicious",
)  # fmt: skip
AIM = 3.0
MOST_ROUNDS = 2000
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "rate 0.3": {"learning_rate": 0.3},
    "one tree a round, rate 0.3": {"learning_rate": 0.3, "output_strategy": "projected"},
    "rate 0.5": {"learning_rate": 0.5, "output_strategy": "projected"},
    # BOOMER draws features too, ⌊log₂ p⌋ + 1 for each condition of a rule.
    "rate 0.3, features drawn": {"learning_rate": 0.3, "output_strategy": "projected", "max_features": "sqrt"},
    "rate 0.5, 5 % of the features": {"learning_rate": 0.5, "output_strategy": "projected", "max_features": 0.05},
    "rate 0.3, a tenth of the features, 5 rows a leaf": {"learning_rate": 0.3, "output_strategy": "projected"}
    | {"max_features": 0.1, "min_samples_leaf": 5},
    # For hundreds of labels, trees with more leaves than 31 are better.
    "rate 0.3, 64 leaves": {"learning_rate": 0.3, "output_strategy": "projected", "max_leaf_nodes": 64},
    "rate 0.3, 64 leaves, lambda 10": {"learning_rate": 0.3, "output_strategy": "projected", "max_leaf_nodes": 64}
    | {"l2_regularization": 10.0},
}


def ours(rounds: int, settings: dict[str, Any]) -> Any:
    return weald.GradientBoostingClassifier(
        **{**PLAIN_BOOSTING, "n_estimators": rounds, "n_jobs": 1, "random_state": 0, **settings}
    )


def fit_boomer(X: Any, y: Any, X_test: Any, y_test: Any, most: float) -> tuple[float, float]:
    """Seconds of the fit, and its score. The system ends the process at the limit, since the fit cannot be stopped."""
    from mlrl.boosting import BoomerClassifier

    threadpool_limits(1)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if most:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + most), hard))
    model = BoomerClassifier()
    took = seconds(model, X, y)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    return took, ranking_precision(np.asarray(model.predict_proba(X_test)), y_test)


def in_own_process(*boomer: Any) -> tuple[float, float] | None:
    """The result of `fit_boomer`; None if it did not end in time."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(fit_boomer, *boomer).result()
        except BrokenProcessPool:
            return None


def seconds(model: Any, X: Any, y: Any) -> float:
    return timed(lambda: model.fit(X, y))[0]


def main() -> None:
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("--most-seconds", type=float, default=0.0, help="of a fit of BOOMER; 0: as many as it takes")
    args = options(common)
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    table = Table("case | side | seconds | ratio | LRAP | aim", texts=2)
    if is_absent("mlrl"):
        table.row("all", "BOOMER", "mlrl-boomer is not installed")
        return
    from mlrl.boosting import BoomerClassifier

    for name in SETS[:1] if args.quick else SETS:
        if args.only not in name:
            continue
        data = named(name)
        y = np.asarray(data.y.toarray()).astype(np.int8)
        X, X_test = (sp.csr_matrix(a) if sp.issparse(a) else a for a in (data.X, data.X_test))
        fitted = in_own_process(X, y, X_test, data.y_test, args.most_seconds)
        if fitted is None:
            table.row(name, "BOOMER", f"more than {args.most_seconds:g}")
            continue
        theirs, target = [fitted[0]], fitted[1]
        found: dict[str, Curve] = {}
        for key, settings in SETTINGS.items():
            limit = min((known.seconds_to(target) for known in found.values()), default=math.inf)
            contender = Contender(Side(lambda p=settings: ours(1, p)), MOST_ROUNDS, theirs[0], ours=True)
            load = lambda data=data: data  # noqa: E731
            found[key] = curve(f"boomer {name}", key, contender, load, ranking_precision, target, limit)
        key = min(found, key=lambda key: found[key].seconds_to(target))
        rounds = found[key].rounds_to(target)
        if rounds is None:
            best = max(found, key=lambda key: found[key].best())
            table.row(name, f"weald ({best})", "not reached", "", f"{found[best].best():.4f}")
            table.row(name, "BOOMER", spread(theirs), "", f"{target:.4f}")
            continue
        mine = []
        for turn in range(args.repeat):
            mine.append(seconds(ours(rounds, SETTINGS[key]), data.X, data.y))
            if turn:
                theirs.append(seconds(BoomerClassifier(), X, y))
        ratio = ratios(theirs, mine)
        aim = f"{AIM:g}: {met(ratio[0] >= AIM)}"
        table.row(name, f"weald ({key}, {rounds} rounds)", spread(mine), "", f"{target:.4f}", aim)
        table.row(name, "BOOMER", spread(theirs), told(ratio), f"{target:.4f}")
        if args.json:
            runs = {"weald": mine, "BOOMER": theirs, "lrap": target, "setting": key, "rounds": rounds}
            append(args.json, {"set": name, "runs": runs})


if __name__ == "__main__":
    main()
