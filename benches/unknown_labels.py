"""The time of a forest on labels with unknown cells, relative to the same labels with the unknown ones set to absent.

    python benches/unknown_labels.py [--trees 8] [--repeat 3]

Delicious (983 labels, sparse) with a fifth of its cells unknown, if it is available, and 10 000 generated samples with 50
features and 400 labels, of which half or 95 % are unknown. Processor seconds on one thread, medians of `--repeat` fits,
megabytes of the saved models, and a digest of each, which must be the same for every build.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import delicious
from _harness import AbsentDataError, Table, n_trees, options, parser, ratios, spread, timed, told

Case = tuple[str, Any, Any, Any, Any]


def cases(table: Table) -> Iterator[Case]:
    """Name, X, y, what is known of y, and y with unknown labels set to absent."""
    rng = np.random.default_rng(0)
    try:
        data = delicious()
    except AbsentDataError as error:
        table.row("delicious", f"left out: {error.caught()}")
    else:
        y = sp.csr_matrix(data.y).astype(bool)
        mask = rng.random(y.shape) < 0.2
        yield "delicious, 20 %", data.X, y, sp.csr_matrix(~mask), sp.csr_matrix(y.multiply(~mask))
    X = rng.normal(size=(10_000, 50)).astype(np.float32)
    score = X @ rng.normal(size=(50, 400)) / 7 + 0.5 * rng.normal(size=(10_000, 400))
    y = (score > 1.2).astype(float)
    for share in (0.5, 0.95):
        mask = rng.random(y.shape) < share
        yield f"dense, {share:.0%}", X, y, ~mask, np.where(mask, 0.0, y)


def main() -> None:
    """Prints two rows for each case and kind of forest."""
    args = options(parser(__doc__ or "", repeat=3))
    table = Table("case | side | seconds | model, MB | ratio | digest", texts=2)
    for name, X, y, known, filled in cases(table):
        for kind in (weald.ExtraTreesClassifier, weald.RandomForestClassifier):
            trees = n_trees(args, usual=8, quick=2)
            model = kind(trees, random_state=0, n_jobs=1, multi_label=True)
            seconds: list[list[float]] = []
            for side, labels, unknown in (("absent", filled, None), ("unknown", y, known)):
                fit = lambda model=model, X=X, y=labels, weight=unknown: model.fit(X, y, y_weight=weight)  # noqa: E731
                seconds.append([timed(fit)[0] for _ in range(args.repeat)])
                content = weald.dumps(model)
                compared = told(ratios(seconds[1], seconds[0])) if unknown is not None else ""
                digest = hashlib.sha256(content).hexdigest()[:8]
                case = f"{name}, {kind.__name__}, {trees} trees"
                table.row(case, side, spread(seconds[-1]), f"{len(content) / 1e6:.3g}", compared, digest)


if __name__ == "__main__":
    main()
