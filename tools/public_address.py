"""Write the public address of the repository into a checkout, before its packages are built.

    python tools/public_address.py https://github.com/OWNER/weald v0.1.0

The sources name no address, so that every fork publishes its own: `release.yml` passes that of the repository in which
it runs. Written are `[project.urls]` of pyproject.toml, `repository` of the crate, `repository-code` of CITATION.cff,
and the links of both READMEs, which are relative in the repository and have to be absolute on a package index.
"""

from __future__ import annotations

import argparse
import posixpath
import re
from pathlib import Path


def links(text: str, folder: str, root: Path, url: str, ref: str) -> str:
    """The Markdown with absolute links in place of those that are relative to `folder` of the repository, and absolute
    sources of pictures in HTML.
    """

    def absolute(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z][a-z+.-]*:|#|//", target):  # absolute already, or within the page
            return match[0]
        path, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(folder, path))
        if not (root / path).exists():
            raise SystemExit(f"{target!r} of the README in {folder or '.'!r} leads to no file")
        view = "raw" if match["picture"] else "tree" if (root / path).is_dir() else "blob"
        return f"{match['before']}{url}/{view}/{ref}/{path}{hash_}{anchor}{match['after']}"

    # Code is left as it is: every other part lies between two fences.
    parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    link = r"(?P<before>(?P<picture>!?)\[[^\]]*\]\()(?P<target>[^)\s]+)(?P<after>\))"
    source = r"(?P<before>(?P<picture>\bsrc(?:set)?)=\")(?P<target>[^\"\s]+)(?P<after>\")"
    for pattern in (link, source):
        parts = [part if part.startswith("```") else re.sub(pattern, absolute, part) for part in parts]
    return "".join(parts)


def after(text: str, line: str, new: str) -> str:
    """The text with a line after the only one that matches."""
    text, found = re.subn(f"^{line}$", lambda match: f"{match[0]}\n{new}", text, flags=re.MULTILINE)
    if found != 1:
        raise SystemExit(f"{found} lines match {line!r}, expected one")
    return text


def changed(root: Path, url: str, ref: str) -> dict[str, str]:
    """The new text of each file."""
    names = ["CITATION.cff", "Cargo.toml", "README.md", "pyproject.toml"]
    names += ["crates/weald/Cargo.toml", "crates/weald/README.md"]
    old = {name: (root / name).read_text(encoding="utf-8") for name in names}
    if "[project.urls]" in old["pyproject.toml"]:
        raise SystemExit("pyproject.toml has [project.urls] already: start from a clean checkout")
    urls = {
        "Repository": url,
        "Documentation": f"{url}/tree/{ref}/docs",
        "Changelog": f"{url}/blob/{ref}/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }
    table = "".join(f'{name} = "{address}"\n' for name, address in urls.items())
    return {
        "CITATION.cff": after(old["CITATION.cff"], "version: .*", f"repository-code: {url}"),
        "Cargo.toml": after(old["Cargo.toml"], "authors = .*", f'repository = "{url}"'),
        "README.md": links(old["README.md"], "", root, url, ref),
        "crates/weald/Cargo.toml": after(
            old["crates/weald/Cargo.toml"], r"authors\.workspace = true", "repository.workspace = true"
        ),
        "crates/weald/README.md": links(old["crates/weald/README.md"], "crates/weald", root, url, ref),
        "pyproject.toml": f"{old['pyproject.toml']}\n[project.urls]\n{table}",
    }


def main() -> None:
    """Read the command line, compute everything, and only then write."""
    parser = argparse.ArgumentParser(description="Write the public address of the repository into this checkout.")
    parser.add_argument("url", help="of the repository, such as https://github.com/OWNER/weald")
    parser.add_argument("ref", nargs="?", default="main", help="tag or branch that links lead to (default: main)")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout (default: this one)")
    arguments = parser.parse_args()
    url = arguments.url.rstrip("/").removesuffix(".git")
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", url):
        parser.error(f"the address must begin with https:// and name a repository, got {arguments.url!r}")
    if not re.fullmatch(r"[\w./-]+", arguments.ref):
        parser.error(f"the tag or branch must consist of letters, digits and ./-_, got {arguments.ref!r}")
    for name, text in changed(arguments.root, url, arguments.ref).items():
        (arguments.root / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
