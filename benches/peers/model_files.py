"""Saving and loading a forest on delicious: `weald.save` and `load` against pickle of scikit-learn's.

Goals: loading, checks included, takes at most 3 times as long as reading the bytes of the file from the page cache
into a new buffer; saving and loading are each at least 20 times faster than pickle of scikit-learn's forest with as
many trees. Saving includes making the file durable, that is writing it to the disk.
"""

import argparse
import gc
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn.ensemble
import weald
from _data import by_column, delicious, dense_y
from _records import environment, heading


def median(run: Callable[[], Any], repeats: int) -> float:
    """The median of the seconds of `repeats` runs, after one that does not count."""
    seconds = []
    for _ in range(repeats + 1):
        gc.collect()
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
        del result
    return statistics.median(seconds[1:])


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--peer-trees", type=int, default=5, help="trees of both sides of the comparison; 0 for none")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="10 trees, three times: indicative only")
    args, _ = parser.parse_known_args()
    if args.quick:
        args.trees, args.repeats, args.peer_trees = 10, 3, 2
    print(f"{heading(environment())}\n", flush=True)
    data = by_column(delicious())

    def fitted(library: Any, n_trees: int, kind: str, y: Any) -> Any:
        make = getattr(library, kind)
        return make(n_estimators=n_trees, max_features="sqrt", random_state=0, n_jobs=2).fit(data.X, y)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for n_trees in sorted({args.trees, args.peer_trees} - {0}):
            model = fitted(weald, n_trees, "RandomForestClassifier", data.y)
            save = median(lambda m=model: weald.save(m, path), args.repeats)
            load = median(lambda: weald.load(path), args.repeats)
            mapped = median(lambda: weald.load(path, mmap_mode="r"), args.repeats)
            bytes_alone = median(lambda: read(path), args.repeats)
            size = path.stat().st_size / 1e6
            print(f"weald, {n_trees} trees, {size:.1f} MB:")
            print(f"  save {1e3 * save:.1f} ms, load {1e3 * load:.1f} ms, load mapped {1e3 * mapped:.1f} ms,", end=" ")
            print(f"read the bytes {1e3 * bytes_alone:.1f} ms: load / read {load / bytes_alone:.2f}")
            if n_trees != args.peer_trees:
                continue
            dense = dense_y(data)
            peer = fitted(sklearn.ensemble, n_trees, "RandomForestRegressor", dense.y)
            their_save = median(lambda m=peer: dump(m, path), 3)
            their_load = median(lambda: undump(path), 3)
            print(f"scikit-learn, {n_trees} trees, {path.stat().st_size / 1e6:.1f} MB:")
            print(f"  pickle {1e3 * their_save:.1f} ms ({their_save / save:.0f} times),", end=" ")
            print(f"unpickle {1e3 * their_load:.1f} ms ({their_load / load:.0f} times)")


if __name__ == "__main__":
    main()
