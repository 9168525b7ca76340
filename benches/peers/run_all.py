"""Runs every benchmark of this folder with the options given, one after the other.

With `--made`, generated data replace all real data sets, and scripts that compare scores on real data sets are left
out: the rest needs no data, and takes a few minutes with `--quick`.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

# The exit code of a script whose data is missing.
ABSENT = 77
HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("_") and p != Path(__file__).resolve())
SCORES = "it compares scores on real data sets"
OWN = "it has arguments of its own"
# Scripts that run only if they are named.
ALONE = {"centroid.py": OWN, "centroid_scale.py": OWN, "compressed_bytes.py": OWN, "linear_losses.py": OWN}
# Scripts that `--made` leaves out.
LEFT_OUT = {
    "label_precision.py": SCORES,
    "text_recipe.py": SCORES,
    "time_to_boomer.py": SCORES,
}


def main() -> int:
    made = "--made" in sys.argv
    environment = os.environ | ({"WEALD_MADE": "1"} if made else {})
    failed = []
    for script in SCRIPTS:
        print(f"== {script.name}", flush=True)
        if reason := ALONE.get(script.name) or (made and LEFT_OUT.get(script.name)):
            print(f"left out: {reason}\n", flush=True)
            continue
        start = time.monotonic()
        code = subprocess.run([sys.executable, script, *sys.argv[1:]], env=environment).returncode
        if code == ABSENT:
            print("left out: see the reason above")
        elif code != 0:
            failed.append(script.name)
        print(f"-- {script.name}: {time.monotonic() - start:.0f} s\n", flush=True)
    if failed:
        print(f"did not finish: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
