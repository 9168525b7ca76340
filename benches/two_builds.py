"""Compares the times of two builds of weald: what a change costs, or gains.

    python benches/two_builds.py OLD NEW --turns 7 --only predict

OLD and NEW are folders with a package `weald` (an unpacked wheel). A turn has a process for each build. Both
prepare the case and then alternate their calls, so that a machine that slows down slows both. Only the processor time
of the calls counts, and for each process only its fastest call. Prints the median of the ratios new / old over the
turns with their minimum and maximum, the seconds, and the peak memory of the first call. One thread. Cases
that a build does not support are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import _harness

Case = Callable[[], Callable[[], Any]]


def cases() -> dict[str, Case]:
    """For each name, a function that loads and fits without being timed, and returns the call that is timed."""
    import _data as data
    import numpy as np
    import weald

    def fit(make: Callable[[], Any], source: Callable[[], Any]) -> Case:
        def prepare() -> Callable[[], Any]:
            d = source()
            return lambda: make().fit(d.X, d.y)

        return prepare

    def use(make: Callable[[], Any], source: Callable[[], Any], call: Callable[[Any, Any], Any]) -> Case:
        def prepare() -> Callable[[], Any]:
            d = source()
            model = make().fit(d.X, d.y)
            return lambda: call(model, d)

        return prepare

    boost = {"n_estimators": 20, "max_depth": 3, "output_strategy": "projected", "random_state": 0}
    same_work = {"leaf_estimation": "line_search", "max_leaf_nodes": None, "min_weight_leaf": 0.0}
    known = weald.GradientBoostingClassifier().get_params()
    relabelled = boost | {name: value for name, value in same_work.items() if name in known}
    forest_news = lambda: weald.RandomForestClassifier(10, random_state=0)  # noqa: E731
    forest_tags = lambda: weald.RandomForestClassifier(10, random_state=0, min_samples_leaf=5)  # noqa: E731
    forest_numbers = lambda: weald.RandomForestRegressor(20, random_state=0)  # noqa: E731
    boost_tags = lambda: weald.GradientBoostingClassifier(**relabelled)  # noqa: E731
    boost_numbers = lambda: weald.GradientBoostingRegressor(**relabelled)  # noqa: E731

    def compress() -> Any:
        return weald.CompressedForestRegressor(
            weald.ExtraTreesRegressor(20, random_state=0), max_steps=300, l1_norm=None, random_state=0
        )

    def one_row(model: Any, d: Any) -> None:
        row = d.X_test[:1]
        for _ in range(300):
            model.predict(row)

    def rows(d: Any) -> Any:
        return np.ascontiguousarray(d.X_test[:20_000])

    return {
        "fit forest, text": fit(forest_news, data.text),
        "fit forest, tags": fit(forest_tags, data.delicious),
        "fit extra-trees, numbers": fit(lambda: weald.ExtraTreesRegressor(20, random_state=0), data.scm20d),
        "fit forest, numbers": fit(forest_numbers, data.scm20d),
        "fit forest of projections, tags": fit(
            lambda: weald.RandomForestClassifier(10, random_state=0, output_projection="gaussian", n_projections=10),
            data.delicious,
        ),
        "fit tree, one output": fit(lambda: weald.DecisionTreeRegressor(random_state=0), data.continuous),
        "fit boosting, tags": fit(boost_tags, data.delicious),
        "fit boosting, numbers": fit(boost_numbers, data.scm20d),
        "fit boosting, one output": fit(boost_numbers, data.smooth),
        "fit compression, numbers": fit(compress, data.rf1),
        "predict forest, text": use(forest_news, data.text, lambda m, d: m.predict_proba(d.X_test)),
        "predict forest, tags": use(forest_tags, data.delicious, lambda m, d: m.predict_proba(d.X_test)),
        "predict forest, best tags": use(forest_tags, data.delicious, lambda m, d: m.predict_topk(d.X_test, 5)),
        "predict forest, dense": use(forest_numbers, data.continuous, lambda m, d: m.predict(rows(d))),
        "predict boosting, tags": use(boost_tags, data.delicious, lambda m, d: m.decision_function(d.X_test)),
        "predict boosting, dense": use(boost_numbers, data.smooth, lambda m, d: m.predict(rows(d))),
        "predict forest, one row 300 times": use(forest_numbers, data.continuous, one_row),
        "predict boosting, one row 300 times": use(boost_numbers, data.smooth, one_row),
        "save and load forest": use(forest_tags, data.delicious, lambda m, _: m.__setstate__(m.__getstate__())),
    }


def work(name: str) -> None:
    """Prepares a case, and calls it for each line of input; prints processor seconds and peak memory."""
    call = cases()[name]()
    print("ready", flush=True)
    for _ in sys.stdin:
        before = _harness.resident() if _harness.reset_peak() else 0
        begin = time.process_time()
        call()
        seconds = time.process_time() - begin
        print(json.dumps({"seconds": seconds, "peak": _harness.peak() - before}), flush=True)


class Worker:
    """A process of one build."""

    def __init__(self, build: Path, name: str) -> None:
        paths = os.pathsep.join([str(build.resolve()), os.environ.get("PYTHONPATH", "")])
        env = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--worker", name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=env, text=True, **pipes)
        self.calls: list[dict[str, float]] = []

    def is_ready(self) -> bool:
        assert self.process.stdout is not None
        return self.process.stdout.readline() == "ready\n"

    def call(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print("call", file=self.process.stdin, flush=True)
        self.calls.append(json.loads(self.process.stdout.readline()))

    def end(self) -> str:
        _, errors = self.process.communicate()
        return errors.strip().splitlines()[-1] if self.process.returncode else ""


def turn(builds: tuple[Path, Path], name: str) -> list[dict[str, float]] | None:
    """For each build, the seconds of its fastest call, and the peak memory of the first call."""
    workers = [Worker(build, name) for build in builds]
    ready = [worker.is_ready() for worker in workers]
    if all(ready):
        begin = time.monotonic()
        n_calls = 0
        while n_calls < 4 or (time.monotonic() - begin < 4.0 and n_calls < 60):
            for worker in workers if n_calls % 2 else reversed(workers):
                worker.call()
            n_calls += 1
    for build, worker in zip(builds, workers, strict=True):
        if error := worker.end():
            print(f"{name}: {build}: {error}", file=sys.stderr)
    if not all(ready):
        return None
    return [{"seconds": min(c["seconds"] for c in w.calls), "peak": w.calls[0]["peak"]} for w in workers]


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""], help="cases whose names contain one of these")
    args = parser.parse_args()
    sys.path.insert(0, str(args.new))
    print(f"{(__doc__ or '').splitlines()[0]}\n{_harness.heading(_harness.environment())}\n", flush=True)
    table = _harness.Table("case | side | seconds | peak, MB | ratio", texts=2)
    for name in (name for name in cases() if any(part in name for part in args.only)):
        turns = [turn((args.old, args.new), name) for _ in range(args.turns)]
        both = list(zip(*(found for found in turns if found is not None), strict=True))
        if not both:
            continue
        ratios = [new["seconds"] / old["seconds"] for old, new in zip(*both, strict=True)]
        for which, side in zip(("old", "new"), both, strict=True):
            seconds, peak = (
                _harness.spread([run[key] for run in side], unit) for key, unit in (("seconds", 1), ("peak", 1e6))
            )
            table.row(name, which, seconds, peak, _harness.spread(ratios) if which == "new" else "")


if __name__ == "__main__":
    main()
