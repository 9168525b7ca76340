"""Runs weald and another library side by side and prints what each took.

Every measurement runs in a new process, which loads the data, arranges them in the layout that suits the library best
(not timed), warms up on a few samples, and then runs the task once. The sides alternate, and the order changes every
time, so that a machine that slows down slows both. One thread each unless a case says otherwise.

A case may ask for the seconds of one round of boosting: the difference between two fits with different numbers of
rounds in one process, so that what is done once for a fit does not count.

Peak memory is the highest resident size of the process during the task minus the size just before. Free memory is
returned to the system and the peak is reset first, so that neither loading nor leftovers hide anything.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from _records import PeersCache, append, environment, heading, read, runs_weald

# The exit code of a measurement whose data is missing.
ABSENT = 77
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
# Boosting with the steps of other libraries and all samples and features in each stage, for comparisons of the time of
# equal work. These were its defaults up to 0.1.0.
PLAIN_BOOSTING: dict[str, Any] = {"learning_rate": 0.1, "subsample": 1.0, "max_features": None}


class AbsentDataError(SystemExit):
    """The data of a case is missing, so the case is left out. A script that does not catch the error ends with
    `ABSENT`."""

    def __init__(self, reason: str) -> None:
        super().__init__(ABSENT)
        self.reason = reason
        atexit.register(self._tell)

    def _tell(self) -> None:
        print(self.reason, file=sys.stderr)

    def caught(self) -> str:
        """The reason, which is then not printed at the end of the process."""
        atexit.unregister(self._tell)
        return self.reason


# Real data sets that this process has replaced by generated ones.
replaced: set[str] = set()


@dataclass(frozen=True)
class Data:
    """A problem: the data for the fit, and the samples to predict."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Side:
    """A library on a case: an unfitted estimator, and the layout that suits it best."""

    estimator: Callable[[], Any]
    arrange: Callable[[Data], Data] = lambda data: data
    method: str = "predict"
    rounds: tuple[int, int] = (2, 12)
    """Rounds of the two fits of which a case of `work` "round" takes the difference."""
    warm_up: bool = True
    """Fit a few samples first; for libraries that refuse them (constant labels), not."""
    needs: str = ""
    """The module of the library, for those that may be absent."""


@dataclass(frozen=True)
class Case:
    """One line of results. The first side is measured against the best of the others."""

    name: str
    data: Callable[[], Data]
    sides: dict[str, Side]
    aims: dict[str, float | None]
    """Metric (`seconds`, `model_bytes`) -> ratio that the others ÷ the first should reach; None: it is reported."""
    work: str = "fit"
    """`fit`, `predict` with models fitted beforehand, or `round`: one more round of boosting."""
    score: Callable[[Any, Data], float] | None = None
    bound_memory: bool = False
    """Hold the first side's peak against three times the stored entries of the inputs, plus the model."""
    peak_limit: Callable[[Data], float] | None = None
    """Hold the first side's peak against this many bytes."""
    notes: str = ""


@dataclass
class Results:
    """The measurements of one side, in the order in which they were made."""

    runs: list[dict[str, float]] = field(default_factory=list)

    def values(self, metric: str) -> list[float]:
        return [run[metric] for run in self.runs if metric in run]

    def median(self, metric: str) -> float:
        return statistics.median(self.values(metric))


def parser(description: str, repeat: int = 5) -> argparse.ArgumentParser:
    """The options that all scripts have, which `run_all.py` passes on."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--repeat", type=int, help=f"measurements of each side (default {repeat}, with --quick 1)")
    found.add_argument("--quick", action="store_true", help="smaller models and one measurement: indicative only")
    found.add_argument("--trees", type=int, help="trees of each forest, the same on both sides")
    found.add_argument("--only", default="", help="cases whose name contains this")
    found.add_argument("--no-peer", action="store_true", help="leave the peers out")
    found.add_argument("--peers", default="", help="peers whose name contains this")
    found.add_argument("--contenders", default="", help="races: settings whose name matches this regular expression")
    found.add_argument(
        "--processor", action="store_true", help="seconds of the processor, of all threads, for busy machines"
    )
    found.add_argument("--made", action="store_true", help="made data of the same shape in place of all real data")
    found.add_argument("--json", type=Path, help="append the results to this file, one line for each case")
    found.add_argument(
        "--peers-cache", type=Path, help="keep what was measured of the peers in this file, and do not measure it again"
    )
    found.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    found.set_defaults(usual_repeat=repeat)
    return found


def options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options given; prints what the script measures, and where, unless this is the process of a measurement."""
    args = parser.parse_args()
    args.repeat = args.repeat or (1 if args.quick else args.usual_repeat)
    if args.made:
        os.environ["WEALD_MADE"] = "1"
    args.made = bool(os.environ.get("WEALD_MADE"))
    if not args.worker:
        print(f"{(parser.description or '').splitlines()[0]}\n{heading(environment())}\n", flush=True)
        if args.json:
            # Before measurements that could not be stored.
            read(args.json)
    return args


def n_trees(args: argparse.Namespace, usual: int, quick: int) -> int:
    return args.trees or (quick if args.quick else usual)


def main(description: str, cases: Callable[[argparse.Namespace], Iterable[Case]]) -> None:
    """A whole benchmark script: it measures each case, or is the process of a single measurement."""
    args = options(parser(description))
    if args.worker:
        name, side, store = args.worker
        case = next(case for case in cases(args) if case.name == name)
        clock = time.process_time if args.processor else time.perf_counter
        json.dump(measure(case, case.sides[side], Path(store), clock), sys.stdout)
        return
    table = Table("case | side | seconds | peak, MB | model, MB | score | ratio | aim", texts=2)
    try:
        for case in cases(args):
            if args.only in case.name:
                try:
                    run_case(case, args, table)
                except AbsentDataError as error:
                    table.row(case.name, f"left out: {error.caught()}")
    except AbsentDataError as error:
        # The functions that create the cases read data themselves.
        table.row("further cases", f"left out: {error.caught()}")


# ---- what all scripts print


class Table:
    """A Markdown table that is printed row by row; its heading comes with the first row."""

    def __init__(self, columns: str, texts: int = 1) -> None:
        self.columns, self.texts, self.is_begun = columns.split(" | "), texts, False

    def row(self, *cells: object) -> None:
        """Prints a row; cells that are not given stay empty."""
        if not self.is_begun:
            rules = ["---" if i < self.texts else "--:" for i in range(len(self.columns))]
            print(f"| {' | '.join(self.columns)} |\n|{'|'.join(rules)}|", flush=True)
        self.is_begun = True
        padded = [*map(str, cells), *[""] * (len(self.columns) - len(cells))]
        print(f"| {' | '.join(padded)} |", flush=True)


def spread(values: Sequence[float], unit: float = 1.0) -> str:
    """The median, and the least and the greatest of several values."""
    middle, low, high = (f"{of(values) / unit:.3g}" for of in (statistics.median, min, max))
    return middle if len(values) == 1 else f"{middle} [{low} .. {high}]"


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float, float]:
    """`theirs` divided by `ours`: of the medians, and the extremes over any two measurements."""
    return statistics.median(theirs) / statistics.median(ours), min(theirs) / max(ours), max(theirs) / min(ours)


def told(ratio: tuple[float, float, float]) -> str:
    middle, low, high = (f"{value:.3g}" for value in ratio)
    return middle if middle == low == high else f"{middle} [{low} .. {high}]"


def is_absent(module: str) -> bool:
    return bool(module) and find_spec(module) is None


def met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def timed(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """The seconds of a call, those of the processor unless another clock is given, and its result."""
    start = clock()
    result = call()
    return clock() - start, result


def in_turns(
    calls: Mapping[str, Callable[[], Any]], repeat: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """The seconds of each call, `repeat` times in this process; the order changes every time."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeat):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            found[name].append(timed(calls[name], clock)[0])
    return found


# ---- one measurement


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def reset_peak() -> bool:
    """Return free memory, and reset the peak to the present size. False if this fails."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return False
    return True


def peak() -> int:
    """The peak of the resident size since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def stored_bytes(a: Any) -> int:
    """Bytes of the stored entries: values and indices of a sparse matrix, or the array."""
    return a.data.nbytes + a.indices.nbytes if hasattr(a, "indices") else a.nbytes


def measure(case: Case, side: Side, store: Path, clock: Callable[[], float]) -> dict[str, float]:
    """Run the work of one side once, in this process."""
    data = side.arrange(case.data())
    if case.work == "predict":
        if not store.exists():
            store.write_bytes(pickle.dumps(side.estimator().fit(data.X, data.y), protocol=5))
            return {}
        model = pickle.loads(store.read_bytes())
        work = getattr(model, side.method)
        work(data.X_test[:8])
        argument: tuple[Any, ...] = (data.X_test,)
    else:
        # The warm-up: imports and thread pools are not part of the measurement.
        if side.warm_up:
            side.estimator().set_params(**tiny(side.estimator())).fit(data.X[:64], data.y[:64])
        work, argument = side.estimator().fit, (data.X, data.y)
    few, more = side.rounds
    less = 0.0
    if case.work == "round":
        start = clock()
        side.estimator().set_params(n_estimators=few).fit(data.X, data.y)
        less = clock() - start
        work = side.estimator().set_params(n_estimators=more).fit
    honest = reset_peak()
    before = resident()
    start = clock()
    result = work(*argument)
    out = {"seconds": clock() - start, "peak_bytes": peak() - before}
    if replaced:
        out["made_data"] = 1
    if case.work == "round":
        out["seconds"] = (out["seconds"] - less) / (more - few)
    if not honest:
        out["peak_includes_loading"] = 1
    if case.peak_limit is not None:
        out["peak_limit"] = case.peak_limit(data)
    if case.work != "predict":
        if case.score is not None:
            out["score"] = float(case.score(result, data))
        if case.bound_memory or "model_bytes" in case.aims:
            out["model_bytes"] = model_bytes(result)
            out["input_bytes"] = stored_bytes(data.X) + stored_bytes(data.y)
    return out


def model_bytes(model: Any) -> int:
    """Bytes of the pickle, or the size that the model reports."""
    return model.model_bytes() if hasattr(model, "model_bytes") else len(pickle.dumps(model, protocol=5))


def tiny(estimator: Any) -> dict[str, int]:
    return {"n_estimators": 2} if "n_estimators" in estimator.get_params() else {}


def in_fresh_process(*arguments: str) -> Any:
    """Runs this script once more, for one measurement: the JSON of the last line that it prints."""
    command = [sys.executable, *sys.argv, "--worker", *arguments]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True)
    if done.returncode == ABSENT:
        raise AbsentDataError(done.stderr.strip())
    if done.returncode != 0:
        raise SystemExit(f"{', '.join(arguments)}: the measurement failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- many of them


def say(text: str) -> None:
    """Print progress, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_case(case: Case, args: argparse.Namespace, table: Table) -> None:
    first, *peers = case.sides
    wanted = [name for name in peers if args.peers in name and not args.no_peer]
    absent = [name for name in wanted if is_absent(case.sides[name].needs)]
    names = [first, *(name for name in wanted if name not in absent)]
    results = {name: Results() for name in names}
    cache = PeersCache(args.peers_cache)
    with tempfile.TemporaryDirectory() as folder:
        stores = {name: Path(folder) / str(i) for i, name in enumerate(names)}
        if case.work == "predict":
            for name in names:
                say(f"{case.name}: fitting {name}")
                in_fresh_process(case.name, name, str(stores[name]))
        for turn in range(args.repeat):
            for name in names if turn % 2 == 0 else reversed(names):
                say(f"{case.name}: {name}, {turn + 1} of {args.repeat}")
                key = f"{case.name} | {name} | {turn}{' | quick' * args.quick}{' | processor' * args.processor}"
                peer = name != names[0]
                ours = peer and cache.path is not None and runs_weald(case.sides[name].estimator())
                run = cache.get(key, ours) if peer else None
                if run is None:
                    run = in_fresh_process(case.name, name, str(stores[name]))
                    if peer:
                        cache.put(key, run, ours)
                results[name].runs.append(run)
    say("")
    report(case, results, table)
    for name in absent:
        table.row("", name, f"{case.sides[name].needs} is not installed")
    if args.json:
        record = {
            "case": case.name,
            "work": case.work,
            "aims": case.aims,
            "ratios": {metric: ratio(results, metric)[0] for metric in case.aims} if len(names) > 1 else {},
            "runs": {name: r.runs for name, r in results.items()},
            "quick": args.quick,
            "processor": args.processor,
            "made_data": any(side.values("made_data") for side in results.values()),
        }
        append(args.json, record)


def ratio(results: dict[str, Results], metric: str) -> tuple[float, float, float]:
    """The best of the others divided by the first."""
    first, *others = results.values()
    best = min(others, key=lambda other: other.median(metric))
    return ratios(best.values(metric), first.values(metric))


def report(case: Case, results: dict[str, Results], table: Table) -> None:
    """A row for each side, with the ratios of each peer. Aims are those of the best peer, and for real data."""
    first, *others = results.values()
    kinds = {"seconds": "", "model_bytes": "bytes ", "peak_bytes": "peak "}
    about = [case.notes, "a round" if case.work == "round" else ""]
    name = f"{case.name} ({', '.join(filter(None, about))})" if any(about) else case.name
    aims = [
        f"{kinds[metric]}{aim:.3g}: {met(ratio(results, metric)[0] >= aim)}"
        for metric, aim in case.aims.items()
        if aim is not None and others
    ]
    if case.peak_limit is not None:
        limit = first.median("peak_limit")
        aims.append(f"peak ≤ {limit / 1e6:.3g} MB: {met(first.median('peak_bytes') <= limit)}")
    if case.bound_memory:
        bound = 3 * first.median("input_bytes") + first.median("model_bytes")
        aims.append(f"peak ≤ {bound / 1e6:.3g} MB: {met(first.median('peak_bytes') <= bound)}")
    if any(side.values("made_data") for side in results.values()):
        aims = []
    for side, of_side in results.items():
        ours = of_side is first
        compared = [kinds[m] + told(ratios(of_side.values(m), first.values(m))) for m in case.aims if not ours]
        table.row(
            name if ours else "",
            side,
            spread(of_side.values("seconds")),
            *(spread(of_side.values(m), 1e6) if of_side.values(m) else "" for m in ("peak_bytes", "model_bytes")),
            f"{of_side.median('score'):.4f}" if of_side.values("score") else "",
            "; ".join(compared),
            "; ".join(aims) if ours else "",
        )
