"""Run the examples, the most convincing first: `make demo`, or `python examples/demo.py`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# In the order of the demo and of the gallery, each with the packages that it needs beside those that weald needs.
EXAMPLES = {
    "tag_documents.py": ("matplotlib",),
    "multi_output_boosting.py": ("matplotlib",),
    "output_projections.py": ("matplotlib",),
    "digits_completion.py": ("matplotlib",),
    "serve_samples.py": ("matplotlib", "pandas"),
    "explain_predictions.py": ("matplotlib", "pandas"),
    "compress_forest.py": ("matplotlib",),
    "missing_labels.py": ("matplotlib",),
    "categories_and_missing_values.py": ("matplotlib", "pandas"),
    "label_probabilities.py": ("matplotlib",),
    "label_hierarchy.py": ("matplotlib",),
    "prediction_intervals.py": ("matplotlib",),
    "early_stopping.py": ("matplotlib",),
    "fit_with_dask.py": ("distributed", "matplotlib"),
    "fit_samples_with_dask.py": ("distributed",),
    "annif_backend.py": ("annif",),
}


def main() -> int:
    """Run all examples, also those after one that fails; 1 if one failed."""
    out = HERE / "out"
    print(
        f"{len(EXAMPLES)} examples, about a minute and a half on two cores. Pictures are written to {out}",
        flush=True,
    )
    start = time.perf_counter()
    left_out, failed = [], []
    for number, (name, packages) in enumerate(EXAMPLES.items(), 1):
        print(f"\n== {number}/{len(EXAMPLES)} {name}", flush=True)
        absent = [
            package for package in packages if importlib.util.find_spec(package) is None
        ]
        if absent:
            left_out.append(name)
            print(
                f"Left out: it needs {' and '.join(absent)} (pip install {' '.join(absent)})",
                flush=True,
            )
        # Without a display, so that no window stops the demo.
        elif subprocess.run(
            [sys.executable, HERE / name], env=os.environ | {"MPLBACKEND": "agg"}
        ).returncode:
            failed.append(name)

    ran = len(EXAMPLES) - len(left_out) - len(failed)
    print(
        f"\n== {ran} of {len(EXAMPLES)} examples in {time.perf_counter() - start:.0f} s"
    )
    for what, names in (("Left out", left_out), ("Failed", failed)):
        if names:
            print(f"{what}: {', '.join(names)}")
    if ran:
        print(
            f"Look next at the pictures in {out}\n"
            "and at docs/start.md, five minutes with weald; `make docs` builds all pages, with these examples."
        )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
