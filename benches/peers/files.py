"""Reading label data, and saving and loading a forest: against scikit-learn's reader, pickle, and reading the bytes alone.

Label data from memory, on one thread, in processor seconds: at least 200 MB of text per second. The texts are real data
sets, repeated to about 30 MB: rcv1sub1 with values of up to nine digits, delicious with ones. scikit-learn reads a tenth of
them, and its seconds are multiplied; it returns float64 and tuples of labels, weald float32.

A forest on delicious: loading, checks included, takes at most 3 times as long as reading the bytes of the file from the page
cache into a new buffer, and saving and loading are each at least 20 times faster than pickle of scikit-learn's forest with
as many trees, in seconds by the clock. Saving includes making the file durable, that is writing it to the disk. The
comparison has at most five trees, as a hundred of scikit-learn's take ten gigabytes.
"""

import argparse
import gc
import io
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import scipy.sparse as sp
import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_y, named
from _harness import AbsentDataError, Table, in_turns, met, n_trees, options, parser, ratios, spread, told
from sklearn.datasets import load_svmlight_file
from weald.datasets import dump_xmc, load_svmlight_multilabel, load_xmc

LEAST_BYTES = 30e6
MOST_PEER_TREES = 5


def text_of(name: str) -> tuple[bytes, bytes]:
    """The header, and the lines of the samples, repeated to fill this number of bytes."""
    data = named(name)
    file = io.BytesIO()
    dump_xmc(sp.csr_array(data.X), sp.csr_array(data.y), file)
    header, lines = file.getvalue().split(b"\n", 1)
    n_samples, *widths = header.split()
    times = round(LEAST_BYTES / len(lines)) + 1
    return b" ".join([str(times * int(n_samples)).encode(), *widths]), lines * times


def label_data(args: argparse.Namespace, table: Table, name: str) -> None:
    header, lines = text_of(name)
    xmc, tenth = header + b"\n" + lines, lines[: lines.index(b"\n", len(lines) // 10) + 1]
    found = in_turns(
        {
            "load_xmc": lambda: load_xmc(xmc),
            "load_svmlight_multilabel": lambda: load_svmlight_multilabel(lines),
            "scikit-learn": lambda: load_svmlight_file(io.BytesIO(tenth), multilabel=True, zero_based=True),
        },
        args.repeat,
    )
    found["scikit-learn"] = [seconds * len(lines) / len(tenth) for seconds in found["scikit-learn"]]
    for side, seconds in found.items():
        rate = len(lines) / median(seconds) / 1e6
        aim = "" if side == "scikit-learn" else f"200 MB/s: {met(rate >= 200)}"
        compared = told(ratios(found["scikit-learn"], seconds))
        table.row(f"{name}, read", side, spread(seconds), f"{len(lines) / 1e6:.3g}", f"{rate:.0f}", compared, aim)


def read(path: Path) -> bytearray:
    """The bytes of the file in a new buffer."""
    buffer = bytearray(path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        file.readinto(buffer)
    return buffer


def dump(model: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(model, file, protocol=5)


def undump(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


def clocked(calls: dict[str, Callable[[], Any]], repeat: int) -> dict[str, list[float]]:
    """Seconds by the clock, after one turn that does not count."""
    in_turns(calls, 1)
    gc.collect()
    return in_turns(calls, repeat, time.perf_counter)


def model_files(args: argparse.Namespace, table: Table) -> None:
    data = by_column(delicious())
    usual = n_trees(args, usual=100, quick=10)

    def fitted(library: Any, m: int, kind: str, y: Any) -> Any:
        return getattr(library, kind)(n_estimators=m, max_features="sqrt", random_state=0, n_jobs=1).fit(data.X, y)

    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "model", Path(folder) / "pickle"
        for m in sorted({usual, min(usual, MOST_PEER_TREES)}):
            model = fitted(weald, m, "RandomForestClassifier", data.y)
            calls: dict[str, Callable[[], Any]] = {
                "save": lambda model=model: weald.save(model, path),
                "load": lambda: weald.load(path),
                "load, mapped": lambda: weald.load(path, mmap_mode="r"),
                "reading the bytes": lambda: read(path),
            }
            if with_peer := m <= MOST_PEER_TREES and not args.no_peer:
                peer = fitted(sklearn.ensemble, m, "RandomForestRegressor", dense_y(data).y)
                calls["scikit-learn, pickle"] = lambda peer=peer: dump(peer, other)
                calls["scikit-learn, unpickle"] = lambda: undump(other)
            found = clocked(calls, args.repeat)
            aims = {"load": f"3 × reading: {met(median(found['load']) <= 3 * median(found['reading the bytes']))}"}
            compared = {}
            for ours, theirs in (("save", "pickle"), ("load", "unpickle")) if with_peer else ():
                compared[ours] = ratios(found[f"scikit-learn, {theirs}"], found[ours])
                aims[ours] = "; ".join(filter(None, [f"20: {met(compared[ours][0] >= 20)}", aims.get(ours)]))
            for side, seconds in found.items():
                size = (other if "pickle" in side else path).stat().st_size / 1e6
                rate = f"{size / median(seconds):.0f}"
                ratio = told(compared[side]) if side in compared else ""
                table.row(f"forest of {m} trees", side, spread(seconds), f"{size:.3g}", rate, ratio, aims.get(side, ""))


def main() -> None:
    args = options(parser(__doc__ or ""))
    table = Table("case | side | seconds | MB | MB/s | ratio | aim", texts=2)
    parts: dict[str, Callable[[], None]] = {
        name: lambda name=name: label_data(args, table, name) for name in ("rcv1sub1", "delicious")
    }
    for name, part in {**parts, "forest": lambda: model_files(args, table)}.items():
        if args.only in name:
            try:
                part()
            except AbsentDataError as error:
                table.row(name, f"left out: {error.caught()}")


if __name__ == "__main__":
    main()
