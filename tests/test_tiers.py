"""Which cases of a test run, which of them in `make test`, which slow ones when, and how they take turns."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace

import pytest
import tiers
import turns
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), max_size=60), st.integers(1, 3))
def test_every_combination_of_some_values_is_kept(rows, strength):
    kept = tiers.covering(rows, strength)
    assert kept == sorted(set(kept))
    for columns in combinations(range(4), strength):
        of_kept, of_all = (
            {tuple(of[at][c] for c in columns) for at in positions}
            for of, positions in ((rows, kept), (rows, range(len(rows))))
        )
        assert of_kept == of_all


def test_few_combinations_are_kept():
    rows = list(product(range(5), range(4), range(3), range(3)))
    # 20 rows hold the pairs of the two longest; a greedy choice may need some more.
    assert 20 <= len(tiers.covering(rows, 2)) <= 26
    # With two parameters a pair is a case.
    assert tiers.covering(rows, 4) == list(range(len(rows)))
    assert tiers.covering([row[:2] for row in rows[::9]], 2) == list(range(20))
    assert tiers.covering([()], 2) == [0]


def test_values_that_are_given_together_count_one_by_one():
    triples = [(f"name {k % 2}", f"loss {k % 7}", f"outputs {k % 3}") for k in range(21)]
    rows = [(triple, strategy) for triple in triples for strategy in range(10)]
    kept = [rows[at] for at in tiers.covering(rows, 2)]
    # Each triple runs, and each of its values with each strategy: as many as there are pairs of seven and ten.
    assert {triple for triple, _ in kept} == set(triples)
    for at in range(3):
        pairs = Counter((triple[at], strategy) for triple, strategy in kept)
        assert len(pairs) == len({triple[at] for triple in triples}) * 10
    assert 70 <= len(kept) <= 85
    # A table of cases runs whole, whatever its rows have in common.
    table = [(row,) for row in product(range(2), repeat=4)]
    assert tiers.covering(table, 2) == list(range(16))


def test_plain_values_of_parameters_are_the_same_if_they_are_equal():
    def case(**params):
        mark = SimpleNamespace(args=(("a", "b"),))
        return SimpleNamespace(callspec=SimpleNamespace(params=params), iter_markers=lambda _: [mark])

    one, two = ("".join(["te", end]) for end in ("xt", "xt"))
    assert one is not two
    shared = object()
    assert tiers.factors(case(a=one, b=1, c=shared)) == tiers.factors(case(a=two, b=1, c=shared))
    assert tiers.factors(case(a=one, b=1)) != tiers.factors(case(a=one, b=True))
    assert tiers.factors(case(a=one, b=1, c=[])) != tiers.factors(case(a=one, b=1, c=shared))
    assert tiers.factors(SimpleNamespace(iter_markers=lambda _: [])) == []


class Case:
    """As much of a collected test as the choice looks at."""

    def __init__(self, test, marks=(), **params):
        self.parent, self.originalname, self.name = "module", test, test
        self.marks, self.callspec = set(marks), SimpleNamespace(params=params)

    def get_closest_marker(self, name):
        return name if name in self.marks else None

    def add_marker(self, name):
        self.marks.add(name)


def test_tests_share_the_values_of_a_module_and_each_has_a_quick_case_unless_it_is_slow():
    names = ["tree", "forest", "boosting", "compression"]
    many = [Case("many", name=name, n=n) for name in names for n in range(3)]
    again = [Case("again", name=name) for name in names]
    one, slow, alone = [Case("one")], [Case("slow", ["slow"], name="tree")], [Case("alone", ["alone"])]
    tiers.mark_quick([*many, *again, *one, *slow, *alone])
    quick = {
        test[0].name: [case.callspec.params for case in test if "quick" in case.marks]
        for test in (many, again, one, slow, alone)
    }
    assert quick == {
        "many": [{"name": "tree", "n": 0}, {"name": "forest", "n": 1}, {"name": "boosting", "n": 2}],
        "again": [{"name": "compression"}],
        "one": [{}],
        "slow": [],
        "alone": [],
    }


def test_a_slow_case_runs_when_what_it_is_about_has_changed():
    own, about = "tests/test_examples.py", ("examples", "docs/conf.py")
    assert tiers.is_due(own, about, ["README.md", "examples/demo.py"])
    assert tiers.is_due(own, about, ["docs/conf.py"])
    assert tiers.is_due(own, about, [own])
    assert not tiers.is_due(own, about, ["README.md", "docs/faq.md", "tests/test_docs.py"])
    # Nobody knows what has changed, or what the case is about.
    assert tiers.is_due(own, about, None)
    assert tiers.is_due(own, (), [])
    assert tiers.changed_since("no such commit") is None


def test_slow_cases_are_about_files_that_exist(request):
    files = {path for item in request.session.items for mark in item.iter_markers("slow") for path in mark.args}
    assert not [path for path in files if not (tiers.ROOT / path).exists()]


def test_what_has_changed_is_told_by_git(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    monkeypatch.setattr(tiers, "ROOT", tmp_path)
    for name in ("kept", "edited", "renamed"):
        (tmp_path / name).write_text(name)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    git("mv", "renamed", "other")
    (tmp_path / "edited").write_text("again")
    (tmp_path / "new").write_text("")
    assert set(tiers.changed_since.__wrapped__("HEAD")) == {"edited", "renamed", "other", "new"}


@pytest.mark.skipif(turns.fcntl is None, reason="no locks of files here")
def test_who_is_alone_waits_for_all_others_and_they_for_it(tmp_path):
    room, door = tmp_path / "room", tmp_path / "door"
    room.touch()
    door.touch()
    order, inside, leave = [], threading.Event(), threading.Event()

    def run(name, alone):
        with turns.turn(alone, room, door):
            order.append(name)
            if name == "first":
                inside.set()
                assert leave.wait(60)

    first, second, third = (
        threading.Thread(target=run, args=(name, name == "alone")) for name in ("first", "alone", "last")
    )
    first.start()
    assert inside.wait(60)
    # Others go in beside the first, as long as nobody waits.
    run("beside", False)
    second.start()
    third.start()
    second.join(0.05)
    assert second.is_alive()
    leave.set()
    for thread in (first, second, third):
        thread.join(60)
    assert order[:2] == ["first", "beside"]
    assert sorted(order[2:]) == ["alone", "last"]


SESSION = """
import sys, turns, pytest
# This session is part of a test, which has its turn.
turns.fcntl = None
sys.exit(pytest.main(["-p", "turns", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.parametrize(("workers", "limit"), [(0, "100"), (0, "0.3"), (2, "0.3")])
def test_cases_that_take_long_are_listed_and_fail_where_a_limit_is_given(workers, limit, tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text(
        "import time\n\ndef test_short():\n    pass\n\ndef test_long():\n"
        "    end = time.process_time() + 0.4\n    while time.process_time() < end:\n        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tiers.ROOT / "tests"), prepend=os.pathsep)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("CASE_SECONDS", limit)
    command = [sys.executable, "-c", SESSION, "-p", "xdist", "--numprocesses", str(workers), "test_it.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    listed = limit == "0.3"
    assert done.returncode == listed
    assert ("cases above 0.3 seconds of processor" in done.stdout) == listed
    assert ("test_it.py::test_long" in done.stdout) == listed
    assert "test_short" not in done.stdout
