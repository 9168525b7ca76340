"""Counts the instructions of small pieces of the engine's work, and compares them with those of another commit.

    python benches/instructions.py main
    python benches/instructions.py --history HEAD

The pieces are in `rust/instructions.rs`. Both commits are built as they are published, or with `--profile`, and run under
callgrind (valgrind): unlike times, counts hardly depend on the machine, or on what else runs there. The other commit is the
last one that HEAD has in common with the one that is named. Ends with status 1 if a count has risen by more than the limit.
Work that only one of the commits has is named, and fails nothing.

With `--history`, the counts of the commits that are named are added to `rust/history.json`, or replaced there. Commits from
before there was work to count get the present one. `docs/instruction_counts.py` writes the page about them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = "benches/rust/instructions.rs"
FOLDER = REPOSITORY / "target" / "instructions"
HISTORY = REPOSITORY / "benches" / "rust" / "history.json"

# In percent. Two runs of one build differ by less than 0.1 %; code that a change does not touch may still be inlined
# otherwise.
LIMIT = 3.0

# Records of the history are comparable if they have one profile; this one is quicker to build than that of the release.
HISTORY_PROFILE = "local"

# What was counted and with what, and `instructions`, the count of each name.
Record = dict[str, Any]


def output(*command: str | Path, cwd: Path = REPOSITORY, **environment: str) -> str:
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def build(root: Path, profile: str) -> Path:
    """Compile the pieces of work of the repository in `root`; returns the program. Dependencies are compiled once."""
    command = ["cargo", "bench", "--profile", profile, "-p", "weald-benches", "--bench", "instructions"]
    command += ["--no-run", "--message-format=json"]
    messages = output(*command, cwd=root, CARGO_TARGET_DIR=str(FOLDER / "build"))
    programs = [json.loads(line).get("executable") for line in messages.splitlines()]
    return Path([program for program in programs if program][-1])


def count_of(text: str) -> int:
    """The instructions in a file of callgrind."""
    [total] = re.findall(r"^(?:summary|totals): (\d+)$", text, re.MULTILINE)[:1]
    if total == "0":
        raise ValueError("callgrind has counted nothing: the function `counted` is not there")
    return int(total)


def count_one(program: Path, name: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=instructions::counted*", "--quiet"]
        subprocess.run(
            [*command, f"--callgrind-out-file={found}", program, name], stdout=subprocess.DEVNULL, check=True
        )
        return count_of(found.read_text())


def count(root: Path, profile: str) -> Record:
    """The counts of all pieces of work of the repository in `root`; none if its commit does not have them yet."""
    counts: dict[str, int] = {}
    if (root / SOURCE).exists():
        program = build(root, profile)
        names = output(program, "--list").splitlines()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = dict(zip(names, pool.map(lambda name: count_one(program, name), names), strict=True))
    about = ["git", "show", "--no-patch", "--date=format-local:%F %T", "--format=%cd%n%s", "HEAD"]
    date, title = output(*about, cwd=root, TZ="UTC0").splitlines()
    return {
        "commit": output("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*", cwd=root).strip(),
        "date": date,
        "title": title,
        "profile": profile,
        "rustc": output("rustc", "--version", cwd=root).strip(),
        "valgrind": output("valgrind", "--version").strip(),
        "instructions": counts,
    }


def count_commit(commit: str, profile: str, work: Path | None = None) -> Record:
    """The counts of another commit, built in a work tree of its own.

    If the commit has no pieces of work, those of `work`, a folder such as `rust`, are counted.
    """
    root = FOLDER / "base"
    remove = ["git", "worktree", "remove", "--force", root]
    if root.exists():
        output(*remove)
    output("git", "worktree", "add", "--quiet", "--detach", root, commit)
    try:
        if work and not (root / SOURCE).exists():
            shutil.copytree(work, (root / SOURCE).parent, dirs_exist_ok=True)
        record = count(root, profile)
        return record | {"commit": record["commit"].removesuffix("-dirty")}
    finally:
        output(*remove)


def with_record(records: list[Record], new: Record) -> list[Record]:
    """The records by the dates of their commits, with one that replaces that of its commit, but for its release."""
    known = {record["commit"]: record for record in records}
    known[new["commit"]] = known.get(new["commit"], {}) | new
    return sorted(known.values(), key=lambda record: record["date"])


def add_to_history(commits: list[str], release: str | None, file: Path = HISTORY) -> int:
    """Count commits, and write each to the history; returns the status of the process."""
    status = 0
    for commit in commits:
        try:
            record = count_commit(commit, HISTORY_PROFILE, HISTORY.parent)
        except subprocess.CalledProcessError as error:
            print(f"{commit} is left out: {error}", file=sys.stderr)
            status = 1
            continue
        if release:
            record["release"] = release
        records = json.loads(file.read_text()) if file.exists() else []
        file.write_text(f"{json.dumps(with_record(records, record), indent=1)}\n")
    return status


def rises(base: Record, head: Record) -> dict[str, float]:
    """By how many percent the count of each piece of work has risen that both have."""
    before, now = base["instructions"], head["instructions"]
    return {name: 100.0 * (now[name] / before[name] - 1.0) for name in now if name in before}


def table(base: Record, head: Record, limit: float = LIMIT) -> str:
    """The comparison as a table in Markdown."""
    before, now, change = base["instructions"], head["instructions"], rises(base, head)

    def row(name: str) -> str:
        counts = [f"{counts[name]:,}".replace(",", " ") if name in counts else "" for counts in (before, now)]
        if name not in change:
            told = "new" if name in now else "gone"
        else:
            told = f"{change[name]:+.2f} %" + (", **above the limit**" if change[name] > limit else "")
        return f"| {name} | {counts[0]} | {counts[1]} | {told} |"

    names = [*now, *(name for name in before if name not in now)]
    return "\n".join(
        [
            f"Instructions, {head['rustc']}, {head['valgrind']}; a rise of more than {limit:g} % fails.",
            "",
            f"| work | {base['commit']} | {head['commit']} | change |",
            "|---|--:|--:|--:|",
            *map(row, names),
        ]
    )


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("base", nargs="?", help="the commit to compare with")
    what.add_argument("--history", nargs="+", metavar="COMMIT", help="add the counts of these commits to the history")
    p.add_argument("--release", help="the version as which the commit is released")
    p.add_argument("--limit", type=float, default=LIMIT, help=f"the rise that is accepted, in percent ({LIMIT:g})")
    p.add_argument(
        "--profile", default="release", help="the profile of both builds; local is quicker to build (release)"
    )
    p.add_argument("--json", type=Path, help="write the counts of both commits to this file")
    p.add_argument("--markdown", type=Path, help="append the table to this file")
    return p


def main(*arguments: str) -> int:
    args = parser().parse_args(arguments or None)
    if args.release and len(args.history or []) != 1:
        parser().error("--release needs --history of one commit")
    for tool in ("cargo", "valgrind", "git"):
        if shutil.which(tool) is None:
            print(f"Counting instructions needs {tool}", file=sys.stderr)
            return 2
    if args.history:
        return add_to_history(args.history, args.release)
    base = count_commit(output("git", "merge-base", args.base, "HEAD").strip(), args.profile)
    return report(base, count(REPOSITORY, args.profile), args)


def report(base: Record, head: Record, args: argparse.Namespace) -> int:
    """Print and append the comparison; returns the status of the process."""
    text = table(base, head, args.limit)
    print(text)
    if args.markdown:
        with args.markdown.open("a") as file:
            file.write(text + "\n")
    if args.json:
        args.json.write_text(json.dumps([base, head], indent=1))
    slower = [name for name, rise in rises(base, head).items() if rise > args.limit]
    if slower:
        print(f"\nAbove the limit of {args.limit:g} %: {'; '.join(slower)}", file=sys.stderr)
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
