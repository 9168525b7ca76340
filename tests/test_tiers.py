"""Which cases of a test run, and which of them in `make test`."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace

import tiers
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
