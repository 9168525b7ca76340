"""Reading label data from memory: weald's readers against `sklearn.datasets.load_svmlight_file(multilabel=True)`.

Goal: at least 200 MB of text per second on one thread. The texts are real data sets, repeated to about 30 MB: rcv1sub1
with values of up to nine digits, delicious with ones. scikit-learn reads a tenth of them and returns float64 and tuples
of labels, weald returns float32. The sides alternate.
"""

import argparse
import io
import statistics
import time
from collections.abc import Callable

import scipy.sparse as sp
from _data import named
from sklearn.datasets import load_svmlight_file
from weald.datasets import dump_xmc, load_svmlight_multilabel, load_xmc

LEAST_BYTES = 30e6


def text_of(name: str) -> tuple[bytes, bytes]:
    """The header, and the lines of the samples, repeated to fill this number of bytes."""
    data = named(name)
    file = io.BytesIO()
    dump_xmc(sp.csr_array(data.X), sp.csr_array(data.y), file)
    header, lines = file.getvalue().split(b"\n", 1)
    n_samples, *widths = header.split()
    times = round(LEAST_BYTES / len(lines)) + 1
    return b" ".join([str(times * int(n_samples)).encode(), *widths]), lines * times


def rate(read: Callable[[], object], n_bytes: int) -> float:
    """MB per processor second: all sides have one thread."""
    start = time.process_time()
    read()
    return n_bytes / (time.process_time() - start) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one measurement")
    args, _ = parser.parse_known_args()
    for name in ("rcv1sub1", "delicious"):
        header, lines = text_of(name)
        xmc, tenth = header + b"\n" + lines, lines[: lines.index(b"\n", len(lines) // 10) + 1]
        sides = {
            "load_xmc": (lambda xmc=xmc: load_xmc(xmc), len(xmc)),
            "load_svmlight_multilabel": (lambda lines=lines: load_svmlight_multilabel(lines), len(lines)),
            "scikit-learn": (
                lambda tenth=tenth: load_svmlight_file(io.BytesIO(tenth), multilabel=True, zero_based=True),
                len(tenth),
            ),
        }
        rates: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(1 if args.quick else args.repeat):
            for side, (read, n_bytes) in sides.items():
                rates[side].append(rate(read, n_bytes))
        peer = statistics.median(rates["scikit-learn"])
        for side, found in rates.items():
            middle = statistics.median(found)
            span = f"{min(found):.0f} to {max(found):.0f}"
            print(f"{name}, {len(xmc) / 1e6:.0f} MB, {side}: {middle:.0f} MB/s ({span}), {middle / peer:.1f} times")


if __name__ == "__main__":
    main()
