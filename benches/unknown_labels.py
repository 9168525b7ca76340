"""The time of a forest on labels with unknown cells, relative to the same labels with the unknown ones set to absent.

    python benches/unknown_labels.py [--trees 8] [--repeat 3]

Delicious (983 labels, sparse) with a fifth of its cells unknown, if it is available, and 10 000 generated samples with 50
features and 400 labels, of which half or 95 % are unknown. Processor seconds on one thread, the fastest of `--repeat` fits,
megabytes of the saved models, and a digest of the model with unknown cells, which must be the same for every build.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import _data
import data as data_sets

Case = tuple[str, Any, Any, Any, Any]


def cases() -> Iterator[Case]:
    """Name, X, y, the mask of y, and y with unknown labels set to absent."""
    rng = np.random.default_rng(0)
    try:
        delicious = _data.named("delicious")
    except data_sets.AbsentError as absent:
        print(absent)
    else:
        y = sp.csr_matrix(delicious.y).astype(bool)
        mask = rng.random(y.shape) < 0.2
        yield "delicious, 20 %", delicious.X, y, sp.csr_matrix(mask), sp.csr_matrix(y.multiply(~mask))
    X = rng.normal(size=(10_000, 50)).astype(np.float32)
    score = X @ rng.normal(size=(50, 400)) / 7 + 0.5 * rng.normal(size=(10_000, 400))
    y = (score > 1.2).astype(float)
    for share in (0.5, 0.95):
        mask = rng.random(y.shape) < share
        yield f"dense, {share:.0%}", X, y, mask, np.where(mask, 0.0, y)


def main() -> None:
    """Prints a line for each case and kind of forest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    for name, X, y, mask, filled in cases():
        for kind in (weald.ExtraTreesClassifier, weald.RandomForestClassifier):
            model = kind(args.trees, random_state=0, n_jobs=1, multi_label=True)
            seconds, megabytes = [], []
            for labels, unknown in ((filled, None), (y, mask)):
                spent = []
                for _ in range(args.repeat):
                    start = time.process_time()
                    model.fit(X, labels, y_mask=unknown)
                    spent.append(time.process_time() - start)
                seconds.append(min(spent))
                content = weald.dumps(model)
                megabytes.append(len(content) / 1e6)
            digest = hashlib.sha256(content).hexdigest()[:8]
            print(
                f"{name:16} {kind.__name__:24} filled {seconds[0]:6.2f} s {megabytes[0]:6.1f} MB, "
                f"unknown {seconds[1]:6.2f} s {megabytes[1]:6.1f} MB, ratio {seconds[1] / seconds[0]:.2f}, {digest}"
            )


if __name__ == "__main__":
    main()
