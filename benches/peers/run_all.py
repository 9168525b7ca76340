"""Runs every benchmark of this folder with the options given, one after the other."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("_") and p != Path(__file__).resolve())


def main() -> int:
    failed = [s.name for s in SCRIPTS if subprocess.run([sys.executable, s, *sys.argv[1:]]).returncode != 0]
    if failed:
        print(f"did not finish: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
