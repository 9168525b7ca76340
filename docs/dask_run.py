"""The picture of examples/fit_with_dask.py, `_static/dask_run.png`, in two themes.

    python docs/dask_run.py

It is one run of the example on a cluster of three processes, and one fit without it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches" / "thesis"))

import fit_with_dask
from _pictures import picture

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the example, and write the picture."""
    X, Y = fit_with_dask.data()
    _, _, bars, seconds = fit_with_dask.grow_on_cluster(X, Y)
    begin = time.time()
    fit_with_dask.forest_to_grow().fit(X, Y)
    alone = time.time() - begin
    picture(
        HERE / "_static" / "dask_run.png",
        lambda _: fit_with_dask.draw(bars, seconds, alone),
    )


if __name__ == "__main__":
    main()
