"""Writes the texts that docstrings share into the docstrings of python/weald.

    python tools/docstrings/write.py            # write them
    python tools/docstrings/write.py --check    # say which files would change, and end with 1 if there are any

Each parameter and attribute is described once, in a table of texts by name (see `texts`): `estimators` has those of
constructors and fitted attributes, `boosting`, `centroid`, `compression` and `linear` those in which these estimators
differ, and `methods` those of methods and metrics. `places` says which docstrings have which texts. In the docstring of
an estimator, the section "Parameters" is written whole, and "Attributes" of the texts that `attributes` lists. In other
docstrings a text is found by its first line, up to the colon or the sixth word, and replaced. All else in a docstring is
written where it stands. A line `{name}` in a docstring, or in a text, stands for the text of that name: so is a text put
where it is not yet. Prose of texts is filled to lines of 120 characters.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tools"))

from docstrings.methods import METHODS  # noqa: E402
from docstrings.places import ESTIMATORS, SHARED_TEXTS  # noqa: E402

Texts = Mapping[str, str]
_HEADING = re.compile(r"^-+$")


def filled(text: str, texts: Texts) -> str:
    """The text with its lines `{name}` replaced by texts of these names."""
    return re.sub(
        r"^( *){(\w+)}$",
        lambda found: textwrap.indent(filled(texts[found[2]].strip("\n"), texts), found[1]),
        text,
        flags=re.MULTILINE,
    )


def wrapped(text: str, margin: int) -> str:
    """The text with its prose in lines of at most 120 characters behind a margin; lists stay as they are."""
    indent = " " * 4 * ("\n " in text)
    lines: list[str] = []
    is_of_prose = re.compile(rf"{indent}(?!- |{{\w+}}$)\S").match
    for is_prose, group in itertools.groupby(text.split("\n"), lambda line: bool(is_of_prose(line))):
        if is_prose:
            prose = " ".join(line.strip() for line in group)
            wrap = textwrap.TextWrapper(120 - margin, indent, indent, break_long_words=False, break_on_hyphens=False)
            lines += wrap.wrap(prose)
        else:
            lines += group
    return "\n".join(lines)


def with_parameters(cls: ast.ClassDef, texts: Texts) -> Texts:
    """The texts with one of the name "parameters", on all parameters of the constructor, with their defaults."""
    arguments = next(f for f in cls.body if isinstance(f, ast.FunctionDef) and f.name == "__init__").args
    positional = arguments.posonlyargs + arguments.args
    defaults = dict(zip(reversed([p.arg for p in positional]), reversed(arguments.defaults), strict=False))
    defaults |= {
        p.arg: default for p, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    }

    def described(name: str) -> str:
        default = ast.literal_eval(defaults[name]) if name in defaults else None
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        return texts[name].strip("\n").replace("{default}", shown)

    names = [p.arg for p in positional[1:] + arguments.kwonlyargs]
    return dict(texts) | {"parameters": "\n".join(map(described, names))}


def name_of(line: str, of_entry: bool) -> str:
    """What a text is found by: the name of an entry, or the first five words of a paragraph."""
    return line.partition(" : ")[0] if of_entry else " ".join(line.split()[:5])


def replaced(lines: list[str], text: str) -> list[str] | None:
    """The lines of a docstring with a text in place of its former self; None if that is not there."""
    new = text.split("\n")
    of_entries = any(line.startswith(" ") for line in new)
    names = {name_of(line, of_entries) for line in new if line and not line.startswith(" ")}
    first = name_of(new[0], of_entries)
    starts = [i for i, line in enumerate(lines) if name_of(line.strip(), of_entries) == first]
    if len(starts) > 1:  # a parameter and a result of the same name
        starts = [i for i in starts if lines[i].strip() == new[0]]
    if len(starts) != 1:
        return None
    start = end = starts[0]
    margin = len(lines[start]) - len(lines[start].lstrip())

    def belongs(line: str) -> bool:
        if not of_entries:
            return line.startswith(" " * margin) and bool(line.strip())
        return line.startswith(" " * (margin + 1)) or not line.strip() or name_of(line.strip(), of_entries) in names

    while end < len(lines) and belongs(lines[end]):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return [*lines[:start], *textwrap.indent(text, " " * margin).split("\n"), *lines[end:]]


def section(lines: list[str], heading: str, text: str) -> list[str]:
    """The lines of a docstring with this text in the section of this heading."""
    start = (
        next(i for i, line in enumerate(lines) if line.strip() == heading and _HEADING.match(lines[i + 1].strip())) + 2
    )
    end = next((i - 1 for i in range(start, len(lines)) if _HEADING.match(lines[i].strip())), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    margin = lines[start - 2].partition(heading)[0]
    return [*lines[:start], *textwrap.indent(wrapped(text, len(margin)), margin).split("\n"), *lines[end:]]


def rewritten(source: str, estimators: Mapping[str, Texts], shared: Mapping[str, str]) -> str:
    """A module whose docstrings have the texts of the tables, those of these estimators and these shared ones."""
    lines = source.split("\n")
    nodes: dict[str, ast.ClassDef | ast.FunctionDef] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            nodes[node.name] = node
        if isinstance(node, ast.ClassDef):
            nodes |= {f"{node.name}.{f.name}": f for f in node.body if isinstance(f, ast.FunctionDef)}
    # From below, so that the places of the docstrings above stay true.
    for name in sorted({*estimators, *shared}, key=lambda name: -nodes[name].lineno):
        node = nodes[name]
        if name in estimators:
            assert isinstance(node, ast.ClassDef)
            texts = with_parameters(node, estimators[name])
        else:
            texts = METHODS
        place = node.body[0]
        # The quotes at the end have a line of their own.
        start, end = place.lineno - 1, (place.end_lineno or 0) - 1
        doc = filled("\n".join(lines[start:end]), texts).split("\n")
        if name in estimators:
            doc = section(doc, "Parameters", texts["parameters"])
            doc = section(
                doc, "Attributes", "\n".join(texts[wanted].strip("\n") for wanted in texts["attributes"].split())
            )
        for wanted in shared.get(name, "").split():
            text = wrapped(filled(texts[wanted].strip("\n"), texts), 8)
            doc = replaced(doc, text) or sys.exit(f"{name} has no place for {wanted}: add a line {{{wanted}}}")
        lines[start:end] = doc
    return "\n".join(lines)


def outdated() -> dict[Path, str]:
    """The modules whose docstrings are not what the tables say, and what they should be."""
    found = {}
    for name in {*ESTIMATORS, *SHARED_TEXTS}:
        path = ROOT / "python" / "weald" / name
        source = path.read_text(encoding="utf-8")
        new = rewritten(source, ESTIMATORS.get(name, {}), SHARED_TEXTS.get(name, {}))
        if new != source:
            found[path] = new
    return found


def main() -> None:
    """What the command line says."""
    found = outdated()
    for path, text in found.items():
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8", newline="\n")
    if found and "--check" in sys.argv:
        sys.exit("Docstrings differ from the texts of tools/docstrings: run make docstrings")


if __name__ == "__main__":
    main()
