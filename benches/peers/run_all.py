"""Runs every benchmark of this folder with the options given, one after the other: `--quick --made` for `make bench`.

With `--made`, generated data replace all real data sets. Without it, the scripts of `scores/` run too, which compare scores
on real data sets, except those with arguments of their own. The rest of the options are those of each script. With `--quick
--made` no script begins after six minutes of the processor, which leaves four for the last.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from _harness import ABSENT, is_absent

HERE = Path(__file__).resolve().parent
SPEED = sorted(path for path in HERE.glob("*.py") if not path.name.startswith("_") and path != Path(__file__).resolve())
SCORES = sorted(path for path in (HERE / "scores").glob("*.py") if not path.name.startswith("_"))
# These need arguments.
ALONE = {"centroid_scale.py", "text_labels.py"}
PEERS = (
    "xgboost",
    "lightgbm",
    "catboost",
    "hessboost",
    "shap",
    "onnxruntime",
    "treelite",
    "tl2cgen",
    "lleaves",
    "distributed",
)
# Seconds of the processor after which no script begins with `--quick --made`.
MOST_SECONDS = 360
ON_SCORES = ("omikuji", "napkinxc", "mlrl")


def scripts(made: bool) -> list[Path]:
    return SPEED if made else SPEED + [path for path in SCORES if path.name not in ALONE]


def main() -> int:
    made, quick = "--made" in sys.argv, "--quick" in sys.argv
    environment = os.environ | ({"WEALD_MADE": "1"} if made else {})
    chosen = scripts(made)
    data = "generated data of their shapes" if made else "the real data sets that are here"
    is_short = made and quick
    long = "at most ten minutes of the processor, most of them for the others" if is_short else "hours: see README.md"
    names = ", ".join(path.stem for path in chosen)
    absent = [name for name in PEERS + (() if made else ON_SCORES) if is_absent(name)]
    print(f"weald beside other libraries, on {data}, one script after the other: {names}. This takes {long}.")
    if quick:
        print("With --quick each side is measured once, with small models: the ratios are indicative only.")
    print(f"Not installed, and so left out: {', '.join(absent) or 'none'}.\n", flush=True)
    failed, spent = [], 0.0
    for script in chosen:
        print(f"## {script.relative_to(HERE)}\n", flush=True)
        if is_short and spent > MOST_SECONDS:
            print(
                f"left out, as those before took {spent:.0f} s of the processor: python benches/peers/{script.name} --quick\n"
            )
            continue
        start = time.monotonic()
        code = subprocess.run([sys.executable, script, *sys.argv[1:]], env=environment).returncode
        if code == ABSENT:
            print("left out: see the reason above")
        elif code != 0:
            failed.append(script.name)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = used.ru_utime + used.ru_stime - spent
        spent += processor
        print(
            f"\n{script.name} took {time.monotonic() - start:.0f} s, {processor:.0f} s of the processor.\n", flush=True
        )
    print(f"Together {spent:.0f} s of the processor.")
    if failed:
        print(f"did not finish: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
