"""Measures how large the project is, and fails if it has grown beyond its budget.

    python tools/budget.py              # what is measured beside the budget; ends with 1 if something is beyond it
    python tools/budget.py --lower      # write what is measured into the budget where it is less

`tools/budget.json` has the limits. They are lowered as the code shrinks, and raised only in a commit that says why.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = ROOT / "tools" / "budget.json"
PACKAGE = ROOT / "python" / "weald"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}


def of_python(source: str) -> tuple[int, int]:
    """The lines of code, and those of docstrings."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = (range(token.start[0], token.end[0] + 1) for token in tokens if token.type not in NO_CODE)
    return len({line for of_token in lines for line in of_token} - told), len(told)


def of_rust(source: str) -> int:
    """The lines of code before the tests of the module."""
    lines = source.split("#[cfg(test)]\nmod tests {")[0].splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("//"))


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules of the package, and their trees."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).with_suffix("").as_posix(), ast.parse(path.read_text())


def joints() -> tuple[int, int]:
    """Imports of a module of another room, and private names that several modules define at their top."""
    crossing, defined = 0, Counter[str]()
    for module, tree in modules():
        room = module.split("/")[0]
        names: set[str] = set()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weald."):
                crossing += (node.module or "").split(".")[1] != room
        defined.update(name for name in names if not name.startswith("__"))
    return crossing, sum(count > 1 for count in defined.values())


def public_names() -> tuple[int, int]:
    """The names of the package, and those that its modules have besides: the listing in docs/api.md."""
    [listed] = [n.value for n in dict(modules())["__init__"].body if ast.unparse(n).startswith("__all__ = ")]
    sections = (ROOT / "docs" / "api.md").read_text().split("currentmodule:: weald.")[1:]
    names = (re.findall(r"^   (\w+)$", part.partition("```")[0], re.MULTILINE) for part in sections)
    return len(listed.elts), sum(map(len, names))


def parameters_of_boosting() -> int:
    """The parameters of the classifier, which has one more than the regressor."""
    tree = ast.parse((PACKAGE / "boosting.py").read_text())
    [cls] = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "GradientBoostingClassifier"]
    [init] = [n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return len(init.args.args) + len(init.args.kwonlyargs) - 1


def measured() -> dict[str, int]:
    """All that has a limit."""
    of_package = [of_python(path.read_text()) for path in PACKAGE.rglob("*.py")]
    rust = [path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts]
    tests = {"tests", "benches", "examples", "testing"}
    no_tests = [path for path in rust if not tests & {part.removesuffix(".rs") for part in path.parts}]
    crossing, twice = joints()
    package, of_modules = public_names()
    return {
        "lines of code of Python": sum(code for code, _ in of_package),
        "lines of docstrings": sum(told for _, told in of_package),
        "lines of tools/docstrings": sum(len(p.read_text().splitlines()) for p in ROOT.glob("tools/docstrings/*.py")),
        "lines of Rust": sum(len(path.read_text().splitlines()) for path in rust),
        "lines of code of Rust without tests": sum(of_rust(path.read_text()) for path in no_tests),
        "imports between rooms of Python": crossing,
        "names that several modules of Python define": twice,
        "public names of the package": package,
        "public names of its modules": of_modules,
        "parameters of boosting": parameters_of_boosting(),
    }


def main() -> int:
    """Print the measures, and return 1 if one is beyond its limit."""
    found, limits = measured(), json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    if "--lower" in sys.argv[1:]:
        limits = {name: min(value, limits.get(name, value)) for name, value in found.items()}
        LIMITS.write_text(json.dumps(limits, indent=2) + "\n")
    beyond = {name for name, value in found.items() if value > limits[name]}
    for name, value in found.items():
        print(f"{name:46s} {value:6d} of {limits[name]:6d}{'  beyond' if name in beyond else ''}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
