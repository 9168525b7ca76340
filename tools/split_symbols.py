"""Take the debug symbols out of wheels: `python tools/split_symbols.py SYMBOLS_FOLDER WHEEL...`.

Each compiled module is stripped in its wheel. Its symbols lie in SYMBOLS_FOLDER under the name of the wheel; the module
names their file, so that a debugger that is told the folder finds it.

Needs the package `wheel`, and objcopy of binutils.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def split(wheel: Path, symbols: Path) -> None:
    """Rewrite `wheel` with stripped modules; their symbols are written to `symbols / wheel.stem`."""
    taken = symbols.resolve() / wheel.stem
    taken.mkdir(parents=True, exist_ok=True)
    before = wheel.stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        tool = [sys.executable, "-m", "wheel"]
        subprocess.run([*tool, "unpack", "--dest", folder, wheel], check=True, stdout=subprocess.DEVNULL)
        [root] = Path(folder).iterdir()
        modules = sorted(root.rglob("*.so"))
        if not modules:
            raise SystemExit(f"{wheel} has no compiled module")
        for module in modules:
            debug = taken / f"{module.name}.debug"
            subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", module, debug], check=True)
            subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", module], check=True)
        # Packing writes the sizes and digests of RECORD anew; the date is maturin's.
        command = [*tool, "pack", "--dest-dir", wheel.parent, root]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    print(f"{wheel.name}: {before:,} bytes, stripped {wheel.stat().st_size:,}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    for name in sys.argv[2:]:
        split(Path(name), Path(sys.argv[1]))
