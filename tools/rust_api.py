"""Compare the public interface of the crate with its listing, `crates/weald/api.txt`.

    cargo doc --no-deps --package weald
    python tools/rust_api.py            # what differs; ends with 1 if something does
    python tools/rust_api.py --write    # write the listing

A line of the listing is an item that the documentation has, and its fields, variants and methods, but for those of traits.
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "target" / "doc" / "weald"
LISTING = ROOT / "crates" / "weald" / "api.txt"
OF_TRAITS = re.compile(r'id="(?:(?:trait|synthetic|blanket)-implementations|implementors)')
MEMBER = re.compile(r'id="(?:variant|structfield|associatedconstant|method|tymethod)\.([\w.]+)"')


def listed() -> list[str]:
    """The lines of the listing, from the pages of the documentation."""
    pages = re.findall(r'<li><a href="([^"]+\.html)">', (DOCS / "all.html").read_text(encoding="utf-8"))
    lines = []
    for page in pages:
        own = OF_TRAITS.split((DOCS / page).read_text(encoding="utf-8"))[0]
        kind, name = page.removesuffix(".html").rsplit("/", 1)[-1].split(".", 1)
        path = "::".join([*page.split("/")[:-1], name])
        members = sorted({name.replace(".field", "") for name in MEMBER.findall(own) if not name.endswith(".fields")})
        lines.append(f"{kind} {path}: {', '.join(members)}" if members else f"{kind} {path}")
    return sorted(lines)


def main() -> int:
    """Compare, or write."""
    found = listed()
    if "--write" in sys.argv[1:]:
        LISTING.write_text("\n".join(found) + "\n", encoding="utf-8")
        return 0
    expected = LISTING.read_text(encoding="utf-8").splitlines()
    differences = list(difflib.unified_diff(expected, found, "api.txt", "the documentation", lineterm="", n=0))
    if differences:
        print(
            "\n".join(differences), "\nIf this is meant: python tools/rust_api.py --write, and a line in CHANGELOG.md"
        )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
