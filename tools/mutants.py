"""Changes modules in small ways, one at a time, and says which changes no test notices.

    python tools/mutants.py --sample 100 --seed 1 _input.masks _input.targets

A change is a comparison or `and` turned into its neighbour, a condition or a truth value into its opposite, a number
into the next one, a sum into a difference, or a `raise` into nothing. Each is made in a copy of the installed package,
and the tests of the module run on it until one fails. A change that no test notices is printed: either a test is
missing, or both versions mean the same. Ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The tests of each module.
TESTS = {
    "_input.checks": ["inputs", "hostile_parameters", "label_names"],
    "_input.targets": ["targets", "labels", "label_names", "sparse_labels", "sparse_numbers", "masked_outputs"],
    "_input.masks": ["masked_outputs", "masked_boosting", "masked_compression"],
    "_input.schema": ["schema", "categories", "frames"],
    "_input.frames": ["schema", "categories", "frames", "constraints"],
    "_rounds.rounds": ["progress"],
}
OTHER: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def places(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that can be changed, in an order that a copy of the tree has too. Annotations are left out."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "names"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child)
    kinds = (ast.Compare, ast.BoolOp, ast.BinOp, ast.If, ast.IfExp, ast.Raise, ast.Constant)
    if isinstance(node, kinds) and changed(copy.deepcopy(node)):
        yield node


def changed(node: Any) -> str:
    """Changes a node where it is, and returns how, or nothing if there is no change for it."""
    before = ast.unparse(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in OTHER:
        node.op = OTHER[type(node.op)]()
    elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        node.exc, node.cause = ast.parse("NoError", mode="eval").body, None
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        return ""
    return f"{before.splitlines()[0][:80]}  ->  {ast.unparse(node).splitlines()[0][:80]}"


def without_raise(tree: ast.AST) -> str:
    """The source of a tree, in which a changed `raise` does nothing."""
    return ast.unparse(tree).replace("raise NoError", "pass")


def mutants(module: str, source: str) -> Iterator[tuple[str, str]]:
    """What each change is, and the source with it."""
    tree = ast.parse(source)
    for k, place in enumerate(places(tree)):
        other = copy.deepcopy(tree)
        node = next(found for i, found in enumerate(places(other)) if i == k)
        yield f"{module}.py:{place.lineno}: {changed(node)}", without_raise(other)  # type: ignore[attr-defined]


def in_package(package: Path, module: str) -> Path:
    """The file of a module, whose name has dots between its folders."""
    return package.joinpath(*module.split(".")).with_suffix(".py")


def fails(package: Path, module: str, source: str, limit: float) -> bool:
    """Whether a test fails, or runs longer than the limit in seconds, with this source of a module."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(package, Path(folder, "weald"), ignore=shutil.ignore_patterns("__pycache__"))
        in_package(Path(folder, "weald"), module).write_text(source, encoding="utf-8")
        tests = [f"tests/test_{name}.py" for name in TESTS[module]]
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not alone", *tests]
        where = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        try:
            run = subprocess.run(pytest, cwd=ROOT, env=where, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return True
    return run.returncode != 0


def main() -> int:
    """Draw changes, try them, and print those that no test notices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(TESTS)} (all)")
    parser.add_argument("--sample", type=int, help="number of changes that are drawn (all)")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86_400, help="of the draw (the day)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="test runs at a time (all cores)")
    args = parser.parse_args()
    [package] = importlib.util.find_spec("weald").submodule_search_locations  # type: ignore[union-attr, misc]
    found: list[tuple[str, str, str]] = []
    limits = {}
    for module in args.modules or list(TESTS):
        source = in_package(Path(package), module).read_text(encoding="utf-8")
        begin = time.monotonic()
        if fails(Path(package), module, without_raise(ast.parse(source)), 3600.0):
            raise SystemExit(f"the tests of {module} fail before anything is changed")
        limits[module] = 60.0 + 10.0 * (time.monotonic() - begin)
        found += [(module, what, changed_source) for what, changed_source in mutants(module, source)]
    drawn = found if args.sample is None else random.Random(args.seed).sample(found, min(args.sample, len(found)))
    print(f"{len(drawn)} of {len(found)} changes, seed {args.seed}", flush=True)
    with ThreadPoolExecutor(args.jobs) as executor:
        noticed = executor.map(lambda m: fails(Path(package), m[0], m[2], limits[m[0]]), drawn)
        left = 0
        for (_, what, _), is_noticed in zip(drawn, noticed, strict=True):
            if not is_noticed:
                left += 1
                print(f"not noticed: {what}", flush=True)
    print(f"{len(drawn) - left} of {len(drawn)} changes are noticed")
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
